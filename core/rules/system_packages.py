"""Commands by which the system's own package manager installs a library or a program: that of this machine, where its name is known."""

from __future__ import annotations

import re

from core.common.shell import shell_command
from core.model.facts import Snapshot

MANAGERS = (
    ("apt-get", r"debian|ubuntu|mint|pop!_os|raspbian|kali|deepin|elementary|zorin"),
    ("dnf", r"fedora|red hat|rhel|centos|rocky|alma|oracle linux|amazon linux"),
    ("zypper", r"(?:open)?suse|sles"),
    ("pacman", r"arch|manjaro|endeavour|garuda|cachyos"),
    ("apk", r"alpine"),
)
"""Package manager -> the systems that have it, by the name that /etc/os-release gives them."""

DEBIANS = {
    "libGL.so.1": "libgl1", "libEGL.so.1": "libegl1", "libespeak-ng.so.1": "espeak-ng", "libgthread-2.0.so.0": "libglib2.0-0", "libglib-2.0.so.0": "libglib2.0-0",
    "libgomp.so.1": "libgomp1", "libSM.so.6": "libsm6", "libXext.so.6": "libxext6", "libXrender.so.1": "libxrender1",
    "libX11.so.6": "libx11-6", "libxcb.so.1": "libxcb1", "libsndfile.so.1": "libsndfile1", "libcrypt.so.1": "libcrypt1",
    "libstdc++.so.6": "libstdc++6", "libgcc_s.so.1": "libgcc-s1", "libffi.so.8": "libffi8", "libbz2.so.1.0": "libbz2-1.0",
    "libportaudio.so.2": "libportaudio2", "libmagic.so.1": "libmagic1", "libzbar.so.0": "libzbar0", "libcairo.so.2": "libcairo2",
    "libopenslide.so.1": "libopenslide0", "liblzma.so.5": "liblzma5", "libssl.so.3": "libssl3", "libsqlite3.so.0": "libsqlite3-0", "libexpat.so.1": "libexpat1",
    "libmpi.so.12": "libmpich12", "libmpi.so.40": "libopenmpi3", "libnuma.so.1": "libnuma1", "libtbb.so.12": "libtbb12", "libibverbs.so.1": "libibverbs1",
    "libz.so.1": "zlib1g",
}  # fmt: skip
"""Library -> package of Debian and Ubuntu; apt-file finds the others."""

FFMPEG = re.compile(r"lib(?:av\w+|swscale|swresample|postproc)\.so\.\d+")


def package_managers(seen: Snapshot) -> tuple[str, ...]:
    """Return the package manager of this machine; the two commonest where a Linux' name tells none, and none on Windows."""
    if seen.machine.system == "windows":
        return ()
    name = seen.machine.release.lower()
    known = next((manager for manager, systems in MANAGERS if re.search(rf"\b(?:{systems})", name)), "")
    return (known,) if known else ("apt-get", "dnf")


def library_commands(seen: Snapshot, library: str) -> list[str]:
    """Return the commands that install the system's package with a library, and one that shows that it is there."""
    debian = DEBIANS.get(library) or ("ffmpeg" if FFMPEG.fullmatch(library) else "")
    sudo, its = _sudo(seen), shell_command(f"{library}()(64bit)")
    commands = {
        "apt-get": [f"{sudo}apt-get install {debian}"]
        if debian
        else [f"{sudo}apt-get install apt-file && {sudo}apt-file update", shell_command("apt-file", "search", library)],
        "dnf": [f"{sudo}dnf install {its}"],
        "zypper": [f"{sudo}zypper install --capability {its}"],
        "pacman": [f"{sudo}pacman -Fy", shell_command("pacman", "-F", library)],
        "apk": [f"{sudo}apk add {shell_command(f'so:{library}')}"],
    }
    shows = f"ldconfig -p | grep -F {shell_command(library)}"
    return [*(line for m in package_managers(seen) for line in commands[m]), shows]


def program_commands(seen: Snapshot, debian: str, others: str = "", *, shows: str = "") -> list[str]:
    """Return the commands that install a program's package, and the one that shows that it is there.

    ``others``: its name where it differs, on systems of Red Hat. Other systems spell it as Debian does, as far as it is known.
    """
    verbs = {
        "apt-get": "apt-get install",
        "dnf": "dnf install",
        "zypper": "zypper install",
        "pacman": "pacman -S",
        "apk": "apk add",
    }
    names = {"dnf": others or debian, "zypper": others or debian}
    found = [f"{_sudo(seen)}{verbs[m]} {names.get(m, debian)}" for m in package_managers(seen)]
    return [*found, *([shows] if found and shows else [])]


def reinstall_command(seen: Snapshot, package: str) -> str:
    """Return the command that puts a package's files back as they were installed; one for each manager that this may be."""
    verbs = {
        "apt-get": "apt-get install --reinstall",
        "dnf": "dnf reinstall",
        "zypper": "zypper install --force",
        "pacman": "pacman -S",
        "apk": "apk fix",
    }
    return "\n".join(f"{_sudo(seen)}{verbs[m]} {package}" for m in package_managers(seen))


def _sudo(seen: Snapshot) -> str:
    return "" if seen.machine.elevated else "sudo "
