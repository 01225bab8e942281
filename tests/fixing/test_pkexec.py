"""Elevation for real: an ordinary user, pkexec and polkit, root on the other side; on a machine of the fault lab's.

A rule of polkit's stands for the password. Only root can build such a machine (setuid programs work on it).
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from functools import cache
from typing import Any

import pytest

from tests.faultlab import bases, wheels
from tests.faultlab import plants as p
from tests.faultlab.faults import Fault
from tests.faultlab.machine import NOBODY
from tests.faultlab.run import NoMachineError, built, on_machine
from tests.faultlab.setups import Lab, Site, plain_torch, toolkit

pytestmark = [
    pytest.mark.download,
    pytest.mark.skipif(os.getuid() != 0 or not shutil.which("pkexec"), reason="needs root and pkexec"),
]
MINE, SPARE = "/usr/local/cudnn-9.10/lib64", "/opt/cudnn-9.10/lib64"


def base(lab: Lab) -> Site:
    """A torch that takes the system's cuDNN 9.10, of which root has a second copy."""
    toolkit(lab)
    for folder in (MINE, SPARE):
        p.copied_folder(folder, (wheels.CUDNN_9_10, "*"))(lab, Site(lab.tree, ""))
    lab.search(MINE, "cudnn")
    return plain_torch(lab, requires=bases.setups.TORCH_2_8)


FAULT = Fault(
    "system-copy-cut", "corrupt_or_truncated_file", "Root's copy.", base, p.cut(f"{MINE}/libcudnn_cnn.so.9", 100_000)
)


@cache
def told() -> dict[str, Any]:
    with built(FAULT) as lab:
        try:
            done = on_machine(lab, [sys.executable, "-m", "tests.fixing.elevated", *lab.pythons], polkit=True)
        except NoMachineError as e:
            pytest.skip(f"this system allows no private mount namespace: {e}")
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    said: dict[str, Any] = json.loads(done.stdout)
    assert said["user"] == NOBODY
    return said


def test_a_copy_of_root_s_is_completed_verified_listed_and_taken_back() -> None:
    said = told()["cure"]
    assert said["before"]
    assert (said["elevated"], said["problems"]) == (True, [])
    assert (said["outcome"], said["after"]) == ("done", []), said
    assert said["listed"], "the user does not see what was done for him"
    assert (said["back"], said["left"]) == ("undone", []), said


def test_the_command_by_hand_does_precisely_the_plan() -> None:
    said = told()["by hand"]
    assert (said["kind"], said["said"]) == (
        "refused",
        "Nothing was changed. No window can ask for the password here. Run this in a terminal: ",
    )
    assert said["done"] == "done", said
    [changed] = said["changed"]
    assert changed.startswith(f"{SPARE}/libcudnn_cnn.so.9: ")
    assert changed.endswith(" -> None")
    assert (said["back"], said["left"]) == ("undone", [])


@pytest.mark.parametrize(
    ("act", "words"),
    [
        ("tampered", "SHA-256 differs"),
        ("another hash", "SHA-256 differs"),
        ("not listed", "administrator rights"),
        ("loose source", "can be changed by other users"),
        ("loose order", "can be changed by other users"),
    ],
)
def test_root_refuses(act: str, words: str) -> None:
    said = told()["refusals"]
    kind, sentence = said[act]
    assert kind == "refused", sentence
    assert words in sentence
    assert said["left"] == []
