"""The fourth held-out set, classes A, B, C and E: from the list of classes and public threads, before any rule was read.

Committed before the first run, and scored once. Above each row: the thread that it is made from, or "class only".
"""

from __future__ import annotations

import compileall
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.worldlab.environments import VERSION, master, site
from tests.worldlab.scene import Scene, World, cuts, imports, installs, loses, opens, runs, then
from tests.worldlab.scenes.held_out import TRITON_BUILD, TRITON_CACHE, Plant, sets, writes
from tests.worldlab.scenes.held_out_2 import ALL_SEARCHED, CT2_PATHS, TF_KERAS, target
from tests.worldlab.scenes.held_out_3 import CT2, JAX, ONNX, TF, TORCH, VISION, hides, own_python

TORCH_WORKS = runs("import torch; torch.ones(3).sum()")
CUBLAS_NOW = runs("import ctypes, os, ctranslate2; ctypes.CDLL('libcublas.so.12', os.RTLD_NOW)")
CUDNN_OF_JAX = runs(
    "import jax_plugins.xla_cuda12 as p; p._load_nvidia_libraries(); from jax_cuda12_plugin import _versions as v\n"
    "a, b = v.cudnn_build_version(), v.cudnn_get_version(); assert a // 100 <= b // 100, f'Found cuDNN {b}, built for {a}'"
)
PYTHON_HEADER = runs(
    "import tempfile, os; from triton.runtime.build import _build; d = tempfile.mkdtemp(); s = os.path.join(d, 'm.c')\n"
    "open(s, 'w').write('#include <Python.h>\\nint f(void) { return 0; }'); print(_build('m', s, d, [], [], []))"
)
EXTENSIONS = runs(
    "from torch.utils.cpp_extension import _get_build_directory; print(_get_build_directory('mine', False))"
)
HUGGING_FACE = "torch", "transformers"
DRIVER = runs("import ctypes; s = ctypes.CDLL('libcuda.so.1').cuInit(0); assert s == 0, f'cuInit: {s}'")

# --- what people do -----------------------------------------------------------------------------------------------------


def zeros(pattern: str) -> Plant:
    """Leave a file with its size and without its bytes, as some file systems do when the power goes."""

    def plant(world: World) -> None:
        path = world.own(world.library(pattern))
        path.write_bytes(b"\0" * path.stat().st_size)

    return plant


def closed(name: str) -> Plant:
    """Take everybody's rights from one file of the packages."""

    def plant(world: World) -> None:
        world.own(world.site / name).chmod(0)
        world.plain_rights = True

    return plant


def without_compiler(world: World) -> None:
    """Start in an image that has Python's tools and no compiler."""
    folder = world.folder / "image"
    folder.mkdir()
    for path in Path("/usr/bin").iterdir():
        if path.name in ("sh", "env", "ls", "cat", "ldconfig", "uname", "file", "which"):
            (folder / path.name).symlink_to(path)
    (folder / "ldconfig").unlink(missing_ok=True)
    (folder / "ldconfig").symlink_to("/sbin/ldconfig")
    world.variables["PATH"] = str(folder)


def without_headers(world: World) -> None:
    """Give the environment a Python whose headers come in a package of their own."""
    base = own_python(world).parent.parent.parent
    shutil.rmtree(base / "include")


def linked_to_store(*patterns: str, cleaned: bool) -> Plant:
    """Let packages be links into uv's cache (``--link-mode symlink``), which was cleaned or is there."""

    def plant(world: World) -> None:
        store = world.home / ".cache" / "uv" / "archive-v0" / "x8Kd3"
        for pattern in patterns:
            for path in sorted(world.site.glob(pattern)):
                if path.is_dir() or path.is_symlink():
                    continue
                there = store / path.relative_to(world.site)
                there.parent.mkdir(parents=True, exist_ok=True)
                path.rename(there)
                path.symlink_to(there)
        if cleaned:
            shutil.rmtree(store)

    return plant


def extension(name: str, version: str, module: str, stub: str, symbol_version: str = "") -> Plant:
    """Build an extension that is bound to a library of this name, which is not on this machine (or not in this release)."""

    def plant(world: World) -> None:
        folder = world.folder / "build"
        folder.mkdir()
        (folder / "stub.c").write_text("void a_function_of_it(void) {}\n")
        script = []
        if symbol_version:
            (folder / "stub.map").write_text(f"{symbol_version} {{ a_function_of_it; }};\n")
            script = [f"-Wl,--version-script={folder}/stub.map"]
        made = folder / stub
        words = ["gcc", "-shared", "-fPIC", "-nostdlib", f"-Wl,-soname,{stub}", *script, "-o", made, folder / "stub.c"]
        subprocess.run(list(map(str, words)), check=True)
        (folder / "m.c").write_text(
            "#include <Python.h>\nvoid a_function_of_it(void);\n"
            f'static PyModuleDef d = {{PyModuleDef_HEAD_INIT, "{module}", 0, -1, 0}};\n'
            f"PyMODINIT_FUNC PyInit_{module}(void) {{ a_function_of_it(); return PyModule_Create(&d); }}\n"
        )
        package, info = world.site / name, world.site / f"{name}-{version}.dist-info"
        package.mkdir()
        file = f"{name}/{module}.cpython-{VERSION.replace('.', '')}-x86_64-linux-gnu.so"
        include = Path(sys.base_prefix) / "include" / f"python{VERSION}"
        words = ["gcc", "-shared", "-fPIC", f"-I{include}", "-o", world.site / file, folder / "m.c", made]
        subprocess.run([*map(str, words), "-Wl,--allow-shlib-undefined"], check=True)
        (package / "__init__.py").write_text(f"import torch\nfrom {name} import {module}\n__version__ = '{version}'\n")
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Dist: torch\n"
        )
        (info / "RECORD").write_text(f"{file},,\n{name}/__init__.py,,\n{info.name}/METADATA,,\n{info.name}/RECORD,,\n")

    return plant


def stub_driver(world: World) -> None:
    """Name the folder of CUDA's stubs, as a build wants it and a run does not."""
    folder = world.home / "cuda-12.8" / "lib64" / "stubs"
    folder.mkdir(parents=True)
    (folder / "s.c").write_text(
        "int cuInit(unsigned f) { return 34; }\nint cuDriverGetVersion(int *v) { return 34; }\n"
    )
    words = ["gcc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", folder / "libcuda.so", folder / "s.c"]
    subprocess.run(list(map(str, words)), check=True)
    (folder / "s.c").unlink()
    (folder / "libcuda.so.1").symlink_to("libcuda.so")
    world.variables["LD_LIBRARY_PATH"] = str(folder)


def older_cublas_lt(world: World) -> None:
    """Put the libcublasLt of CUDA 12.4 first, as a toolkit in the home has it."""
    folder = world.home / "cuda-12.4" / "lib64"
    folder.mkdir(parents=True)
    os.link(site(master("torch-2.6")) / "nvidia/cublas/lib/libcublasLt.so.12", folder / "libcublasLt.so.12")
    CT2_PATHS(world)
    world.variables["LD_LIBRARY_PATH"] = f"{folder}:{world.variables['LD_LIBRARY_PATH']}"


def half_replaced(world: World) -> None:
    """Let an installation of NumPy 1 stop over NumPy 2: its modules in Python lie there, and nothing else of it."""
    target("old", "numpy==1.26.4")(world)
    for path in (world.home / "old" / "numpy").glob("*.py"):
        there = world.site / "numpy" / path.name
        there.unlink(missing_ok=True)
        shutil.copy2(path, there)
    shutil.rmtree(world.home / "old")


def stopped_midway(world: World) -> None:
    """Let an installation of torch stop: some of its folders are there, its record and its first module are not."""
    (info,) = world.site.glob("torch-*.dist-info")
    shutil.rmtree(info)
    for path in sorted((world.site / "torch").iterdir()):
        if path.is_file() and path.suffix in (".py", ".pyi"):
            path.unlink()


def bytes_inside(name: str, content: bytes) -> Plant:
    """Write bytes below the packages."""

    def plant(world: World) -> None:
        (world.site / name).write_bytes(content)

    return plant


def works_in(folder: str) -> Plant:
    """Work in a folder of the packages."""

    def plant(world: World) -> None:
        world.cwd = world.site / folder

    return plant


def patched(name: str, text: str) -> Plant:
    """Add lines to a file of the packages by hand."""

    def plant(world: World) -> None:
        path = world.own(world.site / name)
        with path.open("a") as stream:
            stream.write(text)

    return plant


def stripped(pattern: str) -> Plant:
    """Take debug sections away, as a small image does."""

    def plant(world: World) -> None:
        for path in sorted(world.site.glob(pattern)):
            subprocess.run(["strip", "--strip-unneeded", str(world.own(path))], check=True)

    return plant


def sourceless(*names: str) -> Plant:
    """Leave byte code alone, as people ship it."""

    def plant(world: World) -> None:
        for name in names:
            path = world.site / name
            if path.is_dir():
                compileall.compile_dir(path, quiet=1, legacy=True)
            else:
                compileall.compile_file(path, quiet=1, legacy=True)
            for file in path.rglob("*.py") if path.is_dir() else (path,):
                file.unlink()

    return plant


def drops(*patterns: str) -> Plant:
    """Delete folders of the packages that nothing imports."""

    def plant(world: World) -> None:
        for pattern in patterns:
            for path in sorted(world.site.glob(pattern), reverse=True):
                shutil.rmtree(path)

    return plant


LOST = ("corrupt_or_truncated_file", "cuda_runtime_missing", "installation_interrupted")
SYSTEM = (
    "system_library_missing",
    "build_tools_missing",
    "cuda_runtime_missing",
    "cxx_runtime_too_old",
    "requirement_broken",
)
TOOLS = ("build_tools_missing",)
BROKEN = ("requirement_broken",)
MODULE = ("requirement_broken", "extension_abi_mismatch", "installation_interrupted")
SHADOWED = ("module_shadowed",)
ENVIRONMENT = ("python_environment_broken",)
OVERRIDDEN = ("cuda_lib_shadowed", "ld_library_path_override", "requirement_broken")
VALUE = ("variable_value_wrong",)

SCENES: tuple[Scene, ...] = (
    # --- A: a library is absent or unfit
    # class only: a power cut after the installation
    Scene("torch-module-of-zeros", "A", "torch-2.6", TORCH, zeros("torch/nn/functional.py"), LOST, "torch", "functional.py", "null bytes"),
    # class only: the disk was full
    Scene("tensorflow-cut-its-core", "A", "tensorflow", TF, cuts("tensorflow/libtensorflow_cc.so.2", 0.6), LOST, "tensorflow", "libtensorflow_cc"),
    # class only
    Scene("jax-lost-its-common-library", "A", "jax", JAX, loses("jaxlib/libjax_common.so"), LOST, "jax", "libjax_common.so", "libjax_common"),
    # https://github.com/pytorch/vision/issues/8713, here the file is gone
    Scene("torchvision-lost-its-operators", "A", "torch-2.6", VISION, loses("torchvision/_C.so"), (*LOST, "extension_abi_mismatch"), "torchvision", "_C.so", "nms"),
    # class only: sudo pip with umask 077
    Scene("torch-closed-typing-extensions", "A", "torch-2.8", TORCH, closed("typing_extensions.py"), ("library_unreadable",), "torch", "typing_extensions.py", "typing_extensions"),
    # class only: an image without the C++ run time
    Scene("torch-in-an-image-without-cxx", "A", "torch-2.6", TORCH, hides("libstdc++"), SYSTEM, "torch", "libstdc++", "libstdc++"),
    # https://github.com/triton-lang/triton/issues/2507
    Scene("triton-in-an-image-without-compiler", "A", "torch-2.8", TRITON_BUILD, without_compiler, TOOLS, "", "", "C compiler"),
    # https://github.com/unslothai/unsloth/issues/2042
    Scene("triton-without-headers-of-python", "A", "torch-2.8", PYTHON_HEADER, without_headers, TOOLS, "", "Python.h", "Python.h"),
    # class only
    Scene("torch-lost-cudnn-heuristic", "A", "torch-2.8", opens("nvidia/cudnn/lib/libcudnn_heuristic.so.9", after="import torch"), loses("nvidia/cudnn/lib/libcudnn_heuristic.so.9"), (*LOST, "cudnn_sublibrary_missing"), "torch", "libcudnn_heuristic"),
    # https://github.com/bastibe/python-soundfile/issues/310
    Scene("soundfile-lost-sndfile", "A", "torch-2.8", imports("torch", "torchaudio", "soundfile"), then(installs("soundfile==0.13.1"), loses("_soundfile_data/libsndfile_x86_64.so"), hides("libsndfile")), (*LOST, "system_library_missing"), "", "sndfile", "sndfile"),
    # https://github.com/pytorch/torchcodec/issues/570
    Scene("torchcodec-without-ffmpeg", "A", "torch-2.8", imports("torch", "torchcodec"), then(installs("--no-deps", "torchcodec==0.7.0"), hides("libav", "libswscale", "libswresample")), SYSTEM, "", "libavutil", "libavutil"),
    # https://github.com/astral-sh/uv/issues/11056: the cache was cleaned
    Scene("torch-linked-to-a-cleaned-cache", "A", "torch-2.6", TORCH_WORKS, linked_to_store("torch/*.py", "torch/nn/**/*.py", cleaned=True), (*LOST, "python_environment_broken"), "torch", "", "torch"),
    # --- B: all files are there and do not fit each other
    # https://github.com/huggingface/diffusers/issues/10566
    Scene("diffusers-older-than-the-hub", "B", "torch-2.6", imports("torch", "diffusers"), installs("diffusers==0.25.1", "huggingface-hub==0.34.4", "transformers==4.51.3", "numpy==2.2.6"), BROKEN, "", "cached_download", "cached_download"),
    # https://github.com/huggingface/peft/issues/2344
    Scene("peft-newer-than-transformers", "B", "torch-2.6", imports("torch", "peft"), installs("peft==0.17.1", "transformers==4.40.2", "accelerate==0.34.2", "numpy==1.26.4"), BROKEN, "", "transformers", "cannot import name"),
    # https://github.com/google/flax/issues/3180
    Scene("chex-older-than-jax", "B", "jax", imports("jax", "chex"), installs("--no-deps", "chex==0.1.5", "dm-tree", "toolz", "absl-py", "typing-extensions"), BROKEN, "", "chex", "chex"),
    # https://github.com/tensorflow/addons/issues/2869
    Scene("tensorflow-addons-without-old-keras", "B", "tensorflow", imports("tensorflow", "tensorflow_addons"), installs("--no-deps", "tensorflow-addons==0.23.0", "typeguard==2.13.3"), MODULE, "", "keras", "keras"),
    # https://github.com/tensorflow/hub/issues/916
    Scene("tensorflow-hub-without-pkg-resources", "B", "tensorflow", imports("tensorflow", "tensorflow_hub"), installs("--no-deps", "tensorflow-hub==0.16.1"), MODULE, "", "pkg_resources", "pkg_resources"),
    # class only: an interrupted downgrade
    Scene("numpy-half-replaced", "B", "onnxruntime-1.23", ONNX, then(ALL_SEARCHED, half_replaced), (*LOST, *BROKEN), "", "numpy"),
    # https://github.com/open-mmlab/mmcv/issues/1387
    Scene("extension-built-for-cuda-11", "B", "torch-2.6", imports("mmcv"), extension("mmcv", "1.7.2", "_ext", "libcudart.so.11.0"), ("extension_abi_mismatch", "cuda_toolkit_version_mismatch", "cuda_runtime_missing", *BROKEN), "", "libcudart.so.11.0", "libcudart.so.11.0"),
    # https://github.com/Dao-AILab/flash-attention/issues/1708
    Scene("extension-wants-newer-glibc", "B", "torch-2.8", imports("fused_ops"), extension("fused_ops", "2.8.3", "_fused", "libc.so.6", "GLIBC_2.99"), ("cxx_runtime_too_old", "extension_abi_mismatch"), "", "GLIBC_2.99", "GLIBC_2.99"),
    # https://github.com/jax-ml/jax/issues/25377
    Scene("jax-with-the-cudnn-of-torch", "B", "jax", CUDNN_OF_JAX, installs("--no-deps", "nvidia-cudnn-cu12==9.1.0.70"), ("cudnn_minor_too_old", *OVERRIDDEN), "", "cudnn", "cuDNN"),
    # https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1492
    Scene("bitsandbytes-wants-triton-ops", "B", "torch-2.8", imports("torch", "bitsandbytes"), installs("--no-deps", "bitsandbytes==0.44.1"), MODULE, "", "triton.ops", "triton.ops"),
    # https://github.com/pydantic/pydantic-core/issues/1584
    Scene("pydantic-core-of-another-pydantic", "B", "torch-2.6", runs("import torch; from pydantic import BaseModel\nclass Shape(BaseModel):\n    width: int\nShape(width=1)"), then(installs("pydantic==2.11.7"), installs("--no-deps", "pydantic-core==2.27.2")), BROKEN, "", "pydantic", "pydantic"),
    # --- C: Python finds another file than one thinks
    # https://github.com/googleapis/python-api-core/issues/557: a package that owns the name google
    Scene("tensorflow-beside-own-google", "C", "tensorflow", TF, then(writes({"tools/google/__init__.py": "", "tools/google/search.py": "def search(q): return []\n"}), sets(PYTHONPATH="{home}/tools")), SHADOWED, "tensorflow", "tools/google", "google"),
    # class only: a file for profiling, named so
    Scene("torch-beside-own-profile", "C", "torch-2.8", imports("torch", "torch._dynamo"), writes({"train/profile.py": "NAME = 'me'\n", "train/main.py": "import torch\n"}, "train"), SHADOWED, "torch", "profile.py", "profile"),
    # class only: feature selection
    Scene("tensorflow-beside-own-select", "C", "tensorflow", TF, writes({"features/select.py": "def best(k):\n    return k\n"}, "features"), SHADOWED, "tensorflow", "select.py", "select"),
    # class only: a mock of the tests
    Scene("transformers-beside-own-requests", "C", "torch-2.6", imports(*HUGGING_FACE), then(installs("transformers==4.51.3", "numpy==2.2.6"), writes({"api/requests.py": "def get(url):\n    return None\n"}, "api")), SHADOWED, "", "requests.py", "requests"),
    # class only: the packages of an older project
    Scene("jax-behind-numpy-of-an-old-project", "C", "jax", JAX, then(target("old/lib", "numpy==1.24.4"), sets(PYTHONPATH="{home}/old/lib")), (*SHADOWED, *BROKEN, "numpy_abi_mismatch"), "", "old/lib", "numpy"),
    # class only: written by PowerShell's redirection, on a shared disk
    Scene("torch-pth-in-utf-16", "C", "torch-2.6", TORCH, bytes_inside("project.pth", "C:\\work\\src\r\n".encode("utf-16")), (*ENVIRONMENT, *LOST), "", "project.pth", "decode"),
    # class only
    Scene("torch-installation-stopped", "C", "torch-2.6", TORCH_WORKS, stopped_midway, (*LOST, "python_environment_broken", "requirement_broken", "module_shadowed"), "", "torch", "torch"),
    # https://github.com/huggingface/transformers/issues/26376
    Scene("transformers-lost-metadata-of-tqdm", "C", "torch-2.6", imports(*HUGGING_FACE), then(installs("transformers==4.51.3", "numpy==2.2.6"), loses("tqdm-*.dist-info/METADATA")), (*LOST, *BROKEN, *ENVIRONMENT), "", "tqdm", "tqdm"),
    # class only: to look something up
    Scene("torch-run-inside-its-own-folder", "C", "torch-2.6", TORCH, works_in("torch"), SHADOWED, "", "torch/", "circular"),
    # --- E: variables that name places or mean a contract
    # class only: set for a build
    Scene("stub-of-the-driver-by-variable", "E", "ctranslate2", DRIVER, stub_driver, ("libcuda_wrong_library", "ld_library_path_override"), "", "stubs", "cuInit: 34"),
    # class only
    Scene("numba-without-threads", "E", "torch-2.8", imports("torch", "numba"), then(installs("numba==0.61.2", "numpy==2.2.6"), sets(NUMBA_NUM_THREADS="0")), VALUE, "", "NUMBA_NUM_THREADS", "must be > 0"),
    # https://github.com/keras-team/keras/issues/19389: the file that KERAS_HOME names
    Scene("keras-file-of-old", "E", "tensorflow", TF_KERAS, writes({".keras/keras.json": '{"image_dim_ordering": "th", "epsilon": 1e-07, "floatx": "float32", "backend": "theano"}\n'}), (*VALUE, *BROKEN), "", "keras.json", "theano"),
    # class only: a folder that does not let itself be made
    Scene("torch-extensions-behind-a-file", "E", "torch-2.8", EXTENSIONS, then(writes({"cache": "x\n"}), sets(TORCH_EXTENSIONS_DIR="{home}/cache/torch")), VALUE, "", "TORCH_EXTENSIONS_DIR", "Not a directory"),
    # class only
    Scene("triton-home-behind-a-file", "E", "torch-2.8", TRITON_CACHE, then(writes({"scratch": "x\n"}), sets(TRITON_HOME="{home}/scratch")), VALUE, "", "TRITON_HOME", "Not a directory"),
    # class only
    Scene("transformers-timeout-with-a-unit", "E", "torch-2.6", imports(*HUGGING_FACE), then(installs("transformers==4.51.3", "numpy==2.2.6"), sets(HF_HUB_DOWNLOAD_TIMEOUT="30s")), VALUE, "", "HF_HUB_DOWNLOAD_TIMEOUT", "30s"),
    # --- odd, and healthy
    # class only: a hardened machine
    Scene("odd-bound-at-start", "healthy", "torch-2.6", TORCH, sets(LD_BIND_NOW="1", PYTHONNOUSERSITE="1", PYTHONPYCACHEPREFIX="{home}/pyc")),
    # class only: names of files in a project
    Scene("odd-project-of-many-names", "healthy", "torch-2.8", TORCH, writes(dict.fromkeys(("p/utils.py", "p/config.py", "p/data.py", "p/models/__init__.py", "p/cuda.py", "p/train.py", "p/test.py", "p/setup.py", "p/dataset/__init__.py"), "x = 1\n"), "p")),
    # class only: a small image
    Scene("odd-without-tests-and-headers", "healthy", "torch-2.6", VISION, drops("torch/include", "torch/share", "numpy/*/tests", "numpy/tests", "sympy/*/tests", "networkx/*/tests")),
    # class only: somebody looks for a fault
    Scene("odd-patched-by-hand", "healthy", "torch-2.6", TORCH, then(patched("torch/functional.py", "\n# looked at\n"), patched("torch/nn/modules/linear.py", "\nDEBUG = False\n"))),
    # class only: a small image
    Scene("odd-stripped-libraries", "healthy", "onnxruntime-1.23", ONNX, then(ALL_SEARCHED, stripped("numpy/_core/_multiarray_umath.*.so"), stripped("onnxruntime/capi/onnxruntime_pybind11_state*.so"))),
    # class only: byte code alone
    Scene("odd-without-sources", "healthy", "torch-2.6", TORCH_WORKS, sourceless("typing_extensions.py", "mpmath", "sympy")),
    # https://github.com/astral-sh/uv/issues/11056: the cache is there
    Scene("odd-linked-to-a-cache", "healthy", "torch-2.6", TORCH_WORKS, linked_to_store("torch/*.py", "torch/nn/**/*.py", "torch/lib/*.so*", "typing_extensions.py", cleaned=False)),
    # class only: a folder of data
    Scene("odd-folders-of-data", "healthy", "tensorflow", TF, writes({"w/google/takeout.json": "{}\n", "w/keras/model.txt": "x\n", "w/select/a.csv": "x\n"}, "w")),
    # class only
    Scene("odd-whole-hugging-face-stack", "healthy", "torch-2.6", imports("torch", "transformers", "peft", "accelerate", "diffusers"), installs("transformers==4.51.3", "peft==0.15.2", "accelerate==1.6.0", "diffusers==0.33.1", "numpy==2.2.6")),
    # class only
    Scene("odd-whole-flax-stack", "healthy", "jax", imports("jax", "flax", "optax", "chex"), installs("flax==0.11.2", "optax==0.2.5", "chex==0.1.90", "jax==0.7.2", "jaxlib==0.7.2")),
    # class only: two machines share the folder
    Scene("odd-extension-of-the-other-machine-beside", "healthy", "ctranslate2", CT2, then(CT2_PATHS, bytes_inside("yaml/_yaml.cpython-311-aarch64-linux-gnu.so", b"\x7fELF\x02\x01\x01" + b"\0" * 9 + b"\x03\0\xb7\0" + b"\0" * 44))),
    # class only
    Scene("odd-file-of-keras", "healthy", "tensorflow", TF_KERAS, writes({".keras/keras.json": '{"floatx": "float32", "epsilon": 1e-07, "backend": "tensorflow", "image_data_format": "channels_last"}\n'})),
    # class only
    Scene("odd-words-for-the-hub", "healthy", "torch-2.6", imports(*HUGGING_FACE), then(installs("transformers==4.51.3", "numpy==2.2.6"), sets(HF_HOME="{home}/hf", HF_HUB_OFFLINE="1", HF_HUB_DOWNLOAD_TIMEOUT="30", TRANSFORMERS_VERBOSITY="error", TOKENIZERS_PARALLELISM="false"))),
    # class only: for a build that is long over
    Scene("odd-words-for-builds", "healthy", "torch-2.8", EXTENSIONS, sets(MAX_JOBS="all", TORCH_EXTENSIONS_DIR="{home}/.cache/extensions", NVCC_APPEND_FLAGS="--threads 4", CXX="g++", NVIDIA_TF32_OVERRIDE="0", BITSANDBYTES_NOWELCOME="1")),
    # class only: another toolkit first, which the library's own run path keeps out
    Scene("odd-older-cublas-lt-by-variable", "healthy", "ctranslate2", CUBLAS_NOW, older_cublas_lt),
)  # fmt: skip
