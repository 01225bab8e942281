"""Files of models that are cut off: in the hub's cache, in PyTorch's, and in the folder where the person starts programs.

Only their headers are read, which say how long each must be. Sources: safetensors' README ("Format"), ggml's gguf.md, APPNOTE of ZIP
(torch.save writes one), Git LFS' specification of its pointers, onnx.proto (ModelProto) and protobuf's "Encoding".
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from core.common.fact_text import fact_text
from core.common.late_pattern import late_pattern
from core.knowledge.contracts import hub_cache
from core.model.facts import path_text
from core.model.facts.framework_tools import UnfitTool
from core.probes.probe import ProbeRequest
from core.probes.python.locations import start_folder
from core.probes.python.programs.program_folder import start_programs
from core.probes.sysroot import Sysroot

READERS = (
    "transformers",
    "diffusers",
    "huggingface-hub",
    "safetensors",
    "torch",
    "llama-cpp-python",
    "ctranslate2",
    "onnxruntime",
    "jax",
)
"""Distributions that read such files, the one that people know best first."""
ENDINGS = (".safetensors", ".gguf", ".pt", ".pth", ".ckpt", ".bin", ".onnx")
OF_MODELS_ALONE = ("safetensors", "gguf", "ckpt", "onnx")
"""Endings that no other file has: an empty one is no placeholder of something else."""
NAMED_PLACE = late_pattern(r"[\"']((?:[A-Za-z]:[\\/]|/)[^\"'\n*?<>|]{3,300})[\"']")
"""A whole path in a program's text."""
MOST_FILES = 400
MOST_FOLDERS = 60
"""Folders of one place that are looked into."""
MOST_HEADER = 16 << 20
"""Bytes of one header: the longest vocabularies take 10 MB in GGUF."""
MOST_BYTES = 48 << 20
"""Bytes of all headers: a folder of models must not take the scan's time."""
PAGE = late_pattern(rb"(?i)\s*<(?:!doctype\s+html|html|\?xml)\b")
WORDS = late_pattern(rb"[\t\n\r\x20-\x7e]{8,64}")
"""What a server answers in a file's place: "Entry not found", "Invalid username or password.", an error in JSON. A whole file of
safetensors, GGUF or ZIP has bytes of zero there."""
POINTER = b"version https://git-lfs.github.com/spec/"
_END_OF_ZIP = b"PK\x05\x06"
_TAIL = 66_000
"""Bytes at the end of an archive in which its directory's end must be: 22, and a comment."""


class ModelFault(NamedTuple):
    """Why no program can read a file of a model."""

    kind: Literal["cut", "empty", "page", "pointer"]
    detail: str = ""
    """A fact text."""


class Headers:
    """Reads headers, and none once all together have been long."""

    def __init__(self, where: Sysroot) -> None:
        self.where, self.left = where, MOST_BYTES

    def read(self, path: str, length: int) -> bytes:
        """Return the start of a file; empty where nothing may be read."""
        data = self.where.read(path, length) or b"" if self.left > 0 else b""
        self.left -= len(data)
        return data


def unfit_models(request: ProbeRequest, where: Sysroot) -> Iterator[UnfitTool]:
    """Yield the files of models that no program can read, each for the first environment that has a reader."""
    homes = [(p, r) for p in request.seen.pythons or () for r in READERS if any(d.name == r for d in p.distributions)]
    if not homes:
        return
    python, name = homes[0]
    reader = next(f"{d.name} {d.version}" for d in python.distributions if d.name == name)
    headers = Headers(where)
    for number, path in enumerate(_files(request, where, headers)):
        if number >= MOST_FILES:
            return
        if number % 20 == 0:
            request.watch.check()
        if fault := model_fault(path, headers):
            yield UnfitTool(
                prefix=python.prefix,
                reader=reader,
                name=where.name(path),
                path=path_text(path),
                state="damaged",
                runs=False,
                detail=fault.detail,
                model=fault.kind,
            )


def models_of_hub(hub: str, where: Sysroot) -> list[str]:
    """Return the folders of models in Hugging Face's cache; none where ``hub`` is empty."""
    return [n for n in where.names(hub) or () if n.startswith("models--")][:MOST_FOLDERS] if hub else []


def _files(request: ProbeRequest, where: Sysroot, headers: Headers) -> Iterator[str]:
    home = request.env.get("HOME", "") or request.seen.machine.home
    above = request.env.get("XDG_CACHE_HOME") or where.join(home, ".cache")
    hub = hub_cache(request.env, home)
    for model in models_of_hub(hub, where):
        snapshots = where.join(hub, model, "snapshots")
        for commit in where.names(snapshots) or ():
            yield from _below(where.join(snapshots, commit), where)
    torch = request.env.get("TORCH_HOME") or where.join(above, "torch")
    yield from _of_folder(where.join(torch, "hub", "checkpoints"), where)
    here = start_folder(request, where)
    if here != home and where.parent(here) != here:
        yield from _below(here, where)
        yield from _named_by_programs((p.text for p in start_programs(request, where)), where, headers)


def _named_by_programs(texts: Iterable[str], where: Sysroot, headers: Headers) -> Iterator[str]:
    """Yield the files of models that programs name by a whole path.

    If a program names a folder, the files in it are yielded, except where a sound file of another form lies beside
    them: the program may read that one.
    """
    places = dict.fromkeys(m[1].replace("\\\\", "\\") for text in texts for m in NAMED_PLACE.finditer(text))
    for place in [p for p in places if len(where.path_module.normpath(p).strip("/\\")) > 3][:MOST_FOLDERS]:
        if where.is_file(place):
            yield from (place,) if place.endswith(ENDINGS) else ()
        else:
            files = list(_of_folder(place, where))
            whole = {f.rpartition(".")[2] for f in files if model_fault(f, headers) is None}
            yield from (f for f in files if not whole - {f.rpartition(".")[2]})


def _below(folder: str, where: Sysroot) -> Iterator[str]:
    """Yield the files of models of a folder and of the folders in it."""
    yield from _of_folder(folder, where)
    inner = [n for n in where.names(folder) or () if "." not in n]
    for name in inner[:MOST_FOLDERS]:
        yield from _of_folder(where.join(folder, name), where)


def _of_folder(folder: str, where: Sysroot) -> Iterator[str]:
    yield from (where.join(folder, n) for n in where.names(folder) or () if n.endswith(ENDINGS))


def model_fault(path: str, headers: Headers) -> ModelFault | None:
    """Return why a file of a model cannot be read; None where its header shows nothing."""
    where = headers.where
    about = where.stat(path)
    if about is None or not where.is_file(path):
        return None
    size, ending = about.st_size, path.rpartition(".")[2]
    if not size:
        return ModelFault("empty") if ending in OF_MODELS_ALONE else None
    head = where.read(path, 64) or b""
    if head.startswith(POINTER):
        return ModelFault("pointer")
    if PAGE.match(head) or (ending in OF_MODELS_ALONE and WORDS.fullmatch(head)):
        return ModelFault("page")
    least = 0
    if ending == "safetensors":
        least = _least_of_safetensors(path, head, size, headers)
    elif ending == "gguf" and head.startswith(b"GGUF"):
        least = _least_of_gguf(headers.read(path, MOST_HEADER), size)
    elif ending == "onnx":
        least = head_of_onnx(headers.read(path, START_OF_ONNX)).end
    elif head.startswith(b"PK\x03\x04") and ending in ("pt", "pth", "ckpt", "bin"):
        end = where.tail(path, _TAIL)
        return (
            ModelFault("cut", fact_text("the end of the archive is missing"))
            if end is not None and _END_OF_ZIP not in end
            else None
        )
    if size < least:
        return ModelFault("cut", fact_text("{size} of at least {least} bytes", size=str(size), least=str(least)))
    return None


_ENDS = late_pattern(rb'(?<!\\)"data_offsets"\s{0,9}:\s{0,9}\[\s{0,9}\d{1,19}\s{0,9},\s{0,9}(\d{1,19})\s{0,9}\]')
"""Where a tensor ends. The header is not read as JSON: a large one would take hundreds of megabytes."""


def _least_of_safetensors(path: str, head: bytes, size: int, headers: Headers) -> int:
    """Return the length that the header asks for; 0 where it is not one that is known."""
    if len(head) < 8:
        return 8
    (length,) = struct.unpack("<Q", head[:8])
    if not 2 <= length <= MOST_HEADER or head[8:9] != b"{":
        return 0
    if size < 8 + length:
        return int(8 + length)
    ends = (int(found[1]) for found in _ENDS.finditer(headers.read(path, 8 + length)))
    return int(8 + length + max(ends, default=0))


# --- ONNX ----------------------------------------------------------------------------------------------------------------

START_OF_ONNX = 64 << 10
"""Bytes in which the graph begins: before it come the format's version and what wrote the file."""
_FORM, _GRAPH = 1, 7
_OF_MODEL = {_FORM: 0, 2: 2, 3: 2, 4: 2, 5: 0, 6: 2, _GRAPH: 2, 8: 2, 14: 2, 20: 2, 25: 2, 26: 2}
"""Field of a model -> its wire type: a number (0) or bytes behind their length (2)."""


class OnnxHead(NamedTuple):
    """What a model says before its graph, and where that ends; 0 where the bytes before it are not those of a model."""

    form: int = 0
    """The version of the form, ir_version."""
    end: int = 0


def head_of_onnx(content: bytes) -> OnnxHead:
    """Return the head of a model by its first bytes."""

    def number(at: int) -> tuple[int, int]:
        """Return a number and where it ends."""
        value = shift = 0
        while shift < 64:
            value |= (content[at] & 127) << shift
            at, shift = at + 1, shift + 7
            if content[at - 1] < 128:
                return value, at
        raise ValueError

    at = form = 0
    try:
        while at < len(content):
            tag, at = number(at)
            length, at = number(at)
            if _OF_MODEL.get(tag >> 3) != tag & 7:
                return OnnxHead()
            if tag & 7:
                at += length
            if tag >> 3 == _FORM:
                form = length
            if tag >> 3 == _GRAPH:
                return OnnxHead(form, at)
    except (IndexError, ValueError):
        return OnnxHead()
    return OnnxHead()


# --- GGUF ----------------------------------------------------------------------------------------------------------------

_FIXED = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Type of a value -> its bytes."""
_TEXT, _LIST = 8, 9
MOST_PAIRS, MOST_TENSORS = 4096, 100_000
ALIGNMENT = 32
_LENGTH = struct.Struct("<Q")


class _Gguf:
    """The header of a GGUF file, read in order.

    Each step raises struct.error behind the end of the bytes, and KeyError for a type that is not known.
    """

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 4
        self.alignment = ALIGNMENT

    def number(self, form: str) -> int:
        (value,) = struct.unpack_from(f"<{form}", self.content, self.at)
        self.at += struct.calcsize(form)
        return int(value)

    def texts(self, count: int) -> None:
        read, at, content = _LENGTH.unpack_from, self.at, self.content  # half a million of them: the loop counts
        for _n in range(count):
            at += 8 + read(content, at)[0]
        self.at = at

    def value(self, kind: int, key: bytes) -> None:
        if kind == _TEXT:
            self.texts(1)
        elif kind == _LIST:
            inner, count = self.number("I"), self.number("Q")
            if inner == _TEXT:
                self.texts(count)
            else:
                self.at += _FIXED[inner] * count  # lists in lists are not known
        elif key == b"general.alignment" and kind == 4:
            self.alignment = self.number("I") or ALIGNMENT
        else:
            self.at += _FIXED[kind]

    def least(self) -> int:
        """Return the length up to the start of the last tensor, and one byte of it; 0 for a header of no usual form."""
        if self.number("I") not in (2, 3):
            return 0
        tensors, pairs = self.number("Q"), self.number("Q")
        if pairs > MOST_PAIRS or tensors > MOST_TENSORS:
            return 0
        for _n in range(pairs):
            start = self.at + 8
            self.texts(1)
            self.value(self.number("I"), self.content[start : self.at])
        last = 0
        for _n in range(tensors):
            self.texts(1)
            dimensions = self.number("I")
            self.at += 8 * dimensions + 4
            last = max(last, self.number("Q"))
        return -(-self.at // self.alignment) * self.alignment + last + 1 if tensors else self.at


def _least_of_gguf(content: bytes, size: int) -> int:
    """Return the length that a header asks for, at least one byte more than the file has where it ends within its header; 0: not known."""
    try:
        return _Gguf(content).least()
    except struct.error:
        return size + 1 if len(content) == size else 0
    except (KeyError, OverflowError):
        return 0
