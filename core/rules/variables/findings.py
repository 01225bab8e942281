"""The findings about one variable: whom it concerns, how bad it is, what it must be."""

from __future__ import annotations

import re
from collections.abc import Mapping

from core.common.i18n import N_, _
from core.common.text import join_names
from core.common.versions import version_tuple
from core.knowledge.causes import Cause
from core.knowledge.contracts import Contract
from core.model.facts import Snapshot, Toolkit, Variable
from core.model.findings import Evidence, Finding, Fix
from core.model.paths import is_inside, normalise
from core.model.remedies import PointTo, Unset
from core.model.steps import Severity
from core.rules.advice import how_to_set, how_to_unset
from core.rules.frameworks.advice import framework_pip_command
from core.rules.frameworks.compilers import fitting_toolkit, name_fitting_toolkit, name_toolkit
from core.rules.frameworks.environment_view import EnvironmentView
from core.rules.snapshot_queries import effective_variable, is_idle
from core.rules.variables.breaches import contract_breach, misspelt_places
from core.rules.wording import ERROR, NOTE, WARNING, make_finding, manual_fix, observation, variable_row


def reader_of(home: EnvironmentView, contract: Contract) -> str:
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
        return (WARNING if contract.seldom else ERROR) if contract.fails else WARNING if asked else NOTE
    named = contract.kind == "local"  # by the program that asks, whichever package does it for that
    reads = (
        h
        for h in reading
        if named or not any(is_idle(h.seen, h.python.prefix, n) for n in (reader_of(h, contract), contract.part))
    )
    nearest = min((h.near for h in reads), default=4)
    if nearest > 2:
        return NOTE
    # A folder inside it, or what is loaded from it, is made when a kernel is compiled or a file is fetched: many programs do neither.
    seldom = (
        contract.fetches
        or contract.seldom
        or contract.inside
        or contract.loads
        or contract.kind == "together"
        or (contract.known and contract.known.libraries)
    )
    return ERROR if contract.fails and nearest <= 1 and not seldom else WARNING if contract.fails else NOTE


def contract_finding(
    seen: Snapshot, contract: Contract, value: Variable, problem: str, reading: list[EnvironmentView]
) -> Finding:
    """Return the finding about a value that breaks a contract."""
    system = seen.machine.system
    container = contract.kind in ("requirement", "capabilities", "devices")
    cuda = _compiled_for(seen, contract, reading)
    toolkit = fitting_toolkit(seen, cuda) if cuda else None
    above = None if cuda else _toolkit_above(seen, contract.variable, value.value)
    off = word_for_off(value.value, contract.words) if contract.kind == "words" else ""
    word = off or ("" if cuda else _as_it_is_meant(contract, value.value, seen))
    return make_finding(
        f"environment.{'debugging' if contract.kind == 'debugging' else 'contract'}-{contract.variable.lower()}",
        _severity(contract, reading),
        problem,
        cause=("driver_too_old" if contract.kind == "requirement" else "container_no_gpu_runtime")
        if container
        else cause_of_value(contract.variable),
        why=_("The container was started with this request, which the host's driver does not meet.")
        if container
        else _("With this value, programs that read the variable cannot fetch anything, such as models or weights.")
        if contract.fetches
        else _("Programs that read the variable fail because of this value.")
        if contract.fails
        else _("Programs that read the variable ignore this value, or use another one."),
        evidence=[
            variable_row(value),
            *_allowed_rows(contract),
            *(
                observation(n, repr(v.value), v.source or v.scope)
                for n, _p in contract.given
                if (v := effective_variable(seen, n))
            ),
            *(h.concerns(reader_of(h, contract)) for h in reading if h.near <= 2),
        ],
        subject=contract.variable,
        fix=name_fitting_toolkit(seen, contract.variable, cuda)
        if cuda
        else name_toolkit(seen, contract.variable, above)
        if above
        else _say_it_so(seen, contract.variable, word)
        if word
        else manual_fix(
            _("Start the container with what it needs of the driver")
            if container
            else _("Set the variable {name} to a folder that can be written to", name=contract.unless[-1])
            if contract.inside
            else _("Set the variable {name} to what must not go to the proxy", name="NO_PROXY")
            if contract.kind == "local"
            else _("Remove the variable {name}, or correct its value", name=contract.variable),
            _("docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility ...")
            if container
            else how_to_set(system, contract.unless[-1], "D:\\cache" if system == "windows" else "/scratch/cache")
            if contract.inside
            else how_to_set(system, "NO_PROXY", contract.means)
            if contract.kind == "local"
            else how_to_unset(system, value.name),
            restart="terminal",
        ),
        remedy=PointTo(variable=contract.variable, folder=word, right=(off,) if off else ())
        if word
        else PointTo(variable=contract.variable, folder=its.root, right=(its.root,))
        if (its := toolkit or above)
        else None
        if container or contract.inside or contract.kind == "local" or cuda
        else _removal(contract, value.value, reading),
    )


TOOLKIT_VARIABLES = ("CUDA_PATH", "CUDA_HOME", "CUDA_ROOT")
"""Variables that name the toolkit; CUDA_PATH_V12_4 and the like name one version's."""


def cause_of_value(variable: str) -> Cause:
    """Return the cause of a wrong value: one that names the toolkit has its own."""
    return "cuda_path_env_wrong" if variable in TOOLKIT_VARIABLES else "variable_value_wrong"


OFF = ("off", "false", "no", "none", "never", "0", "disabled", "disable")
"""Words that say "do not"."""


def word_for_off(value: str, words: tuple[str, ...]) -> str:
    """Return the one word of a variable that says what a wrong value means by "off"; empty where it means another thing, or no single
    word does.

    Without the variable its reader would do what the person does not want: send results to a server, say.
    """
    meant = [w for w in words if w.lower() in OFF]
    return meant[0] if value.strip().lower() in OFF and len(meant) == 1 else ""


def _as_it_is_meant(contract: Contract, value: str, seen: Snapshot) -> str:
    """Return the value that a person means who wrote blanks or quotation marks around it, as cmd.exe's ``set`` keeps them; empty where that
    is wrong, too.
    """
    if places := misspelt_places(contract, seen):
        sign = ";" if seen.machine.system == "windows" else ":"
        return sign.join(w for entry in value.split(sign) for w in places.get(entry, (entry,)))
    if near := next((p.near for p in seen.places if p.variable == contract.variable and p.path == value.strip()), ""):
        return near
    meant = value.strip().strip('"')
    secret = contract.kind in ("header", "key") or "@" in value
    if secret or contract.kind in ON_PURPOSE or meant in ("", value) or contract_breach(contract, meant, seen):
        return ""
    return meant


def _say_it_so(seen: Snapshot, variable: str, word: str) -> Fix:
    line = how_to_set(seen.machine.system, variable, word)
    return manual_fix(_("Set {name} to {root}", name=variable, root=word), line, restart="terminal")


def _compiled_for(seen: Snapshot, contract: Contract, reading: list[EnvironmentView]) -> str:
    """Return the CUDA for which the variable must name a toolkit; empty where it names none, or no compiler is here: without the variable
    its reader takes the one that it finds, which may not fit either.
    """
    builds = (h.build("torch") for h in reading if contract.kind == "single")
    cuda = next((b.cuda for b in builds if b and b.cuda), "")
    return cuda if any(t.nvcc for t in seen.toolkits or ()) else ""


def _toolkit_above(seen: Snapshot, variable: str, value: str) -> Toolkit | None:
    """Return the toolkit in whose folder a variable of the toolkit names another one, such as bin."""
    system = seen.machine.system
    some = [t for t in seen.toolkits or () if t.root and t.origin in ("installer", "folder")]
    rooted = (
        t for t in some if normalise(system, t.root) != normalise(system, value) and is_inside(system, value, t.root)
    )
    return next(rooted, None) if variable in TOOLKIT_VARIABLES else None


BETWEEN = {"options": ", ", "flags": " ", "files": ":", "plugins": ","}
"""What parts the words of a list, beside the separators that a contract names."""
ON_PURPOSE = ("offline", "together", "apart", "tensors")
"""Kinds of contracts whose wrong values are right in other programs, or at other times."""


def _removal(contract: Contract, value: str, reading: list[EnvironmentView]) -> Unset:
    """Return the remedy, with the value where the environments can do without it: it is nobody's on purpose, holds no right words
    beside the wrong one, and no secret.
    """
    letters = BETWEEN.get(contract.kind, "") + contract.separator
    several = letters and len([w for w in re.split(f"[{re.escape(letters)}]", value) if w.strip()]) > 1
    if several or contract.kind in ON_PURPOSE or contract.kind in ("header", "key") or "@" in value:
        return Unset(variable=contract.variable)
    return unset_in(contract.variable, value, *reading)


def unset_in(variable: str, value: str, *homes: EnvironmentView) -> Unset:
    """Return the remedy for a value that is wrong in environments; those that are named or active can do without it."""
    return Unset(variable=variable, value=value, prefixes=tuple(h.python.prefix for h in homes if h.near <= 1))


FORMS: Mapping[str, str] = {
    "header": N_("without quotation marks, in Latin-1 characters"),
    "modules": N_("folders that are there, as they are called on this system"),
    "writable": N_("a folder that can be written to, or made"),
    "program": N_("a program that is there and can be run"),
    "interfaces": N_("the start of the name of a network interface that is there"),
    "address": N_("a name or an address of this machine"),
    "flags": N_("flags that begin with --, or a file that has such flags"),
}
"""Kind of contract -> what a right value is, where that is the same for all of them."""


def _allowed_rows(contract: Contract) -> list[Evidence]:
    label, source = _("It must be"), contract.source.partition(";")[0]
    words = [w for w in contract.words if w]
    if contract.kind in FORMS:
        return [observation(label, _(FORMS[contract.kind]), source)]
    match contract.kind:
        case "together":
            return [observation(_("Must be set as well"), join_names(words), source)]
        case "apart":
            return [observation(_("Must not be set as well"), join_names(words), source)]
        case "options":
            return [observation(_("Known options"), join_names(words), source)]
        case "sockets":
            text = _("a folder whose path has at most {most} bytes", most=f"{contract.most:g}")
        case "switch":
            text = join_names(("true", "false", "1", "0"))
        case "number":
            text = _("a number from {least} to {most}", least=f"{contract.least:g}", most=f"{contract.most:g}")
        case "folder" | "file" | "files" | "plugins" | "path" | "log":
            holds = join_names(contract.holds) if contract.holds else ""
            text = _("a folder that has one of: {names}", names=holds) if holds else _("a file that is there")
        case _:
            text = join_names(words) or contract.means
    return [observation(label, text, source)]


def without_backend(home: EnvironmentView, contract: Contract, value: Variable, reader: str, word: str) -> Finding:
    """Return the finding about a value that asks for what is not installed."""
    own = value.source.endswith("Internet Settings")  # of Windows itself, and no variable
    words = {"name": value.name, "reader": reader, "word": repr(word), "prefix": home.python.prefix}
    return make_finding(
        f"environment.backend-{contract.variable.lower()}",
        NOTE
        if is_idle(home.seen, home.python.prefix, reader)
        else min(home.severity, WARNING)
        if contract.fetches
        else home.severity,
        _("The setting {name} of Windows asks {reader} for {word}, which is not installed in {prefix}.", **words)
        if own
        else _("The variable {name} asks {reader} for {word}, which is not installed in {prefix}.", **words),
        cause=cause_of_value(contract.variable),
        why=_("With this value, programs that read the variable cannot fetch anything, such as models or weights.")
        if contract.fetches
        else _("With this variable, it does not fall back to another backend: it fails at the first use."),
        evidence=[
            variable_row(value),
            observation(
                _("It must be"), _("empty, or the name of one that is installed"), contract.source.partition(";")[0]
            ),
            home.concerns(reader),
        ],
        subject=home.python.prefix,
        fix=manual_fix(
            _("Turn the proxy off, or install what it asks for")
            if own
            else _("Remove the variable {name}, or install what it asks for", name=contract.variable),
            _("Settings, Network & internet, Proxy: Manual proxy setup.")
            if own
            else how_to_unset(home.seen.machine.system, value.name),
            _install(home, contract, reader),
            restart="terminal",
        ),
        remedy=None if own else unset_in(contract.variable, value.value, home),
    )


def _install(home: EnvironmentView, contract: Contract, reader: str) -> str:
    """Return the command that installs what a value asks for; empty where the table names no requirement."""
    release = next((d.version for d in home.python.distributions if d.name == reader), "")
    if not contract.brings:
        return ""
    wanted = contract.brings.format(release=".".join(release.split(".")[:2]))
    return framework_pip_command(home.seen, home.python, "install", wanted)
