"""On a machine with a GPU: one whole run as a table, three more as JSON, and what ``three_times.py`` says of those.

``PYTHONPATH=. python tests/gpu/whole.py ENV OUT``. The wall time is that of the command, from its start to its end.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

environment, out = sys.argv[1:]
command = [sys.executable, "-m", "core", "benchmark", "--python", environment]
start = time.monotonic()
table = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
print(table)
print(f"== whole run: {time.monotonic() - start:.2f} s from start to end")
reports = []
for number in range(3):
    start = time.monotonic()
    done = subprocess.run([*command, "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    path = Path(out, f"whole-{number}.json")
    path.write_bytes(done.stdout)
    reports.append(str(path))
    benchmark = json.loads(done.stdout)["snapshot"]["benchmark"]
    gpu = benchmark["gpus"][0]
    left = [t["label"] + " " + t["type"] for t in gpu["timings"] if "used up" in t["problem"]]
    print(f"== whole run {number}: {time.monotonic() - start:.2f} s, exit {done.returncode}; left out: {left}")
    for f in gpu["frameworks"] or ():
        done_ = {(t["label"], t["type"]): round(t["teraflops"], 1) for t in f["timings"] if t["teraflops"]}
        failed = [f"{t['label']} {t['type']}: {t['problem'][:80]}" for t in f["timings"] if t["problem"]]
        print(f"   {f['framework']}: right {f['right']}, GPU {f['gpu']}, CUDA {f['cuda']!r}, {len(f['mapped'])} files{' compared with the prediction' if f['predicted'] else ''}, {f['seconds']} s; {f['problem'][:200]}")  # fmt: skip
        print(
            f"      {len(done_)} timings; failed {failed}; " + ", ".join(f"{a} {b} {c}" for (a, b), c in done_.items())
        )
        print("      " + ", ".join(f"{name} {seconds:.2f}" for name, seconds in f["steps"]))
    took = [(t["seconds"], f"{t['label']} {t['type']} {t['direction']}", t["algorithms"]) for t in gpu["timings"] if t["seconds"]]  # fmt: skip
    print(f"   timings {sum(s for s, *_ in took):.1f} s; longest: {sorted(took, reverse=True)[:6]}")
subprocess.run([sys.executable, str(Path(__file__).with_name("three_times.py")), *reports], check=False)
