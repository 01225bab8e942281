"""What rules ask of a machine and what they tell to type, as tables: a question -> the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from core.model.facts import (
    ComputeCache,
    DamagedFile,
    Distribution,
    Environment,
    Nvml,
    PackageRecords,
    PathEntry,
    PciDevice,
    Snapshot,
    Unexamined,
)
from core.model.facts.closure import Closure, Edge
from core.model.steps import Severity
from core.rules import toolkit
from core.rules.advice import reinstall, without_variable
from core.rules.consumer_loads import consumer_loads, misses_cudnn
from core.rules.cudnn.copies import misleading_headers
from core.rules.cudnn.not_found import _unusable_file, all_overriding, search_stopped
from core.rules.driver.facts import driver_answers
from core.rules.driver.gpu_access import compute_cache
from core.rules.environment import activation_command
from core.rules.frameworks.fit import GpuSide
from core.rules.frameworks.packages import retired_pynvml
from core.rules.frameworks.records import damaged_libraries
from core.rules.frameworks.requirements import UnmetRequirement, how_bad
from core.rules.incomplete_scan import unexamined_places
from core.rules.newer import newer_copies
from core.rules.root_cause import diagnose, is_consequence
from core.rules.snapshot_queries import meant_entries, near_misses
from core.rules.wording import ERROR, Step, make_finding
from tests import machines as m
from tests.rules.test_frameworks_verdicts import trial
from tests.rules.test_root_cause import overridden


@pytest.mark.parametrize(
    ("folder", "variable", "entry", "said"),
    [
        ("/opt/cudnn/lib", "PATH", "/opt/cudnn", 1),
        ("/opt/cudnn/lib", "LD_LIBRARY_PATH", "/opt/", 1),
        ("/opt/cudnn/lib", "INCLUDE", "/opt/cudnn", 0),
        ("/opt/cudnn/lib", "PATH", "/opt/cudnn/lib", 0),
        ("/opt/cudnn/lib", "PATH", "/usr/share/x", 0),
        ("/opt/a/b/c/lib", "PATH", "/opt", 0),
        ("/opt/lib", "PATH", "/", 0),
    ],
)
def test_an_entry_above_a_folder_nearly_names_it(folder: str, variable: str, entry: str, said: int) -> None:
    entries = (PathEntry(variable=variable, index=0, text=entry, expanded=entry),)
    assert len(near_misses(replace(m.system_machine(), environment=Environment(entries=entries)), folder)) == said


def test_an_entry_with_a_tilde_names_the_folder_that_was_meant() -> None:
    entry = PathEntry(
        variable="LD_LIBRARY_PATH",
        index=0,
        text="~/c/lib",
        expanded="~/c/lib",
        marks=("unexpanded",),
        meant="/opt/c/lib",
    )
    seen = replace(m.system_machine(), environment=Environment(entries=(entry,)))
    assert [e.value for e in near_misses(seen, "/opt/c/lib")] == ["~/c/lib"]
    assert not near_misses(seen, "/opt/d/lib")
    assert [e.source for e in meant_entries(seen, "/opt/c/lib/")] == ["LD_LIBRARY_PATH"]
    assert not meant_entries(seen, "/opt/c")


@pytest.mark.parametrize(("kind", "command"), [("conda", "conda activate "), ("venv", "source ")])
def test_an_environment_is_activated_as_its_kind_wants_it(kind: str, command: str) -> None:
    seen = replace(m.wheel_machine(), pythons=(m.python(kind=kind),))
    assert activation_command(seen, m.PREFIX).startswith(command + m.PREFIX)
    assert activation_command(seen, "/elsewhere") == "source /elsewhere/bin/activate"


def test_who_is_led_away_is_told_for_each_environment_apart() -> None:
    seen = overridden(m.wheel_machine())
    every = all_overriding(seen)
    assert every is not None
    assert all_overriding(seen, m.PREFIX) == every
    assert all_overriding(seen, "/another") is None


def test_the_folder_to_take_out_is_named() -> None:
    assert without_variable(["/opt/cudnn/lib"]).title == "Remove /opt/cudnn/lib from LD_LIBRARY_PATH"
    assert without_variable([]).title == "Remove the folder from LD_LIBRARY_PATH"


OWNER = "nvidia-cublas-cu12 12.4.5.8"


def damaged(build: Callable[[], Snapshot], origin: str) -> Snapshot:
    """Every library of the machine's toolkits is cut short."""
    tools = tuple(
        replace(
            t, origin=origin, libraries=tuple(replace(f, state="truncated", version_source=OWNER) for f in t.libraries)
        )
        for t in build().toolkits or ()
    )
    return replace(build(), toolkits=tools)


@pytest.mark.parametrize(
    ("build", "origin", "command"),
    [
        (m.wheel_machine, "wheel", "pip install --force-reinstall"),
        (m.system_machine, "installer", "Reinstall CUDA 12.4"),
    ],
)
def test_a_damaged_toolkit_is_installed_again_as_it_came(
    build: Callable[[], Snapshot], origin: str, command: str
) -> None:
    told = [f for rule in toolkit.RULES for f in rule(damaged(build, origin)) if f.cause == "corrupt_or_truncated_file"]
    assert told
    assert all(f.fix is not None and command in f.fix.advice for f in told)


def test_a_dead_driver_explains_who_needs_it_and_no_other_environment() -> None:
    driver = replace(make_finding("driver.start", ERROR, "t"), consumers=("python:/a",))
    for whom, expected in (("python:/a", True), ("python:/b", False)):
        load = replace(make_finding("frameworks.trial-failed", ERROR, "t"), consumers=(whom,))
        assert is_consequence(load, driver) is expected
        assert is_consequence(load, replace(driver, consumers=()))


@pytest.mark.parametrize(
    ("state", "needed", "ran", "severity"),
    [
        ("size differs", "", True, Severity.NOTE),
        ("size differs", "", False, Severity.WARNING),
        ("missing", "libtorch.so", True, Severity.ERROR),
    ],
)
def test_an_altered_library_matters_less_where_the_framework_ran(
    state: str, needed: str, ran: bool, severity: Severity
) -> None:
    file = DamagedFile(
        path=f"{m.SITE}/torch/lib/libx.so", state=state, distribution="torch", version="2.6.0", needed_by=needed
    )
    seen = replace(m.wheel_machine(), records=(PackageRecords(prefix=m.PREFIX, damaged=(file,)),))
    if ran:
        seen = replace(seen, trials=(trial(gpu=True, right=True),))
    [found] = [f for f in diagnose(seen) if f.id == "frameworks.record-torch"]
    assert found.severity is severity
    if ran and state == "size differs":
        wrong = [f for f in diagnose(replace(seen, trials=(trial(gpu=True, right=False),))) if f.id == found.id]
        assert [f.severity for f in wrong] == [Severity.WARNING]


@pytest.mark.parametrize(
    ("elsewhere", "lacks", "severity"),
    [
        (("/usr/lib/libx.so",), (), Severity.NOTE),
        (("/usr/lib/libx.so",), (Edge(name="libother.so", wanted_by="libtorch.so", state="absent"),), Severity.ERROR),
        (("/usr/lib/libother.so",), (), Severity.ERROR),
    ],
)
def test_a_lost_library_whose_needer_finds_another_file_of_that_name_is_a_note(
    elsewhere: tuple[str, ...], lacks: tuple[Edge, ...], severity: Severity
) -> None:
    seen = m.wheel_machine()
    file = DamagedFile(
        path=f"{m.SITE}/torch/lib/libx.so",
        state="missing",
        distribution="torch",
        version="2.6.0",
        needed_by="libtorch.so",
    )
    closure = Closure(consumer=(seen.pythons or ())[0].consumer("torch 2.6.0"), files=elsewhere, edges=lacks)
    seen = replace(seen, records=(PackageRecords(prefix=m.PREFIX, damaged=(file,)),), closures=(closure,))
    [found] = damaged_libraries(seen)
    assert found.severity is severity
    assert any(elsewhere[0] in e.value for e in found.evidence) == (severity is Severity.NOTE)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"name": "RTX 3090", "device_id": "2204", "bound_driver": ""}, "RTX 3090 at 01:00.0, held by no driver"),
        ({"device_id": "2204", "bound_driver": "nouveau"}, "2204 at 01:00.0, held by nouveau"),
        ({"device_id": "2204", "bound_driver": None}, "2204 at 01:00.0"),
    ],
)
def test_a_gpu_on_the_bus_is_told_by_name_and_holder(fields: dict[str, Any], says: str) -> None:
    device = PciDevice(address="01:00.0", vendor_id="10de", **fields)
    other = PciDevice(address="00:02.0", vendor_id="8086", device_id="9a49")
    rows = driver_answers(m.working_driver(pci=(device, other)))
    assert [e.value for e in rows if e.label == "GPU on the bus"] == [says]


@pytest.mark.parametrize(
    ("status", "said"),
    [(0, "it answered"), (18, "18 NVML_ERROR_LIB_RM_VERSION_MISMATCH")],
)
def test_what_nvml_answered_is_told(status: int, said: str) -> None:
    name = "" if status == 0 else "NVML_ERROR_LIB_RM_VERSION_MISMATCH"
    rows = driver_answers(m.working_driver(nvml=Nvml(status=status, status_name=name)))
    assert [e.value for e in rows if e.label == "NVML"] == [said]


def test_a_newer_cudnn_that_nothing_loads_is_a_note() -> None:
    ten = replace(m.system_copy("10.1.0", "/opt/ten"), major=10)
    seen = replace(m.wheel_machine(), cudnn=(*(m.wheel_machine().cudnn or ()), ten))
    assert [(f.subject, f.severity) for f in newer_copies(seen)] == [("/opt/ten", Severity.NOTE)]
    load = replace((seen.loads or ())[0], major=10)
    assert list(newer_copies(replace(seen, loads=(load,)))) == []
    assert list(newer_copies(m.wheel_machine())) == []


CACHE = ComputeCache(path="/home/ada/.nv", source="default", exists=True, writable=False, owner="root")


@pytest.mark.parametrize(
    ("cache", "owner"),
    [(CACHE, ["root"]), (replace(CACHE, owner=""), ["unknown"]), (replace(CACHE, exists=False), [])],
)
def test_a_cache_is_told_with_its_owner(cache: ComputeCache, owner: list[str]) -> None:
    found = compute_cache(m.with_driver(m.wheel_machine(), compute_cache=cache))
    assert [e.value for f in found for e in f.evidence if e.label == "Owner"] == owner


@pytest.mark.parametrize(
    ("header", "cause", "severity", "refuses"),
    [
        ("9.19.0", "cudnn_minor_too_old", Severity.WARNING, True),
        ("9.1.0", "", Severity.NOTE, False),
        ("8.9.7", "", Severity.NOTE, False),
    ],
)
def test_a_header_of_another_release_refuses_only_an_older_library(
    header: str, cause: str, severity: Severity, refuses: bool
) -> None:
    [found] = misleading_headers(m.with_copy(m.system_machine(), header_version=header))
    assert (found.cause, found.severity) == (cause, severity)
    assert ("reject this older library" in found.why) is refuses


@pytest.mark.parametrize(
    ("wanted", "what", "id", "step", "why"),
    [
        (("PATH",), "folder", "environment.not-examined", Step.ENVIRONMENT, "hangs as well"),
        (("PATH",), "program", "frameworks.not-examined", Step.FRAMEWORKS, "hangs as well"),
        ((), "folder", "environment.left-alone", Step.ENVIRONMENT, "Nothing that you named"),
        (("--python",), "imports", "frameworks.not-examined", Step.FRAMEWORKS, "the others were not examined"),
        ((), "imports", "frameworks.left-alone", Step.FRAMEWORKS, "the others were not examined"),
    ],
)
def test_what_gave_no_answer_is_told_to_whom_it_matters(
    wanted: tuple[str, ...], what: Any, id: str, step: Step, why: str
) -> None:
    one = Unexamined(path="/net/dead", seconds=3.0, what=what, wanted_by=wanted)
    [found] = unexamined_places(replace(m.wheel_machine(), unexamined=(one,)))
    assert (found.id, found.step, found.subject) == (id, step, "/net/dead")
    assert why in found.why
    assert [e.value for e in found.evidence] == ["3 seconds", *wanted]


def test_imports_that_were_cut_short_are_told_once() -> None:
    late = Unexamined(path="/opt/train", seconds=25.0, what="imports", wanted_by=("--python",))
    users_too = replace(late, wanted_by=())
    [found] = unexamined_places(replace(m.wheel_machine(), unexamined=(late, users_too)))
    assert found.id == "frameworks.not-examined"


def shut(outcome: str, copy: bool = True) -> Snapshot:
    """The one main library of cuDNN that the loader meets is passed over."""
    seen = m.wheel_machine()
    met = replace(m.found(f"{m.CUDNN}/libcudnn.so.9"), outcome=outcome)
    return replace(m.with_search(seen, "libcudnn.so.9", met), cudnn=seen.cudnn if copy else ())


@pytest.mark.parametrize(
    ("outcome", "cause", "title", "advice"),
    [
        ("unreadable", "library_unreadable", "no permission to read", f"sudo chmod -R a+rX {m.CUDNN}"),
        ("wrong architecture", "dll_wrong_architecture", "skips", "This computer is x86_64."),
    ],
)
def test_a_file_that_is_passed_over_is_told_with_its_own_reason(
    outcome: str, cause: str, title: str, advice: str
) -> None:
    seen = shut(outcome)
    [attempt] = next(r for r in (seen.loads or ())[0].resolutions if r.name == "libcudnn.so.9").attempts
    found = _unusable_file(next(iter(consumer_loads(seen))), attempt)
    assert (found.cause, found.subject) == (cause, m.CUDNN)
    assert title in found.title
    assert ("let this user read" in found.why) is (outcome == "unreadable")
    assert found.fix is not None
    assert found.fix.advice == advice
    assert found.remedy is None or outcome != "unreadable"


@pytest.mark.parametrize(("found_by", "told"), [("VIRTUAL_ENV", 1), ("conda's list of environments", 0)])
def test_a_retired_package_is_told_where_somebody_uses_it(found_by: str, told: int) -> None:
    had = (Distribution(name="pynvml", version="11.5.0", location=m.SITE),)
    seen = replace(m.wheel_machine(), pythons=(m.python(found_by=found_by, distributions=had),))
    assert len(list(retired_pynvml(seen))) == told
    without = replace(seen, pythons=(m.python(found_by=found_by),))
    assert list(retired_pynvml(without)) == []


@pytest.mark.parametrize(
    ("origin", "owner", "fields", "advice"),
    [
        ("wheel", "nvidia-cudnn-cu12 9.1.0.70", {}, "nvidia-cudnn-cu12==9.1.0.70"),
        ("wheel", "", {}, "Download cuDNN 9.1.0"),
        ("folder", "nvidia-cudnn-cu12 9.1.0.70", {}, "Download cuDNN 9.1.0"),
        ("conda", "cudnn 9.1.0", {}, f"conda install -p {m.PREFIX} --force-reinstall cudnn"),
        ("distribution", "", {}, "dpkg -S"),
        ("framework", "torch 2.6.0", {}, "came with torch 2.6.0"),
        ("framework", "", {}, "came with a program"),
        ("folder", "", {"cuda_major": None}, "Download cuDNN 9.1.0 from developer.nvidia.com"),
        ("folder", "", {"cuda_major": 12}, "for CUDA 12 from developer.nvidia.com"),
        ("folder", "", {"version": None}, "Download the same cuDNN 9 release"),
    ],
)
def test_a_set_is_put_right_as_it_came(origin: Any, owner: str, fields: dict[str, Any], advice: str) -> None:
    fix = reinstall(m.wheel_machine(), replace(m.cudnn(), origin=origin, owner=owner, **fields))
    assert advice in fix.advice


def test_a_program_misses_cudnn_where_it_asks_for_it_or_nobody_has_one() -> None:
    seen = m.wheel_machine()
    load = next(c for c in consumer_loads(seen) if c.load.consumer.kind != "plain").load
    plain = replace(load, consumer=replace(load.consumer, kind="plain", id="plain", prefix=""), resolutions=())
    for others, missed in (((load,), False), ((), True), ((replace(load, resolutions=()),), False)):
        of_plain = next(
            c for c in consumer_loads(replace(seen, loads=(plain, *others))) if c.load.consumer.kind == "plain"
        )
        assert (misses_cudnn(of_plain) or False) is (missed or of_plain.is_requested)
    nobody = replace(seen, cudnn=(), loads=(plain, replace(load, resolutions=())))
    assert misses_cudnn(next(c for c in consumer_loads(nobody) if c.load.consumer.kind == "plain"))


def broken(package: str, specifier: str, installed: str, *, optional: bool = False) -> UnmetRequirement:
    return UnmetRequirement(
        of=Distribution(name="torch", version="2.6.0", location=m.SITE),
        wanted=package,
        specifier=specifier,
        installed=installed,
        optional=optional,
    )


@pytest.mark.parametrize(
    ("wrong", "severity", "cause"),
    [
        (broken("nvidia-cudnn-cu12", "==9.1.0.70", "8.9.7.29"), Severity.WARNING, "cudnn_major_mismatch"),
        (broken("nvidia-cudnn-cu12", "==9.10.2.21", "9.1.0.70"), Severity.WARNING, "cudnn_minor_too_old"),
        (broken("nvidia-cudnn-cu12", "==9.1.0.70", "9.10.2.21"), Severity.NOTE, "requirement_broken"),
        (broken("nvidia-cublas-cu12", "==12.4.5.8", "12.8.4.1"), Severity.NOTE, "requirement_broken"),
        (broken("nvidia-cublas-cu12", "==12.8.4.1", "12.4.5.8"), Severity.WARNING, "requirement_broken"),
        (broken("nvidia-cublas-cu12", "==12.4.5.8", "11.11.3.6"), Severity.WARNING, "requirement_broken"),
        (broken("triton", "==3.2.0", "3.1.0"), Severity.WARNING, "requirement_broken"),
        (broken("triton", "==3.2.0", "3.1.0", optional=True), Severity.NOTE, "requirement_broken"),
        (broken("tensorflow", "<2.16,>2.9", "2.20.0", optional=True), Severity.NOTE, "requirement_broken"),
        (broken("tensorflow", "<2.16", "2.20.0", optional=True), Severity.NOTE, "requirement_broken"),
        (broken("tensorflow", ">=3", "2.20.0", optional=True), Severity.WARNING, "requirement_broken"),
        (broken("numpy", ">=2.0", "1.26.4"), Severity.WARNING, "requirement_broken"),
        (broken("numpy", ">=1.26.5", "1.26.4"), Severity.NOTE, "requirement_broken"),
    ],
)
def test_a_newer_library_of_the_same_major_usually_serves(
    wrong: UnmetRequirement, severity: Severity, cause: str
) -> None:
    assert how_bad(wrong) == (severity, cause)


@pytest.mark.parametrize(
    ("driver", "cuda", "runs"),
    [
        ("12.4", "12.8", True),
        ("12.4", "11.8", True),
        ("12.4", "13.0", False),
        ("11.4", "11.8", True),
        ("10.1", "10.2", False),
        ("10.2", "10.1", True),
        ("12.4", "", None),
    ],
)
def test_minor_releases_of_cuda_share_a_driver_from_11_on(driver: str, cuda: str, runs: bool | None) -> None:
    side = GpuSide(there=True, works=True, driver="", cuda=driver, gpus=(), system="linux")
    assert side.runs_cuda(cuda) is runs


def test_a_file_further_on_is_named_where_the_loader_stops() -> None:
    bad = replace(m.found("/opt/a/libcudnn_ops.so.9"), outcome="damaged")
    for rest, said in (((m.found("/opt/b/libcudnn_ops.so.9"),), True), ((), False)):
        seen = m.with_search(m.wheel_machine(), "libcudnn_ops.so.9", bad, *rest)
        [found] = search_stopped(next(iter(consumer_loads(seen))))
        assert found.fix is not None
        assert ("Then /opt/b/libcudnn_ops.so.9 is found." in found.fix.advice) is said
