"""Classes A and B: a library that a GPU binary needs is absent, unfit, or does not fit the others; and healthy machines."""

from __future__ import annotations

from tests.worldlab.scene import Scene, imports, loses

SCENES = (
    Scene("torch-2.8-healthy", "healthy", "torch-2.8", imports("torch", "torchvision", "torchaudio")),
    Scene("torch-2.6-healthy", "healthy", "torch-2.6", imports("torch", "torchvision")),
    Scene("jax-healthy", "healthy", "jax", imports("jax", "jax_cuda12_plugin")),
    Scene("cupy-healthy", "healthy", "cupy", imports("cupy")),
    Scene("torch-lost-cusparselt", "A", "torch-2.8", imports("torch"), loses("nvidia/cusparselt/lib/libcusparseLt.so.0"), ("corrupt_or_truncated_file",), "torch", "libcusparseLt.so.0"),
)  # fmt: skip
