"""Reads a text into marks: short words such as ``windows``, ``missing:cudnn`` or ``win:126`` that clues build on.

Codes and file names decide, not prose, because they are the same in every language.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from core.common.quick_search import quick_search
from core.explain import context
from core.explain.extract import relevant_part
from core.explain.translated import in_english
from core.knowledge.kernel_log import kernel_log_table, logged_xids
from core.knowledge.library_names import TOOLKIT_FAMILIES, LibraryName, parse_library_name
from core.knowledge.messages import Message, known_messages

_FILE = re.compile(
    r"(?<![\w+\-])[a-z0-9_][a-z0-9_+\-]{0,78}(?:\.cp\d{1,4}-win[_a-z0-9]{1,8})?\.(?:dll|pyd|so(?:\.\d{1,6}){0,4})(?![a-z0-9])"
)
_WINDOWS_CODE = re.compile(
    r"(?:winerror|error code(?: is)?|(?:with|last) error|errno|error|fehler(?:code)?|code d.erreur|erreur|错误代码|错误码|错误|エラー(?:コード)?|код ошибки|ошибка)"
    r"[ \t:：=#(\[]{0,4}(126|127|182|193|998|1114|1157|1392|1455|14001)\b"
)
_NTSTATUS = re.compile(r"\b0x(c0[0-9a-f]{6})\b")
_NEGATIVE = re.compile(r"(?<![\d.])(-10737\d{5}|3221[0-9]{6})(?!\d)")
_CUDA_NUMBER = re.compile(
    r"\b(?:cuda|cuinit|cudaerror_t|curesult|cudagetdevicecount)\b[a-z_(): ]{0,24}?\b(?:error|returned|status|code|failed|failure|results in)"
    r"[ :=#(,]{1,4}(\d{1,3})\b|\bcudaerror ?\((\d{1,3})\)|\berror (\d{3}):|\bcuda\b[^\n\d]{0,60}?\b(?:error|status|failure)[ :=]{1,2}(\d{2,3})\b"
    r"|\bcudaapierror: ?\[(\d{1,3})\]|\bfailed to get device context (\d{1,3})(?!\d)"
    # "cuDriverGetVersion(): 34", "cudaSetDevice err: 999", "cuInit(0) returned 100"
    r"|\bcu(?:da)?(?:init|driver|device|ctx|mem|module|stream|launch|get|set|malloc|event|runtime)[a-z0-9_]{0,40}(?:\([^()\n]{0,20}\))?"
    r"(?::| returned| failed| failed with| err| error| status| result){1,2}[ :=(]{1,3}(\d{1,3})\b(?!\.\d)"
)
CUDA_NUMBERS = {
    # number -> name of the cudaError, which CUresult shares from CUDA 10.1 on (driver_types.h, cuda.h)
    2: "out of memory", 3: "cudaerrorinitializationerror", 34: "cudaerrorstublibrary", 35: "cudaerrorinsufficientdriver",
    46: "cudaerrordevicesunavailable", 100: "cudaerrornodevice", 101: "cudaerrorinvaliddevice", 200: "cudaerrorinvalidkernelimage",
    209: "cudaerrornokernelimagefordevice", 214: "cudaerroreccuncorrectable", 222: "cudaerrorunsupportedptxversion",
    220: "cudaerrornvlinkuncorrectable", 221: "cudaerrorjitcompilernotfound", 304: "cudaerroroperatingsystem", 700: "cudaerrorillegaladdress", 719: "cudaerrorlaunchfailure",
    801: "cudaerrornotsupported",
    802: "cudaerrorsystemnotready", 803: "cudaerrorsystemdrivermismatch", 804: "cudaerrorcompatnotsupportedondevice",
    805: "cudaerrormpsconnectionfailed", 999: "cudaerrorunknown",
    # numbers of CUDA before 10.1
    8: "cudaerrorinvaliddevicefunction", 10: "cudaerrorinvaliddevice", 30: "cudaerrorunknown", 38: "cudaerrornodevice",
    48: "cudaerrornokernelimagefordevice", 77: "cudaerrorillegaladdress",
}  # fmt: skip
_MISSING = (
    "cannot open shared object", "not found", "could not locate", "could not find", "cannot find", "can't find", "unable to find",
    "could not load", "couldn't load", "cannot load", "unable to load", "failed to load", "failed to open", "cannot be loaded", "could not open",
    "couldn't open", "cannot open", "no such file", "not located", "missing", "is not configured", "failed to dlopen", "cannot be found", "could not be found",
    "not be located", "was not found", "error loading", "error code 126", "winerror 126", "error 126", "unable to locate", "unsatisfied link",
    "找不到", "无法找到", "未找到", "缺少", "无法加载", "introuvable", "nicht gefunden", "konnte nicht", "не найден", "не удалось", "не удается найти", "見つかりません", "読み込めません",
    "no se encuentra", "no se pudo", "não foi possível", "impossible de", "fehlt", "module could not be", "absent", "dlerror",
    "无法打开共享", "nicht öffnen", "peut ouvrir", "невозможно открыть", "no se puede abrir", "impossibile aprire", "を開けません",
)  # fmt: skip
"""Words which say that the library on the same line was not found or did not load."""
_OTHERWISE = (
    "undefined symbol",
    "error code 127",
    "error code 193",
    "error code 1114",
    "1455",
    "file too short",
    "cannot read file data",
    "invalid elf",
)
"""Words which give another reason."""
_SYSTEM_LIBRARY = re.compile(
    r"(?<![\w+\-])(lib[\w+\-]{1,40}(?:\d\.\d{1,3})?\.so(?:\.\d{1,6}){0,3}):? cannot open shared object file(?!: (?:permission|invalid|cannot|file too))"
)
"""glibc's loader messages about any library."""
_NAMED_WITHOUT_FILE = re.compile(r'unable to dynamically load the "([a-z]{2,20})" shared library')
"""cudarc's message: it names the library, and then files of many releases that it tried."""
_DENIED = re.compile(
    r"\b(?:without|not (?:in|inside|within|using|on|under)) (?:an? |the |any )?(?:docker|containers?|podman|kubernetes|singularity|wsl ?[12]?)\b"
)
"""Where the program does not run, according to the text."""
_OPENED = re.compile(
    r"successfully opened|successfully loaded|opened dynamic library|(?<!be )(?<!not )(?<!never )\bloaded (?!runtime)"
)


@dataclass(frozen=True)
class ParsedText:
    """Everything that was read from one text."""

    text: str
    """The relevant part, cleaned, in its original case."""
    low: str
    """The same in lower case and in English, line by line, and behind that the names of codes that were given as numbers."""
    marks: frozenset[str]
    """The marks that clues may use."""
    libraries: tuple[LibraryName, ...] = ()
    blamed: tuple[LibraryName, ...] = ()
    """The libraries that the text complains about: missing, or found but not loaded.

    Files that fail because of them are not included.
    """
    opened: tuple[LibraryName, ...] = ()
    """The libraries that were found and loaded according to the text."""
    symptoms: tuple[Message, ...] = ()
    harmless: tuple[Message, ...] = ()
    first: Mapping[str, int] = field(default_factory=dict)
    """Index of each known message's first occurrence: the first one is the reason more often than later ones."""
    xids: tuple[int, ...] = ()
    """Xid numbers in the kernel log."""

    def as_written(self, library: LibraryName) -> str:
        """Return a library's file name in the case in which the text has it."""
        there = re.search(re.escape(library.name), self.text, re.IGNORECASE)
        return there[0] if there else library.name


def read_text(text: str) -> ParsedText:
    """Read an error text or a log. Never raises; the cost is linear in the length of the text."""
    kept = relevant_part(text)
    # a heading of nvidia-smi's table, on every machine
    low = _DENIED.sub("", in_english(kept.lower().replace("mig m.", "")))
    named, marks = _codes(low)
    low = low + "\n" + "\n".join([*named, *_unnamed_files(low)])
    known = known_messages()
    first = {m.id: at for m in known if (at := first_place(m, low)) is not None}
    found = tuple(m for m in known if m.id in first)
    marks |= {m.id for m in found}
    xids = logged_xids(low)
    marks |= _xid_marks(xids) if xids else set()
    libraries, blamed, loaded, of_files = _files(low)
    # error 127: the file was found, and a function is missing
    found_all = "win:127" in marks and "win:126" not in marks
    marks |= {m for m in of_files if not (found_all and m.startswith("missing:"))}
    unknown = [m[1] for m in _SYSTEM_LIBRARY.finditer(low) if parse_library_name(m[1]) is None]
    marks |= {"missing:other-library"} if unknown else set()
    marks |= context.comparison_marks(kept, low, libraries, marks)
    symptoms = tuple(m for m in found if m.kind == "symptom")
    harmless = tuple(m for m in found if m.kind == "harmless")
    marks |= {"harmless-only"} if harmless and not symptoms and not blamed else set()
    return ParsedText(
        text=kept,
        low=low,
        marks=frozenset(marks),
        libraries=libraries,
        blamed=blamed,
        opened=loaded,
        symptoms=symptoms,
        harmless=harmless,
        first=first,
        xids=xids,
    )


def _unnamed_files(low: str) -> list[str]:
    """Return a line about the file of each library that a message calls missing by its bare name."""
    names = (m[1] for m in _NAMED_WITHOUT_FILE.finditer(low))
    return [f"lib{name}.so{'.1' if name == 'cuda' else ''}: cannot open" for name in names]


def _xid_marks(numbers: tuple[int, ...]) -> set[str]:
    """Return whose fault the numbers usually are: a program's, the card's, or a link's."""
    kinds = {x.kind for x in kernel_log_table().xids if x.code in numbers and x.cause}
    by_kind = {"program": "xid-program", "card": "xid-card", "link": "xid-link"}
    return {by_kind[kind] for kind in kinds if kind in by_kind}


def _codes(low: str) -> tuple[list[str], set[str]]:
    """Return the names of numbers in the text, and the marks of its codes."""
    marks = {f"win:{m[1]}" for m in _WINDOWS_CODE.finditer(low)}
    nt = {m[1] for m in _NTSTATUS.finditer(low)}
    nt |= {f"{int(m[1]) & 0xFFFFFFFF:08x}" for m in _NEGATIVE.finditer(low)}
    marks |= {f"nt:{n}" for n in nt}
    numbers = {int(next(g for g in m.groups() if g)) for m in _CUDA_NUMBER.finditer(low)}
    return [CUDA_NUMBERS[n] for n in sorted(numbers) if n in CUDA_NUMBERS] + [f"0x{n}" for n in sorted(nt)], marks


def first_place(message: Message, low: str) -> int | None:
    """Return the index of a message's first occurrence in the text (lower case); None if there is none."""
    # most phrases are not there: the quick look comes first
    there = (pieces for phrase in message.phrases if (pieces := _pieces(phrase))[0] in low)
    at = [place for pieces in there if (place := _place(pieces, low)) is not None]
    at += [m.start() for form in message.forms if (m := quick_search(form, low))]
    return min(at, default=None)


@cache
def _pieces(phrase: str) -> tuple[str, ...]:
    return tuple(phrase.split("*"))


def _place(pieces: tuple[str, ...], low: str) -> int | None:
    """Return the index of the phrase as whole words; the parts around a ``*`` must be near each other on one line."""
    first, *rest = pieces
    at = low.find(first)
    for _ in range(50):
        if at < 0:
            return None
        end = at + len(first)
        if _is_at_word(low, at, end, first) and _pieces_follow(rest, low, end):
            return at
        at = low.find(first, at + 1)
    return None


def _is_at_word(low: str, start: int, end: int, phrase: str) -> bool:
    """Whether a phrase starts at a word's start, and a short one ends at a word's end.

    Scripts without spaces are exempt.
    """
    if not phrase.isascii():
        return True
    if phrase[0].isalnum() and start and low[start - 1].isalnum() and low[start - 1].isascii():
        return False
    return len(phrase) > 5 or not phrase[-1].isalpha() or not low[end : end + 1].isalpha()


def _pieces_follow(pieces: list[str], low: str, end: int) -> bool:
    for piece in pieces:
        stop = low.find("\n", end, end + 120)
        place = low.find(piece, end, stop if stop >= 0 else end + 120)
        if place < 0:
            return False
        end = place + len(piece)
    return True


def named_libraries(low: str) -> tuple[LibraryName, ...]:
    """Return every relevant library that a text (lower case) names, each once."""
    return tuple(dict.fromkeys(x for m in _FILE.finditer(low) if (x := parse_library_name(m[0]))))


_Libraries = tuple[LibraryName, ...]


def _files(low: str) -> tuple[_Libraries, _Libraries, _Libraries, set[str]]:
    """Return the libraries that the text names, complains about and loaded, and the marks of its lines about them."""
    libraries: dict[str, LibraryName] = {}
    blamed: dict[str, LibraryName] = {}
    loaded: dict[str, LibraryName] = {}
    marks: set[str] = set()
    for line in low.split("\n"):
        here = [(m.start(), x) for m in _FILE.finditer(line) if (x := parse_library_name(m[0]))]
        if not here:
            continue
        opened = bool(_OPENED.search(line))
        otherwise = any(w in line for w in _OTHERWISE)
        missing = not opened and not otherwise and any(w in line for w in _MISSING)
        # "Could not load library A. Error: B: cannot open": B is missing, not A
        reason = line.find("error: ")
        behind = [x for at, x in here if at > reason >= 0]
        victims = {x.name for at, x in here if at < reason} if behind and behind[0].name != here[0][1].name else set()
        marks |= {"names-other-library"} if victims and missing else set()
        for _, x in here:
            libraries.setdefault(x.name, x)
            if opened:
                loaded.setdefault(x.name, x)
            if (missing or (otherwise and not opened)) and x.name not in victims:
                blamed.setdefault(x.name, x)
            marks |= _marks_of(x, "opened" if opened else "missing" if missing and x.name not in victims else "named")
    return tuple(libraries.values()), tuple(blamed.values()), tuple(loaded.values()), marks


def _marks_of(x: LibraryName, how: str) -> set[str]:
    families = {x.family, *(("toolkit",) if x.family in TOOLKIT_FAMILIES else ())}
    if x.family == "cudnn":
        families.add("cudnn-sub" if x.part else "cudnn-main")
    if x.family == "libcuda" and x.name.endswith(".so"):
        families.add("libcuda-unversioned")
    marks = {f"{word}:{f}" for f in families for word in ({"lib", how} if how != "opened" else {"opened"})}
    if how != "opened" and x.major is not None:
        marks |= {f"lib:{f}-{x.major}" for f in families}
    return marks | {x.platform}
