"""Edits one line of a start-up file: removes a variable's assignment or one of its entries, or changes the value.

Pure: text in, text out. A line without the expected form is refused with a message; nothing is guessed.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Sequence

from core.common.i18n import _
from core.common.late_pattern import late_pattern
from core.host.startup.syntax import ReadError, parse, word_end
from core.model.changes import ChangeError
from core.model.facts import INTERPRETER, Frozen, LineForm
from core.model.variable_names import PRELOADED

MARK = "Convalesce"
_PLAIN = late_pattern(r"[^$`*?~%{}()\[\]\\]+")
"""A text without special characters in any of the languages."""
_BARE = late_pattern(r"/[\w/.+@-]*")
"""A path that needs no quotes in any format."""
_BARE_ON_WINDOWS = late_pattern(r"[A-Za-z]:\\[^\"%!^&|<>;*?\r\n]*")
"""The same for a batch file's ``set`` and for JSON, in a list that ";" separates."""
_EXPORTS = r"(?:export|declare\s+-x|declare\s+-gx|typeset\s+-x|typeset\s+-gx|readonly|local)\s+"


class Edit(Frozen, frozen=True, kw_only=True):
    """The change of one line of a file."""

    form: LineForm
    line: int
    """Line number, from 1."""
    name: str
    """Name of the variable."""
    entry: str = ""
    """The folder to remove from it; empty to remove the whole assignment."""
    among: tuple[str, ...] = ()
    """All folders that this line gives the variable, in order."""
    value: str = ""
    """The new value, if the variable is changed and not removed."""
    front: tuple[str, ...] = ()
    """Folders to put before the line's own."""
    separator: str = ":"
    """Between the folders of a list: ";" on Windows."""
    reason: str = ""
    """Reason for a comment beside the line, if the format has comments."""


def edit_text(text: str, edit: Edit) -> str:
    """Return the file's text with the edit made; every other byte stays.

    Raises:
        ChangeError: the line has changed since it was read, or is more than a plain assignment.
    """
    lines = re.split(r"(?<=\n)", text)
    if not 1 <= edit.line <= len(lines) or not all(_is_bare(f, edit) for f in edit.front):
        raise _by_hand(edit)
    if edit.name == INTERPRETER:
        return _with_other_python(lines, edit)
    if edit.form == "json":
        return _in_json(text, lines, edit)
    start = edit.line - 1
    end = start + 1
    while edit.form in ("posix", "fish", "systemd") and end < len(lines) and re.search(r"\\\r?\n\Z", lines[end - 1]):
        end += 1
    block = "".join(lines[start:end])
    body = re.sub(r"\r?\n\Z", "", block)
    ending = block[len(body) :]
    try:
        new = _FORMS[edit.form](body, edit)
    except (ReadError, KeyError):
        raise _by_hand(edit) from None
    between = "\r\n" if "\r\n" in text else "\n"
    indent = body[: len(body) - len(body.lstrip(" \t"))]
    if new is None:
        guard = _guard(lines, start, indent) if edit.form == "posix" else ""
        mark = {"cmd": "rem "}.get(edit.form, "# ")
        new = between.join(
            f"{indent}{guard if n == 0 else ''}{mark}{row.strip()}" for n, row in enumerate(body.splitlines())
        )
    comment = (
        ""
        if not edit.reason or edit.form == "xml"
        else f"{indent}{'rem' if edit.form == 'cmd' else '#'} {MARK}: {edit.reason}{between}"
    )
    if start and lines[start - 1].rstrip("\r\n").endswith("\\"):
        comment = ""
    made = "".join((*lines[:start], comment + new + ending, *lines[end:]))
    if edit.form == "posix" and parse(text) is not None and parse(made) is None:
        raise _by_hand(edit)
    return made


def mentions(word: str) -> re.Pattern[str]:
    """Return the pattern of a whole path or name in a line; systemd lets marks stand before it ("-/usr/bin/python3")."""
    return re.compile(rf"(?<![\w./])(?<!\w-){re.escape(word)}(?![\w./-])")


def _with_other_python(lines: list[str], edit: Edit) -> str:
    """Put another interpreter in the place of the one that a line names, in one place."""
    row, old, new = lines[edit.line - 1], edit.entry, edit.value
    if edit.form == "json":
        old, new = (json.dumps(w, ensure_ascii=False) for w in (old, new))
    elif not (_BARE.fullmatch(new) or (edit.separator == ";" and _BARE_ON_WINDOWS.fullmatch(new))):
        raise _by_hand(edit)
    found = [m.start() for m in mentions(old).finditer(row)]
    if len(found) != 1 or not edit.entry or not edit.value:
        raise _by_hand(edit)
    at = found[0]
    return "".join((*lines[: edit.line - 1], row[:at] + new + row[at + len(old) :], *lines[edit.line :]))


def _is_bare(folder: str, edit: Edit) -> bool:
    """Whether a folder can stand in the line as it is."""
    if edit.separator == ";":
        if edit.form == "cmd" and not folder.isascii():
            return False  # cmd reads a batch file in the terminal's code page, which nothing here tells
        return edit.form in ("cmd", "json") and _BARE_ON_WINDOWS.fullmatch(folder) is not None
    return _BARE.fullmatch(folder) is not None


def _by_hand(edit: Edit) -> ChangeError:
    return ChangeError(
        _("Line {line} sets {name} in a way that you should change by hand.", line=edit.line, name=edit.name)
    )


def _guard(lines: list[str], start: int, indent: str) -> str:
    """Return a command without effect if the shell needs a command here, as in the body of an ``if``, else empty."""
    before = next(
        (row.strip() for row in reversed(lines[:start]) if row.strip() and not row.strip().startswith("#")), ""
    )
    return ": " if indent or re.search(r"(\bthen|\bdo|\belse|\{|&&|\|\||\)|\()\Z", before) else ""


# --- entries of a value --------------------------------------------------------------------------------------------


def _pieces(body: str, name: str) -> tuple[str, list[str], str]:
    """Return a value's text as a prefix, its pieces, and a suffix: ``${NAME:+:$NAME}``."""
    self_ref = rf"(?:\$\{{{name}\}}|\${name}(?!\w))"
    tail = re.search(rf"\$\{{{name}:?\+:{self_ref}\}}\Z", body)
    end = tail.start() if tail else len(body)
    head = re.match(rf"\$\{{{name}:?\+{self_ref}:\}}", body[:end])
    start = head.end() if head else 0
    pieces, depth, piece = [], 0, ""
    for char in body[start:end]:
        depth += (char in "{(") - (char in "})")
        if char == ":" and not depth:
            pieces.append(piece)
            piece = ""
        else:
            piece += char
    return body[:start], [*pieces, piece], body[end:]


def _without_entry(body: str, edit: Edit) -> str | None:
    """Return a value's text without the entry; None if none of its own entries is left.

    Raises:
        ChangeError: it is not clear which part of the text makes the entry.
    """
    head, pieces, tail = _pieces(body, edit.name)
    own = [n for n, p in enumerate(pieces) if p and not _inherits(p, edit.name)]
    literal = [n for n in own if _is_entry(pieces[n], edit)]
    if not literal:
        if len(own) != len(edit.among) or any(re.search(r"\$\{?[0-9@*]", pieces[n]) for n in own):
            raise _by_hand(edit)
        pairs = list(zip(own, edit.among, strict=True))
        if any(_PLAIN.fullmatch(pieces[n]) and pieces[n].rstrip("/") != folder.rstrip("/") for n, folder in pairs):
            raise _by_hand(edit)
        literal = [n for n, folder in pairs if _is_entry(folder, edit)]
    if not literal:
        raise _by_hand(edit)
    if set(literal) == set(own):
        return None
    kept = [p for n, p in enumerate(pieces) if n not in literal]
    return head + ":".join(kept) + tail


def _takes_all(edit: Edit, texts: Sequence[str]) -> bool:
    """Whether the edit removes everything that a line gives a variable; ``texts`` are its parts.

    Raises:
        ChangeError: a part clearly names something other than the entry.
    """
    if _changes(edit) or not edit.entry:
        return not _changes(edit)
    if not edit.among or not all(_is_entry(folder, edit) for folder in edit.among):
        return False
    own = [t for t in texts if t and not _inherits(t, edit.name)]
    if len(own) > len(edit.among) or any(_PLAIN.fullmatch(t) and not _is_entry(t, edit) for t in own):
        raise _by_hand(edit)
    return True


def _changes(edit: Edit) -> bool:
    """Whether the edit changes the variable's value instead of removing it."""
    return bool(edit.value or edit.front)


def _changed(edit: Edit, text: str, separator: str = ":") -> str:
    """Return the new text of a value."""
    return edit.value or separator.join((*edit.front, text) if text else edit.front)


def _inherits(text: str, name: str) -> bool:
    """Whether a part stands for the variable's previous value, as written for shells, VS Code, supervisord and mise."""
    return bool(
        re.search(
            rf"\$[{{(]?(?:env:)?(?:{name}|{name.lower()})(?!\w)|%\(ENV_{name}\)s|\{{\{{\s*env\.{name}\s*\}}\}}", text
        )
    )


def _is_entry(text: str, edit: Edit) -> bool:
    return text.rstrip("/") == edit.entry.rstrip("/")


def _new_value(edit: Edit, value: str) -> str | None:
    """Return the new text of a value in a format without commands; None if the assignment is removed."""
    if _changes(edit):
        return _changed(edit, value, edit.separator)
    return None if _takes_all(edit, _parts(value, edit)) else _without_entry(value, edit)


def _parts(value: str, edit: Edit) -> list[str]:
    """Return the parts of a value's text, without quotes."""
    bare = re.sub(r"\\\r?\n|[\"']", "", value)
    pieces = _pieces(bare, edit.name)[1]
    return [w for p in pieces for w in p.split()] if edit.name in PRELOADED else pieces


# --- shells -----------------------------------------------------------------------------------------------------------


def _posix(body: str, edit: Edit) -> str | None:
    found = re.search(rf"(?<![\w$/.-]){edit.name}\+?=", body)
    if found is None:
        return _without_word(body, edit)
    at = found.end()
    end = word_end(body, at) if at < len(body) and body[at] not in " \t;&|\r\n" else at
    raw = body[at:end]
    if edit.value:
        return body[:at] + shlex.quote(edit.value) + body[end:]
    if edit.front and not raw.startswith("("):
        quote = raw[0] if len(raw) > 1 and raw[0] in "\"'" else ""
        return body[:at] + quote + _changed(edit, raw[len(quote) :]) + body[end:]
    if re.search(r"\$\{?[0-9@*]", raw):
        raise _by_hand(edit)  # The argument of a function: each of its calls would change.
    if raw.startswith("("):
        return _without_word(body, edit)
    if not _takes_all(edit, _parts(raw, edit)):
        quote = raw[0] if len(raw) > 1 and raw[0] in "\"'" and raw[-1] == raw[0] else ""
        inner = raw[len(quote) : len(raw) - len(quote)]
        if '"' in inner or "'" in inner or "`" in inner:
            raise _by_hand(edit)
        left = _without_entry(inner, edit)
        if left is not None:
            return body[:at] + quote + left + quote + body[end:]
    return _statement_out(body, found.start(), end, edit)


def _statement_out(body: str, start: int, end: int, edit: Edit) -> str | None:
    """Remove a whole assignment from a line; return None if the line contains nothing else."""
    before, after = body[:start], body[end:]
    alone = re.fullmatch(rf"\s*(?:{_EXPORTS})?", before)
    if alone and re.fullmatch(rf"\s*+(?:;\s*export\s+{edit.name}\s*+)?;?\s*(?:#.*)?", after, re.DOTALL):
        return None
    if re.search(r"(?:^|[;&|({\s/\"'])env\s+(?:(?:-u\s+\w+|-\S+|[A-Za-z_]\w*=\S*)\s+)*\Z", before):
        return before + after.lstrip(" \t")  # env A=1 NAME=... command
    # a key, or the mark of a list, stands before the command of a task that is written in YAML
    head = re.search(
        rf"(?:^|[;&|({{]|\bthen|\bdo|\belse|^\s*(?:-\s+)?[\w.-]+:|^\s*-)\s*({_EXPORTS})?((?:[A-Za-z_]\w*=\S*\s+)*)\Z",
        before,
    )
    if head is None:
        raise _by_hand(edit)
    more = re.match(r"[ \t]+[A-Za-z_]\w*=", after)
    if head[2] or (head[1] and more):  # export A=1 NAME=... B=2
        return (before.rstrip() + after) if not more else before + after.lstrip()
    if re.match(r"[ \t]+[^\s;&|)}#]", after):  # NAME=... command: a variable of that command only
        if head[1] or not re.match(r"[ \t]+[\w./~$-]", after):
            raise _by_hand(edit)
        return before + after.lstrip(" \t")
    cut = head.start(1) if head[1] else start
    return body[:cut] + ":" + after


def _without_word(body: str, edit: Edit) -> str | None:
    """Remove an entry from a list of words: zsh's path=(...), fish's set, direnv's PATH_add."""
    tied = f"{re.escape(edit.name)}|{re.escape(edit.name.lower())}"  # zsh ties an array to a list (typeset -T)
    names = {"PATH": r"PATH|path|fish_add_path|PATH_add"}.get(edit.name, tied)
    if not re.search(rf"(?<![\w$/.-])(?:{names})(?![\w/.-])", body):
        raise _by_hand(edit)
    if _changes(edit):
        return _other_words(body, edit)
    whole = _takes_all(edit, _listed(body, edit))
    sole = re.fullmatch(
        r"\s*(?:set\s|setenv\s|export\s|fish_add_path\s|PATH_add\s|path_add\s|(?:prepend|append)[-_]path\b|[a-z_]+\+?=\()[^;&|]*",
        body,
    )
    if sole is None:
        found = re.search(rf"(?:;\s*and|;|\band|&&)\s*(set\s+(?:-\S+\s+)*{edit.name}\s[^;&|]*)\Z", body)
        if found is None or not whole:
            raise _by_hand(edit)
        return body[: found.start(1)] + "true"
    if whole:
        return None
    words = re.split(r"([\s()]+)", body)
    place = [n for n, w in enumerate(words) if w.strip("\"'").rstrip("/") == edit.entry.rstrip("/")]
    if not place:
        variable = {edit.name.lower(), edit.name}
        first = next((n for n, w in enumerate(words) if w.rstrip("+=") in variable), None)
        if first is None:
            raise _by_hand(edit)
        own = [n for n in range(first + 1, len(words)) if words[n].strip(" \t()") and not _is_self(words[n], edit.name)]
        if len(own) != len(edit.among):
            raise _by_hand(edit)
        place = [n for n, f in zip(own, edit.among, strict=True) if f.rstrip("/") == edit.entry.rstrip("/")]
    if not place:
        raise _by_hand(edit)
    for n in reversed(place):
        del words[n - 1 if words[n - 1].isspace() else n : n + 1 if words[n - 1].isspace() else n + 2]
    return "".join(words)


def _other_words(body: str, edit: Edit) -> str:
    """Change the value of a list of words, or put words before it."""
    head = rf"\s*set\s+(?:-\S+\s+)*{edit.name}\s+"
    if edit.value and (found := re.match(rf"({head})(\S.*?)(\s*(?:#.*)?)\Z", body)):
        return found[1] + shlex.quote(edit.value) + found[3]
    if edit.front and (found := re.match(rf"({head}|\s*{edit.name.lower()}=\()(\S.*)\Z", body, re.DOTALL)):
        return found[1] + _changed(edit, found[2], " ")
    raise _by_hand(edit)


def _listed(body: str, edit: Edit) -> list[str]:
    """Return the words of a list, after the variable's name and the command's options."""
    words = re.split(r"[\s()]+", re.sub(r"(?:^|\s)#.*", "", body))
    lists = {edit.name.lower(), edit.name, "fish_add_path", "PATH_add", "path_add"}
    first = next((n for n, w in enumerate(words) if w.rstrip("+=") in lists), len(words))
    own = [w.strip("\"'") for w in words[first + 1 :] if not w.startswith("-")]
    if words[first : first + 1] in (["PATH_add"], ["path_add"]):  # direnv: relative to the folder of its file
        own = [w if w.startswith("/") else f"$PWD/{w}" for w in own]
    return [p for w in own for p in (_pieces(w, edit.name)[1] if w.startswith("/") else [w])]


def _is_self(word: str, name: str) -> bool:
    return bool(re.fullmatch(rf"\"?\$\{{?({name}|{name.lower()})\}}?(\[@\])?\"?", word))


def _fish(body: str, edit: Edit) -> str | None:
    if re.search(rf"(?<![\w$]){edit.name}=", body):
        return _posix(body, edit)
    if found := re.match(rf"(\s*(?:set-environment|setenv)\s+(?:-\S+\s+)*{edit.name}\s+)([\"']?)(.*?)\2(\s*)\Z", body):
        left = _new_value(edit, found[3])  # tmux, screen
        return None if left is None else found[1] + found[2] + left + found[2] + found[4]
    found = re.match(rf"(\s*set\s+(?:-\S+\s+)*{edit.name}\s+)([\"'])([^\"']*)\2(\s*)\Z", body)
    if found and not _changes(edit) and not _takes_all(edit, _parts(found[3], edit)):
        left = _without_entry(found[3], edit)
        return None if left is None else found[1] + found[2] + left + found[2] + found[4]
    return _without_word(body, edit)


# --- data ----------------------------------------------------------------------------------------------------------


def _assignments(body: str, edit: Edit) -> str | None:
    found = re.match(rf"(\s*(?:export\s+)?[\"']?{edit.name}[\"']?\s*[:?+]?:?=\s*)([\"']?)(.*?)(\2)(\s*)\Z", body)
    if found is None:
        raise _by_hand(edit)
    left = _new_value(edit, found[3])
    return None if left is None else found[1] + found[2] + left + found[4] + found[5]


def _pam(body: str, edit: Edit) -> str | None:
    if re.match(rf"\s*{edit.name}=", body):
        return _assignments(body, edit)
    found = re.match(rf"(\s*{edit.name}\s+(?:DEFAULT|OVERRIDE)=)(\"?)([^\"\s]*)(\2\s*)\Z", body)
    if found is None:
        raise _by_hand(edit)
    left = _new_value(edit, found[3])
    return None if left is None else found[1] + found[2] + left + found[4]


def _systemd(body: str, edit: Edit) -> str | None:
    if not re.match(r"\s*(?:Default)?Environment\s*=", body):
        return _assignments(body, edit)
    quoted = rf"(?<=[\s=])([\"']){edit.name}=((?:(?!\1).)*)\1(?=\s|\Z)"
    found = re.search(quoted, body) or re.search(rf"(?<=[\s=])(){edit.name}=([^\s\"']*)(?=\s|\Z)", body)
    if found is None:
        raise _by_hand(edit)
    left = _new_value(edit, found[2])
    if left is not None:
        return body[: found.start(2)] + left + body[found.end(2) :]
    head, rest = body[: found.start()], body[found.end() :]
    if re.fullmatch(r"\s*(?:Default)?Environment\s*=\s*", head) and not rest.strip():
        return None
    return (head.rstrip() + rest) if not head.rstrip().endswith("=") else head + rest.lstrip()


def _cmd(body: str, edit: Edit) -> str | None:
    first = rf'(\s*@?)set\s+(?:"{edit.name}=[^"]*"\s*|{edit.name}=[^"&|^]*)&{{1,2}}(?!&)\s*(?=\S)'
    if (several := re.match(first, body, re.IGNORECASE)) and not edit.front and not edit.entry:
        rest = body[several.end() :]
        return f'{several[1]}set "{edit.name}={edit.value}"& {rest}' if edit.value else several[1] + rest
    quoted = re.fullmatch(
        rf'(\s*@?set\s+)({edit.name})="[^"]*"\s*', body, re.IGNORECASE
    )  # the marks are a part of the value
    if quoted and not edit.front and not edit.entry:
        return f'{quoted[1]}"{quoted[2]}={edit.value}"' if edit.value else None
    found = re.match(rf"(\s*@?set\s+\"?{edit.name}=)([^\"]*)(\"?\s*)\Z", body, re.IGNORECASE)
    if found is None or ('"' not in found[1] and re.search(r"[&|]", found[2])):
        raise _by_hand(edit)
    if _changes(edit):
        return found[1] + _changed(edit, found[2], ";") + found[3]
    if not edit.entry:
        return None
    pieces = found[2].split(";")
    left = [p for p in pieces if p.strip().rstrip("\\").lower() != edit.entry.rstrip("\\").lower()]
    if len(left) == len(pieces):
        raise _by_hand(edit)
    return found[1] + ";".join(left) + found[3] if any(p.strip() for p in left) else None


def _pth(body: str, edit: Edit) -> None:
    """Remove a line of a .pth file; it must be the one that names the folder."""
    if not body.strip() or body.lstrip().startswith("#") or re.split(r"[/\\]", edit.entry)[-1] not in body:
        raise _by_hand(edit)


def _supervisor(body: str, edit: Edit) -> str | None:
    """Edit one variable of a list: environment=A="1",B="2"."""
    found = re.search(rf"(?<![\w]){edit.name}\s*=\s*(\"[^\"]*\"|'[^']*'|[^,\"'\s;]*)", body)
    if found is None:
        raise _by_hand(edit)
    raw = found[1]
    quote = raw[0] if raw[:1] in ("'", '"') else ""
    left = _new_value(edit, raw[len(quote) : len(raw) - len(quote)])
    if left is not None:
        return body[: found.start(1)] + quote + left + quote + body[found.end(1) :]
    before, after = body[: found.start()], body[found.end() :]
    if after.lstrip().startswith(","):
        return before + after.lstrip()[1:].lstrip()
    if re.fullmatch(r"\s*(environment\s*=\s*)?", before) and not after.strip():
        return None
    return re.sub(r",\s*\Z", "", before) + after


def _xml(body: str, edit: Edit) -> str | None:
    """Edit an XML element with the variable's name and value as attributes: PyCharm's run configurations."""
    import html  # its table of characters is large, and few scans edit such a file

    found = re.search(rf"<env\s+name=\"{edit.name}\"\s+value=\"([^\"]*)\"\s*/>", body)
    if found is None:
        raise _by_hand(edit)
    left = _new_value(edit, html.unescape(found[1]))
    if left is not None:
        return body[: found.start(1)] + html.escape(left) + body[found.end(1) :]
    return body[: found.start()] + body[found.end() :]


_FORMS: dict[LineForm, Callable[[str, Edit], str | None]] = {
    "posix": _posix,
    "fish": _fish,
    "assignments": _assignments,
    "crontab": _assignments,
    "pam": _pam,
    "systemd": _systemd,
    "cmd": _cmd,
    "pth": _pth,
    "supervisor": _supervisor,
    "xml": _xml,
}


# --- JSON ----------------------------------------------------------------------------------------------------------


def _in_json(text: str, lines: list[str], edit: Edit) -> str:
    """Edit a member of a JSON document that may contain comments: kernelspecs, conda's state, VS Code's settings."""
    at = sum(len(row) for row in lines[: edit.line - 1])
    spelling = re.IGNORECASE if edit.separator == ";" else re.NOFLAG  # as names are on Windows
    member = re.compile(rf"\"{re.escape(edit.name)}\"\s*:\s*(\"(?:\\.|[^\"\\])*\")", spelling).search(text, at)
    if member is None or text.count("\n", 0, member.start()) + 1 != edit.line:
        raise _by_hand(edit)
    value = str(json.loads(member[1]))
    left = _new_value(edit, value)
    if left is not None:
        return text[: member.start(1)] + json.dumps(left, ensure_ascii=False) + text[member.end(1) :]
    start, end = member.start(), member.end()
    line_start = text.rfind("\n", 0, start) + 1
    line_end = len(text) if (found := text.find("\n", end)) < 0 else found + 1
    behind = re.compile(r"\s*,").match(text, end)
    if not behind:
        before = re.search(r",\s*\Z", text[:start])
        if before:  # For the last member, remove the comma before it.
            return text[: before.start()] + text[end:]
        return text[:start] + text[end:]
    whole_line = not text[line_start:start].strip() and not text[behind.end() : line_end].strip()
    if whole_line and behind.end() <= line_end:
        return text[:line_start] + text[line_end:]
    return text[:start] + text[behind.end() :].lstrip(" ")
