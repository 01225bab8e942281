"""Elevation: pass exactly the confirmed plan to a Convalesce with administrator rights, which checks it again.

The plan travels as a file; its SHA-256 and a description are on the command line, where the consent dialog shows them.
The elevated side trusts nothing else: ``core.transaction.broker`` judges every plan and every undo, it describes in its
own words what it will do, and the machine has its own journal. See docs/security.md.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, NoReturn

import msgspec

from core.common import frozen, i18n
from core.common.consent import consent_hint, is_consent
from core.common.exit_codes import REFUSED, STUCK
from core.common.i18n import _, join_sentences, n_
from core.host import ownership, safe_folder
from core.host.interface import CompletedProcess, Host
from core.host.policy import UNDECIDED, Policy, change_obstacle, elevation_obstacle, this_policy
from core.model.changes import Change, ChangeError
from core.model.facts import Frozen
from core.transaction import file_preconditions
from core.transaction.broker import closed_list
from core.transaction.broker.ground import RealGround
from core.transaction.execute import Outcome, Plan, execute, undo
from core.transaction.journal import Journal, machine_state_folder
from core.transaction.variable_store import LinuxVariables, VariableStore, error_sentence

MAX_PLAN_BYTES = 4 << 20
ANSWERS_FOLDER = "answers"
"""Folder of the machine's journal where the elevated side leaves its answer on Windows, by the order's SHA-256."""
CONSENT_TIMEOUT_SECONDS = 600.0
"""Seconds for the person to enter the password, and for the work."""
ELEVATED_OPTION = "--elevated-"
"""The option that starts the elevated side, without the kind at its end, by which polkit distinguishes its actions."""
MAX_SUMMARY_CHARACTERS = 1500
"""Most characters of the description on a command line."""

Agreed = Callable[[tuple[str, ...]], str]
"""Shows what will be done and asks; returns an empty text, or why it is not done."""


class ElevationOrder(Frozen, frozen=True, kw_only=True):
    """What the elevated side is asked to do: a plan, or the undoing of an entry of the machine's journal."""

    schema: Literal[1] = 1
    plan: Plan | None = None
    undo: str = ""
    language: str = msgspec.field(default_factory=i18n.current_language)
    """The language of the answer; an elevated program does not get the person's variables."""


# --- what is reported ------------------------------------------------------------------------------------------------


def describe_order(order: ElevationOrder, machine: Journal) -> tuple[str, str]:
    """Return the kind of the order, and a description in Convalesce's own words: the same on both sides.

    Raises:
        ChangeError, OSError: it undoes an entry that the machine's journal does not have.
    """
    changes = _changes(order, machine)
    rows, length = [], 0
    for row in closed_list.describe_changes(changes):
        length += len(row)
        if length > MAX_SUMMARY_CHARACTERS:
            break
        rows.append(row)
    if more := len(closed_list.describe_changes(changes)) - len(rows):
        rows.append(n_("And {n} more step.", "And {n} more steps.", more))
    return closed_list.consent_action(changes, back=order.plan is None), " ".join(rows)


def _changes(order: ElevationOrder, machine: Journal) -> tuple[Change, ...]:
    if order.plan is not None:
        return order.plan.changes
    return tuple(c.inverse() for c in reversed(machine.entry(order.undo).changes))


# --- our side ----------------------------------------------------------------------------------------------------


def needs_elevation(changes: tuple[Change, ...], writer: VariableStore) -> bool:
    """Whether an administrator has to make these changes."""
    return any(writer.needs_elevation(c) for c in changes)


def not_allowed(changes: tuple[Change, ...], env: Mapping[str, str]) -> tuple[str, ...]:
    """Return a sentence for each change that is never made with an administrator's rights."""
    return closed_list.refusal_sentences(changes, RealGround(env))


def write_order(order: ElevationOrder, journal: Journal) -> tuple[str, str]:
    """Write an order into the journal's folder; return its path and its SHA-256."""
    place = str(Path(journal.folder) / "orders")
    safe_folder.make_folders(place, 0o700)
    data = msgspec.json.encode(order)
    digest = hashlib.sha256(data).hexdigest()
    with safe_folder.open_folder(place) as folder:
        folder.write(f"{digest}.json", data)
    return str(Path(place) / f"{digest}.json"), digest


def elevated_command(path: str, digest: str, action: str, summary: str) -> list[str]:
    """Return the command line that carries an order out, without what elevates it."""
    if getattr(sys, "frozen", False):
        return [os.path.realpath(sys.executable), ELEVATED_OPTION + action, path, digest, summary]
    return [sys.executable, "-I", "-m", frozen.start_module(), ELEVATED_OPTION + action, path, digest, summary]


def loose_installation(trusted: frozenset[str] = frozenset()) -> str:
    """Return the first part of this program's path that others than an administrator (and ``trusted``) can change."""
    inside = getattr(sys, "_MEIPASS", None) or str(Path(__file__).parent)
    places = (sys.executable, os.path.realpath(sys.executable), inside, __file__)
    return next((loose for p in places if (loose := ownership.first_loose(os.path.abspath(p), trusted))), "")  # noqa: PTH100 - links stay


def ask_elevated(order: ElevationOrder, *, host: Host, journal: Journal) -> Outcome:
    """Carry an order out through pkexec, which asks for the password. Never raises; a refusal changes nothing."""
    if words := elevation_obstacle(this_policy()):
        return _refusal(words)
    rows = not_allowed(order.plan.changes, os.environ) if order.plan else ()
    if rows:
        return _refusal(rows[0], rows)
    try:
        action, summary = describe_order(order, Journal(machine_state_folder()))
        path, digest = write_order(order, journal)
    except (ChangeError, OSError) as e:
        return _refusal(error_sentence(e))
    argv = elevated_command(path, digest, action, summary)
    loose = loose_installation()
    if sys.platform == "win32":
        from core.host.windows.elevation import run_elevated
        from core.host.windows.ownership import consents_for_itself

        if loose and not consents_for_itself():
            Path(path).unlink(missing_ok=True)
            return _refusal(_loose_program(loose))
        return _written_answer(run_elevated(argv, timeout=CONSENT_TIMEOUT_SECONDS), path, digest)
    by_hand = "sudo " + shlex.join(argv)
    if loose:
        own = _("It can be done with your own password. Run this in a terminal: {by_hand}", by_hand=by_hand)
        return _refusal(join_sentences(_loose_program(loose), own))
    try:
        done = host.run(["pkexec", *argv], timeout=CONSENT_TIMEOUT_SECONDS)
        if done.out.strip().startswith("{"):
            return msgspec.json.decode(done.out, type=Outcome)
        if done.status != 126:
            return _refusal(
                _("No window can ask for the password here. Run this in a terminal: {by_hand}", by_hand=by_hand)
            )
    except msgspec.DecodeError:
        words = _("The elevated Convalesce gave no readable answer; check the history of the machine.")
        return Outcome(kind="stuck", sentence=words, problems=(words,))
    Path(path).unlink(missing_ok=True)
    return _refusal(_("No password was entered."))


def _loose_program(loose: str) -> str:
    return _(
        "{loose} can be changed without administrator rights, so no other account's password may start "
        "this Convalesce; use the one that is installed for all users.",
        loose=loose,
    )


def _written_answer(done: CompletedProcess, path: str, digest: str) -> Outcome:
    """Return the elevated side's answer from the machine's folder, if it has no output stream (Windows)."""
    try:
        with safe_folder.open_folder(str(Path(machine_state_folder()) / ANSWERS_FOLDER)) as folder:
            data = folder.read(f"{digest}.json") if done.status is not None else None
        if data is not None:
            Path(path).unlink(missing_ok=True)
            return msgspec.json.decode(data, type=Outcome)
    except (ChangeError, OSError, msgspec.DecodeError):
        pass  # no answer that can be read
    if done.status is None and not done.timed_out:
        Path(path).unlink(missing_ok=True)
        return _refusal(done.ended)
    words = _("The elevated Convalesce gave no readable answer; check the history of the machine.")
    return Outcome(kind="stuck", sentence=words, problems=(words,))


# --- the elevated side -------------------------------------------------------------------------------------------


def execute_order(
    path: str,
    digest: str,
    *,
    writer: VariableStore,
    journal: Journal,
    env: Mapping[str, str],
    agreed: Agreed,
    summary: str = "",
    policy: Policy = UNDECIDED,
) -> Outcome:
    """Read an order, check it, describe it, and carry it out if the person agrees; never raises for the order's
    content.

    ``summary``: what the command line said that it does, which a consent has shown; empty where none did.
    """

    def gate(changes: tuple[Change, ...], back: bool) -> tuple[str, ...]:
        return closed_list.refusal_sentences(changes, RealGround(env), back=back)

    try:
        order = _read_order(path, digest, trusted := _trusted_users(env))
        words = change_obstacle(policy, elevated=True) if order.plan else elevation_obstacle(policy)
        rows = (words,) if words else gate(_changes(order, journal), order.plan is None)
        if not rows and summary and summary != describe_order(order, journal)[1]:
            rows = (_("The command line and the plan differ."),)
        if not rows and (words := agreed(closed_list.describe_changes(_changes(order, journal)))):
            rows = (words,)
    except (ChangeError, OSError) as e:
        return _refusal(error_sentence(e))
    if rows:
        return _refusal(rows[0], rows)
    if order.plan is None:
        return undo(order.undo, writer=writer, journal=journal, gate=gate)
    return execute(order.plan, writer=writer, journal=journal, trusted=trusted, plan_hash=digest, gate=gate)


def _refusal(words: str, rows: tuple[str, ...] = ()) -> Outcome:
    return Outcome(kind="refused", sentence=join_sentences(_("Nothing was changed."), words), problems=rows or (words,))


def _trusted_users(env: Mapping[str, str]) -> frozenset[int]:
    """Return the users whose files may be used: the administrator, and the caller of pkexec or sudo."""
    users = [env.get(name, "") for name in ("PKEXEC_UID", "SUDO_UID")]
    return frozenset({0, *(int(u) for u in users if re.fullmatch(r"\d{1,10}", u))})


def _read_order(path: str, digest: str, trusted: frozenset[int]) -> ElevationOrder:
    if not re.fullmatch(r"[0-9a-f]{64}", digest):
        raise ChangeError(_("The command line does not contain the plan's SHA-256."))
    if loose := file_preconditions.writable_by_others(path, trusted):
        raise ChangeError(_("{loose} can be changed by other users, so no plan is taken from there.", loose=loose))
    with safe_folder.open_parent(path) as (place, name):
        data = place.read(name, MAX_PLAN_BYTES)
    if data is None or hashlib.sha256(data).hexdigest() != digest:
        raise ChangeError(_("The plan is not the confirmed one (its SHA-256 differs)."))
    try:
        order = msgspec.json.decode(data, type=ElevationOrder)
    except RecursionError:
        raise ChangeError(_("This plan is nested too deeply.")) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as e:
        raise ChangeError(_("This plan cannot be read: {e}.", e=e)) from None
    i18n.use_language(order.language)
    return order


def main(argv: list[str]) -> NoReturn:
    """Run as the elevated side: OPTION PATH SHA256 SUMMARY. The Outcome goes to stdout as one line of JSON, on Windows to ANSWERS."""
    if len(argv) != 4 or not argv[0].startswith(ELEVATED_OPTION):
        sys.exit("usage: core.transaction.elevation --elevated-KIND PLAN SHA256 SUMMARY")
    _option, path, digest, summary = argv
    os.umask(0o022)
    journal = Journal(machine_state_folder(), shared=True)
    outcome = _refuse_changeable_program(os.environ, path) or execute_order(
        path,
        digest,
        writer=_writer(),
        journal=journal,
        env=os.environ,
        agreed=_consent_question(os.environ),
        summary=summary or "-",
        policy=this_policy(),
    )
    answer = msgspec.json.encode(outcome)
    if sys.platform == "win32":
        place = str(Path(journal.folder) / ANSWERS_FOLDER)
        journal.prepare()
        safe_folder.make_folders(place)
        with safe_folder.open_folder(place) as folder:
            folder.write(f"{digest}.json" if re.fullmatch(r"[0-9a-f]{64}", digest) else "unnamed.json", answer)
    else:
        sys.stdout.write(answer.decode() + "\n")
    sys.exit(0 if outcome.kind in ("done", "undone") else STUCK if outcome.kind == "stuck" else REFUSED)


def _refuse_changeable_program(env: Mapping[str, str], path: str) -> Outcome | None:
    """Return a refusal if somebody other than the consenting person can change this program, else None."""
    trusted: frozenset[str] = frozenset()
    if sys.platform == "win32":
        from core.host.windows.ownership import own_account, owner_and_rights

        try:
            mine = own_account()
            trusted = frozenset({mine} if owner_and_rights(path, folder=False)[0] == mine else ())
        except OSError as e:
            return _refusal(error_sentence(e))
    elif not env.get("PKEXEC_UID") and re.fullmatch(r"\d{1,10}", env.get("SUDO_UID", "")):
        trusted = frozenset({f"uid:{int(env['SUDO_UID'])}"})
    loose = loose_installation(trusted)
    return _refusal(_loose_program(loose)) if loose else None


def _consent_question(env: Mapping[str, str]) -> Agreed:
    """Return how the person is asked: polkit's dialog has shown the command line; else a box, or the terminal."""
    if sys.platform == "win32":
        from core.host.windows.elevation import ask_in_box

        return lambda rows: "" if ask_in_box(_question(rows)) else _("You did not agree.")
    if env.get("PKEXEC_UID"):
        return lambda _rows: ""
    return _ask_terminal


def _question(rows: tuple[str, ...]) -> str:
    return "\n".join([_("Convalesce will do this with administrator rights:"), "", *rows, "", _("Continue?")])


def _ask_terminal(rows: tuple[str, ...]) -> str:
    try:
        with Path("/dev/tty").open("r+b", buffering=0) as terminal:
            terminal.write(f"{_question(rows)} {consent_hint()} ".encode(errors="replace"))
            answer = terminal.readline().decode(errors="replace")
    except OSError:
        return _("There is no terminal to ask for consent.")
    return "" if is_consent(answer) else _("You did not agree.")


def _writer() -> VariableStore:
    if sys.platform == "win32":
        from core.transaction.windows_variable_store import WindowsVariables

        return WindowsVariables()
    return LinuxVariables()


if __name__ == "__main__":
    main(sys.argv[1:])
