"""What the project is built from: versions, the lock file, the bill of materials, its promises."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from functools import cache
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import places

ROOT = places.ROOT
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
LOCK = "\n".join(
    (ROOT / f"requirements-{name}.lock").read_text("utf-8") for name in ("dev", "judges")
)


def stated() -> list[str]:
    """Every requirement that pyproject.toml states."""
    project, groups = PROJECT["project"], PROJECT["dependency-groups"].values()
    lists = [project["dependencies"], *project["optional-dependencies"].values(), *groups]
    return sorted({line for lines in lists for line in lines if isinstance(line, str)})


@cache
def locked() -> dict[str, list[str]]:
    """The versions of each package in the lock file; there may be one for each Python."""
    found: dict[str, list[str]] = {}
    for name, version in re.findall(r"^([\w.-]+)==([^\s;]+)", LOCK, re.MULTILINE):
        found.setdefault(canonicalize_name(name), []).append(version)
    return found


@pytest.mark.parametrize("line", stated())
def test_the_lock_file_has_what_is_stated(line: str) -> None:
    requirement = Requirement(line)
    versions = locked()[canonicalize_name(requirement.name)]
    assert all(requirement.specifier.contains(version) for version in versions), versions


def test_each_version_of_the_lock_file_has_hashes_and_no_place() -> None:
    assert not re.search(r"https?:|file:|index-url|find-links|@ ", LOCK)
    entries = re.split(r"^(?=[\w.-]+==)", LOCK, flags=re.MULTILINE)[1:]
    assert len(entries) > 50
    for entry in entries:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry.splitlines()[0]


@pytest.mark.parametrize("line", stated())
def test_each_requirement_has_a_lowest_version(line: str) -> None:
    assert [each.operator for each in Requirement(line).specifier].count(">=") == 1


def run(*args: str) -> str:
    done = subprocess.run(
        [sys.executable, *args], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_the_lowest_versions_are_those_of_the_product_and_its_extras() -> None:
    project = PROJECT["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    names = {Requirement(line).name for lines in lists for line in lines}
    lowest = run("tools/lowest.py").split()
    assert {line.partition("==")[0] for line in lowest} == names


def test_the_bill_of_materials() -> None:
    printed = run("tools/sbom.py")
    assert run("tools/sbom.py") == printed  # the same each time
    bom: Any = json.loads(printed)
    assert (bom["bomFormat"], bom["specVersion"]) == ("CycloneDX", "1.6")
    assert bom["metadata"]["component"]["name"] == "dragoman"
    parts = {part["name"] for part in bom["components"]}
    assert {"msgspec", "click", "aiohttp", "botocore", "google-auth", "zstandard"} <= parts
    assert {"preact", "@codemirror/view"} <= parts  # in the page of the workbench
    assert {"pytest", "openai", "orjson", "typescript"}.isdisjoint(parts)  # which users do not get
    refs = [bom["metadata"]["component"]["bom-ref"], *(p["bom-ref"] for p in bom["components"])]
    assert len(set(refs)) == len(refs)
    assert {row["ref"] for row in bom["dependencies"]} == set(refs)
    assert all(ref in refs for row in bom["dependencies"] for ref in row["dependsOn"])
    run("tools/sbom.py", "--check")


def test_each_promise_on_security_has_its_tests() -> None:
    page = (ROOT / "SECURITY.md").read_text("utf-8")
    table = page.partition("| promise |")[2].partition("Limits")[0]
    rows = re.findall(r"^\| (?!---)(.+) \| (.+) \|$", table, re.MULTILINE)
    assert len(rows) >= 10
    for promise, held in rows:
        files = re.findall(r"`(tests/[\w/]+\.py)`", held)
        assert files, promise
        for file in files:
            assert "def test_" in (ROOT / file).read_text("utf-8"), file
    targets = (ROOT / "Makefile").read_text("utf-8")
    for target in re.findall(r"`make ([a-z-]+)`", page):
        assert f"\n{target}:" in targets, target
    for file in re.findall(r"`(docs/[\w/]+\.md|requirements[\w.-]+)`", page):
        assert (ROOT / file).is_file(), file
