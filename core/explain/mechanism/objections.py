"""Evidence in a text against a fault of this machine."""

from __future__ import annotations

from collections.abc import Callable

from core.common.i18n import _
from core.common.late_pattern import late_pattern
from core.common.versions import version_tuple
from core.explain.mechanism.complaints import CAUSED_COMPLAINTS
from core.explain.mechanism.driver_answers import driver_marks
from core.explain.mechanism.fault_facts import FaultFacts
from core.explain.mechanism.frameworks import FRAMEWORK_DISTRIBUTIONS, frameworks_of
from core.explain.mechanism.libraries import blamed_libraries, is_same_library
from core.explain.origin import driver_mismatch, file_mismatch, python_mismatch, toolkit_mismatch, torch_mismatch
from core.explain.reading import ParsedText
from core.model.facts import Snapshot

CAPABILITY_PATTERN = late_pattern(r"(?<!supports )capability(?: of|:| is|=)?[ (]{0,2}(?:sm_?)?(\d{1,2})\.?(\d)\b")
GPU_MODEL_PATTERN = late_pattern(r"\b(?:geforce |quadro |tesla |nvidia |on an? )?((?:rtx|gtx|gt) ?(?:pro |a)?\d{3,4}(?: ?ti| ?super)?|titan [xvrtp]{1,3}|(?:a(?:2|10|10g|16|30|40|100|800|6000)|h(?:20|100|200|800)|l(?:4|20|40|40s)|t4|v100|p(?:4|40|100)|k(?:20|40|80)|m(?:40|60)|b[123]00|gb\d{2,3})|mx ?\d{3})\b(?=[ ,.:;)\-]|$|\n)")  # fmt: skip


def another_framework(reading: ParsedText, about: FaultFacts) -> str:
    """The finding concerns environments without any of the frameworks that the text names."""
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
    """The text names a GPU or a compute capability that this machine does not have."""
    gpus = (about.seen.driver.gpus if about.seen.driver else None) or ()
    if not gpus:
        return ""
    said = {f"{m[1]}.{m[2]}" for m in CAPABILITY_PATTERN.finditer(reading.low)}
    here = {g.compute_capability for g in gpus if g.compute_capability}
    if said and here and not said & here:
        return _("The message is about a GPU of compute capability {said}.", said=sorted(said)[0])
    # A bare "t4" or "p100" may be anything; after the maker's name it is a GPU.
    models = {
        m[1].replace(" ", "")
        for m in GPU_MODEL_PATTERN.finditer(reading.low)
        if m[1].startswith(("rtx", "gtx", "gt", "mx")) or m[0] != m[1]
    }
    names = " ".join(g.name for g in gpus).lower().replace(" ", "")
    if models and not any(model in names for model in models):
        return _("The message is about another GPU: {said}.", said=sorted(models)[0].upper())
    return ""


ENGINE_CAUSES = ("container_no_gpu_runtime", "container_cdi_unresolved")
"""Causes in a container engine's set-up on its host."""


def engines_message(reading: ParsedText, about: FaultFacts) -> str:
    """A container engine's message, on a machine that is no container: it is about the engine's own set-up."""
    if about.seen.machine.container or not reading.marks & {"container-runtime", "container-cli"}:
        return ""
    tools = about.seen.tools
    if tools is not None and tools.engines and about.cause in ENGINE_CAUSES:
        return ""  # This is the engine's own machine, and its set-up was examined.
    # With a broken driver on the host, the engine has nothing to pass on.
    return "" if driver_marks(about.seen) else _("The message comes from a container engine.")


def another_system(reading: ParsedText, about: FaultFacts) -> str:
    """Every library that the text blames has a name of the other system."""
    told = {x.platform for x in reading.blamed if x.platform}
    if told and about.seen.machine.system not in told and not about.seen.machine.wsl:
        return _("The message names files of another system.")
    return ""


def inside_wsl(reading: ParsedText, about: FaultFacts) -> str:
    """The text comes from WSL, and this machine is Linux itself."""
    machine = about.seen.machine
    if "wsl" not in reading.marks or machine.system != "linux" or machine.wsl:
        return ""
    return _("The message comes from WSL.")


def another_library(reading: ParsedText, about: FaultFacts) -> str:
    """The text blames libraries of one kind only, and the finding's are of another kind or major version."""
    every = blamed_libraries(reading)
    blamed = [x for x in every if x.family != "zlibwapi"]
    mine = [y for y in about.files if y.family != "zlibwapi"]
    of_8 = any(y.family == "cudnn" and y.major == 8 for y in mine)  # which names zlib when it lacks a part of its own
    if every and not blamed and about.cause == "cudnn_sublibrary_missing" and not of_8:
        return _("The message names another library: {name}.", name=every[0].name)
    if not blamed or not mine or any(is_same_library(x, y) for x in blamed for y in mine):
        return ""
    if {x.family for x in blamed} & {"nvrtc", "nvrtc-builtins"} and about.cause == "nvrtc_missing_or_mismatch":
        return ""
    return _("The message names another library: {name}.", name=blamed[0].name)


def another_release(reading: ParsedText, about: FaultFacts) -> str:
    """The text requests cuDNN's files by a full version that no copy on this machine has."""
    asked = {(x.major, x.minor) for x in blamed_libraries(reading) if x.family == "cudnn" and x.minor is not None}
    here = {
        version_tuple(v)[:2] for c in about.seen.cudnn or () for v in (c.version, *(f.version for f in c.files)) if v
    }
    if not asked or not here or asked & here:
        return ""
    return _("The message comes from cuDNN {version}.", version=".".join(map(str, max(asked))))


def another_copy(reading: ParsedText, about: FaultFacts) -> str:
    """The text reports a loaded cuDNN of a major version that is not on this machine."""
    opened = {x.major for x in reading.opened if x.family == "cudnn" and x.major is not None}
    if not opened or about.seen.cudnn is None or opened & {c.major for c in about.seen.cudnn}:
        return ""
    return _(
        "The message comes from a program that loaded cuDNN {major}, which is not on this machine.", major=max(opened)
    )


def another_driver(reading: ParsedText, about: FaultFacts) -> str:
    """The text shows another driver than the one here."""
    return driver_mismatch(reading, about.seen)


def another_environment(reading: ParsedText, about: FaultFacts) -> str:
    """The text comes from a Python, or names a build of PyTorch, that no environment here has."""
    return python_mismatch(reading, about.seen) or torch_mismatch(reading, about.seen)


def another_toolkit_folder(reading: ParsedText, about: FaultFacts) -> str:
    """The text names the folder of a CUDA release, or of a library, that is not here."""
    return toolkit_mismatch(reading, about.seen) or file_mismatch(reading, about.seen)


WITHOUT_DRIVER = (
    *("driver_module_not_loaded", "secure_boot_blocks_module", "container_no_gpu_runtime", "wsl_libcuda_not_found"),
)
"""Causes with which no driver responds at all."""
ANSWERS_OF_A_MODULE = frozenset({"lib-mismatch-driver", "ptx-toolchain", "key-rejected", "no-devices"})
"""Marks of messages that need a loaded module, or a kernel that rejected it."""


def driver_responds(reading: ParsedText, about: FaultFacts) -> str:
    """In the text, a driver reports its version or was rejected for its signature; on this machine none is loaded."""
    if about.cause not in WITHOUT_DRIVER:
        return ""
    refused = {"key-rejected"} if about.cause == "secure_boot_blocks_module" else set()
    if (
        reading.marks & ANSWERS_OF_A_MODULE - refused
        or "(found version " in reading.low
        or "nvrm version" in reading.low
    ):
        return _("In the message, a driver responds; on this machine, none does.")
    return ""


_SETS_DEVICES = late_pattern(r"os\.environ\[['\"]cuda_visible_devices['\"]\]\s{0,3}=")


def program_selects_gpus(reading: ParsedText, about: FaultFacts) -> str:
    """The text shows a program that itself selects the GPUs that it sees."""
    if about.cause == "gpu_hidden_by_env" or not _SETS_DEVICES.search(reading.low):
        return ""
    return _("In the message, the program itself sets CUDA_VISIBLE_DEVICES.") if _is_about_start(about) else ""


OTHER_MAKERS = frozenset({"maker-amd", "maker-apple", "hip-own", "macos"})
_OURS = late_pattern(r"nvidia|geforce|quadro|tesla")


def another_maker(reading: ParsedText, about: FaultFacts) -> str:
    """The text names a GPU or a computer of another maker and none of NVIDIA's; this machine has one of NVIDIA's."""
    if about.cause == "other_maker_gpu" or not reading.marks & OTHER_MAKERS or _OURS.search(reading.low):
        return ""
    driver = about.seen.driver
    here = driver is not None and bool(driver.gpus or any(d.vendor_id.lower() == "10de" for d in driver.pci or ()))
    return _("The message is about a GPU of another maker.") if here else ""


OF_A_SESSION = ("device_node_permission", "gpu_hidden_by_env", "uvm_stale_after_suspend")
"""Causes in this user's rights, these variables or a computer that slept, which a container does not share."""
_IN_CONTAINER = late_pattern(r"root@[0-9a-f]{12}:|\(container\)|in the container")


def inside_container(reading: ParsedText, about: FaultFacts) -> str:
    """The text comes from inside a container, and this machine is none, so the rights of this user prove nothing."""
    if about.seen.machine.container or about.cause not in OF_A_SESSION:
        return ""
    told = _IN_CONTAINER.search(reading.low) or reading.marks & {"devices-taken", "no-gpu-in-container"}
    return _("The message comes from a container.") if told else ""


OF_THE_BUILD = ("gpu_arch_too_new", "gpu_arch_too_old")


def compiler_reports(reading: ParsedText, about: FaultFacts) -> str:
    """A compiler or the driver's compiler reports the error; machine code of an installed framework is not involved."""
    if about.cause not in OF_THE_BUILD or not reading.marks & {"compiler-arch", "ptx-toolchain"}:
        return ""
    return _("The message comes from a compiler, not from an installed framework.")


def after_suspend(reading: ParsedText, about: FaultFacts) -> str:
    """The text mentions a suspend, and this machine has not slept since it started."""
    driver = about.seen.driver
    if "suspend" not in reading.marks or driver is None or driver.resumed != 0.0 or not _is_about_start(about):
        return ""
    return _("The message came after a suspend; this machine has not been suspended since it was started.")


def _is_about_start(about: FaultFacts) -> bool:
    return "the driver's answer" in CAUSED_COMPLAINTS.get(about.cause, ())


OBJECTIONS: tuple[Callable[[ParsedText, FaultFacts], str], ...] = (
    another_system,
    inside_wsl,
    engines_message,
    another_gpu,
    another_framework,
    another_library,
    another_release,
    another_copy,
    another_driver,
    another_environment,
    another_toolkit_folder,
    driver_responds,
    program_selects_gpus,
    another_maker,
    inside_container,
    compiler_reports,
    after_suspend,
)


def mismatch_with_machine(reading: ParsedText, seen: Snapshot) -> str:
    """Return what in a text does not fit this machine, whatever its faults, in one sentence; empty if nothing."""
    here = FaultFacts("", seen)
    of_machine = (
        another_gpu,
        another_copy,
        another_release,
        another_driver,
        another_environment,
        another_toolkit_folder,
    )
    return next((said for object_ in of_machine if (said := object_(reading, here))), "")
