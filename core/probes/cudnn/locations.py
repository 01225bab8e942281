"""Possible places of cuDNN: environments, frameworks, search paths, distributions, installers; each folder once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from core.common.fact_text import fact_text
from core.common.late_pattern import late_pattern
from core.knowledge.cudnn_file_names import is_link_library, parse_cudnn_name
from core.loader.linux.cache import conf_folders
from core.model.facts import Distribution, Frozen, Origin, PythonEnvironment
from core.model.path_list import LIBRARY_VARIABLE, searched_entries
from core.probes.probe import ProbeRequest
from core.probes.sysroot import Sysroot
from core.probes.variables.search_paths import expand_percent

DEFAULT_FOLDERS = (
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
    "/usr/local/lib",
    "/usr/local/lib64",
)
"""glibc's default folders, and those that nearly every ld.so.conf lists."""

BUNDLING_FRAMEWORKS = late_pattern(r"torch|tensorflow|jax.*|onnxruntime|ctranslate2|cupy|paddle|mxnet|cntk|.*\.libs")
"""Names in site-packages that may carry their own cuDNN."""

INNER_FOLDERS = ("", "lib", "libs", "bin", "capi", ".data/lib", ".data/bin", "cuda", "base")
"""Folders of such a package that are examined."""

OVERRIDE_VARIABLES = ("CUDNN_PATH", "CUDNN_HOME", "CUDNN_ROOT", "CUDA_PATH", "CUDA_HOME", "CUDA_ROOT", "CONDA_PREFIX")


class CudnnSpot(Frozen, frozen=True, kw_only=True):
    """A folder to examine, and why."""

    folder: str
    origin: Origin
    source: str
    environment: str = ""


class CudnnFolder(Frozen, frozen=True, kw_only=True):
    """A folder that holds cuDNN files: their names, and those of files for compilers."""

    spot: CudnnSpot
    names: tuple[str, ...]
    links: tuple[str, ...] = ()


def find_folders(request: ProbeRequest, where: Sysroot, listed: tuple[str, ...]) -> tuple[CudnnFolder, ...]:
    """Return every folder with cuDNN files, in the order of the steps. ``listed``: paths in the loader's cache, folders in records."""
    seen: set[str] = set()
    found = []
    for spot in _spots(request, where, listed):
        request.watch.check()
        folder = str(where.path_module.normpath(spot.folder))
        if folder in seen:
            continue
        seen.add(folder)
        real = where.real_path(folder)
        if real != folder and real in seen:
            continue
        seen.add(real)
        names = tuple(n for n in where.names(folder) or () if "cudnn" in n.lower())
        own = tuple(n for n in names if (what := parse_cudnn_name(n, where.system)) and what.major is not None)
        links = tuple(n for n in names if n not in own and (parse_cudnn_name(n, where.system) or is_link_library(n)))
        if own or links:
            found.append(CudnnFolder(spot=spot, names=own, links=links))
    return tuple(found)


def _spots(request: ProbeRequest, where: Sysroot, listed: tuple[str, ...]) -> Iterator[CudnnSpot]:
    for python in request.seen.pythons or ():
        yield from spots_in_environment(python, where)
    steps: tuple[Callable[[ProbeRequest, Sysroot], Iterator[CudnnSpot]], ...]
    steps = (_windows_path, _windows_folders) if where.system == "windows" else (_library_path, _linux_folders)
    for step in steps:
        yield from step(request, where)
    for folder in listed:
        yield _spot_at(folder, "ld.so.cache", where)
    yield from _overrides(request, where)


def spots_in_environment(python: PythonEnvironment, where: Sysroot) -> Iterator[CudnnSpot]:
    """Yield the folders of one environment: NVIDIA's wheels, packages with bundled libraries, conda's."""
    for site in python.site_packages:
        nvidia = where.join(site, "nvidia")
        for name in where.names(nvidia) or ():
            for tail in ("lib",) if where.system == "linux" else ("bin", "bin\\x86_64", "bin\\x64"):
                folder = where.join(nvidia, name, tail)
                yield CudnnSpot(
                    folder=folder,
                    origin="wheel",
                    source=fact_text("packages in {site}", site=site),
                    environment=python.prefix,
                )
        for name in where.names(site) or ():
            if BUNDLING_FRAMEWORKS.fullmatch(name):
                for tail in INNER_FOLDERS:
                    folder = where.join(site, name, *tail.split("/")) if tail else where.join(site, name)
                    if where.is_folder(folder):
                        yield CudnnSpot(
                            folder=folder,
                            origin="framework",
                            source=fact_text("packages in {site}", site=site),
                            environment=python.prefix,
                        )
    if python.kind == "conda":
        tails = (
            ("lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib")
            if where.system == "linux"
            else ("Library\\bin", "Library\\bin\\x64")
        )
        for tail in tails:
            folder = where.join(python.prefix, tail)
            yield CudnnSpot(
                folder=folder, origin="conda", source="conda's folder of libraries", environment=python.prefix
            )


def _spot_at(folder: str, source: str, where: Sysroot) -> CudnnSpot:
    """Return a spot whose origin is determined by its path."""
    origin: Origin = "folder"
    low = folder.lower()
    if where.system == "windows":
        if re.search(r"\\windows\\(system32|syswow64)$|\\windows$", low):
            origin = "system"
        elif re.search(r"\\nvidia gpu computing toolkit\\|\\nvidia\\cudnn\\v\d", low):
            origin = "installer"
    elif re.match(r"/usr/local/(cuda|cudnn)[^/]*/|/opt/(cuda|cudnn|nvidia)", low + "/"):
        origin = "installer"
    elif re.match(r"/(usr/)?lib(64|32)?(/|$)", low):
        origin = "distribution"
    if re.search(r"[\\/]site-packages[\\/]nvidia[\\/]", low):
        origin = "wheel"
    elif re.search(r"[\\/](site|dist)-packages[\\/]", low):
        origin = "framework"
    return CudnnSpot(folder=folder, origin=origin, source=source)


def _library_path(request: ProbeRequest, where: Sysroot) -> Iterator[CudnnSpot]:
    for entry in searched_entries(request.env.get(LIBRARY_VARIABLE, ""), "linux", LIBRARY_VARIABLE):
        if entry.startswith("/"):
            yield _spot_at(entry, "LD_LIBRARY_PATH", where)


def _linux_folders(_request: ProbeRequest, where: Sysroot) -> Iterator[CudnnSpot]:
    for entry in conf_folders(root=where.root):
        yield _spot_at(entry.path, entry.source, where)
    for folder in DEFAULT_FOLDERS:
        yield _spot_at(folder, fact_text("a default folder of the loader"), where)
    for parent, pattern in (("/usr/local", r"(cuda|cudnn)([-_.\d].*)?"), ("/opt", r"(cuda|cudnn)([-_.\d].*)?")):
        for name in where.names(parent) or ():
            if re.fullmatch(pattern, name):
                yield from archive_spots(where.join(parent, name), where)
                for tail in ("lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"):
                    yield _spot_at(
                        where.join(parent, name, tail), fact_text("a usual place of NVIDIA's archives"), where
                    )


def _windows_path(request: ProbeRequest, where: Sysroot) -> Iterator[CudnnSpot]:
    env = {name.upper(): value for name, value in request.env.items()}
    for entry in searched_entries(env.get("PATH", ""), "windows"):
        folder = expand_percent(entry, env).strip('"').strip()
        if where.path_module.isabs(folder):
            yield _spot_at(folder, "PATH", where)
            yield from archive_spots(folder, where)
            inner = where.join(folder, "bin")  # People put an archive's folder on PATH instead of its bin.
            yield _spot_at(inner, fact_text("bin in {folder}, which PATH names", folder=folder), where)


def _windows_folders(request: ProbeRequest, where: Sysroot) -> Iterator[CudnnSpot]:
    env = {name.upper(): value for name, value in request.env.items()}
    windows = env.get("SYSTEMROOT") or env.get("WINDIR") or "C:\\Windows"
    for folder in (where.join(windows, "System32"), windows):
        yield _spot_at(folder, fact_text("the system's folder"), where)
    for files in dict.fromkeys((env.get("PROGRAMFILES") or "C:\\Program Files", "C:\\Program Files")):
        for base in ("NVIDIA\\CUDNN", "NVIDIA GPU Computing Toolkit\\CUDA"):
            yield from _installer_spots(where.join(files, base), where)
    for folder in ("C:\\tools\\cuda\\bin", "C:\\cuda\\bin", "C:\\cudnn\\bin"):
        yield _spot_at(folder, fact_text("a usual place of NVIDIA's archives"), where)


def _installer_spots(base: str, where: Sysroot) -> Iterator[CudnnSpot]:
    r"""Yield v*\bin, v*\bin\x64, v*\bin\12.6 and v*\bin\12.9\x64, the installers' layouts up to cuDNN 9.22, and archives in them."""
    yield from archive_spots(base, where)
    for version in where.names(base) or ():
        yield from archive_spots(where.join(base, version), where)
        top = where.join(base, version, "bin")
        yield _spot_at(top, "NVIDIA's installer", where)
        for name in where.names(top) or ():
            if re.fullmatch(r"x64|arm64|\d+\.\d+", name):
                yield _spot_at(where.join(top, name), "NVIDIA's installer", where)
                yield _spot_at(where.join(top, name, "x64"), "NVIDIA's installer", where)


ARCHIVE = re.compile(r"cuda|cudnn-(?:windows|linux)-[\w.-]+(?:-archive)?", re.IGNORECASE)
"""The one folder at the top of NVIDIA's archives of cuDNN: "cuda" up to 8.2."""


def archive_spots(parent: str, where: Sysroot) -> Iterator[CudnnSpot]:
    """Yield the folders of libraries of NVIDIA's archives that were unpacked into a folder as they are."""
    tails = ("bin", "bin\\x64") if where.system == "windows" else ("lib", "lib64")
    for name in where.names(parent) or ():
        if ARCHIVE.fullmatch(name):
            for tail in tails:
                folder = where.join(parent, name, tail)
                source = fact_text("a usual place of NVIDIA's archives")
                yield CudnnSpot(folder=folder, origin="installer", source=source)


def _overrides(request: ProbeRequest, where: Sysroot) -> Iterator[CudnnSpot]:
    tails = ("bin", "bin\\x64", "") if where.system == "windows" else ("lib64", "lib", "")
    for name in OVERRIDE_VARIABLES:
        value = request.env.get(name, "")
        if where.path_module.isabs(value):
            yield from archive_spots(value, where)
        for tail in tails if where.path_module.isabs(value) else ():
            yield _spot_at(where.join(value, tail) if tail else value, name, where)


# --- who owns a folder's files ---------------------------------------------------------------------------


def bundler_of(python: PythonEnvironment, folder: str, where: Sysroot) -> Distribution | None:
    """Return the distribution whose package contains ``folder``, judged by the package's name."""
    for distribution in python.distributions:
        base = where.path_module.normcase(distribution.location)
        inner = where.path_module.normcase(folder)
        if inner.startswith(base + where.path_module.sep):
            top = inner[len(base) + 1 :].replace("\\", "/").split("/")[0].removesuffix(".libs")
            if re.fullmatch(rf"{re.escape(top)}([-_]?(gpu|cuda\d*x?|cpu|directml))?", distribution.name):
                return distribution
    return None


def conda_package(prefix: str, where: Sysroot) -> str:
    """Return conda's package of cuDNN as "cudnn 9.1.0"; empty if its records name none."""
    for name in where.names(where.join(prefix, "conda-meta")) or ():
        m = re.fullmatch(r"(cudnn|libcudnn)-(\d[\w.]*)-[^-]+\.json", name)
        if m:
            return f"{m[1]} {m[2]}"
    return ""


def debian_package(path: str, where: Sysroot) -> str:
    """Return the Debian package that owns ``path`` with its version; empty if dpkg's lists name none."""
    info = "/var/lib/dpkg/info"
    for name in where.names(info) or ():
        if not (name.endswith(".list") and "cudnn" in name):
            continue
        files = (where.text(where.join(info, name), 1 << 20) or "").splitlines()
        if path in files or path.removeprefix("/usr") in files or "/usr" + path in files:
            package = name.removesuffix(".list").split(":")[0]
            status = where.text("/var/lib/dpkg/status", 32 << 20) or ""
            m = re.search(rf"^Package: {re.escape(package)}\n(?:.+\n)*?Version: (\S+)", status, re.MULTILINE)
            return f"{package} {m[1]}" if m else package
    return ""
