"""Rows of tables, written from what wheels say."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from core.common.versions import is_older, version_tuple

Row = dict[str, Any]


def minor(version: str) -> str:
    """Return the first two numbers of a release."""
    return ".".join(version.split(".")[:2])


def next_minor(version: str) -> str:
    """Return the minor release after a release."""
    first, second = version_tuple(version)[:2]
    return f"{first}.{second + 1}"


def of_package(rows: Sequence[Row], package: str, system: str = "linux") -> list[Row]:
    """Return what was read of a package, the oldest release first."""
    its = [r for r in rows if (r["package"], r["system"]) == (package, system)]
    return sorted(its, key=lambda r: version_tuple(r["version"]))


def newest_of(rows: Sequence[Row], package: str, system: str = "linux") -> list[Row]:
    """Return the newest patch of each minor release of a package, the newest first."""
    return [*{minor(r["version"]): r for r in of_package(rows, package, system)}.values()][::-1]


def required(form: re.Pattern[str], row: Row) -> str:
    """Return the release that a wheel requires; empty if it requires none."""
    return next((m[m.lastindex or 0] for r in row["requires"] if (m := form.match(r))), "")


def wheel(row: Row) -> str:
    """Return the words that name a wheel as a source."""
    return f"the wheel {row['source']} of {row['uploaded']}"


def changes(rows: Iterable[Row], fact: Callable[[Row], int | None], old: Sequence[Row]) -> list[Row]:
    """Return since which release a major is what it is, each with its wheel: "1.19" where no 1.19 is elder.

    ``rows``: the oldest first. A wheel that does not tell the fact is passed over: between two that tell, and before
    the first, what ``old`` says by its own source stays.
    """
    found: list[Row] = []
    minors: set[str] = set()
    last = ""
    for row in rows:
        major, its = fact(row), minor(row["version"])
        if major is not None:
            if not found:
                found = [m for m in old if is_older(m["from"], its)]
            if not found or found[-1]["major"] != major:
                first = row["version"] if its in minors else its
                sourced = (m for m in old if m["major"] == major and last and _between(last, m["from"], first))
                found.append(next(sourced, {"from": first, "major": major, "source": wheel(row)}))
            last = row["version"]
        minors.add(its)
    return found


def _between(last: str, first: str, now: str) -> bool:
    return version_tuple(last) < version_tuple(first) < version_tuple(now)


def newest_day(rows: Sequence[Row], packages: Iterable[str]) -> str:
    """Return the day on which the newest wheel of these packages came out."""
    names = {*packages}
    return max((r["uploaded"] for r in rows if r["package"] in names), default="")


def written(text: str, section: str, rows: Sequence[Row]) -> str:
    """Return a table's text with the rows of a section, a row a line."""
    lines = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in rows)
    head, name, rest = text.partition(f' "{section}": [\n')
    return f"{head}{name}{lines}\n ]{rest.partition(chr(10) + ' ]')[2]}"


def dated(text: str, day: str) -> str:
    """Return a table's text with the day of the newest release that it knows."""
    return re.sub(r'(?<="known_until": ")[^"]*', day, text, count=1) if day else text


def difference(section: str, before: Sequence[Row], after: Sequence[Row]) -> list[str]:
    """Return a line for each row that is gone, and for each that is new."""
    old, new = ({json.dumps(r, ensure_ascii=False) for r in rows} for rows in (before, after))
    return [f"- {section}: {r}" for r in sorted(old - new)] + [f"+ {section}: {r}" for r in sorted(new - old)]
