"""Children that read ahead of a first scan, on further processors: where imports end takes most of its time.

The interpreter runs one thread at a time, so only processes work side by side. A child does parts of the probe of imports
(``core.probes.python.following.search_parts``), and sends what it would keep for the next scan; the scan takes it as if an earlier one had
kept it. Whatever a child does not send, since it crashed, came too late or presumed something else, the scan does itself.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from functools import partial

from core.common.patience import Patience
from core.common.progress import Progress
from core.host.child import ask_child
from core.host.own_cache import read_cached
from core.host.this_host import this_host
from core.loader.earlier_reads import MAX_KEPT_BYTES, EarlierReads, lasting_identity, short_hash, store_in_use, using
from core.model.facts import Frozen, Machine, PythonEnvironment, Snapshot
from core.probes.probe import ProbeRequest
from core.probes.python.following.read_ahead import BYTE_CODE, EXTENSIONS, FOLLOWED, KEY, Ahead, ReadAhead
from core.probes.python.locations import start_folder, working_folder
from core.probes.python.search.search_path import python_search_path, read_interpreter
from core.probes.sysroot import Sysroot, sysroot_of

STORE = "files"
"""The name of the cache of earlier reads."""

TIMEOUT_SECONDS = 80.0
MOST_SECONDS = 8.0
"""Processor time in seconds after which a child begins no further environment."""

NEEDED = ("HOME", "XDG_CACHE_HOME", "LANG", "LC_ALL", "SYSTEMROOT", "WINDIR", "TEMP", "TMP", "USERPROFILE", "LOCALAPPDATA", "APPDATA")  # fmt: skip
"""Variables that a child gets: those of the loader and of Python are examined there, and hold for other programs. A folder of
LD_LIBRARY_PATH that does not answer would stop the child as it starts.
"""

PARTS_OF_CHILDREN = {
    1: (),
    2: ((FOLLOWED, EXTENSIONS),),
    3: ((FOLLOWED,), (EXTENSIONS, BYTE_CODE)),
}
"""Number of processors -> the parts that each child does; the scan itself does the others. With a third child all processes together
took 167 MB.
"""


class Order(Frozen, frozen=True):
    """What a child is asked to do."""

    parts: tuple[str, ...]
    pythons: tuple[PythonEnvironment, ...]
    machine: Machine
    env: dict[str, str]
    folder: str
    """Where the program starts."""
    working: str
    """The scan's working folder."""


class Done(Frozen, frozen=True):
    """What a child did for one environment."""

    prefix: str
    seconds: float
    """Processor time."""
    news: bytes
    spent: tuple[float, ...] = ()
    """See ``ended_imports``."""


def begin(request: ProbeRequest, processors: int | None = None) -> None:
    """Start children that read ahead, as many as there are processors for; none where an earlier scan has read what they would."""
    where, store = sysroot_of(request.host), store_in_use()
    if store is None or type(request.host) is not type(this_host()) or where.planned or where.gone:
        return
    pythons = tuple(p for p in request.seen.pythons or () if not is_known(p, where))
    if not where.is_running_system or not pythons:
        return
    children = PARTS_OF_CHILDREN[min(processors or number_of_processors(), max(PARTS_OF_CHILDREN))]
    folder = start_folder(request, where)
    mine = tuple(Ahead(parts) for parts in children)
    request.shared[KEY] = all_of_them = ReadAhead(mine)
    for child in mine:
        order = Order(child.parts, pythons, request.seen.machine, request.env, folder, working_folder(where))
        given = order, child, all_of_them, request, store
        threading.Thread(target=_ask, args=given, daemon=True, name=KEY).start()


def number_of_processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _ask(order: Order, child: Ahead, ahead: ReadAhead, request: ProbeRequest, store: EarlierReads) -> None:
    try:
        with request.watch.on_cancel(child.watch.cancel):
            answer = ask_child(
                do_parts,
                order,
                Done,
                host=request.host,
                env={name: os.environ[name] for name in NEEDED if name in os.environ},
                timeout=TIMEOUT_SECONDS,
                watch=child.watch,
            )
        for done in answer.events:
            store.take(done.news)
            ahead.add(done.prefix, done.seconds, done.spent)
    finally:
        child.ended.set()


# --- the child's side -------------------------------------------------------------------------------------------------


def do_parts(order: Order, emit: Callable[[Done], None]) -> None:
    """Do the parts for each environment, and emit what is worth keeping."""
    host = this_host()
    where, patience = sysroot_of(host), Patience()
    snapshot = Snapshot(machine=order.machine, taken="", thorough=False, pythons=order.pythons)
    for python in order.pythons:
        if time.process_time() > MOST_SECONDS and not python.is_wanted:
            break
        request = ProbeRequest(host=host, seen=snapshot, env=order.env, watch=Progress())
        store, begun = EarlierReads(read_cached(STORE, MAX_KEPT_BYTES)), time.process_time()
        with using(store):
            spent = patience.run(partial(_do_parts_of, python, order, request, where))
        emit(Done(python.prefix, time.process_time() - begun, store.news(), spent))


def _do_parts_of(python: PythonEnvironment, order: Order, request: ProbeRequest, where: Sysroot) -> tuple[float, ...]:
    from core.probes.python.following.search_parts import SearchParts  # many modules, for a child alone

    interpreter = read_interpreter(python.prefix, python.executable, where)
    if interpreter is None:
        return ()
    path = python_search_path(interpreter, order.env, order.folder, where, working=order.working)
    parts = SearchParts(python, interpreter, path, request, where)
    ways: dict[str, Callable[[], object]] = {
        EXTENSIONS: lambda: parts.extensions,
        BYTE_CODE: parts.byte_code,
        FOLLOWED: lambda: parts.followed(parts.presumed, lambda _frameworks, _seconds: None),
    }
    for part in order.parts:
        ways[part]()
    return tuple(parts.spent)


# --- which environments an earlier scan has read ----------------------------------------------------------------------


def is_known(python: PythonEnvironment, where: Sysroot) -> bool:
    """Whether an earlier scan has read this environment, in which nothing was installed since."""
    store, identity = store_in_use(), _identity(python, where)
    return bool(store and identity and store.find(_key(python), identity, bool))


def remember(python: PythonEnvironment, where: Sysroot) -> None:
    """Keep for the next scan that this one has read the environment."""
    store, identity = store_in_use(), _identity(python, where)
    if store and identity and not store.find(_key(python), identity, bool):
        store.keep(_key(python), identity, True)


def _key(python: PythonEnvironment) -> str:
    return f"read {short_hash(python.prefix.encode('utf-8', 'surrogatepass'))}"


def _identity(python: PythonEnvironment, where: Sysroot) -> str:
    """Return what differs once a package is installed; empty where that would not show."""
    each = [lasting_identity(folder, where.root) for folder in python.site_packages]
    return "\n".join(each) if each and all(each) else ""
