"""One consumer's roll calls: as it really starts, and once more without its search path where that made a difference."""

from __future__ import annotations

import re
import stat
import sys
from collections.abc import Mapping

from msgspec.structs import replace

from core.model.facts import Consumer, How, Load, PythonEnvironment, RollCall
from core.model.path_list import searched
from core.probes.loading.consumers import Wish
from core.probes.loading.plan import Plan, Setting, plan
from core.probes.loading.roll_call.parent import by_child, run
from core.probes.sysroot import Places, answering

PATH_VARIABLE = "LD_LIBRARY_PATH"


def load(consumer: Consumer, wish: Wish, python: PythonEnvironment | None, setting: Setting) -> Load:
    """Return a consumer's search and its roll calls."""
    first = plan(consumer, wish, python, setting)
    called = _call(first, setting)
    again: RollCall | None = None
    if called is not None and _path_mattered(first, called):
        env = {name: value for name, value in setting.env.items() if name != PATH_VARIABLE}
        clean = replace_env(setting, env)
        again = _call(plan(consumer, wish, python, clean), clean)
    return Load(
        consumer=consumer,
        major=wish.major,
        resolutions=first.resolutions,
        roll_call=called,
        clean_roll_call=again,
        wanted_version=wish.wanted_version,
        wanted_source=wish.wanted_source,
    )


def replace_env(setting: Setting, env: Mapping[str, str]) -> Setting:
    """Return the setting with another environment of variables."""
    return Setting(setting.request, setting.where, setting.known, env)


def _call(its: Plan, setting: Setting) -> RollCall | None:
    """Make a roll call; None where nothing can be run: another system's files, or no main library."""
    if its.roll is None or not runs_here(setting.where):
        return None
    if pipe := _pipe(its, setting.where):
        return RollCall(library=its.roll.main, ended=f"was not made: {pipe} is no file, and opening it might never end")
    watch = setting.request.watch
    watch.check()
    called = run(
        its.roll,
        its.fragile,
        setting.known,
        by_child(setting.request.host, answering(setting.env, setting.where), watch),
    )
    own = _own_files(its.consumer.prefix, setting)
    mapped = tuple(
        replace(m, origin=origin(own.get(m.path, m.path), its.consumer.prefix, setting.env, setting.where))
        for m in called.mapped
    )
    return replace(called, mapped=mapped)


def _pipe(its: Plan, where: Places) -> str:
    """Return the first pipe, socket or device that the loader would open under a library's name; empty for none."""
    for resolution in its.resolutions:
        for attempt in resolution.attempts:
            if attempt.outcome == "found":
                break
            seen = where.stat(attempt.path) if attempt.outcome == "damaged" else None
            if seen and not (stat.S_ISREG(seen.st_mode) or stat.S_ISDIR(seen.st_mode)):
                return attempt.path
    return ""


def _own_files(prefix: str, setting: Setting) -> dict[str, str]:
    """Return real path -> path of an environment's own cuDNN files: packages may be links into a shared store."""
    copies = (copy for copy in setting.request.seen.cudnn or () if prefix and copy.environment == prefix)
    return {f.real_path: f.path for copy in copies for f in copy.files if f.real_path}


def runs_here(where: Places) -> bool:
    """Whether the examined system is the running one, so that its files may be loaded."""
    ours = "windows" if sys.platform == "win32" else "linux"
    return where.system == ours and where.whole


def _path_mattered(its: Plan, called: RollCall) -> bool:
    """Whether the variable hid another candidate, or stands behind a call that failed: only then it proves something."""
    by_variable = How.LD_LIBRARY_PATH
    hid = any(
        r.winner is not None and r.winner.how is by_variable and any(a.how is not by_variable for a in r.found)
        for r in its.resolutions
    )
    concerned = any(r.winner is not None and r.winner.how is by_variable for r in its.resolutions) or any(
        m.origin == PATH_VARIABLE for m in called.mapped
    )
    failed = bool(called.ended) or any(
        c.result is None or (c.result != 0 and not c.function.startswith("cudnnGet")) for c in called.calls
    )
    return hid or (concerned and failed)


def origin(path: str, prefix: str, env: Mapping[str, str], where: Places) -> str:
    """Return in a few words who owns a file that was mapped."""
    if prefix and _inside(path, prefix, where):
        return "this environment's wheel" if re.search(r"[\\/]nvidia[\\/]", path) else "this environment"
    variable = PATH_VARIABLE if where.system == "linux" else "PATH"
    value = next((v for n, v in env.items() if n.upper() == variable), "")
    folder = where.parent(path)
    system = re.match(r"/(usr/)?lib(32|64)?/|[a-z]:\\windows\\", path, re.IGNORECASE) is not None
    if where.system == "linux" or not system:
        for entry in searched(value, where.system, variable):
            if where.form.isabs(entry) and _same(entry, folder, where):
                return variable
    if re.search(r"[\\/](site|dist)-packages[\\/]", path):
        return "another environment"
    if re.match(
        r"/usr/local/cuda|/opt/cuda|.*\\NVIDIA GPU Computing Toolkit\\|.*\\NVIDIA\\CUDNN\\v\d", path, re.IGNORECASE
    ):
        return "installer"
    return "system" if system else "another folder"


def _same(one: str, two: str, where: Places) -> bool:
    form = where.form
    return bool(form.normcase(form.normpath(one)) == form.normcase(two)) or where.real(one) == where.real(two)


def _inside(path: str, prefix: str, where: Places) -> bool:
    form = where.form
    for base in {prefix, where.real(prefix)}:
        if form.normcase(path).startswith(form.normcase(base).rstrip("\\/") + form.sep):
            return True
    return False
