"""The command check, started as engines start it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SICK = ROOT / "tests/snapshots/h200/cnn-deleted.json"


def check(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "core", "check", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
        cwd=cwd or ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "CONVALESCE_LANGUAGE": "en", "PYTHONUTF8": "1"},
    )


def test_this_machine_is_one_short_line_and_nothing_else() -> None:
    done = check("--only", "environment")
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
    assert len(done.stdout) <= 81
    assert done.returncode in (0, 1, 5)


@pytest.mark.parametrize(("form", "status"), [("nagios", 2), ("npd", 1), ("slurm", 1), ("prom", 0), ("intune", 1)])
def test_a_sick_machine_has_the_status_that_the_engine_wants(form: str, status: int) -> None:
    done = check("--report", SICK, "--form", form)
    assert (done.returncode, done.stderr) == (status, "")
    told = {"prom": 'convalesce_cause{cause="cudnn_sublibrary_missing"} 1\n'}.get(form, "is missing")
    assert told in done.stdout


def test_a_check_that_takes_too_long_is_unknown() -> None:
    done = check("--form", "nagios", "--time-limit", "0.1", "--quiet", "--try")
    assert done.returncode == 3
    assert done.stdout.startswith("CONVALESCE UNKNOWN - The check did not end within 0.1 seconds")


def test_a_file_is_whole_or_the_old_one(tmp_path: Path) -> None:
    """Somebody who reads all the time sees complete files only."""
    out = tmp_path / "convalesce.prom"
    assert check("--report", SICK, "--form", "prom", "--out", out).stdout == ""
    whole = out.read_text(encoding="utf-8")
    seen: set[str] = set()
    over = threading.Event()

    def read() -> None:
        while not over.is_set():
            seen.add(out.read_text(encoding="utf-8"))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for _round in range(3):
            check("--report", SICK, "--form", "prom", "--out", out)
    finally:
        over.set()
        reader.join()
    assert seen == {whole}
    assert [p.name for p in tmp_path.iterdir()] == [out.name]
    if sys.platform != "win32":
        assert stat.S_IMODE(out.stat().st_mode) == 0o644


def test_a_policy_is_written_and_met_and_broken(tmp_path: Path) -> None:
    policy = tmp_path / "golden.toml"
    assert check("--only", "driver,environment", "--write-expect", policy).returncode == 0
    assert check("--only", "driver,environment", "--expect", policy).returncode == 0
    policy.write_text('[driver]\nat_least = "9999"\n')
    done = check("--only", "driver,environment", "--expect", policy, "--form", "junit")
    assert done.returncode == 1
    assert "9999" in done.stdout


def test_no_policy_is_written_of_a_sick_machine(tmp_path: Path) -> None:
    policy = tmp_path / "golden.toml"
    done = check("--report", SICK, "--write-expect", policy)
    assert done.returncode == 2
    assert not policy.exists()
    assert done.stderr.startswith("convalesce: A policy can be written only on a machine without faults")


ENGINES = {"nagios": 3, "npd": 2, "slurm": 0, "intune": 0, "junit": 1, "sarif": 1, "github": 1, "prom": 0}


@pytest.mark.parametrize(("form", "status"), ENGINES.items())
def test_a_policy_that_cannot_be_read_is_not_known_to_any_engine(form: str, status: int, tmp_path: Path) -> None:
    """Status 2 of wrong use is "critical" to one engine and drains the node of another."""
    bad = tmp_path / "bad.toml"
    bad.write_text("[drivers]\n")
    done = check("--report", SICK, "--expect", bad, "--form", form)
    assert done.returncode == status
    assert done.stderr.startswith("convalesce: ")
    assert bool(done.stdout) is (form != "slurm")
    quiet = check("--report", SICK, "--expect", bad, "--form", form, "--quiet")
    assert (quiet.returncode, quiet.stderr) == (status, "")


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell redirects")
@pytest.mark.parametrize(("where", "status"), [("| true", 2), (">&-", 3), (">/dev/full", 3), ("--out nowhere/x", 2)])
def test_a_fault_is_never_ok_because_nobody_could_read_it(where: str, status: int, tmp_path: Path) -> None:
    line = f'"{sys.executable}" -m core check --report "{SICK}" --form nagios {where}; exit ${{PIPESTATUS[0]}}'
    env = {**os.environ, "PYTHONPATH": str(ROOT), "CONVALESCE_LANGUAGE": "en"}
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, cwd=tmp_path, env=env)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="FIFOs are of POSIX systems")
def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    """As /dev/full does: an administrator's check once left a file in its place."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    told: list[str] = []
    reader = threading.Thread(target=lambda: told.append(pipe.read_text(encoding="utf-8")), daemon=True)
    reader.start()
    done = check("--report", SICK, "--form", "slurm", "--out", pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    reader.join(20)
    assert (done.returncode, told) == (1, ["convalesce: cuDNN is incomplete: libcudnn_cnn.so.9 is missing.\n"])


WRONG = {
    "no such file": ["--expect", "nowhere.toml"],
    "a folder": ["--expect", "."],
    "a line too short": ["--length", "3"],
    "a line too long": ["--length", "5000"],
    "digits that are none": ["--length", "²³"],
    "no time": ["--time-limit", "0"],
    "no number": ["--time-limit", "nan"],
    "a form that nobody has": ["--form", "xml"],
    "a step that nobody has": ["--only", "xml"],
    "a folder that is not there": ["--report", str(SICK), "--out", "nowhere/x.prom"],
}


@pytest.mark.parametrize("arguments", WRONG.values(), ids=WRONG)
def test_wrong_use_is_a_sentence_and_status_2(arguments: list[str], tmp_path: Path) -> None:
    done = check(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.strip()


def test_names_are_taken_out_unless_they_are_wanted(tmp_path: Path) -> None:
    report = json.loads(SICK.read_bytes())
    home = "/home/ada.lovelace/ml"
    text = json.dumps(report).replace("<home>", "/home/ada.lovelace")
    told = json.loads(text)
    told["snapshot"]["machine"] |= {"user": "ada.lovelace", "home": "/home/ada.lovelace"}
    recorded = tmp_path / "report.json"
    recorded.write_text(json.dumps(told))
    short, long = (check("--report", recorded, "--form", "junit", *more) for more in ((), ("--full-names",)))
    assert "ada" not in short.stdout
    assert ("ada" in long.stdout) == (home.rpartition("/")[0] in text)
