"""Provenance: may a file be run or loaded, and with whose rights? The answer depends on who else can change it.

Everything that starts one of the machine's programs, or loads one of its libraries, asks ``may_run`` first. Without
elevated rights, a program may run if the person named it, if it is active or on a search path (as any program would run
it), or if nobody else can change it. With an administrator's rights, only what nobody else can change is run; what
exactly one other account can change runs with that account's rights, if the person named it.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress

from core.common.late_pattern import late_pattern
from core.common.patience import call_patiently
from core.host import ownership
from core.host.interface import Account
from core.model.facts import Changeable, Frozen
from core.model.variable_names import LOADER_VARIABLES, PRELOADED

QT_PLACES = ("QT_PLUGIN_PATH", "QT_QPA_PLATFORM_PLUGIN_PATH")
"""Variables with the folders in which Qt searches for plug-ins."""
SEARCHED = ("PATH", *LOADER_VARIABLES, "PYTHONPATH", *QT_PLACES)
"""Variables whose entries make a program run or load something."""
LEADING = (
    *("PYTHONHOME", "PYTHONUSERBASE", "PYTHONPYCACHEPREFIX", "CUDA_INJECTION32_PATH", "CUDA_INJECTION64_PATH"),
    *("OPENSSL_CONF", "OPENSSL_MODULES", "OPENSSL_ENGINES", "SSLKEYLOGFILE", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    *("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CONFIG_FILE", "UV_CONFIG_FILE"),
)
"""Windows: variables that name one place from which programs run or load something.

On Linux, any variable with a path may.
"""
DISPLAYING = ("XAUTHORITY", "XDG_RUNTIME_DIR", "WAYLAND_DISPLAY")
"""Variables that an administrator's window needs for its display: places of the person whose session it is."""
TEMPORARY = ("TMPDIR", "TMP", "TEMP")
"""Variables that may name a folder shared by everybody, if its sticky bit protects each person's files."""
HANDED_ON = late_pattern(
    r"PATH|LANG|LC_\w+|LD_\w+|TZ|TMPDIR|_PYI\w+|(?:CUDA|CUDNN|CUBLAS|NVIDIA|TF|XLA|JAX|TORCH|PYTORCH|OMP|PYTHON)\w*"
)
"""Variables of the administrator that a program of another account gets; others may contain secrets."""
NOBODY = 65_534
"""The number of the account without rights (passwd of Debian, Fedora and Arch)."""
_PATHS = late_pattern(r"(?<![^\s:;,='\"])[^\s:;,='\"]*/[^\s:;,='\"]*")
"""Paths among the words of a variable: lists, options, addresses."""
DOMAIN_ADMINISTRATORS = late_pattern(r"S-1-5-21-[\d-]+-(?:500|512|519)")
"""Windows: the built-in administrator, and the domain's, who administer every machine of it (well-known SIDs)."""


class Verdict(Frozen, frozen=True, kw_only=True):
    """Whether something may be run, which parts others can change, and whose rights it gets."""

    may: bool
    changeable: Changeable | None = None
    """The first part of the path that others can change."""
    account: Account | None = None
    """Whose rights; None for one's own."""


class Person(Frozen, frozen=True, kw_only=True):
    """Who runs Convalesce."""

    trusted: frozenset[str]
    elevated: bool = False
    behind: Account | None = None
    """Whoever got an administrator's rights by sudo."""


def may_run(paths: Mapping[str, bool], person: Person | None = None) -> Verdict:
    """Return whether files may be run or loaded together.

    ``paths``: an absolute path -> whether somebody wanted it: named it, activated it, or has it on a search path.
    """
    me = person or this_person()
    foreign: dict[str, None] = {}
    first: Changeable | None = None
    unwanted = False
    sound: set[str] = set()
    for path, wanted in paths.items():
        if _is_plain(path, sound, me):
            continue
        parts, problem = _path_parts(path)
        found = Changeable(path=problem) if problem else _loose(parts, me.trusted)
        if found is None:
            sound.add(os.path.dirname(path))  # noqa: PTH120 - before every child
            continue
        first = first or found
        unwanted = unwanted or not wanted
        foreign |= dict.fromkeys(_who_can_change(parts, me.trusted) if not problem else ("unknown",))
    if first is None:
        return Verdict(may=True)
    if not me.elevated:
        return Verdict(may=not unwanted, changeable=first)
    account = _only_other_account(tuple(foreign), me)
    own = account is not None and me.behind is not None and account.uid == me.behind.uid
    return Verdict(may=account is not None and (own or not unwanted), changeable=first, account=account)


def _is_plain(path: str, sound: set[str], me: Person) -> bool:
    """Whether a file is in a folder whose path is known to be safe, and only its trusted owner may write it.

    An environment has ten thousand files, and each part of each path would be asked again otherwise.
    """
    folder = os.path.dirname(path)  # noqa: PTH120 - the same
    if sys.platform == "win32":
        return _is_sound_folder(folder, sound, me) and _is_trusted_part(path, me)
    if folder not in sound:
        return False
    try:
        seen = call_patiently(os.lstat, path)
    except OSError:
        return False
    return stat.S_ISREG(seen.st_mode) and not seen.st_mode & 0o022 and f"uid:{seen.st_uid}" in me.trusted


def _is_sound_folder(folder: str, sound: set[str], me: Person) -> bool:
    """Whether a folder's path is known to be safe, or it is a plain one in such a folder (Windows)."""
    above = os.path.dirname(folder)  # noqa: PTH120 - before every child
    if folder not in sound and above in sound and _is_trusted_part(folder, me):
        sound.add(folder)
    return folder in sound


def _is_trusted_part(path: str, me: Person) -> bool:
    """Whether the last part of a path is a file or a folder, no link, and nobody else may change it (Windows)."""
    try:
        part = ownership.last_part(path)
    except (OSError, ValueError):
        return False
    able = (part.owner, *part.movers, *part.writers)
    return part.kind in ("file", "folder") and all(_is_trusted(who, me.trusted) for who in able)


def trusted_environment(env: Mapping[str, str], person: Person | None = None) -> dict[str, str]:
    """Return the variables that a program may get: with an administrator's rights, no search path that others can change."""
    me = person or this_person()
    out = dict(env)
    if not me.elevated:
        return out
    for name, value in env.items():
        if name.upper() in SEARCHED:
            entries = value.replace(" ", ":").split(":") if name in PRELOADED else value.split(os.pathsep)
            kept = [e for e in entries if not _leads_elsewhere(name, e, me)]
            out[name] = os.pathsep.join(kept)
            if not kept:
                del out[name]
            elif len(kept) == len(entries):
                out[name] = value
        elif place_of_others(name, value, me):
            del out[name]
    return _with_own_home(env, out)


def place_of_others(name: str, value: str, person: Person | None = None) -> str:
    """Return the first path in a variable that others can change, whatever programs do with it; empty if there is none."""
    me = person or this_person()
    if sys.platform == "win32":
        first = value.split(os.pathsep, maxsplit=1)[0] if name.upper() in LEADING else ""
        return first if first and ownership.first_loose(first, me.trusted) else ""
    if "/" not in value or name in DISPLAYING:
        return ""
    paths = (os.path.join("/", p) for p in _PATHS.findall(value))  # noqa: PTH118 - programs start in the root folder
    return next((p for p in paths if p != os.devnull and _is_of_others(p, name, me)), "")


def _is_of_others(path: str, name: str, me: Person) -> bool:
    if name in TEMPORARY and _is_sticky(path):
        path = os.path.dirname(path.rstrip("/"))  # noqa: PTH120 - of a variable
    return bool(ownership.first_loose(path, me.trusted))


def _is_sticky(path: str) -> bool:
    try:
        seen = call_patiently(os.lstat, path)
    except OSError:
        return False
    return stat.S_ISDIR(seen.st_mode) and bool(seen.st_mode & stat.S_ISVTX) and seen.st_uid == 0


def _leads_elsewhere(name: str, entry: str, me: Person) -> bool:
    """Whether others can change an entry's target. Programs start in the root folder, so "." means that."""
    if name in PRELOADED and "/" not in entry:
        return False  # It is searched for on PATH.
    anchor = os.path.splitdrive(sys.executable)[0] + os.sep
    return bool(ownership.first_loose(os.path.join(anchor, entry), me.trusted))  # noqa: PTH118 - may be no path


def environment_for(verdict: Verdict, env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for a program that ``may_run``: only the necessary ones if it runs as another account."""
    me = this_person()
    account = verdict.account
    if account is None:
        return trusted_environment(env, me)
    its = Person(trusted=ownership.ADMINISTRATORS | {f"uid:{account.uid}"}, elevated=True)
    out = {n: v for n, v in trusted_environment(env, its).items() if account == me.behind or HANDED_ON.fullmatch(n)}
    return out | {"HOME": account.home or "/", "USER": account.name, "LOGNAME": account.name}


def nobody() -> Account | None:
    """Return the account without rights, with which an administrator's queries run; None for other users."""
    return _account(NOBODY) if sys.platform != "win32" and this_person().elevated else None


def this_person() -> Person:
    """Return who runs this process."""
    return _this_person()


def _path_parts(path: str) -> tuple[tuple[ownership.PathPart, ...], str]:
    """Return every part of a path, or the part that cannot be examined."""
    try:
        return ownership.who_can_write(path), ""
    except OSError as e:
        return (), os.fsdecode(e.filename) if e.filename else path
    except ValueError:
        return (), path


def _loose(parts: tuple[ownership.PathPart, ...], trusted: frozenset[str]) -> Changeable | None:
    trusted |= _domain(parts) if sys.platform == "win32" else frozenset()
    path = ownership.loose_part(parts, trusted)
    part = next((p for p in parts if p.path == path), None) if path else None
    if part is None:
        return None
    able = dict.fromkeys((part.owner, *part.movers, *part.writers))
    return Changeable(
        path=path, owner=part.owner, mode=_mode(path), writers=tuple(w for w in able if not _is_trusted(w, trusted))
    )


def _who_can_change(parts: tuple[ownership.PathPart, ...], trusted: frozenset[str]) -> set[str]:
    """Return everybody who can change any part of the path."""
    there = [p for p in parts if p.kind != "missing"]
    trusted |= _domain(parts) if sys.platform == "win32" else frozenset()
    able = {who for p in there for who in (p.owner, *p.movers)} | {who for p in there[-1:] for who in p.writers}
    return {who for who in able if not _is_trusted(who, trusted)}


def _domain(parts: tuple[ownership.PathPart, ...]) -> frozenset[str]:
    return frozenset(
        who for p in parts for who in (p.owner, *p.movers, *p.writers) if DOMAIN_ADMINISTRATORS.fullmatch(who)
    )


def _is_trusted(who: str, trusted: frozenset[str]) -> bool:
    return ownership.is_trusted(who, trusted)


def _mode(path: str) -> str:
    try:
        return f"{os.lstat(path).st_mode & 0o7777:04o}"
    except OSError:
        return ""


if sys.platform == "win32":
    from core.host.windows.ownership import own_account

    def outside_accounts() -> frozenset[str]:
        """Return none: Windows has no user namespaces."""
        return frozenset()

    def _with_own_home(_env: Mapping[str, str], out: dict[str, str]) -> dict[str, str]:
        return out

    def _this_person() -> Person:
        from ctypes import windll

        mine = own_account()
        trusted = ownership.ADMINISTRATORS | ({mine} if mine else set())
        return Person(trusted=trusted, elevated=bool(windll.shell32.IsUserAnAdmin()))

    def _only_other_account(_foreign: tuple[str, ...], _me: Person) -> Account | None:
        return None

else:
    import pwd

    WHOLE_MAP = 4_294_967_295
    """Accounts in a map that leaves none out (user_namespaces(7))."""

    def _with_own_home(env: Mapping[str, str], out: dict[str, str]) -> dict[str, str]:
        """Return the variables with the administrator's own home, where that of another account was taken out."""
        if "HOME" in env and "HOME" not in out:
            with suppress(KeyError):
                out["HOME"] = pwd.getpwuid(0).pw_dir
        return out

    def _this_person() -> Person:
        uid = os.geteuid()
        trusted = ownership.ADMINISTRATORS | {f"uid:{uid}"} | outside_accounts()
        if not (_is_account(uid) or _is_group(os.getegid())):  # a container without either account
            trusted |= {f"gid:{os.getegid()}"}
        number = _account_behind() if uid == 0 else 0
        return Person(trusted=trusted, elevated=uid == 0, behind=_account(number) if number else None)

    def _account_behind() -> int:
        """Return whoever got an administrator's rights: by a set-user-ID bit, sudo(8) or pkexec(1); 0 for nobody else."""
        if os.getuid() != os.geteuid():
            return os.getuid()
        said = os.environ.get("SUDO_UID") or os.environ.get("PKEXEC_UID") or ""
        return int(said) if re.fullmatch(r"[0-9]{1,10}", said) and int(said) < WHOLE_MAP else 0

    def outside_accounts() -> frozenset[str]:
        """Return the number that stands for accounts outside a user namespace, the administrator's among them."""
        with suppress(OSError, ValueError, IndexError):
            with open("/proc/self/uid_map", "rb") as lines:  # noqa: PTH123 - before every child
                mapped = sum(int(line.split()[2]) for line in lines)
            if mapped < WHOLE_MAP:
                with open("/proc/sys/kernel/overflowuid", "rb") as number:  # noqa: PTH123 - as above
                    return frozenset({f"uid:{int(number.read())}"})
        return frozenset()

    def _is_account(uid: int) -> bool:
        try:
            return bool(pwd.getpwuid(uid))
        except KeyError:
            return False

    def _is_group(gid: int) -> bool:
        import grp

        try:
            return bool(grp.getgrgid(gid))
        except KeyError:
            return False

    def _account(uid: int) -> Account:
        try:
            row = pwd.getpwuid(uid)
        except KeyError:
            return Account(uid=uid, gid=uid, groups=(), name=str(uid))
        groups = ownership.groups_of(uid, row.pw_gid)
        return Account(uid=uid, gid=row.pw_gid, groups=tuple(sorted(groups)), name=row.pw_name, home=row.pw_dir)

    def _only_other_account(foreign: tuple[str, ...], me: Person) -> Account | None:
        """Return the one account that can change everything, beside the administrator; None where there are more."""
        accounts = [int(who[4:]) for who in foreign if who.startswith("uid:")]
        for account in dict.fromkeys(([me.behind.uid] if me.behind else []) + accounts[:1]):
            trusted = me.trusted | {f"uid:{account}"}
            if all(_is_trusted(who, trusted) for who in foreign):
                return _account(account)
        return None
