"""Sentences of the Snapshot in the reader's language: live, from a report's JSON, from a redacted one, and from an older one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.benchmark.framework_script import FRAMEWORK_SCRIPT, SAYS
from core.common import fact_text as made
from core.common.fact_text import fact_text, fill_form, forms_in, join_facts, remember_form
from core.common.i18n import ENGLISH, translate_fact, use_language
from core.doctor.examine import diagnose_snapshot
from core.loader.read_image import read_image
from core.model.facts import ProbeError
from core.model.findings import Report
from core.report.json_form import from_json, to_json
from core.report.redact import redact
from core.report.text import as_markdown
from installer.generate.texts import every_text
from tests import machines
from tests.test_snapshots import RECORDED

SECRET = "/home/adalovelace/lib"


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(made, "_made", {})
    yield
    use_language(ENGLISH)


def forget() -> None:
    made._made.clear()


def report(message: str) -> Report:
    base = machines.wheel_machine()
    machine = replace(base.machine, user="adalovelace", home="/home/adalovelace")
    errors = (ProbeError(probe="cudnn", kind="crash", message=message),)
    return diagnose_snapshot(replace(base, machine=machine, errors=errors))


def said() -> str:
    inner = fact_text("could not be started: {e}", e="No such file")
    return join_facts((fact_text("packages in {site}", site=SECRET), inner), "; ")


GERMAN = "Pakete in {}; konnte nicht gestartet werden: No such file"


def shown(of: Report) -> str:
    return translate_fact(of.snapshot.errors[0].message)


def test_a_sentence_stays_english_in_the_json_and_german_on_the_screen() -> None:
    here = report(said())
    data = to_json(here)
    use_language("de")
    assert shown(here) == GERMAN.format(SECRET)
    assert json.loads(data)["snapshot"]["errors"][0]["message"] == (
        f"packages in {SECRET}; could not be started: No such file"
    )
    forget()
    there = from_json(data)
    assert there == here
    assert shown(there) == GERMAN.format(SECRET)
    forget()
    assert shown(there) == there.snapshot.errors[0].message  # what no form is known of stays as it is


def test_a_redacted_sentence_is_shown_in_german_and_its_form_holds_no_name() -> None:
    clean = redact(report(said()))
    data = to_json(clean)
    assert b"adalovelace" not in data
    use_language("de")
    home = GERMAN.format("<home>/lib")
    assert shown(clean) in (home, GERMAN.format("/home/<user>/lib"))
    assert "Pakete in" in as_markdown(clean)
    forget()
    assert shown(from_json(data)) == shown(clean)
    counts = {t.kind: t.places for t in clean.taken_out or ()}
    forget()
    assert {t.kind: t.places for t in redact(report(f"packages in {SECRET}; x")).taken_out or ()} == counts


@pytest.mark.parametrize("recorded", RECORDED[::5], ids=lambda p: p.stem)
def test_every_form_of_a_report_gives_a_text_of_that_report(recorded: Path) -> None:
    older = from_json(recorded.read_bytes())
    data = json.loads(to_json(diagnose_snapshot(older.snapshot)))
    texts = data.pop("texts")
    strings = json.dumps(data, ensure_ascii=False)
    values = {json.dumps(v, ensure_ascii=False)[1:-1] for t in texts for v in t["values"].values()}
    for text in texts:
        sentence = json.dumps(fill_form(text["message"], text["values"]), ensure_ascii=False)[1:-1]
        assert sentence in strings or sentence in values
    for load in older.snapshot.loads or ():  # environments are told in every language, in older reports, too
        use_language("de")
        if load.consumer.prefix:
            assert translate_fact(load.consumer.label) != load.consumer.label
            assert translate_fact(load.consumer.description) != load.consumer.description


def test_no_report_changes_what_another_one_says() -> None:
    mine = said()
    for message, values in (
        ("{x}", {"x": mine}),
        ("packages in {site}", {"site": mine.removeprefix("packages in ")}),
        ("{a}; could not be started: No such file", {"a": f"packages in {SECRET}"}),
    ):
        remember_form(message, values)
    use_language("de")
    assert translate_fact(mine) == GERMAN.format(SECRET)


def test_a_report_with_strange_forms_opens() -> None:
    document = json.loads(to_json(report("x")))
    document["texts"] = [
        {"message": "{x:>99999999}{x!r}{", "values": {"x": "a"}},
        {"message": "", "values": {}},
        {"message": "{x}" * 300, "values": {"x": "y" * 999}},
        {"message": "x", "values": {"x": "x"}},
    ] * 5000
    from_json(json.dumps(document).encode())
    assert len(made._made) <= 4


@pytest.mark.parametrize("language", ["de", "zh_CN"])
def test_every_form_of_the_catalogue_is_filled_in_every_language(language: str) -> None:
    use_language(language)
    for text in every_text():
        names = dict.fromkeys(re.findall(r"\{(\w+)\}", text.message))
        if text.context and names:
            sentence = fact_text(text.message, **{name: f"<{name}>" for name in names})
            assert all(f"<{name}>" in translate_fact(sentence) for name in names), sentence


def test_what_is_read_twice_is_still_known(tmp_path: Path) -> None:
    file = tmp_path / "libcudnn.so.9"
    file.write_bytes(b"\x7fELF")
    first, again = read_image(file), read_image(file)
    use_language("de")
    assert first.problem == again.problem
    assert translate_fact(again.problem) != again.problem
    assert list(forms_in(again))


def test_the_script_says_what_is_extracted() -> None:
    assert [words in FRAMEWORK_SCRIPT for words in SAYS] == [True] * len(SAYS)
