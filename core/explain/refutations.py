"""Evidence against causes: each function returns what it found on a machine; nothing if that does not decide."""

from __future__ import annotations

from core.common.i18n import _
from core.common.versions import version_tuple
from core.explain.reading import ParsedText
from core.knowledge.releases import files_lost
from core.model.facts import CudnnCopy, Snapshot
from core.model.findings import Evidence
from core.rules.consumer_loads import roll_call_passed

CounterEvidence = tuple[Evidence, ...]
STATIC_ZLIB = (8, 9, 4)
"""First Windows release of cuDNN that contains zlib (imports and strings of the published wheels)."""


def _evidence(label: str, value: object, source: str = "") -> CounterEvidence:
    return (Evidence(label=label, value=str(value), source=source),)


def wanted_majors(reading: ParsedText, seen: Snapshot) -> frozenset[int]:
    """Return cuDNN's major versions that the text names under a file name of this system."""
    return frozenset(
        x.major
        for x in reading.libraries
        if x.family == "cudnn" and x.major is not None and x.platform == seen.machine.system
    )


def _fitting_copies(reading: ParsedText, seen: Snapshot) -> tuple[CudnnCopy, ...]:
    """Return the copies of the major version that the text names; all if it names none."""
    majors = wanted_majors(reading, seen)
    return tuple(c for c in seen.cudnn or () if not majors or c.major in majors)


# --- the system ------------------------------------------------------------------------------------------


def not_on_linux(_r: ParsedText, seen: Snapshot) -> CounterEvidence:
    """Only Windows has this cause."""
    return (
        _evidence(_("System"), seen.machine.release or "Linux", _("this happens on Windows only"))
        if seen.machine.system == "linux"
        else ()
    )


def not_on_windows(_r: ParsedText, seen: Snapshot) -> CounterEvidence:
    """Only Linux has this cause."""
    return (
        _evidence(_("System"), seen.machine.release or "Windows", _("this happens on Linux only"))
        if seen.machine.system == "windows"
        else ()
    )


def no_container(reading: ParsedText, seen: Snapshot) -> CounterEvidence:
    """No container was detected, and the text is not a container engine's own message, which appears on the host."""
    if reading.marks & {"container-runtime", "container-cli"}:
        return ()
    return _evidence("Container", "none") if seen.machine.container is None else ()


def no_wsl(_r: ParsedText, seen: Snapshot) -> CounterEvidence:
    """The system is not WSL."""
    return _evidence("WSL", "no") if not seen.machine.wsl else ()


# --- cuDNN -----------------------------------------------------------------------------------------------


def zlib_inside(reading: ParsedText, seen: Snapshot) -> CounterEvidence:
    """Every matching cuDNN contains zlib."""
    copies = _fitting_copies(reading, seen)
    if copies and all(c.major != 8 or version_tuple(c.version) >= STATIC_ZLIB for c in copies):
        return tuple(
            Evidence(label=_("cuDNN with zlib built in"), value=c.version or str(c.major), source=c.folder)
            for c in copies
        )
    return ()


def zlibwapi_found(_r: ParsedText, seen: Snapshot) -> CounterEvidence:
    """Every consumer finds zlibwapi.dll."""
    searches = [r for load in seen.loads or () for r in load.resolutions if r.name.lower() == "zlibwapi.dll"]
    if searches and all(r.winner and r.winner.outcome == "found" for r in searches):
        return _evidence("zlibwapi.dll", searches[0].winner.path if searches[0].winner else "", _("search order"))
    return ()


def cudnn_found(reading: ParsedText, seen: Snapshot) -> CounterEvidence:
    """Every consumer of the wanted major version finds its main library, and its calls succeed."""
    majors = wanted_majors(reading, seen)
    loads = [x for x in seen.loads or () if not majors or x.major in majors]
    called = [x for x in loads if x.roll_call and x.roll_call.loaded and not x.roll_call.ended]
    if loads and len(called) == len(loads):
        return tuple(
            Evidence(label=_("Found and called"), value=x.roll_call.loaded, source=x.consumer.label)
            for x in called
            if x.roll_call
        )
    return ()


def cudnn_there(reading: ParsedText, seen: Snapshot) -> CounterEvidence:
    """A cuDNN of the wanted major version is on the machine."""
    copies = _fitting_copies(reading, seen)
    return (
        _evidence(_("cuDNN on this machine"), copies[0].version or copies[0].major, copies[0].folder) if copies else ()
    )


def cudnn_major_found(reading: ParsedText, seen: Snapshot) -> CounterEvidence:
    """Every major version that the text names is on the machine."""
    majors = wanted_majors(reading, seen)
    there = {c.major for c in seen.cudnn or ()}
    return _evidence(_("cuDNN majors on this machine"), sorted(there)) if majors and majors <= there else ()


def sets_complete(reading: ParsedText, seen: Snapshot) -> CounterEvidence:
    """No matching set lacks a file, and every roll call succeeded."""
    copies = _fitting_copies(reading, seen)
    if copies and not any(map(files_lost, copies)) and roll_calls_pass(reading, seen):
        return tuple(
            Evidence(label=_("Complete set"), value=c.version or str(c.major), source=c.folder) for c in copies
        )
    return ()


def roll_calls_pass(_r: ParsedText, seen: Snapshot) -> CounterEvidence:
    """Every part of every cuDNN that programs load was called, and every call succeeded."""
    made = [x.roll_call for x in seen.loads or () if x.roll_call]
    return (
        _evidence(_("Every part responded"), len(made), _("roll call"))
        if made and all(map(roll_call_passed, made)) and not any(x.changeable for x in seen.loads or ())
        else ()
    )


def new_enough(_r: ParsedText, seen: Snapshot) -> CounterEvidence:
    """Every consumer loads a cuDNN at least as new as the one that it was built with."""
    pairs = [
        (x.roll_call.version, x.wanted_version)
        for x in seen.loads or ()
        if x.roll_call and x.roll_call.version and x.wanted_version
    ]
    if pairs and all(version_tuple(had)[:3] >= version_tuple(wanted)[:3] for had, wanted in pairs):
        return tuple(
            Evidence(label=_("Loaded, and minimum required"), value=f"{had}, {wanted}") for had, wanted in pairs
        )
    return ()


def one_copy(_r: ParsedText, seen: Snapshot) -> CounterEvidence:
    """There are no two copies, so none can hide another."""
    if seen.cudnn is None or len(seen.cudnn) > 1:
        return ()
    return _evidence(_("Copies of cuDNN"), len(seen.cudnn))


def all_readable(_r: ParsedText, seen: Snapshot) -> CounterEvidence:
    """Every library could be read."""
    files = [f for c in seen.cudnn or () for f in c.files] + [f for t in seen.toolkits or () for f in t.libraries]
    return _evidence(_("Libraries read"), len(files)) if files and all(f.state != "unreadable" for f in files) else ()


def all_as_recorded(_r: ParsedText, seen: Snapshot) -> CounterEvidence:
    """Every file of every cuDNN was compared with its package, or its maker's signature, by hash, and matches."""
    files = [f for c in seen.cudnn or () for f in c.files]
    return (
        _evidence(_("Files that match the published ones"), len(files))
        if files and seen.thorough and all(f.record == "matches" or f.signature in ("valid", "intact") for f in files)
        else ()
    )


def one_architecture(_r: ParsedText, seen: Snapshot) -> CounterEvidence:
    """Every library is for this kind of processor."""
    files = [f for c in seen.cudnn or () for f in c.files] + [f for t in seen.toolkits or () for f in t.libraries]
    mine = seen.machine.architecture
    return (
        _evidence(_("Libraries for {architecture}", architecture=mine), len(files))
        if files and all(f.architecture == mine for f in files)
        else ()
    )


def plain_paths(_r: ParsedText, seen: Snapshot) -> CounterEvidence:
    """No folder has brackets or letters outside ASCII."""
    folders = [c.folder for c in seen.cudnn or ()] + [p.prefix for p in seen.pythons or ()]
    if seen.cudnn is None or seen.pythons is None or not folders:
        return ()
    return (
        _evidence(_("Folders with plain names"), len(folders))
        if all(f.isascii() and "[" not in f for f in folders)
        else ()
    )


def no_ld_library_path(_r: ParsedText, seen: Snapshot) -> CounterEvidence:
    """LD_LIBRARY_PATH is not set."""
    if seen.environment is None:
        return ()
    values = [v for v in seen.environment.variables if v.name == "LD_LIBRARY_PATH" and v.value]
    return () if values else _evidence("LD_LIBRARY_PATH", _("not set"))


# --- CUDA, frameworks ------------------------------------------------------------------------------------


def toolkit_there(_r: ParsedText, seen: Snapshot) -> CounterEvidence:
    """A CUDA runtime is on the machine."""
    toolkit = next((t for t in seen.toolkits or () if t.libraries), None)
    return (
        _evidence(_("CUDA on this machine"), toolkit.version or "", toolkit.folder or toolkit.root) if toolkit else ()
    )


def one_toolkit(_r: ParsedText, seen: Snapshot) -> CounterEvidence:
    """There are no two sets of CUDA libraries."""
    if seen.toolkits is None or len(seen.toolkits) > 1:
        return ()
    return _evidence(_("Sets of CUDA libraries"), len(seen.toolkits))


def no_such_tensorflow(_r: ParsedText, seen: Snapshot) -> CounterEvidence:
    """No TensorFlow after 2.10 is installed."""
    if seen.pythons is None:
        return ()
    flows = [
        d.version for p in seen.pythons for d in p.distributions if d.name.lower() in ("tensorflow", "tensorflow-gpu")
    ]
    newer = [v for v in flows if version_tuple(v)[:2] > (2, 10)]
    return () if newer else _evidence(_("TensorFlow after 2.10"), _("not installed"))


def single_packages(_r: ParsedText, seen: Snapshot) -> CounterEvidence:
    """No environment has a CPU and a GPU package of one framework."""
    if seen.pythons is None:
        return ()
    for python in seen.pythons:
        names = {d.name.lower().replace("_", "-") for d in python.distributions}
        if any(f"{name}-gpu" in names for name in names):
            return ()
    return _evidence(_("Environments without duplicate packages"), len(seen.pythons)) if seen.pythons else ()


def only_numpy_1(_r: ParsedText, seen: Snapshot) -> CounterEvidence:
    """Every NumPy on this machine is NumPy 1."""
    found = [d.version for p in seen.pythons or () for d in p.distributions if d.name.lower() == "numpy"]
    return _evidence("NumPy", ", ".join(sorted(set(found)))) if found and all(v.startswith("1.") for v in found) else ()


def not_a_jetson(_r: ParsedText, seen: Snapshot) -> CounterEvidence:
    """Every Jetson has an ARM processor."""
    return _evidence(_("Processor"), seen.machine.architecture) if seen.machine.architecture == "x86_64" else ()


# --- driver and GPU --------------------------------------------------------------------------------------


def driver_starts(_r: ParsedText, seen: Snapshot) -> CounterEvidence:
    """CUDA starts on this machine and sees a GPU."""
    cuda = seen.driver.cuda if seen.driver else None
    if cuda and cuda.status == 0 and cuda.device_count:
        return _evidence(_("CUDA starts and sees"), f"{cuda.device_count} GPU", cuda.library)
    return ()


def container_has_gpu(reading: ParsedText, seen: Snapshot) -> CounterEvidence:
    """CUDA starts in this container. That it starts on a host proves nothing about the host's containers."""
    return driver_starts(reading, seen) if seen.machine.container else ()


def driver_new_enough(_r: ParsedText, seen: Snapshot) -> CounterEvidence:
    """The driver supports a CUDA at least as new as every toolkit on this machine."""
    driver = seen.driver
    newest = (driver.cuda.driver_cuda if driver and driver.cuda else None) or (
        driver.nvml.driver_cuda if driver and driver.nvml else None
    )
    needs = [version_tuple(t.version)[:2] for t in seen.toolkits or () if t.version]
    if newest and needs and all(version_tuple(newest) >= need for need in needs):
        return _evidence(_("Newest CUDA that the driver runs"), newest)
    return ()


def nothing_hides(_r: ParsedText, seen: Snapshot) -> CounterEvidence:
    """No variable hides a GPU."""
    if seen.environment is None:
        return ()
    hiding = [v for v in seen.environment.variables if v.name in ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")]
    return () if hiding else _evidence("CUDA_VISIBLE_DEVICES", _("not set"))


def not_divided(_r: ParsedText, seen: Snapshot) -> CounterEvidence:
    """No GPU is partitioned into instances."""
    gpus = seen.driver.gpus if seen.driver else None
    return _evidence(_("Partitioned GPUs"), _("none")) if gpus and all(g.mig is False for g in gpus) else ()


def cache_in_order(_r: ParsedText, seen: Snapshot) -> CounterEvidence:
    """The compute cache is readable and writable."""
    kept = seen.driver.compute_cache if seen.driver else None
    if kept and (not kept.exists or (kept.writable and kept.index_readable is not False)) and not kept.problem:
        return _evidence(_("Compute cache"), _("OK") if kept.exists else _("none yet"), kept.path)
    return ()


def gpu_there(_r: ParsedText, seen: Snapshot) -> CounterEvidence:
    """The machine has an NVIDIA GPU."""
    gpus = seen.driver.gpus if seen.driver else None
    return _evidence("GPU", gpus[0].name, gpus[0].source) if gpus else ()
