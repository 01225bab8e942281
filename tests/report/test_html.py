"""The HTML report: one file that asks for nothing and runs nothing, whatever a report holds."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from msgspec.structs import replace

from core.doctor.examine import diagnose_snapshot
from core.model.facts import FrameworkTrial, ProbeError
from core.model.findings import HistoryEntry, Report
from core.model.steps import Severity
from core.report.html import as_html, verdict_sentence
from core.report.json_form import from_json
from tests import machines as m
from tests.report.test_redact import planted
from tests.test_snapshots import RECORDED

VOID = {"meta", "br", "hr", "link", "img", "input"}
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</style><script>alert(1)</script>",
    "</td></table><iframe src=javascript:alert(1)>",
    "$style ${told} $$",
    "&lt;script&gt; &#60;script&#62;",
    "javascript:alert(1)",
    "\u202eevil\u2066 \x00 \x1b]0;x\x07 \ud800".encode("utf-8", "backslashreplace").decode(),
    "]]><!--",
)


class Page(HTMLParser):
    """Reads a page: its elements, attributes, headings, and whether every element is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str]] = set()
        self.headings: list[int] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {(tag, name) for name, _ in attrs}
        known = {k: v or "" for k, v in attrs}
        self.ids += [known["id"]] if "id" in known else []
        self.links += [known["href"]] if "href" in known else []
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, tag
        assert self.open[-1] == tag, (self.open[-3:], tag)
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.texts.append(data)


_ALLOWED = (
    "html head meta title style body a header main section p h1 h2 h3 h4 nav ul li article table caption thead tbody tr "
    "th td strong pre footer"
)
ALLOWED = set(_ALLOWED.split())
ATTRIBUTES = {"class", "id", "href", "lang", "charset", "http-equiv", "content", "name", "scope", "rowspan"}


def checked(report: Report) -> Page:
    """Return the page, when it is well formed and holds nothing but what the template and we write."""
    page = Page(as_html(report))
    assert page.open == []
    assert page.tags <= ALLOWED
    assert {name for _, name in page.attributes} <= ATTRIBUTES | {"aria-labelledby", "aria-label"}
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert len(page.ids) == len(set(page.ids))
    assert page.headings[0] == 1
    assert page.headings.count(1) == 1
    # no level is left out on the way down
    assert all(b <= a + 1 for a, b in zip(page.headings, page.headings[1:], strict=False))
    return page


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_in_every_field_adds_no_element_and_no_attribute(text: str) -> None:
    page = checked(planted(text))
    assert "script" not in page.tags


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda p: p.stem)
def test_every_recorded_machine_makes_a_page(recorded: object) -> None:
    report = diagnose_snapshot(from_json(recorded.read_bytes()).snapshot)
    shown = "".join(checked(report).texts)
    for f in report.findings:
        assert f.title in shown


@pytest.mark.parametrize("name", m.HEALTHY)
def test_a_machine_in_order_says_so_first(name: str) -> None:
    report = diagnose_snapshot(m.HEALTHY[name]())
    shown = "".join(checked(report).texts)
    assert "Nothing wrong was found in what was examined." in shown


def test_the_policy_allows_nothing_but_this_very_style() -> None:
    text = as_html(diagnose_snapshot(m.wheel_machine()))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    assert policy[1].startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy[1]
    assert not re.search(r"https?://|url\(|@import|//", re.sub(r"<(td|p|pre)[^>]*>.*?</\1>", "", text, flags=re.DOTALL))


def broken() -> Report:
    return diagnose_snapshot(m.with_file(m.wheel_machine(), "ops", state="truncated", size=9))


def test_the_verdict_stands_before_everything_else() -> None:
    report = broken()
    shown = "".join(checked(report).texts)
    assert report.primary
    assert verdict_sentence(report) == report.primary.title
    # the headings stand in the list of contents as well: here the last of each counts
    later = [shown.rindex(w) for w in ("The steps", "How we know", "Which files would be loaded")]
    order = [shown.index(report.primary.title), *later]
    assert order == sorted(order)


def test_every_table_has_a_caption_and_headers() -> None:
    text = as_html(broken())
    assert text.count("<table>") == text.count("<caption>") == text.count("<thead>") > 4
    assert text.count('scope="col"') > 10
    assert text.count('scope="row') > 10


def test_each_library_has_its_candidates_in_order_and_says_which_is_taken() -> None:
    report = broken()
    text = as_html(report)
    for load in report.snapshot.loads or ():
        for r in load.resolutions:
            assert f">{r.name}" in text
            assert r.winner is None or r.winner.path in text
    assert "Taken" in text
    assert "Found at none of" in text


def test_trials_of_frameworks_are_shown() -> None:
    trial = FrameworkTrial(prefix=m.PREFIX, framework="torch", version="2.6.0", reached="import", problem="No <GPU>")
    report = replace(broken(), snapshot=replace(broken().snapshot, trials=(trial,)))
    shown = "".join(checked(report).texts)
    assert "torch 2.6.0" in shown
    assert "No <GPU>" in shown


def test_the_history_tells_what_was_done_and_undone() -> None:
    done = (
        HistoryEntry(id="1", made="2025-01-01", title="Put cuDNN first", state="done", lines=("+ /a",)),
        HistoryEntry(id="2", made="2025-01-02", title="Take LD_LIBRARY_PATH away", state="undone", note="By hand"),
    )
    shown = "".join(checked(replace(broken(), history=done)).texts)
    assert shown.index("Take LD_LIBRARY_PATH away") < shown.index("Put cuDNN first")
    assert "Undone. By hand" in shown
    assert "changed nothing" in as_html(replace(broken(), history=()))
    assert "What was changed" not in as_html(broken())


def test_what_could_not_be_looked_at_is_told() -> None:
    error = ProbeError(probe="driver", kind="time-out", message="It gave no answer.")
    report = replace(broken(), snapshot=replace(broken().snapshot, errors=(error,), driver=None))
    shown = "".join(checked(report).texts)
    assert "It took too long" in shown
    assert "Not examined" in shown


def test_severity_is_a_word_and_never_colour_alone() -> None:
    text = as_html(planted("x"))
    for word in ("OK", "Good to know", "Undecided", "Warning", "Error"):
        assert word in text
    assert text.count('class="finding ') == len(Severity)
