"""The command line: a stable contract. Results go to stdout, progress to stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from core import __version__
from core.cli.options import (
    add_depth,
    add_full_names,
    add_json,
    add_only,
    add_python,
    add_report,
    given_path,
    number_within,
    option_value,
)
from core.cli.scan import run_replay, run_scan
from core.cli.terminal import UsageError
from core.common import i18n, streams
from core.common.exit_codes import FAILED, INTERRUPTED, OK, USAGE
from core.common.i18n import _
from core.common.late_pattern import late_pattern
from core.common.text import describe_crash
from core.host.this_host import display_language, prepared_streams

if TYPE_CHECKING:
    import argparse


def main(argv: Sequence[str] | None = None, *, without_command: Callable[[], int] | None = None) -> int:
    """Run one command and return its exit status. ``without_command`` is what to do when none is named."""
    with prepared_streams() as readers, streams.replaced_streams(*readers):
        try:
            return _run_to_status(list(sys.argv[1:] if argv is None else argv), without_command)
        except BrokenPipeError:  # the reader closed the pipe
            streams.discard_stream(sys.stdout)
            return OK
        except streams.UnwritableError as e:
            streams.discard_stream(sys.stdout)
            print("convalesce: " + _("standard output cannot be written: {strerror}.", strerror=e), file=sys.stderr)
            return FAILED


def _run_to_status(arguments: list[str], without_command: Callable[[], int] | None) -> int:
    try:
        status = _run(_choose_language(arguments), without_command)
    except SystemExit:  # argparse: after help, and on wrong use
        sys.stdout.flush()
        raise
    except UsageError as e:
        print(f"convalesce: {e}", file=sys.stderr)
        status = USAGE
    except KeyboardInterrupt:
        print(f"convalesce: {_interrupt_sentence(arguments)}", file=sys.stderr)
        status = INTERRUPTED
    except (BrokenPipeError, streams.UnwritableError):
        raise
    except Exception as e:  # noqa: BLE001 - the edge of the program: exit status 3 and one sentence
        print(
            "convalesce: " + _("internal error: {error}. Please report it with this line.", error=describe_crash(e)),
            file=sys.stderr,
        )
        status = FAILED
    sys.stdout.flush()
    return status


def _interrupt_sentence(arguments: list[str]) -> str:
    if {"fix", "undo"} & set(arguments):  # completed changes stay, and a change in progress is undone
        return _("stopped. `convalesce undo --list` shows what was changed.")
    return _("stopped. Nothing was changed.")


def _choose_language(arguments: list[str]) -> list[str]:
    """Use the language of ``--language`` or the environment, before any text is made; return the other arguments."""
    for i, argument in enumerate(arguments):
        option, equals, name = argument.partition("=")
        if option == "--language":
            name = name if equals else "".join(arguments[i + 1 : i + 2])
            i18n.use_language(name)
            if i18n.current_language() == i18n.ENGLISH and not name.lower().startswith(i18n.ENGLISH):
                raise UsageError(
                    _(
                        "--language does not know {name}; use one of {words}.",
                        name=repr(name),
                        words=", ".join(i18n.available_languages()),
                    )
                )
            os.environ[i18n.LANGUAGE_VARIABLE] = (
                i18n.current_language()
            )  # for the window, and for what is started from here
            return arguments[:i] + arguments[i + (1 if equals else 2) :]
    i18n.use_preferred_language(system=display_language())
    return arguments


def _run(arguments: list[str], without_command: Callable[[], int] | None) -> int:
    if not arguments and without_command is not None:
        return without_command()
    if arguments and not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        raise UsageError(
            _("there is no command {name}.", name=repr(arguments[0]))
            + _hint(arguments[0], {f"convalesce {c}": c for c in COMMANDS}, "convalesce --help")
        )
    if arguments and arguments[0].startswith("-") and arguments[0] not in ("-h", "--help", "--version"):
        raise UsageError(
            _("{command} takes no {argument}.", command="convalesce", argument=repr(arguments[0]))
            + _hint(arguments[0], {o: o for o in ("--help", "--version", "--language")}, "convalesce --help")
        )
    options, unknown = _parser(arguments[:1]).parse_known_args(arguments)
    if unknown:
        name = next(a for a in arguments if a in COMMANDS)
        known = {o: o for o in _OPTION.findall(_usage(name))}
        raise UsageError(
            _("{command} takes no {argument}.", command=f"convalesce {name}", argument=repr(unknown[0]))
            + _hint(unknown[0].partition("=")[0], known, f"convalesce {name} --help")
        )
    command: Callable[[argparse.Namespace], int] = options.command
    return command(options)


def _hint(word: str, known: dict[str, str], all_of_them: str) -> str:
    """Return the known word that is most like a mistyped one, or else where all of them are listed."""
    from difflib import get_close_matches

    bare = {name.lstrip("-"): shown for shown, name in known.items()}
    near = get_close_matches(word.lstrip("-").lower(), bare, n=1)
    if near:
        return " " + _("Did you mean {name}?", name=bare[near[0]])
    return " " + _("{command} lists what is available.", command=all_of_them)


def _usage(command: str) -> str:
    import argparse

    commands = argparse.ArgumentParser().add_subparsers()
    COMMANDS[command](commands)
    return commands.choices[command].format_usage()


def _parser(first: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the parser; where the first argument names a command, with this command alone."""
    import argparse

    # argparse takes its own texts from gettext's default domain, which has none of our languages
    vars(argparse).update(_=_, ngettext=lambda one, many, n: _(one if n == 1 else many))

    parser = argparse.ArgumentParser(
        prog="convalesce",
        description=_("Finds out why a GPU deep-learning setup does not work, and proves it."),
        epilog=_(
            "Exit status: 0 nothing wrong; 1 at least one fault; 2 invalid usage; 3 internal error in Convalesce; 4"
            " a fix was refused or rolled back; 5 nothing wrong was found, but something that was named or would be"
            " loaded here could not be examined; 6 a change is stuck, and is rolled back at the next start."
        ),
    )
    parser.add_argument(
        "--version",
        action="version",
        version=f"convalesce {__version__}",
        help=_("show program's version number and exit"),
    )
    parser.add_argument(
        "--language",
        metavar="LANGUAGE",
        help=_("language of the output: {words}", words=", ".join(i18n.available_languages())),
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    for name, add in COMMANDS.items():
        if name in first or not COMMANDS.keys() & {*first}:
            add(commands)
    return parser


def _add_scan(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    scan = commands.add_parser("scan", help=_("scan this machine and name the root cause"))
    add_json(scan)
    scan.add_argument("--out", type=given_path, metavar="FILE", help=_("also write the JSON report to FILE"))
    add_python(scan)
    scan.add_argument(
        "--program",
        type=option_value,
        action="append",
        default=[],
        metavar="PATH|PID",
        help=_("a program or a running process to examine: what it needs, and what it finds"),
    )
    add_only(scan)
    add_depth(scan)
    add_full_names(scan)
    scan.add_argument(
        "--root",
        type=given_path,
        metavar="DIR",
        help=_(
            "examine the Linux system below DIR (a mounted disk, a container's host); nothing of it is loaded or run"
        ),
    )
    scan.set_defaults(command=run_scan)


def _add_fix(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    fix = commands.add_parser("fix", help=_("fix a finding: shown first, rehearsed, and only with your consent"))
    fix.add_argument("findings", nargs="*", metavar="FINDING-ID", help=_("the primary cause if none is named"))
    fix.add_argument("--dry-run", action="store_true", help=_("show and rehearse only"))
    fix.add_argument("--yes", action="store_true", help=_("consent in advance (for scripts)"))
    add_json(fix)
    add_python(fix)
    add_depth(fix)
    fix.add_argument(
        "--cudnn",
        type=option_value,
        metavar="FILE",
        help=_("an archive, a wheel or a folder with a complete cuDNN to install"),
    )
    fix.add_argument(
        "--fetch-cudnn", action="store_true", help=_("download the wheel of the required cuDNN, and install it")
    )
    fix.add_argument(
        "--from",
        dest="source",
        default="",
        metavar="WHEEL|FOLDER",
        help=_("take packages from this wheel, or this folder of wheels"),
    )
    fix.add_argument("--index", default="", metavar="URL", help=_("download packages from this index"))
    fix.add_argument("--guard", action="store_true", help=_("let later installations keep the build that is installed"))
    fix.add_argument("--offline", action="store_true", help=_("download nothing: use only files on this machine"))
    fix.set_defaults(command=_late("fix", "run_fix"))


def _add_undo(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    undo = commands.add_parser("undo", help=_("undo what was changed"))
    undo.add_argument("entry", nargs="?", metavar="ENTRY", help=_("the newest change if none is named"))
    undo.add_argument("--all", action="store_true", help=_("everything that is still in effect, newest first"))
    undo.add_argument("--list", action="store_true", help=_("show the history"))
    undo.add_argument(
        "--let-go", default="", metavar="ENTRY", help=_("remove the backup of an entry, to free its space")
    )
    undo.add_argument("--yes", action="store_true", help=_("consent in advance (for scripts)"))
    undo.set_defaults(command=_late("fix", "run_undo"))


def _add_explain(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    explain = commands.add_parser(
        "explain", help=_("paste an error message: its causes, proved or refuted on this machine")
    )
    explain.add_argument(
        "text",
        nargs="?",
        default="-",
        metavar="FILE|-",
        help=_("a file with the message, - for standard input, the message itself, a code, or a word such as cudnn"),
    )
    add_json(explain)
    held = explain.add_mutually_exclusive_group()
    held.add_argument("--report", type=given_path, metavar="REPORT.json", help=_("judge another machine by its report"))
    held.add_argument("--text-only", action="store_true", help=_("judge the text alone, without scanning this machine"))
    add_python(explain)
    explain.add_argument(
        "--answer",
        type=number_within(1, 99),
        default=0,
        metavar="N",
        help=_("your answer to the question that explain asked"),
    )
    add_full_names(explain)
    explain.set_defaults(command=_late("explain", "run_explain"))


def _add_replay(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    replay = commands.add_parser("replay", help=_("diagnose a recorded report again"))
    add_report(replay)
    add_json(replay)
    replay.set_defaults(command=run_replay)


def _late(module: str, function: str) -> Callable[[Any], Any]:
    """Return what calls a function of ``core.cli`` with one argument; its module is imported by then, and not before."""

    def call(given: Any) -> Any:
        from importlib import import_module

        return getattr(import_module(f"core.cli.{module}"), function)(given)

    return call


_OPTION = late_pattern(r"--[a-z-]+")

COMMANDS: dict[str, Callable[[Any], None]] = {
    "scan": _add_scan,
    "fix": _add_fix,
    "undo": _add_undo,
    "explain": _add_explain,
    "replay": _add_replay,
    "report": _late("report", "add_report_command"),
    "triage": _late("report", "add_triage_command"),
    "check": _late("check", "add_check_command"),
    "mcp": _late("mcp", "add_mcp_command"),
    "benchmark": _late("benchmark", "add_benchmark_command"),
}
"""Command -> what adds it to the parser, in the order of the help."""


if __name__ == "__main__":
    raise SystemExit(main())
