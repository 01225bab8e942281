"""Pure functions from a Snapshot to Findings: no os, no subprocess, no ctypes, no clock.

A rule is ``rule(snapshot) -> Iterator[Finding]``; each topic's module lists its own in ``RULES``, under the same name
as its probe and its tests, and ``every_rule`` lists those modules. Rules share ``snapshot_queries`` and ``consumer_loads`` (questions to a Snapshot),
``wording`` and ``advice`` (the text of a finding, and what to do). ``core.knowledge`` has the tables. This module
imports none of them: an explanation without a machine needs a few, not all.
"""
