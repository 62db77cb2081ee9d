"""Reading the stream of the OpenAI Responses API.

Items open and close, parts open and close inside them, and the last event repeats the whole
reply: where that is another text than came before, the ledger says so. Items go by their place
(``output_index``), not by their ids, which some servers change from event to event; where no place
is given, by their ids. How far a hosted tool has come is news, not a part of the response, and is
passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count, islice
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import msgspec
from msgspec.structs import replace

from ...core.reading import UNREADABLE, as_dict, maybe_list, maybe_str, need_dict
from ...core.walk import rebuild
from ...errors import Malformed
from ...model import Block, Json, Reasoning, Response, Text
from ...streams.base import StreamReader
from ...streams.events import (
    Cite,
    Close,
    Delta,
    End,
    Event,
    Odd,
    Open,
    Ping,
    Signed,
    deltas,
    hollow,
)
from ...streams.framing import Frame
from ...streams.received import Keys, Received
from . import items, response
from .parts import OUTPUT, read_citation, read_parts

if TYPE_CHECKING:
    from .base import ResponsesBase
from .stream_items import (
    CALL_TEXTS,
    PART_TEXTS,
    Item,
    has_other_id,
    kept,
    part_text,
    slim,
    texts,
    without_progress,
    words,
)
from .stream_keys import DELTAS, ENDS, HOSTED, KEYS, NEWS, ResponsesUsual

decode_usual = msgspec.json.Decoder(ResponsesUsual).decode


class ResponsesReader(StreamReader):
    dialect: ResponsesBase
    keys: ClassVar[dict[str, Keys]] = KEYS
    others: ClassVar[Keys | None] = HOSTED
    varying: ClassVar[Mapping[str, Any]] = {"sequence_number": int, "obfuscation": str}

    def __init__(self, dialect: ResponsesBase, whole: bool) -> None:
        super().__init__(dialect, whole)
        self.head: dict[str, Json] | None = None
        self.items: dict[int, Item] = {}
        self.furthest = 0  # the last of the items that have a block
        self.count = 0  # of blocks
        self.encrypted: dict[str, str] = {}  # reasoning as it was passed on, by its place
        self.ways: dict[str, Callable[[dict[str, Json]], Sequence[Event]]] = {
            "response.created": self.created,
            "response.output_item.added": self.added,
            "response.content_part.added": self.part_added,
            "response.content_part.done": self.part_done,
            "response.output_text.annotation.added": self.cited,
            "response.output_item.done": self.item_done,
            "error": self.broken,
            "response.error": self.broken,
            "ping": self.ping,
            **{f"response.{word}": self.finished for word in ENDS},
            **dict.fromkeys(DELTAS, self.grown),
        }

    def read(self, frame: Frame) -> Sequence[Event]:
        data = frame[1]
        try:
            usual = decode_usual(data)
        except UNREADABLE:
            return self.read_with_care(frame)
        item = self.items.get(usual.output_index)
        place, counter = DELTAS[usual.type]
        number = (
            usual.summary_index if place == "summary" else usual.content_index if counter else 0
        )
        key = None if item is None else item.keys.get((place, number))
        if item is None or item.done or key is None or key not in item.received:
            return self.read_with_care(frame)
        self.sink = item.received[key].add
        return self.grow(item, key, usual.delta)

    def read_with_care(self, frame: Frame) -> Sequence[Event]:
        if frame[1].strip() == b"[DONE]":
            return ()
        doc = self.parse(frame)
        kind = doc.get("type") or frame[0]
        way = self.ways.get(kind) if isinstance(kind, str) else None
        if way is not None:
            if way != self.broken:  # an error is read whole
                self.look(kind, doc)
            return way(doc | {"type": kind})
        if doc.get("error") is not None:
            return self.broken(doc)
        if isinstance(kind, str) and kind.startswith(NEWS):
            self.look(kind, doc)
            if self.head is None and doc.get("response").__class__ is dict:
                return self.created(doc)
            self.compare(doc)
            return ()
        return (Odd(self.dialect.name, doc),)

    def belongs_to(self, kind: str, doc: dict[str, Json]) -> str:
        return f"/output/{doc['output_index']}" if "output_index" in doc else ""

    def compare(self, doc: dict[str, Json]) -> None:
        """News that repeats what is known so far, or a part that comes with its item."""
        self.supersede(doc.get("response"), self.head, "")
        if doc.get("part").__class__ is dict:
            place = "summary" if "summary_index" in doc else "content"
            at = f"{self.belongs_to('', doc)}/{place}/{doc.get(f'{place}_index', 0)}"
            self.supersede(doc["part"], {"type": "", "text": ""}, at)

    def created(self, doc: dict[str, Json]) -> Sequence[Event]:
        if self.head is not None:
            raise Malformed("the response has begun already")
        self.head = dict(need_dict(doc, "response", ""))
        return (self.begin(self.silent(self.head)),)

    def silent(self, doc: dict[str, Json]) -> Response:
        tree = self.dialect.read_response({**doc, "output": []})
        assert isinstance(tree, Response)
        return tree

    # -- items ------------------------------------------------------------------------------

    def place_of(self, doc: dict[str, Json], key: str = "output_index") -> int:
        number = doc.get(key)
        if number is None:  # some servers do not count: items go by their ids, and parts are one
            return self.place_by_id(doc) if key == "output_index" else 0
        if number.__class__ is not int or not 0 <= number < 10_000:
            raise Malformed("expected a small integer", f"/{key}")
        return int(number)

    def place_by_id(self, doc: dict[str, Json]) -> int:
        item = doc.get("item")
        name = item.get("id") if isinstance(item, dict) else doc.get("item_id")
        found = (n for n, known in self.items.items() if known.doc.get("id") == name)
        return next(found, max(self.items, default=-1) + 1)

    def added(self, doc: dict[str, Json]) -> Sequence[Event]:
        if self.head is None:
            raise Malformed("an item before the beginning of the response")
        index = self.place_of(doc)
        if index in self.items:
            raise Malformed(f"item {index} has begun before")
        at = f"/output/{index}"
        item = Item(dict(need_dict(doc, "item", "")), at)
        events: Sequence[Event] = ()
        if item.kind in CALL_TEXTS:
            events = self.call_added(item)
        elif item.kind == "reasoning":
            item.doc |= {"summary": []}
            item.doc.pop("content", None)
            item.doc.pop("encrypted_content", None)  # whole only in the end
            known = self.read_item({"type": "reasoning", "id": item.doc.get("id")}, at)
            events = (self.open(item, ("thought", 0), known),)
        elif item.kind == "message":
            if item.doc.get("role") != "assistant":
                raise Malformed("the role of a message in a response is 'assistant'", "/item/role")
            item.doc["content"] = []  # its parts come
        self.items[index] = item
        return events

    def call_added(self, item: Item) -> Sequence[Event]:
        field, key = CALL_TEXTS[item.kind], item.key("call", 0)
        before = maybe_str(item.doc, field, item.at)
        item.doc[field] = ""
        item.received[key] = Received(self.whole)
        opened = self.open(item, key, self.read_item(item.doc, item.at))
        return (opened, *self.grow(item, key, before)) if before else (opened,)

    def open(self, item: Item, key: tuple[str, int], block: Block) -> Open:
        index = item.open[key] = item.blocks[key] = self.count
        self.count += 1
        place = int(item.at.rpartition("/")[2])
        if place < self.furthest:
            why = "more of an item arrived after an item that follows it in the document"
            self.notes.append(("stream.order", block.at, why))
        else:
            self.furthest = place
        return Open(index, hollow(block))

    def read_item(self, doc: dict[str, Json], at: str) -> Block:
        run: list[Block] = []
        items.read_message_at(self.dialect, doc, at, run)
        return run[0]

    def item(self, doc: dict[str, Json]) -> Item:
        item = self.items.get(self.place_of(doc))
        if item is None or item.done:
            raise Malformed("an item that is not open")
        return item

    def part_added(self, doc: dict[str, Json]) -> Sequence[Event]:
        item, number = self.item(doc), self.place_of(doc, "content_index")
        part = dict(need_dict(doc, "part", ""))
        if item.kind != "message":
            self.compare(doc)
            return ()  # the text of reasoning
        if ("content", number) in item.keys:
            raise Malformed(f"part {number} has begun before")
        return self.open_part(item, item.key("content", number)[1], part, self.place_of(doc))

    def open_part(
        self, item: Item, number: int, part: dict[str, Json], index: int
    ) -> Sequence[Event]:
        parts = item.doc["content"]
        key = PART_TEXTS.get(str(part.get("type")))
        if key is None:
            parts.append(part)
            return ()  # whatever it is, it comes whole
        before = maybe_str(part, key, "/part")
        part[key] = ""
        at = f"/output/{index}/content/{number}"
        if number:
            block = read_parts(self.dialect, [part], at.rpartition("/")[0], OUTPUT)[0]
        else:  # which has what is written of the item, its id too
            block = self.read_item({**item.doc, "content": [part]}, item.at)
        parts.append(part)
        item.received["content", number] = Received(self.whole)
        opened = self.open(item, ("content", number), replace(block, at=at))
        return (opened, *self.grow(item, ("content", number), before)) if before else (opened,)

    def grown(self, doc: dict[str, Json]) -> Sequence[Event]:
        """A delta that is not the usual one, or the first of its place."""
        kind, delta = doc["type"], doc.get("delta")
        if delta.__class__ is not str:
            raise Malformed("expected a string", "/delta")
        item = self.item(doc)
        place, counter = DELTAS[kind]
        key = item.key(place, self.place_of(doc, counter) if counter else 0)
        if key in item.received:
            return self.grow(item, key, delta)
        if item.kind == "message" and place == "content":
            part: dict[str, Json] = {"type": "output_text", "text": "", "annotations": []}
            if "refusal" in kind:
                part = {"type": "refusal", "refusal": ""}
            if key[1] < len(item.doc["content"]):
                raise Malformed(f"{kind} for a part of another type")
            opened = self.open_part(item, key[1], part, self.place_of(doc))
            return (*opened, *self.grow(item, key, delta))
        if item.kind == "reasoning" and place in ("content", "summary"):
            item.received[key] = Received(self.whole)
            return self.grow(item, key, delta)
        raise Malformed(f"{kind} does not belong to a {item.kind} item")

    def grow(self, item: Item, key: tuple[str, int], text: str) -> Sequence[Event]:
        item.received[key].add(text)
        place, number = key
        if item.kind == "reasoning":
            where: Literal["summary", "text"] = "summary" if place == "summary" else "text"
            return (Delta(item.open["thought", 0], text, where, number),)
        index = item.open.get(key)
        return () if index is None else (Delta(index, text),)

    def cited(self, doc: dict[str, Json]) -> Sequence[Event]:
        item = self.item(doc)
        number = item.keys.get(("content", self.place_of(doc, "content_index")), ("", -1))[1]
        index = item.open.get(("content", number))
        parts = item.doc.get("content") or []
        if index is None or number >= len(parts):
            return ()
        part, found = parts[number], as_dict(doc.get("annotation"), "/annotation")
        cites = maybe_list(part, "annotations", "/part") or []
        at = f"{item.at}/content/{number}/annotations/{len(cites)}"
        citation = read_citation(self.dialect, found, at)
        part["annotations"] = [*cites, found]
        return (Cite(index, citation),)

    def part_done(self, doc: dict[str, Json]) -> Sequence[Event]:
        item = self.item(doc)
        number = item.keys.get(("content", self.place_of(doc, "content_index")), ("", -1))[1]
        if ("content", number) not in item.open:
            self.compare(doc)
            return ()
        part = need_dict(doc, "part", "")
        self.supersede(item.doc["content"][number], part, f"{item.at}/content/{number}")
        block = read_parts(self.dialect, [part], f"{item.at}/content", OUTPUT)[0]
        events = self.close_part(item, number, block, part_text(part))
        item.doc["content"][number] = part if self.whole else slim(part)
        return events

    def catch_up(self, item: Item, key: tuple[str, int], final: Json) -> Sequence[Event]:
        """What a text has in the end and had not bit by bit: all of it, at some servers."""
        if not isinstance(final, str):
            return ()
        rest = item.received[key].lacks(final)
        if rest is None:
            self.differs(item.at)
        return self.grow(item, key, rest) if rest else ()

    def differs(self, at: str) -> None:
        self.notes.append(("stream.text", at, "the final text differs from the streamed text"))

    def item_done(self, doc: dict[str, Json]) -> Sequence[Event]:
        if self.head is None:
            raise Malformed("an item before the beginning of the response")
        index = self.place_of(doc)
        final = Item(need_dict(doc, "item", ""), f"/output/{index}")
        item = self.items.get(index, final)
        if item.done:
            raise Malformed(f"item {index} has ended before")
        if item.kind != final.kind:
            raise Malformed(f"item {index} was a {item.kind} and is a {final.kind}")
        item.renamed = has_other_id(final.doc, item)
        if item.renamed:
            final.doc = {**final.doc, "id": item.doc["id"]}
        blocks: list[Block] = []
        items.read_message_at(self.dialect, final.doc, item.at, blocks)
        events = self.close_item(item, final.doc, blocks)
        self.supersede(without_progress(item.doc), final.doc, item.at)
        heavy = item.kind in ("message", "reasoning") and not self.whole
        item.doc, item.done = self.likeness(final.doc) if heavy else final.doc, True
        self.items[index] = item
        return events

    def likeness(self, final: dict[str, Json]) -> dict[str, Json]:
        """The item without its texts, where nobody wants them."""
        doc = dict(final)
        for place in ("content", "summary"):
            if isinstance(parts := final.get(place), list):
                doc[place] = [slim(part) for part in parts]
        return doc

    def close_item(self, item: Item, final: dict[str, Json], blocks: list[Block]) -> list[Event]:
        """The end of an item: what has not been written of it, and that it ends."""
        if item.kind == "message":
            return self.close_message(item, final, blocks)
        if not item.open:
            return [event for block in blocks for event in self.at_once(block)]
        events: list[Event] = []
        if item.kind in CALL_TEXTS:
            events += self.catch_up(item, ("call", 0), final.get(CALL_TEXTS[item.kind]))
            if any(item.doc.get(key) != final.get(key) for key in ("name", "call_id")):
                self.differs(item.at)
        for place in ("content", "summary") if item.kind == "reasoning" else ():
            for number, part in enumerate(maybe_list(final, place, item.at) or ()):
                item.received.setdefault((place, number), Received(self.whole))
                events += self.catch_up(item, (place, number), part_text(part))
        if item.kind == "reasoning" and any(
            given.parts and number >= len(final.get(place) or ())
            for (place, number), given in item.received.items()
        ):
            self.differs(item.at)
        for index in item.open.values():
            if isinstance(blocks[0], Reasoning) and blocks[0].signature is not None:
                events.append(Signed(index, blocks[0].signature))
            events.append(Close(index))
        item.open.clear()
        return events

    def close_message(self, item: Item, final: dict[str, Json], blocks: list[Block]) -> list[Event]:
        events: list[Event] = []
        parts = final.get("content")
        for number, block in enumerate(blocks):
            text = part_text(parts[number]) if isinstance(parts, list) and parts else parts
            if ("content", number) in item.open:
                events += self.close_part(item, number, block, text)
            elif ("content", number) not in item.received:
                events += self.at_once(block)
            elif isinstance(text, str) and item.received["content", number].lacks(text) != "":
                self.differs(item.at)
        for index in item.open.values():  # parts that the end does not know
            self.differs(item.at)
            events.append(Close(index))
        item.open.clear()
        return events

    def close_part(self, item: Item, number: int, block: Block, text: Json) -> list[Event]:
        """The end of a part of a message: the text and the sources that were not told before."""
        key = ("content", number)
        events = list(self.catch_up(item, key, text))
        index, known = item.open.pop(key), item.doc["content"][number]
        if isinstance(block, Text):
            told = [read_citation(self.dialect, c, "") for c in known.get("annotations") or ()]
            if tuple(replace(c, at="") for c in block.citations[: len(told)]) != tuple(told):
                self.differs(item.at)
            events += [Cite(index, citation) for citation in block.citations[len(told) :]]
        return [*events, Close(index)]

    def at_once(self, block: Block) -> list[Event]:
        """A block that comes whole."""
        index = self.count
        self.count += 1
        return [Open(index, hollow(block)), *deltas(index, block), Close(index)]

    # -- the end ----------------------------------------------------------------------------

    def finished(self, doc: dict[str, Json]) -> Sequence[Event]:
        final = dict(need_dict(doc, "response", ""))
        events: list[Event] = []
        if self.head is None:
            self.head = final
            events.append(self.begin(self.silent(final)))
        elif "id" in final:
            final["id"] = self.head.get("id", final["id"])  # some servers change it on the way
        self.settle(maybe_list(final, "output", "/response") or [], events)
        final.pop("output", None)
        self.supersede(self.head, {**final, "output": None}, "")
        self.head = {**final, "output": None}
        tree = self.silent(final)
        if tree.failure is not None or doc.get("type") == "response.failed":
            failed = tree.failure or response.read_error(
                self.dialect, {"message": "the response failed"}
            )
            return [*events, *self.fail(failed)]
        self.done = True
        return [*events, End(tree)]

    def settle(self, output: list[Json], events: list[Event]) -> None:
        """The whole response, as the last event repeats it; some servers leave it out there.

        What it does not repeat was received, and stays, unless it is part of another item
        there.
        """
        docs = [as_dict(doc, f"/response/output/{place}") for place, doc in enumerate(output)]
        numbers = self.numbers_of(docs)
        for number in set(self.items).difference(numbers) if docs else ():
            if self.is_part(self.items[number].whole(), docs):
                part = self.items[number]
                like = next((doc for doc in docs if doc.get("type") == part.kind), None)
                self.supersede(without_progress(part.doc), like, part.at)
                events += [Close(index) for index in self.items.pop(number).open.values()]
        for number, doc in zip(numbers, docs, strict=True):
            item = self.items.get(number)
            if item is None or (not item.done and item.kind == doc.get("type")):
                events += self.item_done({"output_index": number, "item": doc})
            elif self.whole:
                doc = kept(doc, item)
                if has_other_id(doc, item):
                    if item.renamed:
                        doc = {**doc, "id": item.doc["id"]}
                    else:
                        self.notes_on_ids.append(item.at)
                if texts(item.whole()) != texts(doc):
                    self.differs(item.at)
                if item.kind == "message":
                    events += self.cited_late(item, doc)
                self.compare_encrypted(item, doc)
                self.supersede(without_progress(item.doc), doc, item.at)
                item.doc, item.done = doc, True
            else:
                items.read_message_at(self.dialect, doc, item.at, [])
                self.compare_encrypted(item, doc)
                self.supersede(doc, item.doc, item.at)
                self.supersede(without_progress(item.doc), doc, item.at)
        for item in self.items.values():
            events += [Close(index) for index in item.open.values()]
            item.open.clear()

    def numbers_of(self, docs: list[dict[str, Json]]) -> list[int]:
        """Which items the last event repeats: by their places, else by their ids and kinds."""
        known = sorted(self.items)  # the places in a response have no gaps
        fresh = count(known[-1] + 1 if known else 0)
        if len(docs) >= len(known) and all(
            self.items[number].kind == doc.get("type")
            for number, doc in zip(known, docs, strict=False)
        ):
            return [*known, *islice(fresh, len(docs) - len(known))]
        ids = {n: self.items[n].doc.get("id") for n in known}
        by_id = {name: number for number, name in ids.items() if isinstance(name, str)}
        found = [by_id.pop(str(doc.get("id")), None) for doc in docs]
        left: dict[str, list[int]] = {}
        for number in sorted(set(known).difference(found), reverse=True):
            left.setdefault(self.items[number].kind, []).append(number)
        return [
            number if number is not None else same.pop() if same else next(fresh)
            for number, doc in zip(found, docs, strict=True)
            for same in (left.get(str(doc.get("type")), []),)
        ]

    def is_part(self, item: dict[str, Json], docs: list[dict[str, Json]]) -> bool:
        """Whether the items of the last event have what this one said."""
        like = [doc for doc in docs if doc.get("type") == item["type"]]
        if item["type"] in CALL_TEXTS:
            return any(doc.get("call_id") == item.get("call_id") for doc in like)
        if item["type"] not in ("message", "reasoning") or item.get("encrypted_content"):
            return False
        all_texts = "".join(text for doc in like for text in words(doc))
        return all(text in all_texts for text in words(item))

    def cited_late(self, item: Item, final: dict[str, Json]) -> list[Event]:
        """The sources that only the last event has, when their text is closed."""
        events: list[Event] = []
        before, after = (maybe_list(doc, "content", "") or () for doc in (item.whole(), final))
        for number, (old, new) in enumerate(zip(before, after, strict=False)):
            index = item.blocks.get(("content", number))
            if index is None or not (isinstance(old, dict) and isinstance(new, dict)):
                continue
            known = maybe_list(old, "annotations", "") or []
            more = maybe_list(new, "annotations", "") or []
            for place, found in enumerate(more[len(known) :], len(known)):
                at = f"{item.at}/content/{number}/annotations/{place}"
                events.append(Cite(index, read_citation(self.dialect, as_dict(found, at), at)))
                why = "a citation arrived after the end of its text"
                self.notes.append(("stream.order", at, why))
            if more[: len(known)] != known:
                self.differs(item.at)
        return events

    def compare_encrypted(self, item: Item, final: dict[str, Json]) -> None:
        """The last event has the same reasoning encrypted anew; what was passed on holds."""
        given = item.doc.get("encrypted_content") if item.kind == "reasoning" else None
        if isinstance(given, str) and given != final.get("encrypted_content"):
            self.encrypted[item.at] = given
            self.notes_on_signatures.append(item.at)

    def at_rest(self) -> Response:
        tree = super().at_rest()
        if self.same or not self.encrypted:
            return tree
        return rebuild(tree, self.as_passed_on)

    def as_passed_on(self, node: Any, at: str) -> Any:
        if isinstance(node, Reasoning) and node.signature is not None and node.at in self.encrypted:
            return replace(node, signature=replace(node.signature, data=self.encrypted[node.at]))
        return node

    def broken(self, doc: dict[str, Json]) -> Sequence[Event]:
        inner = {k: v for k, v in doc.items() if k not in ("type", "sequence_number")}
        return self.fail(response.read_error(self.dialect, inner))

    def ping(self, doc: dict[str, Json]) -> Sequence[Event]:
        return (Ping(),)

    def document(self) -> Json | None:
        if self.head is None:
            return None
        return {**self.head, "output": [self.items[n].whole() for n in sorted(self.items)]}
