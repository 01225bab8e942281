"""``python -m installer.windows.manifests FOLDER ADDRESS``: what winget, Scoop and Chocolatey want to know of a release.

FOLDER holds the built artefacts with their SHA256SUMS, ADDRESS is where a person will publish them. Everything comes from
these two and from the version; it is written below FOLDER/manifests. Submitting is a person's work.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree

from core import __version__
from installer.by_hand import by_hand
from installer.windows.msi import guid

IDENTIFIER = "Convalesce.Convalesce"
PUBLISHER = "The Convalesce project"
LICENCE = "Apache-2.0"
SUMMARY = "Find out why a GPU deep-learning set-up does not work"
WINGET = "1.6.0"
"""The version of winget's manifests."""
NUSPEC = "http://schemas.microsoft.com/packaging/2015/06/nuspec.xsd"


def main(arguments: list[str]) -> int:
    """Write the manifests; return 2 where the folder or the address is not usable."""
    if len(arguments) != 2 or not re.fullmatch(r"https://[^\s\"'<>]+", arguments[1]):
        print("usage: python -m installer.windows.manifests FOLDER https://ADDRESS", file=sys.stderr)
        return 2
    folder, address = Path(arguments[0]), arguments[1].rstrip("/")
    try:
        sums = read_sums((folder / "SHA256SUMS").read_text(encoding="utf-8"))
        files = dict(manifests(sums, address, __version__))
    except (OSError, KeyError) as e:
        print(f"{folder} does not hold what a release has: {e}", file=sys.stderr)
        return 2
    for name, text in files.items():
        file = folder / "manifests" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        print(file)
    return 0


def read_sums(text: str) -> dict[str, str]:
    """Return the hash of each file that SHA256SUMS names."""
    return {name: digest for digest, _, name in (line.partition("  ") for line in text.splitlines())}


def manifests(sums: Mapping[str, str], address: str, version: str) -> Iterator[tuple[str, str]]:
    """Yield each manifest with its name.

    Raises:
        KeyError: an artefact is not among the hashes.
    """
    setup, package = f"Convalesce-{version}-Setup.exe", f"Convalesce-{version}.msi"
    portable = f"Convalesce-{version}-portable.zip"
    head = {"PackageIdentifier": IDENTIFIER, "PackageVersion": version}
    tail = {"ManifestVersion": WINGET}
    yield f"winget/{IDENTIFIER}.yaml", _yaml({**head, "DefaultLocale": "en-US", "ManifestType": "version", **tail})
    about = {"PackageLocale": "en-US", "Publisher": PUBLISHER, "PackageName": "Convalesce", "License": LICENCE}
    about |= {"ShortDescription": SUMMARY, "Moniker": "convalesce", "ManifestType": "defaultLocale"}
    yield f"winget/{IDENTIFIER}.locale.en-US.yaml", _yaml({**head, **about, **tail})
    common = {"Architecture": "x64"}
    nullsoft = {**common, "InstallerType": "nullsoft", "InstallerUrl": f"{address}/{setup}"}
    nullsoft |= {"InstallerSha256": sums[setup].upper(), "UpgradeBehavior": "install"}
    everybody = {"Scope": "machine", "InstallerSwitches": {"Custom": "/ALLUSERS"}}
    msi = {**common, "InstallerType": "msi", "InstallerUrl": f"{address}/{package}", "Scope": "machine"}
    msi |= {"InstallerSha256": sums[package].upper(), "ProductCode": guid(f"product {version}")}
    ways = [{**nullsoft, "Scope": "user"}, {**nullsoft, **everybody}, msi]
    yield (
        f"winget/{IDENTIFIER}.installer.yaml",
        _yaml({**head, "Installers": ways, "ManifestType": "installer", **tail}),
    )
    scoop = {
        "version": version,
        "description": SUMMARY,
        "homepage": address,
        "license": LICENCE,
        "architecture": {"64bit": {"url": f"{address}/{portable}", "hash": sums[portable]}},
        "extract_dir": "Convalesce",
        "bin": "convalesce.exe",
        "shortcuts": [["convalesce-gui.exe", "Convalesce"]],
        "persist": "settings.ini",
    }
    yield "scoop/convalesce.json", json.dumps(scoop, indent=4) + "\n"
    yield "chocolatey/convalesce.nuspec", _nuspec(version, address)
    yield "chocolatey/tools/chocolateyInstall.ps1", _chocolatey(f"{address}/{package}", sums[package])


def _nuspec(version: str, address: str) -> str:
    root = ElementTree.Element("package", xmlns=NUSPEC)
    metadata = ElementTree.SubElement(root, "metadata")
    for name, text in {
        "id": "convalesce",
        "version": version,
        "title": "Convalesce",
        "authors": PUBLISHER,
        "projectUrl": address,
        "tags": "cuda cudnn gpu pytorch",
        "summary": SUMMARY,
        "description": SUMMARY,
    }.items():
        ElementTree.SubElement(metadata, name).text = text
    files = ElementTree.SubElement(root, "files")
    ElementTree.SubElement(files, "file", src="tools\\**", target="tools")
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _chocolatey(url: str, digest: str) -> str:
    return f"""$ErrorActionPreference = 'Stop'
Install-ChocolateyPackage -PackageName 'convalesce' -FileType 'msi' -SilentArgs '/qn /norestart' `
  -Url64bit '{url}' -Checksum64 '{digest}' -ChecksumType64 'sha256' -ValidExitCodes @(0, 3010)
"""


def _yaml(value: Mapping[str, object]) -> str:
    """Return YAML whose texts are quoted as JSON's are, which every reader of YAML takes."""
    return "".join(f"{line}\n" for line in _lines(value))


def _lines(value: Mapping[str, object], indent: str = "") -> Iterator[str]:
    for name, inner in value.items():
        if isinstance(inner, Mapping):
            yield f"{indent}{name}:"
            yield from _lines(inner, indent + "  ")
        elif isinstance(inner, list):
            yield f"{indent}{name}:"
            for item in inner:
                first, *rest = _lines(item, indent + "  ")
                yield f"{indent}- {first.lstrip()}"
                yield from rest
        else:
            yield f"{indent}{name}: {json.dumps(inner, ensure_ascii=False)}"


if __name__ == "__main__":
    sys.exit(main(by_hand(__doc__, "FOLDER/", "ADDRESS")))
