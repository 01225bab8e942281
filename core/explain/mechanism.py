"""Whether a fault of this machine makes a text such as this one: a proof needs a mechanism, not only a fault.

Two tables carry it. COMPLAINTS says what a text complains of, in families of messages; MAKES says which of them each
cause makes. A family may ask for more than its words: that the files, the versions, the status or the GPU which the text
names are those of the finding. OBJECTIONS are what in a text speaks against a fault of this machine, whatever it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from core.common.i18n import _
from core.common.versions import version_tuple
from core.explain.context import compiled_and_loaded
from core.explain.reading import CUDA_NUMBERS, ParsedText, named_libraries, read_text
from core.explain.refutations import zlib_inside
from core.knowledge.library_names import TOOLKIT_FAMILIES, LibraryName
from core.model.facts import LibraryFile, Snapshot
from core.model.findings import Evidence, Finding

VersionNumbers = tuple[int, ...]


@dataclass(frozen=True)
class FaultFacts:
    """What a finding or a proof is about, from its data: never from its sentences."""

    cause: str
    seen: Snapshot
    name: str = ""
    """The finding's id."""
    said: tuple[str, ...] = ()
    """Its subject and the texts of its evidence: paths, names, versions."""
    files: tuple[LibraryName, ...] = ()
    """Libraries among them, and those that failed when cuDNN's parts were called."""
    prefixes: tuple[str, ...] = ()
    """Environments that it concerns; empty for any program."""


def fault_facts(
    cause: str, seen: Snapshot, evidence: Iterable[Evidence], subject: str = "", name: str = ""
) -> FaultFacts:
    """Return what a finding is about, or a proof without one."""
    said = (subject, *(t for e in evidence for t in (e.label, e.value, e.source) if t))
    if cause in OF_FILES:
        # a call that failed is told with the main library, which is not thereby at fault
        files = [x for t in said for x in named_libraries(t.lower()) if x.part or x.family != "cudnn" or _in_path(t, x)]
        # zlib is opened by the parts, never by the main library
        files = [x for x in files if x.part or x.family != "cudnn" or cause != "zlibwapi_missing"] + [
            *_failed_libraries(seen)
        ]
    else:
        files = [x for t in said for x in named_libraries(t.lower())]
        files += [x for f in _files_in(seen, said) for x in named_libraries(f.name.lower())]
    prefixes = tuple(p.prefix for p in seen.pythons or () if p.prefix and any(_is_inside(t, p.prefix) for t in said))
    return FaultFacts(cause, seen, name, said, tuple(dict.fromkeys(files)), prefixes)


def of_finding(finding: Finding, seen: Snapshot) -> FaultFacts:
    """Return what a finding is about."""
    return fault_facts(finding.cause, seen, finding.evidence, finding.subject, finding.id)


def _in_path(text: str, library: LibraryName) -> bool:
    at = text.lower().find(library.name)
    return at > 0 and text[at - 1] in "/\\"


def _is_inside(text: str, prefix: str) -> bool:
    at = text.find(prefix)
    return at >= 0 and text[at + len(prefix) : at + len(prefix) + 1] in ("", "/", "\\", " ", ")", ",")


def _files_in(seen: Snapshot, folders: tuple[str, ...]) -> Iterable[LibraryFile]:
    """Libraries of the sets whose folder is named."""
    for copy in seen.cudnn or ():
        if copy.folder in folders:
            yield from copy.files
    for toolkit in seen.toolkits or ():
        if toolkit.folder in folders:
            yield from toolkit.libraries


def _failed_libraries(seen: Snapshot) -> Iterable[LibraryName]:
    """Libraries that could not be opened when cuDNN's parts were called in a child process, or that cuDNN then named."""
    for load in seen.loads or ():
        roll = load.roll_call
        if roll is None or not roll.loaded:
            continue
        failed = [c for c in roll.calls if c.result is None or (c.result and c.function.endswith("VersionCheck"))]
        texts = [
            roll.output,
            *(c.meaning for c in failed),
            *(c.library for c in failed if not c.function.startswith("cudnn")),
        ]
        for text in texts:
            yield from (x for x in named_libraries(text.lower()) if x.part or x.family != "cudnn")


# --- what a text may complain of -------------------------------------------------------------------------

Fits = Callable[[ParsedText, FaultFacts], bool]


def words_suffice(_r: ParsedText, _a: FaultFacts) -> bool:
    """The words alone are the mechanism."""
    return True


def _blamed_libraries(reading: ParsedText) -> tuple[LibraryName, ...]:
    """Libraries of CUDA, cuDNN or the driver that the text complains of; a framework's own file is only the victim."""
    return tuple(x for x in reading.blamed if x.family not in ("framework", "vcruntime"))


def same_file(reading: ParsedText, about: FaultFacts) -> bool:
    """The text blames a file that the finding is about."""
    return any(_same(x, y) and x.part == y.part for x in _blamed_libraries(reading) for y in about.files)


def same_set(reading: ParsedText, about: FaultFacts) -> bool:
    """The text blames a library of the set that the finding is about, or cuDNN as such."""
    kind = OF_KIND.get(about.cause)
    blamed = [x for x in _blamed_libraries(reading) if kind is None or (x.family in kind)]
    return any(_same(x, y) for x in blamed for y in about.files)


def zlib_is_inside(reading: ParsedText, about: FaultFacts) -> bool:
    """The text misses a zlib that this machine's cuDNN has inside: it says so whichever of its own parts it cannot open."""
    return bool(zlib_inside(reading, about.seen)) and any(x.family == "cudnn" and x.part for x in about.files)


def refuses_version(reading: ParsedText, about: FaultFacts) -> bool:
    """Where the text names the newest compiler that its nvcc accepts, this machine's nvcc has the same limit."""
    told = {m[1] for m in _NEWEST_COMPILER.finditer(reading.low)}
    return not told or any(f"gcc {limit}," in t for limit in told for t in about.said)


def same_symbol(reading: ParsedText, about: FaultFacts) -> bool:
    """A library of the finding's set was found and lacks a function."""
    return same_set(reading, about) and not any(mark.startswith("missing:") for mark in reading.marks)


def same_cudnn_symbol(reading: ParsedText, about: FaultFacts) -> bool:
    """The same of cuDNN, and the very symbol is missing when this machine's parts are called."""
    calls = [c.meaning for x in about.seen.loads or () if x.roll_call for c in x.roll_call.calls]
    here = {w for text in calls for w in _UNDEFINED.findall(text.lower())}
    return same_symbol(reading, about) and bool(here & set(_UNDEFINED.findall(reading.low)))


def _same(wanted: LibraryName, had: LibraryName) -> bool:
    """Whether two names are of one library, as far as both tell its version."""
    if wanted.family != had.family or (wanted.platform and had.platform and wanted.platform != had.platform):
        return False
    if wanted.major is None or had.major is None:
        return True
    # cuDNN's files carry a full version on Linux, and one major is one set
    minors = (
        wanted.minor is None or had.minor is None or wanted.family not in TOOLKIT_FAMILIES or wanted.minor == had.minor
    )
    return wanted.major == had.major and minors


def no_name(reading: ParsedText, _a: FaultFacts) -> bool:
    """The loader failed without a word on which library it was."""
    return not _blamed_libraries(reading)


def same_versions(reading: ParsedText, about: FaultFacts) -> bool:
    """The cuDNN that the text says was loaded is on this machine."""
    pair = compiled_and_loaded(reading.low)
    return pair is not None and _is_here(pair[1], about.seen) and _is_wanted(pair[0], about.seen)


def _is_here(loaded: VersionNumbers, seen: Snapshot) -> bool:
    here = [version_tuple(c.version) for c in seen.cudnn or ()] + [
        version_tuple(x.roll_call.version) for x in seen.loads or () if x.roll_call
    ]
    return any(_versions_agree(h, loaded) for h in here if h)


def _is_wanted(compiled: VersionNumbers, seen: Snapshot) -> bool:
    """No consumer says that it was built with another one."""
    wanted = [version_tuple(x.wanted_version) for x in seen.loads or () if x.wanted_version]
    return not wanted or any(_versions_agree(w, compiled) for w in wanted)


def _versions_agree(one: VersionNumbers, other: VersionNumbers) -> bool:
    """Whether two versions agree as far as both are told."""
    shared = min(len(one), len(other), 3)
    return shared > 0 and one[:shared] == other[:shared]


def same_status(reading: ParsedText, about: FaultFacts) -> bool:
    """What the text says of the driver most exactly is what the driver says here; where it was not asked, the words decide."""
    here = driver_says(about.seen)
    told = next((told for exact in EXACT_FIRST if (told := reading.marks & exact)), frozenset())
    if "missing:libcuda-unversioned" in reading.marks:
        # libcuda.so is another name than the libcuda.so.1 that programs open: linkers and WSL alone ask for it
        told -= {"missing:libcuda"}
    cuda = about.seen.driver.cuda if about.seen.driver else None
    return bool(told & here) or (bool(told) and cuda is None)


def starts_not(_r: ParsedText, about: FaultFacts) -> bool:
    """CUDA does not start on this machine, or was not asked."""
    cuda = about.seen.driver.cuda if about.seen.driver else None
    return cuda is None or cuda.status != 0 or not cuda.device_count


def same_package(reading: ParsedText, about: FaultFacts) -> bool:
    """The text names the framework that the finding is about."""
    told = frameworks_of(reading)
    return any(_names(about, FRAMEWORK_DISTRIBUTIONS[mark]) for mark in told)


def _names(about: FaultFacts, starts: tuple[str, ...]) -> bool:
    texts = (about.name.rsplit("-", 1)[-1], *(t.lower() for t in about.said))
    return any(re.search(rf"(?<![a-z]){re.escape(s)}(?![a-z])", text) for s in starts for text in texts)


def same_compiler(reading: ParsedText, about: FaultFacts) -> bool:
    """The text blames NVRTC of the major that the finding is about."""
    told = {x.major for x in reading.libraries if x.family in ("nvrtc", "nvrtc-builtins")}
    mine = {x.major for x in about.files if x.family in ("nvrtc", "nvrtc-builtins")}
    return bool(told & mine) or None in told or not told


def mixed_here(_r: ParsedText, about: FaultFacts) -> bool:
    """The parts of cuDNN that this machine loads say so themselves, or the finding does."""
    if about.cause == "mixed_cudnn_sublibraries":
        return True
    calls = [c for x in about.seen.loads or () if x.roll_call for c in x.roll_call.calls]
    return any("mismatch" in c.meaning.lower() or "undefined symbol" in c.meaning for c in calls)


def same_answer(reading: ParsedText, about: FaultFacts) -> bool:
    """A status or a symbol of the text is what a call of cuDNN's parts answered, or printed, on this machine."""
    rolls = [x.roll_call for x in about.seen.loads or () if x.roll_call]
    status = {w for r in rolls for c in r.calls if c.result for w in _STATUS.findall(c.meaning.lower())}
    symbols = {w for r in rolls for w in _CANNOT.findall(r.output.lower())}
    return any(w in reading.low for w in status) or any(f"symbol {w}" in reading.low for w in symbols)


_NEWEST_COMPILER = re.compile(r"gcc versions later than (\d{1,2})")
_UNDEFINED = re.compile(r"undefined symbol: ?(\w{0,200})")
_STATUS = re.compile(r"cudnn_status_(?!success)[a-z_]{4,60}")
_CANNOT = re.compile(r"cannot load symbol (\w{3,80})")


@dataclass(frozen=True)
class Complaint:
    """A family of messages: the marks that show it, and what else must agree with the finding."""

    marks: frozenset[str]
    fits: Fits = words_suffice
    system: str = ""
    shared: bool = False
    """Too many faults make it: with such a message alone the fault can be the cause, and nothing proves that it is."""


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
    # a library by its name
    "this file is not found": _family(NOT_FOUND + " cudnn-unable-any sublib-loading", same_file),
    "this file does not load": _family(UNLOADABLE_MARKS, same_file),
    "this library is not found": _family(NOT_FOUND + " cudnn-unable-any", same_set),
    "this library does not load": _family(UNLOADABLE_MARKS, same_set),
    "zlib in place of a part": _family("missing:zlibwapi", zlib_is_inside, "windows"),
    # a library without a name
    "some cuDNN is not found": _family("cudnn-not-found-words dnn-not-found", no_name, shared=True),
    "some library is not found": _family("load-failed dll-load-failed ctypes-load winmod-name torch-dll", no_name, "windows", shared=True),
    "some library does not load": _family("load-failed truncated wrong-arch win:193", no_name, shared=True),
    "a part cannot be loaded": _family("sublib-loading cudnn-invalid-handle", no_name, shared=True),
    "what the parts answer here": _family("sublib-loading sublib-mismatch cudnn-invalid-handle", same_answer),
    "the process ends inside cuDNN": _family("crash-in-cudnn nt:c0000409", no_name, shared=True),
    "the process is killed": _family("segfault", no_name, "linux", shared=True),
    # releases that do not go together
    "two versions of cuDNN": _family("pair cudnn-version-pair", same_versions),
    "parts of two releases": _family("sublib-mismatch", mixed_here),
    "a symbol of cuDNN": _family("symbol-cudnn", same_cudnn_symbol),
    "some symbol of cuDNN": _family("symbol-cudnn", same_symbol, shared=True),
    "a symbol of CUDA": _family("symbol-cublas symbol-cuda-lib symbol-version", same_symbol),
    # the driver's answer
    "the driver's answer": _family(START_MARKS, same_status),
    "the driver is too old": _family("driver-insufficient"),
    "no GPU is used": _family("cannot-use-gpu tf-no-gpu-list cpu-fallback", starts_not, shared=True),
    "no rights": _family("permission dev-nodes"),
    "no signature": _family("secure-boot"),
    "a module": _family("module-words"),
    "after a suspend": _family("suspend uvm", starts_not),
    "MIG": _family("mig", starts_not),
    "a variable that hides": _family("visible-devices", starts_not, shared=True),
    "the container's engine": _family("container-runtime container-cli"),
    # the GPU
    "no code for this GPU": _family("no-kernel-image not-compatible-gpu gpu-too-old-words cudnn-arch nvrtc-arch unknown-arch gpu:too-new gpu:too-old"),
    "no memory": _family("oom"),
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
    "a module of Python": _family("no-module"),
    "a build of an extension": _family("nvcc-mismatch"),
    "another NumPy": _family("numpy-abi"),
    "a compiler that is refused": _family("host-compiler", refuses_version),
    "a compiler without this GPU": _family("compiler-arch unknown-arch"),
    "no compiler": _family("no-compiler no-nvcc"),
    "no name for the linker": _family("ld-lcuda"),
    "no libdevice": _family("libdevice"),
    "no shared memory": _family("shm"),
    # the machine around it
    "the fabric": _family("fabric", starts_not),
    "the firmware's windows": _family("pci-memory", starts_not),
    "no description of the GPU": _family("cdi"),
    "an engine without a runtime": _family("no-gpu-request"),
    "another maker": _family("hip-own maker-amd maker-intel"),
    "an older C or C++ library": _family("cxx-runtime"),
    "no code from this file system": _family("noexec-map"),
    "a module of that name": _family("module-partial"),
    "no Python": _family("venv-broken"),
    "modules for another Python": _family("wrong-python-tag"),
    "the rest of an installation": _family("invalid-distribution"),
    "the toolkit's variable": _family("cuda-home-bad"),
    "NVRTC": _family("nvrtc-builtins nvrtc-words caffe2-nvrtc", same_compiler),
    "the page file": _family("page-file"),
    "Microsoft's runtime": _family("init-routine vc-words missing:vcruntime", words_suffice, "windows"),
    "an instruction": _family("illegal-instruction"),
    "wrong numbers": _family("wrong-numbers", shared=True),
    "another session": _family("new-shell ide", shared=True),
}  # fmt: skip
"""What a text may complain of."""

_SET = ("this library is not found", "some cuDNN is not found", "some library is not found", "a part cannot be loaded")
_FILE = (
    "this file is not found",
    "zlib in place of a part",
    "what the parts answer here",
    "a part cannot be loaded",
    "the process ends inside cuDNN",
    "some library is not found",
)
# where a file of one copy is passed over, the loader takes another copy's
_GAP = ("two versions of cuDNN", "a symbol of cuDNN", "some symbol of cuDNN")
_BROKEN = (*_FILE, *_GAP, "this file does not load", "some library does not load")
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
    "cuda_lib_shadowed": ("a symbol of CUDA", "this library does not load"),
    "cuda_path_env_wrong": ("the toolkit's variable",),
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
    "container_cdi_unresolved": ("no description of the GPU",),
    "other_maker_gpu": ("another maker",),
    "cxx_runtime_too_old": ("an older C or C++ library",),
    "noexec_mount": ("no code from this file system",),
    "module_shadowed": ("a module of that name",),
    "python_environment_broken": ("no Python",),
    "package_for_another_python": ("modules for another Python",),
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
    "vc_runtime_missing": ("Microsoft's runtime", "some library is not found"),
    "page_file_too_small": ("the page file",),
    "cpu_instruction_set_missing": ("an instruction",),
    "driver_too_old": (*_DRIVER, "the driver is too old"),
    "driver_library_mismatch": _DRIVER,
    "driver_module_not_loaded": (*_DRIVER, "a module"),
    "secure_boot_blocks_module": (*_DRIVER, "no signature"),
    "uvm_stale_after_suspend": (*_DRIVER, "after a suspend"),
    "device_node_permission": (*_DRIVER, "no rights"),
    "container_no_gpu_runtime": (*_DRIVER, "the container's engine", "an engine without a runtime"),
    "wsl_libcuda_not_found": (*_DRIVER, "this library is not found"),
    "gpu_hidden_by_env": (*_DRIVER, "a variable that hides"),
    "mig_misconfigured": (*_DRIVER, "MIG"),
    "gpu_arch_too_new": ("no code for this GPU", "a computation fails", "cuDNN does not start"),
    "gpu_arch_too_old": ("no code for this GPU", "a computation fails", "cuDNN does not start"),
    "gpu_memory_exhausted": ("no memory", "cuDNN does not start", "cuDNN fails inside"),
    "nv_compute_cache_bad": ("the kernels' cache", "cuBLAS does not start", "cuDNN fails inside"),
    "hardware_fault": ("a failing GPU", "a computation fails"),
    "requirement_broken": ("packages that do not fit", "two versions of cuDNN"),
    "wrong_results": ("wrong numbers",),
}
"""The families of messages that each cause makes. A cause that is not here makes none that points back to it."""

OF_KIND: dict[str, frozenset[str]] = {
    "cudnn_not_on_search_path": frozenset({"cudnn"}),
    "cudnn_not_installed": frozenset({"cudnn"}),
    "cudnn_major_mismatch": frozenset({"cudnn"}),
    "cuda_not_on_search_path": TOOLKIT_FAMILIES,
    "cuda_runtime_missing": TOOLKIT_FAMILIES,
    "cuda_toolkit_version_mismatch": TOOLKIT_FAMILIES,
    "cuda_lib_shadowed": TOOLKIT_FAMILIES,
}
"""The family of libraries that a cause is about, where its evidence names others too."""

OF_FILES = frozenset(
    (
        *("zlibwapi_missing", "cudnn_sublibrary_missing", "ld_library_path_override", "mixed_cudnn_sublibraries"),
        *("library_unreadable", "corrupt_or_truncated_file", "dll_wrong_architecture", "install_path_characters"),
        "cudnn_shadowed",
    )
)
"""Faults of cuDNN's files: what the roll call could not call belongs to them."""

EXACT_FIRST = tuple(
    frozenset(marks.split())
    for marks in (
        "secure-boot",
        "cuda-unknown nvml-unknown lib-mismatch-driver compat stub driver-insufficient libcuda-dlopen missing:libcuda",
        "no-device bad-ordinal",
        "no-driver-words smi-failed",
    )
)
"""Marks of the driver's answers: when a text has several, the more exact ones decide."""
NVML_SAYS = {
    # nvmlReturn_t: the words of nvidia-smi and of frameworks (nvml.h)
    9: frozenset({"no-driver-words", "smi-failed"}),
    12: frozenset({"no-driver-words", "smi-failed"}),
    18: frozenset({"lib-mismatch-driver"}),
    999: frozenset({"nvml-unknown", "cuda-unknown"}),
}
SIMILAR_MARKS = {
    # what frameworks print for the same answer of the driver
    "driver-insufficient": frozenset({"no-driver-words"}),
    "missing:libcuda": frozenset({"no-driver-words", "driver-insufficient"}),
}
_NOT_THERE = {"missing:libcuda", "libcuda-dlopen"}


def driver_says(seen: Snapshot) -> frozenset[str]:
    """Return the marks of what the driver answers on this machine; empty when it starts, or was not asked."""
    driver = seen.driver
    if driver is None:
        return frozenset()
    marks: set[str] = set()
    if driver.cuda and driver.cuda.status:
        marks |= {m.id for m in read_text(CUDA_NUMBERS.get(driver.cuda.status, driver.cuda.status_name)).symptoms}
    elif driver.cuda and driver.cuda.status is None and driver.cuda.problem:
        marks |= {"no-driver-words"} | (
            _NOT_THERE if "missing:libcuda" in read_text(driver.cuda.problem).marks else set()
        )
        marks -= set() if seen.machine.wsl else {"libcuda-dlopen"}
    if driver.nvml and driver.nvml.status:
        marks |= NVML_SAYS.get(driver.nvml.status, frozenset())
    elif driver.nvml and driver.nvml.status is None and driver.nvml.problem:
        marks |= {"no-driver-words", "smi-failed"}
    return frozenset(marks).union(*(SIMILAR_MARKS.get(m, ()) for m in marks))


# --- what speaks against any fault of this machine --------------------------------------------------------

FRAMEWORK_DISTRIBUTIONS: dict[str, tuple[str, ...]] = {
    # mark of a text: how the distributions begin
    "pytorch": ("torch",),
    "tensorflow": ("tensorflow", "keras"),
    "jax": ("jax",),
    "onnxruntime": ("onnxruntime",),
    "ctranslate2": ("ctranslate2", "faster-whisper", "whisperx"),
    "paddle": ("paddlepaddle",),
    "cupy": ("cupy",),
    "mxnet": ("mxnet",),
    "opencv": ("opencv",),
}
CAPABILITY_PATTERN = re.compile(r"(?<!supports )capability(?: of|:| is|=)?[ (]{0,2}(?:sm_?)?(\d{1,2})\.?(\d)\b")
GPU_MODEL_PATTERN = re.compile(r"\b(?:geforce |quadro |tesla |nvidia )?((?:rtx|gtx|gt) ?(?:pro |a)?\d{3,4}(?: ?ti| ?super)?|titan [xvrtp]{1,3}|(?:a(?:2|10|10g|16|30|40|100|800|6000)|h(?:20|100|200|800)|l(?:4|20|40|40s)|t4|v100|p(?:4|40|100)|k(?:20|40|80)|m(?:40|60)|b[123]00|gb\d{2,3}))\b(?=[ ,.:;)]|$|\n)")  # fmt: skip


OWN_WORDS = {
    "ort-provider": "onnxruntime",
    "ort-create": "onnxruntime",
    "torch-not-compiled": "pytorch",
    "tf-not-built": "tensorflow",
}
"""Messages that only one framework writes, whether they name it or not."""


def frameworks_of(reading: ParsedText) -> frozenset[str]:
    """Return the frameworks that a text names, or whose words it uses."""
    return (reading.marks & FRAMEWORK_DISTRIBUTIONS.keys()) | {OWN_WORDS[m] for m in reading.marks & OWN_WORDS.keys()}


def another_framework(reading: ParsedText, about: FaultFacts) -> str:
    """The finding concerns environments that have none of the frameworks which the text names."""
    told = frameworks_of(reading)
    if not told or not about.prefixes:
        return ""
    starts = tuple(s for mark in told for s in FRAMEWORK_DISTRIBUTIONS[mark])
    having = [p for p in about.seen.pythons or () if p.prefix in about.prefixes]
    if any(d.name.lower().startswith(starts) for p in having for d in p.distributions):
        return ""
    if not any(p.distributions for p in having):
        return ""
    return _("The message comes from another framework.")


def another_gpu(reading: ParsedText, about: FaultFacts) -> str:
    """The text names a GPU, or a compute capability, that this machine does not have."""
    gpus = (about.seen.driver.gpus if about.seen.driver else None) or ()
    if not gpus:
        return ""
    said = {f"{m[1]}.{m[2]}" for m in CAPABILITY_PATTERN.finditer(reading.low)}
    here = {g.compute_capability for g in gpus if g.compute_capability}
    if said and here and not said & here:
        return _("The message is about a GPU of compute capability {said}.", said=sorted(said)[0])
    models = {m[1].replace(" ", "") for m in GPU_MODEL_PATTERN.finditer(reading.low) if m[1][0] in "rg"}
    names = " ".join(g.name for g in gpus).lower().replace(" ", "")
    if models and not any(model in names for model in models):
        return _("The message is about another GPU: {said}.", said=sorted(models)[0].upper())
    return ""


ENGINE_CAUSES = ("container_no_gpu_runtime", "container_cdi_unresolved")
"""Causes that lie in an engine's set-up on its host."""


def engines_message(reading: ParsedText, about: FaultFacts) -> str:
    """A container engine's message, on a machine that is no container: it is about the engine's own set-up."""
    if about.seen.machine.container or not reading.marks & {"container-runtime", "container-cli"}:
        return ""
    tools = about.seen.tools
    if tools is not None and tools.engines and about.cause in ENGINE_CAUSES:
        return ""  # this is the engine's own machine, and its set-up was looked at
    # with a driver that is broken here, the engine can pass nothing on
    return "" if driver_says(about.seen) else _("The message comes from a container engine.")


def another_system(reading: ParsedText, about: FaultFacts) -> str:
    """Every library that the text blames has a name of the other system."""
    told = {x.platform for x in reading.blamed if x.platform}
    if told and about.seen.machine.system not in told and not about.seen.machine.wsl:
        return _("The message names files of another system.")
    return ""


def another_library(reading: ParsedText, about: FaultFacts) -> str:
    """The text blames libraries of one kind only, and the finding's are of another kind or another major."""
    blamed = [x for x in _blamed_libraries(reading) if x.family != "zlibwapi"]
    mine = [y for y in about.files if y.family != "zlibwapi"]
    if not blamed or not mine or any(_same(x, y) for x in blamed for y in mine):
        return ""
    if {x.family for x in blamed} & {"nvrtc", "nvrtc-builtins"} and about.cause == "nvrtc_missing_or_mismatch":
        return ""
    return _("The message names another library: {name}.", name=blamed[0].name)


def another_release(reading: ParsedText, about: FaultFacts) -> str:
    """The text asks for cuDNN's files by a full version that no copy on this machine has."""
    asked = {(x.major, x.minor) for x in _blamed_libraries(reading) if x.family == "cudnn" and x.minor is not None}
    here = {
        version_tuple(v)[:2] for c in about.seen.cudnn or () for v in (c.version, *(f.version for f in c.files)) if v
    }
    if not asked or not here or asked & here:
        return ""
    return _("The message comes from cuDNN {version}.", version=".".join(map(str, max(asked))))


def another_copy(reading: ParsedText, about: FaultFacts) -> str:
    """The text says that it loaded a cuDNN of a major version which is not on this machine."""
    opened = {x.major for x in reading.opened if x.family == "cudnn" and x.major is not None}
    if not opened or about.seen.cudnn is None or opened & {c.major for c in about.seen.cudnn}:
        return ""
    return _(
        "The message comes from a program that loaded cuDNN {major}, which is not on this machine.", major=max(opened)
    )


WITHOUT_DRIVER = ("driver_module_not_loaded", "secure_boot_blocks_module", "container_no_gpu_runtime")
"""Causes by which no driver answers at all."""
ANSWERS_OF_A_MODULE = frozenset({"lib-mismatch-driver", "ptx-toolchain", "key-rejected"})
"""Marks of messages that a loaded module, or the kernel that refused it, alone leads to."""


def a_driver_answers(reading: ParsedText, about: FaultFacts) -> str:
    """In the text a driver gives its version or is refused for its signature; on this machine none is loaded."""
    if about.cause not in WITHOUT_DRIVER:
        return ""
    refused = {"key-rejected"} if about.cause == "secure_boot_blocks_module" else set()
    if (
        reading.marks & ANSWERS_OF_A_MODULE - refused
        or "(found version " in reading.low
        or "nvrm version" in reading.low
    ):
        return _("In the message a driver answers; on this machine none does.")
    return ""


_SETS_DEVICES = re.compile(r"os\.environ\[['\"]cuda_visible_devices['\"]\]\s{0,3}=")


def the_program_hides(reading: ParsedText, about: FaultFacts) -> str:
    """The text shows a program that itself says which GPUs it may see."""
    if about.cause == "gpu_hidden_by_env" or not _SETS_DEVICES.search(reading.low):
        return ""
    return _("In the message the program itself sets CUDA_VISIBLE_DEVICES.") if _is_about_start(about) else ""


OTHER_MAKERS = frozenset({"maker-amd", "maker-apple", "hip-own", "macos"})
_OURS = re.compile(r"nvidia|geforce|quadro|tesla")


def another_maker(reading: ParsedText, about: FaultFacts) -> str:
    """The text names a GPU or a computer of another maker and none of NVIDIA; this machine has one of NVIDIA."""
    if about.cause == "other_maker_gpu" or not reading.marks & OTHER_MAKERS or _OURS.search(reading.low):
        return ""
    driver = about.seen.driver
    here = driver is not None and bool(driver.gpus or any(d.vendor_id.lower() == "10de" for d in driver.pci or ()))
    return _("The message is about a GPU of another maker.") if here else ""


OF_A_SESSION = ("device_node_permission", "gpu_hidden_by_env")
"""Causes that concern this user or these variables, which no container has."""
_IN_CONTAINER = re.compile(r"root@[0-9a-f]{12}:|\(container\)|in the container")


def of_a_container(reading: ParsedText, about: FaultFacts) -> str:
    """The text comes from inside a container, and this machine is none: what this user may do is not what it may."""
    if about.seen.machine.container or about.cause not in OF_A_SESSION:
        return ""
    return _("The message comes from a container.") if _IN_CONTAINER.search(reading.low) else ""


def after_a_sleep(reading: ParsedText, about: FaultFacts) -> str:
    """The text tells of a sleep, and this machine has not slept since it was started."""
    driver = about.seen.driver
    if "suspend" not in reading.marks or driver is None or driver.resumed != 0.0 or not _is_about_start(about):
        return ""
    return _("The message came after a sleep; this machine has not slept since it was started.")


def _is_about_start(about: FaultFacts) -> bool:
    return "the driver's answer" in CAUSED_COMPLAINTS.get(about.cause, ())


OBJECTIONS: tuple[Callable[[ParsedText, FaultFacts], str], ...] = (
    another_system,
    engines_message,
    another_gpu,
    another_framework,
    another_library,
    another_release,
    another_copy,
    a_driver_answers,
    the_program_hides,
    another_maker,
    of_a_container,
    after_a_sleep,
)


@dataclass(frozen=True)
class Mechanism:
    """Whether a fault makes a text."""

    by: tuple[str, ...] = ()
    """Families of messages that the fault makes, and the text is of."""
    sure: bool = False
    """At least one of them is not shared by many faults."""
    against: str = ""
    """What in the text speaks against it, in one sentence; empty when nothing does."""

    @property
    def proves(self) -> bool:
        """A mechanism of its own, and nothing against it."""
        return self.sure and not self.against

    @property
    def may(self) -> bool:
        """Such a fault can make such a text, as others can; nothing is against it."""
        return bool(self.by) and not self.against


def mismatch_with_machine(reading: ParsedText, seen: Snapshot) -> str:
    """Return what in a text does not fit this machine, whatever its faults: one sentence, or nothing."""
    here = FaultFacts("", seen)
    return next(
        (said for object_ in (another_gpu, another_copy, another_release) if (said := object_(reading, here))), ""
    )


def find_mechanism(reading: ParsedText, about: FaultFacts) -> Mechanism:
    """Return whether a fault, as it was found, makes such a text."""
    by = tuple(
        name
        for name in CAUSED_COMPLAINTS.get(about.cause, ())
        if (c := COMPLAINTS[name]).marks & reading.marks
        and c.system in ("", about.seen.machine.system)
        and c.fits(reading, about)
    )
    against = next((said for object_ in OBJECTIONS if (said := object_(reading, about))), "") if by else ""
    return Mechanism(by, any(not COMPLAINTS[name].shared for name in by), against)
