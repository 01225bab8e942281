"""What Windows reads from our executables: kind, version, manifest, icon; and whether every library is there."""

from __future__ import annotations

from pathlib import Path

import pefile

GUI, CONSOLE = 2, 3
"""IMAGE_SUBSYSTEM_WINDOWS_GUI starts without a console, IMAGE_SUBSYSTEM_WINDOWS_CUI with one (winnt.h)."""
ICON_GROUP, MANIFEST = 14, 24
OF_WINDOWS = (
    *(
        "advapi32",
        "authz",
        "bcrypt",
        "comctl32",
        "comdlg32",
        "crypt32",
        "d2d1",
        "d3d11",
        "d3d12",
        "d3d9",
        "dcomp",
        "dnsapi",
    ),
    *(
        "dwmapi",
        "dwrite",
        "dxgi",
        "gdi32",
        "icuuc",
        "imm32",
        "iphlpapi",
        "kernel32",
        "mpr",
        "ncrypt",
        "netapi32",
        "ntdll",
    ),
    *(
        "ole32",
        "oleaut32",
        "rpcrt4",
        "secur32",
        "setupapi",
        "shcore",
        "shell32",
        "shlwapi",
        "user32",
        "userenv",
        "uxtheme",
    ),
    *("uiautomationcore", "version", "winhttp", "winmm", "winspool.drv", "ws2_32", "wtsapi32", "ucrtbase", "opengl32"),
)
"""Libraries of every Windows 10 since 1903, beside the api-ms-win sets."""


def faults(frozen: Path, setup: Path, version: str) -> list[str]:
    """Return one sentence for everything that is not as it should be."""
    found = []
    programs = {frozen / "convalesce.exe": CONSOLE, frozen / "convalesce-gui.exe": GUI, setup: GUI}
    for file, kind in programs.items():
        machines = ("AMD64",) if file != setup else ("AMD64", "I386")  # most NSIS make 32 bits alone
        found += [f"{file.name}: {words}" for words in _described(file, kind, machines, version)]
    return found + list(_missing(frozen))


def _described(file: Path, kind: int, machines: tuple[str, ...], version: str) -> list[str]:
    with pefile.PE(str(file), fast_load=True) as image:
        image.parse_data_directories([pefile.DIRECTORY_ENTRY["IMAGE_DIRECTORY_ENTRY_RESOURCE"]])
        resources = {entry.id: entry for entry in image.DIRECTORY_ENTRY_RESOURCE.entries}
        texts = {
            k.decode(): v.decode()
            for t in image.FileInfo[0]
            for s in getattr(t, "StringTable", ())
            for k, v in s.entries.items()
        }
        place = resources[MANIFEST].directory.entries[0].directory.entries[0].data.struct
        manifest = image.get_data(place.OffsetToData, place.Size).decode()
        checks = {
            "is of the wrong kind": image.OPTIONAL_HEADER.Subsystem == kind,
            "is for another machine": pefile.MACHINE_TYPE[image.FILE_HEADER.Machine].rpartition("_")[2] in machines,
            "has no icon": ICON_GROUP in resources,
            f"says {texts}": (texts.get("ProductName"), texts.get("ProductVersion")) == ("Convalesce", version),
            f"has the manifest {manifest}": all(
                word in manifest for word in ("asInvoker", "PerMonitorV2", ">true</longPathAware>", "8e0f7a12")
            ),
        }
        return [words for words, right in checks.items() if not right]


def _missing(frozen: Path) -> list[str]:
    """Return the libraries that a file of ours imports and that are neither here nor part of Windows."""
    images = [f for f in frozen.rglob("*") if f.suffix.lower() in (".exe", ".dll", ".pyd")]
    here = {f.name.lower() for f in images}
    lacking = set()
    for file in images:
        with pefile.PE(str(file), fast_load=True) as image:
            image.parse_data_directories([pefile.DIRECTORY_ENTRY["IMAGE_DIRECTORY_ENTRY_IMPORT"]])
            for entry in getattr(image, "DIRECTORY_ENTRY_IMPORT", ()):
                name = entry.dll.decode().lower()
                known = name in here or name.startswith("api-ms-win-") or name.removesuffix(".dll") in OF_WINDOWS
                if not known:
                    lacking.add(f"{file.name} wants {name}")
    return sorted(lacking)
