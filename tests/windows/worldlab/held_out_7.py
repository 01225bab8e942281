r"""The seventh held-out set: six faults and six odd healthy machines. Committed before its first scan.

Written from public threads, after the mends of 28 November 2026 and by somebody who knows the code. The oracle loads the framework's own
DLLs, or starts the person's own command.

Threads: faster-whisper #1279 and #1230 (one DLL copied to where it is missed, without those that it needs), ollama #5689 (an older copy in
Windows' own folder is found first), stable-diffusion-webui #4484 and #6608 (VENV_DIR of webui-user.bat), whisper-standalone-win #77 (an
application unpacked over an older one), ComfyUI #13945 and #581 (the portable Python and the person's own packages), and the
questions about a repository that is cloned into the folder in which one works.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from tests.windows.faultlab.machine import HOME, Machine, environment
from tests.windows.worldlab.held_out import file_of
from tests.windows.worldlab.held_out_2 import (
    BLAS,
    HALF,
    IN_THE_WAY,
    NUMPY,
    PROJECT,
    REQUIREMENT,
    TASKS,
    USER_SITE,
    WHOLE,
    WRONG_ONE,
    another_environment,
    does,
    embeddable,
    in_user_site,
    packages,
    project,
    script,
    text,
    whole_python,
)
from tests.windows.worldlab.held_out_3 import ct2s
from tests.windows.worldlab.held_out_4 import by_double_click
from tests.windows.worldlab.scenes import (
    BIN,
    BROKEN,
    FOR_ORT,
    MISSING,
    NOT_SEARCHED,
    ORT,
    SHADOWED,
    Plant,
    Scene,
    older,
    program,
    spoilt,
    with_toolkit,
)

assert sys.platform == "win32"

WINDOWS = Path("C:\\Windows")
TASK = (
    '<?xml version="1.0" encoding="UTF-16"?>\n<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">'
    "<Settings><Enabled>{enabled}</Enabled></Settings><Actions><Exec><Command>{command}</Command><Arguments>train.py</Arguments>"
    "</Exec></Actions></Task>\n"
)


# --- faults --------------------------------------------------------------------------------------------------------------


def one_copied(m: Machine, site: Path) -> None:
    """Copy the DLL that the message names beside the one that asks for it, without its other half."""
    m.place(BIN / "cublas64_12.dll", site / "ctranslate2\\cublas64_12.dll")


def older_in_windows(m: Machine, made: Path) -> None:
    """Leave an older runtime in Windows' own folder."""
    old = Path(m.places["consumers"]) / "older\\cudart64_12.dll"
    file_of(old.read_bytes(), WINDOWS / "cudart64_12.dll")(m, made)


def inheriting(*wheels: str, base: str) -> Callable[[Machine], Path]:
    """Make an environment that takes what it lacks from its base, which has a NumPy of its own."""

    def build(m: Machine) -> Path:
        whole_python(m, WHOLE, base)
        m.pythons.clear()
        site = environment(m, "ml")
        version = ".".join(str(n) for n in sys.version_info[:3])
        m.write(HOME / "ml\\pyvenv.cfg", f"home = {WHOLE}\ninclude-system-site-packages = true\nversion = {version}\n")
        return packages(m, site, *wheels) if wheels else site

    return build


def half_removed(folder: Path) -> Plant:
    """Let an uninstallation stop where a program held a file."""

    def plant(_m: Machine, _made: Path) -> None:
        for file in folder.glob("numpy\\core\\_multiarray_umath*.pyd"):
            file.unlink()

    return plant


WEBUI = "@echo off\n\nset PYTHON=\nset GIT=\nset VENV_DIR={folder}\nset COMMANDLINE_ARGS=\n\ncall webui.bat\n"
STARTS = '@echo off\nset PYTHON="%VENV_DIR%\\Scripts\\Python.exe"\n%PYTHON% -B train.py %*\n'


# --- healthy -------------------------------------------------------------------------------------------------------------


def tasks(m: Machine, made: Path) -> None:
    """Leave a task of a Python that is gone, which is disabled, and one of a program that is gone and is no Python."""
    for name, enabled, command in (
        ("Old training", "false", r"C:\Python38\python.exe"),
        ("Vendor Updater", "true", r"C:\Program Files\Vendor\updater.exe"),
    ):
        text(TASKS / name, TASK.format(enabled=enabled, command=command).encode("utf-16"))(m, made)


def usual_opener(m: Machine, made: Path) -> None:
    """Let the Python that its installer put there open scripts: it has no packages."""
    kept = list(m.pythons)
    whole_python(m, WHOLE)
    m.pythons[:] = kept
    by_double_click(WHOLE / "python.exe")(m, made)


def hook(m: Machine, site: Path) -> None:
    """Keep the lines of an older fix: one of the folders is gone."""
    lines = [f"import os; os.path.isdir({f!r}) and os.add_dll_directory({f!r})\n" for f in (r"C:\gone\bin", str(BIN))]
    m.write(site / "convalesce_cuda.pth", "".join(lines))


SEVEN = "held7-"

HELD_OUT_7: tuple[Scene, ...] = (
    Scene(f"{SEVEN}cublas-copied-without-its-half", "ctranslate2", (MISSING, NOT_SEARCHED), spoilt(with_toolkit("ctranslate2", "cublas-12", "nvrtc-12", on_path=False), one_copied), names="cublasLt64_12.dll"),
    Scene(f"{SEVEN}older-runtime-in-windows-folder", ORT, (SHADOWED,), spoilt(with_toolkit("ort-1.20", *FOR_ORT), older_in_windows), names="C:\\Windows\\cudart64_12.dll"),
    Scene(f"{SEVEN}app-unpacked-over-an-older-one", "blas.exe", (SHADOWED, BROKEN), spoilt(program("blas.exe", "cublas-12"), older("cublasLt64_12.dll", HOME / "app")), names="app\\cublasLt64_12.dll"),
    Scene(f"{SEVEN}inherited-numpy-half-removed", "numpy", (BROKEN, HALF), spoilt(inheriting(base="numpy-1.26"), half_removed(WHOLE / "Lib\\site-packages")), names="Python311", runs=does(NUMPY)),
    Scene(f"{SEVEN}webui-user-names-another-venv", "ctranslate2", (WRONG_ONE, REQUIREMENT), ct2s(another_environment, project("webui-user.bat", WEBUI.format(folder=HOME / "tools")), project("webui.bat", STARTS)), names="tools", runs=lambda _s: ["cmd.exe", "/c", f"cd /d {PROJECT} && webui-user.bat"], folder=PROJECT),
    Scene(f"{SEVEN}clone-in-the-working-folder", "ctranslate2", (IN_THE_WAY,), ct2s(project("ctranslate2\\__init__.py", "from ctranslate2._ext import Translator\n"), project("ctranslate2\\converters\\__init__.py", "")), names="project\\ctranslate2", runs=script(), folder=PROJECT),
    # healthy and odd
    Scene(f"{SEVEN}healthy-portable-and-broken-user-site", "numpy", (), spoilt(lambda m: embeddable(m, "Lib\\site-packages", "import site"), in_user_site("numpy-1.23"), half_removed(USER_SITE)), runs=does(NUMPY, HOME / "embedded\\python.exe")),
    Scene(f"{SEVEN}healthy-disabled-task-of-a-gone-python", "ctranslate2", (), ct2s(tasks), runs=does(BLAS), folder=PROJECT),
    Scene(f"{SEVEN}healthy-usual-opener-of-scripts", "ctranslate2", (), ct2s(usual_opener, project("train.py", f"{BLAS}\nprint('done')\nif len(__file__) < 3:\n    input('Press Enter to close')\n")), runs=script(), folder=PROJECT),
    Scene(f"{SEVEN}healthy-older-hook", "ctranslate2", (), ct2s(hook), runs=does(BLAS)),
    Scene(f"{SEVEN}healthy-inherits-and-has-its-own", "ctranslate2", (), spoilt(inheriting("numpy-1.26", "ctranslate2", base="numpy-1.23")), runs=does(f"{BLAS}; {NUMPY}")),
    Scene(f"{SEVEN}healthy-sources-beside-the-script", "ctranslate2", (), ct2s(project("ctranslate2\\README.md", "# Sources\n"), project("ctranslate2\\src\\layer.cc", "int x;\n"), project("webui-user.bat", WEBUI.format(folder=HOME / "ml")), project("webui.bat", STARTS)), runs=lambda _s: ["cmd.exe", "/c", f"cd /d {PROJECT} && webui-user.bat"], folder=PROJECT),
)  # fmt: skip
