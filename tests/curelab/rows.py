"""The rows of the lab: an environment as people make it, a fault by real installations, and what one press must do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from core.model.facts import CudaInit, Driver, Gpu, Nvml
from tests import machines, standin
from tests.curelab import environments, wheels
from tests.curelab.environments import Environment, Maker
from tests.curelab.greedy import PROGRAM, greedy
from tests.envlab import layouts
from tests.faultlab import wheels as published

Kind = Literal[
    "another build",
    "files put back",
    "missing packages",
    "duplicates",
    "a pin restored",
    "cuDNN fetched",
    "memory growth",
    "advice",
]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Row:
    """One environment and its fault. ``install`` and ``plant`` make it; ``index`` has what the cure may fetch."""

    name: str
    kind: Kind
    made: Maker
    wheels: Callable[[Path], object]
    """Writes the wheels that can be had."""
    install: Sequence[Sequence[str]]
    """Arguments of one installation after another."""
    finding: str
    """Start of the id of the finding that is cured."""
    works: str
    """A program of the person's that prints "yes" once it is cured."""
    plant: Callable[[Environment], None] = lambda _env: None
    card: Callable[[], Driver] = machines.working_driver
    options: Sequence[str] = ()
    """Further options of ``convalesce fix``; {wheels} is the folder of wheels."""
    offline: bool = False
    """Cured without any index."""
    real: bool = False
    """The packages are published ones."""
    beside: Sequence[str] = ()
    """Installed into a second environment of the same person, which is named, too."""
    variables: Mapping[str, str] = field(default_factory=dict)
    thorough: bool = False
    trials: bool = False
    """The frameworks are tried, and the program is started through the activation."""


def version_is(module: str, version: str) -> str:
    return f"import {module}; print('yes' if {module}.__version__ == '{version}' else {module}.__version__)"


def has(*paths: str) -> str:
    """Return a program that looks for files of the environment's own packages."""
    looks = " and ".join(f"os.path.isfile(os.path.join(p, {path!r}))" for path in paths)
    return f"import os, sys; print('yes' if any({looks} for p in sys.path) else 'no')"


# --- wheels --------------------------------------------------------------------------------------------------------


def torch(folder: Path) -> None:
    """PyTorch 2.8's builds for the processor and for CUDA 12.6, 12.8 and 12.9, and what the latter pin."""
    wheels.torch_wheel(folder, "2.8.0+cpu", "")
    pins = wheels.nvidia_wheels(folder, "9.10.2.21", "12.8")
    for variant, cuda in (("cu126", "12.6"), ("cu128", "12.8"), ("cu129", "12.9")):
        wheels.torch_wheel(folder, f"2.8.0+{variant}", cuda, pins)


def torch_128(folder: Path) -> None:
    wheels.torch_wheel(folder, "2.8.0+cu128", "12.8", wheels.nvidia_wheels(folder, "9.10.2.21", "12.8"))
    wheels.nvidia_wheels(folder, "9.1.0.70", "12.8")


def torch_for_older_driver(folder: Path) -> None:
    wheels.torch_wheel(folder, "2.8.0+cu126", "12.6", wheels.nvidia_wheels(folder, "9.10.2.21", "12.8"))
    wheels.torch_wheel(folder, "2.9.0+cu128", "12.8", wheels.nvidia_wheels(folder, "9.10.2.21", "12.8"))
    pins = wheels.nvidia_wheels(folder, "9.13.0.50", "13.0")
    wheels.torch_wheel(folder, "2.9.0+cu130", "13.0", pins)


JAX_LIBRARIES = (
    ("nvidia-cuda-runtime-cu12", "12.8.90", "cuda_runtime", "libcudart.so.12"),
    ("nvidia-cufft-cu12", "11.3.3.83", "cufft", "libcufft.so.11"),
    ("nvidia-cusolver-cu12", "11.7.3.90", "cusolver", "libcusolver.so.11"),
    ("nvidia-cusparse-cu12", "12.5.8.93", "cusparse", "libcusparse.so.12"),
    ("nvidia-nccl-cu12", "2.27.3", "nccl", "libnccl.so.2"),
)


def jax(folder: Path) -> None:
    def make(site: layouts.Site) -> None:
        layouts.jax(site, "0.6.2", "jax-cuda12-plugin", "9.10.2.21")
        for package, version, folder, library in JAX_LIBRARIES:
            made = standin.build_library(site.folder / "nvidia" / folder / "lib" / library)
            standin.record_wheel(site.folder, package, version, [made])
        nvvm = site.file("nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc")
        nvvm.write_bytes(b"BC\xc0\xde" + bytes(60))
        standin.record_wheel(site.folder, "nvidia-cuda-nvcc-cu12", "12.8.93", [nvvm])
        site.file("jax/__init__.py", "__version__ = '0.6.2'\n")
        site.file("jax/_src/core.py")
        site.file("jaxlib/__init__.py")

    pins = (
        "nvidia-cudnn-cu12==9.10.2.21",
        "nvidia-cublas-cu12",
        "nvidia-cuda-nvrtc-cu12",
        "nvidia-cuda-nvcc-cu12",
        *(p[0] for p in JAX_LIBRARIES),
    )
    extra = [f'{r}; extra == "cuda12"' for r in ("jax-cuda12-plugin==0.6.2", *pins)]
    wheels.site_wheels(
        folder, make, "jax", {"jax": ["jaxlib==0.6.2", *extra], "jax-cuda12-plugin": ["jax-cuda12-pjrt==0.6.2"]}
    )
    plugin = next(folder.glob("jax-0.6.2*"))
    _move_files(folder, plugin, "jax-cuda12-plugin", "jax_plugins/", extra)


def _move_files(folder: Path, wheel: Path, to: str, start: str, extra: Sequence[str]) -> None:
    """Let the plugin's files belong to the plugin, as in the published wheels."""
    import zipfile

    with zipfile.ZipFile(wheel) as archive:
        files = {n: archive.read(n) for n in archive.namelist() if ".dist-info/" not in n}
    theirs = {n: d for n, d in files.items() if n.startswith(start)}
    own = {n: d for n, d in files.items() if not n.startswith(start)}
    wheels.make_wheel(folder, "jax", "0.6.2", own, requires=["jaxlib==0.6.2", *extra])
    wheels.make_wheel(folder, to, "0.6.2", theirs, requires=["jax-cuda12-pjrt==0.6.2"])


PROVIDERS = "def get_available_providers():\n    return ['CPUExecutionProvider']\n"


def onnxruntime(folder: Path) -> None:
    for name in ("onnxruntime", "onnxruntime-gpu"):

        def make(site: layouts.Site, name: str = name) -> None:
            layouts.onnxruntime(site, name, files=name)
            site.file("onnxruntime/__init__.py", f"__version__ = '1.20.1'\nbuild = '{name}'\n{PROVIDERS}")
            standin.build_library(site.folder / "onnxruntime/capi/onnxruntime_pybind11_state.so")
            if name.endswith("-gpu"):
                layouts.cudnn(site, "9.10.2.21", "12.8")

        pins = ["nvidia-cudnn-cu12", "nvidia-cublas-cu12", "nvidia-cuda-nvrtc-cu12"]
        wheels.site_wheels(folder, make, name, {"onnxruntime-gpu": pins})


def real_onnxruntime(folder: Path) -> None:
    for requirement in ("onnxruntime==1.22.1", "numpy==2.2.6"):
        _link(wheels.real_wheel(requirement), folder)


def real_torch(folder: Path) -> None:
    for requirement in REAL_TORCH:
        _link(wheels.real_wheel(requirement), folder)


REAL_TORCH = (
    "torch==2.13.0+cpu",
    "filelock==3.20.0",
    "typing_extensions==4.15.0",
    "sympy==1.14.0",
    "mpmath==1.3.0",
    "networkx==3.6.1",
    "jinja2==3.1.6",
    "markupsafe==3.0.3",
    "fsspec==2025.12.0",
)


def real_cudnn(folder: Path) -> None:
    _link(published.fetched(published.CUDNN_9_1), folder)


def real_nvrtc(folder: Path) -> None:
    _link(published.fetched(published.NVRTC_12), folder)


def _link(wheel: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    try:
        (folder / wheel.name).hardlink_to(wheel)
    except OSError:
        shutil.copy2(wheel, folder / wheel.name)


# --- faults --------------------------------------------------------------------------------------------------------

CUDNN_OPS = "nvidia/cudnn/lib/libcudnn_ops.so.9"


def _apart(path: Path) -> Path:
    """Let a file have no other name: an installer may have linked it from its cache."""
    data, mode = path.read_bytes(), path.stat().st_mode
    path.unlink()
    path.write_bytes(data)
    path.chmod(mode)
    return path


def lost(*names: str) -> Callable[[Environment], None]:
    def plant(env: Environment) -> None:
        for name in names:
            (env.site / name).unlink()

    return plant


def cut(name: str) -> Callable[[Environment], None]:
    def plant(env: Environment) -> None:
        path = _apart(env.site / name)
        os.truncate(path, path.stat().st_size // 2)

    return plant


def flipped(name: str) -> Callable[[Environment], None]:
    def plant(env: Environment) -> None:
        path = _apart(env.site / name)
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)

    return plant


def of_another_release(env: Environment) -> None:
    """Put one library of cuDNN 9.1 among those of 9.10, as copying by hand does."""
    other = standin.build_cudnn(env.prefix.parent / "other", "9.1.0", 12, sass=layouts.CODE)
    target = env.site / CUDNN_OPS
    target.unlink()
    shutil.copy2(other / "libcudnn_ops.so.9", target)


def own_folder(env: Environment) -> None:
    """Lay a cuDNN that no package owns into a folder that LD_LIBRARY_PATH names, one library short."""
    folder = env.prefix / "cudnn/lib"
    shutil.copytree(
        standin.build_cudnn(env.prefix.parent / "built", "9.10.2", 12, sass=layouts.CODE), folder, symlinks=True
    )
    (folder / "libcudnn_ops.so.9").unlink()


def without(*names: str) -> Callable[[Environment], None]:
    return lambda env: env.uninstall(*names)


def recorded_twice(env: Environment) -> None:
    """Leave an older release's record, as an installer that was killed does."""
    standin.record_wheel(env.site, "torch", "2.7.0+cu128")


# --- cards ---------------------------------------------------------------------------------------------------------


def older_driver() -> Driver:
    """A driver that runs CUDA up to 12.8."""
    return machines.working_driver(
        nvml=Nvml(status=0, driver_version="570.86.15", driver_cuda="12.8", device_count=1),
        cuda=CudaInit(status=0, driver_cuda="12.8", device_count=1, library="/usr/lib/x86_64-linux-gnu/libcuda.so.1"),
        module_version="570.86.15",
    )


def half_used() -> Driver:
    """A GPU of whose memory other programs use the half."""
    gpu = Gpu(
        index=0, name="NVIDIA GeForce RTX 3090", compute_capability="8.6", memory_total=24 << 30, memory_free=12 << 30
    )
    return machines.working_driver(gpus=(gpu,))


CPU, CUDA_128 = ("torch==2.8.0+cpu",), ("torch==2.8.0+cu128",)
CPU_BUILD = "frameworks.cpu-build-torch"
ROWS: tuple[Row, ...] = (
    Row("cpu-build-pip", "another build", environments.by_pip, torch, [CPU], CPU_BUILD, version_is("torch", "2.8.0+cu128")),
    Row("cpu-build-uv", "another build", environments.by_uv, torch, [CPU], CPU_BUILD, version_is("torch", "2.8.0+cu128")),
    Row("cpu-build-poetry", "another build", environments.poetry_like, torch, [CPU], CPU_BUILD, version_is("torch", "2.8.0+cu128")),
    Row("cpu-build-system-packages", "another build", environments.with_system_packages, torch, [CPU], CPU_BUILD, version_is("torch", "2.8.0+cu128")),
    Row("cpu-build-folder-of-wheels", "another build", environments.by_pip, torch, [CPU], CPU_BUILD, version_is("torch", "2.8.0+cu129"), options=("--from", "{wheels}"), offline=True),
    Row("cpu-build-conda", "advice", environments.conda_like, torch, [CPU], CPU_BUILD, version_is("torch", "2.8.0+cpu")),
    Row("cuda-too-new", "another build", environments.by_pip, torch_for_older_driver, [("torch==2.9.0+cu130",)], "frameworks.cuda-torch", version_is("torch", "2.9.0+cu128"), card=older_driver),
    Row("jax-cpu", "another build", environments.by_pip, jax, [("jax==0.6.2",)], "frameworks.cpu-build-jax", has("jax_plugins/xla_cuda12/xla_cuda_plugin.so")),
    Row("onnxruntime-cpu", "another build", environments.by_pip, onnxruntime, [("onnxruntime==1.20.1",)], "frameworks.cpu-build-onnxruntime", "import onnxruntime as o; print('yes' if o.build == 'onnxruntime-gpu' else o.build)"),
    Row("onnxruntime-over-gpu", "duplicates", environments.by_pip, onnxruntime, [("onnxruntime-gpu==1.20.1",), ("onnxruntime==1.20.1",)], "frameworks.duplicates-onnxruntime", "import onnxruntime as o; print('yes' if o.build == 'onnxruntime-gpu' else o.build)"),
    Row("onnxruntime-over-gpu-uv", "duplicates", environments.by_uv, onnxruntime, [("onnxruntime-gpu==1.20.1",), ("onnxruntime==1.20.1",)], "frameworks.duplicates-onnxruntime", "import onnxruntime as o; print('yes' if o.build == 'onnxruntime-gpu' else o.build)"),
    Row("torch-recorded-twice", "duplicates", environments.by_pip, torch_128, [CUDA_128], "frameworks.twice-torch", version_is("torch", "2.8.0+cu128"), plant=recorded_twice),
    Row("cudnn-pin-broken", "a pin restored", environments.by_pip, torch_128, [CUDA_128, ("--no-deps", "nvidia-cudnn-cu12==9.1.0.70")], "", has("nvidia_cudnn_cu12-9.10.2.21.dist-info/RECORD")),
    Row("cudnn-pin-broken-uv", "a pin restored", environments.by_uv, torch_128, [CUDA_128, ("--no-deps", "nvidia-cudnn-cu12==9.1.0.70")], "", has("nvidia_cudnn_cu12-9.10.2.21.dist-info/RECORD")),
    Row("cublas-and-nvrtc-removed", "missing packages", environments.by_pip, torch_128, [CUDA_128], "", has("nvidia/cublas/lib/libcublas.so.12", "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"), plant=without("nvidia-cublas-cu12", "nvidia-cuda-nvrtc-cu12")),
    Row("cudnn-removed", "missing packages", environments.by_pip, torch_128, [CUDA_128], "", has(CUDNN_OPS), plant=without("nvidia-cudnn-cu12")),
    Row("cudnn-removed-poetry", "missing packages", environments.poetry_like, torch_128, [CUDA_128], "", has(CUDNN_OPS), plant=without("nvidia-cudnn-cu12")),
    Row("module-lost", "files put back", environments.by_pip, torch_128, [CUDA_128], "frameworks.record-torch", "import torch.run; print('yes')", plant=lost("torch/run.py")),
    Row("module-lost-second-environment", "files put back", environments.by_pip, torch_128, [CUDA_128], "frameworks.record-torch", "import torch.run; print('yes')", plant=lost("torch/run.py"), beside=CUDA_128, offline=True, options=("--offline",)),
    Row("cudnn-part-lost", "files put back", environments.by_pip, torch_128, [CUDA_128], "", has(CUDNN_OPS), plant=lost(CUDNN_OPS)),
    Row("cudnn-part-of-another-release", "files put back", environments.by_uv, torch_128, [CUDA_128], "", has(CUDNN_OPS), plant=of_another_release, options=("--from", "{wheels}"), offline=True),
    Row("gpu-library-flipped", "files put back", environments.by_pip, torch_128, [CUDA_128], "frameworks.record-torch", has("torch/lib/libtorch_cuda.so"), plant=flipped("torch/lib/libtorch_cuda.so"), options=("--thorough",), thorough=True),
    Row("module-lost-user-site", "files put back", environments.user_site, torch_128, [CUDA_128], "frameworks.record-torch", "import torch.run; print('yes')", plant=lost("torch/run.py"), options=("--from", "{wheels}"), offline=True),
    Row("module-lost-conda", "files put back", environments.conda_like, torch_128, [CUDA_128], "frameworks.record-torch", "import torch.run; print('yes')", plant=lost("torch/run.py"), options=("--from", "{wheels}"), offline=True),
    Row("cudnn-folder-part-lost", "cuDNN fetched", environments.by_pip, torch_128, [], "cudnn.sublibrary-missing", "import ctypes, sys; ctypes.CDLL(sys.prefix + '/cudnn/lib/libcudnn_ops.so.9'); print('yes')", plant=own_folder, options=("--fetch-cudnn", "--index", "{index}"), variables={"LD_LIBRARY_PATH": "{prefix}/cudnn/lib"}),
    Row("jax-takes-all-memory", "memory growth", environments.by_pip, greedy, [("jax==0.7.2",)], "frameworks.memory-jax", PROGRAM["jax"], card=half_used, trials=True, options=("--try",)),
    Row("tensorflow-takes-all-memory", "memory growth", environments.by_uv, greedy, [("tensorflow==2.19.0",)], "frameworks.memory-tensorflow", PROGRAM["tensorflow"], card=half_used, trials=True, options=("--try",)),
    Row("real-onnxruntime-library-lost", "files put back", environments.by_pip, real_onnxruntime, [("--no-deps", "onnxruntime==1.22.1", "numpy==2.2.6")], "frameworks.record-onnxruntime", "import onnxruntime as o; print('yes' if o.get_available_providers() else 'no')", plant=lost("onnxruntime/capi/onnxruntime_inference_collection.py"), real=True),
    Row("real-torch-module-lost", "files put back", environments.by_uv, real_torch, [("--no-deps", *REAL_TORCH)], "frameworks.record-torch", "import torch; print('yes' if torch.nn.functional.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 3, 3)).item() == 9 else 'no')", plant=lost("torch/nn/functional.py"), options=("--from", "{wheels}"), offline=True, real=True),
    Row("real-nvrtc-cut", "files put back", environments.by_uv, real_nvrtc, [("--no-deps", "nvidia-cuda-nvrtc-cu12==12.4.127")], "", "import ctypes, nvidia.cuda_nvrtc as c; ctypes.CDLL(list(c.__path__)[0] + '/lib/libnvrtc.so.12'); print('yes')", plant=cut("nvidia/cuda_nvrtc/lib/libnvrtc.so.12"), options=("--from", "{wheels}"), offline=True, real=True),
    Row("real-cudnn-cut", "files put back", environments.by_uv, real_cudnn, [("--no-deps", "nvidia-cudnn-cu12==9.1.0.70")], "", "import ctypes, nvidia.cudnn as c; ctypes.CDLL(list(c.__path__)[0] + '/lib/libcudnn_graph.so.9'); print('yes')", plant=cut("nvidia/cudnn/lib/libcudnn_graph.so.9"), options=("--from", "{wheels}"), offline=True, real=True),
)  # fmt: skip
