"""The program's start: what must be quick comes before anything is imported; the rest is the command line's."""

from __future__ import annotations

import sys

from core import __version__
from core.common import frozen


def main() -> int:
    """Run the program with the arguments that it was started with; return its exit status."""
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        print(f"convalesce {__version__}")
        return 0
    frozen.plain_ctypes()
    if arguments[:1] == ["--child"]:
        from core.host import child_main

        child_main.main()
    if arguments and arguments[0].startswith("--elevated-"):
        from core.transaction import elevation as elevate

        elevate.main(arguments)
    from core.cli import main as cli

    return cli.main(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
