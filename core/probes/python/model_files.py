"""Files of models that are cut off: in the hub's cache, in PyTorch's, and in the folder where the person starts programs.

Only their headers are read, which say how long each must be. Sources: safetensors' README ("Format"), ggml's gguf.md, APPNOTE of ZIP
(torch.save writes one), Git LFS' specification of its pointers.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator

from core.common.fact_text import fact_text
from core.common.patience import call_patiently
from core.knowledge.contracts import hub_cache
from core.model.facts import path_text
from core.model.facts.framework_tools import UnfitTool
from core.probes.probe import ProbeRequest
from core.probes.python.locations import working_folder
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
MOST_FILES = 400
MOST_FOLDERS = 60
"""Folders of one place that are looked into."""
MOST_HEADER = 32 << 20
POINTER = b"version https://git-lfs.github.com/spec/"
_END_OF_ZIP = b"PK\x05\x06"
_TAIL = 66_000
"""Bytes at the end of an archive in which its directory's end must be: 22, and a comment."""


def unfit_models(request: ProbeRequest, where: Sysroot) -> Iterator[UnfitTool]:
    """Yield the files of models that no program can read, each for the first environment that has a reader."""
    homes = [(p, r) for p in request.seen.pythons or () for r in READERS if any(d.name == r for d in p.distributions)]
    if not homes:
        return
    python, name = homes[0]
    reader = next(f"{d.name} {d.version}" for d in python.distributions if d.name == name)
    for number, path in enumerate(_files(request, where)):
        if number >= MOST_FILES:
            return
        if number % 20 == 0:
            request.watch.check()
        if fault := model_fault(path, where):
            yield UnfitTool(
                prefix=python.prefix,
                reader=reader,
                name=where.name(path),
                path=path_text(path),
                state="damaged",
                runs=False,
                detail=fault,
                model=True,
            )


def _files(request: ProbeRequest, where: Sysroot) -> Iterator[str]:
    home = request.env.get("HOME", "") or request.seen.machine.home
    above = request.env.get("XDG_CACHE_HOME") or f"{home}/.cache"
    hub = hub_cache(request.env, home)
    for model in [n for n in where.names(hub) or () if n.startswith("models--")][:MOST_FOLDERS] if hub else ():
        snapshots = where.join(hub, model, "snapshots")
        for commit in where.names(snapshots) or ():
            yield from _below(where.join(snapshots, commit), where)
    torch = request.env.get("TORCH_HOME") or f"{above}/torch"
    yield from _of_folder(f"{torch}/hub/checkpoints", where)
    here = request.script_folder or working_folder(where)
    if here not in ("/", home):
        yield from _below(here, where)


def _below(folder: str, where: Sysroot) -> Iterator[str]:
    """Yield the files of models of a folder and of the folders in it."""
    yield from _of_folder(folder, where)
    inner = [n for n in where.names(folder) or () if "." not in n]
    for name in inner[:MOST_FOLDERS]:
        yield from _of_folder(where.join(folder, name), where)


def _of_folder(folder: str, where: Sysroot) -> Iterator[str]:
    yield from (where.join(folder, n) for n in where.names(folder) or () if n.endswith(ENDINGS))


def model_fault(path: str, where: Sysroot) -> str:
    """Return why a file of a model cannot be read, in words; empty where its header shows nothing."""
    about = where.stat(path)
    if about is None or not where.is_file(path):
        return ""
    size, ending = about.st_size, path.rpartition(".")[2]
    head = where.read(path, 64) or b""
    if head.startswith(POINTER):
        return fact_text("a pointer of Git LFS, without the file itself")
    if not size:
        return fact_text("empty")
    if ending == "safetensors":
        least = _least_of_safetensors(path, head, size, where)
    elif ending == "gguf":
        least = _least_of_gguf(path, head, where)
    elif head.startswith(b"PK\x03\x04") and ending in ("pt", "pth", "ckpt", "bin"):
        return "" if _END_OF_ZIP in _tail(path, size, where) else fact_text("the end of the archive is missing")
    else:
        return ""
    if least and size < least:
        return fact_text("{size} of at least {least} bytes", size=str(size), least=str(least))
    return ""


def _tail(path: str, size: int, where: Sysroot) -> bytes:
    def read(place: str) -> bytes:
        with open(place, "rb") as file:  # noqa: PTH123 - as sysroot does
            file.seek(max(0, size - _TAIL))
            return file.read(_TAIL)

    try:
        return call_patiently(read, where.local_path(path))
    except OSError:
        return _END_OF_ZIP  # nothing is known


def _least_of_safetensors(path: str, head: bytes, size: int, where: Sysroot) -> int:
    """Return the length that the header asks for; 0 where it is not one that is known."""
    if len(head) < 8:
        return 8
    (length,) = struct.unpack("<Q", head[:8])
    if not 2 <= length <= MOST_HEADER or head[8:9] != b"{":
        return 0
    if size < 8 + length:
        return int(8 + length)
    try:
        told = json.loads((where.read(path, 8 + length) or b"")[8:])
        ends = [int(its["data_offsets"][1]) for name, its in told.items() if name != "__metadata__"]
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        return 0
    return int(8 + length + max(ends, default=0))


# --- GGUF ----------------------------------------------------------------------------------------------------------------

_FIXED = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Type of a value -> its bytes."""
_TEXT, _LIST = 8, 9
MOST_ROWS = 1 << 20
ALIGNMENT = 32


class _Gguf:
    """The header of a GGUF file, read in order."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 4
        self.alignment = ALIGNMENT

    def number(self, form: str) -> int:
        (value,) = struct.unpack_from(f"<{form}", self.content, self.at)
        self.at += struct.calcsize(form)
        return int(value)

    def text(self) -> bytes:
        length = self.number("Q")
        self.at += length
        if self.at > len(self.content):
            raise struct.error
        return self.content[self.at - length : self.at]

    def value(self, kind: int, key: bytes = b"") -> None:
        if kind == _TEXT:
            self.text()
        elif kind == _LIST:
            inner, count = self.number("I"), self.number("Q")
            if inner in _FIXED:
                self.at += _FIXED[inner] * count
            else:
                for _n in range(min(count, MOST_ROWS)):
                    self.value(inner)
        elif key == b"general.alignment" and kind == 4:
            self.alignment = self.number("I") or ALIGNMENT
        else:
            self.at += _FIXED[kind]

    def least(self) -> int:
        """Return the length up to the start of the last tensor, and one byte of it."""
        if self.number("I") not in (2, 3):
            return 0
        tensors, pairs = self.number("Q"), self.number("Q")
        for _n in range(min(pairs, MOST_ROWS)):
            key = self.text()
            self.value(self.number("I"), key)
        last = 0
        for _n in range(min(tensors, MOST_ROWS)):
            self.text()
            dimensions = self.number("I")
            self.at += 8 * dimensions + 4
            last = max(last, self.number("Q"))
        return -(-self.at // self.alignment) * self.alignment + last + 1 if tensors else self.at


def _least_of_gguf(path: str, head: bytes, where: Sysroot) -> int:
    if not head.startswith(b"GGUF"):
        return 0
    content = where.read(path, MOST_HEADER) or b""
    try:
        return _Gguf(content).least()
    except (struct.error, KeyError, OverflowError):
        return len(content) + 1 if len(content) < MOST_HEADER else 0
