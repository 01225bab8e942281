"""WindowsWriter against the real registry: kinds, exact bytes, refusals, the message, who holds a file, old variables."""

from __future__ import annotations

import os
import subprocess
import sys
import winreg
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.host.windows.host import WindowsHost
from core.host.windows.processes import loaded_modules, program_name, programs_with_old_value, variables_of
from core.model.changes import ChangeError, FileItem, FileSet, SetVariable, Value
from core.transaction.windows_variable_store import WindowsVariables

assert sys.platform == "win32"

KEY = r"Software\ConvalesceWriterTest"


@pytest.fixture
def writer() -> Iterator[WindowsVariables]:
    """A writer to a key of its own, taken away afterwards."""
    winreg.CreateKeyEx(winreg.HKEY_CURRENT_USER, KEY).Close()
    yield WindowsVariables(user_key=KEY)
    winreg.DeleteKey(winreg.HKEY_CURRENT_USER, KEY)


def values() -> dict[str, tuple[object, int]]:
    with winreg.OpenKey(winreg.HKEY_CURRENT_USER, KEY) as key:
        rows = (winreg.EnumValue(key, i) for i in range(winreg.QueryInfoKey(key)[1]))
        return {name: (data, kind) for name, data, kind in rows}


def put(name: str, data: object, kind: int) -> None:
    with winreg.OpenKey(winreg.HKEY_CURRENT_USER, KEY, 0, winreg.KEY_SET_VALUE) as key:
        winreg.SetValueEx(key, name, 0, kind, data)


@pytest.mark.parametrize("text", ["C:\\a;%USERPROFILE%\\b;", "", ';;C:\\Zoë 猫;"C:\\q;r"', "x" * 32_000])
@pytest.mark.parametrize("kind", ["REG_SZ", "REG_EXPAND_SZ"])
def test_text_and_kind_come_back_as_they_were(writer: WindowsVariables, text: str, kind: str) -> None:
    writer.write("Path", "user", "", Value(text=text, kind=kind))
    assert writer.read("PATH", "user", "") == Value(text=text, kind=kind)
    assert values() == {"Path": (text, getattr(winreg, kind))}
    writer.write("path", "user", "", Value(text=text + "z", kind=kind))
    assert list(values()) == ["Path"], "the spelling of the name stays"
    writer.write("PATH", "user", "", None)
    writer.write("PATH", "user", "", None)
    assert values() == {}
    assert writer.read("PATH", "user", "") is None


def test_a_value_without_a_kind_keeps_the_one_that_is_there(writer: WindowsVariables) -> None:
    put("A", "old", winreg.REG_EXPAND_SZ)
    for name, text in (("A", "plain"), ("B", "C:\\x"), ("C", "%A%\\x")):
        writer.write(name, "user", "", Value(text=text))
    assert {n: k for n, (_, k) in values().items()} == {
        "A": winreg.REG_EXPAND_SZ,
        "B": winreg.REG_SZ,
        "C": winreg.REG_EXPAND_SZ,
    }


@pytest.mark.parametrize(("data", "kind"), [(["a", "b"], winreg.REG_MULTI_SZ), (7, winreg.REG_DWORD), (b"\0\1", 3)])
def test_a_value_of_another_kind_is_not_touched(writer: WindowsVariables, data: object, kind: int) -> None:
    put("PATH", data, kind)
    with pytest.raises(ChangeError, match=f"kind {kind}"):
        writer.read("PATH", "user", "")
    assert f"kind {kind}" in writer.write_obstacle("PATH", "user", "")
    assert values() == {"PATH": (data, kind)}


def test_what_can_not_be_kept_is_refused(writer: WindowsVariables) -> None:
    with pytest.raises(ChangeError, match="NUL"):
        writer.write("A", "user", "", Value(text="a\0b"))
    with pytest.raises(ChangeError, match="activation"):
        writer.write("A", "environment", "", Value(text="a"))
    with pytest.raises(ChangeError, match="in the registry"):
        writer.write("A", "user", "C:\\file", Value(text="a"))
    with pytest.raises(ChangeError, match="cannot be kept as activation"):
        writer.write("A", "user", "", Value(text="a", kind="activation"))
    assert values() == {}


def test_a_program_that_starts_now_gets_what_was_written() -> None:
    writer, name = WindowsVariables(), "CUDA_PATH_CONVALESCE_TEST"
    writer.write(name, "user", "", Value(text="%SystemRoot%\\x", kind="REG_EXPAND_SZ"))
    try:
        fresh = WindowsHost().fresh_environment()
        assert fresh[name].lower() == f"{os.environ['SYSTEMROOT']}\\x".lower()
        writer.announce_change()
    finally:
        writer.write(name, "user", "", None)
    assert name not in WindowsHost().fresh_environment()


def test_elevation_follows_scope_folder_and_rights(
    writer: WindowsVariables, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mine, everybodys = (SetVariable(name="CUDA_PATH", scope=scope) for scope in ("user", "machine"))
    own = FileSet(title="", items=(FileItem(path=str(tmp_path / "new" / "cudnn64_9.dll"), after="0" * 64),))
    monkeypatch.setattr("core.transaction.windows_variable_store.is_elevated", lambda: True)
    assert not any(map(writer.needs_elevation, (mine, everybodys, own)))
    monkeypatch.setattr("core.transaction.windows_variable_store.is_elevated", lambda: False)
    assert [writer.needs_elevation(c) for c in (mine, everybodys, own)] == [False, True, False]
    monkeypatch.setattr("core.transaction.windows_variable_store.may_change", lambda _folder: False)
    assert writer.needs_elevation(own)


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another program, with a variable of its own and a DLL of its own loaded."""
    dll = Path(sys.base_prefix) / "DLLs" / "libffi-8.dll"
    copy = tmp_path / "cudnn64_9.dll"
    copy.write_bytes(dll.read_bytes() if dll.exists() else next(dll.parent.glob("libffi*.dll")).read_bytes())
    code = "import ctypes, sys; ctypes.WinDLL(sys.argv[1], winmode=8); print('ready', flush=True); sys.stdin.read()"
    env = {**os.environ, "PATH": "C:\\old;C:\\Zoë"}
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code, str(copy)], stdin=pipe, stdout=pipe, env=env) as process:
        assert process.stdout
        assert process.stdin
        assert process.stdout.readline().strip() == b"ready"
        yield process
        process.stdin.close()


def test_who_holds_a_file_is_told_by_name(sleeper: subprocess.Popen[bytes], tmp_path: Path) -> None:
    name = program_name(sleeper.pid)
    assert name.lower() == "python.exe"
    path = str(tmp_path / "cudnn64_9.dll")
    assert path.lower() in (m.lower() for m in loaded_modules(sleeper.pid))
    assert WindowsVariables().programs_using([path.upper()]) == (f"{name} ({sleeper.pid})",)
    assert WindowsVariables().programs_using([str(tmp_path / "cudnn64_8.dll")]) == ()
    assert WindowsVariables().programs_using([]) == ()


def test_which_programs_still_have_the_old_path(sleeper: subprocess.Popen[bytes]) -> None:
    assert variables_of(sleeper.pid)["PATH"] == "C:\\old;C:\\Zoë"
    its = f"{program_name(sleeper.pid)} ({sleeper.pid})"
    assert its in programs_with_old_value("Path", "C:\\new")
    assert its not in programs_with_old_value("Path", "c:\\OLD\\")
