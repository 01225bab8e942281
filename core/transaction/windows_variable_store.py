"""WindowsVariables: writes variables to the Windows registry, each atomically and in its own type, and says who holds a file open."""

from __future__ import annotations

import sys
import winreg
from collections.abc import Iterable
from contextlib import suppress

from core.common.fact_text import fact_text
from core.host.safe_folder import nearest_existing, split_path
from core.model.changes import Change, ChangeError, EditLine, ExchangePackages, FileSet, PersistentScope, Value
from core.model.facts import System
from core.model.system_steps import SystemStep

assert sys.platform == "win32"  # tells mypy, too

from core.host.windows.host import MACHINE_KEY, USER_KEY, WindowsHost, is_elevated  # noqa: E402 - known on Windows alone
from core.host.windows.processes import may_change, programs_using  # noqa: E402 - as above

VALUE_KINDS = {winreg.REG_SZ: "REG_SZ", winreg.REG_EXPAND_SZ: "REG_EXPAND_SZ"}
"""Kinds of registry value that become variables of programs."""


class WindowsVariables:
    """The registry's variables of the user and of the machine. ``user_key`` is a parameter for tests."""

    system: System = "windows"
    root = "/"
    """No system step below another root is made on Windows."""

    def __init__(self, user_key: str = USER_KEY) -> None:
        self._user_key = user_key

    def read(self, name: str, scope: PersistentScope, at: str) -> Value | None:
        """Return the raw text and its kind. See VariableStore."""
        root, key = self._key(scope, at)
        try:
            with winreg.OpenKey(root, key, 0, winreg.KEY_READ | winreg.KEY_WOW64_64KEY) as opened:
                data, kind = winreg.QueryValueEx(opened, name)
        except FileNotFoundError:
            return None
        if kind not in VALUE_KINDS or not isinstance(data, str):
            raise ChangeError(
                fact_text(
                    "{name} is kept as registry kind {kind}, which no variable is; change it by hand.",
                    name=name,
                    kind=kind,
                )
            )
        return Value(text=data, kind=VALUE_KINDS[kind])

    def write(self, name: str, scope: PersistentScope, at: str, value: Value | None) -> None:
        """Set a value of its kind, or take it away, and have the registry written to disk. See VariableStore.

        A value whose kind is not given keeps the kind that is there; a new one is expanded where it has a variable in it.
        """
        root, key = self._key(scope, at)
        if value is not None and "\0" in value.text:
            raise ChangeError(fact_text("The text for {name} has a NUL in it, which ends a registry value.", name=name))
        access = winreg.KEY_READ | winreg.KEY_SET_VALUE | winreg.KEY_WOW64_64KEY
        with winreg.CreateKeyEx(root, key, 0, access) as opened:
            if value is None:
                with suppress(FileNotFoundError):
                    winreg.DeleteValue(opened, name)
            else:
                kinds = {text: number for number, text in VALUE_KINDS.items()}
                kind = value.kind or _kind_there(opened, name) or ("REG_EXPAND_SZ" if "%" in value.text else "REG_SZ")
                if kind not in kinds:
                    raise ChangeError(fact_text("{name} cannot be kept as {kind}.", name=name, kind=kind))
                winreg.SetValueEx(opened, name, 0, kinds[kind], value.text)
            winreg.FlushKey(opened)

    def write_obstacle(self, name: str, scope: PersistentScope, at: str) -> str:
        """Return a sentence if this user may not write there. See VariableStore."""
        try:
            root, key = self._key(scope, at)
            self.read(name, scope, at)
            access = winreg.KEY_SET_VALUE | winreg.KEY_WOW64_64KEY
            with winreg.OpenKey(root, key, 0, access):
                return ""
        except FileNotFoundError:
            return ""  # the key itself is made when it is written
        except PermissionError:
            return fact_text("This user may not change the {scope} variables.", scope=scope)
        except (ChangeError, OSError) as e:
            return str(e)

    def needs_elevation(self, change: Change) -> bool:
        """Whether only an administrator may make the change. See VariableStore."""
        if is_elevated():
            return False
        if isinstance(change, EditLine):
            return False
        if isinstance(change, ExchangePackages):
            return False  # never with an administrator's rights
        if isinstance(change, FileSet):
            places = (*(split_path(item.path)[0] for item in change.items), *change.folders)
            return any(not may_change(nearest_existing(place)) for place in places)
        if isinstance(change, SystemStep):
            return change.kind != "short-path"
        return change.scope == "machine"

    def programs_using(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Return the programs that have one of the files open or loaded: "python.exe (4711)"."""
        return programs_using(tuple(paths))

    def announce_change(self) -> None:
        """Send WM_SETTINGCHANGE to all windows; those that do not answer within 5 seconds are left alone."""
        WindowsHost(self._user_key).announce_environment()

    def _key(self, scope: PersistentScope, at: str) -> tuple[int, str]:
        if at:
            raise ChangeError(fact_text("On Windows variables are kept in the registry, not in {at}.", at=at))
        if scope == "machine":
            return winreg.HKEY_LOCAL_MACHINE, MACHINE_KEY
        if scope == "user":
            return winreg.HKEY_CURRENT_USER, self._user_key
        raise ChangeError(fact_text("The activation of an environment is not changed on Windows."))


def _kind_there(opened: winreg.HKEYType, name: str) -> str:
    try:
        return VALUE_KINDS.get(winreg.QueryValueEx(opened, name)[1], "")
    except FileNotFoundError:
        return ""
