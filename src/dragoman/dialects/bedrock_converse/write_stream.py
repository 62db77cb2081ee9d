"""Writing the stream of Bedrock's ConverseStream.

Blocks come one after the other here. Only calls are announced; all else begins with its first word.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from ...core.reading import compact, encode
from ...core.writing import is_blank
from ...ledger import Ledger
from ...model import Citation, Json, Reasoning, Text, ToolCall
from ...streams.base import OneByOne
from ...streams.events import Begin, Cite, Delta, Open
from ...streams.framing.eventstream import write_error, write_frame
from .response import type_name

if TYPE_CHECKING:
    from . import BedrockConverse

STOP_KEYS = ("stopReason", "additionalModelResponseFields")
# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html: these
# come as exceptions. Of another one a client reads neither name nor message, unless it is an error
# that nobody has described.
EXCEPTIONS = frozenset(
    {
        "InternalServerException", "ModelStreamErrorException", "ValidationException",
        "ThrottlingException", "ServiceUnavailableException",
    }
)  # fmt: skip


def frame(name: str, **payload: Json) -> bytes:
    return write_frame(name, encode(payload))


class BedrockWriter(OneByOne):
    names_first: ClassVar[bool] = False
    dialect: BedrockConverse

    def __init__(self, dialect: BedrockConverse, log: Ledger, home: bool) -> None:
        super().__init__(dialect, home, log)
        self.w = dialect.writing(self.aside, dialect.name if home else None, answer=True)
        self.number = -1  # of the block that was begun last
        self.begun_here = False  # whether anything of the current block was said
        self.wrapped = False  # whether its deltas are a string inside an object
        self.open_text = False  # whether arguments have begun
        self.blank = ""  # white space that is said only if something follows
        self.cites: list[Json] = []  # that came before a word
        self.quoted: list[Json] = []  # citations that have been said
        self.late: list[Json] = []  # that came when their text was closed

    def begin(self, event: Begin) -> bytes:
        message = self.at_rest(replace(event.response, failure=None))["output"]["message"]
        return frame("messageStart", **{k: v for k, v in message.items() if k != "content"})

    # -- the block that is said now ---------------------------------------------------------

    def enter(self, event: Open) -> bytes:
        block = event.block
        self.begun_here = self.wrapped = self.open_text = False
        self.blank, self.cites = "", []
        if isinstance(block, ToolCall):
            return self.enter_call(block)
        if isinstance(block, Text | Reasoning):
            return b""  # it begins with its first word
        docs = self.dialect.write_blocks([block], self.w)
        return b"".join(self.whole(doc) for doc in docs)

    def enter_call(self, call: ToolCall) -> bytes:
        doc = self.dialect.write_call(replace(call, arguments="{}"), self.w)["toolUse"]
        start = {key: value for key, value in doc.items() if key != "input"}
        out = self.start({"toolUse": start})
        return out + self.wrap("input") if call.kind == "custom" else out

    def start(self, doc: Json) -> bytes:
        self.begun_here = True
        self.number += 1
        return frame("contentBlockStart", start=doc, contentBlockIndex=self.number)

    def piece(self, **delta: Json) -> bytes:
        """More of the current block, which begins with it if need be."""
        if not self.begun_here:
            self.begun_here = True
            self.number += 1
        return frame("contentBlockDelta", delta=delta, contentBlockIndex=self.number)

    def stop(self) -> bytes:
        return frame("contentBlockStop", contentBlockIndex=self.number)

    def whole(self, doc: dict[str, Json]) -> bytes:
        """A block that comes whole, in as many pieces as it must."""
        kind = next(iter(doc))
        inner = doc[kind]
        grown = {"toolUse": "input", "toolResult": "content", "image": "source"}.get(kind)
        if grown is None:
            return self.start(doc) + self.stop()
        start = self.start({kind: {k: v for k, v in inner.items() if k != grown}})
        value = inner.get(grown)
        if kind == "toolUse":
            return start + self.argued(compact(value)) + self.stop()
        delta = value if kind == "toolResult" else {grown: value}
        return start + self.piece(**{kind: delta}) + self.stop()

    def argued(self, text: str) -> bytes:
        return self.piece(toolUse={"input": text})

    def wrap(self, key: str) -> bytes:
        """Text that is no object becomes one with a single string, around it as it comes."""
        self.wrapped = True
        return self.argued(f'{{"{key}":"')

    def argue(self, text: str) -> bytes:
        """The arguments of a call. How they begin shows whether they will be an object."""
        if self.open_text:
            return self.argued(text)
        text, self.blank = self.blank + text, ""
        if self.wrapped:
            return self.argued(compact(text)[1:-1])
        if is_blank(text):
            self.blank = text
            return b""
        if not text.lstrip().startswith("{"):
            return self.wrap("arguments") + self.argue(text)
        self.open_text = True
        return self.argued(text)

    def say(self, event: Delta) -> bytes:
        block, text = self.block, event.text
        if isinstance(block, Reasoning):
            return self.think(event)
        if isinstance(block, ToolCall):
            return self.argue(text)
        if not isinstance(block, Text):
            return b""
        if not self.begun_here and not self.home:
            text, self.blank = self.blank + text, ""
            if is_blank(text):
                self.blank = text
                return b""
            cited, self.cites = self.cites, []
            return self.piece(text=text) + b"".join(map(self.quote_piece, cited))
        return self.piece(text=text)

    def think(self, event: Delta) -> bytes:
        if not (event.text or self.home or self.begun_here):
            return b""  # it begins with its first word
        text = self.reasoning(event)
        if text or (text is not None and self.home):
            return self.piece(reasoningContent={"text": text})
        return b""

    def quote(self, citation: Citation) -> bytes:
        if not isinstance(self.block, Text):
            return b""
        doc = self.dialect.write_citation(citation, self.w)
        if self.begun_here or self.home:
            return self.quote_piece(doc)
        self.cites.append(doc)
        return b""

    def quote_piece(self, doc: Json) -> bytes:
        self.quoted.append(doc)
        return self.piece(citation=doc)

    def quote_late(self, event: Cite) -> bytes:
        self.late.append(self.dialect.write_citation(event.citation, self.w))
        return b""

    def leave(self) -> bytes:
        block = self.block
        if not self.begun_here:
            self.late += self.cites  # of a text without a word; at rest it may be part of another
        out = self.argued('"}') if self.wrapped else b""
        if isinstance(block, Reasoning):
            out = self.leave_reasoning(block)
        elif isinstance(block, Text) and self.home and not self.begun_here:
            out = self.piece(text="")
        elif not isinstance(block, Text | ToolCall):
            return b""  # it came whole
        return out + self.stop() if self.begun_here else b""

    def leave_reasoning(self, block: Reasoning) -> bytes:
        signature = self.own_signature(block)
        if signature is None:
            return self.piece(reasoningContent={"text": ""}) if self.home_and_mute() else b""
        if signature.kind == "encrypted":
            return self.piece(reasoningContent={"redactedContent": signature.data})
        out = b"" if self.begun_here else self.piece(reasoningContent={"text": ""})
        return out + self.piece(reasoningContent={"signature": signature.data})

    def home_and_mute(self) -> bool:
        return self.home and not self.begun_here

    # -- the end ----------------------------------------------------------------------------

    def end(self, doc: Json) -> bytes:
        self.begun_here = False
        late = b"".join(self.piece(citation=cite) for cite in self.unsaid(doc))
        late += self.stop() if late else b""
        stop = {key: doc[key] for key in STOP_KEYS if key in doc}
        rest = {k: v for k, v in doc.items() if k not in stop and k != "output"}
        return late + frame("messageStop", **stop) + (frame("metadata", **rest) if rest else b"")

    def unsaid(self, doc: Json) -> Iterator[Json]:
        """Of the citations that came late, those that stand at rest."""
        left = citations_in(doc) if self.late else []
        for cite in self.quoted:
            if cite in left:
                left.remove(cite)
        for cite in self.late:
            if cite in left:
                left.remove(cite)
                yield cite

    def fail(self, doc: Json) -> bytes:
        payload = dict(doc) if isinstance(doc, dict) else {"message": doc}
        word = type_name(str(payload.pop("__type", None) or "InternalServerException"))
        if word not in EXCEPTIONS and not self.home:
            return write_error(word, str(payload["message"]))
        name = word[:1].lower() + word[1:]
        return write_frame(name, encode(payload), "exception")


def citations_in(doc: dict[str, Json]) -> list[Json]:
    """What the response at rest cites."""
    content = doc["output"]["message"]["content"]
    cited = (block.get("citationsContent") or {} for block in content)
    return [cite for inner in cited for cite in inner.get("citations") or ()]
