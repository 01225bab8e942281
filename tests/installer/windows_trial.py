"""``python -m tests.installer.windows_trial FOLDER``: the artefacts in FOLDER, tried on this Windows from end to end.

FOLDER holds what ``python -m tests.installer.windows`` made: Setup.exe of this and of an older version, the portable zip,
the frozen folder itself, and the places of the stand-ins with which a fault is planted. Changes the user's registry and
folders, and compares them with what was there before.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

assert sys.platform == "win32"
# ruff: noqa: E402 - type checkers on Linux stop at the assertion; what follows is known on Windows alone

from core.host.windows.host import WindowsHost
from installer.by_hand import by_hand
from tests.installer import windows_msi
from tests.installer.windows_machine import (
    close,
    difference,
    free,
    fresh,
    held,
    run,
    run_silently,
    state,
    tree,
    until,
    windows,
)
from tests.windows.faultlab import layouts as at
from tests.windows.faultlab.machine import CUDNN, Machine, fingerprint

INSTALLED = Path(os.environ["LOCALAPPDATA"], "Programs", "Convalesce")
LINK = Path(os.environ["APPDATA"], "Microsoft/Windows/Start Menu/Programs/Convalesce.lnk")
PROMPT = LINK.with_name("Convalesce Prompt.lnk")
JOURNAL = Path(os.environ["LOCALAPPDATA"], "convalesce")
KEY = r"HKCU\Software\Microsoft\Windows\CurrentVersion\Uninstall\Convalesce"
COMMANDS = r"HKCU\Software\Microsoft\Windows\CurrentVersion\App Paths\convalesce"
MSI_IS_THERE = 1638
CAUSE = "cudnn_not_on_search_path"


def main(arguments: list[str]) -> int:
    """Try everything in turn; an AssertionError names what is not right."""
    folder = Path(arguments[0])
    told = json.loads((folder / "trial.json").read_text(encoding="utf-8"))
    before = state()
    older_and_its_update(folder, told, before)
    machine = Machine({"standins": told["standins"]})
    try:
        python = planted(machine)
        same_as_from_source(INSTALLED, python)
        entry = cured(INSTALLED, python)
        removed_with_its_changes(before, entry)
        everything_goes(folder, told, before)
        two_copies(folder, told)
        portable(folder, told, python)
        if "msi" in told:
            windows_msi.tried(folder, told)
    finally:
        machine.clean()
        shutil.rmtree(JOURNAL, ignore_errors=True)
    left = [line for line in difference(before, state()) if not _settings(line)]
    assert not left, left
    say("nothing is left")
    return 0


def say(text: str) -> None:
    print(f"trial: {text}", flush=True)


def older_and_its_update(folder: Path, told: Mapping[str, str], before: Mapping[str, object]) -> None:
    """Install an older version, start it from the Start menu, and install this one over the running one."""
    install(folder / told["older"])
    assert (INSTALLED / told["only_older"]).exists()
    window = INSTALLED / "convalesce-gui.exe"
    failed_update(folder / told["setup"])
    os.startfile(LINK)
    until("the window of the Start menu's link", lambda: windows(window))
    say(f"the Start menu's link shows the window {windows(window)[0][1]!r}")
    install(folder / told["setup"])
    assert not windows(window), "the old version still runs"
    wanted = {**tree(folder / told["frozen"]), "uninstall.exe": ""}
    got = {name: value if name != "uninstall.exe" else "" for name, value in tree(INSTALLED).items()}
    assert got == wanted, difference(wanted, got)
    values = {n.rpartition("\\")[2]: v for n, v in state().items() if n.startswith(KEY)}
    assert values["DisplayVersion"] == (told["version"], 1), values
    assert values["InstallLocation"] == (str(INSTALLED), 1)
    assert values["QuietUninstallString"] == (f'"{INSTALLED / "uninstall.exe"}" /S _?={INSTALLED}', 1)
    foreign = [d for d in difference(before, state()) if str(INSTALLED) not in d and not _settings(d)]
    parents = {
        f"+ {INSTALLED.parent}",
        f"+ {LINK}",
        f"+ {PROMPT}",
        *(f"+ {k.rpartition(chr(92))[0]}{chr(92)}" for k in (KEY, COMMANDS)),
    }
    assert {d for d in foreign if not d.startswith((f"+ {KEY}", f"+ {COMMANDS}"))} <= parents, foreign
    say(
        "updated over the running one; only its folder, its links, its commands and its entry among the programs are new"
    )


def failed_update(setup: Path) -> None:
    """Hold a file that the update wants to write: what was there before comes back."""
    before = tree(INSTALLED)
    with held(INSTALLED / "LICENSE.txt"):
        status = run_silently(setup, "/S")
    assert status == 2, status
    assert tree(INSTALLED) == before, difference(before, tree(INSTALLED))
    say("an update that fails half-way brings the older version back")


def install(setup: Path, *more: str) -> None:
    status = run_silently(setup, "/S", *more)
    assert status == 0, (setup.name, status)
    say(f"{setup.name} /S {' '.join(more)}")


def planted(machine: Machine) -> str:
    """Plant a cuDNN that no search path names; return the environment that wants it."""
    machine.driver()
    at.cuda_13(machine)
    at.onnxruntime(machine, "1.24.0", "ort-9-cuda13.dll")
    machine.place_all(machine.cudnn("cudnn-9.20.0"), CUDNN / "v9.20\\bin\\13.0")
    return machine.pythons[0]


def same_as_from_source(installed: Path, python: str) -> None:
    """Compare what the frozen program sees and concludes with what Python sees, running the same source."""
    programs = (
        [str(installed / "convalesce.exe")],
        [str(installed / "convalesce-gui.exe")],
        [sys.executable, "-m", "core"],
    )
    frozen, window, source = (scan(program, python) for program in programs)
    assert frozen["snapshot"]["loads"], "nothing was loaded"
    loads = [json.dumps(r["snapshot"]["loads"], indent=1, sort_keys=True) for r in (frozen, window, source)]
    verdicts = [[(f["id"], f["cause"], f["severity"]) for f in r["findings"]] for r in (frozen, window, source)]
    for name, seen, found in zip(("terminal", "window"), loads, verdicts, strict=False):
        assert seen == loads[2], (name, _first_difference(seen, loads[2]))
        assert found == verdicts[2], (name, found, verdicts[2])
    calls = sum(bool(load.get("roll_call")) for load in frozen["snapshot"]["loads"])
    say(f"{len(loads[0])} characters of search orders and {calls} roll calls are the same frozen as from source")


def scan(program: list[str], python: str) -> dict[str, Any]:
    done = run(*program, "scan", "--json", "--python", python)
    assert done.returncode in (0, 1, 5), done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert not report["snapshot"]["errors"], report["snapshot"]["errors"]
    return report


def cured(installed: Path, python: str) -> str:
    """Cure the planted fault with the installed program, see that it is gone, take it back, and cure it once more."""
    program = installed / "convalesce.exe"
    assert primary(scan([str(program)], python)) == CAUSE
    before = fingerprint()
    fixed(program, python)
    assert primary(scan([str(program)], python)) != CAUSE
    assert fingerprint() != before
    still = run(program, "undo", "--all")
    assert (still.returncode, "Nothing was changed." in still.stdout) == (4, True), still
    back = run(program, "undo", "--all", "--yes")
    assert back.returncode == 0, back
    assert fingerprint() == before, difference(before, fingerprint())
    assert primary(scan([str(program)], python)) == CAUSE
    say(f"{CAUSE}: found, cured, verified and taken back by the installed program")
    return fixed(program, python)


def fixed(program: Path, python: str) -> str:
    done = run(program, "fix", "--yes", "--json", "--python", python)
    (line,) = json.loads(done.stdout)["fixes"]
    assert (line["cause"], line["works"], line["outcome"]) == (CAUSE, True, "done"), line
    return str(line["entry"])


def primary(report: Mapping[str, Any]) -> str:
    return next((str(f["cause"]) for f in report["findings"] if f["primary"]), "")


def removed_with_its_changes(before: Mapping[str, object], entry: str) -> None:
    """Uninstall with /UNDO: the change is taken back, and only the journal stays."""
    uninstall("/UNDO")
    left = difference(before, state())
    journal = {line for line in left if line.startswith(f"+ {JOURNAL}")}
    assert any(entry in line for line in journal), left
    assert not [d for d in left if d not in journal and not _planted(d) and not _earlier_settings(d)], left
    say("uninstalled with /UNDO: the change is taken back, and only the journal is left")


def everything_goes(folder: Path, told: Mapping[str, str], before: Mapping[str, object]) -> None:
    """Install again, uninstall with /REMOVEHISTORY: nothing is left."""
    install(folder / told["setup"], "/DESKTOP")
    assert Path(os.environ["USERPROFILE"], "Desktop", "Convalesce.lnk").exists()
    uninstall("/REMOVEHISTORY")
    install(folder / told["setup"], "/ALLUSERS")
    everybodys = Path(os.environ["PROGRAMFILES"], "Convalesce")
    assert Path(os.environ["PROGRAMDATA"], "convalesce", "kept").is_dir(), "the machine's history has its folder"
    assert run(everybodys / "convalesce.exe", "--version").stdout == f"convalesce {told['version']}\n"
    by_name = run("cmd", "/d", "/c", "start", "/b", "/wait", "convalesce.exe", "undo", "--list")
    assert by_name.returncode == 0, by_name
    say("the command is found by its name alone (App Paths)")
    with held(everybodys / "convalesce.exe"):
        assert uninstalled_as_listed(everybodys) == 32, "a program that runs"
    assert (everybodys / "convalesce.exe").exists()
    assert uninstalled_as_listed(everybodys) == 0
    last: set[str] = set()
    with suppress(FileNotFoundError):  # the folder may go while it is read
        last = {file.name for file in everybodys.rglob("*")}
    assert last <= {"uninstall.exe"}, f"it answered before all was done: {last}"
    until("the end of the last file", lambda: not everybodys.exists())
    say("the list of programs' own command waits, and answers 32 and 0")
    left = [d for d in difference(before, state()) if not _planted(d) and not _earlier_settings(d)]
    assert not left, left
    say("uninstalled with /REMOVEHISTORY, and another one for all users: registry and folders are as before")


def uninstalled_as_listed(place: Path) -> int:
    """Run the command of Windows' list of programs to its end; return its status."""
    none = subprocess.DEVNULL
    command = f'"{place / "uninstall.exe"}" /S _?={place}'  # as it stands there: without quotes behind the sign
    return subprocess.run(
        command, env=fresh(), stdin=none, stdout=none, stderr=none, timeout=300, check=False
    ).returncode


def uninstall(*options: str) -> None:
    program = INSTALLED / "uninstall.exe"
    run_silently(program, "/S", *options)  # a copy of it goes on, since no program can remove itself
    until("the end of uninstall.exe", lambda: not INSTALLED.exists() and not LINK.exists())
    # behind the folder and the link it takes its settings out of the registry
    copies = [*Path(fresh()["TEMP"]).glob("~nsu*/*.exe")]
    until("the end of its copy", lambda: all(map(has_ended, copies)))


def has_ended(program: Path) -> bool:
    """Whether a program does not run: Windows lets nobody write to the file of one that does."""
    try:
        program.open("r+b").close()
    except PermissionError:
        return False
    except FileNotFoundError:
        pass
    return True


def two_copies(folder: Path, told: Mapping[str, str]) -> None:
    """One for everybody and one for this person in a folder of foreign letters: both work, and each goes by itself."""
    before = state()
    place = Path(os.environ["SYSTEMDRIVE"] + "\\", "Zoë 猫", "Convalesce")
    place.parent.mkdir(exist_ok=True)
    everybodys = Path(os.environ["PROGRAMFILES"], "Convalesce")
    install(folder / told["setup"], "/ALLUSERS")
    status = subprocess.run(
        f'"{folder / told["setup"]}" /S /D={place}', env=fresh(), timeout=300, check=False
    ).returncode
    assert status == 0, status
    for copy in (place, everybodys):
        assert run(copy / "convalesce.exe", "--version").stdout == f"convalesce {told['version']}\n", copy
    done = run(place / "convalesce.exe", "scan", "--json", "--only", "environment")
    assert json.loads(done.stdout)["version"] == told["version"], done.stderr
    assert uninstalled_as_listed(place) == 0
    until("the end of the first copy", lambda: not place.exists())
    assert run(everybodys / "convalesce.exe", "--version").returncode == 0, "the other copy went with it"
    assert uninstalled_as_listed(everybodys) == 0
    until("the end of the second copy", lambda: not everybodys.exists())
    place.parent.rmdir()
    left = [d for d in difference(before, state()) if not _settings(d)]
    assert not left, left
    say("two copies, one below 'Zoë 猫': both work, each is removed by itself, nothing is left")


def portable(folder: Path, told: Mapping[str, str], python: str) -> None:
    """Unpack the zip: it works, and it writes nothing outside its folder and the journal."""
    place = Path(os.environ["SYSTEMDRIVE"] + "\\", "stick")
    shutil.rmtree(place, ignore_errors=True)
    before = state()
    with zipfile.ZipFile(folder / told["portable"]) as archive:
        archive.extractall(place)
    program = place / "Convalesce"
    fixed(program / "convalesce.exe", python)
    assert run(program / "convalesce.exe", "undo", "--all", "--yes").returncode == 0
    with subprocess.Popen([program / "convalesce-gui.exe"], env=fresh()) as process:
        until("the portable program's window", lambda: windows(program / "convalesce-gui.exe"))
        close(windows(program / "convalesce-gui.exe")[0][0])
        assert process.wait(60) == 0
    until("the end of its children", lambda: free(program / "convalesce-gui.exe"))
    assert (program / "settings.ini").exists(), "no settings in its folder"
    outside = [d for d in difference(before, state()) if not d.startswith(f"+ {JOURNAL}")]
    assert not outside, outside
    shutil.rmtree(place)
    say("the portable program wrote nothing outside its folder and the journal")


def _planted(line: str) -> bool:
    """Whether a difference is the planted fault itself."""
    return any(part in line for part in ("NVIDIA", "CUDA_PATH", r"Session Manager\Environment"))


def _settings(line: str) -> bool:
    return r"HKCU\Software\convalesce" in line


def _earlier_settings(line: str) -> bool:
    """Whether settings are gone that were there before the trial: an uninstaller takes them away."""
    return line.startswith("- ") and _settings(line)


def _first_difference(one: str, two: str) -> list[tuple[str, str]]:
    pairs = zip(one.splitlines(), two.splitlines(), strict=False)
    return [pair for pair in pairs if pair[0] != pair[1]][:5]


if __name__ == "__main__":
    WindowsHost()
    sys.exit(main(by_hand(__doc__, "FOLDER/")))
