"""Driver rules as a table: one change to a machine in order -> the one cause, or none."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from msgspec.structs import replace

from core.doctor.examine import diagnose_snapshot
from core.model.changes import SetVariable, Value
from core.model.facts import (
    CdiSpecification,
    ComputeCache,
    CudaInit,
    DeviceNode,
    Distribution,
    DriverLibrary,
    DriverPart,
    ExpectedNode,
    FrameworkBuild,
    Frameworks,
    Gpu,
    Nvml,
    PciDevice,
    Snapshot,
)
from core.model.facts.imports import ImportSearch, StartCode
from core.model.findings import Finding
from core.model.steps import Severity
from core.model.system_steps import SystemStep
from core.rules.driver import compatibility, gpu_access, parts, start_code, status
from core.rules.driver.device_order import hides_all
from core.rules.root_cause import diagnose
from tests import machines as m

ERROR, WARNING, NOTE, UNKNOWN = Severity.ERROR, Severity.WARNING, Severity.NOTE, Severity.UNKNOWN
CARD = PciDevice(address="0000:01:00.0", vendor_id="10de", device_id="2204", bound_driver="")
LIBCUDA = "/usr/lib/x86_64-linux-gnu/libcuda.so.1"
NO_DEVICE = CudaInit(status=100, library=LIBCUDA)
GONE = CudaInit(problem="libcuda.so.1: cannot open shared object file")
SHUT = tuple(
    DeviceNode(
        path=f"/dev/{n}",
        mode="0660",
        owner="root",
        group="video",
        opened=False,
        problem="Permission denied",
        errno="EACCES",
    )
    for n in ("nvidia0", "nvidiactl")
)
STUB = DriverLibrary(path="/opt/stubs/libcuda.so.1", stub=True, size=60_000, source="LD_LIBRARY_PATH")
EMPTY = DriverLibrary(path="/opt/x/libcuda.so.1", size=0, problem="is empty (0 bytes)", source="LD_LIBRARY_PATH")
COMPAT = DriverLibrary(
    path="/usr/local/cuda/compat/libcuda.so.1",
    real_path="/usr/local/cuda-12.4/compat/libcuda.so.550.54.15",
    version="550.54.15",
    stub=False,
    size=28 << 20,
    source="LD_LIBRARY_PATH",
)
UNSEARCHED = replace(COMPAT, source="CUDA compatibility package")
DANGLING = DriverLibrary(
    path="/usr/lib/x86_64-linux-gnu/libcuda.so.1",
    real_path="/usr/lib/x86_64-linux-gnu/libcuda.so.535.54.03",
    version="535.54.03",
    stub=None,
    size=None,
    problem="is a symbolic link to a file that is not there",
    source="ld.so.cache",
    state="dangling",
)
WITH_COMPAT = (COMPAT, *(m.working_driver().libraries or ()))
STARTS = CudaInit(status=0, device_count=1, library=LIBCUDA)
TAKEN = tuple(
    DeviceNode(path=f"/dev/{n}", mode="0666", owner="root", group="root", opened=False, problem="x", errno="EPERM")
    for n in ("nvidia0", "nvidiactl")
)
LOAD_CLOSED = "[    5.4] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  580.105.08  Wed Oct 29 23:15:11 UTC 2025"
LOAD_OPEN = "[   90.1] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.105.08  Release Build"
WANTS_OPEN = (
    "[    5.5] NVRM: The NVIDIA GPU 0000:02:00.0 (PCI ID: 10de:2c58)",
    "               NVRM: installed in this system requires use of the NVIDIA open kernel modules.",
    "[    5.6] NVRM: GPU 0000:02:00.0: RmInitAdapter failed! (0x22:0x56:884)",
)
GTX = Gpu(index=0, name="NVIDIA GeForce GTX 1080", compute_capability="6.1", memory_total=8 << 30, memory_free=7 << 30)
RTX = Gpu(
    index=0, name="NVIDIA GeForce RTX 5090", compute_capability="12.0", memory_total=32 << 30, memory_free=31 << 30
)


def changed(**fields: object) -> Callable[[], Snapshot]:
    """Return a builder of the machine with wheels and a changed driver."""
    return lambda: m.with_driver(m.wheel_machine(), **fields)


def bare(**fields: object) -> Callable[[], Snapshot]:
    """Return a builder of a machine that has a GPU on its bus and no driver that answers."""
    known = {
        "pci": (CARD,),
        "cuda": GONE,
        "nvml": Nvml(problem="not there"),
        "gpus": (),
        "module_version": "",
        "modules": (),
        "nodes": (),
    }
    return changed(**(known | fields))


def in_container(**fields: object) -> Callable[[], Snapshot]:
    """Return a builder of a container on a machine whose module is loaded."""
    known = {"cuda": GONE, "nvml": Nvml(problem="not there"), "gpus": (), "nodes": (), "libraries": ()}
    return lambda: m.with_driver(m.container_machine(), **(known | fields))


def in_wsl(**fields: object) -> Callable[[], Snapshot]:
    """Return a builder of WSL2 in which cuInit fails."""
    return lambda: m.with_driver(m.wsl_machine(), **({"nvml": None, "gpus": ()} | fields))


def with_variable(name: str, value: str, build: Callable[[], Snapshot]) -> Callable[[], Snapshot]:
    """Return a builder of a machine on which a variable is set, too."""
    return lambda: m.with_variable(build(), name, value)


NO_NVML = Nvml(problem="libnvidia-ml.so.1: cannot open shared object file")
RTX_A = Gpu(
    index=0,
    name="NVIDIA GeForce RTX 3090",
    compute_capability="8.6",
    uuid="GPU-aaaa",
    memory_total=24 << 30,
    memory_free=23 << 30,
)
JIT = "libnvidia-ptxjitcompiler.so.1"
EXPECTED = (
    ExpectedNode(path="/dev/nvidiactl", major=195, minor=255),
    ExpectedNode(path="/dev/nvidia-uvm", major=508, minor=0),
    ExpectedNode(path="/dev/nvidia0", major=195, minor=0, gpu="0000:01:00.0"),
)
DIED = "The process that called cuInit was killed by SIGBUS: a file is shorter than its headers say."
CUT_LIBRARY = DriverLibrary(
    path=LIBCUDA,
    version="580.65.06",
    stub=False,
    size=1 << 20,
    state="truncated",
    problem="is cut off",
    source="ld.so.cache",
)
CUT: dict[str, object] = {
    "cuda": CudaInit(problem=DIED),
    "nvml": Nvml(problem=DIED),
    "gpus": None,
    "libraries": (
        CUT_LIBRARY,
        DriverLibrary(path="/usr/local/cuda/compat/libcuda.so.1", size=9 << 20, source="CUDA compatibility package"),
    ),
}
NODES = tuple(
    DeviceNode(path=f"/dev/{name}", mode="0666", opened=True, major=major, minor=minor)
    for name, major, minor in (("nvidia0", 195, 0), ("nvidiactl", 195, 255), ("nvidia-uvm", 508, 0))
)


TABLE: dict[str, tuple[Callable[[], Snapshot], str, Severity]] = {
    "no GPU": (m.no_gpu_machine, "no_nvidia_gpu", NOTE),
    "no GPU in a container": (
        lambda: replace(m.no_gpu_machine(), machine=m.linux_machine(container="docker")),
        "no_nvidia_gpu",
        NOTE,
    ),
    "a bus that cannot be read, no driver": (
        lambda: m.with_driver(m.no_gpu_machine(), pci=None, module_version=None, modules=None),
        "",
        UNKNOWN,
    ),
    "GPU without any driver": (bare(libraries=()), "driver_module_not_loaded", ERROR),
    "module not loaded": (bare(), "driver_module_not_loaded", ERROR),
    "nouveau holds the card": (
        bare(pci=(replace(CARD, bound_driver="nouveau"),), modules=("nouveau",)),
        "driver_module_not_loaded",
        ERROR,
    ),
    "uvm not loaded": (
        changed(modules=("nvidia",), cuda=CudaInit(status=999), nvml=Nvml(status=0, device_count=1)),
        "driver_module_not_loaded",
        ERROR,
    ),
    "Secure Boot refused the module": (
        bare(secure_boot=True, kernel_log=("[ 3.1] Loading of module nvidia: Key was rejected by service",)),
        "secure_boot_blocks_module",
        ERROR,
    ),
    "Secure Boot is on, the log is silent": (bare(secure_boot=True), "driver_module_not_loaded", ERROR),
    "library and module differ, told by NVML": (
        changed(cuda=CudaInit(status=803), nvml=Nvml(status=18)),
        "driver_library_mismatch",
        ERROR,
    ),
    "library and module differ, by their files": (
        changed(cuda=CudaInit(status=999), nvml=None, module_version="575.57.08"),
        "driver_library_mismatch",
        ERROR,
    ),
    "module without the library": (
        changed(libraries=(), cuda=GONE, nvml=Nvml(problem="not there")),
        "driver_component_missing",
        ERROR,
    ),
    "links to a library that is gone": (
        changed(libraries=(DANGLING, UNSEARCHED), cuda=GONE),
        "driver_component_missing",
        ERROR,
    ),
    "too few addresses": (
        changed(cuda=CudaInit(status=2, library=LIBCUDA), address_space=6_000_000 << 10),
        "address_space_limited",
        ERROR,
    ),
    "a limit on addresses that leaves enough": (
        changed(cuda=CudaInit(status=999, library=LIBCUDA), address_space=1 << 50),
        "",
        ERROR,
    ),
    "nodes closed": (changed(nodes=SHUT, cuda=NO_DEVICE, nvml=Nvml(status=999)), "device_node_permission", ERROR),
    "803, and the forward-compatibility library answered": (
        with_variable(
            "LD_LIBRARY_PATH",
            "/usr/local/cuda/compat",
            changed(
                cuda=CudaInit(status=803, library=COMPAT.real_path),
                cuda_clean=STARTS,
                nvml=Nvml(status=0, device_count=1),
                libraries=WITH_COMPAT,
            ),
        ),
        "cuda_compat_mismatch",
        ERROR,
    ),
    "803, and the loader's cache leads to the forward-compatibility library": (
        changed(cuda=CudaInit(status=803, library=COMPAT.real_path), libraries=WITH_COMPAT),
        "cuda_compat_mismatch",
        ERROR,
    ),
    "803 that LD_LIBRARY_PATH has, from a folder of any name": (
        with_variable(
            "LD_LIBRARY_PATH",
            "/opt/old",
            changed(cuda=CudaInit(status=803, library="/opt/old/libcuda.so.1"), cuda_clean=STARTS),
        ),
        "cuda_compat_mismatch",
        ERROR,
    ),
    "803 with and without LD_LIBRARY_PATH": (
        with_variable(
            "LD_LIBRARY_PATH",
            "/usr/local/cuda/compat",
            changed(
                cuda=CudaInit(status=803, library=COMPAT.real_path),
                cuda_clean=CudaInit(status=803, library=LIBCUDA),
                nvml=Nvml(status=18),
                libraries=WITH_COMPAT,
            ),
        ),
        "driver_library_mismatch",
        ERROR,
    ),
    "804: not for this GPU": (
        changed(cuda=CudaInit(status=804, library=COMPAT.real_path), libraries=WITH_COMPAT),
        "cuda_compat_unsupported",
        ERROR,
    ),
    "another error that LD_LIBRARY_PATH alone has": (
        with_variable(
            "LD_LIBRARY_PATH",
            "/opt/old",
            changed(cuda=CudaInit(status=3, library="/opt/old/libcuda.so.1"), cuda_clean=STARTS),
        ),
        "libcuda_wrong_library",
        ERROR,
    ),
    "the same libcuda starts without LD_LIBRARY_PATH": (
        with_variable(
            "LD_LIBRARY_PATH",
            "/opt/old",
            changed(cuda=CudaInit(status=999, library=LIBCUDA), cuda_clean=STARTS),
        ),
        "ld_library_path_override",
        ERROR,
    ),
    "the module asks for the open one": (
        changed(cuda=NO_DEVICE, nvml=Nvml(status=0, device_count=0), gpus=(), kernel_log=(LOAD_CLOSED, *WANTS_OPEN)),
        "open_kernel_module_required",
        ERROR,
    ),
    "the module asks for the open one, in one record of /dev/kmsg": (
        changed(
            cuda=NO_DEVICE,
            gpus=(),
            kernel_log=(
                WANTS_OPEN[0] + r"\x0aNVRM: installed in this system requires use of the NVIDIA open kernel modules.",
            ),
        ),
        "open_kernel_module_required",
        ERROR,
    ),
    "the module asked for the open one, which was loaded since": (
        changed(cuda=CudaInit(status=999), kernel_log=(LOAD_CLOSED, *WANTS_OPEN, LOAD_OPEN)),
        "",
        ERROR,
    ),
    "the module asks for a legacy branch, and is gone again": (
        bare(
            kernel_log=(
                "[ 11.1] NVRM: The NVIDIA GeForce 920M GPU installed in this system is",
                "[ 11.1] NVRM:  supported through the NVIDIA 470.xx Legacy drivers. Please",
            )
        ),
        "legacy_driver_required",
        ERROR,
    ),
    "the open module has no use for an old GPU": (
        bare(
            kernel_log=(
                "[ 11.1] NVRM: The NVIDIA GPU 0000:17:00.0 (PCI ID: 10de:1bb3) installed in this system",
                "[ 11.1] NVRM: is not supported by open nvidia.ko because it does not include the",
                "[ 11.1] NVRM: required GPU System Processor (GSP).",
            )
        ),
        "legacy_driver_required",
        ERROR,
    ),
    "a container that lost its devices": (
        lambda: m.with_driver(m.container_machine(), nodes=TAKEN, cuda=NO_DEVICE, nvml=Nvml(status=999), gpus=()),
        "container_lost_devices",
        ERROR,
    ),
    "a job without a right to the devices": (
        changed(nodes=TAKEN, cuda=NO_DEVICE, nvml=Nvml(status=999), gpus=()),
        "container_lost_devices",
        ERROR,
    ),
    "container without GPU": (in_container(), "container_no_gpu_runtime", ERROR),
    "a container that asked for the driver without CUDA": (
        with_variable(
            "NVIDIA_DRIVER_CAPABILITIES",
            "utility",
            lambda: m.with_driver(m.container_machine(), cuda=CudaInit(status=None), libraries=(), nodes=TAKEN),
        ),
        "container_no_gpu_runtime",
        ERROR,
    ),
    "a container whose image brings the driver's libraries, without the device files": (
        in_container(
            libraries=m.working_driver().libraries,
            cuda=CudaInit(status=100, library=LIBCUDA),
            nvml=Nvml(status=9),
            expected_nodes=EXPECTED,
        ),
        "container_no_gpu_runtime",
        ERROR,
    ),
    "no device file at all, the module loaded": (
        changed(cuda=NO_DEVICE, nvml=Nvml(status=9), gpus=(), nodes=(), expected_nodes=EXPECTED),
        "device_node_wrong",
        ERROR,
    ),
    "the driver's own library is cut": (changed(**CUT), "corrupt_or_truncated_file", ERROR),
    "the driver's own library is cut where its start comes to what is lacking": (
        changed(**CUT | {"cuda": CudaInit(library=LIBCUDA, problem=DIED)}),
        "corrupt_or_truncated_file",
        ERROR,
    ),
    "the driver's own library is cut, and LD_LIBRARY_PATH names its folder": (
        with_variable(
            "LD_LIBRARY_PATH",
            LIBCUDA.rpartition("/")[0],
            changed(**CUT | {"libraries": (replace(CUT_LIBRARY, source="LD_LIBRARY_PATH"),)}),
        ),
        "corrupt_or_truncated_file",
        ERROR,
    ),
    "a cut copy takes the place of the driver's library": (
        with_variable(
            "LD_LIBRARY_PATH",
            LIBCUDA.rpartition("/")[0],
            changed(
                **CUT
                | {
                    "libraries": (replace(CUT_LIBRARY, source="LD_LIBRARY_PATH"),),
                    "cuda_clean": CudaInit(status=0, device_count=1, library="/usr/lib64/libcuda.so.1"),
                }
            ),
        ),
        "libcuda_wrong_library",
        ERROR,
    ),
    "a compiler for PTX that kills programs": (
        changed(parts=(DriverPart(name=JIT, problem=DIED, kills=True),)),
        "driver_component_missing",
        WARNING,
    ),
    "container with driver packages of another version": (
        in_container(
            libraries=(DriverLibrary(path=LIBCUDA, version="550.54.14", stub=False),),
            nodes=m.working_driver().nodes,
            cuda=CudaInit(status=803),
        ),
        "driver_library_mismatch",
        ERROR,
    ),
    "WSL: a Linux driver hides the library": (
        in_wsl(cuda=CudaInit(status=100, library=LIBCUDA)),
        "wsl_libcuda_not_found",
        ERROR,
    ),
    "WSL: the library is not found": (in_wsl(cuda=GONE), "wsl_libcuda_not_found", ERROR),
    "stub first": (
        with_variable(
            "LD_LIBRARY_PATH",
            "/opt/stubs",
            changed(
                cuda=CudaInit(status=34, library=STUB.path), libraries=(STUB, *(m.working_driver().libraries or ()))
            ),
        ),
        "libcuda_wrong_library",
        ERROR,
    ),
    "empty file first": (
        with_variable(
            "LD_LIBRARY_PATH",
            "/opt/x",
            changed(
                cuda=CudaInit(problem="/opt/x/libcuda.so.1: file too short"),
                cuda_clean=CudaInit(status=0, device_count=1, library=LIBCUDA),
                libraries=(EMPTY, *(m.working_driver().libraries or ())),
            ),
        ),
        "libcuda_wrong_library",
        ERROR,
    ),
    "stub first, without a GPU": (
        lambda: m.with_driver(m.no_gpu_machine(), cuda=CudaInit(status=34, library=STUB.path), libraries=(STUB,)),
        "libcuda_wrong_library",
        ERROR,
    ),
    "hidden, proved without the variable": (
        with_variable(
            "CUDA_VISIBLE_DEVICES", "-1", changed(cuda=NO_DEVICE, cuda_unhidden=CudaInit(status=0, device_count=1))
        ),
        "gpu_hidden_by_env",
        ERROR,
    ),
    "hidden by an index that is not there": (
        with_variable("CUDA_VISIBLE_DEVICES", "5", changed(cuda=NO_DEVICE)),
        "gpu_hidden_by_env",
        ERROR,
    ),
    "one GPU named twice": (
        with_variable("CUDA_VISIBLE_DEVICES", "0,0", changed(cuda=CudaInit(status=101))),
        "gpu_hidden_by_env",
        ERROR,
    ),
    "an order of devices that CUDA does not know": (
        with_variable(
            "CUDA_DEVICE_ORDER",
            "PCI",
            changed(cuda=CudaInit(status=101), cuda_unhidden=CudaInit(status=0, device_count=1)),
        ),
        "gpu_hidden_by_env",
        ERROR,
    ),
    "variables that CUDA does not heed, and a driver that finds no GPU": (
        with_variable(
            "NVIDIA_VISIBLE_DEVICES", "void", with_variable("GPU_DEVICE_ORDINAL", "7", changed(cuda=NO_DEVICE, gpus=()))
        ),
        "",
        ERROR,
    ),
    "nodes closed, and the variable that hides changes nothing": (
        with_variable(
            "CUDA_VISIBLE_DEVICES",
            "5",
            changed(nodes=SHUT, cuda=NO_DEVICE, cuda_unhidden=NO_DEVICE, nvml=Nvml(status=999)),
        ),
        "device_node_permission",
        ERROR,
    ),
    "without the variable that hides, CUDA's memory is stale": (
        with_variable(
            "CUDA_VISIBLE_DEVICES", "5", changed(cuda=NO_DEVICE, cuda_unhidden=CudaInit(status=999), resumed=5000.0)
        ),
        "uvm_stale_after_suspend",
        ERROR,
    ),
    "stale after suspend": (
        changed(cuda=CudaInit(status=999), resumed=5000.0),
        "uvm_stale_after_suspend",
        ERROR,
    ),
    "MIG without a part": (
        changed(cuda=NO_DEVICE, gpus=(replace(GTX, name="NVIDIA H200", compute_capability="9.0", mig=True),)),
        "mig_misconfigured",
        ERROR,
    ),
    "lost GPU": (changed(cuda=CudaInit(status=999), nvml=Nvml(status=15)), "hardware_fault", ERROR),
    "cuInit fails for no reason that is seen": (changed(cuda=CudaInit(status=999)), "", ERROR),
    "driver too old": (
        changed(
            cuda=CudaInit(status=0, driver_cuda="11.4", device_count=1, library=LIBCUDA),
            nvml=Nvml(status=0, driver_version="470.82.01", driver_cuda="11.4", device_count=1),
        ),
        "driver_too_old",
        ERROR,
    ),
    "driver too old, by its version alone": (
        changed(
            cuda=CudaInit(status=0, device_count=1), nvml=Nvml(status=0, driver_version="470.82.01", device_count=1)
        ),
        "driver_too_old",
        ERROR,
    ),
    "GPU too old": (
        lambda: m.with_copy(m.with_driver(m.wheel_machine(), gpus=(GTX,)), sass=(75, 80, 90), ptx=(90,)),
        "gpu_arch_too_old",
        ERROR,
    ),
    "GPU too new, and no PTX": (
        lambda: m.with_copy(m.with_driver(m.wheel_machine(), gpus=(RTX,)), ptx=()),
        "gpu_arch_too_new",
        ERROR,
    ),
    "GPU too new, with PTX to compile": (changed(gpus=(RTX,)), "gpu_arch_too_new", WARNING),
    "memory full": (
        changed(gpus=(replace(GTX, compute_capability="8.6", memory_free=20 << 20),)),
        "gpu_memory_exhausted",
        WARNING,
    ),
    "kernel cache of root": (
        changed(
            compute_cache=ComputeCache(path="/home/ada/.nv/ComputeCache", exists=True, owner="root", writable=False)
        ),
        "nv_compute_cache_bad",
        WARNING,
    ),
    "kernel log tells of the GPU's own processor": (
        changed(kernel_log=("[ 9.1] NVRM: Xid (PCI:0000:01:00): 119, pid=1, Timeout after 45s of waiting for RPC",)),
        "hardware_fault",
        WARNING,
    ),
    "nvidia-uvm is absent": (
        changed(cuda=CudaInit(status=999, library=LIBCUDA), nodes=NODES[:2], expected_nodes=EXPECTED),
        "device_node_wrong",
        ERROR,
    ),
    "nvidia-uvm has the number of another start": (
        changed(
            cuda=CudaInit(status=999, library=LIBCUDA),
            nodes=(*NODES[:2], replace(NODES[2], major=510)),
            expected_nodes=EXPECTED,
        ),
        "device_node_wrong",
        ERROR,
    ),
    "a plain file in a node's place": (
        changed(
            cuda=NO_DEVICE,
            nodes=(*NODES[1:], DeviceNode(path="/dev/nvidia0", mode="0644", problem="is not a device")),
            expected_nodes=EXPECTED,
        ),
        "device_node_wrong",
        ERROR,
    ),
    "CUDA starts without a variable": (
        changed(cuda=CudaInit(status=999, library=LIBCUDA), cuda_bare=STARTS, blamed=("LD_PRELOAD",)),
        "driver_broken_by_env",
        ERROR,
    ),
    "the compiler for PTX is gone": (
        changed(parts=(DriverPart(name=JIT, problem="cannot open shared object file", status=221),)),
        "driver_component_missing",
        WARNING,
    ),
    "the compiler for PTX is another driver's, and does not serve": (
        changed(parts=(DriverPart(name=JIT, library="/usr/lib/x", version="570.10", status=218),)),
        "driver_library_mismatch",
        WARNING,
    ),
    "the compiler for PTX is gone, and Numba hands it every kernel": (
        lambda: replace(
            m.with_driver(
                m.wheel_machine(), parts=(DriverPart(name=JIT, problem="cannot open shared object file", status=221),)
            ),
            pythons=(m.python(distributions=(Distribution(name="numba", version="0.61.0"),)),),
        ),
        "driver_component_missing",
        ERROR,
    ),
    "compiling PTX is switched off, and Numba needs it": (
        with_variable(
            "CUDA_DISABLE_PTX_JIT",
            "1",
            lambda: replace(
                m.with_driver(m.wheel_machine()),
                pythons=(m.python(distributions=(Distribution(name="numba", version="0.61.0"),)),),
            ),
        ),
        "driver_broken_by_env",
        ERROR,
    ),
    "NVML does not load": (
        changed(nvml=Nvml(problem="libnvidia-ml.so.1: file too short")),
        "driver_component_missing",
        WARNING,
    ),
    "NVML was not passed into a container": (
        with_variable(
            "NVIDIA_DRIVER_CAPABILITIES", "compute,utility", lambda: m.with_driver(m.container_machine(), nvml=NO_NVML)
        ),
        "driver_component_missing",
        WARNING,
    ),
    "NVML is another driver's": (changed(nvml=Nvml(status=18)), "driver_library_mismatch", WARNING),
    "one of two GPUs is left out, and nothing says why": (
        changed(nvml=Nvml(status=0, driver_version="580.65.06", device_count=2)),
        "",
        WARNING,
    ),
    "containers are given another driver's files": (
        changed(cdi=(CdiSpecification(path="/etc/cdi/nvidia.yaml", version="575.57.08"),)),
        "driver_library_mismatch",
        WARNING,
    ),
    "kernel log tells of a fallen GPU": (
        changed(kernel_log=("[ 9.1] NVRM: Xid (PCI:0000:01:00): 79, pid=1, GPU has fallen off the bus.",)),
        "hardware_fault",
        WARNING,
    ),
}


def findings(snapshot: Snapshot) -> list[Finding]:
    """Return what the topic's rules find."""
    return [
        f for rule in (*status.RULES, *gpu_access.RULES, *compatibility.RULES, *parts.RULES) for f in rule(snapshot)
    ]


@pytest.mark.parametrize("name", TABLE)
def test_one_change_has_one_cause(name: str) -> None:
    build, cause, severity = TABLE[name]
    found = [(f.cause, f.severity) for f in findings(build()) if f.severity >= min(severity, UNKNOWN)]
    assert found == [(cause, severity)]


@pytest.mark.parametrize(("source", "severity"), [("/home/ada/.bashrc:3", WARNING), ("environment", NOTE)])
def test_where_there_is_no_gpu_only_a_file_that_hides_it_is_told_loudly(source: str, severity: Severity) -> None:
    seen = m.with_variable(m.no_gpu_machine(), "CUDA_VISIBLE_DEVICES", "")
    assert seen.environment is not None
    said = tuple(replace(v, source=source) for v in seen.environment.variables)
    made = findings(replace(seen, environment=replace(seen.environment, variables=said)))
    (told,) = [f for f in made if f.id == "driver.hidden-by-variable"]
    assert (told.cause, told.severity) == ("gpu_hidden_by_env", severity)


SPELT = {
    "the forward-compatibility library": (
        "/usr/local/cuda/compat",
        changed(cuda=CudaInit(status=803, library=COMPAT.real_path), cuda_clean=STARTS, libraries=WITH_COMPAT),
        "cuda_compat_mismatch",
    ),
    "an empty libcuda": (
        "/opt/x",
        changed(cuda=CudaInit(problem="ended by itself"), libraries=(EMPTY, *(m.working_driver().libraries or ()))),
        "libcuda_wrong_library",
    ),
}


@pytest.mark.parametrize("name", SPELT)
def test_an_entry_with_a_variable_in_it_is_named_as_it_is_written(name: str) -> None:
    folder, build, cause = SPELT[name]
    snapshot = m.with_variable(build(), "LD_LIBRARY_PATH", folder)
    assert snapshot.environment
    entries = tuple(
        replace(e, text="$OLD") if e.variable == "LD_LIBRARY_PATH" else e for e in snapshot.environment.entries
    )
    snapshot = replace(snapshot, environment=replace(snapshot.environment, entries=entries))
    (found,) = [f for f in findings(snapshot) if f.severity is ERROR]
    assert found.cause == cause
    assert "Remove $OLD from LD_LIBRARY_PATH" in str(found.fix)


@pytest.mark.parametrize("name", TABLE)
def test_every_finding_explains_itself(name: str) -> None:
    for f in findings(TABLE[name][0]()):
        assert f.title.endswith((".", "!"))
        if f.severity > NOTE:
            assert f.why
            assert f.evidence
            assert f.fix is not None
            assert f.fix.advice


CALM: dict[str, Callable[[], Snapshot]] = {
    "the stub lies in the toolkit, the driver is found first": changed(
        libraries=(*(m.working_driver().libraries or ()), STUB)
    ),
    "CUDA_DEVICE_ORDER as it should be": with_variable("CUDA_DEVICE_ORDER", "PCI_BUS_ID", m.wheel_machine),
    "a variable of containers": with_variable("NVIDIA_VISIBLE_DEVICES", "void", m.wheel_machine),
    "devices that are taken and not needed": changed(nodes=TAKEN),
    "CUDA_VISIBLE_DEVICES=0": with_variable("CUDA_VISIBLE_DEVICES", "0", m.wheel_machine),
    "a forward-compatibility library that works": changed(module_version="535.104.05"),
    "closed nodes that are not needed": changed(nodes=SHUT),
    "resumed, and all is well": changed(resumed=5000.0),
    "newer minor version of the same GPU generation": changed(gpus=(replace(GTX, compute_capability="8.9"),)),
    "no memory told": changed(gpus=(replace(GTX, compute_capability="8.6", memory_free=None),)),
    "an index that cannot be checked": with_variable("CUDA_VISIBLE_DEVICES", "2", m.no_gpu_machine),
    "a cache that does not exist yet": changed(compute_cache=ComputeCache(path="/x", exists=False, writable=False)),
    "the compiler for PTX is found by libcuda's own search": changed(
        parts=(DriverPart(name=JIT, problem="cannot open shared object file", status=0),)
    ),
    "a compiler for PTX that does not load by itself, and no kernel was tried": changed(
        parts=(DriverPart(name=JIT, problem=DIED),)
    ),
    "no compiler for PTX was found, and no kernel was tried": changed(
        parts=(DriverPart(name=JIT, problem="cannot open shared object file"),)
    ),
    "compiling PTX is switched off, and nobody needs it": with_variable(
        "CUDA_DISABLE_PTX_JIT", "1", lambda: m.with_driver(m.wheel_machine())
    ),
    "a container that asked for no NVML": with_variable(
        "NVIDIA_DRIVER_CAPABILITIES", "compute,video", lambda: m.with_driver(m.container_machine(), nvml=NO_NVML)
    ),
    "containers are given this driver's files": changed(
        cdi=(CdiSpecification(path="/etc/cdi/nvidia.yaml", version="580.65.06"),)
    ),
    "the full GPU is left out by its UUID": with_variable(
        "CUDA_VISIBLE_DEVICES",
        "GPU-b",
        changed(gpus=(replace(RTX_A, memory_free=20 << 20), replace(RTX_A, index=1, uuid="GPU-bbbb"))),
    ),
    "nodes as they should be": changed(nodes=NODES, expected_nodes=EXPECTED),
    "a node of another number that nobody needs": changed(
        nodes=(*NODES[:2], replace(NODES[2], major=510)), expected_nodes=EXPECTED
    ),
    "a container was given one GPU of two": changed(
        nodes=NODES,
        expected_nodes=(*EXPECTED, ExpectedNode(path="/dev/nvidia1", major=195, minor=1, gpu="0000:02:00.0")),
    ),
    "an application's own Xid": changed(kernel_log=("[ 9.1] NVRM: Xid (PCI:0000:01:00): 31, pid=1, MMU fault",)),
}


@pytest.mark.parametrize("name", CALM)
def test_no_false_alarm(name: str) -> None:
    assert [f.title for f in findings(CALM[name]()) if f.severity > NOTE] == []


@pytest.mark.parametrize(
    ("value", "count", "hides"),
    [
        ("", 1, True),
        ("-1", 1, True),
        ("NoDevFiles", None, True),
        ("0", 1, False),
        ("0,1", 2, False),
        ("5", 1, True),
        ("5", None, None),
        ("1,0", 1, True),
        ("GPU-8932f937", 1, None),
        ("MIG-1", None, None),
        (" 0", 1, False),
        ("0,0", 2, True),
        ("0,1,0", 2, True),
        ("0,5,0", 2, False),
        ('"0"', 2, True),
        ("cuda:0", 2, True),
        ("gpu-8932f937", 2, True),
        ("1abc", 2, False),
        ("+1", 2, False),
        ("01", 2, False),
        ("0x1", 2, None),
        ("99999999999", None, True),
    ],
)
def test_what_hides_every_gpu(value: str, count: int | None, hides: bool | None) -> None:
    assert hides_all(value, count) is hides


def test_no_gpu_has_no_second_finding_for_the_driver_that_does_not_start() -> None:
    assert len(findings(m.no_gpu_machine())) == 1


def test_driver_maximum_is_not_called_an_installed_toolkit() -> None:
    texts = [e.value for f in findings(m.wheel_machine()) for e in f.evidence if "Newest CUDA" in e.label]
    assert texts == ["13.0 (the driver's maximum, not an installed toolkit)"]


@pytest.mark.parametrize(
    ("cuda", "title", "advice"),
    [
        (CudaInit(status=100, library=LIBCUDA), "A Linux driver hides the one that WSL brings.", "Never install"),
        (GONE, "WSL's own driver library is not found.", "sudo ldconfig"),
    ],
)
def test_wsl_s_library_is_told_as_hidden_or_not_found(cuda: CudaInit, title: str, advice: str) -> None:
    [found] = [f for f in diagnose(in_wsl(cuda=cuda)()) if f.cause == "wsl_libcuda_not_found"]
    assert found.title == title
    assert found.fix is not None
    assert advice in found.fix.advice


def test_wsl_s_own_library_that_answers_with_an_error_is_not_to_blame() -> None:
    own = CudaInit(status=100, library="/usr/lib/wsl/lib/libcuda.so.1")
    assert [f for f in diagnose(in_wsl(cuda=own)()) if f.cause == "wsl_libcuda_not_found"] == []


def test_gpus_that_are_left_out_are_named_with_what_leaves_them_out() -> None:
    second = ExpectedNode(path="/dev/nvidia1", major=195, minor=1, gpu="0000:02:00.0")
    third = ExpectedNode(path="/dev/nvidia2", major=195, minor=2, gpu="0000:03:00.0")
    shut = DeviceNode(
        path="/dev/nvidia2",
        mode="0666",
        opened=False,
        problem="Operation not permitted",
        errno="EPERM",
        major=195,
        minor=2,
    )
    seen = changed(nodes=(*NODES, shut), expected_nodes=(*EXPECTED, second, third))()
    [found] = list(gpu_access.excluded_gpus(seen))
    assert found.severity is NOTE
    assert {e.label: e.value for e in found.evidence if e.label.startswith("/dev")} == {
        "/dev/nvidia1 (0000:02:00.0)": "not there; the driver serves it as 195:1",
        "/dev/nvidia2 (0000:03:00.0)": "0666 : Operation not permitted",
    }


def test_a_variable_that_leaves_one_gpu_of_two_is_named() -> None:
    two = CudaInit(status=0, device_count=2, library=LIBCUDA)
    seen = with_variable("CUDA_VISIBLE_DEVICES", "1", changed(cuda_unhidden=two, nvml=Nvml(status=0, device_count=2)))()
    [found] = list(gpu_access.excluded_gpus(seen))
    assert (found.severity, found.cause) == (NOTE, "gpu_hidden_by_env")
    assert ("CUDA_VISIBLE_DEVICES", "'1'") in {(e.label, e.value) for e in found.evidence}


@pytest.mark.parametrize("value", ["0,5", "0 1", "0;1", "1,x"])
def test_a_list_that_cuda_does_not_read_to_its_end_is_a_warning(value: str) -> None:
    """Each of them gave one of two H200s."""
    two = CudaInit(status=0, device_count=2, library=LIBCUDA)
    seen = with_variable(
        "CUDA_VISIBLE_DEVICES", value, changed(cuda_unhidden=two, nvml=Nvml(status=0, device_count=2))
    )()
    [found] = list(gpu_access.excluded_gpus(seen))
    assert (found.severity, found.cause) == (WARNING, "gpu_hidden_by_env")
    assert found.fix is not None
    assert "CUDA_VISIBLE_DEVICES=0,1" in found.fix.advice


@pytest.mark.parametrize("value", ["1", "0,", " 1 "])
def test_a_list_of_fewer_gpus_may_be_intended(value: str) -> None:
    two = CudaInit(status=0, device_count=2, library=LIBCUDA)
    seen = with_variable(
        "CUDA_VISIBLE_DEVICES", value, changed(cuda_unhidden=two, nvml=Nvml(status=0, device_count=2))
    )()
    [found] = list(gpu_access.excluded_gpus(seen))
    assert found.severity is NOTE


def test_one_of_several_device_files_that_leads_elsewhere_or_is_closed() -> None:
    second = ExpectedNode(path="/dev/nvidia1", major=195, minor=1, gpu="0000:02:00.0")
    plain = DeviceNode(path="/dev/nvidia1", mode="644", problem="is not a device")
    shut = DeviceNode(
        path="/dev/nvidia1", mode="0600", opened=False, problem="Permission denied", errno="EACCES", major=195, minor=1
    )
    for node, expected in ((plain, (WARNING, "device_node_wrong")), (shut, (NOTE, "device_node_permission"))):
        [found] = list(gpu_access.excluded_gpus(changed(nodes=(*NODES, node), expected_nodes=(*EXPECTED, second))()))
        assert (found.severity, found.cause) == expected


def test_whoever_has_ptx_alone_for_this_gpu_needs_the_compiler() -> None:
    lost = (DriverPart(name=JIT, problem="cannot open shared object file", status=221),)
    old = FrameworkBuild(prefix=m.PREFIX, distribution="torch", version="2.6.0", sass=(50, 70), ptx=(70,))
    for build, severity in ((old, ERROR), (replace(old, sass=(70, 86)), WARNING), (replace(old, sass=None), WARNING)):
        seen = replace(m.with_driver(m.wheel_machine(), parts=lost), frameworks=Frameworks(builds=(build,)))
        [found] = parts.lost_compiler(seen)
        assert found.severity is severity
        assert bool(found.consumers) == (severity is ERROR)


def changes_offered(build: Callable[[], Snapshot]) -> list[object]:
    """Return the changes of all findings of a machine."""
    return [c for f in diagnose_snapshot(build()).findings for c in (f.fix.changes if f.fix else ())]


def user(build: Callable[[], Snapshot], **fields: object) -> Callable[[], Snapshot]:
    """Return a builder of a machine with other facts of itself."""
    return lambda: replace(build(), machine=replace(build().machine, **fields))


VIDEO_SHUT = tuple(replace(n, group="video") for n in SHUT)
SLEPT: dict[str, object] = {
    "cuda": CudaInit(status=999, library=LIBCUDA),
    "nvml": Nvml(status=0, device_count=1),
    "resumed": 5000.0,
    "booted": 1000.0,
}
NOUVEAU: dict[str, object] = {"pci": (replace(CARD, bound_driver="nouveau"),), "modules": ("nouveau",)}
OFFERS: dict[str, tuple[Callable[[], Snapshot], object]] = {
    "the group of the device files": (
        user(changed(nodes=VIDEO_SHUT, cuda=NO_DEVICE, nvml=Nvml(status=999)), user="ada"),
        SystemStep(kind="device-group", subject="ada", value="video"),
    ),
    "another group is the administrator's": (
        user(
            changed(nodes=tuple(replace(n, group="gpuusers") for n in SHUT), cuda=NO_DEVICE, nvml=Nvml(status=999)),
            user="ada",
        ),
        None,
    ),
    "nvidia_uvm after a suspend": (changed(**SLEPT), SystemStep(kind="reload-uvm")),
    "not from inside a container": (user(changed(**SLEPT), container="docker"), None),
    "nouveau where NVIDIA's driver is installed": (bare(**NOUVEAU), SystemStep(kind="nouveau-off")),
    "nouveau where no other driver is there": (bare(**NOUVEAU, libraries=()), None),
    "WSL's own folder": (in_wsl(cuda=GONE), SystemStep(kind="library-folder", subject="/usr/lib/wsl/lib")),
    "the container toolkit's specification": (
        changed(cdi=(CdiSpecification(path="/etc/cdi/nvidia.yaml", version="575.57.08"),)),
        SystemStep(kind="cdi"),
    ),
    "another file is not ours to write": (
        changed(cdi=(CdiSpecification(path="/var/run/cdi/x.yaml", version="575.57.08"),)),
        None,
    ),
}


@pytest.mark.parametrize("name", OFFERS)
def test_a_system_step_is_offered_where_it_cures(name: str) -> None:
    build, wanted = OFFERS[name]
    found = [c for c in changes_offered(build) if isinstance(c, SystemStep)]
    assert found == ([wanted] if wanted else [])


def test_the_other_gpu_is_offered_where_one_is_full() -> None:
    full = replace(RTX_A, memory_free=20 << 20)
    build = changed(gpus=(full, replace(RTX_A, index=1, uuid="GPU-bbbb")))
    [change] = changes_offered(build)
    assert isinstance(change, SetVariable)
    assert (change.name, change.at, change.after) == (
        "CUDA_VISIBLE_DEVICES",
        m.PREFIX,
        Value(text="set GPU-bbbb", kind="activation"),
    )
    assert changes_offered(changed(gpus=(full,))) == []
    assert changes_offered(with_variable("CUDA_VISIBLE_DEVICES", "0", build)) == []


def test_a_plain_path_is_offered_for_an_environment_with_brackets() -> None:
    odd = m.wheel_machine()
    folder = "/home/ada/models [new]"
    text = msgspec.json.encode(odd).replace(m.PREFIX.encode(), folder.encode())
    steps = [c for c in changes_offered(lambda: msgspec.json.decode(text, type=Snapshot)) if isinstance(c, SystemStep)]
    assert steps == [SystemStep(kind="short-path", subject="/home/ada/convalesce-models-new", value=folder)]


def started(value: str, build: Callable[[], Snapshot] = m.wheel_machine, line: int = 0) -> Snapshot:
    """Return a machine whose environment's start-up code sets CUDA_VISIBLE_DEVICES."""
    code = StartCode(
        source=f"{m.SITE}/sitecustomize.py", line=line, sets=(("CUDA_VISIBLE_DEVICES", value), ("A", "-1"))
    )
    return replace(build(), imports=(ImportSearch(prefix=m.PREFIX, start_code=(code,)),))


@pytest.mark.parametrize(
    ("value", "build", "severity"),
    [("-1", m.wheel_machine, ERROR), ("5", m.wheel_machine, ERROR), ("", m.no_gpu_machine, WARNING)],
)
def test_start_code_that_hides_every_gpu_is_told_with_its_file(value: str, build, severity: Severity) -> None:
    [found] = start_code.hidden_by_start_code(started(value, build))
    assert (found.severity, found.cause, found.subject) == (severity, "gpu_hidden_by_env", f"{m.SITE}/sitecustomize.py")
    assert found.consumers == (m.python().consumer().full_id,)


@pytest.mark.parametrize("value", ["0", "GPU-8932f937"])
def test_start_code_that_chooses_a_gpu_is_no_fault(value: str) -> None:
    assert list(start_code.hidden_by_start_code(started(value))) == []


@pytest.mark.parametrize(("build", "severity"), [(m.wheel_machine, ERROR), (m.no_gpu_machine, WARNING)])
def test_start_code_that_loads_a_stub_is_told_with_its_line(build, severity: Severity) -> None:
    code = StartCode(source=f"{m.SITE}/cuda.pth", line=2, text="import ctypes", stubs=("/opt/stubs/libcuda.so",))
    seen = replace(build(), imports=(ImportSearch(prefix=m.PREFIX, start_code=(code,)),))
    [found] = start_code.stub_by_start_code(seen)
    assert (found.severity, found.cause, found.subject) == (severity, "libcuda_wrong_library", f"{m.SITE}/cuda.pth")
    assert [(e.value, e.source) for e in found.evidence][:2] == [
        ("/opt/stubs/libcuda.so", f"{m.SITE}/cuda.pth:2"),
        ("import ctypes", f"{m.SITE}/cuda.pth:2"),
    ]
    assert found.consumers == (m.python().consumer().full_id,)
