"""The part of the benchmark that runs in child processes."""
