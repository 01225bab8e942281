"""The command mcp: the Model Context Protocol over standard input and output, for assistants that call tools. It
changes nothing. The protocol's own library has a web stack as its dependency, so it is an extra: ``pip install
"convalesce[mcp]"``.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, ParamSpec

from core import __version__
from core.cli.options import add_python
from core.cli.terminal import UsageError, read_report
from core.common.exit_codes import OK
from core.common.i18n import _
from core.common.progress import Progress
from core.common.text import printable
from core.model.steps import Severity

if TYPE_CHECKING:
    import argparse

    from mcp.server.mcpserver import MCPServer

    from core.model.findings import Finding, Report

MOST_BYTES = 4000
"""Most bytes of an answer, since an assistant's context is limited."""
LONGEST_WAIT = 60.0
"""Seconds after which a tool gives up: a file that an assistant names may be on a file system that does not respond."""
MOST_EVIDENCE = 4
"""Most rows of evidence per finding in an answer."""
P = ParamSpec("P")
INSTRUCTIONS = (
    "Convalesce finds out why a GPU deep-learning set-up does not work. Begin with scan, or with explain where there is an error "
    "message. Nothing here changes the machine: propose shows a cure, and the person makes it with `convalesce fix`. Names of "
    "users, hosts and devices are replaced by placeholders."
)


def add_mcp_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``mcp`` to the command line."""
    mcp = commands.add_parser("mcp", help=_("serve an AI assistant over the Model Context Protocol; read-only"))
    add_python(mcp)
    mcp.set_defaults(command=run_mcp)


def run_mcp(options: argparse.Namespace) -> int:
    """Serve until standard input ends.

    Raises:
        UsageError: the extra is not installed.
    """
    try:
        server = make_server(tuple(options.python))
    except ImportError as e:
        if (e.name or "").partition(".")[0] != "mcp":
            raise
        raise UsageError(
            _("the protocol's library is not installed: {command}", command='pip install "convalesce[mcp]"')
        ) from None
    server.run("stdio")
    return OK


def make_server(pythons: tuple[str, ...] = ()) -> MCPServer:
    """Return the server with its tools, each read-only.

    Raises:
        ImportError: the extra is not installed.
    """
    from mcp.server.mcpserver import MCPServer
    from mcp.types import ToolAnnotations

    server = MCPServer("convalesce", version=__version__, instructions=INSTRUCTIONS, log_level="ERROR")
    looking = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
    tools = Tools(pythons)
    for tool in (tools.scan, tools.explain, tools.propose, tools.compare, tools.knowledge):
        server.tool(annotations=looking, structured_output=False)(in_time(tool))
    return server


def in_time(ask: Callable[P, str], limit: float = LONGEST_WAIT) -> Callable[P, str]:
    """Return the same tool with a time limit: it runs in a daemon thread, which is abandoned after the limit."""

    @wraps(ask)
    def answer(*given: P.args, **named: P.kwargs) -> str:
        done: SimpleQueue[str | BaseException] = SimpleQueue()

        def work() -> None:
            try:
                done.put(ask(*given, **named))
            except BaseException as e:  # noqa: BLE001 - raised again below, where the protocol's library takes it
                done.put(e)

        threading.Thread(target=work, daemon=True).start()
        try:
            told = done.get(timeout=limit)
        except Empty:
            return _("There is no answer after {limit} seconds; nothing is known.", limit=f"{limit:g}")
        if isinstance(told, BaseException):
            raise told
        return told

    return answer


Look = Callable[[tuple[str, ...], tuple[str, ...]], "Report"]
"""(environments named by the person, environments named by the assistant) -> the report."""


class Tools:
    """What an assistant may ask. Each answer is text of at most 4,000 bytes; what cannot be answered is a sentence, too."""

    def __init__(self, pythons: tuple[str, ...] = (), look: Look | None = None) -> None:
        self._pythons = pythons
        self._look = look or look_here

    def scan(self, environment: str = "") -> str:
        """Look at this machine's NVIDIA driver, CUDA, cuDNN, variables and Python frameworks; name the cause of what does not work.

        Give a Python interpreter or the folder of an environment to have that one examined first. One that other accounts can
        change is read and not run: the person has to name it.
        """
        try:
            return _shorten(_report_lines(self._examine(environment)))
        except UsageError as e:
            return str(e)

    def explain(self, message: str, look_at_this_machine: bool = True) -> str:
        """Explain an error message: what it means, its likely causes, and whether this machine proves or refutes each.

        With look_at_this_machine false the text is judged alone, as for a message from another machine.
        """
        from core.doctor.examine import explain_text
        from core.explain import render_text
        from core.model.facts import Machine, Snapshot
        from core.report.redact import Cleaner

        seen = self._look(self._pythons, ()).snapshot if look_at_this_machine else None
        explanation, snapshot = explain_text(message, seen, None, Progress())
        cleaner = Cleaner(snapshot or Snapshot(machine=Machine(system="linux")))
        return _shorten(render_text(cleaner.redact_texts(explanation)).splitlines())

    def propose(self, finding: str = "", environment: str = "") -> str:
        """Show what would cure a finding (its id, as scan tells; the cause if none is given): each change, or the steps for a person.

        Nothing is changed. The person makes the changes with the command that stands at the end.
        """
        try:
            report = self._examine(environment)
        except UsageError as e:
            return str(e)
        chosen = next((f for f in report.findings if f.id == finding), None) if finding else report.headline
        if chosen is None:
            known = ", ".join(f.id for f in report.findings if f.severity >= Severity.WARNING)
            return _("There is no such finding. Faults here: {known}.", known=known or _("none"))
        return _shorten(_cure_lines(chosen))

    def compare(self, report: str, against: str) -> str:
        """Compare two recorded reports (paths of files that `convalesce scan --out FILE` wrote): what differs, causes first."""
        from core.report.compare import compare_reports, comparison_text
        from core.report.redact import redact

        try:
            one, other = (redact(_read_recorded(Path(_path_on_this_computer(path)))) for path in (report, against))
        except UsageError as e:
            return _shorten([str(e)])
        return _shorten(comparison_text(compare_reports(one, other)).splitlines())

    def knowledge(self, name: str) -> str:
        """Tell what a cause or a step is, how it shows, and how it is cured; an empty name lists the names."""
        from core.report.help_pages import find_page, page_names, page_text

        page = find_page(name) if name else None
        if page is None:
            return _shorten([_("Names: {names}", names=", ".join(page_names()))])
        return _shorten(page_text(page).splitlines())

    def _examine(self, environment: str) -> Report:
        from core.report.redact import redact

        return redact(self._look(self._pythons, (_path_on_this_computer(environment),) if environment else ()))


def look_here(pythons: tuple[str, ...], suggested: tuple[str, ...]) -> Report:
    """Examine this machine; a program that an assistant suggested is run only if nobody else can change it."""
    from core.doctor.examine import examine
    from core.model.scan_options import ScanOptions
    from core.transaction.session_host import current_host

    return examine(current_host(), Progress(), ScanOptions(pythons=pythons, suggested=suggested))


def _path_on_this_computer(path: str) -> str:
    """Return a path on this computer: for one of another (Windows) the system would sign in there with the person's account.

    Raises:
        UsageError: it is on another computer.
    """
    if os.name == "nt" and os.path.splitdrive(path)[0].startswith(("\\\\", "//")):
        raise UsageError(_("{path} is on another computer; the person has to name it.", path=printable(path)))
    return path


def _read_recorded(path: Path) -> Report:
    from core.doctor.examine import with_findings

    return with_findings(read_report(path))


def _report_lines(report: Report) -> Iterator[str]:
    """Yield what a scan says, what matters first."""
    from core.report.standing import machine_standing
    from core.report.text import healthy_verdict

    loud = [f for f in report.findings if f.severity > Severity.NOTE]
    if not loud:
        yield healthy_verdict(machine_standing(report))
    for f in loud:
        yield f"[{f.severity.word}{', ' + _('the cause') if f.primary else ''}] {f.id}: {f.title}"
        if f.why:
            yield f"  {f.why}"
        yield from (
            f"  - {e.label}: {e.value}{' (' + e.source + ')' if e.source else ''}" for e in f.evidence[:MOST_EVIDENCE]
        )
        if f.fix:
            yield "  " + _("Cure: {title}", title=f.fix.title)
    for row in report.grid.rows if report.grid else ():
        for cell in row.cells:
            yield f"{cell.framework} {cell.version} ({row.prefix}): {cell.verdict}. {cell.reason}"
    yield from (f"[{f.severity.word}] {f.title}" for f in report.findings if f.severity <= Severity.NOTE)


def _cure_lines(finding: Finding) -> Iterator[str]:
    yield f"{finding.id}: {finding.title}"
    fix = finding.fix
    if fix is None:
        yield _("Convalesce knows no cure for it.")
        return
    yield _("Cure: {title}", title=fix.title)
    for change in fix.changes:
        yield from change.lines()
    if fix.advice:
        yield fix.advice
    if fix.changes:
        yield _("To rehearse the change and then make it: {command}", command=f"convalesce fix {finding.id}")


def _shorten(lines: Iterable[str]) -> str:
    """Return as many whole lines as fit into an answer, and the number of lines left out."""
    rest = [printable(line) for line in "\n".join(lines).splitlines()]
    kept, used = [], 0
    while rest and used + len(rest[0].encode("utf-8", "replace")) + 1 <= MOST_BYTES - 60:
        used += len(rest[0].encode("utf-8", "replace")) + 1
        kept.append(rest.pop(0))
    if not kept and rest:  # one line that is longer than an answer
        kept.append(rest.pop(0).encode("utf-8", "replace")[: MOST_BYTES - 200].decode("utf-8", "ignore") + "...")
    if rest:
        kept.append(_("({count} more lines; convalesce scan shows them all)", count=len(rest)))
    return "\n".join(kept)
