"""Libraries as files: the toolkit and cudnn sections."""

from __future__ import annotations

from typing import Literal

from core.model.facts.base import Frozen
from core.model.facts.machine import Changeable

FileState = Literal["good", "missing", "dangling", "empty", "truncated", "damaged", "unreadable", "not a library"]
Signature = Literal["", "valid", "intact", "altered", "not signed", "not trusted", "undecided"]
"""The state of a file's signature. "valid": Windows knows its signer; "intact": only the signed hash was compared."""
RecordState = Literal["matches", "size differs", "hash differs", "not listed", "unchecked"]
Origin = Literal["wheel", "conda", "distribution", "installer", "folder", "framework", "system", "driver"]


def cuda_in_name(number: int) -> int:
    """Return CUDA's major from the number in a Windows library's name: 12; 112 for 11.2, 80 for 8.0."""
    return number if number < 50 else number // 10


class LibraryFile(Frozen, frozen=True, kw_only=True):
    """One shared library on disk, as far as its headers tell."""

    path: str
    name: str
    """File name."""
    real_path: str = ""
    """Where the links lead; empty when it is no link."""
    state: FileState = "good"
    problem: str = ""
    size: int | None = None
    architecture: str = ""
    """x86_64, aarch64, x86, ...; empty when the headers did not tell."""
    version: str | None = None
    """True version: from exported version data, a call, or a versioned real file name; never from a header or a PE resource that is known to be wrong."""
    version_source: str = ""
    cuda_major: int | None = None
    needed: tuple[str, ...] = ()
    """Names that the loader must find: DT_NEEDED, PE imports and delay imports."""
    mentions: tuple[str, ...] = ()
    """Library names in its data that it may open by itself at run time."""
    runpath: tuple[str, ...] = ()
    rpath: tuple[str, ...] = ()
    soname: str = ""
    sass: tuple[int, ...] | None = None
    """GPU machine code inside, as 10 x major + minor (86 for compute capability 8.6); None = not examined."""
    ptx: tuple[int, ...] | None = None
    bound: tuple[str, ...] = ()
    """Of sass and ptx, what is there with a suffix only: sm_100a (for this capability alone), compute_120f (for 12.x alone)."""
    record: RecordState = "unchecked"
    """Verdict of the wheel's RECORD about this file."""
    sha256: str = ""
    """Only with --thorough."""
    signature: Signature = ""
    """Only with --thorough, for a Windows library that no RECORD knows. Many of NVIDIA's own are not signed."""


class Toolkit(Frozen, frozen=True, kw_only=True):
    """One CUDA toolkit or set of CUDA runtime libraries."""

    root: str
    origin: Origin
    version: str | None = None
    """Major.minor[.patch]."""
    version_source: str = ""
    folder: str = ""
    """The folder that holds the runtime libraries."""
    owner: str = ""
    """Wheel, conda or distribution package that owns it, and which environment."""
    nvcc: str = ""
    nvcc_version: str | None = None
    libraries: tuple[LibraryFile, ...] = ()
    named_by: tuple[str, ...] = ()
    """Variables or links that lead here: CUDA_PATH, CUDA_HOME, /usr/local/cuda."""
    source: str = ""


class CudnnCopy(Frozen, frozen=True, kw_only=True):
    """One cuDNN on disk: all its files of one major version in one folder."""

    folder: str
    origin: Origin
    major: int
    version: str | None = None
    """True version of the set: that of its graph (9), ops_infer (8) or only (7) library."""
    version_source: str = ""
    owner: str = ""
    """Wheel, conda or distribution package, framework or program that it belongs to, with its version."""
    environment: str = ""
    """Prefix of the Python environment that it is in; empty for none."""
    cuda_major: int | None = None
    cuda_major_source: str = ""
    files: tuple[LibraryFile, ...] = ()
    missing: tuple[str, ...] = ()
    """Files that its own binaries (or its RECORD) name and that are not in the folder."""
    missing_source: str = ""
    sass: tuple[int, ...] | None = None
    """GPU machine code that every GPU-carrying library of the set has."""
    ptx: tuple[int, ...] | None = None
    bound: tuple[str, ...] = ()
    """Of sass and ptx, what is there with a suffix only: sm_100a (for this capability alone), compute_120f (for 12.x alone)."""
    header_version: str | None = None
    """The version in cudnn_version.h beside it, against which a compiler would build."""
    header: str = ""
    links: tuple[LibraryFile, ...] = ()
    """Import libraries and unversioned links (libcudnn.so, cudnn.lib) beside it."""
    cached_elsewhere: str = ""
    """Path that ld.so.cache lists for this name although the file there is missing or different; empty if in order."""
    source: str = ""
    """How it was found."""
    changeable: Changeable | None = None
    """What other accounts can change: its folder, or a file; None: nothing, or not examined."""
