"""The man page and bash's completion name every command and option, and bash takes what it is given."""

from __future__ import annotations

import gzip
import shutil
import subprocess
from pathlib import Path

import pytest

from core.cli.main import _parser
from installer.generate import manual


@pytest.fixture(scope="module")
def share(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("share")
    manual.build(folder)
    return folder


def page(share: Path) -> str:
    return gzip.decompress((share / "man/man1/convalesce.1.gz").read_bytes()).decode()


def test_every_command_and_option_is_on_the_page(share: Path) -> None:
    shown = page(share).replace("\\-", "-")
    commands = manual.commands_of(_parser())
    assert {"scan", "fix", "undo", "explain"} <= set(commands)
    for name, (sentence, command) in commands.items():
        assert f".SS convalesce {name}" in shown
        assert sentence
        for action in command._actions:
            assert all(option in shown for option in action.option_strings)
    assert "Exit status: 0" in shown


def test_no_line_is_taken_for_a_request_of_troff(share: Path) -> None:
    requests = {line.split()[0] for line in page(share).splitlines() if line.startswith((".", "'"))}
    assert requests == {".TH", ".SH", ".SS", ".TP", ".B"}


def test_the_same_parser_gives_the_same_bytes(share: Path, tmp_path: Path) -> None:
    manual.build(tmp_path)
    for file in share.rglob("*"):
        assert file.is_dir() or file.read_bytes() == (tmp_path / file.relative_to(share)).read_bytes()


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is what is asked")
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (("",), {"scan", "fix", "undo", "--version"}),
        (("sc",), {"scan"}),
        (("scan", "--th"), {"--thorough"}),
        (("--language", "en", "undo", "--l"), {"--list", "--let-go"}),
        (("scan", "--json", "--fu"), {"--full-names"}),
        (("scan", "/tm"), set()),
    ],
)
def test_bash_completes(share: Path, typed: tuple[str, ...], expected: set[str]) -> None:
    words = " ".join(f"'{word}'" for word in ("convalesce", *typed))
    script = (
        f"set -eu; source {share}/bash-completion/completions/convalesce; COMP_WORDS=({words}); COMP_CWORD={len(typed)};"
        ' _convalesce; printf "%s\\n" "${COMPREPLY[@]-}"'
    )
    told = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, timeout=60).stdout
    found = set(told.split())
    assert expected <= found
    assert expected or not found
    assert all(word.startswith(typed[-1]) for word in found)
