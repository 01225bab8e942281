"""What holds for every test: texts are English, whatever the language of the machine that runs them."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from core import i18n

os.environ[i18n.VARIABLE] = i18n.ENGLISH  # for the programs that tests start, too


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    """Texts are English at the start of a test, and again after one that chose another language."""
    i18n.use_language(i18n.ENGLISH)
    yield
    i18n.use_language(i18n.ENGLISH)
