"""What experiments prove about a failed import: it works without one thing, and fails with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.common.i18n import N_, _
from core.common.text import join_names
from core.knowledge.causes import Cause
from core.model.facts import Experiment, Experiments, ImportFailure, Suspect
from core.model.findings import Evidence, Fix
from core.model.path_list import split_entries
from core.model.paths import file_name, is_inside, parent
from core.model.remedies import GiveOtherName, Place, Remedy, SetForEnvironments, TakeOut, Unset
from core.rules.advice import how_to_set, without_value, without_variable
from core.rules.frameworks.environment_view import EnvironmentView
from core.rules.frameworks.import_diagnosis import Cure, ImportDiagnosis, file_at_fault
from core.rules.frameworks.imports import rename_unless_meant
from core.rules.wording import manual_fix, observation

NO_FAILURE = ImportFailure(kind="", text="")
"""Of a process that ended without an exception."""
SEARCHED_BY_LOADER: dict[str, Cause] = {
    "LD_LIBRARY_PATH": "ld_library_path_override",
    "LD_PRELOAD": "variable_value_wrong",
}


def proved_change(home: EnvironmentView, failures: Sequence[ImportFailure], made: Experiments) -> ImportDiagnosis:
    """Return the cause that experiments prove: what the import works without."""
    first = made.proved[0]
    failure = failures[0] if failures else NO_FAILURE
    if first.kind == "variable" and first.name != "PYTHONPATH":
        return _variable(home, failure, first)
    if first.kind == "settings":
        return _settings(failure, made)
    places = [first.name]
    if first.kind == "variable":
        places = [e for e in split_entries(first.value, home.seen.machine.system, "PYTHONPATH") if e]
    file = _file_from(home, places, failures, made)
    if first.kind == "start-up file":
        return _start_up(home, failure, first, file)
    return _place(home, failure, first, file or places[0])


def _variable(home: EnvironmentView, failure: ImportFailure, its: Suspect) -> ImportDiagnosis:
    return ImportDiagnosis(
        failure=failure,
        cause=SEARCHED_BY_LOADER.get(its.name, "variable_value_wrong"),
        title=N_("{who} in {prefix} fails with the variable {variable}, and works without it."),
        values={"variable": f"{its.name}={its.value}" if its.value else its.name},
        why=_("The same import was run again without this variable alone, and did not fail."),
        about=its.name,
        subject=its.name,
        cure=Cure(_unset(home, its.name), Unset(variable=its.name)),
    )


def _unset(home: EnvironmentView, name: str) -> Fix:
    return without_variable([]) if name == "LD_LIBRARY_PATH" else without_value(home.seen.machine.system, name)


def _settings(failure: ImportFailure, made: Experiments) -> ImportDiagnosis:
    file = next((p for p in made.read if p in failure.text), made.read[0] if made.read else made.proved[0].name)
    return file_at_fault(
        failure,
        file,
        "variable_value_wrong",
        N_("{who} in {prefix} fails with the settings in {file}, and works without them."),
        why=_("The same import was run again with an empty home folder, and did not fail."),
        cure=Cure(manual_fix(_("Correct {path}, or remove it", path=file), restart="program")),
    )


def _file_from(
    home: EnvironmentView, places: Sequence[str], failures: Sequence[ImportFailure], made: Experiments
) -> str:
    """Return the module below one of these places that the failure is about, or the last one that was opened there."""
    system = home.seen.machine.system
    about = [path for f in failures for path in (f.found, f.path, f.file) if path]
    return next((p for p in (*about, *reversed(made.foreign)) if any(is_inside(system, p, at) for at in places)), "")


def _start_up(home: EnvironmentView, failure: ImportFailure, its: Suspect, file: str) -> ImportDiagnosis:
    return file_at_fault(
        failure,
        its.name,
        "module_shadowed" if failure.outside and failure.found else "python_environment_broken",
        N_("{who} in {prefix} fails because of {file}, which runs at each start of Python."),
        why=_("The same import was run again without this file alone, and did not fail."),
        cure=Cure(
            manual_fix(
                _("Rename {name}", name=file_name(home.seen.machine.system, its.name)),
                file or its.name,
                restart="program",
            )
        ),
    )


def _place(home: EnvironmentView, failure: ImportFailure, its: Suspect, file: str) -> ImportDiagnosis:
    fix, remedy = _without_place(home, its, file)
    return file_at_fault(
        failure,
        file,
        "module_shadowed",
        N_("{who} in {prefix} fails because Python imports {file}; without it, it works."),
        why=_("The same import was run again without {place} alone, and did not fail.", place=name_of(its)),
        cure=Cure(fix, remedy),
    )


def _without_place(home: EnvironmentView, its: Suspect, file: str) -> tuple[Fix, Remedy | None]:
    system, prefix = home.seen.machine.system, home.python.prefix
    if its.kind == "variable":
        entry = next((e for e in split_entries(its.value, system, its.name) if e and is_inside(system, file, e)), "")
        return _unset(home, its.name), TakeOut(
            variable=its.name, places=(Place(folder=entry, prefix=prefix),)
        ) if entry else Unset(variable=its.name)
    if its.kind == "user packages":
        fix = manual_fix(_("Exclude the user's own packages"), how_to_set(system, "PYTHONNOUSERSITE", "1"))
        return fix, SetForEnvironments(variable="PYTHONNOUSERSITE", value="1", prefixes=(prefix,))
    inner = file_name(system, file).startswith("__init__.")
    own = parent(system, file) if inner else file
    fix = manual_fix(_("Rename {name}", name=file_name(system, own)), own, restart="program")
    if own == its.name:
        return fix, None
    other = GiveOtherName(files=((own, "" if inner else f"my_{file_name(system, own)}"),))
    return rename_unless_meant(home, file, fix, other)


def name_of(its: Suspect) -> str:
    """Return the words for one thing that was left out."""
    match its.kind:
        case "folder":
            return _("the working folder {folder}", folder=its.name)
        case "user packages":
            return _("the user's own packages in {folder}", folder=its.name)
        case "settings":
            return _("the settings in the home folder")
        case _:
            return f"{its.name}={its.value}" if its.value else its.name


def experiment_rows(made: Experiments | None) -> Iterator[Evidence]:
    """Yield what was tried, and what became of it."""
    if made is None:
        return
    again = _("run again")
    if made.repeated == "works":
        yield observation(_("By itself, in a new process"), _("it works"), again)
    for run in made.runs:
        if run.outcome != "no answer" and (len(run.without) == 1 or run.without == made.proved):
            yield observation(_("Without {names}", names=_names(run)), _outcome(run), again)
    whole = [run for run in made.runs if len(run.without) > 1 and run.outcome == "same"]
    if whole:
        yield observation(
            _("Without any variable, start-up file or folder of its own"), _("it fails in the same way"), again
        )
    if made.runs:
        yield observation(
            _("Experiments"), _("{number} in {seconds} s", number=len(made.runs), seconds=f"{made.seconds:g}"), again
        )


def _names(run: Experiment) -> str:
    return join_names((name_of(s) for s in run.without), 4)


def _outcome(run: Experiment) -> str:
    if run.outcome == "works":
        return _("it works")
    return _("it fails in the same way") if run.outcome == "same" else _("it fails in another way")
