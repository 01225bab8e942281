"""Regular expressions that an earlier run compiled are those that this one would compile."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from core.common.kept_patterns import Patterns, kept_patterns

TEXTS = (
    r"(?i)\bcuDNN[ _-]?(?P<major>[0-9]{1,2})(?:\.(?P<minor>[0-9]+))?\b",
    r"(?<![\w.+-])lib[\w+-]{2,64}\.so(?:\.[0-9]{1,8}){0,4}",
    r"(?P<a>x)(?P=a)|(?>y+)z++|é{2}[^\W\d]",
    r"(?m:^a$)(?s:.)(?x: b c )",
    "\U0001f600[\u0400-\u04ff]",
    "",
)
SAMPLES = ("cudnn_9.1", "CUDNN 8", "libcudnn.so.9", "xx", "yyzz", "ééa", "a\na\nbc", "\U0001f600\u0434", "")


@pytest.fixture(autouse=True)
def _nothing_remembered() -> None:
    re.purge()


def compiled(earlier: Patterns) -> tuple[list[re.Pattern[str]], list[re.Pattern[bytes]], Patterns]:
    re.purge()
    with kept_patterns(earlier) as known:
        texts = [re.compile(text, flags) for text in TEXTS for flags in (0, re.I, re.A | re.M)]
        return texts, [re.compile(rb"(?P<n>[\x80-\xff]+)\0"), re.compile(b"a|b", re.S)], known


def test_they_are_what_re_makes_of_them() -> None:
    texts, raw, known = compiled({})
    again, raw_again, still = compiled(known)
    assert still == known
    re.purge()
    usual = [re.compile(text, flags) for text in TEXTS for flags in (0, re.I, re.A | re.M)]
    for made in (texts, again):
        for one, its in zip(made, usual, strict=True):
            assert one == its, "the code is the same"
            assert (one.groups, dict(one.groupindex), one.flags) == (its.groups, dict(its.groupindex), its.flags)
            for sample in SAMPLES:
                assert [m.groupdict() for m in one.finditer(sample)] == [m.groupdict() for m in its.finditer(sample)]
    for one_raw in (raw[0], raw_again[0]):
        assert [m["n"] for m in one_raw.finditer(b"a\xff\0")] == [b"\xff"]


def test_what_is_no_code_is_compiled_anew() -> None:
    known = compiled({})[2]
    spoilt = {key: replace(made, code=made.code[::-1]) for key, made in known.items()}
    cut = {key: replace(made, code=made.code[:5]) for key, made in known.items()}
    for broken in (spoilt, cut):
        assert compiled(broken)[0] == compiled({})[0]


def test_outside_the_block_re_is_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = re._compiler.compile  # type: ignore[attr-defined]
    with kept_patterns({}) as known:
        with pytest.raises(re.error):
            re.compile("(")
        re.compile("x", re.DEBUG)
    assert re._compiler.compile is usual  # type: ignore[attr-defined]
    assert known == {}
    monkeypatch.delattr(re._compiler, "_code")  # type: ignore[attr-defined]
    with kept_patterns({}):
        assert re._compiler.compile is usual, "another Python's re is left alone"  # type: ignore[attr-defined]
