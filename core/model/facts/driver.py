"""The driver section: GPUs, what NVML and cuInit answer, and what stands between them."""

from __future__ import annotations

from core.model.facts.base import Frozen
from core.model.facts.libraries import FileState


class Gpu(Frozen, frozen=True, kw_only=True):
    """One NVIDIA GPU as NVML reports it (or cuInit's child, where NVML is silent). Memory in bytes."""

    index: int
    name: str
    compute_capability: str | None = None
    """Major.minor, such as "8.6"."""
    uuid: str = ""
    memory_total: int | None = None
    memory_free: int | None = None
    mig: bool | None = None
    pci: str = ""
    source: str = "NVML"


class PciDevice(Frozen, frozen=True, kw_only=True):
    """A display or 3D controller found on the PCI bus (Linux: /sys/bus/pci; Windows: the registry)."""

    address: str
    vendor_id: str
    """Four hexadecimal digits; NVIDIA is 10de."""
    device_id: str = ""
    name: str = ""
    bound_driver: str | None = None
    """Kernel driver that holds it: nvidia, nouveau, vfio-pci; empty text when none does."""
    source: str = ""


class DeviceNode(Frozen, frozen=True, kw_only=True):
    """A /dev/nvidia* node, and whether this user could open it."""

    path: str
    mode: str = ""
    owner: str = ""
    group: str = ""
    opened: bool | None = None
    problem: str = ""
    errno: str = ""
    """Name of the error that opening it gave: EACCES, EPERM, ...; empty for none."""
    major: int | None = None
    """Device number of a character device; None for anything else, and in older reports."""
    minor: int | None = None


class ExpectedNode(Frozen, frozen=True, kw_only=True):
    """A device node as the loaded kernel module defines it: /proc/devices and /proc/driver/nvidia/gpus."""

    path: str
    major: int
    minor: int
    gpu: str = ""
    """Address on the bus of the GPU that it leads to; empty for a node of the driver itself."""


class CdiSpecification(Frozen, frozen=True, kw_only=True):
    """A specification of the Container Device Interface that names a driver's files (NVIDIA Container Toolkit)."""

    path: str
    version: str
    """Of the libcuda that it names."""


class DriverPart(Frozen, frozen=True, kw_only=True):
    """A library that comes with the driver and that libcuda opens by name when it is needed, as a child process loads it."""

    name: str
    """As libcuda asks the loader for it: "libnvidia-ptxjitcompiler.so.1"."""
    library: str = ""
    """The file that was really mapped; empty when none was."""
    version: str | None = None
    """Version in that file's name."""
    problem: str = ""
    """The loader's own words where it did not load."""
    status: int | None = None
    """The CUresult of loading a PTX kernel, where loading the library alone did not decide; None: not tried."""
    kills: bool = False
    """Whether a process that loads a kernel in PTX dies of it."""


class DriverLibrary(Frozen, frozen=True, kw_only=True):
    """One file of the user-mode driver (libcuda.so.1, libnvidia-ml.so.1, nvcuda.dll, nvml.dll)."""

    path: str
    real_path: str = ""
    version: str | None = None
    """Version in the file's name or resource: "580.65.06"."""
    stub: bool | None = None
    """True for the toolkit's link-time stub, which can never run."""
    size: int | None = None
    problem: str = ""
    source: str = ""
    state: FileState | None = None
    """None in older reports."""


class DriverCall(Frozen, frozen=True, kw_only=True):
    """What a library of the driver answered in a child process."""

    status: int | None = None
    """Result of its first call: 0, or its number of an error; None when the child died or the library did not load."""
    status_name: str = ""
    driver_cuda: str | None = None
    """The newest CUDA that this driver runs, as major.minor: "13.0"."""
    device_count: int | None = None
    library: str = ""
    """Path of the file that was really mapped."""
    problem: str = ""
    asked: bool = True
    """False: the process that asks could not be started, so this says nothing of the driver."""


class CudaInit(DriverCall, frozen=True, kw_only=True):
    """What the CUDA driver API answered in the consumer's environment: cuInit, cuDriverGetVersion, cuDeviceGetCount."""


class Nvml(DriverCall, frozen=True, kw_only=True):
    """What NVML answered: nvmlInit and what it says of the driver."""

    driver_version: str | None = None


class ComputeCache(Frozen, frozen=True, kw_only=True):
    """The driver's cache of compiled kernels (CUDA_CACHE_PATH, else ~/.nv/ComputeCache)."""

    path: str
    exists: bool
    owner: str = ""
    writable: bool | None = None
    index_readable: bool | None = None
    """Whether the cache's index file could be opened and is not empty where it exists; None when there is none."""
    problem: str = ""
    aside: str = ""
    """The folder that this user can put aside for a new one: the cache, or a folder of NVIDIA's caches alone that holds it."""
    source: str = ""


class Driver(Frozen, frozen=True, kw_only=True):
    """GPUs, kernel module, user-mode driver and what stands between them."""

    pci: tuple[PciDevice, ...] | None = None
    gpus: tuple[Gpu, ...] | None = None
    nvml: Nvml | None = None
    cuda_order: tuple[int, ...] | None = None
    """``Gpu.index`` of each GPU in the order that cuInit gave without CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER; None where it gave none."""
    cuda: CudaInit | None = None
    cuda_unhidden: CudaInit | None = None
    """The same call with CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER taken away; None when none was set."""
    cuda_clean: CudaInit | None = None
    """The same call without LD_LIBRARY_PATH; None when it was not set (Linux)."""
    module_version: str | None = None
    """Version of the loaded kernel module; empty text when none is loaded."""
    modules: tuple[str, ...] | None = None
    """Loaded kernel modules that matter: nvidia, nvidia_uvm, nouveau, ..."""
    libraries: tuple[DriverLibrary, ...] | None = None
    nodes: tuple[DeviceNode, ...] | None = None
    expected_nodes: tuple[ExpectedNode, ...] | None = None
    """The nodes that the loaded kernel module serves; None where it does not say."""
    cdi: tuple[CdiSpecification, ...] | None = None
    """The driver's files that containers get, if a specification lists them; None: not examined."""
    parts: tuple[DriverPart, ...] | None = None
    """Libraries that libcuda opens later; None where CUDA did not start, so that nothing would open them."""
    cuda_bare: CudaInit | None = None
    """The same call without this session's variables, except those that every program has; None if it was not made."""
    blamed: tuple[str, ...] = ()
    """Of these variables those without which CUDA starts; empty where taking away no few of them does it."""
    address_space: int | None = None
    """Bytes of addresses that a program of this session may use (RLIMIT_AS); None: no limit, or unknown."""
    nvswitches: int | None = None
    """Switches between GPUs that the kernel module lists; None where it lists none."""
    fabric_manager: bool | None = None
    """Whether the service that starts them runs, by its own file; None: it is not installed, or this is unknown."""
    secure_boot: bool | None = None
    kernel_log: tuple[str, ...] | None = None
    """Lines of the kernel log that name NVRM, nvidia, a rejected key or an Xid; None when it could not be read."""
    booted: float | None = None
    """Seconds since the epoch."""
    resumed: float | None = None
    """Time of the last resume from suspend, seconds since the epoch; 0.0 = never since boot."""
    compute_cache: ComputeCache | None = None
    windows_driver_model: str = ""
    """WDDM, TCC or MCDM (Windows)."""

    @property
    def version(self) -> str:
        """The driver's version as NVML tells it, else that of the kernel module; empty: unknown."""
        return (self.nvml.driver_version if self.nvml else None) or self.module_version or ""

    @property
    def newest_cuda(self) -> str:
        """The newest CUDA that it runs, as cuDriverGetVersion tells it, else NVML: "13.0"; empty: unknown."""
        return (self.cuda.driver_cuda if self.cuda else None) or (self.nvml.driver_cuda if self.nvml else None) or ""
