"""Messages and tools of Mistral, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.turns import SILENCE
from ...core.writing import Writing, is_plain_text, needed_parameters, note_joined
from ...ledger import Ledger
from ...model import (
    Block,
    Hosted,
    Json,
    Media,
    Message,
    Passage,
    Raw,
    Reasoning,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
)
from ..openai_chat import assistant as chat_assistant
from ..openai_chat import messages as chat_messages
from ..openai_chat import parts as chat_parts
from ..openai_chat import tools as chat_tools
from ..openai_chat.assistant import ChatReceived
from ..openai_chat.tools import NAMES
from ..openai_chat.variant import without_fields
from .ids import MistralWriting

if TYPE_CHECKING:
    from . import Mistral


def writing(d: Mistral, log: Ledger, dialect: str | None, *, reply: bool = False) -> Writing:
    return MistralWriting(log, NAMES, d.is_same(dialect), reply)


def read_history(d: Mistral, docs: list[Json], at: str) -> list[Message]:
    return [without_silence(m) for m in chat_messages.read_history(d, docs, at)]


def arrange(d: Mistral, messages: Sequence[Message], log: Ledger) -> Sequence[Message]:
    return in_order(d, chat_messages.arrange(d, messages, log), log)


def in_order(d: Mistral, messages: Sequence[Message], log: Ledger) -> Sequence[Message]:
    """Turns as they may follow each other.

    "Unexpected role 'system' after role 'assistant'", "Unexpected role 'user' after role
    'tool'" (code 3230): the system speaks before a reply, and the model after its tools.
    """
    out: list[Message] = []
    before = ""
    same = True
    for message in messages:
        if message.role == "assistant" and says_nothing(message):
            out.append(message)  # for what is lost with it
            same = False  # what comes next depends on what came before
            continue
        if message.role == "user" and before == "tool":
            if not d.write_history([message], writing(d, Ledger(), None)):
                out.append(message)  # nothing of it can be expressed here
                continue
            why = (
                f"{d.name} requires an assistant turn between tool results and a user turn; "
                f"written as {SILENCE!r}"
            )
            log.invented("message.empty", message.at, why)
            out.append(Message("assistant", (Text(SILENCE, at=message.at),)))
        out.append(message)
        before = message.role
    return messages if same and len(out) == len(messages) else out


def says_nothing(message: Message) -> bool:
    """Whether nothing is left of what the assistant says."""
    return all(
        isinstance(block, Text) and not block.text
        for block in message.content
        if not isinstance(block, Hosted | Media | Passage | Raw)  # which it cannot say here
    )


def read_assistant(d: Mistral, doc: dict[str, Json], at: str) -> Message:
    message = without_silence(chat_assistant.read_assistant(d, doc, at))
    return without_fields(message, "prefix") if doc.get("prefix") is False else message


def without_silence(message: Message) -> Message:
    """``"content": ""`` beside calls says nothing; servers always put it there."""
    content = message.content
    if message.role != "assistant" or len(content) < 2:
        return message
    first = content[0]
    if not is_plain_text(first) or first.text:
        return message
    if not any(isinstance(block, ToolCall) for block in content):
        return message
    return replace(message, content=content[1:])


def holds_all(d: Mistral, result: ToolResult) -> bool:
    """A result holds whatever a message may hold."""
    return True


def write_assistant(d: Mistral, message: Message, w: Writing) -> Json | None:
    doc = chat_assistant.write_assistant(d, message, w)
    if doc is None:
        return None
    if not (w.same or w.reply) and says_nothing(message):
        # "Assistant message must have either content or tool_calls, but not none." (3240)
        for block in message.content:
            if isinstance(block, Text):
                d.omit_text(block.at, w.log)
        d.omit_message(message, w.log)
        return None
    if doc.get("content") == "" and "tool_calls" in doc and not w.same:
        for block in message.content:
            if isinstance(block, Text):
                d.omit_text(block.at, w.log)
    return doc


def sort_blocks(d: Mistral, content: Sequence[Block], w: Writing) -> ChatReceived:
    """Reasoning and texts in their order, then calls."""
    spelled = ChatReceived()
    for block in content:
        if is_content(d, block, w):
            spelled.texts.append(block)
        elif isinstance(block, ToolCall) or chat_assistant.is_raw_call(d, block):
            spelled.calls.append(block)
        else:
            spelled.others.append(block)
    return spelled


def is_content(d: Mistral, block: Block, w: Writing) -> bool:
    """Whether the assistant says it as content; in the same dialect, whatever it said so."""
    if isinstance(block, Reasoning):
        return chat_parts.place_of(d, block) in (None, "content")
    if isinstance(block, Text) or chat_assistant.is_marked_call(block):
        return True
    return not chat_assistant.is_raw_call(d, block) and chat_assistant.stands_in_content(
        d, block, w
    )


def write_texts(d: Mistral, written: ChatReceived, doc: dict[str, Json], w: Writing) -> Json:
    if not written.texts:
        return None
    texts = [chat_assistant.lift_citations(d, block, doc, 0, w) for block in written.texts]
    if w.same:
        return chat_parts.write_content(d, texts, w)
    content = chat_parts.write_content(d, joined(d, texts, w) if w.reply else texts, w)
    if content.__class__ is list and len(content) == 1 and content[0]["type"] == "text":
        return content[0]["text"]  # what stood beside it had no place
    return content


def joined(d: Mistral, texts: Sequence[Block], w: Writing) -> list[Block]:
    """Texts of a reply that follow each other are one, as they are in a stream."""
    out: list[Block] = []
    for block in texts:
        last = out[-1] if out else None
        if isinstance(block, Text) and isinstance(last, Text):
            note_joined(block, d, w)
            d.lose(block.extras, block.at, w.log)
            out[-1] = replace(last, text=last.text + block.text)
        elif isinstance(block, Text) and not block.text and len(texts) > 1:
            d.omit_text(block.at, w.log)
            d.lose(block.extras, block.at, w.log)
        else:
            out.append(block)
    return out


def write_result_content(
    d: Mistral, doc: dict[str, Json], block: ToolResult, hoisted: list[Json], w: Writing
) -> Json:
    """A result holds images and documents as well, so nothing is hoisted."""
    return chat_parts.write_content(d, block.content, w)


def write_tool(d: Mistral, tool: Tool, w: Writing) -> Json | None:
    if tool.kind == "function" and tool.schema is None and not w.same:
        tool = replace(tool, schema=needed_parameters(tool, w.log))
    return chat_tools.write_tool(d, tool, w)


def read_choice(d: Mistral, doc: Json, parallel: bool | None, at: str) -> ToolChoice:
    return chat_tools.read_choice(d, "required" if doc == "any" else doc, parallel, at)


def write_choice(d: Mistral, choice: ToolChoice, w: Writing) -> Json | None:
    spelled = chat_tools.write_choice(d, choice, w)
    return "any" if spelled == "required" else spelled
