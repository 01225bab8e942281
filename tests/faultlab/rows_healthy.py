"""Healthy machines, which must have no finding above a note."""

from __future__ import annotations

from tests.faultlab import bases, wheels
from tests.faultlab import plants as p
from tests.faultlab.bases import CUDA, NEW, OLD, in_home
from tests.faultlab.faults import Fault

COMPLETE = {
    "8.9": wheels.CUDNN_8_9,
    "9.1": wheels.CUDNN_9_1,
    "9.10": wheels.CUDNN_9_10,
    "9.21-cuda-13": wheels.CUDNN_9_21_CUDA_13,
}
"""Every wheel of the lab that was published whole."""

NO_DRIVER = tuple(
    Fault(f"healthy-no-gpu-{name}-{layout}", "", why, base(wheel), driver=None, environment=variables)
    for name, wheel in COMPLETE.items()
    for layout, why, base, variables in (
        ("environment", "The wheel in an environment, no GPU and no driver.", bases.bare_wheel, {}),
        ("program", "A cuDNN that any program finds, no GPU and no driver.", bases.system_alone, {}),
        ("image", "An image of NVIDIA's layout, built or started without a GPU.", bases.image, bases.IMAGE),
    )
)

HEALTHY = (
    Fault("healthy-8", "", "cuDNN 8.9 from its wheel.", bases.tensorflow_8),
    Fault("healthy-9", "", "cuDNN 9.1 from its wheel.", bases.torch_9),
    Fault("healthy-9-thorough", "", "Every hash of every file is right.", bases.torch_9, thorough=True),
    Fault("healthy-system-copy", "", "A toolkit with cuDNN 9.10 on ld.so's path.", bases.no_framework),
    Fault("healthy-system-torch", "", "A torch that takes the system's cuDNN 9.10.", bases.system(NEW)),
    Fault("healthy-newer-copy-first", "", "Two copies, the right one first.", bases.system(NEW, OLD)),
    Fault("healthy-two-majors", "", "Two environments, one with cuDNN 8, one with 9.", bases.two_environments),
    Fault(
        "healthy-other-toolkit",
        "",
        "A local toolkit 12.4 differs from the wheel's runtime 13: that is normal.",
        bases.with_toolkit(bases.torch_13_beside_system(None)),
        notes=("cudnn.faulty-release",),
    ),
    Fault(
        "healthy-beside-system-copy",
        "",
        "A whole wheel and a whole system copy.",
        bases.torch_9_beside_system(searched=True),
    ),
    Fault(
        "healthy-variable-names-wheel",
        "",
        "LD_LIBRARY_PATH names the wheel's own folder: the same files in the same order.",
        bases.torch_9_beside_system(searched=True),
        p.from_environment("LD_LIBRARY_PATH", "nvidia/cudnn/lib"),
    ),
    Fault(
        "healthy-variable-names-toolkit",
        "",
        "LD_LIBRARY_PATH names a toolkit without cuDNN, as NVIDIA's guide advises.",
        bases.torch_9_beside_toolkit,
        environment={"LD_LIBRARY_PATH": CUDA, "CUDA_HOME": "/usr/local/cuda"},
    ),
    Fault(
        "healthy-variable-names-newer",
        "",
        "LD_LIBRARY_PATH names a toolkit with cuDNN 9.10; the environment has 9.1. PyTorch takes a newer one.",
        bases.torch_9_beside_system(searched=False),
        environment={"LD_LIBRARY_PATH": CUDA},
    ),
    Fault(
        "healthy-variable-names-other-major",
        "",
        "LD_LIBRARY_PATH names a cuDNN 8 for other programs; torch asks for 9.",
        bases.torch_9,
        p.copied_folder(in_home("cudnn8"), (wheels.CUDNN_8_9, "*")),
        environment={"LD_LIBRARY_PATH": in_home("cudnn8")},
    ),
    Fault(
        "healthy-variable-names-nothing",
        "",
        "LD_LIBRARY_PATH ends with a colon and names a folder that is gone.",
        bases.torch_9,
        environment={"LD_LIBRARY_PATH": "/usr/local/cuda-11.2/lib64:"},
    ),
    Fault(
        "healthy-visible-uuid",
        "",
        "CUDA_VISIBLE_DEVICES names the GPU by its UUID.",
        bases.torch_9,
        environment={"CUDA_VISIBLE_DEVICES": "GPU-01020304-0506-0708-090a-0b0c0d0e0f10"},
    ),
    Fault("healthy-non-ascii", "", "An environment in a folder with an accent.", bases.named("modèles été")),
    Fault("healthy-visible-0", "", "CUDA_VISIBLE_DEVICES=0.", bases.torch_9, environment={"CUDA_VISIBLE_DEVICES": "0"}),
    Fault(
        "healthy-stubs-for-linking",
        "",
        "The toolkit's stub lies where the linker wants it, and no program loads it.",
        bases.torch_9_beside_toolkit,
        p.stub_libcuda(f"{CUDA}/stubs"),
    ),
    *NO_DRIVER,
    Fault("healthy-no-gpu", "", "No NVIDIA GPU: one calm note.", bases.torch_9, driver=None, notes=("driver.no-gpu",)),
    Fault(
        "other-header",
        "",
        "cudnn_version.h of cuDNN 8.9 beside libraries of 9.10: a note for those who compile.",
        bases.no_framework,
        p.header(f"{CUDA.removesuffix('/lib64')}/include/cudnn_version.h", wheels.CUDNN_8_9),
        notes=("cudnn.header-differs",),
    ),
    Fault(
        "wrong-unversioned-link",
        "",
        "libcudnn.so leads to another release: a note for those who link.",
        bases.system(NEW, OLD),
        p.relinked(f"{NEW}/libcudnn.so", f"{OLD}/libcudnn.so.9"),
        notes=("cudnn.link-differs",),
    ),
)
