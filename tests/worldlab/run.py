"""Stage one scene, ask the real program, scan with the command line that people use, and judge."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import tests
from tests.worldlab.environments import copied
from tests.worldlab.scene import Ran, Scene, World

CHECKOUT = Path(tests.__file__).resolve().parent.parent
SCAN_TIMEOUT = 300

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
    """With ``cures``: what became of the offered change of files or packages, by the oracle."""
    seconds: float = 0.0
    report: Mapping[str, Any] | None = None


def examine(scene: Scene, *, cures: bool = False, keep: Path | None = None, oracle_only: bool = False) -> Outcome:
    """Stage the scene, run the oracle and the scan, or the oracle alone."""
    with copied(scene.environment, scene.name) as folder:
        world = World(folder=folder)
        if scene.plant:
            scene.plant(world)
        real = scene.oracle(world)
        if wrong := _refuted(scene, real):
            return Outcome(scene, "wrong scene", wrong, said=_last_line(real.said), detail=real.said[-1500:])
        if oracle_only:
            return Outcome(scene, "borne out", "no scan was asked for", said=_last_line(real.said))
        started = time.monotonic()
        done = _convalesce(world, scene, "scan", "--json", "--full-names", *world.arguments)
        seconds = time.monotonic() - started
        if keep:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"{scene.name}.json").write_bytes(done.stdout)
        outcome = judge(scene, real, done.returncode, done.stdout, done.stderr, seconds, str(world.prefix))
        if cures and scene.causes and outcome.report:
            return Outcome(**{**vars(outcome), "cure": _cured(world, scene, outcome.report)})
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


def _convalesce(world: World, scene: Scene, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    starter = "with_card.py" if not scene.no_card else "without_card.py"
    start = ["-I", str(CHECKOUT / "tests" / "worldlab" / starter)]
    return world.run([sys.executable, *start, *arguments, "--python", str(world.prefix)], timeout=SCAN_TIMEOUT)


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


def _cured(world: World, scene: Scene, report: Mapping[str, Any]) -> str:
    """Carry the headline's change of files or packages out, and ask the real program again."""
    first = next((f for f in report["findings"] if f["primary"]), None)
    kinds = {c["change"] for c in ((first or {}).get("fix") or {}).get("changes", ())}
    if not first or not kinds - {"variable", "path"}:
        return "advice" if ((first or {}).get("fix") or {}).get("advice") else "nothing offered"
    done = _convalesce(world, scene, "fix", first["id"], "--yes", "--json")
    if done.returncode:
        return f"refused, status {done.returncode}"
    return "works" if scene.oracle(world).ok else "LEAVES THE FAULT"


def _last_line(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1][:160] if lines else ""
