"""Rules about variables with a contract: values that the programs that read them cannot use."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from core.common.i18n import N_, _, n_
from core.common.text import join_names
from core.common.versions import version_tuple
from core.knowledge.contracts import (
    SWITCHES,
    Contract,
    ContractKind,
    asked_words,
    flags_of,
    named_places,
    options_of,
    proxy_scheme,
    settings_files,
    variable_contracts,
    words_of,
)
from core.model.facts import NamedPlace, Snapshot, Variable, Vocabulary
from core.model.findings import Evidence, Finding
from core.model.remedies import Unset
from core.model.steps import Severity, Step
from core.rules.driver.user_mode import lacks_compute
from core.rules.frameworks.environment_view import EnvironmentView, environment_views
from core.rules.frameworks.fit import gpu_side
from core.rules.snapshot_queries import effective_variable
from core.rules.wording import ERROR, NOTE, WARNING, make_finding, manual_fix, observation


def broken_contracts(seen: Snapshot) -> Iterator[Finding]:
    """A variable has a value that its readers cannot use; only a note if no installed program reads it."""
    if seen.environment is None:
        return
    views = [h for h in environment_views(seen) if h.near <= 3]
    yield from _by_code(seen, views)
    for contract in variable_contracts():
        value = _value(seen, contract)
        if value is None:
            continue
        reading = [h for h in views if contract.readers and _reader(h, contract)]
        if contract.readers_only and not reading:
            continue
        odd = unknown_words(contract, value.value, seen)
        if odd:
            reading = [h for h in reading if h.python.prefix in odd]
            yield _unknown(seen, contract, value, odd, reading)
        elif problem := contract_breach(contract, value.value, seen):
            if contract.fails_on_folder and _names_a_folder(contract, value.value, seen):
                contract = replace(contract, fails=any(_fails_on_folder(h, contract) for h in reading))  # noqa: PLW2901 - of this value
            yield _finding(seen, contract, value, problem, reading)


def _value(seen: Snapshot, contract: Contract) -> Variable | None:
    """Return the variable as its readers take it; None if they take another one."""
    if any(v and v.value.strip() for v in (effective_variable(seen, n) for n in contract.unless)):
        return None
    if not all((v := effective_variable(seen, n)) and re.fullmatch(p, v.value.strip()) for n, p in contract.given):
        return None
    its = effective_variable(seen, contract.variable)
    if its is None and contract.inside:  # HOME, say, which no report lists
        places = seen.environment.places if seen.environment else ()
        found = next((p for p in places if p.variable == contract.variable and p.blocked), None)
        return Variable(name=found.variable, value=found.path, source="environment") if found else None
    if its is None or not contract.variable.endswith("_PROXY"):
        return its
    small = (v for v in (seen.environment.variables if seen.environment else ()) if v.name == contract.variable.lower())
    return next((v for v in small if v.scope == its.scope), its)  # urllib prefers the small letters.


def _by_code(seen: Snapshot, views: list[EnvironmentView]) -> Iterator[Finding]:
    """A framework's own code converts the variable, which fails with this value."""
    told: set[str] = set()
    for row in seen.vocabularies or ():
        value = effective_variable(seen, row.variable) if row.takes and row.variable not in told else None
        near = [h for h in views if h.python.prefix == row.prefix]
        if value is None or value.value not in row.unknown or not near:
            continue
        if row.setting or row.takes == "account":
            continue
        told.add(row.variable)
        if row.takes == "module":
            contract = Contract(variable=row.variable, readers="", kind="words", source=f"{row.files[0]}:{row.line}")
            its = _without_backend(near[0], contract, value, row.reader, row.known[0])
            yield replace(its, severity=min(its.severity, WARNING))
            continue
        kind: ContractKind = row.takes if row.takes in ("words", "switch", "file") else "pattern"
        contract = Contract(
            variable=row.variable,
            readers=re.escape(row.reader),
            kind=kind,
            words=row.known,
            means=_(TAKEN[row.takes]) if row.takes in TAKEN else "",
            fails=True,
            source=f"{row.files[0]}:{row.line}",
        )
        wrong = _(
            "The variable {name} is {value}, which is not a valid value.",
            name=row.variable,
            value=repr(value.value),
        )
        its = _finding(seen, contract, value, wrong, near)
        yield its if row.sure else replace(its, severity=min(its.severity, WARNING))


def user_without_a_name(seen: Snapshot) -> Iterator[Finding]:
    """A framework's code asks for the name of a user who has no account and no variable that names one."""
    views = [h for h in environment_views(seen) if h.near <= 2]
    rows = [
        (h, r) for h in views for r in seen.vocabularies or () if r.takes == "account" and r.prefix == h.python.prefix
    ]
    if not rows or effective_variable(seen, "USER") or effective_variable(seen, "LOGNAME"):
        return
    home, row = rows[0]
    yield make_finding(
        Step.ENVIRONMENT,
        min(home.severity, WARNING),
        "user-without-a-name",
        _("The user {number} has no name here: there is no account of this number.", number=row.unknown[0]),
        cause="variable_value_wrong",
        why=_(
            "{reader} asks for it to name its cache folder when it compiles, and stops: KeyError or OSError, uid not found.",
            reader=row.reader,
        ),
        evidence=[
            observation(_("Asks for the name of the user"), row.files[0], f"{row.files[0]}:{row.line}"),
            observation(_("No account"), row.unknown[0], "/etc/passwd"),
            observation(_("Not set"), join_names(("USER", "LOGNAME")), "environment"),
            *(h.concerns(r.reader) for h, r in rows),
        ],
        subject=f"user {row.unknown[0]}",
        fix=manual_fix(
            _("Set the variable {name}", name="USER"),
            _("In this terminal: export {name}={value}", name="USER", value="user"),
            _("docker run -e USER=user ...") if seen.machine.container else "",
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
        value = next(iter((*row.unknown, *row.known)), "") if row.setting else ""
        names = {s.variable for s in settings_files() if s.key == row.variable and re.fullmatch(s.reader, row.reader)}
        needs = dict(n for c in variable_contracts() if c.variable in names for n in c.needs)
        installed = [f"{d.name}=={d.version}" for h in near for d in h.python.distributions]
        absent = value in needs and not any(re.fullmatch(needs[value], i) for i in installed)
        if not near or not row.setting or row.setting in told or not (row.unknown or absent):
            continue
        told.add(row.setting)
        file = row.setting.rpartition(":")[0]
        allowed = _("empty, or the name of one that is installed") if absent else join_names(row.known)
        yield make_finding(
            Step.ENVIRONMENT,
            near[0].severity,
            f"setting-{row.variable.lower()}",
            _(
                "The file {file} sets {name} to {value}, which {reader} cannot use.",
                file=file,
                name=row.variable,
                value=repr(value),
                reader=row.reader,
            ),
            cause="variable_value_wrong",
            why=_("{reader} reads this file when it is imported, and fails with this value.", reader=row.reader),
            evidence=[
                observation(row.variable, repr(value), row.setting),
                *([observation(_("It must be"), allowed, row.reader)] if allowed else []),
                *(h.concerns(row.reader) for h in near),
            ],
            subject=file,
            fix=manual_fix(_("Correct the value of {name} in {file}", name=row.variable, file=file)),
        )


def _names_a_folder(contract: Contract, value: str, seen: Snapshot) -> bool:
    places = seen.environment.places if seen.environment else ()
    return any(p.variable == contract.variable and p.path == value.strip() and p.state == "folder" for p in places)


def _fails_on_folder(home: EnvironmentView, contract: Contract) -> bool:
    """Whether the reader's release fails if the value names a folder."""
    versions = [d.version for d in home.python.distributions if re.fullmatch(contract.readers, d.name)]
    return any(version_tuple(v) >= version_tuple(contract.fails_on_folder) for v in versions)


def unknown_words(contract: Contract, value: str, seen: Snapshot) -> dict[str, Vocabulary]:
    """Return environment -> words of a value that do not occur in its reader's own files."""
    words = set(asked_words(contract, value)) if contract.known else set()
    rows = (v for v in seen.vocabularies or () if v.variable == contract.variable) if words else ()
    return {v.prefix: v for v in rows if words & set(v.unknown)}


def _reader(home: EnvironmentView, contract: Contract) -> str:
    """Return the distribution of an environment that reads the variable; empty for none."""
    its = [d for d in home.python.distributions if re.fullmatch(contract.readers, d.name)]
    if contract.beside and not any(re.fullmatch(contract.beside, d.name) for d in home.python.distributions):
        return ""
    return next(
        (
            d.name
            for d in its
            if (not contract.until or version_tuple(d.version) < version_tuple(contract.until))
            and version_tuple(d.version) >= version_tuple(contract.since)
        ),
        "",
    )


def _severity(contract: Contract, reading: list[EnvironmentView]) -> Severity:
    if not contract.readers:
        asked = contract.kind in ("requirement", "capabilities", "devices")
        return ERROR if contract.fails else WARNING if asked else NOTE
    nearest = min((h.near for h in reading), default=4)
    if nearest > 2:
        return NOTE
    # A folder inside it, or what is loaded from it, is made when a kernel is compiled or a file is fetched: many programs do neither.
    seldom = (
        contract.fetches
        or contract.inside
        or contract.loads
        or contract.kind == "together"
        or (contract.known and contract.known.libraries)
    )
    return ERROR if contract.fails and nearest <= 1 and not seldom else WARNING if contract.fails else NOTE


def _unknown(
    seen: Snapshot, contract: Contract, value: Variable, odd: dict[str, Vocabulary], reading: list[EnvironmentView]
) -> Finding:
    """Return the finding about words that the reader's own files do not contain."""
    rows = [odd[h.python.prefix] for h in reading if h.python.prefix in odd] or list(odd.values())
    words = [w for w in asked_words(contract, value.value) if w in rows[0].unknown]
    who = _reader(reading[0], contract) if reading else contract.readers
    problem = n_(
        "The variable {name} says {words}, which {reader} here does not know.",
        "The variable {name} says {words}, none of which {reader} here knows.",
        len(words),
        name=contract.variable,
        words=join_names(words),
        reader=who,
    )
    if contract.known and contract.known.libraries:
        lacking = join_names([name for word, name in contract.known.libraries if word in {w.lower() for w in words}])
        problem = _(
            "The variable {name} asks {reader} for {word}, whose library {file} is not found.",
            name=contract.variable,
            reader=who,
            word=join_names(words),
            file=lacking,
        )
    its = _finding(seen, contract, value, problem, reading)
    files = observation(_("Read for the words that it knows"), join_names(rows[0].files[:4]), rows[0].prefix)
    return replace(its, evidence=(*its.evidence, files))


def _finding(
    seen: Snapshot, contract: Contract, value: Variable, problem: str, reading: list[EnvironmentView]
) -> Finding:
    windows = seen.machine.system == "windows"
    container = contract.kind in ("requirement", "capabilities", "devices")
    return make_finding(
        Step.ENVIRONMENT,
        _severity(contract, reading),
        f"contract-{contract.variable.lower()}",
        problem,
        cause=("driver_too_old" if contract.kind == "requirement" else "container_no_gpu_runtime")
        if container
        else "variable_value_wrong",
        why=_("The container was started with this request, which the host's driver does not meet.")
        if container
        else _("With this value, programs that read the variable cannot fetch anything, such as models or weights.")
        if contract.fetches
        else _("Programs that read the variable fail with this value.")
        if contract.fails
        else _("Programs that read the variable ignore this value, or take another one."),
        evidence=[
            observation(value.name, repr(value.value), value.source or value.scope),
            *_allowed_rows(contract),
            *(h.concerns(_reader(h, contract)) for h in reading if h.near <= 2),
        ],
        subject=contract.variable,
        fix=manual_fix(
            _("Start the container with what it needs of the driver")
            if container
            else _("Set the variable {name} to a folder that can be written to", name=contract.unless[-1])
            if contract.inside
            else _("Remove the variable {name}, or correct its value", name=contract.variable),
            _("docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility ...")
            if container
            else _("In this terminal: export {name}={value}", name=contract.unless[-1], value="/scratch/cache")
            if contract.inside
            else _("Remove it in the Start menu under Edit environment variables.")
            if windows
            else _("In this terminal: unset {name}.", name=contract.variable),
            restart="terminal",
        ),
        remedy=None if container or contract.inside else Unset(variable=contract.variable),
    )


def _allowed_rows(contract: Contract) -> list[Evidence]:
    label, source = _("It must be"), contract.source.partition(";")[0]
    words = [w for w in contract.words if w]
    if contract.kind == "together":
        return [observation(_("Must be set as well"), join_names(words), source)]
    if contract.kind == "options":
        return [observation(_("Known options"), join_names(words), source)]
    if contract.kind == "writable":
        return [observation(label, _("a folder that can be written to, or made"), source)]
    if contract.kind == "program":
        return [observation(label, _("a program that is there and can be run"), source)]
    if contract.kind == "interfaces":
        return [observation(label, _("the start of the name of a network interface that is there"), source)]
    if contract.kind == "switch":
        return [observation(label, join_names(("true", "false", "1", "0")), source)]
    if contract.kind == "number":
        return [
            observation(
                label,
                _("a number from {least} to {most}", least=f"{contract.least:g}", most=f"{contract.most:g}"),
                source,
            )
        ]
    if contract.kind == "flags":
        return [observation(label, _("flags that begin with --, or a file that has such flags"), source)]
    if contract.kind in ("folder", "file", "files", "path"):
        holds = join_names(contract.holds) if contract.holds else ""
        text = _("a folder that has one of: {names}", names=holds) if holds else _("a file that is there")
        return [observation(label, text, source)]
    return [observation(label, join_names(words) or contract.means, source)]


WHOLE = ("words", "switch", "folder", "file", "files", "path", "program", "interfaces", "proxy")
"""Kinds whose readers take a value as it is; others convert it, or split it at white space, to which a carriage return belongs."""

# --- contract violations ----------------------------------------------------------------------------------------------


def contract_breach(contract: Contract, value: str, seen: Snapshot) -> str:
    """Return how a value violates a contract, in one sentence; empty if it complies, or if that is unknown."""
    wrong = _(
        "The variable {name} is {value}, which is not a valid value.",
        name=contract.variable,
        value=repr(value),
    )
    if "\r" in value and contract.kind in WHOLE:
        return _(
            "The variable {name} is {value}, with a carriage return, as in a file that was written on Windows.",
            name=contract.variable,
            value=repr(value),
        )
    match contract.kind:
        case "words":
            known = {w.lower() for w in contract.words}
            odd = [w for w in words_of(contract, value) if w.lower() not in known]
            return wrong if odd and value.strip() and not (contract.open or contract.known) else ""
        case "switch":
            return wrong if value.strip() and value.strip().lower() not in SWITCHES else ""
        case "number":
            number = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?|\.\d{1,9})\s*", value)
            inside = number is not None and contract.least <= float(number[1]) <= contract.most
            return "" if inside or not value.strip() else wrong
        case "pattern":
            return "" if not value.strip() or re.fullmatch(contract.pattern, value.strip()) else wrong
        case "options":
            return _wrong_options(contract, options_of(value))
        case "proxy":
            scheme = proxy_scheme(value)
            return wrong if scheme and scheme not in contract.words else ""
        case "encoding":
            return "" if _is_encoding(value) else wrong
        case "requirement" | "capabilities" | "devices" | "together":
            return _unmet(contract, value, seen)
        case "flags" if wrong_flag := _wrong_options(contract, flags_of(value)):
            return wrong_flag
    return _wrong_place(contract, value, seen)


def _unmet(contract: Contract, value: str, seen: Snapshot) -> str:
    """Return what a value asks for that the machine, or another variable, does not give."""
    match contract.kind:
        case "requirement":
            return _unmet_requirement(value, seen)
        case "capabilities":
            return _without_compute(contract, value, seen)
        case "devices":
            return _without_devices(contract, value, seen)
        case _:
            return _lacks_another(contract, value, seen)


def _lacks_another(contract: Contract, value: str, seen: Snapshot) -> str:
    lost = [n for n in contract.words if not effective_variable(seen, n)]
    if not lost or not re.fullmatch(contract.pattern, value.strip()):
        return ""
    return _("The variable {name} is set, but {other} is not.", name=contract.variable, other=join_names(lost))


def _is_encoding(value: str) -> bool:
    name = value.partition(":")[0].strip()
    try:
        return not name or bool(codecs.lookup(name))
    except (LookupError, ValueError):
        return False


def _wrong_options(contract: Contract, options: Iterable[tuple[str, str]]) -> str:
    patterns = dict(contract.values)
    for name, its in options:
        pattern = patterns.get(name)
        if pattern is not None and not re.fullmatch(pattern, its):
            return _(
                "The variable {name} gives {option} the value {value}, which is not valid.",
                name=contract.variable,
                option=name,
                value=repr(its),
            )
    return ""


def _wrong_place(contract: Contract, value: str, seen: Snapshot) -> str:
    """Return what is wrong with the path in a value; a relative path depends on the working directory."""
    places = {
        p.path: p for p in (seen.environment.places if seen.environment else ()) if p.variable == contract.variable
    }
    for path in named_places(contract, value, seen.machine.system):
        place = places.get(path)
        values = {"name": contract.variable, "path": path}
        if contract.kind == "interfaces":
            if place is not None and place.holds and not _has_interface(value, place.holds):
                return _(
                    "The variable {name} is {value}: no network interface here has such a name.",
                    name=contract.variable,
                    value=repr(value),
                )
            continue
        if contract.kind == "writable":
            if place is not None and (told := _obstacle(contract, path, place)):
                return told
            continue
        if contract.kind == "flags" and (place is None or place.state != "file"):
            return _("The variable {name} is {path}, which is neither a flag nor a file.", **values)
        if place is None:
            continue
        if place.state == "missing":
            return _("The variable {name} names {path}, which does not exist.", **values)
        if contract.kind == "folder" and place.state == "file":
            return _("The variable {name} names {path}, which is not a folder.", **values)
        if contract.kind == "program" and place.state == "file" and not place.runs:
            return _("The variable {name} names {path}, which this user may not run.", **values)
        if contract.kind in ("file", "files", "program") and place.state == "folder":
            return _("The variable {name} names {path}, which is a folder.", **values)
        if contract.holds and not place.holds:
            return _("The variable {name} names {path}, which lacks what programs look for there.", **values)
    return ""


def _obstacle(contract: Contract, path: str, place: NamedPlace) -> str:
    """Return why nothing can be written to a folder, or loaded from it; empty where it serves."""
    values = {"name": contract.variable, "path": path, "at": place.blocked}
    if contract.loads and not place.runs and not place.blocked:
        return _(
            "The variable {name} names {path}, on a file system that is mounted with noexec: what is compiled there cannot be loaded.",
            **values,
        )
    if not place.blocked or (contract.reads and place.state == "folder"):
        return ""
    if place.state == "folder":
        return _("The variable {name} names {path}, a folder that this user may not write to.", **values)
    return _("The variable {name} names {path}, a folder that cannot be created: {at} is in the way.", **values)


def _has_interface(value: str, names: tuple[str, ...]) -> bool:
    """Whether a value in NCCL's format matches an interface: prefixes of names, "=" before exact names, "^" before
    excluded ones.
    """
    text = value.strip()
    rest = text.lstrip("^=")
    wanted = [w for w in rest.split(",") if w]
    whole = "=" in text[: len(text) - len(rest)]

    def fits(name: str) -> bool:
        return any(name == w.partition(":")[0] if whole else name.startswith(w.partition(":")[0]) for w in wanted)

    return not wanted or (any(not fits(n) for n in names) if text.startswith("^") else any(map(fits, names)))


def _unmet_requirement(value: str, seen: Snapshot) -> str:
    """Return why no alternative of NVIDIA_REQUIRE_CUDA is met: a space means or, a comma means and."""
    driver = seen.driver
    if seen.machine.container is None or driver is None:
        return ""
    side = gpu_side(seen)
    facts = {"cuda": side.cuda or "", "driver": side.driver or ""}
    if (
        not value.strip()
        or not any(facts.values())
        or any(_may_hold(alternative, facts) for alternative in value.split())
    ):
        return ""
    return _(
        "The image asks for {wanted}, but the driver is {driver} and runs CUDA up to {cuda}.",
        wanted=value.split(maxsplit=1)[0],
        driver=facts["driver"] or _("unknown"),
        cuda=facts["cuda"] or _("unknown"),
    )


def _may_hold(alternative: str, facts: dict[str, str]) -> bool:
    for condition in alternative.split(","):
        found = re.fullmatch(r"(\w+)(>=|<=|!=|=|>|<)([\w.]+)", condition)
        have = version_tuple(facts.get(found[1], "")) if found else ()
        if found is None or not have:
            continue  # Brands and architectures are not compared.
        want = version_tuple(found[3])
        mine = have[: len(want)]
        holds = {
            ">=": mine >= want,
            "<=": mine <= want,
            "=": mine == want,
            "!=": mine != want,
            ">": mine > want,
            "<": mine < want,
        }
        if not holds[found[2]]:
            return False
    return True


def _without_compute(contract: Contract, value: str, seen: Snapshot) -> str:
    if seen.machine.container is None or seen.driver is None or gpu_side(seen).works:
        return ""
    if lacks_compute(seen, seen.driver, value):
        return ""  # The driver's own rule reports it.
    given = {part.strip() for part in value.split(",")} - {""}  # Without any, the default applies, which includes CUDA.
    if not given or given & set(contract.words) or not (seen.driver.nodes or ()):
        return ""
    return _("The container got the driver without CUDA: {name} is {value}.", name=contract.variable, value=repr(value))


def _without_devices(contract: Contract, value: str, seen: Snapshot) -> str:
    if seen.machine.container is None or seen.driver is None or gpu_side(seen).works or value.strip() == "":
        return ""
    if value.strip() not in contract.words or seen.driver.nodes:
        return ""
    return _("The container was started without a GPU: {name} is {value}.", name=contract.variable, value=repr(value))


def absent_backends(seen: Snapshot) -> Iterator[Finding]:
    """A variable requests a backend that is not installed in the environment: JAX for CUDA without the plugin."""
    for contract in variable_contracts():
        value = _value(seen, contract) if contract.needs else None
        given = value.value if value else ""
        words = (
            [proxy_scheme(given)]
            if contract.kind == "proxy"
            else [w.strip().lower() for w in given.split(contract.separator or ",")]
        )
        for home in environment_views(seen) if value else ():
            reader = _reader(home, contract)
            for word in words if reader and home.near <= 2 else ():
                pattern = dict(contract.needs).get(word)
                if (
                    value
                    and pattern
                    and not any(re.fullmatch(pattern, f"{d.name}=={d.version}") for d in home.python.distributions)
                ):
                    yield _without_backend(home, contract, value, reader, contract.means or word)


def _without_backend(home: EnvironmentView, contract: Contract, value: Variable, reader: str, word: str) -> Finding:
    return make_finding(
        Step.ENVIRONMENT,
        min(home.severity, WARNING) if contract.fetches else home.severity,
        f"backend-{contract.variable.lower()}",
        _(
            "The variable {name} asks {reader} for {word}, which is not installed in {prefix}.",
            name=contract.variable,
            reader=reader,
            word=repr(word),
            prefix=home.python.prefix,
        ),
        cause="variable_value_wrong",
        why=_("With this value, programs that read the variable cannot fetch anything, such as models or weights.")
        if contract.fetches
        else _("With this variable, it does not fall back to another backend: it fails at the first use."),
        evidence=[
            observation(value.name, repr(value.value), value.source or value.scope),
            observation(
                _("It must be"), _("empty, or the name of one that is installed"), contract.source.partition(";")[0]
            ),
            home.concerns(reader),
        ],
        subject=home.python.prefix,
        fix=manual_fix(
            _("Remove the variable {name}, or install what it asks for", name=contract.variable),
            _("In this terminal: unset {name}.", name=contract.variable) if home.seen.machine.system == "linux" else "",
            restart="terminal",
        ),
        remedy=Unset(variable=contract.variable),
    )


RULES = (broken_contracts, absent_backends, unusable_settings, user_without_a_name)
