"""The catalogues: made from today's texts, complete, filled in with the same values, with keys where English has keys."""

from __future__ import annotations

import functools
import gettext
import io
import re
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from core.common import i18n
from core.common.catalogue import compile_catalogue, read_catalogue
from core.report import help_pages
from installer.generate import missing
from installer.generate.catalogues import LOCALE, as_po, texts
from installer.generate.texts import Text, every_text

LANGUAGES = sorted(p.name for p in LOCALE.iterdir() if p.is_dir())
PLACE = re.compile(r"\{[^{}]*\}|%\(\w+\)[a-z]|%[a-z]\b")


@functools.cache
def catalogue(name: str) -> Catalog:
    with (LOCALE / name / "LC_MESSAGES" / "convalesce.po").open("rb") as file:
        return read_po(file, locale=name)


def messages(name: str) -> list[Message]:
    return [m for m in catalogue(name) if m.id and any(texts(m.string))]


def spoken(file: IO[bytes]) -> dict[object, str]:
    """Return a compiled catalogue's texts without its header, which names the program that wrote it."""
    return {key: text for key, text in gettext.GNUTranslations(file)._catalog.items() if key}


def test_german_and_chinese_are_there() -> None:
    assert {"de", "zh_CN"} <= set(LANGUAGES)
    assert set(LANGUAGES) <= set(i18n.available_languages())


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_catalogue_is_compiled_as_babel_compiles_it(name: str) -> None:
    written = (LOCALE / name / "LC_MESSAGES" / "convalesce.po").read_bytes()
    babels = io.BytesIO()
    write_mo(babels, catalogue(name))
    babels.seek(0)
    assert spoken(io.BytesIO(compile_catalogue(written.decode()))) == spoken(babels)
    assert as_po(catalogue(name)) == written


WRITTEN = r"""# A language
msgid ""
msgstr ""
"Language: de\n"
"Content-Type: text/plain; charset=utf-8\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"

#, python-brace-format
msgctxt "fact"
msgid ""
"a \"long\" one\n"
"of two lines"
msgstr "ein \\n\tlanger"

msgid "{n} file"
msgid_plural "{n} files"
msgstr[0] "{n} Datei"
msgstr[1] "{n} Dateien"

#, fuzzy, python-brace-format
msgid "a guess"
msgstr "geraten"

msgid "nothing yet"
msgstr ""

#~ msgid "gone"
#~ msgstr "fort"
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_translators_write_is_read(end: str) -> None:
    written = WRITTEN.replace("\n", end)
    assert list(read_catalogue(written)) == ["", 'fact\x04a "long" one\nof two lines', "{n} file\0{n} files"]
    german = gettext.GNUTranslations(io.BytesIO(compile_catalogue(written)))
    assert german.pgettext("fact", 'a "long" one\nof two lines') == "ein \\n\tlanger"
    assert [german.ngettext("{n} file", "{n} files", n) for n in (1, 2)] == ["{n} Datei", "{n} Dateien"]
    assert [german.gettext(text) for text in ("a guess", "nothing yet", "gone")] == ["a guess", "nothing yet", "gone"]


def test_what_is_no_catalogue_has_no_texts() -> None:
    assert read_catalogue('<<<<<<< ours\n"lost"\n\nmsgid "a"\n=======\n') == {}
    assert gettext.GNUTranslations(io.BytesIO(compile_catalogue(""))).gettext("a") == "a"


def test_a_missing_translation_is_counted_and_ends_a_release_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    new = Text("A text that nobody has translated yet.")
    monkeypatch.setattr(missing, "every_text", lambda: [*every_text(), new])
    assert new.message in missing.untranslated("de")
    assert missing.main([]) == 0
    assert missing.main(["--release"]) == 1
    assert re.search(r"warning: de: \d+ texts are shown in English", capsys.readouterr().err)
    known = next(t for t in every_text() if t.message == "Summary" and not t.context)
    monkeypatch.setattr(missing, "every_text", lambda: [known])
    monkeypatch.setattr(missing, "without_page", lambda _name: [])
    assert missing.main(["--release"]) == 0


def test_a_missing_help_page_is_counted_and_ends_a_release_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for language, pages in {"en": ("driver", "new"), "de": ("driver",)}.items():
        (tmp_path / language).mkdir()
        for page in pages:
            (tmp_path / language / f"{page}.md").touch()
    monkeypatch.setattr(missing, "HELP", tmp_path)
    monkeypatch.setattr(missing, "every_text", list)
    assert [missing.without_page(name) for name in ("de", "zh_CN")] == [["new"], []]
    assert (missing.main([]), missing.main(["--release"])) == (0, 1)
    assert "warning: de: 1 help pages are shown in English: new" in capsys.readouterr().err


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_translation_takes_the_same_values(name: str) -> None:
    wrong = []
    for m in messages(name):
        english, spoken = texts(m.id), texts(m.string)
        wanted = set(PLACE.findall(" ".join(english)))
        for form in spoken:
            got = set(PLACE.findall(form))
            if got != wanted and not (len(english) > 1 and got == wanted - {"{n}"}):
                wrong.append((english[0], form, wanted ^ got))
    assert wrong == []


@pytest.mark.parametrize("name", LANGUAGES)
def test_edges_and_keys_are_those_of_the_english_text(name: str) -> None:
    wrong = []
    for m in messages(name):
        english = texts(m.id)[0]
        for form in texts(m.string):
            edges = [(t[: len(t) - len(t.lstrip())], t[len(t.rstrip()) :]) for t in (english, form)]
            keys = [len(re.findall(r"&\w", t)) for t in (english, form) if "&&" not in english]
            if edges[0] != edges[1] or len(set(keys)) > 1 or english.count("\n") != form.count("\n"):
                wrong.append((english, form))
    assert wrong == []


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_plural_form_of_the_language_is_there(name: str) -> None:
    forms = catalogue(name).num_plurals
    assert [m.id for m in messages(name) if len(texts(m.id)) > 1 and len(texts(m.string)) != forms] == []


def test_making_a_language_is_one_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from installer.generate import catalogues as language

    monkeypatch.setattr(language, "LOCALE", tmp_path)
    assert language.main(["fr"]) == 1  # nothing is translated yet
    made = tmp_path / "fr" / "LC_MESSAGES" / "convalesce.po"
    assert len(read_po(io.BytesIO(made.read_bytes()), locale="fr")) == len(every_text())
    assert language.main(["xx_nowhere"]) == 2


@pytest.mark.parametrize("name", LANGUAGES)
def test_pages_of_help_are_the_same_in_every_language_that_has_them(name: str) -> None:
    folder = Path(help_pages.__file__).parents[2] / "resources" / "help" / name
    if not folder.exists():
        return
    for page in help_pages.page_names():
        english, spoken = help_pages.find_page(page, "en"), help_pages.find_page(page, name)
        assert english is not None
        assert spoken is not None
        if not (folder / f"{page}.md").exists():
            continue  # shown in English; installer/generate/missing.py counts it
        shapes = [
            [line.split(" ")[0] for line in p.markdown.splitlines() if line.startswith("#")] for p in (english, spoken)
        ]
        assert shapes[0] == shapes[1], page


@pytest.mark.parametrize(("name", "says"), [("de", "Aufruf:"), ("zh_CN", "用法：")])
def test_the_command_line_speaks_the_language(name: str, says: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "core", "scan", "--language", name, "--help"],
        capture_output=True, check=False, cwd=Path(__file__).parents[1], encoding="utf-8",
        env={"PATH": "", "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stdout.startswith(says)
    assert "show this help" not in done.stdout
