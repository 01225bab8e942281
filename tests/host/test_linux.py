"""LinuxHost on machines that lack what every machine has."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("the Linux host needs Linux", allow_module_level=True)

import pwd

from core.host.linux.host import LinuxHost
from core.model.facts import Variable
from tests.host.test_linux_files import put

BASIC = {b"PATH": b"/usr/bin:/bin", b"LANG": b"C.UTF-8"}


@pytest.fixture
def no_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user number that no account belongs to, as containers have it."""

    def unknown(number: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {number}")

    monkeypatch.setattr(pwd, "getpwuid", unknown)


def test_a_bare_root_gives_a_machine(tmp_path: Path) -> None:
    machine = LinuxHost(tmp_path, BASIC).machine()
    assert (machine.release, machine.wsl, machine.container) == ("", False, None)
    assert machine.kernel == os.uname().release
    assert machine.elevated is (os.geteuid() == 0)


@pytest.mark.usefixtures("no_account")
def test_no_account_and_no_home(tmp_path: Path) -> None:
    host = LinuxHost(tmp_path, {})
    assert (host.machine().user, host.machine().home) == (str(os.geteuid()), "")
    assert host.variables() == ()


def test_home_comes_from_the_account_when_there_is_no_variable(tmp_path: Path) -> None:
    assert LinuxHost(tmp_path, {}).machine().home == pwd.getpwuid(os.geteuid()).pw_dir


def test_bytes_that_are_no_text_stay_exact_for_children_and_printable_for_people(tmp_path: Path) -> None:
    host = LinuxHost(tmp_path, {**BASIC, b"N\xff": b"\xfe/x", b"HOME": b"/home/\xe9"})
    assert Variable(name="N\\xff", value="\\xfe/x", source="environment") in host.variables()
    assert host.machine().home == "/home/\\xe9"
    done = host.run(["/usr/bin/env", "-0"], timeout=60)
    assert "N\ufffd=\ufffd/x" in done.out.split("\0")
    assert {os.fsencode(n): os.fsencode(v) for n, v in host.fresh_environment().items()}[b"N\xff"] == b"\xfe/x"


def test_variables_of_every_file(tmp_path: Path) -> None:
    put(tmp_path, "etc/environment", "CUDA_HOME=/machine\n")
    put(tmp_path, "home/zoe/.config/environment.d/20-b.conf", "CUDA_HOME=/second\n")
    put(tmp_path, "home/zoe/.config/environment.d/10-a.conf", "CUDA_HOME=/first\n")
    put(tmp_path, "home/zoe/.config/environment.d/notes.txt", "CUDA_HOME=/no\n")
    put(tmp_path, "home/zoe/.pam_environment", "CUDA_HOME DEFAULT=/pam\n")
    found = LinuxHost(tmp_path, {**BASIC, b"HOME": b"/home/zoe"}).variables()
    homes = [(v.scope, v.value) for v in found if v.name == "CUDA_HOME"]
    assert homes == [("machine", "/machine"), ("user", "/pam"), ("user", "/first"), ("user", "/second")]


def login(home: Path, profile: str, shell: bytes = b"/bin/sh") -> LinuxHost:
    put(home, ".profile", profile)
    return LinuxHost(environ={**BASIC, b"HOME": os.fsencode(home), b"SHELL": shell, b"LEFT": b"over"})


def test_a_log_in_gives_what_the_start_up_files_say(tmp_path: Path) -> None:
    host = login(tmp_path, "echo chatter\nexport CUDA_HOME='/opt/a\nb'\nexport PATH=/opt/bin:$PATH\n")
    found = host.login_environment(60) or {}
    assert found["CUDA_HOME"] == "/opt/a\nb"
    assert found["PATH"].startswith("/opt/bin:")
    assert "LEFT" not in found


@pytest.mark.parametrize("shell", [b"/bin/false", b"/bin/no-such-shell", b"relative"])
def test_a_shell_that_says_nothing(tmp_path: Path, shell: bytes) -> None:
    assert login(tmp_path, "", shell).login_environment(60) is None


def test_a_start_up_file_that_hangs(tmp_path: Path) -> None:
    assert login(tmp_path, "while :; do :; done\n").login_environment(0.3) is None
