"""Stand-ins of JAX and TensorFlow that take a GPU's memory at once unless their variable says otherwise, and then fail."""

from __future__ import annotations

from pathlib import Path

from tests.curelab.wheels import make_wheel

NUMPY = """
class Any:
    shape = (2, 8, 16, 16)
    name = platform = device_kind = "gpu"
    def __getattr__(self, name): return self
    def __call__(self, *given, **named): return self
    def __getitem__(self, at): return self
    def __setitem__(self, at, value): pass
    def __enter__(self): return self
    def __exit__(self, *error): return None
    def __iter__(self): return iter((self, self))
    def __str__(self): return "gpu"
    def __bool__(self): return True
    def __le__(self, other): return True
    def __add__(self, other): return self
    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __iadd__ = __add__
some = Any()
def __getattr__(name): return some
"""
"""Arrays that agree with everything: what is tested here is who takes the memory."""
JAX = """
import os
from numpy import some
__version__ = "0.7.2"
class lax:
    class Precision: HIGHEST = None
    @staticmethod
    def conv_general_dilated(*given, **named):
        if os.environ.get("XLA_PYTHON_CLIENT_PREALLOCATE") != "false":
            raise RuntimeError("INTERNAL: cuDNN: CUDNN_STATUS_INTERNAL_ERROR")
        return some
class numpy: ones_like = staticmethod(lambda y: y)
def vjp(function, a, b): return function(a, b), lambda y: (function(a, b), function(a, b))
class _Device: platform = device_kind = "gpu"
def jit(function): return function
def devices(): return [_Device]
"""
TENSORFLOW = """
import os
from numpy import some
__version__ = "2.19.0"
_grown = []
class sysconfig: get_build_info = staticmethod(lambda: {"cuda_version": "12.5.1", "cudnn_version": "9"})
class test: is_built_with_cuda = staticmethod(lambda: True)
class config:
    list_physical_devices = staticmethod(lambda kind: [some])
    class experimental: set_memory_growth = staticmethod(lambda card, on: _grown.append(on))
class nn:
    @staticmethod
    def conv2d(*given):
        if not _grown and os.environ.get("TF_FORCE_GPU_ALLOW_GROWTH") != "true":
            raise RuntimeError("UNKNOWN: Failed to get convolution algorithm. This is probably because cuDNN failed to initialize")
        return some
def device(name): return some
def GradientTape(): return some
def constant(value): return some
def reduce_sum(value): return some
"""
"""The messages: what people quote of either framework."""
PROGRAM = {
    "jax": "import jax; jax.lax.conv_general_dilated(1, 2); print('yes')",
    "tensorflow": "import tensorflow as tf; tf.nn.conv2d(1, 2); print('yes')",
}
"""The person's own program, which knows nothing of memory."""


def greedy(folder: Path) -> None:
    """Write the wheels."""
    make_wheel(folder, "numpy", "2.2.0", {"numpy/__init__.py": NUMPY})
    jax = {"jax/__init__.py": JAX, "jax/_src/core.py": "", "jax/_src/__init__.py": ""}
    make_wheel(folder, "jax", "0.7.2", jax, requires=["numpy"])
    files = {"tensorflow/__init__.py": TENSORFLOW, "tensorflow/python/framework/ops.py": ""}
    make_wheel(folder, "tensorflow", "2.19.0", files, requires=["numpy"])
