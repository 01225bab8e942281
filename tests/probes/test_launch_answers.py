"""The answers that Accelerate keeps, against the installed release: its own loader says which keys it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from core.model.facts import Distribution, PythonEnvironment
from core.probes.sysroot import sysroot_of
from core.probes.variables.launch_answers import _keys, enumeration, known_keys, unfit_answers
from tests.probes.request import request, write

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


WORDS = """
class DistributedType(str, enum.Enum):
    \"\"\"
    Which one.
    \"\"\"

    # Subclassing str
    NO = "NO"
    DEEPSPEED = "DEEPSPEED"
    XLA = "XLA"

class PrecisionType(str, BaseEnum):
    NO = "no"
    FP8 = "fp8"
    BF16 = "bf16"


class DynamoBackend(str, BaseEnum):
    NO = "NO"
    INDUCTOR = "INDUCTOR"
"""


def test_the_words_of_an_enumeration():
    assert enumeration(WORDS, "DistributedType") == ("NO", "DEEPSPEED", "XLA")
    assert enumeration(WORDS, "PrecisionType") == ("no", "fp8", "bf16")
    assert enumeration(WORDS, "Other") == ()


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ("distributed_type: 'NO'\nmixed_precision: 'no'\n", []),
        ("distributed_type: DEEPSPEED\n", [("distributed_type", "package", "deepspeed")]),
        ("distributed_type: DDP  # ours\n", [("distributed_type", "words", "NO")]),
        ("mixed_precision: no\n", [("mixed_precision", "words", "'no'")]),
        ("mixed_precision: FP8\n", []),
        ("mixed_precision: bf17\n", [("mixed_precision", "words", "no")]),
        ("dynamo_config:\n  dynamo_backend: inductor\n", []),
        ("dynamo_config:\n  dynamo_backend: INDUCTORR\n", [("dynamo_backend", "words", "NO")]),
        ("mixed_precision:\n", []),
    ],
)  # each is what accelerate launch 1.6.0 does
def test_answers_at_which_the_launcher_ends(answers: str, told: list[tuple[str, str, str]], tmp_path: Path):
    site = "/env/lib/python3.11/site-packages"
    write(tmp_path, f"{site}/accelerate/utils/dataclasses.py", WORDS)
    write(tmp_path, "/home/ada/.cache/huggingface/accelerate/default_config.yaml", answers)
    installed = (Distribution(name="accelerate", version="1.6.0"), Distribution(name="torchao", version="0.12"))
    python = PythonEnvironment(prefix="/env", site_packages=(site,), distributions=installed)
    asked = request(tmp_path, {"HOME": "/home/ada"}, pythons=(python,))
    rows = list(unfit_answers(asked, sysroot_of(asked.host)))
    assert [(r.variable, r.takes, r.known[0]) for r in rows] == told
