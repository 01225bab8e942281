"""The frameworks probe: environments of every kind from their files alone, compared with what interpreters say."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import msgspec
import pytest

from core.model.facts import Distribution, PythonEnvironment
from core.probes.python import probe
from core.probes.python.environment import describe_environment
from core.probes.python.installed.distributions import find_distributions, recorded_module
from core.probes.python.locations import FIND_STEPS, Candidate
from core.probes.python.search.search_path import python_search_path, read_interpreter
from core.probes.sysroot import Sysroot
from tests.probes.request import link, request, write

METADATA = """Metadata-Version: 2.1
Name: torch
Version: 2.4.0+cu121
Requires-Dist: filelock
Requires-Dist: nvidia-cudnn-cu12 ==9.1.0.70 ; platform_system == "Linux"
Requires-Dist: nvidia-cublas-cu12 ==12.1.3.1
Classifier: X

Requires-Dist: nvidia-not-a-header
"""


def interpreter(root: Path, prefix: str, version: str = "3.11", name: str = "python3.11") -> None:
    """Lay out an installed Python of Linux."""
    write(root, f"{prefix}/bin/{name}", b"\x7fELF")
    link(root, f"{prefix}/bin/python3", name)
    write(root, f"{prefix}/lib/python{version}/site-packages/README.txt")


def venv(root: Path, prefix: str, home: str = "/usr/bin", more: str = "") -> None:
    """Lay out a virtual environment of Linux."""
    write(root, f"{prefix}/pyvenv.cfg", f"home = {home}\nversion = 3.11.7\n{more}")
    link(root, f"{prefix}/bin/python", "../../../../usr/bin/python3.11")
    write(root, f"{prefix}/lib/python3.11/site-packages/README.txt")


def look(root: Path, env: dict[str, str] | None = None, *named: str, **more) -> tuple[PythonEnvironment, ...]:
    return probe.look(request(root, env, named=named, **more))


def only(found: tuple[PythonEnvironment, ...]) -> PythonEnvironment:
    assert len(found) == 1
    return found[0]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch):
    """The current folder is the machine's root, in which nothing lies."""
    monkeypatch.chdir(tmp_path)


def test_a_virtual_environment_that_is_active(tmp_path: Path):
    interpreter(tmp_path, "/usr")
    venv(tmp_path, "/home/ada/ml")
    write(tmp_path, "/home/ada/ml/lib/python3.11/site-packages/torch-2.4.0+cu121.dist-info/METADATA", METADATA)
    found = only(look(tmp_path, {"VIRTUAL_ENV": "/home/ada/ml"}))
    assert (found.prefix, found.kind, found.version, found.problem) == ("/home/ada/ml", "venv", "3.11.7", "")
    assert found.executable == "/home/ada/ml/bin/python"
    assert found.site_packages == ("/home/ada/ml/lib/python3.11/site-packages",)
    assert found.found_by == "VIRTUAL_ENV"
    (torch,) = found.distributions
    assert (torch.name, torch.version, torch.location) == ("torch", "2.4.0+cu121", found.site_packages[0])
    assert torch.requires == (
        'nvidia-cudnn-cu12 ==9.1.0.70 ; platform_system == "Linux"',
        "nvidia-cublas-cu12 ==12.1.3.1",
    )


def test_one_environment_is_listed_once_with_all_that_led_to_it(tmp_path: Path):
    interpreter(tmp_path, "/usr")
    venv(tmp_path, "/home/ada/ml")
    link(tmp_path, "/home/ada/link", "ml")
    env = {"VIRTUAL_ENV": "/home/ada/ml", "PATH": "/home/ada/ml/bin:/usr/bin", "HOME": "/home/ada"}
    write(tmp_path, "/home/ada/.conda/environments.txt", "/home/ada/link\n/gone\n\n")
    found = look(tmp_path, env, "/home/ada/link/bin/python")
    assert [(e.prefix, e.found_by) for e in found] == [
        ("/home/ada/link", "--python, VIRTUAL_ENV, python on PATH, conda's list of environments"),
        ("/usr", "python3 on PATH"),
    ]
    assert [e.ways for e in found] == [("--python", "VIRTUAL_ENV", "python", "elsewhere"), ("python3",)]
    older = [msgspec.convert({"prefix": e.prefix, "found_by": e.found_by}, PythonEnvironment) for e in found]
    assert [e.ways for e in older] == [e.ways for e in found]


def test_the_first_python_of_path_is_the_one(tmp_path: Path):
    interpreter(tmp_path, "/opt/a")
    interpreter(tmp_path, "/opt/b")
    found = look(tmp_path, {"PATH": "rel::/none:/opt/a/bin:/opt/b/bin"})
    assert [(e.prefix, e.found_by) for e in found] == [("/opt/a", "python3 on PATH")]


def test_a_link_into_another_prefix_is_followed(tmp_path: Path):
    interpreter(tmp_path, "/opt/py")
    link(tmp_path, "/home/ada/bin/python", "../../../opt/py/bin/python3.11")
    found = only(look(tmp_path, {"PATH": "/home/ada/bin"}))
    assert (found.prefix, found.executable, found.kind) == ("/opt/py", "/opt/py/bin/python3", "other")


def test_conda_on_linux(tmp_path: Path):
    interpreter(tmp_path, "/opt/conda/envs/ml", "3.10", "python3.10")
    write(tmp_path, "/opt/conda/envs/ml/conda-meta/python-3.10.13-hd12c33a_0_cpython.json", "{}")
    found = only(look(tmp_path, {"CONDA_PREFIX": "/opt/conda/envs/ml"}))
    assert (found.kind, found.version) == ("conda", "3.10.13")


def test_debians_own_python_and_the_users_packages(tmp_path: Path):
    interpreter(tmp_path, "/usr")
    for folder in ("/usr/lib/python3/dist-packages", "/usr/local/lib/python3.11/dist-packages"):
        write(tmp_path, f"{folder}/x")
    write(tmp_path, "/home/ada/.local/lib/python3.11/site-packages/numba-0.59.0.dist-info/METADATA", "Name: numba\n")
    found = only(look(tmp_path, {"HOME": "/home/ada"}, "/usr/bin/python3"))
    assert found.kind == "system"
    assert found.site_packages == (
        "/home/ada/.local/lib/python3.11/site-packages",
        "/usr/lib/python3.11/site-packages",
        "/usr/local/lib/python3.11/dist-packages",
        "/usr/lib/python3/dist-packages",
    )
    assert [(d.name, d.version) for d in found.distributions] == [("numba", "0.59.0")]
    alone = only(look(tmp_path, {"HOME": "/home/ada", "PYTHONNOUSERSITE": "1"}, "/usr"))
    assert "/home/ada" not in " ".join(alone.site_packages)


def test_a_virtual_environment_that_sees_the_systems_packages(tmp_path: Path):
    interpreter(tmp_path, "/usr")
    write(tmp_path, "/usr/lib/python3/dist-packages/x")
    venv(tmp_path, "/home/ada/ml", more="include-system-site-packages = true\n")
    found = only(look(tmp_path, {}, "/home/ada/ml"))
    assert found.site_packages == (
        "/home/ada/ml/lib/python3.11/site-packages",
        "/usr/lib/python3.11/site-packages",
        "/usr/lib/python3/dist-packages",
    )


def test_pyenvs_shim_stands_for_the_chosen_version(tmp_path: Path):
    for version in ("3.10.9", "3.10.13", "3.12.1"):
        interpreter(tmp_path, f"/home/ada/.pyenv/versions/{version}", version.rpartition(".")[0])
    write(tmp_path, "/home/ada/.pyenv/shims/python", "#!/bin/sh\n")
    write(tmp_path, "/home/ada/.pyenv/version", "3.12.1\n3.10.9\n")
    path = {"PATH": "/home/ada/.pyenv/shims"}
    assert only(look(tmp_path, path)).prefix.endswith("/3.12.1")
    assert only(look(tmp_path, path | {"PYENV_VERSION": "3.10"})).prefix.endswith("/3.10.13")
    assert look(tmp_path, path | {"PYENV_VERSION": "system"}) == ()


def test_environments_beside_the_person(tmp_path: Path, monkeypatch):
    venv(tmp_path, "/home/ada/project/.venv", home="/nowhere/bin")
    monkeypatch.chdir(tmp_path / "home/ada/project")
    found = only(look(tmp_path))
    assert (found.prefix, found.found_by) == ("/home/ada/project/.venv", ".venv in the current folder")
    assert found.problem == "It was made from the Python in /nowhere/bin, which is not there any more."
    (named,) = look(tmp_path, {}, ".venv")
    assert named.prefix == "/home/ada/project/.venv"


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/nope", "This path does not exist, or this user may not look at it."),
        ("/etc", "There is no Python environment here."),
        ("/etc/passwd", "There is no Python environment here."),
        ("/loop", "This path does not exist, or this user may not look at it."),
        ("/bad\0name", "This path does not exist, or this user may not look at it."),
        ("/fifo", "There is no Python environment here."),
    ],
)
def test_what_was_named_and_is_no_environment_is_said(tmp_path: Path, path, problem):
    write(tmp_path, "/etc/passwd", "x")
    link(tmp_path, "/loop", "loop")
    os.mkfifo(tmp_path / "fifo")
    found = only(look(tmp_path, {}, path))
    assert (found.problem, found.distributions) == (problem, ())


def test_broken_environments_have_a_problem(tmp_path: Path):
    write(tmp_path, "/a/pyvenv.cfg", b"\xff\xfe home = \n=\n")
    write(tmp_path, "/b/pyvenv.cfg", "home = /usr/bin\nversion = 3.11.7\n")
    write(tmp_path, "/b/bin/python", b"\x7fELF")
    write(tmp_path, "/usr/bin/x")
    os.mkfifo(write(tmp_path, "/c/conda-meta/x").parent.parent / "pyvenv.cfg")
    found = look(tmp_path, {}, "/a", "/b", "/c")
    assert [e.problem for e in found] == [
        "Its interpreter is not there.",
        "It has no folder of packages.",
        "Its interpreter is not there.",
    ]


@pytest.mark.parametrize(
    ("system", "file", "root"),
    [("windows", "bin/python3", "C:/work"), ("linux", "Scripts/python.exe", "/work")],
)
def test_an_environment_of_another_system_is_left_out_unless_it_is_named(tmp_path: Path, system, file, root):
    folder = f"{root}/.venv"
    write(tmp_path, f"{folder}/pyvenv.cfg", "home = /usr/bin\nversion = 3.11.7\n")
    write(tmp_path, f"{folder}/{file}", b"x")
    write(
        tmp_path,
        f"{folder}/lib/python3.11/site-packages/torch-2.8.0.dist-info/METADATA",
        "Name: torch\nVersion: 2.8.0\n",
    )
    its = folder.replace("/", "\\") if system == "windows" else folder
    assert look(tmp_path, {"VIRTUAL_ENV": its}, system=system) == ()
    assert (
        only(look(tmp_path, {}, its, system=system)).problem
        == "It was made on another system, whose programs do not run here."
    )


def test_our_own_environment_is_left_out_unless_it_is_named(tmp_path: Path, monkeypatch):
    venv(tmp_path, "/opt/ours")
    interpreter(tmp_path, "/usr")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "opt/ours"))
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    env = {"VIRTUAL_ENV": "/opt/ours", "PATH": "/opt/ours/bin:/usr/bin"}
    assert [e.prefix for e in look(tmp_path, env)] == ["/usr"]
    assert [e.prefix for e in look(tmp_path, env, "/opt/ours")] == ["/opt/ours", "/usr"]


def test_our_own_environment_is_examined_if_somebody_works_in_it(tmp_path: Path, monkeypatch):
    venv(tmp_path, "/home/ada/ours")
    site = f"/home/ada/ours/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    write(tmp_path, f"{site}/torch-2.8.0.dist-info/METADATA", "Name: torch\nVersion: 2.8.0\n")
    interpreter(tmp_path, "/usr")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "home/ada/ours"))
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    assert [e.prefix for e in look(tmp_path, {"PATH": "/home/ada/ours/bin:/usr/bin"})] == ["/home/ada/ours", "/usr"]


def test_past_the_budget_environments_are_only_named(tmp_path: Path):
    interpreter(tmp_path, "/opt/a")
    interpreter(tmp_path, "/opt/b")
    clock = itertools.chain([0.0, 1.0], itertools.repeat(100.0))
    found = probe.find_environments(request(tmp_path, named=["/opt/a", "/opt/b"]), FIND_STEPS, lambda: next(clock))
    assert [e.problem for e in found] == ["", "It was not read: time ran out."]


def test_windows_layouts(tmp_path: Path):
    for prefix, files in {
        r"C:\Python311": ("python.exe", "python311.dll", r"Lib\site-packages\torch-2.4.0.dist-info\METADATA"),
        r"C:\ml": (r"Scripts\python.exe", r"Lib\site-packages\x"),
        r"C:\conda": ("python.exe", r"conda-meta\python-3.10.4-h_0.json", r"Lib\site-packages\x"),
        r"C:\tool": ("python.exe", "python312._pth", "python312.dll", r"Lib\site-packages\x"),
    }.items():
        for file in files:
            write(tmp_path, f"{prefix}\\{file}".replace("\\", "/"), b"MZ")
    write(
        tmp_path, "C:/ml/pyvenv.cfg", "home = C:\\Python311\ninclude-system-site-packages = false\nversion = 3.11.4\n"
    )
    for number in ("311", "312"):
        write(tmp_path, f"C:/Users/ada/AppData/Roaming/Python/Python{number}/site-packages/x")
    env = {"APPDATA": r"C:\Users\ada\AppData\Roaming", "Path": r'"C:\Python311";C:\conda'}
    found = look(tmp_path, env, r"C:\ml\Scripts\python.exe", r"C:\conda", r"C:\tool", system="windows")
    assert [(e.prefix, e.kind, e.version) for e in found] == [
        (r"C:\ml", "venv", "3.11.4"),
        (r"C:\conda", "conda", "3.10.4"),
        (r"C:\tool", "embedded", "3.12"),
        (r"C:\Python311", "other", "3.11"),
    ]
    assert found[0].site_packages == (r"C:\ml\Lib\site-packages",)
    assert found[2].site_packages == (r"C:\tool\Lib\site-packages",)  # its ._pth isolates it from the person's packages
    assert found[3].site_packages == (
        r"C:\Users\ada\AppData\Roaming\Python\Python311\site-packages",
        r"C:\Python311\Lib\site-packages",
    )
    assert [d.name for d in found[3].distributions] == ["torch"]


@pytest.mark.parametrize(
    ("pth", "line", "takes"),
    [
        ("import site\n", r".\python_embeded\python.exe ComfyUI\main.py --fast", True),
        ("import site\n", r".\python_embeded\python.exe -s ComfyUI\main.py", False),
        ("import site\n", r".\python_embeded\python.exe -m pip install -r requirements.txt", False),
        ("import site\n", r"rem .\python_embeded\python.exe ComfyUI\main.py", False),
        ("", r".\python_embeded\python.exe ComfyUI\main.py", False),
    ],
)
def test_a_portable_python_that_a_batch_file_starts_with_the_persons_packages(
    pth: str, line: str, takes: bool, tmp_path: Path
) -> None:
    """Its ._pth file keeps PYTHONNOUSERSITE from it, and site adds these packages unless -s is given (seen in CPython 3.11)."""
    prefix, users = r"C:\comfy\python_embeded", r"C:\Users\ada\AppData\Roaming\Python\Python312\site-packages"
    for file in ("python.exe", "python312.dll", r"Lib\site-packages\x"):
        write(tmp_path, f"{prefix}\\{file}".replace("\\", "/"), b"MZ")
    write(tmp_path, "C:/comfy/python_embeded/python312._pth", f"../ComfyUI\npython312.zip\n.\n{pth}")
    write(tmp_path, f"{users}\\x".replace("\\", "/"))
    write(tmp_path, "C:/comfy/run.bat", f"{line}\r\n")
    env = {"APPDATA": r"C:\Users\ada\AppData\Roaming"}
    where = Sysroot("windows", str(tmp_path))
    found = describe_environment(prefix, rf"{prefix}\python.exe", env, where, every=True)
    interpreter = read_interpreter(prefix, rf"{prefix}\python.exe", where)
    assert interpreter is not None
    searched = {e.origin for e in python_search_path(interpreter, env, "", where).entries}
    assert (users in found.site_packages, "user site" in searched) == (takes, takes)


def test_what_a_package_of_the_person_requires_may_be_the_machines(tmp_path: Path):
    users = "C:/Users/ada/AppData/Roaming/Python/Python311/site-packages"
    write(tmp_path, "C:/Python311/python.exe", b"MZ")
    write(tmp_path, "C:/Python311/python311.dll", b"MZ")
    write(
        tmp_path,
        f"{users}/ctranslate2-4.8.0.dist-info/METADATA",
        "Name: ctranslate2\nVersion: 4.8.0\nRequires-Dist: pyyaml\n",
    )
    write(tmp_path, "C:/Python311/Lib/site-packages/pyyaml-6.0.dist-info/METADATA", "Name: PyYAML\nVersion: 6.0\n")
    write(tmp_path, "C:/Python311/Lib/site-packages/other-1.0.dist-info/METADATA", "Name: other\nVersion: 1.0\n")
    env, where = {"APPDATA": r"C:\Users\ada\AppData\Roaming"}, Sysroot("windows", str(tmp_path))
    found = describe_environment(r"C:\Python311", "", env, where, every=True)
    assert [d.name for d in found.distributions] == ["ctranslate2", "pyyaml"]


# --- distributions ---------------------------------------------------------------------------------------


def test_only_distributions_that_matter_duplicates_and_old_forms(tmp_path: Path):
    for name in (
        "nvidia_cudnn_cu12-9.1.0.70.dist-info",
        "nvidia_cudnn_cu12-9.10.2.21.dist-info",
        "requests-2.0.dist-info",
        "~orch-2.4.0.dist-info",
        "torch-2.4.0.dist-info.bak",
        "opencv_python_headless-4.9.0.dist-info",
    ):
        write(tmp_path, f"/s/{name}/METADATA", "")
    write(tmp_path, "/s/tensorflow-1.15.0-py3.7.egg-info/PKG-INFO", "Name: tensorflow\nVersion: 1.15.0\n")
    write(tmp_path, "/s/numba-0.50.egg-info", "Name: numba\nVersion: 0.50.1\n")
    write(tmp_path, "/s/Jax-0.4.30.dist-info/METADATA", b"Name: Jax\nVersion: 0.4.30\nSummary: \xff\xfe\n")
    link(tmp_path, "/s/torch-9.dist-info", "torch-9.dist-info")
    found = find_distributions("/s", Sysroot(system="linux", root=str(tmp_path)))
    assert [(d.name, d.version) for d in found or ()] == [
        ("jax", "0.4.30"),
        ("numba", "0.50.1"),
        ("nvidia-cudnn-cu12", "9.1.0.70"),
        ("nvidia-cudnn-cu12", "9.10.2.21"),
        ("opencv-python-headless", "4.9.0"),
        ("tensorflow", "1.15.0"),
        ("torch", "9"),
    ]
    near = find_distributions("/s", Sysroot(system="linux", root=str(tmp_path)), every=True)
    assert [d.name for d in near or () if d not in (found or ())] == ["requests"]  # variables decide what it can fetch


@pytest.mark.parametrize(
    ("name", "recorded", "module", "with_compiled"),
    [
        ("fast-attention", ("fast_attention/__init__.py", "other.py"), "fast_attention", None),
        ("fast-attention", ("attention/__init__.py", "tests/__init__.py"), "attention", None),
        ("fast-attention", ("one.py", "two.py"), "", None),
        ("google-cloud-storage", ("google/cloud/storage/__init__.py",), "google.cloud.storage", None),
        ("fast-attention", ("fast_attention.cpython-311-x86_64-linux-gnu.so", "a.py", "b.py"), "", "fast_attention"),
        ("fast-attention", ("attention_cuda.cp311-win_amd64.pyd",), "", "attention_cuda"),
        ("fast-attention", ("attention.py", "attention_cuda.cp311-win_amd64.pyd"), "attention", None),
        ("fast-attention", (), "", None),
    ],
)
def test_a_record_tells_the_module_that_a_distribution_is_imported_by(
    tmp_path: Path, name: str, recorded: tuple[str, ...], module: str, with_compiled: str | None
):
    write(tmp_path, f"sp/{name.replace('-', '_')}-1.0.dist-info/RECORD", "".join(f"{f},,\n" for f in recorded))
    its, where = Distribution(name=name, version="1.0", location="/sp"), Sysroot("linux", str(tmp_path))
    assert recorded_module(its, where) == module
    assert recorded_module(its, where, compiled=True) == (module if with_compiled is None else with_compiled)


def test_a_folder_that_cannot_be_listed_is_none(tmp_path: Path):
    assert find_distributions("/gone", Sysroot(system="linux", root=str(tmp_path))) is None


# --- against real interpreters ---------------------------------------------------------------------------


@pytest.mark.parametrize("options", [(), ("--system-site-packages",)])
def test_a_real_environment_has_the_folders_that_its_interpreter_says(tmp_path: Path, options):
    base = getattr(sys, "_base_executable", sys.executable)
    subprocess.run([base, "-m", "venv", "--without-pip", *options, tmp_path / "real"], check=True)
    python = tmp_path / "real/bin/python"
    env = {"HOME": str(tmp_path)}
    code = "import json,os,platform,sys;print(json.dumps([platform.python_version(),[p for p in sys.path if p.endswith('-packages')]]))"
    said = json.loads(subprocess.run([python, "-c", code], check=True, capture_output=True, env=env).stdout)
    found = probe.find_environments(
        request(Path("/"), env, named=[str(python)]),
        (lambda r: iter([Candidate(path=p, found_by="named", named=True) for p in r.pythons]),),
        lambda: 0.0,
    )
    assert only(found).version == said[0]
    assert {os.path.realpath(p) for p in only(found).site_packages} == {
        os.path.realpath(p) for p in said[1] if Path(p).is_dir()
    }
    assert only(found).architecture == os.uname().machine


@pytest.mark.parametrize("packed", [False, True])
def test_an_eggs_metadata_are_inside_it(tmp_path: Path, packed: bool):
    egg = tmp_path / "tokenizers-0.13.3-py3.11-linux-x86_64.egg"
    files = {
        "EGG-INFO/PKG-INFO": "Name: tokenizers\nVersion: 0.13.3\n",
        "EGG-INFO/requires.txt": "numpy>=1\n\n[test]\npytest\n",
    }
    if packed:
        with zipfile.ZipFile(egg, "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
    else:
        for name, text in files.items():
            (egg / name).parent.mkdir(parents=True, exist_ok=True)
            (egg / name).write_text(text)
    (found,) = find_distributions(str(egg), Sysroot(system="linux"), every=True) or ()
    assert (found.name, found.version, found.pins, found.location) == ("tokenizers", "0.13.3", ("numpy>=1",), str(egg))
    assert not find_distributions(str(egg), Sysroot(system="linux"))
    assert find_distributions(str(tmp_path / "gone-1.0.egg"), Sysroot(system="linux")) == ()
