"""Answers and errors of the Gemini API, both ways."""

from __future__ import annotations

from msgspec.structs import replace

from ...core import heads
from ...core.counts import ALL, INPUT, Counts
from ...core.reading import as_dict, expected, maybe_dict, maybe_int, maybe_list
from ...core.turns import note_error_type
from ...core.words import Stops
from ...core.writing import Writing
from ...ledger import Ledger
from ...model import (
    Block,
    Candidate,
    ErrorKind,
    Extras,
    Failure,
    Json,
    Message,
    Response,
    Stop,
    Text,
    Usage,
)
from .grounding import cited, grounded
from .read_parts import said_str
from .request import Requests
from .spelling import both, pick, spelled
from .times import seconds_of, time_of
from .turns import CONTENT_KEYS

# https://ai.google.dev/api/generate-content#FinishReason; all others are "other".
STOPS = Stops(
    {
        "STOP": "end",
        "MAX_TOKENS": "length",
        "SAFETY": "filter",
        "RECITATION": "filter",
        "BLOCKLIST": "filter",
        "PROHIBITED_CONTENT": "filter",
        "SPII": "filter",
        "IMAGE_SAFETY": "filter",
        "IMAGE_PROHIBITED_CONTENT": "filter",
        "IMAGE_RECITATION": "filter",
        "MODEL_ARMOR": "filter",
        "CONTINUATION": "pause",
        # The model went wrong, and what it said is no answer: it must not look like one elsewhere.
        "MALFORMED_FUNCTION_CALL": "error",
        "UNEXPECTED_TOOL_CALL": "error",
        "TOO_MANY_TOOL_CALLS": "error",
        "MALFORMED_RESPONSE": "error",
    },
    {
        "stop-sequence": "STOP",
        "tool-call": "STOP",
        "context": "MAX_TOKENS",
        "pause": "OTHER",
        "error": "OTHER",
    },
    rest="OTHER",
    vague=("STOP",),
)
# Some clients pass on the numbers of the enumeration.
NUMBERED = (
    "FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER",
    "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MALFORMED_FUNCTION_CALL",
)  # fmt: skip

# https://cloud.google.com/apis/design/errors#handling_errors
ERRORS: dict[str, tuple[int, ErrorKind]] = {
    "INVALID_ARGUMENT": (400, "invalid-request"),
    "FAILED_PRECONDITION": (400, "invalid-request"),
    "OUT_OF_RANGE": (400, "invalid-request"),
    "UNAUTHENTICATED": (401, "authentication"),
    "PERMISSION_DENIED": (403, "permission"),
    "NOT_FOUND": (404, "not-found"),
    "ABORTED": (409, "conflict"),
    "ALREADY_EXISTS": (409, "conflict"),
    "RESOURCE_EXHAUSTED": (429, "rate-limit"),
    "CANCELLED": (499, "other"),
    "INTERNAL": (500, "server"),
    "UNKNOWN": (500, "server"),
    "DATA_LOSS": (500, "server"),
    "UNIMPLEMENTED": (501, "server"),
    "UNAVAILABLE": (503, "overloaded"),
    "DEADLINE_EXCEEDED": (504, "timeout"),
}
STATUSES: dict[ErrorKind, str] = {
    "invalid-request": "INVALID_ARGUMENT",
    "authentication": "UNAUTHENTICATED",
    "billing": "FAILED_PRECONDITION",
    "permission": "PERMISSION_DENIED",
    "not-found": "NOT_FOUND",
    "conflict": "ABORTED",
    "too-large": "INVALID_ARGUMENT",
    "rate-limit": "RESOURCE_EXHAUSTED",
    "server": "INTERNAL",
    "overloaded": "UNAVAILABLE",
    "timeout": "DEADLINE_EXCEEDED",
    "other": "UNKNOWN",
}
# The API writes camelCase; what Google's client for Python stores of an answer is snake_case.
RESPONSE_KEYS = both("candidates", "usageMetadata", "modelVersion", "responseId")
CANDIDATE_KEYS = both("index", "content", "finishReason", "finishMessage")
# https://ai.google.dev/api/generate-content#UsageMetadata: cached tokens are among those of the
# prompt, reasoning is not among those of the candidates.
COUNTS = Counts(
    {
        "promptTokenCount": INPUT,
        "candidatesTokenCount": ("output",),
        "totalTokenCount": ALL,
        "cachedContentTokenCount": ("cache_read",),
        "thoughtsTokenCount": ("reasoning",),
    },
    omits=True,
)
TOOL_COUNT = "toolUsePromptTokenCount"
COUNTED = both(*COUNTS.rows, TOOL_COUNT)


def counts_nothing(doc: dict[str, Json]) -> bool:
    """Whether what should count says something else alone: of a prompt that was blocked, say."""
    usage = pick(doc, "usageMetadata", {})
    return usage.__class__ is dict and bool(usage) and COUNTED.isdisjoint(usage)


class Responses(Requests):
    """Reading and writing answers."""

    stops = STOPS
    counts = COUNTS

    def read_response(self, doc: Json) -> Response:
        doc = as_dict(doc, "")
        if "candidates" not in doc and doc.get("error") is not None:
            return Response(None, None, (), failure=self.read_error(doc), dialect=self.name)
        spelling: dict[str, Json] = {}
        listed = maybe_list(doc, "candidates", "")
        candidates = tuple(
            self.read_candidate(as_dict(item, where), index, where)
            for index, item in enumerate(listed or ())
            if (where := f"/candidates/{index}")
        )
        if not candidates:
            spelling["candidates"] = "absent" if listed is None else "empty"
            candidates = self.read_block(doc)
        taken = RESPONSE_KEYS
        created = None
        said: dict[str, str] = {}
        time = pick(doc, "createTime", said)
        if time is not None and time.__class__ is str:
            created = seconds_of(time)
            if created is not None:
                taken |= both("createTime")
                if time_of(created) != time:
                    spelling["createTime"] = time
        name, model = said_str(doc, "responseId", "", said), said_str(doc, "modelVersion", "", said)
        counted: dict[str, str] = {}
        counts = None
        if counts_nothing(doc):
            taken -= both("usageMetadata")
        elif (usage := pick(doc, "usageMetadata", said)) is not None:
            where = f"/{said.get('usageMetadata', 'usageMetadata')}"
            counts = self.read_counts(as_dict(usage, where), where, counted)
        if said:
            spelling["snake"] = said
        if counted:
            spelling["counted"] = counted
        return Response(
            name,
            model,
            candidates,
            counts,
            created,
            dialect=self.name,
            extras=self.keep(doc, taken, spelling),
        )

    def read_block(self, doc: dict[str, Json]) -> tuple[Candidate, ...]:
        """A prompt that was blocked has no answer; elsewhere, it has one that was filtered."""
        said: dict[str, str] = {}
        feedback = pick(doc, "promptFeedback", said)
        at = f"/{said.get('promptFeedback', 'promptFeedback')}"
        word = None if feedback is None else said_str(as_dict(feedback, at), "blockReason", at, {})
        if word is None:
            return ()
        stop = Stop("filter", word, self.name)
        return (Candidate(Message("assistant", at=at), stop, at=at),)

    def read_candidate(self, doc: dict[str, Json], index: int, at: str) -> Candidate:
        content = maybe_dict(doc, "content", at)
        spelling: dict[str, Json] = {}
        taken = CANDIDATE_KEYS
        if content is None:
            message = Message("assistant", at=at, extras=self.respell(None, content="absent"))
        else:
            where = f"{at}/content"
            blocks, how = self.read_content(content, where, {})
            if content.get("role") != "model":
                how["role"] = content.get("role")
            blocks, whole = cited(blocks, doc, at, self.name)
            if whole:
                taken |= {"groundingMetadata"}
            extras = self.keep(content, CONTENT_KEYS, how)
            message = Message("assistant", tuple(blocks), at=where, extras=extras)
        if doc.get("index").__class__ is not int or doc["index"] != index:
            spelling["index"] = doc.get("index")
        stop = self.read_stop(doc, message, at, spelling)
        if stop is None:
            taken -= both("finishMessage")
        return Candidate(message, stop, at=at, extras=self.keep(doc, taken, spelling))

    def read_stop(
        self, doc: dict[str, Json], message: Message, at: str, spelling: dict[str, Json]
    ) -> Stop | None:
        said: dict[str, str] = {}
        word = pick(doc, "finishReason", said)
        if word.__class__ is int:
            spelling["finishReason"] = word
            word = NUMBERED[word] if 0 <= word < len(NUMBERED) else "OTHER"
        elif word is None:
            return None
        elif word.__class__ is not str:
            expected("a string", word, f"{at}/{said.get('finishReason', 'finishReason')}")
        detail = said_str(doc, "finishMessage", at, said)
        if said:
            spelling["snake"] = said
        return Stop(self.stops.reason(word, message), word, self.name, detail=detail)

    def read_counts(self, doc: dict[str, Json], at: str, said: dict[str, str]) -> Usage:
        """What tools added to the prompt is counted apart, and is in the total."""
        for key in (*COUNTS.rows, TOOL_COUNT):
            pick(doc, key, said)
        prompt = said.get("promptTokenCount", "promptTokenCount")
        tools, asked = (
            maybe_int(doc, key, at) for key in (said.get(TOOL_COUNT, TOOL_COUNT), prompt)
        )
        counted = doc if tools is None or asked is None else doc | {prompt: asked + tools}
        names = {key: name for key, name in said.items() if key != TOOL_COUNT}
        usage = self.counts.read(self, counted, at, spelled=names)
        if usage.unsaid and doc.get(said.get("totalTokenCount", "totalTokenCount")) is not None:
            # A total without candidates says that there are none: zeros are left out.
            usage = replace(usage, unsaid=tuple(n for n in usage.unsaid if n != "output"))
        return usage

    # -- writing ----------------------------------------------------------------------------

    def write_response(self, tree: Response, log: Ledger) -> Json:
        w = self.writing(log, tree.dialect, answer=True)
        spelling = self.spelling(tree)
        out: dict[str, Json] = {}
        candidates = tree.candidates
        if not candidates and not w.home:
            candidates = (Candidate(Message("assistant", at=tree.at), at=tree.at),)
        if "candidates" not in spelling:
            out["candidates"] = [
                self.write_candidate(candidate, index, w)
                for index, candidate in enumerate(candidates)
            ]
        elif spelling["candidates"] == "empty":
            out["candidates"] = []
        if tree.usage is not None:
            out["usageMetadata"] = self.write_counts(tree.usage, spelling.get("counted", {}), w)
        if tree.model is not None:
            out["modelVersion"] = tree.model
        if tree.created is not None:
            time = spelling.get("createTime") or time_of(tree.created)
            if time is not None:
                out["createTime"] = time
                if seconds_of(time) != tree.created:
                    heads.round_date("microseconds", tree, self, log)
            else:
                self.lack("response.created", tree.at, log)  # a year of five digits
        if tree.id is not None:
            out["responseId"] = tree.id
        return self.emit(spelled(out, self.said(tree)), tree, log)

    def write_candidate(self, candidate: Candidate, index: int, w: Writing) -> Json:
        message, spelling = candidate.message, self.spelling(candidate)
        out: dict[str, Json] = {}
        content, grounding = self.write_answer_content(message, w)
        if content is not None:
            out["content"] = content
        self.write_stop(out, candidate, w)
        if "finishReason" in spelling:
            out["finishReason"] = spelling["finishReason"]
        out["index"] = spelling.get("index", index)
        if out["index"] is None:
            del out["index"]
        if grounding is not None:
            out["groundingMetadata"] = grounding
        return self.emit(spelled(out, self.said(candidate)), candidate, w.log)

    def write_answer_content(
        self, message: Message, w: Writing
    ) -> tuple[dict[str, Json] | None, Json | None]:
        """The content of an answer, and what it cites, which stands beside it."""
        if self.spelling(message).get("content") == "absent":
            return None, None
        parts: list[Json] = []
        placed: list[tuple[int, Block]] = []
        for block in message.content:
            if isinstance(block, Text) and block.citations:
                placed.append((len(parts), block))
            parts += self.write_part(block, w, {})
        role = self.spelling(message).get("role", "model")
        return self.write_content(message, role, parts, w), self.own_grounding(placed)

    def own_grounding(self, placed: list[tuple[int, Block]]) -> Json | None:
        """What is made of citations; none where it was kept whole."""
        for _, block in placed:
            assert isinstance(block, Text)
            for cite in block.citations:
                if cite.extras is not None and self.is_home(cite.extras.dialect):
                    return None
        return grounded(placed)

    def write_stop(self, out: dict[str, Json], candidate: Candidate, w: Writing) -> None:
        stop, word = candidate.stop, self.stop_word(candidate, w)
        if word is not None:
            out["finishReason"] = word
        if stop is not None and stop.detail is not None and self.is_home(stop.dialect):
            out["finishMessage"] = stop.detail

    def write_counts(self, usage: Usage, said: dict[str, str], w: Writing) -> Json:
        out, extras = self.counts.write(self, usage, w), usage.extras
        if w.home and extras is not None and "promptTokenCount" in out:
            out["promptTokenCount"] -= extras.fields.get(said.get(TOOL_COUNT, TOOL_COUNT)) or 0
        return self.emit(spelled(out, said), usage, w.log)

    # -- errors -----------------------------------------------------------------------------

    def read_error(self, doc: Json) -> Failure:
        if doc.__class__ is str:
            extras: Extras | None = self.respell(None, whole=True)
            return Failure("other", doc, dialect=self.name, extras=extras)
        if doc.__class__ is list and len(doc) == 1 and doc[0].__class__ is dict:
            failure = self.read_error(doc[0])  # where a list of chunks was asked for
            return replace(failure, extras=self.respell(failure.extras, listed=True), at="/0")
        doc = as_dict(doc, "")
        inner = doc.get("error")
        if inner.__class__ is not dict:
            words = inner if inner.__class__ is str else doc.get("message")
            extras = Extras(self.name, doc, spelling={"bare": True})
            message = words if words.__class__ is str else ""
            return Failure("other", message, dialect=self.name, extras=extras)
        known = [key for key in ("message", "status") if inner.get(key).__class__ is str]
        status = inner["status"] if "status" in known else None
        code, kind = ERRORS.get(status or "", (None, "other"))
        spelling: dict[str, Json] = {"has": list(known)}
        if code is not None and inner.get("code") == code and inner["code"].__class__ is int:
            known.append("code")  # the status says it
            spelling["has"].append("code")
        extras = self.keep(doc, (), spelling, partly={"error": known})
        return Failure(
            kind,  # type: ignore[arg-type]
            inner["message"] if "message" in known else "",
            status,
            dialect=self.name,
            extras=extras,
        )

    def write_error(self, tree: Failure, log: Ledger) -> Json:
        spelling = self.spelling(tree)
        if spelling.get("whole"):
            return tree.message
        if spelling.get("bare") and tree.extras is not None:
            return [tree.extras.fields] if spelling.get("listed") else tree.extras.fields
        home = self.is_home(tree.dialect)
        status = tree.type
        if not home:
            status = STATUSES[tree.kind]
            if ERRORS[status][1] != tree.kind:
                note_error_type(tree, status, log)
        self.note_error(tree, log)
        code = ERRORS.get(status or "", (500, "other"))[0]
        inner: dict[str, Json] = {"code": code, "message": tree.message, "status": status}
        if home:
            inner = {
                key: value for key, value in inner.items() if key in spelling.get("has", inner)
            }
        out = self.emit({"error": inner}, tree, log)
        return [out] if spelling.get("listed") else out
