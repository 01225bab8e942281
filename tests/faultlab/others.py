"""Other tools on the same machines, by hand: python -m tests.faultlab.others --tools VENV > docs/other-tools-table.md.

VENV is a throw-away environment outside the checkout that has torch (a CPU build), cuda-pathfinder, env-doctor,
cuda-doctor and nvidia-cudnn-frontend. Each tool runs in the row's own environment, on the row's machine, once with
the fault and once on the healthy machine of the same base. A tool that says the same about both cannot have seen it.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path

from tests.faultlab import bases, plants, wheels
from tests.faultlab.faults import Fault, table
from tests.faultlab.run import built, on_machine
from tests.faultlab.setups import Lab
from tests.faultlab.standins import HEALTHY_DRIVER

LDD = 'for f in "$@"; do [ -e "$f" ] || echo "$f: not there"; ldd "$f" 2>&1; done'
PATHFINDER = """
from cuda.pathfinder import load_nvidia_dynamic_lib
for name in ("cudart", "cublas", "cublasLt", "nvrtc", "cudnn"):
    try:
        found = load_nvidia_dynamic_lib(name)
        print(name, found.abs_path, found.found_via)
    except Exception as e:
        print(name, type(e).__name__, e)
"""


def _python(*arguments: str) -> Callable[[Lab, Path], list[str]]:
    return lambda lab, _tools: [f"{lab.pythons[-1]}/bin/python", *arguments]


def _script(name: str, *arguments: str) -> Callable[[Lab, Path], list[str]]:
    return lambda lab, tools: [f"{lab.pythons[-1]}/bin/python", str(tools / "bin" / name), *arguments]


def _ldd(lab: Lab, _tools: Path) -> list[str]:
    """Give ldd what a person would: the framework's library and cuDNN's main library."""
    shown = [f"{lab.pythons[-1]}/{path.relative_to(lab.at(lab.pythons[-1]))}" for path in _main_libraries(lab)]
    return ["/bin/bash", "-c", LDD, "ldd", *shown]


def _main_libraries(lab: Lab) -> list[Path]:
    prefix = lab.at(lab.pythons[-1])
    frameworks = [*prefix.rglob("libtorch_cuda.so"), *prefix.rglob("libtensorflow_cc.so.2")]
    return sorted([*frameworks, *prefix.rglob("libcudnn.so.*")])


TOOLS: dict[str, Callable[[Lab, Path], list[str]]] = {
    "collect_env (torch)": _python("-m", "torch.utils.collect_env"),
    "ldd": _ldd,
    "cuda-pathfinder": _python("-c", PATHFINDER),
    "env-doctor check": _script("env-doctor", "check"),
    "env-doctor cudnn-info": _script("env-doctor", "cudnn-info"),
    "cuda-doctor": _script("cuda-doctor", "diagnose"),
    "collect_env (cuDNN frontend)": _python("-m", "cudnn.collect_env"),
}

_NOISE = (
    (re.compile(r"0x[0-9a-f]{6,}"), "0xADDRESS"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ][\d:.+]+(?: UTC)?"), "TIME"),
    (re.compile(r"(?m)^.*(?:MHz|BogoMIPS|Mem:|MemTotal|uptime|load average|\d+(?:\.\d+)? ?[GM]i?B free).*$"), "NOISE"),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s|seconds)\b"), "DURATION"),
    (re.compile(r"\bpid[ =:]*\d+"), "PID"),
)

HEALTHY_BESIDE = {
    "none-installed": bases.torch_9,
    "only-8": bases.torch_9,
    "only-9": bases.tensorflow_8,
    "not-on-path": bases.system(bases.NEW),
    "stale-loader-cache": bases.system(bases.NEW),
    "older-copy-first": bases.system(bases.NEW, bases.OLD),
    "only-older-copy": bases.system(bases.NEW),
    "cuda-not-on-path": bases.system(bases.NEW),
    "brackets-in-path": bases.torch_9,
    "cudnn-for-cuda-12-beside-cublas-11": bases.torch_9,
    "cu13-wheel-beside-system-copy": bases.torch_13_beside_system(None),
}
"""Rows whose base is the fault, and the healthy machine to compare with."""


@dataclass(frozen=True)
class Said:
    """What one tool printed about one machine."""

    status: int
    text: str

    @property
    def lines(self) -> tuple[str, ...]:
        """Its lines without what differs from run to run."""
        text = self.text
        for pattern, word in _NOISE:
            text = pattern.sub(word, text)
        return tuple(line.rstrip() for line in text.splitlines())


def healthy(row: Fault) -> Fault:
    """Return the healthy machine that a row's fault was planted on."""
    return replace(
        row,
        name=f"{row.name}-healthy",
        base=HEALTHY_BESIDE.get(row.name, row.base),
        plant=plants.nothing,
        environment={},
        driver=HEALTHY_DRIVER,
    )


def ask(row: Fault, tools: Path) -> dict[str, Said]:
    """Run every tool on the row's machine."""
    said = {}
    packages = next((tools / "lib").glob("python3.*/site-packages"))
    with built(row) as lab:
        lab.environment.update({"PYTHONPATH": str(packages), "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"})
        for name, command in TOOLS.items():
            done = on_machine(lab, command(lab, tools), cwd=Path("/"), keep=(tools,))
            said[name] = Said(done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace"))
    return said


def compare(row: Fault, tools: Path, known: dict[object, dict[str, Said]]) -> dict[str, list[str]]:
    """Return, for every tool, the lines that the fault changed: "- " lost, "+ " new; empty when it said the same.

    ``known`` keeps what was said about healthy machines: many rows share theirs.
    """
    sound = healthy(row)
    if sound.base not in known:
        known[sound.base] = ask(sound, tools)
    before, after = known[sound.base], ask(row, tools)
    changed = {}
    for name in TOOLS:
        lost = [f"- {line}" for line in before[name].lines if line not in after[name].lines]
        new = [f"+ {line}" for line in after[name].lines if line not in before[name].lines]
        if before[name].status != after[name].status:
            new.append(f"+ exit status {before[name].status} -> {after[name].status}")
        changed[name] = lost + new
    return changed


def main(argv: Sequence[str] | None = None) -> int:
    """Print every changed line as JSON; the verdict "names the cause" is a person's."""
    parser = argparse.ArgumentParser(prog="python -m tests.faultlab.others", description=__doc__)
    parser.add_argument("--tools", type=Path, required=True, metavar="VENV")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args(argv)
    rows = [r for r in table() if r.cause and (not options.names or any(fnmatch(r.name, n) for n in options.names))]
    wheels.cache().mkdir(parents=True, exist_ok=True)
    known: dict[object, dict[str, Said]] = {}
    tools = options.tools.absolute()
    with ThreadPoolExecutor(max_workers=2) as pool:
        for row, changed in zip(rows, pool.map(lambda r: compare(r, tools, known), rows), strict=True):
            print(json.dumps({"fault": row.name, "cause": row.cause, "changed": changed}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
