"""Compiled modules that do not load, where an import comes to them, and what start-up code does: made on a disk of its own."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from core.common.progress import Progress
from core.host.this_host import this_host
from core.knowledge.modules import ModuleTable, OpenedLibrary
from core.loader.earlier_reads import EarlierReads, using
from core.model.facts import Distribution, PythonEnvironment, Snapshot
from core.probes.loading import asked_parts
from core.probes.probe import ProbeRequest
from core.probes.python.environment import goes_without_home
from core.probes.python.installed.numpy_headers import built_for_numpy_1, numpy_of_module
from core.probes.python.installed.unfit_extensions import UnfitExtension, unfit_extensions
from core.probes.python.search.search_path import Interpreter
from core.probes.python.search.start_code import path_changes
from core.probes.sysroot import Sysroot
from tests.envlab.run import LabHost
from tests.loader import build


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("import sys\nsys.path.insert(0, '/vendor')\n", ((0, "/vendor", 2),)),
        ("import sys\nsys.path.append('/late')\n", ((None, "/late", 2),)),
        (
            "import os, sys\nhere = os.path.dirname(os.path.abspath(__file__))\nsys.path.insert(0, os.path.join(here, 'v'))\n",
            ((0, "/agent/v", 3),),
        ),
        ("import sys\nfrom pathlib import Path\nsys.path.insert(0, str(Path(__file__).parent / 'v'))\n", ((0, "/agent/v", 3),)),
        ("import sys\np = '/x'\nif p not in sys.path:\n    sys.path.insert(0, p)\n", ((0, "/x", 4),)),
        ("import sys\nif maybe():\n    sys.path.insert(0, '/x')\n", ()),
        ("import sys\nsys.path.insert(0, where())\n", ()),
        ("import os\nos.environ['A'] = '1'\n", ()),
    ],
)  # fmt: skip
def test_what_start_up_code_does_to_the_search(text: str, changes: tuple[object, ...]) -> None:
    assert path_changes(text, "/agent/sitecustomize.py") == changes


def test_start_up_code_on_windows_has_paths_of_windows() -> None:
    text = "import os, sys\nsys.path.insert(0, os.path.join(os.path.dirname(__file__), 'v'))\n"
    assert path_changes(text, "C:\\agent\\sitecustomize.py") == ((0, "C:\\agent\\v", 2),)


@pytest.mark.parametrize(
    ("content", "numpy"),
    [
        (b"\0numpy.core._multiarray_umath\0", 1),
        (b"\0numpy._core._multiarray_umath\0numpy.core._multiarray_umath\0", 2),
        (b"\0numpy.core.multiarray\0", 0),
        (b"", 0),
    ],
)
def test_a_module_names_the_numpy_that_it_was_built_with(tmp_path: Path, content: bytes, numpy: int) -> None:
    file = tmp_path / "m.so"
    file.write_bytes(content)
    assert numpy_of_module(file) == numpy


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe in a folder")
def test_a_name_across_two_reads_counts_and_a_pipe_is_not_opened(tmp_path: Path) -> None:
    file, pipe = tmp_path / "m.so", tmp_path / "pipe.so"
    file.write_bytes(bytes((1 << 20) - 9) + b"numpy.core._multiarray_umath" + bytes(1 << 20))
    assert numpy_of_module(file) == 1
    os.mkfifo(pipe)
    held = os.open(pipe, os.O_RDWR)  # else a reader that opens it waits here without end
    assert numpy_of_module(pipe) is None
    os.close(held)


def test_the_name_of_a_module_is_its_place_below_the_packages() -> None:
    assert UnfitExtension("/s/PIL/_imaging.cpython-311-x86_64-linux-gnu.so", "pillow 1", "/s").dotted == "PIL._imaging"


def test_only_a_relative_home_leads_python_back_to_its_own_folder(tmp_path: Path) -> None:
    base, env = tmp_path / "base", tmp_path / "env"
    (base / "lib" / "python3.11").mkdir(parents=True)
    (base / "bin").mkdir()
    (base / "bin" / "python3.11").write_text("")
    (env / "bin").mkdir(parents=True)
    (env / "bin" / "python").symlink_to(base / "bin" / "python3.11")
    where = Sysroot(system="linux", root="/")
    assert goes_without_home("C:\\Python311", str(env / "bin" / "python"), where)
    assert not goes_without_home("/usr/bin-of-old", str(env / "bin" / "python"), where)


SUFFIX = ".cpython-311-x86_64-linux-gnu.so"


def unfit(
    root: Path, store: EarlierReads | None = None, searched: str = "", **env: str
) -> tuple[tuple[str, str, str, bool], ...]:
    """Return the modules of a made-up environment that do not load: name, library, state, whether the package brought it."""
    site = root / "site"
    host = LabHost(this_host(), {"PATH": "/usr/bin:/bin", "HOME": str(root), "LD_LIBRARY_PATH": searched} | env)
    python = PythonEnvironment(prefix=str(root), executable=sys.executable, site_packages=(str(site),))
    its = ProbeRequest(
        host=host,
        seen=Snapshot(machine=host.machine()),
        env=host.fresh_environment(),
        watch=Progress(),
        script_folder=str(root / "work"),
    )
    with using(store or EarlierReads()):
        found = unfit_extensions(
            python, Interpreter(str(root), str(root), (3, 11)), (SUFFIX, ".so"), its, Sysroot("linux")
        )
    return tuple((u.dotted, u.edge.name if u.edge else "", u.edge.state if u.edge else "", u.recorded) for u in found)


def package(root: Path) -> tuple[Path, Path]:
    """Make a package with a module that needs a library of its own, and return both."""
    site = root / "site"
    library = build.library(site / "odd.libs" / "libodd.so.1")
    link = ("-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN/../odd.libs")
    module = build.library(site / "odd" / f"_core{SUFFIX}", *link, str(library))
    record = site / "odd-1.0.dist-info" / "RECORD"
    record.parent.mkdir()
    record.write_text("".join(f"{p.relative_to(site)},sha256=x,1\n" for p in (library, module)))
    return module, library


@pytest.mark.skipif(sys.platform != "linux", reason="needs glibc's ld.so")
@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda data: data[: len(data) // 2], True),
        (lambda data: bytes(100), True),
        (lambda data: b"/* GNU ld script */", False),
        (lambda data: data, False),
    ],
)
def test_a_library_that_is_shorter_than_recorded(tmp_path: Path, spoil: Callable[[bytes], bytes], told: bool) -> None:
    site = tmp_path / "site"
    library = build.library(site / "tool" / "bin" / "tool.so")
    whole = library.read_bytes()
    record = site / "tool_lang-1.0.dist-info" / "RECORD"
    record.parent.mkdir()
    record.write_text(f"tool/bin/tool.so,sha256=x,{len(whole)}\ntool/__init__.py,sha256=x,1\n")
    library.write_bytes(spoil(whole))
    assert unfit(tmp_path) == ((("tool.bin.tool", str(library), "damaged", True),) if told else ())


@pytest.mark.skipif(sys.platform != "linux", reason="needs glibc's ld.so")
@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (lambda _m, _l: None, ()),
        (lambda _m, lib: lib.unlink(), (("odd._core", "libodd.so.1", "absent", True),)),
        (lambda _m, lib: lib.write_bytes(lib.read_bytes()[:200]), (("odd._core", "libodd.so.1", "damaged", True),)),
        (lambda mod, _l: mod.unlink(), (("odd._core", "", "", True),)),
        (lambda _m, lib: lib.rename(lib.with_name("libother.so")), (("odd._core", "libodd.so.1", "absent", True),)),
    ],
)
def test_a_module_that_the_loader_refuses_is_found_at_once_and_after_a_kept_look(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    spoil: Callable[[Path, Path], object],
    expected: tuple[object, ...],
) -> None:
    monkeypatch.setattr("core.loader.earlier_reads.SETTLED_NANOSECONDS", -(1 << 62))
    files, store = package(tmp_path), EarlierReads()
    assert unfit(tmp_path, store) == ()
    spoil(*files)
    later = EarlierReads(store.to_bytes())
    assert unfit(tmp_path, later) == expected
    same = EarlierReads(later.to_bytes())
    assert unfit(tmp_path, same) == expected
    assert not same.has_news


@pytest.mark.skipif(sys.platform != "linux", reason="needs glibc's ld.so")
@pytest.mark.parametrize(
    ("versions", "source", "told"),
    [
        (
            "OPEN_1 { answer; }; OPEN_2 { other; } OPEN_1;",
            "int answer() { return 1; } int other() { return 2; }",
            False,
        ),
        ("OPEN_1 { answer; };", "int answer() { return 1; }", True),
        ("", "int answer() { return 1; } int other() { return 2; }", False),
        ("", "int answer() { return 1; }", True),
    ],
)
def test_another_release_of_what_python_itself_needs_is_found_first(
    tmp_path: Path, versions: str, source: str, told: bool
) -> None:
    def made(folder: str, script: str, code: str) -> Path:
        (tmp_path / "v").write_text(script)
        options = [f"-Wl,--version-script={tmp_path / 'v'}"] if script else []
        return build.library(tmp_path / folder / "libopen.so.1", *options, soname="libopen.so.1", source=code)

    every = "int answer() { return 1; } int other() { return 2; }"
    right = made("usr", "OPEN_1 { answer; }; OPEN_2 { other; } OPEN_1;", every)
    place = tmp_path / "lib" / "python3.11" / "lib-dynload"
    code = "int other(void); int ask(void) { return other(); }"
    build.library(place / f"_ssl{SUFFIX}", str(right), f"-Wl,-rpath,{right.parent},--enable-new-dtags", source=code)
    made("opt", versions, source)
    assert unfit(tmp_path) == ()
    expected = (("_ssl", "libopen.so.1", "damaged", False),)
    assert unfit(tmp_path, searched=str(tmp_path / "opt")) == (expected if told else ())


@pytest.mark.skipif(sys.platform != "linux", reason="needs glibc's ld.so")
def test_a_package_of_nvidia_that_has_modules_is_looked_at_as_any_other(tmp_path: Path) -> None:
    _module, library = package(tmp_path)
    info = tmp_path / "site" / "odd-1.0.dist-info"
    info.rename(info.with_name("nvidia_odd_cu12-1.0.dist-info"))
    assert unfit(tmp_path) == ()
    library.unlink()
    assert unfit(tmp_path) == (("odd._core", "libodd.so.1", "absent", True),)


@pytest.mark.skipif(sys.platform != "linux", reason="needs glibc's ld.so")
@pytest.mark.parametrize(
    ("there", "expected"),
    [
        (("site/one.so.1",), ()),
        (("lib/libtwo.so.1",), ()),
        (("lib/libone.so.1", "lib/libtwo.so.1"), ()),
        ((), (("odd.Core", "libone.so.1", "absent", False),)),
    ],
)
def test_of_the_files_of_one_module_among_which_code_chooses_one_is_enough(
    tmp_path: Path, there: tuple[str, ...], expected: tuple[tuple[str, ...], ...]
) -> None:
    site, rows = tmp_path / "site", []
    for name in ("one", "two"):
        library = build.library(tmp_path / "build" / f"lib{name}.so.1")
        link = ("-Wl,--no-as-needed", f"-Wl,-soname,Core.{name}", str(library))
        rows.append(
            build.library(site / "odd" / f"Core.{name}{SUFFIX}", *(link if f"site/{name}.so.1" not in there else ()))
        )
        if f"lib/{library.name}" in there:
            (tmp_path / "lib").mkdir(exist_ok=True)
            library.rename(tmp_path / "lib" / library.name)
    (site / "odd-1.0.dist-info").mkdir()
    (site / "odd-1.0.dist-info" / "RECORD").write_text("".join(f"{p.relative_to(site)},sha256=x,1\n" for p in rows))
    shutil.rmtree(tmp_path / "build")
    assert unfit(tmp_path) == expected


@pytest.mark.skipif(sys.platform != "linux", reason="needs glibc's ld.so")
@pytest.mark.parametrize(
    ("program", "requires", "code", "told"),
    [
        ("import odd\nimport torch\n", "", "", True),
        ("import os\nimport plain\nimport odd\n", "", "", True),
        ("import torch\nimport odd\n", "", "", False),
        ("import beside\nimport odd\n", "", "", False),
        ("import user\nimport odd\n", "", "", False),
        ("import plain\n", "", "", False),
        ("import odd\n", "Requires-Dist: torch\n", "", False),
        ("import odd\n", "", "import torch\n", False),
    ],
)
@pytest.mark.parametrize("file", ["libodd-a34b.so.1", "libodd.so.1"])
def test_a_library_of_a_framework_does_for_a_package_that_is_imported_after_it(
    tmp_path: Path, program: str, requires: str, code: str, told: bool, file: str
) -> None:
    """The loader takes what the process has under that name; PyTorch's builds rename the file of their OpenMP and keep the name in its header."""
    _module, library = package(tmp_path)
    library.unlink()
    site = tmp_path / "site"
    build.library(site / "torch" / "lib" / file, soname="libodd.so.1")
    (site / "odd" / "__init__.py").write_text(code)
    record = site / "odd-1.0.dist-info" / "RECORD"
    record.write_text(f"odd/_core{SUFFIX},sha256=x,1\nodd/__init__.py,sha256=x,1\n")
    needs = {"odd": requires, "plain": "", "user": "Requires-Dist: torch; extra == 'gpu'\n", "torch": ""}
    for name, wishes in needs.items():
        (info := site / f"{name}-1.0.dist-info").mkdir(exist_ok=True)
        (info / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n{wishes}\n")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "main.py").write_text(program)
    assert unfit(tmp_path) == ((("odd._core", "libodd.so.1", "absent", False),) if told else ())


@pytest.mark.skipif(sys.platform != "linux", reason="needs glibc's ld.so")
def test_a_search_path_without_any_library_is_no_new_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.loader.earlier_reads.SETTLED_NANOSECONDS", -(1 << 62))
    _module, library = package(tmp_path)
    (bare := tmp_path / "bare").mkdir()
    elsewhere = build.library(tmp_path / "full" / "libother.so.1").parent
    store = EarlierReads()
    assert unfit(tmp_path, store) == ()
    for searched, is_new in ((str(bare), False), (f"{tmp_path}/gone:{bare}", False), (str(elsewhere), True)):
        later = EarlierReads(store.to_bytes())
        assert unfit(tmp_path, later, searched) == ()
        assert later.has_news == is_new
    library.rename(bare / library.name)
    assert unfit(tmp_path, EarlierReads(store.to_bytes()), str(bare)) == ()
    assert unfit(tmp_path, EarlierReads(store.to_bytes())) == (("odd._core", "libodd.so.1", "absent", True),)


@pytest.mark.parametrize(
    ("content", "count"), [(b"\0numpy.core._multiarray_umath\0", 1), (b"\0numpy._core._multiarray_umath\0", 0)]
)
@pytest.mark.parametrize(
    ("numpy", "wish", "matters"), [("2.2.0", "numpy>=1.21", 1), ("1.26.4", "numpy", 0), ("2.2.0", "numpydoc", 0)]
)
def test_only_with_numpy_2_and_a_wish_for_it_does_the_older_build_count(
    tmp_path: Path, content: bytes, count: int, numpy: str, wish: str, matters: int
) -> None:
    module = tmp_path / "odd" / f"_core{SUFFIX}"
    module.parent.mkdir()
    module.write_bytes(content)
    (tmp_path / "odd-1.0.dist-info").mkdir()
    (tmp_path / "odd-1.0.dist-info" / "RECORD").write_text(f"odd/{module.name},sha256=x,1\n")
    its = (
        Distribution(name="odd", version="1.0", location=str(tmp_path), pins=(wish,)),
        Distribution(name="numpy", version=numpy, location=str(tmp_path)),
    )
    assert len(built_for_numpy_1(its, Sysroot("linux"))) == count * matters


@pytest.mark.skipif(sys.platform != "linux", reason="needs glibc's ld.so")
@pytest.mark.parametrize(
    ("name", "env", "files", "expected"),
    [
        ("phonemizer_fork", {}, (), ("libodd-one.so.1",)),
        ("phonemizer_fork", {"ODD_LIBRARY": "/opt/libodd.so"}, (), ()),
        ("phonemizer_fork", {}, ("loader/libodd-one.so",), ()),
        ("phonemizer_fork", {"LD_LIBRARY_PATH": "{site}/more"}, ("more/libodd-two.so.1",), ()),
        ("phonemizer_fork", {}, ("../work/say.py=odd.use_library('/opt/libodd.so')",), ()),
        ("phonemizer_fork", {}, ("../work/run.bat=set ODD_LIBRARY=C:\\odd.dll",), ()),
        ("phonemizer_fork", {}, ("../work/say.py=import odd",), ("libodd-one.so.1",)),
        ("another", {}, (), ()),
        ("pyopengl", {}, (), ()),
        ("pyopengl", {"ODD_PLATFORM": "x11"}, (), ()),
        ("pyopengl", {"ODD_PLATFORM": "egl"}, (), ("libodd-egl.so.1",)),
        ("pyopengl", {"ODD_PLATFORM": "egl", "LD_LIBRARY_PATH": "{site}/more"}, ("more/libodd-egl.so.1",), ()),
    ],
)
def test_a_library_that_is_opened_when_a_package_is_used(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    env: dict[str, str],
    files: tuple[str, ...],
    expected: tuple[str, ...],
) -> None:
    rows = (
        OpenedLibrary(distributions="phonemizer(-fork)?", module="odd.voice", files=("loader/libodd-one.so",),
                      others=("libodd-one.so.1", "libodd-two.so.1"), variable="ODD_LIBRARY", chosen=("use_library",), at_use=True, source="-"),
        OpenedLibrary(distributions="pyopengl", module="odd.EGL", others=("libodd-egl.so.1",), when={"ODD_PLATFORM": "egl"},
                      at_use=True, source="-"),
    )  # fmt: skip
    table = ModuleTable(modules=(), standard=(), opened=rows)
    monkeypatch.setattr(asked_parts, "module_table", lambda: table)
    site = tmp_path / "site"
    (site / f"{name}-3.3.2.dist-info").mkdir(parents=True)
    (site / f"{name}-3.3.2.dist-info" / "RECORD").write_text("odd/__init__.py,,\n")
    for file, _sign, text in (f.partition("=") for f in files):
        if text:
            (site / file).parent.mkdir(exist_ok=True)
            (site / file).write_text(text)
        else:
            build.library(site / file)
    own = {key: value.replace("{site}", str(site)) for key, value in env.items()}
    assert tuple(library for _module, library, *_rest in unfit(tmp_path, **own)) == expected


SIZES = b"\0size changed, may indicate binary incompatibility\0"
TYPES_1, TYPES_2 = b"\0numpy.core.multiarray failed to import\0", b"\0numpy._core.multiarray failed to import\0"


@pytest.mark.parametrize(
    ("content", "wishes", "count"),
    [
        (SIZES + TYPES_1, ("numpy<2.0.0,>=1.19",), 1),
        (SIZES + TYPES_1, ("numpy<2,>=1.15; python_version < '3.9'", "numpy<2,>=1.19; python_version >= '3.9'"), 1),
        (SIZES + TYPES_1, ("numpy<2; python_version < '3.9'", "numpy; python_version >= '3.9'"), 0),
        (SIZES + TYPES_1, ("numpy>=1.19",), 0),  # perhaps an old sentence, and new headers
        (SIZES + TYPES_2, ("numpy<2.0.0,>=1.19",), 0),
        (SIZES + TYPES_1 + b"numpy._core._multiarray_umath", ("numpy<2",), 0),
        (TYPES_1, ("numpy<2",), 0),  # compares nothing
    ],
)
def test_a_module_that_compares_the_sizes_of_numpys_types(
    tmp_path: Path, content: bytes, wishes: tuple[str, ...], count: int
) -> None:
    (tmp_path / f"odd{SUFFIX}").write_bytes(content)
    (tmp_path / "odd-1.0.dist-info").mkdir()
    (tmp_path / "odd-1.0.dist-info" / "RECORD").write_text(f"odd{SUFFIX},sha256=x,1\n")
    its = (
        Distribution(name="odd", version="1.0", location=str(tmp_path), pins=wishes),
        Distribution(name="numpy", version="2.2.6", location=str(tmp_path)),
    )
    assert len(built_for_numpy_1(its, Sysroot("linux"))) == count


@pytest.mark.skipif(sys.platform != "linux", reason="needs glibc's ld.so")
@pytest.mark.parametrize(
    ("text", "others", "expected"),
    [
        ("ctypes.CDLL(here / 'libodd.so')\n", (), (("odd.lib.libodd", "libone.so.1", "absent", False),)),
        ("ctypes.CDLL(here / 'libother.so')\n", (), ()),
        ("ctypes.CDLL(here / kind / 'libodd.so')\n", ("odd/other/libodd.so",), ()),
        ("ctypes.CDLL(here / 'libodd.so')\n", ("elsewhere/libone.so.1",), ()),
    ],
)
def test_a_library_that_code_names_has_what_it_needs(
    tmp_path: Path, text: str, others: tuple[str, ...], expected: tuple[tuple[str, ...], ...]
) -> None:
    site = tmp_path / "site"
    needed = build.library(tmp_path / "build" / "libone.so.1")
    rows = [build.library(site / "odd" / "lib" / "libodd.so", "-Wl,--no-as-needed", str(needed))]
    rows += [build.library(site / name) for name in others]
    shutil.rmtree(tmp_path / "build")
    (start := site / "odd" / "__init__.py").write_text(text)
    (site / "odd-1.0.dist-info").mkdir()
    own = (p for p in (start, *rows) if "elsewhere" not in p.parts)
    (site / "odd-1.0.dist-info" / "RECORD").write_text("".join(f"{p.relative_to(site)},sha256=x,1\n" for p in own))
    assert unfit(tmp_path) == expected


@pytest.mark.skipif(sys.platform != "linux", reason="needs glibc's ld.so")
@pytest.mark.parametrize("spelt", [True, False])
def test_a_library_that_code_names_may_itself_be_damaged(tmp_path: Path, *, spelt: bool) -> None:
    site = tmp_path / "site"
    library = build.library(site / "odd" / "lib" / "libodd.so")
    (site / "odd" / "__init__.py").write_text("ctypes.CDLL(here / 'libodd.so')\n" if spelt else "x = 1\n")
    (site / "odd-1.0.dist-info").mkdir()
    (site / "odd-1.0.dist-info" / "RECORD").write_text("odd/__init__.py,sha256=x,1\nodd/lib/libodd.so,sha256=x,1\n")
    assert unfit(tmp_path) == ()
    library.write_bytes(bytes(4096) + library.read_bytes()[4096:])
    told = unfit(tmp_path)
    assert [(u[1], u[2], u[3]) for u in told] == ([(str(library), "damaged", True)] if spelt else [])


OPENED = OpenedLibrary(
    distributions="odd",
    module="odd",
    files=("odd_data/libodd*.so",),
    others=("libodd-of-no-system.so.1",),
    source="here",
)


@pytest.mark.skipif(sys.platform != "linux", reason="needs glibc's ld.so")
@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (("libodd1.so",), ()),
        (("libodd1.so", "libodd2.so"), ()),
        ((), (("odd.__init__", "libodd1.so", "absent", True),)),
        (("damaged",), (("odd.__init__", "{site}/odd_data/libodd1.so", "damaged", False),)),
        (("libodd2.so", "damaged"), ()),
        (("nothing recorded",), (("odd.__init__", "libodd-of-no-system.so.1", "absent", False),)),
    ],
)
def test_of_the_libraries_that_python_code_opens_one_is_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: tuple[str, ...], expected: tuple[tuple[str, ...], ...]
) -> None:
    monkeypatch.setattr(asked_parts, "module_table", lambda: ModuleTable(modules=(), standard=(), opened=(OPENED,)))
    site = tmp_path / "site"
    for name in (f for f in files if f.endswith(".so")):
        build.library(site / "odd_data" / name)
    if "damaged" in files:
        (site / "odd_data").mkdir(parents=True, exist_ok=True)
        (site / "odd_data" / "libodd1.so").write_bytes(b"\x7fELF" + bytes(20))
    (site / "odd").mkdir(parents=True)
    (site / "odd" / "__init__.py").write_text("")
    info = site / "odd-1.0.dist-info"
    info.mkdir()
    (info / "RECORD").write_text("" if "nothing recorded" in files else "odd_data/libodd1.so,sha256=x,1\n")
    assert unfit(tmp_path) == tuple((d, lib.format(site=site), s, r) for d, lib, s, r in expected)


@pytest.mark.skipif(sys.platform != "linux", reason="needs glibc's ld.so")
@pytest.mark.parametrize(("silent", "expected"), [(False, (("odd._core", "", "", True),)), (True, ())])
def test_a_module_of_a_disk_that_gives_no_answer_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, silent: bool, expected: tuple[object, ...]
) -> None:
    module, _library = package(tmp_path)
    module.unlink()  # as its status is seen while the disk is silent
    monkeypatch.setattr(
        "core.probes.python.installed.unfit_extensions.is_silent", lambda path: silent and path == str(module)
    )
    assert unfit(tmp_path) == expected
