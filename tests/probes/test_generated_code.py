"""Code that protobuf's compiler wrote for another release than the installed one."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import pytest

from core.probes.python.text.generated_code import refused_at, takes_all
from tests.probes.test_import_closure import ended, plant, really_ends

OLD = "_ROW = _descriptor.Descriptor(\n  name='Row',\n)\n"
NEW = "_runtime_version.ValidateProtobufRuntimeVersion(\n    _runtime_version.Domain.PUBLIC,\n    6,\n    31,\n    1,\n    '',\n    'row.proto'\n)\n"
BUILT = "_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, globals())\n"


@pytest.mark.parametrize(
    ("text", "release", "compiled", "told"),
    [
        (OLD, "4.21.0", True, 0),
        (OLD, "7.36.2", True, 0),
        ("_SIZE = _descriptor.FieldDescriptor(name='size')\n", "4.21.0", True, 0),
        ("_SIZE = _descriptor.FieldDescriptor(name='size')\n", "3.20.3", True, None),
        ("DESCRIPTOR = _descriptor.FileDescriptor(name='row.proto')\n", "7.36.2", True, None),
        (OLD, "3.20.3", True, None),
        (OLD, "7.36.2", False, None),
        (OLD, "", True, None),
        (NEW, "6.31.0", True, 0),
        (NEW, "5.29.5", False, 0),
        (NEW, "6.31.1", True, None),
        (NEW, "7.36.2", True, None),
        (NEW, "", True, None),
        (NEW.replace("31,\n    1", "31,\n    0"), "6.31", True, None),
        (BUILT, "7.36.2", True, None),
        ("if pure:\n  " + OLD, "7.36.2", True, None),
    ],
)
def test_which_release_refuses_a_module(text: str, release: str, compiled: bool, told: int | None):
    assert refused_at(text, release, compiled=compiled) == told


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({}, False),
        ({"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"}, True),
        ({"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "upb"}, False),
        ({"TEMPORARILY_DISABLE_PROTOBUF_VERSION_CHECK": "True"}, True),
    ],
)
def test_variables_that_make_it_take_all(variables: dict[str, str], told: bool):
    assert takes_all(variables) == told


DESCRIPTOR = """
def Descriptor(name):
    import os
    if os.environ.get("PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION") != "python":
        raise TypeError("Descriptors cannot be created directly.")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="paths of Linux")
@pytest.mark.parametrize(
    ("start", "release", "fails"),
    [
        ("", "7.36.2", True),
        ("import os\nos.environ['PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION'] = 'python'\n", "7.36.2", False),
    ],
)
def test_the_import_that_comes_to_such_a_module_ends(tmp_path: Path, start: str, release: str, fails: bool):
    site = plant(
        tmp_path,
        {
            "torch/__init__.py": "",
            "board/__init__.py": f"import torch\n{start}from board.proto import row_pb2\n",
            "board/proto/__init__.py": "",
            "board/proto/row_pb2.py": f"from google.protobuf import descriptor as _descriptor\n{OLD}",
            "google/protobuf/__init__.py": f"__version__ = '{release}'\n",
            "google/protobuf/descriptor.py": DESCRIPTOR,
            f"google/_upb/_message{sysconfig.get_config_var('EXT_SUFFIX')}": "",
            f"protobuf-{release}.dist-info/METADATA": f"Name: protobuf\nVersion: {release}\n",
            f"protobuf-{release}.dist-info/RECORD": "google/protobuf/__init__.py,,\n",
        },
    )
    told = [(e.kind, e.wanted, e.line, e.owner) for e in ended(site, users=("board",))]
    assert told == ([("refused", "google.protobuf", 2, f"protobuf {release}")] if fails else [])
    assert really_ends(site, module="board") == fails
