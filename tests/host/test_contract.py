"""What every Host promises, held by the fake and by the real one of the running system: the fake may not lie."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import msgspec
import pytest

from core.common.progress import Progress
from core.host.interface import CompletedProcess, Host
from core.host.this_host import this_host
from core.model.facts import Machine, PciDevice, Variable
from tests.host.fake import FakeHost

PRINT = [sys.executable, "-c", "print('hello')"]
FAIL = [sys.executable, "-c", "import sys; print('so', file=sys.stderr); sys.exit(3)"]
ECHO = [sys.executable, "-c", "import sys; sys.stdout.write(sys.stdin.read().upper())"]
INVALID = [sys.executable, "-c", "import os; os.write(1, b'a\\xff\\xfeb')"]
ENVIRONMENT = [sys.executable, "-c", "import os; print(os.environ.get('CONVALESCE_PROBE', 'absent'))"]
HANG = [sys.executable, "-c", "import threading; threading.Event().wait()"]
ABSENT = ["convalesce-no-such-program"]


def fake(root: Path) -> FakeHost:
    """A fake that was told what the real programs would answer."""
    names = {n: v for n, v in os.environ.items() if n.upper() in ("PATH", "SYSTEMROOT", "HOME", "USERPROFILE")}
    return FakeHost(
        root=root,
        facts=Machine(system="windows" if sys.platform == "win32" else "linux", user="someone", home="/home/someone"),
        environment={**names, "LANG": "C"},
        declared=(Variable(name="CUDA_PATH", value="/opt/cuda", scope="machine", source="etc/environment"),),
        pci=(PciDevice(address="0000:01:00.0", vendor_id="10de", device_id="2684", bound_driver="nvidia"),),
        runs={
            tuple(PRINT): CompletedProcess(status=0, out="hello\n"),
            tuple(FAIL): CompletedProcess(status=3, err="so\n", ended="ended with status 3"),
            tuple(ECHO): CompletedProcess(status=0, out="ÄB"),
            tuple(INVALID): CompletedProcess(status=0, out="a\ufffd\ufffdb"),
            tuple(ENVIRONMENT): CompletedProcess(status=0, out="given\n"),
            tuple(HANG): CompletedProcess(
                status=-9, ended="did not end within 0.2 seconds and was stopped", timed_out=True
            ),
        },
    )


@pytest.fixture(params=["fake", "real"])
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Host:
    """Each host in turn."""
    return fake(tmp_path) if request.param == "fake" else this_host()


def test_system_is_that_of_its_machine(host: Host) -> None:
    assert host.system == host.machine().system
    assert host.system == ("windows" if sys.platform == "win32" else "linux")


def test_machine_is_filled_in_and_serialisable(host: Host) -> None:
    machine = host.machine()
    assert machine.architecture in ("x86_64", "aarch64", "x86")
    assert machine.user
    assert machine.home
    assert msgspec.json.decode(msgspec.json.encode(machine), type=Machine) == machine


def test_root_is_a_folder(host: Host) -> None:
    assert host.root.is_dir()


def test_variables_have_names_scopes_and_sources(host: Host) -> None:
    variables = host.variables()
    assert "PATH" in {v.name.upper() for v in variables}
    assert all(v.name and v.source for v in variables)
    assert {v.scope for v in variables} <= {"process", "machine", "user"}
    assert msgspec.json.decode(msgspec.json.encode(variables), type=tuple[Variable, ...]) == variables


def test_fresh_environment_is_a_copy_that_may_be_changed(host: Host) -> None:
    first = host.fresh_environment()
    first["CONVALESCE_PROBE"] = "changed"
    second = host.fresh_environment()
    assert "CONVALESCE_PROBE" not in second
    assert second.keys() == first.keys() - {"CONVALESCE_PROBE"}
    assert "PATH" in {name.upper() for name in second}


def test_pci_devices_are_display_controllers_or_not_known(host: Host) -> None:
    devices = host.pci_devices()
    if devices is None:  # a container without /sys, or a registry without the branch
        assert host.machine().system in ("linux", "windows")
        return
    assert all(len(d.vendor_id) == 4 and d.vendor_id == d.vendor_id.lower() and d.address for d in devices)


def test_a_program_that_ends_well(host: Host) -> None:
    done = host.run(PRINT, timeout=60)
    assert (done.status, done.out.replace("\r\n", "\n"), done.err, done.ended) == (0, "hello\n", "", "")
    assert not done.timed_out


def test_a_program_that_fails(host: Host) -> None:
    done = host.run(FAIL, timeout=60)
    assert (done.status, done.err.strip(), done.ended) == (3, "so", "ended with status 3")


def test_input_reaches_the_program(host: Host) -> None:
    assert host.run(ECHO, timeout=60, env={**os.environ, "PYTHONUTF8": "1"}, input="äb".encode()).out == "ÄB"


def test_output_that_is_no_utf8_is_replaced(host: Host) -> None:
    assert host.run(INVALID, timeout=60).out == "a\ufffd\ufffdb"


def test_the_given_environment_is_what_the_program_gets(host: Host) -> None:
    done = host.run(ENVIRONMENT, timeout=60, env={**host.fresh_environment(), "CONVALESCE_PROBE": "given"})
    assert done.out.strip() == "given"


def test_a_program_that_is_not_there(host: Host) -> None:
    done = host.run(ABSENT, timeout=60)
    assert done.status is None
    assert done.ended.startswith("could not be started: ")
    assert not done.started
    assert (done.out, done.err, done.timed_out) == ("", "", False)


def test_a_program_that_hangs_is_stopped(host: Host) -> None:
    done = host.run(HANG, timeout=0.2)
    assert done.timed_out
    assert done.ended == "did not end within 0.2 seconds and was stopped"


def test_nothing_is_started_for_a_cancelled_watch(host: Host) -> None:
    watch = Progress()
    watch.cancel()
    done = host.run(PRINT, timeout=60, watch=watch)
    assert (done.status, done.out, done.ended) == (None, "", "was not started: the work was cancelled")


def test_hosts_may_be_used_from_several_threads(host: Host) -> None:
    answers: list[str] = []
    threads = [threading.Thread(target=lambda: answers.append(host.run(PRINT, timeout=60).out.strip())) for _ in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["hello"] * 3
