"""A bare Debian 12 of one's own: debootstrap's smallest system, fresh for each story, and a display to draw on."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.faultlab.wheels import cache

SUITE = "bookworm"
LENT = ("etc/resolv.conf", "etc/ssl/certs/ca-certificates.crt")
"""Files of this machine that a root needs for apt to reach what this machine's apt reaches."""
PASSING = ("proc", "sys", "dev", "run", "tmp", "var/lib/dpkg", "var/lib/apt", "var/cache", "var/log", "etc/ld.so.cache")
"""What a package manager keeps books in; no part of a comparison."""
LONGEST_END_SECONDS = 60


class NoRootError(Exception):
    """A root cannot be made here."""


def base() -> Path:
    """Return the folder with the bare system, made by debootstrap first where need be. Never alter it.

    Raises:
        NoRootError: debootstrap failed, or may not be run.
    """
    if os.geteuid() != 0:
        raise NoRootError("Only root can make a system of its own (debootstrap, mount, chroot).")
    folder = cache() / f"root-{SUITE}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        making = Path(tempfile.mkdtemp(prefix="root-", dir=folder.parent))
        making.chmod(0o755)
        done = subprocess.run(
            ["debootstrap", "--variant=minbase", "--include=ca-certificates", SUITE, making, *_mirror()],
            stdout=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode:
            shutil.rmtree(making)
            raise NoRootError(f"debootstrap ended with status {done.returncode}.")
        making.rename(folder)
    return folder


def _mirror() -> list[str]:
    """Return where this machine's apt gets Debian 12 from; nothing where it is another system: debootstrap knows one."""
    query = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", f"Codename: {SUITE}"]
    found = subprocess.run(query, capture_output=True, text=True, check=False).stdout.split()
    return found[:1]


class Root:
    """A running system: a fresh copy of the bare one, with /proc and /dev."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def run(self, *command: str | Path, user: str = "ada", **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command as ada, with a plain log-in's variables and those given, in processes of its own."""
        home = "/root" if user == "root" else f"/home/{user}"
        given = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": home, "LC_ALL": "C.UTF-8", **variables}
        argv = ["unshare", "--mount", "--pid", "--fork", "--kill-child", f"--mount-proc={self.path}/proc"]
        argv += ["chroot", f"--userspec={user}:{user}", self.path, "/usr/bin/env", "-i"]
        argv += [f"{name}={value}" for name, value in given.items()]
        return subprocess.run(
            [*map(str, argv), *map(str, command)], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
        )

    def done(self, *command: str | Path, user: str = "root", **variables: str) -> str:
        """Run a command that must succeed; return what it wrote.

        Raises:
            AssertionError: it failed.
        """
        done = self.run(*command, user=user, **variables)
        assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        return done.stdout

    def wait_for_programs(self) -> None:
        """Wait until every program that runs in this system has ended: one whose display goes writes its settings first."""
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it ended meanwhile
                if (place / "root").readlink() == self.path:
                    select.select([os.pidfd_open(int(place.name))], [], [], LONGEST_END_SECONDS)

    def tree(self) -> dict[str, tuple[int, int, int]]:
        """Every file with its mode, size and time; what passes and what a package manager keeps books in left out."""
        found = {}
        for folder, folders, files in os.walk(self.path):
            here = Path(folder).relative_to(self.path)
            folders[:] = [name for name in folders if str(here / name) not in PASSING]
            for name in (*folders, *files):
                if str(here / name) not in PASSING:
                    state = (Path(folder) / name).lstat()
                    ours = not (Path(folder) / name).is_dir() or (Path(folder) / name).is_symlink()
                    found[f"/{here / name}".replace("/./", "/")] = (state.st_mode, state.st_size * ours, 0)
        return found


@contextmanager
def fresh() -> Iterator[Root]:
    """Yield a system that nothing was done to; what is done to it goes with it."""
    with tempfile.TemporaryDirectory(prefix="convalesce-root-") as name:
        place = Path(name)
        for part in ("upper", "work", "root"):
            (place / part).mkdir(mode=0o755)
        place.chmod(0o755)
        root = place / "root"
        layers = f"lowerdir={base()},upperdir={place / 'upper'},workdir={place / 'work'}"
        mounted = subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, root], check=False).returncode == 0
        if not mounted:  # a kernel without overlays, or an overlay on an overlay
            root.rmdir()
            subprocess.run(["cp", "-a", base(), root], check=True)
        try:
            _settle(root)
            yield Root(root)
        finally:
            if mounted:
                subprocess.run(["umount", "--lazy", root], check=True)


def _settle(root: Path) -> None:
    """Give the system a user, and this machine's way to its mirrors."""
    for name in LENT:
        if Path("/", name).exists():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).unlink(missing_ok=True)
            shutil.copy(Path("/", name), root / name)
    for folder in ("etc/apt/apt.conf.d",):
        for file in Path("/", folder).glob("*"):
            if "proxy" in file.read_text(encoding="utf-8", errors="replace").lower():
                shutil.copy(file, root / folder / file.name)
    with (root / "etc/passwd").open("a") as users, (root / "etc/group").open("a") as groups:
        users.write("ada:x:1000:1000::/home/ada:/bin/bash\n")
        groups.write("ada:x:1000:\n")
    (root / "home/ada").mkdir(mode=0o755)
    os.chown(root / "home/ada", 1000, 1000)
