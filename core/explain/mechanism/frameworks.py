"""The framework that a text is about."""

from __future__ import annotations

from core.explain.reading import ParsedText

FRAMEWORK_DISTRIBUTIONS: dict[str, tuple[str, ...]] = {
    # mark of a text -> prefix of the distributions
    "pytorch": ("torch",),
    "tensorflow": ("tensorflow", "keras"),
    "jax": ("jax",),
    "onnxruntime": ("onnxruntime",),
    "ctranslate2": ("ctranslate2", "faster-whisper", "whisperx"),
    "paddle": ("paddlepaddle",),
    "cupy": ("cupy",),
    "mxnet": ("mxnet",),
    "opencv": ("opencv",),
}
OWN_WORDS = {
    "ort-provider": "onnxruntime",
    "ort-create": "onnxruntime",
    "torch-not-compiled": "pytorch",
    "tf-not-built": "tensorflow",
}
"""Messages that only one framework prints, even without its name."""


def frameworks_of(reading: ParsedText) -> frozenset[str]:
    """Return the frameworks that a text names, or whose messages it contains."""
    return (reading.marks & FRAMEWORK_DISTRIBUTIONS.keys()) | {OWN_WORDS[m] for m in reading.marks & OWN_WORDS.keys()}
