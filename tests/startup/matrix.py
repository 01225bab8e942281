"""One row of the matrix: a variable is set in a place; it is named, cured there, verified in each way, and undone."""

from __future__ import annotations

import os
import shutil
import string
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from core.common.progress import Progress
from core.doctor.scan import PROBES, take_snapshot
from core.fixes.lines import edit_lines
from core.fixes.variables import persistent_values
from core.host.linux.host import LinuxHost
from core.host.startup.plain import json_value, read_assignments, read_pam
from core.host.startup.state import State
from core.model.changes import ChangeError
from core.model.facts import Snapshot, Start
from core.model.findings import Finding
from core.model.remedies import Place as Entry
from core.model.remedies import PointTo, Remedy, TakeOut, Unset
from core.model.scan_options import ScanOptions
from core.model.steps import Severity, Step
from core.transaction.execute import Plan, execute, undo
from core.transaction.journal import Journal
from core.transaction.preconditions import resolve_changes
from core.transaction.variable_store import LinuxVariables
from tests.startup.places import BAD, GOOD, LISTS, VALUES, Place

BASE = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
SHELLS = {name: path for name in ("bash", "zsh", "fish", "dash") if (path := shutil.which(name))}
REMEDIES: dict[str, Remedy] = {
    "LD_LIBRARY_PATH": TakeOut(variable="LD_LIBRARY_PATH", places=(Entry(folder=BAD),)),
    "PATH": TakeOut(variable="PATH", places=(Entry(folder=BAD),)),
    "CUDA_VISIBLE_DEVICES": Unset(variable="CUDA_VISIBLE_DEVICES"),
    "CUDA_HOME": PointTo(variable="CUDA_HOME", folder=GOOD, right=(GOOD,)),
}


@dataclass
class Row:
    """What became of one row."""

    named: tuple[str, ...] = ()
    """Kinds of the ways in which file and line were named."""
    problems: list[str] = field(default_factory=list)
    idle: bool = False
    """Whether what is read later sets the variable anew, so that the line has no effect in any way."""


def is_bad(name: str, env: dict[str, str]) -> bool:
    """Whether a program with these variables has the fault."""
    value = env.get(name, "")
    return BAD in value.split(":") if name in LISTS else value == VALUES[name]


# --- the oracle ----------------------------------------------------------------------------------------------------


def _run(argv: list[str], env: dict[str, str]) -> dict[str, str]:
    done = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    text = done.stdout.decode("utf-8", "replace")
    return dict(part.partition("=")[::2] for part in text.split("\0") if "=" in part)


def _with_files(home: Path, *, systemd: bool) -> dict[str, str]:
    """Return what pam_env(8) and systemd give a session; the one part of the oracle that is no program's."""
    env = {**BASE, "HOME": str(home), "USER": "root", "LOGNAME": "root"}
    state = State(env, set(env))
    etc = Path("/etc/environment")
    if etc.is_file():
        read_assignments(etc.read_text(), str(etc), state)
    path = home / ".pam_environment"
    if path.is_file():
        read_pam(path.read_text(), str(path), state)
    for conf in sorted((home / ".config/environment.d").glob("*.conf")) if systemd else ():
        read_assignments(conf.read_text(), str(conf), state, expands=True)
    return state.environment()


def really(kind: str, shell: str, home: Path) -> dict[str, str] | None:
    """Return what the real shell hands on when it is started in this way; None where it is not on this machine."""
    if shell not in SHELLS:
        return None
    own = SHELLS[shell]
    match kind:
        case "login":
            return _run([own, "-l", "-i", "-c", "env -0"], _with_files(home, systemd=False))
        case "ssh":
            env = {
                **_with_files(home, systemd=False),
                "SSH_CLIENT": "127.0.0.1 1 22",
                "SSH_CONNECTION": "127.0.0.1 1 127.0.0.1 22",
            }
            return _run([own, "-c", "env -0"], env)
        case "cron":
            env = _with_files(home, systemd=False)
            if (tab := Path("/etc/cron.d/ml")).is_file():
                env |= dict(line.partition("=")[::2] for line in tab.read_text().splitlines()[:2])
            return _run(["/bin/sh", "-c", "env -0"], env)
        case "desktop":
            first = _run([own, "-l", "-c", "env -0"], _with_files(home, systemd=True))
            return _run(["/bin/sh", "-c", '[ ! -f "$HOME/.xprofile" ] || . "$HOME/.xprofile"; env -0'], first)
        case "terminal":
            return _run([own, "-i", "-c", "env -0"], really("desktop", shell, home) or {})
        case "notebook":
            env = really("terminal", shell, home) or {}
            for spec in home.glob(".local/share/jupyter/kernels/*/kernel.json"):
                found = json_value(spec.read_text())
                assert isinstance(found, dict)
                its = found.get("env", {})  # as jupyter_client's launcher: string.Template over the server's variables
                env = {**env, **{n: string.Template(v).safe_substitute(env) for n, v in its.items()}}
            return _run(["/usr/bin/env", "-0"], env)
        case "activation":
            env = really("terminal", "bash", home) or {}
            if (script := home / "ml/bin/activate").is_file():
                return _run(["/bin/bash", "-c", f". {script}; env -0"], env)
            hooks = home / "miniconda3/envs/ml/etc/conda/activate.d/cuda.sh"
            kept = home / "miniconda3/envs/ml/conda-meta/state"
            found = json_value(kept.read_text()) if kept.is_file() else {}
            env |= found.get("env_vars", {}) if isinstance(found, dict) else {}
            return _run(["/bin/bash", "-c", f"[ ! -f {hooks} ] || . {hooks}; env -0"], env)
        case "direnv" if (home / "project/.envrc").is_file():
            script = f"cd {home}/project && direnv allow . && direnv exec . env -0"
            return _run(["/bin/sh", "-c", script], really("terminal", "bash", home) or {})
        case "multiplexer":
            return _in_tmux(own, home, really("desktop", shell, home) or {})
    return None


def _in_tmux(shell: str, home: Path, env: dict[str, str]) -> dict[str, str]:
    """Return what a new window of a new tmux server gets: its shell is a login shell."""
    with tempfile.TemporaryDirectory(prefix="tmux-") as folder:
        over = f"tmux -S {folder}/server wait-for -S over"
        window = f"{shell} -l -i -c 'env -0 >{folder}/said'; {over}"
        tmux = ["tmux", "-S", f"{folder}/server", "-f", f"{home}/.tmux.conf", "new-session", "-d", "cat", ";"]
        _run([*tmux, "new-window", window, ";", "wait-for", "over", ";", "kill-server"], env)
        text = Path(folder, "said").read_text()
    return dict(part.partition("=")[::2] for part in text.split("\0") if "=" in part)


# --- the row -------------------------------------------------------------------------------------------------------


def look(home: Path, shell: str, folder: Path) -> Snapshot:
    """Return what a scan says of the ways of starting of the person at ``home``."""
    env = {**BASE, "HOME": str(home), "SHELL": f"/bin/{shell}"}
    host = LinuxHost(environ={n.encode(): v.encode() for n, v in env.items()})
    probes = tuple(p for p in PROBES if p.section in ("environment", "pythons", "starts"))
    before = Path.cwd()
    os.chdir(folder)
    try:
        named = tuple(str(p) for p in (home / "ml", home / "miniconda3/envs/ml") if p.is_dir())
        seen = take_snapshot(host, Progress(), ScanOptions(pythons=named), probes=probes)
    finally:
        os.chdir(before)
    assert not seen.errors, seen.errors
    return seen


def own_starts(seen: Snapshot, shell: str, home: Path) -> dict[str, Start]:
    """Return the ways of the person's own shell, by kind; of environments those at home."""
    found = {}
    for start in seen.starts or ():
        if start.kind in ("login", "terminal", "ssh") and start.at != shell:
            continue
        if start.kind in ("notebook", "activation", "service", "editor", "direnv") and not start.at.startswith(
            str(home)
        ):
            continue
        if start.kind == "cron" and start.at.startswith("/etc") and start.at != "/etc/cron.d/ml":
            continue
        found[start.kind] = start
    return found


def _finding(name: str, ways: tuple[str, ...]) -> Finding:
    return Finding(
        id="environment.matrix", cause="", step=Step.ENVIRONMENT, severity=Severity.ERROR, title="It is wrong here.", subject=name, ways=ways
    )  # fmt: skip


def run_row(place: Place, name: str, shell: str, home: Path, state: Path) -> Row:  # noqa: C901 - one row, step by step
    """Set, name, cure, verify and undo; return what was named, and everything that was not as it should be."""
    row = Row()
    place.before(home)
    file = home / place.file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(place.text(name))
    file.chmod(0o640)
    original = file.read_bytes()
    folder = home / place.folder

    def expected(seen: Snapshot) -> list[str]:
        """Return the ways that read the line, without those whose real shell gives the variable another value later."""
        starts = own_starts(seen, shell, home)
        real = {k: really(k, shell, home) for k in place.reads(shell)}
        return [k for k in place.reads(shell) if k not in starts or (r := real[k]) is None or is_bad(name, r)]

    def check(seen: Snapshot, bad: bool, when: str) -> dict[str, Start]:
        starts = own_starts(seen, shell, home)
        for kind in want:
            if kind not in starts:
                row.problems.append(f"{when}: no way {kind}")
                continue
            read = {v.name: v.value for v in starts[kind].variables}
            if is_bad(name, read) is not bad:
                row.problems.append(f"{when}: {kind} is read as {read.get(name)!r}")
        for kind, start in starts.items():
            real = really(kind, shell, home)
            read = {v.name: v.value for v in start.variables}
            if real is not None and name not in start.open and is_bad(name, read) != is_bad(name, real):
                row.problems.append(f"{when}: {kind} is {real.get(name)!r} and read as {read.get(name)!r}")
        return starts

    seen = look(home, shell, folder)
    want = expected(seen)
    if not want:
        row.idle = True
        return row
    starts = check(seen, True, "before")
    number = next(n for n, text in enumerate(file.read_text().splitlines(), 1) if VALUES[name] in text and name in text)
    named = [
        k
        for k, s in starts.items()
        if any((r.file, r.line, r.name) == (str(file), number, name) and not r.overridden for r in s.lines)
    ]
    row.named = tuple(named)
    if missing := set(want) - set(named):
        row.problems.append(f"not named: {sorted(missing)}")

    ways = tuple(s.id for s in starts.values() if is_bad(name, {v.name: v.value for v in s.variables}))
    edits = edit_lines(REMEDIES[name], _finding(name, ways), seen)
    if not edits and persistent_values(seen, name):
        from core.fixes.catalogue import changes_of

        changes = changes_of(REMEDIES[name], seen)
    else:
        changes = edits
    writer, journal = LinuxVariables(home=str(home)), Journal(state)
    try:
        plan = Plan(title="matrix", changes=resolve_changes(changes, writer))
    except ChangeError as e:
        row.problems.append(f"no cure: {e}")
        return row
    done = execute(plan, writer=writer, journal=journal)
    if done.kind != "done":
        row.problems.append(f"cure: {done.kind} {done.sentence}")
        return row
    check(look(home, shell, folder), False, "after")
    if file.exists() and file.stat().st_mode & 0o777 != 0o640:
        row.problems.append("the mode is another")
    back = undo(done.entry, writer=writer, journal=journal)
    if back.kind != "undone" or file.read_bytes() != original:
        row.problems.append(f"undo: {back.kind} {back.sentence}")
    check(look(home, shell, folder), True, "undone")
    return row
