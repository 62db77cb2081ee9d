"""Requests in the shapes of design 001, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.media import sniff
from ...core.writing import Writing, data_uri
from ...errors import Malformed, Unsayable
from ...ledger import Ledger
from ...model import (
    Block,
    Json,
    Media,
    Message,
    Raw,
    Reasoning,
    Request,
    Text,
    Tool,
    ToolChoice,
    ToolResult,
)
from ..openai_responses import calls as responses_calls
from ..openai_responses import items as responses_items
from ..openai_responses import parts as responses_parts
from ..openai_responses import request as responses_request
from ..openai_responses import tools as responses_tools
from ..openai_responses.calls import CALL_OUTPUT, texts_of
from ..openai_responses.parts import INPUT, OUTPUT, ItemWriting

if TYPE_CHECKING:
    from . import CopilotResponses


REASONING = "reasoning"
"""The type of an item, and what to include so that a response has its reasoning."""
REASONING_TEXTS = (OUTPUT, INPUT, "reasoning_text")
CHOICES = {"auto": "auto", "none": "none", "required": "any"}
NAMELESS = "the name of a tool is empty"
JOINT = " "
"""What stands between texts that become one: "Joins text from multiple content items with space
separator"."""


def read_reasoning(d: CopilotResponses, doc: dict[str, Json], at: str) -> Block:
    """Reasoning: this dialect keeps its words in texts like those of a message."""
    parts = doc.get("content")
    if parts.__class__ is not list or not parts or "summary" in doc:
        return responses_calls.read_reasoning(d, doc, at)
    kind = parts[0].get("type") if parts[0].__class__ is dict else None
    texts = texts_of(parts, kind) if kind in REASONING_TEXTS else None
    if texts is None:
        return Raw(d.name, doc, at=at, extras=d.as_item)
    if doc.get("encrypted_content") is not None or doc.get("id") is not None:
        return responses_calls.read_reasoning(d, doc, at)
    extras = responses_calls.keep_item(d, doc, frozenset({"type", "content"}))
    return Reasoning(texts, at=at, extras=extras)


def write_reasoning(d: CopilotResponses, block: Reasoning, w: ItemWriting) -> Json | None:
    if block.id or block.summary or block.signature:  # which lowering leaves to its own alone
        return responses_calls.write_reasoning(d, block, w)
    parts = [{"type": OUTPUT, "text": text} for text in block.content]
    out: dict[str, Json] = {"type": REASONING, "content": parts}
    return out if block.extras is None else d.emit(out, block, w.log)


def write_media(d: CopilotResponses, block: Media, out: list[Json], w: Writing) -> None:
    if w.same:
        return responses_parts.write_media(d, block, out, w)
    d.lose(block.extras, block.at, w.log)
    out.append({"type": "input_image", "url": write_address(d, block, w)})
    return None


def write_image(d: CopilotResponses, block: Media, w: Writing) -> dict[str, Json]:
    """An image of this dialect, with what OpenAI's may have beside its address."""
    out = responses_parts.write_image(d, block, w)
    if out.get("image_url").__class__ is str:
        out["url"] = out.pop("image_url")
    return out


def write_address(d: CopilotResponses, block: Media, w: Writing) -> str:
    """The data know better what they are than whoever labelled them."""
    source = block.source
    found = sniff(source.value) if source.kind == "base64" and not w.same else None
    if found is None or found == source.media_type or not found.startswith("image/"):
        return responses_parts.write_address(d, block, w)
    say = w.log.invented if source.media_type is None else w.log.approximated
    say("media.type", block.at, f"the first bytes of the data are those of {found}")
    return data_uri(found, source.value)


def write_request(d: CopilotResponses, tree: Request, log: Ledger) -> Json:
    if d.is_same(tree.dialect):
        return responses_request.write_request(d, tree, log)
    thinking = tree.params.thinking
    out: dict[str, Json] = responses_request.write_request(d, tree, log)
    del out["store"]  # there is no such field; nothing is stored
    if out.get("reasoning", {}).get("effort", "none") != "none":
        out["include"] = [REASONING]
        at = "" if thinking is None else thinking.at
        log.invented(
            "thinking.display", at, f"{d.name} returns reasoning only if `include` asks for it"
        )
    return out


def write_prompt(
    d: CopilotResponses, out: dict[str, Json], messages: Sequence[Message], w: ItemWriting
) -> Sequence[Message]:
    """The system prompt is an item."""
    return messages


def write_message(d: CopilotResponses, message: Message, out: list[Json], w: ItemWriting) -> None:
    count = len(out)
    responses_items.write_message(d, message, out, w)
    out[count:] = [{"type": "message", **doc} for doc in out[count:]]


def write_new_item(d: CopilotResponses, blocks: Sequence[Block], w: ItemWriting) -> Json:
    return {
        "type": "message",
        "role": "assistant",
        "content": responses_items.write_spoken(d, blocks, w),
    }


def write_text(d: CopilotResponses, block: Text, usual: str, w: Writing) -> Json:
    if w.same:
        return responses_parts.write_text(d, block, usual, w)
    return {"type": usual, "text": text_of(d, block, w)}


def text_of(d: CopilotResponses, block: Text, w: Writing) -> str:
    """A text and nothing more: there are no cache marks and no citations."""
    d.lose(block.extras, block.at, w.log)
    return block.text


def write_result(d: CopilotResponses, result: ToolResult, w: ItemWriting) -> Json:
    """The output of a tool is one string."""
    if w.same:
        return responses_calls.write_result(d, result, w)
    out: dict[str, Json] = {"type": CALL_OUTPUT, "call_id": w.result_id(result)}
    texts: list[Block] = []
    for block in result.content:
        if isinstance(block, Text):
            texts.append(block)
        else:
            w.log.dropped("tool_result.content", block.at, "an output is one string")
    out["output"] = join(d, texts, w)
    return d.emit(out, result, w.log)


def join(d: CopilotResponses, blocks: Sequence[Block], w: Writing) -> str:
    texts: list[str] = []
    for block in blocks:
        if isinstance(block, Text):
            if texts:
                d.join_text(block.at, w.log)
            texts.append(text_of(d, block, w))
    return JOINT.join(texts)


def read_tool(d: CopilotResponses, doc: dict[str, Json], at: str) -> Tool:
    tool = responses_tools.read_tool(d, doc, at)
    if not tool.name and tool.kind != "hosted":
        raise Malformed(NAMELESS, at)
    return tool


def write_tool(d: CopilotResponses, tool: Tool, w: ItemWriting) -> Json | None:
    if tool.kind != "function":
        return responses_tools.write_tool(d, tool, w)
    if not tool.name:
        raise Unsayable(NAMELESS, tool.at)
    inner: dict[str, Json] = responses_tools.write_tool(d, replace(tool, extras=None), w)
    return d.emit({"type": inner.pop("type"), "function": inner}, tool, w.log)


def read_choice(d: CopilotResponses, doc: Json, parallel: bool | None, at: str) -> ToolChoice:
    choice = responses_tools.read_choice(d, doc, parallel, at)
    if choice.mode == "named" and not choice.name:
        raise Malformed(NAMELESS, at)
    return choice


def write_choice(d: CopilotResponses, choice: ToolChoice, w: ItemWriting) -> Json | None:
    """A tool that is named ``auto`` or ``any`` can be chosen: its choice is of another form."""
    if choice.payload is not None or choice.allowed is not None or choice.kind == "custom":
        return responses_tools.write_choice(d, choice, w)
    if choice.mode == "named":
        if not choice.name:
            raise Unsayable(NAMELESS, choice.at)
        name = w.tool_name(choice.name, choice.at)
        return d.emit({"function": {"name": name}}, choice, w.log)
    if choice.mode is None:
        d.lose(choice.extras, choice.at, w.log)
        return None
    return d.emit({CHOICES[choice.mode]: True}, choice, w.log)
