"""Cache what a scan reads from files for the next scan."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from core.host.own_cache import read_cached, write_cached
from core.loader.earlier_reads import MAX_KEPT_BYTES, EarlierReads, using

NAME = "files"


@contextmanager
def with_earlier_reads(*, wanted: bool = True) -> Iterator[None]:
    """Use cached reads of unchanged files, and cache what this scan reads; do nothing if not ``wanted``."""
    if not wanted:
        yield
        return
    store = EarlierReads(read_cached(NAME, MAX_KEPT_BYTES))
    with using(store):
        yield
    if store.has_news:
        write_cached(NAME, store.to_bytes())
