"""A whole scan over hostile search paths and folders: an end in time, no traceback, and a report that can be read."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from core.model.findings import Report
from core.report.json_form import from_json

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes and devices in folders are a matter of Linux")


def pipes(folder: Path) -> bytes:
    for name in ("libcudnn.so.9", "libcudnn.so.8", "libcudart.so.12", "libcublas.so.12"):
        os.mkfifo(folder / name)
    return os.fsencode(folder)


def loops(folder: Path) -> bytes:
    (folder / "libcudnn.so.9").symlink_to("second")
    (folder / "second").symlink_to("libcudnn.so.9")
    (folder / "itself").symlink_to(folder / "itself")
    return os.fsencode(f"{folder}:{folder / 'itself'}")


def no_text(folder: Path) -> bytes:
    odd = os.fsencode(folder) + b"/\xff\xfe\x80 \n\x1b[31m"
    Path(os.fsdecode(odd)).mkdir()
    Path(os.fsdecode(odd + b"/libcudnn.so.9")).write_bytes(b"\x7fELF" + bytes(range(256)) * 20)
    return odd


def thousands_of_entries(folder: Path) -> bytes:
    return b":".join(b"%b/%05d" % (os.fsencode(folder), i) for i in range(32_000 // (len(str(folder)) + 7)))


def folders_for_files(folder: Path) -> bytes:
    for name in ("libcudnn.so.9", "libcudnn_ops.so.9", "libcuda.so.1"):
        (folder / name).mkdir()
    return os.fsencode(folder)


def rubbish(folder: Path) -> bytes:
    (folder / "libcudnn.so.9").write_text("<html><title>404 Not Found</title></html>")
    (folder / "libcudnn_ops.so.9").write_bytes(b"")
    (folder / "libcudnn_cnn.so.9").write_bytes(Path(sys.executable).resolve().read_bytes()[:5000])
    (folder / "cudnn_version.h").write_bytes(b"#define CUDNN_MAJOR 999999999999999999999999\n" * 1000)
    return b'"' + os.fsencode(folder) + b'"::.:%FOO%:' + os.fsencode(folder)


def scan(search_path: bytes) -> Report:
    env = {**os.environb, b"LD_LIBRARY_PATH": search_path, b"PATH": os.environb[b"PATH"] + b":" + search_path}
    done = subprocess.run(
        [sys.executable, "-m", "core.cli.main", "scan", "--json"],
        env={**env, b"PYTHONPATH": os.fsencode(ROOT)},
        cwd="/",
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode in (0, 1, 5), done.stderr
    assert b"Traceback" not in done.stderr
    return from_json(done.stdout)


@pytest.mark.parametrize(
    "plant", [pipes, loops, no_text, thousands_of_entries, folders_for_files, rubbish], ids=lambda p: p.__name__
)
def test_hostile_folders_end_in_a_report(plant: Callable[[Path], bytes], tmp_path: Path) -> None:
    report = scan(plant(tmp_path))
    assert not [e for e in report.snapshot.errors if e.kind == "crash"]


def test_nothing_is_run_from_a_folder_that_is_not_searched(tmp_path: Path) -> None:
    """A library that leaves a mark when it is loaded lies in the current folder, which no loader here searches."""
    mark = tmp_path / "mark"
    source = tmp_path / "mark.c"
    source.write_text(
        f'#include <stdio.h>\n__attribute__((constructor)) void f(void){{fclose(fopen("{mark}","w"));}}\n'
        "unsigned long cudnnGetVersion(void){return 90100;}\n"
    )
    library = tmp_path / "libcudnn.so.9"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    env.pop("LD_LIBRARY_PATH", None)
    command = [sys.executable, "-m", "core.cli.main", "scan", "--json"]
    subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, timeout=120, check=False)
    assert not mark.exists()
    searched = {**env, "LD_LIBRARY_PATH": str(tmp_path)}
    subprocess.run(command, cwd="/", env=searched, capture_output=True, timeout=120, check=False)
    assert mark.exists(), "the mark itself does not work"
