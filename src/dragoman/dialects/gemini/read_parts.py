"""Reading the parts of the Gemini API."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from msgspec.structs import replace

from ...core.media import kind_of
from ...core.reading import (
    as_dict,
    compact,
    encode,
    expected,
    maybe_dict,
    maybe_list,
    maybe_str,
    need_str,
    only,
    sole,
    tokens,
)
from ...dialect import NOTHING, Dialect
from ...model import (
    Block,
    Extras,
    Hosted,
    Json,
    Media,
    Message,
    Raw,
    Reasoning,
    Signature,
    Source,
    Text,
    ToolCall,
    ToolResult,
)
from .spelling import SNAKE, both, pick_str

NOBODY: frozenset[str] = frozenset()
Called = dict[str, str]
"""The names of the calls so far, by id."""

TEXT_KEYS = frozenset({"text"})
SIGNATURE = both("thoughtSignature")
THOUGHT_KEYS = both("text", "thought") | SIGNATURE
CALL_KEYS = ("id", "name", "args")
RESULT_KEYS = frozenset({"id", "name", "response", "parts"})
DATA_KEYS = both("mimeType", "data", "displayName")
FILE_KEYS = both("mimeType", "fileUri", "displayName")
# https://ai.google.dev/api/caching#ToolType
SERVICES = {
    "GOOGLE_SEARCH_WEB": "web_search",
    "GOOGLE_SEARCH_IMAGE": "image_search",
    "URL_CONTEXT": "web_fetch",
    "GOOGLE_MAPS": "maps",
    "FILE_SEARCH": "file_search",
}
# Addresses that only Google can open: the Files API's, and those of its cloud storage.
OWN_FILES = ("https://generativelanguage.googleapis.com/", "gs://")
# The usual shapes
PLAIN_PART = only("text")
PLAIN_THOUGHT = only("text", "thought")
PLAIN_CALLING = only("functionCall")
PLAIN_CALL = only("id", "name", "args")
PLAIN_ANSWERING = only("functionResponse")
PLAIN_RESULT = only("id", "name", "response")
PLAIN_ANSWER = only("output")
ANSWER = "/functionResponse/response/output"
FILMS = ("https://youtu.be/", "https://www.youtube.com/", "https://youtube.com/")


class ReadParts(Dialect):
    """What stands inside a content, into the tree."""

    issuer = "google"

    def read_parts(
        self, docs: list[Json], at: str, called: Called, custom: frozenset[str] = NOBODY
    ) -> list[Block]:
        out: list[Block] = []
        token = tokens(docs)
        for index, doc in enumerate(docs):
            where = at + token[index]
            if doc.__class__ is not dict:
                expected("an object", doc, where)
            # The usual shapes, most parts by far: nothing in them is null, missing or unknown.
            if PLAIN_PART(doc):
                if (text := doc.get("text")).__class__ is str:
                    out.append(Text(text, at=where))
                    continue
            elif PLAIN_CALLING(doc) and (call := doc.get("functionCall")).__class__ is dict:
                call_id, name, given = call.get("id"), call.get("name"), call.get("args")
                if name.__class__ is str and given.__class__ is dict and PLAIN_CALL(call):
                    if call_id.__class__ is str or "id" not in call:
                        if name not in custom:
                            if call_id is not None:
                                called[call_id] = name
                            out.append(ToolCall(call_id, name, encode(given).decode(), at=where))
                            continue
            elif PLAIN_THOUGHT(doc) and doc.get("thought") is True:
                if (text := doc.get("text")).__class__ is str:
                    out.append(Reasoning((text,), at=where))
                    continue
            out.append(self.read_part(doc, where, called, custom))
        return out

    def read_results(self, docs: list[Json], at: str, called: Called) -> list[Message] | None:
        """A turn of nothing but usual results, as most are: each a message of its own; else None.

        This is what read_result makes of each where it finds nothing to keep.
        """
        out: list[Message] = []
        token = tokens(docs)
        for index, doc in enumerate(docs):
            try:  # what has keys is an object: of JSON, there is nothing else
                result = doc["functionResponse"]
                call_id, name, answer = result.get("id"), result["name"], result["response"]
                said = answer["output"]
            except (KeyError, TypeError, AttributeError):
                return None
            if name.__class__ is not str or said.__class__ is not str:
                return None
            if call_id.__class__ is not str and "id" in result:
                return None
            if not (PLAIN_ANSWERING(doc) and PLAIN_RESULT(result) and PLAIN_ANSWER(answer)):
                return None
            if call_id is not None and called.get(call_id) == name:
                name = None
            elif called or call_id is not None:
                return None  # not as its call is: see pairing
            where = at + token[index]
            text = Text(said, at=where + ANSWER)
            result = ToolResult(call_id, (text,), None, name, at=where)
            out.append(Message("tool", (result,), at=where))
        return out

    def read_part(
        self, doc: dict[str, Json], at: str, called: Called, custom: frozenset[str]
    ) -> Block:
        kinds = [key for key, value in doc.items() if key in KINDS and value is not None]
        if len(kinds) != 1:
            return Raw(self.name, doc, at=at)  # new kinds of parts arrive every month
        kind = KINDS[kinds[0]]
        if kind == "functionCall":
            return self.read_call(doc, at, called, custom)
        if kind == "functionResponse":
            return self.read_result(doc, at, called)
        return self.READERS[kind](self, doc, at)

    def read_text(self, doc: dict[str, Json], at: str) -> Block:
        text, reasoning = need_str(doc, "text", at), doc.get("thought")
        if reasoning is not True:
            taken = THOUGHT_FALSE if reasoning is False else TEXT_KEYS
            return Text(text, at=at, extras=self.keep_part(doc, taken, at))
        signature = pick_str(doc, "thoughtSignature", at)
        return Reasoning(
            (text,) if text or not signature else (),
            signature=Signature(signature, self.issuer) if signature else None,
            at=at,
            extras=self.keep(doc, THOUGHT_KEYS),
        )

    # -- calls and results ------------------------------------------------------------------

    def read_call(
        self, doc: dict[str, Json], at: str, called: Called, custom: frozenset[str]
    ) -> Block:
        key = own_key(doc, "functionCall")
        where = f"{at}/{key}"
        call = as_dict(doc[key], where)
        call_id, name = maybe_str(call, "id", where), maybe_str(call, "name", where)
        given = maybe_dict(call, "args", where)
        if name is None:  # a piece of a call, as Vertex streams its arguments
            return Raw(self.name, doc, at=at)
        if call_id is not None:
            called[call_id] = name
        kind, arguments = "function", "" if given is None else compact(given)
        if name in custom and given is not None and given.keys() == {"input"}:
            if given["input"].__class__ is str:
                kind, arguments = "custom", given["input"]
        extras = None
        if not sole(doc) or call.keys() - CALL_SET:
            extras = self.keep_part(doc, NOBODY, at, partly={key: CALL_KEYS})
        return ToolCall(call_id, name, arguments, kind, at=at, extras=extras)  # type: ignore[arg-type]

    def keep_part(
        self,
        doc: dict[str, Json],
        taken: frozenset[str],
        at: str,
        *,
        partly: Mapping[str, Iterable[str]] = NOTHING,
    ) -> Extras | None:
        """What a part says beyond the tree, and how Google signed it."""
        signature = pick_str(doc, "thoughtSignature", at)
        extras = self.keep(doc, taken | SIGNATURE, partly=partly)
        if not signature:
            return extras
        return replace(extras or Extras(self.name), signature=Signature(signature, self.issuer))

    def read_result(self, doc: dict[str, Json], at: str, called: Called) -> ToolResult:
        """The answer of a tool. Its name says nothing new where the call is known by its id."""
        key = own_key(doc, "functionResponse")
        where = f"{at}/{key}"
        result = as_dict(doc[key], where)
        call_id, name = maybe_str(result, "id", where), maybe_str(result, "name", where)
        if call_id is not None and called.get(call_id) == name:
            name = None
        content, failed = self.read_answer(result, where)
        content += self.read_parts(maybe_list(result, "parts", where) or [], f"{where}/parts", {})
        extras = None
        if not sole(doc) or result.keys() - RESULT_KEYS:
            extras = self.keep(doc, (), partly={key: RESULT_KEYS})
        return ToolResult(call_id, tuple(content), failed, name, at=at, extras=extras)

    def read_answer(self, result: dict[str, Json], at: str) -> tuple[list[Block], bool | None]:
        """ "Use "output" key to specify function output and "error" key to specify error details
        (if any). If "output" and "error" keys are not specified, then whole "response" is treated
        as function output."
        """
        response = maybe_dict(result, "response", at)
        where = f"{at}/response"
        if not response:
            return [], None
        if sole(response):
            for key, failed in (("output", None), ("error", True)):
                value, place = response.get(key), f"{where}/{key}"
                if value.__class__ is str:
                    return [Text(value, at=place)], failed
                if value or (value is not None and not failed):  # an error that is false is none
                    return [Text(compact(value), at=place)], failed
        failed = True if response.get("error") and response.get("output") is None else None
        return [Text(compact(response), at=where)], failed

    # -- media ------------------------------------------------------------------------------

    def read_data(self, doc: dict[str, Json], at: str) -> Block:
        key = own_key(doc, "inlineData")
        where = f"{at}/{key}"
        blob = as_dict(doc[key], where)
        media_type = pick_str(blob, "mimeType", where)
        data = need_str(blob, "data", where)
        source = Source("base64", data, media_type)
        if media_type == "text/plain" and (text := plain_text(data)) is not None:
            source = Source("text", text, media_type)
        return Media(
            kind_of(media_type),
            source,
            filename=pick_str(blob, "displayName", where),
            at=at,
            extras=self.keep_part(doc, NOBODY, at, partly={key: DATA_KEYS}),
        )

    def read_file(self, doc: dict[str, Json], at: str) -> Block:
        key = own_key(doc, "fileData")
        where = f"{at}/{key}"
        file = as_dict(doc[key], where)
        media_type = pick_str(file, "mimeType", where)
        uri = pick_str(file, "fileUri", where)
        if uri is None:
            return Raw(self.name, doc, at=at)
        kind = "video" if media_type is None and uri.startswith(FILMS) else kind_of(media_type)
        source = Source("url", uri, media_type)
        if uri.startswith(OWN_FILES):
            source = Source("file", uri, media_type, self.issuer)
        return Media(
            kind,
            source,
            filename=pick_str(file, "displayName", where),
            at=at,
            extras=self.keep_part(doc, NOBODY, at, partly={key: FILE_KEYS}),
        )

    # -- what the provider does -------------------------------------------------------------

    def read_code(self, doc: dict[str, Json], at: str) -> Block:
        return self.read_hosted(doc, "executableCode", "code_execution", "call", at)

    def read_code_result(self, doc: dict[str, Json], at: str) -> Block:
        return self.read_hosted(doc, "codeExecutionResult", "code_execution", "result", at)

    def read_tool_call(self, doc: dict[str, Json], at: str) -> Block:
        return self.read_hosted(doc, "toolCall", None, "call", at)

    def read_tool_response(self, doc: dict[str, Json], at: str) -> Block:
        return self.read_hosted(doc, "toolResponse", None, "result", at)

    def read_hosted(
        self, doc: dict[str, Json], kind: str, service: str | None, phase: Any, at: str
    ) -> Block:
        key = own_key(doc, kind)
        where = f"{at}/{key}"
        work = as_dict(doc[key], where)
        if service is None:
            word = pick_str(work, "toolType", where) or ""
            service = SERVICES.get(word, word.lower())
        return Hosted(self.name, service, doc, phase, id=maybe_str(work, "id", where), at=at)

    READERS: ClassVar[dict[str, Callable[[Any, dict[str, Json], str], Block]]] = {
        "text": read_text,
        "inlineData": read_data,
        "fileData": read_file,
        "executableCode": read_code,
        "codeExecutionResult": read_code_result,
        "toolCall": read_tool_call,
        "toolResponse": read_tool_response,
    }


CALL_SET = frozenset(CALL_KEYS)
THOUGHT_FALSE = TEXT_KEYS | {"thought"}
# What a part is, by the key it has.
KINDS = {
    key: kind
    for kind in (*ReadParts.READERS, "functionCall", "functionResponse")
    for key in (kind, SNAKE.get(kind, kind))
}


def own_key(doc: dict[str, Json], key: str) -> str:
    """The key of a part that is not null, in the spelling that it has."""
    return key if doc.get(key) is not None else SNAKE[key]


def plain_text(data: str) -> str | None:
    """The text that base64 data hold, if they would be written the same again."""
    try:
        text = base64.b64decode(data, validate=True).decode()
    except ValueError:  # not base64, or not UTF-8
        return None
    return text if base64.b64encode(text.encode()).decode() == data else None
