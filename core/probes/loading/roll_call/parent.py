"""The roll call, in the parent: run children until every call was made or is known to crash, and turn answers into facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
from msgspec.structs import replace

from core.common.fact_text import fact_text
from core.common.progress import Progress
from core.host import sandbox
from core.host.child import ChildAnswer, ask_child
from core.host.interface import Account, Host
from core.knowledge.cudnn import CudnnKnowledge
from core.knowledge.cudnn_file_names import version_text
from core.model.facts import Call, Mapped, RollCall
from core.model.paths import file_name
from core.probes.loading.roll_call.child import LOAD_FUNCTION, answer_roll_call
from core.probes.loading.roll_call.linux_loader import is_cuda_file
from core.probes.loading.roll_call.protocol import RollCallEvent, RollCallRequest

MAX_CHILDREN = 5
"""Maximum number of children for one roll call: one, and one more for each step that crashed its child."""

CHILD_TIMEOUT_SECONDS = {"linux": 20.0, "windows": 60.0}
"""Seconds for one child.

A healthy one takes 0.06, a cold disk a few. On Windows a virus scanner reads every library first.
"""

MAX_OUTPUT_BYTES = 8 << 10

SPARED_TEXT = fact_text("Not tried: what it needs is missing or broken, and another such step had ended the process.")


class _Tally(msgspec.Struct):
    """The answers so far of one roll call's children."""

    calls: list[Call] = []
    mapped: dict[str, None] = {}
    loaded: str = ""
    version: str | None = None
    output: str = ""
    ended: str = ""
    guards: tuple[str, ...] | None = None


Ask = Callable[[RollCallRequest], ChildAnswer[RollCallEvent]]


def run_roll_call(roll: RollCallRequest, fragile: Mapping[str, int], known: CudnnKnowledge, asking: Ask) -> RollCall:
    """Make a roll call and return the results.

    ``fragile``: functions and parts that may crash the process, because a file that they need is missing or broken.
    They come last, lower numbers first, and after the first crash no more of that kind are tried. ``asking`` runs one
    child.
    """
    tally, load, timed_out = _Tally(), LOAD_FUNCTION[roll.system], False
    functions = sorted(roll.functions, key=lambda f: fragile.get(f, 0))  # Stable sort: healthy ones keep their order.
    parts = sorted(roll.parts, key=lambda p: fragile.get(p.name, 0))
    for _n in range(MAX_CHILDREN):
        said = asking(replace(roll, functions=tuple(functions), parts=tuple(parts)))
        fatal, timed_out = _count(said, tally, roll, known), said.timed_out
        tried = {e.name for e in said.events if e.kind == "begin"}
        functions = [f for f in functions if f not in tried]
        parts = [p for p in parts if p.name not in tried]
        if fatal in ("", load) or said.timed_out:
            break
        if fatal in roll.functions:
            tally.calls += [Call(function=f, meaning=SPARED_TEXT) for f in functions if f in fragile]
            functions = [f for f in functions if f not in fragile]
        else:
            tally.calls += [
                Call(function=load, library=p.name, meaning=SPARED_TEXT) for p in parts if p.name in fragile
            ]
            parts = [p for p in parts if p.name not in fragile]
        if not (functions or parts):
            break
    return RollCall(
        library=roll.main,
        loaded=tally.loaded,
        version=tally.version,
        calls=tuple(tally.calls),
        mapped=tuple(Mapped(path=path, name=file_name(roll.system, path)) for path in tally.mapped),
        output=tally.output[:MAX_OUTPUT_BYTES],
        ended=tally.ended,
        timed_out=timed_out,
        uncaged=tally.guards is not None and sandbox.FILTER not in tally.guards,
        guards=tally.guards or (),
    )


def ask_roll_call(host: Host, env: Mapping[str, str], watch: Progress, account: Account | None = None) -> Ask:
    """Return the function that runs a real child in the consumer's environment, with the rights of ``account``."""
    return lambda roll: ask_child(
        *(answer_roll_call, roll, RollCallEvent),
        host=host,
        env=env,
        timeout=CHILD_TIMEOUT_SECONDS[host.system],
        watch=watch,
        account=account,
    )


def _count(said: ChildAnswer[RollCallEvent], tally: _Tally, roll: RollCallRequest, known: CudnnKnowledge) -> str:
    """Add one child's answers to the tally; return the step in which it crashed, empty if it did not."""
    begun = ""
    for event in said.events:
        match event.kind:
            case "begin":
                begun = event.name
            case "call":
                begun = ""
                _add(_call(event, roll.major, known), tally)
            case "loaded":
                tally.loaded = event.name
    if said.guards is not None:  # Of several children, only what holds for each.
        tally.guards = tuple(g for g in said.guards if tally.guards is None or g in tally.guards)
    tally.mapped |= {p: None for p in said.mapped if is_cuda_file(file_name(roll.system, p))}
    if said.output and said.output not in tally.output:
        tally.output += said.output
    if not said.ended:
        return ""
    if begun:
        load = LOAD_FUNCTION[roll.system]
        name, library = (begun, roll.main) if begun in (load, *roll.functions) else (load, begun)
        _add(Call(function=name, library=library, meaning=fact_text("The process {ended}.", ended=said.ended)), tally)
    tally.ended = tally.ended or (fact_text("{begun}: {ended}", begun=begun, ended=said.ended) if begun else said.ended)
    return begun


def _add(call: Call, tally: _Tally) -> None:
    """Store a call once: each further child loads the main library again."""
    if not any((c.function, c.library) == (call.function, call.library) for c in tally.calls):
        tally.calls.append(call)
    if call.function == "cudnnGetVersion" and call.result is not None:
        tally.version = version_text(call.result)


def _call(event: RollCallEvent, major: int, known: CudnnKnowledge) -> Call:
    return Call(
        function=event.name,
        library=event.library,
        result=event.result,
        meaning=event.problem or _meaning(event, major, known),
    )


def _meaning(event: RollCallEvent, major: int, known: CudnnKnowledge) -> str:
    if event.result is None or event.name in LOAD_FUNCTION.values():
        return ""
    if event.name == "cudnnGetVersion":
        return version_text(event.result) or ""
    if event.name == "cudnnGetCudartVersion":
        return f"{event.result // 1000}.{event.result // 10 % 100}"
    names = (s.name for s in known.statuses if s.code == event.result and s.major == max(major, 8))
    return next(names, fact_text("status {result}", result=event.result))
