"""Every command that a rule offers: a folder of any name arrives as one argument, and adds no line."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from core.doctor.examine import diagnose_snapshot
from core.model.facts import Snapshot
from core.report.redact import every_text
from tests.test_pseudo import MADE, RULES, snapshot

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a shell of Linux")

HOSTILE = (
    "two words",
    "it's",
    'a"b',
    "$(touch hole)",
    "`hole`",
    "x;rm -rf y",
    "x\nsudo hole",
    "<img src=x>",
    "*[a]{b,c}&|",
)
PLAIN = "plainfolder"
COMMAND = re.compile(
    r"(?:^|: )((?:sudo|export|source|\.|conda|uv|chmod|rm|mv|grep|sed|convalesce|python3?|/\S*python\S*) .*?)"
    r"(?= \| | && |\$\{|; | \(|, |$)"
)
FOLDERS = re.compile(r"/home/ada/ml\b|/opt/venv\b|/usr/local/cuda-12\.4(?![\w.])|/opt/cudnn\b")


def advice(seen: Snapshot) -> dict[str, list[str]]:
    return {f.id: f.fix.advice.split("\n") for f in diagnose_snapshot(seen).findings if f.fix}


def words(line: str) -> list[str]:
    done = subprocess.run(["sh", "-c", f"set -- {line}; printf '%s\\0' \"$@\""], capture_output=True, check=True)
    return done.stdout.decode().split("\0")[:-1]


def within(seen: Snapshot, name: str) -> Snapshot:
    return every_text(seen, lambda text: FOLDERS.sub(lambda found: f"{found[0]}/{name}", text))


def offered() -> list[tuple[str, Snapshot]]:
    made = [(name, snapshot(name)) for name in MADE] + [(n, m() if callable(m) else m) for n, m in RULES.items()]
    return [(n, s) for n, s in made if s.machine.system == "linux"]


def test_a_folder_of_any_name_arrives_as_one_argument_of_every_command() -> None:
    seen_commands: set[str] = set()
    for number, (name, seen) in enumerate(offered()):
        plain = advice(within(seen, PLAIN))
        hostile = HOSTILE[number % len(HOSTILE)]
        told = advice(within(seen, hostile))
        # an odd name may be a finding of its own, and another one's cure
        pairs = [(plain[i], told[i]) for i in plain.keys() & told.keys()]
        for line, other in ((one, two) for ours, theirs in pairs for one, two in zip(ours, theirs, strict=True)):
            for found in COMMAND.finditer(line):
                before, after = line[: found.start(1)], line[found.end(1) :]
                if (
                    PLAIN not in found[1]
                    or PLAIN in before + after
                    or not (other.startswith(before) and other.endswith(after))
                ):
                    continue
                shown = other[len(before) : len(other) - len(after)]
                assert words(shown) == [w.replace(PLAIN, hostile) for w in words(found[1])], (name, line)
                seen_commands.add(re.sub(r"\S*/\S*", "/", found[1]))
    assert len(seen_commands) > 6, seen_commands
