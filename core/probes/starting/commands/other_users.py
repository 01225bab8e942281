"""su and runuser: which variables a program gets that is started as another user. Nothing is run.

Sources: su(1) and runuser(1) of util-linux; ld.so(8), "Secure-execution mode".
"""

from __future__ import annotations

import itertools
import re

from core.host.startup.state import State
from core.probes.starting.commands.runners import OF_EACH, give_login
from core.probes.starting.machine import Ground, login_state, with_pam
from core.probes.starting.shells import family, read_shell

NAMES = ("su", "runuser")


def as_another_user(name: str, words: list[str], at: tuple[str, int], state: State, ground: Ground) -> None:
    """Take the variables away that do not pass: all at a login; those of the loader for su, a set-user-ID program."""
    front = list(itertools.takewhile(lambda w: w not in ("-c", "--command", "--"), words))
    options = [*front, *(w for w in words[len(front) + 2 :] if w in ("-", "-l", "--login"))]
    if any(w in ("-", "--login") or re.fullmatch(r"-[a-km-z]*l\w*", w) for w in options):
        lists = [w.partition("=")[2] for w in options if w.startswith("--whitelist-environment=")]
        lists += [words[n + 1] for n, w in enumerate(words[:-1]) if w == "-w"]
        state.keep_only({*OF_EACH, "TERM", *(n for its in lists for n in its.split(","))}, *at, "posix")
        user = next((w for n, w in enumerate(front) if not w.startswith("-") and front[n - 1] != "-w"), "root")
        _log_in(user, state, ground)
    elif name == "su" and ground.person.uid:
        for variable in [n for n in state.values if n in state.exported and n.startswith("LD_")]:
            state.unset_variable(variable, *at, "posix")


def _log_in(user: str, state: State, ground: Ground) -> None:
    """Give what a login gives: /etc/environment, and the files of the person's own shell where it is the person who logs in."""
    login = with_pam(ground, login_state(ground))
    if user == ground.person.name:
        read_shell(ground, login, family(ground.person.shell) or "dash", login=True)
    give_login(state, login)
