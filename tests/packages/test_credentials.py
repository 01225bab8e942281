"""Names and passwords for one address: no other host gets them, and nothing that is shown or kept has them."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from core.host.this_host import this_host
from tests.curelab import environments
from tests.envlab.run import LabHost
from tests.packages.conftest import Bench

WHEEL = "torch-2.8.0+cu128-py3-none-any.whl"
SECRET = "s3cret-of-ada"


class Heard:
    """What each host was sent as credentials."""

    def __init__(self) -> None:
        self.asked: dict[str, list[str]] = {"127.0.0.1": [], "127.0.0.2": []}


@contextmanager
def hosts(wheels: Path, heard: Heard, *, way: str) -> Iterator[tuple[str, int]]:
    """Serve an index at 127.0.0.1 whose wheel lies at 127.0.0.2, by a link or by a redirect; yield its host and port."""
    body = (wheels / WHEEL).read_bytes()
    digest = hashlib.sha256(body).hexdigest()
    servers: list[ThreadingHTTPServer] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_words: object) -> None:
            pass

        def do_GET(self) -> None:
            mine = str(self.server.server_address[0])
            heard.asked[mine].append(self.headers.get("Authorization", ""))
            there = f"http://127.0.0.2:{servers[1].server_port}/{WHEEL.replace('+', '%2B')}"
            if mine == "127.0.0.1" and not self.headers.get("Authorization"):
                self._answer(401, b"", "text/html")
            elif mine == "127.0.0.2":
                self._answer(200, body, "application/octet-stream")
            elif self.path.endswith(".whl"):
                self._answer(302, b"", "text/html", there)
            else:
                link = there if way == "a link" else f"/f/{WHEEL.replace('+', '%2B')}"
                page = f'<a href="{link}#sha256={digest}">{WHEEL}</a>'.encode()
                self._answer(200, page, "text/html")

        do_HEAD = do_GET

        def _answer(self, status: int, data: bytes, kind: str, goal: str = "") -> None:
            self.send_response(status)
            if goal:
                self.send_header("Location", goal)
            if status == 401:
                self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(data)

    servers += [ThreadingHTTPServer((host, 0), Handler) for host in heard.asked]
    threads = [threading.Thread(target=s.serve_forever) for s in servers]
    for thread in threads:
        thread.start()
    try:
        yield "127.0.0.1", servers[0].server_port
    finally:
        for server, thread in zip(servers, threads, strict=True):
            server.shutdown()
            thread.join()
            server.server_close()


def with_uv(bench: Bench) -> Bench:
    """Return the bench with an environment that only uv installs into."""
    for place in (bench.site / "pip", *bench.site.glob("pip-*.dist-info")):
        shutil.rmtree(place)
    found = environments.variables(bench.prefix.parent)
    variables = {**bench.variables, "PATH": found["PATH"], "UV_CACHE_DIR": str(bench.prefix.parent / "cache")}
    shop = replace(bench.shop, host=LabHost(this_host(), variables))
    return Bench(bench.prefix, bench.wheels, variables, shop)


@pytest.mark.parametrize("installer", ["pip", "uv"])
@pytest.mark.parametrize("way", ["a link", "a redirect"])
@pytest.mark.parametrize("kept", [".netrc", "the address"])
def test_another_host_gets_no_name_and_no_password(bench: Bench, kept: str, way: str, installer: str) -> None:
    heard = Heard()
    bench = with_uv(bench) if installer == "uv" else bench
    with hosts(bench.wheels, heard, way=way) as (host, port):
        inside = f"ada:{SECRET}@" if kept == "the address" else ""
        if kept == ".netrc":
            note = Path(bench.variables["HOME"]) / ".netrc"
            note.write_text(f"machine {host}\nlogin ada\npassword {SECRET}\n")
            note.chmod(0o600)
        made = bench.prepared(index=f"http://{inside}{host}:{port}/simple", install=("torch==2.8.0+cu128",), alone=True)
    assert any(heard.asked["127.0.0.1"]), "its own host gets them, so that a private index works"
    assert heard.asked["127.0.0.2"]
    assert set(heard.asked["127.0.0.2"]) == {""}
    assert SECRET not in repr(made)
    outcome = bench.apply(made)
    assert outcome.kind == "done"
    assert SECRET not in repr(outcome)
    for folder in (Path(bench.shop.journal.folder), bench.prefix):
        texts = (p for p in folder.rglob("*") if p.is_file() and not p.is_symlink())
        assert not [p for p in texts if SECRET.encode() in p.read_bytes()]


def test_no_keyring_of_another_account_is_asked_by_an_administrator(bench: Bench) -> None:
    """pip starts a program "keyring" of PATH for a host that wants a password."""
    from core.host.provenance import trusted_environment

    folder = bench.prefix.parent / "tools"
    folder.mkdir()
    (folder / "keyring").write_text("#!/bin/sh\n")
    os.chown(folder, 54_321, 54_321)
    assert str(folder) not in trusted_environment({"PATH": f"{folder}:/usr/bin"})["PATH"]
