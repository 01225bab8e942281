"""Arbitrary bytes and mutated headers give facts, never an exception. The long run is tests/fuzz_images.py."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.loader import read_image
from tests import fuzz_images

MAGICS = (
    b"",
    b"\x7fELF",
    b"\x7fELF\x02\x01\x01",
    b"\x7fELF\x01\x02\x01",
    b"MZ",
    b"MZ".ljust(60, b"\0") + b"\x40\0\0\0PE\0\0",
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(magic=st.sampled_from(MAGICS), rest=st.binary(max_size=600))
def test_arbitrary_bytes_give_an_image(tmp_path: Path, magic: bytes, rest: bytes) -> None:
    path = tmp_path / "libcudnn.so.9"
    path.write_bytes(magic + rest)
    image = read_image.read_image(path)
    assert image.size == len(magic + rest)
    assert image.state != "good" or image.mappable
    assert bool(image.problem) == (image.state != "good")


def test_mutated_headers_give_facts() -> None:
    seen = fuzz_images.run(1500, seed=1)
    assert seen["FAILED"] == 0
    assert seen["ELF: damaged"] + seen["PE: damaged"] > 50
    assert seen["ELF: good"] + seen["PE: good"] > 50
