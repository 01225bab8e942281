"""A language that nobody speaks, to see what escapes translation: every text of ours stands in brackets, and is two fifths longer.

What stands outside the brackets is a value: a path, a version, a name. ``escaped`` finds words there that no machine gave.
"""

from __future__ import annotations

import functools
import gettext
import json
import re
from collections.abc import Iterable
from pathlib import Path

from installer.generate.texts import FACT, every_text

OPEN, CLOSE = "⟦", "⟧"
ACCENTED = str.maketrans("aeiounctyAEIOUNCTY", "áéíóúñçťýÁÉÍÓÚÑÇŤÝ")
PARTS = re.compile(r"(\{\{[^{}]*\}\}|\{[^{}]*\}|%\(\w+\)[a-z]|%s)")
KNOWLEDGE = Path(__file__).parents[1] / "resources" / "knowledge"
TOOLS = """
sudo chmod apt get install reinstall dnf dpkg rpm pip python pythonexe conda force no deps cache dir m p R a rX u export unset tee echo
etc ld so conf ldconfig nvidia smi mv ren old modprobe mokutil dmesg grep wsl shutdown systemctl convalesce scan try thorough explain out report undo
lspci setx rnxF opt usr lib lib64 local cache tools Program Files System32 FASTEST FIRST BUS ID cuda12 cuda13 drop prepend python3 url https download whl cu118 cu121 cu124 cu126 cu128 cu129 cu130 index org docker podman run gpus all device com gpu wheel usermod aG USER update initramfs import os add dll directory pth whl
uv uninstall y upgrade force r site packages bin activate source true false null None venv kernel module load
pub var ptxjitcompiler test e grep q s V proc version linux gnu aarch64 x86_64 headers uname firmware misc nonfree reboot akmod akmods modinfo Qkk Q module dkms open list new Subject key already shim signed mok MOK der pki certs public_key kmodgenca kmp meta utils G06 c d blacklist options modeset lsmod dracut mkinitcpio P libcuda1 ptxjitcompiler1 ml1 ctk cdi generate output yaml pacman S zypper xorg x11 drv libs modprobe rm f c u NVENC
"""
"""Words of commands that a person copies."""
NAMES = """
Convalesce CUDA cuDNN NVIDIA GPU GPUs Python PyTorch TensorFlow JAX ONNX Runtime CTranslate2 CuPy Paddle MXNet OpenCV Windows Linux WSL
NVML cuInit cuDriverGetVersion PATH LD_LIBRARY_PATH MiB GiB bytes TFLOP/s MHz ms PCI RECORD SHA Xid AVX PTX WDDM MIG driver toolkit
cudnn environment frameworks benchmark loader API DLL C DejaVu Sans Esc Ctrl English Deutsch ECC conda html markdown json JSON FILE
github com pytorch issues developer Microsoft Store SASS torch nvcc forward fp16 fp32 tf32 bf16 int8 NCHW NHWC GEMM FFT Winograd error warning
cuModuleLoadData GlobalMemoryStatusEx UTC note good unknown cpu only Apache The Qt
"""
"""Names that every language keeps."""


class Pseudo(gettext.NullTranslations):
    """Translates every text that the catalogues have, and only those."""

    def __init__(self) -> None:
        super().__init__()
        self._catalog: dict[str, str] = {}
        for text in every_text():
            key = f"{FACT}\x04{text.message}" if text.context else text.message
            self._catalog[key] = turned(text.message)
            if text.plural:
                self._catalog[text.plural] = turned(text.plural)

    def gettext(self, message: str) -> str:
        """Return the text in brackets."""
        return self._catalog.get(message, message)

    def pgettext(self, context: str, message: str) -> str:
        """Return the text of a context in brackets."""
        return self._catalog.get(f"{context}\x04{message}", message)

    def ngettext(self, singular: str, plural: str, number: int) -> str:
        """Return the form in brackets."""
        return self.gettext(singular if number == 1 else plural)


@functools.cache
def turned(message: str) -> str:
    """Return a text with every part between values in brackets, accented, and two fifths longer."""
    out = []
    for i, part in enumerate(PARTS.split(message)):
        if i % 2 or not part.strip():
            out.append(part)
            continue
        bare = part.strip(" \n")
        more = ((" ~~~~~" if " " in bare else "~") * len(bare))[: len(bare) * 2 // 5].rstrip()
        out.append(part.replace(bare, f"{OPEN}{bare.translate(ACCENTED)}{more}{CLOSE}"))
    return "".join(out)


def outside(text: str) -> str:
    """Return what stands outside all brackets."""
    depth, out = 0, []
    for c in text:
        depth += (c == OPEN) - (c == CLOSE)
        out.append(c if depth == 0 and c != CLOSE else " ")
    return NOT_TEXT.sub(" ", "".join(out))


NOT_TEXT = re.compile(r"</?(?:details|summary|sub)>|\bCV(?:-[0-9A-Z]+)+")
"""Marks of Markdown, and session codes."""
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]+")


@functools.cache
def known_words() -> frozenset[str]:
    """Return the words of names, commands and the tables' sources."""
    tables = " ".join(p.read_text(encoding="utf-8") for p in KNOWLEDGE.glob("*.json"))
    sources = " ".join(
        re.findall(
            r'"(?:source|architecture|\w+_source|cause|package|name|id|instead|torch|extra)": "((?:[^"\\]|\\.)*)"',
            tables,
        )
    )
    return frozenset(w.lower() for w in _WORD.findall(f"{sources} {TOOLS} {NAMES}"))


def escaped(text: str, machine: Iterable[str]) -> set[str]:
    """Return the words outside the brackets that neither the machine nor a name gave."""
    given = {w.lower() for value in machine for w in _WORD.findall(value)} | known_words()
    return {w for w in _WORD.findall(outside(text)) if w.lower() not in given}


def values(document: object) -> Iterable[str]:
    """Yield every text of a JSON document, not its keys."""
    if isinstance(document, str):
        yield document
    elif isinstance(document, dict):
        for value in document.values():
            yield from values(value)
    elif isinstance(document, list):
        for value in document:
            yield from values(value)


@functools.cache
def texts_of_ours() -> frozenset[str]:
    """Return every text of the catalogues in English."""
    return frozenset(t.message for t in every_text())


def of_snapshot(encoded: bytes) -> tuple[str, ...]:
    """Return what the machine gave: every text of its Snapshot that no probe of ours worded."""
    return tuple(v for v in values(json.loads(encoded)) if v not in texts_of_ours())
