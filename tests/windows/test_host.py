"""WindowsHost against Windows' own API: the registry, CreateEnvironmentBlock, windows, job objects."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import threading
import winreg
from collections.abc import Iterator
from ctypes import wintypes
from pathlib import Path

import pytest

from core.host import child
from core.host.child import ask_child
from core.host.windows.host import USER_KEY, WindowsHost
from core.model.facts import Variable
from tests.host.child_work import Asked, Said, chatter

assert sys.platform == "win32"

WINE = "WINEPREFIX" in os.environ
SCRATCH = r"Software\ConvalesceTest"

user32 = ctypes.WinDLL("user32", use_last_error=True)


@pytest.fixture
def scratch() -> Iterator[winreg.HKEYType]:
    """An empty key of the user's, taken away afterwards."""
    key = winreg.CreateKeyEx(winreg.HKEY_CURRENT_USER, SCRATCH, 0, winreg.KEY_ALL_ACCESS)
    with key:
        yield key
    winreg.DeleteKey(winreg.HKEY_CURRENT_USER, SCRATCH)


@pytest.fixture
def user_variables() -> Iterator[winreg.HKEYType]:
    """The user's real variables, put back afterwards."""
    with winreg.CreateKeyEx(winreg.HKEY_CURRENT_USER, USER_KEY, 0, winreg.KEY_ALL_ACCESS) as key:
        before = {n: (v, k) for n, v, k in (winreg.EnumValue(key, i) for i in range(winreg.QueryInfoKey(key)[1]))}
        yield key
        now = [winreg.EnumValue(key, i)[0] for i in range(winreg.QueryInfoKey(key)[1])]
        for name in now:
            winreg.DeleteValue(key, name)
        for name, (value, kind) in before.items():
            winreg.SetValueEx(key, name, 0, kind, value)


def test_registry_values_are_raw_and_of_their_kind(scratch: winreg.HKEYType) -> None:
    long = ";".join(f"C:\\folder {n}" for n in range(2000))
    for name, kind, value in (
        ("PATH", winreg.REG_EXPAND_SZ, "%USERPROFILE%\\bin;C:\\Zoë 猫"),
        ("CUDA_PATH", winreg.REG_SZ, "%ProgramFiles%\\CUDA"),
        ("LONG", winreg.REG_SZ, long),
        ("EMPTY", winreg.REG_SZ, ""),
        ("LIST", winreg.REG_MULTI_SZ, ["a", "b"]),
        ("BYTES", winreg.REG_BINARY, b"\x00\xff"),
        ("NUMBER", winreg.REG_DWORD, 7),
        ("", winreg.REG_SZ, "the default value"),
    ):
        winreg.SetValueEx(scratch, name, 0, kind, value)
    found = {v.name: v for v in WindowsHost(user_key=SCRATCH).variables() if v.source == f"HKCU\\{SCRATCH}"}
    assert found["PATH"] == Variable(
        name="PATH",
        value="%USERPROFILE%\\bin;C:\\Zoë 猫",
        scope="user",
        kind="REG_EXPAND_SZ",
        source=f"HKCU\\{SCRATCH}",
    )
    assert (found["CUDA_PATH"].value, found["CUDA_PATH"].kind) == ("%ProgramFiles%\\CUDA", "REG_SZ")
    assert found["LONG"].value == long
    assert found["EMPTY"].value == ""
    assert {n: found[n].kind for n in ("LIST", "BYTES", "NUMBER")} == {
        "LIST": "REG_MULTI_SZ",
        "BYTES": "REG_BINARY",
        "NUMBER": "REG_DWORD",
    }
    assert "" not in found


def test_a_user_without_variables_is_no_fault() -> None:
    host = WindowsHost(user_key=r"Software\ConvalesceTestThatIsNotThere")
    assert any(v.scope == "machine" for v in host.variables())
    assert "SystemRoot" in host.fresh_environment()


def environment_block() -> dict[str, str]:
    """What CreateEnvironmentBlock gives a new program of this user: Windows' own answer."""
    userenv, advapi32, kernel32 = ctypes.WinDLL("userenv"), ctypes.WinDLL("advapi32"), ctypes.WinDLL("kernel32")
    kernel32.GetCurrentProcess.restype = wintypes.HANDLE
    advapi32.OpenProcessToken.argtypes = (wintypes.HANDLE, wintypes.DWORD, ctypes.POINTER(wintypes.HANDLE))
    token, block = wintypes.HANDLE(), ctypes.c_void_p()
    assert advapi32.OpenProcessToken(kernel32.GetCurrentProcess(), 0x8 | 0x2 | 0x4, ctypes.byref(token))
    userenv.CreateEnvironmentBlock.argtypes = (ctypes.POINTER(ctypes.c_void_p), wintypes.HANDLE, wintypes.BOOL)
    assert userenv.CreateEnvironmentBlock(ctypes.byref(block), token, False)
    result, address = {}, block.value
    assert address is not None
    while text := ctypes.wstring_at(address):
        name, _, value = text[1:].partition("=")
        result[text[0] + name] = value
        address += 2 * (len(text) + 1)
    return result


def test_a_new_program_gets_what_windows_says(user_variables: winreg.HKEYType) -> None:
    for name, kind, value in (
        ("CONVALESCE_A", winreg.REG_SZ, "%OS%"),
        ("CONVALESCE_B", winreg.REG_EXPAND_SZ, "%OS%;%USERPROFILE%;%convalesce_a%;%NOT_THERE%"),
        ("Path", winreg.REG_EXPAND_SZ, "%USERPROFILE%\\bin;C:\\Zoë"),
    ):
        winreg.SetValueEx(user_variables, name, 0, kind, value)
    ours = {n.upper(): v for n, v in WindowsHost().fresh_environment().items()}
    theirs = {n.upper(): v for n, v in environment_block().items()}
    if WINE:  # its CreateEnvironmentBlock does not join PATH and supplies less at other steps; see Microsoft's
        for name in [n for n in theirs if n.startswith("WINE")]:
            del theirs[name]
        for name in ("PATH", "CONVALESCE_B", "PROGRAMDATA", "ALLUSERSPROFILE", "PUBLIC", "HOMESHARE"):
            theirs[name] = ours[name]
    assert ours["PATH"].endswith(f";{os.environ['USERPROFILE']}\\bin;C:\\Zoë")
    assert ours["CONVALESCE_B"] == f"Windows_NT;{os.environ['USERPROFILE']};%OS%;%NOT_THERE%"
    assert ours == theirs


def test_our_terminals_variables_do_not_reach_a_new_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONDA_PREFIX", "C:\\conda")
    monkeypatch.setenv("PATH", "C:\\conda;" + os.environ["PATH"])
    fresh = {n.upper(): v for n, v in WindowsHost().fresh_environment().items()}
    assert "CONDA_PREFIX" not in fresh
    assert "conda" not in fresh["PATH"]


def test_machine() -> None:
    machine = WindowsHost().machine()
    build = str(sys.getwindowsversion().build)
    assert machine.release.startswith(("Windows", "Microsoft Windows"))
    assert machine.kernel.startswith("10.0.")
    assert WINE or build in machine.kernel, "wine keeps its own build number beside the registry's"
    assert machine.home == os.environ["USERPROFILE"]
    assert machine.elevated in (True, False)
    assert (machine.libc, machine.wsl, machine.container) == ("", False, None)


class Window:
    """A top-level window in a thread of its own, which answers its messages or sleeps."""

    def __init__(self, *, answers: bool) -> None:
        self.heard: list[str] = []
        self._ready, self._end = threading.Event(), threading.Event()
        self._answers = answers
        self._thread = threading.Thread(target=self._live, daemon=True)

    def __enter__(self) -> Window:
        self._thread.start()
        assert self._ready.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        user32.PostThreadMessageW(self._thread.native_id, 0x12, 0, 0)  # WM_QUIT
        self._thread.join(60)
        assert not self._thread.is_alive()

    def _live(self) -> None:
        procedure = ctypes.WINFUNCTYPE(
            ctypes.c_ssize_t, wintypes.HWND, wintypes.UINT, wintypes.WPARAM, wintypes.LPARAM
        )(self._answer)
        user32.CreateWindowExW.restype = wintypes.HWND
        user32.SetWindowLongPtrW.argtypes = (wintypes.HWND, ctypes.c_int, ctypes.c_void_p)
        user32.DefWindowProcW.argtypes = (wintypes.HWND, wintypes.UINT, wintypes.WPARAM, wintypes.LPARAM)
        user32.DefWindowProcW.restype = ctypes.c_ssize_t
        window = user32.CreateWindowExW(0, "STATIC", "convalesce test", 0, 0, 0, 9, 9, None, None, None, None)
        user32.SetWindowLongPtrW(window, -4, ctypes.cast(procedure, ctypes.c_void_p))
        assert window, ctypes.get_last_error()
        self._ready.set()
        if self._answers:
            message = wintypes.MSG()
            while user32.GetMessageW(ctypes.byref(message), None, 0, 0) > 0:
                user32.DispatchMessageW(ctypes.byref(message))
        else:
            self._end.wait()
        user32.DestroyWindow(wintypes.HWND(window))

    def _answer(self, window: int, message: int, word: int, long: int) -> int:
        if message == 0x1A and long:  # WM_SETTINGCHANGE
            self.heard.append(ctypes.wstring_at(long))
        return int(user32.DefWindowProcW(window, message, word, long))


def test_windows_hear_of_a_change() -> None:
    with Window(answers=True) as window:
        assert WindowsHost().announce_environment(30)
        assert window.heard == ["Environment"]


def test_a_window_that_hangs_does_not_hold_us_up() -> None:
    with Window(answers=False):
        assert not WindowsHost().announce_environment(0.5)


def test_a_program_whose_dll_is_missing_ends_with_a_sentence_and_no_dialog(tmp_path: Path) -> None:
    image = Path(sys.executable).read_bytes()
    name = next(n for n in (b"msvcrt.dll", b"VCRUNTIME140.dll", b"vcruntime140.dll", b"KERNEL32.dll") if n in image)
    program = tmp_path / "program.exe"
    program.write_bytes(image.replace(name, b"zz" + name[2:]))
    done = WindowsHost().run([str(program)], timeout=60)
    assert done.ended == (
        "ended with code 0xC0000135 (STATUS_DLL_NOT_FOUND): a DLL that it needs at its start was not found"
    )


def test_bare_names_are_looked_up_on_the_given_path_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    shutil.copy(Path(os.environ["SYSTEMROOT"]) / "system32/cmd.exe", tmp_path / "here/convalesce-tool.exe")
    monkeypatch.chdir(tmp_path / "here")
    argv, base = ["convalesce-tool", "/c", "echo found"], {"SystemRoot": os.environ["SYSTEMROOT"]}
    for path in ("", ".", str(tmp_path), "relative"):
        done = WindowsHost().run(argv, timeout=60, env={**base, "PATH": path})
        assert done.ended.startswith("could not be started: "), path
    done = WindowsHost().run(argv, timeout=60, env={**base, "Path": f'C:\\no;"{tmp_path / "here"}"'})
    assert done.out.strip() == "found"


def test_a_windowed_program_can_ask_children_too(monkeypatch: pytest.MonkeyPatch) -> None:
    windowed = Path(child.child_command()[0]).with_name("pythonw.exe")
    assert windowed.is_file()
    monkeypatch.setattr(sys, "_base_executable", str(windowed))
    host = WindowsHost()
    got = ask_child(chatter, Asked(number=2), Said, host=host, env=host.fresh_environment(), timeout=60)
    assert (len(got.events), got.ended) == (2, "")
    assert got.output.count("from C\n") == 2


DISPLAY_KEY = r"SYSTEM\CurrentControlSet\Enum\PCI\VEN_10DE&DEV_2684&SUBSYS_00000000&REV_A1"


@pytest.mark.skipif(not WINE, reason="this part of the registry belongs to the system alone")
def test_display_adapters_of_the_registry() -> None:
    def add(instance: str, **values: str | list[str]) -> None:
        with winreg.CreateKeyEx(winreg.HKEY_LOCAL_MACHINE, rf"{DISPLAY_KEY}\{instance}") as key:
            for name, value in values.items():
                winreg.SetValueEx(
                    key, name, 0, winreg.REG_MULTI_SZ if isinstance(value, list) else winreg.REG_SZ, value
                )

    add(
        "4&1",
        ClassGUID="{4d36e968-e325-11ce-bfc1-08002be10318}",
        DeviceDesc="@oem4.inf,%nvidia_dev.2684%;NVIDIA GeForce RTX 4090",
        Service="nvlddmkm",
        LocationInformation="@System32\\drivers\\pci.sys,#65536;PCI bus %1, device %2, function %3;(1,0,0)",
    )
    add(
        "4&2",
        CompatibleIDs=["PCI\\VEN_10DE&CC_0302", "PCI\\CC_0302"],
        LocationInformation="PCI bus 2, device 0, function 0",
    )
    add("4&3", ClassGUID="{4d36e96c-e325-11ce-bfc1-08002be10318}", CompatibleIDs=["PCI\\CC_0403"])
    try:
        found = [d for d in WindowsHost().pci_devices() or () if d.vendor_id == "10de"]
    finally:
        for instance in ("4&1", "4&2", "4&3"):
            winreg.DeleteKey(winreg.HKEY_LOCAL_MACHINE, rf"{DISPLAY_KEY}\{instance}")
        winreg.DeleteKey(winreg.HKEY_LOCAL_MACHINE, DISPLAY_KEY)
    assert [(d.address, d.device_id, d.name, d.bound_driver) for d in found] == [
        ("0000:01:00.0", "2684", "NVIDIA GeForce RTX 4090", "nvlddmkm"),
        ("0000:02:00.0", "2684", "", ""),
    ]
