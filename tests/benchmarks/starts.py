"""Ways of starting and ``--try``, as ratios measured in one run: ``python -m tests.benchmarks.starts --python ENV``.

ENV is a Python environment with PyTorch, TensorFlow and JAX, or some of them. In turn, each side's quickest run:

* a scan with six ways of starting that have variables of their own (a terminal, a service with a file, a kernel, a task,
  supervisord, direnv) against ``python -m torch.utils.collect_env`` in that environment: at most a quarter;
* the same where those variables lead to folders with libraries, which are searched for each way;
* the same without a cache of ours: at most three seconds;
* what ``--try`` adds to a scan against the frameworks' own imports, one process each: at most 1.2.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.scan import ROOT, alternate, processor_time, row, timed

IMPORTED = ("torch", "tensorflow", "jax")


def main() -> int:
    """Print both ratios; exit 1 when a bound is missed."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--python", type=Path, required=True, metavar="ENV")
    options.add_argument("--rounds", type=int, default=5)
    given = options.parse_args()
    prefix = given.python.absolute()
    python = str(prefix / "bin" / "python")
    with tempfile.TemporaryDirectory(prefix="starts-") as folder:
        home = Path(folder, "home")
        made = six_ways(home, prefix)
        led = Path(folder, "led")
        six_ways(led, prefix, real_folders(prefix))
        env = {**os.environ, "HOME": str(home), "SHELL": "/bin/bash"}
        for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH"):  # an installed program needs none, and has its bytecode
            env.pop(name, None)
        scan = scan_from(home / "work", prefix)
        seen = read_kinds(scan, env)
        print(f"   ways of starting with a variable of their own: {', '.join(seen)}")
        if missing := made - set(seen):
            raise SystemExit(f"the scan does not see: {', '.join(sorted(missing))}")
        rows = []
        if has(python, "torch", env):
            other = [python, "-m", "torch.utils.collect_env"]
            ours, theirs = alternate(lambda: timed(scan, env), lambda: timed(other, env), given.rounds)
            rows.append(row("six ways / collect_env", ours, theirs, at_most=0.25))
            ours, theirs = alternate(
                lambda: processor_time(scan, env), lambda: processor_time(other, env), given.rounds
            )
            rows.append(
                (f"{'the same, processor time':<30} {ours:8.3f} s / {theirs:8.3f} s = {ours / theirs:6.3f}", True)
            )
            there = {**env, "HOME": str(led)}
            leading = scan_from(led / "work", prefix)
            ours, theirs = alternate(lambda: timed(leading, there), lambda: timed(other, env), given.rounds)
            rows.append(
                (f"{'six ways to real folders':<30} {ours:8.3f} s / {theirs:8.3f} s = {ours / theirs:6.3f}", True)
            )
        first = min(first_scan(scan, env) for _round in range(given.rounds))
        rows.append((f"{'first scan':<30} {first:8.3f} s {'':>22} bound 3 s", first <= 3))
        names = [n for n in IMPORTED if has(python, n, env)]
        tried = scan_from(ROOT, prefix)
        alone = [[python, "-c", f"import {n}"] for n in names]
        added, own = alternate(
            lambda: timed([*tried, "--try"], env) - timed(tried, env),
            lambda: sum(timed(command, env) for command in alone),
            given.rounds,
        )
        rows.append(row(f"--try / import {', '.join(names)}", added, own, at_most=1.2))
    for line, good in rows:
        print(f"{'ok ' if good else 'MISS'} {line}")
    return 0 if all(good for _, good in rows) else 1


def first_scan(scan: list[str], env: dict[str, str]) -> float:
    """Return the seconds of a scan without a cache of ours."""
    with tempfile.TemporaryDirectory(prefix="starts-") as cache:
        return timed(scan, {**env, "XDG_CACHE_HOME": cache})


FROM = "import os, sys; os.chdir({folder!r}); sys.path[0] = {root!r}; from core.__main__ import run; run()"
"""A scan is run from the folder that is worked in."""


def scan_from(folder: Path, prefix: Path) -> list[str]:
    """Return the command that scans an environment from a working folder."""
    code = FROM.format(folder=str(folder), root=str(ROOT))
    return [sys.executable, "-c", code, "scan", "--json", "--python", str(prefix)]


def has(python: str, module: str, env: dict[str, str]) -> bool:
    """Whether an environment has a module."""
    found = f"import importlib.util as u, sys; sys.exit(u.find_spec({module!r}) is None)"
    return subprocess.run([python, "-c", found], env=env, check=False, capture_output=True).returncode == 0


NOWHERE = {way: f"/opt/{way}" for way in ("terminal", "service", "kernel", "task", "kept", "folder")}
"""Each way's library path, which leads to no folder."""


def real_folders(prefix: Path) -> dict[str, str]:
    """Return a library path for each way that leads to folders with libraries: the environment's own, and the system's."""
    own = sorted(str(p) for p in prefix.glob("lib/python3*/site-packages/nvidia/*/lib"))
    toolkits = sorted(str(p) for p in Path("/usr/local").glob("cuda*/lib64"))
    system = (
        str(p) for p in (Path("/usr/lib/x86_64-linux-gnu"), Path("/usr/lib64"), Path("/usr/local/lib")) if p.is_dir()
    )
    found = [*own[:3], *toolkits[:1], *system]
    return {**NOWHERE, **dict(zip(NOWHERE, found, strict=False))}


def six_ways(home: Path, prefix: Path, paths: dict[str, str] = NOWHERE) -> set[str]:
    """Write six ways of starting, each with another library path; return their kinds."""
    work, python = home / "work", prefix / "bin" / "python"
    kernel = {"argv": [str(python), "-m", "ipykernel_launcher"], "env": {"LD_LIBRARY_PATH": paths["kernel"]}}
    files = {
        home / ".bashrc": f"export LD_LIBRARY_PATH={paths['terminal']}\n",
        home
        / ".config/systemd/user/serve.service": f"[Service]\nEnvironmentFile=%h/serve.env\nExecStart={python} -m serve\n",
        home / "serve.env": f"LD_LIBRARY_PATH={paths['service']}\n",
        home / ".local/share/jupyter/kernels/gpu/kernel.json": json.dumps(kernel),
        work / "Makefile": f"export LD_LIBRARY_PATH := {paths['task']}\ntrain:\n\t{python} train.py\n",
        work
        / "supervisord.conf": f"[program:serve]\ncommand={python} -m serve\nenvironment=LD_LIBRARY_PATH={paths['kept']}\n",
        work / ".envrc": f"export LD_LIBRARY_PATH={paths['folder']}\n",
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return {"terminal", "service", "notebook", "task", "direnv"}


def read_kinds(scan: list[str], env: dict[str, str]) -> list[str]:
    """Return the kinds of the ways that a scan finds with a library path of their own."""
    done = subprocess.run(scan, env=env, capture_output=True, check=False)
    starts = json.loads(done.stdout)["snapshot"]["starts"]
    return sorted({s["kind"] for s in starts if any(v["name"] == "LD_LIBRARY_PATH" for v in s["variables"])})


if __name__ == "__main__":
    sys.exit(main())
