"""Reading the content blocks and messages of the Anthropic Messages API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ...core.reading import (
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
    only,
    pointers,
    tokens,
)
from ...core.turns import mark_custom_results, split_results
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
    Passage,
    Raw,
    Reasoning,
    Role,
    Signature,
    Source,
    Text,
    Tool,
    ToolCall,
    ToolResult,
)

NAME = "anthropic-messages"

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

CITABLE = frozenset({"enabled"})
SOURCE_KEYS = {
    "base64": frozenset({"type", "data", "media_type"}),
    "url": frozenset({"type", "url"}),
    "file": frozenset({"type", "file_id"}),
    "text": frozenset({"type", "data", "media_type"}),
    "content": frozenset({"type", "content"}),
}

# The usual shapes
PLAIN_MESSAGE = only("role", "content")
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


class ReadBlocks(Dialect):
    """What stands inside a message, into the tree."""

    def read_history(self, docs: list[Json], at: str, custom: frozenset[str]) -> list[Message]:
        """The messages in normal form: each tool result a message of its own."""
        out: list[Message] = []
        places, contents = pointers(at, docs, "/content")
        for index, doc in enumerate(docs):  # not zip, which takes long to begin
            where = places[index]
            if doc.__class__ is dict and PLAIN_MESSAGE(doc):
                role, content = doc.get("role"), doc.get("content")
                if role == "user" or role == "assistant":  # the usual shapes
                    if content.__class__ is list:
                        if role == "user" and not (out and out[-1].role == "tool"):
                            results = self.read_results(content, contents[index])
                            if results:
                                out += results
                                continue
                        blocks = self.read_blocks(content, contents[index], custom)
                        if role == "assistant" and len(blocks) > 1:
                            out.append(Message("assistant", tuple(blocks), at=where))
                        else:
                            self.add_turn(role, blocks, where, None, out)
                        continue
                    if content.__class__ is str:
                        text = Text(content, at=contents[index])
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
        extras = None if PLAIN_MESSAGE(doc) else self.keep(doc, ("role", "content"))
        where = f"{at}/content"
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
            out.append(Message(role, tuple(blocks), at=at, extras=extras))
        elif results == len(blocks) and extras is None:  # the usual turn of results
            for block in blocks:
                out.append(Message("tool", (block,), at=block.at))
        else:
            split_results(blocks, at, extras, out)

    def read_results(self, docs: list[Json], at: str) -> list[Message] | None:
        """A turn of nothing but usual results, as most are: each a message of its own; else None.

        This is what read_result and add_turn make of each where there is nothing to keep.
        """
        out: list[Message] = []
        token = tokens(docs)
        for index, doc in enumerate(docs):
            try:  # what has keys is an object: of JSON, there is nothing else
                kind, call_id, content = doc["type"], doc["tool_use_id"], doc["content"]
            except (KeyError, TypeError):
                return None
            if kind != "tool_result" or call_id.__class__ is not str or not PLAIN_RESULT(doc):
                return None
            where = at + token[index]
            if content.__class__ is str:
                text = Text(content, at=where + "/content")
            elif (words := only_text(content)) is not None:
                text = Text(words, at=where + "/content/0")
            else:
                return None
            result = ToolResult(call_id, (text,), at=where)
            out.append(Message("tool", (result,), at=where))
        return out

    def read_blocks(
        self, docs: list[Json], at: str, custom: frozenset[str] = NOBODY
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
                out.append(self.read_call(doc, where, custom))
            elif kind == "tool_result":
                out.append(self.read_result(doc, where))
            elif kind == "text" and PLAIN_TEXT(doc) and doc.get("text").__class__ is str:
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
        if kind in TOLD:
            key, code, words = TOLD[kind]
            said = doc.get(key)
            text = words.format(said) if isinstance(said, str) and said else None
            extras = self.keep(doc, ("type", key))
            return Raw(NAME, doc, text, code=code, at=at, extras=extras)
        if kind == "tool_addition":
            return self.read_addition(doc, at)
        return Raw(NAME, doc, at=at)  # new block types arrive every month

    def read_addition(self, doc: dict[str, Json], at: str) -> Block:
        """A tool that is added in the conversation: one of the request's, or a new one."""
        tool = doc.get("tool")
        if tool.__class__ is not dict or tool.get("definition").__class__ is not dict:
            return Raw(NAME, doc, at=at)
        added = self.read_tool(tool["definition"], f"{at}/tool/definition")
        extras = self.keep(doc, ("type",), partly={"tool": ("type", "definition")})
        return Raw(NAME, doc, tools=(added,), at=at, extras=extras)

    def read_tool(self, doc: dict[str, Json], at: str) -> Tool:
        raise NotImplementedError

    def read_text(self, doc: dict[str, Json], at: str) -> Block:
        citations = doc.get("citations")
        cited: tuple[Citation, ...] = ()
        if citations:
            if citations.__class__ is not list:
                expected("a list", citations, f"{at}/citations")
            cited = tuple(
                self.read_citation(as_dict(item, where), where)
                for index, item in enumerate(citations)
                if (where := f"{at}/citations/{index}")
            )
        return Text(
            need_str(doc, "text", at),
            cited,
            self.read_cache(doc, at),
            at=at,
            extras=self.keep(doc, TEXT_KEYS),
        )

    def read_citation(self, doc: dict[str, Json], at: str) -> Citation:
        kind = need_str(doc, "type", at)
        quote = maybe_str(doc, "cited_text", at) or None
        if kind == "web_search_result_location":
            index = maybe_str(doc, "encrypted_index", at)
            return Citation(
                "url",
                url=maybe_str(doc, "url", at),
                title=maybe_str(doc, "title", at),
                quote=quote,
                signature=None if index is None else Signature(index, self.issuer, "encrypted"),
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
        taken = ("type", "ttl") if mark.get("type") == "ephemeral" else ("ttl",)
        return Cache(maybe_str(mark, "ttl", where), at=where, extras=self.keep(mark, taken))

    def read_thinking(self, doc: dict[str, Json], at: str) -> Block:
        signature = maybe_str(doc, "signature", at)
        text = need_str(doc, "thinking", at)
        return Reasoning(
            (text,) if text or not signature else (),  # reasoning, and not shown: only signed
            signature=Signature(signature, self.issuer) if signature else None,
            at=at,
            extras=self.keep(doc, THINKING_KEYS),
        )

    def read_redacted(self, doc: dict[str, Json], at: str) -> Block:
        signature = Signature(need_str(doc, "data", at), self.issuer, "encrypted")
        return Reasoning(signature=signature, at=at, extras=self.keep(doc, REDACTED_KEYS))

    def read_call(self, doc: dict[str, Json], at: str, custom: frozenset[str]) -> Block:
        name = need_str(doc, "name", at)
        arguments = need_dict(doc, "input", at)
        extras = None
        cache = None
        call_id = maybe_str(doc, "id", at)  # answers that were written by hand may have none
        if call_id is None or not PLAIN_CALL(doc):
            cache = self.read_cache(doc, at)
            direct = doc.get("caller") == {"type": "direct"}  # the default
            extras = self.keep(doc, (*CALL_KEYS, "caller") if direct else CALL_KEYS)
        if name in custom and arguments.keys() == {"input"} and isinstance(arguments["input"], str):
            return ToolCall(
                call_id, name, arguments["input"], "custom", cache=cache, at=at, extras=extras
            )
        return ToolCall(call_id, name, compact(arguments), cache=cache, at=at, extras=extras)

    def read_result(self, doc: dict[str, Json], at: str) -> Block:
        content = doc.get("content")
        parts: tuple[Block, ...] = ()
        if content.__class__ is str:
            parts = (Text(content, at=f"{at}/content"),)
        elif content.__class__ is list:
            parts = tuple(self.read_blocks(content, f"{at}/content"))
        elif content is not None:
            expected("a string or a list", content, f"{at}/content")
        call_id = need_str(doc, "tool_use_id", at)
        if content is not None and PLAIN_RESULT(doc):
            return ToolResult(call_id, parts, at=at)
        return ToolResult(
            call_id,
            parts,
            maybe_bool(doc, "is_error", at),
            cache=self.read_cache(doc, at),
            at=at,
            extras=self.keep(doc, RESULT_KEYS),
        )

    def read_image(self, doc: dict[str, Json], at: str) -> Block:
        source, known = self.read_source(doc, at)
        if source is None:
            return Raw(NAME, doc, at=at)
        return Media(
            "image",
            source,
            cache=self.read_cache(doc, at),
            at=at,
            extras=self.keep(doc, IMAGE_KEYS, partly={"source": known}),
        )

    def read_document(self, doc: dict[str, Json], at: str) -> Block:
        source, known = self.read_source(doc, at)
        if source is None:
            return Raw(NAME, doc, at=at)
        return Media(
            "document",
            source,
            title=maybe_str(doc, "title", at),
            context=maybe_str(doc, "context", at),
            citable=self.read_citable(doc, at),
            cache=self.read_cache(doc, at),
            at=at,
            extras=self.keep(doc, DOCUMENT_KEYS, partly={"source": known, "citations": CITABLE}),
        )

    def read_citable(self, doc: dict[str, Json], at: str) -> bool | None:
        """``citations: {"enabled": true}`` of a document."""
        citations = maybe_dict(doc, "citations", at)
        return None if citations is None else maybe_bool(citations, "enabled", f"{at}/citations")

    def read_source(self, doc: dict[str, Json], at: str) -> tuple[Source | None, frozenset[str]]:
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
                found = Source("file", need_str(source, "file_id", where), issuer=self.issuer)
            case "text":
                # "source.text.media_type: Input should be 'text/plain'"
                found = Source("text", need_str(source, "data", where), media_type or "text/plain")
            case "content":
                content = source.get("content")
                if content.__class__ is str:
                    blocks: list[Block] = [Text(content, at=f"{where}/content")]
                else:
                    docs = need_list(source, "content", where)
                    blocks = self.read_blocks(docs, f"{where}/content")
                found = Source("blocks", blocks=tuple(blocks))
            case _:
                return None, NOBODY
        return found, SOURCE_KEYS[kind]

    def read_passage(self, doc: dict[str, Json], at: str) -> Block:
        content = self.read_blocks(need_list(doc, "content", at), f"{at}/content")
        return Passage(
            need_str(doc, "source", at),
            need_str(doc, "title", at),
            tuple(content),
            self.read_citable(doc, at),
            self.read_cache(doc, at),
            at=at,
            extras=self.keep(doc, PASSAGE_KEYS, partly={"citations": CITABLE}),
        )

    READERS: ClassVar[dict[str, Callable[[Any, dict[str, Json], str], Block]]] = {
        "text": read_text,
        "thinking": read_thinking,
        "redacted_thinking": read_redacted,
        "image": read_image,
        "document": read_document,
        "search_result": read_passage,
    }


def only_text(content: Json) -> str | None:
    """The words of a list that holds one text and nothing else."""
    if content.__class__ is not list or len(content) != 1:
        return None
    part = content[0]
    if part.__class__ is dict and PLAIN_TEXT(part) and part.get("type") == "text":
        words = part.get("text")
        return words if words.__class__ is str else None
    return None
