"""Files of models that a program loads in vain: checkpoints with more than tensors, and models of a newer form or of Keras 2. They are read, never unpickled.

Sources: PyTorch's documentation, "Serialization semantics": torch.save() writes a zip file, whose data.pkl names the classes of its objects;
torch/_weights_only_unpickler.py; ONNX Runtime's core/graph/model.cc: "Unsupported model IR version".
"""

from __future__ import annotations

import ast
import json
import re
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Literal, NamedTuple

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import argument, chain_of, constant, last_name, nodes_of, statements_of
from core.common.versions import is_older
from core.model.facts import Distribution, PythonEnvironment, path_text
from core.model.facts.framework_tools import UnfitTool
from core.probes.probe import ProbeRequest
from core.probes.python.installed.model_files import START_OF_ONNX, head_of_onnx
from core.probes.python.programs.program_folder import own_programs
from core.probes.python.text.lines_that_run import is_called, text_that_runs
from core.probes.python.text.path_expressions import PathNames
from core.probes.sysroot import Sysroot

SINCE = "2.6"
"""The first PyTorch whose torch.load() loads only tensors and plain data, unless it is told otherwise."""
ALLOWS = "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"
NEWEST_FORM = (("1.15", 8), ("1.18", 9), ("1.23", 10), ("1.24", 11))
"""ONNX Runtime before this release -> the newest form of a model that it opens, as its releases 1.14.1 to 1.23.2 say themselves."""
LEGACY = "TF_USE_LEGACY_KERAS"
REFUSED_BY_KERAS_3 = (
    (r"(?:Separable|Depthwise)Conv[12]D|Conv[123]DTranspose", "groups"),
    (r"LSTM|GRU|SimpleRNN", "time_major"),
)
"""Layers -> a setting that Keras 2 writes for each of them, and that Keras 3 does not take."""
_PICKLES = r"(?:(?:pickle|cPickle|joblib|dill|cloudpickle)\.load|(?:pd|pandas)\.read_pickle)\("
_LOADS = rf"\b(?:torch\.load\(|InferenceSession\(|load_model\(|{_PICKLES})"
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


OTHERS_PATHS = {"linux": "pathlib.WindowsPath", "windows": "pathlib.PosixPath"}
"""System -> the class of paths that is not made there: "cannot instantiate 'PosixPath' on your system" (pathlib.py of Python 3.11)."""


class Loaded(NamedTuple):
    """A file that a program gives to torch.load()."""

    file: str
    line: int
    holds: str
    """The class of an object in it that is none of what a checkpoint may hold."""


def refused_checkpoints(python: PythonEnvironment, request: ProbeRequest, where: Sysroot) -> Iterator[UnfitTool]:
    """Yield the first file that a program of the folder loads in vain: with whole objects and without a word about it, which PyTorch refuses
    since 2.6, or else with a path of another system.
    """
    torch = next((d for d in python.distributions if d.name == "torch"), None)
    if torch is None:
        return
    refuses = is_older(torch.version, SINCE) is False and not request.env.get(ALLOWS)
    programs = own_programs(request, where)
    if any(_PATCHES.search(its.text) for its in programs):
        return
    for its in programs:
        paths = OTHERS_PATHS[where.system]
        for by_word, only in ((False, "" if refuses else paths), (True, paths)):
            if ALLOWS in its.text or (only and only.partition(".")[2] in its.text):
                continue
            found = whole_objects_loaded(its.path, its.text, where, by_word=by_word, only=only)
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
                    model="paths" if only else "objects",
                )
                return


def _runs(text: str, line: int) -> bool:
    lines = text_that_runs(text, lambda f: is_called(f, _LOADS, (text,))).splitlines()
    return bool(lines) and bool(lines[line - 1].strip())


def whole_objects_loaded(path: str, text: str, where: Sysroot, *, by_word: bool, only: str = "") -> Loaded | None:
    """Return the first file with whole objects that a program gives torch.load(). ``by_word``: with ``weights_only=False``. ``only``: their class."""
    if "safe_globals" in text or (by_word and "weights_only" not in text):
        return None
    for file, node in _files_given(path, text, where, _loads_for_torch):
        if (
            constant(argument(node, "weights_only")) is False
            if by_word
            else argument(node, "weights_only") is None and all(w.arg for w in node.keywords)
        ) and (holds := _object_in(file, where, only)):
            return Loaded(file, node.lineno, holds)
    return None


def newer_models(python: PythonEnvironment, request: ProbeRequest, where: Sysroot) -> Iterator[UnfitTool]:
    """Yield the first ONNX model of a newer form than the ONNX Runtime knows with which a program of the folder opens it."""
    reader = next((d for d in python.distributions if d.name.startswith("onnxruntime")), None)
    newest = next((ir for below, ir in NEWEST_FORM if reader and is_older(reader.version, below)), 0)
    for its in own_programs(request, where) if newest else ():
        for file, node in _files_given(its.path, its.text, where, _opens_a_session):
            form = head_of_onnx(where.read(file, START_OF_ONNX) or b"").form if file.endswith(".onnx") else 0
            if reader and form > newest and _runs(its.text, node.lineno):
                yield _unfit_model(python, reader, its.path, node.lineno, file, str(form), str(newest), "newer")
                return


def models_of_keras_2(python: PythonEnvironment, request: ProbeRequest, where: Sysroot) -> Iterator[UnfitTool]:
    """Yield the first model of Keras 2 with a layer whose settings Keras 3 refuses, which a program of the folder loads with Keras 3."""
    reader = next((d for d in python.distributions if d.name == "keras" and is_older(d.version, "3") is False), None)
    for its in own_programs(request, where) if reader and request.env.get(LEGACY) not in ("1", "true", "True") else ():
        if "custom_object" in its.text or LEGACY in its.text or "tf_keras" in its.text:
            continue
        for file, node in _files_given(its.path, its.text, where, _loads_for_keras):
            layer, setting = refused_by_keras_3(
                (where.read(file, MOST_PICKLE) or b"") if file.endswith((".h5", ".hdf5")) else b""
            )
            if reader and layer and layer not in its.text and _runs(its.text, node.lineno):
                yield _unfit_model(python, reader, its.path, node.lineno, file, layer, setting, "keras-2")
                return


def refused_by_keras_3(data: bytes) -> tuple[str, str]:
    """Return class and setting of the first layer that Keras 3 does not make, of an HDF5 file that Keras 2 wrote; "" where there is none.

    The file holds the model's configuration as JSON, in one piece. Source: keras/src/layers of 3.15.1, whose layers do not take these.
    """
    start = data.find(b'{"class_name": "') if data.startswith(b"\x89HDF") else -1
    with suppress(ValueError):
        whole, _end = json.JSONDecoder().raw_decode(data[start:].decode("latin-1") if start >= 0 else "")
        for name, config in _layers_in(whole):
            if setting := next(
                (s for layers, s in REFUSED_BY_KERAS_3 if re.fullmatch(layers, name) and s in config), ""
            ):
                return name, setting
    return "", ""


def _layers_in(told: object) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the layers of a configuration, those inside others, too."""
    match told:
        case {"class_name": str() as name, "config": dict() as config}:
            yield name, config
            yield from _layers_in(config)
        case dict():
            for inner in told.values():
                yield from _layers_in(inner)
        case list():
            for inner in told:
                yield from _layers_in(inner)


def _unfit_model(  # noqa: PLR0917 - a file, its reader, and what both say
    python: PythonEnvironment,
    reader: Distribution,
    program: str,
    line: int,
    file: str,
    name: str,
    detail: str,
    model: Literal["newer", "keras-2"],
) -> UnfitTool:
    return UnfitTool(
        prefix=python.prefix,
        reader=f"{reader.name} {reader.version}",
        name=name,
        path=path_text(file),
        state="damaged",
        runs=False,
        detail=detail,
        called=path_text(f"{program}:{line}"),
        model=model,
    )


def _files_given(
    path: str, text: str, where: Sysroot, opens: Callable[[ast.expr], bool]
) -> Iterator[tuple[str, ast.Call]]:
    """Yield each file that a program gives first to such a function, with the call."""
    names, files = PathNames(path), dict[str, ast.expr]()
    for statement in statements_of(text):
        names.follow(statement)
    for node in nodes_of(text):
        match node:
            case (
                ast.withitem(context_expr=ast.Call() as made, optional_vars=ast.Name(id=name))
                | ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as made)
            ):
                files[name] = made
    for node in nodes_of(text):
        if not (isinstance(node, ast.Call) and node.args and opens(node.func)):
            continue
        first = files.get(node.args[0].id, node.args[0]) if isinstance(node.args[0], ast.Name) else node.args[0]
        if isinstance(first, ast.Call) and last_name(first.func) == "open" and first.args:
            first = first.args[0]
        if file := names.value_of(first):
            yield file if where.path_module.isabs(file) else where.join(where.parent(path), file), node


class Pickled(NamedTuple):
    """A class or a function that a file names which a program loads."""

    file: str
    line: int
    call: str
    module: str
    name: str


def pickled_names(path: str, text: str, where: Sysroot) -> Iterator[Pickled]:
    """Yield what the pickles name that a program surely loads; nothing where it chooses itself what a name stands for."""
    if not _UNPICKLES.search(text) or _CHOOSES.search(text):
        return
    for file, node in _files_given(path, text, where, _unpickles):
        data = (where.read(file, MOST_PICKLE) or b"") if _runs(text, node.lineno) else b""
        its_own = "pandas." if last_name(node.func) == "read_pickle" else "\0"  # what pandas moved it finds itself
        for module, name in (n for n in _names_in(data) if not n[0].startswith(its_own)):
            yield Pickled(file, node.lineno, ".".join(chain_of(node.func)), module, name)


_UNPICKLES = late_pattern(rf"\b{_PICKLES}")
_CHOOSES = late_pattern(r"\bUnpickler\b|\bsys\.modules\b|\bfind_class\b")


def _unpickles(function: ast.expr) -> bool:
    chain = chain_of(function)
    return len(chain) == 2 and _UNPICKLES.match(f"{chain[0]}.{chain[1]}(") is not None


def _names_in(data: bytes) -> Iterator[tuple[str, str]]:
    """Yield module and name of each global that a pickle asks for; nothing more once something cannot be read.

    Source: Lib/pickletools.py of CPython, "GLOBAL" and "STACK_GLOBAL".
    """
    import pickletools  # seldom needed

    kept: list[object] = []
    pushed: list[object] = []
    with suppress(ValueError, EOFError, struct.error):
        for op, arg, _at in pickletools.genops(data):
            if op.name == "GLOBAL":
                module, _blank, name = str(arg).partition(" ")
                yield module, name
            elif op.name == "STACK_GLOBAL" and len(pushed) > 1 and all(isinstance(p, str) for p in pushed[-2:]):
                yield str(pushed[-2]), str(pushed[-1])
            if op.name == "MEMOIZE":
                kept.append(pushed[-1] if pushed else None)
            elif op.name in ("BINGET", "LONG_BINGET"):
                pushed.append(kept[arg] if isinstance(arg, int) and arg < len(kept) else None)
            elif op.name not in ("PROTO", "FRAME"):
                pushed.append(arg)


def _loads_for_torch(function: ast.expr) -> bool:
    match function:
        case ast.Attribute(value=ast.Name(id="torch"), attr="load"):
            return True
        case _:
            return False


def _loads_for_keras(function: ast.expr) -> bool:
    return last_name(function) == "load_model"


def _opens_a_session(function: ast.expr) -> bool:
    return last_name(function) == "InferenceSession"


def _object_in(path: str, where: Sysroot, only: str) -> str:
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
    names = [w.replace(" ", ".").replace("__builtin__.", "builtins.") for w in words if isinstance(w, str)]
    if only:
        return only if only in names else ""
    return next((n for n in names if n.startswith(MODULES) or not (n.startswith("torch.") or n in WITH_TENSORS)), "")
