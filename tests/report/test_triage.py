"""Triage: ten thousand reports become one table, and what is no report is named and passed over."""

from __future__ import annotations

import io
import os
import random
import tracemalloc
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from core.doctor.examine import diagnose_snapshot
from core.model.facts import Distribution, Driver, Environment, Machine, PythonEnvironment, Snapshot, Variable
from core.model.findings import Finding, Report
from core.model.steps import Severity, Step
from core.report.json_form import indented_json, to_json
from core.report.triage.differences import ABSENT, Tally, group_differences, peer_differences
from core.report.triage.export import COLUMNS, export_file
from core.report.triage.reading import BadFile, read_all, read_stream
from core.report.triage.table import machine_differences, tabulate_reports, triage_text
from tests import machines
from tests.benchmarks import triage as benchmark


def broken(cause: str = "hardware_fault", title: str = "It is broken.") -> Report:
    finding = Finding(id="driver.x", cause=cause, step=Step.DRIVER, severity=Severity.ERROR, title=title, primary=True)
    return Report(snapshot=Snapshot(machine=Machine(system="linux", release="Debian 12")), findings=(finding,))


def put(folder: Path, name: str, report: Report) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(to_json(report))


def test_causes_are_counted_and_machines_stand_worst_first(tmp_path: Path) -> None:
    put(tmp_path, "a.json", diagnose_snapshot(machines.wheel_machine()))
    put(tmp_path, "b/one.json", broken())
    put(tmp_path, "b/two.json", broken())
    put(tmp_path, "c.json", broken("driver_too_old", "Too old."))
    (tmp_path / "notes.txt").write_text("not read")
    table = tabulate_reports(read_all(tmp_path))
    assert table.reports == 4
    assert [(c.what, c.machines) for c in table.causes] == [("hardware_fault", 2), ("driver_too_old", 1)]
    assert (table.worst[0].what, table.worst[0].machines) == ("error", 3)
    assert [m.file.replace(os.sep, "/") for m in table.machines] == ["b/one.json", "b/two.json", "c.json", "a.json"]
    assert table.malformed == ()


MALFORMED = {
    "empty.json": b"",
    "half.json": to_json(broken())[:300],
    "text.json": b"hello",
    "list.json": b"[1, 2]",
    "other.json": b'{"schema": 1}',
    "newer.json": to_json(broken()).replace(b'"schema": 1', b'"schema": 99'),
    "latin.json": b'{"schema": 1, "snapshot": {"machine": {"release": "\xe9"}}}',
    "deep.json": b"[" * 200_000,
    "deep-inside.json": to_json(broken()).replace(b'"version"', b'"x": ' + b"[" * 200_000 + b', "version"'),
    "wrong.json": to_json(broken()).replace(b'"error"', b'"dreadful"'),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_file_is_named_and_the_others_are_read(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(MALFORMED[name])
    put(tmp_path, "good.json", broken())
    table = tabulate_reports(read_all(tmp_path))
    assert [b.file for b in table.malformed] == [name]
    assert table.malformed[0].problem
    assert [m.file for m in table.machines] == ["good.json"]


@pytest.mark.skipif(os.name == "nt", reason="FIFOs are of POSIX systems")
def test_a_fifo_and_a_link_to_nothing_do_not_stop_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "gone.json").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to(tmp_path)
    put(tmp_path, "good.json", broken())
    table = tabulate_reports(read_all(tmp_path))
    assert [b.file for b in table.malformed] == ["gone.json", "pipe.json"]
    assert table.reports == 1


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "huge.json").open("wb") as file:
        file.truncate(1 << 40)
    [(_name, found)] = read_all(tmp_path)
    assert isinstance(found, BadFile)
    assert "too large" in found.problem


def test_a_machine_unlike_the_others_is_an_outlier(tmp_path: Path) -> None:
    base = diagnose_snapshot(machines.wheel_machine())
    for n in range(9):
        put(tmp_path, f"{n}.json", base)
    old = replace(base, snapshot=replace(base.snapshot, machine=machines.linux_machine(kernel="x")))
    old = replace(old, snapshot=replace(old.snapshot, machine=Machine(system="linux", release="Debian 8")))
    put(tmp_path, "odd.json", old)
    assert [(o.file, o.what, o.value) for o in tabulate_reports(read_all(tmp_path)).outliers] == [
        ("odd.json", "system", "Debian 8")
    ]


def test_fleets_of_many_kinds_have_no_outliers(tmp_path: Path) -> None:
    for n in range(10):
        machine = Machine(system="linux", release=f"System {n}")
        put(tmp_path, f"{n}.json", Report(snapshot=Snapshot(machine=machine)))
    assert tabulate_reports(read_all(tmp_path)).outliers == ()


def test_a_warning_without_a_primary_still_names_its_cause(tmp_path: Path) -> None:
    report = broken()
    put(tmp_path, "a.json", replace(report, findings=(replace(report.findings[0], primary=False),)))
    [row] = tabulate_reports(read_all(tmp_path)).machines
    assert row.cause == "hardware_fault"


def test_hostile_words_cannot_drive_the_terminal(tmp_path: Path) -> None:
    put(tmp_path, "a\x1b[31m.json", broken("x\x1b[2J", "y\x07\nz"))
    shown = triage_text(tabulate_reports(read_all(tmp_path)))
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "hardware" not in shown


def test_json_has_every_machine_and_an_empty_folder_is_an_empty_table(tmp_path: Path) -> None:
    assert msgspec.json.decode(indented_json(tabulate_reports(read_all(tmp_path))))["machines"] == []
    assert triage_text(tabulate_reports(read_all(tmp_path))).startswith("0 reports")
    for n in range(40):
        put(tmp_path, f"{n:02}.json", broken())
    table = tabulate_reports(read_all(tmp_path))
    assert len(msgspec.json.decode(indented_json(table))["machines"]) == 40
    assert "and 10 more" in triage_text(table)


def test_the_benchmark_reads_what_it_wrote_and_passes_over_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    benchmark.main(500)
    assert "499 reports, 1 passed over" in capsys.readouterr().out


# --- streams ---------------------------------------------------------------------------------------------------


def line(report: Report) -> bytes:
    return msgspec.json.encode(msgspec.json.decode(to_json(report))) + b"\n"


def test_lines_of_a_file_and_of_a_stream_are_reports(tmp_path: Path) -> None:
    text = line(broken()) + b"no report\n\n" + line(broken("driver_too_old"))
    (tmp_path / "all.jsonl").write_bytes(text)
    for table in (
        tabulate_reports(read_all(tmp_path)),
        tabulate_reports(read_all(tmp_path / "all.jsonl")),
        tabulate_reports(read_stream(io.BytesIO(text))),
    ):
        assert [(c.what, c.machines) for c in table.causes] == [("driver_too_old", 1), ("hardware_fault", 1)]
        assert [b.file.endswith((".jsonl", "-")) for b in table.malformed] == [True]


def test_memory_stays_flat(tmp_path: Path) -> None:
    """Twenty times the reports, a few rows more: what is kept of a machine is a row, not its report."""

    def peak(count: int) -> int:
        one = line(diagnose_snapshot_of(0))
        tracemalloc.start()
        tabulate_reports(read_stream(io.BytesIO(one * count)))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    assert peak(400) - peak(20) < 380 * 4096


def diagnose_snapshot_of(number: int) -> Report:
    return Report(snapshot=peer(random.Random(number)))


# --- what sets machines apart ----------------------------------------------------------------------------------

NOISE = {
    "HOME": 40,
    "TZ": 4,
    "LANG": 3,
    "CUDA_CACHE_PATH": 12,
    "OMP_NUM_THREADS": 5,
    "TMPDIR": 6,
    "XDG_RUNTIME_DIR": 30,
    "EDITOR": 4,
    "NCCL_DEBUG": 2,
    "TF_CPP_MIN_LOG_LEVEL": 3,
}
"""Variables and how many values of each are about; half of the machines have it."""
PLANTED: tuple[tuple[str, str], ...] = (
    *(("variable CUDA_VISIBLE_DEVICES", v) for v in ("''", "-1", "7", "NoDevFiles")),
    *(("variable LD_LIBRARY_PATH", v) for v in ("/opt/old/cuda/lib64", "/usr/local/cuda-9.0/lib64", "/home/x/cudnn7")),
    *(("variable LD_PRELOAD", v) for v in ("/opt/shim/libcuda.so", "/opt/a/libcudart.so.9")),
    *(("variable CUDA_HOME", v) for v in ("/nonexistent", "/usr/local/cuda-9.0")),
    *(("variable PYTHONPATH", v) for v in ("/srv/legacy/site-packages", "/home/x/src/torch")),
    *(("package torch", v) for v in ("1.7.1", "2.9.0+cpu")),
    *(("package nvidia-cudnn-cu12", v) for v in ("8.2.0.53", "9.0.0.1")),
    ("package numpy", "1.13.0"),
    ("driver", "390.157"),
    ("libc", "glibc 2.17"),
)
"""Twenty faults, each one setting that no peer has; faults of presence and of value, common and rare settings."""


def peer(pick: random.Random, **settings: str) -> Snapshot:
    """Return a machine of a fleet: alike in what matters, unlike in what does not."""
    variables = {n: f"value {pick.randrange(k)}" for n, k in NOISE.items() if pick.random() < 0.5}
    variables |= {"CUDA_HOME": "/usr/local/cuda"} if pick.random() < 0.8 else {}
    packages = {"torch": pick.choice(("2.8.0", "2.9.0")), "numpy": pick.choice(("1.26.4", "2.1.0", "2.2.0"))}
    packages |= {
        "nvidia-cudnn-cu12": pick.choice(("9.10.2.21", "9.12.0.46")),
        "triton": pick.choice(("3.4.0", "3.5.0")),
    }
    machine = {"libc": pick.choice(("glibc 2.36", "glibc 2.39")), "driver": pick.choice(("580.65.06", "575.57.08"))}
    for name, value in settings.items():
        kind, _space, rest = name.partition(" ")
        {"variable": variables, "package": packages}.get(kind, machine)[rest or kind] = value
    distributions = tuple(Distribution(name=n, version=v) for n, v in packages.items())
    return Snapshot(
        machine=Machine(system="linux", release=pick.choice(("Debian 12", "Ubuntu 24.04")), libc=machine["libc"]),
        driver=Driver(module_version=machine["driver"]),
        environment=Environment(variables=tuple(Variable(name=n, value=v) for n, v in variables.items())),
        pythons=(PythonEnvironment(prefix="/env", version="3.11.2", distributions=distributions),),
    )


def test_of_twenty_planted_faults_among_87_machines_most_are_named_first(tmp_path: Path) -> None:
    pick = random.Random(87)
    for number in range(67):
        put(tmp_path, f"peer-{number:02}.json", Report(snapshot=peer(pick)))
    ranks = []
    for name, value in PLANTED:
        sick = replace(broken(), snapshot=peer(pick, **{name: value}))
        [(_name, read)] = read_stream(io.BytesIO(line(sick)))
        assert not isinstance(read, BadFile)
        found = [(d.setting, d.value) for d in machine_differences(read_all(tmp_path), read)]
        ranks.append(found.index((name, value)) if (name, value) in found else 99)
    first = sum(r == 0 for r in ranks)
    print(f"{first} of {len(PLANTED)} planted settings first")
    assert first >= 15, dict(zip(PLANTED, ranks, strict=True))


def test_what_a_group_of_sick_machines_shares_is_told_first(tmp_path: Path) -> None:
    pick = random.Random(3)
    for number in range(60):
        put(tmp_path, f"peer-{number:02}.json", Report(snapshot=peer(pick)))
    for number in range(8):
        sick = peer(pick, **{"variable LD_LIBRARY_PATH": "/opt/old/lib"})
        put(tmp_path, f"sick-{number}.json", replace(broken(), snapshot=sick))
    [apart] = tabulate_reports(read_all(tmp_path)).apart
    assert apart.cause == "hardware_fault"
    first = apart.differences[0]
    assert (first.setting, first.value) == ("variable LD_LIBRARY_PATH", "/opt/old/lib")
    assert (first.sick, first.of_sick, first.healthy, first.of_healthy) == (8, 8, 0, 60)
    assert "LD_LIBRARY_PATH: /opt/old/lib (8 of 8; healthy: 0 of 60)" in triage_text(
        tabulate_reports(read_all(tmp_path))
    )


def test_what_all_share_or_nobody_can_be_compared_with_is_no_difference() -> None:
    one, other, empty = Tally(), Tally(), Tally()
    for _number in range(30):
        one.add({"driver": "580"})
        other.add({"driver": "580"})
    assert group_differences(one, other) == ()
    assert group_differences(one, empty) == ()
    assert peer_differences({"driver": "580"}, other) == ()
    [lost] = peer_differences({}, other)
    assert (lost.setting, lost.value) == ("driver", ABSENT)


# --- export ----------------------------------------------------------------------------------------------------


def fleet(folder: Path) -> Path:
    pick = random.Random(5)
    for number in range(20):
        put(folder, f"{number:02}.json", Report(snapshot=peer(pick)))
    put(folder, "it's sick.json", replace(broken(), snapshot=peer(pick, driver="390.157")))
    (folder / "bad.json").write_text("no")
    return folder


@pytest.mark.skipif(os.name == "nt", reason="DuckDB is not among the Windows lab's packages")
@pytest.mark.parametrize("name", ["rows.jsonl", "it's rows.parquet"])
def test_three_questions_to_an_export_are_answered(name: str, tmp_path: Path) -> None:
    import duckdb

    (tmp_path / "reports").mkdir()
    out = tmp_path / name
    assert export_file(read_all(fleet(tmp_path / "reports")), out) == 21
    with duckdb.connect(":memory:") as database:
        rows = (
            database.read_parquet(str(out))
            if out.suffix == ".parquet"
            else database.read_json(str(out), columns=COLUMNS)
        )
        assert rows.filter("worst = 'error'").project("file, cause").fetchall() == [
            ("it's sick.json", "hardware_fault")
        ]
        old = rows.aggregate("driver, count(*) AS n", "driver").filter("driver = '390.157'")
        assert old.fetchall() == [("390.157", 1)]
        torch = rows.filter("settings['package torch'] IN ('2.8.0', '2.9.0')").aggregate("count(*)")
        assert torch.fetchall() == [(21,)]
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([name, "reports"])


def test_an_export_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "reports").mkdir()
    with pytest.raises(OSError, match="directory"):
        export_file(read_all(fleet(tmp_path / "reports")), tmp_path / "nowhere" / "x.jsonl")
    assert [p.name for p in tmp_path.iterdir()] == ["reports"]
