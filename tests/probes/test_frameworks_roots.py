"""Where environments are found that nothing active names: tools' folders, Windows' registry, project folders."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from core.model.facts import PythonEnvironment
from core.probes.python import builds, environment, probe
from core.probes.python.locations import MAX_WALK_FOLDERS, in_projects
from tests.probes.request import link, request, write
from tests.probes.test_frameworks import interpreter, venv

HOME = "/home/ada"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def listed(root: Path, env: dict[str, str] | None = None, **more) -> dict[str, str]:
    """Return prefix -> how it was found, for everything that is not near."""
    given = request(root, {"HOME": HOME} | (env or {}), **more)
    seen = builds.look(given)
    return {p.prefix: p.found_by for p in seen.others}


@pytest.mark.parametrize(
    ("prefix", "found_by", "env"),
    [
        (f"{HOME}/miniconda3", "conda's usual folders", {}),
        (f"{HOME}/miniforge3/envs/ml", "conda's usual folders", {}),
        ("/opt/conda/envs/ml", "conda's usual folders", {}),
        ("/big/mamba/envs/ml", "conda's usual folders", {"MAMBA_ROOT_PREFIX": "/big/mamba"}),
        ("/big/conda/envs/ml", "conda's usual folders", {"CONDA_EXE": "/big/conda/bin/conda"}),
        (f"{HOME}/.pyenv/versions/3.12.1", "pyenv", {}),
        ("/big/pyenv/versions/3.12.1", "pyenv", {"PYENV_ROOT": "/big/pyenv"}),
        (f"{HOME}/.local/share/uv/python/cpython-3.12.1-linux-x86_64-gnu", "uv", {}),
        (f"{HOME}/.local/share/uv/tools/vllm", "uv", {}),
        (f"{HOME}/.cache/pypoetry/virtualenvs/ml-x-py3.11", "Poetry", {}),
        (f"{HOME}/.local/share/pipx/venvs/whisper", "pipx", {}),
        (f"{HOME}/.virtualenvs/ml", "virtualenvwrapper", {}),
        (f"{HOME}/.local/share/virtualenvs/ml-AbC", "Pipenv", {}),
        (f"{HOME}/.local/share/hatch/env/virtual/ml/x1y2/ml", "Hatch", {}),
        (f"{HOME}/work/project/.venv", "a project folder", {}),
        ("/opt/tool/venv", "a project folder", {}),
        ("/workspace/app/env", "a project folder", {}),
    ],
)
def test_every_usual_place_on_linux(tmp_path: Path, prefix: str, found_by: str, env: dict[str, str]):
    venv(tmp_path, prefix)
    if found_by.startswith("conda"):
        write(tmp_path, f"{prefix}/conda-meta/history")
    assert listed(tmp_path, env) == {prefix: found_by}


@pytest.mark.parametrize(
    ("folder", "files", "kind", "found_by"),
    [
        (r"C:\Users\ada\miniconda3", ("conda-meta/history", "python.exe"), "conda", "conda's usual folders"),
        (r"C:\ProgramData\anaconda3\envs\ml", ("conda-meta/history", "python.exe"), "conda", "conda's usual folders"),
        (r"C:\Users\ada\.pyenv\pyenv-win\versions\3.11.7", ("python.exe", "python311.dll"), "other", "pyenv-win"),
        (r"C:\Users\ada\AppData\Local\Programs\Python\Python311", ("python.exe", "python311.dll"), "other", "python.org's installer"),
        (r"C:\Users\ada\AppData\Roaming\uv\tools\vllm", ("pyvenv.cfg", "Scripts/python.exe"), "venv", "uv"),
        (r"C:\Users\ada\pipx\venvs\whisper", ("pyvenv.cfg", "Scripts/python.exe"), "venv", "pipx"),
        (r"C:\Users\ada\source\ml\.venv", ("pyvenv.cfg", "Scripts/python.exe"), "venv", "a project folder"),
        (r"C:\ComfyUI_windows_portable\python_embeded", ("python.exe", "python312.dll", "python312._pth"), "embedded", "a project folder"),
        (r"C:\tools\WPy64-31180\python", ("python.exe", "python311.dll"), "other", "a project folder"),
    ],
)  # fmt: skip
def test_every_usual_place_on_windows(tmp_path: Path, folder: str, files: tuple[str, ...], kind: str, found_by: str):
    for file in files:
        content = b"home = C:\\\nversion = 3.11.4\n" if file == "pyvenv.cfg" else b"MZ"
        write(tmp_path, f"{folder}\\{file}".replace("\\", "/"), content)
    env = {
        "USERPROFILE": r"C:\Users\ada",
        "LOCALAPPDATA": r"C:\Users\ada\AppData\Local",
        "APPDATA": r"C:\Users\ada\AppData\Roaming",
        "ProgramData": r"C:\ProgramData",
        "SystemDrive": "C:",
    }
    seen = builds.look(request(tmp_path, env, system="windows"))
    assert [(p.prefix, p.kind, p.found_by) for p in seen.others] == [(folder, kind, found_by)]


def test_pythons_of_the_registry_are_found_once(tmp_path: Path):
    for file in ("python.exe", "python311.dll"):
        write(tmp_path, f"C:/Python311/{file}", b"MZ")
    listed_twice = ("C:\\Python311\\", "C:\\Python311")
    seen = builds.look(request(tmp_path, {}, system="windows", registered=listed_twice))
    assert [(p.prefix.rstrip("\\"), p.found_by) for p in seen.others] == [(r"C:\Python311", "the registry (PEP 514)")]


# --- the walk ----------------------------------------------------------------------------------------------


def test_the_walk_follows_no_link_and_enters_nothing_barren(tmp_path: Path):
    venv(tmp_path, f"{HOME}/a/b/venv")
    venv(tmp_path, f"{HOME}/node_modules/x/venv")
    venv(tmp_path, f"{HOME}/.cache/x/venv")
    venv(tmp_path, f"{HOME}/one/two/three/four/five/venv")
    link(tmp_path, f"{HOME}/loop", "../ada")
    assert listed(tmp_path) == {f"{HOME}/a/b/venv": "a project folder"}


def test_the_walk_ends_with_its_time_and_its_number_of_folders(tmp_path: Path):
    venv(tmp_path, f"{HOME}/zz/venv")
    given = request(tmp_path, {"HOME": HOME})
    late = itertools.chain([0.0], itertools.repeat(100.0))
    assert list(in_projects(given, lambda: next(late))) == []
    for n in range(MAX_WALK_FOLDERS):
        (tmp_path / HOME.lstrip("/") / f"f{n}").mkdir(parents=True)
    assert list(in_projects(given, lambda: 0.0)) == []


def test_what_is_not_readable_or_no_folder_is_passed_over(tmp_path: Path):
    write(tmp_path, f"{HOME}/.pyenv", b"a file")
    link(tmp_path, f"{HOME}/miniconda3", "miniconda3")
    write(tmp_path, f"{HOME}/.virtualenvs/broken/pyvenv.cfg", b"\xff\xfe\0")
    (only,) = builds.look(request(tmp_path, {"HOME": HOME})).others
    assert (only.prefix, only.problem) == (f"{HOME}/.virtualenvs/broken", "Its interpreter is not there.")


# --- which are examined in full ----------------------------------------------------------------------------


def with_package(root: Path, prefix: str, name: str, home: str = "/usr/bin") -> None:
    venv(root, prefix, home)
    write(root, f"{prefix}/lib/python3.11/site-packages/{name}-1.0.dist-info/METADATA", f"Name: {name}\n")


def near(root: Path, env: dict[str, str] | None = None, *named: str) -> tuple[PythonEnvironment, ...]:
    return probe.look(request(root, {"HOME": HOME} | (env or {}), named=named))


def test_where_nothing_near_has_a_framework_those_further_away_are_taken(tmp_path: Path):
    interpreter(tmp_path, "/usr")
    for n in range(5):
        with_package(tmp_path, f"{HOME}/p{n}/venv", "torch")
    with_package(tmp_path, f"{HOME}/q/venv", "numba")
    assert len(near(tmp_path)) == probe.MAX_PROMOTED
    assert {p.found_by for p in near(tmp_path)} == {"a project folder"}
    with_package(tmp_path, f"{HOME}/active", "torch")
    assert [p.prefix for p in near(tmp_path, {"VIRTUAL_ENV": f"{HOME}/active"})] == [f"{HOME}/active"]
    assert [p.prefix for p in near(tmp_path, {}, "/usr")] == ["/usr"]


def test_an_environment_is_not_listed_twice(tmp_path: Path):
    with_package(tmp_path, f"{HOME}/ml/venv", "torch")
    given = request(tmp_path, {"HOME": HOME, "VIRTUAL_ENV": f"{HOME}/ml/venv"})
    pythons = probe.look(given)
    again = request(tmp_path, {"HOME": HOME, "VIRTUAL_ENV": f"{HOME}/ml/venv"}, pythons=pythons)
    assert [p.found_by for p in pythons] == ["VIRTUAL_ENV"]
    assert builds.look(again).others == ()


LOCAL = r"C:\Users\ada\AppData\Local"
ALIASES = rf"{LOCAL}\Microsoft\WindowsApps"
STORE_REAL = r"C:\Program Files\WindowsApps\PythonSoftwareFoundation.Python.3.11_3.11.2544.0_x64__qbz5n2kfra8p0"


@pytest.mark.parametrize("named", [(), (rf"{ALIASES}\python.exe",), (ALIASES,)])
def test_an_app_execution_alias_that_leads_to_the_store_is_no_python(tmp_path: Path, named: tuple[str, ...]):
    write(tmp_path, rf"{ALIASES}\python.exe".replace("\\", "/"))
    given = request(tmp_path, {"PATH": ALIASES, "LOCALAPPDATA": LOCAL}, system="windows", named=named)
    near = probe.look(given)
    assert [(p.prefix, p.executable) for p in near if p.executable or not named] == []
    assert builds.look(given).others == ()


def test_behind_an_alias_a_real_python_is_found_on_path(tmp_path: Path):
    write(tmp_path, rf"{ALIASES}\python.exe".replace("\\", "/"))
    write(tmp_path, "C:/Python311/python.exe", b"MZ")
    (found,) = probe.look(request(tmp_path, {"PATH": rf"{ALIASES};C:\Python311"}, system="windows"))
    assert (found.prefix, found.executable) == (r"C:\Python311", r"C:\Python311\python.exe")


@pytest.mark.parametrize("folder", ["", r"\PythonSoftwareFoundation.Python.3.11_qbz5n2kfra8p0"])
def test_the_stores_python_is_known_by_its_real_path(tmp_path: Path, folder: str, monkeypatch):
    monkeypatch.setattr(environment, "app_alias_target", lambda _path: rf"{STORE_REAL}\python3.11.exe")
    alias = rf"{ALIASES}{folder}\python.exe"
    write(tmp_path, alias.replace("\\", "/"))
    for name in ("python.exe", "python3.11.exe", "python311.dll"):
        write(tmp_path, rf"{STORE_REAL}\{name}".replace("\\", "/"), b"MZ")
    site = rf"{LOCAL}\Packages\PythonSoftwareFoundation.Python.3.11_qbz5n2kfra8p0\LocalCache\local-packages\Python311\site-packages"
    write(tmp_path, rf"{site}\torch-2.8.0.dist-info\METADATA".replace("\\", "/"), "Name: torch\nVersion: 2.8.0\n")
    given = request(tmp_path, {"LOCALAPPDATA": LOCAL, "PATH": rf"{ALIASES}{folder}"}, system="windows")
    (found,) = probe.look(given)
    assert (found.prefix, found.executable) == (STORE_REAL, rf"{STORE_REAL}\python.exe")
    assert (found.kind, found.version, found.site_packages) == ("store", "3.11", (site,))


def test_the_stores_python_has_its_packages_in_its_own_data(tmp_path: Path):
    local = r"C:\Users\ada\AppData\Local"
    family = "PythonSoftwareFoundation.Python.3.11_qbz5n2kfra8p0"
    write(tmp_path, f"{local}\\Microsoft\\WindowsApps\\{family}\\python.exe".replace("\\", "/"), b"MZ")
    site = rf"{local}\Packages\{family}\LocalCache\local-packages\Python311\site-packages"
    write(tmp_path, f"{site}\\torch-2.8.0.dist-info\\METADATA".replace("\\", "/"), "Name: torch\nVersion: 2.8.0\n")
    (found,) = builds.look(request(tmp_path, {"LOCALAPPDATA": local}, system="windows")).others
    assert (found.kind, found.version, found.found_by) == ("store", "3.11", "the Windows Store")
    assert found.site_packages == (site,)
    assert [(d.name, d.version) for d in found.distributions] == [("torch", "2.8.0")]


@pytest.mark.parametrize(
    ("given", "prefix"),
    [
        ("/opt/ml/.", "/opt/ml"),
        ("/opt/ml/", "/opt/ml"),
        ("/opt//tools/../ml", "/opt/ml"),
        ("/opt/link/../ml", "/opt/link/../ml"),
        ("/opt/gone/../gone", "/opt/gone/../gone"),
    ],
)
def test_a_named_place_is_told_without_its_detours(tmp_path: Path, given: str, prefix: str):
    """Commands, and the name of a new environment beside it, are made of it; past a link ".." leads elsewhere than it says."""
    venv(tmp_path, "/opt/ml")
    venv(tmp_path, "/srv/ml")
    write(tmp_path, "/srv/tools/file")
    write(tmp_path, "/opt/tools/file")
    link(tmp_path, "/opt/link", "/srv/tools")
    near = probe.look(request(tmp_path, {}, named=(given,)))
    named = [p.prefix for p in near if "--python" in p.ways]
    assert named == [prefix]
