"""The man page and the completions of bash, zsh and fish, made from the argument parser when a package is built."""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Iterator
from pathlib import Path

from core import __version__
from core.cli.main import _parser
from core.common import i18n

NAME = "convalesce"


def build(share: Path, zsh: str = "site-functions") -> None:
    """Lay all below a share folder, where man and the shells look for them; ``zsh`` is the folder of its functions."""
    i18n.use_language(i18n.ENGLISH)
    parser = _parser()
    page = share / "man/man1" / f"{NAME}.1.gz"
    page.parent.mkdir(parents=True)
    page.write_bytes(gzip.compress(man_page(parser).encode(), mtime=0))
    for place, text in (
        (f"bash-completion/completions/{NAME}", bash_completion(parser)),
        (f"zsh/{zsh}/_{NAME}", zsh_completion(parser)),
        (f"fish/vendor_completions.d/{NAME}.fish", fish_completion(parser)),
    ):
        (share / place).parent.mkdir(parents=True)
        (share / place).write_text(text, encoding="utf-8")


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
    options = _options(parser)
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


def _options(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers by their command; the program's own under an empty name."""
    return {"": parser, **{name: command for name, (_, command) in commands_of(parser).items()}}


def _help(action: argparse.Action) -> str:
    return " ".join(((action.help or "") % vars(action)).split())


def zsh_completion(parser: argparse.ArgumentParser) -> str:
    """Return zsh's function: commands, options with what they do, and choices; else the names of files."""
    commands = commands_of(parser)
    lists = {
        name: [(option, _help(a)) for a in _arguments(its) for option in a.option_strings]
        for name, its in _options(parser).items()
    }
    lists[""] = [*((name, sentence) for name, (sentence, _) in commands.items()), *lists[""]]
    choices = [
        f"    {_quoted(f'{name} {option}')}) found=({' '.join(map(_quoted, map(str, action.choices)))}) ;;"
        for name, its in _options(parser).items()
        for action in _arguments(its)
        if action.choices
        for option in action.option_strings
    ]
    return "\n".join(
        (
            f"#compdef {NAME}",
            f"_{NAME}() {{",
            "  local command='' i; local -a found",
            "  for ((i = 2; i < CURRENT; i++)); do",
            f"    case $words[i] in ({'|'.join(commands)}) command=$words[i]; break ;; esac",
            "  done",
            '  case "$command $words[CURRENT-1]" in',
            *choices,
            "  esac",
            "  if (( $#found )); then compadd -a found; return; fi",
            "  if [[ -n $command && $PREFIX != -* ]]; then _files; return; fi",
            '  case "$command" in',
            *(
                f"    {_quoted(name)}) found=({' '.join(_quoted(f'{w}:{h}') for w, h in its)}) ;;"
                for name, its in lists.items()
            ),
            "  esac",
            f"  _describe {NAME} found",
            "}",
            f'_{NAME} "$@"',
            "",
        )
    )


def fish_completion(parser: argparse.ArgumentParser) -> str:
    """Return fish's lines: commands, options with what they do, and choices; else the names of files."""
    lines = [
        f"complete -c {NAME} -n __fish_use_subcommand -f -a {name} -d {_quoted(sentence)}"
        for name, (sentence, _) in commands_of(parser).items()
    ]
    for name, its in _options(parser).items():
        when = _quoted(f"__fish_seen_subcommand_from {name}") if name else "__fish_use_subcommand"
        for action in _arguments(its):
            spelt = [f"-l {o[2:]}" if o.startswith("--") else f"-s {o[1:]}" for o in action.option_strings]
            if not spelt:
                continue
            value = f" -x -a {_quoted(' '.join(map(str, action.choices)))}" if action.choices else ""
            value = value or (" -r" if action.nargs != 0 else "")
            lines.append(f"complete -c {NAME} -n {when} {' '.join(spelt)}{value} -d {_quoted(_help(action))}")
    return "\n".join((*lines, ""))


def _quoted(text: str) -> str:
    """Return a text in single quotes, as zsh and fish both read it."""
    return "'" + text.replace("'", "\N{RIGHT SINGLE QUOTATION MARK}").replace("\\", "/") + "'"
