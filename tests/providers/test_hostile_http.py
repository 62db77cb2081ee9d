"""Every API as the upstream, after a server that replies as no server should.

What holds whatever comes: a response that is the one that was meant, or an error of ours; no cut
response passes for a whole one; what came before a cut is delivered; nothing is sent twice unless
that is safe; keys do not show; nothing hangs and nothing is left open.
"""

from __future__ import annotations

import asyncio
import gc
import json
import traceback
import zlib
from base64 import b64decode
from collections.abc import Iterator
from typing import Any, TypeAlias

import pytest

import dragoman
from apis import APIS, KEY, MODEL
from dragoman import dialects
from dragoman.core.reading import encode
from dragoman.providers import AsyncStream, Provider, ProviderError, Retries, TimedOut
from dragoman.streams.framing import framer, write_frame
from hostile import (
    ANY,
    BROKEN,
    ERROR,
    MARKED,
    TRICKS,
    WHOLE,
    Good,
    Hostile,
    Trick,
    Wire,
    chunk,
    chunked,
    endless,
    head,
    sized,
    wire,
)
from talks import ANSWER, EXPECTED, replies, request_of, written

Json: TypeAlias = Any
CALLERS = ("anthropic-messages", "bedrock-converse", "gemini", "mistral", "openai-responses")
ways = pytest.mark.parametrize("way", ["plain", "stream", "raw"])
names = pytest.mark.parametrize("name", APIS)
LIMIT = 20.0
"""Seconds after which a test fails instead of hanging. Nothing here waits for it."""


@pytest.fixture(scope="module")
def server() -> Iterator[Hostile]:
    with Hostile() as hostile:
        yield hostile


def good(name: str, way: str) -> Good:
    if way == "plain":
        return Good(encode(replies(name)), "application/json")
    return Good(dragoman.decompose(replies(name), name), APIS[name].content_type)


def provider(server: Hostile, name: str, **options: Any) -> Provider:
    api = APIS[name]
    given: dict[str, Any] = {
        "url": server.url + api.base,
        "key": KEY,
        "model": MODEL,
        "timeout": LIMIT,
    }
    return Provider(name, **given, **api.options, **options)


class Outcome:
    """What came of a request."""

    def __init__(self, caller: str) -> None:
        self.caller = caller
        self.error: BaseException | None = None
        self.document: Json = None
        self.events: list[Json] = []

    @property
    def is_whole(self) -> bool:
        return self.document is not None

    def __str__(self) -> str:
        return repr(self.error) if self.error else f"a response: {self.document}"


async def ask(model: Provider, caller: str, way: str) -> Outcome:
    outcome = Outcome(caller)
    asked = {key: value for key, value in request_of(caller).items() if key != "stream"}
    try:
        if way == "plain":
            outcome.document = (await model.arequest(asked)).document
            return outcome
        stream = model.astream_request(asked)
        async for event in stream.raw() if way == "raw" else stream:
            outcome.events.append(event)
        outcome.document = stream.reply.document
    except BaseException as error:
        outcome.error = error
    return outcome


def secret_in(error: BaseException | None) -> bool:
    """Whether the key stands in an error, in what it is chained to, or in its traceback."""
    if error is None:
        return False
    shown = traceback.TracebackException.from_exception(error, capture_locals=True)
    text = "".join(shown.format())
    chained: BaseException | None = error
    while chained is not None:
        text += f"{chained!r} {chained!s} {chained.args} {vars(chained)}"
        chained = chained.__context__
    return KEY in text or KEY[3:] in text


UNSURE = "unsure"
"""What came cannot be told from a good response."""
UNMARKED = ("gemini", "watsonx")
"""APIs whose streams have no last event: they end where the body ends.

Gemini counts in every event, watsonx behind the reason, and neither says ``[DONE]``.
"""


def faults(outcome: Outcome, expected: str | int, way: str) -> Iterator[str]:
    """What is wrong with what came of a trick."""
    error = outcome.error
    if error is not None and not isinstance(error, ProviderError):
        yield f"not an error of ours: {error!r}"
    elif outcome.is_whole and (expected == BROKEN or isinstance(expected, int)):
        yield f"a response came of it: {outcome.document}"
    elif error is not None and expected == WHOLE:
        yield f"no response: {error!r}"
    elif error is not None and expected == MARKED:
        yield f"no response, though the last event came: {error!r}"
    elif isinstance(expected, int) and getattr(error, "status", None) != expected:
        yield f"status {getattr(error, 'status', None)}: {error!r}"
    if (
        outcome.is_whole
        and expected != UNSURE
        and written(outcome.document, outcome.caller) != EXPECTED
    ):
        yield f"another response: {outcome.document}"
    if secret_in(error):
        yield f"the key shows: {error!r}"
    if way == "raw":
        heard = dragoman.Transcoder(outcome.caller, outcome.caller)
        heard.feed(b"".join(outcome.events))
        heard.close()
        if (heard.response.failure is None) is not outcome.is_whole:
            yield f"the bytes say something else: {b''.join(outcome.events)[-300:]!r}"


def hold(server: Hostile, name: str, caller: str, way: str) -> None:
    """All tricks, one after the other, on one provider: none may spoil what comes after it."""

    async def run() -> list[str]:
        found: list[str] = []
        async with provider(server, name, dialect=caller) as model:
            for what, trick in TRICKS.items():
                server.play(wire(trick, good(name, way)))
                outcome = await asyncio.wait_for(ask(model, caller, way), LIMIT)
                expected = trick.plain if way == "plain" else trick.stream
                if expected == MARKED and name in UNMARKED:
                    expected = UNSURE
                found += [f"{what}: {fault}" for fault in faults(outcome, expected, way)]
                if len(server.heard) > 1:
                    found.append(f"{what}: sent {len(server.heard)} times")
        return found

    found = asyncio.run(run())
    gc.collect()  # what was left open would complain now
    assert not found, "\n".join(found)


@ways
@names
def test_every_api(server: Hostile, name: str, way: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    hold(server, name, "openai-chat", way)
    assert KEY not in caplog.text


@pytest.mark.parametrize("way", ["plain", "raw"])
@names
def test_every_api_asked_in_its_own_dialect(server: Hostile, name: str, way: str) -> None:
    hold(server, name, name, way)


@pytest.mark.parametrize("way", ["plain", "stream"])
@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("name", ["openai-chat", "anthropic-messages", "bedrock-converse"])
def test_other_callers(server: Hostile, name: str, caller: str, way: str) -> None:
    hold(server, name, caller, way)


@pytest.mark.parametrize("what", TRICKS)
def test_those_without_an_event_loop(server: Hostile, what: str) -> None:
    """The other half of the interface has the same outcomes."""
    trick = TRICKS[what]
    for way in ("plain", "stream"):
        server.play(wire(trick, good("anthropic-messages", way)))
        outcome = Outcome("openai-chat")
        with provider(server, "anthropic-messages") as model:
            ask_blocking(model, outcome, way)
        expected = trick.plain if way == "plain" else trick.stream
        assert not list(faults(outcome, expected, way))


def ask_blocking(model: Provider, outcome: Outcome, way: str) -> None:
    try:
        if way == "plain":
            outcome.document = model.request(request_of("openai-chat")).document
        else:
            stream = model.stream_request(request_of("openai-chat"))
            outcome.events += stream
            outcome.document = stream.reply.document
    except BaseException as error:
        outcome.error = error


# -- what came before a cut -----------------------------------------------------------------

CUTS: dict[str, Trick] = {
    "closed": Trick(lambda good: Wire((chunked(good), chunk(good.body), b"")), BROKEN, BROKEN),
    "reset": Trick(
        lambda good: Wire((chunked(good), chunk(good.body), b""), reset=True), BROKEN, BROKEN
    ),
    "ended": Trick(
        lambda good: Wire((chunked(good), chunk(good.body), b"", b"0\r\n\r\n")), BROKEN, BROKEN
    ),
    "a bad chunk": Trick(
        lambda good: Wire((chunked(good), chunk(good.body), b"", b"zz\r\n")), BROKEN, BROKEN
    ),
    "too short": Trick(
        lambda good: Wire((head(200, "content-length: 9999"), good.body, b"")), BROKEN, BROKEN
    ),
    "no gzip any more": Trick(
        lambda good: Wire(
            (chunked(good, "content-encoding: gzip"), chunk(flushed(good.body)), b"",
             chunk(b"\xff" * 99), b"0\r\n\r\n")
        ),
        BROKEN,
        BROKEN,
    ),
}  # fmt: skip


@pytest.mark.parametrize("cut", CUTS)
@names
def test_what_came_before_a_cut_is_delivered(server: Hostile, name: str, cut: str) -> None:
    """The first half of a stream, then a break: each text that came is among the events."""
    whole = good(name, "stream")
    begun = first_frames(whole.body, name)
    heard: list[str] = []

    async def run() -> Outcome:
        outcome = Outcome("openai-chat")
        server.play(wire(CUTS[cut], whole._replace(body=begun)))
        async with provider(server, name) as model:
            stream = model.astream_request(request_of("openai-chat"))
            try:
                async for event in stream:
                    heard.extend(c["delta"].get("content") or "" for c in event["choices"])
                    if "".join(heard) == ANSWER:
                        server.proceed()
            except BaseException as error:
                outcome.error = error
            no_reply(stream)
        return outcome

    outcome = asyncio.run(asyncio.wait_for(run(), LIMIT))
    assert "".join(heard) == ANSWER
    assert not list(faults(outcome, BROKEN, "stream"))
    assert isinstance(outcome.error, ProviderError)


def no_reply(stream: AsyncStream) -> None:
    with pytest.raises(dragoman.Unsupported, match="no response yet"):
        _ = stream.reply


def read_aloud(data: bytes) -> bytes:
    """What a frame says, out of the base64 in which Bedrock wraps another vendor's event."""
    if not data.startswith(b'{"bytes":"'):
        return data
    return b64decode(json.loads(data)["bytes"])


def first_frames(data: bytes, name: str) -> bytes:
    """A stream up to the frame that has the text."""
    framing = dialects.get(name).framing
    frames = framer(framing)
    written = b""
    for frame in [*frames.feed(data), *frames.close()]:
        written += write_frame(framing, frame)
        if ANSWER.encode() in read_aloud(frame[1]):
            break
    assert written != data
    return written


def flushed(data: bytes) -> bytes:
    """The beginning of a gzip stream that has all of some bytes."""
    packer = zlib.compressobj(wbits=31)
    return packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH)


# -- what is sent again ---------------------------------------------------------------------

SAFE = (
    "closed after the request",
    "reset after the request",
    "closed in the status line",
    "closed in the headers",
    "hints alone",
    "500 and an error",
    "500 and a body that is cut",
    "503 and an error",
    "429 and an error",
    "408 and an error",
)
UNSAFE = (
    "closed in the body",
    "reset in the body",
    "closed in a body of unknown length",
    "closed in a chunk",
    "closed after a chunk",
    "half of it in good chunks",
    "packed, it says",
    "packed, and cut",
    "nothing",
    "a page",
    "an error with a good status",
    "no content",
    "a redirect with 307",
    "400 and an error",
    "401 and an error",
    "422 and an error",
)
"""A response began, for which the model may have worked, or another try would end like this one."""


@pytest.mark.parametrize("way", ["plain", "stream"])
@pytest.mark.parametrize("what", SAFE + UNSAFE)
def test_only_what_is_safe_is_sent_again(server: Hostile, what: str, way: str) -> None:
    slept: list[float] = []

    async def sleep(wait: float) -> None:
        slept.append(wait)

    async def run() -> Outcome:
        fine = good("openai-chat", way)
        server.play(wire(TRICKS[what], fine), Wire((sized(fine),)))
        retries = Retries(1, sleep=sleep)
        async with provider(server, "openai-chat", retries=retries) as model:
            return await ask(model, "openai-chat", way)

    outcome = asyncio.run(run())
    assert outcome.is_whole is (what in SAFE)
    assert len(server.heard) == 1 + (what in SAFE)
    assert len(set(server.heard)) == 1
    assert slept == [0.5] * (what in SAFE)
    assert not list(faults(outcome, ANY, way))


@pytest.mark.parametrize("wait", ["61", "1e300", "9" * 300, "-5", "nan", "inf"])
def test_an_absurd_wait_is_not_slept(server: Hostile, wait: str) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async def run() -> Outcome:
        bad = Wire((sized(Good(ERROR, "application/json"), 429, f"retry-after: {wait}"),))
        server.play(*[bad] * 2)
        retries = Retries(1, sleep=sleep)
        async with provider(server, "openai-chat", retries=retries) as model:
            return await ask(model, "openai-chat", "plain")

    outcome = asyncio.run(run())
    assert not list(faults(outcome, 429, "plain"))
    assert slept in ([], [0.5])  # more than its patience, or nothing that says how long


# -- connections ----------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["plain", "stream"])
def test_a_response_that_nobody_asked_for_answers_no_other_request(
    server: Hostile, way: str
) -> None:
    """Two responses to one request: the second is not taken for that to the next one."""
    fine = good("openai-chat", way)
    other = fine._replace(body=fine.body.replace(b"msg_1", b"stale"))

    async def run() -> list[Outcome]:
        kept = sized(fine).replace(b"connection: close\r\n", b"")
        stale = sized(other).replace(b"connection: close\r\n", b"")
        server.play(Wire((kept + stale, b"")), Wire((sized(fine),)))
        async with provider(server, "openai-chat") as model:
            outcomes = [await ask(model, "openai-chat", way) for _ in range(2)]
            server.proceed()
        return outcomes

    for outcome in asyncio.run(run()):
        assert outcome.document["id"] == "msg_1"


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize(
    "name", ["openai-chat", "anthropic-messages", "bedrock-converse", "ollama"]
)
def test_a_stream_without_end_is_left(server: Hostile, name: str, way: str) -> None:
    whole = good(name, "stream")
    begun = first_frames(whole.body, name)
    framing = dialects.get(name).framing
    frames = framer(framing)
    again = write_frame(framing, [*frames.feed(begun), *frames.close()][-1])
    server.play(Wire(endless(chunked(whole) + chunk(begun), again)))
    if way == "sync":
        with provider(server, name) as model:
            with model.stream_request(request_of("openai-chat")) as stream:
                assert len([next(stream) for _ in range(5)]) == 5
            assert server.left.wait(LIMIT)
        return

    async def run() -> None:
        async with provider(server, name) as model:
            async with model.astream_request(request_of("openai-chat")) as stream:
                assert len([await anext(stream) for _ in range(5)]) == 5
            assert await asyncio.to_thread(server.left.wait, LIMIT)

    asyncio.run(run())


def hints() -> Iterator[bytes]:
    """Interim responses, and never the final one."""
    while True:
        yield head("103 Early Hints", "link: </a>") * 50


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("way", ["sync", "async"])
def test_interim_responses_without_end_are_left(server: Hostile, way: str, stream: bool) -> None:
    server.play(Wire(hints()))
    with pytest.raises(TimedOut, match="no response in time"):
        wait_for(server, way, stream)
    assert server.left.wait(LIMIT)


def wait_for(server: Hostile, way: str, stream: bool) -> None:
    asked = request_of("openai-chat")

    async def run() -> None:
        async with quick(server) as model:
            if stream:
                async with model.astream_request(asked):
                    pass
            else:
                await model.arequest(asked)

    if way == "async":
        asyncio.run(run())
    elif stream:
        with quick(server) as model, model.stream_request(asked):
            pass
    else:
        with quick(server) as model:
            model.request(asked)


def quick(server: Hostile) -> Provider:
    api = APIS["openai-chat"]
    return Provider(
        "openai-chat", url=server.url + api.base, key=KEY, model=MODEL, timeout=0.3, **api.options
    )
