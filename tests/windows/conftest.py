"""On Windows the tests of its API, elsewhere those of the lab that runs them."""

import sys
from pathlib import Path

HERE_ONLY = ["test_lab.py", "faultlab"]
WINDOWS_ONLY = [path.name for path in Path(__file__).parent.glob("test_*.py") if path.name != "test_lab.py"]

collect_ignore = HERE_ONLY if sys.platform == "win32" else WINDOWS_ONLY
