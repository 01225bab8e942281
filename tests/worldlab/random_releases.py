"""Random misfits: one package that a framework reaches gets another release, the real program is asked, and the scan judged.

``python -m tests.worldlab.random_releases --seed N --number M`` by hand. Each draw is a copy of an environment by hard links, in
which one distribution is replaced without its dependencies: by the newest release, the last of the minor release before, of
some minor releases before, or of the major one. Where the real program fails, the headline must name the package or what is wrong with it;
where it works, no error may be found. A warning that a declared requirement is not met is right in both.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from core.common.requirements import is_in_specifier, marker_applies, parse_requirement
from core.probes.python.installed.distributions import normalise_name
from tests.worldlab.environments import _settle, home, master, remove, site, uv
from tests.worldlab.run import CHECKOUT, SCAN_TIMEOUT
from tests.worldlab.scene import LEAVE, World
from tests.worldlab.scenes.closure import searched


class Base(NamedTuple):
    """What is drawn from: a master with packages that people have beside it, and the real program."""

    master: str
    packages: tuple[str, ...]
    """Installed into a copy of the master, once."""
    programs: tuple[str, ...]
    """Each is run in a process of its own, and must succeed."""
    prepare: Callable[[World], None] | None = None


TORCH = """
import os; os.environ['TORCHINDUCTOR_COMPILE_THREADS'] = '1'
import ctypes, torch
torch.linalg.inv(torch.eye(3)); torch.nn.Conv2d(1, 1, 1)(torch.ones(1, 1, 2, 2)).sum().backward()
if torch.cuda.is_available() or torch.version.cuda:
    assert torch.backends.cudnn.version()
    ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), 'lib', 'libtorch_cuda_linalg.so'), os.RTLD_NOW)
else:
    raise SystemExit('a build for the CPU only')
nvrtc = ctypes.CDLL('libnvrtc.so.12')
torch._dynamo; import torch._inductor.compile_fx, torch._inductor.runtime.triton_heuristics
"""
VISION = """
import torch, torchvision, torchvision.transforms.v2
torchvision.ops.nms(torch.ones(1, 4), torch.ones(1), 0.5); torchvision.models.resnet18()
torchvision.transforms.ToTensor()(__import__('PIL.Image').Image.new('RGB', (4, 4)))
"""
XFORMERS = """
import torch, torchaudio, xformers.ops, bitsandbytes
torchaudio.transforms.Resample(8000, 4000)(torch.ones(1, 80))
import os, ctypes
folder = os.path.dirname(xformers.__file__)
torch.ops.load_library(os.path.join(folder, '_C.so'))
name = next(n for n in sorted(os.listdir(os.path.dirname(bitsandbytes.__file__))) if n.startswith('libbitsandbytes_cuda128'))
ctypes.CDLL(os.path.join(os.path.dirname(bitsandbytes.__file__), name))
"""
HUB = """
import torch, transformers
from transformers import AutoTokenizer, BertConfig, BertModel, PreTrainedTokenizerFast, Trainer, TrainingArguments
BertModel(BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8, vocab_size=9))(torch.zeros(1, 3, dtype=torch.long))
import accelerate; accelerate.Accelerator()
import peft, safetensors.torch
from huggingface_hub import HfApi, snapshot_download
HfApi()
"""
DATA = """
import torch, datasets, pandas, pyarrow, sklearn.linear_model, scipy.sparse
datasets.Dataset.from_dict({'a': [1, 2]}).to_pandas()
sklearn.linear_model.LinearRegression(n_jobs=1).fit([[1.0], [2.0]], [1.0, 2.0])
"""
BOARD = """
import os, tempfile, torch, pydantic
class Row(pydantic.BaseModel):
    a: int
Row(a='1')
from torch.utils.tensorboard import SummaryWriter
SummaryWriter(tempfile.mkdtemp()).add_scalar('a', 1, 1)
import tensorboardX; tensorboardX.SummaryWriter(tempfile.mkdtemp()).add_scalar('a', 1, 1)
import lightning.pytorch
"""
JAX = """
import warnings; warnings.filterwarnings('error', 'JAX plugin.*not compatible')
import ctypes, os, jax, jax.numpy as n; from pathlib import Path
jax.config.update('jax_cuda_visible_devices', '0'); jax.config.update('jax_platforms', 'cpu')
jax.jit(lambda x: (x @ x).sum())(n.ones((3, 3)))
import jax_plugins.xla_cuda12 as p; p._load_nvidia_libraries(); from jax_cuda12_plugin import _versions as v
print(v.cusolver_get_version()); p._check_cuda_versions(raise_on_first_error=True)
from jax._src import xla_bridge as b; assert 'cuda' in b._backend_factories, 'no plug-in for CUDA'
ctypes.CDLL(str(Path(p.__file__).parent / 'xla_cuda_plugin.so'), os.RTLD_NOW)
"""
FLAX = "import jax, flax, flax.linen, optax, chex; optax.adam(0.1).init(jax.numpy.ones(2))"
TENSORFLOW = """
import tensorflow as tf, keras
tf.keras.Sequential([tf.keras.layers.Dense(1)])(tf.ones((1, 2)))
assert tf.test.is_built_with_cuda(), 'a build for the CPU only'
import tempfile; tf.summary.create_file_writer(tempfile.mkdtemp())
import ctypes, glob, os, sysconfig; home = os.path.join(sysconfig.get_paths()['purelib'], 'nvidia')
wanted = ('libcudart.so.12', 'libcublas.so.12', 'libcublasLt.so.12', 'libcufft.so.11', 'libcusolver.so.11', 'libcusparse.so.12', 'libcudnn.so.9')
[ctypes.CDLL((glob.glob(f'{home}/*/lib/{n}') or [n])[0], os.RTLD_NOW) for n in wanted]
"""
BOARD_OF_TF = "import tensorboard.main, tensorboard.program, tensorflow_hub, tf_keras; tf_keras.Sequential()"
ONNX = """
import onnx, onnxruntime, ctypes, os
from onnx import helper as h, TensorProto as T
shape = lambda n: h.make_tensor_value_info(n, T.FLOAT, [1])
model = h.make_model(h.make_graph([h.make_node('Identity', ['x'], ['y'])], 'g', [shape('x')], [shape('y')]), ir_version=8, opset_imports=[h.make_opsetid('', 13)])
onnx.checker.check_model(model)
import numpy
onnxruntime.InferenceSession(model.SerializeToString(), providers=['CPUExecutionProvider']).run(None, {'x': numpy.ones(1, 'float32')})
assert 'CUDAExecutionProvider' in onnxruntime.get_available_providers(), 'a build for the CPU only'
there = os.path.dirname(onnxruntime.__file__)
for name in ('shared', 'cuda'):
    ctypes.CDLL(f'{there}/capi/libonnxruntime_providers_{name}.so', mode=os.RTLD_NOW | ctypes.RTLD_GLOBAL)
"""
OPTIMISED = "import onnxruntime; from onnxruntime.transformers import optimizer"
CTRANSLATE2 = """
import ctranslate2, ctypes, numpy
ctranslate2.StorageView.from_array(numpy.ones(3, 'float32'))
for name in ('cublas.so.12', 'cudnn.so.9'):
    ctypes.CDLL(f'lib{name}')
import ctranslate2.converters, faster_whisper
"""
CUPY = """
import cupy, cupyx, cupyx.scipy.sparse, cupyx.scipy.signal
import cupy_backends.cuda.libs.cublas, cupy_backends.cuda.libs.curand, cupy_backends.cuda.libs.cusparse, cupy_backends.cuda.libs.cusolver, cupy.cuda.cufft
from cupy_backends.cuda.libs import nvrtc
made = nvrtc.createProgram('extern "C" __global__ void f(float *x) { x[0] = 1; }', 'f.cu', (), ())
nvrtc.compileProgram(made, ('--gpu-architecture=compute_80',))
"""
CUTENSOR = "import cupy, cupy_backends.cuda.libs.cutensor as c; print(c.get_version())"

PEOPLE = ("numpy==2.2.6", "transformers==4.51.3", "accelerate==1.6.0", "peft==0.15.2", "datasets==3.6.0", "tensorboard==2.19.0", "tensorboardX==2.6.2.2",
          "lightning==2.5.1", "scikit-learn==1.6.1", "scipy==1.15.3", "pandas==2.2.3", "pyarrow==20.0.0", "pydantic==2.11.4", "setuptools==80.9.0")  # fmt: skip

BASES: Mapping[str, Base] = {
    "torch": Base("torch-2.8", (), (TORCH, VISION, XFORMERS)),
    "hub": Base("torch-2.6", PEOPLE, (TORCH, HUB, DATA, BOARD)),
    "jax": Base("jax", ("flax==0.12.0", "optax==0.2.6", "chex==0.1.91"), (JAX, FLAX)),
    "tensorflow": Base("tensorflow", ("tf-keras==2.20.1", "tensorflow-hub==0.16.1", "setuptools<81"), (TENSORFLOW, BOARD_OF_TF)),
    "onnxruntime": Base("onnxruntime-1.23", ("onnx==1.19.0",), (ONNX, OPTIMISED), searched),
    "ctranslate2": Base("ctranslate2", ("faster-whisper==1.2.0", "requests"), (CTRANSLATE2,), searched),
    "cupy": Base("cupy", ("scipy==1.16.2", "cutensor-cu12==2.3.1"), (CUPY, CUTENSOR), searched),
}  # fmt: skip

NEIGHBOURS: Mapping[str, Callable[[Sequence[int], str], str]] = {
    "newest": lambda _n, v: f">{v}",
    "previous minor": lambda n, _v: f"<{n[0]}.{n[1]}",
    "some minors before": lambda n, _v: f"<{n[0]}.{max(n[1] - 3, 0)}",
    "last major before": lambda n, _v: f"<{n[0]}",
}
"""How a release is chosen -> what is asked of the index, by the numbers and the text of the installed one."""

UNHURRIED = """
import runpy, sys; from pathlib import Path
root = sys.argv.pop(1); sys.path.insert(0, root)
from core.probes.python.following import import_closure
from core.probes.python.following import time_limit
time_limit.MOST_WAITING = import_closure.MOST_WAITING = 300.0
runpy.run_path(str(Path(root, 'tests', 'worldlab', 'with_card.py')), run_name='__main__')
"""
"""The scan on a machine with other programs at work: what is followed is limited by processor time alone."""

LEFT_ALONE = ("pip", "wheel")

REACHED = """
import importlib.metadata as m, json, os, sys
files = {f for f in (getattr(x, '__file__', None) for x in list(sys.modules.values())) if f}
files |= {line.split()[-1] for line in open('/proc/self/maps') if '.so' in line}
files = {os.path.realpath(f) for f in files}
print('REACHED ' + json.dumps([d.name for d in m.distributions() if any(os.path.join(os.path.realpath(d.locate_file('')), f) in files for f in d.files or ())]))
"""

FIT = ("requirement_broken", "extension_abi_mismatch", "numpy_abi_mismatch", "cuda_lib_shadowed", "cudnn_minor_too_old", "cudnn_major_mismatch",
       "cuda_toolkit_version_mismatch", "cuda_runtime_missing", "corrupt_or_truncated_file", "nccl_failed", "nvrtc_missing_or_mismatch", "framework_cpu_only_build",
       "framework_not_built_for_gpu", "cudnn_mixed_versions", "cudnn_not_on_search_path", "cuda_not_on_search_path", "system_library_missing", "cxx_runtime_too_old")  # fmt: skip


class Reached(NamedTuple):
    """A distribution of which a program imports or maps files."""

    release: str
    programs: list[int]


class Draw(msgspec.Struct):
    """What was drawn, and what became of it."""

    base: str
    package: str
    was: str
    way: str
    release: str = ""
    said: str = ""
    """The last words of the real program; empty where it works."""
    trace: str = ""
    first: str = ""
    loud: tuple[str, ...] = ()
    status: int = 0
    seconds: float = 0.0
    verdict: str = ""


def made(name: str, store: Path) -> tuple[Path, dict[str, Reached]]:
    """Return the environment of a base, made once, and what its programs reach.

    Raises:
        RuntimeError: a program fails in it.
    """
    base, prefix = BASES[name], home() / f"releases-{name}"
    mark, wanted = prefix / "releases.json", json.dumps([*BASES[name][:2], sys.version])
    told = json.loads(mark.read_text()) if mark.is_file() else {}
    if told.get("made") != wanted:
        remove(prefix)
        shutil.copytree(master(base.master), prefix, symlinks=True, copy_function=os.link)
        _settle(prefix, master(base.master))
        if base.packages:
            uv("pip", "install", "--quiet", "--cache-dir", str(store), "--python", str(prefix), *base.packages)
        told = {"made": wanted}
    if "reached" not in told:
        mark.write_text(json.dumps(told))
        told["reached"] = reached(name, prefix)
        mark.write_text(json.dumps(told))
    return prefix, {n: Reached(*its) for n, its in told["reached"].items()}


def reached(name: str, prefix: Path) -> dict[str, Reached]:
    """Return what the programs of a base import or map."""
    world = World(folder=prefix.parent / f"{prefix.name}-scene")
    world.home.mkdir(parents=True, exist_ok=True)
    world.variables["PYTHONDONTWRITEBYTECODE"] = ""  # what is imported again and again is compiled once, for all copies
    try:
        if not world.prefix.is_symlink():
            world.prefix.symlink_to(prefix)
        if prepare := BASES[name].prepare:
            prepare(world)
        found: dict[str, list[int]] = {}
        for number, program in enumerate(BASES[name].programs):
            done = world.run([world.python, "-c", program.replace("SystemExit", "RuntimeError") + REACHED + LEAVE])
            line = next((w for w in done.stdout.decode().splitlines() if w.startswith("REACHED ")), "")
            if not line:
                raise RuntimeError(f"{name}: {done.stderr.decode()[-2000:]}")
            for its in json.loads(line.removeprefix("REACHED ")):
                found.setdefault(normalise_name(its), []).append(number)
        rows = (p.name.removesuffix(".dist-info").rpartition("-") for p in site(prefix).glob("*.dist-info"))
        there = {normalise_name(n): v for n, _dash, v in rows}
        return {n: Reached(v, found[n]) for n, v in sorted(there.items()) if n in found and n not in LEFT_ALONE}
    finally:
        remove(world.folder)


def drawn(seed: int, number: int, bases: Sequence[str], store: Path) -> list[Draw]:
    """Return what a seed draws; no package with one way twice."""
    chance, found = random.Random(seed), []
    known = {name: made(name, store)[1] for name in bases}
    while len(found) < number:
        name = chance.choice(list(bases))
        package = chance.choice(sorted(known[name]))
        way = chance.choice(list(NEIGHBOURS))
        if not any((d.base, d.package, d.way) == (name, package, way) for d in found):
            found.append(Draw(name, package, known[name][package].release, way))
    return found


def examined(draw: Draw, store: Path) -> Draw:
    """Replace the package in a copy, run the programs, scan and judge."""
    base, (prefix, reaching) = BASES[draw.base], made(draw.base, store)
    folder = home() / "scenes" / f"release-{draw.base}-{draw.package}-{draw.way.replace(' ', '-')}"
    remove(folder)
    folder.mkdir(parents=True)
    try:
        shutil.copytree(prefix, folder / "env", symlinks=True, copy_function=os.link)
        _settle(folder / "env", prefix)
        world = World(folder=folder)
        world.home.mkdir()
        if not _replaced(draw, world, store):
            draw.verdict = "no such release"
            return draw
        if base.prepare:
            base.prepare(world)
        draw.said, draw.trace = _real([base.programs[n] for n in reaching[draw.package].programs], world)
        started = time.monotonic()
        scan = world.run([sys.executable, "-I", "-c", UNHURRIED, CHECKOUT, "scan", "--json", "--full-names", "--python", world.prefix], SCAN_TIMEOUT)  # fmt: skip
        draw.seconds, draw.status = time.monotonic() - started, scan.returncode
        draw.verdict = _judged(draw, json.loads(scan.stdout), world)
    finally:
        remove(folder)
    return draw


def _replaced(draw: Draw, world: World, store: Path) -> bool:
    numbers = [*(int(n) for n in re.findall(r"\d+", draw.was)), 0]
    wish = draw.package + NEIGHBOURS[draw.way](numbers, draw.was)
    try:
        uv("pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "--cache-dir", str(store), "--python", str(world.python), wish)  # fmt: skip
    except subprocess.CalledProcessError:
        return False
    infos = (p.name.removesuffix(".dist-info").rpartition("-") for p in world.site.glob("*.dist-info"))
    draw.release = next(v for n, _dash, v in infos if normalise_name(n) == draw.package)
    return draw.release != draw.was


def _real(programs: Sequence[str], world: World) -> tuple[str, str]:
    """Return the last line of what the first program says that fails, and all of it."""
    for program in programs:
        try:
            done = world.run([world.python, "-c", program + LEAVE])
        except subprocess.TimeoutExpired:
            return "it gave no answer", ""
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip()
            lines = [
                line for line in said.splitlines() if re.match(r"[\w.]+(Error|Exception|Exit)?\b.*:|a build", line)
            ]
            return (lines or said.splitlines() or [f"status {done.returncode}"])[-1][:300], said[-2500:]
    return "", ""


def _judged(draw: Draw, report: Mapping[str, Any], world: World) -> str:
    findings = [f for f in report["findings"] if f["severity"] in ("error", "warning")]
    first = next((f for f in findings if f["primary"]), None) or next((f for f in findings if f.get("headline")), None)
    draw.loud = tuple(f"{f['severity']} {f['id']} [{f['cause']}] {f['title']}" for f in findings)
    draw.first = f"{first['severity']} {first['id']} [{first['cause']}]: {first['title']}" if first else ""
    if draw.said:
        return "named first" if first and first["cause"] in FIT and _names(draw, first) else "missed"
    stopped = [
        c for row in (report.get("grid") or {}).get("rows", ()) for c in row["cells"] if c["verdict"] == "cannot run"
    ]
    unasked = [
        f
        for f in findings
        if f["severity"] == "error" or f["cause"] != "requirement_broken" or not _is_unmet(draw, world)
    ]
    return "ALARM" if unasked or stopped or draw.status == 1 else "quiet"


def _names(draw: Draw, finding: Mapping[str, Any]) -> bool:
    """Whether a finding names the package in any spelling, its module or a library of its folder."""
    told = json.dumps([finding[k] for k in ("title", "why", "subject", "evidence", "fix")], ensure_ascii=False)
    return draw.package in normalise_name(told) or any(
        w in told for w in re.findall(r"lib[\w-]+\.so[.\d]*|'(\w+)'", draw.said) if w
    )


def _is_unmet(draw: Draw, world: World) -> bool:
    """Whether a distribution asks for another release of what was drawn, or it for something that is not there."""
    there: dict[str, tuple[str, list[str]]] = {}
    for info in world.site.glob("*.dist-info"):
        text = (info / "METADATA").read_text(encoding="utf-8", errors="replace")
        name, _dash, version = info.name.removesuffix(".dist-info").rpartition("-")
        there[normalise_name(name)] = version, re.findall(r"(?m)^Requires-Dist: (.*)", text.partition("\n\n")[0])
    for name, (_version, wishes) in there.items():
        for asked in (a for w in wishes if "extra" not in w.partition(";")[2] and (a := parse_requirement(w))):
            its = normalise_name(asked.name)
            if draw.package not in (name, its) or not marker_applies(asked, {}):
                continue
            if its not in there or is_in_specifier(asked.specifier, there[its][0]) is False:
                return True
    return False


def line(d: Draw) -> str:
    """Return a draw in lines, with what was said where it is not right."""
    text = (
        f"{d.verdict:15} {d.base}: {d.package} {d.was} -> {d.release or '?'} ({d.way})  [{d.status}] {d.seconds:.1f} s"
    )
    if d.verdict in ("named first", "quiet"):
        return f"{text}  {d.said[:90]} | {d.first[:110]}" if d.said else text
    return "\n      ".join(
        (text, *([f"the program: {d.said}"] if d.said else []), *(f"scan: {w[:260]}" for w in d.loud))
    )


def main() -> int:
    """Print a line for each draw, and the sums."""
    parser = argparse.ArgumentParser(prog="python -m tests.worldlab.random_releases", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, default=20)
    parser.add_argument("--base", nargs="*", choices=list(BASES), default=list(BASES))
    parser.add_argument("--only", nargs="*", type=int, metavar="N", help="these draws of the seed, counted from 1")
    parser.add_argument("--store", type=Path, help="another store for the wheels of the draws than the lab's")
    parser.add_argument(
        "--keep", type=Path, metavar="FILE", help="write each draw with what was said there, as JSON lines"
    )
    options = parser.parse_args()
    store = options.store or home() / "store"
    counted: Counter[str] = Counter()
    for n, one in enumerate(drawn(options.seed, options.number, options.base, store), start=1):
        if options.only and n not in options.only:
            continue
        done = examined(one, store)
        counted[done.verdict] += 1
        print(f"{n:3} {line(done)}", flush=True)
        if options.keep:
            with options.keep.open("ab") as stream:
                stream.write(msgspec.json.encode(done) + b"\n")
    faults = counted["named first"] + counted["missed"]
    healthy = counted["quiet"] + counted["ALARM"]
    print(
        f"\n{counted['named first']} of {faults} faults named first, {counted['missed']} missed; {counted['quiet']} of {healthy} "
        f"healthy machines without an error, {counted['ALARM']} alarms; {counted['no such release']} had no such release"
    )
    return 1 if counted["missed"] or counted["ALARM"] else 0


if __name__ == "__main__":
    sys.exit(main())
