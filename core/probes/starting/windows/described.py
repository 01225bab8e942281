r"""Programs that settings of assistants and editors describe on Windows: a command, its arguments, and variables beside it.

A server of the Model Context Protocol is started by its command alone: no prompt, no activation.
Sources: the documentations of Claude Desktop, VS Code ("Use MCP servers"), Cursor, Windsurf and LM Studio.
"""

from __future__ import annotations

import ntpath
from collections.abc import Iterator

from core.common.variable_names import variable_in
from core.host.startup.plain import json_line, json_value
from core.probes.starting.machine import Ground
from core.probes.starting.ways import Reached, filled_by_editor
from core.probes.starting.windows.blocks import Place
from core.probes.starting.windows.command_lines import python_of_words
from core.probes.starting.windows.starters import way_to

SERVERS = ("mcpServers", "servers", "context_servers")
OF_PROJECT = (".mcp.json", ".vscode\\mcp.json", ".cursor\\mcp.json", ".roo\\mcp.json")
OF_PERSON = (
    ("APPDATA", "Claude\\claude_desktop_config.json"),
    ("APPDATA", "Code\\User\\mcp.json"),
    ("USERPROFILE", ".cursor\\mcp.json"),
    ("USERPROFILE", ".codeium\\windsurf\\mcp_config.json"),
    ("USERPROFILE", ".lmstudio\\mcp.json"),
)
MOST_SERVERS = 40


def server_ways(ground: Ground) -> Iterator[Reached]:
    """Yield each server that an assistant starts in Python; one of the project's whose Python is gone is often another machine's."""
    own = [ntpath.join(ground.folder, name) for name in OF_PROJECT] if ground.is_in_project else []
    homes = ((variable_in(ground.env, name), file) for name, file in OF_PERSON)
    for path in (*own, *(ntpath.join(home, file) for home, file in homes if home)):
        text = ground.read(path)
        told = json_value(text) if text else None
        for key in SERVERS:
            servers = told.get(key) if isinstance(told, dict) else None
            for name, its in [*servers.items()][:MOST_SERVERS] if isinstance(servers, dict) else ():
                if isinstance(its, dict) and isinstance(its.get("command"), str):
                    yield from _server(f"{path}: {name}", its, path, text or "", ground)


def _server(at: str, its: dict[str, object], path: str, text: str, ground: Ground) -> Iterator[Reached]:
    state = ground.session(path)

    def filled(value: object) -> str:
        return filled_by_editor(value, state.values, ground)

    env, args, folder = its.get("env"), its.get("args"), its.get("cwd")
    state.values["PWD"] = filled(folder) if isinstance(folder, str) else ground.folder
    for name, value in (env if isinstance(env, dict) else {}).items():
        state.export_variable(str(name), filled(value), path, json_line(text, str(name), "env"), "json")
    words = [filled(its["command"]).replace("/", "\\"), *map(filled, args if isinstance(args, list) else ())]
    found = python_of_words(words, Place(path), state, ground)
    yield from way_to(found, Reached(kind="launcher", at=at, state=state), ground)
