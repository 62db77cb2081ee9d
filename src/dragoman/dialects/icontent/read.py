"""Reading the contents of llxprt: who speaks, and the blocks."""

from __future__ import annotations

from msgspec.structs import replace

from ...core.media import kind_of, sniff
from ...core.reading import as_dict, compact, maybe_dict, maybe_str, need_list, need_str, only
from ...core.turns import mark_custom_results
from ...core.writing import split_data_uri
from ...dialect import Dialect
from ...model import (
    Block,
    Extras,
    Json,
    Media,
    Message,
    Raw,
    Reasoning,
    Role,
    Signature,
    Source,
    Text,
    ToolCall,
    ToolResult,
)
from ...tools.llxprt_ids import HISTORY, from_history, to_history
from ...tools.tool_errors import ERROR

PLAIN_CONTENT = only("speaker", "blocks")
PLAIN_TEXT = only("type", "text")
ROLES: dict[str, Role] = {
    "human": "user",
    "ai": "assistant",
    "tool": "tool",
    "system": "system",  # in the design only; the real type has no such speaker
}
# Who signed reasoning. The provider's name is free; these are the ones llxprt comes with.
PROVIDERS = {
    "anthropic": "anthropic",
    "openai": "openai",
    "openai-responses": "openai",
    "openaivercel": "openai",
    "codex": "openai",
    "gemini": "google",
    "google": "google",
}
# The vendors' own hosts: a signature from elsewhere is not theirs, whatever the provider is called.
HOSTS = ("api.anthropic.com", "api.openai.com", "chatgpt.com", "googleapis.com")
FIELDS = {"thinking": "anthropic", "thought": "google"}
FAMILY = "icontent"
"""Whose contents are that are read as a whole: the same in both variants."""
WHOLE = "whole"
"""Marks a message whose only block is the whole content."""
NOBODY = "llxprt"
"""The issuer of a signature of which nobody knows whose it is: no API has that name."""
REDACTED = "[redacted]"
"""What llxprt writes as the reasoning where Anthropic redacted it; the signature is its data."""
RESPONSE_KEYS = frozenset({"type", "callId", "toolName", "result"})
MEDIA_KEYS = frozenset({"type", "mimeType", "data", "encoding", "filename"})
THINKING_KEYS = frozenset({"type", "thought", "signature", "sourceField"})


def call_id_of(written: str) -> str:
    """The id that an id of a history stands for.

    "Tool IDs from history use hist_tool_ prefix", "Vercel SDK expects call_ prefix": so it is also
    where the rest is nothing that ``ids`` would write, such as one with spaces in it.
    """
    found = from_history(written)
    if found == written and written.startswith(HISTORY):
        return f"call_{written[len(HISTORY) :]}"
    return found


class Known:
    """What was read so far: the ids of calls and their names, and whose turn it is."""

    __slots__ = ("custom", "ids", "metadata", "names", "taken")

    def __init__(self, custom: frozenset[str] = frozenset()) -> None:
        self.custom = custom
        self.ids: dict[str, str] = {}  # an id in the history -> the id it stands for
        self.taken: dict[str, str] = {}  # the other way round
        self.names: dict[str, str] = {}
        self.metadata: dict[str, Json] = {}

    def call(self, written: str, name: str) -> str:
        """The id of a call. Two spellings of one id are two ids where two calls bear them."""
        found = self.ids.get(written)
        if found is None:
            found = call_id_of(written)
            while self.taken.setdefault(found, written) != written:
                found = to_history(found)
            self.ids[written] = found
        self.names[found] = name
        return found

    def result(self, written: str) -> str:
        return self.ids.get(written) or call_id_of(written)


class Read(Dialect):
    """The contents of a conversation, into the tree."""

    def read_history(
        self, docs: list[Json], at: str, custom: frozenset[str] = frozenset()
    ) -> list[Message]:
        out: list[Message] = []
        known = Known(custom)
        for index, doc in enumerate(docs):
            where = f"{at}/{index}"
            self.read_content(as_dict(doc, where), where, known, out)
        return mark_custom_results(out) if custom else out

    def read_content(self, doc: dict[str, Json], at: str, known: Known, out: list[Message]) -> None:
        """One content; where it holds results, they become messages of their own."""
        said = need_str(doc, "speaker", at)
        role = ROLES.get(said)
        blocks = need_list(doc, "blocks", at)
        if role is None or (role == "tool" and not has_response(blocks)):
            out.append(self.read_whole(doc, at))
            return
        metadata = known.metadata = maybe_dict(doc, "metadata", at) or {}
        spelling: dict[str, Json] = {}
        taken: tuple[str, ...] = ()
        if metadata.get("role") == "system" and role != "tool":
            role, taken = "system", ("role",)
        if role == "system":
            spelling = {"speaker": said, "role": bool(taken)}
        if role == "tool":
            pieces = self.read_results(blocks, f"{at}/blocks", known)
        else:
            pieces = self.read_pieces(blocks, f"{at}/blocks", role, known)
        for index, (piece, content) in enumerate(pieces):
            if index:
                extras: Extras | None = Extras(self.name, spelling={"joined": True})
            else:
                if piece != role:
                    spelling["speaker"] = said
                extras = None
                if spelling or not PLAIN_CONTENT(doc):
                    partly = {"metadata": taken}
                    extras = self.keep(doc, ("speaker", "blocks"), spelling, partly=partly)
            out.append(Message(piece, content, at=at, extras=extras))

    def read_whole(self, doc: dict[str, Json], at: str) -> Message:
        """A content that only llxprt understands: "RETURN null  // Unknown speaker type".

        It comes back as it is, and any other dialect omits it; so it does not keep a history from
        being converted.
        """
        raw = Raw(FAMILY, doc, code="raw", at=at)
        return Message("user", (raw,), at=at, extras=Extras(self.name, spelling={WHOLE: True}))

    def read_pieces(
        self, docs: list[Json], at: str, role: Role, known: Known
    ) -> list[tuple[Role, tuple[Block, ...]]]:
        """What somebody other than a tool says; results among it are cut out, not dropped."""
        pieces: list[tuple[Role, tuple[Block, ...]]] = []
        run: list[Block] = []
        for index, doc in enumerate(docs):
            where = f"{at}/{index}"
            block = self.read_block(as_dict(doc, where), where, known)
            if isinstance(block, ToolResult):
                if run:
                    pieces.append((role, tuple(run)))
                    run = []
                pieces.append(("tool", (block,)))
            else:
                run.append(block)
        if run or not pieces:
            pieces.append((role, tuple(run)))
        return pieces

    def read_results(
        self, docs: list[Json], at: str, known: Known
    ) -> list[tuple[Role, tuple[Block, ...]]]:
        """What a tool says: images and texts beside a result belong to it."""
        results: list[ToolResult] = []
        before: list[Block] = []
        for index, doc in enumerate(docs):
            where = f"{at}/{index}"
            block = self.read_block(as_dict(doc, where), where, known)
            if isinstance(block, ToolResult):
                if before and not results:
                    block = replace(
                        block,
                        content=(*before, *block.content),
                        extras=self.respell(block.extras, before=len(before)),
                    )
                results.append(block)
            elif results:
                last = results[-1]
                results[-1] = replace(last, content=(*last.content, block))
            else:
                before.append(block)
        return [("tool", (result,)) for result in results]

    # -- blocks -----------------------------------------------------------------------------

    def read_block(self, doc: dict[str, Json], at: str, known: Known) -> Block:
        kind = doc.get("type")
        match kind:
            case "text":
                text = need_str(doc, "text", at)
                extras = None if PLAIN_TEXT(doc) else self.keep(doc, ("type", "text"))
                return Text(text, at=at, extras=extras)
            case "tool_call":
                return self.read_call(doc, at, known)
            case "tool_response":
                return self.read_result(doc, at, known)
            case "media":
                return self.read_media(doc, at)
            case "image":
                return self.read_image(doc, at)
            case "thinking":
                return self.read_thinking(doc, at, known.metadata)
            case "code":
                return self.read_code(doc, at)
            case _:
                need_str(doc, "type", at)
                return Raw(self.name, doc, at=at)

    def read_call(self, doc: dict[str, Json], at: str, known: Known) -> Block:
        written, name = need_str(doc, "id", at), need_str(doc, "name", at)
        call_id = known.call(written, name)
        spelling: dict[str, Json] = {}
        if to_history(call_id) != written:
            spelling["id"] = written
        taken = ["type", "id", "name", "parameters"]
        given = doc.get("parameters")
        if given.__class__ is str:
            text = given
            spelling["parameters"] = "text"
        elif given is None:
            text = "{}"
            spelling["parameters"] = "null" if "parameters" in doc else "absent"
        else:
            text = compact(given)
            if given.__class__ is not dict:
                spelling["value"] = given
        if doc.get("input") is not None and compact(doc["input"]) == text:
            spelling["input"] = doc["input"]  # llxprt's own converter says it twice
            taken.append("input")
        extras = self.keep(doc, taken, spelling)
        if name in known.custom and given.__class__ is dict and given.keys() == {"input"}:
            if isinstance(given["input"], str):
                return ToolCall(call_id, name, given["input"], "custom", at=at, extras=extras)
        return ToolCall(call_id, name, text, at=at, extras=extras)

    def read_result(self, doc: dict[str, Json], at: str, known: Known) -> ToolResult:
        written = need_str(doc, "callId", at)
        call_id = known.result(written)
        spelling: dict[str, Json] = {}
        if to_history(call_id) != written:
            spelling["id"] = written
        name = maybe_str(doc, "toolName", at)
        if not name:
            spelling["toolName"] = doc.get("toolName", False)
        if not name or name == known.names.get(call_id):
            name = None  # what the call says already is not said twice
        taken = set(RESPONSE_KEYS)
        failed = self.read_failed(doc, at, taken, spelling)
        content = self.read_answer(doc, at, taken, spelling)
        if not content:
            spelling["own"] = 0
        return ToolResult(
            call_id, content, failed, name, at=at, extras=self.keep(doc, taken, spelling)
        )

    def read_failed(
        self, doc: dict[str, Json], at: str, taken: set[str], spelling: dict[str, Json]
    ) -> bool | None:
        """Whether the tool failed: the real type has ``error``, the design a ``status`` as well."""
        failed = True if maybe_str(doc, "error", at) is not None else None
        if doc.get("status") == "error":
            taken.add("status")
            spelling["status"] = failed = True
        if doc.get("isError").__class__ is bool:  # llxprt's own converter adds it
            taken.add("isError")
            spelling["isError"] = doc["isError"]
            failed = failed or doc["isError"]
        return failed

    def read_answer(
        self, doc: dict[str, Json], at: str, taken: set[str], spelling: dict[str, Json]
    ) -> tuple[Block, ...]:
        """What a tool answered, as text. Where it failed without an answer, the error is it;
        where it did both, the error is a field of this dialect's own."""
        result, error = doc.get("result"), doc.get("error")
        text = result
        if result is None:
            spelling["result"] = False
        elif result.__class__ is not str:
            spelling["result"] = [result]
            text = compact(result)
            if result.__class__ is dict and result.keys() == {"output"}:
                # llxprt shows the model what stands under 'output'.
                text = result["output"] if isinstance(result["output"], str) else text
        if error is not None and (not text or error in (text, "", ERROR)):
            taken.add("error")
            spelling["error"] = error
            if error == ERROR and not text:
                return ()
            if error and not text:
                spelling.setdefault("result", [text])
                return (Text(error, at=f"{at}/error"),)
        return () if text is None else (Text(text, at=f"{at}/result"),)

    def read_media(self, doc: dict[str, Json], at: str) -> Block:
        data, claimed = need_str(doc, "data", at), maybe_str(doc, "mimeType", at)
        encoding = maybe_str(doc, "encoding", at)
        if encoding not in (None, "url", "base64"):
            return Raw(self.name, doc, at=at)
        source, spelling = read_data(data, encoding, claimed)
        if (source.kind if source.kind == "url" else "base64") != encoding:
            spelling["encoding"] = encoding or ("null" if "encoding" in doc else "absent")
        if source.media_type != claimed:
            spelling["mimeType"] = claimed if "mimeType" in doc else False
        return Media(
            kind_of(claimed or source.media_type),
            source,
            filename=maybe_str(doc, "filename", at),
            at=at,
            extras=self.keep(doc, MEDIA_KEYS, spelling),
        )

    def read_image(self, doc: dict[str, Json], at: str) -> Block:
        """An image as the design has it: an address, a data URL or bare base64."""
        claimed = maybe_str(doc, "mimeType", at)
        source, spelling = read_data(need_str(doc, "data", at), None, claimed)
        spelling["type"] = "image"
        if source.media_type != claimed:
            spelling["mimeType"] = claimed if "mimeType" in doc else False
        extras = self.keep(doc, ("type", "data", "mimeType"), spelling)
        return Media("image", source, at=at, extras=extras)

    def read_thinking(self, doc: dict[str, Json], at: str, metadata: dict[str, Json]) -> Block:
        reasoning = maybe_str(doc, "thought", at)
        data, encrypted = maybe_str(doc, "signature", at), maybe_str(doc, "encryptedContent", at)
        field = maybe_str(doc, "sourceField", at)
        spelling: dict[str, Json] = {"sourceField": field} if field is not None else {}
        if reasoning is None:
            spelling["thought"] = "null" if "thought" in doc else "absent"
        taken = set(THINKING_KEYS)
        content: tuple[str, ...] = () if reasoning is None else (reasoning,)
        summary: tuple[str, ...] = ()
        signature = None
        if data:
            issuer = issuer_of(metadata, FIELDS.get(field or "", NOBODY))
            redacted = reasoning == REDACTED and field == "thinking"
            signature = Signature(data, issuer, "encrypted" if redacted else "signature")
            if redacted:
                spelling["redacted"], content = True, ()
        elif data is not None:
            spelling["signature"] = ""
        if encrypted == "":
            taken.add("encryptedContent")
            spelling["encryptedContent"] = ""
        elif encrypted is not None and signature is None:
            taken.add("encryptedContent")
            # What OpenAI tells of a signed reasoning block is its summary.
            content, summary = (), content if reasoning else ()
            signature = Signature(encrypted, issuer_of(metadata, "openai"), "encrypted")
        extras = self.keep(doc, taken, spelling)
        return Reasoning(content, summary, signature, at=at, extras=extras)

    def read_code(self, doc: dict[str, Json], at: str) -> Block:
        """Code is text in a fence; that it is code only this dialect knows."""
        code, language = need_str(doc, "code", at), maybe_str(doc, "language", at)
        fence = "```"
        while fence in code:
            fence += "`"
        text = f"{fence}{language or ''}\n{code}\n{fence}"
        extras = self.keep(doc, ("type",))
        return Text(text, at=at, extras=extras)


def has_response(blocks: list[Json]) -> bool:
    """Whether a tool says what a tool says: ``hasToolResponseBlocks``."""
    return any(b.__class__ is dict and b.get("type") == "tool_response" for b in blocks)


def read_data(
    data: str, encoding: str | None, claimed: str | None
) -> tuple[Source, dict[str, Json]]:
    """Where the bytes are, whatever the block says of it: an address, a data URL, bare base64."""
    spelling: dict[str, Json] = {}
    claimed = None if is_wildcard(claimed) else claimed
    if (found := split_data_uri(data)) is not None:
        media_type, data = found
        spelling["uri"] = media_type
        if claimed is None and not is_wildcard(media_type):
            claimed = media_type
        return Source("base64", data, claimed or sniff(data)), spelling
    if encoding == "url" or (encoding is None and "://" in data[:16]):
        return Source("url", data, claimed), spelling
    return Source("base64", data, claimed or sniff(data)), spelling


def is_wildcard(media_type: str | None) -> bool:
    """Whether a media type says no more than the kind: ``image/*``."""
    return not media_type or media_type.endswith("/*")


def issuer_of(metadata: dict[str, Json], field: str) -> str:
    """Who signed reasoning: the provider that is named, else whoever has such a field.

    A compatible server elsewhere has its own signatures, which the vendor would reject.
    """
    provider, base = metadata.get("provider"), metadata.get("providerBaseURL")
    if isinstance(base, str) and base and not is_vendor(base):
        return f"{NOBODY}:{host_of(base)}"
    if isinstance(provider, str) and provider:
        return PROVIDERS.get(provider.lower(), f"{NOBODY}:{provider}")
    return field


def host_of(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].partition(":")[0].lower()


def is_vendor(url: str) -> bool:
    host = host_of(url)
    return any(host == own or host.endswith(f".{own}") for own in HOSTS)
