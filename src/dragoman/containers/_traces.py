"""Traces of calls: what was asked and what came back, as an application has logged it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.reading import UNREADABLE, decode, encode
from ..detect import candidates, is_tied
from ..errors import DragomanError, Malformed
from ..ledger import Loss
from ..model import Json
from ._documents import Document
from ._kinds import Found

PARAMETERS = frozenset(
    {
        "temperature", "top_p", "max_tokens", "max_completion_tokens", "stop", "seed", "tools",
        "tool_choice", "response_format", "frequency_penalty", "presence_penalty",
    }
)  # fmt: skip
"""What of logged parameters is a field of a request."""
REQUEST_KEYS = ("messages", "contents", "input")
USUAL = "openai-chat"
"""The dialect in which applications log messages that could be of several."""


def parsed(value: Json) -> Json:
    """A value that was logged as JSON text."""
    if value.__class__ is str and value.lstrip()[:1] in ("{", "["):
        try:
            return decode(value.encode("utf-8", "surrogatepass"))
        except UNREADABLE:
            return value
    return value


def call(
    at: str, asked: Json, asked_at: str, reply: Json, reply_at: str, model: Json, given: Json,
    title: str, notes: tuple[Loss, ...] = (),
) -> Found:  # fmt: skip
    """A logged call as a request and, where there is one, a response."""
    why = f"a call in {title}"
    try:
        request, place = _request(parsed(asked), asked_at, at, model, given)
        dialect = _dialect(request, "request") or USUAL
        documents = [
            Document(encode(request), dialect, "request", at=at, why=why, place=place, notes=notes)
        ]
        reply = parsed(reply)
        if reply not in (None, "", {}, []):
            documents.append(_response(reply, reply_at, at, model, why))
    except DragomanError as problem:
        return Found(at, (), problem)
    return Found(at, tuple(documents))


def _request(
    asked: Json, asked_at: str, at: str, model: Json, given: Json
) -> tuple[dict[str, Json], Callable[[str], str]]:
    inner = ""
    if asked.__class__ is str and asked:
        document: dict[str, Json] = {"messages": [{"role": "user", "content": asked}]}
        inner = "/messages/0/content"
    elif _are_messages(asked):
        document, inner = {"messages": asked}, "/messages"
    elif asked.__class__ is dict and any(asked.get(key) for key in REQUEST_KEYS):
        document = asked
    else:
        raise Malformed("no messages in this call", asked_at)
    own = set(document)
    if "contents" not in document:
        if model.__class__ is str and model and "model" not in document:
            document = {"model": model, **document}
        if given.__class__ is dict:
            more = {k: v for k, v in given.items() if k in PARAMETERS and v is not None}
            document = {**more, **document}

    def place(path: str) -> str:
        if inner and path.startswith(inner):
            return asked_at + path[len(inner) :]
        head = path.split("/")[1] if path else ""
        return asked_at + path if not inner and (not head or head in own) else at

    return document, place


def _are_messages(value: Json) -> bool:
    return (
        value.__class__ is list
        and bool(value)
        and all(item.__class__ is dict and "role" in item for item in value)
    )


def _dialect(value: Json, facet: str) -> str | None:
    guesses = candidates(value, facet)
    return None if not guesses or is_tied(guesses) else guesses[0].dialect


def _response(reply: Json, reply_at: str, at: str, model: Json, why: str) -> Document:
    if reply.__class__ is list and len(reply) == 1:
        reply, reply_at = reply[0], f"{reply_at}/0"
    if reply.__class__ is dict and any(key in reply for key in ("choices", "candidates", "output")):
        dialect = _dialect(reply, "response")
        if dialect is not None:
            return Document(
                encode(reply), dialect, "response", at=at, why=why, place=reply_at.__add__
            )
    if reply.__class__ is dict and _dialect(reply, "response") == "anthropic-messages":
        return Document(
            encode(reply), "anthropic-messages", "response", at=at, why=why, place=reply_at.__add__
        )
    message: Any = reply
    inner = "/choices/0/message"
    if reply.__class__ is str:
        message, inner = {"role": "assistant", "content": reply}, f"{inner}/content"
    elif reply.__class__ is dict and ("content" in reply or "tool_calls" in reply):
        message = {"role": "assistant", **reply}
    else:
        raise Malformed("neither a message nor a response", reply_at)
    response: dict[str, Json] = {"choices": [{"index": 0, "message": message}]}
    if model.__class__ is str and model:
        response["model"] = model

    def place(path: str) -> str:
        return reply_at + path[len(inner) :] if path.startswith(inner) else reply_at

    return Document(encode(response), USUAL, "response", at=at, why=why, place=place)
