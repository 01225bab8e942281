"""Toolkit rules as a table: variables that name no toolkit, libraries that are not what they should be."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from core.model.facts import (
    Distribution,
    Environment,
    FrameworkBuild,
    Frameworks,
    Gpu,
    LibraryFile,
    PathEntry,
    Snapshot,
    Toolkit,
)
from core.model.remedies import PointTo
from core.model.steps import Severity
from core.rules import toolkit
from core.rules.root_cause import diagnose
from tests import machines as m

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE


def cuda_path(value: str, *marks: str, name: str = "CUDA_PATH") -> Callable[[], Snapshot]:
    """Return a builder: a variable names something, on a machine with a toolkit in /usr/local."""
    return lambda: m.with_variable(m.system_machine(), name, value, *marks)


def library(name: str, **fields: object) -> Callable[[], Snapshot]:
    """Return a builder: one library of the environment's CUDA wheels is otherwise."""

    def build() -> Snapshot:
        changed = tuple(
            replace(t, libraries=tuple(replace(f, **fields) if f.name == name else f for f in t.libraries))
            for t in m.wheels()
        )
        return replace(m.wheel_machine(), toolkits=changed)

    return build


def shut_out() -> Snapshot:
    """NVRTC of the environment may not be read; to the loader that is as if there were none."""
    closed = library("libnvrtc.so.12", state="unreadable")()
    shut = replace(m.nothing(f"{m.SITE}/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"), outcome="unreadable")
    return m.with_search(closed, "libnvrtc.so.12", shut)


TABLE: dict[str, tuple[Callable[[], Snapshot], str, Severity]] = {
    "CUDA_PATH dangles": (cuda_path("/usr/local/cuda-11.8", "missing"), "cuda_path_env_wrong", WARNING),
    "CUDA_PATH is empty": (cuda_path(""), "cuda_path_env_wrong", WARNING),
    "CUDA_HOME is a dot": (cuda_path(".", "relative", name="CUDA_HOME"), "cuda_path_env_wrong", WARNING),
    "CUDA_PATH is a file": (cuda_path("/etc/passwd", "not a folder"), "cuda_path_env_wrong", WARNING),
    "CUDA_PATH names a folder without CUDA": (cuda_path("/usr/local/share"), "cuda_path_env_wrong", WARNING),
    "CUDA_PATH holds another variable": (cuda_path("$BASE/cuda", "unexpanded"), "cuda_path_env_wrong", WARNING),
    "a library that is loaded is damaged": (
        library("libcublasLt.so.12", state="truncated"),
        "corrupt_or_truncated_file",
        ERROR,
    ),
    "a library that is loaded has another checksum": (
        library("libcublas.so.12", record="hash differs"),
        "corrupt_or_truncated_file",
        ERROR,
    ),
    "a library that nothing loads is damaged": (
        library("libnvrtc-builtins.so.12.4", record="hash differs"),
        "corrupt_or_truncated_file",
        WARNING,
    ),
    "a library may not be read, so that the loader finds none": (shut_out, "library_unreadable", ERROR),
    "a library that may not be read": (library("libnvrtc.so.12", state="unreadable"), "library_unreadable", ERROR),
    "a link gives a library the name of another release": (
        library("libcublas.so.12", soname="libcublas.so.11", real_path="/opt/cuda-11.8/lib64/libcublas.so.11"),
        "cuda_toolkit_version_mismatch",
        ERROR,
    ),
    "a copy of a library that nothing loads bears another release's name": (
        library("libnvrtc-builtins.so.12.4", soname="libnvrtc-builtins.so.11.8"),
        "cuda_toolkit_version_mismatch",
        WARNING,
    ),
    "a library for another processor": (
        library("libcublas.so.12", architecture="aarch64"),
        "dll_wrong_architecture",
        ERROR,
    ),
}


@pytest.mark.parametrize(
    "fields",
    [
        {"soname": "libcublas.so.12", "real_path": "/usr/local/cuda-12.4/lib64/libcublas.so.12.4.5.8"},
        {"soname": "libcublas.so.12", "real_path": "/store/3f9a-cublas/libcublas.so"},
        {"soname": "", "real_path": ""},
    ],
)
def test_a_link_to_the_same_release_is_in_order(fields: dict[str, str]) -> None:
    seen = library("libcublas.so.12", **fields)()
    assert [f.id for rule in toolkit.RULES for f in rule(seen) if f.severity > NOTE] == []


@pytest.mark.parametrize("name", TABLE)
def test_one_change_has_one_cause(name: str) -> None:
    build, cause, severity = TABLE[name]
    found = [(f.cause, f.severity) for rule in toolkit.RULES for f in rule(build()) if f.severity > NOTE]
    assert found == [(cause, severity)]


CALM: dict[str, Callable[[], Snapshot]] = {
    "CUDA_PATH names the toolkit": cuda_path("/usr/local/cuda-12.4"),
    "CUDA_PATH names a folder above the libraries": cuda_path("/usr/local/cuda-12.4/"),
    "CUDA_PATH cannot be looked at": cuda_path("/root/cuda", "unreadable"),
    "toolkits were not looked for": lambda: replace(cuda_path("/opt/cuda")(), toolkits=None),
    "a whole toolkit for another processor": lambda: replace(
        m.wheel_machine(),
        toolkits=(
            *m.wheels(),
            replace(
                m.toolkit("/usr/local/cuda-12.4/targets/sbsa-linux/lib", {"libcudart.so.12": "12.4.127"}),
                libraries=tuple(
                    replace(f, architecture="aarch64")
                    for f in m.toolkit("/x", {"libcudart.so.12": "12.4.127"}).libraries
                ),
            ),
        ),
    ),
}


@pytest.mark.parametrize("name", CALM)
def test_no_false_alarm(name: str) -> None:
    assert [f.title for f in diagnose(CALM[name]()) if f.severity > NOTE] == []


def test_cure_names_a_toolkit_that_is_there() -> None:
    finding = next(f for f in diagnose(cuda_path("/usr/local/cuda-11.8", "missing")()) if f.primary)
    assert finding.fix is not None
    assert finding.fix.advice == "export CUDA_PATH=/usr/local/cuda-12.4"


@pytest.mark.parametrize(
    ("packages", "severity"),
    [
        (("torch",), NOTE),
        (("torch", "setuptools"), WARNING),  # builds extensions
        (("torch", "setuptools", "triton"), NOTE),  # triton requires it
        (("torch", "numba"), WARNING),
    ],
)
def test_a_variable_that_nothing_reads_is_a_note(packages: tuple[str, ...], severity: Severity) -> None:
    seen = m.with_variable(m.wheel_machine(), "CUDA_HOME", "/usr/local/cuda-11.0", "missing")
    wishes = {"triton": ("setuptools>=40",)}
    its = tuple(Distribution(name=n, version="1.0", requires=wishes.get(n, ())) for n in packages)
    build = FrameworkBuild(prefix=m.PREFIX, distribution="torch", version="2.8.0")
    seen = replace(seen, pythons=(m.python(distributions=its),), frameworks=Frameworks(builds=(build,)))
    found = next(f for f in toolkit.misleading_variables(seen) if f.subject == "CUDA_HOME")
    assert found.severity is severity


def test_two_variables_that_disagree_are_a_note() -> None:
    found = list(
        toolkit.disagreeing_variables(m.with_variable(cuda_path("/usr/local/cuda-12.4")(), "CUDA_HOME", "/opt/cuda"))
    )
    assert [f.severity for f in found] == [NOTE]


@pytest.mark.parametrize("others", [(), (Gpu(index=1, name="NVIDIA H100", compute_capability="9.0"),)])
def test_compiler_without_code_for_the_gpu_is_a_note(others: tuple[Gpu, ...]) -> None:
    gpu = Gpu(index=0, name="NVIDIA B200", compute_capability="10.0")
    snapshot = m.system_machine()
    tools = tuple(replace(t, nvcc="/usr/local/cuda-12.4/bin/nvcc") for t in snapshot.toolkits or ())
    snapshot = m.with_copy(m.with_driver(replace(snapshot, toolkits=tools), gpus=(*others, gpu)), sass=(90, 100))
    found = [f for f in diagnose(snapshot) if f.cause == "compiler_lacks_gpu_arch"]
    assert [f.severity for f in found] == [NOTE]


@pytest.mark.parametrize(
    ("order", "named_by", "severity"),
    [
        (("/whole", "/damaged"), ("PATH",), NOTE),
        (("/damaged", "/whole"), ("PATH",), WARNING),
        (("/whole",), ("PATH",), WARNING),
        (("/whole", "/damaged"), ("PATH", "CUDA_PATH"), WARNING),
        (("/whole", "/damaged"), (), WARNING),
        (("/other", "/damaged"), ("PATH",), WARNING),
    ],
)
def test_a_damaged_library_behind_a_whole_one_that_everybody_finds_first(
    order: tuple[str, ...], named_by: tuple[str, ...], severity: Severity
):
    def at(folder: str, state: str, named: tuple[str, ...]) -> Toolkit:
        file = LibraryFile(name="libcublasLt.so.12", path=f"{folder}/libcublasLt.so.12", state=state)
        return Toolkit(root=folder, folder=folder, origin="folder", libraries=(file,), named_by=named)

    toolkits = (
        at("/whole", "good", ("PATH",)),
        at("/damaged", "empty", named_by),
        at("/other", "truncated", ("PATH", "CUDA_PATH")),
    )
    entries = tuple(PathEntry(variable="PATH", index=i, text=f, expanded=f) for i, f in enumerate(order))
    seen = replace(m.wheel_machine(), toolkits=toolkits, environment=Environment(entries=entries), loads=())
    told = [f.severity for f in toolkit.damaged_toolkit_libraries(seen) if f.subject == "/damaged"]
    assert told == [severity]


def with_toolkits(*versions: str) -> Snapshot:
    """Return a machine whose CUDA_HOME names nothing, with these toolkits, and a PyTorch for CUDA 12.8 with what builds extensions."""
    seen = m.with_variable(m.wheel_machine(), "CUDA_HOME", "/usr/local/cuda-11.0", "missing")
    its = tuple(Distribution(name=n, version="1.0") for n in ("torch", "setuptools"))
    build = FrameworkBuild(prefix=m.PREFIX, distribution="torch", version="2.8.0", cuda="12.8")
    there = tuple(
        Toolkit(root=f"/usr/local/cuda-{v}", origin="installer", version=v, nvcc=f"/usr/local/cuda-{v}/bin/nvcc")
        for v in versions
    )
    return replace(seen, pythons=(m.python(distributions=its),), frameworks=Frameworks(builds=(build,)), toolkits=there)


@pytest.mark.parametrize(("part", "told"), [("bin", True), ("lib64", True), ("extras", False)])
def test_a_part_of_a_toolkit_is_not_the_toolkit(part: str, told: bool) -> None:
    root = "/usr/local/cuda-12.8"
    one = Toolkit(root=root, origin="folder", version="12.8", nvcc=f"{root}/bin/nvcc", named_by=("CUDA_HOME",))
    seen = replace(m.with_variable(m.wheel_machine(), "CUDA_HOME", f"{root}/{part}"), toolkits=(one,))
    found = [f for f in toolkit.misleading_variables(seen) if f.subject == "CUDA_HOME"]
    assert [f.title for f in found] == [
        f"The variable CUDA_HOME points to {root}/{part}, which is a part of the toolkit {root}."
    ] * told
    assert all(isinstance(f.remedy, PointTo) and f.remedy.folder == root for f in found)


@pytest.mark.parametrize(
    ("there", "named"),
    [(("12.4", "13.0"), "/usr/local/cuda-12.4"), (("12.4", "12.8", "12.9"), "/usr/local/cuda-12.8"), (("12.4", "12.9"), "/usr/local/cuda-12.9")],
)  # fmt: skip
def test_the_toolkit_is_one_whose_compiler_fits_what_is_built(there: tuple[str, ...], named: str) -> None:
    found = next(f for f in toolkit.misleading_variables(with_toolkits(*there)) if f.subject == "CUDA_HOME")
    assert isinstance(found.remedy, PointTo)
    assert found.remedy.folder == named
    assert found.fix is not None
    assert found.fix.advice == f"export CUDA_HOME={named}"


def test_where_no_toolkit_fits_none_is_taken_and_the_one_to_install_is_named() -> None:
    found = next(f for f in toolkit.misleading_variables(with_toolkits("13.0")) if f.subject == "CUDA_HOME")
    assert found.remedy is None
    assert found.fix is not None
    assert "CUDA 12.8" in found.fix.title
