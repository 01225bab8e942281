"""What a bill of materials says of a package that the lock names."""

from __future__ import annotations

import re

from installer.parts import PYPI, locked_hashes


def test_each_locked_package_has_the_hashes_of_its_files() -> None:
    hashes = locked_hashes()
    assert {"msgspec", "pyside6-essentials"} <= hashes.keys() & {name.lower() for name in PYPI}
    for name, found in hashes.items():
        assert found, name
        assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in found)
    assert len({digest for found in hashes.values() for digest in found}) == sum(map(len, hashes.values()))
