"""One card for each framework that lacks a library: whom it concerns, its cause, its cure; and what it takes in."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from core.model.facts import (
    Attempt,
    Closure,
    CudnnCopy,
    DamagedFile,
    Distribution,
    Edge,
    EndedImport,
    FrameworkBuild,
    Frameworks,
    FrameworkTrial,
    Gap,
    How,
    ImportSearch,
    LibraryFile,
    Machine,
    Opening,
    PackageRecords,
    SharedFiles,
    Snapshot,
    Toolkit,
)
from core.model.findings import Evidence, Finding
from core.model.remedies import AddFolder, InstallPackages, PutPackageBack, TakeOut
from core.model.steps import Severity, Step
from core.rules.frameworks.libraries.findings import imported_packages, lacking_libraries
from core.rules.frameworks.libraries.one_card import join_cards
from core.rules.root_cause import diagnose
from tests import machines

PYTHON = machines.wheel_machine().pythons[0]
SITE = PYTHON.site_packages[0] if PYTHON.site_packages else f"{PYTHON.prefix}/lib/python3.11/site-packages"
BINARY = f"{SITE}/torch/lib/libtorch_cuda.so"
NCCL = f"{SITE}/nvidia/nccl/lib/libnccl.so.2"
OLD = "/opt/old/libnccl.so.2"


def edge(**fields: Any) -> Edge:
    return Edge(**{"name": "libnccl.so.2", "wanted_by": BINARY, "state": "absent", **fields})


def closure(framework: str = "torch 2.8.0", **fields: Any) -> Closure:
    return Closure(consumer=PYTHON.consumer(framework), binaries=(BINARY,), **fields)


def machine(*closures: Closure, damaged: tuple[DamagedFile, ...] = (), **fields: Any) -> Snapshot:
    records = (PackageRecords(prefix=PYTHON.prefix, packages=1, files=1, damaged=damaged),)
    return replace(machines.wheel_machine(), closures=closures, records=records, **fields)


def card(seen: Snapshot) -> Finding:
    (found,) = lacking_libraries(seen)
    return found


by_variable = Attempt(path=OLD, how=How.LD_LIBRARY_PATH, outcome="damaged", stops=True)
sound = Attempt(path=NCCL, how=How.RUNPATH, outcome="found")
lost = DamagedFile(path=NCCL, distribution="nvidia-nccl-cu12", version="2.27.3", state="missing")

ONE_CUDAS = f"{SITE}/bitsandbytes/libbitsandbytes_cuda124.so"
OTHER_CUDAS = edge(
    name="libbitsandbytes_cuda124.so",
    wanted_by=ONE_CUDAS,
    detail="libbitsandbytes_cuda118.so, libbitsandbytes_cuda121.so",
)


LACKS: list[tuple[Closure, tuple[DamagedFile, ...], str, type | None]] = [
    (closure(edges=(edge(),)), (), "cuda_runtime_missing", None),
    (closure(edges=(edge(),)), (lost,), "corrupt_or_truncated_file", PutPackageBack),
    (closure(edges=(edge(elsewhere=(NCCL,)),)), (), "cuda_not_on_search_path", AddFolder),
    (closure(edges=(edge(name="libcudnn.so.9", elsewhere=(NCCL,)),)), (), "cudnn_not_on_search_path", AddFolder),
    (closure(edges=(edge(state="damaged", path=NCCL),)), (), "corrupt_or_truncated_file", None),
    (closure(edges=(edge(state="dangling", path=NCCL),)), (), "corrupt_or_truncated_file", None),
    (closure(edges=(edge(state="unreadable", path=NCCL),)), (), "library_unreadable", None),
    (closure(edges=(edge(state="wrong architecture", path=NCCL),)), (), "dll_wrong_architecture", None),
    (closure(edges=(edge(state="not executable", path=NCCL),)), (), "noexec_mount", None),
    (closure(edges=(edge(state="executable stack", path=NCCL),)), (), "upstream_packaging_bug", None),
    (closure(openings=(Opening(library=BINARY, problem="libx.so.1: cannot enable executable stack as shared object requires: Invalid argument"),)), (), "upstream_packaging_bug", None),
    (closure(edges=(edge(state="damaged", path=OLD, attempts=(by_variable, sound)),)), (), "ld_library_path_override", TakeOut),
    (closure(edges=(edge(state="damaged", path=OLD, attempts=(by_variable,)),)), (), "corrupt_or_truncated_file", None),
    (closure(edges=(edge(name="libtorch_cuda.so"),)), (), "extension_abi_mismatch", None),
    (closure("bitsandbytes 0.43.1", edges=(OTHER_CUDAS,)), (), "extension_abi_mismatch", None),
    (closure(edges=(edge(name="libstdc++.so.6"),)), (), "cxx_runtime_too_old", None),
    (closure(gaps=(Gap(wanted_by=BINARY, name="ncclCommShrink", provider=NCCL),)), (), "cuda_lib_shadowed", None),
    (closure(gaps=(Gap(wanted_by=BINARY, name="ncclCommShrink", provider=OLD, how="LD_LIBRARY_PATH"),)), (), "ld_library_path_override", TakeOut),
    (closure("torchvision 0.21.0", gaps=(Gap(wanted_by=BINARY, name="_ZN5torch3fooEv"),)), (), "extension_abi_mismatch", InstallPackages),
    (closure(gaps=(Gap(wanted_by=BINARY, name="", version="GLIBC_2.99", provider="/lib/libc.so.6"),)), (), "cxx_runtime_too_old", None),
    (closure(openings=(Opening(library=BINARY, problem="libnccl.so.2: file too short"),)), (), "corrupt_or_truncated_file", None),
    (closure(openings=(Opening(library=BINARY, problem="NVRTC_ERROR_BUILTIN: nvrtc: error: failed to open libnvrtc-builtins.so.12.8"),)), (), "nvrtc_missing_or_mismatch", None),
    (closure(edges=(edge(name="libtorch_cuda.so", state="damaged", path=BINARY), edge(name="libcublas.so.12"))), (), "corrupt_or_truncated_file", PutPackageBack),
]  # fmt: skip


def test_folders_of_a_variable_that_are_gone_are_named_with_what_is_not_found():
    found = machine(closure(edges=(edge(elsewhere=(NCCL,)),)))
    told = card(machines.with_variable(found, "LD_LIBRARY_PATH", "/envs/gone/lib", "missing"))
    assert ("LD_LIBRARY_PATH names a folder that does not exist", "/envs/gone/lib") in {
        (row.label, row.value) for row in told.evidence
    }


@pytest.mark.parametrize(
    ("entry", "told"),
    [("/cuda/lib", True), ("/cuda", True), ("/cuda/lib64/stubs", True), ("/cuda/lib64", False), ("/other/lib", False)],
)
def test_an_entry_near_the_folder_of_what_is_not_found_is_named(entry: str, told: bool):
    found = machine(closure(edges=(edge(elsewhere=("/cuda/lib64/libnccl.so.2",)),)))
    its = card(machines.with_variable(found, "LD_LIBRARY_PATH", entry))
    row = Evidence(label="LD_LIBRARY_PATH names another folder near it", value=entry, source="/cuda/lib64")
    assert (row in its.evidence) is told


@pytest.mark.parametrize(("closures", "damaged", "cause", "remedy"), LACKS)
def test_cause_and_cure(closures: Closure, damaged: tuple[DamagedFile, ...], cause: str, remedy: type | None) -> None:
    found = card(machine(closures, damaged=damaged))
    assert found.cause == cause
    assert (type(found.remedy) if found.remedy else None) is remedy
    assert found.consumers == (closures.consumer.full_id,)
    assert found.severity in (Severity.WARNING, Severity.ERROR)


@pytest.mark.parametrize(
    "seen",
    [
        machine(),
        machine(closure()),
        machine(closure(edges=(edge(optional=True),))),
        machine(closure(edges=(edge(),), openings=(Opening(library=BINARY),))),
        machine(closure(openings=(Opening(library=BINARY, problem="libcuda.so.1: cannot open shared object file"),))),
        replace(machine(), closures=None),
    ],
    ids=["none", "whole", "optional", "opened for real", "waits for the driver", "not looked at"],
)
def test_nothing_is_said(seen: Snapshot) -> None:
    assert list(lacking_libraries(seen)) == []


@pytest.mark.parametrize(
    ("path", "told"), [(f"{SITE}/torch/version.py", ["import-ends-torch.version", "libraries-torch"]), (BINARY, ["libraries-torch"])]
)  # fmt: skip
def test_a_module_that_ends_the_import_is_no_part_of_what_is_not_searched(path: str, told: list[str]) -> None:
    lacks = closure(
        edges=(
            edge(name="libcublas.so.12", elsewhere=(NCCL,)),
            *([edge(state="damaged", path=BINARY)] if path == BINARY else []),
        )
    )
    ends = EndedImport(
        starts=("torch",), importer=f"{SITE}/torch/__init__.py", line=3, wanted="torch.version", kind="damaged", path=path, owner="torch 2.8.0"
    )  # fmt: skip
    search = ImportSearch(prefix=PYTHON.prefix, python="3.11", ended=(ends,))
    found = [f for f in diagnose(machine(lacks, imports=(search,))) if f.severity > Severity.NOTE]
    assert sorted(f.id.partition(".")[2] for f in found) == told
    assert found[0].id.endswith(told[0])


def test_a_name_that_is_opened_later_is_not_refuted_by_its_asker() -> None:
    its = closure(edges=(edge(by_name=True),), openings=(Opening(library=BINARY),))
    assert card(machine(its)).cause == "cuda_runtime_missing"


def test_everything_that_is_lacking_is_on_one_card_with_one_cure() -> None:
    places = tuple(f"{SITE}/nvidia/{part}/lib" for part in ("cublas", "cufft", "curand"))
    edges = tuple(
        edge(name=f"lib{p.split('/')[-2]}.so.1", elsewhere=(f"{p}/lib{p.split('/')[-2]}.so.1",)) for p in places
    )
    found = card(machine(closure(edges=edges)))
    assert isinstance(found.remedy, AddFolder)
    assert (found.remedy.folder, *found.remedy.more)[: len(places)] == places
    assert all(any(e.name in row.value + row.label for row in found.evidence) for e in edges)


def test_who_is_told_one_folder_of_an_environments_packages_is_told_all_of_them() -> None:
    """Each has its own, and programs open cuDNN by name beside what their packages open."""
    cublas, cudnn, nccl = (f"{SITE}/nvidia/{part}/lib" for part in ("cublas", "cudnn", "nccl"))
    libraries = tuple(
        LibraryFile(path=f"{folder}/{name}", name=name, state="good")
        for folder, name in ((cublas, "libcublas.so.12"), (nccl, "libnccl.so.2"))
    )
    there = Toolkit(root=f"{SITE}/nvidia", origin="wheel", folder=cublas, libraries=libraries)
    copy = CudnnCopy(folder=cudnn, origin="wheel", major=9, environment=PYTHON.prefix)
    wanted = edge(name="libcublas.so.12", elsewhere=(libraries[0].path,))
    found = card(machine(closure(edges=(wanted,)), toolkits=(there,), cudnn=(copy,)))
    assert found.remedy == AddFolder(folder=cublas, more=(nccl, cudnn), prefixes=(PYTHON.prefix,))
    of_the_system = edge(name="libcublas.so.12", elsewhere=("/usr/local/cuda/lib64/libcublas.so.12",))
    alone = card(machine(closure(edges=(of_the_system,)), toolkits=(there,), cudnn=(copy,)))
    assert alone.remedy == AddFolder(folder="/usr/local/cuda/lib64", prefixes=(PYTHON.prefix,))


def test_what_is_here_is_searched_and_only_what_is_not_is_installed() -> None:
    """The wheel of cuTENSOR has its own name, and the number of its library."""
    cublas = f"{SITE}/nvidia/cublas/lib"
    tried = (Attempt(path="/usr/lib/libcublas.so.12", how=How.SYSTEM, outcome="absent"),)
    edges = (
        edge(name="libcublas.so.12", elsewhere=(f"{cublas}/libcublas.so.12",), attempts=tried),
        edge(name="libcutensor.so.2", attempts=tried),
    )
    found = card(machine(closure("cupy-cuda12x 13.6.0", edges=edges)))
    assert isinstance(found.remedy, InstallPackages)
    assert found.remedy.install == ("cutensor-cu12==2.*",)
    assert set(found.remedy.search) == {cublas, f"{SITE}/cutensor/lib"}


@pytest.mark.parametrize(
    ("lost", "more"), [(("cublas", "cufft"), ("nvidia-cudnn-cu12<10.0,>=9.3",)), (("cublas",), ())]
)
def test_who_was_installed_without_an_extra_gets_all_that_it_lists(
    lost: tuple[str, ...], more: tuple[str, ...]
) -> None:
    """One that lacks a single package lost it: the others may be had in another way."""
    listed = (
        "nvidia-cublas-cu12<13.0,>=12.5",
        "nvidia-cufft-cu12<12.0,>=11.2",
        "nvidia-cudnn-cu12<10.0,>=9.3",
        "nvidia-nccl-cu12<3.0",
    )
    there = (
        Distribution(name="tensorflow", version="2.20.0", requires=tuple(f'{w}; extra == "and-cuda"' for w in listed)),
        Distribution(name="nvidia-nccl-cu12", version="2.27.3"),
    )
    edges = tuple(edge(name=f"lib{name}.so.12") for name in lost)
    seen = machine(closure("tensorflow 2.20.0", edges=edges), pythons=(replace(PYTHON, distributions=there),))
    found = card(seen)
    assert isinstance(found.remedy, InstallPackages)
    assert found.remedy.install == (*(w for w in listed if any(name in w for name in lost)), *more)


def test_who_was_installed_without_requirements_gets_all_of_nvidias() -> None:
    """torch opens the runtime compiler by its name when it runs, so that no file shows that it lacks that one as well."""
    listed = ("nvidia-nccl-cu12==2.27.3", "nvidia-cuda-nvrtc-cu12==12.8.93", "triton==3.4.0")
    its = Distribution(
        name="torch",
        version="2.8.0",
        requires=(*listed, 'nvidia-cufft-cu12==11.3.3.83; platform_machine == "aarch64"'),
    )
    found = card(machine(closure(edges=(edge(),)), pythons=(replace(PYTHON, distributions=(its,)),)))
    assert isinstance(found.remedy, InstallPackages)
    assert found.remedy.install == listed[:2]


def test_a_consumer_is_told_of_its_own_lack_only() -> None:
    seen = machine(closure(), closure("cupy-cuda12x 13.6.0", edges=(edge(name="libcublas.so.12"),)))
    assert card(seen).consumers == (PYTHON.consumer("cupy-cuda12x 13.6.0").full_id,)


def test_the_record_says_the_same_only_once() -> None:
    seen = machine(closure(edges=(edge(),)), damaged=(lost,))
    told = [f for f in diagnose(seen) if "libnccl" in f.title]
    assert [f.id for f in told] == ["frameworks.libraries-torch"]
    assert told[0].primary


def test_what_the_requirements_name_is_installed() -> None:
    its = Distribution(name="torch", version="2.8.0", requires=("nvidia-nccl-cu12==2.27.3",))
    python = replace(PYTHON, distributions=(its,))
    found = card(machine(closure(edges=(edge(),)), pythons=(python,)))
    assert found.fix is not None
    assert "nvidia-nccl-cu12==2.27.3" in found.fix.advice
    assert found.remedy == InstallPackages(prefix=PYTHON.prefix, install=("nvidia-nccl-cu12==2.27.3",))


@pytest.mark.parametrize(
    ("required", "cause"),
    [
        ("nvidia-nccl-cu12==2.21.5", "requirement_broken"),
        ("nvidia-nccl-cu12==2.27.3", "cuda_not_on_search_path"),
        ("nvidia-nccl-cu12>=2.28", "cuda_not_on_search_path"),
        ("nvidia-cufft-cu12==11.2.1.3", "cuda_not_on_search_path"),
    ],
)
def test_a_file_that_lies_elsewhere_since_its_package_is_of_another_release(required: str, cause: str) -> None:
    its = Distribution(name="torch", version="2.8.0", requires=(f"{required}; platform_system == 'Linux'",))
    nccl = Distribution(name="nvidia-nccl-cu12", version="2.27.3")
    python = replace(PYTHON, distributions=(its, nccl))
    found = card(machine(closure(edges=(edge(elsewhere=(NCCL,)),)), pythons=(python,)))
    assert found.cause == cause
    if cause == "requirement_broken":
        assert found.remedy == InstallPackages(prefix=PYTHON.prefix, install=(required,))


@pytest.mark.parametrize(
    ("installed", "cause"),
    [("8.6.1", "requirement_broken"), ("10.12.0.36", "cuda_runtime_missing"), ("", "cuda_runtime_missing")],
)
def test_tensorrt_of_another_major(installed: str, cause: str) -> None:
    its = (Distribution(name="onnxruntime-gpu", version="1.23.2"),)
    more = (Distribution(name="tensorrt-cu12", version=installed),) if installed else ()
    python = replace(PYTHON, distributions=(*its, *more))
    lacks = closure(
        "onnxruntime-gpu 1.23.2", edges=(edge(name="libnvinfer.so.10", wanted_by=f"{SITE}/onnxruntime/capi/p.so"),)
    )
    found = card(machine(lacks, pythons=(python,)))
    assert found.cause == cause
    assert found.remedy is None
    assert found.fix is not None
    assert "tensorrt" in found.fix.advice


@pytest.mark.parametrize(
    ("beside", "wish", "wanted"),
    [
        ("nvidia-cuda-runtime-cu12", ">=11.4.5.107", "nvidia-cusolver-cu12>=11.4.5.107,==11.7.3.*"),
        ("nvidia-cublas-cu12", "", "nvidia-cusolver-cu12==11.7.3.*"),
        ("nvidia-cuda-runtime-cu12", ">=11.7.5", "nvidia-cusolver-cu12>=11.7.5"),
        ("nvidia-cuda-runtime-cu12", "==11.6.1.9", "nvidia-cusolver-cu12==11.6.1.9"),
        ("nvidia-nccl-cu12", "", "nvidia-cusolver-cu12"),
    ],
)
def test_what_is_lacking_comes_in_the_release_of_what_is_beside_it(beside: str, wish: str, wanted: str) -> None:
    its = Distribution(name="jax-cuda12-plugin", version="0.7.2", requires=(f"nvidia-cusolver-cu12{wish}",))
    python = replace(PYTHON, distributions=(its, Distribution(name=beside, version="12.8.90")))
    found = card(
        machine(closure("jax-cuda12-plugin 0.7.2", edges=(edge(name="libcusolver.so.11"),)), pythons=(python,))
    )
    assert isinstance(found.remedy, InstallPackages)
    assert sorted(found.remedy.install[0].split(",")) == sorted(wanted.split(","))


def test_what_is_installed_is_searched_too_where_its_consumer_does_not() -> None:
    its = Distribution(name="torch", version="2.8.0", requires=("nvidia-nccl-cu12==2.27.3",))
    python = replace(PYTHON, distributions=(its,), site_packages=(SITE,))
    elsewhere = Attempt(path="/usr/lib/libnccl.so.2", how=How.DEFAULT, outcome="not there")
    its_own = Attempt(path=NCCL, how=How.RUNPATH, outcome="not there")
    beside = Attempt(path=f"{SITE}/torch/lib/../../nccl/lib/libnccl.so.2", how=How.RPATH, outcome="not there")
    of_a_session = replace(its_own, how=How.LD_LIBRARY_PATH)
    others = replace(of_a_session, path=f"{SITE}/nvidia/cublas/lib/libnccl.so.2")
    nccl = f"{SITE}/nvidia/nccl/lib"
    for attempts, search in (
        ((elsewhere,), (nccl,)),
        ((elsewhere, its_own), ()),
        ((beside, elsewhere), ()),
        ((others, of_a_session, elsewhere), ()),
        ((others, elsewhere), (nccl, f"{SITE}/nvidia/cublas/lib")),
    ):
        found = card(machine(closure(edges=(edge(attempts=attempts),)), pythons=(python,)))
        assert isinstance(found.remedy, InstallPackages)
        assert found.remedy.search == search


@pytest.mark.parametrize(("release", "search"), [("13.6.0", (f"{SITE}/nvidia/cusparse/lib",)), ("14.0.1", ())])
def test_what_a_framework_finds_in_packages_by_itself_needs_no_search_path(
    release: str, search: tuple[str, ...]
) -> None:
    cupy = Distribution(name="cupy-cuda12x", version=release, requires=("nvidia-cusparse-cu12==12.5.*",))
    python = replace(PYTHON, distributions=(cupy,), site_packages=(SITE,))
    tried = Attempt(path="/usr/lib/libcusparse.so.12", how=How.DEFAULT, outcome="not there")
    lost = edge(name="libcusparse.so.12", attempts=(tried,))
    found = card(machine(closure(f"cupy-cuda12x {release}", edges=(lost,)), pythons=(python,)))
    assert isinstance(found.remedy, InstallPackages)
    assert found.remedy.search == search


def test_of_two_releases_that_do_not_fit_the_older_one_goes_unless_a_release_is_required() -> None:
    gap = Gap(wanted_by=f"{SITE}/nvidia/cusparse/lib/libcusparse.so.12", name="__nvJitLinkCreate_12_8",
              provider=f"{SITE}/nvidia/nvjitlink/lib/libnvJitLink.so.12")  # fmt: skip
    link, sparse = (
        Distribution(name="nvidia-nvjitlink-cu12", version="12.1"),
        Distribution(name="nvidia-cusparse-cu12", version="12.5"),
    )
    for wish, gone in (("nvidia-nvjitlink-cu12", ("nvidia-nvjitlink-cu12",)), ("nvidia-nvjitlink-cu12==12.8.93", ())):
        its = Distribution(name="torch", version="2.8.0", requires=(wish, "nvidia-cusparse-cu12"))
        python = replace(PYTHON, distributions=(its, link, sparse))
        found = card(machine(closure(gaps=(gap,)), pythons=(python,)))
        assert found.remedy == InstallPackages(
            prefix=PYTHON.prefix, remove=gone, install=(wish, "nvidia-cusparse-cu12")
        )


def test_a_library_that_another_wheel_wrote_over_is_put_back() -> None:
    gap = Gap(wanted_by=BINARY, name="ncclCommShrink", provider=f"{SITE}/torch/lib/../../nvidia/nccl/lib/libnccl.so.2")
    torch = Distribution(name="torch", version="2.8.0", pins=("nvidia-nccl-cu12==2.27.3",))
    mine, other = (Distribution(name=f"nvidia-nccl-cu{n}", version=v) for n, v in ((12, "2.27.3"), (11, "2.19.3")))
    its = machine(closure(gaps=(gap,)), pythons=(replace(PYTHON, distributions=(torch, mine, other)),))
    assert card(its).remedy == InstallPackages(prefix=PYTHON.prefix, install=("nvidia-nccl-cu12==2.27.3",))
    both = SharedFiles(distributions=("nvidia-nccl-cu11 2.19.3", "nvidia-nccl-cu12 2.27.3"), files=1, example=NCCL)
    (record,) = its.records or ()
    found = card(replace(its, records=(replace(record, shared=(both,)),)))
    assert found.remedy == PutPackageBack(prefix=PYTHON.prefix, package="nvidia-nccl-cu12", version="2.27.3")
    assert found.fix is not None
    assert "--force-reinstall" in found.fix.advice


def test_a_package_that_is_linked_against_the_drivers_library_for_video() -> None:
    seen = machine(closure("torchcodec 0.8.1", edges=(edge(name="libnvcuvid.so.1"),)))
    found = card(seen)
    assert (found.cause, found.severity) == ("driver_component_missing", Severity.WARNING)
    assert "libnvcuvid.so.1" in found.title
    assert seen.driver is not None
    broken = replace(seen, driver=replace(seen.driver, cuda=None, cuda_unhidden=None))
    assert list(lacking_libraries(broken)) == []  # the driver's own fault is told


def test_a_package_that_is_there_and_whose_file_is_not_is_put_back() -> None:
    its = Distribution(name="torch", version="2.8.0", requires=("nvidia-nccl-cu12==2.27.3",))
    python = replace(PYTHON, distributions=(its, Distribution(name="nvidia-nccl-cu12", version="2.27.3")))
    found = card(machine(closure(edges=(edge(state="dangling", path=NCCL),)), pythons=(python,)))
    assert found.remedy is None
    found = card(machine(closure(edges=(edge(state="damaged", path=NCCL),)), pythons=(python,)))
    assert found.remedy == PutPackageBack(prefix=PYTHON.prefix, package="nvidia-nccl-cu12", version="2.27.3")
    assert found.fix is not None
    assert "--force-reinstall" in found.fix.advice


def test_several_packages_are_put_back_at_once() -> None:
    other = replace(
        lost, path=f"{SITE}/nvidia/cufft/lib/libcufft.so.11", distribution="nvidia-cufft-cu12", version="11.3"
    )
    found = card(machine(closure(edges=(edge(), edge(name="libcufft.so.11"))), damaged=(lost, other)))
    assert found.remedy == PutPackageBack(
        prefix=PYTHON.prefix, package="nvidia-nccl-cu12", version="2.27.3", more=("nvidia-cufft-cu12",)
    )


def test_an_extension_comes_from_the_index_of_its_frameworks_build() -> None:
    vision, torch = (
        Distribution(name="torchvision", version="0.21.0"),
        Distribution(name="torch", version="2.8.0+cu126"),
    )
    python = replace(PYTHON, distributions=(vision, torch))
    gap = Gap(wanted_by=BINARY, name="_ZN5torch3fooEv")
    found = card(machine(closure("torchvision 0.21.0", gaps=(gap,)), pythons=(python,)))
    assert isinstance(found.remedy, InstallPackages)
    assert (found.remedy.remove, found.remedy.install) == (
        ("torchvision",),
        ("torchvision==0.23.*", "torch==2.8.0+cu126"),
    )
    assert found.remedy.index.endswith("/cu126")


@pytest.mark.parametrize(
    ("name", "torch", "wish"),
    [
        ("torchvision 0.23.1", "2.8.0", "torchvision==0.23.*,!=0.23.1"),
        ("torchvision 0.23.0+cpu", "2.8.0", "torchvision==0.23.*"),
        ("torchvision 0.23.0", "2.8.0+cu126", "torchvision==0.23.*"),
        ("xformers 0.0.33", "2.8.0", "xformers!=0.0.33"),
    ],
    ids=["of the same series", "another build", "another index", "no series is known"],
)
def test_the_release_that_does_not_fit_is_not_installed_again(name: str, torch: str, wish: str) -> None:
    package, version = name.split()
    both = (Distribution(name=package, version=version), Distribution(name="torch", version=torch))
    gap = Gap(wanted_by=BINARY, name="_ZN5torch3fooEv")
    found = card(machine(closure(name, gaps=(gap,)), pythons=(replace(PYTHON, distributions=both),)))
    assert isinstance(found.remedy, InstallPackages)
    assert found.remedy.install == (wish, f"torch=={torch}")


def test_no_cure_that_touches_none_of_the_files() -> None:
    found = card(machine(closure(edges=(edge(name="libunheard.so.1"),))))
    assert found.fix is None
    assert found.remedy is None


def test_a_crash_alone_decides_nothing() -> None:
    found = card(machine(closure(openings=(Opening(library=BINARY, ended="The process was killed by SIGSEGV."),))))
    assert (found.cause, found.severity, found.remedy) == ("", Severity.UNKNOWN, None)


@pytest.mark.parametrize(
    ("name", "cudnn", "wanted"),
    [
        ("onnxruntime-gpu", "9.10.2.21", "onnxruntime-gpu>=1.19,<1.27"),
        ("ctranslate2", "9.10.2.21", "ctranslate2>=4.5,<4.9"),
        ("ctranslate2", "8.9.7.29", "ctranslate2>=4.6.3,<4.9"),
    ],
)
def test_a_framework_for_another_cuda_gets_a_release_that_fits_the_libraries_here(
    name: str, cudnn: str, wanted: str
) -> None:
    beside = ("nvidia-cublas-cu12", "12.8.4.1"), ("nvidia-cudnn-cu12", cudnn), (name, "1.18.0")
    python = replace(PYTHON, distributions=tuple(Distribution(name=n, version=v) for n, v in beside))
    attempts = (Attempt(path="/x/libcublas.so.11", how=How.LD_LIBRARY_PATH, outcome="missing"),)
    edges = (edge(name="libcublas.so.11", attempts=attempts),)
    found = card(machine(closure(f"{name} 1.18.0", edges=edges), pythons=(python,)))
    assert found.cause == "cuda_toolkit_version_mismatch"
    assert isinstance(found.remedy, InstallPackages)
    assert (found.remedy.install, found.remedy.remove) == ((wanted,), ())
    assert found.fix
    assert wanted in found.fix.advice


def test_a_framework_with_one_package_for_each_cuda_is_exchanged_for_that_of_the_libraries_here() -> None:
    beside = ("nvidia-cublas-cu12", "12.8.4.1"), ("cupy-cuda11x", "13.6.0")
    python = replace(PYTHON, distributions=tuple(Distribution(name=n, version=v) for n, v in beside))
    edges = tuple(edge(name=n) for n in ("libcublas.so.11", "libnvrtc.so.11.2"))
    found = card(machine(closure("cupy-cuda11x 13.6.0", edges=edges), pythons=(python,)))
    assert found.cause == "cuda_toolkit_version_mismatch"
    assert isinstance(found.remedy, InstallPackages)
    assert (found.remedy.remove, found.remedy.install) == (("cupy-cuda11x",), ("cupy-cuda12x==13.6.0",))
    assert found.fix
    assert [line.split()[-1] for line in found.fix.advice.splitlines()] == ["cupy-cuda11x", "cupy-cuda12x==13.6.0"]


def test_a_library_of_another_cuda_is_advice_with_the_wheels_of_that_cuda() -> None:
    beside = (("nvidia-cublas-cu12", "12.8.4.1"),)  # and no cuDNN that tells which release fits
    own = Distribution(
        name="onnxruntime-gpu", version="1.18.0", requires=("nvidia-cublas-cu12", "nvidia-cudnn-cu12~=9.0")
    )
    python = replace(PYTHON, distributions=(own, *(Distribution(name=n, version=v) for n, v in beside)))
    edges = tuple(edge(name=n) for n in ("libcublas.so.11", "libcudnn.so.8", "libcufft.so.10"))
    found = card(machine(closure("onnxruntime-gpu 1.18.0", edges=edges), pythons=(python,)))
    assert found.cause == "cuda_toolkit_version_mismatch"
    assert found.remedy is None
    assert found.fix
    told = found.fix.advice
    assert all(name in told for name in ("nvidia-cublas-cu11", "nvidia-cudnn-cu11==8.*", "nvidia-cufft-cu11"))


def test_a_file_system_without_programs_is_one_finding_and_its_framework_leads() -> None:
    edges = (edge(state="not executable", path=NCCL),)
    seen = machine(closure("numpy 2.2.6", edges=edges), closure(edges=edges))
    told = [f for f in diagnose(seen) if f.cause == "noexec_mount"]
    assert [f.id for f in told] == ["frameworks.libraries-torch"]
    assert {who.partition(":")[0] for who in told[0].consumers} == {"python/torch", "python/numpy"}


def test_a_framework_that_was_seen_to_compute_right_is_no_fault() -> None:
    its = closure(edges=(edge(),))
    worked = FrameworkTrial(prefix=PYTHON.prefix, framework="torch", gpu=True, right=True)
    for trial, noted in (
        (worked, True),
        (replace(worked, framework="jax"), False),
        (replace(worked, gpu=False), False),
        (replace(worked, right=False), False),
        (replace(worked, problem="it failed"), False),
        (replace(worked, ended="it was killed"), False),
    ):
        assert (card(machine(its, trials=(trial,))).severity is Severity.NOTE) is noted


def test_without_a_gpu_or_on_the_cpu_alone_only_what_the_import_needs_is_a_fault() -> None:
    tensorflow = edge(name="libcublas.so.12", by_name=True)
    provider = f"{SITE}/onnxruntime/capi/libonnxruntime_providers_cuda.so"
    gap = Gap(wanted_by=BINARY, name="ncclCommShrink", provider=NCCL)
    for its, noted in (
        (closure("tensorflow 2.20.0", edges=(tensorflow,)), True),
        (closure("bitsandbytes 0.43.1", edges=(OTHER_CUDAS,)), True),
        (closure("onnxruntime-gpu 1.23.2", edges=(edge(wanted_by=provider),)), True),
        (closure("tensorflow 2.20.0", edges=(replace(tensorflow, state="damaged", path=NCCL),)), False),
        (closure("tensorflow 2.20.0", edges=(tensorflow,), gaps=(gap,)), False),
        (closure("tensorflow 2.20.0", edges=(tensorflow, edge())), False),
        (closure(edges=(edge(),)), False),
    ):
        assert (card(machine(its, driver=machines.without_gpu())).severity is Severity.NOTE) is noted
        name = its.consumer.framework.partition(" ")[0]
        on_cpu = ImportSearch(prefix=PYTHON.prefix, on_cpu=(name,))
        assert (card(machine(its, imports=(on_cpu,))).severity is Severity.NOTE) is noted
        assert (
            card(machine(its, imports=(ImportSearch(prefix=PYTHON.prefix, on_cpu=("odd",)),))).severity
            is Severity.ERROR
        )


def test_a_package_without_a_library_for_this_cuda_names_those_that_it_has() -> None:
    found = card(machine(closure("bitsandbytes 0.43.1", edges=(OTHER_CUDAS,))))
    assert "libbitsandbytes_cuda121.so" in found.why
    assert found.fix is not None
    assert "--upgrade bitsandbytes" in found.fix.advice


def test_an_environment_without_nvidias_packages_uses_what_the_machine_has() -> None:
    has = Distribution(name="nvidia-nccl-cu12", version="2.27.3")
    cudart = edge(name="libnccl.so.2")
    folder = machines.toolkit("/opt/nccl/lib", {"libnccl.so.2": "2.27.3"})
    for distributions, damaged, cause in (
        ((), (), "cuda_not_on_search_path"),
        ((has,), (), "cuda_runtime_missing"),
        ((), (lost,), "corrupt_or_truncated_file"),
    ):
        python = replace(PYTHON, distributions=distributions)
        seen = machine(closure(edges=(cudart,)), damaged=damaged, pythons=(python,), toolkits=(folder,))
        assert card(seen).cause == cause


@pytest.mark.parametrize(("cuda", "package"), [("12.8", "nvidia-cufft-cu12"), ("13.0", "nvidia-cufft")])
def test_from_cuda_13_on_the_packages_names_bear_no_number(cuda: str, package: str) -> None:
    build = FrameworkBuild(prefix=PYTHON.prefix, distribution="torch", version="2.8.0", cuda=cuda)
    python = replace(PYTHON, distributions=(Distribution(name="torch", version="2.8.0"),))
    seen = machine(
        closure(edges=(edge(name="libcufft.so.11"),)), pythons=(python,), frameworks=Frameworks(builds=(build,))
    )
    remedy = card(seen).remedy
    assert isinstance(remedy, InstallPackages)
    assert remedy.install[0].partition("=")[0] == package


def test_several_folders_are_joined_as_the_system_does_and_what_comes_again_is_forced() -> None:
    edges = (edge(elsewhere=("/a/libnccl.so.2",)), edge(name="libcufft.so.11", elsewhere=("/b/libcufft.so.11",)))
    found = card(machine(closure(edges=edges)))
    assert found.fix is not None
    assert "/a:/b" in found.fix.advice
    other = replace(lost, path=f"{SITE}/x/libcufft.so.11", distribution="nvidia-cufft-cu12", version="11.3")
    found = card(machine(closure(edges=(edge(), edge(name="libcufft.so.11"))), damaged=(lost, other)))
    assert found.fix is not None
    assert "--force-reinstall" in found.fix.advice


def test_a_package_that_frameworks_import_concerns_those_that_ask_for_it() -> None:
    name = next(n for n in imported_packages() if n != "torch")
    torch = Distribution(name="torch", version="2.8.0", requires=(f"{name}>=1",))
    jax = Distribution(name="jax", version="0.7.2")
    python = replace(PYTHON, distributions=(torch, jax, Distribution(name=name, version="1.0")))
    found = card(machine(closure(f"{name} 1.0", edges=(edge(),)), pythons=(python,)))
    assert any("torch" in c for c in found.consumers)
    assert not any("jax" in c for c in found.consumers)
    plain = card(machine(closure("torchvision 0.21.0", edges=(edge(),)), pythons=(python,)))
    assert not any("python/torch:" in c for c in plain.consumers)


def test_a_file_that_is_asked_for_in_two_ways_is_named_once() -> None:
    by_path, by_name = (edge(name=n, state="damaged", path=BINARY) for n in (BINARY, "libtorch_cuda.so"))
    found = card(machine(closure(edges=(by_path, by_name))))
    assert found.title.count("libtorch_cuda.so") == 1


def test_an_unfit_file_among_a_frameworks_own_that_nothing_installed_is_taken_away() -> None:
    home = "C:\\env"
    copy = f"{home}\\Lib\\site-packages\\ctranslate2\\cublasLt64_12.dll"
    at = Attempt(path=copy, how=How.DIRECT, outcome="wrong architecture", stops=True)
    unfit = edge(name=copy, wanted_by="", state="wrong architecture", path=copy, attempts=(at,))
    python = replace(PYTHON, prefix=home)
    made = Closure(consumer=python.consumer("ctranslate2 4.8.5"), binaries=(copy,), edges=(unfit,), strays=(copy,))
    seen = replace(machines.windows_machine(), pythons=(python,), closures=(made,), records=None)
    found = card(seen)
    assert found.fix
    assert copy in found.fix.advice


@pytest.mark.parametrize(
    ("asker", "name", "told"),
    [
        (f"{SITE}/ctranslate2/libcublas.so.12", "libcublasLt.so.13", True),
        (f"{SITE}/ctranslate2/libcublas.so.12", "libcublasLt.so.12", False),
        (f"{SITE}/ctranslate2/libcusolver.so.11", "libcusparse.so.12", False),
        (f"{SITE}/ctranslate2/libctranslate2.so.4", "libcublas.so.12", False),
    ],
)
def test_a_library_under_the_name_of_another_release_goes(asker: str, name: str, told: bool) -> None:
    found = card(machine(closure("ctranslate2 4.8.5", edges=(edge(name=name, wanted_by=asker),))))
    title, advice = (found.fix.title, found.fix.advice) if found.fix else ("", "")
    assert (title == "Remove the file with the wrong name, and install the required CUDA") is told
    assert (f"rm {asker}" in advice) is told
    assert found.remedy is None or not told


OF_WINDOWS = r"C:\v\Lib\site-packages"
NVIDIAS = OF_WINDOWS + r"\nvidia"


@pytest.mark.parametrize(
    ("framework", "cuda", "name", "how", "tried", "by_path", "by_python"),
    [
        ("ctranslate2 4.8.5", "12", "cublas64_12.dll", How.PATH, "C:\\x", ("cublas\\bin",), ()),
        ("ctranslate2 4.8.5", "12", "cublas64_12.dll", How.PATH, NVIDIAS + "\\cublas\\bin", (), ()),
        ("cupy-cuda12x 13.6.0", "12", "nvrtc64_120_0.dll", How.DLL_FOLDER, "C:\\x", (), ("cuda_nvrtc\\bin",)),
        ("cupy-cuda12x 13.6.0", "12", "cusolver64_11.dll", How.DLL_FOLDER, "C:\\x", (),
         ("cusolver\\bin", "cublas\\bin", "cusparse\\bin", "nvjitlink\\bin")),
        ("cupy-cuda12x 14.2.0", "12", "nvrtc64_120_0.dll", How.DLL_FOLDER, "C:\\x", (), ()),
        ("onnxruntime-gpu 1.31.1", "13", "cublasLt64_13.dll", How.PATH, "C:\\x", ("cu13\\bin\\x86_64",), ()),
        ("onnxruntime-gpu 1.31.1", "13", "cudnn64_9.dll", How.PATH, "C:\\x",
         ("cudnn\\bin", "cu13\\bin\\x86_64"), ()),
    ],
)  # fmt: skip
def test_on_windows_what_is_installed_is_searched_too_in_the_way_of_its_consumer(
    framework: str, cuda: str, name: str, how: How, tried: str, by_path: tuple[str, ...], by_python: tuple[str, ...]
) -> None:
    its, _space, release = framework.partition(" ")
    build = FrameworkBuild(prefix=PYTHON.prefix, distribution=its, version=release, cuda=cuda)
    python = replace(
        PYTHON, distributions=(Distribution(name=its, version=release),), site_packages=(OF_WINDOWS,), prefix="C:\\v"
    )
    lacks = edge(name=name, attempts=(Attempt(path=f"{tried}\\{name}", how=how, outcome="not there"),))
    seen = replace(
        machine(
            replace(closure(framework, edges=(lacks,)), consumer=python.consumer(framework)),
            pythons=(python,),
            frameworks=Frameworks(builds=(replace(build, prefix="C:\\v"),)),
        ),
        machine=machines.windows_machine().machine,
    )
    found = card(seen)
    assert isinstance(found.remedy, InstallPackages)
    assert found.remedy.search == tuple(f"{NVIDIAS}\\{f}" for f in by_path)
    assert found.remedy.dll_folders == tuple(f"{NVIDIAS}\\{f}" for f in by_python)
    assert found.fix is not None
    assert all(f"{NVIDIAS}\\{f}" in found.fix.advice for f in (*by_path, *by_python))


def test_folders_are_added_where_they_have_everything_that_is_lacking() -> None:
    both = (edge(elsewhere=(NCCL,)), edge(name="libcufft.so.11"))
    assert not isinstance(card(machine(closure(edges=both))).remedy, AddFolder)


def test_an_extension_that_comes_as_sources_is_built_again() -> None:
    some = (Distribution(name="torch", version="2.6.0"), Distribution(name="flash-attn", version="2.7.4"))
    gap = Gap(wanted_by=BINARY, name="_ZN3c106detail14torchCheckFailEv")
    found = card(machine(closure("flash-attn 2.7.4", gaps=(gap,)), pythons=(replace(PYTHON, distributions=some),)))
    assert (found.cause, found.remedy) == ("extension_abi_mismatch", None)
    assert found.fix is not None
    assert "--no-build-isolation flash-attn" in found.fix.advice
    assert found.fix.title == "Build flash-attn again for torch==2.6.0"


def test_what_the_halves_of_jaxs_plug_in_lack_is_one_card_with_one_cure() -> None:
    """One opens CUDA's libraries, the other cuDNN; nobody uses one of them alone."""

    def lacking(id: str, cause: str, half: str, wish: str, label: str) -> Finding:
        return Finding(
            id=id, cause=cause, step=Step.CUDNN, severity=Severity.ERROR, title=id, subject="/env", consumers=(f"python/{half}:/env",),
            evidence=(Evidence(label=label, value="absent"),), remedy=InstallPackages(prefix="/env", install=(wish,)),
        )  # fmt: skip

    cudnn = lacking("cudnn.not-installed", "cudnn_not_installed", "jax-cuda12-pjrt", "nvidia-cudnn-cu12", "cuDNN 9")
    cuda = lacking(
        "frameworks.libraries-jax-cuda12-plugin",
        "cuda_runtime_missing",
        "jax-cuda12-plugin",
        "nvidia-cusparse-cu12",
        "cuSPARSE",
    )
    (card,) = join_cards([cudnn, cuda], Snapshot(machine=Machine(system="linux")))
    assert card.id == cuda.id
    assert [e.label for e in card.evidence] == ["cuSPARSE", "cuDNN 9"]
    assert card.remedy == InstallPackages(prefix="/env", install=("nvidia-cusparse-cu12", "nvidia-cudnn-cu12"))
    of_torch = replace(cudnn, consumers=("python/torch:/env",))
    assert join_cards([of_torch, cuda], Snapshot(machine=Machine(system="linux"))) == [of_torch, cuda]
