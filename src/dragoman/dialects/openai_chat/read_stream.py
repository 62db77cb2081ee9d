"""Reading the stream of OpenAI Chat Completions.

Chunks bear deltas of a message; nothing says where a text or a call ends. Reasoning ends where
something else begins, a text where a call begins, and a call where another begins and its
arguments are complete; what is open in the end ends there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from msgspec.structs import replace

from ...core.reading import (
    UNREADABLE,
    as_dict,
    as_list,
    encode,
    escape,
    expected,
    maybe_list,
    need_str,
)
from ...core.writing import is_blank
from ...errors import Malformed
from ...model import (
    Block,
    Citation,
    Json,
    Media,
    Reasoning,
    Refusal,
    Response,
    Signature,
    Source,
    Text,
)
from ...streams.base import StreamReader
from ...streams.events import Cite, Close, Delta, End, Event, Open, Place, Signed, hollow
from ...streams.framing import Frame
from ...streams.received import Keys, Received, is_complete
from . import assistant, gateways, parts, response, signing
from .assistant import THINKING_KEYS
from .gateways import BLOCKS
from .response import error_beside
from .signing import KEY as SIGNED
from .signing import litellm_signature, signature_of

if TYPE_CHECKING:
    from . import OpenAIChat
from .choices import (
    NESTED,
    RANKS,
    SILENCE,
    Speaker,
    block_at_rest,
    is_another,
    is_named,
    merge,
    overlaid,
    says_something,
    with_arguments,
)
from .usual_chunks import ChatUsual, UsualDelta

DONE = b"[DONE]"


APART = ("choices", "error")  # read by themselves


FIRST = ("id", "created", "model", "object")  # of these the first holds, of others the last


HELD = ("id", "model")  # another one is reported; the date of a chunk may be its own


decode_usual = msgspec.json.Decoder(ChatUsual).decode


# The parts of a speech, and what of its block they add to.
SPOKEN: dict[str, Place] = {"data": "text", "transcript": "transcript"}


REASONING = "reasoning part"


CHUNK = "chat.completion.chunk"


LEGACY = Keys("name", "arguments")


TEXT_PART = Keys("type", "text")


# What a delta may say of a call that has begun. Signatures have a note of their own.
CALL = Keys(
    "index", "id", "type", SIGNED, gateways.FIELDS,
    function=Keys("name", "arguments", gateways.FIELDS), custom=Keys("name", "input"),
)  # fmt: skip


class ChatReader(StreamReader):
    dialect: OpenAIChat
    padding: ClassVar[str] = "obfuscation"
    """Random characters that hide how long a delta is."""
    varying: ClassVar[Mapping[str, Any]] = {"obfuscation": str}
    thinks_apart: ClassVar[bool] = True
    """Whether a delta of reasoning means the same whatever came before it."""

    def __init__(self, dialect: OpenAIChat, whole: bool) -> None:
        super().__init__(dialect, whole)
        self.head: dict[str, Json] | None = None
        self.steady: tuple[Json, ...] = ()
        self.numbers = self.speakers = dict[int, Speaker]()
        self.count = 0  # of blocks
        self.last = b""

    def read(self, frame: Frame) -> Sequence[Event]:
        data = frame[1]
        try:
            usual = decode_usual(data)
        except UNREADABLE:
            return self.read_with_care(frame)
        same = (usual.id, usual.model, usual.service_tier, usual.system_fingerprint,
                usual.provider, usual.created)  # fmt: skip
        if same == self.steady and len(usual.choices) == 1:
            choice = usual.choices[0]
            speaker = self.speakers.get(choice.index)
            found = None if speaker is None else self.more_of(speaker, choice.delta)
            if found is not None:
                index, text, given = found
                given.add(text)
                self.sink = given.add
                return (Delta(index, text),)
        self.steady = ()
        events = self.read_with_care(frame)
        if self.head is not None:
            self.steady = same
        return events

    def more_of(self, speaker: Speaker, delta: UsualDelta) -> tuple[int, str, Received] | None:
        """The open block that a delta adds to, the text, and where it is kept; None: with care."""
        text, calls, opened = delta.content, delta.tool_calls, speaker.open
        if delta.reasoning_content is not None or delta.reasoning is not None:
            return self.more_reasoning(speaker, delta)
        if text and not calls and "content" in opened:
            return opened["content"], text, speaker.received["content"]
        if not text and calls and len(calls) == 1:
            number = speaker.places.get(calls[0].index)
            if number is not None and number in opened:
                speaker.grown[number] = None
                return opened[number], calls[0].function.arguments, speaker.arguments[number]
        return None

    def more_reasoning(
        self, speaker: Speaker, delta: UsualDelta
    ) -> tuple[int, str, Received] | None:
        key, text = "reasoning_content", delta.reasoning_content
        if text is None:
            key, text = "reasoning", delta.reasoning
        elif delta.reasoning is not None:
            return None
        silent = delta.content is None or delta.content == speaker.message.get("content") == ""
        if not text or not silent or delta.tool_calls or not self.thinks_apart:
            return None
        index = speaker.open.get(key)
        return None if index is None else (index, text, speaker.received[key])

    def read_with_care(self, frame: Frame) -> Sequence[Event]:
        if frame[1].strip() == DONE:
            return self.finish(told=True)
        doc = self.parse(frame)
        events: list[Event] = []
        choices = maybe_list(doc, "choices", "") or []
        if self.dialect.is_failure(doc):
            return self.fail(self.dialect.read_error(doc))
        if frame[0] == "error" and "error" not in doc and not choices:
            return self.fail(self.dialect.read_error({"error": doc}))
        if self.head is None:
            self.head = {}
        for key, value in doc.items():
            known = key in self.head and (value is None or (key in FIRST and self.head[key]))
            known = known or (key == "id" and self.begun is not None)  # it has another by now
            if known and key in HELD:
                self.hold(self.head.get(key), value, f"/{key}")
            if key not in APART and key != self.padding and not known:
                if key in self.head and value.__class__ in NESTED:
                    value = self.overlay(self.head[key], value, f"/{escape(key)}")
                self.head[key] = value
        if self.begun is None and (choices or self.head.get("id")):
            events.append(self.begin(self.silent()))
        for place, choice in enumerate(choices):
            self.read_choice(as_dict(choice, f"/choices/{place}"), f"/choices/{place}", events)
        if (found := error_beside(doc, choices, self.dialect.error_is_a_stop)) is not None:
            where, error = found
            if where is None:
                self.head |= error  # it stands there at rest as well
            events += self.fail(self.dialect.read_error(error))
        return events

    def overlay(self, old: Json, new: Json, at: str) -> Json:
        """An object that comes again: what it leaves out holds, such as Azure's filters, of which
        the last chunk says ``{}``. Counts are replaced: each stands for all of the response.
        """
        merged = overlaid(old, new) if at != "/usage" else new
        self.supersede(old, merged, at)
        return merged

    def read_choice(self, doc: dict[str, Json], at: str, events: list[Event]) -> None:
        number = doc.get("index", 0)
        if number.__class__ is not int or not 0 <= number < 128:
            raise Malformed("expected a small integer", f"{at}/index")
        speaker = self.speakers.get(number)
        if speaker is None:
            speaker = self.speakers[number] = Speaker(number, self.whole)
        if (delta := doc.get("delta")) is not None:
            self.read_delta(speaker, as_dict(delta, f"{at}/delta"), f"{at}/delta", events)
        if doc.get("message").__class__ is dict:
            self.catch_up(speaker, doc["message"].get("content"), events)
        for key, value in doc.items():
            if key == "logprobs" and value.__class__ is dict:
                merge(speaker.doc, {key: value})
            elif key not in ("index", "delta", "message") and (
                value is not None or key not in speaker.doc
            ):
                if key in speaker.doc and value.__class__ in NESTED:
                    where = f"/choices/{number}/{escape(key)}"
                    value = self.overlay(speaker.doc[key], value, where)
                speaker.doc[key] = value
        if doc.get("finish_reason") is not None:
            self.close_all(speaker, events)

    def read_delta(
        self, speaker: Speaker, delta: dict[str, Json], at: str, events: list[Event]
    ) -> None:
        message = speaker.message
        if gateways.are_blocks(delta.get(BLOCKS)):
            delta = self.read_blocks(speaker, delta, events)
        for key, value in delta.items():
            if key == "tool_calls":
                for place, call in enumerate(maybe_list(delta, key, at) or ()):
                    where = f"{at}/tool_calls/{place}"
                    self.read_call(speaker, as_dict(call, where), where, events)
            elif key in ("content", "refusal") or key in THINKING_KEYS:
                if value is not None and value.__class__ is not str:
                    self.read_parts(speaker, value, f"{at}/{key}", events)
                elif value:
                    self.add(speaker, key, value, events)
                else:
                    message.setdefault(key, value)
                    if value == "":
                        message[key] = ""
            elif key == "function_call" and value is not None:
                self.read_legacy(speaker, as_dict(value, f"{at}/{key}"), events)
            elif key == "annotations" and value.__class__ is list:
                self.read_cited(speaker, value, events)
            elif key == "audio" and value.__class__ is dict:
                self.read_spoken(speaker, value, events)
            elif key == "role":
                message.setdefault(key, value)
            else:
                merge(message, {key: value})

    def read_parts(self, speaker: Speaker, value: Json, at: str, events: list[Event]) -> None:
        """Text in parts, which some servers send."""
        if not at.endswith("/content"):
            expected("a string", value, at)
        for place, part in enumerate(as_list(value, at)):
            where = f"{at}/{place}"
            kind = need_str(as_dict(part, where), "type", where)
            if kind == gateways.PART and gateways.is_part(part):
                self.read_reasoning(speaker, part, events)
            elif kind != "text":
                self.read_whole(speaker, part, where, events)
            else:
                content = f"/choices/{speaker.number}/message/content"
                self.look(CHUNK, part, at, TEXT_PART, content)
                if text := need_str(part, "text", where):
                    self.add(speaker, "content", text, events)

    def read_whole(
        self, speaker: Speaker, part: dict[str, Json], at: str, events: list[Event]
    ) -> None:
        """A part that is not text comes whole."""
        block = parts.read_parts(self.dialect, [part], at)[0]
        self.announce(speaker, "content")
        self.close_before(speaker, events)
        where = f"/choices/{speaker.number}/message/content/{self.nth_part(speaker)}"
        index = self.begin_block(speaker, "part", replace(block, at=where), events)
        events.append(Close(index))
        del speaker.open["part"]
        speaker.parts.append(part)

    def nth_part(self, speaker: Speaker) -> int:
        return len(speaker.parts) + (speaker.reasoning is not None)

    def announce(self, speaker: Speaker, key: str) -> None:
        """Something begins that stands before the text at rest."""
        if key in speaker.received or speaker.calls or self.comes_late(speaker, BLOCKS):
            self.out_of_order(speaker)

    def read_reasoning(self, speaker: Speaker, part: dict[str, Json], events: list[Event]) -> None:
        """Reasoning as a part of the content (Databricks), bit by bit: one part at rest."""
        index = speaker.open.get(REASONING)
        if index is None:
            self.announce(speaker, "content")
            if speaker.reasoning is not None or speaker.parts:
                self.out_of_order(speaker)
            self.close_before(speaker, events)
            at = f"/choices/{speaker.number}/message/content/0"
            block = hollow(gateways.read_part(self.dialect, part, at))
            index = self.begin_block(speaker, REASONING, block, events)
        if speaker.reasoning is None:
            speaker.reasoning = []
        for number, item in enumerate(part.get("summary", [part])):
            if number == len(speaker.reasoning):
                speaker.reasoning.append(({}, Received(self.whole)))
            known, given = speaker.reasoning[number]
            known |= {k: v for k, v in item.items() if v is not None}
            if text := item["text"]:
                given.add(text)
                place: Place = "summary" if "summary" in part else "text"
                events.append(Delta(index, text, place, number))
            if item.get("signature"):
                events.append(Signed(index, Signature(item["signature"], gateways.ISSUER)))

    def read_blocks(
        self, speaker: Speaker, delta: dict[str, Json], events: list[Event]
    ) -> dict[str, Json]:
        """LiteLLM's blocks, bit by bit; the rest of the delta, which says them again."""
        docs = delta[BLOCKS]
        for doc in docs:
            self.read_block(speaker, doc, events)
        rest = {key: value for key, value in delta.items() if key != BLOCKS}
        words, fields = gateways.words_of(docs), delta.get(gateways.FIELDS)
        if words and rest.get(gateways.TWIN) == words:
            del rest[gateways.TWIN]
            speaker.received.setdefault(gateways.TWIN, Received(self.whole)).add(words)
        if fields.__class__ is dict and fields.get(BLOCKS) == docs:
            rest[gateways.FIELDS] = {k: v for k, v in fields.items() if k != BLOCKS} or None
        return rest

    def read_block(self, speaker: Speaker, doc: dict[str, Json], events: list[Event]) -> None:
        text, signature = doc.get("thinking", ""), doc.get("signature")
        index = speaker.open.get(BLOCKS)
        if index is None or doc["type"] == "redacted_thinking":
            if not (text or signature or "data" in doc):
                return
            if speaker.calls or self.comes_late(speaker, BLOCKS):
                self.out_of_order(speaker)
            self.close_before(speaker, events)
            at = f"/choices/{speaker.number}/message/{BLOCKS}/{len(speaker.blocks)}"
            read = gateways.read_block(self.dialect, doc, at)
            block: Block = read if "data" in doc else hollow(read)
            index = self.begin_block(speaker, BLOCKS, block, events)
            speaker.blocks.append((dict(doc), Received(self.whole)))
        known, given = speaker.blocks[-1]
        known |= {key: value for key, value in doc.items() if value is not None}
        if text:
            given.add(text)
            events.append(Delta(index, text))
        if signature:
            events.append(Signed(index, Signature(signature, gateways.ISSUER)))
        if signature or "data" in doc:
            events.append(Close(speaker.open.pop(BLOCKS)))

    def catch_up(self, speaker: Speaker, so_far: Json, events: list[Event]) -> None:
        """Some servers repeat all that was written so far, and may leave the delta out."""
        given = speaker.received.get("content", SILENCE)
        if isinstance(so_far, str) and (more := given.lacks(so_far)):
            self.add(speaker, "content", more, events)

    def add(self, speaker: Speaker, key: str, text: str, events: list[Event]) -> None:
        """More of a text: the reply, a refusal, reasoning."""
        index = speaker.open.get(key)
        if index is None:
            if key in speaker.received or speaker.calls or self.comes_late(speaker, key):
                self.out_of_order(speaker)
            self.close_before(speaker, events)
            index = self.begin_block(speaker, key, self.text_block(speaker, key), events)
            if key == "content":
                speaker.text = index
                events += [Cite(index, cite) for cite in speaker.cites]
                speaker.cites.clear()
        given = speaker.received.get(key)
        if given is None:
            given = speaker.received[key] = Received(self.whole)
        given.add(text)
        events.append(Delta(index, text))

    def comes_late(self, speaker: Speaker, key: str) -> bool:
        """Whether a text begins after one that stands after it at rest."""
        rank = RANKS.get(key, 0)
        return any(RANKS.get(given, 0) > rank for given in speaker.received)

    def out_of_order(self, speaker: Speaker) -> None:
        why = (
            "reasoning, text and tool calls were interleaved in the stream; "
            "the document has one field for each"
        )
        self.notes.append(("stream.order", f"/choices/{speaker.number}/message", why))

    def text_block(self, speaker: Speaker, key: str) -> Block:
        at = f"/choices/{speaker.number}/message/{key}"
        if key == "content":
            return Text("", at=at)
        if key == "refusal":
            return Refusal("", at=at)
        return Reasoning(at=at, extras=self.dialect.respell(None, place=key))

    def begin_block(
        self, speaker: Speaker, key: str | int, block: Block, events: list[Event]
    ) -> int:
        index = self.count
        self.count += 1
        speaker.open[key] = index
        speaker.grown[key] = None
        if key.__class__ is int:
            speaker.highest = max(speaker.highest, int(key))
        events.append(Open(index, block, speaker.number))
        return index

    def read_call(
        self, speaker: Speaker, doc: dict[str, Json], at: str, events: list[Event]
    ) -> None:
        number = self.number_of(speaker, doc, at)
        call = speaker.calls.get(number)
        if call is None:
            call = speaker.calls[number] = {}
            speaker.arguments[number] = Received(True)
        where = f"/choices/{speaker.number}/message/tool_calls/{number}"
        text = self.merge_call(call, doc, at, where)
        index = speaker.open.get(number)
        if (index is not None or number in speaker.ended) and not CALL.fit(doc):
            self.late |= dict.fromkeys(CALL.others(doc, where))
        if index is not None and (SIGNED in doc or litellm_signature(doc) is not None):
            why = "the signature of a tool call arrived after its beginning"
            self.notes.append(("stream.order", f"/choices/{speaker.number}/message", why))
        if number in speaker.ended:
            if not is_blank(text):
                raise Malformed("more arguments arrived for a tool call that was complete", at)
        elif index is None and is_named(call):
            if speaker.highest > number:
                self.out_of_order(speaker)
            self.close_before(speaker, events)
            block = self.call_block(speaker, call, where)
            index = self.begin_block(speaker, number, hollow(block), events)
            waited = str(speaker.arguments[number])
            if waited:
                events.append(Delta(index, waited))
        if text:
            speaker.arguments[number].add(text)
            speaker.grown[number] = None
            if index is not None:
                events.append(Delta(index, text))

    def call_block(self, speaker: Speaker, call: dict[str, Json], at: str) -> Block:
        """What is known of a call when it begins."""
        return assistant.read_call(self.dialect, with_arguments(call, ""), at)

    def number_of(self, speaker: Speaker, doc: dict[str, Json], at: str) -> int:
        """Which call a delta belongs to."""
        index, calls = doc.get("index"), speaker.calls
        following = max(calls, default=-1) + 1
        if index.__class__ is int and index < 0:
            index = None  # GLM says -1 of every call
        if index is None:  # some servers do not count; a new id is a new call
            known = (n for n, call in calls.items() if call.get("id") == doc.get("id"))
            return next(known, following if "id" in doc else max(following - 1, 0))
        if index.__class__ is not int or not 0 <= index < 4096:
            raise Malformed("expected a small integer", f"{at}/index")
        number = speaker.places.setdefault(index, max(index, following))
        if number in calls and is_another(calls[number], doc):
            number = speaker.places[index] = following  # some servers count them all as one
        return number

    def merge_call(self, call: dict[str, Json], doc: dict[str, Json], at: str, rest: str) -> str:
        """What a delta says of a call; its arguments are given, not merged.

        Its first id and its first name hold: they have been written.
        """
        text = ""
        for key, value in doc.items():
            if key in ("function", "custom") and value is not None:
                as_dict(value, f"{at}/{key}")
                if call.get(key) is None:
                    call[key] = {}
                inner = call[key]
                field = "arguments" if key == "function" else "input"
                for name, given in value.items():
                    if name == field:
                        if given.__class__ is dict:
                            given = encode(given).decode()
                        elif given is not None and given.__class__ is not str:
                            expected("a string", given, f"{at}/{key}/{field}")
                        text += given or ""
                    elif name == "name" and inner.get(name):
                        self.hold(inner[name], given, f"{rest}/{key}/{name}")
                    elif given or name not in inner:
                        inner[name] = given
            elif key == "id" and call.get("id"):
                self.hold(call["id"], value, f"{rest}/id")
            elif key != "index" and (value not in (None, "") or key not in call):
                call[key] = value
        return text

    def close_before(self, speaker: Speaker, events: list[Event]) -> None:
        """Something begins: texts have ended, and so have calls whose arguments are complete."""
        grown = [key for key in speaker.grown if key in speaker.open]
        speaker.grown.clear()
        for key in sorted(grown, key=speaker.open.__getitem__):
            if isinstance(key, str) or is_complete(str(speaker.arguments[key])):
                events.append(Close(speaker.open.pop(key)))
                speaker.ended.add(key)

    def read_legacy(self, speaker: Speaker, doc: dict[str, Json], events: list[Event]) -> None:
        """``function_call``: one call, without an id."""
        call = speaker.message.get("function_call") or {}
        speaker.message["function_call"] = call
        where = f"/choices/{speaker.number}/message/function_call"
        text = self.merge_call({"function": call}, {"function": doc}, "", where)
        given = speaker.received.setdefault("function_call", Received(True))
        begun = "function_call" in speaker.open or "function_call" in speaker.ended
        if begun and not LEGACY.fit(doc):
            where = f"/choices/{speaker.number}/message/function_call"
            self.late |= dict.fromkeys(LEGACY.others(doc, where))
        if not begun and call.get("name"):
            self.close_before(speaker, events)
            at = f"/choices/{speaker.number}/message/function_call"
            block = assistant.read_legacy_call(self.dialect, {**call, "arguments": ""}, at)
            self.begin_block(speaker, "function_call", hollow(block), events)
        if text:
            if "function_call" in speaker.ended:
                raise Malformed("more arguments arrived for a tool call that was complete")
            given.add(text)
            if "function_call" in speaker.open:
                events.append(Delta(speaker.open["function_call"], text))

    def read_cited(self, speaker: Speaker, docs: list[Json], events: list[Event]) -> None:
        known = speaker.annotations
        for number, doc in enumerate(docs, len(known)):
            at = f"/choices/{speaker.number}/message/annotations/{number}"
            cite = parts.read_annotation(self.dialect, as_dict(doc, at), at)
            if "content" in speaker.open:
                events.append(Cite(speaker.open["content"], cite))
            else:
                self.cite_later(speaker, cite, events)
        known += docs

    def cite_later(self, speaker: Speaker, cite: Citation, events: list[Event]) -> None:
        """A text that is cited before its first word, or when it is closed."""
        if speaker.text is None:
            speaker.cites.append(cite)
            return
        events.append(Cite(speaker.text, cite))
        why = "a citation arrived after the end of its text"
        self.notes.append(("stream.order", cite.at, why))

    def read_spoken(self, speaker: Speaker, doc: dict[str, Json], events: list[Event]) -> None:
        """Speech: its data and its transcript, bit by bit."""
        merge(speaker.message, {"audio": {k: v for k, v in doc.items() if k not in SPOKEN}})
        if "audio" not in speaker.open:
            at = f"/choices/{speaker.number}/message/audio"
            note = self.dialect.respell(None, place="audio")
            block = Media("audio", Source("base64"), at=at, extras=note)
            self.begin_block(speaker, "audio", block, events)
        for key, place in SPOKEN.items():
            text = doc.get(key)
            if text is not None and text.__class__ is not str:
                expected("a string", text, f"/choices/{speaker.number}/message/audio/{key}")
            if text is not None:
                speaker.spoken.setdefault(key, Received(True)).add(text)
                events.append(Delta(speaker.open["audio"], text, place))

    def close_all(self, speaker: Speaker, events: list[Event]) -> None:
        if speaker.cites and speaker.message.get("content") == "":  # a text without a word
            index = self.begin_block(
                speaker, "content", self.text_block(speaker, "content"), events
            )
            events += [Cite(index, cite) for cite in speaker.cites]
            speaker.cites.clear()
            if len(speaker.open) + len(speaker.ended) > 1:
                self.out_of_order(speaker)
        for index in speaker.open.values():
            events.append(Close(index))
        speaker.ended.update(speaker.open)
        speaker.open.clear()
        self.sign(speaker, events)

    def sign(self, speaker: Speaker, events: list[Event]) -> None:
        """The signature of a text comes when all of it was written, as a text that says nothing."""
        given = "content" in speaker.received
        found = None if speaker.signed else signature_of(speaker.message)
        if found is None or not (given or speaker.message.get("content") == ""):
            return
        speaker.signed = True
        at = f"/choices/{speaker.number}/message/content"
        block = Text("", at=at, extras=signing.signed(self.dialect, None, found))
        self.add_signed(speaker, block, given, events)

    def add_signed(
        self, speaker: Speaker, block: Block, written: bool, events: list[Event]
    ) -> None:
        """A text that says nothing, and has the signature of what was written before it."""
        events.append(Close(self.begin_block(speaker, SIGNED, block, events)))
        del speaker.open[SIGNED]
        if speaker.calls:
            self.out_of_order(speaker)
        if written:
            why = "the signature of a text arrived after the text"
            self.notes.append(("stream.text", block.at, why))

    def finish(self, told: bool = False) -> Sequence[Event]:
        """The reply is complete if every candidate said why it stopped.

        ``told``: the server said ``[DONE]``. Snowflake, Kimi and LiteLLM may do so without a reason
        to stop; then it is unknown, as it is at rest. Of a reply that says nothing it is none.
        """
        if self.done:
            return ()
        spoken = bool(self.speakers) and all(map(says_something, self.speakers.values()))
        if not (self.is_complete() or (told and spoken)):
            return super().close()
        events: list[Event] = []
        for speaker in self.speakers.values():
            if not all(map(is_named, speaker.calls.values())):
                raise Malformed("a call without a name", f"/choices/{speaker.number}")
            self.close_all(speaker, events)  # what came after the reason to stop
            if speaker.doc.get("finish_reason") is None:
                why = "the stream ended with [DONE] and no finish_reason"
                self.notes.append(("stream.end", f"/choices/{speaker.number}", why))
        self.done = True
        return (*events, End(self.silent()))

    def close(self) -> Sequence[Event]:
        """Not every server says ``[DONE]``; that all have stopped is enough."""
        return self.finish()

    def is_complete(self) -> bool:
        given = [s.doc.get("finish_reason") is not None for s in self.speakers.values()]
        return bool(given) and all(given)

    def silent(self) -> Response:
        """The reply as it is known, without what it says."""
        tree = response.read_response(self.dialect, self.document())
        assert isinstance(tree, Response)
        candidates = (replace(c, message=replace(c.message, content=())) for c in tree.candidates)
        return replace(tree, candidates=tuple(candidates))

    def document(self) -> Json | None:
        if self.head is None:
            return None
        choices = [self.choice(self.speakers[number]) for number in sorted(self.speakers)]
        head = dict(self.head)
        if head.get("object") == "chat.completion.chunk":
            head["object"] = "chat.completion"
        if head.get("usage", 0) is None:
            del head["usage"]  # null in every chunk but the last
        return {**head, "choices": choices}

    def choice(self, speaker: Speaker) -> Json:
        message: dict[str, Json] = {"role": "assistant", "content": None, **speaker.message}
        for key, given in speaker.received.items():
            if key == "function_call":
                message[key] = {**message[key], "arguments": str(given)}
            else:
                message[key] = str(given)
        if speaker.reasoning is not None or speaker.parts:
            message["content"] = self.content_in_parts(speaker, message["content"])
        if speaker.blocks:
            blocks = [block_at_rest(doc, str(given)) for doc, given in speaker.blocks]
            where = f"/choices/{speaker.number}/message/{BLOCKS}"
            self.supersede(message.get(BLOCKS), blocks, where)
            message[BLOCKS] = blocks
        if speaker.annotations:
            message["annotations"] = list(speaker.annotations)
        if speaker.spoken:
            audio = message["audio"] if isinstance(message["audio"], dict) else {}
            message["audio"] = audio | {key: str(given) for key, given in speaker.spoken.items()}
        calls = [
            with_arguments(call, str(speaker.arguments[number]))
            for number, call in sorted(speaker.calls.items())
            if is_named(call)
        ]
        if self.dialect.numbers_calls:
            calls = [{**call, "index": number} for number, call in enumerate(calls)]
        if calls:
            message["tool_calls"] = calls
        choice = {"index": speaker.number, "message": message, **speaker.doc}
        choice.setdefault("finish_reason", None)
        return choice

    def content_in_parts(self, speaker: Speaker, text: Json) -> list[Json]:
        """Reasoning, then what came whole, then the text."""
        items = [{**item, "text": str(given)} for item, given in speaker.reasoning or ()]
        parts: list[Json] = items  # a text is a part by itself
        if speaker.reasoning is not None and not any(i["type"] == gateways.PART for i in items):
            parts = [{"type": gateways.PART, "summary": items}]
        parts += speaker.parts
        return [*parts, {"type": "text", "text": text}] if text else parts
