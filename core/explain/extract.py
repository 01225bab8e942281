"""From a paste or a log of many megabytes to the few relevant lines, in linear time and without control characters."""

from __future__ import annotations

import re
from html import unescape

from core.common.late_pattern import late_pattern

MAX_CHARACTERS = 10_000_000
"""Maximum number of characters read; of a longer text, the beginning and the end."""
SMALL_TEXT_CHARACTERS = 40_000
"""Characters up to which a text is read completely."""
WINDOW_BYTES = 700
"""Bytes read on each side of a hit in a very long line."""
MAX_HITS = 30
"""Maximum number of hits read per trigger from the beginning and from the end: the first and last errors say most."""
MAX_EXTRACT_BYTES = 500_000
"""Maximum number of bytes extracted in total."""

TRIGGER_WORDS: tuple[bytes, ...] = (
    *(b"cud", b"cubla", b"cufft", b"curand", b"cusolver", b"cusparse", b"nvidia", b"nvrtc", b"nvml", b"nvinfer", b"nvcu"),
    *(b"gpu", b"dll", b"lib64", b".so", b"zlib", b"vcruntime", b"msvcp", b"winerror", b"error code", b"exit code", b"0xc0"),
    *(b"tensorflow", b"torch", b"onnxruntime", b"paddle", b"ctranslate", b"jaxlib", b"cupy", b"whisper", b"mxnet"),
    *(b"illegal instruction", b"segmentation fault", b"bus error", b"paging file", b"badzipfile", b"file too short", b"undefined symbol"),
    *(b"nvcc", b"ptxas", b"triton", b"nccl", b"numpy", b"glibc", b"rocm", b"amdgpu", b"nvrm", b"dkms", b"kernel module", b"loss", b"nan"),
    *(b"shared memory", b"assert", b"jetson", b"llvmpipe", b"daemon-reload", b"cannot import name", b"tensor", b"memory"),
    *(b"compiler", b"modprobe", b"libdevice", b"dynamic lib", b"unsupported", b"avx", b"apple m", b"amd ", b"forward compat", b"engine to execute"),
    *(b"execution provider", b"executionprovider", b"out of bounds", b"numa node", b"convert empty path"),
    *(b"ollama", b"llama", b"ggml", b"vllm", b"sglang", b"opencl", b"vulkan", b"gloo", b"c10d", b"nvenc", b"hwaccel", b"nvlddmkm"),
    *(b"pcie bus error", b"d3cold", b"pci 0000", b"level_zero", b"/dev/kfd", b"signal 9", b"exit code", b"oomkilled"),
    *("显存".encode(), b"ninja", b"kv cache", b"opencl", b"error:", b"exception:", b"fatal", b"failed to", b"no module named"),
    *(b"could not", b"unable to", b"cannot find", b"accelerator", b"peer access", b"cpu version", b"cpu-only", b"device: cpu"),
    *(b"nouveau", b"secure boot", b"mokutil", b"key was rejected", b"xid", b"uncorrectable", b"container", b"wsl", b"compute capability"),
)  # fmt: skip
"""Lower-case words. In a long text, only what is near one of them is read; a new topic needs its word here."""

_AS_ZERO = bytes.maketrans(b"123456789", b"000000000")

_ESCAPE = late_pattern(r"\x1b(?:\[[0-9;:?]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,300}(?:\x07|\x1b\\)?|[@-Z\\^_])")
_CONTROL = late_pattern("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_SPACE = late_pattern("[\xa0\u2000-\u200a\u202f\u205f\u3000]")
_TAG = late_pattern(r"</?[a-zA-Z][a-zA-Z0-9]{0,15}(?:\s[^<>\n]{0,200})?/?>")

_RECORD = late_pattern(rb"\W{0,2}(?:\d{4}-\d{2}-\d{2}[t ,]|[a-z]{3} {1,2}\d{1,2} )?\d{2}:\d{2}:\d{2}")
"""The time at the start of a log record, in lower case."""
_BAR = late_pattern(
    r"\d{1,3}%\|[ #█▏▎▍▌▋▊▉0-9>=.\-]{0,150}\|[^\[\n]{0,40}(?:\[[^\],\n]{0,40}(?:,[^\],\n]{0,30})?(?:, ?([^\]\n]{0,200}))?\])?|[━╸╺╺█▏▎▍▌▋▊▉░▒▓]{3,200}(?: ?[\d.]{1,8}/[\d.]{1,8} [kMG]B[^\n]{0,40}?(?=\n|\Z))?"
)
"""Progress bars as tqdm and pip draw them, without what a program adds after the speed, such as its loss."""
_ADVICE = late_pattern(
    r"\b[Ii]f you (?:get|see|have|encounter) (?:a|an|the|this) [^\n.,]{0,40}(?:\.dll)? ?errors?,[^\n]{0,200}"
)
"""What a program advises for another fault, whether or not it is there: "If you get a c10.dll error, install ..."."""
_FRAME = late_pattern(
    r'^(( {2,20})File "[^"\n]{1,300}", line \d{1,7}[^\n]{0,200}\n)(?:\2 {2,}[^\n]{0,400}(?:\n|\Z)){1,4}', re.MULTILINE
)
"""A frame of a Python traceback: the lines below it, indented further, are source code, not a message.

pip shows a whole traceback indented: the exception then stands below the last frame, indented less than it."""


def relevant_part(text: str) -> str:
    """Return the part of a text that may be about the GPU set-up: whole when it is short, else the lines around a trigger.

    Terminal escapes, control characters and HTML are taken out; the cost grows linearly with the text.
    """
    if len(text) > MAX_CHARACTERS:
        text = text[: MAX_CHARACTERS // 2] + "\n" + text[-MAX_CHARACTERS // 2 :]
    if len(text) > SMALL_TEXT_CHARACTERS:
        text = _near_triggers(text)
    return clean_text(text)


def _near_triggers(text: str) -> str:
    # bytes.lower() changes ASCII only, so positions stay the same.
    raw = text.encode("utf-8", "replace")
    low = raw.lower()
    present = [trigger for trigger in _likely_triggers(low) if trigger in low]
    spans = sorted({span for trigger in present for span in (*_lines_with(low, trigger), *_last(low, trigger))})
    parts: list[bytes] = []
    end = 0
    for start, stop in spans:
        if stop > end:
            parts.append(raw[max(start, end) : stop])
            end = stop
    if sum(map(len, parts)) > MAX_EXTRACT_BYTES:
        parts = [b"\n".join(parts)[: MAX_EXTRACT_BYTES // 2], b"\n".join(parts)[-MAX_EXTRACT_BYTES // 2 :]]
    return b"\n".join(parts).decode("utf-8", "replace")


def _likely_triggers(low: bytes) -> tuple[bytes, ...]:
    """Return the triggers whose words are in a text: a log repeats its words, so that most are missed quickly among each of them once."""
    lines = {*low.translate(_AS_ZERO).split(b"\n")}
    words = b" ".join({*b" ".join(lines).split()})
    if 2 * len(words) > len(low):
        return TRIGGER_WORDS
    return tuple(t for t in TRIGGER_WORDS if all(w in words for w in t.translate(_AS_ZERO).split()))


def _lines_with(low: bytes, trigger: bytes) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    at = low.find(trigger)
    while at >= 0 and len(found) < MAX_HITS:
        found.append(_line_around(low, at))
        at = low.find(trigger, found[-1][1])
    return found


def _last(low: bytes, trigger: bytes) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    at = low.rfind(trigger)
    while at >= 0 and len(found) < MAX_HITS:
        found.append(_line_around(low, at))
        at = low.rfind(trigger, 0, found[-1][0])
    return found


def _line_around(low: bytes, at: int) -> tuple[int, int]:
    """Return the range of a hit's line and the next one, cut to a window if the line is long.

    Many messages have two lines. The next record of a log is left out.
    """
    start = low.rfind(b"\n", max(0, at - WINDOW_BYTES), at)
    start = start + 1 if start >= 0 else max(0, at - WINDOW_BYTES)
    stop = low.find(b"\n", at, at + WINDOW_BYTES)
    if stop >= 0 and not _RECORD.match(low, stop + 1):
        stop = low.find(b"\n", stop + 1, stop + WINDOW_BYTES)
    return start, stop if stop >= 0 else min(len(low), at + WINDOW_BYTES)


_KERNEL_MODULE = "NVRM: "
"""What each line of NVIDIA's kernel module begins with."""
_GOES_ON = late_pattern(r"(?!GPU |Xid |API |loading |[\w.]{1,60}:)\w")
"""What continues a sentence of the line before; a message of its own begins with the GPU, or with a function's name."""


def clean_text(text: str) -> str:
    """Return text without terminal escapes, tags, control characters, progress bars and source lines of tracebacks;
    line ends become line feeds.
    """
    if "\x1b" in text:
        text = _ESCAPE.sub("", text)
    if "<" in text or "&" in text:
        text = unescape(_TAG.sub(" ", text))
    text = _CONTROL.sub("", _SPACE.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n")))
    if "%|" in text or "━" in text or "█" in text:
        text = _BAR.sub(lambda m: m[1] or "", text)
    if "f you " in text:
        text = _ADVICE.sub("", text)
    if _KERNEL_MODULE in text:
        text = _with_whole_sentences(text)
    if len(text) > TERMINAL_COLUMNS:
        text = _with_whole_lines(text)
    return _FRAME.sub(r"\1", text) if '  File "' in text else text


TERMINAL_COLUMNS = 80
"""Width at which a terminal, and many a form on the web, cuts long lines."""
_TABLE = "|+-=*#>"
"""What lines of tables, lists and quotations begin or end with."""


def _with_whole_lines(text: str) -> str:
    """Return a text in which lines that were cut at a terminal's width are whole again; others have no line of just that length."""
    lines = text.split("\n")
    if max(map(len, lines)) != TERMINAL_COLUMNS:
        return text
    whole: list[str] = []
    was_cut = False
    for line in lines:
        if was_cut and line and line[0] not in _TABLE:
            whole[-1] += line
        else:
            whole.append(line)
        was_cut = len(line) == TERMINAL_COLUMNS and line[0] not in _TABLE and line[-1] not in _TABLE
    return "\n".join(whole)


def _with_whole_sentences(log: str) -> str:
    """Return a kernel log in which each sentence of NVIDIA's module is on one line: the module writes many on several."""
    lines: list[str] = []
    for line in log.split("\n"):
        start = line.find(_KERNEL_MODULE) + len(_KERNEL_MODULE)
        goes_on = start >= len(_KERNEL_MODULE) and lines and _KERNEL_MODULE in lines[-1] and lines[-1][-1] not in ".:!?"
        if goes_on and _GOES_ON.match(line, start):
            lines[-1] += f" {line[start:]}"
        else:
            lines.append(line)
    return "\n".join(lines)
