"""Small folders of packages, exchanged without any installer: for kills, full disks and plans at the same moment."""

from __future__ import annotations

import os
from pathlib import Path

from core.host import exchange
from core.model.changes import ExchangePackages, FileItem, FileSet, Package
from core.transaction.execute import Plan
from core.transaction.journal import Journal
from core.transaction.package_exchange import folder_fingerprint, new_twin
from tests.fixing.conftest import sha

SITE = "lib/python3.11/site-packages"


def lay_out(root: Path) -> Path:
    """Make an environment with one package and a script, and return its prefix."""
    prefix = Path(os.path.realpath(root)) / "env"
    (prefix / SITE / "torch").mkdir(parents=True)
    (prefix / SITE / "torch/version.py").write_text("cpu\n")
    (prefix / SITE / "torch-1.0.dist-info").mkdir()
    (prefix / "bin").mkdir()
    (prefix / "bin/torchrun").write_text("old\n")
    return prefix


def twin_of(prefix: Path, journal: Journal) -> Path:
    """Make the twin that another release lies in, with what it brings beside."""
    root = new_twin(str(prefix), journal)
    (root / SITE / "torch").mkdir(parents=True)
    (root / SITE / "torch/version.py").write_text("cuda\n")
    (root / SITE / "torch-2.0.dist-info").mkdir()
    (root / "bin").mkdir()
    (root / "bin/torchrun").write_text("new\n")
    (root / "bin/more").write_text("more\n")
    return root


def plan(prefix: Path, root: Path) -> Plan:
    """Return the plan that exchanges the two."""
    folder, twin = str(prefix / SITE), str(root / SITE)
    change = ExchangePackages(
        title="Another build",
        prefix=str(prefix),
        folder=folder,
        gone=(Package(name="torch", version="1.0"),),
        come=(Package(name="torch", version="2.0"),),
        twin=twin,
        before=folder_fingerprint(folder),
        after=folder_fingerprint(twin),
        old=exchange.folder_number(folder),
        new=exchange.folder_number(twin),
    )
    scripts = FileSet(
        title="Scripts",
        items=(
            FileItem(path=f"{prefix}/bin/more", after=sha(b"more\n"), size=5, source=f"{root}/bin/more"),
            FileItem(
                path=f"{prefix}/bin/torchrun",
                before=sha(b"old\n"),
                after=sha(b"new\n"),
                size=4,
                source=f"{root}/bin/torchrun",
            ),
        ),
    )
    return Plan(title="Another build", changes=(change, scripts))


def state(prefix: Path) -> tuple[str, str, bool]:
    """What lies in the environment: the build, its script, whether it has the second one."""
    build = (prefix / SITE / "torch/version.py").read_text().strip()
    return build, (prefix / "bin/torchrun").read_text().strip(), (prefix / "bin/more").exists()


OLD, NEW = ("cpu", "old", False), ("cuda", "new", True)
