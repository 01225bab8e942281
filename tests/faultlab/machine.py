"""A machine of one's own for one command: a private mount namespace in which the fault lab's files lie in real places.

The real loader reads /etc/ld.so.cache, /usr/local and /usr/lib; a fault about them can only be planted there. So the
command runs in a mount namespace that nobody else sees: /home, /opt, /tmp and /dev are empty but for what the lab
grafts in, /usr/local and the library folder are shown without anything of NVIDIA's, and /etc/ld.so.cache is built
by the real ldconfig from the lab's own /etc/ld.so.conf. Nothing outside is changed; the kernel removes it all when
the command ends. As root it needs CAP_SYS_ADMIN, and the command then runs as nobody, to whom an unreadable file is
unreadable; for any other user it needs unprivileged user namespaces.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

NO_MACHINE = 97
"""Exit status: this system lets us have no mount namespace."""
NOBODY = 65534

_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000
_MS_NOSUID, _MS_BIND, _MS_REC, _MS_PRIVATE, _MNT_DETACH = 2, 4096, 16384, 1 << 18, 2

_EMPTIED = (
    "/home",
    "/opt",
    "/tmp",
    "/root",
    "/run",
    "/mnt",
    "/media",
    "/srv",
    "/proc/driver",
    "/sys/bus/pci",
    "/sys/module",
)
_CLEANSED = ("/usr/local", "/usr/lib/x86_64-linux-gnu", "/usr/lib64")
_NVIDIAN = ("cuda*", "nvidia*", "libcuda*", "libnv*", "libcudnn*", "libcublas*", "libcupti*", "TensorRT*", "cudnn*")
_MARKS = (".dockerenv", "lost+found")
"""What is left out of the root: a container's mark would be a fact about the lab, not about the machine."""
_NODES = ("null", "zero", "full", "random", "urandom", "tty")
_CLOSED = ("kmsg", "console", "tty0", "mem", "port")
_OPENED = (*_EMPTIED, *_CLEANSED, "/dev", "/etc", "/usr", "/usr/lib", "/proc", "/sys", "/sys/bus")
"""Folders into which the lab's files go one by one; any other folder of the lab's covers the machine's."""

_libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: object) -> None:
    if getattr(_libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}{arguments}: {os.strerror(number)}")


def _mount(source: str, target: Path | str, kind: bytes | None, flags: int, options: bytes | None = None) -> None:
    _call("mount", os.fsencode(source), os.fsencode(target), kind, ctypes.c_ulong(flags), options)


def _bind(source: Path | str, target: Path | str) -> None:
    _mount(str(source), target, None, _MS_BIND | _MS_REC)


def _empty(folder: Path | str) -> None:
    _mount("tmpfs", folder, b"tmpfs", _MS_NOSUID, b"mode=755")


def _new_root() -> None:
    """Change to a root that has everything of the old one but the marks of a container."""
    root = Path("/mnt")
    entries = {e: e.readlink() if e.is_symlink() else None for e in sorted(Path("/").iterdir())}
    _empty(root)
    for entry, goal in entries.items():
        if goal is not None:
            (root / entry.name).symlink_to(goal)
        elif entry.name == root.name:
            (root / entry.name).mkdir()
        elif entry.name not in _MARKS:
            _place(entry, root / entry.name)
    os.chroot(root)
    os.chdir("/")


def _unshare() -> None:
    uid, gid = os.getuid(), os.getgid()
    if uid == 0:
        _call("unshare", _CLONE_NEWNS)
    else:
        _call("unshare", _CLONE_NEWNS | _CLONE_NEWUSER)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)


def _held(path: Path) -> str:
    """Hold a file or folder open, so that it can be shown again after it was covered; return its name for that."""
    return f"/proc/self/fd/{os.open(path, os.O_PATH)}"


def _real_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _place(source: Path | str, target: Path) -> None:
    """Bind ``source`` at ``target``, which is made first where it is not there."""
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        if Path(source).is_dir():
            target.mkdir()
        else:
            target.touch()
    _bind(source, target)


def _cleanse(folder: Path, tree: Path) -> None:
    """Show a folder of the system without what NVIDIA's packages put there, and so that what the lab adds is added here alone."""
    entries = sorted(folder.iterdir())
    kept = [e for e in entries if not any(fnmatch(e.name, pattern) for pattern in _NVIDIAN)]
    ours = folder == Path("/usr/local") or (tree / folder.relative_to("/")).exists()
    if kept == entries and not ours:
        return
    links = {e: e.readlink() for e in kept if e.is_symlink()}
    rest = {e: _held(e) for e in kept if e not in links}
    _empty(folder)
    for path, goal in links.items():
        path.symlink_to(goal)
    for path, held in rest.items():
        _place(held, path)


def _devices() -> str:
    """Put a bare /dev in place; return the name of a device of the machine that only root may open."""
    nodes = {path: _held(path) for name in _NODES if (path := Path("/dev", name)).exists()}
    closed = (p for name in _CLOSED if (p := Path("/dev", name)).is_char_device() and not p.stat().st_mode & 0o007)
    closed_node = _held(next(closed, Path("/dev/null")))
    _empty("/dev")
    for path, held in nodes.items():
        _place(held, path)
    Path("/dev/shm").mkdir()
    for name, goal in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        Path("/dev", name).symlink_to(f"/proc/self/fd{goal}")
    return closed_node


def _graft(source: Path, target: Path, closed_node: str) -> None:
    """Lay the lab's tree over the machine: links are remade, files and folders are bound.

    A file of /dev stands for a device that this user can open, or that he can not (``closed_node``).
    """
    for entry in sorted(source.iterdir()):
        goal = target / entry.name
        if entry.is_symlink():
            goal.symlink_to(entry.readlink())
        elif str(goal) in _OPENED:
            _graft(entry, goal, closed_node)
        elif target == Path("/dev"):
            _place("/dev/null" if entry.stat().st_mode & 0o004 else closed_node, goal)
        elif target != Path("/proc") or goal.exists():  # a kernel built without modules has no /proc/modules
            _place(entry, goal)


def _closed_above(path: Path) -> set[Path]:
    """Return the topmost folder above ``path`` that another user may not enter, if there is one."""
    above = (p for p in reversed(path.parents) if not p.stat().st_mode & 0o001)
    return set(list(above)[:1])


def set_up(tree: Path, keep: Sequence[Path], gone_after_cache: Sequence[str]) -> None:
    """Inside a mount namespace of our own: lay ``tree`` over the machine; ``keep`` stays at its own paths."""
    _new_root()
    closed = {folder for path in keep for folder in _closed_above(path)}
    held = {path: _held(path) for path in sorted(keep)}
    held_tree = _held(tree)
    os.umask(0o022)
    for folder in sorted({*map(Path, _EMPTIED), *closed}):
        if _real_folder(folder):
            _empty(folder)
    for folder in map(Path, _CLEANSED):
        if _real_folder(folder):
            _cleanse(folder, Path(held_tree))
    for path, source in held.items():
        if not path.exists():
            _place(source, path)
    closed_node = _devices()
    lab = Path("/mnt/lab")
    _place(held_tree, lab)
    _graft(lab, Path("/"), closed_node)
    _loader_cache()
    for gone in map(Path, gone_after_cache):
        if gone.is_mount():
            _call("umount2", os.fsencode(gone), _MNT_DETACH)
        gone.rmdir() if gone.is_dir() else gone.unlink()
    _call("umount2", os.fsencode(lab), _MNT_DETACH)
    lab.rmdir()
    Path("/tmp").chmod(0o1777)


_RULE = """polkit.addRule(function(action, subject) {
    if (action.id == "org.freedesktop.policykit.exec" && subject.user == "nobody") { return polkit.Result.YES; }
});
"""
"""What stands for the password: polkit lets this user's pkexec start a program as root, on this machine alone."""


def _with_polkit(command: list[str], environment: dict[str, str]) -> int:
    """Run a command as nobody beside a bus of this machine's own, which starts polkitd when pkexec asks for it.

    Both end with the command; what the machine keeps about itself lies in an empty /var/lib.
    """
    _empty("/var/lib")
    _empty("/etc/polkit-1/rules.d")
    Path("/etc/polkit-1/rules.d/00-lab.rules").write_text(_RULE)
    Path("/run/dbus").mkdir()
    start = ["dbus-daemon", "--system", "--fork", "--nopidfile", "--print-pid"]
    bus = subprocess.run(start, check=True, capture_output=True, stdin=subprocess.DEVNULL).stdout
    try:
        return subprocess.run(
            command, check=False, user=NOBODY, group=NOBODY, extra_groups=[], env=environment
        ).returncode
    finally:
        os.kill(int(bus), signal.SIGTERM)


def _loader_cache() -> None:
    """Run the real ldconfig over the machine as it now is, and put its answer where the loader looks."""
    if (aside := Path("/var/cache/ldconfig")).is_dir():
        _empty(aside)
    built = Path("/tmp/ld.so.cache")
    subprocess.run(["/sbin/ldconfig", "-X", "-C", built], check=True, stdin=subprocess.DEVNULL)
    _bind(built, "/etc/ld.so.cache")
    built.unlink()


def main() -> int:
    """Read a specification from the file named on the command line, set the machine up, become the command.

    Without a file, only try whether this system allows it.
    """
    try:
        _unshare()
    except OSError as e:
        print(f"This system allows no private machine: {e}", file=sys.stderr)
        return NO_MACHINE
    if len(sys.argv) < 2:
        return 0
    spec = json.loads(Path(sys.argv[1]).read_bytes())
    set_up(Path(spec["tree"]), [Path(p) for p in spec["keep"]], spec["gone_after_cache"])
    os.chdir(spec["cwd"])
    if spec.get("polkit"):
        return _with_polkit(spec["command"], spec["environment"])
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    return os.execve(spec["command"][0], spec["command"], spec["environment"])


if __name__ == "__main__":
    sys.exit(main())
