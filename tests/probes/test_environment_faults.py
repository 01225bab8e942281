"""Environments that are broken or whole: what is read against whether the real interpreter starts and imports; and pip's remains."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from core.common.progress import Progress
from core.host.this_host import this_host
from core.model.facts import ImportSearch, PythonEnvironment, SearchEntry, Snapshot, Unexamined
from core.model.facts.frameworks import Way
from core.model.steps import Severity
from core.probes.probe import ProbeRequest
from core.probes.python import imports, probe
from core.probes.python.faults import environment_faults, remains_of_pip
from core.probes.sysroot import Sysroot
from core.rules.frameworks import broken, requirements
from core.rules.frameworks import imports as import_rules
from tests.probes.test_search_path import PYTHONS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the layouts are Linux's")

BASE = PYTHONS[0]
RULES = (*import_rules.RULES, *broken.RULES)


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """A real virtual environment with a module torch."""
    made = tmp_path / "env"
    subprocess.run([BASE, "-m", "venv", "--without-pip", made], check=True)
    site = site_of(made)
    (site / "torch").mkdir()
    (site / "torch" / "__init__.py").write_text("")
    record(site, "torch", "2.8.0")
    return made


def site_of(prefix: Path) -> Path:
    return next((prefix / "lib").glob("python3.*/site-packages"))


def record(site: Path, name: str, version: str) -> None:
    info = site / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "RECORD").write_text(f"{name}/__init__.py,,\n")
    (info / "INSTALLER").write_text("pip\n")


def look(prefix: Path, **env: str) -> tuple[ImportSearch, Snapshot]:
    """Return what is read of an environment that is active, and the Snapshot."""
    host = this_host()
    variables = {"HOME": "/nowhere", "VIRTUAL_ENV": str(prefix), **env}
    request = ProbeRequest(
        host=host, seen=Snapshot(machine=host.machine()), env=variables, watch=Progress(), pythons=(str(prefix),)
    )
    seen = Snapshot(machine=host.machine(), pythons=probe.look(request))
    request = ProbeRequest(host=host, seen=seen, env=variables, watch=Progress())
    found = imports.look(request)
    return found[0], Snapshot(machine=seen.machine, pythons=seen.pythons, imports=found)


def works(prefix: Path, **env: str) -> bool:
    """Whether the real interpreter starts and imports the module."""
    try:
        done = subprocess.run(
            [prefix / "bin" / "python", "-c", "import torch"],
            env={"HOME": "/nowhere", **env},
            capture_output=True,
            check=False,
        )
    except OSError:
        return False
    return done.returncode == 0


def relink(prefix: Path, target: str) -> None:
    for name in ("python", "python3", f"python{sys.version_info[0]}.{sys.version_info[1]}"):
        (prefix / "bin" / name).unlink(missing_ok=True)
        (prefix / "bin" / name).symlink_to(target)


def rehome(prefix: Path, home: str) -> None:
    config = prefix / "pyvenv.cfg"
    config.write_text(f"home = {home}\ninclude-system-site-packages = false\n")


def lose_base(prefix: Path) -> None:
    relink(prefix, "/opt/gone/bin/python3")
    rehome(prefix, "/opt/gone/bin")


def upgrade_beneath(prefix: Path) -> None:
    site = site_of(prefix)
    site.parent.rename(site.parent.with_name("python3.4"))


@pytest.mark.parametrize(("harm", "kind"), [(lose_base, "interpreter gone"), (upgrade_beneath, "upgraded beneath")])
def test_a_broken_environment_is_an_error_and_the_interpreter_agrees(
    prefix: Path, harm: Callable[[Path], None], kind: str
):
    assert works(prefix)
    harm(prefix)
    assert not works(prefix)
    found, seen = look(prefix)
    assert kind in [f.kind for f in found.faults]
    assert Severity.ERROR in [f.severity for rule in RULES for f in rule(seen)]


@pytest.mark.parametrize(
    ("files", "lost"),
    [
        (("pyvenv.cfg", "Lib/site-packages/x.py"), r"C:\ml\Scripts\python.exe"),
        (("conda-meta/python-3.12.4-h1_0.json", "Lib/site-packages/x.py"), r"C:\ml\python.exe"),
        (("pyvenv.cfg", "Lib/site-packages/x.py", "Scripts/python.exe"), ""),
        (("conda-meta/cuda-12.4-0.json", "Lib/site-packages/x.py"), ""),
        (("pyvenv.cfg", "bin/python"), ""),
    ],
    ids=["venv", "conda", "whole", "no Python's", "of another system"],
)
def test_an_interpreter_that_a_virus_scanner_took_away(files: tuple[str, ...], lost: str, tmp_path: Path):
    for name in files:
        (tmp_path / "C:/ml" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "C:/ml" / name).write_text("")
    found = [*environment_faults(r"C:\ml", None, {}, Sysroot(system="windows", root=str(tmp_path)))]
    assert [(f.kind, f.path) for f in found] == ([("interpreter gone", lost)] if lost else [])


def test_pythonhome_that_names_nothing(prefix: Path, tmp_path: Path):
    env = {"PYTHONHOME": str(tmp_path / "none")}
    assert not works(prefix, **env)
    found, _seen = look(prefix, **env)
    assert [f.kind for f in found.faults] == ["no standard library"]
    whole = {"PYTHONHOME": str(Path(BASE).resolve().parent.parent)}
    if works(prefix, **whole):
        assert look(prefix, **whole)[0].faults == ()


@pytest.mark.parametrize("layout", ["lib", "lib64", "nowhere"])
def test_another_layout_of_the_standard_library(layout: str, prefix: Path):
    env = {"PYTHONPLATLIBDIR": layout}
    kinds = [f.kind for f in look(prefix, **env)[0].faults]
    assert kinds == ([] if works(prefix, **env) else ["no standard library"])


STANDARD = "import re, random, typing, dataclasses, inspect, subprocess, ctypes, threading, importlib.metadata, asyncio"


def library_of(base: str) -> Path:
    code = "import sysconfig; print(sysconfig.get_paths()['stdlib'])"
    return Path(subprocess.run([base, "-c", code], capture_output=True, text=True, check=True).stdout.strip())


def takes(prefix: Path, library: Path) -> bool:
    """Whether the real interpreter imports what frameworks ask of a standard library that stands before its own."""
    env = {"HOME": "/nowhere", "PYTHONPATH": str(library)}
    done = subprocess.run([prefix / "bin/python", "-c", STANDARD], env=env, capture_output=True, check=False)
    return done.returncode == 0


def told(prefix: Path, library: Path) -> list[str]:
    found, seen = look(prefix, PYTHONPATH=str(library))
    errors = [f for rule in RULES for f in rule(seen) if f.severity is Severity.ERROR]
    assert [f.cause for f in errors] == ["module_shadowed"] * len(found.faults)
    return [f"{f.kind} {f.path}" for f in found.faults]


@pytest.mark.parametrize("other", PYTHONS, ids=lambda p: Path(p).parent.parent.name)
def test_the_library_of_another_python_is_told_where_the_interpreter_refuses_it(other: str, prefix: Path):
    library = library_of(other)
    assert told(prefix, library) == ([] if takes(prefix, library) else [f"another library {library}"])


@pytest.mark.parametrize("altered", [False, True])
def test_a_copied_library(altered: bool, prefix: Path, tmp_path: Path):
    copy, unwanted = (
        tmp_path / "Lib",
        ("site-packages", "dist-packages", "test", "lib-dynload", "__pycache__", "config-*"),
    )
    shutil.copytree(library_of(BASE), copy, ignore=shutil.ignore_patterns(*unwanted), symlinks=True)
    (file,) = [
        f
        for n in ("re/_constants.py", "sre_constants.py")
        if (f := copy / n).is_file() and "\nMAGIC =" in f.read_text()
    ]
    if altered:
        file.write_text(file.read_text().replace("\nMAGIC = ", "\nMAGIC = 1"))
    assert takes(prefix, copy) is not altered
    assert told(prefix, copy) == ([f"another library {copy}"] if altered else [])


def test_a_folder_with_some_names_of_the_library_is_none(prefix: Path, tmp_path: Path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own/os.py").write_text("from posixpath import *\n")
    assert told(prefix, tmp_path / "own") == []


def test_libpython_that_is_gone(prefix: Path, tmp_path: Path):
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("no compiler to link an interpreter's stand-in with")
    short = f"{sys.version_info[0]}.{sys.version_info[1]}"
    library = tmp_path / "libpython3.99.so.1.0"
    (tmp_path / "a.c").write_text("int f(void) { return 0; }\n")
    (tmp_path / "b.c").write_text("int f(void); int main(void) { return f(); }\n")
    subprocess.run([compiler, "-shared", f"-Wl,-soname,{library.name}", "-o", library, tmp_path / "a.c"], check=True)
    made = tmp_path / f"python{short}"
    subprocess.run([compiler, "-o", made, tmp_path / "b.c", library, "-Wl,-rpath,$ORIGIN/lib"], check=True)
    relink(prefix, str(made))
    found, _seen = look(prefix)
    assert ("library gone", library.name) in [(f.kind, f.detail) for f in found.faults]
    assert not works(prefix)
    found, _seen = look(prefix, LD_LIBRARY_PATH=str(tmp_path))
    assert "library gone" not in [f.kind for f in found.faults]
    assert works(prefix, LD_LIBRARY_PATH=str(tmp_path))


def test_a_moved_and_a_copied_environment_name_the_other_folder(prefix: Path, tmp_path: Path):
    copy = tmp_path / "copy"
    shutil.copytree(prefix, copy, symlinks=True)
    (fault,) = look(copy)[0].faults
    assert (fault.kind, fault.path, Path(fault.source).name) == ("copied", str(prefix), "activate")
    assert fault.line > 0
    shutil.rmtree(prefix)
    (fault,) = look(copy)[0].faults
    assert (fault.kind, fault.path) == ("moved", str(prefix))
    assert works(copy)
    os.symlink(copy, prefix)  # noqa: PTH211 - the name it had leads to it again
    assert look(copy)[0].faults == ()


def whole(prefix: Path) -> None:
    """Change nothing."""


def in_lib64(prefix: Path) -> None:
    """Have a link beside lib, as distributions with lib64 make it."""
    if not (prefix / "lib64").exists():
        (prefix / "lib64").symlink_to("lib")


def of_conda(prefix: Path) -> None:
    """Be an environment of conda: no pyvenv.cfg, packages installed by conda, without RECORD."""
    (prefix / "conda-meta").mkdir()
    info = next(site_of(prefix).glob("torch-*.dist-info"))
    (info / "RECORD").unlink()
    (info / "INSTALLER").write_text("conda\n")


def relocatable(prefix: Path) -> None:
    """Have an activation that finds its own folder, as uv's relocatable ones."""
    (prefix / "bin" / "activate").write_text(
        'VIRTUAL_ENV="$(dirname -- "$(dirname -- "${BASH_SOURCE[0]}")")"\nexport VIRTUAL_ENV\n'
    )


def without_scripts(prefix: Path) -> None:
    """Have no activation."""
    for name in (prefix / "bin").glob("[aA]ctivate*"):
        name.unlink()


def by_the_distribution(prefix: Path) -> None:
    """Have a package that apt recorded, without RECORD."""
    info = next(site_of(prefix).glob("torch-*.dist-info"))
    (info / "RECORD").unlink()
    (info / "INSTALLER").write_text("debian\n")


@pytest.mark.parametrize(
    "form", [whole, in_lib64, of_conda, relocatable, without_scripts, by_the_distribution], ids=lambda f: f.__name__
)
def test_a_whole_environment_is_quiet(prefix: Path, form: Callable[[Path], None]):
    form(prefix)
    assert works(prefix)
    found, seen = look(prefix)
    assert (found.faults, found.remains) == ((), ())
    assert [f for rule in RULES for f in rule(seen)] == []


@pytest.mark.parametrize(
    ("name", "kind", "whose"),
    [
        ("~orch", "renamed", "torch"),
        ("~-rch", "renamed", "torch"),
        ("~umpy", "renamed", "numpy"),
        ("~orch-2.7.1.dist-info", "renamed", "torch"),
        ("~vidia_cublas_cu12-12.4.5.8.dist-info", "renamed", "nvidia"),
        ("triton-3.4.0.dist-info", "no metadata", "triton"),
        ("~equests", "", ""),
        ("requests-2.0.dist-info", "", ""),
    ],
)
def test_what_pip_left(prefix: Path, name: str, kind: str, whose: str):
    (site_of(prefix) / name).mkdir()
    found, _seen = look(prefix)
    assert [(r.kind, r.distribution) for r in found.remains] == ([(kind, whose)] if kind else [])


@pytest.mark.parametrize(
    ("content", "kinds"),
    [
        ("Metadata-Version: 2.1\nName: numpy\nVersion: 2.2.6\n", []),
        ("Metadata-Version: 2.1\r\nName: numpy\r\nVersion: 2.2.6\r\n\r\nArrays.\r\n", []),
        ("", ["no version"]),
        ("\0" * 400, ["no version"]),
        ("Metadata-Version: 2.1\nName: numpy\n\nVersion: of the text\n", ["no version"]),
    ],
)
def test_metadata_without_a_version_are_as_good_as_none(prefix: Path, content: str, kinds: list[str]):
    info = site_of(prefix) / "numpy-2.2.6.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(content, newline="")
    (info / "RECORD").write_text("")
    found, _seen = look(prefix)
    assert [r.kind for r in found.remains] == kinds
    (its,) = importlib.metadata.distributions(name="numpy", path=[str(info.parent)])
    assert (its.metadata["Version"] is None) == bool(kinds)


def test_a_module_whose_record_is_gone(prefix: Path):
    site = site_of(prefix)
    for name, requires in (("torch", ("networkx", "pillow", "absent")), ("pillow-simd", ())):
        info = site / f"{name.replace('-', '_')}-2.6.0.dist-info"
        info.mkdir()
        wishes = "".join(f"Requires-Dist: {r}\n" for r in requires)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.6.0\n{wishes}")
        (info / "RECORD").write_text("PIL/__init__.py,,\n" if name == "pillow-simd" else "")
    for module in ("networkx", "PIL"):
        (site / module).mkdir()
        (site / module / "__init__.py").write_text("")
    found, _seen = look(prefix)
    assert found.unrecorded == (("networkx", str(site / "networkx/__init__.py")),)


def test_of_two_records_python_finds_one_first(prefix: Path):
    """The order is that of the file system; this interpreter says which it finds."""
    site = site_of(prefix)
    for version in ("1.26.4", "2.2.6"):
        (site / f"numpy-{version}.dist-info").mkdir()
    (site / "numpy-2.2.6.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 2.2.6\n")
    (site / "numpy-2.2.6.dist-info/RECORD").write_text("")
    (left,) = look(prefix)[0].remains
    (first, *_rest) = importlib.metadata.distributions(name="numpy", path=[str(site)])
    assert (left.path, left.behind) == (
        str(site / "numpy-1.26.4.dist-info"),
        str(site / "numpy-2.2.6.dist-info") if first.read_text("METADATA") else "",
    )


@pytest.mark.parametrize("base", PYTHONS)
def test_every_installed_python_is_whole(base: str):
    host = this_host()
    python = str(Path(base).resolve())
    request = ProbeRequest(
        host=host, seen=Snapshot(machine=host.machine()), env={"HOME": "/nowhere"}, watch=Progress(), pythons=(python,)
    )
    seen = Snapshot(machine=host.machine(), pythons=probe.look(request))
    found = imports.look(ProbeRequest(host=host, seen=seen, env=request.env, watch=Progress()))
    assert [f.faults for f in found] == [()]


def test_metadata_that_a_required_package_lost_is_told(prefix: Path):
    site = site_of(prefix)
    (site / "tqdm-4.67.1.dist-info").mkdir()
    entries = (SearchEntry(path=str(site), origin="site-packages"),)
    where = Sysroot(system="linux")
    assert [r.distribution for r in remains_of_pip(entries, where, frozenset({"tqdm"}))] == ["tqdm"]
    assert not list(remains_of_pip(entries, where))


@pytest.mark.parametrize(("ways", "followed"), [(("--python",), True), (("python3",), True), (("elsewhere",), False)])
def test_on_a_busy_machine_what_nobody_wants_is_left_out_and_told(
    prefix: Path, monkeypatch: pytest.MonkeyPatch, ways: tuple[Way, ...], followed: bool
) -> None:
    monkeypatch.setattr(imports, "MAX_SECONDS", -1.0)
    host, missed = this_host(), list[Unexamined]()
    python = PythonEnvironment(prefix=str(prefix), executable=str(prefix / "bin/python"), ways=ways)
    seen = Snapshot(machine=host.machine(), pythons=(python,))
    found = imports.look(ProbeRequest(host=host, seen=seen, env={}, watch=Progress(), miss=missed.append))
    assert [f.prefix for f in found] == ([str(prefix)] if followed else [])
    left_out = Unexamined(path=str(prefix), what="imports", seconds=-1.0)
    assert missed == ([] if followed else [left_out])


# --- records in front --------------------------------------------------------------------------------------------------

RELEASE = "import importlib.metadata as m; print(m.version('part'))"


def released(prefix: Path, folder: Path, **env: str) -> str:
    """Return the release that a program gets from the real interpreter for a package, started in a folder."""
    command = [prefix / "bin/python", "-c", RELEASE]
    done = subprocess.run(
        command, env={"HOME": "/nowhere", **env}, cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def stale(folder: Path, version: str, *, whole: bool = False) -> None:
    folder.mkdir(exist_ok=True)
    record(folder, "part", version)
    if whole:
        (folder / "part").mkdir()
        (folder / "part/__init__.py").write_text("")


@pytest.mark.parametrize(("where", "version"), [("work", "0.5"), ("tools", "0.5"), ("", ""), ("elsewhere", "0.5")])
def test_a_record_without_its_package_in_front_is_what_programs_read(
    where: str, version: str, prefix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    site = site_of(prefix)
    record(site, "part", "2.0")
    with (site / "torch-2.8.0.dist-info/METADATA").open("a") as metadata:
        metadata.write("Requires-Dist: part>=1.5\n")
    work, env = tmp_path / "work", {"PYTHONPATH": str(tmp_path / "tools")}
    work.mkdir()
    if where:
        stale(tmp_path / where, version)
    monkeypatch.chdir(work)
    _found, seen = look(prefix, **env)
    (its,) = [p for p in seen.pythons or () if p.prefix == str(prefix)]
    read = next(d.version for d in its.distributions if d.name == "part")
    assert read == released(prefix, work, **env)
    told = [f for f in requirements.broken_requirements(seen) if "part" in f.id]
    assert [(f.cause, str(tmp_path / where) in f.why) for f in told] == (
        [("requirement_broken", True)] if read == "0.5" else []
    )


def test_a_package_of_the_working_folder_is_no_bare_record(
    prefix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    record(site_of(prefix), "part", "2.0")
    with (site_of(prefix) / "torch-2.8.0.dist-info/METADATA").open("a") as metadata:
        metadata.write("Requires-Dist: part>=1.5\n")
    stale(tmp_path / "work", "0.5", whole=True)
    monkeypatch.chdir(tmp_path / "work")
    _found, seen = look(prefix)
    assert not [d for p in seen.pythons or () for d in p.distributions if d.location == str(tmp_path / "work")]
