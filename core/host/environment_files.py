"""Files of assignments (/etc/environment, environment.d/*.conf) as text: one line is edited, the others stay."""

from __future__ import annotations

import re

from core.common.i18n import _
from core.common.late_pattern import late_pattern
from core.model import path_list
from core.model.changes import ChangeError, Value

FILE_HEADER = '# Written by Convalesce; "convalesce undo" takes it back.\n'
"""First line of a file that is ours alone."""
_PLAIN = late_pattern(r"[A-Za-z0-9_./:,+=@%~-]*\Z")
_QUOTABLE = late_pattern(r"[A-Za-z0-9_./:,+=@%~ ()\[\]-]*\Z")
_READABLE = late_pattern(r"[^\"'\\$`#*\r\n]*\Z")
"""What ``read_assignment`` reads: nothing in it ends the value, or means something else."""
_FORM = late_pattern(r"(\d{1,6}):(\s*(?:export\s+)?[A-Za-z_]\w*=[\"']?\*[\"']?\s*)\Z")


def _lines(text: str) -> list[str]:
    return [line for line in re.split(r"(?<=\n)", text) if line]


def read_assignment(text: str, name: str) -> Value | None:
    """Return the value that ``text`` gives the variable.

    Its kind is the form of the line, "3:export NAME='*'", and its line end.

    Raises:
        ChangeError: the variable is assigned twice, or by a line that is more than a plain assignment.
    """
    lines = _lines(text)
    rows = [i for i, line in enumerate(lines) if re.match(rf"\s*(?:export\s+)?{re.escape(name)}\s*=", line)]
    if not rows:
        return None
    if len(rows) > 1:
        raise ChangeError(
            _("{name} is assigned on {count} lines; remove the extra lines by hand first.", name=name, count=len(rows))
        )
    whole = re.fullmatch(
        rf"(\s*(?:export\s+)?{re.escape(name)}=)([\"']?)([^\"'\\$`#*\r\n]*)\2(\s*)", lines[rows[0]], re.DOTALL
    )
    if whole is None:
        raise ChangeError(
            _("Line {line} sets {name} in a way that you should change by hand.", line=rows[0] + 1, name=name)
        )
    head, quote, body, tail = whole.groups()
    if not quote:
        body, tail = body.rstrip(), body[len(body.rstrip()) :] + tail
    return Value(text=body, kind=f"{rows[0]}:{head}{quote}*{quote}{tail}")


def write_assignment(text: str, name: str, value: Value | None) -> str:
    """Return ``text`` with the variable set to ``value``, or without its line (None).

    Raises:
        ChangeError: as ``read_assignment``; or the value cannot be written plainly in such a file. A value that was
        read from a file, with its form, can always be written, so that every change can be undone.
    """
    lines, old = _lines(text), read_assignment(text, name)
    place = int(old.kind.partition(":")[0]) if old else len(lines)
    if value is None:
        return "".join(lines[:place] + lines[place + 1 :])
    was_read = bool(value.kind) and _READABLE.match(value.text)
    # A separator of folders counts as plain even if it is no letter.
    if not was_read and not all(_QUOTABLE.match(part) for part in path_list.split_entries(value.text, "linux", name)):
        raise ChangeError(
            _("{name} cannot have the value {text} in an environment file.", name=name, text=repr(value.text))
        )
    kind = value.kind or (old.kind if old else "")
    form = _FORM.match(kind)
    if kind and (form is None or f"{name}=" not in kind):
        raise ChangeError(_("A line of the form {kind} cannot assign {name}.", kind=repr(kind), name=name))
    if form is None:
        form_text, place = (f"{name}=*\n" if _PLAIN.match(value.text) else f'{name}="*"\n'), len(lines)
    else:
        place, form_text = (place if old else min(int(form[1]), len(lines))), form[2]
    if place and not lines[place - 1].endswith("\n"):
        lines[place - 1] += "\n"
    line = form_text.replace("*", value.text)
    return "".join([*lines[:place], line, *lines[place + (old is not None) :]])
