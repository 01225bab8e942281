"""Who keeps a folder: every way of installing is told by its own layout, and usual places are nobody's."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.knowledge.keepers import keeper_of
from core.model.findings import Finding
from core.rules.toolkit import damaged_toolkit_libraries, toolkits_in_order
from tests import machines as m


@pytest.mark.parametrize(
    ("path", "keeper"),
    [
        ("/nix/store/ix119bzn54cgvsm98cidfdb4c8w0v1qc-cudatoolkit-12.4/lib", "Nix"),
        ("/gnu/store/ix119bzn54cgvsm98cidfdb4c8w0v1qc-cuda-12", "Guix"),
        ("/home/ada/spack/opt/spack/linux-ubuntu22.04-zen3/gcc-12/cuda-12.4-abc", "Spack"),
        ("/opt/spack/linux-x/cuda-12.4", "Spack"),
        ("/opt/nvidia/hpc_sdk/Linux_x86_64/25.5/cuda/12.9", "NVIDIA HPC SDK"),
        ("/opt/nvidia/hpc_sdk/Linux_aarch64/25.5/cuda", "NVIDIA HPC SDK"),
        ("/apps/easybuild/2023/software/CUDA/12.4.0", "EasyBuild"),
        ("/snap/blender/5000/lib", "Snap"),
        ("/var/lib/flatpak/runtime/org.x/lib", "Flatpak"),
        ("/home/linuxbrew/.linuxbrew/Cellar/x/1", "Homebrew"),
        ("/usr/local/cuda-12.4", ""),
        ("/usr/lib/x86_64-linux-gnu", ""),
        ("/opt/cuda", ""),
        ("/home/ada/nix/store/x", ""),
        ("/home/ada/snap-of-mine/lib", ""),
        ("/home/ada/ml/lib/python3.12/site-packages/nvidia/cudnn/lib", ""),
        ("C:\\Program Files\\NVIDIA\\CUDNN\\v9.10", ""),
    ],
)
def test_a_folder_tells_who_keeps_it(path: str, keeper: str):
    found = keeper_of(path)
    assert (found.keeper if found else "") == keeper


STORE = "/nix/store/ix119bzn54cgvsm98cidfdb4c8w0v1qc-cudatoolkit-12.4"


def findings(**library: object) -> list[Finding]:
    made = m.toolkit(
        f"{STORE}/lib", {"libcudart.so.12": "12.4.127"}, root=STORE, origin="folder", named_by=("CUDA_HOME",)
    )
    made = replace(made, libraries=tuple(replace(f, **library) for f in made.libraries))
    seen = replace(m.no_gpu_machine(), toolkits=(made,), loads=())
    return [*damaged_toolkit_libraries(seen), *toolkits_in_order(seen)]


def test_a_toolkit_of_a_store_is_named_and_is_no_alarm():
    [found] = findings()
    assert found.severity.word == "good"
    assert ("Installed by", "Nix") in {(e.label, e.value) for e in found.evidence}


def test_a_damaged_one_is_put_back_by_who_keeps_it():
    [found] = findings(state="damaged", problem="is cut off")
    assert found.fix is not None
    assert found.fix.title == "Have Nix restore this toolkit"
    assert "nix-store --verify" in found.fix.advice
