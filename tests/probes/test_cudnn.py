"""Every cuDNN copy as files: found, described and compared, on stand-in sets under a made-up root."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.loader.earlier_reads import EarlierReads, using
from core.model.facts import CudnnCopy, LibraryFile, PythonEnvironment
from core.probes.cudnn import contents, probe
from core.probes.cudnn.locations import find_folders
from core.probes.probe import ProbeRequest
from core.probes.sysroot import sysroot_of
from tests import standin
from tests.probes.request import link, request, write

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="builds Linux libraries with gcc, makes FIFOs")

SITE = "/home/ada/venv/lib/python3.11/site-packages"
WHEEL = f"{SITE}/nvidia/cudnn/lib"
VENV = PythonEnvironment(prefix="/home/ada/venv", version="3.11.9", kind="venv", site_packages=(SITE,))


def on(root: Path, path: str) -> Path:
    return root / path.lstrip("/")


def asking(root: Path, thorough: bool = False, **env: str) -> ProbeRequest:
    return replace(request(root, env, pythons=(VENV,)), thorough=thorough)


def look(root: Path, thorough: bool = False, **env: str) -> tuple[CudnnCopy, ...]:
    return probe.look(asking(root, thorough, **env))


def one(root: Path, thorough: bool = False, **env: str) -> CudnnCopy:
    (copy,) = look(root, thorough, **env)
    return copy


def file(copy: CudnnCopy, name: str) -> LibraryFile:
    return next(f for f in copy.files if f.name == name)


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """A machine with one environment that holds a stand-in of nvidia-cudnn-cu12 9.1.0.70."""
    standin.install_cudnn(on(tmp_path, SITE), "9.1.0.70", 12)
    return tmp_path


def test_a_healthy_wheel(venv: Path) -> None:
    copy = one(venv)
    assert (copy.folder, copy.origin, copy.major, copy.environment) == (WHEEL, "wheel", 9, VENV.prefix)
    assert (copy.version, copy.owner, copy.cuda_major) == ("9.1.0", "nvidia-cudnn-cu12 9.1.0.70", 12)
    assert copy.version_source.startswith("libcudnn_graph.so.9: exported")
    assert (copy.missing, copy.missing_source) == ((), "")
    assert (copy.sass, copy.header_version) == ((80, 90), "9.1.0")
    assert {f.name for f in copy.files} == {standin.file_name(r, 9) for r in ("", *standin.parts("9.1.0"))}
    assert {f.state for f in copy.files} == {"good"}
    assert {f.record for f in copy.files} == {"unchecked"}
    assert {f.version for f in copy.files} == {"9.1.0"}
    assert all(f.size and f.architecture == "x86_64" for f in copy.files)


def test_hashes_are_compared_only_when_thorough(venv: Path) -> None:
    copy = one(venv, thorough=True)
    assert {f.record for f in copy.files} == {"matches"}
    assert all(len(f.sha256) == 64 for f in copy.files)


@pytest.mark.parametrize(
    ("version", "cuda", "first"), [("7.6.5", 10, "libcudnn.so.7"), ("8.9.7", 12, "libcudnn_ops_infer.so.8")]
)
def test_older_majors(tmp_path: Path, version: str, cuda: int, first: str) -> None:
    standin.install_cudnn(on(tmp_path, SITE), version, cuda)
    copy = one(tmp_path)
    assert copy.major == int(version[0])
    assert copy.missing == ()
    assert file(copy, first).state == "good"
    if version[0] == "8":
        assert (copy.version, copy.cuda_major) == (version, cuda)
        assert file(copy, "libcudnn.so.8").version is None  # that shim holds no version


def removed(folder: Path) -> None:
    (folder / "libcudnn_ops.so.9").unlink()


def emptied(folder: Path) -> None:
    (folder / "libcudnn_ops.so.9").write_bytes(b"")


def cut(folder: Path) -> None:
    os.truncate(folder / "libcudnn_ops.so.9", 9000)


def foreign(folder: Path) -> None:
    with (folder / "libcudnn_ops.so.9").open("r+b") as stream:
        stream.seek(18)
        stream.write(b"\xb7\0")  # EM_AARCH64


def dangling(folder: Path) -> None:
    (folder / "libcudnn_ops.so.9").unlink()
    (folder / "libcudnn_ops.so.9").symlink_to("libcudnn_ops.so.9.1.0")


def fifo(folder: Path) -> None:
    (folder / "libcudnn_ops.so.9").unlink()
    os.mkfifo(folder / "libcudnn_ops.so.9")


def loop(folder: Path) -> None:
    (folder / "libcudnn_ops.so.9").unlink()
    (folder / "libcudnn_ops.so.9").symlink_to("libcudnn_ops.so.9")


@pytest.mark.parametrize(
    ("plant", "state", "architecture"),
    [
        (emptied, "empty", ""),
        (cut, "truncated", "x86_64"),
        (foreign, "good", "aarch64"),
        (dangling, "dangling", ""),
        (fifo, "not a library", ""),
        (loop, "dangling", ""),
    ],
)
def test_a_broken_part(venv: Path, plant: Callable[[Path], None], state: str, architecture: str) -> None:
    plant(on(venv, WHEEL))
    copy = one(venv)
    part = file(copy, "libcudnn_ops.so.9")
    assert (part.state, part.architecture) == (state, architecture)
    assert bool(part.problem) == (state != "good")
    assert copy.missing == ()
    assert all(f.state == "good" for f in copy.files if f is not part)


def test_a_missing_part_is_named_by_record_and_by_the_shim(venv: Path) -> None:
    removed(on(venv, WHEEL))
    copy = one(venv)
    assert (copy.missing, copy.missing_source) == (("libcudnn_ops.so.9",), "RECORD")
    (on(venv, SITE) / "nvidia_cudnn_cu12-9.1.0.70.dist-info" / "RECORD").unlink()
    copy = one(venv)
    assert (copy.missing, copy.missing_source) == (("libcudnn_ops.so.9",), "libcudnn.so.9")


def test_a_release_that_names_a_part_that_it_never_had(tmp_path: Path) -> None:
    standin.install_cudnn(on(tmp_path, SITE), "9.20.0.48", 13, wants=("engines_tensor_ir",))
    copy = one(tmp_path)
    assert copy.missing == ("libcudnn_engines_tensor_ir.so.9",)
    assert copy.missing_source == "libcudnn_graph.so.9"
    assert (copy.version, copy.cuda_major) == ("9.20.0", 13)


def test_a_part_of_another_release(venv: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = standin.build_cudnn(tmp_path_factory.mktemp("other"), "9.10.2")
    on(venv, f"{WHEEL}/libcudnn_cnn.so.9").write_bytes((other / "libcudnn_cnn.so.9").read_bytes() + b"\0")
    copy = one(venv)
    assert copy.version == "9.1.0"
    assert file(copy, "libcudnn_cnn.so.9").version == "9.10.2"
    assert file(copy, "libcudnn_cnn.so.9").record == "size differs"


def test_a_flipped_bit_is_seen_by_its_hash_alone(venv: Path) -> None:
    path = on(venv, f"{WHEEL}/libcudnn_adv.so.9")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 16
    path.write_bytes(data)
    assert file(one(venv), "libcudnn_adv.so.9").record == "unchecked"
    assert file(one(venv, thorough=True), "libcudnn_adv.so.9").record == "hash differs"


def test_zeroed_code_is_seen_without_a_hash(venv: Path) -> None:
    path = on(venv, f"{WHEEL}/libcudnn_adv.so.9")
    data = bytearray(path.read_bytes())
    at = data.find(b"\x90" * 4096)  # the filler in front of the stand-ins' functions
    page = (at + 4095) // 4096 * 4096
    data[page : page + 4096] = bytes(4096)
    path.write_bytes(data)
    part = file(one(venv), "libcudnn_adv.so.9")
    assert part.state == "damaged"
    assert f"at byte {page}" in part.problem


def test_a_wheel_whose_files_are_all_gone(venv: Path) -> None:
    for path in on(venv, WHEEL).iterdir():
        path.unlink()
    copy = one(venv)
    assert copy.files == ()
    assert len(copy.missing) == 8
    assert copy.owner == "nvidia-cudnn-cu12 9.1.0.70"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file(venv: Path) -> None:
    on(venv, f"{WHEEL}/libcudnn_ops.so.9").chmod(0)
    assert file(one(venv), "libcudnn_ops.so.9").state == "unreadable"


def test_two_majors_in_one_folder_are_two_copies(tmp_path: Path) -> None:
    for version in ("8.9.7", "9.1.0"):
        standin.build_cudnn(on(tmp_path, "/usr/lib/x86_64-linux-gnu"), version)
    assert [(c.major, c.version, c.origin, c.missing) for c in look(tmp_path)] == [
        (8, "8.9.7", "distribution", ()),
        (9, "9.1.0", "distribution", ()),
    ]


def test_every_place_is_looked_into_once(tmp_path: Path) -> None:
    folders = {
        "/usr/lib/x86_64-linux-gnu": "distribution",
        "/usr/local/cuda-12.4/lib64": "installer",
        "/opt/cudnn-9/lib": "installer",
        "/data/cudnn": "folder",
        f"{SITE}/torch/lib": "framework",
        WHEEL: "wheel",
    }
    for folder in folders:
        standin.build_cudnn(on(tmp_path, folder))
    link(tmp_path, "/usr/local/cuda", "cuda-12.4")
    link(tmp_path, "/lib", "usr/lib")
    copies = look(tmp_path, LD_LIBRARY_PATH="/data/cudnn:/usr/local/cuda/lib64::relative")
    spelt = {
        "/usr/lib/x86_64-linux-gnu": "/lib/x86_64-linux-gnu",
        "/usr/local/cuda-12.4/lib64": "/usr/local/cuda/lib64",
    }
    assert {c.folder: c.origin for c in copies} == {spelt.get(f, f): o for f, o in folders.items()}
    assert {c.files[0].real_path for c in copies if c.folder in spelt.values()} == {f"{f}/libcudnn.so.9" for f in spelt}
    assert next(c for c in copies if c.folder == "/data/cudnn").source == "LD_LIBRARY_PATH"


@pytest.mark.parametrize(
    "place",
    [
        "/usr/local/cuda-12.4/cudnn-linux-x86_64-9.1.0.70_cuda12-archive/lib",
        "/opt/cudnn-old/cuda/lib64",
    ],
)
def test_an_archive_that_was_unpacked_whole_into_a_toolkit_is_found(tmp_path: Path, place: str) -> None:
    standin.build_cudnn(on(tmp_path, place))
    assert one(tmp_path).origin == "installer"


def test_the_same_on_windows(tmp_path: Path) -> None:
    toolkit = "C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v12.4"
    inside = f"{toolkit}\\cudnn-windows-x86_64-9.1.0.70_cuda12-archive\\bin"
    for folder in (inside, "D:\\tools\\cuda\\bin", "D:\\tools\\cuda11-notes\\bin"):
        write(tmp_path, f"{folder}\\cudnn64_9.dll".replace("\\", "/"), b"MZ")
    its = request(tmp_path, system="windows", env={"PATH": "D:\\tools", "SYSTEMROOT": "C:\\Windows"})
    assert [f.spot.folder for f in find_folders(its, sysroot_of(its.host), ())] == ["D:\\tools\\cuda\\bin", inside]


def test_a_lone_shim_lacks_all_its_parts(tmp_path: Path) -> None:
    built = standin.build_cudnn(tmp_path / "built", "8.1.1")
    libs = on(tmp_path, f"{SITE}/ctranslate2.libs")
    libs.mkdir(parents=True)
    (built / "libcudnn.so.8").rename(libs / "libcudnn-f0ff4753.so.8.1.1")
    copy = one(tmp_path)
    assert copy.origin == "framework"
    assert [f.name for f in copy.files] == ["libcudnn-f0ff4753.so.8.1.1"]
    assert copy.missing == tuple(sorted(standin.file_name(r, 8) for r in standin.LINUX8))
    assert copy.files[0].version == "8.1.1"


def test_links_of_a_distribution(tmp_path: Path) -> None:
    folder = on(tmp_path, "/usr/lib/x86_64-linux-gnu")
    standin.build_cudnn(folder, "9.1.0")
    for path in list(folder.iterdir()):
        path.rename(path.with_name(path.name + ".1.0"))
        path.symlink_to(path.name + ".1.0")
    old = standin.build_cudnn(tmp_path / "old", "8.9.7")
    (old / "libcudnn.so.8").rename(folder / "libcudnn.so.8.9.7")
    link(tmp_path, "/usr/lib/x86_64-linux-gnu/libcudnn.so", "libcudnn.so.8.9.7")
    standin.write_header(on(tmp_path, "/usr/include"), "8.9.7")
    write(tmp_path, "/var/lib/dpkg/info/libcudnn9-cuda-12.list", "/.\n/usr/lib/x86_64-linux-gnu/libcudnn.so.9\n")
    write(
        tmp_path,
        "/var/lib/dpkg/status",
        "Package: a\nVersion: 1\n\nPackage: libcudnn9-cuda-12\nStatus: install ok\nVersion: 9.1.0.70-1\n\n",
    )
    copy = next(c for c in look(tmp_path) if c.major == 9)
    assert (copy.version, copy.missing) == ("9.1.0", ())
    assert file(copy, "libcudnn_ops.so.9.1.0").state == "good"  # the name that cuDNN asks for first
    assert copy.owner == "libcudnn9-cuda-12 9.1.0.70-1"
    assert [(x.name, x.version) for x in copy.links] == [("libcudnn.so", "8.9.7")]
    assert (copy.header_version, copy.header) == ("8.9.7", "/usr/include/cudnn_version.h")


def test_a_link_to_another_major(tmp_path: Path) -> None:
    folder = on(tmp_path, "/usr/local/lib")
    standin.build_cudnn(folder, "9.1.0")
    (folder / "libcudnn.so.8").symlink_to("libcudnn.so.9")
    copy = next(c for c in look(tmp_path) if c.major == 8)
    (wrong,) = copy.files
    assert (wrong.name, wrong.soname, wrong.real_path) == (
        "libcudnn.so.8",
        "libcudnn.so.9",
        "/usr/local/lib/libcudnn.so.9",
    )
    assert wrong.version == "9.1.0"


def test_a_conda_package(tmp_path: Path) -> None:
    prefix = "/home/ada/miniconda3/envs/ml"
    standin.build_cudnn(on(tmp_path, f"{prefix}/lib"), "8.9.7", 11)
    write(tmp_path, f"{prefix}/conda-meta/cudnn-8.9.7.29-h092f7fd_3.json", "{}")
    python = PythonEnvironment(prefix=prefix, kind="conda", site_packages=())
    (copy,) = probe.look(request(tmp_path, pythons=(python,)))
    assert (copy.origin, copy.owner, copy.environment) == ("conda", "cudnn 8.9.7.29", prefix)
    assert copy.cuda_major == 11


def test_two_wheels_that_claim_one_folder(venv: Path) -> None:
    info = on(venv, f"{SITE}/nvidia_cudnn_cu11-9.1.0.70.dist-info")
    info.mkdir()
    rows = "".join(f"nvidia/cudnn/lib/{standin.file_name(r, 9)},sha256=x,7\n" for r in ("", *standin.parts("9.1.0")))
    (info / "RECORD").write_text(rows)
    assert one(venv).owner == "nvidia-cudnn-cu12 9.1.0.70"


def test_a_hostile_machine(tmp_path: Path) -> None:
    """Names that are taken by folders, devices and nonsense give facts, whatever they are."""
    folder = on(tmp_path, "/usr/local/lib")
    folder.mkdir(parents=True)
    (folder / "libcudnn.so.9").mkdir()
    (folder / "libcudnn_ops.so.9").write_bytes(b"\x7fELF" + bytes(range(256)) * 40)
    (folder / "libcudnn_graph.so.9").write_bytes(b"MZ" + b"\xff" * 4096)
    (folder / "libcudnn_cnn.so.9").symlink_to("/dev/zero")
    (folder / os.fsdecode(b"libcudnn_\xff.so.9")).write_bytes(b"x")
    os.mkfifo(folder / "libcudnn_adv.so.9")
    copy = one(tmp_path, LD_LIBRARY_PATH="/usr/local/lib:" + ":".join(f"/none/{n}" for n in range(3000)))
    assert {f.name: f.state for f in copy.files} == {
        "libcudnn.so.9": "not a library",
        "libcudnn_adv.so.9": "not a library",
        "libcudnn_cnn.so.9": "not a library",
        "libcudnn_graph.so.9": "truncated",
        "libcudnn_ops.so.9": "damaged",
    }
    assert copy.version is None


def test_no_cudnn_at_all(tmp_path: Path) -> None:
    assert look(tmp_path) == ()


def test_a_look_for_zeroed_code_that_came_to_its_end_is_kept_and_another_is_not(
    venv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.loader.earlier_reads.SETTLED_NANOSECONDS", -(1 << 62))
    path = on(venv, f"{WHEEL}/libcudnn_adv.so.9")
    looks = []
    real = contents._zeroed_page
    monkeypatch.setattr(contents, "_zeroed_page", lambda *given: looks.append(given[0]) or real(*given))

    def look(store: EarlierReads, until: float = float("inf")) -> str:
        with using(store):
            return contents.find_zeroed_page(str(path), until=until)

    cut_short = EarlierReads()
    assert look(cut_short, until=0.0) == ""
    assert look(EarlierReads(cut_short.to_bytes())) == ""
    whole = EarlierReads()
    assert look(whole) == ""
    assert len(looks) == 3
    later = EarlierReads(whole.to_bytes())
    assert look(later) == ""
    assert len(looks) == 3
    data = bytearray(path.read_bytes())
    page = (data.find(b"\x90" * 4096) + 4095) // 4096 * 4096
    data[page : page + 4096] = bytes(4096)
    path.write_bytes(data)
    assert f"at byte {page}" in look(later)
    assert f"at byte {page}" in look(EarlierReads(later.to_bytes()))
