"""Which Python runs, and what frameworks run by name: as loud as what the program does."""

from __future__ import annotations

import shlex

import pytest
from msgspec.structs import replace

from core.fixes.catalogue import attach_changes
from core.model.changes import EditLine, ExchangePackages
from core.model.facts import (
    INTERPRETER,
    Distribution,
    FrameworkBuild,
    Frameworks,
    Machine,
    Snapshot,
    Start,
    StartedPython,
    StartKind,
    StartLine,
)
from core.model.facts.framework_tools import UnfitTool
from core.model.findings import Fix
from core.model.steps import Severity
from core.rules.frameworks import tools
from core.rules.root_cause import diagnose
from core.rules.which_python import another_python_runs
from tests.machines import PREFIX, python, wheel_machine

SYSTEM = python(prefix="/usr", kind="system", distributions=(), site_packages=(), found_by="python3 on PATH")
BUILD = FrameworkBuild(prefix=PREFIX, distribution="torch", version="2.6.0", cuda="12.4")


def machine(*starts: Start, other=SYSTEM, **fields) -> Snapshot:
    return replace(
        wheel_machine(), pythons=(python(), other), frameworks=Frameworks(builds=(BUILD,)), starts=starts, **fields
    )


def kernel(path: str, prefix: str, why: str = "lies in it") -> Start:
    one = StartedPython(name="/x/python", path=path, prefix=prefix, seems=PREFIX, why=why, source="/k/kernel.json")
    return Start(id="notebook:/k/ml/kernel.json", kind="notebook", at="/k/ml/kernel.json", runs=(one,))


@pytest.mark.parametrize(
    ("start", "severity", "cause"),
    [
        (kernel(f"{PREFIX}/bin/python", PREFIX), None, ""),
        (kernel("/usr/bin/python3", "/usr"), Severity.ERROR, "wrong_environment_active"),
        (kernel("/usr/bin/python3", "/usr", "name"), Severity.ERROR, "wrong_environment_active"),
        (kernel("", ""), Severity.ERROR, "python_environment_broken"),
        (kernel("", "", "name"), Severity.NOTE, "python_environment_broken"),
        (kernel("/home/ada/.pyenv/shims/python", ""), None, ""),  # a file that is no environment's tells nothing
        (kernel("/opt/unread/bin/python", "/opt/unread"), Severity.NOTE, "wrong_environment_active"),
    ],
)
def test_a_kernel_that_starts_another_python(start: Start, severity: Severity | None, cause: str):
    found = list(another_python_runs(machine(start)))
    assert [(f.severity, f.cause) for f in found] == ([] if severity is None else [(severity, cause)])
    assert all(f.ways == (start.id,) and f.title.startswith("Only in notebooks (ml)") for f in found)


@pytest.mark.parametrize(
    ("fault", "source", "lacks", "cause", "says"),
    [
        ("without call", "C:\\p\\run.bat:3", (), "process_env_not_inherited", "C:\\p\\run.bat:3 ends this file"),
        ("exits", "C:\\p\\run.bat:3", (), "process_env_not_inherited", "C:\\p\\run.bat:3 ends this file"),
        ("no command", "C:\\p\\run.bat:3", (), "process_env_not_inherited", "C:\\p\\run.bat:3 starts nothing"),
        ("not read", "C:\\p\\run.bat", (), "process_env_not_inherited", "C:\\p\\run.bat is in UTF-16"),
        ("policy", "C:\\p\\run.ps1", (), "process_env_not_inherited", "execution policy refuses scripts"),
        (
            "folder not searched",
            "C:\\py\\python311._pth",
            ("comfy",),
            "python_environment_broken",
            "does not find comfy",
        ),
        (
            "variable not read",
            "C:\\py\\python311._pth",
            ("mynodes",),
            "python_environment_broken",
            "which is in a folder of PYTHONPATH",
        ),
        (
            "pth files not read",
            "C:\\py\\python311._pth",
            ("facetools",),
            "python_environment_broken",
            "does not find facetools, to which",
        ),
        (
            "not in this folder",
            "C:\\Windows\\System32",
            (),
            "process_env_not_inherited",
            "is not in C:\\Windows\\System32",
        ),
        (
            "not of this account",
            "C:\\Users\\ada\\AppData\\Roaming\\Python\\Python311\\site-packages",
            ("torch",),
            "process_env_not_inherited",
            "which only this person's account has",
        ),
    ],
)
def test_a_start_that_ends_although_the_python_is_right(
    fault, source: str, lacks: tuple[str, ...], cause: str, says: str
):
    one = StartedPython(
        name="python", path=f"{PREFIX}/python", prefix=PREFIX, seems=PREFIX, why="lies in it",
        source=source, program="C:\\p\\main.py", lacks=lacks, fault=fault,
    )  # fmt: skip
    (found,) = another_python_runs(
        machine(Start(id="script:C:\\p\\run.bat", kind="script", at="C:\\p\\run.bat", runs=(one,)))
    )
    assert (found.severity, found.cause, says in found.title) == (Severity.WARNING, cause, True)
    assert found.fix is not None
    named = {
        "not in this folder": one.program,
        "not of this account": "torch",
        "no command": "own Python",
        "policy": "-ExecutionPolicy Bypass",
    }.get(fault, source)
    assert named in found.fix.title
    if fault == "not of this account":  # pip that sees the person's own copy is satisfied with it, and installs none
        assert found.fix.advice.endswith("/bin/python -s -m pip install torch")


@pytest.mark.parametrize(
    ("source", "last"),
    [
        ("/h/spyder.ini:7", "Name this Python in /h/spyder.ini, line 7."),
        ("/h/.bashrc:3", ""),
    ],
)
def test_the_line_that_names_another_python_is_told(source: str, last: str):
    """A line elsewhere leads to that Python, and names no program."""
    one = StartedPython(
        name="python3",
        path="/usr/bin/python3",
        prefix="/usr",
        seems=PREFIX,
        why="imports",
        source=source,
        lacks=("torch",),
    )
    (found,) = another_python_runs(
        machine(Start(id="editor:/h/spyder.ini", kind="editor", at="/h/spyder.ini", runs=(one,)))
    )
    assert found.fix is not None
    assert found.fix.advice == "\n".join((f"{PREFIX}/bin/python", *([last] if last else [])))


@pytest.mark.parametrize(
    ("file", "kind", "kernel_there", "edited"),
    [
        ("/home/ada/.config/x.ini", "editor", False, True),
        ("/home/ada/k/kernel.json", "notebook", True, True),
        ("/home/ada/k/kernel.json", "notebook", False, False),
        ("/etc/systemd/user/x.service", "service", False, False),
    ],
)
def test_the_line_is_edited_where_it_is_the_persons_own(file: str, kind: StartKind, kernel_there: bool, edited: bool):
    row = StartLine(name=INTERPRETER, does="set", value="/usr/bin/python3", file=file, line=7, form="json")
    one = StartedPython(name="python3", path="/usr/bin/python3", prefix="/usr", seems=PREFIX, why="lies in it",
                        source=file, lacks=("torch",), named_by=(row,))  # fmt: skip
    seen = machine(Start(id=f"{kind}:{file}", kind=kind, at=file, runs=(one,)))
    kernel = (Distribution(name="ipykernel", version="7.1.0"),) if kernel_there else ()
    its = replace(seen.pythons[0], distributions=(*seen.pythons[0].distributions, *kernel))
    seen = replace(seen, pythons=(its, *seen.pythons[1:]))
    (found,) = another_python_runs(seen)
    whole = attach_changes(found, seen)
    assert whole.fix is not None
    assert ("-m pip install ipykernel" in whole.fix.advice) is (kind == "notebook" and not kernel_there)
    lines = [(c.path, c.line, c.entry, c.value, c.starts) for c in whole.fix.changes if isinstance(c, EditLine)]
    assert lines == ([(file, 7, "/usr/bin/python3", its.executable, (f"{kind}:{file}",))] if edited else [])


@pytest.mark.parametrize(
    ("file", "value", "told"),
    [
        (f"{PREFIX}/bin/activate", "/old/venv", True),
        (f"{PREFIX}/bin/activate", PREFIX, False),
        ("/home/ada/.bashrc", "/old/venv", False),
    ],
    ids=["moved", "in its place", "another file"],
)
def test_the_activation_that_leads_to_another_folder_is_shown(file: str, value: str, told: bool):
    row = StartLine(name="VIRTUAL_ENV", does="set", value=value, file=file, line=2, form="cmd")
    one = StartedPython(
        name="python3", path="/usr/bin/python3", prefix="/usr", seems=PREFIX, why="imports", lacks=("torch",)
    )
    start = Start(id="script:run.sh", kind="script", at="run.sh", runs=(one,), lines=(row,))
    (found,) = another_python_runs(machine(start))
    assert ((value, f"{file}:2") in [(e.value, e.source) for e in found.evidence]) is told


def test_an_alias_of_the_store_is_no_python():
    one = StartedPython(
        name="C:\\WindowsApps\\python.exe", path="", prefix="", seems=PREFIX, why="imports", lacks=("torch",), fault="opens the Store"
    )  # fmt: skip
    (found,) = another_python_runs(machine(Start(id="script:run.bat", kind="script", at="run.bat", runs=(one,))))
    assert (found.severity, found.cause) == (Severity.ERROR, "python_environment_broken")
    assert "WindowsApps\\python.exe only opens the Microsoft Store" in found.title


def test_a_notebook_whose_kernel_is_gone():
    one = StartedPython(name="vision", path="", prefix="", seems=PREFIX, why="kernel", source="/w/train.ipynb")
    (found,) = another_python_runs(
        machine(Start(id="notebook:/w/train.ipynb", kind="notebook", at="/w/train.ipynb", runs=(one,)))
    )
    assert (found.severity, found.cause) == (Severity.ERROR, "python_environment_broken")
    assert found.title == "Only in notebooks (train.ipynb): The notebook asks for the kernel vision, which is not here."
    assert found.fix is not None
    assert f"--prefix {PREFIX} --name vision" in found.fix.advice


@pytest.mark.parametrize(
    ("why", "at", "place"),
    [
        ("kernel", "C:\\w\\train.ipynb", "--prefix C:\\ml --name vision"),
        ("name", "C:\\ada\\Roaming\\jupyter\\kernels\\ml\\kernel.json", "--user --name ml"),
        ("lies in it", "C:\\ml\\share\\jupyter\\kernels\\python3\\kernel.json", "--prefix C:\\ml --name python3"),
    ],
)
def test_a_kernel_is_registered_by_the_environments_interpreter_where_jupyter_finds_it(why: str, at: str, place: str):
    windows = Machine(system="windows", architecture="x86_64")
    home = python(prefix="C:\\ml", executable="C:\\ml\\Scripts\\python.exe", site_packages=())
    one = StartedPython(name="vision", path="", prefix="", seems="C:\\ml", why=why)
    start = Start(id="notebook:k", kind="notebook", at=at, runs=(one,))
    (found,) = another_python_runs(replace(machine(start), machine=windows, pythons=(home,)))
    assert found.fix is not None
    assert f"C:\\ml\\Scripts\\python.exe -m ipykernel install {place}" in found.fix.advice


WINDOWS = Machine(system="windows", architecture="x86_64")
HOME = python(prefix="C:\\ml", executable="C:\\ml\\Scripts\\python.exe", site_packages=("C:\\ml\\Lib\\site-packages",))


def of_batch_file(**fields) -> Fix:
    """Return what is told of a batch file that starts the Python of C:\\tools instead of that of C:\\ml."""
    tools = python(prefix="C:\\tools", distributions=(), site_packages=())
    one = StartedPython(name="python.exe", path="C:\\tools\\Scripts\\python.exe", prefix="C:\\tools", seems="C:\\ml", why="imports",
                        source="C:\\p\\run.bat", lacks=("torch",), **fields)  # fmt: skip
    start = Start(id="script:run.bat", kind="script", at="C:\\p\\run.bat", runs=(one,))
    seen = replace(machine(start, other=tools), machine=WINDOWS, pythons=(HOME, tools))
    (found,) = another_python_runs(seen)
    whole = attach_changes(found, seen)
    assert whole.fix
    return whole.fix


@pytest.mark.parametrize("brought_by", ["streamlit 1.39.0", ""])
def test_a_command_that_the_environment_lacks_is_installed_there(brought_by: str):
    fix = of_batch_file(command="C:\\tools\\Scripts\\streamlit.exe", brought_by=brought_by)
    wishes = [c.install for c in fix.changes if isinstance(c, ExchangePackages)]
    assert wishes == ([("streamlit==1.39.0",)] if brought_by else [])
    assert ("pip install streamlit==1.39.0" in fix.advice) is bool(brought_by)


def test_the_file_is_named_where_no_line_is_known():
    assert of_batch_file().advice == "C:\\ml\\Scripts\\python.exe\nName this Python in C:\\p\\run.bat."


@pytest.mark.parametrize("line", ["source ml/bin/activate", "C:\\p\\ml\\Scripts\\activate.bat"])
def test_the_line_that_activates_the_environment_is_written_out(line: str):
    fix = of_batch_file(dead=line)
    assert fix.advice.endswith(f"In C:\\p\\run.bat, in the place of {line}:\ncall C:\\ml\\Scripts\\activate.bat")


def test_an_environment_of_condas_is_activated_by_conda():
    conda = replace(HOME, kind="conda", executable="C:\\ml\\python.exe")
    one = StartedPython(name="python.exe", path="C:\\tools\\Scripts\\python.exe", prefix="C:\\tools", seems="C:\\ml", why="imports",
                        source="C:\\p\\run.bat", lacks=("torch",), dead="conda activate m1")  # fmt: skip
    start = Start(id="script:run.bat", kind="script", at="C:\\p\\run.bat", runs=(one,))
    tools = python(prefix="C:\\tools", distributions=(), site_packages=())
    seen = replace(machine(start, other=tools), machine=WINDOWS, pythons=(conda, tools))
    (found,) = another_python_runs(seen)
    assert found.fix is not None
    assert found.fix.advice.endswith("in the place of conda activate m1:\ncall conda activate C:\\ml")


@pytest.mark.parametrize("has", [("conda",), ()])
def test_where_path_has_no_conda_its_own_folder_activates(has: tuple[str, ...]):
    conda = replace(HOME, kind="conda", executable="C:\\ml\\python.exe")
    one = StartedPython(name="python.exe", path="C:\\tools\\python.exe", prefix="C:\\tools", seems="C:\\ml", why="imports",
                        source="C:\\p\\run.bat", lacks=("torch",), dead="conda activate ml", finds_no_conda=True)  # fmt: skip
    start = Start(id="script:run.bat", kind="script", at="C:\\p\\run.bat", runs=(one,))
    its = python(
        prefix="C:\\conda", kind="conda", distributions=tuple(Distribution(name=n, version="24.9.2") for n in has)
    )
    tools = python(prefix="C:\\tools", distributions=())
    seen = replace(machine(start, other=tools), machine=WINDOWS, pythons=(replace(conda, prefix="C:\\ml"), its, tools))
    (found,) = another_python_runs(seen)
    assert found.fix is not None
    last = "call C:\\conda\\Scripts\\activate.bat C:\\ml" if has else "C:\\ml\\python.exe"
    assert found.fix.advice.splitlines()[-1] == last
    assert "Outside a prompt of conda's, PATH has no program of this name" in [row.label for row in found.evidence]


def test_the_same_packages_elsewhere_are_a_note():
    twin = replace(SYSTEM, distributions=(Distribution(name="torch", version="2.6.0"),))
    (found,) = another_python_runs(machine(kernel("/usr/bin/python3", "/usr"), other=twin))
    assert found.severity is Severity.NOTE


@pytest.mark.parametrize(
    ("has", "severity"), [((), Severity.ERROR), (("torch",), Severity.NOTE), (None, Severity.NOTE)]
)
def test_what_an_environment_has_that_nothing_else_led_to(has: tuple[str, ...] | None, severity: Severity):
    start = kernel("/old/env/bin/python", "/old/env", "activated")
    (found,) = another_python_runs(machine(replace(start, runs=(replace(start.runs[0], has=has),))))
    assert found.severity is severity


def test_the_way_stays_the_findings_own():
    first = diagnose(machine(kernel("/usr/bin/python3", "/usr")))[0]
    assert first.cause == "wrong_environment_active"
    assert first.ways == ("notebook:/k/ml/kernel.json",)


@pytest.mark.parametrize(("sure", "severity"), [(True, Severity.ERROR), (False, Severity.NOTE)])
def test_a_service_whose_python_lacks_what_its_program_imports(sure: bool, severity: Severity):
    one = StartedPython(
        name="python3", path="/usr/bin/python3", prefix="/usr", seems=PREFIX, why="imports", program="/srv/x.py",
        lacks=("torch",), sure=sure,
    )  # fmt: skip
    start = Start(id="service:/u/x.service", kind="service", at="/u/x.service", runs=(one,))
    (found,) = another_python_runs(machine(start))
    assert (found.severity, found.cause, found.ways) == (severity, "wrong_environment_active", (start.id,))
    assert found.why.startswith("/srv/x.py imports torch")
    assert found.fix is not None
    assert f"{PREFIX}/bin/python" in str(found.fix)


def tool(state, owner: str = "triton 3.4.0", name: str = "ptxas") -> UnfitTool:
    return UnfitTool(
        prefix=PREFIX,
        reader="triton 3.4.0",
        name=name,
        path=f"/env/{name}",
        state=state,
        runs=name == "ptxas",
        owner=owner,
    )


TOOLS: list[tuple[UnfitTool, str, bool]] = [
    (tool("absent"), "corrupt_or_truncated_file", True),
    (tool("absent", ""), "build_tools_missing", False),
    (tool("absent", "", "libdevice.10.bc"), "libdevice_not_found", False),
    (tool("not executable"), "build_tools_missing", True),
    (tool("noexec"), "noexec_mount", False),
    (tool("unreadable"), "library_unreadable", False),
    (tool("damaged", name="libdevice.10.bc"), "corrupt_or_truncated_file", True),
    (tool("wrong architecture"), "dll_wrong_architecture", True),
]


@pytest.mark.parametrize(("unfit", "cause", "cured"), TOOLS)
def test_a_tool_that_cannot_serve(unfit: UnfitTool, cause: str, cured: bool):
    (found,) = tools.unfit_tools(machine(framework_tools=(unfit,)))
    assert (found.severity, found.cause, found.remedy is not None) == (Severity.ERROR, cause, cured)
    assert unfit.name in found.title
    assert found.fix is not None


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("VENV_DIR ", " C:\\ml", "with the blank in its name"),
        ("VENV_DIR", '"C:\\ml"', "blanks and quotation marks"),
    ],
)
def test_a_blank_that_set_keeps_is_told_as_the_cause(name: str, value: str, says: str):
    row = StartLine(name=name, does="set", value=value, file="C:\\p\\run.bat", line=3, form="cmd")
    one = StartedPython(
        name="python.exe",
        path="/usr/bin/python3",
        prefix="/usr",
        seems=PREFIX,
        why="imports",
        lacks=("torch",),
        misset=row,
    )
    start = Start(id="script:run.bat", kind="script", at="C:\\p\\run.bat", runs=(one,))
    (told,) = another_python_runs(machine(start))
    assert (told.cause, told.remedy) == ("variable_value_wrong", None)
    assert says in told.why
    assert any("run.bat:3" in e.source and "VENV_DIR" in e.value for e in told.evidence)
    assert told.fix
    assert 'set "VENV_DIR=C:\\ml"' in told.fix.advice


@pytest.mark.parametrize(
    ("fault", "kind", "says", "types"),
    [
        ("no shell", "service", "No shell reads the command in /u/x.service:5: cd is no program.", f"{PREFIX}/bin/python main.py"),
        ("no conda", "cron", "/u/x.service:5 ends before it starts Python", f"{PREFIX}/bin/python main.py"),
        ("percent", "cron", "cron ends the command in /u/x.service:5 at its first percent sign.", "$(date +\\%F)"),
        ("program not there", "service", "cd is not in /u/x.service:5, where this starts.", "WorkingDirectory=main.py"),
        ("program not there", "launcher", "cd is not in", "Path=main.py"),
    ],
)  # fmt: skip
def test_a_start_that_does_not_come_to_its_python(fault, kind: StartKind, says: str, types: str):
    one = StartedPython(
        name="cd", path=f"{PREFIX}/bin/python", prefix=PREFIX, seems=PREFIX, why="activated",
        source="/u/x.service:5", program="main.py", fault=fault,
    )  # fmt: skip
    start = Start(id=f"{kind}:/u/x.service", kind=kind, at="/u/x.service", runs=(one,))
    (found,) = another_python_runs(machine(start))
    assert (found.severity, found.cause, says in found.title) == (Severity.ERROR, "process_env_not_inherited", True)
    assert found.fix is not None
    assert types in found.fix.advice.splitlines()


@pytest.mark.parametrize(
    ("fault", "refused", "name", "says", "advice"),
    [
        ("file refused", "backslash", "Invalid \\escape", "/w/a.py:3 reads /w/a.json, which json refuses.", "/ or \\\\ in a path"),
        ("file refused", "mark", "Unexpected UTF-8 BOM", "/w/a.py:3 reads /w/a.json, which json refuses.", "without a byte order mark"),
        ("place not expanded", "", "w\ta.json", r"/w/a.py:3 opens 'w\ta.json'", "/w/a.json"),
        ("place not expanded", "", "~/a.json", "/w/a.py:3 opens ~/a.json", "/w/a.json"),
        ("block", "", "VENV", "%VENV% has not its value there yet", "!VENV!"),
        ("no command", "", "&&", "&& is no command there", "a line of its own"),
    ],
)  # fmt: skip
def test_what_is_told_of_a_line_that_ends_a_program(fault, refused, name: str, says: str, advice: str):
    one = StartedPython(
        name=name, path=f"{PREFIX}/bin/python", prefix=PREFIX, seems=PREFIX, why="imports", source="/w/a.py:3",
        program="/w/a.json", command="json", fault=fault, refused=refused,
    )  # fmt: skip
    (found,) = another_python_runs(machine(Start(id="script:/w/a.py", kind="script", at="/w/a.py", runs=(one,))))
    assert found.fix is not None
    assert says in found.title
    assert advice in f"{found.fix.title} {found.fix.advice}"


def test_a_program_whose_metadata_do_not_list_what_it_imports():
    one = StartedPython(
        name="main.py", path=f"{PREFIX}/bin/python", prefix="", seems=PREFIX, why="imports", source="/w/main.py",
        program="/w/main.py", lacks=("torch",), fault="own packages",
    )  # fmt: skip
    (found,) = another_python_runs(machine(Start(id="script:/w/run.sh", kind="script", at="/w/run.sh", runs=(one,))))
    assert (found.severity, found.cause) == (Severity.ERROR, "wrong_environment_active")
    assert "/w/main.py gets an environment of its own, without torch." in found.title
    assert found.fix is not None
    assert "uv add --script /w/main.py torch" in found.fix.advice.splitlines()


NAMED_BY_OTHERS = '/w/a "b"; touch gone; $(touch gone) `touch gone`/main.py'
"""A name that whoever made a project can choose, and that must not become a command."""


@pytest.mark.parametrize(
    ("fault", "name", "words"),
    [
        ("misnamed file", "KEY", ["mv", NAMED_BY_OTHERS, NAMED_BY_OTHERS]),
        ("no conda", "", [f"{PREFIX}/bin/python", NAMED_BY_OTHERS]),
        ("own packages", "", ["uv", "add", "--script", NAMED_BY_OTHERS, "torch"]),
        ("not searched", "sys.path", ["cd", NAMED_BY_OTHERS]),
        ("not searched", "uvicorn", ["cd", NAMED_BY_OTHERS]),
        ("not searched", "pytest", ["python", "-m", "pytest"]),
        ("program not there", "main.py", ["cd", NAMED_BY_OTHERS, "&&", "..."]),
        (
            "not searched",
            "",
            ["cd", NAMED_BY_OTHERS, "&&", f"PYTHONPATH={NAMED_BY_OTHERS}", "python", NAMED_BY_OTHERS],
        ),
    ],
)
def test_a_name_in_a_command_is_one_word(fault, name: str, words: list[str]):
    one = StartedPython(
        name=name, path=f"{PREFIX}/bin/python", prefix=PREFIX, seems=PREFIX, why="imports", lacks=("torch",),
        source=NAMED_BY_OTHERS, program=NAMED_BY_OTHERS, command="" if fault == "own packages" else NAMED_BY_OTHERS, fault=fault,
    )  # fmt: skip
    (found,) = another_python_runs(machine(Start(id="script:/w/run.sh", kind="script", at="/w/run.sh", runs=(one,))))
    assert found.fix is not None
    commands = [line for line in found.fix.advice.splitlines() if line.startswith(words[0])]
    assert [shlex.split(line) for line in commands] == [words]


def test_a_variable_that_is_set_under_another_name():
    one = StartedPython(
        name="SLICES_RAW", path=f"{PREFIX}/bin/python", prefix=PREFIX, seems=PREFIX, why="imports", fault="variable not set",
        source="/w/main.py:3", command="SLICES_RAW_BASE",
    )  # fmt: skip
    (found,) = another_python_runs(machine(Start(id="script:/w/main.py", kind="script", at="/w/main.py", runs=(one,))))
    assert found.why.startswith("SLICES_RAW_BASE is set in its place")
    assert found.fix is not None
    assert found.fix.advice.splitlines()[-1] == 'export SLICES_RAW="$SLICES_RAW_BASE"'


def test_a_notebook_gets_the_kernel_that_it_asks_for_written_anew():
    one = StartedPython(
        name="python3", path="/usr/bin/python3", prefix="/usr", seems=PREFIX, why="imports", lacks=("torch",),
        source="/home/ada/.local/share/jupyter/kernels/python3/kernel.json",
    )  # fmt: skip
    (found,) = another_python_runs(
        machine(Start(id="notebook:/w/a.ipynb", kind="notebook", at="/w/a.ipynb", runs=(one,)))
    )
    assert found.fix is not None
    assert found.fix.advice.splitlines()[-1].endswith("-m ipykernel install --prefix /home/ada/.local --name python3")


def test_a_name_that_path_does_not_have():
    one = StartedPython(name="python", path="", prefix="", seems=PREFIX, why="imports", lacks=("torch",))
    (found,) = another_python_runs(machine(Start(id="cron:x", kind="cron", at="/etc/cron.d/x", runs=(one,))))
    assert (found.cause, "no program python in PATH" in found.title) == ("wrong_environment_active", True)


@pytest.mark.parametrize(
    ("fault", "row", "name", "words"),
    [
        (
            "line without effect",
            StartLine(name="PYTHONPATH", does="set", value=r"C:\libs", file=r"C:\p\run.bat", line=2, form="setx", overridden=True),
            "python.exe",
            ("to which C:\\p\\run.bat:2 leads", "setx gives a variable", 'set "PYTHONPATH=C:\\libs"'),
        ),
        (
            "line without effect",
            StartLine(name="PYTHONPATH", does="set", value=r"C:\libs", file=r"C:\p\env.bat", line=2, form="setlocal", overridden=True),
            "python.exe",
            ("to which C:\\p\\run.bat:2 leads", "after setlocal", 'set "PYTHONPATH=C:\\libs"'),
        ),
        (
            "line without effect",
            StartLine(name="PYTHONPATH", does="set", value='"C:\\libs"', file=r"C:\p\run.bat", line=2, form="cmd"),
            "python.exe",
            ("to which C:\\p\\run.bat:2 leads", "quotation marks", 'set "PYTHONPATH=C:\\libs"'),
        ),
        ("batch in UTF-8", None, "C:\\Müller", ("C:\\Müller", "code page", "chcp 65001")),
        ("variable not set", None, "HF_TOKEN", ("HF_TOKEN", "which is not read here", "setx /M HF_TOKEN")),
        ("not of this account", None, "tools", ("tools", "another account", "SystemPropertiesAdvanced")),
    ],
)  # fmt: skip
def test_what_keeps_something_from_a_program_on_windows(
    fault, row: StartLine | None, name: str, words: tuple[str, str, str]
):
    one = StartedPython(
        name=name, path=f"{PREFIX}\\python.exe", prefix=PREFIX, seems=PREFIX, why="imports", misset=row,
        source="C:\\p\\run.bat:2", program="C:\\p\\main.py", lacks=("tools",), fault=fault,
    )  # fmt: skip
    its = machine(Start(id="script:C:\\p\\run.bat", kind="script", at="C:\\p\\run.bat", runs=(one,)))
    (found,) = another_python_runs(replace(its, machine=replace(its.machine, system="windows")))
    assert found.fix is not None
    title, why, advice = words
    assert (title in found.title, why in found.why, advice in found.fix.advice) == (True, True, True)


@pytest.mark.parametrize(("dead", "sourced"), [("/p/setup.sh", True), ("/home/ada/.bashrc", False)])
def test_a_script_that_is_run_is_to_be_sourced(dead: str, sourced: bool):
    one = StartedPython(name="python3", path="/usr/bin/python3", prefix="/usr", seems=PREFIX, why="imports", source="/p/run.sh", lacks=("torch",), dead=dead)  # fmt: skip
    (found,) = another_python_runs(machine(Start(id="script:/p/run.sh", kind="script", at="/p/run.sh", runs=(one,))))
    assert found.fix is not None
    assert (f"source this script, and do not run it: {dead}" in found.fix.advice) is sourced
    assert ("in a shell of its own" in found.why, "without a terminal" in found.why) == (sourced, not sourced)


def test_an_image_that_installs_beside_its_python():
    one = StartedPython(name="python3", path=f"{PREFIX}/bin/python", prefix=PREFIX, seems=PREFIX, why="activated", source="/p/Dockerfile:5", fault="activation ends", command="uv sync")  # fmt: skip
    (found,) = another_python_runs(
        machine(Start(id="task:/p/Dockerfile", kind="task", at="/p/Dockerfile", runs=(one,)))
    )
    assert (found.cause, found.severity) == ("wrong_environment_active", Severity.ERROR)
    assert "uv sync in /p/Dockerfile:5 makes an environment" in found.title
