"""The help pages: for every step and every cause a short text in plain words, read from resources/help."""

from __future__ import annotations

import re
from importlib.resources import files

from core.common import i18n
from core.common.text_width import TEXT_WIDTH, column_count, wrap
from core.model.facts import Frozen

ENGLISH = i18n.ENGLISH
PAGE_SYNONYMS = {
    "path": "search-path",
    "search path": "search-path",
    "loader": "search-path",
    "dll": "error-126",
    "cuda": "toolkit",
    "gpu": "driver",
    "variables": "environment",
    "python": "frameworks",
}
"""Other words that people type for a page."""
CURE_SECTION = 2
"""Every cause's page has three sections: symptoms, how to fix it, what not to do."""
_NAME = re.compile(r"[a-z][a-z0-9_-]{1,60}\Z")


class Page(Frozen, frozen=True, kw_only=True):
    """One page: its name (a step, a cause, or a topic), its heading, and the whole as Markdown."""

    name: str
    title: str
    markdown: str


def find_page(word: str, language: str = "") -> Page | None:
    """Return the page for a cause, a step or a topic, in ``language`` (empty: the one in use), and in English where it
    has none; None for another word.
    """
    language = language or i18n.current_language()
    name = word.strip().lower()
    name = PAGE_SYNONYMS.get(name, name)
    # accept blanks and dashes in place of the underscores of a cause
    for form in (name, re.sub(r"[\s-]+", "_", name)):
        if _NAME.match(form):
            for folder in dict.fromkeys((language, ENGLISH)):
                text = _read_page(folder, form)
                if text is not None:
                    return Page(name=form, title=text.split("\n", 1)[0].removeprefix("# "), markdown=text)
    return None


def cure_text(cause: str) -> str:
    """Return what cures a cause, from its page: the second of its three sections. Empty for a word without such a page."""
    found = find_page(cause)
    sections = re.split(r"(?m)^## .*\n", found.markdown) if found else []
    return _without_markup(sections[CURE_SECTION].strip()) if len(sections) > CURE_SECTION else ""


def page_names() -> tuple[str, ...]:
    """Return the names of all pages."""
    return tuple(sorted(f.name[:-3] for f in (files("resources") / "help" / ENGLISH).iterdir() if f.name[-3:] == ".md"))


def _read_page(language: str, name: str) -> str | None:
    if not re.fullmatch(r"[A-Za-z_]{2,12}", language):
        return None
    file = files("resources") / "help" / language / f"{name}.md"
    return file.read_text(encoding="utf-8") if file.is_file() else None


def page_text(found: Page, *, colour: bool = False, width: int = TEXT_WIDTH) -> str:
    """Return a page for a terminal: headings stand out, paragraphs and lists are wrapped."""
    lines: list[str] = []
    for block in re.split(r"\n{2,}", found.markdown.strip()):
        if lines:
            lines.append("")
        heading = re.fullmatch(r"(#+) (.*)", block)
        if heading:
            text = _without_markup(heading[2])
            lines.append(f"\x1b[1m{text}\x1b[0m" if colour else text)
            lines += ["=" * column_count(text)] if heading[1] == "#" and not colour else []
            continue
        for line in block.split("\n"):
            item = re.match(r"(- |\d+\. )", line)
            after = " " * len(item[0]) if item else ""
            lines += wrap(_without_markup(line), width, "  ", f"  {after}")
    return "\n".join(lines) + "\n"


def _without_markup(text: str) -> str:
    """Remove Markdown's stars and backquotes, which only disturb in a terminal."""
    return re.sub(r"\*\*?([^*]+)\*\*?", r"\1", text).replace("`", "")
