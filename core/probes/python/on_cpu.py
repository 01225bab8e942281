"""Frameworks that the programs of the folder use on the CPU alone: without CUDA's libraries nothing that they do fails."""

from __future__ import annotations

import ast
import re

from core.common.syntax_tree import argument, constant, last_name, parsed
from core.model.facts import Frozen, PythonEnvironment
from core.probes.probe import ProbeRequest
from core.probes.python.distributions import required_name
from core.probes.python.own_programs import is_spelt, own_texts
from core.probes.sysroot import Sysroot


class Engine(Frozen, frozen=True):
    """How programs say on which device a framework computes."""

    distributions: str
    """A pattern."""
    makers: tuple[str, ...]
    """What programs call for a model that computes."""
    keyword: str
    cpu: str
    """What they give for the CPU."""
    elsewhere: str
    """A pattern of what a text spells that asks for another device."""
    through: tuple[str, ...] = ()
    """Packages whose own makers are among these."""


ENGINES = (
    Engine("onnxruntime-gpu", ("InferenceSession",), "providers", "CPUExecutionProvider", r"(?<!CPU)ExecutionProvider\b"),
    Engine(
        "ctranslate2",
        ("Translator", "Generator", "Encoder", "Whisper", "Wav2Vec2", "Wav2Vec2Bert", "WhisperModel"),
        "device",
        "cpu",
        r"(?i)\bcuda\b",
        through=("faster-whisper",),
    ),
)  # fmt: skip
"""Sources: ONNX Runtime's and CTranslate2's documentation of their Python interfaces, and faster_whisper/transcribe.py of 1.2."""

LISTS = (".txt", ".toml")
"""Ends of files that name what is installed."""


def on_cpu_alone(python: PythonEnvironment, request: ProbeRequest, where: Sysroot) -> tuple[str, ...]:
    """Return the distributions of frameworks that programs of the folder use, each time on the CPU by name.

    A notebook, a command or a package that uses such a framework may use another device.
    """
    texts = own_texts(request, where)
    if not texts:
        return ()
    found = ((d.name, e) for d in python.distributions for e in ENGINES if re.fullmatch(e.distributions, d.name))
    return tuple(dict.fromkeys(name for name, engine in found if _is_on_cpu(name, engine, python, texts)))


def _is_on_cpu(name: str, engine: Engine, python: PythonEnvironment, texts: dict[str, str]) -> bool:
    if any(re.search(engine.elsewhere, text) for text in texts.values()):
        return False
    own = {name, name.removesuffix("-gpu"), *engine.through}
    users = set(own)
    for _depth in range(3):
        users |= {
            d.name for d in python.distributions if any(required_name(w) in users for w in (*d.requires, *d.pins))
        }
    if any(is_spelt(users - own, text) for text in texts.values()):
        return False
    naming = {path: text for path, text in texts.items() if not path.endswith(LISTS) and is_spelt(own, text)}
    if not naming or not all(path.endswith(".py") for path in naming):
        return False
    made = [_all_on_cpu(text, engine) for text in naming.values()]
    return any(made) and None not in made


def _all_on_cpu(text: str, engine: Engine) -> bool | None:
    """Whether a program makes a model; None where one may be on another device."""
    tree = parsed(text)
    if tree is None:
        return None
    nodes = [*ast.walk(tree)]
    right = [n.func for n in nodes if isinstance(n, ast.Call) and _is_right(n, engine)]
    for node in nodes:
        if isinstance(node, ast.alias) and node.name in engine.makers and node.asname:
            return None
        if last_name(node) in engine.makers and not any(node is func for func in right):
            return None
    return bool(right)


def _is_right(call: ast.Call, engine: Engine) -> bool:
    value = argument(call, engine.keyword)
    given = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
    return bool(given) and all(constant(g) == engine.cpu for g in given)
