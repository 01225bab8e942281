"""Machines whose variables have values that programs cannot use."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from core.model.facts import (
    CudaInit,
    DamagedFile,
    Distribution,
    Environment,
    NamedPlace,
    PackageRecords,
    PathEntry,
    Renewal,
    Snapshot,
    Variable,
    Vocabulary,
)
from tests import machines as m
from tests.rules import (
    test_contracts,
)
from tests.rules.test_contracts import JAX, TENSORFLOW, TORCH

SITE = m.SITE


def contract(variable: str, value: str, *distributions: Distribution, **fields: Any) -> Snapshot:
    """Return a machine with one variable."""
    return test_contracts.machine(variable, value, *distributions, **fields)


def of_code(takes: Any, value: str, *known: str) -> Snapshot:
    """Return a machine on which a framework's own code cannot convert a variable's value."""
    name = "JAX_PGLE_AGGREGATION_PERCENTILE"
    row = Vocabulary(
        variable=name, prefix=m.PREFIX, files=(f"{SITE}/jax/_src/config.py",), known=known, unknown=(value,),
        takes=takes, line=70, reader="jax",
    )  # fmt: skip
    seen = contract(name, value, *JAX)
    return replace(seen, vocabularies=(row, replace(row, variable="JAX_ENABLE_X64")))


def answers(*keys: str) -> Snapshot:
    """Return a machine whose Accelerate refuses keys of the person's answers."""
    file = "/home/ada/.cache/huggingface/accelerate/default_config.yaml"
    module = f"{SITE}/accelerate/commands/config/config_args.py"
    rows = tuple(
        Vocabulary(
            variable=key, prefix=m.PREFIX, files=(module,), unknown=(key,), takes="key", reader="accelerate",
            setting=f"{file}:{number}",
        )
        for number, key in enumerate(keys, 13)
    )  # fmt: skip
    return replace(several(), vocabularies=rows)


def several(*variables: tuple[str, str], its: tuple[Distribution, ...] = TORCH, **fields: Any) -> Snapshot:
    """Return a machine with several variables."""
    said = Environment(variables=tuple(Variable(name=n, value=v, source="~/.profile") for n, v in variables))
    return replace(m.wheel_machine(), environment=said, pythons=(m.python(distributions=its, **fields),))


def inside(variable: str, value: str, **driver: Any) -> Snapshot:
    """Return a container whose driver does not answer."""
    gone: dict[str, Any] = {
        "pci": (),
        "gpus": (),
        "nvml": None,
        "cuda": None,
        "nodes": (),
        "modules": (),
        "libraries": (),
    }
    return contract(
        variable, value, *TORCH,
        machine=m.linux_machine(container="docker"), driver=m.working_driver(**(gone | driver)),
    )  # fmt: skip


NODES = m.working_driver().nodes
GONE = CudaInit(problem="libcuda.so.1: cannot open shared object file: No such file or directory")
UTILITY: dict[str, Any] = {n: getattr(m.working_driver(), n) for n in ("pci", "gpus", "nvml", "nodes", "modules")} | {
    "cuda": GONE
}
"""Of a driver: what a container gets for the capability "utility"."""

FAILING = m.load(m.cudnn(), m.PYTHON, roll_call=m.refused(m.cudnn(), "ops", "cannot open shared object file"))
LIBSHM = DamagedFile(path=f"{SITE}/torch/lib/libshm.so", distribution="torch", version="2.6.0", state="hash differs")
ALTERED = (PackageRecords(prefix=m.PREFIX, packages=1, files=1, damaged=(LIBSHM,)),)
BIN = m.TOOLKIT + r"\bin"


def with_toolkit(**fields: Any) -> Snapshot:
    """Return the machine of the system's packages with its toolkit otherwise."""
    seen = m.system_machine()
    return replace(seen, toolkits=tuple(replace(t, **fields) for t in seen.toolkits or ()))


def newer_path(session: tuple[str, ...], user: tuple[str, ...]) -> Snapshot:
    """Return a Windows whose PATH of this session, and of new programs, are these folders."""
    seen = m.windows_machine()
    values = [
        Variable(name="Path", value=";".join(folders), scope=scope, source=source)
        for folders, scope, source in ((session, "process", "environment"), (user, "user", r"HKCU\Environment"))
        if folders
    ]
    return replace(seen, environment=replace(seen.environment or Environment(), variables=tuple(values)))


CONTRACTS: dict[str, Snapshot] = {
    **{
        f"{variable}={value}": contract(variable, value, *its)
        for variable, value, its in (
            ("JAX_PLATFORMS", "rocm", JAX),
            ("JAX_PLATFORMS", "cuda,cpu", JAX),
            ("JAX_ENABLE_X64", "maybe", JAX),
            ("JAX_ENABLE_X64", "maybe", TORCH),
            ("XLA_FLAGS", "xla_gpu_autotune_level=0", JAX),
            ("XLA_PYTHON_CLIENT_MEM_FRACTION", "75", JAX),
            ("NCCL_P2P_LEVEL", "nvlink", TORCH),
            ("KERAS_BACKEND", "torch", TENSORFLOW),
            ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:true", TORCH),
            ("PYTHONHASHSEED", "fixed", ()),
            ("PYTHONIOENCODING", "utf-9", ()),
            ("PYTHONOPTIMIZE", "2", TENSORFLOW),
            ("TF_USE_LEGACY_KERAS", "1", TENSORFLOW),
        )
    },
    "answers of a newer Accelerate": answers("parallelism_config", "new_config"),
    "a number that code cannot read": of_code("number", "high"),
    "a whole number that code cannot read": of_code("whole number", "1.5"),
    "a switch that code cannot read": of_code("switch", "maybe"),
    "a word that code does not know": of_code("words", "fast", "auto", "cuda"),
    "a value for the rest of the tables": replace(
        of_code("words", "fast", "auto"), pythons=(m.python(distributions=JAX, found_by="python on PATH"),)
    ),
    "one that only another framework minds, and one that this one does": several(
        ("PYTHONOPTIMIZE", "2"), ("TORCH_DISTRIBUTED_DEBUG", "verbose"), ("PYTHONHASHSEED", "fixed")
    ),
    **{
        f"a wrong word, and {words}": replace(several(("TORCH_DISTRIBUTED_DEBUG", "verbose")), **sections)
        for words, sections in (
            ("a cuDNN that fails", {"loads": (FAILING,)}),
            ("a part of torch that is altered", {"records": ALTERED}),
            ("both", {"loads": (FAILING,), "records": ALTERED}),
        )
    },
    "a wrong word in the active environment": several(
        ("TORCH_DISTRIBUTED_DEBUG", "verbose"), found_by="VIRTUAL_ENV, python on PATH"
    ),
    "a wrong word for what runs by default": several(
        ("TORCH_DISTRIBUTED_DEBUG", "verbose"), found_by="python on PATH"
    ),
    "a wrong word for another environment": several(("TORCH_DISTRIBUTED_DEBUG", "verbose"), found_by="pyenv"),
    "a container without CUDA's part of the driver": inside("NVIDIA_DRIVER_CAPABILITIES", "utility", **UTILITY),
    "a container with it, whose driver fails": inside("NVIDIA_DRIVER_CAPABILITIES", "compute,utility", nodes=NODES),
    "a container without CUDA's part and without a GPU": inside("NVIDIA_DRIVER_CAPABILITIES", "utility"),
    "no container, and a variable of containers": contract(
        "NVIDIA_DRIVER_CAPABILITIES", "utility", *TORCH, driver=m.working_driver(**UTILITY)
    ),
    "a container without CUDA's part, of which the driver was not looked at": contract(
        "NVIDIA_DRIVER_CAPABILITIES", "utility", *TORCH, machine=m.linux_machine(container="docker"), driver=None
    ),
    "a container without a GPU": inside("NVIDIA_VISIBLE_DEVICES", "void"),
    "a container with one": inside("NVIDIA_VISIBLE_DEVICES", "void", nodes=NODES),
    "a container that asks for a newer driver": contract(
        "NVIDIA_REQUIRE_CUDA", "cuda>=13.1 brand=tesla,driver>=590", *TORCH, machine=m.linux_machine(container="docker")
    ),
    "a compiler that this user may not run": contract(
        "CC", "/srv/gcc", Distribution(name="triton", version="3.4.0"),
        places=(NamedPlace(variable="CC", path="/srv/gcc", state="file", runs=False),),
    ),
    "a cache in a folder that may not be written to": contract(
        "TRITON_CACHE_DIR", "/srv", Distribution(name="triton", version="3.4.0"),
        places=(NamedPlace(variable="TRITON_CACHE_DIR", path="/srv", state="folder", blocked="/srv"),),
    ),
    "no such interface": contract(
        "NCCL_SOCKET_IFNAME", "ib", *TORCH,
        places=(NamedPlace(variable="NCCL_SOCKET_IFNAME", path="/sys/class/net", state="folder", holds=("lo", "eth0")),),
    ),
    "words that the reader's files do not have": replace(
        contract("XLA_FLAGS", "--xla_a=1 --xla_b", *JAX),
        vocabularies=(Vocabulary(variable="XLA_FLAGS", prefix=m.PREFIX, files=("/lib/libjax_common.so",), unknown=("xla_b",)),),
    ),
    "a toolkit named with a variable in it": replace(
        m.system_machine(),
        environment=Environment(
            variables=(Variable(name="CUDA_HOME", value="$HOME/cuda", source="~/.profile"),),
            entries=(PathEntry(variable="CUDA_HOME", index=0, text="$HOME/cuda", expanded="/usr/local/cuda-12.4"),),
        ),
        toolkits=tuple(replace(t, named_by=()) for t in m.system_machine().toolkits or ()),
    ),
    **{
        f"a variable that is older {where} a change": replace(
            m.wheel_machine(),
            environment=Environment(entries=m.paths("/usr/bin"), renewed=(renewal,)),
            pythons=(m.python(kind=kind),),
        )
        for where, kind, renewal in (
            ("in this session than", "venv", Renewal(name="CUDA_HOME", at="~/.profile", old="/opt/old", new="/opt/new")),
            ("for this user than", "venv", Renewal(name="CUDA_HOME", scope="machine", at="/etc/environment", old="/opt/old")),
            ("than", "venv", Renewal(name="LD_LIBRARY_PATH", scope="environment", at=m.PREFIX, new="/opt/new")),
            ("in conda than", "conda", Renewal(name="LD_LIBRARY_PATH", scope="environment", at=m.PREFIX, old="")),
        )
    },
    **{
        f"a toolkit whose compiler {words}": with_toolkit(nvcc="/usr/local/cuda-12.4/bin/nvcc", **fields)
        for words, fields in (
            ("is of its release", {"nvcc_version": "12.4.131"}),
            ("is of another one", {"nvcc_version": "12.6.20"}),
            ("told no release", {"nvcc_version": ""}),
            ("is of a release, and the toolkit's is not known", {"nvcc_version": "12.6.20", "version": None}),
        )
    },
    **{
        f"Windows, a toolkit on PATH {words}": newer_path(*rest)
        for words, rest in (
            ("of new programs alone", ((m.INSTALLER,), (m.INSTALLER, BIN))),
            ("of every program", ((m.INSTALLER, BIN), (m.INSTALLER, BIN))),
            ("of this session alone", ((m.INSTALLER, BIN), (m.INSTALLER,))),
            ("of new programs, and this session's is not known", ((), (m.INSTALLER, BIN))),
        )
    },
    "Windows, cuDNN on PATH of new programs, and no toolkit": replace(
        newer_path((r"C:\Windows",), (m.INSTALLER,)), toolkits=None
    ),
    "a toolkit's folder that has none": replace(
        m.system_machine(),
        environment=Environment(
            variables=(Variable(name="CUDA_HOME", value="/opt/cuda", source="~/.profile"),),
            entries=m.paths("/opt/cuda", variable="CUDA_HOME"),
        ),
        toolkits=tuple(replace(t, named_by=()) for t in m.system_machine().toolkits or ()),
    ),
}  # fmt: skip
