"""Requests in the shapes of design 001, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import ClassVar

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
from ..openai_responses.calls import CALL_OUTPUT, texts_of
from ..openai_responses.items import Speaker
from ..openai_responses.parts import INPUT, OUTPUT, ItemWriting
from ..openai_responses.request import FIELDS
from ..openai_responses.response import Responses

THOUGHT = "reasoning"
"""The type of an item, and what to include so that a response has its reasoning."""
THOUGHT_TEXTS = (OUTPUT, INPUT, "reasoning_text")
CHOICES = {"auto": "auto", "none": "none", "required": "any"}
NAMELESS = "the name of a tool is empty"
JOINT = " "
"""What stands between texts that become one: "Joins text from multiple content items with space
separator"."""


class Requests(Responses):
    """Items, media, tools and choices."""

    speakers: ClassVar[tuple[Speaker, ...]] = ("user", "system")
    listed = True
    fields = FIELDS.refusing(*{*FIELDS.names} - {"temperature", "stream", "thinking"})

    def __init__(self) -> None:
        super().__init__()
        # The shapes of OpenAI, where they differ from those of this dialect.
        self.easy = self.respell(None, easy=True)
        self.easy_string = self.respell(None, item="easy-string")

    # -- items, reading ---------------------------------------------------------------------

    def read_conversation(
        self, doc: dict[str, Json], taken: set[str], spelling: dict[str, Json]
    ) -> list[Message]:
        return [self.mark_easy(m) for m in super().read_conversation(doc, taken, spelling)]

    def read_input(
        self, value: Json, at: str, out: list[Message], spelling: dict[str, Json]
    ) -> None:
        super().read_input(value, at, out, spelling)
        if not at:  # the bare items; all else is a conversation
            out[:] = map(self.mark_easy, out)

    def mark_easy(self, message: Message) -> Message:
        """What is spelled as OpenAI allows it, and this dialect never writes it, is marked."""
        if message.role == "assistant":
            content = tuple(
                replace(block, extras=self.easy_string)
                if isinstance(block, Text) and block.extras is None and block.at.endswith("content")
                else block
                for block in message.content
            )
            return replace(message, content=content)
        if message.role != "tool" and message.extras is None:
            return replace(message, extras=self.easy)
        return message

    def read_reasoning(self, doc: dict[str, Json], at: str) -> Block:
        """Reasoning: this dialect keeps its words in texts like those of a message."""
        parts = doc.get("content")
        if parts.__class__ is not list or not parts or "summary" in doc:
            return super().read_reasoning(doc, at)
        kind = parts[0].get("type") if parts[0].__class__ is dict else None
        texts = texts_of(parts, kind) if kind in THOUGHT_TEXTS else None
        if texts is None:
            return Raw(self.name, doc, at=at, extras=self.as_item)
        if doc.get("encrypted_content") is not None or doc.get("id") is not None:
            return super().read_reasoning(doc, at)
        extras = self.keep_item(doc, frozenset({"type", "content"}), {"texts": kind})
        return Reasoning(texts, at=at, extras=extras)

    def read_image(self, doc: dict[str, Json], kind: str, at: str) -> Block:
        image = super().read_image(doc, kind, at)
        if isinstance(image, Media) and doc.get("image_url") is not None:
            image = replace(image, extras=self.respell(image.extras, key="image_url"))
        return image

    # -- items, writing ---------------------------------------------------------------------

    def write_prompt(
        self, out: dict[str, Json], messages: Sequence[Message], w: ItemWriting
    ) -> Sequence[Message]:
        """The system prompt is an item; at home it stands where it stood."""
        if w.home and messages and self.is_own(messages[0]):
            return super().write_prompt(out, messages, w)
        return messages

    def write_items(self, messages: Sequence[Message], w: ItemWriting) -> list[Json]:
        """Messages of this dialect as they were, all others in its own form."""
        if not w.home:
            return super().write_items(messages, w)
        out: list[Json] = []
        anew = self.writing(w.log, None)
        for own, run in groupby(messages, self.is_own):
            out += super().write_items(list(run), w if own else anew)
        return out

    def is_own(self, message: Message) -> bool:
        """Whether a message bears the marks of having been read from this dialect, or needs none.

        Calls and outputs are the same in all forms.
        """
        if any(map(self.is_kept, (message, *message.content))):
            return True
        return bool(message.content) and all(map(is_unmarked, message.content))

    def is_kept(self, node: Node) -> bool:
        return node.extras is not None and self.is_home(node.extras.dialect)

    def write_message(self, message: Message, out: list[Json], w: ItemWriting) -> None:
        if w.home:
            return super().write_message(message, out, w)
        count = len(out)
        super().write_message(message, out, w)
        out[count:] = [{"type": "message", **doc} for doc in out[count:]]
        return None

    def write_new_item(self, blocks: Sequence[Block], w: ItemWriting) -> Json:
        return {"type": "message", "role": "assistant", "content": self.write_spoken(blocks, w)}

    def write_text(self, block: Text, usual: str, w: Writing) -> Json:
        if w.home:
            return super().write_text(block, usual, w)
        return {"type": usual, "text": self.text_of(block, w)}

    def text_of(self, block: Text, w: Writing) -> str:
        """A text and nothing more: there are no cache marks and no citations."""
        self.lose(block.extras, block.at, w.log)
        return block.text

    def write_call(self, call: ToolCall, w: ItemWriting) -> Json:
        return super().write_call(call, w)

    def write_result(self, result: ToolResult, w: ItemWriting) -> Json:
        """The output of a tool is one string."""
        if w.home:
            return super().write_result(result, w)
        out: dict[str, Json] = {"type": CALL_OUTPUT, "call_id": w.result_id(result)}
        texts: list[Block] = []
        for block in result.content:
            if isinstance(block, Text):
                texts.append(block)
            else:
                w.log.dropped("tool_result.content", block.at, "an output is one string")
                self.lose(block.extras, block.at, w.log)
        bare = replace(result, content=tuple(texts), cache=None)
        out["output"] = self.join(self.mark_parts(bare, w), w)
        return self.emit(out, result, w.log)

    def join(self, blocks: Sequence[Block], w: Writing) -> str:
        texts: list[str] = []
        for block in blocks:
            if isinstance(block, Text):
                if texts:
                    self.join_text(block.at, w.log)
                texts.append(self.text_of(block, w))
        return JOINT.join(texts)

    def write_reasoning(self, block: Reasoning, w: ItemWriting) -> Json | None:
        kind = self.spelling(block).get("texts")
        if w.home and kind is None and block.extras is not None:
            return super().write_reasoning(block, w)
        parts = [{"type": kind or OUTPUT, "text": text} for text in block.content]
        out: dict[str, Json] = {"type": THOUGHT, "content": parts}
        return out if block.extras is None else self.emit(out, block, w.log)

    # -- media ------------------------------------------------------------------------------

    def write_media(self, block: Media, out: list[Json], w: Writing) -> None:
        if w.home:
            return super().write_media(block, out, w)
        self.lose(block.extras, block.at, w.log)
        out.append({"type": "input_image", "url": self.write_address(block, w)})
        return None

    def write_image(self, block: Media, w: Writing) -> dict[str, Json]:
        """At home; an image that is new there has no spelling."""
        if block.extras is None:
            block = replace(block, extras=self.respell(None, key="url"))
        return super().write_image(block, w)

    def write_address(self, block: Media, w: Writing) -> str:
        """The data know better what they are than whoever labelled them."""
        source = block.source
        found = sniff(source.value) if source.kind == "base64" and not w.home else None
        if found is None or found == source.media_type or not found.startswith("image/"):
            return super().write_address(block, w)
        say = w.log.invented if source.media_type is None else w.log.approximated
        say("media.type", block.at, f"the first bytes of the data are those of {found}")
        return data_uri(found, source.value)

    # -- requests, tools, choice ------------------------------------------------------------

    def write_request(self, tree: Request, log: Ledger) -> Json:
        if self.is_home(tree.dialect):
            return super().write_request(tree, log)
        thinking = tree.params.thinking
        out: dict[str, Json] = super().write_request(tree, log)
        del out["store"]  # there is no such field; nothing is stored
        if out.get("reasoning", {}).get("effort", "none") != "none":
            out["include"] = [THOUGHT]
            at = "" if thinking is None else thinking.at
            log.invented(
                "thinking.display",
                at,
                f"{self.name} returns reasoning only if `include` asks for it",
            )
        return out

    def read_tool(self, doc: dict[str, Json], at: str) -> Tool:
        tool = super().read_tool(doc, at)
        if not tool.name and tool.kind != "hosted":
            raise Malformed(NAMELESS, at)
        if tool.kind != "hosted" and "nested" not in self.spelling(tool):
            tool = replace(tool, extras=self.respell(tool.extras, flat=True))
        return tool

    def write_tool(self, tool: Tool, w: ItemWriting) -> Json | None:
        if self.spelling(tool) or tool.kind == "hosted":
            return super().write_tool(tool, w)
        if not tool.name:
            raise Unsayable(NAMELESS, tool.at)
        out: dict[str, Json] = super().write_tool(tool, w) or {}
        out.setdefault("strict", False)
        kind = out.pop("type")
        return {"type": kind, "function": out}

    def read_choice(self, doc: Json, parallel: bool | None, at: str) -> ToolChoice:
        choice = super().read_choice(doc, parallel, at)
        if choice.mode == "named" and not choice.name:
            raise Malformed(NAMELESS, at)
        if choice.payload is None and not self.spelling(choice):
            word = {"word": doc} if doc.__class__ is str else {"flat": True}
            choice = replace(choice, extras=self.respell(choice.extras, **word))
        return choice

    def write_tool_choice(self, tree: ToolChoice, log: Ledger) -> Json:
        said = super().write_tool_choice(tree, log)
        return {"auto": True} if said == "auto" and "word" not in self.spelling(tree) else said

    def write_choice(self, choice: ToolChoice, w: ItemWriting) -> Json | None:
        """A tool that is named ``auto`` or ``any`` can be chosen: its choice is of another form."""
        if choice.payload is not None or self.spelling(choice):
            return super().write_choice(choice, w)
        self.lose(choice.extras, choice.at, w.log)
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
