"""The AI SDK's chat in a page as a client: ``useChat`` with ``DefaultChatTransport``.

    new DefaultChatTransport({ api: "/ui/chat", body: { model: "claude-opus-5-5", tools: [...] } })

It sends its messages (``{id, messages: UIMessage[], trigger, ...body}``) and reads a UI message
stream. What a route handler would do first, ``convertToModelMessages``, is done here; the rest of
the body (``model``, ``system``, ``tools``, ``temperature``, ...) has the names of ``streamText``.
So the request is read as ``vercel-model``, and places in the ledger are those of its messages.

A part of a call holds its result as well; ``step-start`` divides the turns of one message. Parts of
the application (``data-*``) and sources are not for the model: they are kept as they are, and the
ledger reports them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..core.endpoint import Endpoint
from ..core.reading import as_dict, as_list, as_str, need_list, need_str
from ..dialects import get
from ..dialects.vercel_ui import VercelUI
from ..errors import Malformed
from ..model import Json, Request

PATH = "/ui/chat"
ROW = Endpoint(PATH, plain={"stream": False})
"""A stream, unless the body has ``stream: false``."""
OF_THE_CHAT = ("id", "messages", "trigger", "messageId", "stream")
DENIED = "Tool call execution denied."


class UIDoor(VercelUI):
    """UI messages with a request, as a server reads it."""

    def read_request(self, doc: Json) -> Request:
        tree = get("vercel-model").read(request_of(as_dict(doc, "")), "request")
        assert isinstance(tree, Request)
        return tree


DOOR = UIDoor()


def request_of(doc: dict[str, Json]) -> dict[str, Json]:
    """The request that ``streamText`` would be given."""
    messages: list[Json] = []
    for number, message in enumerate(need_list(doc, "messages", "")):
        at = f"/messages/{number}"
        messages += model_messages(as_dict(message, at), at)
    rest = {key: value for key, value in doc.items() if key not in OF_THE_CHAT}
    return {**rest, "messages": messages}


def model_messages(message: dict[str, Json], at: str) -> Iterator[Json]:
    """``convertToModelMessages`` of one message."""
    role = need_str(message, "role", at)
    listed = as_list(message.get("parts"), f"{at}/parts")
    parts = [as_dict(part, f"{at}/parts/{n}") for n, part in enumerate(listed)]
    if role == "system":
        texts = [as_str(p.get("text"), at) for p in parts if p.get("type") == "text"]
        yield {"role": "system", "content": "".join(texts)}
    elif role == "user":
        content = [part_of(p) if p.get("type") in ("text", "file") else p for p in parts]
        yield {"role": "user", "content": content}
    elif role == "assistant":
        for step in steps_of(parts):
            yield from turn_of(step)
    else:
        raise Malformed(f"unknown role {role[:40]!r}", f"{at}/role")


def steps_of(parts: list[dict[str, Json]]) -> Iterator[list[dict[str, Json]]]:
    """The parts of a message, divided where a step begins."""
    step: list[dict[str, Json]] = []
    for part in parts:
        if part.get("type") != "step-start":
            step.append(part)
            continue
        yield step
        step = []
    yield step


def turn_of(step: list[dict[str, Json]]) -> Iterator[Json]:
    """A turn of the assistant and, if tools were run, their results."""
    content: list[Json] = []
    results: list[Json] = []
    for part in step:
        if part.get("type") in ("text", "file", "reasoning"):
            content.append(part_of(part))
        elif is_tool(part) and part.get("state") != "input-streaming":
            content.append(call_of(part))
            if (output := output_of(part)) is not None:
                own = content if part.get("providerExecuted") is True else results
                own.append(result_of(part, output))
        else:
            content.append(part)
    if content:
        yield {"role": "assistant", "content": content}
    if results:
        yield {"role": "tool", "content": results}


def is_tool(part: dict[str, Json]) -> bool:
    kind = part.get("type")
    return isinstance(kind, str) and (kind == "dynamic-tool" or kind.startswith("tool-"))


def name_of(part: dict[str, Json]) -> Json:
    kind: Any = part["type"]
    return part.get("toolName") if kind == "dynamic-tool" else kind.removeprefix("tool-")


def part_of(part: dict[str, Json]) -> dict[str, Json]:
    if part["type"] == "file":
        out = {"type": "file", "mediaType": part.get("mediaType"), "data": part.get("url")}
        if part.get("filename") is not None:
            out["filename"] = part["filename"]
    else:
        out = {"type": part["type"], "text": part.get("text", "")}
    return with_options(out, part.get("providerMetadata"))


def call_of(part: dict[str, Json]) -> dict[str, Json]:
    given = part.get("input")
    if given is None and part.get("state") == "output-error":
        given = part.get("rawInput")
    out = {"type": "tool-call", "toolCallId": part.get("toolCallId"), "toolName": name_of(part)}
    out["input"] = {} if given is None else given
    if part.get("providerExecuted") is not None:
        out["providerExecuted"] = part["providerExecuted"]
    return with_options(out, part.get("callProviderMetadata"))


def output_of(part: dict[str, Json]) -> dict[str, Json] | None:
    """What a tool returned; None: nothing yet."""
    state, approval = part.get("state"), part.get("approval")
    if state == "output-denied":
        why = approval.get("reason") if isinstance(approval, dict) else None
        return {"type": "error-text", "value": why or DENIED}
    if state == "output-error":
        return {"type": "error-text", "value": part.get("errorText") or "unknown error"}
    if state != "output-available" or part.get("preliminary") is True:
        return None
    value = part.get("output")
    return {"type": "text" if isinstance(value, str) else "json", "value": value}


def result_of(part: dict[str, Json], output: dict[str, Json]) -> dict[str, Json]:
    return {
        "type": "tool-result",
        "toolCallId": part.get("toolCallId"),
        "toolName": name_of(part),
        "output": output,
    }


def with_options(out: dict[str, Json], options: Json) -> dict[str, Json]:
    """What was made for a provider is given back to it."""
    return out if options is None else {**out, "providerOptions": options}
