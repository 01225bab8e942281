"""Modules that are there and give nothing, and data that code names: what the records show, and what an import comes to."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from core.common.patience import call_patiently
from core.common.progress import Progress
from core.host.this_host import this_host
from core.loader.earlier_reads import EarlierReads, using
from core.model.facts import DamagedFile, PythonEnvironment, Snapshot
from core.probes import sysroot
from core.probes.probe import ProbeRequest
from core.probes.python.installed.gone_files import Unlike, unlike_files
from core.probes.python.installed.unfit_extensions import Suspects
from core.probes.sysroot import Entry, Sysroot
from tests.probes.test_import_closure import ended, plant, really_ends

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="paths of Linux")

STATE = Literal["size differs", "unreadable"]


def install(root: Path, files: dict[str, str]) -> Path:
    """Make the package ``odd`` with its RECORD."""
    site = plant(root, files)
    plant(site, {"odd-1.0.dist-info/RECORD": "".join(f"{f},sha256=x,{len(t)}\n" for f, t in files.items())})
    return site


def unlike(site: Path) -> Unlike:
    """Return what differs from the record."""
    host = this_host()
    its = ProbeRequest(host=host, seen=Snapshot(machine=host.machine()), env={}, watch=Progress())
    with using(EarlierReads()):
        python = PythonEnvironment(prefix=str(site.parent), site_packages=(str(site),), kind="venv")
        return unlike_files(python, its, Sysroot("linux"))


WHOLE = {
    "odd/__init__.py": "from .core import value\n", "odd/core.py": "import os\n\nvalue = 1\n", "odd/cacert.pem": "-----BEGIN\n",
    "odd/where.py": "def where():\n    return here('cacert.pem')\n", "odd/LICENSE.txt": "as you like\n",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("odd/core.py", "import os\n", (0, ["odd/core.py"], 0)),
        ("odd/core.py", "import os\n\nvalue = 1  # mine\n", (0, [], 0)),
        ("odd/core.py", None, (1, [], 0)),
        ("odd/cacert.pem", None, (0, [], 1)),
        ("odd/cacert.pem", "", (0, [], 1)),
        ("odd/cacert.pem", "-----BEGIN\nof the company\n", (0, [], 0)),
        ("odd/LICENSE.txt", None, (0, [], 0)),
    ],
)
def test_what_differs_from_a_record(
    tmp_path: Path, name: str, content: str | None, told: tuple[int, list[str], int]
) -> None:
    site = install(tmp_path / "site", WHOLE)
    (site / name).unlink()
    if content is not None:
        (site / name).write_text(content)
    found = unlike(site)
    assert (len(found.gone), [d.path.removeprefix(f"{site}/") for d in found.odd], len(found.data)) == told
    assert all(d.needed_by.endswith("odd/where.py") for d in found.data)


@pytest.mark.parametrize(("size", "told"), [(0, False), (7, True)])
def test_a_module_is_whole_as_the_package_recorded_it_that_was_installed_last(
    tmp_path: Path, size: int, *, told: bool
) -> None:
    site = install(tmp_path / "site", WHOLE)
    (site / "odd/core.py").write_text("")
    plant(site, {"even-2.0.dist-info/RECORD": f"even/x.py,,\nodd/core.py,sha256=y,{size}\n"})
    assert {d.path.removeprefix(f"{site}/") for d in unlike(site).odd} == ({"odd/core.py"} if told else set())


def test_a_link_to_nothing_is_a_missing_file(tmp_path: Path) -> None:
    site = install(tmp_path / "site", WHOLE)
    (site / "odd" / "core.py").unlink()
    (site / "odd" / "core.py").symlink_to(tmp_path / "nothing")
    assert [d.state for d in unlike(site).gone] == ["missing"]


CUTS: dict[str, tuple[dict[str, str], str, tuple[str, str] | None]] = {
    "no longer Python": ({"odd/__init__.py": "import odd.core\n", "odd/core.py": 'x = """cut'}, "odd/core.py", ("damaged", "odd.core")),
    "without what is asked for": (
        {"odd/__init__.py": "from .core import value\n", "odd/core.py": "import os\n"}, "odd/core.py", ("damaged", "odd.core")),
    "of no bytes": ({"odd/__init__.py": "from .core import value\n", "odd/core.py": ""}, "odd/core.py", ("empty", "odd.core")),
    "the start itself": ({"odd/__init__.py": "import os\ndef f(:\n", "odd/core.py": ""}, "odd/__init__.py", ("damaged", "odd")),
    "shortened by its user": ({"odd/__init__.py": "from .core import value\n", "odd/core.py": "value = 2\n"}, "odd/core.py", None),
    "nobody asks": ({"odd/__init__.py": "x = 1\n", "odd/tool.py": 'x = """cut'}, "odd/tool.py", None),
}  # fmt: skip


def odd(site: Path, inner: str, state: STATE = "size differs") -> Suspects:
    one = DamagedFile(path=str(site / inner), distribution="odd", version="1.0", location=str(site), state=state)
    return Suspects(odd=(one,))


@pytest.mark.parametrize("case", CUTS)
def test_an_import_ends_at_a_module_that_is_cut(tmp_path: Path, case: str) -> None:
    files, which, expected = CUTS[case]
    site = plant(tmp_path, {"torch/__init__.py": "x = 1\n", **files})
    plant(site, {"odd-1.0.dist-info/RECORD": "".join(f"{f},sha256=x,999\n" for f in files)})
    told = ended(site, suspects=odd(site, which))
    assert [(e.kind, e.wanted) for e in told] == ([expected] if expected else [])
    assert all(e.owner == "odd 1.0" for e in told)
    assert really_ends(site, module="odd") == bool(expected)


CLOSED = {
    "the package that is asked for": ("odd/inner", "from odd.inner import core\n", "odd.inner"),
    "the package above": ("odd/inner", "import odd.inner.core\n", "odd.inner.core"),
    "deeper than folders are listed": (
        "odd/inner/a/b",
        "import torch\nfrom odd.inner.a.b import core\n",
        "odd.inner.a.b",
    ),
}


@pytest.mark.parametrize("case", CLOSED)
def test_an_import_ends_at_a_folder_that_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    folder, start, wanted = CLOSED[case]
    above = {f"{p}/__init__.py": "x = 1\n" for p in ("odd/inner", "odd/inner/a", "odd/inner/a/b")}
    files = {"odd/__init__.py": start, **above, f"{folder}/core.py": "x = 1\n", "odd/tool.py": "import odd.inner\nodd.inner.core = 1\n"}  # fmt: skip
    site = install(tmp_path / "site", files)
    plant(site, {"torch/__init__.py": "x = 1\n"})
    shut = str(site / folder)

    def as_another_person(function: Callable[..., object], path: str, *more: object) -> object:
        """Refuse what is in the folder, and its list: root may look everywhere."""
        if path.startswith(f"{shut}/") or (path == shut and function is not os.stat):
            raise PermissionError(path)
        return call_patiently(function, path, *more)

    assert not ended(site)
    monkeypatch.setattr(sysroot, "call_patiently", as_another_person)
    found = unlike(site)
    assert not found.gone
    assert not found.odd or [(d.path, d.state) for d in found.odd] == [(f"{shut}/__init__.py", "unreadable")]
    (told,) = ended(site, suspects=Suspects(odd=found.odd))
    assert (told.kind, told.wanted, told.path) == ("unreadable", wanted, shut)
    assert told.owner == "odd 1.0" or not found.odd


def test_a_folder_tells_what_its_names_lead_to(tmp_path: Path) -> None:
    plant(tmp_path, {"a.py": "x", "inner/b.py": ""})
    (tmp_path / "gone.py").symlink_to(tmp_path / "nothing")
    where = Sysroot("linux")
    there = where.entries(str(tmp_path)) or {}
    assert (there["a.py"], sorted(there)) == (Entry(1), ["a.py", "inner"])
    assert where.entries(str(tmp_path / "none")) == {}
    (tmp_path / "a.py").chmod(0)
    assert (where.entries(str(tmp_path)) or {})["a.py"].closed
