"""What lies in folders, told as it is: one release over several of them, another's file under a name, files that are gone.

Stand-in sets, really searched and really loaded.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import LibraryFile, Snapshot
from core.model.findings import Finding
from core.model.steps import Severity
from core.probes.loading import probe
from core.rules.consumer_loads import true_name
from core.rules.root_cause import diagnose
from tests import machines as m
from tests import standin
from tests.probes.test_loading import Scene

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="builds and loads Linux libraries")


def loud(found: tuple[Finding, ...]) -> list[tuple[str, str]]:
    return [(f.id, f.cause) for f in found if f.severity > Severity.NOTE]


def seen_by_programs(scene: Scene, *folders: Path) -> Snapshot:
    """Return the machine whose LD_LIBRARY_PATH names the folders and CUDA's libraries, as any program finds it."""
    cuda = scene.folder / "opt" / "cuda" / "lib"
    for name in ("libcublas.so.12", "libcublasLt.so.12", "libnvrtc.so.12", "libnvrtc-builtins.so.12.4"):
        standin.build_library(cuda / name)
    request = scene.request(LD_LIBRARY_PATH=":".join(map(str, (*folders, cuda))))
    return replace(request.seen, loads=probe.look(request), driver=m.working_driver())


def split(folder: Path, version: str, *, other: str = "") -> tuple[Path, Path]:
    """Lay one set over two folders; the parts of the second may be of another release."""
    one, two = folder / "opt" / "one", folder / "opt" / "two"
    standin.build_cudnn(one, version, zlib=True)
    whole = standin.build_cudnn(folder / "whole", other or version, zlib=True)
    two.mkdir(parents=True)
    for role in (
        ("cnn", "adv", "engines_precompiled") if version.startswith("9") else ("cnn_infer", "cnn_train", "adv_train")
    ):
        name = standin.file_name(role, int(version[0]))
        (one / name).unlink()
        shutil.move(whole / name, two / name)
    return one, two


@pytest.mark.parametrize("version", ["8.9.7", "9.1.0"])
def test_one_release_over_two_folders_that_are_both_searched_is_whole(tmp_path: Path, version: str) -> None:
    scene = Scene(tmp_path)
    found = diagnose(seen_by_programs(scene, *split(tmp_path, version)))
    assert loud(found) == []
    assert "cudnn.loads" in {f.id for f in found}


def test_one_release_over_two_folders_of_which_one_is_searched_is_not(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    one, _two = split(tmp_path, "9.1.0")
    assert loud(diagnose(seen_by_programs(scene, one)))[0] == ("cudnn.sublibrary-missing", "cudnn_sublibrary_missing")


def test_two_releases_over_two_folders_are_not_one(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    assert loud(diagnose(seen_by_programs(scene, *split(tmp_path, "9.1.0", other="9.10.2"))))


@pytest.mark.parametrize("link", [True, False])
def test_a_name_of_another_major_version_is_told_as_such(tmp_path: Path, link: bool) -> None:
    scene = Scene(tmp_path)
    folder = standin.build_cudnn(tmp_path / "opt" / "cudnn", "9.1.0", zlib=True)
    fake = folder / "libcudnn.so.8"
    fake.symlink_to("libcudnn.so.9") if link else shutil.copy(folder / "libcudnn.so.9", fake)
    scene.torch(rpath=False, major=8, requires="nvidia-cudnn-cu12==8.9.2.26")
    found = diagnose(seen_by_programs(scene, folder))
    told = [f for f in found if f.id == "cudnn.renamed"]
    assert [(f.cause, f.severity) for f in told] == [("cudnn_major_mismatch", Severity.ERROR)]
    assert "libcudnn.so.8 is really libcudnn.so.9" in told[0].title
    assert told[0].fix
    assert f"rm {fake}" in told[0].fix.advice


def test_a_part_under_another_parts_name(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    folder = standin.build_cudnn(tmp_path / "opt" / "cudnn", "9.1.0", zlib=True)
    shutil.copy(folder / "libcudnn_ops.so.9", folder / "libcudnn_cnn.so.9")
    assert ("cudnn.renamed", "cudnn_major_mismatch") in loud(diagnose(seen_by_programs(scene, folder)))


@pytest.mark.parametrize(
    ("fields", "true"),
    [
        (
            {
                "name": "libcudnn.so.9",
                "soname": "libcudnn.so.9",
                "real_path": "/x/libcudnn.so.9.1.0",
                "version": "9.1.0",
            },
            "",
        ),
        ({"name": "libcudnn.so.8", "soname": "libcudnn.so.9"}, "libcudnn.so.9"),
        ({"name": "libcudnn.so.8", "real_path": "/x/libcudnn.so.9.1.0"}, "libcudnn.so.9.1.0"),
        ({"name": "cudnn64_8.dll", "version": "9.1.0"}, "cuDNN 9.1.0"),
        ({"name": "cudnn64_9.dll", "version": "9.1.0"}, ""),
        ({"name": "libcudnn_cnn.so.9", "soname": "libcudnn_ops.so.9"}, "libcudnn_ops.so.9"),
        ({"name": "libcudnn-f0ff4753.so.8.1.1", "soname": "libcudnn-f0ff4753.so.8.1.1"}, ""),
        ({"name": "libcudnn.so.9", "soname": "", "version": "odd"}, ""),
    ],
)
def test_the_name_that_a_file_was_built_under(fields: dict[str, str], true: str) -> None:
    assert true_name(LibraryFile(path="/y/" + fields["name"], **fields)) == true


def test_a_wheel_of_which_every_library_is_gone_is_told_though_another_cudnn_is_found(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    wheel = scene.wheel("9.1.0.70", zlib=True)
    scene.torch()
    other = standin.build_cudnn(tmp_path / "opt" / "cudnn", "9.1.0", zlib=True)
    assert not [i for i, _ in loud(diagnose(seen_by_programs(scene, other))) if i == "cudnn.sublibrary-missing"]
    for file in wheel.iterdir():
        file.unlink()
    seen = seen_by_programs(scene, other)
    assert "cudnn_sublibrary_missing" in {cause for _, cause in loud(diagnose(seen))}
