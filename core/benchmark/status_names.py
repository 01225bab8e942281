"""Names and meanings of the statuses with which a rung can fail."""

from __future__ import annotations

from msgspec.structs import replace

from core.knowledge.messages import CodeEntry, known_codes
from core.model.facts import Rung


def status_family(call: str, major: int) -> str:
    """Return the family of codes to which a function's statuses belong."""
    if call.startswith("cudnn"):
        return "cuDNN 9 status" if major >= 9 else "cuDNN 8 status"
    if call.startswith("cublas"):
        return "cuBLAS status"
    return "NVRTC error" if call.startswith("nvrtc") else "CUDA driver error"


def code_of(call: str, status: int, major: int) -> CodeEntry | None:
    """Return the dictionary's entry for a status; None if there is none."""
    wanted = status_family(call, major)
    return next((c for c in known_codes() if c.family == wanted and c.number == str(status)), None)


def with_status_name(rung: Rung, major: int) -> Rung:
    """Return the rung with its status's name and meaning; other details, such as cuDNN's error message, come last."""
    if rung.state != "failed" or not rung.status:
        return rung
    code = code_of(rung.call, rung.status, major)
    if code is None:
        return rung
    detail = f"({rung.meaning})" if rung.meaning else ""
    meaning = " ".join(filter(None, (code.meaning, code.usually, detail)))
    return replace(rung, status_name=rung.status_name or code.name, meaning=meaning)
