"""Starts that lead to the right Python and end before their program runs."""

from __future__ import annotations

import json
from collections.abc import Collection

from msgspec.structs import replace

from core.common.i18n import _
from core.common.shell import quote, shell_command, shell_of
from core.common.text import join_names
from core.knowledge.modules import module_of
from core.model.facts import Snapshot, Start, StartedPython, StartLine
from core.model.findings import Evidence, Finding
from core.rules.ended_windows_starts import WINDOWS_ENDS
from core.rules.frameworks.advice import framework_pip_command
from core.rules.frameworks.environment_view import EnvironmentView
from core.rules.ignored_lines import advice_on, no_effect
from core.rules.start_end import End, Told
from core.rules.ways import way_words
from core.rules.wording import NOTE, WARNING, make_finding, manual_fix, observation


def ended_start(seen: Snapshot, home: EnvironmentView, start: Start, one: StartedPython) -> Finding:
    """Return what is told of a start that ends."""
    end = ENDS[one.fault]
    title, why, fix = end.describe(home, start, one)
    told = make_finding(
        "environment.start-ends",
        home.severity if end.everywhere else WARNING if home.near <= 2 else NOTE,
        _("Only in {ways}: {title}", ways=way_words(seen, (start.id,)), title=title),
        cause=end.cause,
        why=why,
        evidence=[
            observation(_("Seen"), one.source, start.at),
            *([observation(_("Seen"), one.command, start.at)] if one.fault in OF_A_FOLDER and one.command else []),
            observation(_("It would start"), one.path, start.at),
            *followed_rows(start),
            *misset_rows(start, one),
            home.concerns(),
        ],
        subject=start.at,
        fix=fix,
    )
    return replace(told, ways=(start.id,))


OF_A_FOLDER = ("not in this folder", "program not there")


def followed_rows(start: Start) -> list[Evidence]:
    """Return the scripts through which a start leads."""
    between = [f for f in start.files if f not in (start.at, start.at.partition(": ")[0])]
    return [observation(_("What leads there"), join_names(between), start.at)] if between else []


def misset_rows(start: Start, one: StartedPython) -> list[Evidence]:
    """Return the line of a variable that is not read, or not as it was meant."""
    row = one.misset
    if row is None:
        return []
    where = f"{row.file}:{row.line}" if row.file else start.at
    return [observation(_("{name} is set here", name=row.name.strip()), f"{row.name}={row.value}", where)]


def kept_words(row: StartLine) -> str:
    """Return what cmd.exe makes of a line of ``set``."""
    if row.name != row.name.strip():
        return _(
            "Line {line} of {file} sets the variable {name}, with the blank in its name, and not {meant}.",
            line=row.line, file=row.file, name=repr(row.name), meant=row.name.strip(),
        )  # fmt: skip
    return _(
        "Line {line} of {file} gives {name} the value {value}: blanks and quotation marks after the equals sign are a part of it.",
        line=row.line, file=row.file, name=row.name, value=repr(row.value),
    )  # fmt: skip


def _activation_ends(_home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of a step of an image that activates for itself alone."""
    title = _(
        "{source} activates {prefix} for its own step alone, and then another Python starts.",
        source=one.source,
        prefix=one.seems,
    )
    why = _("Each RUN of a Dockerfile has a shell of its own, and what it activates ends with it.")
    if one.command:
        title = _(
            "{command} in {source} makes an environment as {prefix} is, and then the Python of the image starts.",
            command=one.command,
            source=one.source,
            prefix=one.seems,
        )
        why = _("It installs there alone, and nothing puts that environment into PATH.")
    if one.program:
        title = _(
            "{source} activates {prefix} in {file}, and then another Python starts.",
            source=one.source,
            prefix=one.seems,
            file=one.program,
        )
        why = _("Only the shells of a terminal read that file, and the command of an image is none.")
    file = one.source.rpartition(":")[0]
    fix = manual_fix(_("Put the environment first in PATH in {file}", file=file), f'ENV PATH="{one.seems}/bin:$PATH"')
    return title, why, fix


def _no_shell(home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of a command for a shell that no shell reads."""
    title = _("No shell reads the command in {source}: {name} is no program.", source=one.source, name=one.name)
    why = _("{name} and && are words of a shell, and this starter starts programs without one.", name=one.name)
    if "/" in one.name:
        why = _(
            "Without a shell, nothing replaces ~ and $HOME in the path of a program, and systemd takes only absolute paths."
        )
    fix = manual_fix(
        _("Name the environment's Python alone in {source}", source=one.source),
        _own_command(home, one),
        _("A service starts in another folder with WorkingDirectory=, a launcher with Path=."),
        _("Or let bash read it: /bin/bash -c '...'"),
    )
    return title, why, fix


def _no_conda(home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of ``conda activate`` in a shell that does not have it."""
    title = _("{source} ends before it starts Python: its shell does not know conda activate.", source=one.source)
    why = _("Only a shell that ran conda's hook has that command, and what follows && does not run.")
    fix = manual_fix(
        _("Start the program with the environment's own Python"),
        _own_command(home, one),
        _("Or: conda run -p {prefix} python ...", prefix=one.seems),
    )
    return title, why, fix


def _program_not_there(_home: EnvironmentView, start: Start, one: StartedPython) -> Told:
    """Return what is told of a program that is not in the folder of the start."""
    folder, program = one.source, one.name
    title = _("{name} is not in {folder}, where this starts.", name=program, folder=folder)
    why = _("Python says that it can't open the file. One of this name is in {folder}.", folder=one.program)
    fix = manual_fix(
        _(
            "Let {file} start it in {folder}, or name the program with its folder",
            file=start.at,
            folder=one.program,
        ),
        f"WorkingDirectory={one.program}"
        if start.kind == "service"
        else f"Path={one.program}"
        if start.kind == "launcher"
        else _cwd_for(one)
        if start.kind == "editor"
        else f"{shell_command('cd', one.program)} && ...",
    )
    return title, why, fix


def _cwd_for(one: StartedPython) -> str:
    """Return the line of launch.json that starts a program in the folder of its files."""
    return f'"cwd": {json.dumps(one.program)}'


def _not_searched(home: EnvironmentView, start: Start, one: StartedPython) -> Told:
    """Return what is told of modules that an option, or the place of the program, keeps from it."""
    names = join_names(one.lacks)
    title = _(
        "{program} does not find {names}, which is in {folder}.", program=one.program, names=names, folder=one.source
    )
    if one.name == "pytest":
        why = _("pytest searches the folders of the tests, and not the one in which it is started.")
        return title, why, manual_fix(_("Start it by its module, which searches that folder, too"), "python -m pytest")
    if one.name and not one.name.startswith("-"):
        why = _("{name} looks for it in the folder in which it is started.", name=one.name)
        if one.name == "sys.path":
            why = _("The program adds a relative folder to sys.path, and this starts it in another folder.")
        return title, why, manual_fix(_("Start it in {folder}", folder=one.source), shell_command("cd", one.source))
    if one.name:
        why = _(
            "{option} tells Python to leave folders out: the program's own (-I, -P), those of PYTHONPATH (-I, -E), or the person's own packages (-I, -s).",
            option=one.name,
        )
        return title, why, manual_fix(_("Remove {option} from the command in {file}", option=one.name, file=start.at))
    why = _("Python searches the folder of a program or a notebook, and not the folders above it.")
    folder, program = quote(one.source), quote(one.program)
    first = f"cd {folder} && PYTHONPATH={folder} python {program}"
    if home.seen.machine.system == "windows":
        first = f'set "PYTHONPATH={one.source}"'
    if start.kind == "notebook":
        first = f"import sys; sys.path.insert(0, {one.source!r})"
    return title, why, manual_fix(_("Let it search {folder}, too", folder=one.source), first)


def _tool_not_in_path(home: EnvironmentView, start: Start, one: StartedPython) -> Told:
    """Return what is told of a program beside the environment's Python that PATH does not lead to."""
    title = _(
        "{program} does not find {names}, which is in {folder}.", program=one.program, names=one.name, folder=one.source
    )
    why = _(
        "A Python that is started by its path leaves PATH as it is, and {name} is looked for there alone.",
        name=one.name,
    )
    value = f"PATH={one.source}:/usr/local/bin:/usr/bin:/bin"
    if start.kind == "service":
        value = f"Environment={value}"
    if home.seen.machine.system == "windows":
        value = f'set "PATH={one.source};%PATH%"'
    fix = manual_fix(
        _("Put the environment's folder into PATH in {file}", file=start.at.partition(": ")[0]),
        value,
    )
    return title, why, fix


def _variable_not_set(home: EnvironmentView, start: Start, one: StartedPython) -> Told:
    """Return what is told of a variable that a shell's start-up file sets, and that what starts without a shell does not get."""
    title = _("{source} asks for the variable {name}, which is not set there.", source=one.source, name=one.name)
    if one.program == "torchrun":
        why = _("torchrun sets it for the programs that it starts. Without torchrun the program ends at this line.")
        return title, why, manual_fix(_("Start the program with torchrun"), "torchrun --nproc-per-node=1 ...")
    if one.command:
        why = _(
            "{other} is set in its place, which other releases read. The program ends at this line.", other=one.command
        )
        windows = home.seen.machine.system == "windows"
        of_old = f"setx {one.name} %{one.command}%" if windows else f'export {one.name}="${one.command}"'
        return title, why, manual_fix(_("Set the variable {name}", name=one.name), of_old)
    where = one.program or _("this session")
    why = _("{where} sets it, which is not read here. The program ends at this line.", where=where)
    if one.program.endswith(".env") and start.kind == "script":
        read = _("Let the shell hand on what is in {file}, or read it by python-dotenv", file=one.program)
        return title, why, manual_fix(read, f"set -a; . {quote(one.program)}; set +a")
    value = f"{one.name}=..."
    if home.seen.machine.system == "windows":
        for_all = _("Let this person's account start it, or set {name} for the whole machine", name=one.name)
        return title, why, manual_fix(for_all, f"setx /M {one.name} ...")
    fix = manual_fix(
        _("Set {name} in {file}, too", name=one.name, file=start.at.partition(": ")[0]),
        f"Environment={value}" if start.kind == "service" else value,
    )
    return title, why, fix


def _misnamed_file(home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of a variable that stands in a file under another name than the program reads."""
    title = _(
        "{source} needs the variable {name}, which {file} sets: the program reads {wanted}.",
        source=one.source,
        name=one.name,
        file=one.program,
        wanted=one.command,
    )
    why = _("A file of variables that is not there is passed over without a word, and the program ends at this line.")
    system = home.seen.machine.system
    command = "move" if system == "windows" else "mv"
    return (
        title,
        why,
        manual_fix(_("Rename the file"), shell_command(command, one.program, one.command, of=shell_of(system))),
    )


def _file_refused(_home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of settings that their reader refuses."""
    title = _("{source} reads {file}, which {reader} refuses.", source=one.source, file=one.program, reader=one.command)
    why = _("It says: {words}. The program ends at this line.", words=one.name)
    hints = {
        "backslash": _("In quotation marks a backslash begins an escape: write / or \\\\ in a path."),
        "percent": _("A percent sign begins a reference to another setting; two of them stand for one."),
        "mark": _("Save it as UTF-8 without a byte order mark."),
    }
    hint = [hints[one.refused]] if one.refused else []
    return title, why, manual_fix(_("Correct {file}", file=one.program), *hint)


def _place_not_expanded(_home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of a path with a part that only a shell replaces, or that Python does."""
    escaped = not one.name.isprintable()
    file, meant = (repr(one.name), one.program.replace("\\", "/")) if escaped else (one.name, one.program)
    title = _("{source} opens {file}, and there is no such place.", source=one.source, file=file)
    why = _(
        'A shell replaces "~", "$NAME" and "%NAME%" in a path. open() and files of variables leave them as they stand.'
    )
    if escaped:
        why = _("In quotation marks a backslash begins an escape: write / or \\\\ in a path.")
    return title, why, manual_fix(_("Write the whole path: {path}", path=meant))


def _no_source(_home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of ``source`` in a shell that does not have it."""
    title = _(
        "{source} does not come to the Python of {prefix}: its shell has no command source.",
        source=one.source,
        prefix=one.seems,
    )
    why = _(
        '/bin/sh is dash there, which has no command source and reads a file with "." alone: what follows && does not run, and what follows ; runs without the environment.'
    )
    fix = manual_fix(
        _('Write "." instead of "source" in {source}', source=one.source), _("Or let bash run these commands.")
    )
    return title, why, fix


def _not_in_this_folder(_home: EnvironmentView, start: Start, one: StartedPython) -> Told:
    """Return what is told of a task or a shortcut that starts in another folder than its files."""
    title = _("{name} is not in {folder}, where this starts.", name=one.name, folder=one.source)
    why = _(
        "It is named without a folder, and is in {folder}. A program without a start folder starts in System32.",
        folder=one.program,
    )
    if start.kind == "editor":
        why = _("It is named without a folder, and is in {folder}.", folder=one.program)
        return title, why, manual_fix(_("Set its start folder to {folder}", folder=one.program), _cwd_for(one))
    fix = manual_fix(
        _("Set its start folder to {folder}", folder=one.program),
        _('A task: Properties, Actions, Start in. A batch file: cd /d "%~dp0" as its first line.'),
    )
    return title, why, fix


def _not_of_this_account(home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of packages of the person's that another account does not have."""
    names = join_names(one.lacks)
    title = _(
        "{program} does not find {names}, which only this person's account has.", program=one.program, names=names
    )
    why = _(
        "It is in {folder}, which other accounts do not search, and another account starts the program.",
        folder=one.source,
    )
    fix = manual_fix(
        _("Let this person's account start it, or install {names} for everybody", names=names),
        _(
            "A service: services.msc, Log On, This account. NSSM: nssm set NAME ObjectName. A task: Properties, General, Change User."
        ),
        _("The machine's own PATH: SystemPropertiesAdvanced.exe, Environment Variables, System variables.")
        if one.lacks == (one.name,)
        else framework_pip_command(home.seen, home.python, "install", *_owners(home, one.lacks), for_everybody=True),
    )
    return title, why, fix


def _variable_not_read(_home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of PYTHONPATH that a ._pth file turns off."""
    names = join_names(one.lacks)
    title = _("{program} does not find {names}, which is in a folder of PYTHONPATH.", program=one.program, names=names)
    why = _("The file {path} names every folder that this Python searches; PYTHONPATH is not read.", path=one.source)
    fix = manual_fix(
        _("Add the folder of {names} to {path}", names=names, path=one.source),
        one.misset.value if one.misset else "",
    )
    return title, why, fix


def _pth_files_not_read(_home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of .pth files that a ._pth file turns off."""
    names = join_names(one.lacks)
    file = f"{one.misset.file}:{one.misset.line}" if one.misset else ""
    title = _("{program} does not find {names}, to which {file} leads.", program=one.program, names=names, file=file)
    why = _("The file {path} does not import site, and so Python reads no .pth file.", path=one.source)
    fix = manual_fix(_("Add the line {line} to {path}", line="import site", path=one.source), restart="program")
    return title, why, fix


def _line_without_effect(_home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of a line for PYTHONPATH that does not do what it seems to."""
    title = _(
        "{program} does not find {names}, to which {file} leads.",
        program=one.program,
        names=join_names(one.lacks),
        file=one.source,
    )
    row = one.misset
    why = (no_effect(row) if row.overridden else kept_words(row)) if row else ""
    meant = row.value.strip().strip('"') if row else ""
    advice = _("Write this in the place of {source}, or before the command", source=one.source)
    return title, why, manual_fix(advice, f'set "PYTHONPATH={meant}"', restart="program")


def _folder_not_searched(_home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of a ._pth file that leaves out the folder of the program."""
    names = join_names(one.lacks)
    title = _("{program} does not find {names}, which is in its own folder.", program=one.program, names=names)
    why = _(
        "The file {path} names every folder that this Python searches, but not the program's folder.",
        path=one.source,
    )
    fix = manual_fix(
        _("Add the program's folder to {path}", path=one.source), _("A line may be relative, such as ..\\ComfyUI.")
    )
    return title, why, fix


def _percent(_home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of a job whose command cron ends at a percent sign."""
    title = _("cron ends the command in {source} at its first percent sign.", source=one.source)
    why = _(
        "What stands behind a percent sign is no part of a job's command, so its shell finds no end of a quote or a bracket."
    )
    fix = manual_fix(
        _("Write {escaped} instead of {sign} in {source}", escaped="\\%", sign="%", source=one.source), "$(date +\\%F)"
    )
    return title, why, fix


def _own_packages(home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of a program whose metadata do not list what it imports."""
    names = join_names(one.lacks)
    if one.command:
        title = _("{program} gets an environment of its own, without {names}.", program=one.command, names=names)
        why = _(
            "{program} imports it. uvx and pipx run give a tool what it asks for itself, and nothing of the project.",
            program=one.program,
        )
        own = f"uv run {one.command} ..."
        return (
            title,
            why,
            manual_fix(
                _("Start it in the project's environment"),
                own,
                _own_command(home, replace(one, program=f"-m {one.command}")),
            ),
        )
    title = _("{program} gets an environment of its own, without {names}.", program=one.program, names=names)
    why = _("uv gives a program with metadata (# /// script) what they list, and nothing of other environments.")
    fix = manual_fix(
        _("Add {names} to the metadata of {program}", names=names, program=one.program),
        shell_command(
            "uv", "add", "--script", one.program, *_owners(home, one.lacks), of=shell_of(home.seen.machine.system)
        ),
        _("Or start it with the environment's own Python: {command}", command=_own_command(home, one)),
    )
    return title, why, fix


def _exits(home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of a batch file that gives up before it comes to its program."""
    title = _("{source} ends this file: the lines after it do not run.", source=one.source)
    why = _(
        "It does so since {name} fails or is not there, and {prefix} has what the program imports.",
        name=one.name,
        prefix=one.seems,
    )
    fix = manual_fix(
        _("Name what is there in {source}, or start the program with the environment's own Python", source=one.source),
        _own_command(home, one),
    )
    return title, why, fix


def _no_command(home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of a line whose first word is no command."""
    title = _("{source} starts nothing: {name} is no command there.", source=one.source, name=one.name)
    if one.name in ("&&", "||"):
        why = _("Windows PowerShell refuses a script that has it; PowerShell 7 (pwsh) does not.")
        return title, why, manual_fix(_("Put each command in a line of its own in {source}", source=one.source))
    if one.name.startswith("-"):
        why = _("The line before it does not go on there, so the program does not get it.")
        sign = "`" if ".ps1:" in one.source.lower() else "^"
        fix = manual_fix(_("Let the line before {source} end with {sign}, and no blank", source=one.source, sign=sign))
        return title, why, fix
    if one.name.startswith('"'):
        why = _("PowerShell takes what stands between quotation marks for text, and refuses the whole script.")
        return title, why, manual_fix(_("Write & before it in {source}", source=one.source), f"& {one.name} ...")
    if " " in one.name and not one.name.startswith("'"):
        why = _("It is a program together with its arguments, where the name of the program alone is asked for.")
        return title, why, manual_fix(_("Write the arguments in a field of their own in {source}", source=one.source))
    name, equals, value = one.name.partition("=")
    if equals:
        why = _("Only shells of Linux take a variable before a command.")
        return (
            title,
            why,
            manual_fix(
                _("Set {name} in a line of its own before {source}", name=name, source=one.source),
                f'set "{name}={value}"' if ".ps1:" not in one.source.lower() else f"$env:{name} = '{value}'",
            ),
        )
    why = _(
        "No folder of PATH has a program of this name, and {prefix} has what the program imports.", prefix=one.seems
    )
    return title, why, manual_fix(_("Start the program with the environment's own Python"), _own_command(home, one))


def _not_exported(_home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of a variable that a script keeps to itself."""
    title = _(
        "{source} asks for the variable {name}, which {place} sets for the script alone.",
        source=one.source, name=one.name, place=one.program,
    )  # fmt: skip
    if one.misset and one.misset.form != "powershell":
        return title, no_effect(one.misset), manual_fix(*advice_on(one.misset))
    why = (
        no_effect(one.misset) if one.misset else _("A program gets what its shell exports. This one ends at this line.")
    )
    of_powershell = ".ps1:" in one.program.lower()
    line = f"$env:{one.name} = '...'" if of_powershell else f"export {one.name}=..."
    return title, why, manual_fix(_("Hand it on to the program in {place}", place=one.program), line)


def _own_command(home: EnvironmentView, one: StartedPython) -> str:
    """Return the command that starts the program with the environment's Python."""
    python = home.python.executable or f"{one.seems}/bin/python"
    option, module = ("-m", one.program[3:]) if one.program.startswith("-m ") else ("", one.program)
    return shell_command(python, option, module, of=shell_of(home.seen.machine.system))


def _owners(home: EnvironmentView, modules: Collection[str]) -> list[str]:
    """Return the distributions that have modules, as far as is known here."""
    return [next((d.name for d in home.python.distributions if module_of(d.name) == m), m) for m in modules]


ENDS: dict[str, End] = {
    **WINDOWS_ENDS,
    "folder not searched": End(_folder_not_searched, cause="python_environment_broken"),
    "variable not read": End(_variable_not_read, cause="python_environment_broken"),
    "pth files not read": End(_pth_files_not_read, cause="python_environment_broken"),
    "line without effect": End(_line_without_effect, everywhere=True),
    "not in this folder": End(_not_in_this_folder),
    "not of this account": End(_not_of_this_account),
    "no source": End(_no_source, everywhere=True),
    "activation ends": End(_activation_ends, cause="wrong_environment_active", everywhere=True),
    "no shell": End(_no_shell, everywhere=True),
    "no conda": End(_no_conda, everywhere=True),
    "percent": End(_percent, everywhere=True),
    "exits": End(_exits),
    "no command": End(_no_command),
    "not exported": End(_not_exported),
    "own packages": End(_own_packages, cause="wrong_environment_active", everywhere=True),
    "program not there": End(_program_not_there, everywhere=True),
    "not searched": End(_not_searched, everywhere=True),
    "tool not in PATH": End(_tool_not_in_path, everywhere=True),
    "variable not set": End(_variable_not_set, everywhere=True),
    "misnamed file": End(_misnamed_file),
    "place not expanded": End(_place_not_expanded, cause="variable_value_wrong"),
    "file refused": End(_file_refused, cause="variable_value_wrong"),
}
"""Fault of a start that leads to the right Python -> what is told of it."""
