"""Hostile packages, indexes and places: whatever they hold, nothing outside the environment is written, and nothing in it unasked."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest

from core.model.changes import ChangeError
from tests.curelab.index import index
from tests.malice.conftest import EVE, give, grant, needs_root
from tests.packages.conftest import Bench, tree

NEW = "torch-2.8.0+cu128-py3-none-any.whl"


def link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    return info


def more(archive: zipfile.ZipFile, *names: str) -> None:
    for name in names:
        archive.writestr(name, "evil")


def linked(archive: zipfile.ZipFile) -> None:
    archive.writestr(link("torch/out"), "/etc")
    more(archive, "torch/out/evil")


def bomb(archive: zipfile.ZipFile) -> None:
    """As large as its disk's free space would be: the wheel says so, and holds a thousandth of it."""
    archive.writestr("torch/zeros.bin", bytes(64 << 20), compress_type=zipfile.ZIP_DEFLATED)


WHEELS: dict[str, Callable[[zipfile.ZipFile], None]] = {
    "a way up": lambda a: more(a, "../../../../../evil", "../" * 9 + "evil"),
    "a way up in the midst": lambda a: more(a, "torch/../../../../../../evil"),
    "an absolute path": lambda a: more(a, "/tmp/evil-absolute"),
    "data beside it": lambda a: more(a, "torch-2.8.0+cu128.data/data/../../evil"),
    "scripts beside it": lambda a: more(a, "torch-2.8.0+cu128.data/scripts/../../../evil"),
    "a script's name that leads up": lambda a: a.writestr(
        "torch-2.8.0+cu128.dist-info/entry_points.txt",
        f"[console_scripts]\n{'../' * 6}evil = torch:x\n/tmp/evil-absolute = torch:x\n",
    ),
    "a link": linked,
    "another environment's settings": lambda a: more(a, "torch-2.8.0+cu128.data/data/pyvenv.cfg"),
    "files without end": bomb,
}


def spoilt(bench: Bench, spoil: Callable[[zipfile.ZipFile], None], folder: Path) -> Path:
    shutil.copytree(bench.wheels, folder)
    with zipfile.ZipFile(folder / NEW, "a", zipfile.ZIP_DEFLATED) as archive:
        spoil(archive)
    return folder


def outside(bench: Bench) -> dict[str, str]:
    """Everything around the environment that is not Convalesce's own."""
    found = tree(bench.prefix.parent)
    return {n: v for n, v in found.items() if not n.startswith(("env/", "state", "machine", "hostile", ".cache"))}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("kind", WHEELS)
def test_a_wheel_reaches_nothing_outside_the_environment(bench: Bench, kind: str) -> None:
    folder = spoilt(bench, WHEELS[kind], bench.prefix.parent / "hostile")
    around, inside = outside(bench), tree(bench.prefix)
    made = None
    with suppress(ChangeError):
        made = bench.prepared(named=str(folder), install=("torch==2.8.0+cu128",))
    if made is not None:
        assert tree(bench.prefix) == inside, "nothing is changed by preparing"
        settings = (bench.prefix / "pyvenv.cfg").read_bytes()
        bench.apply(made)
        assert (bench.prefix / "pyvenv.cfg").read_bytes() == settings
    assert outside(bench) == around
    assert not Path("/tmp/evil-absolute").exists()


@contextmanager
def lying_index(target: str) -> Iterator[str]:
    """An index on the loopback whose page leads to a file of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_words: object) -> None:
            pass

        def do_GET(self) -> None:
            page = f'<a href="{target}">{NEW}</a>'.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/simple"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_an_index_leads_to_no_file_of_this_machine(bench: Bench) -> None:
    before = tree(bench.prefix)
    target = (bench.wheels / NEW.replace("+", "%2B")).as_uri().replace("%25", "%")
    with lying_index(target) as address, pytest.raises(ChangeError, match="redirects to a file"):
        bench.prepared(index=address, install=("torch==2.8.0+cu128",), alone=True)
    assert tree(bench.prefix) == before


@contextmanager
def sending_index(wheels: Path, page: str, wheel: str) -> Iterator[str]:
    """An index on the loopback that sends whoever asks for its page, or for the wheel on it, elsewhere."""
    digest = hashlib.sha256((wheels / NEW).read_bytes()).hexdigest()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_words: object) -> None:
            pass

        def do_GET(self) -> None:
            goal = wheel if self.path.endswith(".whl") else page
            body = f'<a href="/f/{NEW}#sha256={digest}">{NEW}</a>'.encode() if not goal else b""
            self.send_response(302 if goal else 200)
            if goal:
                self.send_header("Location", goal)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/simple"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("base", [False, True], ids=["its own pip", "the pip of its Python"])
@pytest.mark.parametrize("what", ["the page", "the wheel"])
@pytest.mark.parametrize("form", ["file://{path}", "FILE:{path}", "file://localhost{path}"])
def test_an_index_sends_nobody_to_a_file_of_this_machine(bench: Bench, what: str, form: str, base: bool) -> None:
    """The bytes have the hash that was shown, and yet they are read from a place that only this account can read."""
    if base:
        subprocess.run([bench.prefix / "bin/python", "-m", "pip", "uninstall", "-qy", "pip"], check=True)
    listing = bench.prefix.parent / "page.html"
    listing.write_text(f'<a href="{(bench.wheels / NEW).as_uri()}">{NEW}</a>')
    listing.chmod(0o600)
    page = form.format(path=listing) if what == "the page" else ""
    wheel = form.format(path=quote(str(bench.wheels / NEW))) if what == "the wheel" else ""
    before = tree(bench.prefix)
    with sending_index(bench.wheels, page, wheel) as address, pytest.raises(ChangeError, match="redirects to a file"):
        bench.prepared(index=address, install=("torch==2.8.0+cu128",), alone=True)
    assert tree(bench.prefix) == before


@needs_root
@pytest.mark.parametrize(
    "place", ["the packages", "the folder above", "the environment", "by its list", "a link to hers"]
)
def test_an_environment_that_another_account_can_change_is_left(bench: Bench, place: str) -> None:
    lib = bench.site.parent
    if place == "a link to hers":
        hers = bench.prefix.parent / "hers"
        bench.site.rename(hers)
        bench.site.symlink_to(hers)
        give(hers)
    elif place == "by its list":
        grant(bench.site)
    else:
        at = {"the packages": bench.site, "the folder above": lib, "the environment": bench.prefix}[place]
        os.chown(at, 0, EVE)
        at.chmod(0o775)
    before = tree(bench.prefix)
    proposal = bench.proposal(install=("torch==2.8.0+cu128",))
    assert "Other users can change" in proposal.problems[0]
    assert bench.apply(proposal).kind == "refused"
    assert tree(bench.prefix) == before
    assert not (bench.prefix / ".convalesce").exists()


@needs_root
def test_a_name_of_hers_for_a_file_of_the_environment_keeps_its_bytes(bench: Bench) -> None:
    """A second name for the same file, in her folder: it is not written through, and it is given to nobody."""
    hers = bench.prefix.parent / "corner"
    hers.mkdir()
    files = sorted(p for p in bench.site.glob("torch*/*") if p.is_file())
    assert files
    for number, file in enumerate(files):
        os.link(file, hers / f"{number}-{file.name}")
    before = tree(hers)
    made = bench.prepared(install=("torch==2.8.0+cu128",))
    assert bench.apply(made).kind == "done"
    assert tree(hers) == before
    assert bench.version() == "2.8.0+cu128"


@pytest.mark.parametrize("what", ["a link", "a file", "a link that leads nowhere"])
def test_what_stands_in_the_place_of_twins_is_not_followed(bench: Bench, what: str) -> None:
    away = bench.prefix.parent / "away"
    away.mkdir()
    place = bench.prefix / ".convalesce"
    if what == "a file":
        place.write_text("x")
    else:
        place.symlink_to(away if what == "a link" else away / "none")
    before = tree(bench.prefix, without="")
    with pytest.raises((ChangeError, OSError)):
        bench.prepared(install=("torch==2.8.0+cu128",))
    assert list(away.iterdir()) == []
    assert tree(bench.prefix, without="") == before


# --- what else says where an installer writes, and what it asks --------------------------------------------------------

PIP_CONF = """[global]
extra-index-url = {other}
find-links = {other}
[install]
target = {away}/target
prefix = {away}/prefix
root = {away}/root
user = true
constraint = {away}/constraint
[uninstall]
yes = false
"""
VARIABLES = {
    "PIP_TARGET": "{away}/target",
    "PIP_PREFIX": "{away}/prefix",
    "PIP_ROOT": "{away}/root",
    "PIP_USER": "1",
    "PIP_REPORT": "{away}/report",
    "PIP_CONSTRAINT": "{away}/constraint",
    "PIP_REQUIREMENT": "{away}/constraint",
    "PIP_NO_BINARY": ":all:",
    "PIP_EXTRA_INDEX_URL": "{other}",
    "PIP_PYTHON": "/usr/bin/python3",
    "PIP_DRY_RUN": "1",
}


@pytest.mark.parametrize("way", ["a file", "variables"])
def test_a_configuration_neither_sends_files_elsewhere_nor_asks_another_index(bench: Bench, way: str) -> None:
    """As a project's script, a colleague's advice or an old container leaves it."""
    away = bench.prefix.parent / "hostile"
    away.mkdir()
    (away / "constraint").write_text("torch @ http://127.0.0.1:9/evil-1-py3-none-any.whl\n")
    with index(bench.wheels) as (url, asked), index(bench.wheels) as (other, not_asked):
        values = {"away": str(away), "other": other}
        given = {n: v for n, v in bench.variables.items() if n != "PIP_CONFIG_FILE"}
        if way == "a file":
            place = bench.prefix.parent / ".config/pip"
            place.mkdir(parents=True)
            (place / "pip.conf").write_text(PIP_CONF.format(**values))
        else:
            given |= {n: v.format(**values) for n, v in VARIABLES.items()}
        object.__setattr__(bench.shop.host, "variables_", given)
        made = bench.prepared(index=url, remove=("torch",), install=("torch==2.8.0+cu128",))
        assert bench.apply(made).kind == "done"
    assert asked
    assert not_asked == []
    assert sorted(p.name for p in away.iterdir()) == ["constraint"]
    assert bench.version() == "2.8.0+cu128"


@pytest.mark.parametrize(
    "row", ["../../../../precious", "{away}/precious", "torch/way/precious", "torch/way/../precious"]
)
def test_uninstalling_removes_nothing_that_a_record_names_elsewhere(bench: Bench, row: str) -> None:
    """Whoever made the package that is taken out chose what its record lists."""
    away = bench.prefix.parent / "hostile"
    away.mkdir()
    for place in (away, bench.prefix.parent):
        (place / "precious").write_text("x")
    (bench.site / "torch/way").symlink_to(away)
    (record,) = bench.site.glob("torch-*.dist-info/RECORD")
    record.write_text(record.read_text() + row.format(away=away) + ",,\n")
    before = tree(bench.prefix)
    with suppress(ChangeError):
        bench.prepared(remove=("torch",), install=("torch==2.8.0+cu128",))
    assert (away / "precious").exists()
    assert (bench.prefix.parent / "precious").exists()
    assert tree(bench.prefix) == before
