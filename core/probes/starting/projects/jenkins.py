"""Jenkins's pipelines: the commands of a Jenkinsfile, with the variables of ``environment`` and ``withEnv`` around each.

Source: Jenkins's documentation, "Pipeline Syntax" and "Using a Jenkinsfile".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.common.late_pattern import late_pattern
from core.host.startup.state import UNKNOWN, State, fill
from core.probes.starting.machine import Ground

_PARTS = late_pattern(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)"
    r"|(?:\b(?P<key>[A-Za-z_]\w*)\s*=\s*)?(?P<text>\"{3}.*?\"{3}|'{3}.*?'{3}|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')"
    r"|(?P<word>[A-Za-z_]\w*)|(?P<sign>[{}])",
    re.DOTALL,
)
_OF_A_ROOT = frozenset(("docker", "dockerfile", "kubernetes"))
"""What lets a pipeline's commands run in a root of their own."""
_FILLED = late_pattern(r"\$\{(?:env\.)?(\w+)\}|\$(\w+)")


def jenkins_tasks(text: str, path: str, state: State, ground: Ground) -> Iterator[tuple[str, int, str, State]]:
    """Yield stage, line, command and variables of each command of a pipeline that runs on a machine itself."""
    if any(part["word"] in _OF_A_ROOT for part in _PARTS.finditer(text)):
        return
    pipeline = _Pipeline(path, state)
    for part in _PARTS.finditer(text):
        if part["word"]:
            pipeline.words.append(part["word"])
        elif part["sign"] == "{":
            pipeline.begin()
        elif part["sign"] == "}":
            pipeline.end()
        elif part["text"]:
            told, line = _groovy_text(part["text"], pipeline.state, ground), text.count("\n", 0, part.start("text")) + 1
            if pipeline.take(part["key"] or "", told, line):
                yield pipeline.stage, line, told.strip(), pipeline.state.apart()


class _Pipeline:
    """What was read so far: the blocks, and the words since the last one began or ended."""

    def __init__(self, path: str, state: State) -> None:
        self._path, self._blocks = path, [("", state)]
        self._given: list[tuple[str, str, int]] = []
        self.words: list[str] = []
        self.stage = ""

    @property
    def state(self) -> State:
        """The variables of the innermost block."""
        return self._blocks[-1][1]

    def begin(self) -> None:
        """Begin a block, with what ``withEnv`` gave it."""
        inner = self.state.apart()
        for name, value, line in self._given:
            self._export(inner, name, value, line)
        self._blocks.append((self.words[-1] if self.words else "", inner))
        self.words, self._given = [], []

    def end(self) -> None:
        """End a block; ``environment`` gives its variables to the block around it."""
        self.words = []
        if len(self._blocks) < 2:
            return
        name, its = self._blocks.pop()
        if name == "environment":
            self._blocks[-1] = (self._blocks[-1][0], its)

    def take(self, key: str, told: str, line: int) -> bool:
        """Take a text; return whether it is a command."""
        if self._blocks[-1][0] == "environment" and key:
            self._export(self.state, key, told, line)
        elif "withEnv" in self.words:
            name, equals, value = told.partition("=")
            self._given += [(name, value, line)] if equals else []
        elif self.words[-1:] == ["stage"]:
            self.stage = told
        elif "sh" in self.words and self.words[-1] in ("sh", "script"):
            self.words = []
            return True
        return False

    def _export(self, state: State, name: str, value: str, line: int) -> None:
        """Give a block a variable; ``PATH+NAME`` puts a folder in front of the list."""
        name, plus, _rest = name.partition("+")
        whole = f"{value}:{state.values.get(name, '')}" if plus else value
        state.export_variable(name, whole, self._path, line, "python")  # no cure edits such a file


def _groovy_text(text: str, state: State, ground: Ground) -> str:
    """Return what a text of Groovy says; in double quotation marks variables are replaced."""
    marks = 3 if text[:3] in ('"""', "'''") else 1
    inner = text[marks:-marks]
    known = {**state.values, "WORKSPACE": ground.folder}
    if text[0] == '"':
        inner = fill(_FILLED, lambda m: known.get(m[1] or m[2], UNKNOWN), inner)
    return re.sub(r"\\(.)", r"\1", inner)
