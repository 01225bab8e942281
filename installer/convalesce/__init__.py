"""The installed package: starts the program whose folders lie in ``lib`` beside this file.

The folders are called ``core``, ``gui`` and ``resources``, as many a project's own are. So they are no packages of an
environment: this launcher puts ``lib`` first, and takes away what PYTHONPATH and the current folder would add.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FAILED = 3
"""Exit status of an installation that is not complete; 1 stands for a fault that was found."""


def search_path(path: list[str], pythonpath: str, current: str) -> list[str]:
    """Return the search path of the program: ``lib``, then what the interpreter and its environment bring."""
    site = os.path.dirname(HERE)  # named by PYTHONPATH after ``pip install --target``; what we need lies there, too
    dropped = {os.path.normpath(p) for p in (*pythonpath.split(os.pathsep), current)} - {site}
    return [os.path.join(HERE, "lib"), *(p for p in path if p and os.path.normpath(p) not in dropped)]


def start() -> int:
    """Start the program with its command line and return its exit status."""
    try:
        current = os.getcwd()
    except OSError:  # the folder was removed
        current = ""
    sys.path[:] = search_path(sys.path, os.environ.get("PYTHONPATH", ""), current)
    try:
        from core.__main__ import run

        run()
    except ImportError as e:
        print(f"convalesce: this installation is not complete ({e}). Install it again.", file=sys.stderr)
        return FAILED


def start_window() -> int:
    """Start the window."""
    sys.argv[1:] = []
    return start()
