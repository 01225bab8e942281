"""Two benchmarks side by side: what counts as a change, and what is compared at all."""

from __future__ import annotations

from msgspec.structs import replace

from core.doctor.examine import diagnose_snapshot
from core.model.facts import Benchmark, FrameworkRun, GpuCard, GpuRun, Machine, Snapshot, Timing
from core.model.findings import Report
from core.report.speeds import speed_ratios, speeds_text

FP16 = Timing(shape="64x64x56x56, 64 filters 3x3", label="3x3, 64 channels", type="fp16", milliseconds=1.0, spread=0.01)
TORCH = replace(FP16, by="torch 2.8.0", milliseconds=1.1)


def report(*timings: Timing, card: str = "NVIDIA H200", torch: Timing = TORCH) -> Report:
    beside = FrameworkRun(framework=torch.by, timings=(torch,))
    run = GpuRun(index=0, card=GpuCard(name=card), timings=timings, frameworks=(beside,))
    return diagnose_snapshot(Snapshot(machine=Machine(system="linux"), benchmark=Benchmark(gpus=(run,))))


def test_the_same_row_is_compared_also_with_a_newer_framework() -> None:
    ratios = speed_ratios(report(FP16), report(FP16, torch=replace(TORCH, by="torch 2.9.0", milliseconds=2.2)))
    assert [(r.timing.by, round(r.ratio, 2), r.is_within_noise) for r in ratios] == [
        ("torch 2.8.0", 2.0, False),
        ("cuDNN", 1.0, True),
    ]


def test_within_the_runs_own_spread_nothing_is_faster() -> None:
    wide = replace(FP16, milliseconds=1.15, spread=0.1)
    assert [r.is_within_noise for r in speed_ratios(report(FP16), report(wide))] == [True, True]
    assert not speed_ratios(report(FP16), report(replace(wide, spread=0.01)))[0].is_within_noise


def test_other_cards_directions_layouts_and_rows_without_a_figure_are_not_compared() -> None:
    assert speed_ratios(report(FP16), report(FP16, card="NVIDIA A100")) == ()
    for other in (
        replace(FP16, direction="data gradient"),
        replace(FP16, layout="NCHW"),
        replace(FP16, type="bf16"),
        replace(FP16, milliseconds=None, problem="not measured"),
    ):
        assert [r.timing.by for r in speed_ratios(report(FP16), report(other))] == ["torch 2.8.0"]


def test_the_table_names_what_changed_and_counts_the_rest() -> None:
    text = speeds_text(report(FP16), report(replace(FP16, milliseconds=0.5)))
    assert "3x3, 64 channels, fp16, forward, NHWC, cuDNN" in text
    assert "0.50 times as fast" in text
    assert "1 of 2 rows are the same" in text
    assert "no convolution in common" in speeds_text(
        report(), replace(report(), snapshot=Snapshot(machine=Machine(system="linux")))
    )
