"""System steps: by the real ldconfig and usermod below a private root, the rest by recorded commands; before, after, back."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from core.host import process
from core.host.interface import CompletedProcess
from core.model.changes import ChangeError
from core.model.system_steps import SystemStep
from core.transaction import system_steps
from core.transaction.execute import Plan, execute, recover, undo
from core.transaction.journal import Journal
from core.transaction.system_steps import NOUVEAU_TEXT, SystemTools, ToolError, make_step, step_problems
from core.transaction.variable_store import LinuxVariables
from tests.loader import build

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="steps of Linux' own tools")
needs_root = pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="usermod is root's")


class Recorded:
    """A system's tools that only write down how they are called; ``does`` is what a tool would do."""

    def __init__(self, root: Path, **ends: int) -> None:
        self.calls: list[list[str]] = []
        self.ends = ends
        self.root = root

    def __call__(self, argv: Sequence[str]) -> CompletedProcess:
        self.calls.append(list(argv))
        name = Path(argv[0]).name
        if name == "nvidia-ctk":
            Path(argv[-1].partition("=")[2]).write_text("cdiVersion: 0.5.0\nkind: nvidia.com/gpu\n")
        return CompletedProcess(status=self.ends.get(name.replace("-", "_"), 0), err="no" if name in self.ends else "")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    for name in ("etc/ld.so.conf.d", "etc/modprobe.d", "etc/cdi", "proc", "usr/lib/wsl/lib", "tools"):
        (folder / name).mkdir(parents=True)
    (folder / "etc/ld.so.conf").write_text("include /etc/ld.so.conf.d/*.conf\n")
    (folder / "etc/group").write_text("root:x:0:\nvideo:x:44:\nrender:x:105:bob\n")
    (folder / "etc/gshadow").write_text("root:*::\nvideo:*::\nrender:*::bob\n")
    (folder / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\nada:x:1000:1000::/home/ada:/bin/sh\n")
    (folder / "etc/shadow").write_text("root:*:1::::::\nada:*:1::::::\n")
    (folder / "proc/modules").write_text("nvidia_uvm 1 0 - Live 0x0\nnvidia 1 1 nvidia_uvm, Live 0x0\n")
    return folder


@pytest.fixture
def recorded(root: Path, monkeypatch: pytest.MonkeyPatch) -> Recorded:
    for name in ("modprobe", "nvidia-ctk", "ldconfig", "usermod", "gpasswd"):
        (root / "tools" / name).touch()
    monkeypatch.setattr(system_steps, "TOOL_FOLDERS", (str(root / "tools"),))
    return Recorded(root)


WSL = SystemStep(kind="library-folder", subject="/usr/lib/wsl/lib")
GROUP = SystemStep(kind="device-group", subject="ada", value="video")
UVM = SystemStep(kind="reload-uvm")
NOUVEAU = SystemStep(kind="nouveau-off")
CDI = SystemStep(kind="cdi")


# --- by the real tools -----------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("ldconfig", path="/usr/sbin:/sbin") is None, reason="the C library's own tool")
def test_the_real_ldconfig_finds_what_wsl_brings_and_forgets_it_again(root: Path):
    build.library(root / "usr/lib/wsl/lib/libcuda.so.1", soname="libcuda.so.1")
    tools = SystemTools(str(root))

    def listed() -> str:
        return process.run_program([tools.tool("ldconfig"), "-r", str(root), "-p"], timeout=20).out

    assert step_problems(WSL, tools) == ()
    make_step(WSL, tools)
    assert "libcuda.so.1" in listed()
    assert (root / "etc/ld.so.conf.d/convalesce-usr-lib-wsl-lib.conf").read_text() == "/usr/lib/wsl/lib\n"
    assert step_problems(WSL, tools) != ()
    make_step(WSL.inverse(), tools)
    assert "libcuda.so.1" not in listed()
    assert not list((root / "etc/ld.so.conf.d").iterdir())


@needs_root
@pytest.mark.skipif(shutil.which("usermod", path="/usr/sbin:/sbin") is None, reason="shadow's own tool")
def test_the_real_usermod_adds_a_user_to_the_group_of_the_device_files(root: Path):
    tools = SystemTools(str(root))
    assert step_problems(GROUP, tools) == ()
    make_step(GROUP, tools)
    assert "video:x:44:ada" in (root / "etc/group").read_text()
    assert "render:x:105:bob" in (root / "etc/group").read_text()
    assert step_problems(GROUP, tools) != ()
    make_step(GROUP.inverse(), tools)
    assert "video:x:44:\n" in (root / "etc/group").read_text()


# --- by recorded commands --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "calls"),
    [
        (UVM, ["modprobe -r nvidia_uvm", "modprobe nvidia_uvm"]),
        (UVM.inverse(), []),
        (NOUVEAU, []),
        (CDI, ["nvidia-ctk cdi generate --output=ROOT/etc/cdi/nvidia.yaml"]),
        (WSL, ["ldconfig -r ROOT"]),
    ],
)
def test_each_step_calls_its_tools_and_no_other(root: Path, recorded: Recorded, step: SystemStep, calls: list[str]):
    make_step(step, SystemTools(str(root), recorded))
    found = [" ".join([Path(c[0]).name, *c[1:]]).replace(str(root), "ROOT") for c in recorded.calls]
    assert found == calls
    assert all(c[0].startswith(str(root / "tools")) for c in recorded.calls)


def test_a_user_is_taken_in_and_out_with_the_group_named_once(root: Path, recorded: Recorded):
    def run(argv: Sequence[str]) -> CompletedProcess:
        text = (root / "etc/group").read_text()
        old, new = ("44:\n", "44:ada\n") if "usermod" in argv[0] else ("44:ada\n", "44:\n")
        (root / "etc/group").write_text(text.replace(old, new))
        return recorded(argv)

    tools = SystemTools(str(root), run)
    make_step(GROUP, tools)
    make_step(GROUP.inverse(), tools)
    assert [c[1:] for c in recorded.calls] == [
        ["-P", str(root), "-a", "-G", "video", "ada"],
        ["-Q", str(root), "-d", "ada", "video"],
    ]


def test_nouveau_is_turned_off_and_on_byte_for_byte(root: Path, recorded: Recorded):
    tools = SystemTools(str(root), recorded)
    make_step(NOUVEAU, tools)
    assert (root / "etc/modprobe.d/convalesce-nouveau.conf").read_text() == NOUVEAU_TEXT
    make_step(NOUVEAU.inverse(), tools)
    assert list((root / "etc/modprobe.d").iterdir()) == []


@pytest.mark.parametrize("before", [None, "old: specification\n"])
def test_the_previous_specification_comes_back(root: Path, recorded: Recorded, before: str | None):
    file = root / "etc/cdi/nvidia.yaml"
    if before is not None:
        file.write_text(before)
    tools = SystemTools(str(root), recorded)
    make_step(CDI, tools)
    assert file.read_text().startswith("cdiVersion")
    make_step(CDI.inverse(), tools)
    assert (file.read_text() if file.exists() else None) == before
    assert [p.name for p in (root / "etc/cdi").iterdir()] == ([] if before is None else ["nvidia.yaml"])


def test_a_plain_path_leads_to_a_folder_with_brackets_and_goes_again(tmp_path: Path):
    folder = tmp_path / "Models [new] Ärger"
    folder.mkdir()
    (folder / "keep").touch()
    step = SystemStep(kind="short-path", subject=str(tmp_path / "plain"), value=str(folder))
    tools = SystemTools()
    assert step_problems(step, tools) == ()
    make_step(step, tools)
    assert (tmp_path / "plain/keep").exists()
    make_step(step.inverse(), tools)
    assert not os.path.lexists(tmp_path / "plain")
    assert (folder / "keep").exists()


# --- refused ---------------------------------------------------------------------------------------------


def test_a_module_that_somebody_uses_is_not_unloaded(root: Path, recorded: Recorded):
    (root / "proc/modules").write_text("nvidia_uvm 1 3 - Live 0x0\n")
    [row] = step_problems(UVM, SystemTools(str(root), recorded))
    assert row == "3 programs use nvidia_uvm; close everything that computes on the GPU first."
    with pytest.raises(ChangeError):
        make_step(UVM, SystemTools(str(root), recorded))
    assert recorded.calls == []


@pytest.mark.parametrize("listed", ["", "nvidia 1 0 - Live 0x0\n"])
def test_a_module_that_is_not_loaded_is_not_reloaded(root: Path, recorded: Recorded, listed: str):
    (root / "proc/modules").write_text(listed)
    assert step_problems(UVM, SystemTools(str(root), recorded)) == ("The kernel module nvidia_uvm is not loaded.",)


def test_a_file_that_somebody_else_wrote_is_left_alone(root: Path, recorded: Recorded):
    (root / "etc/modprobe.d/convalesce-nouveau.conf").write_text("options nvidia NVreg_x=1\n")
    [row] = step_problems(NOUVEAU, SystemTools(str(root), recorded))
    assert "does not hold what" in row


def test_a_group_or_a_tool_that_is_not_there_is_told(root: Path, recorded: Recorded):
    tools = SystemTools(str(root), recorded)
    assert step_problems(SystemStep(kind="device-group", subject="ada", value="gpu"), tools) == (
        "This system has no group gpu.",
    )
    (root / "tools/usermod").unlink()
    assert step_problems(GROUP, tools) == ("This system has no program usermod.",)


def test_a_tool_that_fails_says_why_and_a_tool_that_lies_is_found_out(root: Path, recorded: Recorded):
    with pytest.raises(ToolError, match=r"ldconfig failed"):
        make_step(WSL, SystemTools(str(root), Recorded(root, ldconfig=1)))
    with pytest.raises(ChangeError, match="did not retain the change"):  # usermod ends well and changes nothing
        make_step(GROUP, SystemTools(str(root), recorded))


# --- with the journal ------------------------------------------------------------------------------------


def test_a_plan_of_a_system_step_is_journalled_and_undone(root: Path, tmp_path: Path, recorded: Recorded, monkeypatch):
    monkeypatch.setattr(system_steps, "_run", recorded)
    monkeypatch.setattr(SystemTools, "__init__", _with(recorded))
    writer, journal = LinuxVariables(str(root)), Journal(tmp_path / "journal")
    done = execute(Plan(title="nouveau", changes=(NOUVEAU,)), writer=writer, journal=journal)
    assert done.kind == "done", done.sentence
    file = root / "etc/modprobe.d/convalesce-nouveau.conf"
    assert file.exists()
    again = execute(Plan(title="nouveau", changes=(NOUVEAU,)), writer=writer, journal=journal)
    assert again.kind == "refused"
    assert undo(done.entry, writer=writer, journal=journal).kind == "undone"
    assert not file.exists()


def test_what_does_not_cure_is_taken_back_and_a_crash_too(root: Path, tmp_path: Path, recorded: Recorded, monkeypatch):
    monkeypatch.setattr(SystemTools, "__init__", _with(recorded))
    writer, journal = LinuxVariables(str(root)), Journal(tmp_path / "journal")
    plan = Plan(title="cdi", changes=(CDI, NOUVEAU))
    ended = execute(plan, writer=writer, journal=journal, verify=lambda: "It is not cured.")
    assert ended.kind == "rolled back"
    assert [p.name for f in ("cdi", "modprobe.d") for p in (root / "etc" / f).iterdir()] == []

    class Killed(BaseException):
        pass

    def die() -> str:
        raise Killed

    monkeypatch.setattr("core.transaction.execute._take_back", lambda *_: None)  # as if the process were gone
    with pytest.raises(Killed):
        execute(plan, writer=writer, journal=journal, verify=die)
    monkeypatch.undo()
    monkeypatch.setattr(system_steps, "TOOL_FOLDERS", (str(root / "tools"),))
    monkeypatch.setattr(SystemTools, "__init__", _with(recorded))
    assert list((root / "etc/modprobe.d").iterdir()) != []
    assert [o.kind for o in recover(writer=writer, journal=journal)] == ["rolled back"]
    assert [p.name for f in ("cdi", "modprobe.d") for p in (root / "etc" / f).iterdir()] == []


def _with(run: Recorded):
    def init(self: SystemTools, root: str = "/", run: Recorded = run) -> None:
        object.__setattr__(self, "root", root)
        object.__setattr__(self, "run", run)

    return init
