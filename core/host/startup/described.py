"""Reads files that describe programs as data (YAML, TOML, JSON, INI) into plain values: what each holds is for the caller to say.

YAML is read in its usual form: blocks by indentation, blocks of text, quoted texts, anchors, and lists and mappings in one line. Whatever
else it has (types, several documents, keys in several lines) ends the reading: nothing is concluded from half a file.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping

from core.common.late_pattern import late_pattern
from core.host.startup.plain import json_value, toml_tables

Described = str | list["Described"] | dict[str, "Described"]
"""A text, a list or a mapping; numbers and switches are their texts."""

MOST_LINES = 4000
MOST_DEPTH = 40
MOST_NODES = 20_000
"""Maximum number of values, each counted as often as aliases repeat it: eight lines can mean a thousand million."""
MOST_JOINED = 400
"""Maximum number of lines of one value in quotation marks or brackets."""


def described(text: str, name: str) -> Described | None:
    """Return what a file of this name describes; None if its form is unknown or broken."""
    ending = name.rpartition(".")[2]
    try:
        if ending in ("json", "jsonc", "sublime-project", "sublime-build"):
            return _plain(json_value(text), 0)
        if ending == "toml":
            return _plain(toml_tables(text), 0)
        if ending in ("yml", "yaml"):
            return _as_a_tree(_Yaml(text).whole())
        if ending in ("ini", "cfg", "conf"):
            return _of_ini(text)
    except (ValueError, RecursionError, IndexError):
        return None
    return None


def _as_a_tree(whole: Described | None) -> Described | None:
    """Return a document.

    Raises:
        ValueError: aliases make it too deep or too large to be followed.
    """
    todo, count = [(whole, 0)], 0
    while todo:
        value, depth = todo.pop()
        inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
        count += 1 + len(inner)
        if count > MOST_NODES or depth > 2 * MOST_DEPTH:
            raise ValueError(count)
        todo += ((its, depth + 1) for its in inner)
    return whole


def _plain(value: object, depth: int) -> Described:
    if isinstance(value, Mapping) and depth < MOST_DEPTH:
        return {str(key): _plain(its, depth + 1) for key, its in value.items()}
    if isinstance(value, list) and depth < MOST_DEPTH:
        return [_plain(its, depth + 1) for its in value]
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


# --- INI -----------------------------------------------------------------------------------------------------------------


def _of_ini(text: str) -> Described:
    """Return the sections; a setting that stands there several times has its values in lines.

    A section "env" belongs to the whole file, a section "env:NAME" to the sections that end in ":NAME" (circus' documentation).
    """
    sections: dict[str, dict[str, str]] = {}
    title = key = ""
    for raw in text.splitlines()[:MOST_LINES]:
        line = raw.strip()
        if not line or line.startswith(("#", ";")):
            continue
        if head := re.fullmatch(r"\[([^\[\]]+)\]", line):
            title, key = head[1].strip(), ""
            sections.setdefault(title, {})
        elif raw[0] in " \t" and key:
            sections[title][key] += "\n" + line
        elif title and (row := re.match(r"([\w.-]+)\s*[=:]\s*(.*)$", line)):
            key, value = row[1], re.split(r"\s[;#]\s", row[2])[0]
            its = sections[title]
            its[key] = f"{its[key]}\n{value}" if key in its else value
    found: dict[str, Described] = {}
    for name, its in sections.items():
        kind, _colon, patterns = name.partition(":")
        if kind != "env":
            found[name] = {**its, **{k: dict(v) for k, v in _env_of_section(name, sections)}}
        elif not patterns:
            found["env"] = dict(its)
    return found


def _env_of_section(name: str, sections: Mapping[str, Mapping[str, str]]) -> list[tuple[str, Mapping[str, str]]]:
    own = name.partition(":")[2]
    its = [
        row
        for title, row in sections.items()
        if own and title.startswith("env:") and any(fnmatch.fnmatchcase(own, p.strip()) for p in title[4:].split(","))
    ]
    return [("env", {k: v for row in its for k, v in row.items()})] if its else []


# --- YAML ----------------------------------------------------------------------------------------------------------------

_KEY = late_pattern(
    r"(\"[^\"]*\"|'[^']*'|[^\s\"'#\[\]{},&*!|>%@`-][^\"'\[\]{}\n]*?|-[^\s\"'\[\]{}][^\"'\[\]{}\n]*?)\s*:(?=\s|$)"
)


class _Yaml:
    """The lines of one document."""

    def __init__(self, text: str) -> None:
        self.rows: list[tuple[int, str]] = []
        self.raw = text.replace("\t", "  ").splitlines()[:MOST_LINES]
        self.at = 0
        self.anchors: dict[str, Described] = {}

    def whole(self) -> Described | None:
        """Return the whole document.

        Raises:
            ValueError: it has another form than the usual one.
        """
        while self.at < len(self.raw) and re.match(r"\s*(?:#.*|---\s*|%.*)?$", self.raw[self.at]):
            self.at += 1
        return self._block(0, 0) if self._next() is not None else None

    def _next(self) -> tuple[int, str] | None:
        """Return indentation and text of the next line that says something."""
        while self.at < len(self.raw):
            line = self.raw[self.at]
            bare = line.strip()
            if bare and not bare.startswith("#"):
                return len(line) - len(line.lstrip(" ")), bare
            self.at += 1
        return None

    def _block(self, least: int, depth: int) -> Described:
        """Return the list or mapping whose lines are indented by at least this much."""
        first = self._next()
        if first is None or first[0] < least:
            return ""
        if depth > MOST_DEPTH or first[1] == "---":
            raise ValueError(first[1])
        indent = first[0]
        if first[1].startswith("- ") or first[1] == "-":
            return self._list(indent, depth)
        if _KEY.match(first[1]):
            return self._mapping(indent, depth)
        self.at += 1
        return self._value(first[1], indent, depth)

    def _list(self, indent: int, depth: int) -> Described:
        found: list[Described] = []
        while (row := self._next()) is not None and row[0] == indent and (row[1] == "-" or row[1].startswith("- ")):
            inner = row[1][1:].lstrip()
            if inner and _KEY.match(inner):
                offset = len(row[1]) - len(inner)
                self.raw[self.at] = " " * (indent + offset) + inner  # its first member stands behind the dash
                found.append(self._block(indent + 1, depth + 1))
            else:
                self.at += 1
                found.append(self._value(inner, indent, depth) if inner else self._block(indent + 1, depth + 1))
        return found

    def _mapping(self, indent: int, depth: int) -> Described:
        found: dict[str, Described] = {}
        while (row := self._next()) is not None and row[0] == indent and (key := _KEY.match(row[1])):
            self.at += 1
            name = key[1].strip("\"'")
            rest = _without_comment(row[1][key.end() :].strip())
            its = self._value(rest, indent, depth) if rest else self._following(indent, depth)
            if name == "<<":
                for each in its if isinstance(its, list) else [its]:
                    found = {**each, **found} if isinstance(each, dict) else found
            else:
                found[name] = its
        row = self._next()
        if row is not None and row[0] > indent:
            raise ValueError(row[1])
        return found

    def _following(self, indent: int, depth: int) -> Described:
        """Return what stands below a key; a list may have its indentation."""
        row = self._next()
        if row is not None and row[0] == indent and row[1].startswith("- "):
            return self._list(indent, depth + 1)
        return self._block(indent + 1, depth + 1)

    def _value(self, text: str, indent: int, depth: int) -> Described:
        text = _without_comment(text)
        if anchor := re.match(r"&([\w-]+)\s*(.*)$", text):
            its = self._value(anchor[2], indent, depth) if anchor[2] else self._following(indent, depth)
            self.anchors[anchor[1]] = its
            return its
        if alias := re.fullmatch(r"\*([\w-]+)", text):
            return self.anchors.get(alias[1], "")
        if re.fullmatch(r"[|>][+-]?\d?", text):
            return self._text_block(indent, folds=text[0] == ">")
        if text[:1] in ("{", "["):
            most = self.at + MOST_JOINED
            while _open_brackets(text) and self.at < min(most, len(self.raw)):
                text += " " + _without_comment(self.raw[self.at].strip())
                self.at += 1
            return _Flow(text).value(0)[0]
        if text[:1] in ('"', "'"):
            most = self.at + MOST_JOINED
            while not _closed(text) and self.at < min(most, len(self.raw)):
                text += " " + self.raw[self.at].strip()
                self.at += 1
            return _unquoted(text)
        if text[:1] in ("!", "%", "@", "`"):
            raise ValueError(text)
        while (row := self._next()) is not None and row[0] > indent and not _KEY.match(row[1]):
            self.at += 1
            text += " " + _without_comment(row[1])  # a text that goes on
        return "" if text in ("~", "null") else text

    def _text_block(self, indent: int, *, folds: bool) -> str:
        lines: list[str] = []
        while self.at < len(self.raw):
            line = self.raw[self.at]
            if line.strip() and len(line) - len(line.lstrip(" ")) <= indent:
                break
            lines.append(line.strip())
            self.at += 1
        return (" " if folds else "\n").join(lines).strip()


def _without_comment(text: str) -> str:
    if text.startswith("#"):
        return ""
    quoted = re.match(r"(\"(?:\\.|[^\"\\])*\"|'(?:''|[^'])*')\s+#", text)
    return quoted[1] if quoted else text if text[:1] in ('"', "'") else re.split(r"\s#", text, maxsplit=1)[0].rstrip()


def _closed(text: str) -> bool:
    return re.fullmatch(r"\"(?:\\.|[^\"\\])*\"|'(?:''|[^'])*'", text) is not None


def _unquoted(text: str) -> str:
    if not _closed(text):
        raise ValueError(text)
    if text[0] == "'":
        return text[1:-1].replace("''", "'")
    known = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
    return re.sub(r"\\(.)", lambda m: known.get(m[1], m[1]), text[1:-1])


def _open_brackets(text: str) -> bool:
    bare = re.sub(r"\"(?:\\.|[^\"\\])*\"|'(?:''|[^'])*'", "", text)
    return bare.count("{") + bare.count("[") > bare.count("}") + bare.count("]")


class _Flow:
    """Lists and mappings in one line."""

    def __init__(self, text: str) -> None:
        self.text = text

    def value(self, at: int, depth: int = 0) -> tuple[Described, int]:
        """Return the value that begins here, and the place behind it.

        Raises:
            ValueError: it does not end.
        """
        at = self._space(at)
        if depth > MOST_DEPTH or at >= len(self.text):
            raise ValueError(self.text)
        if self.text[at] in "[{":
            return self._inside(at, depth)
        word = re.compile(
            r"\"(?:\\.|[^\"\\])*\"|'(?:''|[^'])*'|[^,\[\]{}\"':]*(?::(?!\s|$)[^,\[\]{}\"':]*)*(?=[,\]}:]|$)"
        ).match(self.text, at)
        if word is None:
            raise ValueError(self.text)
        return (_unquoted(word[0]) if word[0][:1] in ('"', "'") else word[0].strip()), word.end()

    def _inside(self, at: int, depth: int) -> tuple[Described, int]:
        ends = "]" if self.text[at] == "[" else "}"
        items: list[Described] = []
        members: dict[str, Described] = {}
        at = self._space(at + 1)
        while self.text[at] != ends:
            its, at = self.value(at, depth + 1)
            at = self._space(at)
            if ends == "}" and isinstance(its, str):
                inner, at = self.value(at + 1, depth + 1) if self.text[at] == ":" else ("", at)
                members[its] = inner
            else:
                items.append(its)
            at = self._space(at)
            if self.text[at] == ",":
                at = self._space(at + 1)
            elif self.text[at] != ends:
                raise ValueError(self.text)
        return (items if ends == "]" else members), at + 1

    def _space(self, at: int) -> int:
        while at < len(self.text) and self.text[at].isspace():
            at += 1
        return at
