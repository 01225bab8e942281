"""A consumer's cuDNN dependencies on Linux: every library that it needs, with all candidates in ld.so's order."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence

from core.common.late_pattern import late_pattern
from core.common.versions import version_tuple
from core.knowledge.cudnn_file_names import names_tried, parse_cudnn_name, shipped_name, sub_libraries
from core.loader.contents import library_names
from core.loader.cudnn_version import true_version
from core.loader.linux.policy import LdSo, ld_so_policy
from core.loader.linux.search import LibrarySearch, LoadedFile
from core.model.facts import Attempt, How, Machine, Resolution, path_text
from core.model.paths import file_name
from core.probes.probe import ProbeRequest
from core.probes.sysroot import Sysroot

CUDA_LIBRARY = late_pattern(r"lib(cublas|cublasLt|cudart|nvrtc|nvJitLink)\.so\.\d[\d.]*|libcuda\.so\.1|libz\.so\.1")
"""Names that are resolved in addition to cuDNN's own. Unversioned ones are cuDNN's second choice for the same library."""

NVRTC_LIBRARY = late_pattern(r"libnvrtc\.so\.%d(\.%d)?")


def consumer_policy(env: Mapping[str, str], machine: Machine, where: Sysroot) -> LdSo:
    """Return ld.so's policy for a program that starts with ``env`` on this machine."""
    cpu = where.text("/proc/cpuinfo", 1 << 14) or ""
    flags = re.search(r"^flags\s*:\s*(.+)$", cpu, re.MULTILINE)
    vendor = re.search(r"^vendor_id\s*:\s*(\S+)", cpu, re.MULTILINE)
    glibc = version_tuple(machine.libc)[:2]
    return ld_so_policy(
        env.get("LD_LIBRARY_PATH", ""),
        root=where.root,
        architecture=machine.architecture,
        flags=flags[1].split() if flags else (),
        vendor=vendor[1] if vendor else "",
        legacy=bool(glibc) and glibc < (2, 37),
    )


def consumer_search(env: Mapping[str, str], request: ProbeRequest, where: Sysroot) -> LibrarySearch:
    """Return the search of a program that starts with ``env``; all of one scan share what they examine."""
    first: LibrarySearch | None = request.shared.get(__name__)
    if first is None:
        first = request.shared[__name__] = LibrarySearch(consumer_policy({}, request.seen.machine, where))
    return first.with_library_path(env.get("LD_LIBRARY_PATH", ""))


def asked_names(request: ProbeRequest) -> Container[str]:
    """Return every name that the searches of this scan looked for so far."""
    first: LibrarySearch | None = request.shared.get(__name__)
    return first.asked if first else ()


class Tracer:
    """Follows one consumer's load. ``chain``: the file that needs cuDNN, then the file that loaded that, up to the program."""

    def __init__(
        self, search: LibrarySearch, major: int, chain: Sequence[LoadedFile], loaded: Mapping[str, str]
    ) -> None:
        self._search = search
        self._major = major
        self._chain = chain
        self._loaded = dict(loaded)
        self.resolutions: list[Resolution] = []

    def trace(self, main: str) -> None:
        """Resolve the main library (a bare name or a path) and all its dependencies."""
        first = self._resolve(main, self._chain)
        shim = self._take(first, self._chain)
        if shim is None:
            return
        names = library_names(shim[0].path, root=self._search.policy.root)
        queue = [shim, *self._parts(sub_libraries(names, self._major, "linux"), shim)]
        done: set[str] = set()
        while queue:
            chain = queue.pop(0)
            if chain[0].path in done or len(done) > 64:
                continue
            done.add(chain[0].path)
            queue += self._needs(chain)

    def _needs(self, chain: list[LoadedFile]) -> Iterator[list[LoadedFile]]:
        """Resolve what one loaded file needs and opens; yield the resulting cuDNN files."""
        path, image = chain[0].path, chain[0].image
        for name in image.needed:
            what = parse_cudnn_name(name, "linux")
            if what or CUDA_LIBRARY.fullmatch(name):
                taken = self._take(self._resolve(name, chain), chain)
                if taken and what:
                    yield taken
        what = parse_cudnn_name(file_name("linux", path), "linux")
        if what is None or what.role not in (
            "",
            "graph",
            "adv",
            "ops_infer",
            "cnn_infer",
            "engines_precompiled",
            "ext",
        ):
            return
        names = () if what.role == "" and self._major != 7 else library_names(path, root=self._search.policy.root)
        yield from self._parts(sub_libraries(names, self._major, "linux"), chain)
        for name in self._names_opened(names):
            taken = self._take(self._resolve(name, chain), chain)
            if taken and name.startswith("libnvrtc.so"):
                for inner in library_names(taken[0].path, root=self._search.policy.root):
                    if inner.startswith("libnvrtc-builtins.so."):
                        self._resolve(inner, taken)

    def _names_opened(self, names: tuple[str, ...]) -> Iterator[str]:
        """Yield the CUDA libraries among the names that a file opens itself, with NVRTC's number filled in."""
        cuda = {m[1] for n in names if (m := re.fullmatch(r"lib(?:cublas|cublasLt|nvrtc)\.so\.(\d+)[\d.]*", n))}
        for name in names:
            if CUDA_LIBRARY.fullmatch(name):
                yield name
            elif NVRTC_LIBRARY.fullmatch(name) and (number := self._cuda(cuda)):
                yield f"libnvrtc.so.{'11.2' if number == '11' else number}"

    def _cuda(self, here: set[str]) -> str:
        """Return the CUDA major version: from this file's names, else from those resolved before."""
        if len(here) == 1:
            return next(iter(here))
        names = (re.fullmatch(r"libcublas(?:Lt)?\.so\.(\d+)", r.name) for r in self.resolutions)
        return next((m[1] for m in names if m), "")

    def _parts(self, roles: tuple[str, ...], chain: list[LoadedFile]) -> Iterator[list[LoadedFile]]:
        """Resolve sub-libraries as the file at the chain's head opens them; yield those that are found."""
        version = true_version(chain[0].path, self._search.policy.root)[0] if roles else None
        for role in roles:
            resolution = self._part(role, version, chain)
            taken = self._take(resolution, chain)
            if taken:
                yield taken

    def _part(self, role: str, version: str | None, chain: list[LoadedFile]) -> Resolution:
        """Return one sub-library's candidates under all names that are tried, in order, as one resolution.

        Of the other names, only existing candidates are kept, so that the list stays readable.
        """
        name = shipped_name(role, self._major, "linux")
        known = self._earlier_resolution(name)
        if known:
            return known
        attempts: list[Attempt] = []
        for spelt in names_tried(role, self._major, version, "linux"):
            tried = self._search.resolve(spelt, chain).attempts
            attempts += [a for a in tried if spelt == name or a.outcome != "not there"]
        resolution = Resolution(name=name, wanted_by=path_text(chain[0].path), attempts=tuple(attempts))
        self._keep(resolution)
        return resolution

    def _resolve(self, name: str, chain: Sequence[LoadedFile]) -> Resolution:
        known = self._earlier_resolution(name)
        if known:
            return known
        resolution = self._search.resolve(name, chain)
        if name in self._loaded:
            there = Attempt(path=path_text(self._loaded[name]), how=How.LOADED, outcome="found")
            others = tuple(a for a in resolution.attempts if a.path != there.path)
            resolution = Resolution(name=name, wanted_by=resolution.wanted_by, attempts=(there, *others))
        self._keep(resolution)
        return resolution

    def _keep(self, resolution: Resolution) -> None:
        """Keep a resolution; the same search for the same name by a second file adds nothing."""
        places = [a.path for a in resolution.attempts]
        if not any(r.name == resolution.name and [a.path for a in r.attempts] == places for r in self.resolutions):
            self.resolutions.append(resolution)

    def _earlier_resolution(self, name: str) -> Resolution | None:
        """Return a name's earlier resolution: ld.so reuses a loaded library, whoever asks."""
        return next((r for r in self.resolutions if r.name == name and r.winner), None)

    def _take(self, resolution: Resolution, chain: Sequence[LoadedFile]) -> list[LoadedFile] | None:
        winner = resolution.winner
        return [self._search.load(winner.path), *chain] if winner and winner.outcome == "found" else None


def preloaded_libraries(
    askers: Sequence[LoadedFile], program: Sequence[LoadedFile], search: LibrarySearch
) -> dict[str, str]:
    """Return the CUDA libraries (name -> path) that a framework's own binaries load before cuDNN needs them."""
    loaded: dict[str, str] = {}
    for asker in askers:
        for name in asker.image.needed:
            if CUDA_LIBRARY.fullmatch(name) and name not in loaded:
                winner = search.resolve(name, [asker, *program]).winner
                if winner and winner.outcome == "found":
                    loaded[name] = winner.path
    return loaded
