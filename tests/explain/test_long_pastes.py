"""Long pastes: progress bars and the source lines of tracebacks are no messages; of several errors the first counts most."""

from __future__ import annotations

from core.explain import explain
from core.explain.extract import clean_text
from tests.explain.threads import SETS, all_threads

FRAMES = """Traceback (most recent call last):
  File "/app/run.py", line 12, in main
    raise RuntimeError("CUDA out of memory") if not torch.cuda.is_available() else x
                                                ^^^^^
  File "/app/lib.py", line 3, in load
    import flash_attn
ImportError: version `GLIBCXX_3.4.30' not found"""


def test_progress_bars_are_taken_out_and_the_message_behind_them_stays() -> None:
    bar = "Loading:  50%|█████     | 1/2 [00:01<00:01,  1.2it/s]RuntimeError: CUDA out of memory"
    assert clean_text(bar) == "Loading:  RuntimeError: CUDA out of memory"
    assert "━" not in clean_text("   ━━━━━━━━━━━━ 797.1/797.1 MB 2.3 MB/s eta 0:00:00\nERROR: x")


def test_what_a_program_writes_into_its_bar_stays() -> None:
    bar = "steps:   1%| | 12/1500 [00:20<40:12,  1.62s/it, loss=nan]"
    assert clean_text(bar) == "steps:   loss=nan"
    assert explain(bar).causes[0].cause == "training_numerics"


def test_source_lines_of_a_traceback_are_no_messages() -> None:
    kept = clean_text(FRAMES)
    assert "CUDA out of memory" not in kept
    assert 'File "/app/lib.py", line 3' in kept
    assert explain(FRAMES).causes[0].cause == "cxx_runtime_too_old"


def test_the_first_of_two_errors_counts_most() -> None:
    errors = ("ImportError: version `GLIBCXX_3.4.30' not found", "NCCL error: unhandled system error")
    between = "\n" + "INFO worker started\n" * 100
    assert explain(errors[0] + between + errors[1]).causes[0].cause == "cxx_runtime_too_old"
    assert explain(errors[1] + between + errors[0]).causes[0].cause == "nccl_failed"


NOISE = (
    "2026-05-01 12:00:01 INFO service.Handler - request 12345 handled in 12 ms, permission denied, service resumed\n"
)


def test_a_message_in_a_long_log_is_read_as_by_itself() -> None:
    threads = all_threads(SETS[:5])[::9]
    differing = [t.url for t in threads if first(t.paste) != first(NOISE * 600 + t.paste + "\n" + NOISE * 600)]
    assert len(threads) > 50
    assert len(differing) <= len(threads) * 0.06, differing


def first(text: str) -> str:
    """Return the first cause of a text."""
    return next((r.cause for r in explain(text).causes), "")
