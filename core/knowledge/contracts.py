"""Variables as contracts: what must be true of each variable that a framework or NVIDIA's software reads, with its source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from core.knowledge.tables import read_table
from core.model.facts import Frozen, System

ContractKind = Literal[
    "words",
    "switch",
    "number",
    "pattern",
    "flags",
    "options",
    "folder",
    "file",
    "files",
    "plugins",
    "path",
    "log",
    "modules",
    "writable",
    "program",
    "interfaces",
    "encoding",
    "requirement",
    "capabilities",
    "devices",
    "proxy",
    "local",
    "single",
    "together",
    "apart",
    "address",
    "header",
    "offline",
    "sockets",
    "debugging",
    "locale",
    "tensors",
    "key",
]
"""words: one of a list, or several with ``separator``. switch: yes or no in one of the usual spellings. flags: "--name=value",
or a file of them. options: "name:value,name:value". folder: exists and holds one of ``holds``. path: a file or a folder that exists. writable: a folder that is there or
can be made. program: a command, by its path or by its name on PATH. interfaces: starts of names of network interfaces.
encoding: a name of Python's codecs, and perhaps how errors are handled.
requirement, capabilities and devices: what a container asked of its driver, against what it got.
proxy: an address whose scheme is one of ``words``; ``needs`` names what some schemes take. single: one folder, and no list of several. local: a proxy that programs are not to
send to what they ask of this very machine.
together: where the value has the ``pattern``, the variables of ``words`` must be set as well. apart: where it has, none of them may
have such a value, too. address: a name or an address of this very machine, where a program listens and asks itself. plugins: "NAME:PATH,NAME:PATH", whose files must exist.
offline: a switch that forbids downloads, so that files come from the hub's cache alone.
debugging: a value that has the ``pattern`` is right, and helps to find errors: with it, programs end that work without it.
sockets: a folder in which programs make sockets, whose whole path a socket's address must hold; one that is not there is passed over.
locale: a name that a program gives to setlocale(), and that the C library must have. tensors: with a value that has the ``pattern``,
checkpoints are loaded that hold tensors alone, whatever a program asks for.
key: a secret whose length the code in the files of ``holds`` compares, where a program hands it over by ``spelt``.
header: sent in the head of a request, which takes letters of Latin-1 only; such a value is a secret and never told."""

BY_SPELLING = ("words", "together")
"""Kinds whose ``spelt`` says which programs the value matters for; without one, it matters for none."""
INTERFACES = "/sys/class/net"
"""Where Linux lists its network interfaces."""

SWITCHES = ("y", "yes", "t", "true", "on", "1", "n", "no", "f", "false", "off", "0")
"""distutils' words, which JAX reads; compared in lower case."""


class WordSource(Frozen, frozen=True, kw_only=True):
    """Where a reader's own files contain the words that it knows: the installed release tells, and no table becomes outdated."""

    files: tuple[str, ...]
    """Patterns below the folder of packages; a word is known if one of these files has it. With ``{word}``: the file is there. What begins
    with "stdlib/" lies in Python's own library.
    """
    written: str = "{word}"
    """How a word stands in them; nothing that belongs to a name stands before or behind it."""
    proof: str = ""
    """A word that stands in them so in every release: without it nothing is said."""
    also: tuple[str, ...] = ()
    """Patterns with ``{word}``, its dots as folders: a word is known, too, if there is such a file."""
    libraries: tuple[tuple[str, str], ...] = ()
    """Words that need a library, each with its file name; with them, any other word counts as known."""
    plugins: str = ""
    """A group of entry points whose packages may bring further words; those of ``known_plugins`` bring none."""
    known_plugins: str = ""


class Contract(Frozen, frozen=True, kw_only=True):
    """One condition that a variable must meet."""

    variable: str
    readers: str
    """A pattern of the distributions that read it; empty for any program."""
    kind: ContractKind
    system: System | Literal[""] = ""
    """The only system whose programs read it; empty: all do."""
    words: tuple[str, ...] = ()
    separator: str = ""
    """Each of its letters parts words."""
    exact: Literal["", "end", "blanks", "all"] = ""
    """What counts in a value: blanks behind it, or around it, or those and upper and lower case; with the last two nothing counts as a
    value, too."""
    signs: str = ""
    """Letters that may stand before a word."""
    prefix: str = ""
    """What may stand before a word, as a whole."""
    suffix: str = ""
    """What may stand behind a word."""
    known: WordSource | None = None
    """What else than ``words`` is right."""
    values: tuple[tuple[str, str], ...] = ()
    """Of options and flags: a name, and the pattern of what it can have; a flag that stands alone has an empty value."""
    open: bool = False
    """Further words may be right: of plug-ins, or of newer releases."""
    least: float = 0
    most: float = 0
    pattern: str = ""
    flag: str = ""
    """The folder follows this flag."""
    holds: tuple[str, ...] = ()
    needs: tuple[tuple[str, str], ...] = ()
    """A word, and a pattern of the distributions ("name==version") one of which must be installed beside the reader."""
    means: str = ""
    """A value that is right, as an example; with ``needs``, the name of what is needed, where the value does not name it."""
    brings: str = ""
    """With ``needs``: the requirement that installs it; "{release}" stands for the first two parts of the reader's release."""
    inside: str = ""
    """For writable: the folder that its readers make in the one that the value names, and that alone must be writable."""
    loads: bool = False
    """For writable: what is compiled there is loaded as code, so the file system must allow that."""
    passed_over: bool = False
    """For writable: where nothing can be written, its readers take another folder. For folder: they look into those of ``words``, too ("~/":
    the home), so that only one is told beside which lies what they look for."""
    reads: bool = False
    """For writable: an existing read-only folder is accepted, too."""
    fails_on_folder: str = ""
    """Of program: the reader's release from which on a folder in its place makes it fail; others pass it over."""
    until: str = ""
    """The reader's release from which on it does not read the variable any more."""
    beside: str = ""
    """A pattern of distributions: the value matters only where one of them is installed beside the reader."""
    since: str = ""
    """The reader's release from which on the value makes it fail."""
    unless: tuple[str, ...] = ()
    """Variables that its readers prefer: with one of them, this one does not count."""
    given: tuple[tuple[str, str], ...] = ()
    """Other variables, each with a pattern of its value: without them, this one does not count."""
    fetches: bool = False
    """Only what its readers fetch over the network fails."""
    part: str = ""
    """The part of a package that alone reads it, for programs that name it, or another package that uses it: "torch.distributed"."""
    spelt: str = ""
    """A pattern of what a program in the working folder spells: without one, the value does no harm."""
    seldom: bool = False
    """Only few of the programs that use its readers come to the place where they read it."""
    readers_only: bool = False
    """The value is right for everything else: where no reader is installed, nothing is said."""
    fails: bool = False
    """Its readers do not start, or fail at the first use, with a value that breaks it."""
    source: str = ""


class CodeSource(Frozen, frozen=True, kw_only=True):
    """Python modules of a framework that read variables when it is imported or first used."""

    readers: str
    """A pattern of distributions."""
    files: tuple[str, ...]
    """Below the folder of packages; a package, "datasets/", stands for those of its modules that tell by their place and name."""
    starts: tuple[str, ...]
    """How the names of its variables begin."""


class CachingSource(Frozen, frozen=True, kw_only=True):
    """Python modules whose functions ask Numba for a cache as the module is imported."""

    readers: str
    """A pattern of distributions."""
    files: tuple[str, ...]
    """Below the folder of packages."""
    source: str


class SettingsFile(Frozen, frozen=True, kw_only=True):
    """One setting of a JSON file that a framework reads when it is imported."""

    reader: str
    """A pattern of distributions."""
    folders: tuple[str, ...]
    """Variable that names the folder, and the folder in the home without it."""
    file: str
    key: str
    variable: str = ""
    """Counts before the file; its contract holds for the setting, too."""
    words: tuple[str, ...] = ()
    """Where no variable has a contract for it."""
    number: bool = False
    """It must be one with a point or an exponent, and no text."""
    source: str


class ContractTable(Frozen, frozen=True, kw_only=True):
    """resources/knowledge/variables.json."""

    as_of: str
    contracts: tuple[Contract, ...]
    code: tuple[CodeSource, ...] = ()
    settings: tuple[SettingsFile, ...] = ()
    caching: tuple[CachingSource, ...] = ()


def contract_table() -> ContractTable:
    """Return the table, read once."""
    return read_table("variables", ContractTable)


def variable_contracts() -> tuple[Contract, ...]:
    """Return what the table says of variables."""
    return contract_table().contracts


def asked_words(contract: Contract, value: str) -> tuple[str, ...]:
    """Return the words of a value that are not in the table: flags, option names, or the words of a list."""
    match contract.kind:
        case "flags":
            found = re.findall(r"(?:^|\s)--?([A-Za-z]\w*)", value)
        case "options":
            found = [name for name, _value in options_of(value)]
        case "words":
            found = words_of(contract, value)
        case _:
            return ()
    table = {w.lower() for w in contract.words}
    return tuple(w for w in dict.fromkeys(found) if w and w.lower() not in table)


def parts_of(contract: Contract, value: str) -> list[str]:
    """Return what the separators of a list leave, with all blanks."""
    return re.split(f"[{re.escape(contract.separator)}]", value) if contract.separator else [value]


def words_of(contract: Contract, value: str) -> list[str]:
    """Return the words of a list."""
    return [
        p.strip().lstrip(contract.signs or " ").removeprefix(contract.prefix).removesuffix(contract.suffix)
        for p in parts_of(contract, value)
    ]


def options_of(value: str) -> tuple[tuple[str, str], ...]:
    """Return the names and values in "name:value,name:value"; a value in brackets may contain both separators."""
    bare = value.replace(" ", "")
    parts = re.findall(r"([^,:\[\]]+)(?::(\[[^\]]*\]|[^,]*))?", bare)
    return tuple((name, its) for name, its in parts)


def flags_of(value: str) -> tuple[tuple[str, str], ...]:
    """Return the names and values in "--name=value --name"; a value with quotes is left out, since who takes them off differs."""
    return tuple(re.findall(r"(?:^|\s)--([A-Za-z]\w*)(?:=([^\s\"']*))?(?=\s|$)", value))


def flags_in_file(text: str) -> tuple[str, ...]:
    """Return the flags that stand in a file of them, as in a value: XLA parts them at white space
    (https://github.com/openxla/xla/blob/main/xla/parse_flags_from_env.cc).
    """
    return tuple(w for w in text.split() if w.startswith("--"))


def proxy_scheme(value: str) -> str:
    """Return the scheme of a proxy's address in lower case; empty without one, which clients take for http."""
    scheme, mark, _rest = value.strip().partition("://")
    return scheme.lower() if mark else ""


def lacks_port(value: str) -> bool:
    """Return whether something else than a number stands where the port of an address belongs, as clients of HTTP part it (RFC 3986, 3.2)."""
    host = re.split(r"[/?#]", value.strip().partition("://")[2], maxsplit=1)[0].rpartition("@")[2]
    port = re.fullmatch(r"(?:\[[^\]]*\]|[^:]*):(.+)", host)
    return port is not None and re.fullmatch(r"\d{1,5}", port[1]) is None


OFFLINE = ("1", "on", "yes", "true")
"""Values, in small letters, with which huggingface_hub asks no server (its constants.py)."""


def hub_cache(env: Mapping[str, str], home: str) -> str:
    """Return the folder of the hub's cache (huggingface_hub's documentation, "Environment variables"); empty where a value is no whole path."""
    above = env.get("XDG_CACHE_HOME") or f"{home}/.cache"
    own = env.get("HF_HOME") or f"{above}/huggingface"
    path = env.get("HF_HUB_CACHE") or env.get("HUGGINGFACE_HUB_CACHE") or f"{own}/hub"
    path = f"{home}{path[1:]}" if path.startswith(("~/", "~\\")) else path
    if re.match(r"[A-Za-z]:[\\/]", path):
        return path.replace("/", "\\") if home and "%" not in path else ""
    return path if home and path.startswith("/") and "$" not in path else ""


def named_places(contract: Contract, value: str, system: System) -> Iterator[str]:
    """Yield the files and folders that a value names according to this contract."""
    if contract.flag:
        found = re.search(rf"(?:^|\s){re.escape(contract.flag)}[= ](\S+)", value)
        if found:
            yield found[1].strip("'\"")
    elif contract.kind == "files":
        yield from (
            p for p in re.split(r"[\s;]+" if system == "windows" else r"[\s:]+", value) if "/" in p and "$" not in p
        )
    elif contract.kind == "plugins":
        # PATH follows the name behind a colon, on Windows behind a semicolon
        parts = (p.strip().partition(";" if system == "windows" else ":")[2] for p in value.split(","))
        yield from (p for p in parts if p)
    elif contract.kind == "flags":
        if value.strip() and not value.strip().startswith("--"):
            yield value.strip()
    elif contract.kind == "program":
        yield from [w.strip("\"'") for w in value.split()[:1]]
    elif contract.kind == "interfaces" and value.strip() and system == "linux":
        yield INTERFACES
    elif contract.kind in ("folder", "file", "path", "log", "writable", "sockets", "single") and value.strip():
        yield value.strip()
