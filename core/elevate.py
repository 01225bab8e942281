"""Elevation: exactly the one confirmed plan is handed to a Convalesce with an administrator's rights, and checked again there.

The plan goes by file, its SHA-256 on the command line, which is what the administrator's consent shows. The elevated
side trusts nothing else: it takes only listed kinds of change on listed targets, and the machine has a journal of its own.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NoReturn

import msgspec

from core import file_checks, folders, i18n
from core.apply import Outcome, Plan, perform, undo
from core.changes import Change, ChangeError, EditPath, SetVariable
from core.facts import Fact
from core.host import Completed, Host
from core.i18n import _, sentences
from core.journal import Journal, machine_state_folder
from core.writing import LinuxWriter, Writer, sentence

LARGEST_PLAN = 4 << 20
ANSWERS = "answers"
"""Folder of the machine's journal where the elevated side leaves its answer on Windows, by the order's SHA-256."""
SECONDS = 600.0
"""For the person to give the password, and for the work."""

VARIABLE = re.compile(r"(?:CUDA|CUDNN|NVIDIA|NUMBA|TF|XLA)_[A-Z0-9_]{1,60}|LD_LIBRARY_PATH")
SEARCH_PATH = re.compile(r"PATH|LD_LIBRARY_PATH", re.IGNORECASE)
LIBRARY = re.compile(
    r"(?:lib)?(?:cudnn|cublas|cudart|nvrtc|cufft|curand|cusolver|cusparse|nvjitlink|zlibwapi|cuda)[\w.+-]*"
    r"(?:\.dll|\.so(?:\.\d+){0,4})",
    re.IGNORECASE,
)
LINUX_FOLDERS = ("/usr/lib", "/usr/lib64", "/usr/local", "/lib", "/lib64", "/opt")
WINDOWS_FOLDERS = ("SystemRoot", "ProgramFiles", "ProgramFiles(x86)", "ProgramData")
"""Variables of Windows that name the folders below which an elevated plan may put libraries or put them aside."""


class Order(Fact, frozen=True, kw_only=True):
    """What the elevated side is asked to do: a plan, or the undoing of an entry of the machine's journal."""

    schema: Literal[1] = 1
    plan: Plan | None = None
    undo: str = ""
    language: str = msgspec.field(default_factory=i18n.language)
    """What the answer is worded in; an elevated program does not get the person's variables."""


# --- our side ----------------------------------------------------------------------------------------------------


def needs_elevation(changes: tuple[Change, ...], writer: Writer) -> bool:
    """Whether an administrator has to make these changes."""
    return any(writer.needs_elevation(c) for c in changes)


def write_order(order: Order, journal: Journal) -> tuple[str, str]:
    """Write an order into the journal's folder; return its path and its SHA-256."""
    place = str(Path(journal.folder) / "orders")
    folders.make_way(place, 0o700)
    data = msgspec.json.encode(order)
    digest = hashlib.sha256(data).hexdigest()
    with folders.opened(place) as folder:
        folder.write(f"{digest}.json", data)
    return str(Path(place) / f"{digest}.json"), digest


def command(path: str, digest: str) -> list[str]:
    """Return the command line that carries an order out, without what elevates it."""
    if getattr(sys, "frozen", False):
        return [sys.executable, "--elevated", path, digest]
    return [sys.executable, "-I", "-m", "core.elevate", path, digest]


def by_hand(path: str, digest: str) -> str:
    """Return the command that a person can run where nothing asks for a password on screen."""
    return "sudo " + shlex.join(command(path, digest))


def ask(order: Order, *, host: Host, journal: Journal) -> Outcome:
    """Have an order carried out by pkexec, which asks for the password. Never raises; a refusal changes nothing."""
    changes = order.plan.changes if order.plan else ()
    rows = not_allowed(changes, os.environ)
    if rows:
        return Outcome(kind="refused", sentence=sentences(_("Nothing was changed."), rows[0]), problems=rows)
    path, digest = write_order(order, journal)
    if sys.platform == "win32":
        from core.host.windows_elevation import run_elevated

        return _answered(run_elevated(command(path, digest), timeout=SECONDS), path, digest)
    try:
        done = host.run(["pkexec", *command(path, digest)], timeout=SECONDS)
        if done.out.strip().startswith("{"):
            return msgspec.json.decode(done.out, type=Outcome)
        if done.status == 126:
            words = _("The password was not given.")
        else:
            words = _(
                "No window asks for the password here. Run this in a terminal: {by_hand}", by_hand=by_hand(path, digest)
            )
            return Outcome(kind="refused", sentence=sentences(_("Nothing was changed."), words), problems=(words,))
    except msgspec.DecodeError:
        words = _("The elevated Convalesce gave no answer that can be read; look at the history of the machine.")
        return Outcome(kind="stuck", sentence=words, problems=(words,))
    Path(path).unlink(missing_ok=True)
    return Outcome(kind="refused", sentence=sentences(_("Nothing was changed."), words), problems=(words,))


def _answered(done: Completed, path: str, digest: str) -> Outcome:
    """Return what the elevated side wrote into the machine's own folder, where it has no stream to speak on (Windows)."""
    try:
        with folders.opened(str(Path(machine_state_folder()) / ANSWERS)) as folder:
            data = folder.read(f"{digest}.json") if done.status is not None else None
        if data is not None:
            Path(path).unlink(missing_ok=True)
            return msgspec.json.decode(data, type=Outcome)
    except (ChangeError, OSError, msgspec.DecodeError):
        pass  # no answer that can be read
    if done.status is None and not done.timed_out:
        Path(path).unlink(missing_ok=True)
        return _refused(done.ended)
    words = _("The elevated Convalesce gave no answer that can be read; look at the history of the machine.")
    return Outcome(kind="stuck", sentence=words, problems=(words,))


# --- what is allowed ---------------------------------------------------------------------------------------------


def not_allowed(changes: tuple[Change, ...], env: Mapping[str, str]) -> tuple[str, ...]:
    """Return a sentence for each change that is never made with an administrator's rights."""
    return tuple(row for change in changes if (row := _not_allowed(change, env)))


def _not_allowed(change: Change, env: Mapping[str, str]) -> str:
    if isinstance(change, SetVariable):
        if change.scope != "machine" or not VARIABLE.fullmatch(change.name):
            return _(
                "{name} ({scope}) is not a variable that is set with an administrator's rights.",
                name=change.name,
                scope=change.scope,
            )
        return ""
    if isinstance(change, EditPath):
        if change.scope != "machine" or not SEARCH_PATH.fullmatch(change.name):
            return _(
                "{name} ({scope}) is not a search path that is edited with an administrator's rights.",
                name=change.name,
                scope=change.scope,
            )
        folder = change.entry.strip('"')
        if change.new is not None and (loose := file_checks.writable_by_others(folder, frozenset({0}))):
            return _(
                "{loose} can be changed by ordinary users, so {folder} must not stand in everybody's {name}.",
                loose=loose,
                folder=folder,
                name=change.name,
            )
        return ""
    return next((row for item in change.items if (row := _bad_target(item.path, env))), "") or next(
        (
            _("{folder} is not a folder that is made with an administrator's rights.", folder=f)
            for f in change.folders
            if not _below(f, env)
        ),
        "",
    )


def _bad_target(path: str, env: Mapping[str, str]) -> str:
    try:
        folder, name = folders.split(path)
    except ChangeError as e:
        return str(e)
    if not LIBRARY.fullmatch(name):
        return _(
            "{name} is not one of NVIDIA's libraries; nothing else is touched with an administrator's rights.",
            name=name,
        )
    return (
        ""
        if _below(folder, env)
        else _("{folder} is not a folder that is changed with an administrator's rights.", folder=folder)
    )


def _below(folder: str, env: Mapping[str, str]) -> bool:
    bases = [env.get(name, "") for name in WINDOWS_FOLDERS] if os.name == "nt" else list(LINUX_FOLDERS)
    place = os.path.normcase(folder)
    return any(base and (place + os.sep).startswith(os.path.normcase(base).rstrip(os.sep) + os.sep) for base in bases)


# --- the elevated side -------------------------------------------------------------------------------------------


def carry_out(path: str, digest: str, *, writer: Writer, journal: Journal, env: Mapping[str, str]) -> Outcome:
    """Read an order, check it, and do what it says; never raises for what the order is."""
    try:
        order = _read(path, digest, trusted := _trusted(env))
    except (ChangeError, OSError) as e:
        return _refused(sentence(e))
    if order.plan is None:
        return undo(order.undo, writer=writer, journal=journal)
    rows = not_allowed(order.plan.changes, env)
    if rows:
        return _refused(rows[0])
    return perform(order.plan, writer=writer, journal=journal, trusted=trusted, plan_hash=digest)


def _refused(words: str) -> Outcome:
    return Outcome(kind="refused", sentence=sentences(_("Nothing was changed."), words), problems=(words,))


def _trusted(env: Mapping[str, str]) -> frozenset[int]:
    """Return the users whose files may be used: the administrator, and who asked (pkexec and sudo say who)."""
    users = [env.get(name, "") for name in ("PKEXEC_UID", "SUDO_UID")]
    return frozenset({0, *(int(u) for u in users if re.fullmatch(r"\d{1,10}", u))})


def _read(path: str, digest: str, trusted: frozenset[int]) -> Order:
    if not re.fullmatch(r"[0-9a-f]{64}", digest):
        raise ChangeError(_("The command line does not name the plan's SHA-256."))
    if loose := file_checks.writable_by_others(path, trusted):
        raise ChangeError(_("{loose} can be changed by other users, so no plan is taken from there.", loose=loose))
    folder, name = folders.split(path)
    with folders.opened(folder) as place:
        data = place.read(name, LARGEST_PLAN)
    if data is None or hashlib.sha256(data).hexdigest() != digest:
        raise ChangeError(_("The plan is not the one that was confirmed (its SHA-256 differs)."))
    try:
        order = msgspec.json.decode(data, type=Order)
    except RecursionError:
        raise ChangeError(_("This plan is nested more deeply than any real one.")) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as e:
        raise ChangeError(_("This plan cannot be read: {e}.", e=e)) from None
    i18n.use_language(order.language)
    return order


def main(argv: list[str]) -> NoReturn:
    """Be the elevated side: PATH SHA256. The Outcome goes to stdout as one line of JSON, on Windows to ANSWERS."""
    if len(argv) != 2:
        sys.exit("usage: core.elevate PLAN SHA256")
    os.umask(0o022)
    journal = Journal(machine_state_folder(), shared=True)
    outcome = carry_out(argv[0], argv[1], writer=_writer(), journal=journal, env=os.environ)
    answer = msgspec.json.encode(outcome)
    if sys.platform == "win32":
        place = str(Path(journal.folder) / ANSWERS)
        folders.make_way(place)
        with folders.opened(place) as folder:
            folder.write(f"{argv[1]}.json", answer)
    else:
        sys.stdout.write(answer.decode() + "\n")
    sys.exit(0 if outcome.kind in ("done", "undone") else 4)


def _writer() -> Writer:
    if sys.platform == "win32":
        from core.host.windows_writing import WindowsWriter

        return WindowsWriter()
    return LinuxWriter()


if __name__ == "__main__":
    main(sys.argv[1:])
