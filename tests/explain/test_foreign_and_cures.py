"""Texts from another machine are recognised; cures that do harm are warned of; causes are refuted."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.doctor.examine import diagnose_snapshot
from core.explain import explain
from core.model.facts import Snapshot, Variable
from tests import machines as m
from tests.explain import cases

ADA = m.linux_machine(user="ada")


def ada() -> Snapshot:
    """Ada's Linux machine."""
    return replace(m.wheel_machine(), machine=ADA)


@pytest.mark.parametrize(
    "text",
    [
        "Could not load library cudnn_cnn_infer64_8.dll. Error code 126",
        "C:\\ml\\lib\\site-packages\\torch: CUDNN_STATUS_NOT_INITIALIZED",
        'File "/home/grace/venv/lib/python3.9/site-packages/torch/nn/functional.py": CUDNN_STATUS_NOT_INITIALIZED',
        "/data/lib/python3.8/site-packages/jax: Loaded runtime CuDNN library: 8.0.5 but source was compiled with: 8.1.0",
    ],
)
def test_a_text_of_another_machine(text: str) -> None:
    explained = explain(text, ada())
    assert explained.foreign
    assert "another machine" in explained.sentence
    assert {r.verdict for r in explained.causes} == {"open"}


@pytest.mark.parametrize(
    "text",
    [
        "libcudnn_ops.so.9: cannot open shared object file",
        'File "/home/ada/ml/lib/python3.11/site-packages/torch/nn/functional.py": CUDNN_STATUS_NOT_INITIALIZED',
        "/home/user/x.py: CUDNN_STATUS_NOT_INITIALIZED at /opt/conda/conda-bld/pytorch/work/aten/src",
        "Loaded runtime CuDNN library: 8.0.5 but source was compiled with: 8.1.0",
        "WSL2 on Windows 11: libcuda.so: cannot open shared object file",
    ],
)
def test_a_text_of_this_machine(text: str) -> None:
    assert explain(text, ada()).foreign == ""


def test_a_redacted_report_does_not_make_a_text_foreign() -> None:
    hidden = replace(m.wheel_machine(), machine=m.linux_machine(user="<user>"))
    assert explain("/home/grace/x.py: CUDNN_STATUS_NOT_INITIALIZED", hidden).foreign == ""


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("I copied cudnn64_8.dll to C:\\Windows\\System32", "system32"),
        ("downloaded cudnn_ops_infer64_8.dll from dll-files.com", "one_file"),
        ("ln -s libcudnn.so.9 libcudnn.so.8", "renamed"),
        ("then I renamed cusolver64_11.dll to cusolver64_10.dll", "renamed"),
        ("echo 'export LD_LIBRARY_PATH=/usr/local/cuda/lib64' >> ~/.bashrc # cuda", "global_ld_library_path"),
        ("cudnn_graph64_9.dll: Could not locate zlibwapi.dll", "zlibwapi_useless"),
        ('setx PATH "%PATH%;C:\\cuda\\bin" for cudnn64_9.dll', "setx_path"),
    ],
)
def test_wrong_cures_in_the_text(text: str, cure: str) -> None:
    warning = next(w for w in explain(text).warnings if w.id == cure)
    assert warning.harm
    assert warning.undo
    assert warning.seen


@pytest.mark.parametrize(
    "text", ["Could not load library cudnn_cnn_infer64_8.dll. Error code 126", "CUDA out of memory"]
)
def test_no_warning_without_a_reason(text: str) -> None:
    assert explain(text).warnings == ()
    assert explain(text, ada()).warnings == ()


def test_zlib_is_of_no_use_from_8_9_4_on() -> None:
    text = "Could not locate zlibwapi.dll. Please make sure it is in your library path!"
    old, new = (explain(text, cases.cudnn8(v)) for v in ("8.9.0", "8.9.7"))
    assert [w.id for w in old.warnings] == []
    assert [w.id for w in new.warnings] == ["zlibwapi_useless"]
    verdict = {r.cause: r.verdict for r in new.causes}
    assert verdict["zlibwapi_missing"] == "refuted"


def test_a_cudnn_with_zlib_inside_names_zlib_for_a_part_of_its_own() -> None:
    text = "Could not locate zlibwapi.dll. Please make sure it is in your library path!"
    seen = diagnose_snapshot(cases.cudnn8_without_ops())
    verdict = {r.cause: r.verdict for r in explain(text, seen.snapshot, seen.findings).causes}
    assert verdict == {"cudnn_sublibrary_missing": "proved", "zlibwapi_missing": "refuted"}


def test_wrong_cures_on_the_machine() -> None:
    lasting = Variable(name="LD_LIBRARY_PATH", value="/opt/x", scope="login", source="/home/ada/.profile")
    machine = m.wheel_machine()
    environment = replace(machine.environment, variables=(lasting,)) if machine.environment else None
    inside = m.cudnn(r"C:\Windows\System32", system="windows", origin="system", environment="")
    windows = replace(m.windows_machine(), cudnn=(inside,))
    text = "CUDNN_STATUS_NOT_INITIALIZED"
    assert [w.id for w in explain(text, replace(machine, environment=environment)).warnings] == [
        "global_ld_library_path"
    ]
    assert [w.id for w in explain(text, windows).warnings] == ["system32"]


REFUTED = {
    "zlibwapi_missing": "Could not load library libcudnn_cnn_infer.so.8; zlibwapi.dll, docker container",
    "cudnn_not_installed": "libcudnn.so.9: cannot open shared object file",
    "cudnn_sublibrary_missing": "CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED libcudnn_ops.so.9",
    "ld_library_path_override": "Segmentation fault in torch conv2d",
    "gpu_hidden_by_env": "No CUDA GPUs are available",
    "driver_module_not_loaded": "nvidia-smi has failed because it couldn't communicate with the NVIDIA driver",
    "container_no_gpu_runtime": "in the docker container: libcuda.so.1: cannot open shared object file",
    "wsl_libcuda_not_found": "Failed to dlopen libcuda.so",
    "uvm_stale_after_suspend": "CUDA unknown error",
    "device_node_permission": "/dev/nvidia0: Permission denied",
    "cudnn_minor_too_old": "Loaded runtime CuDNN library: 9.1.0 but source was compiled with: 9.2.0",
    "mixed_cudnn_sublibraries": "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH",
    "driver_too_old": "CUDA driver version is insufficient for CUDA runtime version",
}


@pytest.mark.parametrize(
    "text",
    [
        "docker: Error response from daemon: could not select device driver with capabilities: [[gpu]]",
        "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file",
    ],
)
def test_a_host_in_order_does_not_refute_what_its_container_engine_says(text: str) -> None:
    """The engine speaks on the host, of a container that does not exist yet: that the host has none is no answer."""
    ranked = next(r for r in explain(text, m.wheel_machine()).causes if r.cause == "container_no_gpu_runtime")
    assert ranked.verdict == "open"


@pytest.mark.parametrize("cause", REFUTED)
def test_a_machine_in_order_refutes(cause: str) -> None:
    ranked = next(r for r in explain(REFUTED[cause], m.wheel_machine()).causes if r.cause == cause)
    assert ranked.verdict == "refuted"
    assert ranked.evidence


@pytest.mark.parametrize("name", m.HEALTHY)
def test_a_machine_in_order_proves_nothing(name: str) -> None:
    texts = [case.text for case in cases.CASES.values() if "Library libcublas" not in case.text]
    for text in texts:
        proved = [r.cause for r in explain(text, m.HEALTHY[name]()).causes if r.verdict == "proved"]
        assert set(proved) <= {"cudnn_major_mismatch", "cuda_toolkit_version_mismatch"}, text
