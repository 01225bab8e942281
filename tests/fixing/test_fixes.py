"""From findings to changes: the right edit on either system, none where only the person should act."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from msgspec.structs import replace

from core.fixes.catalogue import attach_changes
from core.fixes.files import dll_hook
from core.fixes.lines import advice_of_lines, edit_lines
from core.fixes.search_paths import add_folder_for_concerned
from core.fixes.variables import has_activation
from core.host.startup import edit
from core.model.changes import EditLine, EditPath, ExchangePackages, FileSet, SetVariable, Value
from core.model.facts import (
    NOT_EDITED,
    Attempt,
    ComputeCache,
    Consumer,
    CudaInit,
    CudnnCopy,
    Distribution,
    Driver,
    DriverLibrary,
    Environment,
    How,
    LibraryFile,
    LineForm,
    Load,
    Machine,
    PathEntry,
    PythonEnvironment,
    Resolution,
    Snapshot,
    Start,
    StartKind,
    StartLine,
    Toolkit,
    Variable,
)
from core.model.findings import Finding, Fix
from core.model.remedies import (
    AddDllFolders,
    AddFolder,
    DropDead,
    GiveOtherName,
    GivePlainName,
    InstallPackages,
    Place,
    PointTo,
    PutPackageBack,
    Remedy,
    TakeOut,
    TakeOutLine,
    Unset,
)
from core.model.steps import Severity, Step
from core.rules.consumer_loads import ConsumerLoad, consumer_loads
from core.rules.cudnn.cuda_libraries import single_cublas_remedy
from core.rules.cudnn.files import completing_remedy
from core.rules.cudnn.late_dependencies import plain_name_remedy
from core.rules.root_cause import diagnose
from core.rules.ways import THIS_SESSION

USER, MACHINE = "HKCU\\Environment", "HKLM\\SYSTEM\\CurrentControlSet\\Control\\Session Manager\\Environment"


def found(remedy: Remedy | None, severity: Severity = Severity.ERROR) -> Finding:
    fix = Fix(title="Do it", advice="By hand.", restart="program")
    return Finding(
        id="x.y", cause="", step=Step.CUDNN, severity=severity, title="t", subject="s", fix=fix, remedy=remedy
    )


def one_case(seen: Snapshot, place: int = 0) -> ConsumerLoad:
    return list(consumer_loads(seen))[place]


def told(seen: Snapshot, cause: str) -> Finding:
    """Return what the rules find, with the remedy that they name."""
    return next(f for f in diagnose(seen) if f.cause == cause)


def kept(name: str, value: str, scope: str = "user", kind: str = "REG_SZ", source: str = "") -> Variable:
    return Variable(
        name=name, value=value, scope=scope, kind=kind, source=source or (USER if scope == "user" else MACHINE)
    )


def machine(system: str, *variables: Variable, entries: tuple[PathEntry, ...] = (), **sections: object) -> Snapshot:
    environment = Environment(variables=variables, entries=entries)
    return Snapshot(machine=Machine(system=system), environment=environment, **sections)


def changes(finding: Finding, seen: Snapshot) -> tuple[object, ...]:
    got = attach_changes(finding, seen)
    assert got.remedy is None
    assert attach_changes(got, seen) == got
    assert got.fix is not None
    assert finding.fix is None or got.fix.advice.startswith(finding.fix.advice)
    assert (got.id, got.subject, got.severity) == (finding.id, finding.subject, finding.severity)
    return got.fix.changes


# --- variables -----------------------------------------------------------------------------------------------------


def test_a_hiding_variable_is_taken_from_where_it_is_kept() -> None:
    seen = machine("windows", kept("CUDA_VISIBLE_DEVICES", "-1"), Variable(name="CUDA_VISIBLE_DEVICES", value="-1"))
    [change] = changes(found(Unset(variable="CUDA_VISIBLE_DEVICES")), seen)
    before = Value(text="-1", kind="REG_SZ")
    assert change == SetVariable(name="CUDA_VISIBLE_DEVICES", scope="user", before=before, after=None)


@pytest.mark.parametrize(
    "variable",
    [
        Variable(name="CUDA_VISIBLE_DEVICES", value="-1"),
        Variable(name="CUDA_VISIBLE_DEVICES", value="-1", scope="login", source="bash -l"),
        kept("CUDA_VISIBLE_DEVICES", "-1", kind="REG_DWORD"),
        kept("CUDA_VISIBLE_DEVICES", "-1", source="HKCU\\Volatile Environment"),
    ],
)
def test_what_is_not_kept_or_not_a_text_is_left_to_the_person(variable: Variable) -> None:
    assert changes(found(Unset(variable="CUDA_VISIBLE_DEVICES")), machine("windows", variable)) == ()


@pytest.mark.parametrize(
    ("system", "value", "kind", "steps"),
    [
        ("linux", "gpus", "venv", ["unset-if gpus"]),
        ("linux", "", "venv", []),  # a value that a batch system may have set on purpose
        ("linux", "a\nb", "venv", []),
        ("linux", "gpus", "system", []),  # nothing activates it
        ("windows", "gpus", "venv", []),
    ],
)
def test_a_wrong_value_that_nothing_stores_is_kept_from_the_environment(
    system: str, value: str, kind: str, steps: list[str]
) -> None:
    its = Variable(name="JAX_PLATFORMS", value=value)
    seen = machine(system, its, pythons=(PythonEnvironment(prefix="/v", kind=kind, executable="/v/bin/python"),))
    made = changes(found(Unset(variable="JAX_PLATFORMS", value=value, prefixes=("/v",))), seen)
    assert [(c.scope, c.at, c.after.text) for c in made] == [("environment", "/v", s) for s in steps]


def test_a_value_goes_under_each_name_that_the_session_has_it_by() -> None:
    """Proxies are read in small letters first."""
    small, other = Variable(name="all_proxy", value="socks5://p"), Variable(name="ALL_PROXY", value="http://q")
    home = PythonEnvironment(prefix="/v", kind="venv", executable="/v/bin/python")
    wish = found(Unset(variable="ALL_PROXY", value="socks5://p", prefixes=("/v",)))
    assert [c.name for c in changes(wish, machine("linux", small, other, pythons=(home,)))] == ["all_proxy"]
    both = machine("linux", small, replace(other, value="socks5://p"), pythons=(home,))
    assert [c.name for c in changes(wish, both)] == ["all_proxy", "ALL_PROXY"]


def test_a_shell_script_is_never_edited() -> None:
    seen = machine("linux", kept("CUDA_VISIBLE_DEVICES", "-1", kind="", source="/home/me/.pam_environment"))
    assert changes(found(Unset(variable="CUDA_VISIBLE_DEVICES")), seen) == ()


def test_a_plan_is_never_half_the_users_and_half_the_administrators() -> None:
    seen = machine("windows", kept("CUDA_VISIBLE_DEVICES", "-1"), kept("CUDA_VISIBLE_DEVICES", "-1", "machine"))
    assert changes(found(Unset(variable="CUDA_VISIBLE_DEVICES")), seen) == ()


def test_on_windows_a_persons_value_goes_and_the_machines_own_that_it_hides_appears() -> None:
    own, machines = kept("PATHEXT", ".PY;.PYW"), kept("PATHEXT", ".COM;.EXE;.BAT;.CMD", "machine")
    [change] = changes(found(Unset(variable="PATHEXT", value=own.value)), machine("windows", own, machines))
    assert change == SetVariable(name="PATHEXT", scope="user", before=Value(text=own.value, kind="REG_SZ"), after=None)
    [change] = changes(found(PointTo(variable="PATHEXT", folder="")), machine("windows", own, machines))
    assert change.scope == "user"
    both = machine("windows", kept("CUDA_PATH", "C:\\gone"), kept("CUDA_PATH", "C:\\old", "machine"))
    [change] = changes(found(PointTo(variable="CUDA_PATH", folder="C:\\CUDA", right=("C:\\CUDA",))), both)
    assert (change.scope, change.after) == ("user", Value(text="C:\\CUDA", kind="REG_SZ"))


def test_cuda_path_names_the_newest_toolkit_or_goes() -> None:
    kits = tuple(Toolkit(root=f"C:\\CUDA\\v{v}", origin="installer", version=v) for v in ("12.4", "12.10", "11.8"))
    wrong = kept("CUDA_PATH", "C:\\gone", "machine")
    entry = PathEntry(variable="CUDA_PATH", index=0, text="C:\\gone", exists=False)
    seen = machine("windows", wrong, entries=(entry,), toolkits=kits)
    [change] = changes(told(seen, "cuda_path_env_wrong"), seen)
    assert (change.scope, change.after) == ("machine", Value(text="C:\\CUDA\\v12.10", kind="REG_SZ"))
    seen = machine("windows", wrong, entries=(entry,), toolkits=())
    [change] = changes(told(seen, "cuda_path_env_wrong"), seen)
    assert change.after is None


# --- search paths --------------------------------------------------------------------------------------------------


def test_a_folder_goes_last_on_the_users_path_of_windows() -> None:
    path = kept("Path", "%USERPROFILE%\\bin;;C:\\x", kind="REG_EXPAND_SZ")
    finding = found(AddFolder(folder="C:\\cudnn\\bin"))
    [change] = changes(finding, machine("windows", path))
    assert isinstance(change, EditPath)
    assert change.after == Value(text="%USERPROFILE%\\bin;;C:\\x;C:\\cudnn\\bin", kind="REG_EXPAND_SZ")
    [change] = changes(finding, machine("windows"))
    assert (change.before, change.after) == (None, Value(text="C:\\cudnn\\bin", kind="REG_EXPAND_SZ"))
    there = kept("Path", "c:\\CUDNN\\bin\\", kind="REG_EXPAND_SZ")
    assert changes(finding, machine("windows", there)) == ()


def test_on_linux_the_folder_goes_into_the_environments_that_it_concerns() -> None:
    loads, pythons = [], []
    for name in ("lacks", "has", "global"):
        consumer = Consumer(id=f"python:/{name}", kind="python", label=name, prefix=f"/{name}")
        there = (Attempt(path=f"/{name}/libcudnn.so.9", how=How.RUNPATH, outcome="found"),) if name == "has" else ()
        loads.append(Load(consumer=consumer, major=9, resolutions=(Resolution(name="libcudnn.so.9", attempts=there),)))
        pythons.append(PythonEnvironment(prefix=f"/{name}", kind="system" if name == "global" else "venv"))
    seen = machine("linux", loads=tuple(loads), pythons=tuple(pythons))
    nobody = found(None)
    [change] = changes(found(add_folder_for_concerned("/opt/cudnn/lib", nobody, seen)), seen)
    assert (change.at, change.after.text) == ("/lacks", "prepend /opt/cudnn/lib")
    one = msgspec.structs.replace(nobody, consumers=("python:/has",))
    [change] = changes(found(add_folder_for_concerned("/opt/cudnn/lib", one, seen)), seen)
    assert change.at == "/has"
    [change] = changes(found(AddFolder(folder="/opt/cudnn/lib", prefixes=("/has", "/global"))), seen)
    assert change.at == "/has"


def test_a_stale_cache_of_the_loader_is_for_an_administrator() -> None:
    stale = copy("/opt/cudnn/lib", cached_elsewhere="/old/libcudnn.so.9")
    finding = told(machine("linux", cudnn=(stale,)), "cudnn_not_on_search_path")
    assert (finding.id, finding.remedy) == ("cudnn.stale-loader-cache", None)


def test_a_note_offers_no_change() -> None:
    finding = found(AddFolder(folder="C:\\cudnn\\bin"), Severity.NOTE)
    assert changes(finding, machine("windows")) == ()


def shadow(how: How, *copies: CudnnCopy, system: str = "windows") -> dict[str, object]:
    name = "cudnn64_9.dll" if system == "windows" else "libcudnn.so.9"
    separator = "\\" if system == "windows" else "/"
    attempts = tuple(Attempt(path=f"{c.folder}{separator}{name}", how=how, outcome="found") for c in copies)
    load = Load(consumer=Consumer(id="plain", kind="plain", label="any program"), major=9, wanted_version="9.1.0", resolutions=(Resolution(name=name, attempts=attempts),))  # fmt: skip
    return {"cudnn": copies, "loads": (load,)}


def copy(folder: str, version: str = "9.1.0", origin: str = "folder", **fields: object) -> CudnnCopy:
    return CudnnCopy(folder=folder, origin=origin, major=9, version=version, **fields)


def test_the_right_folder_is_moved_before_the_one_that_hides_it() -> None:
    path = kept("Path", "C:\\a;C:\\old;C:\\b;C:\\new", "machine", "REG_EXPAND_SZ")
    seen = machine("windows", path, **shadow(How.PATH, copy("C:\\old", "9.0.0"), copy("C:\\new")))
    [change] = changes(told(seen, "cudnn_shadowed"), seen)
    assert (change.scope, change.after.text) == ("machine", "C:\\a;C:\\new;C:\\old;C:\\b")


def test_a_folder_of_the_users_path_is_put_into_the_machines_where_the_wrong_one_stands() -> None:
    both = (kept("Path", "C:\\a;C:\\old", "machine", "REG_EXPAND_SZ"), kept("Path", "C:\\new", "user", "REG_SZ"))
    seen = machine("windows", *both, **shadow(How.PATH, copy("C:\\old", "9.0.0"), copy("C:\\new")))
    [change] = changes(told(seen, "cudnn_shadowed"), seen)
    assert (change.scope, change.after.text) == ("machine", "C:\\a;C:\\new;C:\\old")


def test_a_stray_copy_in_system32_is_put_aside_and_an_owned_one_is_not() -> None:
    files = (LibraryFile(path="C:\\Windows\\System32\\cudnn64_9.dll", name="cudnn64_9.dll"),)
    stray = copy("C:\\Windows\\System32", "9.0.0", "system", files=files)
    seen = machine("windows", **shadow(How.SYSTEM, stray, copy("C:\\new")))
    [change] = changes(told(seen, "cudnn_shadowed"), seen)
    assert isinstance(change, FileSet)
    assert [(i.path, i.before, i.after) for i in change.items] == [(files[0].path, "?", "")]
    owned = copy("C:\\Windows\\System32", "9.0.0", "system", files=files, owner="Program 1.0")
    seen = machine("windows", **shadow(How.SYSTEM, owned, copy("C:\\new")))
    assert changes(told(seen, "cudnn_shadowed"), seen) == ()


def test_an_override_is_dropped_where_the_environment_has_an_activation() -> None:
    prefix = "/home/me/venv"
    own = copy(f"{prefix}/lib", environment=prefix, origin="wheel")
    other = copy("/opt/mixed", "9.0.0")
    winner = Attempt(path="/opt/mixed/libcudnn.so.9", how=How.LD_LIBRARY_PATH, outcome="found", via="/opt/mixed/")
    consumer = Consumer(id=f"python:{prefix}", kind="python", label="the environment", prefix=prefix)
    load = Load(consumer=consumer, major=9, resolutions=(Resolution(name="libcudnn.so.9", attempts=(winner,)),))
    for kind, expected in (("venv", 1), ("conda", 1), ("system", 0)):
        python = PythonEnvironment(prefix=prefix, kind=kind)
        seen = machine("linux", cudnn=(other, own), loads=(load,), pythons=(python,))
        made = changes(told(seen, "ld_library_path_override"), seen)
        assert len(made) == expected
    assert made == ()
    lasting = kept("LD_LIBRARY_PATH", "/a:/opt/mixed:/b", "machine", "", "/etc/environment")
    seen = machine("linux", lasting, cudnn=(other, own), loads=(load,), pythons=(python,))
    [change] = changes(told(seen, "ld_library_path_override"), seen)
    assert (change.at, change.after.text) == ("/etc/environment", "/a:/b")


def test_dead_entries_go_and_folders_that_may_come_back_stay() -> None:
    value = "C:\\CUDA\\v9\\bin;E:\\usb;C:\\x;C:\\x;C:\\cudnn\\gone"
    marks = {"C:\\CUDA\\v9\\bin": ("missing",), "E:\\usb": ("missing",), "C:\\cudnn\\gone": ("missing",)}
    texts = value.split(";")
    entries = tuple(
        PathEntry(variable="PATH", index=i, text=t, scope="user", marks=("duplicate",) if i == 3 else marks.get(t, ()))
        for i, t in enumerate(texts)
    )
    seen = machine("windows", kept("Path", value, kind="REG_EXPAND_SZ"), entries=entries)
    [finding] = [f for f in diagnose(seen) if f.id == "environment.untidy-path"]
    assert finding.severity is Severity.NOTE
    made = changes(finding, seen)
    assert made[-1].after.text == "E:\\usb;C:\\x"
    assert all(c.problem() == "" for c in made)
    assert [c.before.text for c in made[1:]] == [c.after.text for c in made[:-1]]


def test_dead_entries_go_from_the_users_path_before_the_machines() -> None:
    dead = (("user", "C:\\gone"), ("machine", "C:\\lost"))
    both = (kept("Path", "C:\\gone;C:\\x"), kept("Path", "C:\\lost;C:\\y", "machine"))
    remedy = DropDead(variable="PATH", entries=dead)
    assert [c.after.text for c in changes(found(remedy), machine("windows", *both))] == ["C:\\x"]
    assert [c.after.text for c in changes(found(remedy), machine("windows", both[1]))] == ["C:\\y"]


@pytest.mark.parametrize(
    ("system", "kind", "prefix", "has"),
    [
        ("linux", "venv", "/home/ada/ml", True),
        ("linux", "conda", "/home/ada/ml", True),
        ("linux", "system", "/home/ada/ml", False),
        ("linux", "venv", "/home/ada/other", False),
        ("windows", "venv", "/home/ada/ml", False),
    ],
)
def test_which_environments_have_an_activation_for_a_step(system: str, kind: str, prefix: str, has: bool) -> None:
    assert has_activation(machine(system, pythons=named("/home/ada/ml", kind=kind)), prefix) is has


def test_the_title_says_whether_an_environment_alone_is_changed() -> None:
    seen = machine("linux", pythons=named("/home/ada/ml"))
    made = attach_changes(
        found(PointTo(variable="CUDA_PATH", folder="/usr/local/cuda", right=("/usr/local/cuda",))), seen
    )
    assert made.fix is not None
    assert made.fix.title == "Do it, in this environment"
    lasting = machine("windows", kept("CUDA_PATH", "C:\\gone"))
    made = attach_changes(found(Unset(variable="CUDA_PATH")), lasting)
    assert made.fix is not None
    assert made.fix.title == "Do it"


# --- files ---------------------------------------------------------------------------------------------------------


def library(folder: str, name: str, size: int = 10, **fields: object) -> LibraryFile:
    return LibraryFile(path=f"{folder}/{name}", name=name, size=size, version="9.1.0", **fields)


def of_the_first(seen: Snapshot) -> Remedy | None:
    return completing_remedy(seen, seen.cudnn[0])


def sets(**donor: object) -> Snapshot:
    mine = copy("/mine", files=(library("/mine", "libcudnn.so.9"),), missing=("libcudnn_ops.so.9",))
    names = ("libcudnn.so.9", "libcudnn_ops.so.9")
    files = tuple(library("/donor", n) for n in names)
    return machine("linux", cudnn=(mine, copy("/donor", **({"files": files} | donor))))


def test_a_gap_is_filled_from_an_identical_set() -> None:
    [change] = changes(found(of_the_first(sets())), sets())
    [item] = change.items
    assert (item.path, item.source, item.before, item.after) == (
        "/mine/libcudnn_ops.so.9", "/donor/libcudnn_ops.so.9", "", "?",
    )  # fmt: skip


@pytest.mark.parametrize(
    "donor",
    [
        {"version": "9.1.1"},
        {"version": None},
        {"missing": ("libcudnn_cnn.so.9",)},
        {"cuda_major": 11, "files": ()},
        {"files": (library("/donor", "libcudnn.so.9", size=11), library("/donor", "libcudnn_ops.so.9"))},
        {"files": (library("/donor", "libcudnn.so.9"), library("/donor", "libcudnn_ops.so.9", state="truncated"))},
        {"files": (library("/donor", "libcudnn.so.9"), library("/donor", "libcudnn_ops.so.9", record="hash differs"))},
    ],
    ids=["other version", "unknown version", "incomplete", "other CUDA", "other build", "cut", "differs from RECORD"],
)
def test_nothing_is_taken_from_a_set_that_is_not_identical_and_sound(donor: dict[str, object]) -> None:
    assert of_the_first(sets(**donor)) is None


@pytest.mark.parametrize(("size", "planned"), [(4_500_000, 4_500_000), (None, 0)])
def test_on_windows_the_plain_name_is_a_copy_with_the_size_of_the_file(size: int | None, planned: int) -> None:
    bare, other = "nvrtc64_112_0.dll", "nvrtc-builtins64_114-6c5639ce.dll"
    files = (
        LibraryFile(path=rf"C:\t\{other}", name=other, version="11.4.1", size=size),
        LibraryFile(path=rf"C:\t\{bare}", name=bare, version="11.4.1"),
    )
    kit = Toolkit(root=r"C:\t", origin="framework", folder=r"C:\t", libraries=files)
    for toolkits, expected in (((kit,), planned), ((), 0)):
        remedy = GivePlainName(file=files[0].path, name="nvrtc-builtins64_114.dll")
        [change] = changes(found(remedy), machine("windows", toolkits=toolkits))
        [item] = change.items
        assert (item.path, item.after, item.source) == (r"C:\t\nvrtc-builtins64_114.dll", "?", files[0].path)
        assert item.size == expected


@pytest.mark.parametrize(("version", "expected"), [("11.4.1", 1), ("11.5.0", 0)])
def test_renamed_builtins_get_their_plain_name_only_for_the_same_version(version: str, expected: int) -> None:
    files = (
        LibraryFile(path="/t/libnvrtc-672ee683.so.11.2", name="libnvrtc-672ee683.so.11.2", version=version),
        LibraryFile(path="/t/libnvrtc-builtins-6c5639ce.so.11.4", name="libnvrtc-builtins-6c5639ce.so.11.4", version="11.4.1"),
    )  # fmt: skip
    kit = Toolkit(root="/t", origin="framework", folder="/t", libraries=files)
    made = changes(found(plain_name_remedy("linux", files[1], files[0])), machine("linux", toolkits=(kit,)))
    assert len(made) == expected
    if made:
        [item] = made[0].items
        assert (item.path, item.after) == ("/t/libnvrtc-builtins.so.11.4", "-> libnvrtc-builtins-6c5639ce.so.11.4")


@pytest.mark.parametrize("folder", ["C:\\it's\\bin", "C:\\Zo\u00eb \u732b\\bin", "C:\\a\nimport evil", 'C:\\"'])
def test_the_hook_for_dlls_is_one_line_that_python_runs(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    [item] = dll_hook("C:\\venv\\Lib\\site-packages", folder).items
    assert item.text is not None
    assert item.text.startswith("import ")
    assert item.text.count("\n") == 1
    assert item.text.isascii(), "Python reads such a file in the alphabet of the system"
    added: list[str] = []
    monkeypatch.setattr(os, "add_dll_directory", added.append, raising=False)
    monkeypatch.setattr(os.path, "isdir", lambda _path: True)
    exec(compile(item.text, "hook.pth", "exec"), {})
    assert added == [folder]


def test_a_cause_without_a_fix_of_ours_keeps_its_advice() -> None:
    finding = found(None)
    assert attach_changes(finding, machine("linux")) == finding
    back = found(PutPackageBack(prefix="/v", package="nvidia-cudnn-cu12", version="9.1.0.70"))
    assert changes(back, machine("linux")) == ()


# --- what only a person changes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line", ["CUDA_VISIBLE_DEVICES=-1", "CUDA_VISIBLE_DEVICES DEFAULT=-1", "  CUDA_VISIBLE_DEVICES\t=-1"]
)
def test_the_line_of_pam_environment_is_named_and_the_command_takes_it_out(tmp_path: Path, line: str) -> None:
    place = tmp_path / "it's" / ".pam_environment"
    place.parent.mkdir()
    place.write_text(f"LANG=C\n{line}\nCUDA_VISIBLE_DEVICES_2=0\n")
    variable = Variable(name="CUDA_VISIBLE_DEVICES", value="-1", scope="user", source=str(place))
    seen = machine("linux", variable)
    cured = attach_changes(found(Unset(variable="CUDA_VISIBLE_DEVICES")), seen)
    assert cured.fix is not None
    assert cured.fix.changes == ()
    first, words, command = cured.fix.advice.splitlines()
    assert (first, words.startswith(f"{place} sets CUDA_VISIBLE_DEVICES.")) == ("By hand.", True)
    assert attach_changes(cured, seen) == cured
    subprocess.run(command, shell=True, check=True)
    assert place.read_text() == "LANG=C\nCUDA_VISIBLE_DEVICES_2=0\n"


# --- environments of their own -------------------------------------------------------------------------------------


def named(*prefixes: str, kind: str = "venv") -> tuple[PythonEnvironment, ...]:
    return tuple(PythonEnvironment(prefix=p, kind=kind, found_by="--python") for p in prefixes)


def test_a_wrong_cuda_path_that_is_kept_nowhere_is_set_right_in_the_environments_that_were_named() -> None:
    kit = Toolkit(root="/usr/local/cuda-12.4", origin="installer", version="12.4")
    seen = machine("linux", Variable(name="CUDA_HOME", value="."), toolkits=(kit,), pythons=named("/a", "/b"))
    made = changes(told(seen, "cuda_path_env_wrong"), seen)
    assert [(c.name, c.at, c.after.text) for c in made] == [
        ("CUDA_HOME", "/a", "set /usr/local/cuda-12.4"),
        ("CUDA_HOME", "/b", "set /usr/local/cuda-12.4"),
    ]
    other = (PythonEnvironment(prefix="/c", kind="venv", found_by="python3 further on"),)
    away = found(PointTo(variable="CUDA_HOME", folder=""))
    assert changes(away, machine("linux", pythons=other)) == ()
    assert changes(away, machine("windows", pythons=named("C:\\a"))) == ()


def test_a_wrong_libcuda_goes_off_the_kept_variable_or_off_the_environments() -> None:
    entry = PathEntry(variable="LD_LIBRARY_PATH", index=1, text="/cuda/stubs/", expanded="/cuda/stubs/")
    other = PathEntry(variable="LD_LIBRARY_PATH", index=0, text="/srv")
    finding = found(TakeOut(variable="LD_LIBRARY_PATH", places=(Place(folder="/cuda/stubs/"),)))
    seen = machine("linux", entries=(other, entry), pythons=named("/v"))
    [change] = changes(finding, seen)
    assert (change.at, change.after.text) == ("/v", "drop /cuda/stubs/")
    lasting = kept("LD_LIBRARY_PATH", "/srv:/cuda/stubs/", "user", "", "/home/me/.config/environment.d/a.conf")
    [change] = changes(finding, machine("linux", lasting, entries=(other, entry), pythons=named("/v")))
    assert (change.at, change.after.text) == (lasting.source, "/srv")
    stub = DriverLibrary(path="/cuda/stubs/libcuda.so.1", stub=True)
    driver = Driver(cuda=CudaInit(status=34, library=stub.path), libraries=(stub,))
    assert told(msgspec.structs.replace(seen, driver=driver), "libcuda_wrong_library").remedy == finding.remedy
    driver = Driver(cuda=CudaInit(status=34, library="/usr/lib/libcuda.so.1"))
    assert told(msgspec.structs.replace(seen, driver=driver), "libcuda_wrong_library").remedy is None


def test_the_loader_s_cache_is_passed_by_in_the_environment_that_suffers() -> None:
    old, new = copy("/usr/local/cudnn-9.0/lib64", "9.0.0"), copy("/usr/local/cudnn-9.1/lib64")
    sections = shadow(How.LD_CACHE, old, new, system="linux")
    [load] = sections["loads"]
    mine = msgspec.structs.replace(load, consumer=Consumer(id="python:/v", kind="python", label="v", prefix="/v"))
    seen = machine("linux", pythons=named("/v"), **{**sections, "loads": (load, mine)})
    [change] = changes(told(seen, "cudnn_shadowed"), seen)
    assert (change.at, change.after.text) == ("/v", f"prepend {new.folder}")


def test_each_environment_gets_its_own_copy_back_before_the_one_that_hides_both() -> None:
    old = copy("/usr/lib/cudnn", "9.0.0")
    own = {p: copy(f"{p}/lib/cudnn", environment=p, origin="wheel") for p in ("/a", "/b")}
    [load] = shadow(How.LD_CACHE, old, system="linux")["loads"]
    loads = tuple(
        msgspec.structs.replace(load, consumer=Consumer(id=f"python:{p}", kind="python", label=p, prefix=p))
        for p in own
    )
    seen = machine("linux", cudnn=(old, *own.values()), loads=loads, pythons=named(*own))
    made = changes(told(seen, "cudnn_shadowed"), seen)
    assert [(c.at, c.after.text) for c in made] == [(p, f"prepend {p}/lib/cudnn") for p in own]


def test_half_of_cublas_goes_off_where_the_environment_has_both() -> None:
    def search(name: str, *attempts: Attempt) -> Resolution:
        return Resolution(name=name, attempts=attempts)

    own = Attempt(path="/v/lib/libcublas.so.12", how=How.RUNPATH, outcome="found")
    away = Attempt(path="/old/libcublasLt.so.12", how=How.LD_LIBRARY_PATH, outcome="found")
    consumer = Consumer(id="python:/v", kind="python", label="v", prefix="/v")
    load = Load(
        consumer=consumer, major=9, resolutions=(search("libcublas.so.12", own), search("libcublasLt.so.12", away))
    )
    seen = machine("linux", loads=(load,), pythons=named("/v"))
    [change] = changes(found(single_cublas_remedy(one_case(seen))), seen)
    assert (change.at, change.after.text) == ("/v", "drop /old")
    whole = msgspec.structs.replace(load, resolutions=(search("libcublas.so.12", own),))
    assert single_cublas_remedy(one_case(machine("linux", loads=(whole,)))) is None


# --- Windows' Python, and files for another processor ----------------------------------------------------------------


def python_that_lacks(version: str = "3.11.4", kind: str = "venv") -> Snapshot:
    there = Attempt(path="C:\\cudnn\\bin\\cudnn64_8.dll", how=How.PATH, outcome="found")
    lost = Attempt(path="C:\\v\\cudnn64_8.dll", how=How.APPLICATION, outcome="not there")
    plain = Load(consumer=Consumer(id="plain", kind="plain", label="any"), major=8, resolutions=(Resolution(name="cudnn64_8.dll", attempts=(there,)),))  # fmt: skip
    consumer = Consumer(id="python:C:\\v", kind="python", label="v", prefix="C:\\v", framework="cupy-cuda111 10.6.0")
    mine = Load(consumer=consumer, major=8, resolutions=(Resolution(name="cudnn64_8.dll", attempts=(lost,)),))
    site = "C:\\v\\Lib\\site-packages"
    python = PythonEnvironment(prefix="C:\\v", kind=kind, version=version, site_packages=(site,))
    return machine("windows", loads=(plain, mine), pythons=(python,))


def test_a_python_that_does_not_search_path_gets_a_hook_of_its_own() -> None:
    seen = python_that_lacks()
    [change] = changes(told(seen, "python_dll_search_change"), seen)
    [item] = change.items
    assert item.path == "C:\\v\\Lib\\site-packages\\convalesce_cuda.pth"
    assert (
        item.text == "import os; os.path.isdir('C:\\\\cudnn\\\\bin') and os.add_dll_directory('C:\\\\cudnn\\\\bin')\n"
    )


@pytest.mark.parametrize(("version", "kind"), [("3.7.9", "venv"), ("3.11.4", "store")])
def test_a_python_that_searches_path_or_cannot_be_hooked_gets_none(version: str, kind: str) -> None:
    seen = python_that_lacks(version, kind)
    assert changes(told(seen, "python_dll_search_change"), seen) == ()


def test_a_copy_for_this_processor_is_moved_before_one_for_another() -> None:
    foreign = copy(
        "C:\\x86", files=(LibraryFile(path="C:\\x86\\cudnn64_9.dll", name="cudnn64_9.dll", architecture="x86"),)
    )
    mine = copy(
        "C:\\new", files=(LibraryFile(path="C:\\new\\cudnn64_9.dll", name="cudnn64_9.dll", architecture="x86_64"),)
    )
    sections = shadow(How.PATH, foreign, mine)
    [load] = sections["loads"]
    [search] = load.resolutions
    first = Attempt(path="C:\\x86\\cudnn64_9.dll", how=How.PATH, outcome="wrong architecture", stops=True)
    load = msgspec.structs.replace(
        load, resolutions=(msgspec.structs.replace(search, attempts=(first, search.attempts[1])),)
    )
    path = kept("Path", "C:\\x86;C:\\a;C:\\new", "machine", "REG_EXPAND_SZ")
    seen = machine("windows", path, cudnn=(foreign, mine), loads=(load,))
    finding = told(seen, "dll_wrong_architecture")
    [change] = changes(finding, seen)
    assert (change.scope, change.after.text) == ("machine", "C:\\new;C:\\x86;C:\\a")
    assert finding.fix.title == "Make sure that C:\\new is found before C:\\x86"


def test_modules_in_the_way_get_other_names_and_a_package_is_put_aside() -> None:
    files = (("/w/torch.py", "my_torch.py"), ("/w/types.py", "my_types.py"))
    [change] = changes(found(GiveOtherName(files=files)), machine("linux"))
    assert change.title == "Rename torch.py and types.py to my_torch.py and my_types.py"
    assert [(i.path, i.before, i.after, i.source) for i in change.items[:2]] == [
        ("/w/my_torch.py", "", "?", "/w/torch.py"),
        ("/w/torch.py", "?", "", ""),
    ]
    [change] = changes(found(GiveOtherName(files=(("/w/torch", ""),))), machine("linux"))
    assert [(i.path, i.before, i.after) for i in change.items] == [("/w/torch", "folder", "")]


def way(name: str, *, at: str = "/w/Makefile", value: str = "/w/stubs", lines: bool = True) -> Start:
    row = StartLine(name=name, does="set", value=value, file=at, line=3, form="assignments")
    return Start(
        id=f"task:{at}",
        kind="task",
        variables=(Variable(name=name, value=value, source=at),),
        lines=(row,) if lines else (),
    )


def test_a_line_loses_the_entry_that_leads_to_a_module_in_the_way() -> None:
    finding = replace(
        found(GiveOtherName(files=(("/w/stubs/torch", ""),), entry="/w/stubs")), ways=("task:/w/Makefile",)
    )
    seen = replace(machine("linux"), starts=(way("PYTHONPATH"),))
    fixed = attach_changes(finding, seen)
    assert fixed.fix is not None
    [change] = fixed.fix.changes
    assert isinstance(change, EditLine)
    assert (change.path, change.line, change.name, change.entry) == ("/w/Makefile", 3, "PYTHONPATH", "/w/stubs")
    assert (fixed.fix.title, fixed.fix.advice) == ("Remove /w/stubs from PYTHONPATH", "")
    [other] = changes(finding, replace(seen, starts=(way("PYTHONPATH", lines=False),)))
    assert isinstance(other, FileSet)  # no line tells how it comes there
    [ours] = changes(replace(finding, ways=(THIS_SESSION, "task:/w/Makefile")), seen)
    assert isinstance(ours, FileSet)  # this session has it from elsewhere


def test_a_folder_is_put_in_front_in_the_line_of_another_way() -> None:
    finding = replace(
        found(AddFolder(folder="/v/lib", more=("/v/more",), prefixes=("/v",))), ways=("task:/w/Makefile",)
    )
    seen = replace(machine("linux"), starts=(way("LD_LIBRARY_PATH", value="/old"),))
    fixed = attach_changes(finding, seen)
    assert fixed.fix is not None
    [change] = fixed.fix.changes
    assert isinstance(change, EditLine)
    assert (change.path, change.line, change.front) == ("/w/Makefile", 3, ("/v/lib", "/v/more"))
    assert fixed.fix.advice == "In /w/Makefile, line 3: put /v/lib:/v/more before the other folders of LD_LIBRARY_PATH."
    everybodys = replace(seen, starts=(replace(way("LD_LIBRARY_PATH", at="/etc/profile"), id="task:/w/Makefile"),))
    advised = attach_changes(finding, everybodys).fix
    assert advised is not None
    assert advised.changes == ()
    assert advised.advice.startswith("In /etc/profile, line 3")


def test_a_line_of_powershell_that_sets_path_is_told_under_what_is_to_be_done() -> None:
    """No cure edits such a line, and PATH is what it lacks, whatever else could let Python find DLLs."""
    row = StartLine(name="PATH", does="set", value="C:\\old", file="C:\\run.ps1", line=3, form="powershell")
    its = Start(id="script:C:\\run.ps1", kind="script", at="C:\\run.ps1", lines=(row,))
    finding = replace(found(AddDllFolders(prefix="C:\\v", folders=("C:\\cuda",))), ways=(its.id,))
    fix = attach_changes(finding, machine("windows", starts=(its,))).fix
    assert fix is not None
    assert (fix.title, fix.changes) == ("Put C:\\cuda on the search path", ())
    assert fix.advice == "In C:\\run.ps1, line 3: put C:\\cuda before the other folders of PATH."


OLD_LINE = StartLine(name="LD_LIBRARY_PATH", does="set", value="/old", file="/w/Makefile", line=3)
UNSET_LINE = replace(OLD_LINE, does="unset", value="", line=9)


@pytest.mark.parametrize(
    ("lines", "taken", "advised"),
    [
        ((OLD_LINE,), (), "In /w/Makefile, line 3: put /v/lib"),
        ((OLD_LINE, replace(OLD_LINE, line=5)), (), "In /w/Makefile, line 5: put /v/lib"),
        ((OLD_LINE, replace(OLD_LINE, name="PYTHONPATH", line=5)), (), "In /w/Makefile, line 3: put /v/lib"),
        ((OLD_LINE, replace(OLD_LINE, line=5, overridden=True)), (), "In /w/Makefile, line 3: put /v/lib"),
        ((OLD_LINE, UNSET_LINE), (), "In /w/Makefile, line 3: put /v/lib"),
        ((), (UNSET_LINE,), "Line 9 of /w/Makefile unsets LD_LIBRARY_PATH."),
        ((UNSET_LINE,), (UNSET_LINE,), "Line 9 of /w/Makefile unsets LD_LIBRARY_PATH."),
        ((replace(OLD_LINE, name="PYTHONPATH"),), (replace(UNSET_LINE, name="PYTHONPATH"),), ""),
    ],
)
def test_the_line_that_is_named_is_the_last_that_gives_the_search_path(
    lines: tuple[StartLine, ...], taken: tuple[StartLine, ...], advised: str
) -> None:
    remedy = AddFolder(folder="/v/lib", prefixes=("/v",))
    its = Start(id="task:/w/Makefile", kind="task", lines=lines, taken=taken)
    seen = machine("linux", starts=(its,))
    told = advice_of_lines(remedy, replace(found(remedy), ways=(its.id,)), seen)
    assert (told.startswith(advised), bool(told)) == (True, bool(advised))
    assert len(told.splitlines()) <= 1
    for ways in ((), (THIS_SESSION,), (THIS_SESSION, its.id)):  # this session's own fault is cured here
        assert advice_of_lines(remedy, replace(found(remedy), ways=ways), seen) == ""


@pytest.mark.parametrize(
    ("remedy", "name", "value", "advised"),
    [
        (AddFolder(folder="/v/lib"), "LD_LIBRARY_PATH", "/old", "put /v/lib before the other folders of LD_LIBRARY_PATH."),
        (TakeOut(variable="LD_LIBRARY_PATH", places=(Place(folder="/old", prefix="/v"),)), "LD_LIBRARY_PATH", "/old:/b",
         "remove /old from LD_LIBRARY_PATH."),
        (Unset(variable="XLA_FLAGS"), "XLA_FLAGS", "--x", "remove XLA_FLAGS."),
        (PointTo(variable="CUDA_HOME", folder="/cuda", right=("/cuda",)), "CUDA_HOME", "/old", "set CUDA_HOME to /cuda."),
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", NOT_EDITED)
def test_a_line_that_no_cure_edits_is_told_and_no_change_is_offered(
    remedy: Remedy, name: str, value: str, advised: str, form: LineForm
) -> None:
    its = way(name, at="/w/settings.py", value=value)
    its = replace(its, lines=(replace(its.lines[0], form=form),))
    fixed = attach_changes(replace(found(remedy), ways=(its.id,)), replace(machine("linux"), starts=(its,)))
    assert fixed.fix is not None
    assert fixed.fix.changes == ()
    assert fixed.fix.advice == f"In /w/settings.py, line 3: {advised}"


@pytest.mark.parametrize(
    ("kind", "at", "told"),
    [
        ("cron", "/var/spool/cron/crontabs/ada: cd /w && python main.py",
         "In /var/spool/cron/crontabs/ada, add this line before the jobs: LD_LIBRARY_PATH=/v/lib"),
        ("service", "/home/ada/.config/systemd/user/a.service",
         ("In /home/ada/.config/systemd/user/a.service, add this line to the section [Service], and start it again: "
         "Environment=LD_LIBRARY_PATH=/v/lib")),
        ("service", "/w/gunicorn.conf.py", "By hand."),
    ],
)  # fmt: skip
def test_a_way_without_a_line_is_told_the_line_that_it_needs(kind: StartKind, at: str, told: str) -> None:
    its = Start(id=f"{kind}:{at}", kind=kind, at=at)
    finding = replace(found(AddFolder(folder="/v/lib")), ways=(its.id,))
    fixed = attach_changes(finding, replace(machine("linux"), starts=(its,)))
    assert fixed.fix is not None
    assert (fixed.fix.advice, fixed.fix.changes) == (told, ())


def test_every_other_line_can_be_edited() -> None:
    assert {*get_args(LineForm), "json"} - set(NOT_EDITED) == {*edit._FORMS, "json"}


@pytest.mark.parametrize(
    ("folder", "scope"), [("/v/lib/python3.11/site-packages", "user"), ("/usr/lib/python3/dist-packages", "machine")]
)
def test_a_line_of_a_pth_file_is_edited(folder: str, scope: str) -> None:
    remedy = TakeOutLine(file=f"{folder}/dev.pth", line=2, folder="/srv/dev")
    [change] = changes(found(remedy), machine("linux"))
    assert (change.path, change.form, change.line, change.entry) == (remedy.file, "pth", 2, "/srv/dev")
    assert change.scope == scope


def terminal(value: str, **line: object) -> Start:
    """Return a terminal that gets PYTHONPATH by a line of ~/.bashrc."""
    row = StartLine(**({"name": "PYTHONPATH", "does": "set", "value": value, "file": "/h/.bashrc", "line": 3} | line))
    had = (Variable(name="PYTHONPATH", value=value, source="/h/.bashrc"),)
    return Start(id="terminal:bash", kind="terminal", variables=had, lines=(row,))


@pytest.mark.parametrize(
    ("ours", "start", "edited"),
    [
        ("/w/stubs", terminal("/w/stubs"), [3]),
        ("/w/stubs:/x", terminal("/w/stubs"), []),  # this session has it by hand as well
        ("/w/stubs", replace(terminal("/w/stubs"), kind="task"), []),  # and no session begins with it
        ("", terminal("/w/stubs"), []),
        ("/w/stubs", terminal("/w/stubs", does="unset"), []),
        ("/w/stubs", terminal("/w/stubs", line=0), []),
        ("/w/stubs", terminal("/w/stubs", name="LD_LIBRARY_PATH"), []),
    ],
)
def test_an_entry_goes_by_its_line_where_this_session_has_it_by_that_line(
    ours: str, start: Start, edited: list[int]
) -> None:
    remedy = GiveOtherName(files=(("/w/stubs/torch", ""),), entry="/w/stubs")
    had = (Variable(name="PYTHONPATH", value=ours, source="environment"),) if ours else ()
    made = edit_lines(remedy, found(remedy), machine("linux", *had, starts=(start,)))
    assert [c.line for c in made] == edited


def test_on_windows_a_line_is_edited_for_a_whole_value_alone() -> None:
    value = Variable(name="CUDA_HOME", value=r"C:\gone", source="environment")
    row = StartLine(name="CUDA_HOME", does="set", value=r"C:\gone", file=r"C:\h\run.cmd", line=2, form="cmd")
    start = Start(id="task:run", kind="task", variables=(value,), lines=(row,))
    finding = replace(found(Unset(variable="CUDA_HOME")), ways=(start.id,))
    seen = machine("windows", starts=(start,))
    assert [type(c) for c in edit_lines(Unset(variable="CUDA_HOME"), finding, seen)] == [EditLine]
    for remedy, words in (
        (Unset(variable="CUDA_HOME"), "remove"),
        (PointTo(variable="CUDA_HOME", folder="C:\\b"), "set"),
    ):
        told = attach_changes(replace(finding, remedy=remedy), seen)
        assert told.fix
        assert told.fix.advice.startswith(rf"In C:\h\run.cmd, line 2: {words} CUDA_HOME")
    its = replace(row, name="PYTHONPATH", value=r"\\server\stubs")
    path = replace(start, lines=(its,), variables=(replace(value, name="PYTHONPATH", value=r"\\server\stubs"),))
    remedy = TakeOut(variable="PYTHONPATH", places=(Place(folder=r"\\server\stubs"),))
    assert edit_lines(remedy, finding, replace(seen, starts=(path,))) == ()


@pytest.mark.parametrize(
    ("lines", "edited"),
    [
        (({"line": 3}, {"line": 7, "value": "/c"}), [3, 7]),
        (({"line": 3, "does": "unset"}, {"line": 7}), [7]),
        (({"line": 3, "name": "PATH"}, {"line": 7}), [7]),
        (({"line": 3, "does": "open"}, {"line": 7}), []),
        (({"line": 0}, {"line": 7}), [7]),
        (({"line": 3}, {"line": 3}), [3]),
    ],
)
def test_every_line_that_gives_a_variable_is_taken_out(lines: tuple[dict[str, object], ...], edited: list[int]) -> None:
    known = {"name": "CUDA_HOME", "does": "set", "value": "/gone", "file": "/h/.bashrc"}
    rows = tuple(StartLine(**(known | line)) for line in lines)
    start = Start(id="terminal:bash", kind="terminal", lines=rows)
    remedy = Unset(variable="CUDA_HOME")
    finding = replace(found(remedy), ways=(start.id,))
    seen = machine("linux", starts=(replace(start, id="cron"), start))
    made = edit_lines(remedy, finding, seen)
    assert [c.line for c in made] == edited
    assert all(c.starts == (start.id,) and c.scope == "user" for c in made)


@pytest.mark.parametrize(
    ("value", "overridden", "folder", "edited"),
    [
        ("/gone", False, "/cuda", True),
        ("/cuda", False, "/cuda", False),
        ("/gone", True, "/cuda", False),  # a later line sets it anyway
        ("/gone", True, "", True),  # it takes effect once the later one goes
        ("/cuda", True, "", False),
    ],
)
def test_a_line_that_names_the_right_toolkit_stays(value: str, overridden: bool, folder: str, edited: bool) -> None:
    row = StartLine(name="CUDA_HOME", does="set", value=value, file="/etc/profile", line=2, overridden=overridden)
    remedy = PointTo(variable="CUDA_HOME", folder=folder, right=("/cuda",))
    start = Start(id="login", kind="login", lines=(row,))
    made = edit_lines(remedy, found(remedy), machine("linux", starts=(start,)))
    assert [(c.scope, c.value) for c in made] == ([("machine", folder)] if edited else [])


def test_packages_that_their_consumer_does_not_search_get_a_search_path_as_well() -> None:
    python = PythonEnvironment(
        prefix="/v", kind="venv", executable="/v/bin/python", site_packages=("/v/lib/python3.11/site-packages",)
    )
    folder = "/v/lib/python3.11/site-packages/nvidia/cublas/lib"
    wish = InstallPackages(prefix="/v", install=("nvidia-cublas-cu12",))
    [exchange] = changes(found(wish), machine("linux", pythons=(python,)))
    assert isinstance(exchange, ExchangePackages)
    [exchange, search] = changes(
        found(msgspec.structs.replace(wish, search=(folder,))), machine("linux", pythons=(python,))
    )
    assert isinstance(exchange, ExchangePackages)
    assert (search.scope, search.at, search.after.text) == ("environment", "/v", f"prepend {folder}")


@pytest.mark.parametrize(
    ("path", "edited"), [("C:\\tools", True), ("C:\\v\\Lib\\site-packages\\nvidia\\cublas\\bin", False)]
)
def test_on_windows_they_come_onto_path_or_their_python_is_told_in_the_same_step(path: str, edited: bool) -> None:
    site = "C:\\v\\Lib\\site-packages"
    folder = site + "\\nvidia\\cublas\\bin"
    python = PythonEnvironment(
        prefix="C:\\v", kind="venv", executable="C:\\v\\Scripts\\python.exe", site_packages=(site,)
    )
    mine = Variable(name="Path", value=path, scope="user", kind="REG_EXPAND_SZ", source="HKCU")
    seen = machine("windows", mine, pythons=(python,))
    wish = InstallPackages(prefix="C:\\v", install=("nvidia-cublas-cu12",), search=(folder,))
    exchange, *rest = changes(found(wish), seen)
    assert isinstance(exchange, ExchangePackages)
    assert [c.entry for c in rest] == ([folder] if edited else [])
    [exchange] = changes(found(msgspec.structs.replace(wish, search=(), dll_folders=(folder,))), seen)
    assert exchange.dll_folders == (folder,)


def test_a_build_of_pytorchs_own_index_is_put_back_from_there() -> None:
    its = Distribution(name="torch", version="2.8.0+cu126", location="/v/lib/python3.11/site-packages")
    python = PythonEnvironment(prefix="/v", kind="venv", distributions=(its,), site_packages=(its.location,))
    remedy = PutPackageBack(prefix="/v", package="torch", version="2.8.0+cu126")
    [change] = changes(found(remedy), machine("linux", pythons=(python,)))
    assert change.index.endswith("/cu126")


# --- what belongs to a set -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cause", "spoilt"),
    [
        ("mixed_cudnn_sublibraries", {"version": "9.10.2"}),
        ("dll_wrong_architecture", {"architecture": "aarch64"}),
        ("corrupt_or_truncated_file", {"record": "hash differs"}),
    ],
)
def test_what_does_not_belong_to_a_set_is_taken_from_an_identical_one(cause: str, spoilt: dict[str, str]) -> None:
    names = ("libcudnn.so.9", "libcudnn_ops.so.9", "libcudnn_cnn.so.9")
    odd = msgspec.structs.replace(library("/mine", names[1], size=99), **spoilt)
    mine = copy("/mine", files=(library("/mine", names[0]), odd, library("/mine", names[2])))
    donor = copy("/donor", files=tuple(library("/donor", n) for n in names))
    seen = machine("linux", cudnn=(mine, donor))
    seen = msgspec.structs.replace(seen, machine=Machine(system="linux", architecture="x86_64"))
    [change] = changes(told(seen, cause), seen)
    [item] = change.items
    assert (item.path, item.source, item.before) == (f"/mine/{names[1]}", f"/donor/{names[1]}", "?")


# --- the cache -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("aside", "expected"), [("/h/.nv/ComputeCache", 1), ("/h/.nv", 1), ("", 0)])
def test_a_cache_is_put_aside_only_where_this_user_may(aside: str, expected: int) -> None:
    cache = ComputeCache(path="/h/.nv/ComputeCache", exists=True, writable=False, aside=aside)
    seen = machine("linux", driver=Driver(compute_cache=cache))
    made = changes(told(seen, "nv_compute_cache_bad"), seen)
    assert len(made) == expected
    assert [i.path for c in made for i in c.items] == [aside] * expected


def test_single_files_in_a_system_folder_are_put_aside_where_they_stand_for_parts() -> None:
    names = ("cudnn64_9.dll", "cudnn_graph64_9.dll")
    whole = copy("C:\\new", files=tuple(LibraryFile(path=f"C:\\new\\{n}", name=n) for n in names))
    graph = LibraryFile(path="C:\\Windows\\System32\\cudnn_graph64_9.dll", name="cudnn_graph64_9.dll")
    stray = copy("C:\\Windows\\System32", "9.0.0", "system", files=(graph,))
    searches = (
        Resolution(name=names[0], attempts=(Attempt(path=f"C:\\new\\{names[0]}", how=How.PATH, outcome="found"),)),
        Resolution(name=names[1], attempts=(Attempt(path=graph.path, how=How.SYSTEM, outcome="found"),)),
    )
    consumer = Consumer(id="plain", kind="plain", label="any program")
    load = Load(consumer=consumer, major=9, resolutions=searches)
    seen = machine("windows", cudnn=(whole, stray), loads=(load,))
    [change] = changes(told(seen, "mixed_cudnn_sublibraries"), seen)
    assert [(i.path, i.after) for i in change.items] == [(graph.path, "")]
    owned = msgspec.structs.replace(stray, owner="Program 1.0")
    seen = machine("windows", cudnn=(whole, owned), loads=(load,))
    assert changes(told(seen, "mixed_cudnn_sublibraries"), seen) == ()


@pytest.mark.parametrize(
    ("wish", "offered"), [("tensorrt<10.13,>=10.12", False), ("flash_attn", False), ("peft", True)]
)
def test_what_an_installer_would_have_to_build_is_advice(wish: str, offered: bool) -> None:
    site = "/v/lib/python3.11/site-packages"
    python = PythonEnvironment(prefix="/v", kind="venv", executable="/v/bin/python", site_packages=(site,))
    fixed = attach_changes(
        found(InstallPackages(prefix="/v", install=(wish,))), replace(machine("linux"), pythons=(python,))
    )
    assert fixed.fix is not None
    assert bool(fixed.fix.changes) is offered
