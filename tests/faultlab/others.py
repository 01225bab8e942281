"""Other tools on the same machines, by hand.

    python -m tests.faultlab.others --tools VENV > said.jsonl     what each tool said otherwise than on a healthy machine
    python -m tests.faultlab.others --table said.jsonl            the table of docs/other-tools.md

VENV is a throw-away environment outside the checkout that has torch (a CPU build), cuda-pathfinder, env-doctor,
cuda-doctor and nvidia-cudnn-frontend. Each tool runs in the row's own environment, on the row's machine, once with
the fault and once on the healthy machine of the same base. A tool that says the same about both cannot have seen it.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path

from tests.faultlab import bases, plants
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
        lab.environment.update({"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"})
        for name, command in TOOLS.items():
            lab.environment["PYTHONPATH"] = str(without_torch(tools) if name.startswith("env-doctor") else packages)
            done = on_machine(lab, command(lab, tools), cwd=Path("/"), keep=(tools,))
            text = (done.stdout + done.stderr).decode("utf-8", "replace")
            said[name] = Said(done.returncode, text.replace(lab.pythons[-1], "ENVIRONMENT"))
    return said


def without_torch(tools: Path) -> Path:
    """Return a view of the tools' packages without torch: env-doctor 0.3.5 crashes on a CPU build of it.

    It then examines the row's own stand-in of torch.
    """
    view = tools / "without-torch"
    if not view.is_dir():
        half = Path(tempfile.mkdtemp(dir=tools))
        half.chmod(0o755)
        for entry in next((tools / "lib").glob("python3.*/site-packages")).iterdir():
            if not entry.name.startswith("torch"):
                (half / entry.name).symlink_to(entry)
        half.rename(view)
    return view


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


# --- the table ---------------------------------------------------------------------------------------------

_GONE = r"(not found|no such file|is missing|cannot open)"
NAMED = {
    "cudnn_sublibrary_missing": rf"libcudnn\S*.*{_GONE}|incomplete|dangling|broken (sym)?link",
    "corrupt_or_truncated_file": r"truncat|too short|corrupt|damaged|invalid elf|checksum|is empty|bus error",
    "dll_wrong_architecture": r"architecture|wrong elf class|aarch64|32-bit",
    "mixed_cudnn_sublibraries": r"multiple directories|version mismatch|different (release|version)",
    "library_unreadable": r"permission|not readable",
    "cudnn_cuda_major_mismatch": r"built for cuda|mismatch",
    "cudnn_not_installed": rf"cudnn.*({_GONE}|not installed)",
    "cudnn_major_mismatch": r"(needs|requires) cudnn|mismatch",
    "cudnn_not_on_search_path": r"not (on|in) .*path|run ldconfig",
    "cudnn_shadowed": r"multiple|other installs|shadow",
    "cudnn_minor_too_old": r"older than|too old|incompatib",
    "ld_library_path_override": r"via ld_library_path|multiple directories|overrid",
    "install_path_characters": r"bracket|character",
    "cuda_path_env_wrong": r"(cuda_path|cuda_home).*(invalid|not exist|does not look)",
    "nvrtc_missing_or_mismatch": rf"nvrtc.*{_GONE}",
    "cuda_toolkit_version_mismatch": r"mismatch",
    "cuda_lib_shadowed": r"multiple directories|other installs",
    "cuda_runtime_missing": rf"lib(cudart|cublas).*{_GONE}",
    "cuda_not_on_search_path": r"not (on|in) .*path|run ldconfig",
    "libcuda_wrong_library": r"stub (library|driver)|is a stub|multiple|too short",
    "gpu_hidden_by_env": r"cuda_visible_devices(?!.*not detected)",
    "driver_too_old": r"too old|older|update .*driver|upgrade .*driver",
    "driver_library_mismatch": r"version mismatch",
    "driver_module_not_loaded": r"couldn't communicate|not loaded|kernel module|nouveau",
    "device_node_permission": r"permission",
    "container_no_gpu_runtime": r"--gpus|container toolkit",
    "gpu_arch_too_new": r"not (supported|compatible)|unsupported",
    "gpu_arch_too_old": r"not (supported|compatible)|unsupported",
    "nv_compute_cache_bad": r"computecache|cache",
}
"""What a new line has to say, at the least, to be counted as naming the cause: read generously."""


def named(cause: str, changed: Sequence[str]) -> bool:
    """Whether any new line names the cause."""
    return any(re.search(NAMED[cause], line[2:], re.IGNORECASE) for line in changed if line.startswith("+ "))


def markdown(said: Path) -> str:
    """Return the table: per fault and tool "same", "differs" or "names it"."""
    rows = [json.loads(line) for line in said.read_text().splitlines()]
    out = ["| fault | cause | " + " | ".join(TOOLS) + " |", "|---" * (len(TOOLS) + 2) + "|"]
    seen, told = dict.fromkeys(TOOLS, 0), dict.fromkeys(TOOLS, 0)
    for row in rows:
        cells = []
        for tool in TOOLS:
            changed = row["changed"][tool]
            names = named(row["cause"], changed)
            seen[tool] += bool(changed)
            told[tool] += names
            cells.append("**names it**" if names else "differs" if changed else "same")
        out.append(f"| {row['fault']} | {row['cause']} | " + " | ".join(cells) + " |")
    out.append(f"| output differs, of {len(rows)} | | " + " | ".join(str(n) for n in seen.values()) + " |")
    out.append(f"| cause named, of {len(rows)} | | " + " | ".join(str(n) for n in told.values()) + " |")
    return "\n".join(out) + "\n"


def wanted(lab: str, says: str | None, argv: Sequence[str] | None) -> argparse.Namespace:
    """Return what a lab's script is to do: ask the tools of an environment, or print what was kept of their answers."""
    parser = argparse.ArgumentParser(prog=f"python -m tests.{lab}.others", description=says)
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--tools", type=Path, metavar="VENV")
    task.add_argument("--table", type=Path, metavar="FILE")
    parser.add_argument("names", nargs="*", metavar="NAME")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Ask the tools and print every changed line as JSON, or print the table of what was kept."""
    options = wanted("faultlab", __doc__, argv)
    if options.table:
        print(markdown(options.table), end="")
        return 0
    rows = [r for r in table() if r.cause and (not options.names or any(fnmatch(r.name, n) for n in options.names))]
    known: dict[object, dict[str, Said]] = {}
    tools = options.tools.absolute()
    without_torch(tools)
    with ThreadPoolExecutor(max_workers=2) as pool:
        for row, changed in zip(rows, pool.map(lambda r: compare(r, tools, known), rows), strict=True):
            print(json.dumps({"fault": row.name, "cause": row.cause, "changed": changed}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
