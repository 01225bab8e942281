"""VariableStore: reads and writes persistent variables, and its implementation for Linux's files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from core.common.home import user_home
from core.common.i18n import _, translate_fact
from core.host import activation_scripts, environment_files, ownership, safe_folder
from core.host.refusal import why_refused
from core.model.changes import Change, ChangeError, EditLine, ExchangePackages, FileSet, PersistentScope, Value
from core.model.facts import System
from core.model.system_steps import SystemStep

OWN_FILE = ".config/environment.d/90-convalesce.conf"
"""The file for a user's variables on Linux: systemd sets them for every session and service of the user from the next
login on (environment.d(5)). It is data, not a shell script, and no other program writes it."""
MACHINE_FILE = "/etc/environment"


class VariableStore(Protocol):
    """The operations of the operating system that changing variables needs."""

    @property
    def system(self) -> System:
        """Which rules for search paths and lengths apply."""
        ...

    @property
    def root(self) -> str:
        """The folder that stands for "/": where system steps are made."""
        ...

    def read(self, name: str, scope: PersistentScope, at: str) -> Value | None:
        """Return the stored raw value; None if there is none.

        Raises:
            ChangeError: it is stored in a form that must not be edited. OSError: it could not be read.
        """
        ...

    def write(self, name: str, scope: PersistentScope, at: str, value: Value | None) -> None:
        """Store the value (None: remove the variable), durably and in one step. Writing the present value is harmless.

        Raises:
            ChangeError: the value cannot be kept there. OSError: it could not be written.
        """
        ...

    def write_obstacle(self, name: str, scope: PersistentScope, at: str) -> str:
        """Return a sentence if writing there is sure to fail, else an empty text. Changes nothing."""
        ...

    def needs_elevation(self, change: Change) -> bool:
        """Whether this user may not make the change, but an administrator may."""
        ...

    def programs_using(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Return the programs ("python.exe (4711)") that have one of these files open in a way that forbids replacing it."""
        ...

    def announce_change(self) -> None:
        """Tell running programs that variables have changed (Windows: WM_SETTINGCHANGE)."""
        ...


class LinuxVariables:
    """Variables in files: /etc/environment, environment.d, and the activation of Python environments."""

    system: System = "linux"

    def __init__(self, root: str = "/", home: str | None = None) -> None:
        self._root = root
        self._home = home if home is not None else str(user_home())

    @property
    def root(self) -> str:
        """See VariableStore."""
        return self._root

    def read(self, name: str, scope: PersistentScope, at: str) -> Value | None:
        """See VariableStore."""
        if scope == "environment":
            steps = self._steps(at).get(name)
            return None if steps is None else Value(text=steps, kind=activation_scripts.ACTIVATION_KIND)
        return environment_files.read_assignment(_read_text(self._file(scope, at)), name)

    def write(self, name: str, scope: PersistentScope, at: str, value: Value | None) -> None:
        """See VariableStore."""
        if scope == "environment":
            steps = {k: v for k, v in self._steps(at).items() if k != name}
            if value is not None:
                activation_scripts.check_steps(name, value.text)
                steps[name] = value.text
            for path, text in self._scripts(at, steps):
                _replace(path, text)
            return
        path = self._file(scope, at)
        old = _read_text(path)
        ours = Path(path).name == Path(OWN_FILE).name
        new = environment_files.write_assignment(old or (environment_files.FILE_HEADER if ours else ""), name, value)
        _replace(path, "" if ours and new == environment_files.FILE_HEADER else new, missing_ok=ours)

    def write_obstacle(self, name: str, scope: PersistentScope, at: str) -> str:
        """See VariableStore."""
        try:
            self.read(name, scope, at)
            paths = [p for p, _ in self._scripts(at, {})] if scope == "environment" else [self._file(scope, at)]
            for path in paths:
                if not os.access(there := safe_folder.nearest_existing(path), os.W_OK):
                    return not_changeable(path, there)
        except (ChangeError, OSError) as e:
            return error_sentence(e)
        return ""

    def needs_elevation(self, change: Change) -> bool:
        """See VariableStore."""
        if os.geteuid() == 0:
            return False
        if isinstance(change, ExchangePackages):
            return False  # never with an administrator's rights
        if isinstance(change, FileSet):
            places = [safe_folder.split_path(i.path)[0] for i in change.items]
            return any(not os.access(safe_folder.nearest_existing(p), os.W_OK) for p in (*places, *change.folders))
        if isinstance(change, SystemStep):
            return change.kind != "short-path"
        if isinstance(change, EditLine):
            real = safe_folder.split_path(os.path.realpath(change.path))[0]
            return not (os.access(change.path, os.W_OK) and os.access(real, os.W_OK))
        if change.scope == "environment":
            return not os.access(at, os.W_OK) if (at := change.at) else False
        return not os.access(safe_folder.nearest_existing(self._file(change.scope, change.at)), os.W_OK)

    def programs_using(self, paths: Iterable[str]) -> tuple[str, ...]:  # noqa: ARG002 - the protocol's form
        """See VariableStore. Always empty: on Linux a program keeps the old file after a rename over it."""
        return ()

    def announce_change(self) -> None:
        """See VariableStore. Linux has no such message."""

    def _file(self, scope: PersistentScope, at: str) -> str:
        """Return the file of assignments (ChangeError if it is another kind of file)."""
        own = str(Path(self._home) / OWN_FILE)
        machine = str(Path(self._root) / MACHINE_FILE.lstrip("/"))
        path = at or (own if scope == "user" else machine)
        if ".." in Path(path).parts:
            raise ChangeError(_("{path} contains . or ..; a plan must name every folder.", path=repr(path)))
        places = (Path(own).parent,) if scope == "user" else (Path(machine).parent / "environment.d",)
        if path == machine and scope == "machine":
            return path
        if Path(path).parent in places and path.endswith(".conf"):
            return path
        raise ChangeError(_("{path} is not a file of plain assignments; change it by hand.", path=path))

    def _steps(self, prefix: str) -> activation_scripts.Steps:
        if _is_conda(prefix):
            return activation_scripts.parse_steps(_read_text(str(Path(prefix) / _CONDA_ON)))
        return activation_scripts.steps_in(_read_text(str(Path(prefix) / "bin/activate")))

    def _scripts(self, prefix: str, steps: activation_scripts.Steps) -> list[tuple[str, str]]:
        """Return each file of the activation and its new text, in the order that is right at every instant."""
        if not _is_conda(prefix):
            path = str(Path(prefix) / "bin/activate")
            ours = [(path, activation_scripts.with_steps(_read_text(path), steps))]
            text = _read_text(fish) if Path(fish := f"{path}.fish").is_file() else ""
            return [*ours, *([(fish, activation_scripts.with_fish_steps(text, steps))] if text else [])]
        on, off = str(Path(prefix) / _CONDA_ON), str(Path(prefix) / _CONDA_OFF)
        ons, offs = (on, on.replace(".sh", ".fish")), (off, off.replace(".sh", ".fish"))
        if not steps:
            return [(path, "") for path in (*ons, *offs)]
        turning_off = activation_scripts.deactivation_lines(steps), activation_scripts.fish_deactivation(steps)
        turning_on = activation_scripts.activation_lines(steps), activation_scripts.fish_activation(steps)
        return [*zip(offs, turning_off, strict=True), *zip(ons, turning_on, strict=True)]


_CONDA_ON, _CONDA_OFF = "etc/conda/activate.d/convalesce.sh", "etc/conda/deactivate.d/convalesce.sh"


def _is_conda(prefix: str) -> bool:
    """Whether the environment is conda's (ChangeError if it is no environment that has an activation)."""
    if not Path(prefix).is_absolute():
        raise ChangeError(_("{prefix} is not the folder of a Python environment.", prefix=repr(prefix)))
    if (Path(prefix) / "conda-meta").is_dir():
        return True
    if not (Path(prefix) / "pyvenv.cfg").is_file() or not (Path(prefix) / "bin/activate").is_file():
        raise ChangeError(_("{prefix} is not a Python environment with its own activation.", prefix=prefix))
    return False


def _read_text(path: str) -> str:
    """Return a small text file's content; empty when it is not there."""
    try:
        with safe_folder.open_parent(os.path.realpath(path)) as (folder, name):
            data = folder.read(name)
    except FileNotFoundError:
        return ""
    try:
        return (data or b"").decode()
    except UnicodeDecodeError:
        raise ChangeError(_("{path} is not UTF-8 text; change it by hand.", path=path)) from None


def _replace(path: str, text: str, *, missing_ok: bool = True) -> None:
    """Write a file's text; an empty text removes our own file. An unchanged file is left alone."""
    real = os.path.realpath(path)
    follow_none_of_others(path)
    folder, name = safe_folder.split_path(real)
    if text:
        safe_folder.make_folders(folder)
    if not Path(folder).is_dir():
        return
    with safe_folder.open_folder(folder) as open_folder:
        old = open_folder.read(name)
        if old == text.encode() and (text or not missing_ok):
            open_folder.remove(f".{name}.convalesce-new")
        elif text or not missing_ok:
            open_folder.write(name, text.encode())
        else:
            open_folder.remove(name)
            open_folder.remove(f".{name}.convalesce-new")
            open_folder.sync()


def follow_none_of_others(path: str) -> None:
    """Check that, with an administrator's rights, no link of another account is followed.

    Raises:
        ChangeError: one would be.
    """
    if sys.platform == "win32" or os.geteuid() != 0:
        return
    for part in ownership.who_can_write(path):
        if part.kind == "link" and part.owner not in ownership.ADMINISTRATORS:
            raise ChangeError(_("{link} is a link of another account; no administrator follows it.", link=part.path))


def not_changeable(path: str, there: str) -> str:
    """Return a sentence on why this user may not change a path; ``there``: the part of it that exists."""
    reason = translate_fact(why_refused(there, "change"))
    if there != path:
        return _("{path} cannot be changed, because of {there}: {reason}.", path=path, there=there, reason=reason)
    return _("{path} cannot be changed: {e}.", path=path, e=reason)


def error_sentence(error: ChangeError | OSError) -> str:
    """Return an error as one sentence for the person."""
    if isinstance(error, OSError):
        where = f": {os.fspath(error.filename)!r}" if error.filename else ""
        return _("The system answered: {strerror}{where}.", strerror=error.strerror or error, where=where)
    return str(error)
