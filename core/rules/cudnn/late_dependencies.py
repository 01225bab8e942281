"""Libraries that cuDNN opens late: NVRTC with its built-ins, and zlib for older releases on Windows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.common.i18n import _, join_sentences
from core.common.late_pattern import late_pattern
from core.common.text import join_names
from core.common.versions import is_older, version_tuple
from core.knowledge.releases import compatibility_table, nvidia_package
from core.model.facts import LibraryFile, Resolution, System, Toolkit
from core.model.findings import Finding, Fix
from core.model.paths import file_name, parent
from core.model.remedies import GivePlainName, PutPackageBack
from core.rules.advice import pip_command
from core.rules.consumer_loads import ConsumerLoad, is_unimportant, load_failures
from core.rules.cudnn.cuda_libraries import (
    absent_libraries,
    dependent_evidence,
    family_and_major,
    files_on_disk,
    install_library,
    is_own,
)
from core.rules.driver.facts import WSL_FOLDER
from core.rules.snapshot_queries import candidate_evidence, find_resolution, installed_programs
from core.rules.windows_parts import MSVC_RUNTIME, install_redistributable
from core.rules.wording import ERROR, NOTE, UNKNOWN, WARNING, make_finding, manual_fix, observation


def missing_nvrtc(c: ConsumerLoad) -> Iterator[Finding]:
    """NVRTC, which compiles cuDNN's kernels at run time, is missing, or lacks its built-ins of the same version."""
    for gone in absent_libraries(c, "nvrtc"):
        if files_on_disk(c, "nvrtc", gone.major):
            # ``runtime_not_found`` reports a folder that is not searched; a framework loads NVRTC from its own wheel.
            continue
        yield make_finding(
            "toolkit.nvrtc-missing",
            NOTE if is_unimportant(c) or _is_nobodys(c) else ERROR if gone.by_framework else WARNING,
            _("CUDA's runtime compiler ({name}) is not on this machine.", name=gone.search.name),
            cause="nvrtc_missing_or_mismatch",
            why=_("cuDNN and frameworks compile some kernels at runtime. Those fail without it; the rest works."),
            evidence=[dependent_evidence(c, gone), *candidate_evidence(gone.search)],
            subject=c.load.consumer.id,
            fix=install_library(c, gone),
        )
        return
    for search in c.load.resolutions:
        what = family_and_major(search.name)
        if what and what[0] == "nvrtc" and search.winner:
            yield from _missing_builtins(c, search)
            return
    for toolkit, file in files_on_disk(c, "nvrtc", None):
        if is_own(c, toolkit):
            yield from _builtins_beside(c, toolkit, file)
            return


def _is_nobodys(c: ConsumerLoad) -> bool:
    """Whether only a plain program that nobody named would load this cuDNN, on a machine whose frameworks ask for none of it."""
    return c.load.consumer.kind == "plain" and bool(c.seen.closures)


def _missing_builtins(c: ConsumerLoad, search: Resolution) -> Iterator[Finding]:
    winner = search.winner
    for toolkit in c.seen.toolkits or ():
        for file in toolkit.libraries:
            if winner and winner.path in (file.path, file.real_path):
                yield from _builtins_beside(c, toolkit, file)
                return


RENAMED_BUILTINS = late_pattern(
    r"(libnvrtc-builtins)-[0-9a-f]{8}(\.so\.[\d.]+)|(nvrtc-builtins64_\d+)-[0-9a-f]{8}(\.dll)", re.IGNORECASE
)
"""Built-ins with part of their hash in the name, as packaging tools write it. The compiler requests the plain name."""


def plain_name_remedy(system: System, builtins: LibraryFile, compiler_file: LibraryFile) -> GivePlainName | None:
    """Return the plain name for built-ins of NVRTC that a packager renamed; None if their version differs."""
    found = RENAMED_BUILTINS.fullmatch(file_name(system, builtins.path))
    same = bool(builtins.version) and compiler_file.version == builtins.version and builtins.state == "good"
    return GivePlainName(file=builtins.path, name="".join(g for g in found.groups() if g)) if found and same else None


def _builtins_beside(c: ConsumerLoad, toolkit: Toolkit, compiler_file: LibraryFile) -> Iterator[Finding]:
    """Compare a compiler with the built-ins in its folder; built-ins that the loader finds elsewhere count, too."""
    folder = parent(c.system, compiler_file.path)
    beside = [
        f
        for f in toolkit.libraries
        if "nvrtc-builtins" in f.name and parent(c.system, f.path) == folder and f.state == "good"
    ]
    if any("nvrtc-builtins" in s.name and s.winner for s in c.load.resolutions):
        return
    version = compiler_file.version or toolkit.version
    same = [f for f in beside if not _other_release(f.version, version)]
    fits = [f for f in same if not RENAMED_BUILTINS.fullmatch(file_name(c.system, f.path))]
    if fits or (version_tuple(version)[:1] < (11,) and not beside):
        return
    yield make_finding(
        "toolkit.nvrtc-builtins",
        ERROR,
        _builtins_title(c, version or "", beside, same).replace("  ", " "),
        cause="nvrtc_missing_or_mismatch",
        why=_(
            "The compiler opens its built-ins by name, in exactly its own version. Without them, every "
            "kernel that is compiled at runtime fails."
        ),
        evidence=[
            observation(
                _("Compiler"),
                _("{path}, version {version}", path=compiler_file.path, version=version or _("unknown")),
                compiler_file.version_source,
            ),
            *(
                observation(
                    _("Built-ins"), _("{path}, version {version}", path=f.path, version=f.version), f.version_source
                )
                for f in beside
            ),
        ],
        subject=folder,
        fix=_compiler_again(c, toolkit, compiler_file),
        remedy=next((r for f in same if (r := plain_name_remedy(c.system, f, compiler_file))), None),
    )


def _builtins_title(c: ConsumerLoad, version: str, beside: list[LibraryFile], same: list[LibraryFile]) -> str:
    """Say what is wrong with the built-ins: their name where they have the right release, else the release, or that there are none."""
    if same:
        return _(
            "The built-ins of CUDA's runtime compiler {version} have a name that it does not know: {names}.",
            version=version,
            names=join_names(file_name(c.system, f.path) for f in same),
        )
    if beside:
        return _(
            "The built-ins of CUDA's runtime compiler {version} have version {others}.",
            version=version,
            others=join_names(f.version or "?" for f in beside),
        )
    return _("The built-ins of CUDA's runtime compiler {version} are missing.", version=version)


def _other_release(one: str | None, two: str | None) -> bool:
    a, b = version_tuple(one)[:2], version_tuple(two)[:2]
    return bool(a and b and a != b)


def _compiler_again(c: ConsumerLoad, toolkit: Toolkit, file: LibraryFile) -> Fix:
    package = nvidia_package(file.version_source)
    if toolkit.origin == "wheel" and package:
        return manual_fix(
            _("Reinstall {name} {version}", name=package[0], version=package[1]),
            pip_command(
                c.seen, c.load.consumer.prefix, "install", "--force-reinstall", "--no-deps", "==".join(package)
            ),
            restart="program",
            remedy=PutPackageBack(prefix=c.load.consumer.prefix, package=package[0], version=package[1]),
        )
    return manual_fix(
        _("Reinstall this toolkit"), _("The toolkit in {root} is incomplete: reinstall it.", root=toolkit.root)
    )


def missing_zlibwapi(c: ConsumerLoad) -> Iterator[Finding]:
    """zlibwapi.dll, which cuDNN 8.3 to 8.9.3 opens on Windows; from 8.9.4 on it is never the reason."""
    if c.system != "windows" or c.load.major != 8 or c.winner is None:
        return
    search = find_resolution(c.load, "zlibwapi.dll")
    version = c.version
    if is_older(version, "8.3") or is_older(version, "8.9.4") is False:
        return
    if search is None or search.winner:
        return
    wrong = next((a for a in search.attempts if a.outcome == "wrong architecture"), None)
    fact = compatibility_table().fact("zlib_needed")
    rows = [
        observation(_("cuDNN"), version or _("version unknown"), c.winner.path),
        *candidate_evidence(search),
        *load_failures(c),
    ]
    severity = UNKNOWN if version is None else ERROR if load_failures(c) or wrong else WARNING
    yield make_finding(
        "cudnn.zlib-missing" if wrong is None else "cudnn.zlib-wrong-architecture",
        severity,
        _("cuDNN needs zlibwapi.dll, and it cannot be found.")
        if wrong is None
        else _("The zlibwapi.dll that is found was built for another processor."),
        cause="zlibwapi_missing" if wrong is None else "dll_wrong_architecture",
        why=join_sentences(
            _("This version of cuDNN opens the 64-bit zlibwapi.dll by name when it runs its first convolution."),
            "" if version else _("Its version could not be read: from 8.9.4 on, it does not need such a file."),
        ),
        evidence=[*rows, observation(_("Known from"), fact.source)],
        subject=c.load.consumer.id,
        fix=manual_fix(
            _("Put the 64-bit zlibwapi.dll into a searched folder"),
            _("Best option: install cuDNN 8.9.7, which has zlib built in."),
            _(
                "Or put the 64-bit zlibwapi.dll that NVIDIA's installation guide describes into cuDNN's own "
                "folder: {folder}",
                folder=parent(c.system, c.winner.path),
            ),
            restart="program",
        ),
    )


def cpp_runtime(c: ConsumerLoad) -> Iterator[Finding]:
    """Microsoft's C++ runtime, which a framework's own DLLs import, is not found (Windows)."""
    gone = [s for s in c.load.resolutions if MSVC_RUNTIME.fullmatch(s.name) and s.winner is None]
    if not gone:
        return
    names = join_names(s.name for s in gone)
    listed_as_installed = installed_programs(c.seen, _("Redistributable (x64)"))
    yield make_finding(
        "frameworks.cpp-runtime-missing",
        ERROR,
        _("Microsoft's C++ runtime ({names}) cannot be found for {framework}.", names=names, framework=c.loaded_by),
        cause="vc_runtime_missing",
        why=_(
            "The framework's own DLLs import it. Windows then reports that a module could not be found "
            "(error 126), and names the framework's DLL, which exists."
        ),
        evidence=[
            observation(_("Required"), gone[0].name, _("imported by {wanted_by}", wanted_by=gone[0].wanted_by)),
            *candidate_evidence(gone[0]),
            *listed_as_installed,
        ],
        subject=c.load.consumer.id,
        fix=install_redistributable(c.seen),
    )


def bare_libcuda(c: ConsumerLoad) -> Iterator[Finding]:
    """On WSL an older cuDNN opens libcuda.so without its number, which the loader's cache does not list there.

    Source: microsoft/WSL issue 8587.
    """
    driver, copy = c.seen.driver, c.copy
    if not c.seen.machine.wsl or copy is None or driver is None or driver.libraries is None:
        return
    asking = [f for f in copy.files if "libcuda.so" in f.mentions and "libcuda.so.1" not in f.mentions]
    searched = ("LD_LIBRARY_PATH", _("default folder"))
    if not asking or any(x.path.endswith("/libcuda.so") and x.source in searched for x in driver.libraries):
        return
    yield make_finding(
        "driver.wsl-bare-libcuda",
        WARNING,
        _("On WSL, this cuDNN looks for libcuda.so, but only libcuda.so.1 is found."),
        cause="wsl_libcuda_not_found",
        why=_(
            "The driver's library is in {wsl_folder}, but WSL makes only libcuda.so.1 known to the loader. "
            "cuDNN then reports that it could not load one of its own parts.",
            wsl_folder=WSL_FOLDER,
        ),
        evidence=[
            *(observation(_("{name} names", name=f.name), "libcuda.so", f.path) for f in asking),
            *(observation(_("There is"), x.path, x.source) for x in driver.libraries if "libcuda" in x.path),
        ],
        subject=c.load.consumer.id,
        fix=manual_fix(
            _("Let the loader search {folder}", folder=WSL_FOLDER),
            f"export LD_LIBRARY_PATH={WSL_FOLDER}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}",
            _("To keep it, put that line into the environment's own activation script."),
            restart="terminal",
        ),
    )
