r"""The folder in which a shortcut starts a program comes before PATH: read on a made-up Windows."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from core.probes.programs import probe
from core.probes.programs.shortcuts import starting_folders
from core.probes.sysroot import Sysroot
from tests.loader import build
from tests.probes.request import request, write
from tests.windows.shortcut import shortcut

PROGRAM = r"C:\app\light.exe"
MODELS = r"C:\models"
ENV = {"SystemRoot": r"C:\Windows", "USERPROFILE": r"C:\Users\ada", "Path": r"C:\cuda\bin"}
DLL = "cublasLt64_12.dll"


def put(root: Path, path: str, data: bytes) -> None:
    write(root, path.replace("\\", "/"), data)


def winner(root: Path) -> tuple[str, str]:
    (program,) = probe.look(replace(request(root, ENV, system="windows"), programs=(PROGRAM,))) or ()
    row = next(r for r in program.resolutions if r.name == DLL)
    return (row.winner.path, row.winner.outcome) if row.winner else ("", "")


@pytest.mark.parametrize(
    ("folder", "data", "expected"),
    [
        (MODELS, b"MZ" + bytes(300), (rf"{MODELS}\{DLL}", "damaged")),
        (MODELS, build.pe(), (rf"C:\cuda\bin\{DLL}", "found")),
        (r"C:\app", b"MZ" + bytes(300), (rf"C:\cuda\bin\{DLL}", "found")),
        ("", b"MZ" + bytes(300), (rf"C:\cuda\bin\{DLL}", "found")),
    ],
    ids=["damaged there", "whole there", "the program's own", "no shortcut"],
)
def test_a_shortcut_s_folder_is_searched_where_it_gives_an_unfit_dll(
    tmp_path: Path, folder: str, data: bytes, expected: tuple[str, str]
) -> None:
    put(tmp_path, PROGRAM, build.pe([DLL]))
    put(tmp_path, rf"C:\cuda\bin\{DLL}", build.pe())
    put(tmp_path, rf"{MODELS}\{DLL}", data)
    if folder:
        put(tmp_path, r"C:\Users\ada\Desktop\Light.lnk", shortcut(PROGRAM.upper(), "", folder))
    assert winner(tmp_path) == expected


def test_shortcuts_of_other_programs_and_of_its_own_folder_name_none(tmp_path: Path) -> None:
    put(tmp_path, r"C:\Users\ada\Desktop\Other.lnk", shortcut(r"C:\app\other.exe", "", MODELS))
    put(tmp_path, r"C:\Users\ada\Desktop\Own.lnk", shortcut(PROGRAM, "", r"c:\APP\\"))
    put(tmp_path, r"C:\Users\ada\Desktop\Odd.lnk", b"\x4c\0\0\0")
    where = Sysroot(system="windows", root=str(tmp_path))
    assert starting_folders(PROGRAM, ENV, where.names, where.read) == ()
