"""Access lists that Windows keeps: what is read of each agrees with what Windows writes of it as text (SDDL)."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from ctypes import wintypes
from pathlib import Path

import pytest

from core.host import ownership, provenance
from core.host.windows import ownership as windows_ownership

assert sys.platform == "win32"

CHMOD = Path("Z:/bin/chmod")
SHORT = {
    "SY": "S-1-5-18",
    "BA": "S-1-5-32-544",
    "BU": "S-1-5-32-545",
    "WD": "S-1-1-0",
    "AU": "S-1-5-11",
    "IU": "S-1-5-4",
}
RIGHTS = {
    "FA": 0x1F01FF,
    "GA": 0x10000000,
    "GW": 0x40000000,
    "FW": 0x120116,
    "FR": 0x120089,
    "FX": 0x1200A0,
    "GR": 0x80000000,
}
LISTS = {
    "the history's": windows_ownership.MACHINE_HISTORY,
    "its backups'": windows_ownership.MACHINE_BACKUPS,
    "everybody may write": "D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;WD)",
    "everybody may read": "D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;WD)",
    "authenticated users may change": "D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1301bf;;;AU)",
    "authenticated users may make folders": "D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;;0x100004;;;AU)",
    "users may write": "D:P(A;OICI;FA;;;BA)(A;OICI;0x1301bf;;;BU)",
    "interactive users may write": "D:P(A;OICI;FA;;;BA)(A;OICI;GW;;;IU)",
    "only what is made below": "D:P(A;OICI;FA;;;BA)(A;OICIIO;FA;;;WD)",
    "denied before": "D:P(D;;FA;;;WD)(A;OICI;FA;;;BA)",
}


def written(path: Path) -> str:
    """Return a folder's access list as Windows writes it."""
    advapi = ctypes.WinDLL("advapi32")
    whole, text = ctypes.c_void_p(), wintypes.LPWSTR()
    advapi.GetNamedSecurityInfoW.argtypes = (wintypes.LPCWSTR, ctypes.c_int, wintypes.DWORD, *[ctypes.c_void_p] * 5)
    assert advapi.GetNamedSecurityInfoW(str(path), 1, 0x5, None, None, None, None, ctypes.byref(whole)) == 0
    convert = advapi.ConvertSecurityDescriptorToStringSecurityDescriptorW
    convert.argtypes = (ctypes.c_void_p, wintypes.DWORD, wintypes.DWORD, ctypes.c_void_p, ctypes.c_void_p)
    assert convert(whole, 1, 0x5, ctypes.byref(text), None)
    return str(text.value)


def mask(words: str) -> int:
    if words.startswith("0x"):
        return int(words, 16)
    return sum(RIGHTS.get(words[i : i + 2], 0) for i in range(0, len(words), 2))


def writers_in(sddl: str, owner: str) -> set[str]:
    """Return who may write by an access list as text, the owner apart."""
    rows = re.findall(r"\(A;([^;]*);([^;]*);;;([^)]+)\)", sddl)
    able = {SHORT.get(who, who) for flags, words, who in rows if "IO" not in flags and mask(words) & 0x500D0006}
    return able - {owner, "S-1-3-0", "CO", "OW"}


@pytest.mark.parametrize("name", LISTS)
def test_who_may_write_is_what_windows_says(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "folder"
    windows_ownership.make_protected(str(folder), LISTS[name])
    owner, writers, _movers = windows_ownership.owner_and_rights(str(folder), folder=True)
    said = written(folder)
    assert set(writers) == writers_in(said, owner), said
    loose = ownership.first_loose(str(folder), frozenset({owner, windows_ownership.own_account()}))
    assert (loose == str(folder)) is bool(set(writers) - ownership.ADMINISTRATORS), said
    if name in ("the history's", "its backups'", "everybody may read"):
        assert windows_ownership.EVERYONE_SID not in writers, said


def test_the_files_of_a_sound_folder_cost_one_question_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "packages"
    windows_ownership.make_protected(str(folder), LISTS["everybody may read"])
    (folder / "torch").mkdir()
    files = [folder / "torch" / f"{n}.py" for n in range(30)]
    for file in files:
        file.write_text("x = 1\n")
    above = {who for part in ownership.who_can_write(str(folder)) for who in (part.owner, *part.movers, *part.writers)}
    me = provenance.Person(trusted=ownership.ADMINISTRATORS | above | {windows_ownership.own_account()}, elevated=True)
    real, asked = ownership._part, []
    monkeypatch.setattr(ownership, "_part", lambda path: asked.append(path) or real(path))
    paths = dict.fromkeys((str(folder), str(folder / "torch"), *map(str, files)), True)
    assert provenance.may_run(paths, me).may
    assert len(asked) < 2 * len(paths) + 40
    others = provenance.Person(trusted=me.trusted - above, elevated=True)
    assert provenance.may_run(paths, others).may is not bool(above - others.trusted)


def until(condition: Callable[[], bool]) -> None:
    """Return when the condition holds."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


@pytest.mark.skipif(not CHMOD.exists(), reason="only wine has modes, of which it makes access lists")
def test_a_folder_that_everybody_may_write_is_said_to_be_theirs() -> None:
    with tempfile.TemporaryDirectory(dir="Z:\\tmp") as place:
        mine = frozenset({windows_ownership.own_account()})
        path = place.removeprefix("Z:").replace("\\", "/")
        for mode, able in (("0700", False), ("0755", False), ("0777", True)):
            done = Path(place, mode)
            told = f"/bin/chmod {mode} {path}; : > {path}/{mode}"
            subprocess.run(["cmd", "/c", "start", "/wait", "/unix", "/bin/sh", "-c", told], check=True)
            until(done.exists)  # "start /wait" does not wait for a program that is not of Windows
            _owner, writers, _movers = windows_ownership.owner_and_rights(place, folder=True)
            assert (windows_ownership.EVERYONE_SID in writers) is able, written(Path(place))
            assert set(writers) == writers_in(written(Path(place)), _owner)
        assert ownership.loose_part(ownership.who_can_write(place)[-1:], ownership.ADMINISTRATORS | mine) == place
