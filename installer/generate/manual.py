"""The man page and bash's completion, made from the argument parser when a package is built."""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Iterator
from pathlib import Path

from core import __version__
from core.cli.main import _parser
from core.common import i18n

NAME = "convalesce"


def build(share: Path) -> None:
    """Lay both below a share folder, where man and bash look for them."""
    i18n.use_language(i18n.ENGLISH)
    parser = _parser()
    page = share / "man/man1" / f"{NAME}.1.gz"
    page.parent.mkdir(parents=True)
    page.write_bytes(gzip.compress(man_page(parser).encode(), mtime=0))
    words = share / "bash-completion/completions" / NAME
    words.parent.mkdir(parents=True)
    words.write_text(bash_completion(parser), encoding="utf-8")


def commands_of(parser: argparse.ArgumentParser) -> dict[str, tuple[str, argparse.ArgumentParser]]:
    """Return each command's help in one sentence, and its parser."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            told = {choice.dest: choice.help or "" for choice in action._choices_actions}
            return {name: (told.get(name, ""), its) for name, its in action.choices.items()}
    return {}


def _arguments(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    shown = (a for a in parser._actions if not isinstance(a, argparse._SubParsersAction))
    return [a for a in shown if a.help != argparse.SUPPRESS]


def man_page(parser: argparse.ArgumentParser) -> str:
    """Return the page in the language of man(7)."""
    name = parser.prog
    lines = [f'.TH {name.upper()} 1 "" "{name} {__version__}" "User Commands"']
    lines += [".SH NAME", f"{_roff(name)} \\- {_roff((parser.description or '').rstrip('.'))}"]
    lines += [".SH SYNOPSIS", f".B {_roff(name)}", _roff(_synopsis(parser)), ".SH OPTIONS", *_described(parser)]
    lines += [".SH COMMANDS"]
    for word, (sentence, command) in commands_of(parser).items():
        lines += [f".SS {_roff(f'{name} {word} {_synopsis(command)}'.strip())}", _roff(sentence), *_described(command)]
    lines += [".SH NOTES", _roff(parser.epilog or "")]
    return "\n".join(line for line in lines if line) + "\n"


def _synopsis(parser: argparse.ArgumentParser) -> str:
    usage = " ".join(parser.format_usage().split())
    return usage.partition(parser.prog)[2].strip()


def _described(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in _arguments(parser):
        values = argparse.HelpFormatter("")._format_args(action, _metavar(action)) if action.nargs != 0 else ""
        names = ", ".join(action.option_strings)
        yield ".TP"
        yield "\\fB" + _roff(names) + "\\fR " + _roff(values) if names else _roff(_metavar(action))
        yield _roff((action.help or "") % {**vars(action), "prog": parser.prog}) or "\\&"


def _metavar(action: argparse.Action) -> str:
    if isinstance(action.metavar, str):
        return action.metavar
    if action.choices:
        return "{" + ",".join(map(str, action.choices)) + "}"
    return action.dest.upper() if action.option_strings else action.dest


def _roff(text: str) -> str:
    """Return text that troff shows as it is."""
    plain = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + plain if plain[:1] in (".", "'") else plain


def bash_completion(parser: argparse.ArgumentParser) -> str:
    """Return bash's function: commands, options and choices; where none fits, bash completes the names of files."""
    commands = commands_of(parser)
    options = {"": parser, **{name: command for name, (_, command) in commands.items()}}
    words = {
        name: " ".join(option for action in _arguments(its) for option in action.option_strings)
        for name, its in options.items()
    }
    words[""] += " " + " ".join(commands)
    choices = [
        f"    '{name} {option}') words='{' '.join(map(str, action.choices))}' ;;"
        for name, its in options.items()
        for action in _arguments(its)
        if action.choices
        for option in action.option_strings
    ]
    return "\n".join(
        (
            f"_{NAME}() {{",
            "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command='' words='' i",
            "  for ((i = 1; i < COMP_CWORD; i++)); do",
            f"    case ${{COMP_WORDS[i]}} in {'|'.join(commands)}) command=${{COMP_WORDS[i]}}; break ;; esac",
            "  done",
            '  case "$command" in',
            *(f"    '{name}') words='{its}' ;;" for name, its in words.items()),
            "  esac",
            '  case "$command $before" in',
            *(choices or ["    '') ;;"]),
            "  esac",
            '  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")',
            "}",
            f"complete -o default -F _{NAME} {NAME}",
            "",
        )
    )
