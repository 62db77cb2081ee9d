"""Freeform tools where a dialect has only functions: wrapped, and known again.

A freeform tool becomes a function with one string, ``{"input": text}``. Its description ends in
``MARK`` (and its grammar, if it has one), which tells the model what to write and the reader
what the tool really is.
"""

from __future__ import annotations

from .model import Grammar, Json, Tool

MARK = "[freeform tool]"
GRAMMAR = " The input must match this {syntax} grammar:\n{definition}"

SCHEMA: Json = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
    "additionalProperties": False,
}


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
