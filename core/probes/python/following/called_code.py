"""Which function of an installed package a call comes to, found in the text: through imports, star imports, classes and their bases.

Where the text leaves it open - an unknown decorator, a metaclass, a base that is compiled - nothing is found.

Source: https://docs.python.org/3/reference/expressions.html#calls and datamodel.html, "Customizing class creation".
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import chain_of, is_main, literal_text, parsed, uncalled, walk
from core.probes.python.following.callees import (
    Callee,
    Class,
    Scope,
)
from core.probes.python.following.definitions import (
    alternatives,
    decorators_of,
    has_metaclass,
    is_data_class,
    makes_objects,
    may_get_more,
    may_give,
    may_set,
    method_of,
    names_of_objects,
    own_nodes,
)
from core.probes.python.following.dotted_modules import DottedModules, Module, package_of
from core.probes.python.following.handed_on import gives_back, hands_on
from core.probes.python.text.bound_names import stored_names
from core.probes.python.text.evaluation import UNKNOWN, Surroundings, Values, truth_of, value_of
from core.probes.python.text.module_text import absolute_name, modules_imported

MOST_SCOPES, MOST_LINKS = 80, 12
"""Modules whose names are read for the calls of one environment, and imports from one module to the next for one name."""

_KEEPS_PARAMETERS = frozenset(
    ("staticmethod", "classmethod", "lru_cache", "cache", "no_grad", "inference_mode", "override", "final", "abstractmethod", "set_module", "array_function_dispatch")
)  # fmt: skip
"""Decorators that run the function's body with what it is given; the last two are NumPy's and pandas'."""

_KEEPS_NAMES = frozenset((name,) for name in _KEEPS_PARAMETERS)

_RETURNS_THE_CLASS = late_pattern(
    r"dataclass|final|total_ordering|runtime_checkable|interpd|set_module|\w+_export|register\w*|auto_docstring|add_(?:start|end)_docstrings\w*"
)
"""Decorators that give the class itself back: keras_export, tf_export, register_keras_serializable, matplotlib's and transformers' for docstrings."""

_PLAIN_BASES = frozenset(("object", "ABC", "Generic", "Protocol", "PushToHubMixin"))
"""Bases that take no part in making an object. PushToHubMixin: huggingface_hub's, methods alone."""

_BACKENDS = {
    "cython": "Cython", "jinja": "jinja2", "levenshtein": "Levenshtein", "onnx": "onnxruntime", "opencv": "cv2",
    "protobuf": "google.protobuf", "speech": "torchaudio", "tf": "tensorflow", "vision": "PIL", "invisible_watermark": "imwatermark",
    **{name: name for name in (
        "accelerate", "av", "bitsandbytes", "bs4", "compel", "cv2", "datasets", "decord", "detectron2", "essentia", "faiss", "flax", "ftfy",
        "g2p_en", "gguf", "imageio", "jieba", "k_diffusion", "kornia", "librosa", "natten", "nltk", "note_seq", "oneccl_bind_pt", "pandas",
        "peft", "phonemizer", "pretty_midi", "pyctcdecode", "pytesseract", "rjieba", "sacremoses", "safetensors", "scipy", "sentencepiece",
        "sklearn", "soundfile", "tensorflow_probability", "tensorflow_text", "timm", "tokenizers", "torch", "torchao", "torchaudio",
        "torchsde", "torchvision", "transformers", "uroman", "yt_dlp",
    )},
}  # fmt: skip
"""Words for backends -> their modules, from BACKENDS_MAPPING of transformers' and diffusers' utils/import_utils.py; of another word nothing
is told.
"""

STAND_IN = "(metaclass=DummyObject)"
"""How these packages write a class that takes the place of another which needs backends: any use of it raises ImportError."""

SAYS_WHETHER = late_pattern(r"(?i)_available$|^_?has_")
"""How packages name what says whether another one is there: _WANDB_AVAILABLE, HAS_RICH."""


class _Asking:
    """The facts of an environment, and the modules that were asked for and are not there."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self.python, self.platform = around.python, around.platform
        self.is_recorded, self.release = around.is_recorded, around.release
        self.absent: list[str] = []

    def is_installed(self, module: str) -> bool | None:
        found = self._around.is_installed(module)
        self.absent += [module] if found is False else []
        return found


class CalledCode:
    """The functions and classes of one environment."""

    def __init__(self, found: DottedModules, around: Surroundings) -> None:
        self._found, self._around = found, around
        self._scopes: dict[str, Scope | None] = {}

    # --- modules ------------------------------------------------------------------------------------------------------

    def scope(self, dotted: str) -> Scope | None:
        """Return what the names of a module stand for; None for one without text, or once too many were read."""
        if dotted not in self._scopes:
            its = self._found.find(dotted)
            text = self._found.text(its) if its.kind in ("package", "module") else ""
            self._scopes[dotted] = None  # one that imports itself in a circle has no names yet
            may_read = text and len(self._scopes) < MOST_SCOPES and its.path not in self._found.of_other_text
            self._scopes[dotted] = self.scope_of(dotted, its, text) if may_read else None
        return self._scopes[dotted]

    def scope_of(self, dotted: str, its: Module, text: str) -> Scope | None:
        """Return what the names in a text stand for; None where it cannot be parsed."""
        tree = parsed(text)
        if tree is None:
            return None
        made = Scope(dotted, its.path, package_of(dotted, its), text, {}, {}, {}, {}, [])
        self._bind(tree.body, made)
        if "global " in text:  # what a function may change while the program runs
            _forget(made, *(name for n in walk(tree) if isinstance(n, ast.Global) for name in n.names))
        return made

    def _bind(self, body: Iterable[ast.stmt], scope: Scope) -> None:
        for node in body:
            match node:
                case ast.Import(names=names):
                    for one in names:
                        first = one.name.partition(".")[0]
                        self._stand(scope, one.asname or first, one.name if one.asname else first)
                case ast.ImportFrom(module=module, level=dots, names=[ast.alias(name="*")]):
                    scope.stars.append(absolute_name(dots, module or "", scope.package))
                case ast.ImportFrom(module=module, level=dots, names=names):
                    source = absolute_name(dots, module or "", scope.package)
                    for one in names:
                        self._stand(scope, one.asname or one.name, f"{source}.{one.name}")
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    _forget(scope, name)
                    scope.definitions[name] = node
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=ast.expr() as value)
                    | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                ):
                    self._assign(scope, name, value)
                case ast.If():
                    self._bind_branch(node, scope)
                case ast.Try():
                    self._bind_tried(node, scope)
                case _:
                    _forget(scope, *stored_names([node]))

    def _bind_branch(self, node: ast.If, scope: Scope) -> None:
        """Bind what the branch binds that is taken; nothing where that is open, and nothing of what a module does as a program alone."""
        if is_main(node.test):
            return
        asked = [n.id for n in walk(node.test) if isinstance(n, ast.Name) and SAYS_WHETHER.search(n.id)]
        imported = {name: value for name in asked if (value := self.availability(scope, name)[0]) is not UNKNOWN}
        its = truth_of(node.test, Values(scope.modules, {**scope.values, **imported}), self._around)
        match node.test:
            case ast.Compare(left=ast.Call(args=[]), ops=[ast.Eq()], comparators=[ast.Constant(value=str(word))]):
                # Keras takes the parts of the backend that it is told; all of them have one form, and what is not installed has none
                its = self._around.is_installed(word) if its is None and word.isidentifier() else its
        if its is None:
            _forget(scope, *stored_names([node]))
        else:
            self._bind(node.body if its else node.orelse, scope)

    def _bind_tried(self, node: ast.Try, scope: Scope) -> None:
        """Bind what is tried; where a module that it imports is not installed, what the handlers bind."""
        wanted = [m for n in node.body for m in modules_imported(n, scope.package)]
        absent = [m for m in wanted if self._around.is_installed(m.partition(".")[0]) is False]
        if not absent:
            self._bind([*node.body, *node.orelse, *node.finalbody], scope)
            return
        _forget(scope, *stored_names(node.body))
        before = set(scope.values)
        self._bind((n for h in node.handlers for n in h.body), scope)
        scope.sources.update((name, absent[0].partition(".")[0]) for name in scope.values if name not in before)

    def _assign(self, scope: Scope, name: str, value: ast.expr) -> None:
        chain = chain_of(value)
        asking = _Asking(self._around)
        found = value_of(value, Values(scope.modules, scope.values), asking)
        of_names = (scope.sources[n.id] for n in walk(value) if isinstance(n, ast.Name) and n.id in scope.sources)
        source = next(iter([*asking.absent, *of_names]), "")
        _forget(scope, name)
        if found is not UNKNOWN:
            scope.values[name] = found
            scope.sources.update({name: source} if source else {})
        elif chain and chain[0] in scope.modules:
            scope.modules[name] = ".".join((scope.modules[chain[0]], *chain[1:]))
        elif len(chain) == 1 and chain[0] in scope.definitions:
            scope.definitions[name] = scope.definitions[chain[0]]

    @staticmethod
    def _stand(scope: Scope, name: str, what: str) -> None:
        _forget(scope, name)
        scope.modules[name] = what

    # --- names --------------------------------------------------------------------------------------------------------

    def availability(self, scope: Scope, name: str) -> tuple[object, str]:
        """Return the value of a name that a module has from another one, and the module that it says is not installed; (UNKNOWN, "") where
        that is open.
        """
        for _link in range(MOST_LINKS):
            if name in scope.values:
                return scope.values[name], scope.sources.get(name, "")
            home, _, inner = scope.modules.get(name, "").rpartition(".")
            other = self.scope(home) if home and self._found.find(home).kind in ("package", "module") else None
            if other is None or other is scope:
                break
            scope, name = other, inner
        return UNKNOWN, ""

    def defined_at(self, dotted: str, links: int = 0) -> tuple[Scope, ast.FunctionDef | ast.ClassDef, list[str]] | None:
        """Return the definition that a full name leads to, and the rest of the name: ("httpx.Client.get" -> Client, ["get"])."""
        parts = dotted.split(".")
        cut = next(
            (n for n in range(len(parts), 0, -1) if self._found.find(".".join(parts[:n])).kind in ("package", "module")), 0
        )  # fmt: skip
        if not cut or cut == len(parts) or links > MOST_LINKS:
            return None
        module = ".".join(parts[:cut])
        return self._in_module(module, parts[cut:], links)

    def _in_module(
        self, module: str, names: list[str], links: int
    ) -> tuple[Scope, ast.FunctionDef | ast.ClassDef, list[str]] | None:
        scope = self.scope(module)
        if scope is None:
            return None
        first, *rest = names
        if first in scope.definitions:
            return scope, scope.definitions[first], rest
        if first in scope.modules:
            return self.defined_at(".".join((scope.modules[first], *rest)), links + 1)
        if first in scope.values:
            return None
        its = self._found.find(module)
        if home := self._found.lazy_home(module, its, first):
            return self._in_module(home, names, links + 1) if links < MOST_LINKS else None
        for star in scope.stars:
            if links < MOST_LINKS and (found := self._in_module(star, names, links + 1)) is not None:
                return found
        return None

    def stand_in(self, dotted: str) -> tuple[Scope, ast.ClassDef, str] | None:
        """Return the class that takes the place of the named one, its module, and the backend that is not installed; None for any other.

        transformers, diffusers and their like give such a class of ``utils/dummy_*_objects.py`` where a backend is missing.
        """
        top, _, name = dotted.partition(".")
        if not name.isidentifier() or self._found.find(f"{top}.utils").kind != "package":
            return None
        for module in self._found.submodules(f"{top}.utils"):
            text = self._found.text(self._found.find(module)) if ".dummy_" in module else ""
            if f"class {name}{STAND_IN}" not in text or (scope := self.scope(module)) is None:
                continue
            node = scope.definitions.get(name)
            if isinstance(node, ast.ClassDef) and (missing := self.missing_backend(_backends_of(node))):
                return scope, node, missing
        return None

    def missing_backend(self, words: Iterable[str]) -> str:
        """Return the module of the first of these backends that is not installed; empty where all are, or may be."""
        modules = (_BACKENDS.get(word, "") for word in words)
        return next((m for m in modules if m and self._around.is_installed(m) is False), "")

    # --- calls --------------------------------------------------------------------------------------------------------

    def callee(self, scope: Scope, modules: dict[str, str], chain: tuple[str, ...]) -> Callee | None:
        """Return what a call of this chain of names runs, where ``modules`` has what the names stand for at that line."""
        first, *rest = chain
        if first in modules:
            name = ".".join((modules[first], *rest))
            found = self.defined_at(name)
        else:
            name = ".".join((scope.dotted, *chain))
            found = (scope, scope.definitions[first], rest) if first in scope.definitions else None
        if found is None:
            return None
        where, node, left = found
        if isinstance(node, ast.FunctionDef):
            return Callee(where, node, name) if not left and self._runs_as_it_is(node, where) else None
        its = Class(where, node)
        if not left:
            return self.constructor(its, name)
        return self.method(its, left[0], by_class=True) if len(left) == 1 else None

    def class_at(self, scope: Scope, modules: dict[str, str], chain: tuple[str, ...]) -> Class | None:
        """Return the class that a chain of names stands for."""
        first, *rest = chain
        if first in modules:
            found = self.defined_at(".".join((modules[first], *rest)))
        else:
            found = (scope, scope.definitions[first], rest) if first in scope.definitions else None
        return Class(found[0], found[1]) if found and isinstance(found[1], ast.ClassDef) and not found[2] else None

    def returned(self, its: Callee) -> Class | None:
        """Return the class that a function says it returns an object of, or several; None for none."""
        says = its.node.returns
        if isinstance(says, ast.Constant) and isinstance(says.value, str) and (tree := parsed(says.value)):
            says = tree.body[0].value if tree.body and isinstance(tree.body[0], ast.Expr) else None
        found: list[Class] = []
        for one in alternatives(says):
            chain = chain_of(one)
            if chain == ("Self",) and its.of:
                found.append(its.of)
            elif chain and (what := self.class_at(its.scope, its.scope.modules, chain)) is not None:
                found.append(what._replace(is_base=True))
            else:
                return None
        return found[0]._replace(others=tuple(found[1:])) if found else None

    def constructor(self, its: Class, name: str) -> Callee | None:
        """Return the function that makes an object of a class; None where anything else has a part in it."""
        line = self.bases_in_order(its)
        if line is None:
            return None
        if (fields := self._fields(line)) is not None:
            after = next((f for c in line if (f := method_of(c.node, "__post_init__"))), None)
            owner = next((c for c in line if method_of(c.node, "__post_init__")), its)
            empty = ast.FunctionDef(
                name="__init__", args=_SELF, body=[ast.Pass(lineno=its.node.lineno)], decorator_list=[]
            )
            return Callee(
                owner.scope if after else its.scope, after or empty, name, its, owner, is_bound=True, fields=fields
            )
        for one in line:
            if (own := method_of(one.node, "__init__")) is not None:
                return (
                    Callee(one.scope, own, name, its, one, is_bound=True)
                    if self._runs_as_it_is(own, one.scope)
                    else None
                )
        return None

    def method(self, its: Class, wanted: str, *, by_class: bool = False, behind: Class | None = None) -> Callee | None:
        """Return a method as an object finds it (``behind``: as super() does). ``by_class``: called on the class, which only fills a class method's first."""
        line = self.bases_in_order(its)
        if line is None or (its.is_base and self._may_be_below(its, wanted)):
            return None
        if any(self._spells(other, wanted) for other in its.others):
            return None
        name = ".".join((its.scope.dotted.partition(".")[0], its.node.name, wanted))
        at = next((n + 1 for n, c in enumerate(line) if behind and c.node is behind.node), 0)
        if behind and not at:
            return None
        if any(may_set(one, wanted) or may_give(method_of(one.node, "__init_subclass__"), wanted) for one in line):
            return None
        for one in line[at:]:
            if any(wanted in stored_names([n]) and not isinstance(n, ast.FunctionDef) for n in one.node.body):
                return None
            if (own := method_of(one.node, wanted)) is not None:
                words = decorators_of(own)
                bound = "staticmethod" not in words and (not by_class or "classmethod" in words)
                return (
                    Callee(one.scope, own, name, its, one, is_bound=bound)
                    if self._runs_as_it_is(own, one.scope)
                    else None
                )
        return None

    def bases_in_order(self, its: Class, links: int = 0) -> list[Class] | None:
        """Return a class and its bases in the order in which Python asks them; None if that is not certain.

        It is not certain if a base is unknown, or if a metaclass, ``__new__`` or an unknown decorator may change the objects.
        Source: https://docs.python.org/3/howto/mro.html.
        """
        plain = all(
            _RETURNS_THE_CLASS.fullmatch("".join(chain_of(uncalled(d))[-1:]))
            or ((maker := self._maker(d, its.scope)) and gives_back(maker, called=isinstance(d, ast.Call)))
            for d in its.node.decorator_list
        )
        if not plain or makes_objects(its.node) or has_metaclass(its.node) or links > MOST_LINKS:
            return None
        lines: list[list[Class]] = []
        for base in its.node.bases:
            chain = chain_of(base.value if isinstance(base, ast.Subscript) else base)
            if chain and (chain[-1] in _PLAIN_BASES or _is_abstract(chain, its.scope)):
                continue
            above = self.class_at(its.scope, its.scope.modules, chain) if chain else None
            line = self.bases_in_order(above, links + 1) if above else None
            if line is None:
                return None
            lines.append(line)
        lines.append([line[0] for line in lines])
        found = [its]
        while lines := [line for line in lines if line]:
            later = {id(c.node) for line in lines for c in line[1:]}
            first = next((line[0] for line in lines if id(line[0].node) not in later), None)
            if first is None:
                return None
            found.append(first)
            lines = [line[1:] if line[0].node is first.node else line for line in lines]
        return found

    def is_bare(self, its: Callee) -> bool:
        """Whether a function gets just the arguments by place that its caller gives."""
        return all(self._keeps_keywords(d, its.scope, places=True) for d in its.node.decorator_list)

    @staticmethod
    def is_plain(its: Callee) -> bool:
        """Whether nothing stands between a function and its caller that may give it arguments of its own."""
        return all(chain_of(uncalled(d))[-1:] in _KEEPS_NAMES for d in its.node.decorator_list)

    def lacks_attribute(self, its: Class, name: str, *, called: bool) -> bool:
        """Whether objects of a class surely have no attribute of this name: neither its bases nor other code of the package give them one.

        ``called``: it is called, as what objects are given by computed names seldom is.
        """
        line = self.bases_in_order(its)
        if line is None or name.startswith("__") or (its.is_base and self._may_be_below(its, name)):
            return False
        return not any(self._spells(one, name) for one in (its, *its.others)) and not any(
            any(chain_of(b)[-1:] == ("PushToHubMixin",) for b in one.node.bases)
            or has_metaclass(one.node)
            or may_give(method_of(one.node, "__init_subclass__"), name)
            or may_get_more(one, called=called)
            or self._found.is_set_by_name(one.scope.dotted, name)
            or self._found.is_set_elsewhere(one.scope.dotted, name)
            for one in line
        )

    def _spells(self, its: Class, name: str) -> bool:
        """Whether the text of a class or of its bases gives its objects an attribute of this name, or may give them any."""
        line = self.bases_in_order(its)
        return line is None or any(
            (name in one.scope.text and name in names_of_objects(one.node))
            or any(method_of(one.node, way) for way in ("__getattr__", "__getattribute__"))
            for one in line
        )

    def _may_be_below(self, its: Class, name: str) -> bool:
        """Whether a class of the package that is derived from this one may have an attribute of this name by itself."""
        for text in self._found.classes_below(its.scope.dotted, its.node.name):
            if "def __getattr" in text:
                return True
            tree = parsed(text) if name in text else None
            if name in text and (tree is None or name in names_of_objects(tree.body[0])):
                return True
        return False

    def _runs_as_it_is(self, node: ast.FunctionDef, scope: Scope) -> bool:
        """Whether a call runs the body at once, with the keywords that it gives: no generator, and no decorator that may take some."""
        own = (n for top in node.body for n in own_nodes(top))
        return all(self._keeps_keywords(d, scope) for d in node.decorator_list) and not any(
            isinstance(n, ast.Yield | ast.YieldFrom) for n in own
        )

    def _keeps_keywords(self, decorator: ast.expr, scope: Scope, *, places: bool = False) -> bool:
        chain = chain_of(uncalled(decorator))
        if not chain or chain[-1] in _KEEPS_PARAMETERS:
            return bool(chain)
        maker = self._maker(decorator, scope)
        return maker is not None and hands_on(maker, called=isinstance(decorator, ast.Call), places=places)

    def _maker(self, decorator: ast.expr, scope: Scope) -> ast.FunctionDef | ast.ClassDef | None:
        """Return the definition of a decorator, or of what makes it; None where that is open."""
        chain = chain_of(uncalled(decorator))
        if chain and chain[0] in scope.modules:
            found = self.defined_at(".".join((scope.modules[chain[0]], *chain[1:])))
            return found[1] if found and not found[2] else None
        return scope.definitions.get(chain[0]) if len(chain) == 1 else None

    @staticmethod
    def _fields(line: list[Class]) -> tuple[str, ...] | None:
        """Return what a data class takes; None for any other class, or one that writes its own __init__."""
        scope, first = line[0].scope, line[0].node
        if not is_data_class(first, scope) or method_of(first, "__init__") is not None:
            return None
        if any(isinstance(d, ast.Call) and any(w.arg == "init" for w in d.keywords) for d in first.decorator_list):
            return None
        fields = (
            n.target.id
            for c in line
            for n in c.node.body
            if isinstance(n, ast.AnnAssign)
            and isinstance(n.target, ast.Name)
            and "ClassVar" not in ast.unparse(n.annotation)
        )
        return tuple(dict.fromkeys(fields))


def _is_abstract(chain: tuple[str, ...], scope: Scope) -> bool:
    """Whether a base is one of Python's own that has methods with two underscores alone."""
    source = scope.modules.get(chain[0], "")
    return source.startswith(("collections", "typing")) and chain[-1] in (
        "Iterator",
        "Iterable",
        "Sized",
        "Hashable",
        "Callable",
    )


_SELF = ast.arguments(posonlyargs=[], args=[ast.arg(arg="self")], kwonlyargs=[], kw_defaults=[], defaults=[])


def quoted_words(node: ast.expr) -> list[str]:
    """Return the words that a display, or a single constant, spells."""
    match node:
        case ast.Constant(value=str(word)):
            return [word]
        case ast.List(elts=several) | ast.Tuple(elts=several):
            return [its for one in several if (its := literal_text(one)) is not None]
    return []


def _backends_of(node: ast.ClassDef) -> list[str]:
    values = (n.value for n in node.body if isinstance(n, ast.Assign) and stored_names([n]) == {"_backends"})
    return [word for value in values for word in quoted_words(value)]


def _forget(scope: Scope, *names: str) -> None:
    for name in names:
        for known in (scope.modules, scope.values, scope.definitions, scope.sources):
            known.pop(name, None)
