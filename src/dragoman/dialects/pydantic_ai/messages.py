"""The requests and responses of Pydantic AI, both ways.

A request becomes a message for each of its parts. What the request says of itself is kept with the
first of them; what a part says beyond the tree is kept with its message, under ``parts`` and its
place where that is the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.reading import as_dict, need_list, need_str
from ...core.writing import Writing
from ...errors import Malformed
from ...ledger import Ledger
from ...model import (
    Block,
    Extras,
    History,
    Json,
    Message,
    Raw,
    Reasoning,
    Signature,
    Text,
    ToolCall,
    ToolResult,
)
from .. import _stored
from . import parts

if TYPE_CHECKING:
    from . import PydanticAI

WHOLE = "raw"
"""The code of a block that is a whole message of a kind that is not known."""
SPOKEN = "instructions"
"""The spelling of a system message that is the instructions of a request."""
FEEDBACK = frozenset({"retry-prompt", "retry-feedback"})
"""What the framework says in the name of the user when it asks for another try."""
NOUGHT: Mapping[str, tuple[Json, ...]] = {
    "state": ("complete",), "scope": ("conversation",), "force_download": (False,),
}  # fmt: skip
"""What is written of nearly everything, and says no more than its absence."""


def read_messages(d: PydanticAI, doc: Json) -> History:
    return _stored.read_list(d, doc, lambda docs, at: read_history(d, docs, at))


def write_messages(d: PydanticAI, tree: History, log: Ledger) -> Json:
    w = Writing(log, _stored.FREE, _stored.FREE, d.is_same(tree.dialect))
    return _stored.write_list(d, tree, lambda messages: write_history(d, messages, w), log)


# -- reading --------------------------------------------------------------------------------


def read_history(d: PydanticAI, docs: list[Json], at: str) -> list[Message]:
    out: list[Message] = []
    called: dict[str | None, str] = {}
    spoken = last_instructions(docs)
    for index, item in enumerate(docs):
        where = f"{at}/{index}"
        doc = as_dict(item, where)
        kind = need_str(doc, "kind", where)
        listed = need_list(doc, "parts", where) if kind in ("request", "response") else []
        if kind == "response":
            out.append(read_response(d, doc, listed, where, called))
        elif listed:
            own = spoken[1] if spoken is not None else None
            out += read_request(d, doc, listed, where, called, own)
        else:  # a request of nothing, or something that is neither
            out.append(Message("user", (Raw(d.name, doc, code=WHOLE, at=where),), at=where))
    if spoken is not None:
        index, text = spoken
        where = f"{at}/{index}/{SPOKEN}"
        note = Extras(d.name, spelling={SPOKEN: True})
        out.insert(0, Message("system", (Text(text, at=where),), at=where, extras=note))
    return out


def last_instructions(docs: list[Json]) -> tuple[int, str] | None:
    """The instructions that count: "only the instructions of the last request"."""
    for index in range(len(docs) - 1, -1, -1):
        doc = docs[index]
        if doc.__class__ is dict and doc.get("kind") == "request" and doc.get("parts"):
            text = doc.get(SPOKEN)
            return (index, text) if text.__class__ is str else None
    return None


def left_over(d: PydanticAI, doc: dict[str, Json], taken: set[str]) -> dict[str, Json]:
    """What a part or a message says beyond the tree, without what nearly all say."""
    silent = {key for key, values in NOUGHT.items() if doc.get(key) in values}
    extras = d.keep(doc, taken | silent)
    return {} if extras is None else extras.fields


def read_request(
    d: PydanticAI,
    doc: dict[str, Json],
    listed: list[Json],
    at: str,
    called: dict[str | None, str],
    spoken: str | None,
) -> list[Message]:
    out: list[Message] = []
    taken = {"parts", "kind"}
    if spoken is not None and doc.get(SPOKEN) == spoken:
        taken.add(SPOKEN)
    own = left_over(d, doc, taken)
    for index, item in enumerate(listed):
        where = f"{at}/parts/{index}"
        message = read_part(d, as_dict(item, where), where, called)
        if own and not index:
            message = with_request(d, message, own, at)
        out.append(message)
    return out


def with_request(d: PydanticAI, message: Message, own: dict[str, Json], at: str) -> Message:
    """The first message of a request, with what the request says of itself."""
    extras = message.extras
    if extras is None:
        return replace(message, at=at, extras=Extras(d.name, own))
    fields, inner = dict(own), extras.inner
    if extras.fields:
        fields["parts"] = {"0": extras.fields}
        inner = ("parts", "parts/0", *(f"parts/0/{key}" for key in inner))
    return replace(message, at=at, extras=Extras(d.name, fields, extras.spelling, inner))


def read_part(
    d: PydanticAI, doc: dict[str, Json], at: str, called: dict[str | None, str]
) -> Message:
    kind = need_str(doc, "part_kind", at)
    taken = {"part_kind", "content"}
    if kind == "system-prompt":
        text = need_str(doc, "content", at)
        extras = keep(d, doc, taken)
        return Message("system", (Text(text, at=f"{at}/content"),), at=at, extras=extras)
    if kind == "user-prompt":
        content = parts.read_user(d, doc.get("content"), f"{at}/content")
        return Message("user", tuple(content), at=at, extras=keep(d, doc, taken))
    named = doc.get("tool_name").__class__ is str
    if kind == "tool-return" or (kind == "retry-prompt" and named):
        result, extras = parts.read_result(d, doc, kind, at, called)
        return Message("tool", (result,), at=at, extras=extras)
    if kind in FEEDBACK:
        text = parts.told(doc.get("content"))
        extras = keep(d, doc, taken, {"part": kind})
        return Message("user", (Text(text, at=f"{at}/content"),), at=at, extras=extras)
    return Message("user", (Raw(d.name, doc, at=at),), at=at)


def keep(
    d: PydanticAI, doc: dict[str, Json], taken: set[str], spelling: dict[str, Json] | None = None
) -> Extras | None:
    fields = left_over(d, doc, taken)
    return Extras(d.name, fields, spelling or {}) if fields or spelling else None


def read_response(
    d: PydanticAI,
    doc: dict[str, Json],
    listed: list[Json],
    at: str,
    called: dict[str | None, str],
) -> Message:
    content: list[Block] = []
    waiting: Signature | None = None
    for index, item in enumerate(listed):
        where = f"{at}/parts/{index}"
        part = as_dict(item, where)
        block = parts.read_part(d, part, where, doc.get("provider_name"))
        if waiting is not None and content:
            last = content[-1]
            if isinstance(last, Reasoning) and (own := parts.pass_on(d, block, waiting)):
                content[-1], block = replace(last, signature=None), own
        mark = block.signature if isinstance(block, Reasoning) else None
        late = mark is not None and mark.issuer == "google" and part.get("signature") is not None
        waiting = mark if late else None
        if isinstance(block, ToolCall):
            called[block.id] = block.name
        _stored.add(content, block)
    taken = {"parts", "kind"}
    usage = doc.get("usage")
    if usage.__class__ is dict and not any(usage.values()):
        taken.add("usage")  # nobody has counted
    return Message("assistant", tuple(content), at=at, extras=keep(d, doc, taken))


# -- writing --------------------------------------------------------------------------------


def write_history(d: PydanticAI, messages: Sequence[Message], w: Writing) -> list[Json]:
    out: list[Json] = []
    called: dict[str | None, str] = {}
    spoken: str | None = None
    for message in messages:
        first = message.content[0] if len(message.content) == 1 else None
        if isinstance(first, Raw) and first.code == WHOLE and d.is_same(first.dialect):
            out.append(first.payload)
        elif message.role == "assistant":
            out.append(write_response(d, message, w, called))
        elif w.same and message.extras is not None and message.extras.spelling.get(SPOKEN):
            spoken = "\n\n".join(b.text for b in message.content if isinstance(b, Text))
        else:
            add_parts(d, message, out, w, called)
    if spoken is not None:
        give_instructions(out, spoken)
    return out


def give_instructions(out: list[Json], text: str) -> None:
    """Every request of a run has its instructions, and the last ones count."""
    requests = [doc for doc in out if doc.get("kind") == "request" and doc.get("parts")]
    for doc in requests:
        doc.setdefault(SPOKEN, text)
    if not requests:
        part = {"content": text, "part_kind": "system-prompt"}
        out.insert(0, {"parts": [part], "kind": "request"})


def add_parts(
    d: PydanticAI,
    message: Message,
    out: list[Json],
    w: Writing,
    called: Mapping[str | None, str],
) -> None:
    """A message as parts of the request that is being written, or of a new one."""
    own, message = of_request(d, message)
    written = write_parts(d, message, w, called)
    if not out or out[-1]["kind"] != "request" or not out[-1].get("parts") or own:
        out.append({"parts": [], "kind": "request", **own})
    out[-1]["parts"] += written


def of_request(d: PydanticAI, message: Message) -> tuple[dict[str, Json], Message]:
    """What is kept of a request, and the message with what is kept of its part alone."""
    extras = message.extras
    if extras is None or not d.is_same(extras.dialect) or "/parts/" in message.at:
        return {}, message
    own = {key: value for key, value in extras.fields.items() if key != "parts"}
    of_part = extras.fields.get("parts")
    inner = of_part.get("0", {}) if of_part.__class__ is dict else {}
    return own, replace(message, extras=replace(extras, fields=inner, inner=()))


def write_parts(
    d: PydanticAI, message: Message, w: Writing, called: Mapping[str | None, str]
) -> list[Json]:
    content = message.content
    first = content[0] if len(content) == 1 else None
    if message.role == "tool":
        if not isinstance(first, ToolResult):
            raise Malformed("only one tool result is allowed in a tool message", message.at)
        return [d.emit(parts.write_result(d, first, w, called), message, w.log)]
    if message.role == "system":
        return write_system(d, message, w)
    if isinstance(first, Raw) and d.is_same(first.dialect):
        return [first.payload]
    spelling = message.extras.spelling if message.extras is not None and w.same else {}
    kind = spelling.get("part", "user-prompt")
    written: Json = parts.write_user(d, content, w)
    if kind in FEEDBACK and written.__class__ is list:
        kind = "user-prompt"
    return [d.emit({"content": written, "part_kind": kind}, message, w.log)]


def write_system(d: PydanticAI, message: Message, w: Writing) -> list[Json]:
    """A system prompt is one text; of several, each becomes a prompt of its own."""
    out: list[Json] = []
    for block in message.content:
        if not isinstance(block, Text):
            d.omit(block, w.log)
            continue
        if out:
            why = f"{d.name} writes one text per system prompt; the others become prompts"
            w.log.approximated("message.boundary", block.at, why)
        if block.cache is not None:
            w.log.dropped("cache", block.cache.at, f"{d.name} has no cache marks in system prompts")
        d.lose(block.extras, block.at, w.log)
        node = message if not out else replace(message, extras=None)
        out.append(d.emit({"content": block.text, "part_kind": "system-prompt"}, node, w.log))
    if not out:
        d.lose(message.extras, message.at, w.log)
        d.omit_message(message, w.log)
    return out


def write_response(
    d: PydanticAI, message: Message, w: Writing, called: dict[str | None, str]
) -> dict[str, Json]:
    written: list[Json] = []
    for block in message.content:
        written += parts.write_part(d, block, w)
        if isinstance(block, ToolCall):
            called[block.id] = written[-1]["tool_name"]
    return d.emit({"parts": written, "kind": "response"}, message, w.log)
