"""Whether a Windows library still has the bytes that were signed: its Authenticode hash, computed on any system.

After Microsoft's "Windows Authenticode Portable Executable Signature Format" (version 1.0). The certificate itself is
not examined, which only Windows can do; a file that was damaged after signing is recognised all the same.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from core.loader.files import MAX_READ_BYTES, Source, UnfitError, open_source, path_under_root
from core.model.facts import Signature

SHA_256 = bytes.fromhex("608648016503040201")
"""The algorithm's identifier in a signature."""
MAX_SIGNATURE_BYTES = 1 << 20


def is_intact(path: str, *, root: str = "/", tick: Callable[[], None] = lambda: None) -> bool | None:
    """Whether the file matches the hash in its own signature; None if it has no such signature or cannot be read.

    ``tick`` is called for every megabyte and may raise.
    """
    try:
        with open_source(path_under_root(root, path)) as source:
            return _hash_agrees(source, tick)
    except (UnfitError, struct.error):
        return None


def signature_by_hash(path: str, otherwise: Signature = "undecided", *, root: str = "/") -> Signature:
    """Return "altered" or "intact" by the file's own signed hash, on any system; ``otherwise`` if it has none.

    Windows' verdict on the signer ("not trusted") stays for a file that matches its hash.
    """
    same = is_intact(path, root=root)
    if same is False:
        return "altered"
    return "intact" if same and otherwise == "undecided" else otherwise


def _hash_agrees(source: Source, tick: Callable[[], None]) -> bool | None:
    head = source.read(0, 4096)
    (start,) = struct.unpack_from("<I", head, 0x3C)
    if head[:2] != b"MZ" or head[start : start + 4] != b"PE\0\0":
        return None
    (magic,) = struct.unpack_from("<H", head, start + 24)
    checksum, entry = start + 24 + 64, start + 24 + (112 if magic == 0x20B else 96) + 4 * 8
    place, size = struct.unpack_from("<II", head, entry)
    if not (place and 0 < size <= MAX_SIGNATURE_BYTES and entry + 8 <= place and place + size <= source.size):
        return None
    signature = source.read(place, size)
    if SHA_256 not in signature:
        return None
    import hashlib  # imported late: loads OpenSSL

    digest = hashlib.sha256()
    for begin, end in ((0, checksum), (checksum + 4, entry), (entry + 8, place), (place + size, source.size)):
        at = begin
        while at < end:
            tick()
            data = source.read(at, min(MAX_READ_BYTES, end - at))
            if not data:
                return None
            digest.update(data)
            at += len(data)
    return digest.digest() in signature
