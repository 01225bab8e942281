"""Plug-ins that a framework loads at its import: what is read against importlib.metadata, and where their imports end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import Distribution, PythonEnvironment, SearchEntry
from core.probes.python.following.import_closure import ended_imports
from core.probes.python.following.search_parts import SearchParts
from core.probes.python.installed.plugins import framework_plugins
from core.probes.python.installed.unfit_extensions import UnfitExtension
from core.probes.python.search.modules import ModuleSearch
from core.probes.python.search.search_path import Interpreter, PythonSearch
from core.probes.sysroot import Sysroot
from tests.probes.request import request

VERSION = sys.version_info[:2]
HERE = Sysroot(system="linux")
SERVES = """import importlib.abc, importlib.machinery, sys

class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name == "torch_own.extern.served" else None
    def exec_module(self, module):
        pass

sys.meta_path.append(Finder())
"""
"""A package that serves modules which are no files."""
ENTRIES = "[console_scripts]\nown = own.main:run\n\n[torch.backends]\n# a device\nown = torch_own:start [extra]\nsecond=torch_own.second : go\n[other]\nx = y\n"
ASKS = (
    "import json, sys, importlib.metadata as m; "
    "print(json.dumps([e.module for e in m.entry_points(group='torch.backends')]))"
)


def environment(site: Path, release: str) -> PythonEnvironment:
    torch = Distribution(name="torch", version=release, location=str(site))
    return PythonEnvironment(prefix=str(site), site_packages=(str(site),), distributions=(torch,))


def plant(site: Path, text: str | None) -> None:
    info = site / "torch_own-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Name: torch-own\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    (site / "torch").mkdir()
    (site / "torch" / "__init__.py").write_text("x = 1\n")
    if text is not None:
        (site / "torch_own").mkdir()
        (site / "torch_own" / "__init__.py").write_text(text)
        (site / "torch_own" / "second.py").write_text("")
        (site / "torch_own" / "extern").mkdir()
        (site / "torch_own" / "extern" / "__init__.py").write_text(SERVES)


def test_entry_points_are_those_that_python_finds(tmp_path: Path):
    plant(tmp_path, "")
    found = [p.module for p in framework_plugins(environment(tmp_path, "2.6.0"), {}, HERE)]
    done = subprocess.run([sys.executable, "-c", ASKS], cwd=tmp_path, capture_output=True, check=True)
    assert sorted(found) == sorted(json.loads(done.stdout)) == ["torch_own", "torch_own.second"]


@pytest.mark.parametrize(("release", "value"), [("2.4.1", None), ("2.6.0", "0")])
def test_an_older_release_and_a_switch_load_none(tmp_path: Path, release: str, value: str | None):
    plant(tmp_path, "")
    env = {"TORCH_DEVICE_BACKEND_AUTOLOAD": value} if value else {}
    assert framework_plugins(environment(tmp_path, release), env, HERE) == ()
    assert framework_plugins(environment(tmp_path, "2.6.0"), {"TORCH_DEVICE_BACKEND_AUTOLOAD": "1"}, HERE)


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("import torch\nfrom torch import x\n", None),
        (None, ("absent", "torch_own")),
        ("from torch import gone\n", ("no name", "torch")),
        ("try:\n    from torch import gone\nexcept ImportError:\n    gone = None\n", None),
        ("import gone_too\n", ("absent", "gone_too")),
        ("from torch_own.extern import served\n", None),
    ],
)
def test_a_framework_ends_where_its_plugin_does(tmp_path: Path, text: str | None, ends: tuple[str, str] | None):
    plant(tmp_path, text)
    python = environment(tmp_path, "2.6.0")
    search = ModuleSearch(
        Interpreter("/env", "/env", VERSION),
        PythonSearch((SearchEntry(path=str(tmp_path), origin="site-packages"),)),
        "x86_64",
        HERE,
    )
    plugins = framework_plugins(python, {}, HERE)
    told = ended_imports(search, python.distributions, HERE, plugins=plugins)
    assert [(e.kind, e.wanted) for e in told][:1] == ([ends] if ends else [])
    assert all(e.starts == ("torch",) for e in told)
    code = "import torch_own, torch_own.second"
    done = subprocess.run([sys.executable, "-B", "-c", code], cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode != 0) == bool(ends)


@pytest.mark.parametrize(
    ("program", "value", "told"),
    [("import torch\n", "0", 1), ("import torch_own\n", "0", 2), ("import torch\n", "1", 2)],
)
def test_what_a_plugin_lacks_that_is_turned_off(
    tmp_path: Path, program: str, value: str, told: int, monkeypatch: pytest.MonkeyPatch
):
    """A device of another maker: nothing loads its library, unless a program names it."""
    site, work = tmp_path / "site", tmp_path / "work"
    site.mkdir()
    plant(site, "")
    work.mkdir()
    (work / "main.py").write_text(program)
    unfit = tuple(UnfitExtension(f"{site}/{n}.so", f"{n} 1.0", str(site)) for n in ("torch-own", "another"))
    monkeypatch.setattr("core.probes.python.following.search_parts.unfit_extensions", lambda *_its, **_more: unfit)
    its = replace(request(Path("/"), {"TORCH_DEVICE_BACKEND_AUTOLOAD": value}), script_folder=str(work))
    python = environment(site, "2.6.0")
    parts = SearchParts(python, Interpreter("/env", "/env", VERSION), PythonSearch(()), its, HERE)
    assert parts.extensions == (unfit if told == 2 else unfit[1:])
