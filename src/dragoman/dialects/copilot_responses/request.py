"""Requests in the shapes of design 001, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import groupby
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
    Node,
    Raw,
    Reasoning,
    Request,
    Text,
    Tool,
    ToolCall,
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


THOUGHT = "reasoning"
"""The type of an item, and what to include so that a response has its reasoning."""
THOUGHT_TEXTS = (OUTPUT, INPUT, "reasoning_text")
CHOICES = {"auto": "auto", "none": "none", "required": "any"}
NAMELESS = "the name of a tool is empty"
JOINT = " "
"""What stands between texts that become one: "Joins text from multiple content items with space
separator"."""


def read_conversation(
    d: CopilotResponses, doc: dict[str, Json], taken: set[str], spelling: dict[str, Json]
) -> list[Message]:
    return [mark_easy(d, m) for m in responses_request.read_conversation(d, doc, taken, spelling)]


def read_input(
    d: CopilotResponses, value: Json, at: str, out: list[Message], spelling: dict[str, Json]
) -> None:
    responses_request.read_input(d, value, at, out, spelling)
    if not at:  # the bare items; all else is a conversation
        out[:] = map(partial(mark_easy, d), out)


def mark_easy(d: CopilotResponses, message: Message) -> Message:
    """What is spelled as OpenAI allows it, and this dialect never writes it, is marked."""
    if message.role == "assistant":
        content = tuple(
            replace(block, extras=d.easy_string)
            if isinstance(block, Text) and block.extras is None and block.at.endswith("content")
            else block
            for block in message.content
        )
        return replace(message, content=content)
    if message.role != "tool" and message.extras is None:
        return replace(message, extras=d.easy)
    return message


def read_reasoning(d: CopilotResponses, doc: dict[str, Json], at: str) -> Block:
    """Reasoning: this dialect keeps its words in texts like those of a message."""
    parts = doc.get("content")
    if parts.__class__ is not list or not parts or "summary" in doc:
        return responses_calls.read_reasoning(d, doc, at)
    kind = parts[0].get("type") if parts[0].__class__ is dict else None
    texts = texts_of(parts, kind) if kind in THOUGHT_TEXTS else None
    if texts is None:
        return Raw(d.name, doc, at=at, extras=d.as_item)
    if doc.get("encrypted_content") is not None or doc.get("id") is not None:
        return responses_calls.read_reasoning(d, doc, at)
    extras = responses_calls.keep_item(d, doc, frozenset({"type", "content"}), {"texts": kind})
    return Reasoning(texts, at=at, extras=extras)


def write_reasoning(d: CopilotResponses, block: Reasoning, w: ItemWriting) -> Json | None:
    kind = d.spelling(block).get("texts")
    if w.home and kind is None and block.extras is not None:
        return responses_calls.write_reasoning(d, block, w)
    parts = [{"type": kind or OUTPUT, "text": text} for text in block.content]
    out: dict[str, Json] = {"type": THOUGHT, "content": parts}
    return out if block.extras is None else d.emit(out, block, w.log)


def write_media(d: CopilotResponses, block: Media, out: list[Json], w: Writing) -> None:
    if w.home:
        return responses_parts.write_media(d, block, out, w)
    d.lose(block.extras, block.at, w.log)
    out.append({"type": "input_image", "url": write_address(d, block, w)})
    return None


def read_image(d: CopilotResponses, doc: dict[str, Json], kind: str, at: str) -> Block:
    image = responses_parts.read_image(d, doc, kind, at)
    if isinstance(image, Media) and doc.get("image_url") is not None:
        image = replace(image, extras=d.respell(image.extras, key="image_url"))
    return image


def write_image(d: CopilotResponses, block: Media, w: Writing) -> dict[str, Json]:
    """At home; an image that is new there has no spelling."""
    if block.extras is None:
        block = replace(block, extras=d.respell(None, key="url"))
    return responses_parts.write_image(d, block, w)


def write_address(d: CopilotResponses, block: Media, w: Writing) -> str:
    """The data know better what they are than whoever labelled them."""
    source = block.source
    found = sniff(source.value) if source.kind == "base64" and not w.home else None
    if found is None or found == source.media_type or not found.startswith("image/"):
        return responses_parts.write_address(d, block, w)
    say = w.log.invented if source.media_type is None else w.log.approximated
    say("media.type", block.at, f"the first bytes of the data are those of {found}")
    return data_uri(found, source.value)


def write_request(d: CopilotResponses, tree: Request, log: Ledger) -> Json:
    if d.is_home(tree.dialect):
        return responses_request.write_request(d, tree, log)
    thinking = tree.params.thinking
    out: dict[str, Json] = responses_request.write_request(d, tree, log)
    del out["store"]  # there is no such field; nothing is stored
    if out.get("reasoning", {}).get("effort", "none") != "none":
        out["include"] = [THOUGHT]
        at = "" if thinking is None else thinking.at
        log.invented(
            "thinking.display", at, f"{d.name} returns reasoning only if `include` asks for it"
        )
    return out


def write_prompt(
    d: CopilotResponses, out: dict[str, Json], messages: Sequence[Message], w: ItemWriting
) -> Sequence[Message]:
    """The system prompt is an item; at home it stands where it stood."""
    if w.home and messages and is_own(d, messages[0]):
        return responses_request.write_prompt(d, out, messages, w)
    return messages


def write_items(d: CopilotResponses, messages: Sequence[Message], w: ItemWriting) -> list[Json]:
    """Messages of this dialect as they were, all others in its own form."""
    if not w.home:
        return responses_items.write_items(d, messages, w)
    out: list[Json] = []
    anew = responses_tools.writing(d, w.log, None)
    for own, run in groupby(messages, partial(is_own, d)):
        out += responses_items.write_items(d, list(run), w if own else anew)
    return out


def is_own(d: CopilotResponses, message: Message) -> bool:
    """Whether a message bears the marks of having been read from this dialect, or needs none.

    Calls and outputs are the same in all forms.
    """
    if any(map(partial(is_kept, d), (message, *message.content))):
        return True
    return bool(message.content) and all(map(is_unmarked, message.content))


def is_kept(d: CopilotResponses, node: Node) -> bool:
    return node.extras is not None and d.is_home(node.extras.dialect)


def write_message(d: CopilotResponses, message: Message, out: list[Json], w: ItemWriting) -> None:
    if w.home:
        return responses_items.write_message(d, message, out, w)
    count = len(out)
    responses_items.write_message(d, message, out, w)
    out[count:] = [{"type": "message", **doc} for doc in out[count:]]
    return None


def write_new_item(d: CopilotResponses, blocks: Sequence[Block], w: ItemWriting) -> Json:
    return {
        "type": "message",
        "role": "assistant",
        "content": responses_items.write_spoken(d, blocks, w),
    }


def write_text(d: CopilotResponses, block: Text, usual: str, w: Writing) -> Json:
    if w.home:
        return responses_parts.write_text(d, block, usual, w)
    return {"type": usual, "text": text_of(d, block, w)}


def text_of(d: CopilotResponses, block: Text, w: Writing) -> str:
    """A text and nothing more: there are no cache marks and no citations."""
    d.lose(block.extras, block.at, w.log)
    return block.text


def write_call(d: CopilotResponses, call: ToolCall, w: ItemWriting) -> Json:
    return responses_calls.write_call(d, call, w)


def write_result(d: CopilotResponses, result: ToolResult, w: ItemWriting) -> Json:
    """The output of a tool is one string."""
    if w.home:
        return responses_calls.write_result(d, result, w)
    out: dict[str, Json] = {"type": CALL_OUTPUT, "call_id": w.result_id(result)}
    texts: list[Block] = []
    for block in result.content:
        if isinstance(block, Text):
            texts.append(block)
        else:
            w.log.dropped("tool_result.content", block.at, "an output is one string")
            d.lose(block.extras, block.at, w.log)
    bare = replace(result, content=tuple(texts), cache=None)
    out["output"] = join(d, responses_calls.mark_parts(d, bare, w), w)
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
    if tool.kind != "hosted" and "nested" not in d.spelling(tool):
        tool = replace(tool, extras=d.respell(tool.extras, flat=True))
    return tool


def write_tool(d: CopilotResponses, tool: Tool, w: ItemWriting) -> Json | None:
    if d.spelling(tool) or tool.kind == "hosted":
        return responses_tools.write_tool(d, tool, w)
    if not tool.name:
        raise Unsayable(NAMELESS, tool.at)
    out: dict[str, Json] = responses_tools.write_tool(d, tool, w) or {}
    out.setdefault("strict", False)
    kind = out.pop("type")
    return {"type": kind, "function": out}


def write_tool_choice(d: CopilotResponses, tree: ToolChoice, log: Ledger) -> Json:
    said = responses_tools.write_tool_choice(d, tree, log)
    return {"auto": True} if said == "auto" and "word" not in d.spelling(tree) else said


def read_choice(d: CopilotResponses, doc: Json, parallel: bool | None, at: str) -> ToolChoice:
    choice = responses_tools.read_choice(d, doc, parallel, at)
    if choice.mode == "named" and not choice.name:
        raise Malformed(NAMELESS, at)
    if choice.payload is None and not d.spelling(choice):
        word = {"word": doc} if doc.__class__ is str else {"flat": True}
        choice = replace(choice, extras=d.respell(choice.extras, **word))
    return choice


def write_choice(d: CopilotResponses, choice: ToolChoice, w: ItemWriting) -> Json | None:
    """A tool that is named ``auto`` or ``any`` can be chosen: its choice is of another form."""
    if choice.payload is not None or d.spelling(choice):
        return responses_tools.write_choice(d, choice, w)
    d.lose(choice.extras, choice.at, w.log)
    if choice.mode == "named":
        if not choice.name:
            raise Unsayable(NAMELESS, choice.at)
        return {"function": {"name": w.tool_name(choice.name, choice.at)}}
    return None if choice.mode is None else {CHOICES[choice.mode]: True}


def is_unmarked(block: Block) -> bool:
    """Whether a block is spelled in one way only."""
    match block:
        case ToolCall():
            return True
        case ToolResult(content=content):
            return not content or (len(content) == 1 and isinstance(content[0], Text))
        case _:
            return False
