"""Layouts with their margins and their spacing in one line."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtWidgets import QLayout

L = TypeVar("L", bound=QLayout)


def spaced(layout: L, margins: tuple[int, int, int, int] = (0, 0, 0, 0), spacing: int | None = None) -> L:
    """Return a layout with these margins (left, top, right, bottom) in pixels, and the style's spacing unless one is given."""
    layout.setContentsMargins(*margins)
    if spacing is not None:
        layout.setSpacing(spacing)
    return layout
