"""Entries of a file of variables that a class of settings does not know, and therefore refuses (pydantic-settings).

Such a class forbids what it does not know, and reads the whole file: an entry for another program ends this one.
Source: pydantic-settings' documentation, "Dotenv (.env) support"; DotEnvSettingsSource of its sources.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import last_name, literal_text, statements_of
from core.host.startup.plain import read_dotenv
from core.knowledge.modules import module_of
from core.model.facts import Distribution, PythonEnvironment
from core.probes.python.text.module_text import modules_imported
from core.probes.python.text.path_expressions import PathNames
from core.probes.starting.commands.lacking_modules import has_module, surely_run
from core.probes.starting.machine import Ground
from core.probes.starting.misnamed_settings import environment_of, modules_loaded
from core.probes.starting.ways import Reached, ended_program, ended_start

MOST_PROGRAMS, MOST_BYTES = 20, 1 << 18
REQUIRES = late_pattern(r"(?im)^Requires-Dist: pydantic[-_]settings\b")
READER, BASE = "pydantic_settings", "BaseSettings"


def forbidden_settings(ground: Ground) -> Iterator[Reached]:
    """Yield the programs of the working folder that surely make an object of such a class, with a file that has an entry too many."""
    if not ground.is_in_project or not any(has_module(p, READER, ground) for p in ground.pythons):
        return
    for path in (ground.where.join(ground.folder, n) for n in ground.programs(MOST_PROGRAMS)):
        text = ground.where.text(path, MOST_BYTES) or ""
        home = environment_of(text, READER, ground)
        for file, source, place in _modules(path, text, home, ground) if home else ():
            if home and (told := _refused(file, source, place, ground)):
                line, settings, names = told
                one = ended_start(
                    home.prefix, f"Extra inputs are not permitted: {', '.join(names)}", home.executable, "file refused",
                    source=f"{place}:{line}", program=settings, command=READER,
                )  # fmt: skip
                yield ended_program(path, home, one, ground)
                break


def _modules(path: str, text: str, home: PythonEnvironment | None, ground: Ground) -> Iterator[tuple[bool, str, str]]:
    """Yield the program, then what its import surely loads of its folder and of packages that require the reader: (is the program, text, file)."""
    own = {n.removesuffix(".py") for n in ground.around.names(ground.folder)}
    tops = {m.partition(".")[0] for node in statements_of(text) for m in modules_imported(node)}
    mine = [d for d in (home.distributions if home else ()) if module_of(d.name) in tops]
    own |= {module_of(d.name) for d in mine if _requires_it(d, ground)}
    return modules_loaded(path, text, home, own.__contains__, ground)


def _requires_it(its: Distribution, ground: Ground) -> bool:
    """Whether a package's own record names the reader."""
    folder = f"{its.name.replace('-', '_')}-{its.version}.dist-info"
    text = ground.where.text(ground.where.join(its.location, folder, "METADATA"), MOST_BYTES) if its.location else None
    return REQUIRES.search(text or "") is not None


def _refused(is_program: bool, text: str, place: str, ground: Ground) -> tuple[int, str, list[str]] | None:
    """Return the line that makes an object whose file has an entry too many, the file, and these entries; None for none."""
    classes = (
        {
            n.name: n
            for n in statements_of(text)
            if isinstance(n, ast.ClassDef) and any(last_name(b) == BASE for b in n.bases)
        }
        if BASE in text and READER in text
        else {}
    )
    for node in surely_run(statements_of(text), as_main=is_program) if classes else ():
        match node:
            case (
                ast.Assign(value=ast.Call(func=ast.Name(id=name), args=[], keywords=[]))
                | ast.Expr(value=ast.Call(func=ast.Name(id=name), args=[], keywords=[]))
            ) if name in classes and (told := _unknown(classes[name], place, ground)):
                return node.lineno, *told
    return None


def _unknown(node: ast.ClassDef, place: str, ground: Ground) -> tuple[str, list[str]] | None:
    """Return the file that a class of settings reads, and its entries that no field takes; None for none, and where reading does not show it."""
    config = _config(node)
    named = PathNames(place, folder=ground.folder).value_of(config["env_file"]) if "env_file" in config else None
    extra = literal_text(config["extra"]) if "extra" in config else "forbid"
    prefix = literal_text(config["env_prefix"]) if "env_prefix" in config else ""
    fields = [f for f in node.body if isinstance(f, ast.AnnAssign) and isinstance(f.target, ast.Name)]
    aliased = any(
        isinstance(f.value, ast.Call) and any("alias" in (k.arg or "") for k in f.value.keywords) for f in fields
    )
    if not named or extra != "forbid" or prefix is None or aliased or [last_name(b) for b in node.bases] != [BASE]:
        return None
    file = ground.where.path_module.normpath(ground.where.join(ground.folder, named))
    told = ground.session()
    if (text := ground.read(file)) is None:
        return None
    read_dotenv(text, file, told)
    known = tuple(f"{prefix}{getattr(f.target, 'id', '')}".lower() for f in fields)
    odd = [n for n in told.lines if told.values.get(n) and not n.lower().startswith(known)]
    return (file, odd) if odd else None


def _config(node: ast.ClassDef) -> Mapping[str, ast.expr]:
    """Return what a class says about itself: ``model_config = SettingsConfigDict(...)``, or an inner class Config."""
    for part in node.body:
        match part:
            case ast.Assign(targets=[ast.Name(id="model_config")], value=ast.Call(keywords=given)):
                return {k.arg: k.value for k in given if k.arg}
            case ast.ClassDef(name="Config", body=body):
                pairs = ((s.targets[0], s.value) for s in body if isinstance(s, ast.Assign))
                return {t.id: v for t, v in pairs if isinstance(t, ast.Name)}
            case _:
                pass
    return {}
