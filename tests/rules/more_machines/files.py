"""Machines with damaged files of cuDNN, halves of cuBLAS, and odd folders."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from core.model.facts import (
    Attempt,
    Changeable,
    CudnnCopy,
    ExaminedProgram,
    How,
    Resolution,
    Snapshot,
)
from tests import machines as m

COPY = m.cudnn()
LOST = "libcudnn_cnn.so.9"
OTHER = "/home/ada/other"
DONOR = m.cudnn(f"{OTHER}/lib/python3.11/site-packages/nvidia/cudnn/lib", environment=OTHER)
OPEN_TO_ALL = Changeable(path=OTHER, mode="0777", writers=("everyone",))


def spoilt(*donors: CudnnCopy, found_by: str = "pyenv", **machine: Any) -> Snapshot:
    """Return a machine on which a file of cuDNN is damaged, and other copies are whole."""
    files = tuple(
        replace(f, state="truncated", problem="The file is cut short.") if f.name == LOST else f for f in COPY.files
    )
    copy = replace(COPY, files=files, origin="folder", owner="")
    theirs = m.python(prefix=OTHER, executable=f"{OTHER}/bin/python", found_by=found_by)
    seen = replace(m.wheel_machine(), cudnn=(copy, *donors), pythons=(m.python(), theirs))
    return replace(seen, machine=replace(seen.machine, **machine))


def with_file(**facts: Any) -> Snapshot:
    """Return the machine of wheels with one file of cuDNN otherwise."""
    seen = m.wheel_machine()
    files = tuple(replace(f, **facts) if f.name == LOST else f for f in COPY.files)
    return replace(seen, cudnn=(replace(COPY, files=files),))


FILES: dict[str, Snapshot] = {
    "a damaged file, and a whole copy elsewhere": spoilt(DONOR),
    "a damaged file, and a copy that anybody can change": spoilt(replace(DONOR, changeable=OPEN_TO_ALL)),
    "a damaged file, and one that is taken anyway": spoilt(replace(DONOR, changeable=OPEN_TO_ALL), found_by="--python"),
    "a damaged file, and one that is taken anyway, for an administrator": spoilt(
        replace(DONOR, changeable=OPEN_TO_ALL), found_by="--python", elevated=True
    ),
    "a damaged file, and a copy on LD_LIBRARY_PATH": spoilt(
        replace(DONOR, changeable=OPEN_TO_ALL, source="LD_LIBRARY_PATH")
    ),
    "a page of a web site in a file's place": with_file(
        state="not a library", problem="It is text.", record="size differs"
    ),
    "a pipe in a file's place": with_file(state="not a library", size=0, problem="It is no regular file."),
}


def with_searches(*searches: Resolution, **fields: Any) -> Snapshot:
    """Return the machine of wheels on which CUDA's libraries are searched for like this."""
    made = m.load(COPY, m.PYTHON)
    kept = tuple(r for r in made.resolutions if "cublas" not in r.name)
    return replace(m.wheel_machine(), loads=(replace(made, resolutions=(*kept, *searches)),), **fields)


HALF = "/opt/cuda/lib64/libcublas.so.12"
HALVES = m.toolkit("/opt/cuda/lib64", {"libcublas.so.12": "12.9.1.4"}, root="/opt/cuda", origin="folder")
BY_LINK = replace(HALVES, libraries=tuple(replace(f, real_path=f"{HALF}.9.1.4") for f in HALVES.libraries))
WHOLE_LT = m.search("libcublasLt.so.12", m.found(f"{m.CUBLAS}/libcublasLt.so.12"))
ODD = "/home/ada/ml;new"


def in_odd_folder(framework: str) -> Snapshot:
    """Return a machine whose environment's folder has a sign in its name that separates paths."""
    folder = f"{ODD}/lib/python3.11/site-packages/nvidia/cudnn/lib"
    copy = replace(COPY, folder=folder, environment=ODD)
    who = replace(m.PYTHON, id=f"python:{ODD}", prefix=ODD, framework=framework)
    home = m.python(prefix=ODD, executable=f"{ODD}/bin/python")
    return replace(m.wheel_machine(), cudnn=(copy,), pythons=(home,), loads=(m.load(copy, who),))


FILES |= {
    "cuBLAS is nowhere, and nothing says who asked": with_searches(
        m.search("libcublas.so.12", m.nothing("/usr/lib/libcublas.so.12")), toolkits=()
    ),
    "one half of cuBLAS by the name of the file itself": with_searches(
        m.search("libcublas.so.12", m.found(f"{HALF}.9.1.4", How.LD_LIBRARY_PATH)), WHOLE_LT,
        toolkits=(*m.wheels(), BY_LINK),
    ),
    "one half of cuBLAS by its link": with_searches(
        m.search("libcublas.so.12", m.found(HALF, How.LD_LIBRARY_PATH)), WHOLE_LT, toolkits=(*m.wheels(), BY_LINK)
    ),
    "one half of cuBLAS alone": with_searches(
        m.search("libcublas.so.12", m.found(HALF, How.LD_LIBRARY_PATH)), toolkits=(*m.wheels(), BY_LINK)
    ),
    "a sign in the path, for PyTorch": in_odd_folder("torch 2.6.0"),
    "a sign in the path, for TensorFlow": in_odd_folder("tensorflow 2.20.0"),
}  # fmt: skip


def program(system: str, how: How, *, sound: bool, via: str = "") -> Snapshot:
    """Return a machine with a program whose library is found first by ``how``, unfit, and sound elsewhere or not."""
    windows = system == "windows"
    name, unfit, other = (
        ("cufft64_11.dll", r"C:\old", r"C:\new") if windows else ("libcufft.so.11", "/opt/old", "/opt/new")
    )
    first = Attempt(path=m.join(system, unfit, name), how=how, outcome="wrong architecture", via=via)
    rest = (Attempt(path=m.join(system, other, name), how=how, outcome="found"),) if sound else ()
    path = r"C:\app\serve.exe" if windows else "/opt/app/serve"
    its = ExaminedProgram(
        named="serve",
        path=path,
        linked=(name,),
        resolutions=(m.search(name, replace(first, stops=True), *rest, by=path),),
    )
    return replace(m.windows_machine() if windows else m.wheel_machine(), programs=(its,))


FILES |= {
    f"a program gets an unfit library on {system} by {how.value}, and {'a sound one is there' if sound else 'no other'}": program(
        system, how, sound=sound
    )
    for system, how in (
        ("linux", How.LD_LIBRARY_PATH), ("linux", How.RUNPATH), ("linux", How.PATH), ("windows", How.PATH), ("windows", How.SYSTEM)
    )
    for sound in (True, False)
}  # fmt: skip
