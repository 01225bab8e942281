"""Classes A and B: a library that a GPU binary needs is absent, unfit, or does not fit the others; and healthy machines."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable

from tests.worldlab.environments import master, site
from tests.worldlab.scene import Scene, World, both, cuts, dangles, imports, installs, lacks, loses, runs, then

# --- what the real programs do ------------------------------------------------------------------------------------------

TORCH = imports("torch")
LINALG = runs(
    "import ctypes, os, torch; ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), 'lib', 'libtorch_cuda_linalg.so'), os.RTLD_NOW)"
)
CUDNN = runs("import torch; assert torch.backends.cudnn.version()")
TORCHVISION = runs(
    "import ctypes, os, torch, importlib.util as u; p = os.path.dirname(u.find_spec('torchvision').origin)\n"
    "[ctypes.CDLL(os.path.join(p, n), os.RTLD_NOW) for n in ('_C.so', 'image.so')]"
)
XFORMERS = runs(
    "import torch, os, importlib.util as u; torch.ops.load_library(os.path.join(os.path.dirname(u.find_spec('xformers').origin), '_C.so'))"
)
BITSANDBYTES = runs(
    "import torch, ctypes, os, importlib.util as u; ctypes.CDLL(os.path.join(os.path.dirname(u.find_spec('bitsandbytes').origin), 'libbitsandbytes_cuda128.so'))"
)
ONNXRUNTIME = runs(
    r"""
import os, sys, tempfile
log = tempfile.TemporaryFile()
os.dup2(log.fileno(), 2)
import onnxruntime
def field(n, value):
    body = value.encode() if isinstance(value, str) else value
    return bytes([n << 3 | 2, len(body)]) + body
def shaped(name):
    return field(1, name) + field(2, field(1, bytes([1 << 3, 1]) + field(2, field(1, bytes([1 << 3, 1])))))
node = field(1, "x") + field(2, "y") + field(4, "Identity")
graph = field(1, node) + field(2, "g") + field(11, shaped("x")) + field(12, shaped("y"))
model = bytes([1 << 3, 8]) + field(7, graph) + field(8, bytes([2 << 3, 13]))
try:
    onnxruntime.InferenceSession(model, providers=["CUDAExecutionProvider"])
except Exception as e:
    print(e)
log.seek(0)
words = log.read().decode("utf-8", "replace")
print(words[-3000:])
if "Failed to load" in words:
    os._exit(1)
"""
)
"""Ask for a session on the GPU: without a driver it ends with CUDA's own error, and without a library with the loader's."""
ONNXRUNTIME_1_20 = runs(
    "import onnxruntime, ctypes\n"
    "for name in ('cublasLt.so.12', 'cublas.so.12', 'curand.so.10', 'cufft.so.11', 'cudart.so.12', 'cudnn.so.9', 'cudnn_adv.so.9', 'nvrtc.so.12'):\n"
    "    ctypes.CDLL('lib' + name)"
)
"""What its provider is linked against: a session crashes in 1.20 where there is no driver."""
CUPY_LIBRARIES = imports(
    "cupy",
    "cupy_backends.cuda.libs.cublas",
    "cupy_backends.cuda.libs.curand",
    "cupy_backends.cuda.libs.cusparse",
    "cupy_backends.cuda.libs.cusolver",
    "cupy.cuda.cufft",
)
CUPY_COMPILES = runs(
    "from cupy_backends.cuda.libs import nvrtc\n"
    "made = nvrtc.createProgram('extern \"C\" __global__ void f(float *x) { x[0] = 1; }', 'f.cu', (), ())\n"
    "nvrtc.compileProgram(made, ('--gpu-architecture=compute_80',))"
)
CUPY = both(CUPY_LIBRARIES, CUPY_COMPILES)
JAX = runs(
    "import jax_plugins.xla_cuda12 as p; p._load_nvidia_libraries(); from jax_cuda12_plugin import _versions as v\n"
    "print(v.cuda_runtime_get_version(), v.cublas_get_version(), v.cufft_get_version(), v.cusolver_get_version(), v.cusparse_get_version(), v.cudnn_get_version(), v.cupti_get_version())"
)
TENSORFLOW = both(
    imports("tensorflow"),
    runs(
        "import ctypes, glob, os, sysconfig; home = os.path.join(sysconfig.get_paths()['purelib'], 'nvidia')\n"
        "wanted = ('libcudart.so.12', 'libcublas.so.12', 'libcublasLt.so.12', 'libcufft.so.11', 'libcusolver.so.11', 'libcusparse.so.12', 'libcudnn.so.9')\n"
        "[ctypes.CDLL((glob.glob(f'{home}/*/lib/{n}') or [n])[0], os.RTLD_NOW) for n in wanted]"
    ),
)
CTRANSLATE2 = runs("import ctranslate2, ctypes; ctypes.CDLL('libcublas.so.12')")

# --- what is done to them -------------------------------------------------------------------------------------------------


def searched(world: World) -> None:
    """Name the folders of NVIDIA's packages in LD_LIBRARY_PATH, as CuPy's and ONNX Runtime's manuals ask for."""
    folders = sorted(str(f) for f in world.site.glob("nvidia/*/lib"))
    value = world.variables["LD_LIBRARY_PATH"] = os.pathsep.join(folders)
    for name in (".profile", ".bashrc"):  # in every way of starting that a person can set it for
        (world.home / name).write_text(f"export LD_LIBRARY_PATH={value}\n")
    settings = world.home / ".config" / "environment.d"
    settings.mkdir(parents=True)
    (settings / "50-cuda.conf").write_text(f"LD_LIBRARY_PATH={value}\n")


def emptied(pattern: str) -> Callable[[World], None]:
    def plant(world: World) -> None:
        path = world.own(world.library(pattern))
        os.truncate(path, 0)

    return plant


def for_aarch64(pattern: str) -> Callable[[World], None]:
    """Give a library's header another processor."""

    def plant(world: World) -> None:
        path = world.own(world.library(pattern))
        with path.open("r+b") as stream:
            stream.seek(18)
            stream.write((183).to_bytes(2, "little"))

    return plant


def closed(pattern: str) -> Callable[[World], None]:
    def plant(world: World) -> None:
        world.own(world.library(pattern)).chmod(0o000)
        world.plain_rights = True

    return plant


def of_other(pattern: str, environment: str) -> Callable[[World], None]:
    """Put the same file of another environment in its place."""

    def plant(world: World) -> None:
        path = world.library(pattern)
        (source,) = sorted(site(master(environment)).glob(pattern))
        path.unlink()
        shutil.copy2(source, path)

    return plant


def led_to(pattern: str, environment: str) -> Callable[[World], None]:
    """Let LD_LIBRARY_PATH begin with a folder that holds one library of another environment."""

    def plant(world: World) -> None:
        folder = world.folder / "old-libraries"
        folder.mkdir(exist_ok=True)
        (source,) = sorted(site(master(environment)).glob(pattern))
        shutil.copy2(source, folder / source.name)
        before = world.variables.get("LD_LIBRARY_PATH", "")
        world.variables["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, (str(folder), before)))

    return plant


def renamed(pattern: str, to: str) -> Callable[[World], None]:
    """Rename a library, as a packager or a download does."""

    def plant(world: World) -> None:
        path = world.library(pattern)
        path.rename(path.with_name(to))

    return plant


def not_executable(world: World) -> None:
    """Mount the scene's environment anew, noexec, for every program of the scene."""
    script = 'mount --bind "$0" "$0" && mount -o remount,bind,noexec "$0" && exec "$@"'
    world.launcher = ["unshare", "-m", "sh", "-c", script, str(world.site)]


def replaced_by_text(pattern: str) -> Callable[[World], None]:
    def plant(world: World) -> None:
        path = world.library(pattern)
        path.unlink()
        path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0000\nsize 1\n")

    return plant


def too_new_libstdcxx(world: World) -> None:
    """Lay an old C++ run time into LD_LIBRARY_PATH: one that offers no version after GLIBCXX_3.4.19."""
    folder = world.folder / "old-libraries"
    folder.mkdir(exist_ok=True)
    source, script, made = folder / "a.c", folder / "a.map", folder / "libstdc++.so.6"
    source.write_text("void nothing(void) {}\n")
    script.write_text("GLIBCXX_3.4 { nothing; };\nGLIBCXX_3.4.19 { } GLIBCXX_3.4;\n")
    command = [
        "gcc",
        "-shared",
        "-fPIC",
        "-Wl,-soname,libstdc++.so.6",
        f"-Wl,--version-script={script}",
        "-o",
        made,
        source,
    ]
    subprocess.run(list(map(str, command)), check=True)
    world.variables["LD_LIBRARY_PATH"] = str(folder)


DAMAGED = ("corrupt_or_truncated_file",)
MISSING = ("corrupt_or_truncated_file", "cuda_runtime_missing")
OFF = ("cuda_not_on_search_path", "cudnn_not_on_search_path")
MIXED = ("cuda_lib_shadowed", "requirement_broken")

CUPY_14 = installs("--no-deps", "cupy-cuda12x==14.0.1", "cuda-pathfinder==1.3.3")
FOUND = runs(
    "import cupy; from cupy_backends.cuda.libs import cublas, curand, cusolver, cusparse, nvrtc; cupy.cuda.cufft; nvrtc.getVersion()"
)
"""What CuPy 14 opens with cuda-pathfinder: NVIDIA's packages, the system's search, then CUDA_HOME."""


def in_a_toolkit(world: World) -> None:
    """Have CUDA's libraries in a toolkit that CUDA_PATH names, and in no package."""
    folder = world.home / "cuda/lib64"
    folder.mkdir(parents=True)
    for package in ("cublas", "cusolver", "cusparse", "curand", "cufft", "cuda_nvrtc", "nvjitlink"):
        for path in sorted(world.site.glob(f"nvidia/{package}/lib/*.so*")):
            path.rename(folder / path.name)
            (folder / f"{path.name.partition('.so')[0]}.so").symlink_to(path.name)
        shutil.rmtree(world.site / "nvidia" / package)
        for info in world.site.glob(f"nvidia_{package}_cu12-*.dist-info"):
            shutil.rmtree(info)
    world.variables["CUDA_PATH"] = str(world.home / "cuda")


SCENES = (
    Scene("cupy-14-finds-nvidias-packages", "healthy", "cupy", FOUND, CUPY_14),
    Scene("cupy-14-finds-a-toolkit", "healthy", "cupy", FOUND, then(CUPY_14, in_a_toolkit)),
    Scene("cupy-14-lacks-cusparse", "A", "cupy", FOUND, then(CUPY_14, lacks("nvidia-cusparse-cu12")), ("cuda_runtime_missing", "requirement_broken"), "cupy-cuda12x", "libcusparse.so.12", "libcusparse.so"),
    Scene("cupy-14-toolkit-that-is-gone", "A", "cupy", FOUND, then(CUPY_14, in_a_toolkit, lambda w: w.variables.update(CUDA_PATH=str(w.home / "cuda-12"))), ("cuda_runtime_missing", "cuda_not_on_search_path", "cuda_path_env_wrong"), "", "CUDA_PATH", "libcublas"),
    # healthy and odd
    Scene("torch-2.8-healthy", "healthy", "torch-2.8", both(TORCH, LINALG, TORCHVISION, XFORMERS, BITSANDBYTES, imports("torchaudio"))),
    Scene("torch-2.6-healthy", "healthy", "torch-2.6", both(TORCH, LINALG, TORCHVISION)),
    Scene("jax-healthy", "healthy", "jax", both(imports("jax"), JAX)),
    Scene("tensorflow-healthy", "healthy", "tensorflow", TENSORFLOW),
    Scene("cupy-searched", "healthy", "cupy", CUPY, searched),
    Scene("onnxruntime-1.20-searched", "healthy", "onnxruntime-1.20", ONNXRUNTIME_1_20, searched),
    Scene("onnxruntime-1.23-searched", "healthy", "onnxruntime-1.23", ONNXRUNTIME, searched),
    Scene("ctranslate2-searched", "healthy", "ctranslate2", CTRANSLATE2, searched),
    Scene("torch-2.8-older-nvjitlink-by-variable", "healthy", "torch-2.8", both(TORCH, LINALG), led_to("nvidia/nvjitlink/lib/libnvJitLink.so.12", "torch-2.6")),
    Scene("torch-2.8-without-bitsandbytes", "healthy", "torch-2.8", TORCH, lacks("bitsandbytes")),
    Scene("torch-2.8-searched", "healthy", "torch-2.8", both(TORCH, TORCHVISION), searched),
    # A: absent
    Scene("torch-lost-cusparselt", "A", "torch-2.8", TORCH, loses("nvidia/cusparselt/lib/libcusparseLt.so.0"), MISSING, "torch", "libcusparseLt.so.0", "libcusparseLt"),
    Scene("torch-lost-cufile", "A", "torch-2.8", TORCH, loses("nvidia/cufile/lib/libcufile.so.0"), MISSING, "torch", "libcufile.so.0", "libcufile"),
    Scene("torch-lost-nvjitlink", "A", "torch-2.6", TORCH, loses("nvidia/nvjitlink/lib/libnvJitLink.so.12"), MISSING, "torch", "libnvJitLink.so.12", "libnvJitLink"),
    Scene("torch-lost-cusolver", "A", "torch-2.8", LINALG, loses("nvidia/cusolver/lib/libcusolver.so.11"), MISSING, "torch", "libcusolver.so.11", "libcusolver"),
    Scene("torch-without-cufft-package", "A", "torch-2.8", TORCH, lacks("nvidia-cufft-cu12"), ("cuda_runtime_missing", "requirement_broken"), "torch", "libcufft.so.11", "libcufft"),
    Scene("torch-without-nccl-package", "A", "torch-2.6", TORCH, lacks("nvidia-nccl-cu12"), ("cuda_runtime_missing", "requirement_broken"), "torch", "libnccl.so.2", "libnccl"),
    Scene("torch-without-two-packages", "A", "torch-2.8", TORCH, lacks("nvidia-curand-cu12", "nvidia-cusparse-cu12"), ("cuda_runtime_missing", "requirement_broken"), "torch", "libcurand.so.10"),
    Scene("torch-cut-cusparse", "A", "torch-2.6", TORCH, cuts("nvidia/cusparse/lib/libcusparse.so.12"), DAMAGED, "torch", "libcusparse.so.12"),
    Scene("torch-empty-curand", "A", "torch-2.8", TORCH, emptied("nvidia/curand/lib/libcurand.so.10"), DAMAGED, "torch", "libcurand.so.10", "file too short"),
    Scene("torch-dangling-nccl", "A", "torch-2.8", TORCH, dangles("nvidia/nccl/lib/libnccl.so.2"), (*MISSING, "library_unreadable"), "torch", "libnccl.so.2", "libnccl"),
    Scene("torch-cufft-for-aarch64", "A", "torch-2.8", TORCH, for_aarch64("nvidia/cufft/lib/libcufft.so.11"), ("dll_wrong_architecture",), "torch", "libcufft.so.11", "libcufft"),
    Scene("torch-closed-cusparselt", "A", "torch-2.8", TORCH, closed("nvidia/cusparselt/lib/libcusparseLt.so.0"), ("library_unreadable",), "torch", "libcusparseLt.so.0"),
    Scene("torch-pointer-for-curand", "A", "torch-2.8", TORCH, replaced_by_text("nvidia/curand/lib/libcurand.so.10"), DAMAGED, "torch", "libcurand.so.10", "invalid ELF header"),
    Scene("torch-renamed-cufft", "A", "torch-2.8", TORCH, renamed("nvidia/cufft/lib/libcufft.so.11", "libcufft.so.11.3"), MISSING, "torch", "libcufft.so.11", "libcufft"),
    Scene("torch-on-noexec", "A", "torch-2.8", TORCH, not_executable, ("noexec_mount",), "torch", "noexec"),
    Scene("torchvision-lost-nvjpeg", "A", "torch-2.8", TORCHVISION, loses("torchvision.libs/libnvjpeg.*"), MISSING, "torchvision", "libnvjpeg"),
    Scene("bitsandbytes-without-cublas-lt", "A", "torch-2.8", BITSANDBYTES, loses("nvidia/cublas/lib/libcublasLt.so.12"), MISSING, "", "libcublasLt.so.12"),
    Scene("cupy-not-searched", "A", "cupy", CUPY, None, OFF, "cupy-cuda12x", "libcublas.so.12"),
    Scene("cupy-alone", "A", "cupy-alone", CUPY, None, ("cuda_runtime_missing",), "cupy-cuda12x", "libcublas.so.12"),
    Scene("cupy-lost-cusolver", "A", "cupy", CUPY, then(searched, loses("nvidia/cusolver/lib/libcusolver.so.11")), MISSING, "cupy-cuda12x", "libcusolver.so.11"),
    Scene("cupy-lost-nvjitlink", "A", "cupy", CUPY, then(searched, loses("nvidia/nvjitlink/lib/libnvJitLink.so.12")), MISSING, "cupy-cuda12x", "libnvJitLink.so.12"),
    Scene("cupy-lost-nvrtc", "A", "cupy", CUPY, then(searched, loses("nvidia/cuda_nvrtc/lib/libnvrtc.so.12")), (*MISSING, "nvrtc_missing_or_mismatch"), "cupy-cuda12x", "libnvrtc.so.12"),
    Scene("cupy-lost-builtins", "A", "cupy", CUPY, then(searched, loses("nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.12.8")), (*MISSING, "nvrtc_missing_or_mismatch"), "cupy-cuda12x", "nvrtc-builtins"),
    Scene("cupy-cut-cufft", "A", "cupy", CUPY, then(searched, cuts("nvidia/cufft/lib/libcufft.so.11")), DAMAGED, "cupy-cuda12x", "libcufft.so.11"),
    Scene("jax-without-cusolver-package", "A", "jax", JAX, lacks("nvidia-cusolver-cu12"), ("cuda_runtime_missing", "requirement_broken"), "jax-cuda12-plugin", "libcusolver.so.11"),
    Scene("jax-without-cupti", "healthy", "jax", JAX, loses("nvidia/cuda_cupti/lib/libcupti.so.12")),
    Scene("jax-lost-cufft", "A", "jax", JAX, loses("nvidia/cufft/lib/libcufft.so.11"), MISSING, "jax-cuda12-plugin", "libcufft.so.11"),
    Scene("jax-lost-nvjitlink", "A", "jax", JAX, loses("nvidia/nvjitlink/lib/libnvJitLink.so.12"), MISSING, "jax-cuda12-plugin", "libnvJitLink.so.12"),
    Scene("tensorflow-lost-cusparse", "A", "tensorflow", TENSORFLOW, loses("nvidia/cusparse/lib/libcusparse.so.12"), MISSING, "tensorflow", "libcusparse.so.12"),
    Scene("tensorflow-without-cufft-package", "A", "tensorflow", TENSORFLOW, lacks("nvidia-cufft-cu12"), ("cuda_runtime_missing", "requirement_broken"), "tensorflow", "libcufft.so.11"),
    Scene("onnxruntime-1.20-not-searched", "A", "onnxruntime-1.20", ONNXRUNTIME_1_20, None, OFF, "onnxruntime-gpu", "libcurand.so.10"),
    Scene("onnxruntime-1.23-not-searched", "A", "onnxruntime-1.23", ONNXRUNTIME, None, OFF, "onnxruntime-gpu", "libcufft.so.11"),
    Scene("onnxruntime-lost-curand", "A", "onnxruntime-1.23", ONNXRUNTIME, then(searched, loses("nvidia/curand/lib/libcurand.so.10")), MISSING, "onnxruntime-gpu", "libcurand.so.10"),
    Scene("onnxruntime-cut-cufft", "A", "onnxruntime-1.23", ONNXRUNTIME, then(searched, cuts("nvidia/cufft/lib/libcufft.so.11")), DAMAGED, "onnxruntime-gpu", "libcufft.so.11"),
    Scene("ctranslate2-not-searched", "A", "ctranslate2", CTRANSLATE2, None, OFF, "ctranslate2", "libcublas.so.12"),
    # B: all there, and not fitting
    Scene("torch-2.8-older-nvjitlink", "B", "torch-2.8", TORCH, installs("--no-deps", "nvidia-nvjitlink-cu12==12.4.127"), MIXED, "torch", "libnvJitLink", "undefined symbol"),
    Scene("torch-2.8-older-nccl", "B", "torch-2.8", TORCH, installs("--no-deps", "nvidia-nccl-cu12==2.19.3"), MIXED, "torch", "nccl", "undefined symbol"),
    Scene("torchvision-of-torch-2.6", "B", "torch-2.8", TORCHVISION, installs("--no-deps", "torchvision==0.21.0"), ("extension_abi_mismatch", "requirement_broken"), "torchvision", "", "undefined symbol"),
    Scene("xformers-of-torch-2.8", "B", "torch-2.6", XFORMERS, installs("--no-deps", "xformers==0.0.32.post2"), ("extension_abi_mismatch", "requirement_broken"), "xformers", "", "undefined symbol"),
    Scene("torchaudio-of-torch-2.8", "B", "torch-2.6", imports("torch", "torchaudio"), installs("--no-deps", "torchaudio==2.8.0"), ("extension_abi_mismatch", "requirement_broken"), "torchaudio", "", "undefined symbol"),
    Scene("cupy-older-nvjitlink-by-variable", "B", "cupy", CUPY, then(searched, led_to("nvidia/nvjitlink/lib/libnvJitLink.so.12", "torch-2.6")), ("ld_library_path_override", "cuda_lib_shadowed"), "cupy-cuda12x", "libnvJitLink", "__nvJitLink"),
    Scene("torch-old-libstdcxx-by-variable", "B", "torch-2.8", TORCH, too_new_libstdcxx, ("ld_library_path_override", "cxx_runtime_too_old"), "torch", "libstdc++.so.6", "libstdc++.so.6: version"),
    Scene("jax-older-nvjitlink", "B", "jax", JAX, installs("--no-deps", "nvidia-nvjitlink-cu12==12.4.127"), MIXED, "jax-cuda12-plugin", "libnvJitLink"),
    Scene("torch-2.6-newer-cusparse", "B", "torch-2.6", TORCH, installs("--no-deps", "nvidia-cusparse-cu12==12.5.8.93"), MIXED, "torch", "libnvJitLink", "undefined symbol"),
    Scene("cupy-older-nvjitlink", "B", "cupy", CUPY, then(searched, of_other("nvidia/nvjitlink/lib/libnvJitLink.so.12", "torch-2.6")), (*MIXED, "corrupt_or_truncated_file"), "cupy-cuda12x", "libnvJitLink", "undefined symbol"),
    Scene("tensorflow-older-nvjitlink", "B", "tensorflow", TENSORFLOW, installs("--no-deps", "nvidia-nvjitlink-cu12==12.4.127"), MIXED, "tensorflow", "libnvJitLink", "undefined symbol"),
)  # fmt: skip
