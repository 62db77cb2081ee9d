"""Content blocks and messages of the Anthropic Messages API, both ways."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, assert_never

from msgspec.structs import replace

from ...dialect import Dialect
from ...errors import Malformed
from ...model import (
    Block,
    Cache,
    Citation,
    Extras,
    Hosted,
    Json,
    Media,
    Message,
    Node,
    Passage,
    Raw,
    Reasoning,
    Refusal,
    Role,
    Seal,
    Source,
    Text,
    ToolCall,
    ToolResult,
)
from ...normal import mark_custom_results
from ...reading import (
    as_dict,
    compact,
    encode,
    expected,
    maybe_bool,
    maybe_dict,
    maybe_str,
    need_dict,
    need_list,
    need_str,
    tokens,
)
from ...writing import Writing, home_only, is_plain_text, object_of

NAME = "anthropic-messages"

# A user turn of one text is written as a bare string; this remembers that it was a list.
AS_LIST = Extras(NAME, spelling={"content": "list"})
JOINED = Extras(NAME, spelling={"joined": True})
NOBODY: frozenset[str] = frozenset()

ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
TEXT_KEYS = frozenset({"type", "text", "citations", "cache_control"})
CALL_KEYS = frozenset({"type", "id", "name", "input", "cache_control"})
RESULT_KEYS = frozenset({"type", "tool_use_id", "content", "is_error", "cache_control"})
THINKING_KEYS = frozenset({"type", "thinking", "signature"})
REDACTED_KEYS = frozenset({"type", "data"})
IMAGE_KEYS = frozenset({"type", "source", "cache_control"})
DOCUMENT_KEYS = frozenset({"type", "source", "title", "context", "citations", "cache_control"})
PASSAGE_KEYS = frozenset({"type", "source", "title", "content", "citations", "cache_control"})

# https://docs.claude.com/en/docs/build-with-claude/vision and .../pdf-support
DATA_TYPES = {
    "image": frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"}),
    "document": frozenset({"application/pdf"}),
}

# https://docs.claude.com/en/docs/agents-and-tools/tool-use/overview#server-tools
HOSTED_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})
HOSTED_RESULTS = {
    "web_search_tool_result": "web_search",
    "web_fetch_tool_result": "web_fetch",
    "code_execution_tool_result": "code_execution",
    "bash_code_execution_tool_result": "code_execution",
    "text_editor_code_execution_tool_result": "code_execution",
    "tool_search_tool_result": "tool_search",
    "advisor_tool_result": "advisor",
    "mcp_tool_result": "mcp",
    "mcp_tool_listing": "mcp",
}
SERVICES = {
    "web_search": "web_search",
    "web_fetch": "web_fetch",
    "code_execution": "code_execution",
    "bash_code_execution": "code_execution",
    "text_editor_code_execution": "code_execution",
    "tool_search_tool_regex": "tool_search",
    "tool_search_tool_bm25": "tool_search",
    "advisor": "advisor",
}
LOCATIONS: dict[str, tuple[str, str, str]] = {  # citation type -> unit, first key, last key
    "char_location": ("char", "start_char_index", "end_char_index"),
    "page_location": ("page", "start_page_number", "end_page_number"),
    "content_block_location": ("block", "start_block_index", "end_block_index"),
    "search_result_location": ("block", "start_block_index", "end_block_index"),
}


class Blocks(Dialect):
    """Reading and writing what stands inside a message."""

    name = NAME
    issuer = "anthropic"

    # -- reading ----------------------------------------------------------------------------

    def read_history(self, docs: list[Json], at: str, custom: frozenset[str]) -> list[Message]:
        """The messages in normal form: each tool result a message of its own."""
        out: list[Message] = []
        for token, doc in zip(tokens(docs), docs, strict=False):
            where = at + token
            if doc.__class__ is dict and len(doc) == 2:
                role, content = doc.get("role"), doc.get("content")
                if role == "user" or role == "assistant":  # the usual shapes
                    if content.__class__ is list:
                        blocks = self.read_blocks(content, f"{where}/content", custom)
                        if role == "assistant" and len(blocks) > 1:
                            out.append(Message("assistant", tuple(blocks), at=where))
                        else:
                            self.add_turn(role, blocks, where, None, out)
                        continue
                    if content.__class__ is str:
                        text = Text(content, at=f"{where}/content")
                        out.append(Message(role, (text,), at=where))
                        continue
            self.read_message(as_dict(doc, where), where, out, custom)
        if custom:
            return mark_custom_results(out)
        return out

    def read_message(
        self, doc: dict[str, Json], at: str, out: list[Message], custom: frozenset[str]
    ) -> None:
        said = doc.get("role")
        role = ROLES.get(said) if said.__class__ is str else None
        if role is None:
            need_str(doc, "role", at)
            raise Malformed(f"unknown role {said!r}; there are: {', '.join(ROLES)}", at)
        content = doc.get("content")
        extras = None if len(doc) == 2 else self.keep(doc, ("role", "content"))
        where = f"{at}/content"
        if role == "system" and not any(m.role != "system" for m in out):
            extras = self.respell(extras, place="message")
        if content.__class__ is str:
            out.append(Message(role, (Text(content, at=where),), at=at, extras=extras))
            return
        blocks = self.read_blocks(need_list(doc, "content", at), where, custom)
        self.add_turn(role, blocks, at, extras, out)

    def add_turn(
        self, role: Role, blocks: list[Block], at: str, extras: Extras | None, out: list[Message]
    ) -> None:
        """A turn with a list of blocks; of the user's, each result becomes a message."""
        results = 0
        if role == "user":
            for block in blocks:
                if block.__class__ is ToolResult:
                    results += 1
        if not results:
            if len(blocks) == 1 and is_plain_text(blocks[0]):
                extras = AS_LIST if extras is None else self.respell(extras, content="list")
            out.append(Message(role, tuple(blocks), at=at, extras=extras))
        elif results == len(blocks) and extras is None:  # the usual turn of results
            if out and out[-1].role == "tool":
                extras = self.respell(None, joined=False)
            for block in blocks:
                out.append(Message("tool", (block,), at=block.at, extras=extras))
                extras = None
        else:
            self.split_results(blocks, at, extras, out)

    def split_results(
        self, blocks: list[Block], at: str, extras: Extras | None, out: list[Message]
    ) -> None:
        """Tool results leave the user turn; how they shared it is a matter of spelling."""
        first = True
        after_result = bool(out) and out[-1].role == "tool"
        run: list[Block] = []

        def flush() -> None:
            nonlocal first, after_result
            if run:
                out.append(Message("user", tuple(run), at=at, extras=extras if first else JOINED))
                run.clear()
                first = after_result = False

        for block in blocks:
            if block.__class__ is not ToolResult:
                run.append(block)
                continue
            flush()
            note: Extras | None
            if first:
                note = extras if not after_result else self.respell(extras, joined=False)
            else:
                note = None if after_result else JOINED
            out.append(Message("tool", (block,), at=block.at, extras=note))
            first, after_result = False, True
        flush()

    def respell(self, extras: Extras | None, **spelling: Json) -> Extras:
        if extras is None:
            return Extras(NAME, spelling=spelling)
        return replace(extras, spelling=extras.spelling | spelling)

    def read_blocks(
        self, docs: list[Json], at: str, custom: frozenset[str] = NOBODY
    ) -> list[Block]:
        out: list[Block] = []
        for token, doc in zip(tokens(docs), docs, strict=False):
            where = at + token
            if doc.__class__ is not dict:
                expected("an object", doc, where)
            kind = doc.get("type")
            # The usual shapes, most blocks by far.
            if kind == "tool_use":
                if len(doc) == 4 and not custom:
                    call_id, name, given = doc.get("id"), doc.get("name"), doc.get("input")
                    if call_id.__class__ is name.__class__ is str and given.__class__ is dict:
                        out.append(ToolCall(call_id, name, encode(given).decode(), at=where))
                        continue
                out.append(self.read_call(doc, where, custom))
            elif kind == "tool_result":
                call_id, content = doc.get("tool_use_id"), doc.get("content")
                if call_id.__class__ is str and len(doc) == 3:
                    if content.__class__ is str:
                        text = Text(content, at=f"{where}/content")
                        out.append(ToolResult(call_id, (text,), at=where))
                        continue
                    if (words := only_text(content)) is not None:
                        text = Text(words, at=f"{where}/content/0")
                        out.append(ToolResult(call_id, (text,), at=where, extras=AS_LIST))
                        continue
                out.append(self.read_result(doc, where))
            elif kind == "text" and len(doc) == 2 and doc.get("text").__class__ is str:
                out.append(Text(doc["text"], at=where))
            elif kind.__class__ is not str:
                need_str(doc, "type", where)
            elif (read := self.READERS.get(kind)) is not None:
                out.append(read(self, doc, where))
            else:
                out.append(self.read_hosted(doc, kind, where))
        return out

    def read_hosted(self, doc: dict[str, Json], kind: str, at: str) -> Block:
        if kind in HOSTED_CALLS:
            name = need_str(doc, "name", at)
            service = "mcp" if kind == "mcp_tool_use" else SERVICES.get(name, name)
            return Hosted(NAME, service, doc, "call", id=maybe_str(doc, "id", at), at=at)
        if kind in HOSTED_RESULTS:
            call_id = maybe_str(doc, "tool_use_id", at)
            return Hosted(NAME, HOSTED_RESULTS[kind], doc, "result", id=call_id, at=at)
        return Raw(NAME, doc, at=at)  # new block types arrive every month

    def read_text(self, doc: dict[str, Json], at: str) -> Block:
        citations = doc.get("citations")
        cited: tuple[Citation, ...] = ()
        spelling: dict[str, Json] | None = None
        if citations:
            if citations.__class__ is not list:
                expected("a list", citations, f"{at}/citations")
            cited = tuple(
                self.read_citation(as_dict(item, where), where)
                for index, item in enumerate(citations)
                if (where := f"{at}/citations/{index}")
            )
        elif citations is not None:
            spelling = {"citations": citations}
        return Text(
            need_str(doc, "text", at),
            cited,
            self.read_cache(doc, at),
            at=at,
            extras=self.keep(doc, TEXT_KEYS, spelling),
        )

    def read_citation(self, doc: dict[str, Json], at: str) -> Citation:
        kind = need_str(doc, "type", at)
        quote = maybe_str(doc, "cited_text", at)
        if kind == "web_search_result_location":
            index = maybe_str(doc, "encrypted_index", at)
            return Citation(
                "url",
                url=maybe_str(doc, "url", at),
                title=maybe_str(doc, "title", at),
                quote=quote,
                seal=None if index is None else Seal(index, self.issuer, "encrypted"),
                at=at,
                extras=self.keep(doc, ("type", "cited_text", "url", "title", "encrypted_index")),
            )
        if kind not in LOCATIONS:
            return Citation("other", at=at, extras=Extras(NAME, fields=doc))
        unit, start, end = LOCATIONS[kind]
        passage = kind == "search_result_location"
        index_key = "search_result_index" if passage else "document_index"
        title_key = "title" if passage else "document_title"
        first, last, number = doc.get(start), doc.get(end), doc.get(index_key)
        if first.__class__ is not int or last.__class__ is not int or number.__class__ is not int:
            raise Malformed(f"a {kind} needs {index_key}, {start} and {end} as integers", at)
        taken = ("type", "cited_text", start, end, index_key, title_key)
        return Citation(
            "passage" if passage else "document",
            url=maybe_str(doc, "source", at) if passage else None,
            title=maybe_str(doc, title_key, at),
            quote=quote,
            document=number,
            location=(unit, first, last),  # type: ignore[arg-type]
            at=at,
            extras=self.keep(doc, (*taken, "source") if passage else taken),
        )

    def read_cache(self, doc: dict[str, Json], at: str) -> Cache | None:
        mark = doc.get("cache_control")
        if mark is None:
            return None
        where = f"{at}/cache_control"
        mark = as_dict(mark, where)
        spelling = None if mark.get("type") == "ephemeral" else {"type": mark.get("type")}
        extras = self.keep(mark, ("type", "ttl"), spelling)
        return Cache(maybe_str(mark, "ttl", where), at=where, extras=extras)

    def read_thinking(self, doc: dict[str, Json], at: str) -> Block:
        signature = maybe_str(doc, "signature", at)
        spelling = {"signature": ""} if signature == "" else None
        return Reasoning(
            (need_str(doc, "thinking", at),),
            seal=Seal(signature, self.issuer) if signature else None,
            at=at,
            extras=self.keep(doc, THINKING_KEYS, spelling),
        )

    def read_redacted(self, doc: dict[str, Json], at: str) -> Block:
        seal = Seal(need_str(doc, "data", at), self.issuer, "encrypted")
        return Reasoning(seal=seal, at=at, extras=self.keep(doc, REDACTED_KEYS))

    def read_call(self, doc: dict[str, Json], at: str, custom: frozenset[str]) -> Block:
        name = need_str(doc, "name", at)
        arguments = need_dict(doc, "input", at)
        extras = None
        cache = None
        if len(doc) != 4:
            cache = self.read_cache(doc, at)
            extras = self.keep(doc, CALL_KEYS)
            if extras is not None and extras.fields.get("caller") == {"type": "direct"}:
                fields = dict(extras.fields)
                blanks = extras.blanks | {"caller": fields.pop("caller")}  # the default
                extras = Extras(NAME, fields, blanks)
        call_id = need_str(doc, "id", at)
        if name in custom and arguments.keys() == {"input"} and isinstance(arguments["input"], str):
            return ToolCall(
                call_id, name, arguments["input"], "custom", cache=cache, at=at, extras=extras
            )
        return ToolCall(call_id, name, compact(arguments), cache=cache, at=at, extras=extras)

    def read_result(self, doc: dict[str, Json], at: str) -> Block:
        content = doc.get("content")
        parts: tuple[Block, ...] = ()
        listed = False  # a list where a string or nothing would have done
        if content.__class__ is str:
            parts = (Text(content, at=f"{at}/content"),)
        elif content.__class__ is list:
            parts = tuple(self.read_blocks(content, f"{at}/content"))
            listed = not parts or (len(parts) == 1 and is_plain_text(parts[0]))
        elif content is not None:
            expected("a string or a list", content, f"{at}/content")
        call_id = need_str(doc, "tool_use_id", at)
        if content is not None and len(doc) == 3:
            return ToolResult(call_id, parts, at=at, extras=AS_LIST if listed else None)
        return ToolResult(
            call_id,
            parts,
            maybe_bool(doc, "is_error", at),
            cache=self.read_cache(doc, at),
            at=at,
            extras=self.keep(doc, RESULT_KEYS, {"content": "list"} if listed else None),
        )

    def read_image(self, doc: dict[str, Json], at: str) -> Block:
        source, spelling = self.read_source(doc, at)
        if source is None:
            return Raw(NAME, doc, at=at)
        return Media(
            "image",
            source,
            cache=self.read_cache(doc, at),
            at=at,
            extras=self.keep(doc, IMAGE_KEYS, spelling),
        )

    def read_document(self, doc: dict[str, Json], at: str) -> Block:
        source, spelling = self.read_source(doc, at)
        if source is None:
            return Raw(NAME, doc, at=at)
        citable, citations = self.read_citable(doc, at)
        if citations:
            spelling = (spelling or {}) | citations
        return Media(
            "document",
            source,
            title=maybe_str(doc, "title", at),
            context=maybe_str(doc, "context", at),
            citable=citable,
            cache=self.read_cache(doc, at),
            at=at,
            extras=self.keep(doc, DOCUMENT_KEYS, spelling),
        )

    def read_citable(self, doc: dict[str, Json], at: str) -> tuple[bool | None, dict[str, Json]]:
        """``citations: {"enabled": true}`` of a document; any other form is kept as it is."""
        citations = maybe_dict(doc, "citations", at)
        if citations is None:
            return None, {}
        enabled = maybe_bool(citations, "enabled", f"{at}/citations")
        return enabled, {} if citations == {"enabled": enabled} else {"citations": citations}

    def read_source(
        self, doc: dict[str, Json], at: str
    ) -> tuple[Source | None, dict[str, Json] | None]:
        """Where a medium is. None for a kind of source that is not known; it is kept raw."""
        source = need_dict(doc, "source", at)
        where = f"{at}/source"
        kind = source.get("type")
        media_type = maybe_str(source, "media_type", where)
        match kind:
            case "base64":
                found = Source("base64", need_str(source, "data", where), media_type)
                known = {"type", "data", "media_type"}
            case "url":
                found = Source("url", need_str(source, "url", where))
                known = {"type", "url"}
            case "file":
                found = Source("file", need_str(source, "file_id", where), issuer=self.issuer)
                known = {"type", "file_id"}
            case "text":
                found = Source("text", need_str(source, "data", where), media_type)
                known = {"type", "data", "media_type"}
            case "content":
                content = source.get("content")
                if content.__class__ is str:
                    text = Text(content, at=f"{where}/content")
                    return Source("blocks", blocks=(text,)), {"source": "string"}
                blocks = self.read_blocks(need_list(source, "content", where), f"{where}/content")
                found = Source("blocks", blocks=tuple(blocks))
                known = {"type", "content"}
            case _:
                return None, None
        if source.keys() <= known:
            return found, None
        return found, {"source": {k: v for k, v in source.items() if k not in known}}

    def read_passage(self, doc: dict[str, Json], at: str) -> Block:
        citable, spelling = self.read_citable(doc, at)
        content = self.read_blocks(need_list(doc, "content", at), f"{at}/content")
        return Passage(
            need_str(doc, "source", at),
            need_str(doc, "title", at),
            tuple(content),
            citable,
            self.read_cache(doc, at),
            at=at,
            extras=self.keep(doc, PASSAGE_KEYS, spelling),
        )

    READERS: ClassVar[dict[str, Callable[[Any, dict[str, Json], str], Block]]] = {
        "text": read_text,
        "thinking": read_thinking,
        "redacted_thinking": read_redacted,
        "image": read_image,
        "document": read_document,
        "search_result": read_passage,
    }

    # -- writing ----------------------------------------------------------------------------

    def write_blocks(self, blocks: Sequence[Block], w: Writing) -> list[Json]:
        out: list[Json] = []
        for block in blocks:
            # Not isinstance: it is ten times slower on these, and these are nearly all there is.
            extras = block.extras
            if block.__class__ is ToolCall:
                if (
                    extras is None
                    and block.cache is None
                    and block.item_id is None
                    and block.id is not None
                    and block.kind == "function"
                ):  # the usual shape
                    given, name, call_id = object_of(block, w.log), block.name, block.id
                    if call_id in w.called or not w.ids.stays(call_id):
                        call_id = w.call_once(block)
                    else:
                        w.called.add(call_id)
                    if name not in w.names.staying:
                        name = w.tool_name(name, block.at)
                    out.append({"type": "tool_use", "id": call_id, "name": name, "input": given})
                    continue
                doc = self.write_call(block, w)
            elif block.__class__ is Text:
                text = block.text
                if (
                    (extras is None or self.is_mute(extras))
                    and block.cache is None
                    and not block.citations
                    and text
                    and not text.isspace()
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
        log = w.log
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
                self.write_citable(out, block, block.citable)
                return self.finish(out, block, block.cache, w)
            case Refusal():
                log.approximated("refusal", block.at, "a refusal is plain text here")
                return self.write_text(Text(block.text, at=block.at, extras=block.extras), w)
            case Hosted():
                if self.is_home(block.dialect):
                    return block.payload
                why = f"{block.service} is work of another provider's tool"
                log.dropped("hosted", block.at, why)
                return None
            case Raw():
                if self.is_home(block.dialect):
                    return block.payload
                log.dropped("raw", block.at, f"a block that only {block.dialect} knows")
                return None
            case _:
                assert_never(block)

    def write_text(self, block: Text, w: Writing) -> Json | None:
        text = block.text
        if not w.home and (not text or text.isspace()):
            # "text content blocks must be non-empty", "must contain non-whitespace text"
            w.log.dropped("text.empty", block.at, "empty text blocks are rejected")
            return None
        out: dict[str, Json] = {"type": "text", "text": text}
        if block.citations:
            cited = [doc for c in block.citations if (doc := self.write_citation(c, w)) is not None]
            if cited:
                out["citations"] = cited
        if block.extras is None and block.cache is None:
            return out
        if not block.citations and "citations" in (spelling := self.spelling(block)):
            out["citations"] = spelling["citations"]
        return self.finish(out, block, block.cache, w)

    def write_citation(self, cite: Citation, w: Writing) -> Json | None:
        kind: str | None
        out: dict[str, Json]
        if cite.kind == "other" and cite.extras is not None and self.is_home(cite.extras.dialect):
            return cite.extras.fields
        if cite.kind == "url" and cite.seal is not None and home_only(self, cite.seal.issuer):
            out = {"type": "web_search_result_location", "cited_text": cite.quote, "url": cite.url}
            out |= {"title": cite.title, "encrypted_index": cite.seal.data}
            return self.emit(out, cite, w.log)
        if cite.location is not None and cite.document is not None:
            unit, first, last = cite.location
            if cite.kind == "passage":
                kind = "search_result_location"
            else:
                units = {"char": "char_location", "page": "page_location"}
                kind = units.get(unit, "content_block_location")
            _, start, end = LOCATIONS[kind]
            out = {"type": kind, "cited_text": cite.quote or "", start: first, end: last}
            if cite.kind == "passage":
                out |= {"source": cite.url, "title": cite.title}
                out["search_result_index"] = cite.document
            else:
                out |= {"document_index": cite.document, "document_title": cite.title}
            return self.emit(out, cite, w.log)
        why = "a citation here points into a document of the request, or is sealed by the provider"
        w.log.dropped("text.citations", cite.at, why)
        return None

    def write_call(self, call: ToolCall, w: Writing) -> Json:
        if call.kind == "custom":
            arguments: dict[str, Json] = {"input": call.arguments}
            why = "a freeform call is wrapped as {'input': text}"
            if call.name in w.custom:
                w.moved("tool_call.kind", call.at, why)
            elif not w.home:
                w.log.approximated("tool_call.kind", call.at, why)
        else:
            arguments = object_of(call, w.log)
        name = call.name
        out: dict[str, Json] = {
            "type": "tool_use",
            "id": w.call_once(call),
            "name": name if name in w.names.staying else w.tool_name(name, call.at),
            "input": arguments,
        }
        if call.item_id is not None:
            w.log.dropped("tool_call.item_id", call.at, "a call has one id here")
        if call.extras is None and call.cache is None:
            return out
        return self.finish(out, call, call.cache, w)

    def write_result(self, result: ToolResult, w: Writing) -> Json:
        content, extras, call_id = result.content, result.extras, result.call_id
        if call_id is None or call_id not in w.ids.staying:
            call_id = w.result_id(result)
        if w.again:
            call_id = w.again.get(call_id, call_id)
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
                and only.text
            ):  # the usual shape
                return {"type": "tool_result", "tool_use_id": call_id, "content": only.text}
        out: dict[str, Json] = {"type": "tool_result", "tool_use_id": call_id}
        listed = extras is not None and self.spelling(result).get("content") == "list"
        if len(content) == 1 and not listed and is_plain_text(first := content[0], w.home):
            if first.text or w.home:
                out["content"] = first.text
            else:
                w.log.dropped("text.empty", result.at, "an empty result has no content here")
        elif content or listed:
            parts = self.write_blocks(self.fit_result(content, w), w)
            if parts or listed:
                out["content"] = parts
        if result.is_error is not None:
            out["is_error"] = result.is_error
        if result.name is not None:
            w.log.dropped("tool_result.name", result.at, "a result names its call, not its tool")
        if extras is None and result.cache is None:
            return out
        return self.finish(out, result, result.cache, w)

    def fit_result(self, content: Sequence[Block], w: Writing) -> Sequence[Block]:
        """What a tool result may hold: text, images, documents, passages."""
        if all(block.__class__ is Text for block in content):
            return content
        kept: list[Block] = []
        for block in content:
            if isinstance(block, Text | Passage | Media) or (
                isinstance(block, Raw | Hosted) and self.is_home(block.dialect)
            ):
                kept.append(block)
            else:
                w.log.dropped("tool_result.content", block.at, "a tool result cannot hold this")
        return kept

    def write_reasoning(self, block: Reasoning, w: Writing) -> Json | None:
        seal = block.seal
        if block.content and block.summary:
            w.log.dropped("reasoning.summary", block.at, "a thought is said once here")
        if seal is not None and home_only(self, seal.issuer):
            if seal.kind == "encrypted":
                out = {"type": "redacted_thinking", "data": seal.data}
                return self.emit(out, block, w.log)
            text = "".join(block.content or block.summary)
            out = {"type": "thinking", "thinking": text, "signature": seal.data}
            return self.emit(out, block, w.log)
        if seal is not None:
            why = f"only {seal.issuer} may receive what {seal.issuer} sealed"
            w.log.dropped("reasoning.seal", block.at, why)
        if block.id is not None:
            w.log.dropped("reasoning.id", block.at, "thoughts have no id here")
        if block.extras is not None and self.is_home(block.extras.dialect):
            out = {"type": "thinking", "thinking": "".join(block.content)}
            return self.emit(out | block.extras.spelling, block, w.log)
        self.lose(block.extras, block.at, w.log)
        text = "\n\n".join(block.content or block.summary)
        if not text:
            if seal is None and block.id is None:
                w.log.dropped("reasoning", block.at, "a thought without words")
            return None
        if w.answer:
            if not block.content:
                w.log.approximated("reasoning.summary", block.at, "a summary is a thought here")
            why = "the signature is empty: nobody sealed this thought"
            w.log.invented("reasoning.seal", block.at, why)
            return {"type": "thinking", "thinking": text, "signature": ""}
        # "messages.1.content.0.thinking.signature: Field required"
        w.log.dropped("reasoning", block.at, "a thought without Anthropic's signature is rejected")
        return None

    def write_media(self, block: Media, w: Writing) -> Json | None:
        log = w.log
        source = self.write_source(block, w)
        if source is None:
            return None
        out: dict[str, Json] = {"type": block.kind, "source": source}
        if block.kind == "document":
            title = block.title
            if title is None and block.filename is not None:
                title = block.filename
                log.approximated("media.filename", block.at, "the file name becomes the title")
            elif block.filename is not None:
                log.dropped("media.filename", block.at, "a document has a title, not a file name")
            if title is not None:
                out["title"] = title
            if block.context is not None:
                out["context"] = block.context
            self.write_citable(out, block, block.citable)
        elif block.filename is not None:
            log.dropped("media.filename", block.at, "an image has no file name here")
        if block.detail not in (None, "auto"):
            log.dropped("media.detail", block.at, "images have no detail level here")
        return self.finish(out, block, block.cache, w)

    def write_citable(
        self, out: dict[str, Json], block: Media | Passage, citable: bool | None
    ) -> None:
        spelling = self.spelling(block)
        if "citations" in spelling:
            out["citations"] = spelling["citations"]
        elif citable is not None:
            out["citations"] = {"enabled": citable}

    def write_source(self, block: Media, w: Writing) -> Json | None:
        source = block.source
        if block.kind not in ("image", "document"):
            w.log.dropped("media", block.at, f"{block.kind} cannot be sent here")
            return None
        out: dict[str, Json]
        spelled = self.spelling(block).get("source")
        match source.kind:
            case "base64":
                if not w.home:
                    return self.write_data(block, w)
                out = {"type": "base64", "data": source.value}
                if source.media_type is not None:
                    out["media_type"] = source.media_type
            case "url":
                if source.value[:5].lower() == "data:" and not w.home:
                    w.log.dropped("media", block.at, "data must be base64 here")
                    return None
                out = {"type": "url", "url": source.value}
            case "file":
                if not home_only(self, source.issuer):
                    w.log.dropped("media", block.at, f"a file that only {source.issuer} holds")
                    return None
                out = {"type": "file", "file_id": source.value}
            case "text":
                out = {
                    "type": "text",
                    "media_type": source.media_type or "text/plain",
                    "data": source.value,
                }
                if source.media_type is None and w.home:
                    del out["media_type"]
            case "blocks":
                if spelled == "string":
                    text = source.blocks[0]
                    assert isinstance(text, Text)
                    return {"type": "content", "content": text.text}
                out = {"type": "content", "content": self.write_blocks(source.blocks, w)}
            case _:
                assert_never(source.kind)
        if spelled.__class__ is dict:
            out |= spelled
        return out

    def write_data(self, block: Media, w: Writing) -> Json | None:
        """Data from elsewhere, of the few types that this API takes."""
        media_type, data = block.source.media_type, block.source.value
        if media_type is None:
            media_type = "image/png" if block.kind == "image" else "application/pdf"
            w.log.invented("media.type", block.at, f"taken for {media_type}")
        media_type = media_type.partition(";")[0].strip().lower()
        if media_type == "image/jpg":  # a frequent misspelling that the API rejects
            media_type = "image/jpeg"
            w.log.approximated("media.type", block.at, "image/jpg is image/jpeg")
        if media_type in DATA_TYPES[block.kind]:
            return {"type": "base64", "media_type": media_type, "data": data}
        text = text_of(data) if block.kind == "document" else None
        if text is None:
            kinds = ", ".join(sorted(DATA_TYPES[block.kind]))
            w.log.dropped("media", block.at, f"{media_type} is not among {kinds}")
            return None
        if media_type == "text/plain":
            w.log.approximated("media", block.at, "plain text travels as text, not as data")
        else:
            w.log.approximated("media.type", block.at, f"{media_type} travels as plain text")
        return {"type": "text", "media_type": "text/plain", "data": text}

    def finish(
        self, out: dict[str, Json], node: Node, cache: Cache | None, w: Writing
    ) -> dict[str, Json]:
        """Cache mark and extras, which nearly every block can bear."""
        if cache is not None:
            if w.answer and not w.home:
                w.log.dropped("cache", cache.at, "an answer bears no cache marks")
            else:
                out["cache_control"] = self.write_cache(cache, w)
                w.marks.append((out, cache))
        return self.emit(out, node, w.log)

    def write_cache(self, cache: Cache, w: Writing) -> Json:
        out: dict[str, Json] = {"type": "ephemeral"}
        if cache.ttl is not None:
            if cache.ttl in ("5m", "1h") or w.home:
                out["ttl"] = cache.ttl
            else:
                out["ttl"] = "1h"
                w.log.approximated("cache.ttl", cache.at, f"{cache.ttl} becomes 1h, the longest")
        if (spelled := self.spelling(cache)) and "type" in spelled:
            if spelled["type"] is None:
                del out["type"]
            else:
                out["type"] = spelled["type"]
        return self.emit(out, cache, w.log)


def text_of(data: str) -> str | None:
    """The text that base64 data hold; None where they hold none."""
    try:
        text = base64.b64decode(data, validate=True).decode()
    except ValueError:  # not base64, or not UTF-8
        return None
    return text if text and "\0" not in text else None


def only_text(content: Json) -> str | None:
    """The words of a list that holds one text and nothing else."""
    if content.__class__ is not list or len(content) != 1:
        return None
    part = content[0]
    if part.__class__ is dict and len(part) == 2 and part.get("type") == "text":
        words = part.get("text")
        return words if words.__class__ is str else None
    return None
