"""One fix for all missing dependencies of a consumer: a change of a search path, a restored package, or new packages."""

from __future__ import annotations

import re

from core.common.i18n import _
from core.common.late_pattern import late_pattern
from core.common.requirements import is_in_specifier, parse_requirement
from core.common.shell import shell_command, shell_of
from core.common.text import join_names
from core.knowledge.built_from_source import BUILT_FROM_SOURCE
from core.knowledge.causes import OptionalCause
from core.knowledge.cudnn import releases_for
from core.knowledge.library_names import TOOLKIT_FAMILIES, parse_library_name
from core.model.facts import Attempt, How, System
from core.model.findings import Fix
from core.model.paths import file_name, is_inside, parent
from core.model.remedies import (
    AddDllFolders,
    AddFolder,
    InstallPackages,
    Place,
    PointTo,
    PreferFolder,
    PutPackageBack,
    Remedy,
    TakeOut,
)
from core.rules.advice import add_to_search_path, without_variable
from core.rules.driver.parts import whole_driver
from core.rules.frameworks.advice import (
    fitting_companion,
    framework_pip_command,
    index_of_build,
    install_instead,
    reinstall_package,
)
from core.rules.frameworks.environment_view import missing_packages
from core.rules.frameworks.libraries.lacks import TENSORRT, Lack, cuda_majors, for_other_cudas, named_toolkit
from core.rules.frameworks.libraries.packages import (
    installed_already,
    middle_of,
    needs_a_hook,
    packages_with,
    requirements,
    rest_of_the_extra,
    unsearched_folders,
    wanted_packages,
    with_search,
    without_marker,
)
from core.rules.windows_parts import IN_THE_CLOUD, KEPT_BACK, install_part, larger_page_file, let_go, readable_again
from core.rules.wording import manual_fix

WITH_A_MAJOR = (*TOOLKIT_FAMILIES, "cudnn")
"""Families of which every library needs the others in its own major release."""

PYTHONS_OWN = late_pattern(r"(?i)python3\d*\.dll|vcruntime140(_1)?\.dll")
"""DLLs that Python's installer puts beside python.exe."""

BEFORE_ALL = (How.APPLICATION, How.SYSTEM, How.SYSTEM16, How.WINDOWS, How.DLL_FOLDER)
"""Where Windows searches before any search path."""


def _right_place(path: str, attempts: tuple[Attempt, ...], others: tuple[str, ...], system: System) -> tuple[str, str]:
    """Return how Windows finds an unfit file, and a folder with an intact one that its search does not reach; both empty if none."""
    if system != "windows":
        return "", ""
    at = next((a for a in attempts if a.path == path), None)
    sound = [a.path for a in attempts if a.outcome == "found" and a.path != path] or list(others)
    return (at.how if at else ""), parent(system, sound[0]) if sound else ""


def cure_of(lack: Lack, cause: OptionalCause) -> tuple[Remedy | None, Fix | None]:  # noqa: PLR0912, C901 - a flat list of cases
    """Return one fix for everything that is missing; (None, None) if none is known."""
    home, prefix = lack.home, lack.home.python.prefix
    if cause == "driver_component_missing" and home.seen.driver:
        return None, whole_driver(home.seen, home.seen.driver, lack.edges[0].name)
    if cause == "ld_library_path_override":
        folders = _variable_folders(lack)
        places = tuple(Place(folder=f, prefix=prefix) for f in folders)
        return TakeOut(variable="LD_LIBRARY_PATH", places=places), without_variable(folders)
    preloaded = list(dict.fromkeys(g.provider for g in lack.gaps if g.how == How.LD_PRELOAD))
    if preloaded:
        return None, manual_fix(
            _("Remove {path} from LD_PRELOAD", path=join_names(preloaded)),
            _("For this terminal: unset LD_PRELOAD"),
            restart="terminal",
        )
    packages = dict.fromkeys((d.distribution, d.version) for d in lack.recorded)
    past = _past_unfit(lack) if not packages else None
    if past is not None:
        return past
    if not packages and _own_file_unfit(lack):
        packages = {(d.name, d.version): None for d in home.python.distributions if d.name == lack.name}
    if packages:
        return _put_back(lack, list(packages))
    if misnamed := _under_another_name(lack):
        return None, _take_away_and_install(lack, misnamed)
    if cause == "cuda_path_env_wrong" and (
        named := named_toolkit(lack, [e for e in lack.edges if e.state == "absent"])
    ):
        title = _("Set {name} to {root}", name="CUDA_PATH", root=named.right)
        line = _("Start menu: Edit environment variables. Set {name} to {root}", name="CUDA_PATH", root=named.right)
        right = PointTo(variable="CUDA_PATH", folder=named.right, right=(named.right,))
        return right, manual_fix(title, line, restart="terminal")
    elsewhere = list(dict.fromkeys(parent(lack.system, e.elsewhere[0]) for e in lack.edges if e.elsewhere))
    if elsewhere and lack.edges and all(e.elsewhere for e in lack.edges):
        return _from_elsewhere(lack, cause, elsewhere)
    if cause == "upstream_packaging_bug" or _of_tensorrt(lack):
        return None, _without_flag(lack) if cause == "upstream_packaging_bug" else _one_tensorrt(lack)
    if cause in ("noexec_mount", "library_unreadable", "cxx_runtime_too_old", "page_file_too_small"):
        return None, _system_fix(cause, lack)
    if lack.system == "windows" and cause in ("vc_runtime_missing", "system_library_missing"):
        return None, _part_of_windows(lack)
    if cause == "extension_abi_mismatch" and for_other_cudas(lack):
        return None, manual_fix(
            _("Install a newer {name}", name=lack.name),
            framework_pip_command(home.seen, home.python, "install", "--upgrade", lack.name),
            _("If the newest has no library for this CUDA either, install the framework's build for one that it has."),
            restart="program",
        )
    if cause == "extension_abi_mismatch":
        return _fitting_extension(lack)
    if cause == "cuda_toolkit_version_mismatch" and (twin := _twin_for_these_libraries(lack)):
        return InstallPackages(prefix=prefix, remove=(lack.name,), install=(twin,)), install_instead(
            home.seen, home.python, lack.name, twin
        )
    if cause == "cuda_toolkit_version_mismatch" and (other := _release_for_these_libraries(lack)):
        return with_search(lack, InstallPackages(prefix=prefix, install=(other,))), _install(lack, [other])
    wanted = list(dict.fromkeys(wanted_packages(lack)))
    if there := installed_already(lack, wanted):
        names, exact = tuple(d.name for d in there), [f"{d.name}=={d.version}" for d in there]
        if any(e.state == "dangling" for e in lack.edges):
            return None, _install(lack, exact, again=True)  # A link to a file outside the folder could not be restored.
        remedy = PutPackageBack(prefix=prefix, package=names[0], version=there[0].version, more=names[1:])
        return remedy, _install(lack, exact, again=True)
    if cause == "cuda_toolkit_version_mismatch" and wanted:
        # Not done unasked: ONNX Runtime 1.18 crashes if libraries of a second CUDA are beside those of the first.
        return None, _install(lack, wanted)
    if wanted:  # a part of what it requires leads to the next fault
        wanted = [*missing_packages(home.seen, prefix, *wanted, of=lack.name), *rest_of_the_extra(lack, wanted)]
    return (_missing_packages(lack, wanted), _install(lack, wanted)) if wanted else (None, None)


def _under_another_name(lack: Lack) -> list[str]:
    """Return the libraries whose names say another release than what they need of their own family: they were renamed.

    libcublas.so.12 that needs libcublasLt.so.13 is that of CUDA 13.
    """
    found: dict[str, None] = {}
    for edge in lack.edges:
        its = parse_library_name(file_name(lack.system, edge.wanted_by).lower())
        needs = parse_library_name(edge.name.lower())
        if edge.state != "absent" or not its or not needs or not its.family == needs.family in WITH_A_MAJOR:
            continue
        if None not in (its.major, needs.major) and its.major != needs.major:
            found[edge.wanted_by] = None
    return list(found)


def _take_away_and_install(lack: Lack, files: list[str]) -> Fix:
    """Return how to remove renamed libraries, which come before the right ones, and to install those."""
    remove = "del" if lack.system == "windows" else "rm"
    right = dict.fromkeys(p for f in files for p in packages_with(file_name(lack.system, f), f, lack, []))
    return manual_fix(
        _("Remove the file with the wrong name, and install the required CUDA"),
        *(shell_command(remove, f, of=shell_of(lack.system)) for f in files),
        *((_install(lack, list(right)).advice,) if right else ()),
        restart="program",
    )


def _put_back(lack: Lack, packages: list[tuple[str, str]]) -> tuple[Remedy, Fix]:
    """Return how to install packages of which files are lost or damaged once more, in the same releases."""
    home, prefix = lack.home, lack.home.python.prefix
    (name, version), *others = packages
    remedy = PutPackageBack(prefix=prefix, package=name, version=version, more=tuple(n for n, _version in others))
    if not others:
        return remedy, reinstall_package(home.seen, home.python, name, version)
    return remedy, _install(lack, [f"{name}=={version}" for name, version in packages], again=True)


def _own_file_unfit(lack: Lack) -> bool:
    """Whether a file of the framework itself is damaged or foreign, although its size is the recorded one.

    A disk's fault or a sync client leaves zeros of the full length.
    """
    own = set(lack.closure.binaries) - set(lack.closure.strays)
    return any(e.state in ("damaged", "wrong architecture") and e.path in own for e in lack.edges)


def _release_for_these_libraries(lack: Lack) -> str:
    """Return the requirement for releases of a framework that fit its environment's CUDA libraries and cuDNN."""
    there = {d.name: d.version for d in lack.home.python.distributions}
    _wanted, packages = cuda_majors(lack, list(lack.edges))
    for cuda in packages:
        if other := releases_for(lack.name, cuda, there.get(f"nvidia-cudnn-cu{cuda}", "").partition(".")[0]):
            return other
    return ""


def _twin_for_these_libraries(lack: Lack) -> str:
    """Return the requirement for the same release of a framework that is published under one name for each major of CUDA; empty for any
    other.

    Source: https://docs.cupy.dev/en/stable/install.html.
    """
    _wanted, packages = cuda_majors(lack, list(lack.edges))
    version = next((d.version for d in lack.home.python.distributions if d.name == lack.name), "")
    named = re.fullmatch(r"(cupy-cuda)\d+x", lack.name)
    return f"{named[1]}{packages[0]}x=={version}" if named and packages and version else ""


def _from_elsewhere(lack: Lack, cause: OptionalCause, folders: list[str]) -> tuple[Remedy, Fix]:
    """Return how what is installed comes to be found."""
    home, prefix = lack.home, lack.home.python.prefix
    if cause == "requirement_broken" and (pinned := pinned_otherwise(lack)):
        return InstallPackages(prefix=prefix, install=pinned), _install(lack, list(pinned))
    if needs_a_hook(lack):
        return AddDllFolders(prefix=prefix, folders=tuple(folders)), add_dll_directories(folders)
    folders += [f for f in _sets_beside(lack, folders) if f not in folders]
    fix = add_to_search_path(home.seen, (";" if lack.system == "windows" else ":").join(folders))
    return AddFolder(folder=folders[0], more=tuple(folders[1:]), prefixes=(prefix,)), fix


def _sets_beside(lack: Lack, folders: list[str]) -> list[str]:
    """Return the further folders of NVIDIA's packages in the environment, where a program must be told one of them.

    Each of these packages has a folder of its own. Who opens cuBLAS by its name opens cuDNN in the same way, and programs do so beside
    their packages: with one folder alone the next library is not found.
    """
    seen, prefix = lack.home.seen, lack.home.python.prefix
    sets = [t for t in seen.toolkits or () if t.origin == "wheel" and is_inside(lack.system, t.root, prefix)]
    packages = [parent(lack.system, f.path) for t in sets for f in t.libraries]
    packages += [c.folder for c in seen.cudnn or () if c.origin == "wheel" and c.environment == prefix]
    return list(dict.fromkeys(packages)) if lack.system == "linux" and set(folders) & set(packages) else []


def pinned_otherwise(lack: Lack) -> tuple[str, ...]:
    """Return the consumer's own exact requirements on the packages of what is missing, if another release of each is installed: its
    files lie where that release of the consumer does not search.
    """
    its = lack.distribution
    there = {d.name: d.version for d in lack.home.python.distributions}
    pins = [(p, parse_requirement(p)) for p in (its.requires if its else ())]
    found: dict[str, None] = {}
    for edge in lack.edges:
        name = rf"nvidia-{re.escape(middle_of(edge.name))}(-cu\d+)?"
        exact = [(p, w) for p, w in pins if w and "==" in w.specifier and re.fullmatch(name, w.name.replace("_", "-"))]
        other = [p for p, w in exact if is_in_specifier(w.specifier, there.get(w.name, "")) is False]
        if not other:
            return ()
        found[without_marker(other[0], lack)] = None
    return tuple(found)


def _missing_packages(lack: Lack, wanted: list[str]) -> InstallPackages:
    """Return the remedy that installs what is missing, in a place that the consumer searches.

    Of two releases that do not match, the one without the function is older: it is removed, so that a newer one is
    installed.
    """
    wishes = requirements(lack, None)
    there = {d.name for d in lack.home.python.distributions}
    older = [
        w
        for g in lack.gaps
        if g.provider
        for w in packages_with(file_name(lack.system, g.provider), g.provider, lack, wishes)
    ]
    names = (wish.name for w in older if (wish := parse_requirement(w)) and "==" not in wish.specifier)
    gone = tuple(dict.fromkeys(n for n in names if n in there))
    return with_search(lack, InstallPackages(prefix=lack.home.python.prefix, remove=gone, install=tuple(wanted)))


def _past_unfit(lack: Lack) -> tuple[Remedy | None, Fix | None] | None:
    """Return how Windows finds an intact file instead of the unfit one; None if that is not the fault."""
    places = [
        (e.path, *_right_place(e.path, e.attempts, e.elsewhere, lack.system)) for e in lack.edges if e.state != "absent"
    ]
    places += [
        (g.provider, g.how, parent(lack.system, g.others[0]) if g.others else "") for g in lack.gaps if g.provider
    ]
    strays = lack.closure.strays
    places = [
        p
        for p in places
        if p[0] in strays
        or (p[1] == How.APPLICATION and not PYTHONS_OWN.match(file_name(lack.system, p[0])))
        or not is_inside(lack.system, p[0], lack.home.python.prefix)
    ]
    if lack.system != "windows" or not places or any(e.state == "absent" and not e.elsewhere for e in lack.edges):
        return None
    path, how, right = places[0]
    over = parent(lack.system, path)
    if how == How.PATH and right:
        fix = manual_fix(
            _("Make sure that {folder} is found before {other}", folder=right, other=over),
            _("Move {folder} before {other} in PATH.", folder=right, other=over),
            restart="program",
        )
        place = Place(folder=right, prefix=lack.home.python.prefix)
        return PreferFolder(over=over, by="PATH", places=(place,)), fix
    if how in BEFORE_ALL or path in strays:
        files = join_names(dict.fromkeys(p for p, h, _right in places if h in BEFORE_ALL or p in strays))
        fix = manual_fix(
            _("Remove the stray files from {folder}", folder=over),
            _("No installer puts them there; move these files to another place: {files}", files=files),
            restart="program",
        )
        return None, fix
    return None


def add_dll_directories(folders: list[str]) -> Fix:
    """Return what a program does before it imports a framework on Windows, where DLLs of extension modules are not searched on PATH."""
    lines = (f'os.add_dll_directory(r"{folder}")' for folder in folders)
    return manual_fix(_("Make these folders known to Python before the import"), "import os", *lines, restart="program")


def _variable_folders(lack: Lack) -> list[str]:
    paths = [e.path for e in lack.edges if e.path] + [g.provider for g in lack.gaps if g.how == "LD_LIBRARY_PATH"]
    return list(dict.fromkeys(parent(lack.system, p) for p in paths))


def _system_fix(cause: OptionalCause, lack: Lack) -> Fix:
    paths = join_names(dict.fromkeys(e.path for e in lack.edges if e.path))
    if cause == "page_file_too_small":
        return larger_page_file()
    kept = next((o for o in lack.closure.openings or () if o.number in {*KEPT_BACK, *IN_THE_CLOUD}), None)
    if kept is not None:
        return let_go(kept.library, kept.number or 0)
    if cause == "noexec_mount":
        return manual_fix(_("Move the environment, or mount without noexec"),
                          _("Recreate the environment on a file system that is not mounted noexec; findmnt -T {path} shows the options.", path=lack.home.python.prefix))  # fmt: skip
    if cause == "library_unreadable":
        return readable_again(paths, lack.home.seen)
    return manual_fix(_("Use a release that this system can run"),
                      _("Install a release of {who} that was built for older systems, or use a newer system or Python.", who=lack.closure.consumer.framework))  # fmt: skip


def _part_of_windows(lack: Lack) -> Fix:
    """Return how Windows gets what it lacks; an old C++ runtime beside python.exe is renewed there."""
    first, who = lack.edges[0], (lack.closure.consumer.framework,)
    if first.state != "too old" or "\\windows\\" in first.path.lower():
        return install_part(first.name, who, lack.home.seen)
    return manual_fix(
        _("Update {name} next to Python", name=first.name),
        _("Another program or an older Python put {path} there, and it is found before that of Windows. conda: conda install vc14_runtime.", path=first.path),
        _("Otherwise move it to another place, and install Microsoft's Visual C++ Redistributable (x64)."),
        restart="program",
    )  # fmt: skip


def _without_flag(lack: Lack) -> Fix:
    """Return how to get rid of libraries that ask for an executable stack: a newer release, or the flag taken away."""
    paths = list(dict.fromkeys(e.path for e in lack.edges if e.state == "executable stack"))
    upgrade = framework_pip_command(lack.home.seen, lack.home.python, "install", "--upgrade", lack.name)
    flag = shell_command("patchelf", "--clear-execstack", *paths, of=shell_of(lack.system))
    title = _("Install a newer release of {name}, or clear the flag", name=lack.name)
    return manual_fix(title, upgrade, _("If no newer release is without it, clear the flag:"), flag, restart="program")


def _of_tensorrt(lack: Lack) -> bool:
    """Whether everything that is lacking is TensorRT's."""
    named = [*(e.name for e in lack.edges), *(file_name(lack.system, g.wanted_by) for g in lack.gaps)]
    return bool(named) and all(TENSORRT.match(name) for name in named)


def _one_tensorrt(lack: Lack) -> Fix:
    """Return how all libraries of TensorRT come to be of the release that is needed."""
    release = next((m[1] for e in lack.edges if (m := re.search(r"\.so\.(\d[\d.]*)", e.name))), "")
    if lack.gaps or not all(is_inside(lack.system, e.wanted_by, lack.home.python.prefix) for e in lack.edges):
        return manual_fix(
            _("Install all libraries of TensorRT in one release"),
            "dpkg -l 'libnvinfer*' 'libnvonnxparsers*'",
            _("Each line should show the same version; install that version where it differs."),
            restart="program",
        )
    cuda = cuda_majors(lack, list(lack.edges))[0]
    name = f"tensorrt-cu{cuda}" if cuda else "tensorrt"
    command = framework_pip_command(lack.home.seen, lack.home.python, "install", f"{name}=={release}.*")
    searched = _(
        "The program imports tensorrt first, or LD_LIBRARY_PATH names the folder tensorrt_libs of that package."
    )
    return manual_fix(_("Install TensorRT {release}", release=release), command, searched, restart="program")


def _fitting_extension(lack: Lack) -> tuple[Remedy | None, Fix | None]:
    """Return how to install the release of an extension that fits its framework, which the person chose."""
    there = {d.name: d for d in lack.home.python.distributions}
    base = next((there[n] for n in ("torch", "tensorflow", "jaxlib", "paddlepaddle-gpu") if n in there), None)
    if base is None or base.name == lack.name:
        return None, None
    anchor = f"{base.name}=={base.version}"
    if BUILT_FROM_SOURCE.fullmatch(lack.name):
        return None, _built_again(lack, anchor)
    index = index_of_build(base.version) if base.name == "torch" else ""
    options = ("--upgrade", *(("--index-url", index) if index else ()))
    wish = fitting_companion(lack.name, base.version) if base.name == "torch" else lack.name
    mine = there[lack.name].version if lack.name in there else ""
    series = wish.removeprefix(lack.name)
    # a build of the same index: this very release is the one that does not fit
    if mine and not index and "+" not in mine and (not series or is_in_specifier(series, mine)):
        wish += f"{',' if series else ''}!={mine}"
    command = framework_pip_command(lack.home.seen, lack.home.python, "install", *options, wish, anchor)
    title = _("Install the release of {names} that fits {kept}", names=lack.name, kept=anchor)
    remedy = InstallPackages(prefix=lack.home.python.prefix, remove=(lack.name,), install=(wish, anchor), index=index)
    return remedy, manual_fix(title, command, restart="program")


def _built_again(lack: Lack, anchor: str) -> Fix:
    """Return how an extension that comes as sources is built for the framework that is installed."""
    options = ("--force-reinstall", "--no-deps", "--no-cache-dir", "--no-build-isolation")
    command = framework_pip_command(lack.home.seen, lack.home.python, "install", *options, lack.name)
    title = _("Build {name} again for {anchor}", name=lack.name, anchor=anchor)
    needs = _("It comes as sources: building it takes a CUDA toolkit with nvcc, a compiler, and time.")
    return manual_fix(title, command, needs, restart="program")


def _install(lack: Lack, wanted: list[str], *, again: bool = False) -> Fix:
    options = ("--force-reinstall", "--no-deps") if again else ()
    command = framework_pip_command(lack.home.seen, lack.home.python, "install", *options, *wanted)
    steps = [command]
    folders = list(dict.fromkeys(unsearched_folders(lack))) if lack.system == "windows" and not again else []
    if folders and needs_a_hook(lack):
        further = add_dll_directories(folders)
        steps += [further.title, further.advice]
    elif folders:
        further = add_to_search_path(lack.home.seen, ";".join(folders))
        steps += [further.title, further.advice]
    return manual_fix(_("Install {name}", name=join_names(wanted)), *steps, restart="program")
