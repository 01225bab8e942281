"""JUnit's XML, as Jenkins, GitLab and Azure Pipelines read it: a test case for each step, expectation and fault.

Source: https://github.com/testmoapp/junitxml (the form as it is used)
"""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree

from core.common.text import printable
from core.report.check.outcome import CheckRow, Outcome, State

STATUSES: Mapping[State, int] = {"ok": 0, "warning": 0, "critical": 1, "unknown": 1}


def render(outcome: Outcome, length: int) -> str:  # noqa: ARG001 - there is no line to cut
    """Return one test suite. Faults and broken expectations fail, what is not known is an error."""
    rows = outcome.rows or (CheckRow(kind="step", name="check", state=outcome.state, text=outcome.line),)
    count = {state: str(sum(r.state == state for r in rows)) for state in ("critical", "unknown")}
    suite = ElementTree.Element(
        "testsuite",
        name="convalesce",
        tests=str(len(rows)),
        failures=count["critical"],
        errors=count["unknown"],
        time=f"{outcome.seconds:.3f}",
    )
    for row in rows:
        name = f"{row.name}: {row.subject}" if row.subject else row.name
        case = ElementTree.SubElement(suite, "testcase", classname=f"convalesce.{row.kind}", name=printable(name))
        text = printable("\n".join(t for t in (row.text, row.why) if t))
        if row.state in ("critical", "unknown"):
            tag = "failure" if row.state == "critical" else "error"
            problem = ElementTree.SubElement(case, tag, message=printable(row.text), type=row.cause or row.kind)
            problem.text = text
        else:
            ElementTree.SubElement(case, "system-out").text = text
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"
