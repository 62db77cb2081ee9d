"""A JSON Schema as the targets take it that take less than all of it.

    openapi      the subset of OpenAPI 3.0 that Gemini's ``parameters`` and ``responseSchema`` are
    from_openapi the way back: such a schema as JSON Schema
    portable     JSON Schema, but with references as Gemini's ``parametersJsonSchema`` resolves them
    enforced     what OpenAI, Anthropic and Bedrock compile into a grammar (``strict``), or why not
    trimmed      the same for a reply, where there is no word to leave out

Each replies with the schema and with notes: what was rewritten where, and whether the schema
still accepts the same values.

>>> from dragoman.tools.schemas import openapi
>>> done = openapi({"type": "object", "properties": {"unit": {"const": "C"}}})
>>> done.schema
{'type': 'OBJECT', 'properties': {'unit': {'type': 'STRING', 'enum': ['C']}}}
>>> [str(note) for note in done.notes]
["renamed at /properties/unit/const ('const' written as an 'enum' of one value)"]
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .grammar import CLAUDE, OPENAI, Rules, enforced, strictly, trimmed
    from .notes import Note, Refused, Rewritten
    from .pointing import is_plain, portable
    from .read_openapi import from_openapi
    from .subset import openapi

# Most conversions need none of this, so it is loaded when it is asked for.
_WHERE = {
    "CLAUDE": "grammar",
    "OPENAI": "grammar",
    "Note": "notes",
    "Refused": "notes",
    "Rewritten": "notes",
    "Rules": "grammar",
    "enforced": "grammar",
    "from_openapi": "read_openapi",
    "is_plain": "pointing",
    "openapi": "subset",
    "portable": "pointing",
    "strictly": "grammar",
    "trimmed": "grammar",
}

__all__ = [
    "CLAUDE",
    "OPENAI",
    "Note",
    "Refused",
    "Rewritten",
    "Rules",
    "enforced",
    "from_openapi",
    "is_plain",
    "openapi",
    "portable",
    "strictly",
    "trimmed",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f".{_WHERE[name]}", __name__), name)
    globals()[name] = found
    return found
