"""A compiler or a header that only what compiles at run time needs: found where it lacks, a note, and quiet where it is there."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import Distribution, ImportSearch, PythonEnvironment
from core.model.facts.framework_tools import UnfitTool
from core.model.steps import Severity
from core.probes.python import tools
from core.rules.root_cause import diagnose
from tests import machines as m
from tests.probes.request import request, write

HEADER = "/usr/include/python3.11/Python.h"
GCC, CLANG = "/usr/bin/gcc", "/usr/local/bin/clang"


def lacking(root: Path, files: tuple[str, ...], name: str = "triton", **env: str) -> list[str]:
    """Return what a made-up machine lacks whose system's Python has one distribution."""
    for file in ("/usr/bin/python3.11", "/usr/lib/python3.11/os.py", *files):
        write(root, file, "#")
        (root / file.lstrip("/")).chmod(0o755)
    here = request(root, {"PATH": "/usr/local/bin:/usr/bin"} | env)
    python = PythonEnvironment(
        prefix="/usr", executable="/usr/bin/python3.11", version="3.11.2", distributions=(Distribution(name=name, version="3.4.0"),)
    )  # fmt: skip
    here = replace(here, seen=replace(here.seen, pythons=(python,)))
    return [t.name for t in tools.look(here) if t.builds]


@pytest.mark.parametrize(
    ("files", "env", "expected"),
    [
        ((HEADER, GCC), {}, []),
        ((HEADER, CLANG), {}, []),
        ((HEADER,), {"CC": "/opt/cc"}, []),
        (("/usr/include/python3.11d/Python.h", GCC), {}, []),
        ((HEADER,), {}, ["gcc"]),
        ((GCC,), {}, ["Python.h"]),
        (("/usr/include/python3.12/Python.h", GCC), {}, ["Python.h"]),
        ((), {}, ["gcc", "Python.h"]),
        ((HEADER,), {"PATH": ""}, []),
    ],
)
def test_what_compiles_is_asked_for_its_compiler_and_its_header(
    tmp_path: Path, files: tuple[str, ...], env: dict[str, str], expected: list[str]
) -> None:
    assert lacking(tmp_path, files, **env) == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (("include/Python.h",), []),
        ((), [("Python.h", r"C:\py\include\Python.h")]),
    ],
)
def test_on_windows_it_brings_its_compiler_and_lacks_the_header(
    tmp_path: Path, files: tuple[str, ...], expected: list[tuple[str, str]]
) -> None:
    for file in ("python.exe", "python311.dll", *files):
        write(tmp_path, f"/C:/py/{file}", "#")
    python = PythonEnvironment(
        prefix=r"C:\py", executable=r"C:\py\python.exe", version="3.11.9", distributions=(Distribution(name="triton-windows", version="3.2.0"),)
    )  # fmt: skip
    here = request(tmp_path, {"Path": r"C:\Windows"}, system="windows")
    here = replace(here, seen=replace(here.seen, pythons=(python,)))
    assert [(t.name, t.path) for t in tools.look(here) if t.builds] == expected


def test_who_never_compiles_lacks_nothing(tmp_path: Path) -> None:
    assert lacking(tmp_path, (), name="torch") == []


def test_it_is_a_note_and_leads_nothing() -> None:
    machine = m.wheel_machine()
    assert machine.pythons
    prefix = machine.pythons[0].prefix
    lost = UnfitTool(
        prefix=prefix, reader="triton 3.4.0", name="gcc", path="/usr/bin/gcc", state="absent", runs=True, builds=True
    )
    found = diagnose(replace(machine, framework_tools=(lost,)))
    told = [f for f in found if f.cause == "build_tools_missing"]
    assert [(f.severity, f.primary, f.headline) for f in told] == [(Severity.NOTE, False, False)]
    assert [f.id for f in found if f.severity > Severity.NOTE] == [
        f.id for f in diagnose(machine) if f.severity > Severity.NOTE
    ]


DOT = "/usr/bin/dot"


SITE = "/opt/env/lib/python3.11/site-packages"


@pytest.mark.parametrize(
    ("name", "files", "lacks"),
    [
        ("graphviz", (), [("dot", False)]),
        ("graphviz", (f"{SITE}/torchviz-0.0.3.dist-info/METADATA",), [("dot", True)]),
        ("graphviz", (DOT,), []),
        ("graphviz", ("/opt/env/bin/dot",), []),
        ("openai_whisper", (), [("ffmpeg", False)]),
        ("torch", (), []),
    ],
)
def test_a_package_that_works_by_a_program_of_the_systems_lacks_it(
    tmp_path: Path, name: str, files: tuple[str, ...], lacks: list[tuple[str, bool]]
) -> None:
    for file in (f"{SITE}/{name}-0.21.dist-info/METADATA", *files):
        write(tmp_path, file, "Requires-Dist: torch\nRequires-Dist: graphviz\n" if "torchviz" in file else "Requires-Dist: graphviz; extra == 'x'\n")  # fmt: skip
    here = request(tmp_path, {"PATH": "/usr/local/bin:/usr/bin"})
    python = PythonEnvironment(prefix="/opt/env", executable="/opt/env/bin/python", version="3.11.2", site_packages=(SITE,), kind="venv")  # fmt: skip
    here = replace(here, seen=replace(here.seen, pythons=(python,)))
    assert [(t.name, bool(t.asked_by)) for t in tools.look(here) if t.package] == lacks


@pytest.mark.parametrize(
    ("program", "lacks"),
    [("import ffmpeg\nffmpeg.input('a.wav')\n", []), ("import ffmpeg\nffmpeg.input('a').run()\n", ["ffmpeg"]), ("", ["ffmpeg"])],
)  # fmt: skip
def test_a_package_that_only_describes_commands_lacks_nothing(tmp_path: Path, program: str, lacks: list[str]) -> None:
    write(tmp_path, f"{SITE}/ffmpeg_python-0.2.0.dist-info/METADATA", "Name: ffmpeg-python\n")
    if program:
        write(tmp_path, "/home/ada/work/main.py", program)
    here = request(tmp_path, {"PATH": "/usr/local/bin:/usr/bin"})
    python = PythonEnvironment(prefix="/opt/env", executable="/opt/env/bin/python", version="3.11.2", site_packages=(SITE,), kind="venv")  # fmt: skip
    here = replace(here, seen=replace(here.seen, pythons=(python,)), script_folder="/home/ada/work")
    assert [t.name for t in tools.look(here) if t.package] == lacks


@pytest.mark.parametrize(("asked_by", "severity"), [("", Severity.WARNING), ("torchviz 0.0.3", Severity.NOTE)])
def test_a_lacking_program_is_a_note_where_another_package_brought_its_reader(
    asked_by: str, severity: Severity
) -> None:
    machine = m.wheel_machine()
    assert machine.pythons
    prefix = machine.pythons[0].prefix
    lost = UnfitTool(prefix=prefix, reader="graphviz 0.21", name="dot", path=DOT, state="absent", runs=True, package="graphviz", asked_by=asked_by)  # fmt: skip
    told = [f for f in diagnose(replace(machine, framework_tools=(lost,))) if f.cause == "system_library_missing"]
    assert [(f.severity, f.id) for f in told] == [(severity, "frameworks.program-dot")]
    idle = (ImportSearch(prefix=prefix, idle=("graphviz",)),)
    told = [
        f
        for f in diagnose(replace(machine, framework_tools=(lost,), imports=idle))
        if f.cause == "system_library_missing"
    ]
    assert [f.severity for f in told] == [Severity.NOTE]  # no program in the folder uses it


READS = "import pytesseract\npytesseract.image_to_string(page)\n"


@pytest.mark.parametrize(
    ("program", "lacks"),
    [
        (READS, ["tesseract"]),
        (f"pytesseract.pytesseract.tesseract_cmd = '/opt/t/tesseract'\n{READS}", []),
        (f"pytesseract.pytesseract.tesseract_cmd = 'own/tesseract'\n{READS}", []),
        (f"pytesseract.pytesseract.tesseract_cmd = find()\n{READS}", []),
        (f"pytesseract.pytesseract.tesseract_cmd = '/opt/gone/tesseract'\n{READS}", ["tesseract"]),
        (f"pytesseract.pytesseract.tesseract_cmd = r'C:\\t.exe'\n{READS}", ["tesseract"]),
        (f"import os\nos.environ['PATH'] += ':/opt/t'\n{READS}", []),
        (f"import os\nprint(os.environ['HOME'])\n{READS}", ["tesseract"]),
    ],
)  # fmt: skip
def test_a_program_that_says_where_the_systems_program_is_lacks_nothing(
    tmp_path: Path, program: str, lacks: list[str]
) -> None:
    write(tmp_path, f"{SITE}/pytesseract-0.3.13.dist-info/METADATA", "Name: pytesseract\n")
    write(tmp_path, "/home/ada/work/main.py", program)
    for file in ("/opt/t/tesseract", "/home/ada/work/own/tesseract"):
        write(tmp_path, file, "#")
        (tmp_path / file.lstrip("/")).chmod(0o755)
    here = request(tmp_path, {"PATH": "/usr/local/bin:/usr/bin"})
    python = PythonEnvironment(prefix="/opt/env", executable="/opt/env/bin/python", version="3.11.2", site_packages=(SITE,), kind="venv")  # fmt: skip
    here = replace(here, seen=replace(here.seen, pythons=(python,)), script_folder="/home/ada/work")
    assert [t.name for t in tools.look(here) if t.package] == lacks
