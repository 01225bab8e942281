"""The world lab: the real program's answer is the measure; here its judge, its table, and a sample of its scenes."""

from __future__ import annotations

import json
import platform
import sys
from collections import Counter
from pathlib import Path

import pytest

if sys.platform != "linux" or platform.machine() != "x86_64":
    pytest.skip("the lab installs wheels for Linux on x86_64", allow_module_level=True)

from core.knowledge.causes import cause_ranks
from tests.worldlab import cures, random_paths
from tests.worldlab.__main__ import MARK, page_of, with_rows, with_set
from tests.worldlab.environments import ENVIRONMENTS
from tests.worldlab.run import RIGHT, Outcome, examine, judge
from tests.worldlab.same_files import remembered, written_meanwhile
from tests.worldlab.scene import Ran, Scene, loses, runs
from tests.worldlab.scenes import HELD_OUT, table

SAMPLE = tuple(s for s in table() if s.environment == "cupy-alone")
"""On wheels of a hundred megabytes; all others are of several gigabytes."""


@pytest.mark.download
@pytest.mark.parametrize("scene", SAMPLE, ids=lambda s: s.name)
def test_a_sample_of_the_lab(scene: Scene) -> None:
    outcome = examine(scene)
    assert outcome.verdict in RIGHT, f"{outcome.verdict}: {outcome.found}\n{outcome.said}\n{outcome.detail}"


@pytest.mark.world
@pytest.mark.parametrize("scene", [s for s in table() if s not in SAMPLE], ids=lambda s: s.name)
def test_the_lab(scene: Scene) -> None:
    outcome = examine(scene)
    assert outcome.verdict in RIGHT, f"{outcome.verdict}: {outcome.found}\n{outcome.said}\n{outcome.detail}"


def test_the_table_is_sound() -> None:
    scenes = (*table(), *(scene for name in HELD_OUT for scene in table(name)))
    assert [name for name, n in Counter(s.name for s in scenes).items() if n > 1] == []
    assert {s.environment for s in scenes} <= set(ENVIRONMENTS)
    assert {cause for s in scenes for cause in s.causes} <= set(cause_ranks())
    assert [s.name for s in scenes if bool(s.causes) == (s.kind == "healthy")] == []


def test_the_answers_that_random_path_faults_take_are_causes():
    taken = {*random_paths.SHADOWED, *random_paths.BROKEN, *random_paths.LOST, *random_paths.PROJECT}
    assert taken <= set(cause_ranks())
    assert set(random_paths.OFTEN) == set(random_paths.PROGRAMS) == set(random_paths.RELEASES)
    assert list(random_paths.numbers("3,7-9")) == [3, 7, 8, 9]


def test_the_table_has_its_place() -> None:
    page = page_of("").read_text(encoding="utf-8")
    assert page.count(MARK) == 1
    assert with_rows(page, MARK, []) == page


@pytest.mark.parametrize("held_out", HELD_OUT)
def test_each_held_out_set_has_a_row(held_out: str) -> None:
    page = page_of(held_out).read_text(encoding="utf-8")
    outcomes = [Outcome(FAULT, "named first", "", 1), Outcome(FAULT, "missed", "", 0), Outcome(HEALTHY, "quiet", "", 0)]
    (before, after), *further = [
        (old, new)
        for old, new in zip(page.splitlines(), with_set(page, held_out, outcomes).splitlines(), strict=True)
        if old != new
    ]
    assert not further
    assert after.startswith(f"| [{held_out}](#") and after.split(" | ")[1] == before.split(" | ")[1]  # noqa: PT018 - one row
    assert after.endswith(" | 1 of 2 | - | - | - | - | 1 of 2 (50 %) | 1 | 1 of 1 |")


# --- the judge -----------------------------------------------------------------------------------------------

FAULT = Scene("fault", "A", "cupy", runs(""), loses(), ("cuda_library_missing",), "cupy-cuda12x", "libcufft.so.11")
HEALTHY = Scene("healthy", "healthy", "cupy", runs(""))
FAILS, WORKS = Ran(ok=False, said="OSError: libcufft.so.11"), Ran(ok=True, said="ok")


def finding(**fields: object) -> dict[str, object]:
    told = {"id": "a.b", "cause": "cuda_library_missing", "severity": "error", "primary": True, "subject": "/env"}
    more = {"title": "libcufft.so.11 is gone", "why": "", "evidence": [], "consumers": ["python/cupy-cuda12x:/env"]}
    return {**told, **more, **fields}


@pytest.mark.parametrize(
    ("scene", "real", "findings", "status", "verdict"),
    [
        (FAULT, FAILS, [finding()], 1, "named first"),
        (FAULT, FAILS, [finding(primary=False)], 1, "missed"),
        (FAULT, FAILS, [finding(cause="other")], 1, "missed"),
        (FAULT, FAILS, [finding(consumers=["python/torch:/env"])], 1, "missed"),
        (FAULT, FAILS, [finding(title="something is gone")], 1, "missed"),
        (FAULT, FAILS, [], 0, "missed"),
        (HEALTHY, WORKS, [], 0, "quiet"),
        (HEALTHY, WORKS, [finding(severity="note", primary=False)], 0, "quiet"),
        (HEALTHY, WORKS, [finding(severity="unknown", primary=False)], 0, "false alarm"),
    ],
)
def test_the_judge(scene: Scene, real: Ran, findings: list[object], status: int, verdict: str) -> None:
    report = json.dumps({"findings": findings, "snapshot": {}, "grid": None}).encode()
    assert judge(scene, real, status, report, b"", 0.1).verdict == verdict


def test_no_report_is_told() -> None:
    assert judge(FAULT, FAILS, 3, b"", b"a traceback", 0.1).verdict == "no report"


def test_the_table_of_cures_is_that_of_its_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (cures.RECORD.read_text(encoding="utf-8"), cures.PAGE.read_text(encoding="utf-8"))
    for name, text in zip(("RECORD", "PAGE"), before, strict=True):
        (tmp_path / name).write_text(text, encoding="utf-8")
        monkeypatch.setattr(cures, name, tmp_path / name)
    cures.note([Outcome(Scene("odd", "healthy", "cupy", runs("")), "quiet", "", cure="works")])
    assert (cures.RECORD.read_text(encoding="utf-8"), cures.PAGE.read_text(encoding="utf-8")) == before
    assert set(json.loads(before[0])) <= {s.name for s in (*table(), *(s for name in HELD_OUT for s in table(name)))}
    cures.note(
        [Outcome(Scene("lost", "A", "cupy", runs(""), causes=("x",)), "named first", "", cure="refused, status 4")]
    )
    assert json.loads(cures.RECORD.read_text(encoding="utf-8"))["lost"][:2] == ["A", "refused"]


def test_what_is_not_as_before_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "scene"
    folder.mkdir()
    for name, size in (("kept", 3), ("small", 3), ("large", 1 << 20), ("again", 1 << 20), ("in place", 1 << 20)):
        (folder / name).write_bytes(b"x" * size)
    (folder / "link").symlink_to("small")
    (folder / "closed").mkdir()
    with remembered(folder) as before:
        assert before.other_now() == []
        for name, content in (("small", b"yyy"), ("large", b"y" * (1 << 20)), ("again", b"x" * (1 << 20))):
            (folder / name).unlink()
            (folder / name).write_bytes(content)
        (folder / "in place").write_bytes(b"z" * (1 << 20))
        (folder / "link").unlink()
        (folder / "link").symlink_to("kept")
        (folder / "closed").chmod(0o700)
        (folder / "new").mkdir()
        assert before.other_now() == ["closed", "in place", "large", "link", "new", "small"]
    assert [p.name for p in tmp_path.iterdir()] == ["scene"]


def test_what_the_program_writes_itself_is_told_apart(tmp_path: Path) -> None:
    folder = tmp_path / "scene"
    folder.mkdir()
    for name in ("left by the cure", "kept", "log"):
        (folder / name).write_bytes(b"x")
    with remembered(folder) as before:
        (folder / "left by the cure").write_bytes(b"y")
        with written_meanwhile(folder) as its_own:
            (folder / "runs").mkdir()
            (folder / "runs" / "loss.png").write_bytes(b"z")
            (folder / "log").write_bytes(b"xx")
        assert its_own == {"runs", "runs/loss.png", "log"}
        assert before.other_now(its_own) == ["left by the cure"]
