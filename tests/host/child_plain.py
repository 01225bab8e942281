"""What the tests of core.host.child have done in a plain child: one that knows no msgspec."""

from __future__ import annotations

import sys

from core.common.fact_text import fact_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.host.child_work import Asked, Nested, Said
else:
    Said = dict

PLAIN = True


def echo(request: Asked, emit: Callable[[Said], None]) -> None:
    emit(Said(text=request.what, number=request.number))


def inner(request: Nested, emit: Callable[[Said], None]) -> None:
    for one in request.inner:
        emit(Said(text=one.what))


def modules(request: Asked, emit: Callable[[Said], None]) -> None:
    for name in sorted(sys.modules):
        emit(Said(text=name))


def emit_an_object(request: Asked, emit: Callable[[object], None]) -> None:
    emit(object())


def say_a_sentence(request: Asked, emit: Callable[[Said], None]) -> None:
    emit(Said(text=fact_text("ended with status {status}", status=request.number)))
