"""What a piece of code computes from variables: the values of Python expressions, as far as constants and variables decide them.

It is Python's own arithmetic on texts, numbers and lists, nothing of the examined package: no code of it runs. Whatever depends on
anything else is UNKNOWN. Files are asked for, programs are looked for on PATH.
"""

from __future__ import annotations

import ast
import builtins
import json
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import SplitResult, urlsplit

import msgspec

from core.common.late_pattern import late_pattern
from core.probes.programs.follow import find_named
from core.probes.sysroot import Sysroot
from core.probes.variables.accepted_values import SWITCHES
from core.probes.variables.places import write_obstacle

UNKNOWN: Any = type("Unknown", (), {"__repr__": lambda _self: "UNKNOWN"})()
"""A value that text and variables do not decide."""
MOST_LETTERS = 4096
"""Longest text that is computed."""
MOST_BITS = 4096
"""Longest number that is computed: Python multiplies longer ones without end, and lets no other thread work meanwhile."""
MOST_PARTS = 4096
"""Most values that a list contains, those of inner lists included."""
MOST_REPEATED = 256
"""Longest list that is walked through."""


class CodeRaises(Exception):  # noqa: N818 - an exception of the examined code
    """The examined code raises an exception."""

    def __init__(self, kind: str, line: int, says: str = "") -> None:
        super().__init__(kind, line, says)
        self.kind, self.line, self.says = kind, line, says


class Environ(msgspec.Struct, frozen=True):
    """``os.environ``."""


class Module(msgspec.Struct, frozen=True):
    """A module of Python's own library, or a part of one."""

    name: str


class Place(msgspec.Struct, frozen=True):
    """A ``pathlib.Path``."""

    path: str


class Function(msgspec.Struct, frozen=True):
    """A function of the examined code."""

    node: ast.FunctionDef
    scope: dict[str, Any]


class Elsewhere(msgspec.Struct, frozen=True):
    """A name of another module of the package: it is looked up where its value counts."""

    module: str
    name: str


class Kind(msgspec.Struct, frozen=True):
    """A class of the examined code."""

    name: str
    bases: tuple[str, ...]
    members: dict[str, Any]

    @property
    def is_enum(self) -> bool:
        """Whether its members are those of an enumeration."""
        return any(b.rpartition(".")[2].endswith("Enum") for b in self.bases) and "_missing_" not in self.members


class Around(msgspec.Struct, frozen=True):
    """What the examined code may ask of the machine."""

    env: dict[str, str]
    where: Sysroot
    folder: str
    """The working folder."""
    version: tuple[int, ...] = ()
    """Of the Python that runs the code; empty where it is not known."""
    until: float = float("inf")
    """Processor time of the thread at which code is left, in seconds."""


STANDARD = frozenset(
    (
        "os",
        "os.path",
        "sys",
        "re",
        "json",
        "pathlib",
        "shutil",
        "subprocess",
        "ast",
        "urllib.parse",
        "distutils.util",
        "platform",
    )
)
TEXT_METHODS = frozenset((
    "lower", "upper", "strip", "lstrip", "rstrip", "split", "rsplit", "startswith", "endswith", "replace", "partition", "rpartition", "isdigit",
    "isdecimal", "isnumeric", "isalpha", "isalnum", "isidentifier", "casefold", "title", "capitalize", "join", "removeprefix", "removesuffix", "find",
    "index", "rindex", "count", "splitlines", "encode", "islower", "isupper", "swapcase",
))  # fmt: skip
LIST_METHODS = frozenset(
    ("index", "count", "copy", "keys", "values", "items", "get", "union", "intersection", "issubset", "difference")
)
"""Methods of texts and lists that change nothing."""
PLAIN_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "int": int, "float": float, "bool": bool, "str": str, "len": len, "min": min, "max": max, "sorted": sorted, "list": list, "tuple": tuple,
    "set": set, "frozenset": frozenset, "dict": dict, "any": any, "all": all, "abs": abs, "sum": sum,
    "round": lambda x, n=None: round(x, n) if n is None or abs(n) < MOST_REPEATED else UNKNOWN, "enumerate": lambda x: list(enumerate(x)),
    "zip": lambda *x: list(zip(*x, strict=False)), "range": lambda *x: list(range(*x)) if all(abs(n) < MOST_REPEATED for n in x) else UNKNOWN,
    "json.loads": json.loads, "ast.literal_eval": ast.literal_eval, "urllib.parse.urlparse": urlsplit, "urllib.parse.urlsplit": urlsplit,
    "reversed": lambda x: list(reversed(x)), "repr": repr, "ord": ord, "hex": hex,
}  # fmt: skip
_OPERATORS: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne,
    ast.Is: lambda a, b: a is b or (isinstance(a, str | int) and a == b), ast.IsNot: lambda a, b: not (a is b or (isinstance(a, str | int) and a == b)),
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
}  # fmt: skip
PLAIN_TYPES = (str, int, float, bool, type(None), list, tuple, dict, set, frozenset, bytes, SplitResult)
SUBPROCESS_FUNCTIONS = ("run", "call", "check_call", "check_output", "Popen")


def is_known(value: object) -> bool:
    """Whether a value is known with all that it contains, and small enough to be followed."""
    todo, count = [value], 0
    while todo:
        its = todo.pop()
        if its is UNKNOWN or (isinstance(its, int) and its.bit_length() > MOST_BITS):
            return False
        if isinstance(its, list | tuple | set | frozenset | dict):
            count += 1 + len(its)
            if count > MOST_PARTS:
                return False
            todo += its
            todo += its.values() if isinstance(its, dict) else ()
    return True


def is_plain(value: object) -> bool:
    """Whether Python's own functions may be applied to a value."""
    return (
        isinstance(value, PLAIN_TYPES)
        and is_known(value)
        and not (isinstance(value, str) and len(value) > MOST_LETTERS)
    )


def apply_function(
    function: Callable[..., Any], values: tuple[Any, ...], line: int, keywords: Mapping[str, Any] | None = None
) -> Any:
    """Return a function's result on plain values.

    Raises:
        CodeRaises: as the examined code would.
    """
    if not all(is_plain(v) for v in (*values, *(keywords or {}).values())):
        return UNKNOWN
    if function in (operator.mul, operator.mod) and any(isinstance(v, str | list) for v in values):
        return UNKNOWN
    try:
        found = function(*values, **(keywords or {}))
    except (
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        ZeroDivisionError,
        AttributeError,
        OverflowError,
        SyntaxError,
    ) as e:
        if isinstance(e, TypeError | AttributeError | SyntaxError) and not isinstance(e, json.JSONDecodeError):
            return UNKNOWN  # more likely that reading went astray
        raise CodeRaises(type(e).__name__, line, str(e)) from None
    except (MemoryError, RecursionError):
        return UNKNOWN
    return found if is_plain(found) or isinstance(found, SplitResult) else UNKNOWN


def apply_operator(left: Any, way: ast.AST, right: Any, line: int) -> Any:
    """Return the value of a comparison or of arithmetic on two values."""
    if isinstance(way, ast.Is | ast.IsNot | ast.Eq | ast.NotEq) and (left is None or right is None):
        if UNKNOWN in (left, right) if not isinstance(left, list | dict | set) else right is UNKNOWN:
            return UNKNOWN
        same = left is None and right is None
        return same if isinstance(way, ast.Is | ast.Eq) else not same
    if isinstance(way, ast.In | ast.NotIn) and isinstance(right, Environ):
        return UNKNOWN
    function = _OPERATORS.get(type(way))
    return apply_function(function, (left, right), line) if function else UNKNOWN


def module_attribute(module: str, name: str, around: Around) -> Any:
    """Return an attribute of a module of Python's own."""
    whole = f"{module}.{name}"
    linux = around.where.system == "linux"
    if whole in ("distutils.util", "urllib.parse", "os.path"):
        return Module(whole)
    known = {
        "os.environ": Environ(), "os.name": "posix" if linux else "nt", "os.sep": "/" if linux else "\\", "os.pathsep": ":" if linux else ";",
        "os.path.sep": "/" if linux else "\\", "sys.platform": "linux" if linux else "win32",
    }  # fmt: skip
    if whole in known:
        return known[whole]
    if whole == "sys.version_info":
        return around.version or UNKNOWN
    return Module(whole) if module in STANDARD else UNKNOWN


def call_standard(name: str, values: tuple[Any, ...], keywords: Mapping[str, Any], line: int, around: Around) -> Any:  # noqa: C901, PLR0912 - one line for each function
    """Return the result of a function of Python's own library.

    Raises:
        CodeRaises: it raises an exception.
    """
    first: Any = values[0] if values else UNKNOWN
    paths = around.where.path_module
    if isinstance(first, Place):
        first, values = first.path, (first.path, *values[1:])
    if name in PLAIN_FUNCTIONS:
        return apply_function(PLAIN_FUNCTIONS[name], values, line, keywords)
    text = first if isinstance(first, str) else None
    match name:
        case "os.getenv" | "os.environ.get":
            if text is None:
                return UNKNOWN
            return around.env.get(text, values[1] if len(values) > 1 else keywords.get("default"))
        case "os.path.exists" | "os.path.isfile" | "os.path.isdir" | "os.path.lexists" if text:
            return _asked(name.rpartition(".")[2], text, around)
        case "os.path.expanduser" if text is not None:
            home = around.env.get("HOME", "")
            return home + text[1:] if text[:2] in ("~", "~/") and home else text if text[:1] != "~" else UNKNOWN
        case "os.path.expandvars" if text is not None and "$" not in text:
            return text
        case "os.path.join" if all(isinstance(v, str) for v in values):
            return _joined(values, around)
        case "os.path.basename" | "os.path.dirname" | "os.path.normpath" | "os.path.isabs" if text is not None:
            return getattr(paths, name.rpartition(".")[2])(text)
        case "os.path.abspath" | "os.path.realpath" if text is not None and paths.isabs(text):
            return paths.normpath(text)
        case "os.add_dll_directory" if text is not None and around.where.system == "windows":
            return _registered(text, line, around)
        case "os.makedirs" | "os.mkdir" if text:
            return _made(text, line, around)
        case "platform.system":
            return "Linux" if around.where.system == "linux" else "Windows"
        case "shutil.which" if text:
            return find_named(text, {"PATH": around.env.get("PATH", "")}, around.where, around.folder) or None
        case "pathlib.Path" | "pathlib.PurePath" if text is not None and all(isinstance(v, str) for v in values):
            found = _joined(values, around) if values else "."
            return UNKNOWN if found is UNKNOWN else Place(found)
        case "re.match" | "re.fullmatch" | "re.search" if (
            text is not None and len(values) > 1 and isinstance(values[1], str)
        ):
            return _matched(name.rpartition(".")[2], text, values[1])
        case "distutils.util.strtobool" | "strtobool" if text is not None:
            if text.lower() not in SWITCHES or not text:
                raise CodeRaises("ValueError", line, f"invalid truth value {text!r}")
            return int(text.lower() in ("y", "yes", "t", "true", "on", "1"))
        case "open" if (
            text
            and _asked("lexists", text, around) is False
            and str(values[1:2] or keywords.get("mode", "r")).strip("('\",)")[:1] in ("r", "")
        ):
            raise CodeRaises("FileNotFoundError", line, f"No such file or directory: {text!r}")
        case "os.listdir" | "os.scandir" | "os.chdir" if text and _asked("exists", text, around) is False:
            raise CodeRaises("FileNotFoundError", line, f"No such file or directory: {text!r}")
        case "isinstance" if len(values) == 2 and is_plain(first) and isinstance(values[1], Module):
            kind = getattr(builtins, values[1].name, None)
            return isinstance(first, kind) if isinstance(kind, type) else UNKNOWN
    if name.startswith("subprocess.") and name.rpartition(".")[2] in SUBPROCESS_FUNCTIONS and not keywords.get("shell"):
        program = first[0] if isinstance(first, list | tuple) and first else first
        if isinstance(program, str) and program and " " not in program and not _program(program, around):
            raise CodeRaises("FileNotFoundError", line, f"No such file or directory: {program!r}")
    return UNKNOWN


def _registered(path: str, line: int, around: Around) -> None:
    """Give Windows a folder for DLLs.

    Raises:
        CodeRaises: AddDllDirectory refuses a path that is not whole (87), and a folder that is not there.
    """
    if not around.where.path_module.isabs(path):
        raise CodeRaises("OSError", line, f"[WinError 87] The parameter is incorrect: '{path}'")
    if _asked("isdir", path, around) is False:
        raise CodeRaises("FileNotFoundError", line, f"[WinError 2] The system cannot find the file specified: '{path}'")


def _made(path: str, line: int, around: Around) -> None:
    """Make a folder: nothing is made, but what stands in the way is found.

    Raises:
        CodeRaises: the folder cannot be made.
    """
    place = path
    if not around.where.path_module.isabs(place):
        return  # the working folder of programs is not known
    if not around.where.is_folder(place) and (at := write_obstacle(place, around.where)):
        kind = (
            "PermissionError"
            if around.where.is_folder(at)
            else "FileExistsError"
            if at == place
            else "NotADirectoryError"
            if around.where.exists(at)
            else "FileNotFoundError"  # a drive of Windows that is not there
        )
        raise CodeRaises(kind, line, f"{place!r}")


def call_path_method(place: Place, name: str, values: tuple[Any, ...], around: Around, line: int = 0) -> Any:
    """Return the result of a method of a path."""
    paths = around.where.path_module
    match name:
        case "exists" | "is_file" | "is_dir":
            return _asked(name.replace("_", ""), place.path, around)
        case "expanduser":
            found = call_standard("os.path.expanduser", (place.path,), {}, 0, around)
            return Place(found) if isinstance(found, str) else UNKNOWN
        case "resolve" | "absolute" if paths.isabs(place.path):
            return Place(paths.normpath(place.path))
        case "mkdir":
            return _made(place.path, line, around)
        case "joinpath" if all(isinstance(v, str) for v in values):
            found = _joined((place.path, *values), around)
            return UNKNOWN if found is UNKNOWN else Place(found)
        case "is_absolute":
            return paths.isabs(place.path)
    return UNKNOWN


def _joined(parts: tuple[str, ...], around: Around) -> Any:
    return around.where.path_module.join(*parts) if sum(map(len, parts)) <= MOST_LETTERS else UNKNOWN


def _asked(question: str, path: str, around: Around) -> Any:
    where, place = around.where, path
    if not where.path_module.isabs(place):
        return UNKNOWN  # the working folder of programs is not known
    if question in ("isfile", "isdir"):
        return where.is_file(place) if question == "isfile" else where.is_folder(place)
    return where.exists(place)


def _program(name: str, around: Around) -> str:
    if "/" in name and not around.where.path_module.isabs(name):
        return name  # the working folder of programs is not known
    return find_named(name, {"PATH": around.env.get("PATH", "")}, around.where, around.folder)


_NESTED = late_pattern(r"[*+}]\)?[*+{]|\([^()*+]*+[*+][^()]*+\)[*+{]")
"""Patterns that may take long."""


def _matched(way: str, pattern: str, text: str) -> Any:
    if len(pattern) > 200 or len(text) > 400 or _NESTED.search(pattern):
        return UNKNOWN
    try:
        return True if getattr(re, way)(pattern, text) else None
    except re.error:
        return UNKNOWN
