"""The window's language: chosen in the settings, else the system's. Qt's own texts and numbers follow it."""

from __future__ import annotations

from PySide6.QtCore import QLibraryInfo, QLocale, QSettings, QTranslator
from PySide6.QtWidgets import QApplication

from core.common import i18n
from core.common.i18n import _
from core.host.this_host import display_language

SETTING_KEY = "language"


def language_choices() -> dict[str, str]:
    """Return the choices: the stored value, and each language's name in that language."""
    return {"": _("&System language")} | {name: own_name(name) for name in i18n.available_languages()}


def own_name(language: str) -> str:
    """Return a language's name in that language."""
    if language == i18n.ENGLISH:
        return "English"  # Qt would add the variant of English.
    name = QLocale(language).nativeLanguageName()
    return name[:1].upper() + name[1:]


def use_chosen_language(settings: QSettings) -> bool:
    """Use the chosen language; return whether it differs from the previous one."""
    before = i18n.current_language()
    i18n.use_preferred_language(str(settings.value(SETTING_KEY, "") or ""), display_language())
    QLocale.setDefault(QLocale(i18n.current_language()))
    app = QApplication.instance()
    if isinstance(app, QApplication):
        for old in app.findChildren(QTranslator, SETTING_KEY):
            app.removeTranslator(old)
            old.deleteLater()
        translator = QTranslator(app)
        translator.setObjectName(SETTING_KEY)
        if translator.load(
            f"qtbase_{i18n.current_language()}", QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
        ):
            app.installTranslator(translator)
    return i18n.current_language() != before
