"""Whether a text is from another machine: its system, its users' folders or its versions do not fit this one."""

from __future__ import annotations

from core.common.i18n import _
from core.common.late_pattern import late_pattern
from core.explain.context import compiled_and_loaded
from core.explain.origin import driver_mismatch, python_mismatch, system_of, torch_mismatch
from core.explain.reading import ParsedText
from core.model.facts import Snapshot
from core.model.paths import file_name

_HOME = late_pattern(r"(?:/home/|/Users/|[A-Za-z]:[\\/]Users[\\/])([^/\\:;\"'<>\s]{1,40})")
COMMON_USER_NAMES = {
    "user",
    "users",
    "username",
    "me",
    "you",
    "name",
    "xxx",
    "root",
    "public",
    "default",
    "runner",
    "work",
    "conda",
    "ubuntu",
}
"""Folder names that people use to hide a name, or that are nobody's."""
BUILD_FOLDERS = (
    "/opt/conda/conda-bld",
    "/home/conda/feedstock",
    "d:\\a\\_work",
    "/pytorch/aten",
    "/croot/",
    "c:\\actions-runner",
)
"""Folders of the machines that build packages, which appear in messages everywhere."""


def other_machine_reasons(reading: ParsedText, seen: Snapshot | None) -> str:
    """Return why the text seems to be from another machine, in one or two sentences; empty if it fits or nothing shows it."""
    if seen is None:
        return ""
    strong = [s for s in (_system_mismatch(reading, seen), _home_mismatch(reading, seen)) if s]
    weak = [
        s
        for s in (
            _cudnn_mismatch(reading, seen),
            python_mismatch(reading, seen),
            torch_mismatch(reading, seen),
            driver_mismatch(reading, seen),
        )
        if s
    ]
    return " ".join((*strong, *weak)) if strong or len(weak) > 1 else ""


def _system_mismatch(reading: ParsedText, seen: Snapshot) -> str:
    names = {"windows": "Windows", "linux": "Linux"}
    said = system_of(reading)
    if not said or said == seen.machine.system:
        return ""
    return _(
        "Its paths and file names are those of {theirs}, but this machine runs {ours}.",
        theirs=names[said],
        ours=names[seen.machine.system],
    )


def _home_mismatch(reading: ParsedText, seen: Snapshot) -> str:
    """Return users' folders that this machine does not have; a redacted report cannot show that."""
    machine = seen.machine
    if not machine.user or "<" in machine.user or "<" in machine.home:
        return ""
    text = "\n".join(line for line in reading.text.split("\n") if not any(b in line.lower() for b in BUILD_FOLDERS))
    named = {
        m[1]
        for m in _HOME.finditer(text)
        if m[1].lower() not in COMMON_USER_NAMES and not m[1].startswith(("<", "$", "%", "{", "."))
    }
    mine = {machine.user.lower(), file_name(machine.system, machine.home).lower()}
    known = " ".join([p.prefix for p in seen.pythons or ()] + [c.folder for c in seen.cudnn or ()]).lower()
    others = sorted(n for n in named if n.lower() not in mine and n.lower() not in known)
    if not others or any(n.lower() in mine for n in named):
        return ""
    return _("It names the home folder of {others}, a user that this machine does not know.", others=others[0])


def _cudnn_mismatch(reading: ParsedText, seen: Snapshot) -> str:
    pair = compiled_and_loaded(reading.low)
    if not pair or not seen.cudnn:
        return ""
    loaded = ".".join(map(str, pair[1]))
    here = [c.version for c in seen.cudnn if c.version]
    if any(v.startswith(loaded) for v in here):
        return ""
    return _("It mentions cuDNN {loaded}, which is not on this machine.", loaded=loaded)
