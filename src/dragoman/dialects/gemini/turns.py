"""The contents of the Gemini API, both ways: the system instruction and the turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.plain import Turn, is_asked, is_plain, named, object_in
from ...core.reading import as_dict, expected, only, pointers
from ...core.resuming import Going, read_once
from ...core.turns import SILENCE, mark_custom_results, split_results, unhoist
from ...core.writing import Writing, is_plain_text
from ...errors import Malformed
from ...ledger import Ledger
from ...model import Block, Json, Media, Message, Role, Text, ToolCall, ToolResult
from .order import arranged, is_odd, pairs_of
from .parts import (
    NOBODY,
    PLAIN_PART,
    Called,
    emit,
    only_words,
    read_part,
    read_parts,
    read_plain_parts,
    read_plain_results,
    read_results,
    write_parts,
    write_result,
)
from .schema import Saying

if TYPE_CHECKING:
    from . import Gemini


# "role: The producer of the content. Must be either 'user' or 'model'"; older clients say
# 'function' or 'tool' where results stand, and a content without a role is the user's.
ROLES: dict[str | None, Role] = {
    "user": "user",
    "model": "assistant",
    "function": "user",
    "tool": "user",
    None: "user",
}
SPEAKERS: dict[Role, str] = {
    "assistant": "model",
    "user": "user",
    "tool": "user",
    "system": "user",
}
CONTENT_KEYS = frozenset({"role", "parts"})
PLAIN_CONTENT = only("role", "parts")
PLAIN_SYSTEM = only("parts")
# Any string is an id; "must start with a letter or an underscore", then these.
IDS = (r"[\s\S]", 1 << 20)
NAMES = (r"(?:[a-zA-Z_]|(?<!^)[0-9.:-])", 128)


def writing(d: Gemini, log: Ledger, dialect: str | None, *, reply: bool = False) -> Saying:
    w = Saying(log, IDS, NAMES, d.is_same(dialect), reply)
    w.hoisted, w.hoists, w.plain = [], False, False
    return w


def read_contents(
    d: Gemini, docs: list[Json], at: str, custom: frozenset[str] = NOBODY
) -> list[Message]:
    if custom:
        d.reads.forget()
    out, begin, stop, state = d.reads.begin(docs)
    called: Called = dict(state or {})
    odd = False  # a result has another id than its call, or only one of the two has any
    places, inside = pointers(at, docs, "/parts")
    for index, doc in enumerate(docs[begin:] if begin else docs, begin):
        if index == stop and not custom and not odd:
            d.reads.note(index, out, dict(called))
        # The usual shapes: one text, what the model says, what its tools reply.
        if doc.__class__ is dict and PLAIN_CONTENT(doc):
            given, parts = doc.get("role"), doc.get("parts")
            if parts.__class__ is list and (given == "user" or given == "model"):
                where = inside[index]
                if len(parts) == 1 and (part := parts[0]).__class__ is dict and PLAIN_PART(part):
                    if (text := part.get("text")).__class__ is str:
                        block = Text(text, at=where + "/0")
                        out.append(Message(ROLES[given], (block,), at=places[index]))
                        continue
                if given == "model":
                    blocks = read_parts(d, parts, where, called, custom)
                    out.append(Message("assistant", tuple(blocks), at=places[index]))
                    continue
                if results := read_results(parts, where, called):
                    out += results
                    continue
        odd = read_turn(d, doc, places[index], called, custom, out) or odd
    if not custom:
        d.reads.end(docs, out, dict(called))
    if odd:
        d.reads.forget()
        out = paired(out)
    return mark_custom_results(out) if custom else out


def read_turn(
    d: Gemini, doc: Json, at: str, called: Called, custom: frozenset[str], out: list[Message]
) -> bool:
    """One turn of any kind; whether it has results that are not as their calls are."""
    given = as_dict(doc, at).get("role")
    if given is not None and given.__class__ is not str:
        expected("a string", given, f"{at}/role")
    role = ROLES.get(given)
    if role is None:
        raise Malformed(f"unknown role {given!r}; there are: user, model", at)
    # A call of the user is written hardly anywhere, so a result tells its name itself.
    calls = role == "user" and calls_in(doc.get("parts"))
    blocks = read_content(d, doc, at, {**called} if calls else called, custom)
    extras = None if PLAIN_CONTENT(doc) else d.keep(doc, CONTENT_KEYS)
    if role == "user" and ToolResult in map(type, blocks):
        split_results(blocks, at, extras, out)
        return any(is_odd(block, called) for block in blocks)
    message = Message(role, tuple(blocks), at=at, extras=extras)
    if role == "user" and extras is None and out and out[-1].role == "tool":
        if unhoist(message, out, holds_all):
            return False  # media of the results before it: they go back there
    out.append(message)
    return False


def calls_in(parts: Json) -> bool:
    listed = parts if parts.__class__ is list else [parts]
    return any(part.__class__ is dict and "functionCall" in part for part in listed)


def paired(messages: list[Message]) -> list[Message]:
    """Results by the ids that their calls have, and calls by those that their results have."""
    calls = pairs_of(messages)
    given: dict[str, str] = {}  # the ids of calls without one, by their places
    names: dict[str, str] = {}  # what these calls are called
    out: list[Message] = []
    for message in messages:
        result = message.content[0] if message.role == "tool" else None
        call = calls.get(message.content[0].at) if result is not None else None
        if call is not None and isinstance(result, ToolResult) and call.id != result.call_id:
            call_id = call.id if result.call_id is None else result.call_id
            if call.id is None and call_id is not None:
                given[call.at] = call_id
                names[call_id] = call.name
            name = result.name if call.name != result.name else None
            message = replace(message, content=(replace(result, call_id=call_id, name=name),))
        out.append(message)
    return [identified(message, given, names) for message in out] if given else out


def identified(message: Message, given: Mapping[str, str], names: Mapping[str, str]) -> Message:
    """A turn whose calls have the ids that their results tell; a result does not name these."""
    result = message.content[0] if message.role == "tool" else None
    if isinstance(result, ToolResult) and result.call_id is not None:
        if result.name is not None and names.get(result.call_id) == result.name:
            return replace(message, content=(replace(result, name=None),))
    if message.role != "assistant":
        return message
    content = tuple(
        replace(block, id=given[block.at])
        if isinstance(block, ToolCall) and block.at in given
        else block
        for block in message.content
    )
    return replace(message, content=content)


def read_turns(doc: dict[str, Json]) -> list[Turn] | None:
    """The system instruction and the contents of a request as plain turns, if they are plain."""
    if "system_instruction" in doc:
        return None
    out: list[Turn] = []
    system, docs = doc.get("systemInstruction"), doc.get("contents")
    if system is not None:
        if system.__class__ is not dict or not PLAIN_SYSTEM(system):
            return None
        out.append(("system", only_words(system.get("parts")), None))
    if docs is None or not is_asked(docs):
        return None
    called: Called = {}
    for doc in docs:
        if doc.__class__ is not dict or not PLAIN_CONTENT(doc):
            return None
        role, parts = doc.get("role"), doc.get("parts")
        if (text := only_words(parts)) is not None:
            out.append(("assistant" if role == "model" else role, text, None))
        elif parts.__class__ is not list or not parts:
            return None
        elif role == "model":
            if not read_plain_parts(parts, called, out):
                return None
        elif role != "user" or not read_plain_results(parts, called, out):
            return None
    return out if is_plain(out) else None


def write_plain(turns: list[Turn], w: Saying) -> tuple[Json | None, list[Json]]:
    """The system instruction and the contents of plain turns."""
    out: list[Json] = []
    results: list[Json] | None = None  # of the last content, if it holds results
    called: Called = {}
    for role, text, beside in turns:
        if role == "tool":
            if results is None:
                results = []
                out.append({"role": "user", "parts": results})
            reply = {"id": beside, "name": called[beside], "response": {"output": text}}
            results.append({"functionResponse": reply})
            continue
        results = None
        if beside is None:
            out.append({"role": SPEAKERS[role], "parts": [{"text": text}]})
            continue
        parts: list[Json] = [] if text is None else [{"text": text}]
        for call_id, name, given in named(beside, w):
            called[call_id] = name
            inner = {"id": call_id, "name": name, "args": object_in(given, w.log)}
            parts.append({"functionCall": inner})
        out.append({"role": "model", "parts": parts})
    if turns[0][0] != "system":
        return None, out
    return {"parts": out.pop(0)["parts"]}, out


def write_turn(
    d: Gemini, message: Message, out: list[Json], results: bool, called: Called, w: Writing
) -> bool:
    """One turn of any kind; whether the last content then ends in the result of a tool."""
    extras, joined = message.extras, results and message.role == "tool"
    if extras is not None and d.is_same(extras.dialect):
        joined = False  # a content has fields, and a result in it has none
    parts = write_parts(d, message.content, w, called)
    if message.role == "assistant" and not w.same and follows_model(out):
        if has_call(parts) or (out and has_call(out[-1]["parts"])):
            joined = join_call(d, out, message, w)
    if joined and out:
        out[-1]["parts"] += parts
        d.lose(extras, message.at, w.log)
    elif parts or w.same:
        out.append(write_content(d, message, SPEAKERS[message.role], parts, w))
    else:
        d.lose(extras, message.at, w.log)
        d.omit_message(message, w.log)
        return results
    return message.role == "tool"


def join_call(d: Gemini, out: list[Json], message: Message, w: Writing) -> bool:
    """ "Please ensure that function call turn comes immediately after a user turn or after a
    function response turn", and that the responses come immediately after the calls. So a call
    joins what the model said before it, if anything, and what it says next joins the call.
    """
    if out:
        d.merge_message(message, w.log)
        return True
    d.add_user_turn(message.at, w.log)
    out.append({"role": "user", "parts": [{"text": SILENCE}]})
    return False


def read_content(
    d: Gemini, doc: dict[str, Json], at: str, called: Called, custom: frozenset[str] = NOBODY
) -> list[Block]:
    """The parts of a content; a single one may stand without its list."""
    parts = doc.get("parts")
    if parts.__class__ is list:
        return read_parts(d, parts, f"{at}/parts", called, custom)
    if parts.__class__ is dict:
        return [read_part(d, parts, f"{at}/parts", called, custom)]
    if parts is not None:
        expected("a list", parts, f"{at}/parts")
    return []


def write_content(
    d: Gemini, message: Message, role: str, parts: list[Json], w: Writing
) -> dict[str, Json]:
    out: dict[str, Json] = {"role": role, "parts": parts}
    return out if message.extras is None else emit(d, out, message, w.log)


@read_once
def read_system(d: Gemini, doc: Json, at: str) -> Message:
    doc = as_dict(doc, at)
    parts = doc.get("parts")
    if parts.__class__ is list and PLAIN_SYSTEM(doc):  # the usual shape
        return Message("system", tuple(read_parts(d, parts, f"{at}/parts", {})), at=at)
    blocks = read_content(d, doc, at, {})
    return Message("system", tuple(blocks), at=at, extras=d.keep(doc, CONTENT_KEYS))


def write_system(d: Gemini, messages: Sequence[Message], w: Writing) -> Json | None:
    first = messages[0]
    if len(messages) == len(first.content) == 1 and first.extras is None:
        block = first.content[0]
        if is_plain_text(block) and block.text:
            return {"parts": [{"text": block.text}]}  # the usual shape
    parts: list[Json] = []
    for message in messages:
        written = write_parts(d, message.content, w, {})
        if not w.same:
            d.note_prompt(message, bool(parts), bool(written), w.log)
        parts += written
    if w.same:
        return emit(d, {"parts": parts}, messages[0], w.log)
    for message in messages:
        d.lose(message.extras, message.at, w.log)
    return {"parts": parts} if parts else None


def write_turns(
    d: Gemini, messages: Sequence[Message], w: Saying, go: Going, leading: int
) -> list[Json]:
    """The contents; results that follow each other share one."""
    out: list[Json]
    called: Called
    start, (out, called) = go.take(w, leading, [], {})
    same, hoisted = w.same, w.hoisted
    results = False  # the last content ends in the result of a tool
    for index, message in enumerate(messages[start:] if start else messages, start):
        role, content, extras = message.role, message.content, message.extras
        if index == go.note_at and not hoisted and not w.facts.signatures:
            go.note(w, leading, out, called)
        if hoisted and role != "tool":
            say_hoisted(out, w)
            results = False
        # The usual turns: one result, one plain text, or what the model said and called.
        if extras is not None and not d.is_mute(extras):
            pass
        elif role == "tool":
            if len(content) == 1 and content[0].__class__ is ToolResult and not message.name:
                part = write_result(d, content[0], w, called)
                if results:
                    out[-1]["parts"].append(part)
                else:
                    out.append({"role": "user", "parts": [part]})
                    results = True
                continue
        elif message.name is not None or (role != "assistant" and role != "user"):
            pass
        elif len(content) == 1 and (text := content[0]).__class__ is Text:
            if (
                (text.extras is None or d.is_mute(text.extras))
                and text.cache is None
                and not text.citations
                and text.text
                and (role == "user" or same or (out and out[-1]["role"] == "user"))
            ):
                parts = [{"text": text.text}]
                out.append({"role": SPEAKERS[role], "parts": parts})
                results = False
                continue
        elif role == "assistant" and (same or not follows_model(out)):
            parts = write_parts(d, content, w, called)
            if parts or same:
                out.append({"role": "model", "parts": parts})
                results = False
            else:
                d.omit_message(message, w.log)
            continue
        results = write_turn(d, message, out, results, called, w)
    if hoisted:
        say_hoisted(out, w)
    elif not w.facts.signatures:
        go.end(w, leading, out, called)
    return out


def speak_first(d: Gemini, out: list[Json], messages: Sequence[Message], w: Writing) -> list[Json]:
    """A call joined what the model said before anybody else spoke: the user comes first."""
    opening = takewhile(lambda content: content["role"] == "model", out)
    if any(has_call(content["parts"]) for content in opening):
        first = next(message for message in messages if message.role == "assistant")
        d.add_user_turn(first.at, w.log)
        return [{"role": "user", "parts": [{"text": SILENCE}]}, *out]
    return out


def say_hoisted(out: list[Json], w: Saying) -> None:
    """The media of results, after them."""
    if w.hoisted:
        out.append({"role": "user", "parts": list(w.hoisted)})
        w.hoisted.clear()


def write_conversation(
    d: Gemini, messages: Sequence[Message], w: Saying
) -> tuple[Json | None, list[Json]]:
    """The system instruction, if there is one, and the contents."""
    if messages is w.log.plain:
        return write_plain(w.log.turns, w)
    go = Going(d.writes, messages, w, arranged)
    messages = go.messages
    leading = 0
    for message in messages:
        role = message.role
        if role != "system":
            break
        leading += 1
    system = write_system(d, messages[:leading], w) if leading else None
    out = write_turns(d, messages[leading:], w, go, leading)
    if out and not w.same and out[0].get("role") == "model":
        out = speak_first(d, out, messages, w)
    return system, out


def holds_all(result: ToolResult) -> bool:
    """Whether a result holds its media itself; or whether it could not be written again."""
    return any(
        block == Text("", at=block.at) or isinstance(block, Media) for block in result.content
    )


def follows_model(out: list[Json]) -> bool:
    """Whether nobody but the model has just spoken."""
    return not out or out[-1]["role"] == "model"


def has_call(parts: list[Json]) -> bool:
    return any("functionCall" in part for part in parts)
