r"""Programs that Windows' registry starts: services, what begins with the session, what cmd.exe runs first, and what opens scripts. Pure but for ``read``.

Sources: Microsoft, "CreateServiceW" (ImagePath, ObjectName), "Run and RunOnce Registry Keys", "cmd" (AutoRun); a service's value Environment,
which the service manager adds to its variables, is in Microsoft's article 100843; srvany's Parameters are in article 137890,
and those of NSSM in its own manual ("Registry keys").
"""

from __future__ import annotations

import ntpath
import re
from collections.abc import Callable, Iterator, Mapping

from msgspec import structs

from core.model.facts import RegisteredStart, path_text

Values = Mapping[str, object]
Read = Callable[[str, str], Values]
"""Root ("HKLM", "HKCU") and key -> its values, their names in lower case; empty where there is no such key."""

SHELL = r"SOFTWARE\Microsoft\PowerShell\1\ShellIds\Microsoft.PowerShell"
POLICIES = r"SOFTWARE\Policies\Microsoft\Windows\PowerShell"
PRODUCT = r"SYSTEM\CurrentControlSet\Control\ProductOptions"
SERVICES = r"SYSTEM\CurrentControlSet\Services"
LOGON = (r"Software\Microsoft\Windows\CurrentVersion\Run", r"Software\Microsoft\Windows\CurrentVersion\RunOnce")
PROMPT = r"Software\Microsoft\Command Processor"
CHOICE = r"Software\Microsoft\Windows\CurrentVersion\Explorer\FileExts\.py\UserChoice"
CLASSES, USUAL_CLASS = r"Software\Classes", "Python.File"
RUNS_OTHERS = re.compile(r"nssm|srvany", re.IGNORECASE)
"""Programs that are a service on behalf of another one, which their Parameters name."""
DRIVERS = 0x0F
"""Bits of a service's Type for drivers of devices and of file systems."""
DISABLED = 4
OF_THE_SYSTEM = re.compile(r"(?:(?:\.\\)?localsystem|nt [^\\]+\\.*)?", re.IGNORECASE)
"""Accounts that are no person's."""
MOST_ENTRIES = 200


def registered_starts(services: tuple[str, ...], read: Read) -> Iterator[RegisteredStart]:
    """Yield what the registry starts. ``services``: the names of the keys below ``SERVICES``."""
    for name in services:
        values = read("HKLM", rf"{SERVICES}\{name}")
        if values and (found := service_start(name, values, read)) is not None:
            yield found
    for root in ("HKLM", "HKCU"):
        for key in LOGON:
            for name, command in list(read(root, key).items())[:MOST_ENTRIES]:
                if isinstance(command, str) and command.strip():
                    yield RegisteredStart(
                        kind="logon", key=path_text(rf"{root}\{key}\{name}"), command=path_text(command)
                    )
    for root in ("HKLM", "HKCU"):
        line = read(root, PROMPT).get("autorun")
        if isinstance(line, str) and line.strip():
            yield RegisteredStart(kind="prompt", key=rf"{root}\{PROMPT}\AutoRun", command=path_text(line))
    yield from _opener_of_scripts(read)
    if policy := _refuses_scripts(read):
        yield RegisteredStart(kind="policy", key=policy, command="Restricted")


def _refuses_scripts(read: Read) -> str:
    """Return the key by which Windows PowerShell runs no script unless it is asked to; empty where it does, or where a group policy decides.

    Source: Microsoft, "about_Execution_Policies": the person's before the machine's; without any, Restricted on Windows for clients.
    """
    roots = ("HKCU", "HKLM")
    if any(read(root, POLICIES).get(n) is not None for root in roots for n in ("executionpolicy", "enablescripts")):
        return ""
    for root in roots:
        said = read(root, SHELL).get("executionpolicy")
        if isinstance(said, str) and said.strip().lower() not in ("", "undefined"):
            return rf"{root}\{SHELL}" if said.strip().lower() == "restricted" else ""
    return rf"HKLM\{SHELL}" if read("HKLM", PRODUCT).get("producttype") == "WinNT" else ""


def _opener_of_scripts(read: Read) -> Iterator[RegisteredStart]:
    """Yield what opens .py files: what the person chose, else by the class that the extension has."""
    named = (read("HKCU", CHOICE).get("progid"), *(read(r, rf"{CLASSES}\.py").get("") for r in ("HKCU", "HKLM")))
    kind = next((n for n in named if isinstance(n, str) and n.strip()), USUAL_CLASS)
    for root in ("HKCU", "HKLM"):
        key = rf"{CLASSES}\{kind}\shell\open\command"
        command = read(root, key).get("")
        if isinstance(command, str) and command.strip():
            yield RegisteredStart(kind="association", key=path_text(rf"{root}\{key}"), command=path_text(command))
            return


def service_start(name: str, values: Values, read: Read) -> RegisteredStart | None:
    """Return a service from its key's values; None for a driver, one that is disabled, and one of Windows' own hosts."""
    image = values.get("imagepath")
    kind, start = values.get("type"), values.get("start")
    if not isinstance(image, str) or (isinstance(kind, int) and kind & DRIVERS) or start == DISABLED:
        return None
    if "svchost.exe" in image.lower():
        return None
    key = rf"HKLM\{SERVICES}\{name}"
    account = values.get("objectname")
    told = RegisteredStart(
        kind="service",
        key=path_text(key),
        command=path_text(image),
        account=path_text(account) if isinstance(account, str) and not OF_THE_SYSTEM.fullmatch(account) else "",
        variables=_texts(values.get("environment")),
    )
    program = re.match(r'\s*"([^"]+)"|(\S+)', image)
    if not program or not RUNS_OTHERS.search(ntpath.basename(program[1] or program[2])):
        return structs.replace(told, itself=True)
    its = read("HKLM", rf"{SERVICES}\{name}\Parameters")
    application = its.get("application")
    if not isinstance(application, str) or not application.strip():
        return told
    arguments, folder = its.get("appparameters"), its.get("appdirectory")
    whole = _texts(its.get("appenvironment"))
    quoted = application if application.startswith('"') else f'"{application}"'
    return RegisteredStart(
        kind="service",
        key=path_text(key),
        command=path_text(f"{quoted} {arguments}".strip() if isinstance(arguments, str) else quoted),
        folder=path_text(folder) if isinstance(folder, str) else "",
        account=told.account,
        variables=(*(whole or told.variables), *_texts(its.get("appenvironmentextra"))),
        only=bool(whole),
    )


def _texts(value: object) -> tuple[str, ...]:
    """Return the assignments of a REG_MULTI_SZ."""
    rows = value if isinstance(value, list) else []
    return tuple(path_text(r) for r in rows[:MOST_ENTRIES] if isinstance(r, str) and "=" in r[1:])
