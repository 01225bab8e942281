"""The offline dictionary: codes, messages and file names, each in two plain sentences."""

from __future__ import annotations

import re

from msgspec import structs

from core.common.i18n import N_, _, join_sentences
from core.common.late_pattern import late_pattern
from core.common.quick_search import quick_search
from core.explain.model import CodeMeaning
from core.explain.ranking import matching_clues
from core.explain.reading import ParsedText
from core.knowledge.kernel_log import Xid, kernel_log_table
from core.knowledge.library_names import TOOLKIT_FAMILIES, LibraryName, parse_library_name
from core.knowledge.messages import CodeEntry, Message, known_codes

MAX_TERM_CHARACTERS = 80
STATUS_KINDS = ("status", "CUDA runtime error", "CUDA driver error", "NVML error", "Windows error")
"""Suffixes of the table's families of call statuses."""
OLD_STATUS, NEW_STATUS, FIRST_NEW = "cuDNN 8 status", "cuDNN 9 status", 9
"""cuDNN 9 renumbered its statuses."""
MAX_MEANINGS = 12
"""Maximum number of meanings shown for one text."""

_WORD = late_pattern(r"[A-Za-z][A-Za-z0-9_]{5,70}")
_TERM_NUMBER = late_pattern(
    r"(?i)^(?:(?:\b(?:a|an|the|is|was|with|got|error|err|errno|code|status|exit|exited|exitcode|return|returns|returned|value|result|rc|exception"
    r"|win32|winerror|cudaerror|cudaerror_t|curesult|windows|win|cuda|cudnn|cublas|nccl|nvml|nvrtc|hip|driver|runtime|process|finished|failed|failure|number|no)\b ?){1,5}"
    r"[ :=#(]{0,3})?(-?\d{1,10}|0x[0-9a-f]{1,8})\)?$"
)
"""A number alone, or after words that announce a code: "GPUs: 0" is a count."""

_EXIT_WORD = late_pattern(r"(?i)\b(?:exit|exited|exitcode|process|finished|return|returns|returned)\b")
MAX_EXIT_DIGITS = 4
"""Digits of an exit code that a program chose or a signal gave: "exit code 1" is no error 1 of CUDA."""

PART_MEANINGS = {
    # cuDNN 7 to 9: what a part of the set is for (NVIDIA cuDNN developer guide)
    "": N_("cuDNN's main library, a thin front that opens the other files of the set by their bare names"),
    "ops_infer": N_("the part of cuDNN 8 with basic operations, which every other part needs"),
    "ops_train": N_("the part of cuDNN 8 with basic operations for training"),
    "cnn_infer": N_("the part of cuDNN 8 with convolutions"),
    "cnn_train": N_("the part of cuDNN 8 with convolutions for training"),
    "adv_infer": N_("the part of cuDNN 8 with recurrent and attention layers"),
    "adv_train": N_("the part of cuDNN 8 with recurrent and attention layers for training"),
    "graph": N_("the part of cuDNN 9 that plans computations, which every other part needs"),
    "ops": N_("the part of cuDNN 9 with basic operations"),
    "cnn": N_("the part of cuDNN 9 with convolutions"),
    "adv": N_("the part of cuDNN 9 with recurrent and attention layers"),
    "heuristic": N_("the part of cuDNN 9 that chooses how to compute"),
    "engines_precompiled": N_("the part of cuDNN 9 with ready-made GPU code"),
    "engines_runtime_compiled": N_("the part of cuDNN 9 that compiles GPU code when it is needed, with NVRTC"),
    "engines_tensor_ir": N_("a part that only newer cuDNN 9 releases have"),
    "ext": N_("a part that only newer cuDNN 9 releases have"),
}
FAMILY_MEANINGS = {
    "cudart": (N_("the CUDA runtime"), N_("It comes with the CUDA toolkit or a runtime package, and its name contains the version that the program was built for.")),
    "cublas": (N_("cuBLAS, for matrices"), N_("It comes with the CUDA toolkit or a package; cuBLAS and cuBLASLt must belong to one release.")),
    "cufft": (N_("cuFFT, for Fourier transforms"), N_("Its number is not the CUDA version.")),
    "curand": (N_("cuRAND, for random numbers"), N_("Its number stays 10 over many CUDA releases.")),
    "cusolver": (N_("cuSOLVER, for systems of equations"), N_("Its number changed from 10 to 11 within CUDA 11, so the name shows which toolkit is required.")),
    "cusparse": (N_("cuSPARSE, for sparse matrices"), N_("Its number is not the CUDA version: 12 is in CUDA 12 and 13.")),
    "cupti": (N_("CUPTI, for profiling"), N_("It is in a separate folder, extras/CUPTI, which is often not searched; most programs work without it.")),
    "nvrtc": (N_("NVRTC, which compiles GPU code at run time"), N_("It opens nvrtc-builtins of exactly its own version next to it.")),
    "nvrtc-builtins": (N_("NVRTC's file of built-in functions"), N_("It must have exactly NVRTC's version and be where NVRTC finds it.")),
    "nvjitlink": (N_("nvJitLink, which links GPU code"), N_("cuSPARSE and cuSOLVER of CUDA 12 need it in at least their own version.")),
    "tensorrt": (N_("TensorRT, for inference"), N_("It is a separate download, and TensorFlow's warning about it is harmless.")),
    "nccl": (N_("NCCL, for several GPUs"), N_("It comes with the framework or as a separate package.")),
    "libcuda": (N_("the driver's library for CUDA"), N_("It belongs to the driver, never to the toolkit; under WSL it is in /usr/lib/wsl/lib, and in containers the host passes it in.")),
    "driver": (N_("a library of the NVIDIA driver"), N_("It belongs to the driver and must match the version of the kernel module.")),
    "nvml": (N_("NVML, the driver's library that nvidia-smi uses"), N_("It belongs to the driver and must match the version of the kernel module.")),
    "zlibwapi": (N_("zlib in the form that cuDNN 8.3 to 8.9.3 opens on Windows"), N_("From cuDNN 8.9.4 on nothing uses it; a message that names it then hides another fault.")),
    "vcruntime": (N_("a part of the Microsoft Visual C++ runtime or of OpenMP"), N_("Microsoft's redistributable installs it; an old one makes newer libraries fail.")),
    "framework": (N_("a library of the framework itself"), N_("If it does not load, it usually exists, but a library that it needs is not found.")),
}  # fmt: skip


CORRECTED_BY = {"oom": ("impossible-size", "memory-grows"), "ort-provider": ("ort-lists-cuda",)}
"""Message -> others which show that it does not mean what it says by itself."""
BARE_END = "segfault"
"""The message that says only how a program ended: any other says more."""


def code_meanings(reading: ParsedText) -> tuple[CodeMeaning, ...]:
    """Return the meaning of every code and message in a text: codes first, then what only one fault prints, then the rest."""
    words = list(dict.fromkeys(m[0].lower() for m in _WORD.finditer(reading.text)))
    by_name = _by_name()
    found = [code for word in words for code in by_name.get(word, ())]
    numbers = {mark.removeprefix("win:") for mark in reading.marks if mark.startswith("win:")}
    states = {f"0x{mark.removeprefix('nt:')}" for mark in reading.marks if mark.startswith("nt:")}
    found += [c for c in known_codes() if c.family == "Windows error" and c.number in numbers]
    found += [c for c in known_codes() if c.family == "Windows status" and c.number.lower() in states]
    logged = {x.code: x for x in kernel_log_table().xids} if reading.xids else {}
    shown = [_xid_meaning(logged[n]) for n in reading.xids if n in logged]
    named = {c.name for c in found}
    shown += _of_this_cudnn(list(dict.fromkeys(found)), reading)
    # Several rows of the table may match the same words; the one with the fewest phrases is the most exact.
    told: dict[str, CodeMeaning] = {}
    exact = _exact_marks(reading)
    messages = sorted(
        (
            m
            for m in (*reading.symptoms, *reading.harmless)
            if m.code not in named and reading.marks.isdisjoint(CORRECTED_BY.get(m.id, ()))
        ),
        key=lambda m: (m.id not in exact, m.id == BARE_END),
    )
    for m in sorted(messages, key=lambda m: -len(m.phrases)):
        told[_matched_phrase(m, reading.low)] = _message_meaning(m, reading.low)
    # "undefined symbol: _zn3c10" says all that "undefined symbol" does
    told = {said: its for said, its in told.items() if not any(said in more for more in told.keys() - {said})}
    shown += [told.pop(said) for m in messages if (said := _matched_phrase(m, reading.low)) in told]
    return tuple(dict.fromkeys(shown))[:MAX_MEANINGS]


def _exact_marks(reading: ParsedText) -> set[str]:
    """Return the marks of the exact clues that hold."""
    clues = [clue for clue in matching_clues(reading) if clue.exact]
    return {mark for clue in clues for part in clue.when if not part.startswith("!") for mark in part.split("|")}


def _of_this_cudnn(found: list[CodeEntry], reading: ParsedText) -> list[CodeMeaning]:
    """Return the meanings of codes; if cuDNN 9 renumbered a status, for the cuDNN that the text names."""
    majors = {x.major for x in reading.libraries if x.family == "cudnn" and x.major is not None}
    newer = {c.name: c for c in found if c.family == NEW_STATUS}
    older = {c.name: c for c in found if c.family == OLD_STATUS}
    shown = []
    for code in found:
        old, new = older.get(code.name), newer.get(code.name)
        if old is None or new is None or code.family not in (OLD_STATUS, NEW_STATUS):
            shown.append(_code_meaning(code))
        elif code is old and majors and max(majors) < FIRST_NEW:
            shown.append(_code_meaning(old))
        elif code is new and majors and min(majors) >= FIRST_NEW:
            shown.append(_code_meaning(new))
        elif code is old and (not majors or min(majors) < FIRST_NEW <= max(majors)):
            number = _("{old}, since cuDNN 9 {new}", old=old.number, new=new.number)
            shown.append(structs.replace(_code_meaning(new), family=_("cuDNN status"), number=number))
    return shown


_FILE_NAME = late_pattern(r"(?i)\S+|(?:[a-z]:)?[\\/][^:*?\"<>|\n]+")
"""A term that names one file, not a sentence that ends with one: a word, or a path from its root."""


def look_up(term: str) -> tuple[CodeMeaning, ...]:
    """Return the meaning of one term: a code's name or number, or a library's file name.

    Empty if it is none of them.
    """
    term = term.strip()
    if not term or len(term) > MAX_TERM_CHARACTERS or "\n" in term:
        return ()
    if term.lower().startswith("xid"):
        numbers = {int(n) for n in re.findall(r"\d{1,3}", term)}
        return tuple(_xid_meaning(x) for x in kernel_log_table().xids if x.code in numbers)
    number = _TERM_NUMBER.match(term)
    if number:
        return () if _EXIT_WORD.search(term) and len(number[1]) <= MAX_EXIT_DIGITS else _number_meanings(number[1])
    named = _by_name().get(term.lower())
    if named:
        return tuple(_code_meaning(c) for c in named)
    name = re.split(r"[\\/]", term)[-1].lower() if _FILE_NAME.fullmatch(term) else ""
    library = parse_library_name(name) if name and " " not in name else None
    return (library_meaning(library),) if library else ()


def _number_meanings(number: str) -> tuple[CodeMeaning, ...]:
    value = int(number, 16) if number.lower().startswith("0x") else int(number)
    hexadecimal = f"0x{value & 0xFFFFFFFF:08X}"
    hits = [c for c in known_codes() if c.number in (str(value), hexadecimal)]
    # A bare number is first of all a Windows error: that is where people meet one without a name.
    order = {"Windows error": 0, "Windows status": 0, "CUDA runtime error": 1, "CUDA driver error": 2}
    return tuple(_code_meaning(c) for c in sorted(hits, key=lambda c: order.get(c.family, 3)))


def library_meaning(x: LibraryName) -> CodeMeaning:
    """Return the meaning of a library's file name."""
    system = {"windows": "Windows", "linux": "Linux"}.get(x.platform, "")
    if x.family == "cudnn":
        role = PART_MEANINGS.get(x.part, N_("a part of cuDNN"))
        usually = (
            _(
                "If it is reported missing, its folder is not searched, or the set is incomplete; all files of "
                "cuDNN {major} must belong to one release and be in one folder. cuDNN is a separate download: a "
                "CUDA toolkit does not include it.",
                major=x.major or "",
            )
        ).replace("  ", " ")
    else:
        role, usually = FAMILY_MEANINGS.get(x.family, (N_("a library"), ""))
    version = f" {x.major}" + (f".{x.minor}" if x.minor is not None else "") if x.major is not None else ""
    wanted = (
        _("The name asks for version {version}.", version=version.strip())
        if version and x.family in TOOLKIT_FAMILIES | {"cudnn", "tensorrt"}
        else ""
    )
    return CodeMeaning(
        term=x.name,
        family=_("file for {system}", system=system) if system else _("file"),
        meaning=join_sentences(_("This is {role}.", role=_(role)), wanted),
        usually=_(usually) if usually else "",
        source=_("names and contents of the published packages"),
    )


def _by_name() -> dict[str, list[CodeEntry]]:
    names: dict[str, list[CodeEntry]] = {}
    for code in known_codes():
        names.setdefault(code.name.lower(), []).append(code)
    return names


def _code_meaning(c: CodeEntry) -> CodeMeaning:
    windows = c.family.startswith("Windows")
    return CodeMeaning(
        term=c.name,
        family=_(c.family),
        number=c.number,
        kind="windows error" if windows else "status" if c.family.endswith(STATUS_KINDS) else "",
        meaning=_(c.meaning),
        usually=_(c.usually),
        source=c.source,
    )


def _xid_meaning(x: Xid) -> CodeMeaning:
    table = kernel_log_table()
    return CodeMeaning(
        term=f"Xid {x.code}",
        family=_("line of the kernel log"),
        meaning=_("The driver logged Xid {number}: {meaning}.", number=x.code, meaning=_(x.meaning)),
        usually=_(table.advice(x)),
        source=table.source,
    )


def _matched_phrase(m: Message, low: str) -> str:
    """Return the phrase with which a text contains a message, or the text's own words that match its pattern."""
    said = next((p for p in m.phrases if p.split("*")[0] in low), "")
    return said or next((found[0] for form in m.forms if (found := quick_search(form, low))), m.id)


def _message_meaning(m: Message, low: str) -> CodeMeaning:
    said = _matched_phrase(m, low)
    family = _("harmless message") if m.kind == "harmless" else _("message")
    return CodeMeaning(
        term=said.replace("*", " ... "), family=family, meaning=_(m.meaning), usually=_(m.usually), source=m.source
    )
