"""What a text tells, beside its message, of the machine that printed it: the system, the driver, Python, PyTorch, CUDA.

A proof on this machine needs a text that can be from it. Paths decide before file names: bitsandbytes looks for
libcudart.so on Windows, too (bitsandbytes/cuda_setup/main.py up to 0.42), and packages name folders of their builders.
"""

from __future__ import annotations

import posixpath
from typing import Literal

from core.common.i18n import _
from core.common.late_pattern import late_pattern
from core.explain.pasted import read_pasted
from core.explain.reading import ParsedText
from core.model.facts import Snapshot

System = Literal["windows", "linux", ""]

_BUILDERS = late_pattern(
    r"(?:/opt/conda/conda-bld|/home/conda/feedstock|/home/runner/work|d:\\a\\?_?work|d:\\a\\|c:\\actions-runner|windowspath\()\S{0,250}"
)
"""Folders of the machines that build packages, and paths of the other system that a program only tries."""
_WINDOWS_PATH = late_pattern(
    r"(?<![a-z0-9])[a-z]:\\{1,2}[^\s\\:*?\"<>|]|[\w.]\\[\w.\-]{1,60}\\[\w.\-]{1,60}\.(?:py|cpp|cu|dll|pyd|exe)\b"
)
_LINUX_PATH = late_pattern(r"(?<![\w.:\\/])/(?:usr|home|opt|lib|lib64|root|dev|proc|etc|mnt|var|tmp)/")
_ELSEWHERE = frozenset({"wsl", "container", "container-runtime", "container-cli"})
"""Marks of texts with paths of two systems: a container's beside those of its host."""
_PYTHON = late_pattern(
    r"python3\.(\d{1,2})/(?:site|dist)-packages|python3(\d{1,2})\\{1,2}(?:lib|dlls)\\|\.(?:cp|cpython-)3(\d{1,2})-(?:win|x86_64|aarch64)"
)
_BUILD = late_pattern(r"\b(\d{1,2}\.\d{1,2}\.\d{1,2})\+(?:cu\d{2,3}|cpu)\b")
"""A build of PyTorch or of what goes with it, as it names itself."""
_BUILT_PACKAGES = frozenset({"torch", "torchvision", "torchaudio"})
_TOOLKIT = late_pattern(r"/cuda-(\d{1,2}\.\d)\b|\\cuda\\{1,2}v(\d{1,2}\.\d)\b")
_DRIVER = late_pattern(r"\d{3}\.\d{1,3}(?:\.\d{1,3})?")
_DRIVER_FILE = late_pattern(
    r"lib(?:cuda|nvidia-ml)\.so\.(\d{3}\.\d{2,3}(?:\.\d{2,3})?)\b|\b(\d{3}\.\d{2,3}(?:\.\d{2,3})?) nvidia driver\b"
)
_LIBRARY_PATH = late_pattern(
    r"(?<![\w.])(/[\w.+\-/]{1,250}/)lib(?:cudnn|cublas|cudart|cufft|cusolver|cusparse|curand|nvrtc|nvjitlink)[\w\-]{0,40}\.so"
)


def system_of(reading: ParsedText) -> System:
    """Return the system on which a text was printed; empty if nothing shows it, or more than one."""
    marks = reading.marks
    if "wsl" in marks:
        return ""
    low = _BUILDERS.sub("", reading.low)
    windows, linux = bool(_WINDOWS_PATH.search(low)), bool(_LINUX_PATH.search(low))
    if windows != linux:
        return "" if marks & _ELSEWHERE and windows else "windows" if windows else "linux"
    if windows or {"windows", "linux"} <= marks:
        return ""
    return "windows" if "windows" in marks else "linux" if "linux" in marks else ""


def pythons_of(reading: ParsedText) -> frozenset[str]:
    """Return the versions of Python that the paths of a text name: "3.11"."""
    return frozenset(f"3.{m[1] or m[2] or m[3]}" for m in _PYTHON.finditer(_BUILDERS.sub("", reading.low)))


def python_mismatch(reading: ParsedText, seen: Snapshot) -> str:
    """Return the Python of a text that no environment here has."""
    said = pythons_of(reading)
    here = {".".join(p.version.split(".")[:2]) for p in seen.pythons or () if p.version}
    if not said or not here or said & here:
        return ""
    return _("It comes from Python {said}, which is not among the environments here.", said=min(said))


def torch_mismatch(reading: ParsedText, seen: Snapshot) -> str:
    """Return the build of PyTorch that a text names, if no environment here has one of those that it names."""
    said = {m[1] for m in _BUILD.finditer(reading.low)}
    here = {
        d.version.partition("+")[0]
        for p in seen.pythons or ()
        for d in p.distributions
        if d.name.lower() in _BUILT_PACKAGES
    }
    if not said or not here or said & here:
        return ""
    return _("It names a build of PyTorch that is not installed here: {said}.", said=min(said))


def driver_mismatch(reading: ParsedText, seen: Snapshot) -> str:
    """Return the driver that a pasted nvidia-smi, a kernel log or a file name tells, if it is not the one here."""
    pasted, driver = read_pasted(reading.text), seen.driver
    said = {v for v in (pasted.driver, pasted.module) if v}
    said |= {m[1] or m[2] for m in _DRIVER_FILE.finditer(reading.low)}
    if not said or driver is None:
        return ""
    known = (
        driver.nvml.driver_version if driver.nvml else None,
        driver.module_version,
        *(x.version for x in driver.libraries or ()),
    )
    here = {v for v in known if v and _DRIVER.fullmatch(v)}
    if not here or said & here:
        return ""
    return _("It names driver {said}; the driver here is {ours}.", said=min(said), ours=max(here))


def toolkit_mismatch(reading: ParsedText, seen: Snapshot) -> str:
    """Return the folder of a CUDA release that a text names, if neither a toolkit nor a variable here has such a one."""
    said = {m[1] or m[2] for m in _TOOLKIT.finditer(_BUILDERS.sub("", reading.low))}
    if not said or seen.toolkits is None or seen.environment is None:
        return ""
    folders = [text.lower() for t in seen.toolkits for text in (t.root, t.folder, *(f.path for f in t.libraries))]
    folders += [v.value.lower() for v in seen.environment.variables]
    folders += [(e.expanded or e.text).lower() for e in seen.environment.entries]
    here = {m[1] or m[2] for text in folders for m in _TOOLKIT.finditer(text)}
    here |= {".".join(t.version.split(".")[:2]) for t in seen.toolkits if t.version}
    if said & here:
        return ""
    return _("It names a folder of CUDA {said}, which is not on this machine.", said=min(said))


def file_mismatch(reading: ParsedText, seen: Snapshot) -> str:
    """Return the folder of a library of CUDA or cuDNN that a text names by its path, if none of them is known here."""
    said = {_folder(m[1]) for m in _LIBRARY_PATH.finditer(reading.text)}
    if not said or seen.cudnn is None or seen.toolkits is None or seen.environment is None:
        return ""
    here = [c.folder for c in seen.cudnn] + [text for t in seen.toolkits for text in (t.root, t.folder)]
    here += [posixpath.dirname(a.path) for x in seen.loads or () for r in x.resolutions for a in r.attempts]
    here += [f.path and posixpath.dirname(f.path) for c in seen.cudnn for f in c.files]
    here += [e.expanded or e.text for e in seen.environment.entries]
    here += [part for v in seen.environment.variables for part in v.value.split(":")]
    if said & {_folder(folder) for folder in here if folder} or any("<" in folder for folder in here):
        return ""
    return _("It names a library in {folder}, which is not among the folders here.", folder=min(said))


def _folder(path: str) -> str:
    """Return a folder in one spelling; /lib is a link to /usr/lib on today's systems."""
    folder = posixpath.normpath(path)
    return f"/usr{folder}" if folder.startswith(("/lib/", "/lib64")) else folder
