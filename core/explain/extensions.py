"""A message about a compiled extension, beside what was read of that extension: the functions that it asks for, and
whether the libraries of this machine have them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.common.i18n import _
from core.common.late_pattern import late_pattern
from core.explain.proofs import ProofEvidence
from core.explain.reading import ParsedText
from core.model.facts import Closure, How, Snapshot
from core.model.findings import Evidence
from core.rules.frameworks.libraries.lacks import FRAMEWORKS_OWN

_SYMBOL = late_pattern(r"undefined symbol: ?(\w{3,400})")
_FILE = late_pattern(r"(?<![\w.+/\\~-])([\w.+/\\~-]{1,400}\.(?:so|pyd))['\"]?: (?:undefined symbol|cannot open)")
_IMPORTED = late_pattern(r"dll load failed[^\n]{0,40}? while importing (\w{1,80})")
OF_ALL = ("site-packages", "dist-packages", "lib", "")
"""Folders whose name tells no package."""


def asked_symbols(reading: ParsedText) -> frozenset[str]:
    """Return the functions that a text says are in no library, in lower case."""
    return frozenset(_SYMBOL.findall(reading.low))


def blames_module(reading: ParsedText, path: str) -> bool:
    """Whether a text blames this compiled module: by the end of its path, or as the module that an import names."""
    folder, _slash, name = path.lower().replace("\\", "/").rpartition("/")
    package = folder.rpartition("/")[2]
    told = [m.replace("\\", "/") for m in _FILE.findall(reading.low)]
    if package in OF_ALL:
        stem = name.partition(".")[0]
        return any(t.rpartition("/")[2] == name for t in told) or stem in _IMPORTED.findall(reading.low)
    if any(t == name or t.endswith(f"{package}/{name}") for t in told):
        return True
    inner = re.search(rf"(?<![\w-]){re.escape(package)}(?![\w-])", reading.low) is not None
    return inner and name.partition(".")[0] in _IMPORTED.findall(reading.low)


def names_module(reading: ParsedText) -> bool:
    """Whether a text names the extension that did not load; PyTorch's own libraries are none."""
    files = (m.replace("\\", "/").rpartition("/")[2] for m in _FILE.findall(reading.low))
    return any(not FRAMEWORKS_OWN.match(f) for f in files) or bool(_IMPORTED.search(reading.low))


def _unfit_parts(closure: Closure) -> Iterator[tuple[str, str, str]]:
    """Yield what an extension asks for and the installed framework does not have: extension, name, library."""
    for gap in closure.gaps:
        own = gap.how not in (How.LD_LIBRARY_PATH, How.LD_PRELOAD)
        name = gap.provider.replace("\\", "/").rpartition("/")[2]
        if gap.name and own and (not name or FRAMEWORKS_OWN.match(name)):
            yield gap.wanted_by, gap.name, gap.provider
    for edge in closure.edges:
        if edge.state == "absent" and FRAMEWORKS_OWN.match(edge.name):
            yield edge.wanted_by, edge.name, ""


def built_for_another_release(reading: ParsedText, seen: Snapshot) -> ProofEvidence:
    """The extension, or the function, that the text names is one that the installed framework does not fit."""
    symbols, names = asked_symbols(reading), names_module(reading)
    found: list[Evidence] = []
    for closure in seen.closures or ():
        for wanted_by, name, library in _unfit_parts(closure):
            asked = name.lower() in symbols or (not symbols and name.lower() in reading.low)
            blamed = blames_module(reading, wanted_by)
            if (asked and (blamed or not names)) or (blamed and not symbols):
                where = _("is not in {path}", path=library) if library else _("is in no loaded library")
                found.append(Evidence(label=name, value=where, source=wanted_by))
    for trial in seen.trials or ():
        for package in trial.packages:
            for failure in package.failures:
                if any(f"undefined symbol: {s}" in failure.text.lower() for s in symbols):
                    file = failure.path or failure.text.partition(": undefined")[0].rpartition(" ")[2]
                    label = f"import {package.distribution}"
                    found.append(Evidence(label=label, value=failure.text.strip(), source=file))
    return tuple(dict.fromkeys(found))


def extension_fits(reading: ParsedText, seen: Snapshot) -> ProofEvidence:
    """The extension that the text blames is here, and all that it asks for is there."""
    found = [
        (file, closure)
        for closure in seen.closures or ()
        for file in dict.fromkeys((*closure.binaries, *closure.files))
        if blames_module(reading, file)
    ]
    if any(c.gaps or c.edges or any(o.problem or o.ended for o in c.openings or ()) for _file, c in found):
        return ()
    return tuple(
        Evidence(label=_("Every function that it asks for is there"), value=file, source=closure.consumer.label)
        for file, closure in found
    )
