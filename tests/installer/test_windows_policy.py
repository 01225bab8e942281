"""The group policy's template and the program mean the same values, and every text of the template is there."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from core.common.i18n import available_languages
from core.host.policy import POLICY_KEY, Policy, policy_from

FOLDER = Path(__file__).parents[2] / "installer/windows/policy"
SPACE = {"p": "http://schemas.microsoft.com/GroupPolicy/2006/07/PolicyDefinitions"}
TEMPLATE = ElementTree.parse(FOLDER / "Convalesce.admx").getroot()
TEXTS = ElementTree.parse(FOLDER / "en-US/Convalesce.adml").getroot()


def test_each_value_of_the_template_is_obeyed() -> None:
    names = [e.get("valueName", "") for e in TEMPLATE.iter() if e.get("valueName")]
    assert {e.get("key") for e in TEMPLATE.iter() if e.get("key")} == {POLICY_KEY}
    assert len(names) == len(Policy.__struct_fields__)
    for name in names:
        assert {policy_from({name: value}) for value in (1, "de")} != {Policy()}, name


def test_the_languages_are_those_that_there_are() -> None:
    offered = [e.text for e in TEMPLATE.iterfind(".//p:enum/p:item/p:value/p:string", SPACE)]
    assert sorted(map(str, offered)) == sorted(available_languages())


def test_every_text_and_presentation_is_there() -> None:
    for kind, tag in (("string", "string"), ("presentation", "presentation")):
        asked = set(re.findall(rf"\$\({kind}\.(\w+)\)", ElementTree.tostring(TEMPLATE, encoding="unicode")))
        assert asked == {e.get("id") for e in TEXTS.iterfind(f".//p:{tag}", SPACE)}
    shown = {e.get("refId") for e in TEXTS.iter() if e.get("refId")}
    assert shown == {e.get("id") for e in TEMPLATE.iter() if e.get("id")}
