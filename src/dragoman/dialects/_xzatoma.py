"""XZatoma's requests, responses and streams: what stands around its messages.

A request is a model, messages and tools (``ProviderRequest``), with the choice of a tool as its
word. A response is ``{"message", "usage", "model", "reasoning"}`` (``CompletionResponse``), and
does not say why it ended. A stream is what the design makes of stream events: messages, each with
more of the text, a call whole; reasoning, which the design keeps for later, stands in frames of its
own; what a response says beside its message comes last, in the design's ``done``, and ``[DONE]``
after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from ..core.counts import ALL, INPUT, OUTPUT, Counts
from ..core.fields import Field, Fields, flag
from ..core.reading import as_dict, encode, maybe_dict, maybe_list, maybe_str, need_dict, need_list
from ..core.writing import Writing
from ..errors import Malformed
from ..ledger import Ledger
from ..model import (
    Block,
    Candidate,
    Citation,
    Json,
    Message,
    Params,
    Reasoning,
    Request,
    Response,
    Stop,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
)
from ..streams.base import StreamReader, StreamWriter
from ..streams.events import Begin, Close, Delta, End, Event, Open, hollow
from ..streams.framing import Frame
from ..streams.keyed import KeyedReader
from ..streams.orders import OneByOne
from ..streams.received import remember
from ..streams.splicing import MARKED, Splice, around, silent
from ._errors import ClientErrors

ANYTHING = (r"[\s\S]", 10_000)
JOINT, APART = " ", "\n\n"
DONE = b"[DONE]"
FIELDS = Fields(Field("stream", flag), keys=("model", "messages", "tools", "tool_choice"))
COUNTS = Counts({"prompt_tokens": INPUT, "completion_tokens": OUTPUT, "total_tokens": ALL})


class Exchanges(ClientErrors):
    """Requests and responses around the messages that the dialect reads and writes."""

    counts = COUNTS

    if TYPE_CHECKING:

        def read_message(self, doc: dict[str, Json], at: str) -> Message: ...
        def write_message(self, message: Message, w: Writing) -> Json | None: ...
        def read_tool(self, doc: dict[str, Json], at: str) -> Tool: ...
        def write_tool(self, tool: Tool, log: Ledger) -> Json | None: ...
        def read_tool_choice(self, doc: Json) -> ToolChoice: ...
        def write_tool_choice(self, tree: ToolChoice, log: Ledger) -> Json: ...

    # -- requests ---------------------------------------------------------------------------

    def read_request(self, doc: Json) -> Request:
        doc = as_dict(doc, "")
        tools = maybe_list(doc, "tools", "")
        choice = doc.get("tool_choice")
        found = [("messages", need_list(doc, "messages", "")), ("tools", tools or [])]
        placed = {
            key: [as_dict(d, f"/{key}/{i}") for i, d in enumerate(docs)] for key, docs in found
        }
        return Request(
            maybe_str(doc, "model", ""),
            tuple(self.read_message(d, f"/messages/{i}") for i, d in enumerate(placed["messages"])),
            None
            if tools is None
            else tuple(self.read_tool(d, f"/tools/{i}") for i, d in enumerate(placed["tools"])),
            None if choice is None else replace(self.read_tool_choice(choice), at="/tool_choice"),
            Params(**FIELDS.read(doc, {}, {}, set())),
            dialect=self.name,
            extras=self.keep(doc, FIELDS.taken),
        )

    def write_request(self, tree: Request, log: Ledger) -> Json:
        w = Writing(log, ANYTHING, ANYTHING, self.is_same(tree.dialect))
        out: dict[str, Json] = {}
        if tree.model is not None:
            out["model"] = tree.model
        written = (self.write_message(message, w) for message in tree.messages)
        out["messages"] = [doc for doc in written if doc is not None]
        if tree.tools is not None:
            out["tools"] = [self.write_tool(tool, log) for tool in tree.tools]
        if tree.tool_choice is not None:
            self.write_choice(out, tree.tool_choice, log)
        FIELDS.write(out, tree.params, w, self.name)
        self.lose(tree.params.extras, tree.params.at, log)
        return self.emit(out, tree, log)

    def write_choice(self, out: dict[str, Json], choice: ToolChoice, log: Ledger) -> None:
        if choice.mode is None:  # only what is written beside a choice
            self.lose(choice.extras, choice.at, log)
            return
        out["tool_choice"] = self.write_tool_choice(choice, log)

    # -- responses --------------------------------------------------------------------------

    def read_response(self, doc: Json) -> Response:
        doc = as_dict(doc, "")
        if "message" not in doc and doc.get("error") is not None:
            return Response(None, None, (), failure=self.read_error(doc), dialect=self.name)
        given = need_dict(doc, "message", "")
        message = self.read_message(given, "/message")
        if message.role != "assistant":
            raise Malformed(
                f"unknown role {message.role!r}; the role of a response is 'assistant'", "/message"
            )
        called = any(isinstance(block, ToolCall) for block in message.content)
        text = maybe_str(doc, "reasoning", "")
        if text is not None:
            reasoning = Reasoning((text,), at="/reasoning")
            message = replace(message, content=(reasoning, *message.content))
        usage = maybe_dict(doc, "usage", "")
        return Response(
            None,
            maybe_str(doc, "model", ""),
            (Candidate(message, Stop("tool-call" if called else "end"), at="/message"),),
            None if usage is None else self.read_usage(usage, "/usage"),
            dialect=self.name,
            extras=self.keep(doc, ("message", "reasoning", "model", "usage")),
        )

    def write_response(self, tree: Response, log: Ledger) -> Json:
        w = Writing(log, ANYTHING, ANYTHING, self.is_same(tree.dialect), reply=True)
        candidate = tree.candidates[0] if tree.candidates else Candidate(Message("assistant"))
        out: dict[str, Json] = {}
        out["message"] = self.write_spoken(candidate.message, out, w)
        if tree.model is not None:
            out["model"] = tree.model
        self.put_usage(out, tree, w)
        if not w.same:
            self.note_response(tree, candidate, "tool_calls" in out["message"], w)
        return self.emit(out, tree, log)

    def write_spoken(self, message: Message, out: dict[str, Json], w: Writing) -> Json:
        """The message, and beside it what was reasoning before it."""
        reasoning: list[str] = []
        rest: list[Block] = []
        for block in message.content:
            if isinstance(block, Reasoning):
                reasoning += self.write_reasoning(block, reasoning, w)
            else:
                rest.append(block)
        if reasoning:
            out["reasoning"] = APART.join(reasoning)
        if not rest and not w.same:
            self.lose(message.extras, message.at, w.log)
            return {"role": "assistant"}
        return self.write_message(replace(message, content=tuple(rest)), w) or {"role": "assistant"}

    def write_reasoning(self, block: Reasoning, before: list[str], w: Writing) -> Sequence[str]:
        if w.same:
            return block.content
        self.lose(block.extras, block.at, w.log)
        texts = tuple(filter(None, block.content))
        if len(texts) > 1 or (before and texts):
            self.join_text(block.at, w.log)
        return texts

    def note_response(self, tree: Response, candidate: Candidate, called: bool, w: Writing) -> None:
        """What other responses say of themselves."""
        self.lose(candidate.extras, candidate.at, w.log)
        self.note_ended(candidate, called, w.log)

    # -- streams ----------------------------------------------------------------------------

    def read_stream(self, whole: bool) -> StreamReader:
        return MessageReader(self, whole)

    def write_stream(self, log: Ledger, same: bool) -> StreamWriter:
        return MessageWriter(self, log, same)


class MessageReader(KeyedReader):
    dialect: Exchanges
    texts: ClassVar[dict[str, str]] = {"reasoning": "/reasoning", "content": "/message/content"}

    def read(self, frame: Frame) -> Sequence[Event]:
        events: list[Event] = []
        if frame[1].strip() == DONE:
            return () if self.done else self.finish(events)
        doc = self.parse(frame)
        if doc.get("error") is not None:
            return self.fail(self.dialect.read_error(doc))
        ended = doc.get("type") == "done"
        doc = {k: v for k, v in doc.items() if k != "type"} if ended else doc
        if self.head is None:
            self.head = {}
            if "role" not in doc:
                self.head |= {k: v for k, v in doc.items() if k != "reasoning"}
            events.append(self.begin(self.silent()))
        if "role" in doc:
            self.hear(doc, events)
            return events
        if text := maybe_str(doc, "reasoning", ""):
            self.add("reasoning", text, events)
        self.head |= {k: v for k, v in doc.items() if k != "reasoning"}
        return self.finish(events) if ended else events

    def finish(self, events: list[Event]) -> Sequence[Event]:
        if self.head is None:
            raise Malformed("the end of a response that has not begun")
        self.shut(events)
        self.done = True
        return [*events, End(self.silent())]

    def hear(self, doc: dict[str, Json], events: list[Event]) -> None:
        """A message: more of the text, or calls."""
        if doc["role"] != "assistant":
            raise Malformed(
                f"unknown role {doc['role']!r}; the role of a response is 'assistant'", "/role"
            )
        text = maybe_str(doc, "content", "")
        if text is not None:
            self.add("content", text, events)
        for call in maybe_list(doc, "tool_calls", "") or ():
            self.call(call, events)
        known = ("content", "tool_calls")
        self.message |= {k: v for k, v in doc.items() if k not in known or v in (None, [])}

    def add(self, key: str, text: str, events: list[Event]) -> None:
        super().add(key, text, events)
        self.sink = self.received[key].add

    def call(self, doc: Json, events: list[Event]) -> None:
        at = f"/message/tool_calls/{len(self.calls)}"
        turn = {"role": "assistant", "tool_calls": [as_dict(doc, at)]}
        block = replace(self.dialect.read_message(turn, "").content[0], at=at)
        assert isinstance(block, ToolCall)
        self.calls.append(doc)
        self.shut(events)
        index = self.enter(hollow(block), events)
        events += (Delta(index, block.arguments), Close(index))

    def silent(self) -> Response:
        doc = {k: v for k, v in (self.document() or {}).items() if k != "reasoning"}
        tree = self.dialect.read_response({**doc, "message": {"role": "assistant"}})
        assert isinstance(tree, Response)
        return tree

    def document(self) -> Json | None:
        if self.head is None:
            return None
        message: dict[str, Json] = {"role": "assistant", **self.message}
        if "content" in self.received:
            message["content"] = str(self.received["content"])
        if self.calls:
            message["tool_calls"] = self.calls
        beside = (
            {"reasoning": str(self.received["reasoning"])} if "reasoning" in self.received else {}
        )
        return {"message": message, **beside, **self.head}


def frame(doc: Json) -> bytes:
    return b"data: " + encode(doc) + b"\n\n"


class MessageWriter(OneByOne):
    dialect: Exchanges

    def __init__(self, dialect: Exchanges, log: Ledger, same: bool) -> None:
        super().__init__(dialect, same, log)
        self.w = Writing(self.aside, ANYTHING, ANYTHING, same, reply=True)
        self.spoken: set[str] = set()  # whether there was a text, and whether there was reasoning
        self.texts: list[str] = []  # what was written of the block that is written now

    def begin(self, event: Begin) -> bytes:
        doc = self.at_rest(replace(event.response, failure=None, usage=None))
        rest = {k: v for k, v in doc.items() if k != "message"}
        return frame(rest) if rest else b""

    def enter(self, event: Open) -> bytes:
        self.texts = []
        return b""

    def say(self, event: Delta) -> bytes:
        block, text = self.block, event.text
        if isinstance(block, Reasoning):
            return self.think(event)
        if event.place != "text":
            return b""
        if isinstance(block, ToolCall):
            self.texts.append(text)
        return self.utter(text) if isinstance(block, Text) and text else b""

    def utter(self, text: str) -> bytes:
        """More of the text; several texts are one, joined with a space."""
        first = not self.texts and "content" in self.spoken
        remember(self.texts, text)
        self.spoken.add("content")
        spelled = JOINT + text if first else text
        return frame({"role": "assistant", "content": spelled})

    def think(self, event: Delta) -> bytes:
        text = self.reasoning(event)
        if not text:
            return b""
        first = not self.texts
        remember(self.texts, text)
        if first and "reasoning" in self.spoken:
            text = APART + text
        self.spoken.add("reasoning")
        return frame({"reasoning": text})

    def splicing(self, event: Delta) -> Splice | None:
        block = self.block
        if event.index != self.current or not self.texts:
            return None
        if isinstance(block, Reasoning):
            goes_on = self.part == (event.part, event.place)
            return around(frame({"reasoning": MARKED})) if goes_on else None
        if event.place != "text":
            return None
        if isinstance(block, ToolCall):
            return silent(self.texts.append)
        return around(frame({"role": "assistant", "content": MARKED}))

    def quote(self, citation: Citation) -> bytes:
        return b""

    def leave(self) -> bytes:
        block = self.block
        if isinstance(block, Text):
            return b"" if self.texts else self.utter("")
        if not isinstance(block, ToolCall):
            return b""
        call = replace(block, arguments="".join(self.texts))
        return frame(self.dialect.write_message(Message("assistant", (call,)), self.w))

    def end(self, doc: Json) -> bytes:
        """What no piece has written."""
        message = {k: v for k, v in doc["message"].items() if k not in ("content", "tool_calls")}
        message |= {k: v for k, v in doc["message"].items() if v in (None, [])}
        rest = {k: v for k, v in doc.items() if k not in ("message", "reasoning")}
        if "reasoning" not in self.spoken and "reasoning" in doc:
            rest["reasoning"] = doc["reasoning"]
        out = frame(message) if message != {"role": "assistant"} else b""
        return out + frame({"type": "done", **rest}) + b"data: [DONE]\n\n"

    def fail(self, doc: Json) -> bytes:
        return frame(doc)
