"""Framework trials in real interpreters: stand-ins that pass, raise, crash, hang and print what no terminal takes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.common.progress import Progress
from core.host.this_host import this_host
from core.model.facts import (
    Distribution,
    Driver,
    FrameworkTrial,
    Gpu,
    PackageTrial,
    PythonEnvironment,
    Snapshot,
    Unexamined,
)
from core.probes.probe import ProbeRequest
from core.probes.python import probe
from core.probes.python.trials import probe as framework_run
from core.probes.python.trials import run as trial_run
from core.probes.python.trials.probe import choose_trials, with_packages
from core.probes.python.trials.run import Trial, cudnn_version
from core.probes.sysroot import Sysroot, sysroot_of
from tests.curelab.greedy import JAX, NUMPY

BASE = getattr(sys, "_base_executable", sys.executable)

TENSOR = """
class Tensor:
    def __init__(self, value): self.value, self.grad = value, None
    def to(self, *a, **k): return self
    def requires_grad_(self): return self
    def sum(self): return self
    def abs(self): return self
    def max(self): return 0
    def __sub__(self, other): return self
    def detach(self): return self
    def backward(self): pass
"""
STANDIN = (
    TENSOR
    + """
import sys
__version__ = "2.8.0+cu128"
float32 = float64 = None
class version: cuda = "12.8"
class cuda:
    device_count = staticmethod(lambda: {devices})
    is_available = staticmethod(lambda: {devices} > 0)
    get_device_name = staticmethod(lambda n: "Test GPU")
class _C:
    class _cudnn: getCompileVersion = staticmethod(lambda: (9, 10, 2))
class backends:
    class cudnn: version = staticmethod(lambda: 91002)
def manual_seed(n): pass
def randn(*shape): return Tensor(0)
class nn:
    class functional:
        @staticmethod
        def conv2d(a, b):
            a.grad = b.grad = Tensor(0)
            return Tensor(0)
"""
)


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("base") / "env"
    subprocess.run([BASE, "-m", "venv", "--without-pip", made], check=True)
    return made


@pytest.fixture(autouse=True)
def every_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in is imported in no time, and so is what a share of that would be."""
    monkeypatch.setattr(trial_run, "PACKAGE_SHARE", 1000.0)


@pytest.fixture
def environment(base: Path) -> Path:
    """An environment with nothing in it but the mark of a real torch."""
    site = next((base / "lib").glob("python3.*/site-packages"))
    package = site / "torch"
    package.mkdir(exist_ok=True)
    (package / "_C.so").write_bytes(b"")
    info = site / "torch-2.8.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text("Name: torch\nVersion: 2.8.0\n")
    return base


def asked(prefix: Path, env: dict[str, str] | None = None, *, named: bool = True, gpu: bool = False) -> ProbeRequest:
    host = this_host()
    driver = Driver(gpus=(Gpu(index=0, name="Test GPU"),)) if gpu else Driver(gpus=())
    variables = {"PATH": "/usr/bin:/bin", "HOME": str(prefix), **(env or {})}
    pythons = (str(prefix),) if named else ()
    request = ProbeRequest(
        host=host, seen=Snapshot(machine=host.machine()), env=variables, watch=Progress(), pythons=pythons
    )  # fmt: skip
    seen = Snapshot(machine=host.machine(), driver=driver, pythons=probe.look(request))
    return ProbeRequest(host=host, seen=seen, env=variables, watch=Progress(), pythons=pythons)


def tried(prefix: Path, code: str, **env: str) -> FrameworkTrial:
    site = next((prefix / "lib").glob("python3.*/site-packages"))
    (site / "torch" / "__init__.py").write_text(code)
    trials = framework_run.look(asked(prefix, env))
    assert trials is not None
    return trials[0]


def test_one_that_passes_with_all_its_stages(environment: Path):
    trial = tried(environment, STANDIN.format(devices=1))
    assert (trial.reached, trial.gpu, trial.right, trial.devices) == ("convolution", True, True, 1)
    assert (trial.version, trial.cuda, trial.cudnn, trial.cudnn_compiled) == ("2.8.0+cu128", "12.8", "9.10.2", "9.10.2")
    assert (trial.problem, trial.ended, trial.device, trial.printed) == ("", "", "Test GPU", "")
    assert trial.backward


def test_it_runs_in_the_persons_working_folder_and_says_so(
    environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    work = tmp_path / "work"
    work.mkdir()
    (work / "torch.py").write_text("raise ImportError('the one in the way')\n")
    monkeypatch.chdir(work)
    trial = tried(environment, STANDIN.format(devices=1))
    assert (trial.folder, trial.reached) == (str(work), "nothing")
    assert "the one in the way" in trial.problem


def test_what_it_prints_about_the_gpu_is_kept_although_it_passes(environment: Path):
    said = "W gpu_device.cc] Cannot dlopen some GPU libraries. Skipping registering GPU devices..."
    trial = tried(
        environment, f"import sys\nprint('Hello')\nprint({said!r}, file=sys.stderr)\n" + STANDIN.format(devices=0)
    )
    assert (trial.printed, trial.gpu, trial.problem) == (said, False, "")


def test_what_was_loaded_is_not_taken_down_and_what_is_temporary_is(environment: Path, tmp_path: Path):
    folder = tmp_path / "temporary"
    code = f"""
import atexit, ctypes, os
class Handle:
    def __del__(self): os.abort()  # as a library does that asks a driver that is not there
handle = Handle()
os.mkdir({str(folder)!r})
atexit.register(os.rmdir, {str(folder)!r})
ctypes.CDLL(None).puts(b"no GPU, says a C library")
"""
    trial = tried(environment, STANDIN.format(devices=1) + code)
    assert (trial.reached, trial.problem, trial.ended) == ("convolution", "", "")
    assert trial.printed == "no GPU, says a C library"
    assert not folder.exists()


@pytest.mark.parametrize("distribution", ["paddlepaddle", "paddlepaddle-gpu", "cupy-cuda12x"])
def test_paddle_and_cupy_are_tried_too(environment: Path, distribution: str):
    site = next((environment / "lib").glob("python3.*/site-packages"))
    made = [site / "paddle/base/libpaddle.so", site / "cupy/_core/core.cpython-311-x86_64-linux-gnu.so"]
    info = site / f"{distribution.replace('-', '_')}-3.0.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: {distribution}\nVersion: 3.0.0\n")
    for file in made:
        file.parent.mkdir(parents=True)
        file.write_bytes(b"")
    request = asked(environment)
    names = [t.distribution for t in choose_trials(request, sysroot_of(request.host))]
    for folder in (info, site / "paddle", site / "cupy"):
        shutil.rmtree(folder)
    assert names == [distribution, "torch"] if distribution.endswith("-gpu") else sorted([distribution, "torch"])


def test_nothing_is_written_into_the_environment(environment: Path):
    before = sorted(str(p) for p in environment.rglob("*") if "__init__" not in p.name)
    tried(environment, STANDIN.format(devices=0))
    assert sorted(str(p) for p in environment.rglob("*") if "__init__" not in p.name) == before


@pytest.mark.parametrize(
    ("code", "reached", "problem", "ended"),
    [
        ("raise OSError('libcublas.so.12: cannot open shared object file')", "nothing", "OSError: libcublas.so.12: cannot open shared object file", ""),
        ("raise OSError('Das Modul wurde nicht gefunden: größer \\u4e2d\\u6587 \\udcff')", "nothing", "OSError: Das Modul wurde nicht gefunden: größer 中文", ""),
        ("import os, signal; os.kill(os.getpid(), signal.SIGILL)", "nothing", "", "SIGILL"),
        ("import os; os.write(2, b'caught \\xff\\xfe\\n'); os.abort()", "nothing", "caught", "SIGABRT"),
        ("import os; os._exit(3)", "nothing", "", "3"),
        ("print('+{\"stage\": \"convolution\", \"gpu\": true}'); import os; os._exit(0)", "nothing", "", "before its work was done"),
        ("__version__ = '2.8.0'", "nothing", "AttributeError", ""),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_data(environment: Path, code: str, reached: str, problem: str, ended: str):
    trial = tried(environment, code)
    assert trial.reached == reached
    assert trial.problem.startswith(problem)
    assert ended in trial.ended
    assert trial.gpu is None


def test_one_that_never_answers_is_ended(environment: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(trial_run, "TRIAL_TIMEOUT_SECONDS", 1.0)
    trial = tried(environment, "import threading; threading.Event().wait()")
    assert "did not end within" in trial.ended
    assert (trial.reached, trial.timed_out) == ("nothing", True)


def test_an_interpreter_that_hangs_has_one_time_out_and_the_next_environment_is_tried(
    environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(trial_run, "TRIAL_TIMEOUT_SECONDS", 3.0)
    tried(environment, STANDIN.format(devices=0))
    hanging = shutil.copytree(environment, tmp_path / "hanging", symlinks=True)
    for site in (hanging / "lib").glob("python3.*/site-packages"):
        (site / "jax/_src").mkdir(parents=True)
        (site / "jax/_src/core.py").write_text("")
        (site / "jax-0.6.0.dist-info").mkdir()
        (site / "jax-0.6.0.dist-info/METADATA").write_text("Name: jax\nVersion: 0.6.0\n")
    (hanging / "bin/python").unlink()
    (hanging / "bin/python").write_text("#!/bin/sh\nexec sleep 600\n")
    (hanging / "bin/python").chmod(0o755)
    host = this_host()
    named = (str(hanging), str(environment))
    seen = Snapshot(machine=host.machine())
    asking = ProbeRequest(host=host, seen=seen, env=host.fresh_environment(), watch=Progress(), pythons=named)
    missed: list[Unexamined] = []
    kept: list[FrameworkTrial] = []
    asking = replace(asking, seen=replace(seen, pythons=probe.look(asking)), miss=missed.append, keep=kept.append)
    trials = framework_run.look(asking)
    assert trials is not None
    assert tuple(kept) == trials
    assert [t.prefix for t in trials] == [str(hanging), str(environment)]
    assert "did not end within" in trials[0].ended
    assert [(u.path, u.what, u.wanted_by) for u in missed] == [
        (str(hanging / "bin/python"), "interpreter", ("--python",))
    ]


def test_the_same_without_ld_library_path_is_the_proof(environment: Path):
    code = "import os\nif os.environ.get('LD_LIBRARY_PATH'): raise RuntimeError('cuDNN version incompatibility')\n"
    trial = tried(environment, code + STANDIN.format(devices=1), LD_LIBRARY_PATH="/nowhere")
    assert trial.problem == "RuntimeError: cuDNN version incompatibility"
    assert trial.clean is not None
    assert (trial.clean.problem, trial.clean.right) == ("", True)


@pytest.mark.parametrize(
    ("free", "wished", "variable", "greedy"),
    [
        (12 << 30, True, "", True),
        (20 << 30, True, "", False),
        (12 << 30, False, "", False),
        (12 << 30, True, "false", False),
    ],
    ids=["little is free", "enough is free", "nobody asked", "told to take little"],
)
def test_jax_is_tried_with_all_the_memory_where_others_use_some(
    environment: Path, free: int, wished: bool, variable: str, greedy: bool
):
    site = next((environment / "lib").glob("python3.*/site-packages"))
    for name, code in (("numpy", NUMPY), ("jax", JAX), ("jax/_src", "")):
        (site / name).mkdir(exist_ok=True)
        (site / name / "__init__.py").write_text(code)
    (site / "jax/_src/core.py").write_text("")
    (site / "jax-0.7.2.dist-info").mkdir(exist_ok=True)
    (site / "jax-0.7.2.dist-info/METADATA").write_text("Name: jax\nVersion: 0.7.2\n")
    try:
        asking = asked(environment, {"XLA_PYTHON_CLIENT_PREALLOCATE": variable} if variable else {})
        card = Gpu(index=0, name="Test GPU", memory_total=24 << 30, memory_free=free)
        asking = replace(asking, seen=replace(asking.seen, driver=Driver(gpus=(card,))), at_once=wished)
        trial = next(t for t in framework_run.look(asking) or () if t.framework == "jax")
    finally:
        for name in ("numpy", "jax", "jax-0.7.2.dist-info"):
            shutil.rmtree(site / name)
    assert (trial.gpu, trial.right, trial.problem) == (True, True, "")
    assert (trial.at_once is not None) is greedy
    if trial.at_once:
        assert trial.at_once.problem == "RuntimeError: INTERNAL: cuDNN: CUDNN_STATUS_INTERNAL_ERROR"


def test_mapped_files_have_their_owner(environment: Path, tmp_path: Path):
    site = next((environment / "lib").glob("python3.*/site-packages"))
    own = site / "nvidia" / "cudnn" / "lib"
    own.mkdir(parents=True, exist_ok=True)
    for folder, name in ((own, "libcudnn.so.9"), (tmp_path, "libcublas.so.12")):
        subprocess.run(["gcc", "-shared", "-x", "c", "/dev/null", "-o", folder / name], check=True)
    load = f"import ctypes\nctypes.CDLL('{own}/libcudnn.so.9')\nctypes.CDLL('libcublas.so.12')\n"
    trial = tried(environment, load + STANDIN.format(devices=1), LD_LIBRARY_PATH=str(tmp_path))
    assert {m.name: m.origin for m in trial.mapped} == {
        "libcudnn.so.9": "this environment's wheel",
        "libcublas.so.12": "LD_LIBRARY_PATH",
    }
    assert trial.clean is not None
    assert "libcublas.so.12" in trial.clean.problem


def test_the_drivers_library_from_ld_library_path_is_as_it_should_be(environment: Path, tmp_path: Path):
    subprocess.run(["gcc", "-shared", "-x", "c", "/dev/null", "-o", tmp_path / "libcuda.so.1"], check=True)
    load = "import ctypes\nctypes.CDLL('libcuda.so.1')\n"
    trial = tried(environment, load + STANDIN.format(devices=1), LD_LIBRARY_PATH=str(tmp_path))
    assert [m.origin for m in trial.mapped] == ["LD_LIBRARY_PATH"]
    assert trial.clean is None, "the same was run twice"


@pytest.mark.parametrize(
    ("named", "found_by", "gpu", "runs"),
    [
        (True, "", False, True),
        (False, "VIRTUAL_ENV", True, True),
        (False, "VIRTUAL_ENV", False, True),
        (False, "PATH", False, True),
        (False, "", True, False),
    ],
)
def test_what_is_named_is_run_else_what_a_person_would_start(environment: Path, named, found_by, gpu, runs):
    folder = environment / "bin" if found_by == "PATH" else environment
    request = asked(environment, {found_by: str(folder)} if found_by else {}, named=named, gpu=gpu)
    assert bool(list(choose_trials(request, sysroot_of(request.host)))) is runs
    if not runs:
        assert framework_run.look(request) is None


def test_a_stand_in_without_an_extension_module_is_not_run(environment: Path):
    mark = next((environment / "lib").glob("python3.*/site-packages/torch/_C.so"))
    mark.unlink()
    assert framework_run.look(asked(environment)) is None


@pytest.mark.parametrize(("number", "version"), [("91002", "9.10.2"), ("8907", "8.9.7"), ("7605", "7.6.5"), ("", "")])
def test_cudnns_numbers(number: str, version: str):
    assert cudnn_version(number) == version


def test_the_script_is_for_any_python_from_3_6_on():
    """Compiled by every interpreter that is here; each says so itself."""
    from core.probes.python.trials.script import TRIAL_SCRIPT

    found = [p for p in Path("~/.pyenv/versions").expanduser().glob("3.*/bin/python") if p.exists()]
    for python in (Path(sys.executable), *found):
        done = subprocess.run([python, "-c", "import sys; compile(sys.stdin.read(), 'script', 'exec')"], input=TRIAL_SCRIPT.encode(), capture_output=True, check=False)  # fmt: skip
        assert done.returncode == 0, f"{python}: {done.stderr.decode()}"


def with_package(prefix: Path, name: str, code: str, *files: str, requires: str = "torch") -> None:
    """Install a package that uses a framework."""
    site = next((prefix / "lib").glob("python3.*/site-packages"))
    (site / name).mkdir()
    (site / name / "__init__.py").write_text(code)
    info = site / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Dist: {requires}\n\n")
    (info / "RECORD").write_text("".join(f"{f},,\n" for f in (f"{name}/__init__.py", *files)))


@pytest.fixture
def own(base: Path, tmp_path: Path, environment: Path) -> Path:
    """An environment of its own, so that what is installed here is gone afterwards."""
    return shutil.copytree(environment, tmp_path / "own", symlinks=True)


def packages_of(prefix: Path, code: str = "") -> dict[str, PackageTrial]:
    trial = tried(prefix, code or STANDIN.format(devices=0))
    assert trial.reached == ("nothing" if code else "convolution")
    return {p.distribution: p for p in trial.packages}


def test_packages_that_use_the_framework_are_imported_after_it(own: Path):
    with_package(own, "whole", "import torch\n")
    with_package(own, "lost", "from . import _core\n", "lost/_core.cpython-311-x86_64-linux-gnu.so")
    with_package(own, "older", "from whole import a_name\n")
    with_package(own, "quits", "raise SystemExit(3)\n")
    found = packages_of(own)
    assert {n: p.state for n, p in found.items()} == {
        "whole": "imported",
        "lost": "failed",
        "older": "failed",
        "quits": "failed",
    }
    (older,) = found["older"].failures
    assert (older.module, older.name, older.owner, older.asker) == ("whole", "a_name", "whole 1.0", "older 1.0")
    assert older.found.endswith("whole/__init__.py")
    assert not older.outside


def test_a_lost_extension_is_told_from_a_module_that_was_never_there(own: Path):
    with_package(own, "lost", "import lost._core\n", "lost/_core.cpython-311-x86_64-linux-gnu.so")
    with_package(own, "wants", "import whole.gone\n")
    with_package(own, "whole", "")
    found = packages_of(own)
    (lost,), (wants,) = found["lost"].failures, found["wants"].failures
    assert (lost.absent, lost.recorded, lost.owner) == (True, True, "lost 1.0")
    assert (wants.absent, wants.recorded, wants.owner, wants.asker) == (True, False, "whole 1.0", "wants 1.0")


def test_a_name_that_a_modules_own_code_refuses_is_asked_for_by_the_line_before(own: Path):
    with_package(
        own, "whole", "def __getattr__(n):\n    raise AttributeError(f'module {__name__!r} has no attribute {n!r}')\n"
    )
    with_package(own, "older", "import whole\nwhole.gone\n")
    (row,) = packages_of(own)["older"].failures
    assert (row.module, row.name, row.owner, row.asker, row.line) == ("whole", "gone", "whole 1.0", "older 1.0", 2)


def test_a_library_that_an_extension_lacks_is_not_recorded_because_the_extension_is(own: Path):
    """importlib says which extension it opened; the loader's words name the library that this one lacks."""
    fails = "raise ImportError('libGL.so.1: cannot open shared object file', name='graphics', path='/env/graphics/_core.so')\n"
    with_package(own, "graphics", fails, "graphics/_core.so")
    (row,) = packages_of(own)["graphics"].failures
    assert (row.library, row.owner, row.recorded) == ("libGL.so.1", "graphics 1.0", False)


def test_what_began_an_exception_comes_first(own: Path):
    with_package(
        own, "layered", "try:\n    open('/nowhere/x')\nexcept OSError as e:\n    raise RuntimeError('no') from e\n"
    )
    kinds = [f.kind for f in packages_of(own)["layered"].failures]
    assert kinds == ["FileNotFoundError", "RuntimeError"]


def test_a_variable_that_the_line_reads_is_named_and_its_value_only_where_the_text_has_it(own: Path):
    with_package(own, "reads", "import os\nSIZE = float(os.environ['MY_SIZE'])\n")
    with_package(own, "silent", "import os\nif os.environ['MY_SECRET']: raise ValueError('no')\n")
    site = next((own / "lib").glob("python3.*/site-packages"))
    (site / "torch" / "__init__.py").write_text(STANDIN.format(devices=0))
    (trial,) = framework_run.look(asked(own, {"MY_SIZE": "10GB", "MY_SECRET": "hunter2"})) or ()
    rows = {p.distribution: p.failures[0] for p in trial.packages}
    assert (rows["reads"].variable, rows["reads"].value) == ("MY_SIZE", "10GB")
    assert (rows["silent"].variable, rows["silent"].value) == ("MY_SECRET", "")
    assert "hunter2" not in str(trial)


def test_a_package_that_ends_the_process_leaves_the_framework_as_it_was(own: Path):
    with_package(own, "crashes", "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    with_package(own, "later", "", "later/inner.py")  # the larger one
    trial = tried(own, STANDIN.format(devices=0))
    assert (trial.reached, trial.ended, trial.problem, trial.timed_out) == ("convolution", "", "", False)
    states = {p.distribution: (p.state, "SIGSEGV" in p.ended) for p in trial.packages}
    assert states == {"crashes": ("ended", True), "later": ("not tried", False)}
    (crash,) = trial.packages[0].failures
    assert (crash.kind, crash.asker, crash.line) == ("SIGSEGV", "crashes 1.0", 2)
    assert crash.file.endswith("crashes/__init__.py")


def test_a_file_that_cannot_be_read_as_python_is_owned_by_its_package(own: Path):
    with_package(own, "odd", "from . import inner\n", "odd/inner.py")
    (next((own / "lib").glob("python3.*/site-packages")) / "odd" / "inner.py").write_text("def f(:\n")
    (row,) = packages_of(own)["odd"].failures
    assert (row.kind, row.path.endswith("odd/inner.py"), row.owner) == ("SyntaxError", True, "odd 1.0")


def test_what_there_was_no_time_for_is_not_tried(own: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(trial_run, "PACKAGE_SECONDS", -1.0)
    with_package(own, "late", "raise ImportError('never run')\n")
    assert packages_of(own)["late"].state == "not tried"


BUSY = "import time\nend = time.process_time() + {seconds}\nwhile time.process_time() < end: pass\n"


def test_a_package_gets_a_share_of_the_frameworks_time_unless_it_is_in_doubt(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial_run, "PACKAGE_SHARE", 1.5)
    with_package(own, "long", f"try:\n    import inner\nexcept Exception:\n    pass\n{BUSY.format(seconds=30)}")
    with_package(own, "doubtful", BUSY.format(seconds=0.1), requires="torch==1.0")
    trial = tried(own, BUSY.format(seconds=0.3) + STANDIN.format(devices=0))
    assert [(p.distribution, p.state) for p in trial.packages] == [("doubtful", "imported"), ("long", "not tried")]
    assert not trial.ended


def test_a_thorough_scan_imports_every_package(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_run, "PACKAGE_SHARE", 0.0)
    with_package(own, "whole", "")
    assert packages_of(own)["whole"].state == "not tried"
    (trial,) = framework_run.look(replace(asked(own), thorough=True)) or ()
    assert trial.packages[0].state == "imported"


def test_nothing_is_imported_after_a_framework_that_fails(own: Path):
    with_package(own, "whole", "")
    assert packages_of(own, "raise ImportError('no')")["whole"].state == "not tried"


def test_a_file_in_the_way_is_told_from_the_one_that_it_hides(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with_package(own, "whole", "")
    with_package(own, "user", "from whole import a_name\n")
    site = next((own / "lib").glob("python3.*/site-packages"))
    (site / "whole" / "__init__.py").write_text("a_name = 1\n")
    work = tmp_path / "work"
    work.mkdir()
    (work / "whole.py").write_text("")
    monkeypatch.chdir(work)
    (row,) = packages_of(own)["user"].failures
    assert (row.found, row.outside) == (str(work / "whole.py"), True)
    assert row.hidden == str(site / "whole" / "__init__.py")


def test_a_folder_without_its_module_is_no_import(own: Path):
    with_package(own, "hollow", "")
    site = next((own / "lib").glob("python3.*/site-packages"))
    (site / "hollow" / "__init__.py").unlink()
    hollow = packages_of(own)["hollow"]
    (row,) = hollow.failures
    assert (hollow.state, row.absent, row.recorded, row.closed) == ("failed", True, True, False)


def test_a_module_of_zeros_is_found_by_the_line_that_imports_it(own: Path):
    with_package(own, "zeros", "from . import inner\n")
    site = next((own / "lib").glob("python3.*/site-packages"))
    (site / "zeros" / "inner.py").write_bytes(b"\0" * 100)
    (row,) = packages_of(own)["zeros"].failures
    assert row.path == str(site / "zeros" / "inner.py")


def test_it_is_looked_at_with_pythons_own_modules(own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with_package(own, "waits", "import select\nselect.select\n")
    work = tmp_path / "work"
    work.mkdir()
    (work / "select.py").write_text("")
    (work / "email.py").write_text("raise RuntimeError('not this one')\n")
    monkeypatch.chdir(work)
    (row,) = packages_of(own)["waits"].failures
    assert (row.module, row.name, row.found, row.standard) == ("select", "select", str(work / "select.py"), True)
    assert row.asker == "waits 1.0"


def test_a_package_is_imported_after_the_framework_that_it_belongs_to(tmp_path: Path) -> None:
    pins = {
        "jax": ("ml-dtypes>=0.5",),
        "tensorflow": ("keras>=3.10", "numpy>=1.26"),
        "torch": ("sympy", 'opt-einsum>=3.3; extra == "opt-einsum"'),
        "keras": ("h5py", "ml-dtypes"),
        "xformers": ("torch==2.8.0",),
        **dict.fromkeys(("ml-dtypes", "numpy", "sympy", "opt-einsum", "h5py", "rich"), ()),
    }
    for name in pins:
        record = tmp_path / f"{name.replace('-', '_')}-1.0.dist-info" / "RECORD"
        record.parent.mkdir()
        record.write_text(f"{name.replace('-', '_')}/__init__.py,sha256=x,1\n")
    its = tuple(Distribution(name=n, version="1.0", location=str(tmp_path), pins=p) for n, p in pins.items())
    python = PythonEnvironment(prefix=str(tmp_path), distributions=its)
    trials = tuple(Trial(python, n, "1.0", n) for n in ("jax", "tensorflow", "torch"))
    given = {t.distribution: {d.name for d, _module in t.packages} for t in with_packages(trials, Sysroot("linux"))}
    assert given == {
        "jax": {"ml-dtypes", "rich"},
        "tensorflow": {"keras", "numpy", "h5py"},
        "torch": {"sympy", "opt-einsum", "xformers"},
    }


def test_what_pythons_own_code_refuses_was_asked_for_by_the_package(own: Path):
    with_package(own, "older", "import json\njson.loads('x')\n")
    (row, *_more) = packages_of(own)["older"].failures
    assert (row.asker, row.file.endswith("json/decoder.py")) == ("older 1.0", True)


def test_what_nobody_requires_is_tried_although_it_needs_no_framework(own: Path):
    with_package(own, "asked", "import gone\n", requires="inner")
    with_package(own, "inner", "", requires="nothing")
    with_package(own, "pytest_more", "import gone\n", requires="nothing")
    found = packages_of(own)
    assert {n: p.state for n, p in found.items()} == {"asked": "failed"}
