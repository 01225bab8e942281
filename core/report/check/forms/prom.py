"""The textfile collector of Prometheus' node exporter: gauges in the text format.

Source: https://prometheus.io/docs/instrumenting/exposition_formats/ and
https://github.com/prometheus/node_exporter#textfile-collector (write beside, then rename)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from core.report.check.outcome import STATES, Outcome, State

STATUSES: Mapping[State, int] = dict.fromkeys(STATES, 0)
"""The collector reads only the file, not the exit status."""


def render(outcome: Outcome, length: int) -> str:  # noqa: ARG001 - there is no line to cut
    """Return every gauge with its help and its type."""
    return "".join(f"{line}\n" for line in _lines(outcome))


def _lines(outcome: Outcome) -> Iterator[str]:
    yield from _metric_header("convalesce_state", "1 for the state of the check, 0 for every other one.")
    yield from (f'convalesce_state{{state="{s}"}} {int(s == outcome.state)}' for s in STATES)
    yield from _metric_header("convalesce_findings", "Findings and broken expectations by state.")
    yield from (f'convalesce_findings{{state="{s}"}} {outcome.count(s)}' for s in STATES if s != "ok")
    steps = [r for r in outcome.rows if r.kind == "step"]
    if steps:
        yield from _metric_header(
            "convalesce_step_state", "State of each step: 0 ok, 1 unknown, 2 warning, 3 critical."
        )
        yield from (f'convalesce_step_state{{step="{_label(r.name)}"}} {STATES.index(r.state)}' for r in steps)
    causes = sorted({r.cause for r in outcome.rows if r.cause and r.state != "ok"})
    if causes:
        yield from _metric_header("convalesce_cause", "1 for each cause that was found.")
        yield from (f'convalesce_cause{{cause="{_label(c)}"}} 1' for c in causes)
    yield from _metric_header("convalesce_check_seconds", "How long the check took.")
    yield f"convalesce_check_seconds {outcome.seconds:.3f}"


def _metric_header(name: str, text: str) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} gauge"


def _label(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
