"""Rules about imports that really failed: the cause and the fix, from the exception and from what the process found out about it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from core.common.i18n import N_, _, translate_fact
from core.common.late_pattern import late_pattern
from core.common.text import join_names
from core.knowledge.causes import Cause
from core.knowledge.library_names import parse_library_name
from core.knowledge.messages import LACKS_GPU
from core.knowledge.modules import distribution_of
from core.model.facts import Experiments, ImportFailure, PackageTrial, Snapshot
from core.model.findings import Evidence, Finding
from core.model.paths import file_name, parent
from core.model.remedies import GiveOtherName, PutPackageBack, Unset
from core.model.steps import Severity
from core.rules.advice import without_value
from core.rules.frameworks.advice import (
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
from core.rules.frameworks.failed_files import (
    ended_by_a_short_file,
    for_an_older_python,
    for_another_processor,
    may_not_be_run,
    not_of_this_python,
    not_there,
    upgrade,
)
from core.rules.frameworks.fit import gpu_side
from core.rules.frameworks.import_diagnosis import Cure, ImportDiagnosis, file_at_fault
from core.rules.frameworks.imports import rename_unless_meant
from core.rules.frameworks.proved_changes import experiment_rows, proved_change
from core.rules.system_packages import library_commands
from core.rules.wording import NOTE, WARNING, make_finding, manual_fix, observation

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
"""Messages of packages that check versions at import: "tokenizers>=0.21,<0.22 is required ... but found tokenizers==0.13.3"."""
_REMOVED = late_pattern(r"\b(?:np|numpy)\.(\w+)`? was removed in the NumPy 2")
_WHEELS_OWN = late_pattern(r"-[0-9a-f]{8}\b")
"""The hash that auditwheel adds to the names of libraries that it copies into a wheel."""


_SURROUNDINGS = late_pattern(
    r"\bDISPLAY\b|no display|cannot connect to X|could not connect to display|Connection refused|Max retries exceeded"
    r"|Name or service not known|Temporary failure in name resolution|Network is unreachable|[Ll]icen[cs]e|\b(Mac|Windows|Darwin)\b",
    re.IGNORECASE,
)
"""Messages about what a session has none of: a display, a network, a licence, another system."""

CAUSES_OF_IMPORTS: frozenset[Cause] = frozenset(
    (
        "corrupt_or_truncated_file",
        "cuda_runtime_missing",
        "cxx_runtime_too_old",
        "dll_wrong_architecture",
        "extension_abi_mismatch",
        "installation_interrupted",
        "ld_library_path_override",
        "library_unreadable",
        "module_shadowed",
        "noexec_mount",
        "numpy_abi_mismatch",
        "package_for_another_python",
        "python_environment_broken",
        "requirement_broken",
        "system_library_missing",
        "variable_value_wrong",
    )
)
"""All causes that this module names."""


def diagnose_import(
    home: EnvironmentView, failures: Sequence[ImportFailure], experiments: Experiments | None
) -> ImportDiagnosis | None:
    """Return what the experiments prove; else the first cause that can be named, starting with the exception raised first; None if no
    message names one.
    """
    if experiments is not None and experiments.proved:
        return proved_change(home, failures, experiments)
    for failure in failures:
        for look in (
            _unreadable_file,
            ended_by_a_short_file,
            for_another_processor,
            may_not_be_run,
            _missing_library,
            _missing_symbol,
            _shadowed_module,
            _refused_release,
            _bad_variable,
            _damaged_file,
            not_of_this_python,
            not_there,
            _made_for_numpy_1,
            for_an_older_python,
            _missing_module,
            _missing_name,
        ):
            if (found := look(home, failure)) is not None and not _is_refuted(found, experiments):
                return found
    return next((d for f in failures if (d := _unmet_requirement(home, f)) is not None), None)


def _is_refuted(found: ImportDiagnosis, experiments: Experiments | None) -> bool:
    """Whether the import fails in the same way without the variable that is blamed."""
    blamed = found.cause == "variable_value_wrong" and found.about
    return bool(blamed and experiments and experiments.refutes("variable", found.about))


def _unreadable_file(_home: EnvironmentView, f: ImportFailure) -> ImportDiagnosis | None:
    if not (f.closed or f.kind == "PermissionError" or "Permission denied" in f.text):
        return None
    return ImportDiagnosis(
        failure=f,
        cause="library_unreadable",
        title=N_("{who} in {prefix} cannot be imported: this user may not read {file}."),
        values={"file": f.path or f.library},
        why=_("It was installed by another user, or only its owner has access."),
        about=f.path,
        subject=f.path,
        cure=Cure(manual_fix(_("Give this user the right to read {path}", path=f.path), restart="program")),
    )


def _missing_library(home: EnvironmentView, f: ImportFailure) -> ImportDiagnosis | None:
    if not f.library or not _NOT_OPENED.search(f.text):
        return None
    name = file_name(home.seen.machine.system, f.library)
    its = parse_library_name(name.lower())
    cause: Cause
    if f.recorded or _WHEELS_OWN.search(name):
        cause = "corrupt_or_truncated_file"
        why = _("The package installed it, but it no longer exists. Whatever needs it fails.")
        cure = _put_back(home, f.owner or f.asker)
    elif its is not None and its.family not in ("framework", "vcruntime", "zlibwapi", "driver"):
        cause = "cuda_runtime_missing"
        why = _("It belongs to CUDA, and no searched folder contains it.")
        cure = Cure()
    else:
        cause = "system_library_missing"
        why = _("The package leaves this library to the operating system, and it is not installed.")
        steps = library_commands(home.seen, name)
        cure = Cure(manual_fix(_("Install the system's package with {name}", name=name), *steps, restart="program"))
    return ImportDiagnosis(
        failure=f,
        cause=cause,
        title=N_("{who} in {prefix} cannot be imported: the library {file} is not found."),
        values={"file": name},
        why=why,
        about=name,
        subject=f.path,
        cure=cure,
    )


def _missing_symbol(home: EnvironmentView, f: ImportFailure) -> ImportDiagnosis | None:
    symbol = re.search(r"undefined symbol: ?(\S+)", f.text)
    version = re.search(r"version [`'\"]?([A-Z]+_[\w.]+)'? not found", f.text)
    if not symbol and not version:
        return None
    file = f.library if "/" in f.library else f.path or f.library
    if version:
        return ImportDiagnosis(
            failure=f,
            cause="cxx_runtime_too_old",
            title=N_("{who} in {prefix} cannot be imported: {file} requires {symbol}."),
            values={"file": file, "symbol": version[1]},
            why=_("No library that is found provides it."),
            about=file,
            subject=file,
        )
    return ImportDiagnosis(
        failure=f,
        cause="extension_abi_mismatch",
        title=N_("{who} in {prefix} cannot be imported: {file} needs {symbol}, which no library provides."),
        values={"file": file_name(home.seen.machine.system, file), "symbol": symbol[1] if symbol else ""},
        why=_("It was built for another release of the library that should have it."),
        about=file,
        subject=file,
        cure=upgrade(home, f.owner or f.asker),
    )


def _shadowed_module(home: EnvironmentView, f: ImportFailure) -> ImportDiagnosis | None:
    if not (f.found and f.outside and (f.hidden or f.standard)):
        return None
    system = home.seen.machine.system
    inner = file_name(system, f.found).startswith("__init__.")
    own = parent(system, f.found) if inner else f.found
    new = "" if inner else f"my_{file_name(system, own)}"
    return ImportDiagnosis(
        failure=f,
        cause="module_shadowed",
        title=N_("{who} in {prefix} cannot be imported: {module} is imported from {file}."),
        values={"module": f.module.partition(".")[0], "file": f.found},
        why=_("Python imports the first module of a name that it finds, and this one comes before the intended one."),
        about=f.found,
        subject=f.found,
        cure=Cure(
            *rename_unless_meant(
                home,
                f.found,
                manual_fix(_("Rename {name}", name=file_name(system, own)), own, restart="program"),
                GiveOtherName(files=((own, new),)),
            )
        ),
    )


def _refused_release(home: EnvironmentView, f: ImportFailure) -> ImportDiagnosis | None:
    """A package that compares releases when it is imported, and refuses one."""
    told = _CHECKED.search(f.text)
    if told is None:
        return None
    name = distribution_of(told[1].replace("-", "_")) if home.installed(told[1]) is None else told[1]
    specifier = told[2].rstrip(",")
    return ImportDiagnosis(
        failure=f,
        cause="requirement_broken",
        title=N_("{who} in {prefix} cannot be imported: it requires {wanted}."),
        values={"wanted": f"{name}{specifier}"},
        why=_("It checks versions when it is imported, and stops if this one is wrong."),
        about=f"{name}{specifier}",
        cure=Cure(install_package(home, name, specifier)),
    )


def _bad_variable(home: EnvironmentView, f: ImportFailure) -> ImportDiagnosis | None:
    if not f.variable or f.kind in ("ImportError", "ModuleNotFoundError", "AttributeError"):
        return None
    return ImportDiagnosis(
        failure=f,
        cause="variable_value_wrong",
        title=N_("{who} in {prefix} cannot be imported with the variable {variable}."),
        values={"variable": f"{f.variable}={f.value}" if f.value else f.variable},
        why=_("The line that reads the variable fails with this value."),
        about=f.variable,
        subject=f.variable,
        cure=Cure(without_value(home.seen.machine.system, f.variable), Unset(variable=f.variable)),
    )


def _damaged_file(home: EnvironmentView, f: ImportFailure) -> ImportDiagnosis | None:
    if not _NO_TEXT.search(f.text):
        return None
    return file_at_fault(
        f,
        f.path or f.file,
        "corrupt_or_truncated_file",
        N_("{who} in {prefix} cannot be imported: {file} is damaged."),
        why=_("The content is not what was installed: a download or a copy was interrupted, or the disk was full."),
        cure=_put_back(home, f.owner),
    )


def _made_for_numpy_1(home: EnvironmentView, f: ImportFailure) -> ImportDiagnosis | None:
    numpy = home.installed("numpy")
    removed = _REMOVED.search(f.text)
    if numpy is None or not (removed or _NUMPY_1.search(f.text)):
        return None
    return ImportDiagnosis(
        failure=f,
        cause="requirement_broken" if removed else "numpy_abi_mismatch",
        title=N_("{who} in {prefix} cannot be imported: it was built for NumPy 1."),
        why=_("NumPy {version} is installed.", version=numpy.version),
        about=f"numpy {f.asker}",
        cure=Cure(reinstall_requirement(home.seen, home.python, "numpy<2")),
    )


def _missing_module(home: EnvironmentView, f: ImportFailure) -> ImportDiagnosis | None:
    if not f.absent:
        return None
    cause: Cause
    if f.recorded or (f.owner and f.owner == f.asker):
        cause = "corrupt_or_truncated_file"
        why = _("The package is recorded, but its files are gone.")
        cure = _put_back(home, f.owner)
    elif f.standard:
        cause = "python_environment_broken"
        why = _("It belongs to Python itself, which was built without it.")
        cure = Cure()
    elif f.owner:
        cause, why, cure = "requirement_broken", _two_releases(f), upgrade(home, f.asker, f.owner)
    else:
        cause = "requirement_broken"
        why = _("The import stops at this line, and nothing after it runs.")
        package = distribution_of(f.module)
        cure = Cure(install_package(home, package, _required_releases(home, package)))
    return ImportDiagnosis(
        failure=f,
        cause=cause,
        title=N_("{who} in {prefix} cannot be imported: there is no module {module}."),
        values={"module": f.module},
        why=why,
        about=f.module,
        cure=cure,
    )


def _missing_name(home: EnvironmentView, f: ImportFailure) -> ImportDiagnosis | None:
    if not f.name:
        return None
    cause: Cause
    if f.owner and f.owner == f.asker:
        cause = "installation_interrupted"
        why = _("Its own files do not fit each other: they are of two releases, or not all are there.")
        cure = _put_back(home, f.owner)
    else:
        cause, why, cure = "requirement_broken", _two_releases(f), upgrade(home, f.asker, f.owner)
    return ImportDiagnosis(
        failure=f,
        cause=cause,
        title=N_("{who} in {prefix} cannot be imported: {module} has no {name}."),
        values={"module": f.module, "name": f.name},
        why=why,
        about=f"{f.module}.{f.name}",
        cure=cure,
    )


def _unmet_requirement(home: EnvironmentView, f: ImportFailure) -> ImportDiagnosis | None:
    """A requirement that is not met of the package whose line fails, where the words alone tell nothing."""
    if f.kind.endswith(("FileNotFoundError", "DirectoryError")) or f.kind.startswith("SIG"):
        return None  # no other release mends a lost file
    for b in unmet_requirements(home):
        if not b.optional and b.of.name == f.asker.partition(" ")[0].lower().replace("_", "-"):
            wanted = f"{b.wanted}{b.specifier}"
            return ImportDiagnosis(
                failure=f,
                cause="requirement_broken",
                title=N_("{who} in {prefix} cannot be imported: it requires {wanted}."),
                values={"wanted": wanted},
                why=_two_releases(f),
                about=wanted,
                cure=Cure(reinstall_requirement(home.seen, home.python, wanted)),
            )
    return None


def _two_releases(f: ImportFailure) -> str:
    package = f.owner or distribution_of(f.module)
    return _("The import was written for a release of {package} that is not the installed one.", package=package)


def _put_back(home: EnvironmentView, owner: str) -> Cure:
    name, _space, version = owner.partition(" ")
    if not version:
        return Cure()
    name = re.sub(r"[-_.]+", "-", name).lower()
    remedy = PutPackageBack(prefix=home.python.prefix, package=name, version=version)
    return Cure(reinstall_package(home.seen, home.python, name, version), remedy)


def _required_releases(home: EnvironmentView, package: str) -> str:
    """Return the releases of a package that are required here; empty for any."""
    parts = [p for d in first_of_each(home) for text in asked_of(home, d, package) for p in text.split(",") if p]
    return ",".join(dict.fromkeys(parts))


def import_evidence(diagnosis: ImportDiagnosis | None, failures: Sequence[ImportFailure] = ()) -> Iterator[Evidence]:
    """Yield what the process found about the failure: the one that was diagnosed, or the one that began it."""
    f = diagnosis.failure if diagnosis else next(iter(failures), None)
    if f is None:
        return
    if f.file:
        yield observation(_("Requested by"), f.asker or f.code[:120] or f.kind, f"{f.file}:{f.line}")
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
        faults: dict[str, list[tuple[PackageTrial, ImportDiagnosis | None]]] = {}
        for package in tried:
            if package.state in ("failed", "ended") and not lacks_only_a_gpu(home, package.problem):
                diagnosis = diagnose_import(home, package.failures, package.experiments)
                about = diagnosis.about if diagnosis else package.distribution
                faults.setdefault(about, []).append((package, diagnosis))
        for some in faults.values():
            yield _finding(home, [p for p, _d in some], some[0][1])


def lacks_only_a_gpu(home: EnvironmentView, problem: str) -> bool:
    """Whether a failure is that of a machine without a GPU, and this is one."""
    return gpu_side(home.seen).there is False and bool(LACKS_GPU.search(problem))


def _finding(home: EnvironmentView, packages: list[PackageTrial], diagnosis: ImportDiagnosis | None) -> Finding:
    first = packages[0]
    values = {
        "who": join_names(f"{p.distribution} {p.version}".strip() for p in packages),
        "prefix": home.python.prefix,
    }
    rows = [
        observation(_("It said"), translate_fact(first.problem)[-600:], _("run in its own interpreter")),
        *import_evidence(diagnosis, first.failures),
        *(row for p in packages[:1] for row in experiment_rows(p.experiments)),
    ]
    if first.ended:
        rows[0] = observation(_("The process"), translate_fact(first.ended), _("run in its own interpreter"))
    anew = reinstall_package(home.seen, home.python, first.distribution, first.version)
    title = diagnosis.title if diagnosis else N_("{who} in {prefix} cannot be imported.")
    return make_finding(
        f"frameworks.trial-{first.distribution}",
        _severity(home, packages, diagnosis),
        _(title, **values, **(diagnosis.values if diagnosis else {})),
        cause=diagnosis.cause if diagnosis else "",
        why=diagnosis.why if diagnosis else _("The text alone shows no cause."),
        evidence=[*rows, *(home.concerns(p.distribution) for p in packages)],
        subject=(diagnosis.subject if diagnosis else "") or home.python.prefix,
        fix=(diagnosis.cure.fix if diagnosis else None) or anew,
        remedy=diagnosis.cure.remedy if diagnosis else None,
    )


def _severity(home: EnvironmentView, packages: list[PackageTrial], diagnosis: ImportDiagnosis | None) -> Severity:
    """What a package lacks that others brought here, and never asked for, few come to. Without a cause another finding leads."""
    lacking = diagnosis is None or (diagnosis.cause == "requirement_broken" and diagnosis.failure.absent)
    if lacking and all(is_asked_for(home, p.distribution) for p in packages):
        return NOTE
    if diagnosis is None and any(_SURROUNDINGS.search(p.problem) for p in packages):
        return NOTE  # of this session, not of the package
    by_itself = all(p.experiments and p.experiments.repeated == "works" for p in packages)
    unlisted = diagnosis is None and all(home.installed(p.distribution) is None for p in packages)
    return min(home.severity, WARNING) if by_itself or unlisted else home.severity


RULES = (failed_packages,)
