"""The scripted model: replies from a list, the same for the same request.

    [[reply]]
    text = "Let me look."
    reasoning = "The user wants the weather."
    calls = [{ name = "get_weather", arguments = { city = "Pera" } }]

    [[reply]]
    text = "It is 14 degrees in Pera."

The model keeps no state: a conversation with one turn of the assistant gets the second reply, so
any number of clients can be served at once, and a request that is repeated gets the same reply.
After the last reply comes a text that says so. ``when`` narrows a reply to requests that fit it;
then replies are counted among those that fit.

| key | what it does |
| --- | --- |
| ``text`` | a text; a list of texts is sent as these deltas |
| ``reasoning`` | reasoning before it; with ``signature`` it is signed, or encrypted |
| ``calls`` | calls: ``name``, ``arguments`` (an object, or the text of a freeform call), ``id``; a
``*`` in a name stands for anything: the first offered tool that fits is called |
| ``refusal`` | a refusal instead of a text |
| ``stop`` | why it ends: ``length``, ``filter``, ... |
| ``usage`` | token counts: ``input``, ``output``, ``reasoning``, ``cached`` |
| ``error`` | an error instead: ``kind``, ``message``, ``retry_after`` |
| ``fail_after``, ``cut_after`` | an error, or the end of the connection, after so many events |
| ``delay`` | seconds between two events |
| ``when`` | ``model``, ``last``, ``tool``: patterns for the model, the last text, an offered tool |
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import AsyncIterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..core.reading import compact
from ..core.restoring import tools_of
from ..dialect import Dialect
from ..exchange import estimate
from ..model import (
    Block,
    Candidate,
    ErrorKind,
    Extras,
    Failure,
    Json,
    Message,
    Reasoning,
    Refusal,
    Request,
    Response,
    Signature,
    Stop,
    StopReason,
    Text,
    Tool,
    ToolCall,
    ToolResult,
    Usage,
)
from ..streams.events import Delta, Event, Fail, decompose
from .config import ConfigError, read_file

SIGNED_CALLS = ("gemini",)
ENCRYPTED = ("openai-responses", "open-responses", "copilot")
ENDED = "The script has no more replies."


class Call(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    arguments: Json = {}
    id: str | None = None
    kind: str | None = None


class When(Struct, frozen=True, forbid_unknown_fields=True):
    """Patterns, as of file names, that a request must fit."""

    model: str = "*"
    last: str = "*"
    tool: str | None = None


class Error(Struct, frozen=True, forbid_unknown_fields=True):
    kind: ErrorKind = "server"
    message: str = "scripted error"
    retry_after: float | None = None


class Counts(Struct, frozen=True, forbid_unknown_fields=True):
    input: int | None = None
    output: int | None = None
    reasoning: int = 0
    cached: int = 0


class Reply(Struct, frozen=True, forbid_unknown_fields=True):
    """One reply of the model."""

    text: str | tuple[str, ...] = ()
    reasoning: str | tuple[str, ...] = ()
    signature: str | None = None
    calls: tuple[Call, ...] = ()
    refusal: str | None = None
    stop: StopReason | None = None
    usage: Counts = Counts()
    error: Error | None = None
    fail_after: int | None = None
    cut_after: int | None = None
    delay: float = 0.0
    when: When = When()


class Cut(Exception):
    """The connection ends before the reply does."""


class Script:
    """A model that replies from a list."""

    def __init__(self, replies: list[Reply] | list[Mapping[str, Any]] | None = None) -> None:
        told = msgspec.convert(replies or [], list[Reply], from_attributes=True)
        self.replies = tuple(told)

    @classmethod
    def load(cls, path: str | Path) -> Script:
        """The replies of a TOML file (``[[reply]]``) or of a JSON list."""
        data = read_file(path)
        try:
            if Path(path).suffix == ".json":
                return cls(msgspec.json.decode(data))
            import tomllib

            return cls(tomllib.loads(data.decode("utf-8")).get("reply", []))
        except (ValueError, msgspec.MsgspecError) as problem:
            raise ConfigError(f"{path}: {problem}") from None

    def reply(self, request: Request) -> Reply:
        """The reply to a request."""
        if not self.replies:
            return echo(request)
        fitting = [reply for reply in self.replies if fits(reply.when, request)]
        turns = turns_of(request)
        return fitting[turns] if turns < len(fitting) else Reply(text=ENDED)

    def response(self, request: Request, client: Dialect) -> Response:
        """The reply as a response; a failed one has its failure. It is signed as the API of the
        client would sign it.
        """
        return response(self.reply(request), request, client)

    async def events(self, request: Request, client: Dialect) -> AsyncIterator[Event]:
        """The reply as the events of a stream."""
        reply = self.reply(request)
        for number, event in enumerate(pieces(reply, request, client)):
            if reply.cut_after is not None and number >= reply.cut_after:
                raise Cut
            if reply.fail_after is not None and number >= reply.fail_after:
                yield Fail(Failure("overloaded", "scripted failure"))
                return
            if reply.delay:
                await asyncio.sleep(reply.delay)
            yield event


def turns_of(request: Request) -> int:
    """How often the assistant has replied; some clients write one reply as several messages."""
    roles = [message.role for message in request.messages]
    before = ["", *roles]
    return sum(role == "assistant" != last for last, role in zip(before, roles, strict=False))


def fits(when: When, request: Request) -> bool:
    if not fnmatchcase(request.model or "", when.model):
        return False
    if when.tool is not None:
        if not any(fnmatchcase(tool.name, when.tool) for tool in request.tools or ()):
            return False
    return when.last == "*" or fnmatchcase(last_text(request), when.last)


def last_text(request: Request) -> str:
    """What the user said last."""
    for message in reversed(request.messages):
        texts = [block.text for block in message.content if isinstance(block, Text)]
        if message.role == "user" and texts:
            return texts[-1]
    return ""


def echo(request: Request) -> Reply:
    """What the model says without a script: it repeats what it was given."""
    last = request.messages[-1] if request.messages else None
    if last is not None and last.role == "tool":
        results = [block for block in last.content if isinstance(block, ToolResult)]
        texts = [b.text for result in results for b in result.content if isinstance(b, Text)]
        return Reply(text=f"The tool returned: {' '.join(texts)}")
    return Reply(text=f"You said: {last_text(request)}")


def response(reply: Reply, request: Request, client: Dialect) -> Response:
    """A reply as a whole response."""
    if reply.error is not None:
        failure = Failure(reply.error.kind, reply.error.message)
        return Response(None, request.model, (), failure=failure)
    blocks = tuple(blocks_of(reply, request, client))
    stop = reply.stop or usual_stop(reply)
    candidate = Candidate(Message("assistant", blocks), Stop(stop))
    return Response(made("resp", request), request.model, (candidate,), usage_of(reply, request))


def usual_stop(reply: Reply) -> StopReason:
    if reply.refusal is not None:
        return "filter"
    return "tool-call" if reply.calls else "end"


def blocks_of(reply: Reply, request: Request, client: Dialect) -> list[Block]:
    blocks: list[Block] = []
    if reply.reasoning or reply.signature:
        blocks.append(reasoning_of(reply, client))
    if text := "".join(reply.text):
        blocks.append(Text(text))
    if reply.refusal is not None:
        blocks.append(Refusal(reply.refusal))
    for number, call in enumerate(reply.calls):
        free = isinstance(call.arguments, str)
        arguments = call.arguments if free else compact(call.arguments)
        tool = offered(call.name, request)
        kind = tool.kind if tool.kind != "hosted" else "function"
        block = ToolCall(
            call.id or made("call", request, number),
            tool.name,
            arguments,
            "custom" if free else kind,
            namespace=tool.namespace,
        )
        blocks.append(block if number else signed(block, reply, client))
    return blocks


def offered(name: str, request: Request) -> Tool:
    """The tool that a script calls."""
    if "*" in name:
        for tool in tools_of(request):
            if fnmatchcase(tool.name, name):
                return tool
    return Tool(name)


def signed(call: ToolCall, reply: Reply, client: Dialect) -> ToolCall:
    """The first call of a turn, which Gemini signs in the place of the reasoning."""
    if reply.signature is None or client.name not in SIGNED_CALLS:
        return call
    signature = Signature(base64.b64encode(reply.signature.encode()).decode(), client.issuer)
    return replace(call, extras=Extras(client.name, signature=signature))


def reasoning_of(reply: Reply, client: Dialect) -> Reasoning:
    """Reasoning as the client's API gives it: in full and signed, or summed up and encrypted."""
    texts = (reply.reasoning,) if isinstance(reply.reasoning, str) else reply.reasoning
    if client.name in ENCRYPTED:
        data = reply.signature
        mark = None if data is None else Signature(data, client.issuer, "encrypted")
        return Reasoning((), texts, mark, "rs_1")
    if reply.signature is None or client.name in SIGNED_CALLS:
        return Reasoning(texts)
    return Reasoning(texts, (), Signature(reply.signature, client.issuer))


def usage_of(reply: Reply, request: Request) -> Usage:
    counts = reply.usage
    asked = counts.input if counts.input is not None else estimate(request)
    size = sum(map(len, (*reply.text, *reply.reasoning)))
    written = counts.output if counts.output is not None else size // 4 + 8 * len(reply.calls) + 1
    return Usage(
        max(asked - counts.cached, 0),
        cache_read=counts.cached or None,
        output=written,
        reasoning=counts.reasoning or None,
    )


def made(prefix: str, request: Request, number: int = 0) -> str:
    """An id: the same for the same request, another one for each turn."""
    told = f"{len(request.messages)} {request.model} {last_text(request)} {number}"
    return f"{prefix}_{hashlib.sha256(told.encode()).hexdigest()[:20]}"


def pieces(reply: Reply, request: Request, client: Dialect) -> list[Event]:
    """The events of a reply, its texts in the deltas that the script gives or word by word."""
    events: list[Event] = []
    for event in decompose(response(reply, request, client)):
        if isinstance(event, Delta):
            given = reply.text if isinstance(reply.text, tuple) else ()
            parts = given if "".join(given) == event.text else split(event.text)
            events += [Delta(event.index, part, event.place, event.part) for part in parts]
        else:
            events.append(event)
    return events


def split(text: str, size: int = 8) -> list[str]:
    """A text in pieces of some characters, as tokens are."""
    return [text[i : i + size] for i in range(0, len(text), size)]
