"""Start each real shell afresh, as its way of starting does, and read the environment that programs get now."""

from __future__ import annotations

from pathlib import Path

from core.host.interface import Host
from core.host.linux.files import variables_in
from core.host.provenance import environment_for, may_run
from core.model.changes import EditLine
from core.model.facts import Start
from core.model.path_list import entry_key, split_entries

FLAGS = {"login": ("-l", "-i"), "terminal": ("-i",), "ssh": (), "desktop": ("-l",)}
"""Kind -> the options of its shell; cron's is always sh."""
START_SECONDS = 10.0
MARK = "convalesce-variables-follow"
SCRIPT = f"printf '\\n%s\\n' {MARK}; env -0"
GIVEN = ("HOME", "USER", "LOGNAME", "LANG", "TERM", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY")


def fresh_environment(start: Start, host: Host) -> dict[str, str] | None:
    """Return the variables of programs that are started in this way now; None if no shell starts them, or it may not be
    run.

    It reads the person's own files, as every new terminal does: nothing is started that others can change.
    """
    if start.kind not in (*FLAGS, "cron") or host.system != "linux" or str(host.root) != "/":
        return None
    ours = host.fresh_environment()
    name = {"cron": "sh", "desktop": Path(ours.get("SHELL") or "sh").name}.get(start.kind, start.at)
    shell = next((str(p) for f in ("/bin", "/usr/bin") if (p := Path(f, name)).exists()), "")
    home = ours.get("HOME", "")
    verdict = may_run({p: True for p in (shell, home) if p.startswith("/")})
    if not shell or not verdict.may:
        return None
    given = {n: ours[n] for n in GIVEN if n in ours}
    given |= {"PATH": "/usr/local/bin:/usr/bin:/bin", "SHELL": shell}
    given |= {v.name: v.value for v in host.variables() if v.scope in ("user", "machine") and "$" not in v.value}
    if start.kind == "ssh":
        given["SSH_CLIENT"] = given["SSH_CONNECTION"] = "127.0.0.1 1 22"
    if start.kind == "cron":
        given |= {v.name: v.value for v in start.variables if v.source.startswith(start.at)}
    argv = [shell, *FLAGS.get(start.kind, ()), "-c", SCRIPT]
    done = host.run(argv, timeout=START_SECONDS, env=environment_for(verdict, given), account=verdict.account)
    _before, mark, told = done.out.partition(f"\n{MARK}\n")
    if not mark:
        return None
    return variables_in(told)


def is_as_before(change: EditLine, value: str | None) -> bool:
    """Whether a variable still has what an edit removed."""
    if value is None:
        return False
    if change.entry:
        return any(
            entry_key(e, "linux") == entry_key(change.entry, "linux")
            for e in split_entries(value, "linux", change.name)
        )
    return value != change.value and value == change.held
