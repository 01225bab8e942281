"""JavaScript and TypeScript that start a program with variables of their own: Node's child_process, and execa. Nothing is run.

Source: Node's documentation, "Child process" (options.env replaces the whole environment, and leads to the program by its own PATH).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.common.late_pattern import late_pattern
from core.host.startup.state import UNKNOWN, State, is_name
from core.probes.starting.machine import Ground
from core.probes.starting.projects.launching_code import NAMES_A_PYTHON, launching_files, one_line

Task = tuple[str, int, str, State]
FOLDERS = ("", "src", "server", "backend", "api", "lib", "bin", "scripts", "electron", "main")
ENDINGS = (".js", ".mjs", ".cjs", ".ts", ".mts")
MOST_DEPTH = 4
_CALL = late_pattern(
    r"(?<![\w$])(spawn|spawnSync|exec|execSync|execFile|execFileSync|execa|execaSync|execaCommand)\s*\(|\bprocess\.env\.(\w+)\s*=(?!=)\s*"
)
SHELL = ("exec", "execSync", "execaCommand")
"""Functions whose first argument is a line for a shell, or the whole command."""
_TOKEN = late_pattern(
    r"\s+|//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|\.\.\.|[A-Za-z_$][\w$.]*|[\[\]{}():,]|.",
    re.DOTALL,
)
_OPENS, _CLOSES = "([{", ")]}"


def node_files(ground: Ground) -> Iterator[str]:
    """Return the project's files that may start programs, below the working folder."""
    return launching_files(ground, FOLDERS, ENDINGS)


def node_calls(text: str, path: str, state: State, ground: Ground) -> Iterator[Task]:
    """Yield each command that is started by a Python's path, or with variables of its own: of the call's ``env``, and what ``process.env`` was
    given before.
    """
    if "child_process" not in text and "execa" not in text:
        return
    given: list[tuple[str, str, int]] = []
    for found in _CALL.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        if found[2]:
            value = _value(_tokens(text, found.end(), ends=";\n"), state)
            given.append((found[2], value, line))
            continue
        parts = _parts(_tokens(text, found.end()))
        command = _command(found[1], parts, ground)
        options = next((p for p in parts[1:] if p[:1] == ["{"]), [])
        env = next((v for k, v in _members(options) if k == "env"), None)
        if not command or (env is None and not given and not NAMES_A_PYTHON.match(command)):
            continue
        its = state.apart()
        for name, value, number in given:
            its.export_variable(name, value, path, number, "python")
        rows = _rows(env, text[: found.end()]) if env is not None else [EVERY]
        if rows is not None:
            _apply(rows, text, found.end(), its, path)
            yield f"{found[1]}, line {line}", line, command, its


def _tokens(text: str, at: int, ends: str = "") -> list[str]:
    """Return the words of the code from a place to the bracket that closes it, or to one of ``ends``, without blanks and comments."""
    depth = 0
    out: list[str] = []
    for found in _TOKEN.finditer(text, at):
        word = found[0]
        if ends and not depth and (word in ends or (word.isspace() and "\n" in word)):
            break
        if word.isspace() or word.startswith(("//", "/*")):
            continue
        depth += (word in _OPENS) - (word in _CLOSES)
        if depth < 0 or len(out) > 4000:
            break
        out.append(word)
    return out


def _parts(words: list[str]) -> list[list[str]]:
    """Split words at the commas outside of brackets."""
    out: list[list[str]] = [[]]
    depth = 0
    for word in words:
        depth += (word in _OPENS) - (word in _CLOSES)
        if word == "," and not depth:
            out.append([])
        else:
            out[-1].append(word)
    return [p for p in out if p]


def _members(words: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the members of an object; one that is spread has the name "..."."""
    for part in _parts(words[1:-1]) if words[:1] == ["{"] else ():
        if part[0] == "...":
            yield "...", part[1:]
        elif len(part) > 2 and part[1] == ":":
            yield part[0].strip("\"'"), part[2:]
        elif len(part) == 1:
            yield part[0], part


def _literal(words: list[str]) -> str | None:
    """Return a text that stands in the code as it is."""
    one = words[0] if len(words) == 1 else ""
    if one[:1] in ("'", '"') or (one[:1] == "`" and "${" not in one):
        return re.sub(r"\\(.)", r"\1", one[1:-1], flags=re.DOTALL)
    return None


def _command(called: str, parts: list[list[str]], ground: Ground) -> str:
    first = _literal(parts[0]) if parts else None
    if first is None:
        return ""
    if called in SHELL:
        return first
    rest = _parts(parts[1][1:-1]) if len(parts) > 1 and parts[1][:1] == ["["] else []
    return one_line([first, *(w for r in rest if (w := _literal(r)) is not None)], ground)


def _value(words: list[str], state: State) -> str:
    """Return the text of a value; what the code does not show of it is unknown."""
    told = _literal(words)
    if told is not None:
        return told
    one = words[0] if len(words) == 1 else ""
    if found := re.fullmatch(r"process\.env\.(\w+)", one):
        return state.values.get(found[1], "")
    if one[:1] == "`":
        return re.sub(
            r"\$\{\s*(?:process\.env\.(\w+))?[^}]*\}",
            lambda m: state.values.get(m[1], "") if m[1] else UNKNOWN,
            one[1:-1],
        )
    return one if re.fullmatch(r"\d+", one) else UNKNOWN


Row = tuple[str, list[str]]
"""Name of a variable, and the words of its value."""
EVERY: Row = ("...", [])
"""All variables of this process."""


def _rows(env: list[str], before: str, depth: int = 0) -> list[Row] | None:
    """Return what an object of variables holds, in order; None if the code before does not tell."""
    if env == ["process.env"]:
        return [EVERY]
    if env[:2] == ["Object.assign", "("]:
        parts: list[Row] = [("...", p) for p in _parts(env[2:-1]) if p != ["{", "}"]]
    elif env[:1] == ["{"]:
        parts = list(_members(env))
    else:
        named = _object(env[0], before) if len(env) == 1 and depth < MOST_DEPTH else []
        return _rows(named, before, depth + 1) if named else None
    out: list[Row] = []
    for key, words in parts:
        inner = _rows(words, before, depth + 1) if key == "..." else [(key, words)]
        if inner is None:
            return None
        out += inner
    return out


def _apply(rows: list[Row], text: str, at: int, state: State, path: str) -> None:
    """Give a state the variables of an object that stands at a place of the code."""
    old = State(dict(state.values))
    if EVERY not in rows:
        line = text.count("\n", 0, at) + 1
        state.keep_only((), path, line, "python")
    for key, words in rows:
        value = _value(words, old) if is_name(key) else ""
        if value:  # else it is not set here, and not handed on
            member = re.compile(rf"(?<![\w.$]){re.escape(key)}[\"']?\s*[:,}}]")
            found = member.search(text, at) or member.search(text)
            line = text.count("\n", 0, found.start() if found else at) + 1
            state.export_variable(key, value, path, line, "python")


def _object(name: str, before: str) -> list[str]:
    """Return the object that a name was last given in the code before; empty if that is none."""
    told = list(re.finditer(rf"\b(?:const|let|var)\s+{re.escape(name)}\s*(?::[^=\n]+)?=\s*", before))
    words = _tokens(before, told[-1].end(), ends=";") if told else []
    if words[:1] == ["process.env"]:
        return words[:1]
    if words[:2] != ["Object.assign", "("] and words[:1] != ["{"]:
        return []
    depth = 0
    for number, word in enumerate(words):
        depth += (word in _OPENS) - (word in _CLOSES)
        if not depth and word in _CLOSES:
            return words[: number + 1]
    return []
