"""What runs when a library is loaded that somebody named: it can start, kill and reach nothing, and forge no answer."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from tests.malice.conftest import EVE, Box, needs_root
from tests.malice.planted import VERA, Seen
from tests.malice.test_planted import Street

pytestmark = needs_root

FORGED = r"\n+{\"kind\":\"call\",\"name\":\"cudnnGetVersion\",\"result\":99999}\n.\n"
EVERYWHERE = f'for (int i = 3; i < 64; i++) (void)!write(i, "{FORGED}", strlen("{FORGED}"));'
DEEDS = {
    "fork": 'if (fork() == 0) { mark("bad"); _exit(0); }',
    "vfork": 'if (vfork() == 0) { mark("bad"); _exit(0); }',
    "daemon": 'if (daemon(0, 0) == 0) mark("bad");',
    "session": 'if (setsid() >= 0 || setpgid(0, 0) == 0) mark("bad");',
    "shell": 'if (system("true") == 0) mark("bad");',
    "signal to the parent": 'if (kill(getppid(), 0) == 0) mark("bad");',
    "signal to all": 'if (kill(-1, 0) == 0) mark("bad");',
    "network": 'if (socket(AF_INET, SOCK_STREAM, 0) >= 0) mark("bad");',
    "network 6": 'if (socket(AF_INET6, SOCK_DGRAM, 0) >= 0) mark("bad");',
    "a socket by name": (
        'struct { unsigned short f; char n[9]; } a = {1, "\\0malice"}; int s = socket(AF_UNIX, SOCK_STREAM, 0);'
        'if (connect(s, (void *)&a, 9) == 0) mark("bad");'
    ),
    "root": 'if (setuid(0) == 0) mark("bad");',
}
"""What it tries; "bad" is left behind where it can."""
KILLS = {
    "the parent": "kill(getppid(), SIGKILL);",
    "the group": "kill(0, SIGKILL);",
    "everybody": "kill(-1, SIGKILL);",
    "itself": "raise(SIGKILL);",
    "the end": "_exit(0);",
    "an answer and the end": EVERYWHERE + "_exit(0);",
    "an answer": EVERYWHERE,
    "a flood": 'for (int i = 0; i < 3000000; i++) puts("cuDNN is in perfect order");',
}
"""What ends or drowns the scan, where it can."""


@pytest.fixture
def street(box: Box) -> Street:
    return Street(box)


@pytest.mark.parametrize("deed", DEEDS.values(), ids=DEEDS.keys())
def test_a_named_library_gets_nowhere(street: Street, deed: str) -> None:
    its = street.plant(street.srv / "model/venv", deed=deed)
    with socket.socket(socket.AF_UNIX) as listening:  # of another program, as X11's and D-Bus' are
        listening.bind("\0malice")
        listening.listen()
        seen = street.scan(VERA, "--python", str(its))
    assert seen.marks == {"ran": VERA}


def test_each_report_says_which_guards_held(street: Street) -> None:
    street.plant(street.home / "venv", VERA)
    for account in (VERA, 0):
        seen = street.scan(account, "--python", str(street.home / "venv"))
        held = [x["roll_call"]["guards"] for x in seen.report["snapshot"]["loads"] if x.get("roll_call")]
        assert held == [["seccomp", "network namespace"]]


@pytest.mark.parametrize("deed", KILLS.values(), ids=KILLS.keys())
@pytest.mark.parametrize("owner", [EVE, VERA], ids=["hers", "one's own"])
def test_a_scan_ends_and_believes_nothing(street: Street, deed: str, owner: int) -> None:
    its = street.plant(street.home / "venv" if owner == VERA else street.srv / "venv", owner, deed=deed)
    seen = street.scan(VERA, "--python", str(its))
    assert seen.marks == {"ran": VERA}
    assert not seen.findings("cudnn.loads")
    load = next(x for x in seen.report["snapshot"]["loads"] if x["consumer"]["prefix"] == str(its))
    assert load["roll_call"]["version"] != "9.99.99"
    assert told(seen, its) != []


def told(seen: Seen, library: Path) -> list[str]:
    """Return the findings that name a library and say that something is wrong with it, or was not examined."""
    bad = [f for f in seen.report["findings"] if f["severity"] not in ("good", "note")]
    return [f["id"] for f in bad if library.name in json.dumps(f)]


@pytest.mark.parametrize("deed", ["an answer", "an answer and the end"])
def test_a_forged_answer_is_told(street: Street, deed: str) -> None:
    its = street.plant(street.home / "venv", VERA, deed=KILLS[deed])
    load = next(x for x in street.scan(VERA).report["snapshot"]["loads"] if x["consumer"]["prefix"] == str(its))
    assert "not ours" in load["roll_call"]["ended"]
    assert load["roll_call"]["calls"] == []
