"""Parts of Gemini's contents, both ways."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ...core.media import kind_of, standard
from ...core.plain import Call, Turn
from ...core.reading import (
    as_dict,
    compact,
    encode,
    expected,
    maybe_dict,
    maybe_list,
    maybe_str,
    need_str,
    only,
    sole,
    tokens,
)
from ...core.turns import HOISTED
from ...core.writing import Writing, joined, json_of, same_only
from ...dialect import NOTHING, Dialect
from ...ledger import Ledger
from ...model import (
    Block,
    Extras,
    Hosted,
    Json,
    Media,
    Message,
    Node,
    Raw,
    Reasoning,
    Signature,
    Source,
    Text,
    ToolCall,
    ToolResult,
)
from . import fitting
from .schema import Saying
from .spelling import CAMEL, SNAKE, both, pick_str

if TYPE_CHECKING:
    from . import Gemini


NOBODY: frozenset[str] = frozenset()
Called = dict[str, str]
"""The names of the calls so far, by id."""

TEXT_KEYS = frozenset({"text"})
SIGNATURE = both("thoughtSignature")
THOUGHT_KEYS = both("text", "thought") | SIGNATURE
CALL_KEYS = ("id", "name", "args")
RESULT_KEYS = frozenset({"id", "name", "response", "parts"})
DATA_KEYS = both("mimeType", "data", "displayName")
FILE_KEYS = both("mimeType", "fileUri", "displayName")
# https://ai.google.dev/api/caching#ToolType
SERVICES = {
    "GOOGLE_SEARCH_WEB": "web_search",
    "GOOGLE_SEARCH_IMAGE": "image_search",
    "URL_CONTEXT": "web_fetch",
    "GOOGLE_MAPS": "maps",
    "FILE_SEARCH": "file_search",
}
# Addresses that only Google can open: the Files API's, and those of its cloud storage.
OWN_FILES = ("https://generativelanguage.googleapis.com/", "gs://")
# The usual shapes
PLAIN_PART = only("text")
PLAIN_THOUGHT = only("text", "thought")
PLAIN_CALLING = only("functionCall")
SIGNED_CALLING = only("functionCall", "thoughtSignature")
PLAIN_CALL = only("id", "name", "args")
PLAIN_REPLYING = only("functionResponse")
PLAIN_RESULT = only("id", "name", "response")
PLAIN_REPLY = only("output")
ANSWER = "/functionResponse/response/output"
VIDEO_SITES = ("https://youtu.be/", "https://www.youtube.com/", "https://youtube.com/")


CALL_SET = frozenset(CALL_KEYS)
THOUGHT_FALSE = TEXT_KEYS | {"thought"}

EMPTY: Json = {"text": ""}


def read_parts(
    d: Gemini, docs: list[Json], at: str, called: Called, custom: frozenset[str] = NOBODY
) -> list[Block]:
    out: list[Block] = []
    token = tokens(docs)
    for index, doc in enumerate(docs):
        where = at + token[index]
        if doc.__class__ is not dict:
            expected("an object", doc, where)
        # The usual shapes, most parts by far: nothing in them is null, missing or unknown.
        if PLAIN_PART(doc):
            if (text := doc.get("text")).__class__ is str:
                out.append(Text(text, at=where))
                continue
        elif PLAIN_CALLING(doc) and (call := doc.get("functionCall")).__class__ is dict:
            call_id, name, given = call.get("id"), call.get("name"), call.get("args")
            if name.__class__ is str and given.__class__ is dict and PLAIN_CALL(call):
                if call_id.__class__ is str or "id" not in call:
                    if name not in custom:
                        if call_id is not None:
                            called[call_id] = name
                        out.append(ToolCall(call_id, name, encode(given).decode(), at=where))
                        continue
        elif PLAIN_THOUGHT(doc) and doc.get("thought") is True:
            if (text := doc.get("text")).__class__ is str:
                out.append(Reasoning((text,), at=where))
                continue
        out.append(read_part(d, doc, where, called, custom))
    return out


def write_parts(d: Gemini, blocks: Sequence[Block], w: Writing, called: Called) -> list[Json]:
    out: list[Json] = []
    same, log, staying = w.same, w.log, w.names.staying
    for block in blocks:
        extras = block.extras
        # The usual shapes, most blocks by far: nothing to them that could get lost.
        if extras is not None and not d.is_mute(extras):
            pass
        elif block.__class__ is Text:
            if block.text and block.cache is None and not block.citations:
                out.append({"text": block.text})
                continue
        elif block.__class__ is Reasoning:
            if block.signature is None and len(block.content) == 1:
                out.append({"text": block.content[0], "thought": True})
                continue
        elif block.__class__ is ToolCall:
            call_id, name = block.id, block.name
            if (
                call_id is not None
                and (name in staying or same)
                and block.kind == "function"
                and block.arguments
                and block.cache is None
            ):
                called[call_id] = name
                inner = {"id": call_id, "name": name, "args": json_of(block, log)}
                out.append({"functionCall": inner})
                continue
        out += write_part(d, block, w, called)
    return out


def read_results(docs: list[Json], at: str, called: Called) -> list[Message] | None:
    """A turn of nothing but usual results, as most are: each a message of its own; else None.

    This is what read_result makes of each where it finds nothing to keep.
    """
    out: list[Message] = []
    token = tokens(docs)
    for index, doc in enumerate(docs):
        try:  # what has keys is an object: of JSON, there is nothing else
            result = doc["functionResponse"]
            call_id, name, reply = result.get("id"), result["name"], result["response"]
            stated = reply["output"]
        except (KeyError, TypeError, AttributeError):
            return None
        if name.__class__ is not str or stated.__class__ is not str:
            return None
        if call_id.__class__ is not str and "id" in result:
            return None
        if not (PLAIN_REPLYING(doc) and PLAIN_RESULT(result) and PLAIN_REPLY(reply)):
            return None
        if called.get(call_id) == name:
            name = None
        elif called or call_id is not None:
            return None  # not as its call is: see pairing
        where = at + token[index]
        text = Text(stated, at=where + ANSWER)
        result = ToolResult(call_id, (text,), None, name, at=where)
        out.append(Message("tool", (result,), at=where))
    return out


def only_words(docs: Json) -> str | None:
    """The text of parts that are one plain text."""
    if docs.__class__ is not list or len(docs) != 1:
        return None
    doc = docs[0]
    text = doc.get("text") if doc.__class__ is dict and PLAIN_PART(doc) else None
    return text if text.__class__ is str else None


def read_plain_parts(docs: list[Json], called: Called, turns: list[Turn]) -> bool:
    """What the model says and calls as a plain turn, if that is a text at most and then calls."""
    text: str | None = None
    calls: list[Call] = []
    for doc in docs:
        if doc.__class__ is not dict:
            return False
        call = doc.get("functionCall")
        if call is None:
            if calls or text is not None or (text := only_words([doc])) is None:
                return False
            continue
        if call.__class__ is not dict or not (PLAIN_CALLING(doc) and PLAIN_CALL(call)):
            return False
        call_id, name, given = call.get("id"), call.get("name"), call.get("args")
        if not (call_id.__class__ is name.__class__ is str and given.__class__ is dict):
            return False
        called[call_id] = name
        calls.append((call_id, name, given))
    turns.append(("assistant", text, calls or None))
    return True


def read_plain_reply_parts(
    docs: Json,
) -> tuple[str | None, str | None, list[Call], dict[int, str] | None] | None:
    """What the model reasoned, said and called, in this order, and what is signed of the calls."""
    if docs.__class__ is not list:
        return None
    reasoning = text = None
    calls: list[Call] = []
    signed: dict[int, str] | None = None
    for doc in docs:
        if doc.__class__ is not dict:
            return None
        call = doc.get("functionCall")
        if call is None:
            words = doc.get("text")
            if calls or text is not None or words.__class__ is not str:
                return None
            if PLAIN_PART(doc):
                text = words
            elif reasoning is None and PLAIN_THOUGHT(doc) and doc.get("thought") is True:
                reasoning = words
            else:
                return None
            continue
        if call.__class__ is not dict or not (SIGNED_CALLING(doc) and PLAIN_CALL(call)):
            return None
        if (signature := doc.get("thoughtSignature")) is not None:
            if signature.__class__ is not str or not signature:
                return None
            signed = signed or {}
            signed[len(calls)] = signature
        call_id, name, given = call.get("id"), call.get("name"), call.get("args")
        if not (call_id.__class__ is name.__class__ is str and given.__class__ is dict):
            return None
        calls.append((call_id, name, given))
    return reasoning, text, calls, signed


def read_plain_results(docs: list[Json], called: Called, turns: list[Turn]) -> bool:
    """Results of tools as plain turns, if each is a text and names the tool of its call."""
    for doc in docs:
        result = doc.get("functionResponse") if doc.__class__ is dict else None
        if result.__class__ is not dict or not (PLAIN_REPLYING(doc) and PLAIN_RESULT(result)):
            return False
        call_id, reply = result.get("id"), result.get("response")
        if call_id.__class__ is not str or reply.__class__ is not dict or not PLAIN_REPLY(reply):
            return False
        text = reply.get("output")
        if text.__class__ is not str or called.get(call_id, reply) != result.get("name"):
            return False
        turns.append(("tool", text, call_id))
    return True


def read_part(
    d: Gemini, doc: dict[str, Json], at: str, called: Called, custom: frozenset[str]
) -> Block:
    kinds = [key for key, value in doc.items() if key in KINDS and value is not None]
    if len(kinds) != 1:
        return Raw(d.name, doc, at=at)  # new kinds of parts arrive every month
    kind = KINDS[kinds[0]]
    if kind == "functionCall":
        return read_call(d, doc, at, called, custom)
    if kind == "functionResponse":
        return read_result(d, doc, at, called)
    return READERS[kind](d, doc, at)


def write_part(d: Gemini, block: Block, w: Writing, called: Called) -> list[Json]:
    """One block as parts: a document made of blocks, or a passage, may be several."""
    match block:
        case Text():
            return [finish(d, {"text": block.text}, block, w)]
        case ToolCall():
            return [write_call(d, block, w, called)]
        case ToolResult():
            return [write_result(d, block, w, called)]
        case Reasoning():
            return write_reasoning(d, block, w)
        case Media():
            return [write_media(d, block, w)]
        case Hosted() | Raw() if d.is_same(block.dialect):
            return [block.payload]
        case _:
            d.omit(block, w.log)
            return []


def emit(d: Gemini, out: dict[str, Json], node: Node, log: Ledger) -> dict[str, Json]:
    """The rest of an object whose key was in snake_case is under that key."""
    if (extras := node.extras) is not None and d.is_same(extras.dialect):
        for key in extras.inner:
            if key in CAMEL and CAMEL[key] in out:
                out[key] = out.pop(CAMEL[key])
    return Dialect.emit(d, out, node, log)


def finish(d: Gemini, out: dict[str, Json], block: Block, w: Writing) -> dict[str, Json]:
    """A part with its signature, if it is Google's, and with what else was kept of it."""
    extras = block.extras
    if extras is None:
        return out
    if extras.signature is not None and same_only(d, extras.signature.issuer):
        out["thoughtSignature"] = extras.signature.data
        block = replace(block, extras=replace(extras, signature=None))
    return emit(d, out, block, w.log)


def read_text(d: Gemini, doc: dict[str, Json], at: str) -> Block:
    text, reasoning = need_str(doc, "text", at), doc.get("thought")
    if reasoning is not True:
        taken = THOUGHT_FALSE if reasoning is False else TEXT_KEYS
        return Text(text, at=at, extras=keep_part(d, doc, taken, at))
    signature = pick_str(doc, "thoughtSignature", at)
    return Reasoning(
        (text,) if text or not signature else (),
        signature=Signature(signature, d.issuer) if signature else None,
        at=at,
        extras=d.keep(doc, THOUGHT_KEYS),
    )


def write_reasoning(d: Gemini, block: Reasoning, w: Writing) -> list[Json]:
    out: dict[str, Json] = {"text": joined(block.content), "thought": True}
    if block.signature is not None:
        out["thoughtSignature"] = block.signature.data
    return [emit(d, out, block, w.log)]


def read_call(
    d: Gemini, doc: dict[str, Json], at: str, called: Called, custom: frozenset[str]
) -> Block:
    key = own_key(doc, "functionCall")
    where = f"{at}/{key}"
    call = as_dict(doc[key], where)
    call_id, name = maybe_str(call, "id", where), maybe_str(call, "name", where)
    given = maybe_dict(call, "args", where)
    if name is None:  # a piece of a call, as Vertex streams its arguments
        return Raw(d.name, doc, at=at)
    if call_id is not None:
        called[call_id] = name
    kind, arguments = "function", "" if given is None else compact(given)
    if name in custom and given is not None and given.keys() == {"input"}:
        if given["input"].__class__ is str:
            kind, arguments = "custom", given["input"]
    extras = None
    if not sole(doc) or call.keys() - CALL_SET:
        extras = keep_part(d, doc, NOBODY, at, partly={key: CALL_KEYS})
    return ToolCall(call_id, name, arguments, kind, at=at, extras=extras)  # type: ignore[arg-type]


def keep_part(
    d: Gemini,
    doc: dict[str, Json],
    taken: frozenset[str],
    at: str,
    *,
    partly: Mapping[str, Iterable[str]] = NOTHING,
) -> Extras | None:
    """What a part says beyond the tree, and how Google signed it."""
    signature = pick_str(doc, "thoughtSignature", at)
    extras = d.keep(doc, taken | SIGNATURE, partly=partly)
    if not signature:
        return extras
    return replace(extras or Extras(d.name), signature=Signature(signature, d.issuer))


def write_call(d: Gemini, call: ToolCall, w: Writing, called: Called) -> Json:
    inner: dict[str, Json] = {}
    name = call.name
    if name not in w.names.staying:
        name = w.tool_name(name, call.at)
    if call.id is not None:
        inner["id"] = call.id
        called[call.id] = name
    inner["name"] = name
    if call.kind == "custom":
        inner["args"] = {"input": call.arguments}
    else:
        inner["args"] = json_of(call, w.log)
    return finish(d, {"functionCall": inner}, call, w)


def read_result(d: Gemini, doc: dict[str, Json], at: str, called: Called) -> ToolResult:
    """The reply of a tool. Its name says nothing new where the call is known by its id."""
    key = own_key(doc, "functionResponse")
    where = f"{at}/{key}"
    result = as_dict(doc[key], where)
    call_id, name = maybe_str(result, "id", where), maybe_str(result, "name", where)
    if call_id is not None and called.get(call_id) == name:
        name = None
    content, failed = read_result_content(result, where)
    content += read_parts(d, maybe_list(result, "parts", where) or [], f"{where}/parts", {})
    extras = None
    if not sole(doc) or result.keys() - RESULT_KEYS:
        extras = d.keep(doc, (), partly={key: RESULT_KEYS})
    return ToolResult(call_id, tuple(content), failed, name, at=at, extras=extras)


def write_result(d: Gemini, result: ToolResult, w: Writing, called: Called) -> Json:
    call_id, written, extras = result.call_id, result.content, result.extras
    if (
        call_id in called
        and (extras is None or d.is_mute(extras))
        and not result.is_error
        and result.name is None
        and len(written) == 1
        and (text := written[0]).__class__ is Text
        and text.extras is None
    ):  # the usual shape
        reply = {"output": text.text}
        usual = {"id": call_id, "name": called[call_id], "response": reply}
        return {"functionResponse": usual}
    inner: dict[str, Json] = {}
    if call_id is not None:
        inner["id"] = call_id
    if (name := result_name(d, result, called, w)) is not None:
        inner["name"] = name
    texts, parts = split_result(d, result, w)
    if parts and isinstance(w, Saying) and w.hoists and (call_id is not None or not w.same):
        hoist(result, parts, w)
        parts = []
    write_result_content(d, inner, result, texts, w)
    if parts:
        inner["parts"] = parts
    out: dict[str, Json] = {"functionResponse": inner}
    return out if extras is None else emit(d, out, result, w.log)


def result_name(d: Gemini, result: ToolResult, called: Called, w: Writing) -> str | None:
    """The tool that answered; a result must name it, and the call has it."""
    known = None if result.call_id is None else called.get(result.call_id)
    if result.name is not None:
        name = w.tool_name(result.name, result.at)
        if name == known and not w.same:
            why = f"{d.name} has no name of a result beside the name of its call"
            w.log.approximated("tool_result.name", result.at, why)
        return name
    if known is not None or w.same:
        return known
    if result.call_id is None and called:
        why = f"{d.name} requires the call of a result; the next one is taken"
        w.log.invented("tool_call.id", result.at, why)
    w.log.invented(
        "tool_result.name",
        result.at,
        f"{d.name} requires the tool name of a result; written as 'unknown'",
    )
    return "unknown"


def split_result(d: Gemini, result: ToolResult, w: Writing) -> tuple[list[Text], list[Json]]:
    """The words of a result, and its parts that are not words."""
    texts: list[Text] = []
    parts: list[Json] = []
    for block in result.content:
        if isinstance(block, Text):
            texts.append(block)
        elif isinstance(block, Media):
            if (part := write_media(d, block, w)) is not None:
                parts.append(part)
        elif isinstance(block, Raw | Hosted) and (
            d.accepts(block) if isinstance(block, Raw) else d.is_same(block.dialect)
        ):
            parts.append(block.payload)
    return texts, parts


def hoist(result: ToolResult, parts: list[Json], w: Saying) -> None:
    """Media that the model does not take in a result go to the user's turn after it."""
    w.hoisted += [{"text": HOISTED.format(id=result.call_id or result.name)}, *parts]
    why = "models before Gemini 3 do not support media in a tool result; written in a user turn"
    if result.call_id is not None:
        w.moved("tool_result.content", result.at, why)
    else:
        w.log.approximated("tool_result.content", result.at, why)


def read_result_content(result: dict[str, Json], at: str) -> tuple[list[Block], bool | None]:
    """ "Use "output" key to specify function output and "error" key to specify error details
    (if any). If "output" and "error" keys are not specified, then whole "response" is treated
    as function output."
    """
    response = maybe_dict(result, "response", at)
    where = f"{at}/response"
    if not response:
        return [], None
    if sole(response):
        for key, failed in (("output", None), ("error", True)):
            value, place = response.get(key), f"{where}/{key}"
            if value.__class__ is str:
                return [Text(value, at=place)], failed
            if value or (value is not None and not failed):  # an error that is false is none
                return [Text(compact(value), at=place)], failed
    failed = True if response.get("error") and response.get("output") is None else None
    return [Text(compact(response), at=where)], failed


def write_result_content(
    d: Gemini, inner: dict[str, Json], result: ToolResult, texts: list[Text], w: Writing
) -> None:
    for text in texts:
        d.lose(text.extras, text.at, w.log)
    if result.is_error:
        if not texts and not w.same:
            d.add_text(result.at, w.log)
        inner["response"] = {"error": texts[0].text if texts else ""}
    else:
        inner["response"] = {"output": texts[0].text} if texts else {}


def read_data(d: Gemini, doc: dict[str, Json], at: str) -> Block:
    key = own_key(doc, "inlineData")
    where = f"{at}/{key}"
    blob = as_dict(doc[key], where)
    media_type = pick_str(blob, "mimeType", where)
    # google-genai writes bytes in the alphabet for URLs, which other APIs do not take.
    data = standard(need_str(blob, "data", where))
    source = Source("base64", data, media_type)
    if media_type == "text/plain" and (text := plain_text(data)) is not None:
        source = Source("text", text, media_type)
    return Media(
        kind_of(media_type),
        source,
        filename=pick_str(blob, "displayName", where),
        at=at,
        extras=keep_part(d, doc, NOBODY, at, partly={key: DATA_KEYS}),
    )


def read_file(d: Gemini, doc: dict[str, Json], at: str) -> Block:
    key = own_key(doc, "fileData")
    where = f"{at}/{key}"
    file = as_dict(doc[key], where)
    media_type = pick_str(file, "mimeType", where)
    uri = pick_str(file, "fileUri", where)
    if uri is None:
        return Raw(d.name, doc, at=at)
    kind = "video" if media_type is None and uri.startswith(VIDEO_SITES) else kind_of(media_type)
    source = Source("url", uri, media_type)
    if uri.startswith(OWN_FILES):
        source = Source("file", uri, media_type, d.issuer)
    return Media(
        kind,
        source,
        filename=pick_str(file, "displayName", where),
        at=at,
        extras=keep_part(d, doc, NOBODY, at, partly={key: FILE_KEYS}),
    )


def write_media(d: Gemini, block: Media, w: Writing) -> Json:
    if not w.same and fitting.kind_again(block.source) != block.kind:
        why = f"without a type, {d.name} does not know it as {block.kind} input"
        w.log.approximated("media.type", block.at, why)
    source = block.source
    inner: dict[str, Json] = {}
    if source.media_type is not None:
        inner["mimeType"] = source.media_type
    if source.kind in ("url", "file"):
        key = "fileData"
        inner["fileUri"] = source.value
    else:
        key = "inlineData"
        inner["data"] = source.value
        if source.kind == "text":
            inner["data"] = base64.b64encode(source.value.encode()).decode()
    if block.filename is not None:
        inner["displayName"] = block.filename
    return finish(d, {key: inner}, block, w)


def read_code(d: Gemini, doc: dict[str, Json], at: str) -> Block:
    return read_hosted(d, doc, "executableCode", "code_execution", "call", at)


def read_code_result(d: Gemini, doc: dict[str, Json], at: str) -> Block:
    return read_hosted(d, doc, "codeExecutionResult", "code_execution", "result", at)


def read_tool_call(d: Gemini, doc: dict[str, Json], at: str) -> Block:
    return read_hosted(d, doc, "toolCall", None, "call", at)


def read_tool_response(d: Gemini, doc: dict[str, Json], at: str) -> Block:
    return read_hosted(d, doc, "toolResponse", None, "result", at)


def read_hosted(
    d: Gemini, doc: dict[str, Json], kind: str, service: str | None, phase: Any, at: str
) -> Block:
    key = own_key(doc, kind)
    where = f"{at}/{key}"
    work = as_dict(doc[key], where)
    if service is None:
        word = pick_str(work, "toolType", where) or ""
        service = SERVICES.get(word, word.lower())
    return Hosted(d.name, service, doc, phase, id=maybe_str(work, "id", where), at=at)


READERS: dict[str, Callable[[Any, dict[str, Json], str], Block]] = {
    "text": read_text,
    "inlineData": read_data,
    "fileData": read_file,
    "executableCode": read_code,
    "codeExecutionResult": read_code_result,
    "toolCall": read_tool_call,
    "toolResponse": read_tool_response,
}
# What a part is, by the key it has.
KINDS = {
    key: kind
    for kind in (*READERS, "functionCall", "functionResponse")
    for key in (kind, SNAKE.get(kind, kind))
}


def own_key(doc: dict[str, Json], key: str) -> str:
    """The key of a part that is not null, in the spelling that it has."""
    return key if doc.get(key) is not None else SNAKE[key]


def plain_text(data: str) -> str | None:
    """The text that base64 data hold, if they would be written the same again."""
    try:
        text = base64.b64decode(data, validate=True).decode()
    except ValueError:  # not base64, or not UTF-8
        return None
    return text if base64.b64encode(text.encode()).decode() == data else None
