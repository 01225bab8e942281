"""Rehearse file changes: complete a set in an overlay folder, leave out a stray copy, start with an empty cache.
Nothing is changed: overlays are temporary folders of links, and every library is loaded in a child process.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from core.common.i18n import _, join_sentences, translate_fact
from core.common.progress import Progress
from core.common.text import join_names
from core.host import scratch
from core.host.child import ask_child
from core.host.interface import Host
from core.host.provenance import may_run, trusted_environment
from core.knowledge.cudnn import cudnn_knowledge
from core.knowledge.cudnn_file_names import parse_cudnn_name
from core.loader import read_image
from core.model import path_list
from core.model.changes import Change, FileSet
from core.model.facts import Frozen, Mapped, Resolution, RollCall, Snapshot, System
from core.model.paths import form_of, normalise, parent
from core.probes.loading.roll_call.parent import ask_roll_call, run_roll_call
from core.probes.loading.roll_call.protocol import LaterLibrary, RollCallRequest
from core.rehearsal.nvrtc_child import CompileQuery, NvrtcResult, compile_empty
from core.rules.consumer_loads import ConsumerLoad, call_failed, consumer_loads


class Rehearsal(Frozen, frozen=True, kw_only=True):
    """What a rehearsal showed. ``works`` None: it could not be decided on this machine."""

    works: bool | None
    sentence: str
    loaded: tuple[Mapped, ...] = ()
    """CUDA and cuDNN files that were really mapped, with who owns them."""


def not_rehearsed() -> Rehearsal:
    """Return that only the change itself shows whether it helps."""
    return Rehearsal(works=None, sentence=_("This cannot be rehearsed without doing it; it is verified afterwards."))


def failed_rehearsal(problem: str) -> Rehearsal:
    """Return that the rehearsal failed, with a sentence on how."""
    return Rehearsal(works=False, sentence=join_sentences(_("Rehearsed on this machine: does not work."), problem))


def successful_rehearsal(loaded: tuple[Mapped, ...], real: Mapping[str, str], how: str = "") -> Rehearsal:
    """Return success, with the loaded files under the names that they will have (``real``)."""
    named = _with_final_paths(loaded, real)
    folders = list(dict.fromkeys(parent(form_of(m.path), m.path) for m in named if "cudnn" in m.name))
    where = _("cuDNN was loaded from {folders}.", folders=join_names(folders[:3])) if folders else ""
    return Rehearsal(
        works=True, sentence=join_sentences(_("Rehearsed on this machine: works."), where, how), loaded=named
    )


def _with_final_paths(mapped: tuple[Mapped, ...], real: Mapping[str, str]) -> tuple[Mapped, ...]:
    """Return the files under their future names instead of those in an overlay."""
    out = []
    for m in mapped:
        path = next((folder + m.path[len(o) :] for o, folder in real.items() if m.path.startswith(o)), m.path)
        out.append(Mapped(path=path, name=m.name, origin=m.origin))
    return tuple(out)


def real_names(changes: tuple[Change, ...], moved: Mapping[str, str]) -> dict[str, str]:
    """Return the source of each file, and the future folder of each overlay folder."""
    sources = {i.source: i.path for c in changes if isinstance(c, FileSet) for i in c.items if i.source}
    return {**sources, **{overlay: folder for folder, overlay in moved.items()}}


def _failed_rehearsal(roll: RollCall) -> Rehearsal:
    what = next(
        (
            f": {c.library or c.function} {translate_fact(c.meaning)}"
            for c in roll.calls
            if call_failed(c.function, c.result)
        ),
        "",
    )
    sentence = _("Rehearsed on this machine: does not work{what}.", what=what)
    return Rehearsal(works=False, sentence=sentence, loaded=roll.mapped)


def _all_answered(roll: RollCall) -> bool:
    return bool(roll.calls) and not roll.ended and not any(call_failed(c.function, c.result) for c in roll.calls)


# --- a completed set -----------------------------------------------------------------------------------------------


def rehearse_completion(
    changes: tuple[Change, ...], moved: Mapping[str, str], snapshot: Snapshot, host: Host, watch: Progress
) -> Rehearsal | None:
    """Call the set in the first overlay of a folder with a known copy; None if there is none to call."""
    for overlay in moved.values():
        if withheld := _not_tried(overlay):
            return withheld
        if compiler := _compiler_in(overlay):
            return _rehearse_compiler(compiler, host, watch)
    for folder, overlay in moved.items():
        roll = _roll_call(overlay, host, watch, stands_for=folder) if _is_known(folder, snapshot) else None
        if roll is not None:
            return (
                successful_rehearsal(roll.mapped, real_names(changes, moved))
                if _all_answered(roll)
                else _failed_rehearsal(roll)
            )
    return None


def _not_tried(folder: str) -> Rehearsal | None:
    """Return that others can change a folder's libraries, so an administrator's rights do not load them."""
    verdict = may_run({os.path.realpath(p): True for p in Path(folder).iterdir()})
    if verdict.changeable is None or (verdict.may and verdict.account is None):
        return None
    path = verdict.changeable.path
    return Rehearsal(works=None, sentence=_("It was not tried out: other users can change {path}.", path=path))


def _is_known(folder: str, snapshot: Snapshot) -> bool:
    return any(os.path.normcase(c.folder) == os.path.normcase(folder) for c in snapshot.cudnn or ())


def _roll_call(
    overlay: str, host: Host, watch: Progress, *, by_path: bool = False, stands_for: str = ""
) -> RollCall | None:
    """Call every part of the set in a folder; None when there is no main library in it.

    ``stands_for``: the folder in whose place this one is searched. ``by_path``: every part is loaded by its full path first, so that cuDNN's own look by bare name finds it loaded.
    """
    names = sorted(p.name for p in Path(overlay).iterdir())
    known = cudnn_knowledge()
    parsed = [(n, what) for n in names if (what := parse_cudnn_name(n, host.system)) and what.major]
    main = next(((n, what) for n, what in parsed if not what.role), None)
    if main is None or main[1].major is None:
        return None
    major = main[1].major
    parts = tuple(
        LaterLibrary(name=n, tries=(str(Path(overlay) / n),)) for n, what in parsed if what.role and what.major == major
    )
    functions = tuple(c.function for c in known.checks if c.major == major)
    roll = RollCallRequest(
        system=host.system, major=major, main=str(Path(overlay) / main[0]), functions=functions, parts=parts,
        folders=(overlay,) if host.system == "windows" else (),
        preload=_by_need(parts) if by_path else (),
    )  # fmt: skip
    env = trusted_environment(host.fresh_environment())
    if stands_for:
        env = overlay_environment(env, stands_for, overlay, host.system)
    return run_roll_call(roll, {}, known, ask_roll_call(host, env, watch))


def overlay_environment(env: Mapping[str, str], folder: str, overlay: str, system: System) -> dict[str, str]:
    """Return the environment with the overlay wherever a search path names the folder that it stands for.

    cuDNN opens its parts by bare names, so that else the old ones would be found. On Windows, where a program may search
    a folder by other means, the overlay comes first if PATH does not name the folder.
    """
    out = dict(env)
    own = path_list.entry_key(folder, system)
    for name, value in env.items():
        if (name.upper() if system == "windows" else name) not in ("PATH", "LD_LIBRARY_PATH"):
            continue
        parts = path_list.split_entries(value, system, name)
        entries = [overlay if path_list.entry_key(e, system) == own else e for e in parts]
        first = [overlay] if system == "windows" and name.upper() == "PATH" and overlay not in entries else []
        out[name] = path_list.join_entries([*first, *entries], system)
    return out


_COMPILER = re.compile(r"libnvrtc(-[0-9a-f]{8})?\.so\.[\d.]+|nvrtc64_\d+(_\d+)?\.dll", re.IGNORECASE)


def _compiler_in(overlay: str) -> str:
    """Return CUDA's run-time compiler among the files of an overlay; empty when it is not there."""
    found = sorted(p.name for p in Path(overlay).iterdir() if _COMPILER.fullmatch(p.name))
    return str(Path(overlay) / found[0]) if found else ""


def _rehearse_compiler(compiler: str, host: Host, watch: Progress) -> Rehearsal:
    """Compile an empty kernel with the compiler in an overlay, which opens its built-ins by their plain name."""
    question = CompileQuery(library=compiler)
    env = trusted_environment(host.fresh_environment())
    answer = ask_child(compile_empty, question, NvrtcResult, host=host, env=env, timeout=60, watch=watch)
    said = next(iter(answer.events), NvrtcResult(problem=answer.ended))
    if said.status == 0:
        how = _("CUDA's runtime compiler compiled a kernel with its built-ins in place.")
        return Rehearsal(works=True, sentence=join_sentences(_("Rehearsed on this machine: works."), how))
    what = f": nvrtcCompileProgram {said.status} {said.problem}".rstrip()
    return Rehearsal(works=False, sentence=_("Rehearsed on this machine: does not work{what}.", what=what))


def _by_need(parts: tuple[LaterLibrary, ...]) -> tuple[str, ...]:
    """Return the parts' paths, each after its dependencies, so that no other folder is searched for them."""
    waiting = {
        p.name.lower(): (p.tries[0], {n.lower() for n in read_image.read_image(p.tries[0]).needed}) for p in parts
    }
    order: list[str] = []
    while waiting:
        ready = [name for name, (_path, needed) in waiting.items() if not (needed & waiting.keys()) - {name}]
        order += [waiting.pop(name)[0] for name in ready or list(waiting)]
    return tuple(order)


# --- a stray copy put aside -----------------------------------------------------------------------------------------


def rehearse_removal(changes: tuple[Change, ...], snapshot: Snapshot, host: Host, watch: Progress) -> Rehearsal:
    """Find the copy that would be loaded next without these files, from the recorded search, and really load it.

    The files are still there while it is tried, so it is loaded by full paths; that programs find it by its name
    afterwards follows from the loader's order alone, which the sentence says.
    """
    system = snapshot.machine.system
    gone = {normalise(system, i.path) for c in changes if isinstance(c, FileSet) for i in c.items}
    concerned = [
        c
        for c in consumer_loads(snapshot)
        if c.winner and any(normalise(system, path) in gone for path in _taken_files(c))
    ]
    if not concerned:
        return not_rehearsed()
    loaded: list[Mapped] = []
    for folder in dict.fromkeys(_next_folder(c.main, gone, system) for c in concerned if c.main):
        if not folder:
            return Rehearsal(
                works=False, sentence=_("Rehearsed on this machine: without these files, no cuDNN is found.")
            )
        if withheld := _not_tried(folder):
            return withheld
        roll = _roll_call(folder, host, watch, by_path=True)
        if roll is None or not _all_answered(roll):
            return (
                _failed_rehearsal(roll)
                if roll
                else Rehearsal(works=False, sentence=_("There is no cuDNN in {folder}.", folder=folder))
            )
        if any(normalise(system, m.path) in gone for m in roll.mapped):
            return Rehearsal(
                works=None,
                sentence=_("It could not be rehearsed because existing files prevent it; it is verified afterwards."),
            )
        loaded += roll.mapped
    how = _(
        "It was loaded by full path, because the other files still exist. Once they are gone, the loader finds it first."
    )
    return successful_rehearsal(tuple(dict.fromkeys(loaded)), {}, how)


def _taken_files(c: ConsumerLoad) -> list[str]:
    """Return the files that a consumer takes as cuDNN's main library and its parts."""
    return [s.winner.path for s in (c.main, *(s for _role, s in c.parts)) if s and s.winner]


def _next_folder(search: Resolution, gone: set[str], system: System) -> str:
    """Return the folder of the first candidate that stays; empty when there is none that serves."""
    staying = Resolution(
        name=search.name, attempts=tuple(a for a in search.attempts if normalise(system, a.path) not in gone)
    )
    winner = staying.winner
    return parent(system, winner.path) if winner and winner.outcome == "found" else ""


# --- the cache of kernels -------------------------------------------------------------------------------------------


def cache_of(changes: tuple[Change, ...]) -> str:
    """Return the folder that a plan moves aside, if it does nothing else; else an empty text."""
    match changes:
        case (FileSet(items=(item,), folders=()),) if (item.before, item.after) == ("folder", ""):
            return item.path
    return ""


@contextmanager
def empty_cache() -> Iterator[str]:
    """Yield a new, empty folder of this user's."""
    with scratch.scratch_folder() as folder:
        yield str(folder)


# --- overlays ------------------------------------------------------------------------------------------------------


@contextmanager
def planned_folders(changes: tuple[Change, ...]) -> Iterator[dict[str, str]]:
    """Yield each folder that files are placed in -> a temporary folder with its future content."""
    made: dict[str, str] = {}
    with scratch.scratch_folder() as base:
        for change in changes:
            for item in change.items if isinstance(change, FileSet) else ():
                folder, name = os.path.split(item.path)
                overlay = base / str(len(made)) if folder not in made else Path(made[folder])
                if folder not in made:
                    made[folder] = str(overlay)
                    _mirror(folder, overlay)
                with suppress(FileNotFoundError):
                    (overlay / name).unlink()
                if item.after.startswith("-> "):
                    (overlay / name).symlink_to(item.after[3:])
                elif item.text is not None:
                    (overlay / name).write_text(item.text, encoding="utf-8")
                elif item.after and item.source:
                    _link_or_copy(item.source, overlay / name)
        yield made


def _mirror(folder: str, overlay: Path) -> None:
    overlay.mkdir()
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink() or entry.is_file():
                _link_or_copy(entry.path, overlay / entry.name)


def _link_or_copy(source: str, target: Path) -> None:
    """Give a file another name: a hard link where that can be, else a symbolic one, else a copy."""
    real = os.path.realpath(source)
    try:
        target.hardlink_to(real)
    except OSError:
        try:
            target.symlink_to(real)
        except OSError:
            shutil.copyfile(real, target)
