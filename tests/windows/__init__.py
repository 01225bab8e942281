"""Tests of what only Windows can prove; elsewhere ``python -m tests.windows`` runs them under wine."""
