"""Which errors a handler catches, and which ``with`` may stop one: the real Python is the measure."""

from __future__ import annotations

import ast
import contextlib

import pytest

from core.probes.python.text.evaluation import catches_error, swallows_errors

ERRORS = ("ImportError", "ModuleNotFoundError", "AttributeError", "AssertionError", "TypeError", "PermissionError")
HANDLERS = ("", "Exception", "BaseException", "ImportError", "ModuleNotFoundError", "OSError", "IOError", "(KeyError, TypeError)", "builtins.AttributeError", "LookupError", "Warning")  # fmt: skip


@pytest.mark.parametrize("handler", HANDLERS)
@pytest.mark.parametrize("error", ERRORS)
def test_a_handler_catches_what_the_real_python_lets_it_catch(error: str, handler: str):
    text = f"import builtins\ncaught = False\ntry:\n    raise {error}\nexcept {handler}:\n    caught = True\n"
    space: dict[str, object] = {}
    with contextlib.suppress(Exception):
        exec(text, space)
    (tried,) = (n for n in ast.parse(text).body if isinstance(n, ast.Try))
    assert catches_error(tried.handlers[0], error) is space["caught"]


@pytest.mark.parametrize(
    ("handler", "error", "told"),
    [
        ("Refused", "Refused", True),
        ("Refused", "ImportError", None),
        ("ImportError", "Refused", None),
        ("(ImportError, Refused)", "TypeError", None),
        ("Exception", "Refused", True),
        ("ImportError", "", None),
        ("Exception", "", True),
        ("made()", "ImportError", None),
    ],
)
def test_what_the_text_leaves_open(handler: str, error: str, told: bool | None):
    (tried,) = ast.parse(f"try:\n    pass\nexcept {handler}:\n    pass\n").body
    assert isinstance(tried, ast.Try)
    assert catches_error(tried.handlers[0], error) is told


@pytest.mark.parametrize(
    ("context", "told"),
    [
        ("contextlib.suppress(ImportError)", True),
        ("pytest.raises(ImportError)", True),
        ("ignored(ImportError)", True),
        ("warnings.catch_warnings()", False),
        ("open('a')", False),
    ],
)
def test_which_contexts_may_stop_an_error(context: str, told: bool):
    (node,) = ast.parse(f"with {context}:\n    pass\n").body
    assert isinstance(node, ast.With)
    assert swallows_errors(node) is told
