"""Rules about compilers and container engines on this machine: notes, since they concern only those who compile or start containers."""

from __future__ import annotations

from collections.abc import Iterator

from core.common.i18n import _
from core.common.shell import quote
from core.common.versions import version_tuple, versions_differ
from core.knowledge.releases import HostCompilers, compatibility_table
from core.model.facts import HostCompiler, Snapshot, Toolkit
from core.model.findings import Finding, Fix
from core.model.paths import is_inside
from core.model.remedies import UseSystemTool
from core.rules.driver.facts import cuda_libraries, driver_works
from core.rules.wording import NOTE, WARNING, concern_row, make_finding, manual_fix, observation

NAMING = ("CUDA_HOME", "CUDA_PATH", "nvcc on PATH", "PATH")
"""How builds find a toolkit, by precedence."""


def used_compiler(seen: Snapshot) -> Toolkit | None:
    """Return the toolkit whose nvcc a build uses; None if there is none."""
    having = [t for t in seen.toolkits or () if t.nvcc]
    return next((t for name in NAMING for t in having if name in t.named_by), None)


def compiler_limits(toolkit: Toolkit) -> HostCompilers | None:
    """Return the host compilers that a toolkit's nvcc accepts; None if its header was not read."""
    release = version_tuple(toolkit.nvcc_version or toolkit.version)[:2]
    return next((r for r in compatibility_table().host_compilers if version_tuple(r.cuda)[:2] == release), None)


def judged_compiler(seen: Snapshot) -> tuple[Toolkit, HostCompiler, HostCompilers, bool] | None:
    """Return nvcc's toolkit, its host compiler, the limits, and whether nvcc rejects the compiler; None if unknown."""
    nvcc = used_compiler(seen)
    limits = compiler_limits(nvcc) if nvcc else None
    used = next(iter(seen.tools.compilers), None) if seen.tools else None
    if nvcc is None or limits is None or used is None or used.version is None:
        return None
    return nvcc, used, limits, used.version > (limits.clang if used.kind == "clang" else limits.gcc)


def refused_host_compiler(seen: Snapshot) -> Iterator[Finding]:
    """The host compiler is newer than nvcc accepts."""
    judged = judged_compiler(seen)
    if judged is None or not judged[3]:
        return
    nvcc, used, limits, _refused = judged
    newest = limits.clang if used.kind == "clang" else limits.gcc
    plus = "clang++" if used.kind == "clang" else "g++"
    yield make_finding(
        "toolkit.host-compiler-refused",
        NOTE,
        _(
            "nvcc of CUDA {cuda} refuses {compiler} {version}: it accepts up to {newest}.",
            cuda=limits.cuda,
            compiler=used.kind,
            version=used.version,
            newest=newest,
        ),
        cause="host_compiler_unsupported",
        why=_("This matters only if you compile CUDA programs or extensions with it."),
        evidence=[
            observation(_("Compiler"), f"{used.kind} {used.version} ({used.path})", used.named_by),
            observation("nvcc", nvcc.nvcc, nvcc.source),
            observation(_("Newest that it accepts"), f"gcc {limits.gcc}, clang {limits.clang}", limits.source),
        ],
        subject=nvcc.root,
        fix=manual_fix(
            _("Compile with an older host compiler, or a newer CUDA"),
            _(
                "Debian and Ubuntu: sudo apt install gcc-{newest} g++-{newest}; conda: conda install -c conda-forge gxx_linux-64={newest}",
                newest=limits.gcc,
            ),
            f"export CC=gcc-{limits.gcc} CXX=g++-{limits.gcc} CUDAHOSTCXX=g++-{limits.gcc} NVCC_PREPEND_FLAGS='-ccbin g++-{limits.gcc}'"
            if plus == "g++"
            else "",
            _("It worked if the build passes the first .cu file."),
        ),
    )


def engines_without_gpu(seen: Snapshot) -> tuple[str, ...]:
    """Return the container engines of this host that cannot pass on a GPU, because NVIDIA's Container Toolkit is missing."""
    tools = seen.tools
    if tools is None or seen.machine.container or seen.machine.wsl or tools.container_toolkit or tools.gpu_descriptions:
        return ()
    return tuple(e.name for e in tools.engines if not e.runtime)


def engine_without_toolkit(seen: Snapshot) -> Iterator[Finding]:
    """The machine has a working GPU and a container engine, but nothing that passes the GPU to containers."""
    names = engines_without_gpu(seen)
    if not names or seen.driver is None or seen.tools is None or not driver_works(seen.driver):
        return
    yield make_finding(
        "driver.engine-without-toolkit",
        NOTE,
        _(
            "Containers of {names} get no GPU here: NVIDIA's Container Toolkit is not installed.",
            names=", ".join(names),
        ),
        cause="container_no_gpu_runtime",
        why=_("This matters only if you use the GPU in containers. Programs outside containers are not affected."),
        evidence=[
            *(observation(_("Container engine"), e.name, e.path) for e in seen.tools.engines),
            observation("nvidia-ctk", _("not found"), "/usr/bin"),
            observation(_("Description of the GPUs (CDI)"), _("none"), "/etc/cdi"),
        ],
        fix=manual_fix(
            _("Install NVIDIA's Container Toolkit"),
            _("Install the package nvidia-container-toolkit from NVIDIA's package repository."),
            "sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart docker"
            if "docker" in names
            else "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
            _("It worked if this lists the GPU: {run}", run="docker run --rm --gpus all ubuntu nvidia-smi -L")
            if "docker" in names
            else _(
                "It worked if this lists the GPU: {run}",
                run="podman run --rm --device nvidia.com/gpu=all ubuntu nvidia-smi -L",
            ),
        ),
    )


PODMAN_CHECK = "podman run --rm --device nvidia.com/gpu=all ubuntu nvidia-smi -L"
OWN_DESCRIPTION = "/etc/cdi/nvidia.yaml"


def engine_without_description(seen: Snapshot) -> Iterator[Finding]:
    """NVIDIA's Container Toolkit is installed, but nothing describes the GPUs to podman, which asks for that."""
    tools = seen.tools
    if tools is None or seen.machine.container or seen.machine.wsl or tools.gpu_descriptions:
        return
    asking = [e for e in tools.engines if e.name == "podman" and not e.runtime]
    if not asking or not tools.container_toolkit or seen.driver is None or not driver_works(seen.driver):
        return
    yield make_finding(
        "driver.engine-without-description",
        NOTE,
        _("Containers of podman get no GPU here: no description of the GPUs (CDI) exists."),
        cause="container_cdi_unresolved",
        why=_("This matters only if you use the GPU in containers. Programs outside containers are not affected."),
        evidence=[
            *(observation(_("Container engine"), e.name, e.path) for e in asking),
            observation("nvidia-ctk", tools.container_toolkit),
            observation(_("Description of the GPUs (CDI)"), _("none"), "/etc/cdi, /var/run/cdi"),
        ],
        fix=manual_fix(
            _("Describe the GPUs to the container engine"),
            f"sudo nvidia-ctk cdi generate --output={OWN_DESCRIPTION}",
            _("It worked if this lists the GPU: {run}", run=PODMAN_CHECK),
        ),
    )


def description_of_lost_files(seen: Snapshot) -> Iterator[Finding]:
    """A description of the GPUs names files or devices that no longer exist: no container starts with it."""
    tools, driver = seen.tools, seen.driver
    if tools is None or driver is None or seen.machine.container or not tools.engines or not driver_works(driver):
        return
    older = [c.path for c in driver.cdi or () if versions_differ(c.version, driver.module_version)]
    for one in tools.descriptions:
        if not one.lost or one.path in older:
            continue  # an older driver's files are told as such
        own = one.path == OWN_DESCRIPTION
        yield make_finding(
            "driver.cdi-lost-files",
            WARNING,
            _("Containers that get the GPU by {path} do not start: it names files that do not exist.", path=one.path),
            cause="container_cdi_unresolved",
            why=_(
                "The container engine passes on every file of the description, and stops at the first that is not there. "
                "Programs outside containers are not affected."
            ),
            evidence=[
                *(observation(path, _("is not there"), one.path) for path in one.lost),
                *(observation(_("Container engine"), e.name, e.path) for e in tools.engines),
            ],
            subject=one.path,
            fix=manual_fix(
                _("Regenerate the container toolkit's specification"),
                f"sudo nvidia-ctk cdi generate --output={one.path}",
                _("It worked if this lists the GPU: {run}", run=PODMAN_CHECK)
                if any(e.name == "podman" for e in tools.engines)
                else _("Then create the containers again."),
            ),
            remedy=UseSystemTool(kind="cdi") if own else None,
        )


def linker_without_driver(seen: Snapshot) -> Iterator[Finding]:
    """A package that links kernels while it runs leads the linker to no libcuda.so. A note: most programs never link."""
    driver = seen.driver
    if seen.tools is None or driver is None or not driver_works(driver):
        return
    there = [lib.path for lib in cuda_libraries(driver) if not lib.stub and not lib.problem]
    for python in seen.pythons or ():
        for one in seen.tools.linking:
            if one.prefix != python.prefix or (one.drivers and one.link) or not there:
                continue
            folder = there[0].rpartition("/")[0]
            name = one.reader.partition(" ")[0]
            yield make_finding(
                f"toolkit.linker-without-libcuda-{name}",
                NOTE,
                _("{reader} in {prefix} cannot link kernels: its linker finds no libcuda.so.", reader=one.reader, prefix=one.prefix)
                if one.drivers
                else _("{reader} in {prefix} cannot link kernels: it does not find the driver's libcuda.so.1.", reader=one.reader, prefix=one.prefix),
                cause="linker_lacks_libcuda",
                why=_("Only code that compiles kernels at run time needs it, such as torch.compile; everything else works without it."),
                evidence=[
                    observation("libcuda.so.1", there[0]),
                    observation("libcuda.so", _("none"), ", ".join(one.drivers) or _("folders of the linker, LIBRARY_PATH")),
                    observation(_("Known from"), one.file),
                    concern_row(python.consumer(name)),
                ],
                subject=one.prefix,
                fix=_link_there(one.drivers, there, folder),
            )  # fmt: skip


def _link_there(drivers: tuple[str, ...], there: list[str], folder: str) -> Fix:
    """Return the line that lets the linker find the driver: a link beside it, or a variable that names a folder with one."""
    title = _("Let the linker find libcuda.so")
    if not drivers and not any(is_inside("linux", path, "/usr/lib/wsl") for path in there):
        return manual_fix(title, "sudo ldconfig", f"export TRITON_LIBCUDA_PATH={quote(folder)}", restart="program")
    if not drivers:
        return manual_fix(title, f"export TRITON_LIBCUDA_PATH={quote(folder)}", restart="program")
    made, library = "$HOME/.local/lib/libcuda", quote(f"{drivers[0]}/libcuda.so.1")
    return manual_fix(
        title,
        f"mkdir -p {made} && ln -sf {library} {made}/libcuda.so",
        f"export LIBRARY_PATH={made}${{LIBRARY_PATH:+:$LIBRARY_PATH}}",
        _("An administrator can put the link beside the library instead: {run}", run=f"sudo ln -s libcuda.so.1 {quote(f'{drivers[0]}/libcuda.so')}"),
        restart="program",
    )  # fmt: skip


RULES = (
    refused_host_compiler,
    engine_without_toolkit,
    engine_without_description,
    description_of_lost_files,
    linker_without_driver,
)
