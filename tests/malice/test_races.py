"""Folders and files that change under root's hands, at every step: nothing outside is read into them, written or removed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.host import safe_folder
from core.host.safe_folder import SafeFolder
from core.model.changes import FileItem, FileSet, SetVariable, Value
from core.transaction.execute import Plan, execute, recover, undo
from core.transaction.variable_store import LinuxVariables
from tests.fixing.conftest import tree
from tests.malice.conftest import Box, give, needs_root

pytestmark = needs_root

STEPS = ("status", "open", "create", "rename", "remove", "share", "link", "make", "sync", "state", "attributes")
NAME = "libcudnn_cnn.so.9"


class Swaps:
    """Counts the engine's steps in folders, and calls ``act`` before the one that was chosen."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
        self.at, self.steps, self._act = 0, 0, act
        for name in STEPS:
            monkeypatch.setattr(SafeFolder, name, self._wrapped(getattr(SafeFolder, name)))

    def _wrapped(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **words: Any) -> Any:
            self.steps += 1
            if self.steps == self.at:
                self._act()
            return real(*arguments, **words)

        return step


def plan(box: Box) -> Plan:
    """Root completes a set in a folder of Eve's, which it was asked to by its owner."""
    target = box.eve / "lib" / NAME
    data = (box.root / "opt/spare" / NAME).read_bytes()
    state = hashlib.sha256(target.read_bytes()).hexdigest()
    item = FileItem(
        path=str(target),
        before=state,
        after=hashlib.sha256(data).hexdigest(),
        size=len(data),
        source=str(box.root / "opt/spare" / NAME),
    )
    return Plan(title="t", changes=(FileSet(title="t", items=(item,)),))


def hers(box: Box) -> None:
    (box.eve / "lib").mkdir()
    (box.eve / "lib" / NAME).write_bytes(b"cut")
    for path in (box.eve / "lib", box.eve / "lib" / NAME):
        give(path)


def victim(box: Box) -> Path:
    """What Eve is after: files of root's that she can neither read nor write."""
    place = box.root / "secret"
    place.mkdir(mode=0o700)
    (place / NAME).write_bytes(b"secret")
    (place / NAME).chmod(0o600)
    return place


@pytest.mark.parametrize("swap", ["folder for a link", "folder for another", "file for a link", "file for a hard link"])
@pytest.mark.parametrize("way", ["applied", "undone"])
def test_what_is_swapped_at_any_step_leads_nowhere(
    box: Box, monkeypatch: pytest.MonkeyPatch, swap: str, way: str
) -> None:
    target = victim(box)
    before = tree(target)
    lib, away = box.eve / "lib", box.eve / "away"

    def act() -> None:
        if not lib.is_dir() or lib.is_symlink():
            return
        if swap.startswith("folder"):
            lib.rename(away)
            if swap.endswith("link"):
                lib.symlink_to(target)
            else:
                hers(box)
            return
        (lib / NAME).unlink(missing_ok=True)
        if swap.endswith("a link"):
            (lib / NAME).symlink_to(target / NAME)
        else:  # as where the kernel does not protect hard links
            os.link(target / NAME, lib / NAME)

    swaps = Swaps(monkeypatch, act)
    step, last = 0, 1  # the first round swaps nothing, and counts the steps
    while step <= last:
        for path in (lib, away):
            if path.is_symlink():
                path.unlink()
            elif path.is_dir():
                for file in path.iterdir():
                    file.unlink()
                path.rmdir()
        hers(box)
        entry = ""
        swaps.at, swaps.steps = 0, 0
        if way == "undone":
            entry = execute(plan(box), writer=box.writer, journal=box.mine).entry
        todo = plan(box) if way == "applied" else None
        swaps.at, swaps.steps = step, 0
        if todo is not None:
            said = execute(todo, writer=box.writer, journal=box.mine)
        else:
            said = undo(entry, writer=box.writer, journal=box.mine)
        last = last if step else swaps.steps
        swaps.at = 0
        recover(writer=box.writer, journal=box.mine)
        assert said.sentence.endswith("."), said
        assert tree(target) == before, f"step {step}: {said}"
        assert (target.stat().st_uid, (target / NAME).stat().st_uid) == (0, 0), f"step {step}: {said}"
        assert all(
            b"secret" not in p.read_bytes() for p in away.rglob("*") if p.is_file() and not p.samefile(target / NAME)
        )
        step += 1
    assert last > 15, "there are steps in between"


def test_root_follows_no_link_of_eve_s_to_a_file_of_variables(box: Box) -> None:
    """Her environment's activation is a link to a script that root's own shells read."""
    profile = box.root / "etc/profile"
    profile.write_text("deactivate nondestructive\n")
    venv = box.eve / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text("home = /usr\n")
    give(venv / "bin/activate") if (venv / "bin/activate").exists() else (venv / "bin/activate").symlink_to(profile)
    give(venv / "bin/activate")
    steps = SetVariable(
        name="LD_LIBRARY_PATH",
        scope="environment",
        at=str(venv),
        after=Value(text="prepend /home/eve", kind="activation"),
    )
    before = profile.read_bytes()
    writer = LinuxVariables(str(box.root), str(box.root / "home/root"))
    said = execute(Plan(title="t", changes=(steps,)), writer=writer, journal=box.mine)
    assert said.kind != "done"
    assert "is a link of another account" in said.sentence, said
    assert profile.read_bytes() == before


def test_a_folder_is_opened_without_a_link_anywhere_on_the_way(box: Box) -> None:
    (box.eve / "link").symlink_to(box.root / "etc")
    with pytest.raises(safe_folder.ChangeError, match="is a link"), safe_folder.open_folder(str(box.eve / "link")):
        pass
