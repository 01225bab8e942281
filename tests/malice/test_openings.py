"""Whose libraries an administrator's look at an environment opens: each one that the loader comes to counts, and no code of packages runs."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.common.progress import Progress
from core.host.this_host import this_host
from core.model.facts import Closure, Distribution, Execution, PythonEnvironment, Snapshot
from core.probes.loading import closure
from core.probes.probe import ProbeRequest
from tests.envlab.run import LabHost
from tests.loader import build
from tests.malice.conftest import give, grant, needs_root, shared_folder

pytestmark = needs_root
FAMILY = f"python{sys.version_info.major}.{sys.version_info.minor}"
MARK = """
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((constructor)) static void came(void) {{
    char path[400];
    snprintf(path, sizeof path, "{place}/%s-%d", "{name}", (int)getuid());
    close(open(path, O_CREAT | O_WRONLY, 0666));
}}
"""


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An environment below a way that is root's alone, with a llama.cpp whose library leads to one more library."""
    base = Path("/var") / f"convalesce-{os.getpid()}-{tmp_path_factory.mktemp('n').name}"
    marks = shared_folder(base / "marks")
    env = base / "env"
    site = env / "lib" / FAMILY / "site-packages"
    cuda = build.library(site / "nvidia/lib/libinner.so", source=MARK.format(place=marks, name="inner"))
    build.library(
        site / "llama_cpp/lib/libllama.so", "-Wl,--no-as-needed,-rpath,$ORIGIN/../../nvidia/lib", str(cuda),
        source=MARK.format(place=marks, name="outer"),
    )  # fmt: skip
    (site / "sitecustomize.py").write_text(f"open({str(marks / 'start')!r}, 'w').close()\n")
    (site / "start.pth").write_text(f"import sys; open({str(marks / 'pth')!r}, 'w').close()\n")
    (env / "bin").mkdir()
    python = Path(os.path.realpath(sys.executable))
    (env / "bin/python").symlink_to(python)
    (env / "pyvenv.cfg").write_text(f"home = {python.parent}\ninclude-system-site-packages = false\n")
    for place in (base, *(p for p in base.rglob("*") if p.is_dir() and p != marks)):
        place.chmod(0o755)
    yield base
    shutil.rmtree(base)


def looked(base: Path) -> tuple[tuple[Closure, ...], list[Execution], list[str]]:
    """Look at the environment as an administrator; return what was found, what was run, and the marks that were left."""
    env = base / "env"
    site = str(env / "lib" / FAMILY / "site-packages")
    python = PythonEnvironment(
        prefix=str(env),
        executable=str(env / "bin/python"),
        version="3.11.0",
        site_packages=(site,),
        distributions=(Distribution(name="llama-cpp-python", version="0.3.16", location=site),),
        ways=("--python",),
    )
    host = LabHost(this_host(), {"PATH": "/usr/bin:/bin", "HOME": str(base)})
    seen = Snapshot(machine=host.machine(), pythons=(python,))
    told: list[Execution] = []
    request = ProbeRequest(host=host, seen=seen, env=host.fresh_environment(), watch=Progress(), tell=told.append)
    found = closure.look(request)
    return found, told, sorted(p.name for p in (base / "marks").iterdir())


def test_sound_libraries_are_opened_and_no_start_up_code_runs(home: Path) -> None:
    found, told, marks = looked(home)
    assert marks == ["inner-0", "outer-0"]
    assert [o.problem for c in found for o in c.openings or ()] == [""]
    assert [t.changeable for t in told] == [None]


@pytest.mark.parametrize("name", ["llama_cpp/lib/libllama.so", "nvidia/lib/libinner.so", "nvidia/lib"])
@pytest.mark.parametrize("how", ["mode", "list"])
def test_what_anybody_can_change_is_not_opened(home: Path, name: str, how: str) -> None:
    place = home / "env/lib" / FAMILY / "site-packages" / name
    if how == "mode":
        place.chmod(0o777)
    else:
        grant(place, 54_321)
        grant(place.parent, 54_322)
    found, told, marks = looked(home)
    assert marks == []
    assert [c.openings for c in found] == [None]
    assert [bool(t.changeable) and not t.account for t in told] == [True]


@pytest.mark.parametrize("name", ["llama_cpp/lib/libllama.so", "nvidia/lib/libinner.so"])
def test_what_one_other_account_can_change_never_gets_an_administrators_rights(home: Path, name: str) -> None:
    give(home / "env/lib" / FAMILY / "site-packages" / name)
    _found, told, marks = looked(home)
    assert not [m for m in marks if m.endswith("-0")]
    assert all(t.changeable for t in told)
