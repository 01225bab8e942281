"""Which expressions Python surely evaluates when it runs a statement, and the values of conditions on releases, modules
or the system.

Source: https://docs.python.org/3/reference/expressions.html#evaluation-order and compound_stmts.html.
"""

from __future__ import annotations

import ast
import builtins
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import caught_types, chain_of, children, is_for_the_checker, last_name, uncalled
from core.common.versions import parse_python_version, whole_number

_ASKED = ("torch", "triton", "numpy", "scipy", "transformers", "tokenizers", "safetensors", "sentencepiece")
"""Modules for which ``is_X_available()`` has no further conditions, in every package that has such a function."""

UNKNOWN = object()
"""The value of an expression that cannot be determined from text."""

_COMPARED: Mapping[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: lambda a, b: a is b,
    ast.IsNot: lambda a, b: a is not b,
}


class Surroundings(Protocol):
    """The facts that an expression may depend on."""

    @property
    def python(self) -> tuple[int, int]:
        """The interpreter's major and minor version."""

    @property
    def platform(self) -> str:
        """sys.platform."""

    def is_installed(self, module: str) -> bool | None:
        """Whether a module can be found; None if unknown."""

    def is_recorded(self, distribution: str) -> bool:
        """Whether a distribution of this name is installed."""

    def release(self, module: str) -> str:
        """Return the version of the distribution that provides a module; empty if unknown."""


class Values(NamedTuple):
    """What the names in a module refer to."""

    modules: Mapping[str, str]
    """Name -> the module that it refers to."""
    values: Mapping[str, object]
    functions: Mapping[str, ast.FunctionDef] = {}


# --- conditions -------------------------------------------------------------------------------------------------------


def truth_of(test: ast.expr, names: Values, around: Surroundings) -> bool | None:
    """Return the truth value of a condition; None if the text does not determine it."""
    found = value_of(test, names, around)
    return None if found is UNKNOWN else bool(found)


def value_of(node: ast.expr, names: Values, around: Surroundings) -> object:
    """Return the value of an expression; UNKNOWN if the text does not determine it."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            found = truth_of(inner, names, around)
            return UNKNOWN if found is None else not found
        case ast.BoolOp(op=op, values=several):
            answers = [truth_of(one, names, around) for one in several]
            decides = isinstance(op, ast.Or)
            if decides in answers:
                return decides
            return UNKNOWN if None in answers else not decides
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _compared(value_of(left, names, around), op, value_of(right, names, around))
        case ast.Tuple(elts=several):
            found_all = tuple(value_of(one, names, around) for one in several)
            return UNKNOWN if UNKNOWN in found_all else found_all
        case ast.Name(id=name):
            return False if is_for_the_checker(node) else names.values.get(name, UNKNOWN)
        case ast.Subscript(value=inner, slice=index):
            return _part(value_of(inner, names, around), index)
        case ast.Attribute():
            return _attribute(node, names, around)
        case ast.Call():
            return _called(node, names, around)
        case ast.ListComp(elt=each, generators=[one]) | ast.GeneratorExp(elt=each, generators=[one]):
            return _each(each, one, names, around)
    return UNKNOWN


def _attribute(node: ast.Attribute, names: Values, around: Surroundings) -> object:
    chain = chain_of(node)
    if is_for_the_checker(node):
        return False
    module = names.modules.get(chain[0], "") if len(chain) == 2 else ""
    match (module, node.attr):
        case ("sys", "version_info"):
            return _Release(around.python)
        case ("sys", "platform"):
            return around.platform
        case ("os", "name"):
            return "nt" if around.platform == "win32" else "posix"
        case (str(owner), "__version__") if owner:
            return around.release(owner) or UNKNOWN
    its = value_of(node.value, names, around)
    if isinstance(its, _Release) and node.attr in ("major", "minor"):
        return its[0 if node.attr == "major" else 1]
    if node.attr in ("release", "base_version", "major", "minor", "micro") and hasattr(its, "base_version"):
        return getattr(its, node.attr)
    return UNKNOWN


def _called(node: ast.Call, names: Values, around: Surroundings) -> object:
    chain = chain_of(node.func)
    name = last_name(node.func)
    if isinstance(node.func, ast.Name) and name in names.functions:
        return _of_function(names.functions[name], node, names, around)
    its = [value_of(a, names, around) for a in node.args] if not node.keywords else [UNKNOWN]
    match name, its:
        case (
            ("parse" | "Version" | "LooseVersion" | "StrictVersion" | "parse_version" | "digit_version"),
            [str(text)],
        ):
            return parse_python_version(text) or UNKNOWN
        case "find_spec", [str(module)]:
            found = around.is_installed(module)
            return UNKNOWN if found is None else (True if found else None)
        case (("RequirementCache" | "package_available" | "module_available"), [str(requirement)]):
            return _is_there(requirement, around)
        case "version", [str(distribution)] if _is_metadata(chain, names):
            return around.release(distribution.replace("-", "_")) or UNKNOWN
        case "first_version_is_lower", [str(one), str(other)]:  # grpc/_utilities.py, of code that grpcio-tools writes
            mine, wanted = parse_python_version(one), parse_python_version(other)
            return UNKNOWN if mine is None or wanted is None else mine < wanted
        case "startswith", [str(begin)] if isinstance(node.func, ast.Attribute):
            value = value_of(node.func.value, names, around)
            return value.startswith(begin) if isinstance(value, str) else UNKNOWN
        case "split", [str(by)] if isinstance(node.func, ast.Attribute):
            value = value_of(node.func.value, names, around)
            return tuple(value.split(by)) if isinstance(value, str) and by else UNKNOWN
        case "int", [str(digits)]:
            return UNKNOWN if (number := whole_number(digits)) is None else number
        case "map", [_, tuple(several)] if chain_of(node.args[0]) == ("int",):
            numbers = tuple(whole_number(one) if isinstance(one, str) else None for one in several)
            return UNKNOWN if None in numbers else numbers
        case (("tuple" | "list"), [tuple(several)]):
            return several
        case _, [] if (asked := re.fullmatch(r"is_(\w+)_available", name)) and asked[1] in _ASKED:
            found = around.is_installed(asked[1])
            return UNKNOWN if found is None else found
    return UNKNOWN


def _is_there(requirement: str, around: Surroundings) -> object:
    """Return whether a requirement is installed, by the rules of lightning_utilities and its imitators.

    It is False if neither a module nor a distribution has the name, and True for a bare name that has a module.
    """
    name, *more = re.split(r"(?=[<>=!~ \[;])", requirement.strip(), maxsplit=1)
    found = around.is_installed(name.replace("-", "_"))
    if found is False and not around.is_recorded(name):
        return False
    return True if found and not more else UNKNOWN


def _each(each: ast.expr, one: ast.comprehension, names: Values, around: Surroundings) -> object:
    """Return the values of an expression for each part of what is known."""
    several = value_of(one.iter, names, around)
    if not isinstance(several, tuple) or one.ifs or not isinstance(one.target, ast.Name):
        return UNKNOWN
    name = one.target.id
    found = [value_of(each, names._replace(values={**names.values, name: part}), around) for part in several]
    return UNKNOWN if UNKNOWN in found else tuple(found)


def _of_function(its: ast.FunctionDef, call: ast.Call, names: Values, around: Surroundings) -> object:
    """Return what a function returns that does nothing else."""
    body = (
        its.body[1:] if isinstance(its.body[0], ast.Expr) and isinstance(its.body[0].value, ast.Constant) else its.body
    )
    given, wanted = call.args, [a.arg for a in its.args.args]
    if (
        len(body) != 1
        or not isinstance(body[0], ast.Return)
        or body[0].value is None
        or call.keywords
        or len(given) != len(wanted)
    ):
        return UNKNOWN
    bound = {a: chain_of(node) for a, node in zip(wanted, given, strict=True)}
    modules = {a: names.modules[c[0]] for a, c in bound.items() if len(c) == 1 and c[0] in names.modules}
    values = {a: value_of(node, names, around) for a, node in zip(wanted, given, strict=True) if a not in modules}
    other = {name: one for name, one in names.functions.items() if one is not its}  # no function of itself
    inner = Values({**names.modules, **modules}, {**names.values, **values}, other)
    return value_of(body[0].value, inner, around)


def _is_metadata(chain: tuple[str, ...], names: Values) -> bool:
    """Whether a function named ``version`` is importlib.metadata's."""
    its = names.modules.get(chain[0], "") if chain else ""
    return ".".join((its, *chain[1:])) in ("importlib.metadata.version", "importlib_metadata.version")


class _Release(tuple[int, ...]):
    """The first parts of sys.version_info; the others are not known."""

    __slots__ = ()


def _compared(left: object, op: ast.cmpop, right: object) -> object:
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    if isinstance(left, _Release) and isinstance(right, tuple):
        if len(right) > len(left) and right[: len(left)] == left:
            return UNKNOWN
        left = (*left, 0)  # A release has more parts than the known ones.
    how = _COMPARED.get(type(op))
    try:
        found = UNKNOWN if how is None else how(left, right)
    except TypeError:
        return UNKNOWN
    return found if how is None or _is_sure(left, right, lambda a, b: how(a, b) == found) else UNKNOWN


def _is_sure(left: object, right: object, alike: Callable[[object, object], bool]) -> bool:
    """Whether two releases compare the same as texts and as versions.

    A package may compare them in either way, and a release may have a local part ("2.6.0+cu124").
    """
    if isinstance(left, str) and isinstance(right, str):
        one, other = parse_python_version(left), parse_python_version(right)
        return one is None or other is None or (one != other and alike(one, other))
    return left != right or not hasattr(left, "base_version")


def _part(value: object, index: ast.expr) -> object:
    match index:
        case ast.Constant(value=int(at)) if isinstance(value, tuple) and 0 <= at < len(value):
            return value[at]
        case ast.Slice(lower=None, upper=ast.Constant(value=int(end)), step=None) if isinstance(value, tuple):
            return tuple(value[:end]) if 0 <= end <= len(value) else UNKNOWN
    return UNKNOWN


# --- what is evaluated ------------------------------------------------------------------------------------------------


def attribute_chains(node: ast.AST | None) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield line and names of each chain of attributes that evaluating an expression surely looks up."""
    match node:
        case None | ast.Lambda() | ast.Constant() | ast.Name():
            return
        case ast.Attribute(value=inner):
            if chain := chain_of(node):
                yield node.lineno, chain
            else:
                yield from attribute_chains(inner)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            yield from attribute_chains(node.generators[0].iter)
        case ast.IfExp(test=test):
            yield from attribute_chains(test)
        case ast.BoolOp(values=several):
            yield from attribute_chains(several[0])
        case ast.Compare(left=left, comparators=several):
            yield from attribute_chains(left)
            yield from attribute_chains(several[0])
        case _:
            for part in children(node):
                yield from attribute_chains(part)


def definition_expressions(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, *, annotated: bool
) -> Iterator[ast.expr]:
    """Yield the expressions that Python evaluates at the definition of a function or class, without its body."""
    yield from node.decorator_list
    if isinstance(node, ast.ClassDef):
        yield from node.bases
        yield from (word.value for word in node.keywords)
        return
    its = node.args
    yield from its.defaults
    yield from (one for one in its.kw_defaults if one is not None)
    if annotated:
        named = (*its.posonlyargs, *its.args, its.vararg, *its.kwonlyargs, its.kwarg)
        yield from (one.annotation for one in named if one is not None and one.annotation is not None)
        if node.returns is not None:
            yield node.returns


# --- what is caught ---------------------------------------------------------------------------------------------------


def catches_error(handler: ast.ExceptHandler, error: str) -> bool | None:
    """Whether a handler catches an error of this name; None if the text does not determine it. No name stands for an error that is not known."""
    found = [_catches(last_name(one), error) for one in caught_types(handler)] if handler.type else [True]
    return True if True in found else None if None in found else False


def _catches(name: str, error: str) -> bool | None:
    kind, raised = getattr(builtins, name, None), getattr(builtins, error, None)
    if isinstance(kind, type) and isinstance(raised, type):
        return issubclass(raised, kind)
    return name in ("Exception", "BaseException", error) or None


def handler_of_unbound_name(node: ast.Try, text: str) -> ast.ExceptHandler | None:
    """Return the handler that Python comes to where a module tries a name of its own that nothing binds before; None for any other.

    NumPy and SciPy ask so whether their own set-up script imports them. No ``import *`` brings a name with an underscore.
    """
    match node:
        case ast.Try(
            body=[ast.Expr(value=ast.Name(id=name))],
            handlers=[ast.ExceptHandler(type=ast.Name(id="NameError")) as handler],
            orelse=[],
            finalbody=[],
        ) if name.startswith("_") and name not in vars(builtins):
            before = "\n".join(text.splitlines()[: node.body[0].lineno - 1])
            return None if re.search(rf"\b{name}\b", before) else handler
    return None


def name_of_error(raised: ast.expr | None) -> str:
    """Return the name of the raised exception; empty if unknown."""
    return last_name(uncalled(raised)) if raised is not None else ""


def ends_with_raise(body: list[ast.stmt]) -> bool:
    """Whether a block raises on every path."""
    match body[-1] if body else None:
        case ast.Raise():
            return True
        case ast.If(body=first, orelse=second):
            return bool(second) and ends_with_raise(first) and ends_with_raise(second)
        case ast.With(body=inner):
            return ends_with_raise(inner)
    return False


def ends_program(body: list[ast.stmt]) -> bool:
    """Whether a block ends the program on its last line: ``sys.exit(1)``."""
    match body[-1] if body else None:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="sys" | "os"), attr="exit" | "_exit"))):
            return not any(may_return(node) for node in body)
        case ast.Expr(value=ast.Call(func=ast.Name(id="exit" | "quit"))):
            return not any(may_return(node) for node in body)
    return False


def may_return(node: ast.stmt) -> bool:
    """Whether a statement may return from the function that contains it."""
    todo: list[ast.AST] = [node]
    while todo:
        its = todo.pop()
        if isinstance(its, ast.Return):
            return True
        if not isinstance(its, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            todo.extend(children(its))
    return False


def is_harmless(node: ast.With) -> bool:
    """Whether a with statement lets every exception through, as ``warnings.catch_warnings`` does."""
    called = (i.context_expr.func for i in node.items if isinstance(i.context_expr, ast.Call))
    names = [last_name(f) for f in called]
    return len(names) == len(node.items) and all(n == "catch_warnings" for n in names)


_SWALLOWING = late_pattern(r"(?i)suppress|ignor|raises|assert|catch|exitstack|retry|timeout")
"""Names of context managers that may stop an exception."""


def swallows_errors(node: ast.With) -> bool:
    """Whether a with statement may stop an exception, as ``contextlib.suppress`` does; judged by its name alone."""
    return not is_harmless(node) and any(_SWALLOWING.search(ast.unparse(i.context_expr)) for i in node.items)


def evaluated(node: ast.stmt) -> ast.expr | None:
    """Return the expression that a simple statement, or the head of a loop, evaluates."""
    match node:
        case ast.Expr(value=value) | ast.Assign(value=value) | ast.AugAssign(value=value) | ast.AnnAssign(value=value):
            return value
        case ast.For(iter=over):
            return over
    return None


def has_future_annotations(body: Iterable[ast.stmt]) -> bool:
    """Whether the module postpones the evaluation of annotations (``from __future__ import annotations``)."""
    return any(
        isinstance(n, ast.ImportFrom) and n.module == "__future__" and any(a.name == "annotations" for a in n.names)
        for n in body
    )
