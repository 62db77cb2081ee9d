"""Conversations inside of other documents: at a JSON pointer, in HTTP captures, HAR files, pairs.

A capture is ``{"method", "path", "body"}`` (or ``"url"``, as in the files of batch APIs), a pair is
``{"request": ..., "response": ...}`` or a capture with the status and the body of its reply, and a
HAR file is a list of pairs. What stands in them is a document as any; ``Document.place`` tells
where, so that the ledger and the errors point into the file that people have.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple
from urllib.parse import urlsplit

from msgspec.structs import replace

from .. import dialects
from ..core import duplicates
from ..core.reading import UNREADABLE, decode, encode, escape
from ..core.surrogates import parse_exactly
from ..detect import candidates
from ..errors import Malformed
from ..ledger import Loss
from ..model import Json
from .faults import MALFORMED, USAGE, Fault
from .inputs import Document, Hint, Nothing

# The end of a path -> the dialect, as the vendors document it; what stands in the path and not in
# the body is the model, and whether a stream is asked for.
PATHS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), dialect)
    for pattern, dialect in (
        (r"/v1/messages(?:/count_tokens)?$", "anthropic-messages"),
        (r"/(?P<model>[^/:]+):(?P<stream>stream)?[rR]awPredict$", "anthropic-messages"),
        (r"/openai/deployments/(?P<model>[^/]+)/chat/completions$", "azure-openai"),
        (r"/chat/completions$", "openai-chat"),
        (r"/responses(?:/input_tokens)?$", "openai-responses"),
        (r"/(?P<model>[^/:]+):(?P<stream>stream)?[gG]enerateContent$", "gemini"),
        (r"/(?P<model>[^/:]+):countTokens$", "gemini"),
        (r"/model/(?P<model>[^/]+)/converse(?P<stream>-stream)?$", "bedrock-converse"),
        (r"/api/chat$", "ollama"),
        (r"/v2/chat$", "cohere"),
    )
)
# The end of a host -> whose variant of OpenAI Chat is spoken there.
COUNTS = re.compile(r"[/:](?:count_?[tT]okens|input_tokens)\b")
"""The reply to such a request is a number of tokens."""
MODEL_KEYS = {"gemini": "model", "bedrock-converse": "modelId"}
"""Where a dialect whose address names the model has it in its documents."""
# What every capture, pair or HAR has in its bytes; anything else is not parsed once more.
SIGNS = (
    (b'"method"', b'"body"'),
    (b'"request"', b'"response"'),
    (b'"request"', b'"status"'),
    (b'"log"', b'"entries"'),
)
URL = re.compile(r"(?:[a-z]+://(?P<host>[^/]+))?(?P<path>/[^?#]*)?")


class View(NamedTuple):
    """What of a document is meant: what stands at pointers, one facet of a pair, or both joined."""

    at: tuple[str, ...] = ()
    facet: str | None = None
    join: bool = False


class Part(NamedTuple):
    """A value inside of another, and where it stands there."""

    at: str
    value: Json


def bare(url: str) -> str:
    """An address without its query, which may have a key in it."""
    found = URL.match(url)
    return found[0] if found else ""


def may_wrap(data: bytes) -> bool:
    """Whether a document has what every capture, pair or HAR file has."""
    return any(one in data and other in data for one, other in SIGNS)


def unwrap(document: Document, view: View) -> Iterator[Document]:
    """The conversations of a document; mostly that is the document itself."""
    if view.at:
        whole = parse_exactly(document.data)
        for part in found(whole, view.at, document.name):
            yield from opened(document, whole, part, view)
        return
    if not may_wrap(document.data):
        yield document
        return
    try:
        whole = parse_exactly(document.data)
    except Malformed:
        yield document  # which is written when it is read
        return
    yield from opened(document, whole, Part("", whole), view)


def opened(document: Document, whole: Json, part: Part, view: View) -> Iterator[Document]:
    value = part.value
    if is_har(value):
        for index, entry in enumerate(value["log"]["entries"]):
            pair = har_pair(entry, f"{part.at}/log/entries/{index}")
            if pair is not None:
                yield from paired(document, pair, view, label=f"{part.at}/log/entries/{index}")
    elif is_pair(value):
        yield from paired(document, pair_of(value, part.at), view, label=part.at)
    elif is_capture(value):
        yield requested(document, captured(value, part.at), label=part.at)
    elif part.at:
        inner = text_of(value)
        notes = twice_in(value, part.at)
        yield document.inside(part.at, encode(inner), None, label=part.at, notes=notes)
    else:
        yield document


# -- pointers --------------------------------------------------------------------------------------


def found(whole: Json, pointers: tuple[str, ...], name: str) -> Iterator[Part]:
    """What stands at the pointers; ``*`` is every item of a list, or every value of an object."""
    for pointer in pointers:
        parts = list(resolve(whole, pointer))
        if not parts:
            raise Nothing(f"nothing at {pointer}", MALFORMED, where=name)
        yield from parts


def resolve(whole: Json, pointer: str) -> Iterator[Part]:
    """The values at a pointer, of which a token may be ``*``.

    >>> list(resolve({"a": [{"b": 1}, {"b": 2}]}, "/a/*/b"))
    [Part(at='/a/0/b', value=1), Part(at='/a/1/b', value=2)]
    """
    parts = [Part("", whole)]
    for token in pointer.split("/")[1:]:
        parts = [inner for part in parts for inner in _step(part, token)]
    return iter(parts)


def _step(part: Part, token: str) -> Iterator[Part]:
    at, value = part.at, text_of(part.value)
    key = token.replace("~1", "/").replace("~0", "~")
    if value.__class__ is dict:
        keys = list(value) if token == "*" and "*" not in value else [key]
        yield from (Part(f"{at}/{escape(k)}", value[k]) for k in keys if k in value)
    elif value.__class__ is list:
        count = range(len(value))
        indices = count if token == "*" else [int(key)] if key.isdecimal() else []
        yield from (Part(f"{at}/{i}", value[i]) for i in indices if i in count)


def placed(whole: Json, at: str, value: Json) -> Json:
    """The document with another value at a pointer; the document itself is not changed."""
    if not at:
        return value
    head, *rest = at.split("/")[1:]
    key = head.replace("~1", "/").replace("~0", "~")
    tail = "".join(f"/{token}" for token in rest)
    if whole.__class__ is list:
        index = int(key)
        return [*whole[:index], placed(whole[index], tail, value), *whole[index + 1 :]]
    return whole | {key: placed(whole[key], tail, value)}


def text_of(value: Json) -> Json:
    """What a text says if it is JSON, as the bodies of HAR files are; any other value as it is."""
    if value.__class__ is str and value.lstrip()[:1] in ("{", "["):
        try:
            return decode(value.encode())
        except UNREADABLE:
            pass
    return value


def twice_in(value: Json, at: str) -> tuple[Loss, ...]:
    """What a text loses where it is taken for the JSON that it is: keys that stand in it twice."""
    inner = text_of(value)
    if inner is value:
        return ()
    losses = duplicates.losses(value.encode(), inner)
    return tuple(replace(loss, path=at + loss.path) for loss in losses)


# -- captures, pairs, HAR --------------------------------------------------------------------------


class Captured(NamedTuple):
    """A request as it went over the wire: what its address tells, and its body."""

    at: str
    body: Json
    url: str = ""
    method: str = "POST"
    host: str = ""
    url_at: str = ""
    notes: tuple[Loss, ...] = ()


class Reply(NamedTuple):
    """What came back. A stream is text."""

    at: str
    body: Json
    status: int = 200
    notes: tuple[Loss, ...] = ()


class Pair(NamedTuple):
    request: Captured
    reply: Reply | None


def is_capture(value: Json) -> bool:
    return (
        value.__class__ is dict
        and value.get("method").__class__ is str
        and (value.get("path") or value.get("url")).__class__ is str
        and "messages" not in value
    )


def captured(value: dict[str, Json], at: str) -> Captured:
    url = str(value.get("path") or value.get("url"))
    body = value.get("body")
    if body is None and value.get("websocket_messages").__class__ is list:
        sent = [m for m in value["websocket_messages"] if m.__class__ is dict and "input" in m]
        if sent:  # the Responses API over a socket: a request is its message
            index = value["websocket_messages"].index(sent[-1])
            frame = {k: v for k, v in sent[-1].items() if k != "type"}
            return Captured(f"{at}/websocket_messages/{index}", frame, url, "POST")
    url_at = f"{at}/path" if value.get("path") else f"{at}/url"
    at, twice = f"{at}/body", twice_in(body, f"{at}/body")
    return Captured(at, text_of(body), url, value["method"], _host(value), url_at, twice)


def _host(value: dict[str, Json]) -> str:
    headers = value.get("headers")
    if headers.__class__ is dict:
        headers = [list(pair) for pair in headers.items()]
    for pair in headers if headers.__class__ is list else ():
        if pair.__class__ is dict:  # as HAR has them
            pair = [pair.get("name"), pair.get("value")]
        if pair.__class__ is list and len(pair) == 2 and str(pair[0]).lower() == "host":
            return str(pair[1])
    return ""


def is_pair(value: Json) -> bool:
    return (
        value.__class__ is dict
        and value.get("request").__class__ is dict
        and ("response" in value or ("status" in value and ("body" in value or "text" in value)))
    )


def pair_of(value: dict[str, Json], at: str) -> Pair:
    inner = value["request"]
    request = (
        captured(inner, f"{at}/request") if is_capture(inner) else Captured(f"{at}/request", inner)
    )
    if "response" in value:
        return Pair(request, reply_of(value["response"], f"{at}/response"))
    return Pair(request, reply_of(value, at))


def reply_of(value: Json, at: str) -> Reply:
    if value.__class__ is not dict:
        return Reply(at, text_of(value), notes=twice_in(value, at))
    status = value.get("status", value.get("status_code", 200))
    status = status if status.__class__ is int else 200
    for key in ("body", "text"):
        if key in value and ("status" in value or "status_code" in value or "headers" in value):
            place, written = f"{at}/{key}", value[key]
            return Reply(place, text_of(written), status, twice_in(written, place))
    return Reply(at, value)


def is_har(value: Json) -> bool:
    if value.__class__ is not dict or value.get("log").__class__ is not dict:
        return False
    entries = value["log"].get("entries")
    return entries.__class__ is list and all(entry.__class__ is dict for entry in entries)


def har_pair(entry: dict[str, Json], at: str) -> Pair | None:
    """One entry of a HAR file; None where it is no call of a model."""
    request: Json = entry.get("request")
    response: Json = entry.get("response")
    if request.__class__ is not dict or request.get("url").__class__ is not str:
        return None
    posted = request.get("postData")
    if posted.__class__ is not dict or dialect_of(request["url"], "") is None:
        return None
    asked_at = f"{at}/request/postData/text"
    written = Captured(
        asked_at,
        text_of(posted.get("text")),
        request["url"],
        str(request.get("method")),
        url_at=f"{at}/request/url",
        notes=twice_in(posted.get("text"), asked_at),
    )
    response = response if response.__class__ is dict else {}
    content = response.get("content")
    if content.__class__ is not dict or content.get("text").__class__ is not str:
        return Pair(written, None)
    text = content["text"]
    if content.get("encoding") == "base64":
        text = _decoded(text)
    status = response.get("status")
    status = status if status.__class__ is int else 200
    place = f"{at}/response/content/text"
    return Pair(written, Reply(place, text_of(text), status, twice_in(text, place)))


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return text


# -- what a capture is -----------------------------------------------------------------------------


class Address(NamedTuple):
    dialect: str
    model: str | None
    stream: bool


def dialect_of(url: str, host: str) -> Address | None:
    """What an address tells.

    >>> dialect_of("/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", "")
    Address(dialect='gemini', model='gemini-2.5-pro', stream=True)
    """
    parts = URL.match(url)
    path = (parts["path"] if parts else None) or ""
    host = (parts["host"] if parts else None) or host
    for pattern, dialect in PATHS:
        if seen := pattern.search(path):
            known = seen.groupdict()
            if dialect == "openai-chat":
                dialect = next((name for end, name in chat_hosts() if host.endswith(end)), dialect)
            return Address(dialect, known.get("model"), bool(known.get("stream")))
    return None


@cache
def chat_hosts() -> tuple[tuple[str, str], ...]:
    """The hosts whose Chat Completions are a dialect of their own, as the dialects declare them."""
    found = [
        (urlsplit(row.base).hostname or "", name)
        for name in dialects.names()
        for row in dialects.get(name).endpoints
        if row.base and row.path.endswith("/chat/completions") and name != "openai-chat"
    ]
    remote = [(host, name) for host, name in found if host != "localhost"]
    return (*remote, ("openai.azure.com", "azure-openai"))  # every customer has another host there


def requested(document: Document, written: Captured, label: str = "") -> Document:
    """The request of a capture; ``Nothing`` where there is none in it."""
    address = dialect_of(written.url, written.host) if written.url else None
    if written.body.__class__ is not dict or written.method.upper() not in ("POST", "PUT"):
        what = f"{written.method} {bare(written.url)}" if written.url else "a capture"
        raise Nothing(f"no conversation: {what}", USAGE, where=document.name)
    if address is None:
        return document.inside(
            written.at, encode(written.body), None, label=label, notes=written.notes
        )
    body = written.body
    key = MODEL_KEYS.get(address.dialect)
    if key is not None and address.model and key not in body:
        body = {key: address.model} | body
    # A server's own variant of what the address says shows in the body.
    dialect = variant_of(address.dialect, body, "request")
    why = f"by its URL, {bare(written.url)}"
    hint = Hint(dialect, "request", why, asks_stream=written.url_at if address.stream else "")
    inside = document.inside(written.at, encode(body), hint, label=label, notes=written.notes)
    if body is not written.body and written.url_at:  # the model stands in the address
        inside.place = lambda path: written.url_at if path == f"/{key}" else written.at + path
    return inside


def variant_of(dialect: str, body: Json, facet: str) -> str:
    base = type(dialects.get(dialect))
    for guess in candidates(body, facet)[:1]:
        if isinstance(dialects.get(guess.dialect), base):
            return guess.dialect
    return dialect


def paired(document: Document, pair: Pair, view: View, label: str) -> Iterator[Document]:
    """A request and its reply: each for itself, one of them, or the history with the reply."""
    request = requested(document, pair.request, label)
    if pair.reply is None or COUNTS.search(pair.request.url):
        if view.facet in (None, "request"):
            yield request
        return
    if view.join and view.facet is None:
        from .joining import joined

        yield joined(request, replied(document, pair.reply, request, label))
        return
    if view.facet in (None, "request"):
        yield request
    if view.facet != "request":
        reply = replied(document, pair.reply, request, label)
        if view.facet is None or (reply.hint and reply.hint.facet == view.facet):
            yield reply


def replied(document: Document, reply: Reply, request: Document, label: str) -> Document:
    """The reply as a document; a stream is collected."""
    dialect = request.hint.dialect if request.hint else None
    if reply.body.__class__ is str:
        from ..detect import detect_stream
        from .collect import collect

        data = reply.body.encode()
        guess = detect_stream(data)
        if dialect is None and guess is not None:
            dialect = guess.dialect
        if dialect is None:
            raise Fault("cannot tell the dialect of this stream", USAGE, where=document.name)
        body, _, losses = collect(dialect, [data], document.name)
        as_told = Hint(dialect, "response", "a stream")
        return document.inside(reply.at, body, as_told, label=label, notes=losses)
    facet = "error" if reply.status >= 400 else "response"
    hint = None
    if dialect is not None:
        known = variant_of(dialect, reply.body, facet)
        hint = Hint(known, facet, "the reply to its request")
    elif facet == "response":
        guesses = candidates(reply.body, facet)
        if guesses:
            hint = Hint(guesses[0].dialect, facet, ", ".join(guesses[0].evidence[:4]))
    notes = reply.notes
    return document.inside(reply.at, encode(reply.body), hint, label=label, notes=notes)
