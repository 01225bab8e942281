"""Rules about imports that really failed: the cause and the fix, from the exception and from what the process found out
about it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from core.common.i18n import N_, _, translate_fact
from core.common.late_pattern import late_pattern
from core.common.shell import shell_command
from core.common.text import join_names
from core.knowledge.causes import Cause
from core.knowledge.library_names import parse_library_name
from core.knowledge.modules import distribution_of
from core.model.facts import ImportFailure, PackageTrial, Snapshot
from core.model.findings import Evidence, Finding, Fix
from core.model.paths import file_name, parent
from core.model.remedies import GiveOtherName, PutPackageBack, Remedy, Unset
from core.model.steps import Severity, Step
from core.rules.frameworks.advice import (
    framework_pip_command,
    install_package,
    reinstall_package,
    reinstall_requirement,
)
from core.rules.frameworks.environment_view import (
    EnvironmentView,
    asked_of,
    environment_views,
    first_of_each,
    is_asked_for,
    unmet_requirements,
)
from core.rules.frameworks.fit import gpu_side
from core.rules.wording import NOTE, WARNING, make_finding, manual_fix, observation

NO_GPU = late_pattern(
    r"cudaErrorInsufficientDriver|cudaErrorNoDevice|no CUDA-capable device|CUDA_ERROR_NO_DEVICE"
    r"|CUDA driver version is insufficient|Found no NVIDIA driver|libcuda\.so\.1|nvcuda\.dll",
    re.IGNORECASE,
)
"""Messages of frameworks on a machine without an NVIDIA GPU.

The CUDA runtime calls a missing driver an insufficient one.
"""

_NOT_OPENED = late_pattern(
    r"cannot open shared object file|cannot load library|(library|file) not found|could not (find/?|be )?load",
    re.IGNORECASE,
)
_NO_TEXT = late_pattern(
    r"null bytes|marshal data|marshal error|bad magic number|file too short|invalid ELF header|can't decode byte"
)
_NUMPY_1 = late_pattern(
    r"compiled using NumPy 1|numpy\.core\.multiarray failed to import|_ARRAY_API not found|numpy\.dtype size changed"
)
_CHECKED = late_pattern(
    r"\b([A-Za-z][\w.-]+)((?:[<>=!~]=?[\w.*]+,?)+)[^\n]*?(?:required|need=)[^\n]*?found[ =]*([\w.=-]+)"
)
"""Messages of packages that check versions at import: "tokenizers>=0.21,<0.22 is required ... but found
tokenizers==0.13.3".
"""
_REMOVED = late_pattern(r"\b(?:np|numpy)\.(\w+)`? was removed in the NumPy 2")
_WHEELS_OWN = late_pattern(r"-[0-9a-f]{8}\b")
"""The hash that auditwheel adds to the names of libraries that it copies into a wheel."""


CAUSES_OF_IMPORTS: frozenset[Cause] = frozenset(
    (
        "corrupt_or_truncated_file",
        "cuda_runtime_missing",
        "cxx_runtime_too_old",
        "extension_abi_mismatch",
        "installation_interrupted",
        "library_unreadable",
        "module_shadowed",
        "numpy_abi_mismatch",
        "python_environment_broken",
        "requirement_broken",
        "system_library_missing",
        "variable_value_wrong",
    )
)
"""All causes that this module names."""


class ImportVerdict(msgspec.Struct, frozen=True):
    """The cause of a failed import, according to its message and the files."""

    failure: ImportFailure
    cause: Cause
    title: str
    """A sentence with {who} and {prefix}."""
    why: str
    values: dict[str, str] = {}
    about: str = ""
    """The file, module or variable that is at fault; each fault gets one finding."""
    subject: str = ""
    fix: Fix | None = None
    remedy: Remedy | None = None


def find_cause(home: EnvironmentView, failures: Sequence[ImportFailure]) -> ImportVerdict | None:
    """Return the first cause that can be named, starting with the exception raised first; None if no message names one."""
    for failure in failures:
        for look in (
            _closed,
            _library,
            _symbols,
            _in_the_way,
            _checked,
            _variable,
            _no_text,
            _numpy,
            _absent,
            _lacking,
        ):
            if (found := look(home, failure)) is not None:
                return found
    return next((j for f in failures if (j := _unmet(home, f)) is not None), None)


def _closed(_home: EnvironmentView, f: ImportFailure) -> ImportVerdict | None:
    if not (f.closed or f.kind == "PermissionError" or "Permission denied" in f.text):
        return None
    return ImportVerdict(
        f,
        "library_unreadable",
        N_("{who} in {prefix} cannot be imported: this user may not read {file}."),
        _("It was installed by another user, or only its owner has access."),
        {"file": f.path or f.library},
        f.path,
        f.path,
        manual_fix(_("Give this user the right to read {path}", path=f.path), restart="program"),
    )


def _library(home: EnvironmentView, f: ImportFailure) -> ImportVerdict | None:
    if not f.library or not _NOT_OPENED.search(f.text):
        return None
    name = file_name(home.seen.machine.system, f.library)
    title = N_("{who} in {prefix} cannot be imported: the library {file} is not found.")
    values, rest = {"file": name}, (name, f.path)
    if f.recorded or _WHEELS_OWN.search(name):
        return ImportVerdict(f, "corrupt_or_truncated_file", title, _("The package installed it, but it no longer exists. Whatever needs it fails."),
                      values, *rest, *_put_back(home, f.owner or f.asker))  # fmt: skip
    its = parse_library_name(name.lower())
    if its is not None and its.family not in ("framework", "vcruntime", "zlibwapi", "driver"):
        return ImportVerdict(f, "cuda_runtime_missing", title, _("It belongs to CUDA, and no searched folder contains it."),
                      values, *rest)  # fmt: skip
    steps = [shell_command("apt-file", "search", name), shell_command("sudo", "dnf", "install", f"{name}()(64bit)")]
    return ImportVerdict(
        f,
        "system_library_missing",
        title,
        _("The package leaves this library to the operating system, and it is not installed."),
        values,
        *rest,
        manual_fix(_("Install the system's package with {name}", name=name), *steps, restart="program"),
    )


def _symbols(home: EnvironmentView, f: ImportFailure) -> ImportVerdict | None:
    symbol = re.search(r"undefined symbol: ?(\S+)", f.text)
    version = re.search(r"version [`'\"]?([A-Z]+_[\w.]+)'? not found", f.text)
    if not symbol and not version:
        return None
    file = f.library if "/" in f.library else f.path or f.library
    if version:
        return ImportVerdict(f, "cxx_runtime_too_old", N_("{who} in {prefix} cannot be imported: {file} requires {symbol}."),
                      _("No library that is found provides it."), {"file": file, "symbol": version[1]}, file, file)  # fmt: skip
    own = f.owner or f.asker
    return ImportVerdict(
        f,
        "extension_abi_mismatch",
        N_("{who} in {prefix} cannot be imported: {file} needs {symbol}, which no library provides."),
        _("It was built for another release of the library that should have it."),
        {"file": file_name(home.seen.machine.system, file), "symbol": symbol[1] if symbol else ""},
        file,
        file,
        _newer(home, own),
    )


def _in_the_way(home: EnvironmentView, f: ImportFailure) -> ImportVerdict | None:
    if not (f.found and f.outside and (f.hidden or f.standard)):
        return None
    system = home.seen.machine.system
    inner = file_name(system, f.found).startswith("__init__.")
    own = parent(system, f.found) if inner else f.found
    new = "" if inner else f"my_{file_name(system, own)}"
    return ImportVerdict(
        f,
        "module_shadowed",
        N_("{who} in {prefix} cannot be imported: {module} is imported from {file}."),
        _("Python imports the first module of a name that it finds, and this one comes before the intended one."),
        {"module": f.module.partition(".")[0], "file": f.found},
        f.found,
        f.found,
        manual_fix(_("Rename {name}", name=file_name(system, own)), own, restart="program"),
        GiveOtherName(files=((own, new),)),
    )


def _checked(home: EnvironmentView, f: ImportFailure) -> ImportVerdict | None:
    told = _CHECKED.search(f.text)
    if told is None:
        return None
    name = distribution_of(told[1].replace("-", "_")) if home.installed(told[1]) is None else told[1]
    wanted = f"{name}{told[2].rstrip(',')}"
    return ImportVerdict(
        f,
        "requirement_broken",
        N_("{who} in {prefix} cannot be imported: it requires {wanted}."),
        _("It checks versions when it is imported, and stops if this one is wrong."),
        {"wanted": wanted},
        wanted,
        "",
        install_package(home, name, told[2].rstrip(",")),
    )


def _variable(_home: EnvironmentView, f: ImportFailure) -> ImportVerdict | None:
    if not f.variable or f.kind in ("ImportError", "ModuleNotFoundError", "AttributeError"):
        return None
    given = {"variable": f"{f.variable}={f.value}" if f.value else f.variable}
    return ImportVerdict(
        f,
        "variable_value_wrong",
        N_("{who} in {prefix} cannot be imported with the variable {variable}."),
        _("The line that reads the variable fails with this value."),
        given,
        f.variable,
        f.variable,
        manual_fix(
            _("Remove the variable {name}, or correct its value", name=f.variable),
            _("In this terminal: unset {name}.", name=f.variable),
            restart="terminal",
        ),
        Unset(variable=f.variable),
    )


def _no_text(home: EnvironmentView, f: ImportFailure) -> ImportVerdict | None:
    if not _NO_TEXT.search(f.text):
        return None
    file = f.path or f.file
    return ImportVerdict(f, "corrupt_or_truncated_file", N_("{who} in {prefix} cannot be imported: {file} is damaged."),
                  _("The content is not what was installed: a download or a copy was interrupted, or the disk was full."),
                  {"file": file}, file, file, *_put_back(home, f.owner))  # fmt: skip


def _numpy(home: EnvironmentView, f: ImportFailure) -> ImportVerdict | None:
    numpy = home.installed("numpy")
    removed = _REMOVED.search(f.text)
    if numpy is None or not (removed or _NUMPY_1.search(f.text)):
        return None
    return ImportVerdict(
        f,
        "requirement_broken" if removed else "numpy_abi_mismatch",
        N_("{who} in {prefix} cannot be imported: it was built for NumPy 1."),
        _("NumPy {version} is installed.", version=numpy.version),
        {},
        f"numpy {f.asker}",
        "",
        reinstall_requirement(home.seen, home.python, "numpy<2"),
    )


def _absent(home: EnvironmentView, f: ImportFailure) -> ImportVerdict | None:
    if not f.absent:
        return None
    title, values, about = (
        N_("{who} in {prefix} cannot be imported: there is no module {module}."),
        {"module": f.module},
        f.module,
    )
    if f.recorded or (f.owner and f.owner == f.asker):
        return ImportVerdict(f, "corrupt_or_truncated_file", title, _("The package is recorded, but its files are gone."),
                      values, about, "", *_put_back(home, f.owner))  # fmt: skip
    if f.standard:
        return ImportVerdict(f, "python_environment_broken", title, _("It belongs to Python itself, which was built without it."),
                      values, about)  # fmt: skip
    if f.owner:
        return ImportVerdict(
            f, "requirement_broken", title, _two_releases(f), values, about, "", _newer(home, f.asker, f.owner)
        )
    package = distribution_of(f.module)
    return ImportVerdict(f, "requirement_broken", title, _("The import stops at this line, and nothing after it runs."), values, about,
                  "", install_package(home, package, _required_releases(home, package)))  # fmt: skip


def _lacking(home: EnvironmentView, f: ImportFailure) -> ImportVerdict | None:
    if not f.name:
        return None
    title, values, about = (
        N_("{who} in {prefix} cannot be imported: {module} has no {name}."),
        {"module": f.module, "name": f.name},
        f"{f.module}.{f.name}",
    )
    if f.owner and f.owner == f.asker:
        return ImportVerdict(f, "installation_interrupted", title, _("Its own files do not fit each other: they are of two releases, or not all are there."),
                      values, about, "", *_put_back(home, f.owner))  # fmt: skip
    return ImportVerdict(
        f, "requirement_broken", title, _two_releases(f), values, about, "", _newer(home, f.asker, f.owner)
    )


def _unmet(home: EnvironmentView, f: ImportFailure) -> ImportVerdict | None:
    """A requirement is not met of the package whose line fails, and the message alone shows no cause."""
    for b in unmet_requirements(home):
        if not b.optional and b.of.name == f.asker.partition(" ")[0].lower().replace("_", "-"):
            wanted = f"{b.wanted}{b.specifier}"
            return ImportVerdict(f, "requirement_broken", N_("{who} in {prefix} cannot be imported: it requires {wanted}."),
                          _two_releases(f), {"wanted": wanted}, wanted, "",
                          reinstall_requirement(home.seen, home.python, wanted))  # fmt: skip
    return None


def _two_releases(f: ImportFailure) -> str:
    package = f.owner or distribution_of(f.module)
    return _("The import was written for another release of {package} than the installed one.", package=package)


def _put_back(home: EnvironmentView, owner: str) -> tuple[Fix | None, Remedy | None]:
    name, _space, version = owner.partition(" ")
    if not version:
        return None, None
    name = re.sub(r"[-_.]+", "-", name).lower()
    back = PutPackageBack(prefix=home.python.prefix, package=name, version=version)
    return reinstall_package(home.seen, home.python, name, version), back


def _newer(home: EnvironmentView, *owners: str) -> Fix | None:
    names = [o.partition(" ")[0] for o in dict.fromkeys(owners) if o]
    if not names:
        return None
    command = framework_pip_command(home.seen, home.python, "install", "--upgrade", *names)
    return manual_fix(
        _("Install releases that fit each other: {names}", names=join_names(names)), command, restart="program"
    )


def _required_releases(home: EnvironmentView, package: str) -> str:
    """Return the releases of a package that this environment requires; empty for any."""
    parts = [p for d in first_of_each(home) for text in asked_of(home, d, package) for p in text.split(",") if p]
    return ",".join(dict.fromkeys(parts))


def verdict_rows(judged: ImportVerdict | None) -> Iterator[Evidence]:
    """Yield what the process found out about the failure."""
    if judged is None:
        return
    f = judged.failure
    if f.file:
        yield observation(_("Requested by"), f.asker or f.code[:120], f"{f.file}:{f.line}")
    if f.found:
        yield observation(_("import {name} finds", name=f.module.partition(".")[0]), f.found, f.owner)
    if f.hidden:
        yield observation(_("Hidden behind it"), f.module.partition(".")[0], f.hidden)
    if f.path and f.path != f.found:
        yield observation(_("File"), f.path, f.owner)


def failed_packages(seen: Snapshot) -> Iterator[Finding]:
    """The import of a package that uses a framework fails; failures with one cause are one finding."""
    for home in environment_views(seen):
        tried = [p for t in home.trials for p in t.packages]
        faults: dict[str, list[tuple[PackageTrial, ImportVerdict | None]]] = {}
        for package in tried:
            if package.state in ("failed", "ended") and not _wants_a_gpu(home, package):
                judged = find_cause(home, package.failures)
                faults.setdefault(judged.about if judged else package.distribution, []).append((package, judged))
        for some in faults.values():
            yield _finding(home, [p for p, _judged in some], some[0][1])


def _wants_a_gpu(home: EnvironmentView, package: PackageTrial) -> bool:
    return gpu_side(home.seen).there is False and bool(NO_GPU.search(package.problem))


def _finding(home: EnvironmentView, packages: list[PackageTrial], judged: ImportVerdict | None) -> Finding:
    first = packages[0]
    values = {
        "who": join_names(f"{p.distribution} {p.version}".strip() for p in packages),
        "prefix": home.python.prefix,
    }
    rows = [
        observation(_("It said"), translate_fact(first.problem)[-600:], _("run in its own interpreter")),
        *verdict_rows(judged),
    ]
    if first.ended:
        rows[0] = observation(_("The process"), translate_fact(first.ended), _("run in its own interpreter"))
    name, _space, version = first.distribution, "", first.version
    return make_finding(
        Step.FRAMEWORKS,
        _severity(home, packages, judged),
        f"trial-{first.distribution}",
        _(judged.title, **values, **judged.values) if judged else _("{who} in {prefix} cannot be imported.", **values),
        cause=judged.cause if judged else "",
        why=judged.why if judged else _("The text alone shows no cause."),
        evidence=[*rows, *(home.concerns(p.distribution) for p in packages)],
        subject=(judged.subject if judged else "") or home.python.prefix,
        fix=(judged.fix if judged else None) or reinstall_package(home.seen, home.python, name, version),
        remedy=judged.remedy if judged else None,
    )


def _severity(home: EnvironmentView, packages: list[PackageTrial], judged: ImportVerdict | None) -> Severity:
    """Return the severity.

    If a package lacks something that it does not require and that other packages here have, few programs need it. A
    failure without a cause lets another finding lead.
    """
    lacking = judged is None or (judged.cause == "requirement_broken" and judged.failure.absent)
    if lacking and all(is_asked_for(home, p.distribution) for p in packages):
        return NOTE
    return min(home.severity, WARNING) if judged is None else home.severity


RULES = (failed_packages,)
