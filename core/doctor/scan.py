"""Scan: run every probe within its time limit and collect the Snapshot."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

from msgspec.structs import asdict, replace

from core.common.i18n import N_, _
from core.common.patience import Patience
from core.common.progress import CancelledError, Progress
from core.common.text import describe_crash
from core.doctor.second_process import BEFORE, Sections, second_process
from core.host.interface import Host
from core.model.facts import Execution, ProbeError, Snapshot, Unexamined
from core.model.facts.base import printable
from core.model.scan_options import DEFAULT_SCAN, ScanOptions
from core.model.steps import SECTIONS_OF_STEP, Step
from core.probes.known_names import with_known_names
from core.probes.probe import Probe, ProbeRequest
from core.probes.python.following import reading_children
from core.probes.silent import unexamined_places
from core.probes.variables.probe import with_refused_variables


class _Later:
    """A probe that is imported when it runs: a process imports only the probes that it needs."""

    def __init__(self, module: str, name: str = "look") -> None:
        self._module, self._name = f"core.probes.{module}", name

    def load(self) -> Callable[[ProbeRequest], Any]:
        return getattr(import_module(self._module), self._name)  # type: ignore[no-any-return]  # a table of functions

    def __call__(self, request: ProbeRequest) -> Any:
        return self.load()(request)


PROBES: tuple[Probe, ...] = (
    Probe("environment", _Later("variables.probe")),
    Probe("pythons", _Later("python.probe"), needs=("environment",)),
    Probe("toolkits", _Later("toolkit.probe"), needs=("environment", "pythons")),
    Probe("cudnn", _Later("cudnn.probe"), needs=("environment", "pythons"), timeout=60),
    Probe("loads", _Later("loading.probe"), needs=("pythons", "toolkits", "cudnn"), timeout=90),
    Probe("driver", _Later("driver.probe"), timeout=40),
    Probe("trials", _Later("python.trials.probe"), needs=("pythons", "driver"), timeout=300),
    Probe("closures", _Later("loading.closure"), needs=("pythons",), timeout=150),
    # probes that are ready before cudnn still run after it, while loads waits for its children
    Probe("imports", _Later("python.imports"), needs=("pythons",), timeout=150, after=("cudnn",)),
    Probe("frameworks", _Later("python.builds"), needs=("pythons",)),
    Probe("program_trials", _Later("python.trials.programs"), needs=("pythons",), timeout=240, after=("trials",)),
    # behind imports, which compares the same modules and files with RECORDs: side by side each would do all of it
    Probe(
        "records", _Later("python.installed.records"), needs=("pythons", "frameworks"), timeout=60, after=("imports",)
    ),
    Probe("tools", _Later("tools.probe"), needs=("pythons",)),
    Probe("framework_tools", _Later("python.tools"), needs=("pythons", "toolkits")),
    Probe("starts", _Later("starting.probe"), needs=("environment", "pythons"), timeout=60, after=("cudnn",)),
    Probe("vocabularies", _Later("variables.vocabulary"), needs=("pythons", "starts")),
    Probe("programs", _Later("programs.probe"), needs=("environment", "cudnn", "toolkits"), timeout=60),
    # each way starts two children, which may take a minute each on Windows (a virus scanner reads gigabytes before the first load)
    Probe(
        "start_looks",
        _Later("starting.looks", "look_again"),
        needs=("starts", "loads", "closures", "imports"),
        timeout=180,
    ),
)
"""Every probe, and the sections that it reads. Of those that are ready the first in this order takes its turn: what others wait for,
then what waits for children of its own. A new probe is a row here and a section in core/model/facts."""

PROGRESS_TEXTS = {
    "driver": N_("Querying the driver and the GPU"),
    "environment": N_("Reading the variables and search paths"),
    "pythons": N_("Looking for Python environments"),
    "imports": N_("Reading where Python's modules come from"),
    "frameworks": N_("Reading how frameworks were built"),
    "records": N_("Comparing the frameworks' libraries with their packages' records"),
    "trials": N_("Testing the frameworks in their own interpreters"),
    "program_trials": N_("Running the first lines of the named program"),
    "framework_tools": N_("Checking the tools that the frameworks run"),
    "toolkits": N_("Looking for CUDA toolkits"),
    "tools": N_("Looking for compilers and container engines"),
    "cudnn": N_("Reading every copy of cuDNN"),
    "closures": N_("Examining what the frameworks' libraries need"),
    "loads": N_("Loading every cuDNN library in a child process"),
    "starts": N_("Reading how programs are started here"),
    "vocabularies": N_("Comparing the values of variables with the frameworks that read them"),
    "programs": N_("Examining the named programs"),
    "start_looks": N_("Comparing the ways of starting a program"),
}
THOROUGH_FACTOR = 20
"""With --thorough whole files are hashed: each time-out is this much longer."""


def wanted_sections(steps: Collection[Step], probes: tuple[Probe, ...]) -> set[str]:
    """Return the sections that ``steps`` need, with their dependencies; all sections if there are no steps."""
    if not steps:
        return {p.section for p in probes}
    needs = {p.section: p.needs for p in probes}
    wanted: set[str] = set()
    todo = [s for step in steps for s in SECTIONS_OF_STEP[step]]
    while todo:
        section = todo.pop()
        if section not in wanted:
            wanted.add(section)
            todo.extend(needs[section])
    return wanted


def _nothing(*_seen: Snapshot) -> None:
    return None


def take_snapshot(
    host: Host,
    watch: Progress,
    options: ScanOptions = DEFAULT_SCAN,
    *,
    probes: tuple[Probe, ...] = PROBES,
    preload: Callable[[], object] = _nothing,
    meanwhile: Callable[[Snapshot], object] = _nothing,
) -> Snapshot:
    """Run the probes, each as soon as its sections are ready, and return the Snapshot.

    ``preload``, which imports what comes after, is called once, in a thread, as soon as every probe only waits. It may not be called at all.
    ``meanwhile`` is called once with what is known, when one probe at most is still to start and there is nothing to do but wait.

    A probe's crash, time-out or cancellation becomes a ProbeError; its section keeps what was found until then, and is None where
    that is nothing. Probes run in daemon threads: one that hangs in the operating system (a dead network folder) is left
    behind, and starts again without that folder, which ``unexamined_places`` records.
    """
    wanted = wanted_sections(options.steps, probes)
    if not options.programs:
        wanted.discard("programs")
    if not (options.trials or options.thorough):
        wanted -= {"trials", "program_trials"}  # an import alone takes longer than everything else together
    if not options.script:
        wanted.discard("program_trials")
    taken = datetime.now(UTC).isoformat(timespec="seconds")
    snapshot = Snapshot(machine=host.machine(), taken=taken, thorough=options.thorough)
    options = replace(options, pythons=(*options.pythons, *getattr(host, "pythons", ())))
    request = ProbeRequest(host=host, seen=snapshot, env=host.fresh_environment(), watch=watch, **asdict(options))
    scan = _Scan(request, probes, wanted)
    scan.run(preload, meanwhile)
    seen = with_refused_variables(scan.to_snapshot(), request.env)
    return _with_own_changes(_with_known_names(seen, scan.patience, request), host)


class _Scan:
    """The probes of one scan while they run, and what they have found so far."""

    def __init__(self, request: ProbeRequest, probes: tuple[Probe, ...], wanted: set[str]) -> None:
        self.patience = Patience()
        self._request, self._wanted = request, wanted
        self._snapshot = request.seen
        self._waiting = [p for p in probes if p.section in wanted]
        self._ranks = {p.section: rank for rank, p in enumerate(probes)}
        self._running: dict[str, float] = {}
        """Section -> when its time is out."""
        self._ended: set[str] = set()
        self._done: queue.SimpleQueue[tuple[str, Any, ProbeError | None, float]] = queue.SimpleQueue()
        self._missed: list[Unexamined] = []
        self._told: list[Execution] = []
        self._failed: list[ProbeError] = []
        """Crashes of parts of probes that went on."""
        self._kept: dict[str, list[Any]] = {}
        """Section -> what was found before its probe ended."""
        self._late: dict[str, float] = {}
        """Section -> seconds lost at paths that did not respond; its time-out is extended by them."""

    def run(self, preload: Callable[[], object], meanwhile: Callable[[Snapshot], object]) -> None:
        """Run all probes to their end. ``preload`` and ``meanwhile``: see ``take_snapshot``."""
        if second := second_process(self._waiting, self._request, self._run_part):
            # the children of a probe that needs nothing would take the processor of what the copy waits for
            held = [p for p in self._waiting if not p.needs and p.section not in BEFORE]
            self._waiting = [p for p in self._waiting if p not in (*second.probes, *held)]
            self._run(until=frozenset(self._wanted & {*BEFORE}))
            whole = not self.patience.silent and not self._snapshot.errors
            self._waiting = [*held, *self._waiting, *second.begin(self.to_snapshot() if whole else None)]
        self._run(meanwhile, preload)

    def _preload(self, preload: Callable[[], object]) -> None:
        # what cannot be read now (no file can be opened) is imported where it is needed, and told there
        with suppress(OSError, ImportError), self.patience.turns.turn():
            preload()

    def _run_part(self, probes: list[Probe], before: Callable[[], Sections | None]) -> Snapshot | None:
        """Run some of the probes in a copy of this process, importing them before; return None where a path does not respond."""
        for probe in probes:
            if isinstance(probe.look, _Later):
                probe.look.load()
        if (sections := before()) is None:
            return None
        self._snapshot = replace(self._snapshot, **sections)
        self._ended |= sections.keys()
        self._waiting, self._wanted = [*probes], self._ended | {p.section for p in probes}
        self._request = replace(self._request, watch=Progress())
        self._run()
        return None if self.patience.silent else self.to_snapshot()

    def _run(
        self,
        meanwhile: Callable[[Snapshot], object] = _nothing,
        preload: Callable[[], object] = _nothing,
        until: frozenset[str] = frozenset(),
    ) -> None:
        """Run probes, those of ``until`` to their end; without these, all."""
        while until - self._ended if until else self._running or self._waiting:
            ready = [p for p in self._waiting if not (self._wanted & {*p.needs, *p.after}) - self._ended]
            if ready:
                self._start(ready[0])
            if len(self._waiting) <= 1 and meanwhile is not _nothing:  # the last one waits for children of others
                with self.patience.turns.turn():
                    if self._done.empty():
                        meanwhile(self._snapshot)
                        meanwhile = _nothing
            if not ready[1:] or not self._done.empty():
                if preload is not _nothing:  # behind the probes that have begun
                    threading.Thread(target=self._preload, args=(preload,), daemon=True, name="preload").start()
                    preload = _nothing
                self._take(*_next(self._done, self._running, self._late, self._request.watch))

    def to_snapshot(self) -> Snapshot:
        """Return what was found, and what was not examined."""
        silent = unexamined_places(self.patience, self._snapshot, self._request)
        whole = replace(
            self._snapshot,
            unexamined=tuple(dict.fromkeys((*silent, *self._missed))),
            errors=tuple(dict.fromkeys((*self._snapshot.errors, *self._failed))),
            executions=tuple(sorted(dict.fromkeys(self._told), key=lambda e: (e.what, e.path, e.consumer))),
        )
        return printable(whole)  # type: ignore[no-any-return]  # it is what it is given

    def _start(self, probe: Probe) -> None:
        watch, factor = self._request.watch, THOROUGH_FACTOR if self._request.thorough else 1
        self._waiting.remove(probe)
        self._running[probe.section] = time.monotonic() + probe.timeout * factor
        watch.say(_(PROGRESS_TEXTS.get(probe.section, probe.section)))
        watch.section(probe.section, "looking")
        request = replace(
            self._request,
            seen=self._snapshot,
            miss=self._missed.append,
            tell=self._told.append,
            fail=lambda error: self._failed.append(_crash(probe.section, error)),
        )
        threading.Thread(target=self._look, args=(probe, request), daemon=True, name=probe.section).start()

    def _look(self, probe: Probe, request: ProbeRequest) -> None:
        """Run one probe, in its own thread."""

        def work() -> Any:
            mine = self._kept[probe.section] = []
            return probe.look(replace(request, keep=mine.append))

        def waited(seconds: float) -> None:
            self._late[probe.section] = self._late.get(probe.section, 0.0) + seconds

        rank = self._ranks[probe.section]
        _run(probe, request, lambda: self.patience.run(work, waited, rank=rank), self._done)

    def _take(self, section: str, value: Any, error: ProbeError | None, seconds: float) -> None:
        """Take what a probe found; if it failed, what it kept until then."""
        if section not in self._running:
            return  # it answered after its time-out
        del self._running[section]
        self._ended.add(section)
        self._request.watch.section(section, "failed" if error else "looked")
        errors = self._snapshot.errors if error is None else (*self._snapshot.errors, error)
        if error is not None:
            value = tuple(self._kept.get(section, ())) or None
        if error is None or value is not None:
            self._snapshot = replace(self._snapshot, **{section: value})
        if section == "pythons" and "imports" in self._wanted:
            reading_children.begin(replace(self._request, seen=self._snapshot))
        took = (section, round(seconds, 3))
        self._snapshot = replace(self._snapshot, errors=errors, seconds=(*self._snapshot.seconds, took))


def _with_known_names(snapshot: Snapshot, patience: Patience, request: ProbeRequest) -> Snapshot:
    with suppress(TimeoutError):  # more silent paths than Patience allows
        return patience.run(lambda: with_known_names(snapshot, request.host.root, request.env))
    return snapshot


def _with_own_changes(snapshot: Snapshot, host: Host) -> Snapshot:
    from core.transaction.session_host import NewSessionHost

    if not isinstance(host, NewSessionHost) or snapshot.environment is None:
        return snapshot
    variables = replace(snapshot.environment, renewed=host.renewals, activations=host.activations)
    return replace(snapshot, environment=variables)


def _run(probe: Probe, request: ProbeRequest, look: Callable[[], Any], done: queue.SimpleQueue[Any]) -> None:
    start = time.monotonic()
    value: Any = None
    error = None
    try:
        request.watch.check()
        value = look()
    except CancelledError:
        error = ProbeError(probe=probe.section, kind="cancelled", message=N_("It was cancelled."))
    except Exception as e:  # noqa: BLE001 - the edge of a probe: its crash becomes data
        error = _crash(probe.section, e)
    done.put((probe.section, value, error, time.monotonic() - start))


def _crash(section: str, error: Exception) -> ProbeError:
    return ProbeError(probe=section, kind="crash", message=describe_crash(error))


def _next(
    done: queue.SimpleQueue[tuple[str, Any, ProbeError | None, float]],
    running: dict[str, float],
    late: dict[str, float],
    watch: Progress,
) -> tuple[str, Any, ProbeError | None, float]:
    """Wait for the next probe to end, to run out of time, or for the person to cancel."""
    while True:
        section, deadline = min(((s, end + late.get(s, 0.0)) for s, end in running.items()), key=lambda item: item[1])
        now = time.monotonic()
        if deadline <= now:
            message = N_("It gave no answer in time.")
            return section, None, ProbeError(probe=section, kind="time-out", message=message), 0.0
        try:
            return done.get(timeout=min(deadline - now, 0.2))
        except queue.Empty:
            if watch.cancelled:
                message = N_("It was cancelled.")
                return section, None, ProbeError(probe=section, kind="cancelled", message=message), 0.0
