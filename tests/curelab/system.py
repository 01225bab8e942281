"""WSL's library folder, on the real loader: a private copy of /etc and /usr, the real ldconfig, a program that loads libcuda.

Run with ``python -m tests.curelab.system``, which makes the mount namespace (root alone). The driver's answer is what a child
process gets from the loader; WSL itself, its card and its library are made up.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from msgspec.structs import replace

from core.common.progress import Progress
from core.doctor import repair
from core.doctor.examine import diagnose_snapshot
from core.host.interface import Host
from core.host.this_host import this_host
from core.model.findings import Report
from core.model.steps import Severity
from core.transaction.journal import Journal
from core.transaction.variable_store import LinuxVariables
from installer.by_hand import by_hand
from tests import machines
from tests.loader import build

NAME, KIND = "wsl-library-folder", "library folder"
FINDING = "driver.wsl-library"
PRIVATE = (
    'for part in etc usr; do mkdir "$1/$part" "$1/$part.work" && mount -t overlay overlay '
    '-o "lowerdir=/$part,upperdir=$1/$part,workdir=$1/$part.work" "/$part" || exit 9; done; '
    'w="$1"; shift; exec "$@" "$w"'
)
LOAD = "import ctypes; print(ctypes.CDLL('libcuda.so.1')._name)"


def loads() -> bool:
    """Whether a program of this machine loads libcuda.so.1 by its name."""
    return subprocess.run([sys.executable, "-c", LOAD], capture_output=True, check=False).returncode == 0


def files() -> dict[str, str]:
    """Return the hash of the loader's every file."""
    places = (*Path("/etc/ld.so.conf.d").iterdir(), Path("/etc/ld.so.conf"), Path("/etc/ld.so.cache"))
    return {str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(places)}


def look(_host: Host) -> Report:
    """Diagnose a machine under WSL whose loader is this machine's."""
    seen = machines.wsl_machine()
    driver = seen.driver
    assert driver is not None
    assert driver.cuda is not None
    if not loads():
        lost = replace(driver.cuda, status=None, driver_cuda="", device_count=None, library="", problem="not found")
        driver = replace(driver, cuda=lost, gpus=())
    return diagnose_snapshot(replace(seen, driver=driver))


def inside(work: Path) -> str:
    """Press once and take it back; return what is wrong, empty for nothing."""
    build.library(Path("/usr/lib/wsl/lib/libcuda.so.1"), soname="libcuda.so.1")
    subprocess.run(["/sbin/ldconfig"], check=True)
    shop = repair.RepairContext(
        host=this_host(),
        writer=LinuxVariables("/", str(work / "home")),
        journal=Journal(work / "state"),
        machine_journal=Journal(work / "machine"),
    )
    before = files()
    if loads():
        return "the program works before the cure"
    report = look(shop.host)
    finding = next((f for f in report.findings if f.id == FINDING and f.fix and f.fix.changes), None)
    if finding is None:
        return f"no button: {[f.id for f in report.findings if f.severity > Severity.NOTE]}"
    outcome = repair.apply(repair.propose(finding, shop), report, shop, look, Progress())
    if outcome.kind != "done" or not loads():
        return f"{outcome.kind}: {outcome.sentence} {outcome.problems}"
    back = repair.undo(outcome.entry, shop)
    if back.kind != "undone" or loads() or files() != before:
        return f"{back.kind}: {back.sentence}; {[n for n in files() if files()[n] != before.get(n)]}"
    return ""


def run() -> str:
    """Run the row in a namespace of its own; return what is wrong, empty for nothing."""
    with tempfile.TemporaryDirectory(prefix="curelab-system-") as work:
        command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", PRIVATE, "sh", work]
        done = subprocess.run(
            [*command, sys.executable, "-m", "tests.curelab.system", "inside"],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )
    return "" if done.returncode == 0 else (done.stdout + done.stderr).strip()[-300:]


if __name__ == "__main__":
    if sys.argv[1:2] == ["inside"]:
        said = inside(Path(sys.argv[2]))
    else:
        by_hand(__doc__)
        said = run()
    print(said or "cured, undone")
    sys.exit(bool(said))
