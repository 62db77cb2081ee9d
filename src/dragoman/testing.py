"""The laws of the corpus, for dragoman's own tests and for dialects in other packages.

Each law is a function that raises ``AssertionError`` with a reason. A corpus is a folder of cases;
a case is a folder in which every file has exactly the same meaning:

    tests/corpus/tool-call/
        case.toml                                  the title
        anthropic-messages.request.json            <dialect>.<facet>.json
        openai-chat.request.json
        openai-chat~legacy.request.json            another spelling: read, never written
        degraded.txt                               what is lost where, and what is written by
                                                   dialects that cannot express it (transcript.py)
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import cache
from itertools import islice, pairwise
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import asdict, replace

from . import dialects
from .convert import convert, with_model
from .core.reading import encode, escape
from .core.source import with_source
from .core.walk import meaning
from .dialect import FACETS
from .errors import DragomanError, Malformed, Unsayable
from .laws import transcript
from .laws.auditing import Facts, faults
from .laws.comparing import changes
from .ledger import CODES, KINDS, Ledger, Loss
from .lint.rules import broken_arguments
from .model import (
    Block,
    History,
    Json,
    Raw,
    Reasoning,
    Refusal,
    Request,
    Response,
    Text,
    ToolCall,
    Tree,
)
from .result import Result
from .streams.events import Delta
from .streams.framing import framer, write_frame
from .streams.transcoder import Transcoder, collect, decompose
from .survey import is_lossy as is_lossy
from .survey import speaks as speaks


class Document(NamedTuple):
    """One file of a case, or a degraded document of its transcript."""

    case: str
    dialect: str
    spelling: str
    facet: str
    degraded: bool
    body: Json

    @property
    def name(self) -> str:
        return f"{self.case}/{self.dialect}{self.spelling and '~' + self.spelling}.{self.facet}"


class Case(NamedTuple):
    name: str
    title: str
    documents: tuple[Document, ...]
    unofficial: tuple[str, ...]
    """dialects whose file here the vendor's own types refuse, on purpose"""
    degrades: dict[str, dict[str, list[str]]]
    """facet -> ``"source > target"`` -> the losses, as ``"kind code path"``"""

    def losses(self, source: Document, target: str) -> list[str]:
        written = f"{source.dialect}{source.spelling and '~' + source.spelling} > {target}"
        return sorted(self.degrades.get(source.facet, {}).get(written, []))

    def expected(self, target: str, facet: str) -> Document | None:
        """The document that a conversion to a dialect must give."""
        for document in self.documents:
            if (document.dialect, document.facet, document.spelling) == (target, facet, ""):
                return document
        return None


TRANSCRIPT = "degraded.txt"


def load_case(folder: Path) -> Case:
    settings = tomllib.loads((folder / "case.toml").read_text("utf-8"))
    whole = load_whole(folder)
    told = transcript.read(load_transcript(folder), bodies(whole))
    degraded = [
        Document(folder.name, dialect, "", facet, True, body)
        for (facet, dialect), body in told.documents.items()
    ]
    documents = tuple(sorted([*whole, *degraded], key=lambda document: document.name))
    unofficial = tuple(settings.get("unofficial", ()))
    return Case(folder.name, settings["title"], documents, unofficial, told.losses)


def load_whole(folder: Path) -> list[Document]:
    """The files of a case, which all mean the same."""
    return [_load_document(folder.name, path) for path in sorted(folder.glob("*.json"))]


def load_transcript(folder: Path) -> str:
    """What is lost of a case; empty where nothing is."""
    path = folder / TRANSCRIPT
    return path.read_text("utf-8") if path.exists() else ""


def bodies(whole: Iterable[Document]) -> dict[transcript.Kind, Json]:
    """The documents that a transcript refers to."""
    return {(d.facet, d.dialect): d.body for d in whole if not d.degraded and not d.spelling}


@cache
def load_corpus(root: Path) -> tuple[Case, ...]:
    """The cases of a folder. They are read once; after a change of files, use ``load_case``.

    Their documents must not be changed; no conversion does.
    """
    return tuple(load_case(path.parent) for path in sorted(root.glob("*/case.toml")))


def _load_document(case: str, path: Path) -> Document:
    who, _, facet = path.name.removesuffix(".json").partition(".")
    dialect, _, spelling = who.partition("~")
    if facet not in FACETS:
        raise ValueError(f"{path.name} is not <dialect>[~spelling].<facet>.json")
    return Document(case, dialect, spelling, facet, False, json.loads(path.read_text("utf-8")))


WRONG: tuple[Json, ...] = (None, 0, 1.5, True, "", "x", [], {}, [None], {"type": 1}, [[]])

# -- the laws -------------------------------------------------------------------------------


def identity(document: Document) -> None:
    """``write(read(x)) == x``, unknown keys and spellings included, and an empty ledger.

    A tree that holds its source cannot fail here, so it is asked without it: then another form of
    the document may be written, which must mean the same.
    """
    speaker, log = dialects.get(document.dialect), Ledger()
    tree = speaker.read(document.body, document.facet)
    back = speaker.write(tree, log)
    if speaker.keeps_source:
        assert _text(back) == _text(document.body), difference(back, document.body)
    else:
        got, meant = meaning(speaker.read(back, document.facet)), meaning(tree)
        assert got == meant, difference(got, meant)
    assert not log.losses, _written(log.losses)
    back = speaker.write(with_source(tree, document.body, speaker), log)
    assert _text(back) == _text(document.body), difference(back, document.body)
    assert not log.losses, _written(log.losses)


def pair(case: Case, source: Document, target: str) -> bool:
    """One file becomes the other, with exactly the declared losses. False: nothing declared."""
    if target == source.dialect:
        return True  # that is identity
    wanted = case.expected(target, source.facet)
    if wanted is None or source.degraded:
        return False
    result = converted(source, target)
    how = f"{source.name} > {target}\n"
    assert _text(result.document) == _text(wanted.body), how + difference(
        result.document, wanted.body
    )
    found = sorted(map(transcript.entry, result.losses))
    declared = case.losses(source, target)
    assert found == declared, how + difference(found, declared) + f"\n{_written(result.losses)}"
    if not wanted.degraded:  # every whole file says the same: things may move, no more
        assert not any(map(is_lossy, result.losses)), how + _written(result.losses)
    return True


def audit(document: Document, target: str) -> None:
    """A document that is written and read back differs exactly where the ledger tells, by node.

    Each node whose meaning changed has a loss at its own path, with a code that is about it; each
    loss points at a change. A document that is itself the result of a conversion may already hold
    what would be invented again: for a degraded one, only the first counts.
    """
    found = _audited(document, target, None)
    assert not found, found


def audit_everywhere(document: Document, targets: Iterable[str] | None = None) -> None:
    """The audit for every dialect; and one fact has one name.

    Dialects that do the same to a node give the same kind and the same code for it.
    """
    facts = Facts()

    def law(document: Document, target: str) -> None:
        found = _audited(document, target, facts)
        assert not found, found

    for_all(law, document, targets)
    found = facts.conflicts()
    assert not found, "one fact, several names:\n" + "\n".join(found)


def _audited(document: Document, target: str, facts: Facts | None) -> str:
    tree = dialects.get(document.dialect).read(document.body, document.facet)
    if needs_a_model(tree, target):
        tree = replace(tree, model="m")
    log, writer = Ledger(now=0), dialects.get(target)
    back = writer.read(writer.write(tree, log), document.facet)
    lossy = [loss for loss in log.losses if is_lossy(loss)]
    changed = changes(tree, back)
    if facts is not None:
        facts.add(target, changed, lossy)
    kin = target != document.dialect and writer.knows(document.dialect)
    found = faults(changed, lossy, kin)
    return "\n".join(
        f"  {kind}: {what}" for kind, what in found if kind == "silent" or not document.degraded
    )


def same(document: Document, target: str) -> None:
    """Converted back with the capsule, the original is restored exactly, key order included."""
    try:
        there = converted(document, target, carry=True)
    except Unsayable as refusal:
        converted(document, target)  # refuses as well, or else the capsule is to blame
        raise AssertionError(f"refused with a capsule only: {refusal}") from None
    capsule = json.loads(json.dumps(there.capsule))
    back = convert(
        there.document, source=target, target=document.dialect, facet=document.facet,
        capsule=capsule,
    )  # fmt: skip
    assert json.dumps(back.document) == json.dumps(document.body), difference(
        back.document, document.body
    )
    assert not back.losses, _written(back.losses)
    log = Ledger()
    log.restores = True
    tree = dialects.get(target).read(there.document, document.facet)
    source = dialects.get(document.dialect)
    if target == source.name or source.keeps_source:
        tree = with_source(tree, there.document, dialects.get(target))
    tree = with_model(tree, "m") if "model" in capsule else tree
    unnamed = unrestored(back, source.write(tree, log))
    assert not unnamed, f"from the capsule, and not in restored: {unnamed}"


def unrestored(result: Result, plain: Json) -> list[str]:
    """What of a result neither the conversion without a capsule has, nor ``restored`` names."""
    named = {place.path for place in result.restored if not place.removed}
    missing = [path for path in named if not resolves(result.document, path)]
    known = {encode(leaf) for _, leaf in _leaves(plain, "", frozenset())}
    found = _leaves(result.document, "", named)
    return missing + [path for path, leaf in found if encode(leaf) not in known]


def _leaves(value: Json, at: str, without: Container[str]) -> Iterator[tuple[str, Json]]:
    if at in without:
        return
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, f"{at}/{escape(key)}", without)
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from _leaves(item, f"{at}/{number}", without)
    elif value.__class__ not in (dict, list):  # nothing else is left of what was removed
        yield at, value


def determinism(document: Document, target: str) -> None:
    """The same input gives the same bytes and the same ledger."""
    first, second = converted(document, target), converted(document, target)
    assert first.to_json() == second.to_json(), difference(second.document, first.document)
    assert first.losses == second.losses, difference(second.losses, first.losses)


def pointers(document: Document, target: str) -> None:
    """Every loss has a documented name and points into the source document."""
    for loss in converted(document, target).losses:
        assert loss.kind in KINDS, loss
        assert loss.what in CODES, loss
        assert loss.why, loss
        assert loss.target == dialects.get(target).name, loss
        assert resolves(document.body, loss.path), f"{loss} points nowhere"


def malformed_or_answer(dialect: str, facet: str, body: Json) -> None:
    """Any JSON gives a tree or ``Malformed``, never another exception."""
    try:
        tree = dialects.get(dialect).read(body, facet)
    except Malformed:
        return
    for target in dialects.names():
        try:
            dialects.get(target).write(tree, Ledger())
        except DragomanError:
            continue


def breaks_no_rule(tree: Request, target: str) -> None:
    """A request is written as one that the API of the target accepts, as far as ``check`` knows.

    A request that ends in calls is not complete; arguments that are not a JSON object are kept as
    the model wrote them, which ``repair`` can repair.
    """
    if ends_in_a_call(tree):
        return
    log, writer = Ledger(now=0), dialects.get(target)
    document = writer.write(tree, log)
    problems = [
        problem
        for problem in writer.check(document, "request")
        if not (problem.rule == "arguments" and has_broken_arguments(tree))
        if not (problem.rule == "no-messages" and not tree.messages)
    ]
    assert not problems, f"{target}: {problems[0]}\n{_written(log.losses)}\n{_text(document)}"


def ends_in_a_call(tree: Request | History) -> bool:
    """Whether the last turn has calls: a training record, not a request."""
    last = tree.messages[-1] if tree.messages else None
    return last is not None and any(isinstance(block, ToolCall) for block in last.content)


def has_broken_arguments(tree: Request | History) -> bool:
    """Whether the model wrote arguments that are not a JSON object."""
    calls = [b for m in tree.messages for b in m.content if isinstance(b, ToolCall)]
    return any(list(broken_arguments("", call.arguments)) for call in calls)


def echoes(document: Document, target: str) -> None:
    """A capsule restores turns after each edit that clients make, one at a time (``editing``)."""
    from .laws import editing  # not needed by those who test other laws

    editing.law(document.body, document.dialect, document.facet, target)


# -- the laws of streams --------------------------------------------------------------------


def flies(document: Document) -> None:
    """A response that is written as a stream and collected again means the same."""
    data, speaker = decompose(document.body, document.dialect), dialects.get(document.dialect)
    got = collect(data, document.dialect).document
    back, meant = (meaning(speaker.read(doc, "response")) for doc in (got, document.body))
    assert back == meant, difference(back, meant)


def rest_is_flight(data: bytes, source: str, target: str) -> None:
    """What is collected from the transcoded bytes is the conversion of the collected source.

    In meaning, in form and in the ledger. The bytes are read by the target's own reader, so that an
    event which its writer omits is noticed. Where the ledger has ``stream.order`` for a response,
    its blocks may have another order and other boundaries; where it has ``stream.text`` for a
    block, that block may have another text. Everything else is as it is at rest.
    """
    transcoder = Transcoder(source, target, now=0)
    written = transcoder.feed(data) + transcoder.close()
    assert {loss.target for loss in transcoder.losses} <= {transcoder.target.name}
    whole, got = collect(data, source), collect(written, target).document
    if transcoder.response.failure is not None:
        _fails_alike(transcoder, written == data, got)
        return
    batch = convert(whole.document, source=source, target=target, facet="response", now=0)
    if transcoder.target.keeps_source:  # of a stream there is no document yet
        batch.document.pop("source", None)
    lost, declared = _flight_losses(transcoder.losses), _flight_losses(batch.losses)
    if late := [at for at in _late(transcoder) if f"dropped extras at {at}" not in declared]:
        # A relative would have been passed on what came when its block had been written.
        rest = _without_places(whole.document, late)
        batch = convert(rest, source=source, target=target, facet="response", now=0)
        declared = _flight_losses(batch.losses) + [f"dropped extras at {at}" for at in late]
    # Text that is no JSON object is known as such to the stream alone: a document has it in one.
    declared += [loss for loss in _flight_losses(whole.losses) if loss in lost]
    if written == data:
        declared = lost  # what passes as it came loses nothing
    assert lost == sorted(declared), f"in flight {lost}\nat rest {declared}"
    excuse = Excuse(transcoder.losses, whole, source, data)
    excuse.compare(got, batch.document, target)
    if transcoder.document is not None and not late:
        excuse.compare(got, transcoder.document, target)
    if target in REPEATING and written != data:
        excuse.compare_pieces(_frames(written, target), target)


def _late(transcoder: Transcoder) -> list[str]:
    """The fields that came too late and are reported as such."""
    reported = {loss.path for loss in transcoder.losses if loss.what == "extras"}
    return [at for at in transcoder.reader.late if at in reported]


def _without_places(document: Json, pointers: Iterable[str]) -> Json:
    found = json.loads(json.dumps(document))
    for pointer in pointers:
        *way, last = pointer.replace("~1", "\0").split("/")[1:]
        holder = found
        for key in way:
            key = key.replace("\0", "/").replace("~0", "~")
            holder = holder[int(key) if isinstance(holder, list) else key]
        holder.pop(last.replace("\0", "/").replace("~0", "~"), None)
    return found


def _fails_alike(transcoder: Transcoder, passed: bool, got: Json) -> None:
    """A stream that failed fails in the target, with what the writer at rest makes of it."""
    log, writer, reader = Ledger(now=0), transcoder.target, transcoder.reader
    wanted = writer.write(transcoder.response, log)
    if not transcoder.same:  # what only the events said, and no response has a place for
        reader.note_halves(log)
        reader.note_unknown(log, f"only {reader.dialect.name} knows")
        document = reader.document()
        log.losses = [
            replace(loss, path=reader.dialect.locate(document, loss.path)) for loss in log.losses
        ]
    lost, declared = _flight_losses(transcoder.losses), _flight_losses(log.losses)
    assert passed or lost == declared, f"in flight {lost}\nat rest {declared}"
    failed, meant = writer.read(got, "response"), writer.read(wanted, "response")
    assert isinstance(failed, Response)
    assert isinstance(meant, Response)
    assert failed.failure is not None, "a failure passes for a response"
    assert meaning(failed) == meaning(meant), difference(got, wanted)


class Excuse:
    """In what a stream may differ from the response at rest, as the ledger reports it."""

    def __init__(self, losses: Iterable[Loss], whole: Result, source: str, data: bytes) -> None:
        self.order: set[int] = set()  # responses whose blocks came in another order
        self.text: set[tuple[int, str]] = set()  # kinds of blocks that are others in the end
        tree = dialects.get(source).read(whole.document, "response")
        assert isinstance(tree, Response)
        for loss in losses:
            if loss.what == "stream.order":
                self.order.add(_number_of(loss.path))
            elif loss.what == "stream.text":
                number, kind = _number_of(loss.path), _kind_at(tree, loss.path)
                self.text.add((number, kind))
                if kind == "reasoning":
                    self.text.add((number, "signed"))
        self.pieces = _block_texts(data, source) if self.order else []
        for loss in whole.losses:  # of arguments that broke off, a document cannot hold the text
            if loss.what == "tool_call.arguments":
                self.text.add((_number_of(loss.path), "calls"))

    def compare(self, got: Json, wanted: Json, target: str) -> None:
        decided = UNDECIDED.get(target, lambda doc: doc)
        if _form(decided(got)) == _form(decided(wanted)):
            return
        reader = dialects.get(target)
        heard, meant = reader.read(got, "response"), reader.read(wanted, "response")
        assert isinstance(heard, Response)
        assert isinstance(meant, Response)
        excused = bool(self.order or self.text) and self.is_same(heard, meant)
        assert excused, difference(got, wanted)  # other words or another form, and nobody says so

    def compare_pieces(self, frames: list[Json], target: str) -> None:
        """Where the last event repeats the response, the others have said all of it before."""
        pieces, repeated = REPEATING[target](frames)
        for kind, text in repeated.items():
            if any(excused == kind for _, excused in self.text):
                continue
            if kind == "cited" and self.order:
                continue  # it was cited when it was closed
            heard = pieces.get(kind, "")
            same = _values(heard) == _values(text)
            same = same or "".join(heard.split()) == "".join(text.split())
            same = same or (bool(self.order) and self.is_moved(heard, text, [text]))
            assert same, f"{kind} bit by bit: {heard}\nin the end: {text}"

    def is_same(self, heard: Response, meant: Response) -> bool:
        """Whether two responses mean the same without what is excused."""
        heard, meant = meaning(heard), meaning(meant)
        excused = self.order | {number for number, _ in self.text}
        if _without_content(heard, excused) != _without_content(meant, excused):
            return False
        both = zip(heard.candidates, meant.candidates, strict=True)
        return all(
            self.says_the_same(number, one.message.content, other.message.content)
            for number, (one, other) in enumerate(both)
            if number in excused
        )

    def says_the_same(self, number: int, heard: Iterable[Block], meant: Iterable[Block]) -> bool:
        one, other = _fold(heard), _fold(meant)
        for kind, value in one.items():
            if (number, kind) in self.text or value == other[kind]:
                continue
            if number not in self.order:
                return False
            if kind in WORDS:
                texts = [text for block in meant for text in _texts_of(block)]
                if not self.is_moved(value, other[kind], texts):
                    return False
            elif sorted(value, key=repr) != sorted(other[kind], key=repr):
                return False
        return True

    def is_moved(self, heard: str, meant: str, texts: list[str]) -> bool:
        """Whether a text consists of the same whole pieces in another order.

        A piece is what the source says without a break, or a text as it is at rest; between them
        there may be other white space.
        """
        if _letters(heard) != _letters(meant):
            return False
        pieces = [*self.pieces, *map(_dense, texts)]
        return _consists_of(_dense(heard), sorted(filter(None, pieces), key=len, reverse=True))


def _without_content(tree: Response, numbers: set[int]) -> Response:
    """A response without what these of its candidates say."""
    candidates = (
        replace(found, message=replace(found.message, content=())) if number in numbers else found
        for number, found in enumerate(tree.candidates)
    )
    return replace(tree, candidates=tuple(candidates))


def _block_texts(data: bytes, source: str) -> list[str]:
    """The texts of the blocks that a stream consists of, each in one piece."""
    dialect = dialects.get(source)
    reader, frames = dialect.stream_reader(True), framer(dialect.framings or dialect.framing)
    written: dict[tuple[int, str, int], str] = {}
    for frame in [*frames.feed(data), *frames.close()]:
        for event in () if reader.done else reader.read(frame):
            if isinstance(event, Delta):
                key = (event.index, event.place, event.part)
                written[key] = written.get(key, "") + event.text
    for event in reader.close():
        if isinstance(event, Delta):
            key = (event.index, event.place, event.part)
            written[key] = written.get(key, "") + event.text
    return [_dense(text) for text in written.values()]


def _texts_of(block: Block) -> tuple[str, ...]:
    if isinstance(block, Reasoning):
        return (*block.content, *block.summary)
    return (block.text,) if isinstance(block, Text | Refusal) else ()


def _consists_of(text: str, pieces: list[str]) -> bool:
    """Whether a text is made of pieces, each used once at most."""
    if not text:
        return True
    tried: set[str] = set()
    for place, piece in enumerate(pieces):
        if piece not in tried and text.startswith(piece):
            tried.add(piece)
            if _consists_of(text[len(piece) :], pieces[:place] + pieces[place + 1 :]):
                return True
    return False


# -- what was written bit by bit, by an independent reader ---------------------------------------

Pieces: TypeAlias = tuple[dict[str, str], dict[str, str]]
"""All text of a kind as the deltas have it, and as the last event has it."""

RESPONSES_DELTAS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "text",
    "response.reasoning_text.delta": "reasoning",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.function_call_arguments.delta": "calls",
    "response.custom_tool_call_input.delta": "calls",
}


def _frames(written: bytes, target: str) -> list[Json]:
    frames = framer(dialects.get(target).framing)
    found = [*frames.feed(written), *frames.close()]
    return [json.loads(data) for _, data in found if data != b"[DONE]"]


def _summed(found: Iterable[tuple[Any, str, Json]]) -> dict[str, str]:
    """Texts by kind, each in the order of its places."""
    out = {"text": "", "reasoning": "", "calls": "", "cited": "", "signed": ""}
    for _, kind, text in sorted(found, key=lambda piece: piece[0]):
        out[kind] += text or ""
    return out


WORDS = ("text", "refusal", "reasoning")
"""What of a fold is text."""


def _dense(text: str) -> str:
    """A text without white space."""
    return "".join(text.split())


def _letters(text: str) -> list[str]:
    return sorted(_dense(text))


def _values(text: str) -> list[Json]:
    """The JSON values of arguments that stand one after the other; of anything else, the text."""
    values: list[Json] = []
    place = 0
    while place < len(text):
        try:
            value, place = json.JSONDecoder().raw_decode(text, place)
        except ValueError:
            return [text]
        values.append(value)
    return values


def _responses_pieces(frames: list[Json]) -> Pieces:
    deltas = [
        (
            (frame["output_index"], "summary" in frame["type"], frame.get("content_index", 0)),
            RESPONSES_DELTAS[frame["type"]],
            frame["delta"],
        )
        for frame in frames
        if frame["type"] in RESPONSES_DELTAS
    ]
    for frame in frames:
        if frame["type"] == "response.output_text.annotation.added":
            place = (frame["output_index"], False, frame["content_index"])
            deltas.append((place, "cited", str(frame["annotation"].get("url"))))
        elif frame["type"] == "response.output_item.done":
            signed = frame["item"].get("encrypted_content")
            deltas.append(((frame["output_index"], False, 0), "signed", signed))
    whole: list[tuple[Any, str, Json]] = []
    for number, item in enumerate(frames[-1]["response"]["output"]):
        parts = [*(item.get("content") or ()), *(item.get("summary") or ())]
        kind = "reasoning" if item["type"] == "reasoning" else "text"
        whole += [(number, kind, part.get("text") or part.get("refusal")) for part in parts]
        cited = [cite for part in parts for cite in part.get("annotations") or ()]
        whole += [(number, "cited", str(cite.get("url"))) for cite in cited]
        whole.append((number, "signed", item.get("encrypted_content")))
        if item["type"] in ("function_call", "custom_tool_call"):
            whole.append((number, "calls", item.get("arguments") or item.get("input")))
    return _summed(deltas), _summed(whole)


def _router_pieces(frames: list[Json]) -> Pieces:
    """Here the last event has words for a response without any; nobody said them, so no delta."""
    pieces, repeated = _responses_pieces(frames)
    if repeated["text"] == "[No response generated]":
        repeated["text"] = ""
    return pieces, repeated


def _native_pieces(frames: list[Json]) -> Pieces:
    kinds = {"text": "text", "refusal": "text", "reasoning": "reasoning", "tool-call": "calls"}
    blocks = {f["index"]: (f["block"], f.get("candidate", 0)) for f in frames if "block" in f}
    deltas: list[tuple[Any, str, Json]] = []
    for frame in frames:
        if frame["event"] == "delta" and (block := blocks[frame["index"]])[0]["block"] in kinds:
            place = (block[1], frame["index"], frame.get("place") == "summary")
            deltas.append((place, kinds[block[0]["block"]], frame["text"]))
    written_of: dict[Any, str] = {}
    for place, what, piece in deltas:
        written_of[place] = written_of.get(place, "") + (piece if what == "calls" else "")
    blank = {place for place, text in written_of.items() if text == "{}"}  # no arguments, as none
    deltas = [found for found in deltas if found[0] not in blank]
    whole: list[tuple[Any, str, Json]] = []
    for number, candidate in enumerate(frames[-1]["response"]["candidates"]):
        for block in candidate["message"].get("content", ()):
            kind = kinds.get(block["block"])
            texts = [block.get("text"), block.get("arguments")]
            texts += [*block.get("content", ()), *block.get("summary", ())] if kind else []
            texts = [None if kind == "calls" and text == "{}" else text for text in texts]
            whole += [(number, kind, text) for text in texts if kind and isinstance(text, str)]
    return _summed(deltas), _summed(whole)


def _copilot_pieces(frames: list[Json]) -> Pieces:
    kinds = {"message": "text", "reasoning": "reasoning"}
    deltas = [
        (0, kinds[frame["type"]], part["text"])
        for frame in frames
        if frame["type"] in kinds
        for part in frame["content"]
    ]
    calls: dict[str, str] = {}
    for frame in frames:
        if frame["type"] == "function_call":
            calls[frame["call_id"]] = calls.get(frame["call_id"], "") + frame["arguments"]
    doc = frames[-1]["response"]
    message = doc["message"] if "message" in doc else doc["choices"][0]["message"]
    whole = [(0, "text", message.get("content")), (0, "reasoning", doc.get("reasoning"))]
    for call in message.get("tool_calls", ()):
        heard = calls.get(call["id"], "")
        values = _values(heard)
        if len(values) > 1:  # several calls with this id
            calls[call["id"]] = "".join(json.dumps(value) for value in values[1:])
            heard = json.dumps(values[0])
        deltas.append((0, "calls", heard))
        whole.append((0, "calls", call["function"]["arguments"]))
    return _summed(deltas), _summed(whole)


REPEATING: dict[str, Callable[[list[Json]], Pieces]] = {
    "openai-responses": _responses_pieces,
    "open-responses": _responses_pieces,
    "copilot": _responses_pieces,
    "router-responses": _router_pieces,
    "copilot-responses": _copilot_pieces,
    "native": _native_pieces,
}
"""Dialects whose last event repeats the response: there the pieces are heard apart from it."""


def _plan_as_text(doc: Json) -> Json:
    """Cohere calls a text before calls ``tool_plan``; that calls follow, a stream cannot know."""
    message = doc.get("message")
    if not isinstance(message, dict):
        return doc
    plan = [{"type": "text", "text": message["tool_plan"]}] if message.get("tool_plan") else []
    rest = {key: value for key, value in message.items() if key not in ("tool_plan", "citations")}
    cited = [
        {key: value for key, value in cite.items() if key not in ("type", "content_index")}
        for cite in message.get("citations") or ()
    ]
    content = [*(message.get("content") or ()), *plan]
    return {**doc, "message": {**rest, "content": content, "citations": cited}}


def _without_formats(doc: Json) -> Json:
    """OpenRouter names the format of all parts of a reasoning; its signature shows it last."""
    if isinstance(doc, list):
        return [_without_formats(item) for item in doc]
    if isinstance(doc, dict):
        return {key: _without_formats(value) for key, value in doc.items() if key != "format"}
    return doc


UNDECIDED: dict[str, Callable[[Json], Json]] = {
    "cohere": _plan_as_text,
    "openrouter": _without_formats,
}
"""Where a response has another form in the end that cannot be known while it arrives."""


def _fold(content: Iterable[Block]) -> dict[str, Json]:
    """What a message says, by kinds: each text in one piece, what is signed, cited and called."""
    fold: dict[str, Json] = dict.fromkeys(WORDS, "")
    fold |= {"signed": [], "cited": [], "calls": []}
    others: list[Json] = []
    for block in content:
        if block.extras is not None and block.extras.signature is not None:
            fold["signed"].append(block.extras.signature.data)
        if isinstance(block, Text):
            fold["text"] += block.text
            fold["cited"] += [
                (cite.url, cite.title or None, cite.quote) for cite in block.citations
            ]
        elif isinstance(block, Reasoning):
            fold["reasoning"] += "".join((*block.content, *block.summary))
            fold["signed"] += [block.signature.data] if block.signature is not None else []
        elif isinstance(block, Refusal):
            fold["refusal"] += block.text
        elif isinstance(block, ToolCall):
            fold["calls"].append((block.name, _form(block.arguments), block.id))
        elif isinstance(block, Raw) and block.payload.get("type") == "source-url":
            fold["cited"].append((block.payload["url"], block.payload.get("title") or None, None))
        else:
            others.append(block)
    fold["others"] = others
    return fold


def _number_of(path: str) -> int:
    """Which of several responses a pointer into a response document leads to."""
    tokens = path.split("/")[1:3]
    several = tokens[:1] in (["choices"], ["candidates"]) and len(tokens) == 2
    return int(tokens[1]) if several and tokens[1].isdigit() else 0


def _kind_at(tree: Response, path: str) -> str:
    """What of a fold stands at a place of the source."""
    kinds = {Text: "text", ToolCall: "calls", Reasoning: "reasoning", Refusal: "refusal"}
    for candidate in tree.candidates:
        for block in candidate.message.content:
            if block.at == path or block.at.startswith(f"{path}/"):
                return kinds.get(type(block), "others")
    return "reasoning" if path.endswith("/reasoning_details") else ""


def _form(doc: Json) -> Json:
    """A document without what says nothing: blank members, the spelling of arguments and counts."""
    if isinstance(doc, dict):
        found = {key: _form(value) for key, value in doc.items()}
        return {key: value for key, value in found.items() if value not in (None, "", [], {})}
    if isinstance(doc, list):
        return [_form(item) for item in doc]
    if isinstance(doc, float) and doc.is_integer():
        return int(doc)
    if isinstance(doc, str) and doc[:1] in ("{", "["):
        try:
            return json.loads(doc)
        except ValueError:
            return doc
    return doc


def chunks_do_not_matter(data: bytes, source: str, target: str, size: int) -> None:
    """Any split of the bytes gives the same bytes."""
    whole, pieces = Transcoder(source, target), Transcoder(source, target)
    wanted = whole.feed(data) + whole.close()
    parts = [pieces.feed(data[i : i + size]) for i in range(0, len(data), size)]
    written = b"".join(parts) + pieces.close()
    assert written == wanted, frames_difference(written, wanted, target)
    assert pieces.losses == whole.losses, difference(pieces.losses, whole.losses)


def splicing_changes_nothing(
    pieces: Sequence[bytes], source: str, target: str, **options: Any
) -> tuple[int, int]:
    """Frames that are spliced give what they give when each is read: bytes, losses, documents.

    Returns how many frames were spliced, and how many there were.
    """
    spliced, read = (Transcoder(source, target, **options) for _ in range(2))
    read._splicer.learn = lambda *_: None  # type: ignore[method-assign]
    for piece in pieces:
        written, wanted = spliced.feed(piece), read.feed(piece)
        assert written == wanted, frames_difference(written, wanted, target)
    written, wanted = spliced.close(), read.close()
    assert written == wanted, frames_difference(written, wanted, target)
    assert spliced.losses == read.losses, difference(spliced.losses, read.losses)
    for one, other in (
        (spliced.document, read.document),
        (spliced.reader.document(), read.reader.document()),
        (repr(spliced.response), repr(read.response)),
        (repr(spliced.problem), repr(read.problem)),
    ):
        assert one == other, difference(one, other)
    assert read.spliced == 0
    assert spliced._count + spliced.spliced == read._count, "not all frames were counted"
    return spliced.spliced, read._count


def cuts_do_not_matter(data: bytes, source: str, target: str, seed: str) -> None:
    """However the bytes are cut, whole or damaged, the result is the same, and it ends once."""
    rng = Random(seed)
    for damaged in _damaged(data, dialects.get(source).framing, rng):
        count = min(len(damaged), rng.choice((1, 2, 5, 20)))
        cut_alike(damaged, source, target, sorted(rng.sample(range(len(damaged) + 1), count)))


def cut_alike(data: bytes, source: str, target: str, cuts: list[int]) -> None:
    """Bytes in these pieces give the same result as in one, and it ends once."""
    wanted, got = _cut(data, source, target, []), _cut(data, source, target, cuts)
    assert got == wanted, f"cut at {cuts}: {data!r}"


def _damaged(data: bytes, framing: str, rng: Random) -> Iterator[bytes]:
    """A stream as it is; with stray bytes after it or inside; with a byte changed; cut short."""
    yield data
    yield data + rng.choice(STRAY)
    place = rng.randrange(len(data))
    yield data[:place] + bytes((data[place] ^ 0x5A,)) + data[place + 1 :]
    yield data[: rng.randrange(len(data))]
    place = rng.randrange(len(data))
    yield data[:place] + rng.choice(STRAY) + data[place:]
    if framing == "sse":
        yield data.replace(b"\n", b"\r\n")
        yield data.replace(b"\n", b"\r")


STRAY = (b"\x00\x01", b"{", b"data: {", b"data: {\n\n", b"junk\n\n", b"data:\n\n", b"]", b"}{")


def _cut(data: bytes, source: str, target: str, cuts: list[int]) -> tuple[Any, ...]:
    """All that a transcoder gives for a stream in these pieces."""
    transcoder = Transcoder(source, target, now=0)
    written = [transcoder.feed(data[a:b]) for a, b in pairwise((0, *cuts, len(data)))]
    written.append(transcoder.close())
    assert transcoder.close() == b"", "it ends twice"
    return b"".join(written), transcoder.losses, transcoder.response, transcoder.document


def never_a_false_success(data: bytes, source: str, target: str) -> None:
    """A stream that is truncated, at any place, ends with an error."""
    whole = _ended(data, source, target)
    framing = dialects.get(source).framing
    frames = framer(framing).feed(data)
    for count in range(len(frames)):
        begun = b"".join(write_frame(framing, frame) for frame in frames[:count])
        if not breaks_off(begun, whole, source, target):
            break  # it was whole, and what follows only says so


def breaks_off(begun: bytes, whole: Response, source: str, target: str) -> bool:
    """A part of a stream ends in an error, unless it says all; False where it had ended before."""
    cut = Transcoder(source, target)
    written = cut.feed(begun)
    if cut.ended:
        return False
    ending = cut.close()
    if cut.response.failure is None:
        said_so_far = meaning(cut.response).candidates
        assert said_so_far == meaning(whole).candidates[: len(said_so_far)], (
            "a part passes for the whole"
        )
        return True
    heard = _ended(written + ending, target, target)
    assert heard.failure is not None, f"cut after {len(begun)} bytes: {ending!r}"
    return True


def _ended(data: bytes, source: str, target: str) -> Response:
    """What a transcoder has read, once its source has ended."""
    transcoder = Transcoder(source, target)
    transcoder.feed(data)
    transcoder.close()
    return transcoder.response


def _flight_losses(losses: Iterable[Loss]) -> list[str]:
    written = (loss for loss in losses if not loss.what.startswith("stream."))
    return sorted(f"{loss.kind} {loss.what} at {loss.path}" for loss in written)


def resolves(doc: Json, pointer: str) -> bool:
    """Whether a JSON pointer names a place in a document."""
    for token in pointer.split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        if isinstance(doc, dict) and token in doc:
            doc = doc[token]
        elif isinstance(doc, list) and token.isdigit() and int(token) < len(doc):
            doc = doc[int(token)]
        else:
            return False
    return True


Place: TypeAlias = tuple[Any, ...]
"""Where a value stands: keys and indices."""


def broken(body: Json, places: Iterable[Place] | None = None) -> Iterator[Json]:
    """The document with each of its values replaced by something that does not belong there.

    With ``places``, only the values there are replaced.
    """
    for path in _paths(body) if places is None else places:
        for wrong in WRONG:
            yield _replaced(body, path, wrong)
        yield _removed(body, path)


def broken_once(body: Json, choose: Callable[[int], int]) -> Json:
    """One of what ``broken`` gives; ``choose`` names its number, told how many there are."""
    paths = list(_paths(body))
    place, way = divmod(choose(len(paths) * (len(WRONG) + 1)), len(WRONG) + 1)
    if way == len(WRONG):
        return _removed(body, paths[place])
    return _replaced(body, paths[place], WRONG[way])


ALIKE = 3
"""How many values of one shape are broken, of all documents of a dialect."""


def novel_places(documents: Iterable[Document]) -> dict[str, list[Place]]:
    """The values of documents, by their names, that are not like those of three others before.

    Values are alike that stand at the same place of the same dialect, whatever their indices, with
    the same keys, types and roles around them. What a reader does with the fourth, it did thrice.
    """
    seen: dict[Any, int] = {}
    places: dict[str, list[Place]] = {}
    for document in documents:
        places[document.name] = mine = []
        for path in _paths(document.body):
            shape = (document.dialect, document.facet, *_shape(document.body, path))
            seen[shape] = seen.get(shape, 0) + 1
            if seen[shape] <= ALIKE:
                mine.append(path)
    return places


def _shape(body: Json, path: Place) -> tuple[Any, ...]:
    """The keys to a value, what its nearest two objects are, and its type."""
    value, around = body, []
    for key in path:
        if isinstance(value, dict):
            tags = (value.get("type"), value.get("role"))
            around.append((*sorted(value), *(tag for tag in tags if isinstance(tag, str))))
        value = value[key]
    keys = tuple("*" if isinstance(key, int) else key for key in path)
    return keys, tuple(around[-2:]), type(value)


def for_all(
    law: Callable[[Document, str], None], document: Document, targets: Iterable[str] | None = None
) -> None:
    """A law over every dialect that can write the document; all that break it are named.

    A dialect may refuse a conversation that it has no form for, if it says where. With ``targets``,
    only these are tried.
    """
    broken: list[str] = []
    for target in dialects.names() if targets is None else targets:
        if not speaks(target, document.facet):
            continue
        try:
            law(document, target)
        except Unsayable as refusal:
            if not resolves(document.body, refusal.at):
                broken.append(f"{target}: {refusal} points nowhere")
        except AssertionError as problem:
            broken.append(f"{target}: {problem}")
    assert not broken, "\n".join(broken)


# -- helpers --------------------------------------------------------------------------------


def needs_a_model(tree: Tree, target: str) -> bool:
    """Whether a request names no model, for which some formats have no place, and must."""
    if not isinstance(tree, Request) or (tree.model or "").strip():
        return False
    writer = dialects.get(target)
    return writer.needs_model or (tree.model is not None and bool(writer.endpoints))


def converted(document: Document, target: str, **options: Any) -> Result:
    if document.facet == "request" and target != document.dialect:
        if needs_a_model(dialects.get(document.dialect).read(document.body, "request"), target):
            options["model"] = "m"
    return convert(
        document.body,
        source=document.dialect,
        target=target,
        facet=document.facet,
        now=0,
        **options,
    )


def _paths(value: Json, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _paths(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _paths(item, (*path, index))


def _replaced(value: Json, path: tuple[Any, ...], new: Json) -> Json:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _replaced(value[path[0]], path[1:], new)
    return copy


def _removed(value: Json, path: tuple[Any, ...]) -> Json:
    if not path:
        return None
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    if len(path) == 1:
        del copy[path[0]]
    else:
        copy[path[0]] = _removed(value[path[0]], path[1:])
    return copy


def _text(value: Json) -> str:
    return json.dumps(value, sort_keys=True)


def _written(losses: list[Loss] | tuple[Loss, ...]) -> str:
    return "\n".join(f"  {loss}" for loss in losses)


# -- what a failure prints ------------------------------------------------------------------

SHOWN = 12
"""How many places of a difference are printed."""
EXCERPT = 60
"""How much of a value is printed."""


def difference(got: Any, wanted: Any, *, most: int = SHOWN) -> str:
    """Where two documents (or trees) differ: a line for each place, ``wanted -> got``.

    >>> print(difference({"a": [1, 2], "b": "x"}, {"a": [1, 3], "c": None}))
    /a/1: 3 -> 2
    /c: null is missing
    /b: "x" is not wanted
    """
    places = _places(got, wanted, "")
    shown = list(islice(places, most))
    more = sum(1 for _ in places)
    return "\n".join(shown + [f"... and {more} more"] * bool(more)) or "no difference"


def frames_difference(got: bytes, wanted: bytes, dialect: str) -> str:
    """Where two streams of a dialect differ, frame by frame."""

    def frames(data: bytes) -> list[Json]:
        found = framer(dialects.get(dialect).framing)
        return [[name, _parsed(frame)] for name, frame in [*found.feed(data), *found.close()]]

    places = difference(frames(got), frames(wanted))
    return "the same frames, other bytes between them" if places == "no difference" else places


def _parsed(frame: bytes) -> Json:
    try:
        return json.loads(frame)
    except ValueError:
        return frame.decode("utf-8", "backslashreplace")


def _places(got: Any, wanted: Any, at: str) -> Iterator[str]:
    got, wanted = _plain(got), _plain(wanted)
    if isinstance(got, dict) and isinstance(wanted, dict):
        yield from _keys(got, wanted, at)
    elif isinstance(got, list) and isinstance(wanted, list):
        yield from _items(got, wanted, at)
    elif isinstance(got, str) and isinstance(wanted, str) and got != wanted:
        start = next((i for i, (a, b) in enumerate(zip(got, wanted, strict=False)) if a != b), None)
        start = min(len(got), len(wanted)) if start is None else start
        yield f"{at or '/'}: {_excerpt(wanted, start)} -> {_excerpt(got, start)}"
    elif got.__class__ is not wanted.__class__ or got != wanted:
        yield f"{at or '/'}: {_brief(wanted)} -> {_brief(got)}"


def _keys(got: dict[str, Any], wanted: dict[str, Any], at: str) -> Iterator[str]:
    for key, value in wanted.items():
        place = f"{at}/{escape(str(key))}"
        if key in got:
            yield from _places(got[key], value, place)
        else:
            yield f"{place}: {_brief(value)} is missing"
    for key, value in got.items():
        if key not in wanted:
            yield f"{at}/{escape(str(key))}: {_brief(value)} is not wanted"
    if got.keys() == wanted.keys() and list(got) != list(wanted):
        yield f"{at or '/'}: keys in another order: {', '.join(wanted)} -> {', '.join(got)}"


def _items(got: list[Any], wanted: list[Any], at: str) -> Iterator[str]:
    """Items that are gone or came in between do not make others of those after them."""
    before, after = ([repr(_plain(item)) for item in items] for items in (wanted, got))
    steps = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    for what, i, end, j, stop in steps:
        if what == "equal":
            continue
        for n in range(max(end - i, stop - j)):
            if i + n >= end:
                yield f"{at}/{j + n}: {_brief(got[j + n])} is not wanted"
            elif j + n >= stop:
                yield f"{at}/{i + n}: {_brief(wanted[i + n])} is missing"
            else:
                yield from _places(got[j + n], wanted[i + n], f"{at}/{i + n}")


def _plain(value: Any) -> Any:
    """Trees as objects, tuples as lists."""
    if isinstance(value, Struct):
        fields = {name: item for name, item in asdict(value).items() if name != "original"}
        return {"": type(value).__name__} | fields
    return list(value) if isinstance(value, tuple) else value


def _brief(value: Any) -> str:
    try:
        text = json.dumps(_plain(value), ensure_ascii=False)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= EXCERPT else f"{text[: EXCERPT - 1]}…"


def _excerpt(text: str, place: int) -> str:
    """A text where it begins to differ."""
    start = max(place - EXCERPT // 3, 0) if len(text) > EXCERPT else 0
    cut = text[start : start + EXCERPT]
    written = json.dumps(cut, ensure_ascii=False)
    return ("…" if start else "") + written + ("…" if start + EXCERPT < len(text) else "")
