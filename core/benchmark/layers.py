"""A person's own layers: a TOML file with the convolutions to time."""

from __future__ import annotations

import msgspec

from core.benchmark.shapes import Shape
from core.common.fact_text import fact_text
from core.common.i18n import _
from core.model.facts import Frozen

LARGEST_FILE = 1024 * 1024
"""Maximum size in bytes of a list of layers."""
MOST_LAYERS = 40
"""Maximum number of layers in a run: each has three types and three directions, and a run takes some minutes."""
LARGEST_TENSOR = 2**31
"""Maximum number of elements of one tensor; NVIDIA's older convolution functions count in 32 bits."""


class LayersError(Exception):
    """The file is not a valid list of layers; the message is one sentence."""


class _Layer(Frozen, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[[layer]]``: data of batch x channels x size x size, filters of kernel x kernel, padded by half the kernel."""

    channels: int
    size: int
    filters: int
    kernel: int
    batch: int = 1
    stride: int = 1
    groups: int = 1
    name: str = ""


class _Layers(Frozen, frozen=True, kw_only=True, forbid_unknown_fields=True):
    layer: tuple[_Layer, ...]


def read_layers(data: bytes) -> tuple[Shape, ...]:
    """Read the layers from a file.

    Raises:
        LayersError: it is not TOML, has an unknown key, or a layer that is no valid convolution.
    """
    if len(data) > LARGEST_FILE:
        raise LayersError(_("The list of layers is too large (more than 1 MiB)."))
    try:
        layers = msgspec.toml.decode(data, type=_Layers).layer
    except RecursionError:
        raise LayersError(_("The list of layers is nested too deeply.")) from None
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as e:
        raise LayersError(_("The list of layers cannot be read: {e}.", e=str(e).rstrip("."))) from None
    if not 0 < len(layers) <= MOST_LAYERS:
        raise LayersError(_("List 1 to {most} layers, each as [[layer]].", most=MOST_LAYERS))
    return tuple(_shape(number, layer) for number, layer in enumerate(layers, 1))


def _shape(number: int, layer: _Layer) -> Shape:
    values = (layer.batch, layer.channels, layer.size, layer.filters, layer.kernel, layer.stride, layer.groups)
    if min(values) < 1 or max(values) >= LARGEST_TENSOR:
        raise LayersError(_("Layer {number}: each number must be 1 or more.", number=number))
    if layer.channels % layer.groups or layer.filters % layer.groups:
        raise LayersError(_("Layer {number}: the groups must divide the channels and the filters.", number=number))
    shape = Shape(
        name=f"layer {number}",
        n=layer.batch,
        c=layer.channels,
        size=layer.size,
        k=layer.filters,
        r=layer.kernel,
        stride=layer.stride,
        groups=layer.groups,
    )
    if shape.output_size < 1 or max(shape.element_counts) >= LARGEST_TENSOR:
        raise LayersError(_("Layer {number}: its tensors are empty, or have more than 2^31 elements.", number=number))
    # The number distinguishes two equal layers.
    return msgspec.structs.replace(
        shape, label=layer.name or fact_text("{number}: {text}", number=number, text=shape.text)
    )
