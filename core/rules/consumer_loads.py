"""One consumer's load, in the form that the rules need: the copy that it takes, its environment's own copy, and the origin of the parts."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from core.common.i18n import _, translate_fact
from core.common.text import join_names
from core.common.versions import is_older, version_tuple, versions_differ
from core.knowledge.cudnn_file_names import parse_cudnn_name, role_of
from core.knowledge.keepers import keeper_of
from core.knowledge.releases import FaultyRelease, compatibility_table, faulty_release, files_lost, is_never_there
from core.model.facts import Attempt, Call, CudnnCopy, How, LibraryFile, Load, Resolution, RollCall, Snapshot, System
from core.model.findings import Evidence
from core.model.paths import file_name, form_of, normalise, parent
from core.rules.counter import CounterOutcome, judge_failures
from core.rules.snapshot_queries import copy_at, cudnn_mapped, is_of_environment, main_resolution, python_of
from core.rules.wording import Concern, concern_row, observation


class ConsumerLoad(msgspec.Struct, frozen=True):
    """One Load with everything that is known about it."""

    seen: Snapshot
    load: Load
    main: Resolution | None
    """The search for the main library; None if there was none."""
    copy: CudnnCopy | None
    """The copy that the loader takes the main library from."""
    own: CudnnCopy | None
    """The copy in the consumer's own environment."""
    parts: tuple[tuple[str, Resolution], ...]
    """Role and search of every sub-library; of several names for one role, the first that is found."""

    @property
    def system(self) -> System:
        """The machine's system."""
        return self.seen.machine.system

    @property
    def winner(self) -> Attempt | None:
        """The file that is loaded as the main library."""
        return self.main.winner if self.main else None

    @property
    def version(self) -> str | None:
        """The release that answered the roll call, else that of the copy; None: unknown."""
        return (self.load.roll_call.version if self.load.roll_call else None) or (
            self.copy.version if self.copy else None
        )

    @property
    def is_requested(self) -> bool:
        """Whether this major version is really requested: by a framework, or by a pinned or bundled copy."""
        return bool(self.load.consumer.framework or self.load.wanted_version or self.own)

    @property
    def loaded_by(self) -> str:
        """Who loads it, as a reader knows it: the framework, or else the consumer."""
        return self.load.consumer.framework or translate_fact(self.load.consumer.label)

    @property
    def concerns(self) -> Concern:
        """Whom it concerns, as evidence."""
        return concern_row(self.load.consumer)


def consumer_load(seen: Snapshot, load: Load) -> ConsumerLoad:
    """Combine a Load with what is known of its files."""
    main = main_resolution(seen, load)
    winner = main.winner if main else None
    copy = copy_at(seen, winner.path) if winner else None
    own = copy if copy and _is_bundled(copy, load, seen) else own_copy(seen, load)
    return ConsumerLoad(seen, load, main, copy, own, tuple(_parts(load)))


def _is_bundled(copy: CudnnCopy, load: Load, seen: Snapshot) -> bool:
    r"""Whether a copy is the one inside the consumer's framework, for example torch\lib on Windows."""
    name = load.consumer.framework.partition(" ")[0]
    theirs = bool(name) and copy.origin == "framework" and copy.owner.partition(" ")[0] == name
    return theirs and is_of_environment(seen, load.consumer.prefix, copy.folder)


def consumer_loads(seen: Snapshot) -> Iterator[ConsumerLoad]:
    """Yield every load."""
    return (consumer_load(seen, load) for load in seen.loads or ())


def is_built_without_cuda(c: ConsumerLoad) -> bool:
    """Whether the files of a consumer's framework are a build without CUDA, which asks for no cuDNN."""
    its = c.load.consumer
    mine = [b for b in c.seen.builds if (b.prefix, b.distribution) == (its.prefix, its.framework.partition(" ")[0])]
    return any(b.cuda == "" and not b.other for b in mine)


def own_copy(seen: Snapshot, load: Load) -> CudnnCopy | None:
    """Return the copy of the wanted major version in the consumer's environment; a wheel's takes precedence."""
    prefix = load.consumer.prefix
    if not prefix:
        return None
    system = seen.machine.system
    mine = [
        c
        for c in seen.cudnn or ()
        if c.major == load.major
        and (normalise(system, c.environment) == normalise(system, prefix) or is_of_environment(seen, prefix, c.folder))
    ]
    return min(mine, key=lambda c: (c.origin not in ("wheel", "conda"), len(c.missing)), default=None)


def _parts(load: Load) -> Iterator[tuple[str, Resolution]]:
    found: dict[str, Resolution] = {}
    for search in load.resolutions:
        role = role_of(search.name)
        if not role:
            continue
        old = found.get(role)
        if old is None or (old.winner is None and search.winner is not None):
            found[role] = search
    yield from found.items()


def load_failures(c: ConsumerLoad) -> list[Evidence]:
    """Return the failures in a load's roll call; a part that its release never contained does not count.

    Parts that only wait for the GPU's driver are not cuDNN's fault: see ``calls_waiting_for_driver``.
    """
    rows = roll_call_failures(c.load.roll_call, faulty_release(c.copy) if c.copy else None, needing_driver(c))
    output = c.load.roll_call.output if c.load.roll_call else ""
    if rows and "zlibwapi" in output.lower() and is_older(c.version, "8.9.4") is False:
        fact = compatibility_table().fact("zlib_static")
        rows.insert(0, observation(_("This message is misleading"), _(fact.fact), fact.source))
    return rows


def needing_driver(c: ConsumerLoad) -> frozenset[str]:
    """Return the names of a copy's files that need the driver's own library where Windows finds none; Linux names it itself."""
    if (
        c.system != "windows"
        or c.copy is None
        or any(s.winner for s in c.load.resolutions if s.name.lower() == DRIVER_DLL)
    ):
        return frozenset()
    needed = {f.name.lower(): {n.lower() for n in f.needed} for f in c.copy.files}
    names = {name for name, its in needed.items() if DRIVER_DLL in its}
    for _link in range(3):  # the longest chain of cuDNN files that need each other
        names |= {name for name, its in needed.items() if its & names}
    return frozenset(names)


DRIVER_DLL = "nvcuda.dll"
NO_LIBCUDA = "libcuda.so.1: cannot open shared object file"
"""glibc's message if a library needs the driver's own and there is none."""


def waits_for_driver(call: Call, needing: frozenset[str] = frozenset()) -> bool:
    """Whether a library could not be opened only because the driver's own library is missing (126: Windows found no file)."""
    if call.function.startswith("cudnn") or call.result == 0:
        return False
    return call.meaning.startswith(NO_LIBCUDA) or (call.result == 126 and _file(call).lower() in needing)


def calls_waiting_for_driver(c: ConsumerLoad) -> list[Call]:
    """Return the loads in a roll call that failed only because the GPU's driver is missing."""
    needing = needing_driver(c)
    return [call for call in (c.load.roll_call.calls if c.load.roll_call else ()) if waits_for_driver(call, needing)]


def _file(call: Call) -> str:
    return file_name(form_of(call.library), call.library)


def _failures_of(roll: RollCall, row: FaultyRelease | None, needing: frozenset[str]) -> tuple[list[Call], bool]:
    """Return a roll call's failures, and whether its child's crash is one.

    If libraries failed only for lack of the driver, the functions that open them fail for the same reason.
    """
    calls = [c for c in roll.calls if call_failed(c.function, c.result) and not is_never_there(row, c.library)]
    left = [c for c in calls if not waits_for_driver(c, needing)]
    if len(left) < len(calls) and all(c.function.startswith("cudnn") for c in left):
        return [], False
    return left, bool(roll.ended)


def roll_call_failures(
    roll: RollCall | None, row: FaultyRelease | None = None, needing: frozenset[str] = frozenset()
) -> list[Evidence]:
    """Return the failures in a roll call as evidence; empty if there were none, or no roll call.

    ``row``: the faulty release whose missing part does not count. ``needing``: see ``needing_driver``.
    """
    if roll is None:
        return []
    rows = []
    calls, ended = _failures_of(roll, row, needing)
    for call in calls:
        meaning = translate_fact(call.meaning)
        parts = (_("failed") + ":" * bool(meaning), meaning) if call.result is None else (str(call.result), meaning)
        answer = " ".join(parts).strip()
        rows.append(observation(f"{call.function} {_file(call)}".strip(), answer, _("roll call in a child process")))
    if ended:
        rows.append(observation(_("The child process"), translate_fact(roll.ended), _("roll call in a child process")))
    if rows and roll.output.strip():
        lines = [line for line in roll.output.strip().splitlines() if line.strip()]
        rows.append(observation(_("It printed"), "\n".join(lines[:3])[:400], "cuDNN"))
    return rows


def failures_of(
    roll: RollCall | None, row: FaultyRelease | None = None, needing: frozenset[str] = frozenset()
) -> frozenset[tuple[str, ...]] | None:
    """Return a roll call's failures in a form that can be compared between runs; None if there was none."""
    if roll is None or not (roll.calls or roll.version or roll.ended):
        return None
    calls, ended = _failures_of(roll, row, needing)
    return frozenset({(c.function, _file(c), str(c.result)) for c in calls} | ({("ended",)} if ended else set()))


def counter_test(c: ConsumerLoad) -> CounterOutcome:
    """Return what the roll call without LD_LIBRARY_PATH proves about that variable."""
    clean = c.load.clean_roll_call
    there = copy_at(c.seen, clean.loaded) if clean else None
    row = faulty_release(there) if there else None
    first = failures_of(c.load.roll_call, faulty_release(c.copy) if c.copy else None, needing_driver(c)) or frozenset()
    return judge_failures(first, failures_of(clean, row))


def call_failed(function: str, result: int | None) -> bool:
    """Whether a call's result is a failure: a status other than 0, or none; functions that return numbers are different."""
    if function.startswith("cudnnGet"):
        return not result
    return result != 0


def roll_call_passed(roll: RollCall | None) -> bool:
    """Whether there was a roll call and every call in it succeeded."""
    if roll is None or not (roll.calls or roll.version):
        return False
    return not roll_call_failures(roll) and not any(waits_for_driver(c) for c in roll.calls)


def is_unimportant(c: ConsumerLoad) -> bool:
    """Whether little depends on this load: nothing requests it, or it is a plain program's and the environments' loads work."""
    loads = c.seen.loads or ()
    if c.load.consumer.kind != "plain":
        return not c.load.consumer.framework
    theirs = [x.roll_call for x in loads if x.consumer.kind != "plain" and x.roll_call]
    return any((r.calls or r.version) and not roll_call_failures(r) for r in theirs)


def found_by_ld_library_path(attempt: Attempt | None) -> bool:
    """Whether this candidate was found through LD_LIBRARY_PATH."""
    return attempt is not None and attempt.how is How.LD_LIBRARY_PATH


def parts_elsewhere(c: ConsumerLoad) -> list[tuple[str, str]]:
    """Return (role, folder) of the parts found in another folder than the main library."""
    if c.winner is None:
        return []
    home = normalise(c.system, parent(c.system, _real(c, c.winner.path)))
    out = []
    for role, search in c.parts:
        if search.winner and search.winner.how is not How.LOADED:
            folder = parent(c.system, _real(c, search.winner.path))
            if normalise(c.system, folder) != home:
                out.append((role, folder))
    return out


def _real(c: ConsumerLoad, path: str) -> str:
    """Return the target of a link, if the snapshot knows it."""
    copy = copy_at(c.seen, path)
    wanted = normalise(c.system, path)
    for file in copy.files if copy else ():
        if normalise(c.system, file.path) == wanted and file.real_path:
            return file.real_path
    return path


def mapped_folders(c: ConsumerLoad) -> list[str]:
    """Return the folders from which cuDNN's files were really mapped."""
    roll = c.load.roll_call
    files = [m.path for m in cudnn_mapped(roll.mapped if roll else ())]
    return list(dict.fromkeys(parent(c.system, path) for path in files))


def is_whole(copy: CudnnCopy) -> bool:
    """Whether a copy has every file that was published with it, intact, each of the release in its name."""
    return not files_lost(copy) and all(f.state == "good" and not true_name(f) for f in copy.files)


def true_name(file: LibraryFile) -> str:
    """Return the name with which a cuDNN library was built, if the file has another one's name; empty if they agree.

    A link or copy with another name does not change the content: its SONAME, the real file's name, its version.
    """
    own = parse_cudnn_name(file.name)
    if own is None or own.major is None:
        return ""
    real = file_name(form_of(file.real_path), file.real_path)
    for name in (file.soname, real):
        other = parse_cudnn_name(name)
        if other and other.major is not None and (other.role, other.major) != (own.role, own.major):
            return name
    if version_tuple(file.version)[:1] not in ((), (own.major,)):
        return f"cuDNN {file.version}"
    return ""


def is_assembled(c: ConsumerLoad, copy: CudnnCopy) -> bool:
    """Whether the loader finds every missing part of a copy in another folder, from the same release, and all calls
    succeeded.

    Files listed in a package's RECORD still count as missing: only its own files are known to be the right ones.
    """
    if copy.origin in ("wheel", "conda") or c.copy is None or copy.folder != c.copy.folder or not copy.missing:
        return False
    parts = {role: search.winner for role, search in c.parts}
    found = [parts.get(role_of(name) or "") for name in copy.missing]
    others = [copy_at(c.seen, w.path) if w and w.outcome == "found" else None for w in found]
    if any(other is None for other in others) or not roll_call_passed(c.load.roll_call):
        return False
    return not any(
        versions_differ(f.version, copy.version) for other in others if other for f in other.files if f.version
    )


def is_meant_for(c: ConsumerLoad, copy: CudnnCopy) -> bool:
    """Whether a copy is meant for this consumer: it is in its own environment, or in none."""
    if copy.environment:
        return normalise(c.system, copy.environment) == normalise(c.system, c.load.consumer.prefix)
    return copy.origin != "framework"


def usable_copies(c: ConsumerLoad) -> list[CudnnCopy]:
    """Return all copies of the wanted major version that are meant for this consumer, wherever they are."""
    return [x for x in c.seen.cudnn or () if x.major == c.load.major and is_meant_for(c, x)]


def misses_cudnn(c: ConsumerLoad) -> bool:
    """Whether the lack of cuDNN matters to a consumer: it is requested, or no environment has its own."""
    others = (consumer_load(c.seen, load) for load in c.seen.loads or () if load.consumer.kind != "plain")
    return c.is_requested or not any(other.own is not None or other.winner is not None for other in others)


def used_folders(seen: Snapshot) -> set[str]:
    """Return every folder, normalised, from which some consumer takes a cuDNN file, or would if its copy were complete."""
    system = seen.machine.system
    folders = set()
    for c in consumer_loads(seen):
        winners = [c.winner, *(search.winner for _, search in c.parts)]
        folders |= {normalise(system, parent(system, w.path)) for w in winners if w}
        folders |= {normalise(system, folder) for folder in mapped_folders(c)}
        if c.own:
            folders.add(normalise(system, c.own.folder))
        if c.main and c.winner is None and misses_cudnn(c) and not any(is_whole(x) for x in usable_copies(c)):
            folders |= {normalise(system, x.folder) for x in usable_copies(c)}
    return folders


FREE_PARTS = 9
"""First major version of cuDNN whose main library calls parts of other releases. With that of 9.1 and parts of 9.10 all version checks of its
own succeed, and it tells the version of the parts; JAX convolved on an H200 with that of 9.19 and parts of 9.14.
"""


def takes_newer_set(c: ConsumerLoad) -> bool:
    """Whether a consumer gets a whole cuDNN that is newer than its own, of the same major version, and that answered in a child process.

    PyTorch, TensorFlow and JAX refuse a cuDNN that is older than the one that they were built with, and take a newer one.
    """
    own = c.own
    places = [s.winner.path if s.winner else "" for _role, s in c.parts]
    if own is None or not places or c.winner is None:
        return False
    got = copy_at(c.seen, places[0])
    if got is None or got.major != own.major or not is_older(own.version, got.version):
        return False
    main, *folders = (normalise(c.system, parent(c.system, path)) for path in (c.winner.path, *places))
    own_main = got.major >= FREE_PARTS and main == normalise(c.system, own.folder)
    in_one_place = len({*folders, *(() if own_main else (main,))}) == 1
    return in_one_place and is_whole(got) and roll_call_passed(c.load.roll_call) and not load_failures(c)


def describe_copy(copy: CudnnCopy | None) -> str:
    """Return a copy in words: "cuDNN 9.1.0 of nvidia-cudnn-cu12 9.1.0.70", "cuDNN 8.9.7 in /opt/cudnn"."""
    if copy is None:
        return "cuDNN"
    version = copy.version or _("{major} (version unknown)", major=copy.major)
    return (
        _("cuDNN {version} of {owner}", version=version, owner=copy.owner)
        if copy.owner
        else _("cuDNN {version} of {keeper} in {folder}", version=version, keeper=keeper.keeper, folder=copy.folder)
        if (keeper := keeper_of(copy.folder))
        else _("cuDNN {version} in {folder}", version=version, folder=copy.folder)
    )


def by_importance(seen: Snapshot) -> list[ConsumerLoad]:
    """Return the loads; those of environments that the person named or that are active come first."""
    return sorted(consumer_loads(seen), key=lambda c: environment_rank(seen, c.load.consumer.prefix))


DEFAULT = 2
"""The rank of the environment that ``python`` starts."""


def environment_rank(seen: Snapshot, prefix: str) -> int:
    """Return 0 for an environment that was named, 1 for an active one, 2 for the default one, 3 for any other."""
    python = python_of(seen, prefix) if prefix else None
    ways = python.ways if python else ()
    if python and python.is_named:
        return 0
    if {"VIRTUAL_ENV", "CONDA_PREFIX"} & set(ways):
        return 1
    return DEFAULT if {"python", "python3"} & set(ways) else DEFAULT + 1


def versions_text(copies: list[CudnnCopy]) -> str:
    """Return the versions of some copies as a list in words."""
    found = sorted({c.version or str(c.major) for c in copies}, key=version_tuple)
    return join_names(found)
