"""The wine lab: a Windows CPython with the project's packages in a wine prefix, set up once and kept in a cache.

The interpreter is the real one for Windows (python3XX.dll and the standard library's .pyd modules, as the Python
Software Foundation signed them), which the win_amd64 wheel of panda3d carries for applications that it freezes; the
standard library's Python files are those of the running interpreter, which must have the same minor version. Needs a
Debian or Ubuntu: wine and a cross compiler come from its packages.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pefile
from packaging.markers import Marker

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MINOR = f"{sys.version_info.major}.{sys.version_info.minor}"
DEBIAN = ("wine", "wine64", "xvfb", "xauth", "gcc-mingw-w64-x86-64", "fonts-dejavu-core")
CPYTHON_CARRIER = "panda3d==1.10.16"
NOT_FOR_WINDOWS = (
    *("ast-serialize", "cfgv", "distlib", "execnet", "filelock", "identify", "librt", "mypy", "mypy-extensions"),
    *("nodeenv", "pathspec", "pre-commit", "pytest-xdist", "python-discovery", "pyyaml", "ruff", "uv", "virtualenv"),
)
"""Locked packages that only check and build the project."""


def cache() -> Path:
    """The folder for what is dear to make or fetch: CONVALESCE_CACHE, else ~/.cache/convalesce."""
    return Path(os.environ.get("CONVALESCE_CACHE") or Path.home() / ".cache/convalesce")


@dataclass(frozen=True)
class Lab:
    """A ready wine prefix and its Windows Python."""

    folder: Path
    name: str = "prefix"
    """Which of the lab's prefixes: "prefix" is the one for tests, "faultlab" is kept clean between runs."""

    @property
    def prefix(self) -> Path:
        return self.folder / self.name

    @property
    def clean(self) -> Path:
        """A file that is there while the prefix is as it was made, or as a run left it that ended by itself."""
        return self.folder / f"{self.name}-clean"

    @property
    def python(self) -> Path:
        return self.folder / "python" / "python.exe"

    @property
    def system32(self) -> Path:
        return self.prefix / "drive_c/windows/system32"

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """What wine needs. No .NET and HTML installers, no crash dumper: a crash is then just an exit status."""
        ours = {n: v for n, v in os.environ.items() if not n.startswith(("PYTHON", "QT_", "VIRTUAL_ENV", "DISPLAY"))}
        qt = {f"WINE{n}": v for n, v in os.environ.items() if n.startswith("QT_")}  # wine hands WINEQT_* on as QT_*
        return {
            **ours,
            **qt,
            "WINEPREFIX": str(self.prefix),
            "WINEARCH": "win64",
            "WINEDEBUG": os.environ.get("WINEDEBUG", "-all"),
            "WINEDLLOVERRIDES": "mscoree,mshtml,winedbg.exe=",
            "PYTHONUTF8": "1",
            "PYTHONPYCACHEPREFIX": "C:\\pycache",
            **(extra or {}),
        }

    def start(self, argv: Sequence[str | Path], extra: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start a Windows program. Its streams are pipes: wine gives a program no usable handle for a file."""
        pipe, none = subprocess.PIPE, subprocess.DEVNULL
        return subprocess.Popen(
            [wine64(), *argv], env=self.environment(extra), cwd=ROOT, stdin=none, stdout=pipe, stderr=subprocess.STDOUT
        )

    def run(self, *argv: str | Path, check: bool = True) -> str:
        """Run a Windows program to its end and return what it printed."""
        with self.start(argv) as process:
            out = process.communicate()[0].decode("utf-8", "replace")
        if check and process.returncode:
            raise SystemExit(f"{argv[0]} ended with status {process.returncode} under wine:\n{out[-4000:]}")
        return out

    def settle(self) -> None:
        """Wait until wine has written its registry to disk and ended."""
        subprocess.run([wine64().with_name("wineserver"), "-w"], env=self.environment(), check=True)


def wine64() -> Path:
    """Wine's 64-bit loader itself, without Debian's wrapper that asks for the 32-bit one."""
    return Path("/usr/lib/wine/wine64")


@contextmanager
def session(name: str = "prefix") -> Iterator[tuple[Lab, dict[str, str]]]:
    """Give a ready lab to one user alone, with the variables of a display of its own.

    Tests change the prefix's registry, and wine's desktop belongs to the display that it first saw. After a run that
    did not end by itself, or after an exception, the prefix is made anew.
    """
    lab = Lab(ready().folder, name)
    with _alone(lab.folder, name), _display() as number:
        if not lab.clean.exists():
            _make_prefix(lab)
            _compile_stand_ins(lab)
        lab.clean.unlink()
        yield lab, {"DISPLAY": f":{number}"}
        lab.settle()
        lab.clean.touch()


@contextmanager
def _display() -> Iterator[int]:
    """Run a virtual display and give its number."""
    reading, writing = os.pipe()
    options = ("-displayfd", str(writing), "-screen", "0", "1600x1200x24", "-nolisten", "tcp")
    with subprocess.Popen(["Xvfb", *options], pass_fds=[writing], stderr=subprocess.DEVNULL) as server:
        os.close(writing)
        try:
            with os.fdopen(reading) as pipe:
                yield int(pipe.readline())
        finally:
            server.terminate()


def ready() -> Lab:
    """Return the lab, set up first where this state of the project has none yet."""
    _install_debian_packages()
    state = hashlib.sha256(f"{sys.version_info[:3]}".encode())
    for file in (Path(__file__), *sorted((HERE / "sources").iterdir()), ROOT / "requirements/dev.txt"):
        state.update(file.read_bytes())
    lab = Lab(cache() / "wine" / state.hexdigest()[:16])
    done = lab.folder / "done"
    with _alone(lab.folder):
        if not done.exists():
            for step in (_make_prefix, _compile_stand_ins, _make_python, _install_packages):
                print(f"wine lab: {(step.__doc__ or '').partition('.')[0]}", file=sys.stderr, flush=True)
                step(lab)
            done.touch()
    return lab


@contextmanager
def _alone(folder: Path, name: str = "prefix") -> Iterator[None]:
    """Hold a lock, so that two test runs do not build or use the same prefix."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ("lock" if name == "prefix" else f"{name}-lock")).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install_debian_packages() -> None:
    def lacking() -> list[str]:
        states = subprocess.run(
            ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *DEBIAN],
            check=False,
            capture_output=True,
            text=True,
        ).stdout
        return [package for package in DEBIAN if f"{package} installed" not in states.splitlines()]

    if not shutil.which("dpkg-query"):
        raise SystemExit("The wine lab needs Debian or Ubuntu; on Windows, pytest runs the same tests without it.")
    if not lacking():
        return
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    apt = [*sudo, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y"]
    install = [*apt, "install", "--no-install-recommends", *lacking()]
    print(f"wine lab: installing {' '.join(lacking())}", file=sys.stderr, flush=True)
    if subprocess.run(install, check=False, stdout=subprocess.DEVNULL).returncode:
        subprocess.run([*apt, "update"], check=False, stdout=subprocess.DEVNULL)
        subprocess.run(install, check=False, stdout=subprocess.DEVNULL)
    if lacking():
        raise SystemExit(f"Please install first, as root: apt-get install {' '.join(lacking())}")


def _make_prefix(lab: Lab) -> None:
    """Making a wine prefix that says Windows 10 22H2."""
    if lab.prefix.exists():  # programs of a run that was killed may still be at work there
        subprocess.run([wine64().with_name("wineserver"), "-k"], env=lab.environment(), check=False)
        lab.settle()
    shutil.rmtree(lab.prefix, ignore_errors=True)
    lab.run("wineboot", "-i")
    lab.settle()
    lab.run("winecfg", "-v", "win10")
    for name in ("CurrentBuild", "CurrentBuildNumber"):
        lab.run("reg", "add", r"HKLM\Software\Microsoft\Windows NT\CurrentVersion", "/v", name, "/d", "19045", "/f")
    # there is no window manager: wine would wait 2 seconds for one whenever it takes a window away
    lab.run("reg", "add", r"HKCU\Software\Wine\X11 Driver", "/v", "Managed", "/d", "N", "/f")
    # Qt asks about the sRGB profile, and wine 8 ends the process in a function that it lacks; no profile, no question
    for profile in (lab.system32 / "spool/drivers/color").glob("*"):
        profile.unlink()


def _compile_stand_ins(lab: Lab) -> None:
    """Compiling stand-ins for what Qt needs and wine lacks."""
    sources = HERE / "sources"
    compile_c(sources / "icuuc.c", lab.system32 / "icuuc.dll", "-shared")
    compile_c(sources / "uisettings.c", lab.system32 / "labuisettings.dll", "-shared")
    classes = r"HKLM\Software\Microsoft\WindowsRuntime\ActivatableClassId\Windows.UI.ViewManagement"
    for name in ("UISettings", "AccessibilitySettings"):
        file = r"C:\windows\system32\labuisettings.dll"
        lab.run("reg", "add", f"{classes}.{name}", "/v", "DllPath", "/t", "REG_SZ", "/d", file, "/f")
    lab.settle()
    lab.clean.touch()


def compile_c(source: Path, target: Path, *options: str | Path) -> None:
    """Compile a C file for 64-bit Windows."""
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["x86_64-w64-mingw32-gcc", "-O2", "-s", source, *options, "-o", target], check=True)


def _make_python(lab: Lab) -> None:
    """Putting the Windows Python together."""
    home, fetched = lab.python.parent, lab.folder / "fetched"
    shutil.rmtree(home, ignore_errors=True)
    tag = MINOR.replace(".", "")
    _pip("download", "--dest", str(fetched), CPYTHON_CARRIER)
    (wheel,) = fetched.glob(f"panda3d-*-cp{tag}-cp{tag}-win_amd64.whl")
    (home / "DLLs").mkdir(parents=True)
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.startswith("deploy_libs/") and (place := _place(Path(name).name, tag)):
                (home / place).write_bytes(archive.read(name))
    standard = sysconfig.get_path("stdlib")
    leave_out = ("__pycache__", "test", "lib-dynload", "config-*", "*-packages", "_sysconfigdata*", "sitecustomize.py")
    shutil.copytree(standard, home / "Lib", ignore=shutil.ignore_patterns(*leave_out, "EXTERNALLY-MANAGED"))
    resource = lab.folder / "python.o"
    (lab.folder / "python.rc").write_text(f'1 24 "{HERE / "sources/python.manifest"}"\n')
    subprocess.run(["x86_64-w64-mingw32-windres", lab.folder / "python.rc", "-O", "coff", "-o", resource], check=True)
    options = ("-municode", f'-DPYDLL=L"python{tag}.dll"', resource)
    compile_c(HERE / "sources/launcher.c", home / "python.exe", *options)
    compile_c(HERE / "sources/launcher.c", home / "pythonw.exe", *options, "-mwindows", "-DWINDOWED")
    _make_stable_abi(home, f"python{tag}", lab.folder)


def _place(name: str, tag: str) -> str:
    """Where a file of the wheel belongs beside python.exe; empty for those that are not wanted."""
    unwanted = name.startswith(("api-ms-", "_test")) or name in ("python3.dll", "_wmi.pyd") or "t-win" in name
    if not name or unwanted:  # the run time is Windows' own; wine 8 dies in _wmi; free-threaded copies
        return ""
    if name == f"python{tag}.dll" or name.lower().startswith("vcruntime140"):
        return name.lower()
    return f"DLLs/{name}"


def _make_stable_abi(home: Path, stem: str, scratch: Path) -> None:
    """Build python3.dll, which modules of the stable ABI import: it forwards to the versioned one."""
    image = pefile.PE(str(home / f"{stem}.dll"), fast_load=True)
    image.parse_data_directories([pefile.DIRECTORY_ENTRY["IMAGE_DIRECTORY_ENTRY_EXPORT"]])
    code = next(section for section in image.sections if section.Name.rstrip(b"\0") == b".text")
    names = [(s.name.decode(), code.contains_rva(s.address)) for s in image.DIRECTORY_ENTRY_EXPORT.symbols if s.name]
    lines = (f"  {name} = {stem}.{name}{'' if is_code else ' DATA'}" for name, is_code in names)
    (scratch / "python3.def").write_text("\n".join(("LIBRARY python3.dll", "EXPORTS", *lines)) + "\n")
    (scratch / "dllmain.c").write_text("int __stdcall DllMain(void *h, unsigned long r, void *p) { return 1; }\n")
    options = ("-shared", "-nostdlib", "-Wl,-e,DllMain", scratch / "python3.def")
    compile_c(scratch / "dllmain.c", home / "python3.dll", *options)


def _install_packages(lab: Lab) -> None:
    """Installing the project's locked packages, as wheels for Windows."""
    locked = lab.folder / "requirements.txt"
    locked.write_text(windows_lock((ROOT / "requirements/dev.txt").read_text()))
    site = lab.python.parent / "Lib/site-packages"
    _pip("install", "--require-hashes", "--no-compile", "--target", str(site), "-r", str(locked))
    for name in ("vcruntime140.dll", "vcruntime140_1.dll"):  # one run time for the whole process: the newest, PySide6's
        for newer in (site / "shiboken6").glob("*.dll"):
            if newer.name.lower() == name:
                shutil.copy(newer, lab.python.parent / name)


def windows_lock(lock: str) -> str:
    """Return the locked requirements that the Windows Python gets: those whose marker holds there, without markers."""
    blocks = re.findall(r"^[a-z0-9].*\n(?:[ \t].*\n)*", lock, re.MULTILINE)
    wanted = [b for b in blocks if b.partition("==")[0] not in NOT_FOR_WINDOWS and _holds(b)]
    return "".join(re.sub(r" ; [^\\\n]*", " ", block, count=1) for block in wanted)


def _holds(block: str) -> bool:
    """Whether the marker of a requirement holds on the Windows Python."""
    marker = re.match(r"[^\n]*? ; ([^\\\n]*)", block)
    windows = {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"}
    return marker is None or Marker(marker[1].strip()).evaluate(windows)


def _pip(command: str, *arguments: str) -> None:
    options = ("--no-deps", "--only-binary=:all:", "--platform", "win_amd64", "--python-version", MINOR)
    subprocess.run(
        [sys.executable, "-m", "pip", command, "-qq", "--disable-pip-version-check", *options, *arguments],
        check=True,
    )
