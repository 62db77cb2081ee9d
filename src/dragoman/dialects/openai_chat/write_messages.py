"""Writing the messages of Chat Completions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec.structs import replace

from ...core.reading import (
    parse,
)
from ...core.turns import HOISTED, note_empty_result, results_in_place
from ...core.writing import Writing, is_plain_text, joined, joint, note_joined
from ...errors import Malformed
from ...model import (
    Block,
    Citation,
    Json,
    Media,
    Message,
    Passage,
    Raw,
    Reasoning,
    Refusal,
    Text,
    ToolCall,
    ToolResult,
)
from ...tools import freeform
from ...tools.tool_errors import ERROR, MARK, is_marked, mark_error, mark_plain
from . import gateways, inline
from .parts import Parts

EMPTY: dict[str | None, Json] = {"list": [], "empty": ""}
"""How nothing was spelled, where not as null."""


class WriteMessages(Parts):
    """The turns of a conversation, out of the tree."""

    thinking_key: ClassVar[str | None] = None
    """Where a variant of this dialect wants the model's reasoning sent back."""
    joins_texts: ClassVar[bool] = True
    """Whether the texts of a response become one string, joined with line breaks."""

    def write_history(self, messages: Sequence[Message], w: Writing) -> list[Json]:
        out: list[Json] = []
        hoisted: list[Json] = []
        if not w.home:
            messages = results_in_place(messages, w.log, apart=True)
        for message in messages:
            role = message.role
            if (
                w.home
                and message.extras is not None
                and inline.write_message(self, message, out, w)
            ):
                continue
            if role == "tool":
                for block in message.content:
                    out.append(self.write_result(block, message, hoisted, w))
                continue
            if hoisted:
                out.append({"role": "user", "content": list(hoisted)})
                hoisted.clear()
            if role == "assistant":
                doc = self.write_assistant(message, w)
            else:
                doc = self.write_plain(message, w)
            if doc is not None:
                out.append(doc)
        if hoisted:
            out.append({"role": "user", "content": list(hoisted)})
        return out

    def write_inline(self, block: ToolCall | ToolResult, w: Writing) -> Json:
        return inline.write_part(self, block, w)

    def write_plain(self, message: Message, w: Writing) -> Json | None:
        """A turn of system, developer or user."""
        content, extras = message.content, message.extras
        doc: dict[str, Json]
        if len(content) == 1 and (extras is None or self.is_mute(extras)):
            if is_plain_text(content[0]):  # the usual shape
                doc = {"role": message.role, "content": content[0].text}
                if message.name is not None:
                    doc["name"] = message.name
                return doc
        spelled = self.spelling(message).get("content")
        doc = {"role": message.role}
        if spelled == "null":
            doc["content"] = None
        elif spelled != "absent":
            said = self.write_content(content, spelled, w)
            if said is None:
                if not w.home:
                    self.lose(extras, message.at, w.log)
                    self.omit_message(message, w.log)
                    return None
                said = []
            doc["content"] = said
        if message.name is not None:
            doc["name"] = message.name
        return self.emit(doc, message, w.log)

    def write_content(self, blocks: Sequence[Block], spelled: Json, w: Writing) -> Json:
        """A string for one plain text, else a list; None where nothing is left."""
        if spelled == "object" and len(blocks) == 1 and isinstance(blocks[0], Text):
            return parse(blocks[0].text)
        if len(blocks) == 1 and spelled != "list" and is_plain_text(blocks[0], w.home):
            return blocks[0].text
        parts = self.write_parts(blocks, w)
        return parts or EMPTY.get(spelled)

    def write_assistant(self, message: Message, w: Writing) -> Json | None:
        content, extras = message.content, message.extras
        if message.name is None and (extras is None or self.is_mute(extras)):
            if (usual := self.write_usual(content, w)) is not None:
                return usual
        beside: dict[str, Json] = {}
        content = self.lift_signature(content, beside, w)
        if len(content) == 1 and message.extras is None and is_plain_text(content[0]):
            doc: dict[str, Json] = {"role": "assistant", "content": content[0].text}
        else:
            said = self.sort_blocks(content, w)
            doc = {"role": "assistant"}
            spelled = None if message.extras is None else self.spelling(message).get("content")
            if spelled != "absent":
                doc["content"] = self.write_said(said, spelled, doc, w)
            for block in said.others:
                self.write_beside(doc, block, w)
            if said.calls:
                self.write_calls(doc, said.calls, w)
            if not (w.home or w.answer) and doc["content"] is None and len(doc) == 2:
                self.lose(message.extras, message.at, w.log)
                self.omit_message(message, w.log)
                return None
        doc |= beside
        if "fields" in self.spelling(message) and gateways.BLOCKS in doc:
            doc[gateways.FIELDS] = {
                **doc.get(gateways.FIELDS, {}), gateways.BLOCKS: doc[gateways.BLOCKS]
            }  # fmt: skip
        if message.name is not None:
            doc["name"] = message.name
        return doc if message.extras is None else self.emit(doc, message, w.log)

    def lift_signature(
        self, content: tuple[Block, ...], beside: dict[str, Json], w: Writing
    ) -> tuple[Block, ...]:
        """The signature of the last text is the message's here."""
        for index in range(len(content) - 1, -1, -1):
            block = content[index]
            if isinstance(block, Text):
                bare = self.write_signature(beside, block, w)
                if bare is block:
                    return content
                return (*content[:index], bare, *content[index + 1 :])
        return content

    def write_usual(self, content: Sequence[Block], w: Writing) -> Json | None:
        """A plain text, plain calls or both, which is what nearly every turn holds."""
        text = None
        calls: list[ToolCall] = []
        for block in content:
            extras = block.extras
            if block.__class__ is ToolCall:
                if (
                    extras is not None
                    or block.cache is not None
                    or block.kind != "function"
                    or block.id is None
                ):
                    return None
                calls.append(block)
            elif (
                block.__class__ is Text
                and text is None
                and not calls
                and (extras is None or (not w.home and self.is_mute(extras)))
                and block.cache is None
                and not block.citations
            ):
                text = block.text
            else:
                return None
        if not calls:
            return None if text is None else {"role": "assistant", "content": text}
        written: list[Json] = []
        for call in calls:  # nothing is noted before it is sure that all of them are plain
            name, call_id = call.name, call.id
            if name not in w.names.staying:
                name = w.tool_name(name, call.at)
            if call_id is None or not w.ids.stays(call_id):
                call_id = w.call_id(call)
            function = {"name": name, "arguments": call.arguments or "{}"}
            written.append({"id": call_id, "type": "function", "function": function})
        return {"role": "assistant", "content": text, "tool_calls": written}

    def sort_blocks(self, content: Sequence[Block], w: Writing) -> Said:
        """Text, then refusals, then calls."""
        said = Said()
        for block in content:
            if self.is_inline(block) or self.stands_in_content(block):
                said.texts.append(block)
            elif isinstance(block, ToolCall) or self.is_raw_call(block):
                said.calls.append(block)
            else:
                said.others.append(block)
        return said

    def is_inline(self, block: Block) -> bool:
        """What stood in the content and is no text: a call, or what only this dialect knows."""
        if block.extras is None or not isinstance(block, ToolCall | Raw):
            return False
        return inline.PART in self.spelling(block)

    def is_raw_call(self, block: Block) -> bool:
        """A kind of call that only some compatible server knows, at home."""
        return isinstance(block, Raw) and self.is_home(block.dialect) and "/tool_calls/" in block.at

    def stands_in_content(self, block: Block) -> bool:
        """Whether a block stands in the content; reasoning does where a server put it there."""
        if isinstance(block, Reasoning):
            return "part" in self.spelling(block)
        return isinstance(block, Text | Refusal) and not self.is_beside(block)

    def is_beside(self, block: Block) -> bool:
        """Whether a refusal stands beside the content (the usual place), not in it."""
        return isinstance(block, Refusal) and not self.spelling(block).get("part")

    def write_said(self, said: Said, spelled: Json, doc: dict[str, Json], w: Writing) -> Json:
        texts = said.texts
        if not texts:
            return EMPTY.get(spelled)
        joined = w.answer and not w.home  # an answer is one string
        joints = joints_of(texts) if joined else [""] * len(texts)
        if any(isinstance(b, Text) and b.citations for b in texts):
            offset, lifted = 0, []
            for block, between in zip(texts, joints, strict=True):
                offset += len(between)
                lifted.append(self.lift_citations(block, doc, offset, w))
                offset += len(block.text) if joined and isinstance(block, Text) else 0
            texts = lifted
        if joined:
            return self.write_one_string(texts, joints, w)
        return self.write_content(texts, spelled, w)

    def write_one_string(self, texts: list[Block], joints: list[str], w: Writing) -> str:
        """An answer is one string here."""
        first = next((b for b in texts if isinstance(b, Text) and b.text), next(iter(texts), None))
        said: list[str] = []
        for block, between in zip(texts, joints, strict=True):
            if block is not first:
                note_joined(block, self, w)
            if isinstance(block, Text):
                said += (between, block.text)
            self.lose(block.extras, block.at, w.log)
        return "".join(said)

    def lift_citations(self, block: Block, doc: dict[str, Json], offset: int, w: Writing) -> Block:
        """Citations stand beside the content here, with their place in the whole of it."""
        if not isinstance(block, Text) or not block.citations:
            return block
        written = (self.write_annotation(c, len(block.text), offset, w) for c in block.citations)
        if found := [doc for doc in written if doc is not None]:
            doc["annotations"] = doc.get("annotations", []) + found
        return replace(block, citations=())

    def write_annotation(self, cite: Citation, length: int, offset: int, w: Writing) -> Json | None:
        if cite.kind == "other":
            return None if cite.extras is None else cite.extras.fields
        inner: dict[str, Json] = {} if cite.url is None else {"url": cite.url}
        if cite.title is not None or not w.home:
            inner["title"] = cite.title or ""
        span = cite.span
        if span is None and not w.home:
            span = (0, length)
        if span is not None:
            inner |= {"start_index": span[0] + offset, "end_index": span[1] + offset}
        return self.emit({"type": "url_citation", "url_citation": inner}, cite, w.log)

    def write_beside(self, doc: dict[str, Json], block: Block, w: Writing) -> None:
        """What is not content: refusals, reasoning, speech, and what has no place at all."""
        match block:
            case Refusal():
                if doc.get("refusal") is not None:
                    self.join_text(block.at, w.log)
                doc["refusal"] = (doc.get("refusal") or "") + block.text
                self.lose(block.extras, block.at, w.log)
            case Reasoning():
                self.write_reasoning(doc, block, w)
            case Media() | Raw() if self.spelling(block).get("place") == "audio":
                doc["audio"] = self.write_spoken(block, w)
            case Media() | Passage() if w.home:  # some servers let the assistant say them, as parts
                doc.setdefault("content", [])
                doc["content"] = [*(doc["content"] or []), *self.write_part(block, w)]
            case _:
                self.omit(block, w.log)

    def write_spoken(self, block: Media | Raw, w: Writing) -> Json:
        if isinstance(block, Raw):
            return block.payload
        out: dict[str, Json] = {"id" if block.source.kind == "file" else "data": block.source.value}
        if block.transcript is not None:
            out["transcript"] = block.transcript
        return self.emit(out, block, w.log)

    def write_reasoning(self, doc: dict[str, Json], block: Reasoning, w: Writing) -> None:
        if "blocks" in self.spelling(block):
            return gateways.write_block(self, doc, block, w.log)
        key = self.spelling(block).get("key") or self.thinking_key
        self.lose(block.extras, block.at, w.log)
        if key is None or not any(block.content):
            return None
        if not w.home and (key in doc or len(block.content) > 1):
            self.join_text(block.at, w.log)
        doc[key] = (doc[key] + "\n\n" if key in doc else "") + joined(block.content)
        return None

    def write_calls(self, doc: dict[str, Json], calls: list[Block], w: Writing) -> None:
        out: list[Json] = []
        for call in calls:
            if not isinstance(call, ToolCall):
                out += self.write_part(call, w)
            elif call.extras is not None and self.spelling(call).get("legacy"):
                function: dict[str, Json] = {"name": call.name}
                self.write_arguments(function, call)
                doc["function_call"] = self.emit(function, call, w.log)
            else:
                out.append(self.write_call(call, w))
        if out:
            doc["tool_calls"] = out

    def write_call(self, call: ToolCall, w: Writing) -> Json:
        if self.can.freeform != "native":
            call = freeform.as_function(call, w.home)
        out: dict[str, Json] = {}
        if not w.home or call.id is not None:
            out["id"] = w.call_id(call)
        out["type"] = call.kind
        name = w.tool_name(call.name, call.at)
        if call.kind == "custom":
            out["custom"] = {"name": name, "input": call.arguments}
            if "input" in self.spelling(call):
                del out["custom"]["input"]
            return self.emit(out, self.write_signature(out, call, w), w.log)
        out["function"] = {"name": name, "arguments": call.arguments or "{}"}
        if call.extras is None:
            return out
        self.write_arguments(out["function"], call)
        if "type" in (spelling := self.spelling(call)):
            out["type"] = spelling["type"]
            if out["type"] is None:
                del out["type"]
        if "index" in spelling:
            out["index"] = spelling["index"]
        return self.emit(out, self.write_signature(out, call, w), w.log)

    def write_arguments(self, function: dict[str, Json], call: ToolCall) -> None:
        spelled = self.spelling(call).get("arguments", "text")
        function["arguments"] = call.arguments or "{}"
        if spelled == "object":
            function["arguments"] = parse(call.arguments)
        elif spelled is None:
            del function["arguments"]
        elif spelled == "" and call.arguments == "{}":
            function["arguments"] = ""

    def write_result(self, block: Block, message: Message, hoisted: list[Json], w: Writing) -> Json:
        if block.__class__ is not ToolResult:
            raise Malformed("only tool results are allowed in a tool message", block.at)
        content, extras, call_id = block.content, block.extras, block.call_id
        if (
            (extras is None or (not w.home and self.is_mute(extras)))
            and not block.is_error
            and block.name is None
            and block.cache is None
            and (message.extras is None or self.is_mute(message.extras))
            and len(content) == 1
        ):  # the usual shape
            first = content[0]
            if (
                first.__class__ is Text
                and first.extras is None
                and first.cache is None
                and not first.citations
                and not first.text.startswith(MARK)
            ):
                if call_id is None or call_id not in w.ids.staying:
                    call_id = w.result_id(block)
                return {"role": "tool", "tool_call_id": call_id, "content": first.text}
        doc: dict[str, Json] = {"role": "tool"}
        spelling = self.spelling(block)
        self.write_result_id(doc, block, spelling, w)
        self.write_result_content(doc, block, spelling, hoisted, w)
        if block.name is not None and (w.home or self.can.result_names):
            doc["name"] = block.name
        self.lose(message.extras, message.at, w.log)
        return doc if block.extras is None else self.emit(doc, block, w.log)

    def mark_first(self, part: Json, block: ToolResult, w: Writing) -> None:
        """A text that comes first because what stood before it is not written here."""
        if part.get("type") == "text" and is_marked(part["text"]):
            w.moved(
                "tool_result.error",
                block.at,
                "'[tool output]' is written before a text that looks like an error",
            )
            part["text"] = mark_plain(part["text"])

    def write_result_id(
        self, doc: dict[str, Json], block: ToolResult, spelling: dict[str, Json], w: Writing
    ) -> None:
        if spelling.get("legacy"):
            doc["role"] = "function"
        if w.home and block.call_id is None:
            return
        doc["tool_call_id"] = w.result_id(block)

    def write_result_content(
        self,
        doc: dict[str, Json],
        block: ToolResult,
        spelling: dict[str, Json],
        hoisted: list[Json],
        w: Writing,
    ) -> None:
        spelled = spelling.get("content")
        if spelled in ("null", "absent") and not block.is_error:
            if spelled == "null":
                doc["content"] = None
            return
        texts: list[Block] = []
        media: list[Block] = []
        for part in block.content:
            inline = isinstance(part, Text) or (spelled == "list" and _stands_in(part, block))
            (texts if inline else media).append(part)
        if media:
            self.hoist(media, block, doc, hoisted, w)
            if not w.home and hoisted:
                note_empty_result(texts, block.is_error, w.log)
        doc["content"] = self.write_content(self.mark_texts(texts, block, w), spelled, w)
        if doc["content"] is None:
            doc["content"] = ""

    def mark_texts(self, texts: list[Block], block: ToolResult, w: Writing) -> list[Block]:
        """There is no flag for a failed tool: its text says so, and another's must not."""
        first = texts[0] if texts else None
        if w.home and isinstance(first, Text) and first.text == ERROR and not is_plain_text(first):
            return texts  # a text with keys of its own is no mark, and is written as it was
        if not block.is_error:
            if isinstance(first, Text) and is_marked(first.text):
                w.moved(
                    "tool_result.error",
                    first.at,
                    "'[tool output]' is written before a text that looks like an error",
                )
                return [replace(first, text=mark_plain(first.text)), *texts[1:]]
            return texts
        w.moved(
            "tool_result.error",
            block.at,
            f"{self.name} has no error flag; the text begins with '[tool error]'",
        )
        if isinstance(first, Text) and self.spelling(block).get("mark") != "alone":
            return [replace(first, text=mark_error(first.text)), *texts[1:]]
        return [Text(mark_error(None), at=block.at), *texts]

    def hoist(
        self,
        media: list[Block],
        block: ToolResult,
        doc: dict[str, Json],
        hoisted: list[Json],
        w: Writing,
    ) -> None:
        """A result holds only text here: what else it holds goes to a user turn after the run."""
        parts: list[Json] = []
        for part in media:
            if written := self.write_part(part, w):
                parts += written
                why = f"{self.name} allows only text in a tool result; written in a user turn"
                w.moved("tool_result.content", part.at, why)
        if not parts:
            return
        mark = HOISTED.format(id=doc.get("tool_call_id"))
        hoisted += [{"type": "text", "text": mark}, *parts]


def joints_of(texts: Sequence[Block]) -> list[str]:
    """What stands before each text of a response where they become one."""
    out: list[str] = []
    before, cited = "", False
    for block in texts:
        text = block.text if isinstance(block, Text) else ""
        out.append(joint(before, text, cited))
        if isinstance(block, Text) and text:
            before, cited = text, bool(block.citations)
    return out


class Said:
    """What an assistant said, sorted."""

    __slots__ = ("calls", "others", "texts")

    def __init__(self) -> None:
        self.texts: list[Block] = []
        self.calls: list[Block] = []
        self.others: list[Block] = []


def _stands_in(part: Block, result: ToolResult) -> bool:
    """Whether a part was read from the result itself, and not from the turn after it."""
    return not (part.at and result.at) or part.at.startswith(f"{result.at}/")
