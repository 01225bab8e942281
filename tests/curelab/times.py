"""How long curing a large environment takes: ``python -m tests.curelab.times [ENVIRONMENT]``, on a quiet machine.

A copy of an environment with PyTorch is made by hard links on its own file system (the world lab's by default), its cuDNN wheel is
removed, and one press puts it back, from a wheel that is packed again from the copy's own files. Nothing is fetched.

- twin: the copy of the whole environment, wall clock and processor time, the best of three
- rehearsal: all of preparing but the fetching: twin, resolving, installing into it, importing the frameworks there
- press to verified: the command from its start to its end, without the fetching

Beside each stands the processor time, of children that ended too: on a busy machine it says more.

Exit status 1 where one is above its limit.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from unittest import mock

from core.cli import fix as cli_fix
from core.common.progress import Progress
from core.doctor import package_repair
from core.fixes.packages import twin
from core.fixes.packages.installer import Installer, UvInstaller
from core.host.this_host import this_host
from installer.by_hand import by_hand
from tests.curelab import environments, run
from tests.curelab.packing import installed, packed_again
from tests.curelab.rows import Row, has
from tests.envlab.run import LabHost
from tests.worldlab.environments import master, site

LIMITS = {"twin": 3.0, "rehearsal": 15.0, "press to verified": 60.0}
"""Seconds."""
CUDNN = "nvidia-cudnn-cu12"
ROW = Row(
    *("large", "missing packages", environments.by_uv, lambda _folder: None, [], ""),
    works=has("nvidia/cudnn/lib/libcudnn_ops.so.9"),
    options=("--from", "{wheels}"),
    offline=True,
)


def main() -> int:
    """Measure, and print a line a figure."""
    given = by_hand(__doc__, "[ENVIRONMENT/]")
    original = Path(given[0]).resolve() if given else master("torch-2.8")
    with tempfile.TemporaryDirectory(prefix="times-", dir=original.parent) as folder:
        work = Path(folder)
        subprocess.run(["cp", "-al", original, work / "env"], check=True)
        files = sum(len(names) for _here, _inner, names in os.walk(work / "env"))
        size = int(subprocess.run(["du", "-s", "-B", "1", original], capture_output=True, check=True).stdout.split()[0])
        print(f"{original.name}: {files} files, {size / 1e9:.1f} GB")
        twins = [_twin(work, n) for n in range(3)]
        found = {"twin": min(wall for wall, _processor in twins)}
        print(f"processor time of the twin: {min(processor for _wall, processor in twins):.2f} s")
        found |= _cure(work)
        for name, limit in LIMITS.items():
            busy = f", {found[name + ' busy']:.2f} s of processor time" if name + " busy" in found else ""
            print(f"{name:18} {found[name]:6.2f} s (limit {limit:.0f} s{busy})")
        return int(any(found[name] > limit for name, limit in LIMITS.items()))


def _twin(work: Path, number: int) -> tuple[float, float]:
    """Return the seconds of wall clock and processor that a twin takes."""
    root = work / f"twin{number}"
    root.mkdir()
    start, busy = time.monotonic(), time.process_time()
    twin.copy_environment(str(work / "env"), root, Progress())
    return time.monotonic() - start, time.process_time() - busy


def _cure(work: Path) -> dict[str, float]:
    """Remove cuDNN, press, and return the seconds of rehearsal and of the whole, without those of fetching."""
    packages = site(work / "env")
    (work / "wheels").mkdir()
    packed_again(work / "wheels", packages, installed(packages)[CUDNN])
    env = environments.variables(work)
    uv = (str(work / "tools/uv"), "pip")
    made = environments.Environment(work / "env", uv, packages, env, ("--python", str(work / "env/bin/python")))
    made.uninstall(CUDNN)
    took: Counter[str] = Counter()
    with (
        mock.patch.object(package_repair.packages, "prepare", _timed("prepare", took, package_repair.packages.prepare)),
        mock.patch.object(cli_fix, "run_fix", _timed("run", took, cli_fix.run_fix)),
        mock.patch.object(Installer, "fetch", _timed("fetch", took, Installer.fetch)),
        mock.patch.object(UvInstaller, "fetch", _timed("fetch", took, UvInstaller.fetch)),
    ):
        result = run.Result(ROW)
        run.press(ROW, result, LabHost(this_host(), env), made, work, [str(work / "env")], "")
    if result.wrong:
        raise SystemExit("; ".join(result.wrong))
    return {
        "rehearsal": took["prepare"] - took["fetch"],
        "rehearsal busy": took["prepare busy"] - took["fetch busy"],
        "press to verified": result.seconds - took["fetch"],
        "press to verified busy": took["run busy"] - took["fetch busy"],
    }


def _busy() -> float:
    """Return the seconds of processor time of this process and of its children that ended."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def _timed(name: str, took: Counter[str], real: Callable[..., object]) -> Callable[..., object]:
    def timed(*given: object, **more: object) -> object:
        start, busy = time.monotonic(), _busy()
        try:
            return real(*given, **more)
        finally:
            took[f"{name} busy"] += _busy() - busy
            took[name] += time.monotonic() - start

    return timed


if __name__ == "__main__":
    sys.exit(main())
