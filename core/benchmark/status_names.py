"""Names and meanings of the statuses that a rung may end with."""

from __future__ import annotations

from msgspec.structs import replace

from core.knowledge.messages import CodeEntry, known_codes
from core.model.facts import Rung


def status_family(call: str, major: int) -> str:
    """Return the family of codes that a function's statuses belong to."""
    if call.startswith("cudnn"):
        return "cuDNN 9 status" if major >= 9 else "cuDNN 8 status"
    if call.startswith("cublas"):
        return "cuBLAS status"
    return "NVRTC error" if call.startswith("nvrtc") else "CUDA driver error"


def code_of(call: str, status: int, major: int) -> CodeEntry | None:
    """Return what is known of a status."""
    wanted = status_family(call, major)
    return next((c for c in known_codes() if c.family == wanted and c.number == str(status)), None)


def with_status_name(rung: Rung, major: int) -> Rung:
    """Return the rung with its status's name and meaning; what else is known, such as cuDNN's last word, comes last."""
    if rung.state != "failed" or not rung.status:
        return rung
    code = code_of(rung.call, rung.status, major)
    if code is None:
        return rung
    detail = f"({rung.meaning})" if rung.meaning else ""
    meaning = " ".join(filter(None, (code.meaning, code.usually, detail)))
    return replace(rung, status_name=rung.status_name or code.name, meaning=meaning)
