"""Messages and tools of Mistral, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec.structs import replace

from ...core.turns import SILENCE, results_in_place
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
    Refusal,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
)
from .._nine import ID_RULE
from ..openai_chat.tools import NAMES
from ..openai_chat.write_messages import Said
from .ids import MistralWriting
from .parts import Parts


class Messages(Parts):
    """The turns of a conversation, and what the model may call."""

    call_ids: ClassVar[tuple[str, int]] = ID_RULE
    joins_texts = False  # what follows each other is one text, as in a stream
    fills_silence = False
    has_signatures = False
    enforces = False

    def writing(self, log: Ledger, dialect: str | None, *, answer: bool = False) -> Writing:
        return MistralWriting(log, NAMES, self.is_home(dialect), answer)

    # -- reading ----------------------------------------------------------------------------

    def read_history(self, docs: list[Json], at: str) -> list[Message]:
        return [self.without_silence(m) for m in super().read_history(docs, at)]

    def read_assistant(self, doc: dict[str, Json], at: str) -> Message:
        message = self.without_silence(super().read_assistant(doc, at))
        extras = message.extras
        if extras is not None and extras.fields.get("prefix") is False:
            rest = {k: v for k, v in extras.fields.items() if k != "prefix"}
            extras = self.respell(replace(extras, fields=rest), prefix=False)
            message = replace(message, extras=extras)
        return message

    def without_silence(self, message: Message) -> Message:
        """``"content": ""`` beside calls says nothing; servers always put it there."""
        content = message.content
        if message.role != "assistant" or len(content) < 2:
            return message
        first = content[0]
        if not is_plain_text(first) or first.text or not first.at.endswith("/content"):
            return message
        if not any(isinstance(block, ToolCall) for block in content):
            return message
        return replace(
            message, content=content[1:], extras=self.respell(message.extras, content="empty")
        )

    def holds_all(self, result: ToolResult) -> bool:
        """A result holds whatever a message may hold."""
        return True

    # -- writing ----------------------------------------------------------------------------

    def write_history(self, messages: Sequence[Message], w: Writing) -> list[Json]:
        if not w.home:
            messages = results_in_place(messages, w.log, apart=True)
            messages = self.in_order(messages, w)
        return super().write_history(messages, w)

    def in_order(self, messages: Sequence[Message], w: Writing) -> list[Message]:
        """Turns as they may follow each other.

        "Unexpected role 'system' after role 'assistant'", "Unexpected role 'user' after role
        'tool'" (code 3230): the system speaks before an answer, and the model after its tools.
        """
        out: list[Message] = []
        before = ""
        for message in messages:
            if message.role == "assistant" and self.says_nothing(message):
                out.append(message)  # for what is lost with it
                continue
            if message.role == "system" and before in ("assistant", "tool"):
                why = (
                    f"`system` role written as `user`: {self.name} has it only at the "
                    "beginning or after a user turn"
                )
                w.log.approximated("message.role", message.at, why)
                message = replace(message, role="user")
            if message.role == "user" and before == "tool":
                if not super().write_history([message], self.writing(Ledger(), None)):
                    out.append(message)  # nothing of it can be said here
                    continue
                why = (
                    f"{self.name} requires an assistant turn between tool results and a user turn; "
                    f"written as {SILENCE!r}"
                )
                w.log.invented("message.empty", message.at, why)
                out.append(Message("assistant", (Text(SILENCE, at=message.at),), at=message.at))
            out.append(message)
            before = message.role
        return out

    def says_nothing(self, message: Message) -> bool:
        """Whether nothing is left of what the assistant says."""
        return all(
            isinstance(block, Text) and not block.text
            for block in message.content
            if not isinstance(block, Hosted | Media | Passage | Raw)  # which it cannot say here
        )

    def write_assistant(self, message: Message, w: Writing) -> Json | None:
        doc = super().write_assistant(message, w)
        if doc is None:
            return None
        if not (w.home or w.answer) and self.says_nothing(message):
            # "Assistant message must have either content or tool_calls, but not none." (3240)
            for block in message.content:
                if isinstance(block, Text):
                    self.omit_text(block.at, w.log)
            self.omit_message(message, w.log)
            return None
        if doc.get("content") == "" and "tool_calls" in doc and not w.home:
            for block in message.content:
                if isinstance(block, Text):
                    self.omit_text(block.at, w.log)
        if "prefix" in (spelling := self.spelling(message)):
            doc["prefix"] = spelling["prefix"]
        return doc

    def sort_blocks(self, content: Sequence[Block], w: Writing) -> Said:
        """Reasoning and texts in their order, then calls."""
        said = Said()
        for block in content:
            if self.is_inline(block):
                said.texts.append(block)
                continue
            if isinstance(block, ToolCall) or self.is_raw_call(block):
                said.calls.append(block)
                continue
            if not self.is_content(block, w):
                said.others.append(block)
                continue
            said.texts.append(block)
        return said

    def is_content(self, block: Block, w: Writing) -> bool:
        """Whether the assistant says it as content; at home, whatever it said so."""
        if isinstance(block, Text):
            return True
        if isinstance(block, Reasoning):
            return "key" not in self.spelling(block)
        if not w.home or self.spelling(block).get("place") == "audio":
            return False
        return not self.is_beside(block) and isinstance(block, Media | Passage | Raw | Refusal)

    def write_said(self, said: Said, spelled: Json, doc: dict[str, Json], w: Writing) -> Json:
        if not said.texts:
            if spelled == "list":
                return []
            return "" if spelled == "empty" else None
        texts = [self.lift_citations(block, doc, 0, w) for block in said.texts]
        if w.home:
            return self.write_content(texts, spelled, w)
        written = self.write_content(self.joined(texts, w) if w.answer else texts, spelled, w)
        if written.__class__ is list and len(written) == 1 and written[0]["type"] == "text":
            return written[0]["text"]  # what stood beside it had no place
        return written

    def joined(self, texts: Sequence[Block], w: Writing) -> list[Block]:
        """Texts of an answer that follow each other are one, as they are in a stream."""
        out: list[Block] = []
        for block in texts:
            last = out[-1] if out else None
            if isinstance(block, Text) and isinstance(last, Text):
                note_joined(block, self, w)
                self.lose(block.extras, block.at, w.log)
                out[-1] = replace(last, text=last.text + block.text)
            elif isinstance(block, Text) and not block.text and len(texts) > 1:
                self.omit_text(block.at, w.log)
                self.lose(block.extras, block.at, w.log)
            else:
                out.append(block)
        return out

    def write_result_content(
        self,
        doc: dict[str, Json],
        block: ToolResult,
        spelling: dict[str, Json],
        hoisted: list[Json],
        w: Writing,
    ) -> None:
        """A result holds images and documents as well, so nothing is hoisted."""
        spelled = spelling.get("content")
        if spelled in ("null", "absent") and not block.is_error:
            if spelled == "null":
                doc["content"] = None
            return
        doc["content"] = self.write_content(
            self.mark_texts(list(block.content), block, w), spelled, w
        )
        if doc["content"].__class__ is list and not (w.home or block.is_error):
            if isinstance(block.content[0], Media):
                self.mark_first(doc["content"][0], block, w)
        if doc["content"] is None:
            doc["content"] = ""

    # -- tools ------------------------------------------------------------------------------

    def write_tool(self, tool: Tool, w: Writing) -> Json | None:
        if tool.kind == "function" and tool.schema is None and not w.home:
            tool = replace(tool, schema=needed_parameters(tool, w.log))
        return super().write_tool(tool, w)

    def read_choice(self, doc: Json, parallel: bool | None, at: str) -> ToolChoice:
        if doc == "any":
            return super().read_choice("required", parallel, at)
        choice = super().read_choice(doc, parallel, at)
        if doc == "required":
            return replace(choice, extras=self.respell(choice.extras, word="required"))
        return choice

    def write_choice(self, choice: ToolChoice, w: Writing) -> Json | None:
        said = super().write_choice(choice, w)
        return self.spelling(choice).get("word", "any") if said == "required" else said
