"""Two tables: COMPLAINTS defines families of messages; CAUSED_COMPLAINTS says which of them each cause produces.

A family may require more than its words: that the files, versions, status or GPU in the text are those of the finding.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from core.common.late_pattern import late_pattern
from core.common.versions import version_tuple
from core.explain.collectives import IOMMU, names_memory
from core.explain.context import compiled_and_loaded
from core.explain.extensions import asked_symbols, blames_module, names_module
from core.explain.mechanism.driver_answers import EXACT_FIRST, driver_marks
from core.explain.mechanism.fault_facts import FaultFacts
from core.explain.mechanism.frameworks import FRAMEWORK_DISTRIBUTIONS, frameworks_of
from core.explain.mechanism.libraries import blamed_libraries, is_same_library
from core.explain.reading import ParsedText
from core.explain.refutations import zlib_inside
from core.knowledge.library_names import TOOLKIT_FAMILIES
from core.model.facts import Snapshot
from core.rules.collectives import LOCKED_MEMORY, SHARED_MEMORY
from core.rules.frameworks.finding_ids import LIBRARIES_ID, UNFIT_ID
from core.rules.frameworks.libraries.lacks import FRAMEWORKS_OWN

VersionNumbers = tuple[int, ...]
Fits = Callable[[ParsedText, FaultFacts], bool]

LOADS = (f"frameworks.{UNFIT_ID}", f"frameworks.{LIBRARIES_ID}")
"""How the ids of findings begin that are about a package's own compiled modules."""

OF_KIND: dict[str, frozenset[str]] = {
    "cudnn_not_on_search_path": frozenset({"cudnn"}),
    "cudnn_not_installed": frozenset({"cudnn"}),
    "cudnn_major_mismatch": frozenset({"cudnn"}),
    "cuda_not_on_search_path": TOOLKIT_FAMILIES,
    "cuda_runtime_missing": TOOLKIT_FAMILIES,
    "cuda_toolkit_version_mismatch": TOOLKIT_FAMILIES,
    "cuda_lib_shadowed": TOOLKIT_FAMILIES,
}
"""The kind of library that a cause is about, if its evidence names others, too."""


def words_suffice(_r: ParsedText, _a: FaultFacts) -> bool:
    """The words alone suffice."""
    return True


def same_file(reading: ParsedText, about: FaultFacts) -> bool:
    """The text blames a file of the finding."""
    return any(is_same_library(x, y) and x.part == y.part for x in blamed_libraries(reading) for y in about.files)


def same_set(reading: ParsedText, about: FaultFacts) -> bool:
    """The text blames a library of the finding's set, or cuDNN as a whole."""
    kind = OF_KIND.get(about.cause)
    blamed = [x for x in blamed_libraries(reading) if kind is None or (x.family in kind)]
    return any(is_same_library(x, y) for x in blamed for y in about.files)


def zlib_is_inside(reading: ParsedText, about: FaultFacts) -> bool:
    """The text misses a zlib that this machine's cuDNN contains; cuDNN reports zlib whichever of its own parts it cannot open."""
    return bool(zlib_inside(reading, about.seen)) and any(x.family == "cudnn" and x.part for x in about.files)


def refuses_version(reading: ParsedText, about: FaultFacts) -> bool:
    """If the text names the newest compiler that its nvcc accepts, this machine's nvcc has the same limit."""
    told = {m[1] for m in _NEWEST_COMPILER.finditer(reading.low)}
    return not told or any(f"gcc {limit}," in t for limit in told for t in about.said)


def same_symbol(reading: ParsedText, about: FaultFacts) -> bool:
    """A library of the finding's set was found and lacks a function."""
    return same_set(reading, about) and not any(mark.startswith("missing:") for mark in reading.marks)


def same_cudnn_symbol(reading: ParsedText, about: FaultFacts) -> bool:
    """The same for cuDNN; and exactly that symbol is missing when this machine's parts are called."""
    calls = [c.meaning for x in about.seen.loads or () if x.roll_call for c in x.roll_call.calls]
    here = {w for text in calls for w in _UNDEFINED.findall(text.lower())}
    return same_symbol(reading, about) and bool(here & set(_UNDEFINED.findall(reading.low)))


def no_name(reading: ParsedText, _a: FaultFacts) -> bool:
    """The loader's message does not name the library."""
    return not blamed_libraries(reading)


def same_versions(reading: ParsedText, about: FaultFacts) -> bool:
    """The cuDNN that was loaded according to the text is on this machine."""
    pair = compiled_and_loaded(reading.low)
    return pair is not None and _is_here(pair[1], about.seen) and _is_wanted(pair[0], about.seen)


def _is_here(loaded: VersionNumbers, seen: Snapshot) -> bool:
    here = [version_tuple(c.version) for c in seen.cudnn or ()] + [
        version_tuple(x.roll_call.version) for x in seen.loads or () if x.roll_call
    ]
    return any(_versions_agree(h, loaded) for h in here if h)


def _is_wanted(compiled: VersionNumbers, seen: Snapshot) -> bool:
    """Whether no consumer was built with another version."""
    wanted = [version_tuple(x.wanted_version) for x in seen.loads or () if x.wanted_version]
    return not wanted or any(_versions_agree(w, compiled) for w in wanted)


def _versions_agree(one: VersionNumbers, other: VersionNumbers) -> bool:
    """Whether two versions agree as far as both are known."""
    shared = min(len(one), len(other), 3)
    return shared > 0 and one[:shared] == other[:shared]


def same_status(reading: ParsedText, about: FaultFacts) -> bool:
    """The most exact driver status in the text is this machine's; if the driver was not queried, the words decide."""
    here = driver_marks(about.seen)
    told = next((told for exact in EXACT_FIRST if (told := reading.marks & exact)), frozenset())
    if "missing:libcuda-unversioned" in reading.marks:
        # Only linkers and WSL request libcuda.so; programs open libcuda.so.1.
        told -= {"missing:libcuda"}
    cuda = about.seen.driver.cuda if about.seen.driver else None
    return bool(told & here) or (bool(told) and cuda is None)


def does_not_start(_r: ParsedText, about: FaultFacts) -> bool:
    """CUDA does not start on this machine, or was not queried."""
    cuda = about.seen.driver.cuda if about.seen.driver else None
    return cuda is None or cuda.status != 0 or not cuda.device_count


def same_package(reading: ParsedText, about: FaultFacts) -> bool:
    """The text names the framework of the finding."""
    told = frameworks_of(reading)
    return any(_names(about, FRAMEWORK_DISTRIBUTIONS[mark]) for mark in told)


def _names(about: FaultFacts, starts: tuple[str, ...]) -> bool:
    texts = (about.name.rsplit("-", 1)[-1], *(t.lower() for t in about.said))
    return any(re.search(rf"(?<![a-z]){re.escape(s)}(?![a-z])", text) for s in starts for text in texts)


def asks_in_vain(reading: ParsedText, about: FaultFacts) -> bool:
    """What the text says is missing, or the extension that it blames, is what the finding is about, or was read here."""
    said = [t.lower() for t in about.said]
    symbols = asked_symbols(reading)
    if symbols:
        named = not names_module(reading) or any(blames_module(reading, t) for t in said)
        return named and any(s in t for s in symbols for t in said)
    return any(blames_module(reading, t) for t in said) or any(
        FRAMEWORKS_OWN.fullmatch(t) and t in reading.low for t in said
    )


_OPENED = late_pattern(
    r"(?:error loading|trying to load|failed to load|could not find module) ['\"]([^'\"\n]{3,400}\.(?:dll|pyd))['\"]"
)


def blames_its_module(reading: ParsedText, about: FaultFacts) -> bool:
    """The text names the compiled module, or the DLL by its path, whose own load the finding is about."""
    if not about.name.startswith(LOADS):
        return False
    opened = {m.replace("\\", "/").rpartition("/")[2] for m in _OPENED.findall(reading.low)}
    return any(
        blames_module(reading, t) or t.lower().replace("\\", "/").rpartition("/")[2] in opened for t in about.said if t
    )


def possible_size(reading: ParsedText, _a: FaultFacts) -> bool:
    """The text does not ask for more memory than any GPU has."""
    return "impossible-size" not in reading.marks


def about_nccl(_r: ParsedText, about: FaultFacts) -> bool:
    """The finding is about a variable that NCCL reads."""
    return any(text.startswith("NCCL_") for text in about.said)


def lacks_memory(reading: ParsedText, about: FaultFacts) -> bool:
    """NCCL complains of the kind of memory of which this machine has too little."""
    return names_memory(reading, about.said)


def has_little(_r: ParsedText, about: FaultFacts) -> bool:
    """There is too little memory of a kind that NCCL needs."""
    return bool({SHARED_MEMORY, LOCKED_MEMORY} & set(about.said))


def between_gpus(_r: ParsedText, about: FaultFacts) -> bool:
    """An IOMMU redirects what the GPUs send to each other."""
    return IOMMU in about.said


def same_compiler(reading: ParsedText, about: FaultFacts) -> bool:
    """The text blames the finding's major version of NVRTC."""
    told = {x.major for x in reading.libraries if x.family in ("nvrtc", "nvrtc-builtins")}
    mine = {x.major for x in about.files if x.family in ("nvrtc", "nvrtc-builtins")}
    return bool(told & mine) or None in told or not told


def reports_mixed_releases(_r: ParsedText, about: FaultFacts) -> bool:
    """The parts of cuDNN that this machine loads report it, or the finding does."""
    if about.cause == "mixed_cudnn_sublibraries":
        return True
    calls = [c for x in about.seen.loads or () if x.roll_call for c in x.roll_call.calls]
    return any("mismatch" in c.meaning.lower() or "undefined symbol" in c.meaning for c in calls)


def same_answer(reading: ParsedText, about: FaultFacts) -> bool:
    """A status or symbol in the text is what a call of cuDNN's parts returned or printed on this machine."""
    rolls = [x.roll_call for x in about.seen.loads or () if x.roll_call]
    status = {w for r in rolls for c in r.calls if c.result for w in _STATUS.findall(c.meaning.lower())}
    symbols = {w for r in rolls for w in _CANNOT.findall(r.output.lower())}
    return any(w in reading.low for w in status) or any(f"symbol {w}" in reading.low for w in symbols)


_NEWEST_COMPILER = late_pattern(r"gcc versions later than (\d{1,2})")
_UNDEFINED = late_pattern(r"undefined symbol: ?(\w{0,200})")
_STATUS = late_pattern(r"cudnn_status_(?!success)[a-z_]{4,60}")


_CANNOT = late_pattern(r"cannot load symbol (\w{3,80})")


@dataclass(frozen=True)
class Complaint:
    """A family of messages: the marks that show it, and what else must agree with the finding."""

    marks: frozenset[str]
    fits: Fits = words_suffice
    system: str = ""
    shared: bool = False
    """Many faults produce it, so such a message alone makes a fault possible, not proved."""


def _family(marks: str, fits: Fits = words_suffice, system: str = "", shared: bool = False) -> Complaint:
    return Complaint(frozenset(marks.split()), fits, system, shared)


NOT_FOUND = (
    "missing:cudnn missing:toolkit missing:zlibwapi missing:libcuda missing:nvml missing:driver missing:nvrtc-builtins"
)
UNLOADABLE_MARKS = (
    "truncated wrong-arch permission win:127 win:193 win:1114 win:1392 win:998 sublib-loading cudnn-unable-any"
)
START_MARKS = "no-device bad-ordinal no-driver-words libcuda-dlopen smi-failed driver-insufficient cuda-unknown nvml-unknown lib-mismatch-driver compat stub missing:libcuda"


COMPLAINTS: dict[str, Complaint] = {
    # a library, by name
    "this file is not found": _family(NOT_FOUND + " cudnn-unable-any sublib-loading", same_file),
    "this file does not load": _family(UNLOADABLE_MARKS, same_file),
    "this library is not found": _family(NOT_FOUND + " cudnn-unable-any", same_set),
    "this library does not load": _family(UNLOADABLE_MARKS, same_set),
    "zlib in place of a part": _family("missing:zlibwapi", zlib_is_inside, "windows"),
    # a library without a name
    "some cuDNN is not found": _family("cudnn-not-found-words dnn-not-found", no_name, shared=True),
    "some library is not found": _family("load-failed dll-load-failed ctypes-load winmod-name torch-dll", no_name, "windows", shared=True),
    "this module does not load": _family("dll-load-failed load-failed torch-dll ort-create", blames_its_module, "windows"),
    "some library does not load": _family("load-failed truncated wrong-arch win:193", no_name, shared=True),
    "a part cannot be loaded": _family("sublib-loading cudnn-invalid-handle", no_name, shared=True),
    "what the parts answer here": _family("sublib-loading sublib-mismatch cudnn-invalid-handle", same_answer),
    "the process ends inside cuDNN": _family("crash-in-cudnn nt:c0000409", no_name, shared=True),
    "the process is killed": _family("segfault", no_name, "linux", shared=True),
    # releases that do not match
    "two versions of cuDNN": _family("pair cudnn-version-pair", same_versions),
    "parts of two releases": _family("sublib-mismatch", reports_mixed_releases),
    "a symbol of cuDNN": _family("symbol-cudnn", same_cudnn_symbol),
    "some symbol of cuDNN": _family("symbol-cudnn", same_symbol, shared=True),
    "a symbol of CUDA": _family("symbol-cublas symbol-cuda-lib symbol-version", same_symbol),
    # the driver's status
    "the driver's answer": _family(START_MARKS, same_status),
    "the driver is too old": _family("driver-insufficient"),
    "no GPU is used": _family("cannot-use-gpu tf-no-gpu-list cpu-fallback", does_not_start, shared=True),
    "no rights": _family("permission dev-nodes"),
    "no signature": _family("secure-boot"),
    "a module": _family("module-words"),
    "after a suspend": _family("suspend uvm", does_not_start),
    "MIG": _family("mig", does_not_start),
    "a variable that hides": _family("visible-devices", does_not_start, shared=True),
    "the container's engine": _family("container-runtime container-cli"),
    # the GPU
    "no code for this GPU": _family("no-kernel-image not-compatible-gpu gpu-too-old-words cudnn-arch nvrtc-arch unknown-arch gpu:too-new gpu:too-old"),
    "a new GPU": _family("newest-fails", shared=True),
    "no memory": _family("oom", possible_size),
    "memory that is held": _family("memory-held", possible_size, shared=True),
    "no GPU in a container": _family("no-gpu-in-container", does_not_start),
    "the whole machine": _family("machine-dies", shared=True),
    "a package that wants another": _family("package-wants numpy-api", shared=True),
    "NCCL": _family("nccl", about_nccl),
    "NCCL without memory": _family("nccl", lacks_memory),
    "NCCL, which names no reason": _family("nccl", has_little, shared=True),
    "NCCL, which waits": _family("nccl-hang", between_gpus, shared=True),
    "a failing GPU": _family("hardware-words xid-card xid-link bus-lost ecc k-power-cables"),
    # statuses that many faults share
    "cuDNN does not start": _family("cudnn-not-init cudnn-handle dnn-not-found", shared=True),
    "a computation fails": _family("cudnn-exec illegal-access", shared=True),
    "cuDNN fails inside": _family("cudnn-internal conv-algorithm", shared=True),
    "cuBLAS does not start": _family("cublas-not-init", shared=True),
    "the kernels' cache": _family("compute-cache"),
    # packages and builds
    "a build without CUDA": _family("cpu-build torch-not-compiled tf-not-built ort-provider", same_package),
    "this build uses no GPU": _family("tf-no-gpu-list cpu-fallback", same_package),
    "a build that uses no GPU": _family("tf-no-gpu-list cpu-fallback ort-provider cpu-build", shared=True),
    "two packages": _family("two-packages ort-provider", same_package),
    "packages that do not fit": _family("broken-pins symbol-framework", same_package),
    "a function of another release": _family("symbol-torch-abi symbol-framework extension-lib extension-dll lib-mismatch-symbol", asks_in_vain),
    "a module of Python": _family("no-module"),
    "a build of an extension": _family("nvcc-mismatch"),
    "another NumPy": _family("numpy-abi"),
    "a compiler that is refused": _family("host-compiler", refuses_version),
    "a compiler without this GPU": _family("compiler-arch unknown-arch"),
    "no compiler": _family("no-compiler no-nvcc"),
    "no name for the linker": _family("ld-lcuda"),
    "no libdevice": _family("libdevice"),
    "no shared memory": _family("shm"),
    # the rest of the machine
    "the fabric": _family("fabric", does_not_start),
    "the firmware's windows": _family("pci-memory", does_not_start),
    "no description of the GPU": _family("cdi"),
    "an engine without a runtime": _family("no-gpu-request"),
    "another maker": _family("hip-own maker-amd maker-intel"),
    "an older C or C++ library": _family("cxx-runtime"),
    "no code from this file system": _family("noexec-map"),
    "a module of that name": _family("module-partial"),
    "no Python": _family("venv-broken"),
    "modules for another Python": _family("wrong-python-tag no-build-here"),
    "the rest of an installation": _family("invalid-distribution"),
    "the toolkit's variable": _family("cuda-home-bad"),
    "NVRTC": _family("nvrtc-builtins nvrtc-words caffe2-nvrtc", same_compiler),
    "the page file": _family("page-file win:1455"),
    "Microsoft's runtime": _family("init-routine vc-words missing:vcruntime", words_suffice, "windows"),
    "an instruction": _family("illegal-instruction"),
    "wrong numbers": _family("wrong-numbers", shared=True),
    "another session": _family("new-shell ide", shared=True),
}  # fmt: skip
"""What a text may complain of."""
_SET = (
    "this library is not found",
    "this module does not load",
    "some cuDNN is not found",
    "some library is not found",
    "a part cannot be loaded",
)


_FILE = (
    "this file is not found",
    "zlib in place of a part",
    "what the parts answer here",
    "a part cannot be loaded",
    "the process ends inside cuDNN",
    "some library is not found",
)


# If a file of one copy is skipped, the loader takes another copy's.
_GAP = ("two versions of cuDNN", "a symbol of cuDNN", "some symbol of cuDNN")
_BROKEN = (*_FILE, *_GAP, "this module does not load", "this file does not load", "some library does not load")


_DRIVER = ("the driver's answer", "no GPU is used", "cuDNN does not start")
CAUSED_COMPLAINTS: dict[str, tuple[str, ...]] = {
    "zlibwapi_missing": _FILE,
    "cudnn_not_on_search_path": _SET,
    "cudnn_not_installed": _SET,
    "cudnn_sublibrary_missing": (*_FILE, *_GAP),
    "cudnn_major_mismatch": (*_SET, "two versions of cuDNN"),
    "cudnn_minor_too_old": (*_GAP, "cuDNN does not start"),
    "cudnn_cuda_major_mismatch": (*_SET, "two versions of cuDNN"),
    "cudnn_shadowed": (
        "two versions of cuDNN",
        "parts of two releases",
        "a symbol of cuDNN",
        "this file does not load",
    ),
    "ld_library_path_override": ("parts of two releases", "the process is killed", *_BROKEN),
    "mixed_cudnn_sublibraries": ("parts of two releases", *_BROKEN),
    "library_unreadable": _BROKEN,
    "corrupt_or_truncated_file": (*_BROKEN, "the process is killed"),
    "dll_wrong_architecture": _BROKEN,
    "install_path_characters": ("this library is not found", "this file is not found", "a part cannot be loaded"),
    "cuda_not_on_search_path": _SET,
    "cuda_runtime_missing": _SET,
    "cuda_toolkit_version_mismatch": _SET,
    "cuda_lib_shadowed": (
        "a symbol of CUDA",
        "this module does not load",
        "this library does not load",
        "a function of another release",
    ),
    "extension_abi_mismatch": ("a function of another release", "this module does not load"),
    "cuda_path_env_wrong": ("the toolkit's variable", "this module does not load"),
    "nvrtc_missing_or_mismatch": ("NVRTC",),
    "nvcc_toolkit_mismatch_build": ("a build of an extension",),
    "numpy_abi_mismatch": ("another NumPy",),
    "host_compiler_unsupported": ("a compiler that is refused",),
    "compiler_lacks_gpu_arch": ("a compiler without this GPU",),
    "build_tools_missing": ("no compiler",),
    "linker_lacks_libcuda": ("no name for the linker",),
    "libdevice_not_found": ("no libdevice",),
    "shared_memory_too_small": ("no shared memory",),
    "fabric_manager_not_running": (*_DRIVER, "the fabric"),
    "pci_memory_unassigned": (*_DRIVER, "the firmware's windows"),
    "open_kernel_module_required": _DRIVER,
    "legacy_driver_required": _DRIVER,
    "cuda_compat_mismatch": _DRIVER,
    "cuda_compat_unsupported": _DRIVER,
    "container_lost_devices": _DRIVER,
    "container_cdi_unresolved": ("no description of the GPU",),
    "other_maker_gpu": ("another maker",),
    "cxx_runtime_too_old": ("an older C or C++ library",),
    "noexec_mount": ("no code from this file system",),
    "module_shadowed": ("a module of that name",),
    "python_environment_broken": ("no Python", "this module does not load"),
    "package_for_another_python": ("modules for another Python", "this module does not load"),
    "system_library_missing": ("this module does not load",),
    "installation_interrupted": ("the rest of an installation",),
    "libcuda_wrong_library": _DRIVER,
    "python_dll_search_change": _SET,
    "process_env_not_inherited": (*_SET, "another session"),
    "wrong_environment_active": ("a module of Python",),
    "framework_cpu_only_build": ("a build without CUDA", "this build uses no GPU", "a build that uses no GPU"),
    "duplicate_framework_packages": (
        "two packages",
        "a build without CUDA",
        "this build uses no GPU",
        "a build that uses no GPU",
    ),
    "tf_native_windows_unsupported": ("a build without CUDA", "this build uses no GPU", "a build that uses no GPU"),
    "vc_runtime_missing": ("Microsoft's runtime", "this module does not load", "some library is not found"),
    "page_file_too_small": ("the page file",),
    "cpu_instruction_set_missing": ("an instruction",),
    "driver_too_old": (*_DRIVER, "the driver is too old"),
    "driver_library_mismatch": _DRIVER,
    "driver_module_not_loaded": (*_DRIVER, "a module"),
    "secure_boot_blocks_module": (*_DRIVER, "no signature"),
    "uvm_stale_after_suspend": (*_DRIVER, "after a suspend"),
    "device_node_permission": (*_DRIVER, "no rights"),
    "container_no_gpu_runtime": (
        *_DRIVER,
        "the container's engine",
        "an engine without a runtime",
        "no GPU in a container",
    ),
    "wsl_libcuda_not_found": (*_DRIVER, "this library is not found"),
    "gpu_hidden_by_env": (*_DRIVER, "a variable that hides"),
    "mig_misconfigured": (*_DRIVER, "MIG"),
    "gpu_arch_too_new": ("no code for this GPU", "a computation fails", "cuDNN does not start", "a new GPU"),
    "gpu_arch_too_old": ("no code for this GPU", "a computation fails", "cuDNN does not start"),
    "gpu_memory_exhausted": ("no memory", "memory that is held", "cuDNN does not start", "cuDNN fails inside"),
    "nv_compute_cache_bad": ("the kernels' cache", "cuBLAS does not start", "cuDNN fails inside"),
    "hardware_fault": ("a failing GPU", "a computation fails", "the whole machine"),
    "requirement_broken": ("packages that do not fit", "two versions of cuDNN", "a package that wants another"),
    "variable_value_wrong": ("NCCL",),
    "nccl_failed": ("NCCL without memory", "NCCL, which names no reason", "NCCL, which waits"),
    "wrong_results": ("wrong numbers",),
}
"""Cause -> the families of messages that it produces. A cause that is missing here produces no specific message."""
