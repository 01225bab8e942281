"""Authenticode hashes on files made by hand: what was signed, what was altered, what is no signed library."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path

import pytest

from core.loader.windows.authenticode import SHA_256, is_intact, signature_by_hash

START, BODY = 0x80, 3 << 20
OPTIONAL = START + 24
CHECKSUM = OPTIONAL + 64


def signed(*, magic: int = 0x20B, oid: bytes = SHA_256) -> bytes:
    """Return a PE file as far as a signature is concerned; everything but three places is hashed."""
    entry = OPTIONAL + (112 if magic == 0x20B else 96) + 32
    data = bytearray(b"MZ" + bytes(BODY - 2))
    data[0x3C:0x40] = struct.pack("<I", START)
    data[START : START + 4] = b"PE\0\0"
    data[OPTIONAL : OPTIONAL + 2] = struct.pack("<H", magic)
    data[BODY // 2] = 7
    hashed = bytes(data[:CHECKSUM] + data[CHECKSUM + 4 : entry] + data[entry + 8 :])
    blob = b"\x30\x82" + oid + b"\x04\x20" + hashlib.sha256(hashed).digest() + b"end"
    data[entry : entry + 8] = struct.pack("<II", BODY, len(blob))
    data[CHECKSUM : CHECKSUM + 4] = b"\1\2\3\4"
    return bytes(data) + blob


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cudnn_ops64_9.dll"
    path.write_bytes(signed())
    return path


def put(file: Path, at: int, data: bytes) -> None:
    with file.open("r+b") as stream:
        stream.seek(at)
        stream.write(data)


@pytest.mark.parametrize("magic", [0x20B, 0x10B])
def test_a_signed_file_is_intact_in_both_forms(tmp_path: Path, magic: int) -> None:
    path = tmp_path / "x.dll"
    path.write_bytes(signed(magic=magic))
    assert is_intact(str(path)) is True


@pytest.mark.parametrize("at", [2, START + 6, CHECKSUM - 1, CHECKSUM + 4, BODY // 2, BODY - 1])
def test_one_changed_byte_is_told(file: Path, at: int) -> None:
    put(file, at, b"\x55")
    assert is_intact(str(file)) is False


def test_the_checksum_is_no_part_of_what_is_signed(file: Path) -> None:
    put(file, CHECKSUM, b"\xff\xff\xff\xff")
    assert is_intact(str(file)) is True


def test_what_is_put_behind_the_signature_counts(file: Path) -> None:
    with file.open("ab") as stream:
        stream.write(b"more")
    assert is_intact(str(file)) is False


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"MZ",
        b"MZ" + bytes(62),
        signed()[:BODY],
        signed()[: BODY + 10],
        signed(oid=b"\x2b\x0e\x03\x02\x1a"),
        b"\x7fELF" + signed()[4:],
        signed()[:START] + b"NE\0\0" + signed()[START + 4 :],
        signed()[:0x3C] + b"\xff\xff\xff\x7f" + signed()[0x40:],
    ],
)
def test_what_has_no_such_signature_is_not_decided(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.dll"
    path.write_bytes(data)
    assert is_intact(str(path)) is None
    assert is_intact(str(tmp_path)) is None
    assert is_intact(str(tmp_path / "nothing.dll")) is None
    assert is_intact("/x.dll", root=str(tmp_path)) is None


def test_it_can_be_stopped(file: Path) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        is_intact(str(file), tick=stop)


def test_without_windows_the_signed_hash_tells_as_much_as_it_can(file: Path, tmp_path: Path) -> None:
    assert signature_by_hash(str(file)) == "intact"
    assert signature_by_hash(str(file), "not trusted") == "not trusted"
    put(file, BODY // 2, b"\x55")
    assert signature_by_hash(str(file)) == signature_by_hash(str(file), "not trusted") == "altered"
    (tmp_path / "plain.dll").write_bytes(b"MZ" + bytes(200))
    assert signature_by_hash(str(tmp_path / "plain.dll")) == "undecided"
