"""Frameworks of which the programs of the folder ask nothing on a GPU: without CUDA's libraries nothing that they do fails."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import argument, constant, last_name, parsed, walk
from core.knowledge.modules import followed_distributions, module_of
from core.model.facts import Frozen, PythonEnvironment
from core.probes.probe import ProbeRequest
from core.probes.python.following.framework_users import has_line
from core.probes.python.installed.gone_files import every_distribution
from core.probes.python.programs.own_programs import is_spelt, with_users
from core.probes.python.programs.program_folder import own_texts
from core.probes.python.text.module_text import packages_spelt
from core.probes.sysroot import Sysroot


class Engine(Frozen, frozen=True):
    """How programs say on which device a framework computes."""

    distributions: str
    """A pattern."""
    module: str
    makers: tuple[str, ...] = ()
    """What programs call for a model that computes; without any, every name of the module does but the idle ones."""
    keyword: str = ""
    at: int | None = None
    """The place of this parameter among those that are given by place; None if it is given by its name alone."""
    cpu: str = ""
    """What they give for the CPU."""
    by_itself: tuple[str, ...] = ()
    """Makers that compute on the CPU unless they are told of another device."""
    idle: tuple[str, ...] = ()
    """Names that do nothing on a GPU."""
    through: tuple[str, ...] = ()
    """Further modules that use it, and whose makers are among these."""


OF_CTRANSLATE2 = ("Translator", "Generator", "Encoder", "Whisper", "Wav2Vec2", "Wav2Vec2Bert")
ENGINES = (
    Engine("onnxruntime-gpu", "onnxruntime", ("InferenceSession",), "providers", 2, "CPUExecutionProvider"),
    Engine("ctranslate2", "ctranslate2", (*OF_CTRANSLATE2, "WhisperModel"), "device", 1, "cpu", OF_CTRANSLATE2, through=("faster_whisper",)),
    Engine(r"cupy(?:-cuda\d+x)?", "cupy", idle=("__version__", "is_available", "ndarray", "get_array_module"), through=("cupyx",)),
)  # fmt: skip
"""Sources: ONNX Runtime's, CTranslate2's and CuPy's documentation of their Python interfaces, and faster_whisper/transcribe.py of 1.2."""

ELSEWHERE = late_pattern(
    r"(?i)(?<!nvidia[-/])(?:cuda|cublas|cudnn|cufft|curand|cusolver|cusparse|nvrtc|providers_(?:shared|cuda))|(?<!CPU)ExecutionProvider\b"
)
"""What a text spells that asks for another device, or opens its libraries by itself."""
LISTS = (".txt", ".toml")
"""Ends of files that name what is installed."""


def on_cpu_alone(python: PythonEnvironment, request: ProbeRequest, where: Sysroot) -> tuple[str, ...]:
    """Return the distributions of frameworks that programs of the folder import, and that compute nothing there but on the CPU.

    A notebook, a command or a package that uses such a framework may use another device.
    """
    texts = own_texts(request, where)
    if not texts:
        return ()
    found = ((d.name, e) for d in python.distributions for e in ENGINES if re.fullmatch(e.distributions, d.name))
    return tuple(dict.fromkeys(name for name, engine in found if _is_on_cpu(name, engine, python, texts, where)))


def _is_on_cpu(name: str, engine: Engine, python: PythonEnvironment, texts: dict[str, str], where: Sysroot) -> bool:
    if any(ELSEWHERE.search(text) for path, text in texts.items() if not path.endswith(".txt")):
        return False
    own = {name, engine.module, *(module.replace("_", "-") for module in engine.through)}
    if any(is_spelt(with_users(own, python.distributions) - own, text) for text in texts.values()):
        return False
    naming = {path: text for path, text in texts.items() if not path.endswith(LISTS) and is_spelt(own, text)}
    if not naming or not all(path.endswith(".py") for path in naming):
        return False
    return all(_asks_no_gpu(text, engine) for text in naming.values()) and not _is_used_by_others(
        engine, python, texts, where
    )


def _is_used_by_others(engine: Engine, python: PythonEnvironment, texts: dict[str, str], where: Sysroot) -> bool:
    """Whether another package that the programs import uses the framework without requiring it. Other frameworks only offer to."""
    frameworks = followed_distributions()
    named = {name for text in texts.values() for name in packages_spelt(text)} - {engine.module, *engine.through}
    line = re.compile(rf"(?m)^[ \t]*(?:import|from)[ \t]+{engine.module}\b")
    return any(
        module_of(d.name) in named and has_line(d, line, where)
        for d in every_distribution(python, where)
        if not any(re.fullmatch(pattern, d.name) for pattern in frameworks)
    )


def _asks_no_gpu(text: str, engine: Engine) -> bool:
    """Whether a program surely asks for no GPU: every use of the framework's module is read, and every model is on the CPU."""
    tree = parsed(text)
    if tree is None:
        return False
    nodes = [*walk(tree)]
    modules = {engine.module, *engine.through}
    names = {
        alias.asname or alias.name.partition(".")[0]
        for node in nodes
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name.partition(".")[0] in modules
    }
    values = _given_once(nodes)
    read = {id(part) for node in nodes for part in _harmless_parts(node, engine, values)}
    return not any(id(node) not in read and _may_compute(node, engine, modules, names) for node in nodes)


def _may_compute(node: ast.AST, engine: Engine, modules: set[str], names: set[str]) -> bool:
    """Whether a node makes a model, or hands the module to where it is not followed."""
    match node:
        case ast.ImportFrom(module=str(module), names=imported) if module.partition(".")[0] in modules:
            return any(_computes(a.name, engine) and (a.asname or a.name not in engine.makers) for a in imported)
        case ast.Constant(value=str(value)):
            return value.partition(".")[0] in modules
        case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in names:
            return _computes(attribute, engine)
        case ast.Name(id=name, ctx=ast.Load()) if name in names:
            return True
        case ast.Name(ctx=ast.Load()) | ast.Attribute():
            return last_name(node) in engine.makers
    return False


def _harmless_parts(node: ast.AST, engine: Engine, values: dict[str, ast.expr]) -> Iterator[ast.AST]:
    """Yield what is named and computes nothing by it: in a condition, in a statement of its own, and makers on the CPU."""
    match node:
        case ast.Attribute(value=part) | ast.Expr(value=part) | ast.If(test=part):
            yield part
        case ast.UnaryOp(op=ast.Not(), operand=part):
            yield part
        case ast.Compare(left=part, comparators=others):
            yield from (part, *others)
        case ast.Call(func=func, args=args) if last_name(func) == "find_spec":
            yield from args
        case ast.Call(func=func) if last_name(func) in engine.makers and _is_right(node, engine, values):
            yield func


def _computes(name: str, engine: Engine) -> bool:
    return name == "*" or (name in engine.makers if engine.makers else name not in engine.idle)


def _is_right(call: ast.Call, engine: Engine, values: dict[str, ast.expr]) -> bool:
    value = argument(call, engine.keyword, engine.at)
    if value is None and last_name(call.func) in engine.by_itself:
        return not any(isinstance(a, ast.Starred) for a in call.args) and all(k.arg for k in call.keywords)
    value = values.get(value.id, value) if isinstance(value, ast.Name) else value
    given = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
    return bool(given) and all(constant(g) == engine.cpu for g in given)


def _given_once(nodes: Iterable[ast.AST]) -> dict[str, ast.expr]:
    """Return the names that a text gives a value in one place, with it."""
    stored = Counter(n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load))
    stored.update(n.arg for n in nodes if isinstance(n, ast.arg))
    return {
        node.targets[0].id: node.value
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and stored[node.targets[0].id] == 1
    }
