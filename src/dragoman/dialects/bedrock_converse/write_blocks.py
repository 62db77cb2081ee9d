"""Writing the content blocks of Bedrock's Converse API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from ...core.reading import parse
from ...core.writing import (
    Rule,
    Writing,
    joined,
    object_of,
)
from ...dialect import Dialect
from ...ledger import Ledger
from ...model import (
    Block,
    Cache,
    Citation,
    Hosted,
    Json,
    Media,
    Passage,
    Raw,
    Reasoning,
    Signature,
    Text,
    ToolCall,
    ToolResult,
)
from .._claude import is_claude
from .formats import (
    FORMATS,
    document_name,
    numbered,
    without_ending,
)
from .read_blocks import LOCATIONS, text_of

IDS: Rule = ("[a-zA-Z0-9_.:-]", 64)
NAMES: Rule = ("[a-zA-Z0-9_-]", 64)
UNITS = {"char": "documentChar", "page": "documentPage", "block": "documentChunk"}


class Said(Writing):
    """A conversion into this dialect: it also knows the names of the documents so far."""

    __slots__ = ("documents",)

    def __init__(self, log: Ledger, home: bool, answer: bool) -> None:
        super().__init__(log, IDS, NAMES, home, answer)
        self.documents: set[str] = set()

    def made(self, call_id: str) -> str:
        return call_id if self.ids.fits(call_id) else self.ids.rename(call_id)


class WriteBlocks(Dialect):
    """What stands inside a message, out of the tree."""

    def writing(self, log: Ledger, dialect: str | None, *, answer: bool = False) -> Said:
        return Said(log, self.is_home(dialect), answer)

    def write_blocks(self, blocks: Sequence[Block], w: Said) -> list[Json]:
        """Each block, and after it the cache mark that it bears."""
        out: list[Json] = []
        for block in blocks:
            cache = None
            if isinstance(block, ToolResult):
                doc, cache = self.write_result(block, w)
            else:
                doc = self.write_block(block, w)
                if isinstance(block, Text | Media | Passage | ToolCall):
                    cache = block.cache
            if doc is not None:
                out.append(doc)
                if cache is not None:
                    self.write_mark(out, cache, w)
            elif cache is not None:
                w.log.dropped(
                    "cache",
                    cache.at,
                    f"the block with this cache mark is not supported by {self.name}",
                )
        return out

    def write_mark(self, out: list[Json], cache: Cache, w: Said) -> None:
        doc = {"cachePoint": self.write_cache(cache, w)}
        w.marks.append((doc, cache))
        out.append(doc)

    def write_cache(self, cache: Cache, w: Said) -> Json:
        point: dict[str, Json] = {"type": "default"}
        if cache.ttl is not None:
            point["ttl"] = cache.ttl
        if "type" in (spelling := self.spelling(cache)):
            point["type"] = spelling["type"]
            if spelling["type"] is None:
                del point["type"]
        return self.emit(point, cache, w.log)

    def write_block(self, block: Block, w: Said) -> Json | None:
        match block:
            case Text():
                return self.write_text(block, w)
            case ToolCall():
                return self.write_call(block, w)
            case ToolResult():
                return self.write_result(block, w)[0]
            case Reasoning():
                return self.write_reasoning(block, w)
            case Media():
                return self.write_media(block, w)
            case Passage():
                return self.write_passage(block, w)
            case Hosted() | Raw() if self.is_home(block.dialect):
                return block.payload
            case _:
                self.omit(block, w.log)
                return None

    # -- texts ------------------------------------------------------------------------------

    def write_text(self, block: Text, w: Said) -> Json | None:
        text, extras = block.text, block.extras
        if extras is not None and self.is_home(extras.dialect):
            if "guardContent" in extras.fields:
                return {"guardContent": extras.fields["guardContent"]}
            if "json" in extras.spelling:
                return self.emit({"json": parse(text)}, block, w.log)
            if "cited" in extras.spelling:
                out = {"citationsContent": extras.spelling["cited"]}
                return self.emit(out, block, w.log)
        if block.citations:
            cited = [self.write_citation(cite, w) for cite in block.citations]
            out = {"citationsContent": {"content": [{"text": text}], "citations": cited}}
        else:
            out = {"text": text}
        if extras is None:
            return out
        return self.emit(out | self.spelling(block), block, w.log)

    def write_citation(self, cite: Citation, w: Said) -> Json:
        spelling = self.spelling(cite)
        if cite.kind == "other" and cite.extras is not None and self.is_home(cite.extras.dialect):
            return cite.extras.fields
        out: dict[str, Json] = {}
        if cite.title is not None:
            out["title"] = cite.title
        if cite.quote is not None:
            out["sourceContent"] = spelling.get("sourceContent", [{"text": cite.quote}])
        if cite.location is not None and cite.document is not None:
            unit, start, end = cite.location
            passage = cite.kind == "passage"
            kind = "searchResultLocation" if passage else UNITS[unit]
            number = LOCATIONS[kind][1]
            out["location"] = {kind: {number: cite.document, "start": start, "end": end}}
            if passage and cite.url is not None:
                out["source"] = cite.url
        else:
            domain = {key: spelling[key] for key in ("domain",) if key in spelling}
            out["location"] = {"web": {"url": cite.url, **domain}}
        return self.emit(out, cite, w.log)

    def opens(self, signature: Signature, model: str | None, log: Ledger) -> bool:
        """What others signed goes to the model that signed it, if the request names one."""
        own = signature.issuer == self.issuer or model is None
        return own or is_claude(model, log.models)

    def write_reasoning(self, block: Reasoning, w: Said) -> Json:
        signature = block.signature
        if signature is not None and signature.kind == "encrypted":
            doc = {"reasoningContent": {"redactedContent": signature.data}}
            return self.emit(doc, block, w.log)
        inner: dict[str, Json] = {"text": joined(block.words)}
        if signature is not None:
            inner["signature"] = signature.data
        inner |= {k: v for k, v in self.spelling(block).items() if k == "signature"}
        return self.emit({"reasoningContent": {"reasoningText": inner}}, block, w.log)

    # -- tools ------------------------------------------------------------------------------

    def write_call(self, call: ToolCall, w: Said) -> Json:
        spelling = self.spelling(call)
        arguments: Json
        if "input" in spelling and text_of(spelling["input"]) == call.arguments:
            arguments = spelling["input"]  # it is said as it was
        elif call.kind == "custom":
            arguments = {"input": call.arguments}
        else:
            arguments = object_of(call, w.log)
        inner: dict[str, Json] = {
            "toolUseId": w.call_once(call),
            "name": w.tool_name(call.name, call.at),
            "input": arguments,
        }
        if call.extras is None:
            return {"toolUse": inner}
        more = {key: value for key, value in spelling.items() if key != "input"}
        return self.emit({"toolUse": inner | more}, call, w.log)

    def write_result(self, result: ToolResult, w: Said) -> tuple[Json, Cache | None]:
        """A result, and the cache mark after it: that of its parts too, which can bear none."""
        call_id = w.result_id(result)
        inner: dict[str, Json] = {"toolUseId": w.once(call_id, result)}
        cache, parts = result.cache, result.content
        if w.home:
            inner["content"] = self.write_blocks(parts, w)
        else:
            for part in parts:
                if isinstance(part, Text | Media | Passage) and part.cache is not None:
                    if cache is None:
                        w.log.approximated(
                            "cache",
                            part.cache.at,
                            f"{self.name} has cache marks after whole results only",
                        )
                        cache = part.cache
                    else:
                        w.log.dropped(
                            "cache", part.cache.at, f"{self.name} writes one cache mark per result"
                        )
            docs = (self.write_block(part, w) for part in parts)
            inner["content"] = [doc for doc in docs if doc is not None]
        if result.is_error is True:
            inner["status"] = "error"
        elif result.is_error is False and w.home:
            # Elsewhere it goes without saying: "only supported by Amazon Nova and Anthropic Claude"
            inner["status"] = "success"
        if result.name is not None:
            w.log.dropped(
                "tool_result.name",
                result.at,
                f"{self.name} has no field for the tool name of a result",
            )
        return self.emit({"toolResult": inner}, result, w.log), cache

    def write_passage(self, block: Passage, w: Said) -> Json:
        inner: dict[str, Json] = {"source": block.source, "title": block.title}
        inner["content"] = self.write_blocks(self.only_text(block.content, w), w)
        self.write_citable(inner, block)
        return self.emit({"searchResult": inner}, block, w.log)

    def only_text(self, blocks: Sequence[Block], w: Said) -> list[Block]:
        """Where there is room for text alone; at home, for whatever there was."""
        kept: list[Block] = []
        for block in blocks:
            if isinstance(block, Text) or w.home:
                kept.append(block)
            else:
                self.omit(block, w.log)
        return kept

    # -- media ------------------------------------------------------------------------------

    def write_media(self, block: Media, w: Said) -> Json:
        word, source = self.write_source(block, w)
        if "format" in (spelling := self.spelling(block)):
            word = spelling["format"]
        inner: dict[str, Json] = {} if word is None else {"format": word}
        if block.kind == "document":
            self.write_name(inner, block, word, w)
            if block.context is not None:
                inner["context"] = block.context
            self.write_citable(inner, block)
        inner["source"] = source
        return self.emit({block.kind: inner}, block, w.log)

    def write_name(self, out: dict[str, Json], block: Media, word: str | None, w: Said) -> None:
        """A document must have a name, and only some letters can be in it."""
        name = block.title
        if w.home:
            if name is not None:
                out["name"] = name
            return
        if name is not None:
            given = document_name(name, w.documents)
            if given != name:
                why = (
                    f"{name!r} is used already or not allowed as a document name in {self.name}; "
                    f"written as {given!r}"
                )
                w.log.renamed("media.title", block.at, why)
            if block.filename is not None:
                w.log.dropped("media.filename", block.at, f"a document has one name in {self.name}")
        elif block.filename is not None:
            given = document_name(without_ending(block.filename, word), w.documents)
            w.log.approximated(
                "media.filename", block.at, f"written as the name of the document: {given!r}"
            )
        else:
            given = numbered("document", w.documents)
            w.log.invented(
                "media.title",
                block.at,
                f"{self.name} requires the name of a document; written as {given!r}",
            )
        w.documents.add(given)
        out["name"] = given

    def write_citable(self, out: dict[str, Json], block: Media | Passage) -> None:
        if block.citable is not None:
            out["citations"] = {"enabled": block.citable}

    def write_source(self, block: Media, w: Said) -> tuple[str | None, Json]:
        """The format of a medium and where it is."""
        source = block.source
        word = FORMATS[block.kind].get(source.media_type or "")
        match source.kind:
            case "base64":
                return word, {"bytes": source.value}
            case "file" | "url":
                return word, {"s3Location": {"uri": source.value}}
            case "text":
                return word, {"text": source.value}
            case "blocks":
                texts = self.write_blocks(self.only_text(source.blocks, w), w)
                return None, {"content": texts}
            case _:
                assert_never(source.kind)
