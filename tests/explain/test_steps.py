"""Every cause leads on: steps for the system and the framework of the text, and the check that tells success."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import resources
from core.explain import answer_question, explain
from core.explain.engine import with_steps
from core.explain.model import RankedCause
from core.knowledge.causes import CauseRow, cause_rows
from core.knowledge.messages import known_clues
from core.knowledge.steps import cure_steps

HELP = Path(resources.__path__[0]) / "help" / "en"


def test_every_cause_says_how_one_sees_that_it_is_gone() -> None:
    told: set[str] = set(cure_steps().checks)
    told |= {p.stem for p in HELP.glob("*.md") if "It worked if" in p.read_text(encoding="utf-8")}
    assert {row.cause for row in cause_rows()} - told == set()


COMMAND = re.compile(
    r"\b(?:sudo|python3?|pip|conda|nvidia-smi|nvidia-ctk|docker|podman|export|unset|env|grep|ls|ldconfig|where|find|findmnt|lspci"
    r"|systeminfo|setx|dir|ren|mv|icacls|namei|winget|powershell|mokutil|wsl|df|lscpu|convalesce|bcdedit|pnputil|ulimit|nvcc|cat|echo)"
    r" [-\w~/\"'$%.*|]"
)
"""The beginning of a command that can be copied."""
ONLY_ON = {
    # causes that one system alone knows
    "windows": {"zlibwapi_missing", "python_dll_search_change", "tf_native_windows_unsupported", "vc_runtime_missing", "page_file_too_small"},
    "linux": {"ld_library_path_override", "driver_library_mismatch", "secure_boot_blocks_module", "uvm_stale_after_suspend", "wsl_libcuda_not_found", "address_space_limited", "service_confined"},
}  # fmt: skip
NOTHING_TO_DO = {"harmless_message"}


@pytest.mark.parametrize("system", ["linux", "windows"])
@pytest.mark.parametrize("row", cause_rows(), ids=lambda row: row.cause)
def test_every_open_cause_leads_on(row: CauseRow, system: str) -> None:
    if row.cause in ONLY_ON["linux" if system == "windows" else "windows"]:
        system = "linux" if system == "windows" else "windows"
    told = with_steps(RankedCause(cause=row.cause, score=0.5, because=("a reason",)), frozenset({system})).steps
    lines = told.split("\n")
    assert "It worked if" in told or row.cause in NOTHING_TO_DO
    assert COMMAND.search(told) or row.cause in NOTHING_TO_DO
    assert len(set(lines)) == len(lines)


def test_a_question_has_answers_that_are_causes() -> None:
    causes = {row.cause for row in cause_rows()}
    assert [q.ask for q in known_clues().questions if len(q.answers) < 2] == []
    assert {a.cause for q in known_clues().questions for a in q.answers} <= causes


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("AssertionError: Torch not compiled with CUDA enabled", "download.pytorch.org/whl"),
        ("docker: Error response from daemon: could not select device driver \"\" with capabilities: [[gpu]].", "nvidia-ctk runtime configure"),
        ("flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so: undefined symbol: _ZN3c104cuda9SetDeviceEi", "--no-build-isolation"),
        ("ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`", "--max-model-len"),
    ],
)  # fmt: skip
def test_the_first_cause_has_the_exact_step(text: str, step: str) -> None:
    assert step in explain(text).causes[0].steps


def test_the_check_comes_last() -> None:
    assert (
        explain("Failed to initialize NVML: Driver/library version mismatch")
        .causes[0]
        .steps.endswith("It worked if nvidia-smi prints its table again.")
    )


@pytest.mark.parametrize(
    "text",
    [
        "![image](https://example.org/a/b)",
        '<img width="1000" src="https://example.org/a.png">',
        "https://example.org/error.PNG",
    ],
)
def test_a_link_to_a_picture_is_called_one(text: str) -> None:
    assert "picture" in explain(text).sentence


def test_an_answer_ranks_its_cause_first_and_leads_on() -> None:
    asked = explain("torch.cuda.is_available() returns False")
    assert len(asked.answers) == len(asked.decide.split("\n")) - 1 >= 2
    for number, cause in enumerate(asked.answers, 1):
        told = answer_question(asked, number)
        assert (told.causes[0].cause, told.decide, told.answers) == (cause, "", ())
        assert told.causes[0].score > 0.8
        assert told.causes[0].steps
        assert sum(r.score for r in told.causes) <= 0.901
    with pytest.raises(ValueError, match="9"):
        answer_question(asked, 9)
