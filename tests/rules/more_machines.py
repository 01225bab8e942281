"""Machines with faults in what a program gets beside cuDNN: libraries, imports, variables, packages, tools, and benchmarks.

Each differs from its neighbour by one fact that decides. What is said of them is written down in made_machines.txt.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from core.model.facts import (
    Attempt,
    Benchmark,
    Changeable,
    Check,
    Closure,
    CudaInit,
    CudnnCopy,
    Distribution,
    Environment,
    FoundModule,
    FrameworkBuild,
    Frameworks,
    Gap,
    Gpu,
    GpuRun,
    How,
    ImportSearch,
    Load,
    Mapped,
    NamedPlace,
    Opening,
    PathEntry,
    PythonEnvironment,
    Remains,
    Resolution,
    Rung,
    Snapshot,
    Unexamined,
    Variable,
    Vocabulary,
)
from tests import machines as m
from tests.benchmark.test_rules import CARD, RUNGS, broken, run
from tests.explain.test_building import fabric
from tests.rules import (
    test_contracts,
    test_ended_imports,
    test_frameworks_imports,
    test_libraries,
    test_tools,
    test_unfit_extensions,
    test_which_python,
)
from tests.rules.test_contracts import JAX, TENSORFLOW, TORCH
from tests.rules.test_ended_imports import OTHERS, ended
from tests.rules.test_frameworks_host import GIB, host
from tests.rules.test_frameworks_imports import ENTRIES, in_the_way, torch
from tests.rules.test_frameworks_verdicts import ON_WINDOWS, active, build, dist, machine, trial
from tests.rules.test_libraries import BINARY, NCCL, OLD, closure, edge
from tests.rules.test_requirements import environment_with

SITE = m.SITE

# --- libraries that are lacking ------------------------------------------------------------------------------

OURS = Distribution(
    name="torch", version="2.8.0", location=SITE, requires=("nvidia-cudnn-cu12==9.10.2.21", "nvidia-nccl-cu12==2.27.3")
)
CU128 = FrameworkBuild(prefix=m.PREFIX, distribution="torch", version="2.8.0", cuda="12.8")
RUNTIME = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"


def lacking(*closures: Closure, its: tuple[Distribution, ...] = (OURS,), **fields: Any) -> Snapshot:
    """Return a machine whose environment has these distributions, and binaries with these lacks."""
    known: dict[str, Any] = {
        "pythons": (m.python(distributions=its),),
        "frameworks": Frameworks(builds=(CU128,)),
        "loads": (),
        "cudnn": (),
    }
    return test_libraries.machine(*closures, **(known | fields))


def too_old(framework: str, binary: str) -> Closure:
    """Return binaries that want a newer C++ runtime than the system's."""
    gap = Gap(wanted_by=f"{SITE}/{binary}", name="", version="GLIBCXX_3.4.32", provider=RUNTIME)
    return closure(framework, gaps=(gap,))


def on_windows(*attempts: Attempt, elsewhere: tuple[str, ...] = (), **fields: Any) -> Snapshot:
    """Return a Windows whose torch gets an unfit cuBLAS."""
    path = next((a.path for a in attempts if a.outcome not in ("found", "not there")), "")
    its = edge(name="cublas64_12.dll", state="damaged", path=path, attempts=attempts, elsewhere=elsewhere)
    seen = lacking(closure(edges=(its,)), **fields)
    return replace(seen, machine=m.windows_machine().machine)


def tried(path: str, how: How, outcome: str = "not there") -> Attempt:
    """Return a place that was tried."""
    return Attempt(path=path, how=how, outcome=outcome)  # type: ignore[arg-type]


NOT_FOUND = Load(
    consumer=m.PYTHON, major=9, resolutions=(m.search("libcudnn.so.9", m.nothing(f"{m.CUDNN}/libcudnn.so.9")),)
)
CUDNN9 = edge(name="libcudnn.so.9")
SYSTEM32 = r"C:\Windows\System32\cublas64_12.dll"
OLD_BIN = r"C:\old\bin\cublas64_12.dll"
TOOLKIT_BIN = rf"{m.TOOLKIT}\bin\cublas64_12.dll"
NOEXEC = edge(state="not executable", path=NCCL)

LIBRARIES: dict[str, Snapshot] = {
    "cuDNN as its framework requires it": lacking(closure(edges=(CUDNN9,))),
    "cuDNN of another CUDA is required beside it": lacking(
        closure(edges=(CUDNN9,)),
        its=(Distribution(name="paddle", version="2.4", requires=("nvidia-cudnn-cu11==8.9.5.29",)), OURS),
    ),
    "cuDNN of another release alone is required": lacking(
        closure(edges=(CUDNN9,)),
        its=(Distribution(name="torch", version="2.8.0", requires=("nvidia-cudnn-cu12==8.9.2.26",)),),
    ),
    "cuDNN for CUDA 13": lacking(
        closure(edges=(CUDNN9,)),
        its=(Distribution(name="torch", version="2.9.0", requires=("nvidia-cudnn-cu13==9.13.0.50",)),),
        frameworks=Frameworks(builds=(replace(CU128, cuda="13.0"),)),
    ),
    "NCCL for CUDA 13 by a name without a number": lacking(
        closure(edges=(edge(name="libcufft.so.12"),)),
        its=(Distribution(name="torch", version="2.9.0", requires=("nvidia-cufft==12.0.0.61", "nvidia-cufft-cu12")),),
        frameworks=Frameworks(builds=(replace(CU128, cuda="13.0"),)),
    ),
    "cuDNN alone, which its own rules tell": lacking(
        closure("torch 2.6.0", edges=(CUDNN9,)), its=(dist("torch", "2.6.0"),), loads=(NOT_FOUND,), cudnn=()
    ),
    "cuDNN and NCCL, which one card tells": lacking(
        closure("torch 2.6.0", edges=(CUDNN9, edge())), its=(dist("torch", "2.6.0"),), loads=(NOT_FOUND,), cudnn=()
    ),
    "NCCL alone, and cuDNN by its own rules": lacking(
        closure("torchvision 0.21.0", edges=(edge(),)), its=(dist("torch", "2.6.0"),), loads=(NOT_FOUND,), cudnn=()
    ),
    "of another CUDA, with cuDNN of another major": lacking(
        closure("torch 2.6.0", edges=(edge(name="libcublas.so.11"), edge(name="libcudnn.so.8"))),
        its=(dist("torch", "2.6.0"), dist("nvidia-cublas-cu12", "12.8.4.1"), dist("nvidia-cudnn-cu12", "9.1.0.70")),
        loads=(Load(consumer=m.PYTHON, major=8, resolutions=(m.search("libcudnn.so.8", m.nothing("/x/libcudnn.so.8")),)),),
    ),
    "a runtime that is too old for three": lacking(
        too_old("scipy 1.16.0", "scipy/_lib.so"), too_old("torch 2.8.0", "torch/lib/libc10.so"), too_old("numpy 2.2.6", "numpy/_core.so")
    ),
    "a runtime that is too old for one": lacking(too_old("scipy 1.16.0", "scipy/_lib.so")),
    "a runtime that is too old for one, and libraries that lack": lacking(
        too_old("scipy 1.16.0", "scipy/_lib.so"), closure(edges=(edge(),))
    ),
    "a mount without programs, for two with other files": lacking(
        closure("numpy 2.2.6", edges=(replace(NOEXEC, name="libopenblas.so", path=f"{SITE}/numpy.libs/libopenblas.so"),)),
        closure(edges=(NOEXEC,)),
    ),
    "a damaged file by the variable, and nothing sound elsewhere": lacking(
        closure(edges=(edge(state="damaged", path=OLD, attempts=(tried(OLD, How.LD_LIBRARY_PATH, "damaged"), tried(NCCL, How.RUNPATH))),))
    ),
    "a damaged file by the variable, and the sound one by it, too": lacking(
        closure(edges=(edge(state="damaged", path=OLD, attempts=(tried(OLD, How.LD_LIBRARY_PATH, "damaged"), tried("/opt/new/libnccl.so.2", How.LD_LIBRARY_PATH, "found"))),))
    ),
    "a damaged file in its own place": lacking(
        closure(edges=(edge(state="damaged", path=NCCL, attempts=(tried(NCCL, How.RUNPATH, "damaged"), tried("/usr/lib/libnccl.so.2", How.DEFAULT, "found"))),))
    ),
    "Windows, an unfit file on PATH before the sound one": on_windows(
        tried(SYSTEM32, How.SYSTEM), tried(OLD_BIN, How.PATH, "damaged"), tried(TOOLKIT_BIN, How.PATH, "found")
    ),
    "Windows, an unfit file on PATH, and the sound one elsewhere": on_windows(
        tried(SYSTEM32, How.SYSTEM), tried(OLD_BIN, How.PATH, "damaged"), elsewhere=(TOOLKIT_BIN,)
    ),
    "Windows, an unfit file on PATH alone": on_windows(tried(SYSTEM32, How.SYSTEM), tried(OLD_BIN, How.PATH, "damaged")),
    "Windows, an unfit file in System32": on_windows(
        tried(SYSTEM32, How.SYSTEM, "damaged"), tried(TOOLKIT_BIN, How.PATH, "found")
    ),
    "Windows, folders that only the import can name": replace(
        lacking(closure(edges=(edge(name="cublas64_12.dll", elsewhere=(TOOLKIT_BIN,)),))), machine=m.windows_machine().machine
    ),
    "a library that a variable puts before every other": lacking(
        closure(gaps=(Gap(wanted_by=BINARY, name="ncclCommShrink", provider=OLD, how=How.LD_PRELOAD),))
    ),
    "a symbol that an older wheel lacks, and the system's file lacks, too": lacking(
        closure(gaps=(
            Gap(wanted_by=BINARY, name="ncclCommShrink", provider=NCCL, others=("/usr/lib/libnccl.so.2",)),
            Gap(wanted_by=BINARY, name="memfd_create", version="GLIBC_2.27", provider="/lib/x86_64-linux-gnu/libc.so.6"),
        ))
    ),
    "an extension of another torch, in two environments' order": lacking(
        closure("torchvision 0.21.0", gaps=(Gap(wanted_by=f"{SITE}/torchvision/_C.so", name="_ZN5torch3fooEv"),)),
        its=(OURS, dist("torchvision", "0.21.0", "torch==2.6.0")),
    ),
    "two that open and do not": lacking(
        closure(openings=(Opening(library=BINARY, ended="The process was killed by SIGSEGV."),)),
        closure("torchaudio 2.8.0", openings=(Opening(library=f"{SITE}/torchaudio/lib/libtorchaudio.so", problem="undefined symbol: _ZNK5torch8autograd4Node4nameEv"),)),
    ),
    **{f"row {n}": test_libraries.machine(row[0], damaged=row[1]) for n, row in enumerate(test_libraries.LACKS) if not row[0].openings},
}  # fmt: skip

# --- imports --------------------------------------------------------------------------------------------------

RANDOM = FoundModule(
    name="random", kind="module", path="/home/ada/work/random.py", entry=0, hidden=("/usr/lib/python3.11/random.py",)
)


def second(entry: int, owner: str = "torch 2.5.0", **fields: Any) -> FoundModule:
    """Return another installation of torch that comes first."""
    path = f"{ENTRIES[entry].path}/torch/__init__.py"
    known: dict[str, Any] = {"entry": entry, "path": path, "owner": owner, "hidden": (test_frameworks_imports.TORCH,)}
    return torch(**(known | {"hidden_owner": "torch 2.6.0"} | fields))


def found(*modules: FoundModule, its: PythonEnvironment | None = None, **fields: Any) -> Snapshot:
    """Return a machine whose environment's search finds these."""
    return test_frameworks_imports.seen(*modules, its=its, **fields)


NUMPY = FoundModule(
    name="numpy", kind="module", path="/home/ada/work/numpy.py", entry=0,
    hidden=(f"{SITE}/numpy/__init__.py",), hidden_owner="numpy 2.2.6",
)  # fmt: skip
FOREIGN = torch(foreign=(f"{SITE}/torch/_C.cpython-39-x86_64-linux-gnu.so",))
WINDOWS_ENTRIES = tuple(
    replace(e, path="C:" + e.path.replace("/", "\\"), source=e.source if e.origin != "pth" else r"C:\ml\a.pth")
    for e in ENTRIES
)

IMPORTS: dict[str, Snapshot] = {
    **{f"in the way by {ENTRIES[n].origin}": found(in_the_way(n)) for n in (0, 1, 3, 5)},
    **{f"the source of a project by {ENTRIES[n].origin}": found(in_the_way(n, project=f"{ENTRIES[n].path}/setup.py")) for n in (0, 1, 5)},
    "alone on PYTHONPATH": found(in_the_way(1, alone=True)),
    **{f"a second torch by {ENTRIES[n].origin}": found(second(n)) for n in (0, 1, 3, 4, 5)},
    "a second torch of the same release": found(second(1, "torch 2.6.0")),
    "a user's torch over the system's": found(second(3), its=m.python(kind="system")),
    "a user's numpy over the system's": found(
        FoundModule(name="numpy", kind="package", path="/x/numpy/__init__.py", entry=3, owner="numpy 2.1.0", hidden=("/y",), hidden_owner="numpy 1.24.2"),
        its=m.python(kind="system"),
    ),
    "a numpy of another major on PYTHONPATH": found(
        FoundModule(name="numpy", kind="package", path="/opt/tools/numpy/__init__.py", entry=1, owner="numpy 2.1.0", hidden=(f"{SITE}/numpy/__init__.py",), hidden_owner="numpy 1.26.4")
    ),
    "a numpy of another release on PYTHONPATH": found(
        FoundModule(name="numpy", kind="package", path="/opt/tools/numpy/__init__.py", entry=1, owner="numpy 1.26.0", hidden=(f"{SITE}/numpy/__init__.py",), hidden_owner="numpy 1.26.4")
    ),
    "for another Python, and then a file in the way": found(second(1, foreign=("/opt/tools/torch/_C.cpython-39.so",)), NUMPY),
    "sound, and then a file in the way": found(torch(), NUMPY),
    "two files in the way": found(in_the_way(0), NUMPY),
    "for another Python in its own place": found(FOREIGN),
    "a wheel's tags for another processor": found(torch(wheel_tags=("cp311-cp311-manylinux_2_28_aarch64",))),
    "a module of Python's own hidden where programs start": found(torch(), hidden_standard=(RANDOM,)),
    "a module of Python's own hidden by PYTHONPATH": found(
        torch(), hidden_standard=(replace(RANDOM, path="/opt/tools/random.py", entry=1, alone=True),)
    ),
    "modules of Python's own hidden in two places": found(
        torch(),
        hidden_standard=(
            replace(RANDOM, name="yaml", path="/home/ada/work/yaml.py"),
            replace(RANDOM, path="/opt/tools/random.py", entry=1),
            RANDOM,
        ),
    ),
    "NVIDIA's namespace hidden": found(
        FoundModule(name="nvidia", kind="module", path="/home/ada/work/nvidia.py", entry=0, hidden=(f"{SITE}/nvidia",)),
        its=m.python(distributions=(Distribution(name="jax", version="0.7.2", location=SITE),)),
    ),
    "an empty folder beside remains": found(
        torch(), torch(kind="namespace", path=f"{SITE}/torch"), remains=(Remains(path=f"{SITE}/~orch", kind="renamed", distribution="torch"),)
    ),
    **{f"remains, {kind}": found(torch(), remains=(Remains(path=f"{SITE}/~orch", kind=kind, distribution="torch"),)) for kind in ("renamed", "no metadata", "no record")},
    "Windows, a second torch by the user": replace(
        m.windows_machine(),
        pythons=(m.python(),),
        imports=(ImportSearch(prefix=m.PREFIX, python="3.11", entries=WINDOWS_ENTRIES, modules=(second(3),)),),
    ),
    "Windows, a file in the way where programs start": replace(
        m.windows_machine(),
        pythons=(m.python(),),
        imports=(ImportSearch(prefix=m.PREFIX, python="3.11", entries=WINDOWS_ENTRIES, modules=(replace(in_the_way(0), path=r"C:\home\ada\work\torch.py"),)),),
    ),
    **{f"fault {fault.kind}{f' by {fault.source[-8:]}' if fault.source else ''}": found(faults=(fault,)) for fault, _severity in test_frameworks_imports.FAULTS},
}  # fmt: skip

ENDED: dict[str, Snapshot] = {
    **{f"row {n}": test_ended_imports.seen(ended(**row[0]), remains=row[1]) for n, row in enumerate(test_ended_imports.ENDS)},
    "of a second installation by the user": test_ended_imports.seen(
        ended(kind="no name", name="TypeIs", path="/home/ada/.local/lib/python3.11/site-packages/typing_extensions.py", entry=2, owner="typing-extensions 4.5")
    ),
    "where the rule about files in the way tells it": test_ended_imports.seen(
        ended(kind="no name", name="TypeIs", path=OTHERS, entry=1),
        modules=(FoundModule(name="typing_extensions", kind="module", path=OTHERS, entry=1, hidden=(test_ended_imports.OWN,), hidden_owner="typing-extensions 4.5"),),
    ),
    "what an extension never asked for": test_ended_imports.seen(
        ended(starts=("torchvision",), importer=f"{SITE}/torchvision/io.py", wanted="av")
    ),
    "what Python was built without, and then a module": test_ended_imports.seen(
        ended(wanted="_lzma", importer=f"{SITE}/torchvision/__init__.py", starts=("torchvision",)), ended()
    ),
    "two of one framework": test_ended_imports.seen(
        ended(), ended(starts=("torchvision",), importer=f"{SITE}/torchvision/__init__.py", wanted="PIL")
    ),
    "empty, beside another empty one": test_ended_imports.seen(
        ended(kind="empty", path=test_ended_imports.OWN, entry=3, owner="typing-extensions 4.5"),
        ended(kind="empty", path=test_ended_imports.NUMPY, entry=3, wanted="numpy", owner="numpy 1.26.4"),
    ),
}  # fmt: skip

EXTENSIONS: dict[str, Snapshot] = {
    **{f"row {n}": test_unfit_extensions.machine(row[0]) for n, row in enumerate(test_unfit_extensions.WORDS)},
    "two packages want what the system lacks": test_unfit_extensions.machine(
        test_unfit_extensions.unfit(test_unfit_extensions.lacking("libgomp.so.1")),
        test_unfit_extensions.unfit(
            test_unfit_extensions.lacking("libgomp.so.1"), starts=("torch",), **test_unfit_extensions.SCIPY
        ),
        test_unfit_extensions.unfit(test_unfit_extensions.lacking("libGL.so.1")),
    ),
}

# --- variables --------------------------------------------------------------------------------------------------


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
    "a toolkit's folder that has none": replace(
        m.system_machine(),
        environment=Environment(
            variables=(Variable(name="CUDA_HOME", value="/opt/cuda", source="~/.profile"),),
            entries=m.paths("/opt/cuda", variable="CUDA_HOME"),
        ),
        toolkits=tuple(replace(t, named_by=()) for t in m.system_machine().toolkits or ()),
    ),
}  # fmt: skip

# --- packages, tools, and what was not examined -------------------------------------------------------------------


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

# --- cuDNN's files ------------------------------------------------------------------------------------------------

COPY = m.cudnn()
LOST = "libcudnn_cnn.so.9"
OTHER = "/home/ada/other"
DONOR = m.cudnn(f"{OTHER}/lib/python3.11/site-packages/nvidia/cudnn/lib", environment=OTHER)
OPEN_TO_ALL = Changeable(path=OTHER, mode="0777", writers=("everyone",))


def spoilt(*donors: CudnnCopy, found_by: str = "pyenv", **machine: Any) -> Snapshot:
    """Return a machine on which a file of cuDNN is damaged, and other copies are whole."""
    files = tuple(
        replace(f, state="truncated", problem="The file is cut short.") if f.name == LOST else f for f in COPY.files
    )
    copy = replace(COPY, files=files, origin="folder", owner="")
    theirs = m.python(prefix=OTHER, executable=f"{OTHER}/bin/python", found_by=found_by)
    seen = replace(m.wheel_machine(), cudnn=(copy, *donors), pythons=(m.python(), theirs))
    return replace(seen, machine=replace(seen.machine, **machine))


def with_file(**facts: Any) -> Snapshot:
    """Return the machine of wheels with one file of cuDNN otherwise."""
    seen = m.wheel_machine()
    files = tuple(replace(f, **facts) if f.name == LOST else f for f in COPY.files)
    return replace(seen, cudnn=(replace(COPY, files=files),))


FILES: dict[str, Snapshot] = {
    "a damaged file, and a whole copy elsewhere": spoilt(DONOR),
    "a damaged file, and a copy that anybody can change": spoilt(replace(DONOR, changeable=OPEN_TO_ALL)),
    "a damaged file, and one that is taken anyway": spoilt(replace(DONOR, changeable=OPEN_TO_ALL), found_by="--python"),
    "a damaged file, and one that is taken anyway, for an administrator": spoilt(
        replace(DONOR, changeable=OPEN_TO_ALL), found_by="--python", elevated=True
    ),
    "a damaged file, and a copy on LD_LIBRARY_PATH": spoilt(
        replace(DONOR, changeable=OPEN_TO_ALL, source="LD_LIBRARY_PATH")
    ),
    "a page of a web site in a file's place": with_file(
        state="not a library", problem="It is text.", record="size differs"
    ),
    "a pipe in a file's place": with_file(state="not a library", size=0, problem="It is no regular file."),
}


def with_searches(*searches: Resolution, **fields: Any) -> Snapshot:
    """Return the machine of wheels on which CUDA's libraries are searched for like this."""
    made = m.load(COPY, m.PYTHON)
    kept = tuple(r for r in made.resolutions if "cublas" not in r.name)
    return replace(m.wheel_machine(), loads=(replace(made, resolutions=(*kept, *searches)),), **fields)


HALF = "/opt/cuda/lib64/libcublas.so.12"
HALVES = m.toolkit("/opt/cuda/lib64", {"libcublas.so.12": "12.9.1.4"}, root="/opt/cuda", origin="folder")
BY_LINK = replace(HALVES, libraries=tuple(replace(f, real_path=f"{HALF}.9.1.4") for f in HALVES.libraries))
WHOLE_LT = m.search("libcublasLt.so.12", m.found(f"{m.CUBLAS}/libcublasLt.so.12"))
ODD = "/home/ada/ml;new"


def in_odd_folder(framework: str) -> Snapshot:
    """Return a machine whose environment's folder has a sign in its name that separates paths."""
    folder = f"{ODD}/lib/python3.11/site-packages/nvidia/cudnn/lib"
    copy = replace(COPY, folder=folder, environment=ODD)
    who = replace(m.PYTHON, id=f"python:{ODD}", prefix=ODD, framework=framework)
    home = m.python(prefix=ODD, executable=f"{ODD}/bin/python")
    return replace(m.wheel_machine(), cudnn=(copy,), pythons=(home,), loads=(m.load(copy, who),))


FILES |= {
    "cuBLAS is nowhere, and nothing says who asked": with_searches(
        m.search("libcublas.so.12", m.nothing("/usr/lib/libcublas.so.12")), toolkits=()
    ),
    "one half of cuBLAS by the name of the file itself": with_searches(
        m.search("libcublas.so.12", m.found(f"{HALF}.9.1.4", How.LD_LIBRARY_PATH)), WHOLE_LT,
        toolkits=(*m.wheels(), BY_LINK),
    ),
    "one half of cuBLAS by its link": with_searches(
        m.search("libcublas.so.12", m.found(HALF, How.LD_LIBRARY_PATH)), WHOLE_LT, toolkits=(*m.wheels(), BY_LINK)
    ),
    "one half of cuBLAS alone": with_searches(
        m.search("libcublas.so.12", m.found(HALF, How.LD_LIBRARY_PATH)), toolkits=(*m.wheels(), BY_LINK)
    ),
    "a sign in the path, for PyTorch": in_odd_folder("torch 2.6.0"),
    "a sign in the path, for TensorFlow": in_odd_folder("tensorflow 2.20.0"),
}  # fmt: skip

# --- benchmarks -----------------------------------------------------------------------------------------------------


def measured(*runs: GpuRun, **fields: Any) -> Snapshot:
    """Return a machine that was measured."""
    return replace(m.wheel_machine(), benchmark=Benchmark(gpus=runs), **fields)


def printed(call: str, layer: str, status: int | None = 1) -> GpuRun:
    """Return a run that stopped and printed something."""
    return broken(call, status, layer, output="terminate called after throwing an instance of 'std::bad_alloc'")


def mapped(*origins: str) -> tuple[Mapped, ...]:
    """Return cuDNN's files from two folders."""
    return (
        Mapped(path="/a/libcudnn.so.9", name="libcudnn.so.9", origin=origins[0]),
        Mapped(path="/b/libcudnn_ops.so.9", name="libcudnn_ops.so.9", origin=origins[1]),
    )


def check(algorithm: str, right: bool | None, **fields: Any) -> Check:
    """Return a comparison with exact numbers."""
    known: dict[str, Any] = {
        "kind": "exact",
        "type": "fp32",
        "direction": "forward",
        "layout": "NCHW",
        "shape": "s",
        "detail": "status 3000",
    }
    return Check(algorithm=algorithm, right=right, **(known | fields))


BENCHMARKS: dict[str, Snapshot] = {
    "right": measured(run()),
    "no card is known": measured(run(card=None)),
    "a card without a name": measured(run(card=replace(CARD, name=""))),
    "cuDNN ends the program and prints": measured(printed("cudnnCreate", "cudnn")),
    "NVRTC fails and prints": measured(printed("nvrtcCompileProgram", "toolkit", 5)),
    "cuBLAS fails": measured(printed("cublasCreate_v2", "toolkit", 1)),
    "the driver fails": measured(broken("cuInit", 803, "driver")),
    "the driver fails, and does not without the variable": measured(
        broken("cuInit", 803, "driver"),
        driver=m.working_driver(cuda=CudaInit(status=803), cuda_clean=CudaInit(status=0, driver_cuda="13.0", device_count=1)),
    ),
    "a hidden GPU": measured(
        broken("cuInit", 100, "driver"),
        environment=Environment(variables=(Variable(name="CUDA_VISIBLE_DEVICES", value="-1", source="~/.profile"),)),
    ),
    "files of two folders": measured(run(mapped=mapped("", "ld.so.cache"))),
    "files of two folders by the variable": measured(run(mapped=mapped("", "LD_LIBRARY_PATH"))),
    "one interface alone": measured(run(checks=(check("graph", None), check("older functions", True)))),
    "the older functions do not work": measured(run(checks=(check("graph: engine 1", True), check("older functions", None)))),
    "one interface alone in another type": measured(
        run(checks=(check("older functions", True), check("graph", None, type="bf16")))
    ),
    "one interface alone in another layout": measured(
        run(checks=(check("older functions", True), check("graph", None, layout="NHWC")))
    ),
    "wrong once": measured(run(checks=(check("graph: engine 1", False),))),
    "wrong and unsteady": measured(run(checks=(check("graph: engine 1", False, kind="repeated"),))),
    "wrong, with a library before every other": measured(
        run(checks=(check("graph: engine 1", False),)),
        environment=Environment(variables=(Variable(name="LD_PRELOAD", value="/opt/x.so", source="~/.profile"),)),
    ),
    "a convolution that computes wrongly in the ladder": measured(
        run(rungs=(*RUNGS[:2], Rung(name="cuDNN convolves rightly", layer="cudnn", state="failed", call="cudnnConvolutionForward", status=0)))
    ),
    "two rungs that break": measured(
        run(rungs=(RUNGS[0], Rung(name="the GPU opens", layer="device", state="failed", call="cuDevicePrimaryCtxRetain", status=2),
                   Rung(name="NVRTC compiles", layer="toolkit", state="failed", call="nvrtcCompileProgram", status=5)))
    ),
}  # fmt: skip

MACHINES: dict[str, Snapshot] = {
    f"{part}: {name}": seen
    for part, table in (
        ("libraries", LIBRARIES),
        ("imports", IMPORTS),
        ("ended imports", ENDED),
        ("extensions", EXTENSIONS),
        ("contracts", CONTRACTS),
        ("packages", PACKAGES),
        ("files", FILES),
        ("benchmarks", BENCHMARKS),
    )
    for name, seen in table.items()
}
