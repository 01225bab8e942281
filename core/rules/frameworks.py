"""Rules about Python environments as they lie on disk; what frameworks do with them is judged when they are asked."""

from __future__ import annotations

from collections.abc import Iterator

from core.facts import PythonEnvironment, Snapshot
from core.findings import Finding, Step
from core.rules.words import GOOD, UNKNOWN, counted, finding, listed, saw

FRAMEWORKS = ("torch", "tensorflow", "jax", "onnxruntime-gpu", "ctranslate2", "paddlepaddle-gpu")


def unread(seen: Snapshot) -> Iterator[Finding]:
    """An environment that was named and could not be read."""
    for python in seen.pythons or ():
        if python.problem and "--python" in python.found_by:
            yield finding(
                Step.FRAMEWORKS,
                UNKNOWN,
                "environment-unread",
                f"The Python environment {python.prefix} could not be read.",
                why="What it would load is not decided.",
                evidence=[saw("Problem", python.problem, python.found_by)],
                subject=python.prefix,
            )


def read(seen: Snapshot) -> Iterator[Finding]:
    """Each environment with what matters in it."""
    for python in seen.pythons or ():
        frameworks = _frameworks(python)
        if frameworks and not python.problem:
            yield finding(
                Step.FRAMEWORKS,
                GOOD,
                "environment-read",
                f"The Python environment {python.prefix} has {listed(frameworks)}.",
                evidence=[
                    saw("Python", f"{python.version} ({python.kind})", python.found_by),
                    saw(
                        "NVIDIA packages",
                        counted(len([d for d in python.distributions if d.name.startswith("nvidia-")]), "package"),
                    ),
                ],
                subject=python.prefix,
            )


def _frameworks(python: PythonEnvironment) -> list[str]:
    return [f"{d.name} {d.version}" for d in python.distributions if d.name in FRAMEWORKS]


RULES = (unread, read)
