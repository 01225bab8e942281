"""Shared by every command: exit statuses, usage errors, reading and writing files, progress, and plain output."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from core.common.exit_codes import FOUND, OK, UNEXAMINED
from core.common.given_text import MAX_REPORT_BYTES
from core.common.i18n import _
from core.common.late_pattern import late_pattern
from core.common.signs import with_signs_of
from core.common.streams import ONE_LINE, reader_of
from core.common.text import for_terminal

if TYPE_CHECKING:
    from core.common.progress import Progress
    from core.model.findings import Report

MAX_TEXT_BYTES = 10 * 1024 * 1024
"""Most bytes of an error text that are read; the rest of a longer log is ignored."""
NARROWEST = 40
"""Columns: in fewer, a text of indented lines is no better for being wrapped."""


_DRIVES = late_pattern("[\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")
"""Characters that JSON allows unescaped, but that would control a terminal or reverse its text."""


class UsageError(Exception):
    """The command was used wrongly; the message is one sentence."""


@contextmanager
def progress_on_stderr() -> Iterator[Progress]:
    """Yield a Watch that reports progress on stderr: a single updated line on a terminal, plain lines elsewhere."""
    from core.common.progress import Progress
    from core.common.text_width import column_count

    live = sys.stderr.isatty()
    columns = 0

    def say(sentence: str) -> None:
        if live:
            overwrite(f"{sentence} ...")
        else:
            sys.stderr.write(f"{sentence}\n")
        sys.stderr.flush()

    def overwrite(line: str) -> None:
        nonlocal columns
        before, columns = columns, column_count(line)
        sys.stderr.write(
            f"{ONE_LINE}{line}{' ' * (before - columns)}"
        )  # blanks, since some consoles print escape sequences

    watch = Progress(say)
    try:
        yield watch
    except KeyboardInterrupt:
        watch.cancel()
        raise
    finally:
        if live:
            overwrite("")
            sys.stderr.write(ONE_LINE)


def read_report(path: Path) -> Report:
    """Return a recorded report.

    Raises:
        UsageError: there is none at ``path``.
    """
    from core.report.json_form import BadReportError, from_json

    try:
        if not path.is_file():
            raise UsageError(
                _("{path} is not a file.", path=path) if path.exists() else _("There is no file {given}.", given=path)
            )
        # a FIFO or a device that it is by now would hang or never end, and the kernel's own files have no size
        with os.fdopen(
            os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb"
        ) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise UsageError(_("{path} is not a file.", path=path))
            data = file.read(MAX_REPORT_BYTES + 1) if 0 < found.st_size <= MAX_REPORT_BYTES else b""
        if max(len(data), found.st_size) > MAX_REPORT_BYTES:
            raise UsageError(_("{path} is too large for a report (more than 64 MiB).", path=path))
        return from_json(data)
    except OSError as e:
        raise UsageError(_("{path} cannot be read: {strerror}.", path=path, strerror=e.strerror)) from None
    except BadReportError as e:
        raise UsageError(
            f"{path}: {e} " + _("Write a new report: convalesce scan --out {example}", example="report.json")
        ) from None


def read_file(path: Path, most: int) -> bytes:
    """Return the bytes of a file that the person named; of a longer one, the first ``most`` and one more.

    Raises:
        UsageError: it is no file, or cannot be read.
    """
    try:
        if not path.is_file():  # a FIFO or a device would hang or never end
            raise UsageError(_("{path} is not a file.", path=path))
        with path.open("rb") as file:
            return file.read(most + 1)
    except OSError as e:
        raise UsageError(_("{path} cannot be read: {strerror}.", path=path, strerror=e.strerror)) from None


def status_of(report: Report) -> int:
    """Return the exit status for a report's findings."""
    from core.model.steps import Severity

    if report.worst_severity is Severity.ERROR:
        return FOUND
    return UNEXAMINED if report.not_examined else OK


def write_file(path: Path, data: bytes) -> None:
    """Write a file that the person named.

    Raises:
        UsageError: it cannot be written, or another account would choose where.
    """
    from core.host.output_file import write_output

    with report_write_errors(path):
        write_output(path, data)


@contextmanager
def report_write_errors(path: Path) -> Iterator[None]:
    """Report as a usage error why a file that the person named cannot be written.

    Raises:
        UsageError: instead of an OSError, and of a ChangeError for a place that another account chose.
    """
    from core.model.changes import ChangeError

    try:
        yield
    except OSError as e:
        raise UsageError(_("{path} cannot be written: {strerror}.", path=path, strerror=e.strerror)) from None
    except ChangeError as e:
        raise UsageError(str(e)) from None


def can_use_colour() -> bool:
    """Whether colour may be used: on a terminal that understands escape sequences, unless NO_COLOR is set."""
    return sys.stdout.isatty() and reader_of(sys.stdout).escapes and not os.environ.get("NO_COLOR")


def text_width() -> int:
    """How many columns a text may take: those of a narrow terminal, else as many as are read with ease."""
    from shutil import get_terminal_size

    from core.common.text_width import TEXT_WIDTH

    return max(NARROWEST, min(TEXT_WIDTH, get_terminal_size().columns)) if sys.stdout.isatty() else TEXT_WIDTH


_BEYOND_ASCII = late_pattern(r"[^\x00-\x7f]")


def _units(letter: str) -> tuple[int, ...]:
    """Return the numbers of a letter in UTF-16: two for one beyond the first 65,536."""
    data = letter.encode("utf-16-be", "surrogatepass")
    return tuple(int.from_bytes(data[n : n + 2], "big") for n in range(0, len(data), 2))


def say_json(data: bytes) -> None:
    """Write a JSON document in UTF-8, or with every other letter than ASCII's escaped where the stream or its reader is of a code page.

    So it is the same document for whoever reads it, whatever page a Windows terminal has.
    """
    text, pages = _DRIVES.sub(lambda m: f"\\u{ord(m[0]):04x}", data.decode()), [sys.stdout.encoding or "ascii"]
    if not sys.stdout.isatty():
        pages.append(reader_of(sys.stdout).page)
    if any(page.lower().replace("_", "-") not in ("utf-8", "utf8") for page in pages):
        text = _BEYOND_ASCII.sub(lambda m: "".join(f"\\u{n:04x}" for n in _units(m[0])), text)
    sys.stdout.write(text)
    sys.stdout.flush()


def say_result(text: str) -> None:
    """Write UTF-8 where the stream can take it, and the nearest plain form where it cannot."""
    encoding = sys.stdout.encoding or "ascii"
    text = with_signs_of(for_terminal(text), reader_of(sys.stdout).page)
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()
