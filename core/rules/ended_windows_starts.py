"""Starts that end by what cmd.exe, PowerShell or the code page makes of a file."""

from __future__ import annotations

from core.common.i18n import _
from core.common.shell import quote
from core.model.facts import Start, StartedPython
from core.rules.frameworks.environment_view import EnvironmentView
from core.rules.start_end import End, Told
from core.rules.wording import manual_fix


def _without_call(_home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of a batch file that another one replaces."""
    title = _("{source} ends this file: the lines after it do not run.", source=one.source)
    why = _('A batch file that starts another one without "call" does not continue afterwards.')
    fix = manual_fix(_('Write "call" in front of the command in {source}', source=one.source))
    return title, why, fix


def _not_in_code_page(_home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of output that goes into a file in the code page."""
    title = _(
        "{program} prints {letter}, which the output of {source} cannot have: it is in {encoding}.",
        program=one.program,
        letter=repr(one.name),
        source=one.source,
        encoding=one.command,
    )
    why = _(
        "Python writes into a file or a pipe in the code page of Windows, and only to a window in UTF-8. The program ends with UnicodeEncodeError."
    )
    fix = manual_fix(
        _("Let Python write UTF-8: put this line before it in {file}", file=one.source.rpartition(":")[0]),
        "set PYTHONUTF8=1",
    )
    return title, why, fix


def _file_not_in_code_page(_home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of a file that is opened without an encoding."""
    title = _(
        "{source} opens {file} in {encoding}, in which it cannot be read.",
        source=one.source,
        file=one.program,
        encoding=one.command,
    )
    if one.command.startswith("utf-8"):
        why = _(
            "The file is in another encoding, such as a code page of Windows, and nothing says so. The program ends with UnicodeDecodeError."
        )
        fix = manual_fix(
            _("Save the file as UTF-8"),
            _('Or write its encoding into the call in {source}, such as encoding="cp1252".', source=one.source),
        )
        return title, why, fix
    why = _(
        "Without an encoding Python opens text in the code page of Windows, and the file is UTF-8. The program ends with UnicodeDecodeError."
    )
    fix = manual_fix(
        _('Write encoding="utf-8" into the call in {source}', source=one.source),
        _("Or set the variable PYTHONUTF8 to 1, in which case Python opens every text in UTF-8."),
    )
    return title, why, fix


def _moved_by_onedrive(_home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of a file that is opened where OneDrive has taken its folder away."""
    words = {"source": one.source, "file": one.name, "other": one.program}
    title = _("{source} opens {file}, which is not there: it is {other}.", **words)
    why = _("OneDrive keeps Desktop, Documents and Pictures in its own folder, once it backs them up.")
    fix = manual_fix(
        _("Write {other} in {source}", **words),
        _("Or end the backup of this folder in OneDrive's settings, Sync and backup."),
    )
    return title, why, fix


def _not_of_windows(_home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of a variable that Linux has and Windows has not."""
    title = _("{source} asks for the variable {name}, which Windows does not set.", source=one.source, name=one.name)
    why = _("Linux and macOS give it to every program. This one ends with KeyError.")
    value = "%USERPROFILE%" if one.name == "HOME" else "%USERNAME%"
    fix = manual_fix(
        _("Set {name} for your account, and open a new window", name=one.name), f'setx {one.name} "{value}"'
    )
    return title, why, fix


def _batch_in_utf_8(_home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of a batch file whose letters cmd.exe takes for others."""
    title = _("cmd.exe does not find {path}, which {file} names in UTF-8.", path=one.name, file=one.source)
    why = _("It reads a batch file in the console's code page, in which these bytes are other letters.")
    return title, why, manual_fix(_("Put this line before it in {file}", file=one.source), "chcp 65001 >nul")


def _blank(_home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of a path that cmd.exe ends at a blank."""
    title = _("{source} names {path} without quotation marks.", source=one.source, path=one.program)
    why = _("A blank ends the name of a file, so {name} is looked for, which is not there.", name=one.name)
    fix = manual_fix(_("Put quotation marks around this path in {source}", source=one.source), f'"{one.program}"')
    return title, why, fix


def _not_read(_home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of a batch file in UTF-16."""
    title = _("{source} is in UTF-16, which cmd.exe does not read: nothing in it runs.", source=one.source)
    why = _("Windows PowerShell writes such files with > and Out-File.")
    file = quote(one.source, "powershell")
    fix = manual_fix(
        _("Save {source} as ANSI or UTF-8 without a byte order mark", source=one.source),
        f"(Get-Content {file}) | Set-Content -Encoding ascii {file}",
    )
    return title, why, fix


def _policy(_home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of a script that PowerShell refuses."""
    goes_on = one.name.lower().endswith("activate.ps1")  # and starts another Python
    title = _("{name} does not run: PowerShell's execution policy refuses scripts.", name=one.name)
    why = _(
        "The policy is Restricted, as it is on Windows unless somebody changes it, and this start does not pass it by."
    )
    fix = manual_fix(
        _("Start it with -ExecutionPolicy Bypass, or allow this person's scripts"),
        "" if goes_on else f'powershell -ExecutionPolicy Bypass -File "{one.name}"',
        "Set-ExecutionPolicy -Scope CurrentUser RemoteSigned",
    )
    return title, why, fix


def _in_a_block(_home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of a variable that is read before the block around it sets it."""
    title = _("{source} starts nothing: {name} has not its value there yet.", source=one.source, name=f"%{one.name}%")
    why = _("cmd.exe reads a block in brackets as a whole, and puts in what its variables are before the block.")
    fix = manual_fix(
        _("Set {name} before the block, or write {late}", name=one.name, late=f"!{one.name}!"),
        "setlocal EnableDelayedExpansion",
    )
    return title, why, fix


def _title(_home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of a program that ``start`` takes for a title."""
    title = _(
        "{source} does not start {name}: start takes it for the title of a window.", source=one.source, name=one.name
    )
    why = _("The first word in quotation marks behind start is a title, and Windows opens what stands behind it.")
    return title, why, manual_fix(_('Write start "" in front of the program'), f'start "" "{one.name}" ...')


def _bracket(_home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of a value that ends a block."""
    name = f"%{one.name}%"
    title = _(
        "cmd.exe gives the file up at {source}: a bracket in {name} ends the block there.", source=one.source, name=name
    )
    why = _("It puts in the value, and says that what follows the bracket was unexpected. Nothing behind it runs.")
    fix = manual_fix(
        _("Put the assignment between quotation marks in {source}", source=one.source), f'set "{one.name}={name};..."'
    )
    return title, why, fix


def _itself(_home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of a batch file that starts itself."""
    title = _("{source} starts this file again, and not {path}.", source=one.source, path=one.path)
    why = _("cmd.exe looks for {name} in the current folder first, and this file has that name.", name=one.name)
    return title, why, manual_fix(_("Rename the file"))


def _marks(_home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of a command of which ``cmd /c`` takes quotation marks away."""
    title = _(
        "{source} does not start {name}: cmd /c takes its quotation marks away.", source=one.source, name=one.name
    )
    why = _("Of more than two it takes the first and the last, and then a blank ends the name of the program.")
    return title, why, manual_fix(_("Put one more pair around the whole command"), 'cmd /c ""..." "...""')


def _no_console(_home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of a stream that a program without a console has not."""
    title = _("{source} uses {name}, which is None without a console.", source=one.source, name=one.name)
    why = _(
        "pythonw and files with the ending .pyw have none. The program ends with AttributeError, and nobody sees it."
    )
    fix = manual_fix(
        _("Start it with python.exe, or put this before the imports of {program}", program=one.program),
        "import os, sys; sys.stdout = sys.stderr = open(os.devnull, 'w')",
    )
    return title, why, fix


def _no_service(_home: EnvironmentView, _start: Start, one: StartedPython) -> Told:
    """Return what is told of a program that Windows starts as a service."""
    title = _("Windows ends {name} after 30 seconds: it does not answer as a service.", name=one.name)
    why = _("{source} starts Python itself, and the service manager reports error 1053.", source=one.source)
    fix = manual_fix(
        _("Let NSSM or WinSW start it, or make it a task that begins with Windows"),
        f'nssm install NAME "{one.path}" "{one.program}"',
    )
    return title, why, fix


WINDOWS_ENDS: dict[str, End] = {
    "without call": End(_without_call),
    "batch in UTF-8": End(_batch_in_utf_8, cause="install_path_characters", everywhere=True),
    "blank": End(_blank, cause="install_path_characters"),
    "block": End(_in_a_block),
    "bracket": End(_bracket),
    "itself": End(_itself),
    "marks": End(_marks),
    "no console": End(_no_console),
    "no service": End(_no_service),
    "title": End(_title),
    "not read": End(_not_read),
    "policy": End(_policy),
    "not in code page": End(_not_in_code_page),
    "file not in code page": End(_file_not_in_code_page),
    "moved by OneDrive": End(_moved_by_onedrive),
    "not of Windows": End(_not_of_windows, cause="variable_value_wrong"),
}
"""Fault of a start on Windows -> what is told of it."""
