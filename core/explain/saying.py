"""What a message says by itself: its meaning, and the things that it names."""

from __future__ import annotations

import re

from core.common.i18n import _, join_sentences
from core.common.late_pattern import late_pattern
from core.common.text import printable
from core.explain import dictionary
from core.explain.context import Version, compiled_and_loaded
from core.explain.mechanism.frameworks import FRAMEWORK_DISTRIBUTIONS
from core.explain.mechanism.objections import CAPABILITY_PATTERN, GPU_MODEL_PATTERN
from core.explain.model import CodeMeaning, NamedThing, TextSummary
from core.explain.reading import ParsedText

MAX_NAMED_THINGS = 4
"""Maximum number of things of one kind that are named."""
"""Ends and names of the families of codes that say what went wrong."""
FRAMEWORK_NAMES = {
    "pytorch": "PyTorch",
    "tensorflow": "TensorFlow",
    "jax": "JAX",
    "onnxruntime": "ONNX Runtime",
    "ctranslate2": "CTranslate2",
    "paddle": "PaddlePaddle",
    "cupy": "CuPy",
    "mxnet": "MXNet",
    "opencv": "OpenCV",
}
_DRIVER_CUDA = late_pattern(r"found version (\d{1,2})(0\d)0\b")
"""PyTorch's notation for the driver's newest CUDA: 11040 is 11.4."""
_SYMBOL = late_pattern(r"undefined symbol: (\w{3,80})|cannot load symbol (\w{3,80})", re.IGNORECASE)


def summarise_text(reading: ParsedText, codes: tuple[CodeMeaning, ...]) -> TextSummary:
    """Return what a text says; ``codes``: the dictionary's meanings of its codes and messages."""
    return TextSummary(meaning=_meaning(reading, codes), names=tuple(named_things(reading, codes)))


def _meaning(reading: ParsedText, codes: tuple[CodeMeaning, ...]) -> str:
    pair = compiled_and_loaded(reading.low)
    if pair:
        return version_meaning(*pair)
    # a status says that memory was short, and a size that no GPU has says more
    codes = tuple(c for c in codes if not c.kind) if "impossible-size" in reading.marks else codes
    status = next((c for c in codes if c.kind or c.term.startswith("Xid ")), None)
    file = next((x for x in reading.blamed if x.family not in ("framework", "")), None)
    if file is not None:
        return join_sentences(
            file_meaning(reading.as_written(file), reading, status), dictionary.library_meaning(file).meaning
        )
    opened = next(iter(reading.opened), None)
    there = (
        _("{file} was found and opened before that: it is not missing.", file=reading.as_written(opened))
        if opened
        else ""
    )
    known = status or next((c for c in codes if c.meaning), None)
    number = _DRIVER_CUDA.search(reading.low)
    newest = (
        _("The number means: this driver runs CUDA up to {version}.", version=f"{number[1]}.{int(number[2])}")
        if number
        else ""
    )
    return join_sentences(known.meaning, newest, there, known.usually) if known else join_sentences(newest, there)


def version_meaning(built: Version, found: Version) -> str:
    """Return the meaning of a message that compares the cuDNN of the build with the loaded one."""
    values = {"built": _version_text(built), "found": _version_text(found)}
    if built[0] != found[0]:
        return _(
            "The program was built with cuDNN {built} and found cuDNN {found} at runtime: another major "
            "version, with which it cannot work.",
            **values,
        )
    if found < built:
        return _(
            "The program was built with cuDNN {built} and found cuDNN {found} at runtime: an older one than it needs.",
            **values,
        )
    return _(
        "The program was built with cuDNN {built} and found cuDNN {found} at runtime: not the one that "
        "it includes or was built for.",
        **values,
    )


def file_meaning(file: str, reading: ParsedText, status: CodeMeaning | None) -> str:
    """Return the meaning of a message about a library, whose file has this name."""
    marks = reading.marks
    if "win:126" in marks:
        return _(
            "Windows did not load {file}. Error 126 means that the file itself, or a library that it depends "
            "on, was not found.",
            file=file,
        )
    if marks & {"win:127", "lib-mismatch-symbol"}:
        return _(
            "{file} was found, but a function is missing in it or in a library that it needs: files of two "
            "releases are mixed.",
            file=file,
        )
    if marks & {"win:193", "wrong-arch"}:
        return _("{file} was found, but it was built for another kind of processor, or is damaged.", file=file)
    if "truncated" in marks:
        return _("{file} was found, but it is not in its original state.", file=file)
    if "permission" in marks:
        return _("{file} was found, but this user has no permission to open it.", file=file)
    if status is not None and status.kind == "windows error":
        return f"{file}: {status.meaning}"
    return _("The program asked for {file}, and the loader did not find it, or could not load it.", file=file)


def named_things(reading: ParsedText, codes: tuple[CodeMeaning, ...]) -> list[NamedThing]:
    """Return the things that a text names: files, statuses, symbols, versions, frameworks, GPUs, the system."""
    found: list[tuple[str, list[str]]] = [
        ("file", [reading.as_written(x) for x in (*reading.blamed, *reading.libraries)]),
        (
            "status",
            [f"{c.term} ({c.number})" if c.number else c.term for c in codes if c.kind],
        ),
        ("symbol", [m[1] or m[2] for m in _SYMBOL.finditer(reading.text)]),
        ("version", [f"cuDNN {_version_text(v)}" for v in compiled_and_loaded(reading.low) or ()]),
        ("framework", [FRAMEWORK_NAMES[mark] for mark in FRAMEWORK_DISTRIBUTIONS if mark in reading.marks]),
        (
            "device",
            [m[1].upper() for m in GPU_MODEL_PATTERN.finditer(reading.low)]
            + [
                _("compute capability {compute_capability}", compute_capability=f"{m[1]}.{m[2]}")
                for m in CAPABILITY_PATTERN.finditer(reading.low)
            ],
        ),
        ("system", [{"windows": "Windows", "linux": "Linux"}[s] for s in ("windows", "linux") if s in reading.marks]),
    ]
    return [
        NamedThing(kind=kind, name=printable(name))  # type: ignore[arg-type]  # the table above has the kinds
        for kind, all_names in found
        for name in list(dict.fromkeys(all_names))[:MAX_NAMED_THINGS]
    ]


def _version_text(version: Version) -> str:
    return ".".join(map(str, version))
