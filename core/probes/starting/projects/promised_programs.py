"""Ways of starting that name their Python by its path, and what it is to run: a debugger's configuration, and a kernel that is named
after a framework. Where that Python lacks it, the way says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from core.host.startup.plain import json_value
from core.knowledge.modules import module_table
from core.model.facts import path_text
from core.probes.python.environment import prefix_of
from core.probes.starting.commands.command_line import StartedFile
from core.probes.starting.commands.started_code import home_of, lacking_pythons, unsearched
from core.probes.starting.commands.unattended_starts import unattended_starts
from core.probes.starting.machine import Ground
from core.probes.starting.ways import Reached

ALSO_CALLED = {"pytorch": "torch", "tf": "tensorflow", "tf2": "tensorflow"}
"""What people call a framework -> its module."""
_WORD = re.compile(r"[a-z][a-z0-9]*")


def with_promised_programs(ways: Iterator[Reached], ground: Ground) -> Iterator[Reached]:  # fmt: skip
    """Yield the ways, with the Python that they start where it lacks what they promise."""
    for way in ways:
        promised = _of_kernel(way, ground) if way.kind == "notebook" else _of_launch(way)
        python = _named_python(way, ground) if promised and not way.runs else ""
        if not promised or not python:
            yield way
            continue
        arguments, program = promised
        found = StartedFile(
            python, prefix_of(python, ground.where, ground.env), ground.where.real_path(python), arguments
        )
        runs = [one if not program else replace(one, program=program) for one in lacking_pythons(found, way, ground)]
        if way.kind == "editor":
            runs = (
                runs
                or [*unsearched(found, way, ground)]
                or [*unattended_starts(found, way, ground, home_of(found, ground.pythons))][:1]
            )
        yield replace(way, runs=tuple(runs))


def _named_python(way: Reached, ground: Ground) -> str:
    """Return the interpreter that a way names by its whole path; empty for none."""
    first = way.argv[0] if way.argv else ""
    named = re.fullmatch(r"python[\d.]*", ground.where.name(first)) and first.startswith("/")
    return first if named and ground.where.is_file(first) else ""


def _of_launch(way: Reached) -> tuple[tuple[str, ...], str] | None:
    """Return what a configuration of VS Code runs."""
    return (way.argv[1:], "") if way.kind == "editor" and len(way.argv) > 1 else None


def _of_kernel(way: Reached, ground: Ground) -> tuple[tuple[str, ...], str] | None:
    """Return the import of the framework that a kernel is named after, and the kernel's own name."""
    spec = json_value(ground.read(way.at) or "") if way.at.endswith("/kernel.json") and not way.seems else None
    if not isinstance(spec, dict):
        return None
    shown = str(spec.get("display_name", ""))
    words = _WORD.findall(f"{ground.where.name(ground.where.parent(way.at))} {shown}".lower())
    modules = {row.module for row in module_table().modules}
    wanted = next((m for w in words if (m := ALSO_CALLED.get(w, w)) in modules), "")
    return (("-c", f"import {wanted}"), path_text(shown or way.at)) if wanted else None
