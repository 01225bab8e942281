r"""The second held-out set, classes A to E of docs/world-lab.md, by somebody who had read no rule: committed before its first scan.

What is wrong is what people meet: files that a sync client or a virus scanner left as zeros, an installer that stopped
halfway, another Python's packages, a batch file or a task with variables of its own. ``import`` is the real one wherever
the wheel imports under wine (NumPy 1.26, CTranslate2, ONNX Runtime, PyTorch for the processor); else the oracle is LoadLibraryExW.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import winreg
from collections.abc import Callable
from pathlib import Path

from tests.windows.faultlab.machine import HOME, KEYS, SYSTEM32, TOOLKITS, Machine, distribution, environment
from tests.windows.worldlab.scenes import (
    ANYTHING,
    BIN,
    BROKEN,
    FOR_CUPY,
    FOREIGN,
    MISSING,
    NO_NVRTC,
    NOT_SEARCHED,
    ODD,
    ORT,
    OTHER_CUDA,
    REQUIRED,
    SHADOWED,
    Plant,
    Scene,
    gone,
    module_of,
    older,
    pip,
    program,
    spoilt,
    the,
    toolkit,
    variable,
    with_toolkit,
    with_wheels,
)

assert sys.platform == "win32"

IN_THE_WAY, ENVIRONMENT, OTHER_PYTHON = "module_shadowed", "python_environment_broken", "package_for_another_python"
VALUE, WRONG_ONE, NOT_INHERITED = "variable_value_wrong", "wrong_environment_active", "process_env_not_inherited"
HALF, TWICE, PATH_WRONG, ABI = (
    "installation_interrupted",
    "duplicate_framework_packages",
    "cuda_path_env_wrong",
    "extension_abi_mismatch",
)
RUNTIME, REQUIREMENT = "vc_runtime_missing", "requirement_broken"

PROJECT = HOME / "project"
OLD_SITE = HOME / "old\\Lib\\site-packages"
WHOLE = HOME / "Python311"
APPDATA = Path(os.environ["APPDATA"])
USER_SITE = APPDATA / "Python\\Python311\\site-packages"
ALIASES = Path(os.environ["LOCALAPPDATA"]) / "Microsoft\\WindowsApps"
TASKS = SYSTEM32 / "Tasks"
FOR_CT2 = ("cublas-12", "nvrtc-12", "cudnn-9.28")
TORCHS = ("torch-cpu", "filelock", "fsspec", "jinja2", "markupsafe", "mpmath", "networkx", "sympy", "typing_extensions")
MODULES = {"numpy-1.26": "numpy", "numpy-1.23": "numpy", "sympy": "sympy"}
ML = HOME / "ml\\Scripts\\python.exe"

NUMPY = "import numpy; assert numpy.ones(3).sum() == 3"
CT2 = "import ctranslate2; ctranslate2.get_supported_compute_types('cpu')"
BLAS = f"{CT2}; import ctypes; ctypes.WinDLL('cublas64_12.dll', winmode=0)"
"""CTranslate2 asks for cuBLAS by its bare name when a model first computes on a GPU."""
PROVIDERS = "import onnxruntime; assert 'CUDAExecutionProvider' in onnxruntime.get_available_providers()"
TORCH = "import torch; assert torch.ones(3).sum() == 3"
COMPILES = """
import ctypes, glob, os, sys
(folder,) = [p for p in sys.path if p.endswith('site-packages')][-1:]
nvrtc = ctypes.WinDLL(os.path.join(folder, r'nvidia\\cuda_nvrtc\\bin\\nvrtc64_120_0.dll'))
handle = ctypes.c_void_p()
assert nvrtc.nvrtcCreateProgram(ctypes.byref(handle), b'#include <cuda_fp16.h>' * 0 + b'extern "C" __global__ void f(float *x) { x[0] = sqrtf(x[1]); }', b'f.cu', 0, None, None) == 0
sys.exit(nvrtc.nvrtcCompileProgram(handle, 0, None))
"""
"""CuPy compiles each kernel with NVRTC, which opens its built-ins by then; no GPU takes part."""


# --- how it is started -------------------------------------------------------------------------------------------


def does(code: str, python: Path | None = None) -> Callable[[Path], list[str]]:
    """Return the start of code in an environment's own Python."""
    return lambda site: [str(python or site.parents[1] / "Scripts\\python.exe"), "-B", "-c", code]


def script(name: str = "train.py", python: Path = ML) -> Callable[[Path], list[str]]:
    """Return the start of a script of the project's."""
    return lambda _site: [str(python), "-B", str(PROJECT / name)]


def batch(name: str = "run.bat") -> Callable[[Path], list[str]]:
    """Return the start of a batch file."""
    return lambda _site: ["cmd.exe", "/c", str(PROJECT / name)]


# --- what is installed -------------------------------------------------------------------------------------------


def packages(m: Machine, site: Path, *wheels: str) -> Path:
    """Install wheels, and what they require and is not among them as metadata with an empty module.

    CTranslate2 gets the toolkit that it needs on a GPU, or its lack would be a second fault.
    """
    if "ctranslate2" in wheels:
        toolkit(m, *FOR_CT2)
    real = {MODULES.get(w, w) for w in wheels}
    for name, version in REQUIRED.items():
        if name not in real:
            distribution(m, site, name, version)
            m.write(site.joinpath(*module_of(name).split("."), "__init__.py"), ANYTHING)
    pip(m, site, *wheels)
    return site


def real(*wheels: str, home: Path = HOME) -> Callable[[Machine], Path]:
    """Return an environment whose Python imports these wheels."""
    return lambda m: packages(m, environment(m, "ml", home=home), *wheels)


def without_gpu(*wheels: str) -> Callable[[Machine], Path]:
    """Return the same on a machine without an NVIDIA GPU."""
    return real(*wheels)


def then(base: Callable[[Machine], Path], *plants: Plant) -> Callable[[Machine], Path]:
    """Return a builder like ``spoilt``, without a driver."""

    def build(m: Machine) -> Path:
        made = base(m)
        for plant in plants:
            plant(m, made)
        return made

    return build


def whole_python(m: Machine, home: Path = WHOLE, *wheels: str) -> Path:
    """Install a Python of its own, as its installer does."""
    base = Path(sys.base_prefix)
    for folder, below, names in os.walk(base):
        below[:] = [b for b in below if b not in ("site-packages", "__pycache__")]
        for name in names:
            target = home / Path(folder, name).relative_to(base)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(
                Path(folder, name), target
            )  # a link to a DLL that this process has loaded could not be removed
    m.pythons.append(str(home / "python.exe"))
    return packages(m, home / "Lib\\site-packages", *wheels)


def whole(*wheels: str) -> Callable[[Machine], Path]:
    """Return a machine with such a Python."""
    return lambda m: whole_python(m, WHOLE, *wheels)


def embeddable(m: Machine, *lines: str) -> Path:
    """Unpack the embeddable Python: its ._pth alone says where modules are."""
    site = whole_python(m, HOME / "embedded", "numpy-1.26", "ctranslate2")
    m.write(HOME / "embedded\\python311._pth", "\n".join(("Lib", "DLLs", ".", *lines)) + "\n")
    return site


def cublas_toolkit(m: Machine) -> Path:
    """CTranslate2 for a GPU, as people have it: pip, and a toolkit."""
    return packages(m, environment(m, "ml"), "numpy-1.26", "ctranslate2")


# --- plants ------------------------------------------------------------------------------------------------------


def zeros(file: str) -> Plant:
    """Leave a file's size and name, and zeros for its bytes: what a sync client or a power cut leaves."""

    def plant(m: Machine, made: Path) -> None:
        path = the(file, made)
        size = path.stat().st_size
        m.write(path, b"")
        with path.open("r+b") as stream:
            stream.truncate(size)

    return plant


def text(path: Path, content: str | bytes) -> Plant:
    """Write a file; one outside the lab's folders is remembered for the clean-up."""

    def plant(m: Machine, _made: Path) -> None:
        m.write(path, content)
        m.system_files.append(path)

    return plant


def project(name: str, content: str) -> Plant:
    """Write a file of the project's."""
    return text(PROJECT / name, content)


def taken_from(wheel: str, pattern: str) -> Plant:
    """Replace one file of a package by the same of another release: an update that stopped halfway."""

    def plant(m: Machine, site: Path) -> None:
        (source,) = Path(m.places[wheel]).glob(pattern)
        m.place(source, site / source.relative_to(m.places[wheel]))

    return plant


def other_python(m: Machine, _made: Path, site: Path = OLD_SITE) -> None:
    """Put NumPy for Python 3.10 into another Python's packages."""
    pip(m, site, "numpy-1.26")
    for file in list(site.rglob("*.cp311-win_amd64.pyd")):
        m.place(file, file.with_name(file.name.replace("cp311", "cp310")))
        file.unlink()


def in_user_site(*wheels: str) -> Plant:
    """Install wheels with ``pip install --user``."""

    def plant(m: Machine, _made: Path) -> None:
        pip(m, USER_SITE, *wheels)
        m.system_files.extend(p for p in USER_SITE.rglob("*") if p.is_file())

    return plant


def cpu_build_over_it(m: Machine, site: Path) -> None:
    """Install the build for the processor afterwards: it overwrites files of the other one."""
    pip(m, site, "ort-cpu")


def moved_base(m: Machine, site: Path) -> None:
    """Uninstall the Python that an environment was made from."""
    settings = site.parents[1] / "pyvenv.cfg"
    lines = settings.read_text(encoding="utf-8").splitlines()
    m.write(settings, "\n".join([f"home = {HOME}\\Python310-gone", *lines[1:]]) + "\n")


def task(name: str, command: str, arguments: str, folder: str = "") -> Plant:
    """Register a task as Windows' scheduler keeps it."""
    where = f"<WorkingDirectory>{folder}</WorkingDirectory>" if folder else ""
    content = (
        '<?xml version="1.0" encoding="UTF-16"?>\n'
        '<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task"><RegistrationInfo>'
        f"<URI>\\{name}</URI></RegistrationInfo><Triggers><LogonTrigger><Enabled>true</Enabled></LogonTrigger></Triggers>"
        '<Settings><Enabled>true</Enabled></Settings><Actions Context="Author"><Exec>'
        f"<Command>{command}</Command><Arguments>{arguments}</Arguments>{where}</Exec></Actions></Task>\n"
    )
    return text(TASKS / name, content.encode("utf-16"))


def another_environment(m: Machine, _made: Path) -> None:
    """Make a second environment without the framework."""
    kept = list(m.pythons)
    packages(m, environment(m, "tools"), "numpy-1.26")
    m.pythons[:] = kept


def dumped(content: object) -> str:
    """Return JSON."""
    return json.dumps(content, indent=2)


def launch(env: dict[str, str]) -> Plant:
    """Write VS Code's way of starting the project."""
    one = {
        "name": "train", "type": "debugpy", "request": "launch", "program": "${workspaceFolder}\\train.py", "python": str(ML), "env": env,
    }  # fmt: skip
    return project(".vscode\\launch.json", dumped({"version": "0.2.0", "configurations": [one]}))


def with_variables(code: str, **env: str) -> Callable[[Path], list[str]]:
    """Return the start of code with variables of its own, as the editor or the service does it."""
    put = "; ".join(f"os.environ[{n!r}] = {v!r}" for n, v in env.items())
    wrapper = (
        f"import os, subprocess, sys; {put}; sys.exit(subprocess.run([{str(ML)!r}, '-B', '-c', {code!r}]).returncode)"
    )
    return lambda _site: [sys.executable, "-I", "-S", "-c", wrapper]


def quoted(m: Machine, _made: Path) -> None:
    """Put the toolkit's folder on PATH with quotation marks around it, as a command prompt would need them."""
    m.path(f'"{BIN}"')


def unexpanded(m: Machine, _made: Path) -> None:
    """Keep PATH as plain text, so that nothing replaces the variable in it."""
    m.path("%CUDA_PATH%\\bin", kind=winreg.REG_SZ)


def expandable(m: Machine, _made: Path) -> None:
    """Keep PATH as text whose variables are replaced."""
    m.path("%CUDA_PATH%\\bin", kind=winreg.REG_EXPAND_SZ)


def odd_user_path(m: Machine, _made: Path) -> None:
    """Entries twice, with slashes, in capitals, and two that are gone."""
    m.path(
        str(BIN).replace("\\", "/"),
        str(BIN).upper(),
        "C:\\Gone\\bin",
        "%USERPROFILE%\\nowhere",
        scope="user",
        kind=winreg.REG_EXPAND_SZ,
    )


def older_toolkit(m: Machine, _made: Path) -> None:
    """Let CUDA_PATH name an older toolkit with a whole set of names."""
    for name in ("cublas64_12.dll", "cublasLt64_12.dll", "cudart64_12.dll", "cufft64_11.dll"):
        m.place(Path(m.places["consumers"]) / "older" / name, TOOLKITS / "v12.0\\bin" / name)
    m.write(TOOLKITS / "v12.0\\version.json", '{"cuda": {"name": "CUDA SDK", "version": "12.0.1"}}\n')
    m.variable("CUDA_PATH", str(TOOLKITS / "v12.0"), "machine")


def short_path(m: Machine, _made: Path) -> None:
    """Run without the toolkit on the person's own PATH: the starters that set it are the only ones that work."""
    now = [e for e in str(winreg_path()).split(";") if e.lower() != str(BIN).lower()]
    m.variable("Path", ";".join(now), "machine", winreg.REG_EXPAND_SZ)


def winreg_path() -> object:
    """Return the machine's PATH."""
    root, key = KEYS["machine"]
    with winreg.OpenKey(root, key) as opened:
        return winreg.QueryValueEx(opened, "Path")[0]


def named_profile(m: Machine, _made: Path) -> None:
    """Put a healthy copy of cuBLAS into Scripts, as an older guide asked for."""
    for file in Path(m.places["cublas-12"]).glob("nvidia/cublas/bin/cublas*.dll"):
        m.place(file, HOME / "ml\\Scripts" / file.name)


def store_alias(m: Machine, _made: Path) -> None:
    """Leave the Store's alias first on PATH: a file of no bytes."""
    m.write(ALIASES / "python.exe", b"")
    m.system_files.append(ALIASES / "python.exe")
    m.path(ALIASES, first=True)


def whole_copy(m: Machine, site: Path) -> None:
    """Move an environment: its programs still name the old place."""
    scripts = site.parents[1] / "Scripts"
    m.write(
        scripts / "activate.bat",
        f'@echo off\nset "VIRTUAL_ENV={HOME}\\before\\ml"\nset "PATH=%VIRTUAL_ENV%\\Scripts;%PATH%"\n',
    )


STARTS_CT2 = project("train.py", f"{BLAS}\nprint('done')\n")
STARTS_NUMPY = project("train.py", f"{NUMPY}\nprint('done')\n")
SYSTEM_PATH = "C:\\windows\\system32;C:\\windows"

HELD_OUT_2: tuple[Scene, ...] = (
    # A: a DLL is absent or unfit
    Scene("held2-torch-openmp-lost", "torch", (BROKEN, MISSING), then(without_gpu(*TORCHS, "numpy-1.26"), gone("torch\\lib\\libiomp5md.dll")), names="libiomp5md.dll", runs=does(TORCH)),
    Scene("held2-numpy-openblas-lost", "numpy", (BROKEN, MISSING), spoilt(real("numpy-1.26", "ctranslate2"), lambda _m, s: next(s.glob("numpy.libs\\libopenblas*.dll")).unlink()), names="libopenblas", runs=does(NUMPY)),
    Scene("held2-ct2-library-of-zeros", "ctranslate2", (BROKEN,), spoilt(real("numpy-1.26", "ctranslate2"), zeros("ctranslate2\\ctranslate2.dll")), names="ctranslate2.dll", runs=does(CT2)),
    Scene("held2-ct2-module-empty", "ctranslate2", (BROKEN,), spoilt(real("numpy-1.26", "ctranslate2"), lambda m, s: m.write(next(s.glob("ctranslate2\\_ext*.pyd")), b"")), names="_ext", runs=does(CT2)),
    Scene("held2-ort-cublas-of-zeros", ORT, (BROKEN,), spoilt(with_wheels("ort-new", "cublas-13", named=True), zeros("nvidia\\cu13\\bin\\x86_64\\cublas64_13.dll")), names="cublas64_13.dll"),
    Scene("held2-ct2-32-bit-beside-it", "ctranslate2", (FOREIGN, BROKEN), spoilt(cublas_toolkit, lambda m, s: m.place(m.part("x86/zlibwapi.dll"), s / "ctranslate2\\cublasLt64_12.dll")), names="ctranslate2\\cublasLt64_12.dll", runs=does(CT2)),
    Scene("held2-msvcp-beside-python", "ctranslate2", (RUNTIME, BROKEN, FOREIGN), spoilt(whole("numpy-1.26", "ctranslate2"), lambda m, _s: m.place(m.part("x86/zlibwapi.dll"), WHOLE / "msvcp140.dll")), names="msvcp140.dll", runs=does(CT2, WHOLE / "python.exe")),
    Scene("held2-nvrtc-builtins-lost", "cupy-14", (NO_NVRTC, BROKEN), spoilt(with_wheels("cupy-14", *FOR_CUPY), gone("nvidia\\cuda_nvrtc\\bin\\nvrtc-builtins64_124.dll")), names="nvrtc-builtins64_124.dll", runs=does(COMPILES)),
    Scene("held2-cupy-cusparse-empty", "cupy-13", (BROKEN,), spoilt(with_toolkit("cupy-13", *FOR_CUPY), lambda m, _s: m.write(BIN / "cusparse64_12.dll", b"")), names="cusparse64_12.dll"),
    # B: DLLs of two releases
    Scene("held2-ort-1.23-only-cuda-13", ORT, (OTHER_CUDA, MISSING), spoilt(with_wheels("ort-1.23", "cublas-13", named=True)), names="64_12"),
    Scene("held2-ort-processor-build-over-it", ORT, (TWICE,), spoilt(real("numpy-1.26", "ort-1.20"), cpu_build_over_it), names="onnxruntime-gpu", runs=does(PROVIDERS)),
    Scene("held2-numpy-half-updated", "numpy", (BROKEN, HALF, ABI), spoilt(real("numpy-1.26", "ctranslate2"), taken_from("numpy-1.23", "numpy/core/_multiarray_umath*.pyd")), names="_multiarray_umath", runs=does(NUMPY)),
    Scene("held2-older-cublaslt-beside-python", "ctranslate2", (SHADOWED,), spoilt(whole("numpy-1.26", "ctranslate2"), older("cublasLt64_12.dll", WHOLE)), names="Python311\\cublasLt64_12.dll", runs=does(BLAS.replace("ctypes.WinDLL('cublas64_12.dll', winmode=0)", "k = ctypes.WinDLL('cublas64_12.dll', winmode=0); ctypes.WinDLL('cublasLt64_12.dll', winmode=0).cublasLtMatmul"), WHOLE / "python.exe")),
    Scene("held2-cupy-cuda-path-of-12.0", "cupy-13", (SHADOWED, PATH_WRONG, OTHER_CUDA), spoilt(with_toolkit("cupy-13", *FOR_CUPY), older_toolkit), names="v12.0"),
    # C: Python's search
    Scene("held2-numpy-py-in-project", "numpy", (IN_THE_WAY,), spoilt(real("numpy-1.26", "ctranslate2"), STARTS_NUMPY, project("numpy.py", "print('my numbers')\n")), names="project\\numpy.py", runs=script(), folder=PROJECT),
    Scene("held2-pythonpath-of-python-3.10", "numpy", (OTHER_PYTHON, IN_THE_WAY, VALUE), spoilt(real("numpy-1.26", "ctranslate2"), other_python, lambda m, _s: m.variable("PYTHONPATH", str(OLD_SITE))), names=str(HOME / "old"), runs=does(NUMPY)),
    Scene("held2-user-site-half-removed", "numpy", (BROKEN, HALF, IN_THE_WAY), spoilt(whole("numpy-1.26", "ctranslate2"), in_user_site("numpy-1.23"), lambda _m, _s: next(USER_SITE.glob("numpy\\.libs\\libopenblas*.dll"), next(USER_SITE.rglob("libopenblas*.dll"))).unlink()), names="AppData", runs=does(NUMPY, WHOLE / "python.exe")),
    Scene("held2-embedded-without-site", "numpy", (ENVIRONMENT, WRONG_ONE, IN_THE_WAY), spoilt(lambda m: embeddable(m, "#import site")), names="python311._pth", runs=does(NUMPY, HOME / "embedded\\python.exe")),
    Scene("held2-environment-without-its-python", "numpy", (ENVIRONMENT,), spoilt(real("numpy-1.26", "ctranslate2"), moved_base), names="Python310-gone", runs=does(NUMPY)),
    Scene("held2-store-alias-first", "ctranslate2", (WRONG_ONE, ENVIRONMENT), spoilt(cublas_toolkit, STARTS_CT2, store_alias, project("run.bat", "@echo off\npython train.py\n")), names="WindowsApps", runs=batch(), folder=PROJECT),
    # D: started otherwise
    Scene("held2-batch-sets-path", "ctranslate2", (NOT_INHERITED, NOT_SEARCHED, VALUE), spoilt(cublas_toolkit, STARTS_CT2, project("run.bat", f"@echo off\nset PATH={SYSTEM_PATH}\n{ML} train.py\n")), names="run.bat", runs=batch(), folder=PROJECT),
    Scene("held2-batch-sets-pythonpath", "numpy", (OTHER_PYTHON, IN_THE_WAY, VALUE), spoilt(real("numpy-1.26", "ctranslate2"), other_python, STARTS_NUMPY, project("run.bat", f"@echo off\nset PYTHONPATH={OLD_SITE}\n{ML} train.py\n")), names=str(HOME / "old"), runs=batch(), folder=PROJECT),
    Scene("held2-batch-moved-environment", "ctranslate2", (ENVIRONMENT, WRONG_ONE), spoilt(cublas_toolkit, STARTS_CT2, whole_copy, project("run.bat", f"@echo off\ncall {HOME}\\ml\\Scripts\\activate.bat\npython train.py\n")), names="before\\ml", runs=batch(), folder=PROJECT),
    Scene("held2-task-of-another-environment", "ctranslate2", (WRONG_ONE, REQUIREMENT), spoilt(cublas_toolkit, another_environment, STARTS_CT2, task("Nightly training", f"{HOME}\\tools\\Scripts\\python.exe", "train.py", str(PROJECT))), names="tools", runs=script(python=HOME / "tools\\Scripts\\python.exe"), folder=HOME),
    Scene("held2-task-in-another-folder", "numpy", (IN_THE_WAY,), spoilt(real("numpy-1.26", "ctranslate2"), project("numpy\\__init__.py", "pages = 3\n"), task("Report", str(ML), "-c &quot;import numpy; numpy.ones(3)&quot;", str(PROJECT))), names="project\\numpy", runs=lambda _s: ["cmd.exe", "/c", f"cd /d {PROJECT} && {ML} -B -c \"import numpy; numpy.ones(3)\""], folder=HOME),
    Scene("held2-vscode-sets-path", "ctranslate2", (NOT_INHERITED, NOT_SEARCHED, VALUE), spoilt(cublas_toolkit, STARTS_CT2, launch({"PATH": SYSTEM_PATH})), names="launch.json", runs=with_variables(BLAS, PATH=SYSTEM_PATH), folder=PROJECT),
    Scene("held2-vscode-env-file", "numpy", (OTHER_PYTHON, IN_THE_WAY, VALUE), spoilt(real("numpy-1.26", "ctranslate2"), other_python, STARTS_NUMPY, project(".env", f"PYTHONPATH={OLD_SITE}\n"), launch({})), names=str(HOME / "old"), runs=with_variables(NUMPY, PYTHONPATH=str(OLD_SITE)), folder=PROJECT),
    # E: variables
    Scene("held2-python-home", "numpy", (VALUE, ENVIRONMENT), spoilt(real("numpy-1.26", "ctranslate2"), lambda m, _s: m.variable("PYTHONHOME", "C:\\Python27")), names="PYTHONHOME", runs=does(NUMPY)),
    Scene("held2-path-unexpanded", "light.exe", (NOT_SEARCHED, VALUE), spoilt(program("light.exe", "cublas-12", on_path=False), unexpanded), names="%CUDA_PATH%"),
    Scene("held2-cuda-path-names-bin", "cupy-13", (PATH_WRONG, NOT_SEARCHED), spoilt(with_toolkit("cupy-13", *FOR_CUPY, on_path=False), variable("CUDA_PATH", str(BIN))), names="CUDA_PATH"),
    Scene("held2-cuda-path-quoted", "cupy-13", (PATH_WRONG, NOT_SEARCHED), spoilt(with_toolkit("cupy-13", *FOR_CUPY, on_path=False), variable("CUDA_PATH", f'"{BIN.parent}"')), names="CUDA_PATH"),
    Scene("held2-torch-logs-misspelt", "torch", (VALUE,), then(without_gpu(*TORCHS, "numpy-1.26"), lambda m, _s: m.variable("TORCH_LOGS", "+dynmo")), names="TORCH_LOGS", runs=does(TORCH)),
    Scene("held2-ct2-unknown-instructions", "ctranslate2", (VALUE,), spoilt(real("numpy-1.26", "ctranslate2"), lambda m, _s: m.variable("CT2_FORCE_CPU_ISA", "AVX1024")), names="CT2_FORCE_CPU_ISA", runs=does(CT2)),
    # healthy and odd
    Scene("held2-healthy-odd-path", "ctranslate2", (), spoilt(real("numpy-1.26", "ctranslate2", home=ODD), odd_user_path), runs=does(BLAS)),
    Scene("held2-healthy-newer-in-user-site", "numpy", (), spoilt(whole("numpy-1.23", "ctranslate2"), in_user_site("numpy-1.26")), runs=does(NUMPY, WHOLE / "python.exe")),
    Scene("held2-healthy-torch-without-gpu", "torch", (), without_gpu(*TORCHS, "numpy-1.26"), runs=does(TORCH)),
    Scene("held2-healthy-batch-prepends", "ctranslate2", (), spoilt(cublas_toolkit, STARTS_CT2, project("run.bat", f"@echo off\nset PATH={HOME}\\tools;%PATH%\nset PYTHONUNBUFFERED=1\n{ML} train.py\n")), runs=batch(), folder=PROJECT),
    Scene("held2-healthy-batch-sets-its-path", "ctranslate2", (), spoilt(cublas_toolkit, STARTS_CT2, project("run.bat", f"@echo off\nset PATH={BIN};{SYSTEM_PATH}\n{ML} train.py\n")), runs=batch(), folder=PROJECT),
    Scene("held2-healthy-vscode-prepends", "ctranslate2", (), spoilt(cublas_toolkit, STARTS_CT2, launch({"PATH": f"{HOME}\\tools;${{env:PATH}}", "PYTHONPATH": "${workspaceFolder}\\src"})), runs=script(), folder=PROJECT),
    Scene("held2-healthy-task-with-own-modules", "ctranslate2", (), spoilt(cublas_toolkit, STARTS_CT2, project("dataset.py", "rows = 3\n"), project("old\\numpy.py", "mine = 1\n"), task("Training", str(ML), "train.py", str(PROJECT))), runs=script(), folder=PROJECT),
    Scene("held2-healthy-path-with-variable", "light.exe", (), spoilt(program("light.exe", "cublas-12", on_path=False), expandable)),
    Scene("held2-healthy-embedded-with-site", "ctranslate2", (), spoilt(lambda m: embeddable(m, "Lib\\site-packages", "import site")), runs=does(f"{NUMPY}; {CT2}", HOME / "embedded\\python.exe")),
    Scene("held2-healthy-copy-in-scripts", "ctranslate2", (), spoilt(cublas_toolkit, named_profile), runs=does(BLAS)),
    Scene("held2-healthy-pythonpath-of-project", "numpy", (), spoilt(real("numpy-1.26", "ctranslate2"), project("src\\helpers.py", "x = 1\n"), lambda m, _s: m.variable("PYTHONPATH", f"{PROJECT}\\src;C:\\gone\\src")), runs=does(NUMPY), folder=PROJECT),
)  # fmt: skip
