#!/usr/bin/env python3
"""Set up and run Convalesce from a checkout: ``dev.py scan``, ``dev.py test``. Standard library only.

The first call makes .venv from the locked, hashed requirements. On Debian and Ubuntu, system packages that are
missing are installed with apt-get when this may be done (root, or sudo without a password), and named otherwise.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import time
import venv
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

TEST_PACKAGES = {
    # what the tests build and run: stand-in libraries, a virtual display, Qt's system libraries, a host for Ansible
    "gcc": "gcc",
    "libc6-dev": "/usr/include/stdio.h",
    "binutils": "readelf",
    "gcc-mingw-w64-x86-64": "x86_64-w64-mingw32-gcc",
    "gcc-mingw-w64-i686": "i686-w64-mingw32-gcc",
    "xvfb": "Xvfb",
    "libegl1": "/usr/lib/*/libEGL.so.1",
    "libgl1": "/usr/lib/*/libGL.so.1",
    "libxkbcommon0": "/usr/lib/*/libxkbcommon.so.0",
    "libxkbcommon-x11-0": "/usr/lib/*/libxkbcommon-x11.so.0",
    "libxcb-cursor0": "/usr/lib/*/libxcb-cursor.so.0",
    "libxcb-icccm4": "/usr/lib/*/libxcb-icccm.so.4",
    "libxcb-image0": "/usr/lib/*/libxcb-image.so.0",
    "libxcb-keysyms1": "/usr/lib/*/libxcb-keysyms.so.1",
    "libxcb-randr0": "/usr/lib/*/libxcb-randr.so.0",
    "libxcb-render-util0": "/usr/lib/*/libxcb-render-util.so.0",
    "libxcb-shape0": "/usr/lib/*/libxcb-shape.so.0",
    "libxcb-xinerama0": "/usr/lib/*/libxcb-xinerama.so.0",
    "libglib2.0-0": "/usr/lib/*/libglib-2.0.so.0",
    "libdbus-1-3": "/usr/lib/*/libdbus-1.so.3",
    "libfontconfig1": "/usr/lib/*/libfontconfig.so.1",
    "fonts-dejavu-core": "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
    "openssh-server": "/usr/sbin/sshd",
    "libwayland-cursor0": "/usr/lib/*/libwayland-cursor.so.0",
    "libwayland-egl1": "/usr/lib/*/libwayland-egl.so.1",
    # a compositor without a screen, and what a screen reader hears
    "weston": "weston",
    "xauth": "xauth",
    "python3-pyatspi": "/usr/lib/python3/dist-packages/pyatspi/__init__.py",
    # a password's stand-in on a machine of one's own: tests/fixing/test_pkexec.py
    "dbus": "dbus-daemon",
    "polkitd": "/usr/lib/polkit-1/polkitd",
    "pkexec": "pkexec",
    # what the installers are built and tried with
    "appstream": "appstreamcli",
    "debootstrap": "debootstrap",
    "desktop-file-utils": "desktop-file-validate",
    "lintian": "lintian",
    "rpm": "rpmbuild",
    # what people start programs with: each place of tests/startup, by the real shells, and a real makefile
    "zsh": "zsh",
    "fish": "fish",
    "dash": "dash",
    "make": "make",
    "tmux": "tmux",
    "direnv": "direnv",
    "zlib1g": "/usr/lib/*/libz.so.1",
}
"""Debian package -> a program or file by which its presence is known."""


def main(argv: list[str]) -> int:
    """Run one task and return its exit status."""
    task, arguments = (argv[0], argv[1:]) if argv else ("", [])
    if task == "test":
        return test(arguments)
    if task == "lock" and not arguments:
        return lock()
    if task == "causes":
        return call([sys.executable, "-m", "installer.generate.causes", *arguments])
    if task == "architecture":
        return call([sys.executable, "-m", "installer.generate.architecture", *arguments])
    if task == "language":
        set_up("dev")
        return call([PYTHON, "-m", "installer.generate.catalogues", *arguments])
    if task in ("", "-h", "--help", "lock"):
        print("usage: dev.py scan|explain|... [ARGUMENTS]   run Convalesce from this checkout")
        print("       dev.py test [PYTEST ARGUMENTS]        format, lint, types, tests")
        print("       dev.py language [LANGUAGE]            make or update a catalogue")
        print("       dev.py causes                         write the type of causes from their rows")
        print("       dev.py architecture                   draw the folders from the import contracts")
        print("       dev.py lock                           lock the newest versions")
        return 0 if task else 2
    set_up("app")
    return call([PYTHON, "-m", "core", task, *arguments])


def test(arguments: list[str]) -> int:
    """Run every check. Rows of checks that need one core each run side by side; pytest begins where the first has ended."""
    if os.name != "nt" and os.geteuid() == 0 and (closed := closed_folder(ROOT)):
        print(
            f"Other users cannot enter {closed}, and as root the tests play a second user. Allow it (chmod o+x {closed}), or use a checkout elsewhere."
        )
        return 2
    system_packages(TEST_PACKAGES)
    set_up("dev")
    compile_modules()
    pytest = [PYTHON, "-m", "pytest"]
    if arguments:
        return call([*pytest, *arguments])
    for check in ([PYTHON.with_name(f"lint-imports{PYTHON.suffix}"), "--no-cache", "--no-logo"],
                  [PYTHON, "-m", "ruff", "format", "--check", "."], [PYTHON, "-m", "ruff", "check", "."]):  # fmt: skip
        if call(check):
            return 1
    # measure_explain: in-sample beside out-of-sample; fails where they lie far apart
    rows = [["mypy", "installer.generate.missing", "tests.measure_explain"]]
    if sys.platform == "linux" and platform.machine() == "x86_64":
        # the suites that Windows decides, on a Windows Python under wine; the installers, where a part of them has changed
        rows.append(["tests.windows", "tests.installer"])
    with ThreadPoolExecutor(len(rows)) as side_by_side:
        running = [side_by_side.submit(checks_in_turn, row) for row in rows]
        wait(running, return_when=FIRST_COMPLETED)
        tested = call([*pytest, "-n", "auto"])
        failed = [name for row in running for name in row.result()] + (["pytest"] if tested else [])
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


def compile_modules() -> None:
    """Write the checkout's byte code: where PYTHONDONTWRITEBYTECODE is set, each of the thousand processes that the tests start
    compiles its modules otherwise, which takes as long as a scan.
    """
    call([PYTHON, "-m", "compileall", "-q", "core", "gui", "installer", "resources", "tests"])


def closed_folder(place: Path) -> Path | None:
    """Return the first folder on the way to a place that users without rights of their own cannot enter."""
    return next((f for f in (*reversed(place.parents), place) if not f.stat().st_mode & 0o001), None)


def checks_in_turn(names: list[str]) -> list[str]:
    """Run checks one after the other, and show what each one printed when it has ended; return the one that failed."""
    for name in names:
        start = time.monotonic()
        command = [str(PYTHON), "-m", name]
        done = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        status = f"failed with status {done.returncode}" if done.returncode else "passed"
        said = done.stdout.decode(errors="replace")
        print(f"--- {name}\n{said}--- {name} {status} after {time.monotonic() - start:.0f} s", flush=True)
        if done.returncode:
            return [name]
    return []


def set_up(kind: str) -> None:
    """Make .venv hold exactly the versions of requirements/KIND.txt; quick when it already does."""
    requirements = ROOT / "requirements" / f"{kind}.txt"
    want = hashlib.sha256(requirements.read_bytes()).hexdigest()
    stamp = VENV / f"{kind}.sha256"
    if stamp.exists() and stamp.read_text() == want:
        return
    if not PYTHON.exists():
        if importlib.util.find_spec("ensurepip") is None:  # Debian keeps it in a package of its own
            system_packages({"python3-venv": ""})
            script = f"import venv; venv.create({str(VENV)!r}, with_pip=True)"
            call([sys.executable, "-c", script], check=True)
        else:
            venv.create(VENV, with_pip=True)
    print(f"Installing the locked packages ({requirements.name}) ...", file=sys.stderr)
    pip = [PYTHON, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--require-hashes"]
    call([*pip, "-r", requirements], check=True, stdout=sys.stderr)
    site = subprocess.run(
        [PYTHON, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    (Path(site) / "convalesce-checkout.pth").write_text(f"{ROOT}\n", encoding="utf-8")
    stamp.write_text(want)


def system_packages(packages: dict[str, str]) -> None:
    """Install the Debian packages that are missing, or say which they are."""
    if os.name == "nt" or not shutil.which("apt-get"):
        return
    missing = [name for name, sign in packages.items() if not present(sign)]
    if not missing:
        return
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    apt = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
    install = [*apt, "install", "-y", "--no-install-recommends", *missing]
    print(f"Installing {' '.join(missing)} ...", file=sys.stderr)
    if call([*apt, "update"], stdout=sys.stderr) or call(install, stdout=sys.stderr):
        raise SystemExit(f"These packages are needed: apt-get install {' '.join(missing)}")


def present(sign: str) -> bool:
    """Whether a program is on PATH or a file (a pattern) exists."""
    if sign.startswith("/"):
        return any(Path("/").glob(sign[1:]))
    return bool(sign) and shutil.which(sign) is not None


def lock() -> int:
    """Write requirements/*.txt anew: newest versions, with hashes, without any index address."""
    set_up("dev")
    compiler = [PYTHON, "-m", "uv", "pip", "compile", "--universal", "--python-version", "3.11", "--generate-hashes"]
    compiler += ["--no-emit-index-url", "--upgrade", "--quiet", "--custom-compile-command", "python dev.py lock"]
    for kind, extra in (("app", []), *((group, ["--group", group]) for group in ("dev", "build", "mutation"))):
        status = call([*compiler, "pyproject.toml", *extra, "-o", f"requirements/{kind}.txt"])
        if status:
            return status
    return 0


def call(command: list[str | Path], *, check: bool = False, stdout: TextIO | None = None) -> int:
    """Run a command in the checkout and return its exit status."""
    status = subprocess.run([str(c) for c in command], cwd=ROOT, stdout=stdout, check=False).returncode
    if check and status:
        raise SystemExit(status)
    return status


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
