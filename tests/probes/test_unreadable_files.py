"""Files of settings that their readers cannot take: what is found is held against the readers of Python's own library."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import Distribution
from core.probes.sysroot import Sysroot
from core.probes.variables.unreadable_files import loaded_files, problem_of, unreadable_files
from tests.machines import PREFIX, SITE, python
from tests.probes.request import request, write

TEXTS: dict[str, tuple[str, str, int]] = {
    "a comma too many": ("JSON", '{\n "a": 1,\n}\n', 3),
    "a comment": ("JSON", '{\n // why\n "a": 1}\n', 2),
    "nothing wrong in JSON": ("JSON", '{"a": [1, 2]}', 0),
    "no quotation marks": ("TOML", "[server]\nport = 8501/tcp\n", 2),
    "nothing wrong in TOML": ("TOML", '[server]\nport = 8501\naddress = "::1"\n', 0),
}


@pytest.mark.parametrize("case", TEXTS)
def test_a_text_and_what_its_reader_says(case: str):
    form, text, line = TEXTS[case]
    try:
        (json if form == "JSON" else tomllib).loads(text)
        fails = False
    except ValueError:
        fails = True
    assert fails is bool(line)
    assert (problem_of(text, form) or (0,))[0] == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a:\n\tb: 1\n", 2),
        ("a:\n  b:  # why\n\n \tc: 1\n", 4),
        ("a:\n  b: 1\n", 0),
        ("a: |\n  x\n\ty\n", 0),
        ("a: 1\n\t# a comment\n", 0),
    ],
)
def test_tabs_that_indent_yaml(text: str, line: int):
    assert (problem_of(text, "YAML") or (0,))[0] == line


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import json\nx = json.load(open('a.json'))\n", ["a.json"]),
        ("import yaml\nwith open('conf/a.yaml') as f:\n    x = yaml.safe_load(f)\n", ["conf/a.yaml"]),
        ("import json\nfrom pathlib import Path\nx = json.loads(Path('a.json').read_text())\n", ["a.json"]),
        ("import json\nwith open('a.json', 'w') as f:\n    json.dump(1, f)\n", []),
        ("import json\nwith open('a.json') as f:\n    rows = [json.loads(row) for row in f]\n", []),
        ("import json\nx = json.load(open(name))\n", []),
    ],
)
def test_what_a_program_loads(text: str, names: list[str]):
    assert list(loaded_files(text)) == names


def test_the_files_of_packages_and_programs(tmp_path: Path):
    dask = Distribution(name="dask", version="2025.9.1", location=SITE)
    its = request(tmp_path, pythons=(python(distributions=(dask,)),))
    its = replace(its, script_folder="/home/ada/work", env={**its.env, "HOME": "/home/ada"})
    write(tmp_path, "/home/ada/.config/dask/dask.yaml", "distributed:\n\tworker: 1\n")
    write(tmp_path, "/home/ada/work/a.json", "{'a': 1}")
    write(tmp_path, "/home/ada/work/main.py", "import json\nx = json.load(open('a.json'))\n")
    told = [(r.prefix, r.reader, r.files[0], r.variable, r.line) for r in unreadable_files(its, Sysroot("linux", str(tmp_path)))]  # fmt: skip
    assert told == [
        (PREFIX, "dask", "/home/ada/.config/dask/dask.yaml", "YAML", 2),
        (PREFIX, "", "/home/ada/work/a.json", "JSON", 1),
    ]
