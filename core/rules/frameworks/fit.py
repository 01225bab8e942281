"""Tables of frameworks' releases, and the build that fits this driver, GPU and Python."""

from __future__ import annotations

import re

import msgspec

from core.common.versions import is_older, version_tuple
from core.knowledge.frameworks import TorchBuild, TorchCode, framework_tables
from core.knowledge.horizon import is_beyond_horizon
from core.knowledge.releases import compatibility_table, driver_floor
from core.model.facts import FrameworkBuild, Gpu, PythonEnvironment, Snapshot, System
from core.rules.driver.compatibility import code_runs, is_tegra, ptx_compiles
from core.rules.driver.facts import driver_works, has_gpu_on_bus
from core.rules.snapshot_queries import capability_number

PASSES_OVER = r"tensorflow.*|tf-nightly"
"""GetValidDeviceIds in tensorflow/core/common_runtime/gpu/gpu_device.cc: "Ignoring visible gpu device"."""


class GpuSide(msgspec.Struct, frozen=True):
    """The machine's GPUs and driver, as far as frameworks depend on them."""

    there: bool | None
    """Whether the machine has an NVIDIA GPU; None if unknown."""
    works: bool
    driver: str
    cuda: str
    """The newest CUDA version that the driver supports."""
    gpus: tuple[Gpu, ...]
    system: System
    processor: str = "x86_64"
    tegra: bool = False
    """Whether this is a Jetson or another Tegra system, whose packages are in NVIDIA's own index."""
    release: str = ""
    """Its release of Linux for Tegra, if known: "L4T 36.4.0"."""

    @property
    def is_unlisted(self) -> bool:
        """Whether the tables cannot tell which machine code a GPU runs: it is newer than they are, or a Tegra's."""
        return self.tegra or any(is_beyond_horizon("gpu", g.compute_capability) for g in self.gpus)

    def runs_cuda(self, cuda: str) -> bool | None:
        """Whether the driver supports programs built for this CUDA version; None if unknown.

        The driver's own answer decides, also for a CUDA that is newer than the tables.
        """
        wanted = version_tuple(cuda)
        if not wanted:
            return None
        if self.cuda:
            have = version_tuple(self.cuda)
            return have[:1] >= wanted[:1] if wanted[0] >= 11 else have >= wanted
        floor, _ = driver_floor(compatibility_table(), cuda, self.system)
        late = is_older(self.driver, floor)
        return None if late is None else not late


def gpu_side(seen: Snapshot) -> GpuSide:
    """Return the GPUs and the driver, as far as the Snapshot shows them."""
    d = seen.driver
    return GpuSide(
        there=has_gpu_on_bus(seen),
        works=bool(d and driver_works(d)),
        driver=d.version if d else "",
        cuda=d.newest_cuda if d else "",
        gpus=(d.gpus or ()) if d else (),
        system=seen.machine.system,
        processor=seen.machine.architecture,
        tegra=is_tegra(seen),
        release=seen.machine.tegra,
    )


def minor_version(version: str) -> str:
    """Return major.minor of a version."""
    return ".".join(str(n) for n in version_tuple(version)[:2])


def torch_code(version: str, cuda: str, side: GpuSide) -> TorchCode | None:
    """Return the known GPU code of one PyTorch build for this system and processor; None if unknown."""
    its = version_tuple(version)[:2]
    here = (side.system, side.processor, minor_version(cuda))
    for row in framework_tables().torch_code:
        if (row.system, row.processor, row.cuda) == here and version_tuple(row.first) <= its <= version_tuple(row.last):
            return row
    return None


def code_fits(
    sass: tuple[int, ...], ptx: tuple[int, ...], gpus: tuple[Gpu, ...], bound: tuple[str, ...] = ()
) -> bool | None:
    """Whether code runs on every GPU; PTX counts, since the driver compiles it.

    None if a GPU's capability is unknown.
    """
    answers = [_fits_one(sass, ptx, capability_number(g.compute_capability), bound) for g in gpus]
    if False in answers:
        return False
    return None if not answers or None in answers else True


def _fits_one(sass: tuple[int, ...], ptx: tuple[int, ...], gpu: int | None, bound: tuple[str, ...]) -> bool | None:
    run = None if gpu is None else code_runs(sass, gpu, bound)
    return run if gpu is None or run is not False else ptx_compiles(ptx, gpu, bound)


def build_fits(build: FrameworkBuild, side: GpuSide) -> bool | None:
    """Whether a build has code for every GPU of the machine: by its files, else by the tables; None if neither shows it."""
    if build.sass:
        return code_fits(build.sass, build.ptx or (), side.gpus, build.bound)
    if build.distribution == "torch" and build.cuda:
        row = torch_code(build.version, build.cuda, side)
        return code_fits(row.sass, row.ptx, side.gpus) if row else None
    plugin = next(
        (
            p
            for p in framework_tables().jax
            if build.distribution in ("jax", p.plugin) and (build.cuda or "-") in p.plugin
        ),
        None,
    )
    if plugin and build.cuda:
        least = capability_number(plugin.capability) or 0
        capabilities = [capability_number(g.compute_capability) for g in side.gpus]
        return None if not capabilities or None in capabilities else all((c or 0) >= least for c in capabilities)
    return None


class TorchChoice(msgspec.Struct, frozen=True):
    """A build of PyTorch that fits."""

    build: TorchBuild
    version: str
    """The version to install: "2.8.0", or "2.8.*" for a release other than the installed one."""
    same_release: bool
    sure: bool
    """Whether the tables confirm machine code for these GPUs."""

    @property
    def variant(self) -> str:
        """The name of its index, such as cu128."""
        return "cu" + self.build.cuda.replace(".", "")


def choose_torch(version: str, python: PythonEnvironment, side: GpuSide) -> TorchChoice | None:
    """Return the build that fits driver, GPU and Python: of the installed release, else of the newest that has one.

    The installed release may have a build without known machine code; another release may not.
    """
    mine = side.processor if side.system == "linux" or side.processor == "x86_64" else ""
    rows = [r for r in framework_tables().torch if mine in r.processors]
    same = [
        r for r in rows if r.torch == minor_version(version) and _suits(r, side) is not False and side.runs_cuda(r.cuda)
    ]
    if same:
        best = max(same, key=lambda r: (_suits(r, side) is True, r.stable, _is_within(r, side), version_tuple(r.cuda)))
        return TorchChoice(best, version.partition("+")[0], True, _suits(best, side) is True)
    others = [r for r in rows if side.runs_cuda(r.cuda) and _suits(r, side) and takes_python(r.python, python.version)]
    if not others:
        return None
    best = max(others, key=lambda r: (r.stable, _is_within(r, side), version_tuple(r.torch), version_tuple(r.cuda)))
    return TorchChoice(best, best.torch + ".*", False, True)


def _is_within(row: TorchBuild, side: GpuSide) -> bool:
    """Whether the driver knows this very CUDA version, so that no new feature is missing either."""
    return not side.cuda or version_tuple(row.cuda) <= version_tuple(side.cuda)


def _suits(row: TorchBuild, side: GpuSide) -> bool | None:
    """Whether a build has machine code for the GPUs, so that nothing has to be compiled first.

    For a release that is not in the table, its neighbours for the same CUDA decide if they agree.
    """
    code = torch_code(row.torch, row.cuda, side)
    if code:
        return code_fits(code.sass, (), side.gpus)
    here = (side.system, side.processor, row.cuda)
    rows = [c for c in framework_tables().torch_code if (c.system, c.processor, c.cuda) == here]
    beside = {code_fits(c.sass, (), side.gpus) for c in rows}
    return beside.pop() if len(beside) == 1 else None


def takes_python(wanted: str, version: str) -> bool:
    """Whether a release supports this Python: ">=3.10, <=(3.14 exp.)", "3.9-3.12"; words that are not understood never exclude it."""
    its = version_tuple(version)[:2]
    if not its:
        return True
    found = [version_tuple(n) for n in re.findall(r"(?<!\d)\d+\.\d+", wanted)]
    return (not found or its >= found[0]) and (len(found) < 2 or its <= found[-1])
