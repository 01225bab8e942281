"""Cache what a scan reads from files for the next scan."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from core.common.frozen import is_frozen
from core.common.requirements import Answers, known_answers, learn_answers
from core.host.own_cache import read_cached, write_cached
from core.loader.earlier_reads import MAX_KEPT_BYTES, EarlierReads, lasting_identity, using

NAME = "files"
ANSWERS = "packaging"
"""Key of what ``packaging`` said; no reader has such a name."""


@contextmanager
def with_earlier_reads(*, wanted: bool = True) -> Iterator[None]:
    """Use cached reads of unchanged files, and cache what this scan reads; do nothing if not ``wanted``."""
    if not wanted:
        yield
        return
    store = EarlierReads(read_cached(NAME, MAX_KEPT_BYTES))
    with using(store), _with_earlier_answers(store):
        yield
    if store.has_news:
        write_cached(NAME, store.to_bytes())


@contextmanager
def _with_earlier_answers(store: EarlierReads) -> Iterator[None]:
    """Within the block, use what the same ``packaging`` said of requirements before, and keep what it says now."""
    library = importlib.util.find_spec("packaging.version")
    identity = lasting_identity(sys.executable if is_frozen() else library.origin or "") if library else ""
    if identity and (earlier := store.find(ANSWERS, identity, Answers)):
        learn_answers(earlier)
    before = known_answers().count()
    yield
    if identity and known_answers().count() != before:
        store.keep(ANSWERS, identity, known_answers())
