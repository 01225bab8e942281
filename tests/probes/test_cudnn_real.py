"""The cuDNN and loading probes on NVIDIA's own wheels: whole sets are found in order, each planted fault is seen."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace
from msgspec.structs import replace as changed

from core.common.progress import Progress
from core.host.this_host import this_host
from core.model.facts import CudnnCopy, Load, PythonEnvironment, RollCall, Snapshot
from core.probes.cudnn import probe as cudnn
from core.probes.loading import probe
from core.probes.probe import ProbeRequest

pytestmark = [
    pytest.mark.download,
    pytest.mark.skipif(sys.platform != "linux", reason="the cache of wheels is a Linux one"),
]


class Seen(NamedTuple):
    copy: CudnnCopy
    load: Load

    @property
    def roll(self) -> RollCall:
        assert self.load.roll_call is not None
        return self.load.roll_call

    @property
    def states(self) -> dict[str, str]:
        return {f.name: f.state for f in self.copy.files if f.state != "good"}

    @property
    def failed(self) -> dict[str, str]:
        return {
            Path(c.library).name if c.function == "dlopen" else c.function: c.meaning
            for c in self.roll.calls
            if c.result is None or (c.result and not c.function.startswith("cudnnGet"))
        }


class Venv:
    """One environment with a hard-linked wheel."""

    def __init__(self, folder: Path, name: str) -> None:
        from tests.faultlab import wheels

        self.site = folder / "venv" / "lib" / "python3.11" / "site-packages"
        wheels.link_tree(wheels.unpacked(getattr(wheels, name)), self.site)
        self.libraries = self.site / "nvidia" / "cudnn" / "lib"

    def own(self, name: str) -> Path:
        """Give a file bytes of its own before it is altered."""
        from tests.faultlab import wheels

        return wheels.own(self.libraries / name)

    def other(self, wheel: str, name: str) -> None:
        """Put the same-named file of another release in its place."""
        from tests.faultlab import wheels

        wheels.link(wheels.unpacked(getattr(wheels, wheel)) / "nvidia/cudnn/lib" / name, self.libraries / name)

    def look(self, *, thorough: bool = False, **env: str) -> Seen:
        prefix = str(self.site.parents[2])
        python = PythonEnvironment(prefix=prefix, kind="venv", site_packages=(str(self.site),))
        host = this_host()
        seen = Snapshot(machine=host.machine(), pythons=(python,))
        clean = {n: v for n, v in os.environ.items() if not n.startswith("LD_")}
        asked = ProbeRequest(host=host, seen=seen, env={**clean, **env}, watch=Progress(), thorough=thorough)
        copies = tuple(c for c in cudnn.look(asked) if c.environment == prefix)
        loads = probe.look(replace(asked, seen=changed(seen, cudnn=copies)))
        return Seen(copies[0], loads[0])


WHEELS = {
    "CUDNN_8_9": ("8.9.7", 12, (50, 60, 61, 70, 75, 80, 86, 90)),
    "CUDNN_9_1": ("9.1.0", 12, (50, 60, 61, 70, 75, 80, 86, 90)),
    "CUDNN_9_10": ("9.10.2", 12, (50, 60, 61, 70, 80, 90, 100, 120)),
    "CUDNN_9_21_CUDA_13": ("9.21.1", 13, (75, 80, 90, 100, 120, 121)),
}


@pytest.mark.parametrize("name", WHEELS)
def test_a_whole_wheel_is_in_order(tmp_path: Path, name: str) -> None:
    version, cuda, sass = WHEELS[name]
    seen = Venv(tmp_path, name).look(thorough=name == "CUDNN_9_1")
    copy = seen.copy
    assert (copy.version, copy.cuda_major, copy.missing, copy.header_version) == (version, cuda, (), version)
    assert copy.sass == sass
    assert seen.states == {}
    assert {f.version for f in copy.files} <= {version, None}
    assert {f.record for f in copy.files} == {"matches" if name == "CUDNN_9_1" else "unchecked"}
    assert (seen.roll.version, seen.roll.ended, seen.failed) == (version, "", {})
    assert {m.name for m in seen.roll.mapped} == {f.name for f in copy.files}
    assert {m.origin for m in seen.roll.mapped} == {"this environment's wheel"}


def test_the_release_that_lacks_a_part_of_its_own(tmp_path: Path) -> None:
    seen = Venv(tmp_path, "CUDNN_9_20_CUDA_13").look()
    assert (seen.copy.missing, seen.copy.missing_source) == (
        ("libcudnn_engines_tensor_ir.so.9",),
        "libcudnn_graph.so.9",
    )
    assert list(seen.failed) == ["libcudnn_engines_tensor_ir.so.9"]
    assert seen.states == {}


def deleted(venv: Venv, name: str) -> None:
    (venv.libraries / name).unlink()


def emptied(venv: Venv, name: str) -> None:
    os.truncate(venv.own(name), 0)


def halved(venv: Venv, name: str) -> None:
    os.truncate(venv.own(name), (venv.libraries / name).stat().st_size // 2)


def foreign(venv: Venv, name: str) -> None:
    with venv.own(name).open("r+b") as stream:
        stream.seek(18)
        stream.write(b"\xb7\0")


def pages_lost(venv: Venv, name: str) -> None:
    """Zero 200 scattered pages."""
    path = venv.own(name)
    pages = path.stat().st_size // 4096
    with path.open("r+b") as stream:
        for number in random.Random(1).sample(range(pages // 4, pages), 200):
            stream.seek(number * 4096)
            stream.write(bytes(4096))


@pytest.mark.parametrize(
    ("wheel", "plant", "name", "missing", "state", "words"),
    [
        ("CUDNN_8_9", deleted, "libcudnn_ops_infer.so.8", True, None, "cannot open shared object file"),
        ("CUDNN_8_9", deleted, "libcudnn_cnn_train.so.8", True, None, "cannot open shared object file"),
        ("CUDNN_8_9", halved, "libcudnn_ops_train.so.8", False, "truncated", "SIGBUS"),
        ("CUDNN_9_1", deleted, "libcudnn_graph.so.9", True, None, "cannot open shared object file"),
        ("CUDNN_9_1", deleted, "libcudnn_engines_precompiled.so.9", True, None, "cannot open shared object file"),
        ("CUDNN_9_1", emptied, "libcudnn_ops.so.9", False, "empty", "file too short"),
        ("CUDNN_9_1", foreign, "libcudnn_cnn.so.9", False, None, "cannot open shared object file"),
        ("CUDNN_9_1", halved, "libcudnn_heuristic.so.9", False, "truncated", "SIGBUS"),
        ("CUDNN_9_1", pages_lost, "libcudnn_cnn.so.9", False, "damaged", ""),
    ],
)
def test_a_planted_fault(
    tmp_path: Path,
    wheel: str,
    plant: Callable[[Venv, str], None],
    name: str,
    missing: bool,
    state: str | None,
    words: str,
) -> None:
    venv = Venv(tmp_path, wheel)
    plant(venv, name)
    seen = venv.look()
    assert seen.copy.missing == ((name,) if missing else ())
    assert seen.states == ({name: state} if state else {})
    assert words in seen.failed.get(name, "")
    if plant is foreign:
        assert {f.architecture for f in seen.copy.files if f.name == name} == {"aarch64"}


@pytest.mark.parametrize(
    ("name", "other"),
    [("libcudnn_cnn.so.9", "CUDNN_9_10"), ("libcudnn_engines_runtime_compiled.so.9", "CUDNN_9_10")],
)
def test_a_part_of_another_release(tmp_path: Path, name: str, other: str) -> None:
    venv = Venv(tmp_path, "CUDNN_9_1")
    venv.other(other, name)
    seen = venv.look()
    (file,) = (f for f in seen.copy.files if f.name == name)
    assert (seen.copy.version, file.version, file.record) == ("9.1.0", "9.10.2", "size differs")
    assert "undefined symbol" in seen.failed[name]


def test_a_shim_of_another_release_answers_for_the_others(tmp_path: Path) -> None:
    venv = Venv(tmp_path, "CUDNN_9_1")
    venv.other("CUDNN_9_10", "libcudnn.so.9")
    seen = venv.look()
    assert {f.name: f.version for f in seen.copy.files}["libcudnn.so.9"] == "9.10.2"
    assert (seen.copy.version, seen.roll.version, seen.failed) == ("9.1.0", "9.1.0", {})


def test_a_flipped_bit_needs_the_hash(tmp_path: Path) -> None:
    venv = Venv(tmp_path, "CUDNN_9_1")
    path = venv.own("libcudnn_cnn.so.9")
    with path.open("r+b") as stream:
        stream.seek(path.stat().st_size // 2)
        byte = stream.read(1)[0]
        stream.seek(-1, os.SEEK_CUR)
        stream.write(bytes([byte ^ 1]))
    assert {f.record for f in venv.look().copy.files} == {"unchecked"}
    verdicts = {f.name: f.record for f in venv.look(thorough=True).copy.files}
    assert {n for n, v in verdicts.items() if v != "matches"} == {"libcudnn_cnn.so.9"}
    assert verdicts["libcudnn_cnn.so.9"] == "hash differs"


def test_the_faulty_release_takes_a_part_of_a_copy_on_the_search_path(tmp_path: Path) -> None:
    from tests.faultlab import wheels

    system = wheels.unpacked(wheels.CUDNN_9_21_CUDA_13) / "nvidia/cudnn/lib"
    venv = Venv(tmp_path, "CUDNN_9_20_CUDA_13")
    for name in ("libcudnn.so.9", "libcudnn_engines_tensor_ir.so.9"):
        (tmp_path / "system").mkdir(exist_ok=True)
        wheels.link(system / name, tmp_path / "system" / name)
    seen = venv.look(LD_LIBRARY_PATH=str(tmp_path / "system"))
    (part,) = (r for r in seen.load.resolutions if "tensor_ir" in r.name)
    assert part.winner is not None
    assert part.winner.path == str(tmp_path / "system/libcudnn_engines_tensor_ir.so.9")
    assert seen.load.clean_roll_call is not None
