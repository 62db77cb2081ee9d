"""Writing the stream of the OpenAI Responses API.

Every event has a number. Items open and close, parts open and close inside them, and the last
event repeats the whole response, as the writer at rest puts it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import msgspec
from msgspec.structs import replace

from ...core.reading import encode
from ...core.writing import is_blank, same_only
from ...ledger import Ledger
from ...model import Block, Citation, Json, Reasoning, Refusal, Signature, Text, ToolCall
from ...streams.events import Begin, Cite, Close, Delta, Open, Signed
from ...streams.orders import FunctionsOnly
from ...streams.splicing import Splice
from . import calls, items, parts
from .parts import OUTPUT
from .response import stem

if TYPE_CHECKING:
    from .base import ResponsesBase


encode_text = msgspec.json.Encoder().encode

# What the parts of reasoning are counted by, how their texts and they themselves are called in the
# names of events, and their type.
REASONED = {
    "text": ("content_index", "reasoning_text", "content_part", "reasoning_text"),
    "summary": (
        "summary_index", "reasoning_summary_text", "reasoning_summary_part", "summary_text",
    ),
}  # fmt: skip
# Which field of an item the deltas of a call fill, and how they are called.
CALLS = {
    "function": ("arguments", "function_call_arguments"),
    "custom": ("input", "custom_tool_call_input"),
}


class ResponsesPart:
    """A block while it is written: where it stands, and what was written of it."""

    def __init__(self, block: Block, item: dict[str, Json], output: int, content: int) -> None:
        self.block = block
        self.item = item
        self.output = output
        self.content = content
        self.turn = 0
        self.head = b""
        self.texts: dict[tuple[str, int], list[str]] = {}
        self.citations: list[Citation] = []
        self.signature: Signature | None = None

    def text(self) -> str:
        return "".join(self.texts.get(("text", 0), ()))

    def place(self, **more: int) -> dict[str, Json]:
        """What its events say of it: the item, and which of its parts it is."""
        return {"item_id": self.item.get("id", ""), "output_index": self.output, **more}


class ResponsesWriter(FunctionsOnly):
    has_summaries: ClassVar[bool] = True
    needs_whole: ClassVar[bool] = True
    dialect: ResponsesBase

    def __init__(self, dialect: ResponsesBase, log: Ledger, same: bool) -> None:
        super().__init__(dialect, same, log)
        self.w = dialect.writing(self.aside, dialect.name if same else None, reply=True)
        self.sequence = -1
        self.count = 0  # of items
        self.parts: dict[int, ResponsesPart] = {}
        self.message: dict[str, Json] | None = None  # the message item that is open
        self.place = 0  # where it stands
        self.parted: set[str] = set()  # messages of the source that were open when others began
        self.items: dict[int, dict[str, Json]] = {}  # those that are complete

    def event(self, kind: str, **fields: Json) -> bytes:
        self.sequence += 1
        doc = {"type": kind, **fields, "sequence_number": self.sequence}
        return b"event: %b\ndata: %b\n\n" % (kind.encode(), encode(doc))

    def begin(self, event: Begin) -> bytes:
        self.w.within = stem(event.response.id)
        return self.announce(self.at_rest(replace(event.response, failure=None)))

    def announce(self, doc: dict[str, Json]) -> bytes:
        self.begun = True
        doc = doc | {"status": "in_progress", "error": None, "incomplete_details": None}
        doc |= {"output": [], "usage": None}
        return self.event("response.created", response=doc) + self.event(
            "response.in_progress", response=doc
        )

    # -- items ------------------------------------------------------------------------------

    def open(self, event: Open) -> bytes:
        if event.candidate:
            return b""  # there is one reply here
        block = event.block
        if isinstance(block, Text | Refusal):
            return self.open_text(event.index, block)
        closed = self.close_message()
        if isinstance(block, ToolCall):
            return closed + self.open_call(event.index, block)
        if isinstance(block, Reasoning):
            self.parts[event.index] = ResponsesPart(block, {}, -1, 0)
            self.parts[event.index].turn = self.turn()
            return closed + (self.open_reasoning(event.index) if self.same else b"")
        items: list[Json] = []
        self.dialect.write_turn([block], items, self.w)
        self.latest = self.turn() if items else self.latest
        return closed + b"".join(map(self.whole, items))

    def whole(self, doc: Json) -> bytes:
        added = self.event("response.output_item.added", output_index=self.count, item=doc)
        done = self.event("response.output_item.done", output_index=self.count, item=doc)
        self.items[self.count] = doc
        self.count += 1
        return added + done

    def open_text(self, index: int, block: Text | Refusal) -> bytes:
        out = b""
        if self.message is not None and self.same and parts.is_item(block.extras):
            out += self.close_message()
        if self.message is None:
            if self.parted and block.at.rpartition("/")[0] in self.parted:
                why = "more of a message arrived after an item that follows it in the document"
                self.log.moved("stream.order", block.at, why)
            doc = items.write_message_item(self.dialect, [block], self.w)
            doc = {**doc, "status": "in_progress", "content": []}
            self.message, self.place = doc, self.count
            self.count += 1
            out += self.event("response.output_item.added", output_index=self.place, item={**doc})
        number = len(self.message["content"])
        self.message["content"].append(None)
        part = self.parts[index] = ResponsesPart(block, self.message, self.place, number)
        self.latest = self.turn()
        blank: dict[str, Json] = {"type": "output_text", "annotations": [], "text": ""}
        fields = part.place(content_index=number)
        if isinstance(block, Refusal):
            blank = {"type": "refusal", "refusal": ""}
            part.head = delta_head("response.refusal.delta", fields)
        else:
            part.head = delta_head("response.output_text.delta", {**fields, "logprobs": []})
        return out + self.event("response.content_part.added", **fields, part=blank)

    def open_call(self, index: int, call: ToolCall) -> bytes:
        self.latest = self.turn()
        doc = self.dialect.write_call(replace(call, arguments="{}"), self.w)
        field, kind = CALLS.get(call.kind, ("arguments", ""))
        # The arguments of a search are an object, and come whole.
        doc = {**doc, field: "" if kind else {}, "status": "in_progress"}
        part = self.parts[index] = ResponsesPart(call, doc, self.count, 0)
        self.count += 1
        if kind:
            part.head = delta_head(f"response.{kind}.delta", part.place())
        return self.event("response.output_item.added", output_index=part.output, item={**doc})

    def open_reasoning(self, index: int) -> bytes:
        """Reasoning is an item once it says something."""
        part = self.parts[index]
        assert isinstance(part.block, Reasoning)
        known = replace(part.block, content=("...",), summary=(), signature=None)
        doc = self.dialect.write_reasoning(known, self.w) or {}
        part.item = {**doc, "summary": []}
        part.item.pop("content", None)
        part.output = self.count
        self.count += 1
        self.begins(part.turn, part.block.at)
        added = {**part.item, "status": "in_progress"}
        return self.event("response.output_item.added", output_index=part.output, item=added)

    # -- deltas -----------------------------------------------------------------------------

    def delta(self, event: Delta) -> bytes:
        part = self.parts.get(event.index)
        if part is None:
            return b""
        text = event.text
        if part.head and event.place == "text":
            self.sequence += 1
            part.texts.setdefault(("text", 0), []).append(text)
            return part.head + encode_text(text) + b',"sequence_number":%d}\n\n' % self.sequence
        if isinstance(part.block, Reasoning):
            return self.think(event, part)
        if isinstance(part.block, ToolCall):
            part.texts.setdefault(("text", 0), []).append(text)
        return b""

    def splicing(self, event: Delta) -> Splice | None:
        part, key = self.parts.get(event.index), (event.place, event.part)
        if part is None or event.index in self.wrapped:
            return None
        head = part.head if event.place == "text" else b""
        if isinstance(part.block, Reasoning):
            if part.output < 0 or key not in part.texts:
                return None
            kind, fields = self.reasoned(event, part)
            head = delta_head(kind, fields)
        elif part.head:
            key = ("text", 0)
        return None if not head else partial(self.numbered, head, part.texts.setdefault(key, []))

    def numbered(
        self, head: bytes, kept: list[str], texts: Sequence[str], literals: Sequence[bytes]
    ) -> bytes:
        kept.append("".join(texts))
        first = self.sequence + 1
        self.sequence += len(texts)
        if len(texts) == 1:
            return b'%b%b,"sequence_number":%d}\n\n' % (head, literals[0], first)
        numbers = enumerate(literals, first)
        return b"".join([b'%b%b,"sequence_number":%d}\n\n' % (head, x, n) for n, x in numbers])

    def reasoned(self, event: Delta, part: ResponsesPart) -> tuple[str, dict[str, Json]]:
        """The type of a delta of reasoning, and its place."""
        counter, text, _, _ = REASONED[event.place]
        return f"response.{text}.delta", part.place(**{counter: event.part})

    def think(self, event: Delta, part: ResponsesPart) -> bytes:
        opened = b""
        if part.output < 0:
            if not event.text:
                return b""
            opened = self.open_reasoning(event.index)
        key = (event.place, event.part)
        kind, fields = self.reasoned(event, part)
        if key not in part.texts:
            part.texts[key] = []
            _, _, name, sort = REASONED[event.place]
            blank = {"type": sort, "text": ""}
            opened += self.event(f"response.{name}.added", **fields, part=blank)
        part.texts[key].append(event.text)
        return opened + self.event(kind, **fields, delta=event.text)

    def cite(self, event: Cite) -> bytes:
        part = self.parts.get(event.index)
        if part is None or not isinstance(part.block, Text):
            return b""
        part.citations.append(event.citation)
        return b""

    def add_signature(self, event: Signed) -> bytes:
        if (part := self.parts.get(event.index)) is not None:
            part.signature = event.signature
        return b""

    # -- ends -------------------------------------------------------------------------------

    def close(self, event: Close) -> bytes:
        part = self.parts.pop(event.index, None)
        if part is None:
            return b""
        if isinstance(part.block, ToolCall):
            return self.close_call(part)
        if isinstance(part.block, Reasoning):
            return self.close_reasoning(part, event.index)
        if part.output < 0:
            return b""
        return self.close_text(part)

    def close_text(self, part: ResponsesPart) -> bytes:
        text, block = part.text(), part.block
        fields = part.place(content_index=part.content)
        if isinstance(block, Refusal):
            doc = parts.write_refusal(self.dialect, replace(block, text=text), self.w)
            out = self.event("response.refusal.done", **fields, refusal=text)
        else:
            assert isinstance(block, Text)
            written = replace(block, text=text, citations=tuple(part.citations))
            doc = self.dialect.write_text(written, OUTPUT, self.w)
            cited = doc.get("annotations") or []
            out = b"".join(
                self.event(
                    "response.output_text.annotation.added",
                    **fields,
                    annotation_index=number,
                    annotation=cite,
                )
                for number, cite in enumerate(cited)
            )
            out += self.event("response.output_text.done", **fields, text=text, logprobs=[])
        part.item["content"][part.content] = doc
        out += self.event("response.content_part.done", **fields, part=doc)
        if part.item is not self.message and None not in part.item["content"]:
            out += self.item_done(part.output, part.item)  # it waited for this part
        return out

    def item_done(self, place: int, doc: dict[str, Json]) -> bytes:
        doc = {**doc, "status": "completed"}
        self.items[place] = doc
        return self.event("response.output_item.done", output_index=place, item=doc)

    def close_call(self, part: ResponsesPart) -> bytes:
        text, call = part.text(), part.block
        assert isinstance(call, ToolCall)
        field, kind = CALLS.get(call.kind, ("arguments", ""))
        if not kind:
            given = calls.search_arguments(replace(call, arguments=text), self.w)
            return self.item_done(part.output, {**part.item, field: given})
        out = b""
        if is_blank(text) and call.kind == "function":
            text = "{}"
            if not self.same:  # for those who add up the deltas
                out = self.event(f"response.{kind}.delta", **part.place(), delta=text)
        out += self.event(f"response.{kind}.done", **part.place(), **{field: text})
        return out + self.item_done(part.output, {**part.item, field: text})

    def close_reasoning(self, part: ResponsesPart, index: int) -> bytes:
        block = part.block
        assert isinstance(block, Reasoning)
        signature = part.signature or block.signature
        own = (
            signature is not None
            and signature.kind == "encrypted"
            and same_only(self.dialect, signature.issuer)
        )
        out = b""
        if part.output < 0:
            if not own and block.id is None:
                return b""  # reasoning without words
            self.parts[index] = part
            out = self.open_reasoning(index)
            del self.parts[index]
        doc = dict(part.item)
        for (place, number), texts in sorted(part.texts.items()):
            counter, text, name, kind = REASONED[place]
            fields, written = (
                part.place(**{counter: number}),
                {"type": kind, "text": "".join(texts)},
            )
            key = "summary" if place == "summary" else "content"
            doc[key] = [*doc.get(key, ()), written]
            out += self.event(f"response.{text}.done", **fields, text=written["text"])
            out += self.event(f"response.{name}.done", **fields, part=written)
        if own and signature is not None:
            doc["encrypted_content"] = signature.data
        self.items[part.output] = doc
        return out + self.event("response.output_item.done", output_index=part.output, item=doc)

    def close_message(self) -> bytes:
        doc, self.message = self.message, None
        if doc is None or None not in doc["content"]:
            return b"" if doc is None else self.item_done(self.place, doc)
        # A part is open, beside what comes now.
        open_parts = (part.block.at for part in self.parts.values() if part.item is doc)
        self.parted.update(at.rpartition("/")[0] for at in open_parts)
        return b""

    def end(self, doc: Json) -> bytes:
        ended = doc.get("status") in ("completed", "failed")
        kind = f"response.{doc['status'] if ended else 'incomplete'}"
        closed = self.close_message()
        if not self.same and isinstance(doc.get("output"), list):
            doc = {**doc, "output": self.in_order(doc["output"])}
        return closed + self.event(kind, response=doc)

    def in_order(self, output: list[Json]) -> list[Json]:
        """The items as they have been numbered, if they came in another order than at rest."""
        written = [self.items[place] for place in sorted(self.items)]
        left = [piece for item in output for piece in pieces_of(item)]
        if keys_of(written) == keys_of(output):
            return output
        out: list[Json] = []
        for item in written:
            found: list[Json] = []
            for piece in pieces_of(item):
                like = [other for other in left if piece_key(other) == piece_key(piece)]
                if not like:
                    return output
                cited = piece.get("annotations")  # more may have come late
                best = next((o for o in like if o.get("annotations") == cited), like[0])
                left = [other for other in left if other is not best]
                found.append(best)
            if item["type"] == "message":
                out.append({**item, "content": found})
            else:
                out.append({**found[0], "id": item["id"]} if "id" in item else found[0])
        if left:
            return output
        for one, other in zip(messages(out), messages(output), strict=False):
            if "status" in other:
                one["status"] = other["status"]  # the last one may be incomplete
        return out

    def fail(self, doc: Json) -> bytes:
        # Clients want to hear that a response began before they hear that it failed.
        announced = b"" if self.begun else self.announce(doc)
        return announced + self.event("response.failed", response=doc)


def pieces_of(item: dict[str, Json]) -> list[dict[str, Json]]:
    """What an item consists of: the parts of a message, else itself."""
    return item["content"] if item["type"] == "message" else [item]


def piece_key(piece: dict[str, Json]) -> Json:
    """What tells a piece from others."""
    parts = [*(piece.get("content") or ()), *(piece.get("summary") or ())]
    return piece["type"], piece.get("call_id"), "".join(map(text_in, [piece, *parts]))


def messages(output: list[Json]) -> list[Json]:
    """The messages, from the last one to the first."""
    return [item for item in reversed(output) if item["type"] == "message"]


def text_in(part: dict[str, Json]) -> str:
    return str(part.get("text") or part.get("refusal") or "")


def keys_of(output: list[Json]) -> list[Json]:
    pieces = (piece for item in output for piece in pieces_of(item))
    return [(piece_key(piece), piece.get("annotations")) for piece in pieces]


def delta_head(kind: str, fields: dict[str, Json]) -> bytes:
    """What the deltas of a block begin with, up to their text."""
    doc = encode({"type": kind, **fields, "delta": ""})
    return b"event: %b\ndata: %b" % (kind.encode(), doc[:-3])
