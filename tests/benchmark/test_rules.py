"""Verdicts from recorded benchmarks: causes, reasons, and no false alarm."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.benchmark.terminal_table import benchmark_table
from core.knowledge.gpu_rates import gpu_rates, rate_limits
from core.model.facts import (
    Benchmark,
    Check,
    Driver,
    Environment,
    FrameworkRun,
    GpuCard,
    GpuProcess,
    GpuRun,
    GpuState,
    Machine,
    Mapped,
    PciDevice,
    RateLimit,
    Rung,
    Snapshot,
    Timing,
    Variable,
)
from core.model.findings import Finding, Report
from core.model.steps import Severity, Step
from core.report.json_form import from_json, to_json
from core.report.redact import redact
from core.rules.benchmark.speed import slowness_reasons
from core.rules.benchmark.wording import working_states
from core.rules.root_cause import diagnose

GIB = 1 << 30
CARD = GpuCard(
    name="NVIDIA H200", compute_capability="9.0", multiprocessors=132, max_clock=1980, memory_total=140 * GIB
)
IDLE = GpuState(load=0, clock=345, memory_free=139 * GIB, memory_used=GIB, processes=(), reasons=1)
WORK = GpuState(seconds=2.0, load=100, clock=1900, reasons=0, pcie_width=16)
RUNGS = (
    Rung(name="the driver answers", layer="driver", state="passed", call="cuInit"),
    Rung(name="the GPU opens", layer="device", state="passed", call="cuDevicePrimaryCtxRetain"),
    Rung(name="cuDNN convolves rightly", layer="cudnn", state="passed", call="cudnnConvolutionForward"),
)
RIGHT = Check(
    kind="exact", type="fp16", direction="forward", layout="NHWC", shape="s", algorithm="graph: engine 1", right=True
)


def timing(teraflops: float) -> Timing:
    return Timing(
        shape="64x256", label="3x3, 256 channels", type="fp16", milliseconds=0.3, teraflops=teraflops, spread=0.01
    )


def run(**changes: object) -> GpuRun:
    healthy = GpuRun(
        index=0,
        card=CARD,
        consumer="the Python environment /e",
        version="9.19.0",
        rungs=RUNGS,
        checks=(RIGHT,),
        timings=(timing(740.0),),
        limits=(RateLimit(type="fp16", teraflops=1070.0, typical=0.7, source="a table of rates"),),
        before=IDLE,
        states=(WORK, WORK, WORK, WORK),
    )
    return replace(healthy, **changes)


def seen(its: GpuRun, *variables: Variable) -> Snapshot:
    return Snapshot(
        machine=Machine(system="linux"), benchmark=Benchmark(gpus=(its,)), environment=Environment(variables=variables)
    )


def findings(its: GpuRun, *variables: Variable) -> dict[str, Finding]:
    return {f.id: f for f in diagnose(seen(its, *variables)) if f.step is Step.BENCHMARK}


def worst(found: dict[str, Finding]) -> Severity:
    return max(f.severity for f in found.values())


def test_a_healthy_run_is_said_to_be_right_and_fast_and_nothing_else() -> None:
    found = findings(run())
    assert set(found) == {"benchmark.right", "benchmark.speed"}
    assert worst(found) is Severity.GOOD


def broken(call: str, status: int | None, layer: str = "device", **changes: object) -> GpuRun:
    rung = Rung(name="the GPU opens", layer=layer, state="failed", call=call, status=status)
    return run(rungs=(RUNGS[0], rung), checks=(), timings=(), **changes)


FULL = replace(IDLE, memory_free=20 << 20, processes=(GpuProcess(pid=7, name="python3", memory=139 * GIB),))
HIDDEN = Variable(name="CUDA_VISIBLE_DEVICES", value="-1")


@pytest.mark.parametrize(
    ("its", "variables", "cause"),
    [
        (broken("cuDevicePrimaryCtxRetain", 2, before=FULL), (), "gpu_memory_exhausted"),
        (broken("cudnnCreate", 4000, "cudnn", before=FULL), (), "gpu_memory_exhausted"),
        (broken("cudnnCreate", 4000, "cudnn"), (), ""),
        (broken("cuInit", 34, "driver"), (), "libcuda_wrong_library"),
        (broken("cuInit", 803, "driver"), (), "driver_library_mismatch"),
        (broken("cuInit", 100, "driver"), (HIDDEN,), "gpu_hidden_by_env"),
        (broken("cuInit", 100, "driver"), (), ""),
        (broken("cuLaunchKernel", 0), (), "hardware_fault"),
        (broken("cudnnCreate", 14, "cudnn"), (), "mixed_cudnn_sublibraries"),
        (broken("cudnnBackendFinalize", 1008, "cudnn"), (), "cudnn_sublibrary_missing"),
    ],
)
def test_a_broken_rung_has_its_cause_only_where_the_evidence_decides(
    its: GpuRun, variables: tuple[Variable, ...], cause: str
) -> None:
    found = findings(its, *variables)
    (ladder,) = [f for f in found.values() if f.id.startswith("benchmark.ladder")]
    assert ladder.cause == cause
    assert ladder.severity is Severity.ERROR
    assert "benchmark.right" not in found


def test_a_gpu_that_a_variable_hides_is_noted_and_no_fault() -> None:
    rung = Rung(name="the GPU is visible to CUDA", layer="driver", state="failed", call="cuDeviceGet")
    found = findings(run(rungs=(RUNGS[0], rung), checks=(), timings=()), replace(HIDDEN, value="0"))
    assert worst(found) is Severity.NOTE


@pytest.mark.parametrize(
    ("status", "name", "told"),
    [
        (100, "CUDA_ERROR_NO_DEVICE", "cuInit: 100 CUDA_ERROR_NO_DEVICE"),
        (100, "", "cuInit: 100"),
        (None, "", "cuInit"),
    ],
)
def test_a_failed_call_is_told_with_its_status(status: int | None, name: str, told: str) -> None:
    its = broken("cuInit", status, "driver")
    its = replace(its, rungs=tuple(replace(r, status_name=name) if r.state == "failed" else r for r in its.rungs))
    [ladder] = [f for f in findings(its).values() if f.id.startswith("benchmark.ladder")]
    assert [e.value for e in ladder.evidence if e.label == "Call"] == [told]


def test_only_looks_at_a_card_that_works_count() -> None:
    looks = (replace(WORK, load=None), replace(WORK, load=1), WORK)
    assert working_states(run(states=looks)) == (WORK,)


def test_who_holds_the_memory_is_named() -> None:
    found = findings(broken("cuMemAlloc_v2", 2, before=FULL))["benchmark.ladder-device"]
    assert any("python3 (number 7, 139.0 GiB)" in e.value for e in found.evidence)
    assert found.fix
    assert "python3" in found.fix.advice


WRONG = replace(RIGHT, right=False, detail="1 of 1152 elements are wrong: element 0 is 3, not 2")


def test_wrong_results_are_an_error_whose_cause_the_evidence_separates() -> None:
    plain = findings(run(checks=(RIGHT, WRONG)))["benchmark.wrong-result"]
    assert (plain.severity, plain.cause) == (Severity.ERROR, "wrong_results")
    assert "run the same benchmark" in plain.why
    mixed = run(
        checks=(WRONG,),
        mapped=(
            Mapped(path="/a/libcudnn.so.9", name="libcudnn.so.9"),
            Mapped(path="/b/libcudnn_ops.so.9", name="libcudnn_ops.so.9"),
        ),
    )
    assert findings(mixed)["benchmark.wrong-result"].cause == "mixed_cudnn_sublibraries"
    ecc = run(checks=(WRONG,), card=replace(CARD, ecc_uncorrected=2))
    assert findings(ecc)["benchmark.wrong-result"].cause == "hardware_fault"
    preloaded = findings(run(checks=(WRONG,)), Variable(name="LD_PRELOAD", value="/tmp/x.so"))["benchmark.wrong-result"]
    assert any(e.value == "/tmp/x.so" for e in preloaded.evidence)


def test_cudnn_files_of_two_folders_are_never_fine() -> None:
    mapped = (
        Mapped(path="/a/libcudnn.so.9", name="libcudnn.so.9"),
        Mapped(path="/b/libcudnn_ops.so.9", name="libcudnn_ops.so.9", origin="LD_LIBRARY_PATH"),
    )
    found = findings(run(mapped=mapped))
    assert found["benchmark.mixed-files"].cause == "ld_library_path_override"
    assert "benchmark.right" not in found


def test_another_file_than_predicted_is_told_and_cublas_of_another_process_is_not() -> None:
    mapped = (
        Mapped(path="/a/libcudnn.so.9.1.0", name="libcudnn.so.9.1.0"),
        Mapped(path="/c/libcublasLt.so.12", name="libcublasLt.so.12"),
    )
    same = findings(run(mapped=mapped, predicted=("/a/libcudnn.so.9.1.0", "/d/libcublasLt.so.12")))
    assert "benchmark.other-files" not in same
    other = findings(run(mapped=mapped, predicted=("/z/libcudnn.so.9.1.0",)))
    assert other["benchmark.other-files"].severity is Severity.WARNING


SLOW = (timing(300.0),)
TWO = (
    RateLimit(type="fp16", teraflops=1070.0, typical=0.7, source="a table of rates"),
    RateLimit(type="fp32", teraflops=67.0, source="a table of rates"),
)
BUSY = replace(IDLE, load=97, processes=(GpuProcess(pid=9, name="train", memory=GIB),))


@pytest.mark.parametrize(
    ("its", "id", "severity", "words"),
    [
        (run(timings=SLOW), "benchmark.slow", Severity.UNKNOWN, "nothing that was observed"),
        (run(timings=SLOW, before=BUSY), "benchmark.busy", Severity.WARNING, "another program"),
        (run(before=BUSY), "benchmark.busy", Severity.WARNING, "not valid"),
        (run(timings=SLOW, states=(replace(WORK, reasons=4, clock=1200),) * 4), "benchmark.slow", Severity.WARNING, "power limit"),
        (run(timings=SLOW, states=(replace(WORK, reasons=64),) * 4), "benchmark.slow", Severity.WARNING, "too hot"),
        (run(timings=SLOW, card=replace(CARD, power_limit=300.0, power_limit_default=700.0)), "benchmark.slow", Severity.WARNING, "300 W"),
        (run(timings=SLOW, card=replace(CARD, on_battery=True)), "benchmark.slow", Severity.WARNING, "battery"),
        (run(timings=SLOW, card=replace(CARD, driver_model="WDDM")), "benchmark.slow", Severity.UNKNOWN, "WDDM"),
        (run(timings=SLOW, card=replace(CARD, display=True)), "benchmark.slow", Severity.UNKNOWN, "screen"),
        (run(timings=(replace(SLOW[0], tensor_cores=False, algorithm="GEMM"),), limits=TWO), "benchmark.slow", Severity.WARNING, "fp16 does not need it (GEMM)"),
        (run(timings=SLOW, card=replace(CARD, pcie_generation_max=4), states=(replace(WORK, pcie_generation=1),) * 4), "benchmark.slow", Severity.UNKNOWN, "generation 1 of 4"),
        (run(timings=SLOW, card=replace(CARD, pcie_width_max=16), states=(replace(WORK, pcie_width=4),) * 4), "benchmark.slow", Severity.UNKNOWN, "4 of 16 lanes"),
    ],
)  # fmt: skip
def test_a_slow_card_is_told_with_what_was_seen(its: GpuRun, id: str, severity: Severity, words: str) -> None:
    found = findings(its)[id]
    assert found.severity is severity
    assert words in found.title + " ".join(e.value for e in found.evidence)
    assert ("nothing explains it" in found.why) is (id == "benchmark.slow")
    assert ("it has finished" in found.why) is (found.cause == "gpu_busy")


@pytest.mark.parametrize(
    ("used", "type", "limits", "told"),
    [
        (False, "fp16", TWO, True),
        (True, "fp16", TWO, False),
        (False, "fp32", TWO, False),
        (False, "fp16", TWO[:1], False),
    ],
)
def test_tensor_cores_that_lie_idle_are_told_where_the_card_has_them(
    used: bool, type: str, limits: tuple[RateLimit, ...], told: bool
) -> None:
    rate = replace(timing(300.0), tensor_cores=used, type=type)
    rows = slowness_reasons(run(timings=(rate,), limits=limits), gpu_rates())
    assert any(e.label == "Tensor cores" for e in rows) is told


def test_a_card_whose_usual_speed_is_unknown_is_not_judged() -> None:
    found = findings(run(timings=SLOW, limits=(RateLimit(type="fp16", teraflops=1070.0, source="a table of rates"),)))
    assert "benchmark.slow" not in found
    assert worst(found) is Severity.NOTE
    assert "fp16 28%" in found["benchmark.speed-unjudged"].title
    assert "not known how fast" in found["benchmark.speed-unjudged"].title


def test_a_laptop_with_two_gpus_is_told_with_what_its_card_reaches() -> None:
    pci = (
        PciDevice(address="00:02.0", vendor_id="8086", name="Intel Iris Xe"),
        PciDevice(address="01:00.0", vendor_id="10de", name="NVIDIA GeForce RTX 4070 Laptop GPU"),
    )
    its = run(
        limits=(RateLimit(type="fp16", teraflops=1070.0, source="a table of rates"),),
        card=replace(CARD, on_battery=True, display=False, power_limit=40.0, power_limit_default=80.0),
    )
    laptop = replace(seen(its), driver=Driver(pci=pci))
    (found,) = [f for f in diagnose(laptop) if f.id == "benchmark.speed-unjudged"]
    told = " ".join(e.value for e in found.evidence)
    assert all(words in told for words in ("runs on its battery", "40 W", "Intel Iris Xe"))
    desktop = replace(laptop, benchmark=Benchmark(gpus=(replace(its, card=CARD),)))
    (found,) = [f for f in diagnose(desktop) if f.id == "benchmark.speed-unjudged"]
    assert "Intel" not in " ".join(e.value for e in found.evidence)


def test_memory_errors_are_told_though_the_results_are_right() -> None:
    found = findings(run(card=replace(CARD, ecc_uncorrected=3)))["benchmark.memory-errors"]
    assert (found.severity, found.cause) == (Severity.WARNING, "hardware_fault")
    assert "benchmark.memory-errors" not in findings(run(card=replace(CARD, ecc_uncorrected=0)))


FELL = "[ 812.1] NVRM: Xid (PCI:0000:01:00): 79, pid=812, name=python3, GPU has fallen off the bus."
FAULT = "[ 812.1] NVRM: Xid (PCI:0000:01:00): 31, pid=812, name=python3, Ch 00000008, MMU Fault"


@pytest.mark.parametrize(("line", "cause"), [(FELL, "hardware_fault"), (FAULT, "wrong_results")])
def test_a_fault_in_the_kernels_log_counts_unless_programs_cause_it(line: str, cause: str) -> None:
    assert findings(run(checks=(WRONG,), xids=(line,)))["benchmark.wrong-result"].cause == cause
    died = findings(run(ended="The process was killed by SIGABRT.", during="Measuring bf16", xids=(line,)))
    assert any(e.value == line for e in died["benchmark.died"].evidence)


def test_nearly_full_memory_is_told_though_the_run_came_through() -> None:
    assert findings(run(before=FULL))["benchmark.memory"].cause == "gpu_memory_exhausted"


def test_a_framework_that_errs_where_cudnn_is_right_is_to_blame_itself() -> None:
    its = FrameworkRun(framework="torch 2.11.0", python="/e/bin/python", problem="CUDNN_STATUS_INTERNAL_ERROR")
    assert "framework's build" in findings(run(frameworks=(its,)))["benchmark.framework"].why
    both = findings(run(frameworks=(replace(its, problem="", right=False, detail="3 wrong"),), checks=(WRONG,)))
    assert "cuDNN fails outside the framework" in both["benchmark.framework"].why


CPU = FrameworkRun(framework="onnxruntime 1.22.1", python="/e/bin/python", right=True, gpu=False)


def test_a_framework_without_a_part_for_the_gpu_is_a_note_and_one_that_leaves_its_gpu_alone_an_error() -> None:
    (note,) = [f for f in findings(run(frameworks=(CPU,))).values() if "framework" in f.id]
    assert (note.id, note.severity) == ("benchmark.framework-without-gpu", Severity.NOTE)
    idle = replace(CPU, cuda="12.8", output="Failed to load library: libcudnn.so.9: not found")
    error = findings(run(frameworks=(idle,)))["benchmark.framework"]
    assert error.severity is Severity.ERROR
    assert "does not use the GPU" in error.title
    assert {"Failed to load library: libcudnn.so.9: not found", "12.8"} <= {e.value for e in error.evidence}


PARTS = (
    Mapped(path="/a/libcudnn.so.9", name="libcudnn.so.9"),
    Mapped(path="/a/libcudnn_ops.so.9", name="libcudnn_ops.so.9"),
)
TORCH = FrameworkRun(framework="torch 2.11.0", python="/e/bin/python", right=True, gpu=True, cuda="13.0", mapped=PARTS)


def test_the_files_that_a_framework_maps_are_looked_at_too() -> None:
    predicted = ("/a/libcudnn.so.9", "/a/libcudnn_ops.so.9")
    healthy = findings(run(frameworks=(replace(TORCH, predicted=True),), predicted=predicted))
    assert worst(healthy) is Severity.GOOD
    two = replace(TORCH, mapped=(PARTS[0], replace(PARTS[1], path="/b/libcudnn_ops.so.9", origin="LD_LIBRARY_PATH")))
    mixed = findings(run(frameworks=(two,)))["benchmark.framework-mixed-files"]
    assert (mixed.severity, mixed.cause) == (Severity.ERROR, "ld_library_path_override")
    elsewhere = tuple(p.replace("/a/", "/z/") for p in predicted)
    other = findings(run(frameworks=(replace(TORCH, predicted=True),), predicted=elsewhere))
    assert other["benchmark.framework-other-files"].severity is Severity.WARNING
    another = findings(run(frameworks=(TORCH,), predicted=elsewhere))  # what is predicted is another program's
    assert "benchmark.framework-other-files" not in another


def test_one_interface_that_fails_alone_is_a_warning() -> None:
    about = replace(RIGHT, type="fp32", layout="NCHW")
    its = run(checks=(about, replace(about, right=None, algorithm="convolution functions", detail="status 3009")))
    assert "convolution functions do not work" in findings(its)["benchmark.one-way"].title


def test_a_death_is_told_with_what_was_being_done() -> None:
    its = run(ended="The process was killed by SIGABRT.", during="Measuring bf16, NHWC, forward")
    found = findings(its)
    assert "while measuring bf16" in found["benchmark.died"].title
    assert "benchmark.right" not in found


def test_a_calm_sentence_where_there_is_no_gpu() -> None:
    nothing = Snapshot(machine=Machine(system="linux"), benchmark=Benchmark(problem="No NVIDIA GPU."))
    (found,) = diagnose(nothing)
    assert (found.id, found.severity) == ("benchmark.not-run", Severity.NOTE)


def test_a_report_with_a_benchmark_survives_json_redaction_and_the_table() -> None:
    snapshot = seen(
        run(frameworks=(FrameworkRun(framework="torch 2.11.0", timings=(replace(timing(700.0), by="torch"),)),))
    )
    report = redact(Report(snapshot=snapshot, findings=diagnose(snapshot)))
    again = from_json(to_json(report))
    assert again.snapshot.benchmark == snapshot.benchmark
    table = benchmark_table(again.snapshot.benchmark, plain=True)
    assert "740.0 of 1070" in table
    assert "700.0" in table
    ort = replace(timing(333.0), by="onnxruntime", layout="NCHW")
    several = (
        FrameworkRun(framework="torch 2.11.0+cu130", timings=(timing(700.0),)),
        replace(CPU, timings=(ort,)),
        CPU,
    )
    lines = benchmark_table(seen(run(frameworks=several)).benchmark, plain=True).splitlines()
    (head,) = [line for line in lines if line.lstrip().startswith("convolution")]
    (row,) = [line for line in lines if "700.0" in line]
    assert row.index("700.0") + 5 == head.index("torch 2.11.0") + len("torch 2.11.0")
    assert "333.0 NCHW" in row
    assert any("onnxruntime 1.22.1: it computes on the processor here" in line for line in lines)
    assert table.isascii()


@pytest.mark.parametrize(
    ("name", "cc", "processors", "clock", "published"),
    [
        ("NVIDIA B200", "10.0", 148, 1860, {"fp16": 2250, "bf16": 2250, "tf32": 1130, "int8": 4500}),
        ("NVIDIA GeForce RTX 5060 Ti", "12.0", 36, 2570, {"fp16": 47.0, "bf16": 47.0, "tf32": 23.8, "fp32": 23.7}),
        (
            "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
            "12.0",
            188,
            2617,
            {"fp16": 503.8, "tf32": 251.9, "int8": 1010},
        ),
        ("NVIDIA H100 80GB HBM3", "9.0", 132, 1830, {"fp16": 989.4, "tf32": 494.7, "int8": 1978.9}),
        ("NVIDIA A100-SXM4-40GB", "8.0", 108, 1410, {"fp16": 312, "tf32": 156, "int8": 624, "fp32": 19.5}),
        ("NVIDIA GeForce RTX 3080", "8.6", 70, 1710, {"fp32": 30.64, "int8": 980.58 / 4}),
        ("NVIDIA A40", "8.6", 84, 1740, {"fp16": 149.67, "tf32": 74.83, "int8": 299.34, "fp32": 37.42}),
        ("NVIDIA A16", "8.6", 10, 1695, {"fp16": 69.43 / 4, "int8": 138.86 / 4}),  # one of four GPUs of ten
        ("NVIDIA GeForce RTX 4090", "8.9", 128, 2520, {"fp16": 165.2, "tf32": 82.6, "int8": 660.6}),
        ("NVIDIA L40S", "8.9", 142, 2520, {"fp16": 366, "tf32": 183, "int8": 733, "fp32": 91.6}),
        ("NVIDIA L40", "8.9", 142, 2490, {"fp16": 181.05, "tf32": 90.5, "int8": 362, "fp32": 90.5}),
        ("NVIDIA L4", "8.9", 58, 2040, {"fp16": 242 / 2, "int8": 485 / 2}),
        ("Tesla V100-SXM2-16GB", "7.0", 80, 1530, {"fp16": 125.3, "fp32": 15.67, "int8": 62.67}),
        ("Tesla T4", "7.5", 40, 1590, {"fp16": 65.13, "int8": 130.25, "fp32": 8.14}),
        ("NVIDIA GeForce RTX 2080", "7.5", 46, 1710, {"int8": 322.19 / 2, "fp32": 10.07}),
        ("NVIDIA GeForce GTX 1660", "7.5", 22, 1785, {"fp16": 10.05, "fp32": 5.03}),
        ("Tesla P100-SXM2-16GB", "6.0", 56, 1480, {"fp16": 21.22, "fp32": 10.61}),
        ("Tesla P4", "6.1", 20, 1063, {"fp32": 5.44, "int8": 21.77}),
    ],
)
def test_limits_are_the_published_ones(
    name: str, cc: str, processors: int, clock: int, published: dict[str, float]
) -> None:
    card = GpuCard(name=name, compute_capability=cc, multiprocessors=processors, max_clock=clock)
    got = {limit.type: limit.teraflops for limit in rate_limits(card, gpu_rates())}
    assert {kind: got[kind] for kind in published} == pytest.approx(published, rel=0.02)


def test_an_unknown_card_has_no_limit() -> None:
    assert (
        rate_limits(GpuCard(name="NVIDIA X", compute_capability="99.0", multiprocessors=1, max_clock=1000), gpu_rates())
        == ()
    )
    assert rate_limits(replace(CARD, multiprocessors=None), gpu_rates()) == ()


@pytest.mark.parametrize(
    ("name", "cc"), [("NVIDIA A10G", "8.6"), ("NVIDIA RTX A6000", "8.6"), ("NVIDIA RTX PRO 5000 Blackwell", "12.0")]
)
def test_a_card_whose_tensor_cores_rate_was_not_found_has_a_limit_for_fp32_alone(name: str, cc: str) -> None:
    card = GpuCard(name=name, compute_capability=cc, multiprocessors=80, max_clock=1700)
    assert [limit.type for limit in rate_limits(card, gpu_rates())] == ["fp32"]


def test_every_row_of_the_rates_names_its_source() -> None:
    known = gpu_rates()
    assert all(len(r.source) > 20 and r.addresses for r in known.cards)
    assert all(a.startswith("https://") for r in known.cards for a in r.addresses)
    assert all(r.meaning and r.source for r in known.reasons)
    assert [r.architecture for r in known.cards if r.typical] == ["Hopper"]  # where it was measured, and nowhere else
