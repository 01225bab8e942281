"""What compiles, links and starts containers: a message is proved where the machine lacks it, refuted where it has it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.explain import explain
from core.model.facts import (
    CdiSpecification,
    ContainerEngine,
    CudaInit,
    DeviceNode,
    Distribution,
    Gpu,
    GpuDescription,
    HostCompiler,
    Linking,
    PciDevice,
    Snapshot,
    Toolkit,
    Tools,
)
from tests import machines as m

DOCKER, PODMAN = ContainerEngine(name="docker", path="/usr/bin/dockerd"), ContainerEngine(name="podman", path="/p")


def built(gcc: int, cuda: str, capability: str = "8.6", **fields: object) -> Snapshot:
    """Return a machine with a gcc, an nvcc and a GPU."""
    tools = Tools(compilers=(HostCompiler(kind="gcc", path="/usr/bin/gcc", version=gcc, named_by="PATH"),))
    nvcc = Toolkit(
        root=f"/usr/local/cuda-{cuda}",
        origin="installer",
        version=cuda,
        nvcc=f"/usr/local/cuda-{cuda}/bin/nvcc",
        named_by=("nvcc on PATH",),
    )
    gpu = Gpu(index=0, name="a card", compute_capability=capability, memory_total=8 << 30, memory_free=8 << 30)
    base = m.with_driver(m.wheel_machine(), gpus=(gpu,))
    return replace(base, toolkits=(*(base.toolkits or ()), nvcc), tools=replace(tools, **fields))


def bare(**fields: object) -> Snapshot:
    """Return a machine on which the tools were looked at."""
    return replace(m.wheel_machine(), tools=Tools(**fields))


def fabric(**fields: object) -> Snapshot:
    """Return a machine with NVSwitch on which CUDA is not ready."""
    gpu = Gpu(index=0, name="NVIDIA H100 80GB HBM3", compute_capability="9.0", memory_total=80 << 30, memory_free=1)
    waiting = CudaInit(status=802, status_name="CUDA_ERROR_SYSTEM_NOT_READY", device_count=None)
    return m.with_driver(m.wheel_machine(), gpus=(gpu,), cuda=waiting, **({"nvswitches": 4} | fields))


def amd() -> Snapshot:
    """Return a machine whose only card is AMD's."""
    card = PciDevice(address="0000:03:00.0", vendor_id="1002", device_id="744c", bound_driver="amdgpu")
    return replace(m.no_gpu_machine(), driver=m.without_gpu(pci=(card,)))


def in_container(size: int) -> Snapshot:
    """Return a container with so much shared memory."""
    return replace(m.container_machine(), tools=Tools(shared_memory=size))


def with_libdevice() -> Snapshot:
    """Return the machine whose environment has the package that brings libdevice."""
    mine = m.python()
    packages = (*mine.distributions, Distribution(name="nvidia-cuda-nvcc-cu12", version="12.4.131"))
    return replace(bare(), pythons=(replace(mine, distributions=packages),))


def described(*lost: str, **fields: object) -> Snapshot:
    """Return a host whose GPU 0 is described to podman, for the driver that is loaded."""
    one = GpuDescription(path="/etc/cdi/nvidia.yaml", devices=("0", "all"), lost=lost)
    seen = bare(engines=(PODMAN,), gpu_descriptions=(one.path,), descriptions=(one,), **fields)
    version = (seen.driver.module_version if seen.driver else None) or ""
    return m.with_driver(seen, cdi=(CdiSpecification(path=one.path, version=version),))


def without_driver(seen: Snapshot) -> Snapshot:
    """Return the machine without a driver."""
    return replace(seen, driver=m.without_gpu())


def links(folder: str = "/usr/lib/x86_64-linux-gnu", link: str = "") -> Snapshot:
    """Return a machine with a Triton that links with libcuda, and the toolkit's stub, which it does not search."""
    its = Linking(
        prefix=m.PREFIX, reader="triton 3.4.0", file="driver.py", drivers=(folder,) if folder else (), link=link
    )
    return bare(linking=(its,), libcuda_link="/usr/local/cuda/lib64/stubs/libcuda.so")


def two_gpus(base: Snapshot, **fields: object) -> Snapshot:
    """Return the machine with two GPUs, and these facts about its tools."""
    cuda = CudaInit(status=0, status_name="CUDA_SUCCESS", device_count=2)
    return replace(m.with_driver(base, cuda=cuda), tools=Tools(**fields))


def linked_toolkit() -> Snapshot:
    """Return the machine with a toolkit to which /usr/local/cuda leads."""
    seen = built(11, "12.4")
    *others, nvcc = seen.toolkits or ()
    return replace(seen, toolkits=(*others, replace(nvcc, named_by=("/usr/local/cuda",))))


REFUSED = "error: #error -- unsupported GNU version! gcc versions later than 11 are not supported!"
ARCH = "nvcc fatal   : Unsupported gpu architecture 'compute_89'"
NO_C = "RuntimeError: Failed to find C compiler. Please specify via CC environment variable."
LINK = "/usr/bin/ld: cannot find -lcuda: No such file or directory"
LIBDEVICE = "libdevice not found at ./libdevice.10.bc"
FABRIC = "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized"
ENGINE = 'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].'
CDI = "Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all"
CDI_STAT = 'Error: setting up CDI devices: failed to inject devices: failed to stat CDI host device "/dev/nvidiactl": no such file or directory'
"""As podman 4.3.1 says it."""
SHM = "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm)."
TRITON_LINK = "File triton/runtime/build.py\n/usr/bin/ld: cannot find -lcuda: No such file or directory"
TRITON_ASSERTS = "File triton/backends/nvidia/driver.py, line 40\nAssertionError: libcuda.so cannot found!"
NCCL_SHM = "misc/shmutils.cc:72 NCCL WARN Call to posix_fallocate failed : No space left on device\nncclSystemError: System call failed"
NCCL_LOCKED = (
    "NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory\nncclSystemError: System call failed"
)
HIP = "RuntimeError: HIP error: invalid device function"

TABLE: dict[str, tuple[str, Snapshot, str, str]] = {
    "gcc 13 and CUDA 11.8": (REFUSED, built(13, "11.8"), "host_compiler_unsupported", "proved"),
    "the limit of another CUDA": (REFUSED, built(15, "12.8"), "host_compiler_unsupported", "open"),
    "gcc 11 and CUDA 11.8": (REFUSED, built(11, "11.8"), "host_compiler_unsupported", "refuted"),
    "a CUDA that nobody has read": (REFUSED, built(13, "10.2"), "host_compiler_unsupported", "open"),
    "an nvcc that is older than the GPU": (ARCH, built(11, "11.7", "8.9"), "compiler_lacks_gpu_arch", "proved"),
    "an nvcc that knows it": (ARCH, built(11, "11.8", "8.9"), "compiler_lacks_gpu_arch", "refuted"),
    "an nvcc that is older than another GPU": (ARCH, built(11, "11.7", "9.0"), "compiler_lacks_gpu_arch", "open"),
    "no compiler": (NO_C, bare(), "build_tools_missing", "proved"),
    "compilers": (NO_C, built(12, "12.4"), "build_tools_missing", "refuted"),
    "no nvcc": ("RuntimeError: Could not find nvcc", bare(), "build_tools_missing", "proved"),
    "an nvcc by its path": ("/opt/conda/pkgs/x/bin/nvcc: not found", bare(), "build_tools_missing", "open"),
    "a compiler without nvcc": (NO_C, bare(compilers=(HostCompiler(kind="gcc", path="/g"),)), "build_tools_missing", "open"),
    "no name for the linker": (LINK, bare(), "linker_lacks_libcuda", "proved"),
    "a name for the linker": (LINK, bare(libcuda_link="/usr/lib64/libcuda.so"), "linker_lacks_libcuda", "refuted"),
    "neither name nor driver": (LINK, without_driver(bare()), "linker_lacks_libcuda", "proved"),
    "the stub, and no driver": (LINK, without_driver(bare(libcuda_link="/usr/local/cuda/lib64/stubs/libcuda.so")), "linker_lacks_libcuda", "refuted"),
    "not looked at": (LINK, m.wheel_machine(), "linker_lacks_libcuda", "open"),
    "no libdevice": (LIBDEVICE, bare(), "libdevice_not_found", "proved"),
    "a package with libdevice": (LIBDEVICE, with_libdevice(), "libdevice_not_found", "open"),
    "a toolkit elsewhere": (LIBDEVICE, built(11, "12.4"), "libdevice_not_found", "open"),
    "a toolkit where XLA looks": (LIBDEVICE, linked_toolkit(), "libdevice_not_found", "refuted"),
    "no fabric manager": (FABRIC, fabric(), "fabric_manager_not_running", "proved"),
    "it runs": (FABRIC, fabric(fabric_manager=True), "fabric_manager_not_running", "open"),
    "the fabric is ready": (FABRIC, m.wheel_machine(), "fabric_manager_not_running", "refuted"),
    "docker without the toolkit": (ENGINE, bare(engines=(DOCKER,)), "container_no_gpu_runtime", "proved"),
    "docker with it": (ENGINE, bare(engines=(DOCKER,), container_toolkit="/usr/bin/nvidia-ctk"), "container_no_gpu_runtime", "open"),
    "no description": (CDI, bare(engines=(PODMAN,)), "container_cdi_unresolved", "proved"),
    "no engine here": (CDI, bare(), "container_cdi_unresolved", "open"),
    "the description names lost files": (CDI, described("/usr/lib/libcuda.so.575.57.08"), "container_cdi_unresolved", "proved"),
    "the description has that device": (CDI, described(), "container_cdi_unresolved", "refuted"),
    "the description lacks that device": (CDI.replace("all", "1"), described(), "container_cdi_unresolved", "proved"),
    "the description names a device that is not there": (CDI_STAT, without_driver(described("/dev/nvidiactl")), "container_cdi_unresolved", "proved"),
    "the description names another that is not there": (CDI_STAT, without_driver(described("/dev/dri/card1")), "container_cdi_unresolved", "open"),
    "Triton finds no name": (TRITON_LINK, links(), "linker_lacks_libcuda", "proved"),
    "Triton finds a name": (TRITON_LINK, links(link="/usr/lib/x86_64-linux-gnu/libcuda.so"), "linker_lacks_libcuda", "refuted"),
    "Triton finds no driver": (TRITON_ASSERTS, links(""), "linker_lacks_libcuda", "proved"),
    "another build, with the stub": (LINK, links(), "linker_lacks_libcuda", "refuted"),
    "NCCL, and little shared memory": (NCCL_SHM, two_gpus(m.container_machine(), shared_memory=64 << 20), "nccl_failed", "proved"),
    "NCCL, and plenty": (NCCL_SHM, two_gpus(m.container_machine(), shared_memory=8 << 30), "nccl_failed", "open"),
    "NCCL, and little on one GPU": (NCCL_SHM, in_container(64 << 20), "nccl_failed", "open"),
    "NCCL, and little locked memory": (NCCL_LOCKED, two_gpus(m.wheel_machine(), infiniband=("mlx5_0",), locked_memory=8 << 20), "nccl_failed", "proved"),
    "NCCL, and no InfiniBand": (NCCL_LOCKED, two_gpus(m.wheel_machine(), locked_memory=8 << 20), "nccl_failed", "open"),
    "little shared memory": (SHM, in_container(64 << 20), "shared_memory_too_small", "proved"),
    "plenty": (SHM, in_container(32 << 30), "shared_memory_too_small", "refuted"),
    "AMD's card": (HIP, amd(), "other_maker_gpu", "proved"),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_a_message_beside_the_machine(name: str) -> None:
    text, machine, cause, verdict = TABLE[name]
    told = {r.cause: r for r in explain(text, machine).causes}
    assert told[cause].verdict == verdict
    if verdict != "open":
        assert told[cause].evidence
        assert explain(text, machine).link == {"proved": "proved", "refuted": "contrary"}[verdict]


@pytest.mark.parametrize(
    ("text", "machine", "cause", "link"),
    [
        ("NCCL error: unhandled system error", two_gpus(m.container_machine(), shared_memory=64 << 20), "nccl_failed", "possible"),
        ("It hangs in NCCL at the first all_reduce", two_gpus(m.wheel_machine(), iommu=True), "nccl_failed", "possible"),
        ("It hangs in NCCL at the first all_reduce", two_gpus(m.wheel_machine(), iommu=False), "nccl_failed", "nothing found"),
        ("NCCL error: unhandled system error", two_gpus(m.wheel_machine(), iommu=True), "nccl_failed", "nothing found"),
    ],
)  # fmt: skip
def test_what_may_keep_gpus_apart_is_no_proof(text: str, machine: Snapshot, cause: str, link: str) -> None:
    told = explain(text, machine)
    assert (told.link, told.causes[0].cause) == (link, cause)


CLOSED = m.with_driver(
    m.wheel_machine(),
    gpus=(),
    cuda=CudaInit(status=999, status_name="CUDA_ERROR_UNKNOWN"),
    nodes=tuple(
        DeviceNode(
            path=f"/dev/{n}", mode="0660", group="video", opened=False, errno="EACCES", problem="Permission denied"
        )
        for n in ("nvidia0", "nvidiactl", "nvidia-uvm")
    ),
)
UNKNOWN = "RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment"


@pytest.mark.parametrize(
    ("text", "link"),
    [
        (UNKNOWN, "proved"),
        (f"{UNKNOWN} after the computer woke from suspend", "not linked"),
        (f"root@098b49afe624:/# python train.py\n{UNKNOWN}", "not linked"),
        (f"rocm 6.4, agent gfx1200\n{UNKNOWN}", "not linked"),
        (f"AMD Radeon beside an NVIDIA GeForce RTX 3090\n{UNKNOWN}", "proved"),
    ],
)
def test_what_a_text_tells_of_its_own_machine_speaks_against_a_fault_of_this_one(text: str, link: str) -> None:
    assert explain(text, CLOSED).link == link
