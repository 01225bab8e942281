"""The life of a Linux artefact on a bare machine, from its installation to what it leaves behind."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import tarfile
import tempfile
import venv
from pathlib import Path
from typing import Any

from installer.linux import elf, tree
from installer.linux.rpm import build as build_rpm
from tests import standin
from tests.installer.linux_display import display, first_paint
from tests.installer.linux_root import Root, fresh

PREFIX = "/home/ada/venv"
OTHER = "/srv/other"
FAULT = {"LD_LIBRARY_PATH": OTHER}
STATE = "/home/ada/.local/state/convalesce"
READS = "/home/ada/.cache/convalesce/reads/files"
"""What a scan keeps of the libraries that it read."""
KEPT = ("/home/ada/.local/state", "/home/ada/.cache")
ENV = {"PATH": os.environ["PATH"], "HOME": "/home/ada", "LC_ALL": "C.UTF-8"}
SETTINGS = "/home/ada/.config/convalesce/convalesce.conf"
PROGRAM = "/home/ada/convalesce"
FINDING, WITHOUT_PYTHON = "cudnn.overridden-by-variable", "python_environment_broken"
"""The fault that is planted; and the one of every environment on a machine without Python."""


def plant(root: Root) -> None:
    """Give ada an environment with a cuDNN of its own, and a folder with another release for LD_LIBRARY_PATH."""
    prefix = root.path / PREFIX.lstrip("/")
    venv.create(prefix, with_pip=False, symlinks=True)
    for file in (prefix / "bin").glob("activate*"):
        file.write_text(file.read_text(encoding="utf-8").replace(str(prefix), PREFIX), encoding="utf-8")
    for link in (prefix / "bin").glob("python*"):
        link.unlink()
        link.symlink_to("/usr/bin/python3")  # none is there: nothing here may need one
    (site,) = prefix.glob("lib/python3*/site-packages")
    standin.install_cudnn(site, "9.10.2.21")
    standin.build_cudnn(root.path / OTHER.lstrip("/"), version="9.1.0.70")
    subprocess.run(["chown", "-R", "1000:1000", root.path / "home/ada"], check=True)


def found_cured_and_undone(root: Root, program: str) -> None:
    """Have the installed program find the planted fault, cure it, see for itself that it is cured, and take it back."""
    before = root.tree()
    scan = root.run(program, "scan", "--json", "--python", PREFIX, **FAULT)
    report = json.loads(scan.stdout)
    assert (scan.returncode, faults(report)) == (1, {WITHOUT_PYTHON, "ld_library_path_override"}), report["findings"]
    assert report["snapshot"]["errors"] in ([], {}), report["snapshot"]["errors"]
    fixed = root.run(program, "fix", FINDING, "--yes", "--json", "--python", PREFIX, **FAULT)
    (line,) = json.loads(fixed.stdout)["fixes"]
    assert (line["works"], line["outcome"]) == (True, "done"), line
    again = root.run("bash", "-c", f". {PREFIX}/bin/activate && {program} scan --json --python {PREFIX}", **FAULT)
    # no other fault is left than that the named environment's interpreter is not on this machine
    assert (again.returncode, faults(json.loads(again.stdout))) == (1, {WITHOUT_PYTHON}), again.stdout[-2000:]
    assert line["entry"] in root.run(program, "undo", "--list").stdout
    undone = root.run(program, "undo", line["entry"], "--yes")
    assert undone.returncode == 0, undone.stderr
    changed = {path for path, _ in root.tree().items() ^ before.items() if not path.startswith(KEPT)}
    assert changed <= {"/home/ada/.local"}, changed


def faults(report: dict[str, Any]) -> set[str]:
    """Return the causes of what is wrong."""
    return {f["cause"] for f in report["findings"] if f["severity"] in ("error", "warning")}


def without_a_display(root: Root, program: str) -> None:
    """Started bare it says why there is no window, and scans in the terminal."""
    done = root.run(program)
    assert "There is no display here" in done.stderr, done.stderr
    assert "OK" in done.stdout
    assert "Traceback" not in done.stderr


def without_a_library(root: Root, program: str) -> None:
    """A display, but not what a window needs of a system: a sentence that names it and its package, and the scan."""
    done = root.run(program, DISPLAY=":1")
    assert "which is not installed (on Debian and Ubuntu: apt install lib" in done.stderr, done.stderr
    assert "OK" in done.stdout
    assert "Traceback" not in done.stderr


def as_ada(root: Root, program: str) -> list[str]:
    """Return the command that runs a program as ada on the bare machine, on the display that the variables name."""
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", f"--mount-proc={root.path}/proc"]
    return [*command, "chroot", "--userspec=ada:ada", str(root.path), program]


def window(root: Root, program: str) -> None:
    """The window comes up, and has its buttons. Its program has ended when this returns."""
    first_paint(as_ada(root, program), ENV)
    root.wait_for_programs()


# --- the tarball --------------------------------------------------------------------------------------------------


def tarball(out: Path) -> None:
    """Unpacked by ada, entered into her menu, used, unpacked over, and removed."""
    (file,) = out.glob("convalesce-*-linux-x86_64.tar.xz")
    with fresh() as root:
        before = root.tree()
        unpack(file, root)
        assert root.done(f"{PROGRAM}/convalesce", "--version", user="ada").startswith("convalesce ")
        without_a_display(root, f"{PROGRAM}/convalesce")
        without_a_library(root, f"{PROGRAM}/convalesce")
        root.done(f"{PROGRAM}/desktop-entry.sh", "install", user="ada")
        entry = root.path / "home/ada/.local/share/applications/convalesce.desktop"
        assert f'Exec="{PROGRAM}/convalesce"' in entry.read_text(encoding="utf-8").splitlines()
        subprocess.run(["desktop-file-validate", entry], check=True)
        plant(root)
        found_cured_and_undone(root, f"{PROGRAM}/convalesce")
        unpack(file, root)  # an update
        assert "undone" in root.done(f"{PROGRAM}/convalesce", "undo", "--list", user="ada")
        root.done(f"{PROGRAM}/desktop-entry.sh", "remove", user="ada")
        shutil.rmtree(root.path / PROGRAM.lstrip("/"))
        assert left(before, root) == [READS, STATE], left(before, root)


def unpack(file: Path, root: Root) -> None:
    """Unpack into ada's home, in place of what lies there."""
    home = root.path / "home/ada"
    shutil.rmtree(home / "convalesce", ignore_errors=True)
    with tarfile.open(file) as archive:
        archive.extractall(home, filter="data")
    (made,) = home.glob("convalesce-*")
    made.rename(home / "convalesce")
    subprocess.run(["chown", "-R", "1000:1000", home], check=True)


# --- the Debian package -------------------------------------------------------------------------------------------


def package(out: Path) -> None:
    """Installed by apt with what it depends on, used, updated while its window is open, and purged."""
    (file,) = out.glob("convalesce_*_amd64.deb")
    with fresh() as root:
        root.done("apt-get", "-qq", "update")
        shutil.copy(file, root.path / "tmp/convalesce.deb")
        before = root.tree()
        install = ["apt-get", "-qq", "-y", "-o", "Dpkg::Use-Pty=0", "--no-install-recommends", "install"]
        root.done(*install, "/tmp/convalesce.deb", DEBIAN_FRONTEND="noninteractive")
        without_a_display(root, "convalesce")
        window(root, "convalesce")
        plant(root)
        found_cured_and_undone(root, "convalesce")
        newer(file, root.path / "tmp/newer.deb")
        with (
            display() as screen,
            subprocess.Popen(as_ada(root, "convalesce"), env={**ENV, "DISPLAY": screen.name}) as ran,
        ):
            screen.painted(ran, within=60)
            root.done(*install, "/tmp/newer.deb", DEBIAN_FRONTEND="noninteractive")
            assert ran.poll() is None, "the window did not live through the update"
            ran.kill()
        assert root.done("dpkg-query", "-W", "-f", "${Version}", "convalesce") == "99"
        assert "undone" in root.done("convalesce", "undo", "--list", user="ada")
        root.done("apt-get", "-qq", "-y", "autopurge", "convalesce", DEBIAN_FRONTEND="noninteractive")
        rest = [p for p in left(before, root) if not p.startswith(("/home/ada/venv", "/srv/other", "/tmp"))]
        assert [p for p in rest if not of_others(p)] == [READS, SETTINGS, STATE], rest


def newer(file: Path, target: Path) -> None:
    """Make the same package as version 99."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "package"
        subprocess.run(["dpkg-deb", "-R", file, folder], check=True)
        control = folder / "DEBIAN/control"
        lines = control.read_text(encoding="utf-8").splitlines()
        control.write_text("\n".join("Version: 99" if x.startswith("Version:") else x for x in lines) + "\n")
        command = ["dpkg-deb", "-Zgzip", "-z1", "--root-owner-group", "-b", folder, target]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


# --- the RPM ------------------------------------------------------------------------------------------------------


def rpm(out: Path) -> None:
    """Refused while libraries lack, installed where they are, used, updated and removed: by rpm itself, on Debian.

    No system of Red Hat's is had here. What Debian's libraries are called there is told by rpm's own elfdeps, in a package
    without files, so that the names that ours asks for are held against real libraries.
    """
    (file,) = out.glob("convalesce-*.x86_64.rpm")
    asked = subprocess.run(
        ["rpm", "-qp", "--requires", file], capture_output=True, text=True, check=True
    ).stdout.split()
    libraries = {name.partition("(")[0] for name in asked if ".so." in name}
    with fresh() as root:
        root.done("apt-get", "-qq", "update")
        install = ["apt-get", "-qq", "-y", "-o", "Dpkg::Use-Pty=0", "--no-install-recommends", "install"]
        root.done(*install, "rpm", *set(elf.packages(libraries).values()), DEBIAN_FRONTEND="noninteractive")
        for name, source in (("system.rpm", system(root)), ("ours.rpm", file), ("newer.rpm", renewed(file, root))):
            shutil.copy(source, root.path / "tmp" / name)
        root.done(*RPM, "--initdb")
        for folder in OF_FILESYSTEM:
            (root.path / folder).mkdir(parents=True, exist_ok=True)
        before = root.tree()
        refused = root.run(*RPM, "--force-debian", "-i", "/tmp/ours.rpm", user="root")
        assert refused.returncode != 0, "installed without its libraries"
        assert "libEGL.so.1()(64bit) is needed by convalesce" in refused.stderr, refused.stderr
        root.done(*RPM, "--force-debian", "-i", "--justdb", "/tmp/system.rpm")
        root.done(*RPM, "--force-debian", "-i", "/tmp/ours.rpm")
        assert root.done(*RPM, "--verify", "convalesce") == ""
        without_a_display(root, "convalesce")
        window(root, "convalesce")
        plant(root)
        found_cured_and_undone(root, "convalesce")
        root.done(*RPM, "--force-debian", "-U", "/tmp/newer.rpm")
        assert root.done(*RPM, "-q", "--qf", "%{VERSION}", "convalesce") == "99"
        assert "undone" in root.done("convalesce", "undo", "--list", user="ada")
        root.done(*RPM, "--force-debian", "-e", "convalesce")
        rest = [
            p for p in left(before, root) if not p.startswith(("/home/ada/venv", "/srv/other", "/tmp", "/var/lib/rpm"))
        ]
        assert [p for p in rest if not of_others(p)] == [READS, SETTINGS, STATE], rest


RPM = ("rpm", "--dbpath", "/var/lib/rpm")
OF_FILESYSTEM = (
    *("usr/share/applications", "usr/share/icons/hicolor/scalable/apps", "usr/share/licenses", "usr/share/metainfo"),
    *("usr/share/bash-completion/completions", "usr/share/polkit-1/actions"),
    *("usr/share/zsh/site-functions", "usr/share/fish/vendor_completions.d"),
)
"""Folders that belong to the packages filesystem and hicolor-icon-theme where rpm is at home."""


def system(root: Root) -> Path:
    """Make a package without files that provides what the root's libraries provide."""
    images = map(str, elf.images(root.path / "usr/lib/x86_64-linux-gnu"))
    # it answers 1 where one of the files is no library, and goes on with the next
    elfdeps = ["/usr/lib/rpm/elfdeps", "--provides"]
    told = subprocess.run(elfdeps, input="\n".join(images), capture_output=True, text=True, check=False).stdout
    assert "libEGL.so.1()(64bit)" in told, told[-500:]
    lines = [
        "Name: system",
        "Version: 1",
        "Release: 1",
        "Summary: what Debian has",
        "License: none",
        "Provides: /bin/sh",
    ]
    lines += [f"Provides: {name}" for name in sorted({*told.splitlines()})]
    folder = root.path / "tmp"
    spec = folder / "system.spec"
    spec.write_text("\n".join([*lines, "%description", "What Debian has.", "%files", ""]))
    options = [
        f"--define=_topdir {folder}/rpmbuild",
        f"--define=_rpmdir {folder}/made",
        "--define=__os_install_post %{nil}",
    ]
    subprocess.run(["rpmbuild", "-bb", "--quiet", *options, str(spec)], check=True, stdout=subprocess.DEVNULL)
    (made,) = (folder / "made").rglob("*.rpm")
    return made


def renewed(file: Path, root: Root) -> Path:
    """Make the same package as version 99."""
    place = root.path / "tmp/renewed"
    place.mkdir()
    shutil.copy(file, place / "convalesce.rpm")
    subprocess.run(["rpm2archive", place / "convalesce.rpm"], check=True)
    with tarfile.open(place / "convalesce.rpm.tgz") as archive:
        archive.extractall(place, filter="data")
    os.environ.setdefault("SOURCE_DATE_EPOCH", "1700000000")
    return build_rpm(place / tree.HOME, place / "stage", place, "99", level="1")


def of_others(path: str) -> bool:
    """Whether packages that apt brought along leave this behind: books that they keep, caches that they build."""
    return path.startswith(
        (
            "/home/ada/.cache/fontconfig",
            "/usr/share/mime",
            "/usr/share/fonts",
            "/var/lib/dbus",
            "/etc/fonts",
            "/usr/local/share/fonts",
        )
    )


def left(before: dict[str, tuple[int, int, int]], root: Root) -> list[str]:
    """Return what is there and was not before: files and empty folders, the program's history as one."""
    now = root.tree()
    new = {p for p in now if p not in before and not p.startswith((PREFIX, OTHER)) and p != "/home/ada/.local/share"}
    ends = (p for p in new if not (stat.S_ISDIR(now[p][0]) and any(q.startswith(p + "/") for q in now)))
    return sorted({STATE if p.startswith(f"{STATE}/") else p for p in ends})
