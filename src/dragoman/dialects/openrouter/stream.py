"""The stream of OpenRouter: that of OpenAI Chat, with reasoning part by part.

Entries of one type and index that follow each other are one; what signs reasoning comes last.
Comments (``: OPENROUTER PROCESSING``) keep the line open and say nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from ...core.reading import as_dict, as_list, expected
from ...core.signers import signer
from ...ledger import Ledger
from ...model import Block, Json, Raw, Reasoning, Text, ToolCall
from ...streams.events import Close, Delta, Event, Open, Signed, hollow
from ...streams.received import Received
from ...streams.splicing import MARKED, Splice, around
from ..openai_chat.choices import Speaker
from ..openai_chat.parts import place_of
from ..openai_chat.read_stream import ChatReader
from ..openai_chat.signing import unsigned
from ..openai_chat.write_stream import ChatWriter
from . import details
from .details import (
    ENCRYPTED,
    FORMATS,
    ITEMS,
    SIGNED,
    SUMMARY,
    TEXT,
    WORD,
    format_of,
    is_item_signature,
    is_signature,
    is_signed,
    is_stated,
    is_summary,
    words_of,
)

if TYPE_CHECKING:
    from . import OpenRouter


DETAILS = "reasoning_details"


class Detail:
    """An entry of the list while it arrives."""

    def __init__(self, doc: dict[str, Json], whole: bool) -> None:
        self.kind = doc.get("type")
        self.word = WORD.get(str(self.kind), "")
        self.received = Received(whole)
        self.worded = False
        self.doc: dict[str, Json] = {}

    def add(self, doc: dict[str, Json], at: str) -> str:
        text = doc.get(self.word) if self.word else None
        if text is not None and text.__class__ is not str:
            expected("a string", text, f"{at}/{self.word}")
        for key, value in doc.items():
            if key != self.word and (value is not None or key not in self.doc):
                self.doc[key] = value
        if text is None:
            return ""
        self.worded = True
        self.received.add(text)
        return str(text)

    def goes_on(self, doc: dict[str, Json]) -> bool:
        if doc.get("type") != self.kind or not self.word or is_stated(self.doc, "signature"):
            return False
        both = self.doc.get("id"), doc.get("id")
        return self.doc.get("index") == doc.get("index") and (None in both or both[0] == both[1])

    def whole(self) -> dict[str, Json]:
        return {**self.doc, self.word: str(self.received)} if self.worded else self.doc


class OpenRouterReader(ChatReader):
    dialect: OpenRouter
    thinks_apart: ClassVar[bool] = False  # the same may stand in reasoning_details

    def __init__(self, dialect: OpenRouter, whole: bool) -> None:
        super().__init__(dialect, whole)
        self.entries: dict[int, list[Detail]] = {}
        self.run: dict[int, int] = {}  # summaries in the reasoning that is open
        self.named: dict[int, Json] = {}  # the id that it began with
        self.signatures: dict[int, list[dict[str, Json]]] = {}  # whose call has not come yet

    def read_delta(
        self, speaker: Speaker, delta: dict[str, Json], at: str, events: list[Event]
    ) -> None:
        details = delta.get(DETAILS)
        for place, value in enumerate(as_list(details, f"{at}/{DETAILS}") if details else ()):
            where = f"{at}/{DETAILS}/{place}"
            self.read_entry(speaker, as_dict(value, where), where, events)
        if speaker.number in self.entries:
            given = delta.get("reasoning")
            if given is not None and given.__class__ is not str:
                expected("a string", given, f"{at}/reasoning")
            if given or "reasoning" in delta:  # the same once more
                speaker.message["reasoning"] = given or speaker.message.get("reasoning")
            delta = {k: v for k, v in delta.items() if k not in (DETAILS, "reasoning")}
        super().read_delta(speaker, delta, at, events)

    def read_entry(
        self, speaker: Speaker, doc: dict[str, Json], at: str, events: list[Event]
    ) -> None:
        entries = self.entries.setdefault(speaker.number, [])
        if is_signature(doc):
            self.read_signature(speaker, Detail(doc, self.whole), doc, at)
            return
        going_on = bool(entries) and entries[-1].goes_on(doc)
        if not going_on:
            entries.append(Detail(doc, self.whole))
        entry = entries[-1]
        text = entry.add(doc, at)
        if going_on and DETAILS in speaker.open:
            index = speaker.open[DETAILS]
        else:
            index = self.begin_reasoning(speaker, entry, events)
        if entry.word and (text or not going_on) and entry.worded:
            part = max(self.run[speaker.number], 0) if entry.kind == SUMMARY else 0
            place = "summary" if entry.kind == SUMMARY else "text"
            events.append(Delta(index, text, place, part))  # type: ignore[arg-type]
        key = SIGNED.get(str(entry.kind))
        if key is not None and is_stated(doc, key):
            events.append(Signed(index, details.read_signature(self.dialect, entry.doc)))
        if not entry.word:
            events.append(Close(speaker.open.pop(DETAILS)))

    def read_signature(
        self, speaker: Speaker, entry: Detail, doc: dict[str, Json], at: str
    ) -> None:
        """It comes before the call that it signs, or after the text."""
        entry.add(doc, at)
        self.entries[speaker.number].append(entry)
        call_id = doc.get("id")
        if any(call.get("id") == call_id for call in speaker.calls.values() if call_id):
            why = "the signature of a tool call arrived after its beginning"
            self.notes.append(("stream.order", f"/choices/{speaker.number}/message", why))
        else:
            self.signatures.setdefault(speaker.number, []).append(doc)

    def call_block(self, speaker: Speaker, call: dict[str, Json], at: str) -> Block:
        block = super().call_block(speaker, call, at)
        for doc in self.signatures.get(speaker.number, ()):
            if isinstance(block, ToolCall) and doc.get("id") == block.id is not None:
                self.signatures[speaker.number].remove(doc)
                return details.sign(block, doc["data"])
        return block

    def sign(self, speaker: Speaker, events: list[Event]) -> None:
        """Signatures that no call took: one is that of the text; others sign nothing here."""
        for doc in self.signatures.pop(speaker.number, ()):
            written = "content" in speaker.received
            if doc.get("id") is None and (written or speaker.message.get("content") == ""):
                text = Text("", at=f"/choices/{speaker.number}/message/content")
                self.add_signed(speaker, details.sign(text, doc["data"]), written, events)
            else:
                at = f"/choices/{speaker.number}/message/{DETAILS}"
                block = details.read_reasoning(self.dialect, [doc], at)
                index = self.begin_block(speaker, DETAILS, hollow(block), events)
                assert block.signature is not None
                events += [Signed(index, block.signature), Close(speaker.open.pop(DETAILS))]
                self.out_of_order(speaker)

    def begin_reasoning(self, speaker: Speaker, entry: Detail, events: list[Event]) -> int:
        """Another reasoning block, or more of the summaries of one."""
        opened, run = speaker.open.get(DETAILS), self.run.get(speaker.number, -1)
        plain = is_summary(entry.doc)
        if opened is not None and run >= 0 and (plain or is_item_signature(entry.doc)):
            self.run[speaker.number] = run + 1 if plain else -1
            if entry.doc.get("id") not in (None, self.named.get(speaker.number)):
                why = "the id of the reasoning arrived at its end"
                at = f"/choices/{speaker.number}/message/{DETAILS}"
                self.notes.append(("stream.order", at, why))
            return opened
        if "content" in speaker.received or "refusal" in speaker.received or speaker.calls:
            self.out_of_order(speaker)
        self.close_before(speaker, events)
        at = f"/choices/{speaker.number}/message/{DETAILS}/{len(self.entries[speaker.number]) - 1}"
        block = hollow(details.read_detail(self.dialect, entry.doc, at))
        self.run[speaker.number] = 0 if plain else -1
        self.named[speaker.number] = entry.doc.get("id")
        return self.begin_block(speaker, DETAILS, block, events)

    def choice(self, speaker: Speaker) -> Json:
        choice = super().choice(speaker)
        entries = [entry.whole() for entry in self.entries.get(speaker.number, ())]
        if entries:
            message = choice["message"]
            message[DETAILS] = entries
            if message.get("reasoning") is not None:
                message["reasoning"] = words_of(entries)
        return choice


class WrittenReasoning:
    """Reasoning while it is written."""

    def __init__(self, number: int, block: Reasoning) -> None:
        self.number = number
        self.block = block
        self.part: tuple[str, int] | None = None
        self.doc: dict[str, Json] = {}  # the entry that is being written, but for its words


class OpenRouterWriter(ChatWriter):
    dialect: OpenRouter
    has_summaries = True

    def __init__(self, dialect: OpenRouter, log: Ledger, same: bool) -> None:
        super().__init__(dialect, log, same)
        self.reasoning: dict[int, WrittenReasoning] = {}
        self.counts: dict[int, int] = {}  # of entries, by candidate
        self.signatures: set[str] = set()  # signatures that have been written
        self.signed: dict[int, Text] = {}  # the last text of a candidate, if it is signed

    def open(self, event: Open) -> bytes:
        block, number = event.block, event.candidate
        place = place_of(self.dialect, block)
        if isinstance(block, Reasoning) and place is None:
            _, begun = self.voice(number)
            if self.must_wait(event, (number, DETAILS)):
                return begun
            self.reasoning[event.index] = WrittenReasoning(number, block)
            if (
                block.signature is not None and block.signature.kind == "encrypted"
            ):  # it comes whole
                return begun + self.add_signature(Signed(event.index, block.signature))
            return begun
        if isinstance(block, Raw) and place == DETAILS:
            _, begun = self.voice(number)
            return begun + self.say(number, block.payload)
        if isinstance(block, Text):
            self.signed.pop(number, None)
        if not isinstance(block, Text | ToolCall) or not is_signed(block, (block,)):
            return super().open(event)
        _, begun = self.voice(number)
        opened = super().open(replace(event, block=unsigned(block)))
        if isinstance(block, Text):
            self.signed[number] = block  # only the last text can be signed here
            return begun + opened
        # that of a call comes before it
        return begun + self.sign(number, block, self.called.get(event.index)) + opened

    def sign(self, number: int, block: Text | ToolCall, call_id: str | None) -> bytes:
        count = self.counts.get(number, 0)
        self.counts[number] = count + 1
        entry = details.signature(block, call_id, count)
        self.signatures |= {entry[key] for key in SIGNED.values() if key in entry}
        return self.say(number, entry)

    def end(self, doc: Json) -> bytes:
        signed = [self.sign(number, block, None) for number, block in self.signed.items()]
        for place, choice in enumerate(() if self.same else doc.get("choices", ())):
            entries = choice["message"].get(DETAILS, ())
            if len(entries) != self.counts.get(place, 0):  # those of a kin, in its own words
                at = f"/choices/{place}/message/{DETAILS}"
                why = (
                    f"{DETAILS} is known at the end only; the reasoning was "
                    "streamed before it was signed"
                )
                self.log.approximated("stream.text", at, why)
                if place in self.voices and DETAILS in self.voices[place].received:
                    signed += [self.say(place, entry) for entry in self.unsaid(entries)]
        return b"".join(signed) + super().end(doc)

    def unsaid(self, entries: Iterable[Json]) -> Iterator[Json]:
        """What signs reasoning whose words have been written."""
        for entry in entries:
            kind = str(entry.get("type")) if entry.__class__ is dict else ""
            key = SIGNED.get(kind)
            if key is not None and is_stated(entry, key) and entry[key] not in self.signatures:
                yield {name: value for name, value in entry.items() if name != WORD.get(kind)}

    def say(self, number: int, entry: Json, words: str = "") -> bytes:
        voice = self.voices[number]
        voice.received.add(DETAILS)
        delta: dict[str, Json] = {DETAILS: [entry]}
        if words:
            voice.received.add("reasoning")
            delta = {"reasoning": words, **delta}
        return self.chunk(number, delta)

    def delta(self, event: Delta) -> bytes:
        reasoning = self.reasoning.get(event.index)
        if reasoning is None:
            return super().delta(event)
        kind = SUMMARY if event.place == "summary" else TEXT
        if reasoning.part != (event.place, event.part):
            reasoning.part = (event.place, event.part)
            self.begin_entry(reasoning, kind)
        entry = {**reasoning.doc, WORD[kind]: event.text}
        return self.say(reasoning.number, entry, event.text)

    def splicing(self, event: Delta) -> Splice | None:
        reasoning = self.reasoning.get(event.index)
        if reasoning is None:
            return super().splicing(event)
        if reasoning.part != (event.place, event.part):
            return None
        word = WORD[SUMMARY if event.place == "summary" else TEXT]
        return around(self.say(reasoning.number, {**reasoning.doc, word: MARKED}, MARKED))

    def begin_entry(self, reasoning: WrittenReasoning, kind: str) -> None:
        count = self.counts.get(reasoning.number, 0)
        self.counts[reasoning.number] = count + 1
        form = format_of(self.dialect, reasoning.block, None)
        reasoning.doc = {"type": kind, "format": form, "index": count}
        if self.same and reasoning.block.extras is not None:
            reasoning.doc |= reasoning.block.extras.fields

    def add_signature(self, event: Signed) -> bytes:
        reasoning, signature = self.reasoning.get(event.index), event.signature
        if reasoning is None:
            return self.wait(event)
        if not (self.same or signer(signature) in FORMATS):
            return b""
        kind = ENCRYPTED if signature.kind == "encrypted" else TEXT
        if kind == ENCRYPTED or reasoning.doc.get("type") != TEXT:
            self.begin_entry(reasoning, kind)
        self.signatures.add(signature.data)
        entry = {**reasoning.doc, SIGNED[kind]: signature.data}
        entry["format"] = format_of(self.dialect, reasoning.block, signature)
        if reasoning.block.id is not None and entry["format"] in ITEMS:
            entry["id"] = reasoning.block.id
        return self.say(reasoning.number, entry)

    def close(self, event: Close) -> bytes:
        reasoning, written = self.reasoning.pop(event.index, None), b""
        if self.same and reasoning is not None and not reasoning.doc:  # it says nothing
            self.begin_entry(reasoning, TEXT)
            written = self.say(reasoning.number, reasoning.doc)
        return written + super().close(event)
