"""Windows' errors about a compiled module: proved by the finding about that module, and by no other's."""

from __future__ import annotations

from typing import Any

import pytest

from core.explain.engine import explain
from core.model.facts import Edge, Opening, Snapshot
from core.rules.root_cause import diagnose
from tests.rules import test_unfit_extensions as modules
from tests.rules import test_windows as libraries

IMPORT = (
    "Traceback (most recent call last):\n"
    '  File "C:\\ml\\Lib\\site-packages\\{module}\\__init__.py", line 3, in <module>\n'
    "    from .{module} import *\n"
    "ImportError: DLL load failed while importing {module}: {words}"
)
WORDS = {
    126: "The specified module could not be found.",
    127: "The specified procedure could not be found.",
    193: "%1 is not a valid Win32 application.",
    5: "Access is denied.",
}
PROVIDER = (
    "[E:onnxruntime:Default, provider_bridge_ort.cc:1992 onnxruntime::TryGetProviderInfo_CUDA] LoadLibrary failed with error {number} "
    '"" when trying to load "C:\\ml\\Lib\\site-packages\\onnxruntime\\capi\\{file}"'
)


def number_of(edge: Edge) -> int:
    """Return the number that Windows gives for such a fault."""
    if edge.lacks:
        return 127
    return {"absent": 126, "unreadable": 5}.get(edge.state, 193)


def said(text: str, seen: Snapshot) -> tuple[str, str]:
    told = explain(text, seen, tuple(diagnose(seen)))
    return told.link, told.causes[0].cause if told.causes else ""


OF_PACKAGES = [row for row in modules.WINDOWS if row[1].get("owner") != ""]


@pytest.mark.parametrize(("edge", "fields", "cause", "_advice"), OF_PACKAGES)
def test_an_import_that_ends_at_a_module_is_proved_by_its_fault(
    edge: Edge, fields: dict[str, Any], cause: str, _advice: str
) -> None:
    seen, words = modules.windows(edge, **fields), WORDS[number_of(edge)]
    assert said(IMPORT.format(module="cv2", words=words), seen) == ("proved", cause)
    assert said(IMPORT.format(module="shapely", words=words), seen)[0] != "proved"


@pytest.mark.parametrize(("edge", "openings", "cause", "_advice"), libraries.LACKS)
def test_a_library_that_does_not_load_is_proved_by_its_fault(
    edge: Edge | None, openings: tuple[Opening, ...], cause: str, _advice: str
) -> None:
    seen = libraries.lacking(edge, openings)
    number = openings[0].number if openings else 1114 if edge and edge.state == "too old" else 126
    assert said(PROVIDER.format(number=number, file="onnxruntime_providers_cuda.dll"), seen) == ("proved", cause)


def test_another_library_s_message_is_not_proved() -> None:
    edge, openings, _cause, _advice = libraries.LACKS[0]
    text = PROVIDER.format(number=126, file="onnxruntime_providers_tensorrt.dll")
    assert said(text, libraries.lacking(edge, openings))[0] != "proved"
