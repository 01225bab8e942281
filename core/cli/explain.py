"""The command explain: an error text, a code or a name becomes causes."""

from __future__ import annotations

import errno
import gc
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from core.cli import terminal
from core.cli.key_press import can_ask, pressed_key
from core.common.exit_codes import FOUND, OK
from core.common.given_text import PICTURE_STARTS, decode_text, is_binary
from core.common.i18n import _

if TYPE_CHECKING:
    import argparse

    from core.explain import Explanation
    from core.model.facts import Snapshot

_FILE_NAME = re.compile(
    r"(?i)(?:[^\s]{1,200}|[^\n]{0,200}[\\/][^\n\\/]{1,200})\.(?:log|txt|out|err|json|md|csv|html|gz|zip|png|jpe?g|webp|gif|bmp|pdf)"
)
"""A text that can only be a file name, not a message."""
_PATH = re.compile(r"[\\/]|^\.{1,2}$|^~")
"""What makes the name of a folder a path: an error's word may be a folder's name as well."""


def run_explain(options: argparse.Namespace) -> int:
    """Explain an error message, a report or a code; return the exit status."""
    gc.disable()  # as in a scan: the process ends before its garbage matters
    from core.cli import report
    from core.model.facts import Machine, Snapshot

    told = report.explain_without_scan(options)
    if told is not None:
        return told
    text = _given_text(options.text)
    seen = terminal.read_report(options.report).snapshot if options.report else None
    if seen is not None or options.text_only:
        explanation, snapshot = _without_scan(text, seen)
    else:
        explanation, snapshot = _with_scan(text, tuple(options.python))
    from core.explain import answer_question, render_text, to_json  # a scan imports it while it waits
    from core.explain.engine import NOTHING_TEXT
    from core.report.redact import Cleaner

    if explanation.sentence == _(NOTHING_TEXT) and _is_lone_path(options.text):
        raise _no_message_there(options.text)
    if options.answer:
        try:
            explanation = answer_question(explanation, options.answer)
        except ValueError:
            raise terminal.UsageError(
                _("The explanation has no question with an answer {number}.", number=options.answer)
            ) from None
    if not options.full_names:  # without a machine, redact names that are recognisable by their form
        explanation = Cleaner(snapshot or Snapshot(machine=Machine(system="linux"))).redact_texts(explanation)
    if options.json:
        terminal.say_json(to_json(explanation))
        return _status(explanation)
    terminal.say_result(render_text(explanation, terminal.can_use_colour(), terminal.text_width()))
    if explanation.question and can_ask():
        number = _asked_answer(explanation)
        if number:
            explanation = answer_question(explanation, number)
            terminal.say_result(render_text(explanation, terminal.can_use_colour(), terminal.text_width()))
    return _status(explanation)


def _without_scan(text: str, seen: Snapshot | None) -> tuple[Explanation, Snapshot | None]:
    """Explain a text by a report's Snapshot, or by itself."""
    from core.common.progress import Progress
    from core.doctor.examine import explain_text

    return explain_text(text, seen, None, Progress())


def _with_scan(text: str, pythons: tuple[str, ...]) -> tuple[Explanation, Snapshot | None]:
    """Explain a text by a scan of this machine."""
    from core.doctor.earlier_reads import with_earlier_reads
    from core.doctor.examine import explain_text
    from core.model.scan_options import ScanOptions
    from core.transaction.session_host import current_host

    with terminal.progress_on_stderr() as watch, with_earlier_reads():
        return explain_text(text, None, current_host, watch, ScanOptions(pythons=pythons))


def _is_lone_path(given: str) -> bool:
    """Whether an argument is the path of no file, and is no message: a folder's name, or one word with a separator, or with a home."""
    if given == "-" or re.search(r"\s", given):
        return False
    return os.path.isdir(given) or (bool(_PATH.search(given)) and not os.path.exists(given))  # noqa: PTH110, PTH112 - a message may be too long for a Path


def _no_message_there(given: str) -> terminal.UsageError:
    """Return what is wrong with a path that is no file."""
    if os.path.isdir(given):  # noqa: PTH112 - as above
        return terminal.UsageError(_("{given} is a folder: name the file that has the message.", given=given))
    return terminal.UsageError(_("There is no file {given}.", given=given))


def _asked_answer(explanation: Explanation) -> int:
    """Ask the explanation's question at the terminal; 0 for no answer."""
    numbers = "".join(str(n) for n in range(1, len(explanation.answers) + 1))
    key = pressed_key(_("Press the number of your answer, or any other key to leave it open."), numbers)
    return int(key) if key else 0


def _status(explanation: Explanation) -> int:
    return FOUND if any(c.verdict == "proved" for c in explanation.causes) else OK


def _given_text(given: str) -> str:
    """Return the text of a file, of standard input ("-"), or the argument itself: a code, a name or a message."""
    if given == "-":
        if sys.stdin.isatty():
            print(_("Paste the error, then press Ctrl+D (Windows: Ctrl+Z and Enter)."), file=sys.stderr)
        try:
            return _text_of(sys.stdin.buffer.read(terminal.MAX_TEXT_BYTES), "stdin")
        except OSError as e:
            raise terminal.UsageError(
                _("{path} cannot be read: {strerror}.", path="stdin", strerror=e.strerror)
            ) from None
    path = Path(given)
    try:
        if path.is_dir() and _PATH.search(given):
            raise _no_message_there(given)
        if path.is_file() or path.is_fifo():  # a shell's <(COMMAND) is a pipe
            with path.open("rb") as file:
                return _text_of(file.read(terminal.MAX_TEXT_BYTES), given)
    except OSError as e:
        if e.errno not in (errno.ENAMETOOLONG, errno.EINVAL):
            raise terminal.UsageError(
                _("{path} cannot be read: {strerror}.", path=given, strerror=e.strerror)
            ) from None
    except ValueError:  # no path can contain a NUL byte
        pass
    if _FILE_NAME.fullmatch(given):
        raise _no_message_there(given)
    if not given.strip():
        raise _without_text("")
    return given


def _text_of(data: bytes, name: str) -> str:
    """Return what a file or a stream says.

    Raises:
        UsageError: it holds no text.
    """
    if data.startswith(PICTURE_STARTS):
        raise terminal.UsageError(
            _("{given} is a picture. Copy the message as text, or type its words: explain reads text.", given=name)
        )
    if is_binary(data):
        raise terminal.UsageError(
            _("{given} is no text file. Save the message as text, or paste it: convalesce explain -", given=name)
        )
    text = decode_text(data)
    if not text.strip():
        raise _without_text(name)
    return text


def _without_text(name: str) -> terminal.UsageError:
    told = _("{given} is empty.", given=name) if name else _("The text is empty.")
    return terminal.UsageError(told + " " + _("Specify the whole message, from its first line to its last."))
