"""What every framework's own binaries lead to, on small libraries with the real names, by the real loader's rules."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from core.common.progress import Progress
from core.knowledge.gpu_binaries import gpu_binaries
from core.model.facts import Closure, Distribution, PythonEnvironment, Snapshot
from core.probes.loading import closure
from core.probes.probe import ProbeRequest
from core.probes.python import locations
from tests.envlab.run import LabHost
from tests.loader import build

if sys.platform != "linux":
    pytest.skip("needs glibc's ld.so", allow_module_level=True)

from core.host.this_host import this_host

RPATH = "-Wl,--disable-new-dtags,-rpath,$ORIGIN/../../nvidia/nccl/lib:$ORIGIN"
LINK = ("-Wl,--no-as-needed", "-Wl,--unresolved-symbols=ignore-all")


def site(prefix: Path) -> Path:
    return prefix / "lib" / "python3.11" / "site-packages"


def torch(prefix: Path) -> Path:
    """Build a PyTorch of three libraries: libtorch_python needs libtorch_cuda, and that NCCL."""
    folder = site(prefix) / "torch" / "lib"
    nccl = build.library(site(prefix) / "nvidia/nccl/lib/libnccl.so.2", source="int ncclGetVersion(void) { return 1; }")
    build.library(folder / "libtorch_global_deps.so")
    calls = "int ncclGetVersion(void); int f(void) { return ncclGetVersion(); }"
    cuda = build.library(folder / "libtorch_cuda.so", *LINK, RPATH, str(nccl), source=calls)
    build.library(folder / "libtorch_python.so", *LINK, RPATH, str(cuda))
    (site(prefix) / "torch" / "version.py").write_text("cuda: Optional[str] = '12.8'\n")
    return folder


def extension(
    prefix: Path, needs: Path, source: str = "int answer(void) { return 1; }", name: str = "torchvision"
) -> None:
    """Build torchvision's module, or another's, linked against PyTorch without any search path, with its RECORD."""
    build.library(site(prefix) / name / "_C.so", *LINK, str(needs), source=source)
    record = site(prefix) / f"{name}-0.23.0.dist-info" / "RECORD"
    record.parent.mkdir(parents=True)
    record.write_text(f"{name}/_C.so,sha256=x,1\n")


TORCH = ("torch", "2.8.0", ())
TORCHVISION = ("torchvision", "0.23.0", ("torch==2.8.0",))
CUPY = ("cupy-cuda12x", "13.6.0", ())


def looked(
    prefix: Path,
    *wanted: tuple[str, str, tuple[str, ...]],
    env: Mapping[str, str] = {},
    known: tuple[Closure, ...] | None = None,
) -> dict[str, Closure]:
    """Look at an environment with these distributions, started by this interpreter."""
    its = tuple(Distribution(name=n, version=v, location=str(site(prefix)), pins=pins) for n, v, pins in wanted)
    python = PythonEnvironment(
        prefix=str(prefix),
        executable=sys.executable,
        version="3.11.0",
        site_packages=(str(site(prefix)),),
        distributions=its,
        ways=("--python",),
    )
    host = LabHost(this_host(), {"PATH": "/usr/bin:/bin", "HOME": str(prefix), **env})
    seen = Snapshot(machine=host.machine(), pythons=(python,), closures=known)
    look = closure.look if known is None else closure.look_again
    found = look(ProbeRequest(host=host, seen=seen, env=host.fresh_environment(), watch=Progress()))
    return {c.consumer.framework.partition(" ")[0]: c for c in found}


def test_what_is_whole_lacks_nothing(tmp_path: Path) -> None:
    extension(tmp_path, torch(tmp_path) / "libtorch_cuda.so")
    found = looked(tmp_path, TORCH, TORCHVISION)
    assert {name: (c.edges, c.gaps) for name, c in found.items()} == {"torch": ((), ()), "torchvision": ((), ())}
    assert [Path(f).name for f in found["torch"].files if "nccl" in f] == ["libnccl.so.2"]


def test_a_lost_library_is_told_of_who_asks_for_it(tmp_path: Path) -> None:
    extension(tmp_path, torch(tmp_path) / "libtorch_cuda.so")
    nccl = site(tmp_path) / "nvidia/nccl/lib/libnccl.so.2"
    nccl.unlink()
    found = looked(tmp_path, TORCH, TORCHVISION)
    assert set(found) == {"torch"}, "what comes behind it fails with it"
    (edge,) = found["torch"].edges
    assert (edge.name, edge.state, Path(edge.wanted_by).name) == ("libnccl.so.2", "absent", "libtorch_cuda.so")
    openings = {Path(o.library).name: o.problem for o in found["torch"].openings or ()}
    assert "libnccl.so.2: cannot open shared object file" in openings["libtorch_python.so"]


def test_the_search_path_of_the_person_counts(tmp_path: Path) -> None:
    torch(tmp_path)
    nccl = site(tmp_path) / "nvidia/nccl/lib/libnccl.so.2"
    (tmp_path / "other").mkdir()
    nccl.rename(tmp_path / "other" / "libnccl.so.2")
    assert [e.name for e in looked(tmp_path, TORCH)["torch"].edges] == ["libnccl.so.2"]
    assert looked(tmp_path, TORCH, env={"LD_LIBRARY_PATH": str(tmp_path / "other")})["torch"].edges == ()


def test_a_library_of_another_release_is_a_gap(tmp_path: Path) -> None:
    torch(tmp_path)
    build.library(site(tmp_path) / "nvidia/nccl/lib/libnccl.so.2", source="int ncclOther(void) { return 1; }")
    its = looked(tmp_path, TORCH)["torch"]
    assert [(g.name, Path(g.provider).name) for g in its.gaps] == [("ncclGetVersion", "libnccl.so.2")]
    openings = {Path(o.library).name: o.problem for o in its.openings or ()}
    assert "undefined symbol: ncclGetVersion" in openings["libtorch_python.so"]


def test_an_extension_for_another_release(tmp_path: Path) -> None:
    extension(tmp_path, torch(tmp_path) / "libtorch_cuda.so", "int gone(void); int f(void) { return gone(); }")
    found = looked(tmp_path, TORCH, TORCHVISION)
    assert found["torch"].gaps == ()
    assert [g.name for g in found["torchvision"].gaps] == ["gone"]
    (opening,) = found["torchvision"].openings or ()
    assert "undefined symbol: gone" in opening.problem


def test_an_extension_is_who_is_linked_against_pytorch_whatever_its_metadata_say(tmp_path: Path) -> None:
    folder = torch(tmp_path)
    extension(tmp_path, folder / "libtorch_cuda.so", "int gone(void); int f(void) { return gone(); }", "own_ops")
    extension(tmp_path, folder / "libtorch_cuda.so", name="other_ops")
    extension(
        tmp_path, build.library(tmp_path / "libplain.so"), "int gone(void); int f(void) { return gone(); }", "odd"
    )
    found = looked(tmp_path, TORCH)
    gaps = {name: [g.name for g in c.gaps] for name, c in found.items()}
    assert gaps == {"torch": [], "own-ops": ["gone"], "other-ops": []}


@pytest.mark.parametrize(
    ("file", "source", "cudart", "pins", "lacks"),
    [
        ("_search.so", "int PyInit__search(void) { return 0; }", False, (), True),
        ("_search.cpython-311-x86_64-linux-gnu.so", "int f(void) { return 0; }", False, (), True),
        ("_search.so", "int PyInit__search(void) { return 0; }", True, (), False),  # its code may open that one first
        ("libplugin.so", "int f(void) { return 0; }", False, (), False),  # nothing says that an import comes to it
        ("_search.cpython-39-x86_64-linux-gnu.so", "int f(void) { return 0; }", False, (), False),
        ("_search.so", "int PyInit__search(void) { return 0; }", False, ("torch>=2",), False),  # behind torch
    ],
)
def test_any_package_whose_module_is_linked_against_cuda_needs_it(
    tmp_path: Path, file: str, source: str, cudart: bool, pins: tuple[str, ...], lacks: bool
) -> None:
    runtime = build.library(
        site(tmp_path) / "nvidia/cuda_runtime/lib/libcudart.so.12", source="int c(void) { return 1; }"
    )
    build.library(site(tmp_path) / "vectors" / file, *LINK, str(runtime), source=source)
    record = site(tmp_path) / "vectors_gpu-1.0.dist-info" / "RECORD"
    record.parent.mkdir(parents=True)
    record.write_text(f"vectors/{file},sha256=x,1\n")
    if not cudart:
        runtime.unlink()
    found = looked(tmp_path, ("vectors-gpu", "1.0", pins))
    told = [(e.name, e.state) for c in found.values() for e in c.edges]
    assert (list(found), told) == ((["vectors-gpu"], [("libcudart.so.12", "absent")]) if lacks else ([], []))


@pytest.mark.parametrize(
    ("symbol", "text", "gaps"),
    [
        ("_ZN5torch4goneEv", "import torch\ntorch.ops.load_library(path)\n", ["_ZN5torch4goneEv"]),
        ("_ZN5torch4goneEv", "import torch\n", []),
        ("own_plug_in", "import torch\ntorch.ops.load_library(path)\n", []),
    ],
)
def test_a_library_that_code_opens_need_not_name_what_it_uses(
    tmp_path: Path, symbol: str, text: str, gaps: list[str]
) -> None:
    torch(tmp_path)
    source = f"int {symbol}(void); int f(void) {{ return {symbol}(); }}"
    extension(tmp_path, build.library(tmp_path / "libplain.so"), source, "own_ops")
    (site(tmp_path) / "own_ops" / "__init__.py").write_text(text)
    with (site(tmp_path) / "own_ops-0.23.0.dist-info" / "RECORD").open("a") as record:
        record.write("own_ops/__init__.py,sha256=x,1\n")
    build.library(site(tmp_path) / "own_ops" / "_C.so", "-Wl,--unresolved-symbols=ignore-all", source=source)
    found = looked(tmp_path, TORCH, ("own-ops", "0.23.0", ("torch",)))
    assert [g.name for one in found.values() for g in one.gaps] == gaps


@pytest.mark.parametrize("name", ["libnvcuvid.so.1", "libnvidia-encode.so.1", "libcuda.so.1", "libnvidia-ml.so.1"])
def test_a_package_may_be_linked_against_the_drivers_library_for_video(tmp_path: Path, name: str) -> None:
    driver = build.library(tmp_path / "driver" / name, source="int v(void) { return 1; }")
    build.library(site(tmp_path) / "codec/_core.cpython-311-x86_64-linux-gnu.so", *LINK, str(driver))
    record = site(tmp_path) / "codec-1.0.dist-info" / "RECORD"
    record.parent.mkdir(parents=True)
    record.write_text("codec/_core.cpython-311-x86_64-linux-gnu.so,sha256=x,1\n")
    driver.unlink()
    told = [(e.name, e.state) for c in looked(tmp_path, ("codec", "1.0", ())).values() for e in c.edges]
    ours = name in ("libnvcuvid.so.1", "libnvidia-encode.so.1")  # the others are the driver's own matter
    assert told == ([(name, "absent")] if ours else [])


@pytest.mark.parametrize("same", [True, False])
def test_of_a_framework_with_an_altered_library_every_symbol_is_asked_for(tmp_path: Path, same: bool) -> None:
    folder = torch(tmp_path)
    cuda = folder / "libtorch_cuda.so"
    python = build.library(
        folder / "libtorch_python.so", *LINK, RPATH, str(cuda), source="int gone(void); int f(void) { return gone(); }"
    )
    record = site(tmp_path) / "torch-2.8.0.dist-info" / "RECORD"
    record.parent.mkdir(parents=True)
    record.write_text(f"torch/lib/libtorch_python.so,sha256=x,{python.stat().st_size + (0 if same else 1)}\n")
    gaps = looked(tmp_path, TORCH)["torch"].gaps
    assert [(g.name, Path(g.wanted_by).name) for g in gaps] == ([] if same else [("gone", "libtorch_python.so")])


def test_a_framework_is_told_of_what_it_asks_for_and_of_nothing_else(tmp_path: Path) -> None:
    libraries = site(tmp_path) / "cupy_backends" / "cuda" / "libs"
    for name in ("cublas", "cudnn"):
        needed = build.library(tmp_path / "elsewhere" / f"lib{name}.so.12")
        build.library(libraries / f"{name}.cpython-311-x86_64-linux-gnu.so", *LINK, str(needed))
    its = looked(tmp_path, CUPY)["cupy-cuda12x"]
    assert [e.name for e in its.edges] == ["libcublas.so.12"], "cuDNN is optional there"


@pytest.mark.parametrize("lost", ["", "libnvinfer_plugin.so.11", "libnvinfer.so.11", "libcudart.so.12"])
def test_tensorrt_opens_its_libraries_before_its_bindings(tmp_path: Path, lost: str) -> None:
    cudart = build.library(site(tmp_path) / "nvidia/cuda_runtime/lib/libcudart.so.12")
    libraries = site(tmp_path) / "tensorrt_libs"
    nvinfer = build.library(libraries / "libnvinfer.so.11", *LINK, str(cudart))
    plugin = build.library(libraries / "libnvinfer_plugin.so.11", *LINK, "-Wl,-rpath,$ORIGIN", str(nvinfer))
    parser = build.library(libraries / "libnvonnxparser.so.11", *LINK, "-Wl,-rpath,$ORIGIN", str(nvinfer))
    build.library(site(tmp_path) / "tensorrt_bindings/tensorrt.so", *LINK, *map(str, (parser, plugin, nvinfer)))
    for path in (cudart, nvinfer, plugin):
        if path.name == lost:
            path.unlink()
    its = looked(tmp_path, ("tensorrt-cu12-bindings", "11.4.0.106", ()))["tensorrt-cu12-bindings"]
    assert {e.name for e in its.edges} == ({lost} if lost else set())


def provider(prefix: Path, *needs: Path) -> None:
    """Build an ONNX Runtime whose provider for TensorRT needs these libraries; all that CUDA's needs is there."""
    folder = site(prefix) / "onnxruntime" / "capi"
    for name in ("onnxruntime_pybind11_state.cpython-311-x86_64-linux-gnu.so", "libonnxruntime_providers_shared.so", "libonnxruntime_providers_cuda.so"):  # fmt: skip
        build.library(folder / name)
    build.library(folder / "libonnxruntime_providers_tensorrt.so", *LINK, *map(str, needs))


ORT = ("onnxruntime-gpu", "1.23.2", ())


@pytest.mark.parametrize(
    ("program", "env", "installed", "lacks"),
    [
        ("session = InferenceSession(m, providers=['CUDAExecutionProvider'])", {}, False, []),
        ("session = InferenceSession(m, providers=['TensorrtExecutionProvider'])", {}, False, ["libnvinfer.so.10"]),
        ("import tensorrt\nproviders = ['TensorrtExecutionProvider']", {}, True, []),
        ("providers = ['TensorrtExecutionProvider']", {}, True, ["libnvinfer.so.10"]),
        ("", {"ORT_TENSORRT_FP16_ENABLE": "1"}, False, ["libnvinfer.so.10"]),
    ],
)
def test_the_provider_for_tensorrt_counts_where_a_program_asks_for_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    program: str,
    env: dict[str, str],
    installed: bool,
    lacks: list[str],
) -> None:
    nvinfer = build.library(site(tmp_path) / "tensorrt_libs/libnvinfer.so.10")
    provider(tmp_path, nvinfer)
    if not installed:
        nvinfer.unlink()
    work = tmp_path / "work"
    work.mkdir()
    (work / "main.py").write_text(program)
    monkeypatch.setattr(locations, "working_folder", lambda _where: str(work))
    its = looked(tmp_path, ORT, env=env)["onnxruntime-gpu"]
    assert [e.name for e in its.edges] == lacks
    assert all(bool(e.elsewhere) == installed for e in its.edges)


@pytest.mark.parametrize(
    ("programs", "lacks"),
    [
        ({}, ["libcublasLt.so.12"]),
        ({"main.py": "import torch\nimport onnxruntime as ort\n"}, []),
        (
            {"cell.ipynb": '{"cells": [{"source": ["import torch\\n", "from onnxruntime import InferenceSession"]}]}'},
            [],
        ),
        ({"main.py": "import onnxruntime\nimport torch\n"}, ["libcublasLt.so.12"]),
        ({"main.py": "import torch, onnxruntime\n", "other.py": "import onnxruntime\n"}, ["libcublasLt.so.12"]),
    ],
)
def test_what_torch_has_loaded_serves_where_each_program_imports_it_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, programs: dict[str, str], lacks: list[str]
) -> None:
    cublas = build.library(site(tmp_path) / "nvidia/nccl/lib/libcublasLt.so.12")
    folder = torch(tmp_path)
    build.library(folder / "libtorch_cuda.so", *LINK, RPATH, str(cublas))
    provider(tmp_path)
    build.library(site(tmp_path) / "onnxruntime/capi/libonnxruntime_providers_cuda.so", *LINK, str(cublas))
    work = tmp_path / "work"
    work.mkdir()
    for name, text in programs.items():
        (work / name).write_text(text)
    monkeypatch.setattr(locations, "working_folder", lambda _where: str(work))
    assert [e.name for e in looked(tmp_path, TORCH, ORT)["onnxruntime-gpu"].edges] == lacks


@pytest.mark.parametrize(
    ("plugin", "resources", "gaps", "lacks"),
    [
        ("10.12.0", ("10.12.0",), [], []),
        ("10.12.0", (), [], []),
        ("10.0.1", ("10.12.0",), ["10.0.1"], []),
        ("10.12.0", ("10.0.1",), [], ["libnvinfer_builder_resource.so.10.12.0"]),
    ],
)
def test_libraries_of_tensorrt_of_two_releases(
    tmp_path: Path, plugin: str, resources: tuple[str, ...], gaps: list[str], lacks: list[str]
) -> None:
    folder = tmp_path / "lib"
    for stem, release in (("libnvinfer", "10.12.0"), ("libnvinfer_plugin", plugin)):
        build.library(folder / f"{stem}.so.{release}", soname=f"{stem}.so.10")
        (folder / f"{stem}.so.10").symlink_to(f"{stem}.so.{release}")
    for release in resources:
        build.library(folder / f"libnvinfer_builder_resource.so.{release}")
    names = [folder / f"{stem}.so.10" for stem in ("libnvinfer", "libnvinfer_plugin")]
    build.library(site(tmp_path) / "tensorrt_bindings/tensorrt.so", *LINK, *map(str, names))
    found = looked(tmp_path, ("tensorrt-cu12-bindings", "10.12.0.36", ()), env={"LD_LIBRARY_PATH": str(folder)})
    its = found["tensorrt-cu12-bindings"]
    assert [g.version for g in its.gaps] == gaps
    assert [e.name for e in its.edges] == lacks


@pytest.mark.parametrize("lost", [False, True])
def test_cutensor_finds_the_cublas_beside_it(tmp_path: Path, lost: bool) -> None:
    cublas = build.library(site(tmp_path) / "nvidia/cublas/lib/libcublasLt.so.12")
    rpath = "-Wl,-rpath,$ORIGIN:$ORIGIN/../../nvidia/cublas/lib"
    tensor = build.library(site(tmp_path) / "cutensor/lib/libcutensor.so.2", *LINK, rpath, str(cublas))
    build.library(site(tmp_path) / "cutensor/lib/libcutensorMg.so.2", *LINK, rpath, str(tensor))
    if lost:
        cublas.unlink()
    its = looked(tmp_path, ("cutensor-cu12", "2.8.1", ()))["cutensor-cu12"]
    assert {e.name for e in its.edges} == ({"libcublasLt.so.12"} if lost else set())


def test_what_finds_the_same_files_in_another_way_of_starting_is_not_opened_again(tmp_path: Path) -> None:
    cublas = build.library(site(tmp_path) / "nvidia/cublas/lib/libcublasLt.so.12")
    rpath = "-Wl,-rpath,$ORIGIN/../../nvidia/cublas/lib"
    build.library(site(tmp_path) / "cutensor/lib/libcutensor.so.2", *LINK, rpath, str(cublas))
    wanted = ("cutensor-cu12", "2.8.1", ())
    first = looked(tmp_path, wanted)["cutensor-cu12"]
    assert first.openings
    again = looked(tmp_path, wanted, env={"LD_LIBRARY_PATH": str(tmp_path / "none")}, known=(first,))["cutensor-cu12"]
    assert again.openings is first.openings
    build.library(tmp_path / "own/libcublasLt.so.12")
    other = looked(tmp_path, wanted, env={"LD_LIBRARY_PATH": str(tmp_path / "own")}, known=(first,))["cutensor-cu12"]
    assert other.openings
    assert other.openings is not first.openings


def test_files_that_lie_in_the_environment_and_are_not_searched(tmp_path: Path) -> None:
    needed = build.library(site(tmp_path) / "nvidia" / "cublas" / "lib" / "libcublas.so.12")
    libraries = site(tmp_path) / "cupy_backends" / "cuda" / "libs"
    build.library(libraries / "cublas.cpython-311-x86_64-linux-gnu.so", *LINK, str(needed))
    (edge,) = looked(tmp_path, CUPY)["cupy-cuda12x"].edges
    assert edge.elsewhere == (str(needed),)


def test_a_library_that_ends_the_process(tmp_path: Path) -> None:
    crash = "__attribute__((constructor)) static void c(void) { *(volatile int *)0 = 1; }"
    build.library(site(tmp_path) / "cupy_backends/cuda/libs/cublas.cpython-311-x86_64-linux-gnu.so", source=crash)
    (opening,) = looked(tmp_path, CUPY)["cupy-cuda12x"].openings or ()
    assert "SIGSEGV" in opening.ended


TENSORFLOW = ("tensorflow", "2.20.0", ())


def tensorflow(prefix: Path) -> Path:
    """Build a TensorFlow of three libraries, with all that it opens by name beside them but cuSOLVER."""
    folder = site(prefix) / "tensorflow"
    own = "-Wl,--enable-new-dtags,-rpath,$ORIGIN"
    build.library(folder / "libtensorflow_framework.so.2", own)
    build.library(folder / "libtensorflow_cc.so.2")
    build.library(folder / "python/_pywrap_tensorflow_internal.so")
    for name in ("cudart.so.12", "cublas.so.12", "cublasLt.so.12", "cufft.so.11", "cusparse.so.12"):
        build.library(folder / f"lib{name}")
    (folder / "python/platform").mkdir()
    (folder / "python/platform/build_info.py").write_text("build_info = dict([('cuda_version', '12.5.1')])\n")
    return folder


def test_a_large_framework_is_opened_only_where_that_settles_something(tmp_path: Path) -> None:
    """Opening TensorFlow's 1.2 GB cannot refute that a library which it opens by name is not found."""
    folder = tensorflow(tmp_path)
    its = looked(tmp_path, TENSORFLOW)["tensorflow"]
    assert [(e.name, e.by_name) for e in its.edges] == [("libcusolver.so.11", True)]
    assert its.openings in (None, ())
    own = build.library(folder / "libown.so.1")
    build.library(folder / "libtensorflow_cc.so.2", *LINK, str(own))
    own.unlink()
    its = looked(tmp_path, TENSORFLOW)["tensorflow"]
    assert [e.name for e in its.edges if not e.by_name] == ["libown.so.1"]
    assert any("libown.so.1: cannot open shared object file" in o.problem for o in its.openings or ())


NVRTC = """
#include <dlfcn.h>
int nvrtcCreateProgram(void **p, const char *s, const char *n, int c, void *h, void *i) { *p = 0; return 0; }
int nvrtcCompileProgram(void *p, int n, void *o) { return dlopen("libnvrtc-builtins.so.13.0", RTLD_NOW) ? 0 : 7; }
int nvrtcGetProgramLog(void *p, char *log) { *log = 0; return 0; }
const char *nvrtcGetErrorString(int e) { return "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE"; }
"""


@pytest.mark.parametrize(("release", "compiles"), [("2.8.0", False), ("2.11.0", True)])
def test_a_compiler_that_does_not_find_its_own_files_has_them_from_its_framework(
    tmp_path: Path, release: str, compiles: bool
) -> None:
    folder = torch(tmp_path)
    (folder.parent / "version.py").write_text("cuda: Optional[str] = '13.0'\n")
    packages = site(tmp_path) / "nvidia/cu13/lib"
    nvrtc = build.library(packages / "libnvrtc.so.13", source=NVRTC)
    build.library(packages / "libnvrtc-builtins.so.13.0")
    build.library(folder / "libtorch_cuda.so", *LINK, f"{RPATH}:$ORIGIN/../../nvidia/cu13/lib", str(nvrtc))
    openings = looked(tmp_path, ("torch", release, ()))["torch"].openings or ()
    assert {o.problem == "" for o in openings if Path(o.library).name == nvrtc.name} == {compiles}


def test_every_row_has_its_source() -> None:
    rows = gpu_binaries().frameworks
    assert [row.distribution for row in rows if not row.source or not (row.linux or row.windows)] == []
    assert len({row.distribution for row in rows}) == len(rows)
