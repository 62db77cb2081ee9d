"""In what a stream may differ from its whole response, as far as the ledger reports it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from msgspec.structs import replace

from .. import dialects
from ..core.walk import meaning
from ..ledger import Loss
from ..model import Block, Json, Raw, Reasoning, Refusal, Response, Text, ToolCall
from ..result import Result
from ..streams.events import Delta
from ..streams.framing import framer
from .difference import difference


class Excuse:
    """In what a stream may differ from the whole response, as the ledger reports it."""

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
            assert same, f"{kind} in pieces: {heard}\nin the end: {text}"

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

        A piece is what the source says without a break, or a text of the whole response; between
        them there may be other white space.
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


def frames_of(written: bytes, target: str) -> list[Json]:
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
