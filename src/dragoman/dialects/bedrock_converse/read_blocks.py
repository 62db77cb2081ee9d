"""Reading the content blocks and messages of Bedrock's Converse API.

A block is an object with one key, which tells what it is. A cache mark is a block of its own here,
after the last block of the prefix that it closes; in the tree it is on that block.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any, ClassVar

from msgspec.structs import replace

from ...core.reading import (
    as_dict,
    compact,
    maybe_bool,
    maybe_dict,
    maybe_list,
    maybe_str,
    need_dict,
    need_list,
    need_str,
    only,
    sole,
)
from ...core.turns import mark_custom_results, split_results
from ...dialect import NOTHING, Dialect
from ...errors import Malformed
from ...model import (
    Block,
    Cache,
    Citation,
    Extras,
    Hosted,
    Json,
    Media,
    MediaKind,
    Message,
    Passage,
    Raw,
    Reasoning,
    Role,
    Signature,
    Source,
    Text,
    ToolCall,
    ToolResult,
)
from .formats import FORMATS, type_of

NAME = "bedrock-converse"

JOINED = Extras(NAME, spelling={"joined": True})
NOBODY: frozenset[str] = frozenset()
ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
CALL_KEYS = frozenset({"toolUseId", "name", "input"})
RESULT_KEYS = frozenset({"toolUseId", "content"})
MEDIA_KEYS = frozenset({"format", "source"})
DOCUMENT_KEYS = MEDIA_KEYS | {"name", "context", "citations"}
THOUGHT_KEYS = frozenset({"text", "signature"})
PASSAGE_KEYS = frozenset({"source", "title", "content", "citations"})
PLAIN_MESSAGE = only("role", "content")
PLAIN_TEXT = only("text")
CITABLE_REST: dict[str, Json] = {"citations": {"enabled": ()}}
SOURCE_REST: dict[str, Json] = {"source": {"s3Location": {"uri": ()}}}
STATUS = {"success": False, "error": True}
# Where in a source -> what is counted, and the key that tells the source.
LOCATIONS: dict[str, tuple[str, str]] = {
    "documentChar": ("char", "documentIndex"),
    "documentPage": ("page", "documentIndex"),
    "documentChunk": ("block", "documentIndex"),
    "searchResultLocation": ("block", "searchResultIndex"),
}


class ReadBlocks(Dialect):
    """What stands inside a message, into the tree."""

    def read_history(self, docs: list[Json], at: str, custom: frozenset[str]) -> list[Message]:
        """The messages in normal form: each tool result a message of its own."""
        out: list[Message] = []
        for index, doc in enumerate(docs):
            where = f"{at}/{index}"
            self.read_message(as_dict(doc, where), where, out, custom)
        return mark_custom_results(out) if custom else out

    def read_message(
        self, doc: dict[str, Json], at: str, out: list[Message], custom: frozenset[str]
    ) -> None:
        said = need_str(doc, "role", at)
        role = ROLES.get(said)
        if role is None:
            raise Malformed(f"unknown role {said!r}; there are: {', '.join(ROLES)}", at)
        extras = None if PLAIN_MESSAGE(doc) else self.keep(doc, ("role", "content"))
        if role == "system" and not any(m.role != "system" for m in out):
            extras = self.respell(extras, place="message")
        docs = need_list(doc, "content", at)
        blocks = self.read_blocks(docs, f"{at}/content", custom, results=role == "user")
        if role == "user" and any(isinstance(block, ToolResult) for block in blocks):
            split_results(blocks, at, extras, out, JOINED)
        else:
            out.append(Message(role, tuple(blocks), at=at, extras=extras))

    def read_blocks(
        self,
        docs: list[Json],
        at: str,
        custom: frozenset[str] = NOBODY,
        results: bool = True,
    ) -> list[Block]:
        """Blocks; ``results``: whether tool results may stand here."""
        out: list[Block] = []
        for index, doc in enumerate(docs):
            where = f"{at}/{index}"
            doc = as_dict(doc, where)
            if "cachePoint" in doc:
                if not out or (marked := self.mark(out[-1], doc, where)) is None:
                    out.append(Raw(NAME, doc, at=where))
                else:
                    out[-1] = marked
            elif "toolUse" in doc:
                out.append(self.read_call(doc, where, custom))
            elif "toolResult" in doc and not results and not is_hosted(doc["toolResult"]):
                out.append(Raw(NAME, doc, at=where))
            else:
                key = next((key for key in doc if key in self.READERS), "")
                read = self.READERS.get(key)
                # New kinds of blocks arrive every few months.
                out.append(Raw(NAME, doc, at=where) if read is None else read(self, doc, where))
        return out

    def mark(self, block: Block, doc: dict[str, Json], at: str) -> Block | None:
        """The block with the cache mark that stands after it; None where it cannot bear it."""
        if not isinstance(block, Text | Media | Passage | ToolCall | ToolResult) or not sole(doc):
            return None
        return replace(block, cache=self.read_cache(doc, at)) if block.cache is None else None

    def read_cache(self, doc: dict[str, Json], at: str) -> Cache:
        point, where = need_dict(doc, "cachePoint", at), f"{at}/cachePoint"
        spelling = None if point.get("type") == "default" else {"type": point.get("type")}
        extras = self.keep(point, ("type", "ttl"), spelling)
        return Cache(maybe_str(point, "ttl", where), at=where, extras=extras)

    def rest(
        self,
        doc: dict[str, Json],
        key: str,
        taken: Set[str],
        spelling: Json = None,
        within: dict[str, Json] = NOTHING,
    ) -> Extras | None:
        """What is left of a block, of the object in it, and of the objects ``within`` that."""
        inner = doc[key]
        if sole(doc) and not (spelling or within) and inner.keys() <= taken:
            if None not in inner.values():
                return None  # as usual
        known = dict.fromkeys(taken, ()) | within if within else taken
        return self.keep(doc, (key,), spelling, partly={key: known})

    # -- texts ------------------------------------------------------------------------------

    def read_text(self, doc: dict[str, Json], at: str) -> Block:
        spelling = None
        if doc.get("type") == "text":  # as others say it; it says nothing more
            spelling = {"type": "text"}
        extras = None if sole(doc) else self.keep(doc, ("text", *(spelling or ())), spelling)
        return Text(need_str(doc, "text", at), at=at, extras=extras)

    def read_json(self, doc: dict[str, Json], at: str) -> Block:
        """A JSON value as a tool's answer: its text."""
        return Text(compact(doc["json"]), at=at, extras=self.keep(doc, ("json",), {"json": True}))

    def read_guard(self, doc: dict[str, Json], at: str) -> Block:
        """Words that a guardrail looks at. The words are carried, and that it looks is not."""
        guard = need_dict(doc, "guardContent", at)
        inner = guard.get("text")
        words = inner.get("text") if isinstance(inner, dict) else None
        if not sole(doc) or not sole(guard) or not isinstance(words, str):
            return Raw(NAME, doc, at=at)
        return Text(words, at=at, extras=Extras(NAME, fields={"guardContent": guard}))

    def read_cited(self, doc: dict[str, Json], at: str) -> Block:
        """Text with its sources: ``{"content": [{"text"}], "citations": [...]}``."""
        inner, where = need_dict(doc, "citationsContent", at), f"{at}/citationsContent"
        texts = texts_of(inner.get("content"))
        if texts is None:
            return Raw(NAME, doc, at=at)
        cited = maybe_list(inner, "citations", where) or []
        citations = tuple(
            self.read_citation(as_dict(item, place), place)
            for index, item in enumerate(cited)
            if (place := f"{where}/citations/{index}")
        )
        spelling = None if len(texts) == 1 and citations else {"cited": inner}
        extras = self.rest(doc, "citationsContent", {"content", "citations"}, spelling)
        return Text("".join(texts), citations, at=at, extras=extras)

    def read_citation(self, doc: dict[str, Json], at: str) -> Citation:
        title = maybe_str(doc, "title", at)
        texts = texts_of(doc.get("sourceContent"))
        quote = None if texts is None else "".join(texts)
        location = maybe_dict(doc, "location", at) or {}
        kind = sole(location) or ""
        place = location.get(kind)
        taken: tuple[str, ...] = ("title", "location")
        if texts is not None:
            taken += ("sourceContent",)
        spelling: dict[str, Json] = {}
        if texts is not None and len(texts) != 1:
            spelling["sourceContent"] = doc["sourceContent"]
        if not isinstance(place, dict):
            return Citation("other", at=at, extras=Extras(NAME, fields=doc))
        if kind == "web" and place.keys() <= {"url", "domain"} and "url" in place:
            spelling |= {key: place[key] for key in place if key == "domain"}  # part of the address
            extras = self.keep(doc, taken, spelling)
            url = maybe_str(place, "url", f"{at}/location/web")
            return Citation("url", url, title, quote, at=at, extras=extras)
        unit, index_key = LOCATIONS.get(kind, ("", ""))
        numbers = [place.get(key) for key in (index_key, "start", "end")]
        if (
            not unit
            or place.keys() != {index_key, "start", "end"}
            or any(number.__class__ is not int for number in numbers)
        ):
            return Citation("other", at=at, extras=Extras(NAME, fields=doc))
        passage = kind == "searchResultLocation"
        return Citation(
            "passage" if passage else "document",
            maybe_str(doc, "source", at) if passage else None,
            title,
            quote,
            document=numbers[0],
            location=(unit, numbers[1], numbers[2]),  # type: ignore[arg-type]
            at=at,
            extras=self.keep(doc, (*taken, "source") if passage else taken, spelling),
        )

    def read_reasoning(self, doc: dict[str, Json], at: str) -> Block:
        inner, where = need_dict(doc, "reasoningContent", at), f"{at}/reasoningContent"
        extras = None if sole(doc) else self.keep(doc, ("reasoningContent",))
        if inner.keys() == {"redactedContent"}:
            signature = Signature(
                need_str(inner, "redactedContent", where), self.issuer, "encrypted"
            )
            return Reasoning(signature=signature, at=at, extras=extras)
        said = inner.get("reasoningText")
        if not sole(inner) or said.__class__ is not dict or not said.keys() <= THOUGHT_KEYS:
            return Raw(NAME, doc, at=at)
        where += "/reasoningText"
        text, data = need_str(said, "text", where), maybe_str(said, "signature", where)
        if "signature" in said and not data:
            extras = self.respell(extras, signature=data)
        return Reasoning(
            (text,) if text or not data else (),  # reasoning, and not shown: only signed
            signature=Signature(data, self.issuer) if data else None,
            at=at,
            extras=extras,
        )

    # -- tools ------------------------------------------------------------------------------

    def read_call(self, doc: dict[str, Json], at: str, custom: frozenset[str]) -> Block:
        call, where = need_dict(doc, "toolUse", at), f"{at}/toolUse"
        name, call_id = need_str(call, "name", where), need_str(call, "toolUseId", where)
        kind = maybe_str(call, "type", where)
        if kind == "server_tool_use":
            return Hosted(NAME, name, doc, "call", id=call_id, at=at)
        spelling: dict[str, Json] = {}
        if kind == "tool_use":  # said in answers, and unknown to requests
            spelling["type"] = kind
        if "input" in call and call["input"].__class__ is not dict:
            return self.read_argued(doc, call_id, name, spelling, at)
        arguments = need_dict(call, "input", where)
        extras = self.rest(doc, "toolUse", CALL_KEYS | spelling.keys(), spelling)
        if name in custom and arguments.keys() == {"input"} and isinstance(arguments["input"], str):
            return ToolCall(call_id, name, arguments["input"], "custom", at=at, extras=extras)
        return ToolCall(call_id, name, compact(arguments), at=at, extras=extras)

    def read_argued(
        self, doc: dict[str, Json], call_id: str, name: str, spelling: dict[str, Json], at: str
    ) -> ToolCall:
        """A call whose arguments are no object: the API takes and gives any JSON value."""
        said = spelling["input"] = doc["toolUse"]["input"]
        extras = self.rest(doc, "toolUse", CALL_KEYS | spelling.keys(), spelling)
        return ToolCall(call_id, name, text_of(said), at=at, extras=extras)

    def read_result(self, doc: dict[str, Json], at: str) -> Block:
        result, where = need_dict(doc, "toolResult", at), f"{at}/toolResult"
        call_id = need_str(result, "toolUseId", where)
        if is_hosted(result):
            service = str(result["type"]).removesuffix("_result")
            return Hosted(NAME, service, doc, "result", id=call_id, at=at)
        content = self.read_blocks(need_list(result, "content", where), f"{where}/content")
        status = STATUS.get(maybe_str(result, "status", where) or "")
        taken = RESULT_KEYS if status is None else RESULT_KEYS | {"status"}
        extras = self.rest(doc, "toolResult", taken)
        return ToolResult(call_id, tuple(content), status, at=at, extras=extras)

    # -- media ------------------------------------------------------------------------------

    def read_image(self, doc: dict[str, Json], at: str) -> Block:
        return self.read_media("image", doc, at)

    def read_video(self, doc: dict[str, Json], at: str) -> Block:
        return self.read_media("video", doc, at)

    def read_audio(self, doc: dict[str, Json], at: str) -> Block:
        return self.read_media("audio", doc, at)

    def read_media(self, kind: MediaKind, doc: dict[str, Json], at: str) -> Block:
        inner, where = need_dict(doc, kind, at), f"{at}/{kind}"
        if "error" in inner and "source" not in inner:
            return Raw(NAME, doc, at=at)  # an image that could not be made
        source, spelling = self.read_source(kind, inner, where)
        if source is None:
            return Raw(NAME, doc, at=at)
        within = SOURCE_REST if source.kind == "file" else NOTHING
        extras = self.rest(doc, kind, MEDIA_KEYS, spelling, within)
        return Media(kind, source, at=at, extras=extras)

    def read_document(self, doc: dict[str, Json], at: str) -> Block:
        inner, where = need_dict(doc, "document", at), f"{at}/document"
        source, spelling = self.read_source("document", inner, where)
        if source is None:
            return Raw(NAME, doc, at=at)
        within = CITABLE_REST if "citations" in inner else NOTHING
        if source.kind == "file":
            within = within | SOURCE_REST
        return Media(
            "document",
            source,
            title=maybe_str(inner, "name", where),
            context=maybe_str(inner, "context", where),
            citable=self.read_citable(inner, where),
            at=at,
            extras=self.rest(doc, "document", DOCUMENT_KEYS, spelling, within),
        )

    def read_citable(self, doc: dict[str, Json], at: str) -> bool | None:
        """``citations: {"enabled": true}``."""
        citations = maybe_dict(doc, "citations", at)
        return None if citations is None else maybe_bool(citations, "enabled", f"{at}/citations")

    def read_source(
        self, kind: MediaKind, doc: dict[str, Json], at: str
    ) -> tuple[Source | None, dict[str, Json]]:
        """Where a medium is, and how that was spelled. None for what is not known."""
        holder, where = need_dict(doc, "source", at), f"{at}/source"
        word = maybe_str(doc, "format", at)
        media_type = None if word is None else type_of(kind, word)
        spelling: dict[str, Json] = {}
        if media_type is not None and FORMATS[kind].get(media_type) != word:
            spelling["format"] = word
        match sole(holder):
            case "bytes":
                return Source("base64", need_str(holder, "bytes", where), media_type), spelling
            case "s3Location":
                place = need_dict(holder, "s3Location", where)
                uri = need_str(place, "uri", f"{where}/s3Location")
                return Source("file", uri, media_type, self.issuer), spelling
            case "text":
                if media_type is None:
                    media_type = "text/plain"
                    spelling["format"] = word
                return Source("text", need_str(holder, "text", where), media_type), spelling
            case "content":
                blocks = self.read_blocks(need_list(holder, "content", where), f"{where}/content")
                if word is not None:
                    spelling["format"] = word
                return Source("blocks", blocks=tuple(blocks)), spelling
        return None, spelling

    def read_passage(self, doc: dict[str, Json], at: str) -> Block:
        inner, where = need_dict(doc, "searchResult", at), f"{at}/searchResult"
        content = self.read_blocks(need_list(inner, "content", where), f"{where}/content")
        return Passage(
            need_str(inner, "source", where),
            need_str(inner, "title", where),
            tuple(content),
            self.read_citable(inner, where),
            at=at,
            extras=self.rest(
                doc,
                "searchResult",
                PASSAGE_KEYS,
                within=CITABLE_REST if "citations" in inner else NOTHING,
            ),
        )

    READERS: ClassVar[dict[str, Callable[[Any, dict[str, Json], str], Block]]] = {
        "text": read_text,
        "json": read_json,
        "toolResult": read_result,
        "reasoningContent": read_reasoning,
        "image": read_image,
        "document": read_document,
        "video": read_video,
        "audio": read_audio,
        "searchResult": read_passage,
        "citationsContent": read_cited,
        "guardContent": read_guard,
    }


def text_of(said: Json) -> str:
    """The text of arguments that are no object."""
    return said if isinstance(said, str) else compact({} if said is None else said)


def is_hosted(result: Json) -> bool:
    """Whether a result is that of a tool which Bedrock itself runs: those have a type."""
    return isinstance(result, dict) and result.get("type") not in (None, "tool_result")


def texts_of(docs: Json) -> list[str] | None:
    """The words of a list that holds texts alone; None for anything else."""
    if docs.__class__ is not list:
        return None
    found = (doc.get("text") for doc in docs if doc.__class__ is dict and PLAIN_TEXT(doc))
    texts = [text for text in found if isinstance(text, str)]
    return texts if len(texts) == len(docs) else None
