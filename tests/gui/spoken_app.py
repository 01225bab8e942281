"""The wizard on a recorded machine that can really be cured, for those who reach it by AT-SPI alone: ``python -m tests.gui.spoken_app FOLDER``."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication

from gui.controller import Controller
from gui.window.app import make_application
from gui.window.frame import Frame
from gui.window.wizard import Wizard
from installer.by_hand import by_hand
from tests.gui import recorded
from tests.gui.engines import Repairing
from tests.gui.test_walk import BEFORE


def main(folder: Path) -> int:
    """Show it until it is ended by its own button."""
    app: QApplication = make_application()
    settings = QSettings(str(folder / "s.ini"), QSettings.Format.IniFormat)
    engine = Repairing(folder, recorded.windows(BEFORE["folder not on path"]), recorded.on_windows)
    frame = Frame(settings)
    window = Wizard(Controller(engine), settings)
    frame.show_content(window)
    frame.show()
    window.focus_first()
    window.start()
    return app.exec()


if __name__ == "__main__":
    raise SystemExit(main(Path(by_hand(__doc__, "FOLDER/")[0])))
