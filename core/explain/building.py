"""Proofs and refutations about compilers, linkers and containers: each returns evidence; nothing if it does not decide."""

from __future__ import annotations

from core.common.i18n import _
from core.common.late_pattern import late_pattern
from core.common.versions import version_tuple, whole_number
from core.explain.proofs import ProofEvidence, container_without_driver
from core.explain.reading import ParsedText
from core.knowledge.releases import compatibility_table
from core.model.facts import Gpu, Linking, Snapshot, Toolkit
from core.model.findings import Evidence
from core.rules import collectives
from core.rules.driver.compatibility import code_runs
from core.rules.driver.facts import NVIDIA_VENDOR_ID
from core.rules.snapshot_queries import capability_number
from core.rules.tools import engines_without_gpu, judged_compiler, used_compiler

PLENTY = 4 << 30
ASKS_FOR_C = late_pattern(
    r"failed to find c compiler|no such file or directory: '(?:gcc|g\+\+|cc|c\+\+|x86_64-linux-gnu-g\w\w)'"
    r"|command '[\w-]*g(?:cc|\+\+)' failed: no such"
)
"""Messages of build tools about a missing C compiler itself, not a header or another tool."""
NAMED_NVCC = late_pattern(r"[\\/]bin[\\/]nvcc\b")
"""An nvcc given by path: the fault is the path, not a missing nvcc."""
BUILT_FOR = late_pattern(r"\b(?:compute|sm)_(\d{2,3})[af]?\b")
LIBDEVICE_PACKAGE = late_pattern(r"nvidia-cuda-(?:nvcc|nvvm)(?:-cu\d\d)?|cuda-nvcc.*|cuda-toolkit")
LIBDEVICE_READER = late_pattern(
    r"tensorflow|tf[-_]nightly|intel-tensorflow|jax|numba|triton|torch|keras|paddle|cupy|warp"
)
"""Packages that compile, or contain what compiles, kernels with libdevice."""
XLA_LOOKS = "/usr/local/cuda"
"""Where XLA searches for nvvm/libdevice, however it was built (xla/tsl: CandidateCudaRoots)."""


def host_compiler_refused(_r: ParsedText, seen: Snapshot) -> ProofEvidence:
    """The nvcc that builds use rejects the host compiler that they use."""
    return _host_compiler(seen, refused=True)


def host_compiler_accepted(_r: ParsedText, seen: Snapshot) -> ProofEvidence:
    """The nvcc that builds use accepts the host compiler."""
    return _host_compiler(seen, refused=False)


def _host_compiler(seen: Snapshot, *, refused: bool) -> ProofEvidence:
    judged = judged_compiler(seen)
    if judged is None or judged[3] is not refused:
        return ()
    nvcc, used, limits, _refused = judged
    return (
        Evidence(label=_("Compiler"), value=f"{used.kind} {used.version} ({used.path})", source=used.named_by),
        Evidence(
            label=_("Newest that nvcc accepts"),
            value=f"gcc {limits.gcc}, clang {limits.clang} (CUDA {limits.cuda}, {nvcc.nvcc})",
            source=limits.source,
        ),
    )


def nvcc_lacks_gpu(reading: ParsedText, seen: Snapshot) -> ProofEvidence:
    """The nvcc that builds use makes no machine code for a GPU of this machine; if the text names one, for that one."""
    said = {number for m in BUILT_FOR.findall(reading.low) if (number := whole_number(m)) is not None}
    return _nvcc_and_gpu(seen, lacks=True, said=said)


def nvcc_has_gpu(_r: ParsedText, seen: Snapshot) -> ProofEvidence:
    """The nvcc that builds use makes machine code for every GPU of this machine."""
    gpus = seen.driver.gpus if seen.driver else None
    found = _nvcc_and_gpu(seen, lacks=False, said=set())
    return found if found and len(found) == len(gpus or ()) else ()


def _nvcc_and_gpu(seen: Snapshot, *, lacks: bool, said: set[int]) -> ProofEvidence:
    nvcc = used_compiler(seen)
    row = _made_by(nvcc)
    if nvcc is None or row is None:
        return ()

    def fits(gpu: Gpu) -> bool:
        number = capability_number(gpu.compute_capability)
        if number is None or (said and number not in said):
            return False
        # The text asks for exactly this capability, which older code of the same major version does not provide.
        if said or not lacks:
            return (number not in row) is lacks
        return code_runs(row, number) is False

    return tuple(
        Evidence(
            label=_("GPU, and the compiler"),
            value=f"{g.name} ({g.compute_capability}); CUDA {nvcc.nvcc_version or nvcc.version}",
            source=nvcc.nvcc,
        )
        for g in (seen.driver.gpus if seen.driver else None) or ()
        if fits(g)
    )


def _made_by(nvcc: Toolkit | None) -> tuple[int, ...] | None:
    release = version_tuple(nvcc.nvcc_version or nvcc.version)[:2] if nvcc else ()
    return next((r.sm for r in compatibility_table().toolkits if version_tuple(r.cuda)[:2] == release), None)


def no_compiler(reading: ParsedText, seen: Snapshot) -> ProofEvidence:
    """The text misses a C compiler or nvcc, and the machine has none."""
    if ASKS_FOR_C.search(reading.low) and seen.tools is not None and not seen.tools.compilers:
        return (Evidence(label=_("C compiler"), value=_("none"), source="PATH, CC, CXX"),)
    nvcc = any(t.nvcc for t in seen.toolkits or ())
    if "no-nvcc" in reading.marks and not NAMED_NVCC.search(reading.low) and seen.toolkits is not None and not nvcc:
        return (Evidence(label="nvcc", value=_("none"), source=_("toolkits of this machine")),)
    return ()


def compilers_there(_r: ParsedText, seen: Snapshot) -> ProofEvidence:
    """A C compiler and nvcc are where programs search for them."""
    nvcc = used_compiler(seen)
    if nvcc is None or seen.tools is None or not seen.tools.compilers:
        return ()
    return tuple(Evidence(label=_("Compiler"), value=path) for path in (seen.tools.compilers[0].path, nvcc.nvcc))


def no_libcuda_link(reading: ParsedText, seen: Snapshot) -> ProofEvidence:
    """A linker finds no file with the name without a number, beside the driver's library or where there is none."""
    libraries = seen.driver.libraries if seen.driver else None
    there = next((lib.path for lib in libraries or () if lib.path.endswith("/libcuda.so.1") and not lib.stub), "")
    if seen.tools is None or libraries is None or (libraries and not there):
        return ()
    blamed = _linking(reading, seen)
    if any(one.link and one.drivers for one in blamed) or (seen.tools.libcuda_link and not blamed):
        return ()
    where = ", ".join(dict.fromkeys(f for one in blamed for f in one.drivers))
    return (
        Evidence(label="libcuda.so.1", value=there or _("none")),
        Evidence(label="libcuda.so", value=_("none"), source=where or _("folders of the linker, LIBRARY_PATH")),
    )


def libcuda_link_there(reading: ParsedText, seen: Snapshot) -> ProofEvidence:
    """The linker finds libcuda.so."""
    blamed = _linking(reading, seen)
    links = [o.link for o in blamed if o.drivers] if blamed else [seen.tools.libcuda_link if seen.tools else ""]
    return tuple(Evidence(label="libcuda.so", value=link) for link in dict.fromkeys(links)) if all(links) else ()


def _linking(reading: ParsedText, seen: Snapshot) -> list[Linking]:
    """Return what a text says that it links kernels, with what its linker finds."""
    every = seen.tools.linking if seen.tools else ()
    return [one for one in every if one.reader.lower().removeprefix("pytorch-").split("-")[0].split()[0] in reading.low]


def _brings_libdevice(seen: Snapshot) -> list[str]:
    having = [t.nvcc for t in seen.toolkits or () if t.nvcc]
    return having + [
        f"{d.name} {d.version} ({p.prefix})"
        for p in seen.pythons or ()
        for d in p.distributions
        if LIBDEVICE_PACKAGE.fullmatch(d.name.lower())
    ]


def no_libdevice(_r: ParsedText, seen: Snapshot) -> ProofEvidence:
    """A package that needs libdevice is installed, and neither a toolkit with a compiler nor a package contains it."""
    names = {d.name.lower() for p in seen.pythons or () for d in p.distributions}
    if seen.toolkits is None or not any(LIBDEVICE_READER.match(name) for name in names) or _brings_libdevice(seen):
        return ()
    return (
        Evidence(label=_("Toolkits with a compiler"), value=_("none")),
        Evidence(label="nvidia-cuda-nvcc", value=_("in no environment")),
    )


def libdevice_there(_r: ParsedText, seen: Snapshot) -> ProofEvidence:
    """A toolkit with its compiler, which contains libdevice, is where XLA always searches."""
    found = [t for t in seen.toolkits or () if t.nvcc and XLA_LOOKS in (t.root, *t.named_by)]
    return tuple(Evidence(label=_("Toolkits with a compiler"), value=t.root, source=XLA_LOOKS) for t in found)


def small_shared_memory(_r: ParsedText, seen: Snapshot) -> ProofEvidence:
    """A container has the engines' default amount of shared memory."""
    return collectives.small_shared_memory(seen)


def large_shared_memory(_r: ParsedText, seen: Snapshot) -> ProofEvidence:
    """There is more shared memory than the default."""
    size = seen.tools.shared_memory if seen.tools else None
    return (
        (Evidence(label=collectives.SHARED_MEMORY, value=f"{size >> 30} GiB"),)
        if size is not None and size >= PLENTY
        else ()
    )


_ASKED = late_pattern(r"nvidia\.com/gpu=([\w.:-]{1,80})")


def no_gpu_description(reading: ParsedText, seen: Snapshot) -> ProofEvidence:
    """A host with a container engine, and no specification that describes its GPUs, none with the device asked for, or
    one that names a file which the text misses and which is not there.
    """
    tools = seen.tools
    if tools is None or seen.machine.container or not tools.engines:
        return ()
    named = {d.lower() for one in tools.descriptions for d in one.devices}
    asked = [d for d in dict.fromkeys(_ASKED.findall(reading.low)) if d not in named]
    if lost := [(p, one.path) for one in tools.descriptions for p in one.lost if f'"{p.lower()}"' in reading.low]:
        return tuple(Evidence(label=path, value=_("is not there"), source=where) for path, where in lost)
    if tools.gpu_descriptions and not (named and asked):
        return ()
    there = [
        Evidence(label=_("Devices that it describes"), value=", ".join(o.devices), source=o.path)
        for o in tools.descriptions
    ]
    return (
        *(Evidence(label=_("Container engine"), value=e.name, source=e.path) for e in tools.engines),
        *(
            there
            or [Evidence(label=_("Description of the GPUs (CDI)"), value=_("none"), source="/etc/cdi, /var/run/cdi")]
        ),
    )


def gpu_description_there(reading: ParsedText, seen: Snapshot) -> ProofEvidence:
    """A specification describes the device asked for, names the driver that is loaded, and only files that are there."""
    tools, driver = seen.tools, seen.driver
    if tools is None or driver is None or not tools.gpu_descriptions or not driver.module_version:
        return ()
    named = {c.version for c in driver.cdi or ()}
    described = {d.lower() for one in tools.descriptions for d in one.devices}
    asked = set(_ASKED.findall(reading.low))
    if named != {driver.module_version} or any(o.lost for o in tools.descriptions) or not asked <= described:
        return ()
    return tuple(Evidence(label=_("Description of the GPUs (CDI)"), value=p) for p in tools.gpu_descriptions)


def container_without_gpu(reading: ParsedText, seen: Snapshot) -> ProofEvidence:
    """Inside a container: nothing of the driver was passed in. On its host: the engine cannot pass it on."""
    names = engines_without_gpu(seen)
    if not names or "no-gpu-request" not in reading.marks:
        return container_without_driver(reading, seen)
    return (
        Evidence(label=_("Container engine"), value=", ".join(names)),
        Evidence(label="nvidia-ctk", value=_("not found"), source="/usr/bin"),
    )


def another_makers_gpu(_r: ParsedText, seen: Snapshot) -> ProofEvidence:
    """The machine has display devices of AMD or Intel, and none of NVIDIA."""
    devices = (seen.driver.pci if seen.driver else None) or ()
    makers = {"1002": "AMD", "8086": "Intel"}
    if not devices or any(d.vendor_id.lower() == NVIDIA_VENDOR_ID for d in devices) or seen.machine.wsl:
        return ()
    return tuple(
        Evidence(label=_("Device"), value=f"{d.name or d.device_id} ({makers[d.vendor_id.lower()]})", source=d.source)
        for d in devices
        if d.vendor_id.lower() in makers
    )
