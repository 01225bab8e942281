"""Rules about variables with a contract: values that the programs that read them cannot use."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from core.common.i18n import _, n_
from core.common.text import join_names
from core.common.versions import version_tuple
from core.knowledge.contracts import (
    BY_SPELLING,
    Contract,
    asked_words,
    proxy_scheme,
    variable_contracts,
)
from core.model.facts import NamedPlace, Snapshot, Variable, Vocabulary
from core.model.findings import Finding
from core.rules.frameworks.environment_view import EnvironmentView, environment_views
from core.rules.snapshot_queries import effective_variable
from core.rules.variables.breaches import contract_breach
from core.rules.variables.findings import contract_finding, reader_of, without_backend
from core.rules.wording import observation


def broken_contracts(seen: Snapshot) -> Iterator[Finding]:
    """A variable has a value that its readers cannot use; only a note if no installed program reads it."""
    if seen.environment is None:
        return
    views = [h for h in environment_views(seen) if h.near <= 3]
    told: set[str] = set()  # of a folder for several kinds of files, once
    for contract in variable_contracts():
        value = _value(seen, contract)
        if value is None or contract.system not in ("", seen.machine.system):
            continue
        reading = [h for h in views if contract.readers and reader_of(h, contract)]
        if (contract.readers_only and not reading) or not _is_asked_for(contract, value.value, seen):
            continue
        if file := _file_of_flags(contract, value.value, seen):
            value = replace(value, value=" ".join(file.holds), source=file.path)
        odd = unknown_words(contract, value.value, seen)
        if odd:
            reading = [h for h in reading if h.python.prefix in odd]
            yield _unknown(seen, contract, value, odd, reading)
        elif problem := contract_breach(contract, value.value, seen):
            if contract.fails_on_folder and _names_a_folder(contract, value.value, seen):
                contract = replace(contract, fails=any(_fails_on_folder(h, contract) for h in reading))  # noqa: PLW2901 - of this value
            if contract.kind == "offline" and not _asks_a_hub(contract, seen):
                contract = replace(contract, fails=False)  # noqa: PLW2901 - models may lie anywhere
            if contract.inside and problem in told:
                continue
            told.add(problem)
            yield contract_finding(seen, contract, value, problem, reading)


def _value(seen: Snapshot, contract: Contract) -> Variable | None:
    """Return the variable as its readers take it; None if they take another one."""
    its = effective_variable(seen, contract.variable)
    if its is None and not contract.inside:
        return None
    if any(v and v.value.strip() for v in (effective_variable(seen, n) for n in contract.unless)):
        return None
    if not all((v := effective_variable(seen, n)) and re.fullmatch(p, v.value.strip()) for n, p in contract.given):
        return None
    if its is None:  # HOME, say, which no report lists
        its_own = (p for p in seen.places if p.variable == contract.variable and p.inside == contract.inside)
        found = next((p for p in its_own if p.blocked), None)
        return Variable(name=found.variable, value=found.path, source="environment") if found else None
    if not contract.variable.endswith("_PROXY"):
        return its
    small = (v for v in seen.variables if v.name == contract.variable.lower())
    return next((v for v in small if v.scope == its.scope), its)  # urllib prefers the small letters.


def _file_of_flags(contract: Contract, value: str, seen: Snapshot) -> NamedPlace | None:
    """Return the file that a value names and in which the flags stand."""
    places = seen.places if contract.kind == "flags" and not contract.flag else ()
    path = value.strip()
    return next((p for p in places if p.variable == contract.variable and p.path == path and p.state == "file"), None)


def _asks_a_hub(contract: Contract, seen: Snapshot) -> bool:
    return all(p.asked for p in seen.places if p.variable == contract.variable)


def _is_asked_for(contract: Contract, value: str, seen: Snapshot) -> bool:
    """Whether a program or script here spells what the value matters for, where its words matter for few programs alone."""
    if contract.kind not in BY_SPELLING or not contract.spelt:
        return True
    return any(p.variable == contract.variable and p.holds == (value,) for p in seen.places)


def _names_a_folder(contract: Contract, value: str, seen: Snapshot) -> bool:
    return any(p.variable == contract.variable and p.path == value.strip() and p.state == "folder" for p in seen.places)


def _fails_on_folder(home: EnvironmentView, contract: Contract) -> bool:
    """Whether the reader's release fails if the value names a folder."""
    versions = [d.version for d in home.python.distributions if re.fullmatch(contract.readers, d.name)]
    return any(version_tuple(v) >= version_tuple(contract.fails_on_folder) for v in versions)


def unknown_words(contract: Contract, value: str, seen: Snapshot) -> dict[str, Vocabulary]:
    """Return environment -> words of a value that do not occur in its reader's own files."""
    words = set(asked_words(contract, value)) if contract.known else set()
    rows = (v for v in seen.vocabularies or () if v.variable == contract.variable) if words else ()
    return {v.prefix: v for v in rows if words & set(v.unknown)}


def _unknown(
    seen: Snapshot, contract: Contract, value: Variable, odd: dict[str, Vocabulary], reading: list[EnvironmentView]
) -> Finding:
    """Return the finding about words that the reader's own files do not contain."""
    rows = [odd[h.python.prefix] for h in reading if h.python.prefix in odd] or list(odd.values())
    words = [w for w in asked_words(contract, value.value) if w in rows[0].unknown]
    who = reader_of(reading[0], contract) if reading else contract.readers
    problem = n_(
        "The variable {name} contains {words}, which the {reader} here does not know.",
        "The variable {name} contains {words}, none of which the {reader} here knows.",
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
    its = contract_finding(seen, contract, value, problem, reading)
    files = observation(_("Read for the words that it knows"), join_names(rows[0].files[:4]), rows[0].prefix)
    return replace(its, evidence=(*its.evidence, files))


def absent_backends(seen: Snapshot) -> Iterator[Finding]:
    """A variable requests a backend that is not installed in the environment: JAX for CUDA without the plugin."""
    for contract in variable_contracts():
        value = _value(seen, contract) if contract.needs else None
        if value is None or not _is_asked_for(contract, value.value, seen):
            continue
        words = (
            [proxy_scheme(value.value)]
            if contract.kind == "proxy"
            else [
                w if w in contract.words else w.lower()
                for w in map(str.strip, value.value.split(contract.separator or ","))
            ]
        )
        for home in environment_views(seen):
            reader = reader_of(home, contract)
            for word in words if reader and home.near <= 2 else ():
                pattern = dict(contract.needs).get(word)
                if pattern and not any(
                    re.fullmatch(pattern, f"{d.name}=={d.version}") for d in home.python.distributions
                ):
                    yield without_backend(home, contract, value, reader, contract.means or word)


RULES = (broken_contracts, absent_backends)
