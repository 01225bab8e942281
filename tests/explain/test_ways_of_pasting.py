"""One message in the forms in which people paste it: the answer stays the same."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from core.explain import explain

FORMS: dict[str, Callable[[str], str]] = {
    "a log's prefix": lambda t: "\n".join(f"2026-03-04 10:11:12,123 - ERROR - worker-3 - {x}" for x in t.split("\n")),
    "docker compose": lambda t: "\n".join(f"app-1  | {x}" for x in t.split("\n")),
    "torchrun": lambda t: "\n".join(f"[rank0]: {x}" for x in t.split("\n")),
    "the journal": lambda t: "\n".join(f"Mar 04 10:11:12 host app[4711]: {x}" for x in t.split("\n")),
    "quoted": lambda t: "\n".join(f"> {x}" for x in t.split("\n")),
    "a post": lambda t: f"Hi, I get this, please help!\n```\n{t}\n```\nThanks",
    "Windows' line ends": lambda t: t.replace("\n", "\r\n"),
    "typographic quotes": lambda t: t.replace("'", "’").replace('"', "”"),
    "hard spaces": lambda t: t.replace(" ", "\u00a0"),
    "one line": lambda t: " ".join(t.split()),
}
MESSAGES = {
    "Traceback (most recent call last):\nImportError: libcudnn.so.9: cannot open shared object file: No such file or directory": "",
    "RuntimeError: CUDA error: no kernel image is available for execution on the device\nNVIDIA GeForce RTX 5090": "gpu_arch_too_new",
    "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 560.35": "driver_library_mismatch",
    "AssertionError: Torch not compiled with CUDA enabled": "framework_cpu_only_build",
    'OSError: [WinError 1114] Error loading "C:\\venv\\Lib\\site-packages\\torch\\lib\\c10.dll"': "vc_runtime_missing",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB": "gpu_memory_exhausted",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("message", MESSAGES)
def test_the_form_of_a_paste_does_not_change_the_answer(message: str, form: str) -> None:
    told = explain(FORMS[form](message)).causes[0].cause
    assert told == (MESSAGES[message] or explain(message).causes[0].cause)
