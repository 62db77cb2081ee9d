"""Calls over HTTP: a request with its reply, as a recording of any kind has them.

A body is bytes as they were sent, without the compression of the transport. Which dialect it is
written in, the address tells; a variant of that dialect shows in the body.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from .. import dialects
from ..core import duplicates
from ..core.reading import UNREADABLE, decode, encode
from ..detect import candidates, detect_stream
from ..errors import Malformed, MissingExtra, Unsupported
from ..ledger import Loss
from ..model import Json
from ._documents import Document, located

LIMIT = 256 * 1024 * 1024
"""How many bytes a body may have, decompressed, unless the caller says."""

INVOKED = r"/model/(?P<model>[^/]+)/invoke(?P<stream>-with-response-stream)?$"
# The end of a path -> the dialect, as the vendors document it; what stands in the path and not in
# the body is the model, and whether a stream is asked for.
PATHS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), dialect)
    for pattern, dialect in (
        (r"/v1/messages(?:/count_tokens)?$", "anthropic-messages"),
        (r"/(?P<model>[^/:]+):(?P<stream>stream)?[rR]awPredict$", "anthropic-vertex"),
        (INVOKED, "anthropic-bedrock"),
        (r"/openai/deployments/(?P<model>[^/]+)/chat/completions$", "azure-openai"),
        (r"/chat/completions$", "openai-chat"),
        (r"/responses(?:/input_tokens)?$", "openai-responses"),
        (r"/(?P<model>[^/:]+):(?P<stream>stream)?[gG]enerateContent$", "gemini"),
        (r"/(?P<model>[^/:]+):countTokens$", "gemini"),
        (r"/v\d\w*/interactions$", "gemini-interactions"),
        (r"/model/(?P<model>[^/]+)/converse(?P<stream>-stream)?$", "bedrock-converse"),
        (r"/api/chat$", "ollama"),
        (r"/v1(?:beta\d*|alpha)?/interactions$", "gemini-interactions"),
        (r"/v2/chat$", "cohere"),
    )
)
COUNTS = re.compile(r"[/:](?:count_?[tT]okens|input_tokens)\b")
"""The reply to such a request is a number of tokens."""
MODEL_KEYS = {
    "gemini": "model", "bedrock-converse": "modelId", "anthropic-bedrock": "model",
    "anthropic-vertex": "model",
}  # fmt: skip
"""Where a dialect whose address names the model has it in its documents."""
URL = re.compile(r"(?:[a-z]+://(?P<host>[^/]+))?(?P<path>/[^?#]*)?")

PLACEHOLDER = "REDACTED"
"""What is written for a key in a recording that is written anew."""
SECRET_HEADER = re.compile(
    r"auth(?!ority)|api[-_]?key|organization|cookie|secret|signature|credential|password|(?:^|[-_])token$",
    re.IGNORECASE,
)
SECRET_QUERY = re.compile(
    r"^(?:key|api[-_]?key|auth|code|sig|.*(?:token|secret|signature|credential|password))$",
    re.IGNORECASE,
)

PASSWORD = re.compile(r"^([a-z]+://)[^/?#@]*@")


class NoCall(Unsupported):
    """A request that asks no model: nothing of it is a conversation."""


class Sent(NamedTuple):
    """A request as it went over the wire: what its address tells, and its body."""

    at: str
    """where the body stands in the file"""
    data: bytes | None
    url: str = ""
    method: str = "POST"
    headers: tuple[tuple[str, str], ...] = ()
    url_at: str = ""
    headers_at: str = ""
    is_text: bool = False
    """whether the body stands there as a text"""

    @property
    def host(self) -> str:
        return header(self.headers, "host")


class Reply(NamedTuple):
    """What came back."""

    at: str
    data: bytes
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    headers_at: str = ""
    is_text: bool = False


class Call(NamedTuple):
    """A request and its reply; ``at`` is the record that has both."""

    at: str
    sent: Sent
    reply: Reply | None = None
    time: float | None = None
    """when it was recorded, in seconds since 1970"""
    problem: str = ""
    """why it cannot be read, if it cannot"""


def header(headers: Iterable[tuple[str, str]], name: str) -> str:
    """The value of a header, by its name in lower case; empty where there is none."""
    return next((value for key, value in headers if key.lower() == name), "")


def bare(url: str) -> str:
    """An address without its query, which may have a key in it."""
    found = URL.match(url)
    return found[0] if found else ""


# -- addresses -------------------------------------------------------------------------------------


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


def masked_url(url: str) -> str:
    """An address without the keys in its query, and without a password before its host."""
    url = PASSWORD.sub(r"\1", url)
    head, mark, query = url.partition("?")
    query, fragment_mark, fragment = query.partition("#")
    pairs = [part.partition("=") for part in query.split("&")]
    shown = [
        f"{key}={PLACEHOLDER}" if sign and SECRET_QUERY.search(unquote(key)) else key + sign + value
        for key, sign, value in pairs
    ]
    return f"{head}{mark}{'&'.join(shown)}{fragment_mark}{fragment}"


def masked(headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Headers without the secrets in them."""
    return tuple(
        (name, PLACEHOLDER if SECRET_HEADER.search(name) else value) for name, value in headers
    )


# -- bodies ----------------------------------------------------------------------------------------


def decompressed(
    data: bytes, headers: Iterable[tuple[str, str]], at: str, limit: int | None = LIMIT
) -> bytes:
    """A body without what ``content-encoding`` says; recorders may have undone it already."""
    if not data:
        return data
    for encoding in reversed(header(headers, "content-encoding").lower().split(",")):
        match encoding.strip():
            case "gzip" | "x-gzip" if data[:2] == b"\x1f\x8b":
                data = _inflated(data, 31, at, limit)
            case "deflate" if data[:1] not in b"{[":
                # The name means zlib's format, and some servers send the bare one.
                data = _inflated(data, 15 if data[0] & 15 == 8 else -15, at, limit)
            case "zstd" if data[:4] == b"\x28\xb5\x2f\xfd":
                data = _unzstd(data, at, limit)
            case "br" if not _is_plain(data):
                data = _unbrotli(data, at, limit)
    return data


def too_large(limit: int | None, at: str) -> Malformed:
    return Malformed(f"a body of more than {limit:,} bytes", at)


def _inflated(data: bytes, bits: int, at: str, limit: int | None) -> bytes:
    import zlib

    stream = zlib.decompressobj(bits)
    try:
        out = stream.decompress(data, 0 if limit is None else limit + 1)
    except zlib.error as problem:
        raise Malformed(f"damaged: {problem}", at) from None
    if limit is not None and len(out) > limit:
        raise too_large(limit, at)
    return out


def _unzstd(data: bytes, at: str, limit: int | None) -> bytes:
    try:
        import zstandard
    except ImportError:
        raise MissingExtra("zstd", "zstd") from None
    out: list[bytes] = []
    size = 0
    stream = zstandard.ZstdDecompressor().decompressobj()
    try:
        for start in range(0, len(data), 1024):
            out.append(stream.decompress(data[start : start + 1024]))
            size += len(out[-1])
            if limit is not None and size > limit:
                raise too_large(limit, at)
    except zstandard.ZstdError as problem:
        raise Malformed(f"damaged: {problem}", at) from None
    return b"".join(out)


def _unbrotli(data: bytes, at: str, limit: int | None) -> bytes:
    try:
        import brotli  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        raise MissingExtra("brotli", "containers") from None
    stream = brotli.Decompressor()
    out: list[bytes] = []
    size = 0
    try:
        for start in range(0, len(data), 64):
            out.append(stream.process(data[start : start + 64]))
            size += len(out[-1])
            if limit is not None and size > limit:
                raise too_large(limit, at)
    except brotli.error as problem:
        raise Malformed(f"damaged: {problem}", at) from None
    return b"".join(out)


def _is_plain(data: bytes) -> bool:
    """Whether a body is JSON or a stream of events: brotli has no sign of its own."""
    return data.lstrip()[:1] in (b"{", b"[") or data.startswith((b"data:", b"event:", b":", b"id:"))


def is_json(data: bytes) -> bool:
    """Whether a body is one JSON object or list, and no stream of several."""
    if data.lstrip()[:1] not in (b"{", b"["):
        return False
    try:
        decode(data)
    except UNREADABLE:
        return False
    return True


def is_stream(reply: Reply) -> bool:
    """Whether a body is a stream: of events, of lines, or an array of documents, as Gemini's."""
    if not is_json(reply.data):
        return True
    return reply.status < 400 and reply.data.lstrip().startswith(b"[")


def twice_in(data: bytes, at: str) -> tuple[Loss, ...]:
    """What a text loses where it is taken for the JSON that it is: keys that stand in it twice."""
    try:
        losses = duplicates.losses(data, decode(data))
    except UNREADABLE:
        return ()
    return tuple(located(losses, at.__add__))


# -- what of a call is a document ------------------------------------------------------------------


def is_model_call(call: Call) -> bool:
    """Whether a call asks a model something that a dialect has a document for."""
    sent = call.sent
    if sent.method.upper() not in ("POST", "PUT") or sent.data is None:
        return False
    address = dialect_of(sent.url, sent.host)
    if address is not None and address.dialect == "anthropic-bedrock":
        return b'"anthropic_version"' in sent.data  # other vendors' models are invoked there too
    return address is not None


def request_of(call: Call) -> Document:
    """The request of a call; ``NoCall`` where there is none in it."""
    sent = call.sent
    if call.problem:
        raise Malformed(call.problem, call.at)
    body: Json = None
    if sent.data is not None and is_json(sent.data):
        body = decode(sent.data)
    if body.__class__ is not dict or sent.method.upper() not in ("POST", "PUT"):
        what = f"{sent.method} {bare(sent.url)}" if sent.url else "a capture"
        raise NoCall(f"no conversation: {what}")
    assert sent.data is not None
    notes = twice_in(sent.data, sent.at) if sent.is_text else ()
    address = dialect_of(sent.url, sent.host) if sent.url else None
    if address is None:
        return Document(
            sent.data, None, None, at=call.at, notes=notes, place=sent.at.__add__, time=call.time
        )
    key = MODEL_KEYS.get(address.dialect)
    named = key is not None and bool(address.model) and key not in body
    place = sent.at.__add__
    if named:
        body = {key: address.model} | body
        if sent.url_at:  # the model stands in the address
            model_at = f"/{key}"
            place = lambda path: sent.url_at if path == model_at else sent.at + path  # noqa: E731
    # A server's own variant of what the address says shows in the body.
    return Document(
        encode(body) if named else sent.data,
        variant_of(address.dialect, body, "request"),
        "request",
        at=call.at,
        why=f"by its URL, {bare(sent.url)}",
        notes=notes,
        place=place,
        asks_stream=sent.url_at if address.stream else "",
        time=call.time,
    )


def variant_of(dialect: str, body: Json, facet: str) -> str:
    base = type(dialects.get(dialect))
    for guess in candidates(body, facet)[:1]:
        if isinstance(dialects.get(guess.dialect), base):
            return guess.dialect
    return dialect


def has_document(call: Call) -> bool:
    """Whether the reply is a document, and no number of tokens."""
    return call.reply is not None and not COUNTS.search(call.sent.url)


def reply_of(call: Call, dialect: str | None, limit: int | None = LIMIT) -> Document:
    """The reply as a document; a stream is collected."""
    reply = call.reply
    assert reply is not None
    place = reply.at.__add__
    if is_stream(reply):
        if reply.status >= 400 and detect_stream(reply.data) is None:
            raise Malformed(f"a reply with the status {reply.status} that is not JSON", reply.at)
        if dialect is None:
            guess = detect_stream(reply.data)
            if guess is None:
                raise Unsupported("cannot tell the dialect of this stream")
            dialect = guess.dialect
        data, losses = collected(dialect, reply.data, limit)
        return Document(
            data,
            dialect,
            "response",
            at=call.at,
            why="a stream",
            notes=losses,
            place=place,
            time=call.time,
        )
    body = decode(reply.data)
    facet: str | None = "error" if reply.status >= 400 else "response"
    why = ""
    if dialect is not None:
        dialect, why = variant_of(dialect, body, facet or ""), "the reply to its request"
    elif facet == "response":
        guesses = candidates(body, facet)
        if guesses:
            dialect, why = guesses[0].dialect, ", ".join(guesses[0].evidence[:4])
    notes = twice_in(reply.data, reply.at) if reply.is_text else ()
    if dialect is None:
        facet = None
    return Document(
        reply.data,
        dialect,
        facet,
        at=call.at,
        why=why,
        notes=notes,
        place=place,
        status=reply.status,
        time=call.time,
    )


def collected(
    dialect: str, data: bytes, limit: int | None = LIMIT
) -> tuple[bytes, tuple[Loss, ...]]:
    """The response that a stream amounts to; ``Malformed`` where it broke off or is none."""
    from ..streams.transcoder import Transcoder
    from ..streams.transcoder import collected as whole

    most = LIMIT if limit is None else limit
    transcoder = Transcoder(dialect, dialect, duplicates=True, limit=most, total=limit)
    transcoder.feed(data)
    transcoder.close()
    failure = transcoder.reader.failure
    if failure is not None and (transcoder.problem is not None or transcoder.reader.truncated):
        raise Malformed(failure.message)
    result = whole(transcoder)
    return result.to_json(), result.losses


def plain(call: Call, limit: int | None = LIMIT) -> Call:
    """A call whose bodies are decompressed; one that cannot be has a ``problem``."""
    sent, reply = call.sent, call.reply
    try:
        if sent.data is not None and header(sent.headers, "content-encoding"):
            sent = sent._replace(data=decompressed(sent.data, sent.headers, sent.at, limit))
        if reply is not None and header(reply.headers, "content-encoding"):
            reply = reply._replace(data=decompressed(reply.data, reply.headers, reply.at, limit))
    except (Malformed, MissingExtra) as problem:
        return call._replace(problem=getattr(problem, "what", str(problem)))
    return call._replace(sent=sent, reply=reply)
