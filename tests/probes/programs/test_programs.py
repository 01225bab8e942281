"""Programs that a person names: every one of ten, whole and with five faults each, beside what it really does."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from core.common.progress import Progress
from core.doctor.examine import diagnose_snapshot
from core.doctor.programs import sort_chosen
from core.doctor.scan import PROBES, take_snapshot
from core.host.linux.host import LinuxHost
from core.model.findings import Finding
from core.model.scan_options import ScanOptions
from core.model.steps import Severity
from tests.probes.programs.built import FAULTS, PROGRAMS, Shipped, build

SECTIONS = ("environment", "programs")


def findings_of(named: str, env: dict[str, str]) -> list[Finding]:
    host = LinuxHost(environ={n.encode(): v.encode() for n, v in env.items()})
    probes = tuple(p for p in PROBES if p.section in SECTIONS)
    options = sort_chosen([named], host)
    seen = take_snapshot(host, Progress(), ScanOptions(programs=options.programs), probes=probes)
    assert not seen.errors
    return [
        f for f in diagnose_snapshot(seen).findings if f.id.startswith("cudnn.program") or f.id == "cudnn.not-examined"
    ]


@pytest.mark.download
@pytest.mark.parametrize("make", PROGRAMS, ids=lambda f: f.__name__)
def test_a_whole_program_is_quiet(make: Callable[[Path], Shipped], tmp_path: Path) -> None:
    shipped = make(tmp_path)
    assert shipped.starts()
    found = findings_of(str(shipped.named), shipped.variables)
    assert [f.id for f in found] == ["cudnn.program-whole"], [(f.id, f.title) for f in found]
    assert any(str(shipped.library) in e.value for e in found[0].evidence)


@pytest.mark.download
@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("make", PROGRAMS, ids=lambda f: f.__name__)
def test_a_fault_is_named(make: Callable[[Path], Shipped], fault: Callable[[Path], None], tmp_path: Path) -> None:
    shipped = make(tmp_path)
    fault(shipped.library)
    assert not shipped.starts(), "the oracle: the program itself fails"
    found = [f for f in findings_of(str(shipped.named), shipped.variables) if f.severity >= Severity.WARNING]
    assert len(found) == 1, [(f.id, f.title) for f in found]
    assert shipped.library.name in found[0].title
    assert found[0].subject == str(shipped.named)
    causes = {
        "absent": ("cudnn_not_installed", "cuda_runtime_missing", "nvrtc_missing_or_mismatch"),
        "dangling": ("cudnn_not_installed", "cuda_runtime_missing", "nvrtc_missing_or_mismatch"),
        "foreign": ("dll_wrong_architecture",),
    }
    assert found[0].cause in causes.get(fault.__name__, ("corrupt_or_truncated_file",))


@pytest.mark.download
def test_a_running_program_is_compared_with_what_it_would_get_now(tmp_path: Path) -> None:
    from tests.probes.programs.built import CALLS, place, wheel_file

    source = (
        CALLS["libcudart.so.12"]
        + '\n#include <stdio.h>\nint main(void) { use(); puts("up"); fflush(stdout); return getchar(); }\n'
    )
    for name in ("old", "new"):
        place(("libcudart.so.12",), tmp_path / name)
    program = build(tmp_path / "service", source, str(wheel_file("libcudart.so.12")), "-Wl,--allow-shlib-undefined")
    env = {"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": str(tmp_path / "old")}
    running = subprocess.Popen([str(program)], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert running.stdout is not None
        assert running.stdout.readline() == b"up\n"
        pid = str(running.pid)
        assert [f.id for f in findings_of(pid, env)] == ["cudnn.program-whole"]
        moved = env | {"LD_LIBRARY_PATH": str(tmp_path / "new")}
        older = next(f for f in findings_of(pid, moved) if f.id == "cudnn.program-older")
        assert older.cause == "process_env_not_inherited"
        assert older.fix is not None
        assert older.fix.restart == "program"
        (tmp_path / "old/libcudart.so.12").unlink()
        gone = next(f for f in findings_of(pid, moved) if f.id == "cudnn.program-older")
        assert any("old/libcudart.so.12" in e.value for e in gone.evidence)
    finally:
        running.communicate(b"\n", timeout=60)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("no-such-program", "no file"),
        ("999999999", "no process"),
        ("/", "folder"),
        ("{tmp}/loop", "read"),
        ("{tmp}/circle.sh", "tell"),
        ("{tmp}/image.bin", "tell"),
        ("{tmp}/silent.sh", "tell"),
    ],
)
def test_what_leads_nowhere_gives_one_sentence(text: str, says: str, tmp_path: Path) -> None:
    os.symlink(tmp_path / "loop", tmp_path / "loop")  # noqa: PTH211 - a loop
    (tmp_path / "circle.sh").write_text(f"#!/bin/sh\nexec {tmp_path}/circle.sh\n")
    (tmp_path / "image.bin").write_bytes(b"\0\1\2")
    (tmp_path / "silent.sh").write_text("#!/bin/sh\necho hello\n")
    from core.doctor.scan import PROBES as every

    host = LinuxHost(environ={b"PATH": b"/usr/bin:/bin", b"HOME": b"/nonexistent"})
    probes = tuple(p for p in every if p.section in SECTIONS)
    seen = take_snapshot(host, Progress(), ScanOptions(programs=(text.format(tmp=tmp_path),)), probes=probes)
    report = diagnose_snapshot(seen)
    assert seen.programs is not None
    if seen.programs[0].problem:
        assert says in seen.programs[0].problem
        assert [f.subject for f in report.not_examined] == [text.format(tmp=tmp_path)]
    else:
        assert says == "tell", "echo is a program, too"


def test_python_is_an_environment(tmp_path: Path) -> None:
    console = tmp_path / "tool"
    python = next(p for p in ("/usr/bin/python3", "/usr/local/bin/python3") if Path(p).exists())
    console.write_text(f"#!{python}\nimport tool\n")
    host = LinuxHost(environ={b"PATH": b"/usr/bin:/bin"})
    made = sort_chosen([str(console), str(tmp_path), "/bin/ls", ""], host)
    assert made.pythons == (python, str(tmp_path))
    assert made.programs == ("/bin/ls",)


def test_the_folder_of_a_named_script_is_searched_first(tmp_path: Path) -> None:
    script = tmp_path / "tools/train.py"
    script.parent.mkdir()
    script.write_text("import torch\n")
    (tmp_path / "link.py").symlink_to(script)
    host = LinuxHost(environ={b"PATH": b"/usr/bin:/bin"})
    for named in (script, tmp_path / "link.py"):
        assert sort_chosen(["/bin/ls", str(named)], host).script_folder == str(script.parent), "Python follows a link"
    assert not sort_chosen(["/bin/ls", str(tmp_path)], host).script_folder
