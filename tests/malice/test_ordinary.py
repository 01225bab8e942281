"""An ordinary person on an ordinary machine: what is hers is tried, and no word is said of who can change it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.malice.conftest import EVE, ROOT, Box, needs_root, shared_folder
from tests.malice.planted import RUN, VERA, library, owned, plant

pytestmark = needs_root

ACCOUNTS = (
    f"root:x:0:0::/root:/bin/sh\nvera:x:{VERA}:{VERA}::/home/vera:/bin/sh\neve:x:{EVE}:{EVE}::/home/eve:/bin/sh\n"
)
GROUPS = f"root:x:0:\nvera:x:{VERA}:\neve:x:{EVE}:\nalone:x:60001:vera\nboth:x:60002:vera,eve\n"
"""Each account has a group of its own, as Debian, Ubuntu and Fedora make them; "alone" has one member, "both" has two."""
INSIDE = (
    'mount --bind "$1" /etc/passwd && mount --bind "$2" /etc/group || exit 9; '
    '[ -z "$3" ] || mount --bind "$3" "$4" || exit 9; shift 4; '
    f'exec setpriv --reuid={VERA} --regid={VERA} --init-groups env -i "$@"'
)


def own_group(box: Box, home: Path) -> Path:
    """umask 002 and a group of her own: everything has mode 0775 or 0664."""
    its = plant(home / "project/.venv", library(str(box.root / "marks")))
    owned(home, VERA, 0o775)
    its.chmod(0o664)
    return home


def closed_home(box: Box, home: Path) -> Path:
    plant(home / "project/.venv", library(str(box.root / "marks")))
    return owned(home, VERA, 0o700)


def group_of_one(box: Box, home: Path) -> Path:
    """A project's group, of which she is the only member."""
    its = plant(home / "project/.venv", library(str(box.root / "marks")))
    owned(home, VERA, 0o755)
    for path in (its, *its.parents):
        if path.is_relative_to(home / "project"):
            os.chown(path, VERA, 60_001)
            path.chmod(0o2775 if path.is_dir() else 0o664)
    return home


def scratch(box: Box, home: Path) -> Path:
    """A folder of her own on a disk that all share, with the sticky bit."""
    place = shared_folder(box.root / "scratch")
    plant(place / "vera/.venv", library(str(box.root / "marks")))
    owned(place / "vera", VERA, 0o755)
    return place / "vera"


def by_a_link(box: Box, home: Path) -> Path:
    """Her home is the administrator's link to shared storage."""
    plant(box.root / "gpfs/homes/vera/.venv", library(str(box.root / "marks")))
    for folder in ("gpfs", "gpfs/homes"):
        (box.root / folder).chmod(0o755)
    owned(box.root / "gpfs/homes/vera", VERA, 0o700)
    (box.root / "home/linked").symlink_to(box.root / "gpfs/homes/vera")
    return box.root / "home/linked"


def mounted(box: Box, home: Path) -> Path:
    """Her home is another file system, as with shared storage."""
    return closed_home(box, home)


def the_administrators(box: Box, home: Path) -> Path:
    plant(box.root / "opt/envs/team", library(str(box.root / "marks")))
    owned(box.root / "opt", 0, 0o755)
    return box.root / "opt/envs"


MACHINES: tuple[Callable[[Box, Path], Path], ...] = (
    *(own_group, closed_home, group_of_one, scratch, by_a_link, mounted, the_administrators),
)
"""Each makes an environment that nobody named, and returns the folder that is searched."""


def looked(
    box: Box, home: Path, starts: Path, other: Path | None = None, **variables: str
) -> tuple[dict[str, int], str]:
    """Scan as Vera with accounts of the test's own; return who left a mark, and the report."""
    (box.root / "passwd").write_text(ACCOUNTS)
    (box.root / "group").write_text(GROUPS)
    words = [str(box.root / "passwd"), str(box.root / "group"), str(other or ""), str(home)]
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home), **variables}
    done = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", INSIDE, "sh", *words,
         *(f"{n}={v}" for n, v in env.items()), sys.executable, "-c", RUN, str(ROOT), str(starts), "scan", "--json"],
        cwd="/", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout, done.stderr
    return {p.name: p.stat().st_uid for p in (box.root / "marks").iterdir()}, done.stdout


@pytest.fixture
def home(box: Box) -> Path:
    shared_folder(box.root / "marks")
    place = box.root / "home/vera"
    place.mkdir()
    return owned(place, VERA, 0o700)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.__name__)
def test_an_ordinary_machine_has_nothing_that_is_not_tried(
    box: Box, home: Path, machine: Callable[[Box, Path], Path]
) -> None:
    other = None
    if machine is mounted:
        other = box.root / "store"
        other.mkdir()
        machine(box, other)
        starts = home
    else:
        starts = machine(box, home)
    marks, said = looked(box, home, starts, other)
    assert marks == {"ran": VERA}
    ids = [f["id"] for f in json.loads(said)["findings"]]
    assert [i for i in ids if i.endswith((".not-trusted", ".changeable"))] == []
    assert "not tested" not in said


@pytest.mark.parametrize("named", [False, True], ids=["found", "active"])
def test_a_group_with_another_member_makes_the_difference(box: Box, home: Path, named: bool) -> None:
    """The same project in a group with Eve: read if it was only found, tried with a note if it is active."""
    group_of_one(box, home)
    for path in (home / "project", *(home / "project").rglob("*")):
        os.chown(path, VERA, 60_002, follow_symlinks=False)
    active = {"VIRTUAL_ENV": str(home / "project/.venv")} if named else {}
    marks, said = looked(box, home, home, **active)
    assert marks == ({"ran": VERA} if named else {})
    ids = [f["id"] for f in json.loads(said)["findings"]]
    assert ("cudnn.changeable" if named else "cudnn.not-trusted") in ids
