"""On a real display: an environment with a build for the processor gets the one for its card, from an index on the loopback.

``python -m tests.gui.real_packages FOLDER``: packages, environment and journal are FOLDER's; only the card is made up.
Prints what was read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from msgspec.structs import replace
from PySide6.QtCore import QSettings

from core.common.progress import Progress
from core.doctor.engine import ThisMachine
from core.doctor.examine import diagnose_snapshot
from core.doctor.scan import take_snapshot
from core.host.interface import Host
from core.host.this_host import this_host
from core.knowledge.frameworks import framework_tables
from core.model.findings import Report
from core.model.scan_options import ScanOptions
from core.rules.frameworks import advice
from gui.window.app import make_application
from installer.by_hand import by_hand
from tests.curelab.environments import Environment
from tests.curelab.index import index
from tests.curelab.rows import ROWS, Row
from tests.curelab.run import context, probes
from tests.envlab.run import LabHost
from tests.gui.real_road import walk

ROW = "cpu-build-pip"
VERSION = "import torch; print(torch.__version__)"


@contextmanager
def bench(row: Row, work: Path) -> Iterator[tuple[ThisMachine, Environment, list[str]]]:
    """Yield the engine that repairs a row's environment, the environment, and what the index was asked for."""
    with index(work / "wheels") as (url, asked):
        row.wheels(work / "wheels")
        env = row.made(work)
        for wanted in row.install:
            env.install("--no-index", "--find-links", str(work / "wheels"), *wanted)
        configured = {"PIP_INDEX_URL": url, "UV_DEFAULT_INDEX": url}
        host = LabHost(this_host(), {**env.variables, **configured})
        shop = context(host, work)

        def look(at: Host, watch: Progress) -> Report:
            return diagnose_snapshot(
                take_snapshot(at, watch, ScanOptions(pythons=(str(env.prefix),)), probes=probes(row))
            )

        of_torch = replace(framework_tables().torch_index, url=url.replace("simple/", "whl/"))
        tables = replace(framework_tables(), torch_index=of_torch)
        with mock.patch.object(advice, "framework_tables", return_value=tables):
            yield ThisMachine(make=lambda: shop, look=look), env, asked


def main(arguments: list[str]) -> int:
    """Walk once, and undo."""
    make_application()
    work = Path(arguments[0])
    row = next(r for r in ROWS if r.name == ROW)
    settings = QSettings(str(work / "settings.ini"), QSettings.Format.IniFormat)
    with bench(row, work) as (engine, env, asked):
        said = walk(engine, settings, lambda: env.run(VERSION), named=str(env.prefix))
        said["fetched"] = [path for path in asked if path.startswith("/files/")]
        said["journal"] = [getattr(e, "state", "bad") for e in engine.history()]
    print(json.dumps(said))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(by_hand(__doc__, "FOLDER")))
