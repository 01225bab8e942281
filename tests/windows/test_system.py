"""What Windows knows of itself: registered Pythons, installed programs, signatures, long and foreign paths."""

from __future__ import annotations

import os
import re
import sys
import winreg
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from core.common.i18n import available_languages, nearest_language
from core.host.policy import POLICY_KEY, Policy, change_obstacle, this_policy
from core.host.this_host import app_alias_target
from core.host.windows import names
from core.host.windows.elevation import run_elevated
from core.host.windows.host import WindowsHost
from core.host.windows.processes import loaded_modules, running_processes
from core.host.windows.system import (
    APP_PATHS_KEY,
    commit_memory,
    enabled_instructions,
    file_signature,
    listed_programs,
    long_paths_enabled,
    registered_pythons,
    windows_display_language,
)
from core.loader import read_image
from core.model.facts import Machine, Program, Snapshot
from core.probes.known_names import with_known_names
from core.probes.sysroot import Sysroot

assert sys.platform == "win32"

PYTHONS = r"SOFTWARE\Python\ConvalesceTest"
PROGRAM = r"SOFTWARE\Microsoft\Windows\CurrentVersion\Uninstall\{convalesce-test}"


@pytest.fixture
def key() -> Iterator[None]:
    """Keys that a test makes under HKCU, taken away afterwards."""
    yield
    ours = (rf"{APP_PATHS_KEY}\python3.exe", rf"{APP_PATHS_KEY}\convalesce-test.exe")
    for path in (*ours, rf"{PYTHONS}\3.11\InstallPath", rf"{PYTHONS}\3.11", PYTHONS, PROGRAM):
        with suppress(OSError):
            winreg.DeleteKey(winreg.HKEY_CURRENT_USER, path)
    with suppress(OSError):
        winreg.DeleteKey(winreg.HKEY_LOCAL_MACHINE, rf"{APP_PATHS_KEY}\convalesce-test.exe")


def put(path: str, root: int = winreg.HKEY_CURRENT_USER, **values: str) -> None:
    with winreg.CreateKeyEx(root, path) as opened:
        for name, value in values.items():
            winreg.SetValueEx(opened, "" if name == "default" else name, 0, winreg.REG_SZ, value)


@pytest.mark.usefixtures("key")
def test_registered_pythons_are_found_whoever_installed_them() -> None:
    before = registered_pythons()
    put(rf"{PYTHONS}\3.11\InstallPath", default="C:\\Zoë\\Python311\\")
    assert set(registered_pythons()) - set(before) == {"C:\\Zoë\\Python311"}


@pytest.mark.usefixtures("key")
def test_a_python_that_a_shell_starts_by_its_name_is_found() -> None:
    before = registered_pythons()
    put(rf"{APP_PATHS_KEY}\python3.exe", default='"C:\\Zoë\\Python312\\python3.exe"')
    assert set(registered_pythons()) - set(before) == {"C:\\Zoë\\Python312"}
    put(rf"{APP_PATHS_KEY}\python3.exe", default="python3.exe")
    assert registered_pythons() == before


@pytest.mark.usefixtures("key")
def test_app_paths_add_to_the_path_of_what_a_shell_starts_and_of_nothing_else(tmp_path: Path) -> None:
    """Microsoft: ShellExecuteEx adds the key's Path to PATH (wine: at its end). Explorer's own programs do not get it."""
    # wine 8 knows App Paths of the machine alone, Windows also those of the user
    root = winreg.HKEY_LOCAL_MACHINE if "WINEPREFIX" in os.environ else winreg.HKEY_CURRENT_USER
    put(rf"{APP_PATHS_KEY}\convalesce-test.exe", root, default=sys.executable, Path="C:\\of the key")
    out = tmp_path / "path.txt"
    code = "import os, pathlib, sys; pathlib.Path(sys.argv[1]).write_text(os.environ['PATH'], encoding='utf-8')"
    assert run_elevated(["convalesce-test.exe", "-c", code, str(out)], timeout=60).status == 0
    entries = out.read_text(encoding="utf-8").split(";")
    assert "C:\\of the key" in (entries[0], entries[-1]), entries
    fresh = {name.upper(): value for name, value in WindowsHost().fresh_environment().items()}
    assert "C:\\of the key" not in fresh["PATH"]


@pytest.mark.usefixtures("key")
def test_windows_tells_the_language_of_its_own_texts() -> None:
    name = windows_display_language()
    assert re.fullmatch(r"[a-z]{2,3}(-[A-Za-z0-9]+)*", name)
    assert nearest_language(name) in available_languages()


def test_installed_programs_are_found_by_name_or_publisher() -> None:
    put(PROGRAM, DisplayName="CUDNN 9.28", DisplayVersion="9.28", Publisher="NVIDIA Corporation")
    assert Program(name="CUDNN 9.28", version="9.28", publisher="NVIDIA Corporation") in listed_programs()
    assert WindowsHost().machine().programs == listed_programs()
    put(PROGRAM, DisplayName="Something else", DisplayVersion="1", Publisher="Somebody")
    assert all(p.name != "Something else" for p in listed_programs())
    runtime = "Microsoft Visual C++ 2015-2022 Redistributable (x64) - 14.38.33135"
    put(PROGRAM, DisplayName=runtime, Publisher="Microsoft Corporation")
    assert runtime in [p.name for p in listed_programs()]


def test_the_processors_instruction_sets_are_told_or_not_at_all() -> None:
    found = enabled_instructions()
    assert found is None or set(found) <= {"sse4_1", "sse4_2", "avx", "avx2"}
    assert found is None or "sse4_1" in found  # every processor that this runs on
    assert WindowsHost().machine().instructions == found


def test_what_windows_can_promise() -> None:
    limit, left = commit_memory()
    assert limit is not None
    assert left is not None
    assert 0 < left <= limit


def test_an_unsigned_file_is_called_so(tmp_path: Path) -> None:
    plain = tmp_path / "cudnn64_9.dll"
    plain.write_bytes(b"MZ" + bytes(200))
    assert file_signature(str(plain)) in ("not signed", "undecided")


def test_a_signed_file_is_valid_and_an_altered_one_is_told(tmp_path: Path) -> None:
    signed = Path(sys.base_prefix) / f"python{sys.version_info.major}{sys.version_info.minor}.dll"
    assert file_signature(str(signed)) == "valid"
    altered = tmp_path / signed.name
    data = bytearray(signed.read_bytes())
    data[0x2000] ^= 0xFF
    altered.write_bytes(data)
    assert file_signature(str(altered)) == "altered"


def test_long_and_foreign_paths_can_be_read(tmp_path: Path) -> None:
    folder = Path("\\\\?\\" + str(tmp_path))
    for _ in range(12):
        folder = folder / "a folder with a long name 猫 Zoë"
        folder.mkdir()
    file = folder / "cudnn64_9.dll"
    file.write_bytes(b"MZ")
    assert len(str(file)) > 300
    assert read_image.read_image(str(file)).size == 2
    plain = str(file).removeprefix("\\\\?\\")
    assert read_image.read_image(plain).size == 2, "found whatever the machine's setting is"
    assert Sysroot("windows").names(str(Path(plain).parent)) == ("cudnn64_9.dll",)
    assert WindowsHost().machine().long_paths is long_paths_enabled()


def test_owners_and_mapped_drives_are_known_by_name(tmp_path: Path) -> None:
    (tmp_path / "env").mkdir()
    assert [n.lower() for n in names.folder_owners([str(tmp_path), str(tmp_path / "env"), "C:\\nowhere"])] == [
        os.environ["USERNAME"].lower()
    ]
    with winreg.CreateKey(winreg.HKEY_CURRENT_USER, "Network\\Q") as drive:
        winreg.SetValueEx(drive, "RemotePath", 0, winreg.REG_SZ, r"\\nas7\teams")
    try:
        assert r"\\nas7\teams" in tuple(names.mapped_shares())
        seen = Snapshot(machine=Machine(system="windows", user="another"), taken=str(tmp_path / "env" / "x.dll"))
        known = with_known_names(seen, Path("C:\\"), {}).machine
        assert known.servers == ("nas7",)
        assert [n.lower() for n in known.people] == [os.environ["USERNAME"].lower()]
    finally:
        winreg.DeleteKey(winreg.HKEY_CURRENT_USER, "Network\\Q")
        winreg.DeleteKey(winreg.HKEY_CURRENT_USER, "Network")


def test_an_answer_that_does_not_fit_is_asked_for_again() -> None:
    own = os.getpid()
    modules = loaded_modules(own)
    assert len(modules) > 5
    assert set(loaded_modules(own, room=1)) == set(modules)
    assert own in running_processes(room=1)


def test_an_administrators_policy_is_read_from_the_registry() -> None:
    assert this_policy() == Policy()
    try:
        with winreg.CreateKeyEx(
            winreg.HKEY_LOCAL_MACHINE, POLICY_KEY, 0, winreg.KEY_WRITE | winreg.KEY_WOW64_64KEY
        ) as key:
            winreg.SetValueEx(key, "ScanOnly", 0, winreg.REG_DWORD, 1)
            winreg.SetValueEx(key, "NoElevation", 0, winreg.REG_SZ, "1")
            winreg.SetValueEx(key, "ReportShare", 0, winreg.REG_SZ, r"\\files\reports")
            winreg.SetValueEx(key, "Language", 0, winreg.REG_SZ, "de")
        assert this_policy() == Policy(scan_only=True, report_share=r"\\files\reports", language="de")
        assert "ScanOnly" in change_obstacle(this_policy(), elevated=False)
    finally:
        winreg.DeleteKey(winreg.HKEY_LOCAL_MACHINE, POLICY_KEY)


def test_a_file_that_is_no_alias_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "python.exe").write_bytes(b"")
    assert app_alias_target(str(tmp_path / "python.exe")) == ""
    assert app_alias_target(str(tmp_path)) == ""
    assert app_alias_target(str(tmp_path / "missing")) == ""


def test_a_share_of_any_length_is_named_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    share = "\\\\server\\" + "x" * 3000

    class Network:
        def WNetGetConnectionW(self, _drive: str, buffer: Any, size: Any) -> int:
            room, size._obj.value = size._obj.value, len(share) + 1
            if room <= len(share):
                return 234
            buffer.value = share
            return 0

    monkeypatch.setattr(names.ctypes, "WinDLL", lambda name, **_k: Network() if name == "mpr" else OneShare())
    assert share in set(names.mapped_shares())


class OneShare:
    """A kernel32 with one mapped drive."""

    def GetDriveTypeW(self, drive: str) -> int:
        return names.REMOTE if drive == "X:\\" else 3
