"""Keys whose length the code of the package that takes them refuses. Only the lengths are kept, never the key."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.common.late_pattern import late_pattern
from core.knowledge.contracts import variable_contracts
from core.model.facts import Vocabulary, path_text
from core.probes.probe import ProbeRequest
from core.probes.python.programs.program_folder import own_texts
from core.probes.sysroot import Sysroot

CODE_BYTES = 64 << 10
_CHECK = late_pattern(r"\blen\((?:key|suffix|key_suffix)\) != (\d{1,4}):")
"""The whole key, or what stands behind its first dash."""


def refused_keys(request: ProbeRequest, where: Sysroot) -> Iterator[Vocabulary]:
    """Yield the keys with lengths that their package refuses; ``known``, ``unknown``: the lengths that it takes and gets."""
    for contract in (c for c in variable_contracts() if c.kind == "key"):
        key = request.env.get(contract.variable, "").strip()
        texts = own_texts(request, where) or {} if key else {}
        asking = [t for path, t in texts.items() if path.endswith(".py") and contract.variable in t]
        if not any(re.search(contract.spelt, text) for text in asking):
            continue
        length = len(key.split("-", 1)[-1])
        for python in request.seen.pythons or ():
            reader = next((d for d in python.distributions if re.fullmatch(contract.readers, d.name)), None)
            files = (where.join(s, *file.split("/")) for s in python.site_packages for file in contract.holds)
            for path in files if reader else ():
                text = where.text(path, CODE_BYTES) or ""
                takes = {int(n) for n in _CHECK.findall(text)}
                if reader and len(takes) == 1 and length not in takes:
                    yield Vocabulary(
                        variable=contract.variable,
                        prefix=python.prefix,
                        files=(path_text(path),),
                        known=tuple(str(n) for n in takes),
                        unknown=(str(length),),
                        takes="key length",
                        reader=f"{reader.name} {reader.version}",
                        sure=False,
                    )
