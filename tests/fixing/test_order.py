"""The order of syncs for a loss of power, and the whole engine on Linux' own files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from core.host import safe_folder
from core.model.changes import ChangeError, SetVariable, Value
from core.transaction.execute import Plan, execute, undo
from core.transaction.journal import Journal
from core.transaction.variable_store import LinuxVariables
from tests.fixing.conftest import files, memory

# --- order for a loss of power -----------------------------------------------------------------------------------


def test_every_step_is_synced_before_the_next_relies_on_it(
    machine: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No name is given to bytes that are not on disk, and the intent is on disk before a user's file changes."""
    log: list[tuple[str, str]] = []
    real_sync, real_replace = os.fsync, os.replace

    def where(fd: int | None, name: str = "") -> str:
        base = "" if fd is None else Path(f"/proc/self/fd/{fd}").readlink()
        return str(Path(base) / name)

    def sync(fd: int) -> None:
        log.append(("sync", where(fd)))
        real_sync(fd)

    def replace(a: str, b: str, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
        log.append(("rename", where(src_dir_fd, a) + "\n" + where(dst_dir_fd, b)))
        real_replace(a, b, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", replace)
    assert execute(Plan(title="t", changes=(files(machine),)), writer=memory(), journal=journal).kind == "done"
    entries = str(Path(journal.folder) / "entries")
    renames = [i for i, (verb, _) in enumerate(log) if verb == "rename"]
    for i in renames:
        source, target = log[i][1].split("\n")
        if not Path(target).is_symlink():
            assert ("sync", source) in log[:i] or Path(target).parent.name == "kept", source
        assert ("sync", str(Path(target).parent)) in log[i:], target
    on_machine = [i for i in renames if str(machine) in log[i][1].split("\n")[1]]
    intent_is_on_disk = log.index(("sync", entries))
    assert intent_is_on_disk < on_machine[0]
    done = max(i for i in renames if entries in log[i][1])
    for i in on_machine:
        assert ("sync", str(Path(log[i][1].split("\n")[1]).parent)) in log[i:done]
    kept = [i for i in renames if "/kept/" in log[i][1].split("\n")[1]]
    assert kept
    assert all(("sync", str(Path(journal.folder) / "kept")) in log[i : on_machine[0]] for i in kept)


# --- Linux files -------------------------------------------------------------------------------------------------


def test_the_whole_engine_works_on_the_files_of_linux(tmp_path: Path, journal: Journal) -> None:
    root = Path(os.path.realpath(tmp_path)) / "root"
    (root / "etc").mkdir(parents=True)
    original = "# keep\nLANG=C\nexport CUDA_VISIBLE_DEVICES='-1'  \nA=1"
    (root / "etc/environment").write_text(original)
    writer = LinuxVariables(str(root), str(root / "home/me"))
    hide = SetVariable(name="CUDA_VISIBLE_DEVICES", scope="machine", before=Value(text="-1"), after=None)
    own = SetVariable(name="CUDA_HOME", scope="user", after=Value(text="/usr/local/cuda 12"))
    done = execute(Plan(title="t", changes=(hide, own)), writer=writer, journal=journal)
    assert done.kind == "done", done
    assert (root / "etc/environment").read_text() == "# keep\nLANG=C\nA=1"
    conf = root / "home/me/.config/environment.d/90-convalesce.conf"
    assert conf.read_text().splitlines()[1:] == ['CUDA_HOME="/usr/local/cuda 12"']
    assert undo(done.entry, writer=writer, journal=journal).kind == "undone"
    assert (root / "etc/environment").read_text() == original
    assert not conf.exists()


@pytest.mark.parametrize("at", ["{}/.bashrc", "{}/.profile", "/etc/passwd", "{}/.config/environment.d/../x.conf"])
def test_shell_scripts_and_other_files_are_never_edited(tmp_path: Path, journal: Journal, at: str) -> None:
    (tmp_path / ".bashrc").write_text("export A=1\n")
    writer = LinuxVariables("/", str(tmp_path))
    change = SetVariable(name="A", scope="user", at=at.format(tmp_path), before=Value(text="1"), after=None)
    outcome = execute(Plan(title="t", changes=(change,)), writer=writer, journal=journal)
    assert outcome.kind == "refused"
    assert (tmp_path / ".bashrc").read_text() == "export A=1\n"


def test_a_folder_that_is_a_fifo_or_missing_is_a_sentence(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(ChangeError), safe_folder.open_folder(str(tmp_path / "fifo")):
        pass
    with pytest.raises(FileNotFoundError), safe_folder.open_folder(str(tmp_path / "none")):
        pass
