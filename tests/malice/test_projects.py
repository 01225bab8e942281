"""What lies in a project, a home or a place that others chose: it is read, and a mere scan starts none of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from core.host.linux.leash import MOST_PROCESSES
from core.host.provenance import NOBODY
from tests.malice.conftest import EVE, ROOT, Box, needs_root
from tests.malice.planted import VERA, owned, plant
from tests.malice.test_planted import Street

pytestmark = needs_root


@pytest.fixture
def street(box: Box) -> Street:
    return Street(box)


def program(street: Street, name: str = "python3") -> Path:
    """Make a program of Eve's that leaves a mark whatever it is asked."""
    path = street.root / "home/eve/bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n: > {street.marks}/$(basename $0)-$(id -u)\necho 3.12.1\n")
    path.chmod(0o755)
    owned(path.parent, EVE)
    return path


def settings(repo: Path, evil: Path) -> None:
    """VS Code's settings name an interpreter, and variables for its terminals."""
    (repo / ".vscode").mkdir()
    text = {
        "python.defaultInterpreterPath": str(evil),
        "python.pythonPath": str(evil),
        "terminal.integrated.env.linux": {"LD_PRELOAD": str(evil)},
    }
    (repo / ".vscode/settings.json").write_text(json.dumps(text))


def kernelspec(repo: Path, evil: Path) -> None:
    for place in (".venv/share/jupyter/kernels/evil", "share/jupyter/kernels/evil"):
        (repo / place).mkdir(parents=True)
        (repo / place / "kernel.json").write_text(
            json.dumps({"argv": [str(evil), "-m", "ipykernel"], "language": "python", "env": {"LD_PRELOAD": str(evil)}})
        )


def direnv(repo: Path, evil: Path) -> None:
    (repo / ".envrc").write_text(f"{evil}\n$({evil})\nexport CUDA_HOME=`{evil}`\nsource_env {evil}\n")


def dotenv(repo: Path, evil: Path) -> None:
    (repo / ".env").write_text(f"CUDA_HOME=$({evil})\nLD_LIBRARY_PATH=`{evil}`\n")


def home_of_an_environment(repo: Path, evil: Path) -> None:
    """pyvenv.cfg names a planted interpreter as the one that it was made from."""
    (repo / ".venv/bin").mkdir(parents=True)
    (repo / ".venv/lib/python3.12/site-packages").mkdir(parents=True)
    (repo / ".venv/pyvenv.cfg").write_text(f"home = {evil.parent}\nexecutable = {evil}\nversion = 3.12.1\n")
    (repo / ".venv/bin/python").symlink_to(evil)


def path_lines(repo: Path, evil: Path) -> None:
    """Lines of .pth files and start-up modules that an interpreter would execute."""
    plant(repo / ".venv", b"")
    site = repo / ".venv/lib/python3.12/site-packages"
    line = f"import os; os.system('{evil}')\n"
    (site / "evil.pth").write_text(line)
    (site / "sitecustomize.py").write_text(line)
    (site / "usercustomize.py").write_text(line)
    (repo / "sitecustomize.py").write_text(line)
    (repo / "torch.py").write_text(line)


def pyenv(repo: Path, evil: Path) -> None:
    (repo / ".python-version").write_text(f"{evil}\n../../../{evil}\n$({evil})\n")


def toolkit(repo: Path, evil: Path) -> None:
    (repo / "cuda/bin").mkdir(parents=True)
    for name in ("nvcc", "nvidia-smi", "ptxas"):
        (repo / "cuda/bin" / name).symlink_to(evil)


PROJECTS: dict[str, Callable[[Path, Path], None]] = {
    f.__name__: f for f in (settings, kernelspec, direnv, dotenv, home_of_an_environment, path_lines, pyenv, toolkit)
}


@pytest.mark.parametrize("kind", PROJECTS)
@pytest.mark.parametrize("owner", [EVE, VERA], ids=["a colleague's", "unpacked by her"])
@pytest.mark.parametrize("uid", [VERA, 0], ids=["vera", "root"])
def test_a_scan_starts_nothing_that_a_project_names(street: Street, kind: str, owner: int, uid: int) -> None:
    repo = street.srv / "repo"
    repo.mkdir()
    PROJECTS[kind](repo, program(street))
    owned(repo, owner)
    seen = street.scan(uid, cwd=str(repo))
    # an environment of her own runs as any program of hers would, and never with root's rights
    own = {VERA} if owner == VERA and kind == "path_lines" else set()
    assert set(seen.marks.values()) <= own, seen.errors


HOME = ("kernelspec", "direnv", "dotenv", "settings", "pyenv")


@pytest.mark.parametrize("kind", HOME)
def test_a_scan_starts_nothing_that_files_in_a_home_name(street: Street, kind: str) -> None:
    evil = program(street)
    if kind == "kernelspec":
        place = street.home / ".local/share/jupyter/kernels/evil"
        place.mkdir(parents=True)
        (place / "kernel.json").write_text(json.dumps({"argv": [str(evil)], "language": "python"}))
    else:
        PROJECTS[kind](street.home, evil)
    owned(street.home, VERA, 0o700)
    for uid in (VERA, 0):
        assert street.scan(uid, HOME=str(street.home)).marks == {}


# --- places that somebody else made first ------------------------------------------------------------------------------


@pytest.mark.parametrize("uid", [VERA, 0], ids=["vera", "root"])
@pytest.mark.parametrize(
    "variable", ["XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "TMPDIR"]
)
@pytest.mark.parametrize("shared", [False, True], ids=["her folder", "a sticky one"])
def test_nothing_is_written_or_believed_in_a_place_of_hers(
    street: Street, uid: int, variable: str, shared: bool
) -> None:
    """She was first: in a folder of hers, or in one like /tmp."""
    place = street.root / ("shared" if shared else "home/eve/place")
    for name in ("convalesce/entries", "convalesce/staging", "convalesce/twins", "convalesce/kept"):
        (place / name).mkdir(parents=True)
    entry = {"id": "20260101T000000Z-0000", "made": "2026-01-01", "title": "evil", "state": "begun", "changes": []}
    (place / "convalesce/entries/20260101T000000Z-0000.json").write_text(json.dumps(entry))
    (place / "convalesce/twins/0123abcd").write_text(str(street.home / ".convalesce/0123abcd"))
    (place / "convalesce/lock").symlink_to(street.home / "made")
    (street.home / ".convalesce/0123abcd").mkdir(parents=True)
    owned(place, EVE, 0o777)
    if shared:
        os.chown(place, 0, 0)
        place.chmod(0o1777)
    owned(street.home, VERA, 0o700)
    before = sorted(str(p) for p in place.rglob("*"))
    home = street.home if uid else street.root / "home/root"
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home), "PYTHONPATH": str(ROOT), variable: str(place)}
    for words in (("scan", "--only", "environment"), ("undo", "--list"), ("undo", "--all", "--yes"), ("fix", "--yes")):
        done = subprocess.run(
            [sys.executable, "-m", "core", *words], user=uid, group=uid, extra_groups=[], cwd="/", env=env,
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert done.returncode in (0, 1, 2, 4, 5), done
        assert "Traceback" not in done.stderr
        assert "evil" not in done.stdout
    assert sorted(str(p) for p in place.rglob("*")) == before
    assert (street.home / ".convalesce/0123abcd").is_dir()
    assert not (street.home / "made").exists()


# --- a running program of another account's ----------------------------------------------------------------------------


def test_a_process_of_hers_is_read_and_its_libraries_are_not_loaded_by_root(street: Street) -> None:
    its = street.plant(street.root / "home/eve/env")
    folder = its / "lib/python3.12/site-packages/nvidia/cudnn/lib"
    process = subprocess.Popen(
        ["/bin/sleep", "600"], user=EVE, group=EVE, extra_groups=[], cwd=str(folder), stdout=subprocess.DEVNULL,
        env={"LD_LIBRARY_PATH": str(folder), "LD_PRELOAD": str(folder / "libcudnn.so.9"), "PATH": str(its / "bin")},
    )  # fmt: skip
    try:
        for mark in list(street.marks.iterdir()):
            assert mark.stat().st_uid == EVE
        for uid in (0, VERA):
            seen = street.scan(uid, "--program", str(process.pid))
            assert set(seen.marks.values()) <= {EVE}
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()


def test_a_folder_that_is_hers_by_a_link_in_a_path_of_roots(street: Street) -> None:
    """/usr/local/tools -> Eve's folder: the entry itself is root's, what it leads to is hers."""
    program(street, "nvcc")
    (street.root / "opt/tools").symlink_to(street.root / "home/eve/bin")
    seen = street.scan(0, PATH=f"{street.root}/opt/tools:/usr/bin:/bin")
    assert set(seen.marks.values()) == {EVE}, "what is on the path runs, with the rights of whose it is"


@pytest.mark.parametrize(
    "name", ["dmesg", "ldconfig", "getent", "uv", "conda", "nvidia-smi", "python3", "bash", "lspci"]
)
def test_root_starts_no_tool_by_a_name_on_a_path_of_hers(street: Street, name: str) -> None:
    evil = program(street, name)
    seen = street.scan(0, PATH=f"{evil.parent}:/usr/bin:/bin", SHELL=str(evil))
    assert not [m for m in seen.marks if m.endswith("-0")]


def test_the_scan_of_planted_marks_would_be_seen(street: Street) -> None:
    """The trap works: what runs leaves its mark."""
    evil = program(street)
    subprocess.run([evil], check=True, capture_output=True)
    assert [p.name for p in street.marks.iterdir()] == ["python3-0"]


def driver_of(street: Street, uid: int, mode: int = 0o755) -> Path:
    """Plant a CUDA driver that says that all is well."""
    folder = street.root / f"home/eve/driver{mode:o}"
    folder.mkdir()
    source = folder / "x.c"
    source.write_text(
        "int cuInit(int f){return 0;} int cuDriverGetVersion(int*v){*v=13000;return 0;} int cuDeviceGetCount(int*n){*n=0;return 0;}\n"
    )
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", folder / "libcuda.so.1", source], check=True)
    return owned(folder, uid, mode)


def test_a_driver_of_hers_is_told_and_never_a_sign_that_all_is_well(street: Street) -> None:
    folder = driver_of(street, EVE)
    seen = street.scan(VERA, LD_LIBRARY_PATH=str(folder))
    (told,) = [e for e in seen.report["snapshot"]["executions"] if e["path"].startswith(str(folder))]
    assert told["changeable"]["path"] == str(street.root / "home/eve")
    (note,) = seen.findings("driver.changeable")
    assert str(folder) in note["title"]
    assert not seen.findings("driver.works")
    assert not [
        e for e in street.scan(0, LD_LIBRARY_PATH=str(folder)).report["snapshot"]["executions"]
        if e["path"].startswith(str(folder)) and e["what"] == "driver"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("uid", "its"), [(VERA, VERA), (0, NOBODY), (0, EVE)], ids=["vera", "root's own", "root runs eve's"]
)
def test_an_nvcc_that_forks_without_end_is_held(street: Street, uid: int, its: int) -> None:
    """As many copies of itself as the kernel gives it: no more than a tool may have, and none is left."""
    evil = program(street, "nvcc")
    if its == NOBODY:
        (street.root / "opt/tools").mkdir()
        evil = evil.rename(street.root / "opt/tools/nvcc")
        owned(evil.parent, 0)
    evil.write_text(
        "#!/usr/bin/python3\nimport os, time\n"
        "made = 0\n"
        "for _ in range(300):\n"
        "    try:\n"
        "        if os.fork() == 0:\n            time.sleep(600)\n"
        "        made += 1\n"
        "    except OSError: break\n"
        f"open({str(street.marks)!r} + f'/made-{{made}}', 'w').close()\n"
    )
    seen = street.scan(uid, PATH=f"{evil.parent}:/usr/bin:/bin")
    (made,) = [m for m in seen.marks if m.startswith("made-")]
    assert 0 < int(made.removeprefix("made-")) <= MOST_PROCESSES
    assert seen.marks[made] == its
    assert subprocess.run(["pgrep", "-f", str(evil)], capture_output=True, check=False).stdout == b""
