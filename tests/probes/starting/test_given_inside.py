"""Variables that tools give from the inside, and those that a program reads from a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import PythonEnvironment
from core.probes.starting.given_inside import given_inside_ways
from core.probes.starting.own_settings import own_settings_ways
from tests.probes.starting.shells import ground

HYDRA = {"work/main.py": "import hydra\n"}
CASES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "Hydra": (
        {**HYDRA, "work/conf/config.yaml": "hydra:\n  job:\n    env_set:\n      JAX_PLATFORMS: cpu\n      LD_LIBRARY_PATH: /a\n"},
        {"JAX_PLATFORMS": "cpu"},
    ),
    "Hydra that nothing uses": ({"work/config.yaml": "hydra:\n  job:\n    env_set:\n      A: b\n"}, {}),
    "Ray's file": ({"work/serve.yaml": "applications:\n  - name: a\n    runtime_env:\n      env_vars:\n        LD_LIBRARY_PATH: /a\n"}, {"LD_LIBRARY_PATH": "/a"}),
    "Ray's code": ({"work/a.py": "import ray\n\nray.init(runtime_env={'env_vars': {'CUDA_HOME': '/a'}})\n"}, {"CUDA_HOME": "/a"}),
    "Ray's code with what it computes": ({"work/a.py": "import ray\n\nray.init(runtime_env={'env_vars': {'CUDA_HOME': '/' + 'a', 'A': made()}})\n"}, {"CUDA_HOME": "/a"}),
    "Metaflow": ({"work/flow.py": "@environment(vars={'XLA_FLAGS': '--a'})\ndef start(): ...\n"}, {"XLA_FLAGS": "--a"}),
    "a container": ({"work/a.py": "DockerOperator(environment={'CUDA_HOME': '/a'})\n"}, {}),
    "LangGraph": ({"work/langgraph.json": '{"env": ".env"}', "work/.env": "HF_HUB_OFFLINE=1\n"}, {"HF_HUB_OFFLINE": "1"}),
    "Streamlit": ({"work/.streamlit/secrets.toml": 'HF_HOME = "/a"\n[db]\nNAME = "x"\n'}, {"HF_HOME": "/a"}),
}  # fmt: skip
DOTENV = "from dotenv import load_dotenv\n"
PROGRAMS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "above": ({"work/main.py": f"{DOTENV}load_dotenv()\nimport jax\n", ".env": "JAX_PLATFORMS=cpu\nLD_LIBRARY_PATH=/a\n"}, {"JAX_PLATFORMS": "cpu"}),
    "too late": ({"work/main.py": f"import jax\n{DOTENV}load_dotenv()\n", "work/.env": "JAX_PLATFORMS=cpu\n"}, {}),
    "named": ({"work/main.py": f"{DOTENV}from pathlib import Path\nload_dotenv(Path(__file__).parent / 'a.env')\n", "work/a.env": "A_B=1\n"}, {"A_B": "1"}),
    "set already": ({"work/main.py": f"{DOTENV}load_dotenv()\n", "work/.env": "GIVEN=2\n"}, {}),
    "overridden": ({"work/main.py": f"{DOTENV}load_dotenv(override=True)\n", "work/.env": "GIVEN=2\n"}, {"GIVEN": "2"}),
    "by its own module": ({"work/main.py": "import settings\nimport jax\n", "work/settings.py": f"{DOTENV}load_dotenv()\n", "work/.env": "A_B=1\n"}, {"A_B": "1"}),
    "in a condition": ({"work/main.py": f"{DOTENV}if debug:\n    load_dotenv()\n", "work/.env": "A_B=1\n"}, {}),
}  # fmt: skip


def given(tmp_path: Path, files: dict[str, str], packages: tuple[str, ...]) -> tuple[PythonEnvironment, ...]:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    site = tmp_path / "env/lib/python3.11/site-packages"
    for package in packages:
        (site / package).mkdir(parents=True)
    return (PythonEnvironment(prefix=str(tmp_path / "env"), kind="venv", site_packages=(str(site),)),)


@pytest.mark.parametrize("name", CASES)
def test_what_tools_give(name: str, tmp_path: Path) -> None:
    files, expected = CASES[name]
    pythons = given(tmp_path, files, ("hydra", "ray", "langgraph_cli", "streamlit"))
    here = replace(ground(tmp_path), env={}, folder=str(tmp_path / "work"))
    found: dict[str, str] = {}
    for way in given_inside_ways(replace(here, pythons=pythons)):
        found |= way.state.environment()
    assert found == expected


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_a_program_reads(name: str, tmp_path: Path) -> None:
    files, expected = PROGRAMS[name]
    pythons = given(tmp_path, files, ("dotenv",))
    here = replace(ground(tmp_path), env={"GIVEN": "1"}, folder=str(tmp_path / "work"))
    found = {
        n: v
        for w in own_settings_ways(replace(here, pythons=pythons))
        if w.at.endswith("main.py")
        for n, v in w.state.values.items()
        if w.state.lines.get(n)
    }
    assert found == expected
