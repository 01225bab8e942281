"""What frameworks ask of the processor and of Windows' memory: three answers, and no alarm where nothing is told."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from core.model.facts import Snapshot
from core.rules.frameworks.grid import make_grid
from core.rules.frameworks.hardware import RULES
from tests.rules.test_frameworks_verdicts import LINUX, ON_WINDOWS, build, dist, machine

OLD = ("sse4_1", "sse4_2")
NEW = (*OLD, "avx", "avx2", "fma")
GIB = 1 << 30


def host(seen: Snapshot, **facts: Any) -> Snapshot:
    return replace(seen, machine=replace(seen.machine, **facts))


def flow(version: str = "2.20.0") -> Snapshot:
    return machine(build("tensorflow", version, "12.5"))


JAX = machine(build("jax", "0.6.2", "12"), distributions=(dist("jax", "0.6.2"), dist("jaxlib", "0.6.2")))
TORCH = machine(build(commit=5 * GIB), base=ON_WINDOWS)

TABLE = [
    ("a processor without AVX", host(flow(), instructions=OLD), [("error", "cpu_instruction_set_missing")]),
    ("one with AVX", host(flow(), instructions=NEW), []),
    ("not told", host(flow(), instructions=None), []),
    ("another processor", host(flow(), instructions=(), architecture="aarch64"), []),
    ("TensorFlow before 1.6", host(flow("1.5.0"), instructions=OLD), []),
    ("jaxlib", host(JAX, instructions=OLD), [("error", "cpu_instruction_set_missing")]),
    ("PyTorch chooses at run time", host(machine(build()), instructions=OLD), []),
    ("an environment on PATH", host(machine(build("tensorflow", "2.20.0", "12.5"), found_by="python on PATH"), instructions=OLD), [("warning", "cpu_instruction_set_missing")]),
    ("memory enough", host(TORCH, commit_limit=40 * GIB, commit_left=20 * GIB), []),
    ("taken by others", host(TORCH, commit_limit=40 * GIB, commit_left=2 * GIB), [("warning", "page_file_too_small")]),
    ("never enough", host(TORCH, commit_limit=4 * GIB, commit_left=2 * GIB), [("error", "page_file_too_small")]),
    ("memory not told", TORCH, []),
    ("libraries not read", host(machine(build(), base=ON_WINDOWS), commit_limit=4 * GIB, commit_left=GIB), []),
    ("Linux", host(machine(build(commit=5 * GIB), base=LINUX)), []),
]  # fmt: skip


@pytest.mark.parametrize(("seen", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_what_is_asked_and_what_is_there(seen: Snapshot, expected: list[tuple[str, str]]) -> None:
    assert [(f.severity.word, f.cause) for rule in RULES for f in rule(seen)] == expected


def test_the_cells_follow() -> None:
    seen = host(JAX, instructions=OLD)
    found = tuple(f for rule in RULES for f in rule(seen))
    assert [c.verdict for c in make_grid(seen, found).rows[0].cells] == ["cannot run"]
