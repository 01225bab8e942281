"""Write the type of causes from their rows: ``python3 dev.py causes`` after a row was added to causes.json."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from installer.by_hand import by_hand

ROOT = Path(__file__).resolve().parents[2]
ROWS = ROOT / "resources" / "knowledge" / "causes.json"
MODULE = ROOT / "core" / "knowledge" / "causes.py"
_TYPE = re.compile(r"^Cause = Literal\[\n.*?^\]\n", re.MULTILINE | re.DOTALL)


def generated() -> str:
    """Return the module as the rows want it."""
    words = [row["cause"] for row in json.loads(ROWS.read_text(encoding="utf-8"))]
    lines = "".join(f'    "{word}",\n' for word in words)
    return _TYPE.sub(lambda _old: f"Cause = Literal[\n{lines}]\n", MODULE.read_text(encoding="utf-8"))


def main() -> int:
    """Write the module, and say whether it changed."""
    new = generated()
    changed = new != MODULE.read_text(encoding="utf-8")
    MODULE.write_text(new, encoding="utf-8", newline="\n")
    print(f"{MODULE.relative_to(ROOT).as_posix()} {'is written' if changed else 'is as its rows want it'}")
    return 0


if __name__ == "__main__":
    by_hand(__doc__)
    sys.exit(main())
