"""Content blocks of the Anthropic Messages API, both ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, assert_never

from ...core.reading import (
    as_dict,
    compact,
    encode,
    expected,
    maybe_bool,
    maybe_str,
    need_dict,
    need_list,
    need_str,
    only,
    tokens,
)
from ...core.writing import Writing, is_plain_text, joined, json_of
from ...errors import Malformed
from ...model import (
    Block,
    Cache,
    Citation,
    Extras,
    Hosted,
    Json,
    Media,
    Node,
    Passage,
    Raw,
    Reasoning,
    Signature,
    Source,
    Text,
    ToolCall,
    ToolResult,
)
from .._claude import read_citable, write_citable
from . import tools

if TYPE_CHECKING:
    from . import AnthropicMessages


NAME = "anthropic-messages"

NOBODY: frozenset[str] = frozenset()
TEXT_KEYS = frozenset({"type", "text", "citations", "cache_control"})
CALL_KEYS = frozenset({"type", "id", "name", "input", "cache_control"})
RESULT_KEYS = frozenset({"type", "tool_use_id", "content", "is_error", "cache_control"})
THINKING_KEYS = frozenset({"type", "thinking", "signature"})
REDACTED_KEYS = frozenset({"type", "data"})
IMAGE_KEYS = frozenset({"type", "cache_control"})
DOCUMENT_KEYS = frozenset({"type", "title", "context", "cache_control"})
PASSAGE_KEYS = frozenset({"type", "source", "title", "content", "citations", "cache_control"})

CITABLE = frozenset({"enabled"})
SOURCE_KEYS = {
    "base64": frozenset({"type", "data", "media_type"}),
    "url": frozenset({"type", "url"}),
    "file": frozenset({"type", "file_id"}),
    "text": frozenset({"type", "data", "media_type"}),
    "content": frozenset({"type", "content"}),
}
PLAIN_TEXT = only("type", "text")
PLAIN_CALL = only("type", "id", "name", "input")
PLAIN_RESULT = only("type", "tool_use_id", "content")

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
# Blocks that others can be told of in plain words: the key with the words, the code of their loss,
# and the words. A compaction without content is encrypted.
# https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool#custom-tool-search-implementation
TOLD: dict[str, tuple[str, str | None, str]] = {
    "tool_reference": ("tool_name", "tool_result.content", "Tool found: {}"),
    "compaction": ("content", "compaction", "[Summary of the conversation so far]\n{}\n"),
}
LOCATIONS: dict[str, tuple[str, str, str]] = {  # citation type -> unit, first key, last key
    "char_location": ("char", "start_char_index", "end_char_index"),
    "page_location": ("page", "start_page_number", "end_page_number"),
    "content_block_location": ("block", "start_block_index", "end_block_index"),
    "search_result_location": ("block", "start_block_index", "end_block_index"),
}

# https://docs.claude.com/en/docs/build-with-claude/vision and .../pdf-support
DATA_TYPES = {
    "image": frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"}),
    "document": frozenset({"application/pdf"}),
}


def read_blocks(
    d: AnthropicMessages, docs: list[Json], at: str, custom: frozenset[str] = NOBODY
) -> list[Block]:
    out: list[Block] = []
    token = tokens(docs)
    for index, doc in enumerate(docs):
        where = at + token[index]
        if doc.__class__ is not dict:
            expected("an object", doc, where)
        kind = doc.get("type")
        # The usual shapes, most blocks by far.
        if kind == "tool_use":
            if not custom and PLAIN_CALL(doc):
                call_id, name, given = doc.get("id"), doc.get("name"), doc.get("input")
                if call_id.__class__ is name.__class__ is str and given.__class__ is dict:
                    out.append(ToolCall(call_id, name, encode(given).decode(), at=where))
                    continue
            out.append(read_call(d, doc, where, custom))
        elif kind == "tool_result":
            out.append(read_result(d, doc, where))
        elif kind == "text" and PLAIN_TEXT(doc) and doc.get("text").__class__ is str:
            out.append(Text(doc["text"], at=where))
        elif kind.__class__ is not str:
            need_str(doc, "type", where)
        elif (read := READERS.get(kind)) is not None:
            out.append(read(d, doc, where))
        else:
            out.append(read_hosted(d, doc, kind, where))
    return out


def write_blocks(d: AnthropicMessages, blocks: Sequence[Block], w: Writing) -> list[Json]:
    out: list[Json] = []
    for block in blocks:
        # Not isinstance: it is ten times slower on these, and these are nearly all there is.
        if block.__class__ is ToolCall:
            doc = write_call(d, block, w)
        elif block.__class__ is Text:
            text, extras = block.text, block.extras
            if (
                (extras is None or d.is_mute(extras))
                and block.cache is None
                and not block.citations
            ):  # the usual shape
                out.append({"type": "text", "text": text})
                continue
            doc = write_text(d, block, w)
        elif block.__class__ is ToolResult:
            doc = write_result(d, block, w)
        else:
            doc = write_block(d, block, w)
        if doc is not None:
            out.append(doc)
    return out


def write_block(d: AnthropicMessages, block: Block, w: Writing) -> Json | None:
    """A block that is neither a text nor a call nor a result."""
    match block:
        case Reasoning():
            return write_reasoning(d, block, w)
        case Media():
            return write_media(d, block, w)
        case Passage():
            out: dict[str, Json] = {
                "type": "search_result",
                "source": block.source,
                "title": block.title,
            }
            out["content"] = write_blocks(d, block.content, w)
            write_citable(out, block.citable)
            return finish(d, out, block, block.cache, w)
        case Hosted() | Raw() if d.is_same(block.dialect):
            return block.payload
        case _:
            d.omit(block, w.log)
            return None


def read_hosted(d: AnthropicMessages, doc: dict[str, Json], kind: str, at: str) -> Block:
    if kind in HOSTED_CALLS:
        name = need_str(doc, "name", at)
        service = "mcp" if kind == "mcp_tool_use" else SERVICES.get(name, name)
        return Hosted(d.name, service, doc, "call", id=maybe_str(doc, "id", at), at=at)
    if kind in HOSTED_RESULTS:
        call_id = maybe_str(doc, "tool_use_id", at)
        return Hosted(d.name, HOSTED_RESULTS[kind], doc, "result", id=call_id, at=at)
    if kind in TOLD:
        key, code, words = TOLD[kind]
        value = doc.get(key)
        text = words.format(value) if isinstance(value, str) and value else None
        extras = d.keep(doc, ("type", key))
        return Raw(d.name, doc, text, code=code, at=at, extras=extras)
    if kind == "tool_addition":
        return read_addition(d, doc, at)
    return Raw(d.name, doc, at=at)  # new block types arrive every month


def read_addition(d: AnthropicMessages, doc: dict[str, Json], at: str) -> Block:
    """A tool that is added in the conversation: one of the request's, or a new one."""
    tool = doc.get("tool")
    if tool.__class__ is not dict or tool.get("definition").__class__ is not dict:
        return Raw(d.name, doc, at=at)
    added = tools.read_tool(d, tool["definition"], f"{at}/tool/definition")
    extras = d.keep(doc, ("type",), partly={"tool": ("type", "definition")})
    return Raw(d.name, doc, tools=(added,), at=at, extras=extras)


def read_text(d: AnthropicMessages, doc: dict[str, Json], at: str) -> Block:
    citations = doc.get("citations")
    cited: tuple[Citation, ...] = ()
    if citations:
        if citations.__class__ is not list:
            expected("a list", citations, f"{at}/citations")
        cited = tuple(
            read_citation(d, as_dict(item, where), where)
            for index, item in enumerate(citations)
            if (where := f"{at}/citations/{index}")
        )
    return Text(
        need_str(doc, "text", at),
        cited,
        read_cache(d, doc, at),
        at=at,
        extras=d.keep(doc, TEXT_KEYS),
    )


def write_text(d: AnthropicMessages, block: Text, w: Writing) -> Json | None:
    text = block.text
    out: dict[str, Json] = {"type": "text", "text": text}
    if block.citations:
        out["citations"] = [write_citation(d, cite, w) for cite in block.citations]
    if block.extras is None and block.cache is None:
        return out
    return finish(d, out, block, block.cache, w)


def read_citation(d: AnthropicMessages, doc: dict[str, Json], at: str) -> Citation:
    kind = need_str(doc, "type", at)
    quote = maybe_str(doc, "cited_text", at) or None
    if kind == "web_search_result_location":
        index = maybe_str(doc, "encrypted_index", at)
        return Citation(
            "url",
            url=maybe_str(doc, "url", at),
            title=maybe_str(doc, "title", at),
            quote=quote,
            signature=None if index is None else Signature(index, d.issuer, "encrypted"),
            at=at,
            extras=d.keep(doc, ("type", "cited_text", "url", "title", "encrypted_index")),
        )
    if kind not in LOCATIONS:
        return Citation("other", at=at, extras=Extras(d.name, fields=doc))
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
        extras=d.keep(doc, (*taken, "source") if passage else taken),
    )


def write_citation(d: AnthropicMessages, cite: Citation, w: Writing) -> Json:
    out: dict[str, Json]
    if cite.kind == "other" and cite.extras is not None and d.is_same(cite.extras.dialect):
        return cite.extras.fields
    signature = cite.signature
    if cite.location is None or cite.document is None:
        out = {"type": "web_search_result_location", "cited_text": cite.quote, "url": cite.url}
        out |= {"title": cite.title, "encrypted_index": signature and signature.data}
        return d.emit(out, cite, w.log)
    unit, first, last = cite.location
    if cite.kind == "passage":
        kind = "search_result_location"
    else:
        units = {"char": "char_location", "page": "page_location"}
        kind = units.get(unit, "content_block_location")
    _, start, end = LOCATIONS[kind]
    out = {"type": kind, "cited_text": cite.quote or "", start: first, end: last}
    if cite.kind == "passage":
        out |= {"source": cite.url if w.same else cite.url or "", "title": cite.title}
        out["search_result_index"] = cite.document
    else:
        out |= {"document_index": cite.document, "document_title": cite.title}
    return d.emit(out, cite, w.log)


def read_cache(d: AnthropicMessages, doc: dict[str, Json], at: str) -> Cache | None:
    mark = doc.get("cache_control")
    if mark is None:
        return None
    where = f"{at}/cache_control"
    mark = as_dict(mark, where)
    taken = ("type", "ttl") if mark.get("type") == "ephemeral" else ("ttl",)
    return Cache(maybe_str(mark, "ttl", where), at=where, extras=d.keep(mark, taken))


def write_cache(d: AnthropicMessages, cache: Cache, w: Writing) -> Json:
    out: dict[str, Json] = {"type": "ephemeral"}
    if cache.ttl is not None:
        out["ttl"] = cache.ttl
    return d.emit(out, cache, w.log)


def read_thinking(d: AnthropicMessages, doc: dict[str, Json], at: str) -> Block:
    signature = maybe_str(doc, "signature", at)
    text = need_str(doc, "thinking", at)
    return Reasoning(
        (text,) if text or not signature else (),  # reasoning, and not shown: only signed
        signature=Signature(signature, d.issuer) if signature else None,
        at=at,
        extras=d.keep(doc, THINKING_KEYS),
    )


def read_redacted(d: AnthropicMessages, doc: dict[str, Json], at: str) -> Block:
    signature = Signature(need_str(doc, "data", at), d.issuer, "encrypted")
    return Reasoning(signature=signature, at=at, extras=d.keep(doc, REDACTED_KEYS))


def write_reasoning(d: AnthropicMessages, block: Reasoning, w: Writing) -> Json | None:
    signature = block.signature
    if signature is not None and signature.kind == "encrypted":
        out = {"type": "redacted_thinking", "data": signature.data}
        return d.emit(out, block, w.log)
    if signature is not None:
        text = joined(block.content)
        out = {"type": "thinking", "thinking": text, "signature": signature.data}
        return d.emit(out, block, w.log)
    if not (w.same if block.extras is None else d.is_same(block.extras.dialect)):
        why = f"{d.name} requires a reasoning signature; written as ''"
        w.log.invented("reasoning.signature", block.at, why)
    out = {"type": "thinking", "thinking": joined(block.content), "signature": ""}
    return d.emit(out, block, w.log)


def read_call(d: AnthropicMessages, doc: dict[str, Json], at: str, custom: frozenset[str]) -> Block:
    name = need_str(doc, "name", at)
    arguments = need_dict(doc, "input", at)
    extras = None
    cache = None
    call_id = maybe_str(doc, "id", at)  # replies that were written by hand may have none
    if call_id is None or not PLAIN_CALL(doc):
        cache = read_cache(d, doc, at)
        direct = doc.get("caller") == {"type": "direct"}  # the default
        extras = d.keep(doc, (*CALL_KEYS, "caller") if direct else CALL_KEYS)
    if name in custom and arguments.keys() == {"input"} and isinstance(arguments["input"], str):
        return ToolCall(
            call_id, name, arguments["input"], "custom", cache=cache, at=at, extras=extras
        )
    return ToolCall(call_id, name, compact(arguments), cache=cache, at=at, extras=extras)


def write_call(d: AnthropicMessages, call: ToolCall, w: Writing) -> Json:
    if call.kind == "custom":
        arguments: dict[str, Json] = {"input": call.arguments}
    else:
        arguments = json_of(call, w.log)
    name = call.name
    if call.id is None and w.same:
        return finish(
            d, {"type": "tool_use", "name": name, "input": arguments}, call, call.cache, w
        )
    call_id = call.id
    if call_id is None or not w.calls(call_id, call.at):
        call_id = w.call_once(call)
    out: dict[str, Json] = {
        "type": "tool_use",
        "id": call_id,
        "name": name if name in w.names.staying else w.tool_name(name, call.at),
        "input": arguments,
    }
    if call.extras is None and call.cache is None:
        return out
    return finish(d, out, call, call.cache, w)


def read_result(d: AnthropicMessages, doc: dict[str, Json], at: str) -> Block:
    content = doc.get("content")
    parts: tuple[Block, ...] = ()
    if content.__class__ is str:
        parts = (Text(content, at=f"{at}/content"),)
    elif content.__class__ is list:
        parts = tuple(read_blocks(d, content, f"{at}/content"))
    elif content is not None:
        expected("a string or a list", content, f"{at}/content")
    call_id = need_str(doc, "tool_use_id", at)
    if content is not None and PLAIN_RESULT(doc):
        return ToolResult(call_id, parts, at=at)
    return ToolResult(
        call_id,
        parts,
        maybe_bool(doc, "is_error", at),
        cache=read_cache(d, doc, at),
        at=at,
        extras=d.keep(doc, RESULT_KEYS),
    )


def write_result(d: AnthropicMessages, result: ToolResult, w: Writing) -> Json:
    content, extras, call_id = result.content, result.extras, result.call_id
    if call_id is None or call_id not in w.ids.staying:
        call_id = w.result_id(result)
    if w.again:
        call_id = w.once(call_id, result)
    else:
        w.results += 1
    if (
        len(content) == 1
        and (extras is None or d.is_mute(extras))
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
    if len(content) == 1 and is_plain_text(first := content[0], same=False):
        out["content"] = first.text
    elif content and (parts := write_blocks(d, content, w)):
        out["content"] = parts
    if result.is_error is not None:
        out["is_error"] = result.is_error
    if extras is None and result.cache is None:
        return out
    return finish(d, out, result, result.cache, w)


def read_image(d: AnthropicMessages, doc: dict[str, Json], at: str) -> Block:
    source, known = read_source(d, doc, at)
    if source is None:
        return Raw(d.name, doc, at=at)
    return Media(
        "image",
        source,
        cache=read_cache(d, doc, at),
        at=at,
        extras=d.keep(doc, IMAGE_KEYS, partly={"source": known}),
    )


def read_document(d: AnthropicMessages, doc: dict[str, Json], at: str) -> Block:
    source, known = read_source(d, doc, at)
    if source is None:
        return Raw(d.name, doc, at=at)
    return Media(
        "document",
        source,
        title=maybe_str(doc, "title", at),
        context=maybe_str(doc, "context", at),
        citable=read_citable(doc, at),
        cache=read_cache(d, doc, at),
        at=at,
        extras=d.keep(doc, DOCUMENT_KEYS, partly={"source": known, "citations": CITABLE}),
    )


def write_media(d: AnthropicMessages, block: Media, w: Writing) -> Json:
    out: dict[str, Json] = {"type": block.kind, "source": write_source(d, block, w)}
    if block.kind == "document":
        if block.title is not None:
            out["title"] = block.title
        if block.context is not None:
            out["context"] = block.context
        write_citable(out, block.citable)
    return finish(d, out, block, block.cache, w)


def read_source(
    d: AnthropicMessages, doc: dict[str, Json], at: str
) -> tuple[Source | None, frozenset[str]]:
    """Where a medium is, and the keys that were taken.

    None for a kind of source that is not known; the block is kept raw.
    """
    source = need_dict(doc, "source", at)
    where = f"{at}/source"
    kind = source.get("type")
    media_type = maybe_str(source, "media_type", where)
    match kind:
        case "base64":
            found = Source("base64", need_str(source, "data", where), media_type)
        case "url":
            found = Source("url", need_str(source, "url", where))
        case "file":
            found = Source("file", need_str(source, "file_id", where), issuer=d.issuer)
        case "text":
            # "source.text.media_type: Input should be 'text/plain'"
            found = Source("text", need_str(source, "data", where), media_type or "text/plain")
        case "content":
            content = source.get("content")
            if content.__class__ is str:
                blocks: list[Block] = [Text(content, at=f"{where}/content")]
            else:
                docs = need_list(source, "content", where)
                blocks = read_blocks(d, docs, f"{where}/content")
            found = Source("blocks", blocks=tuple(blocks))
        case _:
            return None, NOBODY
    return found, SOURCE_KEYS[kind]


def write_source(d: AnthropicMessages, block: Media, w: Writing) -> Json:
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
            out = {"type": "content", "content": write_blocks(d, source.blocks, w)}
        case _:
            assert_never(source.kind)
    return out


def finish(
    d: AnthropicMessages, out: dict[str, Json], node: Node, cache: Cache | None, w: Writing
) -> dict[str, Json]:
    """Cache mark and extras, which nearly every block can have."""
    if cache is not None:
        out["cache_control"] = write_cache(d, cache, w)
        w.marks.append((out, cache))
    return d.emit(out, node, w.log)


def read_passage(d: AnthropicMessages, doc: dict[str, Json], at: str) -> Block:
    content = read_blocks(d, need_list(doc, "content", at), f"{at}/content")
    return Passage(
        need_str(doc, "source", at),
        need_str(doc, "title", at),
        tuple(content),
        read_citable(doc, at),
        read_cache(d, doc, at),
        at=at,
        extras=d.keep(doc, PASSAGE_KEYS, partly={"citations": CITABLE}),
    )


READERS: dict[str, Callable[[Any, dict[str, Json], str], Block]] = {
    "text": read_text,
    "thinking": read_thinking,
    "redacted_thinking": read_redacted,
    "image": read_image,
    "document": read_document,
    "search_result": read_passage,
}
