"""The tables hold together: known causes, marks that something leaves, plain sentences with a source."""

from __future__ import annotations

import re
from pathlib import Path

from core.explain import context, reading
from core.knowledge import library_names
from core.knowledge.causes import cause_rows
from core.knowledge.messages import known_clues, known_codes, known_messages, wrong_cures

FAMILIES = set(library_names.FAMILY_MARKERS) | {
    "toolkit",
    "cudnn-sub",
    "cudnn-main",
    "libcuda",
    "libcuda-unversioned",
}
CODE_MARK = re.compile(r"win:(126|127|182|193|998|1114|1157|1392|1455|14001)|nt:c0[0-9a-f]{6}")
FILE_MARK = re.compile(r"(lib|missing|named|opened):([a-z-]+?)(-\d+)?")


def left_by_code() -> set[str]:
    """Return the marks that the source of the comparing modules writes as text."""
    sources = "".join(Path(m.__file__).read_text(encoding="utf-8") for m in (context, reading))
    return set(re.findall(r'"([a-z0-9:<>=.+-]{2,40})"', sources)) | {"two-majors:cudnn", "two-majors:toolkit"}


def test_every_mark_of_a_clue_is_left_by_something() -> None:
    known = {m.id for m in known_messages()} | left_by_code()
    unknown = []
    for clue in known_clues().clues:
        for part in clue.when:
            for mark in part.lstrip("!").split("|"):
                file = FILE_MARK.fullmatch(mark)
                if mark not in known and not CODE_MARK.fullmatch(mark) and not (file and file[2] in FAMILIES):
                    unknown.append(mark)
    assert unknown == []


def test_causes_are_words_of_the_vocabulary() -> None:
    assert set(known_clues().base) <= {row.cause for row in cause_rows()}
    assert set(known_clues().decides) == set(known_clues().base)
    assert {cause for clue in known_clues().clues for cause in clue.causes} <= set(known_clues().base)


def test_messages_are_lower_case_and_have_their_own_id() -> None:
    ids = [m.id for m in known_messages()]
    assert len(ids) == len(set(ids))
    assert [p for m in known_messages() for p in m.phrases if p != p.lower() or p.startswith("*")] == []


def test_every_form_is_bounded_and_reads_lower_case() -> None:
    forms = [form for m in known_messages() for form in m.forms]
    assert forms
    endless = (".*", ".+", "[^\\n]*", "[^\\n]+")
    assert [f for f in forms if f != f.lower() or re.search(f, "") or any(e in f for e in endless)] == []


def test_every_symptom_has_two_sentences_and_a_source() -> None:
    lacking = [m.id for m in known_messages() if m.kind != "context" and not (m.meaning and m.usually and m.source)]
    assert lacking == []


def test_every_code_has_two_sentences_and_a_source() -> None:
    lacking = [c.name for c in known_codes() if not (c.meaning.endswith(".") and c.usually.endswith(".") and c.source)]
    assert lacking == []
    assert len(known_codes()) > 350


def test_every_wrong_cure_says_why_and_how_back() -> None:
    assert all(c.title and c.harm and c.undo for c in wrong_cures())
    assert {c.id for c in wrong_cures()} >= {
        "system32",
        "one_file",
        "renamed",
        "zlibwapi_useless",
        "global_ld_library_path",
    }
