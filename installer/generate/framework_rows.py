"""The rows of frameworks.json, by the wheels of PyTorch, torchvision, torchaudio, TensorFlow and jax's plug-ins."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from core.common.versions import version_tuple
from installer.generate.rows import Row, difference, minor, newest_of, of_package, required, wheel, written

PACKAGES = ("torch", "torchvision", "torchaudio", "tensorflow", "jax-cuda12-plugin", "jax-cuda13-plugin")
PYTHON_PART = "torch/lib/libtorch_python.so"
"""Where PyTorch keeps its answer to torch.cuda.get_arch_list()."""
CUDA = re.compile(r"(?:cuda-toolkit\[.*\]|nvidia-cuda-runtime(?:-cu1\d)?) ?\(?[=<>,.\d]*?[=>]=(\d+\.\d+)")
CUDNN = re.compile(r"nvidia-cudnn-cu1\d ?\(?[=<>,.\d]*?[=>]=(\d+\.\d+)")
TORCH = re.compile(r"torch ?\(?([=>])=(\d+\.\d+)")


def pythons(row: Row) -> tuple[int, int] | None:
    """Return the first and the last minor Python 3 that has wheels; None where one wheel serves all."""
    tags = [int(t.removeprefix("cp3")) for t in row["pythons"] if re.fullmatch(r"cp3\d+", t)]
    return (min(tags), max(tags)) if tags else None


def source(row: Row) -> str:
    """Return the words that name a wheel as the source of a row."""
    return f"tags and Requires-Dist of {wheel(row)}"


def torch_rows(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the default build of each PyTorch for Linux; its other builds are not in the index."""
    on_arm = {
        r["version"] for r in rows if r["package"] == "torch" and r["system"] == "linux-aarch64" and required(CUDA, r)
    }
    for row in newest_of(rows, "torch"):
        cuda, its = required(CUDA, row), pythons(row)
        if cuda and its:
            yield {
                "torch": minor(row["version"]),
                "cuda": cuda,
                **({"processors": ["x86_64", "aarch64"]} if row["version"] in on_arm else {}),
                "python": f">=3.{its[0]}, <=3.{its[1]}",
                "stable": True,
                "source": source(row),
                "verified": True,
            }  # fmt: skip


def code_rows(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield what the default builds of PyTorch were built for, by their own list."""
    for row in newest_of(rows, "torch"):
        built = row.get("built_for", {}).get(PYTHON_PART, ())
        sass = sorted(int(n) for w in built if w.startswith("sm_") and (n := w.removeprefix("sm_")).isdigit())
        if cuda := required(CUDA, row) if sass else "":
            its = minor(row["version"])
            words = f"{Path(PYTHON_PART).name} in the wheel {row['source']}"
            yield {
                "from": its,
                "to": its,
                "cuda": cuda,
                "system": "linux",
                "sass": sass,
                "ptx": [],
                "source": words,
                "verified": True,
            }


def companion_rows(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield torchvision and torchaudio beside PyTorch: by an exact pin, else the newest that asks for no newer PyTorch."""
    for torch in newest_of(rows, "torch"):
        its = minor(torch["version"])
        beside, read = {}, []
        for package in ("torchvision", "torchaudio"):
            fit = [r for r in newest_of(rows, package) if _goes_with(r, its)]
            if fit:
                beside[package] = minor(fit[0]["version"])
                read.append(f"{package} {fit[0]['version']}")
        if "torchvision" in beside:
            said = f"Requires-Dist of the wheels of {' and '.join(read)}"
            yield {"torch": its, **beside, "source": said, "verified": True}


def _goes_with(row: Row, torch: str) -> bool:
    found = next((m for r in row["requires"] if (m := TORCH.match(r))), None)
    if found is None:
        return False
    wanted, here = version_tuple(found[2]), version_tuple(torch)
    return wanted == here if found[1] == "=" else wanted <= here


def tensorflow_rows(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield TensorFlow's builds with CUDA, by what tensorflow[and-cuda] requires."""
    for row in newest_of(rows, "tensorflow"):
        cuda, cudnn, its = required(CUDA, row), required(CUDNN, row), pythons(row)
        if cuda and cudnn and its:
            yield {
                "tensorflow": minor(row["version"]),
                "package": "tensorflow",
                "system": "linux",
                "python": f"3.{its[0]}-3.{its[1]}",
                "cudnn": cudnn,
                "cuda": cuda,
                "source": source(row),
                "verified": True,
            }


KEYS = {
    "torch": ("torch", "cuda"),
    "torch_code": ("from", "to", "cuda", "system"),
    "companions": ("torch",),
    "tensorflow": ("tensorflow", "package", "system"),
}
READERS = {"torch": torch_rows, "torch_code": code_rows, "companions": companion_rows, "tensorflow": tensorflow_rows}
NO_FACTS = ("source", "verified", "stable", "processors")


def with_first_plugins(old: Sequence[Row], wheels: Sequence[Row]) -> list[Row]:
    """Return the rows of jax's plug-ins, each with the first release that has one; the rest is from their guide."""
    rows = []
    for row in old:
        read = of_package(wheels, row["plugin"])
        rows.append(row | {"first": read[0]["version"], "first_source": wheel(read[0])} if read else row)
    return rows


def merged(section: str, old: Sequence[Row], read: Sequence[Row]) -> tuple[list[Row], list[str]]:
    """Return a section's rows with what was read, and what the wheels contradict but do not replace."""
    rows, against = list(old), []
    for new in read:
        if section == "torch_code":
            over = [r for r in rows if _covers(r, new)]
            against += [f"! {r} but {new['source']} has {new['sass']}" for r in over if r["sass"] != new["sass"]]
            if over:
                continue
        same = next((r for r in rows if all(r.get(k) == new[k] for k in KEYS[section])), None)
        if same is None:
            at = next((n for n, r in enumerate(rows) if _release(r) < _release(new)), len(rows))
            rows.insert(at, new)
        elif not agrees(same, new):
            rows[rows.index(same)] = same | new
    # this section has the oldest first
    return sorted(rows, key=_release) if section == "companions" else rows, against


def _release(row: Row) -> tuple[int, ...]:
    return version_tuple(row.get("torch") or row.get("from") or row.get("tensorflow") or "")


def _covers(row: Row, new: Row) -> bool:
    alike = (row["cuda"], row["system"], row.get("processor", "x86_64")) == (new["cuda"], new["system"], "x86_64")
    return alike and version_tuple(row["from"]) <= version_tuple(new["from"]) <= version_tuple(row["to"])


def agrees(old: Row, new: Row) -> bool:
    """Whether a row says what a wheel says, as far as both tell; a Python that a source calls experimental is to come."""
    for field, value in new.items():
        if field in NO_FACTS or field not in old:
            continue
        if field == "python" and "exp" in old[field]:
            told, here = ([int(n) for n in re.findall(r"3\.(\d+)", text)] for text in (old[field], value))
            if told[0] == here[0] and here[-1] <= told[-1]:
                continue
        if old[field] != value:
            return False
    return True


def updated(text: str, releases: Sequence[Row]) -> tuple[str, list[str]]:
    """Return the table's text with what the wheels say, and a line for each change and each contradiction."""
    table = json.loads(text)
    said: list[str] = []
    for section, reader in READERS.items():
        rows, against = merged(section, table[section], list(reader(releases)))
        said += difference(section, table[section], rows) + against
        text = written(text, section, rows)
    plugins = with_first_plugins(table["jax"], releases)
    return written(text, "jax", plugins), said + difference("jax", table["jax"], plugins)
