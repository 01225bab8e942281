"""Which entries of a loader's variable can change what is found."""

from __future__ import annotations

from pathlib import Path

from core.probes.loading.effective_entries import asked_entries, effective_entries
from core.probes.sysroot import Sysroot


def test_a_folder_without_a_library_changes_nothing(tmp_path: Path) -> None:
    for name in ("empty", "texts", "own", "newer/glibc-hwcaps"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "texts/readme").touch()
    (tmp_path / "own/libx.so.1").touch()
    where = Sysroot(system="linux")
    value = f"{tmp_path}/gone:{tmp_path}/empty:{tmp_path}/texts:{tmp_path}/own::{tmp_path}/newer:$ORIGIN/lib"
    kept = (f"{tmp_path}/own", "", f"{tmp_path}/newer", "$ORIGIN/lib")
    assert effective_entries("LD_LIBRARY_PATH", value, where) == kept
    assert effective_entries("LD_LIBRARY_PATH", "", where) == ()


def test_a_file_that_is_gone_is_not_preloaded(tmp_path: Path) -> None:
    where = Sysroot(system="linux")
    (tmp_path / "libx.so").touch()
    assert effective_entries("LD_PRELOAD", f"{tmp_path}/gone.so {tmp_path}/libx.so:liby.so", where) == (
        f"{tmp_path}/libx.so",
        "liby.so",
    )


def test_only_a_folder_with_something_that_is_asked_for_leads_to_other_files(tmp_path: Path) -> None:
    files = ("asked/libx.so.1", "other/liby.so.1", "cudnn/libcudnn.so.9", "python/libpython3.11.so.1.0")
    for name in (*files, "newer/glibc-hwcaps/x86-64-v3/liby.so.1"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    entries = (*(f"{tmp_path}/{name}" for name in ("asked", "other", "cudnn", "python", "newer", "gone")), "", "lib")
    left = asked_entries(entries, {"libx.so.1"}, Sysroot(system="linux"))
    assert left == (*(f"{tmp_path}/{name}" for name in ("asked", "cudnn", "python", "newer", "gone")), "", "lib")
