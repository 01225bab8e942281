"""An administrator's policy: which registry values mean what."""

from __future__ import annotations

import pytest

from core.host.policy import Policy, change_obstacle, elevation_obstacle, policy_from, this_policy


@pytest.mark.parametrize(
    ("values", "policy"),
    [
        ({}, Policy()),
        ({"ScanOnly": 1}, Policy(scan_only=True)),
        ({"scanonly": 1}, Policy(scan_only=True)),
        ({"ScanOnly": 0, "NoElevation": 1}, Policy(no_elevation=True)),
        (
            {"ReportShare": r" \\files\reports ", "Language": "de"},
            Policy(report_share=r"\\files\reports", language="de"),
        ),
        ({"ScanOnly": "1", "ReportShare": 5, "Language": b"de", "NoElevation": None}, Policy()),
    ],
)
def test_values_of_the_expected_kind_decide(values: dict[str, object], policy: Policy) -> None:
    assert policy_from(values) == policy


@pytest.mark.parametrize("elevated", [False, True])
def test_what_a_policy_stands_against(elevated: bool) -> None:
    assert not change_obstacle(Policy(), elevated=elevated)
    assert "ScanOnly" in change_obstacle(Policy(scan_only=True), elevated=elevated)
    assert ("NoElevation" in change_obstacle(Policy(no_elevation=True), elevated=elevated)) is elevated
    assert not elevation_obstacle(Policy(scan_only=True)), "what was changed may be taken back"


def test_linux_has_none() -> None:
    assert this_policy() == Policy()
