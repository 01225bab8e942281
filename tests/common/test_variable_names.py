"""A variable is found by its name, and on Windows by any case of it."""

from __future__ import annotations

import pytest

from core.common.variable_names import variable_in
from core.probes.programs.follow import find_named
from core.probes.sysroot import Sysroot


@pytest.mark.parametrize(
    ("env", "value"),
    [
        ({"PATH": "/a"}, "/a"),
        ({"Path": "/a"}, "/a"),
        ({"path": "/shells/own", "PATH": "/a"}, "/a"),
        ({"PATHEXT": ".EXE"}, "none"),
    ],
)
def test_the_very_name_comes_first(env: dict[str, str], value: str):
    assert variable_in(env, "PATH", "none") == value


def test_a_program_is_searched_for_in_path_and_not_in_a_variable_of_another_case():
    assert find_named("sh", {"path": "/nowhere", "PATH": "/bin"}, Sysroot("linux"), "/") == "/bin/sh"
