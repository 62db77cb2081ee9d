"""The assistant's messages of Chat Completions, with their calls, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.plain import Call, named, text_of
from ...core.reading import (
    as_dict,
    as_list,
    as_str,
    compact,
    maybe_list,
    maybe_str,
    need_dict,
    need_str,
    only,
    tokens,
)
from ...core.writing import Writing, joined, joint, note_joined
from ...dialect import merged
from ...model import (
    Block,
    Citation,
    Extras,
    Json,
    Media,
    Message,
    Passage,
    Raw,
    Reasoning,
    Refusal,
    Source,
    Text,
    ToolCall,
)
from ...tools import freeform
from . import gateways, inline, parts, signing
from .gateways import BLOCKS
from .signing import signature_of, taken_of

if TYPE_CHECKING:
    from . import OpenAIChat

LEGACY = "function_call"
NO_ARGUMENTS = ("{}", "")  # of other dialects; in the same one it is for ``repair`` to say
# The usual shapes
PLAIN_MESSAGE = only("role", "content")
CALLING_MESSAGE = only("role", "content", "tool_calls")
USUAL_REPLY = only("role", "content", "tool_calls", "refusal", "annotations")
PLAIN_CALL = only("id", "type", "function")
PLAIN_FUNCTION = only("name", "arguments")
# How compatible servers say what the model reasoning; the official API never does.
THINKING_KEYS = ("reasoning_content", "reasoning")


def read_calls(d: OpenAIChat, blocks: list[Block], calls: list[Json], at: str) -> bool:
    """Appends the calls to what was written before them; whether a freeform one is among them."""
    custom = False
    at += "/tool_calls"
    token = tokens(calls)
    for index, call in enumerate(calls):
        where = at + token[index]
        try:  # what has keys is an object: of JSON, there is nothing else
            call_id, kind, function = call["id"], call["type"], call["function"]
            name, text = function["name"], function["arguments"]
        except (KeyError, TypeError):
            kind = None
        if kind == "function" and PLAIN_CALL(call) and PLAIN_FUNCTION(function):
            if text.__class__ is name.__class__ is call_id.__class__ is str:
                blocks.append(ToolCall(call_id, name, text, at=where))  # the usual shape
                continue
        block = read_call(d, as_dict(call, where), where)
        custom = custom or is_custom(block)
        blocks.append(block)
    return custom


def write_calls(d: OpenAIChat, doc: dict[str, Json], calls: list[Block], w: Writing) -> None:
    out: list[Json] = []
    for call in calls:
        if not isinstance(call, ToolCall):
            out += d.write_part(call, w)
        elif is_legacy(d, call):
            function = {"name": call.name, "arguments": call.arguments or NO_ARGUMENTS[w.same]}
            doc[LEGACY] = d.emit(function, call, w.log)
        else:
            out.append(write_call(d, call, w))
    if out:
        doc["tool_calls"] = out


def read_assistant(d: OpenAIChat, doc: dict[str, Json], at: str) -> Message:
    content, calls = doc.get("content"), doc.get("tool_calls")
    if content.__class__ is str and PLAIN_MESSAGE(doc):
        return Message("assistant", (Text(content, at=f"{at}/content"),), at=at)
    if USUAL_REPLY(doc) and is_usual(doc):
        usual: list[Block] = [] if content is None else [Text(content, at=f"{at}/content")]
        if calls:
            read_calls(d, usual, calls, at)
        return Message("assistant", tuple(usual), at=at)
    taken = ["role", "content", "name"]
    partly: dict[str, Json] = {}
    blocks = read_beside(d, doc, at, taken, partly)
    blocks += read_message_item(d, doc, at, taken)
    if (signed := signature_of(doc)) is not None and signing.sign_last(d, blocks, signed):
        keys, found = taken_of(signed[0])
        taken += keys
        for key, inner in found.items():
            partly[key] = (*partly.get(key, ()), *inner)
    if (refusal := maybe_str(doc, "refusal", at)) is not None:
        blocks.append(Refusal(refusal, at=f"{at}/refusal"))
        taken.append("refusal")
    if calls:
        taken.append("tool_calls")
        read_calls(d, blocks, as_list(calls, f"{at}/tool_calls"), at)
    for key, read in ((LEGACY, read_legacy_call), ("audio", read_spoken)):
        if doc.get(key).__class__ is dict:
            taken.append(key)
            blocks.append(read(d, doc[key], f"{at}/{key}"))
    extras = d.keep(doc, taken, partly=partly)
    return Message("assistant", tuple(blocks), maybe_str(doc, "name", at), at=at, extras=extras)


def is_usual(doc: dict[str, Json]) -> bool:
    """Whether a message is a text and calls, as the API sends most: what else it has is empty."""
    content, calls = doc.get("content"), doc.get("tool_calls")
    return (
        doc.get("refusal") is None
        and doc.get("annotations") in (None, [])
        and (content is None or content.__class__ is str)
        and (calls is None or calls.__class__ is list)
    )


def read_message_item(
    d: OpenAIChat, doc: dict[str, Json], at: str, taken: list[str]
) -> Sequence[Block]:
    """The content, with what it cites, and calls that stand in it."""
    given = [inline.read_call(d, block) for block in parts.read_content(d, doc, at)]
    cited = maybe_list(doc, "annotations", at)
    if cited and len(given) == 1 and isinstance(given[0], Text):
        taken.append("annotations")
        citations = parts.read_annotations(d, cited, f"{at}/annotations")
        return [replace(given[0], citations=citations)]
    return given


def write_assistant(d: OpenAIChat, message: Message, w: Writing) -> Json | None:
    content, extras = message.content, message.extras
    if message.name is None and (extras is None or d.is_mute(extras)):
        if (usual := write_usual(d, content, w)) is not None:
            return usual
    beside: dict[str, Json] = {}
    spelled = d.sort_blocks(lift_signature(d, content, beside, w), w)
    doc: dict[str, Json] = {"role": "assistant"}
    doc["content"] = d.write_texts(spelled, doc, w)
    for block in spelled.others:
        d.write_beside(doc, block, w)
    if spelled.calls:
        write_calls(d, doc, spelled.calls, w)
    if not (w.same or w.reply) and doc["content"] is None and len(doc) == 2:
        d.lose(extras, message.at, w.log)
        d.omit_message(message, w.log)
        return None
    doc |= beside
    if message.name is not None:
        doc["name"] = message.name
    return d.emit(doc, message, w.log)


def lift_signature(
    d: OpenAIChat, content: tuple[Block, ...], beside: dict[str, Json], w: Writing
) -> tuple[Block, ...]:
    """The signature of the last text is the message's here."""
    for index in range(len(content) - 1, -1, -1):
        block = content[index]
        if isinstance(block, Text):
            bare = signing.write_signature(d, beside, block, w)
            if bare is block:
                return content
            return (*content[:index], bare, *content[index + 1 :])
    return content


def write_usual(d: OpenAIChat, content: Sequence[Block], w: Writing) -> Json | None:
    """A plain text, plain calls or both, which is what nearly every turn holds."""
    text = lost = None
    calls: list[ToolCall] = []
    for block in content:
        extras = block.extras
        if block.__class__ is ToolCall:
            if (
                extras is not None
                or block.cache is not None
                or block.kind != "function"
                or block.id is None
            ):
                return None
            calls.append(block)
        elif (
            block.__class__ is Text
            and text is None
            and not calls
            and (extras is None or (not w.same and (w.reply or d.is_mute(extras))))
            and block.cache is None
            and not block.citations
        ):
            if extras is not None and not d.is_mute(extras):
                if extras.signature is not None or d.is_same(extras.dialect):
                    return None
                lost = block
            text = block.text
        else:
            return None
    if lost is not None:
        d.lose(lost.extras, lost.at, w.log)
    if not calls:
        return None if text is None else {"role": "assistant", "content": text}
    written: list[Json] = []
    for call in calls:  # nothing is noted before it is sure that all of them are plain
        name, call_id = call.name, call.id
        if name not in w.names.staying:
            name = w.tool_name(name, call.at)
        if call_id is None or not w.ids.stays(call_id):
            call_id = w.call_id(call)
        function = {"name": name, "arguments": call.arguments or NO_ARGUMENTS[w.same]}
        written.append({"id": call_id, "type": "function", "function": function})
    return {"role": "assistant", "content": text, "tool_calls": written}


def sort_blocks(d: OpenAIChat, content: Sequence[Block], w: Writing) -> ChatReceived:
    """Text, then refusals, then calls."""
    spelled = ChatReceived()
    for block in content:
        if isinstance(block, Text) or is_marked_call(block):
            spelled.texts.append(block)
        elif isinstance(block, ToolCall) or is_raw_call(d, block):
            spelled.calls.append(block)
        elif stands_in_content(d, block, w):
            spelled.texts.append(block)
        else:
            spelled.others.append(block)
    return spelled


def is_marked_call(block: Block) -> bool:
    """A call with a cache mark, which stands in the content; other dialects have none here."""
    return isinstance(block, ToolCall) and block.cache is not None


def is_raw_call(d: OpenAIChat, block: Block) -> bool:
    """A kind of call that only some compatible server knows, in the same dialect."""
    return isinstance(block, Raw) and d.is_same(block.dialect) and "/tool_calls/" in block.at


def stands_in_content(d: OpenAIChat, block: Block, w: Writing) -> bool:
    """Whether a block that is no text stands in the content, where only some servers have it."""
    place = parts.place_of(d, block)
    if isinstance(block, Media | Passage | Raw):
        return w.same and place is None
    return place == "content"


def write_texts(d: OpenAIChat, written: ChatReceived, doc: dict[str, Json], w: Writing) -> Json:
    texts = written.texts
    if not texts:
        return None
    joined = w.reply and not w.same  # a reply is one string
    joints = joints_of(texts) if joined else [""] * len(texts)
    if any(isinstance(b, Text) and b.citations for b in texts):
        offset, lifted = 0, []
        for block, between in zip(texts, joints, strict=True):
            offset += len(between)
            lifted.append(lift_citations(d, block, doc, offset, w))
            offset += len(block.text) if joined and isinstance(block, Text) else 0
        texts = lifted
    if joined:
        return write_one_string(d, texts, joints, w)
    return parts.write_content(d, texts, w)


def write_one_string(d: OpenAIChat, texts: list[Block], joints: list[str], w: Writing) -> str:
    """A reply is one string here."""
    first = next((b for b in texts if isinstance(b, Text) and b.text), next(iter(texts), None))
    spelled: list[str] = []
    for block, between in zip(texts, joints, strict=True):
        if block is not first:
            note_joined(block, d, w)
        if isinstance(block, Text):
            spelled += (between, block.text)
        d.lose(block.extras, block.at, w.log)
    return "".join(spelled)


def lift_citations(
    d: OpenAIChat, block: Block, doc: dict[str, Json], offset: int, w: Writing
) -> Block:
    """Citations stand beside the content here, with their place in the whole of it."""
    if not isinstance(block, Text) or not block.citations:
        return block
    written = (write_annotation(d, c, len(block.text), offset, w) for c in block.citations)
    if found := [doc for doc in written if doc is not None]:
        doc["annotations"] = doc.get("annotations", []) + found
    return replace(block, citations=())


def write_annotation(
    d: OpenAIChat, cite: Citation, length: int, offset: int, w: Writing
) -> Json | None:
    if cite.kind == "other":
        return None if cite.extras is None else cite.extras.fields
    inner: dict[str, Json] = {} if cite.url is None else {"url": cite.url}
    if cite.title is not None or not w.same:
        inner["title"] = cite.title or ""
    span = cite.span
    if span is None and not w.same:
        span = (0, length)
    if span is not None:
        inner |= {"start_index": span[0] + offset, "end_index": span[1] + offset}
    return d.emit({"type": "url_citation", "url_citation": inner}, cite, w.log)


def write_beside(d: OpenAIChat, doc: dict[str, Json], block: Block, w: Writing) -> None:
    """What is not content: refusals, reasoning, speech, and what has no place at all."""
    match block:
        case Refusal():
            if doc.get("refusal") is not None:
                d.join_text(block.at, w.log)
            doc["refusal"] = (doc.get("refusal") or "") + block.text
            d.lose(block.extras, block.at, w.log)
        case Reasoning():
            d.write_reasoning(doc, block, w)
        case Media() | Raw() if parts.place_of(d, block) == "audio":
            doc["audio"] = write_spoken(d, block, w)
        case _:
            d.omit(block, w.log)


def read_beside(
    d: OpenAIChat, doc: dict[str, Json], at: str, taken: list[str], partly: dict[str, Json]
) -> list[Block]:
    """Reasoning: LiteLLM's blocks, which stand twice or three times in a message, or a text."""
    docs: Json = doc.get(BLOCKS)
    fields = doc.get(gateways.FIELDS)
    if gateways.are_blocks(docs):
        taken.append(BLOCKS)
        if doc.get(gateways.TWIN) == gateways.words_of(docs):
            taken.append(gateways.TWIN)
        if fields.__class__ is dict and fields.get(BLOCKS) == docs:
            partly[gateways.FIELDS] = (BLOCKS,)
        return [*gateways.read_blocks(d, docs, at)]
    for key in THINKING_KEYS:
        text = doc.get(key)
        if text.__class__ is str and text:
            taken.append(key)
            return [Reasoning((text,), at=f"{at}/{key}", extras=d.respell(None, place=key))]
    return []


def read_call(d: OpenAIChat, doc: dict[str, Json], at: str) -> Block:
    function, kind = doc.get("function"), doc.get("type")
    if kind == "custom":
        custom = need_dict(doc, "custom", at)
        return ToolCall(
            maybe_str(doc, "id", at),
            need_str(custom, "name", f"{at}/custom"),
            maybe_str(custom, "input", f"{at}/custom") or "",
            "custom",
            at=at,
            extras=keep_call(d, doc, {"custom": ("name", "input")}),
        )
    if function.__class__ is not dict and isinstance(kind, str) and kind != "function":
        return Raw(d.name, doc, at=at)
    function = need_dict(doc, "function", at)
    return ToolCall(
        maybe_str(doc, "id", at),
        need_str(function, "name", f"{at}/function"),
        read_arguments(function, f"{at}/function"),
        at=at,
        extras=keep_call(d, doc, {"function": ("name", "arguments")}),
    )


def keep_call(d: OpenAIChat, doc: dict[str, Json], partly: dict[str, Json]) -> Extras | None:
    """What a call says beyond the tree, and how it was signed."""
    signed = signature_of(doc)
    taken = ["id", "type"]
    if doc.get("index").__class__ is int:  # as in a stream; the place in the list says it
        taken.append("index")
    if signed is not None:
        keys, parts = taken_of(signed[0])
        taken += keys
        known: dict[str, Json] = {key: dict.fromkeys(inner, ()) for key, inner in partly.items()}
        partly = merged(known, parts)
    extras = d.keep(doc, taken, partly=partly)
    return extras if signed is None else signing.signed(d, extras, signed)


def write_call(d: OpenAIChat, call: ToolCall, w: Writing) -> Json:
    if d.can.freeform != "native":
        call = freeform.as_function(call, w.same)
    out: dict[str, Json] = {}
    if not w.same or call.id is not None:
        out["id"] = w.call_id(call)
    out["type"] = call.kind
    name = w.tool_name(call.name, call.at)
    if call.kind == "custom":
        out["custom"] = {"name": name, "input": call.arguments}
    else:
        out["function"] = {"name": name, "arguments": call.arguments or NO_ARGUMENTS[w.same]}
    return d.emit(out, signing.write_signature(d, out, call, w), w.log)


def read_plain_calls(docs: Json) -> list[Call] | None:
    """The calls of a message as plain turns have them, if they are plain."""
    if docs.__class__ is not list or not docs:
        return None
    out: list[Call] = []
    for doc in docs:
        try:  # what has keys is an object: of JSON, there is nothing else
            call_id, kind, function = doc["id"], doc["type"], doc["function"]
            name, given = function["name"], function["arguments"]
        except (KeyError, TypeError):
            return None
        if kind != "function" or not (PLAIN_CALL(doc) and PLAIN_FUNCTION(function)):
            return None
        if not (call_id.__class__ is name.__class__ is given.__class__ is str):
            return None
        if not given or given.isspace():
            return None
        out.append((call_id, name, given))
    return out


def write_plain_calls(calls: list[Call], w: Writing) -> list[Json]:
    out: list[Json] = []
    for call_id, name, given in named(calls, w):
        function = {"name": name, "arguments": text_of(given)}
        out.append({"id": call_id, "type": "function", "function": function})
    return out


def read_arguments(doc: dict[str, Json], at: str) -> str:
    """The argument text; some servers send an object, or nothing."""
    value = doc.get("arguments")
    if value.__class__ is dict:
        return compact(value)
    return "" if value is None else as_str(value, f"{at}/arguments")


def read_legacy_call(d: OpenAIChat, doc: dict[str, Json], at: str) -> Block:
    extras = d.keep(doc, ("name", "arguments"), {"place": LEGACY})
    return ToolCall(None, need_str(doc, "name", at), read_arguments(doc, at), at=at, extras=extras)


def is_legacy(d: OpenAIChat, call: ToolCall) -> bool:
    """Whether a call is a ``function_call``, from before there were tools."""
    return call.extras is not None and parts.place_of(d, call) == LEGACY


def read_spoken(d: OpenAIChat, doc: dict[str, Json], at: str) -> Block:
    """Audio that the model spoke: whole in a reply, by its id in a history."""
    data, spoken = maybe_str(doc, "data", at), maybe_str(doc, "id", at)
    transcript = maybe_str(doc, "transcript", at)
    place: dict[str, Json] = {"place": "audio"}
    if data is None and spoken is None:
        return Raw(d.name, doc, at=at, extras=Extras(d.name, spelling=place))
    source, key = Source("base64", data or ""), "data"
    if data is None and spoken is not None:
        source, key = Source("file", spoken, issuer=d.issuer), "id"
    extras = d.keep(doc, (key, "transcript"), place)
    return Media("audio", source, transcript=transcript, at=at, extras=extras)


def write_spoken(d: OpenAIChat, block: Media | Raw, w: Writing) -> Json:
    if isinstance(block, Raw):
        return block.payload
    out: dict[str, Json] = {"id" if block.source.kind == "file" else "data": block.source.value}
    if block.transcript is not None:
        out["transcript"] = block.transcript
    return d.emit(out, block, w.log)


def write_reasoning(d: OpenAIChat, doc: dict[str, Json], block: Reasoning, w: Writing) -> None:
    place = parts.place_of(d, block)
    if place == BLOCKS:
        return gateways.write_block(d, doc, block, w.log)
    key = place or d.thinking_key
    d.lose(block.extras, block.at, w.log)
    if key is None or not any(block.content):
        return None
    if not w.same and (key in doc or len(block.content) > 1):
        d.join_text(block.at, w.log)
    doc[key] = (doc[key] + "\n\n" if key in doc else "") + joined(block.content)
    return None


def is_custom(block: Block) -> bool:
    """Whether a block is a freeform call."""
    return block.__class__ is ToolCall and block.kind == "custom"


def joints_of(texts: Sequence[Block]) -> list[str]:
    """What stands before each text of a response where they become one."""
    out: list[str] = []
    before, cited = "", False
    for block in texts:
        text = block.text if isinstance(block, Text) else ""
        out.append(joint(before, text, cited))
        if isinstance(block, Text) and text:
            before, cited = text, bool(block.citations)
    return out


class ChatReceived:
    """What an assistant said, sorted."""

    __slots__ = ("calls", "others", "texts")

    def __init__(self) -> None:
        self.texts: list[Block] = []
        self.calls: list[Block] = []
        self.others: list[Block] = []
