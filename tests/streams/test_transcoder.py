"""The transcoder by itself, between two toy dialects whose readers and writers do as they are told.

A frame of a toy is a line of JSON with one key: ``begin``, ``say``, ``end``, ``fail`` are events,
``bad`` is a frame that makes no sense, ``note`` sets what a reader has found out by then.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, ClassVar

import pytest
from msgspec.structs import replace

from dragoman import Malformed, dialects
from dragoman.core.capabilities import NO_CITATIONS, NO_MEDIA, NOWHERE, Capabilities
from dragoman.dialect import Dialect
from dragoman.ledger import Ledger
from dragoman.model import (
    Block,
    Candidate,
    Citation,
    Failure,
    Json,
    Media,
    Message,
    Reasoning,
    Refusal,
    Response,
    Source,
    Stop,
    Text,
)  # fmt: skip
from dragoman.streams.base import StreamReader, StreamWriter
from dragoman.streams.events import Begin, Cite, Close, Delta, End, Event, Odd, Open
from dragoman.streams.framing import Frame
from dragoman.streams.transcoder import (
    Transcoder,
    collect,
    convert_event,
    decompose,
    transcode,
)

BLOCKS: dict[str, Block] = {
    "text": Text(""),
    "refusal": Refusal(""),
    "document": Media("document", Source("text", "words")),
}


class Reader(StreamReader):
    """Does what its frames say."""

    def __init__(self, dialect: Dialect, whole: bool = True) -> None:
        super().__init__(dialect, whole)
        self.doc: dict[str, Any] | None = None
        self.is_open = False

    def read(self, frame: Frame) -> Sequence[Event]:
        ((kind, value),) = self.parse(frame).items()
        match kind:
            case "begin":
                self.doc = {"id": None, "model": None, "text": ""} | value
                return (self.begin(replace(self.at_rest(), candidates=())),)
            case "say":
                assert self.doc is not None
                self.doc["text"] += value
                first = () if self.is_open else (Open(0, Text("")),)
                self.is_open = True
                return (*first, Delta(0, value))
            case "think":
                return (Open(1, Reasoning()), Delta(1, " "), Delta(1, value), Close(1))
            case "open":
                return (Open(0, BLOCKS[value]),)
            case "cite":
                return (Cite(0, Citation("url", url=value)),)
            case "blank":
                return (Open(1, Reasoning()), Delta(1, value))
            case "end":
                self.done = True
                self.doc = (self.doc or {"text": ""}) | value
                return (End(self.at_rest()),)
            case "fail" | "cut":
                self.truncated = kind == "cut"
                return self.fail(Failure("server", value))
            case "odd":
                return (Odd(self.dialect.name, value),)
            case "note":
                for name, found in value.items():
                    setattr(self, name, [*map(tuple, found)] if name == "notes" else found)
                return ()
            case _:
                raise Malformed("bad frame", value)

    def document(self) -> Json | None:
        return self.doc


class Writer(StreamWriter):
    """Writes each event as a line."""

    def line(self, **written: Any) -> bytes:
        return json.dumps(written, separators=(",", ":")).encode() + b"\n"

    def begin(self, event: Begin) -> bytes:
        self.begun = True
        name = self.log.ids("r") if self.log.ids is not None else event.response.id
        return self.line(begin={"id": name})

    def open(self, event: Open) -> bytes:
        return b""

    def delta(self, event: Delta) -> bytes:
        return self.line(say=event.text)

    def end(self, doc: Json) -> bytes:
        return self.line(end=doc if self.usage else {k: v for k, v in doc.items() if k != "usage"})

    def fail(self, doc: Json) -> bytes:
        return self.line(fail=doc["error"], **({} if self.begun else {"begun": False}))


class Eager(Writer):
    """One that repeats the response at its end, and has no names before it."""

    needs_whole = True
    names_first = False
    has_summaries = True


class Opened(Writer):
    """One that writes where blocks begin, and what they cite."""

    def open(self, event: Open) -> bytes:
        return self.line(open=event.block.__class__.__name__)

    def cite(self, event: Cite) -> bytes:
        return self.line(cite=event.citation.url)


class Toy(Dialect):
    spec = "test_transcoder.py"
    framing = "ndjson"
    lowers = False
    stream_headers: ClassVar[dict[str, str]] = {}
    writer: type[Writer] = Writer
    reader: type[Reader] = Reader
    can = Capabilities(failed=False)

    def __init__(self, name: str) -> None:
        self.name = name  # type: ignore[misc]

    def read_response(self, doc: Any) -> Response:
        if doc["text"] == "unreadable":
            raise Malformed("no text", "/text")
        content = (Text(doc["text"], at="/text"),) if doc["text"] else ()
        given = Candidate(Message("assistant", content), Stop("end"))
        created = doc.get("created")
        return Response(
            doc.get("id"), doc.get("model"), (given,), created=created, dialect=self.name, at=""
        )

    def write_response(self, tree: Response, log: Ledger) -> Json:
        name = log.ids("r") if log.ids is not None else tree.id
        if tree.model == "lossy":
            log.dropped("model", "/model", "a loss at rest")
        text = "".join(
            b.text for c in tree.candidates for b in c.message.content if isinstance(b, Text)
        )
        return {"id": name, "model": tree.model, "text": text, "usage": 1, "now": log.now}

    def write_error(self, tree: Failure, log: Ledger) -> Json:
        return {"error": tree.message}

    def read_stream(self, whole: bool) -> StreamReader:
        return self.reader(self, whole)

    def write_stream(self, log: Ledger, same: bool) -> StreamWriter:
        return self.writer(self, same, log)


class EagerToy(Toy):
    writer = Eager


class Located(Toy):
    """Its losses stand elsewhere than its nodes say."""

    def locate(self, doc: Json, at: str) -> str:
        return f"{at}/located-in-{doc['id']}" if at == "/model" else at


class Rich(Toy):
    writer = Opened


class Plain(Rich):
    """Has neither refusals nor citations, and writes documents as text."""

    lowers = True
    can = Capabilities(
        refusals=NOWHERE, citations=NO_CITATIONS, media=replace(NO_MEDIA, texts=frozenset({"text"}))
    )


TOYS: dict[str, Toy] = {
    "rich": Rich("rich"), "plain": Plain("plain"),
    "a": Toy("a"), "b": Toy("b"), "eager": EagerToy("eager"), "located": Located("located"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    real = dialects.get
    monkeypatch.setattr(dialects, "get", lambda name: TOYS.get(name) or real(name))


def lines(*frames: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(f, separators=(",", ":")).encode() + b"\n" for f in frames)


def run(frames: bytes, target: str = "b", source: str = "a", **options: Any) -> tuple[bytes, Any]:
    transcoder = Transcoder(source, target, **options)
    return transcoder.feed(frames) + transcoder.close(), transcoder


def told(data: bytes) -> list[Any]:
    return [json.loads(line) for line in data.splitlines()]


def ledger(found: Any) -> list[tuple[str, str, str]]:
    return [(loss.kind, loss.what, loss.path) for loss in found.losses]


BEGIN = {"begin": {"id": "1", "model": "m"}}
SAY = {"say": "Hi"}
END: dict[str, Any] = {"end": {}}
GOOD = lines(BEGIN, SAY, {"say": " there"}, END)
REST = {"id": "1", "model": "m", "text": "Hi there", "usage": 1, "now": None}


# -- to its end -----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_stream_of_another_dialect(size: int) -> None:
    transcoder = Transcoder("a", "b")
    assert transcoder.document is None
    out = [transcoder.feed(GOOD[n : n + size]) for n in range(0, len(GOOD), size)]
    assert told(b"".join(out)) == [{"begin": {"id": "1"}}, SAY, {"say": " there"}, {"end": REST}]
    assert transcoder.ended
    assert transcoder.close() == transcoder.close() == b""
    assert transcoder.feed(lines(SAY)) == b""
    assert transcoder.document == REST
    assert transcoder.response.candidates[0].message.content[0].text == "Hi there"
    assert transcoder.losses == ()
    assert transcoder.problem is None


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_stream_of_the_same_dialect_passes_as_it_is(size: int) -> None:
    """Frame by frame, what follows the end as well; a last frame need not be ended."""
    data = GOOD.replace(b":", b" : ") + b'{"what comes": "after"}\n' + lines(END)[:-1]
    transcoder = Transcoder("a", "a")
    out = [transcoder.feed(data[n : n + size]) for n in range(0, len(data), size)]
    assert all(not piece or piece.endswith(b"\n") for piece in out)
    assert b"".join([*out, transcoder.close()]) == data
    assert transcoder.close() == b""
    assert transcoder.document == {"id": "1", "model": "m", "text": "Hi there"}
    assert transcoder.losses == ()


def test_the_last_frame_may_lack_its_end() -> None:
    for source, target in (("a", "b"), ("a", "a")):
        whole, _ = run(GOOD, target, source)
        cut, transcoder = run(GOOD[:-1], target, source)
        assert told(cut) == told(whole)
        assert transcoder.reader.failure is None


def test_options_reach_those_who_ask() -> None:
    models = {"model": [{"names": ["prod"], "like": "claude-opus-4-7"}]}
    out, transcoder = run(GOOD, now=7.5, usage=False, models=models)
    assert told(out)[-1] == {"end": {k: v for k, v in REST.items() if k != "usage"} | {"now": 7.5}}
    assert transcoder.log.now == 7.5
    assert transcoder.log.target == "b"
    assert transcoder.log.models is not Transcoder("a", "b").log.models
    assert not transcoder.writer.same
    assert Transcoder("a", "a").writer.same
    assert Transcoder("a", "a").reader.same
    assert not transcoder.reader.same


def test_what_is_named_on_the_way_keeps_its_name() -> None:
    made = iter(range(9))
    out, _ = run(GOOD, ids=lambda prefix: f"{prefix}{next(made)}")
    begun, *_, ended = told(out)
    assert begun["begin"]["id"] == ended["end"]["id"] == "r0"


def test_texts_are_kept_where_they_are_wanted() -> None:
    assert Transcoder("a", "b").reader.whole
    assert not Transcoder("a", "b", collect=False).reader.whole
    assert Transcoder("a", "eager", collect=False).reader.whole
    assert Transcoder("a", "a", collect=False).reader.whole is False


def test_blank_reasoning_waits_only_where_there_are_no_summaries() -> None:
    frames = lines(BEGIN, {"think": "hm"})
    for target, written in (("b", [" ", "hm"]), ("eager", [" ", "hm"])):
        out = Transcoder("a", target).feed(frames)
        assert [frame["say"] for frame in told(out)[1:]] == written
    blank = lines(BEGIN, {"blank": " "})
    assert len(told(Transcoder("a", "b").feed(blank))) == 1
    assert len(told(Transcoder("a", "eager").feed(blank))) == 2


@pytest.mark.parametrize("block", ["refusal", "document", "text"])
def test_a_block_opens_as_the_target_can_write_it(block: str) -> None:
    lowered = {"refusal": [{"open": "Text"}], "document": [{"open": "Text"}, {"say": "words"}]}
    for target, written in (("plain", lowered.get(block)), ("rich", None)):
        out = Transcoder("a", target).feed(lines(BEGIN, {"open": block}))
        assert told(out)[1:] == (written or [{"open": BLOCKS[block].__class__.__name__}])


def test_a_citation_is_written_if_the_target_can() -> None:
    frames = lines(BEGIN, {"open": "text"}, {"cite": "https://example.com"})
    for target, written in (("plain", []), ("rich", [{"cite": "https://example.com"}])):
        assert told(Transcoder("a", target).feed(frames))[2:] == written


# -- limits ---------------------------------------------------------------------------------------


def test_a_stream_may_be_as_long_as_the_total() -> None:
    size = len(GOOD)
    for pieces in (1, size):
        for total in (size, size - 1):
            transcoder = Transcoder("a", "b", total=total)
            step = -(-size // pieces)
            out = b"".join(transcoder.feed(GOOD[n : n + step]) for n in range(0, size, step))
            out += transcoder.close()
            assert (told(out)[-1].keys() == {"end"}) == (total == size)
            assert (transcoder.problem is None) == (total == size)
    failed, transcoder = run(GOOD, total=9)
    what = "frame 0 of the stream: a stream of more than 9 bytes"
    assert told(failed) == [{"fail": what, "begun": False}]
    assert told(run(GOOD, total=9, collect=False)[0])[-1] == {"end": REST}
    assert "fail" in told(run(GOOD, "eager", total=9, collect=False)[0])[-1]
    assert told(run(GOOD, total=None)[0])[-1] == {"end": REST}


def test_a_frame_may_be_as_long_as_the_limit() -> None:
    size = max(map(len, GOOD.splitlines()))
    assert told(run(GOOD, limit=size)[0])[-1] == {"end": REST}
    failed, transcoder = run(GOOD, limit=size - 1)
    assert "fail" in told(failed)[-1]
    assert isinstance(transcoder.problem, Malformed)


def test_of_a_frame_without_end_little_is_kept() -> None:
    """In the same dialect, what is too long is not held any further."""
    transcoder = Transcoder("a", "a", limit=100)
    assert transcoder.feed(lines(BEGIN)) == lines(BEGIN)
    for _ in range(5):
        assert transcoder.feed(b"x" * 60) == b""
    assert 100 < len(transcoder._tail) <= 220
    (failed,) = told(transcoder.close())
    assert "more than 100 bytes" in failed["fail"]
    exact = Transcoder("a", "a", limit=100)
    exact.feed(lines({"bad": ""}))
    exact.feed(b"x" * 100)
    assert exact.feed(b"\n") == b"x" * 100 + b"\n"  # no longer than the limit: it passes


def test_of_what_follows_the_end_little_is_kept() -> None:
    """Nothing is read there, so nothing refuses it: it passes, and is not held for long."""
    transcoder = Transcoder("a", "a", limit=100)
    out = [transcoder.feed(GOOD)]
    for _ in range(9):
        out.append(transcoder.feed(b"x" * 60))
        assert len(transcoder._tail) <= 160
    assert b"".join([*out, transcoder.close()]) == GOOD + b"x" * 540


# -- failures -------------------------------------------------------------------------------------


def test_an_error_of_the_source_is_an_error_of_the_target() -> None:
    frames = lines(BEGIN, SAY, {"fail": "overloaded"})
    out, transcoder = run(frames + lines(SAY, END))
    assert told(out) == [{"begin": {"id": "1"}}, SAY, {"fail": "overloaded"}]
    assert transcoder.document == {"error": "overloaded"}
    assert transcoder.response.failure.message == "overloaded"
    assert ("moved", "response.failure", "") in ledger(transcoder)
    passed, same = run(frames, "a")
    assert passed == frames
    assert same.document == {"error": "overloaded"}
    assert same.losses == ()


def test_a_stream_that_is_cut_ends_in_an_error() -> None:
    out, transcoder = run(lines(BEGIN, SAY))
    assert told(out)[-1] == {"fail": transcoder.response.failure.message}
    assert transcoder.reader.truncated
    passed, same = run(lines(BEGIN, SAY), "a")
    assert passed == lines(BEGIN, SAY) + lines({"fail": transcoder.response.failure.message})
    assert same.document == {"error": transcoder.response.failure.message}


def test_before_it_begins_an_error_stands_alone() -> None:
    for target in ("a", "b"):
        out, _ = run(b"", target)
        assert told(out)[0]["begun"] is False


@pytest.mark.parametrize("target", ["a", "b"])
def test_a_frame_that_was_whole_but_for_its_end_is_heard(target: str) -> None:
    out, _ = run(lines(BEGIN, SAY)[:-1], target)
    assert [next(iter(frame)) for frame in told(out)] == ["begin", "say", "fail"]
    assert out.count(b"\n") == 3
    half, _ = run(lines(BEGIN, SAY)[:-3], target)
    assert "say" not in told(half)[1]


def test_a_frame_that_makes_no_sense_is_an_error_at_its_place() -> None:
    frames = lines(BEGIN, SAY, {"bad": "/x/y"}, END)
    out, transcoder = run(frames)
    what = "frame 3 of the stream: bad frame - at /x/y"
    assert told(out) == [{"begin": {"id": "1"}}, SAY, {"fail": what}]
    assert transcoder.problem.at == "/x/y"
    assert transcoder.response.failure == Failure("server", what)
    passed, same = run(frames, "a")
    assert passed == frames + lines({"fail": what})  # what came passes, and the error comes last
    assert same.close() == b""
    assert same.feed(b"more\n") == b"more\n"
    nowhere, _ = run(lines({"bad": ""}))
    assert told(nowhere)[0]["fail"] == "frame 1 of the stream: bad frame"


def test_an_error_in_the_last_frame() -> None:
    for target in ("a", "b"):
        out, _ = run(lines(BEGIN, {"bad": ""})[:-1], target)
        assert told(out)[-1]["fail"] == "frame 2 of the stream: bad frame"


def test_a_response_that_cannot_be_read_is_an_error() -> None:
    out, transcoder = run(lines(BEGIN, {"say": "unreadable"}, END))
    assert told(out)[-1] == {"fail": "frame 3 of the stream: no text - at /text"}
    assert transcoder.response.id == "1"


def test_a_source_that_says_itself_that_it_was_cut() -> None:
    """In the same dialect what follows still passes, and the error comes last."""
    frames = lines(BEGIN, {"cut": "no end"}, SAY)
    out, _ = run(frames, "a")
    assert out == frames + lines({"fail": "no end"})
    other, _ = run(frames)
    assert told(other) == [{"begin": {"id": "1"}}, {"fail": "no end"}]


@pytest.mark.parametrize("target", ["a", "b"])
def test_a_source_that_fails_without_a_word(target: str) -> None:
    transcoder = Transcoder("a", target)
    written = transcoder.feed(lines(BEGIN, SAY) + b'{"say":')
    out = transcoder.fail(Failure("timeout", "no answer"))
    assert told(written) == [{"begin": {"id": "1"} if target == "b" else BEGIN["begin"]}, SAY]
    assert told(out) == [{"fail": "no answer"}]
    assert transcoder.fail(Failure("timeout", "again")) == b""
    assert transcoder.close() == b""
    assert transcoder.document == {"error": "no answer"}
    done = Transcoder("a", target)
    done.feed(GOOD)
    assert done.fail(Failure("server", "late")) == b""
    assert done.response.failure is None


# -- duplicates -----------------------------------------------------------------------------------


def test_duplicate_keys_are_noted_once() -> None:
    twice = lines(BEGIN) + b'{"say":"x","say":"Hi"}\n{"say":"y","say":" there"}\n' + lines(END)
    out, transcoder = run(twice, duplicates=True)
    assert told(out) == told(run(GOOD)[0])
    assert ledger(transcoder) == [("dropped", "document.key", "")]
    assert "/say of frame 2 is a duplicate key" in transcoder.losses[0].why
    assert run(twice)[1].losses == ()
    passed, same = run(twice, "a", duplicates=True)
    assert passed == twice
    assert same.losses == ()
    assert list(same.twice) == ["/say"]


# -- amend ----------------------------------------------------------------------------------------


class Loud:
    """Says each text twice, and knows another model."""

    def event(self, event: Event) -> Iterable[Event]:
        return (event, event) if isinstance(event, Delta) else (event,)

    def response(self, tree: Response, log: Ledger) -> Response:
        log.dropped("amended", "", "")
        return replace(tree, model="amended")


@pytest.mark.parametrize("duplicates", [False, True])
def test_a_reply_whose_request_is_known(duplicates: bool) -> None:
    out, transcoder = run(GOOD, amend=Loud(), duplicates=duplicates)
    written = [frame["say"] for frame in told(out) if "say" in frame]
    assert written == ["Hi", "Hi", " there", " there"]
    assert transcoder.document["model"] == "amended"
    assert transcoder.response.model == "amended"
    assert ledger(transcoder) == [("dropped", "amended", "")]  # a look at the response adds none
    passed, same = run(GOOD, "a", amend=Loud())
    assert passed == GOOD
    assert same.response.model == "m"


class Late(Reader):
    """Says at the end of the frames what it had not said before."""

    def close(self) -> Sequence[Event]:
        assert self.doc is not None
        self.done = True
        return (Delta(0, "late"), End(self.at_rest()))


class LateToy(Toy):
    reader = Late


def test_what_is_said_when_the_source_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TOYS, "late", LateToy("late"))
    unended = lines(BEGIN, SAY)
    out, _ = run(unended, source="late")
    assert [next(iter(f)) for f in told(out)] == ["begin", "say", "say", "end"]
    amended, _ = run(unended, source="late", amend=Loud())
    assert [f.get("say") for f in told(amended)] == [None, "Hi", "Hi", "late", "late", None]
    assert run(unended, "late", source="late")[0] == unended


# -- notes ----------------------------------------------------------------------------------------


def noted(target: str = "b", source: str = "a", model: str = "m", **notes: Any) -> Any:
    """The transcoder after a stream whose reader has found these things out."""
    frames = lines(BEGIN, SAY, {"note": notes}, {"end": {"model": model}})
    return run(frames, target, source)[1]


def test_what_a_reader_notes_is_reported() -> None:
    note = ("stream.text", "/text", "said otherwise")
    found = noted(notes=[note, note])
    assert ledger(found) == [("approximated", "stream.text", "/text")]
    assert ledger(noted(notes=[("x", "/no/where", "")])) == [("approximated", "x", "/no/where")]
    assert ledger(noted("a", notes=[note])) == []


def test_losses_of_a_stream_stand_at_places_that_the_document_has() -> None:
    notes = [("stream.text", "/text/5", ""), ("other", "/text/5", ""), ("stream.x", "", "")]
    assert [path for _, _, path in ledger(noted(notes=notes))] == ["/text", "/text/5", ""]
    located = noted(source="located", model="lossy")
    assert ledger(located) == [("dropped", "model", "/model/located-in-1")]
    assert ledger(noted("located", "located", "lossy")) == []


SIGNED = ["/text", "/model"]


def test_reasoning_that_is_encrypted_again_is_reported_if_it_is_written() -> None:
    found = noted(notes_on_signatures=SIGNED)
    assert ledger(found) == [("approximated", "stream.text", at) for at in SIGNED]
    for code in ("reasoning", "reasoning.signature"):
        gone = noted(notes=[(code, "/text", "")], notes_on_signatures=SIGNED)
        assert ledger(gone)[1:] == [("approximated", "stream.text", "/model")]
    kept = noted(notes=[("text", "/text", "")], notes_on_signatures=SIGNED)
    assert len(ledger(kept)) == 3


def test_items_with_another_id_are_reported_if_ids_are_written() -> None:
    found = noted(notes_on_ids=SIGNED)
    assert ledger(found) == [("approximated", "stream.text", at) for at in SIGNED]
    for code in ("message.id", "reasoning.id", "tool_call.item_id"):
        for path in ("/text", "/text/id"):
            gone = noted(notes=[(code, path, "")], notes_on_ids=SIGNED)
            assert ledger(gone)[1:] == [("approximated", "stream.text", "/model")]
    kept = noted(notes=[("text", "/text", "")], notes_on_ids=SIGNED)
    assert len(ledger(kept)) == 3
    dropped = noted(model="lossy", notes_on_ids=SIGNED)  # which drops the item as a whole
    assert ledger(dropped) == [
        ("dropped", "model", "/model"),
        ("approximated", "stream.text", "/text"),
    ]


def test_what_the_response_has_no_field_for_is_reported() -> None:
    unknown = {"/x": ["say", "/text"]}
    assert ledger(noted(unknown=unknown)) == [("dropped", "extras", "/text")]
    assert "only a knows 'x' of the event say" in noted(unknown=unknown).losses[0].why
    assert ledger(noted(halves={"/text": "x"})) == [("approximated", "text.surrogate", "")]
    assert ledger(noted(late={"/text/y": None})) == [("dropped", "extras", "/text")]
    assert ledger(noted("eager", late={"/text/y": None})) == []  # it writes all of it in the end
    for note in ({"unknown": unknown}, {"halves": {"/text": "x"}}, {"late": {"/text/y": None}}):
        assert noted("a", **note).losses == ()


def test_what_is_known_too_late_is_reported() -> None:
    """If the target's stream begins with it."""
    begun = {"begin": {"id": "1"}}
    late = {"end": {"model": "m", "created": 5.0}}
    _out, found = run(lines(begun, SAY, late))
    assert ledger(found) == [("approximated", "stream.head", "")]
    assert found.losses[0].why == "model, created known only at the end; b sends it first"
    assert run(lines(begun, SAY, late), "eager")[1].losses == ()
    assert run(lines(begun, SAY, late), "a")[1].losses == ()
    assert run(lines(late))[1].losses == ()  # it never began
    failed = run(lines(begun, {"note": {"doc": {"model": "m", "text": ""}}}, {"fail": "x"}))[1]
    assert "stream.head" not in [loss.what for loss in failed.losses]
    named = lines({"begin": {"model": "m"}}, {"end": {"id": "9"}})
    assert "id known only at the end" in run(named)[1].losses[0].why


def test_an_event_that_only_its_dialect_knows_is_reported() -> None:
    _out, found = run(lines(BEGIN, {"odd": 1}, END))
    assert ledger(found) == [("dropped", "stream.event", "")]


# -- whole streams --------------------------------------------------------------------------------


def test_a_stream_is_collected() -> None:
    result = collect(GOOD, "a")
    assert result.document == {"id": "1", "model": "m", "text": "Hi there"}
    assert not result.losses
    assert collect(GOOD[:-1], "a").document == result.document
    notes = {"unfit": {"/text": None}, "halved": {"/model": None}, "cut": True}
    unknown = {"unknown": {"/x": ["say", "/id"]}}
    twice = b'{"say":"x","say":"Hi"}\n'
    found = collect(lines(BEGIN) + twice + lines({"note": notes | unknown}, END), "a")
    assert ledger(found) == [
        ("dropped", "document.key", ""),
        ("approximated", "tool_call.arguments", "/text"),
        ("approximated", "text.surrogate", ""),
        ("approximated", "text.surrogate", "/model"),
        ("dropped", "extras", "/id"),
    ]
    assert {loss.target for loss in found.losses} == {"a"}
    assert "a response has no field 'x'" in found.losses[-1].why


def test_a_stream_that_failed_is_collected_as_its_error() -> None:
    for frames, what in (
        (lines(BEGIN, {"fail": "overloaded"}), "overloaded"),
        (lines(BEGIN, {"bad": ""}), "frame 2 of the stream: bad frame"),
    ):
        result = collect(frames, "a")
        assert result.document == {"error": what}
        assert all(loss.target == "a" for loss in result.losses)
    assert "error" in collect(lines(BEGIN), "a").document


def test_a_response_is_decomposed() -> None:
    data = decompose({"id": "1", "model": "m", "text": "Hi there"}, "a")
    assert told(data) == [{"begin": {"id": "1"}}, {"say": "Hi there"}, {"end": REST}]
    assert decompose(b'{"id": "1", "model": "m", "text": "Hi there"}', "a") == data
    assert collect(data, "a").document["text"] == "Hi there"


# -- parsed events --------------------------------------------------------------------------------


def test_parsed_events_are_transcoded() -> None:
    events: list[Any] = [BEGIN, SAY, {"say": " there"}, END, SAY]
    wanted = told(run(GOOD)[0])
    assert list(transcode(events, "a", "b")) == wanted
    assert list(transcode(events, "a", "a")) == events[:4]
    assert list(transcode(events, "a", "b", now=7.5))[-1]["end"]["now"] == 7.5
    bad = list(transcode([BEGIN, {"bad": ""}, SAY], "a", "b"))
    assert bad == [{"begin": {"id": "1"}}, {"fail": "frame 2 of the stream: bad frame"}]
    cut = list(transcode([BEGIN], "a", "b"))
    assert [next(iter(event)) for event in cut] == ["begin", "fail"]


def test_so_are_those_of_asynchronous_iterators() -> None:
    async def events() -> AsyncIterator[Any]:
        for event in told(GOOD):
            yield event

    async def all_of() -> list[Any]:
        return [event async for event in transcode(events(), "a", "b", now=7.5)]

    assert asyncio.run(all_of()) == list(transcode(told(GOOD), "a", "b", now=7.5))


# -- one event ------------------------------------------------------------------------------------

CALLED: Any = {
    "model": "m",
    "message": {
        "role": "assistant",
        "content": "Hi",
        "tool_calls": [{"function": {"name": "f", "arguments": {}}}],
    },
    "done": False,
}


def test_one_event_is_a_message_of_the_target() -> None:
    result = convert_event(CALLED, source="ollama", target="openai-chat", ids=lambda p: f"{p}_1")
    assert result.document["content"] == "Hi"
    assert result.document["tool_calls"][0]["id"] == "call_1"
    assert ledger(result) == [("invented", "tool_call.id", "/message/tool_calls/0")]
    assert result.losses[0].target == "openai-chat"
    items = convert_event(CALLED, source="ollama", target="openai-responses").document
    assert [item.get("type", "message") for item in items] == ["message", "function_call"]
    tree = convert_event(CALLED, source="ollama", target="native").document
    assert tree["tree"]["dialect"] == "ollama"  # which has no key for its turns
    assert tree["tree"]["messages"][0]["content"][0]["text"] == "Hi"


def test_one_event_that_is_no_message() -> None:
    blank = {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True}
    for event, losses in (
        (blank, []),
        ({"error": "overloaded"}, [("dropped", "response.failure", "")]),
    ):
        result = convert_event(event, source="ollama", target="openai-chat")
        assert result.document is None
        assert ledger(result) == losses
    twice = json.dumps(CALLED).replace('"done"', '"model": "n", "done"').encode()
    found = convert_event(twice, source="ollama", target="openai-chat")
    assert ("dropped", "document.key", "/model") in ledger(found)
