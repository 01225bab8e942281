"""Files of a package are put back by hash, from wherever the same bytes lie; and from nowhere else."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from core.common.progress import Progress
from core.fixes.packages.context import ExchangeContext
from core.fixes.packages.donors import lost_files
from core.fixes.packages.installer import Sources, cached_wheels, choose_installer, wheel_name
from core.fixes.packages.prepare import prepare_exchange
from core.host.this_host import this_host
from core.host.with_environment import HostWithEnvironment
from core.model.changes import ChangeError, ExchangePackages, FileSet
from core.model.facts import Distribution, Machine, PythonEnvironment, Snapshot
from core.transaction.execute import Plan, execute, undo
from core.transaction.journal import Journal
from core.transaction.preconditions import resolve_changes
from core.transaction.variable_store import LinuxVariables
from tests.curelab import wheels
from tests.envlab.run import LabHost
from tests.packages.conftest import tree

FILES = {"tiny/__init__.py": "one = 1\n", "tiny/sub/data.bin": bytes(range(256)) * 40}


class Site:
    """A folder of packages in which tiny 1.0 is installed."""

    def __init__(self, base: Path) -> None:
        self.base = Path(os.path.realpath(base))
        self.folder = self.unpack("env")
        self.journal = Journal(self.base / "state")
        self.host = LabHost(this_host(), {"HOME": str(self.base), "PATH": "/usr/bin:/bin"})
        self.others: tuple[PythonEnvironment, ...] = ()

    def wheel(self, version: str = "1.0") -> Path:
        return wheels.make_wheel(self.base / "wheels", "tiny", version, FILES)

    def unpack(self, name: str) -> Path:
        folder = self.base / name / "site-packages"
        with zipfile.ZipFile(self.wheel()) as archive:
            archive.extractall(folder)
        return folder

    def change(self, **sources: object) -> FileSet:
        wish = ExchangePackages(
            title="Back", prefix=str(self.folder.parent), folder=str(self.folder), restore=("tiny",)
        )
        seen = Snapshot(machine=Machine(system="linux"), pythons=self.others)
        context = ExchangeContext(
            seen=seen,
            sources=Sources(**{"offline": True, **sources}),
            host=self.host,
            journal=self.journal,
            watch=Progress(),
        )
        made = prepare_exchange(wish, {}, context)
        (change,) = made.changes
        assert isinstance(change, FileSet)
        return change

    def apply(self, change: FileSet) -> str:
        writer = LinuxVariables("/", str(self.base))
        done = execute(
            Plan(title="Back", changes=resolve_changes((change,), writer)), writer=writer, journal=self.journal
        )
        assert done.kind == "done", done.sentence
        return done.entry


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def damage(site: Site) -> dict[str, str]:
    (site.folder / "tiny/__init__.py").write_text("one = 2\n")
    (site.folder / "tiny/sub/data.bin").unlink()
    (site.folder / "tiny/sub").rmdir()
    return tree(site.folder)


def other_environment(site: Site) -> None:
    folder = site.unpack("second")
    tiny = Distribution(name="tiny", version="1.0", location=str(folder))
    site.others = (PythonEnvironment(prefix=str(folder.parent), site_packages=(str(folder),), distributions=(tiny,)),)


def uv_cache(site: Site) -> None:
    (site.base / ".cache/uv/archive-v0").mkdir(parents=True)
    site.unpack("second").rename(site.base / ".cache/uv/archive-v0/AbC")


def pip_cache(site: Site) -> None:
    body = site.base / ".cache/pip/http-v2/a/b/c.body"
    body.parent.mkdir(parents=True)
    body.write_bytes(site.wheel().read_bytes())
    body.with_name("d.body").write_bytes(b"PK\x03\x04 no archive")


@pytest.mark.parametrize(
    "source", [other_environment, uv_cache, pip_cache, "wheel", "folder"], ids=lambda s: getattr(s, "__name__", s)
)
def test_the_same_bytes_are_found_here(site: Site, source: object) -> None:
    whole, broken = tree(site.folder), damage(site)
    if callable(source):
        source(site)
        change = site.change()
    else:
        wheel = site.wheel()
        change = site.change(named=str(wheel if source == "wheel" else wheel.parent))
    assert len(change.items) == 2
    entry = site.apply(change)
    assert tree(site.folder) == whole
    undo(entry, writer=LinuxVariables("/", str(site.base)), journal=site.journal)
    assert tree(site.folder) == broken


def test_a_folder_of_downloads_holds_much_else(site: Site) -> None:
    """Another release, the same one for another system, a wheel that was cut, and other packages with long names."""
    whole, folder = tree(site.folder), site.wheel().parent
    damage(site)
    wheels.make_wheel(folder, "tiny", "0.9", {"tiny/__init__.py": "one = 0\n"})
    (folder / "tiny-1.0-py3-none-a_system_with_a_very_long_name_that_is_another.whl").write_bytes(b"PK\x03\x04 cut")
    foreign = wheels.make_wheel(folder, "tiny", "1.0", {"tiny/__init__.py": "one = 3\n"})
    foreign.rename(folder / "tiny-1.0-py3-none-a_system_with_a_very_long_name_of_ones_own.whl")
    site.wheel()
    site.apply(site.change(named=str(folder)))
    assert tree(site.folder) == whole


def test_other_bytes_are_not_taken(site: Site) -> None:
    damage(site)
    other = wheels.make_wheel(site.base / "other", "tiny", "1.0", {**FILES, "tiny/sub/data.bin": b"other"})
    with pytest.raises(ChangeError, match="was not found anywhere by its hash"):
        site.change(named=str(other))


def test_only_what_record_lists_is_touched(site: Site) -> None:
    damage(site)
    (site.folder / "tiny/mine.py").write_text("mine\n")
    site.apply(site.change(named=str(site.wheel())))
    assert (site.folder / "tiny/mine.py").read_text() == "mine\n"


def test_a_package_that_is_whole_is_left(site: Site) -> None:
    with pytest.raises(ChangeError, match="nothing to restore"):
        site.change(named=str(site.wheel()))


@pytest.mark.parametrize("records", [0, 2])
def test_without_a_single_record_nothing_is_put_back(site: Site, records: int) -> None:
    info = site.folder / "tiny-1.0.dist-info"
    if records:
        info.with_name("tiny-0.9.dist-info").mkdir()
    else:
        info.rename(site.folder / "gone")
    with pytest.raises(ChangeError, match="does not have exactly one record"):
        lost_files(str(site.folder), "tiny", Progress())


def test_a_record_that_leads_out_of_the_folder_is_not_followed(site: Site) -> None:
    record = site.folder / "tiny-1.0.dist-info/RECORD"
    rows = record.read_text()
    record.write_text(
        f"../../victim,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\n/etc/passwd,sha256=abc,1\n{rows}"
    )
    damage(site)
    assert sorted(f.relative for f in lost_files(str(site.folder), "tiny", Progress())) == [
        "tiny/__init__.py",
        "tiny/sub/data.bin",
    ]


def test_a_cached_wheel_gets_no_name_that_leads_elsewhere(tmp_path: Path) -> None:
    body = tmp_path / "evil.body"
    with zipfile.ZipFile(body, "w") as archive:
        archive.writestr("evil-1.0.dist-info/WHEEL", "Tag: ../../x-none-any\n")
    assert wheel_name(body) == ""
    assert cached_wheels(LabHost(this_host(), {"PIP_CACHE_DIR": str(tmp_path)}), tmp_path) is None


@pytest.mark.parametrize("below", ["", ".convalesce/0123abcd"])
def test_the_environment_is_named_that_nothing_can_install_into(tmp_path: Path, below: str) -> None:
    alone = HostWithEnvironment(host=this_host(), env={"PATH": str(tmp_path / "nothing")})
    with pytest.raises(ChangeError) as refused:
        choose_installer(tmp_path / "ml" / below, str(tmp_path / "nothing"), alone, Progress())
    assert str(refused.value).endswith(f" {tmp_path / 'ml'}.")


def test_a_folder_in_the_place_of_a_file_is_told_and_not_touched(site: Site) -> None:
    path = site.folder / "tiny" / "__init__.py"
    path.unlink()
    path.mkdir()
    with pytest.raises(ChangeError, match=r"is a folder, and not a file\. Rename it first: mv .*__init__\.py\.folder"):
        site.change(named=str(site.wheel()))
    assert path.is_dir()
