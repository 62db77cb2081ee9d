"""What there is to see of a conversation: its turns, with each call beside its result.

A ``Portrait`` is between the canonical tree and what people look at, be it a terminal or a page.
It holds a stranger's text as it is; whoever renders it makes it harmless.
"""

from __future__ import annotations

import binascii
import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from ..core.media import is_base64, plain_type, sniff
from ..core.reading import parse
from ..core.writing import repeats_a_key, split_data_uri
from ..errors import Malformed
from ..model import (
    Block,
    Cache,
    Candidate,
    Citation,
    Failure,
    History,
    Hosted,
    Json,
    Media,
    Message,
    Node,
    Params,
    Passage,
    Raw,
    Reasoning,
    Refusal,
    Request,
    Response,
    Signature,
    Source,
    Stop,
    Text,
    Tool,
    Toolbox,
    ToolCall,
    ToolChoice,
    ToolResult,
    Training,
    Tree,
    Usage,
)

Fact: TypeAlias = tuple[str, str]
"""A label and what there is to say about it."""


class Words(NamedTuple):
    """What was written, in pieces: a text, and the marks of its sources after it."""

    pieces: tuple[tuple[str, str], ...]


class Refused(NamedTuple):
    text: str


class ReasoningText(NamedTuple):
    """Reasoning. ``signature`` tells whether it is signed or encrypted, and by whom."""

    text: str
    summary: bool = False
    signature: str = ""


class Thing(NamedTuple):
    """An image, audio, video or document; shown as a placeholder where necessary."""

    kind: str
    facts: tuple[str, ...]
    image: Source | None = None
    text: str = ""


class Reply(NamedTuple):
    """What a tool said. ``of`` tells to which call, where it does not stand beside it."""

    items: tuple[Item, ...]
    failed: bool = False
    of: str = ""


class Call(NamedTuple):
    """A call with its arguments: one by one, or as the text that they are."""

    name: str
    arguments: tuple[tuple[str, Json], ...]
    text: str = ""
    fault: str = ""
    id: str | None = None
    replies: tuple[Reply, ...] = ()


class Odd(NamedTuple):
    """What the tree has no name for, or what only one provider knows."""

    title: str
    payload: Json


class Note(NamedTuple):
    """A remark beside the conversation; a minor one is a field that only the dialect knows."""

    text: str
    minor: bool = False


Item: TypeAlias = Words | Refused | ReasoningText | Thing | Call | Reply | Odd | Note


class Turn(NamedTuple):
    role: str
    title: str
    at: str
    items: tuple[Item, ...]
    sources: tuple[str, ...] = ()
    end: tuple[Fact, ...] = ()


class Portrait(NamedTuple):
    title: str
    facts: tuple[Fact, ...]
    tools: tuple[Tool, ...] = ()
    turns: tuple[Turn, ...] = ()
    end: tuple[Fact, ...] = ()
    failure: str = ""
    rest: tuple[Fact, ...] = ()
    """fields that only the dialect knows"""


def draw(tree: Tree, facet: str = "") -> Portrait:
    """The portrait of any canonical tree."""
    title = " ".join(filter(None, (tree.dialect, facet or FACET[type(tree)])))
    rest = fields(tree)
    match tree:
        case Request():
            counted = many(len(tree.messages), "message")
            facts = [("model", tree.model or ""), ("", counted), *settings(tree)]
            turns = tuple(converse(tree.messages))
            return Portrait(title, known(facts), tree.tools or (), turns, rest=rest)
        case History():
            facts = [("", many(len(tree.messages), "message"))]
            return Portrait(title, known(facts), turns=tuple(converse(tree.messages)), rest=rest)
        case Response():
            return replied(tree, title)
        case Toolbox():
            facts = [("", many(len(tree.tools), "tool"))]
            return Portrait(title, known(facts), tree.tools, rest=rest)
        case ToolChoice():
            return Portrait(title, known([("tool choice", choice(tree))]), rest=rest)
        case Failure():
            return Portrait(title, (), failure=failed(tree), rest=rest)


FACET: dict[type[Node], str] = {
    Request: "request",
    History: "messages",
    Response: "response",
    Toolbox: "tools",
    ToolChoice: "tool choice",
    Failure: "error",
}


def known(facts: Sequence[Fact]) -> tuple[Fact, ...]:
    return tuple(fact for fact in facts if fact[1])


def fields(node: Node) -> tuple[Fact, ...]:
    extras = node.extras
    if extras is None:
        return ()
    if extras.records:
        return (("", many(len(extras.fields), "line")),)
    signed = known([("signature", signer(extras.signature))])
    return (*((k, brief(v)) for k, v in extras.fields.items()), *signed)


def replied(tree: Response, title: str) -> Portrait:
    facts = [("model", tree.model or ""), ("id", tree.id or ""), ("tier", tree.service_tier or "")]
    count = len(tree.candidates)
    turns = []
    for index, candidate in enumerate(tree.candidates):
        of = f"{index + 1} of {count}" if count > 1 else ""
        for turn in converse([candidate.message], of):
            turns.append(turn._replace(end=ended(candidate) if count > 1 else ()))
    failure = "" if tree.failure is None else failed(tree.failure)
    end = ended(tree.candidates[0]) if count == 1 else ()
    end += () if tree.usage is None else counts(tree.usage)
    return Portrait(title, known(facts), (), tuple(turns), end, failure, fields(tree))


# -- turns ---------------------------------------------------------------------------------------


def converse(messages: Sequence[Message], of: str = "") -> Iterator[Turn]:
    """The messages as turns. A result that follows its call at once is shown beside it."""
    pairs = pair(messages)
    for index, message in enumerate(messages):
        if index in pairs.folded:
            continue
        title = " ".join(filter(None, (message.name, of)))
        sources: list[str] = []
        items = tuple(look(message.content, pairs, sources))
        yield Turn(message.role, title, message.at, items + noted(message), tuple(sources))


class Pairs(NamedTuple):
    """Which results belong to which calls, known by ``id(call)`` and ``id(result)``."""

    folded: set[int]
    """messages that are shown beside a call, by index"""
    beside: dict[int, list[tuple[Message, ToolResult]]]
    apart: dict[int, str]
    """what the results reply that stand elsewhere"""


def pair(messages: Sequence[Message]) -> Pairs:
    """Each result with its call.

    By id, the latest open call first; where there are no ids, by name and order. Only what stands
    right after the turn of the call is moved to it, so that the order of the turns stays true.
    """
    pairs = Pairs(set(), {}, {})
    waiting: list[tuple[int, ToolCall]] = []
    turn = 0
    for index, message in enumerate(messages):
        if message.role != "tool":
            waiting += [(index, b) for b in message.content if isinstance(b, ToolCall)]
            turn = index
            continue
        for block in message.content:
            if not isinstance(block, ToolResult):
                continue
            found = asked(block, waiting)
            if found is None:
                pairs.apart[id(block)] = ""
                continue
            waiting.remove(found)
            if found[0] == turn and len(message.content) == 1:
                pairs.folded.add(index)
                pairs.beside.setdefault(id(found[1]), []).append((message, block))
            else:
                pairs.apart[id(block)] = full_name(found[1])
    return pairs


def asked(result: ToolResult, waiting: list[tuple[int, ToolCall]]) -> tuple[int, ToolCall] | None:
    """The call that a result replies: of the latest turn that has such a call, the first."""
    if result.call_id is not None:
        same = [entry for entry in waiting if entry[1].id == result.call_id]
        return next((e for e in same if e[0] == same[-1][0]), None)
    nameless = [e for e in waiting if e[1].id is None and result.name in (None, e[1].name)]
    return nameless[0] if nameless else None


def look(blocks: Sequence[Block], pairs: Pairs, sources: list[str]) -> Iterator[Item]:
    pieces: list[tuple[str, str]] = []
    for index, block in enumerate(blocks):
        if isinstance(block, Text):
            pieces += cited(block, sources)
            following = blocks[index + 1] if index + 1 < len(blocks) else None
            # A text with sources comes in fragments of one sentence; others are paragraphs.
            if isinstance(following, Text) and (block.citations or following.citations):
                continue
            yield Words(tuple(pieces))
            pieces = []
        elif isinstance(block, ToolCall):
            found = pairs.beside.get(id(block), ())
            replies = (reply(result, "", sources, noted(message)) for message, result in found)
            yield called(block)._replace(replies=tuple(replies))
        elif isinstance(block, ToolResult):
            yield reply(block, orphan(block, pairs.apart.get(id(block))), sources)
            continue
        else:
            yield from other(block)
        yield from remarks(block)


def orphan(result: ToolResult, call: str | None) -> str:
    """What a result that stands alone replies."""
    if call:
        return call
    who = f" ({result.call_id})" if result.call_id else ""
    return f"{result.name or 'a result'} without its call{who}"


def noted(node: Node) -> tuple[Note, ...]:
    return tuple(Note(f"{key}: {value}", minor=True) for key, value in fields(node))


def reply(result: ToolResult, of: str, sources: list[str], notes: tuple[Note, ...] = ()) -> Reply:
    items = tuple(look(result.content, Pairs(set(), {}, {}), sources))
    return Reply(items + notes + tuple(remarks(result)), bool(result.is_error), of)


def other(block: Block) -> Iterator[Item]:
    match block:
        case Reasoning():
            yield from reasoning(block)
        case Refusal():
            yield Refused(block.text)
        case Media():
            yield thing(block)
        case Passage():
            inside = "\n".join(b.text for b in block.content if isinstance(b, Text))
            facts = (block.title, block.source)
            yield Thing("passage", tuple(filter(None, facts)), text=inside)
        case Hosted():
            who = "" if block.executor == "provider" else " for the client"
            phase = {"call": "asked", "result": "answered", "both": "done"}[block.phase]
            yield Odd(f"{block.service} {phase}{who} ({block.dialect})", block.payload)
        case Raw():
            yield Odd(f"unknown block ({block.dialect})", block.payload)


def remarks(block: Block) -> Iterator[Note]:
    cache = getattr(block, "cache", None)
    if isinstance(cache, Cache):
        yield Note("cache breakpoint" + (f" · {cache.ttl}" if cache.ttl else ""))
    yield from noted(block)


def reasoning(block: Reasoning) -> Iterator[ReasoningText]:
    signature = signer(block.signature)
    if block.signature is not None and not any((*block.content, *block.summary)):
        yield ReasoningText("", signature=signature)
    for index, text in enumerate(filter(None, block.content)):
        yield ReasoningText(text, signature="" if index else signature)
    for index, text in enumerate(filter(None, block.summary)):
        yield ReasoningText(text, True, signature="" if index or any(block.content) else signature)


def signer(signature: Signature | None) -> str:
    if signature is None:
        return ""
    return f"{'signed' if signature.kind == 'signature' else 'encrypted'} for {signature.issuer}"


def cited(block: Text, sources: list[str]) -> Iterator[tuple[str, str]]:
    """A text, and after each statement the numbers of its sources."""
    marks: dict[int, str] = {}
    for citation in block.citations:
        source = origin(citation)
        if source not in sources:
            sources.append(source)
        span = citation.span
        end = span[1] if span and 0 < span[1] <= len(block.text) else len(block.text)
        mark = f"[{sources.index(source) + 1}]"
        if mark not in marks.get(end, ""):
            marks[end] = marks.get(end, "") + mark
    start = 0
    for end, mark in sorted(marks.items()):
        yield block.text[start:end], mark
        start = end
    if start < len(block.text) or not block.text:
        yield block.text[start:], ""


def origin(citation: Citation) -> str:
    title = citation.title or citation.filename
    place = citation.url or citation.file_id
    if place is None and citation.document is not None:
        place = f"document {citation.document + 1}"
    where = ""
    if citation.location is not None:
        unit, first, last = citation.location
        where = f"{unit} {first}-{last}" if first != last else f"{unit} {first}"
    quote = f"“{citation.quote}”" if citation.quote else ""
    return " · ".join(filter(None, (title, place, where, quote))) or citation.kind


# -- things --------------------------------------------------------------------------------------

PICTURES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
"""The images that are safe to show: they are rasters, and act on nothing."""


def thing(media: Media) -> Thing:
    source, image, text = media.source, None, ""
    facts = [media.filename or "", media.title or "" if media.title != media.filename else ""]
    uri = split_data_uri(source.value) if source.kind == "url" else None
    if uri is not None:
        source = Source("base64", uri[1], uri[0] or source.media_type)
    facts.append(source.media_type or "")
    if source.kind == "base64":
        image = picture(source)
        if image is not None and (known := dimensions(image)):
            facts.append(f"{known[0]}x{known[1]}")
        facts.append(size(len(source.value) * 3 // 4 - source.value[-2:].count("=")))
    elif source.kind == "text":
        facts.append(size(len(source.value.encode("utf-8", "replace"))))
        text = source.value
    elif source.kind == "blocks":
        text = "\n".join(b.text for b in source.blocks if isinstance(b, Text))
    else:
        facts.append(source.value)
    if media.detail:
        facts.append(f"{media.detail} detail")
    if media.transcript or media.context:
        text = "\n".join(filter(None, (text, media.context, media.transcript)))
    return Thing(media.kind, tuple(filter(None, facts)), image, text)


def picture(source: Source) -> Source | None:
    """An image that can be shown: whole base64, and of a type that its first bytes bear out."""
    if is_base64(source.value) and (found := sniff(source.value)) in PICTURES:
        return Source("base64", source.value, plain_type(found))
    return None


def dimensions(image: Source) -> tuple[int, int] | None:
    """Width and height of a PNG or a GIF in base64, by its head; of others nothing is known."""
    head = binascii.a2b_base64(image.value[:32])
    if image.media_type == "image/png" and len(head) >= 24:
        return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
    if image.media_type == "image/gif" and len(head) >= 10:
        return int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")
    return None


def size(count: int) -> str:
    """A number of bytes for people.

    >>> size(312), size(12_400), size(3_200_000)
    ('312 B', '12.4 kB', '3.2 MB')
    """
    for unit, name in ((1_000_000, "MB"), (1000, "kB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count} B"


# -- calls ---------------------------------------------------------------------------------------


def called(call: ToolCall) -> Call:
    if call.kind == "custom":
        return Call(full_name(call), (), call.arguments, id=call.id)
    text = call.arguments
    if not text.strip():
        return Call(full_name(call), (), id=call.id)
    try:
        value = parse(text)
    except Malformed:
        return Call(full_name(call), (), text, "not JSON", call.id)
    if not isinstance(value, dict):
        return Call(full_name(call), (), text, "not an object", call.id)
    if repeats_a_key(text, value):
        return Call(full_name(call), (), text, "duplicate key", call.id)
    return Call(full_name(call), tuple(value.items()), id=call.id)


def brief(value: Json) -> str:
    """A JSON value on one line."""
    return json.dumps(value, ensure_ascii=False)


def is_long(value: Json) -> bool:
    """Whether an argument is a text of several lines, and better shown as one."""
    return isinstance(value, str) and "\n" in value


# -- facts ---------------------------------------------------------------------------------------


def settings(tree: Request) -> list[Fact]:
    """The parameters of a request, each as one fact."""
    facts = [(name.replace("_", " "), setting(tree.params, name)) for name in SETTINGS]
    if tree.tool_choice is not None:
        facts.append(("tool choice", choice(tree.tool_choice)))
    if tree.prefill:
        facts.append(("", "the last message is a prefill"))
    if tree.training is not None:
        facts += of_training(tree.training)
    return facts + [(key, value) for key, value in fields(tree.params)]


def of_training(told: Training) -> list[Fact]:
    """What a record of a training set tells."""
    facts: list[Fact] = []
    if told.completion is not None:
        facts.append(("completion", f"the last {told.completion} messages"))
    if told.rejected is not None:
        facts.append(("rejected", f"{len(told.rejected)} messages"))
    if told.label is not None:
        facts.append(("label", "good" if told.label else "bad"))
    return facts


SETTINGS = tuple(f for f in Params.__struct_fields__ if f not in ("ats", "at", "extras"))


def setting(params: Params, name: str) -> str:
    value = getattr(params, name)
    if value is None:
        return ""
    if name == "output":
        return " ".join(filter(None, (value.kind, value.name)))
    if name == "thinking":
        budget = f"{value.budget:,} tokens" if value.budget is not None else None
        parts = (value.mode, value.effort, budget, value.display)
        return ", ".join(filter(None, parts)) or "default"
    if isinstance(value, Cache):
        return value.ttl or "marked"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(map(brief, value)) or "none"
    if isinstance(value, int):
        return f"{value:,}"
    return value if isinstance(value, str) else brief(value)


def choice(tree: ToolChoice) -> str:
    parts = [tree.name or tree.mode or ""]
    if tree.allowed is not None:
        parts.append(f"of {', '.join(tree.allowed) or 'none'}")
    if tree.parallel is not None:
        parts.append("calls in parallel" if tree.parallel else "one call at a time")
    if tree.payload is not None:
        parts.append(brief(tree.payload))
    return ", ".join(filter(None, parts)) or "default"


def ended(candidate: Candidate) -> tuple[Fact, ...]:
    facts: list[Fact] = []
    if candidate.stop is not None:
        facts.append(("stop", stopped(candidate.stop)))
    if candidate.logprobs is not None:
        facts.append(("", "with logprobs"))
    return tuple(facts)


def stopped(stop: Stop) -> str:
    native = stop.native if stop.native not in (None, stop.reason) else None
    sequence = brief(stop.sequence) if stop.sequence is not None else None
    detail = brief(stop.detail) if stop.detail is not None else None
    written = " ".join(filter(None, (stop.reason, sequence)))
    return ", ".join(filter(None, (written + (f" ({native})" if native else ""), detail)))


def counts(usage: Usage) -> tuple[Fact, ...]:
    """Tokens: what went in, what came out, and what of it was special."""
    cached = [f"{usage.cache_read:,} from cache"] if usage.cache_read else []
    cached += [f"{usage.cache_write:,} into cache"] if usage.cache_write else []
    reasoning = [f"{usage.reasoning:,} thinking"] if usage.reasoning else []
    return (
        ("tokens in", f"{usage.input_total:,}" + within(cached)),
        ("out", f"{usage.output_total:,}" + within(reasoning)),
    )


def within(parts: list[str]) -> str:
    return f" ({', '.join(parts)})" if parts else ""


def failed(failure: Failure) -> str:
    words = (failure.type, failure.code, failure.param)
    written = ", ".join(dict.fromkeys(w for w in words if w and w != failure.kind))
    return f"{failure.kind}: {failure.message}" + (f" ({written})" if written else "")


def many(count: int, what: str) -> str:
    """
    >>> many(1, "message"), many(2, "message")
    ('1 message', '2 messages')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def full_name(node: Tool | ToolCall) -> str:
    """The name of a tool, with its namespace if it has one."""
    return node.name if node.namespace is None else f"{node.namespace}.{node.name}"


def signature(tool: Tool) -> str:
    """What a tool takes: the names of its parameters, those that need not be given with ``?``."""
    if tool.kind == "hosted":
        return tool.service or ""
    schema = tool.schema if isinstance(tool.schema, dict) else {}
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict):
        return ""
    needed = required if isinstance(required, list) else ()
    return ", ".join(name if name in needed else f"{name}?" for name in properties)
