"""Names that later releases of a package no longer have, and what the answer says to do about them."""

from __future__ import annotations

import pytest

from core.explain import explain
from core.explain.given_up import names_given_up, step_of

ASKED = {
    "cannot import name 'cached_download' from 'huggingface_hub' (/v/huggingface_hub/__init__.py)": ("huggingface_hub.cached_download", "huggingface-hub<0.26"),
    "AttributeError: module 'PIL.Image' has no attribute 'ANTIALIAS'": ("PIL.Image.ANTIALIAS", "pillow<10"),
    "No module named 'torchvision.transforms.functional_tensor'": ("torchvision.transforms.functional_tensor", "torchvision<0.17"),
    "AttributeError: 'DataFrame' object has no attribute 'iteritems'": ("pandas.DataFrame.iteritems", "pandas<2"),
    "AttributeError: module 'numpy' has no attribute 'bool8'. Did you mean: 'bool'?": ("numpy.bool8", "numpy<2"),
    "AttributeError: module 'numpy' has no attribute 'bool'.": ("numpy.bool", "numpy<1.24"),
    "AttributeError: module 'numpy' has no attribute 'zeros'": None,
    "AttributeError: module 'numpy' has no attribute 'float'.": ("numpy.float", "numpy<1.24"),
    "AttributeError: `np.float_` was removed: module 'numpy' has no attribute 'float_'": ("numpy.float_", "numpy<2"),
    "No module named 'fcntl'": None,
    "No module named 'torch'": None,
    "'Image' object has no attribute 'append'": None,
}  # fmt: skip


@pytest.mark.parametrize("text", ASKED)
def test_a_name_that_was_given_up_is_known_with_the_last_releases_that_have_it(text: str) -> None:
    found = [(row.name, row.last) for row in names_given_up(text)]
    wanted = ASKED[text]
    assert found == ([] if wanted is None else [wanted])


def test_the_step_says_what_stands_for_the_name_and_which_release_still_has_it() -> None:
    (row,) = names_given_up("module 'PIL.Image' has no attribute 'ANTIALIAS'")
    assert step_of(row) == (
        "PIL.Image.ANTIALIAS was removed in pillow 10. In your own program, write PIL.Image.LANCZOS. "
        "If a package asks for it (the traceback names its file), upgrade that package. "
        'If there is no newer release: python -m pip install "pillow<10".'
    )
    (row,) = names_given_up("cannot import name 'Mapping' from 'collections'")
    assert "collections.Mapping was removed in Python 3.10." in step_of(row)
    assert "pip install" not in step_of(row)


def test_what_python_itself_gave_up_is_a_package_for_another_python() -> None:
    told = explain("AttributeError: module 'pkgutil' has no attribute 'ImpImporter'. Did you mean: 'zipimporter'?")
    assert told.causes[0].cause == "package_for_another_python"
    assert (told.causes[0].steps or "").startswith("pkgutil.ImpImporter was removed in Python 3.12.")
