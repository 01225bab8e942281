"""On a machine with a GPU and PyTorch: plant faults, run ``convalesce benchmark --quick``, and show each verdict.

``PYTHONPATH=. python tests/gpu/faults.py [NAME...]``. Every fault lives in a folder, a variable or another process of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nvidia.cudnn

HERE = Path(__file__).parent
WORK = Path(tempfile.mkdtemp(prefix="faults-"))
WHEEL = Path(nvidia.cudnn.__path__[0]) / "lib"
HOLD = "import torch,sys,time; f,_=torch.cuda.mem_get_info(); x=torch.empty(f-{left},dtype=torch.uint8,device='cuda'); print('ready',flush=True); time.sleep(600)"
LOAD = "import torch; a=torch.randn(8192,8192,device='cuda',dtype=torch.half); print('ready',flush=True)\nwhile True:\n  for _ in range(50): a@a\n  torch.cuda.synchronize()"


@contextmanager
def beside(code: str) -> Iterator[None]:
    """Run a program beside us, from when it says that it is ready."""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout
    process.stdout.readline()
    time.sleep(2)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def copy(name: str) -> Path:
    """Return a folder with a copy of the wheel's set."""
    folder = WORK / name
    shutil.copytree(WHEEL, folder)
    return folder


def mixed() -> dict[str, str]:
    """Two parts of the wheel's set replaced by the distribution's."""
    folder = copy("mixed")
    for role in ("cnn", "ops"):
        other = next(Path("/usr/lib/x86_64-linux-gnu").glob(f"libcudnn_{role}.so.9.*"))
        (folder / f"libcudnn_{role}.so.9").unlink()
        shutil.copy2(other, folder / f"libcudnn_{role}.so.9")
    return {"LD_LIBRARY_PATH": str(folder)}


def engines() -> dict[str, str]:
    """A set without engines_precompiled."""
    folder = copy("engines")
    (folder / "libcudnn_engines_precompiled.so.9").unlink()
    return {"LD_LIBRARY_PATH": str(folder)}


def stub() -> dict[str, str]:
    """The toolkit's stub in the driver's place."""
    folder = WORK / "stub"
    folder.mkdir()
    found = next(Path("/usr/local").glob("cuda*/**/stubs/libcuda.so"))
    shutil.copy2(found, folder / "libcuda.so.1")
    return {"LD_LIBRARY_PATH": str(folder)}


def flip() -> dict[str, str]:
    """A preloaded library that spoils one value."""
    out = WORK / "flip.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", out, HERE / "flip.c", "-ldl"], check=True)
    return {"LD_PRELOAD": str(out)}


FAULTS = {
    "healthy": dict,
    "hidden": lambda: {"CUDA_VISIBLE_DEVICES": "-1"},
    "stub libcuda": stub,
    "mixed folder": mixed,
    "missing engines": engines,
    "flipped value": flip,
    "memory held, all but 20 MB": HOLD.format(left=20 << 20),
    "memory held, all but 700 MB": HOLD.format(left=700 << 20),
    "busy": LOAD,
}


def show(name: str, env: dict[str, str]) -> None:
    """Run the benchmark and print its verdict."""
    start = time.time()
    command = [sys.executable, "-m", "core", "benchmark", "--quick", "--json", "--python", sys.prefix]
    done = subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, timeout=110, check=False)
    print(f"== {name}: exit {done.returncode}, {time.time() - start:.1f} s")
    if out := os.environ.get("OUT"):
        Path(out, "faults").mkdir(exist_ok=True)
    if "Traceback" in done.stderr:
        print("  TRACEBACK", done.stderr[-500:])
    try:
        report = json.loads(done.stdout)
    except ValueError:
        print("  no report:", done.stderr[-300:])
        return
    for f in report["findings"]:
        if f["step"] == "benchmark" or f["primary"]:
            mark = "PRIMARY " if f["primary"] else f"follows from {f['follows_from']} " if f.get("follows_from") else ""
            print(f"  {mark}{f['severity']} {f['id']} [{f['cause']}] {f['title']}")
            if f["severity"] in ("error", "warning", "unknown"):
                for e in f["evidence"][:5]:
                    print(f"      {e['label']}: {e['value'][:200]}")
    for run in report["snapshot"]["benchmark"]["gpus"]:
        rates = ", ".join(f"{t['type']} {t.get('teraflops') or 0:.0f}" for t in run.get("timings", ())[:5])
        wrong = sum(c["right"] is False for c in run.get("checks", ()))
        print(f"  TFLOP/s: {rates or 'none'}; {wrong} wrong of {len(run.get('checks', ()))} checks")


for title, plant in FAULTS.items():
    if len(sys.argv) > 1 and title not in sys.argv[1:]:
        continue
    try:
        if isinstance(plant, str):
            with beside(plant):
                show(title, {})
        else:
            show(title, plant())
    except (OSError, StopIteration, IndexError, subprocess.SubprocessError) as e:
        print(f"== {title}: could not be planted: {e!r}")
shutil.rmtree(WORK, ignore_errors=True)
