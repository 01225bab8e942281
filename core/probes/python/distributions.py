"""Installed Python distributions that matter here, from the headers of their metadata."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.model.facts import Distribution, path_text
from core.probes.sysroot import Sysroot

RELEVANT_DISTRIBUTION = re.compile(
    r"(nvidia-.*|torch|torchvision|torchaudio|tensorflow.*|tf-nightly.*|keras|jax.*|onnxruntime.*|ctranslate2|faster-whisper"
    r"|xformers|bitsandbytes|flash-attn.*|torchao|torch-[a-z].*|pytorch3d|deepspeed|vllm|llama-cpp-python|cupy.*|paddlepaddle.*|mxnet.*|tensorrt.*|opencv-.*|numba.*|pynvml|triton.*|cuda-toolkit)"
)
"""Normalised names of the distributions that are listed."""

MAX_METADATA_BYTES = 256 << 10
"""Bytes of metadata that are read; the headers come first, long descriptions after them."""

_FOLDER = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._]*?)(?:-(?P<version>[^-]+))?(?:-py[\d.]+)?\.(?:dist|egg)-info")


def normalise_name(name: str) -> str:
    """Return a distribution's name as it is compared: PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower()


def find_distributions(folder: str, where: Sysroot) -> tuple[Distribution, ...] | None:
    """Return the distributions in one folder of packages, duplicates too; None when it cannot be listed."""
    names = where.names(folder)
    if names is None:
        return None
    return tuple(d for n in names if n.endswith(("-info",)) for d in _distribution(folder, n, where))


def _distribution(folder: str, entry: str, where: Sysroot) -> Iterator[Distribution]:
    m = _FOLDER.fullmatch(entry)
    if not m or not RELEVANT_DISTRIBUTION.fullmatch(normalise_name(m["name"])):
        return
    path = where.join(folder, entry)
    files = (path,) if where.is_file(path) else tuple(where.join(path, n) for n in ("METADATA", "PKG-INFO"))
    content = next((t for f in files if (t := where.text(f, MAX_METADATA_BYTES)) is not None), "")
    headers = tuple(_headers(content))
    wishes = tuple(v for k, v in headers if k == "requires-dist")
    name = next((v for k, v in headers if k == "name"), m["name"])
    yield Distribution(
        name=normalise_name(name)
        if RELEVANT_DISTRIBUTION.fullmatch(normalise_name(name))
        else normalise_name(m["name"]),
        version=next((v for k, v in headers if k == "version"), m["version"] or ""),
        location=path_text(folder),
        requires=tuple(v for v in wishes if normalise_name(v).startswith("nvidia-")),
        pins=tuple(
            v
            for v in wishes
            if not normalise_name(v).startswith("nvidia-") and RELEVANT_DISTRIBUTION.fullmatch(_required_name(v))
        ),
    )


def _required_name(requirement: str) -> str:
    """Return the distribution that a requirement names, as it is compared; empty for none."""
    found = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", requirement)
    return normalise_name(found[0]) if found else ""


def _headers(content: str) -> Iterator[tuple[str, str]]:
    """Yield the fields before the first empty line, names in lower case; continued lines do not matter here."""
    for line in content.splitlines():
        if not line.strip():
            return
        name, colon, value = line.partition(":")
        if colon and not line[0].isspace():
            yield name.lower(), value.strip()
