"""What depends on the model: in which of two forms a schema is sent, and what it takes at all.

``parametersJsonSchema`` and ``responseJsonSchema`` take JSON Schema, which is what the tree holds;
Google's own client recommends them, and newer models refuse in ``parameters`` what older ones let
pass. Models before Gemini 2.5 know only ``parameters`` and ``responseSchema``, in the API's own
form after OpenAPI; so do models of others that are served after this API. Where the request names
such a model (``models/google.py`` says which), schemas are compiled into that form.
"""

from __future__ import annotations

from ...core.writing import Writing, parameters
from ...ledger import Ledger
from ...model import Json, Tool
from ...tools import schemas

COMBINED = frozenset({"$ref", "anyOf", "oneOf", "allOf"})


class Saying(Writing):
    """A conversion into this dialect.

    ``plain``: no schema has to be rewritten; ``hoists``: the model takes no media in results;
    ``hoisted``: those of the last ones.
    """

    hoisted: list[Json]
    hoists: bool
    plain: bool

    @property
    def own(self) -> bool:
        """Whether schemas are written in the API's own form."""
        return self.facts.schemas == "own"

    def look_at(self, tools: tuple[Tool, ...]) -> None:
        """One look at all schemas is much quicker than one at each."""
        found = (tool.schema for tool in tools)
        self.plain = not self.same and not self.own and schemas.is_plain(*found)


def write_parameters(out: dict[str, Json], tool: Tool, schema: Json, w: Saying) -> None:
    """The schema of a function that was defined elsewhere."""
    if schema.__class__ is not dict:
        schema = parameters(tool, w.log)
    elif "type" not in schema and COMBINED.isdisjoint(schema):
        # "functionDeclaration parameters schema should be of type OBJECT"
        w.log.invented(
            "tool.schema",
            tool.at,
            f"{w.log.target} requires the type of a schema; written as 'object'",
        )
        schema = {"type": "object", **schema}
    if not w.own:
        out["parametersJsonSchema"] = schemas.portable(schema).told(tool, w.log)
        return
    compiled = schemas.openapi(schema)
    own = compiled.schema
    if own.get("type") != "OBJECT":
        _cut(tool, f"{w.log.target} requires the schema of one object, no alternatives", w.log)
    elif "properties" not in own:
        # "parameters.properties: should be non-empty for OBJECT type"
        _cut(tool, f"{w.log.target} does not allow parameters without properties", w.log)
    else:
        out["parameters"] = compiled.told(tool, w.log)


def _cut(tool: Tool, why: str, log: Ledger) -> None:
    log.approximated("tool.schema", tool.at, why)
