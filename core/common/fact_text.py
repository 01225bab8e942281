"""Sentences that probes write into the Snapshot: stored in English, shown in the reader's language.

Such a sentence is a form ("{file} is damaged") with values. The Snapshot keeps the finished sentence, which readers of the
JSON expect; this module remembers its form and values, so that no one has to parse the sentence. A report's JSON includes
them (``texts``), and a child sends them before the fact itself.

The key is the sentence itself, as the form and its values give it, so no report can make a sentence mean anything else.
Children import this module, so it imports nothing.
"""

from __future__ import annotations

from _thread import allocate_lock

TYPE_CHECKING = False  # the constant of typing, whose import takes longer than this whole module
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Form = tuple[str, dict[str, str]]

MAX_FACT_CHARACTERS = 1000
"""Most characters of a sentence that is remembered."""
MOST = 50_000
"""Most sentences that are remembered; beyond it the oldest are forgotten, and then shown in English."""
MAX_FACT_DEPTH = 3
"""How deeply sentences may be nested."""

# One memory per process: a sentence is a plain text in the Snapshot and carries no link to where it was made. As a sentence
# is its own key, no two Snapshots in one process can disagree about it.
_made: dict[str, Form] = {}
_lock = allocate_lock()


def fact_text(message: str, /, **values: object) -> str:
    """Return a sentence for the Snapshot: ``message`` with its ``values``, both English. Literals are extracted for translation."""
    if not values:
        return message
    given = {name: str(value) for name, value in values.items()}
    text = fill_form(message, given)
    _keep(text, message, given)
    return text


def join_facts(words: Iterable[str], between: str = ", ") -> str:
    """Return several words or sentences for the Snapshot in one text."""
    values = {f"part{n}": word for n, word in enumerate(words)}
    return fact_text(between.join(f"{{{name}}}" for name in values), **values)


def remember_form(message: str, values: Mapping[str, str]) -> None:
    """Remember the form of a sentence from a report or a child; a form that is already known stays."""
    if len(message) + message.count("{") * max(map(len, values.values()), default=0) < 10 * MAX_FACT_CHARACTERS:
        text = fill_form(message, values)
        if text not in _made:
            _keep(text, message, values)


def _keep(text: str, message: str, values: Mapping[str, str]) -> None:
    if len(text) >= MAX_FACT_CHARACTERS or text in (message, *values.values()):
        return
    with _lock:
        while len(_made) >= MOST:
            del _made[next(iter(_made))]
        _made[text] = message, dict(values)


def form_of(text: str) -> Form | None:
    """Return the form and the values of a sentence; None for any other text."""
    return _made.get(text)


def take_forms() -> list[Form]:
    """Return the forms remembered since the last call, and forget them: a child sends them to its parent."""
    with _lock:
        forms = list(_made.values())
        _made.clear()
    return forms


def forms_in(value: object) -> list[Form]:
    """Return the forms of all sentences in frozen structs and tuples, and of the sentences among their values."""
    found: list[Form] = []
    seen: set[int] = set()

    def walk(item: object, depth: int) -> None:  # not a generator: a report holds ten thousand values
        if isinstance(item, str):
            form = _made.get(item)
            if form:
                found.append(form)
                if depth:
                    walk(tuple(form[1].values()), depth - 1)
        elif isinstance(item, tuple):
            for one in item:
                if one:
                    walk(one, depth)
        elif id(item) not in seen:  # several results share structs
            seen.add(id(item))
            for name in getattr(item, "__struct_fields__", ()):
                if held := getattr(item, name):
                    walk(held, depth)

    walk(value, MAX_FACT_DEPTH)
    return found


def fill_form(message: str, values: Mapping[str, str]) -> str:
    """Return ``message`` with each ``{name}`` replaced by its value. Nothing else in braces has a meaning here."""
    first, *rest = message.split("{")
    parts = [first]
    for part in rest:
        name, end, after = part.partition("}")
        parts.append(values[name] + after if end and name in values else "{" + part)
    return "".join(parts)
