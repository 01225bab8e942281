"""Machines whose GPUs are hidden, left out, too old or full, and whose driver's library is another one."""

from __future__ import annotations

from msgspec.structs import replace

from core.model.facts import CudaInit, DriverLibrary, Environment, Gpu, ImportSearch, Snapshot, StartCode, Variable
from tests import machines as m
from tests.rules.test_driver import COMPAT, LIBCUDA, NO_DEVICE, STUB

OLD = Gpu(index=1, name="NVIDIA GeForce GTX 670", compute_capability="3.0", memory_total=2 << 30, memory_free=1 << 30)
FULL = Gpu(
    index=0,
    name="NVIDIA GeForce RTX 3090",
    compute_capability="8.6",
    uuid="GPU-1111",
    memory_total=24 << 30,
    memory_free=1 << 20,
)
ROOMY = replace(FULL, index=1, uuid="GPU-2222", memory_free=23 << 30)
CUT = DriverLibrary(path=LIBCUDA, version="580.65.06", size=4096, problem="is cut off", source="default folder")
DIES = CudaInit(problem="The process that called cuInit was killed by SIGBUS.")
SOUND = m.working_driver().libraries or ()


def with_variable(name: str, value: str, seen: Snapshot) -> Snapshot:
    """Return a machine on which a line of a file sets a variable."""
    old = seen.environment or Environment()
    given = (*old.variables, Variable(name=name, value=value, source="~/.profile"))
    return replace(seen, environment=replace(old, variables=given))


def hiding(value: str, gpus: tuple[Gpu, ...]) -> Snapshot:
    """Return a machine without NVML on which CUDA finds no GPU, and a variable chooses some."""
    return with_variable(
        "CUDA_VISIBLE_DEVICES", value, m.with_driver(m.wheel_machine(), nvml=None, gpus=gpus, cuda=NO_DEVICE)
    )


def choosing(value: str, *gpus: Gpu) -> Snapshot:
    """Return a machine with these GPUs, and a variable that chooses some."""
    return with_variable("CUDA_VISIBLE_DEVICES", value, m.with_driver(m.wheel_machine(), gpus=gpus))


def started(**code: object) -> Snapshot:
    """Return a machine whose environment's start-up code hides every GPU."""
    made = StartCode(**({"source": f"{m.SITE}/a.pth", "sets": (("CUDA_VISIBLE_DEVICES", "-1"),)} | code))
    return replace(m.wheel_machine(), imports=(ImportSearch(prefix=m.PREFIX, start_code=(made,)),))


def stubbed(clean: CudaInit) -> Snapshot:
    """Return a machine on which LD_LIBRARY_PATH leads to a stub, and which fails without it, too."""
    asked = CudaInit(status=34, library=STUB.path)
    seen = m.with_driver(m.wheel_machine(), cuda=asked, cuda_clean=clean, libraries=(STUB, *SOUND))
    return m.with_variable(seen, "LD_LIBRARY_PATH", "/opt/stubs")


def damaged(*libraries: DriverLibrary, library: str = "") -> Snapshot:
    """Return a machine on which the process that starts CUDA dies."""
    return m.with_driver(m.wheel_machine(), cuda=replace(DIES, library=library), libraries=libraries)


ONE = m.working_driver().gpus or ()

DRIVERS: dict[str, Snapshot] = {
    "a number beyond the GPUs that are known without NVML": hiding("3", ONE),
    "a number among the GPUs that are known without NVML": hiding("0", ONE),
    "a number where no GPU is known": hiding("3", ()),
    "no GPU at all is chosen where none is known": hiding("-1", ()),
    "start-up code by its line": started(line=2, text="import os; os.environ['CUDA_VISIBLE_DEVICES'] = '-1'"),
    "start-up code of a file": started(source=f"{m.SITE}/sitecustomize.py"),
    "a full GPU that is chosen by its UUID": choosing("GPU-1111", FULL, ROOMY),
    "a full GPU that is left out by UUIDs": choosing("GPU-2222", FULL, ROOMY),
    "a full GPU without a UUID, and another one is chosen": choosing("GPU-2222", replace(FULL, uuid=""), ROOMY),
    "a full GPU beside an instance of one": choosing("MIG-2222", FULL, ROOMY),
    "a full GPU that a number chooses": choosing("0", FULL, ROOMY),
    "a full GPU, and the first of several words is no UUID": choosing("1,GPU-2222", FULL, ROOMY),
    "two GPUs of which the second is too old for cuDNN": m.with_driver(m.wheel_machine(), gpus=(*ONE, OLD)),
    "two GPUs that are too old for cuDNN": m.with_driver(m.wheel_machine(), gpus=(OLD, replace(OLD, index=0))),
    "a stub by the variable, and another by the loader's cache": stubbed(
        CudaInit(status=34, library="/usr/local/cuda/lib64/stubs/libcuda.so.1")
    ),
    "a stub by the variable, and one by the cache without a name": stubbed(CudaInit(status=34)),
    "a damaged library where the loader looks": damaged(CUT),
    "a damaged library by another name": damaged(replace(CUT, path=LIBCUDA[:-2]), *SOUND),
    "a damaged library for forward compatibility, which nothing leads to": damaged(
        replace(COMPAT, source="CUDA compatibility package", problem="is cut off"), *SOUND
    ),
    "a damaged library that was loaded": damaged(*SOUND, replace(CUT, path="/opt/l/libcuda.so.1"), library="/opt/l/libcuda.so.1"),
}  # fmt: skip
