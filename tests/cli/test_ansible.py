"""The playbook of the pages for administrators, run by ansible-core over its local and its ssh connection."""

from __future__ import annotations

import getpass
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.report.json_form import from_json
from core.report.triage.reading import read_all
from core.report.triage.table import tabulate_reports

ROOT = Path(__file__).parents[2]
SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
pytestmark = pytest.mark.skipif(os.name == "nt", reason="Ansible's own side does not run on Windows")


def playbook(folder: Path) -> Path:
    """Write the playbook as the page has it."""
    page = (ROOT / "docs" / "for-administrators.md").read_text(encoding="utf-8")
    found = re.search(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert found
    path = folder / "convalesce-scan.yml"
    path.write_text(found[1], encoding="utf-8")
    return path


def program(folder: Path) -> Path:
    """Write a program that stands for an installed convalesce, and scans quickly."""
    path = folder / "convalesce"
    path.write_text(f'#!/bin/sh\ncd "{ROOT}" && exec "{sys.executable}" -m core "$@" --only environment\n')
    path.chmod(0o755)
    return path


def play(folder: Path, inventory: str, *options: str) -> None:
    (folder / "hosts.ini").write_text(inventory)
    command = [sys.executable, "-m", "ansible", "playbook", "-i", str(folder / "hosts.ini"), *options]
    # no connection outlives the test
    known = {
        "ANSIBLE_SSH_ARGS": "-o ControlMaster=no",
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_HOME": str(folder / "ansible"),
        "ANSIBLE_LOCALHOST_WARNING": "0",
    }
    ended = subprocess.run(
        [*command, "-e", f"convalesce={program(folder)}", str(playbook(folder))],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        cwd=folder,
        env={**os.environ, **known, "HOME": str(folder), "LC_ALL": "C.UTF-8"},
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_over_the_local_connection(tmp_path: Path) -> None:
    python = f"ansible_python_interpreter={sys.executable}"
    play(tmp_path, f"one ansible_connection=local {python}\ntwo ansible_connection=local {python}\n")
    table = tabulate_reports(read_all(tmp_path / "reports"))
    assert [m.file for m in table.machines] == ["one.json", "two.json"]
    assert table.malformed == ()
    report = from_json((tmp_path / "reports" / "one.json").read_bytes())
    assert report.snapshot.environment is not None
    assert report.taken_out is not None
    assert (tmp_path / "reports" / "one.json").stat().st_mode & 0o077 == 0


@pytest.mark.skipif(not SSHD, reason="needs sshd (openssh-server)")
def test_over_ssh(tmp_path: Path) -> None:
    with server(tmp_path) as port:
        options = f"-i {tmp_path / 'key'} -o StrictHostKeyChecking=no -o UserKnownHostsFile={tmp_path / 'known'}"
        play(
            tmp_path,
            f"far ansible_host=127.0.0.1 ansible_port={port} ansible_user={getpass.getuser()} "
            f"ansible_python_interpreter={sys.executable} ansible_ssh_common_args='{options}'\n"
            f"localhost ansible_connection=local ansible_python_interpreter={sys.executable}\n",
            "--limit=far",
        )
    assert from_json((tmp_path / "reports" / "far.json").read_bytes()).version


@contextmanager
def server(folder: Path) -> Iterator[int]:
    """Run an ssh server of our own, for this machine and one key alone."""
    for name in ("key", "host"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    (folder / "authorized").write_bytes((folder / "key.pub").read_bytes())
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    lines = f"""Port {port}
ListenAddress 127.0.0.1
HostKey {folder / "host"}
AuthorizedKeysFile {folder / "authorized"}
PasswordAuthentication no
StrictModes no
UsePAM no
PidFile none
PermitRootLogin prohibit-password
"""
    (folder / "sshd_config").write_text(lines)
    if os.geteuid() == 0:
        # the separated process of a server that runs as root needs its folder
        Path("/run/sshd").mkdir(exist_ok=True)
    with subprocess.Popen(
        [str(SSHD), "-D", "-e", "-f", str(folder / "sshd_config")], stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        try:
            line = process.stderr.readline()
            assert b"listening" in line, line
            yield port
        finally:
            process.terminate()


def test_the_role_fails_on_a_sick_machine_alone(tmp_path: Path) -> None:
    """The role of docs/engines, over the local connection, on a healthy and on a sick recorded machine."""
    for name, failed in (("healthy", False), ("cnn-deleted", True)):
        stand_in = tmp_path / "convalesce"
        report = ROOT / f"tests/snapshots/h200/{name}.json"
        stand_in.write_text(f'#!/bin/sh\ncd "{ROOT}" && exec "{sys.executable}" -m core "$@" --report "{report}"\n')
        stand_in.chmod(0o755)
        book = tmp_path / "play.yml"
        role = ROOT / "docs" / "engines" / "ansible-role"
        book.write_text(
            f"- hosts: all\n  gather_facts: false\n  roles:\n    - role: {role}\n      convalesce: {stand_in}\n"
        )
        (tmp_path / "hosts.ini").write_text(
            f"one ansible_connection=local ansible_python_interpreter={sys.executable}\n"
        )
        ended = subprocess.run(
            [sys.executable, "-m", "ansible", "playbook", "-i", str(tmp_path / "hosts.ini"), str(book)],
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
            cwd=tmp_path,
            env={
                **os.environ,
                "ANSIBLE_NOCOLOR": "1",
                "ANSIBLE_HOME": str(tmp_path),
                "HOME": str(tmp_path),
                "LC_ALL": "C.UTF-8",
            },
        )
        assert (ended.returncode != 0) is failed, ended.stdout + ended.stderr
        assert ("libcudnn_cnn.so.9 is missing" in ended.stdout) is failed
