"""Held out: written from the list of classes and from public threads alone, by someone who had not read the rules.

Committed before the first run, and scored once. Above each row: the thread that it is made from, or "class only".
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.worldlab.environments import master, site, uv
from tests.worldlab.scene import LEAVE, Oracle, Ran, Scene, World, imports, installs, lacks, loses, runs, then

Plant = Callable[[World], None]

# --- what the real programs do ------------------------------------------------------------------------------------------

TORCH = imports("torch")
JAX = runs("import jax; jax.devices('cpu'); jax.numpy.ones(3).sum()")
NUMPY = imports("numpy")
ONNX = runs("import onnxruntime; onnxruntime.InferenceSession")
CT2 = runs("import ctranslate2; ctranslate2.Translator")
TORCHAUDIO = imports("torch", "torchaudio")
BUILD_FLAGS = runs("from torch.utils.cpp_extension import _get_cuda_arch_flags; print(_get_cuda_arch_flags())")
NVCC = runs(
    "import subprocess, os; from torch.utils.cpp_extension import CUDA_HOME; assert CUDA_HOME, 'CUDA_HOME is not found'\n"
    "subprocess.check_call([os.path.join(CUDA_HOME, 'bin', 'nvcc'), '--version'])"
)
ALLOCATES = "import os, torch; torch._C._cuda_cudaCachingAllocator_set_allocator_settings(os.environ.get('PYTORCH_CUDA_ALLOC_CONF', ''))"
"""What ``torch.cuda`` does first; without a GPU it does not come so far by itself."""
CUBLAS = "import ctypes; ctypes.CDLL('libcublas.so.12')"
"""What CTranslate2 opens when it is first given a GPU."""
ALLOCATOR = runs(ALLOCATES)
CUSOLVER = runs(
    "import ctypes, os, sysconfig\n"
    "ctypes.CDLL(os.path.join(sysconfig.get_paths()['purelib'], 'nvidia/cusolver/lib/libcusolver.so.11'), os.RTLD_NOW)"
)
BNB = runs(
    "import ctypes, torch; from bitsandbytes.cuda_specs import CUDASpecs; from bitsandbytes.cextension import get_cuda_bnb_library_path\n"
    "p = get_cuda_bnb_library_path(CUDASpecs((8, 0), '128', (12, 8))); assert p.exists(), f'Configured CUDA binary not found at {p}'\n"
    "ctypes.CDLL(str(p))"
)
PTXAS = runs(
    "from triton import knobs; import subprocess; p = knobs.nvidia.ptxas.path; subprocess.check_call([p, '--version']); print(p)"
)
TRITON_BUILD = runs(
    "import tempfile, os; from triton.runtime.build import _build; d = tempfile.mkdtemp(); s = os.path.join(d, 'm.c')\n"
    "open(s, 'w').write('int f(void) { return 0; }'); print(_build('m', s, d, [], [], []))"
)
TRITON_CACHE = runs(
    "from triton.runtime.cache import get_cache_manager; print(get_cache_manager('a' * 64).put('x', 'y.txt'))"
)
JAX_TOOLS = runs(
    "import os; from jax._src import lib; p = lib.cuda_path; assert p, 'jax finds no CUDA'\n"
    "f = os.path.join(p, 'nvvm', 'libdevice', 'libdevice.10.bc'); assert os.path.exists(f), 'libdevice not found at ' + f"
)
JAX_PLUGIN = runs(
    "from jaxlib import plugin_support as p; assert p.import_from_plugin('cuda', '_versions'), 'no plug-in'"
)
PROVIDER = runs(
    "import ctypes, os, importlib.util as u; p = os.path.join(os.path.dirname(u.find_spec('onnxruntime').origin), 'capi')\n"
    "[ctypes.CDLL(os.path.join(p, f'libonnxruntime_providers_{n}.so'), os.RTLD_NOW | os.RTLD_GLOBAL) for n in ('shared', 'cuda')]"
)
CT2_CUBLAS = runs("import ctypes, ctranslate2; ctypes.CDLL('libcublas.so.12'); ctypes.CDLL('libcudnn.so.9')")
CT2_CUBLAS_11 = runs(
    "import ctypes, ctranslate2; ctypes.CDLL('libcublas.so.' + ('11' if ctranslate2.__version__ < '4' else '12'))"
)
"""What either release opens by its bare name."""


def command(of: Callable[[World], Sequence[str | Path]], code: str = "import torch") -> Oracle:
    """Run code in the way of starting that the words come from; they end where Python's own arguments begin."""

    def oracle(world: World) -> Ran:
        try:
            done = world.run([*of(world), "-c", code + LEAVE])
        except OSError as e:
            return Ran(ok=False, said=str(e))
        said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
        return Ran(ok=done.returncode == 0, said=said[-3000:] or f"status {done.returncode}")

    return oracle


def shell(*start: str) -> Callable[[World], Sequence[str | Path]]:
    """Start through a shell with these arguments, which runs Python with what follows."""
    return lambda world: [*start, '"$0" "$@"', world.python]


def kernel(world: World) -> Sequence[str | Path]:
    """Start as Jupyter starts its kernel: the first word of argv, with env."""
    text = next(
        p for root in (world.home / ".local", world.prefix) for p in root.glob("share/jupyter/kernels/*/kernel.json")
    )
    spec = json.loads(text.read_text())
    return ["env", *(f"{k}={v}" for k, v in spec.get("env", {}).items()), spec["argv"][0]]


def unit(world: World) -> Sequence[str | Path]:
    """Start as systemd starts the user's unit: with its variables, and with no one else's."""
    text = next((world.home / ".config/systemd/user").glob("*.service")).read_text()
    lines = [line.partition("=") for line in text.splitlines() if "=" in line]
    given = [word for key, _, value in lines if key == "Environment" for word in shlex.split(value)]
    program = next(shlex.split(value)[0] for key, _, value in lines if key == "ExecStart")
    return ["env", "-i", "PATH=/usr/bin:/bin", f"HOME={world.home}", *given, program]


def launcher(world: World) -> Sequence[str | Path]:
    """Start as a desktop starts a launcher: the words of Exec up to the interpreter."""
    text = next((world.home / ".local/share/applications").glob("*.desktop")).read_text()
    words = shlex.split(next(line[5:] for line in text.splitlines() if line.startswith("Exec=")))
    session = ["env", "-i", "PATH=/usr/bin:/bin", f"HOME={world.home}", "DISPLAY=:0"]
    return session + words[: next(i for i, w in enumerate(words) if w.endswith("/python")) + 1]


def dotenv(name: str) -> Callable[[World], Sequence[str | Path]]:
    """Start with the lines of a file of variables."""
    return lambda world: ["env", *(world.home / name).read_text().split(), world.python]


# --- what people do -----------------------------------------------------------------------------------------------------


def sets(**variables: str) -> Plant:
    """Set variables; ``{home}`` and ``{env}`` are the scene's."""

    def plant(world: World) -> None:
        world.variables |= {
            k: v.format(home=world.home, env=world.prefix, site=world.site) for k, v in variables.items()
        }

    return plant


def writes(files: Mapping[str, str], cwd: str = "") -> Plant:
    """Write files below the home (``{home}`` and ``{env}`` are the scene's), and work in one of its folders."""

    def plant(world: World) -> None:
        for name, text in files.items():
            path = world.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("{home}", str(world.home)).replace("{env}", str(world.prefix)))
        if cwd:
            world.cwd = world.home / cwd

    return plant


def inside(name: str, text: str) -> Plant:
    """Write a file below the packages."""

    def plant(world: World) -> None:
        path = world.site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_text(text.replace("{home}", str(world.home)))

    return plant


def old_toolkit(world: World) -> None:
    """Put the linker of a CUDA 12.1 into the home, as an older toolkit that was unpacked there."""
    place = world.home / "unpacked"
    uv(
        "pip",
        "install",
        "--quiet",
        "--python",
        str(world.python),
        "--no-deps",
        "--target",
        str(place),
        "nvidia-nvjitlink-cu12==12.1.105",
    )
    (world.home / "cuda-12.1").mkdir()
    (place / "nvidia" / "nvjitlink" / "lib").rename(world.home / "cuda-12.1" / "lib64")
    shutil.rmtree(place)


def other_numpy(world: World) -> None:
    """Put the numpy of another Python (3.10) below the user's folder, as ROS and --target have it."""
    place = world.home / ".local/lib/python3.10/site-packages"
    place.mkdir(parents=True)
    for part in ("numpy", "numpy.libs"):
        target = place / part
        for folder, _folders, files in os.walk(site(master("torch-2.8")) / part):
            inner = target / Path(folder).relative_to(site(master("torch-2.8")) / part)
            inner.mkdir(parents=True, exist_ok=True)
            for name in files:
                os.link(Path(folder, name), inner / name.replace("cpython-311", "cpython-310"))


def renames(pattern: str, old: str, new: str) -> Plant:
    """Rename files below the packages, as another Python's installation names them."""

    def plant(world: World) -> None:
        for path in list(world.site.glob(pattern)):
            path.rename(path.with_name(path.name.replace(old, new)))

    return plant


def tilde(name: str) -> Plant:
    """Leave what pip leaves when it is stopped in the middle of an upgrade: the old folders with a tilde, and no new ones."""

    def plant(world: World) -> None:
        for path in [p for p in world.site.iterdir() if p.name == name or p.name.startswith(f"{name}-")]:
            path.rename(path.with_name("~" + path.name[1:]))

    return plant


def mode(pattern: str, bits: int, *, rights: bool = False) -> Plant:
    """Change the rights of a file or folder; a file gets bytes of its own before."""

    def plant(world: World) -> None:
        path = world.library(pattern)
        (path if path.is_dir() else world.own(path)).chmod(bits)
        world.plain_rights = world.plain_rights or rights

    return plant


def of_torch_2_6(name: str) -> Plant:
    """Replace a library of torch's by that of 2.6.0: a copy or an unpacking that was stopped."""

    def plant(world: World) -> None:
        path = world.library(f"torch/lib/{name}")
        path.unlink()
        os.link(site(master("torch-2.6")) / "torch" / "lib" / name, path)

    return plant


def moved(world: World) -> None:
    """Let the scripts name the folder that the environment was made in: it was renamed later."""
    for path in (world.prefix / "bin").iterdir():
        if path.is_file() and not path.is_symlink() and bytes(world.prefix) in (text := path.read_bytes()):
            bits = path.stat().st_mode
            path.unlink()
            path.write_bytes(text.replace(bytes(world.prefix), b"/home/someone/old-project/venv"))
            path.chmod(bits)


def another_python(world: World) -> None:
    """Let the environment stand on a Python that an upgrade has removed."""
    cfg, python = world.prefix / "pyvenv.cfg", world.prefix / "bin" / "python"
    lines = [
        line if not line.startswith("home") else "home = /opt/python3.11/bin" for line in cfg.read_text().splitlines()
    ]
    cfg.unlink()
    cfg.write_text("\n".join(lines) + "\n")
    python.unlink()
    python.symlink_to("/opt/python3.11/bin/python3.11")


def elsewhere(world: World) -> None:
    """Keep NVIDIA's packages on a larger disk, with a link in their place."""
    place = world.folder / "large-disk"
    place.mkdir()
    (world.site / "nvidia").rename(place / "nvidia")
    (world.site / "nvidia").symlink_to(place / "nvidia")


def no_record(world: World) -> None:
    """Drop RECORD, as packagers of distributions do."""
    world.library("torch-2.6.0.dist-info/RECORD").unlink()


def wrapper(world: World) -> None:
    """A script that sets a variable anew and starts Python; the person names it to the scan."""
    path = world.home / "start-webui.sh"
    path.write_text(f'#!/bin/sh\nexport LD_LIBRARY_PATH=/usr/local/lib\nexec {world.python} "$@"\n')
    path.chmod(0o755)
    world.arguments += ["--program", str(path)]


def activates(assignment: str) -> Plant:
    """Add a line to the environment's own script of activation."""

    def plant(world: World) -> None:
        path = world.own(world.prefix / "bin" / "activate")
        path.write_text(f"{path.read_text()}\nexport {assignment}\n")

    return plant


KERNEL = ".local/share/jupyter/kernels/torch/kernel.json"


def spec(argv: str, env: Mapping[str, str]) -> str:
    """Return the text of a kernel.json."""
    words = [argv, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    return json.dumps({"argv": words, "display_name": "torch", "language": "python", "env": dict(env)})


CT2_PATHS = sets(LD_LIBRARY_PATH="{site}/nvidia/cublas/lib:{site}/nvidia/cudnn/lib")
STUB = "def is_available():\n    return False\n"

LOST = ("corrupt_or_truncated_file", "cuda_runtime_missing")
NOT_INSTALLED = ("cuda_runtime_missing", "requirement_broken")
OVERRIDE = ("ld_library_path_override", "cuda_lib_shadowed")
SHADOWED = ("module_shadowed",)
NOT_SEARCHED = ("process_env_not_inherited", "cuda_not_on_search_path", "cudnn_not_on_search_path")
BROKEN = ("requirement_broken",)
VALUE = ("variable_value_wrong",)

SCENES: tuple[Scene, ...] = (
    # --- A: a library outside cuDNN, cudart, cuBLAS, NVRTC is absent or unfit
    # https://github.com/pytorch/pytorch/issues/106494
    Scene("torch-without-cupti-package", "A", "torch-2.6", TORCH, lacks("nvidia-cuda-cupti-cu12"), NOT_INSTALLED, "torch", "libcupti.so.12", "libcupti"),
    # class only (jax[cuda12] without one of its packages)
    Scene("jax-without-cusparse-package", "A", "jax", CUSOLVER, lacks("nvidia-cusparse-cu12"), NOT_INSTALLED, "", "libcusparse.so.12", "libcusparse"),
    # https://github.com/facebookresearch/svoice/issues/36
    Scene("torch-lost-libgomp", "A", "torch-2.6", TORCH, loses("torch/lib/libgomp*"), LOST, "torch", "libgomp", "libgomp"),
    # https://github.com/numpy/numpy/issues/16057
    Scene("numpy-lost-openblas", "A", "onnxruntime-1.23", ONNX, loses("numpy.libs/libscipy_openblas64*"), LOST, "", "openblas", "openblas"),
    # https://github.com/vllm-project/vllm/issues/4207
    Scene("triton-lost-ptxas", "A", "torch-2.8", PTXAS, loses("triton/backends/nvidia/bin/ptxas"), (*LOST, "build_tools_missing", "compiler_lacks_gpu_arch"), "", "ptxas", "ptxas"),
    # https://github.com/triton-lang/triton/issues/4719
    Scene("triton-ptxas-may-not-run", "A", "torch-2.8", PTXAS, mode("triton/backends/nvidia/bin/ptxas", 0o644), ("library_unreadable", "build_tools_missing", "corrupt_or_truncated_file", "noexec_mount"), "", "ptxas", "ptxas"),
    # https://github.com/jax-ml/jax/issues/16726
    Scene("jax-without-nvcc-package", "A", "jax", JAX_TOOLS, lacks("nvidia-cuda-nvcc-cu12"), ("libdevice_not_found", "requirement_broken", "build_tools_missing"), "", "", "jax finds no CUDA"),
    # class only
    Scene("ctranslate2-lost-libgomp", "A", "ctranslate2", CT2, then(CT2_PATHS, loses("ctranslate2.libs/libgomp*")), LOST, "ctranslate2", "libgomp", "libgomp"),
    # class only: EACCES of a folder is told as "no such file"
    Scene("torch-closed-folder", "A", "torch-2.8", TORCH, mode("nvidia/cusparse", 0o000, rights=True), ("library_unreadable",), "torch", "cusparse", "libcusparse"),
    # --- B: all files are there and do not fit each other
    # https://github.com/pytorch/audio/issues/3335
    Scene("torchaudio-of-torch-2.6", "B", "torch-2.8", TORCHAUDIO, installs("--no-deps", "torchaudio==2.6.0"), ("extension_abi_mismatch", "requirement_broken"), "", "torchaudio", "undefined symbol"),
    # https://github.com/pytorch/pytorch/issues/134929 (there with torch, whose RPATH now stands before the variable)
    Scene("jax-older-linker-by-variable", "B", "jax", CUSOLVER, then(old_toolkit, sets(LD_LIBRARY_PATH="{home}/cuda-12.1/lib64")), OVERRIDE, "", "cuda-12.1", "nvJitLink"),
    # https://github.com/microsoft/onnxruntime/issues/21684
    Scene("onnxruntime-1.18-wants-cuda-11", "B", "onnxruntime-1.20", PROVIDER, installs("onnxruntime-gpu==1.18.0", "numpy<2"), ("cuda_toolkit_version_mismatch", "cuda_runtime_missing", "cudnn_major_mismatch", "cuda_not_on_search_path"), "", "libcublasLt.so.11", "libcublasLt.so.11"),
    # https://github.com/hacksider/Deep-Live-Cam/issues/1055
    Scene("onnxruntime-1.18-with-numpy-2", "B", "onnxruntime-1.20", ONNX, installs("--no-deps", "onnxruntime-gpu==1.18.0"), ("numpy_abi_mismatch",), "", "numpy"),
    # https://github.com/SYSTRAN/faster-whisper/issues/535 and https://github.com/m-bain/whisperX/issues/632
    Scene("ctranslate2-3-wants-cuda-11", "B", "ctranslate2", CT2_CUBLAS_11, then(installs("ctranslate2==3.24.0", "setuptools<81"), CT2_PATHS), ("cuda_toolkit_version_mismatch", "cuda_runtime_missing", "cuda_not_on_search_path"), "ctranslate2", "libcublas", "libcublas.so.11"),
    # https://github.com/onnx/tensorflow-onnx/issues/2418
    Scene("tensorflow-older-protobuf", "B", "tensorflow", imports("tensorflow"), installs("--no-deps", "protobuf==3.20.3"), BROKEN, "", "protobuf", "protobuf"),
    # https://github.com/onnx/ir-py/issues/187
    Scene("jax-older-ml-dtypes", "B", "jax", JAX, installs("--no-deps", "ml-dtypes==0.4.1"), BROKEN, "", "ml", "ml_dtypes"),
    # https://github.com/xai-org/grok-1/pull/315
    Scene("jax-older-than-jaxlib", "B", "jax", JAX, installs("--no-deps", "jax==0.6.2"), BROKEN, "", "jaxlib", "jaxlib version"),
    # https://github.com/ma-gilles/recovar/issues/64
    Scene("jax-older-plugin", "B", "jax", JAX_PLUGIN, installs("--no-deps", "jax-cuda12-plugin==0.7.1"), BROKEN, "", "plugin", "no plug-in"),
    # class only
    Scene("torch-triton-uninstalled", "B", "torch-2.8", imports("torch", "triton"), lacks("triton"), BROKEN, "", "triton", "triton"),
    # https://github.com/pytorch/pytorch/issues/134097
    Scene("torch-older-typing-extensions", "B", "torch-2.8", TORCH, installs("--no-deps", "typing-extensions==4.5.0"), BROKEN, "", "typing", "typing_extensions"),
    # class only
    Scene("torch-library-of-torch-2.6", "B", "torch-2.8", TORCH, of_torch_2_6("libtorch_python.so"), ("corrupt_or_truncated_file", "duplicate_framework_packages", "installation_interrupted", "extension_abi_mismatch"), "torch", "libtorch_python.so", "undefined symbol"),
    # --- C: Python finds another file than one thinks
    # https://github.com/microsoft/onnxruntime/issues/21317
    Scene("onnxruntime-in-its-checkout", "C", "onnxruntime-1.23", ONNX, writes({"work/onnxruntime/__init__.py": "from onnxruntime.capi import onnxruntime_validation\n"}, "work"), SHADOWED, "", "work/onnxruntime", "onnxruntime.capi"),
    # https://github.com/numpy/numpy/issues/16057 (a checkout of numpy)
    Scene("numpy-in-its-checkout", "C", "onnxruntime-1.23", ONNX, writes({"work/numpy/__init__.py": "raise ImportError('you should not try to import numpy from its source directory')\n"}, "work"), SHADOWED, "", "work/numpy", "source directory"),
    # class only: a script of one's own with the name of a standard module
    Scene("torch-beside-own-dataclasses", "C", "torch-2.6", TORCH, writes({"work/dataclasses.py": "rows = []\n"}, "work"), SHADOWED, "", "dataclasses.py", "dataclasses"),
    # class only: the script is called as the library
    Scene("ctranslate2-beside-its-namesake", "C", "ctranslate2", CT2, then(CT2_PATHS, writes({"work/ctranslate2.py": "import ctranslate2\nctranslate2.Translator\n"}, "work")), SHADOWED, "ctranslate2", "work/ctranslate2.py", "circular import"),
    # https://github.com/RoboStack/ros-humble/issues/215
    Scene("numpy-of-another-python-by-variable", "C", "onnxruntime-1.23", ONNX, then(other_numpy, sets(PYTHONPATH="{home}/.local/lib/python3.10/site-packages")), ("package_for_another_python", "module_shadowed", "variable_value_wrong"), "", "python3.10", "numpy"),
    # https://github.com/pytorch/pytorch/issues/133883
    Scene("typing-extensions-by-variable", "C", "torch-2.8", TORCH, then(writes({"tools/typing_extensions.py": "from typing import *\n"}), sets(PYTHONPATH="{home}/tools")), (*SHADOWED, "requirement_broken"), "", "tools/typing_extensions.py", "typing_extensions"),
    # class only: a .pth file that puts a folder first
    Scene("torch-behind-a-pth", "C", "torch-2.6", runs("import torch; torch.ones(1)"), then(writes({"dev/torch/__init__.py": STUB}), inside("dev.pth", "import sys; sys.path.insert(0, '{home}/dev')\n")), SHADOWED, "torch", "dev/torch", "has no attribute"),
    # class only: an editable installation whose checkout is gone
    Scene("torchvision-editable-gone", "C", "torch-2.6", imports("torch", "torchvision"), then(lacks("torchvision"), inside("torchvision-0.21.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: torchvision\nVersion: 0.21.0\nRequires-Dist: torch==2.6.0\n"), inside("torchvision-0.21.0.dist-info/RECORD", "__editable__.torchvision-0.21.0.pth,,\ntorchvision-0.21.0.dist-info/METADATA,,\ntorchvision-0.21.0.dist-info/RECORD,,\n"), inside("__editable__.torchvision-0.21.0.pth", "{home}/src/vision\n")), ("installation_interrupted", "python_environment_broken", "module_shadowed", "corrupt_or_truncated_file"), "", "torchvision", "No module named 'torchvision'"),
    # class only: a file of one's own hides NVIDIA's packages
    Scene("jax-beside-own-nvidia", "C", "jax", JAX_TOOLS, writes({"work/nvidia.py": "cards = ['A100']\n"}, "work"), (*SHADOWED, "libdevice_not_found"), "", "nvidia.py", "jax finds no CUDA"),
    # class only: the Python beneath the environment was removed by an upgrade
    Scene("torch-python-upgraded-beneath", "C", "torch-2.6", TORCH, another_python, ("python_environment_broken",), "", "/opt/python3.11"),
    # https://github.com/labmlai/annotated_deep_learning_paper_implementations/issues/247
    Scene("numpy-upgrade-stopped", "C", "onnxruntime-1.23", ONNX, tilde("numpy"), ("installation_interrupted",), "", "~umpy", "numpy"),
    # class only: the environment was renamed, and its scripts are started
    Scene("torch-moved-environment", "C", "torch-2.6", command(lambda w: [w.prefix / "bin" / "torchrun", "--help"]), moved, ("python_environment_broken",), "", "/home/someone/old-project/venv"),
    # https://github.com/RoboStack/ros-humble/issues/215 (the folder was copied between Pythons)
    Scene("ctranslate2-for-python-3.12", "C", "ctranslate2", CT2, then(CT2_PATHS, renames("ctranslate2/_ext.*", "cpython-311", "cpython-312")), ("package_for_another_python",), "ctranslate2", "cpython-312", "has no attribute 'Translator'"),
    # --- D: the program is started in another way than the scan
    # https://github.com/SYSTRAN/faster-whisper/issues/516, in a kernel that has a variable of its own
    Scene("ctranslate2-in-notebooks-only", "D", "ctranslate2", command(kernel, CUBLAS), then(CT2_PATHS, writes({KERNEL: spec("{env}/bin/python", {"LD_LIBRARY_PATH": "/usr/local/cuda-11.8/lib64"})})), NOT_SEARCHED, "ctranslate2", "kernel.json", "libcublas"),
    # https://github.com/jupyter/notebook/issues/4629
    Scene("torch-kernel-of-another-python", "D", "torch-2.6", command(kernel), inside("../../../share/jupyter/kernels/python3/kernel.json", spec("/usr/bin/python3", {})), ("wrong_environment_active", "process_env_not_inherited"), "", "kernel.json", "No module named 'torch'"),
    # https://github.com/jhj0517/Whisper-WebUI/issues/114
    Scene("ctranslate2-service-without-path", "D", "ctranslate2", command(unit, "import ctypes; ctypes.CDLL('libcublas.so.12')"), then(CT2_PATHS, writes({".config/systemd/user/whisper.service": "[Unit]\nDescription=Whisper\n[Service]\nExecStart={env}/bin/python -m whisper_server\n[Install]\nWantedBy=default.target\n"})), ("process_env_not_inherited", "cuda_not_on_search_path", "cudnn_not_on_search_path"), "ctranslate2", "whisper.service", "libcublas"),
    # https://github.com/pytorch/pytorch/issues/133883, in a profile
    Scene("torch-in-login-shells", "D", "torch-2.6", command(shell("bash", "-lc")), then(sets(SHELL="/bin/bash"), writes({".profile": "export PYTHONPATH=$HOME/tools:$PYTHONPATH\n", "tools/typing_extensions.py": "from typing import *\n"})), (*SHADOWED, "requirement_broken"), "", ".profile", "typing_extensions"),
    # https://github.com/pytorch/pytorch/issues/88802 (a .bashrc that sets the variable anew)
    Scene("ctranslate2-in-interactive-shells", "D", "ctranslate2", command(shell("bash", "-ic"), CUBLAS), then(CT2_PATHS, sets(SHELL="/bin/bash"), writes({".bashrc": "case $- in *i*) ;; *) return ;; esac\nexport LD_LIBRARY_PATH=/usr/local/cuda-11.7/lib64\n"})), NOT_SEARCHED, "ctranslate2", ".bashrc", "libcublas"),
    # https://github.com/google-research/proteinfer/issues/87, in fish
    Scene("jax-in-fish", "D", "jax", command(lambda w: ["fish", "-c", "env $argv", w.python], "import jax; jax.devices('cpu')"), then(sets(SHELL="/usr/bin/fish"), writes({".config/fish/config.fish": "set -gx XLA_FLAGS --xla_gpu_enable_triton_softmax_fusion_of_mine=false\n"})), VALUE, "", "config.fish", "Unknown flag"),
    # class only: the desktop session does not have what the terminal has
    Scene("ctranslate2-by-a-launcher", "D", "ctranslate2", command(launcher, CUBLAS), then(CT2_PATHS, writes({".local/share/applications/subtitles.desktop": "[Desktop Entry]\nType=Application\nName=Subtitles\nExec={env}/bin/python {home}/subtitles/main.py\n"})), NOT_SEARCHED, "ctranslate2", "subtitles.desktop", "libcublas"),
    # class only: VS Code's file of variables
    Scene("torch-in-vscode", "D", "torch-2.6", command(dotenv("work/.env"), "import torch; torch.ones(1)"), writes({"work/.env": "PYTHONPATH={home}/work/vendor\n", "work/vendor/torch/__init__.py": STUB, "work/.vscode/settings.json": '{"python.envFile": "${workspaceFolder}/.env", "python.defaultInterpreterPath": "{env}/bin/python"}\n'}, "work"), SHADOWED, "torch", ".env", "has no attribute"),
    # https://github.com/RoboStack/ros-humble/issues/215, in an .envrc
    Scene("onnxruntime-by-direnv", "D", "onnxruntime-1.23", command(lambda w: ["bash", "-c", '. "$HOME/work/.envrc"; "$0" "$@"', w.python], "import onnxruntime"), then(other_numpy, writes({"work/.envrc": "export PYTHONPATH={home}/.local/lib/python3.10/site-packages\n"}, "work")), ("package_for_another_python", "module_shadowed", "variable_value_wrong"), "", ".envrc", "numpy"),
    # https://github.com/pytorch/pytorch/issues/101158, in a line at the end of the environment's own activate
    Scene("torch-when-activated", "D", "torch-2.6", command(lambda w: ["bash", "-c", f'. {w.prefix}/bin/activate; "$0" "$@"', "python"], ALLOCATES), activates("PYTORCH_CUDA_ALLOC_CONF=max_split_size=512"), VALUE, "", "activate", "llocator"),
    # https://github.com/SYSTRAN/faster-whisper/issues/516: a wrapper that is named to the scan
    Scene("ctranslate2-by-a-wrapper", "D", "ctranslate2", command(lambda w: [w.home / "start-webui.sh"], CUBLAS), then(CT2_PATHS, wrapper), NOT_SEARCHED, "", "start-webui.sh", "libcublas"),
    # https://github.com/pytorch/pytorch/issues/4827
    Scene("torch-another-python-runs", "D", "torch-2.6", command(lambda _w: ["python3"]), sets(VIRTUAL_ENV="{env}", PATH="/usr/bin:/bin:{env}/bin"), ("wrong_environment_active",), "", "/usr/bin/python3", "No module named 'torch'"),
    # --- E: variables that name places or mean a contract
    # https://github.com/jax-ml/jax/issues/15616
    Scene("jax-unknown-xla-flag", "E", "jax", JAX, sets(XLA_FLAGS="--xla_tpu_spmd_rng_bit_generator_unsafe=1"), VALUE, "", "XLA_FLAGS", "Unknown flag"),
    # https://github.com/jax-ml/jax/issues/25315
    Scene("jax-unknown-platform", "E", "jax", runs("import jax; jax.devices()"), sets(JAX_PLATFORMS="cuda12"), VALUE, "", "JAX_PLATFORMS", "known backends"),
    # https://github.com/bitsandbytes-foundation/bitsandbytes/pull/1615
    Scene("bitsandbytes-other-cuda-version", "E", "torch-2.8", BNB, then(installs("packaging"), sets(BNB_CUDA_VERSION="130")), VALUE, "", "BNB_CUDA_VERSION", "not found"),
    # https://github.com/pytorch/pytorch/issues/101158
    Scene("torch-allocator-option", "E", "torch-2.8", ALLOCATOR, sets(PYTORCH_CUDA_ALLOC_CONF="max_split_size=512"), VALUE, "", "PYTORCH_CUDA_ALLOC_CONF", "llocator"),
    # https://github.com/xdit-project/xDiT/issues/572
    Scene("torch-unknown-arch", "E", "torch-2.6", BUILD_FLAGS, then(installs("setuptools<81"), sets(TORCH_CUDA_ARCH_LIST="8.9;12.0")), (*VALUE, "compiler_lacks_gpu_arch"), "", "TORCH_CUDA_ARCH_LIST", "Unknown CUDA arch"),
    # https://github.com/pytorch/pytorch/issues/88802 (CUDA_HOME of a toolkit that was removed)
    Scene("torch-cuda-home-gone", "E", "torch-2.6", NVCC, then(installs("setuptools<81"), sets(CUDA_HOME="/usr/local/cuda-11.7")), ("cuda_path_env_wrong", "variable_value_wrong", "build_tools_missing"), "", "CUDA_HOME", "cuda-11.7"),
    # class only
    Scene("torch-python-home", "E", "torch-2.6", TORCH, sets(PYTHONHOME="/opt/python3.9"), (*VALUE, "python_environment_broken"), "", "PYTHONHOME", "encodings"),
    # class only
    Scene("triton-compiler-by-variable", "E", "torch-2.8", TRITON_BUILD, sets(CC="/opt/gcc-11/bin/gcc"), (*VALUE, "build_tools_missing"), "", "/opt/gcc-11", "gcc-11"),
    # class only
    Scene("triton-cache-by-variable", "E", "torch-2.8", TRITON_CACHE, then(writes({"scratch": "a file, not a folder\n"}), sets(TRITON_CACHE_DIR="{home}/scratch/triton")), VALUE, "", "TRITON_CACHE_DIR", "scratch"),
    # --- odd, and healthy
    # class only: a folder without __init__.py hides nothing
    Scene("odd-checkouts-beside", "healthy", "torch-2.6", TORCH, writes({"work/torch/README.md": "notes\n", "work/triton/setup.py": "pass\n"}, "work")),
    # class only
    Scene("odd-empty-and-gone-entries", "healthy", "torch-2.8", TORCH, sets(LD_LIBRARY_PATH="/usr/local/cuda-12.1/lib64:", PYTHONPATH=":/opt/gone")),
    # https://github.com/pytorch/pytorch/issues/111469 (the cure that people share)
    Scene("odd-own-nvjitlink-first", "healthy", "torch-2.6", TORCH, sets(LD_LIBRARY_PATH="{site}/nvidia/nvjitlink/lib")),
    # https://github.com/nod-ai/AMD-SHARK-Studio/issues/1160
    Scene("odd-remains-of-pip", "healthy", "torch-2.6", TORCH, inside("~ip-23.0.1.dist-info/METADATA", "Metadata-Version: 2.1\nName: pip\nVersion: 23.0.1\n")),
    # https://github.com/NVIDIA/JAX-Toolbox/pull/865
    Scene("odd-known-xla-flags", "healthy", "jax", JAX, sets(XLA_FLAGS="--xla_gpu_autotune_level=2 --xla_force_host_platform_device_count=4", XLA_PYTHON_CLIENT_PREALLOCATE="false", XLA_PYTHON_CLIENT_MEM_FRACTION=".75")),
    # class only
    Scene("odd-nvidia-on-another-disk", "healthy", "torch-2.8", TORCH, elsewhere),
    # class only
    Scene("odd-other-python-in-home", "healthy", "onnxruntime-1.23", ONNX, then(other_numpy, sets(LD_LIBRARY_PATH=":".join(f"{{site}}/nvidia/{n}/lib" for n in ("cublas", "cudnn", "cufft", "curand", "cuda_runtime", "cuda_nvrtc", "nvjitlink"))))),
    # https://github.com/bitsandbytes-foundation/bitsandbytes/issues/760
    Scene("odd-bitsandbytes-chosen-version", "healthy", "torch-2.8", BNB, then(installs("packaging"), sets(BNB_CUDA_VERSION="126"))),
    # class only
    Scene("odd-editable-of-ones-own", "healthy", "torch-2.6", imports("torch", "mine"), then(writes({"src/mine/__init__.py": "import torch\n"}), inside("__editable__.mine-0.1.pth", "{home}/src\n"))),
    # class only
    Scene("odd-no-record", "healthy", "torch-2.6", TORCH, no_record),
    # class only
    Scene("odd-many-variables", "healthy", "torch-2.8", BUILD_FLAGS, sets(TORCH_CUDA_ARCH_LIST="8.0;8.6;9.0+PTX", PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True,max_split_size_mb:512", OMP_NUM_THREADS="4", NCCL_DEBUG="INFO", CUDA_DEVICE_ORDER="PCI_BUS_ID", CUDA_MODULE_LOADING="LAZY", TF_CPP_MIN_LOG_LEVEL="3", PYTHONNOUSERSITE="1")),
    # class only: a kernel that fits, and one of an environment that is gone
    Scene("odd-kernels", "healthy", "torch-2.6", command(kernel), writes({KERNEL: spec("{env}/bin/python", {"MPLBACKEND": "agg"})})),
)  # fmt: skip
