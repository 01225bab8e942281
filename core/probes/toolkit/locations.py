"""The places of CUDA toolkits and runtime libraries: steps as a tuple of plain functions, each yielding drafts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatch

import msgspec
from msgspec.structs import replace

from core.common.fact_text import fact_text
from core.common.late_pattern import late_pattern
from core.common.variable_names import variable_in
from core.knowledge.cuda_file_names import PARTS_OF_A_TOOLKIT, LibraryFolders, Locations, library_family
from core.loader.linux.cache import read_cache
from core.model.facts import Distribution, Origin, PythonEnvironment
from core.model.path_list import searched_entries
from core.probes.probe import ProbeRequest
from core.probes.sysroot import Sysroot

TOOLKIT_VARIABLES = late_pattern(r"CUDA_PATH|CUDA_HOME|CUDA_ROOT|CUDA_TOOLKIT_ROOT_DIR|CUDA_PATH_V\d+_\d+")
"""Variables that name a toolkit: NVIDIA's installer, cuda-pathfinder, CMake's FindCUDA."""

_WRAPPED = late_pattern(rb"(?<![^\s\"'$;])[^\s\"'$;/]*+(/[^\s\"'$;]+)/bin/nvcc\b")


class ToolkitDraft(msgspec.Struct, frozen=True):
    """A folder that is, or may be, a toolkit."""

    root: str
    origin: Origin
    folders: tuple[str, ...]
    """Folders of its libraries; missing ones are ignored."""
    named_by: tuple[str, ...] = ()
    owner: str = ""
    source: str = ""
    nvcc: str = ""
    distributions: tuple[Distribution, ...] = ()
    """Distributions in the environment of a wheel or a framework."""
    kept: bool = False
    """List it even without a library, because somebody named it."""
    real: str = ""


class ToolkitSearch(msgspec.Struct, frozen=True):
    """The input of each step."""

    request: ProbeRequest
    where: Sysroot
    known: Locations

    def variable(self, name: str) -> str:
        """Return a variable of the consumer, by its name in any case on Windows."""
        env = self.request.env
        if self.where.system == "linux":
            return env.get(name, "")
        return variable_in(env, name)


Step = Callable[[ToolkitSearch], Iterator[ToolkitDraft]]


def from_installers(hunt: ToolkitSearch) -> Iterator[ToolkitDraft]:
    """Yield the toolkits of NVIDIA's installer and of the distribution."""
    where = hunt.where
    for root in (r for r in hunt.known.roots if r.system == where.system):
        path = root.path.replace("%ProgramFiles%", hunt.variable("ProgramFiles") or r"C:\Program Files")
        parent, pattern = where.parent(path), where.name(path)
        names = [n for n in where.names(parent) or () if fnmatch(n, pattern)] if "*" in pattern else [pattern]
        for name in names:
            folder = where.join(parent, name)
            real = where.real_path(folder)
            origin: Origin = "distribution" if root.origin == "distribution" else "installer"
            if where.is_folder(real):
                linked = (folder,) if real != folder and origin == "installer" else ()
                yield ToolkitDraft(
                    real, origin, sub_folders(real, root.folders, where), named_by=linked, source=where.parent(path)
                )


def sub_folders(root: str, folders: tuple[str, ...], where: Sysroot) -> tuple[str, ...]:
    """Return the sub-folders of ``root``."""
    return tuple(where.join(root, f) for f in folders)


def _folders_of(folders: tuple[LibraryFolders, ...], where: Sysroot) -> tuple[str, ...]:
    return next((f.folders for f in folders if f.system == where.system), ())


def from_conda(hunt: ToolkitSearch) -> Iterator[ToolkitDraft]:
    """Yield the runtime libraries of conda environments."""
    where = hunt.where
    for env in hunt.request.seen.pythons or ():
        if env.kind == "conda":
            yield ToolkitDraft(
                env.prefix,
                "conda",
                sub_folders(env.prefix, _folders_of(hunt.known.folders_of_conda, where), where),
                owner=_conda_package(env.prefix, where),
                source="conda environment",
            )


def _conda_package(prefix: str, where: Sysroot) -> str:
    """Return the package in conda-meta that contains cudart, with its version: NAME-VERSION-BUILD.json."""
    for name in where.names(where.join(prefix, "conda-meta")) or ():
        if m := re.fullmatch(r"(cuda-cudart|cudatoolkit|cuda-runtime)-([^-]+)-[^-]+\.json", name):
            return f"{m[1]} {m[2]}"
    return ""


def from_wheels(hunt: ToolkitSearch) -> Iterator[ToolkitDraft]:
    """Yield the libraries of nvidia-* wheels: nvidia/<library>/lib for CUDA 11 and 12, nvidia/cu13/lib from 13 on."""
    where = hunt.where
    subfolders = _folders_of(hunt.known.folders_of_a_wheel, where)
    for env, site in _sites(hunt):
        base = where.join(site, "nvidia")
        names = where.names(base)
        if not names:
            continue
        mine = tuple(d for d in env.distributions if d.location == site and d.name.startswith("nvidia-"))
        owner = fact_text("nvidia-* wheels in {prefix}", prefix=env.prefix)
        for name in (n for n in names if re.fullmatch(r"cu\d+", n)):
            root = where.join(base, name)
            yield ToolkitDraft(
                root, "wheel", sub_folders(root, subfolders, where), owner=owner, source="wheel", distributions=mine
            )
        classic = tuple(
            where.join(base, n, f) for n in names if not re.fullmatch(r"cu\d+", n) and "." not in n for f in subfolders
        )
        yield ToolkitDraft(base, "wheel", classic, owner=owner, source="wheel", distributions=mine)


def from_frameworks(hunt: ToolkitSearch) -> Iterator[ToolkitDraft]:
    """Yield the libraries that a framework bundles in its own package."""
    where = hunt.where
    for env, site in _sites(hunt):
        for bundle in hunt.known.folders_of_frameworks:
            its = next((d for d in env.distributions if d.name == bundle.distribution and d.location == site), None)
            if its:
                folder = where.join(site, *bundle.path.split("/"))
                yield ToolkitDraft(
                    folder, "framework", (folder,), owner=f"{its.name} {its.version}", source="framework"
                )


def _sites(hunt: ToolkitSearch) -> Iterator[tuple[PythonEnvironment, str]]:
    seen = set()
    for env in hunt.request.seen.pythons or ():
        for site in env.site_packages:
            real = hunt.where.real_path(site)
            if real not in seen:
                seen.add(real)
                yield env, site


def from_variables(hunt: ToolkitSearch) -> Iterator[ToolkitDraft]:
    """Yield the folders named by CUDA_PATH and similar variables.

    A missing folder is reported with the variable's entries.
    """
    for name, value in sorted(hunt.request.env.items()):
        if (
            TOOLKIT_VARIABLES.fullmatch(name.upper())
            and hunt.where.path_module.isabs(value)
            and hunt.where.is_folder(value)
        ):
            yield replace(_toolkit(hunt, _whole(hunt.where.real_path(value), hunt.where), name), kept=True)


def _whole(folder: str, where: Sysroot) -> str:
    """Return the toolkit whose folder of programs, libraries or headers this is, if it is one, which is told; else the folder itself."""
    above = where.parent(folder)
    nvcc = where.join(above, "bin", "nvcc.exe" if where.system == "windows" else "nvcc")
    return above if where.name(folder).lower() in PARTS_OF_A_TOOLKIT and where.is_file(nvcc) else folder


def _toolkit(hunt: ToolkitSearch, root: str, named_by: str) -> ToolkitDraft:
    folders = sub_folders(root, _folders_of(hunt.known.folders_of_a_toolkit, hunt.where), hunt.where)
    return ToolkitDraft(root, "folder", folders, named_by=(named_by,), source=named_by)


def from_nvcc(hunt: ToolkitSearch) -> Iterator[ToolkitDraft]:
    """Yield the toolkit of the nvcc on PATH; small wrapper scripts are followed."""
    where = hunt.where
    name = "nvcc.exe" if where.system == "windows" else "nvcc"
    for folder in _entries("PATH", hunt.variable("PATH"), where):
        path = where.join(folder, name)
        if not where.is_file(path):
            continue
        real = where.real_path(path)
        root = where.parent(where.parent(real))
        start = where.read(real, 4096) or b""
        wrapped = _WRAPPED.search(start) if start.startswith(b"#!") else None
        if wrapped and where.is_folder(inner := wrapped[1].decode("utf-8", "surrogateescape")):
            root = where.real_path(inner)
        yield replace(_toolkit(hunt, root, fact_text("nvcc on PATH")), nvcc=path, kept=True)
        return


def from_search_paths(hunt: ToolkitSearch) -> Iterator[ToolkitDraft]:
    """Yield the folders of the loader's own search that hold CUDA libraries."""
    where = hunt.where
    name = "PATH" if where.system == "windows" else "LD_LIBRARY_PATH"
    for folder in _entries(name, hunt.variable(name), where):
        if any(library_family(n, where.system, hunt.known) for n in where.names(folder) or ()):
            yield ToolkitDraft(folder, "folder", (folder,), named_by=(name,), source=name)
    if where.system == "linux":
        cached = read_cache(root=where.root) or ()
        folders = {where.parent(e.path) for e in cached if library_family(e.name, "linux", hunt.known)}
        for folder in sorted(folders):
            yield ToolkitDraft(folder, "folder", (folder,), named_by=("ld.so.cache",), source="ld.so.cache")


def _entries(name: str, value: str, where: Sysroot) -> Iterator[str]:
    parts = searched_entries(value, where.system, name)
    for part in dict.fromkeys(p.strip('"') if where.system == "windows" else p for p in parts):
        if where.path_module.isabs(part):
            yield part.rstrip("/\\") or part


TOOLKIT_STEPS: tuple[Step, ...] = (
    from_installers,
    from_conda,
    from_wheels,
    from_frameworks,
    from_variables,
    from_nvcc,
    from_search_paths,
)


def find_toolkits(hunt: ToolkitSearch) -> tuple[ToolkitDraft, ...]:
    """Run every step and merge its drafts: one for each root or library folder, with all that named it."""
    drafts: dict[str, ToolkitDraft] = {}
    covered: dict[str, str] = {}
    for step in TOOLKIT_STEPS:
        for draft in step(hunt):
            hunt.request.watch.check()
            root = hunt.where.real_path(draft.root)
            folders = [hunt.where.real_path(f) for f in draft.folders]
            alone = draft.folders == (draft.root,)
            same = covered.get(folders[0], root) if alone else root
            if same in drafts:
                drafts[same] = _merge(drafts[same], draft)
            else:
                drafts[same] = replace(draft, real=root)
            covered.update({f: same for f in folders if f not in covered})
    return tuple(drafts.values())


def _merge(known: ToolkitDraft, other: ToolkitDraft) -> ToolkitDraft:
    names: Mapping[str, None] = dict.fromkeys((*known.named_by, *other.named_by))
    return replace(
        known,
        named_by=tuple(names),
        nvcc=known.nvcc or other.nvcc,
        kept=known.kept or other.kept,
        owner=known.owner or other.owner,
    )
