"""Count the words of a text, and split advice into pieces of readable size."""

from __future__ import annotations

import re

from core.common.late_pattern import late_pattern
from core.model.findings import Fix

MAX_WORDS = 60
"""Words that a screen may show."""
MAX_STEP_WORDS = 34
"""Most words of advice on one screen, so that the rest of the screen has room."""
_CJK = late_pattern(r"[\u3400-\u9fff]")
_WORD = late_pattern(
    r"(?<![^\s\u3000-\u9fff\uff00-\uffef])[^\s\u3000-\u9fff\uff00-\uffef]*(?![\u3000-\u9fff])\w[^\s\u3000-\u9fff\uff00-\uffef]*"
)


def count_words(text: str) -> float:
    """Return the number of words: a path or a name is one; two signs of Chinese are one."""
    return len(_WORD.findall(text)) + len(_CJK.findall(text)) / 2


PROGRAMS = {
    *("apt", "chmod", "conda", "convalesce", "dmesg", "dnf", "docker", "export", "grep", "ldconfig", "modprobe"),
    *("mokutil", "mv", "nvidia-smi", "pip", "podman", "py", "python", "python3", "set", "setx", "sudo", "systemctl"),
    *("unset", "uv", "wsl"),
}
"""Programs that the advice starts at the beginning of a line."""


def commands_of(advice: str) -> str:
    """Return the lines that can be pasted into a terminal as they are; all of it where there is none."""
    found = [line.strip() for line in advice.splitlines() if _is_command(line.split())]
    return "\n".join(found) or advice


def _is_command(words: list[str]) -> bool:
    if len(words) < 2:
        return False
    return words[0] in PROGRAMS or (re.split(r"[/\\]", words[0])[-1].startswith("python") and words[1] == "-m")


def hand_steps(fix: Fix | None) -> tuple[str, ...]:
    """Return what a person has to do, in pieces for one screen each. Guides for steps of the system come from here, too."""
    pieces: list[str] = []
    for line in (fix.advice if fix else "").splitlines():
        if pieces and count_words(pieces[-1]) + count_words(line) <= MAX_STEP_WORDS:
            pieces[-1] += f"\n{line}"
        elif line.strip():
            pieces.append(line)
    return tuple(pieces)
