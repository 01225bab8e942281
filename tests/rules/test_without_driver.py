"""A machine without a driver, or an image that was built without one: a whole cuDNN is left in peace.

Stand-in sets, really searched and really loaded; NVIDIA's own wheels have rows in the fault lab (healthy-no-gpu-*).
"""

from __future__ import annotations

import ctypes.util
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import Call, FrameworkTrial, Snapshot
from core.model.findings import Finding
from core.model.steps import Severity
from core.probes.loading import probe
from core.rules.consumer_loads import roll_call_passed
from core.rules.root_cause import diagnose
from tests import machines as m
from tests import standin
from tests.probes.test_loading import Scene

linux = pytest.mark.skipif(sys.platform != "linux", reason="builds and loads Linux libraries")
DRIVER_IS_HERE = ctypes.util.find_library("cuda") is not None
NEEDS_DRIVER = "libcuda.so.1: cannot open shared object file: No such file or directory"


def loud(found: tuple[Finding, ...]) -> list[str]:
    return [f"{f.id}: {f.title}" for f in found if f.severity > Severity.NOTE]


def needing_driver(scene: Scene, version: str, role: str, *, wheel: bool) -> Path:
    """Lay out a set of which one part is linked against the driver's own library: a wheel with its RECORD, or a folder."""
    folder = scene.wheel(version, zlib=True) if wheel else scene.folder / "opt" / "cudnn" / "lib"
    if not wheel:
        standin.build_cudnn(folder, version, zlib=True)
    libcuda = standin.build_library(scene.folder / "driver" / "libcuda.so.1")
    standin.build_library(folder / standin.file_name(role, int(version[0])), needed=(libcuda,))
    if wheel:
        files = sorted(p for p in folder.parent.rglob("*") if p.is_file())
        standin.record_wheel(scene.site, "nvidia-cudnn-cu12", version, files)
    return folder


@linux
@pytest.mark.parametrize(
    ("version", "role"),
    [
        ("8.9.7.29", "cnn_train"),
        ("9.1.0.70", "engines_runtime_compiled"),
        ("9.28.0.42", "engines_tensor_ir"),
        ("9.1.0.70", "cnn"),
    ],
)
@pytest.mark.parametrize("consumer", ["environment", "program"])
def test_a_part_that_needs_the_driver_is_no_broken_cudnn(
    tmp_path: Path, version: str, role: str, consumer: str
) -> None:
    scene = Scene(tmp_path)
    folder = needing_driver(scene, version, role, wheel=consumer == "environment")
    cuda = tmp_path / "opt" / "cuda" / "lib"
    for name in ("libcublas.so.12", "libcublasLt.so.12", "libnvrtc.so.12", "libnvrtc-builtins.so.12.4"):
        standin.build_library(cuda / name)
    request = scene.request(**({"LD_LIBRARY_PATH": f"{folder}:{cuda}"} if consumer == "program" else {}))
    loads = tuple(x for x in probe.look(request) if (x.consumer.kind == "plain") is (consumer == "program"))
    assert loads
    seen = replace(request.seen, loads=loads, driver=m.without_gpu())
    found = diagnose(seen)
    assert loud(found) == []
    told = {f.id for f in found}
    assert ("cudnn.waits-for-driver" in told) is not DRIVER_IS_HERE
    assert ("cudnn.loads" in told) is DRIVER_IS_HERE


def test_what_waits_for_the_driver_has_not_answered() -> None:
    roll = m.refused(m.cudnn(), "cnn", NEEDS_DRIVER)
    assert not roll_call_passed(roll)
    seen = m.with_load(m.no_gpu_machine(), roll_call=roll)
    found = diagnose(seen)
    assert loud(found) == []
    assert "cudnn.loads" not in {f.id for f in found}


def test_functions_that_die_with_the_part_that_waits_follow_from_it() -> None:
    roll = m.refused(m.cudnn(), "graph", NEEDS_DRIVER, ended="was killed by SIGABRT")
    roll = replace(roll, calls=(*roll.calls, Call(function="cudnnGraphVersionCheck", meaning="The process died.")))
    assert loud(diagnose(m.with_load(m.no_gpu_machine(), roll_call=roll))) == []


def test_another_part_that_fails_beside_it_is_told() -> None:
    roll = m.refused(m.cudnn(), "graph", NEEDS_DRIVER)
    broken = m.refused(m.cudnn(), "cnn", "file too short")
    calls = tuple(one if one.result != 0 else two for one, two in zip(roll.calls, broken.calls, strict=True))
    seen = m.with_load(m.no_gpu_machine(), roll_call=replace(roll, calls=calls))
    assert [f.id for f in diagnose(seen) if f.severity is Severity.ERROR] == ["cudnn.roll-call-failed"]


def on_windows(*, needed: tuple[str, ...]) -> Snapshot:
    """Windows without a driver, where cuDNN's graph library fails with 126."""
    seen = m.with_driver(
        m.windows_machine(), **{f: getattr(m.without_gpu(), f) for f in ("pci", "gpus", "nvml", "cuda", "libraries")}
    )
    seen = m.with_file(seen, "graph", needed=needed)
    name = m.file_name("graph", 9, "windows")
    load = (seen.loads or ())[0]
    assert load.roll_call
    calls = tuple(replace(c, result=126) if c.library.endswith(name) else c for c in load.roll_call.calls)
    return m.with_load(seen, roll_call=replace(load.roll_call, calls=calls))


def test_windows_names_no_file_so_what_the_library_needs_decides() -> None:
    assert [f for f in loud(diagnose(on_windows(needed=("nvcuda.dll",)))) if f.startswith("cudnn")] == []
    assert [f for f in loud(diagnose(on_windows(needed=("kernel32.dll",)))) if f.startswith("cudnn")] != []


def test_a_framework_that_needs_the_driver_to_be_imported() -> None:
    trial = FrameworkTrial(
        prefix=m.PREFIX, framework="torch", version="2.6.0", reached="nothing", problem=f"ImportError: {NEEDS_DRIVER}"
    )
    seen = replace(m.no_gpu_machine(), trials=(trial,))
    assert loud(diagnose(seen)) == []
    with_gpu = replace(m.wheel_machine(), trials=(trial,))
    assert any(f.startswith("frameworks.trial-torch") for f in loud(diagnose(with_gpu)))
