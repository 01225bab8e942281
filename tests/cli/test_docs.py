"""What the pages for administrators say can be typed as it stands, and the playbook is one."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from core.cli import main

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("for-administrators.md", "how-convalesce-decides.md")
LINES = [
    line.strip()
    for page in PAGES
    for line in (DOCS / page).read_text(encoding="utf-8").splitlines()
    if line.startswith("    convalesce ")
]


@pytest.mark.parametrize("line", LINES)
def test_every_command_of_the_pages_is_understood(line: str) -> None:
    options = main._parser().parse_args(shlex.split(line)[1:])
    assert callable(options.command)


def test_the_pages_have_commands_for_every_task() -> None:
    said = {line.split()[1] for line in LINES}
    assert said >= {"scan", "triage", "report", "explain", "undo"}


def test_the_commands_of_the_playbook_and_of_the_logon_script_are_understood() -> None:
    page = (DOCS / "for-administrators.md").read_text(encoding="utf-8")
    playbook = re.search(r'cmd: "\{\{ convalesce \}\} (.*)"', page)
    logon = re.search(r"-ArgumentList (.*) `", page)
    assert playbook
    assert logon
    main._parser().parse_args(shlex.split(playbook[1]))
    main._parser().parse_args([*list(re.findall(r"'([^']*)'", logon[1])), "r.json"])
