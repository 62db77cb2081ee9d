"""What depends on the model: in which of two forms a schema is sent, and what it takes at all.

``parametersJsonSchema`` and ``responseJsonSchema`` take JSON Schema, which is what the tree holds;
Google's own client recommends them, and newer models refuse in ``parameters`` what older ones let
pass. Models before Gemini 2.5 know only ``parameters`` and ``responseSchema``, in the API's own
form after OpenAPI; so do models of others that are served behind this API. Where the request names
such a model, schemas are compiled into that form.
"""

from __future__ import annotations

import re

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

    ``own``: schemas are said in the API's own form; ``plain``: no schema has to be rewritten.
    ``early``: the model came before Gemini 3; ``hoisted``: what it does not take in results.
    """

    __slots__ = ("early", "hoisted", "model", "own", "plain")

    own: bool
    plain: bool
    early: bool
    hoisted: list[Json]
    model: str

    def speak_to(self, model: str | None) -> None:
        self.own = model is not None and _old(model) is not None
        self.early = is_early(model)
        self.model = model or ""

    def look_at(self, tools: tuple[Tool, ...]) -> None:
        """One look at all schemas is much quicker than one at each."""
        found = (tool.schema for tool in tools)
        self.plain = not self.home and not self.own and schemas.is_plain(*found)


def is_early(model: str | None) -> bool:
    """Whether a model came before Gemini 3: it takes tools or a demanded form of the answer, but
    not both, and no media in the results of tools.
    """
    return model is not None and _early(model) is not None


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
    own = schemas.openapi(schema).told(tool, w.log)
    if own.get("type") != "OBJECT":
        _cut(tool, "only an object can be described, not alternatives of it", w.log)
        own = {"type": "OBJECT"}
    if "properties" in own:
        out["parameters"] = own
    else:
        # "parameters.properties: should be non-empty for OBJECT type"
        _cut(tool, "a function that takes nothing has no parameters", w.log)


def _cut(tool: Tool, why: str, log: Ledger) -> None:
    log.approximated("tool.schema", tool.at, why)
