r"""The sixth set: twelve machines that are odd and in order. Committed before its first scan.

What people have who changed nothing in vain: the Store's Python, a portable ComfyUI, WinPython, several toolkits, a PATH that grew for
ten years, folders of a sync client with letters of every kind, a share that is not there today, batch files in an old code page.
Each one's real program runs, which the oracle shows; the scan must be quiet.
"""

from __future__ import annotations

import os
import shutil
import sys
import winreg
from pathlib import Path

from tests.windows.faultlab.machine import HOME, TOOLKITS, Machine, environment
from tests.windows.worldlab.held_out_2 import (
    BLAS,
    NUMPY,
    OLD_SITE,
    PROJECT,
    STARTS_CT2,
    STARTS_NUMPY,
    WHOLE,
    batch,
    does,
    other_python,
    packages,
    project,
    script,
    short_path,
    text,
    whole_python,
)
from tests.windows.worldlab.held_out_3 import DESKTOP, ct2s, link
from tests.windows.worldlab.held_out_4 import conda
from tests.windows.worldlab.scenes import BIN, FOR_CUPY, OLD, Plant, Scene, older, spoilt, with_toolkit

assert sys.platform == "win32"

FAMILY = "PythonSoftwareFoundation.Python.3.11"
STORE = HOME / f"WindowsApps\\{FAMILY}_3.11.2544.0_x64__qbz5n2kfra8p0"
LOCAL = Path(os.environ["LOCALAPPDATA"]) / f"Packages\\{FAMILY}_qbz5n2kfra8p0\\LocalCache\\local-packages"
PORTABLE = HOME / "ComfyUI_windows_portable"
EMBEDED = PORTABLE / "python_embeded"
WINPYTHON = HOME / "WPy64-31190\\python-3.11.9.amd64"
ELEVEN = TOOLKITS / "v11.8"
ONEDRIVE = HOME / "OneDrive - Ünïversität Köln (Lehre)\\Mein Projekt & Co's [neu]"
DEEP = HOME / ("a project with quite a long name " * 2).strip() / ("and a folder below it " * 3).strip() / ("x" * 60)
UMLAUT = HOME / "Müller"
LONG_PATHS = r"SYSTEM\CurrentControlSet\Control\FileSystem"


# --- Pythons -----------------------------------------------------------------------------------------------------


def store_python(m: Machine) -> Path:
    """Install the Store's Python: what pip installs lies in its own data."""
    whole_python(m, STORE)
    shutil.rmtree(STORE / "Lib\\site-packages")
    site = packages(m, LOCAL / "Python311\\site-packages", "numpy-1.26", "ctranslate2")
    m.system_files.extend(p for p in LOCAL.rglob("*") if p.is_file())
    return site


def comfy(m: Machine) -> Path:
    """Unpack the portable ComfyUI: an embeddable Python with packages of its own."""
    site = whole_python(m, EMBEDED, "numpy-1.26", "ctranslate2")
    m.write(EMBEDED / "python311._pth", "../ComfyUI\npython311.zip\nLib\nDLLs\n.\nimport site\n")
    m.write(PORTABLE / "ComfyUI\\main.py", f"import comfy_utils\n{BLAS}\n")
    m.write(PORTABLE / "ComfyUI\\comfy_utils.py", "import folder_paths\n")
    m.write(PORTABLE / "ComfyUI\\folder_paths.py", "models = 'models'\n")
    m.write(PORTABLE / "ComfyUI\\custom_nodes\\a_node\\__init__.py", "import a_module_that_nobody_has\n")
    m.write(PORTABLE / "ComfyUI\\custom_nodes\\a_node\\torch.py", "x = 1\n")
    for name, more in (("run_nvidia_gpu.bat", ""), ("run_cpu.bat", " --cpu")):
        m.write(
            PORTABLE / name, f".\\python_embeded\\python.exe -s ComfyUI\\main.py --windows-standalone-build{more}\r\n"
        )
    return site


def winpython(m: Machine) -> Path:
    """Unpack WinPython, whose batch files set what it needs."""
    site = whole_python(m, WINPYTHON, "numpy-1.26", "ctranslate2")
    scripts = WINPYTHON.parent / "scripts"
    lines = (
        "@echo off", "set WINPYDIRBASE=%~dp0..", "set WINPYDIR=%WINPYDIRBASE%\\python-3.11.9.amd64", "set PYTHONHOME=", "set PYTHONPATH=",
        'set "WINPYVER=3.11.9.0"', "set HOME=%WINPYDIRBASE%\\settings",
        "set PATH=%WINPYDIR%\\Lib\\site-packages\\PyQt5;%WINPYDIR%\\;%WINPYDIR%\\DLLs;%WINPYDIR%\\Scripts;%WINPYDIRBASE%\\t;%PATH%;",
    )  # fmt: skip
    m.write(scripts / "env.bat", "\r\n".join(lines) + "\r\n")
    m.write(scripts / "python.bat", '@echo off\r\ncall "%~dp0env.bat"\r\n"%WINPYDIR%\\python.exe" %*\r\n')
    return site


def conda_base(m: Machine, _site: Path) -> None:
    """Install conda's base with libraries of its own, and put it on PATH as its installer offers."""
    base = HOME / "miniconda3"
    older("cublasLt64_12.dll", base / "Library\\bin")(m, base)
    m.write(base / "condabin\\conda.bat", "@echo off\n")
    m.write(base / "conda-meta\\history", "")
    m.write(
        base / "Scripts\\activate.bat",
        f'@set "CONDA_PREFIX={base}\\envs\\%1"\n@set "CONDA_DEFAULT_ENV=%1"\n'
        f'@set "PATH={base}\\envs\\%1;{base}\\envs\\%1\\Library\\bin;{base}\\envs\\%1\\Scripts;{base}\\condabin;%PATH%"\n',
    )
    m.path(base, base / "Library\\bin", base / "Scripts", scope="user", first=True)


def registered(folder: Path, version: str) -> Plant:
    """Let the registry name a Python, as its installer does and the launcher reads."""

    def plant(m: Machine, _made: Path) -> None:
        key = f"Software\\Python\\PythonCore\\{version}"
        for part in ("Software\\Python", "Software\\Python\\PythonCore", key, f"{key}\\InstallPath"):
            m.key(winreg.HKEY_CURRENT_USER, part)
        m.key(
            winreg.HKEY_CURRENT_USER,
            f"{key}\\InstallPath",
            **{"": f"{folder}\\", "ExecutablePath": f"{folder}\\python.exe"},
        )

    return plant


# --- PATH and folders --------------------------------------------------------------------------------------------


def eleven(m: Machine, _made: Path) -> None:
    """Install an older toolkit beside it, first on PATH, with the variables that both installers set."""
    for name in ("cudart64_110.dll", "cublas64_11.dll", "cublasLt64_11.dll", "cufft64_10.dll"):
        m.place(Path(m.places["consumers"]) / "llama.exe", ELEVEN / "bin" / name)
    m.write(ELEVEN / "bin\\nvcc.exe", b"MZ" + bytes(300))
    m.write(ELEVEN / "version.json", '{"cuda": {"name": "CUDA SDK", "version": "11.8.0"}}\n')
    m.variable("CUDA_PATH_V11_8", str(ELEVEN), "machine")
    m.variable("CUDA_PATH_V12_4", str(BIN.parent), "machine")
    m.path(ELEVEN / "bin", ELEVEN / "libnvvp", first=True)


def grown_path(m: Machine, made: Path) -> None:
    """Let PATH grow for ten years: 4000 characters, quotation marks, empty entries, variables that nothing sets, entries twice."""
    short_path(m, made)
    m.write(HOME / "my tools, old\\readme.txt", "x")
    gone = [f"C:\\Program Files\\Some Vendor {n}\\A product with a long name {n}\\bin" for n in range(45)]
    entries = [
        *gone,
        f'"{HOME}\\my tools, old"',
        "%JAVA_HOME%\\bin",
        "%NO_SUCH_THING%",
        "",
        "",
        "C:\\Windows\\",
        "C:\\WINDOWS",
        "bin",
    ]
    now = [e for e in str(m.before["machine"].get("PATH", m.before["machine"].get("Path", ("",)))[0]).split(";") if e]
    whole = ";".join((*now, *entries, f"{BIN}\\", str(BIN), "")) + ";"
    m.variable("Path", whole, "machine", winreg.REG_EXPAND_SZ)
    m.path(
        "%USERPROFILE%\\AppData\\Local\\Microsoft\\WindowsApps",
        "%CUDA_PATH%\\bin",
        "%PATH%",
        scope="user",
        kind=winreg.REG_EXPAND_SZ,
    )


def older_for_the_user(m: Machine, made: Path) -> None:
    """Let the person's PATH name an older cuBLASLt: the machine's comes first, and is the right one."""
    older("cublasLt64_12.dll", OLD)(m, made)
    m.path(OLD, scope="user")


def away(m: Machine, _made: Path) -> None:
    """Name places that are not there today: a share, and a drive that is not connected."""
    m.path(r"\\nas.invalid\tools\bin", "Q:\\tools\\bin", scope="user")
    m.variable("PYTHONPATH", r"Q:\team\python")
    m.variable("HF_HOME", r"\\nas.invalid\models")


def long_paths(m: Machine, _made: Path) -> None:
    """Allow paths of more than 260 characters."""
    with winreg.CreateKeyEx(winreg.HKEY_LOCAL_MACHINE, LONG_PATHS, 0, winreg.KEY_ALL_ACCESS) as opened:
        winreg.SetValueEx(opened, "LongPathsEnabled", 0, winreg.REG_DWORD, 1)


def old_code_page(m: Machine, site: Path) -> None:
    """Write a batch file as an older editor does: in the terminal's code page, which the file names."""
    m.write(UMLAUT / "tools\\readme.txt", "x")
    lines = (
        "@echo off",
        "chcp 850 >nul",
        f"set PATH={UMLAUT}\\tools;%PATH%",
        f'"{UMLAUT}\\ml\\Scripts\\python.exe" -B train.py',
    )
    m.write(PROJECT / "start.bat", ("\r\n".join(lines) + "\r\n").encode("cp850"))
    m.write(
        PROJECT / "old.cmd",
        f'@rem Für später\r\nset PYTHONPATH={UMLAUT}\\module\r\n"{UMLAUT}\\ml\\Scripts\\python.exe" train.py\r\n'.encode(
            "cp850"
        ),
    )
    m.write(UMLAUT / "module\\mine.py", "x = 1\n")


SIX = "held6-healthy-"

HELD_OUT_6: tuple[Scene, ...] = (
    Scene(f"{SIX}store-python", "ctranslate2", (), spoilt(store_python, lambda m, _s: m.path(BIN)), runs=does(f"import sys; sys.path.insert(0, r'{LOCAL}\\Python311\\site-packages'); {BLAS}", STORE / "python.exe")),
    Scene(f"{SIX}launcher-and-a-python-that-is-gone", "numpy", (), spoilt(lambda m: whole_python(m, WHOLE, "numpy-1.26", "ctranslate2"), STARTS_NUMPY, registered(WHOLE, "3.11"), registered(HOME / "Python39-gone", "3.9"), text(Path(os.environ["LOCALAPPDATA"]) / "py.ini", "[defaults]\npython=3.11\n"), project("run.bat", "@py train.py %*\n")), runs=script(python=WHOLE / "python.exe"), folder=PROJECT),
    Scene(f"{SIX}portable-comfyui", "ctranslate2", (), spoilt(comfy, other_python, lambda m, _s: m.variable("PYTHONPATH", str(OLD_SITE))), runs=lambda _s: ["cmd.exe", "/c", f"cd /d {PORTABLE} && run_nvidia_gpu.bat"], folder=PORTABLE),
    Scene(f"{SIX}winpython", "ctranslate2", (), spoilt(winpython), runs=lambda _s: ["cmd.exe", "/c", str(WINPYTHON.parent / "scripts\\python.bat"), "-c", BLAS], folder=WINPYTHON.parent / "scripts"),
    Scene(f"{SIX}two-toolkits", "cupy-13", (), spoilt(with_toolkit("cupy-13", *FOR_CUPY), eleven)),
    Scene(f"{SIX}path-of-ten-years", "ctranslate2", (), ct2s(grown_path), runs=does(BLAS)),
    Scene(f"{SIX}older-one-on-the-users-path", "ctranslate2", (), ct2s(older_for_the_user), runs=does(BLAS)),
    Scene(f"{SIX}shares-that-are-away", "ctranslate2", (), ct2s(away), runs=does(BLAS), folder=PROJECT),
    Scene(f"{SIX}folder-of-a-sync-client", "ctranslate2", (), spoilt(lambda m: packages(m, environment(m, "ml", home=ONEDRIVE), "numpy-1.26", "ctranslate2"), text(ONEDRIVE / "train.py", f"{BLAS}\n"), text(ONEDRIVE / "start.bat", '@echo off\r\nchcp 65001 >nul\r\n"%~dp0ml\\Scripts\\python.exe" train.py\r\n'), link(DESKTOP, "Übung", ONEDRIVE / "ml\\Scripts\\python.exe", "train.py", ONEDRIVE)), runs=does(BLAS), folder=ONEDRIVE),
    Scene(f"{SIX}long-paths", "ctranslate2", (), spoilt(lambda m: packages(m, environment(m, "ml", home=DEEP), "numpy-1.26", "ctranslate2"), long_paths), runs=does(f"{BLAS}; {NUMPY}")),
    Scene(f"{SIX}old-code-page", "numpy", (), spoilt(lambda m: packages(m, environment(m, "ml", home=UMLAUT), "numpy-1.26", "ctranslate2"), STARTS_NUMPY, old_code_page), runs=script(python=UMLAUT / "ml\\Scripts\\python.exe"), folder=PROJECT),
    Scene(f"{SIX}conda-base-and-environment", "ctranslate2", (), spoilt(conda, STARTS_CT2, conda_base, project("run.bat", f"@echo off\ncall {HOME}\\miniconda3\\Scripts\\activate.bat ml\npython -B train.py\n")), runs=batch(), folder=PROJECT),
)  # fmt: skip
