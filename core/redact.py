"""Take names and identifiers of persons and machines out of a report, the same one always by the same placeholder."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from core.findings import Report

T = TypeVar("T")

COMMON = {
    "root",
    "user",
    "users",
    "admin",
    "administrator",
    "home",
    "ubuntu",
    "debian",
    "vagrant",
    "runner",
    "localhost",
}
"""Names that identify nobody, and that occur as ordinary words in paths."""
GPU_ID = re.compile(r"\b((?:GPU|MIG)-)[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")
UUID = re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")
HOME = re.compile(r"(?P<before>/home/|/Users/|[A-Za-z]:\\Users\\|[A-Za-z]:/Users/)(?P<name>[^/\\:;\"'\s]+)")
SHARED_HOMES = {"public", "default", "all users", "shared"}


def redact(report: Report) -> Report:
    """Return the report with user and host names, home folders and GPU identifiers replaced by placeholders."""
    machine = report.snapshot.machine
    seen: dict[str, str] = {}

    def numbered(kind: str, value: str) -> str:
        return seen.setdefault(f"{kind}:{value}", f"<{kind}-{1 + sum(k.startswith(kind + ':') for k in seen)}>")

    words: list[tuple[re.Pattern[str], str]] = []
    for name, placeholder in ((machine.user, "<user>"), (machine.host_name, "<host>")):
        if len(name) >= 3 and name.lower() not in COMMON:
            words.append((re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])", re.IGNORECASE), placeholder))

    def home(match: re.Match[str]) -> str:
        name = match["name"]
        if name == machine.user:
            return match["before"] + "<user>"
        return (
            match[0]
            if name.lower() in SHARED_HOMES or name.startswith("<")
            else match["before"] + numbered("user", name)
        )

    def clean(text: str) -> str:
        text = GPU_ID.sub(lambda m: m[1] + numbered("uuid", m[0].lower()), text)
        text = UUID.sub(lambda m: numbered("uuid", m[0].lower()), text)
        text = HOME.sub(home, text)
        for pattern, placeholder in words:
            text = pattern.sub(placeholder, text)
        return text

    return every_text(report, clean)


def every_text(value: T, change: Callable[[str], str]) -> T:
    """Return a copy of a frozen struct in which ``change`` was applied to every text, at any depth."""

    def walk(item: Any) -> Any:
        if isinstance(item, str):
            # an enumeration's word is a term of ours, not a text
            return item if type(item) is not str else change(item)
        if isinstance(item, tuple):
            return tuple(walk(i) for i in item)
        if isinstance(item, msgspec.Struct):
            return msgspec.structs.replace(item, **{n: walk(getattr(item, n)) for n in item.__struct_fields__})
        return item

    walked: T = walk(value)
    return walked
