"""Families of sentences that programs print, each read from the program's source: what each is taken for by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.explain import explain

FAMILIES = {
    "ImportError: Cannot load Graphbolt C++ library": "extension_abi_mismatch",
    "FileNotFoundError: Cannot find DGL C++ sparse library at /x/dgl_sparse/libdgl_sparse_pytorch_2.4.0.so": "extension_abi_mismatch",
    "AttributeError: '_OpNamespace' '_C' object has no attribute 'rms_norm'": "extension_abi_mismatch",
    "RuntimeError: Detected that PyTorch and torch_scatter were compiled with different CUDA versions.": "extension_abi_mismatch",
    "ImportError: DLL load failed while importing xformers_C: Die angegebene Prozedur wurde nicht gefunden.": "extension_abi_mismatch",
    "[E] IRuntime::deserializeCudaEngine: Error Code 1: Serialization (Version tag does not match.)": "extension_abi_mismatch",
    "ImportError: pycolmap.cpython-38-x86_64-linux-gnu.so: undefined symbol: _ZN5ceres7Problem3addEv": "extension_abi_mismatch",
    "NotImplementedError: Could not run 'torchvision::nms' with arguments from the 'CUDA' backend.": "framework_cpu_only_build",
    "LightGBMError: GPU Tree Learner was not enabled in this build.": "framework_cpu_only_build",
    "Ultralytics torch-2.1.0+cpu\nInvalid CUDA 'device=0' requested\nos.environ['CUDA_VISIBLE_DEVICES']: 0": "framework_cpu_only_build",
    "ModuleNotFoundError: No module named 'triton.common'": "requirement_broken",
    "AttributeError: module 'torch' has no attribute 'float8_e4m3fn'": "requirement_broken",
    "ImportError: tokenizers>=0.14,<0.15 is required for a normal functioning of this module": "requirement_broken",
    "Successfully uninstalled torch-2.4.0+cu121\nAssertionError: Torch not compiled with CUDA enabled": "requirement_broken",
    "AttributeError: module 'torch' has no attribute 'Tensor'": "module_shadowed",
    "SafetensorError: Error while deserializing header: MetadataIncompleteBuffer": "corrupt_or_truncated_file",
    "_pickle.UnpicklingError: invalid load key, 'v'.": "corrupt_or_truncated_file",
    "OSError: libnppicc.so.12: cannot open shared object file: No such file or directory": "cuda_runtime_missing",
    "/usr/include/c++/13/type_traits(1234): error: identifier is undefined": "host_compiler_unsupported",
    "fatal error: cusparse.h: No such file or directory": "build_tools_missing",
    "RuntimeError: causal_conv1d is only supported on CUDA 11.6 and above.": "nvcc_toolkit_mismatch_build",
    "Getting requirements to build wheel did not run successfully.\nModuleNotFoundError: No module named 'torch'": "wrong_environment_active",
    "ERROR: Package 'numba' requires a different Python: 3.13.0 not in '>=3.9,<3.13'": "package_for_another_python",
    "multi-gpu training gets stuck at the first step with DDP": "nccl_failed",
    "error: Feature 'cvt.bf16.f32' requires .target sm_80 or higher\nptxas of torch": "gpu_arch_too_old",
    "UserWarning: CuPy may not function correctly because multiple CuPy packages are installed": "duplicate_framework_packages",
}  # fmt: skip
SEVERAL_CAUSES = (
    "ModuleNotFoundError: No module named 'mmcv._ext'",
    "RuntimeError: Could not load libtorchcodec. Likely causes: FFmpeg is not properly installed",
)
"""What resolved threads had different causes for: no cause may have a high score."""

SENTENCES = [
    json.loads(x) for x in Path(__file__).with_name("python_sentences.jsonl").read_text(encoding="utf-8").splitlines()
]
"""Sentences of Python frameworks, extensions and builds, each with the causes that its program's source means."""


@pytest.mark.parametrize("row", SENTENCES, ids=lambda row: row["text"][:60])
def test_a_sentence_has_its_causes(row: dict[str, Any]) -> None:
    told = [r.cause for r in explain(row["text"]).causes]
    assert {*told[:3]} & {*row["causes"]}
    assert len({*told[:5]} & {*row["causes"]}) * 2 >= len(row["causes"])


@pytest.mark.parametrize("message", FAMILIES)
def test_a_family_is_taken_for_its_cause(message: str) -> None:
    assert explain(message).causes[0].cause == FAMILIES[message]


@pytest.mark.parametrize("message", SEVERAL_CAUSES)
def test_a_message_of_several_causes_leaves_them_open(message: str) -> None:
    assert max(r.score for r in explain(message).causes) < 0.8


def test_a_missing_program_for_sound_alone_is_not_about_the_gpu() -> None:
    assert explain("OSError: PortAudio library not found").causes == ()


def test_after_a_message_that_names_one_cause_the_words_suggest_further_ones() -> None:
    assert len(explain("Cannot find ptxas.exe").causes) == 5


def test_an_old_engine_is_built_again_and_a_damaged_model_loaded_again() -> None:
    assert "build it again" in explain("Could not deserialize engine of TensorRT").causes[0].steps
    assert "git lfs pull" in explain("Error while deserializing header: HeaderTooLarge").causes[0].steps
