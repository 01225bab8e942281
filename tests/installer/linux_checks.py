"""What can be said of the Linux artefacts without a machine of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

from core import __version__
from tests import standin
from tests.installer import ROOT

MOST_PACKED, MOST_INSTALLED = 45_000_000, 130_000_000
"""Bytes."""
OLDEST_GLIBC = (2, 36)
"""Debian 12's."""


def everything(out: Path) -> None:
    """Hold the four artefacts against what is promised about them."""
    wheel(out)
    packed(out)
    bills(out)


def wheel(out: Path) -> None:
    """The wheel holds the launcher, core, gui and resources and nothing else: everything that git tracks, catalogues compiled."""
    (file,) = out.glob(f"convalesce-{__version__}-py3-none-any.whl")
    with zipfile.ZipFile(file) as archive:
        names = set(archive.namelist())
    tops = {name.split("/")[0] for name in names}
    assert tops == {"convalesce", f"convalesce-{__version__}.dist-info"}, tops
    folders = ("core", "gui", "resources", "installer/convalesce")
    listed = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [name.removesuffix(".po") + ".mo" * name.endswith(".po") for name in listed.stdout.split("\n") if name]
    tracked = {name.removeprefix("installer/") if "convalesce/" in name else f"convalesce/lib/{name}" for name in files}
    there = {name for name in names if not name.startswith("convalesce-")}
    assert there == tracked, f"not in the wheel: {sorted(tracked - there)}; only there: {sorted(there - tracked)}"


def packed(out: Path) -> None:
    """Everything belongs to root and has one time; sizes and the C library are within what is promised."""
    (file,) = out.glob(f"convalesce-{__version__}-linux-x86_64.tar.xz")
    with tarfile.open(file) as archive:
        items = archive.getmembers()
    assert len({item.mtime for item in items}) == 1
    assert {(item.uid, item.gid, item.uname) for item in items} == {(0, 0, "root")}
    assert {item.mode for item in items if item.isfile()} == {0o644, 0o755}
    assert [item.name for item in items] == sorted((item.name for item in items), key=lambda name: name.split("/"))
    assert sum(item.size for item in items) < MOST_INSTALLED
    names = {item.name.split("/", 1)[1] for item in items if "/" in item.name}
    assert {
        "convalesce",
        "LICENSE",
        "THIRD-PARTY.txt",
        "README",
        "desktop-entry.sh",
        "licences/libxcb-cursor0",
    } <= names
    assert not [n for n in names if "qgtk3" in n or n.endswith((".po", ".py")) or "/Qml" in n or "WebEngine" in n]
    (deb,) = out.glob(f"convalesce_{__version__}_amd64.deb")
    (rpm,) = out.glob(f"convalesce-{__version__}-1.x86_64.rpm")
    assert max(f.stat().st_size for f in (file, deb, rpm)) < MOST_PACKED
    judged = subprocess.run(["lintian", "--fail-on", "error,warning", deb], capture_output=True, text=True, check=False)
    assert judged.returncode == 0, judged.stdout + judged.stderr
    depends = subprocess.run(["dpkg-deb", "-f", deb, "Depends"], capture_output=True, text=True, check=True).stdout
    libc = depends.partition("libc6 (>= ")[2].partition(")")[0]
    assert tuple(map(int, libc.split("."))) <= OLDEST_GLIBC, depends
    assert {"libegl1", "libgl1", "libxcb-cursor0", "libxkbcommon-x11-0", "libfontconfig1"} <= set(
        depends.strip().split(", ")
    )


def bills(out: Path) -> None:
    """Beside each artefact lies a bill that names every locked package with its version and a licence."""
    locked = dict(
        line.split(" ")[0].split("==")
        for line in (ROOT / "requirements/app.txt").read_text().splitlines()
        if "==" in line
    )
    artefacts = [f for f in out.iterdir() if f.suffix in (".whl", ".xz", ".deb", ".rpm")]
    assert len(artefacts) == 4
    for artefact in artefacts:
        bill = json.loads(Path(f"{artefact}.cdx.json").read_text(encoding="utf-8"))
        assert (bill["bomFormat"], bill["metadata"]["component"]["version"]) == ("CycloneDX", __version__)
        parts = {part["name"]: part["version"] for part in bill["components"]}
        assert locked.items() <= parts.items(), artefact.name
        assert [part["name"] for part in bill["components"] if not part["licenses"]] == []
        if artefact.suffix != ".whl":
            assert {"qt", "cpython", "icu", "pyinstaller-bootloader"} <= parts.keys()
    assert "libxcb-cursor0" in parts or artefact.suffix != ".xz"


# --- the frozen application's children ----------------------------------------------------------------------------


def as_from_source(out: Path) -> None:
    """The roll call of the frozen application gives what the same scan gives from source, also where it could leak.

    The environment's cuDNN asks for a library that the application has in its own folder and the machine nowhere: a
    child that had the application's search path would find it.
    """
    with tempfile.TemporaryDirectory(prefix="convalesce-roll-") as name:
        folder = Path(name)
        (file,) = out.glob("convalesce-*-linux-x86_64.tar.xz")
        with tarfile.open(file) as archive:
            archive.extractall(folder, filter="data")
        (program,) = folder.glob("convalesce-*/convalesce")
        assert (program.parent / "_internal/libQt6Core.so.6").exists()
        prefix = folder / "venv"
        venv.create(prefix, with_pip=False)
        (site,) = prefix.glob("lib/python3*/site-packages")
        libraries = standin.install_cudnn(site, "9.10.2.21")
        _let_need(libraries / "libcudnn_adv.so.9", "libQt6Core.so.6")
        other = standin.build_cudnn(folder / "other", version="9.1.0.70")
        for variables in ({}, {"LD_LIBRARY_PATH": str(other)}):
            env = {"PATH": os.environ["PATH"], "HOME": name, "LC_ALL": "C.UTF-8", **variables}
            source = _loads([sys.executable, "-P", "-m", "core"], prefix, {**env, "PYTHONPATH": str(ROOT)})
            frozen = _loads([str(program)], prefix, env)
            assert "libQt6Core.so.6: cannot open shared object file" in json.dumps(source), "the trap is not set"
            assert frozen == source, _difference(frozen, source)


def _let_need(library: Path, name: str) -> None:
    """Put a library that needs another in the place of one of the stand-ins."""
    with tempfile.TemporaryDirectory() as folder:
        needed = Path(folder) / name
        subprocess.run(["gcc", "-shared", "-o", needed, f"-Wl,-soname,{name}", "-x", "c", "/dev/null"], check=True)
        command = ["gcc", "-shared", "-o", library, f"-Wl,-soname,{library.name}", "-Wl,--no-as-needed"]
        subprocess.run([*command, "-x", "c", "/dev/null", "-x", "none", needed], check=True)


def _loads(program: list[str], prefix: Path, env: dict[str, str]) -> object:
    command = [*program, "scan", "--json", "--full-names", "--python", str(prefix)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, cwd="/", check=False)
    assert done.returncode in (0, 1, 5), done.stderr
    snapshot = json.loads(done.stdout)["snapshot"]
    return [load for load in snapshot["loads"] if str(prefix) in json.dumps(load)]


def _difference(a: object, b: object) -> str:
    import difflib

    lines = [json.dumps(x, indent=1).splitlines() for x in (a, b)]
    return "\n".join(difflib.unified_diff(*lines, "frozen", "source", n=2))[:4000]


# --- the wheel ----------------------------------------------------------------------------------------------------


def as_a_tool(out: Path) -> None:
    """``uv tool install``, ``pipx install`` and ``pip install`` of the wheel give both commands; ``uvx`` needs none of them."""
    (wheel_file,) = out.glob("convalesce-*.whl")
    uv = [sys.executable, "-m", "uv"]
    with tempfile.TemporaryDirectory(prefix="convalesce-tool-") as name:
        venv.create(Path(name) / "pip", with_pip=True)
        for tool, install in (
            ("uv", [*uv, "tool", "install", "--quiet", str(wheel_file)]),
            ("pipx", [*uv, "tool", "run", "--quiet", "pipx", "install", "--quiet", str(wheel_file)]),
            ("pip", [f"{name}/pip/bin/python", "-m", "pip", "--quiet", "install", str(wheel_file)]),
        ):
            folder = Path(name) / tool
            given = {"UV_TOOL_DIR": "tools", "UV_TOOL_BIN_DIR": "bin", "PIPX_HOME": "pipx", "PIPX_BIN_DIR": "bin"}
            env = {**os.environ, **{variable: str(folder / place) for variable, place in given.items()}}
            done = subprocess.run(install, env=env, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{tool}: {done.stdout}{done.stderr}"
            assert {f.name for f in (folder / "bin").glob("convalesce*")} == {"convalesce", "convalesce-gui"}
            _scans([folder / "bin/convalesce"], env, tool)
        _scans([*uv, "tool", "run", "--quiet", "--from", str(wheel_file), "convalesce"], dict(os.environ), "uvx")


def _scans(program: list[str | Path], env: dict[str, str], tool: str) -> None:
    command = [*program, "scan", "--json", "--only", "environment"]
    scan = subprocess.run(command, env=env, capture_output=True, text=True, cwd="/", check=False)
    assert json.loads(scan.stdout)["version"] == __version__, f"{tool}: {scan.stderr}"
