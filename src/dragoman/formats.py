"""What exists: the dialects, their facets and directions."""

from __future__ import annotations

from msgspec import Struct

from . import dialects


class Format(Struct, frozen=True):
    """One dialect: ``facets`` maps each facet to its directions, ``("read", "write")``."""

    name: str
    aliases: tuple[str, ...]
    spec: str
    facets: dict[str, tuple[str, ...]]


def formats() -> tuple[Format, ...]:
    """Every dialect there is, those of installed packages included."""
    found = (dialects.get(name) for name in dialects.names())
    return tuple(Format(d.name, d.aliases, d.spec, d.facets()) for d in found)
