"""The command line as a person and a script meet it: exit statuses, streams, and files that are none."""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.cli import main, terminal
from core.common.exit_codes import INTERRUPTED
from core.doctor.examine import diagnose_snapshot
from core.doctor.given import read_file
from core.doctor.history import with_history
from core.host.policy import Policy
from core.model.facts import Machine, Snapshot
from core.model.findings import Report
from core.report.json_form import from_json, to_json
from core.report.redact import redact
from core.report.session_code import decoded_report, encode_code
from tests import machines as m
from tests.test_snapshots import RECORDED

POSIX = pytest.mark.skipif(os.name == "nt", reason="FIFOs and devices are of POSIX systems")
OK, FOUND, USAGE, FAILED = 0, 1, 2, 3


def run(*arguments: object) -> int:
    """Run a command in this process; argparse's own exit is a status, too."""
    try:
        return main.main([str(a) for a in arguments])
    except SystemExit as e:
        return int(e.code or 0)


def broken() -> Report:
    return diagnose_snapshot(m.with_file(m.wheel_machine(), "ops", state="truncated", size=9))


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "bad.json"
    path.write_bytes(to_json(broken()))
    return path


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.json"
    path.write_bytes(to_json(diagnose_snapshot(m.wheel_machine())))
    return path


# --- exit statuses -------------------------------------------------------------------------------------------


def test_a_machine_in_order_is_0_and_an_error_is_1(good: Path, bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("replay", good) == OK
    assert run("replay", bad) == FOUND
    assert "corrupt_or_truncated_file" in capsys.readouterr().out


WRONG_USE = (
    ("nonsense",),
    ("replay",),
    ("scan", "--nonsense"),
    ("scan", "--only", "driver,kernel"),
    ("report", "x.json", "--html", "--markdown"),
    ("replay", "nowhere.json"),
    ("triage", "nowhere"),
    ("explain", "CV-AAAA-AAAA"),
    ("undo", "20200101T000000Z-0000", "--yes"),
    ("undo", "20200101T000000Z-0000", "--all"),
    ("fix", "--cudnn"),
)


@pytest.mark.parametrize("arguments", WRONG_USE, ids=" ".join)
def test_wrong_use_is_2_and_says_one_thing_on_stderr(
    arguments: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CONVALESCE_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    assert run(*arguments) == USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert "convalesce" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("scna",), "Did you mean convalesce scan?"),
        (("xyz",), "convalesce --help lists what is available."),
        (("scan", "--pyhton", "x"), "Did you mean --python?"),
        (("scan", "-json"), "Did you mean --json?"),
        (("fix", "--dryrun=1"), "Did you mean --dry-run?"),
        (("scan", "/opt/ml"), "convalesce scan --help lists what is available."),
        (("scan", "--python", ""), "is a variable not set?"),
        (("scan", "--program", " "), "is a variable not set?"),
        (("scan", "--root", ""), "is a variable not set?"),
        (("scan", "--out", ""), "is a variable not set?"),
        (("check", "--python", ""), "is a variable not set?"),
        (("check", "--length", "0"), "'0' is not a number from 20 to 2048"),
        (("check", "--time-limit", "x"), "'x' is not a number from 0.1 to 86400"),
    ],
)
def test_wrong_use_is_told_with_the_way_out(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err


def test_only_names_the_word_that_it_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("scan", "--only", "driver,kernel") == USAGE
    err = capsys.readouterr().err
    assert "'kernel'" in err
    assert "environment" in err


def test_a_fault_of_its_own_is_3_with_one_sentence(
    bad: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_args: object) -> None:
        raise RuntimeError("the roof came down")

    monkeypatch.setattr("core.doctor.examine.diagnose_snapshot", fail)
    assert run("replay", bad) == FAILED
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert "the roof came down" in err


def test_an_interruption_is_told_without_a_traceback(
    bad: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("core.doctor.examine.diagnose_snapshot", stop)
    assert run("replay", bad) == INTERRUPTED
    assert capsys.readouterr().err.endswith("stopped. Nothing was changed.\n")
    monkeypatch.setattr("core.doctor.repair.recover", stop)
    assert run("undo") == INTERRUPTED  # what was done before it was stopped stands
    told = capsys.readouterr().err
    assert "Nothing was changed" not in told
    assert "undo --list" in told


def test_help_and_version_are_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == OK
    shown = capsys.readouterr().out
    assert {str(n) for n in range(7)} <= set(shown.split())
    for command in ("scan", "fix", "undo", "explain", "replay", "report", "triage"):
        assert command in shown
    assert run("--version") == OK
    assert capsys.readouterr().out.startswith("convalesce ")


# --- streams ---------------------------------------------------------------------------------------------------


def scanned(monkeypatch: pytest.MonkeyPatch, report: Report) -> None:
    """Let scan find what a report holds, and say its progress as the real one does; this machine has no history."""
    monkeypatch.setattr("core.doctor.history.machine_state_folder", lambda: Path("/nowhere/at/all"))

    def examine(_host: object, watch: object, _options: object) -> Report:
        watch.say("Querying the driver and the GPU")
        return report

    monkeypatch.setattr("core.doctor.examine.examine", examine)


def test_json_is_one_document_on_stdout_and_progress_is_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("CONVALESCE_STATE", str(tmp_path / "state"))
    scanned(monkeypatch, broken())
    assert run("scan", "--json") == FOUND
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert document["schema"] == 1
    assert document["history"] == []
    assert "Querying the driver" in err
    assert not (tmp_path / "state").exists()


def test_scan_is_redacted_unless_it_is_told_otherwise(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("CONVALESCE_STATE", str(tmp_path / "state"))
    scanned(monkeypatch, broken())
    for options in ((), ("--json",)):
        run("scan", *options)
        assert "/home/ada" not in capsys.readouterr().out
    run("scan", "--json", "--full-names")
    assert "/home/ada" in capsys.readouterr().out


def test_out_writes_the_same_report_that_json_prints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("CONVALESCE_STATE", str(tmp_path / "state"))
    scanned(monkeypatch, broken())
    run("scan", "--json", "--out", tmp_path / "r.json")
    assert (tmp_path / "r.json").read_text(encoding="utf-8") == capsys.readouterr().out
    assert run("scan", "--json", "--out", tmp_path / "no" / "r.json") == USAGE
    told = capsys.readouterr()
    assert told.out == (tmp_path / "r.json").read_text(encoding="utf-8"), "the result is not lost with the file"
    assert "cannot be written" in told.err


def test_a_policys_share_gets_the_report_without_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scanned(monkeypatch, broken())
    monkeypatch.setattr("core.host.policy.this_policy", lambda: Policy(report_share=str(tmp_path)))
    assert run("scan", "--full-names") == FOUND
    (file,) = tmp_path.iterdir()
    assert str(file) in capsys.readouterr().err
    assert file.read_bytes() == to_json(redact(with_history(broken())))
    monkeypatch.setattr("core.host.policy.this_policy", lambda: Policy(report_share=str(tmp_path / "gone")))
    assert run("scan") == FOUND, "a share that is not there changes no verdict"
    assert "which failed" in capsys.readouterr().err


def test_scan_tells_a_code_and_explain_shows_its_findings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("CONVALESCE_STATE", str(tmp_path / "state"))
    scanned(monkeypatch, broken())
    run("scan")
    code = encode_code(decoded_report(broken()))
    assert f"convalesce explain {code}" in capsys.readouterr().out
    assert run("explain", code.lower().replace("-", " ")) == FOUND
    assert "corrupt_or_truncated_file" in capsys.readouterr().out
    assert run("explain", code, "--json") == FOUND
    assert json.loads(capsys.readouterr().out)["findings"][0]["primary"] is True


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("no_colour", "coloured"), [("", True), ("1", False)])
def test_colour_is_for_terminals_and_no_color_is_honoured(
    no_colour: str, coloured: bool, bad: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("NO_COLOR", no_colour)
    assert run("replay", bad) == FOUND
    assert ("\x1b[" in screen.getvalue()) is coloured


def test_there_is_no_colour_in_a_pipe(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("replay", bad)
    assert "\x1b" not in capsys.readouterr().out


def test_a_stream_that_knows_no_unicode_gets_the_nearest_form(bad: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert run("replay", bad) == FOUND
    assert b"corrupt_or_truncated_file" in raw.getvalue()


@POSIX
def test_a_reader_that_goes_away_is_no_failure(bad: Path) -> None:
    command = f'"{sys.executable}" -m core replay "{bad}" | true; exit "${{PIPESTATUS[0]}}"'
    ended = subprocess.run(
        ["bash", "-c", command], capture_output=True, timeout=60, check=False, cwd=Path(__file__).parents[2]
    )
    # whether the first lines were taken before the reader went is a matter of chance
    assert ended.returncode in (OK, FOUND)
    assert ended.stderr == b""


# --- files that are no reports ---------------------------------------------------------------------------------------

HOSTILE = {
    "empty": b"",
    "no json": b"hello",
    "cut": to_json(Report(snapshot=Snapshot(machine=Machine(system="linux"))))[:40],
    "a list": b"[]",
    "another thing": b'{"a": 1}',
    "a newer schema": b'{"schema": 2, "version": "9", "snapshot": {}}',
    "a wrong type": b'{"schema": 1, "version": "1", "snapshot": {"machine": 7}}',
    "not utf-8": b'{"schema": 1, "version": "\xff\xfe"}',
    "very deep": b'{"schema": 1, "x": ' + b"[" * 300_000,
}


@pytest.mark.parametrize("command", ["replay", "report", "against", "explain"])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_is_no_report_is_refused_in_one_sentence(
    command: str, name: str, tmp_path: Path, good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(HOSTILE[name])
    arguments = {
        "replay": ("replay", path),
        "report": ("report", path, "--html"),
        "against": ("report", good, "--against", path),
        "explain": ("explain", "an error", "--report", path),
    }[command]
    assert run(*arguments) == USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert "r.json" in err


@POSIX
def test_a_fifo_a_device_and_a_folder_are_no_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    for path in (tmp_path / "pipe.json", Path("/dev/zero"), tmp_path):
        assert run("replay", path) == USAGE
        assert "is not a file" in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_a_report_that_a_shell_of_windows_wrote_is_read(
    encoding: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``convalesce scan --json > r.json`` in Windows PowerShell writes UTF-16, and some editors put a mark first."""
    file = tmp_path / "r.json"
    file.write_text(to_json(broken()).decode(), encoding=encoding)
    assert run("replay", file) == FOUND
    assert run("triage", file) in {OK, FOUND}
    assert "skipped" not in capsys.readouterr().err
    assert read_file(str(file)).report is not None


def test_what_is_no_report_is_told_with_the_next_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("replay", tmp_path / "gone.json") == USAGE
    assert "There is no file" in capsys.readouterr().err
    (tmp_path / "notes.json").write_text("{}")
    assert run("replay", tmp_path / "notes.json") == USAGE
    assert "Write a new report: convalesce scan --out report.json" in capsys.readouterr().err


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (tmp_path / "huge.json").open("wb") as file:
        file.truncate(1 << 34)
    assert run("replay", tmp_path / "huge.json") == USAGE
    assert "too large for a report" in capsys.readouterr().err


def test_a_report_that_may_not_be_read_is_told(
    bad: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = os.open

    def refuse(path: object, *rest: int, **named: int) -> int:
        if path == bad:
            raise PermissionError(13, "Permission denied")
        return opened(path, *rest, **named)

    monkeypatch.setattr(os, "open", refuse)
    assert run("replay", bad) == USAGE
    assert "cannot be read: Permission denied" in capsys.readouterr().err


# --- replay and report -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recorded", RECORDED[:3], ids=lambda p: p.stem)
def test_replay_gives_the_findings_of_the_scan_and_can_be_replayed(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = run("replay", recorded, "--json")
    once = capsys.readouterr().out
    (tmp_path / "again.json").write_text(once, encoding="utf-8")
    assert run("replay", tmp_path / "again.json", "--json") == first
    assert capsys.readouterr().out == once
    assert from_json(once.encode()).snapshot == from_json(recorded.read_bytes()).snapshot


def test_replay_keeps_what_was_taken_out_and_the_history(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(to_json(replace(broken(), taken_out=(), history=())))
    run("replay", path, "--json")
    document = json.loads(capsys.readouterr().out)
    assert (document["taken_out"], document["history"]) == ([], [])


STARTS = {"--html": "<!DOCTYPE html>", "--markdown": "**Convalesce", "--full-names": "Convalesce"}


@pytest.mark.parametrize("form", STARTS)
def test_a_report_is_shown_in_each_form(
    form: str, bad: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("report", bad, form) == OK
    shown = capsys.readouterr().out
    assert shown.startswith(STARTS[form])
    assert ("/home/ada" in shown) is (form == "--full-names")
    assert run("report", bad, form, "--out", tmp_path / "out") == OK
    assert capsys.readouterr().out == ""
    assert (tmp_path / "out").read_text(encoding="utf-8") == shown


def test_two_reports_are_compared_causes_first(good: Path, bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("report", bad, "--against", good) == OK
    shown = capsys.readouterr().out
    assert shown.startswith("Only on this machine")
    assert "/home/ada" not in shown
    assert run("report", bad, "--against", good, "--json") == OK
    assert json.loads(capsys.readouterr().out)["causes"][0]["where"] == "here"
    assert run("report", bad, "--json") == USAGE


def test_triage_names_what_it_passes_over_on_stderr(bad: Path, good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (bad.parent / "junk.json").write_text("junk")
    assert run("triage", bad.parent, "--json") == OK
    out, err = capsys.readouterr()
    assert json.loads(out)["reports"] == 2
    assert "junk.json" in err
    assert run("triage", bad.parent) == OK
    assert "corrupt_or_truncated_file" in capsys.readouterr().out


def test_triage_of_a_folder_without_reports_says_what_it_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("triage", tmp_path) == OK
    assert "*.jsonl" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--cudnn", "--from"])
def test_fix_refuses_a_source_that_is_not_there(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("fix", option, "/nosuch/file.whl") == USAGE
    out, err = capsys.readouterr()
    assert "/nosuch/file.whl does not exist." in err
    assert "Looking" not in err
    assert out == ""


# --- explain ---------------------------------------------------------------------------------------------------------

TEXT = "Could not load library libcudnn_ops.so.9. Error: file too short"


def test_an_error_is_explained_from_an_argument_a_file_and_standard_input(
    bad: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "error.txt").write_text(TEXT)
    shown = []
    for given in (TEXT, tmp_path / "error.txt", "-"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
        assert run("explain", given, "--report", bad) == FOUND
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1] == shown[2]
    assert "corrupt_or_truncated_file" in shown[0]


def test_explain_as_json_is_one_document(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("explain", TEXT, "--report", bad, "--json")
    causes = json.loads(capsys.readouterr().out)["causes"]
    assert causes[0]["cause"] == "corrupt_or_truncated_file"
    assert causes[0]["verdict"] == "proved"


def test_an_explanation_is_redacted_unless_it_is_told_otherwise(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options, named in (((), False), (("--json",), False), (("--full-names",), True)):
        run("explain", f"{TEXT} in /home/ada/ml", "--report", bad, *options)
        assert ("/home/ada" in capsys.readouterr().out) is named


@pytest.mark.parametrize("word", ["driver_too_old", "cudnn", "search path"])
def test_a_cause_and_a_step_show_their_page_without_a_look(
    word: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("core.doctor.scan.take_snapshot", None)
    assert run("explain", word) == OK
    assert "=====" in capsys.readouterr().out
    assert run("explain", word, "--json") == OK
    assert json.loads(capsys.readouterr().out)["markdown"].startswith("# ")


@pytest.mark.parametrize("text", ["\x00", "a" * 100_000, "\ud800", "CV", "../../etc/passwd\n", "-1"])
def test_odd_texts_are_explained_too(text: str, good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("explain", "--report", good, "--", text) in (OK, FOUND)
    assert capsys.readouterr().out


# --- undo ------------------------------------------------------------------------------------------------------------


def test_an_empty_history_is_told_and_none_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CONVALESCE_STATE", str(tmp_path / "state"))
    assert run("undo", "--list") == OK
    assert "Convalesce has never changed" in capsys.readouterr().out
    assert run("undo", "--yes") == OK
    assert "nothing to undo" in capsys.readouterr().out
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("encoding", ["utf-8", "cp437", "cp932", "cp1252", "ascii"])
def test_json_is_the_same_document_in_every_code_page(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding, newline=""))
    terminal.say_json('{"path": "C:\\\\Zoë 猫 \\ud83d\\ude00 \U0001f600"}'.encode())
    assert json.loads(raw.getvalue().decode()) == {"path": "C:\\Zoë 猫 \U0001f600 \U0001f600"}


def test_explain_text_only_looks_at_no_machine(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("core.doctor.scan.take_snapshot", lambda *_a, **_k: pytest.fail("it looked"))
    text = "RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED"
    assert main.main(["explain", "--text-only", "--json", text]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["link"], document["shows"]) == ("", [])
    assert document["says"]["meaning"]
    assert {c["verdict"] for c in document["causes"]} == {"open"}
    assert document["causes"][0]["steps"]


def test_explain_text_only_and_a_report_exclude_each_other() -> None:
    with pytest.raises(SystemExit) as ended:
        main.main(["explain", "--text-only", "--report", "x.json", "126"])
    assert ended.value.code == 2


# --- help and width ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", main.COMMANDS)
def test_every_option_of_a_command_says_what_it_is(command: str) -> None:
    commands = next(a for a in main._parser()._actions if isinstance(a, argparse._SubParsersAction))
    assert [a.dest for a in commands.choices[command]._actions if not a.help] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--wrong",), "convalesce takes no '--wrong'. convalesce --help lists what is available."),
        (("--versoin",), "Did you mean --version?"),
        (("benchmark", "--gpu", "x"), "'x' is not a number from 0 to 999"),
        (("explain", "--answer", "-1", "126"), "'-1' is not a number from 1 to 99"),
    ],
)
def test_a_wrong_option_is_told_in_words(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == USAGE
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("columns", "width"), [("40", 40), ("10", 40), ("80", 80), ("300", 96)])
def test_a_text_takes_no_more_columns_than_the_terminal_has(
    columns: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert terminal.text_width() == 96
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert terminal.text_width() == width


def test_one_report_and_one_file_are_counted_in_the_singular(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "odd.json").write_text("{}")
    assert run("triage", tmp_path) == OK
    told = capsys.readouterr()
    assert "1 report; 1 file was skipped" in told.out
    assert "skipped: odd.json is not a report" in told.err
