"""Environments that Eve plants: a cuDNN whose constructor does what she likes, and a scan that finds it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.malice.conftest import ROOT

VERA = 54_322
"""Another ordinary account: she runs the scan."""
NAME = "libcudnn.so.9"
MARKS = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <unistd.h>
static void mark(const char *what) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", MARK, what);
  int made = open(path, O_CREAT | O_WRONLY, 0644);
  if (made >= 0) close(made);
}
__attribute__((constructor)) static void evil(void) { mark("ran"); DEED }
size_t cudnnGetVersion(void) { return 90100; }
size_t cudnnGetCudartVersion(void) { return 12000; }
"""
RUN = """
import sys
sys.path.insert(0, sys.argv[1])
from core.probes.python import locations
locations.WALK_STARTS = {"linux": tuple(sys.argv[2].split(":"))}
from core.cli.main import main
sys.exit(main(sys.argv[3:]))
"""


@cache
def library(mark: str, deed: str = "") -> bytes:
    """Return a cuDNN that leaves a file in ``mark`` when it is loaded, and then does its deed, in C."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        source, out = Path(folder, "evil.c"), Path(folder, NAME)
        source.write_text(f'#define MARK "{mark}"\n#define DEED {deed}\n{MARKS}')
        subprocess.run(
            ["gcc", "-shared", "-fPIC", "-Wl,-soname,libcudnn.so.9", "-o", out, source], check=True, capture_output=True
        )
        return out.read_bytes()


def plant(prefix: Path, content: bytes) -> Path:
    """Make a virtual environment with a wheel of cuDNN; return the library."""
    site = prefix / "lib/python3.12/site-packages"
    info, lib = site / "nvidia_cudnn_cu12-9.1.0.70.dist-info", site / "nvidia/cudnn/lib"
    for folder in (prefix / "bin", info, lib):
        folder.mkdir(parents=True)
    (prefix / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.12.1\n")
    (prefix / "bin/python").symlink_to(Path(sys.executable).resolve())
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nvidia-cudnn-cu12\nVersion: 9.1.0.70\n")
    (lib / NAME).write_bytes(content)
    return lib / NAME


def owned(folder: Path, uid: int, mode: int = 0o755) -> Path:
    """Give a folder and all in it to an account."""
    for path in (folder, *folder.rglob("*")):
        os.chown(path, uid, uid, follow_symlinks=False)
        if path.is_dir() and not path.is_symlink():
            path.chmod(mode)
    return folder


@dataclass(frozen=True)
class Seen:
    """What a scan said, and what happened meanwhile."""

    report: dict[str, Any]
    marks: dict[str, int]
    """Name of each mark -> whose it is."""
    errors: str

    def findings(self, name: str) -> list[dict[str, Any]]:
        return [f for f in self.report["findings"] if f["id"] == name]

    @property
    def executions(self) -> list[dict[str, Any]]:
        found = self.report["snapshot"].get("executions", [])
        return [e for e in found if e["what"] != "driver"]


def scan(
    uid: int, marks: Path, home: Path, *arguments: str, starts: str = "", cwd: str = "/", **variables: str
) -> Seen:
    """Scan as an account, with the walk for projects below ``starts`` alone."""
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home), **variables}
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(ROOT), starts or str(home), "scan", "--json", "--full-names", *arguments],
        user=uid, group=uid, extra_groups=[], cwd=cwd, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout, done.stderr
    there = {p.name: p.stat().st_uid for p in marks.iterdir()}
    return Seen(json.loads(done.stdout), there, done.stderr)
