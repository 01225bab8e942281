"""Write the picture of the folders from the import contracts: ``python3 dev.py architecture`` after pyproject.toml or a first line changed."""

from __future__ import annotations

import ast
import re
import sys
import textwrap
import tomllib
from pathlib import Path

from installer.by_hand import by_hand

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "architecture.md"
CONTRACT = "The floors of the house"
WIDTH = 110
"""Characters of a line of the picture."""
_PICTURE = re.compile(r"(?<=<!-- picture -->\n).*?(?=<!-- end of picture -->)", re.DOTALL)


def picture() -> str:
    """Return the layers from top to bottom, with the first docstring line of each folder."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    (layers,) = (c["layers"] for c in contracts if c["name"] == CONTRACT)
    rows = [
        (str(floor) if first else "", place(module), first_line(module))
        for floor, layer in zip(range(len(layers), 0, -1), layers, strict=True)
        for first, module in ((i == 0, name.strip()) for i, name in enumerate(layer.split("|")))
    ]
    wide = max(len(name) for _, name, _ in rows)
    return "".join(
        textwrap.fill(f"{floor:<2} {name:<{wide}}  {says}", WIDTH, subsequent_indent=" " * (wide + 5)) + "\n"
        for floor, name, says in rows
    )


def place(module: str) -> str:
    """Return where a module of a contract lies: ``core.rules`` -> "core/rules/"."""
    path = module.replace(".", "/")
    return f"{path}/" if (ROOT / path).is_dir() else f"{path}.py"


def first_line(module: str) -> str:
    """Return the first line of a module's documentation."""
    path = ROOT / place(module)
    tree = ast.parse((path / "__init__.py" if path.is_dir() else path).read_text(encoding="utf-8"))
    return (ast.get_docstring(tree) or "").partition("\n")[0]


def page() -> str:
    """Return the page with today's picture in it."""
    block = f"```text\n{picture()}```\n"
    return _PICTURE.sub(lambda _old: block, PAGE.read_text(encoding="utf-8"))


def main() -> int:
    """Write the page, and say whether it changed."""
    new = page()
    changed = new != PAGE.read_text(encoding="utf-8")
    PAGE.write_text(new, encoding="utf-8", newline="\n")
    print(f"{PAGE.relative_to(ROOT).as_posix()} {'is written' if changed else 'is as the contracts want it'}")
    return 0


if __name__ == "__main__":
    by_hand(__doc__)
    sys.exit(main())
