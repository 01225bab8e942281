"""Driver probe: GPUs, the results of NVML and cuInit, and what prevents them from working."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from queue import SimpleQueue
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from core.common import turns
from core.common.fact_text import fact_text
from core.host.child import ChildAnswer, ask_child
from core.host.provenance import Verdict, may_run
from core.model.facts import CudaInit, Driver, DriverLibrary, DriverPart, Gpu, Nvml
from core.model.path_list import LIBRARY_VARIABLE, searched_entries
from core.model.variable_names import HIDING_VARIABLES
from core.probes.driver import kernel
from core.probes.driver.compute_cache import compute_cache
from core.probes.driver.libraries import driver_libraries, search_folders
from core.probes.driver.nvidia_calls import ask_cuda, ask_nvml
from core.probes.driver.protocol import DriverEvent, DriverQuery
from core.probes.loading.origin import runs_here
from core.probes.probe import ProbeRequest
from core.probes.sysroot import Sysroot, sysroot_of, without_silent_folders
from core.probes.trust import record_execution, trusted_search_paths

NVML_TIMEOUT_SECONDS = 8.0
"""Seconds for NVML's child."""
CUDA_TIMEOUT_SECONDS = 9.0
"""Seconds for one cuInit: it wakes every GPU, which takes seconds on servers without persistence mode."""

PLAIN_VARIABLES = frozenset(
    [
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "TERM",
        "LANG",
        "TMPDIR",
        "TMP",
        "TEMP",
        "SYSTEMROOT",
        "SYSTEMDRIVE",
        "WINDIR",
        "COMSPEC",
        "PROGRAMDATA",
        "PROGRAMFILES",
        "PROGRAMFILES(X86)",
        "APPDATA",
        "LOCALAPPDATA",
        "USERPROFILE",
        "HOMEDRIVE",
        "HOMEPATH",
        "USERNAME",
        "PATHEXT",
    ]
)
"""Variables that every new log-in has; the driver's library starts with them everywhere."""

MAX_HALVES = 6
"""Maximum number of bisections: enough for 64 variables."""
BLAME_SECONDS = 6.0
"""Seconds after which no further call is made; a slow driver leaves the cause unknown."""
MAX_BLAMED = 3
"""Maximum number of variables reported together; a longer list helps nobody."""

Event = TypeVar("Event", Nvml, CudaInit, DriverPart)


class DriverAnswers(msgspec.Struct, frozen=True):
    """One child's answers."""

    nvml: Nvml | None = None
    cuda: CudaInit | None = None
    gpus: tuple[Gpu, ...] = ()
    driver_model: str = ""
    parts: tuple[DriverPart, ...] | None = None


def look(request: ProbeRequest) -> Driver:
    """Query NVML and the CUDA driver, each in a child with the consumer's environment, and examine the files meanwhile."""
    start = time.monotonic()
    where = sysroot_of(request.host)
    if request.seen.machine.other_root:
        return Driver(**_files(request, where))
    env = trusted_search_paths(without_silent_folders(request.env, where), request, where)
    request = replace(request, env=env)
    hidden = [name for name in HIDING_VARIABLES if name in env]
    nvml = _begin(lambda: _nvml(request))
    cuda = _begin(lambda: _cuda(request, env, parts=where.system == "linux"))
    shown = _begin(lambda: _cuda(request, without_variables(env, hidden))) if hidden else None
    cleaned = _begin(lambda: _cuda(request, _without_library_path(env))) if brings_driver(env, where) else None
    seen = _files(request, where)
    answer = cuda()
    clean = cleaned() if cleaned else None
    if clean is None and _search_path(env, where) and answer.cuda and answer.cuda.status != 0:
        clean = _cuda(request, _without_library_path(env))
    managed = nvml()
    unhidden = shown() if shown else None
    bare, blamed = bisect_variables(request, (answer, unhidden, clean), start + BLAME_SECONDS)
    for library in dict.fromkeys(x.library for x in (managed.nvml, answer.cuda) if x and x.library):
        others = may_run({where.local_path(library): True}).changeable if runs_here(where) else None
        record_execution("driver", library, Verdict(may=True, changeable=others), request)
    gpus = merge_gpus(managed, unhidden or answer, answer)
    return Driver(
        **seen | {"libraries": mark_stubs(seen["libraries"], answer.cuda)},
        nvml=managed.nvml,
        gpus=gpus,
        cuda_order=order_of_cuda(gpus, unhidden or answer),
        cuda=answer.cuda,
        cuda_unhidden=unhidden.cuda if unhidden else None,
        cuda_clean=clean.cuda if clean else None,
        cuda_bare=bare,
        blamed=blamed,
        address_space=_address_space() if where.is_running_system and where.system == "linux" else None,
        parts=answer.parts,
        windows_driver_model=managed.driver_model,
    )


def _address_space() -> int | None:
    """Return the limit that this process's programs inherit; None for none."""
    import resource

    soft, _hard = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def _begin(work: Callable[[], DriverAnswers]) -> Callable[[], DriverAnswers]:
    """Start ``work`` in a thread, and return a function that waits for its result. (concurrent.futures costs more than the work.)"""
    values: SimpleQueue[DriverAnswers | BaseException] = SimpleQueue()

    def run() -> None:
        try:
            values.put(work())
        except BaseException as error:  # noqa: BLE001 - it is raised again in the thread that waits
            values.put(error)

    def wait() -> DriverAnswers:
        with turns.others_turn():
            value = values.get()
        if isinstance(value, BaseException):
            raise value
        return value

    threading.Thread(target=run, daemon=True).start()
    return wait


def _files(request: ProbeRequest, where: Sysroot) -> dict[str, Any]:
    """Return the fields of Driver that come from files; Linux's own stay None on Windows."""
    found: dict[str, Any] = {
        "pci": request.host.pci_devices(),
        "libraries": driver_libraries(search_folders(request.env, where), where),
        "compute_cache": compute_cache(request.env, request.seen.machine, where),
    }
    if where.system == "linux":
        found |= kernel.look_at_kernel(request, where)
    return found


def without_variables(env: Mapping[str, str], names: list[str]) -> dict[str, str]:
    """Return ``env`` without ``names``."""
    return {n: v for n, v in env.items() if n not in names}


def _without_library_path(env: Mapping[str, str]) -> dict[str, str]:
    return without_variables(env, ["LD_LIBRARY_PATH"])


def _search_path(env: Mapping[str, str], where: Sysroot) -> tuple[str, ...]:
    """Return the folders of LD_LIBRARY_PATH; none on Windows, where it has no effect."""
    value = env.get("LD_LIBRARY_PATH", "") if where.system == "linux" else ""
    return tuple(folder for folder in searched_entries(value, "linux", LIBRARY_VARIABLE) if folder)


def brings_driver(env: Mapping[str, str], where: Sysroot) -> bool:
    """Whether a folder of LD_LIBRARY_PATH contains a libcuda: then both its result and the system's are needed."""
    return any(where.exists(where.join(folder, "libcuda.so.1")) for folder in _search_path(env, where))


def _nvml(request: ProbeRequest) -> DriverAnswers:
    answer = ask_child(
        ask_nvml,
        DriverQuery(),
        DriverEvent,
        host=request.host,
        env=request.env,
        timeout=NVML_TIMEOUT_SECONDS,
        watch=request.watch,
    )
    heard = last_answers(answer)
    return DriverAnswers(
        nvml=with_child_end(heard.nvml or Nvml(), answer, "NVML"), gpus=heard.gpus, driver_model=heard.driver_model
    )


def bisect_variables(
    request: ProbeRequest, asked: Sequence[DriverAnswers | None], until: float
) -> tuple[CudaInit | None, tuple[str, ...]]:
    """Return cuInit's result without this session's variables, and the variables that prevent it from starting.

    Called if the library exists and CUDA has not started in any way so far. The variables are bisected until one is
    left: one cuInit for each half, at most MAX_HALVES, and none after ``until`` (of the monotonic clock). If only
    several together cause the failure, all the remaining ones are reported.
    """
    answers = [a.cuda for a in asked if a and a.cuda]
    if not answers or not answers[0].library or any(a.status == 0 and a.device_count != 0 for a in answers):
        return None, ()
    if any(a.status is None and not a.asked for a in answers):
        return None, ()
    suspects = [n for n in request.env if n.upper() not in PLAIN_VARIABLES]
    if not suspects or time.monotonic() > until:
        return None, ()
    bare = _cuda(request, without_variables(request.env, suspects)).cuda
    if bare is None or bare.status != 0 or bare.device_count == 0:
        return bare, ()
    suspects.sort(key=lambda n: not n.startswith(("LD_", "CUDA", "NVIDIA", "__NV")))
    for _ in range(MAX_HALVES):
        if len(suspects) == 1 or time.monotonic() > until:
            break
        half = suspects[: len(suspects) // 2]
        halves = (half, suspects[len(half) :])
        freed = next((h for h in halves if _starts(_cuda(request, without_variables(request.env, h)))), None)
        if freed is None:
            break  # The failure needs variables of both halves.
        suspects = freed
    return bare, tuple(suspects) if len(suspects) <= MAX_BLAMED else ()


def _starts(answer: DriverAnswers) -> bool:
    return answer.cuda is not None and answer.cuda.status == 0 and answer.cuda.device_count != 0


def _ask_cuda(query: DriverQuery, request: ProbeRequest, env: Mapping[str, str]) -> ChildAnswer[DriverEvent]:
    return ask_child(
        ask_cuda, query, DriverEvent, host=request.host, env=env, timeout=CUDA_TIMEOUT_SECONDS, watch=request.watch
    )


def _cuda(request: ProbeRequest, env: Mapping[str, str], *, parts: bool = False) -> DriverAnswers:
    answer = _ask_cuda(DriverQuery(parts=parts), request, env)
    heard = last_answers(answer)
    if heard.cuda and heard.cuda.status == 0 and heard.parts:  # cuInit had succeeded, so the part crashed the child.
        loaded = tuple(with_child_end(p, answer, p.name) for p in heard.parts)
        return replace(
            heard, parts=tuple(_with_ptx_result(p, request, env) for p in loaded) if answer.ended else loaded
        )
    return replace(heard, cuda=with_child_end(heard.cuda or CudaInit(), answer, "cuInit"), nvml=None)


def _with_ptx_result(part: DriverPart, request: ProbeRequest, env: Mapping[str, str]) -> DriverPart:
    """Return a part that crashed the process that loaded it, with the result of loading a PTX kernel."""
    answer = _ask_cuda(DriverQuery(kernel=True), request, env)
    tried = next(iter(last_answers(answer).parts or ()), None)
    if tried is None:
        return part
    return replace(part, status=tried.status, kills=bool(answer.ended and not answer.timed_out))


def last_answers(answer: ChildAnswer[DriverEvent]) -> DriverAnswers:
    """Return the last answer of each kind."""
    return DriverAnswers(
        nvml=next((s.nvml for s in reversed(answer.events) if s.nvml), None),
        cuda=next((s.cuda for s in reversed(answer.events) if s.cuda), None),
        gpus=tuple(s.gpu for s in answer.events if s.gpu),
        parts=tuple({s.part.name: s.part for s in answer.events if s.part}.values()) or None,
        driver_model=next((s.driver_model for s in answer.events if s.driver_model), ""),
    )


def with_child_end(said: Event, answer: ChildAnswer[DriverEvent], call: str) -> Event:
    """Return ``said`` with its child's exit as its problem, if that was abnormal."""
    if not answer.ended:
        return said
    how = fact_text("gave no answer in time") if answer.timed_out else answer.ended
    problem = fact_text("The process that called {call} {how}.", call=call, how=how)
    if isinstance(said, DriverPart):
        return replace(said, problem=problem)
    return replace(said, problem=problem, asked=answer.started)


def merge_gpus(nvml: DriverAnswers, shown: DriverAnswers, cuda: DriverAnswers) -> tuple[Gpu, ...] | None:
    """Return NVML's GPUs; without NVML, those of cuInit, unhidden first; None if neither answered."""
    if nvml.nvml is not None and nvml.nvml.status == 0:
        known = {g.uuid: g.compute_capability for g in (*shown.gpus, *cuda.gpus)}
        return tuple(replace(g, compute_capability=g.compute_capability or known.get(g.uuid)) for g in nvml.gpus)
    for heard in (shown, cuda):
        if heard.cuda is not None and heard.cuda.status == 0:
            return heard.gpus
    return None


def order_of_cuda(gpus: tuple[Gpu, ...] | None, shown: DriverAnswers) -> tuple[int, ...] | None:
    """Return the numbers of the GPUs in the order in which CUDA counts them; None where it left one out or named another."""
    known = {g.uuid: g.index for g in gpus or () if g.uuid}
    if not shown.gpus or len(shown.gpus) != len(known) or any(g.uuid not in known for g in shown.gpus):
        return None
    return tuple(known[g.uuid] for g in shown.gpus)


def mark_stubs(found: tuple[DriverLibrary, ...] | None, cuda: CudaInit | None) -> tuple[DriverLibrary, ...] | None:
    """Return the libraries, with the one that returned 34 (CUDA_ERROR_STUB_LIBRARY) marked as a stub."""
    if found is None or cuda is None or cuda.status != 34:
        return found
    return tuple(replace(lib, stub=True) if cuda.library in (lib.path, lib.real_path) else lib for lib in found)
