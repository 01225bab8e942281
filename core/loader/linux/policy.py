"""The policy of glibc's loader as data: its variable, cache, default folders and processor sub-folders."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import compress, product

import msgspec

from core.loader.files import path_under_root
from core.loader.linux.cache import CacheEntry, read_cache


class LdSo(msgspec.Struct, frozen=True):
    """The policy of glibc's loader for one kind of program. ``ld_so_policy()`` makes the usual one."""

    library_path: str = ""
    """LD_LIBRARY_PATH as set; empty means not set."""
    root: str = "/"
    architecture: str = "x86_64"
    cache: tuple[CacheEntry, ...] = ()
    folders: tuple[str, ...] = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")
    """The default folders that are built into this distribution's loader."""
    subfolders: tuple[str, ...] = ()
    """Sub-folders tried before each folder itself: glibc-hwcaps/x86-64-v3, ... See ``hwcaps_folders()``."""
    lib: str = "lib64"
    """The value of $LIB."""
    platform: str = "x86_64"
    """The value of $PLATFORM."""
    current: str = "/"
    """The program's current folder: the meaning of an empty or relative entry."""


def platform_of(flags: Iterable[str], *, architecture: str, vendor: str) -> str:
    """Return glibc's name for this processor ($PLATFORM): Intel's have names of their own.

    Source: glibc, sysdeps/x86/cpu-features.c, the end of init_cpu_features.
    """
    have = set(flags)
    if architecture == "x86_64" and vendor == "GenuineIntel":
        if have >= {"avx512cd", "avx512er", "avx512pf"}:
            return "xeon_phi"
        if have >= {"avx2", "fma", "bmi1", "bmi2", "abm", "movbe", "popcnt"}:
            return "haswell"
    return architecture


def hwcaps_folders(flags: Iterable[str], *, architecture: str, vendor: str, legacy: bool) -> tuple[str, ...]:
    """Return the sub-folders for a processor with these /proc/cpuinfo flags, best first.

    ``legacy``: also those of glibc before 2.37 (tls, the processor's name, avx512_1, x86_64, and each of their
    combinations). Levels are those of the x86-64 psABI.
    """
    have = set(flags)
    levels: list[str] = []
    if architecture == "x86_64":
        for level, wanted in X86_64_LEVELS:
            if not wanted <= have:
                break
            levels.insert(0, f"glibc-hwcaps/{level}")
    if not legacy:
        return tuple(levels)
    wide = vendor == "GenuineIntel" and have >= AVX512_1 and "avx512er" not in have
    names = ("tls", platform_of(have, architecture=architecture, vendor=vendor), "avx512_1" * wide, architecture)
    chosen = ("/".join(filter(None, compress(names, mask))) for mask in product((1, 0), repeat=len(names)))
    return (*levels, *(folder for folder in dict.fromkeys(chosen) if folder))


X86_64_LEVELS = (
    ("x86-64-v2", frozenset({"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"})),
    ("x86-64-v3", frozenset({"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"})),
    ("x86-64-v4", frozenset({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})),
)
"""Level and the flags that it adds, in the names of /proc/cpuinfo."""
AVX512_1 = frozenset({"avx512cd", "avx512bw", "avx512dq", "avx512vl"})

MULTIARCH_FOLDERS = {"x86_64": "x86_64-linux-gnu", "aarch64": "aarch64-linux-gnu", "x86": "i386-linux-gnu"}


def ld_so_policy(
    library_path: str = "",
    *,
    root: str = "/",
    architecture: str = "x86_64",
    current: str = "/",
    flags: Iterable[str] = (),
    vendor: str = "",
    legacy: bool = False,
) -> LdSo:
    """Return the policy of the system under ``root``: its cache, its default folders (Debian's or lib64) and $LIB.

    ``flags`` and ``vendor`` are those of /proc/cpuinfo.
    """
    triplet = MULTIARCH_FOLDERS.get(architecture, "")
    if triplet and os.path.isdir(path_under_root(root, f"/lib/{triplet}")):  # noqa: PTH112 - one look, plain text paths
        lib = f"lib/{triplet}"
        folders: tuple[str, ...] = (f"/lib/{triplet}", f"/usr/lib/{triplet}", "/lib", "/usr/lib")
    else:
        lib = "lib" if architecture in ("x86", "arm") else "lib64"
        folders = (f"/{lib}", f"/usr/{lib}", *(() if lib == "lib" else ("/lib", "/usr/lib")))
    return LdSo(
        library_path=library_path,
        root=root,
        architecture=architecture,
        cache=read_cache(root=root) or (),
        folders=folders,
        subfolders=hwcaps_folders(flags, architecture=architecture, vendor=vendor, legacy=legacy),
        lib=lib,
        platform=platform_of(flags, architecture=architecture, vendor=vendor),
        current=current,
    )
