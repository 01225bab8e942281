"""Rules about compilers and container engines on this machine: notes, since they concern only those who compile or
start containers.
"""

from __future__ import annotations

from collections.abc import Iterator

from core.common.i18n import _
from core.common.versions import version_tuple
from core.knowledge.releases import HostCompilers, compatibility_table
from core.model.facts import HostCompiler, Snapshot, Toolkit
from core.model.findings import Finding
from core.model.steps import Step
from core.rules.driver.facts import driver_works
from core.rules.wording import NOTE, make_finding, manual_fix, observation

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
        Step.TOOLKIT,
        NOTE,
        "host-compiler-refused",
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
    """Return the container engines of this host that cannot pass on a GPU, because NVIDIA's Container Toolkit is
    missing.
    """
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
        Step.DRIVER,
        NOTE,
        "engine-without-toolkit",
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


RULES = (refused_host_compiler, engine_without_toolkit)
