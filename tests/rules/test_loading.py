"""Loading rules as a table: one change to a machine in order -> the one reason why a load fails, or none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from core.model.facts import (
    Attempt,
    Call,
    Changeable,
    Closure,
    Consumer,
    Distribution,
    Edge,
    Environment,
    FrameworkBuild,
    Frameworks,
    How,
    ImportSearch,
    LibraryFile,
    Load,
    Mark,
    PathEntry,
    Resolution,
    RollCall,
    Snapshot,
)
from core.model.findings import Finding
from core.model.remedies import InstallPackages
from core.model.steps import Severity
from core.rules.consumer_loads import consumer_loads
from core.rules.cudnn.copies import lone_main_libraries
from core.rules.cudnn.loading import changeable_copy, untrusted_copy
from core.rules.cudnn.not_found import not_found, search_stopped
from core.rules.cudnn.wrong_copy import parts_missing
from core.rules.root_cause import diagnose
from core.rules.wording import CONCERNS_LABEL
from tests import machines as m

ERROR, WARNING, NOTE, UNKNOWN = Severity.ERROR, Severity.WARNING, Severity.NOTE, Severity.UNKNOWN
OLD, NEW = "/usr/local/cudnn-9.1/lib64", "/usr/local/cudnn-9.10/lib64"
ADV, GRAPH = f"{m.CUDNN}/libcudnn_adv.so.9", f"{m.CUDNN}/libcudnn_graph.so.9"
TORCH = f"{m.SITE}/torch/lib/libtorch_cuda.so"
NO_MAIN = Call(function="dlopen", library="libcudnn.so.9", meaning="cannot open shared object file")
ANY = Consumer(id="plain", kind="plain", label="any program")


def file(role: str, **fields: object) -> Callable[[], Snapshot]:
    """Return a builder: one file of the environment's cuDNN is otherwise."""
    return lambda: m.with_file(m.wheel_machine(), role, **fields)


def unread() -> Snapshot:
    """The main library of the environment may not be read, and there is no other."""
    snapshot = m.with_file(m.wheel_machine(), "", state="unreadable")
    shut = Attempt(path=f"{m.CUDNN}/libcudnn.so.9", how=How.RPATH, outcome="unreadable")
    return m.with_load(
        m.with_search(snapshot, "libcudnn.so.9", shut),
        roll_call=RollCall(library="libcudnn.so.9", ended="did not load"),
    )


def leaking(state: str) -> Snapshot:
    """One file of the environment's cuDNN is unfit, and the loader takes the system's of another release."""
    other = m.system_copy()
    snapshot = (
        m.without_file(m.wheel_machine(), "cnn")
        if state == "gone"
        else m.with_file(m.wheel_machine(), "cnn", state=state)
    )
    snapshot = replace(snapshot, cudnn=(*(snapshot.cudnn or ()), other))
    return m.with_search(snapshot, "libcudnn_cnn.so.9", m.found(f"{other.folder}/libcudnn_cnn.so.9", How.LD_CACHE))


def faulty_release(*, beside: bool, owner: str = "nvidia-cudnn-cu13 9.20.0.48", **fields: Any) -> Snapshot:
    """A pristine cuDNN 9.20.0, alone or beside a system copy that has the file that it lacks."""
    snapshot = m.with_copy(
        m.wheel_machine(),
        owner=owner,
        version="9.20.0",
        cuda_major=13,
        **fields,
        missing=("libcudnn_engines_tensor_ir.so.9",),
        missing_source="libcudnn_graph.so.9",
    )
    files = tuple(replace(f, version="9.20.0" if f.version else None) for f in (snapshot.cudnn or ())[0].files)
    snapshot = m.with_copy(snapshot, files=files)
    name = "libcudnn_engines_tensor_ir.so"
    roll = m.answers((snapshot.cudnn or ())[0])
    last = Call(
        function="dlopen", library=f"{name}.9", result=0 if beside else None, meaning="" if beside else "no file"
    )
    snapshot = m.with_load(snapshot, roll_call=replace(roll, calls=(*roll.calls, last)))
    attempts = (m.found(f"{m.SYSTEM}/{name}", How.LD_CACHE),) if beside else (m.nothing(f"{m.CUDNN}/{name}"),)
    first = (snapshot.loads or ())[0]
    snapshot = m.with_load(
        snapshot, resolutions=(*first.resolutions, m.search(name, *attempts, by=GRAPH)), wanted_version="9.20.0"
    )
    return replace(snapshot, cudnn=(*(snapshot.cudnn or ()), m.system_copy("9.21.1"))) if beside else snapshot


def overridden(version: str, *, main: bool = False, answered: bool = True) -> Snapshot:
    """LD_LIBRARY_PATH names a folder with another cuDNN before the environment's own."""
    other = m.system_copy(version, "/opt/cudnn/lib")
    snapshot = m.wheel_machine()
    snapshot = replace(snapshot, cudnn=(*(snapshot.cudnn or ()), other))
    for role in m.ROLES9 if main else m.ROLES9[1:]:
        name = m.file_name(role, 9)
        first = m.found(f"{other.folder}/{name}", How.LD_LIBRARY_PATH, "LD_LIBRARY_PATH: /opt/cudnn/lib")
        snapshot = m.with_search(snapshot, name, first, m.found(f"{m.CUDNN}/{name}"))
    own = m.cudnn()
    if not answered:
        snapshot = m.with_load(
            snapshot, roll_call=m.refused(own, "cnn", "undefined symbol"), clean_roll_call=m.answers(own)
        )
    return m.with_variable(snapshot, "LD_LIBRARY_PATH", "/opt/cudnn/lib")


def only(major: int) -> Snapshot:
    """torch asks for cuDNN 9; the environment has cuDNN ``major``, or none at all (0)."""
    snapshot = m.wheel_machine()
    copies = (m.cudnn(version="8.9.7"),) if major == 8 else ()
    gone = m.search("libcudnn.so.9", m.nothing(f"{m.CUDNN}/libcudnn.so.9", How.RPATH), by=TORCH)
    snapshot = m.with_load(snapshot, resolutions=(gone,), roll_call=None)
    distributions = (Distribution(name="torch", version="2.6.0", requires=("nvidia-cudnn-cu12==9.1.0.70",)),)
    return replace(snapshot, cudnn=copies, pythons=(m.python(distributions=distributions),))


def off_path(*, beside_environment: bool) -> Snapshot:
    """A whole copy in a folder that the loader does not search."""
    copy = m.system_copy("9.10.2", NEW)
    copy = replace(copy, origin="folder", owner="")
    plain = Load(consumer=ANY, major=9, resolutions=(m.search("libcudnn.so.9", m.nothing("/usr/lib/libcudnn.so.9")),))
    if beside_environment:
        whole = m.wheel_machine()
        return replace(whole, cudnn=(*(whole.cudnn or ()), copy), loads=((whole.loads or ())[0], plain))
    return replace(m.system_machine(), cudnn=(copy,), loads=(plain,))


def broken_link() -> Snapshot:
    """The system's main library is a link to nothing; ldconfig left it out, so the loader never comes there."""
    snapshot = m.with_file(off_path(beside_environment=False), "", state="dangling")
    broken = (snapshot.cudnn or ())[0]
    torch = m.load(broken, replace(m.PYTHON, prefix="/home/ada/other"))
    gone = m.search("libcudnn.so.9", m.nothing("/usr/lib/libcudnn.so.9"), by=TORCH)
    torch = replace(torch, resolutions=(gone,), roll_call=RollCall(library="libcudnn.so.9", calls=(NO_MAIN,)))
    plain = replace((snapshot.loads or ())[0], roll_call=torch.roll_call)
    return replace(snapshot, loads=(torch, plain))


def two_copies(first: str, second: str, wanted: str | None = "9.10.2") -> Snapshot:
    """A torch that takes the system's cuDNN, of which there are two."""
    folders = {OLD: "9.1.0", NEW: "9.10.2"}
    copies = {f: m.system_copy(v, f) for f, v in folders.items()}
    made = m.load(copies[first], replace(m.PYTHON, prefix="/home/ada/other"), how=How.LD_CACHE)
    main = m.search("libcudnn.so.9", *(m.found(f"{f}/libcudnn.so.9", How.LD_CACHE) for f in (first, second) if f))
    made = replace(made, resolutions=(main, *made.resolutions[1:]), wanted_version=wanted, wanted_source="torch 2.8.0")
    return replace(m.wheel_machine(), cudnn=tuple(copies[f] for f in (first, second) if f), loads=(made,))


def parts_gone(*, whole: bool) -> Snapshot:
    """On Windows a program loads the main library by its full path, and its parts by name are not found."""
    snapshot = m.windows_machine()
    copy = (snapshot.cudnn or ())[0]
    made = (snapshot.loads or ())[0]
    first, *parts = made.resolutions
    gone = tuple(replace(p, attempts=(m.nothing("C:\\Windows\\System32\\" + p.name, How.SYSTEM),)) for p in parts)
    roll = m.answers(copy, "windows")
    calls = tuple(
        replace(x, result=126, meaning="ERROR_MOD_NOT_FOUND") if n > 1 else x for n, x in enumerate(roll.calls)
    )
    made = replace(made, resolutions=(first, *gone), roll_call=replace(roll, calls=calls))
    if not whole:
        copy = replace(copy, origin="framework", files=copy.files[:1], missing=tuple(f.name for f in copy.files[1:]))
    return replace(snapshot, cudnn=(copy,), loads=(made,))


def brackets(roll: bool = True) -> Snapshot:
    """The environment lies in a folder with brackets."""
    text = "/home/ada/[ml] 2026"
    raw = m.wheel_machine()
    copy = m.cudnn(m.CUDNN.replace(m.PREFIX, text), environment=text)
    consumer = replace(m.PYTHON, prefix=text, id=f"python:{text}")
    made = m.load(copy, consumer)
    if not roll:
        made = replace(made, roll_call=m.refused(copy, "ops", "not found"))
    return replace(raw, cudnn=(copy,), loads=(made,))


def cuda(*gone: str, **fields: object) -> Callable[[], Snapshot]:
    """Return a builder: the search for these CUDA libraries finds nothing."""

    def build() -> Snapshot:
        snapshot = m.wheel_machine()
        for name in gone:
            snapshot = m.with_search(snapshot, name, m.nothing(f"{m.CUBLAS}/{name}"))
        return replace(snapshot, **fields)

    return build


def asked_by_torch(build: Callable[[], Snapshot], *names: str) -> Callable[[], Snapshot]:
    """Return a builder in which torch's own library asks for these names, too, and does not find them."""

    def more() -> Snapshot:
        snapshot = build()
        first = (snapshot.loads or ())[0]
        wishes = tuple(m.search(n, m.nothing(f"{m.CUBLAS}/{n}", How.RPATH), by=TORCH) for n in names)
        return m.with_load(snapshot, resolutions=(*first.resolutions, *wishes))

    return more


UNPINNED = (m.python(distributions=(Distribution(name="torch", version="2.6.0"),)),)
CUBLAS11 = m.toolkit(m.CUBLAS, {"libcublas.so.11": "11.11.3.6", "libcublasLt.so.11": "11.11.3.6"}, version="11.8")
WHEELS = m.wheels()
LOCAL = m.toolkit(
    "/usr/local/cuda-12.4/lib64",
    {"libcublas.so.12": "12.4.5.8", "libcublasLt.so.12": "12.4.5.8"},
    root="/usr/local/cuda-12.4",
    origin="installer",
)
NVRTC_ONLY = m.toolkit(m.NVRTC, {"libnvrtc.so.12": "12.4.127"})
NVRTC_OTHER = m.toolkit(m.NVRTC, {"libnvrtc.so.12": "12.4.127", "libnvrtc-builtins.so.12.1": "12.1.105"})


def halves() -> Snapshot:
    """CuBLAS from the wheel, cuBLASLt of another release from LD_LIBRARY_PATH."""
    stray = m.toolkit("/opt/cuda/lib64", {"libcublasLt.so.12": "12.1.0.26"}, root="/opt/cuda", origin="folder")
    snapshot = replace(m.wheel_machine(), toolkits=(*WHEELS, stray))
    return m.with_search(
        snapshot, "libcublasLt.so.12", m.found("/opt/cuda/lib64/libcublasLt.so.12", How.LD_LIBRARY_PATH)
    )


def zlib(version: str | None, attempt: Attempt, *, fails: bool = True) -> Snapshot:
    """cuDNN 8 on Windows, with a search for zlibwapi.dll."""
    copy = m.cudnn(
        r"C:\tools\cuda\bin", version or "8.9.0", system="windows", origin="folder", environment="", owner=""
    )
    snapshot = m.windows_machine()
    made = m.load(copy, ANY, system="windows", how=How.PATH)
    resolutions = (*made.resolutions, m.search("zlibwapi.dll", attempt, by=copy.files[3].path))
    roll = m.answers(copy, "windows")
    if fails:
        calls = tuple(
            replace(c, result=126, meaning="ERROR_MOD_NOT_FOUND") if "cnn_infer" in c.library else c for c in roll.calls
        )
        roll = replace(
            roll, calls=calls, output="Could not locate zlibwapi.dll. Please make sure it is in your library path!"
        )
    if version is None:
        copy = replace(copy, version=None, files=tuple(replace(f, version=None) for f in copy.files))
        roll = replace(roll, version=None)
    return replace(snapshot, cudnn=(copy,), loads=(replace(made, resolutions=resolutions, roll_call=roll),))


NO_ZLIB = Attempt(path=r"C:\Windows\System32\zlibwapi.dll", how=How.SYSTEM, outcome="not there")
ZLIB32 = Attempt(path=r"C:\tools\zlibwapi.dll", how=How.PATH, outcome="wrong architecture", detail="built for x86")

TABLE: dict[str, tuple[Callable[[], Snapshot], str, Severity]] = {
    "a part is deleted": (lambda: m.without_file(m.wheel_machine(), "ops"), "cudnn_sublibrary_missing", ERROR),
    "a part is a link to nothing": (file("ops", state="dangling"), "cudnn_sublibrary_missing", ERROR),
    "the system's main library is a link to nothing": (broken_link, "cudnn_sublibrary_missing", ERROR),
    "a part is deleted, the system's is taken": (lambda: leaking("gone"), "cudnn_sublibrary_missing", ERROR),
    "a part is cut": (file("cnn", state="truncated"), "corrupt_or_truncated_file", ERROR),
    "a part is empty": (file("graph", state="empty", size=0, version=None), "corrupt_or_truncated_file", ERROR),
    "the main library is empty": (file("", state="empty", size=0, version=None), "corrupt_or_truncated_file", ERROR),
    "a web page in place of a part": (file("heuristic", state="not a library"), "corrupt_or_truncated_file", ERROR),
    "a checksum differs": (file("engines_precompiled", record="hash differs"), "corrupt_or_truncated_file", ERROR),
    "a cut part, the system's is taken": (lambda: leaking("truncated"), "corrupt_or_truncated_file", ERROR),
    "a part for another processor": (file("ops", architecture="aarch64"), "dll_wrong_architecture", ERROR),
    "a part of another release": (
        file("ops", version="9.10.2", record="size differs"),
        "mixed_cudnn_sublibraries",
        ERROR,
    ),
    "a part of another release, by its size alone": (
        file("cnn", record="size differs"),
        "mixed_cudnn_sublibraries",
        ERROR,
    ),
    "another main library": (file("", version="9.10.2", record="size differs"), "mixed_cudnn_sublibraries", ERROR),
    "a part may not be read": (file("ops", state="unreadable"), "library_unreadable", ERROR),
    "the main library may not be read": (unread, "library_unreadable", ERROR),
    "the faulty release beside a system copy": (lambda: faulty_release(beside=True), "mixed_cudnn_sublibraries", ERROR),
    "parts lie beside the main library, off the search path": (
        lambda: parts_gone(whole=True),
        "cudnn_not_on_search_path",
        ERROR,
    ),
    "a lone main library, and no parts anywhere": (lambda: parts_gone(whole=False), "cudnn_sublibrary_missing", ERROR),
    "LD_LIBRARY_PATH leads the parts elsewhere": (lambda: overridden("9.0.0"), "ld_library_path_override", ERROR),
    "LD_LIBRARY_PATH leads all elsewhere": (lambda: overridden("9.0.0", main=True), "ld_library_path_override", ERROR),
    "LD_LIBRARY_PATH, proved by the clean roll call": (
        lambda: overridden("9.1.0", answered=False),
        "ld_library_path_override",
        ERROR,
    ),
    "cuDNN is nowhere": (lambda: only(0), "cudnn_not_installed", ERROR),
    "only cuDNN 8 is there": (lambda: only(8), "cudnn_major_mismatch", ERROR),
    "a whole copy off the search path": (
        lambda: off_path(beside_environment=False),
        "cudnn_not_on_search_path",
        ERROR,
    ),
    "an older copy first": (lambda: two_copies(OLD, NEW), "cudnn_shadowed", ERROR),
    "the only copy is too old": (lambda: two_copies(OLD, ""), "cudnn_minor_too_old", ERROR),
    "brackets in the path": (brackets, "install_path_characters", WARNING),
    "brackets in the path, and parts are not found": (lambda: brackets(roll=False), "install_path_characters", ERROR),
    "cuDNN for CUDA 12 beside cuBLAS 11": (
        cuda("libcublas.so.12", "libcublasLt.so.12", toolkits=(CUBLAS11, WHEELS[1]), pythons=UNPINNED),
        "cudnn_cuda_major_mismatch",
        ERROR,
    ),
    "torch whose pins are for CUDA 12 beside cuBLAS 11": (
        cuda("libcublas.so.12", "libcublasLt.so.12", toolkits=(CUBLAS11, WHEELS[1])),
        "cuda_toolkit_version_mismatch",
        ERROR,
    ),
    "torch that asks for CUDA 12 beside cuBLAS 11": (
        asked_by_torch(cuda("libcublas.so.12", "libcublasLt.so.12", toolkits=(CUBLAS11, WHEELS[1])), "libcublas.so.12"),
        "cuda_toolkit_version_mismatch",
        ERROR,
    ),
    "no cuBLAS anywhere": (
        cuda("libcublas.so.12", "libcublasLt.so.12", toolkits=(WHEELS[1],), pythons=UNPINNED),
        "cuda_runtime_missing",
        WARNING,
    ),
    "no cuBLAS anywhere, and torch asks": (
        asked_by_torch(cuda("libcublas.so.12", "libcublasLt.so.12", toolkits=(WHEELS[1],)), "libcublas.so.12"),
        "cuda_runtime_missing",
        ERROR,
    ),
    "the toolkit is off the search path": (
        asked_by_torch(cuda("libcublas.so.12", "libcublasLt.so.12", toolkits=(LOCAL, WHEELS[1])), "libcublas.so.12"),
        "cuda_not_on_search_path",
        ERROR,
    ),
    "two halves of cuBLAS": (halves, "cuda_lib_shadowed", ERROR),
    "no NVRTC anywhere": (
        cuda("libnvrtc.so.12", toolkits=(WHEELS[0],), pythons=UNPINNED),
        "nvrtc_missing_or_mismatch",
        WARNING,
    ),
    "NVRTC without built-ins": (cuda(toolkits=(WHEELS[0], NVRTC_ONLY)), "nvrtc_missing_or_mismatch", ERROR),
    "NVRTC with other built-ins": (cuda(toolkits=(WHEELS[0], NVRTC_OTHER)), "nvrtc_missing_or_mismatch", ERROR),
    "WSL, and a cuDNN that opens libcuda.so by its bare name": (
        lambda: m.with_file(m.wsl_machine(), "ops", mentions=("libcuda.so",)),
        "wsl_libcuda_not_found",
        WARNING,
    ),
    "zlib is missing": (lambda: zlib("8.9.2", NO_ZLIB), "zlibwapi_missing", ERROR),
    "zlib is for 32 bits": (lambda: zlib("8.5.0", ZLIB32), "dll_wrong_architecture", ERROR),
    "zlib is missing, the version is not known": (lambda: zlib(None, NO_ZLIB), "zlibwapi_missing", UNKNOWN),
    "zlib is named, and is not the reason": (lambda: zlib("8.9.7", NO_ZLIB), "", ERROR),
    "the roll call fails, and the files look sound": (
        lambda: m.with_load(m.wheel_machine(), roll_call=m.refused(m.cudnn(), "ops", "no reason")),
        "",
        ERROR,
    ),
    "the roll call was not made": (lambda: m.with_load(m.wheel_machine(), roll_call=None), "", UNKNOWN),
}


def loud(snapshot: Snapshot) -> list[Finding]:
    """Return the findings above a note."""
    return [f for f in diagnose(snapshot) if f.severity > NOTE]


@pytest.mark.parametrize("name", TABLE)
def test_one_change_has_one_cause(name: str) -> None:
    build, cause, severity = TABLE[name]
    assert [(f.cause, f.severity) for f in loud(build())] == [(cause, severity)]


def test_nvrtc_without_built_ins_is_found_where_nothing_asks_for_it_by_name() -> None:
    snapshot = cuda(toolkits=(WHEELS[0], NVRTC_ONLY))()
    first = (snapshot.loads or ())[0]
    rest = tuple(r for r in first.resolutions if r.name != "libnvrtc.so.12")
    found = loud(m.with_load(snapshot, resolutions=rest))
    assert [(f.cause, f.severity) for f in found] == [("nvrtc_missing_or_mismatch", ERROR)]


@pytest.mark.parametrize("name", TABLE)
def test_the_cause_is_primary_and_says_whom_it_concerns(name: str) -> None:
    build, cause, severity = TABLE[name]
    finding = loud(build())[0]
    assert finding.primary == bool(cause and severity >= WARNING)
    assert any(e.label == CONCERNS_LABEL for e in finding.evidence)
    assert finding.why
    assert finding.fix is None or finding.fix.advice


BASE = "/opt/python/lib/python3.11/site-packages"


def of_the_base() -> Snapshot:
    """NVRTC in the packages of the Python that the environment stands on, which it sees."""
    nvrtc = m.toolkit(f"{BASE}/nvidia/cuda_nvrtc/lib", {"libnvrtc.so.12": "12.4.127", "libnvrtc-builtins.so.12.4": "12.4.127"}, root=f"{BASE}/nvidia")  # fmt: skip
    seeing = (replace(UNPINNED[0], site_packages=(m.SITE, BASE)),)
    return cuda("libnvrtc.so.12", toolkits=(WHEELS[0], nvrtc), pythons=seeing)()


CALM: dict[str, Callable[[], Snapshot]] = {
    "NVRTC is among the packages of the base": of_the_base,
    "an unused copy off the path beside a working environment": lambda: off_path(beside_environment=True),
    "the faulty release alone": lambda: faulty_release(beside=False),
    "the faulty release for CUDA 12": lambda: faulty_release(beside=False, owner="nvidia-cudnn-cu12 9.20.0.48"),
    "the faulty release inside a framework": lambda: faulty_release(
        beside=False, owner="torch 2.13.0+cu130", origin="framework"
    ),
    "the faulty release from an archive": lambda: faulty_release(beside=False, owner="", origin="folder"),
    "LD_LIBRARY_PATH names the same release": lambda: overridden("9.1.0"),
    "the right copy first": lambda: two_copies(NEW, OLD),
    "two copies, and nothing says which is wanted": lambda: two_copies(OLD, NEW, wanted=None),
    "NVRTC is in the environment, cuDNN's RUNPATH names another folder": cuda("libnvrtc.so.12"),
    "cuBLAS is in the environment, and the framework loads it": cuda("libcublas.so.12", "libcublasLt.so.12"),
    "a local toolkit of another version": lambda: replace(
        m.wheel_machine(), toolkits=(*WHEELS, replace(LOCAL, version="11.8", root="/usr/local/cuda-11.8"))
    ),
    "a plain program finds no cuDNN and none is meant for it": m.wheel_machine,
    "WSL, and a cuDNN that opens both names": lambda: m.with_file(
        m.wsl_machine(), "ops", mentions=("libcuda.so", "libcuda.so.1")
    ),
    "the same cuDNN on another Linux": lambda: m.with_file(m.wheel_machine(), "ops", mentions=("libcuda.so",)),
    "zlib inside": lambda: zlib("8.9.7", NO_ZLIB, fails=False),
}


@pytest.mark.parametrize("name", CALM)
def test_no_false_alarm(name: str) -> None:
    assert [(f.id, f.title) for f in loud(CALM[name]())] == []


def test_zlib_is_never_advised_where_it_is_inside() -> None:
    finding = loud(zlib("8.9.7", NO_ZLIB))[0]
    assert finding.fix is not None
    assert "zlib" not in finding.fix.advice.lower()


def test_same_fault_for_two_consumers_is_one_finding() -> None:
    snapshot = m.without_file(m.wheel_machine(), "ops")
    second = replace((snapshot.loads or ())[0], consumer=replace(m.PYTHON, framework="jax 0.5.0"))
    findings = loud(replace(snapshot, loads=(*(snapshot.loads or ()), second)))
    assert len(findings) == 1
    assert sum(e.label == CONCERNS_LABEL for e in findings[0].evidence) == 2


def test_lone_main_library_uses_the_parts_of_the_machine() -> None:
    """A program may ship cudnn64_9.dll alone; with the parts found in another folder all is well."""
    parts = m.cudnn(m.INSTALLER, "9.10.2", system="windows", origin="installer", environment="", owner="")
    main = r"C:\ml\Lib\site-packages\ctranslate2\cudnn64_9.dll"
    shim = replace(
        parts,
        folder=r"C:\ml\Lib\site-packages\ctranslate2",
        origin="framework",
        version=None,
        files=(LibraryFile(path=main, name="cudnn64_9.dll", architecture="x86_64"),),
        missing=tuple(f.name for f in parts.files[1:]),
    )
    whole = m.windows_machine()
    made = (whole.loads or ())[0]
    made = replace(made, resolutions=(m.search("cudnn64_9.dll", m.found(main, How.APPLICATION)), *made.resolutions[1:]))
    assert loud(replace(whole, cudnn=(shim, parts), loads=(made,))) == []


@pytest.mark.parametrize(
    ("callers", "idle", "others", "told"),
    [
        (("/home/ada/work/a.py",), (), False, True),
        ((), (), False, False),
        (("/home/ada/work/a.py",), ("ctranslate2",), False, False),
        (("/home/ada/work/a.py",), (), True, False),
    ],
    ids=["called", "nothing calls it", "no program uses its framework", "the parts are elsewhere"],
)
def test_a_lone_main_library_without_parts_on_the_machine(
    callers: tuple[str, ...], idle: tuple[str, ...], others: bool, told: bool
) -> None:
    whole = m.wheel_machine()
    parts = (whole.cudnn or ())[0]
    lone = replace(
        parts, folder=f"{m.SITE}/ctranslate2.libs", origin="framework", owner="ctranslate2 4.8.5", environment=m.PREFIX,
        files=parts.files[:1], missing=tuple(f.name for f in parts.files[1:]),
    )  # fmt: skip
    search = ImportSearch(prefix=m.PREFIX, python="3.11", on_cudnn=callers, idle=idle)
    seen = replace(whole, cudnn=(lone, parts) if others else (lone,), loads=(), imports=(search,))
    (one,) = lone_main_libraries(seen)
    assert (one.severity > Severity.NOTE, one.cause) == ((True, "cudnn_not_installed") if told else (False, ""))
    assert (isinstance(one.remedy, InstallPackages) and one.remedy.install == ("nvidia-cudnn-cu12==9.*",)) is told


def test_repair_names_the_exact_package_and_interpreter() -> None:
    finding = loud(m.without_file(m.wheel_machine(), "ops"))[0]
    assert finding.fix is not None
    assert finding.fix.advice == (
        f"{m.PREFIX}/bin/python -m pip install --force-reinstall --no-deps --no-cache-dir nvidia-cudnn-cu12==9.1.0.70"
    )


def test_missing_cudnn_is_installed_as_the_framework_pins_it() -> None:
    finding = loud(only(0))[0]
    assert finding.fix is not None
    assert finding.fix.advice == f"{m.PREFIX}/bin/python -m pip install nvidia-cudnn-cu12==9.1.0.70"


def test_misleading_message_is_called_misleading() -> None:
    damaged = m.with_file(zlib("8.9.7", NO_ZLIB), "cnn_infer", state="truncated")
    finding = loud(damaged)[0]
    assert finding.cause == "corrupt_or_truncated_file"
    assert any(e.label == "This message is misleading" for e in finding.evidence)


@pytest.mark.parametrize(
    ("entry", "marks", "says"),
    [
        (m.INSTALLER.rpartition("\\")[0], (), "PATH names a folder above it only"),
        (f'"{m.INSTALLER}"', ("quoted",), "PATH contains it in quotation marks or with an unexpanded variable"),
    ],
)
def test_entry_that_nearly_names_the_folder_is_shown(entry: str, marks: tuple[Mark, ...], says: str) -> None:
    whole = m.windows_machine()
    paths = (PathEntry(variable="PATH", index=0, text=entry, expanded=entry, marks=marks),)
    gone = Load(
        consumer=ANY, major=9, resolutions=(m.search("cudnn64_9.dll", m.nothing("C:\\Windows\\cudnn64_9.dll")),)
    )
    finding = next(
        f for f in diagnose(replace(whole, loads=(gone,), environment=Environment(entries=paths))) if f.primary
    )
    assert finding.cause == "cudnn_not_on_search_path"
    assert says in [e.label for e in finding.evidence]


@pytest.mark.parametrize(
    ("how", "cuda", "installed"),
    [(How.PATH, "12.4", True), (None, "12.4", True), (How.SYSTEM, "12.4", False), (How.PATH, None, False)],
)
def test_on_windows_a_wheel_with_cudnn_is_installed_where_the_program_then_finds_it_first(
    how: How | None, cuda: str | None, installed: bool
) -> None:
    """A copy in System32 stays the first; without the framework's CUDA nobody knows which wheel."""
    home, site = "C:\\ml", "C:\\ml\\Lib\\site-packages"
    ort = Consumer(id="python:C:\\ml", kind="python", label="ml", prefix=home, framework="onnxruntime-gpu 1.20.2")
    path = "C:\\stray\\cudnn64_9.dll"
    attempt = m.nothing(path) if how is None else replace(m.found(path), how=how)
    part = m.search("cudnn_ops64_9.dll", m.nothing("C:\\stray\\cudnn_ops64_9.dll"))
    load = Load(consumer=ort, major=9, resolutions=(m.search("cudnn64_9.dll", attempt), part))
    build = FrameworkBuild(prefix=home, distribution="onnxruntime-gpu", version="1.20.2", cuda=cuda)
    its = m.python(prefix=home, executable="C:\\ml\\Scripts\\python.exe", site_packages=(site,), distributions=())
    seen = replace(m.windows_machine(), cudnn=(), loads=(load,), pythons=(its,), frameworks=Frameworks(builds=(build,)))
    (c,) = consumer_loads(seen)
    (told,) = [*parts_missing(c)] or [*not_found(c)]
    wish = InstallPackages(prefix=home, install=("nvidia-cudnn-cu12==9.*",), search=(f"{site}\\nvidia\\cudnn\\bin",))
    assert told.remedy == (wish if installed else None)


def test_what_others_can_change_is_told_once_it_was_loaded() -> None:
    seen = m.wheel_machine()
    (load, *others) = seen.loads or ()
    at = Changeable(path="/srv", writers=("staff",))
    for call, told in ((load.roll_call, 1), (None, 0)):
        loads = (replace(load, changeable=at, roll_call=call), *others)
        c = next(c for c in consumer_loads(replace(seen, loads=loads)) if c.load.changeable)
        assert len([*changeable_copy(c)]) == told


@pytest.mark.parametrize(("name", "told"), [("libcudnn.so.9", 1), ("libcublas.so.12", 0)])
def test_an_unusable_file_of_cudnns_is_told_here_and_a_toolkits_by_its_own_rule(name: str, told: int) -> None:
    seen = m.wheel_machine()
    files = [f for c in seen.cudnn or () for f in (*c.files, *c.links)] + [
        f for t in seen.toolkits or () for f in t.libraries
    ]
    path = next(f.path for f in files if f.path.endswith(f"/{name}"))
    stopped = Resolution(name=name, attempts=(Attempt(path=path, how=How.RUNPATH, outcome="unreadable", stops=True),))
    loads = tuple(replace(load, resolutions=(stopped,)) for load in (seen.loads or ())[:1])
    (c,) = consumer_loads(replace(seen, loads=loads))
    assert stopped.winner is not None
    assert len([*search_stopped(c)]) == told


@pytest.mark.parametrize(("elevated", "words"), [(True, "administrator rights"), (False, "You did not name it")])
def test_why_a_copy_was_not_tried(elevated: bool, words: str) -> None:
    seen = m.wheel_machine()
    seen = replace(seen, machine=replace(seen.machine, elevated=elevated))
    (load, *_others) = seen.loads or ()
    refused = replace(load, changeable=Changeable(path="/srv", writers=("staff",)), refused=True)
    (c,) = consumer_loads(replace(seen, loads=(refused,)))
    (found,) = untrusted_copy(c)
    assert words in found.why


@pytest.mark.parametrize(
    ("file", "lacks", "severity"),
    [
        ("libcublas.so.12", False, Severity.NOTE),
        ("libcublas.so.12", True, Severity.ERROR),
        ("elsewhere/libcublas.so.12", False, Severity.ERROR),
    ],
)
def test_a_folder_that_a_framework_finds_by_its_own_means(file: str, lacks: bool, severity: Severity):
    seen = off_path(beside_environment=False)
    (copy,) = seen.cudnn or ()
    consumer = Consumer(id="python:/ml", kind="python", label="ml", prefix="/ml", framework="ctranslate2 4.8.5")
    edges = (Edge(name="libx.so", wanted_by="y", state="absent"),) * lacks
    seen = replace(seen, closures=(Closure(consumer=consumer, files=(f"{copy.folder}/{file}",), edges=edges),))
    told = [f.severity for f in diagnose(seen) if f.id == "cudnn.not-on-search-path"]
    assert told == [severity]


@pytest.mark.parametrize(
    ("timed_out", "other", "severity"), [(True, "", UNKNOWN), (False, "", ERROR), (True, "file too short", ERROR)]
)
def test_a_child_that_was_stopped_for_want_of_time_proves_nothing(timed_out: bool, other: str, severity: Severity):
    late = "did not end within 60 seconds and was stopped"
    calls = [Call(function="dlopen", library="libcudnn_cnn.so.9", meaning=f"The process {late}.")]
    calls += [Call(function="dlopen", library="libcudnn_adv.so.9", meaning=other)] if other else []
    whole = m.wheel_machine()
    roll = (whole.loads or ())[0].roll_call
    assert roll is not None
    seen = m.with_load(
        whole, roll_call=replace(roll, calls=tuple(calls), ended=f"libcudnn_cnn.so.9: {late}", timed_out=timed_out)
    )
    assert [f.severity for f in diagnose(seen) if f.id == "cudnn.roll-call-failed"] == [severity]
