"""The files that each shell reads at its start, in order: bash(1), zsh(1), dash(1), fish's documentation; paths of Debian and Fedora."""

from __future__ import annotations

import posixpath

from core.host.startup.posix import ShellReader
from core.host.startup.state import State
from core.probes.starting.machine import Ground

SHELLS = ("bash", "zsh", "fish", "dash")
FAMILY = {"sh": "dash", "ash": "dash", "ksh": "dash", "mksh": "dash", "rbash": "bash"}


def family(shell: str) -> str:
    """Return the key in ``SHELLS`` for a shell's path; empty if that shell is not read."""
    name = posixpath.basename(shell).lstrip("-")
    name = FAMILY.get(name, name)
    return name if name in SHELLS else ""


def read_shell(
    ground: Ground, state: State, shell: str, *, login: bool = False, interactive: bool = False, ssh: bool = False
) -> ShellReader | None:
    """Read a shell's start-up files into ``state``; return the reader, which can continue with further text of its language."""
    if shell == "fish":
        from core.host.startup.fish import FishReader  # imported late: most people use another shell

        fish = FishReader(ground.around, state, interactive=interactive, login=login)
        fish.read_universal(posixpath.join(ground.config("fish"), "fish_variables"))
        fish.read_files(*_fish(ground))
        return None
    reader = ShellReader(ground.around, state, shell, interactive, login)
    match shell:
        case "bash":
            reader.read_files(*_bash(ground, login=login, interactive=interactive or ssh))
        case "zsh":
            reader.read_files(*_zsh(ground, state, login=login, interactive=interactive))
        case "dash":
            if login:
                reader.read_files("/etc/profile", ground.at_home(".profile"))
            if interactive and (extra := state.values.get("ENV")):
                reader.read_files(extra)
    return reader


def _bash(ground: Ground, *, login: bool, interactive: bool) -> list[str]:
    """Return bash's files. For a command that sshd runs, bash reads those of an interactive shell."""
    home = ground.at_home
    if login:
        own = (home(".bash_profile"), home(".bash_login"), home(".profile"))
        return ["/etc/profile", *[f for f in own if ground.around.kind(f) == "file"][:1]]
    if not interactive:
        return []
    return ["/etc/bash.bashrc", home(".bashrc")]


def _zsh(ground: Ground, state: State, *, login: bool, interactive: bool) -> list[str]:
    system = "/etc/zsh" if ground.around.kind("/etc/zsh") == "folder" else "/etc"
    folder = state.values.get("ZDOTDIR") or ground.person.home
    env = posixpath.join(folder, ".zshenv")
    found = [f"{system}/zshenv", env]
    for name, wanted in (("zprofile", login), ("zshrc", interactive), ("zlogin", login)):
        if wanted:
            found += [f"{system}/{name}", posixpath.join(folder, f".{name}")]
    return found


def _fish(ground: Ground) -> list[str]:
    own, system = ground.config("fish"), "/etc/fish"
    files: dict[str, str] = {}
    for folder in (own, system, "/usr/share/fish/vendor_conf.d"):
        place = folder if folder.endswith("vendor_conf.d") else posixpath.join(folder, "conf.d")
        for name in ground.around.names(place):
            if name.endswith(".fish"):
                files.setdefault(name, posixpath.join(place, name))
    return [*(files[n] for n in sorted(files)), f"{system}/config.fish", posixpath.join(own, "config.fish")]
