"""Freeform tools where a dialect has only functions: wrapped, and known again.

A freeform tool becomes a function with one string, ``{"input": text}``. Its description ends in
``MARK`` (and its grammar, if it has one), which tells the model what to write and the reader
what the tool really is.
"""

from __future__ import annotations

from msgspec.structs import replace

from .ledger import Ledger
from .model import Grammar, Json, Tool, ToolCall, ToolChoice, ToolResult
from .reading import compact

MARK = "[freeform tool]"
GRAMMAR = " The input must match this {syntax} grammar:\n{definition}"

SCHEMA: Json = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
    "additionalProperties": False,
}


WRAPPED = "a freeform {} is wrapped as {{'input': text}}"


def tool_as_function(tool: Tool, log: Ledger) -> Tool:
    """The function that stands for a freeform tool."""
    if tool.kind != "custom":
        return tool
    log.approximated("tool.kind", tool.at, WRAPPED.format("tool"))
    return replace(tool, kind="function", description=wrap(tool), schema=SCHEMA, grammar=None)


def call_as_function(call: ToolCall, log: Ledger) -> ToolCall:
    """The call of the function that stands for a freeform tool."""
    if call.kind != "custom":
        return call
    log.approximated("tool_call.kind", call.at, WRAPPED.format("call"))
    return replace(call, kind="function", arguments=compact({"input": call.arguments}))


def note_result(result: ToolResult, log: Ledger) -> None:
    """The result of a freeform call is the result of a function."""
    if result.kind == "custom":
        log.approximated("tool_call.kind", result.at, "a freeform result is a function's")


def choice_as_function(choice: ToolChoice, log: Ledger) -> ToolChoice:
    """The choice of the function that stands for a freeform tool."""
    if choice.kind != "custom":
        return choice
    log.approximated("tool.kind", choice.at, WRAPPED.format("tool"))
    return replace(choice, kind="function")


def wrap(tool: Tool) -> str:
    """The description of the function that stands for a freeform tool."""
    text = f"{tool.description}\n\n{MARK}" if tool.description is not None else MARK
    if tool.grammar is not None:
        g = tool.grammar
        text += GRAMMAR.format(syntax=g.syntax, definition=g.definition)
    return text


def unwrap(description: str | None, schema: Json) -> tuple[str | None, Grammar | None] | None:
    """Description and grammar of the freeform tool that a function stands for, if it does."""
    if description is None or MARK not in description or schema != SCHEMA:
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
