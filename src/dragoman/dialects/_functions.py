"""What the chat APIs of Cohere and Ollama have alike: histories, and functions as tools.

Not a dialect: a name that begins with an underscore is none.
"""

from __future__ import annotations

from collections.abc import Callable

from ..core.reading import as_dict, as_list, maybe_str, need_dict, need_list, need_str
from ..dialect import Dialect
from ..ledger import Ledger
from ..model import History, Json, Message, Tool
from ..tools import freeform


def read_messages(
    d: Dialect, doc: Json, read: Callable[[list[Json], str], list[Message]]
) -> History:
    """A history is a bare list; an object that holds one is tolerated."""
    if doc.__class__ is list:
        return History(tuple(read(doc, "")), dialect=d.name)
    doc = as_dict(doc, "")
    messages = read(need_list(doc, "messages", ""), "/messages")
    return History(tuple(messages), dialect=d.name, extras=d.keep(doc, ("messages",)))


def write_messages(d: Dialect, tree: History, messages: list[Json], log: Ledger) -> Json:
    """A bare list, unless unknown fields stand beside it."""
    if tree.extras is not None and d.is_same(tree.extras.dialect):
        return d.emit({"messages": messages}, tree, log)
    d.lose(tree.extras, tree.at, log)
    return messages


def read_tools(d: Dialect, docs: Json, at: str, strict: bool | None = None) -> tuple[Tool, ...]:
    tools = (
        read_tool(d, as_dict(doc, f"{at}/{index}"), f"{at}/{index}", strict)
        for index, doc in enumerate(as_list(docs, at))
    )
    return tuple(freeform.unwrap_tool(tool, d.name) for tool in tools)


def read_tool(d: Dialect, doc: dict[str, Json], at: str, strict: bool | None) -> Tool:
    function, where = need_dict(doc, "function", at), f"{at}/function"
    kind = maybe_str(doc, "type", at)
    return Tool(
        need_str(function, "name", where),
        maybe_str(function, "description", where),
        function.get("parameters"),
        strict=strict,
        at=at,
        schema_at="/function/parameters" if "parameters" in function else None,
        extras=d.keep(
            doc,
            ("type",) if kind == "function" else (),
            partly={"function": ("name", "description", "parameters")},
        ),
    )
