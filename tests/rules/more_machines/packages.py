"""Machines with packages that do not fit each other, tools that cannot serve, and places that did not answer."""

from __future__ import annotations

from msgspec.structs import replace

from core.model.facts import (
    Gpu,
    Snapshot,
    Unexamined,
)
from tests import machines as m
from tests.explain.test_building import fabric
from tests.rules import (
    test_tools,
    test_which_python,
)
from tests.rules.test_frameworks_host import GIB, host
from tests.rules.test_frameworks_verdicts import ON_WINDOWS, active, build, machine, trial
from tests.rules.test_requirements import environment_with


def alone(name: str, version: str, *wishes: str, version_of_python: str = "3.11.2", has: str = "1.0") -> Snapshot:
    """Return a machine with one package and what it wishes."""
    seen = environment_with(("torch", "2.6.0", ()), (name, version, wishes), ("tokenizers", has, ()))
    return replace(seen, pythons=tuple(replace(p, version=version_of_python) for p in seen.pythons or ()))


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
