"""Files of models: whole ones say nothing, cut ones how long they must be."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from core.probes.python.model_files import model_fault
from core.probes.sysroot import Sysroot


def safetensors() -> bytes:
    header = json.dumps({"__metadata__": {}, "w": {"dtype": "F32", "shape": [100], "data_offsets": [0, 400]}}).encode()
    return struct.pack("<Q", len(header)) + header + b"\0" * 400


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def gguf() -> bytes:
    pairs = [
        text("general.name") + struct.pack("<I", 8) + text("lab"),
        text("tokens") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("b"),
        text("scores") + struct.pack("<IIQ2f", 9, 6, 2, 0.0, 1.0),
        text("general.alignment") + struct.pack("<II", 4, 64),
    ]
    tensors = [text(n) + struct.pack("<IQIQ", 1, 64, 0, at) for n, at in (("a", 0), ("b", 256))]
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs)) + b"".join((*pairs, *tensors))
    return head + b"\0" * (-len(head) % 64) + b"\1" * 512


def archive() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        made.writestr("archive/data.pkl", b"x" * 1000)
    return out.getvalue()


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 100\n"
KINDS: dict[str, Callable[[], bytes]] = {"m.safetensors": safetensors, "m.gguf": gguf, "m.pt": archive}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("part", [1.0, 0.9, 0.6, 0.3, 0.05])
def test_a_cut_file_is_told(name: str, part: float, tmp_path: Path) -> None:
    whole = KINDS[name]()
    path = tmp_path / name
    path.write_bytes(whole[: int(len(whole) * part)])
    told = model_fault(str(path), Sysroot("linux"))
    last_tensor = name == "m.gguf" and part == 0.9  # of the last one only its start is known
    assert bool(told) is (part < 1 and not last_tensor)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("m.bin", POINTER, True),
        ("m.onnx", POINTER, True),
        ("m.safetensors", b"", True),
        ("m.pt", b"\x80\x02}q\0.", False),  # a pickle as of old
        ("m.bin", b"anything", False),
        ("m.safetensors", b"no header here, and more", False),
    ],
)
def test_what_is_not_known_says_nothing(name: str, content: bytes, told: bool, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    assert bool(model_fault(str(tmp_path / name), Sysroot("linux"))) is told
