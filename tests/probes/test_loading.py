"""Who loads which cuDNN: real searches and real roll calls of stand-in sets, each in a child of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from msgspec.structs import replace as changed

from core.common.progress import Progress
from core.host.this_host import this_host
from core.model.facts import CudnnCopy, Distribution, Load, PythonEnvironment, Resolution, RollCall, Snapshot
from core.model.steps import Severity
from core.probes.cudnn import probe as cudnn
from core.probes.loading import probe
from core.probes.loading.roll_call.parent import run_roll_call
from core.probes.loading.roll_call.protocol import RollCallRequest
from core.probes.probe import ProbeRequest
from core.rules.root_cause import diagnose
from tests import standin

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="loads Linux libraries; test_loading_windows has the rest"
)

PART = "libcudnn_{}.so.9"


class Scene:
    """A folder that stands for one Python environment, beside others, on the running machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.site = folder / "venv" / "lib" / "python3.11" / "site-packages"
        self.site.mkdir(parents=True)
        self.cudnn = self.site / "nvidia" / "cudnn" / "lib"
        self.distributions: list[Distribution] = []

    def wheel(self, version: str = "9.1.0.70", cuda: int = 12, **options: object) -> Path:
        return standin.install_cudnn(self.site, version, cuda, **options)

    def torch(self, *, rpath: bool = True, requires: str = "nvidia-cudnn-cu12==9.1.0.70", major: int = 9) -> Path:
        """A stand-in of torch: its library needs libcudnn and finds it through an RPATH, as PyTorch's wheels do."""
        flag = "--disable-new-dtags" if rpath else "--enable-new-dtags"
        asker = self.site / "torch" / "lib" / "libtorch_cuda.so"
        main = standin.file_name("", major)
        stub = standin.build_library(self.folder / "stub" / main)
        standin.build_library(asker, needed=(stub,), flags=(f"-Wl,{flag},-rpath,$ORIGIN/../../nvidia/cudnn/lib",))
        self.distributions.append(
            Distribution(name="torch", version="2.4.1", location=str(self.site), requires=(requires,))
        )
        return asker

    @property
    def python(self) -> PythonEnvironment:
        prefix = str(self.folder / "venv")
        return PythonEnvironment(
            prefix=prefix, kind="venv", site_packages=(str(self.site),), distributions=tuple(self.distributions)
        )

    def look(self, **env: str) -> tuple[Load, ...]:
        return probe.look(self.request(**env))

    def request(self, **env: str) -> ProbeRequest:
        host = this_host()
        seen = Snapshot(machine=host.machine(), pythons=(self.python,))
        clean = {n: v for n, v in os.environ.items() if not n.startswith("LD_")}
        asked = ProbeRequest(host=host, seen=seen, env={**clean, **env}, watch=Progress())
        copies = tuple(c for c in cudnn.look(asked) if c.folder.startswith(str(self.folder)))
        return replace(asked, seen=changed(seen, cudnn=copies))

    def load(self, **env: str) -> Load:
        return next(x for x in self.look(**env) if x.consumer.kind != "plain")


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def rolled(load: Load) -> RollCall:
    assert load.roll_call is not None
    return load.roll_call


def failures(roll: RollCall) -> dict[str, str]:
    return {
        Path(c.library).name if c.function == "dlopen" else c.function: c.meaning
        for c in roll.calls
        if (not c.result if c.function.startswith("cudnnGet") else c.result != 0)
    }


def resolution(load: Load, name: str) -> Resolution:
    return next(r for r in load.resolutions if r.name == name)


@pytest.mark.parametrize("version", ["8.9.7.29", "9.1.0.70", "9.28.0.42"])
def test_a_healthy_wheel_answers_in_full(scene: Scene, version: str) -> None:
    folder = scene.wheel(version, zlib=True)
    load = scene.load()
    roll = rolled(load)
    major = int(version[0])
    assert (load.consumer.kind, load.consumer.framework, load.major) == ("python", "", major)
    assert (roll.version, roll.ended, failures(roll)) == (version.rsplit(".", 1)[0], "", {})
    opened = {Path(c.library).name for c in roll.calls if c.function == "dlopen"}
    mentioned = [r for r in standin.parts(version) if r != "ext" or version.startswith("9.28")]
    assert opened == {standin.file_name(r, major) for r in ("", *mentioned)}
    assert {m.path for m in roll.mapped} == {str(p) for p in folder.iterdir()}
    assert {m.origin for m in roll.mapped} == {"this environment's wheel"}
    assert load.clean_roll_call is None


def test_a_framework_loads_through_its_own_path(scene: Scene) -> None:
    scene.wheel()
    asker = scene.torch()
    load = scene.load()
    assert (load.consumer.framework, load.wanted_version) == ("torch 2.4.1", "9.1.0")
    assert load.wanted_source == "torch 2.4.1 requires nvidia-cudnn-cu12==9.1.0.70"
    main = load.resolutions[0]
    assert (main.name, main.wanted_by) == ("libcudnn.so.9", str(asker))
    assert main.winner is not None
    assert (main.winner.how, os.path.normpath(main.winner.path)) == ("RPATH", str(scene.cudnn / "libcudnn.so.9"))
    assert failures(rolled(load)) == {}


def test_every_wanted_name_is_resolved(scene: Scene) -> None:
    scene.wheel(zlib=True)
    names = {r.name for r in scene.load().resolutions}
    assert {PART.format(r) for r in standin.parts("9.1.0")} <= names
    assert {"libcublasLt.so.12", "libnvrtc.so.12", "libcuda.so.1", "libz.so.1"} <= names
    assert not any("%" in n or n == "libcudnn_graph.so" for n in names)


def test_a_missing_part_of_cudnn_8(scene: Scene) -> None:
    (scene.wheel("8.9.7.29") / "libcudnn_cnn_infer.so.8").unlink()
    roll = rolled(scene.load())
    assert roll.version == "8.9.7"
    assert roll.ended.startswith("cudnnCnnInferVersionCheck: was killed by SIGABRT")
    assert "Could not load library libcudnn_cnn_infer.so.8" in roll.output
    bad = failures(roll)
    assert set(bad) == {
        "cudnnCnnInferVersionCheck",
        "cudnnCnnTrainVersionCheck",
        "libcudnn_cnn_infer.so.8",
        "libcudnn_cnn_train.so.8",
    }
    assert bad["cudnnCnnTrainVersionCheck"].startswith("Not tried")
    assert bad["libcudnn_cnn_train.so.8"].startswith("libcudnn_cnn_infer.so.8: cannot open")


def test_a_missing_graph_ends_everything_but_the_rest_is_still_asked(scene: Scene) -> None:
    (scene.wheel() / "libcudnn_graph.so.9").unlink()
    load = scene.load()
    roll = rolled(load)
    assert roll.version is None
    assert roll.ended.startswith("cudnnGetVersion: was killed by SIGABRT")
    assert "libcudnn_graph.so.9: cannot open" in failures(roll)["libcudnn_ops.so.9"]
    assert resolution(load, "libcudnn_graph.so.9").winner is None


def test_a_missing_part_of_a_late_cudnn_9_is_a_status(scene: Scene) -> None:
    (scene.wheel("9.28.0.42") / "libcudnn_cnn.so.9").unlink()
    roll = rolled(scene.load())
    assert roll.ended == ""
    status = next(c for c in roll.calls if c.function == "cudnnCnnVersionCheck")
    assert (status.result, status.meaning) == (3009, "CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE")
    assert set(failures(roll)) == {"cudnnCnnVersionCheck", "libcudnn_cnn.so.9"}


def test_an_engine_that_nothing_calls_is_missed_all_the_same(scene: Scene) -> None:
    (scene.wheel() / "libcudnn_engines_precompiled.so.9").unlink()
    assert set(failures(rolled(scene.load()))) == {"libcudnn_engines_precompiled.so.9"}


def test_a_part_of_another_release(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = scene.wheel()
    other = standin.build_cudnn(tmp_path_factory.mktemp("other"), "9.2.0")
    (folder / "libcudnn_cnn.so.9").write_bytes((other / "libcudnn_cnn.so.9").read_bytes())
    status = next(c for c in rolled(scene.load()).calls if c.function == "cudnnCnnVersionCheck")
    assert (status.result, status.meaning) == (1002, "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH")


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def overwritten(path: Path) -> None:
    with path.open("r+b") as stream:
        stream.write(bytes(4096))


def shortened(path: Path) -> None:
    """Leave the headers and little else: what is mapped then lies behind the file's end, which is SIGBUS."""
    os.truncate(path, 4096)


@pytest.mark.parametrize(
    ("plant", "words"),
    [(emptied, "file too short"), (overwritten, "invalid ELF header"), (shortened, "was killed by SIGBUS")],
)
def test_a_broken_part(scene: Scene, plant: Callable[[Path], None], words: str) -> None:
    folder = scene.wheel()
    plant(folder / "libcudnn_adv.so.9")
    load = scene.load()
    bad = failures(rolled(load))
    assert set(bad) == {"cudnnAdvVersionCheck", "libcudnn_adv.so.9"}
    assert words in bad["libcudnn_adv.so.9"]
    winner = resolution(load, "libcudnn_adv.so.9").winner
    assert winner is not None
    assert winner.outcome == "damaged"


def test_a_broken_main_library(scene: Scene) -> None:
    (scene.wheel() / "libcudnn.so.9").write_bytes(b"")
    roll = rolled(scene.load())
    assert (roll.loaded, roll.version, roll.ended) == ("", None, "")
    assert [(c.function, c.result) for c in roll.calls] == [("dlopen", None)]
    assert "file too short" in roll.calls[0].meaning


@pytest.mark.parametrize("name", ["libcudnn.so.9", "libcudnn_ops.so.9"])
def test_a_pipe_is_not_waited_for(scene: Scene, name: str) -> None:
    pipe = scene.wheel() / name
    pipe.unlink()
    os.mkfifo(pipe)
    roll = rolled(scene.load())
    assert roll.calls == ()
    assert f"{name} is no file" in roll.ended


def test_a_folder_of_mixed_files_on_ld_library_path(scene: Scene, tmp_path: Path) -> None:
    """The main library comes from the wheel by its RPATH, the parts from LD_LIBRARY_PATH: and without it all is well."""
    scene.wheel()
    scene.torch()
    mixed = standin.build_cudnn(tmp_path / "mixed", "9.1.0")
    other = standin.build_cudnn(tmp_path / "other", "9.2.0")
    (mixed / "libcudnn_cnn.so.9").write_bytes((other / "libcudnn_cnn.so.9").read_bytes())
    load = scene.load(LD_LIBRARY_PATH=str(mixed))
    roll = rolled(load)
    assert {m.name: m.origin for m in roll.mapped}["libcudnn.so.9"] == "this environment's wheel"
    assert {m.name: m.origin for m in roll.mapped}["libcudnn_graph.so.9"] == "LD_LIBRARY_PATH"
    assert "cudnnCnnVersionCheck" in failures(roll)
    winner = resolution(load, "libcudnn_cnn.so.9").winner
    assert winner is not None
    assert (winner.how, winner.path) == ("LD_LIBRARY_PATH", str(mixed / "libcudnn_cnn.so.9"))
    assert load.clean_roll_call is not None
    assert failures(load.clean_roll_call) == {}
    assert {m.origin for m in load.clean_roll_call.mapped} == {"this environment's wheel"}


def test_the_same_roll_call_is_made_once_for_all_ways_of_starting(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def run(roll: RollCallRequest, *rest: Any) -> RollCall:
        made.append(roll.main)
        return run_roll_call(roll, *rest)

    monkeypatch.setattr("core.probes.loading.consumer_load.run_roll_call", run)
    scene.wheel()
    scene.torch()
    mixed = standin.build_cudnn(tmp_path / "mixed", "9.1.0")
    (tmp_path / "empty").mkdir()
    asked = scene.request()
    loads = probe.look(asked)
    its = replace(asked, seen=changed(asked.seen, loads=loads))
    assert len(made) == 1
    (other,) = (x for x in probe.look_again(with_path(its, mixed)) if x.consumer.kind != "plain")
    assert other.clean_roll_call == loads[0].roll_call
    assert len(made) == 2 + sum(x.consumer.kind == "plain" for x in probe.look(with_path(its, mixed)))
    count = len(made)
    assert probe.look_again(with_path(its, mixed, tmp_path / "empty"))
    assert len(made) == count


@pytest.mark.parametrize("lost", ["", "ops"], ids=["whole", "a part is lost"])
def test_two_frameworks_with_the_same_cudnn_share_a_roll_call_that_went_well(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    made: list[str] = []

    def run(roll: RollCallRequest, *rest: Any) -> RollCall:
        made.append(roll.main)
        return run_roll_call(roll, *rest)

    monkeypatch.setattr("core.probes.loading.consumer_load.run_roll_call", run)
    scene.wheel()
    scene.torch()
    stub = scene.folder / "stub" / standin.file_name("", 9)
    standin.build_library(
        scene.site / "tensorflow" / "libtensorflow_cc.so.2",
        needed=(stub,),
        flags=("-Wl,--disable-new-dtags,-rpath,$ORIGIN/../nvidia/cudnn/lib",),
    )
    scene.distributions.append(Distribution(name="tensorflow", version="2.17.0", location=str(scene.site)))
    if lost:
        (scene.cudnn / PART.format(lost)).unlink()
    together = [rolled(load) for load in scene.look() if load.consumer.kind != "plain"]
    count = len(made)
    monkeypatch.setattr("core.probes.loading.consumer_load.same_files", lambda roll, _where: roll)
    apart = [rolled(load) for load in scene.look() if load.consumer.kind != "plain"]
    assert len({roll.library for roll in together}) == 2
    assert together == apart, "each is told in the words of its own consumer"
    assert count == (2 if lost else 1)


def with_path(asked: ProbeRequest, *folders: Path) -> ProbeRequest:
    """Return the request of another way of starting, of the same scan."""
    return replace(asked, env={**asked.env, "LD_LIBRARY_PATH": ":".join(map(str, folders))})


def test_ld_library_path_that_changes_nothing_is_not_tried_again(scene: Scene, tmp_path: Path) -> None:
    scene.wheel()
    (tmp_path / "empty").mkdir()
    assert scene.load(LD_LIBRARY_PATH=str(tmp_path / "empty")).clean_roll_call is None


def test_a_part_of_another_copy_is_taken_under_a_shorter_name(scene: Scene, tmp_path: Path) -> None:
    """nvidia-cudnn-cu13 9.20.0.48 beside another cuDNN 9 that the loader searches."""
    scene.wheel("9.20.0.48", 13, wants=("engines_tensor_ir",))
    system = standin.build_cudnn(tmp_path / "system", "9.21.0")
    load = scene.load(LD_LIBRARY_PATH=str(system))
    found = resolution(load, "libcudnn_engines_tensor_ir.so.9")
    assert found.winner is not None
    assert found.winner.path == str(system / "libcudnn_engines_tensor_ir.so.9")


def test_a_cudnn_of_a_newer_major_is_listed_and_not_judged(scene: Scene) -> None:
    """Its main library loads; whether the parts do that it opens later, nobody here knows."""
    for name in ("libcudnn.so.10", "libcudnn_graph.so.10"):
        standin.build_library(scene.cudnn / name)
    scene.torch(major=10, requires="nvidia-cudnn-cu14==10.0.0.1")
    asked = scene.request()
    assert [(c.major, len(c.files)) for c in asked.seen.cudnn or ()] == [(10, 2)]
    loads = probe.look(asked)
    assert [load.major for load in loads if load.consumer.kind != "plain"] == [10]
    found = diagnose(changed(asked.seen, loads=loads))
    told = [f for f in found if f.id == "cudnn.newer-than-known"]
    assert [f.severity for f in told] == [Severity.UNKNOWN]
    assert [f.id for f in found if f.step == "cudnn" and f.severity in (Severity.GOOD, Severity.ERROR)] == []


def test_a_plain_program_and_a_copy_off_its_path(scene: Scene, tmp_path: Path) -> None:
    folder = standin.build_cudnn(tmp_path / "cudnn", "7.6.5")
    beside = CudnnCopy(folder=str(folder), origin="installer", major=7)
    asked = scene.request()
    asked = replace(asked, seen=changed(asked.seen, cudnn=(beside,)))
    (load,) = probe.look(asked)
    assert (load.consumer.id, load.resolutions[0].name, load.resolutions[0].winner) == ("plain", "libcudnn.so.7", None)
    assert "cannot open shared object file" in rolled(load).calls[0].meaning
    (load,) = probe.look(replace(asked, env={**asked.env, "LD_LIBRARY_PATH": str(folder)}))
    assert (rolled(load).version, rolled(load).loaded) == ("7.6.5", str(folder / "libcudnn.so.7"))
    assert {m.origin for m in rolled(load).mapped} == {"LD_LIBRARY_PATH"}


def test_a_framework_whose_cudnn_is_nowhere(scene: Scene) -> None:
    scene.torch(major=7, requires="nvidia-cudnn-cu10==7.6.5")
    load = scene.load()
    assert (load.major, load.resolutions[0].winner, load.roll_call) == (7, None, None)


def test_two_frameworks_that_want_two_majors(scene: Scene) -> None:
    scene.wheel("9.1.0.70")
    standin.build_cudnn(scene.cudnn, "8.9.7")
    scene.torch()
    standin.build_library(scene.site / "ctranslate2.libs" / "libctranslate2-1e22bce9.so.4.4.0")
    scene.distributions.append(Distribution(name="ctranslate2", version="4.4.0", location=str(scene.site)))
    loads = scene.look()
    assert [(x.consumer.framework, x.major) for x in loads] == [("torch 2.4.1", 9), ("ctranslate2 4.4.0", 8)]
    assert len({x.consumer.id for x in loads}) == 1


def test_nothing_is_run_for_another_system(tmp_path: Path) -> None:
    from tests.probes.request import request

    standin.install_cudnn(tmp_path / "venv" / "site", "9.1.0.70")
    python = PythonEnvironment(prefix="/venv", kind="venv", site_packages=("/venv/site",))
    asked = request(tmp_path, pythons=(python,))
    asked = replace(asked, seen=changed(asked.seen, cudnn=cudnn.look(asked)))
    (load,) = probe.look(asked)
    assert load.roll_call is None
    assert resolution(load, "libcudnn_graph.so.9").winner is not None


def test_who_owns_a_mapped_file(tmp_path: Path) -> None:
    from core.probes.loading.origin import file_origin
    from core.probes.sysroot import Sysroot

    (tmp_path / "search").mkdir()
    linux, windows = Sysroot("linux"), Sysroot("windows")
    env = {
        "LD_LIBRARY_PATH": f":{tmp_path}/search:/usr/lib/x86_64-linux-gnu",
        "Path": "C:\\cudnn;C:\\Windows\\System32",
    }
    found = [
        file_origin("/venv/lib/python3.11/site-packages/nvidia/cudnn/lib/libcudnn.so.9", "/venv", env, linux),
        file_origin("/venv/lib/python3.11/site-packages/torch/lib/libcudnn.so.9", "/venv", env, linux),
        file_origin("/venv2/lib/python3.11/site-packages/nvidia/cudnn/lib/libcudnn.so.9", "/venv", env, linux),
        file_origin(f"{tmp_path}/search/libcudnn.so.9", "/venv", env, linux),
        file_origin("/usr/local/cuda-12.4/lib64/libcudnn.so.9", "", env, linux),
        file_origin("/lib/x86_64-linux-gnu/libcuda.so.1", "", {}, linux),
        file_origin("/data/libcudnn.so.9", "", env, linux),
        file_origin("C:\\Windows\\System32\\nvcuda.dll", "", env, windows),
        file_origin("c:\\CUDNN\\cudnn64_9.dll", "", env, windows),
        file_origin(
            "C:\\ml\\venv\\Lib\\site-packages\\nvidia\\cudnn\\bin\\cudnn64_9.dll", "c:\\ML\\venv", env, windows
        ),
    ]
    assert found == [
        "this environment's wheel",
        "this environment",
        "another environment",
        "LD_LIBRARY_PATH",
        "installer",
        "system",
        "another folder",
        "system",
        "PATH",
        "this environment's wheel",
    ]
