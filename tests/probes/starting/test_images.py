"""Dockerfiles that export a variable in a step of its own, which ends with its shell."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import Distribution, PythonEnvironment
from core.probes.starting.projects.images import image_ways
from tests.probes.starting.shells import in_project, project

CMD = 'CMD ["{home}/work/.venv/bin/python", "main.py"]'


@pytest.mark.parametrize(
    ("lines", "ignored"),
    [
        (("RUN export LD_LIBRARY_PATH=/opt/lib", CMD), [("/opt/lib", 2)]),
        (("RUN echo a && \\", "  export LD_LIBRARY_PATH='/opt/lib'", CMD), [("/opt/lib", 3)]),
        (("RUN export LD_LIBRARY_PATH=/opt/lib", 'ENTRYPOINT ["{home}/work/.venv/bin/python"]', 'CMD ["a.py"]'), [("/opt/lib", 2)]),
        (("ENV LD_LIBRARY_PATH=/opt/lib", CMD), []),
        (("RUN export LD_LIBRARY_PATH=/opt/lib", "ENV A=b LD_LIBRARY_PATH=/opt/lib", CMD), []),
        (("ENV LD_LIBRARY_PATH /opt/lib", "RUN export LD_LIBRARY_PATH=/opt/lib", CMD), []),
        (("RUN export LD_LIBRARY_PATH=/opt/lib && ./build.sh", CMD), []),
        (("RUN export LD_LIBRARY_PATH=/opt/lib", "FROM other", CMD), []),
        (("RUN export LD_LIBRARY_PATH=/opt/lib", 'CMD ["python", "main.py"]'), []),
    ],
)  # fmt: skip
def test_a_step_that_exports(lines: tuple[str, ...], ignored: list[tuple[str, int]], tmp_path: Path):
    env = project(tmp_path)
    text = "\n".join(("FROM nvidia/cuda:12.8.1-base-ubuntu22.04", *lines, ""))
    (tmp_path / "work/Dockerfile").write_text(text.replace("{home}", str(tmp_path)))
    python = PythonEnvironment(prefix=str(env), kind="venv")
    found = list(image_ways(replace(in_project(tmp_path, LD_LIBRARY_PATH="/session"), pythons=(python,))))
    assert [(r.value, r.line) for w in found for r in w.state.ignored] == ignored
    assert all("LD_LIBRARY_PATH" not in w.state.environment() and w.prefix == str(env) for w in found)


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        (("RUN . {env}/bin/activate && pip install -r a.txt", 'CMD ["python3", "main.py"]'), 2),
        (("RUN apt-get update", "RUN echo a; source {env}/bin/activate", "CMD python main.py"), 3),
        (("RUN . {env}/bin/activate", "ENV PATH={env}/bin:$PATH", 'CMD ["python3", "main.py"]'), 0),
        (("ENV VIRTUAL_ENV={env}", "ENV A=b PATH=$VIRTUAL_ENV/bin:$PATH", "RUN . {env}/bin/activate", 'CMD ["python", "a.py"]'), 0),
        (("RUN . {env}/bin/activate", 'CMD ["{env}/bin/python", "main.py"]'), 0),
        (("RUN . {env}/bin/activate", 'CMD ["bash", "-c", ". {env}/bin/activate && python main.py"]'), 0),
        (("COPY . .", "CMD ./activate.sh && python3 main.py"), 3),
        (("COPY . .", 'CMD ["sh", "-c", "bash ./activate.sh && python3 main.py"]'), 3),
        (("COPY . .", "CMD . ./activate.sh && python3 main.py"), 0),
        (("COPY . .", "CMD ./other.sh && python3 main.py"), 0),
        (("RUN . {env}/bin/activate", "FROM other", 'CMD ["python3", "main.py"]'), 0),
        (("RUN . /opt/other/bin/activate", 'CMD ["python3", "main.py"]'), 0),
        (('RUN echo "source {env}/bin/activate" >> ~/.bashrc', 'CMD ["bash", "-c", "python3 main.py"]'), 2),
        (('RUN echo "source .link/bin/activate" >> ~/.bashrc', "CMD python3 main.py"), 2),
        (("RUN echo '. {env}/bin/activate' >> /root/.bashrc", "CMD python3 main.py"), 2),
        (('RUN echo "source {env}/bin/activate" >> ~/.bashrc', 'CMD ["bash", "-ic", "python3 main.py"]'), 0),
        (('RUN echo "source {env}/bin/activate" >> ~/.bashrc', "ENV BASH_ENV=/root/.bashrc", 'CMD ["bash", "-c", "python3 main.py"]'), 0),
        (('SHELL ["/bin/bash", "--login", "-c"]', 'RUN echo "source {env}/bin/activate" >> ~/.profile', "CMD python3 main.py"), 0),
        (('RUN echo "source {env}/bin/activate" >> ~/.bashrc', 'ENV PATH="{env}/bin:$PATH"', 'CMD ["bash", "-c", "python3 main.py"]'), 0),
    ],
)  # fmt: skip
def test_a_step_that_activates(lines: tuple[str, ...], line: int, tmp_path: Path):
    env = project(tmp_path)
    text = "\n".join(("FROM python:3.11-slim", *lines, ""))
    (tmp_path / "work/.link").symlink_to(env)
    (tmp_path / "work/activate.sh").write_text(f"#!/bin/sh\n. {env}/bin/activate\n")
    (tmp_path / "work/other.sh").write_text("#!/bin/sh\nmkdir -p runs\n")
    (tmp_path / "work/Dockerfile").write_text(text.replace("{env}", str(env)))
    found = list(image_ways(replace(in_project(tmp_path), pythons=(PythonEnvironment(prefix=str(env), kind="venv"),))))
    told = [(one.fault, one.seems, one.source.rpartition(":")[2]) for w in found for one in w.runs]
    assert told == ([("activation ends", str(env), str(line))] if line else [])


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        (("FROM python:3.11-slim", "CMD source .venv/bin/activate; python3 main.py"), 2),
        (("FROM ubuntu:24.04", "WORKDIR /app", "ENTRYPOINT source {env}/bin/activate && exec python main.py"), 3),
        (("FROM ubuntu:24.04", 'CMD ["/bin/sh", "-c", "source .venv/bin/activate && python main.py"]'), 2),
        (("FROM ubuntu:24.04", 'CMD ["bash", "-c", "source .venv/bin/activate && python main.py"]'), 0),
        (("FROM ubuntu:24.04", 'SHELL ["/bin/bash", "-c"]', "CMD source .venv/bin/activate; python3 main.py"), 0),
        (("FROM rockylinux:9", "CMD source .venv/bin/activate; python3 main.py"), 0),
        (("FROM ubuntu:24.04", "CMD . .venv/bin/activate; python3 main.py"), 0),
        (("FROM ubuntu:24.04", "CMD source .venv/bin/activate; .venv/bin/python main.py"), 0),
        (("FROM ubuntu:24.04", "ENV PATH=/app/.venv/bin:$PATH", "CMD source .venv/bin/activate; python3 main.py"), 0),
        (("FROM ubuntu:24.04", "CMD source /opt/other/bin/activate; python3 main.py"), 0),
    ],
)
def test_a_start_that_sources_where_sh_cannot(lines: tuple[str, ...], line: int, tmp_path: Path):
    env = project(tmp_path)
    (tmp_path / "work/Dockerfile").write_text("\n".join((*lines, "")).replace("{env}", str(env)))
    found = list(image_ways(replace(in_project(tmp_path), pythons=(PythonEnvironment(prefix=str(env), kind="venv"),))))
    told = [(one.fault, one.seems, one.source.rpartition(":")[2]) for w in found for one in w.runs]
    assert told == ([("no source", str(env), str(line))] if line else [])


START = 'CMD ["python3", "main.py"]'
BUILDER = (
    "FROM python:3.11 AS builder",
    "RUN python -m venv /opt/venv",
    'ENV PATH="/opt/venv/bin:$PATH"',
    "RUN pip install -r r.txt",
)
COPIES_IT = "FROM python:3.11-slim\nCOPY --from=builder /opt/venv /opt/venv"
OF_PIP = ("FROM python:3.11 AS builder", "RUN pip install -r r.txt")
OF_USER = ("FROM python:3.11 AS builder", "RUN pip install --user -r r.txt")
PACKAGES = "/usr/local/lib/python3.11/site-packages"
COPIES_PACKAGES = f"COPY --from=builder {PACKAGES} {PACKAGES}"


@pytest.mark.parametrize(
    ("lines", "command"),
    [
        (("FROM python:3.11-slim", "RUN uv sync --frozen --no-dev", START), "uv sync"),
        (("FROM ubuntu:24.04 AS base", "RUN pip install poetry", "RUN cd /app && poetry install --only main", "CMD python3 main.py"), "poetry install"),
        (("FROM python:3.11", "RUN uv sync", 'CMD ["uv", "run", "main.py"]'), ""),
        (("FROM python:3.11", "RUN uv sync", 'CMD [".venv/bin/python", "main.py"]'), ""),
        (("FROM python:3.11", "RUN uv sync", 'ENV PATH="/app/.venv/bin:$PATH"', START), ""),
        (("FROM python:3.11", "ENV UV_PROJECT_ENVIRONMENT=/usr/local", "RUN uv sync", START), ""),
        (("FROM python:3.11", "RUN poetry config virtualenvs.create false && poetry install", START), ""),
        (("FROM python:3.11", "RUN pipenv install --system --deploy", START), ""),
        (("FROM python:3.11", "RUN uv sync && uv pip install --system torch", START), ""),
        (("FROM pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime", "RUN uv sync", START), ""),
        (("FROM python:3.11", "RUN uv sync", 'CMD ["python3", "other.py"]'), ""),
        ((*BUILDER, COPIES_IT, START), "pip install"),
        ((*BUILDER, COPIES_IT, 'ENV PATH="/opt/venv/bin:$PATH"', START), ""),
        ((*BUILDER, COPIES_IT, 'CMD ["/opt/venv/bin/python", "main.py"]'), ""),
        (("FROM python:3.11 AS base", 'ENV PATH="/opt/venv/bin:$PATH"', *BUILDER, "FROM base", COPIES_IT.split("\n")[1], START), ""),
        ((*BUILDER, "FROM builder", START), ""),
        ((*BUILDER, COPIES_IT, "RUN ./install.sh", START), ""),
        (("FROM python:3.11-slim", "RUN python -m venv /opt/venv && . /opt/venv/bin/activate && pip install -r r.txt", START), "pip install"),
        (("FROM python:3.11-slim", "RUN python -m venv /opt/venv && pip install -r r.txt", START), ""),
        (("FROM python:3.11-slim", "RUN pip install uv && uv venv && uv pip install -r r.txt", START), "uv pip install"),
        (("FROM python:3.11-slim", "ENV VIRTUAL_ENV=/opt/venv", "RUN uv venv $VIRTUAL_ENV && uv pip install -r r.txt", "ENV PATH=$VIRTUAL_ENV/bin:$PATH", START), ""),
        (("FROM python:3.11-slim", "RUN uv pip install --system -r r.txt", START), ""),
        (("FROM continuumio/miniconda3", "RUN conda env create -f environment.yml", START), "conda env create"),
        (("FROM continuumio/miniconda3", "RUN conda env create -f e.yml", 'CMD ["conda", "run", "-n", "x", "python3", "main.py"]'), ""),
        (("FROM continuumio/miniconda3", "RUN conda create -n x pytorch", 'SHELL ["conda", "run", "-n", "x", "/bin/bash", "-c"]', "CMD python3 main.py"), ""),
        (("FROM ubuntu:24.04", "RUN curl -LsSf https://astral.sh/uv/install.sh | sh", "RUN uv venv && uv pip install torch", START), "uv pip install"),
        (("FROM ubuntu:24.04", "RUN bash /tmp/miniconda.sh -b -p /opt/conda && conda create -n x pytorch", START), "conda create -n"),
        (("FROM ubuntu:24.04", "RUN python3 -m venv /v && /v/bin/pip install torch && make install", START), ""),
        (("FROM continuumio/miniconda3", "RUN conda env update -n base -f e.yml", START), ""),
        ((*OF_PIP, "FROM python:3.12-slim", COPIES_PACKAGES, START), f"COPY --from=builder {PACKAGES} {PACKAGES}"),
        ((*OF_PIP, "FROM python:3.11-slim", COPIES_PACKAGES, START), ""),
        ((*OF_USER, "FROM python:3.11-slim", "COPY --from=builder /root/.local /root/.local", "USER app", START), "pip install"),
        ((*OF_USER, "FROM python:3.11-slim", "COPY --from=builder /root/.local /home/app/.local", "USER app", START), ""),
        (("FROM python:3.11-slim", "RUN python -m venv /v && /v/bin/pip install torch", 'ENTRYPOINT ["./start.sh"]'), "/v/bin/pip install"),
        (("FROM python:3.11-slim", "RUN python -m venv /v && /v/bin/pip install torch", 'ENTRYPOINT ["./activates.sh"]'), ""),
    ],
)  # fmt: skip
def test_an_environment_of_the_project_that_the_image_does_not_start(
    lines: tuple[str, ...], command: str, tmp_path: Path
):
    env = project(tmp_path)
    (tmp_path / "work/Dockerfile").write_text("\n".join((*lines, "")))
    (tmp_path / "work/main.py").write_text("import torch\n")
    (tmp_path / "work/other.py").write_text("import json\n")
    (tmp_path / "work/start.sh").write_text("#!/bin/sh\nset -e\nexec python3 main.py\n")
    (tmp_path / "work/activates.sh").write_text("#!/bin/sh\n. /v/bin/activate\nexec python3 main.py\n")
    torch = Distribution(name="torch", version="2.8.0")
    python = PythonEnvironment(prefix=str(env), kind="venv", distributions=(torch,))
    found = list(image_ways(replace(in_project(tmp_path), pythons=(python,))))
    told = [(one.fault, one.seems, one.command) for w in found for one in w.runs]
    assert told == ([("activation ends", str(env), command)] if command else [])
