"""Rows about the driver, the GPU and what hides them. The driver is a stand-in that answers as the real one would."""

from __future__ import annotations

from tests.faultlab import bases, setups
from tests.faultlab import plants as p
from tests.faultlab.bases import CUDA, in_home
from tests.faultlab.faults import Fault
from tests.faultlab.setups import Lab, Site
from tests.faultlab.standins import HEALTHY_DRIVER, Driver

HIDDEN, WRONG = "gpu_hidden_by_env", "libcuda_wrong_library"


def without_module(bound: str) -> p.Plant:
    """The card is there and the driver's libraries are, its kernel module is not loaded."""

    def plant(lab: Lab, site: Site) -> None:
        setups.gpu(lab, bound)
        setups.driver_files(lab, Driver(init=100, nvml=9))
        if bound:
            setups.modules(lab, "i915", bound)

    return plant


def module_of(version: str, how: Driver) -> p.Plant:
    """The kernel still runs the module of another driver."""

    def plant(lab: Lab, site: Site) -> None:
        setups.gpu(lab)
        setups.driver(lab, how, module=version)

    return plant


def container(lab: Lab, _site: Site) -> None:
    """The kernel has NVIDIA's module and lists the card; libraries and nodes were not passed in."""
    setups.gpu(lab)
    setups.kernel_module(lab, HEALTHY_DRIVER.version)
    lab.write("/.dockerenv", "")


DRIVER = (
    Fault(
        "stub-libcuda-first",
        WRONG,
        "The toolkit's stub folder comes before the driver: every call answers 34.",
        bases.torch_9_beside_toolkit,
        p.stub_libcuda(f"{CUDA}/stubs"),
        environment={"LD_LIBRARY_PATH": f"{CUDA}/stubs"},
        offer="variable",
    ),
    Fault(
        "empty-libcuda-first",
        WRONG,
        "A file of 0 bytes bears the name of the driver's library.",
        bases.torch_9,
        p.written(in_home("lib/libcuda.so.1")),
        environment={"LD_LIBRARY_PATH": in_home("lib")},
        offer="variable",
    ),
    Fault("hidden-minus-1", HIDDEN, "-1 hides every GPU.", bases.torch_9, environment={"CUDA_VISIBLE_DEVICES": "-1"}),
    Fault("hidden-empty", HIDDEN, "So does an empty value.", bases.torch_9, environment={"CUDA_VISIBLE_DEVICES": ""}),
    Fault("hidden-index", HIDDEN, "There is no GPU 5.", bases.tensorflow_8, environment={"CUDA_VISIBLE_DEVICES": "5"}),
    Fault(
        "driver-too-old",
        "driver_too_old",
        "A driver for CUDA 11.4 under libraries for CUDA 12.",
        bases.torch_9,
        driver=Driver(version="470.82.01", cuda=11040),
    ),
    Fault(
        "driver-updated-no-reboot",
        "driver_library_mismatch",
        "The libraries are of 580.65.06, the loaded kernel module of 575.57.08.",
        bases.torch_9,
        module_of("575.57.08", Driver(init=803, nvml=18)),
        driver=None,
    ),
    Fault(
        "module-not-loaded",
        "driver_module_not_loaded",
        "The card is on the bus, and no kernel driver holds it.",
        bases.torch_9,
        without_module(""),
        driver=None,
    ),
    Fault(
        "nouveau-holds-card",
        "driver_module_not_loaded",
        "nouveau took the card first.",
        bases.torch_9,
        without_module("nouveau"),
        driver=None,
        offer="system",
    ),
    Fault(
        "no-driver",
        "driver_module_not_loaded",
        "The card is on the bus; no driver was ever installed.",
        bases.torch_9,
        lambda lab, _site: setups.gpu(lab, ""),
        driver=None,
    ),
    Fault(
        "container-without-gpu",
        "container_no_gpu_runtime",
        "A container on a host with a working driver, started without its GPU.",
        bases.torch_9,
        container,
        driver=None,
    ),
    Fault(
        "nodes-closed",
        "device_node_permission",
        "The user may not open /dev/nvidia*.",
        bases.torch_9,
        p.both(*(p.mode(f"/dev/{name}", 0) for name in ("nvidia0", "nvidiactl", "nvidia-uvm"))),
        driver=Driver(init=100, nvml=4),
    ),
    Fault(
        "gpu-too-new",
        "gpu_arch_too_new",
        "cuDNN 8.9.7 has machine code up to 9.0; the GPU is 12.0.",
        bases.tensorflow_8,
        driver=Driver(gpu="NVIDIA GeForce RTX 5090", capability=(12, 0)),
    ),
    Fault(
        "gpu-too-old",
        "gpu_arch_too_old",
        "cuDNN 9 for CUDA 13 has no machine code before 7.5; the GPU is 6.1.",
        bases.torch_13_beside_system(None),
        driver=Driver(gpu="NVIDIA GeForce GTX 1080", capability=(6, 1)),
    ),
    Fault(
        "kernel-cache-closed",
        "nv_compute_cache_bad",
        "The cache of compiled kernels may not be written.",
        bases.torch_9,
        p.compute_cache_closed(),
        offer="files",
    ),
)
