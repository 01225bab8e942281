"""The meaning of a library's file name: family, major version, platform, and whether it is part of a set."""

from __future__ import annotations

import re

import msgspec

from core.common.late_pattern import late_pattern
from core.common.versions import version_tuple
from core.knowledge.cudnn_file_names import parse_cudnn_name
from core.model.facts import cuda_in_name

FAMILY_MARKERS: dict[str, tuple[str, ...]] = {
    "cudnn": ("cudnn",),
    "cudart": ("cudart",),
    "cublas": ("cublaslt", "cublas"),
    "cufft": ("cufft",),
    "curand": ("curand",),
    "cusolver": ("cusolver",),
    "cusparse": ("cusparse",),
    "cupti": ("cupti",),
    "nvrtc-builtins": ("nvrtc-builtins",),
    "framework": (
        *("caffe2_nvrtc", "onnxruntime", "libmxnet", "mxnet", "torch", "c10", "caffe2", "fbgemm", "shm", "_c"),
        *("llama", "ggml", "tensorflow", "_pywrap_tensorflow", "paddle", "libpaddle", "cv2", "opencv"),
        *("ctranslate2", "bitsandbytes", "libbitsandbytes", "dlib"),
    ),
    "nvrtc": ("nvrtc",),
    "nvjitlink": ("nvjitlink",),
    "tensorrt": ("nvinfer", "nvonnxparser"),
    "nccl": ("nccl",),
    "driver": ("nvcuda", "nvidia-"),
    "nvml": ("nvml", "nvidia-ml"),
    "zlibwapi": ("zlibwapi",),
    "vcruntime": ("msvcp", "vcruntime", "concrt", "vcomp", "libomp"),
}
"""Family -> how the names of its libraries begin; the longest beginning that fits decides."""
_MARKERS = sorted(
    ((start, family) for family, starts in FAMILY_MARKERS.items() for start in starts), key=lambda m: -len(m[0])
)

TOOLKIT_FAMILIES = frozenset(
    {"cudart", "cublas", "cufft", "curand", "cusolver", "cusparse", "cupti", "nvrtc", "nvrtc-builtins", "nvjitlink"}
)
"""Families that come with a CUDA toolkit or its runtime wheels."""

_WINDOWS_VERSION = late_pattern(r"(?:64|32)?_(\d{1,4})(?:_\d{1,2})?$|64_?(\d{1,4})$")
_LINUX_VERSION = late_pattern(r"\.so(?:\.(\d{1,4}))?(?:\.(\d{1,4}))?")


DRIVERS_OWN = late_pattern(
    r"(?:lib(?:cuda|cudadebugger|nvcuvid|nvidia-[\w-]+)\.so(?:\.\d+)*"
    r"|(?:nvcuda|nvml|nvldumdx?|nvapi64|nvcuvid|nvencodeapi64)\.dll)",
    re.IGNORECASE,
)
"""The driver's own libraries, which no package contains: the rules about the driver tell of what lacks them. Also matches the beginning
of a loader's sentence about one.
"""


OF_VIDEO = late_pattern(r"libnvcuvid\.so\.1|libnvidia-encode\.so\.1")
"""The driver's libraries that only some programs are linked against, and that a container gets only if it asks for them."""


class LibraryName(msgspec.Struct, frozen=True):
    """The parts of a library's file name."""

    name: str
    family: str
    """cudnn, cudart, cublas, ..., zlibwapi, vcruntime, framework; empty for none that matters here."""
    major: int | None = None
    minor: int | None = None
    platform: str = ""
    part: str = ""
    """For cuDNN: ops_infer, graph, ...; empty for the main library."""


def parse_library_name(name: str) -> LibraryName | None:
    """Parse a file name (lower case); None if it belongs to no relevant family."""
    if cudnn := parse_cudnn_name(name):
        _, minor, *_ = (*version_tuple(cudnn.release), None, None)
        platform = "windows" if name.endswith(".dll") else "linux"
        return LibraryName(name, "cudnn", cudnn.major, minor, platform, cudnn.role)
    if name.endswith((".dll", ".pyd")):
        stem, platform = name[:-4].split(".", 1)[0], "windows"
    elif ".so" in name:
        stem, platform = name.split(".so", 1)[0], "linux"
        stem = stem[3:] if stem.startswith("lib") else stem
    else:
        return None
    if stem == "cuda" and platform == "linux":
        return LibraryName(name, "libcuda", platform=platform, major=1 if name.startswith("libcuda.so.1") else None)
    family = next((family for prefix, family in _MARKERS if stem.startswith(prefix)), "")
    if not family:
        return None
    major, minor = _windows(stem, family) if platform == "windows" else _linux(name)
    return LibraryName(name, family, major, minor, platform)


def _windows(stem: str, family: str) -> tuple[int | None, int | None]:
    found = _WINDOWS_VERSION.search(stem)
    if not found:
        return None, None
    digits = found[1] or found[2]
    if family in ("cudnn", "tensorrt") or len(digits) < 2:
        return int(digits), None
    # the toolkit's own scheme: 80 is 8.0, 101 is 10.1, 110 is 11.0, 12 is 12 and any minor
    major = cuda_in_name(int(digits))
    return major, None if major == int(digits) else int(digits[-1])


def _linux(name: str) -> tuple[int | None, int | None]:
    found = _LINUX_VERSION.search(name)
    if not found or not found[1]:
        return None, None
    return int(found[1]), int(found[2]) if found[2] else None
