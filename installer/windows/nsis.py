"""Setup.exe: what makensis gets to know, and the list of files in an order that no file system decides."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
DEBIAN = "nsis"


def make_setup(frozen: Path, icon: Path, target: Path, version: str, *, sign: str = "", fast: bool = False) -> Path:
    """Pack the frozen folder into Setup.exe and return it; ``sign`` is a program, ``fast`` packs less tightly."""
    installed = target.with_suffix(".nsh")
    install, remove = lists(frozen)
    installed.write_text(install, encoding="utf-8")
    Path(f"{installed}.un").write_text(remove, encoding="utf-8")
    defined = {
        "VERSION": version,
        "STUB": stub(),
        "OUTPUT": target,
        "FROZEN": frozen,
        "FILES": installed,
        "ICON": icon,
        "SIDE": icon.with_suffix(".bmp"),
        "KILOBYTES": sum(f.stat().st_size for f in frozen.rglob("*") if f.is_file()) // 1024,
        **({"SIGN": sign} if sign else {}),
        **({"FAST": ""} if fast else {}),
    }
    options = [f"-D{name}={value}" for name, value in defined.items()]
    subprocess.run([makensis(), "-V2", "-WX", "-INPUTCHARSET", "UTF8", *options, HERE / "setup.nsi"], check=True)
    for text in (installed, Path(f"{installed}.un")):
        text.unlink()
    return target


def makensis() -> str:
    """Return the compiler, installed first where that may be done."""
    found = shutil.which("makensis")
    if not found and sys.platform == "win32":
        found = str(Path(r"C:\Program Files (x86)\NSIS\makensis.exe"))
    if not found:
        import dev

        dev.system_packages({DEBIAN: "makensis"})
        found = "makensis"
    return found


def stub() -> str:
    """Return the kind of stub that Setup.exe is made of. Only Debian's NSIS has 64 bits; all others have 32 alone."""
    told = subprocess.run([makensis(), "-HDRINFO"], capture_output=True, text=True, check=True).stdout
    folder = Path(os.environ.get("NSISDIR") or told.rpartition("NSISDIR=")[2].partition(",")[0].strip())
    return "amd64-unicode" if (folder / "Stubs/lzma_solid-amd64-unicode").exists() else "x86-unicode"


def lists(frozen: Path) -> tuple[str, str]:
    """Return the commands that install the files, folder by folder, and those that remove what lies at the top."""
    install, remove = [], []
    folders = sorted({f.parent.relative_to(frozen) for f in frozen.rglob("*") if f.is_file()}, key=Path.as_posix)
    for folder in folders:
        install.append(f'SetOutPath "$INSTDIR{_inside(folder)}"')
        names = sorted(f.name for f in (frozen / folder).iterdir() if f.is_file())
        install += [f'File "{frozen / folder / name}"' for name in names]
        if not folder.parts:
            remove += [f'Delete "$INSTDIR\\{name}"' for name in names]
    return "\n".join(install) + "\n", "\n".join(remove) + "\n"


def _inside(folder: Path) -> str:
    return "".join(f"\\{part}" for part in folder.parts)
