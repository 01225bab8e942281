"""A virtual display whose pixels can be looked at: when the first of them is painted, and how many colours there are."""

from __future__ import annotations

import mmap
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

WIDTH, HEIGHT = 1280, 800
BUTTONS = 640, 700
"""Rows of the display in which a window of the usual size, at its upper left corner, has Back and Next."""
SOME = 8
"""Colours of a button's text and edges, and of the grounds."""
WITHIN = 60
"""Seconds."""


class Display:
    """A running X server and its frame buffer."""

    def __init__(self, name: str, file: Path) -> None:
        self.name = name
        self._pixels = mmap.mmap(os.open(file, os.O_RDONLY), 0, prot=mmap.PROT_READ)

    def picture(self) -> bytes:
        """Return the pixels, 4 bytes each."""
        return self._pixels[-WIDTH * HEIGHT * 4 :]

    def painted(self, by: subprocess.Popen[bytes], *, within: float) -> float:
        """Return after how many seconds something is on the empty display.

        Raises:
            AssertionError: the program ended, or painted nothing ``within`` seconds.
        """
        start, empty = time.perf_counter(), self.picture()
        while self.picture() == empty:
            assert by.poll() is None, f"it ended with status {by.returncode} and showed no window"
            assert time.perf_counter() - start < within, "it showed no window"
        return time.perf_counter() - start

    def colours(self) -> int:
        """Return how many different colours there are where the wizard has its buttons: the ground alone, until it is whole."""
        first, last = (WIDTH * row * 4 for row in BUTTONS)
        pixels = self.picture()[first:last]
        return len({pixels[i : i + 4] for i in range(0, len(pixels), 4)})


@contextmanager
def display() -> Iterator[Display]:
    """Yield a display that ends with the block."""
    read, write = os.pipe()
    with tempfile.TemporaryDirectory() as folder:
        command = ["Xvfb", "-displayfd", str(write), "-screen", "0", f"{WIDTH}x{HEIGHT}x24", "-nolisten", "tcp"]
        with subprocess.Popen([*command, "-fbdir", folder], pass_fds=[write], stderr=subprocess.DEVNULL) as server:
            os.close(write)
            try:
                with os.fdopen(read) as number:
                    name = ":" + number.readline().strip()
                yield Display(name, Path(folder) / "Xvfb_screen0")
            finally:
                server.terminate()


def first_paint(command: Sequence[str | Path], env: dict[str, str], *, whole: bool = True) -> tuple[float, float]:
    """Start a program on an empty display; return the seconds to its first pixel, and to the ``whole`` wizard.

    Raises:
        AssertionError: the program ended, or nothing, or no whole wizard, was painted within a minute.
    """
    with (
        display() as screen,
        subprocess.Popen([*map(str, command)], env={**env, "DISPLAY": screen.name}) as program,
    ):
        try:
            start = time.perf_counter()
            seconds = screen.painted(program, within=WITHIN)
            while whole and screen.colours() < SOME:
                assert time.perf_counter() - start < WITHIN, "the window stays empty"
            return seconds, time.perf_counter() - start
        finally:
            program.kill()  # unshare lets a polite signal pass by
