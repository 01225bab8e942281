"""What a person does about a cuDNN or CUDA set: exact commands for this machine, from what was seen of its owner."""

from __future__ import annotations

import re

from core.facts import CudnnCopy, Snapshot
from core.findings import Fix
from core.rules.known import FaultyRelease
from core.rules.view import package_of, python_of
from core.rules.words import advice


def python_of_environment(seen: Snapshot, prefix: str) -> str:
    """Return the quoted interpreter of an environment, for a command."""
    python = python_of(seen, prefix) if prefix else None
    if python and python.executable:
        return f'"{python.executable}"' if " " in python.executable else python.executable
    windows = seen.machine.system == "windows"
    path = (prefix + (r"\python.exe" if windows else "/bin/python")) if prefix else "python"
    return f'"{path}"' if " " in path else path


def pip(seen: Snapshot, prefix: str, *arguments: str) -> str:
    """Return a pip command for one environment."""
    return " ".join((python_of_environment(seen, prefix), "-m", "pip", *arguments))


def anew(seen: Snapshot, copy: CudnnCopy) -> Fix:
    """Return how to put a damaged, incomplete or mixed set right: the whole set again, never one file."""
    package = package_of(copy.owner)
    whole = "Always replace the whole set; one file of another release makes it worse."
    if copy.origin == "wheel" and package:
        command = pip(
            seen, copy.environment, "install", "--force-reinstall", "--no-deps", "--no-cache-dir", "==".join(package)
        )
        return advice(f"Install {package[0]} {package[1]} again", command, restart="program")
    if copy.origin == "conda":
        command = f'conda install -p "{copy.environment}" --force-reinstall cudnn'
        return advice("Install conda's cuDNN again", command, restart="program")
    if copy.origin == "distribution":
        name = _system_package(copy.owner)
        commands = (
            f"sudo apt-get install --reinstall {name} (Debian, Ubuntu) or: sudo dnf reinstall {name}"
            if name
            else f"Find the package and install it again: dpkg -S {copy.folder}/*cudnn* or rpm -qf {copy.folder}/*cudnn*"
        )
        return advice("Install the distribution's cuDNN again", commands, whole, restart="program")
    if copy.origin == "framework":
        return advice(
            f"Install {copy.owner or 'the program that brought it'} again",
            f"These files came with {copy.owner or 'a program'}: install it again, without pip's cache (--no-cache-dir).",
            restart="program",
        )
    version = f"cuDNN {copy.version}" if copy.version else f"the same cuDNN {copy.major} release"
    cuda = f" for CUDA {copy.cuda_major}" if copy.cuda_major else ""
    return advice(
        f"Put the whole set of {version} there again",
        f"Download {version}{cuda} from developer.nvidia.com/cudnn and put all its libraries into {copy.folder}.",
        whole,
        restart="program",
    )


def another_release(seen: Snapshot, copy: CudnnCopy, row: FaultyRelease) -> Fix:
    """Return how to replace a release that was published with a fault."""
    return advice(
        f"Install {row.package} {row.instead} instead",
        pip(seen, copy.environment, "install", "--no-deps", f"{row.package}=={row.instead}"),
        f"({row.instead_source}. A framework that pins {row.version} is named by pip; that is only a message.)",
        restart="program",
    )


def pinned(seen: Snapshot, prefix: str, name: str) -> tuple[str, str] | None:
    """Return name and version of the package, beginning with ``name``, that a distribution of an environment pins."""
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


def name_folder(seen: Snapshot, folder: str) -> Fix:
    """Return how to put a folder on the loader's search path."""
    if seen.machine.system == "windows":
        return advice(
            f"Put {folder} on the search path",
            "Start menu: Edit environment variables for your account; select Path, Edit, New; paste this folder:",
            folder,
            "Confirm, then start your programs anew. (Do not use setx: it cuts long values.)",
            restart="program",
        )
    return advice(
        f"Let the loader search {folder}",
        f"For this terminal: export LD_LIBRARY_PATH={_shell(folder)}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}",
        f"For all programs: echo {_shell(folder)} | sudo tee -a /etc/ld.so.conf.d/{_conf(folder)} && sudo ldconfig",
        restart="terminal",
    )


def _conf(folder: str) -> str:
    return "cudnn.conf" if "cudnn" in folder else "cuda.conf"


def _shell(text: str) -> str:
    return text if re.fullmatch(r"[\w@%+=:,./-]+", text) else "'" + text.replace("'", "'\\''") + "'"


def without_variable(folders: list[str]) -> Fix:
    """Return how to take folders out of LD_LIBRARY_PATH."""
    named = " and ".join(folders) or "the folder"
    return advice(
        f"Take {named} out of LD_LIBRARY_PATH",
        "For this terminal: unset LD_LIBRARY_PATH (or set it without that folder).",
        "Lasting: remove the line that sets it; look in ~/.bashrc, ~/.profile, /etc/environment and your job script.",
        restart="terminal",
    )
