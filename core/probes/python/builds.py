"""How a framework was built, read from its files: CUDA variant, cuDNN, GPU code, bundled libraries."""

from __future__ import annotations

import fnmatch
import re
import time
from collections.abc import Callable, Iterable

import msgspec

from core.common.fact_text import fact_text
from core.common.late_pattern import late_pattern
from core.common.versions import whole_number
from core.loader import read_image
from core.loader.contents import cuda_major
from core.loader.fatbin import GpuCode, machine_code
from core.loader.files import UnfitError
from core.loader.sections import open_layout
from core.model.facts import Distribution, FrameworkBuild, Frameworks, PythonEnvironment
from core.probes.probe import ProbeRequest
from core.probes.python.installed.distributions import normalise_name
from core.probes.python.probe import find_further
from core.probes.sysroot import Sysroot, sysroot_of

MAX_FILE_BYTES, MAX_RECORD_BYTES = 64 << 10, 4 << 20
"""Bytes that are read of a version file and of a RECORD."""
CODE_SECONDS = 1.0
"""Seconds allowed for reading the GPU code of one library."""

_PAIR = r"""['"]{}['"]\s*[,:]\s*['"]?([^'",)}}\]]*)"""
"""A value in TensorFlow's build_info, which is a list of pairs in some releases and a dictionary in others."""


class BuildReader(msgspec.Struct, frozen=True):
    """Where a framework records its build. Each pattern has one group, whose value may be None."""

    distribution: str
    file: str
    cuda: str
    version: str = ""
    cudnn: str = ""
    name: str = ""
    other: str = ""
    without: tuple[str, ...] = ("None", "False", "")
    """Values that stand for a build without CUDA."""


BUILD_READERS = (
    BuildReader(
        r"torch(-nightly)?",
        "torch/version.py",
        cuda=r"(?m)^cuda\b[^=\n]*=\s*'?([\w.]+)",
        version=r"(?m)^__version__\s*=\s*'([^']+)",
        other=r"(?m)^hip\b[^=\n]*=\s*'([\w.-]+)",
    ),
    BuildReader(
        r"tensorflow(-gpu|-cpu|-intel|-rocm)?|tf-nightly.*",
        "tensorflow/python/platform/build_info.py",
        cuda=_PAIR.format("cuda_version"),
        cudnn=_PAIR.format("cudnn_version"),
    ),
    BuildReader(
        r"onnxruntime(-gpu|-directml|-openvino|-training)?",
        "onnxruntime/capi/build_and_package_info.py",
        cuda=r"(?m)^cuda_version\s*=\s*['\"]([^'\"]*)",
        version=r"(?m)^__version__\s*=\s*['\"]([^'\"]+)",
        name=r"(?m)^package_name\s*=\s*['\"]([^'\"]+)",
    ),
    BuildReader(
        r"paddlepaddle(-gpu)?",
        "paddle/version/__init__.py",
        cuda=r"(?m)^cuda_version\s*=\s*['\"]([^'\"]*)",
        version=r"(?m)^full_version\s*=\s*['\"]([^'\"]+)",
        cudnn=r"(?m)^cudnn_version\s*=\s*['\"]([^'\"]*)",
    ),
)

CUDA_BY_PACKAGE_NAME = (
    (r"cupy-cuda(\d\d)x", "{0}"),
    (r"cupy-cuda(\d\d)(\d)", "{0}.{1}"),
    (r"mxnet-cu(\d\d)(\d)(?:mkl)?", "{0}.{1}"),
    (r"jax-cuda(\d\d)-plugin", "{0}"),
    (r"tensorrt-cu(\d\d)(?:-libs|-bindings)?", "{0}"),
)
"""Distributions whose name contains the CUDA version."""

_TENSORFLOW = ("tensorflow/libtensorflow_cc.so.2", "tensorflow/python/_pywrap_tensorflow_internal.pyd")
GPU_BINARIES = (
    ("torch", ("torch/lib/libtorch_cuda.so", "torch/lib/torch_cuda.dll")),
    ("tensorflow(-gpu)?", _TENSORFLOW),
    ("jax", ("jax_plugins/xla_cuda1*/xla_cuda_plugin.so", "")),
    (
        "onnxruntime-gpu",
        ("onnxruntime/capi/libonnxruntime_providers_cuda.so", "onnxruntime/capi/onnxruntime_providers_cuda.dll"),
    ),
    ("ctranslate2", ("ctranslate2.libs/libctranslate2-*.so*", "ctranslate2/ctranslate2.dll")),
    (r"tensorrt-cu\d\d(-libs)?", ("tensorrt_libs/libnvinfer.so.*", "tensorrt_libs/nvinfer_*.dll")),
    ("cupy-cuda.*", ("cupy/cuda/thrust.*.so", "cupy/cuda/thrust.*.pyd")),
)
"""Distribution -> the library with its GPU code, on Linux and on Windows."""

OWN_FOLDERS = {
    "torch": ("torch/lib",),
    "ctranslate2": ("ctranslate2.libs", "ctranslate2"),
    "paddlepaddle-gpu": ("paddle/libs",),
    "onnxruntime-gpu": ("onnxruntime/capi",),
}
_BRINGS = late_pattern(
    r"(lib)?(cudnn|cublas|cudart|cufft|curand|cusolver|cusparse|nvrtc|nvjitlink|zlibwapi)[-.\w]*\.(so|dll)", re.I
)


def framework_builds(python: PythonEnvironment, where: Sysroot, *, code: bool = True) -> tuple[FrameworkBuild, ...]:
    """Return how each framework of an environment was built; with ``code``, include the architectures of its GPU code."""
    return tuple(b for d in python.distributions for b in _build(python, d, where, code=code))


def _build(python: PythonEnvironment, what: Distribution, where: Sysroot, *, code: bool) -> tuple[FrameworkBuild, ...]:
    told = (
        _onnxruntime(python, what, where)
        or _described_build(what, where)
        or _cuda_by_package_name(python, what)
        or _without_plugin(python, what)
        or _other(what, where)
    )
    if told is None:
        return ()
    fields: dict[str, object] = {k: v for k, v in told.items() if v is not None}
    binary = _binary(what, where)
    found = _code(binary, where) if binary and code else None
    return (
        FrameworkBuild(
            prefix=python.prefix,
            distribution=what.name,
            version=str(fields.pop("version", "")) or what.version,
            bundled=_bundled_libraries(what, where),
            binary=binary,
            sass=found[0] if found else None,
            ptx=found[1] if found else None,
            bound=found.bound if found else (),
            commit=_commit(what, where) if code else None,
            **fields,  # type: ignore[arg-type]  # cuda, cuda_source, cudnn, other, really: all texts
        ),
    )


BuildDescription = dict[str, str | None]


def _described_build(what: Distribution, where: Sysroot) -> BuildDescription | None:
    """Return the build that the framework recorded itself, or None."""
    reader = next((r for r in BUILD_READERS if re.fullmatch(r.distribution, what.name)), None)
    if reader is None:
        return None
    path = where.join(what.location, *reader.file.split("/"))
    content = where.text(path, MAX_FILE_BYTES)
    if content is None:
        return {"cuda": None}

    def value(pattern: str) -> str | None:
        found = re.search(pattern, content) if pattern else None
        return found[1] if found else None

    cuda, version, name = value(reader.cuda), value(reader.version), value(reader.name)
    if cuda is None:
        said_no = re.search(r"""is_cuda_build['"]\s*[,:]\s*False""", content)
        cuda = "" if said_no or name else None
    elif cuda in reader.without:
        cuda = ""
    cudnn = value(reader.cudnn)
    other_name = bool(name) and normalise_name(name or "") != what.name
    other_version = bool(version) and _base(version or "") != _base(what.version)
    really = f"{name or what.name} {version or ''}".strip() if other_name or other_version else ""
    hip = value(reader.other)
    return {
        "version": None if really else version,
        "cuda": cuda,
        "cuda_source": path,
        "cudnn": cudnn if cudnn not in (None, *reader.without) else None,
        "other": f"ROCm {hip}" if hip else "",
        "really": really,
    }


def _base(version: str) -> str:
    return version.partition("+")[0]


def _cuda_by_package_name(_python: PythonEnvironment, what: Distribution) -> BuildDescription | None:
    for pattern, form in CUDA_BY_PACKAGE_NAME:
        if found := re.fullmatch(pattern, what.name):
            return {"cuda": form.format(*found.groups()), "cuda_source": fact_text("the package's name")}
    return None


def _without_plugin(python: PythonEnvironment, what: Distribution) -> BuildDescription | None:
    """JAX itself has no GPU code; its plugin has."""
    if what.name != "jax":
        return None
    plugin = next((d for d in python.distributions if re.fullmatch(r"jax-cuda\d+-plugin", d.name)), None)
    if plugin:
        return {"cuda": re.sub(r"\D", "", plugin.name), "cuda_source": f"{plugin.name} {plugin.version}"}
    return {"cuda": "", "cuda_source": fact_text("no jax-cuda plugin is installed")}


def _other(what: Distribution, where: Sysroot) -> BuildDescription | None:
    if what.name == "ctranslate2":
        major = re.match(r"\d+", what.version)
        cuda = {"2": "11", "3": "11", "4": "12"}.get(major[0] if major else "")
        return {"cuda": cuda if _binary(what, where) else None, "cuda_source": "CTranslate2's changelog"}
    if what.name.startswith("opencv-"):
        return _opencv(what, where)
    if what.name in ("mxnet", "cupy", "tensorrt"):
        return {"cuda": None}
    return None


def _onnxruntime(python: PythonEnvironment, what: Distribution, where: Sysroot) -> BuildDescription | None:
    """Return which of the two ONNX Runtime packages owns the files, by the sizes in their RECORDs: both write to one folder."""
    if what.name not in ("onnxruntime", "onnxruntime-gpu"):
        return None
    written = _described_build(what, where)
    if written and written["cuda"] is not None:
        return written
    both = [d for d in python.distributions if d.name in ("onnxruntime", "onnxruntime-gpu")]
    owners = [d for d in both if d.location == what.location and _is_owner(d, where)]
    if len(owners) != 1:
        return written
    owner = owners[0]
    gpu = owner.name.endswith("-gpu")
    library = _binary(owner, where) if gpu else ""
    major = cuda_major(read_image.read_image(library, root=where.root).needed) if library else None
    return {
        "cuda": (str(major) if major else None) if gpu else "",
        "cuda_source": library or fact_text("RECORD of {name} {version}", name=owner.name, version=owner.version),
        "really": "" if owner is what else f"{owner.name} {owner.version}",
    }


def _is_owner(what: Distribution, where: Sysroot) -> bool:
    """Whether the size of the installed extension module is the one that this distribution recorded."""
    folder = f"{what.name.replace('-', '_')}-{what.version}.dist-info"
    record = where.text(where.join(what.location, folder, "RECORD"), MAX_RECORD_BYTES) or ""
    found = re.search(r"(?m)^(onnxruntime/capi/onnxruntime_pybind11_state[^,]*),[^,]*,(\d+)", record)
    seen = where.stat(where.join(what.location, *found[1].split("/"))) if found else None
    return bool(found and seen and seen.st_size == whole_number(found[2]))


def _opencv(what: Distribution, where: Sysroot) -> BuildDescription:
    folder = where.join(what.location, "cv2")
    names = [n for n in where.names(folder) or () if re.fullmatch(r"cv2.*\.(so|pyd)", n)]
    if not names:
        return {"cuda": None}
    path = where.join(folder, names[0])
    needed = read_image.read_image(path, root=where.root).needed
    return {
        "cuda": None if any(re.search("cud|npp|nvcuvid", n, re.I) for n in needed) or not needed else "",
        "cuda_source": path,
    }


def _binary(what: Distribution, where: Sysroot) -> str:
    """Return the path of the library with the GPU code; empty if it does not exist."""
    form = next((paths[where.system == "windows"] for name, paths in GPU_BINARIES if re.fullmatch(name, what.name)), "")
    found = [what.location] if form else []
    for part in form.split("/"):
        found = [where.join(f, n) for f in found for n in _named_like(part, f, where)]
    return next((path for path in found if where.is_file(path)), "")


def _named_like(pattern: str, folder: str, where: Sysroot) -> Iterable[str]:
    return fnmatch.filter(where.names(folder) or (), pattern) if "*" in pattern else (pattern,)


def _code(binary: str, where: Sysroot) -> GpuCode | None:
    return machine_code(binary, root=where.root, seconds=CODE_SECONDS)


def _commit(what: Distribution, where: Sysroot) -> int | None:
    """Return the bytes that Windows must commit for PyTorch's libraries: its ``__init__.py`` loads every DLL of that folder."""
    if where.system != "windows" or what.name != "torch":
        return None
    folder = where.join(what.location, "torch", "lib")
    total = 0
    for name in where.names(folder) or ():
        if name.lower().endswith(".dll"):
            try:
                with open_layout(where.local_path(where.join(folder, name))) as file:
                    total += sum(section.private for section in file.sections)
            except UnfitError:
                continue  # A rule reports damaged files.
    return total or None


def _bundled_libraries(what: Distribution, where: Sysroot) -> tuple[str, ...]:
    folders = OWN_FOLDERS.get(what.name, ())
    names = (n for f in folders for n in where.names(where.join(what.location, *f.split("/"))) or ())
    return tuple(n for n in names if _BRINGS.match(n))


def read_all(
    pythons: tuple[PythonEnvironment, ...], where: Sysroot, seconds: float, clock: Callable[[], float] = time.monotonic
) -> tuple[FrameworkBuild, ...]:
    """Return the builds of all environments; after ``seconds``, GPU code is no longer read."""
    end = clock() + seconds
    return tuple(b for p in pythons for b in framework_builds(p, where, code=clock() < end))


MAX_OTHERS = 200
"""Maximum number of remote environments kept in the Snapshot."""

NEAR_SECONDS, FAR_SECONDS = 10.0, 1.0
"""Seconds after which GPU code is no longer read, for near environments and for all others."""


def look(request: ProbeRequest) -> Frameworks:
    """Return the builds of all frameworks, and the environments that ``pythons`` does not list."""
    where = sysroot_of(request.host)
    near = request.seen.pythons or ()
    found = find_further(request, near, time.monotonic)
    problems: tuple[str, ...] = ()
    if len(found) > MAX_OTHERS:
        problems = (
            fact_text("{MAX_OTHERS} more environments were found and not kept.", MAX_OTHERS=len(found) - MAX_OTHERS),
        )
    others = found[:MAX_OTHERS]
    builds = read_all(near, where, NEAR_SECONDS) + read_all(others, where, FAR_SECONDS)
    return Frameworks(builds=builds, others=others, problems=problems)
