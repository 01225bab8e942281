"""Rules about packages beside each other: in each environment, whatever the one before it has."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from core.model.facts import (
    BuiltForNumpy1,
    DamagedFile,
    Distribution,
    EndedImport,
    FoundModule,
    FrameworkBuild,
    Frameworks,
    ImportSearch,
    OverwrittenPackage,
    PackageRecords,
    PythonEnvironment,
    Remains,
    SharedFiles,
    Snapshot,
    StartLook,
    Toolkit,
)
from core.model.findings import Finding
from core.model.remedies import InstallPackages, PutPackageBack
from core.model.steps import Severity
from core.rules.frameworks.environment_view import environment_views
from core.rules.frameworks.environments import _without_framework, other_compiler
from core.rules.frameworks.imports import empty_packages
from core.rules.frameworks.packages import duplicate_packages, overwritten_packages, shared_files
from core.rules.frameworks.records import WHOLE_STATE, _is_broken, _packages_reported_by_imports
from core.rules.frameworks.requirements import jax_without_its_other_half, numpy_abi
from core.rules.newer import newer_packages
from core.rules.ways import snapshot_for_way
from tests.machines import PREFIX, python, wheel_machine, windows_machine

OTHER = "/home/ada/other"


def has(prefix: str, **versions: str) -> PythonEnvironment:
    names = {name.replace("_", "-"): version for name, version in versions.items()}
    return python(
        prefix=prefix,
        executable=f"{prefix}/bin/python",
        site_packages=(f"{prefix}/lib/python3.11/site-packages",),
        distributions=tuple(Distribution(name=name, version=version) for name, version in names.items()),
    )


def seen(*pythons: PythonEnvironment) -> Snapshot:
    return replace(wheel_machine(), pythons=pythons)


def test_jax_uses_no_gpu_where_one_of_its_two_packages_is_alone() -> None:
    halves = {"jax_cuda12_pjrt": "0.7.2", "jax_cuda12_plugin": "0.7.2"}
    alone = {"jax_cuda12_pjrt": "0.7.2"}
    for its, said in (
        ({"jax": "0.7.2", **halves}, 0),
        ({"jax": "0.7.2", **alone}, 1),
        ({"jax": "0.7.2"}, 0),
        (alone, 0),
        ({"jax": "0.7.2", **alone, "jax_cuda13_plugin": "0.7.2"}, 1),
    ):
        found = list(jax_without_its_other_half(seen(has(PREFIX, **its))))
        assert [f.id for f in found] == ["frameworks.lacks-jax-plugin"] * said
        assert all(f.severity is Severity.ERROR and "jax-cuda12-plugin" in f.title for f in found)


def test_an_environment_is_judged_whatever_another_one_has() -> None:
    old, new, none = (
        has(PREFIX, torch="2.0.0", numpy="1.26.4"),
        has(OTHER, torch="2.0.0", numpy="2.1.0"),
        has(OTHER, torch="2.0.0"),
    )
    assert len(list(numpy_abi(seen(new)))) == 1
    assert len(list(numpy_abi(seen(old, new)))) == 1
    assert list(numpy_abi(seen(old, none))) == []


def test_a_framework_that_imports_such_a_module_at_its_start_is_concerned() -> None:
    its = has(PREFIX, tensorflow="2.20.0", ml_dtypes="0.2.0", numpy="2.1.0")
    module = BuiltForNumpy1(distribution="ml-dtypes", version="0.2.0", path=f"{PREFIX}/ml_dtypes/_custom_floats.so")
    (found,) = numpy_abi(replace(seen(its), imports=(ImportSearch(prefix=PREFIX, numpy_1=(module,)),)))
    assert {who.partition(":")[0] for who in found.consumers} == {"python/tensorflow", "python/ml-dtypes"}


def test_modules_that_show_it_and_releases_that_are_known_for_it_are_one_fault_with_one_cure() -> None:
    its = has(PREFIX, torch="2.0.0", h5py="3.10.0", numpy="2.1.0")
    module = BuiltForNumpy1(distribution="h5py", version="3.10.0", path=f"{PREFIX}/h5py/_errors.so")
    both = replace(seen(its), imports=(ImportSearch(prefix=PREFIX, numpy_1=(module,)),))
    (found,) = numpy_abi(both)
    assert found.title.startswith("h5py 3.10.0 and torch 2.0.0 were built for NumPy 1")
    assert (found.id, found.severity, found.subject) == ("frameworks.numpy-abi", Severity.ERROR, module.path)
    assert [e.label for e in found.evidence if "NumPy 2" in e.label or "module" in e.label] == [
        "Extension module", "The first release for NumPy 2",
    ]  # fmt: skip
    assert found.fix is not None
    assert "numpy<2" in found.fix.advice


@pytest.mark.parametrize(
    ("python", "asks", "back"),
    [("3.11.9", "numpy>=1.26", True), ("3.11.9", "numpy>=2", False), ("3.13.1", "numpy>=1.26", False)],
)
def test_numpy_1_comes_back_where_it_does_for_all_that_stays(python: str, asks: str, back: bool) -> None:
    """A newer release of one package may be refused by another, which was built for NumPy 1, too, and shows it less plainly."""
    its = has(PREFIX, h5py="3.10.0", numpy="2.1.0", other="1.0")
    others = tuple(replace(d, pins=(asks,)) if d.name == "other" else d for d in its.distributions)
    module = BuiltForNumpy1(distribution="h5py", version="3.10.0", path=f"{PREFIX}/h5py/_errors.so")
    alone = seen(replace(its, version=python, distributions=others))
    (found,) = numpy_abi(replace(alone, imports=(ImportSearch(prefix=PREFIX, numpy_1=(module,)),)))
    assert found.title.startswith("h5py 3.10.0 was built for NumPy 1")
    newer = InstallPackages(prefix=PREFIX, remove=("h5py",), install=("h5py", "numpy==2.1.0"))
    assert found.remedy == (InstallPackages(prefix=PREFIX, install=("numpy<2",)) if back else newer)
    assert found.fix is not None
    assert ("numpy<2" if back else "--upgrade h5py numpy==2.1.0") in found.fix.advice


def test_packages_for_a_newer_cuda_are_told_once_for_each_environment() -> None:
    several = {"nvidia_cublas_cu99": "99.0", "nvidia_cufft_cu99": "99.0"}
    found = list(newer_packages(seen(has(PREFIX, **several), has(OTHER, **several))))
    assert [f.subject for f in found] == [h.python.prefix for h in environment_views(seen(has(PREFIX), has(OTHER)))]


def over(package: str, written: str, lost: str) -> tuple[ImportSearch, ...]:
    path = f"{PREFIX}/lib/python3.11/site-packages/{package}"
    return (
        ImportSearch(
            prefix=PREFIX,
            overwritten=(OverwrittenPackage(package=package, path=path, written=written, lost=lost),),
        ),
    )


@pytest.mark.parametrize(
    ("requires", "keep"), [((), "pyjwt==2.10.1"), (("jwt",), "jwt==1.3.1"), (("pyjwt>=2",), "pyjwt==2.10.1")]
)
def test_what_others_require_is_kept_of_two_that_own_one_package(requires: tuple[str, ...], keep: str) -> None:
    its = has(PREFIX, torch="2.6.0")
    of_torch = replace(its.distributions[0], requires=requires)
    machine = replace(seen(replace(its, distributions=(of_torch,))), imports=over("jwt", "jwt 1.3.1", "pyjwt 2.10.1"))
    (found,) = overwritten_packages(machine)
    assert (found.id, found.severity) == ("frameworks.overwritten-jwt", Severity.WARNING)
    assert found.fix is not None
    assert "uninstall -y pyjwt jwt" in found.fix.advice
    assert found.fix.advice.rstrip().endswith(keep)


def test_a_folder_of_the_table_is_told_once_and_its_twins_are_a_note() -> None:
    its = has(PREFIX, opencv_python="4.5.5.64", opencv_python_headless="4.9.0.80")
    (note,) = duplicate_packages(seen(its))
    mixed = replace(seen(its), imports=over("cv2", "opencv-python 4.5.5.64", "opencv-python-headless 4.9.0.80"))
    (found,) = duplicate_packages(mixed)
    assert (note.severity, found.severity) == (Severity.NOTE, Severity.WARNING)
    assert list(overwritten_packages(mixed)) == []


@pytest.mark.parametrize(
    ("state", "header", "broken"),
    [
        ("hash differs", "", True),
        ("hash differs", "whole", True),
        ("size differs", "truncated", True),
        ("size differs", WHOLE_STATE, False),
        ("size differs", "", False),
        ("missing", "truncated", False),
    ],
)
def test_a_file_that_nobody_can_have_meant(state: str, header: str, broken: bool) -> None:
    file = DamagedFile(path="/x.so", distribution="torch", version="2.6.0", state=state, header=header)
    assert _is_broken(file) is broken


def test_another_way_of_starting_has_its_own_search_where_it_was_looked_at() -> None:
    mine, theirs = ((ImportSearch(prefix=p),) for p in (PREFIX, OTHER))
    machine = replace(wheel_machine(), imports=mine)
    look = StartLook(starts=("cron",), environment=machine.environment)
    assert snapshot_for_way(machine, look).imports == mine
    assert snapshot_for_way(machine, replace(look, imports=theirs)).imports == theirs
    assert snapshot_for_way(machine, replace(look, imports=())).imports == ()


def test_two_packages_that_the_table_knows_hide_no_others() -> None:
    known = SharedFiles(distributions=("onnxruntime 1.20.1", "onnxruntime-gpu 1.20.1"), files=3, example="/a.so")
    others = SharedFiles(distributions=("one 1.0", "other 1.0"), files=2, example="/b.so")
    its = seen(has(PREFIX, torch="2.6.0"))
    (found,) = shared_files(replace(its, records=(PackageRecords(prefix=PREFIX, shared=(known, others)),)))
    assert found.id == "frameworks.shared-one"


def test_what_another_package_requires_is_kept_in_its_release() -> None:
    both = SharedFiles(distributions=("nvidia-nccl-cu11 2.19.3", "nvidia-nccl-cu12 2.27.3"), files=1, example="/b.so")
    for asked, kept in (("nvidia-nccl-cu11==2.19.3", "nvidia-nccl-cu11==2.19.3"), ("", "nvidia-nccl-cu12==2.27.3")):
        torch = Distribution(name="torch", version="2.8.0", pins=(asked,) if asked else ())
        its = seen(replace(has(PREFIX), distributions=(torch,)))
        (found,) = shared_files(replace(its, records=(PackageRecords(prefix=PREFIX, shared=(both,)),)))
        assert found.fix is not None
        assert found.fix.advice.endswith(f"install {kept}")


@pytest.mark.parametrize(
    ("kind", "recorded", "names"),
    [("absent", False, {"x"}), ("unfit", True, {"x"}), ("unfit", False, set()), ("foreign", True, set())],
)
def test_whose_files_the_rules_about_imports_report(kind: Any, recorded: bool, names: set[str]) -> None:
    ended = EndedImport(
        starts=("torch",), importer="/a.py", line=1, wanted="x", kind=kind, recorded=recorded, owner="x 1.0"
    )
    its = replace(seen(has(PREFIX)), imports=(ImportSearch(prefix=PREFIX, ended=(ended,)),))
    (home,) = environment_views(its)
    assert _packages_reported_by_imports(home) == names


def test_the_environments_that_have_a_framework_are_named_beside_the_active_one_without() -> None:
    build = FrameworkBuild(distribution="torch", version="2.6.0", cuda="12.4", prefix=PREFIX)
    active = replace(has("/home/ada/active"), ways=("PATH",))
    plain, whole = has(OTHER), has(PREFIX, torch="2.6.0")
    its = replace(seen(active, plain, whole), frameworks=Frameworks(builds=(build,)))
    (found,) = _without_framework(its, "PATH")
    assert [e.value for e in found.evidence] == [PREFIX]


def compilers(machine: Snapshot, *pythons: PythonEnvironment, fitting: bool = True) -> list[Finding]:
    """Return what is said of nvcc of CUDA 11.8 on PATH, beside a toolkit that fits PyTorch or without one."""
    nvcc = Toolkit(root="/cuda-11.8", origin="system", version="11.8", nvcc="/cuda-11.8/bin/nvcc", named_by=("PATH",))
    right = Toolkit(root="/cuda-12.4", origin="system", version="12.4", nvcc="/cuda-12.4/bin/nvcc")
    build = FrameworkBuild(distribution="torch", version="2.6.0", cuda="12.4", prefix=PREFIX)
    frameworks = Frameworks(builds=(build,))
    toolkits = (nvcc, right) if fitting else (nvcc,)
    return [*other_compiler(replace(machine, toolkits=toolkits, pythons=pythons, frameworks=frameworks))]


def test_a_compiler_for_another_cuda_is_told_of_every_environment_with_pytorch() -> None:
    (found,) = compilers(wheel_machine(), has(OTHER), has(PREFIX, torch="2.6.0"))
    assert found.subject == PREFIX
    assert found.fix is not None
    assert "export CUDA_HOME=/cuda-12.4" in found.fix.advice
    (found,) = compilers(wheel_machine(), has(PREFIX, torch="2.6.0"), fitting=False)
    assert found.fix is not None
    assert "Install the CUDA 12.4 toolkit" in found.fix.advice
    (found,) = compilers(windows_machine(), has(PREFIX, torch="2.6.0"))
    assert found.fix is not None
    assert "$env:CUDA_HOME = " in found.fix.advice


@pytest.mark.parametrize(("owner", "version"), [("torch 2.6.0", "2.6.0"), ("torch", "")])
def test_an_emptied_package_is_put_back_where_its_release_is_known(owner: str, version: str) -> None:
    found = FoundModule(name="torch", kind="namespace", path=f"{PREFIX}/torch", owner=owner)
    remains = Remains(path=f"{PREFIX}/~orch", kind="renamed", distribution="torch")
    search = ImportSearch(prefix=PREFIX, modules=(found,), remains=(remains,))
    (said,) = empty_packages(replace(seen(has(PREFIX, torch="2.6.0")), imports=(search,)))
    put = PutPackageBack(prefix=PREFIX, package="torch", version=version) if version else None
    assert said.remedy == put
