"""What Windows shows of a program: its icon, its version and its manifest. For PyInstaller, in the build environment."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from PyInstaller.utils.win32 import versioninfo
from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

HERE = Path(__file__).parent
SIZES = (16, 20, 24, 32, 40, 48, 64, 256)
"""Pixels, for the title bar, the Start menu and the desktop at 100 to 250 per cent."""
COMPRESSED = 256
"""From this size on an icon is a PNG; older readers of icons know only bitmaps for the smaller ones."""
SIDE = 2 * 164, 2 * 314
"""Pixels; twice NSIS' own size, for sharp screens."""
GROUND = "#e9ecee"
DESCRIPTION = {"convalesce": "Convalesce in the terminal", "convalesce-gui": "Convalesce"}
PUBLISHER = "The Convalesce project"


def options(name: str, version: str, picture: Path, icon: Path) -> dict[str, Any]:
    """Return PyInstaller's options for a program: ``picture`` (SVG) is drawn into the file ``icon``.

    Beside the icon, a bitmap of the same name is drawn for Setup.exe's last page.
    """
    icon.write_bytes(drawn(picture.read_bytes()))
    side(picture.read_bytes()).save(str(icon.with_suffix(".bmp")))
    manifest = (HERE / "convalesce.manifest").read_text(encoding="utf-8")
    return {"icon": str(icon), "manifest": manifest, "version": version_resource(name, version)}


def drawn(svg: bytes) -> bytes:
    """Return an icon file (ICO) with the picture in every size."""
    images = [_image(svg, size) for size in SIZES]
    place = 6 + 16 * len(images)
    rows, bodies = [struct.pack("<HHH", 0, 1, len(images))], []
    for size, body in zip(SIZES, images, strict=True):
        rows.append(struct.pack("<BBBBHHII", size % 256, size % 256, 0, 0, 1, 32, len(body), place))
        bodies.append(body)
        place += len(body)
    return b"".join((*rows, *bodies))


def side(svg: bytes) -> QImage:
    """Return what stands at the left of Setup.exe's last page: the picture on the ground of the wizard's rail."""
    image = QImage(*SIDE, QImage.Format.Format_RGB32)
    image.fill(QColor(GROUND))
    painter = QPainter(image)
    width, height = SIDE
    edge = width // 2
    QSvgRenderer(QByteArray(svg)).render(painter, QRectF((width - edge) / 2, height / 2 - edge, edge, edge))
    painter.end()
    return image.convertToFormat(QImage.Format.Format_RGB888)


def _image(svg: bytes, size: int) -> bytes:
    image = QImage(size, size, QImage.Format.Format_ARGB32)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    QSvgRenderer(QByteArray(svg)).render(painter)
    painter.end()
    if size >= COMPRESSED:
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        image.save(buffer, "PNG")  # type: ignore[call-overload]  # its annotations know bytes, its documentation a str
        return bytes(buffer.data().data())
    # a bitmap whose height counts the mask, too; the mask's rows are whole 32-bit words, and alpha decides anyway
    header = struct.pack("<IiiHHIIiiII", 40, size, 2 * size, 1, 32, 0, 0, 0, 0, 0, 0)
    rows = [bytes(image.constScanLine(y))[: 4 * size] for y in reversed(range(size))]
    return header + b"".join(rows) + bytes((size + 31) // 32 * 4 * size)


def version_resource(name: str, version: str) -> versioninfo.VSVersionInfo:
    """Return what the file's properties show."""
    numbers = (*(int(n) for n in version.split(".")[:3]), 0)
    texts = {
        "CompanyName": PUBLISHER,
        "FileDescription": DESCRIPTION[name],
        "FileVersion": version,
        "InternalName": name,
        "LegalCopyright": f"{PUBLISHER}. Apache License 2.0",
        "OriginalFilename": f"{name}.exe",
        "ProductName": "Convalesce",
        "ProductVersion": version,
    }
    table = versioninfo.StringTable("040904B0", [versioninfo.StringStruct(*row) for row in texts.items()])
    return versioninfo.VSVersionInfo(
        ffi=versioninfo.FixedFileInfo(filevers=numbers, prodvers=numbers),
        kids=[
            versioninfo.StringFileInfo([table]),
            versioninfo.VarFileInfo([versioninfo.VarStruct("Translation", [0x409, 1200])]),
        ],
    )
