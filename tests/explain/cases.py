"""Texts that people paste, each with the state of a machine on which it came up and the cause that was behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from core.model.facts import (
    Attempt,
    ComputeCache,
    Consumer,
    CudaInit,
    DeviceNode,
    Distribution,
    DriverLibrary,
    Environment,
    FrameworkBuild,
    Frameworks,
    Gpu,
    How,
    Load,
    Nvml,
    PciDevice,
    PythonEnvironment,
    Resolution,
    Snapshot,
    Variable,
)
from tests import machines as m

LIBCUDA = "/usr/lib/x86_64-linux-gnu/libcuda.so.1"
GONE = CudaInit(problem="libcuda.so.1: cannot open shared object file")
CARD = PciDevice(address="0000:01:00.0", vendor_id="10de", device_id="2204", bound_driver="")
BIN = r"C:\tools\cuda\bin"
GTX = Gpu(index=0, name="NVIDIA GeForce GTX 1080", compute_capability="6.1", memory_total=8 << 30, memory_free=7 << 30)
RTX = Gpu(
    index=0, name="NVIDIA GeForce RTX 5090", compute_capability="12.0", memory_total=32 << 30, memory_free=31 << 30
)
OLD, NEW = "/usr/local/cudnn-9.1/lib64", "/usr/local/cudnn-9.10/lib64"


@dataclass(frozen=True)
class Case:
    """One pasted text, the machine, and the cause."""

    text: str
    machine: Callable[[], Snapshot]
    cause: str


# --- Windows ---------------------------------------------------------------------------------------------


def plain(*resolutions: Resolution, major: int = 9) -> Load:
    """Return any program's search, without a roll call."""
    return Load(consumer=m.PLAIN, major=major, resolutions=resolutions)


def nowhere(name: str) -> Resolution:
    """Return a search that finds nothing on Windows."""
    return m.search(
        name, m.nothing(rf"C:\Windows\System32\{name}", How.SYSTEM), m.nothing(rf"C:\Windows\{name}", How.PATH)
    )


def cudnn8(version: str = "8.9.0", folder: str = BIN) -> Snapshot:
    """Windows with a whole cuDNN 8 on PATH, and no zlibwapi.dll."""
    copy = m.cudnn(folder, version, system="windows", origin="folder", environment="", owner="")
    made = m.load(copy, m.PLAIN, system="windows", how=How.PATH)
    roll = m.answers(copy, "windows")
    calls = tuple(
        replace(c, result=126, meaning="ERROR_MOD_NOT_FOUND") if "cnn_infer" in c.library else c for c in roll.calls
    )
    searches = (*made.resolutions, nowhere("zlibwapi.dll"))
    return replace(
        m.windows_machine(),
        cudnn=(copy,),
        loads=(replace(made, resolutions=searches, roll_call=replace(roll, calls=calls)),),
    )


def cudnn8_without_ops() -> Snapshot:
    """A cuDNN 8 with zlib inside, of which cudnn_ops_infer is missing: its own message names zlibwapi.dll."""
    return m.without_file(cudnn8("8.9.7"), "ops_infer")


def cudnn8_with_a_32_bit_zlib() -> Snapshot:
    """The zlibwapi.dll that is found is for 32 bits."""
    wrong = Attempt(path=r"C:\tools\zlibwapi.dll", how=How.PATH, outcome="wrong architecture", detail="built for x86")
    return m.with_search(cudnn8("8.5.0"), "zlibwapi.dll", wrong)


def windows_without_cudnn() -> Snapshot:
    """Windows with a toolkit, and cuDNN was never installed."""
    return replace(m.windows_machine(), cudnn=(), loads=(plain(nowhere("cudnn64_9.dll")),))


def windows_cudnn_beside_path() -> Snapshot:
    """PATH names the folder above the one with the files."""
    copy = m.cudnn(r"C:\cudnn\cuda\bin", "9.1.0", system="windows", origin="folder", environment="", owner="")
    return replace(m.windows_machine(), cudnn=(copy,), loads=(plain(nowhere("cudnn64_9.dll")),))


def windows_part_missing() -> Snapshot:
    """A set that lacks one of its files."""
    whole = m.without_file(m.windows_machine(), "heuristic")
    return m.with_search(
        whole, "cudnn_heuristic64_9.dll", m.nothing(m.INSTALLER + r"\cudnn_heuristic64_9.dll", How.PATH)
    )


def windows_toolkit(*names: str, on_path: bool = True, version: str = "11.2") -> Snapshot:
    """Windows with other toolkit libraries."""
    folder = r"C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA\v11.2\bin"
    kit = m.toolkit(
        folder, dict.fromkeys(names, version), system="windows", origin="installer", version=version, root=folder[:-4]
    )
    base = m.windows_machine()
    entries = m.paths(*((folder,) if on_path else ()), r"C:\Windows\System32")
    return replace(base, toolkits=(kit,) if names else (), environment=Environment(entries=entries), cudnn=(), loads=())


def windows_python_finds_nothing() -> Snapshot:
    """Any program finds cuDNN by PATH; Python 3.11 does not search PATH."""
    base = m.windows_machine()
    prefix = r"C:\ml\venv"
    consumer = Consumer(id=f"python:{prefix}", kind="python", label=f"the Python environment {prefix}", prefix=prefix)
    env = PythonEnvironment(
        prefix=prefix,
        version="3.11.4",
        kind="venv",
        distributions=(Distribution(name="opencv-python", version="4.10.0"),),
    )
    own = Load(consumer=consumer, major=9, resolutions=(nowhere("cudnn64_9.dll"),))
    return replace(base, pythons=(env,), loads=(*(base.loads or ()), own))


def windows_python(*distributions: tuple[str, str]) -> Snapshot:
    """Windows with one Python environment."""
    packages = tuple(Distribution(name=n, version=v) for n, v in distributions)
    env = PythonEnvironment(prefix=r"C:\ml\venv", version="3.10.11", kind="venv", distributions=packages)
    builds = tuple(
        FrameworkBuild(prefix=env.prefix, distribution=n, version=v, cuda="")
        for n, v in distributions
        if "-gpu" not in n
    )
    return replace(m.windows_machine(), pythons=(env,), frameworks=Frameworks(builds=builds))


def windows_bad_cuda_path() -> Snapshot:
    """CUDA_PATH names a folder that is gone."""
    return m.with_variable(
        m.windows_machine(), "CUDA_PATH", r"C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA\v11.8", "missing"
    )


def windows_old_session() -> Snapshot:
    """PATH was changed for new programs; this session still has the old one."""
    base = windows_cudnn_beside_path()
    folder = (base.cudnn or ())[0].folder
    variables = (
        Variable(name="PATH", value=r"C:\Windows\System32", scope="process"),
        Variable(name="Path", value=rf"C:\Windows\System32;{folder}", scope="user", source="HKCU"),
    )
    return replace(base, environment=Environment(variables=variables, entries=m.paths(r"C:\Windows\System32")))


# --- Linux: files ----------------------------------------------------------------------------------------


def without_cudnn() -> Snapshot:
    """torch asks for cuDNN 9, whose package was taken away."""
    gone = m.search(
        "libcudnn.so.9", m.nothing(f"{m.CUDNN}/libcudnn.so.9", How.RPATH), by=f"{m.SITE}/torch/lib/libtorch_cuda.so"
    )
    packages = (Distribution(name="torch", version="2.6.0", requires=("nvidia-cudnn-cu12==9.1.0.70",)),)
    base = m.with_load(m.wheel_machine(), resolutions=(gone,), roll_call=None)
    return replace(base, cudnn=(), pythons=(m.python(distributions=packages),))


def only_cudnn9() -> Snapshot:
    """Only the distribution's cuDNN 9 is there."""
    return m.system_machine()


def off_path() -> Snapshot:
    """A whole copy in a folder that the loader does not search."""
    copy = replace(m.system_copy("9.10.2", NEW), origin="folder", owner="")
    lost = plain(m.search("libcudnn.so.9", m.nothing("/usr/lib/libcudnn.so.9")))
    return replace(m.system_machine(), cudnn=(copy,), loads=(lost,))


def two_copies(first: str, second: str = "") -> Snapshot:
    """A program that takes the system's cuDNN, of which there are one or two."""
    copies = {f: m.system_copy(v, f) for f, v in ((OLD, "9.1.0"), (NEW, "9.10.2"))}
    made = m.load(copies[first], replace(m.PYTHON, prefix="/home/ada/other"), how=How.LD_CACHE)
    main = m.search("libcudnn.so.9", *(m.found(f"{f}/libcudnn.so.9", How.LD_CACHE) for f in (first, second) if f))
    made = replace(
        made, resolutions=(main, *made.resolutions[1:]), wanted_version="9.10.2", wanted_source="torch 2.8.0"
    )
    return replace(m.wheel_machine(), cudnn=tuple(copies[f] for f in (first, second) if f), loads=(made,))


def overridden() -> Snapshot:
    """LD_LIBRARY_PATH names a folder with an older cuDNN before the environment's own."""
    other = m.system_copy("9.0.0", "/opt/cudnn/lib")
    base = replace(m.wheel_machine(), cudnn=(*(m.wheel_machine().cudnn or ()), other))
    for role in m.ROLES9:
        name = m.file_name(role, 9)
        first = m.found(f"{other.folder}/{name}", How.LD_LIBRARY_PATH, "LD_LIBRARY_PATH: /opt/cudnn/lib")
        base = m.with_search(base, name, first, m.found(f"{m.CUDNN}/{name}"))
    return m.with_variable(base, "LD_LIBRARY_PATH", "/opt/cudnn/lib")


def halves() -> Snapshot:
    """cuBLAS from the wheel, cuBLASLt of another release from elsewhere."""
    stray = m.toolkit("/opt/cuda/lib64", {"libcublasLt.so.12": "12.1.0.26"}, root="/opt/cuda", origin="folder")
    base = replace(m.wheel_machine(), toolkits=(*m.wheels(), stray))
    return m.with_search(base, "libcublasLt.so.12", m.found("/opt/cuda/lib64/libcublasLt.so.12", How.LD_LIBRARY_PATH))


def other_builtins() -> Snapshot:
    """NVRTC with built-ins of another version."""
    kit = m.toolkit(m.NVRTC, {"libnvrtc.so.12": "12.4.127", "libnvrtc-builtins.so.12.1": "12.1.105"})
    return replace(m.wheel_machine(), toolkits=(m.wheels()[0], kit))


def brackets() -> Snapshot:
    """The environment lies in a folder with brackets, and parts are not found."""
    prefix = "/home/ada/[ml] 2026"
    copy = m.cudnn(m.CUDNN.replace(m.PREFIX, prefix), environment=prefix)
    made = m.load(copy, replace(m.PYTHON, prefix=prefix, id=f"python:{prefix}"))
    return replace(
        m.wheel_machine(), cudnn=(copy,), loads=(replace(made, roll_call=m.refused(copy, "ops", "not found")),)
    )


def cuda12_only() -> Snapshot:
    """A system with CUDA 12's libraries only."""
    return m.system_machine()


def building_with(nvcc: str) -> Snapshot:
    """A toolkit whose nvcc comes first when an extension is built."""
    kit = m.toolkit(
        "/usr/local/cuda-11.8/lib64",
        {"libcudart.so.11.0": "11.8.89"},
        root="/usr/local/cuda-11.8",
        origin="installer",
        version="11.8.0",
        nvcc="/usr/local/cuda-11.8/bin/nvcc",
        nvcc_version=nvcc,
    )
    return replace(m.wheel_machine(), toolkits=(*m.wheels(), kit))


def linux_python(*distributions: tuple[str, str]) -> Snapshot:
    """A machine whose environment has other packages."""
    packages = tuple(Distribution(name=n, version=v) for n, v in distributions)
    return replace(m.wheel_machine(), pythons=(m.python(distributions=packages),), cudnn=(), loads=(), toolkits=())


def two_environments() -> Snapshot:
    """torch is in one environment, and another one is there beside it."""
    other = PythonEnvironment(prefix="/usr", version="3.11.2", kind="system", found_by="PATH")
    base = m.wheel_machine()
    return replace(base, pythons=(*(base.pythons or ()), other))


# --- Linux: driver ---------------------------------------------------------------------------------------


def driver(**fields: object) -> Callable[[], Snapshot]:
    """Return a builder of the machine with wheels and another driver."""
    return lambda: m.with_driver(m.wheel_machine(), **fields)


def bare(**fields: object) -> Callable[[], Snapshot]:
    """Return a builder of a machine with a GPU on its bus and no driver that answers."""
    known = {
        "pci": (CARD,),
        "cuda": GONE,
        "nvml": Nvml(problem="not there"),
        "gpus": (),
        "module_version": "",
        "modules": (),
        "nodes": (),
    }
    return driver(**(known | fields))


def hidden(value: str, **fields: object) -> Callable[[], Snapshot]:
    """Return a builder in which CUDA_VISIBLE_DEVICES hides every GPU."""
    return lambda: m.with_variable(
        driver(cuda=CudaInit(status=100, library=LIBCUDA), **fields)(), "CUDA_VISIBLE_DEVICES", value
    )


def container(**fields: object) -> Callable[[], Snapshot]:
    """Return a builder of a container on a machine whose module is loaded."""
    known = {"cuda": GONE, "nvml": Nvml(problem="not there"), "gpus": (), "nodes": (), "libraries": ()}
    return lambda: m.with_driver(m.container_machine(), **(known | fields))


def wsl(**fields: object) -> Callable[[], Snapshot]:
    """Return a builder of WSL2 in which CUDA does not start."""
    return lambda: m.with_driver(m.wsl_machine(), **({"nvml": None, "gpus": ()} | fields))


def stub() -> Snapshot:
    """The toolkit's stub comes first."""
    library = DriverLibrary(path="/opt/stubs/libcuda.so.1", stub=True, size=60_000, source="LD_LIBRARY_PATH")
    started = driver(
        cuda=CudaInit(status=34, library=library.path), libraries=(library, *(m.working_driver().libraries or ()))
    )
    return m.with_variable(started(), "LD_LIBRARY_PATH", "/opt/stubs")


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

CASES: dict[str, Case] = {
    "a part of cuDNN 8 with error 126, and no zlib": Case(
        "Could not load library cudnn_cnn_infer64_8.dll. Error code 126", cudnn8, "zlibwapi_missing"
    ),
    "the process ends inside cuDNN 8": Case(
        "Process finished with exit code -1073740791 (0xC0000409) in cudnn64_8.dll", cudnn8, "zlibwapi_missing"
    ),
    "zlibwapi.dll is named": Case(
        "Could not locate zlibwapi.dll. Please make sure it is in your library path!", cudnn8, "zlibwapi_missing"
    ),
    "zlibwapi.dll for 32 bits": Case(
        "Could not load library zlibwapi.dll. Error code 193", cudnn8_with_a_32_bit_zlib, "dll_wrong_architecture"
    ),
    "cuDNN was never installed": Case("Cannot find cudnn64_9.dll", windows_without_cudnn, "cudnn_not_installed"),
    "cuDNN lies one folder deeper": Case(
        "ImportError: DLL load failed: The specified module could not be found. (tensorflow)",
        windows_cudnn_beside_path,
        "cudnn_not_on_search_path",
    ),
    "an incomplete set": Case(
        "Could not locate cudnn_heuristic64_9.dll\nCUDNN_STATUS_SUBLIBRARY_LOADING_FAILED",
        windows_part_missing,
        "cudnn_sublibrary_missing",
    ),
    "cuDNN 8 is wanted, 9 is there, Windows": Case(
        "Could not locate cudnn_ops_infer64_8.dll. Please make sure it is in your library path!",
        m.windows_machine,
        "cudnn_major_mismatch",
    ),
    "no CUDA library at all": Case(
        "No module named '_pywrap_tensorflow'; cudart64_80.dll missing",
        windows_toolkit,
        "cuda_runtime_missing",
    ),
    "cuSOLVER of another toolkit": Case(
        "Could not load dynamic library 'cusolver64_10.dll'; dlerror: cusolver64_10.dll not found",
        lambda: windows_toolkit("cudart64_110.dll", "cusolver64_11.dll"),
        "cuda_toolkit_version_mismatch",
    ),
    "the toolkit's folder is not on PATH": Case(
        "The third-party dynamic library (cublas64_11.dll) that Paddle depends on is not configured correctly. (error code is 126)",
        lambda: windows_toolkit("cublas64_11.dll", "cudart64_110.dll", on_path=False),
        "cuda_not_on_search_path",
    ),
    "Python does not search PATH": Case(
        "ImportError: DLL load failed while importing cv2: The specified module could not be found.",
        windows_python_finds_nothing,
        "python_dll_search_change",
    ),
    "two packages of ONNX Runtime": Case(
        "Specified provider 'CUDAExecutionProvider' is not in available provider names.",
        lambda: windows_python(("onnxruntime", "1.20.1"), ("onnxruntime-gpu", "1.20.1")),
        "duplicate_framework_packages",
    ),
    "TensorFlow after 2.10 on Windows": Case(
        "tf.config.list_physical_devices('GPU') -> []",
        lambda: windows_python(("tensorflow", "2.15.0")),
        "tf_native_windows_unsupported",
    ),
    "PyTorch without CUDA": Case(
        "AssertionError: Torch not compiled with CUDA enabled",
        lambda: windows_python(("torch", "2.6.0+cpu")),
        "framework_cpu_only_build",
    ),
    "CUDA_PATH names a folder that is gone": Case(
        "CUDA path could not be detected. Set CUDA_PATH environment variable if CuPy fails to load.",
        windows_bad_cuda_path,
        "cuda_path_env_wrong",
    ),
    "the session is older than PATH": Case(
        "ImportError: cudnn64_9.dll could not be found (in PyCharm)", windows_old_session, "process_env_not_inherited"
    ),
    "cuDNN's package was taken away": Case(
        "ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory",
        without_cudnn,
        "cudnn_not_installed",
    ),
    "cuDNN 8 is wanted, 9 is there, Linux": Case(
        "Could not load library libcudnn_ops_infer.so.8. Error: libcudnn_ops_infer.so.8: cannot open shared object file",
        only_cudnn9,
        "cudnn_major_mismatch",
    ),
    "cuDNN off the search path": Case(
        "Unable to load any of {libcudnn_ops.so.9.10.2, libcudnn_ops.so.9.10, libcudnn_ops.so.9, libcudnn_ops.so}",
        off_path,
        "cudnn_not_on_search_path",
    ),
    "an older copy comes first": Case(
        "Loaded runtime CuDNN library: 9.1.0 but source was compiled with: 9.10.2.",
        lambda: two_copies(OLD, NEW),
        "cudnn_shadowed",
    ),
    "the only copy is too old": Case(
        "Loaded runtime CuDNN library: 9.1.0 but source was compiled with: 9.10.2.",
        lambda: two_copies(OLD),
        "cudnn_minor_too_old",
    ),
    "LD_LIBRARY_PATH of a cluster": Case(
        "RuntimeError: cuDNN version incompatibility: PyTorch was compiled against (9, 1, 0) but linked against (9, 0, 0)",
        overridden,
        "ld_library_path_override",
    ),
    "a segmentation fault by LD_LIBRARY_PATH": Case(
        "Segmentation fault (core dumped) in torch conv2d", overridden, "ld_library_path_override"
    ),
    "a part of another release": Case(
        "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH",
        lambda: m.with_file(m.wheel_machine(), "ops", version="9.10.2", record="size differs"),
        "mixed_cudnn_sublibraries",
    ),
    "a file cut short": Case(
        "OSError: libcudnn_cnn.so.9: file too short",
        lambda: m.with_file(m.wheel_machine(), "cnn", state="truncated"),
        "corrupt_or_truncated_file",
    ),
    "two halves of cuBLAS": Case(
        "libcublas.so.12: undefined symbol: cublasLtGetStatusString, version libcublasLt.so.12",
        halves,
        "cuda_lib_shadowed",
    ),
    "NVRTC with other built-ins": Case(
        "nvrtc: error: failed to open libnvrtc-builtins.so.12.4", other_builtins, "nvrtc_missing_or_mismatch"
    ),
    "brackets in the path": Case(
        "Unable to load any of {libcudnn_ops.so.9.1.0} from /home/ada/[ml] 2026/lib/",
        brackets,
        "install_path_characters",
    ),
    "CUDA 11 is wanted, 12 is there": Case(
        "RuntimeError: Library libcublas.so.11 is not found or cannot be loaded",
        cuda12_only,
        "cuda_toolkit_version_mismatch",
    ),
    "nvcc of another CUDA": Case(
        "The detected CUDA version (11.8) mismatches the version that was used to compile PyTorch (12.4).",
        lambda: building_with("11.8.89"),
        "nvcc_toolkit_mismatch_build",
    ),
    "the CPU package of PyTorch, Linux": Case(
        "torch.cuda.is_available() returns False, torch 2.6.0+cpu",
        lambda: linux_python(("torch", "2.6.0+cpu")),
        "framework_cpu_only_build",
    ),
    "the CPU package over the GPU one": Case(
        "onnxruntime: only CPU found, the GPU provider is missing",
        lambda: linux_python(("onnxruntime", "1.20.1"), ("onnxruntime-gpu", "1.20.1")),
        "duplicate_framework_packages",
    ),
    "another interpreter": Case(
        "ModuleNotFoundError: No module named 'torch'", two_environments, "wrong_environment_active"
    ),
    "the driver is too old": Case(
        "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED",
        driver(
            cuda=CudaInit(status=0, driver_cuda="11.4", device_count=1, library=LIBCUDA),
            nvml=Nvml(status=0, driver_version="470.82.01", driver_cuda="11.4", device_count=1),
        ),
        "driver_too_old",
    ),
    "library and module of two versions": Case(
        "Failed to initialize NVML: Driver/library version mismatch",
        driver(cuda=CudaInit(status=803), nvml=Nvml(status=18)),
        "driver_library_mismatch",
    ),
    "nouveau holds the card": Case(
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver",
        bare(pci=(replace(CARD, bound_driver="nouveau"),), modules=("nouveau",)),
        "driver_module_not_loaded",
    ),
    "Secure Boot": Case(
        "nvidia-smi stopped working after an upgrade; a blue MOK screen came up",
        bare(secure_boot=True, kernel_log=("[ 3.1] Loading of module nvidia: Key was rejected by service",)),
        "secure_boot_blocks_module",
    ),
    "after a suspend": Case(
        "CUDA unknown error - this may be due to an incorrectly set up environment",
        driver(cuda=CudaInit(status=999), resumed=5000.0),
        "uvm_stale_after_suspend",
    ),
    "device nodes are closed": Case(
        "the program cannot use the GPU on this Linux, root can",
        driver(nodes=SHUT, cuda=CudaInit(status=100, library=LIBCUDA), nvml=Nvml(status=999)),
        "device_node_permission",
    ),
    "a container without the GPU": Case(
        'docker: could not select device driver "" with capabilities: [[gpu]]', container(), "container_no_gpu_runtime"
    ),
    "WSL without libcuda.so": Case(
        "RuntimeError: Failed to dlopen libcuda.so", wsl(cuda=GONE), "wsl_libcuda_not_found"
    ),
    "WSL with a Linux driver": Case(
        "CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected (WSL2)",
        wsl(cuda=CudaInit(status=100, library=LIBCUDA)),
        "wsl_libcuda_not_found",
    ),
    "CUDA_VISIBLE_DEVICES names a GPU that is not there": Case(
        "cudaGetDeviceCount failed: no CUDA-capable device is detected", hidden("1"), "gpu_hidden_by_env"
    ),
    "CUDA_VISIBLE_DEVICES is -1": Case(
        "RuntimeError: No CUDA GPUs are available",
        hidden("-1", cuda_unhidden=CudaInit(status=0, device_count=1)),
        "gpu_hidden_by_env",
    ),
    "MIG without a part": Case(
        "torch.cuda.device_count() is 0 on an H200 in MIG mode",
        driver(
            cuda=CudaInit(status=100, library=LIBCUDA),
            gpus=(replace(GTX, name="NVIDIA H200", compute_capability="9.0", mig=True),),
        ),
        "mig_misconfigured",
    ),
    "the stub comes first": Case("numba: driver missing function: cuInit", stub, "libcuda_wrong_library"),
    "a GPU that the build has dropped": Case(
        "CUDA error: no kernel image is available for execution on the device",
        lambda: m.with_copy(m.with_driver(m.wheel_machine(), gpus=(GTX,)), sass=(75, 80, 90), ptx=(90,)),
        "gpu_arch_too_old",
    ),
    "a GPU that is newer than the build": Case(
        "RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED",
        lambda: m.with_copy(m.with_driver(m.wheel_machine(), gpus=(RTX,)), ptx=()),
        "gpu_arch_too_new",
    ),
    "GPU memory is used up": Case(
        "Could not create cudnn handle: CUDNN_STATUS_ALLOC_FAILED",
        driver(gpus=(replace(GTX, compute_capability="8.6", memory_free=20 << 20),)),
        "gpu_memory_exhausted",
    ),
    "the compute cache belongs to root": Case(
        "cublas runtime error : library not initialized",
        driver(
            compute_cache=ComputeCache(path="/home/ada/.nv/ComputeCache", exists=True, owner="root", writable=False)
        ),
        "nv_compute_cache_bad",
    ),
    "the GPU fell off the bus": Case(
        "RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED",
        driver(kernel_log=("[ 9.1] NVRM: Xid (PCI:0000:01:00): 79, pid=1, GPU has fallen off the bus.",)),
        "hardware_fault",
    ),
}
