"""The workflow that builds the artefacts: pinned, with the least rights, and calling what is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.installer import ROOT

FILES = sorted((ROOT / ".github/workflows").glob("*.yml"))


def jobs() -> Iterator[tuple[str, dict[str, Any]]]:
    for file in FILES:
        yield from yaml.safe_load(file.read_text(encoding="utf-8"))["jobs"].items()


def test_every_action_is_pinned_by_its_hash_and_names_its_version() -> None:
    used = [line for file in FILES for line in file.read_text(encoding="utf-8").splitlines() if "uses:" in line]
    assert used
    assert not [line for line in used if not re.search(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line)]


def test_nobody_has_rights_but_the_job_that_needs_them() -> None:
    assert all(yaml.safe_load(file.read_text(encoding="utf-8"))["permissions"] == {} for file in FILES)
    writing = {
        name
        for name, job in jobs()
        if job.get("permissions", {}).keys() - {"contents"}
        or "write" in str(job.get("permissions", {}).get("contents"))
    }
    assert writing == {"attest"}
    for name, job in jobs():
        checkouts = [s for s in job["steps"] if "checkout" in s.get("uses", "")]
        assert all(step["with"]["persist-credentials"] is False for step in checkouts), name


def test_secrets_are_for_tags_alone() -> None:
    for name, job in jobs():
        for step in job["steps"]:
            if "secrets." in str(step):
                assert "refs/tags/v" in str(step), (name, step.get("name"))


@pytest.mark.parametrize("name", [name for name, _ in jobs()])
def test_what_a_step_calls_is_there(name: str) -> None:
    for step in dict(jobs())[name]["steps"]:
        for module in re.findall(r"-m ((?:tests|installer)[\w.]+)", step.get("run", "")):
            place = ROOT / module.replace(".", "/")
            assert place.with_suffix(".py").exists() or (place / "__main__.py").exists(), module
        for script in re.findall(r"installer/\w+\.sh", step.get("run", "")):
            assert (ROOT / script).exists()
