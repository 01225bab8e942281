"""Tools that people run by hand say what they want: none takes --help for a folder, or does its work when it is asked for help."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from installer.by_hand import by_hand
from tests.explain import written
from tests.installer import linux_sizes

ROOT = Path(__file__).parents[1]
INNER = {
    "tests/fixing/elevated.py",
    "tests/packages/test_disk_full.py",
    "tests/dead_mount.py",
    "tests/benchmark/every_call.py",
    "tests/worldlab/without_card.py",
    "tests/worldlab/with_card.py",
    "tests/faultlab/machine.py",
    "tests/faultlab/two_gpus.py",
    "tests/windows/fixing_child.py",
    *(f"tests/windows/{lab}/inside.py" for lab in ("worldlab", "endtoend", "faultlab")),
}
"""Programs that only a test or another tool starts."""

ANSWERS = re.compile(r"ArgumentParser\(|from installer.by_hand import|\bparser_for\(|\bwanted\(|\"--help\"")
"""What answers --help: argparse itself, or a function that uses it."""

TOOLS = [
    path
    for folder in ("tests", "installer")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if '\nif __name__ == "__main__":' in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("path", TOOLS, ids=[t.relative_to(ROOT).as_posix() for t in TOOLS])
def test_every_tool_answers_a_question_for_help(path: Path):
    name = path.relative_to(ROOT).as_posix()
    assert bool(ANSWERS.search(path.read_text(encoding="utf-8"))) != (name in INNER)


def test_the_pictures_are_not_taken_into_a_folder_of_that_name(tmp_path: Path):
    for arguments, status, said in ((["--help"], 0, "a variant: usual"), (["x", "odd"], 2, "'odd' is no variant")):
        command = [sys.executable, "-c", f"from tests.gui.pictures import main; main({arguments})"]
        env = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "COLUMNS": "500"}
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert (done.returncode, said in done.stdout + done.stderr) == (status, True), done
    assert not [*tmp_path.iterdir()]


FORMS = ("FOLDER/", "[COUNT]", "[NAME...]")
GIVEN: dict[str, tuple[list[str], str]] = {
    "nothing": ([], "required: FOLDER"),
    "no folder": (["{tmp}/gone"], "gone' is not a folder"),
    "no number": (["{tmp}", "many"], "'many' is not a whole number"),
    "an option that there is not": (["{tmp}", "--wrong"], "unrecognized arguments: --wrong"),
}


@pytest.mark.parametrize(("given", "said"), GIVEN.values(), ids=GIVEN)
def test_wrong_arguments(given: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        by_hand("Words.", *FORMS, given=[g.format(tmp=tmp_path) for g in given])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for name, said in (("gone.txt", "gone.txt' is not a file"), ("", "is not a file")):
        with pytest.raises(SystemExit) as ended:
            by_hand("Words.", "DRAFT...", given=[str(tmp_path / name)])
        assert (ended.value.code, said in capsys.readouterr().err) == (2, True)
    (tmp_path / "here.txt").touch()
    assert by_hand("Words.", "DRAFT...", given=[str(tmp_path / "here.txt")]) == [str(tmp_path / "here.txt")]


def test_tools_say_what_is_wrong_with_what_they_were_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    draft = tmp_path / "draft"
    before = written.FILE.read_bytes()
    for content, said in ((b"= no_such_cause\ntext\n", "'no_such_cause' is no cause."), (b"\xff", "can't decode")):
        draft.write_bytes(b"= driver_too_old\na text that nobody wrote\n" + content)
        assert (written.main([str(draft)]), said in capsys.readouterr().out) == (1, True)
    assert written.FILE.read_bytes() == before
    assert linux_sizes.main([str(tmp_path)]) == 2
    assert "0 tarballs" in capsys.readouterr().out


def test_right_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    given = [str(tmp_path), "7", "a", "b"]
    assert [by_hand("Words.", *FORMS, given=given[:n]) for n in (1, 2, 4)] == [given[:n] for n in (1, 2, 4)]
    with pytest.raises(SystemExit) as ended:
        by_hand("Words.", *FORMS, given=["--help"])
    assert (ended.value.code, "Words." in capsys.readouterr().out) == (0, True)
