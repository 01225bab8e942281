"""Memory that is short for another reason than a small GPU: a size that is a wrong number, and memory that is never released."""

from __future__ import annotations

import pytest

from core.explain import explain
from core.explain.reading import read_text

WRONG = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 131060.03 GiB",
    "CUDA out of memory, trying to allocate 133792483MiB",
    "cudaErrorMemoryAllocation: out of memory, failed to allocate 1.5 EiB",
    "RuntimeError: CUDA out of memory. Tried to allocate 67371012.07 GiB. GPU 0 has a total capacity of 39.39 GiB of which 17.17 GiB is free.",
    "CUDA_ERROR_OUT_OF_MEMORY: failed to allocate 17179869184.00G (18446744073709551616 bytes) from device",
)
POSSIBLE = (
    "CUDA out of memory. Tried to allocate 2.00 GiB",
    "CUDA out of memory. Tried to allocate 218.96 GiB",
    "CUDA out of memory. Tried to allocate 1536.00 GiB",
    "out of memory: failed to allocate 17.79G (19104890880 bytes) from device",
    "CUDA out of memory: 9 allocations failed. |  30123MiB / 183359MiB |",
    "ran out of memory trying to allocate 4.00GiB (rounded to 4294967296)requested by op",
)
OF_A_BUILD = {
    "extension_abi_mismatch",
    "nvcc_toolkit_mismatch_build",
    "gpu_arch_too_new",
    "gpu_arch_too_old",
    "program_error",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_size_that_no_gpu_has_says_nothing_of_its_memory(text: str) -> None:
    told = explain(text)
    assert "gpu_memory_exhausted" not in {r.cause for r in told.causes[:5] if r.verdict != "refuted"}
    assert len({r.cause for r in told.causes[:5]} & OF_A_BUILD) >= 3
    assert told.causes[0].score < 0.6
    assert "more memory than any GPU has" in told.says.meaning


@pytest.mark.parametrize("text", POSSIBLE)
def test_a_size_that_a_machine_could_have_is_one_of_memory(text: str) -> None:
    assert "impossible-size" not in read_text(text).marks
    assert explain(text).causes[0].cause == "gpu_memory_exhausted"


def test_the_text_itself_refutes_that_memory_was_short() -> None:
    told = explain("CUDA out of memory. Tried to allocate 67109892.01 GiB")
    judged = {r.cause: r.verdict for r in told.causes}
    assert judged.get("gpu_memory_exhausted", "refuted") == "refuted"


def test_an_extension_that_was_built_on_another_machine_comes_before_the_program() -> None:
    told = explain(
        "I compiled it on the login node and run it on another GPU\n"
        "num_rendered, color = _C.rasterize_gaussians(*args)\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 21355.80 GiB."
    )
    assert told.causes[0].cause in {"gpu_arch_too_new", "gpu_arch_too_old", "extension_abi_mismatch"}


@pytest.mark.parametrize(
    "text",
    [
        "MemoryError: Unable to allocate 48.9 PiB for an array with shape (165887987, 165887987) and data type int16",
        "DefaultCPUAllocator: can't allocate memory: you tried to allocate 4000000000000000 bytes. Error code 12",
    ],
)
def test_a_size_that_no_computer_has_is_the_program_s(text: str) -> None:
    assert explain(text).causes[0].cause == "program_error"


@pytest.mark.parametrize(
    "text",
    [
        "the GPU memory grows with the training iterations until\nRuntimeError: CUDA out of memory",
        "GPU memory keeps increasing until CUDA out of memory, after about two epochs",
        "VRAM usage climbs with every generation, then torch.OutOfMemoryError: CUDA out of memory",
        "I think there is a GPU memory leak: CUDA out of memory after 3000 steps",
    ],
)
def test_memory_that_grows_with_every_step_is_kept_by_the_program(text: str) -> None:
    told = explain(text)
    assert {"program_error", "upstream_packaging_bug"} & {r.cause for r in told.causes[:2]}
    assert {"program_error", "gpu_memory_exhausted"} <= {r.cause for r in told.causes[:3]}
    assert told.causes[0].score < 0.8
    assert "grows with every step" in told.says.meaning


@pytest.mark.parametrize(
    "text",
    [
        "No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.",
        "CUDA out of memory. Tried to allocate 2.00 GiB\nThe memory grows large with big images.",
        "out of memory: this model needs more memory, increase the size each time you can",
    ],
)
def test_memory_that_a_program_wants_at_once_is_short(text: str) -> None:
    told = explain(text)
    assert told.causes[0].cause == "gpu_memory_exhausted"
    assert told.causes[0].score > 0.8
