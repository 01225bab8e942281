"""A policy: what must be true of a machine, as TOML; each expectation is checked and answered with what was found."""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec

from core.common.given_text import unmarked
from core.common.i18n import _
from core.common.text import join_names
from core.common.versions import is_older
from core.model.facts import FrameworkTrial, Frozen
from core.model.findings import GridCell, GridRow, Report, Verdict
from core.report.grid import verdict_word

LARGEST_POLICY = 1024 * 1024
"""Most bytes that a policy file may have."""
UNSET_WHERE_HEALTHY = ("LD_LIBRARY_PATH", "LD_PRELOAD")
"""Variables that a written policy forbids if the golden machine does not set them."""
GOOD_VERDICTS: tuple[Verdict, ...] = ("runs", "should run")


class PolicyError(Exception):
    """The file is not a valid policy; the message is one sentence."""


class _Form(Frozen, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A table of the policy; a key that it does not know is an error, since a misspelt one would never fail."""


class DriverPolicy(_Form, frozen=True, kw_only=True):
    """``[driver]``: its version."""

    at_least: str = ""
    at_most: str = ""


class GpuPolicy(_Form, frozen=True, kw_only=True):
    """``[gpus]``: how many there are, and their name."""

    count: int | None = None
    at_least: int | None = None
    name: str = ""


class VariablePolicy(_Form, frozen=True, kw_only=True):
    """``[variables]``: which must not be set, and which must have a value."""

    unset: tuple[str, ...] = ()
    equal: dict[str, str] = msgspec.field(default_factory=dict)


class FrameworkPolicy(_Form, frozen=True, kw_only=True):
    """``[[framework]]``: one that must be there, in ``environment`` or anywhere, and use the GPU."""

    name: str
    environment: str = ""
    at_least: str = ""
    verdict: Verdict = "should run"
    """The expected verdict: "runs" needs a trial, "should run" accepts either."""
    gpus: int | None = None
    """On how many GPUs; needs a trial."""


class Policy(_Form, frozen=True, kw_only=True):
    """What is expected of a machine."""

    accepted: tuple[str, ...] = ()
    """Causes that are known and accepted here."""
    driver: DriverPolicy = DriverPolicy()
    gpus: GpuPolicy = GpuPolicy()
    variables: VariablePolicy = VariablePolicy()
    framework: tuple[FrameworkPolicy, ...] = ()

    @property
    def needs_trials(self) -> bool:
        """Whether frameworks must be run to check it."""
        return any(f.verdict == "runs" or f.gpus is not None for f in self.framework)

    @property
    def environments(self) -> tuple[str, ...]:
        """The environments that it names."""
        return tuple(dict.fromkeys(f.environment for f in self.framework if f.environment))


class Answer(Frozen, frozen=True, kw_only=True):
    """Whether one expectation holds, in a sentence, and what was seen."""

    key: str
    held: bool
    text: str
    why: str = ""


def read_policy(data: bytes) -> Policy:
    """Read a policy.

    Raises:
        PolicyError: it is no TOML, or has a key or a value that a policy does not have.
    """
    if len(data) > LARGEST_POLICY:
        raise PolicyError(_("The policy is too large (more than 1 MiB)."))
    try:
        return msgspec.toml.decode(unmarked(data), type=Policy)
    except RecursionError:
        raise PolicyError(_("The policy is nested too deeply.")) from None
    except UnicodeDecodeError:
        raise PolicyError(
            _("The policy is not text in UTF-8. `convalesce check --write-expect FILE` writes a new one.")
        ) from None
    except (msgspec.DecodeError, ValueError) as e:
        raise PolicyError(_("The policy cannot be read: {e}.", e=str(e).rstrip("."))) from None


def answer_expectations(policy: Policy, report: Report) -> tuple[Answer, ...]:
    """Check every expectation of a policy against a report."""
    return (*_driver(policy, report), *_gpus(policy, report), *_variables(policy, report), *_frameworks(policy, report))


def policy_of(report: Report) -> str:
    """Return a policy that this machine meets, as TOML: a healthy machine becomes the measure for others."""
    driver = report.snapshot.driver
    version = driver_version(report)
    lines = ["# What this machine has, as expectations for others. Loosen what may differ."]
    if version:
        lines += ["", "[driver]", f"at_least = {_toml_string(version)}"]
    if driver is not None and driver.gpus:
        names = {g.name for g in driver.gpus}
        lines += ["", "[gpus]", f"count = {len(driver.gpus)}"]
        lines += [f"name = {_toml_string(*names)}"] if len(names) == 1 else []
    environment = report.snapshot.environment
    if environment is not None and report.snapshot.machine.system == "linux":
        there = {v.name for v in environment.variables if v.scope == "process"}
        unset = [name for name in UNSET_WHERE_HEALTHY if name not in there]
        lines += ["", "[variables]", f"unset = [{', '.join(map(_toml_string, unset))}]"] if unset else []
    for row, cell in _cells(report):
        if cell.verdict in GOOD_VERDICTS:
            lines += [
                "",
                "[[framework]]",
                f"name = {_toml_string(cell.framework)}",
                f"environment = {_toml_string(row.prefix)}",
                f"at_least = {_toml_string(cell.version)}",
                f"verdict = {_toml_string(cell.verdict)}",
            ]
            tried = [t.devices for t in _trials(report, row, cell) if t.devices]
            lines += [f"gpus = {tried[0]}"] if cell.verdict == "runs" and tried else []
    return "\n".join(lines) + "\n"


def driver_version(report: Report) -> str:
    """Return the driver's version as NVML or the kernel module tells it; empty for none."""
    driver = report.snapshot.driver
    return driver.version if driver else ""


def _toml_string(text: str) -> str:
    """Return a TOML basic string, which has JSON's escapes."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _cells(report: Report) -> Iterator[tuple[GridRow, GridCell]]:
    for row in report.grid.rows if report.grid else ():
        for cell in row.cells:
            yield row, cell


def _driver(policy: Policy, report: Report) -> Iterator[Answer]:
    seen = driver_version(report)
    why = _("This machine has {seen}.", seen=_("driver {version}", version=seen) if seen else _("no driver"))
    if low := policy.driver.at_least:
        held = bool(seen) and is_older(seen, low) is False
        yield Answer(
            key="driver.at_least",
            held=held,
            text=_("The driver is {low} or newer.", low=low)
            if held
            else _("The driver is expected to be {low} or newer.", low=low),
            why=why,
        )
    if high := policy.driver.at_most:
        held = bool(seen) and is_older(high, seen) is False
        yield Answer(
            key="driver.at_most",
            held=held,
            text=_("The driver is {high} or older.", high=high)
            if held
            else _("The driver is expected to be {high} or older.", high=high),
            why=why,
        )


def _gpus(policy: Policy, report: Report) -> Iterator[Answer]:
    driver = report.snapshot.driver
    gpus = (driver.gpus or ()) if driver else ()
    why = _("This machine shows {seen}.", seen=join_names(f"{g.index}: {g.name}" for g in gpus) or _("no GPU"))
    wish = policy.gpus
    if wish.count is not None:
        yield Answer(
            key="gpus.count", held=len(gpus) == wish.count, text=_("GPUs: {count} expected.", count=wish.count), why=why
        )
    if wish.at_least is not None:
        yield Answer(
            key="gpus.at_least",
            held=len(gpus) >= wish.at_least,
            text=_("GPUs: at least {count} expected.", count=wish.at_least),
            why=why,
        )
    if wish.name:
        held = bool(gpus) and all(g.name == wish.name for g in gpus)
        yield Answer(key="gpus.name", held=held, text=_("Every GPU is expected to be {name}.", name=wish.name), why=why)


def _variables(policy: Policy, report: Report) -> Iterator[Answer]:
    environment = report.snapshot.environment
    seen = {v.name: v for v in environment.variables if v.scope == "process"} if environment else {}
    for name in policy.variables.unset:
        there = seen.get(name)
        yield Answer(
            key=f"variables.unset.{name}",
            held=environment is not None and there is None,
            text=_("{name} is expected not to be set.", name=name),
            why=_("It is {value}.", value=there.value) if there else "",
        )
    for name, value in policy.variables.equal.items():
        there = seen.get(name)
        yield Answer(
            key=f"variables.equal.{name}",
            held=there is not None and there.value == value,
            text=_("{name} is expected to be {value}.", name=name, value=value),
            why=_("It is {value}.", value=there.value) if there else _("It is not set."),
        )


def _frameworks(policy: Policy, report: Report) -> Iterator[Answer]:
    for number, wish in enumerate(policy.framework):
        found = [
            (row, cell)
            for row, cell in _cells(report)
            if cell.framework.casefold() == wish.name.casefold() and _is_of(row, wish.environment)
        ]
        held = any(_meets(row, cell, wish, report) for row, cell in found)
        where = wish.environment or _("some environment")
        text = _(
            "{framework} in {where} is expected: {wanted}.", framework=wish.name, where=where, wanted=_wish_text(wish)
        )
        seen = (
            _("{version} in {prefix}: {verdict}", version=c.version, prefix=r.prefix, verdict=verdict_word(c.verdict))
            for r, c in found
        )
        why = _("Seen: {seen}.", seen=join_names(seen) or _("nothing of that name"))
        yield Answer(key=f"framework.{number}.{wish.name}", held=held, text=text, why=why)


def _is_of(row: GridRow, environment: str) -> bool:
    return environment in ("", row.prefix, row.executable) or environment.rstrip("/\\") == row.prefix


def _meets(row: GridRow, cell: GridCell, wish: FrameworkPolicy, report: Report) -> bool:
    if wish.at_least and is_older(cell.version, wish.at_least) is not False:
        return False
    if wish.gpus is not None and not any(t.devices == wish.gpus for t in _trials(report, row, cell)):
        return False
    return cell.verdict == wish.verdict or (cell.verdict == "runs" and wish.verdict == "should run")


def _trials(report: Report, row: GridRow, cell: GridCell) -> Iterator[FrameworkTrial]:
    return (t for t in report.snapshot.trials or () if t.prefix == row.prefix and t.version == cell.version)


def _wish_text(wish: FrameworkPolicy) -> str:
    wishes = [verdict_word(wish.verdict)]
    wishes += [_("version {low} or newer", low=wish.at_least)] if wish.at_least else []
    wishes += [_("GPUs: {count}", count=wish.gpus)] if wish.gpus is not None else []
    return join_names(wishes)
