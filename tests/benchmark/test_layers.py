"""A person's own layers: files that are read, and files that are refused with a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.benchmark.layers import MOST_LAYERS, LayersError, read_layers
from core.cli.main import main

STEM = b"[[layer]]\nchannels = 3\nsize = 224\nfilters = 64\nkernel = 7\n"


def test_a_layer_is_read_with_what_it_leaves_out() -> None:
    stem, block = read_layers(
        STEM + b"stride = 2\nbatch = 8\nname = 'stem'\n" + STEM.replace(b"= 3", b"= 64") + b"groups = 64"
    )
    assert (stem.label, stem.n, stem.stride, stem.output_size, stem.groups) == ("stem", 8, 2, 112, 1)
    assert (block.label, block.n, block.groups) == ("2: 1x64x224x224, 64 filters 7x7, 64 groups", 1, 64)


def test_two_equal_layers_stay_two() -> None:
    assert len(set(read_layers(STEM + STEM))) == 2


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "missing required field `layer`"),
        (b"layer = []", f"1 to {MOST_LAYERS} layers"),
        (STEM * (MOST_LAYERS + 1), f"1 to {MOST_LAYERS} layers"),
        (STEM + b"strides = 2", "unknown field `strides`"),
        (STEM + b"groups = 2", "Layer 1: the groups must divide"),
        (STEM + STEM + b"stride = 0", "Layer 2: each number must be 1 or more"),
        (STEM + b"batch = 9999999999999999999999999", "each number must be 1 or more"),
        (STEM + b"batch = 20000", "2^31"),
        (b"\xff\xfe", "cannot be read"),
        (b"[" * 9999, "The list of layers"),
        (b"#" * (1024 * 1024 + 1), "is too large"),
    ],
)
def test_what_is_no_list_of_layers_is_a_sentence(data: bytes, words: str) -> None:
    with pytest.raises(LayersError) as refused:
        read_layers(data)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_filter_wider_than_the_data_is_padded_and_fits() -> None:
    (wide,) = read_layers(STEM.replace(b"224", b"1"))
    assert wide.output_size == 1


@pytest.mark.parametrize("name", ["gone.toml", "folder", "bad.toml"])
def test_the_command_names_the_file_that_it_cannot_use(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "bad.toml").write_text("layer = 7")
    assert main(["benchmark", "--layers", str(tmp_path / name)]) == 2
    said = capsys.readouterr().err
    assert name in said
    assert "Traceback" not in said
