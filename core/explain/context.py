"""Marks that need a comparison: versions, compute capability, characters in paths, what a framework's version implies."""

from __future__ import annotations

import re
from collections.abc import Callable

from core.common.versions import all_numbers, version_tuple, whole_number
from core.explain.given_up import names_given_up
from core.knowledge.cudnn_file_names import version_numbers
from core.knowledge.library_names import LibraryName

Version = tuple[int, ...]
COMPLAINTS = (
    "error",
    "cannot",
    "could not",
    "couldn't",
    "failed",
    "unable",
    "missing",
    "not found",
    "no such file",
    "traceback",
    'file "',
)
"""Words of a line that names a file since it fails, or comes from it."""

_NAMED = re.compile(
    r"\b(tensorflow(?:[-_]gpu)?|tf|torch|pytorch|jaxlib|jax|ctranslate2|onnxruntime(?:[-_]gpu)?|onnx runtime|python|cuda|cudnn|paddlepaddle(?:-gpu)?|cupy)"
    r"(?: version| runtime| toolkit)?\s?(?:==|>=|>|:|=|-|\bv)?\s?v?(\d{1,2}(?:\.\d{1,4}){0,3})\b"
)
BUILT_WITH_WORDS = ("compiled", "built against", "linked against")
_WHICH = re.compile(r"\b(?:compiled|built against|linked against|loaded|found|runtime)\b")
_BUILD_TAG = re.compile(r"(?<![a-z0-9])cu(\d\d)(\d)(?![\w.]*\.dll)\b")
"""The CUDA in the name of a build: torch 2.5.1+cu121."""
_ALIASES = {"tf": "tensorflow", "pytorch": "torch", "jaxlib": "jax", "onnx runtime": "onnxruntime"}
_ANY_VERSION = re.compile(r"\b[4-9]\.\d{1,2}\.\d{1,3}|\(\d{1,2}, ?\d{1,3}, ?\d{1,4}\)|\b(?:[4-8]\d{3}|9\d{4})\b")
_COMPATIBILITY = re.compile(r"\(compatibility version \d{4,5}\)")
_CAPABILITY = re.compile(
    r"(?:sm[_ ]?|compute_|capability:?\s{0,3}(?:of\s|\(cc\)\s|\(|is\s)?|\bcc >=)(\d{1,2})\.?(\d)(?!\d|\.\d)a?\b"
)
_LISTED_CAPABILITY = re.compile(r"(?<![\d.])(\d{1,2})\.(\d) which supports hardware cc[^\n]{0,80}")
"""A row of the list of GPUs that PyTorch 2.9 and later print."""
_CAPABILITY_PAIR = re.compile(r"\bcapability (\d{1,2})\.(\d) on device with compute capability (\d{1,2})\.(\d)")
"""Kokkos: what its kernels were compiled for, and what the GPU has."""
_LEAST_CAPABILITY = re.compile(
    r"(?:sm[_ ]?|capability (?:of )?(?:>= ?)?)\d{1,2}\.?\d (?:or|and) (?:higher|newer|later|above|up|greater)\b"
)
"""What a program asks of a GPU at least, which says nothing of the one that is there."""
_NO_CUDA = re.compile(
    r"is_available\(\)\)?[\s:=>\-'\"]{0,8}(?:is |returns? |gives? |prints? )?false\b|cuda(?: is)? available\W{1,3}false\b|cuda device is not av"
)
"""Ways in which people and programs say that PyTorch sees no GPU."""


def _cards(numbers: str) -> str:
    """Return a pattern of GeForce cards that people name by number alone."""
    return rf"\b(?:rtx|geforce|gpus?:?|cards?|nvidia|(?<![\w.])[1-9]x)\s?{numbers}(?:s|\s?ti|\s?super)?\b|\b{numbers}\s?(?:ti|super|laptop)\b"


_MODELS: tuple[tuple[str, int], ...] = (
    # compute capability x 10 of product lines (developer.nvidia.com/cuda-gpus)
    (
        _cards("50[5-9]0")
        + r"|rtx\s?(?:pro\s)?50\s?(?:\d0|xx|series)|\b50[- ]series|50系|\bb[12]00\b|\bgb\d{2,3}\b|blackwell",
        120,
    ),
    (r"\bh(?:100|200|800|20)\b|\bgh200\b|hopper", 90),
    (_cards("40[5-9]0") + r"|rtx\s?40\d0|\bl20\b|\bl40s?\b|\bl4\b|\bada\b", 89),
    (_cards("30[5-9]0") + r"|rtx\s?30\d0|\ba(?:10|16|30|40|100|800)\b|rtx\s?a\d{4}|ampere", 86),
    (r"rtx\s?20\d0|gtx\s?16[56]0|\bt4\b|turing", 75),
    (r"\bv100\b|titan v\b|volta", 70),
    (
        r"gtx\s?10[5678]0|\b10[5678]0\s?(?:gtx|ti\b)|\bp(?:100|40|4)\b|titan xp?\b|pascal|\bmx[1-3][1-5]0\b|quadro p\d{3,4}\b",
        61,
    ),
    (r"gtx\s?9[5678]0|gtx\s?750|\bm(?:40|60)\b|maxwell|9[34]0m|quadro m\d{3,4}\b", 52),
    (r"gtx\s?[67][0-9]0|\bk(?:20|40|80)\b|kepler|gt\s?7\d0|quadro k", 35),
    (r"gtx\s?[45][0-9]0|fermi|quadro (?:[456]000|600)\b", 20),
)

_CUDA_OF_CUDNN = ((7, 8, 10), (8, 10, 12), (9, 11, 13))
"""A major version of cuDNN, and the first and the last major version of CUDA that it was published for."""
_FIRST_BUILDS: tuple[tuple[int, Version, Version], ...] = (
    # compute capability x 10, and the first CUDA (of nvcc and NVRTC) and PyTorch whose wheels have code for its generation
    (100, (12, 8), (2, 7)),
    (90, (11, 8), (2, 0)),
    (80, (11, 0), (1, 7)),
)


def comparison_marks(text: str, low: str, libraries: tuple[LibraryName, ...], so_far: set[str]) -> set[str]:
    """Return every mark that this module's comparisons find."""
    versions = _versions(low)
    found: set[str] = set()
    for look in _LOOKS:
        found |= look(text, low, versions, libraries, so_far | found)
    return found


def _versions(low: str) -> dict[str, Version]:
    versions: dict[str, Version] = {}
    for m in _NAMED.finditer(low):
        name = m[1].replace("_", "-").removesuffix("-gpu")
        versions.setdefault(_ALIASES.get(name, name), version_tuple(m[2]))
    built = _BUILD_TAG.search(low)
    return {"build": (int(built[1]), int(built[2])), **versions} if built else versions


Comparison = Callable[[str, str, dict[str, Version], tuple[LibraryName, ...], set[str]], set[str]]


def _cudnn_pair(_text: str, low: str, _v: dict[str, Version], _l: tuple[LibraryName, ...], _m: set[str]) -> set[str]:
    """Return marks of the loaded cuDNN compared with the one that the framework was compiled with."""
    pair = compiled_and_loaded(low)
    if not pair:
        return set()
    compiled, loaded = pair
    if compiled[0] != loaded[0]:
        return {"pair", "pair:other-major"}
    if loaded[:2] == compiled[:2]:
        return {"pair", "pair:same-minor"}
    return {"pair", "pair:older" if loaded < compiled else "pair:newer"}


def compiled_and_loaded(low: str) -> tuple[Version, Version] | None:
    """Return the cuDNN versions (compiled with, loaded) that a message compares, as XLA, TensorFlow, PyTorch, Caffe2 and dlib write them."""
    for line in low.split("\n"):
        if "cudnn" not in line or not any(w in line for w in BUILT_WITH_WORDS) or len(line) > 4000:
            continue
        numbers = [(m.start(), m[0]) for m in _ANY_VERSION.finditer(_COMPATIBILITY.sub("", line)[:1500])]
        if len(numbers) >= 2:
            pair = decode_cudnn_version(numbers[0][1]), decode_cudnn_version(numbers[1][1])
            # The word that comes first shows which number is which.
            first = _WHICH.search(line)
            return pair if first and first[0] in BUILT_WITH_WORDS else pair[::-1]
    return None


def decode_cudnn_version(number: str) -> Version:
    """Return a match of ``_ANY_VERSION`` as a version: a number of cudnnGetVersion, or dotted text."""
    code = whole_number(number)
    return all_numbers(number) if code is None else version_numbers(code) or ()


def _systems(_text: str, low: str, _v: dict[str, Version], _l: tuple[LibraryName, ...], so_far: set[str]) -> set[str]:
    """Return the operating system by paths and words, if no file name shows it."""
    found: set[str] = set()
    if (
        re.search(r"(?<![a-z])[a-z]:[\\/][a-z_]", low)
        or "winerror" in low
        or so_far & {"win:126", "win:127", "win:193", "win:1114"}
    ):
        found.add("windows")
    if re.search(r"(?<![\w.:])/(?:usr|home|opt|lib|root|dev|proc|etc|mnt)/", low):
        found.add("linux")
    if re.search(r"(?<![a-z:\w\\/])/users/[^/\s:]{1,40}/", low):
        found.add("macos")
    if so_far & {"wsl", "container", "ubuntu"}:
        found.add("linux")
    if {"windows", "linux"} <= so_far | found and "wsl" not in so_far:
        found.add("both-systems")
    return found


def _frameworks(
    _text: str, low: str, versions: dict[str, Version], libraries: tuple[LibraryName, ...], _m: set[str]
) -> set[str]:
    """Return what the version of a framework or of Python implies."""
    found: set[str] = set()
    tf = versions.get("tensorflow")
    if tf:
        found |= {"tensorflow", "tf>2.10" if tf > (2, 10, 99) else "tf<=2.10"}
        found |= {"cuda-not-wanted"} if _other_toolkit(tf, versions.get("cuda", ())) else set()
        found |= {"tf1"} if tf[0] == 1 else set()
    torch = versions.get("torch")
    if torch:
        found |= {"pytorch"} | ({"torch>=2.4"} if torch >= (2, 4) else {"torch<2.4"})
        found |= {"torch-recent"} if torch >= (2, 6) else {"torch-aged"} if torch < (1, 11) else set()
    ct2 = versions.get("ctranslate2")
    if ct2:
        found |= {"ctranslate2", "ct2-wants-9" if ct2 >= (4, 5) else "ct2-wants-8"}
    ort = versions.get("onnxruntime")
    if ort:
        found |= {"onnxruntime", "ort-wants-9" if ort >= (1, 19) else "ort-wants-8"} | (
            {"ort>=1.21"} if ort >= (1, 21) else set()
        )
    cudnn, wanted = versions.get("cudnn"), _wanted_cudnn(ort, ct2, tf)
    if cudnn and wanted and cudnn[0] in (7, 8, 9) and cudnn[0] != wanted:
        found.add("cudnn-not-wanted")
    cuda = versions.get("build", versions.get("cuda", ()))
    asked = {x.major for x in libraries if x.family == "cudnn" and x.major}
    if cuda and any(not first <= cuda[0] <= last for major, first, last in _CUDA_OF_CUDNN if asked == {major}):
        found.add("cudnn-other-cuda")
    python = versions.get("python")
    if python and python[0] == 3 and len(python) > 1:
        found.add("python>=3.8" if python >= (3, 8) else "python<3.8")
    if _NO_CUDA.search(low):
        found.add("cpu-fallback")
    # The wording itself dates the interpreter: "while importing" and "(or one of its dependencies)" are from 3.8 on.
    if "dll load failed while importing" in low or "constructor syntax" in low:
        found.add("python>=3.8")
    elif "dll load failed:" in low:
        found.add("python<3.8")
    return found


def _other_toolkit(tf: Version, cuda: Version) -> bool:
    """Whether a TensorFlow that brings no CUDA looks for another one than the text names: up to 10 each release counts, then the major number alone."""
    if tf >= (2, 14) or not cuda or cuda[0] not in range(7, 14):
        return False
    from core.knowledge.frameworks import framework_tables  # few texts ask for it

    row = next((r for r in framework_tables().tensorflow if version_tuple(r.tensorflow) == tf[:2]), None)
    wanted = version_tuple(row.cuda) if row else cuda
    same = min(len(wanted), len(cuda), 2 if wanted[0] <= 10 else 1)
    return wanted[:same] != cuda[:same]


def _wanted_cudnn(ort: Version | None, ct2: Version | None, tf: Version | None) -> int:
    """Return the major version of cuDNN that a framework of the text was built with; 0: unknown."""
    if ort and ort >= (1, 9):
        return 9 if ort >= (1, 19) else 8
    if ct2 and ct2[0] >= 3:
        return 9 if ct2 >= (4, 5) else 8
    if tf and tf >= (2, 4):
        return 9 if tf >= (2, 18) else 8
    return 0


def _capabilities(
    _text: str, low: str, versions: dict[str, Version], _l: tuple[LibraryName, ...], _m: set[str]
) -> set[str]:
    """Return whether the GPU is newer or older than those that the program was built for, according to the text."""
    supported = re.search(
        r"(?:supports? cuda capabilities|built for|arch(?:_|itecture )list|supported by this version|minimum required)[^\n]{0,1500}",
        low,
    )
    span = supported.span() if supported else (0, 0)
    listed = [int(m[1] + m[2]) for m in _LISTED_CAPABILITY.finditer(low)]
    rest = _LISTED_CAPABILITY.sub("\n", low[: span[0]] + "\n" + low[span[1] :])
    rest = _LEAST_CAPABILITY.sub("", rest)
    inside = listed or [int(m[1] + m[2]) for m in _CAPABILITY.finditer(low[span[0] : span[1]])]
    outside = [int(m[1] + m[2]) for m in _CAPABILITY.finditer(rest)]
    named = [(m.start(), cc) for pattern, cc in _MODELS if (m := re.search(pattern, low))]
    model = min(named, default=(0, 0))[1]
    gpu = outside[0] if outside else model
    pair = _CAPABILITY_PAIR.search(low)
    inside, gpu = ([int(pair[1] + pair[2])], int(pair[3] + pair[4])) if pair else (inside, gpu)
    found: set[str] = set()
    if inside and gpu:
        found.add("gpu:too-new" if gpu > max(inside) else "gpu:too-old" if gpu < min(inside) else "gpu:in-range")
    elif inside and not model:
        # a list alone: the card that it lacks is newer than a list that ends early, and older than one that starts late
        found |= {"list:starts-late"} if min(inside) >= 70 and max(inside) >= 100 else set()
        found |= {"list:ends-early"} if min(inside) < 70 and max(inside) < 100 else set()
    elif gpu:
        found |= {"gpu:recent"} if gpu >= 86 else {"gpu:aged"} if gpu < 62 else set()
        found |= {"gpu:before-ampere"} if gpu < 80 else set()
        found |= {"gpu:legacy"} if gpu < 50 else set()
        if gpu >= 120:
            found.add("gpu:newest")
    if _released_after_build(gpu, versions):
        found.add("gpu:newer-than-build")
    return found


def _released_after_build(gpu: int, versions: dict[str, Version]) -> bool:
    """Whether the text names an older CUDA or PyTorch than the first that has code for its GPU."""
    cuda, torch = next((least for oldest, *least in _FIRST_BUILDS if gpu >= oldest), ((), ()))
    named_cuda, named_torch = versions.get("build", versions.get("cuda", ())), versions.get("torch", ())
    return (9,) <= named_cuda < cuda or () < named_torch < torch


def _characters(text: str, _low: str, _v: dict[str, Version], _l: tuple[LibraryName, ...], _m: set[str]) -> set[str]:
    """Return marks for paths with characters that break the search for libraries: brackets, or letters outside ASCII."""
    found: set[str] = set()
    for m in re.finditer(r"(?<!\w)(?:[A-Za-z]:[\\/]|/(?:home|mnt|media|data|Users)/)[^\n\"'<>|*?:;,]{1,250}", text):
        path = m[0].split(" Error", 1)[0]
        if (
            not path.isascii()
            and "\ufffd" not in path
            and re.search(r"[\\/][^\\/]{0,60}[^\x00-\x7f][^\\/]{0,60}[\\/]", path)
        ):
            found.add("path:non-ascii")
        if re.search(r"[\\/][^\\/\s]{0,60}[^\x00-\x7f][^\\/\s]{0,60}\.[A-Za-z0-9]{2,12}$", path):
            found.add("path:non-ascii")
        if re.search(r"[\\/][^\\/\n]{0,60}\[[^\\/\n]{0,60}\][^\\/\n]{0,60}[\\/]", path):
            found.add("path:brackets")
    return found


def _two_majors(
    _text: str, _low: str, _v: dict[str, Version], libraries: tuple[LibraryName, ...], _m: set[str]
) -> set[str]:
    """Return marks for two major versions of one library in a text: one is wanted, the other is installed."""
    found: set[str] = set()
    for family in ("cudnn", "cublas", "cudart", "cusolver", "cufft"):
        majors = {x.major for x in libraries if x.family == family and x.major is not None}
        if len(majors) > 1:
            found.add(f"two-majors:{'cudnn' if family == 'cudnn' else 'toolkit'}")
    return found


_DRIVER_CUDA = re.compile(r"\bdriver[ :v]{0,3}[\d.]{3,12} ?\(cuda [\d.]{2,6}\)")
"""A driver and the newest CUDA that it can run, which is no toolkit."""


def _other_toolkit_missing(
    _text: str, low: str, versions: dict[str, Version], libraries: tuple[LibraryName, ...], so_far: set[str]
) -> set[str]:
    """Return whether the CUDA library that is missing is of another major version than the CUDA that the text names."""
    cuda = versions.get("build", versions.get("cuda", ()))
    if "missing:toolkit" not in so_far or not cuda or _DRIVER_CUDA.search(low):
        return set()
    # cuFFT, cuSOLVER and cuSPARSE count their major versions apart from CUDA's
    asked = {x.major for x in libraries if x.family in ("cudart", "cublas", "nvrtc") and x.major}
    return {"toolkit-other-major"} if len(asked) == 1 and cuda[0] in range(9, 14) and cuda[0] not in asked else set()


_PIP_FOLDER = re.compile(
    r"requirement already satisfied: [^\n]{1,80}? in ([^\n]{1,200}?)[\\/](?:lib[\\/])?(?:python3\.\d{1,2}[\\/])?(?:site|dist)-packages"
)
_PROGRAM_FOLDER = re.compile(
    r"(?<![\w.\\/])((?:[a-z]:)?[\\/][^\n\"'<>|*?:;]{1,160}[\\/](?:python_embed\w{0,4}|\.?venv|env))(?=[\\/>])"
)
"""The folder of a program's own Python."""


def _pythons(_text: str, low: str, _v: dict[str, Version], _l: tuple[LibraryName, ...], _m: set[str]) -> set[str]:
    """Return whether pip looks at packages of another Python than the one that belongs to the program."""
    looked = {m[1].replace("\\", "/") for m in _PIP_FOLDER.finditer(low)}
    own = {m[1].replace("\\", "/") for m in _PROGRAM_FOLDER.finditer(low)}
    apart = looked and own and not any(a.startswith(b) for a in looked for b in own)
    return {"other-pip"} if apart else set()


_BUILT_AND_ACCEPTED = re.compile(r"built against: (\d{4,6})\s{1,20}minimum supported: (\d{4,6})\b")
"""JAX: the version that it was built with, and the oldest one that it accepts."""
_LIBC_OF_TAG = re.compile(r"\bmanylinux_2_(\d{1,2})_")
_LIBC_NEEDED = re.compile(r"version [`']glibc_2\.(\d{1,2})' not found")


def _contradictions(
    _text: str, low: str, _v: dict[str, Version], _l: tuple[LibraryName, ...], _m: set[str]
) -> set[str]:
    """Return whether a release contradicts itself: it accepts less than it was built with, or asks for more than its name promises."""
    found: set[str] = set()
    pair = _BUILT_AND_ACCEPTED.search(low)
    if pair and int(pair[1]) < int(pair[2]):
        found.add("build-below-minimum")
    tag, needed = _LIBC_OF_TAG.search(low), _LIBC_NEEDED.search(low)
    if tag and needed and int(tag[1]) < int(needed[1]):
        found.add("tag-below-need")
    return found


def _given_up(text: str, _low: str, _v: dict[str, Version], _l: tuple[LibraryName, ...], _m: set[str]) -> set[str]:
    """Return whether Python does not find a name that later releases of its package no longer have."""
    return {"given-up-python" if row.last.startswith("python") else "given-up" for row in names_given_up(text)}


_IS_ABSOLUTE = r"(?:[a-z]:[\\/]|/)[^\s:;,\"'`<>|*?]{0,240}[\\/]"


def _missing_is_there(
    _text: str, low: str, _v: dict[str, Version], libraries: tuple[LibraryName, ...], so_far: set[str]
) -> set[str]:
    """Return whether a line that does not complain names the whole path of a library that another line calls missing."""
    lines = low.split("\n")
    complaints = [line for line in lines if any(word in line for word in COMPLAINTS)]
    names = {x.name for x in libraries if f"missing:{x.family}" in so_far and any(x.name in c for c in complaints)}
    there = any(
        re.search(_IS_ABSOLUTE + re.escape(name) + r"(?![\w.])", line)
        for name in names
        for line in lines
        if name in line and line not in complaints
    )
    return {"missing-is-there"} if there else set()


FIRST_LOADED_PARTS = frozenset({"ops_infer", "graph", "ops"})
"""Parts that cuDNN 8 and 9 open first. If a later one is missing, the folder itself was searched."""


def _parts(
    _text: str, low: str, versions: dict[str, Version], libraries: tuple[LibraryName, ...], so_far: set[str]
) -> set[str]:
    """Return which part of cuDNN is named, and the place of a file that does not fit."""
    found: set[str] = set()
    if any(x.part.startswith("cnn_infer") for x in libraries):
        found.add("cudnn-cnn-infer")
    if "missing:cudnn-sub" in so_far and all(x.part not in FIRST_LOADED_PARTS for x in libraries if x.part):
        found.add("later-part")
    if any(x.part in ("engines_tensor_ir", "ext") for x in libraries):
        found.add("new-part")
    if re.search(r"/usr/(?:local/cuda|lib|lib64)[^\s:]{0,80}/lib\w{2,30}[^\s:]{0,40}\.so", low):
        found.add("system-path")
    if "cudnn" in low:
        found.add("cudnn-word")
    if "onnxruntime_pybind11_state" in low:
        found.add("ort-core")
    if "cuda" in versions:
        found.add("cuda-version-words")
    return found


_LOOKS: tuple[Comparison, ...] = (
    _cudnn_pair,
    _systems,
    _frameworks,
    _capabilities,
    _characters,
    _two_majors,
    _other_toolkit_missing,
    _pythons,
    _contradictions,
    _given_up,
    _missing_is_there,
    _parts,
)
