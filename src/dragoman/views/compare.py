"""Two conversations compared by meaning: message by message, block by block, setting by setting.

What counts is what ``walk.meaning`` says: not where and how something was written, not the dialect,
not the spelling of arguments. What only one dialect knows (extras) counts, and so do ids and
signatures; ``IGNORABLE`` names what may be left out of account.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..core.reading import escape, parse
from ..core.walk import meaning, rebuild, unplaced
from ..errors import Malformed
from ..model import (
    Cache,
    Candidate,
    Citation,
    Extras,
    Hosted,
    Json,
    Message,
    Node,
    Params,
    Reasoning,
    Request,
    Response,
    Tool,
    ToolCall,
    ToolResult,
    Tree,
)
from .portrait import brief, full_name

Kind: TypeAlias = Literal["differs", "only in A", "only in B"]
Trail: TypeAlias = tuple[str, ...]

IGNORABLE: dict[str, str] = {
    "ids": "ids of calls, items and responses; which result belongs to which call still counts",
    "model": "the name of the model",
    "params": "the parameters of a request, the tool choice included",
    "tools": "the tool definitions",
    "reasoning": "reasoning",
    "signatures": "reasoning signatures and encrypted reasoning",
    "cache": "cache breakpoints",
    "usage": "token counts",
    "extras": "fields that only one dialect knows",
}


class Side(NamedTuple):
    """One of two things that differ: where it stands in its document, and what it says."""

    at: str
    value: Json


class Difference(NamedTuple):
    kind: Kind
    trail: Trail
    a: Side | None
    b: Side | None

    def to_json(self) -> dict[str, Json]:
        sides = {"a": self.a, "b": self.b}
        written = {name: {"at": s.at, "value": s.value} for name, s in sides.items() if s}
        return {"kind": self.kind, "what": list(self.trail), **written}


class Spot(NamedTuple):
    """A node as it was read, what it means, and its place. Both forms have the same shape."""

    read: Any
    meant: Any
    at: str
    document: Json = None

    def child(self, field: str) -> Spot:
        read, meant = getattr(self.read, field), getattr(self.meant, field)
        at = read.at if isinstance(read, Node) else self.where(field)
        return Spot(read, meant, at, self.document)

    def children(self, field: str) -> list[Spot]:
        read, meant = getattr(self.read, field), getattr(self.meant, field)
        pairs = zip(read or (), meant or (), strict=False)
        places = ((r, m, r.at if isinstance(r, Node) else self.at) for r, m in pairs)
        return [Spot(r, m, at, self.document) for r, m, at in places]

    def where(self, field: str) -> str:
        """The place of a field, if the document has one of that name there; else of its node."""
        at = self.read.where(field) if isinstance(self.read, Params) else f"{self.at}/{field}"
        return at if resolves(self.document, at) else self.at

    def side(self) -> Side:
        return Side(self.at, value_of(self.meant))


def compare(
    a: Tree,
    b: Tree,
    ignore: frozenset[str] = frozenset(),
    documents: tuple[Json, Json] = (None, None),
) -> Iterator[Difference]:
    """Every difference of two trees of one kind, in the order of the conversation.

    The ``documents`` they were read from help to point at the very key.
    """
    a, b = strip(a, ignore), strip(b, ignore)
    one = Spot(a, meaning(a), a.at, documents[0])
    two = Spot(b, meaning(b), b.at, documents[1])
    for kind, trail, before, after in nodes(one, two, ()):
        yield Difference(kind, trail, pointed(before, documents[0]), pointed(after, documents[1]))


def pointed(side: Side | None, document: Json) -> Side | None:
    """A side that points at something: at what is around it, where it has no place of its own."""
    while side is not None and not resolves(document, side.at):
        side = side._replace(at=side.at.rpartition("/")[0])
    return side


def resolves(document: Json, pointer: str) -> bool:
    """Whether a JSON pointer names a place in a document."""
    for token in pointer.split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        if isinstance(document, dict) and token in document:
            document = document[token]
        elif isinstance(document, list) and token.isdecimal() and int(token) < len(document):
            document = document[int(token)]
        else:
            return False
    return True


def value_of(meant: Any) -> Json:
    """A value of the tree as plain JSON."""
    return parse(msgspec.json.encode(unplaced(meant) if isinstance(meant, Struct) else meant))


# -- what does not count -----------------------------------------------------------------------


def strip(tree: Tree, ignore: frozenset[str]) -> Tree:
    if not ignore:
        return tree
    names: dict[str, str] = {}

    def named(own: str | None) -> str | None:
        """Ids by the order in which they come up: pairs stay pairs."""
        return None if own is None else names.setdefault(own, f"#{len(names) + 1}")

    def change(node: Any, at: str) -> Any:
        if "ids" in ignore:
            node = renamed(node, named)
        return without(node, ignore)

    return rebuild(tree, change)


def renamed(node: Any, named: Callable[[str | None], str | None]) -> Any:
    match node:
        case ToolCall():
            return replace(node, id=named(node.id), item_id=None)
        case ToolResult():
            return replace(node, call_id=named(node.call_id))
        case Reasoning() | Hosted() | Response():
            return replace(node, id=None)
    return node


def without(node: Any, ignore: frozenset[str]) -> Any:
    changes: dict[str, Any] = {}
    if isinstance(node, Request | Response) and "model" in ignore:
        changes["model"] = None
    if isinstance(node, Request) and "params" in ignore:
        changes |= {"params": Params(), "tool_choice": None, "prefill": None}
    if isinstance(node, Request) and "tools" in ignore:
        changes["tools"] = None
    if isinstance(node, Message) and "reasoning" in ignore:
        changes["content"] = tuple(b for b in node.content if not isinstance(b, Reasoning))
    if isinstance(node, Reasoning | Citation) and "signatures" in ignore:
        changes["signature"] = None
    if isinstance(node, Response) and "usage" in ignore:
        changes["usage"] = None
    if isinstance(getattr(node, "cache", None), Cache) and "cache" in ignore:
        changes["cache"] = None
    if isinstance(node, Node) and "extras" in ignore and node.extras is not None:
        changes["extras"] = None
    if isinstance(node, Response) and "extras" in ignore:
        changes["echo"] = None
    return replace(node, **changes) if changes else node


# -- nodes -------------------------------------------------------------------------------------

SILENT = frozenset(("at", "ats"))


def nodes(a: Spot, b: Spot, trail: Trail) -> Iterator[Difference]:
    """Two nodes of one kind, field by field."""
    for field in a.meant.__struct_fields__:
        one, two = getattr(a.meant, field), getattr(b.meant, field)
        if field in SILENT or one == two:
            continue
        if field == "extras" or isinstance(one or two, Extras):
            yield from extras(a, b, field, trail)
        elif is_listed(one) or is_listed(two):
            yield from listed(a.children(field), b.children(field), trail)
        elif isinstance(one, Struct) and type(one) is type(two):
            yield from nodes(a.child(field), b.child(field), (*trail, *label(field)))
        elif field == "arguments":
            yield from arguments(Side(a.at, one), Side(b.at, two), (*trail, field))
        else:
            ours, theirs = Side(a.where(field), written(one)), Side(b.where(field), written(two))
            same = label(field) == trail[-1:]  # the text of a text
            yield from values(ours, theirs, trail if same else (*trail, *label(field)))


def label(field: str) -> Trail:
    """The name of a field; params and what a candidate says speak for themselves."""
    return () if field in ("params", "message") else (field.replace("_", " "),)


def is_listed(value: Any) -> bool:
    return isinstance(value, tuple) and any(isinstance(item, Struct) for item in value)


def written(value: Any) -> Json:
    return UNSAID if value is None or value == () else value_of(value)


def arguments(a: Side, b: Side, trail: Trail) -> Iterator[Difference]:
    """Argument by argument, where both texts are objects that differ as such."""
    try:
        found = list(values(Side(a.at, parse(a.value)), Side(b.at, parse(b.value)), trail))
    except Malformed:
        found = []
    yield from found or [Difference("differs", trail, a, b)]


def extras(a: Spot, b: Spot, field: str, trail: Trail) -> Iterator[Difference]:
    one, two = getattr(a.meant, field), getattr(b.meant, field)
    yield from values(
        Side(a.at, one.fields | one.spelling if one else {}),
        Side(b.at, two.fields | two.spelling if two else {}),
        trail,
        deeper=True,
    )
    ours, theirs = (None if each is None else each.signature for each in (one, two))
    if ours != theirs:
        yield from values(
            Side(a.at, written(ours)), Side(b.at, written(theirs)), (*trail, "signature")
        )


def values(a: Side, b: Side, trail: Trail, deeper: bool = False) -> Iterator[Difference]:
    """Two JSON values; objects key by key. ``deeper``: their keys are keys of the documents."""
    if isinstance(a.value, dict) and isinstance(b.value, dict):
        for key in dict.fromkeys((*a.value, *b.value)):
            below = f"/{escape(key)}" if deeper else ""
            yield from values(
                Side(a.at + below, a.value.get(key, UNSAID)),
                Side(b.at + below, b.value.get(key, UNSAID)),
                (*trail, key),
                deeper,
            )
    elif b.value is UNSAID:
        yield Difference("only in A", trail, a, None)
    elif a.value is UNSAID:
        yield Difference("only in B", trail, None, b)
    elif a.value != b.value or type(a.value) is not type(b.value):
        yield Difference("differs", trail, a, b)


UNSAID = msgspec.UNSET
"""In place of a value that is not there; null is one that is."""


# -- lists -------------------------------------------------------------------------------------


def listed(a: Sequence[Spot], b: Sequence[Spot], trail: Trail) -> Iterator[Difference]:
    """Two lists of nodes: first what is the same, then what is of the same kind, in its order."""
    for tag, i, k, j, m in opcodes(a, b, sameness):
        if tag == "equal":
            continue
        for tag, p, q, r, s in opcodes(a[i:k], b[j:m], kinship):
            ones, twos = range(i + p, i + q), range(j + r, j + s)
            if tag == "equal":
                for n, o in zip(ones, twos, strict=True):
                    yield from nodes(a[n], b[o], (*trail, *title(a[n].meant, n)))
                continue
            for n in ones:
                yield Difference("only in A", (*trail, *title(a[n].meant, n)), a[n].side(), None)
            for o in twos:
                yield Difference("only in B", (*trail, *title(b[o].meant, o)), None, b[o].side())


def opcodes(
    a: Sequence[Spot], b: Sequence[Spot], key: Callable[[Any], Any]
) -> list[tuple[str, int, int, int, int]]:
    one, two = [key(spot.meant) for spot in a], [key(spot.meant) for spot in b]
    found: list[Any] = SequenceMatcher(None, one, two, autojunk=False).get_opcodes()
    return found


def sameness(node: Any) -> bytes:
    return msgspec.json.encode(node)


def kinship(node: Any) -> tuple[Any, ...]:
    """What two things must share that they can be one thing changed."""
    match node:
        case Message():
            return (Message, "system" if node.role == "developer" else node.role)
        case Tool():
            return (Tool, node.namespace, node.name)
        case ToolCall():
            return (ToolCall, node.namespace, node.name)
    return (type(node),)


def title(node: Any, index: int) -> Trail:
    """What a node is called; a message has a number."""
    match node:
        case Message():
            return (f"message {index + 1}", node.role)
        case Candidate():
            return (f"candidate {index + 1}",) if index else ("answer",)
        case Tool():
            return (f"tool {full_name(node)}",)
        case ToolCall():
            return (f"call {full_name(node)}",)
        case ToolResult():
            return ("result",)
        case Citation():
            return (f"citation {index + 1}",)
    tag = getattr(type(node).__struct_config__, "tag", None)
    return (str(tag or type(node).__name__.lower()),)


# -- in words ----------------------------------------------------------------------------------

CONTEXT = 24
"""How much of what is the same is shown before the first difference of two long texts."""


def excerpts(difference: Difference, columns: int) -> tuple[str, str]:
    """Both sides on one line each; of long texts, the place where they part."""
    a, b = (phrase(side.value) if side else "" for side in (difference.a, difference.b))
    if difference.a and difference.b and max(len(a), len(b)) > columns:
        same = 0
        while same < min(len(a), len(b)) and a[same] == b[same]:
            same += 1
        start = max(same - CONTEXT, 0)
        if start:
            a, b = f"…{a[start:]}", f"…{b[start:]}"
    return a, b


def phrase(value: Json) -> str:
    """A value on one line, shorter where its words are all that matters."""
    if isinstance(value, dict):
        block, content = value.get("block"), value.get("content", [])
        if block == "text" and not value.keys() - TEXT:
            return brief(value["text"])
        if block == "tool-call":
            return f"{value['name']}({value.get('arguments', '')})"
        if block == "reasoning":
            return " ".join(map(brief, [*content, *value.get("summary", ())])) or "encrypted"
        if block == "tool-result" or "role" in value:
            return " ".join(map(phrase, content)) or "nothing"
    return brief(value)


TEXT = {"block", "text"}
