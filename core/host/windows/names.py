"""Windows names that must not leave the machine: owners of folders, and servers of mapped drives."""

from __future__ import annotations

import ctypes
import string
import sys
import winreg
from collections.abc import Iterable, Iterator
from contextlib import suppress
from ctypes import wintypes
from functools import partial

from core.common.patience import call_patiently
from core.host.windows.asking import whole_answer

assert sys.platform == "win32"  # tells mypy, too

MADE_HERE = "S-1-5-21-"
"""Prefix of the identifiers of accounts created by a machine or domain; the others are Windows' own."""
REMOTE = 4
"""DRIVE_REMOTE of fileapi.h."""
A_PERSON = 1
"""SidTypeUser of winnt.h."""
USUAL_SHARE, MAX_SHARE = 1024, 32_768
"""Number of characters for a share's name in the first buffer, and the maximum."""
_MORE_DATA = 234
"""ERROR_MORE_DATA of winerror.h."""


def folder_owners(folders: Iterable[str]) -> Iterator[str]:
    """Yield the accounts that own the folders, each once; Windows' own accounts are left out."""
    from core.host.windows.ownership import owner_and_rights

    seen: set[str] = set()
    for folder in folders:
        with suppress(OSError):
            owner = call_patiently(lambda path: owner_and_rights(path, folder=True)[0], folder)
            if owner not in seen and owner.startswith(MADE_HERE):
                seen.add(owner)
                yield from _name(owner)


def _name(sid: str) -> Iterator[str]:
    advapi, kernel = ctypes.WinDLL("advapi32"), ctypes.WinDLL("kernel32")
    kernel.LocalFree.argtypes = (ctypes.c_void_p,)
    advapi.ConvertStringSidToSidW.argtypes = (wintypes.LPCWSTR, ctypes.c_void_p)
    advapi.LookupAccountSidW.argtypes = (
        *(wintypes.LPCWSTR, ctypes.c_void_p, wintypes.LPWSTR, ctypes.c_void_p),
        *(wintypes.LPWSTR, ctypes.c_void_p, ctypes.c_void_p),
    )
    whose, kind = ctypes.c_void_p(), ctypes.c_int()
    if not advapi.ConvertStringSidToSidW(sid, ctypes.byref(whose)):
        return
    try:
        name, domain = ctypes.create_unicode_buffer(256), ctypes.create_unicode_buffer(256)
        sizes = wintypes.DWORD(256), wintypes.DWORD(256)
        found = advapi.LookupAccountSidW(
            *(None, whose, name, ctypes.byref(sizes[0]), domain, ctypes.byref(sizes[1]), ctypes.byref(kind))
        )
        if found and kind.value == A_PERSON:
            yield name.value
    finally:
        kernel.LocalFree(whose)


def _mapped_share(network: ctypes.WinDLL, drive: str, room: int) -> tuple[str, int]:
    """Return what a drive is mapped to, and the number of characters that its name needs."""
    share, size = ctypes.create_unicode_buffer(room), wintypes.DWORD(room)
    said = network.WNetGetConnectionW(drive, share, ctypes.byref(size))
    return share.value if said == 0 else "", size.value if said == _MORE_DATA else 0


def mapped_shares() -> Iterator[str]:
    r"""Yield what drives are mapped to (\\server\share): this session's mappings and the persistent ones."""
    kernel = ctypes.WinDLL("kernel32")
    network = ctypes.WinDLL("mpr")
    for letter in string.ascii_uppercase:
        if kernel.GetDriveTypeW(f"{letter}:\\") == REMOTE:
            share = whole_answer(partial(_mapped_share, network, f"{letter}:"), USUAL_SHARE, MAX_SHARE)
            if share:
                yield share
    with suppress(OSError), winreg.OpenKey(winreg.HKEY_CURRENT_USER, "Network") as drives:
        for n in range(winreg.QueryInfoKey(drives)[0]):
            with suppress(OSError), winreg.OpenKey(drives, winreg.EnumKey(drives, n)) as drive:
                yield str(winreg.QueryValueEx(drive, "RemotePath")[0])
