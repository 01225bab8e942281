"""Machines with packages that do not fit each other, tools that cannot serve, and places that did not answer."""

from __future__ import annotations

from msgspec.structs import replace

from core.model.facts import (
    DamagedFile,
    Frameworks,
    Gpu,
    PackageRecords,
    Snapshot,
    Unexamined,
)
from tests import machines as m
from tests.explain.test_building import fabric
from tests.rules import (
    test_fewer_gpus,
    test_libraries,
    test_tools,
    test_which_python,
)
from tests.rules.test_frameworks_host import GIB, host
from tests.rules.test_frameworks_verdicts import LINUX, ON_WINDOWS, active, build, dist, machine, trial
from tests.rules.test_requirements import environment_with


def alone(name: str, version: str, *wishes: str, version_of_python: str = "3.11.2", has: str = "1.0") -> Snapshot:
    """Return a machine with one package and what it wishes."""
    seen = environment_with(("torch", "2.6.0", ()), (name, version, wishes), ("tokenizers", has, ()))
    return replace(seen, pythons=tuple(replace(p, version=version_of_python) for p in seen.pythons or ()))


NVIDIAS = DamagedFile(
    path=f"{m.SITE}/nvidia/cufft/lib/libcufftw.so.11", distribution="nvidia-cufft-cu12", version="11.3", state="missing"
)
EXTENSION = DamagedFile(
    path=f"{m.SITE}/torch/_C.cpython-311-x86_64-linux-gnu.so", distribution="torch", version="2.6.0", state="missing"
)


def recorded(*files: DamagedFile, followed: bool) -> Snapshot:
    """Return a machine with files that are not as recorded; whether what every framework asks for was followed, and is there."""
    records = (PackageRecords(prefix=m.PREFIX, packages=1, files=1, damaged=files),)
    return replace(machine(build()), records=records, closures=(test_libraries.closure(edges=()),) if followed else ())


PACKAGES: dict[str, Snapshot] = {
    "compared at its start": alone("transformers", "4.51.3", "tokenizers>=0.21,<0.22"),
    "a requirement for an older Python": alone("accelerate", "1.0", 'tokenizers<1; python_version < "3.10"'),
    "a requirement for this Python": alone("accelerate", "1.0", 'tokenizers<1; python_version >= "3.10"'),
    "a requirement for an older Python, which it is": alone(
        "accelerate", "1.0", 'tokenizers<1; python_version < "3.10"', version_of_python="3.9.5"
    ),
    "a requirement where Python's version is not known": alone(
        "accelerate", "1.0", 'tokenizers<1; python_version >= "3.10"', version_of_python=""
    ),
    "a newer protobuf than the generated code": environment_with(
        ("tensorflow", "2.20.0", ("protobuf>=5.28.0,<6",)), ("protobuf", "6.31.1", ())
    ),
    "an older protobuf than the generated code": environment_with(
        ("tensorflow", "2.20.0", ("protobuf>=5.28.0",)), ("protobuf", "4.25.8", ())
    ),
    "an ml_dtypes that an early JAX does not check": environment_with(
        ("jax", "0.4.30", ("ml-dtypes>=0.4",)), ("ml-dtypes", "0.2.0", ())
    ),
    "an ml_dtypes that is too old": environment_with(
        ("jax", "0.7.2", ("ml-dtypes>=0.5.0",)), ("ml-dtypes", "0.4.1", ())
    ),
    "a page file, and the build without CUDA": host(
        machine(build(version="2.6.0+cpu", cuda="", commit=5 * GIB), base=ON_WINDOWS), commit_limit=4 * GIB, commit_left=GIB
    ),
    "a page file, for an environment that nobody named": host(
        machine(build(commit=5 * GIB), base=ON_WINDOWS, found_by="pyenv"), commit_limit=4 * GIB, commit_left=GIB
    ),
    "jax and a GPU of unknown kind": m.with_driver(
        machine(build("jax", "0.6.2", "12")), gpus=(Gpu(index=0, name="?"),)
    ),
    "jax and a GPU that is too old": m.with_driver(
        machine(build("jax", "0.6.2", "12")), gpus=(Gpu(index=0, name="GTX 780", compute_capability="3.5"),)
    ),
    "jax and a GPU that serves": machine(build("jax", "0.6.2", "12")),
    **{
        f"tensorflow {version} without CUDA on {words}": machine(build("tensorflow", version, "", **fields), base=base)
        for version, words, base, fields in (
            ("2.13.1", "Linux", LINUX, {}),
            ("2.13.1", "a Linux without a GPU", m.no_gpu_machine(), {}),
            ("2.15.0", "Linux", LINUX, {}),
            ("0.12.1", "Linux", LINUX, {}),
            ("2.10.1", "Windows", ON_WINDOWS, {}),
            ("2.11", "Windows", ON_WINDOWS, {}),
            ("2.11.0", "Windows", ON_WINDOWS, {}),
        )
    },
    **{
        f"tensorflow that sees no GPU, {words}": machine(
            build("tensorflow", "2.20.0", "12.5", **fields),
            trials=(trial(framework="tensorflow", version="2.20.0", gpu=False, devices=0, device=""),),
            distributions=(dist("tensorflow", "2.20.0"), *more),
        )
        for words, fields, more in (
            ("without its libraries", {}, ()),
            ("with its libraries", {}, (dist("nvidia-cudnn-cu12", "9.3.0.75"),)),
            ("whose code fits", {"sass": (80, 86)}, (dist("nvidia-cudnn-cu12", "9.3.0.75"),)),
        )
    },
    "torch that sees no GPU": machine(build(), trials=(trial(gpu=False, devices=0, device=""),)),
    **{
        f"{framework} sees one of two GPUs, {words}": replace(
            test_fewer_gpus.seen(framework, 1), frameworks=Frameworks(builds=(build(framework, "2.20.0", "12.5", **fields),))
        )
        for framework, words, fields in (
            ("tensorflow", "and has no code for the other", {"sass": (80, 86)}),
            ("tensorflow", "and has code for both", {"sass": (60, 61, 86)}),
            ("tensorflow", "and its code was not read", {}),
            ("torch", "and has no code for the other", {"sass": (80, 86)}),
        )
    },
    "both onnxruntimes, of different releases": machine(
        build("onnxruntime-gpu", "1.20.0", "12.2"), distributions=(dist("onnxruntime", "1.19.2"), dist("onnxruntime-gpu", "1.20.0"))
    ),
    **{
        f"a damaged file: {words}": recorded(*files, followed=followed)
        for words, followed, files in (
            ("NVIDIA's is missing, and everything is there", True, (NVIDIAS,)),
            ("NVIDIA's is missing, and nothing was followed", False, (NVIDIAS,)),
            ("NVIDIA's is of another size", True, (replace(NVIDIAS, state="size differs", header="good"),)),
            ("one of NVIDIA's is missing, one is of another size", True, (NVIDIAS, replace(NVIDIAS, path=f"{NVIDIAS.path}.1", state="size differs", header="good"))),
            ("the extension of torch is missing", True, (EXTENSION,)),
            ("a part of torch is missing", True, (replace(EXTENSION, path=f"{m.SITE}/torch/lib/libshm.so"),)),
            ("of another package, with the extension's name", True, (replace(EXTENSION, distribution="torch-scatter"),)),
            ("the extension of torch is of another size", True, (replace(EXTENSION, state="size differs", header="good"),)),
        )
    },
    "ran forward alone": machine(build(), trials=(replace(trial(), backward=False),)),
    "conda's environment is active, and another Python runs": active(
        "/a",
        m.python(prefix="/a", found_by="CONDA_PREFIX", kind="conda", distributions=()),
        m.python(prefix="/b", found_by="python on PATH"),
        name="CONDA_PREFIX",
    ),
    "an environment is active, and another Python runs": active(
        "/a", m.python(prefix="/a", found_by="VIRTUAL_ENV", distributions=()), m.python(prefix="/b", found_by="python on PATH")
    ),
    **{f"tool {n}": test_which_python.machine(framework_tools=(row[0],)) for n, row in enumerate(test_which_python.TOOLS)},
    **{f"tools: {name}": row[0] for name, row in (test_tools.NOTES | test_tools.ERRORS).items()},
    "a fabric manager, and no version of the driver": m.with_driver(fabric(), nvml=None, module_version=None),
    "folders that do not respond": replace(
        m.wheel_machine(),
        unexamined=(
            Unexamined(path="/net/old", seconds=3.0),
            Unexamined(path="/net/data", seconds=3.0, wanted_by=("PATH",)),
            Unexamined(path="/net/ml/bin/python", what="interpreter", seconds=3.0, wanted_by=("--python",)),
            Unexamined(path="/net/x/bin/python", what="interpreter", seconds=3.0),
        ),
    ),
}  # fmt: skip
