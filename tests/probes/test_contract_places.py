"""What variables with a contract name, and the words of their values in the files of those that read them."""

from __future__ import annotations

import argparse
import collections
import os
import pickle
import socket
import sqlite3
import struct
import subprocess
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.knowledge.tables import read_table
from core.loader.contents import written_words
from core.loader.linux.cache import CacheEntry
from core.model.facts import Distribution, Environment, Start, StartLook, Variable
from core.probes.python import tools
from core.probes.sysroot import Sysroot, sysroot_of
from core.probes.variables import places, vocabulary
from core.probes.variables.locales import lacks_locale
from core.probes.variables.own_caches import closed_caches
from core.probes.variables.places import places_of_contracts
from core.probes.variables.probe import EnvironmentKnowledge, is_relevant_variable, with_refused_variables
from tests.machines import python
from tests.probes.request import request, write

SITE = "/env/lib/python3.11/site-packages"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A library that holds the names of two options."""
    path = tmp_path_factory.mktemp("built") / "libc10_cuda.so"
    text = 'const char *names[] = {"garbage_collection_threshold", "max_split_size_mb", "xla_a_flag"};'
    subprocess.run(["gcc", "-shared", "-x", "c", "-", "-o", str(path)], input=text.encode(), check=True, timeout=120)
    return path.read_bytes()


def asked(root: Path, env: dict[str, str], *names: str):
    its = python(
        prefix="/env", site_packages=(SITE,), distributions=tuple(Distribution(name=n, version="1.0") for n in names)
    )
    return request(root, env, pythons=(its,))


@pytest.mark.parametrize(
    ("value", "blocked"),
    [(r"K:\hf", "K:\\"), (r"C:\new\hf", ""), (r"C:\file\hf", r"C:\file"), (r"\\server\share\hf", "")],
)
def test_a_drive_that_is_not_there_keeps_a_folder_from_being_made(value: str, blocked: str, tmp_path: Path):
    """A share may only be asleep."""
    write(tmp_path, "C:/file")
    where = sysroot_of(request(tmp_path, {}, system="windows").host)
    assert [p.blocked for p in places_of_contracts({"HF_HOME": value}, where)] == [blocked]


def test_words_stand_whole_or_not_at_all(library: bytes, tmp_path: Path):
    path = write(tmp_path, "/a.so", library)
    words = ("max_split_size_mb", "max_split_size", "split_size_mb", "xla_a_flag", "xla_another")
    assert written_words(path, words) == {"max_split_size_mb", "xla_a_flag"}
    assert written_words(write(tmp_path, "/b.so", "no library"), words) is None
    assert written_words(tmp_path / "none", words) is None


def test_options_that_the_installed_library_does_not_have(library: bytes, tmp_path: Path):
    path = f"{SITE}/torch/lib/libc10_cuda.so"
    write(tmp_path, path, library)
    env = {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64,new_option:True"}
    (row,) = vocabulary.look(asked(tmp_path, env, "torch"))
    assert (row.prefix, row.files, row.unknown) == ("/env", (path,), ("new_option",))
    assert not vocabulary.look(asked(tmp_path, env, "numpy"))
    assert not vocabulary.look(asked(tmp_path, {}, "torch"))
    write(tmp_path, path, library[: len(library) // 3])
    assert not vocabulary.look(asked(tmp_path, env, "torch"))  # a damaged library tells nothing


def test_values_of_other_ways_of_starting_are_compared_too(library: bytes, tmp_path: Path):
    write(tmp_path, f"{SITE}/torch/lib/libc10_cuda.so", library)
    wanted = asked(tmp_path, {}, "torch")
    start = Start(
        id="terminal:fish", kind="terminal", variables=(Variable(name="PYTORCH_CUDA_ALLOC_CONF", value="odd:1"),)
    )
    (row,) = vocabulary.look(replace(wanted, seen=replace(wanted.seen, starts=(start,))))
    assert row.unknown == ("odd",)


@pytest.mark.parametrize(
    ("value", "refused"),
    [
        ("/lib/a.so/kept", ("/lib/a.so/kept",)),
        ("/new/kept", ()),
        ("/lib", ()),
        ("kept", ()),
        ("/lib/a.so", ("/lib/a.so",)),
    ],
)
def test_a_folder_of_files_that_a_package_keeps_can_be_made(tmp_path: Path, value: str, refused: tuple[str, ...]):
    """The tests may run as root, who writes everywhere: a file stands in the way here."""
    write(tmp_path, f"{SITE}/toolbox/config.py", "import os\nKEPT = os.getenv('TOOLBOX_CACHE', '/tmp')\n")
    write(tmp_path, f"{SITE}/toolbox/__init__.py", "")
    write(tmp_path, "/lib/a.so", "x")
    rows = vocabulary.look(asked(tmp_path, {"TOOLBOX_CACHE": value, "TOOLBOX_CACHE_SIZE": "/lib/a.so/9"}, "toolbox"))
    assert tuple(v for r in rows for v in r.unknown) == refused
    assert {(r.takes, r.known, r.line) for r in rows} == ({("own cache", ("/lib/a.so",), 2)} if refused else set())


@pytest.mark.parametrize(
    ("value", "makes", "refused"),
    [
        ("/lib/a.so/kept", "os.makedirs(KEPT, exist_ok=True)", ("/lib/a.so/kept",)),
        ("/lib/a.so/kept", "open(KEPT)", ()),
        ("/lib/a.so", "os.makedirs(KEPT, exist_ok=True)", ()),
        ("/new/kept", "os.makedirs(KEPT, exist_ok=True)", ()),
    ],
)
def test_a_home_of_a_package_that_it_makes(tmp_path: Path, value: str, makes: str, refused: tuple[str, ...]):
    write(tmp_path, f"{SITE}/toolbox/config.py", f"import os\nKEPT = os.getenv('TOOLBOX_HOME', '/tmp')\n{makes}\n")
    write(tmp_path, f"{SITE}/toolbox/__init__.py", "")
    write(tmp_path, "/lib/a.so", "x")
    rows = vocabulary.look(asked(tmp_path, {"TOOLBOX_HOME": value}, "toolbox"))
    assert tuple(v for r in rows if r.takes == "own cache" for v in r.unknown) == refused


@pytest.mark.parametrize(
    ("variable", "folder", "refused"),
    [
        ("TOOLBOX_TEMP_DIR", "/sys/kept", True),  # nobody makes a file there, the test's root included
        ("TOOLBOX_TEMP_DIR", "/srv/kept", False),
        ("TOOLBOX_TEMP_DIR", "/srv/new", False),
        ("TOOLBOX_CACHE", "/sys/kept", False),
    ],
)
def test_a_folder_that_another_user_filled(tmp_path: Path, variable: str, folder: str, refused: bool):
    """What fills a cache may be all that its reader looks for; in a folder for temporary files every reader writes."""
    write(tmp_path, f"{SITE}/toolbox/__init__.py", f"import os\nfolder = os.environ.get('{variable}') or '/tmp'\n")
    for name in ("/sys/kept/a.png", "/srv/kept/a.png"):
        write(tmp_path, name, "x")
    rows = vocabulary.look(asked(tmp_path, {variable: folder}, "toolbox"))
    assert [(r.takes, r.known, r.unknown) for r in rows] == [("own cache", ("/sys/kept",), (folder,))] * refused


def _base(root: Path, path: str, minor: str) -> None:
    """Make a data base of PROJ's as SQLite writes it."""
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(root / path)) as base, base:
        base.execute("CREATE TABLE metadata (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
        rows = {"DATABASE.LAYOUT.VERSION.MAJOR": "1", "DATABASE.LAYOUT.VERSION.MINOR": minor, "EPSG.VERSION": "v9.8.6"}
        base.executemany("INSERT INTO metadata VALUES (?, ?)", rows.items())


@pytest.mark.parametrize(
    ("env", "says"),
    [
        ({"PROJ_LIB": "/qgis/old"}, "MINOR = 2 whereas a number >= 10"),
        ({"PROJ_LIB": "/qgis/new"}, ""),
        ({"PROJ_LIB": "/qgis/none"}, "Cannot find proj.db"),
        ({"PROJ_LIB": "/qgis/old", "PROJ_DATA": "/qgis/new"}, ""),
        ({"PROJ_LIB": "/qgis/damaged"}, ""),
        ({}, ""),
    ],
)
def test_data_of_proj_that_another_program_brings(tmp_path: Path, env: dict[str, str], says: str):
    _base(tmp_path, f"{SITE[1:]}/rasterio/proj_data/proj.db", "10")
    _base(tmp_path, "qgis/old/proj.db", "2")
    _base(tmp_path, "qgis/new/proj.db", "10")
    write(tmp_path, "/qgis/damaged/proj.db", "x")
    rows = vocabulary.look(asked(tmp_path, env, "rasterio"))
    assert [(r.takes, r.variable, r.reader) for r in rows] == [("code", "PROJ_LIB", "rasterio")] * bool(says)
    assert all(says in r.says for r in rows)


@pytest.mark.parametrize(("value", "refused"), [('"4"', ('"4"',)), ("4", ())])
def test_what_one_reader_passes_over_ends_another(tmp_path: Path, value: str, refused: tuple[str, ...]):
    code = "import os\nthreads = int(os.environ['OMP_NUM_THREADS']) if 'OMP_NUM_THREADS' in os.environ else 1\n"
    write(tmp_path, f"{SITE}/numexpr/__init__.py", "from numexpr import utils\n")
    write(tmp_path, f"{SITE}/numexpr/utils.py", code)
    rows = vocabulary.look(asked(tmp_path, {"OMP_NUM_THREADS": value}, "numexpr"))
    assert tuple(v for r in rows for v in r.unknown) == refused


@pytest.mark.parametrize(
    ("value", "refused"), [(r"K:\kept", (r"K:\kept",)), (r"C:\new\kept", ()), (r"C:\lib\a.dll\kept", ())]
)
def test_a_folder_on_a_drive_that_is_gone_whoever_makes_it(tmp_path: Path, value: str, refused: tuple[str, ...]):
    write(tmp_path, f"{SITE}/toolbox/config.py", "import os\nKEPT = os.getenv('TOOLBOX_HOME', 'kept')\n")
    write(tmp_path, "C:/lib/a.dll", "x")
    where = sysroot_of(request(tmp_path, {}, system="windows").host)
    text = where.text(f"{SITE}/toolbox/config.py") or ""
    assert tuple(c.value for c in closed_caches(text, {"TOOLBOX_HOME": (value,)}, where)) == refused


@pytest.mark.parametrize(
    ("program", "variable", "refused"),
    [
        ("import toolbox\n", "U2NET_HOME", ("/lib/a.so/kept",)),
        ("from toolbox.config import KEPT\n", "XDG_CACHE_HOME", ("/lib/a.so/kept",)),
        ("import json\n", "U2NET_HOME", ()),
        ("import toolbox\n", "JAVA_HOME", ()),
    ],
)
def test_a_package_that_a_program_imports_reads_variables_of_other_names(
    tmp_path: Path, program: str, variable: str, refused: tuple[str, ...]
):
    code = "import os\nKEPT = os.getenv('U2NET_HOME', os.getenv('XDG_CACHE_HOME', '/tmp'))\nos.makedirs(KEPT)\n"
    write(tmp_path, f"{SITE}/toolbox/config.py", code)
    write(tmp_path, f"{SITE}/toolbox/__init__.py", "")
    write(tmp_path, f"{SITE}/toolbox-1.0.dist-info/RECORD", "toolbox/__init__.py,,\ntoolbox/config.py,,\n")
    write(tmp_path, "/lib/a.so", "x")
    write(tmp_path, "/work/train.py", program)
    asking = replace(asked(tmp_path, {variable: "/lib/a.so/kept"}, "toolbox"), script_folder="/work")
    assert tuple(v for r in vocabulary.look(asking) for v in r.unknown) == refused


@pytest.mark.parametrize(
    ("code", "refused"),
    [
        ("SIZE = int(os.environ.get('SIZE', '8'))\n", ("8 # few",)),
        ("os.environ['SIZE'] = '8'\nSIZE = int(os.environ['SIZE'])\n", ()),
        ("try:\n    SIZE = int(os.environ['SIZE'])\nexcept ValueError:\n    SIZE = 8\n", ()),
        ("print(os.environ.get('SIZE'))\n", ()),
    ],
)
def test_what_the_persons_own_program_makes_of_a_variable(tmp_path: Path, code: str, refused: tuple[str, ...]):
    write(tmp_path, "/work/train.py", f"import os\n{code}")
    its = python(prefix="/env", site_packages=(SITE,), ways=("--python",))
    found = vocabulary.look(replace(request(tmp_path, {"SIZE": "8 # few"}, pythons=(its,)), script_folder="/work"))
    assert [(r.unknown, r.sure) for r in found] == ([(refused, False)] if refused else [])


@pytest.mark.parametrize(("program", "refused"), [("import lightning\n", ("node0",)), ("import json\n", ())])
def test_so_does_one_whose_own_variables_are_in_the_table(tmp_path: Path, program: str, refused: tuple[str, ...]):
    write(
        tmp_path,
        f"{SITE}/lightning/fabric/ranks.py",
        "import os\ndef rank():\n    return int(os.environ['NODE_RANK'])\n",
    )
    write(tmp_path, f"{SITE}/lightning/__init__.py", "")
    write(tmp_path, f"{SITE}/lightning-2.5.dist-info/RECORD", "lightning/__init__.py,,\nlightning/fabric/ranks.py,,\n")
    write(tmp_path, "/work/train.py", program)
    asking = replace(asked(tmp_path, {"NODE_RANK": "node0"}, "lightning"), script_folder="/work")
    assert tuple(v for r in vocabulary.look(asking) for v in r.unknown) == refused


@pytest.mark.parametrize(
    ("value", "refused"), [("/lib/a.so", ()), ("/gone/a.so", ("/gone/a.so",)), ("/lib", ("/lib",)), ("a.so", ())]
)
def test_a_library_that_code_asks_for_must_be_there(tmp_path: Path, value: str, refused: tuple[str, ...]):
    code = """import os, pathlib
def library():
    if 'PHONEMIZER_ESPEAK_LIBRARY' in os.environ:
        path = pathlib.Path(os.environ['PHONEMIZER_ESPEAK_LIBRARY'])
        if not (path.is_file() and os.access(path, os.R_OK)):
            raise RuntimeError('not a readable file')
"""
    write(tmp_path, "/lib/a.so", "x")
    write(tmp_path, f"{SITE}/phonemizer/backend/espeak/wrapper.py", code)
    write(tmp_path, f"{SITE}/phonemizer_fork-3.3.2.dist-info/METADATA", "Name: phonemizer-fork\n")
    found = vocabulary.look(asked(tmp_path, {"PHONEMIZER_ESPEAK_LIBRARY": value}, "phonemizer-fork"))
    assert [(r.unknown, r.takes, r.sure) for r in found] == ([(refused, "file", False)] if refused else [])


def test_a_cache_for_compiled_functions_needs_one_folder_of_three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write(
        tmp_path,
        f"{SITE}/librosa/core/notation.py",
        "import numba\n\n@numba.jit(nopython=True, cache=True)\ndef fold(): pass\n",
    )
    for name in ("home/ada/x", "scratch/x"):
        write(tmp_path, f"/{name}", "x")
    closed = {"/scratch", "/home/ada", f"{SITE}/librosa/core"}
    monkeypatch.setattr(Sysroot, "may_access", lambda _self, path, _wish: path not in closed)
    env = {"HOME": "/home/ada", "NUMBA_CACHE_DIR": "/scratch/numba"}
    (row,) = vocabulary.look(asked(tmp_path, env, "librosa", "numba"))
    assert (row.takes, row.reader, row.line) == ("cache", "librosa", 3)
    assert row.known == ("/scratch/numba", f"{SITE}/librosa/core/__pycache__", "/home/ada/.cache/numba")
    assert not vocabulary.look(asked(tmp_path, env, "librosa"))
    assert not vocabulary.look(asked(tmp_path, {**env, "NUMBA_DISABLE_JIT": "1"}, "librosa", "numba"))
    for one in tuple(closed):
        closed.remove(one)
        assert not vocabulary.look(asked(tmp_path, env, "librosa", "numba"))
        closed.add(one)


def test_a_refused_variable_that_no_table_lists_is_told_of_with_the_others(tmp_path: Path):
    write(tmp_path, f"{SITE}/gradio/server.py", "import os\nPORT = int(os.environ['GRADIO_SERVER_PORT'])\n")
    env = {"GRADIO_SERVER_PORT": "tcp://10.0.0.1:80", "GRADIO_SERVER_NAME": "here"}
    asking = asked(tmp_path, env, "gradio")
    inherited = StartLook(starts=("terminal:bash",), environment=Environment())
    seen = replace(
        asking.seen, environment=Environment(), vocabularies=vocabulary.look(asking), start_looks=(inherited,)
    )
    its = with_refused_variables(seen, env)
    told = (Variable(name="GRADIO_SERVER_PORT", value="tcp://10.0.0.1:80", source="environment"),)
    sections = (its.environment, *(k.environment for k in its.start_looks or ()))
    assert [s.variables for s in sections if s] == [told, told]
    assert with_refused_variables(seen, {}) == seen  # as after a cure
    own = replace(seen, starts=(Start(id="terminal:fish", kind="terminal", variables=told),))
    assert with_refused_variables(own, env) == own


def test_a_file_for_each_word(tmp_path: Path):
    write(tmp_path, f"{SITE}/bitsandbytes/libbitsandbytes_cuda126.so", "x")
    for value, unknown in (("126", ()), ("130", ("130",)), ("../x", ("../x",))):
        (row,) = vocabulary.look(asked(tmp_path, {"BNB_CUDA_VERSION": value}, "bitsandbytes"))
        assert row.unknown == unknown
    assert not vocabulary.look(asked(tmp_path / "none", {"BNB_CUDA_VERSION": "130"}, "bitsandbytes"))


def test_architectures_stand_in_the_modules_text(tmp_path: Path):
    write(
        tmp_path,
        f"{SITE}/torch/utils/cpp_extension.py",
        "named = [('Ampere', '8.0;8.6+PTX')]\nknown = ['8.0', '8.9']\n",
    )
    (row,) = vocabulary.look(asked(tmp_path, {"TORCH_CUDA_ARCH_LIST": "8.0;8.9+PTX Ampere;12.0"}, "torch"))
    assert row.unknown == ("12.0",)


def test_plugins_may_bring_backends(tmp_path: Path):
    write(tmp_path, f"{SITE}/jax/_src/xla_bridge.py", 'known = {"cpu", "cuda"}\n')
    write(tmp_path, f"{SITE}/jax_plugins/xla_cuda12/__init__.py")
    write(tmp_path, f"{SITE}/jax_cuda12_plugin-0.7.2.dist-info/entry_points.txt", "[jax_plugins]\nxla_cuda12 = x\n")
    (row,) = vocabulary.look(asked(tmp_path, {"JAX_PLATFORMS": "cuda12"}, "jax"))
    assert row.unknown == ("cuda12",)
    write(tmp_path, f"{SITE}/odd-1.0.dist-info/entry_points.txt", "[jax_plugins]\nodd = odd\n")
    assert not vocabulary.look(asked(tmp_path, {"JAX_PLATFORMS": "cuda12"}, "jax"))


def test_what_stands_in_a_folders_way(tmp_path: Path):
    write(tmp_path, "/srv/file")
    (tmp_path / "srv/there").mkdir()

    def blocked(value: str) -> str:
        where = Sysroot(system="linux", root=str(tmp_path))
        (place,) = places_of_contracts({"TRITON_CACHE_DIR": value}, where)
        return place.blocked

    assert blocked("/srv/file") == blocked("/srv/file/deep/er") == "/srv/file"
    assert blocked("/srv/there") == blocked("/srv/there/new/er") == ""


def test_the_folder_that_a_reader_makes_in_a_home_counts_alone(tmp_path: Path):
    (tmp_path / "srv").mkdir()
    write(tmp_path, "/home/ada/.triton", "a file")
    where = Sysroot(system="linux", root=str(tmp_path))
    every = (p for h in ("/srv", "/home/ada") for p in places_of_contracts({"HOME": h}, where))
    told = {p.path: p.blocked for p in every if p.inside == ".triton"}
    assert told == {"/srv": "", "/home/ada": "/home/ada/.triton"}


def test_commands_are_looked_for_on_path(tmp_path: Path):
    write(tmp_path, "/usr/bin/gcc").chmod(0o755)
    where = Sysroot(system="linux", root=str(tmp_path))

    def state(value: str, path: str = "/opt/bin:/usr/bin") -> list[str]:
        return [p.state for p in places_of_contracts({"CC": value, "PATH": path}, where)]

    assert state("gcc") == state("gcc -O2") == state("/usr/bin/gcc") == ["file"]
    assert state("clang") == state("/opt/gcc-11/bin/gcc") == ["missing"]
    assert state("") == []


def test_this_users_rights_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    tool = tmp_path / "gcc"
    tool.write_text("x")
    tool.chmod(0o644)
    (place,) = places_of_contracts({"CC": str(tool)}, Sysroot(system="linux"))
    assert place.runs is False
    monkeypatch.setattr(os, "access", lambda *_a, **_k: False)
    (place,) = places_of_contracts({"TRITON_CACHE_DIR": str(tmp_path / "a")}, Sysroot(system="linux"))
    assert place.blocked == str(tmp_path)


# --- tools ---------------------------------------------------------------------------------------------------------

PTXAS = f"{SITE}/triton/backends/nvidia/bin/ptxas"
OWN = ("bin/ptxas", "lib/libdevice.10.bc", "include/cuda.h", "driver.c")
BITCODE = bytes.fromhex("4243c0de") + b"code"


def triton(root: Path, *without: str):
    lines = []
    for name in OWN:
        path, content = f"{SITE}/triton/backends/nvidia/{name}", BITCODE if name.endswith(".bc") else b"content."
        lines.append(f"triton/backends/nvidia/{name},sha256=x,{len(content)}")
        if name not in without:
            write(root, path, content).chmod(0o755)
    write(root, f"{SITE}/triton-3.4.0.dist-info/RECORD", "\n".join(lines) + "\n")
    its = Distribution(name="triton", version="3.4.0", location=SITE)
    return request(root, {}, pythons=(python(prefix="/env", site_packages=(SITE,), distributions=(its,)),))


def told(wanted) -> list[tuple[str, str, str]]:
    return [(t.name, t.state, t.owner) for t in tools.look(wanted)]


@pytest.mark.parametrize(
    ("text", "user", "asked_by"),
    [
        ("import torch\nf = torch.compile(print)\n", "torch", "torch.compile("),
        ("import torch\nprint(torch.compile)\n", "torch", ""),
        ("import torch\n", "vllm", "vllm"),
    ],
)
def test_what_compiles_and_who_asks_for_it(tmp_path: Path, text: str, user: str, asked_by: str):
    """A program that compiles, or a package that always does, needs the headers of Python; others seldom do."""
    write(tmp_path, "/env/pyvenv.cfg", "home = /usr/bin\nversion = 3.11.2\n")
    write(tmp_path, "/usr/bin/python3.11", "").chmod(0o755)
    write(tmp_path, "/usr/bin/gcc", "").chmod(0o755)
    write(tmp_path, "/work/main.py", text)
    its = (Distribution(name="triton", version="3.4.0", location=SITE), Distribution(name=user, version="1"))
    wanted = request(
        tmp_path, {"PATH": "/usr/bin"}, pythons=(python(prefix="/env", site_packages=(SITE,), distributions=its),)
    )
    rows = tools.look(replace(wanted, script_folder="/work"))
    assert [(t.name, t.asked_by) for t in rows if t.builds] == [("Python.h", asked_by)]


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        ("import os\nimport jax\nimport jax.numpy as jnp\nprint(jax.devices(), jnp.ones(2))\n", False),
        ("import jax\njax.numpy.sqrt(2.0)\n", True),
        ("import jax\nprint(jax.numpy.ones(2) ** 2.5)\n", True),
        ("import jax\nimport flax\n", True),
        ("from jax.nn import gelu\n", True),
        ("print()\n", True),
    ],
)
def test_what_jax_does_without_libdevice(tmp_path: Path, text: str, lacks: bool):
    """As a card with JAX 0.11.2 and no libdevice did; where no program uses JAX, the next one may ask for it."""
    write(tmp_path, "/work/main.py", text)
    its = Distribution(name="jax-cuda12-plugin", version="0.7.2", location=SITE)
    wanted = request(tmp_path, {}, pythons=(python(prefix="/env", site_packages=(SITE,), distributions=(its,)),))
    assert ("libdevice.10.bc" in [t.name for t in tools.look(replace(wanted, script_folder="/work"))]) is lacks


def test_what_triton_runs_and_reads(tmp_path: Path):
    assert told(triton(tmp_path)) == []


@pytest.mark.parametrize("lost", OWN)
def test_what_a_package_brought_and_is_gone(lost: str, tmp_path: Path):
    assert told(triton(tmp_path, lost)) == [(lost.rsplit("/", 1)[-1], "absent", "triton 3.4.0")]


def test_a_tool_that_is_cut_dangling_or_of_another_kind(tmp_path: Path):
    wanted = triton(tmp_path)
    (tmp_path / PTXAS[1:]).write_bytes(b"c")
    assert told(wanted) == [("ptxas", "damaged", "triton 3.4.0")]
    (tmp_path / PTXAS[1:]).unlink()
    (tmp_path / PTXAS[1:]).symlink_to(tmp_path / "nowhere")
    assert told(wanted) == [("ptxas", "dangling", "triton 3.4.0")]
    wanted = triton(tmp_path / "b")
    write(tmp_path / "b", f"{SITE}/triton/backends/nvidia/lib/libdevice.10.bc", b"longer than it was")
    assert told(wanted) == [("libdevice.10.bc", "damaged", "triton 3.4.0")]


def test_an_older_triton_that_has_them_elsewhere_is_quiet(tmp_path: Path):
    its = Distribution(name="triton", version="2.0.0", location=SITE)
    wanted = request(tmp_path, {}, pythons=(python(prefix="/env", site_packages=(SITE,), distributions=(its,)),))
    assert told(wanted) == []


@pytest.mark.parametrize(
    ("place", "env", "lacks"),
    [
        ("", {}, True),
        ("/usr/local/cuda", {}, False),
        ("/opt/cuda", {"CUDA_ROOT": "/opt/cuda"}, False),
        ("/opt/cuda", {"XLA_FLAGS": "--xla_gpu_cuda_data_dir=/opt/cuda"}, False),
        ("/env", {}, False),
        ("/opt/cuda", {}, True),
    ],
)
def test_where_jax_may_take_libdevice_from(place: str, env: dict[str, str], lacks: bool, tmp_path: Path):
    if place:
        write(tmp_path, f"{place}/nvvm/libdevice/libdevice.10.bc", BITCODE)
    its = Distribution(name="jax-cuda12-plugin", version="0.7.2", location=SITE)
    wanted = request(tmp_path, env, pythons=(python(prefix="/env", site_packages=(SITE,), distributions=(its,)),))
    assert told(wanted) == ([("libdevice.10.bc", "absent", "")] if lacks else [])


CODE = """
import os
threads = int(os.environ.get("TORCHINDUCTOR_MIN_NUM_SPLIT", 0))
share = float(os.getenv("TORCHINDUCTOR_SHARE", "0.5"))
level = int(os.environ["TORCHDYNAMO_REPRO_LEVEL"])
name = str(os.environ.get("TORCHINDUCTOR_NAME"))
other = int(given["TORCHINDUCTOR_GIVEN"])
"""
STATES = """
size = int_state(name='jax_cache_size', default=1, help='')
x64 = bool_state(name="jax_x64", default=False)
kind = enum_state(name='jax_kind', enum_values=['a', 'b'], default='a')
more = enum_state(name='jax_more', enum_values=['a', *OTHERS], default='a')
"""
VALUES = {
    "a whole number": ("torch", "TORCHINDUCTOR_MIN_NUM_SPLIT", "few", "4"),
    "a number": ("torch", "TORCHINDUCTOR_SHARE", "50%", "5e-1"),
    "by index": ("torch", "TORCHDYNAMO_REPRO_LEVEL", "after_dynamo", "+3"),
    "a state": ("jax", "JAX_CACHE_SIZE", "10G", "-1"),
    "a switch": ("jax", "JAX_X64", "maybe", "Yes"),
    "a list": ("jax", "JAX_KIND", "A", "b"),
}


@pytest.mark.parametrize("case", VALUES.values(), ids=VALUES)
def test_values_that_code_converts(case: tuple[str, str, str, str], tmp_path: Path):
    reader, name, wrong, right = case
    write(tmp_path, f"{SITE}/torch/_inductor/config.py", CODE)
    write(tmp_path, f"{SITE}/jax/_src/config.py", STATES)
    (row,) = vocabulary.look(asked(tmp_path, {name: wrong}, "torch", "jax"))
    assert (row.variable, row.reader, row.unknown) == (name, reader, (wrong,))
    assert row.line
    assert not vocabulary.look(asked(tmp_path, {name: right}, "torch", "jax"))
    assert not vocabulary.look(asked(tmp_path, {name: ""}, "torch", "jax"))
    assert not vocabulary.look(asked(tmp_path, {name: wrong}, "numpy"))


def test_a_packages_own_modules_are_read_wherever_it_reads_its_variables(tmp_path: Path):
    write(tmp_path, f"{SITE}/wandb-0.20.0.dist-info/METADATA", "Name: wandb\nVersion: 0.20.0\n")
    write(tmp_path, f"{SITE}/wandb/__init__.py", "")
    write(
        tmp_path, f"{SITE}/wandb/sdk/wandb_settings.py", "import os\nwait = float(os.environ.get('WANDB_WAIT', 30))\n"
    )
    write(tmp_path, f"{SITE}/wandb/sdk/other.py", "import os\nmore = int(os.environ.get('WANDB_MORE', 30))\n")
    write(tmp_path, f"{SITE}/datasets-3.0.0.dist-info/METADATA", "Name: datasets\nVersion: 3.0.0\n")
    write(
        tmp_path,
        f"{SITE}/datasets/config.py",
        "import os\ndef size():\n    return float(os.environ['HF_DATASETS_SIZE'])\n",
    )
    rows = sorted(
        vocabulary.look(asked(tmp_path, {"WANDB_WAIT": "30s", "WANDB_MORE": "x"}, "torch")), key=lambda r: r.variable
    )
    assert [(r.variable, r.reader, r.unknown, r.line, r.sure) for r in rows] == [
        ("WANDB_MORE", "wandb", ("x",), 2, True),
        ("WANDB_WAIT", "wandb", ("30s",), 2, True),
    ]
    (row,) = vocabulary.look(asked(tmp_path, {"HF_DATASETS_SIZE": "10GB"}, "torch"))
    assert (row.reader, row.takes, row.sure) == ("datasets", "number", False)
    assert not vocabulary.look(
        asked(tmp_path, {"WANDB_WAIT": "30", "WANDB_API_KEY": "x", "HOME": "/home/ada"}, "torch")
    )


def test_files_that_a_module_opens_are_looked_for(tmp_path: Path):
    code = "import os\nwith open(os.environ.get('ACCELERATE_FILE')) as f:\n    pass\n"
    write(tmp_path, f"{SITE}/accelerate/__init__.py", code)
    write(tmp_path, "/srv/there")

    def wrong(value: str) -> list[tuple[str, ...]]:
        return [r.unknown for r in vocabulary.look(asked(tmp_path, {"ACCELERATE_FILE": value}, "accelerate"))]

    assert wrong("/srv/gone") == [("/srv/gone",)]
    assert wrong("/srv") == [("/srv",)]
    assert wrong("/srv/there") == wrong("relative") == []


def test_a_word_that_is_a_module(tmp_path: Path):
    write(tmp_path, f"{SITE}/matplotlib/backends/__init__.py", "# a backend is named here\n")
    write(tmp_path, f"{SITE}/mine/backend_own.py", "")

    def unknown(value: str) -> list[tuple[str, ...]]:
        return [r.unknown for r in vocabulary.look(asked(tmp_path, {"MPLBACKEND": value}, "matplotlib")) if r.unknown]

    assert unknown("module://mine.backend_gone") == [("mine.backend_gone",)]
    assert unknown("module://mine.backend_own") == unknown("TkAgg") == []
    write(tmp_path, f"{SITE}/other-1.0.dist-info/entry_points.txt", "[matplotlib.backend]\nodd = other\n")
    assert unknown("odd") == []


def test_settings_of_a_file_are_compared_like_variables(tmp_path: Path):
    write(tmp_path, f"{SITE}/keras/src/backend/__init__.py", 'if backend() == "tensorflow":\n    pass\n')
    write(tmp_path, "/home/ada/.keras/keras.json", '{"floatx": "float32",\n "backend": "theano"}')
    write(tmp_path, "/srv/keras.json", '{"floatx": "double", "backend": "tensorflow"}')

    def told(**env: str) -> list[tuple[str, str, tuple[str, ...]]]:
        seen = vocabulary.look(asked(tmp_path, {"HOME": "/home/ada", **env}, "keras"))
        return [(r.variable, r.setting, r.unknown) for r in seen if r.setting and r.unknown]

    assert told() == [("backend", "/home/ada/.keras/keras.json:2", ("theano",))]
    assert told(KERAS_BACKEND="tensorflow") == []
    write(tmp_path, "/opt/keras.json", '{"epsilon": "1e-07"}')
    write(tmp_path, "/mnt/keras.json", '{"epsilon": 1e-07}')
    assert told(KERAS_HOME="/opt") == [("epsilon", "/opt/keras.json:1", ("1e-07",))]
    assert told(KERAS_HOME="/mnt") == []
    assert told(KERAS_HOME="/srv") == [("floatx", "/srv/keras.json:1", ("double",))]


@pytest.mark.parametrize("name", ["TORCHINDUCTOR_NAME", "TORCHINDUCTOR_GIVEN", "JAX_MORE"])
def test_what_code_does_not_tell_is_left_alone(name: str, tmp_path: Path):
    write(tmp_path, f"{SITE}/torch/_inductor/config.py", CODE)
    write(tmp_path, f"{SITE}/jax/_src/config.py", STATES)
    assert not vocabulary.look(asked(tmp_path, {name: "?"}, "torch", "jax"))


def test_a_module_of_the_environment_is_a_word_too(tmp_path: Path):
    write(tmp_path, f"{SITE}/torch/_logging/_registrations.py", 'register_log("dynamo", [])\n')
    write(tmp_path, f"{SITE}/mine/inner/__init__.py", "")
    (row,) = vocabulary.look(asked(tmp_path, {"TORCH_LOGS": "+dynamo,-mine.inner,mine.gone"}, "torch"))
    assert row.unknown == ("mine.gone",)


def test_a_variable_of_a_package_that_no_table_names(tmp_path: Path):
    write(tmp_path, f"{SITE}/gradio-5.44.1.dist-info/METADATA", "Name: gradio\nVersion: 5.44.1\n")
    write(
        tmp_path,
        f"{SITE}/gradio/http_server.py",
        "import os\nport = int(os.getenv('GRADIO_SERVER_PORT', '7860'))\nkey = int(os.getenv('GRADIO_KEY', '1'))\n",
    )
    env = {"GRADIO_SERVER_PORT": "tcp://10.96.12.7:7860", "GRADIO_SERVICE_HOST": "10.96.12.7", "GRADIO_KEY": "secret"}
    (row,) = vocabulary.look(asked(tmp_path, env))
    assert (row.variable, row.reader, row.unknown, row.line) == (
        "GRADIO_SERVER_PORT",
        "gradio",
        (env["GRADIO_SERVER_PORT"],),
        2,
    )
    assert not vocabulary.look(asked(tmp_path, {"GRADIO_SERVER_PORT": "7861", "REDIS_PORT": "tcp://10.96.12.9:6379"}))
    assert not vocabulary.look(asked(tmp_path, {"GRADIO_SERVER_PORT": "tcp://ada:pw@10.0.0.1:80"}))


def test_only_where_code_is_loaded_noexec_matters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "drive").mkdir()
    monkeypatch.setattr("core.probes.variables.places.is_noexec", lambda path, where: path.endswith("/drive"))
    env = {
        "TORCHINDUCTOR_CACHE_DIR": f"{tmp_path}/drive/inductor",
        "TRITON_CACHE_DIR": f"{tmp_path}/cache",
        "TORCH_HOME": f"{tmp_path}/drive",
    }
    its = {p.variable: p for p in places_of_contracts(env, Sysroot(system="linux"))}
    assert {n: p.runs for n, p in its.items()} == {
        "TORCHINDUCTOR_CACHE_DIR": False,
        "TRITON_CACHE_DIR": True,
        "TORCH_HOME": True,
    }
    assert not any(p.blocked for p in its.values())


@pytest.mark.parametrize(
    ("name", "value", "listed"),
    [("NO_PROXY", "localhost", True), ("HF_ENDPOINT", "hf.co", True), ("SLURM_PROCID", "0", True), ("MASTER_ADDR", "a", True),
     ("HOME", "/home/ada", False), ("GRADIO_SERVER_PORT", "1", False), ("PHONEMIZER_ESPEAK_LIBRARY", "/gone", True), ("MLIR_ENABLE_DUMP", "1", True),
     ("NO_PROXY", "http://a:b@c", False)],
)  # fmt: skip
def test_a_variable_with_a_contract_is_listed(name: str, value: str, listed: bool):
    known = read_table("environment", EnvironmentKnowledge)
    assert is_relevant_variable(Variable(name=name, value=value), known) is listed


def test_a_word_that_needs_a_library(tmp_path: Path):
    write(tmp_path, f"{SITE}/numba/np/ufunc/tbbpool.cpython-311-x86_64-linux-gnu.so", "")
    (row,) = vocabulary.look(asked(tmp_path, {"NUMBA_THREADING_LAYER": "TBB"}, "numba"))
    assert (row.variable, row.unknown) == ("NUMBA_THREADING_LAYER", ("TBB",))
    assert not vocabulary.look(asked(tmp_path, {"NUMBA_THREADING_LAYER": "omp"}, "numba"))
    for place in ("/env/lib", "/opt/tbb", "/usr/lib/x86_64-linux-gnu"):
        path = write(tmp_path, f"{place}/libtbb.so.12", "")
        (row,) = vocabulary.look(
            asked(tmp_path, {"NUMBA_THREADING_LAYER": "tbb", "LD_LIBRARY_PATH": "/opt/tbb"}, "numba")
        )
        assert (row.known, row.unknown) == (("tbb",), ())
        Path(path).unlink()


def test_a_library_that_only_the_loaders_cache_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write(tmp_path, f"{SITE}/numba/np/ufunc/tbbpool.cpython-311-x86_64-linux-gnu.so", "")
    entry = CacheEntry(name="libtbb.so.12", path="/opt/intel/tbb/libtbb.so.12")
    monkeypatch.setattr(vocabulary, "read_cache", lambda root: (entry,))
    (row,) = vocabulary.look(asked(tmp_path, {"NUMBA_THREADING_LAYER": "tbb"}, "numba"))
    assert not row.unknown


@pytest.mark.parametrize(
    ("env", "odd"),
    [({"HF_TOKEN": "“hf_abc”"}, ("“", "”")), ({"OPENAI_API_KEY": "“sk-abc”"}, ("“", "”")), ({"HF_TOKEN": "hf_abc"}, None), ({"HF_TOKEN": "hf_é"}, None),
     ({"HUGGING_FACE_HUB_TOKEN": "‘hf_abc"}, ("‘",)), ({"HUGGING_FACE_HUB_TOKEN": "‘a", "HF_TOKEN": "hf_abc"}, None),
     ({"HF_TOKEN": "“a”", "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1"}, None)],
)  # fmt: skip
def test_only_the_letters_of_a_secret_that_no_header_takes_are_told(
    env: dict[str, str], odd: tuple[str, ...] | None, tmp_path: Path
):
    asking = asked(tmp_path, env, "openai" if "OPENAI_API_KEY" in env else "huggingface-hub")
    assert [v.unknown for v in vocabulary.look(asking) if v.takes == "header"] == ([odd] if odd else [])
    known = read_table("environment", EnvironmentKnowledge)
    secrets = (Variable(name=n, value=v) for n, v in env.items() if n.endswith(("TOKEN", "KEY")))
    assert not any(is_relevant_variable(v, known) for v in secrets)


CONTEXT = """import os, platform
MODE = os.environ.get('PLAY_GL', '').lower().strip()
KNOWN = ('', 'off')
if platform.system() == 'Linux':
    KNOWN += ('egl', 'osmesa')
if MODE not in KNOWN:
    raise RuntimeError(f'invalid value for PLAY_GL: {MODE}')
elif MODE == 'egl':
    from play.egl import Context
"""
EGL = """import os
ASKED = os.environ.get('OPENGL_PLATFORM')
if not ASKED:
    os.environ['OPENGL_PLATFORM'] = 'egl'
elif ASKED.lower() != 'egl':
    raise ImportError('Cannot use EGL')
Context = object
"""
REFUSED: dict[str, tuple[dict[str, str], list[tuple[str, tuple[str, ...], bool]]]] = {
    "two that fit": ({"PLAY_GL": "egl", "OPENGL_PLATFORM": "EGL"}, []),
    "two that do not": ({"PLAY_GL": "egl", "OPENGL_PLATFORM": "osmesa"}, [("OPENGL_PLATFORM", ("osmesa",), True)]),
    "another branch": ({"PLAY_GL": "osmesa", "OPENGL_PLATFORM": "osmesa"}, []),
    "not imported": ({"OPENGL_PLATFORM": "osmesa"}, []),
    "a word that is unknown": ({"PLAY_GL": "glut"}, [("PLAY_GL", ("glut",), True)]),
}


@pytest.mark.parametrize(("env", "expected"), REFUSED.values(), ids=REFUSED)
def test_code_that_ends_with_the_variables(tmp_path: Path, env: dict[str, str], expected: list[object]):
    write(tmp_path, f"{SITE}/play-1.0.dist-info/METADATA", "Name: play\nVersion: 1.0\n")
    write(tmp_path, f"{SITE}/play/__init__.py", "from play.context import *\n")
    write(tmp_path, f"{SITE}/play/context.py", CONTEXT)
    write(tmp_path, f"{SITE}/play/egl/__init__.py", EGL)
    found = vocabulary.look(asked(tmp_path, env, "torch"))
    assert [(r.variable, r.unknown, r.sure) for r in found] == expected


def test_fields_of_a_class_of_settings(tmp_path: Path):
    write(tmp_path, f"{SITE}/serve-1.0.dist-info/METADATA", "Name: serve\nVersion: 1.0\n")
    code = """from typing import Literal, Optional
class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="SERVE_")
    mode: Literal["fast", "exact"] = "fast"
    kind: Optional[Literal["a", "b"]] = None
    size: int = 4
    name: str = "x"
    free: Literal["a"] | str = "a"
"""
    write(tmp_path, f"{SITE}/serve/settings.py", code)
    env = {"SERVE_MODE": "slow", "SERVE_KIND": "c", "SERVE_SIZE": "4k", "SERVE_NAME": "y", "SERVE_FREE": "b"}
    found = {r.variable: (r.takes, r.line) for r in vocabulary.look(asked(tmp_path, env, "torch"))}
    assert found == {"SERVE_MODE": ("words", 4), "SERVE_KIND": ("words", 5), "SERVE_SIZE": ("whole number", 6)}
    right = {"SERVE_MODE": "exact", "SERVE_KIND": "a", "SERVE_SIZE": "8"}
    assert not vocabulary.look(asked(tmp_path, right, "torch"))


@pytest.mark.parametrize(("value", "overcommit", "told"), [("64M", "0", False), ("4096G", "0", True), ("4096G", "1", False), ("33554433", "0", True), ("33554432k", "0", False), ("x", "0", False)])  # fmt: skip
def test_a_stack_that_no_machine_has(tmp_path: Path, value: str, overcommit: str, told: bool):
    write(tmp_path, "/proc/meminfo", "MemTotal:       33554432 kB\nSwapTotal:             0 kB\n")
    write(tmp_path, "/proc/sys/vm/overcommit_memory", f"{overcommit}\n")
    found = vocabulary.look(asked(tmp_path, {"OMP_STACKSIZE": value}, "torch"))
    assert [(r.takes, r.unknown, r.known) for r in found] == ([("memory", (value,), (str(32 << 30),))] if told else [])


@pytest.mark.parametrize(
    ("value", "env", "unknown"),
    [
        ("_sysconfigdata__linux_x86_64-linux-gnu", {}, ()),
        ("_sysconfigdata_x86_64_conda_cos7_linux_gnu", {}, ("x86_64_conda_cos7_linux_gnu",)),
        ("_sysconfigdata_cross", {"PYTHONPATH": "/cross"}, ()),
    ],
)
def test_pythons_own_settings_under_another_name(value: str, env: dict[str, str], unknown, tmp_path: Path):
    write(tmp_path, "/env/pyvenv.cfg", "home = /base/bin\nversion = 3.11.7\n")
    write(tmp_path, "/env/bin/python")
    write(tmp_path, "/base/bin/python3.11")
    write(tmp_path, "/base/lib/python3.11/os.py")
    write(tmp_path, "/base/lib/python3.11/_sysconfigdata__linux_x86_64-linux-gnu.py")
    write(tmp_path, "/cross/_sysconfigdata_cross.py")
    its = replace(asked(tmp_path, {"_PYTHON_SYSCONFIGDATA_NAME": value, **env}, "triton"))
    rows = [r for r in vocabulary.look(its) if r.variable == "_PYTHON_SYSCONFIGDATA_NAME"]
    assert [r.unknown for r in rows] == [unknown]


@pytest.mark.parametrize(
    ("program", "asks"),
    [
        ("model = AutoModel.from_pretrained('bert-base-cased')", True),
        ("data = load_dataset(\n    'org/data')", True),
        ("model = AutoModel.from_pretrained('/srv/models/bert')", None),
        ("model = AutoModel.from_pretrained('./model')", None),
        ("model = AutoModel.from_pretrained(args.model)", False),
        ("import torch", None),
        ("from huggingface_hub import HfApi\nHfApi().model_info(name)", True),
        ("from huggingface_hub import HfApi\ntry:\n    HfApi().whoami()\nexcept Exception:\n    pass", None),
        (None, True),
    ],
)
def test_a_hub_that_is_closed_matters_to_a_program_that_names_a_model_of_it(
    program: str | None, asks: bool | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "srv/work"
    work.mkdir(parents=True)
    if program is not None:
        (work / "main.py").write_text(f"{program}\n")
    monkeypatch.chdir(work)
    where = Sysroot(system="linux", root="/")
    asked = [
        r.asked
        for r in places_of_contracts({"HF_HUB_OFFLINE": "1", "HOME": "/h", "HF_HOME": f"{tmp_path}/hf"}, where)
        if r.variable == "HF_HUB_OFFLINE"
    ]
    assert asked == ([] if asks is None else [asks])


OF_GRADIO = "import gradio as gr\n\nwith gr.Blocks() as demo:\n    gr.Textbox()\ndemo.queue().launch()\n"
ASKS = "import requests\nrequests.get('http://127.0.0.1:8000/v1/models')\n"


MADE = "import os\nfrom openai import OpenAI\nclient = OpenAI(base_url='http://127.0.0.1:8000/v1', api_key=os.environ.get('KEY'))\n"


@pytest.mark.parametrize(
    ("program", "env", "told"),
    [
        (ASKS, {"http_proxy": "http://proxy.lab:3128"}, True),
        (MADE, {"http_proxy": "http://proxy.lab:3128"}, False),
        (f"{MADE}client.chat.completions.create(model='m')\n", {"http_proxy": "http://proxy.lab:3128"}, True),
        ("from requests import get\nget('http://localhost:8000/v1')\n", {"http_proxy": "http://proxy.lab:3128"}, True),
        (ASKS, {"http_proxy": "http://proxy.lab:3128", "no_proxy": "localhost,.lab"}, True),
        (ASKS, {"http_proxy": "http://proxy.lab:3128", "no_proxy": "localhost,127.0.0.1"}, False),
        (ASKS, {"http_proxy": "http://proxy.lab:3128", "NO_PROXY": "127.0.0.0/8"}, False),
        (ASKS, {"http_proxy": "http://proxy.lab:3128", "no_proxy": "*"}, False),
        (OF_GRADIO, {"http_proxy": "http://proxy.lab:3128"}, True),
        (OF_GRADIO, {"http_proxy": "http://proxy.lab:3128", "no_proxy": "localhost,127.0.0.1"}, False),
        (OF_GRADIO.replace("launch()", "launch(share=True)"), {"http_proxy": "http://proxy.lab:3128"}, False),
        (OF_GRADIO.replace("gradio", "textual"), {"http_proxy": "http://proxy.lab:3128"}, False),
        (ASKS, {"http_proxy": "http://127.0.0.1:7890"}, False),
        (ASKS, {"http_proxy": "http://127.0.0.1:7891"}, True),
        (ASKS, {"https_proxy": "http://proxy.lab:3128"}, False),
        (ASKS.replace("requests", "aiohttp"), {"http_proxy": "http://proxy.lab:3128"}, False),
        (f"s.trust_env = False\n{ASKS}", {"http_proxy": "http://proxy.lab:3128"}, False),
        (ASKS.replace("127.0.0.1", "models.lab"), {"http_proxy": "http://proxy.lab:3128"}, False),
    ],
)
def test_what_is_asked_of_this_machine_is_not_for_a_proxy(
    program: str, env: dict[str, str], told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("core.probes.variables.places.working_folder", lambda _where: "/home/ada/work")
    write(tmp_path, "/home/ada/work/main.py", program)
    write(tmp_path, "/proc/net/tcp", "  0: 0100007F:1ED2 00000000:0000 0A 0 0\n")
    found = places_of_contracts({"HOME": "/home/ada"} | env, Sysroot(system="linux", root=str(tmp_path)))
    assert any(p.variable == "HTTP_PROXY" for p in found) == told


def test_a_port_that_somebody_has_is_not_free():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        assert not places.is_free(port)
    assert places.is_free(port)


@pytest.mark.parametrize(
    ("program", "variable", "value"),
    [
        ("from torch.utils.cpp_extension import CUDAExtension\n", "CUDA_HOME", ":/usr/local/cuda"),
        ("from datasets import load_dataset\nload_dataset('squad')\n", "HF_HOME", "/data/hf"),
        ("@torch.compile\ndef f(): ...\n", "CXX", "g++-9"),
    ],
)
def test_a_value_that_matters_to_programs_that_ask(
    program: str, variable: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("core.probes.variables.places.working_folder", lambda _where: "/home/ada/work")

    def rows() -> list[str]:
        env = {"HOME": "/home/ada", variable: value}
        return [
            p.path
            for p in places_of_contracts(env, Sysroot(system="linux", root=str(tmp_path)))
            if p.variable == variable
        ]

    write(tmp_path, "/home/ada/work/main.py", "import torch\n")
    before = len(rows())
    write(tmp_path, "/home/ada/work/more.py", program)
    assert len(rows()) == before + 1


ASKS_FOR_IT = "import locale\nlocale.setlocale(locale.LC_ALL, '')\n"


def archive(*names: str) -> bytes:
    """Return a locale-archive with these names."""
    text = b"".join(n.encode() + b"\0" for n in names)
    return struct.pack("=7I", 0xDE020109, 1, 28, 0, 0, 60, len(text)) + bytes(32) + text


@pytest.mark.parametrize(
    ("program", "env", "there", "told"),
    [
        (ASKS_FOR_IT, {"LC_ALL": "de_DE.UTF-8"}, ("C.utf8",), True),
        (ASKS_FOR_IT, {"LANG": "de_DE.UTF-8"}, ("C.utf8",), True),
        (ASKS_FOR_IT, {"LC_ALL": "de_DE.UTF-8"}, ("C.utf8", "de_DE.utf8"), False),
        (ASKS_FOR_IT, {"LC_ALL": "de_DE.UTF-8"}, ("C.utf8", "de_DE"), False),
        (ASKS_FOR_IT, {"LC_ALL": "de_DE.UTF-8"}, ("C.utf8", "de_AT.utf8"), True),
        (ASKS_FOR_IT, {"LC_ALL": "de_DE.ISO-8859-1"}, ("de_DE.utf8",), True),
        (ASKS_FOR_IT, {"LC_ALL": "de_DE.UTF-8", "LOCPATH": "/opt/locales"}, ("C.utf8",), False),
        (ASKS_FOR_IT, {"LC_ALL": "de_DE.UTF-8"}, (), False),
        (ASKS_FOR_IT, {"LC_ALL": "C.UTF-8"}, ("C.utf8",), False),
        (ASKS_FOR_IT, {"LC_ALL": ""}, ("C.utf8",), False),
        (ASKS_FOR_IT.replace("''", "'C'"), {"LC_ALL": "de_DE.UTF-8"}, ("C.utf8",), False),
        ("import locale\ntry:\n    locale.setlocale(locale.LC_ALL, '')\nexcept locale.Error:\n    pass\n", {"LC_ALL": "de_DE.UTF-8"}, ("C.utf8",), False),
        ("import torch\n", {"LC_ALL": "de_DE.UTF-8"}, ("C.utf8",), False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("archived", [False, True])
def test_a_locale_that_is_not_installed_and_that_a_program_asks_for(
    program: str, env: dict[str, str], there: tuple[str, ...], told: bool, archived: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):  # fmt: skip
    monkeypatch.setattr("core.probes.variables.places.working_folder", lambda _where: "/home/ada/work")
    write(tmp_path, "/home/ada/work/main.py", program)
    if archived and there:
        (tmp_path / "usr/lib/locale").mkdir(parents=True)
        (tmp_path / "usr/lib/locale/locale-archive").write_bytes(archive(*there))
    for name in () if archived else there:
        write(tmp_path, f"/usr/lib/locale/{name}/LC_CTYPE", "")
    found = places_of_contracts({"HOME": "/home/ada"} | env, Sysroot(system="linux", root=str(tmp_path)))
    assert any(p.variable in ("LC_ALL", "LANG") for p in found) is told


def test_an_archive_of_locales_that_cannot_be_read_tells_nothing(tmp_path: Path):
    (tmp_path / "usr/lib/locale").mkdir(parents=True)
    for content in (b"", b"x" * 100, archive("C.utf8")[:-3]):
        (tmp_path / "usr/lib/locale/locale-archive").write_bytes(content)
        assert not lacks_locale("de_DE.UTF-8", {}, Sysroot(system="linux", root=str(tmp_path)))


LOADS_WHOLE = "import torch\ntorch.load('last.pt', map_location='cpu', weights_only=False)\n"


@pytest.mark.parametrize(
    ("program", "value", "holds", "told"),
    [
        (LOADS_WHOLE, "1", argparse.Namespace(lr=0.1), True),
        (LOADS_WHOLE, "0", argparse.Namespace(lr=0.1), False),
        (LOADS_WHOLE, "1", {"lr": 0.1}, False),
        (LOADS_WHOLE, "1", collections.OrderedDict(lr=0.1), False),
        (LOADS_WHOLE.replace("False", "True"), "1", argparse.Namespace(lr=0.1), False),
        (f"torch.serialization.add_safe_globals([Namespace])\n{LOADS_WHOLE}", "1", argparse.Namespace(lr=0.1), False),
        (LOADS_WHOLE.replace("last", "gone"), "1", argparse.Namespace(lr=0.1), False),
    ],
)
def test_a_checkpoint_with_more_than_tensors_that_a_variable_forbids(
    program: str, value: str, holds: object, told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("core.probes.variables.places.working_folder", lambda _where: "/home/ada/work")
    write(tmp_path, "/home/ada/work/main.py", program)
    with zipfile.ZipFile(tmp_path / "home/ada/work/last.pt", "w") as file:
        file.writestr("last/data.pkl", pickle.dumps(holds, protocol=2))
    env = {"HOME": "/home/ada", "TORCH_FORCE_WEIGHTS_ONLY_LOAD": value}
    found = places_of_contracts(env, Sysroot(system="linux", root=str(tmp_path)))
    its = [p.holds for p in found if p.variable == "TORCH_FORCE_WEIGHTS_ONLY_LOAD"]
    assert its == [("argparse.Namespace",)] * told


HANDS_OVER = "import os, wandb\nwandb.login(key=os.environ['WANDB_API_KEY'])\n"
CHECKS = "    if len(suffix) != 40:\n        raise ValueError(len(key))\n"


@pytest.mark.parametrize(
    ("program", "key", "code", "lengths"),
    [
        (HANDS_OVER, "v" * 86, CHECKS, [(("40",), ("86",))]),
        (HANDS_OVER, "v" * 40, CHECKS, []),
        (HANDS_OVER, f"local-{'v' * 40}", CHECKS, []),
        (HANDS_OVER, "v" * 86, CHECKS.replace("!=", "<"), []),
        (HANDS_OVER, "", CHECKS, []),
        ("import os, wandb\nwandb.login()\nos.environ['WANDB_API_KEY']\n", "v" * 86, CHECKS, []),
        ("import wandb\nwandb.login(key=read())\n", "v" * 86, CHECKS, []),
    ],
)
def test_a_key_of_another_length_than_its_reader_takes(
    program: str, key: str, code: str, lengths: list[tuple[tuple[str, ...], tuple[str, ...]]], tmp_path: Path
):
    write(tmp_path, f"{SITE}/wandb/sdk/lib/apikey.py", code)
    write(tmp_path, "/home/ada/work/main.py", program)
    asking = replace(asked(tmp_path, {"WANDB_API_KEY": key}, "wandb"), script_folder="/home/ada/work")
    rows = vocabulary.look(asking)
    assert [(v.known, v.unknown) for v in rows if v.takes == "key length"] == lengths
    places = places_of_contracts({"WANDB_API_KEY": key}, Sysroot(system="linux", root=str(tmp_path)))
    assert not key or key not in f"{rows}{[*places]}"
    assert not is_relevant_variable(
        Variable(name="WANDB_API_KEY", value=key), read_table("environment", EnvironmentKnowledge)
    )


def test_a_place_that_two_contracts_name_is_told_once_with_what_blocks_it(tmp_path: Path):
    """HF_HOME must be writable, and without the network it must be there: the second look must not hide the first."""
    write(tmp_path, "/srv/models", "see the wiki\n")
    env = {"HOME": "/home/ada", "HF_HOME": "/srv/models/hf", "HF_HUB_OFFLINE": "1"}
    rows = [p for p in places_of_contracts(env, Sysroot(system="linux", root=str(tmp_path))) if p.variable == "HF_HOME"]
    assert [(p.state, p.blocked) for p in rows if not p.inside] == [("missing", "/srv/models")]


def test_nobody_makes_a_folder_in_a_file_system_of_the_kernel():
    env = {"HOME": "/h", "HF_DATASETS_CACHE": "/proc/scratch/data", "HF_HUB_CACHE": "/dev/shm/hub"}
    rows = {p.variable: p.blocked for p in places_of_contracts(env, Sysroot(system="linux", root="/")) if not p.inside}
    assert (rows["HF_DATASETS_CACHE"], rows["HF_HUB_CACHE"]) == ("/proc", "")


GROUP = "import torch.distributed as dist\ndist.init_process_group('gloo')\n"


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"main.py": GROUP}, True),
        ({"main.py": "dist.init_process_group(backend='nccl', init_method='env://')\n"}, True),
        ({"main.py": "dist.init_process_group('gloo', init_method='tcp://127.0.0.1:29500')\n"}, False),
        ({"main.py": "dist.init_process_group('gloo', store=store, rank=0, world_size=1)\n"}, False),
        ({"main.py": GROUP, "ranks.py": "import os\nos.environ.setdefault('MASTER_ADDR', 'localhost')\n"}, False),
        ({"main.py": GROUP, "run.sh": "export MASTER_PORT=29500\n"}, False),
        ({"main.py": "import torch\n"}, False),
    ],
)
def test_a_program_that_asks_for_the_address_of_its_group(
    files: dict[str, str], told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("core.probes.variables.places.working_folder", lambda _where: "/home/ada/work")
    for name, text in files.items():
        write(tmp_path, f"/home/ada/work/{name}", text)
    found = places_of_contracts({"HOME": "/home/ada", "RANK": "0"}, Sysroot(system="linux", root=str(tmp_path)))
    assert [p.path for p in found if p.variable == "RANK"] == (["/home/ada/work/main.py"] if told else [])


@pytest.mark.parametrize(("script", "told"), [("torchrun main.py\n", True), ("python main.py\n", False)])
def test_a_word_that_matters_to_what_a_script_starts(
    script: str, told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("core.probes.variables.places.working_folder", lambda _where: "/home/ada/work")
    write(tmp_path, "/home/ada/work/run.sh", script)
    found = places_of_contracts({"HOME": "/home/ada", "LOGLEVEL": "info"}, Sysroot(system="linux", root=str(tmp_path)))
    rows = [(p.path, p.holds) for p in found if p.variable == "LOGLEVEL"]
    assert rows == ([("/home/ada/work/run.sh", ("info",))] if told else [])


@pytest.mark.parametrize(
    ("system", "value", "meant"),
    [
        ("windows", r'"C:\src"', [(r'"C:\src"', (r"C:\src",))]),
        ("windows", r"C:\src:C:\lib", [(r"C:\src:C:\lib", (r"C:\src", r"C:\lib"))]),
        ("windows", r"/c/src;C:\lib", [("/c/src", (r"C:\src",))]),
        ("windows", "/mnt/c/src", [("/mnt/c/src", (r"C:\src",))]),
        ("windows", r"C:\src;C:\lib;C:\none;", []),
        ("windows", r'"C:\none"', []),
        ("windows", r'"C:\unused"', []),
        ("linux", "~/src", [("~/src", ("/home/ada/src",))]),
        ("linux", "/srv/src;/srv/lib", [("/srv/src;/srv/lib", ("/srv/src", "/srv/lib"))]),
        ("linux", "/srv/src:/srv/none", []),
    ],
)
def test_an_entry_of_pythonpath_that_is_not_there_may_mean_another(
    system: str, value: str, meant: list[tuple[str, tuple[str, ...]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = "C:\\work" if system == "windows" else "/home/ada/work"
    monkeypatch.setattr("core.probes.variables.places.working_folder", lambda _where: work)
    roots = ("C:",) if system == "windows" else ("home/ada", "srv")
    for root in roots:
        for file in ("src/helpers.py", "lib/helpers.py", "unused/other.py"):
            write(tmp_path, f"{root}/{file}")
    write(tmp_path, f"{work.replace(chr(92), '/')}/train.py", "import torch\nfrom helpers import rows\n")
    where = sysroot_of(request(tmp_path, {}, system=system).host)
    found = places_of_contracts({"PYTHONPATH": value, "HOME": "/home/ada"}, where)
    assert [(p.path, p.holds) for p in found if p.variable == "PYTHONPATH"] == meant


@pytest.mark.parametrize(
    ("system", "value", "state"),
    [
        ("windows", r"C:\logs\keys.log", "file"),
        ("windows", r"C:\none\keys.log", "missing"),
        ("windows", "\\\\.\\aswMonFltProxy\\FFFFA68B5D3C2A10", "file"),
        ("windows", r"C:\logs", "folder"),
        ("linux", "/logs/keys.log", "file"),
        ("linux", "/none/keys.log", "missing"),
    ],
)
def test_a_log_is_made_in_a_folder_that_is_there(system: str, value: str, state: str, tmp_path: Path) -> None:
    write(tmp_path, "C:/logs/other.log" if system == "windows" else "/logs/other.log")
    where = sysroot_of(request(tmp_path, {}, system=system).host)
    (place,) = [p for p in places_of_contracts({"SSLKEYLOGFILE": value}, where) if p.variable == "SSLKEYLOGFILE"]
    assert place.state == state


@pytest.mark.parametrize(
    ("named", "there", "near"),
    [
        ("/keys", "/keys/kaggle/kaggle.json", "/keys/kaggle"),
        ("/keys/kaggle/old", "/keys/kaggle/kaggle.json", "/keys/kaggle"),
        ("/keys/kagle", "/keys/kaggle/kaggle.json", "/keys/kaggle"),
        ("/keys/kaggle", "/keys/kaggle/kaggle.json", ""),
        ("/keys", "/other/kaggle/kaggle.json", ""),
    ],
)
def test_a_folder_above_below_or_beside_has_what_is_looked_for(
    named: str, there: str, near: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("core.probes.variables.places.working_folder", lambda _where: "/home/me/work")
    write(tmp_path, there, "{}")
    write(tmp_path, "/home/me/work/main.py", "import kaggle\n")
    env = {"KAGGLE_CONFIG_DIR": named, "HOME": "/home/me"}
    where = sysroot_of(request(tmp_path, env).host)
    assert [p.near for p in places_of_contracts(env, where) if p.variable == "KAGGLE_CONFIG_DIR"] == [near]


def test_a_folder_that_readers_pass_over_is_named_only_for_what_lies_near_and_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("core.probes.variables.places.working_folder", lambda _where: "/home/me/work")
    write(tmp_path, "/nltk/corpora/stopwords/english", "the\n")
    write(tmp_path, "/home/me/work/main.py", "from nltk.corpus import stopwords\n")
    env = {"NLTK_DATA": "/nltk/corpora", "HOME": "/home/me"}

    def near(**more: str) -> list[str]:
        its = {**env, **more}
        where = sysroot_of(request(tmp_path, its).host)
        return [p.near for p in places_of_contracts(its, where) if p.variable == "NLTK_DATA"]

    assert near() == ["/nltk"]
    assert near(NLTK_DATA="/mnt/gone") == []
    write(tmp_path, "/home/me/nltk_data/corpora/stopwords/english", "the\n")
    assert near() == []


@pytest.mark.parametrize(
    ("host", "other"),
    [
        ("localhost", False), ("127.0.1.1", False), ("box", False), ("box.lan", False), ("alias", False),
        ("10.0.0.5", False), ("10.0.0.6", True), ("gpu-node-01.cluster", True), ("::1", False),
    ],
)  # fmt: skip
def test_an_address_that_neither_the_kernel_nor_the_hosts_have_is_another_machine_s(
    host: str, other: bool, tmp_path: Path
):
    write(tmp_path, "/proc/sys/kernel/hostname", "box\n")
    write(tmp_path, "/etc/hosts", "127.0.1.1 box alias # gpu-node-01.cluster\n")
    write(
        tmp_path, "/proc/net/fib_trie", "  |-- 10.0.0.5\n     /32 host LOCAL\n  |-- 10.0.0.6\n     /32 link UNICAST\n"
    )
    assert places.is_another_machine(host, sysroot_of(request(tmp_path, {}).host)) is other
