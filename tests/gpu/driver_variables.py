"""What each framework does on a real GPU under a value of a variable that the driver or CUDA's libraries read.

``python -m tests.gpu.driver_variables OUT [--python PYTHON]``. Each pair of a value and a program is a process of its own. A
program that fails under a value, and not without it, shows that the value matters; the table has the first line of its error.
OUT gets all that was said, as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SECONDS = 120
AT_ONCE = 8

PROGRAMS = {
    "driver": """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
device, context, module = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
def ask(name, *arguments):
    status = getattr(cuda, name)(*arguments)
    if status: raise SystemExit(f"{name}: {status}")
ask("cuInit", 0)
ask("cuDeviceGet", ctypes.byref(device), 0)
ask("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
ask("cuCtxSetCurrent", context)
ask("cuModuleLoadData", ctypes.byref(module), b".version 6.0\\n.target sm_50\\n.address_size 64\\n.visible .entry nothing() { ret; }\\n\\0")
""",
    "torch": """
import torch
x = torch.randn(8, 3, 32, 32, device="cuda")
w = torch.randn(4, 3, 3, 3, device="cuda")
y = torch.nn.functional.conv2d(x, w)
z = torch.randn(256, 256, device="cuda") @ torch.randn(256, 256, device="cuda")
torch.cuda.synchronize()
assert torch.isfinite(y).all() and torch.isfinite(z).all() and torch.linalg.svd(z)[1].isfinite().all()
""",
    "jax": """
import os
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import jax, jax.numpy as jnp
assert jax.devices()[0].platform == "gpu", jax.devices()
jax.lax.conv(jnp.ones((8, 3, 32, 32)), jnp.ones((4, 3, 3, 3)), (1, 1), "SAME").block_until_ready()
(jnp.ones((256, 256)) @ jnp.ones((256, 256))).block_until_ready()
""",
    "cupy": """
import cupy
a = cupy.arange(1000, dtype=cupy.float32)
assert float((a * 2).sum()) == 999000
cupy.linalg.svd(cupy.random.rand(64, 64))
""",
    "numba": """
import numpy as np
from numba import cuda
@cuda.jit
def twice(a):
    i = cuda.grid(1)
    if i < a.size: a[i] *= 2
a = cuda.to_device(np.ones(64, dtype=np.float32))
twice[1, 64](a)
assert a.copy_to_host().sum() == 128
""",
    "triton": """
import torch, triton, triton.language as tl
@triton.jit
def twice(p, n: tl.constexpr):
    at = tl.arange(0, n)
    tl.store(p + at, tl.load(p + at) * 2)
x = torch.ones(64, device="cuda")
twice[(1,)](x, 64)
assert x.sum().item() == 128
""",
}

VALUES = (
    ("", ""),
    *(("CUDA_DISABLE_PTX_JIT", v) for v in ("", "0", "1", "2", "yes")),
    *(("CUDA_DISABLE_JIT", v) for v in ("0", "1")),
    *(("CUDA_FORCE_PTX_JIT", v) for v in ("", "0", "1", "yes")),
    *(("CUDA_FORCE_JIT", v) for v in ("0", "1")),
    *(("CUDA_MODULE_LOADING", v) for v in ("", "EAGER", "lazy", "NONE")),
    *(("CUDA_LAUNCH_BLOCKING", v) for v in ("1", "yes")),
    *(("CUDA_CACHE_DISABLE", v) for v in ("1", "yes")),
    *(("CUDA_CACHE_MAXSIZE", v) for v in ("0", "abc", "-1")),
    *(("CUDA_CACHE_PATH", v) for v in ("/proc/none", "/dev/null")),
    *(("CUDA_DEVICE_MAX_CONNECTIONS", v) for v in ("0", "64", "abc")),
    *(("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", v) for v in ("0", "200", "abc")),
    *(("CUDA_MPS_PIPE_DIRECTORY", v) for v in ("/proc/none", "/tmp")),
    ("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=100M"),
    ("CUDA_MANAGED_FORCE_DEVICE_ALLOC", "1"),
    *(("CUDA_INJECTION64_PATH", v) for v in ("/proc/none.so", "none", "")),
    *(("CUDA_LOG_FILE", v) for v in ("/proc/none/x", "stderr")),
    ("CUDA_BINARY_LOADER_THREAD_COUNT", "abc"),
    ("CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "yes"),
    ("CUDA_ENABLE_USER_TRIGGERED_COREDUMP", "1"),
    ("CUDA_SCALE_LAUNCH_QUEUES", "abc"),
    ("CUDA_GRAPHS_USE_NODE_PRIORITY", "abc"),
    ("CUDA_AUTO_BOOST", "abc"),
    ("CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT", "200"),
    *(("NVIDIA_TF32_OVERRIDE", v) for v in ("0", "yes")),
    *(("CUBLAS_WORKSPACE_CONFIG", v) for v in (":4096:8", ":0:0", "abc", "4096")),
    *(("CUBLASLT_WORKSPACE_SIZE", v) for v in ("0", "abc")),
    *(("CUBLAS_LOGDEST_DBG", v) for v in ("/proc/none/x", "stdout")),
    *(("CUDNN_LOGLEVEL_DBG", v) for v in ("3", "abc")),
    ("CUDNN_LOGDEST_DBG", "/proc/none/x"),
    *(("CUDNN_FRONTEND_LOG_FILE", v) for v in ("/proc/none/x",)),
    *(("NVRTC_DISABLE_CONCURRENT_NVVM", v) for v in ("abc",)),
    ("CUDA_PATH", "/proc/none"),
    ("CUDA_HOME", "/proc/none"),
    ("LIBCUDA_PATH", "/proc/none"),
    ("TRITON_LIBCUDA_PATH", "/proc/none"),
    ("TRITON_PTXAS_PATH", "/proc/none"),
    ("TRITON_PTXAS_BLACKWELL_PATH", "/proc/none"),
    *(("NUMBA_CUDA_DRIVER", v) for v in ("/proc/none", "0")),
    ("NUMBA_FORCE_CUDA_CC", "5.0"),
    ("NUMBA_CUDA_DEFAULT_PTX_CC", "12.0"),
    ("NUMBA_DISABLE_CUDA", "1"),
    ("NUMBA_ENABLE_CUDASIM", "1"),
    ("CUPY_COMPILE_WITH_PTX", "1"),
    ("CUPY_CUDA_COMPILE_WITH_DEBUG", "1"),
    ("CUPY_NVCC_GENERATE_CODE", "arch=compute_50,code=sm_50"),
    ("CUPY_ACCELERATORS", "cutensor"),
    ("CUPY_GPU_MEMORY_LIMIT", "1%%"),
    ("CUPY_TF32", "abc"),
    ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments"),
    ("PYTORCH_ALLOC_CONF", "max_split_size_mb:1"),
    ("PYTORCH_NVML_BASED_CUDA_CHECK", "1"),
    ("TORCH_CUDA_ARCH_LIST", "5.0"),
    ("TORCH_CUDNN_V8_API_DISABLED", "1"),
    ("TORCH_BLAS_PREFER_CUBLASLT", "yes"),
    ("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "yes"),
    ("TORCH_LINALG_PREFER_CUSOLVER", "1"),
    ("XLA_PYTHON_CLIENT_MEM_FRACTION", "2"),
    ("XLA_PYTHON_CLIENT_ALLOCATOR", "abc"),
    ("JAX_CUDA_VISIBLE_DEVICES", "3"),
    ("JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "abc"),
    ("XLA_FLAGS", "--xla_gpu_cuda_data_dir=/proc/none"),
    ("TF_CUDA_COMPUTE_CAPABILITIES", "abc"),
)
"""Names and values; the first is none."""


def run(python: str, folder: Path, name: str, value: str, program: str) -> str:
    """Return what ended a program, empty if nothing did."""
    env = {k: v for k, v in os.environ.items() if k != name} | ({name: value} if name else {})
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        # nothing that an earlier process compiled may answer for this one
        caches = {"CUDA_CACHE_PATH": "cuda", "CUPY_CACHE_DIR": "cupy", "TRITON_CACHE_DIR": "triton", "HOME": "home"}
        env = {k: f"{scratch}/{v}" for k, v in caches.items() if k != name} | {
            k: v for k, v in env.items() if k not in caches or k == name
        }
        (Path(scratch) / "home").mkdir()
        try:
            done = subprocess.run(
                [python, str(folder / f"use_{program}.py")],
                env=env, capture_output=True, text=True, timeout=SECONDS, cwd=scratch, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"not over after {SECONDS} s"
    if not done.returncode:
        return ""
    said = [line for line in done.stderr.splitlines() if line.strip()]
    errors = [line for line in said if re.match(r"[\w.]*(Error|Exception|Exit)\b|\w+: \d+$", line)]
    return (errors[-1] if errors else said[-1] if said else f"status {done.returncode}").strip()[:300]


def main(argv: list[str]) -> int:
    """Run every pair and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.gpu.driver_variables")
    parser.add_argument("out", type=Path)
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has the frameworks")
    parser.add_argument("--only", default="", help="names of variables, with commas; all by default")
    chosen = parser.parse_args(argv)
    chosen.out.mkdir(parents=True, exist_ok=True)
    values = [v for v in VALUES if not chosen.only or not v[0] or v[0] in chosen.only.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        for name, text in PROGRAMS.items():
            Path(folder, f"use_{name}.py").write_text(text)
        pairs = [(name, value, program) for name, value in values for program in PROGRAMS]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            ends = list(pool.map(lambda pair: run(chosen.python, Path(folder), *pair), pairs))
    said = dict(zip(pairs, ends, strict=True))
    (chosen.out / "driver_variables.json").write_text(
        json.dumps([{"name": n, "value": v, "program": p, "end": e} for (n, v, p), e in said.items()], indent=1)
    )
    print("| value | " + " | ".join(PROGRAMS) + " |\n|---|" + "---|" * len(PROGRAMS))
    for name, value in values:
        cells = [said[name, value, program].replace("|", "/")[:90] or "works" for program in PROGRAMS]
        print(f"| {f'{name}={value}' if name else 'none'} | {' | '.join(cells)} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
