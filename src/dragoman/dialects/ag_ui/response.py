"""What a run gave, at rest, both ways.

The protocol has a document for it in its client alone: ``runAgent`` returns the ``newMessages`` of
the run. Beside them stands what the first event and the last one tell of the run. Each text is a
message of its own, and so is each block of reasoning; calls belong to the message before them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core import heads
from ...core.counts import ALL, INPUT, OUTPUT, Counts
from ...core.reading import as_dict, as_str, maybe_list, maybe_str, need_list, need_str
from ...core.words import Stops
from ...core.writing import Writing
from ...ledger import Ledger
from ...model import (
    Block,
    Candidate,
    Extras,
    Failure,
    Json,
    Message,
    Raw,
    Reasoning,
    Response,
    Stop,
    Text,
    ToolCall,
    Usage,
)
from . import messages
from .messages import WHOLE, made_id

if TYPE_CHECKING:
    from . import AgUI

KEY = "newMessages"
THREAD, RUN = "thread-1", "run-1"
PENDING = "pendingToolCallIds"
STOPS = Stops(
    {"success": "end", "cancelled": "cancelled", "interrupt": "pause"},
    {"pause": "success"},  # an interrupt says what it waits for
    rest="success",
    vague=("success",),
)
COUNTS = Counts(
    {
        "inputTokens": INPUT,
        "outputTokens": OUTPUT,
        "totalTokens": ALL,
        "reasoningTokens": ("reasoning",),
        "cachedInputTokens": ("cache_read",),
        "cacheWriteInputTokens": ("cache_write",),
    },
    omits=True,
)


def read_response(d: AgUI, doc: Json) -> Response:
    doc = as_dict(doc, "")
    if KEY not in doc and doc.get("type") == "RUN_ERROR":
        return Response(None, None, (), failure=read_error(d, doc), dialect=d.name)
    docs = need_list(doc, KEY, "")
    message = Message("assistant", tuple(read_blocks(d, docs, f"/{KEY}")), at=f"/{KEY}")
    taken = {KEY, "runId"} | ({"threadId"} if doc.get("threadId") == THREAD else set())
    model, usage, counted = read_counts(d, doc.get("usage"))
    if counted:
        taken.add("usage")
    outcome = doc.get("outcome")
    waiting = pending(docs)
    stop, known = read_stop(d, outcome, waiting)
    spelled: dict[str, Json] = {"pending": True} if PENDING in known else {}
    return Response(
        maybe_str(doc, "runId", ""),
        model,
        (Candidate(message, stop, at=""),),
        usage,
        dialect=d.name,
        extras=d.keep(doc, taken, spelled, partly={"outcome": known} if known else {}),
    )


def read_counts(d: AgUI, docs: Json) -> tuple[str | None, Usage | None, bool]:
    """The model and the tokens of a run in which one model was asked, and whether it was one."""
    entry = docs[0] if docs.__class__ is list and len(docs) == 1 else None
    if entry.__class__ is not dict:
        return None, None, False
    said = {key for key, value in entry.items() if value is not None}
    model = entry.get("model")
    if model is not None and model.__class__ is not str:
        return None, None, False
    if said & COUNTS.rows.keys():
        usage = d.counts.read(d, entry, "/usage/0", ("model",))
        return model, usage, True
    return (model, None, True) if said == {"model"} else (None, None, False)


def pending(docs: list[Json]) -> list[str]:
    """The ids of calls without a result."""
    replied = {doc.get("toolCallId") for doc in docs if doc.get("role") == "tool"}
    spoken = (doc for doc in docs if doc.get("role") == "assistant")
    calls = [call for doc in spoken for call in doc.get("toolCalls") or ()]
    return [call["id"] for call in calls if call["id"] not in replied]


def read_stop(d: AgUI, outcome: Json, waiting: list[str]) -> tuple[Stop | None, tuple[str, ...]]:
    """Why a run ended, and the keys of its outcome that say so."""
    word = outcome.get("type") if outcome.__class__ is dict else None
    if word.__class__ is not str:
        return Stop("tool-call" if waiting else "end", None, d.name), ()
    if word != "success":
        return Stop(STOPS.meanings.get(word, "other"), word, d.name), ("type",)
    listed = outcome.get(PENDING)
    waits = waiting if listed is None else listed
    stop = Stop("tool-call" if waits else "end", word, d.name)
    return stop, ("type", PENDING) if listed == waiting else ("type",)


def echo(d: AgUI, request: Json) -> Extras | None:
    """The ids of the thread and the run, which the front end gives."""
    asked = request if request.__class__ is dict else {}
    ids = {key: asked[key] for key in ("threadId", "runId") if asked.get(key).__class__ is str}
    return Extras(d.name, ids) if ids else None


def write_response(d: AgUI, tree: Response, log: Ledger) -> Json:
    w = messages.writing(d, log, tree.dialect)
    candidate = tree.candidates[0] if tree.candidates else Candidate(Message("assistant"))
    out: dict[str, Json] = {"threadId": THREAD}
    write_id(d, out, tree, w)
    out[KEY] = write_blocks(d, candidate.message.content, w)
    if (word := d.stop_word(candidate, w)) is not None:
        out["outcome"] = write_outcome(d, tree, candidate, word, out[KEY], w)
    entry: dict[str, Json] = {}
    if tree.model is not None:
        entry["model"] = tree.model
    if tree.usage is not None:
        entry |= d.write_usage(tree.usage, w)
    if entry:
        out["usage"] = [entry]
    d.lose(candidate.extras, candidate.at, log)
    d.lose(candidate.message.extras, candidate.message.at, log)
    return d.emit(out, tree, log)


def write_id(d: AgUI, out: dict[str, Json], tree: Response, w: Writing) -> None:
    echo, found = tree.echo, tree.id
    if echo is not None and d.is_same(echo.dialect):
        out |= echo.fields
        if found is not None and "runId" in out:
            why = "the run has the id that the front end has given it"
            w.log.dropped("response.id", tree.at, why)
            return
    elif echo is not None and echo.fields:
        d.lack("response.echo", tree.at, w.log)
    if "runId" in out:
        return
    if found is None and not w.same:
        found = w.log.ids("run") if w.log.ids else RUN
        heads.make_up("id", found, d, w.log)
    if found is not None:
        out["runId"] = found


def write_outcome(
    d: AgUI, tree: Response, candidate: Candidate, word: str, docs: list[Json], w: Writing
) -> Json:
    out: dict[str, Json] = {"type": word}
    calls = candidate.stop is not None and candidate.stop.reason == "tool-call"
    if d.spelling(tree).get("pending") if w.same else calls and word == "success":
        out[PENDING] = pending(docs)
    return out


# -- the messages ---------------------------------------------------------------------------


def read_blocks(d: AgUI, docs: list[Json], at: str) -> list[Block]:
    out: list[Block] = []
    after = False  # whether the message before is of the assistant
    for index, item in enumerate(docs):
        where = f"{at}/{index}"
        out += read_message(d, as_dict(item, where), index, after, where)
        after = item["role"] == "assistant"
    return out


def read_message(d: AgUI, doc: dict[str, Json], index: int, after: bool, at: str) -> list[Block]:
    """The blocks of a message; ``after``: after another one of the assistant."""
    role = need_str(doc, "role", at)
    name = maybe_str(doc, "id", at)
    taken = {"role", "id"} if name == made_id(index) else {"role"}
    if role == "reasoning":
        return [messages.read_reasoning(d, doc, taken, at)]
    if role != "assistant":  # of a tool that the agent ran, or for the eyes of the user
        messages.read_message(d, doc, role, set(taken), at)
        if role not in ("tool", "activity"):
            as_str(doc.get("content"), f"{at}/content")
        return [Raw(d.name, doc, code=WHOLE, at=at)]
    extras = d.keep(doc, taken | {"content", "toolCalls"})
    text = maybe_str(doc, "content", at)
    calls = maybe_list(doc, "toolCalls", at) or ()
    out: list[Block] = []
    if text is not None or not calls:
        out.append(Text(text or "", at=at, extras=extras))
    elif extras is not None:
        out.append(Raw(d.name, extras.fields, at=at))
    for number, item in enumerate(calls):
        where = f"{at}/toolCalls/{number}"
        call = messages.read_call(d, as_dict(item, where), where)
        if after and not out:
            call = replace(call, extras=d.respell(call.extras, apart=True))
        out.append(call)
    return out


def write_blocks(d: AgUI, blocks: Sequence[Block], w: Writing) -> list[Json]:
    out: list[Json] = []
    turn: dict[str, Json] | None = None  # the message that calls belong to
    for block in blocks:
        if isinstance(block, ToolCall):
            if turn is None or is_apart(d, block):
                turn = {"id": made_id(len(out)), "role": "assistant"}
                out.append(turn)
            call = messages.write_call(d, block, w, w.call_once(block))
            turn.setdefault("toolCalls", []).append(call)
            continue
        own = isinstance(block, Raw) and d.is_same(block.dialect)
        turn = write_head(d, block, made_id(len(out)), w)
        if turn is not None:
            out.append(turn)
        elif isinstance(block, Reasoning):
            out.append(messages.write_reasoning(d, block, made_id(len(out)), w))
        elif isinstance(block, Raw) and own:
            out.append(block.payload)
        else:
            d.omit(block, w.log)
    return out


def write_head(d: AgUI, block: Block, made: str, w: Writing) -> dict[str, Json] | None:
    """The message of the assistant that a block begins, if it begins one."""
    out: dict[str, Json] = {"id": made, "role": "assistant"}
    if isinstance(block, Text):
        return d.emit(out | {"content": block.text}, block, w.log)
    if isinstance(block, Raw) and block.code != WHOLE and d.is_same(block.dialect):
        fields: dict[str, Json] = block.payload
        return out | fields
    return None


def is_apart(d: AgUI, call: ToolCall) -> bool:
    """Whether a call begins a message, though it could belong to the one before."""
    return bool(d.spelling(call).get("apart"))


# -- errors ---------------------------------------------------------------------------------


def read_error(d: AgUI, doc: Json) -> Failure:
    doc = as_dict(doc, "")
    taken = {"message", "code"} | ({"type"} if doc.get("type") == "RUN_ERROR" else set())
    text, code = as_str(doc.get("message"), "/message"), maybe_str(doc, "code", "")
    return Failure("other", text, code=code, dialect=d.name, extras=d.keep(doc, taken))


def write_error(d: AgUI, tree: Failure, log: Ledger) -> Json:
    if not d.is_same(tree.dialect):
        if tree.kind != "other" or tree.type is not None:
            d.lack("error.type", tree.at, log)
        d.note_error(tree, log)
    out: dict[str, Json] = {"type": "RUN_ERROR", "message": tree.message}
    if tree.code is not None:
        out["code"] = tree.code
    return d.emit(out, tree, log)
