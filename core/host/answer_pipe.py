"""The pipes of a program that answers us: one carries its answers, on the other it waits until we have read its mapped
files.

Libraries print to the standard streams, so answers do not go there. We read the list of mapped files from the system:
the program requests that with the line LOOK, and continues when it receives a line feed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from core.host.child_main import ANSWER_VARIABLE

LOOK = b"?\n"
"""The line with which the program asks the parent to read its mapped files; no other line ends so."""
MAX_LOOKS = 1000
"""Maximum number of such requests of one program; their answers fit into a pipe that nobody reads."""


class AnswerPipe:
    """Two pipes, with our ends and the program's."""

    def __init__(self) -> None:
        self._said, self._program_says = os.pipe()
        self._program_waits, self._go = os.pipe()

    @property
    def child_handles(self) -> tuple[int, int]:
        """The program's ends: file descriptors, or handles on Windows."""
        if sys.platform != "win32":
            return self._program_says, self._program_waits
        import msvcrt

        return msvcrt.get_osfhandle(self._program_says), msvcrt.get_osfhandle(self._program_waits)

    @property
    def child_environment(self) -> dict[str, str]:
        """The variables that tell the program which ends are its own."""
        return {ANSWER_VARIABLE: ",".join(map(str, self.child_handles))}

    @contextmanager
    def handed_over(self) -> Iterator[tuple[int, int]]:
        """Make the program's ends inheritable within the block, in which the program is started; close ours of them afterwards."""
        try:
            if sys.platform == "win32":
                for handle in self.child_handles:
                    os.set_handle_inheritable(handle, True)
            yield self.child_handles
        except BaseException:
            self._close(self._said, self._go)
            raise
        finally:
            self._close(self._program_says, self._program_waits)

    def read_to_end(self, hear: Callable[[bytes], None], look: Callable[[], None]) -> None:
        """Read all that the program writes, and call ``look`` whenever it asks for that."""
        looks, last = 0, b""
        try:
            while chunk := os.read(self._said, 1 << 16):
                hear(chunk)
                for _ in range((last + chunk).count(LOOK)):
                    looks += 1
                    if looks <= MAX_LOOKS:
                        look()
                        with suppress(OSError):  # The program may have ended meanwhile.
                            os.write(self._go, b"\n")
                last = chunk[-1:]
        finally:
            self._close(self._said, self._go)

    def _close(self, *descriptors: int) -> None:
        for descriptor in descriptors:
            with suppress(OSError):
                os.close(descriptor)
