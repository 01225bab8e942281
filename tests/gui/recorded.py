"""The machines that the window must show well, as Snapshots; those with a cure change with the variables that are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from core.doctor.examine import diagnose_snapshot
from core.model.facts import (
    Benchmark,
    CudaInit,
    Distribution,
    Environment,
    FrameworkRun,
    Gpu,
    GpuCard,
    GpuRun,
    How,
    Nvml,
    PathEntry,
    PciDevice,
    ProbeError,
    PythonEnvironment,
    RateLimit,
    Rung,
    Snapshot,
    Timing,
    Variable,
)
from core.model.findings import Report
from tests import machines as m

OTHER = r"C:\tools\cudnn-9.1\bin"
USER = r"HKCU\Environment"
MACHINE = r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment"
GONE = (r"C:\gone\cuda\bin", r"C:\gone\cudnn\bin")
BIN = m.TOOLKIT + r"\bin"


def entries(variables: Iterable[Variable], *gone: str) -> tuple[PathEntry, ...]:
    """Return what the environment probe makes of the kept PATHs, the machine's before the user's."""
    kept = sorted((v for v in variables if v.name.upper() == "PATH"), key=lambda v: v.scope != "machine")
    found = [(v.scope, text) for v in kept for text in v.value.split(";") if text]
    return tuple(
        PathEntry(
            variable="PATH", index=n, text=text, expanded=text, scope=scope, exists=text not in gone,
            marks=("missing",) if text in gone else (),
        )
        for n, (scope, text) in enumerate(found)
    )  # fmt: skip


def windows(path: str, *, machine: str = BIN) -> tuple[Variable, ...]:
    """Return the variables of a Windows machine whose user has this PATH."""
    return (
        Variable(name="Path", value=machine, scope="machine", kind="REG_EXPAND_SZ", source=MACHINE),
        Variable(name="Path", value=path, scope="user", kind="REG_EXPAND_SZ", source=USER),
        Variable(name="CUDA_PATH", value=m.TOOLKIT, scope="machine", kind="REG_SZ", source=MACHINE),
    )


def on_windows(variables: Iterable[Variable], *gone: str) -> Snapshot:
    """Return what is seen of a Windows machine: the loader takes the first cuDNN that PATH leads to."""
    kept = tuple(variables)
    snapshot = m.windows_machine()
    good = m.cudnn(m.INSTALLER, "9.10.2", system="windows", origin="installer", environment="", owner="")
    old = m.cudnn(OTHER, "9.1.0", system="windows", origin="folder", environment="", owner="")
    places = entries(kept, *gone)
    named = [c for e in places for c in (good, old) if c.folder == e.text]
    copies = (good, old) if any(OTHER in v.value for v in kept) else (good,)
    name = "cudnn64_9.dll"
    attempts = tuple(m.found(f"{c.folder}\\{name}", How.PATH, c.folder) for c in named)
    load = m.load(named[0] if named else good, m.PLAIN, system="windows", how=How.PATH)
    load = replace(load, wanted_version="9.10.2", wanted_source="a program's import table")
    if not named:
        load = replace(load, roll_call=None)
    search = m.search(name, *(attempts or (m.nothing(f"{BIN}\\{name}", How.PATH),)))
    rest = [r for r in load.resolutions if r.name != name] if named else []
    return replace(
        snapshot,
        cudnn=copies,
        environment=Environment(variables=kept, entries=(*places, *m.paths(m.TOOLKIT, variable="CUDA_PATH"))),
        loads=(replace(load, resolutions=(search, *rest)),),
    )


def sublibrary_missing() -> Snapshot:
    snapshot = m.without_file(m.wheel_machine(), "cnn")
    copy = (snapshot.cudnn or ())[0]
    roll = m.refused(m.cudnn(), "cnn", "libcudnn_cnn.so.9: cannot open shared object file: No such file or directory")
    snapshot = m.with_search(snapshot, "libcudnn_cnn.so.9", m.nothing(f"{copy.folder}/libcudnn_cnn.so.9", How.RUNPATH))
    return m.with_load(snapshot, roll_call=roll)


def no_driver() -> Snapshot:
    gpu = PciDevice(
        address="0000:01:00.0", vendor_id="10de", device_id="2684", name="NVIDIA GeForce RTX 4090", bound_driver=""
    )
    return replace(m.wheel_machine(), driver=m.without_gpu(pci=(gpu,)))


def ten_gpus() -> Snapshot:
    gpus = tuple(
        Gpu(index=i, name="NVIDIA H200", compute_capability="9.0", memory_total=143_771 << 20, uuid=f"GPU-{i}")
        for i in range(10)
    )
    return m.with_driver(
        m.wheel_machine(),
        gpus=gpus,
        nvml=Nvml(status=0, driver_version="580.65.06", driver_cuda="13.0", device_count=10),
        cuda=CudaInit(status=0, driver_cuda="13.0", device_count=10),
    )


def fifty_pythons(start: Snapshot | None = None) -> Snapshot:
    snapshot = start or m.wheel_machine()
    frameworks = (("torch", "2.6.0"), ("tensorflow", "2.18.0"), ("jax", "0.4.38"), ("onnxruntime-gpu", "1.20.1"))
    pythons = tuple(
        PythonEnvironment(
            prefix=f"/home/ada/projects/{i:02}-a-project-with-a-rather-long-name/.venv",
            executable=f"/home/ada/projects/{i:02}-a-project-with-a-rather-long-name/.venv/bin/python",
            version=f"3.{10 + i % 4}.{i % 9}",
            kind="venv",
            distributions=(
                *(Distribution(name=n, version=v) for j, (n, v) in enumerate(frameworks) if (i >> j) & 1),
                Distribution(name="nvidia-cudnn-cu12", version="9.1.0.70"),
            ),
        )
        for i in range(49)
    )
    return replace(snapshot, pythons=(*(snapshot.pythons or ()), *pythons))


def everything_broken() -> Snapshot:
    """Fifty environments, each with a spoilt cuDNN of its own; no driver, a search path that leads nowhere."""
    many = fifty_pythons()
    copies, loads = [], []
    for i, p in enumerate(many.pythons or ()):
        folder = f"{p.prefix}/lib/python3.11/site-packages/nvidia/cudnn/lib"
        copy = m.cudnn(folder, "9.1.0", environment=p.prefix)
        files = tuple(
            replace(f, state="truncated", problem="ends before its sections") if "_ops" in f.name else f
            for f in copy.files
        )
        copy = (
            replace(copy, files=files)
            if i % 2
            else replace(
                copy, files=copy.files[:-2], missing=tuple(f.name for f in copy.files[-2:]), missing_source="RECORD"
            )
        )
        copies.append(copy)
        consumer = replace(
            m.PYTHON, id=f"python:{p.prefix}", prefix=p.prefix, label=f"the Python environment {p.prefix}"
        )
        roll = m.refused(m.cudnn(folder), "ops" if i % 2 else "engines_runtime_compiled", "file too short")
        loads.append(replace(m.load(m.cudnn(folder), consumer), roll_call=roll))
    gone = tuple(f"/opt/gone/{n:03}/lib" for n in range(80))
    places = tuple(
        PathEntry(variable="LD_LIBRARY_PATH", index=n, text=f, expanded=f, exists=False, marks=("missing",))
        for n, f in enumerate(gone)
    )
    return replace(
        many,
        cudnn=tuple(copies),
        loads=tuple(loads),
        driver=m.working_driver(
            gpus=None, nvml=Nvml(status=18, status_name="NVML_ERROR_LIB_RM_VERSION_MISMATCH"), cuda=CudaInit(status=803, status_name="CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"), module_version="570.124.06",
        ),
        environment=Environment(variables=(Variable(name="LD_LIBRARY_PATH", value=":".join(gone), source="environment"), Variable(name="CUDA_HOME", value="/opt/gone/cuda", source="environment")), entries=(*places, *m.paths("/usr/bin"))),
        toolkits=tuple(
            m.toolkit(f"/usr/local/cuda-{v}/lib64", {"libcudart.so.12": f"{v}.127", "libcublas.so.12": f"{v}.5"}, root=f"/usr/local/cuda-{v}", origin="installer", version=v)
            for v in ("11.8", "12.1", "12.4", "12.6", "12.8")
        ),
        errors=(ProbeError(probe="loads", kind="time-out", message="It gave no answer in time."),),
    )  # fmt: skip


def measured() -> Snapshot:
    """A machine whose one GPU was benchmarked; the figures are made up."""
    limits = (("fp32", 60.0, 0.8), ("tf32", 400.0, 0.7), ("fp16", 900.0, 0.7), ("int8", 1900.0, None))
    timings = tuple(
        Timing(
            shape="64x256x56x56",
            label="3x3, 256 channels",
            type=kind,
            layout="NCHW" if kind == "fp32" else "NHWC",
            milliseconds=1.0,
            teraflops=None if kind == "int8" else limit * 0.65,
            problem="this cuDNN does not have this kind of number" if kind == "int8" else "",
        )
        for kind, limit, _typical in limits
    )
    run = GpuRun(
        index=0,
        card=GpuCard(name="NVIDIA H200", compute_capability="9.0"),
        consumer="the Python environment /home/ada/ml",
        version="9.1.0",
        rungs=(Rung(name="cuDNN convolves rightly", layer="cudnn", state="passed"),),
        timings=timings,
        limits=tuple(RateLimit(type=k, teraflops=t, typical=u) for k, t, u in limits if k != "int8"),
        frameworks=(
            FrameworkRun(
                framework="torch 2.11.0+cu130", gpu=True, timings=tuple(_of_torch(t) for t in timings if t.teraflops)
            ),
            FrameworkRun(framework="onnxruntime 1.30.0", gpu=False, right=True),
        ),
    )
    return replace(ten_gpus(), benchmark=Benchmark(gpus=(run,), seconds=9.0))


def _of_torch(ours: Timing) -> Timing:
    """A little slower than cuDNN alone; fp32 with the channels last."""
    return replace(ours, by="torch 2.11.0+cu130", layout="NHWC", teraflops=(ours.teraflops or 0) * 0.9)


MACHINES: dict[str, Callable[[], Snapshot]] = {
    "healthy": m.wheel_machine,
    "folder not on path": lambda: on_windows(windows(r"C:\Users\ada\bin")),
    "shadowed": lambda: on_windows(windows(rf"{OTHER};{m.INSTALLER};C:\Users\ada\bin")),
    "sub-library missing": sublibrary_missing,
    "no driver": no_driver,
    "no gpu": m.no_gpu_machine,
    "ten gpus": ten_gpus,
    "fifty pythons": fifty_pythons,
    "everything broken": everything_broken,
}
"""Every machine of the window's tests."""

CURABLE = ("folder not on path", "shadowed")
"""Those of them that Convalesce itself can cure."""


def report(name: str) -> Report:
    """Return the report on a machine."""
    return diagnose_snapshot(MACHINES[name]())


def hidden_gpus(variables: Iterable[Variable]) -> Snapshot:
    """Return what is seen of ten GPUs that a kept variable may hide from every program."""
    kept = tuple(variables)
    snapshot = on_windows(kept)
    hidden = any(v.name == "CUDA_VISIBLE_DEVICES" for v in kept)
    cuda = CudaInit(status=100, status_name="CUDA_ERROR_NO_DEVICE") if hidden else CudaInit(status=0, device_count=10)
    return m.with_driver(
        snapshot, gpus=ten_gpus().driver.gpus, cuda=cuda, cuda_unhidden=CudaInit(status=0, device_count=10)
    )


def dead_entries(variables: Iterable[Variable]) -> Snapshot:
    """Return what is seen of a machine without any GPU whose PATH names folders that are gone."""
    return replace(on_windows(variables, *GONE), driver=m.without_gpu())


def much_broken(variables: Iterable[Variable]) -> Snapshot:
    """Return what is seen of a machine without a driver, with fifty environments and a CUDA_PATH that leads nowhere."""
    kept = tuple(variables)
    snapshot = fifty_pythons(on_windows(kept))
    cuda_path = next((v.value for v in kept if v.name == "CUDA_PATH"), "")
    assert snapshot.environment is not None
    rest = tuple(e for e in snapshot.environment.entries if e.variable != "CUDA_PATH")
    named = PathEntry(
        variable="CUDA_PATH", index=0, text=cuda_path, expanded=cuda_path, scope="user", exists=cuda_path == m.TOOLKIT
    )
    marked = replace(named, marks=() if named.exists else ("missing",))
    return replace(
        snapshot,
        environment=replace(snapshot.environment, entries=(*rest, *((marked,) if cuda_path else ()))),
        driver=m.without_gpu(
            pci=(PciDevice(address="PCI bus 1", vendor_id="10DE", name="NVIDIA GeForce RTX 4090", bound_driver=""),)
        ),
    )


def without_cudnn(variables: Iterable[Variable]) -> Snapshot:
    """Return what is seen of a Windows machine on which a program looks for a cuDNN that nobody has installed."""
    return replace(on_windows(variables), cudnn=())
