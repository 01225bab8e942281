r"""Extension modules that CPython on a made-up Windows does not load: DLLs written by hand; nothing is run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.model.facts import Distribution, PythonEnvironment
from core.probes.python.installed.numpy_headers import built_for_numpy_1
from core.probes.python.installed.unfit_extensions import UnfitExtension, lacking_modules, unfit_extensions
from core.probes.python.search.search_path import Interpreter
from core.probes.sysroot import sysroot_of
from tests.loader import build
from tests.probes.request import request, write

PREFIX = "C:\\ml\\venv"
SITE = PREFIX + "\\Lib\\site-packages"
BASE = "C:\\Python311"
MODULE = SITE + "\\thing\\_core.cp311-win_amd64.pyd"
SYSTEM = "C:\\Windows\\System32"
SUFFIXES = (".cp311-win_amd64.pyd", ".pyd")


def put(root: Path, path: str, *imports: str, **fields: Any) -> None:
    write(root, path.replace("\\", "/"), build.pe(imports, **fields))


def machine(
    root: Path, *recorded: str, name: str = "thing", version: str = "1.0", architecture: str = "x86_64"
) -> tuple[UnfitExtension, ...]:
    """Look at an environment with one package, which recorded its module and these files."""
    rows = "".join(f"{path},,1\n" for path in ("thing/_core.cp311-win_amd64.pyd", *recorded))
    write(root, f"C:/ml/venv/Lib/site-packages/{name}-{version}.dist-info/RECORD", rows)
    write(root, "C:/ml/venv/pyvenv.cfg", f"home = {BASE}\n")
    put(root, SYSTEM + "\\kernel32.dll")
    python = PythonEnvironment(
        prefix=PREFIX,
        executable=PREFIX + "\\Scripts\\python.exe",
        kind="venv",
        version="3.11.9",
        architecture=architecture,
        site_packages=(SITE,),
        distributions=(Distribution(name=name, version=version, location=SITE),),
    )
    asked = request(root, {"SystemRoot": "C:\\Windows", "PATH": "C:\\tools"}, system="windows", pythons=(python,))
    its = Interpreter(PREFIX, BASE, (3, 11), python.executable, {"home": BASE})
    return unfit_extensions(python, its, SUFFIXES, asked, sysroot_of(asked.host))


@pytest.mark.parametrize(
    ("folder", "loads"),
    [
        (SITE + "\\thing", True),
        (BASE, True),
        (SYSTEM, True),
        (SITE + "\\thing.libs", True),
        (SITE + "\\another\\bin", True),  # its code may load it first
        (PREFIX + "\\Library\\bin", True),
        (PREFIX + "\\Scripts", True),
        ("C:\\tools", False),  # on PATH alone
        ("C:\\Windows\\SysWOW64", False),
    ],
)
def test_where_a_dll_of_a_module_may_be(tmp_path: Path, folder: str, loads: bool) -> None:
    put(tmp_path, MODULE, "KERNEL32.dll", "needed.dll")
    put(tmp_path, folder + "\\needed.dll")
    found = machine(tmp_path)
    assert [(u.dotted, u.edge.name, u.edge.state) for u in found if u.edge] == (
        [] if loads else [("thing._core", "needed.dll", "absent")]
    )


@pytest.mark.parametrize(
    ("missing", "told"),
    [
        ("libomp140.x86_64.dll", True),
        ("VCRUNTIME140_1.dll", True),
        ("python310.dll", True),
        ("cublas64_12.dll", False),  # the closures follow CUDA's
        ("nvcuda.dll", False),  # the driver's
        ("api-ms-win-crt-heap-l1-1-0.dll", False),
    ],
)
def test_which_lack_is_told(tmp_path: Path, missing: str, told: bool) -> None:
    put(tmp_path, MODULE, missing)
    assert [u.edge.name for u in machine(tmp_path) if u.edge] == ([missing] if told else [])


def test_what_a_dll_of_the_package_lacks_is_met_behind_it(tmp_path: Path) -> None:
    put(tmp_path, MODULE, "inner.dll")
    put(tmp_path, SITE + "\\thing.libs\\inner.dll", "lost.dll")
    (one,) = machine(tmp_path, "thing.libs/inner.dll", "thing.libs/lost.dll")
    assert one.edge
    assert (one.edge.name, one.edge.wanted_by, one.recorded) == ("lost.dll", SITE + "\\thing.libs\\inner.dll", True)


@pytest.mark.parametrize(
    ("content", "state"),
    [(b"", "damaged"), (bytes(4096), "damaged"), (build.pe(machine=0x14C), "wrong architecture")],
)
@pytest.mark.parametrize("file", [MODULE, SITE + "\\thing\\inner.dll", BASE + "\\inner.dll"])
def test_the_first_file_decides_whatever_it_is(tmp_path: Path, content: bytes, state: str, file: str) -> None:
    put(tmp_path, MODULE, "inner.dll")
    put(tmp_path, SYSTEM + "\\inner.dll")
    write(tmp_path, file.replace("\\", "/"), content)
    (one,) = machine(tmp_path, "thing/inner.dll")
    assert one.edge
    assert (one.edge.path, one.edge.state) == (file, state)
    assert one.recorded == (not file.startswith(BASE))


def test_a_function_that_the_first_dll_lacks_is_named(tmp_path: Path) -> None:
    wants = {"msvcp140.dll": ("_Cnd_init", "_Mtx_new")}
    put(tmp_path, MODULE, *wants, functions=wants)
    put(tmp_path, BASE + "\\msvcp140.dll", exports=("_Cnd_init",))
    (one,) = machine(tmp_path)
    assert one.edge
    assert (one.edge.lacks, one.edge.path, one.recorded) == ("_Mtx_new", BASE + "\\msvcp140.dll", False)


def test_a_function_that_the_runtime_of_windows_lacks_is_named(tmp_path: Path) -> None:
    wants = {"msvcp140.dll": ("_Cnd_init", "_Mtx_new")}
    put(tmp_path, MODULE, *wants, functions=wants)
    put(tmp_path, SYSTEM + "\\msvcp140.dll", exports=("_Cnd_init",))
    (one,) = machine(tmp_path)
    assert one.edge
    assert (one.edge.lacks, one.edge.path, one.recorded) == ("_Mtx_new", SYSTEM + "\\msvcp140.dll", False)


@pytest.mark.parametrize(
    "name",
    [
        "_core.cp310-win_amd64.pyd",
        "_core.cp311-win32.pyd",
        "_core_d.cp311-win_amd64.pyd",
        "_core_d.pyd",
        "tests\\_core.pyd",
    ],
)
def test_a_module_that_this_python_does_not_import_is_left_out(tmp_path: Path, name: str) -> None:
    put(tmp_path, MODULE)
    put(tmp_path, f"{SITE}\\thing\\{name}", "lost.dll")
    assert machine(tmp_path, f"thing/{name}".replace("\\", "/")) == ()


EXT, CORE = "ctranslate2/_ext.cp311-win_amd64.pyd", "ctranslate2/ctranslate2.dll"


def test_what_a_framework_opens_is_judged_by_itself_alone(tmp_path: Path) -> None:
    """The closures follow what it needs, as the framework opens it."""
    put(tmp_path, MODULE)
    put(tmp_path, f"{SITE}\\{EXT}", "lost.dll")
    assert machine(tmp_path, EXT, name="ctranslate2") == ()
    write(tmp_path, f"{SITE}\\{EXT}".replace("\\", "/"), b"")
    (one,) = machine(tmp_path, EXT, name="ctranslate2")
    assert one.edge
    assert one.edge.path.endswith("_ext.cp311-win_amd64.pyd")


@pytest.mark.parametrize(
    ("needs", "told"), [(("msvcp140_1.dll",), True), (("msvcp140_1.dll", "ctranslate2.dll"), False)]
)
def test_a_framework_s_other_modules_are_followed(tmp_path: Path, needs: tuple[str, ...], told: bool) -> None:
    """A module that is linked against what the framework opens is loaded behind that, and judged with it."""
    put(tmp_path, MODULE, *needs)
    put(tmp_path, f"{SITE}\\{CORE}")
    assert [u.edge.name for u in machine(tmp_path, CORE, name="ctranslate2") if u.edge] == (
        ["msvcp140_1.dll"] if told else []
    )


def test_a_module_of_python_itself_is_examined(tmp_path: Path) -> None:
    put(tmp_path, MODULE)
    put(tmp_path, BASE + "\\DLLs\\_ssl.pyd", "libcrypto-3.dll")
    (one,) = machine(tmp_path)
    assert (one.owner, one.dotted, one.edge.name if one.edge else "") == ("", "_ssl", "libcrypto-3.dll")
    put(tmp_path, BASE + "\\DLLs\\libcrypto-3.dll")
    assert machine(tmp_path) == ()


def test_without_windows_own_folder_nothing_is_judged(tmp_path: Path) -> None:
    put(tmp_path, MODULE, "lost.dll")
    assert machine(tmp_path)
    (tmp_path / "C:/Windows/System32/kernel32.dll").unlink()
    assert not _again(tmp_path)


def _again(root: Path) -> tuple[UnfitExtension, ...]:
    python = PythonEnvironment(prefix=PREFIX, executable=PREFIX + "\\Scripts\\python.exe", site_packages=(SITE,))
    asked = request(root, {"SystemRoot": "C:\\Windows"}, system="windows", pythons=(python,))
    its = Interpreter(PREFIX, BASE, (3, 11), python.executable, {"home": BASE})
    return unfit_extensions(python, its, SUFFIXES, asked, sysroot_of(asked.host))


def test_a_32_bit_python_takes_windows_32_bit_files(tmp_path: Path) -> None:
    put(tmp_path, MODULE, "needed.dll", machine=0x14C)
    put(tmp_path, "C:\\Windows\\SysWOW64\\needed.dll", machine=0x14C)
    put(tmp_path, "C:\\Windows\\SysWOW64\\kernel32.dll", machine=0x14C)
    put(tmp_path, SYSTEM + "\\needed.dll")
    assert machine(tmp_path, architecture="x86") == ()


def test_windows_on_arm_has_files_for_both_kinds(tmp_path: Path) -> None:
    put(tmp_path, MODULE, "needed.dll")
    put(tmp_path, SYSTEM + "\\needed.dll", machine=0xAA64)
    assert machine(tmp_path) == ()


@pytest.mark.parametrize(
    ("code", "there", "loads"),
    [
        ("os.add_dll_directory(os.path.dirname(shutil.which('ffmpeg')))", "needed.dll", True),
        ("os.add_dll_directory(os.path.dirname(shutil.which('ffmpeg')))", "needed-of-another-release.dll", False),
        ("import os", "needed.dll", False),
    ],
)
def test_a_package_that_registers_folders_may_find_them_by_path(
    tmp_path: Path, code: str, there: str, loads: bool
) -> None:
    put(tmp_path, MODULE, "KERNEL32.dll", "needed.dll")
    put(tmp_path, f"C:\\tools\\{there}")
    write(tmp_path, "C:/ml/venv/Lib/site-packages/thing/__init__.py", code)
    assert (machine(tmp_path, "thing/__init__.py") == ()) == loads


@pytest.mark.parametrize(
    ("code", "there", "told"),
    [
        ('names = ["bin/fast.dll"]', "fast.dll", True),
        ('names = ["bin/fast.dll"]', "needed.dll", False),
        ("names = []", "fast.dll", False),
    ],
)
def test_a_dll_that_a_package_opens_by_its_name(tmp_path: Path, code: str, there: str, told: bool) -> None:
    put(tmp_path, MODULE, "KERNEL32.dll")
    put(tmp_path, SITE + "\\thing\\bin\\fast.dll", "needed.dll")
    put(tmp_path, f"{SYSTEM}\\{there}")
    write(tmp_path, "C:/ml/venv/Lib/site-packages/thing/__init__.py", code)
    found = machine(tmp_path, "thing/__init__.py", "thing/bin/fast.dll")
    assert [(one.is_library, one.edge.name if one.edge else "") for one in found] == [(True, "needed.dll")] * told


@pytest.mark.parametrize(
    ("folder", "there", "lacks"),
    [
        ("DLLs/", "_bz2 _ctypes _ssl _sqlite3 _tkinter _uuid", ("_lzma",)),
        ("", "_bz2 _ctypes _lzma _ssl _sqlite3 _uuid", ("tkinter", "turtle")),
        ("DLLs/", "_tkinter", ("_bz2", "_ctypes", "_lzma", "_ssl", "_sqlite3", "_uuid")),
    ],
)
def test_a_module_that_python_lost(tmp_path: Path, folder: str, there: str, lacks: tuple[str, ...]) -> None:
    for name in ("_socket", "select", "unicodedata", *there.split()):
        write(tmp_path, f"C:/Python311/{folder}{name}.pyd", "")
    its = Interpreter(PREFIX, BASE, (3, 11), PREFIX + "\\Scripts\\python.exe", {"home": BASE})
    assert lacking_modules(its, sysroot_of(request(tmp_path, {}, system="windows").host)) == lacks


def test_a_python_whose_modules_are_part_of_it_lost_none(tmp_path: Path) -> None:
    its = Interpreter(PREFIX, BASE, (3, 11), PREFIX + "\\Scripts\\python.exe", {"home": BASE})
    assert lacking_modules(its, sysroot_of(request(tmp_path, {}, system="windows").host)) == ()


def test_a_module_that_was_built_for_numpy_1(tmp_path: Path) -> None:
    site = "C:/ml/venv/Lib/site-packages"
    write(tmp_path, f"{site}/cv2/cv2.pyd", "\0numpy.core._multiarray_umath\0")
    write(tmp_path, f"{site}/opencv_python-4.9.0.dist-info/RECORD", "cv2/cv2.pyd,,32\n")
    its = (
        Distribution(name="numpy", version="2.2.6", location=SITE),
        Distribution(name="opencv-python", version="4.9.0", location=SITE, pins=("numpy>=1.21.2",)),
    )
    found = built_for_numpy_1(its, sysroot_of(request(tmp_path, {}, system="windows").host))
    assert [one.distribution for one in found] == ["opencv-python"]


@pytest.mark.parametrize(
    ("there", "told"),
    [
        ((), True),
        ((SYSTEM + "\\avcodec-60.dll",), False),
        ((SYSTEM + "\\avcodec-59.dll",), True),
    ],
)
def test_of_the_dlls_of_which_code_opens_one_that_loads(tmp_path: Path, there: tuple[str, ...], told: bool) -> None:
    put(tmp_path, MODULE, "KERNEL32.dll")
    for core in ("6", "7"):
        put(tmp_path, f"{SITE}\\torchcodec\\libtorchcodec_core{core}.dll", f"avcodec-{54 + int(core)}.dll")
    for file in there:
        put(tmp_path, file)
    recorded = [f"torchcodec/libtorchcodec_core{core}.dll" for core in ("6", "7")]
    found = machine(tmp_path, *recorded, name="torchcodec", version="0.7.0")
    assert [(one.ends, one.edge.name if one.edge else "") for one in found] == [("torchcodec", "avcodec-60.dll")] * told


@pytest.mark.parametrize(("file", "told"), [("C:\\tools\\libmagic.dll", False), ("C:\\elsewhere\\libmagic.dll", True)])
def test_a_dll_that_code_looks_for_on_path(tmp_path: Path, file: str, told: bool) -> None:
    put(tmp_path, MODULE, "KERNEL32.dll")
    put(tmp_path, file)
    found = machine(tmp_path, name="python_magic")
    assert [(one.ends, one.edge.by_name if one.edge else False) for one in found] == [("magic", True)] * told
