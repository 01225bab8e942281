"""A faulty cuDNN is made whole in its own folder from the set that a person names, and only that cuDNN."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.common.progress import Progress
from core.doctor import repair
from core.doctor.repair import RepairContext
from core.model.changes import FileSet
from core.model.facts import CudnnCopy, Machine, Snapshot
from core.model.findings import Finding
from core.model.steps import Severity, Step
from core.probes.cudnn import probe
from core.transaction.execute import execute, undo
from core.transaction.journal import Journal
from tests import standin
from tests.fixing.conftest import tree
from tests.host.fake import FakeHost
from tests.probes.request import request
from tests.transaction.memory_store import MemoryWriter


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return standin.build_cudnn(tmp_path / "source", "9.1.0")


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A machine's root folder with a cuDNN of somebody's own in /opt/cudnn."""
    root = Path(os.path.realpath(tmp_path)) / "machine"
    standin.build_cudnn(root / "opt/cudnn", "9.1.0")
    (root / "opt/cudnn/notes.txt").write_text("mine")
    return root


def seen(folder: Path) -> CudnnCopy:
    """What the probe says of a folder on the search path, by its place on the running system."""
    (copy,) = probe.look(request(Path("/"), {"LD_LIBRARY_PATH": str(folder)}))
    return copy


def proposed(copy: CudnnCopy, source: Path, shop: RepairContext, cause: str) -> Finding:
    finding = Finding(
        id="cudnn.x", cause=cause, step=Step.CUDNN, severity=Severity.ERROR, title="x", subject=copy.folder
    )
    snapshot = Snapshot(machine=Machine(system="linux"), cudnn=(copy,))
    return repair.fix_from_cudnn_set(str(source), finding, snapshot, shop, Progress())


@pytest.fixture
def shop(tmp_path: Path) -> RepairContext:
    host = FakeHost(root=tmp_path)
    own, all_users = Journal(tmp_path / "state"), Journal(tmp_path / "all")
    return RepairContext(host=host, writer=MemoryWriter("linux"), journal=own, machine_journal=all_users)


def cut(folder: Path) -> None:
    path = folder / "libcudnn_cnn.so.9"
    path.write_bytes(path.read_bytes()[:300])


def lost(folder: Path) -> None:
    (folder / "libcudnn_ops.so.9").unlink()
    (folder / "libcudnn_adv.so.9").write_bytes(b"")


def exchanged(folder: Path) -> None:
    other = standin.build_cudnn(folder.parents[1] / "other", "9.10.2")
    shutil.copy2(other / "libcudnn_ops.so.9", folder)


def of_a_later_release(folder: Path) -> None:
    shutil.copy2(folder / "libcudnn_adv.so.9", folder / "libcudnn_ext.so.9")
    cut(folder)


@pytest.mark.parametrize(
    ("plant", "cause"),
    [
        (cut, "corrupt_or_truncated_file"),
        (lost, "cudnn_sublibrary_missing"),
        (exchanged, "mixed_cudnn_sublibraries"),
        (of_a_later_release, "corrupt_or_truncated_file"),
    ],
)
def test_the_whole_set_is_put_into_its_folder_and_taken_back(
    plant: Callable[[Path], None], cause: str, machine: Path, source: Path, shop: RepairContext
) -> None:
    folder = machine / "opt/cudnn"
    plant(folder)
    before = tree(folder)
    proposal = repair.propose(proposed(seen(folder), source, shop, cause), shop)
    assert proposal.problems == ()
    (change,) = proposal.plan.changes
    assert isinstance(change, FileSet)
    assert change.folders == ()
    assert {Path(i.path).parent for i in change.items} == {folder}
    assert 0 < len(change.items) < len(list(source.iterdir())), "files that are right are not touched"
    done = execute(proposal.plan, writer=shop.writer, journal=shop.journal, verify=lambda: "")
    assert done.kind == "done"
    assert (folder / "notes.txt").read_text() == "mine"
    whole = {p.name: p.read_bytes() for p in source.iterdir()}
    assert {p.name: p.read_bytes() for p in folder.iterdir() if p.name != "notes.txt"} == whole
    assert undo(done.entry, writer=shop.writer, journal=shop.journal).kind == "undone"
    assert tree(folder) == before


def test_another_release_or_a_package_is_left_alone(machine: Path, source: Path, shop: RepairContext) -> None:
    folder = machine / "opt/cudnn"
    cut(folder)
    copy = seen(folder)
    for other in (
        replace(copy, owner="libcudnn9 9.1.0"),
        replace(copy, origin="wheel"),
        replace(copy, major=8),
        replace(copy, cuda_major=13),
        replace(copy, files=tuple(replace(f, version="9.2.0") for f in copy.files)),
        replace(copy, files=tuple(replace(f, architecture="aarch64") for f in copy.files)),
    ):
        fix = proposed(other, source, shop, "corrupt_or_truncated_file").fix
        assert fix is not None
        first = fix.changes[0]
        assert isinstance(first, FileSet)
        assert first.folders, "it gets a folder of its own"
    fix = proposed(copy, source, shop, "cudnn_shadowed").fix
    assert fix is not None
    assert fix.changes[0].folders
