"""What calls cuDNN where a framework does so for some models alone: CTranslate2's models of speech have convolutions, its translators none.

Sources: CTranslate2's documentation, "Installation" (cuDNN is for models with convolutions, such as Whisper); NVIDIA's names of cuDNN's files.
"""

from __future__ import annotations

import re

from core.common.late_pattern import late_pattern
from core.model.facts import PythonEnvironment, path_text
from core.probes.probe import ProbeRequest
from core.probes.python.programs.program_folder import PROGRAMS, own_texts
from core.probes.sysroot import Sysroot

SPEECH = late_pattern(
    r"\b(?:faster_whisper|whisperx|whisper_ctranslate2|WhisperModel|ctranslate2\.models\.(?:Whisper|Wav2Vec2(?:Bert)?))\b"
)
"""Packages and classes whose models have convolutions."""
FILES = late_pattern(r"(?i)\bcudnn(?:_\w+)?64_\d+\.dll\b|\blibcudnn(?:_\w+)?\.so\b")
PACKAGES = re.compile(r"faster-whisper|whisperx|whisper-ctranslate2")


def callers_of_cudnn(python: PythonEnvironment, request: ProbeRequest, where: Sysroot) -> tuple[str, ...]:
    """Return the programs of the folder that use such a model, or name cuDNN's files; where the folder has no program, such packages."""
    texts = {p: t for p, t in (own_texts(request, where) or {}).items() if p.endswith(PROGRAMS)}
    if texts:
        return tuple(path_text(path) for path, text in texts.items() if SPEECH.search(text) or FILES.search(text))
    return tuple(f"{d.name} {d.version}" for d in python.distributions if PACKAGES.fullmatch(d.name))
