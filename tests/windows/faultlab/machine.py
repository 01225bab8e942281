"""One Windows machine in the making: files, registry values and a driver that a row plants, and their way back."""

from __future__ import annotations

import base64
import ctypes
import hashlib
import os
import shutil
import stat
import sys
import winreg
import zipfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PureWindowsPath

from core.host import scratch
from tests.standin import CHECKS as BY_ROLE

assert sys.platform == "win32"

CHECKS = tuple(BY_ROLE.values())

PROGRAMS = Path("C:\\Program Files")
TOOLKITS = PROGRAMS / "NVIDIA GPU Computing Toolkit\\CUDA"
CUDNN = PROGRAMS / "NVIDIA\\CUDNN"
HOME = Path("C:\\lab")
SYSTEM32 = Path("C:\\windows\\system32")
OWN = Path(os.environ["LOCALAPPDATA"]) / "convalesce\\cudnn"
"""Where Convalesce places a set that gets a folder of its own."""
LEFT = Path("C:\\left")
"""Where what cannot be removed yet waits for the prefix's end."""
ROOTS = (PROGRAMS / "NVIDIA GPU Computing Toolkit", PROGRAMS / "NVIDIA", HOME, OWN)
"""Folders below which everything is planted, but for single files in System32."""

MACHINE = (winreg.HKEY_LOCAL_MACHINE, r"SYSTEM\CurrentControlSet\Control\Session Manager\Environment")
USER = (winreg.HKEY_CURRENT_USER, "Environment")
GPU = r"SYSTEM\CurrentControlSet\Enum\PCI\VEN_10DE&DEV_2204&SUBSYS_00000000&REV_A1\convalesce"
KEYS = {"machine": MACHINE, "user": USER}
Values = dict[str, tuple[object, int]]
SMALL = 1 << 20


@dataclass
class Machine:
    """What a row builds with. ``places``: where wheels and stand-ins lie, by name."""

    places: Mapping[str, str]
    pythons: list[str] = field(default_factory=list)
    system_files: list[Path] = field(default_factory=list)
    aside: list[Path] = field(default_factory=list)
    before: dict[str, Values] = field(default_factory=dict)
    keys: list[tuple[int, str]] = field(default_factory=list)
    """Keys of the registry that were made, each with its root: the clean-up removes them."""

    def __post_init__(self) -> None:
        """Remember the registry as it is."""
        self.before = {scope: values(scope) for scope in KEYS}

    # --- files ---------------------------------------------------------------------------------------------

    def part(self, name: str) -> Path:
        """Return a stand-in's place."""
        return Path(self.places["standins"]) / name

    def cudnn(self, name: str) -> Path:
        """Return the folder of a set's DLLs: a wheel's, else a stand-in's."""
        return Path(self.places[name]) / "nvidia\\cudnn\\bin" if name in self.places else self.part(name)

    def place(self, source: Path, target: Path) -> Path:
        """Hard-link one file; a stand-in in System32 is remembered for the clean-up."""
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        os.link(source, target)
        if target.parent == SYSTEM32:
            self.system_files.append(target)
        return target

    def place_all(self, source: Path, folder: Path, pattern: str = "*.dll", without: Iterable[str] = ()) -> Path:
        """Hard-link the files of one folder."""
        for file in sorted(source.glob(pattern)):
            if file.name not in without and file.is_file():
                self.place(file, folder / file.name)
        return folder

    def write(self, path: Path, content: str | bytes) -> Path:
        """Write a file of its own."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def truncate(self, path: Path, size: int = 300_000) -> Path:
        """Cut a file short, without touching the bytes that others share."""
        with path.open("rb") as stream:
            data = stream.read(size)
        return self.write(path, data)

    def put_aside(self, path: Path) -> None:
        """Take one of the system's own files away until the clean-up."""
        path.rename(path.with_name(f"{path.name}.aside"))
        self.aside.append(path)

    def packed(self, name: str, form: str) -> str:
        """Return where a person has a set of cuDNN 9.1: its folder, NVIDIA's archive of it (zip) or a wheel, RECORD included."""
        folder = self.cudnn(name)
        if not form:
            return str(folder)
        files = {file.name: file.read_bytes() for file in sorted(folder.glob("*.dll"))}
        top = "cudnn-windows-x86_64-9.1.0.70_cuda12-archive/bin" if form == "zip" else "nvidia/cudnn/bin"
        inner = {f"{top}/{n}": data for n, data in files.items()}
        if form == "wheel":
            info = "nvidia_cudnn_cu12-9.1.0.70.dist-info"
            inner[f"{info}/METADATA"] = b"Metadata-Version: 2.1\nName: nvidia-cudnn-cu12\nVersion: 9.1.0.70\n"
            rows = [f"{n},sha256={_record_hash(data)},{len(data)}" for n, data in inner.items()]
            inner[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,"]).encode()
        ending = {"zip": "cudnn.zip", "wheel": "nvidia_cudnn_cu12-9.1.0.70-py3-none-win_amd64.whl"}[form]
        target = HOME / "Downloads" / ending
        target.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for path, data in inner.items():
                archive.writestr(path, data)
        return str(target)

    # --- variables -----------------------------------------------------------------------------------------

    def variable(self, name: str, text: str | None, scope: str = "user", kind: int = winreg.REG_SZ) -> None:
        """Set or remove one variable in the registry."""
        root, key = KEYS[scope]
        with winreg.CreateKeyEx(root, key, 0, winreg.KEY_ALL_ACCESS) as opened:
            if text is None:
                winreg.DeleteValue(opened, name)
            else:
                winreg.SetValueEx(opened, name, 0, kind, text)

    def path(self, *entries: Path | str, scope: str = "machine", first: bool = False, kind: int | None = None) -> None:
        """Add entries to PATH as an installer does."""
        now = {n.upper(): v for n, v in values(scope).items()}.get("PATH")
        old = [e for e in str(now[0]).split(";") if e] if now else []
        new = [str(e) for e in entries]
        text = ";".join([*new, *old] if first else [*old, *new])
        self.variable("Path", text, scope, kind or (now[1] if now else winreg.REG_EXPAND_SZ))

    def key(self, root: int, path: str, **rows: str | list[str]) -> None:
        """Make a key of the registry with its values: a text, or several (REG_MULTI_SZ)."""
        with winreg.CreateKeyEx(root, path, 0, winreg.KEY_ALL_ACCESS) as opened:
            for name, data in rows.items():
                kind = winreg.REG_EXPAND_SZ if isinstance(data, str) else winreg.REG_MULTI_SZ
                winreg.SetValueEx(opened, name, 0, kind, data)
        self.keys.append((root, path))

    # --- the driver ----------------------------------------------------------------------------------------

    def gpu(self) -> None:
        """Put a GPU on the bus."""
        with winreg.CreateKeyEx(winreg.HKEY_LOCAL_MACHINE, GPU, 0, winreg.KEY_ALL_ACCESS) as key:
            for name, text in (
                ("ClassGUID", "{4d36e968-e325-11ce-bfc1-08002be10318}"),
                ("DeviceDesc", "@oem1.inf,%dev%;NVIDIA GeForce RTX 3090"),
                ("LocationInformation", "PCI bus 1, device 0, function 0"),
                ("Service", "nvlddmkm"),
            ):
                winreg.SetValueEx(key, name, 0, winreg.REG_SZ, text)

    def driver(self, name: str = "driver") -> None:
        """Install a driver that answers as its stand-in was built to."""
        self.gpu()
        for file in ("nvcuda.dll", "nvml.dll"):
            self.place(self.part(name) / file, SYSTEM32 / file)

    # --- the way back --------------------------------------------------------------------------------------

    def clean(self) -> None:
        """Take everything away that was planted, and restore the registry."""
        scratch.drop_all(HOME / "convalesce-state" / "staging")
        for root in ROOTS:
            with suppress(PermissionError):
                shutil.rmtree(_long(root), onerror=_again)
            _leave(root)
            assert not root.exists(), root
        for file in self.system_files:
            with suppress(PermissionError):
                file.unlink(missing_ok=True)
            _leave(file)
        for emptied in sorted({f.parent for f in self.system_files if "site-packages" in f.parts}, reverse=True):
            with suppress(OSError):
                emptied.rmdir()  # an empty one that is left would be a package of its own
        for file in self.aside:
            file.with_name(f"{file.name}.aside").rename(file)
        key = GPU
        for _level in range(2):
            try:
                winreg.DeleteKey(winreg.HKEY_LOCAL_MACHINE, key)
            except OSError:
                break
            key = key.rpartition("\\")[0]
        for hive, name_of_key in reversed(self.keys):
            with suppress(OSError):
                winreg.DeleteKey(hive, name_of_key)
        for scope, old in self.before.items():
            for name in values(scope).keys() - old.keys():
                self.variable(name, None, scope)
            for name, (data, kind) in old.items():
                if values(scope).get(name) != (data, kind):
                    self.variable(name, str(data), scope, kind)


def _record_hash(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _leave(path: Path) -> None:
    """Put what is still there out of the way: a child that ends late still holds a DLL, on a busy machine."""
    LEFT.mkdir(exist_ok=True)
    with suppress(FileNotFoundError):
        path.rename(LEFT / f"{len(list(LEFT.iterdir()))}-{path.name}")


def _again(_function: object, path: str, _error: object) -> None:
    if os.path.lexists(path):
        Path(path).chmod(stat.S_IWRITE)
        if Path(path).is_dir():
            shutil.rmtree(path)
        else:
            Path(path).unlink()


def _long(path: Path) -> str:
    return f"\\\\?\\{path}"


def values(scope: str) -> Values:
    """Return every value of a scope's variables: name -> data and kind."""
    root, key = KEYS[scope]
    try:
        with winreg.OpenKey(root, key) as opened:
            rows = (winreg.EnumValue(opened, i) for i in range(winreg.QueryInfoKey(opened)[1]))
            return {name: (data, kind) for name, data, kind in rows}
    except FileNotFoundError:
        return {}


def fingerprint() -> dict[str, object]:
    """Return the registry's variables and every planted file: its size, and its time or a small one's hash."""
    state: dict[str, object] = {f"{scope} {n}": v for scope in KEYS for n, v in values(scope).items()}
    files = (
        [p for root in ROOTS for p in root.rglob("*")]
        + sorted(SYSTEM32.glob("cudnn*"))
        + sorted(SYSTEM32.glob("cu*_1*"))
    )
    for path in files:
        seen = path.stat()
        digest = ""
        if path.is_file() and seen.st_size < SMALL:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
        times = seen.st_mtime_ns if path.is_file() and not digest else 0
        state[str(path)] = (seen.st_size if path.is_file() else -1, times, digest)
    return state


def environment(machine: Machine, name: str = "ml", kind: str = "venv", home: Path = HOME) -> Path:
    """Make a Python environment; return its folder of packages. The scan is told of it."""
    prefix = home / name
    site = prefix / "Lib\\site-packages"
    site.mkdir(parents=True)
    version = ".".join(str(n) for n in sys.version_info[:3])
    base = PureWindowsPath(sys.base_prefix)
    exe = prefix / ("python.exe" if kind == "conda" else "Scripts\\python.exe")
    machine.write(exe, (Path(sys.base_prefix) / "python.exe").read_bytes())
    if kind == "conda":
        machine.write(prefix / "conda-meta\\history", "")
        machine.write(prefix / f"conda-meta\\python-{version}-0.json", f'{{"name": "python", "version": "{version}"}}')
    else:
        text = f"home = {base}\ninclude-system-site-packages = false\nversion = {version}\n"
        machine.write(prefix / "pyvenv.cfg", text)
    machine.pythons.append(str(prefix))
    return site


def distribution(machine: Machine, site: Path, name: str, version: str, requires: Iterable[str] = ()) -> None:
    """Write a distribution's metadata."""
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {r}\n" for r in requires)
    machine.write(info / "METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}")
    machine.write(info / "RECORD", f"{info.name}/METADATA,,\n{info.name}/RECORD,,\n")


def load_error(name: str, env: Mapping[str, str], run: object) -> str:
    """Load a DLL by its bare name in a fresh process with this environment; empty when it loads, else the number."""
    code = (
        "import ctypes, sys; k = ctypes.WinDLL('kernel32', use_last_error=True); k.LoadLibraryExW.restype = ctypes.c_void_p; "
        "h = k.LoadLibraryExW(sys.argv[1], None, 0); print('loaded' if h else ctypes.get_last_error())"
    )
    done = run([sys.executable, "-I", "-S", "-c", code, name], timeout=60, env=env)
    said = done.out.strip()
    return "" if said == "loaded" else said or done.ended


def import_error(site: Path, file: Path, env: Mapping[str, str], run: object) -> str:
    """Load an extension module as CPython does (0x1100), in a fresh process that has run the environment's .pth files.

    Empty when it loads, else the number.
    """
    code = (
        "import ctypes, site, sys; site.addsitedir(sys.argv[1]); k = ctypes.WinDLL('kernel32', use_last_error=True); "
        "k.LoadLibraryExW.restype = ctypes.c_void_p; "
        "h = k.LoadLibraryExW(sys.argv[2], None, 0x1100); print('loaded' if h else ctypes.get_last_error())"
    )
    done = run([sys.executable, "-I", "-S", "-c", code, str(site), str(file)], timeout=60, env=env)
    said = done.out.strip()
    return "" if said == "loaded" else said or done.ended


CHECK = r"""
import ctypes, sys
k = ctypes.WinDLL("kernel32", use_last_error=True)
k.LoadLibraryExW.restype = k.GetProcAddress.restype = ctypes.c_void_p
k.GetProcAddress.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
main = k.LoadLibraryExW(sys.argv[1], None, 0)
said = {} if main else {"LoadLibrary": ctypes.get_last_error()}
for name in sys.argv[2:] if main else ():
    at = k.GetProcAddress(main, name.encode())
    if at:
        said[name] = ctypes.CFUNCTYPE(ctypes.c_int)(at)()
print({n: v for n, v in said.items() if v} or f"{len(said)} answers, all 0")
"""


def version_checks(major: int, env: Mapping[str, str], run: object) -> str:
    """Call every VersionCheck of cuDNN by its main library's bare name in a fresh process; say what they answered."""
    done = run([sys.executable, "-I", "-S", "-c", CHECK, f"cudnn64_{major}.dll", *CHECKS], timeout=120, env=env)
    return str(done.out.strip() or done.ended)


assert ctypes.sizeof(ctypes.c_void_p) == 8
