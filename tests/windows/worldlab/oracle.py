"""The oracle: what the real LoadLibraryExW says when a framework's own DLLs are loaded by that framework's own way.

Written from the frameworks' Python code alone, and apart from the product's table of ways: where the two disagree, a scene fails.
It runs in the environment's own interpreter, or starts the program. Wine loads a DLL that lacks an imported function, which
Windows refuses with error 127: so every import of what was loaded is looked up once more by GetProcAddress.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from core.host.windows.host import WindowsHost

assert sys.platform == "win32"

START = r"""
import ctypes, glob, json, os, sys
site, home = sys.argv[1:3]
k = ctypes.WinDLL("kernel32", use_last_error=True)
k.SetErrorMode(0x8003)
for f in (k.LoadLibraryExW, k.LoadLibraryW, k.GetProcAddress, k.GetModuleHandleW):
    f.restype = ctypes.c_void_p
k.GetProcAddress.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
k.SetDllDirectoryW.argtypes = (ctypes.c_wchar_p,)
k.GetModuleFileNameW.argtypes = (ctypes.c_void_p, ctypes.c_wchar_p, ctypes.c_uint)
said = {}
kept = []


def load(path, flags=0x1100, hosted=False, again=None):
    ctypes.set_last_error(0)
    h = k.LoadLibraryExW(path, None, flags)
    number = 0 if h else ctypes.get_last_error()
    if number == 126 and again is not None:
        os.environ["PATH"] = ";".join(again + [os.environ["PATH"]])
        number = 0 if k.LoadLibraryW(path) else ctypes.get_last_error()
    if hosted and number in (998, 1114):
        number = 0  # outside its program it does not start, and what it imports is unloaded again: loaded by name for lacking()
        k.SetDllDirectoryW(os.path.dirname(path))
        for name in imports(path):
            k.LoadLibraryExW(name, None, 0)
        k.SetDllDirectoryW(None)
    name = os.path.basename(path)
    said[name] = number or lacking(path)
    return not number


def file_of(name):
    text = ctypes.create_unicode_buffer(4096)
    h = k.GetModuleHandleW(name)
    return text.value if h and k.GetModuleFileNameW(h, text, 4096) else ""


def imports(path):
    sys.path.append(home)
    import pefile
    image = pefile.PE(path, fast_load=True)
    image.parse_data_directories([1])
    named = {e.dll.decode(): [i.name for i in e.imports] for e in getattr(image, "DIRECTORY_ENTRY_IMPORT", ())}
    return {n: f for n, f in named.items() if n.lower().startswith(("cu", "nv", "torch", "c10")) and n.lower() != "nvcuda.dll"}


def lacking(path, done=None):
    # 127 where a mapped DLL does not have a function that this one, or one behind it, imports
    done = set() if done is None else done
    if not os.path.isabs(path):
        path = file_of(path)
    if not path or path.lower() in done or path.lower().startswith("c:\\windows\\system32\\k"):
        return 0
    done.add(path.lower())
    for name, functions in imports(path).items():
        h = k.GetModuleHandleW(name)
        if h and any(f and not k.GetProcAddress(h, f) for f in functions):
            return 127
        if h and lacking(file_of(name), done):
            return 127
    return 0
"""

WAYS = {
    "onnxruntime-gpu": r"""
folder = os.path.join(site, "onnxruntime", "capi")
load(os.path.join(folder, "onnxruntime_providers_shared.dll"), 8)
load(os.path.join(folder, "onnxruntime_providers_cuda.dll"), 8, hosted=True)
""",
    "ctranslate2": r"""
folder = os.path.join(site, "ctranslate2")
os.add_dll_directory(folder)
for dll in glob.glob(glob.escape(folder) + r"\*.dll"):
    load(dll)
load("cublas64_12.dll", 0)
""",
    "cupy-13": r"""
import shutil
cuda = os.environ.get("CUDA_PATH", "")
nvcc = shutil.which("nvcc")
root = cuda if os.path.exists(cuda) else os.path.dirname(os.path.dirname(nvcc)) if nvcc else None
for sub in ("bin", r"bin\x64") if root else ():
    if os.path.exists(os.path.join(root, sub)):
        os.add_dll_directory(os.path.join(root, sub))
for name in ("cublas", "curand", "cusolver", "cusparse"):
    load(glob.glob(glob.escape(os.path.join(site, "cupy_backends", "cuda", "libs")) + "\\%s.*.pyd" % name)[0])
load(glob.glob(glob.escape(os.path.join(site, "cupy", "cuda")) + r"\cufft.*.pyd")[0])
load("nvrtc64_120_0.dll", 0x1000)
""",
    "cupy-14": r"""
from cuda.pathfinder import load_nvidia_dynamic_lib
for name in ("nvrtc", "cublas", "curand", "cusolver", "cusparse", "cufft"):
    try:
        load_nvidia_dynamic_lib(name)
    except Exception as e:
        print(type(e).__name__, str(e)[:300], file=sys.stderr)
for name in ("cublas", "curand", "cusolver", "cusparse"):
    load(glob.glob(glob.escape(os.path.join(site, "cupy_backends", "cuda", "libs")) + "\\%s.*.pyd" % name)[0])
load(glob.glob(glob.escape(os.path.join(site, "cupy", "cuda")) + r"\cufft.*.pyd")[0])
""",
    "torch": r"""
folder = os.path.join(site, "torch", "lib")
folders = [folder]
cuda = os.environ.get("CUDA_PATH", "")
if cuda and not glob.glob(glob.escape(folder) + r"\cudart64*.dll"):
    folders.append(os.path.join(cuda, "bin"))
for each in folders:
    if os.path.exists(each):
        os.add_dll_directory(each)
for dll in glob.glob(glob.escape(folder) + r"\*.dll"):
    load(dll, 0x1100, again=folders)
""",
}
"""After onnxruntime's provider_bridge_ort.cc, ctranslate2/__init__.py, cupy/_environment.py, torch/__init__.py."""


def framework(way: str, site: Path, env: Mapping[str, str]) -> dict[str, int]:
    """Return DLL -> number, 0 for one that loads, of everything that this way loads; {"python": ...} where it did not come to it."""
    home = str(Path(sys.base_prefix) / "Lib/site-packages")
    code = START + WAYS[way] + "\nprint('\\n=' + json.dumps(said), flush=True)\nos._exit(0)\n"
    command = [str(site.parents[1] / "Scripts/python.exe"), "-B", "-c", code, str(site), home]
    done = WindowsHost().run(command, timeout=300, env=dict(env))
    rows = [line[1:] for line in done.out.splitlines() if line.startswith("=")]
    if not rows:
        print(done.out, done.err, done.ended, file=sys.stderr)
        return {"python": -1}
    return dict(json.loads(rows[-1]))


IMPORTS = r"""
k.SetDllDirectoryW(os.path.dirname(site))
for name in imports(site):
    load(name, 0)
said[os.path.basename(site)] = lacking(site)
"""
"""LoadLibrary of a program resolves no imports of its own: each is loaded by its name, from the program's variables."""


def program(path: Path, env: Mapping[str, str]) -> dict[str, int]:
    """Return what a program's start comes to: 0, 1 where it could not be put together, 127 for a function that is lacking."""
    started = WindowsHost().run([str(path)], timeout=120, env=dict(env))
    if started.ended:
        return {path.name: 1}
    home = str(Path(sys.base_prefix) / "Lib/site-packages")
    code = f"{START}{IMPORTS}print('\\n=' + json.dumps(said), flush=True)\nos._exit(0)\n"
    command = [sys.executable, "-I", "-S", "-c", code, str(path), home]
    done = WindowsHost().run(command, timeout=120, env=dict(env))
    rows = [line[1:] for line in done.out.splitlines() if line.startswith("=")]
    return dict(json.loads(rows[-1])) if rows else {path.name: -1}


def started(command: Sequence[str], env: Mapping[str, str], folder: Path | None) -> dict[str, int]:
    """Return how a person's own command ends: 0, or its exit status; -1 where it does not start.

    What it prints goes into a file: wine's desktop, which the first program with a window starts, would hold a pipe open for ever.
    """
    with tempfile.TemporaryFile() as out, _desktop(env):
        try:
            done = subprocess.run(command, env=dict(env), cwd=folder, stdout=out, stderr=out, timeout=300, check=False)
        except OSError as e:
            print(e, file=sys.stderr)
            return {"start": -1}
        out.seek(0)
        said = out.read().decode("utf-8", "replace").strip().splitlines()
    if done.returncode:
        print(*said[-2:], sep=" | ", file=sys.stderr)
    return {"start": done.returncode}


HOLDS = "import ctypes, sys; ctypes.windll.user32.GetDesktopWindow(); open(sys.argv[1], 'w').close(); sys.stdin.read()"


@contextmanager
def _desktop(env: Mapping[str, str]) -> Iterator[None]:
    """Keep wine's desktop running where a command may start FFmpeg: that one would start it, and a desktop that has a program's pipe keeps it open
    for ever.
    """
    if not shutil.which("ffmpeg", path=next((v for n, v in env.items() if n.upper() == "PATH"), "")):
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder) / "there"
        command = [sys.executable, "-I", "-S", "-c", HOLDS, str(there)]
        none, pipe = subprocess.DEVNULL, subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=none, stderr=none) as holder:
            while not there.exists() and holder.poll() is None:
                time.sleep(0.1)
            yield
            holder.kill()
