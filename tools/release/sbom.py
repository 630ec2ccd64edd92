"""`python -m tools.release.sbom`: what a release consists of, as CycloneDX JSON on standard output."""

from __future__ import annotations

import tomllib

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from tools.release.parts import ROOT, Part, crates, packages


def bom() -> Bom:
    """The bill of materials: wlanlens, the crates linked into it, the packages that it needs."""
    licence = LicenseFactory()

    def component(part: Part) -> Component:
        return Component(
            name=part.name,
            version=part.version,
            type=ComponentType.LIBRARY,
            purl=PackageURL(part.kind, name=part.name, version=part.version),
            bom_ref=f"{part.kind}/{part.name}@{part.version}",
            licenses=[licence.make_from_string(part.licence)] if part.licence else [],
        )

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    whole = Bom()
    own = Component(
        name=project["name"],
        version=project["version"],
        type=ComponentType.APPLICATION,
        bom_ref="wlanlens",
        licenses=[licence.make_from_string(project["license"])],
    )
    whole.metadata.component = own
    parts = [component(part) for part in (*crates(), *packages())]
    for part in parts:
        whole.components.add(part)
    whole.register_dependency(own, parts)
    return whole


if __name__ == "__main__":
    print(JsonV1Dot6(bom()).output_as_string(indent=1))
