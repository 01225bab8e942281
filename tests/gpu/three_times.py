"""From reports of thorough runs: cuDNN by us against the best framework, for each shape, type and direction.

``python tests/gpu/three_times.py A.json B.json ...``. Below 0.95 stands the kernel that the framework ran.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

WANTED = 0.95
runs = [json.loads(Path(p).read_text())["snapshot"]["benchmark"]["gpus"][0] for p in sys.argv[1:]]
rows: dict[tuple[str, str, str], list[tuple[float, str, str]]] = {}
for run in runs:
    theirs: dict[tuple[str, str, str], list[dict]] = {}
    for framework in run["frameworks"] or ():
        for t in framework["timings"]:
            if t["teraflops"]:
                theirs.setdefault((t["label"], t["type"], t["direction"]), []).append(t)
    for t in run["timings"]:
        key = t["label"], t["type"], t["direction"]
        if t["teraflops"] and t["layout"] == ("NCHW" if t["type"] == "fp32" else "NHWC") and key in theirs:
            best = max(theirs[key], key=lambda other: other["teraflops"])
            rows.setdefault(key, []).append((t["teraflops"] / best["teraflops"], best["by"], best["algorithm"]))
short = 0
for (label, kind, direction), cells in rows.items():
    ratios = " ".join(f"{ratio:6.3f}" for ratio, _, _ in cells)
    low = min(cells)
    short += low[0] < WANTED
    note = f"  {low[1]}: {low[2][:90]}" if low[0] < WANTED else ""
    print(f"{label:<28} {kind:>5} {direction:<16} {ratios}{note}")
print(f"{len(rows) - short} of {len(rows)} rows at least {WANTED} of the best framework in each of {len(runs)} runs")
for run in runs:
    beside = ", ".join(
        f"{f['framework']} {f['seconds']:.0f} s, {len(f['timings'])} rows {f['problem'][:80]}"
        for f in run["frameworks"] or ()
    )
    missing = sum(not t["teraflops"] for t in run["timings"])
    print(f"{run['seconds']:.0f} s; {missing} of {len(run['timings'])} rows without a figure; {beside}")
