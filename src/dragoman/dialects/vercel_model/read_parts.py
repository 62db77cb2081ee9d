"""Reading what stands inside a message of the AI SDK, whichever version it was made for."""

from __future__ import annotations

import re

from msgspec.structs import replace

from ...core.media import kind_of, sniff
from ...core.reading import (
    as_dict,
    as_list,
    compact,
    expected,
    maybe_bool,
    maybe_str,
    missing,
    need_list,
    need_str,
    only,
    sole,
    tokens,
)
from ...core.writing import is_plain_text, split_data_uri
from ...model import (
    Block,
    Hosted,
    Json,
    Media,
    MediaKind,
    Raw,
    Reasoning,
    Signature,
    Source,
    Text,
    ToolCall,
    ToolResult,
)
from .options import KEY, Taker, WithOptions

PLAIN_TEXT = only("type", "text")
TAGGED = {kind: only("type", kind) for kind in ("data", "url", "text", "reference")}
TEXT_KEYS = frozenset({"type", "text"})
IMAGE_KEYS = frozenset({"type", "image"})
FILE_KEYS = frozenset({"type", "data", "filename"})
THOUGHT_KEYS = frozenset({"type", "text", "signature", "data"})
CALL_KEYS = frozenset({"type", "toolCallId", "toolName", "input", "args"})
RESULT_KEYS = frozenset({"type", "toolCallId", "toolName"})
MEDIA_TYPES = ("mediaType", "mimeType")
ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
"""How a string begins that ``new URL`` takes for an address."""
FILE_ID = "file-"
"""How the ids of OpenAI's files begin, where they stand in the place of data."""

# type of a part in a tool result -> the key of its data, and what these are
RESULT_DATA = {
    "media": ("data", "base64"),
    "file-data": ("data", "base64"),
    "image-data": ("data", "base64"),
    "image": ("data", "base64"),  # version 4
    "file-url": ("url", "url"),
    "image-url": ("url", "url"),
    "file-id": ("fileId", "file"),
    "image-file-id": ("fileId", "file"),
    "file-reference": ("providerReference", "file"),
    "image-file-reference": ("providerReference", "file"),
}


class ReadParts(WithOptions):
    """Parts, into the tree."""

    def read_parts(self, docs: list[Json], at: str, custom: frozenset[str]) -> list[Block]:
        out: list[Block] = []
        for token, doc in zip(tokens(docs), docs, strict=False):
            where = at + token
            if doc.__class__ is not dict:
                expected("an object", doc, where)
            kind = doc.get("type")
            if kind == "text" and PLAIN_TEXT(doc) and doc.get("text").__class__ is str:
                out.append(Text(doc["text"], at=where))  # the usual shape
                continue
            block = self.read_part(doc, kind, where, custom)
            if block.__class__ is Reasoning and out and out[-1].__class__ is Reasoning:
                if (whole := self.one_item(out[-1], block)) is not None:
                    out[-1] = whole
                    continue
            out.append(block)
        return out

    def read_part(self, doc: dict[str, Json], kind: Json, at: str, custom: frozenset[str]) -> Block:
        match kind:
            case "text":
                options = Taker(doc, at)
                cache = self.read_cache(options)
                text = need_str(doc, "text", at)
                extras = self.keep_part(options, TEXT_KEYS)
                return Text(text, cache=cache, at=at, extras=extras)
            case "image":
                return self.read_file(doc, "image", at)
            case "file":
                return self.read_file(doc, "data", at)
            case "reasoning":
                return self.read_reasoning(doc, at)
            case "redacted-reasoning":
                options = Taker(doc, at)
                signature = Signature(need_str(doc, "data", at), "anthropic", "encrypted")
                spelling = None if self.flat else {"part": kind}
                extras = self.keep_options(options, THOUGHT_KEYS, spelling)
                return Reasoning(signature=signature, at=at, extras=extras)
            case "tool-call":
                return self.read_call(doc, at, custom)
            case "tool-result":  # among what the assistant says, so its provider ran the tool
                name = maybe_str(doc, "toolName", at) or ""
                call_id = maybe_str(doc, "toolCallId", at)
                return Hosted(self.family, name, doc, "result", id=call_id, at=at)
            case _:
                need_str(doc, "type", at)
                return Raw(self.family, doc, at=at)

    # -- media ------------------------------------------------------------------------------

    def read_file(self, doc: dict[str, Json], key: str, at: str) -> Block:
        """An image or a file: its data are an address, base64, a reference, or any of them."""
        said = doc.get(key)
        spelling: dict[str, Json] = {}
        type_key, media_type = self.read_media_type(doc, at, spelling)
        source = self.read_data(said, media_type, f"{at}/{key}", spelling)
        if source is None:
            if said is None:
                missing(key, at)
            return Raw(self.family, doc, at=at)
        if key == "image" and source.media_type is None and source.kind == "base64":
            if (found := sniff(source.value)) is not None:  # which is what the SDK does, too
                source = Source("base64", source.value, found)
                spelling["untyped"] = True
        kind: MediaKind = "image" if key == "image" else kind_of(media_type or source.media_type)
        if (key == "image") != (self.image_parts and kind == "image"):
            spelling["part"] = doc["type"]
        options = Taker(doc, at)
        taken = (IMAGE_KEYS if key == "image" else FILE_KEYS) | {type_key}
        filename = maybe_str(doc, "filename", at) if "filename" in taken else None
        return self.media(kind, source, filename, options, taken, spelling)

    def media(
        self,
        kind: MediaKind,
        source: Source,
        filename: str | None,
        options: Taker,
        taken: frozenset[str],
        spelling: dict[str, Json],
    ) -> Media:
        """A medium with what providers know about it."""
        cache = self.read_cache(options)
        detail = options.take("openai", "imageDetail") if kind == "image" else None
        title = context = citable = None
        if kind == "document":
            title = options.take("anthropic", "title")
            context = options.take("anthropic", "context")
            citations = options.take("anthropic", "citations", dict)
            if citations is not None and citations in ({"enabled": True}, {"enabled": False}):
                citable = citations["enabled"]
            elif citations is not None and options.left is not None:
                options.left["anthropic"]["citations"] = citations
        return Media(
            kind, source, detail, title, filename, context, citable, cache=cache,
            at=options.at.removesuffix(f"/{KEY}"),
            extras=self.keep_part(options, taken, spelling),
        )  # fmt: skip

    def read_media_type(
        self, doc: dict[str, Json], at: str, spelling: dict[str, Json]
    ) -> tuple[str, str | None]:
        """The media type under the name of any version; ``image`` or ``image/*`` names none."""
        for key in MEDIA_TYPES:
            media_type = maybe_str(doc, key, at)
            if media_type is not None:
                if key != self.media_type:
                    spelling["media_type"] = key
                if "/" not in media_type or media_type.endswith("/*"):
                    spelling["any"] = media_type
                return key, media_type
        return self.media_type, None

    def read_data(
        self, said: Json, media_type: str | None, at: str, spelling: dict[str, Json]
    ) -> Source | None:
        """Where a medium is; None for a form that nobody knows."""
        exact = None if "any" in spelling else media_type
        if said.__class__ is str:
            return self.read_text_data(said, exact, spelling)
        if said.__class__ is not dict:
            return None
        match said:
            case {"type": "data", "data": str(data)} if TAGGED["data"](said):
                spelling["data"] = "tagged"
                return Source("base64", data, exact)
            case {"type": "url", "url": str(url)} if TAGGED["url"](said):
                spelling["data"] = "tagged"
                return Source("url", url, exact)
            case {"type": "text", "text": str(text)} if TAGGED["text"](said):
                return Source("text", text, exact)
            case {"type": "reference", "reference": dict(reference)} if TAGGED["reference"](said):
                spelling["data"] = "tagged"
                return self.read_reference(reference, exact)
        return self.read_reference(said, exact)

    def read_text_data(
        self, said: str, media_type: str | None, spelling: dict[str, Json]
    ) -> Source:
        found = split_data_uri(said)
        if found is not None:
            spelling["data"] = "uri"
            if media_type != (found[0] or None):
                spelling["type"] = media_type
            return Source("base64", found[1], found[0] or None)
        if ADDRESS.match(said):
            return Source("url", said, media_type)
        if said.startswith(FILE_ID):
            if not self.file_ids:
                spelling["data"] = "id"
            return Source("file", said, media_type, "openai")
        return Source("base64", said, media_type)

    def read_reference(self, said: dict[str, Json], media_type: str | None) -> Source | None:
        """``{provider: id}``; a file that several providers hold is kept as it is."""
        issuer = sole(said)
        if issuer is not None and (file_id := said[issuer]).__class__ is str:
            return Source("file", file_id, media_type, issuer)
        return None

    # -- reasoning and calls -----------------------------------------------------------------

    def read_reasoning(self, doc: dict[str, Json], at: str) -> Block:
        text = need_str(doc, "text", at)
        options = Taker(doc, at)
        signature = self.read_signature(options)
        item = options.take("openai", "itemId")
        taken, spelling = THOUGHT_KEYS - {"data"}, {}
        data = maybe_str(doc, "signature", at)
        if data and signature is None:
            signature = Signature(data, "anthropic")
            if not self.flat:
                spelling["signature"] = True
        elif data is not None:
            taken = taken - {"signature"}
        elif signature == Signature(signature.data if signature else "", "anthropic") and self.flat:
            spelling["signature"] = False
        extras = self.keep_options(options, taken, spelling)
        said = (text,) if text else ()
        if item is not None or (signature is not None and signature.issuer == "openai"):
            # What OpenAI shows of its reasoning are summaries.
            return Reasoning((), said, signature, item, at=at, extras=extras)
        if signature is None:
            said = (text,)
        elif (
            signature.kind == "encrypted"
            and text == ""
            and signature.issuer in ("anthropic", "bedrock")
        ):
            if self.flat:
                extras = self.respell(extras, part="reasoning")
        return Reasoning(said, signature=signature, at=at, extras=extras)

    def one_item(self, first: Block, second: Block) -> Reasoning | None:
        """Summaries of one reasoning item of OpenAI: each is a part, with the id of the item."""
        assert isinstance(first, Reasoning)
        assert isinstance(second, Reasoning)
        if first.id is None or first.id != second.id or second.extras is not None:
            return None
        if first.signature != second.signature or first.extras is not None:
            return None
        if not first.summary or not second.summary:
            return None
        summary = (*first.summary, *second.summary)
        return Reasoning((), summary, first.signature, first.id, at=first.at)

    def read_call(self, doc: dict[str, Json], at: str, custom: frozenset[str]) -> Block:
        name, call_id = need_str(doc, "toolName", at), need_str(doc, "toolCallId", at)
        if doc.get("providerExecuted") is True:
            return Hosted(self.family, name, doc, "call", id=call_id, at=at)
        options = Taker(doc, at)
        item = options.take("openai", "itemId")
        cache = self.read_cache(options)
        key = next((k for k in (self.arguments, "input", "args") if k in doc), self.arguments)
        said = doc.get(key)
        spelling: dict[str, Json] = {} if key == self.arguments else {"key": key}
        kind, text = "function", "{}"
        if said.__class__ is dict:
            text = compact(said)
            if name in custom and said.keys() == {"input"} and said["input"].__class__ is str:
                kind, text = "custom", said["input"]
        elif said.__class__ is str:
            text, spelling["form"] = (said, "text") if said else ("{}", "blank")
        elif said is not None:
            text, spelling["form"] = compact(said), "json"
        elif key in doc:
            spelling["form"] = "null"
        else:
            spelling["form"] = "absent"
        extras = self.keep_part(options, CALL_KEYS - ({"input", "args"} - {key}), spelling)
        if extras is not None and key in extras.blanks:
            blanks = {k: v for k, v in extras.blanks.items() if k != key}
            extras = replace(extras, blanks=blanks)
        return ToolCall(call_id, name, text, kind, item, cache, at=at, extras=extras)  # type: ignore[arg-type]

    # -- results ----------------------------------------------------------------------------

    def read_result(self, doc: dict[str, Json], called: dict[str, str], at: str) -> ToolResult:
        """The answer of a tool. Its name says nothing new where the call is known."""
        call_id = need_str(doc, "toolCallId", at)
        name = maybe_str(doc, "toolName", at)
        spelling: dict[str, Json] = {}
        if name is None:
            spelling["name"] = "absent"
        elif called.get(call_id) == name:
            name = None
        options = Taker(doc, at)
        cache = self.read_cache(options)
        if "output" in doc:
            content, failed, taken = self.read_output(doc["output"], f"{at}/output", spelling)
            if self.flat:
                spelling["key"] = "output"
            partly = {"output": taken} if taken else {}
            keys = RESULT_KEYS if taken else RESULT_KEYS | {"output"}
            extras = self.keep_options(options, keys, spelling, partly=partly)
        else:
            content, failed, keys = self.read_flat(doc, at, spelling)
            if not self.flat:
                spelling["key"] = "result"
            extras = self.keep_options(options, keys, spelling)
        return ToolResult(call_id, content, failed, name, cache=cache, at=at, extras=extras)

    def read_output(
        self, output: Json, at: str, spelling: dict[str, Json]
    ) -> tuple[tuple[Block, ...], bool | None, tuple[str, ...]]:
        output = as_dict(output, at)
        kind, where = need_str(output, "type", at), f"{at}/value"
        failed = True if kind.startswith("error-") else None
        match kind:
            case "text" | "error-text":
                text = Text(need_str(output, "value", at), at=where)
                return (text,), failed, ("type", "value")
            case "json" | "error-json":
                if "value" not in output:
                    missing("value", at)
                spelling["output"] = "json"
                return (Text(compact(output["value"]), at=where),), failed, ("type", "value")
            case "content":
                parts = self.read_result_parts(need_list(output, "value", at), where)
                only = parts[0] if len(parts) == 1 else None
                if not parts or (only and (is_plain_text(only) or only.__class__ is Raw)):
                    spelling["output"] = "content"
                return tuple(parts), None, ("type", "value")
            case "execution-denied":
                reason = maybe_str(output, "reason", at)
                said = () if reason is None else (Text(reason, at=f"{at}/reason"),)
                # That it was denied and did not fail is a field that only this SDK knows.
                return said, True, ("reason",)
            case _:
                return (Raw(self.family, output, at=at),), None, ()

    def read_flat(
        self, doc: dict[str, Json], at: str, spelling: dict[str, Json]
    ) -> tuple[tuple[Block, ...], bool | None, frozenset[str]]:
        """The result of version 4: a value beside a flag, and parts beside the value."""
        failed = maybe_bool(doc, "isError", at)
        keys = RESULT_KEYS | {"result", "isError"}
        value = doc.get("result")
        for key in ("experimental_content", "content"):
            if doc.get(key).__class__ is list:
                parts = tuple(self.read_result_parts(doc[key], f"{at}/{key}"))
                spelling["parts"] = key
                if "result" not in doc or value != flat_text(parts):
                    spelling["result"] = "absent"
                    keys -= {"result"}  # another value beside the parts is for the caller alone
                return parts, failed, keys | {key}
        where = f"{at}/result"
        if value.__class__ is str:
            return (Text(value, at=where),), failed, keys
        if value is not None:
            spelling["output"] = "json"
            return (Text(compact(value), at=where),), failed, keys
        spelling["output"] = "null" if "result" in doc else "absent"
        return (), failed, keys - {"result"}

    def read_result_parts(self, docs: list[Json], at: str) -> list[Block]:
        out: list[Block] = []
        for index, item in enumerate(as_list(docs, at)):
            where = f"{at}/{index}"
            doc = as_dict(item, where)
            if need_str(doc, "type", where) == "text":
                options = Taker(doc, where)
                cache = self.read_cache(options)
                extras = self.keep_options(options, TEXT_KEYS)
                text = need_str(doc, "text", where)
                out.append(Text(text, cache=cache, at=where, extras=extras))
            else:
                out.append(self.read_result_medium(doc, where))
        return out

    def read_result_medium(self, doc: dict[str, Json], at: str) -> Block:
        said_type = doc["type"]
        spelling: dict[str, Json] = {}
        key, what = RESULT_DATA.get(said_type, ("data", "file-part"))
        said = doc.get(key)
        source: Source | None = None
        type_key, media_type = self.read_media_type(doc, at, spelling)
        exact = None if "any" in spelling else media_type
        if said_type == "file":
            source = self.read_data(said, media_type, f"{at}/data", spelling)
        elif said_type in RESULT_DATA and said.__class__ is dict and what == "file":
            source = self.read_reference(said, exact)
        elif said_type in RESULT_DATA and said.__class__ is str:
            source = Source(what, said, exact)  # type: ignore[arg-type]
        if source is None:
            return Raw(self.family, doc, at=at)
        kind: MediaKind = "image" if said_type.startswith("image") else kind_of(media_type)
        spelling["part"] = said_type
        taken = frozenset({"type", key, type_key, "filename"})
        options = Taker(doc, at)
        return self.media(kind, source, maybe_str(doc, "filename", at), options, taken, spelling)


def flat_text(parts: tuple[Block, ...]) -> str:
    """What a result says in words alone, beside its parts."""
    return "\n".join(part.text for part in parts if isinstance(part, Text))
