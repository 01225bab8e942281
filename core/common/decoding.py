"""Decoding as a type, one thread at a time.

A scan on a very busy machine once crashed in msgspec's native code, at address 0, while several threads were decoding.
Probably one of them used a type that another was still preparing: msgspec prepares it on first use.
"""

from __future__ import annotations

import threading

ONE_AT_A_TIME = threading.RLock()
"""Held while something is decoded as a type in a thread of a scan. One for the process, as what msgspec makes of a type is."""
