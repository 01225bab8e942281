"""Decoding as a type, one thread at a time.

A scan on a very busy machine once ended in msgspec's native code, at the address 0, while several threads decoded. Most likely one used
what another had half made of a type: msgspec makes it at the first use.
"""

from __future__ import annotations

import threading

ONE_AT_A_TIME = threading.RLock()
"""Held while something is decoded as a type in a thread of a scan. One for the process, as what msgspec makes of a type is."""
