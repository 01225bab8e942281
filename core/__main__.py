"""Start the command line, the window, a child process or the elevated part; what must be quick comes before any import."""

# ruff: noqa: E402 - the search path comes before what is found on it
from __future__ import annotations

import os
import sys


def _leave_out_the_current_folder() -> None:
    """Take the folder that ``python -m`` puts first out of the search path: its files could be called like any module below.

    A ``core`` there, or one of the few modules that ``-m`` itself needs, still comes first: ``python -P -m core`` is safe from these.
    """
    try:
        here = os.getcwd()  # noqa: PTH109 - pathlib would be imported from there
    except OSError:  # the folder was removed
        return
    root = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120 - the same
    if not sys.flags.safe_path and sys.path[:1] == [here] and here != root:
        del sys.path[0]


if __name__ == "__main__" and __spec__ is not None:
    _leave_out_the_current_folder()

import atexit
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from core import __version__
from core.common import frozen

if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> int:
    """Run the program with the arguments that it was started with; return its exit status."""
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        with suppress(OSError, AttributeError):  # a standard output that is full or closed: reported below
            print(f"convalesce {__version__}", flush=True)
            if sys.stdout is not None:
                return 0
    frozen.restore_ctypes()
    if arguments[:1] == ["--child"]:
        from core.host import child_main

        child_main.main()
    if arguments and arguments[0].startswith("--elevated-"):
        from core.transaction import elevation

        elevation.main(arguments)
    if arguments[:1] == ["--own-path"]:
        from core.transaction import own_path

        return own_path.main(arguments)
    from core.cli import main as cli

    return cli.main(arguments, without_command=wizard_or_scan)


def wizard_or_scan() -> int:
    """Show the wizard; where there is no display, say so and scan in the terminal."""
    from core.cli import main as cli
    from core.common.i18n import _, join_sentences
    from gui.display import missing_display

    _follow_no_one_else()
    problem = missing_display()
    if problem:
        print(f"convalesce: {join_sentences(problem, _('Scanning in the terminal instead.'))}", file=sys.stderr)
        return cli.main(["scan"])
    import gc
    import importlib

    gc.disable()  # until the window is there: gui.window.app.WindowLoader
    window: Callable[[], int] = importlib.import_module("gui.window.app").main
    return window()


def _follow_no_one_else() -> None:
    """Take out of our own variables what would make an administrator's window load what others can change."""
    if sys.platform == "win32" or os.geteuid() != 0:
        return
    from core.host.provenance import trusted_environment

    kept = trusted_environment(os.environ)
    for name in [n for n in os.environ if n not in kept]:
        del os.environ[name]
    os.environ.update(kept)


def run() -> NoReturn:
    """Run the program and end it.

    A scan and a check leave the interpreter as it is: taking it apart takes a fiftieth of their time.
    """
    status = main()
    if sys.argv[1:2] in (["scan"], ["check"]):
        # a stream that is closed or full: the usual end tells of it
        with suppress(OSError, AttributeError, ValueError):
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            atexit._run_exitfuncs()
            os._exit(status)
    raise SystemExit(status)


if __name__ == "__main__":
    run()
