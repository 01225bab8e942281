"""Checkpoints with more than tensors, which a program loads as whole objects. They are read, never unpickled.

Sources: PyTorch's documentation, "Serialization semantics": torch.save() writes a zip file, whose data.pkl names the classes of its objects;
torch/_weights_only_unpickler.py.
"""

from __future__ import annotations

import ast
import pickletools
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator

from core.common.syntax_tree import argument, constant, nodes_of
from core.probes.sysroot import Sysroot

MOST_PICKLE = 8 << 20
WITH_TENSORS = frozenset(("torch", "collections", "builtins", "__builtin__", "numpy", "_codecs"))
"""Modules of what a checkpoint may hold; some names of NumPy's and Python's may not, which nothing here tells apart."""


def whole_objects_loaded(path: str, text: str, where: Sysroot) -> str:
    """Return the class of an object in a file that a program gives to torch.load() with weights_only=False; empty where none is seen."""
    if "weights_only" not in text or "safe_globals" in text:
        return ""
    for name in _loaded(text):
        file = name if where.path_module.isabs(name) else where.join(where.parent(path), name)
        if found := _object_in(file, where):
            return found
    return ""


def _loaded(text: str) -> Iterator[str]:
    for node in nodes_of(text):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="torch"), attr="load"), args=[ast.Constant(value=str(name)), *_]
            ) if constant(argument(node, "weights_only")) is False:
                yield name


def _object_in(path: str, where: Sysroot) -> str:
    if not where.is_file(path):
        return ""
    try:
        with zipfile.ZipFile(where.local_path(path)) as archive:
            info = next((i for i in archive.infolist() if re.fullmatch(r"[^/]+/data\.pkl", i.filename)), None)
            if info is None or info.file_size > MOST_PICKLE:
                return ""
            words = [arg for op, arg, _at in pickletools.genops(archive.read(info)) if op.name == "GLOBAL"]
    except (
        OSError,
        ValueError,
        zipfile.BadZipFile,
        NotImplementedError,
        RuntimeError,
        EOFError,
        struct.error,
        zlib.error,
    ):
        return ""  # no archive, or a damaged one
    return next(
        (
            w.replace(" ", ".")
            for w in words
            if isinstance(w, str) and w.partition(" ")[0].partition(".")[0] not in WITH_TENSORS
        ),
        "",
    )
