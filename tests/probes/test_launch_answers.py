"""The answers that Accelerate keeps, against the installed release: its own loader says which keys it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from core.probes.variables.launch_answers import _keys, known_keys

MODULE = """
import json, sys
from dataclasses import dataclass

@dataclass
class BaseConfig:
    debug: bool

    @staticmethod
    def process_config(given):
        if "fp16" in given:
            del given["fp16"]
        if "backend" in given:
            given.pop("backend")
        return given

    @classmethod
    def load(cls, path):
        given = cls.process_config(json.load(open(path)))
        extra = sorted(set(given.keys()) - set(cls.__dataclass_fields__.keys()))
        if extra:
            raise ValueError(f"unknown keys ({extra})")
        return cls(**given)

@dataclass
class ClusterConfig(BaseConfig):
    num_processes: int = -1

@dataclass
class SageMakerConfig(BaseConfig):
    region: str = ""
"""


@pytest.mark.parametrize("name", ["ClusterConfig", "SageMakerConfig"])
@pytest.mark.parametrize("key", ["num_processes", "fp16", "backend", "region", "parallelism_config"])
def test_the_keys_that_the_loader_refuses(key: str, name: str, tmp_path: Path):
    file, answers = tmp_path / "config_args.py", tmp_path / "answers.json"
    file.write_text(f"{MODULE}\n{name}.load(sys.argv[1])\n")
    answers.write_text(json.dumps({"debug": False, key: 1}))
    real = subprocess.run([sys.executable, file, answers], capture_output=True, text=True, timeout=60, check=False)
    assert (key in known_keys(MODULE, in_the_cloud=name == "SageMakerConfig")) is (real.returncode == 0)


@pytest.mark.parametrize(
    "text", ["", "class (", MODULE.replace("unknown keys", "more"), "raise ValueError('unknown keys')"]
)
def test_a_module_that_refuses_nothing_or_is_written_in_another_way(text: str):
    assert not known_keys(text, in_the_cloud=False)


def test_the_keys_of_both_forms_with_their_lines():
    yaml = "# a: 1\ndebug: false\n'num': 1\nfsdp_config:\n  inner: 1\nlist:\n- x\ntext\n"
    assert _keys("/x.yaml", yaml) == {"debug": 2, "num": 3, "fsdp_config": 4, "list": 6}
    assert _keys("/x.json", '{\n "debug": true,\n "inner": {"a": 1}\n}') == {"debug": 2, "inner": 3}
    assert _keys("/x.json", "[1]") == {}
