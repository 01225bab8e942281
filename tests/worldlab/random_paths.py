"""Faults of Python's search, drawn at random: one mechanism and one module that the framework's import really reaches.

``python -m tests.worldlab.random_paths --seed N --number M``: the real program in the copy says whether a draw is a fault; what
runs is a healthy machine, and the scan must be quiet.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import py_compile
import random
import shutil
import subprocess
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from tests.worldlab.environments import VERSION, copied, master, site, uv
from tests.worldlab.run import RIGHT, Outcome, convalesce, judge
from tests.worldlab.scene import Oracle, Ran, Scene, World

JAX_TOOLS = (
    "from jax._src import lib; assert lib.cuda_path, 'jax finds no CUDA'\n"
    "from jaxlib import plugin_support as p; assert p.import_from_plugin('cuda', '_versions'), 'no plug-in'"
)
"""What JAX asks before it uses a GPU."""
PROGRAMS: Mapping[str, tuple[str, str]] = {
    "torch-2.6": ("torch", "import torch; torch.ones(3).sum()"),
    "torch-2.8": ("torch", "import torch; torch.ones(3).sum()"),
    "jax": ("jax", f"import jax; jax.devices('cpu'); jax.numpy\n{JAX_TOOLS}"),
    "tensorflow": ("tensorflow", "import tensorflow as tf; tf.constant(1); tf.keras.Sequential"),
    "onnxruntime-1.23": ("onnxruntime", "import onnxruntime; onnxruntime.InferenceSession"),
    "ctranslate2": ("ctranslate2", "import ctranslate2; ctranslate2.Translator"),
    "cupy": ("cupy", "import cupy; cupy.ndarray"),
}
"""Environment -> its framework's module, and the person's program."""
OFTEN = ("torch-2.6", "torch-2.6", "torch-2.8", "jax", "jax", "tensorflow", "onnxruntime-1.23", "ctranslate2", "cupy")

SHADOWED = (
    "numpy_abi_mismatch",
    "module_shadowed",
    "package_for_another_python",
    "requirement_broken",
    "corrupt_or_truncated_file",
)
BROKEN = ("python_environment_broken", "variable_value_wrong")
LOST = (
    "corrupt_or_truncated_file",
    "installation_interrupted",
    "requirement_broken",
    "package_for_another_python",
    "libdevice_not_found",
    "cuda_runtime_missing",
)
PROJECT = ("installation_interrupted", "python_environment_broken", "module_shadowed", *LOST)

EXTENSION = f".cpython-{VERSION.replace('.', '')}-x86_64-linux-gnu.so"


@dataclass(frozen=True)
class Planted:
    """What was done, and what a right headline says."""

    what: str
    causes: tuple[str, ...]
    names: str
    """What the headline must name."""
    activated: bool = False
    """The program is also started through the activation."""
    also: str = ""
    """What the program asks besides."""


@dataclass(frozen=True)
class Drawn:
    """A copy in which something is planted, with the chance that decides."""

    world: World
    environment: str
    chance: random.Random

    @property
    def base(self) -> Path:
        """The prefix of the Python that the environment was made from."""
        return Path(os.path.realpath(self.world.python)).parent.parent

    def module(
        self, *kinds: str, fits: Callable[[Path, str, Path], bool] = lambda _site, _name, _file: True
    ) -> tuple[str, Path]:
        """Return a module at the top that the real import reaches, and its file; ``kinds``: own, packages or standard.

        ``fits`` is asked with the folder of packages, the name and the file.

        Raises:
            LookupError: there is none.
        """
        fitting = [
            (kind, name, file)
            for name, (kind, path) in sorted(reached(self.environment).items())
            if kind in kinds and fits(self.world.site, name, file := self._in_copy(path))
        ]
        if not fitting:
            raise LookupError(f"{self.environment} has no such module")
        there = {kind for kind, _name, _file in fitting}
        kind = self.chance.choice([k for k in kinds if k in there])
        return self.chance.choice([(name, file) for its, name, file in fitting if its == kind])

    def _in_copy(self, path: str) -> Path:
        """Return the copy's file for one of the master."""
        inner = os.path.relpath(path, site(master(self.environment)))
        return Path(path) if inner.startswith("..") else self.world.site / inner

    def text(self, path: Path, text: str) -> Path:
        """Write a file that is no link into the master."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_text(text)
        return path

    def sets(self, name: str, value: object) -> None:
        """Set a variable."""
        self.world.variables[name] = str(value)


@cache
def reached(environment: str) -> Mapping[str, tuple[str, str]]:
    """Return the modules at the top that the framework's import reaches: name -> own, packages or standard, and the file."""
    own, program = PROGRAMS[environment]
    code = (
        f"import sys; before = set(sys.modules)\n{program}\nimport json, os\n"
        "print('\\n=' + json.dumps({n: m.__file__ for n, m in sys.modules.items() if '.' not in n and n not in before"
        " and getattr(m, '__file__', None)})); sys.stdout.flush(); os._exit(0)"
    )
    prefix = master(environment)
    world = World(folder=prefix)
    given = {**world.environment(), "LD_LIBRARY_PATH": libraries(site(prefix)), "HOME": "/nowhere"}
    done = subprocess.run([prefix / "bin/python", "-c", code], capture_output=True, env=given, cwd="/", check=True, timeout=240)  # fmt: skip
    found = json.loads(done.stdout.decode().rpartition("\n=")[2])
    inside = str(site(prefix))
    return {
        name: ("own" if name == own else "packages" if path.startswith(inside) else "standard", path)
        for name, path in found.items()
        if path.endswith(".py") and name not in ("main", "__main__")
    }


def libraries(packages: Path) -> str:
    """Return NVIDIA's folders as LD_LIBRARY_PATH has them: some frameworks do not search them by themselves."""
    return ":".join(map(str, sorted(packages.glob("nvidia/*/lib"))))


# --- what lies in the way -----------------------------------------------------------------------------------------------


def in_the_way(drawn: Drawn, name: str, real: Path, folder: Path) -> str:
    """Put something with the name of a module into a folder; return what, in words."""
    whole = real.name == "__init__.py"
    kind = drawn.chance.choice(("text", "text", "text", "copy", "older", "older", "folder", "namespace", "compiled"))
    if kind in ("copy", "older"):
        source, target = (real.parent, folder / name) if whole else (real, folder / real.name)
        if whole:
            shutil.copytree(source, target, copy_function=os.link, ignore=shutil.ignore_patterns("tests", "__pycache__"))  # fmt: skip
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        return f"{kind} {older(drawn, target, real) if kind == 'older' else ''}".strip()
    if kind == "text":
        word = drawn.chance.choice(sorted(TEXTS))
        drawn.text(folder / f"{name}.py", TEXTS[word].format(own=PROGRAMS[drawn.environment][0]))
        return word
    if kind == "folder":
        word = drawn.chance.choice(("empty", "own"))
        drawn.text(folder / name / "__init__.py", TEXTS[word])
        return f"package, {word}"
    if kind == "namespace":
        drawn.text(folder / name / drawn.chance.choice(("notes.md", "helper.py")), "x = 1\n")
        return "folder without __init__"
    return compiled(drawn, folder / name)


TEXTS: Mapping[str, str] = {
    "own": "def main():\n    return 1\n\n\nif __name__ == '__main__':\n    main()\n",
    "empty": "",
    "program": "import {own}\n\nprint({own}.__version__)\n",
    "old Python": "print 'hello'\n",
    "arguments": "import sys\n\npath = sys.argv[1]\n",
}


def older(drawn: Drawn, target: Path, real: Path) -> str:
    """Take one definition out of a module; return its name."""
    file = target / real.name if target.is_dir() else target
    text = file.read_text(encoding="utf-8")
    body = ast.parse(text).body
    cuttable = [s for s in body if isinstance(s, ast.FunctionDef | ast.ClassDef | ast.ImportFrom | ast.Assign)]
    if not cuttable:
        return ""
    one = drawn.chance.choice(cuttable)
    lines = text.splitlines(keepends=True)
    first = min([one.lineno, *(d.lineno for d in getattr(one, "decorator_list", ()))])
    drawn.text(file, "".join((*lines[: first - 1], *lines[one.end_lineno :])))
    return lines[one.lineno - 1].strip()[:60]


def compiled(drawn: Drawn, path: Path) -> str:
    """Put something that was compiled in the way."""
    kind = drawn.chance.choice((".so", ".cpython-310-x86_64-linux-gnu.so", EXTENSION, ".pyc", "old.pyc"))
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind.endswith("pyc"):
        source = drawn.text(path.parent / "was.py", TEXTS["own"])
        file = path.with_name(f"{path.name}.pyc")
        py_compile.compile(str(source), cfile=str(file))
        source.unlink()
        if kind == "old.pyc":
            file.write_bytes(b"\x61\x0d" + file.read_bytes()[2:])
    else:
        path.with_name(path.name + kind).write_bytes(b"\x7fELF no library\n")
    return kind


# --- where it lies ------------------------------------------------------------------------------------------------------


def beside_program(drawn: Drawn) -> Planted:
    """Beside the program that is started."""
    return _hidden(drawn, drawn.world.home / "work", "beside the program")


def on_pythonpath(drawn: Drawn) -> Planted:
    """In a folder of PYTHONPATH."""
    folder = drawn.world.home / "tools"
    drawn.sets("PYTHONPATH", drawn.chance.choice((f"{folder}", f"/opt/gone:{folder}", f"{folder}:")))
    return _hidden(drawn, folder, f"PYTHONPATH={drawn.world.variables['PYTHONPATH']}")


def in_user_site(drawn: Drawn) -> Planted:
    """In the person's own packages, which an environment sees only with the system's."""
    if seen := drawn.chance.random() < 0.6:
        sees_system(drawn)
        parent(drawn)
    if off := drawn.chance.random() < 0.3:
        drawn.sets("PYTHONNOUSERSITE", "1")
    folder = drawn.world.home / f".local/lib/python{VERSION}/site-packages"
    return _hidden(drawn, folder, f"user site, {'seen' if seen else 'not seen'}{', off' if off else ''}")


def by_pth(drawn: Drawn) -> Planted:
    """In a folder that a .pth file names, at the end or in front."""
    folder = drawn.world.home / "shared"
    line = drawn.chance.choice(("{0}", "import sys; sys.path.insert(0, '{0}')", "import site; site.addsitedir('{0}')"))
    drawn.text(drawn.world.site / "company.pth", line.format(folder) + "\n")
    return _hidden(drawn, folder, f".pth: {line}")


def by_customize(drawn: Drawn) -> Planted:
    """In a folder that start-up code puts in front."""
    folder = drawn.world.home / "shared"
    where = drawn.chance.choice((drawn.world.site, drawn.world.home / "tools"))
    if where != drawn.world.site:
        drawn.sets("PYTHONPATH", where)
    name = drawn.chance.choice(("sitecustomize", "usercustomize"))
    line = drawn.chance.choice(("sys.path.insert(0, {0!r})", "sys.path.append({0!r})", "sys.path[:0] = [{0!r}]", "sys.path = [{0!r}] + sys.path"))  # fmt: skip
    drawn.text(where / f"{name}.py", "import sys\n\n" + line.format(str(folder)) + "\n")
    return _hidden(drawn, folder, f"{name}: {line}")


def safe_path(drawn: Drawn) -> Planted:
    """Beside the program, which is started without its folder."""
    drawn.sets("PYTHONSAFEPATH", drawn.chance.choice(("1", "0")))
    return _hidden(drawn, drawn.world.home / "work", f"PYTHONSAFEPATH={drawn.world.variables['PYTHONSAFEPATH']}")


def in_archive(drawn: Drawn) -> Planted:
    """In an archive on PYTHONPATH."""
    folder, archive = drawn.world.folder / "packed", drawn.world.home / drawn.chance.choice(("deps.zip", "own.egg"))
    told = _hidden(drawn, folder, "archive")
    with zipfile.ZipFile(archive, "w") as packed:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            packed.write(path, path.relative_to(folder))
    shutil.rmtree(folder)
    drawn.sets("PYTHONPATH", archive)
    return replace(told, names=str(archive))


def in_egg(drawn: Drawn) -> Planted:
    """In an egg or a checkout that easy-install.pth puts in front or at the end."""
    front = drawn.chance.random() < 0.5
    folder = drawn.world.site / "tools-1.0-py3.egg"
    lines = EGGS.splitlines(keepends=True)
    drawn.text(drawn.world.site / "easy-install.pth", "".join(lines if front else lines[1:2]))
    return _hidden(drawn, folder, f"egg, {'front' if front else 'end'}")


EGGS = """import sys; sys.__plen = len(sys.path)
./tools-1.0-py3.egg
import sys; new = sys.path[sys.__plen:]; del sys.path[sys.__plen:]; p = getattr(sys, '__egginsert', 0); sys.path[p:p] = new; sys.__egginsert = p + len(new)
"""


def _hidden(drawn: Drawn, folder: Path, where: str) -> Planted:
    name, real = drawn.module("own", "packages", "packages", "standard", "standard")
    folder.mkdir(parents=True, exist_ok=True)
    what = in_the_way(drawn, name, real, folder)
    return Planted(f"{where}: {name}: {what}", SHADOWED, str(folder / name))


def other_release(drawn: Drawn) -> Planted:
    """Another release of an installed package in a folder of PYTHONPATH, as ``pip install --target`` leaves it."""
    name, release = drawn.chance.choice(sorted(RELEASES[drawn.environment].items()))
    folder = drawn.world.home / "deps"
    python = drawn.chance.choice((VERSION, VERSION, "3.12"))
    uv("pip", "install", "--quiet", "--no-deps", "--python-version", python, "--target", str(folder), f"{name}{release}")  # fmt: skip
    drawn.sets("PYTHONPATH", folder)
    return Planted(f"--target for {python}: {name}{release}", SHADOWED, str(folder))


_TORCH = {"typing-extensions": "<4.9", "numpy": "==2.1.3", "sympy": "<1.12", "filelock": "<3.13", "jinja2": "<3", "networkx": "<3"}  # fmt: skip
RELEASES: Mapping[str, Mapping[str, str]] = {
    "torch-2.6": _TORCH,
    "torch-2.8": _TORCH,
    "jax": {"ml-dtypes": "<0.5", "numpy": "<2", "scipy": "<1.14", "opt-einsum": "<3.4"},
    "tensorflow": {"protobuf": "<5", "typing-extensions": "<4.6", "numpy": "==2.0.2", "absl-py": "<2", "wrapt": "<1.15", "h5py": "<3.11"},
    "onnxruntime-1.23": {"numpy": "<2", "protobuf": "<4", "packaging": "<22"},
    "ctranslate2": {"numpy": "<2", "pyyaml": "<6.0.2"},
    "cupy": {"numpy": "<2", "fastrlock": "<0.9"},
}  # fmt: skip
"""Environment -> a package that its framework imports, and releases that the environment does not have."""


# --- the environment itself ---------------------------------------------------------------------------------------------


def sees_system(drawn: Drawn) -> None:
    """Let the environment see the packages of its Python and of the person."""
    file = drawn.world.prefix / "pyvenv.cfg"
    drawn.text(file, file.read_text().replace("site-packages = false", "site-packages = true"))


def parent(drawn: Drawn) -> Path:
    """Give the environment a Python of its own as its base; return that one's folder of packages."""
    real, base = drawn.base, drawn.world.folder / "base"
    library = base / f"lib/python{VERSION}"
    (library / "site-packages").mkdir(parents=True)
    (base / "bin").mkdir()
    for path in (real / f"lib/python{VERSION}").iterdir():
        if path.name != "site-packages":
            (library / path.name).symlink_to(path)
    shutil.copy2(real / f"bin/python{VERSION}", base / f"bin/python{VERSION}")
    runs_base(drawn, base, VERSION)
    return library / "site-packages"


def runs_base(drawn: Drawn, base: Path, version: str) -> None:
    """Let the environment start another Python."""
    drawn.world.python.unlink()
    drawn.world.python.symlink_to(base / f"bin/python{version}")
    file = drawn.world.prefix / "pyvenv.cfg"
    lines = [f"home = {base}/bin" if line.startswith("home") else line for line in file.read_text().splitlines()]
    drawn.text(file, "\n".join(lines) + "\n")


def from_parent(drawn: Drawn) -> Planted:
    """A package that only the parent has, whole or older, in an environment that sees it or does not."""
    there = parent(drawn)
    name, real = drawn.module("packages", fits=is_alone)
    seen = drawn.chance.random() < 0.6
    if seen:
        sees_system(drawn)
    source = real.parent if real.name == "__init__.py" else real
    for info in infos(drawn.world.site, name):
        info.rename(there / info.name)
    target = there / source.name
    source.rename(target)
    cut = older(drawn, target, real) if drawn.chance.random() < 0.4 else ""
    return Planted(f"{name} of the parent, {'seen' if seen else 'not seen'} {cut}", PROJECT, name)


def infos(packages: Path, module: str) -> list[Path]:
    """Return the metadata of the distributions that record a module."""
    found = []
    for record in packages.glob("*.dist-info/RECORD"):
        rows = record.read_text(encoding="utf-8")
        if f"\n{module}/__init__.py," in f"\n{rows}" or f"\n{module}.py," in f"\n{rows}":
            found.append(record.parent)
    return found


def other_base(drawn: Drawn) -> Planted:
    """The Python beneath went, was upgraded, or lost its library."""
    kind = drawn.chance.choice(("gone", "upgraded", "patched", "library gone", "python link"))
    base = drawn.world.folder / "base"
    parent(drawn)
    if kind == "gone":
        shutil.rmtree(base)
    elif kind == "library gone":
        shutil.rmtree(base / "lib")
    elif kind in ("upgraded", "python link"):
        newer = another_python()
        version = ".".join(newer.name.split(".")[:2])
        if kind == "upgraded":
            runs_base(drawn, newer, version)
        else:
            drawn.world.python.unlink()
            drawn.world.python.symlink_to(newer / f"bin/python{version}")
    return Planted(f"base {kind}", (*BROKEN, "package_for_another_python"), str(drawn.world.folder))


def another_python() -> Path:
    """Return the prefix of an installed Python of another minor version.

    Raises:
        LookupError: there is none.
    """
    mine = Path(sys.base_prefix)
    for path in sorted(mine.parent.glob("3.1*")):
        if not path.name.startswith(f"{VERSION}.") and (path / "bin/python3").exists():
            return path
    raise LookupError(f"no other Python beside {mine}")


def moved(drawn: Drawn) -> Planted:
    """The environment was moved or copied: its scripts name the folder that it had."""
    old = drawn.world.folder / "old" / "env"
    if copied_one := drawn.chance.random() < 0.5:
        uv("venv", "--quiet", "--python", sys.executable, str(old))
    for path in (drawn.world.prefix / "bin").iterdir():
        if path.is_file() and not path.is_symlink() and (content := path.read_bytes()).count(b"\0") == 0:
            mode = path.stat().st_mode
            drawn.text(path, content.decode().replace(str(drawn.world.prefix), str(old))).chmod(mode)
    return Planted("copied" if copied_one else "moved", (*BROKEN, "wrong_environment_active"), str(old), activated=True)


def project(drawn: Drawn) -> Planted:
    """A package that is installed in editable mode from a folder of sources, which may have gone or changed."""
    name, real = drawn.module("packages", fits=is_alone)
    how = drawn.chance.choice(("pth", "finder", "egg-link"))
    state = drawn.chance.choice(("whole", "gone", "moved", "older", "src"))
    root = drawn.world.home / "code" / name
    source = root / "src" if state == "src" else root
    source.mkdir(parents=True)
    real.parent.rename(source / name)
    drawn.text(root / "pyproject.toml", f'[project]\nname = "{name}"\nversion = "1.0"\n')
    (info,) = infos(drawn.world.site, name)[:1]
    if how == "egg-link":
        shutil.rmtree(info)
        drawn.text(drawn.world.site / f"{name}.egg-link", f"{source}\n.")
        drawn.text(source / f"{name}.egg-info/PKG-INFO", f"Metadata-Version: 2.1\nName: {name}\nVersion: 9.0\n")
        drawn.text(drawn.world.site / "easy-install.pth", f"{source}\n")
    else:
        rows = f"__editable__.{name}-1.0.pth,,\n{info.name}/METADATA,,\n{info.name}/RECORD,,\n"
        drawn.text(info / "RECORD", rows)
        drawn.text(info / "direct_url.json", json.dumps({"dir_info": {"editable": True}, "url": f"file://{root}"}))
        pth = drawn.world.site / f"__editable__.{name}-1.0.pth"
        drawn.text(pth, f"{source}\n" if how == "pth" else finder(drawn, name, source / name))
    cut = older(drawn, source / name, real) if state == "older" else ""
    if state == "gone":
        shutil.rmtree(root)
    elif state == "moved":
        root.rename(root.with_name(f"{name}-new"))
    return Planted(f"editable by {how}: {name}, {state} {cut}", PROJECT, name)


def is_alone(packages: Path, name: str, real: Path) -> bool:
    """Return whether a package is all that its distribution has: no libraries beside it, no second package."""
    of = [info.name.partition("-")[0].lower() for info in infos(packages, name)]
    return real.name == "__init__.py" and of == [name.lower()] and not (packages / f"{name}.libs").exists()


def finder(drawn: Drawn, name: str, source: Path) -> str:
    """Write a finder as setuptools does; return the line that starts it."""
    module = f"__editable___{name}_1_0_finder"
    text = FINDER.replace("{name}", name).replace("{source}", str(source))
    drawn.text(drawn.world.site / f"{module}.py", text)
    return f"import {module}; {module}.install()"


FINDER = """import sys
from importlib.machinery import PathFinder
from importlib.util import spec_from_file_location
from pathlib import Path

MAPPING: dict[str, str] = {'{name}': '{source}'}


class _EditableFinder:
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        if fullname in MAPPING:
            init = Path(MAPPING[fullname], '__init__.py')
            return spec_from_file_location(fullname, init) if init.exists() else None
        return None


def install():
    if not any(finder == _EditableFinder for finder in sys.meta_path):
        sys.meta_path.append(_EditableFinder)
"""


# --- what is left of packages -------------------------------------------------------------------------------------------


def remains(drawn: Drawn) -> Planted:
    """An interrupted pip: a package has its name with a tilde, or stands beside what is left."""
    name, real = drawn.module("own", "packages", "packages", fits=lambda _site, _name, real: real.name == "__init__.py")
    whole, left = real.parent, real.parent.with_name("~" + name[1:])
    kind = drawn.chance.choice(("renamed", "renamed with its record", "beside"))
    if kind == "beside":
        drawn.text(left / "__init__.py", "")
    else:
        whole.rename(left)
        for info in infos(drawn.world.site, name) if "record" in kind else ():
            info.rename(info.with_name("~" + info.name[1:]))
    return Planted(f"~: {name} {kind}", LOST, name[1:])


def two_records(drawn: Drawn) -> Planted:
    """Two records of one package."""
    name, _real = drawn.module(
        "own", "packages", "packages", fits=lambda packages, name, _real: bool(infos(packages, name))
    )
    found = infos(drawn.world.site, name)
    own, _dash, version = found[0].name.removesuffix(".dist-info").partition("-")
    other = drawn.world.site / f"{own}-{drawn.chance.choice(('0.0.1', '99.0', version + '.post1'))}.dist-info"
    other.mkdir()
    for path in found[0].iterdir() if (full := drawn.chance.random() < 0.6) else ():
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            drawn.text(other / path.name, text.replace(f"\nVersion: {version}", f"\nVersion: {other.name.split('-')[1][:-5]}"))  # fmt: skip
    what = f"records: {found[0].name} and {other.name}{'' if full else ' (empty)'}"
    asks = f"import importlib.metadata as m; assert m.version('{own}') == '{version}', m.version('{own}')"
    return Planted(what, (*LOST, "duplicate_framework_packages"), own, also=asks)


def start_is_gone(drawn: Drawn) -> Planted:
    """A package lost its ``__init__``, or the source of a module whose byte code is left."""
    name, real = drawn.module("own", "packages", "packages", "packages")
    kind = drawn.chance.choice(("gone", "byte code beside", "byte code in __pycache__", "old byte code"))
    text = real.read_text(encoding="utf-8")
    source = drawn.text(real.with_name("was.py"), text)
    real.unlink()
    cached = real.parent / f"__pycache__/{real.stem}.cpython-{VERSION.replace('.', '')}.pyc"
    file = cached if "__pycache__" in kind else real.with_suffix(".pyc")
    if kind != "gone":
        file.parent.mkdir(exist_ok=True)
        file.unlink(missing_ok=True)
        py_compile.compile(str(source), cfile=str(file), dfile=str(real))
    if kind == "old byte code":
        file.write_bytes(b"\x61\x0d" + file.read_bytes()[2:])
    source.unlink()
    return Planted(f"{real.name} of {name}: {kind}", LOST, name)


def namespace(drawn: Drawn) -> Planted:
    """A folder of a namespace's name in another place, with ``__init__`` or without."""
    names = [n for n in ("google", "nvidia", "jax_plugins", "mpl_toolkits") if (drawn.world.site / n).is_dir()]
    name = drawn.chance.choice(names)
    folder = drawn.world.home / drawn.chance.choice(("work", "tools"))
    drawn.sets("PYTHONPATH", drawn.world.home / "tools")
    drawn.text(folder / name / "company/api.py", "")
    if closed := drawn.chance.random() < 0.5:
        drawn.text(folder / name / "__init__.py", "")
    what = f"namespace {name} in {folder.name}, {'with' if closed else 'without'} __init__"
    return Planted(what, (*SHADOWED, "libdevice_not_found"), str(folder / name))


# --- variables ----------------------------------------------------------------------------------------------------------


def variable(drawn: Drawn) -> Planted:
    """A variable of Python's own."""
    name, values = drawn.chance.choice(sorted(VARIABLES.items()))
    value = drawn.chance.choice(values).format(env=drawn.world.prefix, base=drawn.base, other=another_python(), home=drawn.world.home)  # fmt: skip
    drawn.text(drawn.world.home / "start.py", "raise SystemExit(1)\n")
    drawn.sets(name, value)
    return Planted(f"{name}={value}", BROKEN, name)


VARIABLES: Mapping[str, Sequence[str]] = {
    "PYTHONHOME": ("{env}", "{base}", "{other}", "/opt/gone", "{base}/"),
    "PYTHONSAFEPATH": ("1",),
    "PYTHONNOUSERSITE": ("1", "yes"),
    "PYTHONSTARTUP": ("{home}/start.py", "/opt/gone.py"),
    "PYTHONOPTIMIZE": ("1", "2", "yes"),
    "PYTHONDONTWRITEBYTECODE": ("1", ""),
    "PYTHONPATH": ("{base}/lib/python" + VERSION, "{other}/lib/python3.10", "{env}/lib/python" + VERSION + "/site-packages", ":", "{home}"),
    "PYTHONPYCACHEPREFIX": ("{home}/cache", "/proc/none"),
    "PYTHONPLATLIBDIR": ("lib64", "lib"),
    "PYTHONUSERBASE": ("{home}/other",),
    "PYTHONINSPECT": ("1",),
}  # fmt: skip


MECHANISMS: tuple[Callable[[Drawn], Planted], ...] = (
    *(beside_program, beside_program, beside_program, on_pythonpath, on_pythonpath, in_user_site, by_pth, by_pth),
    *(by_customize, safe_path, in_archive, in_egg, other_release, other_release, from_parent, other_base, moved),
    *(project, project, remains, two_records, start_is_gone, start_is_gone, namespace, variable, variable),
)


# --- one draw after the other -------------------------------------------------------------------------------------------


def oracle(*, activated: bool) -> Oracle:
    """Return what runs the person's program; ``activated``: through the activation, too."""

    def run(world: World) -> Ran:
        script = '. "$1/bin/activate" && exec python main.py'
        commands: list[Sequence[str | Path]] = [[world.python, "main.py"]]
        commands += [["bash", "-c", script, "bash", world.prefix]] if activated else []
        said = ""
        for command in commands:
            try:
                done = world.run(command)
            except (OSError, subprocess.TimeoutExpired) as e:
                return Ran(ok=False, said=str(e))
            said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()[-3000:]
            if b"this works" not in done.stdout:
                return Ran(ok=False, said=said or f"status {done.returncode}")
        return Ran(ok=True, said=said)

    return run


def examined(
    seed: str, number: int, among: Sequence[str], keep: Path | None, *, tries: bool = False
) -> tuple[Planted, Outcome]:
    """Draw, ask the real program, scan, judge; ``tries``: the scan carries out the imports of the program, too."""
    chance = random.Random(f"{seed} {number}")
    environment, mechanism = chance.choice(among), chance.choice(MECHANISMS)
    if mechanism is namespace and environment.startswith(("torch", "onnx", "ctranslate2", "cupy")):
        environment = chance.choice(("jax", "tensorflow"))
    name = f"{seed}-{number}"
    with copied(environment, f"random-{name}") as folder:
        world = World(folder=folder, cwd=folder / "home/work")
        if environment.startswith(("onnx", "ctranslate2", "cupy")):
            world.variables["LD_LIBRARY_PATH"] = libraries(world.site)
        drawn = Drawn(world, environment, chance)
        end = "\nimport os, sys; print('this works'); sys.stdout.flush(); os._exit(0)\n"
        planted = mechanism(drawn)
        drawn.text(world.home / "work/main.py", f"{PROGRAMS[environment][1]}\n{planted.also}{end}")
        real = oracle(activated=planted.activated)(world)
        names = "" if real.ok else planted.names
        scene = Scene(name, "healthy" if real.ok else "C", environment, oracle(activated=planted.activated), None, () if real.ok else planted.causes, "", names)  # fmt: skip
        started = time.monotonic()
        also = ("--try", "--program", str(world.home / "work/main.py")) if tries else ()
        done = convalesce(world, scene, "scan", "--json", "--full-names", *also)
        if keep:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"{name}.json").write_bytes(done.stdout)
        seconds = time.monotonic() - started
        return planted, judge(scene, real, done.returncode, done.stdout, done.stderr, seconds, str(world.prefix))


def numbers(text: str) -> Iterator[int]:
    """Yield the numbers that "3,7-9" names."""
    for part in text.split(","):
        first, _dash, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def main(argv: Sequence[str] | None = None) -> int:
    """Draw and judge; exit status 1 for a miss or an alarm."""
    parser = argparse.ArgumentParser(prog="python -m tests.worldlab.random_paths", description=__doc__)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--number", type=int, default=60)
    parser.add_argument("--only", default="", help="these draws of the seed, such as 3,7-9")
    parser.add_argument("--environment", nargs="*", default=OFTEN, choices=list(PROGRAMS), metavar="NAME")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave the reports there")
    parser.add_argument("--try", action="store_true", dest="tries", help="scan with --try --program main.py")
    options = parser.parse_args(argv)
    counted: Counter[str] = Counter()
    for number in numbers(options.only) if options.only else range(options.number):
        try:
            planted, o = examined(options.seed, number, options.environment, options.keep, tries=options.tries)
        except (OSError, ValueError, LookupError, subprocess.SubprocessError, shutil.Error) as e:
            print(f"not drawn    {number}: {type(e).__name__}: {e}", flush=True)
            counted["not drawn"] += 1
            continue
        counted[f"{o.verdict}, status 0" if o.verdict == "false alarm" and not o.status else o.verdict] += 1
        print(f"{o.verdict:12} {o.scene.name:6} {o.scene.environment:16} {planted.what}  [{o.status}] {o.seconds:.1f} s", flush=True)  # fmt: skip
        if o.verdict not in RIGHT:
            print(
                "\n      ".join((f"      the program: {o.said}", f"found: {o.found}", *o.detail.splitlines())),
                flush=True,
            )
    print("\n" + ", ".join(f"{n} {v}" for v, n in counted.most_common()))
    return 1 if any(v not in RIGHT for v in counted) else 0


if __name__ == "__main__":
    sys.exit(main())
