"""Plans that would make the machine another account's: each is refused, and the sentence says what was refused."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from core.model import changes
from core.model.changes import Change, FileItem, FileSet, SetVariable, Value
from core.model.system_steps import StepKind, SystemStep
from core.transaction.broker.closed_list import consent_action
from core.transaction.broker.ground import RealGround, is_plain_path
from tests.malice.conftest import Box, give, grant, needs_root

pytestmark = needs_root

OLD = Value(text="/usr/bin:/bin")


def entry(folder: Path | str, name: str = "PATH") -> Change:
    return changes.insert_entry(OLD, str(folder), 0, "linux", name=name, scope="machine")


def variable(name: str, value: str | None) -> Change:
    return SetVariable(name=name, scope="machine", after=None if value is None else Value(text=value))


def place(path: Path | str, source: Path | str = "", **fields: str) -> Change:
    data = b"whole"
    after = fields.pop("after", hashlib.sha256(data).hexdigest())
    return FileSet(
        title="t",
        items=(FileItem(path=str(path), after=after, size=len(data), source=str(source), before="", **fields),),
    )


def link(box: Box, target: Path | str) -> Path:
    (box.root / "opt/link").symlink_to(target)
    return box.root / "opt/link"


def loose_file(box: Box) -> Path:
    give(box.root / "opt/cuda/lib64/libcudnn_cnn.so.9")
    return box.root / "opt/cuda/lib64"


def chain(box: Box) -> Path:
    """A folder of root's below one of Eve's: she can put another in its place."""
    (box.eve / "theirs/bin").mkdir(parents=True)
    return box.eve / "theirs/bin"


def mode(path: Path, bits: int) -> Path:
    path.chmod(bits)
    return path


def group(path: Path) -> Path:
    os.chown(path, 0, 54_321)
    return mode(path, 0o775)


PATHS: dict[str, tuple[Callable[[Box], Change], str]] = {
    "a user's folder": (lambda b: entry(b.eve), "home/eve can be changed by ordinary users"),
    "root's folder below a user's": (lambda b: entry(chain(b)), "home/eve can be changed by ordinary users"),
    "a link to a user's folder": (lambda b: entry(link(b, b.eve)), "home/eve can be changed"),
    "a relative link to it": (lambda b: entry(link(b, "../home/eve")), "home/eve can be changed"),
    "a link of a user's in root's folder": (lambda b: entry(give(link(b, b.root / "opt/cuda"))), "opt/link can be"),
    "a link in a circle": (lambda b: entry(link(b, b.root / "opt/link")), "is not an existing folder"),
    "a folder that everybody may write": (lambda b: entry(mode(b.root / "opt/cuda", 0o777)), "opt/cuda can be"),
    "one that a user may write by its list": (lambda b: entry(grant(b.root / "opt/cuda")), "opt/cuda can be"),
    "one on the way that a user may write so": (
        lambda b: (grant(b.root / "opt"), entry(b.root / "opt/cuda"))[1],
        "opt can",
    ),
    "a group's": (lambda b: entry(group(b.root / "opt/cuda")), "opt/cuda can be changed"),
    "the sticky folder": (lambda _: entry("/var/tmp"), "/var/tmp can be changed"),
    "one that is not there yet": (lambda _: entry("/var/tmp/convalesce-not-yet"), "not an existing folder"),
    "a file": (lambda b: entry(b.root / "opt/cuda/lib64/libcudnn_cnn.so.9"), "not an existing folder"),
    "a file of a user's in it": (lambda b: entry(loose_file(b)), "libcudnn_cnn.so.9 can be changed"),
    "the current folder": (lambda _: entry("."), "not the absolute, plain path"),
    "a relative folder": (lambda _: entry("bin"), "not the absolute, plain path"),
    "dots": (lambda b: entry(f"{b.root}/opt/../home/eve"), "not the absolute, plain path"),
    "a variable in it": (lambda _: entry("/opt/$USER"), "not the absolute, plain path"),
    "a command in it": (lambda _: entry("/opt/`id`"), "not the absolute, plain path"),
    "letters that turn the line": (lambda _: entry("/opt/\u202egnihton"), "not the absolute, plain path"),
    "two slashes": (lambda _: entry("//server/share"), "not the absolute, plain path"),
    "the libraries' path": (lambda b: entry(b.eve, "LD_LIBRARY_PATH"), "home/eve can be changed"),
    "Python's path": (lambda b: entry(b.root / "opt/cuda", "PYTHONPATH"), "does not edit the search path"),
    "PATH in small letters": (lambda b: entry(b.root / "opt/cuda", "Path"), "does not edit the search path"),
    "the system's own entry": (
        lambda _: changes.remove_entry(OLD, 0, "linux", name="PATH", scope="machine"),
        "is in PATH only once",
    ),
}


@pytest.mark.parametrize("name", PATHS)
def test_the_machine_s_search_path_gets_no_folder_that_others_can_change(box: Box, name: str) -> None:
    make, words = PATHS[name]
    [row] = box.allowed(make(box))
    assert words in row
    assert row.endswith(".")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LD_PRELOAD", "/opt/x.so"),
        ("LD_AUDIT", "/opt/x.so"),
        ("LD_LIBRARY_PATH", "/opt"),
        ("PATH", "/opt"),
        ("BASH_ENV", "/opt/x.sh"),
        ("PYTHONSTARTUP", "/opt/x.py"),
        ("CUDA_INJECTION64_PATH", "/opt/x.so"),
        ("CUDA_INJECTION32_PATH", "/opt/x.so"),
        ("NUMBA_CUDA_DRIVER", "/opt/libcuda.so"),
        ("NVIDIA_DRIVER_CAPABILITIES", "all"),
        ("TF_PLUGGABLE_DEVICE_LIBRARY_PATH", "/opt"),
        ("XLA_FLAGS", "--xla_gpu_cuda_data_dir=/opt"),
        ("CUDNN_LOGDEST_DBG", "/etc/cron.d/x"),
        ("CUDA_CACHE_PATH", "/opt"),
        ("CUDA_MPS_PIPE_DIRECTORY", "/tmp"),
        ("CUDA_VISIBLE_DEVICES", "0"),
        ("CUDA_VISIBLE_DEVICES\nLD_PRELOAD", None),
        ("CUDA_PATH_V12_4_X", "/opt"),
        ("CUDA_PATH\n", "/opt"),
    ],
)
def test_no_variable_is_set_that_makes_programs_load_or_write(box: Box, name: str, value: str | None) -> None:
    [row] = box.allowed(variable(name, value))
    assert "does not set the variable" in row
    assert "\n" not in row


def test_a_toolkit_s_variable_names_only_an_administrator_s_folder(box: Box) -> None:
    assert box.allowed(variable("CUDA_PATH", str(box.root / "opt/cuda"))) == ()
    [row] = box.allowed(variable("CUDA_PATH", str(box.eve)))
    assert "home/eve can be changed by ordinary users" in row
    give(box.root / "opt/cuda/bin")
    [row] = box.allowed(variable("CUDA_HOME", str(box.root / "opt/cuda")))
    assert "opt/cuda/bin can be changed by ordinary users" in row


LIB = "libcudnn_cnn.so.9"
FILES: dict[str, tuple[Callable[[Box], Change], str]] = {
    "from a user's folder": (lambda b: place(b.root / "opt/cuda/lib64" / LIB, b.eve / LIB), "eve can be changed"),
    "through a link to it": (lambda b: place(b.root / "opt/cuda/lib64" / LIB, link(b, b.eve) / LIB), "can be changed"),
    "into a user's folder": (lambda b: place(give(b.root / "opt/spare") / "libcudnn.so.9", b.root / "opt/cuda/lib64" / LIB), "opt/spare can be"),
    "over a user's file": (lambda b: place(loose_file(b) / LIB, b.root / "opt/spare" / LIB), f"{LIB} can be changed"),
    "the text of the plan": (lambda b: place(b.root / "opt/spare/libcudnn.so", text="evil", after=hashlib.sha256(b"evil").hexdigest()), "which file"),
    "bytes of nowhere": (lambda b: place(b.root / "opt/spare/libcudnn.so"), "which file"),
    "a secret": (lambda b: place(b.root / "opt/spare/libcudnn.so", "/etc/shadow"), "shadow is not one of NVIDIA's"),
    "the system's library": (lambda b: place(b.root / "opt/spare/libc.so.6", b.root / "opt/spare" / LIB), "not one of"),
    "a name that only begins so": (lambda b: place(b.root / "opt/spare/libcudnn.so.9\n", b.root / "opt/spare" / LIB), "not one of"),
    "out of the listed folders": (lambda b: place(b.root / "etc/libcudnn.so.9", b.root / "opt/spare" / LIB), "does not change"),
    "out by dots": (lambda b: place(f"{b.root}/opt/../etc/libcudnn.so.9", b.root / "opt/spare" / LIB), "contains . or .."),
    "a neighbour of them": (lambda b: place(f"{b.root}/optional/libcudnn.so.9", b.root / "opt/spare" / LIB), "does not change"),
    "a link to another name": (lambda b: place(b.root / "opt/spare/libcudnn.so", after="-> passwd"), "passwd is not one of"),
    "a whole folder aside": (lambda b: FileSet(title="t", items=(FileItem(path=f"{b.root}/opt/libcuda.so", before="folder", after=""),)), "which file"),
    "a folder for nothing": (lambda b: FileSet(title="t", folders=(f"{b.root}/opt/systemd",), items=()), "does not create"),
    "a folder taken away": (lambda b: FileSet(title="t", folders=(f"{b.root}/opt/spare",), items=(), unmake=True), "does not create"),
    "a folder that is taken away though files go into it": (
        lambda b: FileSet(title="t", folders=(f"{b.root}/opt/new",), items=place(f"{b.root}/opt/new/libcudnn.so", b.root / "opt/spare" / LIB).items, unmake=True),
        "does not create",
    ),
    "a folder below a user's": (
        lambda b: FileSet(
            title="t", folders=(f"{give(b.root / 'opt/spare')}/new",), items=place(f"{b.root}/opt/spare/new/libcudnn.so", f"{b.root}/opt/cuda/lib64/{LIB}").items
        ),
        "opt/spare can be changed",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_no_file_is_placed_that_is_not_nvidia_s_and_the_administrator_s(box: Box, name: str) -> None:
    make, words = FILES[name]
    [row] = box.allowed(make(box))
    assert words in row
    assert row.endswith(".")


def step(kind: StepKind, subject: Path | str = "", value: str = "", *, back: bool = False) -> SystemStep:
    made = SystemStep(kind=kind, subject=str(subject), value=value)
    return made.inverse() if back else made


STEPS: dict[str, tuple[Callable[[Box], Change], str]] = {
    "a user's folder for the loader": (lambda b: step("library-folder", b.eve), "home/eve can be changed"),
    "root's folder below a user's": (lambda b: step("library-folder", chain(b)), "home/eve can be changed"),
    "one that everybody may write": (
        lambda b: step("library-folder", mode(b.root / "opt/cuda", 0o777)),
        "opt/cuda can be",
    ),
    "one outside the folders of programs": (lambda _: step("library-folder", "/etc"), "does not change"),
    "a second line": (lambda _: step("library-folder", "/opt\ninclude /tmp/*"), "not the absolute, plain path"),
    "an argument for ldconfig": (lambda _: step("library-folder", "-r/tmp"), "not the absolute, plain path"),
    "a folder and more": (lambda b: step("library-folder", b.root / "opt/cuda", "x"), "does not carry out"),
    "root in a group": (lambda _: step("device-group", "root", "video"), "does not add"),
    "a service in a group": (lambda _: step("device-group", "daemon", "video"), "does not add"),
    "nobody in a group": (lambda _: step("device-group", "nobody", "video"), "does not add"),
    "an account that is not there": (lambda _: step("device-group", "no-such-account", "video"), "does not add"),
    "a user who becomes an administrator": (lambda _: step("device-group", "ada", "sudo"), "to the group sudo"),
    "the disks' group": (lambda _: step("device-group", "ada", "disk"), "to the group disk"),
    "two groups": (lambda _: step("device-group", "ada", "video,docker"), "does not add"),
    "an argument for usermod": (lambda _: step("device-group", "-o", "video"), "does not add"),
    "a second row of the list": (lambda _: step("device-group", "ada\nroot", "video"), "does not add"),
    "another module": (lambda _: step("reload-uvm", "kvm"), "does not carry out"),
    "options for the module": (lambda _: step("reload-uvm", "", "uvm_debug=1"), "does not carry out"),
    "another file than nouveau's": (lambda _: step("nouveau-off", "/etc/modprobe.d/x.conf"), "does not carry out"),
    "another place for the specification": (lambda _: step("cdi", "/etc/cron.d/x"), "does not carry out"),
    "a link of root's": (lambda b: step("short-path", "/etc/cron.d/x", str(b.eve)), "does not carry out"),
    "a way back that is none": (lambda _: step("nouveau-off", back=True), "does not carry out"),
    "nothing at all": (lambda _: SystemStep(kind="cdi", before="present"), "does not carry out"),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_system_step_takes_its_own_arguments_and_no_other(box: Box, name: str) -> None:
    make, words = STEPS[name]
    [row] = box.allowed(make(box))
    assert words in row
    assert row.endswith(".")
    assert row.isprintable()


def test_honest_system_steps_are_taken_and_taken_back(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RealGround, "account_number", lambda _self, name: 1000 if name == "ada" else -1)
    honest = (
        *(step("library-folder", box.root / "opt/cuda/lib64"), step("device-group", "ada", "render")),
        *(step("reload-uvm"), step("nouveau-off"), step("cdi")),
    )
    assert box.allowed(*honest) == ()
    assert box.allowed(*(s.inverse() for s in honest), back=True) == ()
    assert [consent_action((s,)) for s in honest] == [f"system-{s.kind}" for s in honest]


def test_what_is_honest_is_taken(box: Box) -> None:
    lib64 = box.root / "opt/cuda/lib64"
    honest = (
        entry(lib64),
        entry(lib64, "LD_LIBRARY_PATH"),
        place(lib64 / LIB, box.root / "opt/spare" / LIB),
        place(lib64 / "libcudnn_cnn.so", after=f"-> {LIB}"),
        FileSet(title="t", items=(FileItem(path=str(lib64 / LIB), before="0" * 64, after=""),)),
        variable("CUDA_VISIBLE_DEVICES", None),
        variable("CUDA_HOME", None),
        changes.remove_entry(Value(text="/gone:/bin"), 0, "linux", name="PATH", scope="machine"),
        changes.remove_entry(Value(text="/bin:/usr/bin:/bin/"), 2, "linux", name="PATH", scope="machine"),
        changes.remove_entry(Value(text=f"{box.eve}"), 0, "linux", name="LD_LIBRARY_PATH", scope="machine"),
    )
    assert box.allowed(*honest) == ()


def test_a_way_back_puts_nothing_where_others_could_make_it(box: Box) -> None:
    """What was taken out because it was gone is put back only where none but the administrator can make it anew."""
    assert box.allowed(entry(box.root / "opt/gone/bin"), back=True) == ()
    [row] = box.allowed(entry("/var/tmp/convalesce-gone/bin"), back=True)
    assert "/var/tmp can be changed by ordinary users" in row
    [row] = box.allowed(variable("CUDA_PATH", str(box.eve / "gone")), back=True)
    assert "home/eve can be changed by ordinary users" in row
    assert box.allowed(variable("CUDA_VISIBLE_DEVICES", "-1"), back=True) == ()
    [row] = box.allowed(variable("LD_PRELOAD", "/opt/x.so"), back=True)
    assert "LD_PRELOAD" in row


def test_what_is_asked_for_has_the_word_of_its_kind() -> None:
    one, other = variable("CUDA_PATH", None), FileSet(title="t", items=())
    assert consent_action((one,), back=True) == "undo"
    assert consent_action((one, other)) == "changes"
    assert consent_action((one,)) == consent_action((one, one)) not in ("undo", "changes")


@pytest.mark.parametrize(
    ("folder", "plain"),
    [
        (r"C:\Program Files\x", True),
        ("C:/Program Files/x", True),
        (r"C:\Program Files\..\Users\eve", False),
        ("C:/Program Files/../Users/eve", False),
        (r"C:\x\.\y", False),
        (r"\\server\share", False),
        (r"C:\x:stream", False),
        ("x", False),
    ],
)
def test_a_folder_of_windows_is_plain_with_both_slashes(folder: str, plain: bool) -> None:
    assert is_plain_path(folder, "windows") is plain
