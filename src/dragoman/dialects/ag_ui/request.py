"""What a front end sends to run an agent, and its tools, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.reading import as_dict, as_list, maybe_list, maybe_str, need_list, need_str
from ...core.writing import Writing
from ...ledger import Ledger
from ...model import Json, Params, Request, Tool, Toolbox
from ...tools import freeform
from . import messages

if TYPE_CHECKING:
    from . import AgUI

MADE = {"threadId": "thread-1", "runId": "run-1"}
"""What a thread and a run are called where nobody has named them."""
EMPTY: tuple[Json, ...] = ({}, [], None)
"""What says nothing of ``state`` and ``forwardedProps``, which older versions require."""


def read_request(d: AgUI, doc: Json) -> Request:
    doc = as_dict(doc, "")
    history = messages.read_history(d, need_list(doc, "messages", ""), "/messages")
    listed = maybe_list(doc, "tools", "")
    tools = None if not listed else read_tool_list(d, listed, "/tools")
    taken = {"messages", "tools"} | {key for key, made in MADE.items() if doc.get(key) == made}
    taken |= {key for key in ("state", "forwardedProps") if doc.get(key) in EMPTY}
    tree = Request(
        None, tuple(history), tools, None, Params(), dialect=d.name, extras=d.keep(doc, taken)
    )
    return freeform.unwrap_calls(tree)


def write_request(d: AgUI, tree: Request, log: Ledger) -> Json:
    w = messages.writing(d, log, tree.dialect)
    out: dict[str, Json] = dict(MADE)
    out["messages"] = messages.write_history(d, tree.messages, w)
    if tree.model is not None:
        at = tree.params.where("model")
        log.dropped(
            "model", at if at.count("/") < 2 else tree.at, f"{d.name} has no field for the model"
        )
    out["tools"] = write_tool_list(d, tree.tools or (), w)
    params = d.fields.write(out, tree.params, w, d.name)
    if params is not None:
        d.lose(params.extras, params.at, log)
    return d.emit(out | {"context": [], "state": {}, "forwardedProps": {}}, tree, log)


def read_tools(d: AgUI, doc: Json) -> Toolbox:
    return Toolbox(read_tool_list(d, doc, ""), dialect=d.name)


def write_tools(d: AgUI, tree: Toolbox, log: Ledger) -> Json:
    d.lose(tree.extras, tree.at, log)
    return write_tool_list(d, tree.tools, messages.writing(d, log, tree.dialect))


def read_tool_list(d: AgUI, docs: Json, at: str) -> tuple[Tool, ...]:
    tools = (
        read_tool(d, as_dict(doc, f"{at}/{index}"), f"{at}/{index}")
        for index, doc in enumerate(as_list(docs, at))
    )
    return tuple(freeform.unwrap_tool(tool, d.name) for tool in tools)


def read_tool(d: AgUI, doc: dict[str, Json], at: str) -> Tool:
    name, description = need_str(doc, "name", at), maybe_str(doc, "description", at)
    schema = doc.get("parameters")
    where = None if schema is None else "/parameters"
    extras = d.keep(doc, ("name", "description", "parameters"))
    return Tool(name, description or None, schema, at=at, extras=extras, schema_at=where)


def write_tool_list(d: AgUI, tools: tuple[Tool, ...], w: Writing) -> list[Json]:
    return [write_tool(d, tool, w) for tool in tools]


def write_tool(d: AgUI, tool: Tool, w: Writing) -> Json:
    tool = freeform.as_function(tool, w.same)
    if tool.description == "" and not w.same:
        w.log.dropped("text.empty", tool.at, f"an empty description is none in {d.name}")
    out: dict[str, Json] = {"name": w.tool_name(tool.name, tool.at)}
    out["description"] = tool.description or ""  # which is required, and says nothing
    if tool.schema is not None:
        out["parameters"] = tool.schema
    return d.emit(out, tool, w.log)
