"""Writing a conversation of Bedrock's Converse API: the system prompt and the turns.

Turns alternate, and the user begins. So what follows each other from the same side shares a turn:
the results of tools and what the user says after them, which can be told apart again, and texts
that were said in several messages, which cannot.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...core.turns import SILENCE, results_in_place
from ...model import (
    Block,
    Hosted,
    Json,
    Message,
    Raw,
    ToolCall,
)
from .tools import Tools
from .write_blocks import Said


class Turns(Tools):
    """The turns of a conversation, out of the tree."""

    def write_conversation(
        self, out: dict[str, Json], messages: Sequence[Message], w: Said
    ) -> None:
        if not w.home:
            messages = results_in_place(messages, w.log)
        leading = 0
        for message in messages:
            if message.role != "system" or self.is_inline(message):
                break
            leading += 1
        if leading:
            self.write_system(out, messages[:leading], w)
        rest = messages[leading:]
        out["messages"] = self.write_turns(rest, w) if w.home else self.write_alternating(rest, w)

    def is_inline(self, message: Message) -> bool:
        """Whether a leading system turn was said inside the messages, at home."""
        return self.spelling(message).get("place") == "message"

    def write_system(self, out: dict[str, Json], messages: Sequence[Message], w: Said) -> None:
        blocks: list[Json] = []
        for message in messages:
            self.lose(message.extras, message.at, w.log)
            said = self.write_blocks(message.content, w)
            if blocks and said:
                self.merge_prompt(message, w.log)
            blocks += said
        if blocks or w.home:
            out["system"] = blocks

    def write_turns(self, messages: Sequence[Message], w: Said) -> list[Json]:
        """The messages as they were: tool results that follow each other shared one user turn."""
        out: list[Json] = []
        results = False  # the last turn written ends in a tool result
        for message in messages:
            joined = self.spelling(message).get("joined", results and message.role == "tool")
            doc = self.write_turn(message, w)
            if joined and out:
                out[-1]["content"] += doc["content"]
            else:
                out.append(doc)
            results = message.role == "tool"
        return out

    def write_alternating(self, messages: Sequence[Message], w: Said) -> list[Json]:
        out: list[Json] = []
        places: list[str] = []
        before = ""
        for message in messages:
            doc = self.write_turn(message, w)
            if not doc["content"]:
                self.omit_message(message, w.log)
            elif out and out[-1]["role"] == doc["role"]:
                if before != "tool" and message.role != "tool":
                    self.merge_message(message, w.log)
                out[-1]["content"] += doc["content"]
                before = message.role
            else:
                out.append(doc)
                places.append(message.at)
                before = message.role
        for doc, at in zip(out, places, strict=True):
            self.add_words(doc["content"], at, w)
        if out and out[0]["role"] != "user":
            self.begin(out, messages[0].at, w)
        return out

    def begin(self, turns: list[Json], at: str, w: Said) -> None:
        """ "A conversation must start with a user message." """
        self.add_user_turn(at, w.log)
        turns.insert(0, {"role": "user", "content": [{"text": SILENCE}]})

    def add_words(self, content: list[Json], at: str, w: Said) -> None:
        """ "A text block must be included when using documents." """
        kinds = {kind for block in content for kind in block}
        if "document" in kinds and "text" not in kinds:
            w.log.invented(
                "text.empty",
                at,
                f"{self.name} requires a text beside a document; written as {SILENCE!r}",
            )
            content.append({"text": SILENCE})

    def write_turn(self, message: Message, w: Said) -> dict[str, Json]:
        role, content = message.role, message.content
        blocks: Sequence[Block] = content
        if role == "assistant" and not w.home:
            blocks = self.fit_assistant(content, w)
        said = "user" if role == "tool" else role
        if said == "system" and w.facts.system_turns is False:
            why = f"`system` role written as `user`: not supported by {w.model} in a turn"
            w.log.approximated("message.role", message.at, why)
            said = "user"
        return self.emit({"role": said, "content": self.write_blocks(blocks, w)}, message, w.log)

    def fit_assistant(self, content: Sequence[Block], w: Said) -> Sequence[Block]:
        """The assistant's turn: no media in a history, which only the user can send; calls last."""
        said: list[Block] = []
        calls: list[Block] = []
        for block in content:
            if isinstance(block, ToolCall):
                calls.append(block)
            elif calls and not w.answer:
                # Claude takes a call with text after it for one that was not answered.
                if not isinstance(block, Hosted | Raw):  # which are not said at all
                    w.log.approximated(
                        "content.order", block.at, f"tool calls come last in {self.name}"
                    )
                said.append(block)
            else:
                (calls if calls else said).append(block)
        return said + calls
