"""Libraries against the RECORDs of their distributions: whole, missing, cut short, altered, overwritten by another package."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.common.progress import Progress
from core.host.this_host import this_host
from core.loader.sections import open_layout
from core.model.facts import Frameworks, LibraryFile, PackageRecords, Snapshot, Toolkit
from core.probes import hashing
from core.probes.probe import ProbeRequest
from core.probes.python import probe
from core.probes.python.installed import records as frameworks_records
from core.rules.frameworks.packages import shared_files
from core.rules.frameworks.records import damaged_libraries
from core.rules.wording import NOTE
from tests import machines as m
from tests import standin
from tests.envlab.layouts import Site, venv

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the stand-ins are Linux libraries")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return standin.build_library(tmp_path_factory.mktemp("library") / "libx.so").read_bytes()


@pytest.fixture
def site(tmp_path: Path, library: bytes) -> Site:
    """An environment with torch and cuBLAS, two libraries each."""
    made = venv(tmp_path / "venv")
    for name, version, folder in (
        ("torch", "2.8.0+cu128", "torch/lib"),
        ("nvidia-cublas-cu12", "12.8.4.1", "nvidia/cublas/lib"),
    ):
        files = [made.folder / folder / f"lib{n}_{name[:5]}.so.12" for n in ("a", "b")]
        for n, file in enumerate(files):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(library + b"\0" * n)
        standin.record_wheel(made.folder, name, version, files)
    return made


def records(site: Site, *, thorough: bool = False, near: bool = True) -> tuple[PackageRecords, ...]:
    host = this_host()
    request = ProbeRequest(
        host=host,
        seen=Snapshot(machine=host.machine()),
        env={"HOME": "/nowhere"},
        watch=Progress(),
        pythons=(str(site.prefix),),
    )
    pythons = probe.look(request)
    seen = Snapshot(
        machine=host.machine(), pythons=pythons if near else (), frameworks=Frameworks(others=() if near else pythons)
    )
    return frameworks_records.look(
        ProbeRequest(
            host=host, seen=seen, env=request.env, watch=Progress(), thorough=thorough, pythons=request.pythons
        )
    )


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-4000])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def lengthen(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0" * 64)


def blank(path: Path) -> None:
    """Leave zeros in the place of its symbols."""
    with open_layout(path) as file:
        (place,) = file.sections_named(".dynsym")
    content = path.read_bytes()
    path.write_bytes(content[: place.offset] + bytes(place.size) + content[place.offset + place.size :])


@pytest.mark.parametrize(
    ("harm", "thorough", "state", "header"),
    [
        (Path.unlink, False, "missing", ""),
        (cut, False, "size differs", "truncated"),
        (lengthen, False, "size differs", "good"),
        (flip, True, "hash differs", ""),
        (blank, False, "hash differs", "zeros"),
    ],
)
def test_one_harmed_library(
    site: Site, harm: Callable[[Path], None], *, thorough: bool, state: str, header: str
) -> None:
    path = site.folder / "torch/lib/libb_torch.so.12"
    harm(path)
    (found,) = records(site, thorough=thorough)
    assert (found.packages, found.files) == (2, 4)
    assert [(d.path, d.distribution, d.state, d.header) for d in found.damaged] == [(str(path), "torch", state, header)]


def test_libraries_that_two_distributions_list_are_told_and_a_table_is_not_needed(site: Site) -> None:
    theirs = [site.folder / "torch/lib" / f"lib{n}_torch.so.12" for n in ("a", "b")]
    standin.record_wheel(site.folder, "triton-fork", "1.0", theirs)
    (found,) = records(site)
    assert [(s.distributions, s.files) for s in found.shared] == [(("torch 2.8.0+cu128", "triton-fork 1.0"), 2)]
    home = m.python(distributions=(*m.python().distributions,))
    seen = replace(m.wheel_machine(), pythons=(home,), records=(replace(found, prefix=m.PREFIX),))
    (told,) = shared_files(seen)
    assert (told.cause, told.consumers) == ("duplicate_framework_packages", (f"python/torch:{m.PREFIX}",))


def test_what_is_linked_against_a_missing_library_does_not_load(site: Site) -> None:
    gone = standin.build_library(site.folder / "nvidia/cublas/lib/liba_nvidi.so.12")
    standin.record_wheel(site.folder, "nvidia-cublas-cu12", "12.8.4.1", [gone])
    needer = standin.build_library(site.folder / "torch/lib/libtorch_cuda.so", needed=(gone,))
    standin.record_wheel(site.folder, "torch", "2.8.0+cu128", [needer])
    gone.unlink()
    assert [d.needed_by for d in records(site)[0].damaged] == [str(needer)]
    assert [f.severity.word for f in damaged_libraries(_seen(site, thorough=False))] == ["error"]


def test_a_flipped_bit_is_seen_by_hashes_only(site: Site) -> None:
    flip(site.folder / "torch/lib/libb_torch.so.12")
    assert [(r.hashed, r.damaged) for r in records(site)] == [(0, ())]


def test_all_is_well(site: Site) -> None:
    assert records(site, thorough=True) == (PackageRecords(prefix=str(site.prefix), packages=2, files=4, hashed=4),)


def test_what_two_packages_write_is_no_damage(site: Site) -> None:
    shared = site.folder / "torch/lib/liba_torch.so.12"
    standin.record_wheel(site.folder, "triton", "3.4.0", [shared])
    cut(shared)
    assert [(r.files, r.damaged) for r in records(site, thorough=True)] == [(3, ())]


@pytest.mark.parametrize(("with_package", "told"), [(True, 0), (False, 1)])
def test_what_lies_behind_a_package_of_the_same_name_is_not_judged(
    site: Site, tmp_path: Path, with_package: bool, told: int
) -> None:
    behind = tmp_path / "old/site-packages"
    lost = behind / "torch/lib/liba_torch.so.12"
    lost.parent.mkdir(parents=True)
    lost.write_bytes(b"x")
    standin.record_wheel(behind, "torch", "2.6.0", [lost])
    lost.unlink()
    (site.folder / "old.pth").write_text(f"{behind}\n")
    if with_package:
        (site.folder / "torch/__init__.py").write_text("")
    [found] = records(site)
    assert len(found.damaged) == told


def test_conda_rewrites_what_it_packs(site: Site) -> None:
    (site.folder / "torch-2.8.0+cu128.dist-info" / "INSTALLER").write_text("conda\n")
    cut(site.folder / "torch/lib/liba_torch.so.12")
    assert [(r.packages, r.damaged) for r in records(site)] == [(1, ())]


def test_cudnn_counts_only_where_its_own_probe_does_not_look(site: Site) -> None:
    standin.install_cudnn(site.folder, "9.1.0.70", 12)
    (near,), (far,) = records(site), records(site, near=False)
    assert (near.packages, far.packages) == (2, 3)
    assert far.files > near.files


def test_further_away_nothing_is_hashed(site: Site) -> None:
    assert [r.hashed for r in records(site, thorough=True, near=False)] == [0]


def test_what_is_linked_is_read_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = (site.folder / "nvidia/cublas/lib" / f"lib{n}_nvidi.so.12" for n in ("a", "b"))
    other.unlink()
    os.link(one, other)
    standin.record_wheel(site.folder, "nvidia-cublas-cu12", "12.8.4.1", [one, other])
    read: list[str] = []
    real = hashing._sha256
    monkeypatch.setattr(hashing, "_sha256", lambda path, *its: read.append(path) or real(path, *its))
    assert [r.hashed for r in records(site, thorough=True)] == [4]
    assert len(read) == 3


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list any folder")
def test_a_closed_folder_is_not_missing(site: Site) -> None:
    folder = site.folder / "torch/lib"
    folder.chmod(0)
    try:
        assert [r.damaged for r in records(site)] == [()]
    finally:
        folder.chmod(0o755)


def test_no_record_no_verdict(tmp_path: Path) -> None:
    made = venv(tmp_path / "venv")
    made.package("torch", "2.8.0")
    assert records(made) == ()


# --- what the rules say of it ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("harm", "thorough", "title", "severity"),
    [
        (Path.unlink, False, "Missing", "warning"),
        (cut, False, "Damaged", "error"),
        (lengthen, False, "Modified", "warning"),
        (flip, True, "Damaged", "error"),
    ],
)
def test_the_cure_is_that_environments_own_reinstallation(
    site: Site, harm: Callable[[Path], None], *, thorough: bool, title: str, severity: str
) -> None:
    harm(site.folder / "torch/lib/libb_torch.so.12")
    found = list(damaged_libraries(_seen(site, thorough=thorough)))
    assert [(f.title.split()[0], f.severity.word, f.cause) for f in found] == [
        (title, severity, "corrupt_or_truncated_file")
    ]
    assert found[0].fix is not None
    assert found[0].fix.advice == (
        f"{site.prefix}/bin/python -m ensurepip\n{site.prefix}/bin/python -m pip install --force-reinstall --no-deps "
        "--no-cache-dir torch==2.8.0 --index-url https://download.pytorch.org/whl/cu128"
    )


def test_an_environment_of_uvs_gets_uvs_command(site: Site) -> None:
    config = site.prefix / "pyvenv.cfg"
    config.write_text(config.read_text() + "uv = 0.9.0\n")
    (site.folder / "nvidia/cublas/lib/liba_nvidi.so.12").unlink()
    (found,) = damaged_libraries(_seen(site, thorough=False))
    assert found.fix is not None
    assert found.fix.advice == (
        f"uv pip install --python {site.prefix}/bin/python --reinstall --no-deps --no-cache nvidia-cublas-cu12==12.8.4.1"
    )


def test_whole_libraries_are_praised_after_hashing_only(site: Site) -> None:
    assert [(f.severity.word, f.id) for f in damaged_libraries(_seen(site, thorough=True))] == [
        ("good", "frameworks.records-agree")
    ]
    assert list(damaged_libraries(_seen(site, thorough=False))) == []


def _seen(site: Site, *, thorough: bool) -> Snapshot:
    host = this_host()
    request = ProbeRequest(
        host=host, seen=m.wheel_machine(), env={"HOME": "/nowhere"}, watch=Progress(), pythons=(str(site.prefix),)
    )
    found = records(site, thorough=thorough)
    return replace(m.wheel_machine(), pythons=probe.look(request), toolkits=(), records=found)


def test_what_the_rules_about_cuda_tell_as_an_error_is_not_told_twice(site: Site) -> None:
    path = site.folder / "nvidia/cublas/lib/liba_nvidi.so.12"
    cut(path)
    seen = _seen(site, thorough=False)
    file = LibraryFile(path=str(path), name=path.name, state="truncated")
    known = replace(
        seen, toolkits=(Toolkit(root=str(path.parent), folder=str(path.parent), origin="wheel", libraries=(file,)),)
    )
    assert len(list(damaged_libraries(replace(known, loads=())))) == 1
    search = m.search(path.name, m.found(str(path)))
    used = replace((m.wheel_machine().loads or ())[0], resolutions=(search,))
    assert list(damaged_libraries(replace(known, loads=(used,)))) == []


@pytest.fixture
def modules(site: Site) -> dict[str, Path]:
    """Modules, tests, a header and byte code of torch, listed in its RECORD beside its libraries."""
    names = (
        "torch/__init__.py",
        "torch/nn/modules/conv.py",
        "torch/nn/__init__.pyi",
        "torch/__pycache__/functional.cpython-311.pyc",
        "torch/include/ATen/ATen.h",
        "torch/test/test_nn.py",
        "torch/testing/_internal/common_utils.py",
        "torch/utils/conftest.py",
    )
    files = {name: site.folder / name for name in names}
    for file in files.values():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x = 1\n")
    files["torch/nn/__init__.py"] = site.folder / "torch/nn/__init__.py"
    files["torch/nn/__init__.py"].write_text("")
    libraries = sorted((site.folder / "torch" / "lib").iterdir())
    standin.record_wheel(site.folder, "torch", "2.8.0+cu128", [*libraries, *files.values()])
    return files


def missing(site: Site, **how: bool) -> set[str]:
    return {Path(d.path).name for r in records(site, **how) for d in r.damaged if d.state == "missing"}


def test_a_module_that_is_gone_is_told_even_though_nothing_asks_for_it(site: Site, modules: dict[str, Path]) -> None:
    assert missing(site) == set()
    modules["torch/nn/modules/conv.py"].unlink()
    assert missing(site) == {"conv.py"}
    found = [f for f in damaged_libraries(_seen(site, thorough=False)) if f.cause == "corrupt_or_truncated_file"]
    assert [(f.id, f.severity.word) for f in found] == [("frameworks.record-torch", "warning")]
    assert "conv.py" in found[0].title


@pytest.mark.parametrize(
    ("content", "harm", "release", "cause"),
    [
        ("x = 1\n", "\0" * 6, "", "corrupt_or_truncated_file"),
        ("x = 1\n", "", "", "corrupt_or_truncated_file"),
        ('__version__ = "2.8.0"\n', '__version__ = "2.6.0+cu124"\n', "2.6.0", "installation_interrupted"),
        ('__version__ = "2.8.0"\n', '__version__ = "2.8.0"  # looked at\n', "", ""),
        ('__version__ = "2.8.0a0"\n', "", None, ""),
        ("x = 1\n", "x = 1\nDEBUG = True\n", "", ""),
    ],
)
def test_a_module_without_text_or_of_another_release_is_told(
    site: Site, modules: dict[str, Path], content: str, harm: str, release: str | None, cause: str
) -> None:
    version = site.folder / "torch" / "version.py"
    version.write_text(content)
    libraries = sorted((site.folder / "torch" / "lib").iterdir())
    standin.record_wheel(site.folder, "torch", "2.8.0+cu128", [*libraries, *modules.values(), version])
    if release is not None:  # else: a package that words its own release otherwise than its metadata
        version.write_text(harm)
    damaged = [d for r in records(site) for d in r.damaged]
    assert [(d.path, d.release) for d in damaged] == ([(str(version), release)] if cause else [])
    found = [f.cause for f in damaged_libraries(_seen(site, thorough=False)) if f.severity > NOTE]
    assert found == ([cause] if cause else [])


@pytest.mark.parametrize(("stated", "told"), [("11.0.0", True), ("11.1.0", False)])
def test_a_package_that_is_no_framework_of_another_release_is_told(site: Site, stated: str, told: bool) -> None:
    version = site.folder / "PIL" / "_version.py"
    version.parent.mkdir()
    version.write_text('__version__ = "11.1.0"\n')
    standin.record_wheel(site.folder, "pillow", "11.1.0", [version])
    version.write_text(f'__version__ = "{stated}"\n')
    found = [f for f in damaged_libraries(_seen(site, thorough=False)) if f.severity > NOTE]
    assert [(f.id, f.cause) for f in found] == [("frameworks.record-pillow", "installation_interrupted")] * told


def test_a_whole_package_that_is_gone_is_told(site: Site, modules: dict[str, Path]) -> None:
    for file in modules.values():
        file.unlink()
    assert {"__init__.py", "conv.py"} <= missing(site)


def test_headers_tests_and_byte_code_that_were_stripped_are_not_missed(site: Site, modules: dict[str, Path]) -> None:
    for name, file in modules.items():
        if name not in ("torch/__init__.py", "torch/nn/modules/conv.py"):
            file.unlink()
    assert missing(site) == set()


def test_an_empty_init_that_another_package_took_along_is_not_missed(site: Site, modules: dict[str, Path]) -> None:
    modules["torch/nn/__init__.py"].unlink()
    assert missing(site) == set()


def test_byte_code_in_the_place_of_its_module_serves(site: Site, modules: dict[str, Path]) -> None:
    conv = modules["torch/nn/modules/conv.py"]
    conv.rename(conv.with_suffix(".pyc"))
    assert missing(site) == set()


def test_modules_of_environments_further_away_are_not_looked_for(site: Site, modules: dict[str, Path]) -> None:
    modules["torch/nn/modules/conv.py"].unlink()
    assert missing(site, near=False) == set()


def test_a_record_leads_nowhere_but_into_its_own_folder(site: Site) -> None:
    info = standin.record_wheel(site.folder, "torch", "2.8.0+cu128", sorted((site.folder / "torch" / "lib").iterdir()))
    with (info / "RECORD").open("a") as record:
        record.write("/nowhere/a.py,,\ntorch/../../nowhere/b.py,,\n../nowhere/c.py,,\n" + "9" * 5000 + "²³,,\n")
    assert missing(site) == set()


def test_an_extension_that_a_framework_cannot_do_without_is_an_error(site: Site) -> None:
    extension = site.folder / "ctranslate2" / "_ext.cpython-311-x86_64-linux-gnu.so"
    extension.parent.mkdir()
    extension.write_bytes(b"x")
    standin.record_wheel(site.folder, "ctranslate2", "4.8.2", [extension])
    extension.unlink()
    (found,) = (f for f in damaged_libraries(_seen(site, thorough=False)) if f.id == "frameworks.record-ctranslate2")
    assert found.severity.word == "error"
