"""On a machine with a GPU: where a quick run's time goes, with a cold and with a warm disk.

``PYTHONPATH=. python tests/gpu/cold.py ENV [FOLDER...]``: the environment whose cuDNN is measured, and further folders of
libraries. Nothing is removed: the system is asked to forget what it keeps of these files in memory.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from installer.by_hand import by_hand

STAGES = ("Loading every", "GPU 0: looking", "GPU 0: The driver", "GPU 0: NVRTC", "GPU 0: cuBLAS", "GPU 0: cuDNN", "GPU 0: Checking", "GPU 0: Comparing", "GPU 0: Measuring")  # fmt: skip


def forget(folders: list[str]) -> float:
    """Ask the system to drop every library and program file below the folders; return their size in GB."""
    total = 0
    for folder in folders:
        for path in Path(folder).rglob("*"):
            if path.is_file() and not path.is_symlink() and (".so" in path.name or path.suffix in {".py", ".pyc"}):
                file = os.open(path, os.O_RDONLY)
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(file)
                total += path.stat().st_size
    return total / 1e9


def one(environment: str) -> None:
    """Run it in this process and print when each stage began, what was left out, and what took how long."""
    start = time.monotonic()
    from core.benchmark.extent import quick_run
    from core.common.progress import Progress
    from core.doctor.benchmark import measure_speed
    from core.host.this_host import this_host
    from core.model.scan_options import ScanOptions

    began: dict[str, float] = {}
    watch = Progress(lambda said: began.setdefault(next((s for s in STAGES if said.startswith(s)), ""), time.monotonic() - start))  # fmt: skip
    options = ScanOptions(pythons=(environment,))
    snapshot = measure_speed(this_host(), watch, options=options, extent=quick_run(), gpu=0).snapshot
    assert snapshot.benchmark
    run = snapshot.benchmark.gpus[0]
    began.pop("", None)
    print("    began: " + ", ".join(f"{s.removeprefix('GPU 0: ')} {t:.1f}" for s, t in began.items()))
    print("    scan: " + ", ".join(f"{name} {seconds:.2f}" for name, seconds in snapshot.seconds))
    print("    rungs: " + ", ".join(f"{r.call} {r.seconds:.2f}" for r in run.rungs if r.seconds > 0.05))
    done = sum(t.teraflops is not None for t in run.timings)
    left = sum("time was used up" in c.detail for c in run.checks)
    right = sum(c.right is True for c in run.checks)
    print(f"    {right} checks right, {left} left out; {done} of {len(run.timings)} timings; {time.monotonic() - start:.2f} s", flush=True)  # fmt: skip


def main() -> None:
    """Run the variants in turn; the first is as cold as the machine was."""
    environment, *folders = by_hand(__doc__, "ENV/", "[FOLDER...]")
    places = [environment, *folders, str(Path(sys.base_prefix, "lib")), str(Path(__file__).parents[2])]
    for name in ("as found", "warm", "cold", "cold", "warm"):
        size = f" ({forget(places):.1f} GB forgotten)" if name == "cold" else ""
        start = time.monotonic()
        subprocess.run([sys.executable, __file__, "--one", environment], check=False)
        print(f"== {name}{size}: {time.monotonic() - start:.2f} s from start to end", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2])
    else:
        main()
