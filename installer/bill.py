"""A bill of materials in CycloneDX's form: what is in an artefact, with versions and licences, the same on every run."""

from __future__ import annotations

import os
import uuid
from datetime import UTC, datetime
from pathlib import Path

from cyclonedx.factory.license import LicenseFactory
from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from core import __version__
from installer.parts import Part, locked_hashes

SPACE = uuid.UUID("7c6ad7a4-5d2c-5a53-9f0e-0c6c8d6c4f61")
"""Our own space of names, so that an artefact's serial number follows from its name, version and content."""


def write(artefact: Path, parts: tuple[Part, ...], digest: str) -> Path:
    """Write the bill beside an artefact, whose SHA-256 is ``digest``, and return its path."""
    licences = LicenseFactory()
    program = Component(
        name="convalesce",
        version=__version__,
        type=ComponentType.APPLICATION,
        bom_ref="convalesce",
        purl=PackageURL("generic", None, "convalesce", __version__),
        licenses=[licences.make_from_string("Apache-2.0")],
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest)],
    )
    bom = Bom(serial_number=uuid.uuid5(SPACE, f"{artefact.name} {digest}"))
    bom.metadata.timestamp = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), UTC)
    bom.metadata.component = program
    hashes = locked_hashes()
    made = [_component(part, licences, hashes.get(part.name.lower(), ())) for part in parts]
    for component in made:
        bom.components.add(component)
    bom.register_dependency(program, made)
    file = artefact.with_name(artefact.name + ".cdx.json")
    file.write_text(JsonV1Dot6(bom).output_as_string(indent=2) + "\n", encoding="utf-8")
    return file


def _component(part: Part, licences: LicenseFactory, locked: tuple[str, ...]) -> Component:
    space = "debian" if part.kind == "deb" else None
    purl = PackageURL(part.kind, space, part.name, part.version)
    kind = ExternalReferenceType.WEBSITE
    return Component(
        name=part.name,
        version=part.version,
        type=ComponentType.LIBRARY,
        bom_ref=purl.to_string(),
        purl=purl,
        licenses=[licences.make_from_string(part.licence)],
        external_references=[
            *([ExternalReference(type=kind, url=XsUri(part.home))] if part.home else []),
            *(
                ExternalReference(
                    type=ExternalReferenceType.DISTRIBUTION,
                    url=XsUri(purl.to_string()),
                    comment="a file of this release that the lock allows",
                    hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest)],
                )
                for digest in locked
            ),
        ],
    )
