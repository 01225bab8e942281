"""From reports of full runs: cuDNN by us against PyTorch, for each shape and type. ``python tests/gpu/three_times.py A.json B.json ...``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

WANTED = 0.95
runs = [json.loads(Path(p).read_text())["snapshot"]["benchmark"]["gpus"][0] for p in sys.argv[1:]]
rows: dict[tuple[str, str], list[str]] = {}
passed: dict[str, list[int]] = {}
for run in runs:
    theirs = {
        (t["label"], t["type"], t["layout"]): t
        for f in run["frameworks"] or ()
        if f["framework"].startswith("torch")
        for t in f["timings"]
    }
    met: dict[str, int] = {}
    for t in run["timings"]:
        other = theirs.get((t["label"], t["type"], t["layout"]))
        if t["direction"] != "forward" or not other or not t["teraflops"] or not other["teraflops"]:
            continue
        ratio = t["teraflops"] / other["teraflops"]
        rows.setdefault((t["label"], t["type"]), []).append(
            f"{t['teraflops']:6.1f}/{other['teraflops']:6.1f}={ratio:.3f}"
        )
        met[t["type"]] = met.get(t["type"], 0) + (ratio >= WANTED)
    for kind, count in met.items():
        passed.setdefault(kind, []).append(count)
for (label, kind), cells in rows.items():
    print(f"{label:<28} {kind:>5}  " + "  ".join(cells))
for kind, counts in passed.items():
    print(f"{kind}: at least {WANTED} of PyTorch in {counts} of 5 shapes")
for run in runs:
    limits = {limit["type"]: limit["teraflops"] for limit in run["limits"]}
    best = {
        t["type"]: t["teraflops"] / limits[t["type"]]
        for t in reversed(run["timings"])
        if t["label"] == "3x3, 256 channels" and t["direction"] == "forward" and t["teraflops"]
    }
    checks = [c["right"] for c in run["checks"]]
    print(
        f"{run['seconds']} s; of the limit: {', '.join(f'{k} {v:.3f}' for k, v in best.items())}; checks: {checks.count(True)} right, {checks.count(False)} wrong, {checks.count(None)} open"
    )
