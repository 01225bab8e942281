"""A computer with a GPU and without any framework: how to install the PyTorch that suits it, from the tables."""

from __future__ import annotations

from core.common.i18n import _
from core.common.shell import shell_command, shell_of
from core.common.versions import version_tuple
from core.knowledge.frameworks import framework_tables
from core.model.facts import PythonEnvironment
from core.model.findings import Finding, Fix, Report
from core.model.steps import Severity, Step
from core.rules.frameworks.fit import choose_torch, gpu_side

FOLDER = "gpu"
"""Of the new environment, in the folder where the person is."""


def missing_framework(report: Report) -> Finding:
    """Return the finding that there is no framework, with advice: a new environment with a suitable PyTorch."""
    return Finding(
        id="frameworks.none",
        cause="",
        step=Step.FRAMEWORKS,
        severity=Severity.NOTE,
        title=_("None of the Python environments that were found has one."),
        fix=_installation(report),
    )


def _installation(report: Report) -> Fix | None:
    seen = report.snapshot
    pythons = [p for p in seen.pythons or () if p.version and not p.problem]
    python = max(pythons, key=lambda p: version_tuple(p.version)[:2], default=None)
    choice = choose_torch("", python or PythonEnvironment(prefix="", version="3.12"), gpu_side(seen))
    if choice is None:
        return None
    windows, shell = seen.machine.system == "windows", shell_of(seen.machine.system)
    base = python.executable if python and python.executable else "py" if windows else "python3"
    inside = rf"{FOLDER}\Scripts\python.exe" if windows else f"{FOLDER}/bin/python"
    index = f"{framework_tables().torch_index.url}{choice.variant}"
    install = shell_command(inside, "-m", "pip", "install", f"torch=={choice.version}", "--index-url", index, of=shell)
    return Fix(
        title=_("Install PyTorch's build for CUDA {cuda}", cuda=choice.build.cuda),
        advice="\n".join((shell_command(base, "-m", "venv", FOLDER, of=shell), install)),
        restart="program",
    )
