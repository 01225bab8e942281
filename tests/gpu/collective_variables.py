"""What two GPUs of PyTorch do through NCCL under a value of a variable: ``python -m tests.gpu.collective_variables OUT --python PYTHON``.

Each value is a pair of processes that sum a tensor, with ``tests.faultlab.two_gpus``' oracle. One that fails under a value, and not
without it, shows that the value matters. OUT gets all that was said, as JSON; the table, the last line of each error.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.faultlab.two_gpus import NCCL_ORACLE

AT_ONCE = 8
SECONDS = 60

VALUES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("NCCL_ALGO", ("Ring", "RING", "Tree", "Ring,Tree", "ring, tree", "Ring,", "^NVLS", "NVLS", "PAT", "CollnetDirect", "collnet",
                   "allreduce:ring", "allreduce:ring;broadcast:ring", "allreduce=ring", "auto", "", "1", "Ring ")),
    ("NCCL_PROTO", ("LL", "ll128", "Simple", "^LL128", "LL,Simple", "LL, Simple", "allreduce:LL", "simple ", "LL64", "", "0")),
    ("NCCL_NET", ("Socket", "socket", "SOCKET", "IB", "ib", "AWS Libfabric", "none", "")),
    ("NCCL_NET_PLUGIN", ("none", "/gone.so")),
    ("NCCL_SOCKET_IFNAME", ("lo", "^lo", "=lo", "l", "^docker", "lo,eth", "Lo")),
    ("NCCL_SOCKET_FAMILY", ("AF_INET", "AF_INET6", "AF_INET7", "4")),
    ("NCCL_P2P_DISABLE", ("yes", "2")),
    ("NCCL_P2P_LEVEL", ("NVL", "nvl", "ABC", "9")),
    ("NCCL_SHM_DISABLE", ("1",)),
    ("NCCL_IB_HCA", ("mlx9",)),
    ("NCCL_BUFFSIZE", ("0", "1", "abc", "1e6", "4MB")),
    ("NCCL_NTHREADS", ("1", "64", "100", "4096")),
    ("NCCL_MAX_NCHANNELS", ("0", "abc", "-1")),
    ("NCCL_MIN_NCHANNELS", ("999",)),
    ("NCCL_MAX_CTAS", ("0", "999")),
    ("NCCL_LAUNCH_MODE", ("GROUP", "PARALLEL", "ABC")),
    ("NCCL_TUNER_PLUGIN", ("gone",)),
    ("NCCL_PROFILER_PLUGIN", ("gone",)),
    ("NCCL_CUMEM_ENABLE", ("0", "abc")),
    ("NCCL_NVLS_ENABLE", ("1", "2", "abc")),
    ("NCCL_GRAPH_FILE", ("/gone.xml",)),
    ("NCCL_GRAPH_DUMP_FILE", ("/none/x",)),
    ("NCCL_TOPO_DUMP_FILE", ("/none/x",)),
    ("NCCL_COMM_ID", ("abc:99999", "localhost:45009")),
    ("NCCL_DEBUG", ("info", "ABC")),
    ("NCCL_DEBUG_SUBSYS", ("ABC",)),
    ("NCCL_DEBUG_FILE", ("/none/x",)),
    ("NCCL_CONF_FILE", ("/gone",)),
    ("NCCL_CROSS_NIC", ("9",)),
    ("NCCL_SHM_USE_CUDA_MEMCPY", ("1",)),
    ("NCCL_OOB_NET_ENABLE", ("1",)),
    ("NCCL_WORK_FIFO_BYTES", ("1", "1000")),
    ("NCCL_HOSTID", ("a",)),
    ("NCCL_IGNORE_DISABLED_P2P", ("2",)),
    ("TORCH_DISTRIBUTED_DEBUG", ("ABC", "DETAIL", "info", "0")),
    ("TORCH_NCCL_USE_COMM_NONBLOCKING", ("1",)),
    ("TORCH_NCCL_HIGH_PRIORITY", ("abc",)),
    ("TORCH_NCCL_CUDA_EVENT_CACHE", ("abc",)),
    ("TORCH_CPP_LOG_LEVEL", ("ABC",)),
    ("TP_SOCKET_IFNAME", ("eth9",)),
    ("GLOO_SOCKET_IFNAME", ("eth9",)),
    ("CUDA_DEVICE_MAX_CONNECTIONS", ("0", "64", "abc")),
    ("CUDA_VISIBLE_DEVICES", ("0", "1,0")),
    ("CUDA_MODULE_LOADING", ("ABC", "EAGER")),
)  # fmt: skip


def ask(python: str, folder: Path, name: str, value: str) -> dict[str, object]:
    """Sum in two processes under one variable, and return what came of it."""
    env = dict(os.environ) | ({name: value} if name else {})
    try:
        done = subprocess.run(
            [python, str(folder / "oracle.py")], env=env, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        last = [line for line in done.stdout.splitlines() if line.startswith("{")]
        said = json.loads(last[-1]) if last else {"ptx": "ended", "problem": done.stderr[-400:]}
    except subprocess.TimeoutExpired:
        said = {"ptx": "ended", "problem": f"did not end in {SECONDS} s"}
    return {"variable": name, "value": value, **said}


def main(argv: list[str]) -> int:
    """Ask every value and print which fail."""
    parser = argparse.ArgumentParser(prog="python -m tests.gpu.collective_variables")
    parser.add_argument("out", type=Path)
    parser.add_argument("--python", default=sys.executable)
    chosen = parser.parse_args(argv)
    pairs = [("", ""), *((name, value) for name, values in VALUES for value in values), ("", "")]
    with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(AT_ONCE) as pool:
        Path(work, "oracle.py").write_text(NCCL_ORACLE)
        rows = list(pool.map(lambda pair: ask(chosen.python, Path(work), *pair), pairs))
    Path(chosen.out, "nccl.json").write_text(json.dumps(rows, indent=1))
    for row in rows:
        if row.get("ptx") != "sum" or not row["variable"]:
            problem = " ".join(str(row.get("problem", "")).split())[-150:]
            print(f"{row['variable']}={row['value']!r:<24} {row.get('ptx')} {problem}")
    print(f"{len(rows)} values, {sum(r.get('ptx') != 'sum' for r in rows)} fail")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
