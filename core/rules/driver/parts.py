"""Rules about the driver's libraries other than libcuda: those missing in a container or a partial installation."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.common.i18n import _, join_sentences, translate_fact
from core.common.shell import shell_command
from core.common.versions import versions_differ
from core.model.facts import Consumer, Driver, DriverLibrary, DriverPart, FrameworkBuild, Snapshot
from core.model.findings import Evidence, Finding, Fix
from core.model.paths import file_name
from core.model.remedies import Unset, UseSystemTool
from core.rules.driver.compatibility import code_runs, is_tegra
from core.rules.driver.facts import driver_works
from core.rules.guides import numbered_steps
from core.rules.snapshot_queries import capability_number, effective_variable
from core.rules.wording import ERROR, NOTE, WARNING, concern_row, make_finding, manual_fix, observation, variable_row

NO_COMPILER = 221
"""CUDA_ERROR_JIT_COMPILER_NOT_FOUND (cuda.h)."""
COMPILER_OFF = 223
"""CUDA_ERROR_JIT_COMPILATION_DISABLED (cuda.h)."""
SWITCHES = ("CUDA_DISABLE_PTX_JIT", "CUDA_DISABLE_JIT")
"""Variables that switch the driver's compiler off with the value 1 and no other (measured with driver 580.159)."""
COMPILES_ALWAYS = ("numba", "numba-cuda")
"""Distributions that pass every kernel to the driver as PTX (Numba, "CUDA architecture": the driver's linker)."""


def lost_compiler(seen: Snapshot) -> Iterator[Finding]:
    """The driver's PTX compiler cannot be loaded, or its version differs from the driver's."""
    driver = seen.driver
    if driver is None or not driver_works(driver) or seen.machine.wsl:
        return
    for part in driver.parts or ():
        other = _other_version(part.version, driver)
        if part.status == 0 or not (part.problem or other):
            continue  # A kernel in PTX was loaded, so libcuda has found a working compiler.
        if not part.problem and part.status is None:
            continue  # It has another version; whether that matters is not known.
        users = tuple(_compilers(seen))
        yield make_finding(
            "driver.part-missing",
            NOTE
            if part.status is None and not part.kills
            else ERROR
            if users
            else WARNING,  # Only loading a kernel in PTX proves that it matters.
            _("The driver's compiler for PTX, {name}, does not load.", name=part.name)
            if part.problem
            else _("The driver's compiler for PTX, {name}, does not have the driver's version.", name=part.name),
            cause="driver_component_missing" if part.problem else "driver_library_mismatch",
            why=join_sentences(
                _(
                    "It comes with the driver. A program whose machine code does not fit this GPU lets the driver compile "
                    "its PTX, and then stops with {status} (CUDA_ERROR_JIT_COMPILER_NOT_FOUND).",
                    status=NO_COMPILER,
                ),
                _("Programs that have machine code for this GPU do not need it.") if not users else "",
            ),
            evidence=[*_part_rows(part, driver), *(concern_row(u) for u in users)],
            subject=part.name,
            fix=whole_driver(seen, driver, part.name),
        )


def compiler_off(seen: Snapshot) -> Iterator[Finding]:
    """A variable forbids the driver to compile PTX, and a program of this machine has nothing else for this GPU."""
    users = tuple(_compilers(seen))
    values = [v for name in SWITCHES if (v := effective_variable(seen, name)) is not None and v.value == "1"]
    if not users or not values:
        return
    names = [v.name for v in values]
    yield make_finding(
        "driver.compiler-off",
        ERROR,
        _("The variable {name} forbids the driver to compile GPU code.", name=names[0]),
        cause="driver_broken_by_env",
        why=_(
            "A program without machine code for this GPU lets the driver compile its PTX, and then stops with {status} "
            "(CUDA_ERROR_JIT_COMPILATION_DISABLED). Others run.",
            status=COMPILER_OFF,
        ),
        evidence=[*map(variable_row, values), *(concern_row(u) for u in users)],
        subject=names[0],
        fix=manual_fix(
            _("Remove the variable where it is set"), *(shell_command("unset", n) for n in names), restart="terminal"
        ),
        remedy=Unset(variable=names[0]) if len(names) == 1 else None,
    )


def lost_management(seen: Snapshot) -> Iterator[Finding]:
    """CUDA starts but NVML does not: its library is missing, damaged or of another release."""
    driver = seen.driver
    if driver is None or not driver_works(driver) or driver.nvml is None or not driver.nvml.asked:
        return
    name = "nvml.dll" if seen.machine.system == "windows" else "libnvidia-ml.so.1"
    mismatch = driver.nvml.status == 18
    loaded = driver.nvml.status is not None or bool(driver.nvml.library)
    if not mismatch and (loaded or not driver.nvml.problem or is_tegra(seen)):
        return
    there = _files(driver, name)
    asked = effective_variable(seen, "NVIDIA_DRIVER_CAPABILITIES")
    left_out = not there and asked is not None and not {"utility", "all"} & set(re.split(r"[,\s]+", asked.value))
    yield make_finding(
        "driver.nvml-missing",
        NOTE if left_out else WARNING,
        _("NVML ({name}) does not have the driver's version.", name=name)
        if mismatch
        else _("NVML ({name}) was not passed into this container, which did not ask for it.", name=name)
        if left_out
        else _("NVML ({name}) does not load.", name=name),
        cause="driver_library_mismatch" if mismatch else "" if left_out else "driver_component_missing",
        why=_(
            "CUDA itself works. nvidia-smi, NCCL and whatever asks for free memory or the GPU's state need NVML, which comes "
            "with the driver and must be of its version."
        ),
        evidence=[
            *([variable_row(asked)] if asked else []),
            observation(
                "NVML",
                translate_fact(driver.nvml.problem) or f"{driver.nvml.status} {driver.nvml.status_name}".strip(),
                driver.nvml.library or _("child process"),
            ),
            *_file_rows(there, driver),
        ],
        subject=name,
        fix=whole_driver(seen, driver, name),
    )


def unfit_files(seen: Snapshot) -> Iterator[Finding]:
    """A library of the driver is damaged, or its version differs from the module's; nothing was seen to use it."""
    driver = seen.driver
    if driver is None or not driver_works(driver) or seen.machine.wsl:
        return
    judged = ("libcuda.so", "libcuda.so.1", "libnvidia-ml.so.1", *(p.name for p in driver.parts or ()))
    for library in driver.libraries or ():
        name = file_name(seen.machine.system, library.path)
        if name in judged or library.stub or library.source == "LD_LIBRARY_PATH" or "compat" in library.path:
            continue
        if not library.problem and not _other_version(library.version, driver):
            continue
        if any(file_name(seen.machine.system, o.path) == name and _is_sound(o, driver) for o in driver.libraries or ()):
            continue  # An intact one is elsewhere; which of them a program finds is not known.
        yield make_finding(
            "driver.part-unfit",
            NOTE,
            _("{name}, which comes with the driver, does not fit it.", name=name),
            why=_("The libraries of a driver are all of its version. A program that needs this one would fail."),
            evidence=_file_rows([library], driver),
            subject=library.path,
            fix=whole_driver(seen, driver, name),
        )


def _is_sound(library: DriverLibrary, driver: Driver) -> bool:
    return not library.problem and not _other_version(library.version, driver)


def _other_version(version: str | None, driver: Driver) -> bool:
    return bool(version and driver.module_version and versions_differ(version, driver.module_version))


def _files(driver: Driver, name: str) -> list[DriverLibrary]:
    return [lib for lib in driver.libraries or () if lib.path.replace("\\", "/").rpartition("/")[2].lower() == name]


def _part_rows(part: DriverPart, driver: Driver) -> list[Evidence]:
    rows = [observation(_("Loader"), translate_fact(part.problem), part.name)] if part.problem else []
    if part.status is not None:
        rows.append(observation(_("Loading a kernel in PTX"), str(part.status), "cuModuleLoadData"))
    if part.kills:
        rows.append(observation(_("Loading a kernel in PTX"), _("the process dies"), "cuModuleLoadData"))
    if part.version and not part.problem:
        rows.append(observation(_("Its version"), part.version, part.library))
    rows += _file_rows(_files(driver, part.name), driver)
    return rows


def _file_rows(files: list[DriverLibrary], driver: Driver) -> list[Evidence]:
    rows = []
    for lib in files:
        words = translate_fact(lib.problem) or lib.version or _("unknown")
        rows.append(observation(_("File"), f"{lib.path}: {words}", lib.source))
    if not files:
        rows.append(observation(_("File"), _("in none of the folders that programs search"), "loader"))
    if driver.module_version:
        rows.append(observation(_("Kernel module"), driver.module_version, "kernel"))
    return rows


def _compilers(seen: Snapshot) -> Iterator[Consumer]:
    """Yield the consumers for which the driver compiles PTX on a GPU of this machine: without machine code for it, or always."""
    driver = seen.driver
    gpus = [n for g in (driver.gpus if driver else ()) or () if (n := capability_number(g.compute_capability))]
    environments = {e.prefix: e for e in seen.pythons or ()}
    for build in seen.builds:
        if build.prefix in environments and _has_ptx_alone(build, gpus):
            yield environments[build.prefix].consumer(f"{build.distribution} {build.version}")
    for environment in environments.values():
        for d in environment.distributions:
            if d.name in COMPILES_ALWAYS:
                yield environment.consumer(f"{d.name} {d.version}")


def _has_ptx_alone(build: FrameworkBuild, gpus: list[int]) -> bool:
    return bool(build.ptx and build.sass is not None) and any(
        code_runs(build.sass or (), gpu, build.bound) is False for gpu in gpus
    )


def whole_driver(seen: Snapshot, driver: Driver, name: str) -> Fix:
    """Return how to restore the library: by the container's start options, or by the driver's own package."""
    version = driver.module_version or ""
    if seen.machine.container:
        return manual_fix(
            _("Pass the whole driver into the container"),
            _(
                "Start it with NVIDIA's container toolkit and NVIDIA_DRIVER_CAPABILITIES=compute,utility (video: NVENC)."
            ),
            _("Do not copy or mount single libraries of a driver, and install none inside the container."),
            _("On the host, write the CDI specification again: {command}", command=CDI_COMMAND),
        )
    if seen.machine.system == "windows":
        return manual_fix(
            _("Install the driver again"),
            _("Get the driver for this GPU from www.nvidia.com/drivers, and choose a clean installation."),
            restart="computer",
        )
    return manual_fix(
        _("Install the driver's libraries again"),
        _("They all must be of version {version}.", version=version) if version else "",
        *driver_library_steps(seen, version, name),
    )


CDI_COMMAND = "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"
"""Rewrites the container toolkit's list of the driver's files (NVIDIA Container Toolkit, "Support for CDI")."""


def driver_library_steps(seen: Snapshot, version: str, name: str) -> list[str]:
    """Return this distribution's commands that restore the driver's libraries, each with its check."""
    steps = numbered_steps(
        "driver-libraries", seen, branch=version.split(".", maxsplit=1)[0], library=name or "libcuda.so.1"
    )
    return steps or [_("Reinstall the package of your distribution that holds {name}.", name=name), "sudo ldconfig"]


def stale_specification(seen: Snapshot) -> Iterator[Finding]:
    """Containers get files of a driver that is no longer installed: the CDI specification is older than the last update."""
    driver = seen.driver
    if driver is None or seen.machine.container or not driver.module_version:
        return
    for one in driver.cdi or ():
        if versions_differ(one.version, driver.module_version):
            own = one.path == "/etc/cdi/nvidia.yaml"
            yield make_finding(
                "driver.cdi-stale",
                WARNING,
                _(
                    "Containers are started with files of driver {version}, which is not the loaded one.",
                    version=one.version,
                ),
                cause="driver_library_mismatch",
                why=_(
                    "The specification lists the driver's files by name. It was written before the driver changed, so containers "
                    "that get the GPU by CDI do not start, or lack libraries. Programs outside containers are not affected."
                ),
                evidence=[
                    observation(_("Specification"), _("it names libcuda.so.{version}", version=one.version), one.path),
                    observation(_("Kernel module"), driver.module_version, "kernel"),
                ],
                subject=one.path,
                fix=manual_fix(
                    _("Regenerate the container toolkit's specification"),
                    CDI_COMMAND if own else f"sudo nvidia-ctk cdi generate --output={one.path}",
                    _("Then create the containers again."),
                ),
                remedy=UseSystemTool(kind="cdi") if own else None,
            )


RULES = (stale_specification, lost_compiler, compiler_off, lost_management, unfit_files)
"""Rules about these libraries for a working driver."""
