"""Where glibc's ld.so looks for a library, in its order, with the outcome of every candidate.

After glibc's elf/dl-load.c (_dl_map_object, open_path, open_verify), checked against the running loader in the tests.
Which candidates end the search and which are skipped was found by experiment (glibc 2.36): a file of another
architecture, an unreadable or dangling one is skipped; an empty, truncated or foreign one ends the search with an
error; a loop of links ends the list of folders that it is in.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from itertools import chain as concatenate

import msgspec
from msgspec.structs import replace

from core.common.fact_text import fact_text
from core.common.late_pattern import late_pattern
from core.common.patience import call_patiently
from core.loader import read_image
from core.loader.files import path_under_root
from core.loader.image import Image
from core.loader.linux.cache import CacheEntry
from core.loader.linux.policy import LdSo, hwcaps_folders, ld_so_policy
from core.model.facts import Attempt, How, Outcome, Resolution, path_text
from core.model.path_list import LIBRARY_VARIABLE, searched_entries

__all__ = ["LdSo", "LibrarySearch", "LoadedFile", "hwcaps_folders", "judge_library", "ld_so_policy", "library_closure"]

MAX_LIBRARIES = 2000
"""Number of libraries at which ``library_closure`` stops, in case of a hostile set of dependencies."""


class LoadedFile(msgspec.Struct, frozen=True):
    """A file in the chain of dependents: its path as the loader sees it, and its headers."""

    path: str
    image: Image


# --- one file --------------------------------------------------------------------------------------------


def judge_library(image: Image, architecture: str) -> tuple[Outcome, str]:
    """Return the loader's reaction to a file of the wanted name, and why in one sentence."""
    match image.state:
        case "missing":
            return "not there", ""
        case "dangling":
            return "not there", image.problem
        case "unreadable":
            return "unreadable", image.problem
    if image.format == "ELF" and image.little_endian and image.architecture not in ("", architecture):
        return "wrong architecture", fact_text(
            "is built for {architecture}, not {architecture2}",
            architecture=image.architecture,
            architecture2=architecture,
        )
    if image.format != "ELF" or not image.mappable or image.state in ("damaged", "not a library"):
        return "damaged", image.problem or fact_text("is not complete")
    if not image.library:
        return "damaged", fact_text("is a program, not a library")
    if not image.little_endian:
        return "damaged", fact_text("is built for processors of the other byte order")
    return "found", ""


# --- the search ------------------------------------------------------------------------------------------


class SearchPlace(msgspec.Struct, frozen=True):
    """A folder, or a file of the cache, in which the loader searches."""

    path: str
    how: How
    via: str = ""
    refused: str = ""
    """Why the loader skips it without examining it."""


class LibrarySearch:
    """One policy with a cache of what was examined, so that no file is read twice in one scan."""

    def __init__(self, policy: LdSo) -> None:
        self.policy = policy
        self.asked: dict[str, None] = {}
        """Every bare name that was searched for."""
        self._images: dict[str, Image] = {}
        self._attempts: dict[tuple[str, How, str], Attempt] = {}
        self._listings: dict[str, frozenset[str] | None] = {}
        self._subfolders: dict[str, tuple[str, ...]] = {}
        self._places: dict[tuple[tuple[str, ...], How, str, str], list[SearchPlace]] = {}
        self._cache: dict[str, list[CacheEntry]] = {}
        for entry in policy.cache:
            self._cache.setdefault(entry.name, []).append(entry)

    def with_library_path(self, value: str) -> LibrarySearch:
        """Return the search of a program with another LD_LIBRARY_PATH; both share what they examine, in which that does not count."""
        other = copy(self)
        other.policy = replace(self.policy, library_path=value)
        return other

    def read_headers(self, path: str) -> Image:
        """Return the headers of a file, read once."""
        if path not in self._images:
            folder, _slash, name = path.rpartition("/")
            names = self._names(folder or "/")
            absent = names is not None and name not in names
            self._images[path] = (
                read_image.no_image(path) if absent else read_image.read_image(path, root=self.policy.root)
            )
        return self._images[path]

    def _names(self, folder: str) -> frozenset[str] | None:
        """Return the names in a folder, listed once: most files that a loader tries are not there. None if nobody can tell."""
        if folder not in self._listings:
            try:
                names = call_patiently(os.listdir, path_under_root(self.policy.root, folder))
                self._listings[folder] = frozenset(names)
            except (FileNotFoundError, NotADirectoryError):
                self._listings[folder] = frozenset()
            except (OSError, ValueError):
                self._listings[folder] = None
        return self._listings[folder]

    @property
    def looked_at(self) -> Iterator[str]:
        """Yield every path that the results so far depend on, missing ones included."""
        yield from self._images
        heads = {sub.split("/", 1)[0] for sub in self.policy.subfolders}
        for folder in self._subfolders:
            yield from (posixpath.join(folder, head) for head in heads)

    def load(self, path: str) -> LoadedFile:
        """Return a file as the first of a chain: a program, or a library that was loaded by its path."""
        return LoadedFile(path, self.read_headers(path))

    def program(self, path: str) -> LoadedFile:
        """Return a program as the end of a chain; its links are resolved, since $ORIGIN is its real folder."""
        return self.load(_real(path) if path_under_root(self.policy.root, path) == path else path)

    def resolve(self, name: str, chain: Sequence[LoadedFile] = (), *, first: bool = False) -> Resolution:
        """Return every candidate for ``name``, in order; with ``first``, up to the one that the loader takes.

        ``chain``: the file that needs it, then the file that loaded that, up to the program itself; empty for a program
        without search paths of its own. DT_NEEDED and dlopen are searched alike in glibc.
        """
        wanted_by = path_text(chain[0].path) if chain else ""
        if "/" in name:
            path = self._absolute(self._expand(name, chain[:1]))
            attempts: Iterable[Attempt] = (self._attempt(path, How.DIRECT, path_text(name)),)
        else:
            self.asked[name] = None
            attempts = concatenate.from_iterable(self._try(name, part) for part in self._lists(name, chain))
        attempts = _as_far_as_taken(attempts) if first else attempts
        return Resolution(name=path_text(name), wanted_by=wanted_by, attempts=tuple(attempts))

    def _lists(self, name: str, chain: Sequence[LoadedFile]) -> Iterator[list[SearchPlace]]:
        """Yield the loader's lists of places, in order."""
        asker = chain[:1]
        if not (asker and asker[0].image.runpath):  # A RUNPATH of the requesting file disables every RPATH.
            for depth, link in enumerate(chain):
                if link.image.rpath and not link.image.runpath:
                    yield self._folders(link.image.rpath, How.RPATH, "RPATH", chain[depth:])
        if self.policy.library_path:
            entries = searched_entries(self.policy.library_path, "linux", LIBRARY_VARIABLE)
            yield self._folders(entries, How.LD_LIBRARY_PATH, "LD_LIBRARY_PATH", chain[-1:])
        if asker and asker[0].image.runpath:
            yield self._folders(asker[0].image.runpath, How.RUNPATH, "RUNPATH", asker)
        bare = bool(asker and asker[0].image.no_default_folders)
        yield [self._unless_default(place) if bare else place for place in self._from_cache(name)]
        if not bare:
            yield self._folders(self.policy.folders, How.DEFAULT, "", ())

    def _folders(self, entries: Iterable[str], how: How, label: str, chain: Sequence[LoadedFile]) -> list[SearchPlace]:
        """Return the folders of one list with their sub-folders, each once, in the loader's order."""
        key = (tuple(entries), how, label, chain[0].path if chain else "")
        if key not in self._places:
            self._places[key] = self._places_of(key[0], how, label, chain)
        return self._places[key]

    def _places_of(
        self, entries: Iterable[str], how: How, label: str, chain: Sequence[LoadedFile]
    ) -> list[SearchPlace]:
        places: dict[str, SearchPlace] = {}
        for entry in entries:
            folder = self._absolute(self._expand(entry, chain[:1]))
            source = (
                fact_text(" of {path}", path=posixpath.basename(chain[0].path)) if label in ("RPATH", "RUNPATH") else ""
            )
            shown = entry or fact_text("(empty entry, the current folder)")
            via = (
                fact_text("{label}{source}: {shown}", label=label, source=source, shown=path_text(shown))
                if label
                else ""
            )
            for sub in self._existing(folder):
                path = posixpath.join(folder, sub)
                places.setdefault(path, SearchPlace(path, how, via))
            places.setdefault(folder, SearchPlace(folder, how, via))
        return list(places.values())

    def _existing(self, folder: str) -> tuple[str, ...]:
        """Return the policy's sub-folders that exist in a folder; one listing shows that most folders have none."""
        if folder not in self._subfolders:
            heads = {sub.split("/", 1)[0] for sub in self.policy.subfolders}
            real = path_under_root(self.policy.root, folder)
            names = self._names(folder)
            there = heads if names is None else heads & names
            fit = (sub for sub in self.policy.subfolders if sub.split("/", 1)[0] in there)
            self._subfolders[folder] = tuple(sub for sub in fit if _is_folder(posixpath.join(real, sub)))
        return self._subfolders[folder]

    def _from_cache(self, name: str) -> list[SearchPlace]:
        """Return the cache's entries for a name: the best one for this processor, then those that the loader never tries."""
        ranks = [sub.removeprefix("glibc-hwcaps/") for sub in self.policy.subfolders if sub.startswith("glibc-hwcaps/")]
        fit = [
            entry
            for entry in self._cache.get(name, ())
            if entry.architecture == self.policy.architecture and (not entry.hwcaps or entry.hwcaps in ranks)
        ]
        fit.sort(key=lambda entry: ranks.index(entry.hwcaps) if entry.hwcaps else len(ranks))
        places = [SearchPlace(entry.path, How.LD_CACHE, "/etc/ld.so.cache") for entry in fit]
        if places and judge_library(self.read_headers(places[0].path), self.policy.architecture)[0] != "found":
            # ld.so tries only the first entry; if that is unfit, it goes on to the default folders.
            refused = fact_text("ld.so.cache names another file first, and only that one is tried")
            return [places[0], *(replace(place, refused=refused) for place in places[1:])]
        return places

    def _unless_default(self, place: SearchPlace) -> SearchPlace:
        """Reject a file in the default folders: the file that needs it was linked with -z nodefaultlib."""
        if any(place.path.startswith(folder.rstrip("/") + "/") for folder in self.policy.folders):
            return replace(place, refused=fact_text("lies in a default folder, which is switched off (nodefaultlib)"))
        return place

    def _try(self, name: str, places: Iterable[SearchPlace]) -> Iterator[Attempt]:
        """Try one list; a link that refers to itself ends the list, and the loader continues with the next one."""
        ended = False
        for place in places:
            path = place.path if place.how is How.LD_CACHE else posixpath.join(place.path, name)
            attempt = self._attempt(path, place.how, place.via)
            refused = fact_text("the list ended at a link to itself before it") if ended else place.refused
            if refused:
                attempt = replace(attempt, outcome="passed over", stops=False, detail=refused, architecture="")
            yield attempt
            ended = ended or self.read_headers(path).really == "loop"

    def _attempt(self, path: str, how: How, via: str) -> Attempt:
        key = (path, how, via)
        if key not in self._attempts:
            image = self.read_headers(path)
            outcome, detail = judge_library(image, self.policy.architecture)
            self._attempts[key] = Attempt(
                path=path_text(path),
                how=how,
                outcome=outcome,
                detail=detail,
                via=via,
                stops=outcome == "damaged",
                architecture=image.architecture if outcome == "wrong architecture" else "",
                pointer=image.pointer,
            )
        return self._attempts[key]

    def _absolute(self, path: str) -> str:
        """Return the path that a relative or empty entry stands for, without trailing slashes."""
        whole = posixpath.join(self.policy.current, path)
        return whole.rstrip("/") or "/"

    def _expand(self, entry: str, chain: Sequence[LoadedFile]) -> str:
        """Replace $ORIGIN, $LIB and $PLATFORM; if the origin is unknown, $ORIGIN stays and finds nothing."""
        words = {"LIB": self.policy.lib, "PLATFORM": self.policy.platform}
        if chain:
            words["ORIGIN"] = posixpath.dirname(self._absolute(chain[0].path))
        return PATH_TOKEN.sub(lambda found: words.get(found[1] or found[2], found[0]), entry)


def _as_far_as_taken(attempts: Iterable[Attempt]) -> Iterator[Attempt]:
    """Yield attempts up to the one that ends the search, so that no later file is examined."""
    for attempt in attempts:
        yield attempt
        if attempt.stops or attempt.outcome in ("found", "damaged"):
            return


PATH_TOKEN = late_pattern(r"\$(?:\{(ORIGIN|LIB|PLATFORM)\}|(ORIGIN|LIB|PLATFORM)(?![A-Za-z0-9_]))")


def _real(path: str) -> str:
    try:
        return str(call_patiently(os.path.realpath, path))
    except OSError:  # The path does not respond.
        return path


def _is_folder(path: str) -> bool:
    try:
        return call_patiently(os.path.isdir, path)
    except OSError:  # The path does not respond.
        return False


def library_closure(
    start: str,
    search: LibrarySearch,
    *,
    chain: Sequence[LoadedFile] = (),
    opens: Callable[[str], Iterable[str]] = lambda _path: (),
) -> tuple[Resolution, ...]:
    """Return all libraries that loading ``start`` (a path of a library or program, or a bare name) brings in, breadth
    first.

    ``chain``: who loads it. ``opens(path)``: names that a loaded file may open itself later; they are resolved after
    all dependencies, as dlopen by that file. A name that is already loaded gets one attempt, LOADED.
    """
    first = search.resolve(start, chain)
    program = search.program(start) if "/" in start else None
    if program and _is_program(program.image, search.policy.architecture):
        first = Resolution(
            name=path_text(start), attempts=(Attempt(path=path_text(program.path), how=How.DIRECT, outcome="found"),)
        )
    found: list[Resolution] = [first]
    loaded = {name: file for link in chain for name, file in _names(link).items()}
    queue = [line for line in [_loaded_chain(search, first, chain)] if line]
    later: list[tuple[str, list[LoadedFile]]] = []
    at = 0
    while (at < len(queue) or later) and len(found) < MAX_LIBRARIES:
        if at == len(queue):
            name, line = later.pop(0)
            wishes: Iterable[str] = (name,)
        else:
            line = queue[at]
            at += 1
            loaded.update(_names(line[0]))
            wishes = line[0].image.needed
            later += [(name, line) for name in opens(line[0].path)]
        for name in wishes:
            if name in loaded:
                attempt = Attempt(path=path_text(loaded[name]), how=How.LOADED, outcome="found")
                found.append(Resolution(name=name, wanted_by=path_text(line[0].path), attempts=(attempt,)))
                continue
            resolution = search.resolve(name, line)
            found.append(resolution)
            took = _loaded_chain(search, resolution, line)
            if took:
                loaded.setdefault(name, took[0].path)
                loaded.update(_names(took[0]))
                queue.append(took)
    return tuple(found)


def _is_program(image: Image, architecture: str) -> bool:
    """Whether a file is a complete program of this architecture, which is started and not loaded."""
    return image.format == "ELF" and not image.library and image.mappable and image.architecture == architecture


def _names(link: LoadedFile) -> dict[str, str]:
    """Return the name under which a loaded file can be found, besides the one that was requested."""
    return {link.image.soname: link.path} if link.image.soname else {}


def _loaded_chain(
    search: LibrarySearch, resolution: Resolution, chain: Sequence[LoadedFile]
) -> list[LoadedFile] | None:
    """Return the chain that starts with the file that was loaded; None when none was."""
    winner = resolution.winner
    return [search.load(winner.path), *chain] if winner and winner.outcome == "found" else None
