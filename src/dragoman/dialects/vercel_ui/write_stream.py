"""Writing the UI message stream of the AI SDK (protocol v1).

Texts, reasoning and tool inputs have ids and may come side by side, so nothing waits. The input of
a tool comes bit by bit, and whole in the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from ...core.reading import encode
from ...core.writing import object_of
from ...ledger import Ledger
from ...model import Block, Hosted, Json, Media, Reasoning, Signature, Text, ToolCall
from ...streams.base import StreamWriter
from ...streams.events import Begin, Cite, Close, Delta, Open, Signed
from ...streams.splicing import Splice, between
from .._ai_sdk_stream import frame
from . import message
from .message import APPROVAL, METADATA, NOW, OUTCOME, TOOL_FIELDS, UNFINISHED

if TYPE_CHECKING:
    from . import VercelUI


encode_text = msgspec.json.Encoder().encode


class UIVoice:
    """A block while it is written."""

    def __init__(self, block: Block, name: str) -> None:
        self.block = block
        self.name = name
        self.turn = 0
        self.head = b""
        self.begun = False
        self.part: tuple[str, int] | None = None
        self.received: list[str] = []
        self.signature: Signature | None = None
        self.cites: list[Cite] = []


class UIWriter(StreamWriter):
    dialect: VercelUI

    def __init__(self, dialect: VercelUI, log: Ledger, same: bool) -> None:
        super().__init__(dialect, same, log)
        self.w = message.writing(dialect, self.aside, dialect.name if same else None)
        self.voices: dict[int, UIVoice] = {}
        self.stepped = False
        self.cited: dict[int, int] = {}  # texts that are closed -> how many sources they have
        self.last = ""  # the text that was begun last, if nothing has begun since

    def begin(self, event: Begin) -> bytes:
        doc = self.at_rest(replace(event.response, failure=None, usage=None))
        start: dict[str, Json] = {"type": "start"}
        if "id" in doc:
            start["messageId"] = doc["id"]
        meta = doc.get("metadata")
        if isinstance(meta, dict):
            meta.pop("finishReason", None)
        if meta:
            start["messageMetadata"] = meta
        return frame(start)

    def open(self, event: Open) -> bytes:
        if event.candidate:
            return b""  # there is one reply here
        block, index = event.block, event.index
        steps = self.dialect.spelling(block).get("steps", 0) if self.same else 0
        out = b"".join(self.step() for _ in range(steps))
        voice = self.voices[index] = UIVoice(block, f"{index}")
        voice.turn = self.turn()
        if isinstance(block, Media) and not block.source.value:
            return out  # its data come bit by bit, and are written whole
        if isinstance(block, Text):
            return out + self.begin_text(voice, "text")
        if isinstance(block, ToolCall):
            return out + self.begin_tool(voice, block)
        if isinstance(block, Reasoning):
            return out + (self.begin_text(voice, "reasoning") if self.same else b"")
        for doc in message.write_part(self.dialect, block, self.w):
            if doc["type"] == "step-start":
                out += self.step()
            elif isinstance(block, Hosted):
                out += b"".join(map(self.say, tool_chunks(doc)))
            else:
                out += self.say(doc)
        return out

    def step(self) -> bytes:
        """A step begins, and the one before is over."""
        ended = frame({"type": "finish-step"}) if self.stepped else b""
        self.stepped = True
        return ended + frame({"type": "start-step"})

    def say(self, doc: Json) -> bytes:
        """A chunk of a reply; from elsewhere, the first begins its step."""
        self.last = ""
        if self.stepped or self.same:
            return frame(doc)
        return self.step() + frame(doc)

    def begin_text(self, voice: UIVoice, kind: str) -> bytes:
        voice.begun = True
        head = encode({"type": f"{kind}-delta", "id": voice.name, "delta": ""})
        voice.head = b"data: " + head[:-3]
        start: dict[str, Json] = {"type": f"{kind}-start", "id": voice.name}
        if isinstance(voice.block, Text) and voice.block.extras is not None:
            written = message.write_text(self.dialect, replace(voice.block, citations=()), self.w)[
                0
            ]
            start |= {key: written[key] for key in (METADATA,) if key in written}
        elif self.same and isinstance(voice.block, Reasoning):
            fields = {} if voice.block.extras is None else voice.block.extras.fields
            start |= {key: fields[key] for key in (METADATA,) if key in fields}
        self.begins(voice.turn, voice.block.at)
        written_first = self.say(start)
        self.last = voice.name
        return written_first

    def begin_tool(self, voice: UIVoice, call: ToolCall) -> bytes:
        voice.begun = True
        self.begins(voice.turn, call.at)
        voice.name = self.w.call_once(call)
        head = {"type": "tool-input-delta", "toolCallId": voice.name, "inputTextDelta": ""}
        voice.head = b"data: " + encode(head)[:-3]
        start: dict[str, Json] = {"type": "tool-input-start", "toolCallId": voice.name}
        start["toolName"] = call.name
        if call.kind == "custom":
            start["inputEncoding"] = "text"  # so that it can be shown before it is whole
        if self.same:
            start |= tool_head(message.write_tool(self.dialect, call, self.w))
        elif (signature := self.call_signature(call)) is not None:
            start[METADATA] = signature
        return self.say(start)

    def call_signature(self, call: ToolCall) -> Json | None:
        """How Google signed a call: of one that is on its way, nothing else is carried."""
        out: dict[str, Json] = {}
        message.sign(out, call, METADATA)
        return out.get(METADATA)

    def delta(self, event: Delta) -> bytes:
        voice = self.voices.get(event.index)
        if voice is None:
            return b""
        text = event.text
        if isinstance(voice.block, Reasoning):
            return self.think(event, voice)
        if isinstance(voice.block, Media) and event.place == "text":
            voice.received.append(text)
        if not voice.begun or event.place != "text":
            return b""
        if isinstance(voice.block, ToolCall):
            voice.received.append(text)
        return voice.head + encode_text(text) + b"}\n\n"

    def splicing(self, event: Delta) -> Splice | None:
        voice = self.voices.get(event.index)
        if voice is None or not voice.begun:
            return None
        if isinstance(voice.block, Reasoning):
            goes_on = voice.part == (event.place, event.part)
            return between(voice.head, b"}\n\n") if goes_on else None
        if event.place != "text":
            return None
        keep = voice.received.append if isinstance(voice.block, ToolCall) else None
        return between(voice.head, b"}\n\n", keep)

    def think(self, event: Delta, voice: UIVoice) -> bytes:
        part = (event.place, event.part)
        if not (event.text or self.same):
            return b""
        if voice.part is not None and voice.part[0] != event.place:
            return b""  # reasoning is written once here
        text = event.text if voice.part in (None, part) else "\n\n" + event.text
        opened = b"" if voice.begun else self.begin_text(voice, "reasoning")
        voice.part = part
        return opened + voice.head + encode_text(text) + b"}\n\n"

    def cite(self, event: Cite) -> bytes:
        if (voice := self.voices.get(event.index)) is not None:
            voice.cites.append(event)
        elif event.index in self.cited:
            return self.say_source(event)
        return b""

    def say_source(self, event: Cite) -> bytes:
        number = self.cited[event.index] = self.cited[event.index] + 1
        doc = message.write_source(self.dialect, event.citation, f"{number}", self.w)
        if self.last != f"{event.index}":
            why = (
                "a source follows its text in the document; in the stream other parts came between"
            )
            self.log.moved("stream.order", event.citation.at, why)
        return frame(doc)

    def add_signature(self, event: Signed) -> bytes:
        if (voice := self.voices.get(event.index)) is not None:
            voice.signature = event.signature
        return b""

    def close(self, event: Close) -> bytes:
        voice = self.voices.pop(event.index, None)
        if voice is None:
            return b""
        if isinstance(voice.block, Media):
            return self.end_file(voice, voice.block)
        if isinstance(voice.block, ToolCall):
            return self.end_tool(voice, voice.block)
        if isinstance(voice.block, Reasoning):
            return self.end_reasoning(voice, voice.block)
        if not voice.begun:
            return b""
        out = frame({"type": "text-end", "id": voice.name, **self.citations(voice.block)})
        self.cited[event.index] = 0
        return out + b"".join(map(self.say_source, voice.cites))

    def citations(self, block: Block) -> dict[str, Json]:
        """What version 7 says of a text in the end, in the same dialect."""
        fields = {} if block.extras is None or not self.same else block.extras.fields
        return {key: fields[key] for key in ("citations",) if key in fields}

    def end_file(self, voice: UIVoice, block: Media) -> bytes:
        if not voice.received:
            return b""  # it was written at once
        whole = replace(block, source=replace(block.source, value="".join(voice.received)))
        return b"".join(self.say(doc) for doc in message.write_file(self.dialect, whole, self.w))

    def end_tool(self, voice: UIVoice, call: ToolCall) -> bytes:
        text = "".join(voice.received)
        if self.same:
            part = message.write_tool(self.dialect, replace(call, arguments=text), self.w)
            return b"".join(map(frame, tool_chunks(part)))
        given: Json = text
        if call.kind != "custom":
            given = object_of(replace(call, arguments=text), self.aside)
        doc: dict[str, Json] = {"type": "tool-input-available", "toolCallId": voice.name}
        doc |= {"toolName": call.name, "input": given}
        if (signature := self.call_signature(call)) is not None:
            doc[METADATA] = signature
        return frame(doc)

    def end_reasoning(self, voice: UIVoice, block: Reasoning) -> bytes:
        signed = replace(block, content=("",), signature=voice.signature or block.signature)
        meta = message.write_signature(signed)
        out = b""
        if not voice.begun:
            if meta is None:
                return b""  # reasoning without words
            out = self.begin_text(voice, "reasoning")
        end: dict[str, Json] = {"type": "reasoning-end", "id": voice.name}
        if meta is not None:
            end[METADATA] = meta
        return out + frame(end)

    def end(self, doc: Json) -> bytes:
        end: dict[str, Json] = {"type": "finish"}
        meta = doc.get("metadata")
        word = meta.get("finishReason") if isinstance(meta, dict) else None
        if isinstance(word, str) and word in NOW:
            end["finishReason"] = word
        if meta is not None:
            end["messageMetadata"] = meta
        step = frame({"type": "finish-step"}) if self.stepped else b""
        return step + frame(end) + b"data: [DONE]\n\n"

    def fail(self, doc: Json) -> bytes:
        return frame({"type": "error", "errorText": doc["errorText"]}) + b"data: [DONE]\n\n"


# -- a tool's part as chunks ----------------------------------------------------------------


def tool_head(part: dict[str, Json]) -> dict[str, Json]:
    """What each chunk of a tool's input says of the tool."""
    head: dict[str, Json] = {"toolCallId": part["toolCallId"]}
    head["toolName"] = part.get("toolName") or part["type"].removeprefix("tool-")
    if part["type"] == "dynamic-tool":
        head["dynamic"] = True
    head |= {key: part[key] for key in TOOL_FIELDS if part.get(key) is not None}
    if part.get("callProviderMetadata") is not None:
        head["providerMetadata"] = part["callProviderMetadata"]
    return head


def tool_chunks(part: dict[str, Json]) -> Iterator[Json]:
    """What makes a tool's part what it is, once its input has come."""
    state = str(part.get("state"))
    if state == UNFINISHED:
        return
    head = tool_head(part)
    given = {"input": part["input"]} if "input" in part else {}
    if "rawInput" not in part:  # else what came never became an input
        yield {"type": "tool-input-available", **head, **given}
    approval = part.get("approval")
    if isinstance(approval, dict):
        asked = {key: approval[name] for key, name in APPROVAL.items() if name in approval}
        yield {"type": "tool-approval-request", "toolCallId": part["toolCallId"], **asked}
        if "approved" in approval:
            written = {k: v for k, v in approval.items() if k in ("approved", "reason")}
            yield {"type": "tool-approval-response", "approvalId": approval.get("id"), **written}
    if state == "output-denied":
        yield {"type": "tool-output-denied", "toolCallId": part["toolCallId"]}
    elif state in ("output-available", "output-error"):
        end: dict[str, Json] = {"type": f"tool-{state}", "toolCallId": part["toolCallId"]}
        end |= {key: part[key] for key in OUTCOME if key in part}
        if part.get("resultProviderMetadata") is not None:
            end["providerMetadata"] = part["resultProviderMetadata"]
        if part["type"] == "dynamic-tool":
            end["dynamic"] = True  # version 5 looks for the part by it
        yield end
