"""The causes that came with the messages of 2022 to 2026: each is led to its end, and docs/explain.md says what decides it."""

from __future__ import annotations

from pathlib import Path

import pytest

import core.rules
from core.explain import explain, render_text
from core.explain.mechanism.complaints import CAUSED_COMPLAINTS
from core.explain.model import Explanation, RankedCause
from core.explain.steps import with_steps
from core.explain.verdicts import PROOFS, REFUTATIONS
from core.knowledge.causes import cause_rows
from core.knowledge.messages import known_clues
from core.report.help_pages import cure_text
from installer.by_hand import by_hand
from tests.measure_explain import DOCUMENT
from tests.rules.test_driver import TABLE as MACHINES

RULES = "".join(p.read_text(encoding="utf-8") for p in sorted(Path(core.rules.__path__[0]).rglob("*.py")))
NEWER = (
    *("extension_abi_mismatch", "cxx_runtime_too_old", "host_compiler_unsupported", "compiler_lacks_gpu_arch"),
    *("fabric_manager_not_running", "container_lost_devices", "container_no_gpu_runtime", "container_cdi_unresolved"),
    *("open_kernel_module_required", "legacy_driver_required", "pci_memory_unassigned", "cuda_compat_mismatch"),
    *("cuda_compat_unsupported", "cuda_lib_shadowed", "nccl_failed", "numpy_abi_mismatch", "build_tools_missing"),
    *("libdevice_not_found", "linker_lacks_libcuda", "program_error"),
)


def row(cause: str) -> str:
    """Return the line of the table: what finds a cause on a machine, what proves it for a text, and what refutes it."""
    rule = "yes" if f'"{cause}"' in RULES else "-"
    proof = "finding" if cause in CAUSED_COMPLAINTS else "machine" if cause in PROOFS else "-"
    return f"| `{cause}` | {rule} | {proof} | {'yes' if cause in REFUTATIONS else '-'} |"


@pytest.mark.parametrize("cause", NEWER)
def test_a_cause_has_a_clue_a_meaning_and_steps(cause: str) -> None:
    meaning = next(r.meaning for r in cause_rows() if r.cause == cause)
    assert meaning
    assert any(c.because and c.causes.get(cause, 0) >= 3 for c in known_clues().clues)
    assert cure_text(cause)
    best = with_steps(RankedCause(cause=cause, score=0.5, because=("x",), meaning=meaning))
    assert best.steps.split("\n")[0] in render_text(Explanation(sentence="x", causes=(best,)), width=10_000)


def test_the_document_says_what_decides_each() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert [row(cause) for cause in NEWER if row(cause) not in text] == []


@pytest.mark.parametrize(
    ("machine", "text", "cause"),
    [
        ("a container that lost its devices", "Failed to initialize NVML: Unknown Error", "container_lost_devices"),
        ("a job without a right to the devices", "RuntimeError: No CUDA GPUs are available", "container_lost_devices"),
        (
            "804: not for this GPU",
            "Error 804: forward compatibility was attempted on non supported HW",
            "cuda_compat_unsupported",
        ),
        (
            "803 that LD_LIBRARY_PATH has, from a folder of any name",
            "Error 803: system has unsupported display driver / cuda driver combination",
            "cuda_compat_mismatch",
        ),
        ("the module asks for the open one", "RuntimeError: No CUDA GPUs are available", "open_kernel_module_required"),
    ],
)
def test_the_drivers_own_answer_proves_it(machine: str, text: str, cause: str) -> None:
    seen = MACHINES[machine][0]()
    told = explain(text, seen)
    assert (told.link, told.causes[0].cause) == ("proved", cause)
    assert explain("torch.OutOfMemoryError: CUDA out of memory", seen).link != "proved"


if __name__ == "__main__":
    by_hand(__doc__)
    print("\n".join(map(row, NEWER)))
