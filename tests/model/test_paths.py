"""Paths as text, and that whoever reads them reads them alike."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.explain import proofs
from core.explain.reading import read_text
from core.fixes.files import put_aside
from core.model import path_list
from core.model.changes import FileSet
from core.model.facts import Environment, LibraryFile, Machine, PathEntry, Snapshot, System, Toolkit, Variable
from core.model.paths import file_name, form_of, is_inside, is_same, join_path, normalise, parent
from core.model.remedies import PutAside
from core.probes import sysroot
from core.probes.loading.origin import file_origin
from core.probes.sysroot import Sysroot
from tests import machines


@pytest.mark.parametrize(
    ("system", "path", "folder", "expected"),
    [
        ("linux", "/env/lib/x.so", "/env", True),
        ("linux", "/env2/lib/x.so", "/env", False),
        ("linux", "/env", "/env/", True),
        ("linux", "/env/lib/../../other/x.so", "/env", False),
        ("linux", "//env//lib/x.so", "/env", True),
        ("linux", "/env/x.so", "/", True),
        ("linux", "/ENV/x.so", "/env", False),
        ("windows", r"C:\Env\Lib\x.dll", "c:/env", True),
        ("windows", r"C:\Env2\x.dll", r"C:\Env", False),
        ("windows", "C:\\x.dll", "C:\\", True),
        ("windows", r"C:\env\..\other\x.dll", r"C:\env", False),
        ("linux", "", "/env", False),
        ("linux", "/env", "", False),
    ],
)
def test_what_lies_in_a_folder(system: System, path: str, folder: str, expected: bool) -> None:
    assert is_inside(system, path, folder) is expected


@pytest.mark.parametrize(
    ("system", "one", "other"),
    [
        ("linux", "/opt//cuda/lib/", "/opt/cuda/lib"),
        ("linux", "//usr/lib", "/usr/lib"),
        ("linux", "///usr/lib", "/usr/lib"),
        ("linux", "/opt/./cuda", "/opt/cuda"),
        ("windows", "c:/CUDA/bin", r"C:\cuda\bin"),
        ("windows", "C:\\CUDA\\bin\\", r"C:\CUDA\bin"),
    ],
)
def test_one_folder_has_one_name_for_a_search_path_and_for_a_file(system: System, one: str, other: str) -> None:
    """Two leading slashes were the same folder to whoever edits a search path, and another one to the rules."""
    assert is_same(system, one, other)
    assert path_list.entry_key(one, system) == path_list.entry_key(other, system)


@pytest.mark.parametrize(
    ("path", "system", "folder", "name"),
    [
        ("/opt/a\\b/lib.so", "linux", "/opt/a\\b", "lib.so"),
        ("/opt/a/b\\lib.so", "linux", "/opt/a", "b\\lib.so"),
        (r"C:\a\x.dll", "windows", "C:\\a", "x.dll"),
        ("C:\\x.dll", "windows", "C:\\", "x.dll"),
        ("libcudnn.so.9", "linux", "", "libcudnn.so.9"),
    ],
)
def test_the_parts_of_a_path(path: str, system: System, folder: str, name: str) -> None:
    assert form_of(path) == system
    assert (parent(system, path), file_name(system, path)) == (folder, name)
    assert is_same(system, join_path(system, folder, name), path)


def test_a_folder_at_the_root_keeps_its_slash() -> None:
    """A fix joined "/" and a name to "/name", and "C:\\" and a name to "C:\\name": so does this."""
    assert join_path("linux", "/", "x") == "/x"
    assert join_path("windows", "C:\\", "x") == "C:\\x"
    assert normalise("windows", "C:\\") == "c:\\"


def test_a_fix_names_the_files_of_a_copy_as_the_probe_does() -> None:
    seen = machines.wheel_machine()
    copy = (seen.cudnn or ())[0]
    (change,) = put_aside(PutAside(folders=(copy.folder,)), seen)
    assert isinstance(change, FileSet)
    assert [i.path for i in change.items] == [f.path for f in copy.files]


def test_a_detour_out_of_an_environment_does_not_lie_in_it() -> None:
    """Whoever owned a mapped file compared the words as they stood."""
    where = Sysroot("linux")
    assert file_origin("/env/lib/../../data/libcudnn.so.9", "/env", {}, where) == "another folder"
    assert file_origin("/nowhere//cudnn/x.so", "", {"LD_LIBRARY_PATH": "/nowhere/cudnn"}, where) == "LD_LIBRARY_PATH"


def test_a_folder_that_never_answers_leaves_ld_library_path_whatever_separates_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ld.so takes a semicolon, too: split at colons alone, a child was sent to the folder that hangs it."""
    monkeypatch.setattr(sysroot, "is_silent", lambda path: path.startswith("/dead"))
    env = {"LD_LIBRARY_PATH": "/a;/dead/x:/b;/dead/y", "PATH": "/dead/z"}
    kept = sysroot.without_silent_folders(env, Sysroot("linux"))
    assert path_list.split_entries(kept["LD_LIBRARY_PATH"], "linux", "LD_LIBRARY_PATH") == ["/a", "/b"]
    assert kept["PATH"] == "/dead/z"


@pytest.mark.parametrize("entry", [r"C:\CUDA\bin", "c:/cuda/bin/", "C:\\CUDA\\.\\bin"])
def test_an_explanation_knows_a_searched_folder_however_it_is_written(entry: str) -> None:
    folder = r"C:\CUDA\bin"
    seen = Snapshot(
        machine=Machine(system="windows"),
        toolkits=(
            Toolkit(
                root=r"C:\CUDA",
                origin="installer",
                folder=folder,
                libraries=(LibraryFile(path=folder + r"\cudart64_12.dll", name="cudart64_12.dll"),),
            ),
        ),
        environment=Environment(entries=(PathEntry(variable="PATH", text=entry, expanded=entry, index=0),)),
    )
    text = "Could not load dynamic library 'cudart64_12.dll'; dlerror: cudart64_12.dll not found"
    assert proofs.toolkit_beside(read_text(text), seen) == ()
    elsewhere = replace(seen, environment=Environment(entries=()))
    assert proofs.toolkit_beside(read_text(text), elsewhere) != ()


@pytest.mark.parametrize("value", ["/opt/cuda/lib64:/b", "/b;/opt/cuda/lib64", "/opt//cuda/lib64/"])
def test_an_explanation_splits_the_variable_of_new_programs_as_the_loader_does(value: str) -> None:
    variables = (
        Variable(name="LD_LIBRARY_PATH", value=value, scope="user", source="~/.profile"),
        Variable(name="HOME", value="/home/ada", scope="process"),
    )
    toolkit = Toolkit(root="/opt/cuda", origin="installer", folder="/opt/cuda/lib64")
    seen = Snapshot(machine=Machine(system="linux"), toolkits=(toolkit,), environment=Environment(variables=variables))
    assert [e.value for e in proofs.older_variables(read_text("x"), seen)] == ["/opt/cuda/lib64"]
