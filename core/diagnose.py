"""Diagnose: run every rule over a Snapshot, order what they find, and name the one root cause."""

from __future__ import annotations

from core.facts import Snapshot
from core.findings import Finding
from core.rules import RULES


def diagnose(snapshot: Snapshot) -> tuple[Finding, ...]:
    """Return all findings, worst first, with at most one of them primary. Never raises for a readable Snapshot."""
    found = [finding for rule in RULES for finding in rule(snapshot)]
    return tuple(sorted(found, key=lambda finding: -finding.severity))
