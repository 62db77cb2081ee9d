"""Replies and errors of Chat Completions, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core import heads
from ...core.counts import ALL, INPUT, OUTPUT, Counts
from ...core.plain import Call, Reply, Unusual
from ...core.reading import (
    as_dict,
    maybe_dict,
    maybe_number,
    maybe_str,
    need_dict,
    need_list,
    only,
    texts,
)
from ...core.turns import note_error_type
from ...core.words import Stops
from ...core.writing import Writing, drop_empty_texts, is_empty_text
from ...dialect import Dialect
from ...ledger import Ledger
from ...model import (
    Block,
    Candidate,
    ErrorKind,
    Extras,
    Failure,
    Json,
    Media,
    Message,
    Refusal,
    Response,
    Source,
    Stop,
    StopReason,
    Text,
    ToolCall,
)
from .._openai import ERROR_TYPES, ERRORS, STATUS, STATUS_OF
from . import assistant, parts
from .request import TIERS

if TYPE_CHECKING:
    from . import OpenAIChat


# https://platform.openai.com/docs/api-reference/chat/object
STOPS = Stops(
    {
        "stop": "end",
        "length": "length",
        "tool_calls": "tool-call",
        "function_call": "tool-call",
        "content_filter": "filter",
        "error": "error",  # not OpenAI's word, but that of servers that pass on others' replies
    },
    {"stop-sequence": "stop", "error": "length", "other": "stop"},
    rest="length",  # a cut reply must not look complete
    vague=("stop",),
    calls=True,
)
RESPONSE_KEYS = frozenset({"id", "object", "created", "model", "choices", "usage", "service_tier"})
HEAD = texts("id", "model", "service_tier")
ENDED_IN_ERROR = "the response ended in an error"
WORDS = ("message", "error", "detail")
"""Where the message of an error stands, whatever the server made of it."""
FILTERED: dict[str, Json] = {"role": "assistant", "content": None}
"""The message of a choice that has none."""
# Dialects whose responses are lists of output items. Design 004: "if (message.content === null &&
# !message.tool_calls) message.content = '[No response generated]'".
ITEMIZED = frozenset({"openai-responses", "open-responses", "router-responses", "copilot"})
NO_RESPONSE = "[No response generated]"
UNDER_WAY = ("unfinished", "cancelled")
CHOICE_KEYS = frozenset({"index", "message", "finish_reason", "logprobs"})
USUAL_CHOICE = only(*CHOICE_KEYS)
PLAIN_RESPONSE = only(*RESPONSE_KEYS, "system_fingerprint")
ENDED: dict[str, StopReason] = {"stop": "end", "tool_calls": "tool-call", "length": "length"}
# https://platform.openai.com/docs/api-reference/chat/object#chat/object-usage
COUNTS = Counts(
    {
        "prompt_tokens": INPUT,
        "completion_tokens": OUTPUT,
        "total_tokens": ALL,
        "prompt_tokens_details/cached_tokens": ("cache_read",),
        "prompt_tokens_details/cache_write_tokens": ("cache_write",),
        "completion_tokens_details/reasoning_tokens": ("reasoning",),
    }
)


def read_response(d: OpenAIChat, doc: Json) -> Response:
    doc = as_dict(doc, "")
    if d.is_failure(doc):
        return Response(None, None, (), failure=d.read_error(doc), dialect=d.name)
    choices = need_list(doc, "choices", "")
    odd = doc.get("error")
    for index, choice in enumerate(choices):
        if choice.__class__ is not dict:
            as_dict(choice, f"/choices/{index}")
        odd = odd or choice.get("error") or choice.get("finish_reason") == "error"
    failure, taken, spelling = None, RESPONSE_KEYS, None
    if odd and (found := error_beside(doc, choices, d.error_is_a_stop)) is not None:
        place, error = found
        failure = d.read_error(error)
        spelling = {"beside": True}
        if place is None:
            taken = RESPONSE_KEYS | {"error"}
        elif choices[place].get("error"):
            choices = choices[:]
            choices[place] = {k: v for k, v in choices[place].items() if k != "error"}
            failure = replace(failure, at=f"/choices/{place}")
    candidates = []
    for index, choice in enumerate(choices):
        candidates.append(d.read_choice_of_reply(choice, index))
    name, model, tier = HEAD(doc, "")
    usage = maybe_dict(doc, "usage", "")
    return Response(
        name,
        model,
        tuple(candidates),
        None if usage is None else d.read_usage(usage, "/usage"),
        maybe_number(doc, "created", ""),
        failure,
        tier,
        dialect=d.name,
        extras=d.keep(doc, taken, spelling),
    )


def read_plain_reply(d: OpenAIChat, doc: Json) -> Reply | None:
    if doc.__class__ is not dict or not PLAIN_RESPONSE(doc):
        return None
    choices = doc.get("choices")
    choice = choices[0] if choices.__class__ is list and len(choices) == 1 else None
    if choice.__class__ is not dict or not USUAL_CHOICE(choice) or choice.get("logprobs"):
        return None
    message, word = choice.get("message"), choice.get("finish_reason")
    if message.__class__ is not dict or not assistant.USUAL_REPLY(message):
        return None
    if message.get("role") != "assistant" or message.get("refusal") is not None:
        return None
    if (cited := message.get("annotations")) is not None and cited != []:
        return None
    calls: list[Call] | None = []
    if (docs := message.get("tool_calls")) is not None:
        calls = assistant.read_plain_calls(docs)
    usage = COUNTS.read_plain(doc.get("usage"))
    ended = ENDED.get(word) if word.__class__ is str else None
    if calls is None or usage is None or ended is None:
        return None
    return Reply(
        doc.get("id"), doc.get("model"), doc.get("created"), None, message.get("content"), calls,
        ended, usage, doc.get("service_tier"),
    )  # fmt: skip


def write_plain_reply(d: OpenAIChat, reply: Reply, log: Ledger) -> Json:
    message: dict[str, Json] = {"role": "assistant", "content": reply.text}
    if reply.calls:
        w = d.writing(log, None, reply=True)
        calls = assistant.write_plain_calls(reply.calls, w)
        for place, data in (reply.signed or {}).items():
            calls[place]["extra_content"] = {"google": {"thought_signature": data}}
        message["tool_calls"] = calls
    message["refusal"] = None
    word = STOPS.word(reply.ended)
    choice = {"index": 0, "message": message, "finish_reason": word, "logprobs": None}
    out = {
        "id": reply.name,
        "object": "chat.completion",
        "created": int(log.now or 0) if reply.created is None else reply.created,
        "model": reply.model,
        "choices": [choice],
        "usage": COUNTS.write_plain(reply.usage),
    }
    if (tier := reply.tier) is not None:
        if tier not in TIERS:
            raise Unusual
        out["service_tier"] = tier
    return out


def write_response(d: OpenAIChat, tree: Response, log: Ledger) -> Json:
    w = d.writing(log, tree.dialect, reply=True)
    out: dict[str, Json] = {}
    write_head(d, out, tree, w)
    choices: list[Json] = []
    out["choices"] = choices
    for index, candidate in enumerate(tree.candidates):
        choices.append(d.write_candidate(candidate, index, w))
    if d.fills_silence and tree.dialect in ITEMIZED:
        fill_silence(d, choices, tree, log)
    d.put_usage(out, tree, w)
    if tree.service_tier is not None:
        d.fields["service_tier"].write(out, tree.service_tier, tree.at, w, d.name)
    if tree.failure is not None:
        written = d.write_error(tree.failure, log)
        out["error"] = written.get("error", written)  # a dialect may have no object around it
    return out if tree.extras is None else d.emit(out, tree, log)


def fill_silence(d: OpenAIChat, choices: list[Json], tree: Response, log: Ledger) -> None:
    """What stands for an output without a message and a call: "[No response generated]"."""
    for choice, candidate in zip(choices, tree.candidates, strict=True):
        if choice["message"].get("content") is not None:
            continue  # as in most
        written = (value for key, value in choice["message"].items() if key != "role")
        ended = candidate.stop is not None and candidate.stop.reason not in UNDER_WAY
        if ended and all(value is None for value in written):
            choice["message"]["content"] = NO_RESPONSE
            why = f"a response without output is {NO_RESPONSE!r} in {d.name}"
            log.approximated("message.empty", candidate.message.at, why)


def write_head(d: OpenAIChat, out: dict[str, Json], tree: Response, w: Writing) -> None:
    heads.put_id(d, out, tree, w, "chatcmpl-1")
    out["object"] = "chat.completion"
    heads.put_seconds(d, out, "created", tree, w)
    heads.put_model(d, out, tree, w)


def write_candidate(d: OpenAIChat, candidate: Candidate, index: int, w: Writing) -> Json:
    out: dict[str, Json] = {
        "index": index,
        "message": d.write_reply(candidate, w),
        "finish_reason": d.stop_word(candidate, w),
        "logprobs": candidate.logprobs,
    }
    return out if candidate.extras is None else d.emit(out, candidate, w.log)


def write_reply(d: OpenAIChat, candidate: Candidate, w: Writing) -> Json:
    message = candidate.message if w.same else drop_empty_texts(candidate.message, w.log)
    doc = d.write_assistant(message, w)
    assert doc is not None  # a response may be empty
    doc.setdefault("refusal", None)
    return doc


def choose_stop(d: OpenAIChat, candidate: Candidate, stop: Stop) -> str | None:
    if stop.reason == "filter":
        if any(isinstance(block, Refusal) for block in as_read(d, candidate).content):
            return "stop"
    if stop.reason == "other" and not candidate.message.content:
        return d.stops.rest  # what says nothing must not look complete
    return Dialect.choose_stop(d, candidate, stop)


def as_read(d: OpenAIChat, candidate: Candidate) -> Message:
    """What a reader will find of a reply: an empty refusal is none, and calls come last."""
    for block in candidate.message.content:
        if block.__class__ is not Text:
            break
    else:
        return candidate.message
    written = [block for block in candidate.message.content if not is_empty_text(block)]
    return Message("assistant", tuple(sorted(written, key=lambda b: isinstance(b, ToolCall))))


def settle(d: OpenAIChat, message: Message, log: Ledger) -> Message:
    """A history holds no citations, and speech by its id. What servers added stays."""
    content = tuple(settle_block(d, block, log) for block in message.content)
    return replace(message, content=content)


def settle_block(d: OpenAIChat, block: Block, log: Ledger) -> Block:
    if isinstance(block, Text) and block.citations:
        for cite in block.citations:
            log.dropped(
                "text.citations", cite.at, f"{d.name} has no citations in the messages of a request"
            )
        return replace(block, citations=())
    if isinstance(block, Media) and parts.place_of(d, block) == "audio":
        spoken = block.extras.fields.get("id") if block.extras else None
        if block.source.kind == "base64" and isinstance(spoken, str):
            log.dropped(
                "media.transcript",
                block.at,
                f"{d.name} has audio in the messages of a request by its id only",
            )
            place = Extras(d.name, spelling={"place": "audio"})
            return Media("audio", Source("file", spoken, issuer=d.issuer), extras=place)
    return block


def is_failure(d: OpenAIChat, doc: dict[str, Json]) -> bool:
    """Whether an error came in place of a reply, or in the middle of its stream."""
    return doc.get("error") is not None and not doc.get("choices")


def read_choice_of_reply(d: OpenAIChat, doc: dict[str, Json], index: int) -> Candidate:
    at = f"/choices/{index}"
    given: Json = doc.get("message")
    where = f"{at}/message"
    if given is None and is_filtered(d, doc):
        given, where = FILTERED, at
    elif given.__class__ is not dict:
        need_dict(doc, "message", at)
    message = without_empty_texts(d.read_assistant(given, where))
    if given.get("role") != "assistant":
        maybe_str(given, "role", message.at)
    stop = d.stop_of(maybe_str(doc, "finish_reason", at), message)
    extras = None if USUAL_CHOICE(doc) else d.keep(doc, CHOICE_KEYS)
    return Candidate(message, stop, doc.get("logprobs"), at=at, extras=extras)


def is_filtered(d: OpenAIChat, doc: dict[str, Json]) -> bool:
    """Whether a filter has stopped a choice, which may then have no message (Azure)."""
    word = doc.get("finish_reason")
    return word.__class__ is str and d.stops.meanings.get(word) == "filter"


def without_empty_texts(message: Message) -> Message:
    """``"content": ""`` says no more than null: many servers put it beside calls."""
    for block in message.content:
        if (block.__class__ is Text or block.__class__ is Refusal) and not block.text:
            break
    else:
        return message  # as most are
    content = [block for block in message.content if not is_empty_text(block)]
    return replace(message, content=tuple(content))


def holds_failure(d: OpenAIChat, tree: Response) -> bool:
    return "beside" in d.spelling(tree)  # as some servers have it


def read_error(d: OpenAIChat, doc: Json) -> Failure:
    if doc.__class__ is str:
        return Failure("other", doc, dialect=d.name)
    doc = as_dict(doc, "")
    inner = doc.get("error")
    if inner.__class__ is not dict:
        key = next((k for k in WORDS if doc.get(k).__class__ is str), "")
        words = doc[key] if key else ""
        extras = d.keep(doc, (key,) if key else ())
        return Failure(d.errors.get(words, "other"), words, dialect=d.name, extras=extras)
    known = [k for k in ("message", "type", "code", "param") if inner.get(k).__class__ is str]
    given = {k: inner[k] for k in known}
    status = inner.get("code")
    number = STATUS.get(status) if status.__class__ is int else None
    kind = error_kind(d, given, number)
    if number is not None and number == kind:  # else it says something else than the words
        known.append("code")
    return Failure(
        kind,
        given.get("message", ""),
        given.get("type"),
        given.get("code"),
        given.get("param"),
        dialect=d.name,
        extras=d.keep(doc, (), partly={"error": known}),
    )


def error_kind(d: OpenAIChat, written: dict[str, str], status: ErrorKind | None) -> ErrorKind:
    """What an error is: by its words, then by its number; what says more goes first."""
    code, kind = d.errors.get(written.get("code", "")), d.errors.get(written.get("type", ""))
    if code == "invalid-request" and kind is not None:
        code = kind  # DeepSeek's code for a wrong key
    return code or kind or status or "other"


def write_error(d: OpenAIChat, tree: Failure, log: Ledger) -> Json:
    same = d.is_same(tree.dialect)
    inner: dict[str, Json] = {"message": tree.message, "type": tree.type}
    inner |= {"param": tree.param, "code": tree.code}
    if not same:
        d.write_error_words(inner, tree, log)
        d.note_error(tree, log)
    elif tree.extras is not None and tree.extras.fields.get("error", {}).__class__ is not dict:
        return d.emit({"message": tree.message}, tree, log)  # the words stand beside it
    elif d.read_error({"error": inner}).kind != tree.kind:  # a status told it, or a message
        inner["type"] = d.error_types.get(tree.kind)
    out = d.emit({"error": inner}, tree, log)
    written, code = out["error"], inner.get("code")
    if same and written.__class__ is dict and d.read_error(out).kind != tree.kind:
        written["code"] = STATUS_OF.get(tree.kind, written.get("code"))  # the type is no word
    if d.says_status and not same and written.__class__ is dict and written["code"] != code:
        written["code"] = code  # kin pass on a number that tells another kind
        log.dropped(
            "extras",
            f"{tree.at}/error/code",
            f"the field contradicts the type of the error in {d.name}",
        )
    return out


def write_error_words(d: OpenAIChat, inner: dict[str, Json], tree: Failure, log: Ledger) -> None:
    """The words of an error from elsewhere."""
    words = d.error_types
    if words is not ERROR_TYPES or ERRORS.get(tree.type or "") != tree.kind:
        inner["type"] = words.get(tree.kind, words["server"])
    if d.says_status:
        if tree.code is not None:
            why = f"the code of an error is a number in {d.name}"
            log.dropped("error.code", tree.at, why)
        inner["code"] = STATUS_OF.get(tree.kind, 500)
    if tree.kind not in words or d.read_error({"error": inner}).kind != tree.kind:
        note_error_type(tree, inner["type"], log)


def error_beside(
    doc: dict[str, Json], choices: list[dict[str, Json]], is_stop: bool
) -> tuple[int | None, Json] | None:
    """The error that some servers put beside the choices, or into one, or only name there
    (unless that is a usual way to stop).

    The number of the choice, if it is one that has or names it, and the error.
    https://openrouter.ai/docs/api-reference/errors#streaming-error-handling
    """
    if doc.get("error"):
        return None, {"error": doc["error"]}
    for number, choice in enumerate(choices):
        if choice.get("error"):
            return number, {"error": choice["error"]}
    for number, choice in enumerate(choices):
        if choice.get("finish_reason") == "error" and not is_stop:
            return number, {"error": {"message": ENDED_IN_ERROR, "type": "server_error"}}
    return None
