"""The parts of the Windows build that need no Windows."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pefile
import pytest

from core.common import frozen
from gui.window.app import stored_settings
from installer.windows import build, msi, nsis

WITHOUT = ("fcntl", "grp", "pty", "pwd", "resource", "termios")
"""Modules of the standard library that are not on Windows."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.exe", "_internal/z/2.dll", "_internal/a.dll", "a.txt", "_internal/z/10.dll"):
        file = tmp_path / "frozen" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    return tmp_path / "frozen"


def test_files_are_installed_folder_by_folder_in_an_order_of_their_own(folder: Path) -> None:
    install, remove = nsis.lists(folder)
    assert install.splitlines() == [
        'SetOutPath "$INSTDIR"',
        f'File "{folder / "a.txt"}"',
        f'File "{folder / "b.exe"}"',
        'SetOutPath "$INSTDIR\\_internal"',
        f'File "{folder / "_internal/a.dll"}"',
        'SetOutPath "$INSTDIR\\_internal\\z"',
        f'File "{folder / "_internal/z/10.dll"}"',
        f'File "{folder / "_internal/z/2.dll"}"',
    ]
    assert remove.splitlines() == ['Delete "$INSTDIR\\a.txt"', 'Delete "$INSTDIR\\b.exe"']


def test_the_zip_depends_on_nothing_but_names_and_contents(folder: Path, tmp_path: Path) -> None:
    build.pack(folder, tmp_path / "one.zip", 1_700_000_001)
    for number, file in enumerate(folder.rglob("*")):
        os.utime(file, (number, number))
    build.pack(folder, tmp_path / "two.zip", 1_700_000_001)
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        names = archive.namelist()
    assert names == [
        *("Convalesce/_internal/a.dll", "Convalesce/_internal/z/10.dll", "Convalesce/_internal/z/2.dll"),
        *("Convalesce/a.txt", "Convalesce/b.exe", f"Convalesce/{frozen.PORTABLE_MARKER}"),
    ]


def test_the_wheel_is_made_of_what_git_knows(tmp_path: Path) -> None:
    copied = build.sources(tmp_path)
    assert (copied / "core/__main__.py").exists()
    assert (copied / "installer/wheel.py").exists()
    assert {p.name for p in copied.iterdir()} == {
        *("core", "gui", "resources", "installer"),
        *("pyproject.toml", "README.md", "LICENSE"),
    }
    assert not list(copied.rglob("__pycache__"))


@pytest.mark.parametrize("mark", [True, False])
def test_a_portable_copy_keeps_its_settings_in_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: bool
) -> None:
    if mark:
        (tmp_path / frozen.PORTABLE_MARKER).touch()
    monkeypatch.setattr(sys, "executable", str(tmp_path / "convalesce-gui"))
    assert frozen.portable_folder() == ""  # run from source
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert frozen.portable_folder() == (str(tmp_path) if mark else "")
    assert (Path(stored_settings().fileName()) == tmp_path / "settings.ini") is mark


@pytest.fixture
def small(tmp_path: Path) -> tuple[Path, Path]:
    """A frozen folder and an icon, as small as makensis takes them."""
    frozen = tmp_path / "small"
    for name in ("convalesce.exe", "convalesce-gui.exe", "_internal/a.dll", "LICENSE.txt"):
        (frozen / name).parent.mkdir(parents=True, exist_ok=True)
        (frozen / name).write_bytes(b"MZ")
    icon = tmp_path / "convalesce.ico"
    pixels = struct.pack("<IiiHHIIiiII", 40, 16, 32, 1, 32, 0, 0, 0, 0, 0, 0) + bytes(16 * 16 * 4 + 16 * 4)
    icon.write_bytes(struct.pack("<HHHBBBBHHII", 0, 1, 1, 16, 16, 0, 0, 1, 32, len(pixels), 22) + pixels)
    picture = struct.pack("<IiiHHIIiiII", 40, 8, 8, 1, 24, 0, 0, 0, 0, 0, 0) + bytes(8 * 24)
    icon.with_suffix(".bmp").write_bytes(b"BM" + struct.pack("<IHHI", 14 + len(picture), 0, 0, 54) + picture)
    return frozen, icon


@pytest.mark.skipif(not shutil.which("makensis"), reason="makensis comes with the installers' build")
def test_setup_is_made_by_every_nsis(small: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NSIS as it is published has no stubs and no plug-ins of 64 bits: Debian's without them stands for it."""
    told = subprocess.run(["makensis", "-HDRINFO"], capture_output=True, text=True, check=True).stdout
    own = Path(told.rpartition("NSISDIR=")[2].partition(",")[0].strip())
    published = tmp_path / "nsis"
    shutil.copytree(own, published, ignore=shutil.ignore_patterns("*amd64*"))
    machines = set()
    for home in (own, published):
        monkeypatch.setenv("NSISDIR", str(home))
        setup = nsis.make_setup(*small, tmp_path / "Convalesce-Setup.exe", "1.2.3", fast=True)
        with pefile.PE(str(setup), fast_load=True) as image:
            machines.add((home == published, image.FILE_HEADER.Machine))
    assert (True, 0x14C) in machines, "32 bits, as every NSIS has them"
    assert len(machines) == 2


@pytest.mark.skipif(not shutil.which("wixl"), reason="wixl comes with the installers' build")
def test_one_folder_gives_one_msi(small: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    one, two = (msi.make_msi(*small, tmp_path / name, "1.2.3") for name in ("one.msi", "two.msi"))
    assert one.read_bytes() == two.read_bytes()
    (small[0] / "_internal/a.dll").write_bytes(b"MZ another")
    other = msi.make_msi(*small, tmp_path / "other.msi", "1.2.3")
    codes = [subprocess.check_output(["msiinfo", "suminfo", f], text=True).split("UUID): ")[1] for f in (one, other)]
    assert codes[0].split()[0] != codes[1].split()[0], "another content is another package"
    rows = subprocess.check_output(["msiinfo", "export", one, "LaunchCondition"], text=True)
    assert "NOT WIX_DOWNGRADE_DETECTED" in rows
    assert "NOT BESIDE" in rows
    lists = subprocess.check_output(["msiinfo", "export", one, "MsiLockPermissionsEx"], text=True)
    for name in ("MACHINE_HISTORY", "MACHINE_BACKUPS"):
        assert verified_list(name) in lists


def verified_list(name: str) -> str:
    """Return an access list of core/host/windows/ownership.py, which only Windows can import."""
    source = (Path(__file__).parents[2] / "core/host/windows/ownership.py").read_text()
    return str(re.findall(rf"^{name} = \"(.*)\"", source, re.MULTILINE)[0])


def test_the_trial_needs_nothing_that_windows_lacks() -> None:
    """Each module that Windows' Python does not have fails to import, as it does there."""
    program = f"""
import sys
class Lacking:
    def find_spec(self, name, path=None, target=None):
        if name in {WITHOUT!r}:
            raise ImportError(name)
for name in {WITHOUT!r}:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Lacking())
import tests.installer.windows, tests.installer.__main__, installer.windows.build
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_only_a_named_program_signs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "convalesce.exe"
    file.write_text("program")
    monkeypatch.delenv("CONVALESCE_SIGN", raising=False)
    build.sign(file)
    assert file.read_text() == "program"
    signer = tmp_path / "sign here.sh"
    signer.write_text('#!/bin/sh\nprintf " signed" >> "$1"\n')
    signer.chmod(0o755)
    if sys.platform != "win32":
        monkeypatch.setenv("CONVALESCE_SIGN", str(signer))
        build.sign(file)
        assert file.read_text() == "program signed"


def test_setup_makes_the_history_with_the_list_that_is_verified() -> None:
    root = Path(__file__).parents[2]
    script = (root / "installer/windows/history.nsh").read_text()
    for name, ours in (("HISTORY_LIST", "MACHINE_HISTORY"), ("BACKUPS_LIST", "MACHINE_BACKUPS")):
        (made,) = re.findall(rf'!define {name} "(.*)"', script)
        assert made == verified_list(ours)
    setup = (root / "installer/windows/setup.nsi").read_text()
    assert setup.index("!insertmacro MakeHistory") < setup.index("Section Uninstall") < setup.index("DropEmptyHistory")
