"""The driver probe end to end: stand-in drivers really loaded by child processes, and a machine without any."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from core.model.facts import CudaInit, Driver, DriverLibrary, DriverPart, Gpu, Nvml
from core.probes.driver import probe
from core.probes.driver.probe import DriverAnswers, mark_stubs, merge_gpus
from core.probes.driver.protocol import DriverEvent
from tests.host.fake import said
from tests.probes.driver_standin import CUDA, NVML, built, install
from tests.probes.request import request

ROOT = Path("/")


def look(env: dict[str, str], **host: object) -> Driver:
    found = probe.look(request(ROOT, env, **host))
    assert msgspec.json.decode(msgspec.json.encode(found), type=Driver) == found
    return found


def test_a_working_driver_is_described_with_the_files_that_were_mapped(tmp_path: Path):
    folder = install(tmp_path / "driver")
    seen = look({"LD_LIBRARY_PATH": str(folder)})
    assert seen.cuda == CudaInit(
        status=0,
        status_name="CUDA_ERROR_NAMED",
        driver_cuda="13.0",
        device_count=1,
        library=str(folder / "libcuda.so.580.65.06"),
    )
    assert seen.nvml == Nvml(
        status=0,
        status_name="NVML_SUCCESS",
        driver_version="580.65.06",
        driver_cuda="13.0",
        device_count=1,
        library=str(folder / "libnvidia-ml.so.580.65.06"),
    )
    assert seen.gpus == (
        Gpu(
            index=0,
            name="Stand-in GPU",
            compute_capability="8.6",
            uuid="GPU-1",
            memory_total=8,
            memory_free=7,
            mig=True,
        ),
    )
    assert seen.cuda_unhidden is None
    mine = {lib.path: lib for lib in seen.libraries or () if lib.source == "LD_LIBRARY_PATH"}
    assert mine[str(folder / "libcuda.so.1")].version == "580.65.06"
    assert mine[str(folder / "libcuda.so.1")].stub is None  # small, but nothing says that it is one


def test_ten_gpus_and_one_that_is_lost(tmp_path: Path):
    seen = look({"LD_LIBRARY_PATH": str(install(tmp_path / "d")), "STANDIN_GPUS": "10"})
    assert [g.index for g in seen.gpus or ()] == list(range(10))
    assert [g.name for g in seen.gpus or ()] == ["Stand-in GPU"] * 7 + [""] + ["Stand-in GPU"] * 2
    assert seen.cuda is not None
    assert seen.cuda.device_count == 10


def test_names_that_are_no_text_do_not_hurt(tmp_path: Path):
    seen = look({"LD_LIBRARY_PATH": str(install(tmp_path / "d")), "STANDIN_GARBAGE": "1"})
    assert seen.nvml is not None
    assert seen.nvml.status == 0
    assert len(seen.gpus or ()) == 1


@pytest.mark.parametrize(("status", "name"), [(999, "CUDA_ERROR_UNKNOWN"), (803, "CUDA_ERROR_NAMED")])
def test_nvml_answers_and_cuinit_fails(tmp_path: Path, status, name):
    seen = look({"LD_LIBRARY_PATH": str(install(tmp_path / "d")), "STANDIN_CUDA": str(status)})
    assert seen.cuda is not None
    assert (seen.cuda.status, seen.cuda.status_name, seen.cuda.problem) == (status, name, "")
    assert seen.cuda.device_count is None
    assert seen.gpus is not None
    assert seen.gpus[0].source == "NVML"


def test_a_library_of_another_version_than_the_module(tmp_path: Path):
    seen = look({"LD_LIBRARY_PATH": str(install(tmp_path / "d")), "STANDIN_NVML": "18"})
    assert seen.nvml is not None
    assert (seen.nvml.status, seen.nvml.status_name) == (18, "NVML_ERROR_LIB_RM_VERSION_MISMATCH")
    assert seen.gpus is not None
    assert seen.gpus[0].source == "CUDA driver"
    assert seen.gpus[0].uuid == "GPU-abababab-abab-abab-abab-ababababab00"
    assert seen.gpus[0].compute_capability == "8.6"
    assert seen.gpus[0].memory_total == 8 << 30


@pytest.mark.parametrize("value", ["", "-1"])
def test_hidden_gpus_are_seen_by_the_same_call_without_the_variable(tmp_path: Path, value):
    seen = look({"LD_LIBRARY_PATH": str(install(tmp_path / "d")), "CUDA_VISIBLE_DEVICES": value})
    assert seen.cuda is not None
    assert seen.cuda.status == 100
    assert seen.cuda_unhidden is not None
    assert (seen.cuda_unhidden.status, seen.cuda_unhidden.device_count) == (0, 1)


def test_a_containers_variable_is_no_reason_to_ask_twice(tmp_path: Path):
    seen = look({"LD_LIBRARY_PATH": str(install(tmp_path / "d")), "NVIDIA_VISIBLE_DEVICES": "void"})
    assert seen.cuda_unhidden is None


def test_a_stub_in_front_of_the_driver(tmp_path: Path):
    stubs = tmp_path / "other"
    stubs.mkdir()
    shutil.copy(built(CUDA, "-DNAMELESS"), stubs / "libcuda.so.1")
    seen = look({"LD_LIBRARY_PATH": str(stubs), "STANDIN_CUDA": "34"})
    assert seen.cuda is not None
    assert (seen.cuda.status, seen.cuda.status_name) == (34, "CUDA_ERROR_STUB_LIBRARY")
    assert seen.cuda.library == str(stubs / "libcuda.so.1")
    assert [lib.stub for lib in seen.libraries or () if lib.path == seen.cuda.library] == [True]
    assert seen.cuda_clean is not None
    assert seen.cuda_clean.library != seen.cuda.library


def test_the_clean_call_is_made_when_a_file_of_the_variable_answered(tmp_path: Path):
    seen = look({"LD_LIBRARY_PATH": str(install(tmp_path / "d"))})
    assert seen.cuda_clean is not None


def test_no_clean_call_without_the_variable():
    assert look({}).cuda_clean is None


def test_an_empty_library_is_told_in_the_loaders_words(tmp_path: Path):
    (tmp_path / "libcuda.so.1").touch()
    seen = look({"LD_LIBRARY_PATH": str(tmp_path)})
    assert seen.cuda is not None
    assert seen.cuda.status is None
    assert "file too short" in seen.cuda.problem
    assert [lib.problem for lib in seen.libraries or () if lib.path == str(tmp_path / "libcuda.so.1")] == [
        "is empty (0 bytes)"
    ]


def test_a_library_that_is_no_driver(tmp_path: Path):
    shutil.copy(built(NVML), tmp_path / "libcuda.so.1")
    seen = look({"LD_LIBRARY_PATH": str(tmp_path)})
    assert seen.cuda is not None
    assert seen.cuda.library == str(tmp_path / "libcuda.so.1")
    assert "no function cuInit" in seen.cuda.problem


def test_a_crash_leaves_behind_which_file_it_was(tmp_path: Path):
    folder = install(tmp_path / "d")
    seen = look({"LD_LIBRARY_PATH": str(folder), "STANDIN_CRASH": "1"})
    assert seen.cuda is not None
    assert seen.nvml is not None
    assert seen.cuda.library == str(folder / "libcuda.so.580.65.06")
    assert seen.nvml.library == str(folder / "libnvidia-ml.so.580.65.06")
    assert seen.cuda.status is None
    assert "SIGABRT" in seen.cuda.problem
    assert "SIGABRT" in seen.nvml.problem
    assert seen.gpus is None


def test_a_hang_ends_at_the_time_out(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(probe, "CUDA_TIMEOUT_SECONDS", 2.0)
    folder = install(tmp_path / "d")
    seen = look({"LD_LIBRARY_PATH": str(folder), "STANDIN_HANG": "1"})
    assert seen.cuda is not None
    assert seen.cuda.problem == "The process that called cuInit gave no answer in time."
    assert seen.cuda.library == str(folder / "libcuda.so.580.65.06")
    assert seen.nvml is not None
    assert seen.nvml.status == 0


# --- what libcuda opens later ----------------------------------------------------------------------------


def test_the_compiler_for_ptx_is_loaded_as_libcuda_would(tmp_path: Path):
    folder = install(tmp_path / "d")
    assert look({"LD_LIBRARY_PATH": str(folder)}).parts == (
        DriverPart(
            name="libnvidia-ptxjitcompiler.so.1",
            library=str(folder / "libnvidia-ptxjitcompiler.so.580.65.06"),
            version="580.65.06",
        ),
    )


@pytest.mark.parametrize("status", [221, 0])
def test_a_compiler_that_is_gone_is_put_to_the_proof(tmp_path: Path, status: int):
    folder = install(tmp_path / "d")
    for file in folder.glob("libnvidia-ptx*"):
        file.unlink()
    [part] = look({"LD_LIBRARY_PATH": str(folder), "STANDIN_PTX": str(status)}).parts or ()
    assert part.status == status
    assert "cannot open shared object file" in part.problem


def test_a_compiler_beside_libcuda_serves_it(tmp_path: Path):
    folder, search = install(tmp_path / "d"), tmp_path / "search"
    search.mkdir()
    (search / "libcuda.so.1").symlink_to(folder / "libcuda.so.580.65.06")
    [part] = look({"LD_LIBRARY_PATH": str(search)}).parts or ()
    assert (part.problem, part.version) == ("", "580.65.06")


@pytest.mark.parametrize(("name", "asked"), [("570.10.01", True), ("1.1", False)])
def test_a_compiler_of_another_driver_is_put_to_the_proof_and_one_without_a_version_is_not(
    tmp_path: Path, name: str, asked: bool
):
    folder = install(tmp_path / "d")
    (folder / "libnvidia-ptxjitcompiler.so.1").unlink()
    (folder / "libnvidia-ptxjitcompiler.so.580.65.06").rename(folder / f"libnvidia-ptxjitcompiler.so.{name}")
    (folder / "libnvidia-ptxjitcompiler.so.1").symlink_to(f"libnvidia-ptxjitcompiler.so.{name}")
    [part] = look({"LD_LIBRARY_PATH": str(folder), "STANDIN_PTX": "218"}).parts or ()
    assert (part.problem, part.status) == ("", 218 if asked else None)


def test_a_damaged_compiler_is_told_in_the_loaders_words(tmp_path: Path):
    folder = install(tmp_path / "d")
    (folder / "libnvidia-ptxjitcompiler.so.580.65.06").write_bytes(b"")
    seen = look({"LD_LIBRARY_PATH": str(folder), "STANDIN_PTX": "221"})
    [part] = seen.parts or ()
    assert "file too short" in part.problem
    assert [lib.problem for lib in seen.libraries or () if lib.path == str(folder / part.name)] == [
        "is empty (0 bytes)"
    ]


def test_a_compiler_that_kills_the_process_leaves_cuinits_answer(tmp_path: Path):
    seen = look({"LD_LIBRARY_PATH": str(install(tmp_path / "d")), "STANDIN_PART_CRASH": "1"})
    assert seen.cuda is not None
    assert (seen.cuda.status, seen.cuda.device_count, seen.cuda.problem) == (0, 1, "")
    [part] = seen.parts or ()
    assert "SIGABRT" in part.problem
    assert part.kills


def test_the_drivers_cache_does_not_stand_in_for_its_compiler(tmp_path: Path):
    folder = install(tmp_path / "d")
    for file in folder.glob("libnvidia-ptx*"):
        file.unlink()
    [part] = look({"LD_LIBRARY_PATH": str(folder), "STANDIN_CACHED": "1"}).parts or ()
    assert part.status == 221


# --- two worlds ------------------------------------------------------------------------------------------


def test_the_variable_that_keeps_cuda_from_starting_is_found_by_halving(tmp_path: Path, monkeypatch):
    calls = []

    def ask(_request, env, **_):
        calls.append(env)
        bad = "A" in env and "Z" in env
        return DriverAnswers(cuda=CudaInit(status=999 if bad else 0, device_count=None if bad else 1, library="/l"))

    monkeypatch.setattr(probe, "_cuda", ask)
    given = request(ROOT, {"A": "1", "B": "1", "Y": "1", "Z": "1", "PATH": "/bin"})
    failed = DriverAnswers(cuda=CudaInit(status=999, library="/l"))
    bare, blamed = probe.bisect_variables(given, (failed,), float("inf"))
    assert bare is not None
    assert (bare.status, blamed) == (0, ("A",))
    assert all("PATH" in env for env in calls)
    monkeypatch.setattr(probe, "_cuda", lambda *_, **__: failed)
    assert probe.bisect_variables(given, (failed,), float("inf")) == (failed.cuda, ())
    assert probe.bisect_variables(given, (failed,), 0.0) == (None, ())
    assert probe.bisect_variables(given, (DriverAnswers(cuda=WORKS),), float("inf")) == (None, ())


# --- without a child -------------------------------------------------------------------------------------

WORKS = CudaInit(status=0, device_count=1)
CARD = Gpu(index=0, name="card", uuid="GPU-1")


@pytest.mark.parametrize(
    ("nvml", "shown", "cuda", "expected"),
    [
        (Nvml(status=0), WORKS, WORKS, "NVML"),
        (Nvml(status=9), WORKS, WORKS, "shown"),
        (Nvml(status=9), CudaInit(status=100), WORKS, "cuda"),
        (Nvml(), CudaInit(status=100), CudaInit(status=100), None),
        (None, CudaInit(), CudaInit(), None),
    ],
)
def test_whose_gpus_are_believed(nvml, shown, cuda, expected):
    found = merge_gpus(
        DriverAnswers(nvml=nvml, gpus=(Gpu(index=0, name="NVML"),)),
        DriverAnswers(cuda=shown, gpus=(Gpu(index=0, name="shown"),)),
        DriverAnswers(cuda=cuda, gpus=(Gpu(index=0, name="cuda"),)),
    )
    assert (found[0].name if found else None) == expected


def test_a_compute_capability_that_nvml_does_not_know_comes_from_cuda():
    known = Gpu(index=0, name="card", uuid="GPU-1", compute_capability="9.0")
    found = merge_gpus(DriverAnswers(nvml=Nvml(status=0), gpus=(CARD,)), DriverAnswers(gpus=(known,)), DriverAnswers())
    assert found is not None
    assert found[0].compute_capability == "9.0"


def test_only_the_library_that_answered_34_is_called_a_stub():
    found = (DriverLibrary(path="/a", real_path="/b"), DriverLibrary(path="/c"))
    told = mark_stubs(found, CudaInit(status=34, library="/b"))
    assert told is not None
    assert [lib.stub for lib in told] == [True, None]
    assert mark_stubs(found, CudaInit(status=0, library="/b")) == found


def test_a_recorded_windows_driver(tmp_path: Path):
    children = {
        "core.probes.driver.nvidia_calls:ask_nvml": said(
            DriverEvent(nvml=Nvml(status=0, driver_version="581.15", library=r"C:\Windows\System32\nvml.dll")),
            DriverEvent(gpu=CARD, driver_model="WDDM"),
        ),
        "core.probes.driver.nvidia_calls:ask_cuda": said(DriverEvent(cuda=WORKS)),
    }
    system = tmp_path / "C:" / "Windows" / "System32"
    system.mkdir(parents=True)
    (system / "nvcuda.dll").write_bytes(b"MZ")
    env = {"SystemRoot": r"C:\Windows", "APPDATA": r"C:\Users\ada\AppData\Roaming"}
    seen = probe.look(request(tmp_path, env, system="windows", children=children))
    assert seen.windows_driver_model == "WDDM"
    assert seen.gpus == (CARD,)
    assert [lib.path for lib in seen.libraries or ()] == [r"C:\Windows\System32\nvcuda.dll"]
    assert seen.compute_cache is not None
    assert seen.compute_cache.path == r"C:\Users\ada\AppData\Roaming\NVIDIA\ComputeCache"
    assert (seen.modules, seen.nodes, seen.kernel_log, seen.resumed, seen.cuda_clean) == (None,) * 5
