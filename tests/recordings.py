"""What a client of OpenAI and a server said to each other, as files of every kind of recording.

The calls are our own: a tool call, a stream, an error, and a request that asks no model.
"""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any, NamedTuple

KEY = "sk-abcdefghijklmnopqrstuvwxyz123456"
COOKIE = "__session=0123456789abcdef"
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}


class Said(NamedTuple):
    """One call: what was asked, and the status and the body of the reply."""

    asked: dict[str, Any] | None
    status: int
    body: bytes
    kind: str = "application/json"
    url: str = "https://api.openai.com/v1/chat/completions"


def asking(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "gpt-5", "messages": [{"role": "user", "content": text}], **more}


def chunk(delta: dict[str, Any], stop: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": stop}
    head = {"id": "chatcmpl-2", "object": "chat.completion.chunk", "created": 1_700_000_000}
    return (
        b"data: " + json.dumps({**head, "model": "gpt-5", "choices": [choice]}).encode() + b"\n\n"
    )


CALL = {"name": "get_weather", "arguments": '{"city": "Pera"}'}
REPLY = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1_700_000_000,
    "model": "gpt-5",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "call_9", "type": "function", "function": CALL}],
            },
            "finish_reason": "tool_calls",
        }
    ],
    "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
}
STREAM = (
    chunk({"role": "assistant", "content": ""})
    + chunk({"content": "Hel"})
    + chunk({"content": "lo"})
    + chunk({}, "stop")
    + b"data: [DONE]\n\n"
)
ERROR = {
    "error": {
        "message": "slow down",
        "type": "rate_limit_error",
        "param": None,
        "code": "rate_limit_exceeded",
    }
}
TALK = (
    Said(asking("Weather?", tools=[TOOL]), 200, json.dumps(REPLY).encode()),
    Said(asking("Hi", stream=True), 200, STREAM, "text/event-stream"),
    Said(asking("again"), 429, json.dumps(ERROR).encode()),
    Said(None, 200, b'{"object": "list", "data": []}', url="https://api.openai.com/v1/models"),
)
SENT = (
    ("accept", "application/json"),
    ("content-type", "application/json"),
    ("host", "api.openai.com"),
    ("authorization", f"Bearer {KEY}"),
    ("x-stainless-lang", "python"),
)
DATE = "Tue, 14 Nov 2023 22:13:20 GMT"


def replied(said: Said) -> tuple[tuple[str, str], ...]:
    return (
        ("content-type", said.kind),
        ("date", DATE),
        ("openai-organization", "org-of-somebody"),
        ("set-cookie", COOKIE),
    )


def listed(headers: tuple[tuple[str, str], ...]) -> dict[str, list[str]]:
    return {name: [value] for name, value in headers}


def vcr(packs: bool = False) -> dict[str, Any]:
    """As vcrpy writes it; ``packs``: with bodies as they were sent, in gzip."""
    made = []
    for said in TALK:
        headers = listed(replied(said))
        body: str | bytes = said.body.decode()
        if packs and said.kind == "application/json":
            headers["content-encoding"] = ["gzip"]
            body = gzip.compress(said.body, mtime=0)
        request = {
            "body": "" if said.asked is None else json.dumps(said.asked),
            "headers": listed(SENT),
            "method": "GET" if said.asked is None else "POST",
            "uri": said.url,
        }
        status = {"code": said.status, "message": "OK"}
        response = {"body": {"string": body}, "headers": headers, "status": status}
        made.append({"request": request, "response": response})
    return {"interactions": made, "version": 1}


def ruby() -> dict[str, Any]:
    made = []
    for said in TALK:
        request = {
            "method": "get" if said.asked is None else "post",
            "uri": said.url,
            "body": {
                "encoding": "UTF-8",
                "string": "" if said.asked is None else json.dumps(said.asked),
            },
            "headers": {name.title(): value for name, value in listed(SENT).items()},
        }
        response = {
            "status": {"code": said.status, "message": "OK"},
            "headers": {name.title(): value for name, value in listed(replied(said)).items()},
            "body": {"encoding": "UTF-8", "string": said.body.decode()},
        }
        made.append({"request": request, "response": response, "recorded_at": DATE})
    return {"http_interactions": made, "recorded_with": "VCR 6.3.1"}


def har() -> dict[str, Any]:
    entries = []
    for said in TALK:
        request: dict[str, Any] = {
            "method": "GET" if said.asked is None else "POST",
            "url": said.url,
            "httpVersion": "HTTP/2",
            "cookies": [{"name": "__session", "value": COOKIE.partition("=")[2]}],
            "headers": [{"name": name, "value": value} for name, value in SENT],
            "queryString": [],
            "headersSize": 99,
            "bodySize": 0,
        }
        if said.asked is not None:
            text = json.dumps(said.asked)
            request["postData"] = {"mimeType": "application/json", "text": text}
            request["bodySize"] = len(text)
        content: dict[str, Any] = {"size": len(said.body), "mimeType": said.kind}
        if said.kind == "text/event-stream":
            content |= {"text": base64.b64encode(said.body).decode(), "encoding": "base64"}
        else:
            content["text"] = said.body.decode()
        response = {
            "status": said.status,
            "statusText": "OK",
            "httpVersion": "HTTP/2",
            "cookies": [],
            "headers": [{"name": name, "value": value} for name, value in replied(said)],
            "content": content,
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": len(said.body),
        }
        entries.append(
            {
                "startedDateTime": "2023-11-14T22:13:20.000Z",
                "time": 10,
                "request": request,
                "response": response,
                "cache": {},
                "timings": {"send": 0, "wait": 9, "receive": 1},
            }
        )
    return {"log": {"version": "1.2", "creator": {"name": "t", "version": "1"}, "entries": entries}}


def polly() -> dict[str, Any]:
    found = har()
    found["log"] = {"_recordingName": "a talk", **found["log"]}
    for index, entry in enumerate(found["log"]["entries"]):
        entry["_id"] = f"{index:032x}"
        entry["_order"] = 0
    return found


def flows() -> list[Any]:
    """As mitmproxy 11 writes it, without the connections."""
    made = []
    for said in TALK:
        path = said.url.partition("api.openai.com")[2]
        request = {
            "method": b"GET" if said.asked is None else b"POST",
            "scheme": b"https",
            "host": "api.openai.com",
            "port": 443,
            "path": path.encode(),
            "authority": b"",
            "http_version": b"HTTP/1.1",
            "headers": [[name.encode(), value.encode()] for name, value in SENT],
            "content": b"" if said.asked is None else json.dumps(said.asked).encode(),
            "trailers": None,
            "timestamp_start": 1_700_000_000.25,
            "timestamp_end": 1_700_000_000.5,
        }
        headers = [[name.encode(), value.encode()] for name, value in replied(said)]
        content = said.body
        if said.kind == "application/json":
            headers.append([b"content-encoding", b"gzip"])
            content = gzip.compress(content, mtime=0)
        response = {
            "status_code": said.status,
            "reason": b"OK",
            "http_version": b"HTTP/1.1",
            "headers": headers,
            "content": content,
            "trailers": None,
            "timestamp_start": 1_700_000_001.0,
            "timestamp_end": 1_700_000_001.5,
        }
        made.append(
            {
                "version": 21,
                "type": "http",
                "id": "5a5a5a5a-0000-4000-8000-000000000000",
                "request": request,
                "response": response,
                "websocket": None,
                "error": None,
            }
        )
    return made
