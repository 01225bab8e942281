"""Rules about files that frameworks run or read by name at run time, such as parts of compilers: missing or unusable."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.common.i18n import N_, _, join_sentences, translate_fact
from core.common.shell import quote, shell_command, shell_of
from core.knowledge.causes import Cause
from core.knowledge.library_names import LibraryName, parse_library_name
from core.knowledge.modules import distribution_of, module_of
from core.knowledge.tools import Call, tool_table
from core.model.facts import CudnnCopy, Snapshot
from core.model.facts.framework_tools import ToolState, UnfitTool
from core.model.findings import Evidence, Finding, Fix
from core.model.paths import file_name, is_inside, parent
from core.model.remedies import PointTo, PutPackageBack
from core.model.steps import Severity
from core.rules.advice import how_to_set, python_of_environment
from core.rules.consumer_loads import describe_copy
from core.rules.frameworks.advice import framework_pip_command, install_instead, install_package, reinstall_package
from core.rules.frameworks.environment_view import EnvironmentView, environment_views
from core.rules.snapshot_queries import effective_variable
from core.rules.system_packages import program_commands
from core.rules.wording import NOTE, WARNING, make_finding, manual_fix, observation

SENTENCES: dict[ToolState, str] = {
    "absent": N_("{reader} in {prefix} needs {name}, which is missing."),
    "dangling": N_("{reader} in {prefix} needs {name}, which is a broken link."),
    "unreadable": N_("{reader} in {prefix} needs {name}, which this user may not read."),
    "not executable": N_("{reader} in {prefix} runs {name}, which this user may not run."),
    "noexec": N_("{reader} in {prefix} runs {name}, which lies on a file system that is mounted noexec."),
    "damaged": N_("{reader} in {prefix} needs {name}, which is damaged."),
    "wrong architecture": N_("{reader} in {prefix} runs {name}, which was built for another processor."),
}
CAUSES: dict[ToolState, Cause] = {
    "absent": "corrupt_or_truncated_file",
    "dangling": "corrupt_or_truncated_file",
    "unreadable": "library_unreadable",
    "not executable": "build_tools_missing",
    "noexec": "noexec_mount",
    "damaged": "corrupt_or_truncated_file",
    "wrong architecture": "dll_wrong_architecture",
}


def unfit_tools(seen: Snapshot) -> Iterator[Finding]:
    """A framework runs or reads a file by name that is missing or unusable: one finding for each framework."""
    for home in environment_views(seen):
        mine = [t for t in home.tools if not (t.builds or t.package or t.model or t.called)]
        for reader in dict.fromkeys(t.reader for t in mine):
            yield _finding(home, [t for t in mine if t.reader == reader])


def damaged_models(seen: Snapshot) -> Iterator[Finding]:
    """A file of a model is cut off, or a pointer or a page is there in its place: whatever loads it fails."""
    for home in environment_views(seen):
        yield from (_refused(home, t) for t in home.tools if t.model and t.called)
        mine = [t for t in home.tools if t.model and not t.called]
        if not mine:
            continue
        one = mine[0]
        model = re.search(r"[\\/]models--([^\\/]+)[\\/]snapshots[\\/]", one.path)
        title, why, cure = _words_about_model(one)
        yield make_finding(
            "frameworks.model-file",
            min(home.severity, WARNING),
            title,
            cause="corrupt_or_truncated_file",
            why=join_sentences(why, _("Programs that load it fail, others do not.")),
            evidence=[*map(_model_row, mine[:8]), home.concerns(one.reader.partition(" ")[0])],
            subject=one.path,
            fix=manual_fix(
                cure, _("It belongs to the model {name} of the hub.", name=model[1].replace("--", "/")) if model else ""
            ),
        )


def _refused(home: EnvironmentView, one: UnfitTool) -> Finding:
    words = {"call": one.called, "path": one.path, "reader": one.reader, "prefix": home.python.prefix}
    if one.model == "newer":
        title = _(
            "{call} opens {path} with {reader} in {prefix}, which knows models up to IR version {newest}. This one has {form}.",
            newest=one.detail,
            form=one.name,
            **words,
        )
        why = _("The model was exported with a newer onnx than the one that this release knows.")
        seen = observation(one.path, one.name, _("ir_version in the file"))
        fix = manual_fix(
            _("Install a newer {name}, or export the model again", name=one.reader.partition(" ")[0]),
            _("Or save it again with an older version: model = onnx.load(path); model.ir_version = {newest}; onnx.save(model, path).", newest=one.detail),
            restart="program",
        )  # fmt: skip
    elif one.model == "keras-2":
        title = _(
            "{call} opens {path} with {reader} in {prefix}, whose {layer} does not take {setting}.",
            layer=one.name,
            setting=f"{one.detail}=",
            **words,
        )
        why = _("Keras 2 wrote the model. Keras 3 does not make some of its layers.")
        seen = observation(one.path, f"{one.name}: {one.detail}", _("configuration in the file"))
        fix = manual_fix(
            _("Load it with Keras 2"),
            _("Install tf-keras, and set {setting} before the program starts.", setting="TF_USE_LEGACY_KERAS=1"),
            framework_pip_command(home.seen, home.python, "install", "tf-keras"),
            restart="program",
        )
    else:
        why = _(
            "The file holds whole objects ({name}), and not tensors alone. PyTorch loads such files only if it is told to, since 2.6.",
            name=one.detail,
        )
        title = _(
            "{call} loads {path} with {reader} in {prefix}, which refuses it: weights_only is True where a call does not say it.",
            **words,
        )
        advice = _("If you trust the file, write weights_only=False in this call")
        after = _("Such a file runs code as it is loaded. Save model.state_dict() instead, and nobody has to trust it.")
        if one.model == "paths":
            why = _(
                "The file was saved on another system with a path as an object, and Python makes no such path here."
            )
            title = _(
                "{call} loads {path} with {reader} in {prefix}, and the file holds a {name}.", name=one.detail, **words
            )
            mine = "WindowsPath" if "Posix" in one.detail else "PosixPath"
            advice = _("Write this line before the call: {line}", line=f"{one.detail} = pathlib.{mine}")
            after = _("Import pathlib before. The program that saves the file should write str(path).")
        seen = observation(one.path, one.detail, _("classes that the file names"))
        fix = manual_fix(advice, after)
    return make_finding(
        f"frameworks.model-{one.model}",
        min(home.severity, WARNING),
        title,
        cause="requirement_broken",
        why=why,
        evidence=[seen, home.concerns(one.reader.partition(" ")[0])],
        subject=one.path,
        fix=fix,
    )


def _words_about_model(one: UnfitTool) -> tuple[str, str, str]:
    """Return the sentence about a model's file, its reason, and what to do."""
    if one.model == "pointer":
        return (
            _("Instead of the model, {path} holds a pointer of Git LFS.", path=one.path),
            _("The folder was cloned without Git LFS, which downloads the large files."),
            _("Run git lfs pull in its folder"),
        )
    if one.model == "page":
        return (
            _("Instead of the model, {path} holds a web page or a message.", path=one.path),
            _("A server answers so to a link to a page, for a file that is not there, or without a log-in. A proxy does, too."),
            _("Read it in an editor, delete it, and download the model itself"),
        )  # fmt: skip
    title = (
        _("The model file {path} is empty.", path=one.path)
        if one.model == "empty"
        else _("The model file {path} is cut off: {detail}.", path=one.path, detail=translate_fact(one.detail))
    )
    return title, _("An interrupted download or copy leaves such a file."), _("Delete the file, and download it again")


def _model_row(tool: UnfitTool) -> Evidence:
    match tool.model:
        case "pointer":
            return observation(tool.path, _("a pointer of Git LFS, without the file itself"), _("start of the file"))
        case "page":
            return observation(tool.path, _("text, not a model"), _("start of the file"))
        case "empty":
            return observation(tool.path, _("empty"), _("size of the file"))
        case _:
            return observation(tool.path, translate_fact(tool.detail), _("header and length"))


def programs_that_packages_run(seen: Snapshot) -> Iterator[Finding]:
    """A package does its work by a program of the system's that is not there: a note where somebody else asked for the package, or no program in the folder uses it."""
    for home in environment_views(seen):
        for one in seen.framework_tools or ():
            if one.prefix != home.python.prefix or not one.package or one.called:
                continue
            yield _not_installed(
                home,
                one,
                f"frameworks.program-{one.name}",
                NOTE if one.asked_by or home.is_idle(one.reader.partition(" ")[0]) else min(home.severity, WARNING),
                "system_library_missing",
                _("{reader} in {prefix} needs the program {name}, which is not installed.", reader=one.reader, prefix=home.python.prefix, name=one.name),
                _("The package can be imported. It fails when it starts this program, which is no part of it."),
                *program_commands(seen, one.package, shows=f"command -v {one.name}"),
            )  # fmt: skip


def what_calls_lack(seen: Snapshot) -> Iterator[Finding]:
    """A program calls what needs another package, or a program of the system's, that is not there."""
    for home in environment_views(seen):
        for one in seen.framework_tools or ():
            if one.prefix != home.python.prefix or not one.called or one.opened or one.model or _ends_there(home, one):
                continue
            empty = one.looked[0] if one.state == "damaged" and one.looked else ""
            yield make_finding(
                f"frameworks.call-{one.name}",
                min(home.severity, WARNING),
                _("{call} uses a part of {reader} in {prefix} that starts {path}, and that file is empty.", call=one.called, reader=one.reader, prefix=home.python.prefix, path=empty)
                if empty
                else _("{call} uses a part of {reader} in {prefix} that is off without the variable {name}, which is not set.", call=one.called, reader=one.reader, prefix=home.python.prefix, name=one.name)
                if (row := _call_of(one)) and row.setting
                else _("{call} needs {name} in {prefix}, and {reader} is there in its place.", call=one.called, reader=one.reader, prefix=home.python.prefix, name=one.name)
                if _takes_its_place(one)
                else _("{call} uses a part of {reader} in {prefix} that needs {name}, which is not installed.", call=one.called, reader=one.reader, prefix=home.python.prefix, name=one.name)
                if one.reader
                else _("{call} starts {name} with its own Python, and {name} is not installed in {prefix}.", call=one.called, prefix=home.python.prefix, name=one.name),
                cause="corrupt_or_truncated_file" if empty else _cause_of_lack(one),
                why=_("An interrupted download or copy leaves such a file.") if empty else _("The package can be imported without it, and fails at this call.") if one.reader else _("The program ends at this line, whatever the packages need."),
                evidence=[
                    observation(_("Requested by"), one.asked_by, one.called),
                    *(observation(_("Looked for in"), p) for p in one.looked[:6]),
                    observation(_("Known from"), one.source),
                    home.concerns(one.reader.partition(" ")[0]) if one.reader else home.concerns(),
                ],
                subject=home.python.prefix,
                fix=manual_fix(_("Install {name}", name=one.name), *_program_advice(seen, one), restart="program")
                if one.package
                else _installed_for_call(home, one),
            )  # fmt: skip


def _takes_its_place(one: UnfitTool) -> bool:
    """Whether what a call needs has the module of the package that is called."""
    return bool(one.reader) and module_of(one.reader.partition(" ")[0]) == module_of(one.name)


def _call_of(one: UnfitTool) -> Call | None:
    """Return the row of the table that tells of what a call lacks."""
    return next((c for c in tool_table().calls if c.source == one.source), None)


def _cause_of_lack(one: UnfitTool) -> Cause:
    """Return why a call does not get what it needs."""
    call = _call_of(one)
    if call and call.setting:
        return "variable_value_wrong"
    if call and call.compiles:
        return "build_tools_missing"
    return "system_library_missing" if one.package else "requirement_broken"


def _program_advice(seen: Snapshot, one: UnfitTool) -> list[str]:
    """Return how a program is installed, or on Windows where it has to be found."""
    call = _call_of(one)
    if call and one.name in call.instead:
        return [_("Set {setting} before the program starts.", setting=call.instead[one.name])]
    if seen.machine.system == "windows":
        return [_("Then put its folder, which has {file}, on PATH, and open a new prompt.", file=f"{one.name}.exe")]
    program = (call and call.program) or one.name
    return program_commands(seen, one.package, call.compiles if call else "", shows=f"command -v {program}")


def _installed_for_call(home: EnvironmentView, one: UnfitTool) -> Fix:
    """Return how the package that a call needs comes into the environment; one that has the module of the called one takes its place."""
    reader = one.reader.partition(" ")[0]
    if _takes_its_place(one):
        return install_instead(home.seen, home.python, reader, one.name)
    call = _call_of(one)
    if call and call.setting:
        line = how_to_set(home.seen.machine.system, one.name, call.setting)
        return manual_fix(_("Set {name} to {root}", name=one.name, root=call.setting), line, restart="terminal")
    if call and call.by_module:
        words = call.by_module.format(name=one.name).split()
        python = home.python.executable or python_of_environment(home.seen, home.python.prefix)
        command = shell_command(python, "-m", *words, of=shell_of(home.seen.machine.system))
        return manual_fix(_("Install {name}", name=one.name), command, restart="program")
    if call and not call.wants and call.instead:
        now = call.instead[reader]
        return manual_fix(_("Write {now} for {before}", now=now, before=one.name), one.called, restart="program")
    fix = install_package(home, one.name, is_required=any(c.name == one.name for c in tool_table().calls))
    others = [setting for name, setting in (call.instead if call else {}).items() if home.installed(name)]
    if not others:
        return fix
    return manual_fix(
        _("Install {name}, or use what is installed", name=one.name),
        _("Set {setting} before the program starts.", setting=others[0]),
        _("Or install {name}:", name=one.name),
        fix.advice,
        restart="program",
    )


def _ends_there(home: EnvironmentView, one: UnfitTool) -> bool:
    """Whether following a program's calls came to the import that fails: that finding says more."""
    ended = home.search.ended if home.search else ()
    return any(e.kind == "absent" and e.call and distribution_of(e.wanted) == one.name for e in ended)


def libraries_that_programs_open(seen: Snapshot) -> Iterator[Finding]:
    """A program opens a library by ctypes that is nowhere here, or that no loader takes. Nothing is told where a way of starting searches further folders."""
    ours = effective_variable(seen, "LD_LIBRARY_PATH")
    theirs = {v.value for s in seen.starts or () for v in s.variables if v.name == "LD_LIBRARY_PATH"}
    told: set[str] = set()
    for home in sorted(environment_views(seen), key=lambda home: home.near):
        for one in seen.framework_tools or ():
            if one.prefix != home.python.prefix or not one.opened or one.called in told:
                continue
            told.add(one.called)
            bare = file_name(seen.machine.system, one.name)
            if bare == one.name and theirs - {ours.value if ours else ""}:
                continue
            known = parse_library_name(bare)
            others = _other_cudnn(home, known) if known and known.family == "cudnn" else []
            yield make_finding(
                "frameworks.opened-by-program",
                min(home.severity, WARNING),
                _("{call} opens the library {name}; here is only {copy}.", call=one.called, name=one.name, copy=describe_copy(others[0]))
                if others
                else _("{call} opens the library {name}, which is not there.", call=one.called, name=one.name)
                if one.state == "absent"
                else _(SENTENCES[one.state], reader=one.called, prefix=home.python.prefix, name=one.name),
                cause=_cause_of_absence(known, others) if one.state == "absent" else CAUSES[one.state],
                why=_("The program ends at this line, whatever the packages need."),
                evidence=[
                    observation(_("Requested by"), one.asked_by, one.called),
                    *(observation(_("On this machine"), describe_copy(copy), copy.folder) for copy in others),
                    observation(_("Known from"), one.source),
                    home.concerns(),
                ],
                subject=one.called,
                fix=manual_fix(
                    _("Let the program open a library that is here"),
                    _("Install the release that it asks for, or name the one that the environment has."),
                    restart="program",
                ),
            )  # fmt: skip


def _other_cudnn(home: EnvironmentView, wanted: LibraryName) -> list[CudnnCopy]:
    """Return the copies of cuDNN of another major version that are no other environment's, its own first."""
    mine = home.python.prefix
    here = [c for c in home.seen.cudnn or () if c.environment in ("", mine) and wanted.major not in (None, c.major)]
    return sorted(here, key=lambda c: c.environment != mine)


def _cause_of_absence(wanted: LibraryName | None, others: list[CudnnCopy]) -> Cause:
    """Return why a library is not there that a program opens by its name."""
    if wanted is None:
        return "system_library_missing"
    if wanted.family != "cudnn":
        return "cuda_runtime_missing"
    return "cudnn_major_mismatch" if others else "cudnn_not_installed"


def lacking_builders(seen: Snapshot) -> Iterator[Finding]:
    """A package that compiles at run time lacks a compiler or a header.

    A note, unless a package or a program of the person's is there that compiles: most machines never do, and nothing else needs it.
    """
    for home in environment_views(seen):
        for one in (t for t in home.tools if t.builds):
            version = ".".join((home.python.version or "3").split(".")[:2])
            package, other = ("gcc", "gcc") if one.runs else (f"python{version}-dev", "python3-devel")
            windows = seen.machine.system == "windows"
            base = parent("windows", parent("windows", one.path)) if windows else ""
            yield _not_installed(
                home,
                one,
                f"frameworks.build-{one.reader.partition(' ')[0]}-{one.name}",
                min(home.severity, WARNING) if one.asked_by else NOTE,
                "build_tools_missing",
                _("{reader} in {prefix} cannot compile: {name} is missing.", reader=one.reader, prefix=home.python.prefix, name=one.name),
                _("Only code that compiles kernels at run time needs it, such as torch.compile; everything else works without it."),
                *([_("Copy the folders include and libs of an installed Python {version} to {folder}.", version=version, folder=base)] if windows else program_commands(seen, package, other)),
            )  # fmt: skip


def _not_installed(  # noqa: PLR0917 - the parts of a finding
    home: EnvironmentView,
    one: UnfitTool,
    id: str,
    severity: Severity,
    cause: Cause,
    title: str,
    why: str,
    *commands: str,
) -> Finding:
    """Return the finding about a part of the system that a package does without until it needs it."""
    return make_finding(
        id,
        severity,
        title,
        cause=cause,
        why=why,
        evidence=[
            *([observation(_("Requested by"), one.asked_by)] if one.asked_by else []),
            *(observation(_("Looked for in"), p) for p in one.looked[:6]),
            observation(_("Known from"), one.source),
            home.concerns(one.reader.partition(" ")[0]),
        ],
        subject=home.python.prefix,
        fix=manual_fix(_("Install {name}", name=one.name), *commands, restart="program"),
    )


def _finding(home: EnvironmentView, unfit: list[UnfitTool]) -> Finding:
    one = unfit[0]
    name, _space, version = one.owner.partition(" ")
    never = one.state == "absent" and not one.owner
    cause: Cause = "libdevice_not_found" if never and one.name.startswith("libdevice") else CAUSES[one.state]
    return make_finding(
        f"frameworks.tool-{one.reader.partition(' ')[0]}",
        home.severity,
        _(SENTENCES[one.state], reader=one.reader, prefix=home.python.prefix, name=one.name),
        cause="build_tools_missing" if never and cause == "corrupt_or_truncated_file" else cause,
        why=_("It is run when a kernel is compiled, which then fails.")
        if one.runs
        else _("It is read when a kernel is compiled, which then fails."),
        evidence=[
            *(observation(t.path, f"{_(t.state)} {translate_fact(t.detail)}".strip(), t.owner) for t in unfit),
            *(observation(_("Looked for in"), p) for p in (one.looked[1:6] if never else ())),
            observation(_("Known from"), one.source),
            home.concerns(one.reader.partition(" ")[0]),
        ],
        subject=home.python.prefix,
        fix=_cure(home, one),
        remedy=PutPackageBack(prefix=home.python.prefix, package=name, version=version) if _is_gone(one) else None,
    )


def _is_gone(one: UnfitTool) -> bool:
    return bool(one.owner) and one.state in ("absent", "dangling", "damaged", "wrong architecture", "not executable")


def _cure(home: EnvironmentView, one: UnfitTool) -> Fix:
    if _is_gone(one):
        name, _space, version = one.owner.partition(" ")
        return reinstall_package(home.seen, home.python, name, version)
    if one.state == "noexec":
        return manual_fix(_("Keep the environment on a file system from which programs may be run"))
    if one.state == "unreadable":
        return manual_fix(_("Give this user permission to read {path}", path=one.path))
    if one.reader.startswith("numba "):
        return _whole_toolkit(home, one)
    return manual_fix(
        _("Install the package that provides {name}", name=one.name),
        _(
            "With pip: nvidia-cuda-nvcc of the CUDA that {reader} was built for; else a CUDA toolkit.",
            reader=one.reader,
        ),
    )


def _whole_toolkit(home: EnvironmentView, one: UnfitTool) -> Fix:
    """Return how Numba gets a toolkit with all that it reads: another one of this machine, or this one whole."""
    seen = home.seen
    system = seen.machine.system
    its = next((v for n in ("CUDA_HOME", "CUDA_PATH") if (v := effective_variable(seen, n))), None)
    name = its.name if its else "CUDA_HOME"
    others = [t.root for t in seen.toolkits or () if t.nvcc and t.root and not is_inside(system, one.path, t.root)]
    return manual_fix(
        _("Set CUDA_HOME to a complete CUDA toolkit"),
        *(
            _("In this terminal: export {name}={value}", name=name, value=quote(root))
            for root in others[:1]
            if system == "linux"
        ),
        _("Install the toolkit of {folder} again, so that there is {path}.", folder=its.value, path=one.path)
        if its
        else "",
        restart="program",
        remedy=PointTo(variable=name, folder=others[0], right=tuple(others)) if others and its else None,
    )


RULES = (
    unfit_tools,
    damaged_models,
    lacking_builders,
    programs_that_packages_run,
    what_calls_lack,
    libraries_that_programs_open,
)
