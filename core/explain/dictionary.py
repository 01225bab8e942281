"""Codes, messages and file names in two plain sentences each: the offline dictionary."""

from __future__ import annotations

import re

from core.explain.model import CodeMeaning
from core.explain.names import TOOLKIT, Library, classify
from core.explain.reading import Reading
from core.explain.tables import Code, Message, codes

LONGEST_TERM = 80
MOST = 12
"""Meanings that are shown beside one text."""

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]{5,70}")
_TERM_NUMBER = re.compile(r"(?i)^(?:[a-z ]{0,24}[ :=#(]{1,3})?(-?\d{1,10}|0x[0-9a-f]{1,8})\)?$")

PARTS = {
    # cuDNN 7 to 9: what a part of the set is for (NVIDIA cuDNN developer guide)
    "": "cuDNN's main library, a thin front that opens the other files of the set by their bare names",
    "ops_infer": "the part of cuDNN 8 with basic operations, which every other part needs",
    "ops_train": "the part of cuDNN 8 with basic operations for training",
    "cnn_infer": "the part of cuDNN 8 with convolutions",
    "cnn_train": "the part of cuDNN 8 with convolutions for training",
    "adv_infer": "the part of cuDNN 8 with recurrent and attention layers",
    "adv_train": "the part of cuDNN 8 with recurrent and attention layers for training",
    "graph": "the part of cuDNN 9 that plans computations, which every other part needs",
    "ops": "the part of cuDNN 9 with basic operations",
    "cnn": "the part of cuDNN 9 with convolutions",
    "adv": "the part of cuDNN 9 with recurrent and attention layers",
    "heuristic": "the part of cuDNN 9 that chooses how to compute",
    "engines_precompiled": "the part of cuDNN 9 with ready-made GPU code",
    "engines_runtime_compiled": "the part of cuDNN 9 that compiles GPU code when it is needed, with NVRTC",
    "engines_tensor_ir": "a part that only newer cuDNN 9 releases have",
    "ext": "a part that only newer cuDNN 9 releases have",
}
FAMILIES = {
    "cudart": ("the CUDA runtime", "It comes with the CUDA toolkit or a runtime package, and its name carries the version that the program was built for."),
    "cublas": ("cuBLAS, for matrices", "It comes with the CUDA toolkit or a package; cuBLAS and cuBLASLt must be of one release."),
    "cufft": ("cuFFT, for Fourier transforms", "Its number is not the number of CUDA."),
    "curand": ("cuRAND, for random numbers", "Its number stays 10 over many CUDA releases."),
    "cusolver": ("cuSOLVER, for systems of equations", "Its number changed from 10 to 11 within CUDA 11, so that the name tells the wanted toolkit."),
    "cusparse": ("cuSPARSE, for sparse matrices", "Its number is not the number of CUDA: 12 is in CUDA 12 and 13."),
    "cupti": ("CUPTI, for profiling", "It lies in a folder of its own, extras/CUPTI, which is often not searched; most programs do without."),
    "nvrtc": ("NVRTC, which compiles GPU code at run time", "It opens nvrtc-builtins of exactly its own version beside it."),
    "nvrtc-builtins": ("NVRTC's file of built-in functions", "It must be of exactly NVRTC's version and lie where NVRTC finds it."),
    "nvjitlink": ("nvJitLink, which links GPU code", "cuSPARSE and cuSOLVER of CUDA 12 need it in at least their own version."),
    "tensorrt": ("TensorRT, for inference", "It is a separate download, and TensorFlow's warning about it does no harm."),
    "nccl": ("NCCL, for several GPUs", "It comes with the framework or as a package of its own."),
    "libcuda": ("the driver's library for CUDA", "It belongs to the driver, never to the toolkit; under WSL it lies in /usr/lib/wsl/lib, in containers the host passes it in."),
    "driver": ("a library of the NVIDIA driver", "It belongs to the driver and must be of the kernel module's version."),
    "nvml": ("NVML, the driver's library that nvidia-smi uses", "It belongs to the driver and must be of the kernel module's version."),
    "zlibwapi": ("zlib in the form that cuDNN 8.3 to 8.9.3 opens on Windows", "From cuDNN 8.9.4 on nothing uses it; a message that names it then hides another fault."),
    "vcruntime": ("a part of the Microsoft Visual C++ runtime or of OpenMP", "It is installed by Microsoft's redistributable; an old one makes newer libraries fail."),
    "framework": ("a library of the framework itself", "When it does not load, it is most often there, and a library that it needs is not found."),
}  # fmt: skip


def meanings(reading: Reading) -> tuple[CodeMeaning, ...]:
    """Return the meaning of every code and message that a text carries: codes first, in the order of the text."""
    words = list(dict.fromkeys(m[0].lower() for m in _WORD.finditer(reading.text)))
    by_name = _by_name()
    found = [code for word in words for code in by_name.get(word, ())]
    numbers = {mark.removeprefix("win:") for mark in reading.marks if mark.startswith("win:")}
    states = {f"0x{mark.removeprefix('nt:')}" for mark in reading.marks if mark.startswith("nt:")}
    found += [c for c in codes() if c.family == "Windows error" and c.number in numbers]
    found += [c for c in codes() if c.family == "Windows status" and c.number.lower() in states]
    shown = [_of_code(c) for c in dict.fromkeys(found)] + [
        _of_message(m, reading.low) for m in (*reading.symptoms, *reading.harmless)
    ]
    return tuple(dict.fromkeys(shown))[:MOST]


def look_up(term: str) -> tuple[CodeMeaning, ...]:
    """Return what one word means: a code's name or number, or a library's file name. Empty when it is none of them."""
    term = term.strip()
    if not term or len(term) > LONGEST_TERM or "\n" in term:
        return ()
    number = _TERM_NUMBER.match(term)
    if number:
        return _numbered(number[1])
    named = _by_name().get(term.lower())
    if named:
        return tuple(_of_code(c) for c in named)
    library = classify(re.split(r"[\\/]", term)[-1].lower())
    return (of_library(library),) if library else ()


def _numbered(number: str) -> tuple[CodeMeaning, ...]:
    value = int(number, 16) if number.lower().startswith("0x") else int(number)
    hexadecimal = f"0x{value & 0xFFFFFFFF:08X}"
    hits = [c for c in codes() if c.number in (str(value), hexadecimal)]
    # a bare number is a Windows error before it is anything else: that is where people meet one without a name
    order = {"Windows error": 0, "Windows status": 0, "CUDA runtime error": 1, "CUDA driver error": 2}
    return tuple(_of_code(c) for c in sorted(hits, key=lambda c: order.get(c.family, 3)))


def of_library(x: Library) -> CodeMeaning:
    """Return what a library's file name means."""
    system = {"windows": "Windows", "linux": "Linux"}.get(x.platform, "")
    if x.family == "cudnn":
        role = PARTS.get(x.part, "a part of cuDNN")
        usually = (
            f"When it is said to be missing, its folder is not searched, or the set is not whole; all files of cuDNN {x.major or ''} must be "
            "of one release and lie together. cuDNN is a download of its own: a CUDA toolkit does not bring it."
        ).replace("  ", " ")
    else:
        role, usually = FAMILIES.get(x.family, ("a library", ""))
    version = f" {x.major}" + (f".{x.minor}" if x.minor is not None else "") if x.major is not None else ""
    wanted = f" The name asks for version{version}." if version and x.family in TOOLKIT | {"cudnn", "tensorrt"} else ""
    return CodeMeaning(
        term=x.name,
        family=f"file for {system}" if system else "file",
        meaning=f"This is {role}.{wanted}",
        usually=usually,
        source="names and contents of the published packages",
    )


def _by_name() -> dict[str, list[Code]]:
    names: dict[str, list[Code]] = {}
    for code in codes():
        names.setdefault(code.name.lower(), []).append(code)
    return names


def _of_code(c: Code) -> CodeMeaning:
    return CodeMeaning(
        term=c.name, family=c.family, number=c.number, meaning=c.meaning, usually=c.usually, source=c.source
    )


def _of_message(m: Message, low: str) -> CodeMeaning:
    said = next((p for p in m.phrases if p.split("*")[0] in low), m.phrases[0])
    family = "harmless message" if m.kind == "harmless" else "message"
    return CodeMeaning(
        term=said.replace("*", " ... "), family=family, meaning=m.meaning, usually=m.usually, source=m.source
    )
