"""The lowest version of each package that pyproject.toml takes, as constraints for pip.

python tools/lowest.py > lowest.txt
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[[\w,-]+\])?>=(?P<lowest>[\w.]+)")


def requirements() -> list[str]:
    """What the product needs, and what its extras do."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    return [*project["dependencies"], *(each for extra in extras for each in extra)]


def lowest() -> Iterator[str]:
    for requirement in dict.fromkeys(requirements()):
        found = REQUIREMENT.match(requirement)
        if found is None:
            raise SystemExit(f"no lowest version: {requirement}")
        yield f"{found['name']}=={found['lowest']}"


if __name__ == "__main__":
    print("\n".join(sorted(set(lowest()))))
