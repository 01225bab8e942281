"""Rules about libraries that differ from the record of the package that installed them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from core.common.i18n import _, format_number, n_
from core.common.text import join_names
from core.knowledge.modules import module_table
from core.model.facts import DamagedFile, EndedImport, PackageRecords, Snapshot
from core.model.findings import Evidence, Finding
from core.model.paths import file_name, normalise, parent
from core.model.remedies import PutPackageBack
from core.model.steps import Severity
from core.rules.frameworks.advice import reinstall_package
from core.rules.frameworks.environment_view import EnvironmentView, environment_views
from core.rules.frameworks.libraries.lacks import lacks_nothing, reported_files
from core.rules.wording import GOOD, NOTE, WARNING, Concern, concern_row, make_finding, observation

LIBRARY_OWNERS = {"jaxlib": "jax", "jax-cuda": "jax", "triton": "torch"}
"""First words of a distribution's name -> the framework that it belongs to.

NVIDIA's belong to the whole environment.
"""

WHOLE_STATE = "good"


def damaged_libraries(seen: Snapshot) -> Iterator[Finding]:
    """Libraries of frameworks or of NVIDIA's packages are missing, truncated or altered."""
    told = _files_already_reported(seen)
    for home in environment_views(seen):
        record = home.records
        if record is None:
            continue
        ending = _files_reported_by_imports(home)
        files = [f for f in record.damaged if normalise(seen.machine.system, f.path) not in told | ending]
        ended = _packages_reported_by_imports(home)
        for name in dict.fromkeys(f.distribution for f in files):
            its = [f for f in files if f.distribution == name]
            if name not in ended or any(_is_broken(f) or f.needed_by or _is_start(home, f) for f in its):
                yield _damaged_finding(home, its)
        if record.hashed and not record.damaged:
            yield _whole_finding(home, record)


def _packages_reported_by_imports(home: EnvironmentView) -> set[str]:
    """Return the packages whose missing files the rules about imports report: one finding and one fix for each."""
    ended = (e for e in _ended(home) if e.kind == "absent" or (e.kind == "unfit" and e.recorded))
    return {e.owner.partition(" ")[0] for e in ended if e.owner}


def _files_reported_by_imports(home: EnvironmentView) -> set[str]:
    """Return the unfit files at which the rules about imports report an end."""
    kinds = "unfit", "empty", "damaged"
    return {normalise(home.seen.machine.system, e.path) for e in _ended(home) if e.kind in kinds and e.owner}


def _ended(home: EnvironmentView) -> tuple[EndedImport, ...]:
    return home.search.ended if home.search else ()


def _files_already_reported(seen: Snapshot) -> set[str]:
    """Return the unfit files that cuDNN's own search reaches; the rules about CUDA's libraries report those as errors."""
    system = seen.machine.system
    used = {normalise(system, r.winner.path) for load in seen.loads or () for r in load.resolutions if r.winner}
    return reported_files(seen) | used & {
        normalise(system, f.path)
        for toolkit in seen.toolkits or ()
        for f in toolkit.libraries
        if f.state not in ("good", "unreadable") or f.record in ("size differs", "hash differs")
    }


def _is_broken(file: DamagedFile) -> bool:
    """Whether a file is surely damaged: it is truncated, or its content changed but not its size."""
    return file.state == "hash differs" or (file.state == "size differs" and file.header not in ("", WHOLE_STATE))


def _is_start(home: EnvironmentView, file: DamagedFile) -> bool:
    """Whether a package cannot be used without the file: its import runs it, or it is a known extension module."""
    system = home.seen.machine.system
    if file.state == "missing" and _is_extension(home, file):
        return True
    above = normalise(system, parent(system, parent(system, file.path)))
    inner = file_name(system, file.path) == "__init__.py" and file.distribution in ("numpy", *LIBRARY_OWNERS)
    return inner and above in {normalise(system, f) for f in home.python.site_packages}


def _is_extension(home: EnvironmentView, file: DamagedFile) -> bool:
    """Whether it is the extension module that a framework needs."""
    spelt = normalise(home.seen.machine.system, file.path).replace("\\", "/").partition(".so")[0].partition(".pyd")[0]
    rows = (
        row for row in module_table().modules if row.extension and re.fullmatch(row.distributions, file.distribution)
    )
    return any(
        re.search(rf"/{re.escape(name.lower())}(?:\.[\w-]+)*$", spelt.lower())
        for row in rows
        for name in row.extension.split("|")
    )


def _severity(home: EnvironmentView, files: list[DamagedFile]) -> Severity:
    """Return the severity: a file that is missing, or was altered on purpose (by strip, say), may never be needed."""
    if any(_is_broken(f) or _is_start(home, f) or (f.needed_by and not _found_instead(home, f)) for f in files):
        return home.severity
    if all(f.stripped or f.with_folder or _has_substitute(f) or _found_instead(home, f) for f in files):
        return NOTE
    followed = bool(home.closures) and all(f.distribution.startswith("nvidia-") for f in files)
    if followed and all(f.state == "missing" for f in files):
        return NOTE  # The probe followed everything that the frameworks of this environment load, and found it.
    if all(f.state == "missing" and _is_program(f) for f in files):
        return NOTE  # The rules about imports or tools report a package that runs this tool at its start.
    worked = any(t.gpu and t.right and not t.problem and not t.ended for t in home.trials)
    return NOTE if worked else min(home.severity, WARNING)


def _is_program(file: DamagedFile) -> bool:
    """Whether a file of a package is neither a module nor a library: its name has no suffix."""
    return "." not in file.path.replace("\\", "/").rpartition("/")[2]


def _has_substitute(file: DamagedFile) -> bool:
    """Whether one of several files is enough. Without any of them the import fails, which another rule reports."""
    inner = file.path.removeprefix(file.location).replace("\\", "/").lstrip("/")
    rows = (row for row in module_table().opened if re.fullmatch(row.distributions, file.distribution))
    return bool(file.location) and any(fnmatchcase(inner, pattern) for row in rows for pattern in row.files)


def _found_instead(home: EnvironmentView, file: DamagedFile) -> str:
    """Return another file with the name of a missing one that a complete framework of this environment loads instead."""
    name = file_name(home.seen.machine.system, file.path).lower()
    found = (path for c in home.closures if lacks_nothing(home, c) for path in c.files) if file.needed_by else ()
    return next((p for p in found if file_name(home.seen.machine.system, p).lower() == name), "")


def _damaged_finding(home: EnvironmentView, files: list[DamagedFile]) -> Finding:
    one = files[0]
    names = join_names(file_name(home.seen.machine.system, f.path) for f in files)
    broken, gone = any(_is_broken(f) for f in files), all(f.state == "missing" for f in files)
    values = {"names": names, "package": f"{one.distribution} {one.version}", "prefix": home.python.prefix}
    other = next((f.release for f in files if f.release), "")
    if other:
        title = _("{package} in {prefix} is mixed with release {release}: {names}.", release=other, **values)
        why = _("An installation of the other release was interrupted, or its files were copied over this one's.")
    elif broken:
        title = _("Damaged in {prefix}: {names} of {package}.", **values)
        why = _(
            "The content is not what the package installed: a download or a copy was interrupted, or the "
            "disk is faulty."
        )
    elif gone:
        title = _("Missing in {prefix}: {names} of {package}.", **values)
        why = _("The package installed it, but it no longer exists. Whatever needs it fails.")
        if all(_found_instead(home, f) for f in files):
            why = _("The package installed it, but it no longer exists. What needs it finds another file of that name.")
    else:
        title = _("Modified in {prefix}: {names} of {package}.", **values)
        why = _(
            "It is a library, but not the one that was installed: another package overwrote it, or a tool modified it."
        )
    return make_finding(
        f"frameworks.record-{one.distribution}",
        _severity(home, files),
        title,
        cause="installation_interrupted" if other else "corrupt_or_truncated_file",
        why=why,
        evidence=[*(_row(f, _found_instead(home, f)) for f in files[:20]), _concerned(home, one)],
        subject=home.python.prefix,
        fix=reinstall_package(home.seen, home.python, one.distribution, one.version),
        remedy=PutPackageBack(
            prefix=home.python.prefix, package=one.distribution, version=one.version, location=one.location
        ),
    )


def _row(file: DamagedFile, instead: str) -> Evidence:
    source = _("RECORD of {package}", package=f"{file.distribution} {file.version}")
    if file.state == "missing" and instead:
        values = {"name": file.needed_by, "path": instead}
        return observation(file.path, _("is not there; {name} gets {path}", **values), source)
    if file.state == "missing":
        needed = _("is not there")
        if file.needed_by.endswith(".py"):
            needed = _("is not there; {name} opens it", name=file.needed_by)
        elif file.needed_by:
            needed = _("is not there; {name} is linked against it", name=file.needed_by)
        return observation(file.path, needed, source)
    if file.release:
        return observation(file.path, _("says release {release}", release=file.release), source)
    if file.state == "hash differs" and file.path.endswith(".py"):
        return observation(
            file.path, _("is empty") if file.header else _("contains zeros in the place of text"), source
        )
    if file.state == "hash differs" and file.header == "zeros":
        return observation(file.path, _("contains zeros where code or names must be"), source)
    if file.state == "hash differs":
        return observation(file.path, _("does not have the recorded SHA-256"), source)
    size, recorded = format_number(file.size or 0), format_number(file.recorded or 0)
    if file.header in ("", WHOLE_STATE):
        return observation(file.path, _("{size} bytes, recorded were {recorded}", size=size, recorded=recorded), source)
    values = {"state": _(file.header), "size": size, "recorded": recorded}
    return observation(file.path, _("{state}: {size} bytes, recorded were {recorded}", **values), source)


def _concerned(home: EnvironmentView, file: DamagedFile) -> Concern:
    """Return the concerned consumer: the framework, else the package itself; for NVIDIA's packages the whole environment."""
    owner = _owner(home, file.distribution)
    if owner or not file.location or file.distribution.startswith("nvidia-"):
        return home.concerns(owner)
    return concern_row(home.python.consumer(f"{file.distribution} {file.version}"))


def _owner(home: EnvironmentView, distribution: str) -> str:
    if distribution.startswith("nvidia-"):
        return ""
    owner = next((o for start, o in LIBRARY_OWNERS.items() if distribution.startswith(start)), distribution)
    return owner if home.installed(owner) else ""


def _whole_finding(home: EnvironmentView, record: PackageRecords) -> Finding:
    return make_finding(
        "frameworks.records-agree",
        GOOD,
        _("The frameworks' libraries in {prefix} are as their packages installed them.", prefix=home.python.prefix),
        evidence=[
            observation(
                _("Compared by SHA-256"),
                n_(
                    "{n} library of {packages} packages",
                    "{n} libraries of {packages} packages",
                    record.hashed,
                    packages=record.packages,
                ),
                "RECORD",
            )
        ],
        subject=home.python.prefix,
    )


RULES = (damaged_libraries,)
