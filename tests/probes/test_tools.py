"""The tools probe: compilers by their names and folders, engines, and what a linker finds; nothing is run."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from core.model.facts import Tools
from core.probes.tools import probe
from core.transaction.session_host import current_host
from tests.probes.request import link, request, write


def look(root: Path, **env: str) -> Tools:
    """Look at a made-up machine."""
    seen = probe.look(request(root, {"PATH": "/usr/local/bin:/usr/bin"} | env))
    assert seen is not None
    return seen


@pytest.mark.parametrize(
    ("files", "links", "env", "expected"),
    [
        (("/usr/bin/x86_64-linux-gnu-gcc-12",), {"/usr/bin/gcc": "x86_64-linux-gnu-gcc-12"}, {}, ("gcc", 12, "PATH")),
        (("/usr/bin/gcc", "/usr/lib/gcc/x86_64-redhat-linux/14/crtbegin.o"), {}, {}, ("gcc", 14, "PATH")),
        (("/usr/bin/gcc", "/usr/lib/gcc/x86_64-w64-mingw32/13/a"), {}, {}, ("gcc", None, "PATH")),
        (("/usr/bin/gcc", *(f"/usr/lib/gcc/x86_64-linux-gnu/{n}/a" for n in (11, 13))), {}, {}, ("gcc", None, "PATH")),
        (("/usr/bin/gcc", "/usr/bin/g++-11"), {}, {"CUDAHOSTCXX": "g++-11"}, ("gcc", 11, "CUDAHOSTCXX")),
        (("/usr/bin/gcc", "/usr/bin/clang-15"), {}, {"CC": "/usr/bin/clang-15 -v"}, ("clang", 15, "CC")),
        (("/opt/c/gcc-10",), {"/opt/c/gcc": "gcc-10"}, {"NVCC_CCBIN": "/opt/c"}, ("gcc", 10, "NVCC_CCBIN")),
    ],
)  # fmt: skip
def test_the_compiler_that_counts(
    files: tuple[str, ...],
    links: dict[str, str],
    env: dict[str, str],
    expected: tuple[str, int | None, str],
    tmp_path: Path,
) -> None:
    for file in files:
        write(tmp_path, file, "#")
    for name, target in links.items():
        link(tmp_path, name, target)
    first = look(tmp_path, **env).compilers[0]
    assert (first.kind, first.version, first.named_by) == expected


def test_an_empty_machine_has_none(tmp_path: Path) -> None:
    seen = look(tmp_path)
    assert (seen.compilers, seen.engines, seen.container_toolkit, seen.libcuda_link) == ((), (), "", "")


@pytest.mark.parametrize(
    ("text", "runtime"),
    [('{"runtimes": {"nvidia": {"path": "x"}}}', True), ("{}", False), ("[]", False), ("{", None), ("[" * 9999, None)],
)
def test_docker_and_its_configuration(text: str, runtime: bool | None, tmp_path: Path) -> None:
    write(tmp_path, "/usr/bin/dockerd")
    write(tmp_path, "/etc/docker/daemon.json", text)
    assert [(e.name, e.runtime) for e in look(tmp_path).engines] == [("docker", runtime)]


def test_a_client_alone_is_no_engine(tmp_path: Path) -> None:
    write(tmp_path, "/usr/bin/docker")
    assert look(tmp_path).engines == ()


def test_what_describes_the_gpus_and_what_a_linker_finds(tmp_path: Path) -> None:
    write(tmp_path, "/etc/cdi/nvidia.yaml", "kind: nvidia.com/gpu\n")
    write(tmp_path, "/etc/cdi/other.yaml", "kind: example.com/net\n")
    write(tmp_path, "/usr/bin/nvidia-ctk")
    write(tmp_path, "/opt/stubs/libcuda.so")
    seen = look(tmp_path, LIBRARY_PATH="/opt/stubs")
    assert (seen.gpu_descriptions, seen.container_toolkit) == (("/etc/cdi/nvidia.yaml",), "/usr/bin/nvidia-ctk")
    assert seen.libcuda_link == "/opt/stubs/libcuda.so"


def test_windows_is_left_out(tmp_path: Path) -> None:
    assert probe.look(request(tmp_path, system="windows")) is None


@pytest.mark.skipif(not shutil.which("gcc"), reason="this machine has no gcc to compare with")
def test_this_machines_gcc_is_the_one_that_it_says() -> None:
    said = subprocess.run(["gcc", "-dumpversion"], capture_output=True, text=True, check=True).stdout
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
    here = request(Path("/"), env)
    found = next(
        c for c in probe.host_compilers(here, ["/usr/local/bin", "/usr/bin"], probe.sysroot_of(current_host()))
    )
    assert found.version in (None, int(said.split(".")[0]))
