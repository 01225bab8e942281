"""Watch: who is called when somebody asks to stop."""

from __future__ import annotations

import threading

import pytest

from core.common.progress import CancelledError, Progress


def test_a_call_is_made_in_the_cancelling_thread() -> None:
    watch, called = Progress(), []
    with watch.on_cancel(lambda: called.append(threading.get_ident())):
        thread = threading.Thread(target=watch.cancel)
        thread.start()
        thread.join()
        assert called == [thread.ident]
    with pytest.raises(CancelledError):
        watch.check()


def test_a_call_that_comes_late_is_made_at_once() -> None:
    watch, called = Progress(), []
    watch.cancel()
    with watch.on_cancel(lambda: called.append("late")):
        assert called == ["late"]


def test_nobody_is_called_after_the_block() -> None:
    watch, called = Progress(), []
    with pytest.raises(ZeroDivisionError), watch.on_cancel(lambda: called.append("called")):
        raise ZeroDivisionError
    watch.cancel()
    assert called == []
