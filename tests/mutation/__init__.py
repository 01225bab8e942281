"""Small wrong changes to what decides, each held against the tests: how many do they notice? By hand, `python -m tests.mutation`."""
