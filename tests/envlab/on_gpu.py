"""Frameworks on a machine with a real GPU: ``python -m tests.envlab.on_gpu OUT``, with the interpreter that holds them.

It scans its own environment as it is, with LD_LIBRARY_PATH naming the distribution's cuDNN, and with the GPU hidden, and
says for each whether the cells and causes are as they must be. OUT gets a redacted report for each.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from core.model.facts import FrameworkTrial
from core.model.findings import GridCell, Report
from core.report.json_form import from_json
from installer.by_hand import by_hand

OTHER = (Path("/usr/lib/x86_64-linux-gnu"), Path("/usr/local/cuda/lib64"))
"""Where a distribution has its cuDNN."""


@dataclass(frozen=True)
class Case:
    """Variables for the scan, and what must come of it: verdict of each column that is there, and the primary cause."""

    name: str
    cells: Mapping[str, tuple[str, ...]]
    cause: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)


HEALTHY = {"PyTorch": ("runs",), "JAX": ("runs", "cpu only"), "ONNX Runtime": ("cpu only", "runs")}
"""JAX and ONNX Runtime are CPU builds on some machines: then they must be told as what they are."""

CASES = (
    Case("as-it-is", HEALTHY, ("", "framework_cpu_only_build")),
    Case(
        "variable-names-distribution",
        {"PyTorch": ("cannot run",)},
        ("ld_library_path_override",),
        {"LD_LIBRARY_PATH": "{other}"},
    ),
    Case("hidden", {}, ("gpu_hidden_by_env",), {"CUDA_VISIBLE_DEVICES": ""}),
)


def main(argv: list[str]) -> int:
    """Scan every case and print the table; exit status 1 on any miss."""
    out = Path(argv[0])
    out.mkdir(parents=True, exist_ok=True)
    other = next((f for f in OTHER if list(f.glob("libcudnn.so.9*"))), None)
    misses = 0
    for case in CASES:
        if "{other}" in case.env.values() and other is None:
            print(f"skip {case.name}: this machine has no cuDNN of the distribution")
            continue
        report, seconds = scan(case, str(other), out)
        faults = wrong(case, report)
        misses += bool(faults)
        cause = report.primary.cause if report.primary else "-"
        print(f"{'MISS' if faults else 'ok  '} {case.name:<28} {cause:<28} {seconds:5.1f} s", flush=True)
        for c in cells(report):
            print(f"       {c.framework} {c.version}: {c.verdict}. {c.reason}")
        for trial in report.snapshot.trials or ():
            print(f"       {told(trial)}")
            if trial.clean:
                print(f"         without LD_LIBRARY_PATH: {told(trial.clean)}")
        for fault in faults:
            print(f"       ! {fault}")
    return 1 if misses else 0


def told(trial: FrameworkTrial) -> str:
    """Return a trial in one line."""
    owners = sorted({m.origin for m in trial.mapped})
    words = trial.problem.splitlines()[0][:120] if trial.problem else trial.ended
    return f"tried {trial.framework} {trial.version}: reached {trial.reached}, gpu {trial.gpu}, right {trial.right}, {trial.device} cuDNN {trial.cudnn} from {owners} in {trial.seconds} s {words}"


def cells(report: Report) -> tuple[GridCell, ...]:
    """Return the cells of the environment that was named: the first row."""
    return report.grid.rows[0].cells if report.grid and report.grid.rows else ()


def wrong(case: Case, report: Report) -> list[str]:
    """Return in words what is not as it must be."""
    cause = report.primary.cause if report.primary else ""
    out = [] if cause in case.cause else [f"the primary cause is {cause or 'none'}, expected {' or '.join(case.cause)}"]
    for c in cells(report):
        if c.framework in case.cells and c.verdict not in case.cells[c.framework]:
            out.append(f"{c.framework} is told as {c.verdict!r}, expected {' or '.join(case.cells[c.framework])}")
    for trial in report.snapshot.trials or ():
        if trial.framework == "torch" and case.name == "as-it-is" and not (trial.gpu and trial.right):
            out.append("torch did not convolve on the GPU")
        if trial.framework == "torch" and "LD_LIBRARY_PATH" in case.env and not (trial.clean and trial.clean.right):
            out.append("nothing proves that emptying LD_LIBRARY_PATH cures it")
    if not report.snapshot.trials:
        out.append("no framework was tried")
    return out


def scan(case: Case, other: str, out: Path) -> tuple[Report, float]:
    """Scan in a new process; return the report and its seconds."""
    env = {k: v for k, v in os.environ.items() if k not in ("LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES")}
    env |= {k: v.format(other=other) for k, v in case.env.items()}
    start = time.perf_counter()
    command = [sys.executable, "-m", "core.cli.main", "scan", "--json", "--try", "--python", sys.executable]
    done = subprocess.run(command, env=env, capture_output=True, check=False)
    if done.returncode not in (0, 1, 5):
        raise SystemExit(f"{case.name}: {done.stderr.decode(errors='replace')}")
    (out / f"{case.name}.json").write_bytes(done.stdout)
    return from_json(done.stdout), time.perf_counter() - start


if __name__ == "__main__":
    raise SystemExit(main(by_hand(__doc__, "OUT")))
