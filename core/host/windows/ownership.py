"""Windows' part of ownership: the owner and the access list (DACL) of a file or folder."""

from __future__ import annotations

import ctypes
import functools
import sys
from ctypes import wintypes

assert sys.platform == "win32"  # tells mypy, too

ADMINISTRATOR_SIDS = frozenset(
    {
        "S-1-5-18",  # SYSTEM
        "S-1-5-32-544",  # Administrators
        "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464",  # TrustedInstaller
    }
)
EVERYONE_SID = "S-1-1-0"
_FILE_OBJECT, _OWNER, _DACL = 1, 0x1, 0x4
_ALLOWED, _ALLOWED_OBJECT, _ALLOWED_CALLBACK = 0, 5, 9
_INHERIT_ONLY = 0x08
_WRITE_DATA, _APPEND, _DELETE_CHILD = 0x2, 0x4, 0x40
_TAKE = 0x10000 | 0x40000 | 0x80000 | 0x10000000
"""DELETE, WRITE_DAC, WRITE_OWNER, GENERIC_ALL: with any of these, the object can be replaced."""
_WRITE = _TAKE | _WRITE_DATA | _APPEND | 0x40000000
_PROTECTED = 0x1000
"""SE_DACL_PROTECTED: nothing is inherited from the folder above."""

MACHINE_HISTORY = "O:BAG:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)"
"""SDDL of the machine's history: administrators and SYSTEM write, users read, nothing is inherited."""
MACHINE_BACKUPS = "O:BAG:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"
"""SDDL of its backups: closed to all but the administrator."""


class _AceHeader(ctypes.Structure):
    _fields_ = (("kind", wintypes.BYTE), ("flags", wintypes.BYTE), ("size", wintypes.WORD), ("mask", wintypes.DWORD))


class _AclHeader(ctypes.Structure):
    _fields_ = (
        *(("revision", wintypes.BYTE), ("reserved", wintypes.BYTE), ("size", wintypes.WORD)),
        *(("count", wintypes.WORD), ("reserved2", wintypes.WORD)),
    )


@functools.cache
def _library(name: str) -> ctypes.WinDLL:
    """Load a library of Windows once: an environment has ten thousand files, and each asks a dozen times."""
    its = ctypes.WinDLL(name)
    if name == "kernel32":
        its.LocalFree.argtypes = (ctypes.c_void_p,)
    if name == "advapi32":
        its.GetNamedSecurityInfoW.argtypes = (
            *(wintypes.LPCWSTR, ctypes.c_int, wintypes.DWORD, ctypes.c_void_p, ctypes.c_void_p),
            *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p),
        )
    return its


def owner_and_rights(path: str, *, folder: bool) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return the owner, who else may write, and who else may replace its content (or the thing itself).

    Every entry that allows counts, even if another denies; CREATOR OWNER stands for nobody. Without an access list,
    everyone may.

    Raises:
        OSError: the access list cannot be read.
    """
    advapi, kernel = _library("advapi32"), _library("kernel32")
    owner, dacl, whole = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    error = advapi.GetNamedSecurityInfoW(
        *(path, _FILE_OBJECT, _OWNER | _DACL, ctypes.byref(owner), None),
        *(ctypes.byref(dacl), None, ctypes.byref(whole)),
    )
    if error:
        raise OSError(None, ctypes.FormatError(error), path, error)
    try:
        mine = _sid_text(owner)
        if not dacl.value:
            return mine, (EVERYONE_SID,), (EVERYONE_SID,)
        writers, movers = set(), set()
        for who, mask in _allowing_entries(dacl):
            if who in (mine, "S-1-3-0", "S-1-3-4"):  # CREATOR OWNER; OWNER RIGHTS speak of the owner
                continue
            if mask & _WRITE:
                writers.add(who)
            if mask & (_TAKE | _DELETE_CHILD if folder else _WRITE):
                movers.add(who)
        return mine, tuple(sorted(writers)), tuple(sorted(movers))
    finally:
        kernel.LocalFree(whole)


def _allowing_entries(dacl: ctypes.c_void_p) -> list[tuple[str, int]]:
    """Return (who, rights) of every entry that allows something on the object itself, not only on children created in it."""
    advapi = _library("advapi32")
    advapi.GetAce.argtypes = (ctypes.c_void_p, wintypes.DWORD, ctypes.c_void_p)
    rows = []
    for i in range(ctypes.cast(dacl, ctypes.POINTER(_AclHeader)).contents.count):
        ace = ctypes.c_void_p()
        if not advapi.GetAce(dacl, i, ctypes.byref(ace)) or not ace.value:
            raise OSError(None, "an entry of the access list cannot be read")
        header = ctypes.cast(ace, ctypes.POINTER(_AceHeader)).contents
        if header.flags & _INHERIT_ONLY or header.kind & 0xFF not in (_ALLOWED, _ALLOWED_OBJECT, _ALLOWED_CALLBACK):
            continue
        who = EVERYONE_SID  # Treat an entry of another form as granting everything.
        if header.kind & 0xFF != _ALLOWED_OBJECT:
            who = _sid_text(ctypes.c_void_p(ace.value + ctypes.sizeof(_AceHeader)))
        rows.append((who, header.mask))
    return rows


def _sid_text(sid: ctypes.c_void_p) -> str:
    """Return a security identifier in text form."""
    advapi, kernel = _library("advapi32"), _library("kernel32")
    advapi.ConvertSidToStringSidW.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    out = wintypes.LPWSTR()
    if not sid.value or not advapi.ConvertSidToStringSidW(sid, ctypes.byref(out)):
        return "unknown"
    try:
        return str(out.value)
    finally:
        kernel.LocalFree(ctypes.cast(out, ctypes.c_void_p))


def own_account() -> str:
    """Return the security identifier of the account that this process runs as; empty if Windows does not say."""
    room = ctypes.create_string_buffer(256)
    is_told = _tell_of_token(1, room)  # TokenUser
    return _sid_text(ctypes.cast(room, ctypes.POINTER(ctypes.c_void_p)).contents) if is_told else ""


def _tell_of_token(what: int, room: ctypes.Array[ctypes.c_char] | wintypes.DWORD) -> bool:
    """Put into ``room`` what this process's token says (TOKEN_INFORMATION_CLASS of winnt.h); return whether it does."""
    advapi, kernel = _library("advapi32"), _library("kernel32")
    kernel.GetCurrentProcess.restype = wintypes.HANDLE
    kernel.CloseHandle.argtypes = (wintypes.HANDLE,)
    advapi.OpenProcessToken.argtypes = (wintypes.HANDLE, wintypes.DWORD, ctypes.c_void_p)
    advapi.GetTokenInformation.argtypes = (
        *(wintypes.HANDLE, ctypes.c_int, ctypes.c_void_p),
        *(wintypes.DWORD, ctypes.c_void_p),
    )
    token, length = wintypes.HANDLE(), wintypes.DWORD()
    if not advapi.OpenProcessToken(kernel.GetCurrentProcess(), 0x8, ctypes.byref(token)):
        return False
    try:
        size = ctypes.sizeof(room)
        return bool(advapi.GetTokenInformation(token, what, ctypes.byref(room), size, ctypes.byref(length)))
    finally:
        kernel.CloseHandle(token)


def consents_for_itself() -> bool:
    """Whether consent to elevation comes from this account: it is an administrator with a filtered token.

    Any other account elevates to a different account (TokenElevationType of winnt.h: 3 is TokenElevationTypeLimited).
    """
    kind = wintypes.DWORD()
    return _tell_of_token(18, kind) and kind.value in (2, 3)  # full or limited: an administrator under UAC


def is_protected(path: str) -> bool:
    """Whether a folder's access list is its own, with nothing inherited."""
    advapi, kernel = _library("advapi32"), _library("kernel32")
    advapi.GetSecurityDescriptorControl.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    whole, control, revision = ctypes.c_void_p(), wintypes.WORD(), wintypes.DWORD()
    if advapi.GetNamedSecurityInfoW(path, _FILE_OBJECT, _DACL, None, None, None, None, ctypes.byref(whole)):
        return False
    try:
        ok = advapi.GetSecurityDescriptorControl(whole, ctypes.byref(control), ctypes.byref(revision))
        return bool(ok) and bool(control.value & _PROTECTED)
    finally:
        kernel.LocalFree(whole)


def make_protected(path: str, sddl: str = MACHINE_HISTORY) -> None:
    """Create a folder with this access list from the start; nothing happens if it already exists.

    Raises:
        OSError: it cannot be created.
    """

    class Attributes(ctypes.Structure):
        """SECURITY_ATTRIBUTES of minwinbase.h."""

        _fields_ = (("length", wintypes.DWORD), ("descriptor", ctypes.c_void_p), ("inherit", wintypes.BOOL))

    advapi, kernel = _library("advapi32"), ctypes.WinDLL("kernel32", use_last_error=True)
    kernel.CreateDirectoryW.argtypes = (wintypes.LPCWSTR, ctypes.c_void_p)
    advapi.ConvertStringSecurityDescriptorToSecurityDescriptorW.argtypes = (
        *(wintypes.LPCWSTR, wintypes.DWORD),
        *(ctypes.c_void_p, ctypes.c_void_p),
    )
    descriptor = ctypes.c_void_p()
    if not advapi.ConvertStringSecurityDescriptorToSecurityDescriptorW(sddl, 1, ctypes.byref(descriptor), None):
        raise OSError(None, "Windows does not take the access list of the history", path)
    try:
        words = Attributes(ctypes.sizeof(Attributes), descriptor, False)
        if not kernel.CreateDirectoryW(path, ctypes.byref(words)):
            error = ctypes.get_last_error()
            if error != 183:  # ERROR_ALREADY_EXISTS
                raise OSError(None, ctypes.FormatError(error), path, error)
    finally:
        kernel.LocalFree(descriptor)
