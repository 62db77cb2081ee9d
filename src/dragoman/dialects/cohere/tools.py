"""Tools of Cohere's and the choice among them, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.reading import as_dict, as_list, as_str, maybe_str, need_dict, need_str
from ...core.resuming import write_once
from ...core.writing import needed_parameters
from ...ledger import Ledger
from ...model import Extras, Json, Tool, Toolbox, ToolChoice
from ...tools import freeform
from .documents import CohereWriting

if TYPE_CHECKING:
    from . import Cohere


REQUIRED, NONE = "REQUIRED", "NONE"
WORDS = {"required": REQUIRED, "none": NONE}
MODES = {word: mode for mode, word in WORDS.items()}


def read_tools(d: Cohere, doc: Json) -> Toolbox:
    return Toolbox(read_tool_list(d, doc, "", None), dialect=d.name)


def write_tools(d: Cohere, tree: Toolbox, log: Ledger) -> Json:
    w = CohereWriting(log, d.is_same(tree.dialect))
    d.lose(tree.extras, tree.at, log)
    for tool in tree.tools:
        if tool.strict:
            log.dropped(
                "tool.strict", tool.at, f"{d.name} has strict tools as a field of requests only"
            )
    return write_tool_list(d, tree.tools, w)


def read_tool_list(d: Cohere, docs: Json, at: str, strict: bool | None) -> tuple[Tool, ...]:
    tools = (
        read_tool(d, as_dict(doc, f"{at}/{index}"), strict, f"{at}/{index}")
        for index, doc in enumerate(as_list(docs, at))
    )
    return tuple(freeform.unwrap_tool(tool, d.name) for tool in tools)


@write_once
def write_tool_list(d: Cohere, tools: tuple[Tool, ...], w: CohereWriting) -> list[Json]:
    return [write_tool(d, tool, w) for tool in tools]


def read_tool(d: Cohere, doc: dict[str, Json], strict: bool | None, at: str) -> Tool:
    function, where = need_dict(doc, "function", at), f"{at}/function"
    return Tool(
        need_str(function, "name", where),
        maybe_str(function, "description", where),
        function.get("parameters"),
        strict=strict,
        at=at,
        extras=rest(d, doc, ("name", "description", "parameters")),
    )


def write_tool(d: Cohere, tool: Tool, w: CohereWriting) -> Json:
    tool = freeform.as_function(tool)
    function: dict[str, Json] = {"name": w.tool_name(tool.name, tool.at)}
    if tool.description is not None:
        function["description"] = tool.description
    if tool.schema is not None or not w.same:
        function["parameters"] = tool.schema if w.same else needed_parameters(tool, w.log)
    return d.emit({"type": "function", "function": function}, tool, w.log)


def rest(d: Cohere, doc: dict[str, Json], known: Sequence[str]) -> Extras | None:
    """What is left of a tool or a call, and of the function in it."""
    taken = ("id", "type") if doc.get("type") == "function" else ("id",)
    return d.keep(doc, taken, partly={"function": known})


def read_tool_choice(d: Cohere, doc: Json) -> ToolChoice:
    """One word; where there is none, the model decides."""
    if doc is None:
        return ToolChoice("auto", dialect=d.name)
    return read_choice(d, as_str(doc, ""), "")


def write_tool_choice(d: Cohere, tree: ToolChoice, log: Ledger) -> Json:
    if tree.mode == "auto":  # which silence says here
        tree = replace(tree, mode=None)
    return write_choice(d, tree, CohereWriting(log, d.is_same(tree.dialect)))


def read_choice(d: Cohere, doc: str, at: str) -> ToolChoice:
    mode = MODES.get(doc)
    if mode is None:
        return ToolChoice(payload=doc, dialect=d.name, at=at)
    return ToolChoice(mode, dialect=d.name, at=at)  # type: ignore[arg-type]


def write_choice(d: Cohere, choice: ToolChoice, w: CohereWriting) -> Json | None:
    """A choice; None where there is none to be written."""
    if choice.payload is not None:
        return choice.payload
    d.lose(choice.extras, choice.at, w.log)
    return None if choice.mode is None else WORDS.get(choice.mode)
