"""How a value breaks a contract, in one sentence."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable

from core.common.i18n import N_, _, n_
from core.common.text import join_names
from core.common.versions import version_tuple
from core.knowledge.contracts import (
    OFFLINE,
    SWITCHES,
    Contract,
    flags_of,
    named_places,
    options_of,
    parts_of,
    proxy_scheme,
    words_of,
)
from core.model.facts import NamedPlace, Snapshot
from core.rules.driver.user_mode import lacks_compute
from core.rules.frameworks.fit import gpu_side
from core.rules.snapshot_queries import effective_variable

WHOLE = ("words", "switch", "folder", "file", "files", "path", "program", "interfaces", "proxy")
"""Kinds whose readers take a value as it is; others convert it, or split it at white space, to which a carriage return belongs."""

PLACES = ("folder", "file", "files", "writable", "sockets")
"""Kinds whose values name files or folders, in whose names Windows allows no quotation mark; ``set NAME="VALUE"`` keeps both.

Source: Microsoft, "Naming Files, Paths, and Namespaces".
"""


def contract_breach(contract: Contract, value: str, seen: Snapshot) -> str:
    """Return how a value violates a contract, in one sentence; empty if it complies, or if that is unknown."""
    wrong = _("The variable {name} is {value}, which is not a valid value.", name=contract.variable, value=repr(value))
    if around := _kept_around(contract, value, seen):
        return around
    match contract.kind:
        case "words":
            return wrong if _has_odd_word(contract, value) else ""
        case "switch":
            return wrong if (value or contract.exact in WITH_NOTHING) and value.lower() not in SWITCHES else ""
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
        case (
            "requirement" | "capabilities" | "devices" | "together" | "apart" | "debugging" | "local" | "single"
            | "locale" | "tensors" | "address"
        ):  # fmt: skip
            return _unmet(contract, value, seen)
        case "modules":
            return _not_as_it_is_meant(contract, seen)
        case "offline":
            return _nothing_to_take(contract, value, seen)
        case "flags" if wrong_flag := _wrong_options(contract, flags_of(value)):
            return wrong_flag
    return _wrong_place(contract, value, seen)


def _kept_around(contract: Contract, value: str, seen: Snapshot) -> str:
    """Return what stands around a value, or in it, that its readers take for a part of it."""
    if "\r" in value and contract.kind in WHOLE:
        return _(
            "The variable {name} is {value}, with a carriage return, as in a file that was written on Windows.",
            name=contract.variable,
            value=repr(value),
        )
    if _has_a_blank(contract, value):
        return _(
            "The variable {name} is {value}: programs read the blank as a part of the value.",
            name=contract.variable,
            value=repr(value),
        )
    if seen.machine.system == "windows" and contract.kind in PLACES and '"' in value:
        return _(
            "The variable {name} is {value}: programs read the quotation marks as a part of the value.",
            name=contract.variable,
            value=repr(value),
        )
    if seen.machine.system == "windows" and contract.kind in PLACES and any(c < " " for c in value):
        return _(
            "The variable {name} is {value}: an escape in quotation marks is a control character, which no path has.",
            name=contract.variable,
            value=repr(value),
        )
    return ""


WITH_NOTHING = ("blanks", "all")
"""Where nothing counts as a value, too."""


def _has_a_blank(contract: Contract, value: str) -> bool:
    """Whether a value has a blank where its reader takes it for a part of the value."""
    if contract.exact == "end":
        return bool(value.strip()) and value != value.rstrip()
    return bool(contract.exact) and any(p != p.strip() for p in parts_of(contract, value))


def _sent_away(contract: Contract, value: str, seen: Snapshot) -> str:
    """Return that a program's questions to this machine go to a proxy."""
    place = next((p for p in seen.places if p.variable == contract.variable and p.state == "file" and p.holds), None)
    if place is None or not value.strip():
        return ""
    return _(
        "The requests of {path} to {host}, which is this machine, go to the proxy in {name}: NO_PROXY does not exclude it.",
        path=place.path,
        host=place.holds[0],
        name=contract.variable,
    )


def _against_a_program(contract: Contract, value: str, seen: Snapshot) -> str:
    """Return that a program of the working folder fails with a value, or gets another thing than it asks for."""
    its = (p for p in seen.places if p.variable == contract.variable and p.state == "file" and p.holds)
    place = next((p for p in its if contract.kind != "locale" or p.holds == (value.strip(),)), None)
    if place is None:
        return ""
    values = {"name": contract.variable, "path": place.path, "value": repr(value)}
    if contract.kind == "locale":
        return _(
            "The variable {name} is {value}, a locale that is not installed here, and {path} asks setlocale() for it.",
            **values,
        )
    if contract.kind == "address":
        text = N_(
            "The variable {name} is {value}, and {path} asks itself there: this machine's name, its addresses and /etc/hosts do not"
            " have it. No name server was asked."
        )
        # a container is reached by its host's address, too, and by the name that its neighbours call it
        may_be_reached = seen.machine.container and not re.search(r"\.[A-Za-z]", value)
        return "" if may_be_reached else _(text, **values)
    return _(
        "The variable {name} is {value}, so only tensors are loaded, and what {path} loads holds {what} as well.",
        what=place.holds[0],
        **values,
    )


def _helps_to_find_errors(contract: Contract, value: str) -> str:
    if not re.fullmatch(contract.pattern, value.strip()):
        return ""
    return _(
        "The variable {name} is {value}, a setting for finding errors: programs that work without it end with it.",
        name=contract.variable,
        value=repr(value),
    )


def _nothing_to_take(contract: Contract, value: str, seen: Snapshot) -> str:
    """Return that downloads are forbidden where none was ever made."""
    place = next((p for p in seen.places if p.variable == contract.variable), None)
    if value.strip().lower() not in OFFLINE or place is None or place.holds:
        return ""
    if place.state == "file":
        return _(
            "The variable {name} is {value}, so nothing is asked of the hub, and {path} asks it.",
            name=contract.variable,
            value=repr(value),
            path=place.path,
        )
    return _(
        "The variable {name} is {value}, so nothing is downloaded, and {path} contains no model or data set.",
        name=contract.variable,
        value=repr(value),
        path=place.path,
    )


def misspelt_places(contract: Contract, seen: Snapshot) -> dict[str, tuple[str, ...]]:
    """Return entry -> the folders that it means, of a search path with entries that are not there as they are written."""
    places = seen.places if contract.kind == "modules" else ()
    return {p.path: p.holds for p in places if p.variable == contract.variable and p.holds}


def _not_as_it_is_meant(contract: Contract, seen: Snapshot) -> str:
    path, meant = next(iter(misspelt_places(contract, seen).items()), ("", ()))
    if not meant:
        return ""
    return _(
        "The variable {name} names {path}, which does not exist; it seems to mean {meant}.",
        name=contract.variable,
        path=path,
        meant=join_names(meant),
    )


def _has_odd_word(contract: Contract, value: str) -> bool:
    """Whether a word is not in the table; upper and lower case matter where they do for the reader."""
    if contract.exact in WITH_NOTHING and not value:
        return "" not in contract.words
    known = {w.lower() for w in contract.words}
    words = words_of(contract, value)
    if contract.exact == "all" and any(w not in contract.words and w.lower() in known for w in words):
        return True
    odd = any(w.lower() not in known for w in words)
    return odd and bool(value.strip()) and not (contract.open or contract.known)


def _unmet(contract: Contract, value: str, seen: Snapshot) -> str:
    """Return what a value asks for that the machine, or another variable, does not give."""
    match contract.kind:
        case "requirement":
            return _unmet_requirement(value, seen)
        case "capabilities":
            return _without_compute(contract, value, seen)
        case "devices":
            return _without_devices(contract, value, seen)
        case "apart":
            return _excludes_another(contract, value, seen)
        case "single":
            return _list_of_folders(contract, value, seen)
        case "local":
            return _sent_away(contract, value, seen)
        case "locale" | "tensors" | "address":
            return _against_a_program(contract, value, seen)
        case "debugging":
            return _helps_to_find_errors(contract, value)
        case _:
            return _lacks_another(contract, value, seen)


def _lacks_another(contract: Contract, value: str, seen: Snapshot) -> str:
    lost = [n for n in contract.words if not effective_variable(seen, n)]
    if not lost or not re.fullmatch(contract.pattern, value.strip()):
        return ""
    return n_(
        "The variable {name} is set, but {other} is not.",
        "The variable {name} is set, but {other} are not.",
        len(lost),
        name=contract.variable,
        other=join_names(lost),
    )


def _excludes_another(contract: Contract, value: str, seen: Snapshot) -> str:
    given = ((n, effective_variable(seen, n)) for n in contract.words)
    too = [n for n, its in given if its and re.fullmatch(contract.pattern, its.value.strip())]
    if not too or not re.fullmatch(contract.pattern, value.strip()):
        return ""
    return _(
        "The variables {name} and {other} are both set, and one excludes the other.",
        name=contract.variable,
        other=join_names(too),
    )


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
    places = {p.path: p for p in seen.places if p.variable == contract.variable and p.inside == contract.inside}
    for path in named_places(contract, value, seen.machine.system):
        place = places.get(path)
        values = {"name": contract.variable, "path": path}
        if contract.kind == "interfaces":
            unknown = place is not None and place.holds and not _has_interface(value, place.holds)
            text = N_("The variable {name} is {value}: no network interface here has such a name.")
            return _(text, name=contract.variable, value=repr(value)) if unknown else ""
        if contract.kind in ("writable", "sockets"):
            if place is not None and (told := _obstacle(contract, path, place)):
                return told
            continue
        if contract.kind == "flags" and (place is None or place.state != "file"):
            return _("The variable {name} is {path}, which is neither a flag nor a file.", **values)
        if place is None:
            continue
        if place.near:
            text = N_("The variable {name} names {path}, which lacks what programs look for there; {near} has it.")
            return _(text, near=place.near, **values)
        if place.state == "missing":
            return _("The variable {name} names {path}, which does not exist.", **values)
        if contract.kind == "folder" and place.state == "file":
            return _("The variable {name} names {path}, which is not a folder.", **values)
        if contract.kind == "program" and place.state == "file" and not place.runs:
            return _("The variable {name} names {path}, which this user may not run.", **values)
        if contract.kind in ("file", "files", "log", "plugins", "program") and place.state == "folder":
            return _("The variable {name} names {path}, which is a folder.", **values)
        if contract.holds and not place.holds:
            return _("The variable {name} names {path}, which lacks what programs look for there.", **values)
    return ""


def _list_of_folders(contract: Contract, value: str, seen: Snapshot) -> str:
    """Return that a list stands where one folder must be, if a program here asks for it: only then is the place looked at."""
    if seen.machine.system == "windows" or not any(
        p.variable == contract.variable and p.path == value.strip() and ":" in p.path for p in seen.places
    ):
        return ""
    return _(
        "The variable {name} is {value}, a list, where its readers take the name of one folder.",
        name=contract.variable,
        value=repr(value),
    )


def _obstacle(contract: Contract, path: str, place: NamedPlace) -> str:
    """Return why nothing can be written to a folder, or loaded from it; empty where it serves."""
    values = {"name": contract.variable, "path": path, "at": place.blocked}
    if contract.kind == "sockets":
        serves = place.state != "folder" or place.blocked or _bytes(path) <= contract.most
        long = N_("The variable {name} names {path}, whose path is too long for the sockets that programs make in it.")
        return "" if serves else _(long, **values)
    if contract.inside and place.blocked not in ("", path):
        return _(
            "This user may not write to {at}, where programs keep files without the variable {name}.",
            name=contract.unless[-1],
            at=place.blocked,
        )
    if (
        contract.loads
        and not place.runs
        and not place.blocked
        and (place.state == "folder" or not contract.passed_over)
    ):
        return _(
            "The variable {name} names {path}, on a file system that is mounted with noexec: what is compiled there cannot be loaded.",
            **values,
        )
    if contract.passed_over or not place.blocked or (contract.reads and place.state == "folder"):
        return ""
    if place.state == "folder":
        return _("The variable {name} names {path}, a folder that this user may not write to.", **values)
    if re.fullmatch(r"[A-Za-z]:\\", place.blocked):
        return _("The variable {name} names {path}, but there is no drive {drive}.", drive=place.blocked[:2], **values)
    return _("The variable {name} names {path}, a folder that cannot be created: {at} is in the way.", **values)


def _bytes(path: str) -> int:
    return len(path.encode("utf-8", "surrogateescape"))


def _has_interface(value: str, names: tuple[str, ...]) -> bool:
    """Whether a value in NCCL's format matches an interface: prefixes of names, "=" before exact names, "^" before excluded ones."""
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
