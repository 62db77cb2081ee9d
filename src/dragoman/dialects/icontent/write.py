"""Writing the contents of llxprt."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ...core.reading import escape
from ...core.signers import signer
from ...core.writing import Writing, data_uri, joined, object_of
from ...errors import Malformed
from ...ledger import Ledger
from ...model import (
    Block,
    Hosted,
    Json,
    Media,
    Message,
    Node,
    Raw,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from ...tools.llxprt_ids import to_history
from ...tools.tool_errors import ERROR
from .read import REDACTED, WHOLE, Read

ANY = ("(?s:.)", 10**9)
"""Ids and names may be what they like; ids are written in a form of their own."""
SPEAKERS = {"user": "human", "assistant": "ai", "tool": "tool"}
# Which signatures the blocks have a place for, and the field that tells whose they are.
SIGNED = {("anthropic", "signature"): "thinking", ("google", "signature"): "thought"}
"""Who signs reasoning, and the field that the signature stands for."""


class ContentWriting(Writing):
    """A conversion into contents: knows the tools that were called, by the ids of the calls."""

    __slots__ = ("tools",)

    def __init__(self, log: Ledger, home: bool, answer: bool = False) -> None:
        super().__init__(log, ANY, ANY, home, answer)
        self.tools: dict[str | None, str] = {}


class Write(Read):
    """The contents of a conversation, out of the tree."""

    has_error = True
    """whether a result has an ``error`` beside it"""

    def emit(self, out: dict[str, Json], node: Node, log: Ledger) -> dict[str, Json]:
        """What the variant knows is said here as well, unless it is said otherwise already."""
        extras = node.extras
        if extras is None or extras.dialect == self.name or not self.knows(extras.dialect):
            return super().emit(out, node, log)
        fields: dict[str, Json] = {}
        for key, value in extras.fields.items():
            own = out.get(key)
            if own.__class__ is dict and value.__class__ is dict:
                for name in own.keys() & value.keys():
                    log.dropped(
                        "extras",
                        f"{node.at}/{key}/{escape(name)}",
                        f"{self.name} has another value in this field",
                    )
                fields[key] = {name: v for name, v in value.items() if name not in own}
            elif key in out:
                log.dropped(
                    "extras",
                    f"{node.at}/{escape(key)}",
                    f"{self.name} has another value in this field",
                )
            else:
                fields[key] = value
        return super().emit(out, replace(node, extras=replace(extras, fields=fields)), log)

    def write_history(self, messages: Sequence[Message], w: ContentWriting) -> list[Json]:
        out: list[Json] = []
        for message in messages:
            doc = self.write_message(message, w)
            if out and message.extras is not None and self.spelling(message).get("joined"):
                out[-1]["blocks"] += doc["blocks"]
            else:
                out.append(doc)
        return out

    def write_message(self, message: Message, w: ContentWriting) -> dict[str, Json]:
        if (whole := self.write_whole(message)) is not None:
            return whole
        doc: dict[str, Json] = {}
        if message.role == "tool":
            if len(message.content) != 1 or not isinstance(message.content[0], ToolResult):
                raise Malformed("only one tool result is allowed in a tool message", message.at)
            doc["speaker"] = "tool"
            doc["blocks"] = self.write_result(message.content[0], w)
            if self.spelling(message).get("role"):
                doc["metadata"] = {"role": "system"}
        else:
            self.write_speaker(doc, message, w)
            doc["blocks"] = self.write_blocks(message.content, w)
            if "metadata" in doc:
                doc["metadata"] = doc.pop("metadata")  # after the blocks
        if message.extras is None:
            return doc
        doc["speaker"] = self.spelling(message).get("speaker", doc["speaker"])
        return self.emit(doc, message, w.log)

    def write_whole(self, message: Message) -> dict[str, Json] | None:
        """A content that was read as a whole, as it was."""
        extras = message.extras
        if extras is None or WHOLE not in extras.spelling or not self.knows(extras.dialect):
            return None
        raw = message.content[0] if len(message.content) == 1 else None
        return raw.payload if isinstance(raw, Raw) and self.knows(raw.dialect) else None

    def write_speaker(self, doc: dict[str, Json], message: Message, w: Writing) -> None:
        role = message.role
        if role != "system":
            doc["speaker"] = SPEAKERS[role]
            return
        self.write_system(doc, self.spelling(message))

    def write_system(self, doc: dict[str, Json], spelling: dict[str, Json]) -> None:
        """There is no system speaker: llxprt's converters go by the metadata."""
        doc["speaker"] = "ai"
        if spelling.get("role", True):
            doc["metadata"] = {"role": "system"}

    # -- blocks -----------------------------------------------------------------------------

    def write_blocks(self, blocks: Sequence[Block], w: ContentWriting) -> list[Json]:
        out: list[Json] = []
        for block in blocks:
            if block.__class__ is Text and block.extras is None and block.cache is None:
                if not block.citations:
                    out.append({"type": "text", "text": block.text})
                    continue
            out += self.write_block(block, w)
        return out

    def write_block(self, block: Block, w: ContentWriting) -> list[Json]:
        match block:
            case Text():
                return [self.write_text(block, w)]
            case ToolCall():
                return [self.write_call(block, w)]
            case ToolResult():
                return self.write_result(block, w)
            case Media():
                return self.write_media(block, w)
            case Reasoning():
                return self.write_reasoning(block, w)
            case Raw() | Hosted() if self.is_home(block.dialect):
                return [block.payload]
            case _:
                self.omit(block, w.log)
                return []

    def write_text(self, block: Text, w: Writing) -> Json:
        extras = block.extras
        if extras is not None and self.knows(extras.dialect) and "code" in extras.fields:
            return self.emit({"type": "code"}, block, w.log)
        return self.emit({"type": "text", "text": block.text}, block, w.log)

    def write_call(self, call: ToolCall, w: ContentWriting) -> Json:
        w.tools[call.id] = call.name
        spelling = self.spelling(call)
        call_id = call.id if call.id is not None else w.call_id(call)
        out: dict[str, Json] = {"type": "tool_call", "id": to_history(call_id), "name": call.name}
        if "id" in spelling:
            out["id"] = spelling["id"]
        if call.kind == "custom":
            out["parameters"] = {"input": call.arguments}
        elif spelling.get("parameters") == "text":
            out["parameters"] = call.arguments
        elif "parameters" not in spelling or call.arguments != "{}":
            out["parameters"] = self.write_arguments(call, w)
        if "input" in spelling:
            out["input"] = spelling["input"]
        return self.emit(out, call, w.log)

    def write_arguments(self, call: ToolCall, w: Writing) -> Json:
        if "value" in (spelling := self.spelling(call)):
            return spelling["value"]
        return object_of(call, w.log)

    def write_result(self, result: ToolResult, w: ContentWriting) -> list[Json]:
        if w.home:
            return self.write_own_result(result, w)
        texts, before, media = self.sort_answer(result.content, w)
        answer = "\n".join(text.text for text in texts)
        mute = result.is_error and self.has_error  # a failure without a word has a form here
        if not texts and not mute:
            self.add_text(result.at, w.log)
        elif mute and not answer and texts:
            for text in texts:
                self.omit_text(text.at, w.log)
        out = self.name_result(result, w)
        out["result"] = answer
        if result.is_error:
            extras = result.extras
            if extras is None or not self.knows(extras.dialect) or "error" not in extras.fields:
                self.write_failed(out, answer)  # else the variant has an error of its own
        return [*before, self.emit(out, result, w.log), *media]

    def write_failed(self, out: dict[str, Json], answer: str) -> None:
        """That a tool failed: the error is the answer, or a mark where it said nothing."""
        out["error"] = answer or ERROR

    def name_result(self, result: ToolResult, w: ContentWriting) -> dict[str, Json]:
        """The call a result answers, and the tool: the type demands its name."""
        call_id = result.call_id if result.call_id is not None else w.result_id(result)
        name = result.name or w.tools.get(result.call_id, "")
        return {"type": "tool_response", "callId": to_history(call_id), "toolName": name}

    def sort_answer(
        self, content: Sequence[Block], w: ContentWriting
    ) -> tuple[list[Text], list[Json], list[Json]]:
        """Texts, which are the result, and media, which stand before and after it."""
        texts: list[Text] = []
        before: list[Json] = []
        media: list[Json] = []
        for block in content:
            if isinstance(block, Text):
                self.lose(block.extras, block.at, w.log)
                if not texts:
                    before, media = media, before
                else:
                    self.join_text(block.at, w.log)
                    if media:
                        w.log.approximated(
                            "content.order", block.at, f"images follow the text in {self.name}"
                        )
                texts.append(block)
            elif isinstance(block, Media):
                media += self.write_media(block, w)
        return texts, before, media

    def write_own_result(self, result: ToolResult, w: ContentWriting) -> list[Json]:
        """A result as this dialect said it."""
        spelling, content = self.spelling(result), result.content
        first = spelling.get("before", 0)
        out = self.name_result(result, w)
        out["callId"] = spelling.get("id", out["callId"])
        if not out["toolName"] or "toolName" in spelling:
            out["toolName"] = spelling.get("toolName", "")
            if not isinstance(out["toolName"], str):
                del out["toolName"]
        own = content[first : first + spelling.get("own", 1)]
        if spelling.get("result"):
            out["result"] = spelling["result"][0]
        elif "result" not in spelling:
            out["result"] = own[0].text if own and isinstance(own[0], Text) else ""
        if spelling.get("status"):
            out["status"] = "error"
        for key in ("isError", "error"):
            if key in spelling:
                out[key] = spelling[key]
        doc = self.emit(out, result, w.log)
        before = self.write_blocks(content[:first], w)
        return [*before, doc, *self.write_blocks(content[first + len(own) :], w)]

    def write_reasoning(self, block: Reasoning, w: ContentWriting) -> list[Json]:
        if w.home:
            return [self.write_own_reasoning(block, w)]
        signature = block.signature
        out: dict[str, Json] = {"type": "thinking", "thought": joined(block.words)}
        if signature is not None:
            field = SIGNED.get((signer(signature), signature.kind))
            if field is not None:
                out |= {"sourceField": field, "signature": signature.data}
            elif signature.issuer == "anthropic":
                out |= {"thought": REDACTED, "sourceField": "thinking", "signature": signature.data}
            else:
                out["encryptedContent"] = signature.data
        return [self.emit(out, block, w.log)]

    def write_own_reasoning(self, block: Reasoning, w: Writing) -> Json:
        spelling, signature = self.spelling(block), block.signature
        reasoning = REDACTED if spelling.get("redacted") else "".join(block.words)
        out: dict[str, Json] = {"type": "thinking"}
        if reasoning or "thought" not in spelling:
            out["thought"] = reasoning
        keys = ("sourceField", "signature", "encryptedContent")
        out |= {key: spelling[key] for key in keys if key in spelling}
        if signature is not None:
            plain = signature.kind == "signature" or spelling.get("redacted")
            out["signature" if plain else "encryptedContent"] = signature.data
        return self.emit(out, block, w.log)

    # -- media ------------------------------------------------------------------------------

    def write_media(self, block: Media, w: ContentWriting) -> list[Json]:
        if w.home and block.source.kind in ("url", "base64"):
            return [self.write_own_media(block, w)]
        return [self.emit(self.write_image_or_file(block), block, w.log)]

    def write_image_or_file(self, block: Media) -> dict[str, Json]:
        source = block.source
        out: dict[str, Json] = {
            "type": "media",
            "mimeType": source.media_type or f"{block.kind}/*",
            "data": source.value,
            "encoding": source.kind,
        }
        if block.filename is not None:
            out["filename"] = block.filename
        return out

    def write_own_media(self, block: Media, w: Writing) -> Json:
        source, spelling = block.source, self.spelling(block)
        data = source.value
        if "uri" in spelling:
            data = data_uri(spelling["uri"], data)
        if spelling.get("type") == "image":
            out: dict[str, Json] = {"type": "image", "data": data}
            said: Json = spelling.get("mimeType", source.media_type)
        else:
            said = spelling.get("mimeType", source.media_type)
            encoding = "url" if source.kind == "url" else "base64"
            encoding = spelling.get("encoding", encoding)
            out = {"type": "media", "data": data}
            if encoding not in ("null", "absent"):
                out["encoding"] = encoding
            if block.filename is not None:
                out["filename"] = block.filename
        if isinstance(said, str):
            out["mimeType"] = said
        return self.emit(out, block, w.log)
