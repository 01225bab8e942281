"""A framework that sees fewer GPUs than the driver gives: what leaves them out is named, or what was looked at."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from core.model.facts import CudaInit, Environment, Gpu, Snapshot, Variable
from core.model.findings import Finding
from core.rules.frameworks.fewer_gpus import fewer_gpus
from tests import machines as m
from tests.rules.test_frameworks_verdicts import trial

TWO = (Gpu(index=0, name="RTX 3090", compute_capability="8.6"), Gpu(index=1, name="GT 1030", compute_capability="6.1"))


def seen(
    framework: str, devices: int | None, given: int = 2, variables: dict[str, str] | None = None, **fields: Any
) -> Snapshot:
    driver = m.working_driver(gpus=TWO, cuda=CudaInit(status=0, driver_cuda="13.0", device_count=given, library="x"))
    base = replace(m.wheel_machine(), driver=driver)
    if variables:
        given_here = tuple(Variable(name=n, value=v, scope="process") for n, v in variables.items())
        base = replace(base, environment=replace(base.environment or Environment(), variables=given_here))
    return replace(base, trials=(trial(framework=framework, devices=devices, **fields),))


def told(snapshot: Snapshot) -> list[Finding]:
    return list(fewer_gpus(snapshot))


@pytest.mark.parametrize(("devices", "given"), [(2, 2), (0, 2), (None, 2), (1, 1)])
def test_who_sees_all_of_them_or_none_is_told_elsewhere(devices: int | None, given: int) -> None:
    assert told(seen("torch", devices, given)) == []


def test_what_nothing_explains_names_every_gpu() -> None:
    (card,) = told(seen("torch", 1))
    assert card.severity.name == "WARNING"
    assert [e.label for e in card.evidence if e.value == "given by the driver"] == ["0 RTX 3090", "1 GT 1030"]


def test_what_the_framework_printed_names_the_one_that_it_leaves_out() -> None:
    line = "Ignoring visible gpu device (device: 1, name: GT 1030) with core count: 3."
    (card,) = told(seen("tensorflow", 1, printed=f"x\n{line}\ny"))
    assert card.severity.name == "NOTE"
    assert line in [e.value for e in card.evidence]


def test_a_variable_of_the_framework_is_the_cause() -> None:
    (card,) = told(seen("jax", 1, variables={"JAX_CUDA_VISIBLE_DEVICES": "0"}))
    assert (card.severity.name, card.cause) == ("NOTE", "gpu_hidden_by_env")
    assert "JAX_CUDA_VISIBLE_DEVICES" in [e.label for e in card.evidence]
