"""One question and its reply, in every dialect: what the laws about providers ask and hear."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

import dragoman
import families
from dragoman import dialects
from dragoman.core.reading import decode
from dragoman.model import Message, Params, Request, Response, Text, Tool, ToolCall
from dragoman.streams.framing import framer, write_frame

QUESTION, ANSWER = "What is the weather in Pera?", "Let me look."
TREE = Request(
    "m",
    (Message("user", (Text(QUESTION),)),),
    (Tool("look", "Looks.", {"type": "object", "properties": {"city": {"type": "string"}}}),),
)


def replies(upstream: str) -> dict[str, Any]:
    reply = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [
            {"type": "text", "text": ANSWER},
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"city": "Pera"}},
        ],
        "stop_reason": "tool_use", "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 5},
    }  # fmt: skip
    document: dict[str, Any] = dragoman.convert(
        reply, source="anthropic-messages", target=upstream, facet="response", now=1
    ).document
    return document


def request_of(caller: str, stream: bool | None = None) -> Any:
    return dragoman.write(replace(TREE, params=Params(stream=stream)), caller).document


def heard(document: Any, upstream: str) -> list[str]:
    """What the user said, as the upstream reads it."""
    tree = dragoman.read(document, upstream)
    assert isinstance(tree, Request)
    return [
        block.text
        for message in tree.messages
        if message.role == "user"
        for block in message.content
        if isinstance(block, Text)
    ]


def written(document: Any, caller: str) -> list[Any]:
    """What a response says: its texts, and its calls."""
    tree = dragoman.read(document, caller, facet="response")
    assert isinstance(tree, Response)
    return spoken(tree.candidates[0].message)


def spoken(message: Message) -> list[Any]:
    texts = "".join(block.text for block in message.content if isinstance(block, Text)).strip()
    calls = [
        (block.name, decode(block.arguments))
        for block in message.content
        if isinstance(block, ToolCall)
    ]
    return [texts, *calls]


EXPECTED = [ANSWER, ("look", {"city": "Pera"})]

CHAT = b'"finish_reason":"tool_calls"'
RESPONSES = b'"type":"response.completed"'
LAST: dict[str, bytes] = {
    **dict.fromkeys(families.CHAT, CHAT),
    **dict.fromkeys(families.RESPONSES, RESPONSES),
    "ag-ui": b'"type":"RUN_FINISHED"',
    "anthropic-bedrock": b64encode(b'{"type":"message_stop"}'),
    "anthropic-messages": b'"type":"message_stop"',
    "anthropic-vertex": b'"type":"message_stop"',
    "bedrock-converse": b'"stopReason":"tool_use"',
    "cohere": b'"type":"message-end"',
    "copilot-responses": b'"type":"done"',
    "gemini": b'"finishReason":"STOP"',
    "gemini-interactions": b'"event_type":"interaction.completed"',
    "icontent": b'"stopReason":"tool_use"',
    "icontent-design": b'"stopReason":"tool_use"',
    "mistral": CHAT,
    "native": b'"event":"end"',
    "ollama": b'"done":true',
    "router-responses": RESPONSES,
    "vercel-core": b'"type":"finish"',
    "vercel-model": b'"type":"finish"',
    "vercel-model-v5": b'"type":"finish"',
    "vercel-model-v6": b'"type":"finish"',
    "vercel-ui": b'"type":"finish"',
    "xzatoma": b'"type":"done"',
}
"""What is in the frame of a stream that says that its response is complete, after the vendors'
references; counts of tokens may follow it, and what says that nothing else does."""


def cuts(source: str) -> Iterator[bytes]:
    """The beginnings of a stream: up to each frame but the last, and within each."""
    framing = dialects.get(source).framing
    frames = framer(framing)
    data = dragoman.decompose(replies(source), source)
    place = 0
    for frame in [*frames.feed(data), *frames.close()]:
        if LAST[source] in frame[1]:
            return
        start, place = place, place + len(write_frame(framing, frame))
        yield data[:start]
        yield data[: (start + place) // 2]
    raise AssertionError("no frame is the last")
