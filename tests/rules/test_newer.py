"""What is newer than this program knows is never judged: neither wrong nor in order, whatever else the machine has."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec
import pytest
from msgspec.structs import replace

from core.doctor.examine import diagnose_snapshot
from core.knowledge.horizon import horizon_of, is_beyond_horizon, release_family
from core.loader.contents import cuda_major
from core.model.facts import Distribution, FrameworkBuild, Frameworks, Gpu, Snapshot
from core.model.findings import Finding, Report
from core.model.steps import Severity
from core.rules.cudnn import cuda_libraries
from core.rules.driver.compatibility import code_runs, is_tegra, ptx_compiles
from core.rules.frameworks.grid import make_grid
from core.rules.newer import FAMILY_NAMES
from core.rules.root_cause import diagnose
from tests import machines as m
from tests import test_pseudo

NEWER = re.compile(r"\.newer-")


def shifted(seen: Snapshot, *changes: tuple[str, str]) -> Snapshot:
    """Return the same machine with every version that a pattern finds moved beyond the tables."""
    raw = msgspec.json.encode(seen).decode()
    for pattern, new in changes:
        raw = re.sub(pattern, new, raw)
    return msgspec.json.decode(raw, type=Snapshot)


def of_another_gpu(seen: Snapshot) -> Snapshot:
    if seen.driver is None or not seen.driver.gpus:
        return seen
    gpus = tuple(replace(g, compute_capability="13.0") for g in seen.driver.gpus)
    return replace(seen, driver=replace(seen.driver, gpus=gpus))


def of_cudnn_10(seen: Snapshot) -> Snapshot:
    """Every cuDNN 9 or 8 is cuDNN 10: file names, versions, packages, loads."""
    return shifted(
        seen,
        (r"(cudnn\w*)\.so\.[89](?=[\"./])", r"\1.so.10"),
        (r"(cudnn\w*64)_[89]\.dll", r"\1_10.dll"),
        (r'("major":)[89](?=[,}])', r"\g<1>10"),
        (r'("(?:version|wanted_version|header_version)":")[89]\.(\d+\.\d+(?:\.\d+)?")', r"\g<1>10.\2"),
        (r"(nvidia-cudnn-cu\d\d(?:==| ))[89]\.", r"\g<1>10."),
    )


def of_torch_2_17(seen: Snapshot) -> Snapshot:
    return shifted(
        seen,
        (r'("name":"torch","version":")[\d.]+', r"\g<1>2.17.0"),
        (r'("distribution":"torch","version":")[\d.]+', r"\g<1>2.17.0"),
        (r'"torch [\d.]+', '"torch 2.17.0'),
        (r'("torch\s*\(?==\s*)[\d.]+', r"\g<1>2.17.0"),
    )


def of_cuda_14(seen: Snapshot) -> Snapshot:
    """Everything but the driver was made for CUDA 14."""
    seen = shifted(
        seen,
        (r"(lib(?:cublas|cublasLt|cudart|nvrtc)\.so\.)1[0-3]", r"\g<1>14"),
        (r"((?:cublas|cublasLt|cudart)64_)1[0-3]\d?\.dll", r"\g<1>14.dll"),
        (r"(nvrtc64_)1[0-3]\d_0\.dll", r"\g<1>140_0.dll"),
        (r"(nvidia-[a-z-]+-cu)1[1-3]", r"\g<1>14"),
    )
    frameworks = seen.frameworks
    if frameworks:
        builds = tuple(replace(b, cuda="14.0" if b.cuda else b.cuda) for b in frameworks.builds)
        seen = replace(seen, frameworks=replace(frameworks, builds=builds))
    return replace(
        seen,
        toolkits=tuple(replace(t, version="14.0.1" if t.version else t.version) for t in seen.toolkits)
        if seen.toolkits is not None
        else None,
        cudnn=tuple(replace(c, cuda_major=14) for c in seen.cudnn) if seen.cudnn is not None else None,
    )


SHIFTS: dict[str, tuple[Callable[[Snapshot], Snapshot], frozenset[str]]] = {
    "GPU 13.0": (of_another_gpu, frozenset({"gpu_arch_too_new", "gpu_arch_too_old"})),
    "cuDNN 10": (
        of_cudnn_10,
        frozenset(
            {
                "cudnn_major_mismatch",
                "cudnn_minor_too_old",
                "cudnn_cuda_major_mismatch",
                "cudnn_sublibrary_missing",
                "mixed_cudnn_sublibraries",
                "gpu_arch_too_new",
                "gpu_arch_too_old",
            }
        ),
    ),
    "PyTorch 2.17": (of_torch_2_17, frozenset()),
    "CUDA 14": (
        of_cuda_14,
        frozenset({"driver_too_old", "cudnn_cuda_major_mismatch", "cuda_toolkit_version_mismatch"}),
    ),
}
"""How a machine moves beyond the tables, and the causes that would be a verdict about that version."""


def faults(report: Report) -> set[tuple[str, str]]:
    """Return cause and subject of what is called wrong; a build that the driver says it cannot run is the driver's answer."""
    return {
        (f.cause, f.subject)
        for f in report.findings
        if f.severity >= Severity.WARNING and f.cause and not f.id.startswith("frameworks.cuda-")
    }


def on_aarch64(seen: Snapshot) -> Snapshot:
    return shifted(seen, ('x86_64(?=["-])', "aarch64"))


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("name", test_pseudo.MADE)
def test_a_version_beyond_the_tables_is_no_error_and_nothing_to_praise(name: str, shift: str) -> None:
    move, verdicts = SHIFTS[shift]
    before = test_pseudo.snapshot(name)
    seen = move(before)
    now = diagnose_snapshot(seen)
    causes = {cause for cause, _subject in faults(diagnose_snapshot(before))}
    assert {cause for cause, _subject in faults(now)} - causes == set()
    assert {cause for cause, _subject in faults(now)} & verdicts == set()
    good = [f for f in now.findings if f.severity is Severity.GOOD]
    if shift == "cuDNN 10":
        assert [f.title for f in good if f.id == "cudnn.loads"] == []
    if shift == "CUDA 14":
        assert [f.title for f in good if f.id in ("cudnn.loads", "toolkit.whole") and "unknown" not in f.title] == []


def newest(findings: tuple[Finding, ...]) -> list[Finding]:
    return [f for f in findings if NEWER.search(f.id)]


@pytest.mark.parametrize("place", [m.wheel_machine, m.windows_machine, lambda: on_aarch64(m.wheel_machine())])
@pytest.mark.parametrize("shift", SHIFTS)
def test_it_is_said_with_the_date_of_the_tables(place: Callable[[], Snapshot], shift: str) -> None:
    seen = place()
    if not seen.pythons:
        seen = replace(seen, pythons=(m.python(),))
    findings = diagnose(SHIFTS[shift][0](seen))
    told = newest(findings)
    assert told
    assert {f.severity for f in told} == {Severity.UNKNOWN}
    days = {horizon_of(family).known_until for family in FAMILY_NAMES}
    assert all(any(day in e.source for day in days for e in f.evidence) for f in told)
    assert max(f.severity for f in findings) is Severity.UNKNOWN
    assert [f.cause for f in findings if f.primary] == []


def home(version: str, cuda: str, *, system: str = "linux", **fields: object) -> Snapshot:
    """Return a machine whose active environment has PyTorch of this version, built for this CUDA ("" for none)."""
    seen = m.wheel_machine() if system == "linux" else replace(m.windows_machine(), driver=m.working_driver())
    prefix = m.PREFIX if system == "linux" else r"C:\ml"
    python = m.python(
        prefix=prefix,
        executable=prefix + (r"\python.exe" if system == "windows" else "/bin/python"),
        version="3.12.1",
        distributions=(Distribution(name="torch", version=version), Distribution(name="torchvision", version="0.30.0")),
    )
    build = FrameworkBuild(prefix=prefix, distribution="torch", version=version, cuda=cuda, cuda_source="version.py")
    return replace(seen, pythons=(python,), frameworks=Frameworks(builds=(replace(build, **fields),)), loads=())


def of(findings: tuple[Finding, ...], id: str) -> Finding:
    return next(f for f in findings if f.id == id)


@pytest.mark.parametrize("system", ["linux", "windows"])
def test_a_newer_torch_without_cuda_is_never_exchanged_for_an_older_one(system: str) -> None:
    findings = diagnose(home("2.17.0+cpu", "", system=system))
    fix = of(findings, "frameworks.cpu-build-torch").fix
    assert fix is not None
    assert "torch==2.17.0 torchvision --index-url" in fix.advice
    assert not re.search(r"torch==(?!2\.17\.0)", fix.advice)
    assert horizon_of("torch").known_until in fix.advice
    assert newest(findings) == []


def test_a_newer_build_for_processors_is_no_matter_of_the_tables() -> None:
    beside = replace(home("2.17.0+cpu", ""), driver=m.without_gpu())
    assert newest(diagnose(beside)) == []


def test_a_known_torch_without_cuda_gets_the_build_that_the_driver_knows() -> None:
    fix = of(diagnose(home("2.15.0+cpu", "")), "frameworks.cpu-build-torch").fix
    assert fix is not None
    assert "torch==2.15.0 torchvision --index-url https://download.pytorch.org/whl/cu130" in fix.advice


def test_what_reads_as_too_old_for_a_newer_torch_names_no_older_one() -> None:
    seen = home("2.17.0+cu130", "13.0", sass=(90, 100), ptx=())
    found = of(diagnose(seen), "frameworks.code-torch")
    assert found.fix is not None
    assert "2.15.*" not in found.fix.advice
    assert "2.14" not in found.fix.advice


def test_a_python_that_a_release_does_not_take_is_not_offered_it() -> None:
    seen = home("2.5.1+cu118", "11.8", sass=(37,))
    old = replace(seen, pythons=tuple(replace(p, version="3.10.4") for p in seen.pythons or ()))
    gpus = (Gpu(index=0, name="NVIDIA GeForce RTX 5090", compute_capability="12.0"),)
    old = replace(old, driver=m.working_driver(gpus=gpus))
    fix = of(diagnose(old), "frameworks.code-torch").fix
    assert fix is not None
    assert "torch==2.14.*" in fix.advice


@pytest.mark.parametrize(
    ("name", "version", "system"),
    [("tensorflow", "2.30.0", "windows"), ("tensorflow", "2.30.0", "linux"), ("jax", "0.20.0", "linux")],
)
def test_what_holds_for_known_releases_is_not_said_of_newer_ones(name: str, version: str, system: str) -> None:
    seen = home("2.15.0+cu130", "13.0", system=system, sass=(80, 86))
    builds = (FrameworkBuild(prefix=(seen.pythons or ())[0].prefix, distribution=name, version=version, cuda=""),)
    seen = replace(seen, frameworks=Frameworks(builds=builds), machine=replace(seen.machine, instructions=()))
    distributions = (Distribution(name=name, version=version),)
    seen = replace(seen, pythons=tuple(replace(p, distributions=distributions) for p in seen.pythons or ()))
    findings = diagnose(seen)
    assert {f.cause for f in findings if f.severity >= Severity.WARNING} == {"framework_cpu_only_build"}
    fix = of(findings, f"frameworks.cpu-build-{name}").fix
    assert fix is not None
    family = release_family(name)
    assert family is not None
    assert horizon_of(family).known_until in fix.advice
    assert "pip install" not in fix.advice


@pytest.mark.parametrize(("driver_cuda", "runs_it"), [("13.0", False), ("14.0", True), ("15.1", True)])
def test_the_drivers_own_answer_decides_about_a_build_for_cuda_14(driver_cuda: str, runs_it: bool) -> None:
    seen = home("2.17.0+cu140", "14.0")
    cuda = m.CudaInit(status=0, driver_cuda=driver_cuda, device_count=1)
    findings = diagnose(replace(seen, driver=m.working_driver(cuda=cuda)))
    assert ("driver_too_old" not in {f.cause for f in findings}) == runs_it
    assert of(findings, "frameworks.newer-torch").severity is Severity.UNKNOWN
    if not runs_it:
        fix = of(findings, "frameworks.cuda-torch").fix
        assert fix is not None
        assert not re.search(r"torch==(?!2\.17\.0)", fix.advice)


def test_a_made_up_package_of_a_known_family() -> None:
    seen = home("2.15.0+cu130", "13.0", sass=(86,))
    build = FrameworkBuild(prefix=m.PREFIX, distribution="jax-cuda14-plugin", version="0.12.0", cuda="14")
    seen = replace(seen, frameworks=replace(seen.frameworks or Frameworks(), builds=(build,)))
    findings = diagnose(seen)
    assert max(f.severity for f in findings) is Severity.UNKNOWN
    assert of(findings, "frameworks.newer-jax-cuda14-plugin")


def test_packages_for_a_newer_cuda_are_told_once() -> None:
    seen = m.wheel_machine()
    more = tuple(Distribution(name=f"nvidia-{n}-cu14", version="14.0.1") for n in ("cublas", "cuda-nvrtc"))
    python = replace((seen.pythons or ())[0], distributions=more)
    told = newest(diagnose(replace(seen, pythons=(python,))))
    assert [(f.id, f.subject) for f in told] == [("toolkit.newer-than-known", m.PREFIX)]


def test_the_packages_of_one_newer_framework_are_told_once() -> None:
    seen = m.wheel_machine()
    more = tuple(Distribution(name=n, version="0.20.0") for n in ("jax", "jaxlib", "jax-cuda13-plugin"))
    python = replace((seen.pythons or ())[0], distributions=more)
    assert [f.id for f in newest(diagnose(replace(seen, pythons=(python,))))] == ["frameworks.newer-jax"]


def test_the_grid_does_not_decide_about_what_is_newer() -> None:
    cells = [c for row in make_grid(home("2.17.0+cu130", "13.0", sass=(80, 86))).rows for c in row.cells]
    assert "should run" not in {c.verdict for c in cells}
    assert "not decided" in {c.verdict for c in cells}


# --- processors ------------------------------------------------------------------------------------------

ORIN = Gpu(index=0, name="Orin", compute_capability="8.7")
THOR = Gpu(index=0, name="NVIDIA Thor", compute_capability="11.0")
GRACE = Gpu(index=0, name="NVIDIA GH200", compute_capability="9.0")
T4G = Gpu(index=0, name="NVIDIA T4G", compute_capability="7.5")


def arm(seen: Snapshot, gpu: Gpu, kernel: str = "6.8.0-1021-nvidia-64k") -> Snapshot:
    machine = replace(seen.machine, architecture="aarch64", kernel=kernel)
    return replace(seen, machine=machine, driver=m.working_driver(gpus=(gpu,)))


@pytest.mark.parametrize(
    ("gpu", "kernel", "index"),
    [
        (
            GRACE,
            "6.8.0-1021-nvidia-64k",
            "torch==2.14.1 torchvision --index-url https://download.pytorch.org/whl/cu130",
        ),
        (THOR, "6.8.12-tegra", "torch==2.14.1 torchvision --index-url https://download.pytorch.org/whl/cu130"),
        (ORIN, "5.15.148-tegra", ""),
    ],
)
def test_builds_for_arm_are_those_that_were_published_for_it(gpu: Gpu, kernel: str, index: str) -> None:
    fix = of(diagnose(arm(home("2.14.1+cpu", ""), gpu, kernel)), "frameworks.cpu-build-torch").fix
    assert fix is not None
    assert ("pip install" in fix.advice) == bool(index)
    assert index in fix.advice


def test_a_gpu_that_the_builds_for_arm_leave_out_is_told() -> None:
    """The builds for x86_64 have code for 7.5, those for aarch64 do not."""
    seen = home("2.14.1+cu130", "13.0")
    assert "frameworks.code-torch" not in {f.id for f in diagnose(replace(seen, driver=m.working_driver(gpus=(T4G,))))}
    assert of(diagnose(arm(seen, T4G)), "frameworks.code-torch").cause == "gpu_arch_too_old"


@pytest.mark.parametrize(("name", "version"), [("jax", "0.12.0"), ("tensorflow", "2.21.0"), ("onnxruntime", "1.31.1")])
def test_no_framework_for_servers_is_offered_to_a_jetson(name: str, version: str) -> None:
    seen = arm(home("2.14.1+cu130", "13.0"), ORIN, "5.15.148-tegra")
    build = FrameworkBuild(prefix=m.PREFIX, distribution=name, version=version, cuda="")
    seen = replace(seen, frameworks=Frameworks(builds=(build,)))
    fix = of(diagnose(seen), f"frameworks.cpu-build-{name}").fix
    assert fix is not None
    assert "JetPack" in fix.advice
    assert "pip install" not in fix.advice


def test_a_tegra_is_told_apart_from_a_server() -> None:
    seen = m.wheel_machine()
    assert is_tegra(arm(seen, ORIN, "5.15.148-tegra"))
    assert not is_tegra(arm(seen, GRACE))
    assert not is_tegra(seen)
    findings = diagnose(arm(seen, ORIN, "5.15.148-tegra"))
    assert {f.cause for f in findings} & {"gpu_arch_too_new", "gpu_arch_too_old"} == set()


# --- machine code ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sass", "gpu", "bound", "does"),
    [
        ((80,), 86, (), True),
        ((86,), 80, (), False),
        ((80,), 90, (), False),
        ((120,), 121, (), True),
        ((100,), 100, ("sm_100a",), True),
        ((100,), 103, ("sm_100a",), False),
        ((90,), 90, ("sm_90a",), True),
        ((80, 100), 130, (), None),
        ((80,), 87, (), None),
        ((87,), 87, (), True),
    ],
)
def test_machine_code_runs_within_its_major_or_on_its_own_architecture(
    sass: tuple[int, ...], gpu: int, bound: tuple[str, ...], does: bool | None
) -> None:
    assert code_runs(sass, gpu, bound) is does


@pytest.mark.parametrize(
    ("ptx", "gpu", "bound", "does"),
    [
        ((80,), 120, (), True),
        ((120,), 90, (), False),
        ((120,), 121, ("compute_120f",), True),
        ((100,), 120, ("compute_100f",), False),
        ((120,), 121, ("compute_120a",), False),
        ((120,), 120, ("compute_120a",), True),
        ((75, 120), 107, ("compute_120f",), True),
    ],
)
def test_ptx_is_compiled_for_newer_gpus_for_its_family_or_for_one(
    ptx: tuple[int, ...], gpu: int, bound: tuple[str, ...], does: bool
) -> None:
    assert ptx_compiles(ptx, gpu, bound) is does


RUBIN = Gpu(index=0, name="NVIDIA Rubin", compute_capability="10.7")


@pytest.mark.parametrize(
    ("bound", "severity"),
    [((), Severity.WARNING), (("compute_90a",), Severity.ERROR), (("compute_90f",), Severity.ERROR)],
)
def test_where_nothing_can_be_compiled_nothing_is_called_slow(bound: tuple[str, ...], severity: Severity) -> None:
    seen = m.with_copy(m.with_driver(m.wheel_machine(), gpus=(RUBIN,)), sass=(80, 90), ptx=(90,), bound=bound)
    found = of(diagnose(seen), "driver.gpu-too-new")
    assert (found.cause, found.severity) == ("gpu_arch_too_new", severity)


@pytest.mark.parametrize(
    ("name", "its"),
    [
        ("cudart64_80.dll", ("cudart", 8)),
        ("cublas64_75.dll", ("cublas", 7)),
        ("cublas64_92.dll", ("cublas", 9)),
        ("cudart64_110.dll", ("cudart", 11)),
        ("nvrtc64_112_0.dll", ("nvrtc", 11)),
        ("cublasLt64_13.dll", ("cublasLt", 13)),
        ("libcudart.so.8.0", ("cudart", 8)),
        ("cublas64_14.dll", ("cublas", 14)),
    ],
)
def test_the_cuda_in_a_librarys_name(name: str, its: tuple[str, int]) -> None:
    assert cuda_libraries.family_and_major(name) == its
    if its[0] != "nvrtc":
        assert cuda_major((name,)) == its[1]


# --- the tables ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "version", "newer"),
    [
        ("torch", "2.15.9+cu132", False),
        ("torch", "2.16.0", True),
        ("torch", "2.17.0.dev20270101+cu140", True),
        ("torch", "3.0", True),
        ("torch", "main", False),
        ("cudnn", "9.99.1", False),
        ("cudnn", "10.0.1", True),
        ("cuda", "13.9", False),
        ("cuda", "14", True),
        ("gpu", "12.1", False),
        ("gpu", "10.3", False),
        ("gpu", "10.9", True),
        ("gpu", "13.0", True),
        ("gpu", "1.3", False),
        ("gpu", None, False),
    ],
)
def test_the_horizon_follows_from_the_rows(name: str, version: str | None, newer: bool) -> None:
    assert is_beyond_horizon(name, version) is newer


@pytest.mark.parametrize(
    ("distribution", "its"),
    [("torch", "torch"), ("tf-nightly", "tensorflow"), ("jax-cuda14-plugin", "jax"), ("numpy", None)],
)
def test_a_distribution_belongs_to_a_family(distribution: str, its: str | None) -> None:
    assert release_family(distribution) == its


def test_each_sign_of_a_tegra_is_enough() -> None:
    server = arm(m.wheel_machine(), GRACE)
    assert is_tegra(arm(m.wheel_machine(), GRACE, "5.15.148-tegra"))
    assert is_tegra(replace(server, machine=replace(server.machine, tegra="R36")))
    assert is_tegra(arm(m.wheel_machine(), ORIN))
