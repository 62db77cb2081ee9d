"""Exports of LangSmith: runs as JSON or JSON Lines; those of type ``llm`` are calls of a model.

    {"id": "...", "run_type": "llm", "inputs": {"messages": [...]}, "outputs": {}, "extra": {}}

https://docs.langchain.com/langsmith/run-data-format; wrapped clients log the vendor's own request
and response, LangChain its serialised messages (``{"lc": 1, "id": [..., "HumanMessage"],
"kwargs": {...}}``), which are read as messages of ``openai-chat``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..core.reading import compact
from ..ledger import Loss
from ..model import Json
from . import _traces
from ._kinds import Container, Found

ROLES = {
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "AIMessageChunk": "assistant",
    "SystemMessage": "system",
    "ToolMessage": "tool",
}
READ = frozenset(
    {
        "content", "tool_calls", "tool_call_id", "name", "id", "type", "additional_kwargs",
        "response_metadata", "usage_metadata", "invalid_tool_calls", "status",
    }
)  # fmt: skip
"""What of a serialised message is read, or only repeats what was read, or counts it."""


class LangSmith(Container):
    name = "langsmith"
    title = "an export of LangSmith"
    spec = "https://docs.langchain.com/langsmith/run-data-format"
    signs = ((b'"run_type"', b'"inputs"'),)
    rank = 4

    def claims(self, value: Json) -> bool:
        return next(_runs(value, ""), None) is not None

    def documents(self, value: Json, limit: int | None) -> Iterator[Found]:
        for at, run in _runs(value, ""):
            if run.get("run_type") == "llm":
                yield _call(run, at)


def _is_run(value: Json) -> bool:
    return value.__class__ is dict and value.get("run_type").__class__ is str and "inputs" in value


def _runs(value: Json, at: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The runs of a file, and those inside of others."""
    waiting: list[tuple[str, Json]] = [(at, value)]
    while waiting:
        place, each = waiting.pop()
        if each.__class__ is list:
            waiting += [(f"{place}/{n}", one) for n, one in enumerate(each)][::-1]
        elif _is_run(each):
            yield place, each
            if each.get("child_runs"):
                waiting.append((f"{place}/child_runs", each["child_runs"]))
        elif each.__class__ is dict and place == at and each.get("runs").__class__ is list:
            waiting.append((f"{place}/runs", each["runs"]))


def _call(run: dict[str, Any], at: str) -> Found:
    asked: Json = _traces.parsed(run.get("inputs"))
    reply: Json = _traces.parsed(run.get("outputs"))
    asked_at, reply_at = f"{at}/inputs", f"{at}/outputs"
    extra = run.get("extra")
    extra = extra if extra.__class__ is dict else {}
    given: Json = extra.get("invocation_params")
    noted: Json = extra.get("metadata")
    model: Json = given.get("model") if given.__class__ is dict else None
    if model is None and noted.__class__ is dict:
        model = noted.get("ls_model_name")
    losses: list[Loss] = []
    if asked.__class__ is dict and asked.get("messages").__class__ is list:
        messages, place = asked["messages"], f"{asked_at}/messages"
        if len(messages) == 1 and messages[0].__class__ is list:
            messages, place = messages[0], f"{place}/0"
        if any(_is_serialised(message) for message in messages):
            asked = [_message(m, f"{place}/{n}", losses) for n, m in enumerate(messages)]
            asked_at = place
    if reply.__class__ is dict and reply.get("generations").__class__ is list:
        reply, reply_at = _generation(reply["generations"], f"{reply_at}/generations", losses)
    elif reply.__class__ is dict and reply.get("message").__class__ is dict:
        reply, reply_at = reply["message"], f"{reply_at}/message"
    elif reply.__class__ is dict and reply.get("output").__class__ is str:
        reply, reply_at = reply["output"], f"{reply_at}/output"
    title = "an export of LangSmith"
    return _traces.call(at, asked, asked_at, reply, reply_at, model, given, title, tuple(losses))


def _generation(found: list[Json], at: str, losses: list[Loss]) -> tuple[Json, str]:
    """The first of what was generated."""
    first: Json = found[0] if found else None
    at = f"{at}/0"
    if first.__class__ is list:
        first, at = (first[0] if first else None), f"{at}/0"
    if first.__class__ is not dict:
        return None, at
    message: Json = first.get("message")
    if _is_serialised(message):
        return _message(message, f"{at}/message", losses), f"{at}/message"
    return first.get("text"), f"{at}/text"


def _is_serialised(value: Json) -> bool:
    return value.__class__ is dict and value.get("lc") == 1 and value.get("id").__class__ is list


def _message(value: Json, at: str, losses: list[Loss]) -> Json:
    """A serialised message as one of Chat; what is none is left for the reader to refuse."""
    if not _is_serialised(value):
        return value
    kwargs = value.get("kwargs")
    kwargs = kwargs if kwargs.__class__ is dict else {}
    kind: Json = value["id"][-1] if value["id"] else None
    role = ROLES.get(kind) if kind.__class__ is str else None
    out: dict[str, Json] = {"role": role or str(kind), "content": kwargs.get("content")}
    if role == "tool":
        out["tool_call_id"] = kwargs.get("tool_call_id")
    calls: Json = kwargs.get("tool_calls")
    if role == "assistant" and calls.__class__ is list and calls:
        out["tool_calls"] = [_tool_call(each) for each in calls if each.__class__ is dict]
        out["content"] = out["content"] or None
    if kwargs.get("name") and role != "tool":
        out["name"] = kwargs["name"]
    for key in kwargs:
        if key not in READ and kwargs[key] not in (None, "", [], {}):
            why = "messages of openai-chat have no such field"
            losses.append(Loss("dropped", "extras", f"{at}/kwargs/{key}", why))
    return out


def _tool_call(each: dict[str, Any]) -> Json:
    given = each.get("args")
    text = given if given.__class__ is str else compact(given if given is not None else {})
    function = {"name": each.get("name"), "arguments": text}
    return {"id": each.get("id"), "type": "function", "function": function}


CONTAINER = LangSmith()
