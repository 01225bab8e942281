"""Languages: which one is used, how texts are filled in, and that no catalogue can break the program."""

from __future__ import annotations

import ast
import functools
import gettext
import os
import re
import string
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from core import __main__
from core.cli import main
from core.common import i18n
from core.common.fact_text import fact_text, fill_form, form_of, join_facts, remember_form
from core.common.i18n import _, n_
from installer.generate.texts import every_text


class Turned(gettext.NullTranslations):
    """A catalogue of a few given texts."""

    def __init__(self, texts: dict[str, str]) -> None:
        super().__init__()
        self.texts = texts

    def gettext(self, message: str) -> str:
        return self.texts.get(message, message)

    def pgettext(self, context: str, message: str) -> str:
        return message

    def ngettext(self, singular: str, plural: str, number: int) -> str:
        return self.texts.get(singular, singular) if number == 1 else self.texts.get(plural, plural)


def speak(monkeypatch: pytest.MonkeyPatch, texts: dict[str, str]) -> None:
    monkeypatch.setattr(i18n, "_translation", Turned(texts))


def test_values_are_filled_in_after_translation(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _("{file} is damaged", file="a.so") == "a.so is damaged"
    assert n_("{n} file in {folder}", "{n} files in {folder}", 3, folder="/b") == "3 files in /b"
    speak(monkeypatch, {"{file} is damaged": "Beschädigt: {file}", "{n} files": "{n} Dateien"})
    assert _("{file} is damaged", file="a.so") == "Beschädigt: a.so"
    assert n_("{n} file", "{n} files", 2) == "2 Dateien"


@pytest.mark.parametrize("hostile", ["{", "}", "{0}", "{file.__class__}", "%s", "{{}}", "\\N{DIGIT ONE}"])
def test_a_value_is_never_read_as_a_form(hostile: str) -> None:
    assert _("{file} is damaged", file=hostile) == f"{hostile} is damaged"


@pytest.mark.parametrize(
    "broken", ["{fil} ist kaputt", "{", "{0}", "{file.nothing}", "{file[x]}", "{file:d}", "{file!z}"]
)
def test_a_broken_translation_gives_the_english_text(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    speak(monkeypatch, {"{file} is damaged": broken})
    assert _("{file} is damaged", file="a.so") == "a.so is damaged"


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if there were catalogues for German and Chinese."""
    monkeypatch.setattr(i18n, "available_languages", lambda: ("en", "de", "zh_CN"))


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize(
    ("name", "serves"),
    [
        ("de", "de"), ("de_DE.UTF-8", "de"), ("de-AT", "de"), ("de_CH@euro", "de"), ("zh_CN.GB18030", "zh_CN"), ("zh", "zh_CN"),
        ("zh-Hans-SG", "zh_CN"), ("zh_TW.UTF-8", "en"), ("zh-Hant", "en"), ("fr_FR", "en"), ("C", "en"), ("C.UTF-8", "en"),
        ("POSIX", "en"), ("", "en"), ("en_GB", "en"), ("../../etc", "en"), ("de\0", "en"), ("_", "en"), ("DE", "de"),
    ],
)  # fmt: skip
def test_the_nearest_language_serves(name: str, serves: str) -> None:
    assert i18n.nearest_language(name) == serves


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize(
    ("environment", "chosen", "uses"),
    [
        ({"CONVALESCE_LANGUAGE": "de", "LANG": "zh_CN"}, "zh_CN", "de"),
        ({"LANG": "de_DE.UTF-8"}, "zh_CN", "zh_CN"),
        ({"LANG": "de_DE.UTF-8"}, "", "de"),
        ({"LC_ALL": "C", "LANG": "de_DE.UTF-8"}, "", "en"),
        ({"LC_ALL": "", "LC_MESSAGES": "zh_CN.UTF-8", "LANG": "de_DE.UTF-8"}, "", "zh_CN"),
        ({"LC_ALL": "en_GB.UTF-8"}, "de", "de"),
    ],
)
def test_who_names_the_language(environment: dict[str, str], chosen: str, uses: str) -> None:
    assert i18n.choose_language(environment, chosen) == uses


def test_a_language_that_is_not_there_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["scan", "--language", "klingon"]) == 2
    assert "--language does not know 'klingon'; use one of en" in capsys.readouterr().err
    assert main.main(["--language=en", "replay", "/nonexistent.json"]) == 2
    assert "nonexistent.json" in capsys.readouterr().err


def test_the_window_takes_the_language_of_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr("gui.display.missing_display", lambda: "")
    monkeypatch.setattr("gui.window.app.main", lambda: seen.append(i18n.choose_language(os.environ, "zh_CN")) or 0)
    monkeypatch.setattr(sys, "argv", ["convalesce", "--language", "de"])
    assert __main__.main() == 0
    assert seen == ["de"]


def test_english_costs_no_catalogue() -> None:
    script = "import sys; from core.common import i18n; i18n.use_language('en'); sys.exit('gettext' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False, cwd=Path(__file__).parents[2]).returncode == 0


def test_numbers_and_moments_as_the_language_writes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (i18n.format_number(1234567), i18n.format_number(1234.5, 1), i18n.format_plain_number(1234.56, 1)) == (
        "1,234,567",
        "1,234.5",
        "1234.6",
    )
    assert i18n.format_moment("2026-11-21T13:45:09+00:00") == "2026-11-21 13:45"
    assert i18n.format_moment("2026-11-21T13:45:09+00:00", zone=True) == "2026-11-21 13:45 UTC"
    assert i18n.format_moment("2026-11-21T13:45:09", zone=True) == "2026-11-21 13:45"
    assert i18n.format_moment("some day") == "some day"
    monkeypatch.setattr(i18n, "_language", "de")
    assert (i18n.format_number(1234567), i18n.format_number(1234.5, 1), i18n.format_plain_number(1234.56, 1)) == (
        "1.234.567",
        "1.234,5",
        "1234,6",
    )
    assert i18n.format_moment("2026-11-21T13:45:09+00:00") == "21.11.2026 13:45"


class Facts(Turned):
    """A catalogue of forms that probes write."""

    def gettext(self, message: str) -> str:
        return message

    def pgettext(self, context: str, message: str) -> str:
        return self.texts.get(message, message) if context == "fact" else message


FORMS = {
    "is cut off: {size} of at least {end} bytes are there": "abgeschnitten: {size} von {end}",
    "is empty": "leer",
    "{problem} (error {number})": "{problem} (Fehler {number})",
    "{n}x{c}x{size}x{size}": "{n} mal {c} mal {size}",
}


@pytest.mark.parametrize(
    ("make", "shown"),
    [
        (
            lambda: fact_text("is cut off: {size} of at least {end} bytes are there", size=3, end=7),
            "abgeschnitten: 3 von 7",
        ),
        (lambda: fact_text("is empty"), "leer"),
        (lambda: fact_text("{problem} (error {number})", problem=fact_text("is empty"), number=5), "leer (Fehler 5)"),
        (lambda: fact_text("{n}x{c}x{size}x{size}", n=2, c=3, size=4), "2 mal 3 mal 4"),
        (lambda: fact_text("{what}: {problem}", what="a.so", problem=fact_text("is empty")), "a.so: leer"),
        (lambda: join_facts(["one", fact_text("is empty")]), "one, leer"),
        (lambda: join_facts([fact_text("is empty")]), "leer"),
        (lambda: fact_text("{n}x{c}x{size}x{size}", n="{c}", c="{n.__class__}", size="{"), "{c} mal {n.__class__} mal {"),
        (lambda: "is cut off: 1 of at least 2 bytes are there", "is cut off: 1 of at least 2 bytes are there"),
        (str, ""),
    ],
)  # fmt: skip
def test_a_sentence_of_a_probe_is_shown_in_the_readers_language(
    make: Callable[[], str], shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``make`` is called here: a child's work in this process, as another test does it, hands all forms over."""
    text = make()
    assert i18n.translate_fact(text) == text  # English stays
    monkeypatch.setattr(i18n, "_translation", Facts(FORMS))
    assert i18n.translate_fact(text) == shown


def test_a_sentence_of_a_probe_is_written_in_english_in_every_language(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(i18n, "_translation", Facts(FORMS))
    assert fact_text("is empty") == "is empty"
    assert fact_text("{problem} (error {number})", problem=fact_text("is empty"), number=5) == "is empty (error 5)"


@pytest.mark.parametrize(
    "form",
    [
        ("{x}", {"x": "{x}"}),
        ("{x}{x}", {"x": "ab"}),
        ("{x:>999999999}", {"x": "a"}),
        ("{x.__class__.__mro__}", {"x": "a"}),
        ("{", {"x": "a"}),
        ("{x}" * 300, {"x": "y" * 900}),
        ("x" * 10**6, {}),
        ("{x} is empty", {"x": "z" * 10**6}),
    ],
)
def test_a_hostile_form_of_a_report_is_only_text(
    form: tuple[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(i18n, "_translation", Facts(FORMS))
    remember_form(*form)
    text = fill_form(*form)
    assert i18n.translate_fact(text) == text


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.common.fact_text._made", {})
    monkeypatch.setattr("core.common.fact_text.MOST", 10)
    texts = [fact_text("number {n}", n=n) for n in range(15)]
    assert [form_of(text) is not None for text in texts] == [n >= 5 for n in range(15)]


@functools.cache
def calls() -> list[tuple[str, ast.Call]]:
    root = Path(__file__).parents[2]
    files = [p for folder in ("core", "gui") for p in sorted((root / folder).rglob("*.py"))]
    trees = [(p.relative_to(root).as_posix(), ast.parse(p.read_text(encoding="utf-8"))) for p in files]
    return [
        (name, n) for name, t in trees for n in ast.walk(t) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    ]


def test_every_text_is_given_the_values_that_it_takes() -> None:
    wrong = []
    for file, call in calls():
        texts = [a.value for a in call.args[:2] if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        if call.func.id not in ("_", "n_", "fact_text") or not texts or any(k.arg is None for k in call.keywords):
            continue
        given = {k.arg for k in call.keywords} | ({"n"} if call.func.id == "n_" else set())
        takes = {f for text in texts for _literal, f, _spec, _conversion in string.Formatter().parse(text) if f}
        if given - {"n"} != takes - {"n"} and (call.keywords or call.func.id == "n_"):
            wrong.append((file, call.lineno, texts, given ^ takes))
        if any(re.search(r"[^\w ]", f) for f in takes):
            wrong.append((file, call.lineno, texts, takes))
    assert wrong == []


def test_no_two_texts_differ_in_the_names_of_their_values_alone() -> None:
    """Each would be translated on its own."""
    forms: dict[tuple[str, str, str], list[str]] = {}
    for text in every_text():
        if len(re.findall(r"[a-z]+", re.sub(r"\{\w+\}", "", text.message))) > 1:
            form = (re.sub(r"\{\w+\}", "{}", text.message), text.plural, text.context)
            forms.setdefault(form, []).append(text.message)
    assert [several for several in forms.values() if len(several) > 1] == []


def test_no_name_hides_the_function_that_translates() -> None:
    root = Path(__file__).parents[2]
    hidden = []
    scopes = (ast.FunctionDef, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    for path in [p for folder in ("core", "gui") for p in (root / folder).rglob("*.py")]:
        for scope in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(scope, scopes):
                continue
            inner = {id(n) for s in ast.walk(scope) if s is not scope and isinstance(s, scopes) for n in ast.walk(s)}
            own = [n for n in ast.walk(scope) if id(n) not in inner]
            stored = any(isinstance(n, ast.Name) and n.id == "_" and isinstance(n.ctx, ast.Store) for n in own)
            called = any(
                isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "_" for n in ast.walk(scope)
            )
            if stored and called:
                hidden.append((path.name, scope.lineno))
    assert hidden == []


def test_whole_texts_are_given_not_f_strings() -> None:
    wrong = [
        (f, c.lineno)
        for f, c in calls()
        if c.func.id in ("_", "n_", "N_") and c.args and isinstance(c.args[0], ast.JoinedStr)
    ]
    assert wrong == []
