"""The names of the libraries that a program of an environment may find: the system's, its packages' and toolkits', and those of search paths."""

from __future__ import annotations

from core.common.variable_names import variable_in
from core.loader.linux.cache import read_cache
from core.loader.windows.policy import policy_folders
from core.loader.windows.search import cpython_policy
from core.model.facts import PythonEnvironment
from core.model.path_list import searched_entries
from core.probes.loading.plan import added_folders
from core.probes.loading.windows import application_folder
from core.probes.probe import ProbeRequest
from core.probes.python.installed.unfit_extensions import paths_below
from core.probes.python.locations import start_folder
from core.probes.sysroot import Sysroot

FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
    "/lib",
    "/lib64",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
)


def libraries_here(python: PythonEnvironment, request: ProbeRequest, where: Sysroot) -> set[str]:
    """Return these names; on Windows in lower case."""
    return (_dlls_here if where.system == "windows" else _names_here)(python, request, where)


def _dlls_here(python: PythonEnvironment, request: ProbeRequest, where: Sysroot) -> set[str]:
    """Return the names of the DLLs that are here, in lower case: Windows' own, Python's, those of packages and toolkits, and those of PATH."""
    policy = cpython_policy(application_folder(python, where), added=added_folders(python), root=where.root)
    path = [e.strip('"') for e in searched_entries(variable_in(request.env, "PATH"), "windows")]
    folders = [*(place.folder for place in policy_folders(policy)), python.prefix, *path]
    folders += [where.join(python.prefix, *tail) for tail in (("Scripts",), ("Library", "bin"))]
    folders += [where.join(t.root, *tail) for t in request.seen.toolkits or () for tail in (("bin",), ("bin", "x64"))]
    folders += [start_folder(request, where)]
    found = {n.lower() for folder in folders if where.path_module.isabs(folder) for n in where.names(folder) or ()}
    return found | {where.name(p).lower() for site in python.site_packages for p in paths_below(site, 3, where)}


def _names_here(python: PythonEnvironment, request: ProbeRequest, where: Sysroot) -> set[str]:
    """Return the names of the libraries that the loader finds, or that a package or a toolkit has."""
    found = {e.name for e in read_cache(root=where.root) or ()}
    sites = [where.join(site, "nvidia") for site in python.site_packages]
    packages = [where.join(s, n, "lib") for s in sites for n in where.names(s) or ()]
    packages += [
        where.join(site, n) for site in python.site_packages for n in where.names(site) or () if n.endswith(".libs")
    ]
    packages += [where.join(site, "torch", "lib") for site in python.site_packages]
    toolkits = [where.join(t.root, n) for t in request.seen.toolkits or () for n in ("lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib")]  # fmt: skip
    searched = [f for f in request.env.get("LD_LIBRARY_PATH", "").split(":") if f.startswith("/")]
    for folder in (*FOLDERS, where.join(python.prefix, "lib"), *searched, *packages, *toolkits):
        found |= set(where.names(folder) or ())
    return found
