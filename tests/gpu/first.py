"""On a machine with a GPU: engine and PyTorch side by side, three times in one run. ``python tests/gpu/first.py [rounds]``."""

import json
import os
import subprocess
import sys
import time

import torch  # only for its path and its cuDNN

sys.path.insert(0, os.getcwd())
from core.benchmark import engine, events, ladder, shapes
from core.benchmark.torch_script import SCRIPT
from core.child import ask
from core.host import this_host

P = shapes.Problem
import nvidia.cudnn  # noqa: E402

root = nvidia.cudnn.__path__[0]
main = os.path.join(root, "lib", "libcudnn.so.9")
host = this_host()
env = dict(os.environ)
import glob

nv = os.path.dirname(root)
nvrtc = tuple(glob.glob(nv + "/*/lib/libnvrtc.so.1[0-9]"))
cublas = tuple(glob.glob(nv + "/*/lib/libcublas.so.1[0-9]"))
t = time.time()
a = ask(ladder.climb, events.Climb(gpu=events.Which(), nvrtc=nvrtc, cublas=cublas), events.Said, host=host, env=env, timeout=60)
for e in a.events:
    if e.rung:
        print(e.rung.state, e.rung.name, e.rung.call, e.rung.status, e.rung.meaning, e.rung.seconds)
print(a.ended, a.output[-300:], f"{time.time() - t:.2f} s")
types = ("fp32", "tf32", "fp16", "bf16", "int8")
exact = tuple(P(shape=s, type=ty, layout=l, direction=d) for s in shapes.SMALL for ty in types for l in ("NCHW", "NHWC") for d in shapes.DIRECTIONS if ty != "int8" or d == "forward")
compared = tuple(P(shape=shapes.MIDDLE, type=ty, layout=l, direction=d) for ty in types for l in (("NCHW", "NHWC") if ty == "fp32" else ("NHWC",)) for d in shapes.DIRECTIONS if ty != "int8" or d == "forward")
timed = tuple(P(shape=s, type=ty) for s in shapes.TIMED for ty in types)
each = float(os.environ.get("EACH", "1.0"))
for n in range(int(sys.argv[1]) if len(sys.argv) > 1 else 1):
    first = n == 0
    job = events.Job(gpu=events.Which(), cudnn=(main,), exact=exact if first else (), compared=compared if first else (), timed=timed, seconds=100, each=each)
    t = time.time()
    a = ask(engine.work, job, events.Said, host=host, env=env, timeout=200)
    took = time.time() - t
    ours = {}
    for e in a.events:
        if e.rung and (first or e.rung.state != "passed"):
            print(e.rung.state, e.rung.name, e.rung.call, e.rung.status, e.rung.meaning, e.rung.seconds)
        if e.check and (not e.check.right or (first and e.check.kind == "two algorithms")):
            c = e.check
            print(c.right, c.kind, c.type, c.direction, c.layout, c.shape, c.algorithm, c.worst, c.bound, c.detail)
        if e.check and e.check.kind == "samples" and e.check.right:
            print("  samples", e.check.type, e.check.algorithm, e.check.worst, e.check.bound)
        if e.timing:
            ours[e.timing.label, e.timing.type] = e.timing
    kinds = {}
    for e in a.events:
        if e.check:
            kinds[e.check.kind, e.check.right] = kinds.get((e.check.kind, e.check.right), 0) + 1
    print(kinds, a.ended, a.output[-600:], f"engine {took:.1f} s")
    asked = [p for p in timed if p.type != "int8"]
    order = {"uuid": "", "ordinal": 0, "seconds": 60, "small": {"counts": shapes.SMALL[0].counts, "dims": shapes.SMALL[0].dims, "pad": 1}, "timed": [{"words": p.words, "type": p.type, "dims": p.shape.dims[:2], "pad": p.shape.pad, "groups": p.shape.groups, "last": True} for p in asked]}
    t = time.time()
    done = subprocess.run([sys.executable, "-c", SCRIPT], input=json.dumps(order), capture_output=True, text=True)
    took = time.time() - t
    theirs = {}
    for line in done.stdout.splitlines():
        if line.startswith("="):
            said = json.loads(line[1:])
            if "milliseconds" in said:
                theirs[said["number"]] = said["milliseconds"]
            elif "problem" in said or "framework" in said:
                print(said)
    print(done.stderr[-500:], f"torch {took:.1f} s")
    for i, p in enumerate(asked):
        o, th = ours.get((p.shape.label, p.type)), theirs.get(i)
        if o and th and o.milliseconds:
            m = th[len(th) // 2]
            print(f"{p.shape.label:28} {p.type} ours {o.milliseconds:8.4f} ms {o.teraflops:7.1f} TF ±{o.spread:.3f}  torch {m:8.4f} ms {p.shape.operations / m / 1e9:7.1f} TF  ratio {m / o.milliseconds:.3f}  {o.algorithm} of {o.algorithms}")
        else:
            print(p.words, o, th)
    for p in timed:
        if p.type == "int8":
            print(ours.get((p.shape.label, p.type)))
for e in a.events:
    if e.mapped:
        print(e.mapped)
