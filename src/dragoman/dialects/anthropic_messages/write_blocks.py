"""Writing the content blocks of the Anthropic Messages API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from ...core.writing import (
    Writing,
    is_plain_text,
    joined,
    object_of,
)
from ...dialect import Dialect
from ...model import (
    Block,
    Cache,
    Citation,
    Hosted,
    Json,
    Media,
    Node,
    Passage,
    Raw,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from .read_blocks import LOCATIONS

# https://docs.claude.com/en/docs/build-with-claude/vision and .../pdf-support
DATA_TYPES = {
    "image": frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"}),
    "document": frozenset({"application/pdf"}),
}


class WriteBlocks(Dialect):
    """What stands inside a message, out of the tree."""

    def write_blocks(self, blocks: Sequence[Block], w: Writing) -> list[Json]:
        out: list[Json] = []
        for block in blocks:
            # Not isinstance: it is ten times slower on these, and these are nearly all there is.
            if block.__class__ is ToolCall:
                doc = self.write_call(block, w)
            elif block.__class__ is Text:
                text, extras = block.text, block.extras
                if (
                    (extras is None or self.is_mute(extras))
                    and block.cache is None
                    and not block.citations
                ):  # the usual shape
                    out.append({"type": "text", "text": text})
                    continue
                doc = self.write_text(block, w)
            elif block.__class__ is ToolResult:
                doc = self.write_result(block, w)
            else:
                doc = self.write_block(block, w)
            if doc is not None:
                out.append(doc)
        return out

    def write_block(self, block: Block, w: Writing) -> Json | None:
        match block:
            case Text():
                return self.write_text(block, w)
            case ToolCall():
                return self.write_call(block, w)
            case ToolResult():
                return self.write_result(block, w)
            case Reasoning():
                return self.write_reasoning(block, w)
            case Media():
                return self.write_media(block, w)
            case Passage():
                out: dict[str, Json] = {
                    "type": "search_result",
                    "source": block.source,
                    "title": block.title,
                }
                out["content"] = self.write_blocks(block.content, w)
                self.write_citable(out, block.citable)
                return self.finish(out, block, block.cache, w)
            case Hosted() | Raw() if self.is_home(block.dialect):
                return block.payload
            case _:
                self.omit(block, w.log)
                return None

    def write_text(self, block: Text, w: Writing) -> Json | None:
        text = block.text
        out: dict[str, Json] = {"type": "text", "text": text}
        if block.citations:
            out["citations"] = [self.write_citation(cite, w) for cite in block.citations]
        if block.extras is None and block.cache is None:
            return out
        return self.finish(out, block, block.cache, w)

    def write_citation(self, cite: Citation, w: Writing) -> Json:
        out: dict[str, Json]
        if cite.kind == "other" and cite.extras is not None and self.is_home(cite.extras.dialect):
            return cite.extras.fields
        signature = cite.signature
        if cite.location is None or cite.document is None:
            out = {"type": "web_search_result_location", "cited_text": cite.quote, "url": cite.url}
            out |= {"title": cite.title, "encrypted_index": signature and signature.data}
            return self.emit(out, cite, w.log)
        unit, first, last = cite.location
        if cite.kind == "passage":
            kind = "search_result_location"
        else:
            units = {"char": "char_location", "page": "page_location"}
            kind = units.get(unit, "content_block_location")
        _, start, end = LOCATIONS[kind]
        out = {"type": kind, "cited_text": cite.quote or "", start: first, end: last}
        if cite.kind == "passage":
            out |= {"source": cite.url if w.home else cite.url or "", "title": cite.title}
            out["search_result_index"] = cite.document
        else:
            out |= {"document_index": cite.document, "document_title": cite.title}
        return self.emit(out, cite, w.log)

    def write_call(self, call: ToolCall, w: Writing) -> Json:
        if call.kind == "custom":
            arguments: dict[str, Json] = {"input": call.arguments}
        else:
            arguments = object_of(call, w.log)
        name = call.name
        if call.id is None and w.home:
            return self.finish(
                {"type": "tool_use", "name": name, "input": arguments}, call, call.cache, w
            )
        out: dict[str, Json] = {
            "type": "tool_use",
            "id": w.call_once(call),
            "name": name if name in w.names.staying else w.tool_name(name, call.at),
            "input": arguments,
        }
        if call.extras is None and call.cache is None:
            return out
        return self.finish(out, call, call.cache, w)

    def write_result(self, result: ToolResult, w: Writing) -> Json:
        content, extras, call_id = result.content, result.extras, result.call_id
        if call_id is None or call_id not in w.ids.staying:
            call_id = w.result_id(result)
        if w.again:
            call_id = w.once(call_id, result)
        if (
            len(content) == 1
            and (extras is None or self.is_mute(extras))
            and result.is_error is None
            and result.name is None
            and result.cache is None
        ):
            only = content[0]
            if (
                only.__class__ is Text
                and only.extras is None
                and only.cache is None
                and not only.citations
            ):  # the usual shape
                return {"type": "tool_result", "tool_use_id": call_id, "content": only.text}
        out: dict[str, Json] = {"type": "tool_result", "tool_use_id": call_id}
        if len(content) == 1 and is_plain_text(first := content[0], home=False):
            out["content"] = first.text
        elif content and (parts := self.write_blocks(content, w)):
            out["content"] = parts
        if result.is_error is not None:
            out["is_error"] = result.is_error
        if extras is None and result.cache is None:
            return out
        return self.finish(out, result, result.cache, w)

    def write_reasoning(self, block: Reasoning, w: Writing) -> Json | None:
        signature = block.signature
        if signature is not None and signature.kind == "encrypted":
            out = {"type": "redacted_thinking", "data": signature.data}
            return self.emit(out, block, w.log)
        if signature is not None:
            text = joined(block.content)
            out = {"type": "thinking", "thinking": text, "signature": signature.data}
            return self.emit(out, block, w.log)
        if not (w.home if block.extras is None else self.is_home(block.extras.dialect)):
            why = f"{self.name} requires a reasoning signature; written as ''"
            w.log.invented("reasoning.signature", block.at, why)
        out = {"type": "thinking", "thinking": joined(block.content), "signature": ""}
        return self.emit(out, block, w.log)

    def write_media(self, block: Media, w: Writing) -> Json:
        out: dict[str, Json] = {"type": block.kind, "source": self.write_source(block, w)}
        if block.kind == "document":
            if block.title is not None:
                out["title"] = block.title
            if block.context is not None:
                out["context"] = block.context
            self.write_citable(out, block.citable)
        return self.finish(out, block, block.cache, w)

    def write_citable(self, out: dict[str, Json], citable: bool | None) -> None:
        if citable is not None:
            out["citations"] = {"enabled": citable}

    def write_source(self, block: Media, w: Writing) -> Json:
        source = block.source
        out: dict[str, Json]
        match source.kind:
            case "base64":
                out = {"type": "base64", "media_type": source.media_type, "data": source.value}
                if source.media_type is None:
                    del out["media_type"]
            case "url":
                out = {"type": "url", "url": source.value}
            case "file":
                out = {"type": "file", "file_id": source.value}
            case "text":
                out = {
                    "type": "text",
                    "media_type": source.media_type or "text/plain",
                    "data": source.value,
                }
            case "blocks":
                out = {"type": "content", "content": self.write_blocks(source.blocks, w)}
            case _:
                assert_never(source.kind)
        return out

    def finish(
        self, out: dict[str, Json], node: Node, cache: Cache | None, w: Writing
    ) -> dict[str, Json]:
        """Cache mark and extras, which nearly every block can bear."""
        if cache is not None:
            out["cache_control"] = self.write_cache(cache, w)
            w.marks.append((out, cache))
        return self.emit(out, node, w.log)

    def write_cache(self, cache: Cache, w: Writing) -> Json:
        out: dict[str, Json] = {"type": "ephemeral"}
        if cache.ttl is not None:
            out["ttl"] = cache.ttl
        return self.emit(out, cache, w.log)
