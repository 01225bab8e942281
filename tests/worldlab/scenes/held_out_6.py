"""The sixth held-out set, classes A to E: from the list of classes and public threads, before any rule was read.

Committed before the first run. Above each row: the thread that it is made from, or "class only".
"""

from __future__ import annotations

import compileall
import importlib.util
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.worldlab.scene import Ran, Scene, World, cuts, imports, installs, lacks, loses, opens, runs, then
from tests.worldlab.scenes.held_out import CUBLAS, PROVIDER, Plant, command, inside, sets, shell, writes
from tests.worldlab.scenes.held_out_2 import ALL_SEARCHED, CT2_PATHS, GPU_OPTIONS, target
from tests.worldlab.scenes.held_out_3 import TF, TORCH, VISION, empties, hides
from tests.worldlab.scenes.held_out_4 import closed
from tests.worldlab.scenes.starters import program, started

# --- what the real programs do ------------------------------------------------------------------------------------------

TORCH_WORKS = runs("import torch; torch.ones(3).sum()")
CLIP = runs("import torch; from transformers import CLIPTokenizer")
FOLDER_OF_INDUCTOR = runs("import torch._inductor.runtime.cache_dir_utils as c; print(c.default_cache_dir())")
DOWNLOADS = runs(
    "import io, torch; from huggingface_hub.file_download import http_get\n"
    "try:\n    http_get('http://127.0.0.1:9/model', io.BytesIO())\n"
    "except OSError as e:\n    print('nobody answers there:', type(e).__name__)"
)
"""What every download from the hub does; without a network it fails with an error of the network, which is right here."""
LINKS = runs(
    "from triton.backends.compiler import GPUTarget; from triton.backends.nvidia.compiler import CUDABackend\n"
    "given = CUDABackend(GPUTarget('cuda', 80, 32)).parse_options({}).extern_libs; open(dict(given)['libdevice'], 'rb').close()"
)
"""The file that Triton links with every kernel that calls a function of mathematics, by the name that it gives itself."""


def ipython(world: World) -> Sequence[str | Path]:
    """Start IPython, which runs the person's start-up files first."""
    return [world.python, "-m", "IPython"]


def tested(world: World) -> Ran:
    """Run the person's tests, from their folder."""
    done = world.run([world.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_gpu.py"])
    said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
    return Ran(ok=done.returncode == 0, said=said[-3000:] or f"status {done.returncode}")


def pm2(world: World) -> Sequence[str | Path]:
    """Start as PM2 does: the first program of its file, with the variables that stand there."""
    told = subprocess.run(
        [
            "node",
            "-e",
            "console.log(JSON.stringify(require(process.argv[1])))",
            world.home / "work/ecosystem.config.js",
        ],
        check=True,
        capture_output=True,
    )
    app = json.loads(told.stdout)["apps"][0]
    return ["env", *(f"{k}={v}" for k, v in app.get("env", {}).items()), app["interpreter"]]


# --- what people do -----------------------------------------------------------------------------------------------------


def listed(
    world: World, name: str, version: str, files: Sequence[str], entry: str = "", requires: str = "torch"
) -> None:
    """Write a distribution's metadata and record."""
    info = world.site / f"{name}-{version}.dist-info"
    info.mkdir()
    dashed = name.replace("_", "-")
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {dashed}\nVersion: {version}\nRequires-Dist: {requires}\n"
    )
    if entry:
        (info / "entry_points.txt").write_text(entry)
    rows = [
        *files,
        f"{info.name}/METADATA",
        *([f"{info.name}/entry_points.txt"] if entry else []),
        f"{info.name}/RECORD",
    ]
    (info / "RECORD").write_text("".join(f"{row},,\n" for row in rows))


def shared(path: Path, source: str, *needed: str) -> None:
    """Build a small library from a line of C; ``needed``: names that it shall be bound to, whether they exist or not."""
    code = path.with_suffix(".c")
    code.write_text(source)
    stubs = []
    for name in needed:
        stub = path.with_name(name)
        subprocess.run(
            ["gcc", "-shared", "-nostdlib", "-x", "c", "/dev/null", f"-Wl,-soname,{name}", "-o", stub], check=True
        )
        stubs.append(stub)
    words = ["gcc", "-shared", "-fPIC", "-Wl,--no-as-needed", "-o", path, code, *stubs, "-Wl,--allow-shlib-undefined"]
    subprocess.run(words, check=True)
    for made in (code, *stubs):
        made.unlink()


def another_device(world: World) -> None:
    """Install the plug-in of a device that this machine has not: it names itself to torch, and its driver's library is absent."""
    package = world.site / "torch_npu"
    package.mkdir()
    library = package / "libtorch_npu.so"
    shared(library, "void start(void) {}\n", "libhccl.so")
    (package / "__init__.py").write_text(
        "import ctypes, os\n"
        "ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'libtorch_npu.so'), mode=ctypes.RTLD_GLOBAL)\n\n\n"
        "def _autoload():\n    pass\n"
    )
    entry = "[torch.backends]\ntorch_npu = torch_npu:_autoload\n"
    listed(world, "torch_npu", "2.6.0", ["torch_npu/__init__.py", "torch_npu/libtorch_npu.so"], entry)


def plugin_of_old(world: World) -> None:
    """Keep the plug-in that was made for an older TensorFlow."""
    folder = world.site / "tensorflow-plugins"
    folder.mkdir()
    symbol = "_ZN10tensorflow15OpKernelContext10CtxFailureEPKciRKNS_6StatusE"
    shared(folder / "libitex_gpu.so", f"void {symbol}(void);\nvoid TF_InitKernel(void) {{ {symbol}(); }}\n")
    listed(world, "intel_extension_for_tensorflow", "2.13.0.0", ["tensorflow-plugins/libitex_gpu.so"], requires="wheel")


def scatter_of_old(world: World) -> None:
    """Install torch-scatter as it is built for an older torch: its operators are opened by ``torch.ops``."""
    package = world.site / "torch_scatter"
    package.mkdir()
    symbol = "_ZN5torch3jit17parseSchemaOrNameERKSs"
    library = package / "_version_cuda.so"
    code = library.with_suffix(".c")
    code.write_text(f"void {symbol}(void);\nvoid register_it(void) {{ {symbol}(); }}\n")
    torch = world.library("torch/lib/libtorch_cpu.so")
    words = ["gcc", "-shared", "-fPIC", "-Wl,-z,now", "-o", library, code, torch, "-Wl,--allow-shlib-undefined"]
    subprocess.run(words, check=True)
    code.unlink()
    (package / "__init__.py").write_text(
        "import importlib.machinery\nimport os.path as osp\n\nimport torch\n\n__version__ = '2.1.2'\n\n"
        "for library in ['_version']:\n"
        "    spec = importlib.machinery.PathFinder().find_spec(f'{library}_cuda', [osp.dirname(__file__)])\n"
        "    torch.ops.load_library(spec.origin)\n"
    )
    listed(world, "torch_scatter", "2.1.2", ["torch_scatter/__init__.py", "torch_scatter/_version_cuda.so"])


def cut_byte_code(world: World) -> None:
    """Cut the byte code of one module: the machine was switched off while Python wrote it."""
    made = byte_code(world)
    os.truncate(made, int(made.stat().st_size * 0.6))


def stale_byte_code(world: World) -> None:
    """Leave cut byte code of a module that was written anew since: Python compiles it again."""
    cut_byte_code(world)
    path = world.own(world.site / "torch" / "nn" / "functional.py")
    os.utime(path, (1_700_000_000, 1_700_000_000))


def byte_code(world: World) -> Path:
    """Compile torch.nn.functional as Python does at its first import."""
    path = world.site / "torch" / "nn" / "functional.py"
    compileall.compile_file(path, quiet=1)
    return Path(importlib.util.cache_from_source(str(path)))


def egg(name: str, version: str, first: bool) -> Plant:
    """Install an old release as ``setup.py install`` did: an egg, which easy-install.pth puts first (or last)."""

    def plant(world: World) -> None:
        target("old", f"{name}=={version}")(world)
        folder = world.site / f"{name}-{version}-py3.11-linux-x86_64.egg"
        (world.home / "old").rename(folder)
        (info,) = folder.glob("*.dist-info")
        (folder / "EGG-INFO").mkdir()
        (info / "METADATA").rename(folder / "EGG-INFO" / "PKG-INFO")
        shutil.rmtree(info)
        rows = [f"./{folder.name}"]
        if first:
            end = "p=getattr(sys,'__egginsert',0); sys.path[p:p]=new; sys.__egginsert = p+len(new)"
            rows = [
                "import sys; sys.__plen = len(sys.path)",
                *rows,
                f"import sys; new=sys.path[sys.__plen:]; del sys.path[sys.__plen:]; {end}",
            ]
        (world.site / "easy-install.pth").write_text("\n".join(rows) + "\n")

    return plant


def on_another_disk(*, mounted: bool) -> Plant:
    """Keep torch's folder on a large disk, with a link in its place."""

    def plant(world: World) -> None:
        place = world.folder / "large-disk"
        place.mkdir()
        (world.site / "torch").rename(place / "torch")
        (world.site / "torch").symlink_to(place / "torch")
        if not mounted:
            shutil.rmtree(place)

    return plant


def nameless(world: World) -> None:
    """Run as a user that the image has no line for, as ``docker run --user`` does."""
    world.launcher = ["unshare", "--user", "--map-user=12345"]


STUBS = {"work/stubs/torch/__init__.py": "def is_available():\n    return False\n"}
TEST = {"work/test_gpu.py": "import torch\n\n\ndef test_ones():\n    assert torch.ones(1).sum() == 1\n"}
JOB = '#!/bin/bash\n#SBATCH --job-name=serve\n#SBATCH --gres=gpu:1\nset -e\n%s\nsrun() { "$@"; }\nsrun {env}/bin/python {home}/work/main.py\n'
CT2_PROGRAM = program(f"import ctranslate2; {CUBLAS}")
ONES = program("import torch; torch.ones(1)")
SEARCHED = "export LD_LIBRARY_PATH={env}/lib/python3.11/site-packages/nvidia/cublas/lib:{env}/lib/python3.11/site-packages/nvidia/cudnn/lib"
NO_DEPS = "--no-deps"
PM2 = "module.exports = {\n  apps: [{\n    name: 'api',\n    script: 'main.py',\n    interpreter: '{env}/bin/python',\n    env: { %s },\n  }],\n};\n"
HUGGING_FACE = installs("transformers==4.51.3", "accelerate==1.6.0", "numpy==2.2.6")

LOST = ("corrupt_or_truncated_file", "cuda_runtime_missing", "installation_interrupted")
SYSTEM = ("system_library_missing", "build_tools_missing", "cuda_runtime_missing", "requirement_broken")
MODULE = ("requirement_broken", "extension_abi_mismatch", "installation_interrupted")
OTHER_CUDA = (
    "cuda_toolkit_version_mismatch",
    "cuda_runtime_missing",
    "requirement_broken",
    "extension_abi_mismatch",
    "cuda_not_on_search_path",
)
SHADOWED = ("module_shadowed",)
PLUGIN = (
    "requirement_broken",
    "extension_abi_mismatch",
    "system_library_missing",
    "cuda_runtime_missing",
    "corrupt_or_truncated_file",
    "module_shadowed",
)
NOT_SEARCHED = ("process_env_not_inherited", "cuda_not_on_search_path", "cudnn_not_on_search_path")
STARTED = (*SHADOWED, "process_env_not_inherited", "requirement_broken")
VALUE = ("variable_value_wrong",)

SCENES: tuple[Scene, ...] = (
    # --- A: a library is absent or unfit
    # https://github.com/pytorch/pytorch/issues/131284 (the same loader; here its own file is gone)
    Scene("torch-lost-global-deps", "A", "torch-2.8", TORCH, loses("torch/lib/libtorch_global_deps.so"), LOST, "torch", "libtorch_global_deps", "libtorch_global_deps"),
    # https://github.com/mrabarnett/mrab-regex/issues/595
    Scene("regex-lost-its-core", "A", "torch-2.6", CLIP, then(HUGGING_FACE, loses("regex/_regex.cpython-*.so")), LOST, "", "_regex", "_regex"),
    # https://github.com/Softcatala/whisper-ctranslate2/issues/16
    Scene("sounddevice-without-portaudio", "A", "ctranslate2", imports("ctranslate2", "sounddevice"), then(CT2_PATHS, installs("sounddevice==0.5.2"), hides("libportaudio")), SYSTEM, "", "ortaudio", "PortAudio"),
    # https://github.com/KyanChen/RSPrompter/issues/123
    Scene("mpi4py-without-mpi", "A", "torch-2.6", runs("import torch; from mpi4py import MPI"), then(installs("mpi4py==4.1.0"), hides("libmpi")), SYSTEM, "", "libmpi", "libmpi.so"),
    # class only: a cleaner, for what faster-whisper reads sound with
    Scene("av-lost-libavcodec", "A", "ctranslate2", imports("faster_whisper"), then(CT2_PATHS, installs("faster-whisper==1.1.1", "requests==2.32.5", "numpy==2.4.6"), loses("av.libs/libavcodec*")), LOST, "", "libavcodec", "libavcodec"),
    # class only
    Scene("torchaudio-lost-its-library", "A", "torch-2.8", imports("torch", "torchaudio.functional"), loses("torchaudio/lib/libtorchaudio.so"), LOST, "torchaudio", "libtorchaudio.so", "libtorchaudio"),
    # class only: the download was cut short
    Scene("jax-cut-its-plugin", "A", "jax", opens("jax_plugins/xla_cuda12/xla_cuda_plugin.so", after="import jax_plugins.xla_cuda12 as p; p._load_nvidia_libraries()"), cuts("jax_plugins/xla_cuda12/xla_cuda_plugin.so", 0.5), LOST, "", "xla_cuda_plugin.so"),
    # https://github.com/tensorflow/tensorflow/issues/11571, here the disk was full
    Scene("tensorflow-empty-internals", "A", "tensorflow", TF, empties("tensorflow/python/_pywrap_tensorflow_internal.so"), LOST, "tensorflow", "_pywrap_tensorflow_internal", "_pywrap_tensorflow_internal"),
    # class only
    Scene("pyarrow-lost-libarrow", "A", "torch-2.6", imports("torch", "datasets"), then(installs("datasets==3.6.0", "pyarrow==20.0.0", "numpy==2.2.6"), loses("pyarrow/libarrow.so.2000")), LOST, "", "libarrow", "libarrow.so"),
    # class only: a smaller image
    Scene("triton-lost-libdevice", "A", "torch-2.8", LINKS, loses("triton/backends/nvidia/lib/libdevice.10.bc"), (*LOST, "libdevice_not_found"), "", "libdevice", "libdevice"),
    # --- B: all files are there and do not fit each other
    # https://github.com/XPixelGroup/BasicSR/issues/663
    Scene("basicsr-older-than-torchvision", "B", "torch-2.6", imports("torch", "basicsr"), then(installs("setuptools<81", "opencv-python-headless==4.11.0.86", "scikit-image==0.25.2", "scipy", "tqdm", "requests", "addict", "future", "lmdb", "pyyaml", "yapf", "numpy==2.2.6"), installs(NO_DEPS, "--no-build-isolation", "basicsr==1.4.2")), MODULE, "", "functional_tensor", "functional_tensor"),
    # https://github.com/aleju/imgaug/issues/859
    Scene("imgaug-older-than-numpy", "B", "torch-2.6", imports("torch", "imgaug"), installs("imgaug==0.4.0", "opencv-python-headless==4.11.0.86", "numpy==2.2.6"), (*MODULE, "numpy_abi_mismatch"), "", "imgaug", "sctypes"),
    # https://github.com/nullquant/ComfyUI-BrushNet/issues/183
    Scene("peft-newer-than-accelerate", "B", "torch-2.6", imports("torch", "peft"), installs("peft==0.17.1", "transformers==4.51.3", "accelerate==0.28.0", "numpy==2.2.6"), MODULE, "", "clear_device_cache", "clear_device_cache"),
    # https://github.com/TorchIO-project/torchio/issues/886
    Scene("lightning-older-than-torchmetrics", "B", "torch-2.6", imports("torch", "pytorch_lightning"), then(installs("pytorch-lightning==1.5.10", "torchmetrics==0.11.4", "numpy==1.26.4", "setuptools<70"), installs(NO_DEPS, "pytorch-lightning==1.4.9", "pydeprecate==0.3.1")), MODULE, "", "get_num_classes", "get_num_classes"),
    # https://github.com/huggingface/datasets/issues/7742
    Scene("datasets-older-than-pyarrow", "B", "torch-2.6", imports("torch", "datasets"), installs("datasets==2.14.5", "pyarrow==21.0.0", "numpy==2.2.6"), MODULE, "", "PyExtensionType", "PyExtensionType"),
    # https://github.com/pykeio/ort/issues/548, the other way round
    Scene("onnxruntime-for-cuda-13", "B", "onnxruntime-1.23", PROVIDER, then(ALL_SEARCHED, installs(NO_DEPS, "onnxruntime-gpu==1.31.1")), OTHER_CUDA, "", "libcublasLt.so.13", "libcublasLt.so.13"),
    # class only: the package of an older CUDA, by a guide of an older date
    Scene("cupy-for-cuda-11", "B", "cupy", imports("cupy", "cupy.cublas"), then(ALL_SEARCHED, lacks("cupy-cuda12x"), installs(NO_DEPS, "cupy-cuda11x==13.6.0")), OTHER_CUDA, "", "libcublas.so.11", "libcublas.so.11"),
    # https://github.com/rusty1s/pytorch_scatter/issues/476
    Scene("torch-scatter-of-another-torch", "B", "torch-2.6", imports("torch_scatter"), scatter_of_old, MODULE, "", "_version_cuda.so", "undefined symbol"),
    # class only: "pip install -U huggingface_hub"
    Scene("transformers-older-than-the-hub", "B", "torch-2.6", imports("torch", "transformers"), then(HUGGING_FACE, installs("huggingface-hub==1.0.1")), MODULE, "", "huggingface", "huggingface-hub"),
    # class only: nobody names it as a requirement since the hub went over to another client
    Scene("faster-whisper-wants-requests", "B", "ctranslate2", imports("faster_whisper"), then(CT2_PATHS, installs("faster-whisper==1.1.1", "huggingface-hub==1.0.1", "numpy==2.4.6")), MODULE, "", "requests", "No module named 'requests'"),
    # --- C: Python finds another file than one thinks
    # https://github.com/opencv/opencv/issues/25614
    Scene("opencv-of-two-releases", "C", "torch-2.6", imports("torch", "cv2"), then(installs("numpy==1.26.4"), installs(NO_DEPS, "opencv-python-headless==4.9.0.80"), installs(NO_DEPS, "opencv-python==4.5.5.64")), (*MODULE, "duplicate_framework_packages", *SHADOWED), "", "opencv", "has no attribute"),
    # https://github.com/huggingface/datasets/issues/6553
    Scene("datasets-folder-of-a-project", "C", "torch-2.6", runs("import torch; from datasets import load_dataset"), then(installs("datasets==3.6.0", "numpy==2.2.6"), writes({"work/datasets/__init__.py": "", "work/datasets/coco.py": "import torch\n"}, "work")), SHADOWED, "", "work/datasets", "load_dataset"),
    # https://github.com/flashserve/flash-linear-attention-npu/issues/2
    Scene("torch-loads-another-device", "C", "torch-2.6", TORCH, another_device, PLUGIN, "torch", "torch_npu", "torch_npu"),
    # https://github.com/tensorflow/tensorflow/issues/58545
    Scene("tensorflow-loads-an-old-plugin", "C", "tensorflow", TF, plugin_of_old, PLUGIN, "tensorflow", "libitex_gpu.so", "libitex_gpu.so"),
    # class only: Python believes its own byte code
    Scene("torch-cut-byte-code", "C", "torch-2.6", TORCH, cut_byte_code, LOST, "torch", "functional", "marshal data too short"),
    # class only: what "setup.py install" left
    Scene("transformers-behind-an-egg", "C", "torch-2.6", imports("torch", "transformers"), then(HUGGING_FACE, egg("tokenizers", "0.13.3", first=True)), (*SHADOWED, *MODULE), "", "tokenizers", "tokenizers"),
    # class only: the disk with the large folder is not mounted
    Scene("torch-on-an-unmounted-disk", "C", "torch-2.6", TORCH, on_another_disk(mounted=False), (*LOST, "python_environment_broken", "requirement_broken"), "torch", "torch", "No module named 'torch'"),
    # class only: a file for a password
    Scene("torch-beside-own-token", "C", "torch-2.8", TORCH, writes({"bot/token.py": "TOKEN = 'x'\n"}, "bot"), SHADOWED, "torch", "bot/token.py", "token"),
    # --- D: the program is started in another way than the scan
    # class only: a job of Slurm that sets the variable anew
    Scene("ctranslate2-by-a-slurm-job", "D", "ctranslate2", started("bash", "{home}/work/train.sbatch"), then(CT2_PATHS, CT2_PROGRAM, writes({"work/train.sbatch": JOB % "export LD_LIBRARY_PATH=/opt/cuda-11.8/lib64"}, "work")), NOT_SEARCHED, "ctranslate2", "train.sbatch", "libcublas"),
    # class only: PM2 with variables of its own
    Scene("torch-by-pm2", "D", "torch-2.6", command(pm2, "import torch; torch.ones(1)"), then(ONES, writes({**STUBS, "work/ecosystem.config.js": PM2 % "PYTHONPATH: '{home}/work/stubs'"}, "work")), STARTED, "", "ecosystem.config.js", "has no attribute"),
    # https://github.com/pytorch/pytorch/issues/133883, in the file that zsh always reads
    Scene("torch-in-zsh", "D", "torch-2.6", command(shell("zsh", "-c")), then(sets(SHELL="/usr/bin/zsh"), writes({".zshenv": "export PYTHONPATH=$HOME/tools:$PYTHONPATH\n", "tools/typing_extensions.py": "from typing import *\n"})), STARTED, "", ".zshenv", "typing_extensions"),
    # class only: a Procfile with a variable before the program
    Scene("ctranslate2-by-a-procfile", "D", "ctranslate2", started("{env}/bin/python", "-m", "honcho", "start"), then(CT2_PATHS, installs("honcho==2.0.0"), CT2_PROGRAM, writes({"work/Procfile": "web: LD_LIBRARY_PATH=/usr/local/cuda/lib64 {env}/bin/python {home}/work/main.py\n"}, "work")), NOT_SEARCHED, "ctranslate2", "Procfile", "libcublas"),
    # class only: a start-up file of IPython's
    Scene("torch-in-ipython", "D", "torch-2.6", command(ipython, "import torch; torch.ones(1)"), then(installs("ipython==9.6.0"), writes({**STUBS, ".ipython/profile_default/startup/00-paths.py": "import sys\n\nsys.path.insert(0, '{home}/work/stubs')\n"})), STARTED, "", "00-paths.py", "has no attribute"),
    # class only: the tests find another torch than the program
    Scene("torch-in-pytest", "D", "torch-2.6", tested, then(installs("pytest==8.4.2"), writes({**STUBS, **TEST, "work/pytest.ini": "[pytest]\npythonpath = stubs\n"}, "work")), STARTED, "", "pytest.ini", "has no attribute"),
    # --- E: variables that name places or mean a contract
    # https://github.com/deeptools/deepTools/issues/1416
    Scene("matplotlib-backend-of-a-notebook", "E", "torch-2.6", imports("torch", "matplotlib.pyplot"), then(installs("matplotlib==3.10.3", "numpy==2.2.6"), sets(MPLBACKEND="module://matplotlib_inline.backend_inline")), VALUE, "", "MPLBACKEND", "backend_inline"),
    # https://github.com/zml/zml/issues/339
    Scene("hub-transfer-without-its-package", "E", "torch-2.6", DOWNLOADS, then(HUGGING_FACE, sets(HF_HUB_ENABLE_HF_TRANSFER="1")), (*VALUE, "requirement_broken"), "", "HF_HUB_ENABLE_HF_TRANSFER", "hf_transfer"),
    # https://github.com/pytorch/pytorch/issues/140765
    Scene("torch-for-a-user-without-a-name", "E", "torch-2.6", FOLDER_OF_INDUCTOR, nameless, (*VALUE, "python_environment_broken", "process_env_not_inherited"), "torch", "12345", "uid not found"),
    # https://github.com/jax-ml/jax/issues/39145, with the word that torch and TensorFlow know
    Scene("jax-allocator-of-torch", "E", "jax", GPU_OPTIONS, sets(XLA_PYTHON_CLIENT_ALLOCATOR="cuda_malloc_async"), VALUE, "", "XLA_PYTHON_CLIENT_ALLOCATOR", "cuda_malloc_async"),
    # https://github.com/opencv/opencv/issues/10211: the library ends the program while it is opened
    Scene("opencv-pixels-by-another-number", "E", "torch-2.6", imports("torch", "cv2"), then(installs("opencv-python-headless==4.11.0.86", "numpy==2.2.6"), sets(OPENCV_IO_MAX_IMAGE_PIXELS="1e10")), VALUE, "", "OPENCV_IO_MAX_IMAGE_PIXELS", "1e10"),
    # class only: OpenMP takes a list, numexpr does not
    Scene("numexpr-threads-by-a-list", "E", "torch-2.6", imports("torch", "pandas"), then(installs("pandas==2.3.3", "numexpr==2.10.2", "numpy==2.2.6"), sets(OMP_NUM_THREADS="4,2")), VALUE, "", "OMP_NUM_THREADS", "4,2"),
    # --- odd, and healthy
    # class only
    Scene("odd-faster-whisper-stack", "healthy", "ctranslate2", imports("faster_whisper", "ctranslate2"), then(CT2_PATHS, installs("faster-whisper==1.1.1", "requests==2.32.5", "numpy==2.4.6"))),
    # class only: Python's own modules come before packages
    Scene("odd-backports-of-the-standard-library", "healthy", "torch-2.6", TORCH_WORKS, installs(NO_DEPS, "dataclasses==0.6", "enum34==1.1.10", "typing==3.7.4.3", "pathlib==1.0.1", "argparse==1.4.0", "asyncio==3.4.3")),
    # https://github.com/opencv/opencv-python/issues/869 (two distributions with the same folder, of one release)
    Scene("odd-opencv-twins", "healthy", "torch-2.6", imports("torch", "cv2"), installs("opencv-python==4.11.0.86", "opencv-python-headless==4.11.0.86", "numpy==2.2.6")),
    # class only: Python compiles it again
    Scene("odd-stale-byte-code", "healthy", "torch-2.6", TORCH_WORKS, stale_byte_code),
    # https://github.com/pytorch/pytorch/pull/127074: the switch that the message names
    Scene("odd-other-device-switched-off", "healthy", "torch-2.6", TORCH_WORKS, then(another_device, sets(TORCH_DEVICE_BACKEND_AUTOLOAD="0"))),
    # https://github.com/ipython/matplotlib-inline/pull/35
    Scene("odd-backend-of-a-notebook", "healthy", "torch-2.6", imports("torch", "matplotlib.pyplot"), then(installs("matplotlib==3.10.3", "matplotlib-inline==0.1.7", "ipython==9.6.0", "numpy==2.2.6"), sets(MPLBACKEND="module://matplotlib_inline.backend_inline"))),
    # class only: what an uninstalled setuptools left; Python tells of it and goes on
    Scene("odd-precedence-without-setuptools", "healthy", "torch-2.6", TORCH_WORKS, inside("distutils-precedence.pth", "import os; var = 'SETUPTOOLS_USE_DISTUTILS'; enabled = os.environ.get(var, 'local') == 'local'; enabled and __import__('_distutils_hack').add_shim(); ")),
    # class only
    Scene("odd-fine-tuning-stack", "healthy", "torch-2.6", imports("torch", "peft", "accelerate", "datasets", "evaluate"), installs("peft==0.17.1", "transformers==4.51.3", "accelerate==1.6.0", "datasets==3.6.0", "evaluate==0.4.5", "numpy==2.2.6")),
    # class only: old, and it fits
    Scene("odd-lightning-of-old", "healthy", "torch-2.6", imports("torch", "pytorch_lightning"), installs("pytorch-lightning==1.5.10", "torchmetrics==0.11.4", "numpy==1.26.4", "setuptools<70")),
    # https://github.com/h2oai/h2o-llmstudio/pull/974
    Scene("odd-user-by-variable-alone", "healthy", "torch-2.6", FOLDER_OF_INDUCTOR, then(nameless, sets(USER="app"))),
    # class only: an egg that hides nothing
    Scene("odd-egg-behind", "healthy", "torch-2.6", imports("torch", "transformers"), then(HUGGING_FACE, egg("tokenizers", "0.13.3", first=False))),
    # class only
    Scene("odd-starters-that-fit", "healthy", "ctranslate2", started("bash", "{home}/work/train.sbatch"), then(CT2_PATHS, CT2_PROGRAM, writes({**TEST, "work/train.sbatch": JOB % SEARCHED, "work/Procfile": "web: {env}/bin/python {home}/work/main.py\n", "work/ecosystem.config.js": PM2 % "PYTHONUNBUFFERED: '1'", "work/pytest.ini": "[pytest]\npythonpath = src\n", ".zshenv": "export EDITOR=vim\n", ".ipython/profile_default/startup/00-autoreload.py": "import os\n"}, "work"))),
    # class only
    Scene("odd-hub-of-tensorflow", "healthy", "tensorflow", imports("tensorflow", "tensorflow_hub", "tf_keras"), installs("tensorflow-hub==0.16.1", "tf-keras==2.20.1", "tensorflow==2.20.0", "setuptools<81")),
    # class only
    Scene("odd-equinox-stack", "healthy", "jax", imports("jax", "equinox", "optax"), installs("equinox==0.13.0", "optax==0.2.5", "jax==0.7.2")),
    # class only: nobody imports it
    Scene("odd-closed-tool", "healthy", "torch-2.6", TORCH_WORKS, closed("torch/utils/bottleneck/__main__.py")),
    # class only
    Scene("odd-torch-on-another-disk", "healthy", "torch-2.6", VISION, on_another_disk(mounted=True)),
)  # fmt: skip
