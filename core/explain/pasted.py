"""What a text shows about the machine that it came from: a pasted nvidia-smi, pip list, collect_env or kernel log.

With this, a help desk without a report can prove and refute causes. The facts describe the machine when the text was
written; if the machine or its report is available, that takes precedence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from core.common.i18n import _, join_sentences
from core.common.late_pattern import late_pattern
from core.common.versions import version_tuple
from core.explain.reading import ParsedText
from core.knowledge.causes import Cause
from core.knowledge.frameworks import framework_tables
from core.model.findings import Evidence

_SMI_HEAD = late_pattern(
    r"NVIDIA-SMI (\d{3}[\d.]*)[^\n]{0,60}?Driver Version: (\d{3}[\d.]*)(?:[^\n]{0,30}?CUDA Version: (\d{1,2}\.\d))?"
)
_SMI_GPU = late_pattern(
    r"\|\s{1,3}(\d{1,2})\s{1,3}((?:NVIDIA|Tesla|GeForce|Quadro|GRID|GTX|RTX|A|H|B|L|V)[\w .\-]{2,40}?)\s{2,}(?:On|Off|N/A|WDDM|TCC|MCDM)?\s[^\n]{0,100}\n"
    r"\|[^\n]{0,60}?(\d{1,7})MiB\s{0,3}/\s{0,4}(\d{1,7})MiB[^\n]{0,60}(?:\n\|[^\n]{0,100}?(Enabled|Disabled|N/A)\s{0,4}\|)?"
)  # fmt: skip
_SMI_L = late_pattern(r"^\s{0,4}GPU (\d{1,2}): ((?:NVIDIA|Tesla|GeForce|Quadro)[^\n(]{2,50})\(UUID: GPU-", re.MULTILINE)
_FREEZE = late_pattern(
    r"^\s{0,4}(?:\[(?:pip3?|conda)\] )?([A-Za-z][\w.\-]{1,50})==(\d[\w.+!\-]{0,40})\s{0,3}$", re.MULTILINE
)
_COLUMNS = late_pattern(
    r"^[ \t]{0,4}(?:\[(?:pip3?|conda)\] )?([A-Za-z][\w.\-]{1,50})[ \t]{2,60}(\d+\.[\w.+!\-]{1,40})(?:[ \t]+[^\n]{0,120})?$",
    re.MULTILINE,
)
_COLUMN_HEAD = late_pattern(r"^\s{0,4}(?:Package\s+Version|# Name\s+Version)", re.MULTILINE)
_ENVIRONMENT = late_pattern(
    r"^(PyTorch version|CUDA used to build PyTorch|ROCM used to build PyTorch|OS|Is CUDA available|CUDA runtime version|Nvidia driver version|"
    r"cuDNN version|Python version|GPU models and configuration|Libc version|CUDA_MODULE_LOADING set to): ?([^\n]{0,120})",
    re.MULTILINE,
)
_MODULE = late_pattern(r"NVRM: loading NVIDIA UNIX[^\n]{0,60}?Kernel Module[^\n]{0,20}?\s(\d{3}\.[\d.]+)")
_OOM = late_pattern(r"[Tt]ried to allocate (\d{1,5}(?:\.\d{1,2})?) ?([GM])iB")
_FREE = late_pattern(r"(\d{1,5}(?:\.\d{1,2})?) ?([GMK])iB (?:is )?free")
LEAST_ROWS = 4
"""Minimum number of rows with names and versions for a list of packages."""
MOST_ROWS = 2000
MAX_GPUS = 4
"""Maximum number of GPUs named in a sentence."""


@dataclass(frozen=True)
class PastedGpu:
    """One row of nvidia-smi."""

    name: str
    used: int = 0
    """In MiB."""
    total: int = 0
    mig: str = ""


@dataclass(frozen=True)
class Pasted:
    """Everything that a text shows about its machine."""

    driver: str = ""
    driver_cuda: str = ""
    """The newest CUDA that the driver supports, according to nvidia-smi."""
    gpus: tuple[PastedGpu, ...] = ()
    packages: Mapping[str, str] = field(default_factory=dict)
    """Normalised name of a distribution -> version."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """The lines of torch.utils.collect_env."""
    module: str = ""
    """Version of the kernel module, from the kernel log."""

    @property
    def cuda_works(self) -> bool:
        """Whether PyTorch reported that CUDA is available."""
        return self.environment.get("Is CUDA available", "") == "True"

    @property
    def torch(self) -> str:
        """PyTorch's version with its suffix."""
        return self.environment.get("PyTorch version", "").strip() or self.packages.get("torch", "")

    @property
    def torch_cuda(self) -> str:
        """The CUDA that PyTorch was built with; "none" without CUDA, empty if unknown."""
        built = self.environment.get("CUDA used to build PyTorch", "").strip()
        if built:
            return "none" if built in ("None", "Could not collect", "N/A") else built
        suffix = self.torch.partition("+")[2]
        if suffix.startswith("cu") and suffix[2:].isdigit():
            return f"{suffix[2:-1]}.{suffix[-1]}"
        return "none" if suffix == "cpu" else ""


def read_pasted(text: str) -> Pasted:
    """Return what a text shows of its machine. The cost is linear in the length of the text."""
    head = _SMI_HEAD.search(text)
    gpus = tuple(PastedGpu(m[2].strip(), int(m[3]), int(m[4]), m[5] or "") for m in _SMI_GPU.finditer(text))
    listed = tuple(PastedGpu(m[2].strip()) for m in _SMI_L.finditer(text))
    module = _MODULE.search(text)
    return Pasted(
        driver=head[2] if head else "",
        driver_cuda=(head[3] or "") if head else "",
        gpus=gpus or listed,
        packages=_packages(text),
        environment={m[1]: m[2].strip() for m in _ENVIRONMENT.finditer(text)},
        module=module[1] if module else "",
    )


def _packages(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    rows = [*_FREEZE.finditer(text)][:MOST_ROWS]
    columns = [*_COLUMNS.finditer(text)][:MOST_ROWS]
    if len(rows) >= LEAST_ROWS or "[pip" in text:
        found |= {_name(m[1]): m[2] for m in rows}
    if _COLUMN_HEAD.search(text) or len(columns) >= 2 * LEAST_ROWS:
        found |= {_name(m[1]): m[2] for m in columns}
    return found


def _name(name: str) -> str:
    return re.sub(r"[._]", "-", name.lower())


def describe(reading: ParsedText) -> str:
    """Return what a paste without any message shows about its machine, and whether that part works; empty for other texts."""
    seen = read_pasted(reading.text)
    said: list[str] = []
    if any(verdict == "proved" for judge in PASTED_JUDGES for _c, verdict, _e in judge(reading, seen)):
        return ""
    if seen.driver and seen.gpus:
        full = [f"{g.name} ({g.used} / {g.total} MiB)" if g.total else g.name for g in seen.gpus[:MAX_GPUS]]
        newest = _("runs CUDA up to {version}", version=seen.driver_cuda) if seen.driver_cuda else ""
        shown = ", ".join(part for part in (newest, *full) if part)
        said.append(_("nvidia-smi shows driver {driver}: {shown}.", driver=seen.driver, shown=shown))
        said.append(_("Driver and GPU answer: this part works."))
    elif seen.driver:
        said.append(_("nvidia-smi shows driver {driver} and no GPU that Convalesce can read.", driver=seen.driver))
    elif seen.gpus:
        said.append(
            _("nvidia-smi lists {gpus}: the driver works.", gpus=", ".join(g.name for g in seen.gpus[:MAX_GPUS]))
        )
    if seen.torch_cuda == "none":
        said.append(_("PyTorch {version} is built without CUDA.", version=seen.torch))
    elif seen.torch and seen.torch_cuda:
        said.append(_("PyTorch {version} is built with CUDA {cuda}.", version=seen.torch, cuda=seen.torch_cuda))
    if seen.cuda_works:
        said.append(_("PyTorch says that CUDA is available."))
    if seen.module:
        said.append(_("The kernel loaded NVIDIA's module {version}.", version=seen.module))
    return join_sentences(*said)


# --- what the facts decide --------------------------------------------------------------------------------------------

Said = tuple[Cause, Literal["proved", "refuted"], Evidence]
PastedJudge = Callable[[ParsedText, Pasted], Iterator[Said]]
NVIDIA_SMI, PIP, COLLECT_ENV, KERNEL = "nvidia-smi", "pip list", "collect_env", "dmesg"
DRIVER_STARTS: tuple[Cause, ...] = (
    *("driver_module_not_loaded", "driver_library_mismatch", "secure_boot_blocks_module", "no_nvidia_gpu"),
    *("legacy_driver_required", "open_kernel_module_required", "pci_memory_unassigned", "other_maker_gpu"),
)  # fmt: skip
"""Causes that are impossible if nvidia-smi lists a GPU."""
CUDA_STARTS: tuple[Cause, ...] = (
    *DRIVER_STARTS,
    *("container_no_gpu_runtime", "container_lost_devices", "gpu_hidden_by_env", "uvm_stale_after_suspend"),
    *("device_node_permission", "libcuda_wrong_library", "wsl_libcuda_not_found", "driver_too_old"),
    *("framework_cpu_only_build", "fabric_manager_not_running", "cuda_compat_mismatch", "cuda_compat_unsupported"),
)
"""Causes that are impossible if PyTorch reports that CUDA is available."""


def _say(cause: Cause, verdict: Literal["proved", "refuted"], label: str, value: str, source: str) -> Said:
    return cause, verdict, Evidence(label=label, value=value, source=source)


def lists_a_gpu(reading: ParsedText, seen: Pasted) -> Iterator[Said]:
    """nvidia-smi lists a GPU, so kernel module and library work together.

    Inside a container, the container's own view counts.
    """
    if not seen.gpus or reading.marks & {"smi-failed", "lib-mismatch-driver", "bus-lost", "gpu-handle-lost"}:
        return
    for cause in DRIVER_STARTS:
        yield _say(cause, "refuted", _("GPU that nvidia-smi lists"), seen.gpus[0].name, NVIDIA_SMI)
    if all(g.mig in ("Disabled", "N/A") for g in seen.gpus if g.total) and any(g.mig for g in seen.gpus):
        yield _say("mig_misconfigured", "refuted", _("MIG mode"), seen.gpus[0].mig, NVIDIA_SMI)


def module_is_loaded(reading: ParsedText, seen: Pasted) -> Iterator[Said]:
    """The kernel log reports that NVIDIA's module was loaded."""
    if seen.module and not reading.marks & {"probe-not-called", "key-rejected"}:
        for cause in ("driver_module_not_loaded", "secure_boot_blocks_module"):
            yield _say(cause, "refuted", _("Kernel module that was loaded"), seen.module, KERNEL)


def cuda_is_available(reading: ParsedText, seen: Pasted) -> Iterator[Said]:
    """PyTorch itself reported that it can use CUDA; another process can have another list of visible GPUs."""
    if seen.cuda_works:
        own = {"gpu_hidden_by_env"} if "visible-devices" in reading.marks else set()
        for cause in (c for c in CUDA_STARTS if c not in own):
            yield _say(cause, "refuted", _("Is CUDA available"), "True", COLLECT_ENV)


def torch_build(reading: ParsedText, seen: Pasted) -> Iterator[Said]:
    """PyTorch was built with, or without, CUDA."""
    if (
        seen.torch_cuda == "none"
        and reading.marks
        & {*("torch-not-compiled", "cpu-fallback", "no-device", "cpu-build", "bnb-setup", "xformers-built-for")}
        and not reading.marks & {"maker-amd", "maker-apple", "maker-intel", "macos"}
    ):
        yield _say("framework_cpu_only_build", "proved", _("PyTorch without CUDA"), seen.torch, _source(seen))
    elif seen.torch_cuda not in ("", "none"):
        yield _say("framework_cpu_only_build", "refuted", _("CUDA of this PyTorch"), seen.torch_cuda, _source(seen))


def _source(seen: Pasted) -> str:
    return COLLECT_ENV if "PyTorch version" in seen.environment else PIP


def driver_and_build(reading: ParsedText, seen: Pasted) -> Iterator[Said]:
    """Compare the driver's newest CUDA with the one that PyTorch was built with; within a major version, any driver works."""
    built, can = version_tuple(seen.torch_cuda), version_tuple(seen.driver_cuda)
    if not built or not can:
        return
    value = _("driver: CUDA {driver}, PyTorch: CUDA {build}", driver=seen.driver_cuda, build=seen.torch_cuda)
    if built[0] > can[0]:
        if reading.marks & {"driver-insufficient", "no-device", "cpu-fallback", "compat", "init-error"}:
            yield _say(
                "driver_too_old", "proved", _("Newest CUDA of the driver, and CUDA of the build"), value, NVIDIA_SMI
            )
    elif built <= can:
        yield _say(
            "driver_too_old", "refuted", _("Newest CUDA of the driver, and CUDA of the build"), value, NVIDIA_SMI
        )


def compiler_and_build(reading: ParsedText, seen: Pasted) -> Iterator[Said]:
    """Compare the compiler's version in collect_env with PyTorch's CUDA."""
    nvcc = version_tuple(seen.environment.get("CUDA runtime version", ""))[:2]
    built = version_tuple(seen.torch_cuda)[:2]
    if not nvcc or not built:
        return
    value = f"nvcc {'.'.join(map(str, nvcc))}, PyTorch {seen.torch_cuda}"
    if nvcc[0] == built[0]:
        yield _say(
            "nvcc_toolkit_mismatch_build", "refuted", _("CUDA of the compiler and of the build"), value, COLLECT_ENV
        )
    elif reading.marks & {"nvcc-mismatch", "build"}:
        yield _say(
            "nvcc_toolkit_mismatch_build", "proved", _("CUDA of the compiler and of the build"), value, COLLECT_ENV
        )


def two_runtimes(reading: ParsedText, seen: Pasted) -> Iterator[Said]:
    """ONNX Runtime's packages for CPU and GPU overwrite each other."""
    both = [n for n in ("onnxruntime", "onnxruntime-gpu") if n in seen.packages]
    if len(both) == 2 and reading.marks & {"ort-provider", "ort-create"}:
        value = ", ".join(f"{n} {seen.packages[n]}" for n in both)
        yield _say("duplicate_framework_packages", "proved", _("Packages that overwrite each other"), value, PIP)
    elif seen.packages and len(both) < 2:
        value = ", ".join(f"{n} {seen.packages[n]}" for n in both) or _("no ONNX Runtime")
        yield _say("duplicate_framework_packages", "refuted", _("ONNX Runtime packages"), value, PIP)


def numpy_major(reading: ParsedText, seen: Pasted) -> Iterator[Said]:
    """With NumPy 1, modules compiled for NumPy 1 work."""
    numpy = seen.packages.get("numpy", "")
    if not numpy:
        return
    if version_tuple(numpy)[:1] == (1,):
        yield _say("numpy_abi_mismatch", "refuted", "numpy", numpy, PIP)
    elif "numpy-abi" in reading.marks:
        yield _say("numpy_abi_mismatch", "proved", "numpy", numpy, PIP)


def tensorflow_on_windows(reading: ParsedText, seen: Pasted) -> Iterator[Said]:
    """TensorFlow after 2.10 has no CUDA on native Windows."""
    version = seen.packages.get("tensorflow", "") or seen.packages.get("tensorflow-intel", "")
    if not version:
        return
    if version_tuple(version) < (2, 11):
        yield _say("tf_native_windows_unsupported", "refuted", "tensorflow", version, PIP)
    elif "windows" in reading.marks and "wsl" not in reading.marks and "tensorflow-intel" in seen.packages:
        yield _say("tf_native_windows_unsupported", "proved", "tensorflow-intel", version, PIP)


def paired_packages(reading: ParsedText, seen: Pasted) -> Iterator[Said]:
    """Which torchvision and torchaudio belong to a PyTorch is in a table; JAX, jaxlib and the CUDA plugin are released together."""
    known = framework_tables().companions
    row = next((row for row in known if row.torch == _minor(seen.torch)), None)
    for name in ("torchvision", "torchaudio") if row else ():
        fitting, has = getattr(row, name), _minor(seen.packages.get(name, ""))
        if not fitting or not has or not ("package-pair" in reading.marks or _import_fails(name).search(reading.low)):
            continue
        value = f"torch {seen.torch}, {name} {seen.packages[name]}"
        if has == fitting:
            yield _say("requirement_broken", "refuted", _("Packages of one release"), value, PIP)
        elif has in {getattr(row, name) for row in known}:
            yield _say("requirement_broken", "proved", _("Packages that are not of one release"), value, PIP)
    parts = {n: v for n, v in seen.packages.items() if re.fullmatch(r"jax(lib)?|jax-cuda\d\d-(plugin|pjrt)", n)}
    if len(parts) > 1 and len({version_tuple(v)[:3] for v in parts.values()}) > 1 and "jax-plugin" in reading.marks:
        value = ", ".join(f"{n} {v}" for n, v in sorted(parts.items()))
        yield _say("requirement_broken", "proved", _("Packages that are not of one release"), value, PIP)


def _minor(version: str) -> str:
    """Return the release of PyTorch or of a package beside it, without its patch and its build."""
    return ".".join(version.partition("+")[0].split(".")[:2])


@cache
def _import_fails(name: str) -> re.Pattern[str]:
    """Return the pattern of a text that says in plain words that a module cannot be imported."""
    return re.compile(rf"\bimport(?:ing)? {name}\b[^\n]{{0,40}}\b(?:raises|fails|crashes|gives|error|exception)\b")


CUDAS_OWN = {"cudart": "cuda-runtime", "cublas": "cublas", "cublaslt": "cublas", "nvrtc": "cuda-nvrtc"}
"""Families of libraries whose major version is CUDA's, and what pip's package for them is called after."""


def runtime_of_another_major(reading: ParsedText, seen: Pasted) -> Iterator[Said]:
    """A library of CUDA is missed by a name with one major, and pip brought it for another one alone."""
    for library in reading.blamed:
        package = CUDAS_OWN.get(library.family.lower())
        if package is None or library.major is None or f"missing:{library.family}" not in reading.marks:
            continue
        form = re.compile(rf"nvidia-{package}(-cu\d\d)?")
        had = {n: v for n, v in seen.packages.items() if form.fullmatch(n) and version_tuple(v)}
        label, value = _("CUDA library that pip installed"), ", ".join(f"{n} {v}" for n, v in had.items())
        if library.major in {version_tuple(v)[0] for v in had.values()}:
            yield _say("cuda_runtime_missing", "refuted", label, value, PIP)
        elif had:
            yield _say("cuda_toolkit_version_mismatch", "proved", label, value, PIP)


_BUILT_FOR = late_pattern(
    r"was built for:?\s{0,20}pytorch ([\d.]{3,12})(\+\w{3,6})?[^\n]{0,40}\(you have ([\d.]{3,12})(\+\w{3,6})?"
)


def extension_and_framework(reading: ParsedText, _s: Pasted) -> Iterator[Said]:
    """An extension names the PyTorch that it was built for, and the one that it found."""
    said = _BUILT_FOR.search(reading.low)
    if said is None or said[4] == "+cpu":
        return
    value = _("built for {wanted}, found {found}", wanted=said[1] + (said[2] or ""), found=said[3] + (said[4] or ""))
    if (said[1], said[2]) != (said[3], said[4]):
        yield _say("extension_abi_mismatch", "proved", "PyTorch", value, _("the message itself"))


def cudnn_of_the_packages(reading: ParsedText, seen: Pasted) -> Iterator[Said]:
    """Compare the major version of cuDNN that pip installed with the one that the text misses."""
    wanted = {x.major for x in reading.libraries if x.family == "cudnn" and x.major}
    had = {n: v for n, v in seen.packages.items() if re.fullmatch(r"nvidia-cudnn-cu\d\d", n)}
    majors = {version_tuple(v)[0] for v in had.values() if version_tuple(v)}
    if not had:
        return
    value = ", ".join(f"{n} {v}" for n, v in had.items())
    if wanted and not wanted & majors and "missing:cudnn" in reading.marks:
        yield _say("cudnn_major_mismatch", "proved", _("cuDNN that pip installed"), value, PIP)
    elif wanted & majors:
        yield _say("cudnn_not_installed", "refuted", _("cuDNN that pip installed"), value, PIP)
        yield _say("cudnn_major_mismatch", "refuted", _("cuDNN that pip installed"), value, PIP)


def missing_module(reading: ParsedText, seen: Pasted) -> Iterator[Said]:
    """The module that one interpreter misses is in another one's list of packages."""
    for name in ("torch", "tensorflow", "jax", "paddle", "cupy", "onnxruntime"):
        if name in seen.packages and re.search(rf"no module named '?{name}\b", reading.low):
            yield _say("wrong_environment_active", "proved", name, seen.packages[name], PIP)


def requested_memory(reading: ParsedText, _s: Pasted) -> Iterator[Said]:
    """The requested memory, compared with the free memory in the message."""
    asked, free = _OOM.search(reading.text), _FREE.search(reading.text)
    if "impossible-size" in reading.marks:
        value = _("more than any GPU has")
        yield _say("gpu_memory_exhausted", "refuted", _("Memory that was asked for"), value, _("the message itself"))
    elif asked and free and _mib(asked) > _mib(free):
        value = _("asked for {asked} MiB, free {free} MiB", asked=round(_mib(asked)), free=round(_mib(free)))
        yield _say("gpu_memory_exhausted", "proved", _("Memory of the GPU"), value, _("the message itself"))


def lists_cuda_provider(reading: ParsedText, _s: Pasted) -> Iterator[Said]:
    """The ONNX Runtime that is loaded lists CUDA's provider, so no other package of it has replaced its files."""
    if "ort-lists-cuda" in reading.marks:
        name = _("Providers of ONNX Runtime")
        yield _say("duplicate_framework_packages", "refuted", name, "CUDAExecutionProvider", _("the message itself"))


def _mib(found: re.Match[str]) -> float:
    return float(found[1]) * {"G": 1024.0, "M": 1.0, "K": 1 / 1024}[found[2]]


def gpu_reports_errors(reading: ParsedText, seen: Pasted) -> Iterator[Said]:
    """nvidia-smi shows ERR! for a GPU that does not respond correctly."""
    if seen.driver and "err!" in reading.low:
        yield _say("hardware_fault", "proved", _("Field of nvidia-smi"), "ERR!", NVIDIA_SMI)


PASTED_JUDGES: tuple[PastedJudge, ...] = (
    lists_a_gpu,
    module_is_loaded,
    cuda_is_available,
    torch_build,
    driver_and_build,
    compiler_and_build,
    two_runtimes,
    numpy_major,
    tensorflow_on_windows,
    paired_packages,
    extension_and_framework,
    runtime_of_another_major,
    cudnn_of_the_packages,
    missing_module,
    requested_memory,
    lists_cuda_provider,
    gpu_reports_errors,
)


def judge_pasted(reading: ParsedText) -> dict[str, dict[str, Any]]:
    """Return, for each cause that the text itself decides, the fields of its RankedCause.

    A proof takes precedence over a refutation.
    """
    seen = read_pasted(reading.text)
    verdicts: dict[str, dict[str, Any]] = {}
    for judge in PASTED_JUDGES:
        for cause, verdict, evidence in judge(reading, seen):
            old = verdicts.get(cause)
            if old is None or (old["verdict"] == "refuted" and verdict == "proved"):
                verdicts[cause] = {"verdict": verdict, "evidence": (evidence,), "by_text": True}
    return verdicts
