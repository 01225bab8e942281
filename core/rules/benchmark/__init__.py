"""Rules about the benchmark's results."""
