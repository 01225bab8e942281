"""Redact names and identifiers of persons and machines in a report; the same name always gets the same placeholder."""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar

import msgspec

from core.common.fact_text import MAX_FACT_DEPTH, form_of, remember_form
from core.common.i18n import N_, _
from core.model.facts import Snapshot, Variable
from core.model.findings import Redaction, Report
from core.report import redact_patterns as patterns

T = TypeVar("T")
IDENTIFYING_FIELDS = {
    ("Machine", "user"): "user",
    ("Machine", "host_name"): "host",
    ("DeviceNode", "owner"): "user",
    ("DeviceNode", "group"): "group",
    ("ComputeCache", "owner"): "user",
    ("Gpu", "uuid"): "identifier",
    ("Machine", "people"): "user",
    ("Machine", "servers"): "host",
}
"""Fields that contain only a name: it is replaced however short it is."""

TERMS_OF_OURS = {("Finding", "id"), ("Finding", "cause"), ("Finding", "follows_from"), ("Ranked", "cause")}
"""Fields that contain one of the program's own terms: never replaced, whatever the names of users and machines."""

KINDS = ("user", "host", "domain")
"""Kinds of names that are known; where one name is of several kinds, the first counts."""

LONGEST_NAME = 255
"""Most characters of a file, account or host name; longer ones are replaced only if they are a whole field."""

REDACTED_KINDS = {
    "user": N_("user names and home folders"),
    "host": N_("host names"),
    "domain": N_("domain names"),
    "group": N_("names of groups"),
    "share": N_("network shares"),
    "proxy": N_("proxies and package indexes"),
    "secret": N_("passwords and tokens"),
    "identifier": N_("identifiers of devices and accounts"),
    "serial": N_("serial numbers"),
    "mail": N_("e-mail addresses"),
    "home": N_("home folders"),
}
"""Every kind of placeholder, in plain words."""


def redact(report: Report) -> Report:
    """Return the report with names, home folders, identifiers, shares, proxies and secrets as placeholders.

    ``taken_out`` of the result says what was replaced and how often; a report that is clean stays as it is.
    """
    cleaner = Cleaner(report.snapshot)
    clean = cleaner.redact_texts(report)
    counts = cleaner.counts + Counter({t.kind: t.places for t in report.taken_out or ()})
    taken = tuple(Redaction(kind=k, places=n) for k, n in sorted(counts.items()))
    return msgspec.structs.replace(clean, taken_out=taken)


def redaction_sentence(report: Report) -> str:
    """Return one sentence on what was taken out, for the report itself."""
    if report.taken_out is None:
        return _("This report contains names of users, machines and devices: it is for your own use.")
    if not report.taken_out:
        return _("No names or identifiers were found that had to be removed.")
    what = ", ".join(f"{_(REDACTED_KINDS.get(t.kind, t.kind))} ({t.places})" for t in report.taken_out)
    return _("Removed from this report, each replaced by a word in angle brackets: {what}.", what=what)


class Cleaner:
    """Replaces identifying names in texts; the names come from a Snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.counts: Counter[str] = Counter()
        self.work = 0
        """Number of characters that patterns have searched."""
        self._given: dict[tuple[str, str], str] = {}
        self._numbers: Counter[str] = Counter()
        self._done: dict[str, tuple[str, Counter[str]]] = {}
        self._words_of: dict[type, frozenset[str]] = {}
        machine = snapshot.machine
        host, _, domain = machine.host_name.partition(".")
        user = machine.user.rpartition("\\")[2]
        self._given["user", user.lower()] = "<user>"
        self._given["host", host.lower()] = "<host>"
        self._given["home", "own home"] = "<home>"
        known = {("user", user), ("host", host), ("domain", domain), *_names(snapshot)}
        known = {(k, n) for k, n in known if len(n) <= LONGEST_NAME}
        self._kinds = {n.lower(): k for k, n in sorted(known, key=lambda x: (KINDS.index(x[0]), x[1]), reverse=True)}
        # a short or everyday name is replaced only where its position shows that it is a name
        places = tuple(
            form
            for kind in KINDS
            for form in _in_place(
                kind, [n for k, n in sorted(known) if k == kind and n.lower() not in ("", *patterns.COMMON_WORDS)]
            )
        )

        home = _home_form(machine.home, windows=machine.system == "windows")
        self._passes: tuple[tuple[Callable[[re.Match[str]], str], patterns.NamePattern], ...] = (
            *((partial(self._replace, kind=form.kind), form) for form in patterns.SECRET_FORMS),
            (self._replace_assignment, patterns.ASSIGNMENT),
            *(((self._own_home, home),) if home else ()),
            (self._in_home, patterns.HOME_FOLDER),
            *((partial(self._replace, kind=form.kind), form) for form in (*patterns.SHARE_PATTERNS, *places)),
            *((self._replace_known, form) for form in _words([n for _, n in sorted(known) if _is_sure(n)])),
            (partial(self._replace, kind="domain"), patterns.DOMAIN_BEFORE_USER),
            *((self._host, form) for form in patterns.HOSTS),
            (self._replace_stored, patterns.STORAGE),
        )
        forms = [form for _replaced, form in self._passes]
        self._rare = re.compile(_any_of(sign for form in forms for sign in form.signs if len(sign) > 1))
        """Finds the markers that few texts contain."""
        self._usual = tuple(form for form in forms if not form.signs or min(map(len, form.signs)) == 1)
        """The forms whose markers many texts contain."""

    def redact_texts(self, value: T) -> T:
        """Return a copy of a frozen struct with every text redacted, at any depth."""
        return _walk(value, self._field, self)

    def redact_text(self, text: str) -> str:
        """Return a text with every name and identifier replaced."""
        if text not in self._done:
            before, self.counts = self.counts, Counter()
            self._done[text] = self._clean(text), self.counts
            if form_of(text):
                self.counts = Counter()  # a value is part of its sentence, and is counted there
                self._known_still(text)
            self.counts = before
        cleaned, counts = self._done[text]
        if counts:
            self.counts.update(counts)
        return cleaned

    def _field(self, owner: Any, field: str, text: str) -> str:
        if field in self._closed_fields(type(owner)):
            return text
        kind = IDENTIFYING_FIELDS.get((type(owner).__name__, field))
        if kind and text and not text.isdigit():
            # the form GPU-... keeps its start, as in a variable that names the same GPU
            cleaned = self.redact_text(text) if kind == "identifier" else text
            return cleaned if "<" in cleaned else self._name(kind, text)
        if isinstance(owner, Variable) and field == "value" and text:
            return self._value(owner.name.upper(), text)
        return self.redact_text(text)

    def _closed_fields(self, form: type) -> frozenset[str]:
        """Return the fields of a struct that hold one of a few words: a machine may be called "framework" or "login"."""
        if form not in self._words_of:
            ours = {field for owner, field in TERMS_OF_OURS if owner == form.__name__}
            self._words_of[form] = closed_fields(form) | ours
        return self._words_of[form]

    def _value(self, name: str, value: str) -> str:
        if name in patterns.PERSON_VARIABLES:
            return self._name("user", value)
        if name in patterns.HOST_VARIABLES:
            return self._name("host", value.lstrip("\\"))
        if name in patterns.DOMAIN_VARIABLES:
            return self._placeholder("domain", value)
        if patterns.SECRET_NAME.search(name) and name not in ("PWD", "OLDPWD"):
            return self._placeholder("secret", value)
        if patterns.HOSTS_NAME.search(name):
            return self.redact_text(patterns.HOST_IN_VALUE.sub(self._host, value))
        return self._placeholder("proxy", value) if patterns.PROXY_NAME.search(name) else self.redact_text(value)

    def _name(self, kind: str, name: str) -> str:
        r"""Return the placeholder of a name; of DOMAIN\name and host.domain both parts."""
        if kind == "user" and "\\" in name:
            domain, _, user = name.partition("\\")
            own = domain.upper() in ("NT AUTHORITY", "BUILTIN", "NT SERVICE")
            return name if own else f"{self._placeholder('domain', domain)}\\{self._name(kind, user)}"
        host, dot, domain = name.partition(".")
        if kind == "host" and dot and not host.isdigit():
            return f"{self._placeholder('host', host)}.{self._placeholder('domain', domain)}"
        return self._placeholder(kind, name)

    def _placeholder(self, kind: str, name: str) -> str:
        folded = name.lower()
        if not folded or folded in patterns.COMMON_WORDS or (name.startswith("<") and name.endswith(">")):
            return name
        if (kind, folded) not in self._given:
            self._numbers[kind] += 1
            self._given[kind, folded] = f"<{kind.replace(' ', '-')}-{self._numbers[kind]}>"
        self.counts[kind] += 1
        return self._given[kind, folded]

    def _known_still(self, text: str, depth: int = MAX_FACT_DEPTH) -> str:
        """Return a redacted text; if it was made by ``fact_text``, its new form is remembered, too."""
        form = form_of(text) if depth else None
        if form:
            message, values = form
            remember_form(message, {name: self._known_still(value, depth - 1) for name, value in values.items()})
        return self._clean(text)

    def _clean(self, text: str) -> str:
        if len(text) < 3:
            return text
        plain = _plain(text)
        if plain and not self._rare.search(plain):
            for form in self._usual:
                if _has_sign(form, plain) and form.pattern.search(text):
                    break
            else:
                return text
        for replaced, form in self._passes:
            if not _has_sign(form, plain):
                continue
            self.work += len(text)
            cleaned = form.pattern.sub(replaced, text)
            if cleaned != text:
                text, plain = cleaned, _plain(cleaned)
        return text

    def _own_home(self, _match: re.Match[str]) -> str:
        return self._placeholder("home", "own home")

    def _replace_known(self, match: re.Match[str]) -> str:
        return self._placeholder(self._kinds.get(match[0].lower(), "user"), match[0])

    def _host(self, match: re.Match[str]) -> str:
        name = match["x"]
        if _is_word(name) or name.startswith("127.") or name in ("0.0.0.0", "::", "::1"):  # noqa: S104 - a text, not a socket
            return match[0]
        return self._name("host", name)

    def _replace_stored(self, match: re.Match[str]) -> str:
        name, person = match["x"], match["person"]
        kept = _is_word(name) or ("." in name and _is_word(name.partition(".")[0]))
        shown = match["before"] + (name if kept else self._placeholder("share", name))
        if person is None:
            return shown
        section = match["section"]
        start = len(section) - len(person)
        return shown + section[:start] + (person if _is_word(person) else self._placeholder("user", person))

    def _replace(self, match: re.Match[str], kind: str) -> str:
        group = "x" if "x" in match.re.groupindex else 0
        start, end = match.start(group) - match.start(), match.end(group) - match.start()
        # a share's server and folder are one name, however many backslashes separate them
        found = match[group].replace("\\\\", "\\").replace("/", "\\")
        return match[0][:start] + self._placeholder(kind, found) + match[0][end:]

    def _replace_assignment(self, match: re.Match[str]) -> str:
        start = match.start("x") - match.start()
        return match[0][:start] + self._value(match["variable"].upper(), match["x"])

    def _in_home(self, match: re.Match[str]) -> str:
        name = match["name"]
        return match[0] if name.lower() in patterns.SHARED_HOMES else match["before"] + self._placeholder("user", name)


def closed_fields(form: type) -> frozenset[str]:
    """Return the fields of a struct whose types allow no free text, by the types' words: evaluating them takes long."""
    words = {
        name: str(hint) for c in reversed(form.__mro__) for name, hint in vars(c).get("__annotations__", {}).items()
    }
    return frozenset(name for name, hint in words.items() if not re.search(r"\bstr\b|\bAny\b|\bobject\b", hint))


def _names(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield further names that fields of the Snapshot hold: owners, variables, home folders with spaces."""
    found: list[tuple[str, str]] = []

    def note(owner: Any, field: str, text: str) -> str:
        kind = IDENTIFYING_FIELDS.get((type(owner).__name__, field))
        if kind in ("user", "host") and field not in ("user", "host_name") and not text.isdigit():
            found.append((kind, text.rpartition("\\")[2]))
            if kind == "host" and "." in text and not text.replace(".", "").isdigit():
                found.append((kind, text.partition(".")[0]))
        if isinstance(owner, Variable) and field == "value":
            name = owner.name.upper()
            kinds = {
                "user": patterns.PERSON_VARIABLES,
                "host": patterns.HOST_VARIABLES,
                "domain": patterns.DOMAIN_VARIABLES,
            }
            found.extend((k, text.lstrip("\\")) for k, names in kinds.items() if name in names)
        home = patterns.HOME_FIELD.match(text) if " " in text else None
        if home and " " in home["name"] and home["name"].lower() not in patterns.SHARED_HOMES:
            found.append(("user", home["name"]))
        return text

    _walk(snapshot, note)
    yield from found


def _is_sure(name: str) -> bool:
    """Whether a word in any text is certainly this name."""
    low = name.lower()
    everyday = low in patterns.COMMON_WORDS or low in patterns.TERM_WORDS or low in patterns.ENGLISH_WORDS
    return len(name) >= 3 and not everyday and not name.startswith("<") and not name.isdigit()


def _is_word(name: str) -> bool:
    """Whether a folder's or a host's name is one of the field's words: cuda-12.4, data, miniconda3."""
    low = name.lower()
    words = [w for w in patterns.TECHNICAL.split(low) if w]
    return (
        low in patterns.COMMON_WORDS
        or low in patterns.TERM_WORDS
        or (bool(words) and all(len(w) < 2 or w in patterns.TERM_WORDS for w in words))
    )


def _any_of(names: Iterable[str]) -> str:
    """Return a pattern for any of these names, the longest first; a tree, so that many cost no more than one."""
    tree: dict[str, Any] = {}
    for name in names:
        branch = tree
        for c in name.lower():
            branch = branch.setdefault(c, {})
        branch[""] = {}

    def tree_pattern(branch: dict[str, Any]) -> str:
        ways = [re.escape(c) + tree_pattern(rest) for c, rest in branch.items() if c]
        if not ways:
            return ""
        one = ways[0] if len(ways) == 1 else f"(?:{'|'.join(ways)})"
        return f"(?:{one})?" if "" in branch else one

    return tree_pattern(tree)


MANY_NAMES = 8
"""Number of names from which on one tree pattern is faster than a separate search for each."""


def _signs(names: list[str]) -> tuple[str, ...]:
    few = len(names) <= MANY_NAMES and all(n.isascii() for n in names)
    return tuple(n.lower() for n in names) if few else ()


def _has_sign(form: patterns.NamePattern, plain: str) -> bool:
    """Whether a text may be of a form, by its ``_plain`` text."""
    if not plain or not form.signs:
        return True
    for sign in form.signs:  # noqa: SIM110 - a scan calls this ten thousand times
        if sign in plain:
            return True
    return False


def _plain(text: str) -> str:
    """Return ASCII text in lower case, else an empty text: some other letters match ASCII ones without case."""
    return text.lower() if text.isascii() else ""


def _words(names: list[str]) -> Iterator[patterns.NamePattern]:
    if names:
        # "Ada" may be a person, and is a generation of GPUs
        source = rf"(?i)(?<![A-Za-z0-9<])(?:{_any_of(names)})(?![A-Za-z0-9]| Generation| Lovelace)"
        yield patterns.NamePattern("", source, _signs(names))


def _in_place(kind: str, names: list[str]) -> Iterator[patterns.NamePattern]:
    if not names:
        return
    bare = f"(?i:{_any_of(names)})"
    forms = {
        "user": (rf"(?<![\w.-])(?P<x>{bare})(?=@)", rf"(?i)\b(?:owner|user|owned by)[ =:]+(?P<x>{bare})(?![\w-])"),
        "host": (
            rf"(?<=@)(?P<x>{bare})(?![\w-])",
            patterns.HOST_IN_LOG.format(bare),
            rf"(?<=\s)(?P<x>{bare})(?= kernel:)",
            rf"(?i)\bhost(?:name)?[ =:]+(?P<x>{bare})(?![\w-])",
        ),
    }
    for form in forms.get(kind, ()):
        yield patterns.NamePattern(kind, form, _signs(names))
    if folders := [n for n in names if len(n) > 1 and n.lower() not in patterns.TERM_WORDS]:
        yield patterns.NamePattern(kind, rf"(?i)(?<=[\\/])(?P<x>{_any_of(folders)})(?=[\\/]|\Z)", _signs(folders))


def _home_form(home: str, *, windows: bool) -> patterns.NamePattern | None:
    """Return the pattern of an unusual home folder; None if the general one finds it, or it reveals nothing."""
    parts = [p for p in re.split(r"[\\/]+", home) if p]
    if len(parts) < 2 or patterns.HOME_FOLDER.pattern.search(home) or parts[-1].lower() in patterns.COMMON_WORDS:
        return None
    start = r"[\\/]+" if home[0] in "\\/" else r"(?<!\w)"
    source = ("(?i)" if windows else "") + start + r"[\\/]+".join(map(re.escape, parts)) + r"(?![\w-])"
    return patterns.NamePattern("home", source, _signs(parts[-1:]))


def every_text(value: T, change: Callable[[str], str]) -> T:
    """Return a copy of a frozen struct in which ``change`` was applied to every text, at any depth."""
    return _walk(value, lambda _owner, _field, text: change(text))


NOTHING_COUNTED: Counter[str] = Counter()
WITHOUT_TEXT = frozenset((type(None), bool, int, float))
"""Types of the values that a walk for texts passes over."""


def _walk(value: T, change: Callable[[Any, str, str], str], counting: Cleaner | None = None) -> T:
    """Return a copy with every text changed; ``change`` is given the struct and the field that hold it.

    A struct that several results share is walked once. ``counting``: counts what is replaced in it for each of them.
    """
    done: dict[int, tuple[Any, Counter[str]]] = {}

    def walk(item: Any, owner: Any, field: str) -> Any:
        kind = type(item)
        if kind is str:  # an enumeration's word is our own term, not a text
            return change(owner, field, item)
        if kind is tuple:
            items = tuple([walk(i, owner, field) for i in item])
            return item if all(map(operator.is_, items, item)) else items
        if not isinstance(item, msgspec.Struct):
            return item
        if id(item) not in done:
            if counting is None:
                done[id(item)] = walk_struct(item), NOTHING_COUNTED
            else:
                before, counting.counts = counting.counts, Counter()
                done[id(item)] = walk_struct(item), counting.counts
                counting.counts = before
        new, counts = done[id(item)]
        if counts and counting is not None:
            counting.counts.update(counts)
        return new

    def walk_struct(item: Any) -> Any:
        changed = {}
        for name in item.__struct_fields__:
            old = getattr(item, name)
            if old and type(old) not in WITHOUT_TEXT and (new := walk(old, item, name)) is not old:
                changed[name] = new
        return msgspec.structs.replace(item, **changed) if changed else item

    walked: T = walk(value, None, "")
    return walked
