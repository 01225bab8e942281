"""Installed Python distributions that matter for GPU frameworks, from the headers of their metadata."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial

from core.common.late_pattern import late_pattern
from core.common.patience import call_patiently
from core.knowledge.modules import module_of
from core.loader.earlier_reads import earlier_or_new, lasting_identity
from core.model.facts import Distribution, path_text
from core.probes.sysroot import Sysroot
from core.probes.wheel_record import read_record

RELEVANT_DISTRIBUTION = late_pattern(
    r"(nvidia-.*|torch|torchvision|torchaudio|tensorflow.*|tf-nightly.*|keras|jax.*|onnxruntime.*|ctranslate2|faster-whisper"
    r"|xformers|bitsandbytes|flash-attn.*|torchao|torch-[a-z].*|pytorch3d|deepspeed|vllm|llama-cpp-python|cupy.*|paddlepaddle.*|mxnet.*"
    r"|tensorrt.*|cutensor-.*|opencv-.*|numba.*|pynvml|triton.*|cuda-toolkit|numpy|transformers|libtpu.*)"
)
"""Normalised names of the distributions that are always listed."""

ANCHORS = late_pattern(
    r"(torch|torchvision|torchaudio|tensorflow|keras|jax|jaxlib|onnxruntime|ctranslate2|triton|cupy-cuda\d+x|numba"
    r"|numpy|protobuf|ml-dtypes)"
)
"""Requirements that are kept for all other distributions of a near environment."""

CLIENTS = frozenset((
    "anthropic", "gitpython", "google-auth", "httpx", "huggingface-hub", "imageio-ffmpeg", "kaggle", "mlflow", "mlflow-skinny", "nltk", "openai", "pygame", "pygame-ce", "pysocks", "requests", "socksio",
))  # fmt: skip
"""Distributions that are listed for a near environment, since variables with a contract decide what they can do."""

FIRST_BYTES, MAX_METADATA_BYTES = 8 << 10, 256 << 10
"""Bytes of metadata to read: first the headers only, then the whole file. A long description may follow the headers."""

BESIDES = frozenset(("test", "tests", "docs", "examples", "benchmarks", "scripts", "tools"))
"""Folders that packages install beside their own by mistake."""

_SOURCE = late_pattern(r"(?m)^([A-Za-z]\w*)(?:/__init__)?\.py,")
_COMPILED = late_pattern(r"(?m)^([A-Za-z]\w*)\.[\w.-]+\.(?:so|pyd),")
"""Modules of the top level in a RECORD."""

_FOLDER = late_pattern(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._]*?)(?:-(?P<version>[^-]+))?(?:-py[\d.]+)?\.(?:dist|egg)-info")


_SEPARATORS = late_pattern(r"[-_.]+")
_NAME = late_pattern(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_FIELDS = ("n", "v", "r")
"""First letters of the fields that are read: name, version, requires-dist."""


def normalise_name(name: str) -> str:
    """Return a distribution's normalised name (PEP 503)."""
    return _SEPARATORS.sub("-", name).lower()


def find_distributions(folder: str, where: Sysroot, *, every: bool = False) -> tuple[Distribution, ...] | None:
    """Return the distributions in one folder of packages, duplicates included; None if it cannot be listed.

    ``every`` adds those that require one of ANCHORS, those of CLIENTS, and those that another listed one requires.
    """
    found = read_distributions(folder, where, every=every)
    return None if found is None else that_matter(found)


def read_distributions(folder: str, where: Sysroot, *, every: bool) -> tuple[Distribution, ...] | None:
    """Return every distribution in one folder, for ``that_matter``; without ``every``, those alone that are always listed."""
    if folder.endswith(".egg"):
        return tuple(d for d in of_egg(folder, where) if every or is_relevant(d.name))
    names = where.names(folder)
    if names is None:
        return None
    return tuple(d for n in names if n.endswith("-info") for d in _distribution(folder, n, where, every=every))


def that_matter(found: Sequence[Distribution]) -> tuple[Distribution, ...]:
    """Return those that are listed, of one search path: what one folder's package requires may be in another folder."""
    wanted = {
        name
        for d in found
        for r in (*d.requires, *d.pins)
        if (name := required_name(r)) and (is_relevant(d.name) or _is_part(name, d.name))
    }
    return tuple(
        d
        for d in found
        if is_relevant(d.name) or d.pins or d.name in wanted or d.name in CLIENTS or d.location.endswith(".egg")
    )


def all_requirements(folder: str, where: Sysroot) -> tuple[Distribution, ...]:
    """Return every distribution in a folder of packages: ``pins`` holds all unconditional requirements, ``requires`` those of extras."""
    if folder.endswith(".egg"):
        return of_egg(folder, where)
    found = []
    for entry in where.names(folder) or ():
        if (m := _FOLDER.fullmatch(entry)) and entry.endswith(".dist-info"):
            wishes = [v for k, v in _headers(_metadata(where.join(folder, entry), where)) if k == "requires-dist"]
            extra = tuple(v for v in wishes if "extra" in v.partition(";")[2])
            found.append(
                Distribution(
                    name=normalise_name(m["name"]),
                    version=m["version"] or "",
                    location=path_text(folder),
                    requires=extra,
                    pins=tuple(v for v in wishes if v not in extra),
                )
            )
    return tuple(found)


def recorded_module(distribution: Distribution, where: Sysroot, *, compiled: bool = False) -> str:
    """Return the module that a distribution is imported by, as its RECORD lists it: that of its name, its part of a namespace,
    or the only one that it has; empty where that is not plain. ``compiled``: extension modules count, too.
    """
    record = read_record(distribution, where)
    module, inner = module_of(distribution.name), distribution.name.replace("-", "/")
    source = set(_SOURCE.findall(record))
    extensions = set(_COMPILED.findall(record)) if compiled else set()
    if module in source | extensions:
        return module
    if re.search(rf"(?m)^{inner}/__init__\.py,", record):
        return inner.replace("/", ".")
    own = source - BESIDES or extensions
    return own.pop() if len(own) == 1 else ""


def of_egg(path: str, where: Sysroot) -> tuple[Distribution, ...]:
    """Return the only distribution of an egg, a folder or an archive on the search path; its metadata lie in EGG-INFO.

    Source: https://setuptools.pypa.io/en/latest/deprecated/python_eggs.html; importlib.metadata, Lookup.
    """
    name, _dash, rest = where.name(path).removesuffix(".egg").partition("-")
    said, required = (_in_egg(path, f, where) for f in ("PKG-INFO", "requires.txt"))
    if not said or not name:
        return ()
    headers = tuple(_headers(said))
    wishes = [v for k, v in headers if k == "requires-dist" and "extra" not in v.partition(";")[2]]
    wishes += [line.strip() for line in required.partition("\n[")[0].splitlines() if line.strip()[:1].isalpha()]
    return (
        Distribution(
            name=normalise_name(name),
            version=next((v for k, v in headers if k == "version"), rest.partition("-")[0]),
            location=path_text(path),
            pins=tuple(dict.fromkeys(wishes)),
        ),
    )


def _in_egg(path: str, name: str, where: Sysroot) -> str:
    """Return a text of an egg's metadata; empty for none."""
    if not where.is_file(path):
        return where.text(where.join(path, "EGG-INFO", name), MAX_METADATA_BYTES) or ""
    import zipfile  # seldom needed

    try:
        import zlib  # a Python may be without it
    except ImportError:
        return ""
    try:
        return call_patiently(_of_archive, where.local_path(path), f"EGG-INFO/{name}")
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error):
        return ""


def _of_archive(path: str, name: str) -> str:
    import zipfile

    with zipfile.ZipFile(path) as archive, archive.open(name) as stream:
        return stream.read(MAX_METADATA_BYTES).decode("utf-8", "replace")


@lru_cache(maxsize=4096)  # The same names appear in every environment.
def is_relevant(name: str) -> bool:
    """Whether a distribution is always listed; ``name`` is normalised."""
    return bool(RELEVANT_DISTRIBUTION.fullmatch(name))


def _distribution(folder: str, entry: str, where: Sysroot, *, every: bool) -> Iterator[Distribution]:
    m = _FOLDER.fullmatch(entry)
    its_name = normalise_name(m["name"]) if m else ""
    if m and (every or is_relevant(its_name)):
        path = where.join(folder, entry)
        plain = not (where.planned or where.gone)
        identity = lasting_identity(where.local_path(where.join(path, "METADATA")), where.root) if plain else ""
        read = partial(_read_distribution, folder, path, its_name, m["version"] or "", where, every=every)
        yield earlier_or_new(f"distribution {every} {path_text(path)}", identity, Distribution, read)


def _read_distribution(
    folder: str, path: str, its_name: str, version: str, where: Sysroot, *, every: bool
) -> Distribution:
    relevant = is_relevant(its_name)
    headers = tuple(_headers(_metadata(path, where)))
    wishes = [(v, required_name(v)) for k, v in headers if k == "requires-dist"]
    name = normalise_name(next((v for k, v in headers if k == "name"), its_name))
    if relevant and not is_relevant(name):
        name = its_name
    return Distribution(
        name=name,
        version=next((v for k, v in headers if k == "version"), version),
        location=path_text(folder),
        requires=tuple(v for v, wanted in wishes if wanted.startswith("nvidia-")) if relevant else (),
        pins=tuple(
            v
            for v, wanted in wishes
            if not wanted.startswith("nvidia-")
            and (_is_kept(v, wanted, relevant, every) or (every and "==" in v and _is_part(wanted, name)))
        ),
    )


def _is_kept(requirement: str, name: str, relevant: bool, every: bool) -> bool:
    """Whether to keep a requirement: for relevant distributions every one that applies without an extra, else those on ANCHORS."""
    if relevant and (is_relevant(name) or (every and "extra" not in requirement.partition(";")[2])):
        return True
    return every and bool(ANCHORS.fullmatch(name)) and "extra" not in requirement.partition(";")[2]


def _is_part(name: str, of: str) -> bool:
    """Whether the name marks a distribution as part of another, as in pydantic-core."""
    return name.startswith(f"{of}-")


def _metadata(path: str, where: Sysroot) -> str:
    """Return the headers of a distribution's metadata; an empty line ends them."""
    files = tuple(where.join(path, n) for n in ("METADATA", "PKG-INFO"))
    for file in files if path.endswith(".dist-info") else (*files, path):
        for limit in (FIRST_BYTES, MAX_METADATA_BYTES):
            content = where.text(file, limit)
            if content is None:
                break
            if len(content) < limit // 4 or "\n\n" in content or "\n\r\n" in content or limit == MAX_METADATA_BYTES:
                return content
    return ""


def states_version(path: str, where: Sysroot) -> bool:
    """Whether a folder of metadata says which release it is of, or cannot be read."""
    file = where.join(path, "METADATA")
    return where.read(file, 1) is None or any(k == "version" and v for k, v in _headers(_metadata(path, where)))


def required_name(requirement: str) -> str:
    """Return the normalised name of the required distribution; empty if there is none."""
    found = _NAME.match(requirement)
    return normalise_name(found[0]) if found else ""


def _headers(content: str) -> Iterator[tuple[str, str]]:
    """Yield the fields that are used, before the first empty line; names in lower case, continuation lines ignored."""
    for line in content.partition("\n\n")[0].splitlines():
        if line[:1].lower() in _FIELDS:
            name, colon, value = line.partition(":")
            if colon:
                yield name.lower(), value.strip()
        elif not line:
            return  # A line of spaces continues the previous field, such as a licence text.
