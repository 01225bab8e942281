"""Reports to show: one fault with everything that a card can have, and a machine in order."""

from __future__ import annotations

from core.model.facts import (
    CudnnCopy,
    Driver,
    Environment,
    Gpu,
    LibraryFile,
    Machine,
    Nvml,
    PathEntry,
    PythonEnvironment,
    Snapshot,
)
from core.model.findings import Evidence, Finding, Fix, Report
from core.model.steps import Severity, Step

LONG = "/opt/environments/a-rather-long-name-of-a-project/lib/python3.11/site-packages/nvidia/cudnn/lib"
CAUSE = Finding(
    id="cudnn.damaged",
    cause="corrupt_or_truncated_file",
    step=Step.CUDNN,
    severity=Severity.ERROR,
    primary=True,
    title="libcudnn_cnn.so.9 is shorter than its own headers say",
    why="The file was cut off, most likely by an interrupted download. Programs that load it are killed.",
    subject=LONG,
    evidence=(
        Evidence(label="Size on disk", value="1,048,576 bytes", source=f"{LONG}/libcudnn_cnn.so.9"),
        Evidence(label="Loader", value="cannot read file data", source="roll call in a child process"),
    ),
    fix=Fix(title="Install the wheel anew", advice="Run this command:\n  python -m pip install nvidia-cudnn-cu12"),
)
WARNING = Finding(
    id="toolkit.path",
    cause="cuda_path_env_wrong",
    step=Step.TOOLKIT,
    severity=Severity.WARNING,
    title="CUDA_PATH names a folder that does not exist",
    fix=Fix(title="Point CUDA_PATH to a toolkit", advice="Set it"),
)
GOOD = Finding(id="driver.good", cause="", step=Step.DRIVER, severity=Severity.GOOD, title="The driver sees 1 GPU")

SNAPSHOT = Snapshot(
    machine=Machine(system="linux", release="Debian GNU/Linux 12"),
    driver=Driver(
        gpus=(Gpu(index=0, name="NVIDIA GeForce RTX 4090", compute_capability="8.9", memory_total=25_757_220_864),),
        nvml=Nvml(driver_version="580.65.06", driver_cuda="13.0"),
    ),
    toolkits=(),
    cudnn=(
        CudnnCopy(
            folder=LONG,
            origin="wheel",
            major=9,
            version="9.10.2",
            cuda_major=12,
            files=(
                LibraryFile(path=f"{LONG}/libcudnn.so.9", name="libcudnn.so.9", version="9.10.2"),
                LibraryFile(path=f"{LONG}/libcudnn_cnn.so.9", name="libcudnn_cnn.so.9", state="truncated"),
            ),
        ),
    ),
    environment=Environment(
        entries=(
            PathEntry(variable="PATH", index=0, text="/usr/bin"),
            PathEntry(variable="PATH", index=1, text="/gone", exists=False, marks=("missing",)),
        )
    ),
    pythons=(PythonEnvironment(prefix="/opt/environments/train", version="3.11.7", kind="venv"),),
)
BROKEN = Report(snapshot=SNAPSHOT, findings=(CAUSE, WARNING, GOOD), version="0.1.0")
LOADS = Finding(id="cudnn.good", cause="", step=Step.CUDNN, severity=Severity.GOOD, title="cuDNN 9.10.2 loads")
HEALTHY = Report(snapshot=SNAPSHOT, findings=(GOOD, LOADS), version="0.1.0")
HOSTILE = "<b>bold</b> <img src=x> \x1b[31mred \u202eback\u0000"
