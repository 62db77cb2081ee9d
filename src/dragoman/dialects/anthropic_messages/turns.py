"""Writing a conversation of the Anthropic Messages API: the system prompt and the turns.

Each turn of the user or the assistant; tool results share one; a system turn stands where the API
takes it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...core.turns import results_in_place
from ...core.writing import Writing, is_plain_text, object_of
from ...model import (
    Block,
    Json,
    Message,
    Text,
    ToolCall,
    ToolResult,
)
from .tools import Tools


class Turns(Tools):
    """The turns of a conversation, out of the tree."""

    def write_conversation(
        self, out: dict[str, Json], messages: Sequence[Message], w: Writing
    ) -> None:
        if not w.home:
            messages = results_in_place(messages, w.log)
        leading = 0
        for message in messages:
            if message.role != "system" or (w.home and (leading or self.is_inline(message))):
                break
            leading += 1
        if leading:
            self.write_system(out, messages[:leading], w)
        out["messages"] = self.write_turns(messages[leading:], w)

    def is_inline(self, message: Message) -> bool:
        """Whether a leading system turn has fields, which only a turn can have."""
        return message.extras is not None and self.is_home(message.extras.dialect)

    def write_system(self, out: dict[str, Json], messages: Sequence[Message], w: Writing) -> None:
        first = messages[0]
        if len(messages) == len(first.content) == 1 and first.extras is None:
            block = first.content[0]
            if (
                block.__class__ is Text
                and block.extras is None
                and block.cache is None
                and not block.citations
            ):
                out["system"] = block.text  # the usual shape
                return
        only = first.content[0] if len(messages) == len(first.content) == 1 else None
        if only is not None and is_plain_text(only, home=False):
            self.note_system(first, w)
            out["system"] = only.text
            return
        blocks: list[Json] = []
        for index, message in enumerate(messages):
            self.note_system(message, w)
            if index:
                self.merge_prompt(message, w.log)
            blocks += self.write_blocks(message.content, w)
        if blocks or w.home:
            out["system"] = blocks

    def note_system(self, message: Message, w: Writing) -> None:
        if message.extras is not None and not self.is_home(message.extras.dialect):
            self.lose(message.extras, message.at, w.log)

    def write_turns(self, messages: Sequence[Message], w: Writing) -> list[Json]:
        """The messages; tool results that follow each other share one user turn."""
        out: list[dict[str, Json]] = []
        results = False  # the last turn written ends in a tool result
        turn: list[Json] | None = None  # that turn, if it holds nothing else
        waiting: list[Message] = []
        home = w.home
        for index, message in enumerate(messages):
            role, content, extras = message.role, message.content, message.extras
            # The usual turns: one result, what the model said and called, or one plain text.
            if (extras is not None and not self.is_mute(extras)) or waiting:
                pass
            elif role == "tool":
                if (turn is not None or not results) and len(content) == 1:
                    result = content[0]
                    if result.__class__ is ToolResult:
                        if turn is None:
                            turn = []
                            out.append({"role": "user", "content": turn})
                            results = True
                        turn.append(self.write_result(result, w))
                        continue
            elif message.name is not None:
                pass
            elif len(content) != 1 or (text := content[0]).__class__ is not Text:
                if role == "assistant":
                    self.write_assistant(message, out, w)
                    results, turn = False, None
                    continue
            elif (
                (role == "assistant" or (role == "user" and not (home and results)))
                and (text.extras is None or self.is_mute(text.extras))
                and text.cache is None
                and not text.citations
            ):
                out.append({"role": role, "content": text.text})
                results, turn = False, None
                continue
            turn = None
            if not home and role == "system":
                waiting.append(message)
                if self.waits(messages, index, w):
                    continue
                self.flush_system(waiting, out, w)
                results = False
                continue
            if waiting and role == "assistant":
                self.flush_system(waiting, out, w)
            self.write_other(message, out, results, w)
            results = role == "tool"
        if waiting:
            self.flush_system(waiting, out, w)
        return out

    def write_other(
        self, message: Message, out: list[dict[str, Json]], results: bool, w: Writing
    ) -> None:
        """A turn of any shape; a result joins the results before it."""
        role = message.role
        if role == "tool":
            doc: dict[str, Json] = {
                "role": "user",
                "content": self.write_blocks(message.content, w),
            }
            if message.extras is not None:
                self.emit(doc, message, w.log)
        else:
            doc = self.write_turn(message, role, w)
        if results and self.joins(message, w):
            self.join_turn(out[-1], doc["content"])
        elif doc["content"] or w.home:
            out.append(doc)
        else:
            self.omit_message(message, w.log)

    def joins(self, message: Message, w: Writing) -> bool:
        """Whether a turn after results is part of theirs: results are, and the user's words may be.

        A turn with fields of its own stays one.
        """
        if message.extras is not None and self.is_home(message.extras.dialect):
            return False
        return message.role == "tool" or (w.home and message.role == "user")

    def write_assistant(self, message: Message, out: list[dict[str, Json]], w: Writing) -> None:
        """What the model said and called, with nothing to the turn itself that could get lost."""
        blocks = self.write_usual_turn(message.content, w)
        if blocks is None:
            fit = message.content if w.home else self.fit_assistant(message.content, w)
            blocks = self.write_blocks(fit, w)
        if blocks or w.home:
            out.append({"role": "assistant", "content": blocks})
        else:
            self.omit_message(message, w.log)

    def write_usual_turn(self, content: Sequence[Block], w: Writing) -> list[Json] | None:
        """What the assistant said, if it is plain texts and then plain calls; None if not.

        Most turns are so, and this is what fit_assistant and write_blocks make of them.
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
                    (extras is not None and not self.is_mute(extras))
                    or block.cache is not None
                    or block.citations
                ):
                    return None
                out.append({"type": "text", "text": text})
            else:
                return None
        for call in calls:  # nothing is noted before it is sure that all of them are plain
            given, call_id, name = object_of(call, w.log), call.id, call.name
            if call_id is None or call_id in w.called or not w.ids.stays(call_id):
                call_id = w.call_once(call)
            else:
                w.called.add(call_id)
            if name not in w.names.staying:
                name = w.tool_name(name, call.at)
            out.append({"type": "tool_use", "id": call_id, "name": name, "input": given})
        return out

    def join_turn(self, turn: dict[str, Json], content: Json) -> None:
        if turn["content"].__class__ is list and content.__class__ is list:
            turn["content"].extend(content)
            return
        if turn["content"].__class__ is str:
            turn["content"] = [{"type": "text", "text": turn["content"]}]
        if content.__class__ is str:
            content = [{"type": "text", "text": content}]
        turn["content"] += content

    def waits(self, messages: Sequence[Message], index: int, w: Writing) -> bool:
        """Whether a system turn is written later: it must follow a user turn and precede the
        assistant's, or end the list. Words that become the user's stay in their place, but for
        results, which come right after their calls.
        """
        others = (m.role for m in messages[index + 1 :] if m.role != "system")
        follows = next(others, None)
        if follows == "user" and w.facts.system_turns is False:
            return False
        if follows in ("user", "tool"):
            why = f"{self.name} requires a system turn right before the assistant turn"
            w.moved("message.position", messages[index].at, why)
        return True

    def flush_system(self, waiting: list[Message], out: list[dict[str, Json]], w: Writing) -> None:
        for message in waiting:
            self.note_system(message, w)
            doc = self.write_turn(message, "system", w)
            if not doc["content"]:
                self.omit_message(message, w.log)
            elif w.facts.system_turns is False:
                # "role 'system' is not supported on this model"
                why = f"`system` role written as `user`: not supported by {w.model} in a turn"
                w.log.approximated("message.role", message.at, why)
                out.append(doc | {"role": "user"})
            elif not out or out[-1]["role"] == "assistant":
                # Nothing of the user's to stand after: the words go on as the user's.
                why = f"`system` role written as `user`: {self.name} has it only after a user turn"
                w.log.approximated("message.role", message.at, why)
                out.append(doc | {"role": "user"})
            elif out[-1]["role"] == "system":
                # "role 'system' must precede an 'assistant' message", so there can be only one
                self.merge_message(message, w.log)
                self.join_turn(out[-1], doc["content"])
            else:
                out.append(doc)
        waiting.clear()

    def write_turn(self, message: Message, role: str, w: Writing) -> dict[str, Json]:
        content = message.content
        doc: dict[str, Json]
        if len(content) == 1 and is_plain_text(content[0], home=False):
            doc = {"role": role, "content": content[0].text}
        else:
            blocks: Sequence[Block] = content
            if role == "assistant" and not w.home:
                blocks = self.fit_assistant(content, w)
            doc = {"role": role, "content": self.write_blocks(blocks, w)}
        return doc if message.extras is None else self.emit(doc, message, w.log)

    def fit_assistant(self, content: Sequence[Block], w: Writing) -> Sequence[Block]:
        """The assistant's turn: no media, which this API takes from the user only; calls last."""
        said: list[Block] = []
        calls: list[Block] = []
        for block in content:
            kind = block.__class__
            if kind is ToolCall:
                calls.append(block)
            elif calls and not w.answer:
                # Text after a call makes it unanswered: "`tool_use` ids were found without
                # `tool_result` blocks immediately after"
                w.log.approximated(
                    "content.order", block.at, f"tool calls come last in {self.name}"
                )
                said.append(block)
            else:
                (calls if calls else said).append(block)
        return said + calls
