"""On Windows the tests of its API, elsewhere those of the lab that runs them."""

import sys

HERE_ONLY = ["test_lab.py", "faultlab"]
WINDOWS_ONLY = [
    "test_host.py",
    "test_writing.py",
    "test_elevation.py",
    "test_scan.py",
    "test_system.py",
    "test_repair.py",
]

collect_ignore = HERE_ONLY if sys.platform == "win32" else WINDOWS_ONLY
