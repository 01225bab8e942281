"""Files of variables as systemd reads them; its own generator, where it is installed, is the measure."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from core.host.startup.state import State
from core.host.startup.systemd_files import read_systemd_file

GENERATOR = Path("/usr/lib/systemd/user-environment-generators/30-systemd-environment-d-generator")

TEXTS = {
    "plain": "LD_LIBRARY_PATH=/opt/a\n",
    "exported": "export LD_LIBRARY_PATH=/opt/a\n",
    "blanks": "  LD_LIBRARY_PATH = /opt/a  \n",
    "a comment behind it": "LD_LIBRARY_PATH=/opt/a # mine\n",
    "a comment that goes on": "# one \\\nLD_LIBRARY_PATH=/no\nCUDA_HOME=/opt/c\n",
    "quotes": "LD_LIBRARY_PATH=\"/opt/a\":'/opt/b c'\nCUDA_HOME='/opt/c' \"d\"\n",
    "quotes inside": 'CUDA_HOME=/opt/a "b" c\n',
    "backslashes": 'CUDA_HOME=/opt\\ a\\tb\nLD_LIBRARY_PATH="/opt\\tb\\$"\n',
    "a continued line": "CUDA_HOME=/opt\\\n/a\nLD_LIBRARY_PATH=/opt/b\n",
    "two lines in quotes": 'CUDA_HOME="/opt\n/a"\nLD_LIBRARY_PATH=/opt/b\n',
    "another variable": "A=/opt/a\nLD_LIBRARY_PATH=${A}/lib:$A\nCUDA_HOME=${B:-/c}\n",
    "no name": "9A=1\nA.B=2\nLD_LIBRARY_PATH=/opt/a\n",
    "nothing": "LD_LIBRARY_PATH=\nCUDA_HOME\n=x\n",
    "written on Windows": "LD_LIBRARY_PATH=/opt/a\r\nCUDA_HOME='/opt/b'\r\n",
    "no end": "CUDA_HOME='/opt/b",
}


def unquoted(written: str) -> str:
    """Return a value as the generator writes it: in plain letters, or in double quotes with C's escapes."""
    inside = re.sub(r"\\([\"$`])", r"\1", written[1:-1] if written[:1] == '"' else written)
    return inside.encode().decode("unicode_escape")


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_file_is_read_as_systemd_reads_it(text: str, tmp_path: Path):
    folder = tmp_path / ".config/environment.d"
    folder.mkdir(parents=True)
    (folder / "a.conf").write_text(text, newline="")
    state = State({"HOME": str(tmp_path)}, {"HOME"})
    read_systemd_file(text, "a.conf", state, expands=True)
    read = {n: v for n, v in state.values.items() if n != "HOME"}
    if GENERATOR.exists():
        given = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
        done = subprocess.run([GENERATOR], env=given, capture_output=True, text=True, check=True, timeout=60)
        real = dict(row.partition("=")[::2] for row in done.stdout.splitlines())
        its = {n: unquoted(v) for n, v in real.items() if n in ("A", "LD_LIBRARY_PATH", "CUDA_HOME")}
        assert {n: v for n, v in read.items() if v} == its, "the generator leaves out what is empty"


def test_a_line_that_is_ignored_is_kept():
    state = State()
    read_systemd_file("# mine\nexport LD_LIBRARY_PATH=/opt/a\nexport NO NAME\n", "/srv/serve.env", state)
    assert not state.values
    assert [(r.name, r.value, r.file, r.line) for r in state.ignored] == [
        ("LD_LIBRARY_PATH", "/opt/a", "/srv/serve.env", 2)
    ]
