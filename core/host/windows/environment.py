"""How Windows composes a new program's environment, and the names that its registry uses. Pure, so it can be tested on any system."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from core.common.versions import whole_number
from core.model.facts import Variable

MACHINE_CORE_VARIABLES = ("ALLUSERSPROFILE", "ProgramData", "PUBLIC", "SystemDrive", "SystemRoot")
USER_CORE_VARIABLES = (
    *("APPDATA", "CommonProgramFiles", "CommonProgramFiles(x86)", "CommonProgramW6432", "COMPUTERNAME"),
    *("HOMEDRIVE", "HOMEPATH", "HOMESHARE", "LOCALAPPDATA", "LOGONSERVER", "ProgramFiles", "ProgramFiles(x86)"),
    *("ProgramW6432", "SESSIONNAME", "USERPROFILE"),
)
ACCOUNT_VARIABLES = ("USERDNSDOMAIN", "USERDOMAIN", "USERDOMAIN_ROAMINGPROFILE", "USERNAME")
"""What Windows itself adds to a new program's environment before the machine's variables (CORE), between those and the
user's (USER_CORE), and at the end (ACCOUNT). Their values are taken from our own environment."""

_JOINED = ("PATH", "LIBPATH", "OS2LIBPATH")
"""Variables whose user value follows the machine value instead of replacing it, as CreateEnvironmentBlock does it."""


class EnvironmentBlock:
    """An environment block: names are case-insensitive, and the first spelling is kept."""

    def __init__(self) -> None:
        self._values: dict[str, tuple[str, str]] = {}

    def get(self, name: str) -> str | None:
        """Return a variable's value, or None."""
        found = self._values.get(name.upper())
        return found[1] if found else None

    def set(self, name: str, value: str) -> None:
        """Set a variable."""
        spelled = self._values.get(name.upper(), (name, ""))[0]
        self._values[name.upper()] = (spelled, value)

    def as_dict(self) -> dict[str, str]:
        """Return the block as a dictionary."""
        return dict(self._values.values())


def expand_variables(value: str, environment: EnvironmentBlock | Mapping[str, str]) -> str:
    """Replace %NAME% as ExpandEnvironmentStringsW does: once, ignoring case, leaving unknown names as they are."""
    block = environment if isinstance(environment, EnvironmentBlock) else block_of(environment)
    pieces, rest = [], value
    while "%" in rest:
        before, _, after = rest.partition("%")
        name, percent, tail = after.partition("%")
        if not percent:
            break
        known = block.get(name)
        pieces += [before, f"%{name}%" if known is None else known]
        rest = tail
    return "".join((*pieces, rest))


def block_of(environment: Mapping[str, str]) -> EnvironmentBlock:
    """Return a mapping as an EnvironmentBlock."""
    block = EnvironmentBlock()
    for name, value in environment.items():
        block.set(name, value)
    return block


def compose_environment(variables: Iterable[Variable]) -> dict[str, str]:
    """Return what a newly started program gets, from the variables of the process, machine and user scopes.

    The steps are those of Microsoft ("What happens if I define one environment variable in terms of the value of
    another environment variable?", The Old New Thing, 12 December 2023): core variables, the machine's REG_SZ values,
    its REG_EXPAND_SZ values, core variables of the user, the user's REG_SZ values, the user's REG_EXPAND_SZ values,
    the account. A REG_EXPAND_SZ value sees what earlier steps set, and nothing else: a machine PATH with
    %ProgramFiles% or %APPDATA% stays as it is written.

    Where no registry was read, our own environment is all there is.
    """
    known = tuple(variables)
    ours = block_of({v.name: v.value for v in known if v.scope == "process"})
    machine = [v for v in known if v.scope == "machine"]
    user = [v for v in known if v.scope == "user"]
    if not machine and not user:
        return ours.as_dict()
    block = EnvironmentBlock()
    _copy_values(block, ours, MACHINE_CORE_VARIABLES)
    _apply(block, machine, joined=False)
    _copy_values(block, ours, USER_CORE_VARIABLES)
    _apply(block, user, joined=True)
    _copy_values(block, ours, ACCOUNT_VARIABLES)
    return block.as_dict()


def _copy_values(block: EnvironmentBlock, ours: EnvironmentBlock, names: tuple[str, ...]) -> None:
    for name in names:
        value = ours.get(name)
        if value is not None:
            block.set(name, value)


def _apply(block: EnvironmentBlock, variables: list[Variable], *, joined: bool) -> None:
    for kind in ("REG_SZ", "REG_EXPAND_SZ"):
        before = block_of(block.as_dict())
        for variable in variables:
            if variable.kind == kind and variable.name and "=" not in variable.name:
                value = expand_variables(variable.value, before) if kind == "REG_EXPAND_SZ" else variable.value
                first = before.get(variable.name) if joined and variable.name.upper() in _JOINED else None
                block.set(variable.name, f"{first.rstrip(';')};{value}" if first else value)


def proxy_of_settings(values: Mapping[str, object]) -> str:
    """Return the proxy that Python makes of Windows' own settings where these name a SOCKS server alone; empty for any other.

    Source: getproxies_registry in urllib/request.py: "Use SOCKS proxy for HTTP(S) protocols".
    """
    if not values.get("ProxyEnable"):
        return ""
    parts = dict(p.split("=", 1) for p in str(values.get("ProxyServer", "")).split(";") if "=" in p)
    address = "" if "http" in parts and "https" in parts else parts.get("socks", "")
    return "" if not address else address if "://" in address else f"socks4://{address}"


def release_name(values: Mapping[str, str]) -> str:
    """Return "Windows 11 Pro 23H2 (22631)" from the values of the registry's CurrentVersion key.

    ProductName still says "Windows 10" on Windows 11, which is known by its build: 22000 and later.
    """
    build = values.get("CurrentBuild") or values.get("CurrentBuildNumber", "")
    name = values.get("ProductName") or "Windows"
    if (whole_number(build) or 0) >= 22000:
        name = name.replace("Windows 10", "Windows 11")
    words = (name, values.get("DisplayVersion") or values.get("ReleaseId", ""), f"({build})" if build else "")
    return " ".join(word for word in words if word)


def is_display(class_guid: str, ids: Iterable[str]) -> bool:
    r"""Whether a PCI device is a display or 3D controller: by its class, or its PCI class code (PCI\CC_03...).

    A device without a driver has no class yet, only the identifiers of its hardware.
    """
    display = "{4d36e968-e325-11ce-bfc1-08002be10318}"
    return class_guid.lower() == display or any(
        "&CC_03" in i.upper() or i.upper().startswith("PCI\\CC_03") for i in ids
    )


def pci_ids(key: str) -> tuple[str, str]:
    r"""Return vendor and device of a key such as VEN_10DE&DEV_2684&SUBSYS_..., in lower case, empty where absent."""
    parts = dict(part.partition("_")[::2] for part in key.split("&"))
    return parts.get("VEN", "").lower(), parts.get("DEV", "").lower()


def pci_address(location: str) -> str:
    """Return "0000:01:00.0" for a LocationInformation that ends in "(1,0,0)" or says "PCI bus 1, device 0, function 0"."""
    n = "([0-9]{1,6})"
    match = re.search(rf"\({n},{n},{n}\)$", location) or re.search(rf"(?<![0-9]){n}\D+{n}\D+{n}$", location)
    if not match:
        return ""
    bus, device, function = (int(group) for group in match.groups())
    return f"0000:{bus:02x}:{device:02x}.{function:x}"


def renewed_values(
    process: Mapping[str, str], before: Mapping[str, str | None], fresh: Mapping[str, str]
) -> dict[str, str]:
    """Return a session's variables as a new one has them, where stored values were changed since it began.

    ``before``: name -> what was stored, None for nothing. A value that the session got from elsewhere stays: somebody set it there.
    """
    found, now = dict(process), block_of(fresh)
    own = {n.upper(): n for n in process}
    for name, stored in before.items():
        known = own.get(name.upper())
        mine = process[known] if known else None
        if mine not in (stored, expand_variables(stored, process) if stored is not None else None):
            continue
        value = now.get(name)
        if value is not None:
            found[known or name] = value
        elif known:
            del found[known]
    return found
