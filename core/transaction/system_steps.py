"""Carry out system steps: a check before, the system's own tool, a check after; and the undo.

The state is read from the system each time, never from what a tool printed. Every program has its full name and every
argument that a plan gives was judged by ``core.transaction.broker`` where an administrator's rights are used.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from core.common.i18n import _
from core.host import process, safe_folder
from core.host.interface import CompletedProcess
from core.model.changes import ChangeError
from core.model.system_steps import StepState, SystemStep

TOOL_FOLDERS = ("/usr/sbin", "/usr/bin", "/sbin", "/bin")
"""Folders of the tools; PATH is not used."""
TOOL_SECONDS = 60.0
LOADER_FILE = "/etc/ld.so.conf.d/convalesce-{name}.conf"
NOUVEAU_FILE = "/etc/modprobe.d/convalesce-nouveau.conf"
NOUVEAU_TEXT = "# Written by Convalesce: NVIDIA's driver needs the card for itself.\nblacklist nouveau\noptions nouveau modeset=0\n"
"""From NVIDIA's installation guide ("Disabling Nouveau")."""
CDI_FILE = "/etc/cdi/nvidia.yaml"
CDI_BEFORE = "/etc/cdi/nvidia.yaml.before-convalesce"
"""The specification that was there; the toolkit reads .yaml and .json alone."""
UVM = "nvidia_uvm"


class ToolError(ChangeError):
    """A tool of the system failed or is missing: another try may succeed."""


Run = Callable[[Sequence[str]], CompletedProcess]


def _run(argv: Sequence[str]) -> CompletedProcess:
    return process.run_program(
        argv, timeout=TOOL_SECONDS, env={"PATH": ":".join(TOOL_FOLDERS), "LC_ALL": "C"}, input=b""
    )


@dataclass(frozen=True)
class SystemTools:
    """The system below a root, and how its tools are run."""

    root: str = "/"
    run: Run = field(default=_run)

    def local_path(self, path: str) -> str:
        """Return the real path of a path of the system."""
        return path if self.root == "/" else self.root.rstrip("/") + path

    def tool(self, name: str) -> str:
        """Return the full name of a tool.

        Raises:
            ToolError: this system does not have it.
        """
        for folder in TOOL_FOLDERS:
            if Path(folder, name).is_file():
                return f"{folder}/{name}"
        raise ToolError(_("This system has no program {name}.", name=name))

    def call(self, name: str, *arguments: str) -> str:
        """Run a tool and return what it printed.

        Raises:
            ToolError: it is not there, or it ended badly.
        """
        done = self.run([self.tool(name), *arguments])
        if done.status != 0:
            said = " ".join((done.err or done.out or done.ended).split())[:300]
            raise ToolError(_("{name} failed: {said}", name=name, said=said or str(done.status)))
        return done.out


# --- states --------------------------------------------------------------------------------------------------------


def state_of(step: SystemStep, tools: SystemTools) -> StepState:
    """Return the state in which the system is.

    Raises:
        ChangeError: it is another than either, and somebody else's. OSError: it cannot be read.
    """
    match step.kind:
        case "library-folder":
            return _own_file(tools, loader_file(step), f"{step.subject}\n")
        case "nouveau-off":
            return _own_file(tools, NOUVEAU_FILE, NOUVEAU_TEXT)
        case "device-group":
            return "present" if step.subject in _members(tools, step.value) else "absent"
        case "cdi":
            return "present" if os.path.lexists(tools.local_path(CDI_BEFORE)) else "absent"
        case "reload-uvm":
            return step.before
        case _:
            return _link_state(step)


def loader_file(step: SystemStep) -> str:
    """Return the file of ld.so.conf.d that names a folder: one for each folder, ours alone."""
    return LOADER_FILE.format(name=re.sub(r"[^A-Za-z0-9]+", "-", step.subject).strip("-").lower())


def _own_file(tools: SystemTools, path: str, text: str) -> StepState:
    try:
        with safe_folder.open_parent(os.path.realpath(tools.local_path(path))) as (place, name):
            there = place.read(name)
    except FileNotFoundError:
        return "absent"
    if there is None:
        return "absent"
    if there != text.encode():
        raise ChangeError(_("{path} does not hold what Convalesce wrote.", path=path))
    return "present"


def _members(tools: SystemTools, group: str) -> tuple[str, ...]:
    """Return who is in a group by the system's list.

    Raises:
        ChangeError: there is no such group.
    """
    for line in Path(tools.local_path("/etc/group")).read_text(encoding="utf-8", errors="replace").splitlines():
        parts = line.split(":")
        if len(parts) == 4 and parts[0] == group:
            return tuple(name for name in parts[3].split(",") if name)
    raise ChangeError(_("This system has no group {group}.", group=group))


def _link_state(step: SystemStep) -> StepState:
    if not os.path.lexists(step.subject):
        return "absent"
    if Path(os.path.realpath(step.subject)) == Path(os.path.realpath(step.value)) and _is_link(step.subject):
        return "present"
    raise ChangeError(_("{path} exists, and is something else.", path=step.subject))


def _is_link(path: str) -> bool:
    return Path(path).is_symlink() or os.path.realpath(path) != str(Path(path).absolute())


# --- before --------------------------------------------------------------------------------------------------------


def step_problems(step: SystemStep, tools: SystemTools) -> tuple[str, ...]:
    """Return a sentence for each reason against a step; empty if it can be made. Changes nothing."""
    try:
        if step.before == step.after:
            return (_("The plan changes nothing about the system."),)
        if state_of(step, tools) != step.before:
            return (_("The system changed since it was shown: {words}", words=" ".join(step.lines())),)
        for name in _tools_of(step):
            tools.tool(name)
        if step.kind == "reload-uvm" and step.after == "present":
            return _holders(tools)
        if step.kind == "short-path" and step.after == "present" and not Path(step.value).is_dir():
            return (_("{folder} is not a folder.", folder=step.value),)
    except ChangeError as e:
        return (str(e),)
    except OSError as e:
        return (_("The system answered: {strerror}.", strerror=e.strerror or str(e)),)
    return ()


def _tools_of(step: SystemStep) -> tuple[str, ...]:
    back = step.after == "absent"
    return {
        "library-folder": ("ldconfig",),
        "device-group": ("gpasswd",) if back else ("usermod",),
        "reload-uvm": () if back else ("modprobe",),
        "cdi": () if back else ("nvidia-ctk",),
    }.get(step.kind, ())


def _holders(tools: SystemTools) -> tuple[str, ...]:
    """Return why the module cannot be unloaded: it is not loaded, or something uses it."""
    try:
        listed = Path(tools.local_path("/proc/modules")).read_text(encoding="ascii", errors="replace")
    except OSError:
        return (_("The list of kernel modules cannot be read."),)
    row = next((line.split() for line in listed.splitlines() if line.startswith(f"{UVM} ")), None)
    if row is None:
        return (_("The kernel module {name} is not loaded.", name=UVM),)
    users = row[2] if len(row) > 2 else "0"
    if users != "0":
        return (_("{n} programs use {name}; close everything that computes on the GPU first.", n=users, name=UVM),)
    return ()


# --- doing ---------------------------------------------------------------------------------------------------------


def make_step(step: SystemStep, tools: SystemTools) -> None:
    """Make a step, and check the system's state afterwards. A step that is already done is left alone.

    Raises:
        ChangeError: a tool refused, or the state is another. OSError: the system failed.
    """
    if step.kind == "reload-uvm":
        if step.after == "present":
            if rows := _holders(tools):
                raise ChangeError(rows[0])
            tools.call("modprobe", "-r", UVM)
            tools.call("modprobe", UVM)
        return
    if state_of(step, tools) != step.after:
        _ACTIONS[step.kind](step, tools)
    if state_of(step, tools) != step.after:
        raise ChangeError(_("The system did not retain the change: {words}", words=" ".join(step.lines())))


def _set_loader(step: SystemStep, tools: SystemTools) -> None:
    _write_own(tools, loader_file(step), f"{step.subject}\n" if step.after == "present" else "")
    tools.call("ldconfig", *(() if tools.root == "/" else ("-r", tools.root)))


def _set_nouveau(step: SystemStep, tools: SystemTools) -> None:
    _write_own(tools, NOUVEAU_FILE, NOUVEAU_TEXT if step.after == "present" else "")


def _set_group(step: SystemStep, tools: SystemTools) -> None:
    elsewhere = () if tools.root == "/" else ("-P", tools.root)
    if step.after == "present":
        tools.call("usermod", *elsewhere, "-a", "-G", step.value, step.subject)
    else:
        tools.call("gpasswd", *(() if tools.root == "/" else ("-Q", tools.root)), "-d", step.subject, step.value)


def _set_cdi(step: SystemStep, tools: SystemTools) -> None:
    now, kept = tools.local_path(CDI_FILE), tools.local_path(CDI_BEFORE)
    folder, name = safe_folder.split_path(os.path.realpath(now))
    kept_name = Path(kept).name
    if step.after == "absent":
        with safe_folder.open_folder(folder) as place:
            if place.read(kept_name):
                place.rename(kept_name, name)
            else:  # there was none before
                place.remove(name)
                place.remove(kept_name)
            place.sync()
        return
    safe_folder.make_folders(folder)
    with safe_folder.open_folder(folder) as place:
        place.write(kept_name, place.read(name, 4 << 20) or b"")
        place.sync()
    tools.call("nvidia-ctk", "cdi", "generate", f"--output={now}")
    with safe_folder.open_folder(folder) as place:
        if not place.read(name, 4 << 20):
            raise ChangeError(_("nvidia-ctk wrote no specification."))


def _set_link(step: SystemStep, _tools: SystemTools) -> None:
    if step.after == "absent":
        if sys.platform == "win32":
            Path(step.subject).rmdir()  # a junction: its target stays
        else:
            Path(step.subject).unlink()
        return
    Path(step.subject).parent.mkdir(parents=True, exist_ok=True)
    if sys.platform == "win32":
        _make_junction(step.value, step.subject)
    else:
        Path(step.subject).symlink_to(step.value, target_is_directory=True)


def _make_junction(folder: str, link: str) -> None:
    """Make a junction, or leave nothing: Windows makes the folder first, and a file system without junctions leaves it behind."""
    import _winapi

    there = Path(link).exists()
    try:
        _winapi.CreateJunction(folder, link)  # type: ignore[attr-defined,unused-ignore]  # on Windows alone
    except OSError:
        if not there:
            with suppress(OSError):
                Path(link).rmdir()
        raise


def _write_own(tools: SystemTools, path: str, text: str) -> None:
    folder, name = safe_folder.split_path(os.path.realpath(tools.local_path(path)))
    if text:
        safe_folder.make_folders(folder)
    with safe_folder.open_folder(folder) as place:
        if text:
            place.write(name, text.encode())
        else:
            place.remove(name)
        place.sync()


_ACTIONS: dict[str, Callable[[SystemStep, SystemTools], None]] = {
    "library-folder": _set_loader,
    "nouveau-off": _set_nouveau,
    "device-group": _set_group,
    "cdi": _set_cdi,
    "short-path": _set_link,
}
