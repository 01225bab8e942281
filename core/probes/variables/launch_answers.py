"""The answers that ``accelerate config`` keeps, against what the installed Accelerate and its environment know.

Its launcher ends with ValueError at a key that its own dataclass lacks: a newer Accelerate wrote the file, or a person did. The
classes and what is converted are read from the installed module (accelerate/commands/config/config_args.py). It ends, too, at an
answer that is no word of its enumerations (accelerate/utils/dataclasses.py), or that asks for a package which is not there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import msgspec

from core.common.syntax_tree import statements_of
from core.host.startup.plain import json_line, json_value
from core.model.facts import PythonEnvironment, Vocabulary, path_text
from core.probes.probe import ProbeRequest
from core.probes.python.installed.distributions import normalise_name
from core.probes.sysroot import Sysroot

MODULE = ("accelerate", "commands", "config", "config_args.py")
FILES = ("default_config.yaml", "default_config.json")
REFUSES = "unknown keys"
"""What the module says when it refuses a key; a release without this text takes any."""
MOST_BYTES = 1 << 18
MOST_MODULE = 1 << 20


class Answer(msgspec.Struct, frozen=True):
    """One question whose answer is a word of an enumeration."""

    key: str
    enumeration: str
    case: str = ""
    """What the launcher makes of the word before it compares: "lower" or "upper"."""
    needs: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Word -> the distributions one of which must be installed."""


ANSWERS = (
    Answer("distributed_type", "DistributedType", needs=(("DEEPSPEED", ("deepspeed",)), ("XLA", ("torch-xla",)))),
    Answer(
        "mixed_precision",
        "PrecisionType",
        "lower",
        needs=(("fp8", ("transformer-engine", "msamp", "ms-amp", "torchao")),),
    ),
    Answer("dynamo_backend", "DynamoBackend", "upper"),
)
"""Each measured with Accelerate 1.6.0 and ``accelerate launch``."""
WORDS_IN = ("accelerate", "utils", "dataclasses.py")
BOOLEANS = ("y", "yes", "n", "no", "true", "false", "on", "off")
"""Words that YAML 1.1 takes for a boolean where they have no quotes."""


def unfit_answers(request: ProbeRequest, where: Sysroot) -> Iterator[Vocabulary]:
    """Yield each of the person's own answers at which ``accelerate launch`` ends."""
    path, text = answers(request, where)
    given = [(a, found) for a in ANSWERS if (found := _word_of(a.key, text))]
    for python in request.seen.pythons or () if given else ():
        file = next((f for s in python.site_packages if where.is_file(f := where.join(s, *WORDS_IN))), "")
        module = where.text(file, MOST_MODULE) or "" if file else ""
        for answer, (word, line, quoted) in given:
            words = enumeration(module, answer.enumeration)
            cased = {"lower": word.lower(), "upper": word.upper()}.get(answer.case, word)
            boolean = answer.case == "lower" and not quoted and word.lower() in BOOLEANS
            lacks = _lacking(answer, cased, python)
            if words and (boolean or cased not in words or lacks):
                yield Vocabulary(
                    variable=answer.key,
                    prefix=python.prefix,
                    files=(path_text(file),),
                    known=lacks or (("'no'",) if boolean else words),
                    unknown=(path_text(word),),
                    takes="package" if lacks else "words",
                    reader="accelerate",
                    sure=False,
                    setting=f"{path_text(path)}:{line}",
                )


def _lacking(answer: Answer, word: str, python: PythonEnvironment) -> tuple[str, ...]:
    """Return the distributions one of which an answer asks for, if none of them is installed."""
    wanted = dict(answer.needs).get(word, ())
    there = {normalise_name(d.name) for d in python.distributions}
    return () if there & set(wanted) else wanted


def _word_of(key: str, text: str) -> tuple[str, int, bool] | None:
    """Return a key's plain value, its line, and whether it has quotes."""
    for number, row in enumerate(text.splitlines(), 1):
        if found := re.match(rf"\s*\"?{key}\"?\s*:\s*(?:'([^']*)'|\"([^\"]*)\"|([^\s#,'\"]+))\s*,?\s*(?:#.*)?$", row):
            return found[1] or found[2] or found[3] or "", number, found[3] is None
    return None


def enumeration(text: str, name: str) -> tuple[str, ...]:
    """Return the values of an enumeration in a module's text; empty where it is written in another way."""
    found = re.search(rf"(?m)^class {name}\(.*\n((?:(?:[ \t].*)?\n)*)", text)
    return tuple(re.findall(r"(?m)^[ \t]+[A-Z][A-Z0-9_]*[ \t]*=[ \t]*[\"'](\w+)[\"']", found[1])) if found else ()


def unknown_answers(request: ProbeRequest, where: Sysroot) -> Iterator[Vocabulary]:
    """Yield each key of the person's own answers that an installed Accelerate refuses."""
    path, text = answers(request, where)
    given = _keys(path, text)
    for python in request.seen.pythons or () if given else ():
        files = (where.join(site, *MODULE) for site in python.site_packages)
        file = next((f for f in files if where.is_file(f)), "")
        known = (
            known_keys(where.text(file, MOST_BYTES) or "", in_the_cloud="AMAZON_SAGEMAKER" in text)
            if file
            else frozenset()
        )
        for key, line in given.items() if known else ():
            if key not in known:
                yield Vocabulary(
                    variable=key,
                    prefix=python.prefix,
                    files=(path_text(file),),
                    unknown=(key,),
                    takes="key",
                    reader="accelerate",
                    setting=f"{path_text(path)}:{line}",
                )


def answers(request: ProbeRequest, where: Sysroot) -> tuple[str, str]:
    """Return the file that ``accelerate launch`` reads if it is told no other, and its text; empty for none."""
    env, home = request.env, request.env.get("HOME") or request.seen.machine.home
    cache = env.get("HF_HOME") or where.join(
        env.get("XDG_CACHE_HOME") or where.join(home or "/", ".cache"), "huggingface"
    )
    for path in (where.join(cache, "accelerate", name) for name in FILES):
        text = where.text(path, MOST_BYTES) if where.path_module.isabs(path) else None
        if text is not None:
            return path, text
    return "", ""


def _keys(path: str, text: str) -> dict[str, int]:
    """Return the keys at the margin of YAML, or of JSON's outer object, with their lines."""
    if path.endswith(".json"):
        found = json_value(text)
        return {str(key): json_line(text, str(key)) for key in found} if isinstance(found, dict) else {}
    rows = (
        (re.match(r"([\"']?)([A-Za-z_]\w*)\1[ \t]*:(?:\s|$)", row), n) for n, row in enumerate(text.splitlines(), 1)
    )
    return {row[2]: n for row, n in rows if row}


def known_keys(text: str, *, in_the_cloud: bool) -> frozenset[str]:
    """Return the keys that the module takes: the fields of its class, and those that it converts first; empty if it refuses none."""
    body = statements_of(text) if REFUSES in text else []
    classes = {node.name: node for node in body if isinstance(node, ast.ClassDef)}
    waiting = ["SageMakerConfig" if in_the_cloud else "ClusterConfig"]
    known: set[str] = set()
    for name in waiting:
        node = classes.get(name)
        if node is None or len(waiting) > len(classes):
            return frozenset()  # written in another way
        waiting += [b.id for b in node.bases if isinstance(b, ast.Name)]
        known |= {f.target.id for f in node.body if isinstance(f, ast.AnnAssign) and isinstance(f.target, ast.Name)}
        known |= {key for part in ast.walk(node) if (key := _taken_away(part))}
    return frozenset(known)


def _taken_away(node: ast.AST) -> str:
    """Return the key that a statement takes out of the answers, as it does with those of older releases."""
    match node:
        case ast.Delete(targets=[ast.Subscript(slice=ast.Constant(value=str(key)))]):
            return key
        case ast.Call(func=ast.Attribute(attr="pop"), args=[ast.Constant(value=str(key)), *_]):
            return key
        case _:
            return ""
