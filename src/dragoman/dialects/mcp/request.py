"""What a server asks of a client's model with ``sampling/createMessage``, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.fields import Field, Fields, number, strings, whole
from ...core.reading import as_dict, maybe_dict
from ...core.writing import Writing
from ...ledger import Ledger
from ...model import Json, Params, Request
from ...tools import freeform
from . import tools
from .messages import PROMPT, read_conversation, write_conversation

if TYPE_CHECKING:
    from . import MCP

LIMIT = 8192
"""The output limit that is written where none was given, and one is required."""
HINTED = "modelPreferences"
HINT = f"/{HINTED}"
"""Where the losses of a model point."""
FIELDS = Fields(
    Field("max_tokens", whole, "maxTokens"),
    Field("temperature", number),
    Field("stop", strings, "stopSequences"),
    keys=("messages", PROMPT, "tools", "toolChoice"),
)


def read_request(d: MCP, doc: Json) -> Request:
    doc = as_dict(doc, "")
    ats: dict[str, str] = {"model": HINT}
    partly: dict[str, tuple[str, ...]] = {}
    given = FIELDS.read(doc, ats, {}, set(), partly)
    listed = doc.get("tools")
    found = None if listed is None else tools.read_tool_list(d, listed, "/tools")
    choice = maybe_dict(doc, "toolChoice", "")
    model = hinted(doc)
    if model is not None:
        partly[HINTED] = ("hints",)
    tree = Request(
        model,
        tuple(read_conversation(d, doc)),
        found,
        None if choice is None else tools.read_choice(d, choice, "/toolChoice"),
        Params(**given, ats=ats),
        dialect=d.name,
        extras=d.keep(doc, FIELDS.taken, partly=partly),
    )
    return freeform.unwrap_calls(tree)


def hinted(doc: dict[str, Json]) -> str | None:
    """The model that is asked for, where there is one hint and it is a name."""
    wanted = doc.get(HINTED)
    hints = wanted.get("hints") if wanted.__class__ is dict else None
    if hints.__class__ is not list or len(hints) != 1 or hints[0].__class__ is not dict:
        return None
    name = hints[0].get("name")
    return name if name.__class__ is str and name and len(hints[0]) == 1 else None


def write_request(d: MCP, tree: Request, log: Ledger) -> Json:
    w = d.writing(log, tree.dialect)
    out: dict[str, Json] = {}
    write_conversation(d, out, tree.messages, w)
    if tree.model is not None:
        out[HINTED] = {"hints": [{"name": tree.model}]}
        w.moved("model", tree.params.where("model"), f"{d.name} has a hint at the model only")
    if tree.tools is not None:
        out["tools"] = tools.write_tool_list(d, tree.tools, w)
    if tree.tool_choice is not None:
        if (choice := tools.write_choice(d, tree.tool_choice, w)) is not None:
            out["toolChoice"] = choice
    params = FIELDS.write(out, limited(d, tree.params, w), w, d.name)
    if params is not None:
        d.lose(params.extras, params.at, log)
    return d.emit(out, tree, log)


def limited(d: MCP, params: Params, w: Writing) -> Params:
    """The parameters with an output limit, which every request has."""
    if w.same or params.max_tokens is not None:
        return params
    w.log.invented("max_tokens", "", f"{d.name} requires maxTokens; {LIMIT} is written")
    return replace(params, max_tokens=LIMIT)
