"""The machines that rows start from."""

from __future__ import annotations

import shutil
from collections.abc import Callable

from tests.faultlab import setups, standins, wheels
from tests.faultlab.setups import HOME, Lab, Site

CUDA = "/usr/local/cuda-12.4/lib64"
OLD, NEW = "/usr/local/cudnn-9.1/lib64", "/usr/local/cudnn-9.10/lib64"
_SYSTEM_WHEEL = {OLD: wheels.CUDNN_9_1, NEW: wheels.CUDNN_9_10}


def torch_9(lab: Lab) -> Site:
    """torch 2.6.0 with everything that it pins."""
    return setups.torch_9(lab)


def tensorflow_8(lab: Lab) -> Site:
    """tensorflow 2.17.1 with everything that it pins."""
    return setups.tensorflow_8(lab)


def named(name: str) -> Callable[[Lab], Site]:
    """torch_9 in an environment of this name."""
    return lambda lab: setups.torch_9(lab, name)


def torch_9_with(*cudnn: wheels.Wheel) -> Callable[[Lab], Site]:
    """torch 2.6.0 with other cuDNN wheels, or none, in place of its own."""
    return lambda lab: setups.install(setups.torch_9(lab, cudnn=None), *cudnn)


def tensorflow_8_with(*cudnn: wheels.Wheel) -> Callable[[Lab], Site]:
    """tensorflow 2.17.1 with other cuDNN wheels, or none, in place of its own."""
    return lambda lab: setups.install(setups.tensorflow_8(lab, cudnn=None), *cudnn)


def torch_9_beside_system(*, searched: bool) -> Callable[[Lab], Site]:
    """torch_9, and a toolkit with cuDNN 9.10 in /usr/local."""

    def base(lab: Lab) -> Site:
        setups.system_cudnn(lab, wheels.CUDNN_9_10, setups.toolkit(lab, searched=searched), searched=False)
        return setups.torch_9(lab)

    return base


def torch_9_10_beside_older(lab: Lab) -> Site:
    """torch_9 with cuDNN 9.10, and a toolkit with cuDNN 9.1 in /usr/local that is not searched."""
    setups.system_cudnn(lab, wheels.CUDNN_9_1, setups.toolkit(lab, searched=False), searched=False)
    return torch_9_with(wheels.CUDNN_9_10)(lab)


def torch_9_beside_toolkit(lab: Lab) -> Site:
    """torch_9, and a toolkit without cuDNN in /usr/local."""
    setups.toolkit(lab)
    return setups.torch_9(lab)


def torch_9_that_builds(lab: Lab) -> Site:
    """torch_9_beside_toolkit, and a package that builds kernels with the toolkit that a variable names."""
    site = torch_9_beside_toolkit(lab)
    start = site.folder / "deepspeed" / "__init__.py"
    start.parent.mkdir()
    start.write_text("")
    setups.distribution(site, "deepspeed", "0.16.2", ("torch",), [start])
    return site


def torch_13_beside_system(wheel: wheels.Wheel | None) -> Callable[[Lab], Site]:
    """torch 2.13.0 with nvidia-cudnn-cu13 9.20.0.48, and another cuDNN on ld.so's path."""

    def base(lab: Lab) -> Site:
        if wheel:
            setups.system_cudnn(lab, wheel, "/usr/local/cudnn/lib64")
        return setups.torch_13(lab)

    return base


def system(*folders: str, searched: bool = True, cuda_searched: bool = True) -> Callable[[Lab], Site]:
    """A torch 2.8.0 that takes the system's libraries: a toolkit, and cuDNN copies in the order of ld.so's search."""

    def base(lab: Lab) -> Site:
        setups.toolkit(lab, searched=cuda_searched)
        for number, folder in enumerate(folders):
            setups.system_cudnn(lab, _SYSTEM_WHEEL[folder], folder, searched=False)
            if searched:
                lab.search(folder, f"00{number}-cudnn")
        return setups.plain_torch(lab, requires=setups.TORCH_2_8)

    return base


def no_framework(lab: Lab) -> Site:
    """An empty environment, a toolkit and a cuDNN 9.10 that any program finds."""
    setups.system_cudnn(lab, wheels.CUDNN_9_10, setups.toolkit(lab), searched=False)
    return setups.environment(lab)


def empty(lab: Lab) -> Site:
    """An environment without packages."""
    return setups.environment(lab)


def two_environments(lab: Lab) -> Site:
    """One environment with cuDNN 8, one with cuDNN 9."""
    setups.tensorflow_8(lab)
    return setups.torch_9(lab)


def with_toolkit(base: Callable[[Lab], Site]) -> Callable[[Lab], Site]:
    """A base on a machine with a CUDA 12.4 toolkit."""

    def more(lab: Lab) -> Site:
        setups.toolkit(lab)
        return base(lab)

    return more


def cuda_11_torch(*which: wheels.Wheel) -> Callable[[Lab], Site]:
    """torch 2.6.0 built for CUDA 11.8, with the wheels named."""

    def base(lab: Lab) -> Site:
        site = setups.install(setups.environment(lab), *which)
        compiler = ("libnvrtc.so.11.2", "libnvrtc-builtins.so.11.8")
        for name, files in (("cuda-runtime", ("libcudart.so.11.0",)), ("cuda-nvrtc", compiler)):
            made = [site.folder / "nvidia" / name.replace("-", "_") / "lib" / file for file in files]
            for library in made:
                setups.standins.library(library)
            setups.distribution(site, f"nvidia-{name}-cu11", "11.8.89", (), made)
        return setups.torch(site, "2.6.0+cu118", "11.8", 9, ("nvidia-cudnn-cu11==9.1.0.70",))

    return base


def in_home(folder: str) -> str:
    """Return a path in the user's home."""
    return f"{HOME}/{folder}"


def bare_wheel(wheel: wheels.Wheel) -> Callable[[Lab], Site]:
    """An environment with one cuDNN wheel and the CUDA libraries that it asks for, without a framework."""
    return lambda lab: setups.install(setups.environment(lab), *_runtime(wheel), wheel)


def _runtime(wheel: wheels.Wheel) -> tuple[wheels.Wheel, ...]:
    return setups.RUNTIME if wheel.name.endswith("cu12") else ()


def system_alone(wheel: wheels.Wheel) -> Callable[[Lab], Site]:
    """A cuDNN in a folder of /usr/local that every program's loader searches, beside a toolkit, and an empty environment."""

    def base(lab: Lab) -> Site:
        _toolkit_of(wheel, lab)
        setups.system_cudnn(lab, wheel, "/usr/local/cudnn/lib64")
        return setups.environment(lab)

    return base


def _toolkit_of(wheel: wheels.Wheel, lab: Lab) -> None:
    """Install the toolkit that a cuDNN was built for; CUDA 13's libraries are stand-ins."""
    if wheel.name.endswith("cu12"):
        setups.toolkit(lab)
        return
    folder = "/usr/local/cuda-13.0/lib64"
    for name in ("cudart", "cublas", "cublasLt", "nvrtc"):
        standins.library(lab.at(f"{folder}/lib{name}.so.13"))
    standins.library(lab.at(f"{folder}/libnvrtc-builtins.so.13.0"))
    lab.write("/usr/local/cuda-13.0/version.json", '{"cuda": {"name": "CUDA SDK", "version": "13.0.0"}}\n')
    lab.at("/usr/local/cuda").symlink_to("cuda-13.0")
    lab.search(folder, "cuda-13-0")


IMAGE = {
    "LD_LIBRARY_PATH": "/usr/local/nvidia/lib:/usr/local/nvidia/lib64",
    "LIBRARY_PATH": "/usr/local/cuda-stubs",
    "NVIDIA_VISIBLE_DEVICES": "all",
    "NVIDIA_DRIVER_CAPABILITIES": "compute,utility",
    "CUDA_VERSION": "12.4.1",
}
"""What the images nvidia/cuda:*-cudnn-devel set."""


def image(wheel: wheels.Wheel) -> Callable[[Lab], Site]:
    """A container of such an image: cuDNN in the distribution's folder, the toolkit in /usr/local/cuda with its stub."""

    def base(lab: Lab) -> Site:
        _toolkit_of(wheel, lab)
        standins.stub(lab.at("/usr/local/cuda-stubs/libcuda.so"))
        folder = setups.system_cudnn(lab, wheel, "/usr/lib/x86_64-linux-gnu", searched=False)
        shutil.rmtree(folder.parent / "include")  # those images have their headers elsewhere, or none
        lab.write("/.dockerenv", "")
        return setups.environment(lab)

    return base
