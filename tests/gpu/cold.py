"""On a machine with a GPU: where a quick run's time goes, with a cold and with a warm disk, reading ahead or not.

``PYTHONPATH=. python tests/gpu/cold.py ENV [FOLDER...]``: the environment whose cuDNN is measured, and further folders of
libraries. Nothing is removed: the system is asked to forget what it keeps of these files in memory.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

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


def one(environment: str, *, ahead: bool) -> None:
    """Run it in this process and print when each stage began, what was left out, and what took how long."""
    start = time.monotonic()
    import argparse

    from core.benchmark import ahead as reading
    from core.cli_benchmark import measured
    from core.watch import Watch

    if not ahead:
        reading._read = lambda _paths: None
    began: dict[str, float] = {}
    watch = Watch(lambda said: began.setdefault(next((s for s in STAGES if said.startswith(s)), ""), time.monotonic() - start))  # fmt: skip
    options = argparse.Namespace(python=[environment], quick=True, gpu=0)
    snapshot = measured(options, watch).snapshot
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
    environment, *folders = sys.argv[1:]
    places = [environment, *folders, str(Path(sys.base_prefix, "lib")), str(Path(__file__).parents[2])]
    variants = [("as found", True, False), ("warm", True, False), ("cold, not ahead", False, True), ("cold, ahead", True, True),
                ("cold, not ahead", False, True), ("cold, ahead", True, True), ("warm", True, False)]  # fmt: skip
    for name, ahead, cold in variants:
        size = f" ({forget(places):.1f} GB forgotten)" if cold else ""
        start = time.monotonic()
        flags = ["--one", environment] + ([] if ahead else ["--not-ahead"])
        subprocess.run([sys.executable, __file__, *flags], check=False)
        print(f"== {name}{size}: {time.monotonic() - start:.2f} s from start to end", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        one(sys.argv[2], ahead="--not-ahead" not in sys.argv)
    else:
        main()
