"""Recorded reality: what real clients sent and real servers answered.

The recordings lie beside the project, in ``../shared``; ``make conformance`` needs them and says so
when they are missing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.streams.framing import write_frame

SHARED = Path(__file__).resolve().parents[2] / "shared"
DIALECTS = (
    "anthropic-messages",
    "openai-chat",
    "openai-responses",
    "gemini",
    "gemini-interactions",
    "bedrock-converse",
    "mistral",
    "ollama",
    "cohere",
)
FACETS = ("request", "response", "error")
FILES = {"cohere": "cohere-v2"}
"""How the files of the corpus call a dialect, where otherwise."""
# How the path of a captured request tells its API.
PATHS = (
    ("/v1/messages", "anthropic-messages"),
    ("/chat/completions", "openai-chat"),
    ("/responses", "openai-responses"),
    (":generateContent", "gemini"),
    (":streamGenerateContent", "gemini"),
    ("/v1beta/interactions", "gemini-interactions"),
    ("/api/chat", "ollama"),
    ("/v2/chat", "cohere"),
)


class Record(NamedTuple):
    name: str
    dialect: str
    facet: str
    body: Any


class Stream(NamedTuple):
    """A stream as it came, and whether it reached its end."""

    name: str
    dialect: str
    data: bytes
    complete: bool


@cache
def streams(dialect: str) -> tuple[Stream, ...]:
    """Every recorded stream of a dialect, from the corpus and from the captures."""
    found: list[Stream] = []
    for line in file_of(dialect, "stream").read_bytes().splitlines():
        entry = json.loads(line)
        found.append(Stream(entry["id"], dialect, _bytes(entry), entry["complete"]))
    root = SHARED / "captures"
    for path in sorted(root.glob("servers/**/*.json")):
        entry = json.loads(path.read_bytes())
        if _api(entry["request"]["path"]) == dialect and "data:" in entry.get("text", ""):
            found.append(Stream(str(path.relative_to(root)), dialect, entry["text"].encode(), True))
    return tuple(found)


def _bytes(entry: dict[str, Any]) -> bytes:
    """A recorded stream as it came over the wire."""
    if "events" in entry:  # Bedrock's frames, which are recorded as what they say
        named = [
            (name, json.dumps(data)) for event in entry["events"] for name, data in event.items()
        ]
        return b"".join(write_frame("eventstream", (name, data.encode())) for name, data in named)
    written = entry.get("sse") or entry.get("ndjson")
    if written is None:  # Gemini without alt=sse: one array
        written = json.dumps(entry["chunks"])
    return bytes(written, "utf-8")


@cache
def records(dialect: str, facet: str) -> tuple[Record, ...]:
    """Every recorded document of that kind, from the corpus and from the captures."""
    found = [*_corpus(dialect, facet), *_captures(dialect, facet)]
    if not found and (dialect, facet) not in UNRECORDED:
        raise FileNotFoundError(f"no recordings of {dialect} {facet} under {SHARED}")
    return tuple(found)


@cache
def _vias() -> dict[str, str]:
    found: dict[str, str] = {}
    for path in sorted((SHARED / "corpus").glob("openai-*.jsonl")):
        for line in path.read_bytes().splitlines():
            entry = json.loads(line)
            by_databricks = str(entry.get("endpoint")).startswith("/serving-endpoints/")
            found[entry["id"]] = "databricks" if by_databricks else entry.get("via") or ""
    return found


def served(name: str) -> str:
    """Who served what was recorded under a name."""
    if name.startswith("servers/llama-server"):
        return "llama-server"
    return _vias().get(name, "")


def pairs(dialect: str) -> Iterator[tuple[Record, Record]]:
    """Recorded requests with the replies that they got."""
    asked = dict(_paired(dialect, "request"))
    for pair, reply in _paired(dialect, "response"):
        if pair in asked:
            yield asked[pair], reply


def _paired(dialect: str, facet: str) -> Iterator[tuple[str, Record]]:
    for line in file_of(dialect, facet).read_bytes().splitlines():
        entry = json.loads(line)
        if entry.get("pair") and isinstance(entry.get("body"), dict):
            yield entry["pair"], Record(entry["id"], dialect, facet, entry["body"])


def file_of(dialect: str, kind: str) -> Path:
    return SHARED / "corpus" / f"{FILES.get(dialect, dialect)}-{kind}.jsonl"


UNRECORDED = {("gemini-interactions", "error")}
"""Of these nobody has published any."""


def _corpus(dialect: str, facet: str) -> Iterator[Record]:
    if (dialect, facet) in UNRECORDED:
        return
    for line in file_of(dialect, facet).read_bytes().splitlines():
        entry = json.loads(line)
        yield Record(entry["id"], dialect, facet, entry.get("body", entry.get("text")))


def _captures(dialect: str, facet: str) -> Iterator[Record]:
    root = SHARED / "captures"
    for path in sorted(root.glob("**/*.json")):
        entry = json.loads(path.read_bytes())
        name = str(path.relative_to(root))
        if name.startswith("servers/"):
            yield from _server(name, entry, dialect, facet)
        elif facet == "request" and _api(entry.get("path", "")) == dialect:
            for index, body in enumerate(_bodies(entry)):
                yield Record(f"{name}#{index}", dialect, facet, body)


def _bodies(entry: dict[str, Any]) -> Iterator[Any]:
    """The request of a capture; over a WebSocket, each message that asks for a reply."""
    if entry.get("body"):
        yield entry["body"]
    for message in entry.get("websocket_messages", ()):
        if isinstance(message, dict) and message.get("type") == "response.create":
            yield message


def _api(path: str) -> str | None:
    path = path.partition("?")[0]
    return next((dialect for end, dialect in PATHS if path.endswith(end)), None)


def _server(name: str, entry: dict[str, Any], dialect: str, facet: str) -> Iterator[Record]:
    """A request to a real inference server, and its reply."""
    asked = entry["request"]
    if _api(asked["path"]) != dialect:
        return
    if facet == "request" and "/err-" not in name:
        yield Record(name, dialect, facet, asked["body"])
    reply = entry.get("body")
    if isinstance(reply, dict) and facet == ("response" if entry["status"] < 400 else "error"):
        yield Record(name, dialect, facet, reply)
