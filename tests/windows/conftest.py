"""On Windows the tests of its API, elsewhere those of the lab that runs them."""

import sys

collect_ignore = ["test_lab.py"] if sys.platform == "win32" else ["test_host.py", "test_writing.py"]
