"""Measure whether "proved" holds: ``python -m tests.measure_proofs [--lab FOLDER] [--all] [--markdown]``; prints two tables.

Strangers: every text of tests/explain/threads.jsonl that is not held out (resolved public threads) on every recorded and
made machine with a condition that is not the text's cause. How many headlines are "proved", of another cause?

Own: the messages that the faults' own machines give (what cuDNN printed and the loader said when the parts were called,
what frameworks print for what the driver answers), each on its own machine. How many are proved? ``--lab``: the reports
of ``python -m tests.faultlab --keep FOLDER``, or those of ``python -m tests.windows.faultlab --keep FOLDER``, in their place.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.doctor.examine import diagnose_snapshot
from core.explain import Explanation, explain
from core.explain.reading import read_text
from core.model.facts import Load, Snapshot
from core.model.findings import Finding, Report
from core.model.steps import Severity
from core.report.json_form import from_json
from tests.explain.threads import Thread, all_threads

MOST_STRANGERS = 0.01
LEAST_OWN = 0.90


@dataclass(frozen=True)
class Machine:
    """A machine with at least one fault."""

    name: str
    report: Report

    @property
    def causes(self) -> frozenset[str]:
        """Every cause that its findings name."""
        return frozenset(f.cause for f in self.report.findings if f.severity >= Severity.WARNING)

    @property
    def primary(self) -> Finding | None:
        """Its root cause."""
        return next((f for f in self.report.findings if f.primary), None)

    def explain(self, text: str) -> Explanation:
        """Explain a text on this machine."""
        return explain(text, self.report.snapshot, self.report.findings)


def threads() -> tuple[Thread, ...]:
    """Return the public texts that rules may be mended by."""
    return all_threads(("first", "second"))


def made() -> Iterator[Machine]:
    """Every recorded and made machine that has a primary finding."""
    from tests.test_pseudo import MADE, snapshot

    for name in MADE:
        machine = Machine(name, diagnose_snapshot(snapshot(name)))
        if machine.primary is not None:
            yield machine


def of_lab(folder: Path) -> Iterator[Machine]:
    """The machines of a folder of reports that have a primary finding."""
    for path in sorted(folder.glob("*.json")):
        machine = Machine(path.stem, diagnose_snapshot(from_json(path.read_bytes()).snapshot))
        if machine.primary is not None:
            yield machine


# --- strangers -------------------------------------------------------------------------------------------


def wrongly_proved(machine: Machine, texts: Sequence[Thread]) -> tuple[list[Thread], int]:
    """Return the texts whose headline is proved on this machine by another cause than theirs, and how many were tried."""
    foreign = [t for t in texts if t.cause not in machine.causes]
    told = [(t, machine.explain(t.text)) for t in foreign]
    # a machine can have the text's own cause beside its fault, as one without nvcc has; that is rightly proved
    return [t for t, e in told if e.link == "proved" and e.causes[0].cause != t.cause], len(foreign)


def in_its_words(machine: Machine, texts: Sequence[Thread]) -> int:
    """Return how many texts say nothing that a message of this machine's own fault does not say: words cannot part them."""
    own = [says(message) for message in messages(machine)]
    return sum(any(says(t.text) <= words for words in own) for t in texts)


def says(text: str) -> set[str]:
    """Return what a text complains of, and the libraries that it blames."""
    reading = read_text(text)
    return {m.id for m in reading.symptoms} | {x.name for x in reading.blamed}


# --- own messages ----------------------------------------------------------------------------------------

SMI = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running."
NO_DRIVER = "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver"
OF_CUINIT = {
    # what PyTorch prints for an answer of cuInit (c10/cuda/CUDAFunctions.cpp, torch/cuda/__init__.py)
    34: "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 34: CUDA driver is a stub library",
    100: "RuntimeError: No CUDA GPUs are available",
    802: "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized",
    803: "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 803: system has unsupported display driver / cuda driver combination",
    804: "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 804: forward compatibility was attempted on non supported HW",
    999: "UserWarning: CUDA initialization: CUDA unknown error - this may be due to an incorrectly set up environment, e.g. changing env variable CUDA_VISIBLE_DEVICES after program start. Setting the available devices to be zero.",
}
OF_NVML = {
    # what nvidia-smi prints
    9: SMI,
    18: "Failed to initialize NVML: Driver/library version mismatch",
    999: "Failed to initialize NVML: Unknown Error",
}


def messages(machine: Machine) -> tuple[str, ...]:
    """Return the messages that a person meets on this machine because of its primary fault; empty for a silent fault."""
    seen, finding = machine.report.snapshot, machine.primary
    assert finding is not None
    if finding.step == "driver":
        found = [*_of_driver(seen), *_of_gpu(seen, finding)]
    elif finding.step == "environment" or finding.cause == "cuda_path_env_wrong":
        found = _of_variables(finding)
    elif finding.step == "frameworks" and finding.cause in OF_PACKAGES:
        found = [OF_PACKAGES[finding.cause]]
    else:
        found = [m for load in _concerned(seen, finding) for m in _of_load(load, seen)] + _of_missing(seen, finding)
    return tuple(dict.fromkeys(found))


OF_PACKAGES = {
    "framework_cpu_only_build": "AssertionError: Torch not compiled with CUDA enabled",
    "duplicate_framework_packages": "ValueError: This ORT build has ['CPUExecutionProvider'] enabled. CUDAExecutionProvider is not in available provider names (onnxruntime)",
    "tf_native_windows_unsupported": "tensorflow: tf.config.list_physical_devices('GPU') -> []",
}


def _concerned(seen: Snapshot, finding: Finding) -> list[Load]:
    said = " ".join((finding.subject, *(f"{e.value} {e.source}" for e in finding.evidence)))
    mine = [x for x in seen.loads or () if x.consumer.prefix and x.consumer.prefix in said]
    return mine or list(seen.loads or ())


def _of_load(load: Load, seen: Snapshot) -> Iterator[str]:
    """What cuDNN printed, the loader said, and a framework says of a status or a version."""
    roll = load.roll_call
    if roll is None:
        return
    if roll.output.strip():
        yield roll.output.strip()
    for call in roll.calls:
        if call.function in ("dlopen", "LoadLibrary") and call.result is None and ".so" in call.meaning:
            yield f"OSError: {call.meaning}"
        elif call.result and call.function.endswith("VersionCheck") and call.meaning.startswith("CUDNN_STATUS"):
            yield f"RuntimeError: cuDNN error: {call.meaning}"
    if roll.version and load.wanted_version and roll.version.split(".")[:2] != load.wanted_version.split(".")[:2]:
        built, had = (", ".join(v.split(".")[:3]) for v in (load.wanted_version, roll.version))
        yield f"RuntimeError: cuDNN version incompatibility: PyTorch was compiled  against ({built}) but found runtime version ({had})."


def _of_missing(seen: Snapshot, finding: Finding) -> list[str]:
    """What the loader says of a library that the finding names and no search finds."""
    said = " ".join(f"{e.label} {e.value}" for e in finding.evidence).lower()
    names = {
        r.name for x in _concerned(seen, finding) for r in x.resolutions if r.winner is None and r.name.lower() in said
    }
    names |= {
        n for n in re.findall(r"libnvrtc-builtins\.so\.\d+\.\d+", said) if finding.cause == "nvrtc_missing_or_mismatch"
    }
    form = (
        "Could not locate {name}. Please make sure it is in your library path!"
        if seen.machine.system == "windows"
        else "ImportError: {name}: cannot open shared object file: No such file or directory"
    )
    nvrtc = "nvrtc: error: failed to open {name}.\n  Make sure that {name} is installed correctly."
    return [(nvrtc if "builtins" in n else form).format(name=n) for n in sorted(names)]


def _of_driver(seen: Snapshot) -> list[str]:
    driver = seen.driver
    found: list[str] = []
    if driver and driver.cuda and driver.cuda.status:
        found += [OF_CUINIT[s] for s in (driver.cuda.status,) if s in OF_CUINIT]
    elif driver and driver.cuda and driver.cuda.problem:
        found.append(NO_DRIVER)
    if driver and driver.nvml and driver.nvml.status:
        found += [OF_NVML[s] for s in (driver.nvml.status,) if s in OF_NVML]
    return found


def _of_gpu(seen: Snapshot, finding: Finding) -> list[str]:
    """What PyTorch says of a GPU without code, of full memory and of an old driver."""
    gpu = next(iter((seen.driver.gpus if seen.driver else None) or ()), None)
    cuda = seen.driver.cuda if seen.driver else None
    if finding.cause in ("gpu_arch_too_new", "gpu_arch_too_old") and gpu and gpu.compute_capability:
        sm = gpu.compute_capability.replace(".", "")
        torch = any(d.name == "torch" for p in seen.pythons or () for d in p.distributions)
        words = f"{gpu.name} with CUDA capability sm_{sm} is not compatible with the current PyTorch installation."
        return [*([words] if torch else []), "CUDA error: no kernel image is available for execution on the device"]
    if finding.cause == "gpu_memory_exhausted":
        return ["torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB."]
    if finding.cause == "driver_too_old" and cuda and cuda.driver_cuda:
        major, minor = (int(n) for n in cuda.driver_cuda.split(".")[:2])
        return [
            f"RuntimeError: The NVIDIA driver on your system is too old (found version {major * 1000 + minor * 10})."
        ]
    return []


def _of_variables(finding: Finding) -> list[str]:
    """What torch.utils.cpp_extension says of a CUDA_HOME that leads nowhere."""
    value = next((e.value.strip("'") for e in finding.evidence if e.label == finding.subject), "")
    return [f"FileNotFoundError: [Errno 2] No such file or directory: '{value}/bin/nvcc' (CUDA)"] if value else []


# --- the tables ------------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    """Print both tables; 0 when both goals are reached."""
    parser = argparse.ArgumentParser(prog="python -m tests.measure_proofs", description=__doc__)
    parser.add_argument("--lab", type=Path, metavar="FOLDER")
    options = parser.parse_args(argv)
    texts = threads()
    machines = list(made())
    lab = list(of_lab(options.lab)) if options.lab else []
    wrong = tried = 0
    print("| Machine | Its cause | Texts | Wrongly proved | In its own fault's words |\n|---|---|---|---|---|")
    for machine in machines:
        bad, number = wrongly_proved(machine, texts)
        wrong, tried = wrong + len(bad), tried + number
        print(
            f"| {machine.name} | {machine.primary.cause if machine.primary else ''} | {number} | {len(bad)} | {in_its_words(machine, bad)} |",
            flush=True,
        )
    print(f"\n{wrong} of {tried} headlines wrongly proved on {len(machines)} machines: {wrong / tried:.2%}\n")
    proved = told = 0
    print("| Machine | Its cause | Message | Headline |\n|---|---|---|---|")
    for machine in lab or machines:
        finding = machine.primary
        assert finding is not None
        for text in messages(machine) or ("",):
            if not text:
                print(f"| {machine.name} | {finding.cause} | none | |")
                continue
            e = machine.explain(text)
            right = e.link == "proved" and e.causes[0].cause == finding.cause
            told, proved = told + 1, proved + right
            shown = " ".join(text.split())[:100].replace("|", "\\|")
            print(
                f"| {machine.name} | {finding.cause} | {shown} | {'proved' if right else e.link + ' ' + e.causes[0].cause if e.causes else '-'} |"
            )
    print(f"\n{proved} of {told} own messages proved: {proved / told:.1%}")
    return 0 if wrong / tried <= MOST_STRANGERS and proved / told >= LEAST_OWN else 1


if __name__ == "__main__":
    raise SystemExit(main())
