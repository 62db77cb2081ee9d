"""Visiting and rebuilding the tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ..errors import Malformed
from ..model import (
    Citation,
    Extras,
    Failure,
    Media,
    Node,
    OutputFormat,
    Params,
    Reasoning,
    Request,
    Response,
    Root,
    Signature,
    Stop,
    Thinking,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    Usage,
)
from .reading import compact, escape, parse
from .signers import signer
from .writing import repeats_a_key

S = TypeVar("S", bound=Struct)


def rebuild(node: S, change: Callable[[Any, str], Any], at: str = "") -> S:
    """The tree with ``change(node, pointer)`` applied to every struct, leaves first.

    The pointer is the node's place in the tree itself. Plain JSON inside the tree (schemas,
    payloads) is not entered, nor is the original.
    """
    changes: dict[str, Any] = {}
    for field in node.__struct_fields__:
        value = getattr(node, field)
        if field == "original":
            continue
        where = f"{at}/{escape(field)}"
        if isinstance(value, Struct):
            new: Any = rebuild(value, change, where)
        elif isinstance(value, tuple):
            new = tuple(
                rebuild(item, change, f"{where}/{index}") if isinstance(item, Struct) else item
                for index, item in enumerate(value)
            )
            if all(a is b for a, b in zip(new, value, strict=True)):
                new = value
        else:
            continue
        if new is not value:
            changes[field] = new
    result: S = change(replace(node, **changes) if changes else node, at)
    return result


def unplaced(tree: S) -> S:
    """The tree without the places and the document that it was read from."""

    def change(node: Any, at: str) -> Any:
        if isinstance(node, Params) and node.ats:
            node = replace(node, ats={})
        elif isinstance(node, Tool | OutputFormat) and node.schema_at is not None:
            node = replace(node, schema_at=None)
        elif isinstance(node, Root) and node.original is not None:
            node = replace(node, original=None)
        return replace(node, at="") if isinstance(node, Node) and node.at else node

    return rebuild(tree, change)


def placed(tree: S, at: str) -> S:
    """The tree with every node's place in the tree itself, below ``at``."""

    def change(node: Any, where: str) -> Any:
        if isinstance(node, Tool | OutputFormat):
            node = replace(node, schema_at="/schema")
        return replace(node, at=at + where) if isinstance(node, Node) else node

    return rebuild(tree, change)


def below(tree: S, at: str) -> S:
    """The tree with every place that it was read from below ``at``."""

    def change(node: Any, where: str) -> Any:
        if isinstance(node, Params):
            node = replace(node, ats={name: at + place for name, place in node.ats.items()})
        return replace(node, at=at + node.at) if isinstance(node, Node) else node

    return rebuild(tree, change)


NOT_COUNTED = Usage(unsaid=("input", "output"))


def meaning(tree: S) -> S:
    """What a tree says, without where and how it was written.

    Two documents mean the same if and only if these are equal: places, spellings and the
    native words are gone; arguments are compared as values; a result that says it did not fail
    says nothing, and neither do empty words of reasoning, an empty title, an empty list of
    tools, a tool that is not strict or not deferred, an image seen as usual, one reply, a reply
    in text, calls that may be parallel, a reply that is not streamed, settings of reasoning
    without any, and a usage without counts.
    """
    return rebuild(unplaced(tree), _meaning)


def _meaning(node: Any, at: str) -> Any:
    if isinstance(node, Extras):
        return replace(node, dialect="", inner=())
    if isinstance(node, Stop):
        return replace(node, native=None, dialect=None)
    if isinstance(node, Signature):
        return replace(node, issuer=signer(node))
    if isinstance(node, Failure) and node.kind != "other":
        node = replace(node, type=None)  # the word of whoever said it; the kind is the neutral one
    if isinstance(node, Usage) and node.cache_write_ttl is not None:
        counts = {ttl: count for ttl, count in node.cache_write_ttl.items() if count}
        node = replace(node, cache_write_ttl=counts or None)
    if isinstance(node, Root) and node.dialect is not None:
        node = replace(node, dialect=None)
    if isinstance(node, Request):
        if not node.tools:
            node = replace(node, tools=None)
        if node.tool_choice == ToolChoice():
            node = replace(node, tool_choice=None)
    elif isinstance(node, ToolChoice) and node.parallel:
        node = replace(node, parallel=None)
    elif isinstance(node, Params):
        if node.candidates == 1:
            node = replace(node, candidates=None)
        if node.output == OutputFormat("text"):
            node = replace(node, output=None)
        if node.stream is False:
            node = replace(node, stream=None)
        if node.thinking == Thinking():
            node = replace(node, thinking=None)
    elif isinstance(node, Response) and node.usage == NOT_COUNTED:
        node = replace(node, usage=None)
    if isinstance(node, ToolCall) and node.kind == "function":
        node = replace(node, arguments=_value_text(node.arguments))
    elif isinstance(node, ToolResult) and node.is_error is False:
        node = replace(node, is_error=None)
    elif isinstance(node, Tool) and (node.strict is False or node.deferred is False):
        node = replace(node, strict=node.strict or None, deferred=node.deferred or None)
    elif isinstance(node, Reasoning) and not any((*node.content, *node.summary)):
        node = replace(node, content=(), summary=())
    elif isinstance(node, Media) and node.detail == "auto":
        node = replace(node, detail=None)
    elif isinstance(node, Citation) and node.title == "":
        node = replace(node, title=None)
    if isinstance(node, Node) and node.extras is not None:
        node = replace(node, extras=_extras_meaning(node, node.extras))
    return node


def _extras_meaning(node: Node, extras: Extras) -> Extras | None:
    """Fields say something; spellings do not, but for counts that contradict the sums."""
    counts = extras.spelling if isinstance(node, Usage) else {}
    counts = {key: count for key, count in counts.items() if count is not None}
    says = extras.fields or extras.signature is not None or counts
    return replace(extras, spelling=counts) if says else None


def _value_text(arguments: str) -> str:
    """Argument text without its spelling: blank is ``{}``, white space is nothing."""
    if not arguments or arguments.isspace():
        return "{}"
    try:
        value = parse(arguments)
    except Malformed:
        return arguments
    if isinstance(value, dict) and repeats_a_key(arguments, value):
        return arguments
    return compact(value)
