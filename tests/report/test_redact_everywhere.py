"""Made-up machines, with faults, whose people, hosts and servers are known: none of their names is in anything that is handed out."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from core.cli.mcp import Tools
from core.common.progress import Progress
from core.doctor.check import check_report
from core.doctor.examine import diagnose_snapshot, explain_text
from core.explain import render_text
from core.explain import to_json as explanation_json
from core.knowledge.causes import cause_rows
from core.model.facts import Environment, Snapshot, Variable
from core.model.findings import Report
from core.report import session_code
from core.report.check.expectations import policy_of
from core.report.check.forms import FORMS
from core.report.check.forms.table import PLAIN, form_of
from core.report.compare import compare_reports, comparison_text
from core.report.html import as_html
from core.report.json_form import indented_json, to_json
from core.report.redact import Cleaner, redact
from core.report.text import as_markdown, report_text
from core.report.triage import export, table
from core.report.triage.reading import ReadReport, decode_report
from tests import machines
from tests.report.test_redact_names import NAMES, texts

MACHINES: dict[str, Callable[[], Snapshot]] = {
    "whole": machines.wheel_machine,
    "cut": lambda: machines.with_file(machines.wheel_machine(), "ops", state="truncated", size=9),
    "windows": machines.windows_machine,
    **dict(list(machines.HEALTHY.items())[:4]),
}


def made(machine: Snapshot, user: str, other: str, host: str, server: str, project: str) -> Snapshot:
    """Return a machine that is these people's: every home is one of theirs, libraries lie on the server, variables name hosts."""
    text = msgspec.json.encode(machine).decode()
    for home in ("/home/ada", "/home/", "/root"):
        text = text.replace(f'"{home}/', f'"/home/{user}/')
    text = text.replace("Users\\\\ada", f"Users\\\\{user}").replace("Users\\\\x", f"Users\\\\{user}")
    seen = msgspec.json.decode(text, type=Snapshot)
    facts = replace(
        seen.machine, user=user, host_name=f"{host}.x", home=f"/home/{user}", people=(other,), servers=(server,)
    )
    wanted = {
        "TF_CONFIG": json.dumps({"cluster": {"worker": [f"{host}:2222", f"{server}-2.lan:2222"]}}),
        "MASTER_ADDR": host,
        "SLURM_JOB_NODELIST": f"{host}[01-04],{server}7",
        "SUDO_USER": other,
        "LD_LIBRARY_PATH": f"/lustre/users/{other}/x:/gpfs/home/{user}/lib:/net/{server}/cudnn:/afs/{server}.edu/user/{other}/l",
        "PATH": f"/scratch/{other}/bin:/home/{user}/bin:/mnt/{server}/bin",
        "CUDA_HOME": f"/data/teams/{other}/cuda",
    }
    variables = tuple(Variable(name=n, value=v, source="environment") for n, v in wanted.items())
    loads = tuple(
        replace(x, roll_call=replace(x.roll_call, output=texts(user, other, host, server, project)))
        if x.roll_call
        else x
        for x in seen.loads or ()
    )
    old = seen.environment or Environment()
    return replace(seen, machine=facts, loads=loads, environment=replace(old, variables=(*old.variables, *variables)))


def handed_out(seen: Snapshot, message: str) -> dict[str, str]:
    """Return everything that leaves a machine, by what makes it."""
    report = diagnose_snapshot(seen)
    clean = redact(report)
    out = {
        "json": to_json(clean).decode(),
        "text": report_text(clean),
        "markdown": as_markdown(clean),
        "html": as_html(clean),
        "html before and after": as_html(clean, clean),
        "policy": policy_of(clean),
    }
    code = session_code.encode_code(session_code.decoded_report(clean))
    out["session code"] = code + session_code.code_text(session_code.decode_code(code), cause_rows())
    out["session code json"] = session_code.code_json(session_code.decode_code(code), cause_rows()).decode()
    compared = compare_reports(clean, redact(diagnose_snapshot(machines.wheel_machine())))
    out["compare"], out["compare json"] = comparison_text(compared), indented_json(compared).decode()
    outcome, _ = check_report(report, None, (), full_names=False)
    for name, form in {**{n: form_of(n) for n in FORMS}, "plain": PLAIN}.items():
        out[f"check {name}"] = form.render(outcome, 2048)
    rows = io.BytesIO()
    read = decode_report(to_json(clean), "one.json")
    assert isinstance(read, ReadReport)
    export.export_lines([("one.json", read)], rows)
    out["export"] = rows.getvalue().decode()
    tabulated = table.tabulate_reports([("one.json", read)])
    out["triage"], out["triage json"] = table.triage_text(tabulated), indented_json(tabulated).decode()
    tools = Tools(look=lambda _pythons, _suggested: report)
    out["mcp scan"], out["mcp explain"] = tools.scan(), tools.explain(message)
    for finding in report.findings:
        out[f"mcp propose {finding.id}"] = tools.propose(finding.id)
    out["mcp propose"] = tools.propose("none")
    told, snapshot = explain_text(message, seen, None, Progress(lambda _s: None))
    said = Cleaner(snapshot or seen).redact_texts(told)
    out["explain"], out["explain json"] = render_text(said), explanation_json(said).decode()
    return out


@pytest.mark.parametrize("machine", MACHINES)
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    names=st.lists(NAMES, min_size=5, max_size=5, unique=True).filter(
        lambda n: not any(a in b for a in n for b in n if a is not b)
    )
)
def test_no_known_name_is_in_anything_that_is_handed_out(machine: str, names: list[str]) -> None:
    seen = made(MACHINES[machine](), *names)
    raw = msgspec.json.encode(seen).decode()
    assert all(name in raw for name in names[:4])
    message = texts(*names) + "\nCould not load library libcudnn_ops_infer.so.8\nRuntimeError: CUDA error"
    for form, shown in handed_out(seen, message).items():
        assert [n for n in names if n in shown.lower()] == [], form


def test_nor_in_the_reports_that_two_files_are_compared_by(tmp_path: Path) -> None:
    names = ("marialopez", "peterzhang", "wks0815", "fileserv77", "secretproject")
    for number in (1, 2):
        seen = made(machines.wheel_machine(), *names)
        (tmp_path / f"{number}.json").write_bytes(to_json(Report(snapshot=seen)))  # as one with --full-names
    shown = Tools(look=lambda _p, _s: Report(snapshot=machines.wheel_machine())).compare(
        str(tmp_path / "1.json"), str(tmp_path / "2.json")
    )
    assert [n for n in names if n in shown.lower()] == []
