"""What the product is made of, as a CycloneDX document: itself, and what it and its extras need.

    python tools/sbom.py > sbom.json
    python tools/sbom.py --check    # are all of them installed?

It is made of what is installed, without the network, and says nothing of when or where: the same
environment gives the same document. What is not installed is left out, and ``--check`` fails.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import Requirement

PRODUCT = "dragoman"
NOT_SHIPPED = ("bench",)
NAME = re.compile(r"[-_.]+")
SPDX = re.compile(r"[A-Za-z0-9.+-]+")


def normal(name: str) -> str:
    return NAME.sub("-", name).lower()


class Package(NamedTuple):
    version: str
    requires: list[str]
    license: str | None


def installed(name: str) -> Package:
    found = distribution(name)
    key = "License-Expression"
    written = found.metadata[key] if key in found.metadata else None  # noqa: SIM401 - it has no get
    return Package(found.version, found.requires or [], written)


def product() -> Package:
    """The product with all extras that are for users, as its own file says."""
    path = Path(__file__).parents[1] / "pyproject.toml"
    project = tomllib.loads(path.read_text("utf-8"))["project"]
    extras = project["optional-dependencies"].items()
    more = [line for name, lines in extras if name not in NOT_SHIPPED for line in lines]
    return Package(project["version"], project["dependencies"] + more, project["license"])


def needs(package: Package, extras: set[str]) -> dict[str, set[str]]:
    """The packages that one needs with these extras, and the extras that it needs of them."""
    found: dict[str, set[str]] = {}
    for line in package.requires:
        needed = Requirement(line)
        marker = needed.marker
        if marker is None or any(marker.evaluate({"extra": each}) for each in extras | {""}):
            found.setdefault(normal(needed.name), set()).update(needed.extras)
    return found


def closure() -> tuple[dict[str, Package], dict[str, list[str]], list[str]]:
    """All packages by name, what each needs, and what is missing."""
    packages, edges, missing = {PRODUCT: product()}, dict[str, set[str]](), list[str]()
    waiting: list[tuple[str, set[str]]] = [(PRODUCT, set())]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        name, wanted = waiting.pop()
        if (name, frozenset(wanted)) in seen:
            continue
        seen.add((name, frozenset(wanted)))
        for needed, more in needs(packages[name], wanted).items():
            try:
                packages.setdefault(needed, installed(needed))
            except PackageNotFoundError:
                missing.append(needed)
                continue
            edges.setdefault(name, set()).add(needed)
            waiting.append((needed, more))
    known = {name: sorted(edges.get(name, ())) for name in sorted(packages)}
    return packages, known, sorted(set(missing))


def component(name: str, package: Package) -> dict[str, Any]:
    made: dict[str, Any] = {
        "type": "library",
        "bom-ref": f"{name}@{package.version}",
        "name": name,
        "version": package.version,
        "purl": f"pkg:pypi/{name}@{package.version}",
    }
    written = package.license
    if written and SPDX.fullmatch(written):
        made["licenses"] = [{"license": {"id": written}}]
    elif written:
        made["licenses"] = [{"expression": written}]
    return made


def page() -> list[dict[str, Any]]:
    """What of others is built into the page of the workbench, as its own file says."""
    path = Path(__file__).parents[1] / "src/dragoman/workbench/static/licenses.txt"
    found = re.findall(r"^npm:(\S+) (\S+) (\S+)$", path.read_text("utf-8"), re.MULTILINE)
    return [
        {
            "type": "library",
            "bom-ref": f"npm:{name}@{version}",
            "name": name,
            "version": version,
            "purl": f"pkg:npm/{name.replace('@', '%40')}@{version}",
            "licenses": [{"license": {"id": terms}}],
        }
        for name, version, terms in found
    ]


def bom() -> tuple[dict[str, Any], list[str]]:
    packages, edges, missing = closure()
    parts = {name: component(name, packages[name]) for name in edges}
    ref = {name: part["bom-ref"] for name, part in parts.items()}
    itself = {**parts[PRODUCT], "type": "application"}
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": itself},
        "components": [part for name, part in parts.items() if name != PRODUCT] + page(),
        "dependencies": [
            {"ref": ref[name], "dependsOn": [ref[each] for each in edges[name]]} for name in edges
        ]
        + [{"ref": part["bom-ref"], "dependsOn": []} for part in page()],
    }
    return document, missing


def main() -> None:
    document, missing = bom()
    if "--check" not in sys.argv:
        print(json.dumps(document, indent=2))
    elif missing:
        raise SystemExit(f"not installed, so not in the bill of materials: {', '.join(missing)}")


if __name__ == "__main__":
    main()
