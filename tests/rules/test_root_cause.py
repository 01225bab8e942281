"""Diagnose: healthy machines stay calm, compound faults have one root, and nothing raises."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from core.common import i18n
from core.knowledge.causes import UNKNOWN_CAUSE_RANK, cause_rows
from core.model.facts import (
    CudaInit,
    DamagedFile,
    Distribution,
    FrameworkBuild,
    Frameworks,
    FrameworkTrial,
    Load,
    PackageRecords,
    ProbeError,
    Snapshot,
)
from core.model.findings import Finding
from core.model.steps import Severity, Step
from core.report.json_form import from_json
from core.rules.root_cause import _headline, _root_rank, diagnose, is_consequence, may_lead
from tests import machines as m

SNAPSHOTS = Path(__file__).parents[1] / "snapshots"
SECTIONS = ("driver", "toolkits", "cudnn", "environment", "pythons", "loads")


def primary(snapshot: Snapshot) -> Finding | None:
    """Return the one primary finding."""
    found = [f for f in diagnose(snapshot) if f.primary]
    assert len(found) < 2
    return found[0] if found else None


@pytest.mark.parametrize("name", m.HEALTHY)
def test_healthy_machine_has_nothing_above_a_note(name: str) -> None:
    loud = [(f.id, f.title) for f in diagnose(m.HEALTHY[name]()) if f.severity > Severity.NOTE]
    assert loud == []


@pytest.mark.parametrize("name", m.HEALTHY)
def test_healthy_machine_says_what_is_good(name: str) -> None:
    findings = diagnose(m.HEALTHY[name]())
    good = {f.step.value for f in findings if f.severity is Severity.GOOD}
    assert {"toolkit", "cudnn", "environment"} <= good
    assert ("driver" in good) == (name != "no gpu")


def test_no_gpu_is_one_calm_note() -> None:
    findings = [f for f in diagnose(m.no_gpu_machine()) if f.step == "driver"]
    assert [(f.cause, f.severity) for f in findings] == [("no_nvidia_gpu", Severity.NOTE)]


def test_no_gpu_is_never_primary_beside_another_fault() -> None:
    broken = m.with_file(m.no_gpu_machine(), "ops", state="empty", size=0)
    found = primary(broken)
    assert found is not None
    assert found.cause == "corrupt_or_truncated_file"


COMPOUND = {
    "a driver that does not start comes before a damaged file": (
        lambda: m.with_file(
            m.with_driver(m.wheel_machine(), cuda=CudaInit(status=803), nvml=None, gpus=None), "ops", state="truncated"
        ),
        "driver_library_mismatch",
    ),
    "an override comes before the version that it leads to": (
        lambda: overridden(m.wheel_machine()),
        "ld_library_path_override",
    ),
    "a damaged file explains the failed roll call": (
        lambda: m.with_load(
            m.with_file(m.wheel_machine(), "cnn", state="truncated"),
            roll_call=m.refused(m.cudnn(), "cnn", "file too short", ended="was killed by SIGBUS"),
        ),
        "corrupt_or_truncated_file",
    ),
    "an error comes before a warning": (
        lambda: m.with_variable(m.without_file(m.wheel_machine(), "ops"), "CUDA_PATH", "/gone", "missing"),
        "cudnn_sublibrary_missing",
    ),
}


def overridden(snapshot: Snapshot) -> Snapshot:
    """LD_LIBRARY_PATH leads the parts to an older release."""
    other = m.system_copy("9.0.0", "/opt/cudnn/lib")
    snapshot = m.with_variable(
        replace(snapshot, cudnn=(*(snapshot.cudnn or ()), other)), "LD_LIBRARY_PATH", other.folder
    )
    for role in m.ROLES9[1:]:
        name = m.file_name(role, 9)
        first = m.found(f"{other.folder}/{name}", m.How.LD_LIBRARY_PATH, "LD_LIBRARY_PATH: /opt/cudnn/lib")
        snapshot = m.with_search(snapshot, name, first, m.found(f"{m.CUDNN}/{name}"))
    return snapshot


@pytest.mark.parametrize("name", COMPOUND)
def test_primary_of_compound_faults(name: str) -> None:
    build, cause = COMPOUND[name]
    found = primary(build())
    assert found is not None
    assert found.cause == cause


def test_worst_comes_first_and_the_primary_before_all() -> None:
    findings = diagnose(COMPOUND["an error comes before a warning"][0]())
    assert findings[0].primary
    severities = [f.severity for f in findings]
    assert severities == sorted(severities, reverse=True)


def test_named_environment_outranks_another() -> None:
    """An error in an environment that nobody named gives way to one in the environment that was named."""
    other = "/home/ada/old"
    stray = replace(m.cudnn(f"{other}/cudnn", "8.9.7"), environment=other)
    stray = replace(stray, files=tuple(replace(f, state="unreadable") for f in stray.files))
    consumer = replace(m.PYTHON, id=f"python:{other}", prefix=other, label=f"the Python environment {other}")
    snapshot = m.without_file(m.wheel_machine(), "ops")
    snapshot = replace(
        snapshot,
        cudnn=(stray, *(snapshot.cudnn or ())),
        pythons=(m.python(), m.python(prefix=other, found_by="conda's list of environments")),
        loads=(
            Load(consumer=consumer, major=8, resolutions=(m.search("libcudnn.so.8", m.found(stray.files[0].path)),)),
            *(snapshot.loads or ()),
        ),
    )
    found = primary(snapshot)
    assert found is not None
    assert found.cause == "cudnn_sublibrary_missing"
    assert any(f.cause == "library_unreadable" and f.severity is Severity.ERROR for f in diagnose(snapshot))


def twice(near: str, far: str) -> Snapshot:
    """Return a machine with a torch in two environments, of which one was found in these ways and one in those."""
    other = "/home/ada/old"
    distributions = (Distribution(name="torch", version="2.6.0", location=f"{other}/lib"),)
    loads = m.wheel_machine().loads or ()
    consumer = replace(m.PYTHON, id=f"python:{other}", prefix=other, label=f"the Python environment {other}")
    return replace(
        m.wheel_machine(),
        pythons=(m.python(found_by=near), m.python(prefix=other, found_by=far, distributions=distributions)),
        loads=(replace(loads[0], consumer=consumer), *loads),
    )


def failing(seen: Snapshot, prefix: str) -> Snapshot:
    """Return the machine after the torch of an environment failed with words that tell no cause."""
    trial = FrameworkTrial(prefix=prefix, framework="torch", version="2.6.0", reached="import", problem="Oops")
    return replace(seen, trials=(trial,))


def headline(snapshot: Snapshot) -> Finding:
    """Return what the report leads with."""
    (found,) = [f for f in diagnose(snapshot) if f.headline]
    return found


@pytest.mark.parametrize("language", ["en", "de", "zh_CN"])
def test_damage_in_the_active_environment_leads_in_every_language(language: str) -> None:
    """Beside it, a variable overrides the cuDNN of an environment that was only found."""
    i18n.use_language(language)
    seen = twice("VIRTUAL_ENV", "conda's list of environments")
    damaged = DamagedFile(path=f"{m.SITE}/torch/lib/libtorch_cuda.so", distribution="torch", version="2.6.0", state="size differs", header="truncated", size=1, recorded=9)  # fmt: skip
    seen = replace(overridden(seen), records=(PackageRecords(prefix=m.PREFIX, damaged=(damaged,)),))
    assert headline(seen).id == "frameworks.record-torch"


def test_an_error_without_a_cause_leads_before_an_unrelated_warning() -> None:
    seen = m.with_variable(failing(m.wheel_machine(), m.PREFIX), "CUDA_PATH", "/gone", "missing")
    led = headline(seen)
    assert (led.id, led.primary, led.cause) == ("frameworks.trial-torch", False, "")
    assert led.fix is not None
    assert "convalesce scan --thorough" in led.fix.advice
    assert primary(seen) is None
    assert any(f.cause == "cuda_path_env_wrong" for f in diagnose(seen))


def test_a_driver_that_dies_for_an_unknown_reason_leads_before_what_cannot_load_with_it() -> None:
    recorded = SNAPSHOTS / "h200-driver" / "libcuda-cut.json"
    seen = from_json(recorded.read_bytes()).snapshot
    assert seen.driver is not None
    sound = tuple(replace(lib, problem="") for lib in seen.driver.libraries or ())
    first, second, *_ = diagnose(m.with_driver(seen, libraries=sound))
    assert (first.id, first.headline, first.cause) == ("driver.cuda-init", True, "")
    assert second.id == "cudnn.roll-call-failed"


def test_a_mild_fault_of_the_driver_explains_no_error() -> None:
    seen = failing(m.wheel_machine(), m.PREFIX)
    gpu = (seen.driver.gpus or ())[0] if seen.driver else None
    assert gpu is not None
    full = m.with_driver(seen, gpus=(replace(gpu, memory_free=1 << 20, memory_total=24 << 30),))
    assert headline(full).id == "frameworks.trial-torch"
    assert any(f.cause == "gpu_memory_exhausted" and not f.primary for f in diagnose(full))


def test_an_error_of_the_only_environment_leads_before_a_mild_fault_of_the_driver() -> None:
    seen = m.without_file(m.wheel_machine(), "ops")
    gpu = (seen.driver.gpus or ())[0] if seen.driver else None
    assert gpu is not None
    full = m.with_driver(seen, gpus=(replace(gpu, memory_free=1 << 20, memory_total=24 << 30),))
    full = replace(full, pythons=(m.python(found_by="conda's list of environments"),))
    assert headline(full).cause == "cudnn_sublibrary_missing"


def test_an_error_without_a_cause_follows_from_the_cause_that_explains_it() -> None:
    seen = failing(m.without_file(m.wheel_machine(), "ops"), m.PREFIX)
    led = headline(seen)
    assert led.cause == "cudnn_sublibrary_missing"
    assert [f.follows_from for f in diagnose(seen) if f.id == "frameworks.trial-torch"] == [led.id]


@pytest.mark.parametrize(
    ("near", "far", "led"),
    [("--python", "VIRTUAL_ENV", m.PREFIX), ("pyenv", "VIRTUAL_ENV", "/home/ada/old"), ("conda's list of environments", "python on PATH", "/home/ada/old")],
)  # fmt: skip
def test_the_environment_that_matters_most_leads(near: str, far: str, led: str) -> None:
    """Two environments are built without CUDA."""
    seen = twice(near, far)
    builds = tuple(
        FrameworkBuild(prefix=p.prefix, distribution="torch", version="2.6.0", cuda="") for p in seen.pythons or ()
    )
    assert headline(replace(seen, frameworks=Frameworks(builds=builds))).subject == led


def test_two_folders_of_one_variable_are_two_subjects() -> None:
    seen = m.wheel_machine()
    other, third = m.system_copy("9.10.2", "/opt/a and b/lib"), m.system_copy("9.11.0", "/opt/c")
    seen = replace(seen, cudnn=(*(seen.cudnn or ()), other, third))
    for role, copy in zip(m.ROLES9[1:3], (other, third), strict=True):
        name = m.file_name(role, 9)
        first = m.found(f"{copy.folder}/{name}", m.How.LD_LIBRARY_PATH, "LD_LIBRARY_PATH")
        seen = m.with_search(seen, name, first, m.found(f"{m.CUDNN}/{name}"))
    found = next(f for f in diagnose(seen) if f.id == "cudnn.overridden-by-variable")
    assert (found.subject, found.all_subjects) == (other.folder, (other.folder, third.folder))


def test_damage_in_a_copy_that_nothing_loads_is_no_root() -> None:
    stray = m.system_copy("9.10.2", "/opt/old")
    stray = replace(stray, files=tuple(replace(f, state="truncated") for f in stray.files))
    healthy = m.wheel_machine()
    findings = diagnose(replace(healthy, cudnn=(*(healthy.cudnn or ()), stray)))
    assert not any(f.primary for f in findings)
    assert max(f.severity for f in findings) is Severity.WARNING


def test_probe_errors_become_unknown() -> None:
    error = ProbeError(probe="loads", kind="time-out", message="It gave no answer in time.")
    findings = diagnose(replace(m.wheel_machine(), loads=None, errors=(error,)))
    assert any(f.severity is Severity.UNKNOWN and f.subject == "loads" for f in findings)
    assert not any(f.severity is Severity.ERROR for f in findings)


@pytest.mark.parametrize("name", m.HEALTHY)
def test_missing_sections_never_raise_and_accuse_nobody(name: str) -> None:
    """Every set of sections taken away from a machine in order: no error, no warning, no exception."""
    whole = m.HEALTHY[name]()
    for count in range(1, len(SECTIONS) + 1):
        for gone in itertools.combinations(SECTIONS, count):
            findings = diagnose(replace(whole, **dict.fromkeys(gone)))
            assert [(gone, f.id) for f in findings if f.severity > Severity.UNKNOWN] == []


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(sorted(m.HEALTHY)),
    role=st.sampled_from(m.ROLES9[1:]),
    state=st.sampled_from(["missing", "dangling", "empty", "truncated", "damaged", "unreadable", "not a library"]),
    version=st.one_of(st.none(), st.text(max_size=8), st.sampled_from(["9.10.2", "8.9.7", "9"])),
    gone=st.sets(st.sampled_from(SECTIONS)),
)
def test_any_broken_file_beside_missing_sections_never_raises(
    name: str, role: str, state: str, version: str | None, gone: set[str]
) -> None:
    whole = m.with_file(m.HEALTHY[name](), role, state=state, version=version)
    findings = diagnose(replace(whole, **dict.fromkeys(gone)))
    assert sum(f.primary for f in findings) <= 1
    identities = [(f.id, f.subject) for f in findings]
    assert len(identities) == len(set(identities))


ODD = (None, "", "\\\\", "libcudnn.so.9", "9.20.0.48", "truncated", "found", -1, 10**12, True, [])


def spots(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of every value inside a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from spots(inner, (*path, key))


@pytest.mark.parametrize("name", ["wheel", "windows", "wsl"])
def test_any_one_fact_may_be_odd(name: str) -> None:
    """Each kind of field in turn gets a value that its type allows and no probe would give: never an exception."""
    text = msgspec.json.encode(m.HEALTHY[name]())
    kinds = {tuple(key for key in path if isinstance(key, str)): path for path in spots(msgspec.json.decode(text))}
    tried = 0
    for path, odd in itertools.product(kinds.values(), ODD):
        document = msgspec.json.decode(text)
        place = document
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = odd
        try:
            snapshot = msgspec.convert(document, Snapshot)
        except msgspec.ValidationError:
            continue
        tried += 1
        assert sum(f.primary for f in diagnose(snapshot)) <= 1
    assert tried > 300


def test_every_cause_has_a_rank_of_its_own_but_what_is_no_fault() -> None:
    ranks = [row.rank for row in cause_rows() if row.rank is not None]
    assert len(ranks) == len(set(ranks))
    assert all(100 <= rank < UNKNOWN_CAUSE_RANK for rank in ranks)
    no_fault = {"no_nvidia_gpu", "other_maker_gpu", "program_error", "training_numerics", "harmless_message"}
    assert {row.cause for row in cause_rows() if row.rank is None} == no_fault


def fault(id: str, cause: str = "", severity: Severity = Severity.ERROR, *whom: str) -> Finding:
    """Return a finding of a step's, about nothing in particular."""
    step = Step(id.partition(".")[0])
    return Finding(id=id, cause=cause, step=step, severity=severity, title="It is broken.", consumers=whom)


@pytest.mark.parametrize(
    ("found", "leads"),
    [
        (fault("cudnn.missing", "cudnn_not_installed"), True),
        (fault("cudnn.missing", "cudnn_not_installed", Severity.NOTE), False),
        (fault("cudnn.missing"), True),
        (fault("cudnn.missing", "no_such_cause"), True),
        *((fault("cudnn.missing", row.cause), False) for row in cause_rows() if row.rank is None),
    ],
)
def test_what_can_be_the_headline(found: Finding, leads: bool) -> None:
    assert may_lead(found) is leads


def test_what_ends_an_import_stands_before_what_the_import_would_do_later() -> None:
    plain = _root_rank(fault("frameworks.other", "requirement_broken"))
    early = _root_rank(fault("frameworks.import-ends-numpy", "requirement_broken"))
    assert _root_rank(fault("frameworks.libraries-torch", "requirement_broken")) == plain
    assert early < plain < UNKNOWN_CAUSE_RANK < _root_rank(fault("frameworks.other"))
    assert _root_rank(fault("frameworks.import-ends-numpy")) == UNKNOWN_CAUSE_RANK + 1


@pytest.mark.parametrize(
    ("root", "follows"),
    [
        (fault("frameworks.libraries-torch", "cuda_runtime_missing", Severity.ERROR, "python:/v"), True),
        (fault("frameworks.import-ends-numpy", "requirement_broken", Severity.ERROR, "python:/v"), True),
        (fault("frameworks.unfit", "extension_abi_mismatch", Severity.ERROR, "python:/v"), True),
        (fault("frameworks.unfit", "extension_abi_mismatch", Severity.ERROR, "python:/w"), False),
        (fault("frameworks.other", "requirement_broken", Severity.ERROR, "python:/v"), False),
    ],
)
def test_a_broken_requirement_follows_from_what_keeps_its_framework_from_loading(root: Finding, follows: bool) -> None:
    broken = fault("frameworks.requirement", "requirement_broken", Severity.WARNING, "python:/v")
    assert is_consequence(broken, root) is follows


def test_a_framework_taken_from_elsewhere_leads_before_what_does_not_fit_it() -> None:
    """PYTHONPATH with another environment's packages: to install torchaudio again would cure nothing."""
    elsewhere = fault("frameworks.shadowed-torch", "module_shadowed", Severity.WARNING, f"python/torch:{m.PREFIX}")
    unfit = fault("frameworks.libraries-torchaudio", "extension_abi_mismatch", Severity.ERROR, f"python:{m.PREFIX}")
    other = fault("frameworks.libraries-torchaudio", "extension_abi_mismatch", Severity.ERROR, "python:/opt/other")
    assert is_consequence(unfit, elsewhere)
    assert not is_consequence(elsewhere, unfit)
    assert not is_consequence(other, elsewhere)
    assert _headline([unfit, elsewhere], lambda _finding: 0) is elsewhere
    assert (
        _headline([unfit, fault("frameworks.x", "wsl_libcuda_not_found"), elsewhere], lambda _finding: 0)
        is not elsewhere
    )
