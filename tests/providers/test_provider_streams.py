"""Replies while they arrive: any caller, any upstream, over a real connection."""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import re
import threading
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, cast

import aiohttp
import pytest

import dragoman
import places
import sdk
from dragoman import testing
from dragoman.core.walk import meaning
from dragoman.providers import (
    AsyncStream,
    AuthenticationFailed,
    BadReply,
    ConnectionFailed,
    Overloaded,
    Provider,
    ProviderError,
    RateLimited,
    ServerFailed,
    Stream,
    TimedOut,
    client,
)
from dragoman.providers.timing import Limits
from dragoman.providers.wire import Reply
from upstream import DIALECTS, Raw, Say, Seen, Tell, Upstream, awkward

GREAT = tuple(DIALECTS.values())
PAIRS = tuple(itertools.product(GREAT, GREAT))
CORPUS = places.CORPUS
HI = [{"role": "user", "content": "Hi"}]
KEY = "sk-test-9f8e7d6c5b4a"
pairs = pytest.mark.parametrize(("caller", "target"), PAIRS)
ways = pytest.mark.parametrize("way", ["sync", "async"])


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def corpus(case: str, dialect: str, facet: str) -> Any:
    found = testing.load_case(CORPUS / case).expected(dialect, facet)
    assert found is not None
    return found.body


def asked(dialect: str) -> Any:
    return corpus("answer", dialect, "request")


def provider(upstream: Upstream | Raw, speaks: str = "openai-chat", **options: Any) -> Provider:
    return Provider(speaks, url=upstream.url + "/v1", model="m", key=KEY, **options)


class Got:
    """What came of a stream: its events, and how it ended."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.error: ProviderError | None = None
        self.stream: Any = None


def listen(talk: Provider, document: Any, way: str, raw: bool = False) -> Got:
    """All events of a stream, or all bytes."""
    got = Got()
    if way == "sync":
        with talk:
            got.stream = talk.stream_request(document)
            try:
                got.events += got.stream.raw() if raw else got.stream
            except ProviderError as error:
                got.error = error
        return got

    async def run() -> None:
        async with talk:
            got.stream = talk.astream_request(document)
            try:
                async for event in got.stream.raw() if raw else got.stream:
                    got.events.append(event)
            except ProviderError as error:
                got.error = error

    asyncio.run(run())
    return got


# -- every caller, every upstream -------------------------------------------------------------

CASES = {
    "answer": GREAT,
    "answer-tool-calls": GREAT,
    "answer-reasoning": ("anthropic-messages",),
    "answer-reasoning-summary": ("openai-responses",),
    "answer-reasoning-beside": ("openai-chat",),
    "answer-length": GREAT,
}


@pytest.mark.parametrize(
    ("case", "caller", "target"),
    [(case, c, t) for case, targets in CASES.items() for c, t in PAIRS if t in targets],
)
@ways
def test_002_a_stream_ends_in_the_answer_that_create_gives(
    case: str, caller: str, target: str, way: str
) -> None:
    sse = dragoman.decompose(corpus(case, target, "response"), target)
    document = dragoman.collect(sse, target).document  # in the form that streams have
    with Upstream(document, Tell(awkward(sse))) as upstream:
        with provider(upstream, target, dialect=caller) as talk:
            whole = talk.request(asked(caller))
        got = listen(provider(upstream, target, dialect=caller), asked(caller), way)
    assert got.error is None
    reply = got.stream.reply
    assert same(reply.document) == same(whole.document)
    assert same(reply.original) == same(document)
    assert reply.losses == got.stream.losses
    assert lost(reply) == lost(whole)
    assert same(reply.append([])) == same(whole.append([]))
    assert (reply.usage, reply.stop) == (whole.usage, whole.stop)
    assert got.stream.request_losses == whole.request_losses
    # The request is the same but for what asks for a stream.
    first, second = (seen.document for seen in upstream.seen)
    assert second.pop("stream") is True
    if caller != target == "openai-chat":
        assert second.pop("stream_options") == {"include_usage": True}
    assert first == second
    # The events amount to the reply, also to those who know only the caller's dialect.
    assert accumulated(got.events, caller) == accumulated_answer(reply.document, caller)
    if caller != target:
        assert [p for event in got.events for p in event_problems(caller, event)] == []
    SDKS[caller](got.events, reply.document)


def same(document: Any) -> Any:
    """A document without what is made up anew each time: ids and times."""
    text = re.sub(r"_[0-9a-f]{32}\b", "_made-up", json.dumps(document))
    return json.loads(re.sub(r'"(created|created_at)": [\d.]+', r'"\1": 0', text))


def lost(reply: Any) -> list[Any]:
    written = (loss for loss in reply.losses if not loss.what.startswith("stream."))
    return sorted((loss.kind, loss.what, loss.path) for loss in written)


def accumulated(events: list[Any], dialect: str) -> Any:
    data = b"".join(b"data: %b\n\n" % json.dumps(event).encode() for event in events)
    return accumulated_answer(dragoman.collect(data, dialect).document, dialect)


def accumulated_answer(document: Any, dialect: str) -> Any:
    tree: Any = meaning(dragoman.read(document, dialect, facet="response"))
    return (tree.id, tree.model, tree.candidates)


def event_problems(dialect: str, event: Any) -> list[str]:
    if event.get("type") == "response.function_call_arguments.done":
        event = {k: v for k, v in event.items() if k != "name"}  # not in all versions of the SDK
    return sdk.problems(dialect, "event", event)


def chat_sdk(events: list[Any], document: Any) -> None:
    from openai._models import construct_type
    from openai.lib.streaming.chat import ChatCompletionStreamState
    from openai.types.chat import ChatCompletionChunk

    state: Any = ChatCompletionStreamState()
    for event in events:
        state.handle_chunk(construct_type(type_=ChatCompletionChunk, value=event))
    wanted, got = document["choices"][0]["message"], state.current_completion_snapshot
    message = got.choices[0].message.model_dump()
    assert message["content"] == wanted["content"]
    assert [(c["id"], c["function"]["arguments"]) for c in message["tool_calls"] or ()] == [
        (c["id"], c["function"]["arguments"]) for c in wanted.get("tool_calls") or ()
    ]
    assert got.id == document["id"]


def anthropic_sdk(events: list[Any], document: Any) -> None:
    from anthropic._models import construct_type
    from anthropic.lib.streaming._messages import accumulate_event
    from anthropic.types import RawMessageStreamEvent

    message: Any = None
    buffers: dict[int, bytes] = {}
    for event in events:
        if event["type"] != "ping":
            parsed: Any = construct_type(type_=cast("Any", RawMessageStreamEvent), value=event)
            message = accumulate_event(event=parsed, current_snapshot=message, json_bufs=buffers)
    blocks = [block.model_dump(exclude_none=True) for block in message.content]
    wanted = [{k: v for k, v in b.items() if v is not None} for b in document["content"]]
    assert [{k: b[k] for k in w} for b, w in zip(blocks, wanted, strict=True)] == wanted
    assert message.id == document["id"]
    assert message.stop_reason == document["stop_reason"]


def responses_sdk(events: list[Any], document: Any) -> None:
    from openai import omit
    from openai._models import construct_type
    from openai.lib.streaming.responses._responses import ResponseStreamState
    from openai.types.responses import ResponseStreamEvent

    state: Any = ResponseStreamState(input_tools=omit, text_format=omit)
    for event in events:
        state.handle_event(construct_type(type_=cast("Any", ResponseStreamEvent), value=event))
    assert events[-1]["response"] == document
    assert [e["sequence_number"] for e in events] == list(range(len(events)))


SDKS: dict[str, Callable[[list[Any], Any], None]] = {
    "openai-chat": chat_sdk,
    "anthropic-messages": anthropic_sdk,
    "openai-responses": responses_sdk,
}


# -- the same dialect -------------------------------------------------------------------------


@ways
@pytest.mark.parametrize("dialect", GREAT)
def test_the_bytes_of_the_same_dialect_pass_as_they_came(dialect: str, way: str) -> None:
    sse = dragoman.decompose(corpus("answer", dialect, "response"), dialect)
    sse = b": hello\r\n\r\n" + sse.replace(b'"model":', b'"unheard-of": [1.50],"model":')
    with Upstream(Tell(awkward(sse))) as upstream:
        talk = provider(upstream, dialect, dialect=dialect)
        got = listen(talk, asked(dialect), way, raw=True)
    assert b"".join(got.events) == sse
    assert upstream.seen[0].document == asked(dialect) | {"stream": True}
    assert got.stream.reply.document["unheard-of"] == [1.5]
    assert (got.stream.losses, got.stream.request_losses) == ((), ())


@ways
@pairs
def test_the_bytes_of_another_dialect_are_the_callers(caller: str, target: str, way: str) -> None:
    sse = dragoman.decompose(corpus("answer-tool-calls", target, "response"), target)
    with Upstream(Tell(awkward(sse))) as upstream:
        talk = provider(upstream, target, dialect=caller)
        got = listen(talk, asked(caller), way, raw=True)
    document = dragoman.collect(b"".join(got.events), caller).document
    wanted = got.stream.reply.document
    assert accumulated_answer(document, caller) == accumulated_answer(wanted, caller)


# -- counts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("target", GREAT)
def test_counts_come_to_the_answer_and_to_those_who_ask(target: str) -> None:
    sse = dragoman.decompose(corpus("answer", target, "response"), target)
    with (
        Upstream(lambda _: Tell([sse]), forever=True) as upstream,
        provider(upstream, target) as talk,
    ):
        plain = talk.stream(HI)
        assert all(event["choices"] for event in plain)
        asking = talk.stream(HI, stream_options={"include_usage": True})
        last = list(asking)[-1]
        assert (last["choices"], last["usage"]["total_tokens"]) == ([], 17)
        assert plain.reply.usage == asking.reply.usage
        assert plain.reply.usage is not None
        without = talk.stream(HI, stream_options=None)
        list(without)
    options = [seen.document.get("stream_options") for seen in upstream.seen]
    on = {"include_usage": True} if target == "openai-chat" else None
    assert options == [on, on, None if target == "openai-chat" else on]


# -- at once ----------------------------------------------------------------------------------


class Gates:
    """A server that sends the frames of a stream one by one, each when it is told to."""

    def __init__(self, sse: bytes) -> None:
        self.frames = [frame + b"\n\n" for frame in sse.split(b"\n\n") if frame]
        self.sent = 0
        self._next = threading.Semaphore(0)

    def open(self) -> None:
        self._next.release()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for frame in self.frames:
            await asyncio.to_thread(self._next.acquire)
            self.sent += 1
            yield frame


@pairs
def test_events_come_before_the_answer_is_complete(caller: str, target: str) -> None:
    gates = Gates(dragoman.decompose(corpus("answer", target, "response"), target))
    words = sum(b"An interpreter." in frame for frame in gates.frames)
    assert words
    until_text = next(n for n, f in enumerate(gates.frames, 1) if b"An interpreter." in f)
    assert until_text < len(gates.frames)
    with (
        Upstream(Tell(gates)) as upstream,
        provider(upstream, target, dialect=caller) as talk,
    ):
        for _ in range(until_text):
            gates.open()
        with talk.stream_request(asked(caller)) as stream:
            first = next(event for event in stream if "An interpreter." in str(event))
            assert gates.sent == until_text
            with pytest.raises(dragoman.Unsupported, match="the stream has not ended"):
                _ = stream.reply
            for _ in gates.frames[until_text:]:
                gates.open()
            rest = list(stream)
        assert first not in rest
        assert stream.reply.stop is not None


@ways
def test_the_next_question_goes_over_the_same_connection(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "LINGER", 30)  # for slow machines
    sse = dragoman.decompose(corpus("answer", "openai-chat", "response"), "openai-chat")
    ports: list[int] = []

    async def run(upstream: Upstream) -> None:
        async with provider(upstream) as talk:
            for _ in range(3):
                if way == "sync":
                    list(talk.stream(HI))
                else:
                    assert [event async for event in talk.astream(HI)]
                ports.append(len(upstream.runner.server.connections))  # type: ignore[union-attr]

    with Upstream(lambda _: Tell([sse]), forever=True, strict=False) as upstream:
        asyncio.run(run(upstream))
    assert ports == [1, 1, 1]


@ways
@pytest.mark.parametrize("target", GREAT)
def test_an_answer_is_complete_when_it_says_so(target: str, way: str) -> None:
    """Not every server hangs up, or ends the body, after the last event."""
    upstream = Upstream()
    sse = dragoman.decompose(corpus("answer", target, "response"), target)

    async def lingering() -> AsyncIterator[bytes]:
        yield sse
        await upstream.end.wait()

    upstream.script.append(Tell(lingering()))
    with upstream:
        got = listen(provider(upstream, target), asked("openai-chat"), way)
    assert got.error is None
    assert got.stream.reply.usage is not None


# -- errors before the stream -----------------------------------------------------------------


@ways
@pytest.mark.parametrize("caller", GREAT)
def test_an_error_before_the_stream_is_the_one_that_create_raises(caller: str, way: str) -> None:
    script = Say(429, corpus("error-rate-limit", "anthropic-messages", "error"),
                 {"retry-after": "20"})  # fmt: skip
    with Upstream(script, script) as upstream:
        got = listen(provider(upstream, "anthropic-messages", dialect=caller), asked(caller), way)
        with (
            provider(upstream, "anthropic-messages", dialect=caller) as talk,
            pytest.raises(RateLimited) as caught,
        ):
            talk.request(asked(caller))
    assert type(got.error) is RateLimited
    assert got.error.__dict__ == caught.value.__dict__
    assert (got.error.status, got.error.retry_after) == (429, 20.0)
    assert got.events == []


@pytest.mark.parametrize(
    ("reply", "expected", "message"),
    [
        (Say(200, {"error": {"message": "Odd.", "code": 502}}), ServerFailed, "Odd"),
        (Say(200, {"error": {"message": "Busy.", "type": "overloaded_error"}}), Overloaded, "Busy"),
        (Say(200, {"choices": []}), BadReply, "sent a whole response, not a stream"),
        (Say(200, "\n <!doctype html>Sign in"), BadReply, "is HTML"),
        (Say(302, "", {"location": "/x"}), BadReply, "redirect"),
        (Say(401, {"error": {"message": "No.", "code": "invalid_api_key"}}), AuthenticationFailed,
            "No"),
        (Say(200, ""), ServerFailed, "ended before the response was complete"),
        (Say(200, "data: {\n\n"), BadReply, "not a stream of openai-chat: frame 1"),
        (Say(200, "data: [1]\n\n"), BadReply, "expected an object"),
    ],
)  # fmt: skip
@ways
def test_what_is_no_stream(
    reply: Say, expected: type[ProviderError], message: str, way: str
) -> None:
    with Upstream(reply, reply) as upstream:
        for caller in ("openai-chat", "anthropic-messages"):
            got = listen(provider(upstream, dialect=caller), asked(caller), way)
            assert type(got.error) is expected
            assert re.search(message, str(got.error))
            assert got.error.status == reply.status
            assert got.events == []


def test_bad_requests_are_not_sent() -> None:
    with Upstream(strict=False) as upstream, provider(upstream, "anthropic-messages") as talk:
        with pytest.raises(dragoman.Malformed, match="/messages/0"):
            talk.stream(["not a message"])
        with pytest.raises(dragoman.Unsupported, match="the request has stream=false"):
            talk.astream(HI, stream=False)
        talk.stream(HI)  # nobody listens, so nobody asks
    with pytest.raises(dragoman.Unsupported, match="closed"):
        talk.stream(HI)
    assert upstream.seen == []


def test_who_enters_a_stream_hears_of_the_error_at_once() -> None:
    async def run(talk: Provider) -> None:
        async with talk:
            with pytest.raises(ServerFailed):
                async with talk.astream(HI):
                    raise AssertionError

    with Upstream(Say(500, "oops"), forever=True, strict=False) as upstream:
        with provider(upstream) as talk, pytest.raises(ServerFailed), talk.stream(HI):
            raise AssertionError
        asyncio.run(run(provider(upstream)))


# -- errors in the stream ---------------------------------------------------------------------

ERRORS = {
    "openai-chat": {"error": {"message": "Busy.", "type": "overloaded_error", "code": None}},
    "anthropic-messages": {
        "type": "error", "error": {"type": "overloaded_error", "message": "Busy."}},
    "openai-responses": {
        "type": "error", "code": "service_unavailable", "message": "Busy.", "param": None},
}  # fmt: skip


def begun(target: str) -> bytes:
    """A stream up to its first words."""
    sse = dragoman.decompose(corpus("answer", target, "response"), target)
    frames = sse.split(b"\n\n")
    number = next(n for n, frame in enumerate(frames) if b"An interpreter." in frame)
    return b"\n\n".join(frames[: number + 1]) + b"\n\n"


def has_begun(events: list[Any]) -> bool:
    """Whether the first words are there, and no end."""
    text = json.dumps(events)
    ends = ("message_stop", "response.completed", "response.failed", '"error": {', '"stop"')
    return "An interpreter." in text and not any(end in text for end in ends)


@ways
@pairs
def test_an_error_in_the_stream_is_raised_after_what_came_before(
    caller: str, target: str, way: str
) -> None:
    failing = begun(target) + b"data: %b\n\n" % json.dumps(ERRORS[target]).encode()
    with Upstream(Tell(awkward(failing)), Tell([failing])) as upstream:
        got = listen(provider(upstream, target, dialect=caller), asked(caller), way)
        raw = listen(provider(upstream, target, dialect=caller), asked(caller), way, raw=True)
    assert has_begun(got.events)
    assert type(got.error) is Overloaded
    assert (got.error.kind, got.error.status, got.error.message) == ("overloaded", 200, "Busy.")
    tree: Any = dragoman.read(got.error.document, caller, facet="error")
    assert (tree.kind, tree.message) == ("overloaded", "Busy.")
    no_reply(got)
    # Whoever passes the bytes on passes the error on as well.
    assert type(raw.error) is Overloaded
    assert b"Busy." in raw.events[-1]
    told = dragoman.Transcoder(caller, caller)
    told.feed(b"".join(raw.events))
    assert told.response.failure is not None


def no_reply(got: Got) -> None:
    with pytest.raises(dragoman.Unsupported, match="no response yet"):
        _ = got.stream.reply
    if isinstance(got.stream, Stream):
        with pytest.raises(dragoman.Unsupported, match="closed or failed"):
            next(got.stream)


@ways
@pairs
def test_a_stream_that_ends_too_soon(caller: str, target: str, way: str) -> None:
    with Upstream(Tell(awkward(begun(target)))) as upstream:
        got = listen(provider(upstream, target, dialect=caller), asked(caller), way)
    assert has_begun(got.events)
    assert type(got.error) is ServerFailed
    assert "ended before the response was complete" in str(got.error)
    no_reply(got)


@ways
@pairs
def test_a_connection_that_breaks_in_the_middle(caller: str, target: str, way: str) -> None:
    with Upstream(
        Tell([begun(target)], breaks=True), Tell([begun(target)], breaks=True)
    ) as upstream:
        got = listen(provider(upstream, target, dialect=caller), asked(caller), way)
        raw = listen(provider(upstream, target, dialect=caller), asked(caller), way, raw=True)
    assert has_begun(got.events)
    assert type(got.error) is type(raw.error) is ConnectionFailed
    assert str(got.error) == "the connection was lost in the middle of the response"
    assert got.error.__context__ is None
    assert b"lost in the middle" in raw.events[-1]
    no_reply(got)


async def exhaust(stream: AsyncStream, heard: list[Any]) -> None:
    async for event in stream:
        heard.append(event)


def test_what_came_before_the_line_broke_is_heard_by_those_who_come_late() -> None:
    """aiohttp gives its error before the bytes that came before it."""
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    sse = begun("openai-chat")

    async def run() -> None:
        heard: list[Any] = []
        gone = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(head + b"%x\r\n%b\r\n" % (len(sse), sse))
            await go_on.wait()
            writer.write(b"%x\r\n%b\r\n" % (len(sse), sse))
            writer.close()
            await writer.wait_closed()
            gone.set()

        go_on = asyncio.Event()
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, Provider(url=f"http://127.0.0.1:{port}") as talk:
            stream = talk.astream(HI)
            heard.append(await anext(stream))
            go_on.set()
            await gone.wait()
            while response_of(stream).content.exception() is None:
                await asyncio.sleep(0)
            with pytest.raises(ConnectionFailed):
                await exhaust(stream, heard)
        assert str(heard).count("An interpreter.") == 2

    asyncio.run(run())


def test_silence_has_a_limit() -> None:
    upstream = Upstream(strict=False)

    async def silent() -> AsyncIterator[bytes]:
        yield begun("openai-chat")
        await upstream.end.wait()

    async def run() -> None:
        async with provider(upstream) as talk:
            heard: list[Any] = []
            stream = talk.astream(HI)
            while not has_begun(heard):
                heard.append(await anext(stream))
            response_of(stream).wire.limits = Limits(0.01, asyncio.get_running_loop())
            with pytest.raises(TimedOut, match="no further data in time"):
                await exhaust(stream, heard)

    upstream.script.append(Tell(silent()))
    with upstream:
        asyncio.run(run())


def response_of(stream: AsyncStream) -> Reply:
    incoming = stream._flow._incoming
    assert incoming is not None
    return incoming._reply


@ways
def test_no_answer_at_all_has_a_limit_too(way: str) -> None:
    upstream = Upstream(strict=False)
    upstream.script.append(upstream.silence)
    with upstream:
        got = listen(provider(upstream, timeout=0.05), asked("openai-chat"), way)
    assert type(got.error) is TimedOut
    assert "no response in time" in str(got.error)


def test_the_limit_is_for_silence_and_not_for_the_whole() -> None:
    async def run(upstream: Upstream) -> None:
        async with provider(upstream, timeout=70, connect_timeout=7) as talk:
            stream = talk.astream(HI)
            await anext(stream)
            wire = response_of(stream).wire
            assert wire.timeout == aiohttp.ClientTimeout(total=None, connect=7)
            assert wire.limits.seconds == 70
            await exhaust(stream, [])
            assert not wire.limits.waiting

    sse = dragoman.decompose(corpus("answer", "openai-chat", "response"), "openai-chat")
    with Upstream(Tell([sse])) as upstream:
        asyncio.run(run(upstream))


# -- leaving early ----------------------------------------------------------------------------


def endless(target: str = "openai-chat") -> Iterator[bytes]:
    """The beginning of a reply, and its first words over and over."""
    data = begun(target)
    yield data
    last = data.rstrip(b"\n").rpartition(b"\n\n")[2] + b"\n\n"
    while True:
        yield last * 50


@pytest.mark.parametrize("left", ["with", "close", "forgotten", "provider"])
def test_whoever_leaves_early_hangs_up(left: str) -> None:
    with Upstream(Tell(endless()), strict=False) as upstream, provider(upstream) as talk:
        stream: Stream | None = talk.stream(HI)
        assert stream is not None
        if left == "with":
            with stream:
                next(stream)
        else:
            next(stream)
        if left == "close":
            stream.close()
            stream.close()
            with pytest.raises(dragoman.Unsupported, match="closed"):
                next(stream)
        elif left == "forgotten":
            del stream
            gc.collect()
        elif left == "provider":
            talk.close()
            with pytest.raises(ConnectionFailed, match="closed before the response"):
                for _ in stream:
                    pass
            stream.close()
        assert upstream.left.wait(30)


@pytest.mark.parametrize("left", ["with", "close", "forgotten", "cancelled", "provider"])
def test_whoever_leaves_early_hangs_up_in_a_loop_too(left: str) -> None:
    async def run(upstream: Upstream) -> None:
        async with provider(upstream) as talk:
            if left == "with":
                async with talk.astream(HI) as entered:
                    await anext(entered)
            elif left == "cancelled":
                task = asyncio.create_task(consume(talk))
                await asyncio.to_thread(reading.wait)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            else:
                stream: Any = talk.astream(HI)
                await anext(stream)
                if left == "close":
                    await stream.aclose()
                    with pytest.raises(dragoman.Unsupported, match="closed"):
                        await anext(stream)
                elif left == "provider":
                    await talk.aclose()
                    with pytest.raises(ConnectionFailed, match="in the middle"):
                        await exhaust(stream, [])
                else:
                    del stream
                    gc.collect()
            await asyncio.to_thread(upstream.left.wait, 30)

    reading = threading.Event()

    async def consume(talk: Provider) -> None:
        async with talk.astream(HI) as stream:
            async for _ in stream:
                reading.set()
                await asyncio.sleep(0)

    with Upstream(Tell(endless()), strict=False) as upstream:
        asyncio.run(run(upstream))
        assert upstream.left.is_set()


@ways
def test_whoever_closes_a_provider_does_not_leave_others_waiting(way: str) -> None:
    upstream = Upstream(strict=False)

    async def silent() -> AsyncIterator[bytes]:
        yield begun("openai-chat")
        await upstream.end.wait()

    async def run() -> None:
        talk = provider(upstream)
        waiting = asyncio.Event()
        loop = asyncio.get_running_loop()

        async def consume() -> None:
            async for event in talk.astream(HI):
                if "An interpreter." in str(event):
                    waiting.set()

        def block() -> None:
            for event in talk.stream(HI):
                if "An interpreter." in str(event):
                    loop.call_soon_threadsafe(waiting.set)

        task = asyncio.create_task(asyncio.to_thread(block) if way == "sync" else consume())
        await waiting.wait()
        await talk.aclose()
        with pytest.raises(ConnectionFailed):
            await task

    upstream.script.append(Tell(silent()))
    with upstream:
        asyncio.run(run())


def test_a_provider_that_nobody_holds_lives_as_long_as_its_stream() -> None:
    sse = dragoman.decompose(corpus("answer", "openai-chat", "response"), "openai-chat")
    with Upstream(Tell(awkward(sse))) as upstream:
        stream = provider(upstream).stream(HI)
        gc.collect()
        assert len(list(stream)) > 1
        worker = stream._worker
        del stream
        gc.collect()
    assert not worker.is_alive()


def test_a_slow_reader_makes_the_upstream_wait() -> None:
    async def run(upstream: Upstream) -> None:
        async with provider(upstream) as talk, talk.astream(HI) as stream:
            await anext(stream)
            line: Any = response_of(stream).connection.protocol  # type: ignore[union-attr]
            while not line._reading_paused:  # nothing more is read before somebody wants it
                await asyncio.sleep(0)
            await anext(stream)
        await asyncio.to_thread(upstream.left.wait, 30)

    with Upstream(Tell(endless()), strict=False) as upstream:
        asyncio.run(run(upstream))
        assert upstream.left.is_set()


# -- threads and keys -------------------------------------------------------------------------


def test_many_streams_at_once_from_many_threads() -> None:
    sse = dragoman.decompose(corpus("answer", "anthropic-messages", "response"),
                             "anthropic-messages")  # fmt: skip
    with (
        Upstream(lambda _: Tell(awkward(sse)), forever=True) as upstream,
        provider(upstream, "anthropic-messages") as talk,
    ):
        counts: list[int] = []
        threads = [
            threading.Thread(target=lambda: counts.append(len(list(talk.stream(HI)))))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(counts) == 8
    assert len(set(counts)) == 1


@ways
@pairs
def test_a_key_that_a_stream_repeats_is_hidden(caller: str, target: str, way: str) -> None:
    def text(seen: Seen) -> str:
        return json.dumps(seen.headers)

    def inside(seen: Seen) -> Tell:
        error = json.loads(json.dumps(ERRORS[target]).replace("Busy.", f"bad key {KEY}"))
        error["request_id"] = KEY
        failing = begun(target) + b"data: %b\n\n" % json.dumps(error).encode()
        return Tell([failing], {"x-request-id": KEY})

    def senseless(seen: Seen) -> Tell:
        return Tell([begun(target) + b'data: {"%b": \n\n' % KEY.encode()])

    def before(seen: Seen) -> Say:
        return Say(200, f"<pre>{text(seen)}")

    for raw in (False, True):
        with Upstream(inside, senseless, before) as upstream:
            for _ in range(3):
                got = listen(provider(upstream, target, dialect=caller), asked(caller), way, raw)
                assert got.error is not None
                shown = traceback.TracebackException.from_exception(got.error, capture_locals=True)
                written = "".join(shown.format()) + repr(got.error) + str(got.error.__dict__)
                assert KEY not in written + repr(got.stream)
                if raw:
                    assert KEY.encode() not in b"".join(cast("list[bytes]", got.events))
    assert "[key]" in written


# -- what a history is made of ----------------------------------------------------------------


def test_002_signed_reasoning_of_a_stream_goes_back_with_a_capsule() -> None:
    thinking = corpus("answer-reasoning", "anthropic-messages", "response")
    sse = dragoman.decompose(thinking, "anthropic-messages")
    plain = corpus("answer", "anthropic-messages", "response")
    history: list[Any] = HI
    with (
        Upstream(Tell(awkward(sse)), plain, Tell(awkward(sse))) as upstream,
        provider(upstream, "anthropic-messages") as talk,
    ):
        with talk.stream(history) as stream:
            assert "signature" not in str(list(stream))
        reply = stream.reply
        assert stream.reply is reply
        history = [*reply.append(history), {"role": "user", "content": "And?"}]
        talk.create(history, capsules=json.loads(json.dumps(reply.capsules)))
        list(talk.stream(history, capsules=reply.capsules))
    for seen in upstream.seen[1:]:
        assert seen.document["messages"][1]["content"] == thinking["content"]
    assert repr(stream) == "<Stream: openai-chat from anthropic-messages>"
    assert stream.request_id is None
