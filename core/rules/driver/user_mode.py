"""Why the GPU's driver does not start, in user mode: one function for each reason, which yields at most one finding."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.common.i18n import _, translate_fact
from core.knowledge.causes import Cause
from core.knowledge.releases import status_code
from core.model.facts import Driver, DriverLibrary, PathEntry, Snapshot
from core.model.findings import Finding
from core.model.paths import file_name, is_inside, normalise, parent
from core.model.remedies import Place, TakeOut, UseSystemTool
from core.rules.counter import CounterOutcome, blame_unless_refuted, cuda_starts, judge_cuda
from core.rules.driver.facts import (
    WSL_FOLDER,
    answer_unhidden,
    cuda_libraries,
    driver_answers,
    driver_error,
    has_gpu_on_bus,
    is_unloaded,
)
from core.rules.driver.parts import whole_driver
from core.rules.snapshot_queries import effective_variable
from core.rules.wording import UNKNOWN, make_finding, manual_fix, observation, variable_row


def wrong_library(seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """A stub, an empty or a foreign file is loaded in place of the driver's library."""
    cuda = driver.cuda
    if cuda is None or cuda.status == 0 or seen.machine.system != "linux":
        return
    libraries = cuda_libraries(driver)
    wrong = next((lib for lib in libraries if normalise("linux", lib.path) == normalise("linux", cuda.library)), None)
    if wrong is None or not (wrong.stub or _is_bad(wrong)):
        wrong = next(
            (lib for lib in libraries if _is_bad(lib) and (lib.path in cuda.problem or _is_found_first(seen, lib))),
            None,
        )
    path = wrong.path if wrong else cuda.library
    stub = cuda.status == 34 or bool(wrong and wrong.stub and cuda.library and wrong.path == cuda.library)
    if not stub and wrong is None:
        return
    folder = parent("linux", path)
    named = _entries(seen, folder)
    outcome = judge_cuda(cuda, driver.cuda_clean) if named else CounterOutcome.OPEN
    if outcome is CounterOutcome.REFUTED and stub and driver.cuda_clean:  # The loader's cache leads to a stub, too.
        folder = parent("linux", driver.cuda_clean.library or path)
        outcome, named = CounterOutcome.OPEN, []
    evidence = [observation(_("File that is found first"), path or _("unknown"), "loader")]
    if wrong and wrong.size == 0:
        evidence.append(observation(_("Its size"), _("0 bytes"), path))
    evidence += [observation(_("LD_LIBRARY_PATH contains"), e.text, "LD_LIBRARY_PATH") for e in named]
    what = _("the stub that is meant for building programs") if stub else _("a file that is not the driver's library")
    yield from blame_unless_refuted(
        outcome,
        lambda: driver_error(
            "driver.wrong-libcuda",
            "libcuda_wrong_library",
            _("Programs load {what} instead of the GPU driver.", what=what),
            _(
                "The first libcuda.so.1 on the search path wins. A stub or an empty file returns an error to "
                "every program, however good the real driver is; messages about a missing driver are misleading "
                "here."
            ),
            evidence=evidence + driver_answers(driver),
            fix=manual_fix(
                _("Remove the wrong libcuda from the search path"),
                *(_out_of_variable(named) or _off_the_cache(folder)),
                restart="terminal",
            ),
            subject=folder,
            remedy=_take_out(named),
        ),
    )


def damaged_library(seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """The driver's own CUDA library is truncated or damaged: the process that loads it crashes, or the loader rejects it."""
    cuda = driver.cuda
    if cuda is None or not cuda.asked or cuda.status is not None or seen.machine.system != "linux":
        return
    found = (
        lib
        for lib in cuda_libraries(driver)
        if (cuda.library in (lib.path, lib.real_path) if cuda.library else _is_searched(lib))
    )
    first = next(found, None)
    if first is None or not first.problem or not first.size or first.state == "unreadable":
        return
    if any(cuda_starts(other) for other in (driver.cuda_unhidden, driver.cuda_clean, driver.cuda_bare)):
        return  # Another file is found if a variable is removed.
    own = first.version is not None and first.version == driver.module_version
    if first.stub or (first.source == "LD_LIBRARY_PATH" and not own):
        return  # ``wrong_library`` reports what replaces it.
    yield driver_error(
        "driver.library-damaged",
        "corrupt_or_truncated_file",
        _("The GPU driver's library for CUDA is damaged: {path}.", path=first.path),
        _(
            "Every program that uses CUDA loads this file, and dies or fails as it does so. What cuDNN and frameworks report is a "
            "consequence."
        ),
        evidence=[
            observation(_("File"), f"{first.path}: {translate_fact(first.problem)}", first.source),
            *([observation(_("The file itself"), first.real_path, first.path)] if first.real_path else []),
            *driver_answers(driver),
        ],
        fix=whole_driver(seen, driver, "libcuda.so.1"),
        subject=first.real_path or first.path,
    )


def _is_searched(lib: DriverLibrary) -> bool:
    """Whether the loader finds this file by the name that programs use."""
    on_path = lib.source in ("LD_LIBRARY_PATH", "ld.so.cache", "default folder")
    return on_path and file_name("linux", lib.path) == "libcuda.so.1"


def compatibility_library(seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """CUDA's forward-compatibility libcuda (cuda-compat) is loaded, and does not fit this driver or this GPU.

    Sources: CUDA Compatibility, "Forward Compatibility"; cudaErrorSystemDriverMismatch (803) and
    cudaErrorCompatNotSupportedOnDevice (804) in driver_types.h.
    """
    cuda, clean = driver.cuda, driver.cuda_clean
    if cuda is None or seen.machine.system != "linux":
        return
    outcome = judge_cuda(cuda, clean)
    used = clean if outcome is CounterOutcome.REFUTED and clean and clean.library else cuda
    unsupported = cuda.status == 804
    if not unsupported and not (cuda.status == 803 and (_is_compat(used.library) or outcome is CounterOutcome.PROVED)):
        return
    path = _as_found(driver, used.library)
    folder = parent("linux", path) if path else ""
    named = [] if outcome is CounterOutcome.REFUTED else _entries(seen, folder)
    version = next((lib.version for lib in driver.libraries or () if path and lib.path == path), None)
    evidence = [observation(_("File that is found first"), path or _("unknown"), "loader")]
    if version:
        evidence.append(observation(_("Its version"), version, path))
    evidence += [observation(_("LD_LIBRARY_PATH contains"), e.text, "LD_LIBRARY_PATH") for e in named]
    away = _out_of_variable(named)
    if not away and outcome is CounterOutcome.PROVED:
        away = [_("Remove the folder of that file from LD_LIBRARY_PATH where it is set, then open a new terminal.")]
    yield driver_error(
        *(_unsupported_compat() if unsupported else _mismatched_compat()),
        evidence=evidence + driver_answers(driver),
        fix=manual_fix(
            _("Let programs find the driver's own libcuda"),
            *(away or _off_the_cache(folder)),
            _("Or remove the package that installed it (on Debian and Ubuntu, its name begins with cuda-compat)."),
            _("If a program needs a newer CUDA than the driver has, install a newer driver."),
            restart="terminal",
        ),
        subject=folder,
        remedy=_take_out(named),
    )


def _unsupported_compat() -> tuple[str, Cause, str, str]:
    return (
        "driver.compat-not-for-this-gpu",
        "cuda_compat_unsupported",
        _("CUDA's forward-compatibility library is loaded, and it does not support this GPU."),
        _(
            "The package cuda-compat contains a newer libcuda for older drivers. NVIDIA supports it on "
            "data-center GPUs only; on this GPU, every CUDA program fails as long as it is found first."
        ),
    )


def _mismatched_compat() -> tuple[str, Cause, str, str]:
    return (
        "driver.compat-mismatch",
        "cuda_compat_mismatch",
        _("A libcuda of another release takes the place of the GPU driver's own."),
        _(
            "Such a libcuda comes with the package cuda-compat, or was copied there. It works with some "
            "drivers only, and the loaded kernel module is not one of them. The driver itself needs no "
            "repair."
        ),
    )


def hidden_library(seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """The driver starts without LD_LIBRARY_PATH, whatever its folders contain."""
    cuda, clean = driver.cuda, driver.cuda_clean
    if judge_cuda(cuda, clean) is not CounterOutcome.PROVED or cuda is None or clean is None:
        return
    foreign = cuda.library != clean.library
    path = _as_found(driver, cuda.library) if foreign else ""
    folder = parent("linux", path) if path else ""
    named = _entries(seen, folder) if folder else []
    every = [e for e in seen.path_entries if e.variable == "LD_LIBRARY_PATH"]
    yield driver_error(
        "driver.hidden-by-library-path",
        "libcuda_wrong_library" if foreign else "ld_library_path_override",
        _("LD_LIBRARY_PATH prevents the GPU driver from starting."),
        _(
            "The same call works without that variable: a library in one of its folders takes the place of the driver's own."
        ),
        evidence=[
            *([observation(_("File that is found first"), path, "loader")] if path else ()),
            *(observation(_("LD_LIBRARY_PATH contains"), e.text, "LD_LIBRARY_PATH") for e in named or every),
            *driver_answers(driver),
        ],
        fix=manual_fix(
            _("Remove the folder from LD_LIBRARY_PATH"),
            *(
                _out_of_variable(named)
                or [_("For this terminal: unset LD_LIBRARY_PATH (or set it without that folder).")]
            ),
            restart="terminal",
        ),
        subject=folder,
        remedy=_take_out(named),
    )


def _take_out(named: list[PathEntry]) -> TakeOut | None:
    """Return how to remove these entries from LD_LIBRARY_PATH; None if there are none."""
    places = tuple(Place(folder=e.expanded or e.text) for e in named)
    return TakeOut(variable="LD_LIBRARY_PATH", places=places) if places else None


def _is_compat(path: str) -> bool:
    """Whether a libcuda is in the folder that NVIDIA's and conda's forward-compatibility packages use."""
    return bool({"compat", "cuda-compat"} & set(path.split("/")[:-1]))


def _as_found(driver: Driver, path: str) -> str:
    """Return the name under which the loader finds a mapped file: a link's, if there is one."""
    libraries = cuda_libraries(driver)
    return next((lib.path for lib in libraries if path and path in (lib.path, lib.real_path)), path)


def _entries(seen: Snapshot, folder: str) -> list[PathEntry]:
    """Return the entries of LD_LIBRARY_PATH that lead to a folder."""
    return [
        e
        for e in seen.path_entries
        if e.variable == "LD_LIBRARY_PATH" and is_inside("linux", folder, e.expanded or e.text)
    ]


def _out_of_variable(named: list[PathEntry]) -> list[str]:
    return [
        _("Remove {text} from LD_LIBRARY_PATH where it is set, then open a new terminal.", text=e.text) for e in named
    ]


def _off_the_cache(folder: str) -> list[str]:
    """Return how to stop all programs from searching a folder that is not in LD_LIBRARY_PATH."""
    if not re.fullmatch(r"/[\w./+-]+", folder):
        words = _("Remove the folder {folder} from the search path, or move that file away.", folder=folder)
        return [words] if folder else []
    return [
        _("Find the file and the line that add its folder for every program:"),
        f"grep -rnxF {folder} /etc/ld.so.conf /etc/ld.so.conf.d",
        _('Put a "#" before that line, then: sudo ldconfig'),
    ]


def _is_bad(lib: DriverLibrary) -> bool:
    return lib.size == 0 or bool(lib.problem)


def _is_found_first(seen: Snapshot, lib: DriverLibrary) -> bool:
    """Whether LD_LIBRARY_PATH leads to this file."""
    folder = parent("linux", lib.path)
    return any(
        e.variable == "LD_LIBRARY_PATH" and normalise("linux", e.expanded or e.text) == normalise("linux", folder)
        for e in seen.path_entries
    )


def container_without_compute(seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """A container that asked for parts of the driver without CUDA: NVML may answer, and libcuda.so.1 was not passed in."""
    asked = effective_variable(seen, "NVIDIA_DRIVER_CAPABILITIES")
    if asked is None or not lacks_compute(seen, driver, asked.value):
        return
    yield driver_error(
        "driver.container-without-compute",
        "container_no_gpu_runtime",
        _("The container got the driver without CUDA: {name} is {value}.", name=asked.name, value=repr(asked.value)),
        _("The container was started with this request, which the host's driver does not meet."),
        evidence=[
            variable_row(asked),
            observation(_("libcuda.so.1"), _("not in this container"), "loader"),
            *driver_answers(driver),
        ],
        fix=manual_fix(
            _("Start the container with what it needs of the driver"),
            _("docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility ..."),
        ),
    )


def lacks_compute(seen: Snapshot, driver: Driver, capabilities: str) -> bool:
    """Whether NVIDIA_DRIVER_CAPABILITIES of a container leaves CUDA out, and CUDA is missing although its devices exist."""
    given = {part.strip() for part in capabilities.split(",")} - {""}
    nodes = any(n.path.startswith("/dev/nvidia") for n in driver.nodes or ())
    inside = bool(seen.machine.container) and not seen.machine.wsl and nodes
    return (
        inside
        and bool(given)
        and not given & {"compute", "all"}
        and driver.libraries is not None
        and not cuda_libraries(driver)
    )


def container_without_gpu(seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """A container was started without the GPU."""
    kind = seen.machine.container
    if not kind or seen.machine.wsl or not (has_gpu_on_bus(seen) or driver.module_version):
        return
    if is_unloaded(driver):
        return  # The kernel is the host's; ``module_not_loaded`` reports it.
    no_library = driver.libraries is not None and not cuda_libraries(driver)
    no_nodes = driver.nodes is not None and not any(n.path.startswith("/dev/nvidia") for n in driver.nodes)
    if not (no_library or no_nodes):
        return
    evidence = [observation(_("Container"), kind)]
    if no_library:
        evidence.append(observation(_("libcuda.so.1"), _("not in this container"), "loader"))
    if no_nodes:
        evidence.append(observation(_("/dev/nvidia*"), _("not in this container"), "/dev"))
    if (asked := effective_variable(seen, "NVIDIA_VISIBLE_DEVICES")) is not None:
        evidence.append(variable_row(asked))
    yield driver_error(
        "driver.container-without-gpu",
        "container_no_gpu_runtime",
        _("This {kind} container was started without access to the GPU.", kind=kind),
        _not_passed_in(no_library, no_nodes),
        evidence=evidence + driver_answers(driver),
        fix=manual_fix(
            _("Start the container with the GPU"),
            _("Install the NVIDIA Container Toolkit on the host if it is missing."),
            _start_with_gpu(kind),
            _("Do not install a driver inside the container."),
        ),
    )


def _not_passed_in(no_library: bool, no_nodes: bool) -> str:
    if no_library and no_nodes:
        return _(
            "The host has an NVIDIA GPU, but neither its devices nor its driver's library were passed in. "
            "Nothing inside the container can change that."
        )
    if no_nodes:
        return _(
            "The host has an NVIDIA GPU and its driver is loaded, but the GPU's device files were not passed in. "
            "Nothing inside the container can change that."
        )
    return _(
        "The host has an NVIDIA GPU, but its driver's library was not passed in. Nothing inside the container can "
        "change that."
    )


def _start_with_gpu(kind: str) -> str:
    if kind == "podman":
        return _("On the host: {run}", run=_("{kind} run --device nvidia.com/gpu=all ...", kind=kind))
    if kind == "docker":
        return _("On the host: {run}", run=_("{kind} run --gpus all ...", kind=kind))
    return _("Request a GPU where this container is defined.")


def wsl_library(seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """WSL's own driver library is not found, or a Linux driver hides it."""
    if not seen.machine.wsl or driver.cuda is None or driver.cuda.status == 0:
        return
    ours = [lib for lib in cuda_libraries(driver) if is_inside("linux", lib.path, WSL_FOLDER)]
    used = driver.cuda.library
    foreign = bool(used) and not is_inside("linux", used, WSL_FOLDER)
    if not ours or (used and not foreign):
        return
    title = (
        _("A Linux driver hides the one that WSL brings.") if foreign else _("WSL's own driver library is not found.")
    )
    steps = (
        [
            _("Find the package that owns {used} and remove it: dpkg -S {used}", used=used),
            _("Never install a Linux driver in WSL."),
        ]
        if foreign
        else [
            _("In this terminal: export LD_LIBRARY_PATH={wsl_folder}", wsl_folder=WSL_FOLDER),
            _("Permanently: sudo ldconfig, then wsl --shutdown"),
        ]
    )
    yield driver_error(
        "driver.wsl-library",
        "wsl_libcuda_not_found",
        title,
        _(
            "In WSL, the driver comes from Windows, and its library is in {wsl_folder}. Only that one reaches the GPU.",
            wsl_folder=WSL_FOLDER,
        ),
        evidence=[observation(_("WSL's library"), ours[0].path, ours[0].source), *driver_answers(driver)],
        fix=manual_fix(_("Let programs find WSL's own library"), *steps, restart="terminal"),
        remedy=None if foreign else UseSystemTool(kind="library-folder", subject=WSL_FOLDER),
    )


CUDA_OUT_OF_MEMORY = 2
"""CUDA_ERROR_OUT_OF_MEMORY in cuda.h."""


def limited_addresses(_seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """CuInit has no memory where a limit is set: CUDA reserves addresses for all memory of the machine and of its GPUs.

    Source: CUDA C++ Programming Guide, "Unified Virtual Address Space". Seen on an H200: cuInit returns 2 below a limit of 6 GB.
    """
    limit, cuda = driver.address_space, driver.cuda
    if limit is None or cuda is None or cuda.status != CUDA_OUT_OF_MEMORY:
        return
    yield driver_error(
        "driver.address-space",
        "address_space_limited",
        _("This session may use too few addresses for CUDA to start: {size}.", size=f"{limit >> 20} MiB"),
        _(
            "CUDA reserves addresses for all memory of the machine and of its GPUs, without using that memory. A limit on addresses "
            "(ulimit -v) therefore stops it, however much memory is free."
        ),
        evidence=[observation(_("Limit on addresses"), f"{limit >> 20} MiB", "kernel"), *driver_answers(driver)],
        fix=manual_fix(
            _("Remove the limit"),
            _("For this terminal: ulimit -v unlimited"),
            _(
                "Find where it is set: ~/.bashrc, ~/.profile, /etc/security/limits.conf, a job's script, or LimitAS of a service."
            ),
            _("To limit memory itself, use a control group: systemd-run --user --scope -p MemoryMax=16G ..."),
            restart="terminal",
        ),
    )


def no_library(seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """The kernel module is there, but the user-mode library is not: no file, or only links to files that are gone."""
    cuda, libraries = driver.cuda, cuda_libraries(driver)
    searched = [lib for lib in libraries if _is_searched(lib)]
    if not driver.module_version or driver.libraries is None or (cuda and cuda.status is not None):
        return
    if libraries and (cuda is None or not cuda.asked or cuda.library or any(s.state != "dangling" for s in searched)):
        return
    yield driver_error(
        "driver.library-missing",
        "driver_component_missing",
        _("The driver's library for CUDA (libcuda.so.1) is not installed."),
        _("The kernel module is loaded, but programs have no library to access it with."),
        evidence=[
            *(observation(_("File"), f"{s.path}: {translate_fact(s.problem)}", s.real_path) for s in searched),
            *driver_answers(driver),
        ],
        fix=whole_driver(seen, driver, "libcuda.so.1"),
        subject=searched[0].path if searched else "",
    )


def lost_gpu(_seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """The GPU itself no longer responds."""
    status = driver.nvml.status if driver.nvml else None
    known = status_code("nvml", status) if status in (15, 16) else None
    if known is None:
        return
    yield driver_error(
        "driver.gpu-lost",
        "hardware_fault",
        _("The GPU itself has stopped responding."),
        _(
            "The driver's management library reports that {meaning}. Overheating, power or a faulty card can "
            "cause that.",
            meaning=_(known.meaning),
        ),
        evidence=driver_answers(driver),
        fix=manual_fix(
            _("Restart the GPU"),
            _("Shut the computer down, wait, and start it again. If it happens again, check power and cooling."),
            restart="computer",
        ),
    )


def unexplained_failure(seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """CUDA does not start, and no observation explains why."""
    cuda = driver.cuda
    if cuda is None:
        return
    if not cuda.asked:
        yield make_finding(
            "driver.not-asked",
            UNKNOWN,
            _("CUDA was not tested: its process could not be started."),
            why=_("The test runs in a separate process, and the system refused to start one."),
            evidence=driver_answers(driver),
            fix=manual_fix(_("Scan again"), _("Close programs that use a lot of memory, then scan again.")),
        )
        return
    left = answer_unhidden(driver) or cuda
    known = status_code("cuInit", left.status)
    log = _("Check the kernel log: sudo dmesg | grep -i -e nvidia -e nvrm")
    if seen.machine.system == "windows":
        log = _("Open the Event Viewer, Windows Logs, System, and look for entries of nvlddmkm or Display.")
    steps = [_(known.next)] if known and known.next else [log]
    title = _("CUDA does not start on this GPU, and the reason is not known.")
    if known and left.status == 802:
        title = _("CUDA does not start: {meaning}.", meaning=_(known.meaning))
    yield driver_error(
        "driver.cuda-init",
        "",
        title,
        _("The driver refused to start CUDA."),
        evidence=driver_answers(driver),
        fix=manual_fix(_("Find out why"), *steps),
    )
