"""The command line that people use, on this machine with a made-up card and driver: only the driver's section is not real.

A file that is run with ``python -I``: the scene's variables and working folder are the person's, and must not reach it.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from core.probes.driver import probe as driver
from tests import machines

driver.look = lambda _request: machines.working_driver()  # before the scan puts its probes together

from core.cli.main import main  # noqa: E402 - after the change that it is to see

if __name__ == "__main__":
    sys.exit(main())
