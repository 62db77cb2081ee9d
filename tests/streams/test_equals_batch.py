"""Streaming equals batch, on the bytes: generated responses, legal orders, writers that swallow."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import families
import places
from choosing import examples
from dragoman import Transcoder, collect, decompose, dialects, testing
from dragoman.core.walk import unplaced
from dragoman.laws.deviations import Excuse
from dragoman.ledger import Ledger, Loss
from dragoman.model import (
    Block,
    Candidate,
    Citation,
    Message,
    Reasoning,
    Response,
    Signature,
    Stop,
    Text,
    ToolCall,
)
from dragoman.streams.base import StreamWriter
from dragoman.streams.events import Cite, Delta, Event, Open, Ping, Signed
from dragoman.streams.events import decompose as pieces
from dragoman.testing import load_corpus
from portraits import Stream, streams
from strategies import cited_responses

STREAMS = [name for name in dialects.names() if "stream" in dialects.get(name).facets()]
relaxed = settings(
    max_examples=examples(15),
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
)
sources = pytest.mark.parametrize("source", STREAMS)


def hold(data: bytes, source: str) -> None:
    for target in STREAMS:
        try:
            testing.streaming_equals_batch(data, source, target)
        except AssertionError as problem:
            raise AssertionError(f"{source} > {target}: {problem}") from None


@sources
@relaxed
@given(tree=cited_responses())
def test_generated_responses(source: str, tree: Response) -> None:
    """A response that the source could have given, whole and as a stream."""
    document = dialects.get(source).write(tree, Ledger(now=0))
    hold(decompose(document, source), source)


@pytest.mark.parametrize("stream", streams(), ids=lambda s: s.name)
def test_awkward_streams(stream: Stream) -> None:
    hold(stream.data, stream.dialect)


# -- legal orders ---------------------------------------------------------------------------


def said_otherwise(tree: Response, dice: random.Random) -> Iterator[Event]:
    """Events that amount to a response: cut anywhere, side by side, citations at any time."""
    begin, *middle, end = pieces(tree)
    yield begin
    blocks: dict[int, list[Event]] = {}
    for event in middle:
        index = event.index  # type: ignore[union-attr]
        blocks.setdefault(index, []).extend(cut(event, dice))
    late = [event for events in blocks.values() for event in take_some(events, dice)]
    for together in side_by_side(list(blocks.values()), dice):
        while together:
            yield dice.choice(together).pop(0)
            together = [events for events in together if events]
            if dice.random() < 0.1:
                yield Ping()
    yield from late
    yield end


def side_by_side(blocks: list[list[Event]], dice: random.Random) -> Iterator[list[list[Event]]]:
    """Blocks one by one; those after each other may arrive at the same time."""
    while blocks:
        together = [blocks.pop(0)]
        while blocks and dice.random() < 0.5:
            together.append(blocks.pop(0))
        yield together


def cut(event: Event, dice: random.Random) -> Iterator[Event]:
    if not isinstance(event, Delta) or len(event.text) < 2 or dice.random() < 0.3:
        yield event
        return
    place = dice.randrange(1, len(event.text))
    yield replace(event, text=event.text[:place])
    yield from cut(replace(event, text=event.text[place:]), dice)


def take_some(events: list[Event], dice: random.Random) -> list[Event]:
    """Citations move: before the text, among it, or to the end of the stream."""
    cites = [event for event in events if isinstance(event, Cite)]
    late: list[Event] = []
    for cite in cites:
        events.remove(cite)
        if dice.random() < 0.3:
            late.append(cite)
        else:
            events.insert(dice.randrange(1, len(events)), cite)
    return late


def native_bytes(events: Iterator[Event]) -> bytes:
    encode = msgspec.json.Encoder().encode
    return b"".join(encode(unplaced(event)) + b"\n" for event in events)


@sources
@relaxed
@given(tree=cited_responses(), seed=st.integers(0, 99))
def test_legal_orders(source: str, tree: Response, seed: int) -> None:
    data = native_bytes(said_otherwise(tree, random.Random(seed)))
    if source != "native":
        transcoder = Transcoder("native", source, now=0)
        data = transcoder.feed(data) + transcoder.close()
    hold(data, source)


# -- what comes last is written all the same ------------------------------------------------------


def chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    doc = {"id": "x", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + msgspec.json.encode(doc) + b"\n\n"


def detail(**written: str) -> dict[str, Any]:
    about = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0}
    return {"reasoning_details": [about | written]}


def test_a_signature_that_the_source_does_not_know_reaches_those_who_do() -> None:
    """Chat has no ``reasoning_details``; servers of chats that have them sign at the end."""
    written = [chunk({"reasoning": word, **detail(text=word)}) for word in ("Hm", " so")]
    written += [chunk(detail(signature="c2ln")), chunk({"content": "Hi"}), chunk({}, "stop")]
    data = b"".join(written) + b"data: [DONE]\n\n"
    transcoder = Transcoder("openai-chat", "openrouter", now=0)
    heard = collect(transcoder.feed(data) + transcoder.close(), "openrouter").document
    (entry,) = heard["choices"][0]["message"]["reasoning_details"]
    assert entry == detail(text="Hm so", signature="c2ln")["reasoning_details"][0]
    hold(data, "openai-chat")


def test_words_that_are_redacted_in_the_end_leave_no_block_open() -> None:
    block = Reasoning(("Hm.",), signature=Signature("c2VhbA==", "anthropic", kind="encrypted"))
    written = Candidate(Message("assistant", (block, Text("Hi"))), Stop("end"))
    data = native_bytes(pieces(Response("r", "m", (written,))))
    transcoder = Transcoder("native", "anthropic-messages", now=0)
    heard = collect(transcoder.feed(data) + transcoder.close(), "anthropic-messages").document
    assert [part["type"] for part in heard["content"]] == ["thinking", "redacted_thinking", "text"]
    assert "stream.text" in {loss.what for loss in transcoder.losses}
    hold(data, "native")


def test_scrambled_text_is_seen() -> None:
    """Under ``stream.order`` pieces may move; their letters may not."""
    texts = (Text("one two"), Text("three four"))
    tree = Response("r", "m", (Candidate(Message("assistant", texts), Stop("end")),))
    data = native_bytes(pieces(tree))
    excuse = Excuse(
        [Loss("moved", "stream.order", "", "")], collect(data, "native"), "native", data
    )
    assert excuse.is_moved("three four one two", "one twothree four", [])
    assert not excuse.is_moved("one three two four", "one twothree four", [])
    assert not excuse.is_moved("three four", "one twothree four", [])


# -- a last event that repeats the response otherwise ------------------------------------------

WORDS = ("text", "content", "reasoning", "arguments", "name")
REPEATED = (
    "openai-responses",
    "open-responses",
    "router-responses",
    "copilot",
    "copilot-responses",
)


def edits(doc: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Places of a response and what may stand there instead: less, more, or something else."""
    if isinstance(doc, dict):
        for key, value in doc.items():
            if key in WORDS and isinstance(value, str):
                more = "{}" if key == "arguments" else f"{value} and more"
                yield from (((*path, key), other) for other in ("", "other", more))
            else:
                yield from edits(value, (*path, key))
    elif isinstance(doc, list) and path[-1] != "annotations":
        for number, value in enumerate(doc):
            yield path, doc[:number] + doc[number + 1 :]
            yield from edits(value, (*path, number))
        yield path, doc[::-1]


def edited(doc: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(doc) if isinstance(doc, dict) else list(doc)
    copy[path[0]] = edited(doc[path[0]], path[1:], new)
    return copy


@pytest.mark.parametrize("source", REPEATED)
def test_a_last_event_that_says_otherwise(source: str) -> None:
    """What came bit by bit stays, what is new is written, and what is other text is reported."""
    blocks = (
        Reasoning((), ("Hm so",), id="rs_1"),
        Text("Hello you"),
        ToolCall("call_1", "look", '{"a":1}'),
        ToolCall("call_2", "add", '{"b":2}'),
    )
    tree = Response("r", "m", (Candidate(Message("assistant", blocks), Stop("tool-call")),))
    data = decompose(dialects.get(source).write(tree, Ledger(now=0)), source)
    *before, last, end = (
        data.split(b"data: ") if b"[DONE]" in data else [*data.split(b"data: "), b""]
    )
    event = msgspec.json.decode(last)
    found = [*edits(event["response"])]
    assert len(found) > 15
    for path, new in found:
        frame = msgspec.json.encode({**event, "response": edited(event["response"], path, new)})
        written = [*before, frame + b"\n\n", *([end] if end else ())]
        try:
            hold(b"data: ".join(written), source)
        except AssertionError as problem:
            raise AssertionError(f"{path} = {new!r}: {problem}") from None


# -- the law sees ---------------------------------------------------------------------------

TREES = [
    dialects.get(document.dialect).read(document.body, "response")
    for case in load_corpus(places.CORPUS)
    for document in case.documents
    if document.facet == "response" and not document.degraded and document.dialect in STREAMS
]


def in_pieces(tree: Response) -> bytes:
    """A response as a stream whose every text comes in two pieces at least."""
    events: list[Event] = []
    for event in pieces(tree):
        if isinstance(event, Delta) and len(event.text) > 1:
            half = len(event.text) // 2
            events += [
                replace(event, text=event.text[:half]),
                replace(event, text=event.text[half:]),
            ]
        else:
            events.append(event)
    return native_bytes(iter(events))


def is_noticed(target: str) -> bool:
    """Whether the law misses something in what a target's writer says."""
    source = "native"
    for tree in TREES:
        assert isinstance(tree, Response)
        if tree.dialect == target:
            continue  # spelled as it was, which only a stream of the same dialect can be
        data = in_pieces(tree)
        if target == "native":  # where all passes as it came
            source = "openai-chat"
            transcoder = Transcoder("native", source, now=0)
            data = transcoder.feed(data) + transcoder.close()
        try:
            testing.streaming_equals_batch(data, source, target)
        except AssertionError:
            return True
    return False


def swallow(kind: type, only: type | None, writer: StreamWriter) -> None:
    """Let a writer miss events of one kind; of the pieces of a text, all but the first."""
    way, opened = writer.ways[kind], writer.ways[Open]
    blocks: dict[int, Any] = {}
    begun: set[int] = set()

    def remember(event: Open) -> bytes:
        blocks[event.index] = event.block
        return opened(event)

    def miss(event: Any) -> bytes:
        if only is not None and not isinstance(blocks.get(event.index), only):
            return way(event)
        if kind is Delta and event.index not in begun:
            begun.add(event.index)
            return way(event)
        return b""

    writer.ways |= {Open: remember, kind: miss}
    writer.splicing = lambda event: None  # type: ignore[method-assign]  # else it is not asked


AT_THE_END = "the end of the stream says what of the response at rest was not said before"
OWN = "only what this dialect itself has signed or cited can be said here"
NONE = "there are none of these here"
# OpenRouter signs and cites as its upstreams do.
CHATS = tuple(name for name in families.CHAT if name != "openrouter")
UNCITED = (
    "ag-ui", "copilot-responses", "icontent", "icontent-design", "ollama", "vercel-core",
    "vercel-model", "vercel-model-v5", "vercel-model-v6", "xzatoma",
)  # fmt: skip
UNSIGNED = (*CHATS, "cohere", "copilot-responses", "icontent-design", "ollama", "xzatoma")
QUIET: dict[tuple[str, str], str] = {
    ("reasoning", "azure-openai"): NONE,
    ("reasoning", "openai-chat"): NONE,
    ("reasoning", "icontent-design"): NONE,
    ("reasoning", "perplexity"): NONE,
    ("signatures", "ag-ui"): OWN,
    ("signatures", "copilot"): OWN,
    ("signatures", "gemini-interactions"): "Gemini signs calls and texts, not reasoning alone",
    ("signatures", "mistral"): OWN,
    ("signatures", "open-responses"): OWN,
    ("citations", "mistral"): OWN,
    ("citations", "native"): AT_THE_END,
    ("signatures", "native"): AT_THE_END,
    ("citations", "cohere"): AT_THE_END,
    ("citations", "gemini"): AT_THE_END,
    **{("citations", name): NONE for name in UNCITED},
    **{("signatures", name): NONE for name in UNSIGNED},
}
MUTANTS: dict[str, tuple[type, type | None]] = {
    "text": (Delta, Text),
    "arguments": (Delta, ToolCall),
    "reasoning": (Delta, Reasoning),
    "citations": (Cite, None),
    "signatures": (Signed, None),
}


@pytest.mark.parametrize("target", STREAMS)
def test_the_law_holds_without_mutants(target: str) -> None:
    assert not is_noticed(target)


@pytest.mark.parametrize("target", STREAMS)
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_writer_that_swallows_is_noticed(
    mutant: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialect = type(dialects.get(target))
    write = dialect.stream_writer

    def swallowing(self: Any, log: Ledger, *, same: bool = False) -> StreamWriter:
        writer = write(self, log, same=same)
        if self.name == target and not same:
            swallow(*MUTANTS[mutant], writer)
        return writer

    monkeypatch.setattr(dialect, "stream_writer", swallowing)
    assert is_noticed(target) != ((mutant, target) in QUIET)


CITED = Text("Hi", (Citation("url", "https://example.org/a", "A", span=(0, 2)),))
SIGNED = Reasoning(("Hm",), signature=Signature("c2ln", "anthropic"))
LOSSES: dict[str, tuple[Block, str]] = {
    "reasoning": (SIGNED, "reasoning"),
    "citations": (CITED, "text.citations"),
    "signatures": (SIGNED, "reasoning.signature"),
}


@pytest.mark.parametrize(("mutant", "target"), [key for key, why in QUIET.items() if why == NONE])
def test_what_a_target_has_none_of_is_lost(mutant: str, target: str) -> None:
    """A mutant may go unnoticed for this reason only where the ledger says so at rest."""
    block, code = LOSSES[mutant]
    log = Ledger(now=0)
    written = Message("assistant", (block, Text("So.")))
    dialects.get(target).write(Response("r", "m", (Candidate(written, Stop("end")),)), log)
    assert ("dropped", code) in {(loss.kind, loss.what) for loss in log.losses}
