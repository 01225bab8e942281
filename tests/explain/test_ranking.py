"""Ranking: families of messages point to their causes, in any language, and doubt stays visible."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from core.explain import explain, ranking
from core.explain.questions import LIKELY_SCORE
from core.explain.ranking import MAX_UNCLEAR_BELIEF, rank_causes
from core.explain.reading import read_text
from core.explain.render import render_text, worth_showing
from tests.explain.cases import CASES

FIRST = {
    "[WinError 1455] Die Auslagerungsdatei ist zu klein. Error loading C:\\ml\\torch\\lib\\cudnn_ops_infer64_8.dll": "page_file_too_small",
    "OSError: [WinError 1455] 页面文件太小，无法完成操作。 torch\\lib\\cublas64_11.dll": "page_file_too_small",
    "OSError: [WinError 1114] Произошел сбой в программе инициализации библиотеки c10.dll": "vc_runtime_missing",
    "[WinError 1114] ダイナミック リンク ライブラリ (DLL) 初期化ルーチンの実行に失敗しました。 torch\\lib\\c10.dll": "vc_runtime_missing",
    "Impossible de localiser zlibwapi.dll dans le chemin": "zlibwapi_missing",
    "Could not load library cudnn_cnn_infer64_8.dll. Error code 126": "zlibwapi_missing",
    "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service": "secure_boot_blocks_module",
    "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.4": "driver_too_old",
    "CUDA driver version is insufficient for CUDA runtime version": "driver_too_old",
    "Failed to initialize NVML: Driver/library version mismatch": "driver_library_mismatch",
    "GeForce RTX 5080 with CUDA capability sm_120 is not compatible with the current PyTorch installation. "
    "The current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90.": "gpu_arch_too_new",
    "GeForce GT 710 with CUDA capability sm_35 is not compatible with the current PyTorch installation. "
    "The current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_70.": "gpu_arch_too_old",
    "libcublas.so.11: undefined symbol: cublasLtGetStatusString, version libcublasLt.so.11": "cuda_lib_shadowed",
    "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB": "gpu_memory_exhausted",
    "nvrtc: error: failed to open nvrtc-builtins64_118.dll": "nvrtc_missing_or_mismatch",
    "tensorflow 2.14 on Windows 11: Num GPUs Available: 0": "tf_native_windows_unsupported",
    "Torch not compiled with CUDA enabled": "framework_cpu_only_build",
    "libcudnn.so.9: wrong ELF class: ELFCLASS32": "dll_wrong_architecture",
    "Illegal instruction (core dumped) at import tensorflow": "cpu_instruction_set_missing",
    "Could not load library libcudnn_cnn_infer.so.8. Error: libcuda.so: cannot open shared object file (WSL2)": "wsl_libcuda_not_found",
    "CUDA_ERROR_STUB_LIBRARY": "libcuda_wrong_library",
    "nvcc: The detected CUDA version (12.6) mismatches the version that was used to compile PyTorch (11.8)": "nvcc_toolkit_mismatch_build",
    "cuInit: CUDA_ERROR_UNKNOWN after the laptop was in suspend": "uvm_stale_after_suspend",
    "bash: C:\\Users\\我的名字\\AppData\\Local\\Temp\\ollama\\cuda_v12\\cublas64_12.dll failed to load": "install_path_characters",
}  # fmt: skip


@pytest.mark.parametrize("text", FIRST)
def test_first_cause(text: str) -> None:
    assert explain(text).causes[0].cause == FIRST[text]


@pytest.mark.parametrize("name", CASES)
def test_the_text_alone_narrows_it_to_twelve(name: str) -> None:
    """Without the machine no text earns more than nine tenths, and every cause that is named has its sentence."""
    explained = explain(CASES[name].text)
    assert CASES[name].cause in [r.cause for r in explained.causes]
    assert all(0 < r.score <= 0.9 and r.meaning and r.verdict == "open" for r in explained.causes)
    assert sum(r.score for r in explained.causes) <= 0.9001


@pytest.mark.parametrize(
    "text",
    [
        "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED",
        "ImportError: DLL load failed: The specified module could not be found. import tensorflow",
        "Could not locate cudnn_ops_infer64_8.dll. Please make sure it is in your library path!",
        "torch.cuda.is_available() returns False",
    ],
)
def test_ambiguous_texts_spread(text: str) -> None:
    explained = explain(text)
    assert explained.causes[0].score < LIKELY_SCORE
    asked, *answers = explained.decide.split("\n")
    assert asked.startswith("One question decides: ")
    assert len(answers) >= 2
    assert render_text(explained).index("One question decides: ") < render_text(explained).index("If this is the cause")


def test_context_counts() -> None:
    text = "CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected"
    assert explain(text).causes[0].cause == "gpu_hidden_by_env"
    assert explain(text + " in WSL2").causes[0].cause == "wsl_libcuda_not_found"


def test_zlib_is_a_red_herring_with_cudnn_9() -> None:
    causes = [r.cause for r in explain("cudnn_graph64_9.dll: Could not locate zlibwapi.dll").causes]
    assert causes[0] != "zlibwapi_missing"


def test_reasons_are_given_strongest_first() -> None:
    because = explain("Could not load library cudnn_cnn_infer64_8.dll. Error code 126").causes[0].because
    assert because[0].startswith("Error 126 for a part of cuDNN 8")


LINKER = "/usr/bin/ld: cannot find -lcuda: No such file or directory\ncollect2: error: ld returned 1 exit status"


def test_what_is_almost_ruled_out_by_the_text_is_not_read_but_kept() -> None:
    told = explain(LINKER)
    assert [r.cause for r in told.causes if r.because and r.score < 0.015]
    assert [r.cause for r in worth_showing(told.causes)] == ["linker_lacks_libcuda"]
    assert re.findall(r"\b[01]%", render_text(told)) == []


def test_what_the_machine_proves_is_read_however_the_text_ranks_it() -> None:
    told = explain(LINKER).causes
    faint = replace(next(r for r in told if r.score < 0.015), verdict="proved")
    assert worth_showing((told[0], faint)) == (told[0], faint)
    assert re.findall(r"\b[01]%", render_text(replace(explain(LINKER), causes=(told[0], faint)))) == []


def test_where_the_text_suggests_nothing_strongly_its_first_cause_stays() -> None:
    faint = tuple(replace(r, score=0.01) for r in explain(LINKER).causes)
    assert worth_showing(faint) == faint[:1]


def test_words_that_decide_between_two_causes_of_the_clues_leave_no_sure_answer() -> None:
    ranked = rank_causes(read_text("OS: container\nError 804: forward compatibility was attempted on non supported HW"))
    assert {cause for cause, _score, _because in ranked[:2]} == {"cuda_compat_unsupported", "driver_too_old"}
    assert ranked[0][1] <= MAX_UNCLEAR_BELIEF


def test_behind_the_first_a_cause_that_looks_like_any_other_gains(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release that lacks a file says what a lost file says: such a cause comes earlier, but never first by that."""
    readings = [read_text(text) for text in FIRST]
    now = [[cause for cause, _score, _because in rank_causes(r)] for r in readings]
    monkeypatch.setattr(ranking, "GAIN_OF_MANY", 0.0)
    before = [[cause for cause, _score, _because in rank_causes(r)] for r in readings]
    assert [order[0] for order in now] == [order[0] for order in before]
    places = [(a.index(c), b.index(c)) for a, b in zip(now, before, strict=True) for c in ranking.BEHIND_MANY]
    assert any(a < b for a, b in places)
    assert sum(a for a, _b in places) < sum(b for _a, b in places)
