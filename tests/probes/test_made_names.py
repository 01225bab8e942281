"""Variables whose names code makes of a prefix and an argument, beside what Python itself does with the same module."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.model.facts import Distribution
from core.probes.variables import vocabulary
from core.probes.variables.accepted_values import takes_value
from core.probes.variables.made_names import made_values
from tests.machines import python
from tests.probes.request import request, write

ACTIONS = """import os
from argparse import Action

class env(Action):
    def __init__(self, dest, default=None, **kwargs):
        env_name = f"X_{dest.upper()}"
        super().__init__(dest=dest, default=os.environ.get(env_name, default), **kwargs)

    def __call__(self, parser, namespace, values, option_string=None):
        setattr(namespace, self.dest, values)

class check_env(Action):
    def __init__(self, dest, default=False, **kwargs):
        env_name = f"X_{dest.upper()}"
        super().__init__(dest=dest, nargs=0, default=bool(int(os.environ.get(env_name, "0"))), **kwargs)

    def __call__(self, parser, namespace, values, option_string=None):
        setattr(namespace, self.dest, True)
"""
PARSER = """import argparse
from of_arguments import check_env, env
parser = argparse.ArgumentParser()
parser.add_argument("-m", "--max-tries", "--max_tries", action=env, type=int, default=3)
parser.add_argument("--share", action=env, type=float, default=0.5)
parser.add_argument("--kind", action=env, type=str, default="a")
parser.add_argument("--alone", action=check_env)
parser.add_argument("--level", action="store", type=int, default=3)
parser.parse_args([])
"""
DECORATED = """import os
from functools import partialmethod
from inspect import signature

def envwrap(name, types=None, is_method=False):
    def wrap(func):
        found = {}
        for key, its in signature(func).parameters.items():
            raw = os.environ.get(f"{name}_{key}".upper())
            if raw is not None and its.default is not None:
                found[key] = type(its.default)(raw)
            elif raw is not None:
                found[key] = (types or {}).get(key, str)(raw)
        return partialmethod(func, **found)
    return wrap

class Bar:
    @envwrap("x", is_method=True, types={'share': float})
    def __init__(self, kind=None, share=None, max_tries=3, alone=False, level="a"):
        pass
"""


@pytest.mark.parametrize("code", [PARSER, DECORATED], ids=["actions", "decorator"])
@pytest.mark.parametrize(
    ("variable", "value"),
    [("X_MAX_TRIES", "3"), ("X_MAX_TRIES", "unlimited"), ("X_SHARE", "0.5"), ("X_SHARE", "0,5"), ("X_KIND", "word"), ("X_LEVEL", "word"), ("X_ALONE", "1")],
)  # fmt: skip
def test_what_is_made_of_the_text(code: str, variable: str, value: str, tmp_path: Path):
    (tmp_path / "of_arguments.py").write_text(ACTIONS)
    (tmp_path / "main.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "main.py"], cwd=tmp_path, env={**os.environ, variable: value}, capture_output=True, check=False
    )
    found = [c for c in made_values(code, lambda _module: ACTIONS) if c.variable == variable]
    assert all(takes_value(c, value) for c in found) is (done.returncode == 0)


def test_a_flag_that_an_action_converts_itself():
    (its,) = (c for c in made_values(PARSER, lambda _module: ACTIONS) if c.variable == "X_ALONE")
    assert not takes_value(its, "yes")
    assert not list(made_values(PARSER, lambda _module: ""))
    assert not list(made_values("def (", lambda _module: ""))


SITE = "/env/lib/python3.11/site-packages"


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [("PET_MAX_TRIES", "unlimited", True), ("PET_MAX_TRIES", "3", False), ("PET_KIND", "word", False),
     ("GRAPHS_VERBOSITY", "info", True), ("GRAPHS_VERBOSITY", "3", False), ("GRAPHS_LEVEL", "info", False)],
)  # fmt: skip
def test_they_are_found_in_the_packages(variable: str, value: str, told: bool, tmp_path: Path):
    files = {
        f"{SITE}/torch/distributed/run.py": PARSER.replace("of_arguments", "torch.distributed.of_arguments"),
        f"{SITE}/torch/distributed/of_arguments.py": ACTIONS.replace("X_", "PET_"),
        f"{SITE}/torch/inner/graphs/utils/my_logging.py": "import os\nNAME = 'GRAPHS_VERBOSITY'\ndef level():\n    return int(os.getenv(NAME, 0))\n",
        f"{SITE}/torch-2.6.0.dist-info/RECORD": "torch/distributed/run.py,,\ntorch/inner/graphs/utils/my_logging.py,,\n",
    }
    for path, text in files.items():
        write(tmp_path, path, text)
    its = python(prefix="/env", site_packages=(SITE,), distributions=(Distribution(name="torch", version="2.6.0"),))
    rows = vocabulary.look(request(tmp_path, {variable: value}, pythons=(its,)))
    assert [(r.variable, r.unknown) for r in rows] == [(variable, (value,))] * told
