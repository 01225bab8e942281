"""Rules about frameworks and the grid: a change to a machine in order, and the findings and cells that are expected."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from core.doctor.examine import diagnose_snapshot
from core.knowledge.frameworks import framework_tables
from core.model.changes import SetVariable
from core.model.facts import Distribution, FrameworkBuild, Frameworks, FrameworkTrial, Gpu, Mapped, Snapshot, Variable
from core.model.findings import Finding, GridCell
from core.model.steps import Severity
from core.report.grid import as_lines
from core.rules.frameworks import environments
from core.rules.frameworks.fit import choose_torch, gpu_side, takes_python
from core.rules.root_cause import diagnose
from tests import machines as m

LINUX = m.wheel_machine()
ON_WINDOWS = replace(
    m.windows_machine(),
    pythons=(m.python(executable=rf"{m.PREFIX}\Scripts\python.exe", version="3.11.2"),),
)
RTX5090 = Gpu(index=0, name="NVIDIA GeForce RTX 5090", compute_capability="12.0")
GTX1080 = Gpu(index=0, name="NVIDIA GeForce GTX 1080", compute_capability="6.1")


def build(
    distribution: str = "torch", version: str = "2.6.0+cu124", cuda: str | None = "12.4", **fields: Any
) -> FrameworkBuild:
    known = {"prefix": m.PREFIX, "distribution": distribution, "version": version, "cuda": cuda}
    return FrameworkBuild(**(known | fields))


def machine(
    *builds: FrameworkBuild, base: Snapshot = LINUX, trials: tuple[FrameworkTrial, ...] | None = None, **python: Any
) -> Snapshot:
    """A machine whose environment has these builds; their distributions are installed."""
    python.setdefault("distributions", tuple(dist(b.distribution, b.version) for b in builds))
    home = replace((base.pythons or (m.python(),))[0], **({"ways": ()} | python))
    return replace(base, pythons=(home,), frameworks=Frameworks(builds=builds), trials=trials)


def dist(name: str, version: str, *pins: str) -> Distribution:
    return Distribution(
        name=name,
        version=version,
        location=m.SITE,
        pins=pins,
        requires=tuple(p for p in pins if p.startswith("nvidia")),
    )


def trial(**fields: Any) -> FrameworkTrial:
    known = {"prefix": m.PREFIX, "framework": "torch", "version": "2.6.0+cu124"}
    passed = {
        "reached": "convolution",
        "gpu": True,
        "right": True,
        "devices": 1,
        "device": "NVIDIA GeForce RTX 3090",
        "backward": True,
    }
    return FrameworkTrial(**(known | passed | fields))


def bad(**fields: Any) -> FrameworkTrial:
    return trial(**({"reached": "nothing", "gpu": None, "right": None, "devices": None, "device": ""} | fields))


def found(seen: Snapshot) -> list[tuple[str, str]]:
    """Severity and cause of what the rules about frameworks say beyond the good."""
    out = [f for rule in environments.RULES for f in rule(seen) if f.severity > Severity.GOOD]
    return sorted((f.severity.word, f.cause) for f in out)


def first(seen: Snapshot) -> Finding:
    return max((f for rule in environments.RULES for f in rule(seen)), key=lambda f: f.severity)


NO_DEVICE = bad(
    framework="cupy-cuda12x",
    version="14.2.0",
    reached="import",
    problem="CUDARuntimeError: cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime version",
)
CPU = build(version="2.6.0+cpu", cuda="")
ORT_BOTH = (dist("onnxruntime", "1.20.0"), dist("onnxruntime-gpu", "1.20.0"))

DRIVERS = Mapped(
    path="/usr/local/nvidia/lib64/libcuda.so.580.159.04", name="libcuda.so.580.159.04", origin="LD_LIBRARY_PATH"
)
TABLE: list[tuple[str, Snapshot, list[tuple[str, str]]]] = [
    ("healthy", machine(build()), []),
    ("CPU build, named", machine(CPU), [("error", "framework_cpu_only_build")]),
    ("CPU build, on PATH only", machine(CPU, found_by="python on PATH"), [("warning", "framework_cpu_only_build")]),
    ("CPU build, no GPU", machine(CPU, base=m.no_gpu_machine()), []),
    ("CPU build, GPU not looked for", machine(CPU, base=replace(LINUX, driver=None)), []),
    ("ROCm build", machine(build(version="2.6.0+rocm6.2", cuda="", other="ROCm 6.2")), []),
    ("build not told", machine(build(cuda=None)), []),
    ("CPU onnxruntime beside a torch with CUDA", machine(build(), build("onnxruntime", "1.31.1", "")), [("note", "framework_cpu_only_build")]),
    ("CPU onnxruntime alone", machine(build("onnxruntime", "1.31.1", "")), [("warning", "framework_cpu_only_build")]),
    ("jax without a plugin", machine(build("jax", "0.10.2", "")), [("warning", "framework_cpu_only_build")]),
    ("opencv", machine(build("opencv-python", "4.12.0", "")), []),
    ("both onnxruntimes, the GPU's files", machine(build("onnxruntime-gpu", "1.20.0", "12.2"), distributions=ORT_BOTH), [("warning", "duplicate_framework_packages")]),
    ("both onnxruntimes, the CPU's files", machine(build("onnxruntime-gpu", "1.20.0", "", really="onnxruntime 1.20.0"), distributions=ORT_BOTH), [("error", "duplicate_framework_packages"), ("warning", "framework_cpu_only_build")]),
    ("both, no GPU", machine(build("onnxruntime-gpu", "1.20.0", "12.2"), base=m.no_gpu_machine(), distributions=ORT_BOTH), [("note", "duplicate_framework_packages")]),
    ("both in different folders", machine(distributions=(ORT_BOTH[0], replace(ORT_BOTH[1], location="/elsewhere"))), []),
    ("two cuDNN wheels", machine(build(), distributions=(dist("torch", "2.6.0"), dist("nvidia-cudnn-cu11", "8.9.6.50"), dist("nvidia-cudnn-cu12", "9.1.0.70"))), [("warning", "duplicate_framework_packages")]),
    ("torch recorded twice", machine(build(), distributions=(dist("torch", "2.6.0"), dist("torch", "2.8.0"))), [("warning", "duplicate_framework_packages")]),
    ("another package recorded twice", machine(build(), distributions=(dist("torch", "2.6.0"), dist("tqdm", "4.66.0"), dist("tqdm", "4.67.1"))), [("note", "duplicate_framework_packages")]),
    ("empty stub of tensorflow-gpu", machine(distributions=(dist("tensorflow", "2.18.0"), dist("tensorflow-gpu", "2.12.0"))), []),
    ("two opencvs", machine(distributions=(dist("opencv-python", "4.12.0"), dist("opencv-python-headless", "4.12.0"))), [("note", "duplicate_framework_packages")]),
    ("built for a newer CUDA", m.with_driver(machine(build(version="2.9.1+cu130", cuda="13.0", sass=(80, 86))), cuda=m.CudaInit(status=0, driver_cuda="12.4")), [("error", "driver_too_old")]),
    ("built for a newer minor version", m.with_driver(machine(build(version="2.8.0+cu128", cuda="12.8", sass=(80, 86))), cuda=m.CudaInit(status=0, driver_cuda="12.4")), []),
    ("new GPU, old build by its files", m.with_driver(machine(build(sass=(50, 60, 70, 80, 90))), gpus=(RTX5090,)), [("error", "gpu_arch_too_new")]),
    ("new GPU, old build by the tables", m.with_driver(machine(build(version="2.5.0+cu124")), gpus=(RTX5090,)), [("error", "gpu_arch_too_new")]),
    ("new GPU, PTX", m.with_driver(machine(build(sass=(50, 90), ptx=(90,))), gpus=(RTX5090,)), []),
    ("old GPU, new build", m.with_driver(machine(build(version="2.8.0+cu128", cuda="12.8", sass=(70, 80, 120))), gpus=(GTX1080,)), [("error", "gpu_arch_too_old")]),
    ("GPU that nobody knows", m.with_driver(machine(build(sass=(50,))), gpus=(Gpu(index=0, name="?"),)), []),
    ("torchvision of another torch", machine(build(), distributions=(dist("torch", "2.6.0"), dist("torchvision", "0.23.0", "torch==2.8.0"))), [("warning", "requirement_broken")]),
    ("local version", machine(build(), distributions=(dist("torch", "2.8.0+cu128"), dist("torchvision", "0.23.0", "torch==2.8.0"))), []),
    ("requirement for another system", machine(build(), distributions=(dist("torch", "2.6.0", 'triton==3.0.0; sys_platform == "win32"'), dist("triton", "3.2.0"))), []),
    ("requirement of an extra", machine(build(), distributions=(dist("torch", "2.6.0", 'triton==3.0.0; extra == "x"'), dist("triton", "3.2.0"))), [("note", "requirement_broken")]),
    ("extras that are alternatives", machine(build(), distributions=(dist("torch", "2.6.0", 'triton==3.0.0; extra == "old"', 'triton==3.2.0; extra == "new"'), dist("triton", "3.2.0"))), []),
    ("not a requirement", machine(build(), distributions=(dist("torch", "2.6.0", "triton ==== ??"),)), []),
    ("retired pynvml", machine(build(), distributions=(dist("torch", "2.6.0"), dist("pynvml", "13.0.1"))), [("note", "")]),
    ("TensorFlow on Windows", machine(build("tensorflow", "2.18.0", ""), base=ON_WINDOWS), [("error", "tf_native_windows_unsupported")]),
    ("TensorFlow 2.10 on Windows", machine(build("tensorflow", "2.10.0", "11.2"), base=ON_WINDOWS), []),
    ("TensorFlow on Linux", machine(build("tensorflow", "2.18.0", "12.5")), []),
    ("trial passed", machine(build(), trials=(trial(),)), []),
    ("trial on the processor", machine(build(), trials=(trial(gpu=False, devices=0, device=""),)), [("warning", "")]),
    ("too old a driver, only printed", machine(build(), trials=(trial(gpu=False, devices=0, device="", printed="UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found version 11040)."),)), [("warning", "driver_too_old")]),
    ("CuPy without a driver", machine(build("cupy-cuda12x", "14.2.0", "12"), base=m.no_gpu_machine(), trials=(NO_DEVICE,)), []),
    ("CuPy with an old driver", machine(build("cupy-cuda12x", "14.2.0", "12"), trials=(NO_DEVICE,)), [("error", "driver_too_old")]),
    ("import fails", machine(build(), trials=(bad(problem="ImportError: numpy.core.multiarray"),)), [("error", "")]),
    ("page file", machine(build(), trials=(bad(problem="OSError: [WinError 1455] The paging file is too small"),)), [("error", "page_file_too_small")]),
    ("run time", machine(build(), trials=(bad(problem="OSError: [WinError 126] ... Error loading VCRUNTIME140_1.dll"),)), [("error", "vc_runtime_missing")]),
    ("old run time", machine(build(), trials=(bad(problem="OSError: [WinError 1114] c10.dll"),)), [("error", "vc_runtime_missing")]),
    ("processor", machine(build(), trials=(bad(ended="was killed by SIGILL: an instruction that this processor does not have"),)), [("error", "cpu_instruction_set_missing")]),
    ("memory", machine(build(), trials=(trial(reached="devices", right=None, problem="OutOfMemoryError: CUDA out of memory. Tried to allocate 20 MiB"),)), [("error", "gpu_memory_exhausted")]),
    ("no kernel, old GPU", m.with_driver(machine(build(sass=(120,), ptx=(120,)), trials=(trial(reached="devices", right=None, problem="AcceleratorError: CUDA error: no kernel image is available for execution on the device"),)), gpus=(GTX1080,)), [("error", "gpu_arch_too_old"), ("error", "gpu_arch_too_old")]),
    ("compiled against a newer cuDNN", machine(build(), trials=(bad(problem="RuntimeError: cuDNN version incompatibility: PyTorch was compiled  against (9, 1, 0) but found runtime version (8, 9, 7)"),)), [("error", "cudnn_minor_too_old")]),
    ("mixed", machine(build(), trials=(bad(problem="RuntimeError: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH"),)), [("error", "mixed_cudnn_sublibraries")]),
    ("variable, proved", machine(build(), trials=(bad(problem="RuntimeError: x", clean=trial()),)), [("error", "ld_library_path_override")]),
    ("variable, both fail", machine(build(), trials=(bad(problem="ImportError: x", clean=bad(problem="ImportError: x")),)), [("error", "")]),
    ("variable, works with foreign files", machine(build(), trials=(trial(mapped=(Mapped(path="/o/libcudnn.so.9", name="libcudnn.so.9", origin="LD_LIBRARY_PATH"),), clean=trial(mapped=(Mapped(path="/w/libcudnn.so.9", name="libcudnn.so.9", origin="this environment's wheel"),))),)), [("warning", "ld_library_path_override")]),
    ("variable, the driver's own folder", machine(build(), trials=(trial(mapped=(DRIVERS,), clean=trial(mapped=(replace(DRIVERS, origin="system"),))),)), []),
    ("variable, the driver of elsewhere", machine(build(), trials=(trial(mapped=(DRIVERS,), clean=trial(mapped=(replace(DRIVERS, path="/lib/libcuda.so.580.159.04", origin="system"),))),)), []),
    ("variable, the same file without it", machine(build(), trials=(trial(mapped=(Mapped(path="/o/libcudnn.so.9", name="libcudnn.so.9", origin="LD_LIBRARY_PATH"),), clean=trial(mapped=(Mapped(path="/o/libcudnn.so.9", name="libcudnn.so.9", origin="system"),))),)), []),
    ("variable, only copy there", machine(build(), trials=(trial(mapped=(Mapped(path="/o/libcudnn.so.9", name="libcudnn.so.9", origin="LD_LIBRARY_PATH"),), clean=bad(problem="x")),)), []),
    ("wrong results", machine(build(), trials=(trial(right=False),)), [("error", "")]),
    ("no answer in time", machine(build(), trials=(bad(ended="did not end within 60 seconds and was stopped", timed_out=True),)), [("unknown", "")]),
]  # fmt: skip


@pytest.mark.parametrize(("seen", "expected"), [(s, e) for _, s, e in TABLE], ids=[n for n, _, _ in TABLE])
def test_findings(seen: Snapshot, expected: list[tuple[str, str]]) -> None:
    assert found(seen) == expected


@pytest.mark.parametrize("seen", [s for _, s, _ in TABLE], ids=[n for n, _, _ in TABLE])
def test_every_report_has_its_grid_and_is_said_in_words(seen: Snapshot) -> None:
    report = diagnose_snapshot(seen)
    assert report.grid is not None
    assert all(len(line) < 400 for line in as_lines(report.grid))
    assert sum(f.primary for f in report.findings) <= 1


def cell(seen: Snapshot, framework: str = "PyTorch") -> GridCell:
    report = diagnose_snapshot(seen)
    assert report.grid is not None
    return next(c for r in report.grid.rows for c in r.cells if c.framework == framework)


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        (machine(build(sass=(80, 90)), trials=(trial(),)), "runs"),
        (machine(build(sass=(80, 90))), "should run"),
        (machine(build()), "should run"),  # the GPUs are not stated, but cuDNN answered
        (replace(machine(build(version="2.11.0+cu128", cuda="12.8")), loads=()), "not decided"),
        (machine(build(cuda=None)), "not decided"),
        (machine(CPU), "cpu only"),
        (machine(build(sass=(80,)), trials=(trial(gpu=False, devices=0, device=""),)), "cpu only"),
        (machine(build(), base=m.no_gpu_machine()), "cpu only"),
        (m.with_driver(machine(build(sass=(50, 90))), gpus=(RTX5090,)), "cannot run"),
        (m.with_driver(machine(build(sass=(80,))), cuda=m.CudaInit(status=999)), "cannot run"),
        (m.with_driver(machine(build(cuda="13.0", sass=(80,))), cuda=m.CudaInit(status=0, driver_cuda="12.4")), "cannot run"),
        (machine(build(sass=(80,)), trials=(bad(problem="ImportError: x"),)), "cannot run"),
        (machine(build(sass=(80,)), problem="Its interpreter is not there."), "not decided"),
    ],
)  # fmt: skip
def test_cells(seen: Snapshot, verdict: str) -> None:
    assert cell(seen).verdict == verdict


def test_a_framework_that_nothing_here_runs_is_told_of_in_the_choice() -> None:
    lines = as_lines(diagnose_snapshot(machine(build(version="2.6.0+cpu", cuda=""))).grid)
    assert "    PyTorch: none is known to use the GPU" in lines
    assert not any("--try" in line for line in lines)
    assert any("--try" in line for line in as_lines(diagnose_snapshot(machine(build(sass=(80,)))).grid))


@pytest.mark.parametrize(
    ("seen", "framework", "verdict", "words"),
    [
        (machine(build("tensorflow", "2.20.0", ""), base=ON_WINDOWS), "TensorFlow", "cpu only", "use WSL2"),
        (machine(build("tensorrt-cu12-libs", "10.13.0", "12", sass=(80, 86))), "TensorRT", "should run", "CUDA 12"),
        (machine(build("tensorrt-cu12", "10.13.0", "12")), "TensorRT", "not decided", "the GPUs are not stated"),
        (machine(build("tensorrt", "8.6.1", None)), "TensorRT", "not decided", "do not show"),
        (machine(build("cupy-cuda12x", "14.2.0", "12", sass=(50, 80, 90))), "CuPy", "should run", "CUDA 12"),
    ],
)  # fmt: skip
def test_cells_of_others(seen: Snapshot, framework: str, verdict: str, words: str) -> None:
    assert cell(seen, framework).verdict == verdict
    assert words in cell(seen, framework).reason


def test_the_grid_says_which_one_to_use_for_what() -> None:
    far = m.python(
        prefix="/far", found_by="pyenv", executable="/far/bin/python", distributions=(dist("torch", "2.8.0"),)
    )
    builds = (CPU, build(prefix="/far", version="2.8.0+cu128", cuda="12.8", sass=(80,)))
    seen = replace(
        machine(CPU), frameworks=Frameworks(builds=builds, others=(far, m.python(prefix="/empty", distributions=())))
    )
    made = diagnose_snapshot(seen).grid
    assert made is not None
    assert made.best == (("PyTorch", "/far"),)
    text = "\n".join(as_lines(made))
    assert "1 more without a framework: /empty" in text
    assert "Which one to use:\n    PyTorch: /far" in text


# --- the cures ---------------------------------------------------------------------------------------------


def fix(seen: Snapshot) -> str:
    its = first(seen).fix
    assert its is not None
    return f"{its.title}\n{its.advice}"


INDEX = "--index-url https://download.pytorch.org/whl/"


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (m.with_driver(machine(build(version="2.9.1+cu130", cuda="13.0", sass=(80, 86))), cuda=m.CudaInit(status=0, driver_cuda="12.4")), f"torch==2.9.1 {INDEX}cu128"),
        (machine(build(version="2.8.0+cpu", cuda="")), f"{m.PREFIX}/bin/python -m pip install --force-reinstall torch==2.8.0 {INDEX}cu128"),
        (machine(build(version="2.13.0+cpu", cuda="")), f"torch==2.13.0 {INDEX}cu130"),
        (m.with_driver(machine(build(version="2.13.0+cpu", cuda="")), cuda=m.CudaInit(status=0, driver_cuda="12.4", device_count=1)), f"torch==2.13.0 {INDEX}cu126"),
        (m.with_driver(machine(build(version="2.13.0+cpu", cuda="")), gpus=(GTX1080,)), f"torch==2.13.0 {INDEX}cu126"),
        (m.with_driver(machine(build(version="2.13.0+cpu", cuda="")), cuda=m.CudaInit(status=0, driver_cuda="11.8", device_count=1), nvml=None), f'"torch==2.7.*" {INDEX}cu118'),
        (m.with_driver(machine(build(version="2.13.0+cpu", cuda="")), cuda=m.CudaInit(status=0, driver_cuda="9.2", device_count=1), nvml=None), "No known build of PyTorch fits"),
        (m.with_driver(machine(build(sass=(50, 90))), gpus=(RTX5090,)), f'"torch==2.15.*" {INDEX}cu130'),
        (machine(build("tensorflow", "2.18.0", ""), base=ON_WINDOWS), "No TensorFlow after 2.10 can see a GPU on native Windows: use WSL2."),
        (machine(build("tensorflow", "2.18.0", "")), '"tensorflow[and-cuda]==2.18.0"'),
        (machine(build("jax", "0.10.2", "")), '"jax[cuda13]==0.10.2"'),
        (m.with_driver(machine(build("jax", "0.10.2", "")), cuda=m.CudaInit(status=0, driver_cuda="12.4", device_count=1)), '"jax[cuda12]==0.10.2"'),
        (machine(build("onnxruntime-gpu", "1.20.0", "", really="onnxruntime 1.20.0"), distributions=ORT_BOTH), "pip uninstall -y onnxruntime onnxruntime-gpu"),
    ],
)  # fmt: skip
def test_the_command_is_for_that_environment_and_this_machine(seen: Snapshot, words: str) -> None:
    assert words in fix(seen)


def test_companions_come_along_and_spaces_are_quoted() -> None:
    some = (dist("torch", "2.8.0+cpu"), dist("torchvision", "0.23.0+cpu"))
    seen = machine(build(version="2.8.0+cpu", cuda=""), distributions=some, executable="/home/a b/bin/python")
    assert f'"/home/a b/bin/python" -m pip install --force-reinstall torch==2.8.0 torchvision {INDEX}cu128' in fix(seen)


def test_no_command_names_a_build_that_the_tables_do_not_have() -> None:
    """Every driver and GPU generation against every release: what is chosen is in the tables, and runs."""
    published = {(b.torch, b.cuda) for b in framework_tables().torch}
    chosen = 0
    for driver_cuda in ("9.2", "10.2", "11.4", "11.8", "12.1", "12.8", "13.0", "13.2", "14.0"):
        for capability in ("3.5", "5.2", "6.1", "7.0", "7.5", "8.6", "8.9", "9.0", "10.0", "12.0"):
            for version in sorted({b.torch for b in framework_tables().torch}):
                gpu = Gpu(index=0, name="x", compute_capability=capability)
                cuda = m.CudaInit(status=0, driver_cuda=driver_cuda, device_count=1)
                side = gpu_side(m.with_driver(machine(build()), gpus=(gpu,), cuda=cuda, nvml=None))
                choice = choose_torch(version + ".0", m.python(version="3.11.2"), side)
                if choice is not None:
                    chosen += 1
                    assert (choice.build.torch, choice.build.cuda) in published
                    assert side.runs_cuda(choice.build.cuda)
                    assert choice.same_release or takes_python(choice.build.python, "3.11.2")
    assert chosen > 500


@pytest.mark.parametrize(
    ("wanted", "python", "takes"),
    [(">=3.10, <=(3.14 exp.)", "3.9.1", False), (">=3.10, <=(3.14 exp.)", "3.14.0", True), ("3.9-3.12", "3.13.0", False), ("", "3.13.0", True), (">=3.8, <=3.11", "", True)],
)  # fmt: skip
def test_which_python_a_release_takes(wanted: str, python: str, takes: bool) -> None:
    assert takes_python(wanted, python) is takes


def test_every_row_of_the_tables_names_its_source() -> None:
    known = framework_tables()
    rows = [
        r
        for field in known.__struct_fields__
        if field not in ("known_until", "torch_index", "processors")
        for r in getattr(known, field)
    ]
    assert len(rows) > 140
    assert [r for r in rows if len(r.source) < 8] == []
    assert {f.id for f in known.facts} >= {
        "tf_windows",
        "torch_windows",
        "jax_windows",
        "tf_extra",
        "pynvml",
        "one_module",
    }


# --- which environment is active ---------------------------------------------------------------------------


def active(prefix: str, *pythons: Any, name: str = "VIRTUAL_ENV") -> Snapshot:
    variables = (Variable(name=name, value=prefix, source="environment"),)
    environment = replace(LINUX.environment, variables=variables) if LINUX.environment else None
    return replace(LINUX, environment=environment, pythons=pythons, frameworks=Frameworks(builds=(build(prefix="/b"),)))


def test_an_activated_environment_whose_python_does_not_start() -> None:
    one = m.python(prefix="/a", found_by="VIRTUAL_ENV", distributions=())
    other = m.python(prefix="/b", found_by="python on PATH")
    assert found(active("/a", one, other)) == [("warning", "wrong_environment_active")]
    base = m.python(prefix="/a", found_by="CONDA_PREFIX", distributions=())
    assert found(active("/a", base, other, name="CONDA_PREFIX")) == [("note", "wrong_environment_active")]
    both = m.python(prefix="/a", found_by="VIRTUAL_ENV, python on PATH")
    assert found(active("/a", both)) == []
    assert found(active("/ours", other)) == []


def test_an_active_environment_without_a_framework_is_a_note() -> None:
    one = m.python(prefix="/a", found_by="CONDA_PREFIX, python on PATH", distributions=())
    other = m.python(prefix="/b", found_by="pyenv")
    assert found(active("/a", one, other, name="CONDA_PREFIX")) == [("note", "wrong_environment_active")]


def test_a_session_that_has_the_old_path() -> None:
    base = m.windows_machine()
    new = Variable(name="Path", value=rf"C:\Windows;{m.INSTALLER}", scope="machine", source="HKLM")
    old = Variable(name="PATH", value=r"C:\Windows", source="environment")
    environment = replace(base.environment, variables=(old, new)) if base.environment else None
    assert found(replace(base, environment=environment)) == [("warning", "process_env_not_inherited")]
    same = (
        replace(environment, variables=(replace(old, value=f"C:\\Windows;{m.INSTALLER}\\"), new))
        if environment
        else None
    )
    assert found(replace(base, environment=same)) == []


def test_path_that_python_does_not_search() -> None:
    base = m.windows_machine()
    lost = m.search("cudnn64_9.dll", m.nothing(r"C:\ml\Lib\cudnn64_9.dll"))
    load = m.Load(
        consumer=replace(m.PYTHON, prefix=r"C:\ml", label=r"the Python environment C:\ml"), major=9, resolutions=(lost,)
    )
    seen = replace(base, loads=(*(base.loads or ()), load), pythons=(m.python(prefix=r"C:\ml"),))
    assert found(seen) == [("error", "python_dll_search_change")]
    assert next(f for f in diagnose(seen) if f.primary).cause == "python_dll_search_change"
    found_here = replace(load, resolutions=(m.search("cudnn64_9.dll", m.found(r"C:\ml\cudnn64_9.dll")),))
    assert found(replace(seen, loads=(*(base.loads or ()), found_here))) == []


def test_a_compiler_of_another_major() -> None:
    kit = m.toolkit(
        "/usr/local/cuda/lib64",
        {},
        root="/usr/local/cuda",
        nvcc="/usr/local/cuda/bin/nvcc",
        nvcc_version="13.0",
        named_by=("PATH",),
    )
    seen = machine(build())
    assert found(replace(seen, toolkits=(kit,))) == [("note", "nvcc_toolkit_mismatch_build")]
    assert found(replace(seen, toolkits=(replace(kit, nvcc_version="12.8"),))) == []


@pytest.mark.parametrize(
    ("distribution", "variable", "value"),
    [
        ("jax", "XLA_PYTHON_CLIENT_PREALLOCATE", "false"),
        ("tensorflow", "TF_FORCE_GPU_ALLOW_GROWTH", "true"),
        ("tensorflow-gpu", "TF_FORCE_GPU_ALLOW_GROWTH", "true"),
    ],
)
def test_one_that_fails_only_as_it_takes_all_memory_is_told_to_take_what_it_needs(
    distribution: str, variable: str, value: str
) -> None:
    greedy = trial(framework=distribution, right=None, problem="CUDNN_STATUS_INTERNAL_ERROR", reached="devices")
    made = (trial(framework=distribution, at_once=greedy),)
    seen = machine(build(distribution, "2.19.0"), trials=made, kind="venv")
    said = next(f for f in diagnose_snapshot(seen).findings if f.id == f"frameworks.memory-{distribution}")
    assert (said.cause, said.severity) == ("gpu_memory_exhausted", Severity.ERROR)
    assert said.fix is not None
    (change,) = said.fix.changes
    assert isinstance(change, SetVariable)
    assert (change.name, change.scope, change.at) == (variable, "environment", m.PREFIX)
    assert change.after is not None
    assert change.after.text == f"set {value}"


@pytest.mark.parametrize("greedy", [None, trial(framework="jax")], ids=["not tried", "works"])
def test_one_that_works_with_all_memory_is_told_nothing(greedy: FrameworkTrial | None) -> None:
    seen = machine(build("jax", "0.7.2"), trials=(trial(framework="jax", at_once=greedy),))
    assert [f for f in diagnose_snapshot(seen).findings if f.cause == "gpu_memory_exhausted"] == []
