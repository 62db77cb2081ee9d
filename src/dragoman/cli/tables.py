"""Files of rows for the table of what depends on the model."""

from __future__ import annotations

import tomllib
from typing import Any

from ..core.models import Models, load
from ..core.reading import parse
from ..errors import Malformed
from .faults import MALFORMED, Fault
from .inputs import Input, Reading


def read_models(path: str) -> Models:
    """The built-in table with the rows of a file, which is TOML unless its name says JSON."""
    with Reading(Input(path), "json") as reading:
        data = reading.all()
    try:
        return load(_parsed(path, data))
    except Malformed as problem:
        where = f"{problem.what} [{problem.at or '/'}]"
        raise Fault(
            where, MALFORMED, where=path, hint="docs/models.md describes the format"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise Fault(f"not TOML: {problem}", MALFORMED, where=path) from None


def _parsed(path: str, data: bytes) -> dict[str, Any]:
    if not path.endswith(".json"):
        return tomllib.loads(data.decode())
    value = parse(data)
    if value.__class__ is not dict:
        raise Malformed("expected an object")
    return dict(value)
