"""What rules ask of a machine and what they tell to type, as tables: a question -> the answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from core.model.facts import DamagedFile, Environment, PackageRecords, PathEntry, Snapshot
from core.model.steps import Severity
from core.rules import toolkit
from core.rules.advice import without_variable
from core.rules.cudnn.not_found import all_overriding
from core.rules.environment import activation_command
from core.rules.root_cause import diagnose, follows
from core.rules.snapshot_queries import near_misses
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
    assert without_variable(["/opt/cudnn/lib"]).title == "Take /opt/cudnn/lib out of LD_LIBRARY_PATH"
    assert without_variable([]).title == "Take the folder out of LD_LIBRARY_PATH"


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
    [(m.wheel_machine, "wheel", "pip install --force-reinstall"), (m.system_machine, "installer", "Install CUDA 12.4")],
)
def test_a_damaged_toolkit_is_installed_again_as_it_came(
    build: Callable[[], Snapshot], origin: str, command: str
) -> None:
    told = [f for rule in toolkit.RULES for f in rule(damaged(build, origin)) if f.cause == "corrupt_or_truncated_file"]
    assert told
    assert all(f.fix is not None and command in f.fix.advice for f in told)


def test_a_dead_driver_explains_who_needs_it_and_no_other_environment() -> None:
    driver = replace(make_finding(Step.DRIVER, ERROR, "start", "t"), consumers=("python:/a",))
    for whom, expected in (("python:/a", True), ("python:/b", False)):
        load = replace(make_finding(Step.FRAMEWORKS, ERROR, "trial-failed", "t"), consumers=(whom,))
        assert follows(load, driver) is expected
        assert follows(load, replace(driver, consumers=()))


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
    )  # type: ignore[arg-type]  # the table's words
    seen = replace(m.wheel_machine(), records=(PackageRecords(prefix=m.PREFIX, damaged=(file,)),))
    if ran:
        seen = replace(seen, trials=(trial(gpu=True, right=True),))
    [found] = [f for f in diagnose(seen) if f.id == "frameworks.record-torch"]
    assert found.severity is severity
    if ran and state == "size differs":
        wrong = [f for f in diagnose(replace(seen, trials=(trial(gpu=True, right=False),))) if f.id == found.id]
        assert [f.severity for f in wrong] == [Severity.WARNING]
