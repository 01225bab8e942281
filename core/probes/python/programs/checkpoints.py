"""Checkpoints with more than tensors, which a program loads as whole objects. They are read, never unpickled.

Sources: PyTorch's documentation, "Serialization semantics": torch.save() writes a zip file, whose data.pkl names the classes of its objects;
torch/_weights_only_unpickler.py.
"""

from __future__ import annotations

import ast
import re
import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import argument, constant, nodes_of, statements_of
from core.common.versions import is_older
from core.model.facts import PythonEnvironment, path_text
from core.model.facts.framework_tools import UnfitTool
from core.probes.probe import ProbeRequest
from core.probes.python.programs.program_calls import is_called, text_that_runs
from core.probes.python.programs.program_folder import own_programs
from core.probes.python.text.path_expressions import PathNames
from core.probes.sysroot import Sysroot

SINCE = "2.6"
"""The first PyTorch whose torch.load() loads only tensors and plain data, unless it is told otherwise."""
ALLOWS = "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"
_LOADS = r"torch\.load\("
_PATCHES = late_pattern(r"\btorch\.load[ \t]*=(?!=)|\bpatch(?:\.object)?\([^\n]{0,40}\bload\b|setattr\(torch,")
"""Another function in the place of torch.load(), often one that asks for whole objects again."""

MOST_PICKLE = 8 << 20
WITH_TENSORS = frozenset(
    (
        "collections.OrderedDict",
        "collections.Counter",
        "_codecs.encode",
        "builtins.bytearray",
        "builtins.complex",
        "builtins.set",
    )
)
"""What a checkpoint may hold beside PyTorch's own tensors, types and sizes."""
MODULES = "torch.nn.modules."
"""PyTorch's own layers, which are whole objects."""


class Loaded(NamedTuple):
    """A file that a program gives to torch.load()."""

    file: str
    line: int
    holds: str
    """The class of an object in it that is none of what a checkpoint may hold."""


def refused_checkpoints(python: PythonEnvironment, request: ProbeRequest, where: Sysroot) -> Iterator[UnfitTool]:
    """Yield the first file with whole objects that a program of the folder loads without a word about it: PyTorch refuses it since 2.6."""
    torch = next((d for d in python.distributions if d.name == "torch"), None)
    if torch is None or is_older(torch.version, SINCE) is not False or request.env.get(ALLOWS):
        return
    programs = own_programs(request, where)
    if any(_PATCHES.search(its.text) for its in programs):
        return
    for its in programs:
        found = whole_objects_loaded(its.path, its.text, where, by_word=False) if ALLOWS not in its.text else None
        if found and _runs(its.text, found.line):
            yield UnfitTool(
                prefix=python.prefix,
                reader=f"torch {torch.version}",
                name=where.name(found.file),
                path=path_text(found.file),
                state="damaged",
                runs=False,
                detail=found.holds,
                called=path_text(f"{its.path}:{found.line}"),
                model="objects",
            )
            return


def _runs(text: str, line: int) -> bool:
    lines = text_that_runs(text, lambda f: is_called(f, _LOADS, (text,))).splitlines()
    return bool(lines) and bool(lines[line - 1].strip())


def whole_objects_loaded(path: str, text: str, where: Sysroot, *, by_word: bool) -> Loaded | None:
    """Return the first file with whole objects that a program gives to torch.load(); None where none is seen.

    ``by_word``: with ``weights_only=False``; else without that word.
    """
    if "safe_globals" in text or (by_word and "weights_only" not in text):
        return None
    names = PathNames(path)
    for statement in statements_of(text):
        names.follow(statement)
    for node in nodes_of(text):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr="load"), args=[given, *_]) if (
                constant(argument(node, "weights_only")) is False
                if by_word
                else argument(node, "weights_only") is None and all(w.arg for w in node.keywords)
            ):
                name = names.value_of(given) or ""
                file = name if where.path_module.isabs(name) else where.join(where.parent(path), name)
                if name and (holds := _object_in(file, where)):
                    return Loaded(file, node.lineno, holds)
    return None


def _object_in(path: str, where: Sysroot) -> str:
    if not where.is_file(path):
        return ""
    import pickletools  # seldom needed
    import zipfile

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
    names = (w.replace(" ", ".").replace("__builtin__.", "builtins.") for w in words if isinstance(w, str))
    return next((n for n in names if n.startswith(MODULES) or not (n.startswith("torch.") or n in WITH_TENSORS)), "")
