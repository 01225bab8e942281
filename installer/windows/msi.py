"""The MSI, for group policy and Intune: the frozen folder, for everybody, made by wixl (Debian's package of this name).

Every identifier follows from a name or a version, so that a package is recognised by those before and after it. The
upgrade code and our space of names never change.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from installer.by_hand import by_hand

UPGRADE = "{B0F3C7E2-3C2B-5E0B-9F62-6C6C1C2E7A41}"
SPACE = uuid.UUID("4d0e8f2b-6a43-5c7e-8d2f-0b7a3f5f1c90")
SCHEMA = "http://schemas.microsoft.com/wix/2006/wi"
WINDOW, TERMINAL = "convalesce-gui.exe", "convalesce.exe"
NEWER = "A newer Convalesce is installed. Remove it first if you want this one."
BESIDE = "Setup.exe installed Convalesce for everybody on this computer. Remove that one first."
OLD_WINDOWS = "Convalesce needs a 64-bit Windows."
VT_FILETIME = b"\x40\0\0\0"
"""Stands before a time in a summary (propidl.h)."""
FROM_1601 = 11_644_473_600
"""Seconds from the beginning of Windows' time to that of Unix."""
LONGEST_BUILD = 3600
SETUP_KEY = r"Software\Microsoft\Windows\CurrentVersion\Uninstall\Convalesce"
OWN_KEY = r"Software\convalesce"
APP_PATHS = r"Software\Microsoft\Windows\CurrentVersion\App Paths"


def make_msi(frozen: Path, icon: Path, target: Path, version: str) -> Path:
    """Pack the frozen folder into an MSI and return it."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "convalesce.wxs"
        source.write_bytes(ElementTree.tostring(package(frozen, icon, version), encoding="utf-8", xml_declaration=True))
        shutil.copy(icon, folder)
        (Path(folder) / "frozen").symlink_to(frozen.resolve())  # wixl takes relative paths alone
        subprocess.run([wixl(), "-a", "x64", "-o", target.resolve(), source.name], check=True, cwd=folder)
        _protect_history(target, Path(folder))
    _pin(target)
    return target


def _pin(msi: Path) -> None:
    """Replace what differs from run to run: two times, and the package's code, which then follows from the content."""
    told = subprocess.run(["msiinfo", "suminfo", msi], capture_output=True, text=True, check=True).stdout
    drawn = told.partition("UUID): ")[2].split()[0].encode()
    now, wanted = int(time.time()), int(os.environ.get("SOURCE_DATE_EPOCH", "0")) or int(time.time())
    place = (data := msi.read_bytes()).index(drawn)
    data = data.replace(drawn, bytes(len(drawn)))
    for second in re.findall(re.escape(VT_FILETIME) + b"(.{8})", data, re.DOTALL):
        if abs(_seconds(second) - now) < LONGEST_BUILD:
            data = data.replace(VT_FILETIME + second, VT_FILETIME + _file_time(wanted))
    code = guid(hashlib.sha256(data).hexdigest()).encode()
    msi.write_bytes(data[:place] + code + data[place + len(code) :])


def _seconds(file_time: bytes) -> float:
    return int(struct.unpack("<Q", file_time)[0]) / 10_000_000 - FROM_1601


def _file_time(seconds: int) -> bytes:
    return struct.pack("<Q", (seconds + FROM_1601) * 10_000_000)


def wixl() -> str:
    """Return the compiler, installed first where that may be done."""
    if not shutil.which("wixl"):
        import dev

        dev.system_packages({"wixl": "wixl", "msitools": "msibuild"})
    return "wixl"


def package(frozen: Path, icon: Path, version: str) -> ElementTree.Element:
    """Return the description that wixl compiles."""
    root = ElementTree.Element("Wix", xmlns=SCHEMA)
    product = _add(
        root, "Product", Id=guid(f"product {version}"), Name="Convalesce", Language="1033", Version=version,
        Manufacturer="The Convalesce project", UpgradeCode=UPGRADE,
    )  # fmt: skip
    _add(
        product, "Package", InstallerVersion="500", Compressed="yes", InstallScope="perMachine",
        Description=f"Convalesce {version}", Manufacturer="The Convalesce project",
    )  # fmt: skip
    _add(product, "MajorUpgrade", DowngradeErrorMessage=NEWER)
    sequence = _add(product, "InstallExecuteSequence")  # inside the transaction: what fails brings the old version back
    _add(sequence, "RemoveExistingProducts", After="InstallInitialize")
    _add(product, "Media", Id="1", Cabinet="convalesce.cab", EmbedCab="yes")
    _add(product, "Condition", Message=OLD_WINDOWS).text = "VersionNT64"
    beside = _add(product, "Property", Id="BESIDE")
    _add(
        beside,
        "RegistrySearch",
        Id="Beside",
        Root="HKLM",
        Key=SETUP_KEY,
        Name="InstallLocation",
        Type="raw",
        Win64="yes",
    )
    _add(product, "Condition", Message=BESIDE).text = "Installed OR NOT BESIDE"
    _add(product, "Icon", Id="convalesce.ico", SourceFile=icon.name)
    for name, value in (("ARPPRODUCTICON", "convalesce.ico"), ("ARPNOMODIFY", "1")):
        _add(product, "Property", Id=name, Value=value)
    target = _add(product, "Directory", Id="TARGETDIR", Name="SourceDir")
    programs = _add(target, "Directory", Id="ProgramFiles64Folder")
    home = _add(programs, "Directory", Id="INSTALLDIR", Name="Convalesce")
    menu = _add(target, "Directory", Id="ProgramMenuFolder")
    data = _add(target, "Directory", Id="CommonAppDataFolder")
    history = _add(data, "Directory", Id="HISTORY", Name="convalesce")
    kept = _add(history, "Directory", Id="KEPT", Name="kept")
    components = [*_files(home, frozen), _registered(menu), _history(history, "History"), _history(kept, "Kept")]
    feature = _add(product, "Feature", Id="All", Title="Convalesce", Level="1", Absent="disallow")
    for component in components:
        _add(feature, "ComponentRef", Id=component)
    return root


def guid(name: str) -> str:
    """Return the identifier of a thing of ours."""
    return f"{{{uuid.uuid5(SPACE, name)}}}".upper()


def _files(home: ElementTree.Element, frozen: Path) -> Iterator[str]:
    places = {Path(): home}
    for file in sorted((f for f in frozen.rglob("*") if f.is_file()), key=lambda f: f.relative_to(frozen).as_posix()):
        inside = file.relative_to(frozen)
        for folder in reversed(inside.parents):
            if folder not in places:
                place = _add(places[folder.parent], "Directory", Id=_id("d", folder), Name=folder.name)
                places[folder] = place
        component = _component(places[inside.parent], _id("c", inside))
        _add(
            component, "File", Id=_id("f", inside), Source=f"frozen/{inside.as_posix()}", Name=file.name, KeyPath="yes"
        )
        yield _id("c", inside)


def _registered(menu: ElementTree.Element) -> str:
    """Describe the Start menu's link and the commands that Windows' "Run" knows."""
    component = _component(menu, "Registered")
    _add(
        component,
        "Shortcut",
        Id="Link",
        Name="Convalesce",
        Target=f"[INSTALLDIR]{WINDOW}",
        WorkingDirectory="INSTALLDIR",
    )
    for program in (WINDOW, TERMINAL):
        key = rf"{APP_PATHS}\{program}"
        _add(component, "RegistryValue", Root="HKLM", Key=key, Type="string", Value=f"[INSTALLDIR]{program}")
    _add(
        component, "RegistryValue", Root="HKLM", Key=OWN_KEY, Name="InstalledByMsi", Type="string",
        Value="[INSTALLDIR]", KeyPath="yes",
    )  # fmt: skip
    return "Registered"


def _history(folder: ElementTree.Element, name: str) -> str:
    """Describe a folder of the machine's history: it goes only when it is empty."""
    component = _component(folder, name)
    _add(component, "CreateFolder")
    return name


def _component(parent: ElementTree.Element, name: str) -> ElementTree.Element:
    return _add(parent, "Component", Id=name, Guid=guid(name), Win64="yes")


def _protect_history(msi: Path, folder: Path) -> None:
    """Give the history's folders their access lists from the first instant on, as Setup.exe does (history.nsh)."""
    lists = dict(
        line.removeprefix("!define ").rstrip('"').split(' "')
        for line in (Path(__file__).parent / "history.nsh").read_text(encoding="utf-8").splitlines()
        if line.startswith("!define ")
    )
    rows = [("History", "HISTORY", lists["HISTORY_LIST"]), ("Kept", "KEPT", lists["BACKUPS_LIST"])]
    table = [
        "MsiLockPermissionsEx\tLockObject\tTable\tSDDLText\tCondition",
        "s72\ts72\ts32\ts0\tS255",
        "MsiLockPermissionsEx\tMsiLockPermissionsEx",
        *(f"{key}\t{place}\tCreateFolder\t{words}\t" for key, place, words in rows),
    ]
    file = folder / "MsiLockPermissionsEx.idt"
    file.write_text("\r\n".join(table) + "\r\n", encoding="ascii")
    subprocess.run(["msibuild", msi, "-i", file], check=True, env={**os.environ, "LC_ALL": "C"})


def _id(kind: str, path: Path) -> str:
    return f"{kind}{uuid.uuid5(SPACE, path.as_posix()).hex}"


def _add(parent: ElementTree.Element, tag: str, **attributes: str) -> ElementTree.Element:
    return ElementTree.SubElement(parent, tag, attributes)


def main(arguments: list[str]) -> int:
    """FROZEN ICON TARGET VERSION: pack a folder that was frozen elsewhere, on Windows for example."""
    frozen, icon, target, version = arguments
    make_msi(Path(frozen), Path(icon), Path(target), version)
    return 0


if __name__ == "__main__":
    sys.exit(main(by_hand(__doc__, "FROZEN/", "ICON", "TARGET", "VERSION")))
