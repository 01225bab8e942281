"""A virtual environment with a stand-in of PyTorch, the wheels that could come, and the means of repairing it."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.common.progress import Progress
from core.doctor import repair
from core.doctor.repair import Proposal, RepairContext
from core.host.this_host import this_host
from core.model.changes import ExchangePackages
from core.model.facts import Machine, PythonEnvironment, Snapshot
from core.model.findings import Finding, Fix, Report
from core.model.steps import Severity, Step
from core.transaction.journal import Journal
from core.transaction.variable_store import LinuxVariables
from tests.curelab import wheels
from tests.envlab.run import LabHost


def tree(folder: Path, *, without: str = ".convalesce") -> dict[str, str]:
    """Every file and link below a folder, by hash; byte code and what is kept apart."""
    found = {}
    for here, inner, names in os.walk(folder):
        inner[:] = [n for n in inner if n not in ("__pycache__", without)]
        for path in (Path(here, n) for n in (*inner, *names)):
            if path.is_symlink():
                found[str(path.relative_to(folder))] = f"-> {path.readlink()}"
            elif path.is_file():
                found[str(path.relative_to(folder))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


@dataclass(frozen=True)
class Bench:
    """One environment, and everything that repairing it needs."""

    prefix: Path
    wheels: Path
    variables: Mapping[str, str]
    shop: RepairContext

    @property
    def site(self) -> Path:
        return self.prefix / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"

    @property
    def report(self) -> Report:
        python = PythonEnvironment(
            prefix=str(self.prefix),
            executable=str(self.prefix / "bin/python"),
            version="3.11.0",
            kind="venv",
            site_packages=(str(self.site),),
            ways=("--python",),
        )
        return Report(snapshot=Snapshot(machine=Machine(system="linux"), pythons=(python,)))

    def wish(self, **wanted: object) -> ExchangePackages:
        return ExchangePackages(title="Repair", prefix=str(self.prefix), folder=str(self.site), **wanted)

    def proposal(self, **wanted: object) -> Proposal:
        fix = Fix(title="Repair", changes=(self.wish(**wanted),))
        finding = Finding(
            id="frameworks.cpu-build-torch",
            cause="framework_cpu_only_build",
            step=Step.FRAMEWORKS,
            severity=Severity.ERROR,
            title="The build without CUDA.",
            subject=str(self.prefix),
            fix=fix,
        )
        return repair.propose(finding, self.shop)

    def prepared(
        self, *, named: str = "", index: str = "", offline: bool = False, guard: bool = False, **wanted: object
    ) -> Proposal:
        sources = repair.package_sources(
            named or ("" if index or offline else str(self.wheels)), index, offline=offline, guard=guard
        )
        return repair.prepare(self.proposal(**wanted), self.report, self.shop, Progress(), sources)

    def apply(self, proposal: Proposal) -> repair.Outcome:
        return repair.apply(proposal, self.report, self.shop, lambda _host: self.report)

    def python(self, code: str) -> str:
        run = subprocess.run(
            [self.prefix / "bin/python", "-B", "-c", code],
            capture_output=True,
            text=True,
            check=False,
            env=self.variables,
        )
        return (run.stdout + run.stderr).strip()

    def version(self) -> str:
        return self.python("import torch; print(torch.__version__)")


def make_bench(base: Path, ready: Path) -> Bench:
    """Make a copy of the environment that was made once; its scripts name the copy."""
    base = Path(os.path.realpath(base))
    prefix = base / "env"
    subprocess.run(["cp", "-a", str(ready / "env"), str(prefix)], check=True)
    for script in (prefix / "bin").iterdir():
        if script.is_file() and not script.is_symlink():
            script.write_bytes(script.read_bytes().replace(os.fsencode(ready / "env"), os.fsencode(prefix)))
    variables = {"PATH": "/usr/bin:/bin", "HOME": str(base), "PIP_CONFIG_FILE": os.devnull}
    host = LabHost(this_host(), variables)
    shop = RepairContext(
        host=host,
        writer=LinuxVariables("/", str(base)),
        journal=Journal(base / "state"),
        machine_journal=Journal(base / "machine"),
    )
    return Bench(prefix, ready / "wheels", variables, shop)


@pytest.fixture(scope="session")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment made by venv and pip, with the CPU build of a stand-in of PyTorch; and the wheels."""
    base = Path(os.path.realpath(tmp_path_factory.mktemp("ready")))
    folder = base / "wheels"
    wheels.torch_wheel(folder, "2.8.0+cpu", "")
    wheels.torch_wheel(folder, "2.8.0+cu128", "12.8", ["tiny==1.0"])
    wheels.torch_wheel(folder, "2.9.0+cu128", "12.8", broken=True)
    wheels.make_wheel(folder, "tiny", "1.0", {"tiny/__init__.py": "one = 1\n", "tiny/data.bin": bytes(5000)})
    wheels.make_wheel(folder, "tiny", "2.0", {"tiny/__init__.py": "two = 2\n"}, scripts={"tiny": "tiny:main"})
    subprocess.run([sys.executable, "-m", "venv", base / "env"], check=True)
    command = [base / "env/bin/python", "-m", "pip", "install", "--quiet", "--no-index", "--find-links", folder]
    env = {"PATH": "/usr/bin:/bin", "HOME": str(base), "PIP_CONFIG_FILE": os.devnull}
    subprocess.run([*command, "torch==2.8.0+cpu"], check=True, env=env)
    return base


@pytest.fixture
def bench(tmp_path: Path, ready: Path) -> Bench:
    return make_bench(tmp_path, ready)
