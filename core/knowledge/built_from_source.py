"""Packages with compiled parts whose authors publish no wheels in the common index: an installer would have to build them."""

from __future__ import annotations

from core.common.late_pattern import late_pattern

BUILT_FROM_SOURCE = late_pattern(
    r"flash[-_]attn|mamba[-_]ssm|causal[-_]conv1d|torch[-_](scatter|sparse|cluster|spline[-_]conv)|transformer[-_]engine[-_]torch"
    r"|tensorrt([-_]cu\d+)?|mmcv(-full)?|llama[-_]cpp[-_]python|deepspeed"
)
"""As the common index had them on 2026-11-28: ``uv pip install --dry-run --only-binary :all:`` finds no wheel of any of their releases, or
of a test release of long ago alone (tensorrt 10.0.0b6, deepspeed 0.3.1.dev5). Their sources compile here, or fetch the wheel that fits.
"""
