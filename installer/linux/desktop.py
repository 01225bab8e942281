"""The desktop's files: entry, icon and AppStream metadata, with the paths and the release filled in."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from core import __version__

HERE = Path(__file__).parent
ICON = HERE.parents[1] / "resources" / "icons" / "convalesce.svg"
ID = "io.github.convalesce.Convalesce"
"""The application's name among all others, in the form of a reversed domain; the project's own once it has one."""
METADATA = f"metainfo/{ID}.metainfo.xml"
COLOUR = "#1f6feb"
"""The icon is drawn in the text's colour; a desktop has no text to go by."""


def build(share: Path, program: str) -> None:
    """Write the three files below a ``share`` folder; ``program`` is what the entry starts."""
    icon = ICON.read_text(encoding="utf-8").replace("currentColor", COLOUR)
    entry = (HERE / "convalesce.desktop").read_text(encoding="utf-8").replace("@PROGRAM@", program)
    day = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), UTC).date().isoformat()
    about = (HERE / "convalesce.metainfo.xml").read_text(encoding="utf-8")
    about = about.replace("@VERSION@", __version__).replace("@DATE@", day).replace("@ID@", ID)
    for path, content in (
        ("applications/convalesce.desktop", entry),
        ("icons/hicolor/scalable/apps/convalesce.svg", icon),
        (METADATA, about),
    ):
        file = share / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")


def validate(folder: Path) -> None:
    """Hold the files against the two specifications by freedesktop's own tools.

    Raises:
        subprocess.CalledProcessError: one of them is not as it should be; the tool has said what.
    """
    build(folder, "convalesce")
    subprocess.run(["desktop-file-validate", folder / "applications/convalesce.desktop"], check=True)
    subprocess.run(["appstreamcli", "validate", "--no-net", folder / METADATA], check=True)
