"""An answer as a UI message of the AI SDK, both ways."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from ...core import heads
from ...core.counts import ALL, INPUT, OUTPUT, Counts
from ...core.reading import (
    as_dict,
    as_str,
    compact,
    maybe_dict,
    maybe_str,
    need_list,
    need_str,
    parse,
    sole,
)
from ...core.words import Stops
from ...core.writing import Writing, data_uri, joined, object_of, split_data_uri
from ...dialect import Dialect
from ...ledger import Ledger
from ...model import (
    Block,
    Candidate,
    Citation,
    Extras,
    Failure,
    Hosted,
    Json,
    Media,
    MediaKind,
    Message,
    Raw,
    Reasoning,
    Response,
    Signature,
    Source,
    Stop,
    Text,
    ToolCall,
    Usage,
)
from .._signatures import SIGNATURE, SIGNATURES, SIGNER, signature_in

# https://ai-sdk.dev/docs/reference/ai-sdk-core/generate-text#finishreason
NOW = Stops(
    {
        "stop": "end",
        "length": "length",
        "content-filter": "filter",
        "tool-calls": "tool-call",
        "error": "error",
        "other": "other",
    },
    {"stop-sequence": "stop", "context": "length", "cancelled": "other"},
    rest="other",
)
STOPS = NOW.but({"unknown": "other", "interrupted": "cancelled"})  # of some versions
METADATA, CALL_METADATA = "providerMetadata", "callProviderMetadata"
# What files are taken for when nobody says, and their first bytes do not tell.
USUAL_TYPES = {
    "image": "image/png",
    "audio": "audio/wav",
    "video": "video/mp4",
    "document": "application/octet-stream",
}
COUNTS = Counts(
    {
        "inputTokens": INPUT,
        "outputTokens": OUTPUT,
        "totalTokens": ALL,
        "reasoningTokens": ("reasoning",),
        "cachedInputTokens": ("cache_read",),
    }
)
TEXT_KEYS = ("type", "text", "state")
TOOL_KEYS = ("type", "toolName", "toolCallId", "state", "input")
UNFINISHED = "input-streaming"
TOOL_FIELDS = ("title", "providerExecuted", "toolMetadata")
OUTCOME = ("output", "errorText", "preliminary")
# what a request for approval says -> what the part calls it
APPROVAL = {
    "approvalId": "id",
    "approvalDescriptor": "descriptor",
    "inputSchemaInput": "inputSchemaInput",
    "reason": "requestReason",
    "isAutomatic": "isAutomatic",
    "signature": "signature",
}
KINDS = frozenset(
    {"text", "reasoning", "dynamic-tool", "file", "source-url", "source-document", "step-start"}
)
Signed = TypeVar("Signed", Text, ToolCall, Media)
IDS = (r"[\s\S]", 512)
NAMES = (r"[\s\S]", 256)


class Answers(Dialect):
    """Reading and writing answers."""

    name = "vercel-ui"
    stops = STOPS
    counts = COUNTS

    # -- reading ----------------------------------------------------------------------------

    def read_response(self, doc: Json) -> Response:
        doc = as_dict(doc, "")
        if "parts" not in doc and doc.get("type") == "error":
            return Response(None, None, (), failure=self.read_error(doc), dialect=self.name)
        blocks = self.read_parts(need_list(doc, "parts", ""), "/parts")
        meta = doc.get("metadata")
        meta = meta if isinstance(meta, dict) else {}
        partly: dict[str, tuple[str, ...]] = {}
        taken: list[str] = ["id", "role", "parts"]
        model = meta.get("model") if isinstance(meta.get("model"), str) else None
        message = Message("assistant", tuple(blocks), at="/parts")
        usage = self.read_counts(meta.get("usage"))
        stop = self.read_stop(meta.get("finishReason"), message)
        known = [
            key
            for key, value in (("model", model), ("usage", usage), ("finishReason", stop))
            if value is not None
        ]
        if known:
            partly["metadata"] = tuple(known)
        spelling: dict[str, Json] = {}
        if doc.get("role") != "assistant":
            spelling["role"] = doc.get("role")
        return Response(
            maybe_str(doc, "id", ""),
            model,
            (Candidate(message, stop, at=""),),
            usage,
            dialect=self.name,
            extras=self.keep(doc, taken, spelling, partly=partly),
        )

    def read_stop(self, word: Json, message: Message) -> Stop | None:
        return self.stop_of(word, message) if word.__class__ is str and word in STOPS else None

    def read_counts(self, doc: Json) -> Usage | None:
        """Counts in the form of the SDK; any other is the application's own."""
        if not isinstance(doc, dict) or not doc.keys() <= COUNTS.rows.keys():
            return None
        usage = self.read_usage(doc, "/metadata/usage")
        if usage.unsaid or usage.input_total != doc["inputTokens"]:
            return None
        return usage if usage.output_total == doc["outputTokens"] else None

    def read_parts(self, docs: list[Json], at: str) -> list[Block]:
        out: list[Block] = []
        steps = 0
        for index, doc in enumerate(docs):
            where = f"{at}/{index}"
            doc = as_dict(doc, where)
            kind = need_str(doc, "type", where)
            if kind == "step-start" and sole(doc):
                steps += 1
                continue
            if kind == "source-url" and not steps and out and isinstance(text := out[-1], Text):
                if (cite := self.read_source(doc, where)) is not None:
                    out[-1] = replace(text, citations=(*text.citations, cite))
                    continue
            block = self.read_part(doc, kind, where)
            if steps:
                block = replace(block, extras=self.respell(block.extras, steps=steps))
                steps = 0
            out.append(block)
        if steps:
            last = Raw(self.name, {"type": "step-start"}, at=at)
            out.append(replace(last, extras=self.respell(None, steps=steps - 1)))
        return out

    def read_part(self, doc: dict[str, Json], kind: str, at: str) -> Block:
        if kind == "text":
            extras = self.keep_signed(doc, TEXT_KEYS, self.spell_state(doc, "done"), METADATA)
            return Text(need_str(doc, "text", at), at=at, extras=extras)
        if kind == "reasoning":
            return self.read_reasoning(doc, at)
        if kind.startswith("tool-") or kind == "dynamic-tool":
            return self.read_tool(doc, kind, at)
        if kind == "file":
            return self.read_file(doc, at)
        return Raw(self.name, doc, at=at)

    def keep_signed(
        self, doc: dict[str, Json], taken: Iterable[str], spelling: dict[str, Json] | None, key: str
    ) -> Extras | None:
        """``keep`` for a part that Google may have signed, with its metadata under a key."""
        found = signature_in(doc.get(key))
        if found is None:
            return self.keep(doc, taken, spelling or None)
        name, signature = found
        if name != SIGNER:
            spelling = (spelling or {}) | {"vendor": name}
        extras = self.keep(doc, taken, spelling or None, partly={key: (name,)})
        return replace(extras or Extras(self.name), signature=Signature(signature, SIGNER))

    def spell_state(self, doc: dict[str, Json], usual: str) -> dict[str, Json] | None:
        return None if doc.get("state") == usual else {"state": doc.get("state")}

    def read_reasoning(self, doc: dict[str, Json], at: str) -> Block:
        meta = maybe_dict(doc, METADATA, at) or {}
        signature: Signature | None = None
        partly: dict[str, tuple[str, ...]] = {}
        if (found := signature_in(meta)) is not None:
            signature, partly[METADATA] = Signature(found[1], SIGNER), (found[0],)
        for issuer, kinds in SIGNATURES.items():
            said = meta.get(issuer)
            for kind, key in kinds.items():
                if isinstance(said, dict) and isinstance(said.get(key), str) and sole(said):
                    signature = Signature(said[key], issuer, kind)  # type: ignore[arg-type]
                    partly[METADATA] = (issuer,)
        spelling = self.spell_state(doc, "done") or {}
        if found is not None and found[0] != SIGNER:
            spelling["vendor"] = found[0]
        if doc.get("id") is not None:
            spelling["id"] = doc["id"]  # what the stream called it, which nobody needs again
        extras = self.keep(doc, (*TEXT_KEYS, "id"), spelling, partly=partly)
        return Reasoning((need_str(doc, "text", at),), signature=signature, at=at, extras=extras)

    def read_tool(self, doc: dict[str, Json], kind: str, at: str) -> Block:
        dynamic = kind == "dynamic-tool"
        name = need_str(doc, "toolName", at) if dynamic else kind.removeprefix("tool-")
        call_id = need_str(doc, "toolCallId", at)
        if doc.get("providerExecuted") is True:  # nobody else's to run
            phase = "both" if str(doc.get("state")).startswith("output-") else "call"
            return Hosted(self.name, name, doc, phase, id=call_id, at=at)  # type: ignore[arg-type]
        given = doc.get("input")
        custom = given.__class__ is str
        spelling: dict[str, Json] = self.spell_state(doc, "input-available") or {}
        if dynamic:
            spelling["dynamic"] = True
        if given is None:
            spelling["input"] = "null" if "input" in doc else "absent"
        text: str = given if isinstance(given, str) else "{}" if given is None else compact(given)
        taken = TOOL_KEYS if dynamic else tuple(k for k in TOOL_KEYS if k != "toolName")
        raw = doc.get("rawInput")  # what the model wrote, which is not or not yet an input
        if doc.get("state") == UNFINISHED and raw.__class__ is str:
            text, custom = raw, doc.get("inputEncoding") == "text"
            spelling["raw"] = True
        elif doc.get("state") == "output-error" and raw is not None:
            text, custom = raw if raw.__class__ is str else compact(raw), False
            spelling["raw"] = True if raw.__class__ is str else "value"
        if "raw" in spelling:
            taken = (*taken, "rawInput")
            if given is not None:
                spelling["guess"] = given  # at what the input is
        return ToolCall(
            call_id,
            name,
            text,
            "custom" if custom else "function",
            at=at,
            extras=self.keep_signed(doc, taken, spelling, CALL_METADATA),
        )

    def read_file(self, doc: dict[str, Json], at: str) -> Block:
        url, kind = need_str(doc, "url", at), need_str(doc, "mediaType", at)
        found = split_data_uri(url)
        source = Source("url", url, kind) if found is None else Source("base64", found[1], kind)
        spelling = None if found is None or found[0] == kind else {"type": found[0]}
        taken = ("type", "url", "mediaType", "filename")
        extras = self.keep_signed(doc, taken, spelling, METADATA)
        name = maybe_str(doc, "filename", at)
        return Media(media_kind(kind), source, filename=name, at=at, extras=extras)

    def read_source(self, doc: dict[str, Json], at: str) -> Citation | None:
        url, number = doc.get("url"), doc.get("sourceId")
        if not isinstance(url, str) or not isinstance(number, str):
            return None
        extras = self.keep(doc, ("type", "url", "title", "sourceId"), {"sourceId": number})
        return Citation("url", url, maybe_str(doc, "title", at), at=at, extras=extras)

    # -- writing ----------------------------------------------------------------------------

    def writing(self, log: Ledger, dialect: str | None) -> Writing:
        return Writing(log, IDS, NAMES, self.is_home(dialect), answer=True)

    def write_response(self, tree: Response, log: Ledger) -> Json:
        w = self.writing(log, tree.dialect)
        candidate = tree.candidates[0] if tree.candidates else Candidate(Message("assistant"))
        out: dict[str, Json] = {}
        heads.put_id(self, out, tree, w, "msg-1")
        out["role"] = self.spelling(tree).get("role", "assistant")
        if out["role"] is None:
            del out["role"]
        meta = self.write_metadata(tree, candidate, w)
        if meta:
            out["metadata"] = meta
        out["parts"] = self.write_parts(candidate.message.content, w)
        self.lose(candidate.extras, candidate.at, log)
        self.lose(candidate.message.extras, candidate.message.at, log)
        return self.emit(out, tree, log)

    def write_metadata(self, tree: Response, candidate: Candidate, w: Writing) -> dict[str, Json]:
        meta: dict[str, Json] = {}
        if tree.model is not None:
            meta["model"] = tree.model
        if (word := self.stop_word(candidate, w)) is not None:
            meta["finishReason"] = word
        if tree.usage is not None:
            meta["usage"] = self.write_usage(tree.usage, w)
        return meta

    def write_parts(self, blocks: Sequence[Block], w: Writing) -> list[Json]:
        out: list[Json] = []
        for block in blocks:
            out += [{"type": "step-start"}] * self.spelling(block).get("steps", 0)
            out += self.write_part(block, w)
        # One call of the model is one step, and a step begins with its mark.
        return [{"type": "step-start"}, *out] if out and not w.home else out

    def write_part(self, block: Block, w: Writing) -> Iterable[Json]:
        match block:
            case Text():
                return self.write_text(block, w)
            case Reasoning():
                return (self.write_reasoning(block, w),)
            case ToolCall():
                return (self.write_tool(block, w),)
            case Media():
                return self.write_file(block, w)
            case Raw() | Hosted() if self.is_home(block.dialect):
                return (block.payload,)
            case _:
                self.omit(block, w.log)
        return ()

    def write_text(self, block: Text, w: Writing) -> list[Json]:
        out: dict[str, Json] = {"type": "text", "text": block.text}
        self.write_state(out, block, "done")
        docs: list[Json] = [self.emit(out, self.sign(out, block, METADATA), w.log)]
        cited = enumerate(block.citations, 1)
        return docs + [self.write_source(cite, f"{number}", w) for number, cite in cited]

    def write_state(self, out: dict[str, Json], block: Block, usual: str) -> None:
        out["state"] = self.spelling(block).get("state", usual)
        if out["state"] is None:
            del out["state"]

    def write_source(self, cite: Citation, number: str, w: Writing) -> Json:
        spelled = self.spelling(cite).get("sourceId")
        out: dict[str, Json] = {"type": "source-url", "sourceId": spelled or f"source-{number}"}
        out["url"] = cite.url
        if cite.title is not None:
            out["title"] = cite.title
        return self.emit(out, cite, w.log)

    def write_reasoning(self, block: Reasoning, w: Writing) -> Json:
        out: dict[str, Json] = {"type": "reasoning", "text": joined(block.content)}
        self.write_state(out, block, "done")
        if "id" in (spelling := self.spelling(block)):
            out["id"] = spelling["id"]
        if (meta := self.write_signature(block)) is not None:
            out[METADATA] = meta
        return self.emit(out, block, w.log)

    def write_signature(self, block: Reasoning) -> Json | None:
        signature = block.signature
        key = (
            None if signature is None else SIGNATURES.get(signature.issuer, {}).get(signature.kind)
        )
        if signature is None or key is None:
            return None
        return {self.spelling(block).get("vendor", signature.issuer): {key: signature.data}}

    def sign(self, out: dict[str, Json], block: Signed, key: str) -> Signed:
        """Say how Google signed a part; the part without its signature."""
        extras = block.extras
        if extras is None or (signature := extras.signature) is None or signature.issuer != SIGNER:
            return block
        out[key] = {self.spelling(block).get("vendor", SIGNER): {SIGNATURE: signature.data}}
        return replace(block, extras=replace(extras, signature=None))

    def write_tool(self, call: ToolCall, w: Writing) -> Json:
        spelling = self.spelling(call)
        name = call.name
        if spelling.get("dynamic"):
            out: dict[str, Json] = {"type": "dynamic-tool", "toolName": name}
        else:
            out = {"type": f"tool-{name}"}
        out["toolCallId"] = w.call_once(call)
        self.write_state(out, call, "input-available")
        if spelling.get("raw"):
            parsed = spelling["raw"] == "value"
            out["rawInput"] = parse(call.arguments) if parsed else call.arguments
            if "guess" in spelling:
                out["input"] = spelling["guess"]
        elif call.kind == "custom":
            out["input"] = call.arguments
        elif spelling.get("input") not in ("null", "absent"):
            out["input"] = object_of(call, w.log)
        if spelling.get("input") == "null":
            out["input"] = None
        return self.emit(out, self.sign(out, call, CALL_METADATA), w.log)

    def write_file(self, block: Media, w: Writing) -> Iterable[Json]:
        source = block.source
        kind = source.media_type or USUAL_TYPES[block.kind]
        if source.kind == "base64":
            url = data_uri(self.spelling(block).get("type", kind), source.value)
        else:
            url = source.value
        out: dict[str, Json] = {"type": "file", "url": url, "mediaType": kind}
        if block.filename is not None:
            out["filename"] = block.filename
        return (self.emit(out, self.sign(out, block, METADATA), w.log),)

    # -- detection --------------------------------------------------------------------------

    def sniff(self, doc: Json) -> Iterable[tuple[str, float, tuple[str, ...]]]:
        if not isinstance(doc, dict):
            return
        parts = doc.get("parts")
        if isinstance(parts, list) and doc.get("role") == "assistant":
            kinds = [part.get("type") for part in parts if isinstance(part, dict)]
            words = [k for k in kinds if isinstance(k, str)]
            named = [k for k in words if k in KINDS or k.startswith(("tool-", "data-"))]
            if named and len(named) == len(parts):
                said = ", ".join(sorted(set(named))[:3])
                yield "response", 0.95, (f"'parts' of the AI SDK: {said}",)
        elif doc.get("type") == "error" and isinstance(doc.get("errorText"), str):
            yield "error", 0.95, ("'errorText'",)

    # -- errors -----------------------------------------------------------------------------

    def read_error(self, doc: Json) -> Failure:
        doc = as_dict(doc, "")
        spelling = None if doc.get("type") == "error" else {"type": doc.get("type")}
        extras = self.keep(doc, ("type", "errorText"), spelling)
        text = as_str(doc.get("errorText"), "/errorText")
        return Failure("other", text, dialect=self.name, extras=extras)

    def write_error(self, tree: Failure, log: Ledger) -> Json:
        if not self.is_home(tree.dialect):
            if tree.kind != "other" or tree.type is not None:
                self.lack("error.type", tree.at, log)
            self.note_error(tree, log)
        out: dict[str, Json] = {"type": "error", "errorText": tree.message}
        if "type" in (spelling := self.spelling(tree)):
            out["type"] = spelling["type"]
            if out["type"] is None:
                del out["type"]
        return self.emit(out, tree, log)


def media_kind(media_type: str) -> MediaKind:
    """What a medium is, by the first word of its type."""
    first = media_type.partition("/")[0]
    kinds: dict[str, MediaKind] = {"image": "image", "audio": "audio", "video": "video"}
    return kinds.get(first, "document")
