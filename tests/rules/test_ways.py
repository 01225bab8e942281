"""Ways of starting: what holds in some of them only says so, and nothing is said of what nobody starts."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from core.doctor.examine import diagnose_snapshot
from core.model.facts import (
    CudaInit,
    Environment,
    ProbeError,
    PythonEnvironment,
    Snapshot,
    Start,
    StartedPython,
    StartLine,
    StartLook,
    System,
    Variable,
)
from core.model.findings import Finding
from core.model.steps import Severity, Step
from core.rules.decisive_variables import Comparison
from core.rules.ways import _lines_of, starts_another_program, way_words, with_other_ways
from tests.machines import wheel_machine as linux

FILE = "/home/ada/.bashrc"


def start(id: str, value: str | None = "-1", *, prefix: str = "", file: str = FILE) -> Start:
    kind, _colon, at = id.partition(":")
    lines = (
        () if value is None else (StartLine(name="CUDA_VISIBLE_DEVICES", does="set", value=value, file=file, line=3),)
    )
    return Start(id=id, kind=kind, at=at, prefix=prefix, lines=lines)


def seen_with(machine: Snapshot, *starts: Start, differ: dict[str, str | None]) -> Snapshot:
    """Return a machine whose ways have their own CUDA_VISIBLE_DEVICES; those that are not named agree with the session."""
    ours = machine.environment or Environment()
    looks = []
    for way, value in differ.items():
        variables = tuple(v for v in ours.variables if v.name != "CUDA_VISIBLE_DEVICES")
        if value is not None:
            variables += (Variable(name="CUDA_VISIBLE_DEVICES", value=value, source=f"{FILE}:3"),)
        looks.append(StartLook(starts=(way,), environment=replace(ours, variables=variables)))
    return replace(machine, starts=starts, start_looks=tuple(looks))


def hidden(seen: Snapshot) -> list[Finding]:
    return [f for f in diagnose_snapshot(seen).findings if f.id == "driver.hidden-by-variable"]


def test_a_fault_of_one_way_is_named_with_its_line_and_its_cure() -> None:
    starts = (start("notebook:/home/ada/.local/share/jupyter/kernels/ml/kernel.json"), start("terminal:bash", None))
    seen = seen_with(linux(), *starts, differ={starts[0].id: "-1"})
    (found,) = hidden(seen)
    assert found.severity is Severity.ERROR, "the driver answers without it, so it is certain"
    assert found.primary
    assert found.ways == (starts[0].id,)
    assert "notebooks (ml)" in found.title
    assert found.fix is not None
    assert [(c.path, c.line) for c in found.fix.changes] == [(FILE, 3)]


def test_a_fault_of_this_session_says_whom_it_does_not_concern() -> None:
    starts = (start("terminal:bash"), start("desktop:ada", None))
    machine = linux()
    assert machine.driver is not None
    bad = replace(
        machine,
        driver=replace(machine.driver, cuda=CudaInit(status=100, device_count=0), cuda_unhidden=machine.driver.cuda),
        environment=replace(
            machine.environment or Environment(),
            variables=(Variable(name="CUDA_VISIBLE_DEVICES", value="-1", source="environment"),),
        ),
    )
    (found,) = hidden(seen_with(bad, *starts, differ={"desktop:ada": None}))
    assert found.ways == ("process", "terminal:bash")
    assert "desktop" in found.why
    assert "Only in" not in found.title


def two_worlds(here: dict[str, str], there: dict[str, str]) -> Snapshot:
    """Return a machine with these variables, and a notebook that has others from lines of its file."""
    machine, at = linux(), "notebook:/x/kernels/ml/kernel.json"
    assert machine.driver is not None
    lines = tuple(
        StartLine(name=n, does="set", value=v, file="/x/kernels/ml/kernel.json", line=k)
        for k, (n, v) in enumerate(there.items(), 5)
    )
    way = Start(id=at, kind="notebook", at=at.partition(":")[2], lines=lines)
    ours = replace(
        machine.environment or Environment(),
        variables=tuple(Variable(name=n, value=v, source="environment") for n, v in here.items()),
    )
    theirs = replace(
        ours,
        variables=tuple(Variable(name=r.name, value=r.value, source=f"{r.file}:{r.line}") for r in lines),
    )
    driver = machine.driver
    if "CUDA_VISIBLE_DEVICES" in here:
        driver = replace(driver, cuda=CudaInit(status=100, device_count=0), cuda_unhidden=driver.cuda)
    look = StartLook(starts=(at,), environment=theirs)
    return replace(machine, driver=driver, environment=ours, starts=(way,), start_looks=(look,))


def test_the_line_that_makes_the_difference_is_shown_and_no_other() -> None:
    common = {"CUDA_LAUNCH_BLOCKING": "1", "NCCL_DEBUG": "INFO"}
    (found,) = hidden(two_worlds({}, {**common, "CUDA_VISIBLE_DEVICES": "-1"}))
    lines = [e.source for e in found.evidence if "kernel.json" in e.source]
    assert set(lines) == {"/x/kernels/ml/kernel.json:7"}


def test_what_a_finding_is_about_is_not_told_again_as_the_difference() -> None:
    (found,) = hidden(two_worlds({"CUDA_VISIBLE_DEVICES": "-1", "NCCL_DEBUG": "INFO"}, {"NCCL_DEBUG": "WARN"}))
    assert found.ways == ("process",)
    assert "CUDA_VISIBLE_DEVICES" in found.title
    assert "What makes the difference" not in found.why


def test_a_place_that_sets_something_else_and_lacks_what_this_session_has_is_no_fault() -> None:
    seen = two_worlds({"LD_LIBRARY_PATH": "/a"}, {"NCCL_DEBUG": "INFO"})
    bad = Finding(id="x.lost", cause="cuda_not_on_search_path", severity=Severity.ERROR, title="", step=Step.FRAMEWORKS)

    def judge(its: Snapshot) -> list[Finding]:
        return [] if its.loads == seen.loads else [bad]

    def told(kind: str, **there: str) -> list[Finding]:
        its = two_worlds({"LD_LIBRARY_PATH": "/a"}, there)
        (way,), (look,) = its.starts or (), its.start_looks or ()
        way = replace(way, kind=kind, id=f"{kind}:x")
        look = replace(look, starts=(way.id,), loads=())
        return with_other_ways([], replace(its, starts=(way,), start_looks=(look,)), judge)

    assert told("terminal", NCCL_DEBUG="INFO") == []
    assert [f.id for f in told("terminal", NCCL_DEBUG="INFO", LD_LIBRARY_PATH="/b")] == ["x.lost"]


def test_what_the_loader_finds_is_of_the_variables_that_count() -> None:
    seen = two_worlds({"LD_PRELOAD": "/a.so", "HF_HOME": "/h"}, {"LD_LIBRARY_PATH": "/b", "LD_PRELOAD": "/c.so"})
    (look,) = seen.start_looks or ()
    bad = Finding(id="x.lost", cause="cuda_not_on_search_path", severity=Severity.ERROR, title="", step=Step.FRAMEWORKS)

    def judge(its: Snapshot) -> list[Finding]:
        return [bad] if its.loads == () else []

    every = replace(look, loads=())
    one = replace(every, counting=("LD_LIBRARY_PATH",))
    assert seen.loads != ()
    assert Comparison(seen, one, judge).decisive(("x.lost", ""), there=True) == ("LD_LIBRARY_PATH",)
    assert Comparison(seen, every, judge).decisive(("x.lost", ""), there=True) == ("LD_LIBRARY_PATH", "LD_PRELOAD")
    assert Comparison(seen, look, judge).decisive(("x.lost", ""), there=True) == ()


def test_what_holds_everywhere_is_one_finding_for_all() -> None:
    starts = (start("terminal:bash"), start("desktop:ada"))
    seen = replace(linux(), starts=starts, start_looks=())
    assert hidden(seen) == []
    same = seen_with(linux(), *starts, differ={"terminal:bash": "-1", "desktop:ada": "-1"})
    (found,) = hidden(same)
    assert found.ways == ("terminal:bash", "desktop:ada")


def test_what_a_service_lacks_is_named_with_where_this_session_has_it_from() -> None:
    machine = linux()
    libraries = Variable(name="LD_LIBRARY_PATH", value="/opt/cuda/lib64", source=f"{FILE}:9")
    ours = replace(machine.environment or Environment(), variables=(libraries,))
    finding = Finding(
        id="frameworks.libraries-x", cause="", severity=Severity.ERROR, title="It fails.", step=Step.FRAMEWORKS
    )
    service = Start(id="service:/a.service", kind="service", at="/a.service", prefix="/env")
    rows = _lines_of(replace(machine, environment=ours, starts=(service,)), (service.id,), finding)
    assert [(e.value, e.source) for e in rows] == [("/opt/cuda/lib64", f"{FILE}:9")]
    assert "LD_LIBRARY_PATH" in rows[0].label
    same = replace(service, variables=(libraries,))
    (row,) = _lines_of(replace(machine, environment=ours, starts=(same,)), (service.id,), finding)
    assert row.value == "/a.service"
    job = replace(service, id="cron:/a/crontab: python a.py", kind="cron", at="/a/crontab: python a.py")
    rows = _lines_of(replace(machine, environment=ours, starts=(job,)), (job.id,), finding)
    assert [e.value for e in rows] == [job.at, "/opt/cuda/lib64"], "the title says cron, and not which job"


def test_a_finding_about_a_variable_names_the_lines_of_no_other() -> None:
    lines = tuple(
        StartLine(name=n, does="set", value=v, file=FILE, line=k)
        for k, (n, v) in enumerate((("HF_DATASETS_SIZE", "10GB"), ("CUDA_HOME", "/opt/cuda")), 4)
    )
    variables = tuple(Variable(name=r.name, value=r.value) for r in lines)
    way = Start(id="terminal:bash", kind="terminal", at="bash", lines=lines, variables=variables)
    its = Finding(
        id="environment.contract-hf_datasets_size", cause="variable_value_wrong", severity=Severity.ERROR, title="It is wrong.",
        step=Step.ENVIRONMENT, subject="HF_DATASETS_SIZE",
    )  # fmt: skip
    rows = _lines_of(replace(linux(), starts=(way,)), (way.id,), its)
    assert [e.source for e in rows] == [f"{FILE}:4"]


def test_a_healthy_machine_with_other_ways_is_quiet() -> None:
    machine = linux()
    starts = (start("cron:ada", None), start("terminal:bash", None), start("notebook:/x/kernels/ml/kernel.json", None))
    bare = StartLook(starts=tuple(s.id for s in starts), environment=Environment())
    before = {(f.id, f.subject) for f in diagnose_snapshot(machine).findings if f.severity >= Severity.WARNING}
    after = {
        (f.id, f.subject)
        for f in diagnose_snapshot(replace(machine, starts=starts, start_looks=(bare,))).findings
        if f.severity >= Severity.WARNING
    }
    assert after == before == set()


@pytest.mark.parametrize(
    ("way", "value", "severity"),
    [
        ("script:/home/ada/work/test.sh", "-1", Severity.NOTE),
        ("task:/home/ada/work/Makefile: test", "", Severity.NOTE),
        ("script:/home/ada/work/run.sh", "7", Severity.ERROR),
        ("service:/etc/systemd/system/x.service", "-1", Severity.ERROR),
    ],
)
def test_a_script_that_does_without_a_gpu_on_purpose_is_no_fault(way: str, value: str, severity: Severity) -> None:
    one = replace(start(way, value), variables=(Variable(name="CUDA_VISIBLE_DEVICES", value=value),), prefix="/env")
    (found,) = hidden(seen_with(linux(), one, differ={one.id: value}))
    assert (found.ways, found.severity) == ((way,), severity)


@pytest.mark.parametrize(
    ("argv", "concerned"),
    [
        (("/usr/bin/rsync", "-a", "/home/ada", "/mnt"), False),
        (("/usr/sbin/nginx",), False),
        (("/usr/bin/env", "python", "x.py"), True),
        (("/usr/bin/wrap", "/env/bin/python"), True),
        (("/home/ada/serve",), True),
        ((), True),
    ],
)
def test_a_service_of_another_program_does_not_concern_an_environment(argv: tuple[str, ...], concerned: bool) -> None:
    finding = Finding(id="x", cause="", severity=Severity.ERROR, title="t", step=Step.FRAMEWORKS, consumers=("python/torch:/env",))  # fmt: skip
    way = replace(start("service:/srv/x.service"), argv=argv)
    assert starts_another_program(way, finding) is not concerned


def test_the_words_of_every_kind() -> None:
    kinds = (
        "login",
        "terminal",
        "desktop",
        "ssh",
        "cron",
        "notebook",
        "activation",
        "service",
        "editor",
        "direnv",
        "module",
        "launcher",
        "script",
    )
    seen = replace(linux(), starts=tuple(start(f"{k}:x") for k in kinds))
    words = way_words(seen, ("process", *(f"{k}:x" for k in kinds)))
    assert words.startswith("this session, ")
    assert "{" not in words


@pytest.mark.parametrize(
    ("at", "words"),
    [
        ("/h/.config/waybar/config.jsonc: line 8", "the command in line 8 of waybar/config.jsonc"),
        ("/h/work/src/app/Main.java: line 2", "the command in line 2 of Main.java"),
        ("/h/.config/waybar/config.jsonc: custom/gpu", "the launcher waybar/config.jsonc: custom/gpu"),
    ],
)
def test_a_command_of_a_file_is_told_with_its_line(at: str, words: str) -> None:
    its = replace(start("launcher:x"), at=at)
    assert way_words(replace(linux(), starts=(its,)), (its.id,)) == words


def test_variables_of_the_loader_are_compared_together_and_others_alone() -> None:
    seen = two_worlds({}, {"LD_LIBRARY_PATH": "/b", "LD_PRELOAD": "/c.so", "HF_HOME": "/h"})
    (look,) = seen.start_looks or ()
    groups = [*Comparison(seen, replace(look, loads=()), lambda _its: [])._groups()]
    assert [set(g) for g in groups] == [{"LD_LIBRARY_PATH", "LD_PRELOAD"}, {"HF_HOME"}]


def lost_libraries(
    *kinds: str,
    own: dict[str, str],
    here: dict[str, str] | None = None,
    whose: str = "python/x:/env",
    system: System = "linux",
    further: tuple[Start, ...] = (),
    looked: bool = True,
    errors: tuple[ProbeError, ...] = (),
) -> list[Finding]:
    """Return what is told where the libraries of an environment are found by LD_LIBRARY_PATH alone; each of these ways starts it with
    its own variables, this session with those of ``here``."""
    made = two_worlds(here or {}, own)
    (way,), (look,) = made.starts or (), made.start_looks or ()
    variables = tuple(Variable(name=n, value=v) for n, v in own.items())
    starts = tuple(replace(way, id=f"{k}:x", kind=k, at="/srv/x", prefix="/env", variables=variables) for k in kinds)
    look = replace(look, starts=tuple(s.id for s in starts), loads=())
    loaders = "PATH" if system == "windows" else "LD_LIBRARY_PATH"
    finds = bool((here or {}).get(loaders))
    bad = Finding(
        id="x.lost", cause="cuda_not_on_search_path", severity=Severity.ERROR, title="It is lost.", step=Step.FRAMEWORKS,
        consumers=(whose,),
    )  # fmt: skip

    def judge(its: Snapshot) -> list[Finding]:
        there = its.loads == () and its.loads != made.loads
        return [] if (own.get(loaders) if there else finds) else [bad]

    its = replace(
        made,
        errors=errors,
        starts=(*starts, *further),
        start_looks=(look,) if looked else None,
        pythons=(PythonEnvironment(prefix="/srv/cuda-tests"),),
    )
    its = replace(its, machine=replace(its.machine, system=system))
    return with_other_ways(judge(made), its, judge)


def test_what_a_service_gives_its_environment_itself_is_no_fault_of_a_terminal() -> None:
    (found,) = lost_libraries("service", own={"LD_LIBRARY_PATH": "/a"})
    assert found.severity is Severity.NOTE
    assert "x" in found.title
    (found,) = lost_libraries("service", own={"LD_LIBRARY_PATH": "/a"}, here={"VIRTUAL_ENV": "/env"})
    assert found.severity is Severity.ERROR, "this session has that environment active"
    (found,) = lost_libraries("terminal", own={"LD_LIBRARY_PATH": "/a"})
    assert found.severity is Severity.ERROR, "nothing starts the environment so"
    (found,) = lost_libraries("service", own={"NCCL_DEBUG": "INFO"})
    assert found.severity is Severity.ERROR, "the service lacks it, too"


@pytest.mark.parametrize(
    ("ended", "own", "looked", "severity"),
    [
        ("start_looks", {"LD_LIBRARY_PATH": "/a"}, False, Severity.UNKNOWN),
        ("start_looks", {"NCCL_DEBUG": "INFO"}, False, Severity.ERROR),  # it gives the loader nothing
        ("start_looks", {"LD_LIBRARY_PATH": "/a"}, True, Severity.NOTE),  # this way was compared in time
        ("starts", {"NCCL_DEBUG": "INFO"}, False, Severity.UNKNOWN),  # nobody knows what gives it
        ("", {"LD_LIBRARY_PATH": "/a"}, False, Severity.ERROR),  # it agrees with this session
    ],
)
def test_what_a_look_that_did_not_end_may_refute_is_undecided(
    ended: str, own: dict[str, str], looked: bool, severity: Severity
) -> None:
    errors = (ProbeError(probe=ended, kind="time-out", message=""),) if ended else ()
    (found,) = lost_libraries("service", own=own, looked=looked, errors=errors)
    assert found.severity is severity


@pytest.mark.parametrize(
    ("dead", "fault", "severity"),
    [("conda activate m1", "", Severity.NOTE), ("", "no command", Severity.NOTE), ("", "exits", Severity.NOTE), ("", "", Severity.ERROR)],
)  # fmt: skip
def test_what_an_activation_gives_that_a_file_means_to_make_is_no_fault_of_a_terminal(
    dead: str, fault: Any, severity: Severity
) -> None:
    """That the file does not activate it is told by itself."""
    runs = StartedPython(
        name="python", path="/base/python", prefix="/base", seems="/env", why="imports", lacks=("x",), dead=dead, fault=fault
    )  # fmt: skip
    script = Start(id="script:/run", kind="script", at="/run", prefix="/base", runs=(runs,))
    (found,) = lost_libraries("activation", own={"LD_LIBRARY_PATH": "/a"}, further=(script,))
    assert found.severity is severity


@pytest.mark.parametrize(("system", "severity"), [("windows", Severity.NOTE), ("linux", Severity.ERROR)])
def test_what_every_start_leads_to_is_no_fault_of_programs_that_none_is_known_of(
    system: System, severity: Severity
) -> None:
    own = {"PATH" if system == "windows" else "LD_LIBRARY_PATH": "/a"}
    (found,) = lost_libraries("script", own=own, whose="plain", system=system)
    assert found.severity is severity


def test_a_kernel_gets_what_its_server_has() -> None:
    here = {"LD_LIBRARY_PATH": "/a"}
    assert [f.id for f in lost_libraries("notebook", own={}, here=here)] == ["x.lost"]
    assert lost_libraries("notebook", "terminal", own={}, here=here) == []
    assert [f.id for f in lost_libraries("service", "terminal", own={}, here=here)] == ["x.lost"]


def test_the_name_of_an_environment_is_no_toolkit_on_path() -> None:
    here = {"LD_LIBRARY_PATH": "/a", "PATH": "/bin"}
    assert lost_libraries("activation", own={"PATH": "/opt/cuda/bin:/bin"}, here=here)
    assert lost_libraries("activation", own={"PATH": "/srv/cuda-tests/bin:/bin"}, here=here) == []


def test_what_is_told_of_a_fault_is_what_the_way_that_counts_lacks() -> None:
    """A desktop that sets nothing lacks more, and nobody starts the program from it."""
    counts, idle = start("notebook:/home/ada/.local/share/jupyter/kernels/ml/kernel.json"), start("desktop:ada", None)
    machine = linux()
    ours = machine.environment or Environment()
    given = replace(ours, variables=(Variable(name="LD_LIBRARY_PATH", value="/a:/b", source="environment"),))
    own = replace(ours, variables=(Variable(name="LD_LIBRARY_PATH", value="/a", source=f"{FILE}:3"),))
    looks = (
        StartLook(starts=(idle.id,), environment=replace(ours, variables=())),
        StartLook(starts=(counts.id,), environment=own),
    )
    seen = replace(machine, environment=given, starts=(counts, idle), start_looks=looks)

    def lacking(its: Snapshot) -> list[Finding]:
        found = (v.value for v in (its.environment or Environment()).variables)
        lost = {"/a", "/b"} - set(next(found, "").split(":"))
        fault = Finding(id="x.y", cause="", step=Step.FRAMEWORKS, severity=Severity.ERROR, title="", subject="/e")
        return [replace(fault, title=f"Lacks {', '.join(sorted(lost))}.")] if lost else []

    (told,) = with_other_ways([], seen, lacking)
    assert told.ways == (counts.id,)
    assert told.title.endswith("Lacks /b.")
