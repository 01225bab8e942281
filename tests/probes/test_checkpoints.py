"""Whole objects in a file that a program loads as PyTorch does by itself."""

from __future__ import annotations

import argparse
import collections
import json
import pathlib
import pickle
import zipfile
from pathlib import Path

import pytest

from core.model.facts import Distribution
from core.model.paths import System
from core.probes.python import locations
from core.probes.python.programs.checkpoints import models_of_keras_2, newer_models, refused_checkpoints
from core.probes.sysroot import Sysroot, sysroot_of
from tests.machines import python
from tests.probes.request import request, write

LOADS = "import torch\nmodel = torch.load('net.pt', map_location='cpu')\n"
WHOLE = argparse.Namespace(lr=0.1)


@pytest.mark.parametrize(
    ("program", "release", "holds", "env", "told"),
    [
        (LOADS, "2.6.0", WHOLE, {}, True),
        (LOADS.replace("'net.pt'", "NET").replace("model", "NET = 'net.pt'\nmodel"), "2.6.0+cu124", WHOLE, {}, True),
        (f"def main():\n    {LOADS.splitlines()[1]}\nmain()\n", "2.8.0", WHOLE, {}, True),
        (f"def main():\n    {LOADS.splitlines()[1]}\n", "2.8.0", WHOLE, {}, False),
        (f"try:\n    {LOADS.splitlines()[1]}\nexcept Exception:\n    pass\n", "2.8.0", WHOLE, {}, False),
        (LOADS, "2.5.1", WHOLE, {}, False),
        (LOADS, "2.6.0", collections.OrderedDict(lr=0.1), {}, False),
        (LOADS, "2.6.0", {"kinds": {1, 2}}, {}, False),
        (LOADS, "2.6.0", WHOLE, {"TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}, False),
        (LOADS.replace("'cpu'", "'cpu', weights_only=False"), "2.6.0", WHOLE, {}, False),
        (LOADS.replace("'cpu'", "'cpu', **more"), "2.6.0", WHOLE, {}, False),
        (LOADS.replace("net", "other"), "2.6.0", WHOLE, {}, False),
        (
            LOADS.replace("model", "torch.load = functools.partial(torch.load, weights_only=False)\nmodel"),
            "2.6.0",
            WHOLE,
            {},
            False,
        ),
    ],
)
def test_a_file_with_whole_objects_is_told_where_torch_refuses_it(
    program: str,
    release: str,
    holds: object,
    env: dict[str, str],
    told: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(locations, "working_folder", lambda _where: "/home/ada/work")
    write(tmp_path, "/home/ada/work/main.py", program)
    with zipfile.ZipFile(tmp_path / "home/ada/work/net.pt", "w") as file:
        file.writestr("net/data.pkl", pickle.dumps(holds, protocol=2))
    its = python(prefix="/env", distributions=(Distribution(name="torch", version=release, location="/env/site"),))
    asked = request(tmp_path, {"HOME": "/home/ada", **env}, pythons=(its,))
    found = [*refused_checkpoints(its, asked, Sysroot(system="linux", root=str(tmp_path)))]
    assert [(one.detail, one.path) for one in found] == [("argparse.Namespace", "/home/ada/work/net.pt")] * told


class _Foreign:
    """It is pickled as another system pickles a path."""

    def __init__(self, kind: str) -> None:
        self.kind = getattr(pathlib, kind)

    def __reduce__(self) -> tuple[object, ...]:
        return self.kind, ("runs",)


BY_WORD = LOADS.replace("'cpu'", "'cpu', weights_only=False")


@pytest.mark.parametrize(
    ("system", "kind", "program", "release", "told"),
    [
        ("windows", "PosixPath", BY_WORD, "2.6.0", True),
        ("windows", "PosixPath", LOADS, "2.5.1", True),
        ("windows", "PosixPath", BY_WORD, "2.5.1", True),
        ("windows", "WindowsPath", BY_WORD, "2.6.0", False),
        ("windows", "PosixPath", f"import pathlib\npathlib.PosixPath = pathlib.WindowsPath\n{BY_WORD}", "2.6.0", False),
        ("linux", "WindowsPath", BY_WORD, "2.6.0", True),
        ("linux", "PosixPath", BY_WORD, "2.6.0", False),
    ],
)
def test_a_path_of_another_system_is_told(
    system: System, kind: str, program: str, release: str, told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    work = r"C:\work" if system == "windows" else "/home/ada/work"
    monkeypatch.setattr(locations, "working_folder", lambda _where: work)
    folder = "/C:/work" if system == "windows" else work
    write(tmp_path, f"{folder}/main.py", program)
    with zipfile.ZipFile(tmp_path / folder.lstrip("/") / "net.pt", "w") as file:
        file.writestr("net/data.pkl", pickle.dumps({"save_dir": _Foreign(kind)}, protocol=2))
    its = python(prefix="/env", distributions=(Distribution(name="torch", version=release, location="/env/site"),))
    asked = request(tmp_path, {}, system=system, pythons=(its,))
    found = [*refused_checkpoints(its, asked, sysroot_of(asked.host))]
    assert [(one.model, one.detail) for one in found] == [("paths", f"pathlib.{kind}")] * told


def onnx(form: int) -> bytes:
    """Return a model of this version of the form, with an empty graph."""
    return bytes((8, form, 7 << 3 | 2, 2)) + b"\x12\x00"


OPENS = "import onnxruntime as ort\nsession = ort.InferenceSession('net.onnx', providers=['CPUExecutionProvider'])\n"


@pytest.mark.parametrize(
    ("form", "reader", "release", "program", "newest"),
    [
        (11, "onnxruntime", "1.20.1", OPENS, "10"),
        (10, "onnxruntime-gpu", "1.17.1", OPENS, "9"),
        (12, "onnxruntime-directml", "1.23.2", OPENS, "11"),
        (10, "onnxruntime", "1.20.1", OPENS, ""),
        (99, "onnxruntime", "1.31.0", OPENS, ""),
        (11, "onnxruntime", "1.20.1", "import onnxruntime\nprint('net.onnx')\n", ""),
        (11, "onnxruntime", "1.20.1", f"def later():\n    {OPENS.splitlines()[1]}\n", ""),
        (11, "torch", "2.6.0", OPENS, ""),
    ],
)
def test_a_model_of_a_newer_form_is_told_where_a_program_opens_it(
    form: int, reader: str, release: str, program: str, newest: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(locations, "working_folder", lambda _where: "/home/ada/work")
    write(tmp_path, "/home/ada/work/main.py", program)
    write(tmp_path, "/home/ada/work/net.onnx", onnx(form))
    its = python(prefix="/env", distributions=(Distribution(name=reader, version=release, location="/env/site"),))
    found = [*newer_models(its, request(tmp_path, {"HOME": "/home/ada"}, pythons=(its,)), Sysroot(system="linux", root=str(tmp_path)))]  # fmt: skip
    assert [(one.name, one.detail, one.called) for one in found] == [(str(form), newest, "/home/ada/work/main.py:2")] * bool(newest)  # fmt: skip


LOADS_H5 = "from tensorflow.keras.models import load_model\n\nmodel = load_model('net.h5', compile=False)\n"


def hdf5(layer: str, **config: object) -> bytes:
    """Return the part of a model's file that has its configuration."""
    layers = [
        {"class_name": "InputLayer", "config": {}},
        {"class_name": "Bidirectional", "config": {"layer": {"class_name": layer, "config": config}}},
    ]
    told = json.dumps({"class_name": "Sequential", "config": {"name": "net", "layers": layers}})
    return b"\x89HDF\r\n\x1a\n\0\0" + told.encode() + b"\0\0keras_version\0"


@pytest.mark.parametrize(
    ("data", "release", "program", "env", "told"),
    [
        (hdf5("DepthwiseConv2D", groups=1), "3.8.0", LOADS_H5, {}, ("DepthwiseConv2D", "groups")),
        (hdf5("LSTM", units=2, time_major=False), "3.8.0", LOADS_H5, {}, ("LSTM", "time_major")),
        (hdf5("LSTM", units=2), "3.8.0", LOADS_H5, {}, None),
        (hdf5("Conv2D", groups=1), "3.8.0", LOADS_H5, {}, None),
        (hdf5("DepthwiseConv2D", groups=1), "2.15.0", LOADS_H5, {}, None),
        (hdf5("DepthwiseConv2D", groups=1), "3.8.0", LOADS_H5, {"TF_USE_LEGACY_KERAS": "1"}, None),
        (hdf5("DepthwiseConv2D", groups=1), "3.8.0", LOADS_H5.replace("compile=False", "custom_objects=mine"), {}, None),
        (hdf5("DepthwiseConv2D", groups=1), "3.8.0", LOADS_H5.replace("tensorflow.keras", "tf_keras"), {}, None),
        (hdf5("DepthwiseConv2D", groups=1)[:90], "3.8.0", LOADS_H5, {}, None),
        (b"PK", "3.8.0", LOADS_H5, {}, None),
    ],
)  # fmt: skip
def test_a_model_of_keras_2_is_told_where_keras_3_loads_it(
    data: bytes,
    release: str,
    program: str,
    env: dict[str, str],
    told: tuple[str, str] | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(locations, "working_folder", lambda _where: "/home/ada/work")
    write(tmp_path, "/home/ada/work/main.py", program)
    (tmp_path / "home/ada/work/net.h5").write_bytes(data)
    its = python(prefix="/env", distributions=(Distribution(name="keras", version=release, location="/env/site"),))
    asked = request(tmp_path, env, pythons=(its,))
    found = [*models_of_keras_2(its, asked, sysroot_of(asked.host))]
    assert [(one.name, one.detail) for one in found] == ([told] if told else [])
