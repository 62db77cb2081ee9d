"""The stream of design 001, both ways: ``message``, ``function_call``, ``reasoning``, ``status``,
``done``, and ``[DONE]`` after them.

A message is a piece of text, put after the one before with nothing between; the pieces of a call
go by its ``call_id``. Nothing says where a text or a call ends: reasoning or a text ends where
something else begins, a call where something begins and its arguments are complete. The design
puts the calls in the order of their ids and drops the text beside them; here both stay as they
came. ``done`` has room for what no other event has: we say the whole response there, model and
counts included, and readers of the design pass over it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar

from ...core.reading import as_dict, encode, maybe_list, maybe_str, need_str, parse
from ...core.writing import is_blank
from ...errors import Malformed
from ...ledger import Ledger
from ...model import Block, Json, Reasoning, Response, Text, ToolCall
from ...streams.base import StreamReader
from ...streams.events import Begin, Close, Delta, End, Event, Odd, Open, deltas, hollow
from ...streams.framing import Frame
from ...streams.orders import FunctionsOnly, InTurns
from ...streams.received import Keys, Received, is_complete
from ...streams.splicing import MARKED, Splice, around
from ..openai_responses import response as responses_response
from ..openai_responses import tools as responses_tools
from ..openai_responses.parts import OUTPUT

if TYPE_CHECKING:
    from . import CopilotResponses


DONE = b"[DONE]"
KEYS = {
    "message": Keys("type", "role", "content"),
    "function_call": Keys("type", "call_id", "name", "arguments"),
    "reasoning": Keys("type", "content"),
    "status": Keys("type", "status"),
    "done": Keys("type", "response"),
}
PART = Keys("type", "text")


class CopilotCall:
    """A call while it arrives."""

    def __init__(self, block: ToolCall, index: int) -> None:
        self.id, self.name, self.at = block.id, block.name, block.at
        self.index = index
        self.received = Received(True)
        self.length = self.asked = 0  # of the arguments: now, and when it was last asked
        self.open = True

    def is_complete(self) -> bool:
        """Whether it has all its arguments; asked again when they are twice as long."""
        if self.length < 2 * self.asked:
            return False
        self.asked = self.length
        return is_complete(str(self.received))


INDEX = attrgetter("index")


class CopilotReader(StreamReader):
    dialect: CopilotResponses
    keys: ClassVar[dict[str, Keys]] = KEYS

    def __init__(self, dialect: CopilotResponses, whole: bool) -> None:
        super().__init__(dialect, whole)
        self.began = False
        self.count = 0  # of blocks
        self.text: int | None = None  # the block that is open, if it is a text
        self.thinking: int | None = None  # or reasoning
        self.spoke = False  # whether there was a text
        self.received, self.reasoned = Received(whole), Received(whole)
        self.calls: list[CopilotCall] = []
        self.latest: dict[str, CopilotCall] = {}  # by their ids, which may come again
        self.grown: dict[int, CopilotCall] = {}  # by arguments, since another block began
        self.first: dict[str, int] = {}  # the blocks in which text and reasoning began
        self.uncaught: dict[str, deque[CopilotCall]] = {}  # calls that the last event has to repeat
        self.final: dict[str, Json] | None = None
        self.ways: dict[str, Callable[[dict[str, Json], list[Event]], None]] = {
            "message": self.message,
            "function_call": self.call,
            "reasoning": self.reasoning,
            "status": self.status,
            "done": self.finish,
        }

    def read(self, frame: Frame) -> Sequence[Event]:
        events: list[Event] = []
        if frame[1].strip() == DONE:
            if not self.done:
                self.finish({}, events)
            return events
        doc = self.parse(frame)
        if doc.get("error") is not None:
            return self.fail(responses_response.read_error(self.dialect, doc))
        way = self.ways.get(need_str(doc, "type", ""))
        if way is None:
            return (Odd(self.dialect.name, doc),)
        if not self.began:
            self.began = True
            events.append(self.begin(Response(None, None, (), dialect=self.dialect.name)))
        self.look(doc["type"], doc)
        way(doc, events)
        return events

    def belongs_to(self, kind: str, doc: dict[str, Json]) -> str:
        if kind == "function_call":
            name = doc.get("call_id")
            call = self.latest.get(name) if isinstance(name, str) else None
            return f"/message/tool_calls/{len(self.calls)}" if call is None else call.at
        return {"message": "/message/content", "reasoning": "/reasoning"}.get(kind, "")

    def open(self, block: Block, events: list[Event]) -> int:
        """A block begins, so that what came before it has ended, if it can have."""
        for call in sorted(self.grown.values(), key=INDEX):
            if is_complete(str(call.received)):
                call.open = False
                events.append(Close(call.index))
        self.grown.clear()
        self.close_texts(events)
        index = self.count
        self.count += 1
        events.append(Open(index, block))
        if isinstance(block, Text | Reasoning):
            self.first.setdefault("text" if isinstance(block, Text) else "reasoning", index)
        return index

    def close_texts(self, events: list[Event]) -> None:
        events += [Close(index) for index in (self.text, self.thinking) if index is not None]
        self.text = self.thinking = None

    def out_of_order(self, at: str) -> None:
        why = "reasoning, text and tool calls were interleaved in the stream"
        self.notes.append(("stream.order", at, f"{why}; the document has one field for each"))

    def message(self, doc: dict[str, Json], events: list[Event]) -> None:
        role = need_str(doc, "role", "")
        if role != "assistant":
            raise Malformed(
                f"unknown role {role!r}; the role of a response is 'assistant'", "/role"
            )
        text = self.texts(doc)
        if self.text is None:
            if self.spoke or self.calls:
                self.out_of_order("/message/content")
            self.text = self.open(Text("", at="/message/content"), events)
            self.spoke = True
        if text:
            self.received.add(text)
            self.sink = self.received.add
            events.append(Delta(self.text, text))

    def texts(self, doc: dict[str, Json]) -> str:
        """The texts of the parts, one after the other."""
        out = ""
        for index, part in enumerate(maybe_list(doc, "content", "") or ()):
            at = f"/content/{index}"
            out += need_str(as_dict(part, at), "text", at)
            self.look(doc["type"], part, "/content", PART)
        return out

    def call(self, doc: dict[str, Json], events: list[Event]) -> None:
        name = need_str(doc, "call_id", "")
        text = maybe_str(doc, "arguments", "") or ""
        call = self.latest.get(name)
        if call is None or is_another(call, doc.get("name"), text):
            at = f"/message/tool_calls/{len(self.calls)}"
            block = ToolCall(name, need_str(doc, "name", ""), at=at)
            call = self.latest[name] = CopilotCall(block, self.open(block, events))
            self.calls.append(call)
        if text and not call.open:
            raise Malformed(
                "more arguments arrived for a tool call that was complete", "/arguments"
            )
        if text:
            call.received.add(text)
            call.length += len(text)
            self.grown[call.index] = call
            events.append(Delta(call.index, text))

    def reasoning(self, doc: dict[str, Json], events: list[Event]) -> None:
        text = self.texts(doc)
        if self.thinking is None:
            if self.count:
                self.out_of_order("/reasoning")
            self.thinking = self.open(Reasoning(at="/reasoning"), events)
        if text:
            self.reasoned.add(text)
            self.sink = self.reasoned.add
            events.append(Delta(self.thinking, text))

    def status(self, doc: dict[str, Json], events: list[Event]) -> None:
        """How far it has come: nothing that is written."""

    def finish(self, doc: dict[str, Json], events: list[Event]) -> None:
        if not self.began:
            raise Malformed("the end of a response that has not begun")
        if isinstance(doc.get("response"), dict):
            self.final = self.with_what_was_said(doc["response"])
        if self.final is not None:
            self.catch_up(self.at_rest(), events)
        self.close_texts(events)
        events += [Close(call.index) for call in self.calls if call.open]
        self.done = True
        tree = self.response()
        events.append(End(tree))

    def with_what_was_said(self, final: dict[str, Json]) -> dict[str, Json]:
        """The response of the last event, and what came bit by bit that it does not repeat."""
        choices = final.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else final
        message = first.get("message") if isinstance(first, dict) else None
        if not isinstance(message, dict):
            return final
        lacking: dict[str, Json] = {}
        if self.received.parts and not message.get("content"):
            lacking["content"] = str(self.received)
        calls = message.get("tool_calls") or []
        if not isinstance(calls, list):
            return final  # which reading refuses
        if unnamed := self.calls_beside(calls):
            lacking["tool_calls"] = [*calls, *unnamed]
        if lacking:
            first = {**first, "message": {**message, **lacking}}
            final = {**final, "choices": [first, *choices[1:]]} if choices else first
        if self.reasoned.parts and not final.get("reasoning"):
            final = {**final, "reasoning": str(self.reasoned)}
        return final

    def calls_beside(self, calls: list[Json]) -> list[Json]:
        """The calls that came bit by bit and are not in a list; an id may be there twice."""
        ids = (call.get("id") for call in calls if isinstance(call, dict))
        named = Counter(name for name in ids if isinstance(name, str))
        found: list[Json] = []
        for call in self.calls:
            if named[call.id or ""]:
                named[call.id or ""] -= 1
            else:
                found.append(call_doc(call))
        return found

    def catch_up(self, tree: Response, events: list[Event]) -> None:
        """What the last event has and the others had not."""
        for call in self.calls:
            self.uncaught.setdefault(call.id or "", deque()).append(call)
        for number, candidate in enumerate(tree.candidates):
            texts = [b for b in candidate.message.content if isinstance(b, Text)]
            last = -1
            for block in candidate.message.content:
                index = self.catch_up_block(block, number, texts, events)
                if index is not None and index < last:
                    self.out_of_order(block.at)
                last = max(last, -1 if index is None else index)

    def catch_up_block(
        self, block: Block, number: int, texts: list[Text], events: list[Event]
    ) -> int | None:
        """Which of the blocks it was that came; None for more of a text."""
        alone = isinstance(block, Text) and not self.spoke
        if number or alone or not isinstance(block, Text | Reasoning | ToolCall):
            return self.at_once(block, number, events)
        if isinstance(block, ToolCall):
            return self.catch_up_call(block, events)
        if isinstance(block, Reasoning):
            self.catch_up_text(block, self.reasoned, "".join(block.content), events)
            return self.first.get("reasoning")
        if block is not texts[0]:
            return None
        self.catch_up_text(block, self.received, "".join(b.text for b in texts), events)
        return self.first.get("text")

    def catch_up_text(
        self, block: Block, written: Received, final: str, events: list[Event]
    ) -> None:
        rest = written.lacks(final)
        if rest is None or (isinstance(block, Text) and block.text != final):
            why = "the final text differs from the streamed text"
            self.notes.append(("stream.text", block.at, why))
        elif rest:
            current = self.text if isinstance(block, Text) else self.thinking
            if current is None:
                if written.parts:
                    self.out_of_order(block.at)  # more of what has been closed
                current = self.open(hollow(block), events)
                if isinstance(block, Text):
                    self.text = current
                else:
                    self.thinking = current
            events.append(Delta(current, rest))

    def catch_up_call(self, block: ToolCall, events: list[Event]) -> int:
        came = self.uncaught.get(block.id or "")
        if not came:
            return self.at_once(block, 0, events)
        call = came.popleft()
        if call.name != block.name:
            why = "the final tool call differs from the streamed one"
            self.notes.append(("stream.text", block.at, why))
        rest = call.received.lacks(block.arguments)
        if rest and call.open:
            events.append(Delta(call.index, rest))
        elif (rest or rest is None) and not is_same(str(call.received), block.arguments):
            why = "the final arguments differ from the streamed arguments"
            self.notes.append(("stream.text", block.at, why))
        return call.index

    def at_once(self, block: Block, candidate: int, events: list[Event]) -> int:
        """A block that comes whole."""
        index = self.open(hollow(block), events)
        events[-1] = Open(index, hollow(block), candidate)
        events += [*deltas(index, block), Close(index)]
        return index

    def document(self) -> Json | None:
        if not self.began:
            return None
        if self.final is not None:
            return self.final
        message: dict[str, Json] = {"role": "assistant", "content": None}
        if self.spoke:
            message["content"] = str(self.received)
        if self.calls:
            message["tool_calls"] = [call_doc(call) for call in self.calls]
        doc: dict[str, Json] = {"message": message}
        if self.reasoned.parts:
            doc["reasoning"] = str(self.reasoned)
        return doc


def call_doc(call: CopilotCall) -> dict[str, Json]:
    """A call as it stands in a message."""
    called = {"name": call.name, "arguments": str(call.received)}
    return {"id": call.id, "type": "function", "function": called}


def is_another(call: CopilotCall, name: Json, text: str) -> bool:
    """Whether a frame begins another call under the id of a call that is complete."""
    if isinstance(name, str) and name != call.name:
        return True
    if not text.lstrip().startswith("{") or not call.received.parts:
        return False
    return not call.open or (call.received.parts[-1].rstrip().endswith("}") and call.is_complete())


def is_same(one: str, other: str) -> bool:
    """Whether two texts are the same arguments; blank is none."""
    try:
        return bool(parse(one or "{}") == parse(other or "{}"))
    except Malformed:
        return False


# -- writing --------------------------------------------------------------------------------


def frame(doc: Json) -> bytes:
    return b"data: " + encode(doc) + b"\n\n"


class CopilotWriter(FunctionsOnly, InTurns):
    needs_whole: ClassVar[bool] = True
    names_first: ClassVar[bool] = False
    dialect: CopilotResponses

    def __init__(self, dialect: CopilotResponses, log: Ledger, same: bool) -> None:
        super().__init__(dialect, same, log)
        self.w = responses_tools.writing(
            dialect, self.aside, dialect.name if same else None, reply=True
        )
        self.blocks: dict[int, Block] = {}
        self.calls: dict[int, tuple[str, str]] = {}
        self.silent: set[int] = set()  # calls of which nothing was written yet
        self.parts: dict[int, tuple[str, int]] = {}  # what was written last of a reasoning
        self.reasoned = False  # whether any reasoning was written
        if not same:
            self.wrap_freeform()

    def begin(self, event: Begin) -> bytes:
        return frame({"type": "status", "status": "in_progress"})

    def open(self, event: Open) -> bytes:
        block = event.block
        if event.candidate:
            return b""
        if isinstance(block, ToolCall):
            name = self.w.tool_name(block.name, block.at)
            self.calls[event.index] = (self.w.call_id(block), name)
            self.silent.add(event.index)
        elif isinstance(block, Text | Reasoning):
            if not self.must_wait(event, isinstance(block, Reasoning)):
                self.blocks[event.index] = block
        return b""

    def delta(self, event: Delta) -> bytes:
        if event.index in self.calls:
            if is_blank(event.text) and event.index in self.silent:
                return b""
            self.silent.discard(event.index)
            return self.say_call(event.index, event.text)
        block = self.blocks.get(event.index)
        if block is None or event.place == "transcript" or not event.text:
            return self.wait(event)
        if isinstance(block, Reasoning):
            return self.think(event)
        return self.say(event.text)

    def say(self, text: str) -> bytes:
        part = {"type": OUTPUT, "text": text}
        return frame({"type": "message", "role": "assistant", "content": [part]})

    def splicing(self, event: Delta) -> Splice | None:
        index = event.index
        if index in self.calls:
            waits = index in self.silent or index in self.wrapped
            return None if waits else around(self.say_call(index, MARKED))
        block = self.blocks.get(index)
        if isinstance(block, Reasoning):
            goes_on = self.parts.get(index) == (event.place, event.part)
            written = {"type": "reasoning", "content": [{"type": OUTPUT, "text": MARKED}]}
            return around(frame(written)) if goes_on else None
        return None if block is None or event.place == "transcript" else around(self.say(MARKED))

    def think(self, event: Delta) -> bytes:
        """All reasoning is one text, its parts apart by a blank line; it is written once."""
        before, part = self.parts.get(event.index), (event.place, event.part)
        if before is not None and before[0] != event.place:
            return b""
        self.parts[event.index] = part
        apart = self.reasoned and before != part
        self.reasoned = True
        written = {"type": OUTPUT, "text": f"\n\n{event.text}" if apart else event.text}
        return frame({"type": "reasoning", "content": [written]})

    def say_call(self, index: int, text: str) -> bytes:
        call_id, name = self.calls[index]
        doc = {"type": "function_call", "call_id": call_id, "name": name, "arguments": text}
        return frame(doc)

    def close(self, event: Close) -> bytes:
        if event.index in self.waiting:
            return self.wait(event)
        written = self.say_call(event.index, "{}") if event.index in self.silent else b""
        self.silent.discard(event.index)
        self.calls.pop(event.index, None)
        self.blocks.pop(event.index, None)
        return written + self.next_turn(event.index)

    def end(self, doc: Json) -> bytes:
        return frame({"type": "done", "response": doc}) + b"data: [DONE]\n\n"

    def fail(self, doc: Json) -> bytes:
        return frame(doc)
