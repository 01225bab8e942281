"""``python -m tests.schemas FOLDER``: what Convalesce writes for others, held against their own published schemas.

The schemas belong to their projects and are not kept here. FOLDER holds them under the names of ``PUBLISHED``; what is not there
is fetched from the address that its project publishes it at. XSD is read by xmllint (Debian: libxml2-utils).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from jsonschema import validators

from core import __version__
from core.cli import main as cli
from installer.by_hand import by_hand
from installer.windows import manifests

ROOT = Path(__file__).parents[1]
REPORTS = tuple(ROOT / f"tests/snapshots/h200/{name}.json" for name in ("cnn-deleted", "healthy"))
GITHUB = "https://raw.githubusercontent.com"
WINGET = f"{GITHUB}/microsoft/winget-cli/master/schemas/JSON/manifests/v{manifests.WINGET}"
XUNIT = "src/main/resources/org/jenkinsci/plugins/xunit/types/model/xsd"
PUBLISHED = {
    **{
        (name := f"manifest.{kind}.{manifests.WINGET}.json"): f"{WINGET}/{name}"
        for kind in ("version", "defaultLocale", "installer")
    },
    "scoop.json": f"{GITHUB}/ScoopInstaller/Scoop/master/schema.json",
    "nuspec.xsd": f"{GITHUB}/NuGet/NuGet.Client/dev/src/NuGet.Core/NuGet.Packaging/compiler/resources/nuspec.xsd",
    "sarif-schema-2.1.0.json": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json",
    "junit-10.xsd": f"{GITHUB}/jenkinsci/xunit-plugin/master/{XUNIT}/junit-10.xsd",
}
"""File name -> where its project publishes it."""


def main(arguments: list[str]) -> int:
    """Judge every document; return 1 where one does not hold, 2 where a schema cannot be had."""
    folder = Path(arguments[0])
    status = 0
    for name, schema, text in documents():
        try:
            told = had(folder, schema).read_text(encoding="utf-8-sig")
        except OSError as e:
            print(f"{schema}: {e}", file=sys.stderr)
            return 2
        wrong = [*(judged_by_xsd(told, text) if schema.endswith(".xsd") else judged_by_json(told, text))]
        print(f"{name} by {schema}: {'; '.join(wrong) or 'holds'}")
        status |= bool(wrong)
    return status


def documents() -> Iterator[tuple[str, str, str]]:
    """Yield each document: its name, its schema's, its text."""
    tails = ("-Setup.exe", ".msi", "-portable.zip")
    sums = {f"Convalesce-{__version__}{tail}": f"{number:x}" * 64 for number, tail in enumerate(tails, 10)}
    for name, text in manifests.manifests(sums, "https://example.org/v1", __version__):
        if name.endswith(".yaml"):
            yield name, f"manifest.{yaml.safe_load(text)['ManifestType']}.{manifests.WINGET}.json", text
        elif name.startswith("scoop/"):
            yield name, "scoop.json", text
        elif name.endswith(".nuspec"):
            yield name, "nuspec.xsd", text
    for report in REPORTS:
        for form, schema in (("sarif", "sarif-schema-2.1.0.json"), ("junit", "junit-10.xsd")):
            yield f"check --form {form} of {report.stem}", schema, checked(report, form)


def checked(report: Path, form: str) -> str:
    """Return what the check writes for a recorded machine."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / form
        cli.main(["check", "--form", form, "--report", str(report), "--out", str(out)])
        return out.read_text(encoding="utf-8")


def had(folder: Path, name: str) -> Path:
    """Return the schema's file, fetched first where need be.

    Raises:
        OSError: it can neither be found nor fetched.
    """
    file = folder / name
    if not file.exists():
        with urllib.request.urlopen(PUBLISHED[name], timeout=30) as answer:
            file.write_bytes(answer.read())
    return file


def judged_by_json(schema: str, text: str) -> Iterator[str]:
    """Yield what a JSON schema says against a document."""
    rules: dict[str, Any] = json.loads(schema)
    kind = validators.validator_for(rules)
    kind.check_schema(rules)
    for error in kind(rules, format_checker=kind.FORMAT_CHECKER).iter_errors(yaml.safe_load(text)):
        yield f"{error.json_path}: {error.message[:200]}"


def judged_by_xsd(schema: str, text: str) -> Iterator[str]:
    """Yield what an XML schema says against a document. NuGet's leaves its name's place open: each version fills it."""
    with tempfile.TemporaryDirectory() as folder:
        rules, document = Path(folder) / "rules.xsd", Path(folder) / "document.xml"
        rules.write_text(schema.replace("{0}", manifests.NUSPEC), encoding="utf-8")
        document.write_text(text, encoding="utf-8")
        command = ["xmllint", "--noout", "--nonet", "--schema", rules, document]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            yield done.stderr


if __name__ == "__main__":
    sys.exit(main(by_hand(__doc__, "FOLDER")))
