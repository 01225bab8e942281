"""Tests of the benchmark: numbers, engine over a stand-in driver and cuDNN, verdicts, the command."""
