"""Proofs on a machine of causes that no rule can name, because only the text says what was wanted."""

from __future__ import annotations

from core.common.i18n import _
from core.common.late_pattern import late_pattern
from core.common.versions import version_tuple
from core.explain.reading import ParsedText
from core.explain.refutations import wanted_majors
from core.knowledge.library_names import TOOLKIT_FAMILIES
from core.model.facts import PythonEnvironment, Snapshot, Variable
from core.model.findings import Evidence
from core.model.path_list import searched_entries
from core.model.paths import is_inside, normalise

ProofEvidence = tuple[Evidence, ...]
_VERSION = late_pattern(r"\((\d{1,2}\.\d{1,2})\)")
IMPORT_NAMES = {
    "torch": "torch",
    "tensorflow": "tensorflow",
    "jax": "jax",
    "onnxruntime": "onnxruntime",
    "paddle": "paddlepaddle",
    "cupy": "cupy",
}
"""Module name -> prefix of the distributions that provide it."""


def _packages(python: PythonEnvironment) -> dict[str, str]:
    return {d.name.lower().replace("_", "-"): d.version for d in python.distributions}


def cpu_build(reading: ParsedText, seen: Snapshot) -> ProofEvidence:
    """A framework that the text names is a CPU build.

    The rule only notes it if another one is built for CUDA.
    """
    found: list[Evidence] = []
    for python in seen.pythons or ():
        packages = _packages(python)
        torch = packages.get("torch", "")
        if torch and ("+cpu" in torch) and "torch" in reading.low:
            found.append(Evidence(label=_("CPU build"), value=f"torch {torch}", source=python.prefix))
        for name in ("onnxruntime", "paddlepaddle"):
            if (
                name in packages
                and f"{name}-gpu" not in packages
                and name[:6] in reading.low
                and f"{name}-gpu" not in reading.low
            ):
                found.append(Evidence(label=_("CPU package"), value=f"{name} {packages[name]}", source=python.prefix))
    return tuple(found)


def numpy_two(_r: ParsedText, seen: Snapshot) -> ProofEvidence:
    """An environment has NumPy 2, with which modules compiled for NumPy 1 do not load."""
    return tuple(
        Evidence(label="NumPy", value=version, source=python.prefix)
        for python in seen.pythons or ()
        if version_tuple(version := _packages(python).get("numpy", ""))[:1] == (2,)
    )


def only_in_path(_r: ParsedText, seen: Snapshot) -> ProofEvidence:
    """On Windows, a plain program finds a CUDA or cuDNN library that Python 3.8 or later does not find."""
    if seen.machine.system != "windows":
        return ()
    plain = {
        r.name: r.winner for x in seen.loads or () if x.consumer.kind == "plain" for r in x.resolutions if r.winner
    }
    return tuple(
        Evidence(
            label=_("{name}: other programs find it, this Python does not", name=r.name),
            value=there.path,
            source=x.consumer.label,
        )
        for x in seen.loads or ()
        if x.consumer.kind in ("python", "store")
        for r in x.resolutions
        if r.winner is None and (there := plain.get(r.name))
    )


def in_another_environment(reading: ParsedText, seen: Snapshot) -> ProofEvidence:
    """The module that the text misses is in another environment of this machine."""
    if "no-module" not in reading.marks:
        return ()
    found: list[Evidence] = []
    for module, start in IMPORT_NAMES.items():
        if f"no module named '{module}" not in reading.low and f"no module named {module}" not in reading.low:
            continue
        having = [p for p in seen.pythons or () if any(name.startswith(start) for name in _packages(p))]
        lacking = [p for p in seen.pythons or () if p not in having]
        if having and lacking:
            found += [
                Evidence(label=_("Has {module}", module=module), value=p.prefix, source=p.found_by) for p in having
            ]
    return tuple(found)


def another_major(reading: ParsedText, seen: Snapshot) -> ProofEvidence:
    """The text misses one major version of cuDNN, and only others are on the machine."""
    wanted = wanted_majors(reading, seen)
    there = {c.major for c in seen.cudnn or ()}
    if "missing:cudnn" not in reading.marks or not wanted or not there or wanted & there:
        return ()
    return tuple(
        Evidence(
            label=_("Requires cuDNN {versions}; installed", versions=", ".join(map(str, sorted(wanted)))),
            value=c.version or str(c.major),
            source=c.folder,
        )
        for c in seen.cudnn or ()
    )


def another_toolkit(reading: ParsedText, seen: Snapshot) -> ProofEvidence:
    """The text misses a CUDA library by a name with a version, and only other versions are on the machine."""
    wanted = {
        x.name: x
        for x in reading.libraries
        if x.family in TOOLKIT_FAMILIES and x.platform == seen.machine.system and x.major is not None
    }
    if "missing:toolkit" not in reading.marks or not wanted:
        return ()
    here = {f.name.lower(): f.path for t in seen.toolkits or () for f in t.libraries}
    if not here or any(_is_same_library(name, had) for name in wanted for had in here):
        return ()
    families = {x.family for x in wanted.values()}
    others = {name: path for name, path in here.items() if any(family in name for family in families)}
    return tuple(
        Evidence(label=_("Requires {wanted}; installed", wanted=", ".join(wanted)), value=name, source=path)
        for name, path in others.items()
    )


def _is_same_library(wanted: str, had: str) -> bool:
    return had == wanted or had.startswith(wanted + ".")


def container_without_driver(_r: ParsedText, seen: Snapshot) -> ProofEvidence:
    """Neither device nodes nor the driver's library were passed into this container."""
    driver = seen.driver
    if not seen.machine.container or driver is None or driver.nodes is None or driver.libraries is None:
        return ()
    if driver.nodes or driver.libraries:
        return ()
    return (
        Evidence(label=_("Container"), value=seen.machine.container),
        Evidence(label=_("Device nodes"), value=_("none"), source="/dev/nvidia*"),
        Evidence(label=_("Driver libraries"), value=_("none")),
    )


def no_cudnn(reading: ParsedText, seen: Snapshot) -> ProofEvidence:
    """The text misses cuDNN, and the machine has none."""
    if not reading.marks & {"missing:cudnn", "cudnn-not-found-words"} or seen.cudnn is None or seen.cudnn:
        return ()
    return (Evidence(label=_("Copies of cuDNN on this machine"), value="0"),)


def no_toolkit(reading: ParsedText, seen: Snapshot) -> ProofEvidence:
    """The text misses a CUDA library, and the machine has none."""
    if not reading.marks & {"missing:toolkit", "toolkit-not-found-words"} or seen.toolkits is None:
        return ()
    if any(t.libraries for t in seen.toolkits):
        return ()
    return (Evidence(label=_("CUDA libraries on this machine"), value="0"),)


def toolkit_beside(reading: ParsedText, seen: Snapshot) -> ProofEvidence:
    """The text misses a CUDA library that is on the machine, in a folder that is not on the search path."""
    if "missing:toolkit" not in reading.marks or seen.environment is None:
        return ()
    wanted = {x.name for x in reading.libraries if x.family in TOOLKIT_FAMILIES and x.platform == seen.machine.system}
    system = seen.machine.system
    searched = {
        normalise(system, e.expanded or e.text)
        for e in seen.environment.entries
        if e.variable in ("PATH", "LD_LIBRARY_PATH")
    }
    there = [
        (f.name, t.folder)
        for t in seen.toolkits or ()
        for f in t.libraries
        if any(_is_same_library(w, f.name.lower()) for w in wanted)
    ]
    if (
        not there
        or any(normalise(system, folder) in searched for _, folder in there)
        or (system != "windows" and not seen.loads)
    ):
        return ()
    cached = {a.path for x in seen.loads or () for r in x.resolutions for a in r.attempts if a.outcome == "found"}
    return tuple(
        Evidence(label=_("{name} is here, in a folder that is not searched", name=name), value=folder)
        for name, folder in there
        if not any(is_inside(system, path, folder) for path in cached)
    )


def older_variables(_r: ParsedText, seen: Snapshot) -> ProofEvidence:
    """A variable gives new programs a folder with CUDA or cuDNN that this session does not have."""
    variables = seen.environment.variables if seen.environment else ()
    folders = [c.folder for c in seen.cudnn or ()] + [t.folder for t in seen.toolkits or () if t.folder]
    system = seen.machine.system

    def holds(v: Variable) -> set[str]:
        return {normalise(system, entry) for entry in searched_entries(v.value, system, v.name.upper())}

    found: list[Evidence] = []
    for name in ("PATH", "LD_LIBRARY_PATH"):
        now = {folder for v in variables if v.name.upper() == name and v.scope == "process" for folder in holds(v)}
        soon = [v for v in variables if v.name.upper() == name and v.scope != "process"]
        if not soon or not any(v.scope == "process" for v in variables):
            continue
        for v in soon:
            new = [f for f in folders if normalise(system, f) in holds(v) - now]
            found += [
                Evidence(
                    label=_("{name} of new programs contains it, that of this session does not", name=name),
                    value=f,
                    source=v.source,
                )
                for f in new
            ]
    return tuple(found)


def other_nvcc(reading: ParsedText, seen: Snapshot) -> ProofEvidence:
    """The toolkit whose nvcc the text complains about is on this machine."""
    if "nvcc-mismatch" not in reading.marks:
        return ()
    said = {m[1] for m in _VERSION.finditer(reading.low)}
    return tuple(
        Evidence(label=_("nvcc"), value=t.nvcc_version or t.version or "", source=t.nvcc or t.root)
        for t in seen.toolkits or ()
        if (t.nvcc or t.nvcc_version) and ".".join((t.nvcc_version or t.version or "").split(".")[:2]) in said
    )
