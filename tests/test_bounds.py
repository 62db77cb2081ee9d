"""What has no end, or none in sight, and what nests without one: a clear error, and soon."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import zstandard

import dragoman
from dragoman import dialects
from dragoman.cli.inputs import Input
from dragoman.errors import Malformed
from dragoman.exchange import Exchange
from dragoman.providers import (
    BadReply,
    Provider,
    ProviderError,
    RateLimited,
    ServerFailed,
    TimedOut,
)
from dragoman.providers.errors import retry_after
from dragoman.sessions.packed import Unpacked
from dragoman.streams.transcoder import Transcoder, collect, decompose
from transcripts import dragoman as command_line
from upstream import Say, Tell, Upstream

REQUEST = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
CHUNK = b'data: {"id":"1","model":"m","choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n'


class Done(NamedTuple):
    out: bytes
    err: str
    code: int


def run(*arguments: str, stdin: bytes = b"") -> Done:
    return Done(*command_line(list(arguments), stdin))


# -- the command line ------------------------------------------------------------------------------

COMMANDS = (
    "convert -t chat",
    "convert -t chat --jsonl",
    "convert -f chat -t anthropic --facet stream",
    "convert -f chat -t chat --facet stream",
    "collect -f chat",
    "collect -f ollama",
    "collect -f gemini",
    "show",
    "show -f chat --facet stream",
    "detect",
    "check",
    "repair",
    "decompose",
    "migrate -t chat",
    "diff request.json",
    "join request.json",
    "convert -f chat -t anthropic request.json --capsule",
    "convert -f chat -t anthropic request.json --models",
)


@pytest.mark.parametrize("line", COMMANDS)
def test_what_has_no_end_is_an_error(line: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("request.json").write_text(json.dumps(REQUEST))
    done = run(*line.split(), "/dev/zero", "--max-size", "256k")
    assert done.code == 4, done.err
    assert "more than 262,144 bytes" in done.err or "more than 262144 bytes" in done.err


@pytest.mark.parametrize("blank", [b"\n", b" \n", b"\r\n"])
@pytest.mark.parametrize("before", [b"", b"{}\n"])
def test_so_is_what_never_begins(tmp_path: Path, blank: bytes, before: bytes) -> None:
    file = tmp_path / "blank"
    file.write_bytes(before + blank * 200_000)
    done = run("convert", "-t", "chat", "--max-size", "100k", str(file))
    assert done.code == 4
    assert "more than 102,400 bytes" in done.err


@pytest.mark.parametrize("options", [(), ("--jsonl",)])
def test_a_packed_file_is_not_unpacked_without_end(tmp_path: Path, options: Any) -> None:
    file = tmp_path / "bomb.json.gz"
    file.write_bytes(gzip.compress(b" " * 20_000_000))
    input = Input(str(file))
    done = run("convert", "-t", "chat", "--max-size", "1M", str(file), *options)
    assert (done.code, "more than 1,048,576 bytes" in done.err) == (4, True)
    input.open().read(2**20)
    input.close()
    assert input.taken < file.stat().st_size, "no more of it is read than is needed"


def test_little_of_zstd_is_unpacked_at_once() -> None:
    """Four bytes may stand for 128 kB, so a buffer of them could stand for gigabytes."""
    block = struct.pack("<I", (128 * 1024 << 3) | 2)[:3] + b" "
    end = struct.pack("<I", 1)[:3]
    frame = b"\x28\xb5\x2f\xfd\x00" + bytes([17 << 3]) + block * 4000 + end
    unpacked = Unpacked(io.BytesIO(frame + frame), zstandard.ZstdDecompressor().decompressobj)
    most = size = 0
    buffer = bytearray(2**20)
    while count := unpacked.readinto(buffer):
        size += count
        most = max(most, len(unpacked._ready))
    assert size == 2 * 4000 * 128 * 1024
    assert most < 40 * 2**20


def test_the_size_is_set_by_option_and_by_environment(tmp_path: Path, monkeypatch: Any) -> None:
    file = tmp_path / "request.json"
    file.write_text(json.dumps(REQUEST))
    line = ("convert", "-q", "-f", "chat", "-t", "chat", str(file))
    assert run(*line).code == 0
    assert run(*line, "--max-size", "20").code == 4
    monkeypatch.setenv("DRAGOMAN_MAX_SIZE", "20")
    assert run(*line).code == 4
    for size in ("none", "1k", "1KiB", "2G", "1000b"):
        assert run(*line, "--max-size", size).code == 0, size
    for size in ("0", "-1", "much", "1.5M", ""):
        assert run(*line, "--max-size", size).code == 2, size


def test_nothing_is_read_after_the_end_of_a_stream() -> None:
    from dragoman.cli.streams import transcoded

    def endless() -> Iterator[bytes]:
        yield CHUNK + b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
        yield b"data: [DONE]\n\n"
        yield b"more"
        raise AssertionError("it was read on")

    assert b"".join(transcoded(Transcoder("chat", "anthropic"), endless()))


def test_utf_16_with_half_a_character(tmp_path: Path) -> None:
    file = tmp_path / "wide.json"
    text = json.dumps(REQUEST).replace("Hi", "Hi \ud83d")
    file.write_bytes(b"\xff\xfe" + text.encode("utf-16-le", "surrogatepass"))
    done = run("convert", "-f", "chat", "-t", "anthropic", str(file))
    assert done.code == 0
    assert "text.surrogate" in done.err
    file.write_bytes(b"\xff\xfe" + text.encode("utf-16-le", "surrogatepass")[:-1])
    done = run("convert", "-f", "chat", "-t", "anthropic", str(file))
    assert (done.code, "damaged" in done.err) == (4, True)


# -- the library -----------------------------------------------------------------------------------


def test_a_document_has_a_limit() -> None:
    data = json.dumps(REQUEST).encode()
    with pytest.raises(Malformed, match=f"more than {len(data) - 1} bytes"):
        dragoman.convert(data, source="chat", target="anthropic", limit=len(data) - 1)
    assert dragoman.convert(data, source="chat", target="chat", limit=len(data)).document == REQUEST
    assert dragoman.convert(data, source="chat", target="chat", limit=None).document == REQUEST
    stream = b"data: [DONE]\n\n"
    with pytest.raises(Malformed, match="a stream of more than 9 bytes"):
        dragoman.convert(stream, source="chat", target="anthropic", facet="stream", limit=9)


REPLY = {
    "model": "m",
    "choices": [{"message": {"role": "assistant", "content": "Yo"}}],
}
VERBS: dict[str, Callable[..., object]] = {
    "read": lambda data, **limit: dragoman.read(data, "chat", **limit),
    "check": lambda data, **limit: dragoman.check(data, "chat", **limit),
    "repair": lambda data, **limit: dragoman.repair(data, "chat", **limit),
    "detect": lambda data, **limit: dragoman.detect(data, **limit),
    "detect a stream": lambda data, **limit: dragoman.detect(data, facet="stream", **limit),
    "join a request": lambda data, **limit: dragoman.join(data, REPLY, dialect="chat", **limit),
    "join a response": lambda data, **limit: dragoman.join(
        REQUEST, json.dumps(REPLY).encode().ljust(len(data)), dialect="chat", **limit
    ),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_document_of_too_many_bytes_for_any_verb(verb: str) -> None:
    data = json.dumps(REQUEST).encode()
    with pytest.raises(Malformed, match="more than"):
        VERBS[verb](data, limit=len(data) - 1)
    VERBS[verb](data, limit=1000)
    VERBS[verb](data, limit=None)


@pytest.mark.parametrize("target", ["anthropic-messages", "openai-chat"])
def test_a_stream_that_is_kept_has_a_limit(target: str) -> None:
    transcoder = Transcoder("openai-chat", target, total=5 * len(CHUNK))
    for _ in range(9):
        transcoder.feed(CHUNK)
    transcoder.close()
    assert transcoder.problem is not None
    assert f"more than {5 * len(CHUNK)} bytes" in transcoder.problem.what
    flat = Transcoder("openai-chat", "anthropic-messages", collect=False, total=5 * len(CHUNK))
    for _ in range(9):
        flat.feed(CHUNK)
    assert flat.problem is None, "what is not kept has no end"


def test_a_frame_without_an_end_is_not_kept() -> None:
    transcoder = Transcoder("openai-chat", "openai-chat", limit=1000)
    for _ in range(100):
        transcoder.feed(b"x" * 500)
    assert len(transcoder._tail) < 3000


def nested(opening: str, depth: int) -> bytes:
    closing = {"[": "]", '{"a":': "}"}[opening]
    return (opening * depth + ("1" if opening != "[" else "") + closing * depth).encode()


@pytest.mark.parametrize("depth", [300, 450, 900, 990, 100_000])
@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize("key", ["content", "role", "tool_calls", "other"])
def test_what_nests_too_deeply_is_malformed(opening: str, depth: int, key: str) -> None:
    whole = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x", key: 0}]})
    data = whole.encode().replace(b'"%s": 0' % key.encode(), b'"%s": ' % key.encode() + nested(opening, depth))  # fmt: skip  # noqa: E501
    frame = (
        b"data: "
        + CHUNK.removeprefix(b"data: ").strip()[:-1]
        + b',"o":'
        + nested(opening, depth)
        + b"}\n\n"
    )
    reply = b'{"choices":[{"index":0,"message":{"role":"assistant","content":"x"},"o":%s}]}'
    chat = "openai-chat"
    for attempt in (
        lambda: dragoman.convert(data, source=chat, target="gemini", carry=True).losses,
        lambda: dragoman.convert(data, source=chat, target=chat).to_json(),
        lambda: dragoman.detect(data),
        lambda: dragoman.read(data, chat),
        lambda: dragoman.check(data, chat),
        lambda: dragoman.repair(data, chat),
        lambda: Exchange(client=chat, upstream="anthropic").request(data),
        lambda: Exchange(client="anthropic", upstream=chat).response(
            reply % nested(opening, depth)
        ),
        lambda: Exchange(client="anthropic", upstream=chat).error(nested(opening, depth), 400),
        lambda: decompose(reply % nested(opening, depth), chat),
        lambda: collect(frame, chat),
        lambda: dragoman.convert(frame, source=chat, target="anthropic", facet="stream"),
    ):
        with contextlib.suppress(dragoman.DragomanError):
            attempt()


def test_a_writer_that_runs_out_of_stack_says_so(monkeypatch: Any) -> None:
    def endless(*_: Any) -> Any:
        return endless()

    speaker = dialects.get("openai-chat")
    for name, verb in (
        ("write_request", lambda: dragoman.convert(REQUEST, source="anthropic", target="chat")),
        ("read_request", lambda: dragoman.read(REQUEST, "chat")),
        ("sniff", lambda: dragoman.detect(REQUEST)),
        ("check", lambda: dragoman.check(REQUEST, "chat")),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(type(speaker), name, endless)
            with pytest.raises(Malformed, match="nested too deeply"):
                verb()


def test_an_object_of_parts_that_says_nothing_is_decomposed() -> None:
    written = {"candidates": [{"content": {"role": "model", "parts": {}}, "finishReason": "STOP"}]}
    assert decompose(written, "gemini")


# -- marks and halves ------------------------------------------------------------------------------

DATA = json.dumps(REQUEST).encode()


def test_a_mark_before_a_document_says_nothing() -> None:
    for data in (b"\xef\xbb\xbf" + DATA, bytearray(b"\xef\xbb\xbf" + DATA)):
        result = dragoman.convert(data, source="chat", target="chat")
        assert (result.document, result.losses) == (REQUEST, ())
        assert dragoman.read(data, "chat") == dragoman.read(DATA, "chat")
    half = b"\xef\xbb\xbf" + DATA.replace(b"Hi", b"\\ud83d")
    assert dragoman.convert(half, source="chat", target="gemini").losses


@pytest.mark.parametrize(
    ("data", "what", "at"),
    [
        (DATA.decode().encode("utf-16"), "it looks like UTF-16", ""),
        (DATA.decode().encode("utf-16-be"), "it looks like UTF-16", ""),
        (DATA.decode().encode("utf-32"), "UTF-32", ""),
        (DATA.replace(b"Hi", b"\xe9"), f"byte 0xe9 at offset {DATA.index(b'Hi')}", ""),
        (DATA.replace(b"Hi", b"\\ud83d"), "a lone surrogate", "/messages/0/content"),
    ],
)
def test_characters_that_are_none_are_refused_with_their_place(
    data: bytes, what: str, at: str
) -> None:
    with pytest.raises(Malformed, match=what) as refused:
        dragoman.read(data, "chat")
    assert refused.value.at == at


# -- providers -------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def refused(written: Any, *, stream: bool = False, caller: str = "chat", **options: Any) -> Any:
    """The error that a server's reply ends in."""
    with (
        Upstream(written, strict=False) as server,
        Provider(
            "openai-chat",
            url=server.url + "/v1",
            model="m",
            key="k" * 20,
            dialect=caller,
            **options,
        ) as talk,
    ):
        try:
            document = {**REQUEST, "max_tokens": 9}
            if stream:
                list(talk.stream_request(document))
            else:
                talk.request(document)
        except ProviderError as error:
            return error
    raise AssertionError("it was taken for an answer")


BOMB = gzip.compress(b" " * 5_000_000)
PACKED = {"content-encoding": "gzip"}


@pytest.mark.parametrize(
    ("written", "stream"),
    [
        (Say(200, BOMB, PACKED), False),
        (Tell([gzip.compress(b"data: " + b"x" * 5_000_000)], PACKED), True),
        (Tell([gzip.compress(CHUNK * 50_000)], PACKED), True),
        (Tell([CHUNK] * 50_000), True),
    ],
)
def test_an_answer_has_a_limit_unpacked(written: Any, stream: bool) -> None:
    error = refused(written, stream=stream, limit=100_000)
    assert isinstance(error, BadReply)
    assert "than" in str(error)
    assert "bytes" in str(error)


@pytest.mark.parametrize("stream", [False, True])
def test_an_error_without_end_is_known_by_its_status(stream: bool) -> None:
    error = refused(Say(500, BOMB, PACKED), stream=stream, limit=100_000)
    assert isinstance(error, ServerFailed)
    assert error.status == 500
    assert len(str(error)) < 1000


def endless() -> Iterator[bytes]:
    while True:
        yield CHUNK


def test_a_stream_may_have_a_time_limit() -> None:
    error = refused(Tell(endless()), stream=True, total_timeout=0.05)
    assert isinstance(error, TimedOut)
    assert "total_timeout=0.05" in str(error)


@pytest.mark.parametrize("depth", [800, 100_000])
@pytest.mark.parametrize("status", [400, 200])
@pytest.mark.parametrize("caller", ["chat", "anthropic"])
@pytest.mark.parametrize("stream", [True, False])
def test_an_error_that_nests_deeply(depth: int, status: int, caller: str, stream: bool) -> None:
    body = b'{"error":{"message":"x","deep":%s}}' % nested("[", depth)
    written = Say(status, body, {"content-type": "application/json"})
    assert isinstance(refused(written, stream=stream, caller=caller), ProviderError)


@pytest.mark.parametrize(
    "told",
    [
        "Fri, 31 Dec 9999999 23:59:59 GMT",
        "Mon, 01 Jan 99999999999999999999 00:00:00 GMT",
        "Mon, 01 Jan 2024 00:00:00 +9999999999",
        "Mon, 00 Jan 2024 99:99:99 GMT",
        "9" * 400,
        "1e400",
        "-5",
        "nan",
        "soon",
    ],
)
def test_a_wait_that_makes_no_sense_is_none(told: str) -> None:
    for name in ("retry-after", "retry-after-ms"):
        headers = {name: told, "date": "Mon, 01 Jan 2024 00:00:00 GMT"}
        assert retry_after(headers) is None
    error = refused(Say(429, {"error": {"message": "x"}}, {"retry-after": told}))
    assert isinstance(error, RateLimited)
    assert error.retry_after is None
