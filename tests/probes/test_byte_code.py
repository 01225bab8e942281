"""Byte code that Python takes, by its header and its end, against what real Pythons do with the same files."""

from __future__ import annotations

import importlib.util
import marshal
import os
import py_compile
import subprocess
import sys
from pathlib import Path

import pytest

from core.probes.python.installed.byte_code import _of_folder, ends_as_a_module, is_whole, magic_of
from core.probes.sysroot import Sysroot
from tests.probes.test_search_path import PYTHONS

HERE = Sysroot(system="linux")
VERSION = sys.version_info[:2]
TEXT = """'''What it is.'''
import os
NUMBERS = (1, 2 ** 70, 1.5, 1j, b'x', 'ü' * 300, "a" * 300, frozenset((1, 'b')), None, ..., True)
def outer(a, *, b=2):
    def inner():
        yield a, b
    return [x for x in inner() if x in {1, 2, 3}]
class Some:
    name = '<module>'
"""
CASES = {
    "whole": ((), False),
    "cut in the middle": (("cut", 0.6), True),
    "cut at the end": (("cut", 0.99), True),
    "cut in the header": (("cut", 0.001), False),
    "of another text, and not to be compared": (("flags", 1), False),
    "cut, and not to be compared": (("flags", 1, "cut", 0.6), True),
    "cut, and compared": (("flags", 3, "cut", 0.6), False),
    "cut, but the source is newer": (("cut", 0.6, "touch", 0), False),
    "cut, and of another Python": (("cut", 0.6, "magic", 0), False),
}


def folder_of(tmp_path: Path, *changes: object) -> Path:
    """Write a module with its byte code, and change what is asked for."""
    source = tmp_path / "m.py"
    source.write_text(TEXT)
    os.utime(source, (1_700_000_000, 1_700_000_000))
    made = Path(py_compile.compile(str(source)) or "")
    for what, value in zip(changes[::2], changes[1::2], strict=True):
        data = made.read_bytes()
        match what, value:
            case "cut", float(part):
                made.write_bytes(data[: max(8, int(len(data) * part))])
            case "flags", int(flags):
                made.write_bytes(data[:4] + flags.to_bytes(4, "little") + b"\0" * 8 + data[16:])
            case "touch", _:
                os.utime(source, (1_600_000_000, 1_600_000_000))
            case "magic", _:
                made.write_bytes(b"\0\0" + data[2:])
    return tmp_path


@pytest.mark.parametrize("case", CASES)
def test_what_is_told_ends_the_real_import(tmp_path: Path, case: str):
    changes, ends = CASES[case]
    folder = folder_of(tmp_path, *changes)
    found = [b.state for b in _of_folder(str(folder), VERSION, magic_of(VERSION), HERE)]
    assert found == (["cut"] if ends else ["other text"] if changes == ("flags", 1) else [])
    done = subprocess.run([sys.executable, "-B", "-c", "import m"], cwd=folder, capture_output=True, check=False)
    assert (done.returncode != 0) == ends, done.stderr


@pytest.mark.parametrize(
    ("data", "state"), [(b"", "cut"), (b"\x03\xf3\r\n" + b"\0" * 40, "other Python"), (None, ""), (b"cut", "cut")]
)
def test_byte_code_without_a_source(tmp_path: Path, data: bytes | None, state: str):
    source = tmp_path / "m.py"
    source.write_text(TEXT)
    made = tmp_path / "m.pyc"
    py_compile.compile(str(source), cfile=str(made))
    source.unlink()
    if data is not None:
        made.write_bytes(made.read_bytes()[:200] if data == b"cut" else data)
    found = [b.state for b in _of_folder(str(tmp_path), VERSION, magic_of(VERSION), HERE)]
    assert found == ([state] if state else [])
    done = subprocess.run([sys.executable, "-B", "-c", "import m"], cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode != 0) == bool(state), done.stderr


@pytest.mark.parametrize("base", PYTHONS)
def test_the_form_of_each_release_is_known(tmp_path: Path, base: str):
    """All of a Python's own byte code is whole; each cut of it is seen to be cut."""
    code = (
        "import sys, importlib.util, py_compile; print(*sys.version_info[:2], importlib.util.MAGIC_NUMBER.hex(), "
        "py_compile.compile(sys.argv[1], cfile=sys.argv[2]))"
    )
    source, made = tmp_path / "m.py", tmp_path / "m.pyc"
    source.write_text(TEXT)
    said = subprocess.run([base, "-c", code, source, made], capture_output=True, check=True, text=True).stdout.split()
    version = int(said[0]), int(said[1])
    if version == (3, 7):
        assert magic_of(version) == b""
        return
    assert magic_of(version).hex() == said[2]
    data = made.read_bytes()[16:]
    assert ends_as_a_module(data, version)
    assert is_whole(data, version)
    assert not any(ends_as_a_module(data[:n], version) or is_whole(data[:n], version) for n in range(len(data)))


def test_pythons_own_library_is_whole():
    """Every module of the standard library, as marshal itself writes it."""
    if not magic_of(VERSION):
        return
    for path in sorted(Path(os.__file__).parent.glob("*.py")):
        data = marshal.dumps(compile(path.read_bytes(), str(path), "exec", dont_inherit=True))
        assert ends_as_a_module(data, VERSION) or is_whole(data, VERSION), path
        assert is_whole(data, VERSION), path
        assert not is_whole(data[: len(data) // 2], VERSION), path
    assert magic_of(VERSION) == importlib.util.MAGIC_NUMBER
