"""Documents made from the vendors' own types: an instance of every member of every union.

``sdk.py`` asks these types to judge what we write. Here they say what there is to read: each type
of content, tool, item and event that an SDK knows, once with what it requires, once with every
field, and once with each value of each field. A new version of an SDK brings its new types here.

A text or a number occurs once in a document, so that a walk over the result can look for it.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from itertools import count
from typing import Any

Schema = dict[str, Any]
SCHEMAS = (
    "parameters",
    "input_schema",
    "schema",
    "inputSchema",
    "json_schema",
    "parameter_definitions",
)
ARGUMENTS = ("arguments", "partial_json")
COUNTED = ("tokens", "units", "calls", "searches", "classifications", "images")
DATES = ("created", "created_at", "completed_at", "expires_at")
MEDIA = {"media_type": "image/png", "mime_type": "image/png", "mimeType": "image/png"}
UNSAID = re.compile("UNSPECIFIED$")
"""Words that nobody sends: they stand for silence."""
ALWAYS = frozenset({"type", "role", "object", "model", "contents", "messages", "data"})
"""What the API wants wherever the type knows it, though some SDKs say that it may be left out."""


def documents(schema: Schema) -> Iterator[Any]:
    """The instances of a schema: the smallest first, then each thing that can be said."""
    return Types(schema).documents()


class Types:
    """The instances of one JSON Schema, as pydantic writes it."""

    def __init__(self, schema: Schema) -> None:
        self.schema, self.defs = schema, schema.get("$defs", {})
        self.numbers = count(1)
        self.seen: set[Any] = set()

    def documents(self) -> Iterator[Any]:
        yield from self.spread(self.schema, "", ())

    # -- the smallest instance ----------------------------------------------------------------

    def least(self, schema: Schema, key: str, above: tuple[str, ...] = ()) -> Any:
        if (ref := schema.get("$ref")) is not None:
            return self.least(self.defs[name(ref)], key, (*above, name(ref)))
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return next(self.spread(schema, key, above))
        if members := self.members(schema):
            known = [m for m in members if name(m.get("$ref", "")) not in above]
            plain = [m for m in known if m.get("type") != "null"]
            plain.sort(key=lambda m: m.get("additionalProperties") is True)  # anything comes last
            return self.least((plain or known or members)[0], key, above)
        match schema.get("type"):
            case "object":
                return self.object(schema, schema.get("required", ()), key, above)
            case "array":
                items = schema.get("items", {})
                if name(items.get("$ref", "")) in above:
                    return []
                return [self.least(items, key, above)]
            case kind:
                return self.scalar(kind, schema, key)

    def object(self, schema: Schema, keys: Any, key: str, above: tuple[str, ...]) -> Any:
        properties = schema.get("properties", {})
        if not properties:
            return self.free(schema.get("additionalProperties", {}), key, above)
        return {
            k: self.least(inner, k, above)
            for k, inner in properties.items()
            if k in keys or k in ALWAYS or "const" in inner
        }

    def free(self, values: Any, key: str, above: tuple[str, ...]) -> Any:
        if key in SCHEMAS:
            return {"type": "object", "properties": {self.word(): {"type": "string"}}}
        if isinstance(values, dict) and values:
            return {self.word(): self.least(values, "", above)}
        return {self.word(): self.word()}

    def scalar(self, kind: str | None, schema: Schema, key: str) -> Any:
        number = next(self.numbers)
        match kind:
            case "null":
                return None
            case "boolean":
                return True
            case "integer":
                if key == "index":
                    return 0
                if key in DATES:
                    return 1_700_000_000 + number
                return min(10_000 + number, schema.get("maximum", 10**9))
            case "number":
                return 1_700_000_000.0 + number if key in DATES else self.number(key, number)
            case "string":
                return self.text(schema, key, number)
        return self.free({}, key, ())

    def number(self, key: str, number: int) -> float:
        return 10_000.0 + number if key.endswith(COUNTED) else 0.5 + number / 10_000

    def text(self, schema: Schema, key: str, number: int) -> str:
        word = f"{key}word{number}x"
        if schema.get("format") == "date-time":
            return f"2026-01-01T00:00:00.{number:06}Z"
        if schema.get("format") in ("binary", "base64url", "base64") or key in (
            "data",
            "file_data",
            "encrypted_content",
            "image_bytes",
            "signature",
            "thoughtSignature",
            "imageBytes",
            "videoBytes",
        ):
            return b64encode(f"{word} and some more bytes".encode()).decode()
        if key in MEDIA:
            return MEDIA[key]
        if key == "role":
            return "user"
        if key in ARGUMENTS:
            return f'{{"{word}":"{word}y"}}'
        if "url" in key.lower() or "uri" in key.lower():
            return f"https://example.com/{word}.png"
        return word

    def word(self) -> str:
        return f"word{next(self.numbers)}x"

    # -- one instance for each thing that a type can say -------------------------------------------

    def spread(self, schema: Schema, key: str, above: tuple[str, ...]) -> Iterator[Any]:
        if (ref := schema.get("$ref")) is not None:
            here = (above[-1:], key, name(ref))
            if here in self.seen or name(ref) in above:
                yield self.least(schema, key, above)
                return
            self.seen.add(here)
            yield from self.spread(self.defs[name(ref)], key, (*above, name(ref)))
        elif "enum" in schema:
            yield from (word for word in schema["enum"] if not UNSAID.search(str(word)))
        elif members := self.members(schema):
            for member in members:
                yield from self.spread(member, key, above)
        elif schema.get("type") == "array":
            items = schema.get("items", {})
            for item in self.spread(items, key, above):
                yield [item]
            yield []
        elif schema.get("type") == "object" and schema.get("properties"):
            yield from self.filled(schema, key, above)
        else:
            yield self.least(schema, key, above)
            if schema.get("type") == "string" and key not in ("role", "model", "type"):
                yield ""
            if (
                schema.get("type") == "boolean" and key != "done"
            ):  # which a piece of a stream is not
                yield False

    def filled(self, schema: Schema, key: str, above: tuple[str, ...]) -> Iterator[Any]:
        properties, required = schema["properties"], schema.get("required", ())
        yield self.object(schema, required, key, above)
        yield self.object(schema, properties, key, above)
        for k, inner in properties.items():
            for i, value in enumerate(self.spread(inner, k, above)):
                if i or k not in required:
                    yield {**self.object(schema, required, key, above), k: value}

    def members(self, schema: Schema) -> list[Schema]:
        members = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf") or []
        return [member for member in members if member] or members


def name(ref: str) -> str:
    return ref.rpartition("/")[2]
