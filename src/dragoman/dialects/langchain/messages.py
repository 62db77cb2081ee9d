"""The messages of LangChain, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.reading import as_dict, expected, maybe_str, need_str, only, parse
from ...core.turns import split_results
from ...core.writing import Writing, is_plain_text, is_whole, object_of
from ...errors import Malformed
from ...ledger import Ledger
from ...model import (
    Block,
    History,
    Json,
    Message,
    Raw,
    Reasoning,
    Refusal,
    Role,
    Signature,
    Text,
    ToolCall,
    ToolResult,
)
from ...tools import freeform
from .. import _stored
from . import blocks
from .blocks import Provider

if TYPE_CHECKING:
    from . import LangChain

ROLES: dict[str, Role] = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "tool",  # before there were ids of calls
}
KINDS = {"user": "human", "assistant": "ai", "system": "system", "developer": "system"}
SPEAKERS: dict[str, Role] = {
    **ROLES, "user": "user", "assistant": "assistant", "developer": "developer",
}  # fmt: skip
"""The roles of a ``ChatMessage``, which may have any."""
CHUNK = "MessageChunk"
"""How the type of a piece of a stream ends that was stored as a message."""
WHOLE = "raw"
"""The code of a block that is a whole message, such as one that removes others."""
DEVELOPER = "__openai_role__"
"""Where ``langchain-openai`` tells a developer's message from a system's."""
SIGNED = "__gemini_function_call_thought_signatures__"
"""Where ``langchain-google-genai`` keeps the signatures of calls, by their ids."""
LEGACY = "tool_calls"
"""The calls as the Chat Completions API has them, beside those of LangChain."""
VERSION = "v1"
PLAIN = only("name", "arguments")

KEYS = frozenset({"content", "type", "name"})
METADATA = "response_metadata"


def read_messages(d: LangChain, doc: Json) -> History:
    return _stored.read_list(d, doc, lambda docs, at: read_history(d, docs, at))


def write_messages(d: LangChain, tree: History, log: Ledger) -> Json:
    w = Writing(log, _stored.FREE, _stored.FREE, d.is_same(tree.dialect))
    return _stored.write_list(d, tree, lambda messages: write_history(d, messages, w), log)


def read_history(d: LangChain, docs: list[Json], at: str) -> list[Message]:
    out: list[Message] = []
    for index, doc in enumerate(docs):
        where = f"{at}/{index}"
        read_message(d, as_dict(doc, where), where, out)
    return out


def unwrap(doc: dict[str, Json], at: str) -> tuple[str, dict[str, Json], str]:
    """The type of a message, its fields, and where these stand, in each of three forms.

    ``{"type": "ai", "data": {}}`` is that of ``messages_to_dict``, ``{"lc": 1, "kwargs": {}}`` that
    of ``dumpd``, and ``{"type": "ai", "content": ""}`` that of ``model_dump`` and of LangGraph.
    """
    kwargs = doc.get("kwargs")
    if doc.get("lc").__class__ is int and kwargs.__class__ is dict:
        path = doc.get("id")
        name = path[-1] if path.__class__ is list and path else ""
        given = maybe_str(kwargs, "type", f"{at}/kwargs")  # which older versions did not write
        kind = given or (name if name.__class__ is str else "").replace("Message", "").lower()
        return kind, kwargs, f"{at}/kwargs"
    kind = need_str(doc, "type", at)
    if doc.get("data").__class__ is dict:
        return kind, doc["data"], f"{at}/data"
    return kind, doc, at


def outer(d: LangChain, doc: dict[str, Json], data: dict[str, Json]) -> bool:
    """Whether a message has keys beside its fields, which only the whole of it can keep."""
    return doc is not data and not doc.keys() <= {"type", "data", "lc", "id", "kwargs", "name"}


def read_message(d: LangChain, doc: dict[str, Json], at: str, out: list[Message]) -> None:
    kind, data, where = unwrap(doc, at)
    kind = kind.removesuffix(CHUNK).lower() if kind.endswith(CHUNK) else kind
    role = ROLES.get(kind)
    if kind == "chat":
        role = SPEAKERS.get(need_str(data, "role", where))
    if role is None or outer(d, doc, data):
        out.append(Message("user", (Raw(d.name, doc, code=WHOLE, at=at),), at=at))
        return
    if role == "assistant":
        out.append(read_reply(d, data, where))
    elif role == "tool":
        out.append(read_result(d, data, where))
    else:
        read_prompt(d, data, role, where, out)


def read_content(
    d: LangChain, data: dict[str, Json], at: str, provider: Provider, *, results: bool = False
) -> list[Block]:
    content, where = data.get("content"), f"{at}/content"
    if content.__class__ is str:
        return [Text(content, at=where)]
    if content.__class__ is not list:
        expected("a string or a list", content, where)
    return blocks.read_blocks(d, content, where, provider, results=results)


def read_prompt(
    d: LangChain, data: dict[str, Json], role: Role, at: str, out: list[Message]
) -> None:
    """What the user says, or the system; results in it are those of Anthropic's API."""
    taken: dict[str, tuple[str, ...]] = {}
    extra = data.get("additional_kwargs")
    if role == "system" and extra.__class__ is dict and extra.get(DEVELOPER) == "developer":
        role, taken = "developer", {"additional_kwargs": (DEVELOPER,)}
    found = read_content(d, data, at, Provider(), results=role == "user")
    name = maybe_str(data, "name", at)
    results = sum(isinstance(block, ToolResult) for block in found)
    if not results:
        extras = d.keep(data, own_keys(data, KEYS), partly=taken)
        out.append(Message(role, tuple(found), name, at=at, extras=extras))
        return
    keys = KEYS if len(found) > results else KEYS - {"name"}  # results have nobody's name
    turns: list[Message] = []
    split_results(found, at, d.keep(data, own_keys(data, keys)), turns)
    out += [replace(turn, name=name) if turn.role == "user" else turn for turn in turns]


def own_keys(data: dict[str, Json], keys: frozenset[str]) -> set[str]:
    """The keys that are taken of a message; ``example`` is a field that older versions had."""
    more = {"example"} if data.get("example") is False else set[str]()
    if data.get("role").__class__ is str and data.get("type", "chat") == "chat":
        more.add("role")
    return {*keys, *more}


# -- replies --------------------------------------------------------------------------------

REPLY_KEYS = KEYS | {"tool_calls", "invalid_tool_calls", "tool_call_chunks", "chunk_position"}


def read_reply(d: LangChain, data: dict[str, Json], at: str) -> Message:
    metadata, extra = data.get(METADATA), data.get("additional_kwargs")
    metadata = metadata if metadata.__class__ is dict else {}
    extra = extra if extra.__class__ is dict else {}
    provider = Provider(metadata.get("model_provider"))
    taken: dict[str, list[str]] = {METADATA: [], "additional_kwargs": []}
    if metadata.get("output_version") == VERSION:
        taken[METADATA].append("output_version")
    calls = read_calls(d, data, extra, at, taken["additional_kwargs"])
    if any(call.extras is not None and call.extras.signature for call in calls):
        provider.issuer()
    found = read_content(d, data, at, provider)
    if data["content"] == "":
        found = []
    content = [
        *read_aside(d, extra, at, taken["additional_kwargs"]),
        *place(d, found, calls, data["content"]),
    ]
    if provider.used:
        taken[METADATA].append("model_provider")
    if extra.get("refusal").__class__ is str:
        taken["additional_kwargs"].append("refusal")
        content.append(Refusal(extra["refusal"], at=f"{at}/additional_kwargs/refusal"))
    extras = d.keep(data, own_keys(data, REPLY_KEYS), partly={k: v for k, v in taken.items() if v})
    name = maybe_str(data, "name", at)
    return Message("assistant", tuple(content), name, at=at, extras=extras)


def place(d: LangChain, found: list[Block], calls: list[ToolCall], docs: Json) -> list[Block]:
    """The calls where the content has them, and after it those that it does not have.

    "If a tool_call with the same id as a tool_use content block exists, the tool_call is
    preferred."  What contradicts it is kept as it is.
    """
    by_id: dict[str, list[ToolCall]] = {}
    for call in calls:
        if call.id is not None:
            by_id.setdefault(call.id, []).append(call)
    content: list[Block] = []
    placed: set[int] = set()
    for block in found:
        if isinstance(block, ToolCall):
            known = by_id.get(block.id or "")
            if known and contradicts(block, known[0]):
                doc = docs[int(block.at.rpartition("/")[2])]
                content.append(Raw(d.name, doc, at=block.at))
                continue
            if known:
                call = known.pop(0)
                placed.add(id(call))
                if block.extras is not None and call.extras is None:
                    call = replace(call, extras=block.extras, at=block.at)
                content.append(call)
                continue
            if block.id in by_id:  # said twice
                continue
        content.append(block)
    return [*content, *(call for call in calls if id(call) not in placed)]


def contradicts(block: ToolCall, call: ToolCall) -> bool:
    """Whether a call of the content says something else than the one that is preferred."""
    if block.name and block.name != call.name:
        return True
    if block.arguments in ("", "{}", call.arguments):
        return False
    return bool(value_of(block.arguments) != value_of(call.arguments))


def value_of(arguments: str) -> Json:
    try:
        return parse(arguments.encode())
    except Malformed:
        return arguments


def read_calls(
    d: LangChain, data: dict[str, Json], extra: dict[str, Json], at: str, taken: list[str]
) -> list[ToolCall]:
    found = [
        *read_listed(d, data, "tool_calls", at),
        *read_listed(d, data, "invalid_tool_calls", at),
    ]
    legacy = read_legacy(d, extra, at)
    if legacy is not None:
        written = {call.id: call for call in legacy}
        if not found:
            taken.append(LEGACY)
            found = legacy
        elif [(call.id, call.name) for call in found] == [(c.id, c.name) for c in legacy]:
            taken.append(LEGACY)  # the same once more, in the words of the model
            found = [replace(call, arguments=written[call.id].arguments) for call in found]
    if not found and (call := read_function(extra.get("function_call"), at)) is not None:
        taken.append("function_call")
        found = [call]
    signatures = extra.get(SIGNED)
    if (
        signatures.__class__ is dict
        and signatures.keys() <= {call.id for call in found}
        and all(data.__class__ is str for data in signatures.values())
    ):
        taken.append(SIGNED)
        found = [signed(d, call, signatures.get(call.id or "")) for call in found]
    return found


def read_function(doc: Json, at: str) -> ToolCall | None:
    """The one call that OpenAI's API had before there were several; it has no id."""
    if doc.__class__ is not dict or not PLAIN(doc) or doc.get("name").__class__ is not str:
        return None
    arguments = doc.get("arguments")
    text = arguments if arguments.__class__ is str else ""
    return ToolCall(None, doc["name"], text, at=f"{at}/additional_kwargs/function_call")


def signed(d: LangChain, call: ToolCall, data: str | None) -> ToolCall:
    if not data:
        return call
    return replace(call, extras=_stored.sign(d, call.extras, Signature(data, "google")))


def read_listed(d: LangChain, data: dict[str, Json], key: str, at: str) -> list[ToolCall]:
    listed = data.get(key)
    if listed is None:
        return []
    if listed.__class__ is not list:
        expected("a list", listed, f"{at}/{key}")
    return [
        blocks.read_call(d, as_dict(doc, f"{at}/{key}/{n}"), f"{at}/{key}/{n}")
        for n, doc in enumerate(listed)
    ]


def read_legacy(d: LangChain, extra: dict[str, Json], at: str) -> list[ToolCall] | None:
    """Calls as OpenAI has them, if that is what they are: the arguments are text."""
    listed = extra.get(LEGACY)
    if listed.__class__ is not list or not listed:
        return None
    found: list[ToolCall] = []
    for index, doc in enumerate(listed):
        function = doc.get("function") if doc.__class__ is dict else None
        if function.__class__ is not dict or not doc.keys() <= {"id", "type", "function", "index"}:
            return None
        name, arguments = function.get("name"), function.get("arguments")
        if name.__class__ is not str or arguments.__class__ is not str or not PLAIN(function):
            return None
        call_id = doc.get("id") if doc.get("id").__class__ is str else None
        where = f"{at}/additional_kwargs/{LEGACY}/{index}"
        found.append(ToolCall(call_id, name, arguments, at=where))
    return found


def read_aside(d: LangChain, extra: dict[str, Json], at: str, taken: list[str]) -> list[Block]:
    """Reasoning that stands beside the content: a text, or an item of OpenAI's."""
    text, item = extra.get("reasoning_content"), extra.get("reasoning")
    if text.__class__ is str and text:
        taken.append("reasoning_content")
        return [Reasoning((text,), at=f"{at}/additional_kwargs/reasoning_content")]
    if item.__class__ is dict and item.get("summary").__class__ is list:
        block = blocks.read_item(d, item, f"{at}/additional_kwargs/reasoning")
        if block is not None:
            taken.append("reasoning")
            return [block]
    return []


# -- results --------------------------------------------------------------------------------

RESULT_KEYS = KEYS | {"tool_call_id"}


def read_result(d: LangChain, data: dict[str, Json], at: str) -> Message:
    content = read_content(d, data, at, Provider())
    status = data.get("status")
    taken = own_keys(data, RESULT_KEYS)
    if status in ("success", "error"):
        taken.add("status")
    result = ToolResult(
        maybe_str(data, "tool_call_id", at),
        tuple(content),
        True if status == "error" else None,
        maybe_str(data, "name", at),
        at=at,
    )
    return Message("tool", (result,), at=at, extras=d.keep(data, taken))


# -- writing --------------------------------------------------------------------------------


def write_history(d: LangChain, messages: Sequence[Message], w: Writing) -> list[Json]:
    return [write_message(d, message, w) for message in messages]


def write_message(d: LangChain, message: Message, w: Writing) -> dict[str, Json]:
    first = message.content[0] if len(message.content) == 1 else None
    if isinstance(first, Raw) and first.code == WHOLE and d.knows(first.dialect):
        return as_dict(first.payload, first.at)
    if message.role == "tool":
        if not isinstance(first, ToolResult):
            raise Malformed("only one tool result is allowed in a tool message", message.at)
        return write_result(d, message, first, w)
    if message.role == "assistant":
        return write_reply(d, message, w)
    data = head(message)
    data["content"] = write_content(d, message.content, w, Provider())
    if message.role == "developer":
        data["additional_kwargs"] = {DEVELOPER: "developer"}
    return d.wrap(KINDS[message.role], d.emit(data, message, w.log), message)


def head(message: Message) -> dict[str, Json]:
    kind = KINDS.get(message.role, "tool")
    return {
        "content": "",
        "additional_kwargs": {},
        "response_metadata": {},
        "type": kind,
        "name": message.name,
        "id": None,
    }


def write_content(
    d: LangChain, content: Sequence[Block], w: Writing, provider: Provider
) -> str | list[Json]:
    if len(content) == 1 and is_plain_text(only := content[0], w.same):
        d.lose(only.extras, only.at, w.log)
        return only.text
    return blocks.write_blocks(d, content, w, provider)


def write_reply(d: LangChain, message: Message, w: Writing) -> dict[str, Json]:
    data = head(message)
    calls: list[Json] = []
    broken: list[Json] = []
    provider = Provider()
    content = split_calls(message.content, w.same)
    listed: list[Json] = []
    for block in message.content:
        if isinstance(block, ToolCall):
            call = write_call(d, block, w, provider)
            (calls if call["type"] == "tool_call" else broken).append(call)
            listed.append(call)
        elif content is None:
            listed += blocks.write_block(d, block, w, provider)
    data["content"] = listed if content is None else content
    if content is None:
        data[METADATA] = {"output_version": VERSION}
    if provider.name is not None:
        data[METADATA] = {**data[METADATA], "model_provider": provider.name}
    if provider.signed:
        data["additional_kwargs"] = {SIGNED: provider.signed}
    data |= {"tool_calls": calls, "invalid_tool_calls": broken, "usage_metadata": None}
    return d.wrap("ai", d.emit(data, message, w.log), message)


def split_calls(content: Sequence[Block], same: bool) -> str | None:
    """The text of a reply that is no more than a text and calls; None where it must be a list."""
    texts = [block for block in content if not isinstance(block, ToolCall)]
    if not texts:
        return ""
    only = texts[0]
    whole = len(texts) == 1 and content[0] is only and is_plain_text(only, same) and only.text != ""
    return only.text if whole and isinstance(only, Text) else None


def write_call(d: LangChain, call: ToolCall, w: Writing, provider: Provider) -> dict[str, Json]:
    """A call; one whose arguments are no object stands among the invalid ones, as text."""
    call = freeform.as_function(call)
    extras = call.extras
    call_id = call.id if w.same else w.call_id(call)  # of a ``function_call`` there is none
    if extras is not None and (mark := extras.signature) is not None and provider.takes(mark):
        provider.signed[call_id or ""] = mark.data
        call = replace(call, extras=replace(extras, signature=None))
    out: dict[str, Json] = {"name": w.tool_name(call.name, call.at), "args": {}, "id": call_id}
    if is_whole(call):
        out |= {"args": object_of(call, w.log), "type": "tool_call"}
    else:
        out |= {"args": call.arguments, "error": None, "type": "invalid_tool_call"}
    return d.emit(out, call, w.log)


def write_result(d: LangChain, message: Message, result: ToolResult, w: Writing) -> dict[str, Json]:
    data = head(message)
    data["content"] = write_content(d, result.content, w, Provider())
    data["name"] = result.name
    if w.same and result.call_id is None:
        data["type"] = "function"
        if result.is_error:
            data["status"] = "error"
    else:
        data["tool_call_id"] = w.result_id(result)
        data["artifact"] = None
        data["status"] = "error" if result.is_error else "success"
    d.emit(data, result, w.log)
    return d.wrap(data["type"], d.emit(data, message, w.log), message)
