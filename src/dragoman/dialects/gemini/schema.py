"""What depends on the model: in which of two forms a schema is sent, and what it takes at all.

``parametersJsonSchema`` and ``responseJsonSchema`` take JSON Schema, which is what the tree holds;
Google's own client recommends them, and newer models refuse in ``parameters`` what older ones let
pass. Models before Gemini 2.5 know only ``parameters`` and ``responseSchema``, in the API's own
form after OpenAPI; so do models of others that are served behind this API. Where the request names
such a model, schemas are compiled into that form.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ... import schemas
from ...ledger import Ledger
from ...model import Json, Tool
from ...writing import Writing

# "older GCP models (model < 2.5, eg gemini-flash-2.0) do not support the ParametersJsonSchema"
_old = re.compile(r"(?:^|/)(?:gemini-(?:1\.|2\.0)|claude-)").search
# "Function calling with a response mime type: 'application/json' is unsupported". Gemini 3 is the
# first to take both: https://ai.google.dev/gemini-api/docs/gemini-3#structured_outputs_with_tools
_early = re.compile(r"(?:^|/)gemini-[12](?:\.|-|$)").search
COMBINED = frozenset({"$ref", "anyOf", "oneOf", "allOf"})


class Saying(Writing):
    """A conversion into this dialect.

    ``model``: to whom the request goes; ``plain``: no schema has to be rewritten; ``hoisted``: what
    the model does not take in results.
    """

    __slots__ = ("hoisted", "model", "plain")

    hoisted: list[Json]
    model: str | None
    plain: bool

    @property
    def own(self) -> bool:
        """Whether schemas are said in the API's own form."""
        return self.model is not None and is_old(self.model)

    @property
    def early(self) -> bool:
        """Whether the model came before Gemini 3."""
        return self.model is not None and is_early(self.model)

    def look_at(self, tools: tuple[Tool, ...]) -> None:
        """One look at all schemas is much quicker than one at each."""
        found = (tool.schema for tool in tools)
        self.plain = not self.home and not self.own and schemas.is_plain(*found)


@lru_cache(64)
def is_old(model: str) -> bool:
    """Whether a model takes schemas in the API's own form alone."""
    return _old(model) is not None


@lru_cache(64)
def is_early(model: str) -> bool:
    """Whether a model came before Gemini 3: it takes tools or a demanded form of the answer, but
    not both, and no media in the results of tools.
    """
    return _early(model) is not None


def write_parameters(out: dict[str, Json], tool: Tool, schema: Json, w: Saying) -> None:
    """The schema of a function that was defined elsewhere."""
    if schema.__class__ is not dict:
        why = "the arguments of a tool are always an object"
        w.log.approximated("tool.schema", tool.at, why)
        schema = {"type": "object"}
    elif "type" not in schema and COMBINED.isdisjoint(schema):
        # "functionDeclaration parameters schema should be of type OBJECT"
        w.log.invented("tool.schema", tool.at, "the type of a schema is required: 'object'")
        schema = {"type": "object", **schema}
    if not w.own:
        out["parametersJsonSchema"] = schemas.portable(schema).told(tool, w.log)
        return
    compiled = schemas.openapi(schema)
    own = compiled.schema
    if own.get("type") != "OBJECT":
        _cut(tool, "only an object can be described, not alternatives of it", w.log)
    elif "properties" not in own:
        # "parameters.properties: should be non-empty for OBJECT type"
        _cut(tool, "a function that takes nothing has no parameters", w.log)
    else:
        out["parameters"] = compiled.told(tool, w.log)


def _cut(tool: Tool, why: str, log: Ledger) -> None:
    log.approximated("tool.schema", tool.at, why)
