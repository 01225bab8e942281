"""Start-up code that reading does not follow: one start of a real interpreter, on a leash, and only where it may run."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Literal

import pytest
from msgspec.structs import replace

from core.host import process
from core.model.facts import Distribution, EnvironmentFault, Execution, PythonEnvironment, StartCode
from core.probes.python.search import started
from core.probes.sysroot import Sysroot
from tests.host.fake import FakeHost
from tests.probes.request import request

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="no interpreter is started elsewhere")

HERE = Sysroot(system="linux")
FAMILY = f"python{sys.version_info[0]}.{sys.version_info[1]}"
LEAVES_ONE = """
import os, sys
reader, writer = os.pipe()
if os.fork() == 0:
    os.setsid()
    with open({file!r}, "w") as own:
        own.write(str(os.getpid()))
    os.write(writer, b"!")
    for n in range(3):
        os.close(n)
    import threading
    threading.Event().wait()
os.read(reader, 1)
sys.path[:] = list(sys.path)
"""
HANGS = "import threading\nif exit: threading.Event().wait()\n"


REFUSES = """
import sys
class Pinned:
    def find_spec(self, name, path=None, target=None):
        if name in ("torch", "onnxruntime"):
            raise ImportError('ask the lab')
sys.meta_path.insert(0, Pinned())
"""

Way = Literal["--python", "elsewhere"]


class RealHost(FakeHost):
    """Starts what it is asked to start."""

    run = staticmethod(process.run_program)


def environment(root: Path, code: str, way: Way) -> tuple[PythonEnvironment, StartCode]:
    site = root / "env" / "lib" / FAMILY / "site-packages"
    site.mkdir(parents=True)
    (root / "env" / "bin").mkdir()
    program = root / "env" / "bin" / "python"
    program.symlink_to(sys.executable)
    base = Path(os.path.realpath(sys.executable)).parent
    (root / "env" / "pyvenv.cfg").write_text(f"home = {base}\ninclude-system-site-packages = false\n")
    (site / "sitecustomize.py").write_text(code)
    its = tuple(Distribution(name=n, version="1.0") for n in ("torch", "onnxruntime-gpu"))
    made = PythonEnvironment(
        prefix=str(root / "env"), executable=str(program), site_packages=(str(site),), ways=(way,), distributions=its
    )
    return made, StartCode(source=str(site / "sitecustomize.py"))


def looked(python: PythonEnvironment, code: StartCode) -> tuple[list[EnvironmentFault], list[Execution]]:
    """Return what is found, and what is told to have been run."""
    told: list[Execution] = []
    its = request(Path("/"))
    machine = replace(its.seen.machine, user="ada")
    its = replace(its, host=RealHost(root=Path("/")), seen=replace(its.seen, machine=machine), tell=told.append)
    return list(started.start_faults(python, (code,), its, HERE)), told


@pytest.mark.parametrize(
    ("code", "kind", "detail"),
    [
        ("raise SystemExit('no licence')\n", "ended at its start", "no licence"),
        ("import sys\nsys.path[:] = [p for p in sys.path if 'site-packages' not in p]\n", "packages taken away", "site-packages"),
        ("import sys\nsys.path[:] = list(sys.path)\n", "", ""),
        (REFUSES, "import refused", "torch,onnxruntime ImportError: ask the lab"),
        (REFUSES.replace('"torch"', '"other"'), "import refused", "onnxruntime ImportError: ask the lab"),
        ("import sys\nsys.modules['torch'] = None\n", "import refused", "torch ModuleNotFoundError: import of torch halted"),
        (REFUSES.replace("raise ImportError('ask the lab')", "return None"), "", ""),
        ("import sys\nsys.modules['tensorflow'] = None\n", "", ""),
        ("import sys\nprint('hello')\nsys.path[:] = list(sys.path)\n", "", ""),
    ],
)  # fmt: skip
def test_what_start_up_code_does_is_seen_and_told(tmp_path: Path, code: str, kind: str, detail: str) -> None:
    python, start = environment(tmp_path, code, "--python")
    found, told = looked(python, start)
    assert [f.kind for f in found] == ([kind] if kind else [])
    assert all(detail in f.detail for f in found)
    assert [(e.what, e.path, e.account, e.changeable) for e in told] == [
        ("interpreter", python.executable, "ada", None)
    ]


def test_start_up_code_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(started, "START_TIMEOUT_SECONDS", 1.0)
    assert looked(*environment(tmp_path, HANGS, "--python"))[0] == []


def test_nothing_that_start_up_code_starts_is_left(tmp_path: Path) -> None:
    file = tmp_path / "number"
    found, _told = looked(*environment(tmp_path, LEAVES_ONE.format(file=str(file)), "--python"))
    assert found == []
    assert not Path("/proc", file.read_text()).exists()


@pytest.mark.parametrize("why", ["nobody named it", "others can change the code"])
def test_what_nobody_named_or_others_can_change_is_not_started(tmp_path: Path, why: str) -> None:
    ran = tmp_path / "ran"
    code = f"import sys\nopen({str(ran)!r}, 'w').close()\nsys.path[:] = list(sys.path)\n"
    python, start = environment(tmp_path, code, "elsewhere" if why == "nobody named it" else "--python")
    Path(start.source).chmod(0o666)
    found, told = looked(python, start)
    assert not ran.exists()
    assert found == []
    assert [(e.what, e.account) for e in told] == ([] if why == "nobody named it" else [("interpreter", "")])
