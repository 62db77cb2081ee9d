"""Freeform tools where a dialect has only functions: wrapped, and known again.

A freeform tool becomes a function with one string, ``{"input": text}``. Its description ends in
``MARK`` (and its grammar, if it has one), which tells the model what to write and the reader
what the tool really is. In the same dialect it is written word for word: ``extras`` of what was
unwrapped hold the schema of the tool and the arguments of the call as they stood there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from ..core.reading import UNREADABLE, compact, decode
from ..core.resuming import read_once
from ..core.turns import mark_custom_results
from ..model import Block, Extras, Grammar, Json, Request, Tool, ToolCall, ToolChoice, ToolResult

if TYPE_CHECKING:
    from ..dialect import Dialect

MARK = "[freeform tool]"
GRAMMAR = " The input must match this {syntax} grammar:\n{definition}"

SCHEMA: Json = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
    "additionalProperties": False,
}
LOOSE: Json = {key: value for key, value in SCHEMA.items() if key != "additionalProperties"}
"""The same where a schema cannot forbid other properties."""


KEPT = "wrapped"
"""The spelling under which the function is kept that stood for what was unwrapped."""
N = TypeVar("N", Tool, ToolCall, ToolResult, ToolChoice)


@read_once
def names_of(d: Dialect, tools: tuple[Tool, ...], at: str) -> frozenset[str]:
    """The freeform ones among the tools of a request."""
    return frozenset([tool.name for tool in tools if tool.kind == "custom"])


# -- writing ----------------------------------------------------------------------------------


def as_function(node: N, same: bool = False) -> N:
    """The function that stands for what is freeform; anything else as it is.

    ``same``: the node was read from the target, which had such a function and gets it as it stood.
    """
    if node.kind != "custom":
        return node
    spelling = node.extras.spelling if node.extras is not None and same else {}
    if isinstance(node, Tool):
        schema = spelling.get(KEPT, SCHEMA)
        return replace(node, kind="function", description=wrap(node), schema=schema, grammar=None)
    if isinstance(node, ToolCall):
        arguments = spelling[KEPT] if KEPT in spelling else compact({"input": node.arguments})
        return replace(node, kind="function", arguments=arguments)
    return replace(node, kind="function")


# -- reading ----------------------------------------------------------------------------------


def unwrap_tool(tool: Tool, dialect: str) -> Tool:
    """The freeform tool that a function stands for, if it does."""
    if tool.kind != "function" or tool.strict:
        return tool
    if (found := unwrap(tool.description, tool.schema)) is None:
        return tool
    text, grammar = found
    custom = replace(tool, kind="custom", description=text, schema=None, grammar=grammar)
    return _kept(replace(custom, schema_at=None), dialect, tool.schema)


def unwrap_calls(tree: Request) -> Request:
    """A request in which the calls of freeform tools are freeform, as are their results."""
    custom = frozenset(tool.name for tool in tree.tools or () if tool.kind == "custom")
    dialect = tree.dialect
    if not custom or dialect is None:
        return tree
    calls = [
        replace(m, content=tuple(_unwrapped(block, custom, dialect) for block in m.content))
        if m.role == "assistant"
        else m
        for m in tree.messages
    ]
    messages = [
        m if m is before else replace(m, content=tuple(_reply(b, dialect) for b in m.content))
        for m, before in zip(mark_custom_results(calls), calls, strict=True)
    ]
    choice = tree.tool_choice
    if choice is not None and choice.kind == "function" and choice.name in custom:
        choice = _kept(replace(choice, kind="custom"), dialect, True)
    return replace(tree, messages=tuple(messages), tool_choice=choice)


def _unwrapped(block: Block, custom: frozenset[str], dialect: str) -> Block:
    if not isinstance(block, ToolCall) or block.kind != "function" or block.name not in custom:
        return block
    try:
        value = decode(block.arguments)
    except UNREADABLE:
        return block
    if value.__class__ is not dict or value.keys() != {"input"}:
        return block
    if value["input"].__class__ is not str:
        return block
    return _kept(replace(block, kind="custom", arguments=value["input"]), dialect, block.arguments)


def _reply(block: Block, dialect: str) -> Block:
    return _kept(block, dialect, True) if isinstance(block, ToolResult) else block


def _kept(node: N, dialect: str, function: Json) -> N:
    extras = node.extras or Extras(dialect)
    return replace(node, extras=replace(extras, spelling=extras.spelling | {KEPT: function}))


# -- the mark ---------------------------------------------------------------------------------


def wrap(tool: Tool) -> str:
    """The description of the function that stands for a freeform tool."""
    text = f"{tool.description}\n\n{MARK}" if tool.description is not None else MARK
    if tool.grammar is not None:
        g = tool.grammar
        text += GRAMMAR.format(syntax=g.syntax, definition=g.definition)
    return text


def unwrap(description: str | None, schema: Json) -> tuple[str | None, Grammar | None] | None:
    """Description and grammar of the freeform tool that a function stands for, if it does."""
    if description is None or MARK not in description or schema not in (SCHEMA, LOOSE):
        return None
    head, _, tail = description.rpartition(MARK)
    grammar = None
    if tail:
        before, after = GRAMMAR.split("{syntax}")
        syntax, found, definition = tail.removeprefix(before).partition(
            after.removesuffix("{definition}")
        )
        if not found or not tail.startswith(before):
            return None
        grammar = Grammar(syntax, definition)
    if head and not head.endswith("\n\n"):
        return None
    return (head[:-2] if head else None), grammar
