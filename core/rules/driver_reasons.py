"""Why the GPU's driver does not start: one function a reason, each a generator of at most one finding."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from core.facts import Driver, DriverLibrary, Snapshot
from core.findings import Evidence, Finding, Fix, Step
from core.i18n import N_, _
from core.rules.driver_facts import NVIDIA, WSL_FOLDER, answers, cuda_libraries, on_bus
from core.rules.known import code, differs
from core.rules.view import folder_of, inside, tidy
from core.rules.words import ERROR, UNKNOWN, advice, finding, saw

REFUSED = re.compile(
    r"key was rejected|loading of unsigned module is rejected|required key not available|lockdown", re.I
)
"""What Linux kernels log when Secure Boot refuses a module."""


def error(
    name: str, cause: str, title: str, why: str, *, evidence: Iterable[Evidence], fix: Fix, subject: str = ""
) -> Finding:
    """Return an error of this step."""
    return finding(Step.DRIVER, ERROR, name, title, cause=cause, why=why, evidence=evidence, fix=fix, subject=subject)


def wrong_library(seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """A stub, an empty or a foreign file is loaded in place of the driver's library."""
    cuda = driver.cuda
    if cuda is None or cuda.status == 0 or seen.machine.system != "linux":
        return
    libraries = cuda_libraries(driver)
    wrong = next((lib for lib in libraries if tidy("linux", lib.path) == tidy("linux", cuda.library)), None)
    if wrong is None or not (wrong.stub or _bad(wrong)):
        wrong = next((lib for lib in libraries if _bad(lib) and (lib.path in cuda.problem or _first(seen, lib))), None)
    path = wrong.path if wrong else cuda.library
    stub = cuda.status == 34 or bool(wrong and wrong.stub and cuda.library and wrong.path == cuda.library)
    if not stub and wrong is None:
        return
    folder = folder_of("linux", path)
    named = [
        e
        for e in (seen.environment.entries if seen.environment else ())
        if inside("linux", folder, e.expanded or e.text)
    ]
    named = [e for e in named if e.variable == "LD_LIBRARY_PATH"]
    evidence = [saw(_("File that is found first"), path or _("unknown"), "loader")]
    if wrong and wrong.size == 0:
        evidence.append(saw(_("Its size"), _("0 bytes"), path))
    evidence += [saw(_("LD_LIBRARY_PATH names"), e.text, "LD_LIBRARY_PATH") for e in named]
    what = _("the stub that is meant for building programs") if stub else _("a file that is not the driver's library")
    steps = [
        _("Take {text} out of LD_LIBRARY_PATH where it is set, then open a new terminal.", text=e.text) for e in named
    ]
    steps = steps or _off_the_cache(folder)
    yield error(
        "wrong-libcuda",
        "libcuda_wrong_library",
        _("Programs load {what} in place of the GPU driver.", what=what),
        _(
            "The first libcuda.so.1 on the search path wins. A stub or an empty file answers every program "
            "with an error, however good the real driver is; messages about a missing driver mislead here."
        ),
        evidence=evidence + answers(driver),
        fix=advice(_("Take the wrong libcuda off the search path"), *steps, restart="terminal"),
        subject=folder,
    )


def _off_the_cache(folder: str) -> list[str]:
    """Return how every program stops looking into a folder that LD_LIBRARY_PATH does not name."""
    if not re.fullmatch(r"/[\w./+-]+", folder):
        words = _("Take the folder {folder} out of the search path, or move that file away.", folder=folder)
        return [words] if folder else []
    return [
        _("Find the file and the line that name its folder for every program:"),
        f"grep -rnxF {folder} /etc/ld.so.conf /etc/ld.so.conf.d",
        _('Put a "#" before that line, then: sudo ldconfig'),
    ]


def _bad(lib: DriverLibrary) -> bool:
    return lib.size == 0 or bool(lib.problem)


def _first(seen: Snapshot, lib: DriverLibrary) -> bool:
    """Whether LD_LIBRARY_PATH leads to this file."""
    folder = folder_of("linux", lib.path)
    return any(
        e.variable == "LD_LIBRARY_PATH" and tidy("linux", e.expanded or e.text) == tidy("linux", folder)
        for e in (seen.environment.entries if seen.environment else ())
    )


def container(seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """A container that was started without the GPU."""
    kind = seen.machine.container
    if not kind or seen.machine.wsl or not (on_bus(seen) or driver.module_version):
        return
    if driver.module_version == "" or (driver.nvml and driver.nvml.status == 9):
        return  # the kernel, which is the host's, has no NVIDIA module: module() says so
    no_library = driver.libraries is not None and not cuda_libraries(driver)
    no_nodes = driver.nodes is not None and not any(n.path.startswith("/dev/nvidia") for n in driver.nodes)
    if not (no_library or no_nodes):
        return
    evidence = [saw(_("Container"), kind)]
    if no_library:
        evidence.append(saw(_("libcuda.so.1"), _("not in this container"), "loader"))
    if no_nodes:
        evidence.append(saw(_("/dev/nvidia*"), _("not in this container"), "/dev"))
    run = (
        _("{kind} run --device nvidia.com/gpu=all ...", kind=kind)
        if kind == "podman"
        else _("{kind} run --gpus all ...", kind=kind)
    )
    how = (
        _("On the host: {run}", run=run)
        if kind in ("docker", "podman")
        else _("Ask for a GPU where this container is defined.")
    )
    yield error(
        "container-without-gpu",
        "container_no_gpu_runtime",
        _("This {kind} container was started without access to the GPU.", kind=kind),
        _(
            "The host has an NVIDIA GPU, but neither its devices nor its driver's library were passed in. "
            "Nothing inside the container can change that."
        ),
        evidence=evidence + answers(driver),
        fix=advice(
            _("Start the container with the GPU"),
            _("Install the NVIDIA Container Toolkit on the host, if it is not there."),
            how,
            _("Do not install a driver inside the container."),
        ),
    )


def wsl(seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """WSL's own driver library is not found, or a Linux driver hides it."""
    if not seen.machine.wsl or driver.cuda is None or driver.cuda.status == 0:
        return
    ours = [lib for lib in cuda_libraries(driver) if inside("linux", lib.path, WSL_FOLDER)]
    used = driver.cuda.library
    foreign = bool(used) and not inside("linux", used, WSL_FOLDER)
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
            _("Lasting: sudo ldconfig, then wsl --shutdown"),
        ]
    )
    yield error(
        "wsl-library",
        "wsl_libcuda_not_found",
        title,
        _(
            "In WSL the driver comes from Windows, and its library lies in {wsl_folder}. Only that one "
            "reaches the GPU.",
            wsl_folder=WSL_FOLDER,
        ),
        evidence=[saw(_("WSL's library"), ours[0].path, ours[0].source), *answers(driver)],
        fix=advice(_("Let programs find WSL's own library"), *steps, restart="terminal"),
    )


def module(seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """The kernel's half of the driver is not loaded, or another driver holds the GPU."""
    if not on_bus(seen) or seen.machine.wsl:
        return
    cards = [d for d in driver.pci or () if d.vendor_id.lower() == NVIDIA]
    other = next((d.bound_driver for d in cards if d.bound_driver and not _is_nvidia(d.bound_driver)), None)
    windows = seen.machine.system == "windows"
    missing = driver.libraries == () if windows else _unloaded(driver)
    uvm = driver.modules is not None and "nvidia" in driver.modules and "nvidia_uvm" not in driver.modules
    if not missing and not (other and not driver.gpus) and not (uvm and driver.cuda and driver.cuda.status):
        return
    installed = bool(cuda_libraries(driver))
    evidence = answers(driver)
    if driver.secure_boot is not None:
        evidence.append(saw(_("Secure Boot"), _("on") if driver.secure_boot else _("off"), "firmware"))
    refused = [line for line in driver.kernel_log or () if REFUSED.search(line)]
    if missing and driver.secure_boot and refused:
        yield _secure_boot(evidence + [saw(_("Kernel log"), line, "kernel") for line in refused])
        return
    if windows:
        title, steps = _("The NVIDIA GPU has no NVIDIA driver."), [_(_WINDOWS_DRIVER)]
    elif other:
        title, steps = (
            _("The driver {other} holds the GPU, so that NVIDIA's cannot.", other=other),
            _other_driver(other),
        )
    elif not missing:
        title = _("The kernel module nvidia_uvm, which CUDA needs, is not loaded.")
        steps = ["sudo modprobe nvidia_uvm", _("If that fails, restart the computer.")]
    elif installed:
        title, steps = _("The NVIDIA kernel module is not loaded."), _module_steps(driver)
    else:
        title = _("The NVIDIA GPU has no NVIDIA driver.")
        steps = [
            _(
                "Install the driver that your distribution offers (Ubuntu: sudo ubuntu-drivers install; Debian: "
                "sudo apt install nvidia-driver)."
            )
        ]
    yield error(
        "module-not-loaded",
        "driver_module_not_loaded",
        title,
        _(
            "Without the kernel's part of the driver no program reaches the GPU. CUDA and cuDNN cannot work "
            "before it does."
        ),
        evidence=evidence,
        fix=advice(_("Get the GPU's driver running"), *steps, restart="computer"),
    )


def _unloaded(driver: Driver) -> bool:
    """Whether no NVIDIA module is loaded, as the kernel says, or else NVML or the card that no driver holds."""
    if driver.module_version is not None:
        return not driver.module_version
    cards = [d for d in driver.pci or () if d.vendor_id.lower() == NVIDIA]
    unheld = bool(cards) and all(d.bound_driver == "" for d in cards)
    return unheld or bool(driver.nvml and driver.nvml.status == 9)


_WINDOWS_DRIVER = N_("Install the driver for this GPU from www.nvidia.com/drivers, then restart the computer.")


def _is_nvidia(name: str) -> bool:
    return name.lower().startswith("nv")


def _other_driver(other: str) -> list[str]:
    if other == "vfio-pci":
        return [_("The GPU is set aside for a virtual machine (vfio-pci). Undo that if this system is to use it.")]
    return [
        _(
            "Install NVIDIA's driver for your distribution; it turns {other} off. Then restart the computer.",
            other=other,
        )
    ]


def _module_steps(driver: Driver) -> list[str]:
    steps = ["sudo modprobe nvidia", _("If that fails, its message says why; also: sudo dmesg | grep -i nvidia")]
    if driver.secure_boot and driver.kernel_log is None:
        steps.append(
            _("Secure Boot is on: 'Key was rejected by service' in that log means that it refuses the module.")
        )
    steps.append(_("After a kernel update, install the headers of the running kernel and the driver again."))
    return steps


def _secure_boot(evidence: list[Evidence]) -> Finding:
    return error(
        "secure-boot",
        "secure_boot_blocks_module",
        _("Secure Boot refuses the NVIDIA kernel module."),
        _("The module is not signed with a key that this computer trusts, so the kernel did not load it."),
        evidence=evidence,
        fix=advice(
            _("Have the module signed with a trusted key"),
            _(
                "Enrol your machine's own key: sudo mokutil --import /var/lib/dkms/mok.pub (Ubuntu: "
                "/var/lib/shim-signed/mok/MOK.der)"
            ),
            _("Restart, choose Enroll MOK in the blue screen, and give the password that you set."),
            _("Or use your distribution's signed driver package, or turn Secure Boot off in the firmware."),
            restart="computer",
        ),
    )


def mismatch(seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """The kernel module and the driver's libraries are of two versions."""
    nvml = driver.nvml.status if driver.nvml else None
    cuda = driver.cuda.status if driver.cuda else None
    used = driver.cuda.library if driver.cuda else ""
    libraries = [
        lib
        for lib in driver.libraries or ()
        if lib.version and not lib.stub and differs(lib.version, driver.module_version) and "compat" not in lib.path
    ]
    if used:
        libraries = [lib for lib in libraries if used in (lib.path, lib.real_path)] or libraries
    told = nvml == 18 or cuda == 803
    if not told and (not libraries or cuda == 0 or nvml == 0 or cuda is None):
        return
    rows = [
        saw(_("Driver library"), _("{path} is {version}", path=lib.path, version=lib.version), lib.source)
        for lib in libraries
    ]
    inside_container = bool(seen.machine.container)
    steps = (
        [_("Remove the driver packages (libnvidia-*, libcuda1) inside the container: the host's are passed in.")]
        if inside_container
        else [
            _("Restart the computer: the new kernel module is then loaded."),
            _("If it persists, install the driver again."),
        ]
    )
    yield error(
        "library-mismatch",
        "driver_library_mismatch",
        _("The GPU driver's two halves are of different versions."),
        _(
            "The kernel module and the libraries of one driver must be of the same version. This is usual "
            "after an update until the computer is restarted."
        ),
        evidence=rows + answers(driver),
        fix=advice(_("Bring both halves to one version"), *steps, restart="" if inside_container else "computer"),
    )


def stale_uvm(_seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """After a suspend NVML answers, and cuInit does not."""
    if not (driver.cuda and driver.cuda.status in (3, 999) and driver.nvml and driver.nvml.status == 0):
        return
    if driver.modules is not None and "nvidia_uvm" not in driver.modules:
        return
    if not driver.resumed or (driver.booted is not None and driver.resumed <= driver.booted):
        return
    yield error(
        "stale-after-suspend",
        "uvm_stale_after_suspend",
        _("Since the computer slept, CUDA no longer starts."),
        _(
            "The GPU answers, but CUDA's memory module (nvidia_uvm) did not survive the suspend. Loading it "
            "again cures that."
        ),
        evidence=[*answers(driver), saw(_("Last resume"), _("after the last start of the computer"), "kernel")],
        fix=advice(
            _("Load the module again"),
            _("Close all programs that use the GPU."),
            "sudo modprobe -r nvidia_uvm && sudo modprobe nvidia_uvm",
            _("If that is refused, restart the computer."),
        ),
    )


def no_library(_seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """The kernel's half is there, the user's half is not."""
    if driver.module_version and driver.libraries is not None and not cuda_libraries(driver):
        yield error(
            "library-missing",
            "driver_library_mismatch",
            _("The driver's library for CUDA (libcuda.so.1) is not installed."),
            _("The kernel module is loaded, but programs have no library to reach it with."),
            evidence=answers(driver),
            fix=advice(
                _("Install the driver's libraries"),
                _(
                    "Install the CUDA library of driver {module_version} (Debian: libcuda1; Ubuntu: "
                    "libnvidia-compute of the same version).",
                    module_version=driver.module_version,
                ),
            ),
        )


def lost(_seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """The GPU itself no longer answers."""
    status = driver.nvml.status if driver.nvml else None
    known = code("nvml", status) if status in (15, 16) else None
    if known is None:
        return
    yield error(
        "gpu-lost",
        "hardware_fault",
        _("The GPU itself has stopped answering."),
        _(
            "The driver's management library says that {meaning}. Overheating, power or a fault of the card "
            "can cause that.",
            meaning=known.meaning,
        ),
        evidence=answers(driver),
        fix=advice(
            _("Start the GPU anew"),
            _("Shut the computer down, wait, start it again. If it returns, check power and cooling."),
            restart="computer",
        ),
    )


def unexplained(seen: Snapshot, driver: Driver) -> Iterator[Finding]:
    """CUDA does not start, and nothing that was seen says why."""
    cuda = driver.cuda
    if cuda is None:
        return
    if cuda.status is None and "could not be started" in cuda.problem:  # our own child: it says nothing of the driver
        yield finding(
            Step.DRIVER,
            UNKNOWN,
            "not-asked",
            _("Whether CUDA starts was not tried: the process for it could not be started."),
            why=_("The question is put in a process of its own, and the system refused to start one."),
            evidence=answers(driver),
            fix=advice(_("Scan again"), _("Close programs that use much memory, then scan again.")),
        )
        return
    known = code("cuInit", cuda.status)
    log = _("Look at the kernel log: sudo dmesg | grep -i -e nvidia -e nvrm")
    if seen.machine.system == "windows":
        log = _("Open the Event Viewer, Windows Logs, System, and look for entries of nvlddmkm or Display.")
    steps = [known.next] if known and known.next else [log]
    title = _("CUDA does not start on this GPU, and the reason could not be seen.")
    if known and cuda.status in (802, 804):
        title = _("CUDA does not start: {meaning}.", meaning=known.meaning)
    yield error(
        "cuda-init",
        "",
        title,
        _("The driver refused to start CUDA."),
        evidence=answers(driver),
        fix=advice(_("Find out why"), *steps),
    )
