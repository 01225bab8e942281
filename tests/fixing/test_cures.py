"""Every fix on the planted fault that it claims to cure: rehearsed, applied, the scan healthy, undone, all as before.

Each runs on a machine of the fault lab, with real wheels of NVIDIA's.
"""

from __future__ import annotations

import json
import os
import sys
import venv
from pathlib import Path

import pytest

from tests.faultlab import bases, wheels
from tests.faultlab import plants as p
from tests.faultlab.faults import Fault, table
from tests.faultlab.machine import NOBODY
from tests.faultlab.run import NoMachineError, built, on_machine
from tests.faultlab.setups import HOME, Lab, Site

MISSING, DAMAGED = "cudnn_sublibrary_missing", "corrupt_or_truncated_file"

CURED = (
    "variable-names-system-copy",
    "variable-names-mixed-folder",
    "variable-names-one-file",
    "not-on-path",
    "cuda-not-on-path",
)
"""Rows of the lab whose fix makes the primary finding go away by itself."""

UNDECIDED = ("cache-closed",)
"""What cannot be tried out without doing it."""


def writable(_lab: Lab, site: Site) -> None:
    """The environment belongs to who examines it, as it usually does."""
    if os.getuid() == 0:
        os.chown(site.cudnn, NOBODY, NOBODY)


def owned(lab: Lab, _site: Site) -> None:
    """A person's own files belong to that person."""
    for path in (lab.at(HOME), *lab.at(HOME).rglob("*")):
        if os.getuid() == 0 and "site-packages" not in str(path):
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


SPARE = p.copied_folder("/usr/local/cudnn-9.1/lib64", (wheels.CUDNN_9_1, "*"))
HIDE = p.written(f"{HOME}/.config/environment.d/10-gpu.conf", b"LANG=C\nCUDA_VISIBLE_DEVICES=-1\nX=1")
WRONG = p.written(f"{HOME}/.config/environment.d/10-cuda.conf", b"CUDA_PATH=/usr/local/cuda-11.8\n")


def own_cache_folder(lab: Lab, _site: Site) -> None:
    """The folder that holds the cache is the person's own; the cache itself is closed."""
    if os.getuid() == 0:
        os.chown(lab.at(f"{HOME}/.nv"), NOBODY, NOBODY)


KEPT = (
    Fault("sublibrary-deleted", MISSING, "A spare set lies in /usr/local.", bases.torch_9, p.both(p.deleted("libcudnn_ops.so.9"), SPARE, writable)),
    Fault("link-dangling", MISSING, "The same.", bases.torch_9, p.both(p.dangling("libcudnn_cnn.so.9", "gone"), SPARE, writable)),
    Fault("file-cut", DAMAGED, "The same.", bases.torch_9, p.both(p.cut("libcudnn_cnn.so.9", 100_000), SPARE, writable)),
    Fault("file-flipped", DAMAGED, "The same.", bases.torch_9, p.both(p.bit_flipped("libcudnn_graph.so.9"), SPARE, writable), thorough=True),
    Fault("hidden-for-every-session", "gpu_hidden_by_env", "A file sets it.", bases.torch_9, p.both(HIDE, owned), environment={"CUDA_VISIBLE_DEVICES": "-1"}),
    Fault("wrong-for-every-session", "cuda_path_env_wrong", "A file sets it.", bases.torch_9_beside_toolkit, p.both(WRONG, owned), environment={"CUDA_PATH": "/usr/local/cuda-11.8"}),
    Fault("cache-closed", "nv_compute_cache_bad", "Its folder is ours.", bases.torch_9, p.both(p.compute_cache_closed, own_cache_folder)),
)  # fmt: skip


def fault(name: str) -> Fault:
    return next(row for row in (*KEPT, *table()) if row.name == name)


def give_activation(lab: Lab, scratch: Path) -> None:
    """Give the lab's environments the activate script that Python itself writes."""
    venv.create(scratch / "venv", with_pip=False, symlinks=True)
    text = (scratch / "venv/bin/activate").read_text()
    for prefix in lab.pythons:
        path = lab.write(f"{prefix}/bin/activate", text.replace(str(scratch / "venv"), prefix))
        if os.getuid() == 0:
            for own in (path, path.parent):
                os.chown(own, NOBODY, NOBODY)


def cure(name: str, scratch: Path) -> dict[str, object]:
    with built(fault(name)) as lab:
        give_activation(lab, scratch)
        try:
            how = ["--thorough"] if fault(name).thorough else []
            done = on_machine(lab, [sys.executable, "-m", "tests.fixing.cure", *how, *lab.pythons])
        except NoMachineError as e:
            pytest.skip(f"this system allows no private mount namespace: {e}")
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    return json.loads(done.stdout)


@pytest.mark.download
@pytest.mark.parametrize("name", [*CURED, *(f.name for f in KEPT)])
def test_a_fix_cures_what_it_claims_and_is_undone_without_a_trace(name: str, tmp_path: Path) -> None:
    said = cure(name, tmp_path)
    assert said["cause"] == fault(name).cause
    assert said["rehearsed"] is (None if name in UNDECIDED else True), said
    assert said["untouched"], "the rehearsal changed something"
    assert (said["kind"], said["changed"]) == ("done", True), said
    assert (said["undone"], said["restored"]) == ("undone", True), said
