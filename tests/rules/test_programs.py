"""Rules about programs that were named, as a table: what is found for them, which finding it gives, and who is named."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from core.model.facts import (
    Attempt,
    Changeable,
    ExaminedProgram,
    Execution,
    How,
    LibraryFile,
    Resolution,
    Snapshot,
    Toolkit,
)
from core.model.findings import Finding
from core.model.remedies import AddFolder
from core.model.steps import Severity
from core.rules import programs
from core.rules.not_run import _not_run_finding
from tests.machines import found, nothing, search, wheel_machine, windows_machine

PATH = "/opt/app/bin/serve"
UNFIT = Attempt(path="/opt/app/lib/libcudart.so.11.0", how=How.RUNPATH, outcome="wrong architecture")


def seen(**fields: Any) -> Snapshot:
    known: dict[str, Any] = {"named": "serve", "path": PATH}
    return replace(wheel_machine(), programs=(ExaminedProgram(**(known | fields)),))


def told(**fields: Any) -> list[Finding]:
    return [f for rule in programs.RULES for f in rule(seen(**fields))]


def gone(name: str) -> Resolution:
    return search(name, nothing(f"/usr/lib/{name}"), by=PATH)


def there(name: str) -> Resolution:
    return search(name, found(f"/opt/app/lib/{name}"), by=PATH)


@pytest.mark.parametrize(
    ("container", "cure"),
    [("docker", "Pass the whole driver into the container"), ("", "Install the driver's libraries again")],
)
def test_a_program_that_is_linked_against_the_drivers_library_for_video(container: str, cure: str) -> None:
    machine = seen(resolutions=(gone("libnvcuvid.so.1"),), linked=("libnvcuvid.so.1",))
    machine = replace(machine, machine=replace(machine.machine, container=container))
    (one,) = programs.missing_libraries(machine)
    assert one.cause == "driver_component_missing"
    assert one.fix
    assert one.fix.title == cure


@pytest.mark.parametrize(
    ("resolutions", "linked", "ids"),
    [
        ((), (), ["cudnn.program-without-cuda"]),
        ((there("libcudart.so.12"),), ("libcudart.so.12",), ["cudnn.program-whole"]),
        ((gone("libcudart.so.12"),), ("libcudart.so.12",), ["cudnn.program-library-missing"]),
        ((gone("libcudart.so.12"),), (), ["cudnn.program-library-not-found"]),
        ((gone("libcuda.so.1"),), ("libcuda.so.1",), ["cudnn.program-without-cuda"]),
        ((gone("libnvcuvid.so.1"),), ("libnvcuvid.so.1",), ["cudnn.program-library-missing"]),
        ((gone("libnvidia-encode.so.1"),), (), ["cudnn.program-without-cuda"]),
        ((there("libcuda.so.1"), gone("libcudart.so.12")), (), ["cudnn.program-library-not-found"]),
        ((gone("libcudart.so.12"), there("libcudart.so.11.0")), (), ["cudnn.program-whole"]),
        ((gone("libcudart.so.12"), gone("libcudart.so.11.0")), (), ["cudnn.program-library-not-found"]),
        ((gone("libcudart.so.12"), there("libcublas.so.12")), (), ["cudnn.program-library-not-found"]),
        ((gone("libcudart.so.12"), search("libcudart.so.11.0", UNFIT)), (), ["cudnn.program-library-unfit"]),
        ((gone("libcudnn_ops.so.9"), there("libcudnn_cnn.so.9")), (), ["cudnn.program-library-not-found"]),
        ((gone("libcudart.so.12"), there("libstrange.so")), (), ["cudnn.program-library-not-found"]),
    ],
)  # fmt: skip
def test_what_is_found_for_a_program(
    resolutions: tuple[Resolution, ...], linked: tuple[str, ...], ids: list[str]
) -> None:
    assert [f.id for f in told(resolutions=resolutions, linked=linked)] == ids


def test_what_is_missing_for_certain_is_an_error_and_what_may_be_is_a_warning() -> None:
    lacks = (gone("libcudart.so.12"),)
    (certain,) = told(resolutions=lacks, linked=("libcudart.so.12",))
    (possible,) = told(resolutions=lacks)
    assert (certain.severity, possible.severity) == (Severity.ERROR, Severity.WARNING)
    assert certain.title == "The program serve does not find a library that it needs: libcudart.so.12."
    assert certain.why == "It cannot start without it."
    assert possible.title == "The program serve opens libcudart.so.12 by name, and does not find it."
    assert possible.why == "It starts, but fails or uses the processor as soon as it needs the library."


def test_a_program_that_could_not_be_examined_is_named_with_the_reason() -> None:
    first = told(named="serve", path="", problem="there is no such program")[0]
    assert (first.id, first.subject, first.severity) == ("cudnn.not-examined", "serve", Severity.UNKNOWN)


@pytest.mark.parametrize(
    ("named", "path", "shown"), [("run", PATH, "serve"), ("run", "", "run"), ("4711", PATH, "serve")]
)
def test_a_program_is_called_by_the_file_that_runs(named: str, path: str, shown: str) -> None:
    (whole,) = told(named=named, path=path, resolutions=(there("libcudart.so.12"),))
    assert whole.title == f"The program {shown} finds every library that it names."


def test_what_lies_in_the_programs_own_folders_is_put_on_path_on_windows() -> None:
    windows = replace(wheel_machine().machine, system="windows")
    name, near = "cufft64_11.dll", r"C:\app\_internal\nvidia\cufft\bin\cufft64_11.dll"
    its = ExaminedProgram(
        named="app", path=r"C:\app\app.exe", linked=(name,), resolutions=(gone(name),), nearby=(near,)
    )
    [lost] = programs.missing_libraries(replace(wheel_machine(), machine=windows, programs=(its,)))
    assert (lost.cause, lost.remedy) == (
        "cuda_not_on_search_path",
        AddFolder(folder=r"C:\app\_internal\nvidia\cufft\bin"),
    )
    [lost] = programs.missing_libraries(replace(wheel_machine(), machine=windows, programs=(replace(its, nearby=()),)))
    assert (lost.cause, lost.remedy) == ("cuda_runtime_missing", None)


@pytest.mark.parametrize(("by", "starts"), [(PATH, False), ("/opt/app/_internal/plugin.so", True)])
def test_a_program_starts_without_what_only_its_plugin_is_linked_against(by: str, starts: bool) -> None:
    name = "libcufft.so.11"
    [lost] = told(resolutions=(search(name, nothing(f"/usr/lib/{name}"), by=by),), linked=(name,))
    assert ("It starts" in lost.why) is starts


def test_a_damaged_file_makes_no_folder_one_to_search() -> None:
    library = LibraryFile(path="/opt/cuda/lib/libodd.so.1", name="libodd.so.1")
    for state, folder in (("good", "/opt/cuda/lib"), ("damaged", "")):
        toolkit = Toolkit(root="/opt/cuda", origin="system", libraries=(replace(library, state=state),))
        machine = replace(seen(), toolkits=(toolkit,))
        assert programs._folder_with("libodd.so.1", machine, ExaminedProgram(named="serve", path=PATH)) == folder


def test_folders_are_added_on_windows_where_nothing_else_is_lacking() -> None:
    places = {"a.dll": "C:\\a", "b.dll": "C:\\b"}
    windows = windows_machine()
    for machine, names, remedy in (
        (windows, ["a.dll", "b.dll"], AddFolder(folder="C:\\a", more=("C:\\b",))),
        (windows, ["a.dll", "c.dll"], None),
        (windows, [], None),
        (wheel_machine(), ["a.dll"], None),
    ):
        assert programs._folders_remedy(places if names else {}, names, machine) == remedy


def test_what_others_can_change_is_named() -> None:
    one = Execution(what="nvcc", path="/srv/bin/nvcc", changeable=Changeable(path="/srv", writers=("staff",)))
    for run, place in ((one, "/srv"), (replace(one, changeable=None), "/srv/bin/nvcc")):
        assert _not_run_finding(run).title.endswith(f"other users can change {place}.")


def test_the_program_or_the_library_that_wants_a_file_is_named() -> None:
    for by, name in (("", PATH), ("/opt/app/lib/libx.so", "/opt/app/lib/libx.so")):
        (found,) = told(resolutions=(search("libodd.so.1", nothing("/usr/lib/libodd.so.1"), by=by),), linked=())
        assert any(e.label == f"Wanted by {name}" for e in found.evidence)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("cublas64_12.dll", "cufft64_11.dll"), "That is CUDA 12:"),
        (("cudart64_110.dll",), "That is CUDA 11:"),
        (("cufft64_11.dll",), ""),
        (("cublas64_12.dll", "cublas64_13.dll"), ""),
    ],
)
def test_the_cuda_of_what_is_lacking_is_told_where_the_names_say_it(names: tuple[str, ...], said: str) -> None:
    (lost,) = told(resolutions=tuple(map(gone, names)), linked=names)
    assert lost.fix
    assert ("That is CUDA" in lost.fix.advice) is bool(said)
    assert said in lost.fix.advice


@pytest.mark.parametrize(
    ("alone", "says", "cure"),
    [
        (True, "has lost its folder", "Move the whole folder, or start the program in its own"),
        (False, "has lost a part of itself", "Install the program again"),
    ],
)
def test_a_packed_program_without_its_folder_or_a_part_of_it_is_not_called_whole(
    alone: bool, says: str, cure: str
) -> None:
    [lost] = told(lost="/opt/app/bin/_internal/libpython3.11.so.1.0", alone=alone)
    assert (lost.id, lost.cause) == ("cudnn.program-without-its-folder", "corrupt_or_truncated_file")
    assert f"{says}: /opt/app/bin/_internal/libpython3.11.so.1.0" in lost.title
    assert lost.fix
    assert lost.fix.title == cure


def test_a_damaged_file_that_came_with_the_program_is_replaced_with_all_of_it() -> None:
    name = "libcublasLt.so.12"
    own = Attempt(path=f"/opt/app/bin/{name}", how=How.RUNPATH, outcome="damaged", detail="is empty", stops=True)
    pointer = replace(own, detail="is a short text", pointer=True)
    for first, command in ((own, ""), (pointer, "git -C /opt/app/bin lfs pull")):
        (unfit,) = programs.unfit_libraries(seen(resolutions=(search(name, first, by=PATH),)))
        assert unfit.fix
        assert unfit.fix.title == "Install the program again"
        assert (command in unfit.fix.advice.splitlines()) is bool(command)


@pytest.mark.parametrize("folder", ["/opt/app/bin", "/srv/odd"])
def test_a_damaged_file_before_a_whole_one_is_named_with_what_is_found_without_it(folder: str) -> None:
    name = "libcublasLt.so.12"
    first = Attempt(path=f"{folder}/{name}", how=How.RUNPATH, outcome="damaged", stops=True)
    whole = Attempt(path=f"/usr/lib/{name}", how=How.LD_CACHE, outcome="found")
    (unfit,) = programs.unfit_libraries(seen(resolutions=(search(name, first, whole, by=PATH),)))
    assert unfit.fix
    assert f"owns {folder}/{name}, or move the file away.\nThen /usr/lib/{name} is found." in unfit.fix.advice
