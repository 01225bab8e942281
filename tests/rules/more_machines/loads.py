"""Machines whose programs load cuDNN from elsewhere, without what it asks for, or from an odd folder."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from core.model.facts import Attempt, CudnnCopy, How, RollCall, Snapshot
from tests import machines as m
from tests.explain.cases import cudnn8

COPY = m.cudnn()
MAIN = f"{m.CUDNN}/libcudnn.so.9"
ROLL = m.answers(COPY)
ZLIB = m.found(r"C:\cudnn\bin\zlibwapi.dll", How.PATH)
LATE = "Could not load library cudnn_cnn_infer64_8.dll. Please make sure that zlibwapi.dll is in your library path!"


def without_nvrtc(roll: RollCall | None) -> Snapshot:
    """Return a machine on which any program lacks NVRTC, and an environment's load came to this."""
    other = m.system_copy()
    its = m.load(other, m.PLAIN, how=How.LD_CACHE)
    gone = tuple(
        m.search(r.name, m.nothing("/usr/lib/libnvrtc.so.12"), by=r.wanted_by) if r.name == "libnvrtc.so.12" else r
        for r in its.resolutions
    )
    loads = (m.load(COPY, m.PYTHON, roll_call=roll), replace(its, resolutions=gone))
    return replace(m.wheel_machine(), toolkits=m.wheels()[:1], cudnn=(COPY, other), loads=loads)


def by_variable(folder: str, *copies: CudnnCopy, **fields: Any) -> Snapshot:
    """Return a machine on which LD_LIBRARY_PATH leads to the folder that cuDNN is taken from."""
    copy = next(c for c in copies if c.folder == folder)
    via = f"LD_LIBRARY_PATH: {folder}"
    made = m.load(copy, m.PYTHON, how=How.LD_LIBRARY_PATH, **fields)
    searches = tuple(
        replace(r, attempts=tuple(replace(a, how=How.LD_LIBRARY_PATH, via=via) for a in r.attempts))
        if "cudnn" in r.name
        else r
        for r in made.resolutions
    )
    seen = replace(m.wheel_machine(), cudnn=copies, loads=(replace(made, resolutions=searches),))
    return m.with_variable(seen, "LD_LIBRARY_PATH", folder)


def too_old(*before: Attempt, **python: Any) -> Snapshot:
    """Return a machine whose program takes an older cuDNN of the system than it was built with."""
    other = m.system_copy("9.0.0")
    made = m.load(other, m.PYTHON, how=How.LD_CACHE, wanted_version="9.1.0.70", wanted_source="torch 2.6.0")
    seen = replace(m.wheel_machine(), cudnn=(other,), pythons=(m.python(**python),), loads=(made,))
    return m.with_search(seen, "libcudnn.so.9", *before, m.found(f"{m.SYSTEM}/libcudnn.so.9", How.LD_CACHE))


def zlib(version: str, *attempts: Attempt, known: bool = True) -> Snapshot:
    """Return a Windows with a cuDNN 8 whose search for zlibwapi.dll ends so."""
    seen = m.with_search(cudnn8(version), "zlibwapi.dll", *attempts)
    load = (seen.loads or ())[0]
    assert load.roll_call is not None
    return m.with_load(seen, roll_call=replace(load.roll_call, version=version if known else None))


def unsearched(version: str) -> Snapshot:
    """Return a Windows with a cuDNN 8, where nobody looked for zlibwapi.dll."""
    seen = cudnn8(version)
    load = (seen.loads or ())[0]
    return m.with_load(seen, resolutions=tuple(r for r in load.resolutions if r.name != "zlibwapi.dll"))


def misleading(version: str, *, told: bool = True, there: bool = True) -> Snapshot:
    """Return a Windows whose cuDNN 8 names zlibwapi.dll; its release is told by its answer, its files, or neither."""
    seen = unsearched(version)
    load = (seen.loads or ())[0]
    assert load.roll_call is not None
    roll = replace(load.roll_call, output=LATE, version=version if told else None)
    seen = m.with_load(seen, roll_call=roll)
    return seen if there else replace(seen, cudnn=())


def odd(environment: str, folder: str, **machine: Any) -> Snapshot:
    """Return a machine with a copy of cuDNN in a folder whose name has brackets."""
    copy = m.cudnn(folder, environment=environment, origin="wheel" if environment else "folder", owner="")
    who = replace(m.PYTHON, id=f"python:{environment}", prefix=environment) if environment else m.PLAIN
    home = m.python(prefix=environment, executable=f"{environment}/bin/python")
    pythons = (home,) if environment else ()
    return replace(
        m.wheel_machine(),
        machine=m.linux_machine(**machine),
        cudnn=(copy,),
        pythons=pythons,
        loads=(m.load(copy, who),),
    )


OTHER = m.cudnn("/opt/cudnn/lib", "9.10.2", origin="folder", environment="", owner="")
FAILS = m.refused(COPY, "ops", "cannot open shared object file")
ODD = "/home/ada/ml [new]"
ODD_FOLDER = f"{ODD}/lib/python3.11/site-packages/nvidia/cudnn/lib"

LOADS: dict[str, Snapshot] = {
    "NVRTC is nowhere for any program, and the environment answered": without_nvrtc(ROLL),
    "NVRTC is nowhere for any program, and the environment answered without its release": without_nvrtc(
        replace(ROLL, version=None)
    ),
    "NVRTC is nowhere for any program, and the environment told its release alone": without_nvrtc(
        replace(ROLL, calls=())
    ),
    "NVRTC is nowhere for any program, and the environment fails": without_nvrtc(FAILS),
    "NVRTC is nowhere for any program, and the environment was not asked": without_nvrtc(None),
    "the variable leads to the program's own cuDNN": by_variable(m.CUDNN, COPY),
    "the variable leads to the program's own cuDNN, which fails": by_variable(m.CUDNN, COPY, roll_call=FAILS),
    "the variable leads to a newer cuDNN": by_variable(OTHER.folder, COPY, OTHER),
    "the variable leads to a newer cuDNN, which fails": by_variable(OTHER.folder, COPY, OTHER, roll_call=FAILS),
    "the variable leads to a newer cuDNN, which was not asked": by_variable(OTHER.folder, COPY, OTHER, roll_call=None),
    "the variable leads to a newer cuDNN without a part": by_variable(
        OTHER.folder, COPY, replace(OTHER, missing=(OTHER.files[-1].name,))
    ),
    "the variable leads to an older cuDNN": by_variable(OTHER.folder, COPY, replace(OTHER, version="9.0.0")),
    "the variable leads to another cuDNN of the same release": by_variable(
        OTHER.folder, COPY, replace(OTHER, version="9.1.0")
    ),
    "the variable leads to a cuDNN where the program has none": by_variable(OTHER.folder, OTHER),
    "an older cuDNN of the system, and the wheel's folder is not searched": too_old(),
    "an older cuDNN of the system, and the wheel's folder is empty": too_old(m.nothing(MAIN, How.RUNPATH)),
    "an older cuDNN of the system, and no packages are known": too_old(site_packages=()),
    "Windows, an older cuDNN than the environment requires": replace(too_old(), machine=m.windows_machine().machine),
    "Windows, zlibwapi.dll is found": zlib("8.5.0", ZLIB),
    "Windows, zlibwapi.dll is nowhere": zlib("8.5.0", m.nothing(ZLIB.path, How.PATH)),
    "Windows, zlibwapi.dll is nowhere, and the files tell the release": zlib(
        "8.5.0", m.nothing(ZLIB.path, How.PATH), known=False
    ),
    "Windows, nobody looked for zlibwapi.dll": unsearched("8.5.0"),
    "Windows, zlibwapi.dll before it was needed": zlib("8.2.4", m.nothing(ZLIB.path, How.PATH)),
    "Windows, a message about zlibwapi.dll that misleads": misleading("8.9.7"),
    "Windows, a message that misleads by the release of the files": misleading("8.9.7", told=False),
    "Windows, a message that misleads by the answer alone": misleading("8.9.7", there=False),
    "Windows, a message of a release that is not known": misleading("8.9.7", told=False, there=False),
    "brackets in the path of an environment": odd(ODD, ODD_FOLDER),
    "brackets in the path of an environment on another disk": odd(ODD, ODD_FOLDER, other_root="/mnt"),
    "brackets in the path of no environment": odd("", "/opt/cudnn [9]/lib"),
    "brackets in the path of no environment, on another disk": odd("", "/opt/cudnn [9]/lib", other_root="/mnt"),
}
