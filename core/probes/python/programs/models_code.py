"""Which models with code of their own the programs of a folder load: Transformers imports that code.

Sources: transformers/dynamic_module_utils.py (get_class_from_dynamic_module; it is imported where the caller trusts it) and
transformers/models/auto/auto_factory.py (``auto_map`` of config.json: class -> "file.Class", or a list of these).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from core.common.late_pattern import late_pattern
from core.probes.python.installed.model_files import models_of_hub
from core.probes.sysroot import Sysroot

MOST_MODELS, MOST_FOLDERS, MOST_SETTINGS = 8, 60, 256 << 10
"""Models whose code is read, folders that are looked into for one, and bytes of a config.json."""

_TRUSTED = late_pattern(r"\btrust_remote_code\s*=\s*True\b")
_BESIDE = late_pattern(r"(?m)^from[ \t]+\.(\w+)[ \t]+import\b")
_FILE = late_pattern(r"(?:[\w./-]+--)?([A-Za-z_]\w*)\.\w+")


def code_of_models(
    programs: Iterable[str], folder: str, hub: str, where: Sysroot
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the folder of each model that a program names and whose code it trusts, with the files that it loads of it."""
    texts = [text for text in programs if _TRUSTED.search(text)]
    found = 0
    for name, place in _places(folder, hub, where) if texts else ():
        spelt = re.compile(rf"[\"'](?:\./)?(?:[\w./~-]*/)?{re.escape(name)}/?[\"']")
        users = [text for text in texts if spelt.search(text)]
        files = tuple(_files(users, place, where)) if users else ()
        if files and found < MOST_MODELS:
            found += 1
            yield place, files


def _places(folder: str, hub: str, where: Sysroot) -> Iterator[tuple[str, str]]:
    """Yield the name by which a program would name a model, and its folder."""
    for name in [n for n in where.names(folder) or () if "." not in n][:MOST_FOLDERS]:
        place = where.join(folder, name)
        if where.is_file(where.join(place, "config.json")):
            yield name, place
    for model in models_of_hub(hub, where):
        commit = (where.text(where.join(hub, model, "refs", "main"), 128) or "").strip()
        if re.fullmatch(r"[0-9a-f]{6,64}", commit):
            yield model.removeprefix("models--").replace("--", "/"), where.join(hub, model, "snapshots", commit)


def _files(users: Iterable[str], place: str, where: Sysroot) -> Iterator[str]:
    """Yield the modules of a model's folder with the classes that programs ask for, and what these import at their left margin: who takes a
    tokenizer alone does not load the model.
    """
    try:
        told = json.loads(where.text(where.join(place, "config.json"), MOST_SETTINGS) or "{}")
    except (ValueError, RecursionError):
        return
    classes = told.get("auto_map") if isinstance(told, dict) else None
    found: list[str] = []
    for name, value in classes.items() if isinstance(classes, dict) else ():
        if any(re.search(rf"\b{re.escape(str(name))}\b", text) for text in users):
            ours = [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]
            found += [its[1] for one in ours if "--" not in one and (its := _FILE.fullmatch(one))]
    for n, name in enumerate(found):  # it grows by those that these ask for
        if name not in found[:n] and where.is_file(path := where.join(place, f"{name}.py")):
            found += _BESIDE.findall(where.text(path, MOST_SETTINGS) or "")
            yield name
