"""Placing cuDNN: complete sets in every layout are recognised, everything else is refused, and hostile archives harm nothing."""

from __future__ import annotations

import io
import lzma
import os
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.common.progress import CancelledError, Progress
from core.fixes import archives, cudnn_set
from core.fixes.archives import ArchiveError, _ExtractionBudget, _Limited
from core.fixes.cudnn_set import CudnnSet, SetRequirement
from core.host import scratch
from core.host.safe_folder import CHUNK_BYTES
from core.model.changes import ChangeError
from core.model.facts import CudnnCopy
from core.transaction.execute import Plan, execute, undo
from core.transaction.journal import Journal
from tests import standin
from tests.fixing.conftest import tree
from tests.transaction.memory_store import MemoryWriter

LINUX = SetRequirement(system="linux", architecture="x86_64")


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, int], Path]:
    """Folders with a complete stand-in set each, by version and CUDA major."""

    def made(version: str, cuda: int = 12) -> Path:
        folder = tmp_path_factory.getbasetemp() / f"standin-{version}-{cuda}"
        if not folder.exists():
            folder.mkdir()
            standin.build_cudnn(folder, version, cuda=cuda)
        return folder

    return made


def recognise(source: Path, journal: Journal, wanted: SetRequirement = LINUX) -> CudnnSet:
    return cudnn_set.read_set(str(source), wanted, journal=journal, watch=Progress())


def tar_xz(target: Path, folder: Path, top: str = "cudnn-linux-x86_64-9.1.0.70_cuda12-archive") -> Path:
    """NVIDIA's tar.xz: lib/ with full names and links, include/ and LICENSE."""
    with tarfile.open(target, "w:xz", preset=0) as archive:
        for file in sorted(folder.iterdir()):
            full = file.name.replace(".so.9", ".so.9.1.0")
            archive.add(file, f"{top}/lib/{full}")
            for link, to in ((file.name, full), (file.name.removesuffix(".9"), file.name)):
                info = tarfile.TarInfo(f"{top}/lib/{link}")
                info.type, info.linkname = tarfile.SYMTYPE, to
                archive.addfile(info)
        add(archive, f"{top}/include/cudnn.h", b"// header")
        add(archive, f"{top}/LICENSE", b"licence")
    return target


def add(archive: tarfile.TarFile, name: str, data: bytes, **fields: object) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for field, value in fields.items():
        setattr(info, field, value)
    archive.addfile(info, io.BytesIO(data))


def zipped(target: Path, files: Iterable[tuple[str, bytes]]) -> Path:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return target


def wheel(target: Path, folder: Path, spoil: bool = False) -> Path:
    """A wheel as the installer of packages gets it, RECORD included."""
    site = target.parent / "site"
    lib = site / "nvidia/cudnn/lib"
    shutil.copytree(folder, lib)
    standin.record_wheel(site, "nvidia-cudnn-cu12", "9.1.0.70", sorted(lib.iterdir()))
    files = [(str(p.relative_to(site)), p.read_bytes()) for p in sorted(site.rglob("*")) if p.is_file()]
    if spoil:
        files = [(n, d + b"\0" if n.endswith("libcudnn_cnn.so.9") else d) for n, d in files]
    return zipped(target, files)


# --- what is recognised --------------------------------------------------------------------------------------------


def test_nvidias_tar_is_placed_with_its_links_and_undone(
    libraries: Callable[..., Path], tmp_path: Path, journal: Journal
) -> None:
    found = recognise(tar_xz(tmp_path / "cudnn.tar.xz", libraries("9.1.0")), journal)
    assert (found.title, found.version, found.major, found.cuda_major) == ("cuDNN 9.1.0 for CUDA 12", "9.1.0", 9, 12)
    home = Path(os.path.realpath(tmp_path)) / "home"
    home.mkdir()
    before = tree(home)
    change = cudnn_set.file_set(found, str(home / "cudnn/9.1.0-cuda12/lib"))
    done = execute(Plan(title=found.title, changes=(change,)), writer=MemoryWriter("linux"), journal=journal)
    assert done.kind == "done", done
    placed = home / "cudnn/9.1.0-cuda12/lib"
    assert (placed / "libcudnn.so.9").resolve().name == "libcudnn.so.9.1.0"
    assert (placed / "libcudnn_cnn.so").resolve().read_bytes() == (
        libraries("9.1.0") / "libcudnn_cnn.so.9"
    ).read_bytes()
    scratch.drop_all(journal.staging)
    assert undo(done.entry, writer=MemoryWriter("linux"), journal=journal).kind == "undone"
    assert tree(home) == before


@pytest.mark.parametrize("version", ["8.9.7", "9.1.0"])
def test_a_wheel_is_checked_against_its_record(
    libraries: Callable[..., Path], tmp_path: Path, journal: Journal, version: str
) -> None:
    found = recognise(wheel(tmp_path / "x.whl", libraries(version)), journal)
    assert (found.version, found.record) == (version, True)
    assert not any(m.link for m in found.members)


def test_a_file_that_its_record_does_not_list_is_not_vouched_for(
    libraries: Callable[..., Path], tmp_path: Path, journal: Journal
) -> None:
    whole = wheel(tmp_path / "x.whl", libraries("9.1.0"))
    with zipfile.ZipFile(whole) as archive:
        files = [(name, archive.read(name)) for name in archive.namelist()]
    short = [
        (n, b"".join(r for r in d.splitlines(keepends=True) if b"libcudnn_cnn" not in r) if n.endswith("RECORD") else d)
        for n, d in files
    ]
    found = recognise(zipped(tmp_path / "short.whl", short), journal)
    assert (found.version, found.record) == ("9.1.0", False)


def test_a_folder_is_taken_from_where_it_is(libraries: Callable[..., Path], tmp_path: Path, journal: Journal) -> None:
    shutil.copytree(libraries("9.1.0"), tmp_path / "unpacked/cuda/lib64")
    found = recognise(tmp_path / "unpacked", journal)
    assert found.version == "9.1.0"
    assert all(Path(m.path).parent == tmp_path / "unpacked/cuda/lib64" for m in found.members)
    assert list(journal.staging.rglob("*.so*")) == []


def test_a_faulty_copy_is_made_whole_in_its_own_folder_and_what_is_not_cudnns_stays(
    libraries: Callable[..., Path], tmp_path: Path, journal: Journal
) -> None:
    shutil.copytree(libraries("9.1.0"), folder := tmp_path / "copy")
    whole = recognise(libraries("9.1.0"), journal)
    faulty = CudnnCopy(folder=str(folder), major=9, origin="folder")
    assert cudnn_set.repair_in_place(whole, faulty) is None
    older = replace(whole.members[0], name="lib/libcudnn_ops_infer.so.8")
    assert cudnn_set.repair_in_place(replace(whole, members=(*whole.members, older)), faulty) is None
    (folder / "libcudnn_cnn.so.9").write_bytes(b"cut")
    (folder / "libcudnn_ops.so.9").unlink()
    for name in ("README", "libcublas.so.12", "libcudnn.so.8", "libcudnn_old.so.9", "libcudnn_cnn_infer.so.8"):
        (folder / name).write_bytes(b"theirs")
    change = cudnn_set.repair_in_place(whole, faulty)
    assert change is not None
    told = {Path(i.path).name: (i.before, bool(i.after), bool(i.source)) for i in change.items}
    assert told == {
        "libcudnn_cnn.so.9": ("?", True, True),
        "libcudnn_ops.so.9": ("", True, True),
        "libcudnn_old.so.9": ("?", False, False),
    }


@pytest.mark.parametrize(
    ("target", "taken"),
    [
        ("libcudnn.so.9.1.0", "libcudnn.so.9.1.0"),
        (".", None),  # a folder
        ("..", None),
        ("../libcudnn.so.9.1.0", "refused"),
        ("{folder}/libcudnn.so.9.1.0", "refused"),
        ("a\\b", "refused"),
    ],
)
def test_a_link_in_a_folder_leads_to_a_file_of_that_folder(
    libraries: Callable[..., Path], tmp_path: Path, journal: Journal, target: str, taken: str | None
) -> None:
    shutil.copytree(libraries("9.1.0"), folder := tmp_path / "unpacked")
    main = folder / "libcudnn.so.9"
    main.rename(folder / "libcudnn.so.9.1.0")
    main.symlink_to(target.format(folder=folder))
    if taken == "refused":
        with pytest.raises(ArchiveError, match=r"is a link to .*select the folder that contains the real files"):
            recognise(folder, journal)
        return
    assert {m.name: m.link for m in recognise(folder, journal).members}.get("libcudnn.so.9") == taken


def test_the_set_for_the_wanted_cuda_is_chosen_of_several(
    libraries: Callable[..., Path], tmp_path: Path, journal: Journal
) -> None:
    for cuda in (11, 12):
        shutil.copytree(libraries("8.9.7", cuda), tmp_path / f"v8/bin/{cuda}")
    with pytest.raises(ArchiveError, match="contains 2 sets"):
        recognise(tmp_path / "v8", journal)
    found = recognise(tmp_path / "v8", journal, SetRequirement(system="linux", architecture="x86_64", cuda_major=11))
    assert found.cuda_major == 11


# --- what is refused -----------------------------------------------------------------------------------------------


def drop(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def cut(folder: Path) -> None:
    path = folder / "libcudnn_ops.so.9"
    path.write_bytes(path.read_bytes()[:5000])


def empty(folder: Path) -> None:
    (folder / "libcudnn_graph.so.9").write_bytes(b"")


def other_architecture(folder: Path) -> None:
    path = folder / "libcudnn_adv.so.9"
    data = bytearray(path.read_bytes())
    data[18:20] = (183).to_bytes(2, "little")  # EM_AARCH64
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (drop("libcudnn_cnn.so.9"), "not a complete cuDNN: libcudnn_cnn.so.9"),
        (drop("libcudnn.so.9"), "main library"),
        (cut, "libcudnn_ops.so.9"),
        (empty, "libcudnn_graph.so.9"),
        (other_architecture, "is for aarch64; this machine is x86_64"),
    ],
    ids=["without a part", "without the main library", "truncated", "empty", "foreign"],
)
def test_a_spoilt_set_is_refused(
    libraries: Callable[..., Path],
    tmp_path: Path,
    journal: Journal,
    spoil: Callable[[Path], object],
    words: str,
) -> None:
    folder = tmp_path / "set"
    shutil.copytree(libraries("9.1.0"), folder)
    spoil(folder)
    with pytest.raises(ArchiveError) as refusal:
        recognise(folder, journal)
    assert words in str(refusal.value)


def test_mixed_releases_are_refused(libraries: Callable[..., Path], tmp_path: Path, journal: Journal) -> None:
    shutil.copytree(libraries("9.1.0"), tmp_path / "set")
    shutil.copy(libraries("9.10.2") / "libcudnn_cnn.so.9", tmp_path / "set")
    with pytest.raises(ArchiveError, match=r"mixes files of cuDNN 9\.1\.0 and 9\.10\.2"):
        recognise(tmp_path / "set", journal)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (SetRequirement(system="linux", architecture="x86_64", cuda_major=11), "CUDA 11 is needed"),
        (SetRequirement(system="linux", architecture="x86_64", major=8), "cuDNN 8 is needed"),
        (SetRequirement(system="linux", architecture="aarch64"), "this machine is aarch64"),
        (SetRequirement(system="windows", architecture="x86_64"), "no cuDNN library for this system"),
    ],
)
def test_a_set_for_another_machine_is_refused(
    libraries: Callable[..., Path], tmp_path: Path, journal: Journal, wanted: SetRequirement, words: str
) -> None:
    with pytest.raises(ArchiveError, match=words):
        recognise(libraries("9.1.0"), journal, wanted)


def test_a_wheel_whose_file_differs_from_its_record_is_refused(
    libraries: Callable[..., Path], tmp_path: Path, journal: Journal
) -> None:
    with pytest.raises(ArchiveError, match="RECORD"):
        recognise(wheel(tmp_path / "x.whl", libraries("9.1.0"), spoil=True), journal)
    assert list(journal.staging.iterdir()) == []


def test_a_folder_that_is_in_use_is_no_target(libraries: Callable[..., Path], tmp_path: Path, journal: Journal) -> None:
    found = recognise(libraries("9.1.0"), journal)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine").write_text("mine")
    with pytest.raises(ChangeError, match="not empty"):
        cudnn_set.file_set(found, str(tmp_path / "full"))


# --- malice --------------------------------------------------------------------------------------------------------

HOSTILE_NAMES = [
    "/etc/libcudnn.so.9",
    "../libcudnn.so.9",
    "a/../../libcudnn.so.9",
    "C:\\x\\libcudnn.so.9",
    "a\\..\\b",
    "a//b",
    "x\x1b[2K",
]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_names_that_lead_out_are_refused(tmp_path: Path, journal: Journal, name: str, kind: str) -> None:
    target = tmp_path / "evil"
    if kind == "zip":
        zipped(target, [(name, b"x")])
    else:
        with tarfile.open(target, "w") as archive:
            add(archive, name, b"x")
    before = tree(tmp_path / "state") if (tmp_path / "state").exists() else {}
    with pytest.raises(ArchiveError, match="points outside the archive"):
        recognise(target, journal)
    assert {k: v for k, v in tree(tmp_path / "state").items() if k != "staging"} == before


@pytest.mark.parametrize(
    "fields",
    [
        {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"},
        {"type": tarfile.SYMTYPE, "linkname": "../../x"},
        {"type": tarfile.SYMTYPE, "linkname": ".."},
        {"type": tarfile.LNKTYPE, "linkname": "/etc/passwd"},
        {"type": tarfile.FIFOTYPE},
        {"type": tarfile.CHRTYPE},
    ],
)
def test_links_and_devices_in_a_tar_are_refused(tmp_path: Path, journal: Journal, fields: dict[str, object]) -> None:
    with tarfile.open(tmp_path / "evil.tar", "w") as archive:
        add(archive, "lib/libcudnn.so.9", b"", **fields)
    with pytest.raises(ArchiveError, match="nothing is taken from it"):
        recognise(tmp_path / "evil.tar", journal)


def test_a_link_in_a_zip_is_refused(tmp_path: Path, journal: Journal) -> None:
    info = zipfile.ZipInfo("bin/cudnn64_9.dll")
    info.create_system, info.external_attr = 3, 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as archive:
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(ArchiveError, match="link or a device"):
        recognise(tmp_path / "evil.zip", journal)


def test_a_link_to_something_that_is_no_cudnn_is_refused(tmp_path: Path, journal: Journal) -> None:
    with tarfile.open(tmp_path / "evil.tar", "w") as archive:
        add(archive, "lib/libcudnn.so.9", b"", type=tarfile.SYMTYPE, linkname="evil.so")
    with pytest.raises(ArchiveError, match="not a cuDNN library"):
        recognise(tmp_path / "evil.tar", journal)


def test_two_files_of_one_name_are_refused(tmp_path: Path, journal: Journal) -> None:
    with tarfile.open(tmp_path / "evil.tar", "w") as archive:
        add(archive, "lib/libcudnn.so.9", b"good")
        add(archive, "lib/libcudnn.so.9", b"evil")
    with pytest.raises(ArchiveError, match="two files named"):
        recognise(tmp_path / "evil.tar", journal)


@pytest.mark.parametrize("kind", ["zip", "xz", "xz beside"])
def test_a_bomb_is_refused_before_it_fills_the_disk(tmp_path: Path, journal: Journal, kind: str) -> None:
    target, size = tmp_path / "bomb", 80 << 20
    name = "lib/other.bin" if kind == "xz beside" else "lib/libcudnn.so.9"
    if kind == "zip":
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.writestr(name, bytes(size))
    else:
        info = tarfile.TarInfo(name)
        info.size = size
        with lzma.open(target, "wb", preset=0) as out:
            out.write(info.tobuf())
            for _ in range(size >> 20):
                out.write(bytes(1 << 20))
            out.write(bytes(1024))
    assert target.stat().st_size < 1 << 20
    with pytest.raises(ArchiveError, match="implausible"):
        recognise(target, journal)
    assert list(journal.staging.iterdir()) == []


def test_a_header_that_wants_all_memory_is_refused(tmp_path: Path, journal: Journal) -> None:
    info = tarfile.TarInfo("pax")
    info.type, info.size = tarfile.XHDTYPE, 3 << 30
    (tmp_path / "evil.tar").write_bytes(info.tobuf() + bytes(4096))
    with pytest.raises(ArchiveError, match="headers"):
        recognise(tmp_path / "evil.tar", journal)


def test_more_files_than_any_cudnn_has_are_refused(
    tmp_path: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MAX_MEMBERS", 50)
    zipped(tmp_path / "many.zip", [(f"f{i}", b"") for i in range(60)])
    with pytest.raises(ArchiveError, match="more than 50 files"):
        recognise(tmp_path / "many.zip", journal)


@pytest.mark.parametrize(
    "data", [b"", b"PK\x03\x04", b"\xfd7zXZ\0" + bytes(64), b"\x1f\x8b" + bytes(64), b"BZh9x", os.urandom(4096)]
)
def test_what_is_no_archive_is_a_sentence(tmp_path: Path, journal: Journal, data: bytes) -> None:
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(ArchiveError, match=r"\.$"):
        recognise(tmp_path / "file", journal)
    os.mkfifo(tmp_path / "fifo")
    for odd in ("fifo", "not there"):
        with pytest.raises(ArchiveError, match="neither a file nor a folder"):
            recognise(tmp_path / odd, journal)


def test_a_damaged_archive_is_a_sentence_wherever_it_is_cut(
    libraries: Callable[..., Path], tmp_path: Path, journal: Journal
) -> None:
    whole = tar_xz(tmp_path / "good.tar.xz", libraries("9.1.0")).read_bytes()
    packed = zipped(
        tmp_path / "good.zip", [(f"lib/{p.name}", p.read_bytes()) for p in libraries("9.1.0").iterdir()]
    ).read_bytes()
    for data in (whole, packed):
        for tenth in range(1, 10):
            (tmp_path / "cut").write_bytes(data[: len(data) * tenth // 10])
            with pytest.raises(ArchiveError, match=r"\.$"):
                recognise(tmp_path / "cut", journal)


def test_the_person_can_stop_it(libraries: Callable[..., Path], tmp_path: Path, journal: Journal) -> None:
    watch = Progress()
    watch.cancel()
    with pytest.raises(CancelledError):
        cudnn_set.read_set(str(tar_xz(tmp_path / "x.tar.xz", libraries("9.1.0"))), LINUX, journal=journal, watch=watch)
    assert list(journal.staging.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "used"), [("a/b", "a/b"), ("./a/b", "a/b"), (".", "_"), ("./", "_"), ("a/", "a"), ("a/.b", "a/.b")]
)
def test_a_members_name_is_used_without_the_folder_that_is_the_archive(name: str, used: str) -> None:
    assert archives.check_name(name) == used


def test_two_files_of_one_name_in_a_zip_are_refused_and_two_entries_of_a_folder_are_not(
    tmp_path: Path, journal: Journal
) -> None:
    for name, entries, words in (
        ("evil", ("bin/cudnn64_9.dll",) * 2, "two files named"),
        ("odd", ("bin/", "bin/"), ""),
    ):
        with zipfile.ZipFile(tmp_path / f"{name}.zip", "w") as archive:
            archive.writestr(entries[0], b"")
            with pytest.warns(UserWarning, match="Duplicate name"):
                archive.writestr(entries[1], b"")
        with pytest.raises(ArchiveError) as refused:
            recognise(tmp_path / f"{name}.zip", journal)
        assert ("two files named" in str(refused.value)) is bool(words)


def test_an_archive_is_read_ahead_in_pieces_and_never_skipped() -> None:
    class Forward(io.BytesIO):
        def seek(self, offset: int, whence: int = 0) -> int:
            raise AssertionError("it is read, not sought")

    there = 2 * CHUNK_BYTES + 1
    stream = _Limited(Forward(bytes(there + 1)), _ExtractionBudget(there, Path("/nowhere"), Progress()))
    assert (stream.seek(there), stream.tell()) == (there, there)
