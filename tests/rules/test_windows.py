"""Rules that only Windows needs: its C++ runtime, System32, PATH's limit, what a framework's own DLLs import."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from core.fixes.catalogue import attach_changes, changes_of
from core.model.changes import SetVariable
from core.model.facts import (
    Attempt,
    Call,
    Closure,
    Consumer,
    CudaInit,
    Distribution,
    Edge,
    Environment,
    Gap,
    How,
    LibraryFile,
    Limit,
    Opening,
    Program,
    PythonEnvironment,
    RollCall,
    Signature,
    Snapshot,
    Toolkit,
    Variable,
)
from core.model.findings import Finding
from core.model.remedies import PointTo
from core.model.steps import Severity
from core.rules.frameworks.libraries.findings import lacking_libraries
from core.rules.root_cause import diagnose
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


def pristine(folder: str, owner: str, origin: str) -> Snapshot:
    """cuDNN 9.20.0 for Windows as it was published: its graph library names a part that no copy of it has."""
    name = "cudnn_engines_tensor_ir64_9.dll"
    copy = m.cudnn(folder, "9.20.0", system="windows", cuda=12, owner=owner, origin=origin, environment=PREFIX)
    copy = replace(copy, missing=(name,), missing_source="cudnn_graph64_9.dll")
    consumer = replace(ORT, framework="torch 2.13.0+cu130")
    made = m.load(copy, consumer, system="windows", how=How.DLL_FOLDER)
    roll = m.answers(copy, "windows")
    last = Call(function="LoadLibraryExW", library=rf"{folder}\{name}", result=None, meaning="126")
    made = replace(
        made,
        resolutions=(*made.resolutions, nowhere(name)),
        roll_call=replace(roll, calls=(*roll.calls, last)),
        wanted_version="9.20.0",
    )
    return replace(m.windows_machine(), cudnn=(copy,), loads=(made,))


@pytest.mark.parametrize(
    ("folder", "owner", "origin"),
    [
        (PREFIX + r"\Lib\site-packages\nvidia\cudnn\bin", "nvidia-cudnn-cu13 9.20.0.48", "wheel"),
        (PREFIX + r"\Lib\site-packages\nvidia\cudnn\bin", "nvidia-cudnn-cu12 9.20.0.48", "wheel"),
        (TORCH_LIB, "torch 2.13.0+cu130", "framework"),
    ],
)
def test_a_release_that_was_published_without_a_part_is_no_fault_of_this_machine(
    folder: str, owner: str, origin: str
) -> None:
    seen = pristine(folder, owner, origin)
    assert [(f.id, f.title) for f in loud(seen)] == []
    told = next(f for f in diagnose(seen) if f.id == "cudnn.faulty-release")
    assert told.fix is not None
    assert owner.split(" ", maxsplit=1)[0] in told.fix.advice


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
        TORCH_LIB, "9.1.0", system="windows", origin="framework", environment=PREFIX, owner="torch 2.9.0+cu126"
    )
    beside = m.cudnn(site + r"\nvidia\cudnn\bin", "9.10.2", system="windows", origin="wheel", environment=PREFIX)
    torch = replace(ORT, framework="torch 2.9.0+cu126")
    made = m.load(own, torch, system="windows", how=How.LOADED)
    assert loud(replace(whole, cudnn=(own, beside), loads=(made,))) == []
    other = replace(made, consumer=ORT)
    assert [f.cause for f in loud(replace(whole, cudnn=(own, beside), loads=(other,)))] == ["cudnn_shadowed"]


SAID = "PATH is 38,704 characters long. Windows allows 32,767 characters in one variable."
LIMIT = Limit(kind="length", text=SAID, variable="PATH", limit=32767)


def test_path_beyond_its_limit_is_the_cause_once_something_is_lost() -> None:
    whole = m.windows_machine()
    long = replace(whole, environment=replace(whole.environment or Environment(), limits=(LIMIT,)))
    assert [(f.id, f.severity) for f in loud(long)] == [("environment.limit", Severity.WARNING)]
    call = Call(function="LoadLibraryExW", library="cudnn64_9.dll", result=126, meaning="ERROR_MOD_NOT_FOUND")
    roll = RollCall(library="cudnn64_9.dll", calls=(call,))
    lost = [f for f in loud(m.with_load(long, roll_call=roll)) if f.primary]
    assert [(f.cause, f.severity) for f in lost] == [("path_too_long", Severity.ERROR)]


def test_only_the_variable_that_is_wrong_is_repaired() -> None:
    whole = m.windows_machine()
    root = (whole.toolkits or ())[0].root
    right = Variable(name="CUDA_PATH", value=root.lower() + "\\", scope="machine", kind="REG_SZ", source="HKLM")
    wrong = Variable(name="CUDA_PATH", value=r"C:\cuda\v11.2", scope="user", kind="REG_SZ", source="HKCU")
    seen = replace(whole, environment=replace(whole.environment or Environment(), variables=(right, wrong)))
    finding = next(iter(diagnose(whole)))
    (change,) = changes_of(PointTo(variable="CUDA_PATH", folder=root, right=(root,)), seen)
    assert isinstance(change, SetVariable)
    assert (change.scope, change.after and change.after.text) == ("user", root)
    assert attach_changes(finding, seen) == finding


def test_a_child_that_could_not_be_started_says_nothing_of_the_driver() -> None:
    problem = "The process that called cuInit could not be started: Internal error."
    seen = m.with_driver(m.windows_machine(), cuda=CudaInit(problem=problem, asked=False))
    assert [(f.id, f.severity) for f in loud(seen)] == [("driver.not-asked", Severity.UNKNOWN)]


def test_windows_has_an_event_viewer_and_no_kernel_log() -> None:
    seen = m.with_driver(m.windows_machine(), cuda=CudaInit(status=719))
    (found,) = (f for f in loud(seen) if f.id == "driver.cuda-init")
    assert found.fix is not None
    assert "dmesg" not in found.fix.advice


LISTED = Program(name="Microsoft Visual C++ 2015-2022 Redistributable (x64) - 14.38.33135", version="14.38.33135.0")


def test_what_windows_lists_as_installed_and_is_not_there_is_to_be_repaired() -> None:
    lost = asked(m.windows_machine(), nowhere("MSVCP140.dll"))
    (new,) = loud(lost)
    listed = replace(lost, machine=replace(lost.machine, programs=(LISTED,)))
    (broken,) = loud(listed)
    assert new.fix is not None
    assert broken.fix is not None
    assert new.fix.title.startswith("Install Microsoft's")
    assert broken.fix.title.startswith("Repair Microsoft's")
    assert [e.value for e in broken.evidence if e.label == "Listed as installed"] == [
        "Microsoft Visual C++ 2015-2022 Redistributable (x64) - 14.38.33135 14.38.33135.0"
    ]


def test_a_cudnn_that_windows_lists_and_that_is_gone_is_told_as_listed() -> None:
    whole = m.windows_machine()
    bare = replace(whole, cudnn=(), loads=None)
    bare = replace(bare, machine=replace(bare.machine, programs=(Program(name="NVIDIA CUDNN 9.28", version="9.28"),)))
    (found,) = (f for f in diagnose(bare) if f.cause == "cudnn_not_installed")
    assert "NVIDIA CUDNN 9.28 9.28" in [e.value for e in found.evidence]


def deep(long_paths: bool | None, length: int = 240) -> Snapshot:
    """The environment lies in folders within folders."""
    whole = m.windows_machine()
    folder = (r"C:\ml" + r"\a folder" * 40)[:length].rstrip("\\ ")
    copy = m.cudnn(folder, "9.10.2", system="windows", origin="folder", environment="", owner="")
    made = m.load(copy, (whole.loads or ())[0].consumer, system="windows", how=How.PATH)
    return replace(whole, machine=replace(whole.machine, long_paths=long_paths), cudnn=(copy,), loads=(made,))


def test_a_path_that_is_too_long_matters_only_where_long_paths_are_off() -> None:
    assert loud(deep(long_paths=True)) == []
    assert loud(deep(long_paths=None)) == []
    assert loud(deep(long_paths=False, length=200)) == []
    (found,) = loud(deep(long_paths=False))
    assert (found.id, found.cause, found.severity) == (
        "cudnn.path-too-deep",
        "install_path_characters",
        Severity.WARNING,
    )


@pytest.mark.parametrize(
    ("home", "framework", "fails", "severity"),
    [
        (r"C:\Users\Zoë\ml", "torch 2.6.0", False, Severity.NOTE),
        (r"C:\[ml] 2026", "torch 2.6.0", False, Severity.WARNING),
        (r"C:\[ml] 2026", "onnxruntime-gpu 1.20.1", False, Severity.NOTE),
        (r"C:\[ml] 2026", "onnxruntime-gpu 1.20.1", True, Severity.ERROR),
        (r"C:\Users\猫", "onnxruntime-gpu 1.20.1", True, Severity.ERROR),
    ],
)
def test_odd_letters_in_a_folder_matter_to_what_stumbles_over_them(
    home: str, framework: str, fails: bool, severity: Severity
) -> None:
    whole = m.windows_machine()
    folder = home + r"\Lib\site-packages\torch\lib"
    copy = m.cudnn(folder, "9.10.2", system="windows", origin="framework", environment=home, owner="torch 2.6.0")
    consumer = replace((whole.loads or ())[0].consumer, prefix=home, framework=framework)
    made = m.load(copy, consumer, system="windows", how=How.DLL_FOLDER)
    if fails:
        call = Call(function="LoadLibraryExW", library=copy.files[-1].path, result=126, meaning="ERROR_MOD_NOT_FOUND")
        made = replace(made, roll_call=RollCall(library=copy.files[0].path, calls=(call,)))
    [found] = [f for f in diagnose(replace(whole, cudnn=(copy,), loads=(made,))) if f.id == "cudnn.path-characters"]
    assert (found.cause, found.severity) == ("install_path_characters", severity)


def signed(*states: Signature) -> list[str]:
    """What is said of a whole cuDNN whose files have these signatures, in turn."""
    whole = m.windows_machine()
    (copy,) = whole.cudnn or ()
    files = tuple(replace(f, signature=states[n % len(states)]) for n, f in enumerate(copy.files))
    told = loud(replace(whole, cudnn=(replace(copy, files=files),)))
    assert told == []
    found = diagnose(replace(whole, cudnn=(replace(copy, files=files),)))
    return [f"{e.value}; {e.source}" for f in found for e in f.evidence if e.label == "Signatures"]


def test_signatures_are_evidence_and_their_lack_is_no_fault() -> None:
    assert signed("") == []
    assert signed("valid") == ["8 of 8 files are as their maker signed them; Windows knows the signer"]
    assert signed("valid", "intact") == ["8 of 8 files are as their maker signed them; by the signed hashes"]
    assert signed("not signed", "valid") == ["4 of 8 files are as their maker signed them; Windows knows the signer"]
    assert signed("not signed") == ["0 of 8 files are as their maker signed them; no file has one that decides"]


@pytest.mark.parametrize("stray", [True, False])
def test_a_copy_beside_the_plugin_is_taken_away_and_not_installed_again(stray: bool) -> None:
    copy = ASKER.rpartition("\\")[0] + r"\cufft64_11.dll"
    gap = Gap(
        wanted_by=ASKER,
        name="cufftXtMakePlanMany",
        provider=copy,
        how=How.DLL_FOLDER,
        others=(r"C:\cuda\cufft64_11.dll",),
    )
    made = Closure(consumer=ORT, binaries=(ASKER,), gaps=(gap,), strays=(copy,) if stray else ())
    python = PythonEnvironment(
        prefix=PREFIX,
        site_packages=(PREFIX + r"\Lib\site-packages",),
        distributions=(Distribution(name="onnxruntime-gpu", version="1.20.1"),),
    )
    [found] = lacking_libraries(replace(m.windows_machine(), pythons=(python,), closures=(made,)))
    assert found.cause == "cuda_lib_shadowed"
    assert (copy in (found.fix.advice if found.fix else "")) is stray


LACKS = [
    (Edge(name="libomp140.x86_64.dll", wanted_by=ASKER, state="absent"), (), "system_library_missing", "Build Tools"),
    (Edge(name="MSVCP140_1.dll", wanted_by=ASKER, state="absent"), (), "vc_runtime_missing", "vc_redist.x64.exe"),
    (Edge(name="msvcp140.dll", wanted_by=ASKER, state="too old", path=r"C:\Windows\System32\msvcp140.dll"), (), "vc_runtime_missing", "vc_redist.x64.exe"),
    (Edge(name="msvcp140.dll", wanted_by=ASKER, state="too old", path=r"C:\Python311\msvcp140.dll"), (), "vc_runtime_missing", r"C:\Python311\msvcp140.dll"),
    (None, (Opening(library=ASKER, problem="error 1455", number=1455),), "page_file_too_small", "Virtual memory"),
    (None, (Opening(library=ASKER, problem="error 4551", number=4551),), "library_unreadable", "Smart App Control"),
    (None, (Opening(library=ASKER, problem="error 225", number=225),), "library_unreadable", "Protection history"),
    (None, (Opening(library=ASKER, problem="error 362", number=362),), "library_unreadable", "Always keep on this device"),
]  # fmt: skip
"""What a load lacks, what the loader said, the cause, a word of the advice."""


def lacking(edge: Edge | None, openings: tuple[Opening, ...]) -> Snapshot:
    """Return a Windows machine with a framework that lacks this."""
    made = Closure(consumer=ORT, binaries=(ASKER,), edges=(edge,) if edge else (), openings=openings or None)
    python = PythonEnvironment(
        prefix=PREFIX,
        site_packages=(PREFIX + r"\Lib\site-packages",),
        distributions=(Distribution(name="onnxruntime-gpu", version="1.20.1"),),
    )
    return replace(m.windows_machine(), pythons=(python,), closures=(made,))


@pytest.mark.parametrize(("edge", "openings", "cause", "advice"), LACKS)
def test_what_windows_itself_lacks_or_keeps_back(
    edge: Edge | None, openings: tuple[Opening, ...], cause: str, advice: str
) -> None:
    [found] = lacking_libraries(lacking(edge, openings))
    assert found.cause == cause
    assert found.fix
    assert advice in found.fix.advice


CUDA = "C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\"


def misled(value: str, name: str = "cupy-cuda12x", elsewhere: str = CUDA + "v12.4\\bin\\cublas64_12.dll") -> Snapshot:
    """Return a machine whose CuPy does not find cuBLAS in the toolkit that CUDA_PATH names."""
    edge = Edge(name="cublas64_12.dll", wanted_by=ASKER, state="absent", elsewhere=(elsewhere,) if elsewhere else ())
    seen = lacking(edge, ())
    (its,), (made,) = seen.pythons or (), seen.closures or ()
    its = replace(its, distributions=(Distribution(name=name, version="13.6.0"),))
    made = replace(made, consumer=replace(ORT, framework=f"{name} 13.6.0"))
    variables = (Variable(name="CUDA_PATH", value=value, scope="machine", source="machine"),) if value else ()
    toolkits = tuple(
        Toolkit(root=CUDA + v, origin="installer", folder=CUDA + v + "\\bin", version=v[1:]) for v in ("v12.0", "v12.4")
    )
    return replace(
        seen, pythons=(its,), closures=(made,), toolkits=toolkits, environment=Environment(variables=variables)
    )


@pytest.mark.parametrize("value", [CUDA + "v12.0", CUDA + "v12.4\\bin", f'"{CUDA}v12.4"', "C:\\gone"])
def test_a_toolkit_that_cuda_path_does_not_name_is_the_variable_s_fault(value: str) -> None:
    [found] = lacking_libraries(misled(value))
    assert found.cause == "cuda_path_env_wrong"
    assert value in found.title
    assert found.remedy == PointTo(variable="CUDA_PATH", folder=CUDA + "v12.4", right=(CUDA + "v12.4",))


@pytest.mark.parametrize(
    "seen",
    [
        misled(""),
        misled(CUDA + "v12.4"),
        misled(CUDA + "v12.0", elsewhere=PREFIX + "\\Lib\\site-packages\\nvidia\\cublas\\bin\\cublas64_12.dll"),
        misled(CUDA + "v12.0", elsewhere=""),
        misled(CUDA + "v12.0", name="onnxruntime-gpu"),  # it asks PATH
    ],
)
def test_the_variable_is_not_blamed_for_what_it_does_not_decide(seen: Snapshot) -> None:
    [found] = lacking_libraries(seen)
    assert found.cause != "cuda_path_env_wrong"


def test_a_damaged_copy_in_system32_is_taken_away() -> None:
    file = LibraryFile(path=r"C:\Windows\System32\cublasLt64_12.dll", name="cublasLt64_12.dll", state="empty")
    toolkit = Toolkit(root=r"C:\Windows\System32", origin="system", folder=r"C:\Windows\System32", libraries=(file,))
    found = [
        f for f in diagnose(replace(m.windows_machine(), toolkits=(toolkit,))) if f.cause == "corrupt_or_truncated_file"
    ]
    assert [file.path in f.fix.advice for f in found if f.fix] == [True]
