"""Writing the parts of the Gemini API."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from msgspec.structs import replace

from ...core.media import kind_of
from ...core.turns import HOISTED
from ...core.writing import Writing, home_only, joined, object_of
from ...ledger import Ledger
from ...model import (
    Block,
    Hosted,
    Json,
    Media,
    Node,
    Raw,
    Reasoning,
    Source,
    Text,
    ToolCall,
    ToolResult,
)
from .read_parts import FILMS, Called, ReadParts
from .schema import Saying
from .spelling import CAMEL

EMPTY: Json = {"text": ""}


class WriteParts(ReadParts):
    """What stands inside a content, out of the tree."""

    def write_parts(self, blocks: Sequence[Block], w: Writing, called: Called) -> list[Json]:
        out: list[Json] = []
        home, log, staying = w.home, w.log, w.names.staying
        for block in blocks:
            extras = block.extras
            # The usual shapes, most blocks by far: nothing to them that could get lost.
            if extras is not None and not self.is_mute(extras):
                pass
            elif block.__class__ is Text:
                if block.text and block.cache is None and not block.citations:
                    out.append({"text": block.text})
                    continue
            elif block.__class__ is Reasoning:
                if block.signature is None and len(block.content) == 1:
                    out.append({"text": block.content[0], "thought": True})
                    continue
            elif block.__class__ is ToolCall:
                call_id, name = block.id, block.name
                if (
                    call_id is not None
                    and (name in staying or home)
                    and block.kind == "function"
                    and block.arguments
                    and block.cache is None
                ):
                    called[call_id] = name
                    inner = {"id": call_id, "name": name, "args": object_of(block, log)}
                    out.append({"functionCall": inner})
                    continue
            out += self.write_part(block, w, called)
        return out

    def write_part(self, block: Block, w: Writing, called: Called) -> list[Json]:
        """One block as parts: a document made of blocks, or a passage, may be several."""
        match block:
            case Text():
                return [self.finish({"text": block.text}, block, w)]
            case ToolCall():
                return [self.write_call(block, w, called)]
            case ToolResult():
                return [self.write_result(block, w, called)]
            case Reasoning():
                return self.write_reasoning(block, w)
            case Media():
                return [self.write_media(block, w)]
            case Hosted() | Raw() if self.is_home(block.dialect):
                return [block.payload]
            case _:
                self.omit(block, w.log)
                return []

    def emit(self, out: dict[str, Json], node: Node, log: Ledger) -> dict[str, Json]:
        """The rest of an object whose key was in snake_case is under that key."""
        if (extras := node.extras) is not None and self.is_home(extras.dialect):
            for key in extras.inner:
                if key in CAMEL and CAMEL[key] in out:
                    out[key] = out.pop(CAMEL[key])
        return super().emit(out, node, log)

    def finish(self, out: dict[str, Json], block: Block, w: Writing) -> dict[str, Json]:
        """A part with its signature, if it is Google's, and with what else was kept of it."""
        extras = block.extras
        if extras is None:
            return out
        if extras.signature is not None and home_only(self, extras.signature.issuer):
            out["thoughtSignature"] = extras.signature.data
            block = replace(block, extras=replace(extras, signature=None))
        return self.emit(out, block, w.log)

    def write_reasoning(self, block: Reasoning, w: Writing) -> list[Json]:
        out: dict[str, Json] = {"text": joined(block.content), "thought": True}
        if block.signature is not None:
            out["thoughtSignature"] = block.signature.data
        return [self.emit(out, block, w.log)]

    # -- calls and results ------------------------------------------------------------------

    def write_call(self, call: ToolCall, w: Writing, called: Called) -> Json:
        inner: dict[str, Json] = {}
        name = w.tool_name(call.name, call.at)
        if call.id is not None:
            inner["id"] = call.id
            called[call.id] = name
        inner["name"] = name
        if call.kind == "custom":
            inner["args"] = {"input": call.arguments}
        else:
            inner["args"] = object_of(call, w.log)
        return self.finish({"functionCall": inner}, call, w)

    def write_result(self, result: ToolResult, w: Writing, called: Called) -> Json:
        call_id, said, extras = result.call_id, result.content, result.extras
        if (
            call_id in called
            and (extras is None or self.is_mute(extras))
            and not result.is_error
            and result.name is None
            and result.cache is None
            and len(said) == 1
            and (text := said[0]).__class__ is Text
            and text.extras is None
            and text.cache is None
            and not text.citations
        ):  # the usual shape
            answer = {"output": text.text}
            usual = {"id": call_id, "name": called[call_id], "response": answer}
            return {"functionResponse": usual}
        inner: dict[str, Json] = {}
        if call_id is not None:
            inner["id"] = call_id
        if (name := self.result_name(result, called, w)) is not None:
            inner["name"] = name
        texts, parts = self.split_result(result, w)
        if parts and isinstance(w, Saying) and w.hoists and (call_id is not None or not w.home):
            self.hoist(result, parts, w)
            parts = []
        self.write_answer(inner, result, texts, w)
        if parts:
            inner["parts"] = parts
        out: dict[str, Json] = {"functionResponse": inner}
        return out if extras is None else self.emit(out, result, w.log)

    def result_name(self, result: ToolResult, called: Called, w: Writing) -> str | None:
        """The tool that answered; a result must name it, and the call has it."""
        known = None if result.call_id is None else called.get(result.call_id)
        if result.name is not None:
            name = w.tool_name(result.name, result.at)
            if name == known and not w.home:
                why = f"{self.name} has no name of a result beside the name of its call"
                w.log.approximated("tool_result.name", result.at, why)
            return name
        if known is not None or w.home:
            return known
        if result.call_id is None and called:
            why = f"{self.name} requires the call of a result; the next one is taken"
            w.log.invented("tool_call.id", result.at, why)
        w.log.invented(
            "tool_result.name",
            result.at,
            f"{self.name} requires the tool name of a result; written as 'unknown'",
        )
        return "unknown"

    def split_result(self, result: ToolResult, w: Writing) -> tuple[list[Text], list[Json]]:
        """The words of a result, and its parts that are not words."""
        texts: list[Text] = []
        parts: list[Json] = []
        for block in result.content:
            if isinstance(block, Text):
                texts.append(block)
            elif isinstance(block, Media):
                if (part := self.write_media(block, w)) is not None:
                    parts.append(part)
            elif isinstance(block, Raw | Hosted) and self.is_home(block.dialect):
                parts.append(block.payload)
        return texts, parts

    def hoist(self, result: ToolResult, parts: list[Json], w: Saying) -> None:
        """Media that the model does not take in a result go to the user's turn after it."""
        w.hoisted += [{"text": HOISTED.format(id=result.call_id or result.name)}, *parts]
        why = "models before Gemini 3 do not support media in a tool result; written in a user turn"
        if result.call_id is not None:
            w.moved("tool_result.content", result.at, why)
        else:
            w.log.approximated("tool_result.content", result.at, why)

    def write_answer(
        self, inner: dict[str, Json], result: ToolResult, texts: list[Text], w: Writing
    ) -> None:
        words: list[str] = []
        for text in texts:
            if words:
                self.join_text(text.at, w.log)
            self.lose(text.extras, text.at, w.log)
            words.append(text.text)
        said = "\n\n".join(words)
        if result.is_error:
            if not words and not w.home:
                self.add_text(result.at, w.log)
            inner["response"] = {"error": said}
        else:
            inner["response"] = {"output": said} if words else {}

    # -- media ------------------------------------------------------------------------------

    def write_media(self, block: Media, w: Writing) -> Json:
        if not w.home and self.kind_again(block.source) != block.kind:
            why = f"without a type, {self.name} does not know it as {block.kind} input"
            w.log.approximated("media.type", block.at, why)
        source = block.source
        inner: dict[str, Json] = {}
        if source.media_type is not None:
            inner["mimeType"] = source.media_type
        if source.kind in ("url", "file"):
            key = "fileData"
            inner["fileUri"] = source.value
        else:
            key = "inlineData"
            inner["data"] = source.value
            if source.kind == "text":
                inner["data"] = base64.b64encode(source.value.encode()).decode()
        if block.filename is not None:
            inner["displayName"] = block.filename
        return self.finish({key: inner}, block, w)

    def kind_again(self, source: Source) -> str:
        """What a reader takes a medium for."""
        if source.media_type is None and source.value.startswith(FILMS):
            return "video"
        return kind_of(source.media_type)
