"""The Model Context Protocol, spoken with the protocol's own client: over real pipes, and with the tools alone."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from msgspec.structs import replace

from core.cli.mcp import MOST_BYTES, Tools, _shorten, in_time, make_server
from core.doctor.examine import diagnose_snapshot
from core.model.facts import Snapshot
from core.model.findings import Report
from core.report.json_form import to_json
from core.report.redact import redact
from tests import machines as m
from tests.rules.more_machines.files import FILES
from tests.test_same_everywhere import MACHINES

ROOT = Path(__file__).parents[2]
NAMES = {"scan", "explain", "propose", "compare", "knowledge"}


def talk(calls: list[tuple[str, dict[str, Any]]]) -> tuple[list[Any], list[str]]:
    """Start the program as an assistant does; return its tools, and the answer to each call."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "CONVALESCE_LANGUAGE": "en", "PYTHONWARNINGS": "ignore"}
    program = StdioServerParameters(command=sys.executable, args=["-m", "core", "mcp"], env=env, cwd=str(ROOT))

    async def meet() -> tuple[list[Any], list[str]]:
        async with Client(program) as client:
            tools = (await client.list_tools()).tools
            return [*tools], [text_of(await client.call_tool(name, given)) for name, given in calls]

    return asyncio.run(meet())


def text_of(result: Any) -> str:
    return "\n".join(c.text for c in result.content)


@pytest.mark.filterwarnings("default")
def test_an_assistant_looks_and_cannot_change_anything() -> None:
    message = "Could not load library cudnn_cnn_infer64_8.dll. Error code 126"
    tools, (scan, told, page) = talk(
        [
            ("scan", {}),
            ("explain", {"message": message, "look_at_this_machine": False}),
            ("knowledge", {"name": "zlibwapi_missing"}),
        ]
    )
    assert {t.name for t in tools} == NAMES
    assert all(t.annotations.read_only_hint and not t.annotations.destructive_hint for t in tools)
    assert all(t.description for t in tools)
    assert scan
    assert "cudnn_cnn_infer64_8.dll" in told
    assert "zlibwapi.dll" in page
    assert max(len(t.encode()) for t in (scan, told, page)) <= MOST_BYTES


@pytest.mark.skipif(os.name == "nt", reason="FIFOs and devices are of POSIX systems")
@pytest.mark.filterwarnings("default")
def test_a_hostile_path_is_a_sentence_and_no_hang(tmp_path: Path) -> None:
    """What the protocol's client asks for by name: no end, no writer, no size, too large, no right, no file."""
    good, fifo, large, closed = (tmp_path / n for n in ("good.json", "fifo", "large.json", "closed"))
    good.write_bytes(to_json(Report(snapshot=m.wheel_machine())))
    os.mkfifo(fifo)
    with large.open("wb") as file:
        file.truncate(2 << 30)
    closed.mkdir(mode=0)
    paths = [*map(str, (fifo, large, closed, closed / "x.json", tmp_path / ".." / ".."))]
    paths += ["/dev/zero", "/dev/stdin", "/proc/kmsg", "..", "", "-", "--help", "~", "a\0b", "\x1b[31m", "x" * 100_000]
    calls = [("compare", {"report": p, "against": str(good)}) for p in paths]
    calls += [("compare", {"report": str(good), "against": p}) for p in paths]
    calls += [("knowledge", {"name": p}) for p in paths]
    _tools, told = talk(calls)
    assert max(len(t.encode()) for t in told) <= MOST_BYTES
    assert [t for t in told[: 2 * len(paths)] if len(t.splitlines()) != 1 or "\x1b" in t] == []


def test_an_answer_that_does_not_come_is_said_to_be_none() -> None:
    never = threading.Event()

    def ask(name: str) -> str:
        never.wait()
        return name

    assert in_time(ask, 0.01)("x") == "There is no answer after 0.01 seconds; nothing is known."
    never.set()
    assert in_time(ask, 60)("x") == "x"


def tools_of(seen: Snapshot) -> Tools:
    return Tools(look=lambda _pythons, _suggested: diagnose_snapshot(seen))


@pytest.mark.parametrize("name", MACHINES)
def test_an_answer_is_short_and_begins_with_what_matters(name: str) -> None:
    seen = MACHINES[name]()
    tools, report = tools_of(seen), redact(diagnose_snapshot(seen))
    scan, cure = tools.scan(), tools.propose()
    assert max(len(t.encode()) for t in (scan, cure)) <= MOST_BYTES
    if report.headline:
        assert report.headline.id in scan.splitlines()[0]
        assert cure.startswith(report.headline.id)


@pytest.mark.parametrize(
    ("seen", "cured"),
    [
        (m.with_variable(m.wheel_machine(), "CUDA_PATH", "/gone", "missing"), "toolkit.variable-wrong"),
        (FILES["a damaged file, and a whole copy elsewhere"], "cudnn.damaged"),
    ],
)
def test_a_cure_is_shown_line_by_line_and_names_its_command(seen: Snapshot, cured: str) -> None:
    (finding,) = [f for f in redact(diagnose_snapshot(seen)).findings if f.fix and f.fix.changes]
    assert finding.id == cured
    told = tools_of(seen).propose(finding.id)
    assert f"convalesce fix {finding.id}" in told
    assert finding.fix is not None
    lines = [line for c in finding.fix.changes for line in c.lines()]
    assert lines
    assert [line for line in lines if line not in told] == []


def test_names_are_taken_out() -> None:
    seen = m.without_file(m.wheel_machine(), "cnn")
    seen = replace(seen, machine=replace(seen.machine, user="ada", home="/home/ada", host_name="difference-engine"))
    told = tools_of(seen).scan()
    assert "/home/ada" not in told
    assert "difference-engine" not in told


def test_two_reports_are_compared_and_what_is_none_is_a_sentence(tmp_path: Path) -> None:
    for name, seen in (("one", m.wheel_machine()), ("two", m.no_gpu_machine())):
        (tmp_path / f"{name}.json").write_bytes(to_json(Report(snapshot=seen)))
    tools = Tools()
    told = tools.compare(str(tmp_path / "one.json"), str(tmp_path / "two.json"))
    assert "NVIDIA" in told
    assert len(told.encode()) <= MOST_BYTES
    for bad in ("/nonexistent", str(tmp_path), "a\0b", os.devnull):
        assert len(tools.compare(bad, bad).splitlines()) == 1


def test_what_is_not_there_is_answered_with_what_is() -> None:
    tools = tools_of(m.without_file(m.wheel_machine(), "cnn"))
    assert "cudnn.sublibrary-missing" in tools.propose("no.such-finding")
    assert "zlibwapi_missing" in tools.knowledge("") + tools.knowledge("no such cause")


@pytest.mark.parametrize("lines", [["x" * 100_000], ["日本" * 3000], ["a"] * 10_000, [], ["\x1b[31m", "\ud800"]])
def test_any_text_is_cut_to_an_answer(lines: list[str]) -> None:
    told = _shorten(lines)
    assert len(told.encode("utf-8")) <= MOST_BYTES
    assert "\x1b" not in told


def test_without_the_extra_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from core.cli import main as cli

    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    assert cli.main(["mcp"]) == 2
    assert 'pip install "convalesce[mcp]"' in capsys.readouterr().err


def test_the_tools_have_schemas_that_a_client_can_fill() -> None:
    made = asyncio.run(make_server().list_tools())
    assert {t.name: sorted(json.loads(t.model_dump_json())["input_schema"].get("required", [])) for t in made} == {
        "scan": [],
        "explain": ["message"],
        "propose": [],
        "compare": ["against", "report"],
        "knowledge": ["name"],
    }
