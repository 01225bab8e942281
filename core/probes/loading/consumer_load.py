"""One consumer's roll calls: with its real environment, and again without its search path if that changed the result."""

from __future__ import annotations

import stat
from collections.abc import Hashable, Mapping

from msgspec.structs import replace

from core.common.fact_text import fact_text
from core.common.late_pattern import late_pattern
from core.common.turns import MadeOnce
from core.host.provenance import Verdict, environment_for
from core.model.facts import How, Load, PythonEnvironment, RollCall
from core.model.variable_names import LOADER_VARIABLES
from core.probes.loading.effective_entries import effective_entries
from core.probes.loading.origin import PATH_VARIABLE, file_origin, runs_here
from core.probes.loading.plan import LoadContext, LoadPlan, plan_load
from core.probes.loading.roll_call.parent import ask_roll_call, run_roll_call
from core.probes.loading.roll_call.protocol import RollCallRequest
from core.probes.sysroot import Sysroot, without_silent_folders
from core.probes.trust import load_verdict, printable_changeable, record_execution

READ = late_pattern(r"(?:LD|CUDA|CUDNN|CUBLAS|NVIDIA|NVRTC)_\w+|GLIBC_TUNABLES")
"""Variables that ld.so or CUDA's libraries read."""


def test_load(first: LoadPlan, python: PythonEnvironment | None, setting: LoadContext) -> Load:
    """Return a consumer's search and its roll calls. ``first``: its plan in this setting."""
    wish = first.wish
    verdict = load_verdict(first, python, setting.where) if is_callable(first, setting) else Verdict(may=True)
    called = _run_roll_call(first, setting, verdict)
    again: RollCall | None = None
    if called is not None and _path_mattered(first, called):
        env = {name: value for name, value in setting.env.items() if name != PATH_VARIABLE}
        clean = LoadContext(setting.request, setting.where, setting.known, env)
        second = plan_load(first.consumer, wish, python, clean)
        again = _run_roll_call(second, clean, load_verdict(second, python, setting.where))
    return Load(
        consumer=first.consumer,
        major=wish.major,
        resolutions=first.resolutions,
        roll_call=called,
        clean_roll_call=again,
        wanted_version=wish.wanted_version,
        wanted_source=wish.wanted_source,
        changeable=printable_changeable(verdict.changeable),
        refused=not verdict.may,
    )


def is_callable(its: LoadPlan, setting: LoadContext) -> bool:
    """Whether a roll call is possible: files of the running system, and a main library."""
    return its.roll is not None and runs_here(setting.where)


def _run_roll_call(its: LoadPlan, setting: LoadContext, verdict: Verdict) -> RollCall | None:
    """Make a roll call; None if there is nothing to call, or if others can change it and nobody named it."""
    roll = its.roll
    if roll is None or not is_callable(its, setting):
        return None
    main = next((r.winner.path for r in its.resolutions if r.winner), roll.main)
    if not verdict.may:
        record_execution("roll call", main, verdict, setting.request, its.consumer.full_id)
        return None
    if pipe := _pipe(its, setting.where):
        return RollCall(
            library=roll.main,
            ended=fact_text("was not made: {pipe} is no file, and opening it might never end", pipe=pipe),
        )
    watch = setting.request.watch
    watch.check()
    record_execution("roll call", main, verdict, setting.request, its.consumer.full_id)

    def make() -> RollCall:
        env = environment_for(verdict, without_silent_folders(setting.env, setting.where))
        asking = ask_roll_call(setting.request.host, env, watch, verdict.account)
        return run_roll_call(roll, its.fragile, setting.known, asking)

    # the same one for another consumer or way of starting tells the same
    made: MadeOnce[tuple[RollCallRequest, RollCall]] = setting.request.shared.setdefault("roll calls", MadeOnce())
    key = (frozenset(its.fragile.items()), verdict.account, _of_libraries(setting.env, setting.where))
    first, called = made.get((same_files(roll, setting.where), *key), lambda: (roll, make()))
    if first != roll and went_well(called):
        called = in_words_of(called, first, roll)
    elif first != roll:  # what failed is told of the files that this consumer named
        called = made.get((roll, *key), lambda: (roll, make()))[1]
    own = _own_files(its.consumer.prefix, setting)
    mapped = tuple(
        replace(m, origin=file_origin(own.get(m.path, m.path), its.consumer.prefix, setting.env, setting.where))
        for m in called.mapped
    )
    return replace(called, mapped=mapped)


def same_files(roll: RollCallRequest, where: Sysroot) -> RollCallRequest:
    """Return a roll call with the real path of each folder: consumers name one cuDNN each from its own folder, by ``..``."""
    if where.system != "linux":
        return roll
    real: dict[str, str] = {}

    def named(path: str) -> str:
        folder, slash, name = path.rpartition("/")
        if slash and folder not in real:
            real[folder] = where.real_path(folder or "/")
        return f"{real[folder]}/{name}" if slash else path

    parts = tuple(replace(part, tries=tuple(map(named, part.tries))) for part in roll.parts)
    return replace(roll, main=named(roll.main), preload=tuple(map(named, roll.preload)), parts=parts)


def went_well(called: RollCall) -> bool:
    """Whether all was loaded and called, without a word about a file."""
    return not (called.ended or called.output) and all(
        call.result is not None and (call.result == 0 or call.function.startswith("cudnnGet")) for call in called.calls
    )


def in_words_of(called: RollCall, first: RollCallRequest, other: RollCallRequest) -> RollCall:
    """Return what came of a roll call with the paths as another one of the same files names them."""
    pairs = zip(_folders(first), _folders(other), strict=True)
    named = {one: its for one, its in pairs if one != its}

    def renamed(path: str) -> str:
        within = [one for one in named if path.startswith(f"{one}/")]
        longest = max(within, key=len, default="")
        return named[longest] + path[len(longest) :] if longest else path

    calls = tuple(replace(call, library=renamed(call.library)) for call in called.calls)
    return replace(called, library=other.main, loaded=renamed(called.loaded), calls=calls)


def _folders(roll: RollCallRequest) -> list[str]:
    """Return the folder of each path of a roll call, in order."""
    return [path.rpartition("/")[0] for path in (roll.main, *roll.preload, *(t for p in roll.parts for t in p.tries))]


def _of_libraries(env: Mapping[str, str], where: Sysroot) -> Hashable:
    """Return what a loader and CUDA's libraries read of the variables; with the same, a roll call leads to the same files."""
    if where.system != "linux":
        return frozenset(env.items())
    read = {
        n: effective_entries(n, v, where) if n in LOADER_VARIABLES else (v,)
        for n, v in env.items()
        if READ.fullmatch(n)
    }
    return frozenset((n, its) for n, its in read.items() if its)


def _pipe(its: LoadPlan, where: Sysroot) -> str:
    """Return the first pipe, socket or device that the loader would open in place of a library; empty if there is none."""
    for resolution in its.resolutions:
        for attempt in resolution.attempts:
            if attempt.outcome == "found":
                break
            seen = where.stat(attempt.path) if attempt.outcome == "damaged" else None
            if seen and not (stat.S_ISREG(seen.st_mode) or stat.S_ISDIR(seen.st_mode)):
                return attempt.path
    return ""


def _own_files(prefix: str, setting: LoadContext) -> dict[str, str]:
    """Return real path -> path of an environment's own cuDNN files: packages may be links into a shared store."""
    copies = (copy for copy in setting.request.seen.cudnn or () if prefix and copy.environment == prefix)
    return {f.real_path: f.path for copy in copies for f in copy.files if f.real_path}


def _path_mattered(its: LoadPlan, called: RollCall) -> bool:
    """Whether the variable hid another candidate, or may explain a call that failed: only then does a second test prove anything."""
    by_variable = How.LD_LIBRARY_PATH
    hid = any(
        r.winner is not None and r.winner.how is by_variable and any(a.how is not by_variable for a in r.found)
        for r in its.resolutions
    )
    concerned = any(r.winner is not None and r.winner.how is by_variable for r in its.resolutions) or any(
        m.origin == PATH_VARIABLE for m in called.mapped
    )
    failed = bool(called.ended) or any(
        c.result is None or (c.result != 0 and not c.function.startswith("cudnnGet")) for c in called.calls
    )
    return hid or (concerned and failed)
