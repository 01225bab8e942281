"""Settings of a service that keep its program from the GPU, from memory or from its own files."""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import basename

from msgspec.structs import replace

from core.common.i18n import _
from core.model.facts import Confinement, Snapshot, Start
from core.model.findings import Finding
from core.model.steps import Severity
from core.rules.driver.facts import has_gpu_on_bus
from core.rules.frameworks.environment_view import EnvironmentView, environment_views
from core.rules.ways import way_words
from core.rules.wording import WARNING, make_finding, manual_fix, observation

COMPILING = ("jaxlib", "numba", "llvmlite", "tensorflow")
"""Distributions that write code into memory and run it, in the order in which they are named."""
LEAST_FOR_AN_IMPORT = 4 << 30
"""Bytes of address space with which PyTorch's import and JAX's first array end, with a GPU or without."""


def confined_services(seen: Snapshot) -> Iterator[Finding]:
    """A service starts an environment with a framework, and one of its own settings stands in the way."""
    views = {h.python.prefix: h for h in environment_views(seen)}
    for start in seen.starts or ():
        home = views.get(start.prefix)
        for one in start.confined if home is not None else ():
            severity = _severity(seen, home, start, one) if home is not None else None
            if home is not None and severity is not None:
                yield _finding(seen, home, start, one, severity)
                break


def _severity(seen: Snapshot, home: EnvironmentView, start: Start, one: Confinement) -> Severity | None:
    """Return the severity; None where the setting keeps nothing away that this program needs."""
    if one.kind == "code":
        return home.severity if _compiling(home) else None
    if not any(b.cuda or b.other for b in home.builds):
        return None
    if one.kind in ("place", "user"):
        return home.severity
    if (
        one.size is not None
        and one.size <= LEAST_FOR_AN_IMPORT
        and home.build("torch", "jax-cuda12-plugin", "jax-cuda13-plugin")
    ):
        return home.severity
    hidden = any(v.name == "CUDA_VISIBLE_DEVICES" and v.value.strip() in ("", "-1") for v in start.variables)
    return min(home.severity, WARNING) if has_gpu_on_bus(seen) and not hidden else None


def _compiling(home: EnvironmentView) -> str:
    return next((n for n in COMPILING if home.installed(n)), "")


def _finding(seen: Snapshot, home: EnvironmentView, start: Start, one: Confinement, severity: Severity) -> Finding:
    title, why = _title_and_why(home, one)
    values = {"lines": _instead(one), "unit": basename(start.at)}
    told = make_finding(
        "environment.confined-service",
        severity,
        _("Only in {ways}: {title}", ways=way_words(seen, (start.id,)), title=title),
        cause="service_confined",
        why=why,
        evidence=[observation(_("A setting of the service"), one.setting, f"{one.file}:{one.line}"), home.concerns()],
        subject=start.at,
        fix=manual_fix(
            _("Change this setting of the service"),
            _("Run systemctl edit {unit} and write: {lines}", **values)
            if values["lines"]
            else _("Put the environment and its Python where the service may read them, such as /opt or /srv."),
            _("Then run systemctl restart {unit}.", **values) if values["lines"] else "",
        ),
    )
    return replace(told, ways=(start.id,))


def _title_and_why(home: EnvironmentView, one: Confinement) -> tuple[str, str]:
    values = {"setting": one.setting, "path": one.path, "file": one.needed, "name": _compiling(home)}
    match one.kind:
        case "devices":
            return (
                _("{setting} keeps its program from {path}.", **values),
                _("CUDA opens this device first: without it, there is no GPU for the program."),
            )
        case "code":
            return (
                _("{name} compiles code into memory, which {setting} forbids.", **values),
                _("The program crashes when it first compiles."),
            )
        case "memory":
            return (
                _("{setting} leaves too little address space for CUDA.", **values),
                _(
                    "CUDA reserves more than 8 GiB of addresses as it starts, and frameworks map several; most are never used."
                ),
            )
        case "place":
            return (
                _("{setting} hides {path}, and the program needs {file}.", **values),
                _("The service cannot see what is in a hidden folder."),
            )
        case "user":
            return (
                _("{setting}: this account may not enter {path}, and the program needs {file}.", **values),
                _("You may read these files, but the service has the rights of its own account."),
            )


def _instead(one: Confinement) -> str:
    """Return the lines of a drop-in that let the program have what it needs; empty where none should."""
    match one.kind:
        case "devices":
            rest = "PrivateDevices=no, " if one.setting.startswith("PrivateDevices") else ""
            return f"[Service], {rest}DeviceAllow=char-nvidia* rw"
        case "code":
            return "[Service], MemoryDenyWriteExecute=no"
        case "memory":
            return "[Service], LimitAS=infinity"
        case _:
            return ""


RULES = (confined_services,)
