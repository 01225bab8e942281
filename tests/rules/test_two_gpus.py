"""Two GPUs of which a framework, or its cuDNN, has code for one: the first in CUDA's order decides."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from core.model.facts import CudaInit, Distribution, Environment, Gpu, Snapshot, Tools, Variable
from core.model.findings import Finding
from core.probes.driver.probe import DriverAnswers, order_of_cuda
from core.rules.collectives import little_memory_between_gpus
from core.rules.driver.compatibility import machine_code
from core.rules.driver.device_order import visible_gpus
from core.rules.frameworks.builds import framework_without_code
from tests import machines as m
from tests.machines import python
from tests.rules.test_frameworks_verdicts import build, machine

OLD = Gpu(index=0, name="GTX 1030", compute_capability="6.1", uuid="GPU-aa", pci="00000000:01:00.0")
GOOD = Gpu(index=1, name="RTX 3090", compute_capability="8.6", uuid="GPU-bb", pci="00000000:02:00.0")
NEW = Gpu(index=2, name="RTX 5090", compute_capability="12.0", uuid="GPU-cc", pci="00000000:03:00.0")
CODE = (75, 80, 86, 90)


def seen(
    *gpus: Gpu,
    order: tuple[int, ...] | None = None,
    framework: str = "torch",
    base: Snapshot | None = None,
    **said: str,
) -> Snapshot:
    """Return a machine with these GPUs and variables."""
    its = base or machine(build(framework, sass=CODE))
    its = m.with_driver(its, gpus=gpus, cuda_order=order)
    variables = tuple(Variable(name=n, value=v, scope="process") for n, v in said.items())
    return replace(its, environment=replace(its.environment or Environment(), variables=variables))


def told(findings: Iterator[Finding]) -> list[tuple[str, str]]:
    return [(f.severity.word, f.cause) for f in findings]


ORDER, CHOICE = "CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES"
OLD_ERROR, OLD_WARNING = ("error", "gpu_arch_too_old"), ("warning", "gpu_arch_too_old")


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        (seen(OLD, GOOD, order=(1, 0)), OLD_WARNING),
        (seen(OLD, GOOD), OLD_WARNING),
        (seen(OLD, GOOD, order=(0, 1)), OLD_ERROR),
        (seen(OLD, GOOD, order=(1, 0), CUDA_DEVICE_ORDER="PCI_BUS_ID"), OLD_ERROR),
        (seen(OLD, GOOD, order=(1, 0), CUDA_DEVICE_ORDER="FASTEST_FIRST"), OLD_WARNING),
        (seen(OLD, GOOD, order=(1, 0), CUDA_VISIBLE_DEVICES="0"), None),
        (seen(OLD, GOOD, order=(1, 0), CUDA_VISIBLE_DEVICES="1"), OLD_ERROR),
        (seen(OLD, GOOD, order=(1, 0), CUDA_VISIBLE_DEVICES="1,0"), OLD_ERROR),
        (seen(OLD, GOOD, order=(1, 0), CUDA_VISIBLE_DEVICES="GPU-b"), None),
        (seen(OLD, GOOD, order=(1, 0), CUDA_VISIBLE_DEVICES="GPU-a"), OLD_ERROR),
        (seen(OLD, GOOD, CUDA_VISIBLE_DEVICES="1", CUDA_DEVICE_ORDER="PCI_BUS_ID"), None),
        (seen(OLD), OLD_ERROR),
        (seen(GOOD, replace(OLD, uuid="", pci="")), OLD_WARNING),
        (seen(NEW, GOOD, order=(2, 1)), ("error", "gpu_arch_too_new")),
        (seen(NEW, GOOD, order=(2, 1), CUDA_VISIBLE_DEVICES="1,0"), ("warning", "gpu_arch_too_new")),
        (seen(GOOD, GOOD), None),
        (seen(OLD, GOOD, order=(0, 1), framework="tensorflow"), ("note", "gpu_arch_too_old")),
        (seen(OLD, replace(OLD, index=1, uuid="GPU-dd"), order=(0, 1), framework="tensorflow"), OLD_ERROR),
    ],
)
def test_the_first_gpu_in_cudas_order_decides(snapshot: Snapshot, expected: tuple[str, str] | None) -> None:
    assert told(framework_without_code(snapshot)) == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        (seen(OLD, GOOD, order=(1, 0), base=m.with_copy(m.wheel_machine(), sass=CODE)), [OLD_WARNING]),
        (seen(OLD, GOOD, order=(0, 1), base=m.with_copy(m.wheel_machine(), sass=CODE)), [OLD_ERROR]),
        (seen(OLD, GOOD, base=m.with_copy(m.wheel_machine(), sass=CODE), CUDA_VISIBLE_DEVICES="0"), []),
    ],
)
def test_the_same_holds_for_cudnn(snapshot: Snapshot, expected: list[tuple[str, str]]) -> None:
    assert told(machine_code(snapshot)) == expected


def test_the_warning_names_the_number_and_what_leaves_the_gpu_out() -> None:
    (found,) = framework_without_code(seen(OLD, GOOD, NEW, order=(1, 2, 0), base=machine(build(sass=(*CODE, 120)))))
    assert "GPU 2, the GTX 1030" in found.title
    assert found.fix is not None
    assert found.fix.advice.splitlines()[0] == "export CUDA_VISIBLE_DEVICES=GPU-bb,GPU-cc"
    bare = [replace(g, uuid="") for g in (OLD, GOOD, NEW)]
    (found,) = framework_without_code(seen(*bare, order=(1, 2, 0), base=machine(build(sass=(*CODE, 120)))))
    assert found.fix is not None
    assert found.fix.advice.splitlines()[0] == "export CUDA_VISIBLE_DEVICES=0,1"


def test_what_hides_every_gpu_or_divides_one_leaves_the_count_as_it_is() -> None:
    assert visible_gpus(seen(OLD, GOOD, order=(1, 0), CUDA_VISIBLE_DEVICES="-1")) == (GOOD, OLD)
    divided = replace(GOOD, mig=True)
    assert visible_gpus(seen(OLD, divided, order=(1, 0), CUDA_VISIBLE_DEVICES="0")) == (divided, OLD)


def test_the_order_is_what_cuinit_gave() -> None:
    in_cuda = (replace(GOOD, index=0), replace(OLD, index=1))
    assert order_of_cuda((OLD, GOOD), DriverAnswers(gpus=in_cuda)) == (1, 0)
    assert order_of_cuda((OLD, GOOD), DriverAnswers(gpus=in_cuda[:1])) is None
    assert order_of_cuda((OLD, GOOD), DriverAnswers(gpus=(GOOD, NEW))) is None
    assert order_of_cuda(None, DriverAnswers()) is None


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, ("note", "nccl_failed")),
        ({"NCCL_P2P_DISABLE": "1"}, ("note", "nccl_failed")),
        ({"NCCL_P2P_DISABLE": "1", "NCCL_CUMEM_HOST_ENABLE": "0"}, ("warning", "shared_memory_too_small")),
    ],
)
def test_shared_memory_is_a_warning_where_nothing_else_is_left(said: dict[str, str], expected: tuple[str, str]) -> None:
    """As two H200s said with 1 MiB: the last ends with "No space left on device", the others compute."""
    torch = python(distributions=(Distribution(name="torch", version="2.8.0", location=m.SITE),))
    its = replace(
        m.with_driver(m.wheel_machine(), cuda=CudaInit(status=0, device_count=2)),
        pythons=(torch,),
        tools=Tools(shared_memory=1 << 20),
    )
    its = replace(its, machine=replace(its.machine, container="docker"))
    assert told(little_memory_between_gpus(seen(base=its, **said))) == [expected]
