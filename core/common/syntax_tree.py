"""Python code as a syntax tree: how a text is parsed, and what its simplest expressions say.

What else is read from a tree has one place each, below core/probes/python: ``module_text`` (imports), ``bound_names`` (the names that
statements bind), ``module_getattr`` (those that no statement binds), ``path_expressions`` (texts and paths), ``start_code`` (what statements do to os.environ and sys.path), ``evaluation``
(conditions on releases, and what a handler catches). core/probes/variables/following runs code with the values of variables.

Nodes are walked three times as fast as by ``ast``: without contexts and operators, which have no parts.
"""

from __future__ import annotations

import ast
from ast import AST
from collections.abc import Iterator


def parsed(text: str) -> ast.Module | None:
    """Return the tree of a module's text; None where Python cannot parse it, or where it is nested too deep."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def statements_of(text: str) -> list[ast.stmt]:
    """Return the statements of a module's top level; none where its text cannot be parsed."""
    tree = parsed(text)
    return tree.body if tree else []


def nodes_of(text: str) -> Iterator[AST]:
    """Yield every node of a module's text, what is nearer to the top first; none where it cannot be parsed."""
    tree = parsed(text)
    return ast.walk(tree) if tree else iter(())


def children(node: AST) -> list[AST]:
    """Return the parts of a node, in the order of the text."""
    found = []
    for part in node.__dict__.values():
        kind = part.__class__
        if kind is list:
            found += [one for one in part if isinstance(one, AST)]
        elif kind is not int and kind is not str and isinstance(part, AST) and part._fields:
            found.append(part)
    return found


def walk(node: AST) -> Iterator[AST]:
    """Yield a node and all below it, in no order."""
    todo = [node]
    while todo:
        its = todo.pop()
        yield its
        todo += children(its)


# --- simple expressions -----------------------------------------------------------------------------------------------


def chain_of(node: AST | None) -> tuple[str, ...]:
    """Return the names in a chain of attributes, such as ("np", "random", "rand"); empty for any other expression."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return (node.id, *reversed(names)) if isinstance(node, ast.Name) else ()


def last_name(node: AST | None) -> str:
    """Return the last part of a dotted name, whatever stands before it; empty for any other expression."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def uncalled(node: ast.expr) -> ast.expr:
    """Return what is called, or the expression itself: a decorator and an exception are written in both ways."""
    return node.func if isinstance(node, ast.Call) else node


def constant(node: AST | None) -> object:
    """Return the value of a literal; None for any other expression."""
    return node.value if isinstance(node, ast.Constant) else None


def literal_text(node: AST | None) -> str | None:
    """Return the text of a literal; None for any other expression."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def argument(call: ast.Call, name: str, at: int | None = None) -> ast.expr | None:
    """Return what a call gives for a parameter: at a place, or by its name."""
    if at is not None and at < len(call.args):
        return call.args[at]
    return next((k.value for k in call.keywords if k.arg == name), None)


def call_in_clone(call: ast.Call) -> tuple[ast.expr, ast.Call] | None:
    """Return the folder and the call of ``hubconf`` that ``torch.hub.load(FOLDER, NAME, source="local")`` comes to; None for any other call.

    Source: https://pytorch.org/docs/stable/hub.html#torch.hub.load.
    """
    match call:
        case ast.Call(func=ast.Attribute(attr="load") as func, args=[folder, ast.Constant(value=str(name)), *rest]) if (
            chain_of(func) in (("torch", "hub", "load"), ("hub", "load"))
            and literal_text(argument(call, "source")) == "local"
        ):
            its = ast.Attribute(ast.Name("hubconf"), name)
            words = [k for k in call.keywords if k.arg not in _OF_HUB]
            return folder, ast.copy_location(ast.Call(its, rest, words), call)
    return None


_OF_HUB = ("source", "trust_repo", "force_reload", "verbose", "skip_validation")


def caught_types(handler: ast.ExceptHandler) -> list[ast.expr]:
    """Return the exceptions that a handler names; none where it catches all."""
    its = handler.type
    return its.elts if isinstance(its, ast.Tuple) else [] if its is None else [its]


def is_environ(node: AST) -> bool:
    """Whether an expression is os.environ, by whatever name the code has it."""
    return last_name(node) == "environ"


def is_sys_path(node: AST) -> bool:
    """Whether an expression is sys.path."""
    return chain_of(node) == ("sys", "path")


def is_main(test: AST) -> bool:
    """Whether a condition asks if the module is the program: ``__name__ == "__main__"``."""
    match test:
        case ast.Compare(left=one, ops=[ast.Eq()], comparators=[other]):
            return {last_name(one), last_name(other)} == {"__name__", ""} and "__main__" in (
                constant(one),
                constant(other),
            )
    return False


def is_for_the_checker(test: AST) -> bool:
    """Whether a condition is ``TYPE_CHECKING``."""
    return last_name(test) == "TYPE_CHECKING"
