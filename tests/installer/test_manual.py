"""The man page and the completions name every command and option, and bash, zsh and fish take what they are given."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
from contextlib import suppress
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


TYPED = [
    (("",), {"scan", "fix", "undo"}),
    (("sc",), {"scan"}),
    (("scan", "--th"), {"--thorough"}),
    (("--language", "en", "undo", "--l"), {"--list", "--let-go"}),
    (("scan", "--json", "--fu"), {"--full-names"}),
    (("check", "--form", "na"), {"nagios"}),
    (("scan", "/tm"), set()),
]
"""What stands on the line, and what of ours completes its last word."""


def ours(share: Path) -> set[str]:
    """Return every word that a completion of ours may give."""
    return set(manual.bash_completion(_parser()).replace("'", " ").split())


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is what is asked")
@pytest.mark.parametrize(("typed", "expected"), TYPED)
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


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is what is asked")
@pytest.mark.parametrize(("typed", "expected"), TYPED)
def test_zsh_completes(share: Path, tmp_path: Path, typed: tuple[str, ...], expected: set[str]) -> None:
    """A real zsh at a terminal, and Tab; every word that a completion adds is noted."""
    told = tmp_path / "told"
    note = (
        f'compadd() {{ local -a all; builtin compadd -O all "$@"; print -l -- $all >> {told}; builtin compadd "$@" }}'
    )
    for line in (
        "PS1=READY",
        f"fpath=({share}/zsh/site-functions $fpath)",
        "autoload -U compinit",
        "compinit -u -D",
        note,
    ):
        with (tmp_path / ".zshrc").open("a") as file:
            file.write(f"{line}\n")
    import pty  # Windows has none

    reading, writing = pty.openpty()
    env = {"PATH": os.environ["PATH"], "ZDOTDIR": str(tmp_path), "TERM": "dumb", "HOME": str(tmp_path)}
    asked = ["setsid", "zsh", "-i"]
    with subprocess.Popen(asked, env=env, stdin=writing, stdout=writing, stderr=writing, cwd=tmp_path) as shell:
        os.close(writing)
        read_until(reading, b"READY")
        os.write(reading, f"convalesce {' '.join(typed)}\t\x15exit\n".encode())
        read_until(reading, b"")
        os.close(reading)
        assert shell.wait(60) == 0
    found = {w for w in told.read_text().split() if w.startswith(typed[-1])} & ours(share) if told.exists() else set()
    assert found >= expected
    assert expected or not found


def read_until(terminal: int, mark: bytes) -> None:
    """Read until a mark comes, or until the shell has ended."""
    seen = b""
    with suppress(OSError):  # a terminal whose last program ended
        while (piece := os.read(terminal, 4096)) and not (mark and mark in (seen := seen + piece)):
            pass


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is what is asked")
@pytest.mark.parametrize(("typed", "expected"), TYPED)
def test_fish_completes(share: Path, tmp_path: Path, typed: tuple[str, ...], expected: set[str]) -> None:
    """A real fish finds the file where packages lay it, and says what would be completed."""
    program = tmp_path / "convalesce"  # fish looks up the file only for a command that there is
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    env = {"PATH": path, "HOME": str(tmp_path), "XDG_DATA_DIRS": f"{share}:/usr/share"}
    command = ["fish", "-c", f"complete -C 'convalesce {' '.join(typed)}'"]
    told = subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=60, cwd=tmp_path)
    assert not told.stderr
    found = {line.split("\t")[0] for line in told.stdout.splitlines()} & ours(share)
    assert found >= expected
    assert expected or not found
