"""Roll call, in the child: load cuDNN as a consumer does, call it, open every part; let the parent read what was
mapped.

The child judges nothing. It announces each step (``begin``), because the step may crash it.
"""

from __future__ import annotations

import ctypes

from core.common.fact_text import fact_text
from core.probes.loading.roll_call.linux_loader import Loader, system_loader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from core.model.facts import System
    from core.probes.loading.roll_call.protocol import LaterLibrary, RollCallEvent, RollCallRequest
else:
    RollCallEvent = dict

PLAIN = True
"""For ``core.host.child``: this module needs nothing of msgspec."""

CAGED = True
"""For ``core.host.child_main``: libraries loaded here can start no process, use no network and access no other process."""

LOAD_FUNCTION: dict[System, str] = {"linux": "dlopen", "windows": "LoadLibraryExW"}
"""The ``function`` of a Call that loads a file instead of calling a function."""


def answer_roll_call(roll: RollCallRequest, emit: Callable[[RollCallEvent | None], None]) -> None:
    """Do one roll call. Runs in a child process, which any step may end."""
    loader = system_loader(roll.folders)

    def step(name: str, act: Callable[..., tuple[RollCallEvent, int | None]], *arguments: object) -> int | None:
        emit(RollCallEvent(kind="begin", name=name))
        event, handle = act(loader, *arguments)
        emit(event)
        emit(None)
        return handle

    load = LOAD_FUNCTION[roll.system]
    for path in roll.preload:
        step(load, _load_main, load, path)
    main = step(load, _load_main, load, roll.main)
    if main is None:
        return
    emit(RollCallEvent(kind="loaded", name=loader.path(main)))
    for function in roll.functions:
        step(function, _call_function, main, function)
    for part in roll.parts:
        step(part.name, _open_part, load, part)


def _load_main(loader: Loader, load: str, path: str) -> tuple[RollCallEvent, int | None]:
    handle, number, problem = loader.load(path)
    result = 0 if handle is not None else number
    return RollCallEvent(kind="call", name=load, library=path, result=result, problem=problem), handle


def _open_part(loader: Loader, load: str, part: LaterLibrary) -> tuple[RollCallEvent, int | None]:
    """Load a part by the first of its names that works; otherwise report the first failure."""
    number, problem = None, ""
    for path in part.tries:
        handle, failed, reason = loader.load(path)
        if handle is not None:
            return RollCallEvent(kind="call", name=load, library=loader.path(handle) or path, result=0), handle
        if not problem:
            number, problem = failed, reason
    problem = problem or fact_text("There is no file of this name where cuDNN looks for it.")
    return RollCallEvent(kind="call", name=load, library=part.name, result=number, problem=problem), None


def _call_function(loader: Loader, handle: int, function: str) -> tuple[RollCallEvent, int | None]:
    address = loader.symbol(handle, function)
    if not address:
        problem = fact_text("This library has no such function.")
        return RollCallEvent(kind="call", name=function, problem=problem), handle
    kind = ctypes.c_size_t if function.startswith("cudnnGet") else ctypes.c_int
    return RollCallEvent(kind="call", name=function, result=int(ctypes.CFUNCTYPE(kind)(address)())), handle
