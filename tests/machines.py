"""Snapshots of machines that are in order, as the probes would see them, to change one thing and diagnose."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from core.model.facts import (
    Attempt,
    Call,
    Consumer,
    CudaInit,
    CudnnCopy,
    DeviceNode,
    Distribution,
    Driver,
    DriverLibrary,
    Environment,
    Gpu,
    How,
    LibraryFile,
    Load,
    Machine,
    Mapped,
    Nvml,
    PathEntry,
    PciDevice,
    PythonEnvironment,
    Resolution,
    RollCall,
    Snapshot,
    Toolkit,
    Variable,
)

PREFIX = "/home/ada/ml"
SITE = f"{PREFIX}/lib/python3.11/site-packages"
CUDNN = f"{SITE}/nvidia/cudnn/lib"
CUBLAS = f"{SITE}/nvidia/cublas/lib"
NVRTC = f"{SITE}/nvidia/cuda_nvrtc/lib"
ROLES9 = ("", "graph", "ops", "cnn", "adv", "heuristic", "engines_precompiled", "engines_runtime_compiled")
ROLES8 = ("", "ops_infer", "ops_train", "cnn_infer", "cnn_train", "adv_infer", "adv_train")
SASS = (50, 60, 61, 70, 75, 80, 86, 90)
INSTALLER = r"C:\Program Files\NVIDIA\CUDNN\v9.10\bin\12.9"
TOOLKIT = r"C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA\v12.9"


def file_name(role: str, major: int, system: str = "linux") -> str:
    """Return the name of a part: libcudnn_ops.so.9, cudnn_ops64_9.dll."""
    tail = f"_{role}" if role else ""
    return f"cudnn{tail}64_{major}.dll" if system == "windows" else f"libcudnn{tail}.so.{major}"


def join(system: str, folder: str, name: str) -> str:
    """Join a path as the system does."""
    return folder + ("\\" if system == "windows" else "/") + name


def cudnn(
    folder: str = CUDNN, version: str = "9.1.0", *, system: str = "linux", cuda: int = 12, **fields: Any
) -> CudnnCopy:
    """Return a whole copy of cuDNN 8 or 9."""
    major = int(version.split(".", maxsplit=1)[0])
    files = tuple(
        LibraryFile(
            path=join(system, folder, file_name(role, major, system)),
            name=file_name(role, major, system),
            size=4_500_000,
            architecture="x86_64",
            version=version if role != "cnn" else None,
            version_source="exported constant" if role != "cnn" else "",
            record="matches" if fields.get("origin", "wheel") == "wheel" else "unchecked",
        )
        for role in (ROLES9 if major == 9 else ROLES8)
    )
    known: dict[str, Any] = {
        "origin": "wheel",
        "environment": PREFIX,
        "owner": f"nvidia-cudnn-cu{cuda} {version}.70",
        "sass": SASS,
        "ptx": (90,),
        "source": "site-packages",
    }
    return CudnnCopy(folder=folder, major=major, version=version, cuda_major=cuda, files=files, **(known | fields))


def toolkit(folder: str, names: dict[str, str], *, system: str = "linux", **fields: Any) -> Toolkit:
    """Return a toolkit with libraries, name -> version."""
    libraries = tuple(
        LibraryFile(
            path=join(system, folder, name), name=name, architecture="x86_64", version=v, version_source=f"package {v}"
        )
        for name, v in names.items()
    )
    known: dict[str, Any] = {"root": folder, "origin": "wheel", "version": "12.4", "source": "site-packages"}
    return Toolkit(folder=folder, libraries=libraries, **(known | fields))


def wheels() -> tuple[Toolkit, ...]:
    """Return CUDA 12.4's runtime wheels of the environment."""
    return (
        toolkit(CUBLAS, {"libcublas.so.12": "12.4.5.8", "libcublasLt.so.12": "12.4.5.8"}),
        toolkit(NVRTC, {"libnvrtc.so.12": "12.4.127", "libnvrtc-builtins.so.12.4": "12.4.127"}),
    )


def found(path: str, how: How = How.RUNPATH, via: str = "") -> Attempt:
    """Return a candidate that serves."""
    return Attempt(path=path, how=how, outcome="found", via=via)


def nothing(path: str, how: How = How.DEFAULT) -> Attempt:
    """Return a place where the name is not."""
    return Attempt(path=path, how=how, outcome="not there")


def search(name: str, *attempts: Attempt, by: str = "") -> Resolution:
    """Return a search."""
    return Resolution(name=name, wanted_by=by, attempts=attempts)


def answers(copy: CudnnCopy, system: str = "linux") -> RollCall:
    """Return a roll call in which every part of a copy answered."""
    main = next(f for f in copy.files if f.name == file_name("", copy.major, system))
    opened = "LoadLibraryExW" if system == "windows" else "dlopen"
    code = {9: 90100, 8: 8907}[copy.major]
    calls = (
        Call(function=opened, library=main.path, result=0),
        Call(function="cudnnGetVersion", result=code),
        *(Call(function=opened, library=f.path, result=0) for f in copy.files if f is not main),
    )
    mapped = tuple(Mapped(path=f.path, name=f.name, origin=copy.owner) for f in copy.files)
    return RollCall(library=main.path, loaded=main.path, version=copy.version, calls=calls, mapped=mapped)


def refused(copy: CudnnCopy, role: str, meaning: str, *, ended: str = "") -> RollCall:
    """Return a roll call in which one part did not load."""
    good = answers(copy)
    name = file_name(role, copy.major)
    calls = tuple(
        replace(call, result=None, meaning=meaning) if call.library.endswith("/" + name) else call
        for call in good.calls
    )
    return replace(good, calls=calls, ended=ended)


def load(copy: CudnnCopy, consumer: Consumer, *, system: str = "linux", how: How = How.RPATH, **fields: Any) -> Load:
    """Return the load of a copy that is found whole, with cuBLAS and NVRTC of the environment."""
    main = join(system, copy.folder, file_name("", copy.major, system))
    parts = tuple(
        search(f.name, found(f.path, How.RUNPATH if system == "linux" else how), by=main)
        for f in copy.files
        if f.path != main
    )
    cuda = (
        search(
            "libcublasLt.so.12", found(f"{CUBLAS}/libcublasLt.so.12"), by=join(system, copy.folder, "libcudnn_adv.so.9")
        ),
        search(
            "libcublas.so.12", found(f"{CUBLAS}/libcublas.so.12"), by=join(system, copy.folder, "libcudnn_adv.so.9")
        ),
        search("libnvrtc.so.12", found(f"{NVRTC}/libnvrtc.so.12"), by=join(system, copy.folder, "libcudnn_graph.so.9")),
    )
    known: dict[str, Any] = {
        "resolutions": (
            search(file_name("", copy.major, system), found(main, how)),
            *parts,
            *(cuda if system == "linux" else ()),
        ),
        "roll_call": answers(copy, system),
    }
    return Load(consumer=consumer, major=copy.major, **(known | fields))


PYTHON = Consumer(
    id=f"python:{PREFIX}",
    kind="python",
    label=f"the Python environment {PREFIX}",
    prefix=PREFIX,
    framework="torch 2.6.0",
)
PLAIN = Consumer(id="plain", kind="plain", label="any program")


def working_driver(**fields: Any) -> Driver:
    """Return a driver on Linux that works, with one GPU."""
    known: dict[str, Any] = {
        "pci": (PciDevice(address="0000:01:00.0", vendor_id="10de", device_id="2204", bound_driver="nvidia"),),
        "gpus": (
            Gpu(
                index=0,
                name="NVIDIA GeForce RTX 3090",
                compute_capability="8.6",
                memory_total=24 << 30,
                memory_free=23 << 30,
            ),
        ),
        "nvml": Nvml(status=0, driver_version="580.65.06", driver_cuda="13.0", device_count=1),
        "cuda": CudaInit(
            status=0, driver_cuda="13.0", device_count=1, library="/usr/lib/x86_64-linux-gnu/libcuda.so.1"
        ),
        "module_version": "580.65.06",
        "modules": ("nvidia", "nvidia_uvm"),
        "libraries": (
            DriverLibrary(
                path="/usr/lib/x86_64-linux-gnu/libcuda.so.1",
                version="580.65.06",
                stub=False,
                size=90 << 20,
                source="default folder",
            ),
        ),
        "nodes": tuple(
            DeviceNode(path=f"/dev/{n}", mode="0666", opened=True) for n in ("nvidia0", "nvidiactl", "nvidia-uvm")
        ),
        "secure_boot": False,
        "kernel_log": (),
        "booted": 1000.0,
        "resumed": 0.0,
    }
    return Driver(**(known | fields))


def linux_machine(**fields: Any) -> Machine:
    """Return a Debian machine."""
    return Machine(system="linux", release="Debian GNU/Linux 12 (bookworm)", libc="2.36", home="/home/ada", **fields)


def paths(*folders: str, variable: str = "PATH") -> tuple[PathEntry, ...]:
    """Return the entries of a search path that all exist."""
    return tuple(PathEntry(variable=variable, index=n, text=f, expanded=f) for n, f in enumerate(folders))


def python(**fields: Any) -> PythonEnvironment:
    """Return the environment with torch 2.6.0, as its wheels pin it."""
    known: dict[str, Any] = {
        "executable": f"{PREFIX}/bin/python",
        "version": "3.11.2",
        "kind": "venv",
        "site_packages": (SITE,),
        "distributions": (
            Distribution(name="torch", version="2.6.0", requires=("nvidia-cudnn-cu12==9.1.0.70",)),
            Distribution(name="nvidia-cudnn-cu12", version="9.1.0.70"),
        ),
        "found_by": "--python",
    }
    return PythonEnvironment(**({"prefix": PREFIX} | known | fields))


def wheel_machine() -> Snapshot:
    """A GPU, and an environment in which torch brings everything."""
    copy = cudnn()
    return Snapshot(
        machine=linux_machine(),
        driver=working_driver(),
        toolkits=wheels(),
        cudnn=(copy,),
        environment=Environment(entries=paths("/usr/local/bin", "/usr/bin")),
        pythons=(python(),),
        loads=(
            load(copy, PYTHON, wanted_version="9.1.0.70", wanted_source="torch 2.6.0"),
            Load(consumer=PLAIN, major=9, resolutions=(search("libcudnn.so.9", nothing("/usr/lib/libcudnn.so.9")),)),
        ),
    )


SYSTEM = "/usr/lib/x86_64-linux-gnu"


def system_copy(version: str = "9.10.2", folder: str = SYSTEM) -> CudnnCopy:
    """Return the distribution's copy."""
    return cudnn(folder, version, origin="distribution", environment="", owner=f"libcudnn9-cuda-12 {version}")


def system_machine() -> Snapshot:
    """A GPU, a toolkit and a cuDNN of the distribution, which any program finds."""
    copy = system_copy()
    cuda = "/usr/local/cuda-12.4/lib64"
    made = load(copy, PLAIN, how=How.LD_CACHE)
    return Snapshot(
        machine=linux_machine(),
        driver=working_driver(),
        toolkits=(
            toolkit(
                cuda,
                {
                    "libcudart.so.12": "12.4.127",
                    "libcublas.so.12": "12.4.5.8",
                    "libcublasLt.so.12": "12.4.5.8",
                    "libnvrtc.so.12": "12.4.127",
                    "libnvrtc-builtins.so.12.4": "12.4.127",
                },
                root="/usr/local/cuda-12.4",
                origin="installer",
                named_by=("CUDA_HOME",),
            ),
        ),
        cudnn=(copy,),
        environment=Environment(
            variables=(Variable(name="CUDA_HOME", value="/usr/local/cuda-12.4", source="environment"),),
            entries=(*paths("/usr/bin"), *paths("/usr/local/cuda-12.4", variable="CUDA_HOME")),
        ),
        pythons=(),
        loads=(replace(made, resolutions=tuple(_in_folder(r, CUBLAS, NVRTC, cuda) for r in made.resolutions)),),
    )


def _in_folder(r: Resolution, *folders: str) -> Resolution:
    *old, new = folders
    attempts = r.attempts
    for folder in old:
        attempts = tuple(replace(a, path=a.path.replace(folder, new)) for a in attempts)
    return replace(r, attempts=attempts)


def windows_machine() -> Snapshot:
    """Windows with NVIDIA's installers: a toolkit and a cuDNN 9 that are on PATH."""
    copy = cudnn(INSTALLER, "9.10.2", system="windows", origin="installer", environment="", owner="")
    gpu = working_driver(
        pci=(
            PciDevice(address="PCI bus 1", vendor_id="10DE", name="NVIDIA GeForce RTX 3090", bound_driver="nvlddmkm"),
        ),
        cuda=CudaInit(status=0, driver_cuda="12.9", device_count=1, library=r"C:\Windows\System32\nvcuda.dll"),
        libraries=(DriverLibrary(path=r"C:\Windows\System32\nvcuda.dll", source="System32"),),
        module_version=None,
        modules=None,
        nodes=None,
    )
    names = dict.fromkeys(
        ("cudart64_12.dll", "cublas64_12.dll", "cublasLt64_12.dll", "nvrtc64_120_0.dll", "nvrtc-builtins64_129.dll"),
        "12.9",
    )
    return Snapshot(
        machine=Machine(system="windows", release="Windows 11 Pro 23H2 (22631)", home=r"C:\Users\ada"),
        driver=gpu,
        toolkits=(
            toolkit(
                TOOLKIT + r"\bin",
                names,
                system="windows",
                root=TOOLKIT,
                origin="installer",
                version="12.9",
                named_by=("CUDA_PATH",),
            ),
        ),
        cudnn=(copy,),
        environment=Environment(
            variables=(Variable(name="CUDA_PATH", value=TOOLKIT, scope="machine", source="HKLM"),),
            entries=(*paths(INSTALLER, TOOLKIT + r"\bin"), *paths(TOOLKIT, variable="CUDA_PATH")),
        ),
        pythons=(),
        loads=(load(copy, PLAIN, system="windows", how=How.PATH),),
    )


def no_gpu_machine() -> Snapshot:
    """The environment of ``wheel_machine`` on a machine without any NVIDIA GPU or driver."""
    return replace(wheel_machine(), driver=without_gpu())


def without_gpu(**fields: Any) -> Driver:
    """Return what the driver probe sees where there is no NVIDIA GPU."""
    known: dict[str, Any] = {
        "pci": (PciDevice(address="0000:00:02.0", vendor_id="8086", name="UHD Graphics", bound_driver="i915"),),
        "gpus": (),
        "nvml": Nvml(problem="libnvidia-ml.so.1: cannot open shared object file"),
        "cuda": CudaInit(problem="libcuda.so.1: cannot open shared object file"),
        "module_version": "",
        "modules": (),
        "libraries": (),
        "nodes": (),
    }
    return Driver(**(known | fields))


def wsl_machine() -> Snapshot:
    """WSL2 with the driver of Windows."""
    path = "/usr/lib/wsl/lib/libcuda.so.1"
    driver = working_driver(
        pci=(),
        cuda=CudaInit(status=0, driver_cuda="13.0", device_count=1, library=path),
        libraries=(DriverLibrary(path=path, source="WSL", stub=False, size=1 << 20),),
        module_version=None,
        modules=(),
        nodes=(DeviceNode(path="/dev/dxg", mode="0666", opened=True),),
    )
    return replace(wheel_machine(), machine=linux_machine(wsl=True), driver=driver)


def container_machine() -> Snapshot:
    """A container that was started with the GPU."""
    return replace(wheel_machine(), machine=linux_machine(container="docker"))


HEALTHY = {
    "wheel": wheel_machine,
    "system": system_machine,
    "windows": windows_machine,
    "no gpu": no_gpu_machine,
    "wsl": wsl_machine,
    "container": container_machine,
}
"""Every machine that is in order."""


def with_driver(snapshot: Snapshot, **fields: Any) -> Snapshot:
    """Return a machine with changed facts of its driver."""
    assert snapshot.driver is not None
    return replace(snapshot, driver=replace(snapshot.driver, **fields))


def with_copy(snapshot: Snapshot, index: int = 0, **fields: Any) -> Snapshot:
    """Return a machine with changed facts of one copy of cuDNN."""
    copies = list(snapshot.cudnn or ())
    copies[index] = replace(copies[index], **fields)
    return replace(snapshot, cudnn=tuple(copies))


def with_file(snapshot: Snapshot, role: str, index: int = 0, **fields: Any) -> Snapshot:
    """Return a machine with changed facts of one file of a copy."""
    copy = (snapshot.cudnn or ())[index]
    name = file_name(role, copy.major, snapshot.machine.system)
    files = tuple(replace(f, **fields) if f.name == name else f for f in copy.files)
    return with_copy(snapshot, index, files=files)


def without_file(snapshot: Snapshot, role: str, index: int = 0) -> Snapshot:
    """Return a machine in which one file of a copy is gone, as RECORD tells."""
    copy = (snapshot.cudnn or ())[index]
    name = file_name(role, copy.major, snapshot.machine.system)
    return with_copy(
        snapshot,
        index,
        files=tuple(f for f in copy.files if f.name != name),
        missing=(name,),
        missing_source="RECORD",
    )


def with_load(snapshot: Snapshot, index: int = 0, **fields: Any) -> Snapshot:
    """Return a machine with changed facts of one load."""
    loads = list(snapshot.loads or ())
    loads[index] = replace(loads[index], **fields)
    return replace(snapshot, loads=tuple(loads))


def with_search(snapshot: Snapshot, name: str, *attempts: Attempt, index: int = 0) -> Snapshot:
    """Return a machine in which the search for one name ends otherwise."""
    loads = (snapshot.loads or ())[index]
    resolutions = tuple(replace(r, attempts=attempts) if r.name == name else r for r in loads.resolutions)
    return with_load(snapshot, index, resolutions=resolutions)


def with_variable(snapshot: Snapshot, name: str, value: str, *marks: Any) -> Snapshot:
    """Return a machine in which a variable is set for new programs."""
    old = snapshot.environment or Environment()
    entries = tuple(e for e in old.entries if e.variable != name)
    if name.endswith(("PATH", "HOME")):
        parts = value.split(":") if name == "LD_LIBRARY_PATH" else [value]
        entries += tuple(
            PathEntry(variable=name, index=n, text=p, expanded=p, marks=marks, exists="missing" not in marks)
            for n, p in enumerate(parts)
        )
    rest = tuple(v for v in old.variables if v.name != name)
    variables = (*rest, Variable(name=name, value=value, source="environment"))
    return replace(snapshot, environment=replace(old, variables=variables, entries=entries))
