"""The tools probe: compilers by their names and folders, engines, and what a linker finds; nothing is run."""

from __future__ import annotations

import resource
import shutil
import subprocess
from pathlib import Path

import pytest

from core.model.facts import Distribution, PythonEnvironment, Tools
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


SPECIFICATION = """cdiVersion: 0.5.0
containerEdits:
  deviceNodes:
  - path: /dev/nvidiactl
  hooks:
  - args: [nvidia-cdi-hook, create-symlinks]
    path: /usr/bin/nvidia-cdi-hook
  mounts:
  - containerPath: /usr/lib/libcuda.so.575.57.08
    hostPath: /usr/lib/libcuda.so.575.57.08
devices:
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
  name: "0"
- name: all
kind: nvidia.com/gpu
"""
COMPACT = (
    '{"kind":"nvidia.com/gpu","devices":[{"name":"0"}],"containerEdits":{"mounts":[{"hostPath":"/usr/lib/a.so"}]}}'
)


def test_what_a_description_names_and_what_of_it_is_lost(tmp_path: Path) -> None:
    write(tmp_path, "/etc/cdi/nvidia.yaml", SPECIFICATION)
    write(tmp_path, "/var/run/cdi/nvidia.json", COMPACT)
    for there in ("/dev/nvidiactl", "/usr/bin/nvidia-cdi-hook"):
        write(tmp_path, there)
    first, second = look(tmp_path).descriptions
    assert (first.devices, first.lost) == (("0", "all"), ("/usr/lib/libcuda.so.575.57.08", "/dev/nvidia0"))
    assert (second.path, second.devices, second.lost) == ("/var/run/cdi/nvidia.json", ("0",), ("/usr/lib/a.so",))


SITE = "/opt/venv/lib/python3.11/site-packages"
DRIVER_PY = f"{SITE}/triton/backends/nvidia/driver.py"
DEBIANS = "/usr/lib/x86_64-linux-gnu"


@pytest.mark.parametrize(
    ("text", "files", "env", "expected"),
    [
        ("libraries = ['cuda']", (), {}, [((), "")]),
        ("libraries = ['libcuda.so.1']", (), {}, []),
        ("libraries = ['cuda']", (f"{DEBIANS}/libcuda.so",), {}, [((), f"{DEBIANS}/libcuda.so")]),
        ("libraries = ['cuda']", ("/usr/local/cuda/lib64/stubs/libcuda.so",), {}, [((), "")]),
        (
            "libraries = ['cuda']",
            ("/opt/d/libcuda.so.1", "/opt/d/libcuda.so"),
            {"LD_LIBRARY_PATH": "/opt/d"},
            [(("/opt/d",), "/opt/d/libcuda.so")],
        ),
        (
            "libraries = ['cuda']",
            ("/opt/d/libcuda.so.1", "/opt/l/libcuda.so"),
            {"LD_LIBRARY_PATH": "/opt/d", "LIBRARY_PATH": "/opt/l"},
            [(("/opt/d",), "/opt/l/libcuda.so")],
        ),
    ],
)
def test_what_a_package_links_with(
    text: str, files: tuple[str, ...], env: dict[str, str], expected: list[tuple[tuple[str, ...], str]], tmp_path: Path
) -> None:
    write(tmp_path, DRIVER_PY, text)
    for file in files:
        write(tmp_path, file)
    triton = Distribution(name="triton", version="3.4.0", location=SITE)
    python = PythonEnvironment(prefix="/opt/venv", site_packages=(SITE,), distributions=(triton,))
    seen = probe.look(request(tmp_path, env, pythons=(python,)))
    assert seen
    assert [(one.drivers, one.link) for one in seen.linking] == expected


def test_what_gpus_exchange_data_by(tmp_path: Path) -> None:
    write(tmp_path, "/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n")
    write(tmp_path, "/sys/class/infiniband/mlx5_1/ports/1/state", "1: DOWN\n")
    write(tmp_path, "/sys/class/iommu/dmar0/x")
    seen = look(tmp_path)
    assert (seen.infiniband, seen.iommu) == (("mlx5_0",), True)


@pytest.mark.parametrize("able", [True, False])
def test_the_limit_on_locked_memory_binds_only_whom_the_kernel_holds_to_it(able: bool, tmp_path: Path) -> None:
    write(tmp_path, "/proc/self/status", f"Name:\tx\nCapEff:\t{(1 << 14) * able:016x}\n")
    soft = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    limit = None if able or soft == resource.RLIM_INFINITY else soft
    assert look(tmp_path).locked_memory == limit


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
