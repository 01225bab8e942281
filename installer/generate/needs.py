"""Which cuDNN and which CUDA each release of a framework needs, by its wheels: the majors in cudnn.json."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from core.common.versions import version_tuple
from core.knowledge.library_names import parse_library_name
from installer.generate.rows import Row, changes, minor, next_minor, of_package

CUDNN_WANTED = re.compile(r"nvidia-cudnn-cu\d+\b[^;]*?[=>~]=(\d+)")
CUDA_WANTED = re.compile(r"nvidia-cuda-runtime(?:-cu\d+)?\b[^;]*?[=>~]=(\d+)")


@dataclass(frozen=True)
class Framework:
    """A row of cudnn.json, and the package whose wheels tell its majors."""

    distribution: str
    package: str
    cuda: bool = False
    """Whether the table says which CUDA its releases are for."""


FRAMEWORKS = (
    Framework("tensorflow(-gpu|-intel)?|tf-nightly", "tensorflow"),
    Framework("jax-cuda1[0-9]-(plugin|pjrt)", "jax-cuda12-plugin"),
    Framework("onnxruntime-gpu", "onnxruntime-gpu", cuda=True),
    Framework("ctranslate2", "ctranslate2", cuda=True),
)


def named_libraries(row: Row) -> list[str]:
    """Return the libraries that a wheel needs, preloads or opens by name."""
    return [name for key in ("needs", "preloads", "opens") for name in row.get(key, ())]


def cudnn_major(row: Row) -> int | None:
    """Return the cuDNN that a wheel is for; 0: none, for it was read whole and names none; None: it does not tell."""
    for asked in row["requires"]:
        if found := CUDNN_WANTED.match(asked):
            return int(found[1])
    majors = {its.major for n in named_libraries(row) if (its := parse_library_name(n)) and its.family == "cudnn"}
    if majors:
        return majors.pop() if len(majors) == 1 else None
    return 0 if row.get("code") and not row["large"] else None


def cuda_major(row: Row) -> int | None:
    """Return the major version of the CUDA that a wheel is for; None: it does not tell."""
    for text in row.get("cuda", ()):
        return version_tuple(text)[0]
    for asked in row["requires"]:
        if found := CUDA_WANTED.match(asked):
            return int(found[1])
    names = (parse_library_name(n) for n in named_libraries(row))
    majors = {its.major for its in names if its and its.family in ("cublas", "cudart")}
    return majors.pop() if len(majors) == 1 else None


def updated_framework(old: Row, its: Framework, wheels: Sequence[Row]) -> Row:
    """Return a row with the majors that the wheels tell."""
    read = of_package(wheels, its.package)
    if not read:
        return old
    row = old | {"majors": changes(read, cudnn_major, old["majors"]) or old["majors"]}
    if "newest" in old:
        row["newest"] = minor(read[-1]["version"])
    return row | {"cuda": cuda_spans(read, old.get("cuda", ()))} if its.cuda else row


def cuda_spans(read: Sequence[Row], old: Sequence[Row]) -> list[Row]:
    """Return for which CUDA the releases are, each span up to the next, the last up to the release after the newest."""
    told = changes(read, cuda_major, old)
    ends = [row["from"] for row in told[1:]] + [next_minor(read[-1]["version"])]
    return [{"from": "", "below": ""} | row | {"below": end} for row, end in zip(told, ends, strict=False)] or list(old)


def framework_rows(old: Sequence[Row], wheels: Sequence[Row]) -> list[Row]:
    """Return the frameworks' rows of cudnn.json by the wheels."""
    known = {its.distribution: its for its in FRAMEWORKS}
    return [
        updated_framework(row, known[row["distribution"]], wheels) if row["distribution"] in known else row
        for row in old
    ]
