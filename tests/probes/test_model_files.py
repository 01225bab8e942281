"""Files of models: whole ones say nothing, cut ones how long they must be."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import Distribution, PythonEnvironment
from core.probes.python.installed.model_files import MOST_BYTES, Headers, ModelFault, model_fault, unfit_models
from core.probes.python.tools import look
from core.probes.sysroot import Sysroot, sysroot_of
from tests.probes.request import request


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


def onnx() -> bytes:
    """Return a model of one addition, as onnx.proto has it: what wrote it, its graph, and behind that the operators' release."""

    def field(number: int, content: bytes) -> bytes:
        length, rest = len(content), b""
        while length > 127:
            rest, length = rest + bytes([length & 127 | 128]), length >> 7
        return bytes([number << 3 | 2]) + rest + bytes([length]) + content

    kind = field(2, field(1, b"\x08\x01" + field(2, field(1, b"\x08\x64"))))
    weights = b"\x08\x64\x10\x01" + field(8, b"w") + field(9, bytes(400))
    graph = field(1, field(1, b"x") + field(1, b"w") + field(2, b"y") + field(4, b"Add")) + field(2, b"lab")
    graph += field(5, weights) + field(11, field(1, b"x") + kind) + field(12, field(1, b"y") + kind)
    return b"\x08\x08" + field(2, b"lab") + field(7, graph) + field(8, b"\x10\x0d")


def fault_of(path: Path) -> ModelFault | None:
    return model_fault(str(path), Headers(Sysroot("linux")))


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 100\n"
KINDS: dict[str, Callable[[], bytes]] = {"m.safetensors": safetensors, "m.gguf": gguf, "m.pt": archive, "m.onnx": onnx}


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("m.safetensors", b"<!DOCTYPE html>\n<html>", True),
        ("m.bin", b"\n <html lang='en'>", True),
        ("m.onnx", b'<?xml version="1.0"?><Error><Code>AccessDenied', True),
        ("m.gguf", b"Entry not found", True),
        ("m.ckpt", b'{"error":"Unauthorized","message":"Log in"}', True),
        ("m.pth", b"/srv/packages\n", False),  # a line for Python's search path
        ("m.bin", b"v1 of anything", False),
        ("m.onnx", b"\x08\x07<html", False),
    ],
)
def test_an_answer_of_a_server_is_no_model(name: str, content: bytes, told: bool, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    found = fault_of(tmp_path / name)
    assert (found is not None and found.kind == "page") is told


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("part", [1.0, 0.9, 0.6, 0.3, 0.05])
def test_a_cut_file_is_told(name: str, part: float, tmp_path: Path) -> None:
    whole = KINDS[name]()
    path = tmp_path / name
    path.write_bytes(whole[: int(len(whole) * part)])
    told = fault_of(path)
    last_tensor = name == "m.gguf" and part == 0.9  # of the last one only its start is known
    assert bool(told) is (part < 1 and not last_tensor)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("m.bin", POINTER, True),
        ("m.onnx", POINTER, True),
        ("m.safetensors", b"", True),
        ("m.onnx", b"", True),
        ("m.onnx", onnx()[:7], False),  # it ends before its graph
        ("m.onnx", b"\x08\x08\x3d" + onnx()[2:-50], False),  # a field of another form
        ("m.onnx", b"\x08\x08\x1a\x03lab\xff", False),
        ("m.pt", b"\x80\x02}q\0.", False),  # a pickle as of old
        ("m.bin", b"anything", False),
        ("m.bin", b"", False),  # many programs have such files
        ("m.safetensors", b"\xffno header here, and more", False),
    ],
)
def test_what_is_not_known_says_nothing(name: str, content: bytes, told: bool, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    assert bool(fault_of(tmp_path / name)) is told


def odd_gguf(kind: int, rest: bytes) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + text("key") + struct.pack("<I", kind) + rest


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("m.gguf", odd_gguf(13, b"\0" * 99)),  # a type of a later version
        ("m.gguf", odd_gguf(9, struct.pack("<IQ", 9, 1) * 5000)),  # lists in lists
        ("m.gguf", odd_gguf(9, struct.pack("<IQ", 9, 1 << 60) + b"\0" * 99)),
        ("m.gguf", b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 1 << 60) + b"\0" * 99),
        ("m.safetensors", struct.pack("<Q", 600_000) + b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
        ("m.safetensors", struct.pack("<Q", 41) + b'{"w":{"data_offsets":[0,1e400]}}         '),
    ],
)
def test_a_header_of_another_form_is_no_fault_and_ends_nothing(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    assert fault_of(tmp_path / name) is None


def test_all_headers_together_take_no_more_than_their_share(tmp_path: Path) -> None:
    (tmp_path / "m.safetensors").write_bytes(safetensors()[:-1])
    headers = Headers(Sysroot("linux"))
    headers.left = 0
    assert model_fault(str(tmp_path / "m.safetensors"), headers) is None
    assert MOST_BYTES < 64 << 20, "it would show in the scan's memory"


HOME = PythonEnvironment(prefix="/ml", kind="venv", distributions=(Distribution(name="ctranslate2", version="4.8.5"),))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("model = load('/models/small')", True),
        ("model = load('/models/small/model.bin')", True),
        ("model = load('small')", False),
        ("model = load('/models')", False),
        ("model = load('/models/both')", False),
        ("model = load('/')", False),
    ],
)
def test_a_model_that_a_program_of_the_folder_names_is_looked_at(
    line: str, told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pointer beside a whole file of another form is not told: the program may read that one."""
    for path, content in (
        ("models/small/model.bin", POINTER),
        ("models/both/model.bin", POINTER),
        ("models/both/model.safetensors", safetensors()),
        ("project/train.py", line.encode()),
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    monkeypatch.chdir(tmp_path / "project")
    its = request(tmp_path, pythons=(HOME,))
    found = [(tool.path, tool.model) for tool in unfit_models(its, sysroot_of(its.host))]
    assert found == ([("/models/small/model.bin", "pointer")] if told else [])


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({}, r"C:\Users\ada\.cache\huggingface\hub"),
        ({"HF_HOME": r"D:\hf"}, r"D:\hf\hub"),
        ({"HF_HUB_CACHE": "D:/hub"}, r"D:\hub"),
    ],
)
def test_models_of_the_hub_are_looked_at_on_windows(env: dict[str, str], folder: str, tmp_path: Path) -> None:
    home = replace(HOME, prefix=r"C:\ml")
    path = rf"{folder}\models--org--small\snapshots\1\model.bin"
    file = tmp_path / path.replace("\\", "/")
    file.parent.mkdir(parents=True)
    file.write_bytes(POINTER)
    found = look(request(tmp_path, env, system="windows", pythons=(home,)))
    assert [(tool.path, tool.model) for tool in found] == [(path, "pointer")]
