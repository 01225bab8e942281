"""Rules that only Windows needs: its C++ runtime, System32, PATH's limit, what a framework's own DLLs import."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from core.changes import SetVariable
from core.diagnose import diagnose
from core.facts import Attempt, Consumer, CudaInit, Environment, How, RollCall, Snapshot, Variable
from core.findings import Finding, Severity
from core.fixes import repair_cuda_path, with_changes
from tests import machines as m

PREFIX = r"C:\ml"
TORCH_LIB = PREFIX + r"\Lib\site-packages\torch\lib"
ASKER = PREFIX + r"\Lib\site-packages\onnxruntime\capi\onnxruntime_providers_cuda.dll"
ORT = Consumer(
    id="python:C:\\ml", kind="python", label="the environment", prefix=PREFIX, framework="onnxruntime-gpu 1.20.1"
)


def loud(snapshot: Snapshot) -> list[Finding]:
    return [f for f in diagnose(snapshot) if f.severity > Severity.NOTE]


def asked(snapshot: Snapshot, *searches: Any) -> Snapshot:
    made = (snapshot.loads or ())[0]
    return m.with_load(snapshot, consumer=ORT, resolutions=(*made.resolutions, *searches))


def nowhere(name: str) -> Any:
    attempt = Attempt(path=rf"C:\Windows\System32\{name}", how=How.SYSTEM, outcome="not there")
    return m.search(name, attempt, by=ASKER)


def test_a_missing_cpp_runtime_is_named_with_who_imports_it() -> None:
    found = loud(asked(m.windows_machine(), nowhere("MSVCP140.dll")))
    assert [f.cause for f in found if f.primary] == ["vc_runtime_missing"]
    assert any(ASKER in e.source for e in found[0].evidence)
    there = m.search("MSVCP140.dll", m.found(r"C:\Windows\System32\MSVCP140.dll", How.SYSTEM), by=ASKER)
    assert loud(asked(m.windows_machine(), there)) == []


def test_what_a_framework_imports_of_another_cuda_is_a_matter_of_the_toolkit() -> None:
    whole = m.windows_machine()
    names = {"cudart64_110.dll": "11.8", "cublas64_11.dll": "11.8", "cublasLt64_11.dll": "11.8"}
    old = replace((whole.toolkits or ())[0], version="11.8", libraries=m.toolkit(r"C:\cuda\bin", names).libraries)
    gone = [s.name for s in (whole.loads or ())[0].resolutions if s.name.startswith("cu") and "cudnn" not in s.name]
    lost = asked(replace(whole, toolkits=(old,)), nowhere("cublas64_12.dll"))
    for name in gone:
        lost = m.with_search(lost, name, Attempt(path=name, how=How.PATH, outcome="not there"))
    assert [f.cause for f in loud(lost) if f.primary] == ["cuda_toolkit_version_mismatch"]


def in_system32(version: str) -> Snapshot:
    whole = m.windows_machine()
    stray = m.cudnn(r"C:\Windows\System32", version, system="windows", origin="system", environment="", owner="")
    made = m.load(stray, (whole.loads or ())[0].consumer, system="windows", how=How.SYSTEM)
    main, *parts = made.resolutions
    later = m.found(m.join("windows", m.INSTALLER, main.name), How.PATH)
    made = replace(made, resolutions=(replace(main, attempts=(*main.attempts, later)), *parts))
    return replace(whole, cudnn=(stray, *(whole.cudnn or ())), loads=(made,))


def test_an_older_set_in_system32_hides_the_installed_one() -> None:
    found = loud(in_system32("9.1.0"))
    assert [(f.cause, f.subject, f.severity) for f in found] == [
        ("cudnn_shadowed", r"C:\Windows\System32", Severity.WARNING)
    ]
    assert loud(in_system32("9.10.2")) == []
    assert loud(in_system32("9.11.0")) == []


def test_what_torch_brings_is_its_own_whatever_pip_put_beside_it() -> None:
    whole = m.windows_machine()
    site = PREFIX + r"\Lib\site-packages"
    own = m.cudnn(
        TORCH_LIB, "9.10.2", system="windows", origin="framework", environment=PREFIX, owner="torch 2.9.0+cu126"
    )
    beside = m.cudnn(site + r"\nvidia\cudnn\bin", "9.1.0", system="windows", origin="wheel", environment=PREFIX)
    torch = replace(ORT, framework="torch 2.9.0+cu126")
    made = m.load(own, torch, system="windows", how=How.LOADED)
    assert loud(replace(whole, cudnn=(own, beside), loads=(made,))) == []
    other = replace(made, consumer=ORT)
    assert [f.cause for f in loud(replace(whole, cudnn=(own, beside), loads=(other,)))] == ["cudnn_shadowed"]


LIMIT = "PATH is 38,704 characters long. Windows allows 32,767 characters in one variable."


def test_path_beyond_its_limit_is_the_cause_once_something_is_lost() -> None:
    whole = m.windows_machine()
    long = replace(whole, environment=replace(whole.environment or Environment(), problems=(LIMIT,)))
    assert [(f.id, f.severity) for f in loud(long)] == [("environment.limit", Severity.WARNING)]
    roll = RollCall(library="cudnn64_9.dll")
    lost = [f for f in loud(m.with_load(long, roll_call=roll)) if f.primary]
    assert [(f.cause, f.severity) for f in lost] == [("path_too_long", Severity.ERROR)]


def test_only_the_variable_that_is_wrong_is_repaired() -> None:
    whole = m.windows_machine()
    root = (whole.toolkits or ())[0].root
    right = Variable(name="CUDA_PATH", value=root.lower() + "\\", scope="machine", kind="REG_SZ", source="HKLM")
    wrong = Variable(name="CUDA_PATH", value=r"C:\cuda\v11.2", scope="user", kind="REG_SZ", source="HKCU")
    seen = replace(whole, environment=replace(whole.environment or Environment(), variables=(right, wrong)))
    finding = next(iter(diagnose(whole)))
    (change,) = repair_cuda_path(replace(finding, subject="CUDA_PATH"), seen)
    assert isinstance(change, SetVariable)
    assert (change.scope, change.after and change.after.text) == ("user", root)
    assert with_changes(finding, seen) == finding


def test_a_child_that_could_not_be_started_says_nothing_of_the_driver() -> None:
    problem = "The process that called cuInit could not be started: Internal error."
    seen = m.with_driver(m.windows_machine(), cuda=CudaInit(problem=problem))
    assert [(f.id, f.severity) for f in loud(seen)] == [("driver.not-asked", Severity.UNKNOWN)]


def test_windows_has_an_event_viewer_and_no_kernel_log() -> None:
    seen = m.with_driver(m.windows_machine(), cuda=CudaInit(status=719))
    (found,) = (f for f in loud(seen) if f.id == "driver.cuda-init")
    assert found.fix is not None
    assert "dmesg" not in found.fix.advice
