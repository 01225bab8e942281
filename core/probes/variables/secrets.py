"""Vocabularies probe: words in a variable's value, compared with those in the files of the framework that reads it.

A library that accepts options by name contains these names as text, so the installed release itself shows which it
knows. Files are opened only if such a variable is set, in this session or another way of starting.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from core.common.late_pattern import late_pattern
from core.knowledge.contracts import Contract, lacks_port, variable_contracts
from core.model.facts import Distribution, PythonEnvironment, Vocabulary, path_text
from core.probes.probe import ProbeRequest
from core.probes.python.programs.program_folder import own_texts
from core.probes.sysroot import Sysroot

LATIN_1 = 0xFF
"""The last letter that http.client.HTTPConnection.putheader() can encode."""
CODE_BYTES = 64 << 10
_CHECK = late_pattern(r"\blen\((?:key|suffix|key_suffix)\) != (\d{1,4}):")
"""The whole key, or what stands behind its first dash."""


def refused_secrets(request: ProbeRequest, where: Sysroot) -> Iterator[Vocabulary]:
    """Yield the secrets that an installed reader refuses."""
    for contract in variable_contracts():
        match contract.kind:
            case "header":
                yield from _in_headers(contract, request)
            case "proxy":
                yield from _addresses_without_a_port(contract, request)
            case "key":
                yield from _keys(contract, request, where)
            case _:
                pass


def _in_headers(contract: Contract, request: ProbeRequest) -> Iterator[Vocabulary]:
    """Yield letters that no header of a request can have, such as quotation marks of a word processor."""
    odd = tuple(dict.fromkeys(c for c in request.env.get(contract.variable, "").strip() if ord(c) > LATIN_1))
    if odd and not any(request.env.get(n) for n in contract.unless):
        for python, reader in _readers(contract, request):
            row = Vocabulary(variable=contract.variable, prefix=python.prefix, files=(), reader=reader.name, sure=False)
            yield replace(row, unknown=tuple(path_text(c) for c in odd[:8]), takes="header")


def _addresses_without_a_port(contract: Contract, request: ProbeRequest) -> Iterator[Vocabulary]:
    """Yield a proxy whose address ends before its host: a # or / stands in its password."""
    name, value = next(((n, v) for n, v in request.env.items() if n.upper() == contract.variable and v), ("", ""))
    if lacks_port(value) and not any(request.env.get(n) or request.env.get(n.lower()) for n in contract.unless):
        for python, reader in _readers(contract, request):
            row = Vocabulary(variable=contract.variable, prefix=python.prefix, files=(), reader=reader.name, sure=False)
            yield replace(row, known=(path_text(name),), takes="address")


def _keys(contract: Contract, request: ProbeRequest, where: Sysroot) -> Iterator[Vocabulary]:
    """Yield a key whose length the code refuses; ``known``, ``unknown``: the lengths that it takes and gets."""
    key = request.env.get(contract.variable, "").strip()
    texts = own_texts(request, where) or {} if key else {}
    asking = (t for path, t in texts.items() if path.endswith(".py") and contract.variable in t)
    if not any(re.search(contract.spelt, text) for text in asking):
        return
    length = len(key.split("-", 1)[-1])
    for python, reader in _readers(contract, request):
        for path in (where.join(s, *file.split("/")) for s in python.site_packages for file in contract.holds):
            takes = {int(n) for n in _CHECK.findall(where.text(path, CODE_BYTES) or "")}
            if len(takes) == 1 and length not in takes:
                yield Vocabulary(
                    variable=contract.variable, prefix=python.prefix, files=(path_text(path),), sure=False,
                    known=tuple(str(n) for n in takes), unknown=(str(length),), takes="key length",
                    reader=f"{reader.name} {reader.version}",
                )  # fmt: skip


def _readers(contract: Contract, request: ProbeRequest) -> Iterator[tuple[PythonEnvironment, Distribution]]:
    """Yield each environment with the first distribution in it that reads a variable."""
    for python in request.seen.pythons or ():
        if reader := next((d for d in python.distributions if re.fullmatch(contract.readers, d.name)), None):
            yield python, reader
