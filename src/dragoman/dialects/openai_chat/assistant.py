"""The assistant's messages of Chat Completions, with their calls, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.reading import (
    as_dict,
    compact,
    expected,
    maybe_list,
    maybe_str,
    need_dict,
    need_str,
    only,
    parse,
    tokens,
)
from ...core.writing import Writing, is_plain_text, joined, joint, note_joined
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
    ToolResult,
)
from ...tools import freeform
from . import gateways, inline, parts, signing
from .gateways import BLOCKS, FIELDS
from .parts import EMPTY
from .signing import signature_of, taken_of

if TYPE_CHECKING:
    from . import OpenAIChat

SIMPLE_FUNCTION = frozenset({"name", "arguments"})
# The usual shapes
PLAIN_MESSAGE = only("role", "content")
CALLING_MESSAGE = only("role", "content", "tool_calls")
PLAIN_CALL = only("id", "type", "function")
PLAIN_FUNCTION = only("name", "arguments")
# How compatible servers say what the model reasoning; the official API never does.
THINKING_KEYS = ("reasoning_content", "reasoning")


def read_calls(d: OpenAIChat, blocks: list[Block], calls: list[Json], at: str) -> bool:
    """Appends the calls to what was said before them; whether a freeform one is among them."""
    custom = False
    at += "/tool_calls"
    token = tokens(calls)
    for index, call in enumerate(calls):
        where = at + token[index]
        if call.__class__ is dict and call.get("type") == "function" and PLAIN_CALL(call):
            function = call.get("function")
            if function.__class__ is dict and PLAIN_FUNCTION(function):
                call_id = call.get("id")
                name = function.get("name")
                text = function.get("arguments")
                if text.__class__ is name.__class__ is call_id.__class__ is str and text:
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
        elif call.extras is not None and d.spelling(call).get("legacy"):
            function: dict[str, Json] = {"name": call.name}
            write_arguments(d, function, call)
            doc["function_call"] = d.emit(function, call, w.log)
        else:
            out.append(write_call(d, call, w))
    if out:
        doc["tool_calls"] = out


def read_assistant(d: OpenAIChat, doc: dict[str, Json], at: str) -> Message:
    content = doc.get("content")
    calls = doc.get("tool_calls")
    blocks: list[Block] = []
    if content.__class__ is str and PLAIN_MESSAGE(doc):
        return Message("assistant", (Text(content, at=f"{at}/content"),), at=at)
    if (
        CALLING_MESSAGE(doc)
        and calls.__class__ is list
        and content is None
        and "content" in doc
        and calls
    ):
        read_calls(d, blocks, calls, at)
        return Message("assistant", tuple(blocks), at=at)
    taken = ["role", "content", "name"]
    partly: dict[str, Json] = {}
    if gateways.are_blocks(doc.get(gateways.BLOCKS)):
        blocks += read_thinking_blocks(d, doc, at, taken, partly)
    for key in THINKING_KEYS if not blocks else ():
        reasoning = doc.get(key)
        if reasoning.__class__ is str and reasoning:
            note = Extras(d.name, spelling={"key": key})
            blocks.append(Reasoning((reasoning,), at=f"{at}/{key}", extras=note))
            taken.append(key)
            break
    said, spelling = parts.read_content(d, doc, at)
    if content.__class__ is list:
        said = inline.read_spoken(d, said)
    if spelling == {"content": "null"}:
        spelling = None  # the usual form of an assistant that says nothing
    cited = maybe_list(doc, "annotations", at)
    if cited and len(said) == 1 and isinstance(said[0], Text):
        taken.append("annotations")
        citations = parts.read_annotations(d, cited, f"{at}/annotations")
        said = (replace(said[0], citations=citations),)
    blocks += said
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
        if calls.__class__ is not list:
            expected("a list", calls, f"{at}/tool_calls")
        for index, call in enumerate(calls):
            where = f"{at}/tool_calls/{index}"
            blocks.append(read_call(d, as_dict(call, where), where))
    if doc.get("function_call").__class__ is dict:
        taken.append("function_call")
        blocks.append(read_legacy_call(d, doc["function_call"], f"{at}/function_call"))
    if doc.get("audio").__class__ is dict:
        taken.append("audio")
        blocks.append(read_spoken(d, doc["audio"], f"{at}/audio"))
    extras = None
    if (
        not calls or spelling or not CALLING_MESSAGE(doc)
    ):  # role, content and calls: the usual shape
        spelling = {
            **(spelling or {}),
            **({"fields": True} if BLOCKS in partly.get(FIELDS, ()) else {}),
        }
        extras = d.keep(doc, taken, partly=partly)
        if spelling:
            extras = d.respell(extras, **spelling)
    name = maybe_str(doc, "name", at)
    return Message("assistant", tuple(blocks), name, at=at, extras=extras)


def write_assistant(d: OpenAIChat, message: Message, w: Writing) -> Json | None:
    content, extras = message.content, message.extras
    if message.name is None and (extras is None or d.is_mute(extras)):
        if (usual := write_usual(d, content, w)) is not None:
            return usual
    beside: dict[str, Json] = {}
    content = lift_signature(d, content, beside, w)
    if len(content) == 1 and message.extras is None and is_plain_text(content[0]):
        doc: dict[str, Json] = {"role": "assistant", "content": content[0].text}
    else:
        said = d.sort_blocks(content, w)
        doc = {"role": "assistant"}
        spelled = None if message.extras is None else d.spelling(message).get("content")
        if spelled != "absent":
            doc["content"] = d.write_said(said, spelled, doc, w)
        for block in said.others:
            d.write_beside(doc, block, w)
        if said.calls:
            write_calls(d, doc, said.calls, w)
        if not (w.home or w.answer) and doc["content"] is None and len(doc) == 2:
            d.lose(message.extras, message.at, w.log)
            d.omit_message(message, w.log)
            return None
    doc |= beside
    if "fields" in d.spelling(message) and gateways.BLOCKS in doc:
        doc[gateways.FIELDS] = {
            **doc.get(gateways.FIELDS, {}), gateways.BLOCKS: doc[gateways.BLOCKS]
        }  # fmt: skip
    if message.name is not None:
        doc["name"] = message.name
    return doc if message.extras is None else d.emit(doc, message, w.log)


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
    text = None
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
            and (extras is None or (not w.home and d.is_mute(extras)))
            and block.cache is None
            and not block.citations
        ):
            text = block.text
        else:
            return None
    if not calls:
        return None if text is None else {"role": "assistant", "content": text}
    written: list[Json] = []
    for call in calls:  # nothing is noted before it is sure that all of them are plain
        name, call_id = call.name, call.id
        if name not in w.names.staying:
            name = w.tool_name(name, call.at)
        if call_id is None or not w.ids.stays(call_id):
            call_id = w.call_id(call)
        function = {"name": name, "arguments": call.arguments or "{}"}
        written.append({"id": call_id, "type": "function", "function": function})
    return {"role": "assistant", "content": text, "tool_calls": written}


def sort_blocks(d: OpenAIChat, content: Sequence[Block], w: Writing) -> ChatSaid:
    """Text, then refusals, then calls."""
    said = ChatSaid()
    for block in content:
        if is_inline(d, block) or stands_in_content(d, block):
            said.texts.append(block)
        elif isinstance(block, ToolCall) or is_raw_call(d, block):
            said.calls.append(block)
        else:
            said.others.append(block)
    return said


def is_inline(d: OpenAIChat, block: Block) -> bool:
    """What stood in the content and is no text: a call, or what only this dialect knows."""
    if block.extras is None or not isinstance(block, ToolCall | Raw):
        return False
    return inline.PART in d.spelling(block)


def is_raw_call(d: OpenAIChat, block: Block) -> bool:
    """A kind of call that only some compatible server knows, at home."""
    return isinstance(block, Raw) and d.is_home(block.dialect) and "/tool_calls/" in block.at


def stands_in_content(d: OpenAIChat, block: Block) -> bool:
    """Whether a block stands in the content; reasoning does where a server put it there."""
    if isinstance(block, Reasoning):
        return "part" in d.spelling(block)
    return isinstance(block, Text | Refusal) and not is_beside(d, block)


def is_beside(d: OpenAIChat, block: Block) -> bool:
    """Whether a refusal stands beside the content (the usual place), not in it."""
    return isinstance(block, Refusal) and not d.spelling(block).get("part")


def write_said(
    d: OpenAIChat, said: ChatSaid, spelled: Json, doc: dict[str, Json], w: Writing
) -> Json:
    texts = said.texts
    if not texts:
        return EMPTY.get(spelled)
    joined = w.answer and not w.home  # an answer is one string
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
    return parts.write_content(d, texts, spelled, w)


def write_one_string(d: OpenAIChat, texts: list[Block], joints: list[str], w: Writing) -> str:
    """An answer is one string here."""
    first = next((b for b in texts if isinstance(b, Text) and b.text), next(iter(texts), None))
    said: list[str] = []
    for block, between in zip(texts, joints, strict=True):
        if block is not first:
            note_joined(block, d, w)
        if isinstance(block, Text):
            said += (between, block.text)
        d.lose(block.extras, block.at, w.log)
    return "".join(said)


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
    if cite.title is not None or not w.home:
        inner["title"] = cite.title or ""
    span = cite.span
    if span is None and not w.home:
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
        case Media() | Raw() if d.spelling(block).get("place") == "audio":
            doc["audio"] = write_spoken(d, block, w)
        case Media() | Passage() if w.home:  # some servers let the assistant say them, as parts
            doc.setdefault("content", [])
            doc["content"] = [*(doc["content"] or []), *d.write_part(block, w)]
        case _:
            d.omit(block, w.log)


def read_thinking_blocks(
    d: OpenAIChat, doc: dict[str, Json], at: str, taken: list[str], partly: dict[str, Json]
) -> list[Reasoning]:
    """LiteLLM's blocks, which stand twice or three times in a message."""
    docs, fields = doc[BLOCKS], doc.get(FIELDS)
    found = gateways.read_blocks(d, docs, doc.get(gateways.TWIN), at)
    taken.append(BLOCKS)
    if "twin" in d.spelling(found[0]):
        taken.append(gateways.TWIN)
    if fields.__class__ is dict and fields.get(BLOCKS) == docs:
        partly[FIELDS] = (BLOCKS,)
    return found


def read_call(d: OpenAIChat, doc: dict[str, Json], at: str) -> Block:
    function = doc.get("function")
    if function.__class__ is dict and PLAIN_CALL(doc) and PLAIN_FUNCTION(function):
        call_id, name, text = doc.get("id"), function.get("name"), function.get("arguments")
        if call_id.__class__ is str and name.__class__ is str and text.__class__ is str and text:
            if doc.get("type") == "function":
                return ToolCall(call_id, name, text, at=at)
    kind = doc.get("type")
    if kind == "custom":
        custom = need_dict(doc, "custom", at)
        said = {} if custom.get("input").__class__ is str else {"input": None}
        return ToolCall(
            maybe_str(doc, "id", at),
            need_str(custom, "name", f"{at}/custom"),
            maybe_str(custom, "input", f"{at}/custom") or "",
            "custom",
            at=at,
            extras=keep_call(d, doc, said, {"custom": ("name", "input")}),
        )
    if function.__class__ is not dict and isinstance(kind, str) and kind != "function":
        return Raw(d.name, doc, at=at)
    function = need_dict(doc, "function", at)
    text, spelling = read_arguments(function, f"{at}/function")
    if kind is None:
        spelling["type"] = None
    elif kind is not None and kind != "function":
        spelling["type"] = kind
    if doc.get("index").__class__ is int:  # as in a stream; the place in the list says it
        spelling["index"] = doc["index"]
    return ToolCall(
        maybe_str(doc, "id", at),
        need_str(function, "name", f"{at}/function"),
        text,
        at=at,
        extras=keep_call(d, doc, spelling, {"function": ("name", "arguments")}),
    )


def keep_call(
    d: OpenAIChat, doc: dict[str, Json], spelling: dict[str, Json], partly: dict[str, Json]
) -> Extras | None:
    """What a call says beyond the tree, and how it was signed."""
    signed = signature_of(doc)
    taken = ["id", "type"]
    if "index" in spelling:
        taken.append("index")
    if signed is not None:
        keys, parts = taken_of(signed[0])
        taken += keys
        known: dict[str, Json] = {key: dict.fromkeys(inner, ()) for key, inner in partly.items()}
        partly = merged(known, parts)
    extras = d.keep(doc, taken, spelling, partly=partly)
    return extras if signed is None else signing.signed(d, extras, signed)


def write_call(d: OpenAIChat, call: ToolCall, w: Writing) -> Json:
    if d.can.freeform != "native":
        call = freeform.as_function(call, w.home)
    out: dict[str, Json] = {}
    if not w.home or call.id is not None:
        out["id"] = w.call_id(call)
    out["type"] = call.kind
    name = w.tool_name(call.name, call.at)
    if call.kind == "custom":
        out["custom"] = {"name": name, "input": call.arguments}
        if "input" in d.spelling(call):
            del out["custom"]["input"]
        return d.emit(out, signing.write_signature(d, out, call, w), w.log)
    out["function"] = {"name": name, "arguments": call.arguments or "{}"}
    if call.extras is None:
        return out
    write_arguments(d, out["function"], call)
    if "type" in (spelling := d.spelling(call)):
        out["type"] = spelling["type"]
        if out["type"] is None:
            del out["type"]
    if "index" in spelling:
        out["index"] = spelling["index"]
    return d.emit(out, signing.write_signature(d, out, call, w), w.log)


def read_arguments(doc: dict[str, Json], at: str) -> tuple[str, dict[str, Json]]:
    """The argument text; some servers send an object, and blank means no arguments."""
    value = doc.get("arguments")
    if value.__class__ is str:
        return (value, {}) if value else ("{}", {"arguments": ""})
    if value is None:
        return "{}", {"arguments": None}
    if value.__class__ is not dict:
        expected("a string", value, f"{at}/arguments")
    return compact(value), {"arguments": "object"}


def write_arguments(d: OpenAIChat, function: dict[str, Json], call: ToolCall) -> None:
    spelled = d.spelling(call).get("arguments", "text")
    function["arguments"] = call.arguments or "{}"
    if spelled == "object":
        function["arguments"] = parse(call.arguments)
    elif spelled is None:
        del function["arguments"]
    elif spelled == "" and call.arguments == "{}":
        function["arguments"] = ""


def read_legacy_call(d: OpenAIChat, doc: dict[str, Json], at: str) -> Block:
    text, spelling = read_arguments(doc, at)
    extras = d.keep(doc, SIMPLE_FUNCTION, spelling | {"legacy": True})
    return ToolCall(None, need_str(doc, "name", at), text, at=at, extras=extras)


def read_spoken(d: OpenAIChat, doc: dict[str, Json], at: str) -> Block:
    """Audio that the model spoke: whole in an answer, by its id in a history."""
    data, spoken = maybe_str(doc, "data", at), maybe_str(doc, "id", at)
    transcript = maybe_str(doc, "transcript", at)
    if data is None and spoken is not None:
        source, taken = Source("file", spoken, issuer=d.issuer), ("id", "transcript")
    elif data is not None:
        source, taken = Source("base64", data), ("data", "transcript")
    else:
        return Raw(d.name, doc, at=at, extras=Extras(d.name, spelling={"place": "audio"}))
    extras = d.keep(doc, taken, {"place": "audio"})
    return Media("audio", source, transcript=transcript, at=at, extras=extras)


def write_spoken(d: OpenAIChat, block: Media | Raw, w: Writing) -> Json:
    if isinstance(block, Raw):
        return block.payload
    out: dict[str, Json] = {"id" if block.source.kind == "file" else "data": block.source.value}
    if block.transcript is not None:
        out["transcript"] = block.transcript
    return d.emit(out, block, w.log)


def write_reasoning(d: OpenAIChat, doc: dict[str, Json], block: Reasoning, w: Writing) -> None:
    if "blocks" in d.spelling(block):
        return gateways.write_block(d, doc, block, w.log)
    key = d.spelling(block).get("key") or d.thinking_key
    d.lose(block.extras, block.at, w.log)
    if key is None or not any(block.content):
        return None
    if not w.home and (key in doc or len(block.content) > 1):
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


class ChatSaid:
    """What an assistant said, sorted."""

    __slots__ = ("calls", "others", "texts")

    def __init__(self) -> None:
        self.texts: list[Block] = []
        self.calls: list[Block] = []
        self.others: list[Block] = []


def _stands_in(part: Block, result: ToolResult) -> bool:
    """Whether a part was read from the result itself, and not from the turn after it."""
    return not (part.at and result.at) or part.at.startswith(f"{result.at}/")
