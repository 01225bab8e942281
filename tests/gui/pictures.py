"""Pictures of every page, dialog and door: ``python -m tests.gui.pictures [FOLDER] [NAME...]``, or ``--readme`` for the docs.

Each NAME is a variant (see VARIANTS): window size, text size, colours, and language.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("QT_QPA_PLATFORM", "windows" if sys.platform == "win32" else "offscreen")
os.environ["XDG_CURRENT_DESKTOP"] = ""

from PySide6.QtCore import QSettings, QSize
from PySide6.QtWidgets import QApplication, QWidget

from core.common import i18n
from gui.controller import Controller
from gui.dialogs.change_dialog import FixDialog, UndoDialog
from gui.theme import THEMES_BY_NAME
from gui.window.app import make_application
from gui.window.window import Window
from gui.window.wizard import Wizard
from tests.gui import recorded
from tests.gui.conftest import AtOnce
from tests.gui.engines import Repairing, Showing

DOCS = Path(__file__).parents[2] / "docs" / "pictures"
MESSAGE = """Traceback (most recent call last):
  File "train.py", line 40, in <module>
    loss.backward()
Could not load library libcudnn_cnn.so.9. Error: libcudnn_cnn.so.9: cannot open shared object file: No such file or directory
RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED
"""


UNDECIDED = "CUDA error: an illegal memory access was encountered"
"""A message that several causes can have; one question decides."""


class Variant(NamedTuple):
    """How the window is shown."""

    size: QSize
    text: str = "100"
    theme: str = "light"
    language: str = "en"


VARIANTS = {
    "usual": Variant(QSize(1000, 700)),
    "dark": Variant(QSize(1000, 700), theme="dark"),
    "contrast": Variant(QSize(1000, 700), theme="contrast"),
    "large-text": Variant(QSize(1000, 700), text="200"),
    "large": Variant(QSize(1920, 1080)),
    "large-dark": Variant(QSize(1920, 1080), text="200", theme="dark"),
    "german": Variant(QSize(1000, 700), language="de"),
    "german-large-text": Variant(QSize(1000, 700), text="200", language="de"),
    "chinese": Variant(QSize(1000, 700), language="zh_CN"),
    "narrow": Variant(QSize(480, 270)),
}


class Album:
    """Takes pictures into a folder."""

    def __init__(self, folder: Path, name: str, variant: Variant) -> None:
        self.folder, self.name, self.variant = folder, name, variant
        self.only = ""
        folder.mkdir(parents=True, exist_ok=True)
        os.environ[i18n.LANGUAGE_VARIABLE] = variant.language
        i18n.use_language(variant.language)
        self._scratch = tempfile.TemporaryDirectory()
        self.settings = QSettings(f"{self._scratch.name}/settings.ini", QSettings.Format.IniFormat)
        self.settings.setValue("theme", variant.theme)
        self.settings.setValue("text size", variant.text)

    def window(self, engine: object) -> Window:
        """Open a window on an engine."""
        window = Window(Controller(engine, AtOnce()), self.settings)
        window.resize(self.variant.size)
        window.show()
        window.start()
        return window

    def wizard(self, engine: object) -> Wizard:
        """Open the whole wizard on an engine."""
        window = Wizard(Controller(engine, AtOnce()), self.settings)
        window.resize(self.variant.size)
        window.show()
        window.start()
        window.focus_first()
        return window

    def take(self, widget: QWidget, what: str) -> None:
        """Save a picture of a widget, if it is wanted."""
        if self.only and what != self.only:
            return
        for _ in range(3):
            QApplication.processEvents()
        widget.grab().save(str(self.folder / f"{'-'.join(filter(None, (what, self.name)))}.png"))


def pages(album: Album, machine: str, titles: tuple[str, ...] = ()) -> None:
    """Take each page of a machine."""
    window = album.window(Showing(recorded.report(machine)))
    for row, page in enumerate(window.pages):
        window.steps.setCurrentRow(row)
        for toggle in [card.evidence for card in page.cards[:1] if card.evidence]:
            toggle.button.setChecked(True)
        short = machine.replace(" ", "-")
        album.take(window, f"{short}-{row + 1}")
    window.close()


def waiting(album: Album) -> None:
    """Take the window while it looks."""
    window = album.window(Showing(recorded.report("healthy")))
    window._show_waiting("Scanning ... This changes nothing.")
    window.steps.setCurrentRow(0)
    window._busy(True)
    window._section("driver", "looked")
    window._section("environment", "looked")
    window._section("pythons", "looking")
    window._section("toolkits", "failed")
    window._say("Looking for Python environments")
    album.take(window, "looking")
    window._busy(False)
    window._on_failed("ValueError: an example of a fault of our own")
    album.take(window, "failed")
    window.close()


def message(album: Album, only: str = "") -> None:
    """Take the second door, empty and answered; or ``only`` one picture of it."""
    window = album.window(Showing(recorded.report("sub-library missing")))
    album.only = only
    window.open_message()
    album.take(window, "message-empty")
    window.explain_page.text.setPlainText(MESSAGE)
    window.explain_page.find_button.click()
    album.take(window, "message")
    window.explain_page.verticalScrollBar().setValue(10**6)
    album.take(window, "message-end")
    window.close()


def fixing(album: Album, only: str = "") -> None:
    """Take the dialogs of a fix and of its undoing, and what the summary says between them; or ``only`` one of them."""
    with tempfile.TemporaryDirectory() as scratch:
        engine = Repairing(Path(scratch), recorded.windows(r"C:\Users\ada\bin"), recorded.on_windows)
        album.only = only
        window = album.window(engine)
        album.take(window, "cause")
        window.errands.fix(window.stack.currentWidget().cards[0].finding)
        dialog = window.findChild(FixDialog)
        album.take(dialog, "fix-preview")
        dialog._commit()
        album.take(dialog, "fix-done")
        dialog.reject()
        window.steps.setCurrentRow(len(window.pages) - 1)
        album.take(window, "summary-changed")
        window.errands.undo(tuple(e.id for e in engine.journal.entries()))
        undo = window.findChild(UndoDialog)
        album.take(undo, "undo-preview")
        undo.reject()
        window.close()


def road(album: Album) -> None:
    """Take the four screens, from the question to the end, and the other ends of the second."""
    window = album.wizard(Showing(recorded.report("fifty pythons")))
    window.road.current.choose("named")
    album.take(window, "1-what-does-not-work")
    window.close()
    with tempfile.TemporaryDirectory() as scratch:
        engine = Repairing(Path(scratch), recorded.windows(r"C:\Users\ada\bin"), recorded.on_windows)
        window = album.wizard(engine)
        for name in ("2-the-cause", "3-what-will-change", "4-fixed"):
            pressed = window.road.current.primary
            assert pressed is not None
            pressed.click()
            album.take(window, name)
        window.close()
    question(album)
    for machine in ("no gpu", "no driver"):
        window = album.wizard(Showing(recorded.report(machine)))
        window.road.answer()
        album.take(window, f"2-{machine.replace(' ', '-')}")
        window.close()


def question(album: Album) -> None:
    """Take the one question that decides about an error message."""
    window = album.wizard(Showing(recorded.report("healthy")))
    window.road.read_given(text=UNDECIDED)
    window.road.current.primary.click()
    album.take(window, "2-one-question")
    window.close()


def everything(folder: Path, names: list[str]) -> None:
    """Take all pictures in some variants."""
    for name in names:
        album = Album(folder, name, VARIANTS[name])
        makers: tuple[Callable[[Album], None], ...] = (road, waiting, message, fixing)
        for make in makers:
            make(album)
        for machine in (
            "healthy",
            "shadowed",
            "sub-library missing",
            "no driver",
            "ten gpus",
            "fifty pythons",
            "everything broken",
        ):
            pages(album, machine)


def for_the_docs() -> None:
    """Take the small set that README shows, each page once, and the four screens in every theme and language."""
    for theme in THEMES_BY_NAME:
        for language in ("en", "de", "zh_CN"):
            if (theme, language) != ("light", "en"):
                name = f"{theme}-{language.partition('_')[0]}"
                road(Album(DOCS / "themes", name, Variant(QSize(1000, 700), theme=theme, language=language)))
    album = Album(DOCS, "", VARIANTS["usual"])
    road(album)
    for machine, row, name in (
        ("ten gpus", 0, "driver"),
        ("everything broken", 1, "toolkit"),
        ("shadowed", 2, "cudnn"),
        ("shadowed", 3, "environment"),
        ("fifty pythons", 4, "frameworks"),
        ("healthy", 5, "benchmark"),
        ("healthy", 6, "summary"),
    ):
        window = album.window(Showing(recorded.report(machine)))
        window.steps.setCurrentRow(row)
        album.take(window, name)
        window.close()
    message(album, "message")
    fixing(album, "fix-preview")


def main(arguments: list[str]) -> int:
    """Take the pictures that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.gui.pictures")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("pictures"))
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"a variant: {', '.join(VARIANTS)}; all by default")
    parser.add_argument("--readme", action="store_true", help="take the pictures of docs/pictures instead")
    chosen = parser.parse_args(arguments)
    for name in chosen.names:
        if name not in VARIANTS:
            parser.error(f"{name!r} is no variant; the variants are {', '.join(VARIANTS)}")
    _app = make_application()
    if chosen.readme:
        for_the_docs()
    else:
        everything(chosen.folder, chosen.names or list(VARIANTS))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
