"""Responses in the shapes of design 001, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.reading import (
    as_dict,
    expected,
    maybe_dict,
    maybe_str,
    missing,
    need_dict,
    need_list,
    need_str,
)
from ...core.writing import drop_empty_texts, is_blank, is_plain_text, joined
from ...errors import Malformed
from ...ledger import Ledger
from ...model import Block, Candidate, Json, Message, Reasoning, Response, Stop, Text, ToolCall
from ..openai_responses import calls as responses_calls
from ..openai_responses import items as responses_items
from ..openai_responses import parts as responses_parts
from ..openai_responses import response as responses_response
from ..openai_responses import tools as responses_tools
from ..openai_responses.parts import OUTPUT, ItemWriting
from . import request
from .request import REASONING

if TYPE_CHECKING:
    from . import CopilotResponses


def read_response(d: CopilotResponses, doc: Json) -> Response:
    doc = as_dict(doc, "")
    if doc.keys().isdisjoint(("message", "choices")) and doc.get("error") is not None:
        return Response(
            None, None, (), failure=responses_response.read_error(d, doc), dialect=d.name
        )
    taken: tuple[str, ...] = ("model", "usage")
    if doc.get("message") is not None or "choices" not in doc:
        if doc.get("message") is None:
            missing("message", "")
        taken += ("message",)
        places = [(doc, "")]
    else:
        taken += ("choices",)
        choices = need_list(doc, "choices", "")
        places = [(as_dict(c, f"/choices/{i}"), f"/choices/{i}") for i, c in enumerate(choices)]
    candidates = [read_candidate(d, holder, at) for holder, at in places]
    reasoning = maybe_str(doc, "reasoning", "")
    if reasoning and candidates:
        first = candidates[0]
        given = (Reasoning((reasoning,), at="/reasoning"), *first.message.content)
        candidates[0] = replace(first, message=replace(first.message, content=given))
        taken += ("reasoning",)
    usage = maybe_dict(doc, "usage", "")
    return Response(
        None,
        maybe_str(doc, "model", ""),
        tuple(candidates),
        None if usage is None else responses_response.read_usage(d, usage, "/usage"),
        dialect=d.name,
        extras=d.keep(doc, taken),
    )


def write_response(d: CopilotResponses, tree: Response, log: Ledger) -> Json:
    w = responses_tools.writing(d, log, tree.dialect, reply=True)
    out: dict[str, Json] = {}
    candidates = tree.candidates or (Candidate(Message("assistant"), at=tree.at),)
    written = [write_candidate(d, each, out, w, not n) for n, each in enumerate(candidates)]
    if w.same and not tree.candidates:
        out["choices"] = []
    elif len(written) > 1 or written[0].keys() != {"message"}:
        out["choices"] = written
    else:
        out |= written[0]
    if tree.model is not None:
        out["model"] = tree.model
    if tree.usage is not None:
        out["usage"] = responses_response.write_usage(d, tree.usage, w)
    return d.emit(out, tree, log)


def read_candidate(d: CopilotResponses, holder: dict[str, Json], at: str) -> Candidate:
    doc, where = need_dict(holder, "message", at), f"{at}/message"
    role = doc.get("role")
    if role is not None and role != "assistant":
        role = need_str(doc, "role", where)
        raise Malformed(f"unknown role {role!r}; the role of a response is 'assistant'", where)
    content = doc.get("content")
    blocks: list[Block] = []
    if content.__class__ is str:  # an empty one says nothing
        blocks = [Text(content, at=f"{where}/content")] if content else []
    elif content.__class__ is list:
        blocks = responses_parts.read_parts(d, content, f"{where}/content", OUTPUT)
    elif content is not None:
        expected("a string or a list", content, f"{where}/content")
    calls = doc.get("tool_calls")
    if calls is not None and calls.__class__ is not list:
        expected("a list", calls, f"{where}/tool_calls")
    for index, call in enumerate(calls or ()):
        place = f"{where}/tool_calls/{index}"
        blocks.append(read_reply_call(d, as_dict(call, place), place))
    extras = d.keep(doc, ("role", "content", "tool_calls"))
    message = Message("assistant", tuple(blocks), at=where, extras=extras)
    called = any(isinstance(block, ToolCall) for block in blocks)
    stop = Stop("tool-call" if called else "end")
    own = d.keep(holder, ("message",)) if at else None
    return Candidate(message, stop, at=at or "/message", extras=own)


def write_candidate(
    d: CopilotResponses, candidate: Candidate, out: dict[str, Json], w: ItemWriting, first: bool
) -> dict[str, Json]:
    message = candidate.message if w.same else drop_empty_texts(candidate.message, w.log)
    doc: dict[str, Json] = {"role": "assistant"}
    spelled: list[Block] = []
    calls: list[Json] = []
    reasoning: list[str] = []
    for block in message.content:
        if isinstance(block, ToolCall):
            calls.append(write_reply_call(d, block, w))
        elif isinstance(block, Reasoning):
            if not w.same and (len(block.content) > 1 or reasoning):
                d.join_text(block.at, w.log)
            d.lose(block.extras, block.at, w.log)
            reasoning += block.content
        else:
            spelled.append(block)
    if reasoning and not first:
        for block in message.content:
            if isinstance(block, Reasoning):
                why = f"{d.name} has reasoning in the first candidate only"
                w.log.dropped("reasoning", block.at, why)
    elif reasoning:
        out[REASONING] = joined(reasoning)
    if w.same and (len(spelled) > 1 or not all(map(is_plain_text, spelled))):
        doc["content"] = responses_items.write_spoken(d, spelled, w)
    elif spelled and (text := join_texts(d, spelled, w)) is not None:
        doc["content"] = text
    if calls:
        doc["tool_calls"] = calls
    if not w.same:
        # That it ended with its text, or with calls, is all that can be told of an end.
        d.note_ended(candidate, bool(calls), w.log)
    return d.emit({"message": d.emit(doc, message, w.log)}, candidate, w.log)


def join_texts(d: CopilotResponses, blocks: Sequence[Block], w: ItemWriting) -> str | None:
    """All texts as one; None where there are none."""
    for block in blocks:
        if not isinstance(block, Text):
            d.omit(block, w.log)
    texts = [block for block in blocks if isinstance(block, Text)]
    return request.join(d, texts, w) if texts else None


def read_reply_call(d: CopilotResponses, doc: dict[str, Json], at: str) -> ToolCall:
    inner, where = need_dict(doc, "function", at), f"{at}/function"
    taken = ("id", "type") if doc.get("type") == "function" else ("id",)
    return ToolCall(
        maybe_str(doc, "id", at),
        need_str(inner, "name", where),
        responses_calls.read_arguments(inner, "arguments", where),
        at=at,
        extras=d.keep(doc, taken, partly={"function": ("name", "arguments")}),
    )


def write_reply_call(d: CopilotResponses, call: ToolCall, w: ItemWriting) -> Json:
    inner: dict[str, Json] = {"name": w.tool_name(call.name, call.at)}
    inner["arguments"] = "{}" if is_blank(call.arguments) else call.arguments
    out: dict[str, Json] = {}
    if call.id is not None or not w.same:
        out["id"] = w.call_id(call)
    out |= {"type": "function", "function": inner}
    return d.emit(out, call, w.log)
