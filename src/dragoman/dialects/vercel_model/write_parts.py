"""Writing what stands inside a message of the AI SDK: only what the version's schema accepts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from msgspec.structs import replace

from ...core.reading import escape, parse
from ...core.writing import Writing, data_uri, is_plain_text, object_of
from ...model import (
    Block,
    Extras,
    Hosted,
    Json,
    Media,
    Raw,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from .options import Options, WithOptions
from .read_parts import FILE_ID, RESULT_DATA, flat_text

USUAL_TYPES = {"image": "image/*", "audio": "audio/*", "video": "video/*"}


def is_one(kind: Json, kinds: frozenset[str]) -> bool:
    """Whether a value is one of these words."""
    return kind.__class__ is str and kind in kinds


class WriteParts(WithOptions):
    """Parts, out of the tree."""

    def write_parts(self, blocks: Sequence[Block], role: str, w: Writing) -> list[Json]:
        out: list[Json] = []
        for block in blocks:
            if block.__class__ is Text and block.extras is None and block.cache is None:
                if not block.citations:
                    out.append({"type": "text", "text": block.text})  # the usual shape
                    continue
            out += self.write_part(block, role, w)
        return out

    def write_part(self, block: Block, role: str, w: Writing) -> list[Json]:
        match block:
            case Text():
                return [self.write_text(block, w)]
            case Media():
                part = self.write_media(block, role, w)
                return [] if part is None else [part]
            case Reasoning() if role == "assistant":
                return self.write_reasoning(block, w)
            case ToolCall() if role == "assistant":
                return [self.write_call(block, w)]
            case Raw() | Hosted() if self.is_family(block.dialect):
                return self.write_own(block, role, w)
            case _:
                self.omit(block, w.log)
        return []

    def write_own(self, block: Raw | Hosted, role: str, w: Writing) -> list[Json]:
        """What only this SDK knows, if this version of it does."""
        kind = block.payload.get("type") if block.payload.__class__ is dict else None
        if w.home or (is_one(kind, self.said[role]) and self.takes(block)):
            return [block.payload]
        self.omit(block, w.log)
        return []

    def takes(self, block: Raw | Hosted) -> bool:
        """Whether this version knows what a provider's tool did, in all its parts."""
        if isinstance(block, Raw):  # a file that several providers hold is raw
            return self.references or block.payload.get("type") not in ("file", "image")
        if self.flat:  # there are only a client's calls, and this must not become one
            return False
        output = block.payload.get("output")
        if output.__class__ is not dict:
            return True
        parts = output.get("value") if output.get("type") == "content" else None
        return is_one(output.get("type"), self.outputs) and all(
            part.__class__ is dict and is_one(part.get("type"), self.result_parts)
            for part in (parts if parts.__class__ is list else ())
        )

    def write_text(self, block: Text, w: Writing) -> Json:
        out: dict[str, Json] = {"type": "text", "text": block.text}
        return self.finish(out, block, w, self.write_cache(block.cache, w))

    # -- media ------------------------------------------------------------------------------

    def write_media(self, block: Media, role: str, w: Writing) -> Json:
        spelling = self.spelling(block)
        image = self.image_parts and block.kind == "image" and role == "user"
        if "part" in spelling:
            image = spelling["part"] == "image"
        data = self.write_data(block, spelling)
        out: dict[str, Json] = {"type": "image" if image else "file"}
        out["image" if image else "data"] = data
        self.write_media_type(out, block, spelling, w, needed=not image)
        if block.filename is not None:
            if image:
                why = f"{self.name} has no file names of images"
                w.log.dropped("media.filename", block.at, why)
            else:
                out["filename"] = block.filename
        return self.finish(out, block, w, *self.about(block, w))

    def write_data(self, block: Media, spelling: dict[str, Json]) -> Json:
        source, spelled = block.source, spelling.get("data")
        match source.kind:
            case "url":
                return {"type": "url", "url": source.value} if spelled == "tagged" else source.value
            case "base64":
                if spelled == "uri":
                    return data_uri(source.media_type or "", source.value)
                if spelled == "tagged":
                    return {"type": "data", "data": source.value}
                return source.value
            case "file":
                return self.write_file_id(block, spelled)
            case "text" | "blocks":
                return {"type": "text", "text": source.value}
            case _:
                assert_never(source.kind)

    def write_file_id(self, block: Media, spelled: Json) -> Json:
        source = block.source
        reference = {source.issuer or "": source.value}
        if spelled == "tagged":
            return {"type": "reference", "reference": reference}
        own = source.issuer == "openai" and source.value.startswith(FILE_ID)
        if spelled == "id" or (self.file_ids and own):
            return source.value
        return reference

    def write_media_type(
        self,
        out: dict[str, Json],
        block: Media,
        spelling: dict[str, Json],
        w: Writing,
        *,
        needed: bool,
    ) -> None:
        source = block.source
        key = spelling.get("media_type", self.media_type)
        said = spelling.get("any", spelling.get("type", source.media_type))
        if said is None and not w.home:
            if not needed:
                return
            said = self.usual_type(block)
        if said is not None and ("any" in spelling or not spelling.get("untyped")):
            out[key] = said

    def usual_type(self, block: Media) -> str:
        if block.source.kind in ("text", "blocks"):
            return "text/plain"
        kind = USUAL_TYPES[block.kind]
        return kind if self.image_parts else kind.removesuffix("/*")

    def about(self, block: Media, w: Writing) -> tuple[Options, ...]:
        """What providers are told about a medium."""
        shares = [self.write_cache(block.cache, w)]
        if block.detail is not None:
            if block.kind == "image":
                if block.detail != "auto" or w.home:
                    shares.append({"openai": {"imageDetail": block.detail}})
        for key, value in (
            ("title", block.title),
            ("context", block.context),
            ("citations", None if block.citable is None else {"enabled": block.citable}),
        ):
            if value is not None:
                shares.append({"anthropic": {key: value}})
        return tuple(shares)

    # -- reasoning and calls -----------------------------------------------------------------

    def write_reasoning(self, block: Reasoning, w: Writing) -> list[Json]:
        signature, spelling = block.signature, self.spelling(block)
        if (
            signature is not None
            and signature.kind == "encrypted"
            and signature.issuer == "anthropic"
        ):
            if (self.flat and spelling.get("part") != "reasoning") or "part" in spelling:
                out = {"type": "redacted-reasoning", "data": signature.data}
                return [self.finish(out, block, w)]
        shares = [self.write_signature(signature)]
        if block.id is not None:
            shares.append({"openai": {"itemId": block.id}})
        parts: list[Json] = []
        for index, text in enumerate(block.words or ("",)):
            part: dict[str, Json] = {"type": "reasoning", "text": text}
            native = (
                signature is not None
                and signature.kind == "signature"
                and signature.issuer == "anthropic"
            )
            if signature is not None and native and self.signs(spelling):
                part["signature"] = signature.data
                shares[0] = {}
            if index and block.extras is not None:
                block = replace(block, extras=None)
            parts.append(self.finish(part, block, w, *shares))
        return parts

    def signs(self, spelling: dict[str, Json]) -> bool:
        """Whether the signature stands in the reasoning itself."""
        return bool(spelling.get("signature", self.flat))

    def write_call(self, call: ToolCall, w: Writing) -> Json:
        spelling = self.spelling(call)
        out: dict[str, Json] = {
            "type": "tool-call",
            "toolCallId": w.call_id(call),
            "toolName": w.tool_name(call.name, call.at),
        }
        form = spelling.get("form")
        if form == "text":
            said: Json = call.arguments
        elif form in ("null", "blank"):
            said = None if form == "null" else ""
        elif form == "json":
            said = parse(call.arguments)
        elif call.kind == "custom":
            said = {"input": call.arguments}
        else:
            said = object_of(call, w.log)
        if form != "absent":
            out[spelling.get("key", self.arguments)] = said
        item: Options = {} if call.item_id is None else {"openai": {"itemId": call.item_id}}
        return self.finish(out, call, w, self.write_cache(call.cache, w), item)

    # -- results ----------------------------------------------------------------------------

    def write_result(self, result: ToolResult, called: dict[str, str], w: Writing) -> Json:
        spelling = self.spelling(result)
        out: dict[str, Json] = {"type": "tool-result", "toolCallId": w.result_id(result)}
        if spelling.get("name") != "absent":
            out["toolName"] = self.result_name(result, out["toolCallId"], called, w)
        flat = self.flat
        if "key" in spelling:
            flat = spelling["key"] == "result"
        if self.is_denied(result) and (flat or "execution-denied" not in self.outputs):
            result = self.without_output(
                result, f"{self.name} writes a denied tool call as a failed one", w
            )
        elif flat and result.extras is not None and "output" in result.extras.inner:
            result = self.without_output(result, f"{self.name} has no `output` in a tool result", w)
        if flat:
            self.write_flat(out, result, spelling, w)
        else:
            self.write_output(out, result, w)
        return self.finish(out, result, w, self.write_cache(result.cache, w))

    def result_name(
        self, result: ToolResult, call_id: str, called: dict[str, str], w: Writing
    ) -> str:
        """The tool that answered: every version's schema demands it, and the call has it."""
        if result.name is not None and (w.home or result.name != called.get(call_id)):
            return w.tool_name(result.name, result.at)
        if call_id in called:
            if result.name is not None:
                w.moved(
                    "tool_result.name",
                    result.at,
                    f"{self.name} takes the tool name of a result from its call",
                )
            return called[call_id]
        w.log.invented(
            "tool_result.name",
            result.at,
            f"{self.name} requires the tool name of a result; written as 'unknown'",
        )
        return "unknown"

    def write_output(self, out: dict[str, Json], result: ToolResult, w: Writing) -> None:
        content, failed, how = result.content, result.is_error, self.form_of(result)
        only = content[0] if len(content) == 1 else None
        if self.is_denied(result):
            out["output"] = {"reason": only.text} if isinstance(only, Text) else {}
        elif isinstance(only, Raw) and how != "content" and w.home and self.is_family(only.dialect):
            out["output"] = only.payload
        elif only is not None and how != "content" and is_plain_text(only, w.home):
            self.lose(only.extras, only.at, w.log)
            kind, value = "text", only.text
            if how == "json":
                kind, value = "json", parse(only.text)
            out["output"] = {"type": f"error-{kind}" if failed else kind, "value": value}
        elif failed:
            out["output"] = {"type": "error-text", "value": self.only_words(result, w)}
        elif content or how == "content":
            out["output"] = {"type": "content", "value": self.write_result_parts(content, w)}
        else:
            out["output"] = {"type": "text", "value": ""}

    def needs_text(self, result: ToolResult) -> bool:
        listed = self.form_of(result) == "content" and not self.flat
        return not listed and super().needs_text(result)

    def form_of(self, result: ToolResult) -> Json:
        """Whether a result was a JSON value or parts, which all versions say alike."""
        extras = result.extras
        if extras is None or not self.knows(extras.dialect):
            return None
        form = extras.spelling.get("output")
        return form if form in ("json", "content") or self.is_home(extras.dialect) else None

    def is_denied(self, result: ToolResult) -> bool:
        """Whether the user did not allow the call; only this SDK says so."""
        extras = result.extras
        if extras is None or not self.knows(extras.dialect):
            return False
        output = extras.fields.get("output")
        return output.__class__ is dict and output.get("type") == "execution-denied"

    def without_output(self, result: ToolResult, why: str, w: Writing) -> ToolResult:
        """A result without what only its ``output`` says: here it has none."""
        assert result.extras is not None
        fields = dict(result.extras.fields)
        for key in fields.pop("output"):
            w.log.dropped("extras", f"{result.at}/output/{escape(key)}", why)
        spelling = result.extras.spelling
        extras = Extras(result.extras.dialect, fields, spelling=spelling)
        return replace(result, extras=extras if fields or spelling else None)

    def only_words(self, result: ToolResult, w: Writing) -> str:
        """An error is one text here."""
        words: list[str] = []
        for part in result.content:
            if isinstance(part, Text):
                if words:
                    self.join_text(part.at, w.log)
                if part.cache is not None:
                    why = f"an error of {self.name} is one text, without cache marks on its parts"
                    w.log.dropped("cache", part.cache.at, why)
                self.lose(part.extras, part.at, w.log)
                words.append(part.text)
            else:
                why = f"{self.name} allows only text in the result of a failed tool"
                w.log.dropped("tool_result.content", part.at, why)
        return "\n".join(words)

    def write_flat(
        self, out: dict[str, Json], result: ToolResult, spelling: dict[str, Json], w: Writing
    ) -> None:
        """A value and a flag, as version 4 has them; never null, unless it was at home."""
        content, how = result.content, self.form_of(result)
        only = content[0] if len(content) == 1 else None
        key = spelling.get("parts")
        if only is not None and key is None and is_plain_text(only, w.home):
            self.lose(only.extras, only.at, w.log)
            out["result"] = parse(only.text) if how == "json" else only.text
        elif content or key is not None:
            parts = self.write_result_parts(content, w)
            if spelling.get("result") != "absent":
                out["result"] = flat_text(content)
            out[key or "experimental_content"] = parts
        elif how == "null":
            out["result"] = None
        elif how != "absent":
            out["result"] = ""
        if result.is_error is not None:
            out["isError"] = result.is_error

    def write_result_parts(self, content: Sequence[Block], w: Writing) -> list[Json]:
        out: list[Json] = []
        for block in content:
            match block:
                case Text():
                    out.append(self.write_result_text(block, w))
                case Media():
                    if (part := self.write_result_media(block, w)) is not None:
                        out.append(part)
                case Raw() if self.is_family(block.dialect) and (
                    w.home or is_one(block.payload.get("type"), self.result_parts)
                ):
                    out.append(block.payload)
                case _:
                    why = f"{self.name} does not support this block in a tool result"
                    w.log.dropped("tool_result.content", block.at, why)
        return out

    def write_result_text(self, block: Text, w: Writing) -> Json:
        out: dict[str, Json] = {"type": "text", "text": block.text}
        return self.finish(out, block, w, self.write_cache(block.cache, w))

    def write_result_media(self, block: Media, w: Writing) -> Json | None:
        """A medium in a result, in the first form that this version has for it."""
        spelling = self.spelling(block)
        part = spelling.get("part") or self.result_part(block)
        if part is None:
            why = f"{self.name} does not support this {block.kind} in a tool result"
            w.log.dropped("tool_result.content", block.at, why)
            return None
        out: dict[str, Json] = {"type": part}
        if part == "file":
            tagged = spelling if w.home else {"data": "tagged"}
            out["data"] = self.write_data(block, tagged)
        else:
            key, what = RESULT_DATA[part]
            value: Json = block.source.value
            if what == "file" and block.source.issuer:
                value = {block.source.issuer: value}
            out[key] = value
        typed = part not in ("image-url", "file-url", "file-id", "image-file-id")
        if typed or block.source.media_type is not None or w.home:
            self.write_media_type(out, block, spelling, w, needed=typed)
        if block.filename is not None:
            if part in ("file", "file-data") or w.home:
                out["filename"] = block.filename
            else:
                why = f"{self.name} has no file names of such a part of a result"
                w.log.dropped("media.filename", block.at, why)
        return self.finish(out, block, w, *self.about(block, w))

    def result_part(self, block: Media) -> str | None:
        """The type of part that holds such a medium in a result."""
        stem = "image-" if block.kind == "image" else "file-"
        wanted: tuple[str, ...]
        match block.source.kind:
            case "base64" | "text" | "blocks":
                wanted = ("file", f"{stem}data", "media", "image" if block.kind == "image" else "")
            case "url":
                wanted = (f"{stem}url",)
            case "file":
                if not block.source.issuer:
                    return None
                fits = "file" if "file-reference" in self.result_parts else ""
                wanted = (fits, "image-file-id" if block.kind == "image" else "file-id")
            case _:
                assert_never(block.source.kind)
        return next((part for part in wanted if part in self.result_parts), None)
