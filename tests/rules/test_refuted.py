"""What a trial refutes becomes a note, and nothing else does."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.model.facts import FrameworkTrial, Mapped, PackageTrial, ProgramTrial, full_id, split_id
from core.model.findings import Finding
from core.model.steps import Severity
from core.rules.refuted import without_refuted
from core.rules.ways import THIS_SESSION
from core.rules.wording import ERROR, make_finding
from tests.machines import PREFIX, wheel_machine


def finding(name: str, *consumers: str, ways: tuple[str, ...] = ()) -> Finding:
    made = make_finding(f"frameworks.{name}", ERROR, "x", cause="module_shadowed")
    return replace(made, consumers=tuple(full_id(PREFIX, c) for c in consumers), ways=ways)


def trial(**fields: object) -> FrameworkTrial:
    package = PackageTrial(distribution="diffusers", state="imported")
    known = {"reached": "convolution", "right": True, "packages": (package,)}
    return FrameworkTrial(prefix=PREFIX, framework="torch", **(known | fields))


@pytest.mark.parametrize(
    ("its", "tried", "refuted"),
    [
        (finding("import-ends-x", "torch"), trial(), True),
        (finding("import-ends-x", "diffusers"), trial(), True),
        (finding("import-ends-x", "torch", "diffusers"), trial(), True),
        (finding("import-ends-x", "torch", "peft"), trial(), False),
        (finding("import-ends-x", "torch", ""), trial(), False),
        (finding("import-ends-x"), trial(), False),
        (finding("import-ends-x", "torch", ways=("cron:x",)), trial(), False),
        (finding("import-ends-x", "torch", ways=("cron:x", THIS_SESSION)), trial(), True),
        (finding("import-ends-x", "torch"), trial(reached="import"), False),
        (finding("import-ends-x", "torch"), trial(problem="no"), False),
        (finding("shadowed-torch", "torch"), trial(), True),
        (finding("shadowed-torch", "torch"), trial(right=False), False),
        (finding("shadowed-diffusers", "diffusers"), trial(), False),
        (finding("records-torch", "torch"), trial(), False),
    ],
)
def test_what_is_refuted(its: Finding, tried: FrameworkTrial, refuted: bool) -> None:
    (made,) = without_refuted([its], replace(wheel_machine(), trials=(tried,)))
    assert made.severity is (Severity.NOTE if refuted else Severity.ERROR)
    assert (made.why != its.why) is refuted


@pytest.mark.parametrize(
    ("consumers", "fields", "left"),
    [
        (("torch",), {}, ()),
        (("torch-cuda-plugin",), {}, ()),
        (("torch", "jax"), {}, ("jax",)),
        (("torchaudio",), {}, ("torchaudio",)),
        (("torch",), {"gpu": False}, ("torch",)),
        (("torch",), {"right": False}, ("torch",)),
        (("torch",), {"reached": "devices", "right": None}, ("torch",)),
        (("torch",), {"mapped": ()}, ("torch",)),
        (("torch",), {"mapped": (Mapped(path="/x/libcudnn.so.9", name="libcudnn.so.9", origin="system"),)}, ("torch",)),
    ],
)
def test_a_framework_that_computed_with_the_cudnn_of_a_variable_is_not_accused_of_it(
    consumers: tuple[str, ...], fields: dict[str, object], left: tuple[str, ...]
) -> None:
    used = Mapped(path="/lib/libcudnn_graph.so.9.14.0", name="libcudnn_graph.so.9.14.0", origin="LD_LIBRARY_PATH")
    its = replace(finding("x", *consumers), id="cudnn.overridden-by-variable")
    tried = trial(**({"gpu": True, "mapped": (used,)} | fields))
    (made,) = without_refuted([its], replace(wheel_machine(), trials=(tried,)))
    assert made.severity is (Severity.ERROR if left else Severity.NOTE)
    assert [split_id(c)[1] for c in made.consumers] == list(left or consumers)


@pytest.mark.parametrize(
    ("states", "severity", "refuted"),
    [
        (("imported",), Severity.WARNING, True),
        (("imported",), Severity.ERROR, False),
        (("imported", "failed"), Severity.WARNING, False),
        ((), Severity.WARNING, False),
    ],
)
def test_a_module_in_the_way_of_pythons_own_with_which_the_named_program_works(
    states: tuple[str, ...], severity: Severity, refuted: bool
) -> None:
    its = replace(finding("shadowed-standard-library", ""), severity=severity)
    programs = tuple(ProgramTrial(prefix=PREFIX, path="/w/main.py", state=s) for s in states)
    (made,) = without_refuted([its], replace(wheel_machine(), trials=(trial(),), program_trials=programs))
    assert made.severity is (Severity.NOTE if refuted else severity)
