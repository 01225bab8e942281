"""How a wheel gets its translations: setuptools calls this, by ``pyproject.toml``, and compiles each catalogue on the way.

Nothing of the checkout can be imported here: a build front end runs it where only setuptools is installed.
"""

from __future__ import annotations

import runpy
from pathlib import Path

from setuptools.command.build_py import build_py

ROOT = Path(__file__).parents[1]
CATALOGUE = ROOT / "core/common/catalogue.py"
TARGET = "convalesce/lib"


def catalogues() -> dict[Path, str]:
    """Return each written catalogue, and the place of its compiled form in a wheel."""
    found = sorted(ROOT.glob("resources/locale/*/LC_MESSAGES/*.po"))
    return {po: f"{TARGET}/{po.relative_to(ROOT).with_suffix('.mo').as_posix()}" for po in found}


class Build(build_py):
    """Copy the packages, and compile the catalogues."""

    def run(self) -> None:
        """Build, and add the compiled catalogues."""
        super().run()
        compiled = runpy.run_path(str(CATALOGUE))["compile_catalogue"]
        for written, place in catalogues().items():
            target = Path(self.build_lib, place)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(compiled(written.read_text(encoding="utf-8")))

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        """Return what the build writes."""
        return [*super().get_outputs(include_bytecode), *(str(Path(self.build_lib, p)) for p in catalogues().values())]

    def get_source_files(self) -> list[str]:
        """Return what a source distribution needs, too."""
        needed = (Path(__file__), *catalogues())
        return [*super().get_source_files(), *(str(p.relative_to(ROOT)) for p in needed)]
