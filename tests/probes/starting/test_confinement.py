"""What a service's settings keep from its program; where root runs this, the kernel says whether an account may start it."""

from __future__ import annotations

import os
import pwd
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.host.ownership import ACCESS_LIST
from core.model.facts import Confinement, PythonEnvironment
from core.probes.starting.services.systemd import service_ways
from tests.probes.starting.shells import ground

UNIT = "/etc/systemd/system/serve.service"
OTHER = next(p.pw_name for p in pwd.getpwall() if p.pw_uid not in (0, os.geteuid()) and p.pw_name != "nobody")
"""An account of this machine that is neither root nor ours."""


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every account may enter, with an environment in it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        folder.chmod(0o755)
        python = folder / "env/bin/python"
        python.parent.mkdir(parents=True)
        shutil.copy("/bin/true", python)
        (folder / "env/pyvenv.cfg").write_text("home = /usr/bin\n")
        yield folder


def confined(place: Path, settings: str, unit: str = UNIT) -> tuple[Confinement, ...]:
    """Return what this service's settings keep from its program."""
    env = f"{place}/env"
    text = f"[Service]\n{settings}\nExecStart={env}/bin/python -m serve\n"
    pythons = (PythonEnvironment(prefix=env, kind="venv"),)
    (way,) = [w for w in service_ways(replace(ground(place, {unit: text}), pythons=pythons)) if w.at == unit]
    return way.confined


SETTINGS: dict[str, tuple[tuple[str, str], ...]] = {
    "": (),
    "PrivateTmp=yes\nNoNewPrivileges=yes\nProtectSystem=full\nLimitMEMLOCK=64K\nPrivateNetwork=no": (),
    "PrivateDevices=yes": (("devices", "/dev/nvidiactl"),),
    "PrivateDevices=no": (),
    "PrivateDevices=yes\nPrivateDevices=": (),
    "PrivateDevices=yes\nBindPaths=/dev/nvidiactl /dev/nvidia0 /dev/nvidia-uvm": (),
    "DevicePolicy=closed": (("devices", "/dev/nvidiactl"),),
    "DevicePolicy=strict\nDeviceAllow=/dev/nvidiactl rw\nDeviceAllow=/dev/nvidia0 rw": (
        ("devices", "/dev/nvidia-uvm"),
    ),
    "DevicePolicy=auto": (),
    "DeviceAllow=/dev/ttyUSB0 rw": (("devices", "/dev/nvidiactl"),),
    "DevicePolicy=closed\nDeviceAllow=char-nvidia* rw": (),
    "DeviceAllow=char-nvidiactl\nDeviceAllow=char-nvidia-caps\nDeviceAllow=char-nvidia-frontend\nDeviceAllow=char-nvidia-uvm": (),
    "DevicePolicy=closed\nDeviceAllow=char-*": (),
    "MemoryDenyWriteExecute=true": (("code", ""),),
    "MemoryDenyWriteExecute=false": (),
    "LimitAS=8G": (("memory", ""),),
    "LimitAS=4194304K:infinity": (("memory", ""),),
    "LimitAS=16G": (),
    "LimitAS=infinity": (),
    "LimitAS=" + "9" * 5000: (),
    "MemoryMax=4G\nLimitDATA=1G": (),
    "ProtectHome=read-only": (),
    "InaccessiblePaths=-{place}/env": (("place", "{place}/env"),),
    "TemporaryFileSystem={place}:ro": (("place", "{place}"),),
    "TemporaryFileSystem={place}\nBindReadOnlyPaths={place}/env": (),
    "InaccessiblePaths=/var/lib/secret": (),
    "User=" + OTHER: (),
    "User=nobody-of-this-name": (),
}


@pytest.mark.parametrize("settings", SETTINGS)
def test_what_a_setting_keeps_away(settings: str, place: Path):
    found = confined(place, settings.replace("{place}", str(place)))
    expected = [(kind, path.replace("{place}", str(place))) for kind, path in SETTINGS[settings]]
    assert [(c.kind, c.path) for c in found] == expected
    for one in found:
        assert one.file == UNIT
        assert one.line >= 2
        assert one.setting in settings.replace("{place}", str(place))


def test_the_bytes_that_a_limit_leaves(place: Path):
    assert [c.size for c in confined(place, "LimitAS=4194304K:infinity")] == [4 << 30]


def test_the_persons_own_services_keep_devices_and_account(place: Path):
    own = f"{place}/.config/systemd/user/serve.service"
    found = confined(place, "PrivateDevices=yes\nUser=nobody\nMemoryDenyWriteExecute=yes", own)
    assert [c.kind for c in found] == ["code"]


MODES: dict[str, tuple[str, int, bool]] = {
    "open to all": ("env", 0o755, True),
    "the owner's alone": ("env", 0o700, False),
    "a group's": ("env", 0o750, False),
    "may be entered and not listed": ("env", 0o711, True),
    "may be listed and not entered": ("env", 0o744, False),
    "closed below": ("env/bin", 0o700, False),
}


@pytest.mark.parametrize(("folder", "mode", "enters"), MODES.values(), ids=MODES)
def test_an_account_that_may_not_enter_a_folder(folder: str, mode: int, enters: bool, place: Path):
    (place / folder).chmod(mode)
    found = confined(place, f"User={OTHER}")
    assert [(c.kind, c.path) for c in found] == ([] if enters else [("user", f"{place}/{folder}")])
    if os.geteuid() == 0:  # who else may not become another account
        account = pwd.getpwnam(OTHER)
        command = [f"{place}/env/bin/python"]
        groups = os.getgrouplist(OTHER, account.pw_gid)
        try:
            subprocess.run(command, user=account.pw_uid, group=account.pw_gid, extra_groups=groups, check=True)
        except PermissionError:
            assert not enters
        else:
            assert enters


def test_a_link_into_a_folder_that_the_account_may_not_enter(place: Path):
    """An environment whose Python lies in another account's home, as uv and pyenv keep theirs."""
    home = place / "home/share"
    home.mkdir(parents=True)
    shutil.move(place / "env/bin/python", home / "python3.11")
    (place / "env/bin/python").symlink_to(home / "python3.11")
    assert confined(place, f"User={OTHER}") == ()
    (place / "home").chmod(0o700)
    (one,) = confined(place, f"User={OTHER}")
    assert (one.path, one.needed) == (f"{place}/home", f"{home}/python3.11")


def test_a_folder_with_an_access_list_counts_as_open(place: Path):
    (place / "env").chmod(0o700)
    entries = ((1, 7, ANYBODY), (2, 1, pwd.getpwnam(OTHER).pw_uid), (4, 0, ANYBODY), (16, 1, ANYBODY), (32, 0, ANYBODY))
    os.setxattr(place / "env", ACCESS_LIST, struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries))
    assert confined(place, f"User={OTHER}") == ()


ANYBODY = 0xFFFFFFFF
"""The number of an entry that concerns no single account (linux/posix_acl_xattr.h)."""
