"""The files, folders and programs named by variables with a contract, and what prevents their use."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec.structs import replace

from core.common.late_pattern import late_pattern
from core.knowledge.contracts import (
    BY_SPELLING,
    OFFLINE,
    Contract,
    flags_in_file,
    hub_cache,
    named_places,
    variable_contracts,
)
from core.model.facts import NamedPlace, path_text
from core.model.path_list import searched_entries
from core.probes.noexec import is_noexec
from core.probes.python.locations import working_folder
from core.probes.python.programs.checkpoints import whole_objects_loaded
from core.probes.python.programs.program_folder import PROGRAMS, texts_below
from core.probes.sysroot import Sysroot
from core.probes.variables.locales import asks_for_the_locale, lacks_locale

MOST_FLAGS = 1 << 16
"""Maximum number of bytes read of a file of flags."""
MOST_NAMES = 256
"""Maximum number of network interfaces listed."""


def places_of_contracts(env: Mapping[str, str], where: Sysroot) -> Iterator[NamedPlace]:
    """Yield the files and folders that variables name and whose contract requires them to exist, each once for a variable."""
    found: dict[tuple[str, str, str], NamedPlace] = {}
    for place in _places(env, where):
        key = (place.variable, place.path, place.inside)
        found[key] = _joined(found[key], place) if key in found else place
    yield from found.values()


def _joined(one: NamedPlace, other: NamedPlace) -> NamedPlace:
    """Return one place with what two contracts of a variable ask of it."""
    return replace(
        one,
        holds=tuple(dict.fromkeys((*one.holds, *other.holds))),
        blocked=one.blocked or other.blocked,
        runs=one.runs and other.runs,
        asked=one.asked and other.asked,
        near=one.near or other.near,
    )


def _places(env: Mapping[str, str], where: Sysroot) -> Iterator[NamedPlace]:
    by_name = {name.upper(): value for name, value in env.items()}
    for contract in variable_contracts():
        if contract.kind == "offline" and by_name.get(contract.variable, "").strip().lower() in OFFLINE:
            yield from _offline(contract, by_name, where)
        if contract.kind == "local":
            yield from questions_to_itself(contract, by_name, where)
        if contract.kind == "modules":
            yield from _modules(contract, by_name, where)
        if contract.kind == "locale":
            yield from _locale(contract, by_name, where)
        if contract.kind == "tensors":
            yield from _whole_objects(contract, by_name, where)
        asking = _asking(contract, by_name, where)
        if contract.spelt and not asking:
            continue
        if contract.spelt and (
            contract.kind in BY_SPELLING
            or (contract.kind == "address" and is_another_machine(by_name[contract.variable].strip(), where))
        ):
            value = path_text(by_name[contract.variable])
            yield NamedPlace(variable=contract.variable, path=path_text(asking), state="file", holds=(value,))
        for path in named_places(contract, by_name.get(contract.variable, ""), where.system):
            place = _command_path(path, by_name.get("PATH", ""), where) if contract.kind == "program" else path
            if not where.path_module.isabs(place):
                place = where.join(working_folder(where), place)
            if where.path_module.isabs(place):
                its = _place(contract, path, place, where)
                over = contract.kind == "folder" and contract.passed_over
                if not over or not _is_found_anyway(contract, its, by_name, where):
                    yield its


_IMPORTED = late_pattern(r"(?m)^[ \t]*(?:from[ \t]+([A-Za-z_]\w*)|import[ \t]+([A-Za-z_]\w*))")
_OF_GIT_BASH = late_pattern(r"/(?:mnt/)?([A-Za-z])/(.*)")
"""How Git Bash, and WSL behind /mnt, name a drive of Windows."""


def _modules(contract: Contract, env: Mapping[str, str], where: Sysroot) -> Iterator[NamedPlace]:
    """Yield the entries of a search path for modules that lead nowhere as they are spelt.

    Each is yielded only if the folders that it means exist (``holds``), and if a program of the working folder
    imports a module of theirs.
    """
    value, here = env.get(contract.variable, ""), working_folder(where)
    for entry in value.split(";" if where.system == "windows" else ":") if value.strip() else ():
        if not entry or where.exists(where.join(here, entry)):
            continue
        meant = tuple(_meant(entry, env, here, where))
        names = {n.removesuffix(".py") for folder in meant for n in where.names(folder) or ()}
        names -= {n.removesuffix(".py") for n in where.names(here) or ()}
        texts = _own_programs(env, where).values() if names else ()
        if any((one or other) in names for text in texts for one, other in _IMPORTED.findall(text)):
            yield NamedPlace(
                variable=contract.variable, path=path_text(entry), state="missing", holds=tuple(map(path_text, meant))
            )


def _meant(entry: str, env: Mapping[str, str], here: str, where: Sysroot) -> Iterator[str]:
    """Yield the folders that an entry means; nothing where one of them is not there."""
    text = entry.strip().strip("\"'")
    if where.system == "windows":
        parts = re.split(r"(?<!^[A-Za-z])(?<![;:][A-Za-z]):", text)
        drives = (_OF_GIT_BASH.fullmatch(part) for part in parts)
        parts = [f"{d[1].upper()}:\\{d[2]}".replace("/", "\\") if d else p for d, p in zip(drives, parts, strict=True)]
    else:
        home = env.get("HOME", "")
        parts = [re.sub(r"^(?:~|\$HOME|\$\{HOME\})(?=/|$)", lambda _m: home, part) for part in text.split(";")]
    places = [where.path_module.normpath(where.join(here, part)) for part in parts if part]
    if all(map(where.is_folder, places)):
        yield from places


_OF_THIS_MACHINE = late_pattern(r"\bhttp://(localhost|127\.0\.0\.1)\b")
_SENDS_TO_PROXIES = late_pattern(
    r"(?m)^[ \t]*(?:import|from)[ \t]+(?:requests|httpx|openai|ollama|huggingface_hub|langchain_ollama|langchain_openai)\b"
)
"""Clients that take proxies from variables unless somebody forbids it."""
_SENDS = late_pattern(
    r"(?<!environ)\.(?:get|post|put|patch|delete|head|request|send|stream|create|chat|chat_completion|text_generation|generate|embed|embeddings"
    r"|invoke|ainvoke|batch|list|retrieve|parse|pull|complete|predict)\(|(?<![\w.])(?:get|post|request|chat|generate|embed|list|pull)\("
)
"""Calls that send a request; a client that is only made sends none."""
_BY_GRADIO = late_pattern(r"(?ms)^[ \t]*(?:import|from)[ \t]+gradio\b.*\.launch\(")
"""Gradio asks its own server by httpx before ``launch`` returns (``url_ok`` of gradio/networking.py), unless it shares the page."""
_SHARES = late_pattern(r"\bshare\s*=\s*(?!False\b)")
_LISTENS = late_pattern(r"(?m)^ *\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:0000 0A ")
LISTENERS = ("/proc/net/tcp", "/proc/net/tcp6")


def questions_to_itself(contract: Contract, env: Mapping[str, str], where: Sysroot) -> Iterator[NamedPlace]:
    """Yield a program of the working folder whose requests to a server on this machine go to a proxy.

    The proxy is another machine, or nobody answers there. ``holds``: the name by which the program calls the server.
    """
    given, here = env.get(contract.variable, "").strip(), working_folder(where)
    if not given or here in ("", "/", env.get("HOME", ""), env.get("USERPROFILE", "")):
        return
    proxy = re.fullmatch(r"(?:\w+://)?(?:[^/@]*@)?([\w.-]+|\[[\w:]+\])(?::(\d+))?/?", given)
    if proxy is None or (_is_here(proxy[1]) and _listens(int(proxy[2] or 80), where)):
        return
    exceptions = [e.strip().lstrip(".").partition(":")[0] for e in env.get("NO_PROXY", "").split(",")]
    texts = {path: text for path, text in (texts_below(here, where) or {}).items() if path.endswith(".py")}
    if not any(_SENDS.search(text) or _BY_GRADIO.search(text) for text in texts.values()):
        return
    for path, text in texts.items():
        if "trust_env" in text or "proxies" in text or "_proxy" in text.lower():
            continue
        asks = _OF_THIS_MACHINE.search(text) if _SENDS_TO_PROXIES.search(text) else None
        host = asks[1] if asks else "127.0.0.1" if _BY_GRADIO.search(text) and not _SHARES.search(text) else ""
        if host and not any(e in {"*", host} or (e[:4] == host[:4] == "127." and "/" in e) for e in exceptions):
            yield NamedPlace(variable=contract.variable, path=path_text(path), state="file", holds=(host,))
            return


def _own_programs(env: Mapping[str, str], where: Sysroot) -> dict[str, str]:
    """Return the texts of the programs of the working folder; none where people keep everything."""
    return {path: text for path, text in _own_texts(env, where).items() if path.endswith(".py")}


def _own_texts(env: Mapping[str, str], where: Sysroot) -> dict[str, str]:
    """Return the texts of the programs, scripts and settings of the working folder; none where people keep everything."""
    here = working_folder(where)
    return (texts_below(here, where) if here not in ("", "/", env.get("HOME", "")) else None) or {}


def _locale(contract: Contract, env: Mapping[str, str], where: Sysroot) -> Iterator[NamedPlace]:
    """Yield a program that asks for the locale of its variables, where the machine lacks it; ``holds``: its name."""
    value = env.get(contract.variable, "").strip()
    if value and lacks_locale(value, env, where):
        asking = next((path for path, text in _own_programs(env, where).items() if asks_for_the_locale(text)), "")
        if asking:
            yield NamedPlace(variable=contract.variable, path=path_text(asking), state="file", holds=(value,))


def _whole_objects(contract: Contract, env: Mapping[str, str], where: Sysroot) -> Iterator[NamedPlace]:
    """Yield a program that loads whole objects, which a variable forbids; ``holds``: the class of one."""
    if re.fullmatch(contract.pattern, env.get(contract.variable, "").strip()):
        for path, text in _own_programs(env, where).items():
            if found := whole_objects_loaded(path, text, where, by_word=True):
                yield NamedPlace(
                    variable=contract.variable, path=path_text(path), state="file", holds=(path_text(found.holds),)
                )
                return


def _asking(contract: Contract, env: Mapping[str, str], where: Sysroot) -> str:
    """Return the program or script for which a value matters; empty for none, and where the person's own code gives what it lacks."""
    if not contract.spelt or not env.get(contract.variable):
        return ""
    given = contract.kind == "together" and _spelling("|".join(contract.words), env, where)
    return "" if given else _spelling(contract.spelt, env, where)


def _spelling(pattern: str, env: Mapping[str, str], where: Sysroot) -> str:
    """Return the program or script of the working folder that spells what a pattern says; empty for none."""
    return next((path for path, text in _own_texts(env, where).items() if re.search(pattern, text)), "")


def _is_here(host: str) -> bool:
    return host == "localhost" or host.startswith("127.") or host == "[::1]"


def _listens(port: int, where: Sysroot) -> bool:
    """Whether somebody answers at a port of this machine, or that cannot be seen."""
    if where.system == "windows":
        return not (where.is_running_system and is_free(port))
    texts = [text for path in LISTENERS if (text := where.text(path, 1 << 22)) is not None]
    return not texts or any(int(found, 16) == port for text in texts for found in _LISTENS.findall(text))


def is_free(port: int) -> bool:
    """Whether nobody has a port of this machine: Windows gives it to one program alone."""
    import socket  # imported late: few machines have a proxy

    with socket.socket() as asking:
        try:
            if alone := getattr(socket, "SO_EXCLUSIVEADDRUSE", None):
                asking.setsockopt(socket.SOL_SOCKET, alone, 1)
            asking.bind(("127.0.0.1", port))
        except (OSError, OverflowError):
            return False
    return True


def is_another_machine(host: str, where: Sysroot) -> bool:
    """Whether neither this machine's name, nor /etc/hosts, nor the kernel's own addresses have a host; no server is asked.

    A name counts by its first part, since a domain may stand behind it or not.
    """
    own = (where.text("/proc/sys/kernel/hostname") or "").strip()
    routes = where.text("/proc/net/fib_trie", 1 << 20)
    if not own or routes is None or ":" in host or _is_here(host) or host.startswith("0."):
        return False
    names = [line.partition("#")[0].split() for line in (where.text("/etc/hosts") or "").splitlines()]
    known = {n.lower() for line in names for n in line[1:]}
    if re.fullmatch(r"[\d.]+", host):
        return not re.search(rf"-- {re.escape(host)}\s+/32 host LOCAL", routes)
    return host.lower() not in known and host.lower().partition(".")[0] != own.lower().partition(".")[0]


HUB_FOLDERS = ("models--", "datasets--", "spaces--")
MODEL_FILES = (".safetensors", ".gguf", ".bin", ".onnx", "model_index.json", "tokenizer.json", "tokenizer_config.json")
"""Ends of files of a model that somebody keeps in a folder of the project."""
MOST_FOLDERS = 60
_ASKS_A_HUB = late_pattern(
    r"(?:from_pretrained|load_dataset|snapshot_download|hf_hub_download|SentenceTransformer|pipeline)\(\s*[^)]*?[\"'][\w.-]+(?:/[\w.-]+)?[\"']"
)
"""Code that names a model or a data set of the hub; a path begins with a sign, or has more parts."""
_MAY_ASK_A_HUB = late_pattern(
    r"(?:from_pretrained|load_dataset|snapshot_download|hf_hub_download|SentenceTransformer|pipeline)\((?!\s*[\"'](?:\.{0,2}/|~))"
)
"""The same, where what is asked for need not be a path that the code spells."""


_ASKS_ALWAYS = late_pattern(
    r"\bHfApi\(|\b(?:model_info|dataset_info|repo_info|list_models|list_datasets|list_repo_files|whoami|create_repo|upload_file|upload_folder|push_to_hub)\("
)
"""Code that asks the hub whatever the cache holds (huggingface_hub's documentation, "HfApi Client")."""
_CATCHES = late_pattern(
    r"\bexcept\b[ \t]*(?::|[^:\n]*(?:(?<![.\w])(?:Base)?Exception\b|(?<![.\w])(?:ConnectionError|OSError)\b|OfflineMode))"
)
"""A handler of what huggingface_hub raises then, OfflineModeIsEnabled, which is a ConnectionError of Python's."""


def _offline(contract: Contract, env: Mapping[str, str], where: Sysroot) -> Iterator[NamedPlace]:
    """Yield the hub's cache, or a folder of the project that has a model of its own; ``holds``: what is there."""
    path = hub_cache(env, env.get("HOME" if where.system == "linux" else "USERPROFILE", ""))
    if not path:
        return
    holds = tuple(n for n in where.names(path) or () if n.startswith(HUB_FOLDERS))[:1]
    here = working_folder(where)
    folders = [here, *(where.join(here, n) for n in (where.names(here) or ())[:MOST_FOLDERS] if not n.startswith("."))]
    beside = (n for folder in folders if not holds for n in where.names(folder) or () if n.endswith(MODEL_FILES))
    holds = holds or tuple(n for n in [next(beside, "")] if n)
    state: Literal["folder", "missing"] = "folder" if where.is_folder(path) else "missing"
    own = _own_texts(env, where)
    always = (
        p for p, text in own.items() if p.endswith(".py") and _ASKS_ALWAYS.search(text) and not _CATCHES.search(text)
    )
    if asking := next(always, ""):
        yield NamedPlace(variable=contract.variable, path=path_text(asking), state="file", asked=True)
        return
    programs = any(p.endswith(PROGRAMS) for p in own)
    if programs and not any(_MAY_ASK_A_HUB.search(t) for t in own.values()):
        return
    asks = not programs or any(_ASKS_A_HUB.search(t) for t in own.values())
    yield NamedPlace(variable=contract.variable, path=path_text(path), state=state, holds=holds, asked=asks)


def _place(contract: Contract, path: str, place: str, where: Sysroot) -> NamedPlace:
    state: Literal["folder", "file", "missing"] = (
        "folder" if where.is_folder(place) else "file" if where.stat(place) else "missing"
    )
    if contract.kind == "log" and state == "missing" and _takes_a_log(place, where):
        state = "file"
    holds = tuple(n for n in contract.holds if where.stat(where.join(place, *n.split("/"))))
    if contract.kind == "interfaces":
        holds = (where.names(place) or ())[:MOST_NAMES]
    if contract.kind == "flags" and state == "file":
        holds = tuple(path_text(w) for w in flags_in_file(where.text(place, MOST_FLAGS) or ""))[:MOST_NAMES]
    return NamedPlace(
        variable=contract.variable,
        path=path_text(path),
        state=state,
        holds=holds,
        blocked=path_text(write_obstacle(_made(contract, place, where), where)) if contract.kind == "writable" else "",
        runs=_runs(contract, place, state, where),
        inside=contract.inside,
        near="" if holds or not contract.holds else _near(contract, place, where),
    )


def _has_it(contract: Contract, folder: str, where: Sysroot) -> bool:
    return any(where.stat(where.join(folder, *n.split("/"))) for n in contract.holds)


def _near(contract: Contract, place: str, where: Sysroot) -> str:
    """Return the only folder above, below or else beside one that has what a contract asks for; empty for none."""
    above = where.parent(place)
    beside = () if contract.passed_over else _folders_in(above, where)
    for group in ([above], _folders_in(place, where), beside):
        found = [f for f in group if f != place and _has_it(contract, f, where)]
        if found:
            return path_text(found[0]) if len(found) == 1 else ""
    return ""


def _folders_in(folder: str, where: Sysroot) -> list[str]:
    return [where.join(folder, n) for n in (where.names(folder) or ())[:MOST_FOLDERS]]


def _is_found_anyway(contract: Contract, place: NamedPlace, env: Mapping[str, str], where: Sysroot) -> bool:
    """Whether readers pass over a folder, and nothing near it shows what it was to be, or another one serves."""
    home = env.get("HOME" if where.system == "linux" else "USERPROFILE", "")
    others = (home + n[1:] if n.startswith("~") else n for n in contract.words)
    return not place.near or any(_has_it(contract, folder, where) for folder in others)


def _takes_a_log(path: str, where: Sysroot) -> bool:
    """Whether a file that is not there is made when somebody writes to it, or a device of Windows can be opened, such as a virus scanner's."""
    if not path.startswith("\\\\.\\"):
        return where.is_folder(where.parent(path))
    if os.name != "nt" or not where.is_running_system:
        return True
    try:
        with open(path, "ab"):  # noqa: PTH123 - as Python's ssl module does; nothing is written, and a device is not made
            return True
    except OSError:
        return False


def _runs(contract: Contract, place: str, state: str, where: Sysroot) -> bool:
    """Whether this user may run a program, or the system may load what is compiled into a folder."""
    if contract.loads:
        return not is_noexec(_nearest(place, where), where)
    return contract.kind != "program" or state != "file" or where.may_access(place, os.X_OK)


def _made(contract: Contract, place: str, where: Sysroot) -> str:
    return where.join(place, *contract.inside.split("/")) if contract.inside else place


def _command_path(name: str, search: str, where: Sysroot) -> str:
    """Return the path of a command; the name itself if PATH does not contain it."""
    if "/" in name or "\\" in name:
        return name
    endings = ("", ".exe", ".bat", ".cmd") if where.system == "windows" else ("",)
    for folder in searched_entries(search, where.system, "PATH"):
        for ending in endings:
            path = where.join(folder.strip('"'), name + ending)
            if where.path_module.isabs(path) and where.is_file(path):
                return path
    return where.join("/" if where.system == "linux" else "C:\\", name) if search else ""


OF_THE_KERNEL = ("/proc", "/sys")
"""File systems in which nobody makes a file, whatever access(2) tells root."""


_DRIVE = late_pattern(r"[A-Za-z]:\\")


def write_obstacle(folder: str, where: Sysroot) -> str:
    """Return the folder that prevents writing: the folder itself or its nearest existing ancestor, or a drive of Windows that is not there;
    empty if writing works.
    """
    at = _nearest(folder, where)
    if not where.exists(at):
        return at if is_drive(at) else ""  # a share may only be asleep
    if where.system == "linux" and at.startswith(OF_THE_KERNEL) and not where.is_file(folder):
        return at
    if not where.is_folder(at):
        return at
    return "" if where.system == "windows" or where.may_access(at, os.W_OK | os.X_OK) else at


def is_drive(obstacle: str) -> bool:
    """Whether what prevents writing is a drive of Windows that is not there."""
    return _DRIVE.fullmatch(obstacle) is not None


def _nearest(folder: str, where: Sysroot) -> str:
    """Return the folder itself, or its nearest ancestor that exists."""
    while not where.exists(folder) and (above := where.parent(folder)) != folder:
        folder = above
    return folder
