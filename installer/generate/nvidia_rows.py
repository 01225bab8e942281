"""What NVIDIA's own wheels say: a cuDNN's machine code, the compilers that nvcc takes, and the libraries of one CUDA."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from core.common.versions import version_tuple
from installer.generate.rows import Row, minor, newest_of, of_package, wheel

CUDNN = ("nvidia-cudnn-cu11", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13")
NVCC = ("nvidia-cuda-nvcc-cu11", "nvidia-cuda-nvcc-cu12", "nvidia-cuda-crt")
"""Which packages have crt/host_config.h: those of CUDA 11, 12, and of CUDA 13 on."""
NVRTC = ("nvidia-cuda-nvrtc-cu11", "nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc")
"""What tells the GPUs of a CUDA, when it is called: its rows in ``toolkits`` and gpus.json are made so."""
TOOLKIT = "cuda-toolkit"
PROCESSORS = {"linux": ("linux", "x86_64"), "linux-aarch64": ("linux", "aarch64"), "windows": ("windows", "x86_64")}
PINNED = re.compile(r"nvidia-([a-z-]+)-cu1\d(?:==|<\d+,>=)([\d.]+?)(?:\.\*)?$")
TOLD = (
    *("cublas", "cuda-cupti", "cuda-nvcc", "cuda-nvrtc", "cuda-runtime", "cufft", "cufile", "curand", "cusolver"),
    *("cusparse", "npp", "nvfatbin", "nvjitlink", "nvjpeg", "nvtx"),
)
"""Packages that the table names."""


def cudnn_code_rows(wheels: Sequence[Row]) -> Iterator[Row]:
    """Yield for which processors each cuDNN has machine code: what all its libraries that were read have in common."""
    for package in CUDNN:
        for system, (its_system, processor) in PROCESSORS.items():
            for row in of_package(wheels, package, system):
                libraries = {name: set(code["sass"]) for name, code in row.get("code", {}).items() if code["sass"]}
                if libraries:
                    read = ", ".join(sorted(name.rpartition("/")[2] for name in libraries))
                    yield {
                        "version": row["version"],
                        "cuda_major": int(package[-2:]),
                        "system": its_system,
                        **({"processor": processor} if processor != "x86_64" else {}),
                        "sass": sorted(set.intersection(*libraries.values())),
                        "source": f"machine code read in {read} of {wheel(row)}",
                        "verified": True,
                    }


def merged_code(old: Sequence[Row], read: Sequence[Row]) -> tuple[list[Row], list[str]]:
    """Return the rows of all cuDNNs, and what a wheel contradicts.

    A row that was read from all libraries of a wheel stays: the part that is read again can only have more in common.
    """
    rows, against = list(old), []
    keys = ("version", "cuda_major", "system", "processor")
    for new in read:
        same = next((r for r in rows if [r.get(k) for k in keys] == [new.get(k) for k in keys]), None)
        if same is None:
            rows.append(new)
        elif same["source"].startswith("machine code read in lib") or same["source"].startswith(
            "machine code read in cudnn"
        ):
            rows[rows.index(same)] = new
        elif not set(same["sass"]) <= set(new["sass"]):
            against.append(f"! cudnn: {same} but {new['source']} has {new['sass']}")
    return rows, against


def host_compiler_rows(wheels: Sequence[Row]) -> list[Row]:
    """Return the newest host compilers that each nvcc takes, the oldest CUDA first."""
    rows = [
        {
            "cuda": minor(row["version"]),
            "gcc": int(row["gcc"][0]),
            "clang": int(row["clang"][0]) - 1,
            "source": f"crt/host_config.h in {package}=={row['version']}",
            "verified": True,
        }
        for package in NVCC
        for row in newest_of(wheels, package)
        if row.get("gcc") and row.get("clang")
    ]
    return sorted(rows, key=lambda r: version_tuple(r["cuda"]))


def untold_toolkits(toolkits: Sequence[Row], wheels: Sequence[Row]) -> list[str]:
    """Return a line for each release of CUDA whose GPUs nobody has asked for."""
    told = {row["cuda"] for row in toolkits}
    return [
        f"! toolkits: no row for CUDA {minor(row['version'])}: call nvrtcGetSupportedArchs() of {wheel(row)}"
        for package in NVRTC
        for row in newest_of(wheels, package)
        if minor(row["version"]) not in told
    ]


def cuda_release_rows(wheels: Sequence[Row]) -> list[Row]:
    """Return the releases of NVIDIA's wheels that belong to one CUDA, the oldest first; CUDA 13's have other names."""
    rows = []
    for row in reversed(newest_of(wheels, TOOLKIT, "any")):
        pinned = {m[1]: m[2] for asked in row["requires"] if (m := PINNED.match(asked)) and m[1] in TOLD}
        if pinned:
            packages = dict(sorted(pinned.items()))
            rows.append({"cuda": minor(row["version"]), "packages": packages, "source": wheel(row)})
    return rows
