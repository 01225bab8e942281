"""Requirements in foreign text: read as ``packaging`` reads them, and nothing raises."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.markers import Marker, UndefinedComparison
from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as Parsed
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from core.common.requirements import Requirement, is_in_specifier, marker_applies, parse_requirement, specifier_clauses
from core.model.facts import marker_facts
from tests.common.test_versions import HOSTILE, LONG

NUMBERS = st.sampled_from(("0", "1", "2", "9", "10", "01", "2024"))
RELEASES = st.lists(NUMBERS, min_size=1, max_size=4).map(".".join)
VERSIONS = st.builds(
    str.__add__, RELEASES, st.sampled_from(("", "", "+cu128", "+cpu.1", "rc1", ".post1", ".dev2", "a0"))
)
SPACE = st.sampled_from(("", "", " ", "  ", "\t"))
CLAUSES = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(("==", "!=", "<=", ">=", "<", ">", "~=", "===")),
    SPACE,
    VERSIONS,
    st.sampled_from(("", "", ".*")),
)
SPECIFIERS = st.lists(CLAUSES, max_size=3).map(", ".join)
TERMS = st.builds(
    "{0}{1}{2}{1}{3}{4}{3}".format,
    st.sampled_from(("python_version", "python_full_version", "extra", "sys_platform", "platform_machine", "os_name")),
    SPACE,
    st.sampled_from(("==", "!=", "<", ">=", "<=", ">", "~=", "in")),
    st.sampled_from(("'", '"')),
    st.one_of(
        RELEASES, st.sampled_from(("linux", "win32", "x86_64", "AMD64", "all", "Some_Extra", "some-extra", "v1", "nt"))
    ),
)
MARKERS = st.recursive(
    TERMS,
    lambda inner: st.one_of(
        st.builds("({})".format, inner), st.builds("{} {} {}".format, inner, st.sampled_from(("and", "or")), inner)
    ),
    max_leaves=5,
)
REQUIREMENTS = st.builds(
    "{}{}{}{}{}".format,
    st.sampled_from(("torch", "nvidia-cudnn-cu12", "Some.Name_x", "torch[all]", "torch[a, b-c]", "torch-", "a")),
    SPACE,
    st.one_of(SPECIFIERS, st.builds("({})".format, SPECIFIERS)),
    SPACE,
    st.one_of(st.just(""), st.builds("; {}".format, MARKERS), st.builds(";{} ".format, MARKERS), st.just(";")),
)
FACTS = st.builds(
    lambda system, architecture, version, extra: {**marker_facts(system, architecture, version), "extra": extra},
    st.sampled_from(("linux", "windows")),
    st.sampled_from(("x86_64", "aarch64")),
    st.sampled_from(("", "3.9.18", "3.11.7", "3.13.0rc1", "3.13")),
    st.sampled_from(("", "all", "some-extra", "Some_Extra")),
)


@settings(max_examples=400)
@given(REQUIREMENTS, FACTS, VERSIONS)
def test_requirements_are_read_as_packaging_reads_them(text: str, facts: dict[str, str], version: str) -> None:
    try:
        expected = Parsed(text)
    except InvalidRequirement:
        assert parse_requirement(text) is None
        return
    found = parse_requirement(text)
    assert found == Requirement(expected.name, str(expected.specifier), str(expected.marker or ""))
    assert set(specifier_clauses(found.specifier)) == {(s.operator, s.version) for s in expected.specifier}
    assert marker_applies(found, facts) is (expected.marker is None or _holds(expected.marker, facts))
    assert is_in_specifier(found.specifier, version) is expected.specifier.contains(Version(version), prereleases=True)


@pytest.mark.parametrize(
    "text", ["a>=1.0,>=1", "a==1,==1.0.0,!=2", "a!=1.0.*,!=1.*", "a~=1.0,~=1.0.0", "a<01,<1", "a<2,<10"]
)
def test_two_that_say_the_same_are_told_once_as_packaging_does(text: str) -> None:
    found = parse_requirement(text)
    assert found
    assert found.specifier == str(Parsed(text).specifier)


def _holds(marker: Marker, facts: dict[str, str]) -> bool:
    with suppress(UndefinedComparison):
        return marker.evaluate(dict(facts))
    return False


@given(SPECIFIERS, VERSIONS)
def test_releases_are_compared_as_packaging_compares_them(specifier: str, version: str) -> None:
    try:
        expected = SpecifierSet(specifier)
    except ValueError:
        assert is_in_specifier(specifier, version) is None
        return
    assert is_in_specifier(specifier, version) is expected.contains(Version(version), prereleases=True)


@given(HOSTILE, HOSTILE)
def test_nothing_raises(one: str, other: str) -> None:
    for wish in (parse_requirement(f"torch{other}"), parse_requirement(f"torch; python_version >= '{other}'")):
        if wish is not None:
            marker_applies(wish, {"python_version": one, "extra": ""})
            is_in_specifier(wish.specifier, one)


def test_versions_that_cannot_be_compared_are_neither_in_nor_out() -> None:
    assert is_in_specifier(">=2", "2.1") is True
    assert is_in_specifier(">=2", "1.9") is False
    assert is_in_specifier(f">={LONG}", "1.9") is None
    assert is_in_specifier(">=2", LONG) is None
    nested = "torch; " + "(" * 5000 + "extra == 'a'" + ")" * 5000  # as deep as the interpreter lets it read
    assert parse_requirement(nested) in (None, Requirement("torch", "", 'extra == "a"'))
