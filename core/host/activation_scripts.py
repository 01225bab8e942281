"""What activating a Python environment does to variables: steps as text, and the shell lines that carry them out.

The value of a variable in the scope "environment" is text with one step a line: ``set VALUE``, ``unset``, ``unset-if
VALUE`` (any other value stays), ``prepend FOLDER`` or ``drop FOLDER``. Neither venv nor virtualenv nor uv has a folder for activation hooks, so two marked blocks
go into the environment's own ``bin/activate`` (a ``.pth`` file would be too late: the loader reads LD_LIBRARY_PATH
before Python starts), and two into ``bin/activate.fish``. conda has folders for hooks, and the files there are ours alone. Bourne-like
shells and fish are served; what was written is read back from the former.
"""

from __future__ import annotations

import re
import shlex

from core.common.i18n import _
from core.common.late_pattern import late_pattern
from core.model import path_list
from core.model.changes import ChangeError

ACTIVATION_KIND = "activation"
BLOCK_BEGIN, BLOCK_END = "# >>> convalesce >>>", "# <<< convalesce <<<"
_NOTE = '# Written by Convalesce; "convalesce undo" takes it out.'
_NAME = late_pattern(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_STEP = late_pattern(r"(?:unset|(?:set|unset-if) [^\x00-\x1f]*|(?:prepend|drop) [^\x00-\x1f:]+)\Z")
_DATA = late_pattern(r"# convalesce: ([A-Za-z_][A-Za-z0-9_]*) (.*)\Z")
_DEACTIVATE = late_pattern(r"^deactivate *\(\) *\{[ \t]*\n", re.MULTILINE)

Steps = dict[str, str]
"""Variable name -> its steps, one a line."""


def check_steps(name: str, steps: str) -> None:
    """Check that these are valid steps (ChangeError if not)."""
    if not _NAME.match(name):
        raise ChangeError(_("{name} is not a valid variable name.", name=repr(name)))
    if not steps or not all(_STEP.match(s) for s in steps.split("\n")):
        raise ChangeError(
            _("{steps} is not something that an activation can do to {name}.", steps=repr(steps), name=name)
        )


def activation_lines(steps: Steps) -> str:
    """Return the shell lines for activation; comments in them hold the steps, so that they can be read back."""
    rows = [_NOTE]
    for name, text in sorted(steps.items()):
        check_steps(name, text)
        rows += [f"# convalesce: {name} {step}" for step in text.split("\n")]
    for name, text in sorted(steps.items()):
        rows += [f'_CONVALESCE_HAD_{name}="${{{name}+x}}"', f'_CONVALESCE_OLD_{name}="${{{name}-}}"']
        for step in text.split("\n"):
            rows += _shell(name, *step.partition(" ")[::2])
    return "".join(f"{row}\n" for row in rows)


def _shell(name: str, verb: str, value: str) -> list[str]:
    if verb == "unset":
        return [f"unset {name}"]
    if verb == "unset-if":
        return [f'if [ "${{{name}+x}}${{{name}-}}" = {shlex.quote("x" + value)} ]; then unset {name}; fi']
    if verb == "set":
        return [f"export {name}={shlex.quote(value)}"]
    if verb == "prepend":
        return [f'export {name}={shlex.quote(value)}"${{{name}:+:${{{name}}}}}"']
    bare = value.rstrip("/") or "/"
    rows = [f'_CONVALESCE_LIST=":${{{name}-}}:"']
    for letter in path_list.list_separators("linux", name)[1:]:
        rows += [
            f'while case "$_CONVALESCE_LIST" in *"{letter}"*) true ;; *) false ;; esac; do',
            f'    _CONVALESCE_LIST="${{_CONVALESCE_LIST%%"{letter}"*}}:${{_CONVALESCE_LIST#*"{letter}"}}"',
            "done",
        ]
    for folder in (bare, f"{bare}/"):
        rows += [
            f"_CONVALESCE_DROP={shlex.quote(f':{folder}:')}",
            'while case "$_CONVALESCE_LIST" in *"$_CONVALESCE_DROP"*) true ;; *) false ;; esac; do',
            '    _CONVALESCE_LIST="${_CONVALESCE_LIST%%"$_CONVALESCE_DROP"*}:${_CONVALESCE_LIST#*"$_CONVALESCE_DROP"}"',
            "done",
        ]
    return [
        *rows,
        '_CONVALESCE_LIST="${_CONVALESCE_LIST#:}"',
        f'if [ -n "${{_CONVALESCE_LIST%:}}" ]; then export {name}="${{_CONVALESCE_LIST%:}}"; else unset {name}; fi',
        "unset _CONVALESCE_LIST _CONVALESCE_DROP",
    ]


def deactivation_lines(steps: Steps) -> str:
    """Return the shell lines for deactivation, which restore each variable."""
    rows = [_NOTE]
    for name in sorted(steps):
        had, old = f"_CONVALESCE_HAD_{name}", f"_CONVALESCE_OLD_{name}"
        rows += [
            f'if [ -n "${{{had}+x}}" ]; then',
            f'    if [ -n "${{{had}}}" ]; then export {name}="${{{old}}}"; else unset {name}; fi',
            f"    unset {had} {old}",
            "fi",
        ]
    return "".join(f"{row}\n" for row in rows)


# --- fish: https://fishshell.com/docs/current/language.html#path-variables: a name that ends in PATH is a list, which quotes join again


_FISH_DEACTIVATE = late_pattern(r"^function deactivate\b[^\n]*\n", re.MULTILINE)


def fish_activation(steps: Steps) -> str:
    """Return fish's lines for activation. What is set for all of a person's sessions (universal) is never erased."""
    rows = [_NOTE]
    for name, text in sorted(steps.items()):
        check_steps(name, text)
        had, old = f"_CONVALESCE_HAD_{name}", f"_CONVALESCE_OLD_{name}"
        rows += [f"set -g {had} ''", f'if set -q {name}; set -g {had} x; set -g {old} "${name}"; end']
        for step in text.split("\n"):
            rows += _fish(name, *step.partition(" ")[::2])
    return "".join(f"{row}\n" for row in rows)


def _fish(name: str, verb: str, value: str) -> list[str]:
    gone = f"set -eg {name}; or true"
    if verb == "unset":
        return [gone]
    if verb == "unset-if":
        return [f'if set -q {name}; and test "x${name}" = {_quoted("x" + value)}; {gone}; end']
    if verb == "set":
        return [f"set -gx {name} {_quoted(value)}"]
    if verb == "prepend":
        return [
            f'if test -n "${name}"; set -gx {name} {_quoted(value)}":${name}"; else; set -gx {name} {_quoted(value)}; end'
        ]
    bare = value.rstrip("/") or "/"
    listed = f'"${name}"'
    for letter in path_list.list_separators("linux", name)[1:]:
        listed = f"(string replace -a {_quoted(letter)} : -- {listed})"
    return [
        "set -g _convalesce_kept",
        f"for _convalesce_one in (string split : -- {listed})",
        f'    contains -- "$_convalesce_one" {_quoted(bare)} {_quoted(f"{bare}/")}; or set -a _convalesce_kept "$_convalesce_one"',
        "end",
        "set -g _convalesce_kept (string join : -- $_convalesce_kept)",
        f'if test -n "$_convalesce_kept"; set -gx {name} "$_convalesce_kept"; else; {gone}; end',
        "set -eg _convalesce_kept; or true",
    ]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def fish_deactivation(steps: Steps) -> str:
    """Return fish's lines for deactivation, which restore each variable."""
    rows = [_NOTE]
    for name in sorted(steps):
        had, old = f"_CONVALESCE_HAD_{name}", f"_CONVALESCE_OLD_{name}"
        rows += [
            f"if set -q {had}",
            f'    if test -n "${had}"; set -gx {name} "${old}"; else; set -eg {name}; or true; end',
            f"    set -eg {had} {old}; or true",
            "end",
        ]
    return "".join(f"{row}\n" for row in rows)


def with_fish_steps(script: str, steps: Steps) -> str:
    """Return a venv's activate.fish with these steps in place of its present ones; one of another form, and an empty one, as it is."""
    bare = script
    for start, stop in reversed(_blocks(script)):
        bare = bare[:start] + bare[stop:]
    head = _FISH_DEACTIVATE.search(bare)
    if not steps or head is None or not bare.endswith("\n"):
        return bare
    return (
        bare[: head.end()]
        + _block(fish_deactivation(steps), "    ")
        + bare[head.end() :]
        + _block(fish_activation(steps))
    )


def parse_steps(lines: str) -> Steps:
    """Return the steps that the comments in lines made by ``activation_lines`` hold.

    Raises:
        ChangeError: the lines are not as Convalesce wrote them.
    """
    steps: Steps = {}
    for line in lines.split("\n"):
        if data := _DATA.match(line):
            steps[data[1]] = steps[data[1]] + "\n" + data[2] if data[1] in steps else data[2]
    if lines and (not steps or activation_lines(steps) != lines):
        raise ChangeError(_("The lines that Convalesce wrote for this environment have been edited by hand since."))
    return steps


def _block(lines: str, indent: str = "") -> str:
    return "".join(f"{indent}{row}\n" for row in (BLOCK_BEGIN, *lines.rstrip("\n").split("\n"), BLOCK_END))


def steps_in(script: str) -> Steps:
    """Return the steps in a venv's activate script (ChangeError if its blocks are damaged)."""
    blocks = _blocks(script)
    if not blocks:
        return {}
    if len(blocks) != 2:
        raise ChangeError(_("The Convalesce markers in the activate script are damaged."))
    start, stop = blocks[1]
    inner = script[start:stop].split("\n", 1)[1].rpartition(BLOCK_END)[0]
    return parse_steps(inner)


def with_steps(script: str, steps: Steps) -> str:
    """Return a venv's activate script with these steps in place of its present ones; without steps, as it was
    originally.

    Raises:
        ChangeError: it is not an activate script as venv, virtualenv and uv write it, or its blocks are damaged.
    """
    steps_in(script)
    for start, stop in reversed(_blocks(script)):
        script = script[:start] + script[stop:]
    if not steps:
        return script
    head = _DEACTIVATE.search(script)
    if head is None or not script.endswith("\n"):
        raise ChangeError(_("The activate script was not written by venv, virtualenv or uv."))
    return (
        script[: head.end()]
        + _block(deactivation_lines(steps), "    ")
        + script[head.end() :]
        + _block(activation_lines(steps))
    )


def _blocks(script: str) -> list[tuple[int, int]]:
    pattern = rf"^[ ]*{re.escape(BLOCK_BEGIN)}\n.*?^[ ]*{re.escape(BLOCK_END)}\n"
    return [m.span() for m in re.finditer(pattern, script, re.MULTILINE | re.DOTALL)]


def apply_steps(name: str, steps: str, value: str | None, *, again: bool = False) -> str | None:
    """Return a variable's value after its steps, as the lines of ``activation_lines`` compute it; None if it is not
    set.

    ``again``: the environment may be active already, so a folder that is already first is not prepended again.
    """
    for step in steps.split("\n"):
        verb, _space, text = step.partition(" ")
        if verb == "unset":
            value = None
        elif verb == "unset-if":
            value = None if value == text else value
        elif verb == "set":
            value = text
        elif verb == "prepend":
            first = (value or "").partition(":")[0]
            value = value if again and first == text else f"{text}:{value}" if value else text
        else:
            bare = text.rstrip("/") or "/"
            left = [e for e in path_list.split_entries(value or "", "linux", name) if e not in (bare, f"{bare}/")]
            value = ":".join(left) or None
    return value
