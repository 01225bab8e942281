"""Files that a RECORD lists and that are not there, of packages that are no frameworks: what counts, and what an import comes to."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from core.common.progress import Progress
from core.host.this_host import this_host
from core.loader.earlier_reads import EarlierReads, using
from core.model.facts import DamagedFile, Distribution, PythonEnvironment, Snapshot
from core.probes.probe import ProbeRequest
from core.probes.python.installed.gone_files import every_distribution, unlike_files
from core.probes.sysroot import Sysroot
from core.probes.wheel_record import record_rows
from tests.probes.test_import_closure import ended, plant

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="paths of Linux")

FILES = (
    "odd/__init__.py", "odd/core.py", "odd/_fast.cpython-311-x86_64-linux-gnu.so", "odd/a/b/c/deep.py", "odd/a/b/c/lib/libodd.so.1.2",
    "odd/bin/odd_worker", "odd.libs/libgomp-1234abcd.so.1", "odd/tests/test_core.py", "odd/include/odd.h", "odd/core.pyi", "odd/README",
    "odd/extra/one.py", "odd/extra/two.py", "odd/_fast.pyd", "../../../bin/odd", "odd-1.0.dist-info/METADATA",
)  # fmt: skip


def install(site: Path, files: tuple[str, ...] = FILES, name: str = "odd-1.0") -> Path:
    """Make a package with its RECORD, without a folder for console scripts."""
    for inner in (f for f in files if not f.startswith("..") and not f.endswith(".pyd")):
        (site / inner).parent.mkdir(parents=True, exist_ok=True)
        (site / inner).write_text("x = 1\n")
    info = site / f"{name}.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "RECORD").write_text("".join(f"{f},sha256=x,6\n" for f in files))
    return site


def environment(site: Path, kind: str = "venv") -> PythonEnvironment:
    return PythonEnvironment(prefix=str(site.parent), site_packages=(str(site),), kind=kind)


def gone(site: Path, kind: str = "venv", store: EarlierReads | None = None) -> list[tuple[str, bool]]:
    """Return what is missing below the packages, each with whether its folder went with it."""
    host = this_host()
    its = ProbeRequest(host=host, seen=Snapshot(machine=host.machine()), env={}, watch=Progress())
    with using(store or EarlierReads()):
        found = unlike_files(environment(site, kind), its, Sysroot("linux")).gone
    return sorted((one.path.removeprefix(f"{site}/"), one.with_folder) for one in found)


@pytest.mark.parametrize(
    ("lost", "told"),
    [
        ((), []),
        (("odd/core.py",), [("odd/core.py", False)]),
        (("odd/_fast.cpython-311-x86_64-linux-gnu.so",), [("odd/_fast.cpython-311-x86_64-linux-gnu.so", False)]),
        (("odd/a/b/c/lib/libodd.so.1.2",), [("odd/a/b/c/lib/libodd.so.1.2", False)]),
        (("odd.libs/libgomp-1234abcd.so.1",), [("odd.libs/libgomp-1234abcd.so.1", False)]),
        (("odd/bin/odd_worker",), [("odd/bin/odd_worker", False)]),
        (("odd/core.py", "odd/a/b/c/deep.py"), [("odd/a/b/c/deep.py", False), ("odd/core.py", False)]),
        (("odd/extra/one.py", "odd/extra/two.py"), [("odd/extra/one.py", True), ("odd/extra/two.py", True)]),
        (("odd/tests/test_core.py", "odd/include/odd.h", "odd/core.pyi", "odd/README", "odd-1.0.dist-info/METADATA"), []),
    ],
)  # fmt: skip
def test_what_is_recorded_and_gone_is_found(tmp_path: Path, lost: tuple[str, ...], told: list[tuple[str, bool]]):
    site = install(tmp_path / "site")
    for one in lost:
        (site / one).unlink()
    if any("extra" in one for one in lost):
        (site / "odd" / "extra").rmdir()
    assert gone(site) == told


def test_what_was_kept_is_looked_at_again_as_soon_as_a_folder_differs(tmp_path: Path):
    site, store = install(tmp_path / "site"), EarlierReads()
    for place, _folders, files in os.walk(site):
        for one in (place, *(os.path.join(place, f) for f in files)):  # noqa: PTH118 - texts
            os.utime(one, (1, 1))
    assert gone(site, store=store) == []
    (site / "odd" / "core.py").unlink()
    assert gone(site, store=EarlierReads(store.to_bytes())) == [("odd/core.py", False)]


def test_byte_code_in_the_place_of_a_module_is_the_module(tmp_path: Path):
    site = install(tmp_path / "site")
    (site / "odd" / "core.py").rename(site / "odd" / "core.pyc")
    assert gone(site) == []


@pytest.mark.parametrize("kind", ["conda", "system"])
def test_a_system_s_packages_are_split_as_its_builders_like(tmp_path: Path, kind: str):
    site = install(tmp_path / "site")
    (site / "odd" / "core.py").unlink()
    assert gone(site, kind) == []


def test_two_records_of_one_name_are_an_update_s_matter(tmp_path: Path):
    site = install(install(tmp_path / "site"), ("odd/gone_since.py", "odd/__init__.py"), "odd-0.9")
    (site / "odd" / "gone_since.py").unlink()
    assert gone(site) == []
    assert list(every_distribution(environment(site), Sysroot("linux"))) == []


def lost(site: Path, inner: str, name: str = "odd") -> DamagedFile:
    (site / inner).unlink()
    return DamagedFile(
        path=str(site / inner), distribution=name, version="1.0", location=str(site), state="missing", header=""
    )


IMPORTS: dict[str, tuple[dict[str, str], str, tuple[str, str, tuple[str, ...]] | None]] = {
    "the compiled core": (
        {"odd/__init__.py": "from ._core import f\n", "odd/_core.abi3.so": "x"}, "odd/_core.abi3.so", ("absent", "odd._core", ("odd",))),
    "told again by its own words": (
        {"odd/__init__.py": "try:\n    from . import _core\nexcept ImportError as e:\n    raise ImportError('no core') from e\n", "odd/_core.abi3.so": "x"},
        "odd/_core.abi3.so", ("absent", "odd._core", ("odd",))),
    "it goes without": (
        {"odd/__init__.py": "try:\n    from . import _core\nexcept ImportError:\n    _core = None\n", "odd/_core.abi3.so": "x"}, "odd/_core.abi3.so", None),
    "a module below": ({"odd/__init__.py": "import odd.a\n", "odd/a.py": "from .b import c\n", "odd/b.py": "c = 1\n"}, "odd/b.py", ("absent", "odd.b", ("odd",))),
    "the start itself": ({"odd/__init__.py": "x = 1\n", "odd/a.py": "x = 1\n"}, "odd/__init__.py", ("absent", "odd", ("odd",))),
    "a single module": ({"odd.py": "x = 1\n"}, "odd.py", ("absent", "odd", ("odd",))),
    "a library that a module opens": (
        {"odd/__init__.py": "from . import ffi\n", "odd/ffi.py": "NAME = 'libodd.so'\n", "odd/libodd.so": "x"}, "odd/libodd.so", ("unfit", "odd.ffi", ("odd",))),
    "a library that a comment names": ({"odd/__init__.py": "# perhaps libodd.so\n", "odd/libodd.so": "x"}, "odd/libodd.so", None),
    "nobody asks": ({"odd/__init__.py": "x = 1\n", "odd/tool.py": "x = 1\n"}, "odd/tool.py", None),
}  # fmt: skip


@pytest.mark.parametrize("case", IMPORTS)
def test_the_import_of_a_package_ends_at_the_file_that_it_lost(tmp_path: Path, case: str):
    from core.probes.python.installed.unfit_extensions import Suspects

    files, which, expected = IMPORTS[case]
    site = plant(tmp_path, {"torch/__init__.py": "x = 1\n", "typing_extensions.py": "", **files})
    install(site, tuple(files))
    for inner, text in files.items():
        (site / inner).write_text(text)
    told = ended(site, suspects=Suspects(gone=(lost(site, which),)))
    assert [(e.kind, e.wanted, e.starts) for e in told] == ([expected] if expected else [])
    assert all(e.owner == "odd 1.0" for e in told)


def test_a_distribution_is_named_as_its_folder_says(tmp_path: Path):
    site = install(tmp_path / "site", ("PIL/__init__.py",), "Pillow_Odd-1.2")
    assert [*every_distribution(environment(site), Sysroot("linux"))] == [
        Distribution(name="pillow-odd", version="1.2", location=str(site))
    ]


def test_an_egg_lists_its_own_files(tmp_path: Path):
    egg = tmp_path / "site" / "Odd-1.0-py3.11-linux-x86_64.egg"
    plant(egg, {"EGG-INFO/PKG-INFO": "Name: Odd\nVersion: 1.0\n", "odd/_C.so": "x", "odd.py": ""})
    python = PythonEnvironment(prefix=str(tmp_path), site_packages=(str(egg.parent), str(egg)), kind="venv")
    (what,) = every_distribution(python, Sysroot("linux"))
    assert (what.name, what.version, what.location) == ("odd", "1.0", str(egg))
    assert sorted(record_rows(what, r"\.so,", Sysroot("linux"))) == [str(egg / "odd" / "_C.so")]


@pytest.mark.parametrize(
    ("start", "removed"),
    [
        ("x = 1\n", True),
        ('_import_structure = {"core": [], "extra.one": ["One"]}\n', False),
        ("names = ['extra']\n", True),
    ],
)
def test_a_folder_that_a_package_imports_later_was_not_left_out_on_purpose(
    tmp_path: Path, start: str, removed: bool
) -> None:
    site = install(tmp_path / "site")
    (site / "odd/__init__.py").write_text(start)
    for name in ("one.py", "two.py"):
        (site / "odd/extra" / name).unlink()
    (site / "odd/extra").rmdir()
    assert gone(site) == [("odd/extra/one.py", removed), ("odd/extra/two.py", removed)]
