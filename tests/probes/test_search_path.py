"""sys.path read from files against what the real interpreters say, over many generated environments."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.model.facts import SearchEntry
from core.probes.python.faults import environment_faults, ignored_lines
from core.probes.python.search import pth_text
from core.probes.python.search.search_path import (
    SYS_PATH,
    Interpreter,
    PythonSearch,
    later_entries,
    python_search_path,
    read_interpreter,
)
from core.probes.sysroot import Sysroot
from tests.probes.request import write

HERE = Sysroot(system="linux")
LAYOUTS = 10
"""Environments that are generated for each installed Python."""


def installed() -> Iterator[str]:
    """Yield the Pythons of this machine, from 3.8 on, each once: our own, the system's, pyenv's."""
    ours = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    versions = Path.home() / ".pyenv" / "versions"
    some = [ours, Path("/usr/bin/python3"), *sorted(versions.glob("3.*/bin/python3"))]
    known = {}
    for path in some:
        if path.exists() and all(not path.parts[-3].startswith(f"3.{old}.") for old in (6, 7)):
            known.setdefault(path.resolve(), path)
    yield from map(str, known.values())


PYTHONS = tuple(installed())

EGGS_BEGIN = "import sys; sys.__plen = len(sys.path)"
EGGS_END = (
    "import sys; new=sys.path[sys.__plen:]; del sys.path[sys.__plen:]; p=getattr(sys,'__egginsert',0); "
    "sys.path[p:p]=new; sys.__egginsert = p+len(new)"
)
"""What setup.py install and develop wrote around the eggs (setuptools below 44.1)."""


def make(root: Path, base: str, dice: random.Random) -> tuple[Path, dict[str, str], Path]:
    """Lay out an environment; return its interpreter, the variables and the working folder."""
    home, work = root / "home", root / "work"
    for folder in (home, work, *(root / f"extra{n}" for n in range(4)), work / "sub"):
        folder.mkdir(parents=True, exist_ok=True)
    env = {"HOME": str(home), "LC_ALL": "C.UTF-8"}
    executable = Path(base)
    short = subprocess.run(
        [base, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True, check=True
    ).stdout.strip()
    user = home / ".local" / "lib" / f"python{short}" / "site-packages"
    if dice.random() < 0.2:
        env["PYTHONUSERBASE"] = str(root / "base")
        user = root / "base" / "lib" / f"python{short}" / "site-packages"
    sites = []
    if dice.random() < 0.7:
        user.mkdir(parents=True)
        sites.append(user)
    if dice.random() < 0.7:
        prefix = root / "env"
        site = prefix / "lib" / f"python{short}" / "site-packages"
        site.mkdir(parents=True)
        (prefix / "bin").mkdir()
        executable = prefix / "bin" / "python"
        executable.symlink_to(base)
        system = dice.choice(["", "include-system-site-packages = false\n", "include-system-site-packages = true\n",
                              "Include-System-Site-Packages=TRUE\n"])  # fmt: skip
        (prefix / "pyvenv.cfg").write_text(f"home = {Path(base).parent}\n{system}")
        sites.append(site)
    for site in sites:
        for n in range(dice.randrange(3)):
            lines = dice.choices(
                [
                    str(root / "extra0"), str(root / "extra1") + "/", str(root / "gone"), "../site-packages", "sub", "./",
                    "# a comment", "", "   ", "import sys", f"import sys; sys.path.append({str(root / 'extra2')!r})",
                    f"import sys; sys.path.insert(0, {str(root / 'extra3')!r})",
                    f"import sys; sys.path += [{str(root / 'extra1')!r}, {str(root / 'extra3')!r}]",
                    f"import sys; sys.path[0:0] = [{str(root / 'extra1')!r}]",
                    f"import sys; sys.argv == 0 and sys.path.append({str(root / 'extra0')!r})",
                    f"import site; site.addsitedir({str(root / 'extra2')!r})", str(root / "extra1" / ".." / "extra0"),
                ],
                k=4,
            )  # fmt: skip
            (site / f"{dice.choice('abz_')}{n}.pth").write_text("\n".join(lines))
        if dice.random() < 0.5:
            (site / "sub").mkdir()
        if dice.random() < 0.5:
            eggs = [f"{name}-1.0-py3.egg" for name in "ab"][: dice.randrange(1, 3)]
            for egg in eggs:
                (site / egg).mkdir()
            (site / "easy-install.pth").write_text("\n".join((EGGS_BEGIN, *(f"./{egg}" for egg in eggs), EGGS_END)))
    (root / "extra2" / "more.pth").write_text(str(root / "extra1"))
    if dice.random() < 0.5:
        some = [
            "",
            ".",
            "sub",
            "nowhere",
            str(root / "extra0"),
            str(root / "extra1") + "/",
            str(root / "gone"),
            *map(str, sites),
        ]
        env["PYTHONPATH"] = ":".join(dice.choices(some, k=dice.randrange(4)))
    for name, chance in (("PYTHONNOUSERSITE", 0.2), ("PYTHONSAFEPATH", 0.2)):
        if dice.random() < chance:
            env[name] = dice.choice(["1", "", "0"])
    return executable, env, work


def asked(executable: Path, env: dict[str, str], work: Path) -> list[str]:
    """Return what the interpreter itself says, its working folder by name."""
    done = subprocess.run(
        [executable, "-B", "-c", "import json, sys; print(json.dumps(sys.path))"],
        env=env, cwd=work, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [str(work) if entry == "" else entry for entry in json.loads(done.stdout)]


def read(executable: Path, env: dict[str, str], work: Path) -> PythonSearch:
    """Return what the files say."""
    folder = executable.parent.parent
    prefix = folder if (folder / "pyvenv.cfg").exists() else executable.resolve().parent.parent
    python = read_interpreter(str(prefix), str(executable), HERE)
    assert python is not None
    return python_search_path(python, env, str(work), HERE)


@pytest.mark.parametrize("base", PYTHONS)
def test_what_is_read_is_what_the_interpreter_searches(base: str, tmp_path: Path):
    for seed in range(LAYOUTS):
        root = tmp_path / str(seed)
        root.mkdir()
        executable, env, work = make(root, base, random.Random(seed))
        said = asked(executable, env, work)
        assert [e.path for e in read(executable, env, work).entries] == said, (seed, env)
        shutil.rmtree(root)


def test_a_scripts_folder_comes_first_and_relative_entries_count_from_the_working_folder(tmp_path: Path):
    script = tmp_path / "tools/train.py"
    for folder in ("tools/mine", "mine"):
        (tmp_path / folder).mkdir(parents=True)
    script.write_text("import json, sys; print(json.dumps(sys.path))\n")
    base, env = (
        Path(getattr(sys, "_base_executable", sys.executable)).resolve(),
        {"PYTHONPATH": "mine", "HOME": "/nowhere"},
    )
    done = subprocess.run([base, "-B", script], env=env, cwd=tmp_path, capture_output=True, text=True, check=True)
    python = read_interpreter(str(base.parent.parent), str(base), HERE)
    assert python is not None
    found = python_search_path(python, env, str(script.parent), HERE, working=str(tmp_path))
    assert [e.path for e in found.entries] == json.loads(done.stdout)


def test_each_entry_tells_what_put_it_there(tmp_path: Path):
    prefix = tmp_path / "env"
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    site = prefix / "lib" / f"python{version}" / "site-packages"
    site.mkdir(parents=True)
    (tmp_path / "lib").mkdir()
    (prefix / "bin").mkdir()
    base = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    (prefix / "bin" / "python").symlink_to(base)
    (prefix / "pyvenv.cfg").write_text(f"home = {base.parent}\ninclude-system-site-packages = false\n")
    (site / "a.pth").write_text(f"# one\n{tmp_path}/lib\nimport os; os.environ.get('X')\n")
    (site / "sitecustomize.py").write_text("")
    found = read(prefix / "bin" / "python", {"PYTHONPATH": "/opt/x"}, tmp_path)
    mine = [e for e in found.entries if e.origin != "standard library"]
    assert [(e.path, e.origin, e.source, e.line) for e in mine] == [
        (str(tmp_path), "start", "", 0),
        ("/opt/x", "PYTHONPATH", "PYTHONPATH", 0),
        (str(site), "site-packages", "", 0),
        (f"{tmp_path}/lib", "pth", f"{site}/a.pth", 2),
    ]
    assert [(c.source, c.line, c.text) for c in found.start_code] == [
        (f"{site}/a.pth", 3, "import os; os.environ.get('X')"),
        (f"{site}/sitecustomize.py", 0, ""),
    ]


def on_windows(root: Path, prefix: str, env: dict[str, str], folder: str = r"C:\work") -> list[tuple[str, str]]:
    """Return path and origin of each entry of a Python of Windows that lies under ``root``."""
    where = Sysroot(system="windows", root=str(root))
    python = read_interpreter(prefix, "", where)
    assert python is not None
    return [(e.path, e.origin) for e in python_search_path(python, env, folder, where).entries]


def test_on_windows_as_getpath_and_site_have_it(tmp_path: Path):
    write(tmp_path, "C:/Python311/python.exe", b"MZ")
    write(tmp_path, "C:/Python311/python311.dll", b"MZ")
    write(tmp_path, "C:/Python311/Lib/os.py")
    write(tmp_path, "C:/Python311/Lib/site-packages/a.pth", "C:\\more\n")
    write(tmp_path, "C:/more/x")
    write(tmp_path, "C:/Users/ada/AppData/Roaming/Python/Python311/site-packages/x")
    env = {"AppData": r"C:\Users\ada\AppData\Roaming", "PYTHONPATH": r"D:\lib;C:\Python311\Lib"}
    assert on_windows(tmp_path, r"C:\Python311", env) == [
        (r"C:\work", "start"),
        (r"D:\lib", "PYTHONPATH"),
        (r"C:\Python311\Lib", "PYTHONPATH"),
        (r"C:\Python311\python311.zip", "standard library"),
        (r"C:\Python311\DLLs", "standard library"),
        (r"C:\Python311", "standard library"),
        (r"C:\Users\ada\AppData\Roaming\Python\Python311\site-packages", "user site"),
        (r"C:\Python311\Lib\site-packages", "site-packages"),
        (r"C:\more", "pth"),
    ]
    write(
        tmp_path, "C:/ml/pyvenv.cfg", "home = C:\\Python311\ninclude-system-site-packages = false\nversion = 3.11.4\n"
    )
    write(tmp_path, "C:/ml/Scripts/python.exe", b"MZ")
    write(tmp_path, "C:/ml/Lib/site-packages/x")
    assert on_windows(tmp_path, r"C:\ml", {}, "")[-2:] == [
        (r"C:\ml", "site-packages"),
        (r"C:\ml\Lib\site-packages", "site-packages"),
    ]


def test_the_stores_python_has_the_persons_packages_in_its_own_data(tmp_path: Path):
    """PC/python_uwp.cpp sets PYTHONUSERBASE when it starts, whatever the person has set it to."""
    family = "PythonSoftwareFoundation.Python.3.11"
    prefix = rf"C:\Program Files\WindowsApps\{family}_3.11.2544.0_x64__qbz5n2kfra8p0"
    its = (
        rf"C:\Users\ada\AppData\Local\Packages\{family}_qbz5n2kfra8p0\LocalCache\local-packages\Python311\site-packages"
    )
    write(tmp_path, f"{prefix}/python311.dll".replace("\\", "/"), b"MZ")
    write(tmp_path, f"{its}/x".replace("\\", "/"))
    write(tmp_path, "C:/Users/ada/AppData/Roaming/Python/Python311/site-packages/x")
    env = {"LOCALAPPDATA": r"C:\Users\ada\AppData\Local", "APPDATA": r"C:\Users\ada\AppData\Roaming"}
    assert [p for p, origin in on_windows(tmp_path, prefix, env) if origin == "user site"] == [its]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (".\nLib\n#import site\n", True),
        (".\nLib\nimport site\n", False),
        (".\nLib\\site-packages\n", False),
        (".\nlib/Site-Packages\n", False),
    ],
    ids=["as it comes", "with site", "named", "named in another way"],
)
def test_packages_that_a_pth_file_leaves_out_are_a_fault(lines: str, told: bool, tmp_path: Path):
    for name in ("python.exe", "python312.dll"):
        write(tmp_path, f"C:/tool/{name}", b"MZ")
    write(tmp_path, "C:/tool/python312._pth", lines)
    where = Sysroot(system="windows", root=str(tmp_path))
    python = read_interpreter(r"C:\tool", "", where)
    assert [
        f.kind for f in environment_faults(r"C:\tool", python, {}, where)
    ] == []  # without packages it is how it comes
    write(tmp_path, "C:/tool/Lib/site-packages/torch-2.8.0.dist-info/METADATA", "Name: torch\n")
    found = [(f.kind, f.path, f.detail) for f in environment_faults(r"C:\tool", python, {}, where)]
    left_out = ("packages not named", r"C:\tool\python312._pth", r"C:\tool\Lib\site-packages")
    assert found == ([left_out] if told else [])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_a_pth_file_that_powershell_wrote(encoding: str, tmp_path: Path):
    (tmp_path / "src").mkdir()
    (tmp_path / "site").mkdir()
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    (tmp_path / "site/lab.pth").write_bytes(f"{mark}{tmp_path / 'src'}\r\nimport os\r\n".encode(encoding))
    entries = [SearchEntry(path=str(tmp_path / "site"), origin="site-packages")]
    found = list(ignored_lines(entries, str(tmp_path), Sysroot("linux"), (3, 11), {}))
    assert [(f.kind, f.path, f.line) for f in found] == [("line ignored", str(tmp_path / "src"), 1)]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("\ufeff{src}", True),
        ("'{src}'", True),
        ("~/src", True),
        ("{src}", False),
        ("\ufeff{src}/gone", False),
        ("# '{src}'", False),
    ],
)
def test_a_line_of_a_pth_file_that_python_passes_over(line: str, told: bool, tmp_path: Path):
    (tmp_path / "src").mkdir()
    (tmp_path / "site").mkdir()
    (tmp_path / "site/lab.pth").write_text(line.format(src=tmp_path / "src") + "\n")
    entries = [SearchEntry(path=str(tmp_path / "site"), origin="site-packages")]
    entries += [] if told else [SearchEntry(path=str(tmp_path / "src"), origin="pth")]
    found = list(ignored_lines(entries, str(tmp_path), Sysroot("linux"), (3, 12), {}))
    assert [(f.kind, f.path, f.line) for f in found] == ([("line ignored", str(tmp_path / "src"), 1)] if told else [])


@pytest.mark.parametrize(
    ("encoding", "version", "env", "added"),
    [
        ("utf-8", "3.12", {}, False),
        ("utf-8", "3.12", {"PYTHONUTF8": "1"}, True),
        ("utf-8", "3.13", {}, True),
        ("cp1252", "3.12", {}, True),
        ("cp1252", "3.13", {}, True),
    ],
)
def test_a_path_in_other_letters_counts_in_the_encoding_that_python_reads(
    encoding: str, version: str, env: dict[str, str], added: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(pth_text, "LOCALE", "cp1252")
    source, site = "C:\\M\u00fcller\\src", r"C:\ml\Lib\site-packages"
    write(tmp_path, "C:/ml/pyvenv.cfg", f"home = C:\\Python\nversion = {version}.1\n")
    write(tmp_path, f"C:/Python/python{version.replace('.', '')}.dll", "")
    write(tmp_path, "C:/M\u00fcller/src/mine.py", "")
    write(tmp_path, "C:/ml/Lib/site-packages/mine.pth", f"{source}\n".encode(encoding))
    where = Sysroot(system="windows", root=str(tmp_path))
    python = read_interpreter(r"C:\ml", r"C:\ml\Scripts\python.exe", where)
    assert python is not None
    entries = python_search_path(python, env, "", where).entries
    assert (source in [e.path for e in entries if e.origin == "pth"]) == added
    passed_over = [(f.path, f.source) for f in ignored_lines(entries, "", where, python.version, env)]
    assert passed_over == ([] if added else [(source, site + r"\mine.pth")])


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="Python takes the mark away")
def test_a_mark_belongs_to_the_first_line(tmp_path: Path):
    (tmp_path / "src").mkdir()
    site_packages = tmp_path / "site"
    site_packages.mkdir()
    (site_packages / "lab.pth").write_text(f"\ufeff{tmp_path}/src\n")
    code = "import site, sys; site.addsitedir(sys.argv[1]); print(sys.argv[2] in sys.path)"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, site_packages, tmp_path / "src"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.strip() == "False"


def test_a_pth_file_of_its_own_replaces_the_search(tmp_path: Path):
    for name in ("python.exe", "python312.dll"):
        write(tmp_path, f"C:/tool/{name}", b"MZ")
    write(tmp_path, "C:/tool/python312._pth", "python312.zip\n.\n# a comment\nLib\n#import site\n")
    write(tmp_path, "C:/tool/Lib/site-packages/x")
    env = {"PYTHONPATH": r"D:\lib"}
    lines = [(r"C:\tool\python312.zip", "._pth"), (r"C:\tool", "._pth"), (r"C:\tool\Lib", "._pth")]
    assert on_windows(tmp_path, r"C:\tool", env) == lines
    write(tmp_path, "C:/tool/python312._pth", "python312.zip\n.\nLib\nimport site\n")
    assert on_windows(tmp_path, r"C:\tool", env) == [*lines, (r"C:\tool\Lib\site-packages", "site-packages")]


PDM = """import os, site, sys
from pathlib import Path
# PEP582_PACKAGES: as pdm/pep582/sitecustomize.py, without what it does for others
own = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [p for p in sys.path if p != own]
name = "__pypackages__/%d.%d/lib" % sys.version_info[:2]
found = next((str(f / name) for f in (Path.cwd(), *Path.cwd().parents) if (f / name).exists()), None)
if "PEP582_PACKAGES" in os.environ:
    found = os.path.join(os.environ["PEP582_PACKAGES"], "lib")
if found:
    known = set()
    site.addsitepackages(known)
    sys.path[:] = [p for p in sys.path if p not in known]
    site.addsitedir(found)
    site.addsitepackages(set())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="paths of Linux")
@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("there", ["work", "", "work/sub"])
def test_the_projects_own_packages_of_pdm_come_before_the_environments(there: str, given: bool, tmp_path: Path):
    short = f"{sys.version_info[0]}.{sys.version_info[1]}"
    base = str(Path(getattr(sys, "_base_executable", sys.executable)).resolve())
    (tmp_path / "pep582").mkdir()
    (tmp_path / "pep582/sitecustomize.py").write_text(PDM)
    (tmp_path / "work/sub").mkdir(parents=True)
    for folder in (tmp_path / there / f"__pypackages__/{short}/lib", tmp_path / "given/lib"):
        folder.mkdir(parents=True)
    prefix = tmp_path / "env"
    (prefix / f"lib/python{short}/site-packages").mkdir(parents=True)
    (prefix / "bin").mkdir()
    (prefix / "bin/python").symlink_to(base)
    (prefix / "pyvenv.cfg").write_text(f"home = {Path(base).parent}\n")
    env = {"PYTHONPATH": str(tmp_path / "pep582"), "HOME": str(tmp_path / "home")}
    env |= {"PEP582_PACKAGES": str(tmp_path / "given")} if given else {}
    work = tmp_path / "work"
    done = subprocess.run([prefix / "bin/python", "-c", "import json, sys; print(json.dumps(sys.path))"], cwd=work, env=env, capture_output=True, text=True, check=True)  # fmt: skip
    real = [p for p in json.loads(done.stdout) if Path(p or work).is_dir()]
    python = read_interpreter(str(prefix), str(prefix / "bin/python"), HERE)
    assert python is not None
    read = python_search_path(python, env, str(work), HERE)
    assert [e.path for e in read.entries if Path(e.path).is_dir()] == [p or str(work) for p in real]


def test_what_a_program_adds_on_windows(tmp_path: Path):
    """Windows knows variables in whichever letters, and what stands for sys.path is none of them."""
    python = Interpreter(r"C:\env", r"C:\Python311", (3, 11))
    env = {SYS_PATH: later_entries([(0, r"C:\old", r"C:\project\pytest.ini", 2)]), "Path": ""}
    path = python_search_path(python, env, "", Sysroot(system="windows", root=str(tmp_path)))
    assert [(e.path, e.source, e.line) for e in path.entries if e.origin == "pth"] == [
        (r"C:\old", r"C:\project\pytest.ini", 2)
    ]
