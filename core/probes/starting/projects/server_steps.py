"""Steps of servers' jobs that run on a machine of one's own: GitHub Actions and what is like it, GitLab, Azure Pipelines, CircleCI;
whether one of those or of Jenkins activates an environment.

Each step has a shell of its own, and what it activates ends with it. Sources: GitHub's "Workflow syntax" (``runs-on``, ``steps``, ``defaults``);
GitLab's "CI/CD YAML syntax reference" (``before_script``, ``tags``) and "The Shell executor"; Azure's "Run cross-platform scripts" and "Specify jobs" (``pool``); CircleCI's "Configuration reference" (``resource_class``, ``run``).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from core.common.late_pattern import late_pattern
from core.host.startup.described import Described
from core.host.startup.state import State
from core.probes.starting.commands.command_line import Line, language, python_of_text
from core.probes.starting.commands.started_code import program_ways
from core.probes.starting.machine import Ground
from core.probes.starting.services.systemd import MACHINES_PATH
from core.probes.starting.ways import Reached

_OF_GITHUB = late_pattern(r".*/\.(?:github|gitea|forgejo)/workflows/[^/]*")
_OF_AZURE = late_pattern(r".*/azure-pipelines\b[^/]*")
_OF_CIRCLE = late_pattern(r".*/\.circleci/[^/]*")
_OF_GITLAB = late_pattern(r".*/\.gitlab-ci\.ya?ml")
_OF_JENKINS = late_pattern(r".*/Jenkinsfile")
_PREPARES = late_pattern(
    r"setup-python|setup-uv|setup-pixi|miniconda|micromamba|mambaforge|GITHUB_PATH|GITHUB_ENV|BASH_ENV|\bcontainer:|uses:[ ]*\./"
    r"|UsePythonVersion|UseCondaEnvironment|task\.prependpath|task\.setvariable|\bdocker:|\borbs:"
    r"|withPythonEnv|\bpodTemplate\b|\btools[ ]*\{"
)
"""What gives the steps behind it another Python, or another PATH."""
_ACTIVATES = late_pattern(
    r"(?:^|[\s;&|:'\"])(?:\.|source)[ \t]{1,9}[\"']?(?:\$\{?\w+\}?/)?([\w./-]{1,200})/bin/activate\b"
)

Step = tuple[str, str, str]
"""Name, commands, and the shell that reads them."""


def activates_here(text: str, path: str, ground: Ground) -> bool:
    """Whether a job activates an environment of the project's folder, by a path from there."""
    if not any(its.fullmatch(path) for its in (_OF_GITHUB, _OF_GITLAB, _OF_AZURE, _OF_CIRCLE, _OF_JENKINS)):
        return False
    own = {ground.where.real_path(p.prefix) for p in ground.pythons}
    places = (posixpath.join(ground.folder, found[1]) for found in _ACTIVATES.finditer(text))
    return any(ground.where.real_path(posixpath.normpath(place)) in own for place in places)


def prepares_python(text: str) -> bool:
    """Whether a job gives its steps another Python, or another PATH."""
    return bool(_PREPARES.search(text))


def server_steps(path: str, text: str, whole: Described, ground: Ground) -> Iterator[Reached]:
    """Yield the steps that start a Python without what their program imports; none of a file that prepares another Python for all of them."""
    if not isinstance(whole, dict) or prepares_python(text):
        return
    for name, run, shell in _steps_of(path, text, whole):
        state = State({"PATH": MACHINES_PATH, "PWD": ground.folder}, {"PATH"}, files=[path])
        line = text.count("\n", 0, max(text.find(run.partition("\n")[0]), 0)) + 1
        found = python_of_text(run, Line(path, line), state, ground, shell=shell)
        way = Reached(
            kind="task",
            at=f"{path}: {name or run.partition(chr(10))[0]}",
            state=state,
            text=run,
            shell=language(shell, ground),
            apart=True,
        )
        yield from (w for w in program_ways(found, way, ground) if w.runs)


def _steps_of(path: str, text: str, whole: dict[str, Described]) -> Iterator[Step]:
    if _OF_AZURE.fullmatch(path):
        yield from _of_azure(whole, whole.get("pool"))
        return
    if _OF_GITLAB.fullmatch(path):
        yield from _of_gitlab(whole)
        return
    jobs = whole.get("jobs")
    its = [job for job in jobs.values() if isinstance(job, dict)] if isinstance(jobs, dict) else []
    if _OF_CIRCLE.fullmatch(path):
        for job in its:
            if "/" in str(job.get("resource_class")):  # a runner of one's own: NAMESPACE/NAME
                yield from _rows(job.get("steps"), ("run",), "command")
    elif _OF_GITHUB.fullmatch(path):
        told = re.search(r"defaults:\s+run:(?:\s+[\w-]+:[^\n]*){0,3}?\s+shell:\s*(\w+)", text)
        for job in its:
            if "self-hosted" in str(job.get("runs-on")):
                yield from _rows(job.get("steps"), ("run",), "", told[1] if told else "bash")


def _of_gitlab(whole: dict[str, Described]) -> Iterator[Step]:
    """Yield the jobs for a runner of one's own, which has no image: one shell reads all their lines."""
    above = {**whole, **(its if isinstance(its := whole.get("default"), dict) else {})}
    for name, job in whole.items():
        if (
            not isinstance(job, dict)
            or name.startswith(".")
            or "extends" in job
            or not (job.get("tags") or above.get("tags"))
        ):
            continue
        first, lines = job.get("before_script", above.get("before_script")), job.get("script")
        rows = [
            w for each in (first, lines) for w in (each if isinstance(each, list) else [each]) if isinstance(w, str)
        ]
        if lines and not (job.get("image") or above.get("image")):
            yield name, "\n".join(rows), "bash"


def _of_azure(node: Described | None, pool: Described | None) -> Iterator[Step]:
    """Yield the steps in a part of a pipeline whose pool is one's own: a name, and no image of Microsoft's."""
    if isinstance(node, list):
        for each in node:
            yield from _of_azure(each, pool)
    if not isinstance(node, dict):
        return
    pool = node.get("pool", pool)
    named = pool.get("name") if isinstance(pool, dict) and "vmImage" not in pool else pool
    if isinstance(named, str) and named not in ("", "server", "Azure Pipelines"):
        yield from _rows(node.get("steps"), ("script", "bash"), "")
    for key in ("stages", "jobs"):
        yield from _of_azure(node.get(key), pool)


def _rows(steps: Described | None, keys: tuple[str, ...], inner: str, default: str = "bash") -> Iterator[Step]:
    """Yield the steps of a list that have commands under one of these keys, or under ``inner`` below it."""
    for step in steps if isinstance(steps, list) else ():
        if not isinstance(step, dict):
            continue
        told = next((step[k] for k in keys if k in step), None)
        row = told if isinstance(told, dict) else step
        run = row.get(inner) if isinstance(told, dict) else told
        if isinstance(run, str):
            name = row.get("name") or row.get("displayName") or ""
            yield str(name), run, str(row.get("shell") or default).partition(" ")[0]
