"""Rules about values that packages' own code cannot use: of a variable, of a setting in a file, or of the account."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from core.common.i18n import N_, _
from core.common.text import join_names
from core.knowledge.contracts import Contract, ContractKind, contract_table, variable_contracts
from core.model.facts import Snapshot, Variable, Vocabulary
from core.model.findings import Finding
from core.rules.advice import how_to_set, without_value
from core.rules.frameworks.advice import framework_pip_command
from core.rules.frameworks.environment_view import EnvironmentView, environment_views
from core.rules.snapshot_queries import effective_variable
from core.rules.variables.findings import contract_finding, unset_in, without_backend
from core.rules.wording import NOTE, WARNING, make_finding, manual_fix, observation


def refused_by_code(seen: Snapshot) -> Iterator[Finding]:
    """A framework's own code converts the variable, which fails with this value."""
    views = [h for h in environment_views(seen) if h.near <= 3]
    told: set[str] = set()
    for row in seen.vocabularies or ():
        value = effective_variable(seen, row.variable) if row.takes and row.variable not in told else None
        near = [h for h in views if h.python.prefix == row.prefix]
        if value is None or value.value not in row.unknown or not near:
            continue
        if row.setting or row.takes in ("account", "cache", "header", "address", "key length", "beside", "memory"):
            continue
        told.add(row.variable)
        if row.takes == "module":
            contract = Contract(variable=row.variable, readers="", kind="words", source=f"{row.files[0]}:{row.line}")
            its = without_backend(near[0], contract, value, row.reader, row.known[0])
            yield _as_sure_as(row, replace(its, severity=min(its.severity, WARNING)))
            continue
        if row.takes == "code":
            yield _ended_by(row, value, near, seen)
            continue
        kind: ContractKind = row.takes if row.takes in ("words", "switch", "file", "path") else "pattern"
        kind = "writable" if row.takes == "own cache" else kind
        contract = Contract(
            variable=row.variable,
            readers=re.escape(row.reader),
            kind=kind,
            words=() if row.takes == "own cache" else row.known,
            means="1" if row.takes == "docstrings" else _(TAKEN[row.takes]) if row.takes in TAKEN else "",
            fails=True,
            source=f"{row.files[0]}:{row.line}",
        )
        wrong = _(
            "The variable {name} is {value}, which is not a valid value.", name=row.variable, value=repr(value.value)
        )
        if row.takes == "own cache":
            wrong = _(
                "This user may not write to {at}, which the variable {name} names.", at=row.known[0], name=row.variable
            )
        if row.takes == "docstrings":
            wrong = _(
                "With {name}={value} Python leaves out docstrings, which the code of {reader} needs.",
                name=row.variable,
                value=value.value,
                reader=row.reader,
            )
        its = contract_finding(seen, contract, value, wrong, near)
        yield _as_sure_as(row, its)


def _as_sure_as(row: Vocabulary, its: Finding) -> Finding:
    """Return a finding no worse than what is known of the code: whether an import comes to it, and whether a program here uses it."""
    return replace(its, severity=min(its.severity, NOTE if row.idle else its.severity if row.sure else WARNING))


def _ended_by(row: Vocabulary, value: Variable, near: list[EnvironmentView], seen: Snapshot) -> Finding:
    """Return the finding about a value with which a package's own code ends."""
    values = {"name": row.variable, "value": repr(value.value), "reader": row.reader, "others": join_names(row.known)}
    wrong = (
        _("The variable {name} is {value}, which {reader} refuses while {others} is set.", **values)
        if row.known
        else _("The variable {name} is {value}, which {reader} refuses.", **values)
    )
    contract = Contract(
        variable=row.variable,
        readers=re.escape(row.reader),
        kind="pattern",
        means=row.says,
        fails=True,
        source=f"{row.files[0]}:{row.line}",
    )
    its = contract_finding(seen, contract, value, wrong, near)
    evidence = [
        replace(e, label=_("How its code ends"), value=row.says) if e.source == contract.source else e
        for e in its.evidence
    ]
    return _as_sure_as(row, replace(its, evidence=tuple(evidence)))


Near = list[tuple[EnvironmentView, Vocabulary]]


def _read_by_near_ones(
    seen: Snapshot, takes: str, counts: Callable[[Vocabulary], bool] = lambda _row: True
) -> Iterator[tuple[EnvironmentView, Vocabulary, Near]]:
    """Yield, at most once, what code of a named, active or searched environment takes so: the first that counts, and all."""
    views = [h for h in environment_views(seen) if h.near <= 2]
    mine = [r for r in seen.vocabularies or () if r.takes == takes and counts(r)]
    rows = [(h, r) for h in views for r in mine if r.prefix == h.python.prefix]
    yield from ((*row, rows) for row in rows[:1])


def _contracts_by_row(
    seen: Snapshot, takes: str, kind: ContractKind
) -> Iterator[tuple[Vocabulary, Contract, list[EnvironmentView]]]:
    """Yield the first row of each variable that takes so and has a contract of this kind, with the environments that it is about."""
    views = [h for h in environment_views(seen) if h.near <= 3]
    told: set[str] = set()
    for row in seen.vocabularies or ():
        near = [h for h in views if h.python.prefix == row.prefix]
        contract = next((c for c in variable_contracts() if c.kind == kind and c.variable == row.variable), None)
        if row.takes == takes and contract and near and row.variable not in told:
            told.add(row.variable)
            yield row, contract, near


def letters_that_no_header_takes(seen: Snapshot) -> Iterator[Finding]:
    """A secret that is sent in the head of a request has letters beyond Latin-1, such as curly quotation marks."""
    for row, contract, near in _contracts_by_row(seen, "header", "header"):
        wrong = _(
            "The variable {name} contains {letters}, which a request cannot send.",
            name=row.variable,
            letters=join_names(row.unknown),
        )
        value = Variable(name=row.variable, value="".join(row.unknown), source="environment")
        yield replace(contract_finding(seen, contract, value, wrong, near), remedy=None)


def addresses_that_end_early(seen: Snapshot) -> Iterator[Finding]:
    """The address of a proxy ends within its password, which is not known here: a # or / begins another part of an address."""
    for row, contract, near in _contracts_by_row(seen, "address", "proxy"):
        wrong = _("The address in the variable {name} has no number for its port.", name=row.variable)
        its = contract_finding(seen, contract, Variable(name=row.variable, value="", source="environment"), wrong, near)
        advice = _("In its user name and password, write # as %23, / as %2F and ? as %3F")
        set_row = observation(_("Set"), row.known[0], "environment")
        fix = manual_fix(advice, restart="terminal")
        yield replace(its, evidence=(set_row, *its.evidence[1:]), fix=fix, remedy=None)


def keys_of_another_length(seen: Snapshot) -> Iterator[Finding]:
    """A program hands over a key whose length the installed release of its package refuses. The key itself is not known here."""
    for row, contract, near in _contracts_by_row(seen, "key length", "key"):
        wrong = _(
            "The key in {name} is {length} characters long, and {reader} takes only those of {known}.",
            name=row.variable,
            length=row.unknown[0],
            reader=row.reader,
            known=row.known[0],
        )
        value = Variable(name=row.variable, value="", source="environment")
        its = contract_finding(seen, contract, value, wrong, near)
        name = row.reader.partition(" ")[0]
        yield replace(
            its,
            evidence=(observation(_("Length"), row.unknown[0], row.variable), *its.evidence[1:]),
            fix=manual_fix(
                _("Install a release of {name} that takes the key", name=name),
                framework_pip_command(seen, near[0].python, "install", "--upgrade", name),
                restart="program",
            ),
            remedy=None,
        )


def modules_left_out(seen: Snapshot) -> Iterator[Finding]:
    """A variable keeps the folder of a script off sys.path, and a program in the working folder needs a module of its own there."""
    for home, row, _rows in _read_by_near_ones(seen, "beside"):
        users = row.files[1:]
        values = {"name": row.variable, "program": row.files[0], "module": row.known[0]}
        yield make_finding(
            "environment.module-left-out",
            min(home.severity, WARNING),
            _(
                "The variable {name} is set, so {program} does not find {module} among the user's own packages.",
                **values,
            )
            if users
            else _("The variable {name} is set, so {program} does not find its own module {module}.", **values),
            cause="variable_value_wrong",
            why=_("With it, Python does not search {folder}.", folder=users[0])
            if users
            else _("With it, Python does not look for modules in the folder of the script."),
            evidence=[
                observation(row.variable, repr(row.unknown[0]), "environment"),
                observation(_("Imports"), row.known[0], f"{row.files[0]}:{row.line}"),
            ],
            subject=row.variable,
            fix=without_value(seen.machine.system, row.variable),
            remedy=unset_in(row.variable, _value_of(seen, row), home),
        )


def stacks_beyond_memory(seen: Snapshot) -> Iterator[Finding]:
    """A variable gives each thread of OpenMP a stack that is larger than the memory of the machine: no thread is made."""
    for home, row, _rows in _read_by_near_ones(seen, "memory", lambda r: _value_of(seen, r) in r.unknown):
        name, value, memory = row.variable, _value_of(seen, row), f"{int(row.known[0]) / 2**30:.0f}"
        why = _(
            "Each thread of {reader} gets a stack of this size, and the program ends: Thread creation failed.",
            reader=row.reader,
        )
        yield make_finding(
            f"environment.contract-{name.lower()}",
            min(home.severity, WARNING),
            _("The variable {name} is {value}, more than this machine has memory.", name=name, value=repr(value)),
            cause="variable_value_wrong",
            why=why,
            evidence=[
                observation(name, repr(value), "environment"),
                observation(_("Memory of this machine"), _("{size} GB", size=memory), "/proc/meminfo"),
                home.concerns(row.reader),
            ],
            subject=name,
            fix=without_value(seen.machine.system, name),
            remedy=unset_in(name, value, home),
        )


def _value_of(seen: Snapshot, row: Vocabulary) -> str:
    its = effective_variable(seen, row.variable)
    return its.value if its else ""


def user_without_a_name(seen: Snapshot) -> Iterator[Finding]:
    """A framework's code asks for the name of a user who has no account and no variable that names one."""
    if effective_variable(seen, "USER") or effective_variable(seen, "LOGNAME"):
        return
    for home, row, rows in _read_by_near_ones(seen, "account"):
        why = _(
            "{reader} needs it for the name of its cache folder when it compiles, and stops: KeyError or OSError, uid not found.",
            reader=row.reader,
        )
        yield make_finding(
            "environment.user-without-a-name",
            min(home.severity, WARNING),
            _("The user {number} has no name here: there is no account of this number.", number=row.unknown[0]),
            cause="variable_value_wrong",
            why=why,
            evidence=[
                observation(_("Asks for the name of the user"), row.files[0], f"{row.files[0]}:{row.line}"),
                observation(_("No account"), row.unknown[0], "/etc/passwd"),
                observation(_("Not set"), join_names(("USER", "LOGNAME")), "environment"),
                *(h.concerns(r.reader) for h, r in rows),
            ],
            subject=f"user {row.unknown[0]}",
            fix=manual_fix(
                _("Set the variable {name}", name="USER"),
                how_to_set(seen.machine.system, "USER", "user"),
                _("docker run -e USER=user ...") if seen.machine.container else "",
                restart="terminal",
            ),
        )


def no_place_for_a_cache(seen: Snapshot) -> Iterator[Finding]:
    """A package's functions are kept in a cache, and there is no folder for it that can be written to."""
    for home, row, rows in _read_by_near_ones(seen, "cache"):
        readers = join_names(list(dict.fromkeys(r.reader for _home, r in rows)))
        yield make_finding(
            "environment.no-place-for-a-cache",
            min(home.severity, WARNING),
            _("{reader} can write to none of the folders in which it may keep its compiled functions.", reader=readers),
            cause="variable_value_wrong",
            why=_(
                "Its modules ask Numba for a cache when they are imported, and fail: cannot cache function, no locator available."
            ),
            evidence=[
                observation(_("Asks for a cache"), row.files[0], f"{row.files[0]}:{row.line}"),
                *(observation(_("Cannot be written to"), folder, row.variable) for folder in row.known),
                *(h.concerns(r.reader) for h, r in rows),
            ],
            subject=row.variable,
            fix=manual_fix(
                _("Set the variable {name} to a folder that can be written to", name=row.variable),
                how_to_set(seen.machine.system, row.variable, "/scratch/cache"),
                restart="terminal",
            ),
        )


TAKEN = {
    "whole number": N_("a whole number"),
    "number": N_("a number"),
    "JSON": N_("text in JSON's form"),
    "folder": N_("a folder that is there"),
}
"""What code converts a value into, in words."""


def unusable_settings(seen: Snapshot) -> Iterator[Finding]:
    """A settings file that a framework reads at import has a value that the framework cannot use."""
    views = [h for h in environment_views(seen) if h.near <= 3]
    told: set[str] = set()
    for row in seen.vocabularies or ():
        near = [h for h in views if h.python.prefix == row.prefix]
        if row.takes in ("key", "package"):
            continue
        value = next(iter((*row.unknown, *row.known)), "") if row.setting else ""
        names = {
            s.variable
            for s in contract_table().settings
            if s.key == row.variable and re.fullmatch(s.reader, row.reader)
        }
        own = (s for s in seen.starts or () if s.kind == "script" and s.at.endswith((".py", ".ipynb")))
        if any(v.name in names for s in own for v in s.variables) or any(
            effective_variable(seen, n) for n in names if n
        ):
            continue  # a program here, or this way of starting, sets the variable, which counts before the file
        needs = dict(n for c in variable_contracts() if c.variable in names for n in c.needs)
        installed = [f"{d.name}=={d.version}" for h in near for d in h.python.distributions]
        absent = value in needs and not any(re.fullmatch(needs[value], i) for i in installed)
        if not near or not row.setting or row.setting in told or not (row.unknown or absent):
            continue
        told.add(row.setting)
        file = row.setting.rpartition(":")[0]
        allowed = _("empty, or the name of one that is installed") if absent else join_names(row.known)
        yield make_finding(
            f"environment.setting-{row.variable.lower()}",
            near[0].severity,
            _(
                "The file {file} sets {name} to {value}, which {reader} cannot use.",
                file=file,
                name=row.variable,
                value=repr(value),
                reader=row.reader,
            ),
            cause="variable_value_wrong",
            why=_("{reader} reads this file when it is imported, and fails with this value.", reader=row.reader)
            if row.sure
            else _("{reader} launch reads this file first, and fails with this value.", reader=row.reader),
            evidence=[
                observation(row.variable, repr(value), row.setting),
                *([observation(_("It must be"), allowed, row.reader)] if allowed else []),
                *(h.concerns(row.reader) for h in near),
            ],
            subject=file,
            fix=manual_fix(_("Correct the value of {name} in {file}", name=row.variable, file=file)),
        )


def refused_answers(seen: Snapshot) -> Iterator[Finding]:
    """The person's answers have keys that the launcher of the installed release refuses, whatever their values are."""
    for home, first, rows in _read_by_near_ones(seen, "key"):
        its = [r for _home, r in rows if r.prefix == first.prefix]
        names = join_names([r.variable for r in its])
        words = {"file": first.setting.rpartition(":")[0], "reader": first.reader}
        yield make_finding(
            "environment.answers-of-another-release",
            min(home.severity, WARNING),
            _("The file {file} has keys that the installed {reader} does not know: {names}.", names=names, **words),
            cause="variable_value_wrong",
            why=_("{reader} launch reads this file first, and ends there: ValueError, unknown keys.", **words),
            evidence=[
                *(observation(r.variable, _("No field of this name"), r.setting) for r in its),
                observation(_("The fields are those of"), first.files[0], first.reader),
                home.concerns(first.reader),
            ],
            subject=words["file"],
            fix=manual_fix(
                _("Remove these keys from {file}, or install the {reader} that wrote them", **words),
                _("accelerate config asks the questions of the installed release again and writes the file anew."),
            ),
        )


def unreadable_settings(seen: Snapshot) -> Iterator[Finding]:
    """A file of settings is not in the form in which a package, or a program of the working folder, reads it."""
    for home, row, _rows in _read_by_near_ones(seen, "form"):
        file, by = row.files
        yield make_finding(
            "environment.unreadable-settings",
            NOTE if row.idle else home.severity if row.sure else min(home.severity, WARNING),
            _("The file {file} is not valid {form}: line {line}.", file=file, form=row.variable, line=row.line),
            cause="variable_value_wrong",
            why=_("{reader} reads this file when it is imported, and fails with this value.", reader=by)
            if row.sure
            else _("{reader} reads this file, and ends there.", reader=by),
            evidence=[
                observation(_("What is wrong in it"), row.says, f"{file}:{row.line}"),
                observation(_("Read by"), by, file),
                home.concerns(row.reader),
            ],
            subject=file,
            fix=manual_fix(_("Correct line {line} of {file}", line=row.line, file=file)),
        )


def answers_that_ask_for_packages(seen: Snapshot) -> Iterator[Finding]:
    """The person's answers ask the launcher for what a package does that is not installed."""
    for home, row, _rows in _read_by_near_ones(seen, "package"):
        words = {"file": row.setting.rpartition(":")[0], "reader": row.reader, "packages": join_names(row.known)}
        words |= {"value": row.unknown[0], "name": row.variable, "package": row.known[0]}
        yield make_finding(
            "environment.answers-without-a-package",
            min(home.severity, WARNING),
            _("The file {file} asks {reader} for {value}, and none of these is installed here: {packages}.", **words),
            cause="requirement_broken",
            why=_("{reader} launch reads this file first, and ends where what it asks for is not installed.", **words),
            evidence=[
                observation(row.variable, repr(row.unknown[0]), row.setting),
                observation(_("Not installed"), words["packages"], row.prefix),
                home.concerns(row.reader),
            ],
            subject=words["file"],
            fix=manual_fix(
                _("Correct the value of {name} in {file}", **words),
                _("accelerate config asks the questions of the installed release again and writes the file anew."),
                _("Or install it: pip install {package}", **words),
            ),
        )


RULES = (
    refused_by_code,
    modules_left_out,
    letters_that_no_header_takes,
    addresses_that_end_early,
    keys_of_another_length,
    unusable_settings,
    refused_answers,
    unreadable_settings,
    answers_that_ask_for_packages,
    stacks_beyond_memory,
    user_without_a_name,
    no_place_for_a_cache,
)
