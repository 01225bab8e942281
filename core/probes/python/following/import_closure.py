"""Where the import of each framework fails: which modules to follow, how far, and what hints at a fault."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from core.common.late_pattern import late_pattern
from core.common.requirements import is_in_specifier, parse_requirement
from core.knowledge.modules import KnownModule, distribution_of, followed_distributions, module_of, module_table
from core.model.facts import DamagedFile, Distribution, EndedImport, Frozen
from core.probes.kept_looks import kept_look
from core.probes.python.following.dotted_modules import STANDARD
from core.probes.python.following.follower import Follower
from core.probes.python.following.framework_users import FrameworkUsers, framework_users
from core.probes.python.following.import_hints import hints_at_a_fault, is_unmet
from core.probes.python.following.time_limit import FRAMEWORK_SECONDS, MOST_SECONDS, MOST_WAITING
from core.probes.python.installed.distributions import normalise_name, required_name
from core.probes.python.installed.gone_files import DIST_INFO
from core.probes.python.installed.plugins import Plugin
from core.probes.python.installed.unfit_extensions import NOTHING_SUSPECT, WANTED_BY_ALL, Suspects, UnfitExtension
from core.probes.python.search.modules import ModuleSearch
from core.probes.sysroot import Sysroot
from core.probes.wheel_record import read_record

FREE_BYTES = 512 << 10
"""Bytes of source read of one environment without a hint at a fault: the whole start of ONNX Runtime, CTranslate2 and
CuPy, and of PyTorch and TensorFlow the part that imports other packages first.
"""

MOST_BYTES = 48 << 20
"""Bytes of source read if there is a hint: TensorFlow's start has 30 MB, PyTorch's 10 MB."""

USER_BYTES = 24 << 20
"""Bytes of source read of packages that use a framework."""

SHARED_TOPS = ("nvidia", "google")
"""Packages in which many distributions have a part of their own."""

USER_SECONDS = 4.0
"""Processor time in seconds after which no further package that uses a framework is begun, unless it is in doubt.

The next scan continues from there.
"""

PACKAGE_BYTES = 8 << 20
"""Bytes of source read of packages other than frameworks, if some of their extension modules do not load."""


Late = Callable[[bool, float], object]
"""Is called if time runs out: with whether that stops the frameworks, or only packages that use them, and the seconds by the clock that it
took.
"""


def ended_imports(
    search: ModuleSearch,
    distributions: tuple[Distribution, ...],
    where: Sysroot,
    suspects: Suspects = NOTHING_SUSPECT,
    *,
    plugins: tuple[Plugin, ...] = (),
    known: dict[str, str] | None = None,
    spent: list[float] | None = None,
    late: Late = lambda _frameworks, _seconds: None,
) -> tuple[EndedImport, ...]:
    """Return where the imports of an environment's frameworks end, of packages that use one or lost files, and of packages
    with extension modules that do not load.

    Each fault once, with all that it stops. What is found does not depend on a folder that gives nothing to what is imported, so results are
    kept without it, and a program that starts in another such folder finds them. ``known``: see ``kept_look``. ``spent``: the processor time that this scan has
    given to packages that use a framework; it is shared by all ways of starting. ``late`` is called if time runs out.
    """
    starts = [(row, d) for row in module_table().modules if row.follow and (d := _first(row, distributions))]
    if not starts and not suspects.gone and not suspects.unfit:
        return ()
    installed = {d.name: d.version for d in reversed(distributions)}
    doubtful = {d.name for row, d in starts if _lost_some(d, row, suspects, where) or is_unmet(d, installed)}
    starts.sort(key=lambda one: one[1].name not in doubtful)  # time goes first to what is in doubt
    spent = [] if spent is None else spent

    def ends(its: ModuleSearch, elsewhere: frozenset[str]) -> tuple[EndedImport, ...] | None:
        kept = {} if known is None else known
        of_one = _Ends(its, distributions, where, suspects, elsewhere, kept, spent, late, plugins)
        return of_one.of_all(starts)

    idle = search.idle_entries(STANDARD)
    if idle and (found := ends(search.without(idle), frozenset().union(*idle.values()))) is not None:
        left = [n for n in range(len(search.search.entries)) if n not in idle]
        return tuple(msgspec.structs.replace(e, entry=left[e.entry]) if e.entry >= 0 else e for e in found)
    return ends(search, frozenset()) or ()


class _Kept(Frozen, frozen=True):
    """What came of following the frameworks."""

    found: tuple[EndedImport, ...]
    not_found: tuple[str, ...]
    """Names that no entry of the search has."""


class _Ends:
    """Where the imports of one environment end on one search path.

    ``elsewhere``: names that a folder has which was left out of the search. If one of them is looked for in vain, there is no answer.
    """

    def __init__(  # noqa: PLR0917 - what ended_imports has
        self,
        search: ModuleSearch,
        distributions: tuple[Distribution, ...],
        where: Sysroot,
        suspects: Suspects,
        elsewhere: frozenset[str],
        known: dict[str, str],
        spent: list[float],
        late: Late,
        plugins: tuple[Plugin, ...],
    ) -> None:
        self._search, self._distributions, self._where, self._suspects = search, distributions, where, suspects
        self._elsewhere, self._known, self._spent, self._late = elsewhere, known, spent, late
        self._plugins = plugins

    def of_all(self, starts: list[tuple[KnownModule, Distribution]]) -> tuple[EndedImport, ...] | None:
        """Return the ends for frameworks and for what uses them; None where there is no answer."""

        def look(watched: Sysroot) -> tuple[_Kept, bool]:
            its, begun = self._search.seen_through(watched), time.monotonic()
            found, had_time = _followed(starts, its, self._distributions, watched, self._suspects, self._plugins)
            if not had_time:
                self._late(True, time.monotonic() - begun)
            return _Kept(found, tuple(sorted(its.not_found))), had_time

        settings = sys.version, sorted(sys.builtin_module_names), self._search.search_settings
        given = (*settings, self._distributions, starts, self._suspects, self._plugins)
        kept = kept_look("imports", given, _Kept, look, self._where, known=self._known)
        if not self._elsewhere.isdisjoint(kept.not_found):
            return None
        return self._of_users(starts, kept.found, given) if starts else kept.found

    def _of_users(
        self, starts: list[tuple[KnownModule, Distribution]], found: tuple[EndedImport, ...], given: object
    ) -> tuple[EndedImport, ...] | None:
        """Return the ends, with those of packages that use a framework, portion by portion as far as there is time."""

        def look(watched: Sysroot) -> tuple[FrameworkUsers, bool]:
            return framework_users(starts, self._search.seen_through(watched), self._distributions, watched), True

        users = kept_look("users of frameworks", given, FrameworkUsers, look, self._where, known=self._known)
        broken = sorted({name for ended in found for name in ended.starts})
        closed = frozenset((*(row.module for row, _d in starts if not row.extends), "numpy")) - set(broken)
        whole = frozenset(users.whole)
        extensions = {row.module: (row, d) for row, d in starts if row.extends}
        rest, ends = users.modules, {_with_starts(ended, ()): list(ended.starts) for ended in found}
        first = frozenset((*ends, *(msgspec.structs.replace(ended, plugin="") for ended in ends)))
        begun, since, followed = time.thread_time(), time.monotonic(), 0
        last_begin = begun + (MOST_SECONDS if users.in_doubt or broken else USER_SECONDS) - sum(self._spent)
        end = begun + MOST_SECONDS, since + MOST_WAITING
        known: frozenset[str] = frozenset()
        while rest:

            def look_further(
                watched: Sysroot, modules: tuple[str, ...] = rest, known: frozenset[str] = known
            ) -> tuple[_Followed, bool]:
                nonlocal followed
                followed += 1
                its = self._search.seen_through(watched)
                follower = Follower(
                    its,
                    users.every,
                    watched,
                    USER_BYTES,
                    closed=closed,
                    whole=whole,
                    suspects=self._suspects,
                    end=end,
                    known=known,
                )
                portion = _portion(modules, extensions, follower, last_begin, alone=followed == 1)
                found = {"not_found": its.not_found, "followed": follower.followed - known}
                kept = {name: tuple(sorted(values)) for name, values in found.items()}
                return msgspec.structs.replace(portion, **kept), portion.done > 0

            key = (given, broken, rest, sorted(known))
            portion = kept_look("imports of users", key, _Followed, look_further, self._where, known=self._known)
            if not self._elsewhere.isdisjoint(portion.not_found):
                return None
            for ended in portion.found:
                if (bare := _with_starts(ended, ())) not in first:
                    ends.setdefault(bare, []).extend(ended.starts)
            if not portion.done:
                self._late(False, time.monotonic() - since)
                break
            rest, known = rest[portion.done :], known.union(portion.followed)
        self._spent.append(time.thread_time() - begun)
        started = (_with_requirer(_with_starts(ended, names), users.every) for ended, names in ends.items())
        return tuple(_with_refusal(ended, users.every) for ended in started)


def _followed(  # noqa: PLR0917 - what a follower is given
    starts: list[tuple[KnownModule, Distribution]],
    search: ModuleSearch,
    distributions: tuple[Distribution, ...],
    where: Sysroot,
    suspects: Suspects,
    plugins: tuple[Plugin, ...],
) -> tuple[tuple[EndedImport, ...], bool]:
    """Return the faults of frameworks and of packages that lost something, and whether there was time for all of them."""
    hint = suspects != NOTHING_SUSPECT or hints_at_a_fault(search, distributions, [d for _row, d in starts], where)
    end = time.thread_time() + FRAMEWORK_SECONDS, time.monotonic() + MOST_WAITING
    follower = Follower(search, distributions, where, MOST_BYTES if hint else FREE_BYTES, suspects=suspects, end=end)
    found: dict[EndedImport, list[str]] = {}
    losers = _losers(search, distributions, where, suspects, end)
    for lost_start, lost_end in _of_losers(losers, suspects, where):
        found.setdefault(lost_end, []).append(lost_start)
    for lost_project in _of_lost_projects(search, follower, where):
        found.setdefault(lost_project, []).append(lost_project.wanted)
    for row, distribution in starts:
        if not row.extends and (ended := follower.follow_framework(row, distribution)):
            found.setdefault(ended, []).append(row.module)
    plugged = {p.owner for p in plugins}
    for plugin, ended in _of_plugins(plugins, search, distributions, where, suspects, end):
        found.setdefault(ended, []).append(plugin.framework)
    further = Follower(search, distributions, where, PACKAGE_BYTES, suspects=suspects, end=end)
    reported = {ended.owner for ended in found if ended.kind == "unfit"}
    for one in suspects.unfit:
        if one.ends:
            its_end = further.endings.at_extension(one)
            its_end = msgspec.structs.replace(its_end, plugin=one.owner if one.owner in plugged else "")
            found.setdefault(its_end, []).append(one.ends)
            reported |= {one.owner}
        elif one.is_library:
            name, _space, version = one.owner.partition(" ")
            further.follow(module_of(name))
            if opened := further.import_that_opens(one.path, name, version, one.edge):
                found.setdefault(opened[0], []).append(opened[1])
        elif one.owner not in reported and (its := _of_package(one, further, where)):
            found.setdefault(its, []).extend(_own_start(its, one, further))
            reported |= {one.owner} if one.owner else set()
    linked = {one.edge.name for one in suspects.unfit if one.edge and one.recorded}
    for lost in (d for d in suspects.gone if not d.path.endswith(".py") and where.name(d.path) not in linked):
        its_own = lost.path, lost.distribution, lost.version
        if opened := losers.import_that_opens(*its_own) or follower.import_that_opens(*its_own):
            found.setdefault(opened[0], []).append(opened[1])
    return tuple(_with_starts(ended, names) for ended, names in found.items()), follower.limit.had_time


def _of_plugins(  # noqa: PLR0917 - what a follower is given
    plugins: tuple[Plugin, ...],
    search: ModuleSearch,
    distributions: tuple[Distribution, ...],
    where: Sysroot,
    suspects: Suspects,
    end: tuple[float, float],
) -> Iterator[tuple[Plugin, EndedImport]]:
    """Yield where the imports of plug-ins end, of which the frameworks themselves are not followed again."""
    frameworks = frozenset(p.framework for p in plugins)
    tops = frozenset(p.module.partition(".")[0] for p in plugins)
    every = (*distributions, *(p.distribution for p in plugins))
    follower = Follower(search, every, where, PACKAGE_BYTES, closed=frameworks, whole=tops, suspects=suspects, end=end)
    for plugin in plugins:
        if ended := follower.imported_by_code(plugin.framework, plugin.module):
            yield plugin, msgspec.structs.replace(ended, plugin=plugin.owner)


class _Followed(Frozen, frozen=True):
    """What following the imports found before time ran out."""

    done: int
    """How many of the modules were followed."""
    found: tuple[EndedImport, ...]
    not_found: tuple[str, ...] = ()
    """Names that no entry of the search has."""
    followed: tuple[str, ...] = ()
    """Modules that the next portion need not follow again."""


def _portion(
    modules: tuple[str, ...],
    extensions: Mapping[str, tuple[KnownModule, Distribution]],
    follower: Follower,
    last_begin: float,
    *,
    alone: bool,
) -> _Followed:
    """Follow one module after the other while there is time and source may be read; the next portion begins with the first that is not done.
    After ``last_begin`` (this thread's processor time) no module is begun.

    A module that takes all the time ``alone`` counts as done, so that the next scan comes further.
    """
    found: dict[EndedImport, list[str]] = {}
    done = 0
    for module in modules:
        if time.thread_time() > last_begin:
            break
        ended = follower.follow_framework(*extensions[module]) if module in extensions else follower.follow(module)
        if ended:
            found.setdefault(ended, []).append(module)
        elif not follower.limit.had_time or (done and not follower.may_read):
            break  # The next portion begins with it.
        done += 1
        if not follower.may_read:
            break
    if not done and alone and follower.limit.is_exhausted:
        done = 1
    return _Followed(done=done, found=tuple(_with_starts(ended, names) for ended, names in found.items()))


def _losers(
    search: ModuleSearch,
    distributions: tuple[Distribution, ...],
    where: Sysroot,
    suspects: Suspects,
    end: tuple[float, float],
) -> Follower:
    """Return what follows the packages that lost files, or have odd ones, and no others: what is whole costs the time that these need."""
    lost = frozenset(one.dotted.partition(".")[0] for one in (*suspects.gone, *suspects.odd))
    return Follower(search, distributions, where, USER_BYTES, only=lost, suspects=suspects, end=end)


def _of_losers(follower: Follower, suspects: Suspects, where: Sysroot) -> Iterator[tuple[str, EndedImport]]:
    """Yield where the imports of packages end that lost files: of the package itself, not of each module below it. Frameworks' are followed anyway."""
    mine: dict[tuple[str, str, str], list[DamagedFile]] = {}
    rows = [row for row in module_table().modules if row.follow]
    unlike = (*suspects.gone, *suspects.odd)
    for one in (d for d in unlike if not any(re.fullmatch(r.distributions, d.distribution) for r in rows)):
        mine.setdefault((one.distribution, one.version, one.location), []).append(one)
    for (name, version, location), its in mine.items():
        record = read_record(Distribution(name=name, version=version, location=location), where)
        packages = {f.replace("/", ".") for f in re.findall(r"(?m)^([^\",\n]+)/__init__\.pyc?,", record)}
        for start in sorted(packages | {one.dotted for one in its if "." not in one.dotted}):
            if start.rpartition(".")[0] in packages or not _is_public(start):
                continue
            lost = [one for one in its if f"{one.dotted}.".startswith(f"{start}.")]
            whole = "size differs"  # as far as is known: following it tells
            itself = next((d for d in lost if d.dotted == start and not d.with_folder and d.state != whole), None)
            ended = follower.follow(start) if lost else None
            if ended is None and itself:
                ended = follower.endings.at_lost_start(start, itself)
            if ended:
                yield start, ended


EDITABLE = late_pattern(r'"editable"\s*:\s*true\b')


def _of_lost_projects(search: ModuleSearch, follower: Follower, where: Sysroot) -> Iterator[EndedImport]:
    """Yield the editable installations (PEP 660, PEP 610) whose folders are gone; frameworks' are told where these are followed."""
    known = followed_distributions()
    for folder in search.search.packages:
        names = where.names(folder) or ()
        infos = [m for n in names if (m := DIST_INFO.fullmatch(n))] if any(n.endswith(".pth") for n in names) else []
        for info in infos:
            told = where.text(where.join(folder, info[0], "direct_url.json")) or ""
            name = normalise_name(info[1])
            if EDITABLE.search(told) and not any(re.fullmatch(pattern, name) for pattern in known):
                its = Distribution(name=name, version=info[2], location=folder)
                if search.find(module_of(name)).kind == "none" and (ended := follower.endings.at_lost_project(its)):
                    yield ended


def _is_public(dotted: str) -> bool:
    return not any(part.startswith("_") or "test" in part for part in dotted.split("."))


def _of_package(one: UnfitExtension, follower: Follower, where: Sysroot) -> EndedImport | None:
    """Return where an import of a package ends that is no framework; None where nothing shows that a program comes to it.

    Its own start counts, that of each package on the way to the module, and of the modules beside it that have a public name.
    """
    if one.edge is None:
        return None  # a file that was taken away: who is no framework may well do without it
    *above, stem = one.dotted.split(".")
    if one.owner:
        packages = [".".join(above[:n]) for n in range(1, len(above) + 1)]
        beside = where.names(where.parent(one.path)) or () if above else ()
        modules = (n.removesuffix(".py") for n in sorted(beside) if n.endswith(".py") and not n.startswith("_"))
        starts = [*packages, *(f"{packages[-1]}.{n}" for n in modules)] if packages else []
        for start in starts:
            if _is_public(start):
                ended = follower.follow(start)
                if ended is not None and ended.path == one.path:
                    return ended
    itself = one.path in (one.edge.path, one.edge.name)  # the module's own file
    core = bool(one.owner) and stem.lstrip("_") in (above[-1:] or [stem.lstrip("_")])
    if itself or core or (one.is_every and _is_public(one.dotted)) or where.name(one.path).startswith(WANTED_BY_ALL):
        return follower.endings.at_extension(one)
    return None


def _own_start(ended: EndedImport, one: UnfitExtension, follower: Follower) -> list[str]:
    """Return the package whose own import, or that of a public package below it, comes to this end; none for its modules alone."""
    *above, _stem = one.dotted.split(".")
    packages = [".".join(above[:n]) for n in range(1, len(above) + 1)] if one.owner else []
    for package in packages:
        if not _is_public(package):
            continue
        its = follower.follow(package)
        if its is not None and its.path == ended.path:
            return packages[1:2] if packages[0] in SHARED_TOPS else packages[:1]
    return []


def _with_starts(ended: EndedImport, names: Iterable[str]) -> EndedImport:
    return msgspec.structs.replace(ended, starts=tuple(names))


def _with_requirer(ended: EndedImport, every: tuple[Distribution, ...]) -> EndedImport:
    """Return a missing module with the package that requires what should contain it."""
    wanted = distribution_of(ended.wanted) if ended.kind == "absent" and not ended.owner else ""
    for its, wish in ((d, w) for d in every if wanted for w in d.pins if ";" not in w and required_name(w) == wanted):
        asked = parse_requirement(wish)
        versions = asked.specifier if asked else ""
        by = f"{its.name} {its.version}"
        return msgspec.structs.replace(ended, required_by=by, required_versions=versions)
    return ended


FOR_WORK_ON_IT = late_pattern(r"(?i)all|dev|test|doc|quality|lint|style|bench|ci\b|release")
"""In the names of extras that those who write a package install; they pin what was there once."""


def _with_refusal(ended: EndedImport, every: tuple[Distribution, ...]) -> EndedImport:
    """Return an end with the package that asks for another release of the one whose import ends; an extra of it that is met says that it
    does without.
    """
    there = {d.name: d.version for d in every}
    ending = {name for s in ended.starts if "/" not in s and (name := distribution_of(s)) in there}
    for its in every if ending else ():
        asked = [
            wish
            for raw in (*its.pins, *its.requires)
            if (wish := parse_requirement(raw))
            and normalise_name(wish.name) in ending - {its.name}
            and _is_plain(wish.marker)
        ]
        refused = [w for w in asked if is_in_specifier(w.specifier, there[normalise_name(w.name)]) is False]
        if refused and len(refused) == len(asked):
            by, what = f"{its.name} {its.version}", f"{normalise_name(refused[0].name)}{refused[0].specifier}"
            return msgspec.structs.replace(ended, refused_by=by, asked_of_it=what)
    return ended


def _is_plain(marker: str) -> bool:
    """Whether a requirement holds everywhere, or with an extra for users."""
    extra = re.fullmatch(r"\s*extra\s*==\s*[\"']([^\"']+)[\"']\s*", marker)
    return not marker or (extra is not None and not FOR_WORK_ON_IT.search(extra[1]))


def _lost_some(its: Distribution, row: KnownModule, suspects: Suspects, where: Sysroot) -> bool:
    inner = where.join(its.location, row.module) + where.path_module.sep
    return any(one.path.startswith(inner) for one in (*suspects.gone, *suspects.odd))


def _first(row: KnownModule, distributions: Iterable[Distribution]) -> Distribution | None:
    return next((d for d in distributions if re.fullmatch(row.distributions, d.name)), None)
