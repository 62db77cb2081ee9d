"""Open Responses, the vendor-neutral core of OpenAI Responses.

What it does differently from its parent: every message says that it is one; there are functions,
and neither freeform tools nor tools of a provider, unless under the provider's own prefix
(``acme:search``); names have at most 64 characters; there are penalties, fewer efforts and fewer
tiers; JSON responses are asked for by a schema; a stored conversation is continued by its last
reply only. What a server signed is its own, and does not go to OpenAI.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, cast

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.endpoint import Endpoint
from ..core.fields import Field, number, text
from ..core.walk import rebuild
from ..core.writing import Names
from ..ledger import Ledger
from ..lint.evidence import Verdict, objects, told_by
from ..model import Json, Request, Tool, ToolCall, ToolChoice, ToolResult, Tree
from ..streams.base import StreamWriter
from ..streams.orders import FunctionsOnly
from ..tools import freeform
from .openai_responses import REASONING, THINKING, OpenAIResponses
from .openai_responses.parts import ItemWriting
from .openai_responses.request import FIELDS

PENALTIES = ("frequency_penalty", "presence_penalty")
NAMES = ("[a-zA-Z0-9_-]", 64)
KNOWN = frozenset({"include", "background", "max_tool_calls", "stream_options"})
"""Fields that the tree has no name for and the specification has."""


class OpenResponses(OpenAIResponses):
    name = "open-responses"
    spec = "https://www.openresponses.org/specification"
    vendor = ""
    serves: ClassVar[tuple[str, ...]] = ()
    issuer = "open-responses"
    endpoints: ClassVar[tuple[Endpoint, ...]] = (Endpoint("/responses"),)  # of any vendor
    aliases: ClassVar[tuple[str, ...]] = ()
    shared: ClassVar[dict[str, frozenset[str]]] = {"openai-responses": KNOWN}
    fields = FIELDS.but(
        Field("service_tier", text, among=("auto", "default", "flex", "priority")),
        *(Field(name, number) for name in PENALTIES),
    ).refusing(
        "conversation_id",
        why="{target} has no field for {name}; a response is continued by its id",
    )

    can = replace(
        OpenAIResponses.can,
        tools=frozenset(),
        freeform="wrapped",
        outputs=cap.Outputs(json="schema", schemas=cap.OBJECTS, named="always"),
        reasoning=replace(REASONING, signatures=frozenset({("open-responses", "encrypted")})),
        # https://github.com/openresponses/openresponses, schema/configuration.tsp
        thinking=replace(THINKING, efforts=("low", "medium", "high", "xhigh")),
    )
    tool_search: ClassVar[dict[str, Json] | None] = None

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        return told_by(signs(doc), super().sniff(doc))

    def writing(self, log: Ledger, dialect: str | None, *, reply: bool = False) -> ItemWriting:
        w = super().writing(log, dialect, reply=reply)
        w.names = Names(NAMES, "tool.name")
        return w

    def read_request(self, doc: Json) -> Request:
        return freeform.unwrap_calls(super().read_request(doc))

    def read_tool_list(self, docs: Json, at: str) -> tuple[Tool, ...]:
        tools = super().read_tool_list(docs, at)
        return tuple(freeform.unwrap_tool(tool, self.name) for tool in tools)

    def write(self, tree: Tree, log: Ledger) -> Json:
        same = self.is_same(tree.dialect)
        if same and tree.original is not None:
            return super().write(tree, log)
        if same:
            tree = rebuild(tree, lambda node, at: as_function(node))
        return typed(super().write(tree, log))

    def write_stream(self, log: Ledger, same: bool) -> StreamWriter:
        writer = super().write_stream(log, same)
        assert isinstance(writer, FunctionsOnly)
        if not same:
            writer.wrap_freeform()
        return writer


def typed(doc: Json) -> Json:
    """There, schema/items.tsp: an item has a type, a message too."""
    items = doc.get("input") if doc.__class__ is dict else doc
    if items.__class__ is not list:
        return doc
    for place, item in enumerate(items):
        if item.__class__ is dict and "role" in item and "type" not in item:
            items[place] = {"type": "message", **item}
    return doc


def as_function(node: Any) -> Any:
    """A freeform tool and its calls as the functions that they were read from."""
    is_kind = isinstance(node, Tool | ToolCall | ToolChoice | ToolResult)
    return freeform.as_function(cast(Any, node), True) if is_kind else node


def signs(doc: Json) -> dict[str, float]:
    found: dict[str, float] = {}
    top = doc if doc.__class__ is dict else {"input": doc}
    for key in ("input", "output", "tools"):
        for item in objects(top.get(key)):
            kind = item.get("type")
            if kind.__class__ is str and ":" in kind.strip(":"):
                found["a type with the prefix of a provider"] = 0.8
    if top.get("input") is not None and any(top.get(key) is not None for key in PENALTIES):
        found["a penalty"] = 0.6
    return found


DIALECT = OpenResponses()
