"""Advice on a cuDNN or CUDA set: exact commands for this machine, depending on who owns the set."""

from __future__ import annotations

import re

from core.common.i18n import _
from core.common.shell import Shell, quote, shell_command, shell_of
from core.common.text import join_names
from core.knowledge.releases import FaultyRelease, nvidia_package
from core.model.facts import CudnnCopy, PythonEnvironment, Snapshot, System
from core.model.facts.imports import StartCode
from core.model.findings import Evidence, Fix
from core.model.remedies import InstallPackages
from core.rules.snapshot_queries import python_of
from core.rules.system_packages import reinstall_command
from core.rules.wording import manual_fix, observation


def python_of_environment(seen: Snapshot, prefix: str) -> str:
    """Return the interpreter of an environment."""
    python = python_of(seen, prefix) if prefix else None
    if python and python.executable:
        return python.executable
    windows = seen.machine.system == "windows"
    return (prefix + (r"\python.exe" if windows else "/bin/python")) if prefix else "python"


_UV = {"--force-reinstall": "--reinstall", "--no-cache-dir": "--no-cache", "-y": ""}
"""pip's options that uv spells differently; uv accepts the others that are used here."""


def pip_command(seen: Snapshot, prefix: str, *arguments: str) -> str:
    """Return the command that runs pip with these arguments in one environment."""
    python, shell = python_of(seen, prefix) if prefix else None, shell_of(seen.machine.system)
    return install_command(python, python_of_environment(seen, prefix), shell, *arguments)


def install_command(
    python: PythonEnvironment | None,
    interpreter: str,
    shell: Shell,
    verb: str,
    *arguments: str,
    for_everybody: bool = False,
) -> str:
    """Return a command for pip, or for uv if uv made the environment without pip; two lines if pip has to be installed
    first. ``for_everybody``: the person's own packages are left out (-s), with which pip would be satisfied.

    Where pip refuses because the distribution owns that Python (PEP 668), existing packages were installed by
    overriding it.
    """
    if python and python.installer == "uv":
        return shell_command("uv", "pip", verb, "--python", interpreter, *(_UV.get(a, a) for a in arguments), of=shell)
    overrule = ("--break-system-packages",) if python and python.managed else ()
    first = (
        shell_command(interpreter, "-m", "ensurepip", of=shell) + "\n" if python and python.installer == "none" else ""
    )
    options = ("-s",) if for_everybody else ()
    return first + shell_command(interpreter, *options, "-m", "pip", verb, *overrule, *arguments, of=shell)


def reinstall(seen: Snapshot, copy: CudnnCopy) -> Fix:
    """Return how to repair a damaged, incomplete or mixed set: always by replacing the whole set."""
    package, shell = nvidia_package(copy.owner), shell_of(seen.machine.system)
    whole = _("Always replace the whole set; a single file of another release makes it worse.")
    if copy.origin == "wheel" and package:
        line = pip_command(
            seen, copy.environment, "install", "--force-reinstall", "--no-deps", "--no-cache-dir", "==".join(package)
        )
        return manual_fix(_("Reinstall {name} {version}", name=package[0], version=package[1]), line, restart="program")
    if copy.origin == "conda":
        line = shell_command("conda", "install", "-p", copy.environment, "--force-reinstall", "cudnn", of=shell)
        return manual_fix(_("Reinstall conda's cuDNN"), line, restart="program")
    if copy.origin == "distribution":
        how = _reinstall_system_package(seen, copy)
        return manual_fix(_("Reinstall the distribution's cuDNN"), how, whole, restart="program")
    if copy.origin == "framework":
        return manual_fix(
            _("Reinstall {names}", names=copy.owner or _("the program that brought it")),
            _(
                "These files came with {owner}: reinstall it, without pip's cache (--no-cache-dir).",
                owner=copy.owner or _("a program"),
            ),
            restart="program",
        )
    version = f"cuDNN {copy.version}" if copy.version else _("the same cuDNN {major} release", major=copy.major)
    title = _("Install the complete set of {version} there again", version=version)
    return manual_fix(title, _download_again(copy, version), whole, restart="program")


def _reinstall_system_package(seen: Snapshot, copy: CudnnCopy) -> str:
    if name := _system_package(copy.owner):
        return reinstall_command(seen, name)
    return _(
        "Find the package and reinstall it: dpkg -S {folder}/*cudnn* or rpm -qf {folder}/*cudnn*",
        folder=quote(copy.folder),
    )


def _download_again(copy: CudnnCopy, version: str) -> str:
    if copy.cuda_major:
        return _(
            "Download {version} for CUDA {cuda} from developer.nvidia.com/cudnn and put all its libraries into {folder}.",
            version=version,
            cuda=copy.cuda_major,
            folder=copy.folder,
        )
    return _(
        "Download {version} from developer.nvidia.com/cudnn and put all its libraries into {folder}.",
        version=version,
        folder=copy.folder,
    )


def another_release(seen: Snapshot, copy: CudnnCopy, row: FaultyRelease) -> Fix:
    """Return how to replace a release that was published with a fault; a copy bundled in a framework stays."""
    package = nvidia_package(copy.owner)
    if package is None:
        return manual_fix(
            _("Keep other copies of cuDNN {major} off its search path", major=copy.major),
            _("It works as long as no other cuDNN {major} is on the search path.", major=copy.major),
            _(
                "A release of {owner} that includes cuDNN {instead} or later does not have the fault ({source}).",
                owner=copy.owner,
                instead=row.instead,
                source=row.instead_source,
            )
            if copy.owner
            else _(
                "cuDNN {instead} and newer releases do not have the fault ({source}); replace the whole set.",
                instead=row.instead,
                source=row.instead_source,
            ),
        )
    return manual_fix(
        _("Install {package} {instead} instead", package=package[0], instead=row.instead),
        pip_command(seen, copy.environment, "install", "--no-deps", f"{package[0]}=={row.instead}"),
        _(
            "({instead_source}. pip reports that a framework pins {version}; you can ignore that message.)",
            instead_source=row.instead_source,
            version=row.version,
        ),
        restart="program",
        remedy=InstallPackages(prefix=copy.environment, install=(f"{package[0]}=={row.instead}",), alone=True),
    )


def pinned_package(seen: Snapshot, prefix: str, name: str) -> tuple[str, str] | None:
    """Return name and version of the package whose name starts with ``name`` and that a distribution of an environment pins."""
    python = python_of(seen, prefix) if prefix else None
    for distribution in python.distributions if python else ():
        for wish in distribution.requires:
            found = re.match(r"(nvidia-[a-z0-9-]+)\s*\(?==\s*([\w.]+)", wish)
            if found and found[1].startswith(name) and "*" not in wish:
                return found[1], found[2]
    return None


def _system_package(owner: str) -> str:
    found = re.search(r"\b((?:lib)?cudnn\d*[\w-]*)", owner)
    return found[1] if found else ""


def add_to_search_path(seen: Snapshot, folder: str) -> Fix:
    """Return how to put a folder on the loader's search path."""
    if seen.machine.system == "windows":
        return manual_fix(
            _("Put {folder} on the search path", folder=folder),
            _("Start menu: Edit environment variables for your account; select Path, Edit, New; paste this folder:"),
            folder,
            _("Confirm, then restart your programs. (Do not use setx: it truncates long values.)"),
            restart="program",
        )
    return manual_fix(
        _("Let the loader search {folder}", folder=folder),
        _(
            "For this terminal: export LD_LIBRARY_PATH={shell}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}",
            shell=quote(folder),
        ),
        _(
            "For all programs: echo {shell} | sudo tee -a /etc/ld.so.conf.d/{conf} && sudo ldconfig",
            shell=quote(folder),
            conf="cudnn.conf" if "cudnn" in folder else "cuda.conf",
        ),
        restart="terminal",
    )


def how_to_set(system: System, name: str, value: str) -> str:
    """Return the step that sets a variable."""
    if system == "windows":
        return _("Start menu: Edit environment variables. Set {name} to {root}", name=name, root=value)
    return _("In this terminal: export {name}={value}", name=name, value=quote(value))


def how_to_unset(system: System, name: str) -> str:
    """Return the step that removes a variable."""
    if system == "windows":
        return _("Remove it in the Start menu under Edit environment variables.")
    return _("In this terminal: unset {name}", name=name)


def without_value(system: System, name: str) -> Fix:
    """Return how a variable that has a wrong value is removed or corrected."""
    return manual_fix(
        _("Remove the variable {name}, or correct its value", name=name), how_to_unset(system, name), restart="terminal"
    )


def start_code_rows(code: StartCode, label: str, value: str) -> list[Evidence]:
    """Return what code at an interpreter's start does, and its line."""
    return [
        observation(label, value, code.place),
        *([observation(_("Line"), code.text, code.place)] if code.text else []),
    ]


def without_start_code(code: StartCode, title: str) -> Fix:
    """Return how to end what code does at an interpreter's start."""
    advice = _("Open {where}, and delete the line, or the file if it does nothing else.", where=code.place)
    return manual_fix(title, advice, restart="program")


def without_variable(folders: list[str]) -> Fix:
    """Return how to remove folders from LD_LIBRARY_PATH."""
    named = join_names(folders) or _("the folder")
    return manual_fix(
        _("Remove {named} from LD_LIBRARY_PATH", named=named),
        _("For this terminal: unset LD_LIBRARY_PATH (or set it without that folder)."),
        _(
            "Permanently: remove the line that sets it; look in ~/.bashrc, ~/.profile, /etc/environment and "
            "your job script."
        ),
        restart="terminal",
    )
