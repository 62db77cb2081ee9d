"""``dragoman schema``: the JSON Schema of the documents that a dialect reads."""

from __future__ import annotations

from typing import Any

import click

from .. import dialects
from ..core.reading import encode, parse
from ..dialect import FACETS
from ..model import Json
from . import options, printing
from .app import command as make_command
from .faults import usage
from .outputs import write_to
from .packed import packed


@make_command(
    "schema",
    "dragoman schema anthropic",
    "dragoman schema native --facet response",
)
@click.argument("dialect", type=options.DIALECT)
@click.option(
    "--facet",
    type=options.FACET,
    help="The kind of document; default: request, if the dialect has it.",
)
@click.option("--compact/--indent", default=False, help="On one line, or indented (the default).")
@click.option("-o", "--output", type=click.Path(), metavar="FILE", help="Write it to a file.")
def command(dialect: str, facet: str | None, compact: bool, output: str | None) -> int:
    """Print the JSON Schema of the documents that a dialect reads.

    What it rejects, the reader rejects as well. It accepts more than the reader where a rule
    concerns two fields, and more than the real API: its limits of parameters are descriptions, and
    its rules are those of `dragoman check`. Unknown keys are allowed, because they are kept.
    """
    from pathlib import Path

    schema = schema_of(dialect, facet)
    with write_to(None if output in (None, "-") else Path(str(output))) as sink:
        sink.write(printing.json_text(encode(schema), compact))
    return 0


def schema_of(name: str, facet: str | None = None) -> Json:
    """The schema of one kind of document of a dialect."""
    speaker = dialects.get(name)
    readable = [f for f, ways in speaker.facets().items() if "read" in ways and f in FACETS]
    if facet is None and readable:
        facet = readable[0]
    if facet == "stream":
        raise usage("a stream has no JSON Schema", "that of its response: --facet response")
    if facet not in readable:
        have = ", ".join(readable) or "nothing"
        raise usage(f"{name} has no {facet} to read; it has: {have}", "--facet FACET")
    if name == "native":
        return native(facet)
    for line in packed("schemas.jsonl.gz"):
        if line.startswith(f'["{name}.{facet}",'.encode()):
            return parse(line)[1]
    raise usage(f"no schema for a {name} {facet}")


def native(facet: str) -> Json:
    """The tree itself is the schema."""
    import msgspec

    (tree,), parts = msgspec.json.schema_components([FACETS[facet]], ref_template="#/$defs/{name}")
    for part in parts.values():
        part.get("properties", {}).pop("original", None)
    parts.pop("Original", None)
    envelope: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"native {facet}",
        "type": "object",
        "properties": {
            "dragoman": {"const": 1},
            "facet": {"const": facet},
            "tree": tree,
            "source": {},
        },
        "required": ["dragoman", "facet", "tree"],
    }
    return envelope | {"$defs": parts}
