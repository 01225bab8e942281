"""Machines whose frameworks lack libraries, or get unfit ones."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from core.model.facts import (
    Attempt,
    Closure,
    Distribution,
    FrameworkBuild,
    Frameworks,
    Gap,
    How,
    Load,
    Opening,
    Snapshot,
)
from tests import machines as m
from tests.rules import (
    test_libraries,
    test_windows,
)
from tests.rules.test_frameworks_verdicts import dist
from tests.rules.test_libraries import BINARY, NCCL, OLD, closure, edge

SITE = m.SITE

OURS = Distribution(
    name="torch", version="2.8.0", location=SITE, requires=("nvidia-cudnn-cu12==9.10.2.21", "nvidia-nccl-cu12==2.27.3")
)
CU128 = FrameworkBuild(prefix=m.PREFIX, distribution="torch", version="2.8.0", cuda="12.8")
RUNTIME = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"


def lacking(*closures: Closure, its: tuple[Distribution, ...] = (OURS,), **fields: Any) -> Snapshot:
    """Return a machine whose environment has these distributions, and binaries with these lacks."""
    known: dict[str, Any] = {
        "pythons": (m.python(distributions=its),),
        "frameworks": Frameworks(builds=(CU128,)),
        "loads": (),
        "cudnn": (),
    }
    return test_libraries.machine(*closures, **(known | fields))


def too_old(framework: str, binary: str) -> Closure:
    """Return binaries that want a newer C++ runtime than the system's."""
    gap = Gap(wanted_by=f"{SITE}/{binary}", name="", version="GLIBCXX_3.4.32", provider=RUNTIME)
    return closure(framework, gaps=(gap,))


def on_windows(*attempts: Attempt, elsewhere: tuple[str, ...] = (), **fields: Any) -> Snapshot:
    """Return a Windows whose torch gets an unfit cuBLAS."""
    path = next((a.path for a in attempts if a.outcome not in ("found", "not there")), "")
    its = edge(name="cublas64_12.dll", state="damaged", path=path, attempts=attempts, elsewhere=elsewhere)
    seen = lacking(closure(edges=(its,)), **fields)
    return replace(seen, machine=m.windows_machine().machine)


def tried(path: str, how: How, outcome: str = "not there") -> Attempt:
    """Return a place that was tried."""
    return Attempt(path=path, how=how, outcome=outcome)


NOT_FOUND = Load(
    consumer=m.PYTHON, major=9, resolutions=(m.search("libcudnn.so.9", m.nothing(f"{m.CUDNN}/libcudnn.so.9")),)
)
CUDNN9 = edge(name="libcudnn.so.9")
SYSTEM32 = r"C:\Windows\System32\cublas64_12.dll"
OLD_BIN = r"C:\old\bin\cublas64_12.dll"
TOOLKIT_BIN = rf"{m.TOOLKIT}\bin\cublas64_12.dll"
NOEXEC = edge(state="not executable", path=NCCL)

LIBRARIES: dict[str, Snapshot] = {
    "cuDNN as its framework requires it": lacking(closure(edges=(CUDNN9,))),
    "cuDNN of another CUDA is required beside it": lacking(
        closure(edges=(CUDNN9,)),
        its=(Distribution(name="paddle", version="2.4", requires=("nvidia-cudnn-cu11==8.9.5.29",)), OURS),
    ),
    "cuDNN of another release alone is required": lacking(
        closure(edges=(CUDNN9,)),
        its=(Distribution(name="torch", version="2.8.0", requires=("nvidia-cudnn-cu12==8.9.2.26",)),),
    ),
    "cuDNN for CUDA 13": lacking(
        closure(edges=(CUDNN9,)),
        its=(Distribution(name="torch", version="2.9.0", requires=("nvidia-cudnn-cu13==9.13.0.50",)),),
        frameworks=Frameworks(builds=(replace(CU128, cuda="13.0"),)),
    ),
    "NCCL for CUDA 13 by a name without a number": lacking(
        closure(edges=(edge(name="libcufft.so.12"),)),
        its=(Distribution(name="torch", version="2.9.0", requires=("nvidia-cufft==12.0.0.61", "nvidia-cufft-cu12")),),
        frameworks=Frameworks(builds=(replace(CU128, cuda="13.0"),)),
    ),
    "cuDNN alone, which its own rules tell": lacking(
        closure("torch 2.6.0", edges=(CUDNN9,)), its=(dist("torch", "2.6.0"),), loads=(NOT_FOUND,), cudnn=()
    ),
    "cuDNN and NCCL, which one card tells": lacking(
        closure("torch 2.6.0", edges=(CUDNN9, edge())), its=(dist("torch", "2.6.0"),), loads=(NOT_FOUND,), cudnn=()
    ),
    "NCCL alone, and cuDNN by its own rules": lacking(
        closure("torchvision 0.21.0", edges=(edge(),)), its=(dist("torch", "2.6.0"),), loads=(NOT_FOUND,), cudnn=()
    ),
    "of another CUDA, with cuDNN of another major": lacking(
        closure("torch 2.6.0", edges=(edge(name="libcublas.so.11"), edge(name="libcudnn.so.8"))),
        its=(dist("torch", "2.6.0"), dist("nvidia-cublas-cu12", "12.8.4.1"), dist("nvidia-cudnn-cu12", "9.1.0.70")),
        loads=(Load(consumer=m.PYTHON, major=8, resolutions=(m.search("libcudnn.so.8", m.nothing("/x/libcudnn.so.8")),)),),
    ),
    "a runtime that is too old for three": lacking(
        too_old("scipy 1.16.0", "scipy/_lib.so"), too_old("torch 2.8.0", "torch/lib/libc10.so"), too_old("numpy 2.2.6", "numpy/_core.so")
    ),
    "a runtime that is too old for one": lacking(too_old("scipy 1.16.0", "scipy/_lib.so")),
    "a runtime that is too old for one, and libraries that lack": lacking(
        too_old("scipy 1.16.0", "scipy/_lib.so"), closure(edges=(edge(),))
    ),
    "a mount without programs, for two with other files": lacking(
        closure("numpy 2.2.6", edges=(replace(NOEXEC, name="libopenblas.so", path=f"{SITE}/numpy.libs/libopenblas.so"),)),
        closure(edges=(NOEXEC,)),
    ),
    "a damaged file by the variable, and nothing sound elsewhere": lacking(
        closure(edges=(edge(state="damaged", path=OLD, attempts=(tried(OLD, How.LD_LIBRARY_PATH, "damaged"), tried(NCCL, How.RUNPATH))),))
    ),
    "a damaged file by the variable, and the sound one by it, too": lacking(
        closure(edges=(edge(state="damaged", path=OLD, attempts=(tried(OLD, How.LD_LIBRARY_PATH, "damaged"), tried("/opt/new/libnccl.so.2", How.LD_LIBRARY_PATH, "found"))),))
    ),
    "a damaged file in its own place": lacking(
        closure(edges=(edge(state="damaged", path=NCCL, attempts=(tried(NCCL, How.RUNPATH, "damaged"), tried("/usr/lib/libnccl.so.2", How.DEFAULT, "found"))),))
    ),
    "Windows, an unfit file on PATH before the sound one": on_windows(
        tried(SYSTEM32, How.SYSTEM), tried(OLD_BIN, How.PATH, "damaged"), tried(TOOLKIT_BIN, How.PATH, "found")
    ),
    "Windows, an unfit file on PATH, and the sound one elsewhere": on_windows(
        tried(SYSTEM32, How.SYSTEM), tried(OLD_BIN, How.PATH, "damaged"), elsewhere=(TOOLKIT_BIN,)
    ),
    "Windows, an unfit file on PATH alone": on_windows(tried(SYSTEM32, How.SYSTEM), tried(OLD_BIN, How.PATH, "damaged")),
    "Windows, an unfit file in System32": on_windows(
        tried(SYSTEM32, How.SYSTEM, "damaged"), tried(TOOLKIT_BIN, How.PATH, "found")
    ),
    "Windows, folders that only the import can name": replace(
        lacking(closure(edges=(edge(name="cublas64_12.dll", elsewhere=(TOOLKIT_BIN,)),))), machine=m.windows_machine().machine
    ),
    "a library that a variable puts before every other": lacking(
        closure(gaps=(Gap(wanted_by=BINARY, name="ncclCommShrink", provider=OLD, how=How.LD_PRELOAD),))
    ),
    "a symbol that an older wheel lacks, and the system's file lacks, too": lacking(
        closure(gaps=(
            Gap(wanted_by=BINARY, name="ncclCommShrink", provider=NCCL, others=("/usr/lib/libnccl.so.2",)),
            Gap(wanted_by=BINARY, name="memfd_create", version="GLIBC_2.27", provider="/lib/x86_64-linux-gnu/libc.so.6"),
        ))
    ),
    "an extension of another torch, in two environments' order": lacking(
        closure("torchvision 0.21.0", gaps=(Gap(wanted_by=f"{SITE}/torchvision/_C.so", name="_ZN5torch3fooEv"),)),
        its=(OURS, dist("torchvision", "0.21.0", "torch==2.6.0")),
    ),
    "two that open and do not": lacking(
        closure(openings=(Opening(library=BINARY, ended="The process was killed by SIGSEGV."),)),
        closure("torchaudio 2.8.0", openings=(Opening(library=f"{SITE}/torchaudio/lib/libtorchaudio.so", problem="undefined symbol: _ZNK5torch8autograd4Node4nameEv"),)),
    ),
    **{
        f"one that opens and does not: {words}": lacking(closure(openings=(Opening(library=BINARY, problem=words),)))
        for words in (
            "libnccl.so.2: failed to map segment from shared object",
            "libnccl.so.2: cannot apply additional memory protection after relocation: Operation not permitted",
            "libcudnn_graph.so.9: cannot open shared object file",
            "libcufft.so.11: cannot open shared object file",
            "libnccl.so.2: invalid ELF header",
            "libm.so.6: version `GLIBC_2.38' not found",
            "libcublas.so.12: undefined symbol: cublasLtGetVersion, version libcublasLt.so.12",
            "undefined symbol: _ZN3c105ErrorC2Ev",
        )
    },
    **{
        f"{name} of the system for an environment without NVIDIA's packages": lacking(
            closure(edges=(edge(name=name),)), its=(dist("torch", "2.8.0"),), cudnn=(m.system_copy(),), toolkits=m.system_machine().toolkits
        )
        for name in ("libcudnn_graph.so.9", "libcublas.so.12", "libcufft.so.11")
    },
    "a damaged one of the system for an environment without NVIDIA's packages": m.with_file(
        lacking(closure(edges=(edge(name="libcudnn_graph.so.9"),)), its=(dist("torch", "2.8.0"),), cudnn=(m.system_copy(),)),
        "graph",
        state="truncated",
    ),
    **{f"row {n}": test_libraries.machine(row[0], damaged=row[1]) for n, row in enumerate(test_libraries.LACKS) if not row[0].openings},
    "CUDA_PATH names an older toolkit": test_windows.misled(test_windows.CUDA + "v12.0"),
    "CUDA_PATH names the right one": test_windows.misled(test_windows.CUDA + "v12.4"),
    **{f"Windows {n}": test_windows.lacking(edge, openings) for n, (edge, openings, _cause, _advice) in enumerate(test_windows.LACKS)},
}  # fmt: skip
