"""An index of packages on the loopback, as PEP 503 asks for one; it can also stall, lie about a hash, cut a wheel, or redirect."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

Manner = Literal["", "stalls", "lies", "cuts", "refuses", "redirects", "turns in a circle"]


@cache
def _hash(path: Path, _time: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def canonical(name: str) -> str:
    """Return a distribution's name as an index spells it."""
    return re.sub(r"[-_.]+", "-", name).lower()


@contextmanager
def index(folder: Path, manner: Manner = "") -> Iterator[tuple[str, list[str]]]:  # noqa: C901 - one small server
    """Serve the wheels of a folder; yield the index' address, and the list of what was asked for.

    Beside ``simple/`` there is one index for each build, as PyTorch has them: ``whl/cu128/``.
    """
    asked: list[str] = []
    let_go = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_words: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            asked.append(self.path)
            parts = unquote(self.path).strip("/").split("/")
            if parts[0] == "simple" and len(parts) == 2:
                self.page(parts[1], "")
            elif parts[0] == "whl" and len(parts) == 3:
                self.page(parts[2], parts[1])
            elif parts[0] == "files" and (folder / parts[-1]).is_file():
                self.wheel(folder / parts[-1])
            else:
                self.answer(b"", 404)

        def page(self, name: str, variant: str) -> None:
            wheels = [p for p in sorted(folder.glob("*.whl")) if canonical(p.name.split("-")[0]) == canonical(name)]
            wheels = [p for p in wheels if not variant or "+" not in p.name or f"+{variant}-" in p.name]
            rows = []
            for wheel in wheels:
                digest = _hash(wheel, wheel.stat().st_mtime_ns)
                digest = digest[::-1] if manner == "lies" else digest
                rows.append(f'<a href="/files/{wheel.name}#sha256={digest}">{wheel.name}</a><br>')
            self.answer(
                "\n".join(["<!DOCTYPE html><html><body>", *rows, "</body></html>"]).encode(), 200 if rows else 404
            )

        def wheel(self, path: Path) -> None:
            data = path.read_bytes()
            if manner == "refuses":
                self.answer(b"", 403)
                return
            if manner in ("redirects", "turns in a circle"):  # to a wheel of other bytes; to itself
                other = path if manner != "redirects" else next(p for p in sorted(folder.glob("*.whl")) if p != path)
                if manner != "redirects" or path != min(folder.glob("*.whl")):
                    self.send_response(302)
                    self.send_header("Location", f"/files/{other.name}")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
            self.send_response(200)
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command == "HEAD":
                return
            if manner in ("stalls", "cuts"):
                self.wfile.write(data[: len(data) // 2])
                self.wfile.flush()
                if manner == "stalls":
                    let_go.wait()
                self.close_connection = True
                return
            self.wfile.write(data)

        def answer(self, data: bytes, status: int) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/simple/", asked
    finally:
        let_go.set()
        server.shutdown()
        server.server_close()
        thread.join()
