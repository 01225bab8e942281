"""Advice on a framework: exact commands for its environment, from the tables; never an invented combination."""

from __future__ import annotations

import re

from core.common.i18n import _
from core.common.shell import shell_of
from core.common.versions import is_older, version_tuple
from core.knowledge.frameworks import framework_tables
from core.knowledge.horizon import Family, horizon_of, is_beyond_horizon
from core.knowledge.modules import module_table
from core.model.facts import EndedImport, FrameworkBuild, PythonEnvironment, Snapshot
from core.model.findings import Fix
from core.model.remedies import InstallPackages
from core.rules.advice import install_command, python_of_environment
from core.rules.frameworks.environment_view import EnvironmentView, is_trusted_name
from core.rules.frameworks.fit import GpuSide, TorchChoice, choose_torch, gpu_side, takes_python
from core.rules.wording import manual_fix


def framework_pip_command(
    seen: Snapshot, python: PythonEnvironment, verb: str, *arguments: str, for_everybody: bool = False
) -> str:
    """Return the command that runs pip, or its equivalent, in one environment. ``for_everybody``: see ``install_command``."""
    interpreter = python.executable or python_of_environment(seen, python.prefix)
    shell = shell_of(seen.machine.system)
    return install_command(python, interpreter, shell, verb, *arguments, for_everybody=for_everybody)


def reinstall_package(seen: Snapshot, python: PythonEnvironment, name: str, version: str) -> Fix:
    """Return how to reinstall the same release of a distribution from its original source."""
    release, index = version.partition("+")[0], index_of_build(version)
    options = ("--force-reinstall", "--no-deps", "--no-cache-dir", f"{name}=={release}")
    command = framework_pip_command(seen, python, "install", *options, *(("--index-url", index) if index else ()))
    return manual_fix(_("Reinstall {name} {version}", name=name, version=version), command, restart="program")


def install_instead(seen: Snapshot, python: PythonEnvironment, name: str, other: str) -> Fix:
    """Return how a package takes the place of one that has the same folder."""
    return manual_fix(
        _("Install {other} instead of {name}", other=other, name=name),
        framework_pip_command(seen, python, "uninstall", "-y", name),
        framework_pip_command(seen, python, "install", other),
        restart="program",
    )


def without_plugin(home: EnvironmentView, ended: EndedImport) -> Fix:
    """Return how a framework is imported without a plug-in that ends its import."""
    seen, name = home.seen, ended.plugin.partition(" ")[0]
    command = framework_pip_command(seen, home.python, "uninstall", "-y", name)
    switch = next((row.switch for row in module_table().plugins if row.switch and row.module in ended.starts), "")
    if not switch:
        return manual_fix(_("Remove {name}", name=name), command, restart="program")
    off = f"{'set' if seen.machine.system == 'windows' else 'export'} {switch}=0"
    return manual_fix(_("Remove {name}, or switch plug-ins off", name=name), command, off, restart="program")


def index_of_build(version: str) -> str:
    """Return PyTorch's own index with the build that a version names ("2.8.0+cu128"); empty if it names none."""
    variant = version.partition("+")[2]
    return f"{framework_tables().torch_index.url}{variant}" if re.fullmatch(r"cu\d+|cpu", variant) else ""


def install_fitting_torch(seen: Snapshot, python: PythonEnvironment, build: FrameworkBuild) -> Fix:
    """Return how to install the PyTorch build that fits this driver, GPU and Python."""
    side = gpu_side(seen)
    if is_beyond_horizon("torch", build.version):
        return newer_torch(seen, python, build, side)
    choice = choose_torch(build.version, python, side)
    if choice is None or (side.is_unlisted and not choice.sure):
        return without_fitting_torch(side)
    why = _(
        "PyTorch {torch} is published for CUDA {cuda} ({source})",
        torch=choice.build.torch,
        cuda=choice.build.cuda,
        source=choice.build.source,
    )
    if side.cuda:
        why += _("; this driver runs CUDA up to {cuda}", cuda=side.cuda)
    other = (
        ""
        if choice.same_release
        else _("No build of {version} fits this GPU and driver; this release does.", version=build.version)
    )
    return manual_fix(
        _("Install PyTorch's build for CUDA {cuda}", cuda=choice.build.cuda),
        other,
        _torch_command(seen, python, f"torch=={choice.version}", choice),
        f"({why}.)",
        restart="program",
        remedy=_torch_remedy(python, choice),
    )


PYTORCH_SITE = "pytorch.org/get-started/locally"


def newer_torch(seen: Snapshot, python: PythonEnvironment, build: FrameworkBuild, side: GpuSide) -> Fix:
    """Return how to choose a build of a release that is newer than the tables: of that release, never of an older one."""
    release = build.version.partition("+")[0]
    known = horizon_of("torch")
    newest = ".".join(map(str, known.newest))
    choice = choose_torch(newest, python, side)
    return manual_fix(
        _("Choose PyTorch {release}'s build for this GPU and driver", release=release),
        _(
            "{name} {version} is newer than this Convalesce knows (tables of {date}): {where} lists its builds.",
            name="PyTorch",
            version=release,
            date=known.known_until,
            where=PYTORCH_SITE,
        ),
        _("This driver runs CUDA up to {cuda}; use a build for that version or an older one.", cuda=side.cuda)
        if side.cuda
        else "",
        *(
            (
                _(
                    "PyTorch {newest}, the newest that is known, has a build for CUDA {cuda} that fits. If {release} "
                    "has it too:",
                    newest=newest,
                    cuda=choice.build.cuda,
                    release=release,
                ),
                _torch_command(seen, python, f"torch=={release}", choice),
            )
            if choice and choice.same_release and choice.sure
            else ()
        ),
        restart="program",
    )


def fitting_companion(name: str, torch: str) -> str:
    """Return the requirement for a package that is built for one release of PyTorch; some of these packages pin no release."""
    rows = (r for r in framework_tables().companions if version_tuple(r.torch) == version_tuple(torch)[:2])
    known = {"torchvision", "torchaudio", "torchcodec"}
    its = next((getattr(r, name) for r in rows), "") if name in known else ""
    return f"{name}=={its}.*" if its else name


def _beside_torch(python: PythonEnvironment) -> tuple[str, ...]:
    """Return the packages that are built for one build of PyTorch and are in the same index."""
    return tuple(dict.fromkeys(d.name for d in python.distributions if d.name in ("torchvision", "torchaudio")))


def _torch_remedy(python: PythonEnvironment, choice: TorchChoice) -> InstallPackages:
    beside = _beside_torch(python)
    index = f"{framework_tables().torch_index.url}{choice.variant}"
    install = (f"torch=={choice.version}", *(fitting_companion(n, choice.version) for n in beside))
    return InstallPackages(prefix=python.prefix, remove=("torch", *beside), install=install, index=index)


def _torch_command(seen: Snapshot, python: PythonEnvironment, wanted: str, choice: TorchChoice) -> str:
    beside = _beside_torch(python)
    index = f"{framework_tables().torch_index.url}{choice.variant}"
    return framework_pip_command(seen, python, "install", "--force-reinstall", wanted, *beside, "--index-url", index)


def newer_framework(name: str, its: Family, version: str, where: str) -> Fix:
    """Return where to find the CUDA build of a release that is newer than the tables."""
    return manual_fix(
        _("Choose the build of {name} {version} with CUDA", name=name, version=version),
        _(
            "{name} {version} is newer than this Convalesce knows (tables of {date}): {where} lists its builds.",
            name=name,
            version=version,
            date=horizon_of(its).known_until,
            where=where,
        ),
    )


JETSON_INDEX = "https://developer.download.nvidia.com/compute/redist/jp"
"""NVIDIA's index of PyTorch builds for Jetson, one folder for each JetPack (NVIDIA, "Installing PyTorch for Jetson Platform")."""


def jetson_advice(release: str) -> Fix:
    """Return the advice for any framework on a Jetson with this release of Linux for Tegra."""
    return manual_fix(
        _("Install the build for Jetson"),
        _("This is a Jetson: builds that use its GPU are made for its JetPack release and come from NVIDIA."),
        _("Use the folder for {release}: {index}", release=release, index=JETSON_INDEX)
        if release.startswith("L4T")
        else _("cat /etc/nv_tegra_release tells the release; take its folder: {index}", index=JETSON_INDEX),
        _("For this processor, the builds on pip's default index and on pytorch.org are for servers."),
    )


def without_fitting_torch(side: GpuSide) -> Fix:
    """Return the remaining options if no known build of PyTorch fits, or the tables do not cover it."""
    if side.tegra:
        return jetson_advice(side.release)
    if side.is_unlisted or side.processor not in framework_tables().processors:
        return manual_fix(
            _("Choose the build at {where}", where=PYTORCH_SITE),
            _(
                "The builds that fit this GPU and processor are newer than this Convalesce knows, or not in its "
                "tables of {date}.",
                date=horizon_of("torch").known_until,
            ),
        )
    gpus = ", ".join(f"{g.name} ({g.compute_capability})" for g in side.gpus) or _("this GPU")
    return manual_fix(
        _("No known build of PyTorch fits"),
        _(
            "None of the known builds runs on {gpus} with driver {driver} (CUDA up to {cuda}).",
            gpus=gpus,
            driver=side.driver or _("unknown"),
            cuda=side.cuda,
        )
        if side.cuda
        else _(
            "None of the known builds runs on {gpus} with driver {driver}.",
            gpus=gpus,
            driver=side.driver or _("unknown"),
        ),
        _("A newer driver for this GPU, if there is one, allows newer builds: www.nvidia.com/drivers."),
    )


def gpu_onnxruntime(seen: Snapshot, python: PythonEnvironment, remove: tuple[str, ...], version: str) -> Fix:
    """Return how to have only onnxruntime-gpu: remove all variants first, since they share one folder."""
    if gpu_side(seen).tegra:
        return jetson_advice(seen.machine.tegra)
    wanted = f"onnxruntime-gpu=={version}" if version else "onnxruntime-gpu"
    return manual_fix(
        _("Remove both packages, then install onnxruntime-gpu"),
        framework_pip_command(seen, python, "uninstall", "-y", *remove),
        framework_pip_command(seen, python, "install", wanted),
        restart="program",
        remedy=InstallPackages(prefix=python.prefix, remove=remove, install=(wanted,)),
    )


def tensorflow_on_windows(seen: Snapshot) -> Fix:
    """Return the options for TensorFlow on native Windows."""
    rows = [r for r in framework_tables().tensorflow if r.system == "windows"]
    last = max(rows, key=lambda r: version_tuple(r.tensorflow))
    newest = max(
        (r for r in framework_tables().tensorflow if r.system == "linux"), key=lambda r: version_tuple(r.tensorflow)
    )
    pythons = [p for p in seen.pythons or () if takes_python(last.python, p.version)]
    python = last.python
    if pythons:
        example = pythons[0].executable or pythons[0].prefix
        python = _("{python} (such as {executable})", python=last.python, executable=example)
    return manual_fix(
        _("Use WSL2, or TensorFlow 2.10"),
        _("No TensorFlow after 2.10 can see a GPU on native Windows: use WSL2. In PowerShell as administrator:"),
        "wsl --install",
        _(
            "Then, inside that Linux, in a new environment with a Python that TensorFlow {release} supports, {python}:",
            release=newest.tensorflow,
            python=newest.python,
        ),
        'python3 -m pip install "tensorflow[and-cuda]"',
        _(
            "Or stay on Windows with {package}=={tensorflow}.0 in a Python {python}, with CUDA {cuda} "
            "and cuDNN {cudnn} ({source}).",
            package=last.package,
            tensorflow=last.tensorflow,
            python=python,
            cuda=last.cuda,
            cudnn=last.cudnn,
            source=last.source,
        ),
        restart="program",
    )


def tensorflow_for_gpu(seen: Snapshot, python: PythonEnvironment, version: str) -> Fix:
    """Return how to install TensorFlow with the CUDA libraries that it pins."""
    if gpu_side(seen).tegra:
        return jetson_advice(seen.machine.tegra)
    if is_beyond_horizon("tensorflow", version):
        return newer_framework("TensorFlow", "tensorflow", version, "tensorflow.org/install/pip")
    if version_tuple(version) >= (2, 14):
        fact, wanted = framework_tables().fact("tf_extra"), f"tensorflow[and-cuda]=={version}"
        other = tuple(d.name for d in python.distributions if d.name == "tensorflow-cpu")
        return manual_fix(
            _("Install TensorFlow with its CUDA libraries"),
            framework_pip_command(seen, python, "install", "--force-reinstall", wanted),
            f"({fact.source})",
            restart="program",
            remedy=InstallPackages(prefix=python.prefix, remove=other, install=(wanted,)),
        )
    row = next(
        (
            r
            for r in framework_tables().tensorflow
            if version_tuple(r.tensorflow) == version_tuple(version)[:2] and r.system == seen.machine.system
        ),
        None,
    )
    step = (
        _("It needs CUDA {cuda} and cuDNN {cudnn} ({source}).", cuda=row.cuda, cudnn=row.cudnn, source=row.source)
        if row
        else _("No tested build of this release is known here.")
    )
    return manual_fix(_("Install the build with GPU support"), step, restart="program")


def jax_for_gpu(seen: Snapshot, python: PythonEnvironment, version: str) -> Fix:
    """Return how to install JAX's CUDA plugin: the newest that the driver supports."""
    side = gpu_side(seen)
    if side.tegra:
        return jetson_advice(side.release)
    if is_beyond_horizon("jax", version):
        return newer_framework("JAX", "jax", version, "docs.jax.dev/en/latest/installation.html")
    if seen.machine.system == "windows":
        fact = framework_tables().fact("jax_windows")
        return manual_fix(
            _("Use JAX inside WSL2"), _(fact.fact), _('There: python3 -m pip install "jax[cuda12]"'), f"({fact.source})"
        )
    fitting = [
        p
        for p in framework_tables().jax
        if side.runs_cuda(p.plugin[8:10]) and _takes_python(p.capability, side) and not is_older(version, p.first)
    ]
    if not fitting:
        return manual_fix(_("No CUDA plugin of JAX fits"), _("The known plugins need a newer driver or a newer GPU."))
    best = max(fitting, key=lambda p: p.plugin)
    wanted = f"jax[cuda{best.plugin[8:10]}]=={version}"
    return manual_fix(
        _("Install JAX's plugin for CUDA {plugin}", plugin=best.plugin[8:10]),
        framework_pip_command(seen, python, "install", wanted),
        _(
            "(It requires driver {driver} or later and compute capability {capability}: {source}.)",
            driver=best.driver,
            capability=best.capability,
            source=best.source,
        ),
        restart="program",
        remedy=InstallPackages(prefix=python.prefix, install=(wanted,)),
    )


def _takes_python(capability: str, side: GpuSide) -> bool:
    return all(version_tuple(g.compute_capability) >= version_tuple(capability) for g in side.gpus)


def reinstall_requirement(seen: Snapshot, python: PythonEnvironment, *wanted: str) -> Fix:
    """Return how to install the required packages."""
    return manual_fix(
        _("Install the required packages"),
        framework_pip_command(seen, python, "install", *wanted),
        restart="program",
        remedy=InstallPackages(prefix=python.prefix, install=wanted),
    )


def install_package(home: EnvironmentView, name: str, releases: str = "", *, is_required: bool = False) -> Fix:
    """Return how to install a package; only text if nothing on the machine vouches for its name. ``is_required``: the metadata of
    an installed package, or a table, names it.
    """
    fix = reinstall_requirement(home.seen, home.python, f"{name}{releases}")
    if is_required or is_trusted_name(home, name):
        return fix
    return manual_fix(_("Install {name}", name=name), fix.advice, restart="program")
