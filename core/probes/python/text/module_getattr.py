"""Which names a module has that no statement binds, as its text tells: by its __getattr__, and by what code puts into globals().

Source: https://peps.python.org/pep-0562/; __getattr__ of numpy/__init__.py from 1.24 on raises for names that were removed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from core.common.syntax_tree import children, is_for_the_checker, literal_text, statements_of, walk
from core.probes.python.text.evaluation import ends_with_raise

_SEQUENCES = ("frozenset", "set", "tuple", "list", "dict", "sorted")
_READS = ("get", "keys", "values", "items", "copy")


Tables = Mapping[str, frozenset[str]]
"""Name of a display -> its members, or its keys."""


class Factory(NamedTuple):
    """A function that makes a module's __getattr__ of tables that the module spells out."""

    dots: int
    module: str
    """The module that it is imported from; empty if the module itself defines it."""
    name: str


class OwnGetattr(NamedTuple):
    """A module's __getattr__, and the tables beside it."""

    function: ast.FunctionDef
    tables: Tables

    def refuses(self, name: str | None) -> bool:
        """Whether every way through the function surely raises for this name; None stands for one that no text spells."""
        arguments = self.function.args.args
        return len(arguments) == 1 and _ends(self.function.body, arguments[0].arg, name, self.tables) == {"raise"}

    @property
    def serves_spelt_names_only(self) -> bool:
        """Whether it surely raises for every name that no table and no condition spells."""
        return self.refuses(None)

    @property
    def words(self) -> frozenset[str]:
        """The texts that it spells."""
        return frozenset(
            n.value for n in walk(self.function) if isinstance(n, ast.Constant) and isinstance(n.value, str)
        )

    @property
    def refuses_none(self) -> bool:
        """Whether it raises where what it finds in a table is None."""
        return any(
            isinstance(n, ast.If)
            and isinstance(n.test, ast.Compare)
            and isinstance(n.test.ops[0], ast.Is)
            and isinstance(n.test.comparators[0], ast.Constant)
            and n.test.comparators[0].value is None
            and ends_with_raise(n.body)
            for n in walk(self.function)
        )

    def declares_gone(self, name: str) -> bool:
        """Whether it refuses a name that one of its tables spells, as NumPy does with each name that it removed."""
        spelt = any(name in its for table, its in self.tables.items() if table != "__all__")
        return spelt and (self.refuses(name) or self._raises_by_a_table(name))

    def _raises_by_a_table(self, name: str) -> bool:
        """Whether it raises for what stands in a table, and the name does: it stands in no other, then, in which it is looked up first."""
        arguments = self.function.args.args
        if len(arguments) != 1:
            return False
        asked = arguments[0].arg
        looked_up = {table for n in self.function.body if (table := _looked_up(n, asked))}
        rest = [n for n in self.function.body if not _looked_up(n, asked)]
        raising = any(name in self.tables.get(_raised_by(n, asked), ()) for n in rest)
        elsewhere = any(name in self.tables.get(table, ()) for table in looked_up)
        return raising and not elsewhere and _ends(rest, asked, name, self.tables) == {"raise"}


def _raised_by(node: ast.stmt, asked: str) -> str:
    """Return the table for whose members a statement raises; empty for any other statement."""
    match node:
        case ast.If(
            test=ast.Compare(left=ast.Name(id=its), ops=[ast.In()], comparators=[ast.Name(id=table)]),
            body=[ast.Raise()],
        ) if its == asked:
            return table
    return ""


def _looked_up(node: ast.stmt, asked: str) -> str:
    """Return the table in which a statement looks the name up, going on where it is not there; empty for any other statement."""
    match node:
        case ast.Try(
            body=[ast.Assign(value=ast.Subscript(value=ast.Name(id=table), slice=ast.Name(id=its)))],
            handlers=[ast.ExceptHandler(type=ast.Name(id="KeyError"), body=[ast.Pass()])],
        ) if its == asked:
            return table
    return ""


def own_getattr(body: Sequence[ast.stmt]) -> tuple[OwnGetattr | None, Factory | None]:
    """Return the only __getattr__ that a module defines, or the factory that makes it; (None, None) for any other, and for several."""
    statements = [n for top in body for n in _statements(top)]
    found: list[ast.AST] = []
    for node in statements:
        match node:
            case ast.FunctionDef(name="__getattr__"):
                found.append(node)
            case ast.Assign(targets=targets, value=value) if any(
                _stores("__getattr__", n) for t in targets for n in walk(t)
            ):
                found.append(value)
    match found:
        case [ast.FunctionDef() as function]:
            return OwnGetattr(function, dict(_tables(statements))), None
        case [ast.Call(func=func, args=args, keywords=words)]:
            known = dict(_tables(statements))
            if all(_is_spelt(a, known) for a in (*args, *(w.value for w in words))):
                return None, _factory(func, statements)
    return None, None


def _factory(called: ast.expr, statements: Iterable[ast.stmt]) -> Factory | None:
    """Return the function that a module calls, if it defines or imports it."""
    match called:
        case ast.Name(id=name):
            return _imported(statements, name)
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            its = _imported(statements, module)
            return (
                Factory(0, f"{its.module}.{its.name}" if its.module else its.name, name)
                if its and not its.dots
                else None
            )
    return None


def _imported(statements: Iterable[ast.stmt], name: str) -> Factory | None:
    """Return the definition or the import that binds a name which the module calls."""
    for node in statements:
        match node:
            case ast.FunctionDef(name=its) if its == name:
                return Factory(0, "", name)
            case ast.ImportFrom(module=module, level=dots, names=aliases):
                for one in aliases:
                    if (one.asname or one.name) == name:
                        return Factory(dots, module or "", one.name)
            case ast.Import(names=aliases):
                for one in aliases:
                    if (one.asname or one.name) == name:
                        return Factory(0, "", one.name)
    return None


def _is_spelt(value: ast.expr, known: Tables) -> bool:
    match value:
        case ast.Constant() | ast.Name(id="__name__"):
            return True
    return _members(value, known) is not None


def getattr_of_factory(text: str, name: str) -> OwnGetattr | None:
    """Return the __getattr__ that a factory returns; None if it returns none. Its tables are what it is given, which its text does not tell."""
    outer = next((n for n in statements_of(text) if isinstance(n, ast.FunctionDef) and n.name == name), None)
    its = [n for n in outer.body if isinstance(n, ast.FunctionDef) and "getattr" in n.name] if outer else []
    if outer is None or len(its) != 1:
        return None
    given = {a.arg for a in (*outer.args.posonlyargs, *outer.args.args, *outer.args.kwonlyargs)}
    given |= {n.id for s in outer.body for n in walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return OwnGetattr(its[0], dict.fromkeys(given, frozenset()))


def keys_without_value(body: Iterable[ast.stmt]) -> frozenset[str]:
    """Return the keys of tables whose value is a tuple that ends with None."""
    found = set()
    for node in (n for top in body for n in _statements(top)):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Dict):
            for key, value in zip(node.value.keys, node.value.values, strict=True):
                match key, value:
                    case ast.Constant(value=str(name)), ast.Tuple(elts=[*_others, ast.Constant(value=None)]):
                        found.add(name)
    return frozenset(found)


def exported_names(body: Sequence[ast.stmt], *, in_functions: bool = True) -> frozenset[str] | None:
    """Return the members of __all__ where one statement spells them out; ``in_functions``: functions may change names of the module."""
    statements = [n for top in body for n in _statements(top)]
    if not in_functions:
        statements = [n for n in statements if not isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    return dict(_tables(statements)).get("__all__")


def _statements(node: ast.stmt) -> Iterator[ast.stmt]:
    """Yield a statement, and those of its blocks that run in the module's own frame, except for type checkers."""
    yield node
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    for inner in node.orelse if isinstance(node, ast.If) and is_for_the_checker(node.test) else children(node):
        if isinstance(inner, ast.stmt):
            yield from _statements(inner)
        elif isinstance(inner, ast.ExceptHandler):
            for one in inner.body:
                yield from _statements(one)


def _tables(statements: Iterable[ast.stmt]) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the displays that one statement assigns to one name, and no other statement names as a target."""
    found: dict[str, frozenset[str] | None] = {}
    for node in statements:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[name] = None if name in found else _members(value, found)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                found[name] = None if name in found else _members(value, found)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                changed = (n.id for n in walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
                found.update(dict.fromkeys((n for n in changed if n in found), None))
            case ast.AugAssign(target=target) | ast.For(target=target):
                found.update((n.id, None) for n in walk(target) if isinstance(n, ast.Name))
            case ast.Assign(targets=targets):
                named = (n.id for t in targets for n in walk(t) if isinstance(n, ast.Name))
                found.update(dict.fromkeys(named, None))
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
                found[name] = None  # update, append: by whatever
    yield from ((name, members) for name, members in found.items() if members is not None)


def _members(value: ast.expr, known: Mapping[str, frozenset[str] | None]) -> frozenset[str] | None:
    """Return the members of a display, the keys of one with values, or the first parts of tuples; None where they are not spelt."""
    match value:
        case ast.Name(id=name):
            return known.get(name)
        case ast.List(elts=several) | ast.Set(elts=several) | ast.Tuple(elts=several):
            words = [_first_word(one) for one in several]
        case ast.Dict(keys=keys):
            words = [_first_word(one) if one is not None else None for one in keys]
        case ast.Call(func=ast.Name(id=called), args=[inner], keywords=[]) if called in _SEQUENCES:
            return _members(inner, known)
        case ast.DictComp(key=ast.Name(id=key), generators=[ast.comprehension(target=target, iter=over, ifs=[])]):
            first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
            return _members(over, known) if isinstance(first, ast.Name) and first.id == key else None
        case _:
            return None
    return frozenset(w for w in words if w is not None) if None not in words else None


def _first_word(node: ast.expr) -> str | None:
    match node:
        case ast.Constant(value=str(word)) | ast.Tuple(elts=[ast.Constant(value=str(word)), *_]):
            return word
    return None


# --- one name's way through the function ------------------------------------------------------------------------------


def _ends(body: Iterable[ast.stmt], asked: str, name: str | None, tables: Tables) -> set[str]:
    """Return how a block may end for a name: "raise", "return" or "on"; None: for a name that no text spells."""
    ends: set[str] = set()
    for node in body:
        its = _end(node, asked, name, tables)
        ends |= its - {"on"}
        if "on" not in its:
            return ends
    return ends | {"on"}


def _end(node: ast.stmt, asked: str, name: str | None, tables: Tables) -> set[str]:
    match node:
        case ast.Raise():
            return {"raise"}
        case ast.If(test=test, body=first, orelse=second):
            holds = _holds(test, asked, name, tables)
            ways = [b for b, value in ((first, True), (second, False)) if holds in (value, None)]
            return set().union(*(_ends(b, asked, name, tables) for b in ways))
        case ast.With(body=inner):
            return _ends(inner, asked, name, tables)
        case ast.Try(body=first, handlers=handlers, orelse=second, finalbody=last):
            blocks = (first, *(h.body for h in handlers), second, last)
            return {"on"}.union(*(_ends(b, asked, name, tables) for b in blocks))
        case ast.For(target=target, iter=over, body=inner, orelse=last):
            known = _in_loop(target, over, tables, is_spelt=name is not None)
            return {"on"} | _ends(inner, asked, name, known) | _ends(last, asked, name, known)
        case ast.While() | ast.Match():
            return {"on"} | ({"return"} if any(isinstance(n, ast.Return) for n in walk(node)) else set())
        case ast.Return():
            return {"return"}
        case ast.Global() | ast.Nonlocal():
            return {"return"}
        case ast.Assign() | ast.AugAssign() | ast.AnnAssign():
            changed = any(
                isinstance(n, ast.Name) and n.id == asked and isinstance(n.ctx, ast.Store) for n in walk(node)
            )
            return {"on", "return"} if changed else {"on"}  # another name from here on
    return {"on"}


def _in_loop(target: ast.expr, over: ast.expr, tables: Tables, *, is_spelt: bool) -> Tables:
    """Return the tables within a loop: what it takes of a table has no name that no text spells, and may have any other."""
    loop = {n.id for n in walk(target) if isinstance(n, ast.Name)}
    outer = {table: its for table, its in tables.items() if table not in loop}
    of_tables = all(n.id in tables for n in walk(over) if isinstance(n, ast.Name))
    return {**outer, **dict.fromkeys(loop, frozenset())} if of_tables and not is_spelt else outer


def _holds(test: ast.expr, asked: str, name: str | None, tables: Tables) -> bool | None:
    """Return what a condition comes to for a name; None where that is open."""
    match test:
        case ast.Compare(left=ast.Name(id=its), ops=[op], comparators=[other]) if its == asked:
            if isinstance(other, ast.Call) and isinstance(other.func, ast.Attribute) and other.func.attr == "keys":
                other = other.func.value
            if isinstance(op, ast.Eq | ast.NotEq):
                equal = name == other.value if isinstance(other, ast.Constant) else None
                return equal if equal is None or isinstance(op, ast.Eq) else not equal
            members = _members(other, tables) if isinstance(op, ast.In | ast.NotIn) else None
            return None if members is None else (name in members) == isinstance(op, ast.In)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=its), attr="startswith"), args=[ast.Constant(value=str(w))]):
            return name.startswith(w) if its == asked and name is not None else None
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            found = _holds(inner, asked, name, tables)
            return None if found is None else not found
        case ast.BoolOp(op=op, values=several):
            answers = [_holds(one, asked, name, tables) for one in several]
            decides = isinstance(op, ast.Or)
            return decides if decides in answers else None if None in answers else not decides
    return None


# --- what is put into globals() ---------------------------------------------------------------------------------------


def put_into_globals(body: Sequence[ast.stmt]) -> frozenset[str] | None:
    """Return the names that code puts into globals(); None where that is open."""
    tree = ast.Module(list(body), [])
    above = {inner: node for node in walk(tree) for inner in children(node)}
    found: set[str] = set()
    for node in above:
        match node:
            case ast.Call(func=ast.Name(id="globals" | "locals"), args=[], keywords=[]):
                own = isinstance(node.func, ast.Name) and node.func.id == "globals"
            case ast.Call(func=ast.Name(id="vars"), args=[]):
                own = False
            case _:
                continue
        if not own and _is_in_function(node, above):
            continue  # a function's own names
        names = _names_put(node, above)
        if names is None:
            return None
        found |= names
    return frozenset(found)


def _is_in_function(node: ast.AST, above: Mapping[ast.AST, ast.AST]) -> bool:
    its: ast.AST | None = node
    while its is not None:
        if isinstance(its, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            return True
        its = above.get(its)
    return False


def _names_put(call: ast.AST, above: Mapping[ast.AST, ast.AST]) -> frozenset[str] | None:
    """Return what one use of globals() puts into it."""
    its = above[call]
    match its:
        case ast.Compare() | ast.comprehension() | ast.Subscript(ctx=ast.Load()):
            return frozenset()
        case ast.Attribute(attr=attr) if attr in _READS:
            return frozenset()
        case ast.Call(func=ast.Name(id=called)) if called in (*_SEQUENCES, "len", "__import__"):
            return frozenset()
        case ast.Subscript(slice=ast.Constant(value=str(word))):
            return frozenset((word,))
        case ast.Subscript(slice=ast.Name(id=variable)):
            found = _looped_over(variable, its, above)
            return _passed_as(variable, its, above) if found is None else found
        case ast.Attribute(attr="update"):
            match above[its]:
                case ast.Call(args=[], keywords=words) if all(w.arg for w in words):
                    return frozenset(w.arg for w in words if w.arg)
                case ast.Call(args=[ast.Dict() as given], keywords=[]):
                    return _members(given, {})
    return None


def _looped_over(variable: str, node: ast.AST, above: Mapping[ast.AST, ast.AST]) -> frozenset[str] | None:
    """Return the words that a loop around a node gives to its variable, where they are spelt out."""
    its: ast.AST | None = node
    while its is not None:
        if isinstance(its, ast.For) and isinstance(its.target, ast.Name) and its.target.id == variable:
            return _members(its.iter, {})
        its = above.get(its)
    return None


def _passed_as(variable: str, node: ast.AST, above: Mapping[ast.AST, ast.AST]) -> frozenset[str] | None:
    """Return the words that calls of the function around a node give to its argument; None where one of them is not spelt out."""
    its: ast.AST | None = node
    while its is not None and not isinstance(its, ast.FunctionDef):
        its = above.get(its)
    names = [a.arg for a in its.args.args] if its else []
    if its is None or variable not in names or any(_stores(variable, n) for n in walk(its)):
        return None
    at, words = names.index(variable), set[str]()
    for use in (n for n in above if isinstance(n, ast.Name) and n.id == its.name):
        match above[use]:
            case ast.Call(func=called, args=given, keywords=[]) if called is use and at < len(given):
                if (word := literal_text(given[at])) is None:
                    return None
                words.add(word)
            case _:
                return None
    return frozenset(words)


def _stores(variable: str, node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == variable and isinstance(node.ctx, ast.Store)
