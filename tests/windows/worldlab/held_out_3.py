r"""The third held-out set: how programs are started on Windows, and what PATH comes to. Committed before its first scan.

Written from public threads, by somebody who had read the reader of batch files and editors (core/probes/starting/windows.py) and no
rule. The oracle starts the same command with the same variables and in the same folder: under wine there is neither a service
manager nor a task scheduler.

Threads: CTranslate2 #623 and #1017 of dynet (CUDA's folder must be on PATH), vscode-python #10592 and #6429 and vscode #101950 (a DLL
that loads in one terminal and not in the other), textgen #6946 (PYTHONHOME of a batch file), stable-diffusion-webui #1359 and #1423
(a Python that is gone), chocolatey #156, rustup #261 and servy #4989 (PATH kept as REG_SZ), and the questions about NSSM and the
task scheduler that every such program's users ask: works in the prompt, not as a service.
"""

from __future__ import annotations

import os
import sys
import winreg
from collections.abc import Callable
from pathlib import Path

from tests.windows.faultlab.machine import HOME, Machine
from tests.windows.shortcut import shortcut
from tests.windows.worldlab.held_out_2 import (
    APPDATA,
    BLAS,
    CT2,
    ENVIRONMENT,
    HALF,
    IN_THE_WAY,
    ML,
    NOT_INHERITED,
    NUMPY,
    OLD_SITE,
    OTHER_PYTHON,
    PROJECT,
    REQUIREMENT,
    STARTS_CT2,
    STARTS_NUMPY,
    SYSTEM_PATH,
    VALUE,
    WRONG_ONE,
    another_environment,
    batch,
    cublas_toolkit,
    does,
    dumped,
    other_python,
    project,
    real,
    script,
    short_path,
    task,
    text,
    with_variables,
)
from tests.windows.worldlab.scenes import BIN, BROKEN, NOT_SEARCHED, Plant, Scene, spoilt

assert sys.platform == "win32"

SERVICES = r"SYSTEM\CurrentControlSet\Services"
RUN = r"Software\Microsoft\Windows\CurrentVersion\Run"
NSSM = r"C:\lab\nssm\win64\nssm.exe"
DESKTOP = Path(os.environ["USERPROFILE"]) / "Desktop"
MENU = APPDATA / "Microsoft\\Windows\\Start Menu\\Programs"
SETTINGS = APPDATA / "Code\\User\\settings.json"
OTHER_ONE = HOME / "tools\\Scripts\\python.exe"


def service(name: str, image: str, **rows: str | list[str]) -> Plant:
    """Install a service: its key, as the service manager keeps it."""
    return lambda m, _made: m.key(winreg.HKEY_LOCAL_MACHINE, rf"{SERVICES}\{name}", ImagePath=image, **rows)


def by_nssm(name: str, application: Path | str, parameters: str, **rows: str | list[str]) -> Plant:
    """Install a service with NSSM: the service is nssm.exe, and what it starts stands below Parameters."""

    def plant(m: Machine, _made: Path) -> None:
        m.key(winreg.HKEY_LOCAL_MACHINE, rf"{SERVICES}\{name}", ImagePath=NSSM)
        m.key(
            winreg.HKEY_LOCAL_MACHINE, rf"{SERVICES}\{name}\Parameters",
            Application=str(application), AppParameters=parameters, AppDirectory=str(PROJECT), **rows,
        )  # fmt: skip

    return plant


def at_logon(name: str, command: str) -> Plant:
    """Let a program start with the session."""

    def plant(m: Machine, _made: Path) -> None:
        with winreg.CreateKeyEx(winreg.HKEY_CURRENT_USER, RUN, 0, winreg.KEY_ALL_ACCESS) as opened:
            winreg.SetValueEx(opened, name, 0, winreg.REG_SZ, command)
        m.keys.append((winreg.HKEY_CURRENT_USER, RUN))

    return plant


def link(folder: Path, name: str, target: Path | str, arguments: str = "", where: Path | str = "") -> Plant:
    """Make a shortcut."""
    return text(folder / f"{name}.lnk", shortcut(str(target), arguments, str(where)))


def within(folder: Path, *words: str) -> Callable[[Path], list[str]]:
    """Return the start of a command in a folder of its own."""
    return lambda _site: ["cmd.exe", "/c", "cd", "/d", str(folder), "&&", *words]


def settings(**env: str) -> Plant:
    """Write VS Code's settings of the person."""
    return text(SETTINGS, dumped({"editor.fontSize": 14, "terminal.integrated.env.windows": env}))


def users_path(m: Machine, made: Path) -> None:
    """Let an installer keep the person's PATH as plain text: %CUDA_PATH% in it stays as it is."""
    short_path(m, made)
    m.path("%USERPROFILE%\\bin", "%CUDA_PATH%\\bin", scope="user", kind=winreg.REG_SZ)


def cut_short(m: Machine, made: Path) -> None:
    """Let setx cut PATH at 1024 characters, within the toolkit's folder."""
    short_path(m, made)
    m.path("C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUD")


def numpys(*plants: Plant) -> Callable[[Machine], Path]:
    """Return an environment with NumPy and CTranslate2, and what is wrong."""
    return spoilt(real("numpy-1.26", "ctranslate2"), *plants)


def ct2s(*plants: Plant) -> Callable[[Machine], Path]:
    """Return CTranslate2 with a toolkit, a program that uses it, and what is wrong."""
    return spoilt(cublas_toolkit, STARTS_CT2, *plants)


IN_PROJECT = PROJECT / "train.py"
ON_TOOLKIT = f"{BIN};{SYSTEM_PATH}"

HELD_OUT_3: tuple[Scene, ...] = (
    # services
    Scene("held3-nssm-path-of-its-own", "ctranslate2", (NOT_INHERITED, NOT_SEARCHED, VALUE), ct2s(by_nssm("Transcriber", ML, "train.py", AppEnvironmentExtra=["PYTHONUNBUFFERED=1", f"PATH={SYSTEM_PATH}"])), names="Transcriber", runs=with_variables(BLAS, PATH=SYSTEM_PATH), folder=HOME),
    Scene("held3-nssm-another-environment", "ctranslate2", (WRONG_ONE, REQUIREMENT), ct2s(another_environment, by_nssm("Transcriber", OTHER_ONE, str(IN_PROJECT))), names="tools", runs=within(PROJECT, str(OTHER_ONE), "-B", "train.py"), folder=HOME),
    Scene("held3-service-environment-old-packages", "numpy", (OTHER_PYTHON, IN_THE_WAY, VALUE), numpys(other_python, STARTS_NUMPY, service("Embedder", f'"{ML}" "{IN_PROJECT}"', Environment=[f"PYTHONPATH={OLD_SITE}"])), names=str(HOME / "old"), runs=with_variables(NUMPY, PYTHONPATH=str(OLD_SITE)), folder=HOME),
    # scheduled tasks
    Scene("held3-task-of-a-batch-file", "ctranslate2", (NOT_INHERITED, NOT_SEARCHED, VALUE), ct2s(project("jobs\\nightly.bat", f"@echo off\ncd /d {PROJECT}\nset PATH={SYSTEM_PATH}\n{ML} train.py\n"), task("Nightly", "cmd.exe", f"/c {PROJECT}\\jobs\\nightly.bat")), names="nightly.bat", runs=batch("jobs\\nightly.bat"), folder=HOME),
    Scene("held3-task-of-a-python-that-is-gone", "ctranslate2", (ENVIRONMENT, WRONG_ONE), ct2s(task("Report", f"{HOME}\\before\\Scripts\\python.exe", "train.py", str(PROJECT))), names="before", runs=lambda _s: [f"{HOME}\\before\\Scripts\\python.exe", "train.py"], folder=PROJECT),
    # shortcuts and what starts with the session
    Scene("held3-shortcut-in-a-folder-with-numpy", "numpy", (IN_THE_WAY,), numpys(project("main.py", NUMPY), project("numpy.py", "version = 1\n"), link(DESKTOP, "Train", ML, "main.py", PROJECT)), names="project\\numpy.py", runs=within(PROJECT, str(ML), "-B", "main.py"), folder=HOME),
    Scene("held3-shortcut-to-another-environment", "ctranslate2", (WRONG_ONE, REQUIREMENT), ct2s(another_environment, link(MENU, "Transcribe", OTHER_ONE, "train.py", PROJECT)), names="tools", runs=script(python=OTHER_ONE), folder=HOME),
    Scene("held3-run-key-another-environment", "ctranslate2", (WRONG_ONE, REQUIREMENT), ct2s(another_environment, at_logon("Tray", f'"{OTHER_ONE}" "{IN_PROJECT}"')), names="tools", runs=script(python=OTHER_ONE), folder=HOME),
    # batch files
    Scene("held3-batch-python-home", "numpy", (VALUE, ENVIRONMENT), numpys(STARTS_NUMPY, project("start_windows.bat", f"@echo off\nsetlocal\ncd /D \"%~dp0\"\nset PYTHONHOME=C:\\Python27\n\"{ML}\" train.py %*\n")), names="PYTHONHOME", runs=batch("start_windows.bat"), folder=PROJECT),
    Scene("held3-command-file-path-without-toolkit", "ctranslate2", (NOT_INHERITED, NOT_SEARCHED, VALUE), ct2s(project("start.cmd", f"@echo off\nset \"PATH=%~dp0bin;%SystemRoot%\\system32;%SystemRoot%\"\n\"{ML}\" -B train.py\n")), names="start.cmd", runs=batch("start.cmd"), folder=PROJECT),
    # PATH itself
    Scene("held3-users-path-as-plain-text", "ctranslate2", (NOT_SEARCHED, VALUE), ct2s(users_path), names="%CUDA_PATH%", runs=does(BLAS)),
    Scene("held3-path-cut-by-setx", "ctranslate2", (NOT_SEARCHED, VALUE), ct2s(cut_short), names="v12.4", runs=does(BLAS)),
    # the editor
    Scene("held3-vscode-terminal-path", "ctranslate2", (NOT_INHERITED, NOT_SEARCHED, VALUE), ct2s(settings(PATH=f"{HOME}\\tools;{SYSTEM_PATH}")), names="settings.json", runs=with_variables(BLAS, PATH=f"{HOME}\\tools;{SYSTEM_PATH}"), folder=PROJECT),
    Scene("held3-vscode-workspace-pythonpath", "numpy", (OTHER_PYTHON, IN_THE_WAY, VALUE, BROKEN, HALF), numpys(other_python, STARTS_NUMPY, project(".vscode\\settings.json", dumped({"terminal.integrated.env.windows": {"PYTHONPATH": str(OLD_SITE)}}))), names=str(HOME / "old"), runs=with_variables(NUMPY, PYTHONPATH=str(OLD_SITE)), folder=PROJECT),
    # healthy
    Scene("held3-healthy-nssm-with-the-toolkit", "ctranslate2", (), ct2s(by_nssm("Transcriber", ML, "train.py", AppEnvironmentExtra=[f"PATH={ON_TOOLKIT}"]), service("Spooler2", r"%SystemRoot%\System32\spoolsv2.exe")), runs=with_variables(BLAS, PATH=ON_TOOLKIT), folder=HOME),
    Scene("held3-healthy-task-of-another-environment", "ctranslate2", (), ct2s(another_environment, project("report.py", f"{NUMPY}\n"), task("Report", str(OTHER_ONE), "report.py", str(PROJECT))), runs=script("report.py", OTHER_ONE), folder=HOME),
    Scene("held3-healthy-shortcuts", "ctranslate2", (), ct2s(project("data.py", "rows = 3\n"), link(DESKTOP, "Train", ML, "train.py", PROJECT), link(MENU, "Notepad", r"C:\windows\system32\notepad.exe"), at_logon("Notes", r"C:\windows\notepad.exe /min")), runs=script(), folder=HOME),
    Scene("held3-healthy-batch-with-activation", "ctranslate2", (), ct2s(project("start.bat", f"@echo off\nsetlocal\nset \"PATH={HOME}\\tools;%PATH%\"\nif exist C:\\none set PATH=C:\\none\n\"{ML}\" -c \"{CT2}\"\n")), runs=batch("start.bat"), folder=PROJECT),
)  # fmt: skip
