r"""The fifth held-out set: machines as Windows users have them. Committed before its first scan.

Written from public threads by somebody who had read the scenes and the results of the other sets, and no rule. The oracle loads the
framework's own DLLs, or starts the person's own command.

Threads and pages: NVIDIA's notes on CUDA 13 (Windows' DLLs are in ``bin\x64``), cuDNN's installer (a folder for each CUDA), pytorch
#131662 (fbgemm.dll needs libomp140.x86_64.dll), JamePeng/llama-cpp-python #156 (a stale libomp140 in System32), onnxruntime #20049 and
CTranslate2 #623 (one DLL copied away from its others), miniforge #739 (another program's folder comes first on PATH), and the
questions about PYTHONPATH, ``.pth`` files and scripts with the name of a standard module ("SRE module mismatch").
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.windows.faultlab.machine import CUDNN, HOME, SYSTEM32, TOOLKITS, Machine
from tests.windows.worldlab.held_out import file_of
from tests.windows.worldlab.held_out_2 import (
    ABI,
    ENVIRONMENT,
    IN_THE_WAY,
    ML,
    NOT_INHERITED,
    NUMPY,
    OLD_SITE,
    OTHER_PYTHON,
    PATH_WRONG,
    PROJECT,
    RUNTIME,
    STARTS_NUMPY,
    SYSTEM_PATH,
    TORCH,
    TORCHS,
    VALUE,
    batch,
    does,
    embeddable,
    other_python,
    project,
    script,
    short_path,
    text,
    then,
    without_gpu,
)
from tests.windows.worldlab.held_out_3 import MENU, ct2s, link, numpys
from tests.windows.worldlab.modules import SYSTEMS, alone
from tests.windows.worldlab.scenes import (
    BIN,
    BROKEN,
    FOR_CUPY,
    MISSING,
    NO_CUDNN_PATH,
    NOT_SEARCHED,
    ORT,
    SHADOWED,
    Plant,
    Scene,
    older,
    program,
    spoilt,
    venv,
    with_toolkit,
)

assert sys.platform == "win32"

THIRTEEN = TOOLKITS / "v13.0\\bin"
CONDA_BASE = HOME / "miniconda3\\Library\\bin"
OTHERS_LIBRARY = HOME / "Python310\\Lib"
LIBOMP = "libomp140.x86_64.dll"
HAS_OMP = f"""
import ctypes, sys
import fastthing
k = ctypes.WinDLL('kernel32')
k.GetModuleHandleW.restype = ctypes.c_void_p
k.GetProcAddress.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
sys.exit(0 if k.GetProcAddress(k.GetModuleHandleW({LIBOMP!r}), b'omp') else 127)
"""
"""Wine imports a module whose function its DLL lacks, which Windows refuses: it is looked up."""


def thirteen(*on_path: Path) -> Plant:
    r"""Install CUDA 13, whose DLLs are in bin\x64."""

    def plant(m: Machine, _made: Path) -> None:
        for file in Path(m.places["cublas-13"]).rglob("*.dll"):
            m.place(file, THIRTEEN / "x64" / file.name)
        m.write(THIRTEEN / "nvcc.exe", b"MZ" + bytes(300))
        m.write(THIRTEEN.parent / "version.json", '{"cuda": {"name": "CUDA SDK", "version": "13.0.1"}}\n')
        m.variable("CUDA_PATH", str(THIRTEEN.parent), "machine")
        m.path(*on_path)

    return plant


def cudnn_in(folder: str, on_path: str) -> Plant:
    """Install cuDNN into one of its installer's folders, and put another on PATH."""

    def plant(m: Machine, _made: Path) -> None:
        m.place_all(m.cudnn("cudnn-9.28"), CUDNN / folder)
        m.path(CUDNN / on_path)

    return plant


def of_another_llvm(m: Machine, _made: Path) -> None:
    """Leave a libomp140 without today's functions in System32."""
    file_of((Path(m.places["consumers"]) / "modules\\avcodec-61.dll").read_bytes(), SYSTEM32 / LIBOMP)(m, _made)


def fbgemm(m: Machine, site: Path) -> None:
    """Give PyTorch the library that asks for LLVM's OpenMP."""
    file = m.place(Path(m.places["consumers"]) / "modules\\openmp.pyd", site / "torch\\lib\\fbgemm.dll")
    (record,) = site.glob("torch-*.dist-info/RECORD")
    m.write(record, f"{record.read_text(encoding='utf-8')}torch/lib/fbgemm.dll,,{file.stat().st_size}\n")


def one_alone(m: Machine, made: Path) -> None:
    """Copy cuBLAS to System32 without what it needs; the toolkit is not on PATH."""
    short_path(m, made)
    file_of((BIN / "cublas64_12.dll").read_bytes(), SYSTEM32 / "cublas64_12.dll")(m, made)


def of_another_python(m: Machine, _made: Path) -> None:
    """Let PYTHONPATH name another Python's standard library."""
    m.write(OTHERS_LIBRARY / "re.py", "import sre_compile\n")
    m.write(OTHERS_LIBRARY / "sre_compile.py", "import _sre\nassert _sre.MAGIC == 20171005, 'SRE module mismatch'\n")
    m.write(OTHERS_LIBRARY / "os.py", "import re\n")
    m.variable("PYTHONPATH", str(OTHERS_LIBRARY))


def pth(line: str) -> Plant:
    """Put a line into a .pth file of the environment."""
    return lambda m, site: m.write(site / "shared_packages.pth", f"{line}\n")


def activation(line: str) -> Plant:
    """Let the environment's own activate.bat hold one more line."""
    whole = f'@echo off\nset "VIRTUAL_ENV={HOME}\\ml"\nset "PATH=%VIRTUAL_ENV%\\Scripts;%PATH%"\n{line}\n'
    return lambda m, site: m.write(site.parents[1] / "Scripts\\activate.bat", whole)


STARTS_ACTIVATED = project("run.bat", f"@echo off\ncall {HOME}\\ml\\Scripts\\activate.bat\npython -B train.py\n")
NIGHTLY = project("jobs\\nightly.bat", f"@echo off\ncd /d {PROJECT}\nset PATH={SYSTEM_PATH}\n{ML} train.py\n")
FOR_NETWORK = ("cudart-12", "cublas-12", "nvrtc-12")

HELD_OUT_5: tuple[Scene, ...] = (
    # A: absent or unfit
    Scene("held5-cuda-13-bin-alone", ORT, (NOT_SEARCHED,), spoilt(lambda m: venv(m, "ort-new"), thirteen(THIRTEEN)), names="bin\\x64"),
    Scene("held5-cudnn-in-x64", "network.exe", (NO_CUDNN_PATH, NOT_SEARCHED), spoilt(program("network.exe", *FOR_NETWORK), cudnn_in("v9.20\\bin\\12.9\\x64", "v9.20\\bin\\12.9")), names="12.9\\x64"),
    Scene("held5-torch-fbgemm-without-libomp", "torch", (SYSTEMS, RUNTIME, MISSING, BROKEN), then(without_gpu(*TORCHS, "numpy-1.26"), fbgemm), names=LIBOMP, runs=does(TORCH)),
    Scene("held5-cublas-alone-in-system32", "ctranslate2", (NOT_SEARCHED, MISSING, SHADOWED), spoilt(with_toolkit("ctranslate2", "cublas-12", "nvrtc-12"), one_alone), names="cublasLt64_12.dll"),
    # B: does not fit
    Scene("held5-stale-libomp-in-system32", "module", (SYSTEMS, RUNTIME, ABI, SHADOWED, BROKEN), then(alone("openmp"), of_another_llvm), names=LIBOMP, runs=does(HAS_OMP)),
    Scene("held5-conda-base-first", "ctranslate2", (SHADOWED,), spoilt(with_toolkit("ctranslate2", "cublas-12", "nvrtc-12"), older("cublasLt64_12.dll", CONDA_BASE, on_path=True)), names="miniconda3\\Library\\bin"),
    # C: Python's search
    Scene("held5-random-py-in-project", "numpy", (IN_THE_WAY,), numpys(STARTS_NUMPY, project("random.py", "print('heads or tails')\n")), names="project\\random.py", runs=script(), folder=PROJECT),
    Scene("held5-pth-puts-old-packages-first", "numpy", (OTHER_PYTHON, IN_THE_WAY, VALUE), numpys(other_python, pth(f"import sys; sys.path.insert(0, r'{OLD_SITE}')")), names=str(HOME / "old"), runs=does(NUMPY)),
    # D: started otherwise
    Scene("held5-activation-sets-pythonpath", "numpy", (OTHER_PYTHON, IN_THE_WAY, VALUE), numpys(other_python, STARTS_NUMPY, activation(f"set PYTHONPATH={OLD_SITE}"), STARTS_ACTIVATED), names=str(HOME / "old"), runs=batch(), folder=PROJECT),
    Scene("held5-startup-folder-batch", "ctranslate2", (NOT_INHERITED, NOT_SEARCHED, VALUE), ct2s(NIGHTLY, link(MENU / "Startup", "Nightly", PROJECT / "jobs\\nightly.bat", "", PROJECT)), names="nightly.bat", runs=batch("jobs\\nightly.bat"), folder=HOME),
    # E: variables
    Scene("held5-pythonpath-of-another-library", "numpy", (OTHER_PYTHON, IN_THE_WAY, VALUE, ENVIRONMENT), numpys(of_another_python), names="Python310", runs=does(NUMPY)),
    Scene("held5-users-cuda-path-over-the-machines", "cupy-13", (PATH_WRONG, NOT_SEARCHED), spoilt(with_toolkit("cupy-13", *FOR_CUPY), lambda m, _s: m.variable("CUDA_PATH", str(TOOLKITS / "v11.8"))), names="v11.8"),
    # healthy and odd
    Scene("held5-healthy-cuda-13-bin-and-x64", ORT, (), spoilt(lambda m: venv(m, "ort-new"), thirteen(THIRTEEN, THIRTEEN / "x64"))),
    Scene("held5-healthy-scripts-named-like-tools", "torch", (), then(without_gpu(*TORCHS, "numpy-1.26"), project("train.py", f"{TORCH}\n"), project("tools\\torch.py", "x = 1\n"), project("torch_utils.py", "x = 1\n")), runs=script(), folder=PROJECT),
    Scene("held5-healthy-embedded-ignores-pythonpath", "numpy", (), spoilt(lambda m: embeddable(m, "Lib\\site-packages", "import site"), other_python, lambda m, _s: m.variable("PYTHONPATH", str(OLD_SITE))), runs=does(NUMPY, HOME / "embedded\\python.exe")),
    Scene("held5-healthy-modules-elsewhere-in-project", "numpy", (), numpys(STARTS_NUMPY, project("src\\random.py", "x = 1\n"), project("random.txt", "heads\n"), project("typing_notes.py", "x = 1\n")), runs=script(), folder=PROJECT),
    Scene("held5-healthy-pth-appends-old-packages", "numpy", (), numpys(other_python, pth(str(OLD_SITE))), runs=does(NUMPY)),
    Scene("held5-healthy-quoted-entry-and-activation", "numpy", (), numpys(STARTS_NUMPY, activation("set PYTHONUNBUFFERED=1"), STARTS_ACTIVATED, text(HOME / "my tools\\readme.txt", "x"), lambda m, _s: m.path(f'"{HOME}\\my tools"', "C:\\Gone", scope="user")), runs=batch(), folder=PROJECT),
)  # fmt: skip
