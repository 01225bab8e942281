"""The manifests of winget, Scoop and Chocolatey have what their schemas require, in the forms that they allow."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from core import __version__
from installer.windows import manifests

NAMES = (f"Convalesce-{__version__}{tail}" for tail in ("-Setup.exe", ".msi", "-portable.zip"))
SUMS = {name: f"{number:x}" * 64 for number, name in enumerate(NAMES, 10)}
MADE = dict(manifests.manifests(SUMS, "https://example.org/v1", __version__))
REQUIRED = {
    "version": {"PackageIdentifier", "PackageVersion", "DefaultLocale", "ManifestType", "ManifestVersion"},
    "defaultLocale": {
        *("PackageIdentifier", "PackageVersion", "PackageLocale", "Publisher", "PackageName", "License"),
        *("ShortDescription", "ManifestType", "ManifestVersion"),
    },
    "installer": {"PackageIdentifier", "PackageVersion", "Installers", "ManifestType", "ManifestVersion"},
}
"""What winget's schemas 1.6.0 list as required, by the kind of manifest."""
FORMS = {
    "PackageIdentifier": r"[^\.\s\\/:*?\"<>|]{1,32}(\.[^\.\s\\/:*?\"<>|]{1,32}){1,7}",
    "PackageVersion": r"[^\\/:*?\"<>|]{1,128}",
    "InstallerUrl": r"https?://\S+",
    "InstallerSha256": r"[A-Fa-f0-9]{64}",
    "ProductCode": r".{1,255}",
    "Moniker": r"\S{1,40}",
}


@pytest.mark.parametrize("name", [n for n in MADE if n.startswith("winget/")])
def test_winget(name: str) -> None:
    made = yaml.safe_load(MADE[name])
    assert REQUIRED[made["ManifestType"]] <= made.keys()
    ways = made.get("Installers", [])
    for fields in (made, *ways):
        for field, form in FORMS.items():
            assert field not in fields or re.fullmatch(form, fields[field]), field
    for way in ways:
        assert {"Architecture", "InstallerUrl", "InstallerType", "InstallerSha256"} <= way.keys()
        assert way["InstallerType"] in ("nullsoft", "msi")
        assert way["Scope"] in ("user", "machine")
        assert way["InstallerSha256"].lower() == SUMS[way["InstallerUrl"].rpartition("/")[2]]


def test_scoop() -> None:
    made: dict[str, Any] = json.loads(MADE["scoop/convalesce.json"])
    assert {"version", "homepage", "license"} <= made.keys(), "what Scoop's schema requires"
    (at,) = made["architecture"].values()
    assert at["hash"] == SUMS[at["url"].rpartition("/")[2]]
    assert re.fullmatch(r"[\w.\-+]+", made["version"])


def test_chocolatey() -> None:
    root = ElementTree.fromstring(MADE["chocolatey/convalesce.nuspec"])
    space = f"{{{manifests.NUSPEC}}}"
    metadata = {e.tag.removeprefix(space): e.text for e in root.find(f"{space}metadata") or ()}
    assert {"id", "version", "authors", "description"} <= metadata.keys(), "what NuGet's schema requires"
    assert SUMS[f"Convalesce-{__version__}.msi"] in MADE["chocolatey/tools/chocolateyInstall.ps1"]


def test_they_are_written_from_a_folder_of_artefacts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "SHA256SUMS").write_text("".join(f"{digest}  {name}\n" for name, digest in SUMS.items()))
    assert manifests.main([str(tmp_path), "https://example.org/v1/"]) == 0
    written = {f.relative_to(tmp_path / "manifests").as_posix(): f.read_text() for f in tmp_path.rglob("*") if f.is_file()
               and "manifests" in f.parts}  # fmt: skip
    assert written == MADE
    (tmp_path / "SHA256SUMS").write_text("")
    assert manifests.main([str(tmp_path), "https://example.org/v1"]) == 2
    assert manifests.main([str(tmp_path), "ftp://example.org"]) == 2
    assert "does not hold" in capsys.readouterr().err


def test_the_detection_rule_asks_for_this_version() -> None:
    rule = (Path(__file__).parents[2] / "docs/engines/intune-detection-rule.ps1").read_text()
    assert f"[version]'{__version__}'" in rule
