"""libcuda, libcudnn, libnvrtc, libcublas and NVML that compute on the processor, built with gcc; variables make them fail.

STANDIN_FAIL=function:status, STANDIN_DIE=function, STANDIN_HANG=function act on one function (with ``@n`` on its n-th
call); STANDIN_TRACE=file notes every call; STANDIN_FLIP=n spoils every n-th convolution, STANDIN_NAN=1 leaves a NaN behind; STANDIN_MEMORY is the card's
memory; STANDIN_CC its compute capability times 10. Time is virtual: a convolution takes its operations over
STANDIN_RATE TFLOP/s, whatever the processor needs. Large convolutions are computed where somebody looks.
"""

from __future__ import annotations

import functools
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


@functools.cache
def built(major: int = 9) -> Path:
    """Compile everything once for one cuDNN major; the folder goes when the test session ends."""
    keep = tempfile.TemporaryDirectory(prefix="standin-benchmark-")
    _KEPT.append(keep)
    folder = Path(keep.name)
    cuda = folder / "libcuda.so.1"
    _gcc(HERE / "standin_cuda.c", cuda, "libcuda.so.1")
    _gcc(HERE / "standin_cudnn.c", folder / f"libcudnn.so.{major}", f"libcudnn.so.{major}", f"-DMAJOR={major}", cuda)
    _gcc(HERE / "standin_math.c", folder / "libnvrtc.so.12", "libnvrtc.so.12", "-DNVRTC", cuda)
    _gcc(HERE / "standin_math.c", folder / "libcublas.so.12", "libcublas.so.12", "-DCUBLAS", cuda)
    _gcc(HERE / "standin_nvml.c", folder / "libnvidia-ml.so.1", "libnvidia-ml.so.1", cuda)
    return folder


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


def _gcc(source: Path, out: Path, soname: str, *more: object) -> None:
    flags = ["-shared", "-fPIC", "-O2", "-Wall", "-Werror", f"-Wl,-soname,{soname}", "-Wl,-rpath,$ORIGIN"]
    subprocess.run(["gcc", *flags, "-o", str(out), str(source), *map(str, more), "-lm", "-ldl"], check=True)
