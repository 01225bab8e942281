"""``python -m tests.installer.windows_clicked FOLDER``: Setup.exe and uninstall.exe answered by mouse and keyboard on this Windows.

FOLDER holds trial.json, which names the Setup.exe of this and of an older version. Each line that is printed is one
run: what was asked, what was pressed, and the exit status.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import winreg
from collections.abc import Iterator, Mapping
from ctypes import wintypes
from pathlib import Path
from types import TracebackType

assert sys.platform == "win32"
# ruff: noqa: E402 - type checkers on Linux stop at the assertion; what follows is known on Windows alone

from installer.by_hand import by_hand
from tests.installer.windows_machine import (
    difference,
    fresh,
    held,
    run,
    run_silently,
    state,
    tree,
    until,
    windows,
)

MINE = Path(os.environ["LOCALAPPDATA"], "Programs", "Convalesce")
EVERYBODYS = Path(os.environ["PROGRAMFILES"], "Convalesce")
FOREIGN = Path(os.environ["SYSTEMDRIVE"] + "\\", "Zoë 猫", "Convalesce")
PATIENCE = 180
USER32 = ctypes.WinDLL("user32")
USER32.SendMessageW.argtypes = (wintypes.HWND, wintypes.UINT, wintypes.WPARAM, ctypes.c_void_p)
GET_TEXT, BUTTON_STATE = 0x000D, 0x00F0
MOUSE_DOWN, MOUSE_UP, KEY_UP = 2, 4, 2
ALT, CONTROL = 0x12, 0x11


class Input(ctypes.Structure):
    """A keystroke of SendInput: INPUT with a KEYBDINPUT, padded to the union's size."""

    _fields_ = (
        ("type", wintypes.DWORD),
        ("before_the_union", wintypes.DWORD),
        ("key", wintypes.WORD),
        ("scan", wintypes.WORD),
        ("flags", wintypes.DWORD),
        ("time", wintypes.DWORD),
        ("extra", ctypes.c_size_t),
        ("padding", ctypes.c_byte * 8),
    )


class Hand:
    """A person at a program's windows: knows what is visible, presses it, and waits for what comes."""

    def __init__(self, program: Path, arguments: str = "") -> None:
        self.program = program
        none = subprocess.DEVNULL
        self.process = subprocess.Popen(
            f'"{program}" {arguments}', env=fresh(), stdin=none, stdout=none, stderr=none, cwd=program.anchor
        )

    def __enter__(self) -> Hand:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            print(f"seen at the end: {self.texts()}", flush=True)
            self.process.kill()

    def controls(self) -> Iterator[tuple[int, str]]:
        """Yield every visible control of the program's windows: its handle and its text; the foremost window first."""
        for top, title in windows(self.program):
            found = [(top, title)]
            prototype = ctypes.WINFUNCTYPE(wintypes.BOOL, wintypes.HWND, wintypes.LPARAM)

            def look(window: int, _: int, found: list[tuple[int, str]] = found) -> bool:
                if USER32.IsWindowVisible(wintypes.HWND(window)):
                    found.append((window, text_of(window)))
                return True

            USER32.EnumChildWindows(wintypes.HWND(top), prototype(look), 0)
            yield from found

    def texts(self) -> list[str]:
        """Return what can be read."""
        return [text for _window, text in self.controls() if text]

    def control(self, text: str) -> int:
        """Return the enabled control that says this; 0 for none."""
        found = (w for w, t in self.controls() if t.replace("&", "").startswith(text))
        return next((w for w in found if USER32.IsWindowEnabled(wintypes.HWND(w))), 0)

    def reads(self, text: str) -> None:
        """Wait until a text can be read somewhere."""
        until(f"{text!r} among {self.texts()}", lambda: any(text in t for t in self.texts()), PATIENCE)

    def press(self, text: str) -> None:
        """Click what says this with the mouse, as soon as it is there."""
        until(f"{text!r} among {self.texts()}", lambda: self.control(text), PATIENCE)
        window = self.control(text)
        place = wintypes.RECT()
        USER32.GetWindowRect(wintypes.HWND(window), ctypes.byref(place))
        USER32.SetCursorPos(place.left + min(20, (place.right - place.left) // 2), (place.top + place.bottom) // 2)
        USER32.mouse_event(MOUSE_DOWN, 0, 0, 0, 0)
        USER32.mouse_event(MOUSE_UP, 0, 0, 0, 0)

    def choose(self, text: str, chosen: bool = True) -> None:
        """Click a box or a choice until it is as wanted."""
        until(f"{text!r} among {self.texts()}", lambda: self.control(text), PATIENCE)
        if self.is_chosen(text) != chosen:
            self.press(text)
        until(f"{text!r} to be {chosen}", lambda: self.is_chosen(text) == chosen)

    def is_chosen(self, text: str) -> bool:
        """Whether a box is ticked."""
        return bool(USER32.SendMessageW(self.control(text), BUTTON_STATE, 0, None))

    def key(self, key: int, *held_down: int) -> None:
        """Press a key while others are held down."""
        for k in (*held_down, key):
            USER32.keybd_event(k, 0, 0, 0)
        for k in (key, *reversed(held_down)):
            USER32.keybd_event(k, 0, KEY_UP, 0)

    def write(self, text: str) -> None:
        """Type over what has the keyboard, letter by letter."""
        self.key(ord("A"), CONTROL)
        for unit in memoryview(text.encode("utf-16-le")).cast("H"):
            for flags in (4, 4 | KEY_UP):
                stroke = Input(type=1, scan=unit, flags=flags)
                assert USER32.SendInput(1, ctypes.byref(stroke), ctypes.sizeof(stroke)) == 1

    def end(self) -> int:
        """Wait for the program's end; return its exit status."""
        return self.process.wait(PATIENCE)


def text_of(window: int) -> str:
    """Return a control's text, also another program's."""
    text = ctypes.create_unicode_buffer(4000)
    USER32.SendMessageW(window, GET_TEXT, 4000, ctypes.cast(text, ctypes.c_void_p))
    return text.value


def main(arguments: list[str]) -> int:
    """Answer every question in turn; an AssertionError names what is not right."""
    folder = Path(arguments[0])
    told = json.loads((folder / "trial.json").read_text(encoding="utf-8"))
    before = state()
    tried(folder, told)
    left = [d for d in difference(before, state()) if r"HKCU\Software\convalesce" not in d]
    assert not left, left
    say("nothing is left", "", 0)
    return 0


def tried(folder: Path, told: Mapping[str, str]) -> None:
    """Walk through every page and every question."""
    setup, older = folder / told["setup"], folder / told["older"]
    cancelled(setup)
    installed_by_keys(setup, told["version"])
    updated_while_open(setup)
    held_back(setup)
    run_older(older, setup, folder, told)
    second_copy(setup)
    occupied_and_foreign(setup)
    beside_an_msi(setup)
    removed_by_mouse()


def cancelled(setup: Path) -> None:
    """Leave at the licence, and say that it is meant."""
    with Hand(setup) as person:
        person.press("Cancel")
        person.reads("Are you sure")
        person.press("Yes")
        say("Setup, cancelled at the licence", "Cancel, Yes", person.end())
    assert not MINE.exists()


def installed_by_keys(setup: Path, version: str) -> None:
    """Install for one person by the keyboard alone, with the folder on PATH; a new prompt knows the command."""
    path = user_path()
    with Hand(setup) as person:
        person.reads("I &Agree")
        person.key(ord("A"), ALT)
        person.reads("Who will use")
        person.key(ord("K"), ALT)
        until("the box", lambda: person.is_chosen("Let every new prompt"))
        person.key(ord("N"), ALT)
        person.reads("Destination Folder")
        person.key(ord("I"), ALT)
        person.reads("Start now")
        person.key(ord("S"), ALT)
        until("the box", lambda: not person.is_chosen("Start now"))
        person.key(ord("F"), ALT)
        status = person.end()
    assert status == 0, status
    assert user_path() == (f"{path[0]};{MINE}" if path[0] else str(MINE), path[1] or winreg.REG_SZ), (path, user_path())
    done = run("cmd", "/d", "/c", "convalesce", "--version")
    assert done.stdout == f"convalesce {version}\n", done
    say(
        "Setup for one person, by the keyboard alone, with PATH; `convalesce` in a new prompt",
        "Alt+A, K, N, I, S, F",
        status,
    )


def updated_while_open(setup: Path) -> None:
    """Install over a copy whose window is open: it closes, and the new one is started at the end."""
    window = MINE / "convalesce-gui.exe"
    with subprocess.Popen([window], env=fresh()) as open_one:
        until("the window", lambda: windows(window), PATIENCE)
        with Hand(setup) as person:
            for button in ("I Agree", "Next", "Install"):
                person.press(button)
            person.reads("Start now")
            assert open_one.wait(PATIENCE) == 0
            person.press("Finish")
            status = person.end()
    until("the new window", lambda: windows(window), PATIENCE)
    close_all(window)
    say("Setup over a running copy: it closes, and the new one starts", "I Agree, Next, Install, Finish", status)
    assert status == 0


def held_back(setup: Path) -> None:
    """Install over a program that does not end: Setup says so, asks again, and gives up with the version before in place."""
    kept = tree(MINE)
    with held(MINE / "convalesce.exe"), Hand(setup) as person:
        for button in ("I Agree", "Next", "Install"):
            person.press(button)
        person.reads("is running and did not close")
        person.press("Retry")
        person.reads("is running and did not close")
        person.press("Cancel")
        person.press("Cancel") if person.control("Cancel") else person.press("Close")
        status = person.end()
    assert tree(MINE) == kept
    say("Setup over a program that does not end", "..., Retry, Cancel", status)


def run_older(older: Path, setup: Path, folder: Path, told: Mapping[str, str]) -> None:
    """Go back to an older version and forward again, silently: the whole of each is there, and PATH stays."""
    path = user_path()
    for program, is_older in ((older, True), (setup, False)):
        status = run_silently(program, "/S")
        assert status == 0, status
        assert (MINE / told["only_older"]).exists() == is_older
        assert user_path() == path
        say(f"{'Older' if is_older else 'This'} Setup over {'this' if is_older else 'the older'} version", "/S", status)
    wanted = tree(folder / told["frozen"])
    assert {n: d for n, d in tree(MINE).items() if n != "uninstall.exe"} == wanted


def second_copy(setup: Path) -> None:
    """Install for everybody beside the copy of one person: Setup names the other one, and goes on only if it is told to."""
    with Hand(setup) as person:
        person.press("I Agree")
        person.choose("Everybody on this computer")
        person.press("Next")
        person.reads(str(MINE))
        person.press("Cancel")
        person.reads("Who will use")
        assert not EVERYBODYS.exists()
        person.press("Next")
        person.press("OK")
        person.press("Install")
        person.choose("Start now", chosen=False)
        person.press("Finish")
        status = person.end()
    assert status == 0
    assert (MINE / "convalesce.exe").exists()
    assert (EVERYBODYS / "convalesce.exe").exists()
    say("Setup for everybody beside one person's copy: names its folder, and asks", "Cancel, then OK", status)


def occupied_and_foreign(setup: Path) -> None:
    """Name a folder that holds other files, and then one of foreign letters."""
    occupied = Path(os.environ["SYSTEMDRIVE"] + "\\", "occupied")
    occupied.mkdir()
    (occupied / "somebody's.txt").write_text("theirs")
    with Hand(setup, f"/D={occupied}") as person:
        for button in ("I Agree", "Next", "OK", "Install"):
            person.press(button)
        person.reads("This folder holds other files")
        person.press("OK")
        person.press("Cancel") if person.control("Cancel") else person.press("Close")
        status = person.end()
    assert [p.name for p in occupied.iterdir()] == ["somebody's.txt"]
    (occupied / "somebody's.txt").unlink()
    occupied.rmdir()
    say("Setup into a folder that holds other files", "..., OK", status)
    FOREIGN.parent.mkdir()
    with Hand(setup, "/ALLUSERS") as person:
        person.press("I Agree")
        person.press("Next")
        person.press("OK")
        person.reads("Destination Folder")
        person.press(str(EVERYBODYS))  # the field
        person.write(str(FOREIGN))
        person.reads(str(FOREIGN))
        person.press("Cancel")
        person.press("Yes")
        person.end()
    FOREIGN.parent.rmdir()
    say("A folder of foreign letters, typed into the field and read back", str(FOREIGN), 0)


def beside_an_msi(setup: Path) -> None:
    """Choose everybody where the MSI is said to have installed: the page stays."""
    with winreg.CreateKey(winreg.HKEY_LOCAL_MACHINE, r"Software\convalesce") as key:
        winreg.SetValueEx(key, "InstalledByMsi", 0, winreg.REG_SZ, str(EVERYBODYS))
    try:
        with Hand(setup) as person:
            person.press("I Agree")
            person.choose("Everybody on this computer")
            person.press("Next")
            person.reads("An MSI installed")
            person.press("OK")
            person.reads("Who will use")
            person.press("Cancel")
            person.press("Yes")
            status = person.end()
    finally:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, r"Software\convalesce", 0, winreg.KEY_ALL_ACCESS) as key:
            winreg.DeleteValue(key, "InstalledByMsi")
        winreg.DeleteKey(winreg.HKEY_LOCAL_MACHINE, r"Software\convalesce")
    say("Setup for everybody beside the MSI's copy: says so, and the page stays", "Next, OK, Cancel, Yes", status)


def removed_by_mouse() -> None:
    """Remove both copies by the listed command, one of them with its window open; PATH is as it was before."""
    window = MINE / "convalesce-gui.exe"
    removed("everybody's copy", EVERYBODYS)
    with subprocess.Popen([window], env=fresh()) as open_one:
        try:
            until("the window", lambda: windows(window), PATIENCE)
            removed("the other one while its window is open", MINE)
            assert open_one.wait(PATIENCE) == 0
        finally:
            open_one.kill()
    assert str(MINE) not in user_path()[0]


def removed(words: str, place: Path) -> None:
    """Remove a copy, and its history."""
    with Hand(place / "uninstall.exe", f"_?={place}") as person:
        person.reads("Nothing that you changed")
        person.choose("Remove the history")
        person.press("Next")
        person.press("Uninstall")
        person.press("Close")
        status = person.end()
    until("the end of the last file", lambda: not place.exists())
    say(f"Uninstall of {words}", "Remove the history, Next, Uninstall, Close", status)
    assert status == 0, status


def close_all(window: Path) -> None:
    """Close a program's windows, and wait for its end."""
    until("the window", lambda: windows(window), PATIENCE)
    for handle, _title in windows(window):
        USER32.PostMessageW(wintypes.HWND(handle), 0x10, 0, 0)
    until("its end", lambda: not windows(window), PATIENCE)


def user_path() -> tuple[str, int]:
    """Return the user's PATH and its kind; nothing where there is none."""
    try:
        with winreg.OpenKey(winreg.HKEY_CURRENT_USER, "Environment") as key:
            return winreg.QueryValueEx(key, "Path")
    except FileNotFoundError:
        return "", 0


def say(what: str, pressed: str, status: int) -> None:
    """Print one line of the table."""
    print(f"| {what} | {pressed} | {status} |", flush=True)


if __name__ == "__main__":
    sys.exit(main(by_hand(__doc__, "FOLDER/")))
