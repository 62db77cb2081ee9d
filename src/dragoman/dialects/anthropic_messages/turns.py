"""Writing a conversation of the Anthropic Messages API: the system prompt and the turns.

Each turn of the user or the assistant; tool results share one; a system turn stands where the API
takes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...core.plain import Call, Turn, Unusual, is_asked, is_plain, named, object_in
from ...core.reading import as_dict, need_list, need_str, only, pointers, tokens
from ...core.resuming import Going
from ...core.turns import mark_custom_results, results_in_place, split_results
from ...core.writing import Writing, is_plain_text, json_of
from ...errors import Malformed
from ...model import Block, Extras, Json, Message, Role, Text, ToolCall, ToolResult
from .._claude_turns import calls_last, has_fields, prompts
from .blocks import PLAIN_CALL, PLAIN_RESULT, PLAIN_TEXT, read_blocks, write_blocks, write_result

if TYPE_CHECKING:
    from . import AnthropicMessages


ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}

# The usual shapes
PLAIN_MESSAGE = only("role", "content")
ONCE = 0, ""
"""Where a call of a plain turn stands: none is looked for there."""


def read_history(
    d: AnthropicMessages, docs: list[Json], at: str, custom: frozenset[str]
) -> list[Message]:
    """The messages in normal form: each tool result a message of its own."""
    if custom:
        d.reads.forget()
    out, begin, stop, _ = d.reads.begin(docs)
    places, contents = pointers(at, docs, "/content")
    for index, doc in enumerate(docs[begin:] if begin else docs, begin):
        if index == stop and not custom:
            d.reads.note(index, out)
        where = places[index]
        if doc.__class__ is dict and PLAIN_MESSAGE(doc):
            role, content = doc.get("role"), doc.get("content")
            if role == "user" or role == "assistant":  # the usual shapes
                if content.__class__ is list:
                    if role == "user":
                        results = read_results(content, contents[index])
                        if results:
                            out += results
                            continue
                    blocks = read_blocks(d, content, contents[index], custom)
                    add_turn(role, blocks, where, None, out)
                    continue
                if content.__class__ is str:
                    text = Text(content, at=contents[index])
                    out.append(Message(role, (text,), at=where))
                    continue
        read_message(d, as_dict(doc, where), where, out, custom)
    if custom:
        return mark_custom_results(out)
    d.reads.end(docs, out)
    return out


def read_message(
    d: AnthropicMessages, doc: dict[str, Json], at: str, out: list[Message], custom: frozenset[str]
) -> None:
    value = doc.get("role")
    role = ROLES.get(value) if value.__class__ is str else None
    if role is None:
        need_str(doc, "role", at)
        raise Malformed(f"unknown role {value!r}; there are: {', '.join(ROLES)}", at)
    content = doc.get("content")
    extras = None if PLAIN_MESSAGE(doc) else d.keep(doc, ("role", "content"))
    where = f"{at}/content"
    if content.__class__ is str:
        out.append(Message(role, (Text(content, at=where),), at=at, extras=extras))
        return
    blocks = read_blocks(d, need_list(doc, "content", at), where, custom)
    add_turn(role, blocks, at, extras, out)


def add_turn(
    role: Role, blocks: list[Block], at: str, extras: Extras | None, out: list[Message]
) -> None:
    """A turn with a list of blocks; of the user's, each result becomes a message."""
    results = 0
    if role == "user":
        for block in blocks:
            if block.__class__ is ToolResult:
                results += 1
    if not results:
        out.append(Message(role, tuple(blocks), at=at, extras=extras))
    elif results == len(blocks) and extras is None:  # the usual turn of results
        for block in blocks:
            out.append(Message("tool", (block,), at=block.at))
    else:
        split_results(blocks, at, extras, out)


def read_results(docs: list[Json], at: str) -> list[Message] | None:
    """A turn of nothing but usual results, as most are: each a message of its own; else None.

    This is what read_result and add_turn make of each where there is nothing to keep.
    """
    out: list[Message] = []
    token = tokens(docs)
    for index, doc in enumerate(docs):
        try:  # what has keys is an object: of JSON, there is nothing else
            kind, call_id, content = doc["type"], doc["tool_use_id"], doc["content"]
        except (KeyError, TypeError):
            return None
        if kind != "tool_result" or call_id.__class__ is not str or not PLAIN_RESULT(doc):
            return None
        where = at + token[index]
        if content.__class__ is str:
            text = Text(content, at=where + "/content")
        elif (words := only_text(content)) is not None:
            text = Text(words, at=where + "/content/0")
        else:
            return None
        result = ToolResult(call_id, (text,), at=where)
        out.append(Message("tool", (result,), at=where))
    return out


def write_conversation(
    d: AnthropicMessages, out: dict[str, Json], messages: Sequence[Message], w: Writing
) -> None:
    if messages is w.log.plain:
        write_plain(out, w.log.turns, w)
        return
    go = Going(d.writes, messages, w, results_in_place)
    messages = go.messages
    leading = prompts(d, messages, w)
    if leading:
        write_system(d, out, messages[:leading], w)
    out["messages"] = write_turns(d, messages[leading:], w, go, leading)


def read_turns(doc: dict[str, Json]) -> list[Turn] | None:
    """The system prompt and the messages of a request as plain turns, if they are plain."""
    turns: list[Turn] = []
    system, docs = doc.get("system"), doc.get("messages")
    if system is not None:
        turns.append(("system", system if system.__class__ is str else only_text(system), None))
    if docs is None or not is_asked(docs):
        return None
    for doc in docs:
        if doc.__class__ is not dict or not PLAIN_MESSAGE(doc):
            return None
        role, content = doc.get("role"), doc.get("content")
        if content.__class__ is str:
            turns.append((role, content, None))
        elif content.__class__ is not list:
            return None
        elif role == "assistant":
            if not read_plain_turn(content, turns):
                return None
        elif role != "user" or not read_plain_results(content, turns):
            return None
    return turns if is_plain(turns) else None


def read_plain_turn(docs: list[Json], turns: list[Turn]) -> bool:
    """What the model says and calls, if that is a text at most and then calls."""
    text, calls = None, []
    for doc in docs:
        kind = doc.get("type") if doc.__class__ is dict else None
        if kind == "tool_use" and PLAIN_CALL(doc):
            call_id, name, given = doc.get("id"), doc.get("name"), doc.get("input")
            if not (call_id.__class__ is name.__class__ is str and given.__class__ is dict):
                return False
            calls.append((call_id, name, given))
        elif kind == "text" and text is None and not calls and PLAIN_TEXT(doc):
            text = doc.get("text")
            if text.__class__ is not str:
                return False
        else:
            return False
    turns.append(("assistant", text, calls or None))
    return True


def read_plain_results(docs: list[Json], turns: list[Turn]) -> bool:
    """One text of the user, or results of tools with a text each."""
    if (text := only_text(docs)) is not None:
        turns.append(("user", text, None))
        return True
    for doc in docs:
        if doc.__class__ is not dict or not PLAIN_RESULT(doc) or doc.get("type") != "tool_result":
            return False
        call_id, content = doc.get("tool_use_id"), doc.get("content")
        text = content if content.__class__ is str else only_text(content)
        turns.append(("tool", text, call_id))
    return bool(docs)


def write_plain(out: dict[str, Json], turns: list[Turn], w: Writing) -> None:
    """The system prompt and the messages of plain turns."""
    docs: list[Json] = []
    results: list[Json] | None = None  # of the last turn, if it holds results
    for role, text, beside in turns:
        if role == "tool":
            if results is None:
                results = []
                docs.append({"role": "user", "content": results})
            results.append({"type": "tool_result", "tool_use_id": beside, "content": text})
            continue
        results = None
        if beside is None:
            docs.append({"role": role, "content": text})
            continue
        blocks: list[Json] = [] if text is None else [{"type": "text", "text": text}]
        write_plain_calls(blocks, beside, w)
        docs.append({"role": role, "content": blocks})
    if docs[0]["role"] == "system":
        out["system"] = docs.pop(0)["content"]
    out["messages"] = docs


def write_plain_calls(out: list[Json], calls: list[Call], w: Writing) -> None:
    """The calls of a plain turn; no id may stand twice in a conversation."""
    seen, log = w.called, w.log
    for call_id, name, given in named(calls, w):
        if call_id in seen:
            raise Unusual
        seen[call_id] = ONCE
        value = object_in(given, log)
        out.append({"type": "tool_use", "id": call_id, "name": name, "input": value})


def write_system(
    d: AnthropicMessages, out: dict[str, Json], messages: Sequence[Message], w: Writing
) -> None:
    first = messages[0]
    only = first.content[0] if len(messages) == len(first.content) == 1 else None
    if only is not None and is_plain_text(only, same=False):
        note_system(d, first, w)
        out["system"] = only.text
        return
    blocks: list[Json] = []
    for index, message in enumerate(messages):
        note_system(d, message, w)
        if not message.content and not w.same:
            d.omit_message(message, w.log)
        elif index:
            d.merge_prompt(message, w.log)
        blocks += write_blocks(d, message.content, w)
    if blocks or w.same:
        out["system"] = blocks


def note_system(d: AnthropicMessages, message: Message, w: Writing) -> None:
    if message.extras is not None and not d.is_same(message.extras.dialect):
        d.lose(message.extras, message.at, w.log)


def write_turns(
    d: AnthropicMessages, messages: Sequence[Message], w: Writing, go: Going, leading: int
) -> list[Json]:
    """The messages; tool results that follow each other share one user turn."""
    out: list[dict[str, Json]]
    start, (out,) = go.take(w, leading, [])
    results = False  # the last turn written ends in a tool result
    turn: list[Json] | None = None  # that turn, if it holds nothing else
    waiting: list[Message] = []
    same = w.same
    for index, message in enumerate(messages[start:] if start else messages, start):
        role, content, extras = message.role, message.content, message.extras
        if index == go.note_at and not waiting:
            go.note(w, leading, out)
        # The usual turns: one result, what the model said and called, or one plain text.
        if (extras is not None and not d.is_mute(extras)) or waiting:
            pass
        elif role == "tool":
            if (turn is not None or not results) and len(content) == 1:
                result = content[0]
                if result.__class__ is ToolResult:
                    if turn is None:
                        turn = []
                        out.append({"role": "user", "content": turn})
                        results = True
                    turn.append(write_result(d, result, w))
                    continue
        elif message.name is not None:
            pass
        elif len(content) != 1 or (text := content[0]).__class__ is not Text:
            if role == "assistant":
                write_assistant(d, message, out, w)
                results, turn = False, None
                continue
        elif (
            (role == "assistant" or (role == "user" and not (same and results)))
            and (text.extras is None or d.is_mute(text.extras))
            and text.cache is None
            and not text.citations
        ):
            out.append({"role": role, "content": text.text})
            results, turn = False, None
            continue
        turn = None
        if not same and role == "system":
            waiting.append(message)
            if waits(d, messages, index, w):
                continue
            flush_system(d, waiting, out, w)
            results = False
            continue
        if waiting and role == "assistant":
            flush_system(d, waiting, out, w)
        write_other(d, message, out, results, w)
        results = role == "tool"
    if waiting:
        flush_system(d, waiting, out, w)
    else:
        go.end(w, leading, out)
    return out


def write_other(
    d: AnthropicMessages, message: Message, out: list[dict[str, Json]], results: bool, w: Writing
) -> None:
    """A turn of any shape; a result joins the results before it."""
    role = message.role
    if role == "tool":
        doc: dict[str, Json] = {"role": "user", "content": write_blocks(d, message.content, w)}
        if message.extras is not None:
            d.emit(doc, message, w.log)
    else:
        doc = write_turn(d, message, role, w)
    if results and joins(d, message, w):
        join_turn(out[-1], doc["content"])
    elif doc["content"] or w.same:
        out.append(doc)
    else:
        d.omit_message(message, w.log)


def joins(d: AnthropicMessages, message: Message, w: Writing) -> bool:
    """Whether a turn after results is part of theirs: results are, and the user's words may be.

    A turn with fields of its own stays one.
    """
    if has_fields(d, message):
        return False
    return message.role == "tool" or (w.same and message.role == "user")


def write_assistant(
    d: AnthropicMessages, message: Message, out: list[dict[str, Json]], w: Writing
) -> None:
    """What the model said and called, with nothing to the turn itself that could get lost."""
    blocks = write_usual_turn(d, message.content, w)
    if blocks is None:
        fit = message.content if w.same else calls_last(d, message.content, w)
        blocks = write_blocks(d, fit, w)
    if blocks or w.same:
        out.append({"role": "assistant", "content": blocks})
    else:
        d.omit_message(message, w.log)


def write_usual_turn(
    d: AnthropicMessages, content: Sequence[Block], w: Writing
) -> list[Json] | None:
    """What the assistant said, if it is plain texts and then plain calls; None if not.

    Most turns are so, and this is what calls_last and write_blocks make of them.
    """
    out: list[Json] = []
    calls: list[ToolCall] = []
    for block in content:
        if block.__class__ is ToolCall:
            if (
                block.extras is not None
                or block.cache is not None
                or block.id is None
                or block.kind != "function"
            ):
                return None
            calls.append(block)
        elif block.__class__ is Text and not calls:
            text, extras = block.text, block.extras
            if (
                (extras is not None and not d.is_mute(extras))
                or block.cache is not None
                or block.citations
            ):
                return None
            out.append({"type": "text", "text": text})
        else:
            return None
    for call in calls:  # nothing is noted before it is sure that all of them are plain
        given, call_id, name = json_of(call, w.log), call.id, call.name
        if call_id is None or call_id in w.called or not w.ids.stays(call_id):
            call_id = w.call_once(call)
        else:
            w.called[call_id] = w.results, call.at
        if name not in w.names.staying:
            name = w.tool_name(name, call.at)
        out.append({"type": "tool_use", "id": call_id, "name": name, "input": given})
    return out


def join_turn(turn: dict[str, Json], content: Json) -> None:
    if turn["content"].__class__ is list and content.__class__ is list:
        turn["content"].extend(content)
        return
    if turn["content"].__class__ is str:
        turn["content"] = [{"type": "text", "text": turn["content"]}]
    if content.__class__ is str:
        content = [{"type": "text", "text": content}]
    turn["content"] += content


def waits(d: AnthropicMessages, messages: Sequence[Message], index: int, w: Writing) -> bool:
    """Whether a system turn is written later: it must follow a user turn and precede the
    assistant's, or end the list. Words that become the user's stay in their place, but for
    results, which come right after their calls.
    """
    others = (m.role for m in messages[index + 1 :] if m.role != "system")
    follows = next(others, None)
    if follows == "user" and w.facts.system_turns is False:
        return False
    if follows in ("user", "tool"):
        why = f"{d.name} requires a system turn right before the assistant turn"
        w.moved("message.position", messages[index].at, why)
    return True


def flush_system(
    d: AnthropicMessages, waiting: list[Message], out: list[dict[str, Json]], w: Writing
) -> None:
    for message in waiting:
        doc = write_turn(d, message, "system", w)
        if not doc["content"]:
            note_relative(d, message, w)
            d.omit_message(message, w.log)
        elif w.facts.system_turns is False:
            # "role 'system' is not supported on this model"
            why = f"`system` role written as `user`: not supported by {w.model} in a turn"
            w.log.approximated("message.role", message.at, why)
            out.append(doc | {"role": "user"})
        elif not out or out[-1]["role"] == "assistant":
            # Nothing of the user's to stand after: the words go on as the user's.
            why = f"`system` role written as `user`: {d.name} has it only after a user turn"
            w.log.approximated("message.role", message.at, why)
            out.append(doc | {"role": "user"})
        elif out[-1]["role"] == "system":
            # "role 'system' must precede an 'assistant' message", so there can be only one
            note_relative(d, message, w)
            d.merge_message(message, w.log)
            join_turn(out[-1], doc["content"])
        else:
            out.append(doc)
    waiting.clear()


def note_relative(d: AnthropicMessages, message: Message, w: Writing) -> None:
    """What a relative knows of a message is written with it, and lost if there is no message."""
    if message.extras is not None and d.knows(message.extras.dialect):
        note_system(d, message, w)


def write_turn(d: AnthropicMessages, message: Message, role: str, w: Writing) -> dict[str, Json]:
    content = message.content
    doc: dict[str, Json]
    if len(content) == 1 and is_plain_text(content[0], same=False):
        doc = {"role": role, "content": content[0].text}
    else:
        blocks: Sequence[Block] = content
        if role == "assistant" and not w.same:
            blocks = calls_last(d, content, w)
        doc = {"role": role, "content": write_blocks(d, blocks, w)}
    return doc if message.extras is None else d.emit(doc, message, w.log)


def only_text(content: Json) -> str | None:
    """The words of a list that holds one text and nothing else."""
    if content.__class__ is not list or len(content) != 1:
        return None
    part = content[0]
    if part.__class__ is dict and PLAIN_TEXT(part) and part.get("type") == "text":
        words = part.get("text")
        return words if words.__class__ is str else None
    return None
