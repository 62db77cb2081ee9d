"""What the fuzzer found once stays repaired, its inputs are the same each time, and it can see."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dragoman
import seeds
from dragoman import DragomanError, Loss, Malformed, Problem, Result, Transcoder
from dragoman.dialect import Dialect
from dragoman.laws import documents
from dragoman.ledger import Ledger
from dragoman.streams.events import Delta
from fuzz import mutations, oracles, run, streams
from fuzz.dice import Bytes, Seeded
from fuzz.oracles import Stream, Talk

CRASHES = sorted(run.CRASHES.glob("*.json"))


@pytest.mark.parametrize("path", CRASHES, ids=lambda path: path.stem)
def test_what_was_found_once(path: Path) -> None:
    """Every oracle holds for an input that broke one."""
    case = oracles.loaded(json.loads(path.read_text("utf-8")))
    for oracle, problem in oracles.faults(case):
        raise AssertionError(f"{oracle}: {problem}") from problem


def test_the_same_seed_gives_the_same_inputs() -> None:
    once, again = ([run.case_of(Seeded(f"0/{n}")).stored() for n in range(40)] for _ in range(2))
    assert once == again
    assert len({json.dumps(case) for case in once}) == 40


def test_bytes_choose_an_input() -> None:
    """As a guided fuzzer gives them: any bytes amount to one, none at all too."""
    for data in (b"", b"\1", b"\xff" * 50, bytes(range(256))):
        case = run.case_of(Bytes(data))
        assert oracles.loaded(json.loads(json.dumps(case.stored()))) == case


def test_seeds_are_left_as_they_are() -> None:
    before = [seeds.text(seeds.documents(*face)) for face in seeds.FACES[::4]]
    for number in range(200):
        run.case_of(Seeded(f"1/{number}"))
    assert [seeds.text(seeds.documents(*face)) for face in seeds.FACES[::4]] == before


def test_every_dialect_facet_and_target_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    for change in ("recombined", "mutated", "with_keys"):
        monkeypatch.setattr(mutations, change, lambda document, *_: document)
    monkeypatch.setattr(streams, "mangled", lambda *_: b"")
    monkeypatch.setattr(streams, "unusual", lambda *_: b"")
    cases = [run.case_of(Seeded(f"2/{number}")) for number in range(4000)]
    talks = [case for case in cases if isinstance(case, Talk)]
    assert {(case.dialect, case.facet) for case in talks} == set(seeds.FACES)
    assert {case.target for case in talks} == {name for name, _ in seeds.FACES}
    flown = [case for case in cases if isinstance(case, Stream)]
    assert {case.dialect for case in flown} == {case.target for case in flown} == set(seeds.STREAMS)


# -- the oracles can fail ------------------------------------------------------------------------

ASKED = {
    "model": "m",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello there"}]}],
    "zq": "an unknown key",
}
TALK = Talk("anthropic-messages", "request", "openai-chat", ASKED)
REPLY = {
    "id": "r", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [{
        "index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": "Hello to you as well"},
    }],
}  # fmt: skip
DATA = dragoman.decompose(REPLY, "openai-chat")
STREAM = Stream("openai-chat", "anthropic-messages", DATA, [40, len(DATA) // 2])
Patch = Callable[[pytest.MonkeyPatch], None]


def other(found: Result, document: Any = None, losses: Any = None, restored: Any = None) -> Result:
    return Result(
        found.document if document is None else document,
        found.losses if losses is None else losses,
        found.capsule,
        restored=found.restored if restored is None else restored,
    )


def result(change: Callable[[Result], Result]) -> Patch:
    """Conversions whose result is another one."""

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        convert = dragoman.convert

        def changed(doc: Any, **options: Any) -> Any:
            return change(convert(doc, **options))

        monkeypatch.setattr(dragoman, "convert", changed)
        monkeypatch.setattr(documents, "convert", changed)

    return patch


def document(**fields: Any) -> Patch:
    return result(lambda found: other(found, document=found.document | fields))


def counted() -> Patch:
    count = iter(range(1000))
    return result(lambda found: other(found, document=found.document | {"n": next(count)}))


def refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: Any) -> Any:
        raise Malformed("no", "/nowhere")

    monkeypatch.setattr(Dialect, "read", read)


def detect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dragoman, "detect", lambda doc: doc.pop("zq") and ())


def guess(monkeypatch: pytest.MonkeyPatch) -> None:
    found = (dragoman.Guess("functiongemma", "error", 0.5, ()),)
    monkeypatch.setattr(dragoman, "detect", lambda doc: found)


def check(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Problem("rule", "/nowhere", "no")]
    monkeypatch.setattr(dragoman, "check", lambda *_, **__: found)


def repair(monkeypatch: pytest.MonkeyPatch) -> None:
    def repaired(doc: Any, *_: Any, **__: Any) -> dragoman.Result:
        return dragoman.Result(
            doc | {"n": doc.get("n", 0) + 1}, (Loss("dropped", "extras", "", "x"),)
        )

    monkeypatch.setattr(dragoman, "repair", repaired)


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Dialect, "keep", lambda *_, **__: None)


def swallow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that says no text, and ends well."""
    write = Dialect.stream_writer

    def writer(self: Dialect, log: Any, *, same: bool = False) -> Any:
        found = write(self, log, same=same)
        found.ways |= {Delta: lambda event: b""}
        return found

    monkeypatch.setattr(Dialect, "stream_writer", writer)


def fed(change: Callable[[Transcoder, bytes], bytes]) -> Patch:
    """Transcoders that are fed something else."""

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        feed = Transcoder.feed
        monkeypatch.setattr(Transcoder, "feed", lambda self, data: feed(self, change(self, data)))

    return patch


def closing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that breaks off is no failure."""
    close = Transcoder.close

    def closed(self: Transcoder) -> bytes:
        written = close(self)
        self.reader.failure = None
        return written

    monkeypatch.setattr(Transcoder, "close", closed)


def endless(monkeypatch: pytest.MonkeyPatch) -> None:
    """An ending that the target's reader takes for a failure."""
    close = Transcoder.close
    error = b'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"x"}}\n\n'
    monkeypatch.setattr(
        Transcoder, "close", lambda self: close(self) + (b"" if self.same else error)
    )
    feed = Transcoder.feed
    monkeypatch.setattr(
        Transcoder, "feed", lambda self, data: feed(self, data).replace(b"message_stop", b"x")
    )


def unnamed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = (Loss("dropped", "extras", "/nowhere", "x"),)
    monkeypatch.setattr(Transcoder, "losses", found)


def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Dialect, "emit", lambda self, out, *_: out)


def mute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ledger, "dropped", lambda *_: None)


BROKEN: dict[str, tuple[Any, Patch]] = {
    "refusals": (TALK, refuse),
    "unchanged": (TALK, detect),
    "same_dialect": (TALK, document(zq="another")),
    "rewritten": (TALK, forgetful),
    "determinism": (TALK, counted()),
    "ledger": (TALK, result(lambda r: other(r, losses=(Loss("dropped", "extras", "/no", "x"),)))),
    "readable": (TALK, document(messages=5)),
    "audit_by_node": (TALK, mute),
    "audit_by_leaf": (TALK, result(lambda found: other(found, losses=()))),
    "way_home": (TALK, result(lambda found: other(found, document={"messages": []}))),
    "checks": (TALK, check),
    "repairs": (TALK, repair),
    "detection": (TALK, guess),
    "cuts": (STREAM, fed(lambda self, data: data if data == DATA else data + b"\n\n")),
    "endings": (STREAM, endless),
    "truncation": (STREAM, closing),
    "flight": (STREAM, swallow),
    "memory": (STREAM, fed(lambda self, data: data if self.reader.whole else b"")),
    "stream_ledger": (STREAM, unnamed),
}


def test_each_oracle_is_broken_once() -> None:
    assert set(BROKEN) == {oracle.__name__ for oracle in (*oracles.DOCUMENTS, *oracles.STREAMS)}


@pytest.mark.parametrize("oracle", BROKEN)
def test_an_oracle_sees(oracle: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case, patch = BROKEN[oracle]
    stored = case.stored()
    assert not list(oracles.faults(oracles.loaded(stored), only=oracle))
    patch(monkeypatch)
    ((name, fault),) = oracles.faults(oracles.loaded(stored), only=oracle)
    assert name == oracle
    assert isinstance(fault, AssertionError | DragomanError), repr(fault)


def test_a_model_out_of_a_capsule_must_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it makes of the other settings need not be: a conversion that names it does the same."""
    asked = {"model": "qwen/qwen3-32b", "reasoning_effort": "default", "messages": []}
    case = Talk("groq", "request", "anthropic-bedrock", asked).stored()
    assert not list(oracles.faults(oracles.loaded(case), only="way_home"))
    result(lambda found: other(found, restored=()))(monkeypatch)
    ((_, fault),) = oracles.faults(oracles.loaded(case), only="way_home")
    assert str(fault) == "from the capsule, and not in restored: ['/model']"


def test_what_is_found_is_made_small_and_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Dialect, "emit", lambda self, out, *_: out)
    found = run.Run(store=tmp_path)
    found.take(Talk("openai-chat", "request", "openai-chat", ASKED | {"zq": [1, 2, 3]}))
    (path,) = tmp_path.glob("rewritten-*.json")
    stored = json.loads(path.read_text("utf-8"))
    assert len(json.dumps(stored["document"])) < 60
    assert not run.replay([str(path)])
    monkeypatch.undo()
    assert run.replay([str(path)])
