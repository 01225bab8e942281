"""Stage one scene, ask the real program, scan with the command line that people use, and judge."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import tests
from core.common.exit_codes import REFUSED, STUCK
from tests.worldlab.environments import copied, home
from tests.worldlab.same_files import Before, remembered, written_meanwhile
from tests.worldlab.scene import Ran, Scene, World, installs

CHECKOUT = Path(tests.__file__).resolve().parent.parent
SCAN_TIMEOUT = 300
FIX_TIMEOUT = 900
"""Seconds for a cure: packages are fetched, and tried in a copy of the environment."""

UNDECLARED = {"torch-2.8": ("packaging",), "torch-2.6": ("setuptools",), "hub": ("setuptools",)}
"""Without these bitsandbytes 0.47.0 and triton 3.2.0 of a master cannot be imported, and do not say so in their metadata."""

Verdict = Literal["named first", "quiet", "missed", "false alarm", "wrong scene", "no report", "borne out"]
RIGHT = ("named first", "quiet", "borne out")


@dataclass(frozen=True)
class Outcome:
    """What became of one scene."""

    scene: Scene
    verdict: Verdict
    found: str
    """The headline's cause and subject, or what else was loud."""
    status: int | None = None
    """The scan's exit status."""
    said: str = ""
    """The last line of the real program."""
    detail: str = ""
    cure: str = ""
    """With ``cures``: what became of the offered change, by the oracle."""
    cure_detail: str = ""
    """What was offered, and what was said about it."""
    seconds: float = 0.0
    report: Mapping[str, Any] | None = None


def examine(
    scene: Scene,
    *,
    cures: bool = False,
    keep: Path | None = None,
    oracle_only: bool = False,
    tries: bool = False,
    there: Path | None = None,
) -> Outcome:
    """Stage the scene, run the oracle and the scan, or the oracle alone; ``tries``: the scan imports what is installed, too;
    ``there``: a folder with a copy of the environment that the caller made.
    """
    with nullcontext(there) if there else copied(scene.environment, scene.name) as folder:
        world = World(folder=folder)
        if tries and (asked := UNDECLARED.get(scene.environment)):
            installs(*asked)(world)
        if scene.plant:
            scene.plant(world)
        real = scene.oracle(world)
        if wrong := _refuted(scene, real):
            return Outcome(scene, "wrong scene", wrong, said=_last_line(real.said), detail=real.said[-1500:])
        if oracle_only:
            return Outcome(scene, "borne out", "no scan was asked for", said=_last_line(real.said))
        started = time.monotonic()
        done = convalesce(
            world, scene, "scan", "--json", "--full-names", *(["--thorough"] if tries else []), *world.arguments
        )
        seconds = time.monotonic() - started
        if keep:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"{scene.name}.json").write_bytes(done.stdout)
        outcome = judge(scene, real, done.returncode, done.stdout, done.stderr, seconds, str(world.prefix))
        if cures and scene.causes and outcome.report:
            cure, words = _cured(world, scene, outcome.report)
            return replace(outcome, cure=cure, cure_detail=words)
        return outcome


def _refuted(scene: Scene, real: Ran) -> str:
    """Return why the real program does not bear the expectation out; empty where it does."""
    if scene.causes and real.ok:
        return "the real program works"
    if not scene.causes and not real.ok:
        return "the real program fails"
    if scene.says and scene.says not in real.said:
        return f"the real program does not say {scene.says!r}"
    return ""


def convalesce(world: World, scene: Scene, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    real = scene.no_card or not {"--try", "--thorough"}.isdisjoint(
        arguments
    )  # what is really imported sees this machine as it is
    starter = "without_card.py" if real else "with_card.py"
    start = ["-I", str(CHECKOUT / "tests" / "worldlab" / starter)]
    named = () if arguments[0] == "undo" else ("--python", str(world.prefix))
    if arguments[0] == "fix":  # the lab's own store has most wheels already
        world = replace(world, variables={**world.variables, "UV_CACHE_DIR": str(home() / "store")})
    return world.run(
        [sys.executable, *start, *arguments, *named], timeout=SCAN_TIMEOUT if arguments[0] == "scan" else FIX_TIMEOUT
    )


def judge(scene: Scene, real: Ran, status: int, out: bytes, err: bytes, seconds: float, prefix: str = "") -> Outcome:
    """Compare a report with what the scene expects."""
    said = _last_line(real.said)
    try:
        report = json.loads(out)
    except ValueError:
        return Outcome(scene, "no report", f"status {status}", status, said, err.decode("utf-8", "replace")[-1500:])
    findings = report["findings"]
    loud = [f for f in findings if f["severity"] not in ("good", "note")]
    words = "\n".join(f"{f['severity']} {f['id']} [{f['cause']}] {f['subject']}: {f['title']}" for f in loud)
    cells = [
        f"{c['framework']}: {c['verdict']} ({c['reason']})"
        for row in (report.get("grid") or {}).get("rows", ())
        if row["prefix"] == prefix
        for c in row["cells"]
    ]
    detail = "\n".join((*words.splitlines(), *cells, *(f"PROBE {e}" for e in report["snapshot"].get("errors", ()))))
    first = next((f for f in findings if f["primary"]), None) or next((f for f in findings if f.get("headline")), None)
    if not scene.causes:
        stopped = [c for c in cells if ": cannot run" in c]
        verdict: Verdict = "false alarm" if loud or stopped or status else "quiet"
        found = f"{loud[0]['id']} {loud[0]['subject']}" if loud else "; ".join(stopped)
        return Outcome(scene, verdict, found, status, said, detail, seconds=seconds, report=report)
    found = f"{first['cause']} {first['subject']}" if first else "nothing"
    right = first is not None and first["cause"] in scene.causes and not _lacking(scene, first)
    if first and first["cause"] in scene.causes and not right:
        found += f" ({_lacking(scene, first)})"
    return Outcome(
        scene, "named first" if right else "missed", found, status, said, detail, seconds=seconds, report=report
    )


def _lacking(scene: Scene, finding: Mapping[str, Any]) -> str:
    """Return what a finding of the right cause does not say: the consumer, or the name."""
    if scene.consumer and not any(
        who.startswith(f"python/{scene.consumer}:") or "/" not in who.partition(":")[0] for who in finding["consumers"]
    ):
        return f"it does not concern {scene.consumer}, but {', '.join(finding['consumers']) or 'nobody'}"
    told = json.dumps([finding["title"], finding["why"], finding["subject"], finding["evidence"]], ensure_ascii=False)
    return f"it does not name {scene.names}" if scene.names not in told else ""


def _cured(world: World, scene: Scene, report: Mapping[str, Any]) -> tuple[str, str]:
    """Carry the headline's change out, ask the real program again, and take the change back.

    What is changed in an activation is asked of a program that is started through it.

    Return what became of it in a word, and what was offered and said. "Advice" and "nothing offered" are no cures.
    """
    first = next((f for f in report["findings"] if f["primary"]), None)
    fix = (first or {}).get("fix") or {}
    if first is None or not fix.get("changes"):
        return (
            "advice" if fix.get("advice") else "nothing offered"
        ), f"{fix.get('title', '')}\n{fix.get('advice', '')}"
    with remembered(world.folder) as before:
        return _carried_out(world, scene, first["id"], fix["changes"], before)


def _carried_out(
    world: World, scene: Scene, finding: str, changes: Sequence[Mapping[str, Any]], before: Before
) -> tuple[str, str]:
    done = convalesce(world, scene, "fix", finding, "--yes", "--json")
    said = _said_by_fix(done)
    if done.returncode in (REFUSED, STUCK) or '"outcome": "done"' not in done.stdout.decode("utf-8", "replace"):
        return f"refused, status {done.returncode}", said
    if any(c.get("scope") == "environment" for c in changes):
        world.launcher += ["/bin/sh", "-c", '. "$1/bin/activate" && shift && exec "$@"', "sh", str(world.prefix)]
    with written_meanwhile(world.folder) as its_own:
        real = scene.oracle(world)
    if not real.ok:
        return "LEAVES THE FAULT", f"{said}\nthe program then: {real.said[-600:]}"
    back = convalesce(world, scene, "undo", "--yes")
    if back.returncode or (other := before.other_now(its_own)):
        words = back.stderr.decode("utf-8", "replace") if back.returncode else "; ".join(other[:6])
        return "NOT UNDONE", f"{said}\n{words}"
    return "works", said


def _said_by_fix(done: subprocess.CompletedProcess[bytes]) -> str:
    try:
        rows = json.loads(done.stdout)["fixes"]
    except (ValueError, KeyError):
        return done.stderr.decode("utf-8", "replace")[-1500:]
    return "\n".join(
        w for r in rows for w in (*r.get("changes", ()), r.get("rehearsal", ""), r.get("sentence", "")) if w
    )


def _last_line(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1][:160] if lines else ""
