"""Replies as a provider of the AI SDK gives them: the result of ``doGenerate``, both ways.

What a part says to one provider alone is ``providerMetadata`` in a reply and ``providerOptions``
in a history; the arguments of a call are text in a reply and a value in a history.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from ...core import dates, heads
from ...core.counts import INPUT, OUTPUT, Counts
from ...core.reading import as_dict, maybe_dict, maybe_str, need_list, need_str, parse
from ...core.turns import lose_fields
from ...core.writing import Writing
from ...ledger import Ledger
from ...model import (
    Block,
    Candidate,
    Extras,
    Hosted,
    Json,
    Message,
    Raw,
    Response,
    Stop,
    ToolCall,
    Usage,
)
from ...tools import freeform
from .._ai_sdk import COUNTED
from .options import KEY, METADATA, finish, write_item
from .parts import add_block, read_part, write_call_head, write_part

if TYPE_CHECKING:
    from . import VercelModel


B = TypeVar("B", bound=Block)
DAY = 86_400
FLAT = Counts(COUNTED, omits=True, required=True)
# Since version 6 they are objects.
NESTED = Counts(
    {
        "inputTokens/total": INPUT,
        "inputTokens/noCache": ("input",),
        "inputTokens/cacheRead": ("cache_read",),
        "inputTokens/cacheWrite": ("cache_write",),
        "outputTokens/total": OUTPUT,
        "outputTokens/text": ("output",),
        "outputTokens/reasoning": ("reasoning",),
    },
    omits=True,
    required=True,
)
RESPONSE_KEYS = frozenset({"finishReason", "usage", "content"})


def read_response(d: VercelModel, doc: Json) -> Response:
    doc = as_dict(doc, "")
    if doc.get("type") == "error":
        return Response(None, None, (), failure=d.read_error(doc), dialect=d.name)
    taken = set(RESPONSE_KEYS)
    message = d.read_reply(doc, taken)
    usage = maybe_dict(doc, "usage", "")
    about = maybe_dict(doc, "response", "") or {}
    created = seconds_of(about.get("timestamp"))
    known = ("id", "modelId") if created is None else ("id", "modelId", "timestamp")
    if doc.get("warnings") == []:
        taken.add("warnings")
    candidate = Candidate(message, read_stop(d, doc, message), extras=read_word(d, doc))
    return Response(
        maybe_str(about, "id", "/response"),
        maybe_str(about, "modelId", "/response"),
        (candidate,),
        None if usage is None else d.read_usage(usage, "/usage"),
        created,
        dialect=d.name,
        extras=d.keep(doc, taken, partly={"response": known}),
    )


def write_response(d: VercelModel, tree: Response, log: Ledger) -> Json:
    w = d.writing(log, tree.dialect, reply=True)
    out: dict[str, Json] = {}
    candidate = tree.candidates[0] if tree.candidates else Candidate(Message("assistant"))
    d.write_reply(out, candidate.message, w)
    write_stop(d, out, candidate, w)
    d.put_usage(out, tree, w)
    write_about(d, out, tree, w)
    out["warnings"] = []
    return d.emit(out, tree, log)


def write_about(d: VercelModel, out: dict[str, Json], tree: Response, w: Writing) -> None:
    about: dict[str, Json] = {}
    if tree.id is not None:
        about["id"] = tree.id
    if tree.model is not None:
        about["modelId"] = tree.model
    if tree.created is not None and not (w.same or dates.has_year(tree.created)):
        d.lack("response.created", tree.at, w.log)  # a year of five digits
    elif tree.created is not None:
        about["timestamp"] = date_of(tree.created)
        if seconds_of(about["timestamp"]) != tree.created:
            heads.round_date("milliseconds", tree, d, w.log)
    if about:
        out["response"] = about


def read_reply(d: VercelModel, doc: dict[str, Json], taken: set[str]) -> Message:
    blocks: list[Block] = []
    for index, item in enumerate(need_list(doc, "content", "")):
        at = f"/content/{index}"
        add_block(blocks, read_reply_part(d, as_dict(item, at), at))
    return Message("assistant", tuple(blocks), at="/content")


def write_reply(d: VercelModel, out: dict[str, Json], message: Message, w: Writing) -> None:
    d.lose(message.extras, message.at, w.log)
    parts: list[Json] = []
    for block in message.content:
        parts += write_reply_part(d, block, w)
    out["content"] = parts


def read_reply_part(d: VercelModel, doc: dict[str, Json], at: str) -> Block:
    kind = doc.get("type")
    if kind in ("tool-call", "tool-result") and (
        kind == "tool-result" or doc.get("providerExecuted") is True
    ):
        phase = "call" if kind == "tool-call" else "result"
        name, call_id = need_str(doc, "toolName", at), need_str(doc, "toolCallId", at)
        return Hosted(d.family, name, doc, phase, id=call_id, at=at)  # type: ignore[arg-type]
    if kind == "tool-call":
        need_str(doc, "input", at)
    elif kind not in ("text", "reasoning", "file"):
        need_str(doc, "type", at)
        return Raw(d.family, doc, at=at)
    given = {k: v for k, v in doc.items() if k != KEY} if KEY in doc else doc
    block = read_part(d, renamed(given, METADATA, KEY), kind, at, frozenset())
    block = renamed_extras(block, KEY, METADATA)
    if doc.get(KEY) is None:
        return block
    # "providerOptions" are none in a reply, where they are a key like any that nobody knows.
    extras = block.extras or Extras(d.name)
    return replace(block, extras=replace(extras, fields=extras.fields | {KEY: doc[KEY]}))


def write_reply_part(d: VercelModel, block: Block, w: Writing) -> list[Json]:
    extras = block.extras
    if extras is not None and KEY in extras.fields and d.knows(extras.dialect):
        rest = {k: v for k, v in extras.fields.items() if k != KEY}
        parts = write_reply_part(d, replace(block, extras=replace(extras, fields=rest)), w)
        if parts:
            parts[0] = {**parts[0], KEY: extras.fields[KEY]}
        else:
            lose_stray(block, "the part with this field is omitted", w.log)
        return parts
    if isinstance(block, ToolCall):
        return [d.write_reply_call(block, w)]
    if isinstance(block, Raw | Hosted) and block.dialect == d.family:
        return [block.payload]
    if extras is not None and d.knows(extras.dialect):
        block = renamed_extras(block, METADATA, KEY)
    parts = write_part(d, block, "assistant", w)
    for part in parts:
        data = part.get("data")
        if data.__class__ is str and d.references:  # files are tagged there
            tag = "url" if ":" in data[:12] else "data"
            part["data"] = {"type": tag, tag: data}
    return [renamed(part, KEY, METADATA) for part in parts]


def lose_stray(block: Block, why: str, log: Ledger) -> None:
    """Report options in a reply, where there are none."""
    log.dropped("extras", f"{block.at}/{KEY}", why)


def write_reply_call(d: VercelModel, call: ToolCall, w: Writing) -> Json:
    call = freeform.as_function(call)
    if call.extras is not None and d.knows(call.extras.dialect):
        call = renamed_extras(call, METADATA, KEY)
    out = {"type": "tool-call", **write_call_head(call, w), "input": call.arguments or "{}"}
    return renamed(finish(d, out, call, w, write_item(call.item_id)), KEY, METADATA)


def read_stop(d: VercelModel, doc: dict[str, Json], message: Message) -> Stop | None:
    given = doc.get("finishReason")
    word = given.get("unified") if given.__class__ is dict else given
    if word is None:
        return None
    word = word if word.__class__ is str else need_str({"finishReason": given}, "finishReason", "")
    return d.stop_of(word, message)


def write_stop(d: VercelModel, out: dict[str, Json], candidate: Candidate, w: Writing) -> None:
    extras, word = candidate.extras, d.stop_word(candidate, w)
    reason: dict[str, Json] = {} if word is None else {"unified": word}
    own = extras is not None and (d.knows if d.nested else d.is_same)(extras.dialect)
    if extras is not None and own:
        reason |= d.spelling(candidate) | extras.fields.get("finishReason", {})
    else:
        d.lose(extras, candidate.at, w.log)
    if reason:
        out["finishReason"] = reason if d.nested or own else word


def read_word(d: VercelModel, doc: dict[str, Json]) -> Extras | None:
    """The reason beside the neutral word; ``raw`` is the provider's own for it."""
    given = doc.get("finishReason")
    if given.__class__ is not dict:
        return None
    extras = d.keep({"finishReason": given}, (), partly={"finishReason": ("unified", "raw")})
    return extras if given.get("raw") is None else d.respell(extras, raw=given["raw"])


def read_usage(d: VercelModel, doc: dict[str, Json], at: str) -> Usage:
    """All versions are read."""
    nested = any(doc.get(key).__class__ is dict for key in NESTED.partly)
    return (NESTED if nested else FLAT).read(d, doc, at)


def write_usage(d: VercelModel, usage: Usage, w: Writing) -> dict[str, Json]:
    extras = usage.extras
    table = table_of(d, usage) if w.same else d.counts
    out = table.write(d, usage, w)
    if table is NESTED:  # the SDK reads both objects, whatever is counted
        out = {key: out.get(key, {}) for key in NESTED.partly}
    elif extras is not None and extras.inner and not w.same:
        lose_fields(extras, usage.at, w.log)  # a count is a number here
        usage = replace(usage, extras=None)
    return d.emit(out, usage, w.log)


def table_of(d: VercelModel, usage: Usage) -> Counts:
    """The counts of another version, where something of theirs was kept that stands among them."""
    extras = usage.extras
    if extras is None:
        return d.counts
    if extras.inner:
        return NESTED
    return next(
        table for table in (d.counts, FLAT, NESTED) if extras.spelling.keys() <= table.rows.keys()
    )


def settle(d: VercelModel, message: Message, log: Ledger) -> Message:
    """A reply as it stands in a history: metadata become options, arguments a value."""
    content: list[Block] = []
    for block in message.content:
        if isinstance(block, Hosted) and block.dialect == d.family:
            content.append(replace(block, payload=settled(block.payload)))
        elif isinstance(block, Raw) and block.payload["type"] == "source":
            log.dropped("raw", block.at, f"{d.name} has no sources in the messages of a request")
        else:
            extras = block.extras
            if extras is not None and KEY in extras.fields:
                lose_stray(block, f"only a reply of {d.name} had {KEY!r}", log)
                fields = {k: v for k, v in extras.fields.items() if k != KEY}
                block = replace(block, extras=replace(extras, fields=fields))
            content.append(renamed_extras(block, METADATA, KEY))
    return replace(message, content=tuple(content))


def renamed(doc: dict[str, Json], old: str, new: str) -> dict[str, Json]:
    """A part with one of its keys under another name."""
    if old not in doc:
        return doc
    return {new if key == old else key: value for key, value in doc.items()}


def renamed_extras(block: B, old: str, new: str) -> B:
    """A block whose options are kept under another name."""
    extras: Extras | None = block.extras
    if extras is None or old not in extras.fields:
        return block
    inner = tuple(new if key == old else key for key in extras.inner)
    return replace(
        block, extras=replace(extras, fields=renamed(extras.fields, old, new), inner=inner)
    )


def settled(payload: dict[str, Json]) -> dict[str, Json]:
    """What a provider's tool did, as a history says it."""
    doc = renamed(payload, METADATA, KEY)
    if doc.get("type") == "tool-call" and doc.get("input").__class__ is str:
        return doc | {"input": parse(doc["input"] or "{}")}
    if doc.get("type") == "tool-result" and "result" in doc:
        kind = "error-json" if doc.get("isError") else "json"
        rest = {k: v for k, v in doc.items() if k not in ("result", "isError")}
        return rest | {"output": {"type": kind, "value": doc["result"]}}
    return doc


# -- dates: JSON has none, and a clock is nothing for this layer ------------------------------


def date_of(seconds: float) -> str:
    """Seconds since 1970 as ``Date`` prints them: ``2026-01-31T12:00:00.000Z``."""
    clock, millis = divmod(round(seconds * 1000), 1000)
    days, clock = divmod(clock, DAY)
    year, month, day = dates.date_of(days)
    hours, minutes = divmod(clock // 60, 60)
    return f"{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{clock % 60:02}.{millis:03}Z"


def seconds_of(written: Json) -> float | None:
    """The reverse; None for any other form."""
    if (
        written.__class__ is not str
        or len(written) != 24
        or written[-1] != "Z"
        or not written.isascii()
    ):
        return None
    numbers = (
        written[:4],
        written[5:7],
        written[8:10],
        written[11:13],
        written[14:16],
        written[17:19],
        written[20:23],
    )
    if not all(number.isdigit() for number in numbers):
        return None
    year, month, day, hours, minutes, seconds, millis = map(int, numbers)
    whole = dates.days_of(year, month, day) * DAY + hours * 3600 + minutes * 60 + seconds
    found = whole + millis / 1000 if millis else whole
    return found if date_of(found) == written else None
