"""Guard: a constraint in the environment's own configuration, so that no later installation replaces the build.

pip reads ``pip.conf`` in an environment's folder for every command there (pip's documentation, "Configuration", site).
uv has no such file; it reads the variable UV_CONSTRAINT, which the environment's activation can set.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from core.common.i18n import _
from core.fixes.variables import activation_change
from core.model.changes import Change, ChangeError, ExchangePackages, FileItem, FileSet

CONSTRAINTS = "convalesce-constraints.txt"
CONFIGURATION = "pip.conf"


def guard_changes(changes: tuple[Change, ...], *, uv: bool) -> tuple[Change, ...]:
    """Return the changes that keep the builds of a prepared change of packages as they will be; none where it has none.

    A build is the part of a version after "+": 2.8.0+cu128.

    Raises:
        ChangeError: the environment has its own constraints already, or a path that pip cannot read from its file.
    """
    made = next((c for c in changes if isinstance(c, ExchangePackages) and c.is_prepared), None)
    pins = [f"{p.name}=={p.version}" for p in made.come if "+" in p.version] if made else []
    if made is None or not pins:
        return ()
    file = Path(made.prefix) / CONSTRAINTS
    if file.exists():
        raise ChangeError(_("{file} exists: a guard is there already.", file=file))
    items = [_text_item(file, "", "".join(f"{p}\n" for p in pins))]
    if not uv:
        items.append(_configuration(made.prefix, str(file)))
    files = FileSet(
        title=_(
            "Keep {packages} when something else is installed in {prefix}", packages=", ".join(pins), prefix=made.prefix
        ),
        items=tuple(items),
    )
    return (files, activation_change(made.prefix, f"set {file}", "UV_CONSTRAINT")) if uv else (files,)


def _configuration(prefix: str, file: str) -> FileItem:
    if re.search(r"\s", file):
        raise ChangeError(
            _("pip cannot read a path with a space from its configuration, so {file} has no effect.", file=file)
        )
    path = Path(prefix) / CONFIGURATION
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    if re.search(r"^\s*constraint\s*[=:]", old, re.MULTILINE):
        raise ChangeError(_("{path} already sets its own constraints.", path=path))
    line = f"constraint = {file}\n"
    new, count = re.subn(r"^\[install\][ \t]*\n", lambda m: m[0] + line, old, count=1, flags=re.MULTILINE)
    if not count:
        new = old + ("" if not old or old.endswith("\n") else "\n") + f"[install]\n{line}"
    return _text_item(path, old, new)


def _text_item(path: Path, old: str, new: str) -> FileItem:
    before = hashlib.sha256(old.encode()).hexdigest() if old else ""
    return FileItem(
        path=str(path), before=before, after=hashlib.sha256(new.encode()).hexdigest(), size=len(new.encode()), text=new
    )
