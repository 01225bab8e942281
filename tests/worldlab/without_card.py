"""The command line that people use, on this machine as it is. Run with ``python -I``, as ``with_card.py``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from core.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
