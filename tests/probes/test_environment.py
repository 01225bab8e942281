"""The environment probe: every mark on both systems, scopes, limits, and silence about secrets."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.common.patience import Patience
from core.knowledge import tables
from core.model.facts import Environment, Variable
from core.model.path_list import searched_entries
from core.probes.sysroot import Sysroot
from core.probes.variables import probe
from core.probes.variables.probe import examine_folder
from core.probes.variables.search_paths import EntryOnDisk, RawEntry, expand_percent, path_entries
from tests.probes.request import request

FOLDER = EntryOnDisk()
MISSING = EntryOnDisk(state="missing")


def marks(variable: str, value: str, system, look=lambda _folder: FOLDER):
    parts = [RawEntry(raw=raw, expanded=raw) for raw in searched_entries(value, system, variable)]
    return [e.marks for e in path_entries(variable, parts, system, look)]


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("PATH", "/usr/bin:/bin", [(), ()]),
        ("PATH", "", []),
        ("PATH", "/usr/bin:", [(), ("empty",)]),
        ("PATH", ":/usr/bin", [("empty",), ()]),
        ("PATH", "/usr/bin/:/", [("trailing slash",), ()]),
        ("PATH", "/a:/b:/a//./", [(), (), ("trailing slash", "duplicate")]),
        ("PATH", "/a:/A", [(), ()]),
        ("PATH", "bin", [("relative",)]),
        ("PATH", ".", [("relative",)]),
        ("PATH", "~/bin", [("unexpanded",)]),
        ("PATH", "$HOME/bin", [("relative", "unexpanded")]),
        ("PATH", '"/opt/x"', [("quoted", "relative")]),
        ("PATH", "/opt/[x]", [("brackets",)]),
        ("PATH", "/opt/(x)", [()]),
        ("PATH", "/opt/größe", [("non-ascii",)]),
        ("PATH", "/a;/b", [()]),
        ("LD_LIBRARY_PATH", "/a;/b:/c", [(), (), ()]),
        ("LD_LIBRARY_PATH", "$ORIGIN/lib:/x/$LIB", [(), ()]),
        ("LD_LIBRARY_PATH", "/x/$LIBDIR", [("unexpanded",)]),
        ("LD_LIBRARY_PATH", "$CUDA_HOME/lib64", [("relative", "unexpanded")]),
    ],
)
def test_marks_on_linux(variable, value, expected):
    assert marks(variable, value, "linux") == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (r"C:\Windows\System32;C:\Windows", [(), ()]),
        (r"C:\Windows;", [(), ("empty",)]),
        (r"C:\Windows; ;", [(), ("empty",), ("empty",)]),
        ("C:\\Tools\\;C:\\;D:/x/", [("trailing slash",), (), ("trailing slash",)]),
        (r"C:\Tools;c:/TOOLS\.", [(), ("duplicate",)]),
        (r'"C:\Program Files\x";C:\Program Files\x', [("quoted",), ("duplicate",)]),
        (r"%CUDA_PATH%\bin", [("unexpanded",)]),
        (r"C:\%oops%\bin", [("unexpanded",)]),
        (r"C:\100% wool", [()]),
        (r"tools;C:tools;\tools;.", [("relative",)] * 4),
        (r"\\server\share\bin", [()]),
        (r"C:\Program Files (x86)\x", [()]),
        (r"C:\data [old]", [("brackets",)]),
        (r"C:\Übung", [("non-ascii",)]),
    ],
)
def test_marks_on_windows(value, expected):
    assert marks("PATH", value, "windows") == expected


def test_duplicates_name_the_first():
    parts = [RawEntry(raw=p, expanded=p) for p in ("/a", "/b", "/a/", "/a")]
    assert [e.duplicate_of for e in path_entries("PATH", parts, "linux", lambda _f: FOLDER)] == [None, None, 0, 0]


@pytest.mark.parametrize("state", ["missing", "not a folder", "unreadable"])
def test_what_the_disk_says_is_marked(state):
    (entry,) = path_entries("PATH", [RawEntry(raw="/x", expanded="/x")], "linux", lambda _f: EntryOnDisk(state=state))
    assert entry.marks == (state,)
    assert entry.exists == (state != "missing")


@given(
    st.lists(st.text(alphabet='aZ/\\%"[]~$ .;:\x7fé', max_size=12), max_size=20), st.sampled_from(["linux", "windows"])
)
def test_no_byte_of_path_is_lost_and_nothing_raises(texts, system):
    separator = ";" if system == "windows" else ":"
    value = separator.join(texts)
    raws = searched_entries(value, system)
    assert separator.join(raws) == value
    found = path_entries("PATH", [RawEntry(raw=r, expanded=r) for r in raws], system, lambda _f: MISSING)
    assert [e.index for e in found] == list(range(len(raws)))


def test_each_folder_is_asked_once_however_long_the_path_is():
    asked: list[str] = []

    def look(folder: str) -> EntryOnDisk:
        asked.append(folder)
        return FOLDER

    value = ":".join(f"/opt/tool{n % 50}/bin" for n in range(5000))
    assert len(marks("PATH", value, "linux", look)) == 5000
    assert len(asked) == 50


def test_expand_knows_names_in_any_case_and_leaves_the_unknown():
    env = {"SystemRoot": r"C:\Windows", "A": "%B%", "B": "x"}
    assert expand_percent(r"%SYSTEMROOT%\x;%Nope%;%a%", env) == r"C:\Windows\x;%Nope%;%B%"


# --- the probe over real files ---------------------------------------------------------------------------


def test_look_on_linux(tmp_path: Path):
    for folder in ("good", "open", "sticky"):
        (tmp_path / "opt" / folder).mkdir(parents=True)
    (tmp_path / "opt/open").chmod(0o777)
    (tmp_path / "opt/sticky").chmod(0o1777)
    (tmp_path / "opt/file").write_text("x")
    (tmp_path / "opt/loop").symlink_to("loop")
    env = {
        "PATH": "/opt/good:/opt/gone:/opt/file:/opt/loop:/opt/open:/opt/sticky:relative",
        "LD_LIBRARY_PATH": "/opt/good",
        "CUDA_HOME": "/opt/cuda",
        "CUDA_VISIBLE_DEVICES": "0",
        "UNRELATED": "1",
    }
    seen = probe.look(request(tmp_path, env))
    by_text = {(e.variable, e.text): e for e in seen.entries}
    assert by_text["PATH", "/opt/good"].marks == ()
    assert by_text["PATH", "/opt/gone"].marks == ("missing",)
    assert not by_text["PATH", "/opt/gone"].exists
    assert by_text["PATH", "/opt/file"].marks == ("not a folder",)
    assert by_text["PATH", "/opt/loop"].marks == ("missing",)
    assert by_text["PATH", "/opt/open"].marks == ("writable by others",)
    assert by_text["PATH", "/opt/sticky"].marks == ("writable by others",)
    assert by_text["PATH", "relative"].marks == ("relative",)
    assert by_text["LD_LIBRARY_PATH", "/opt/good"].marks == ()
    assert by_text["CUDA_HOME", "/opt/cuda"].marks == ("missing",)
    assert {v.name for v in seen.variables} == {"PATH", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_VISIBLE_DEVICES"}
    assert seen.problems == ()


def test_an_empty_and_a_relative_cuda_path_are_entries(tmp_path: Path):
    seen = probe.look(request(tmp_path, {"CUDA_PATH": "", "CUDA_HOME": "."}))
    assert [(e.variable, e.marks) for e in seen.entries] == [("CUDA_HOME", ("relative",)), ("CUDA_PATH", ("empty",))]


def test_windows_path_keeps_scope_and_raw_text(tmp_path: Path):
    machine = Variable(name="Path", value=r"%SystemRoot%\System32;C:\Both", scope="machine", kind="REG_EXPAND_SZ")
    user = Variable(name="Path", value=r"C:\Mine;C:\Both", scope="user", kind="REG_EXPAND_SZ")
    env = {"SystemRoot": r"C:\Windows", "Path": r"C:\Windows\System32;C:\Both;C:\Mine;C:\Both"}
    seen = probe.look(request(tmp_path, env, system="windows", declared=(machine, user)))
    assert [(e.text, e.expanded, e.scope, e.duplicate_of) for e in seen.entries] == [
        (r"%SystemRoot%\System32", r"C:\Windows\System32", "machine", None),
        (r"C:\Both", r"C:\Both", "machine", None),
        (r"C:\Mine", r"C:\Mine", "user", None),
        (r"C:\Both", r"C:\Both", "user", 1),
    ]


def test_a_windows_path_that_is_not_the_stored_one_is_the_process_own(tmp_path: Path):
    machine = Variable(name="Path", value=r"C:\Stored", scope="machine", kind="REG_SZ")
    seen = probe.look(request(tmp_path, {"Path": r"C:\Other"}, system="windows", declared=(machine,)))
    assert [(e.text, e.scope) for e in seen.entries] == [(r"C:\Other", "process")]


def test_percent_signs_in_a_reg_sz_path_are_told(tmp_path: Path):
    machine = Variable(name="Path", value=r"%SystemRoot%\System32", scope="machine", kind="REG_SZ")
    seen = probe.look(request(tmp_path, {"Path": r"%SystemRoot%\System32"}, system="windows", declared=(machine,)))
    assert seen.entries[0].marks == ("unexpanded",)
    assert len(seen.problems) == 1
    assert "REG_SZ" in seen.problems[0]


@pytest.mark.parametrize(
    ("system", "length", "says"),
    [
        ("windows", 2000, None),
        ("windows", 2100, "2,047"),
        ("windows", 8200, "8,191"),
        ("windows", 32800, "32,767"),
        ("linux", 32800, None),
        ("linux", 131072, "131,071"),
    ],
)
def test_only_the_largest_limit_is_told(tmp_path: Path, system, length, says):
    seen = probe.look(request(tmp_path, {"PATH": "x" * length}, system=system))
    assert [says in p for p in seen.problems] == ([True] if says else [])
    assert [(x.kind, x.variable, f"{x.limit:,}", x.text) for x in seen.limits] == [
        ("length", "PATH", says, words) for words in seen.problems
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NVIDIA_API_KEY", "nvapi-1"),
        ("TORCH_AUTH_TOKEN", "x"),
        ("CUDA_REPO_PASSWORD", "x"),
        ("JAX_PROXY", "http://ada:secret@proxy"),
        ("AWS_PROFILE", "x"),
    ],
)
def test_what_may_hold_a_secret_is_left_out(tmp_path: Path, name, value):
    assert probe.look(request(tmp_path, {name: value})).variables == ()


def test_bytes_that_are_no_utf8_and_32_kilobytes_of_path_go_into_the_report(tmp_path: Path):
    value = "/opt/\udcff:" + ":".join(f"/opt/{n:05d}" for n in range(3000))
    seen = probe.look(request(tmp_path, {"PATH": value, "CUDA_HOME": "/x\udce9"}))
    assert len(seen.entries) == 3002
    assert seen.entries[0].text == r"/opt/\xff"
    assert "non-ascii" in seen.entries[0].marks
    assert msgspec.json.decode(msgspec.json.encode(seen), type=Environment) == seen


def test_a_folder_that_never_answers_is_undecided_and_the_others_are_examined(tmp_path: Path, monkeypatch):
    gate, stat = threading.Event(), os.stat
    (tmp_path / "usr/bin").mkdir(parents=True)

    def hanging(path, *args, **kwargs):
        if "dead" in os.fspath(path):
            gate.wait(30)
        return stat(path, *args, **kwargs)

    monkeypatch.setattr(os, "stat", hanging)
    asking = request(tmp_path, {"PATH": "/net/dead:/usr/bin:/not/there"})
    try:
        seen = Patience(limit=0.1).run(lambda: probe.look(asking))
    finally:
        gate.set()
    assert [e.marks for e in seen.entries] == [(), (), ("missing",)]
    assert seen.problems == ()


def test_every_limit_and_name_is_well_formed():
    known = tables.read_table("environment", probe.EnvironmentKnowledge)
    assert all(limit.source for limit in known.limits)
    assert not set(known.names) & set(known.secret_words)


def test_what_variables_with_a_contract_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    (work / "flags.txt").write_text("--xla_dump_to=/tmp")
    (tmp_path / "opt/cuda/bin").mkdir(parents=True)
    (tmp_path / "opt/cuda/bin/ptxas").write_text("")
    env = {
        "XLA_FLAGS": "--xla_gpu_cuda_data_dir=/opt/cuda --xla_gpu_autotune_level=0",
        "TF_XLA_FLAGS": "flags.txt",
        "NCCL_TOPO_FILE": "/gone.xml",
        "LD_PRELOAD": "/opt/cuda/bin/ptxas:/opt/none.so libplain.so",
    }
    found = probe.look(request(tmp_path, env)).places
    assert [(p.variable, p.path, p.state, p.holds) for p in found] == [
        ("XLA_FLAGS", "/opt/cuda", "folder", ("bin/ptxas",)),
        ("TF_XLA_FLAGS", "flags.txt", "file", ("--xla_dump_to=/tmp",)),
        ("NCCL_TOPO_FILE", "/gone.xml", "missing", ()),
        ("LD_PRELOAD", "/opt/cuda/bin/ptxas", "file", ()),
        ("LD_PRELOAD", "/opt/none.so", "missing", ()),
    ]


def test_a_star_that_no_shell_has_replaced():
    raw = [RawEntry(raw="/s/*/lib", expanded="/s/*/lib")]
    (lost,) = path_entries("LD_LIBRARY_PATH", raw, "linux", lambda _f: MISSING)
    assert set(lost.marks) == {"missing", "unexpanded"}
    (there,) = path_entries("LD_LIBRARY_PATH", raw, "linux", lambda _f: FOLDER)
    assert there.marks == ()


def test_what_a_tilde_means_is_told_with_links_followed(tmp_path: Path):
    (tmp_path / "env/lib").mkdir(parents=True)
    (tmp_path / "venv").symlink_to(tmp_path / "env")
    here = Sysroot(system="linux")
    seen = examine_folder("~/venv/lib", here, str(tmp_path))
    assert (seen.state, seen.meant) == ("unknown", str((tmp_path / "env/lib").resolve()))
    assert [examine_folder(n, here, str(tmp_path)).meant for n in ("~/gone", "~ada/lib", "venv")] == [""] * 3
    assert examine_folder("~/venv/lib", here).meant == ""


def test_what_a_variable_that_windows_did_not_replace_means(tmp_path: Path):
    (tmp_path / "C:/cuda/bin").mkdir(parents=True)
    there = Sysroot(system="windows", root=str(tmp_path))
    env = {"Cuda_Path": r"C:\cuda"}
    assert examine_folder(r"%CUDA_PATH%\bin", there, "", env).meant == r"C:\cuda\bin"
    assert [examine_folder(n, there, "", env).meant for n in (r"%CUDA_PATH%\lib", r"%OTHER%\bin", "bin")] == [""] * 3
