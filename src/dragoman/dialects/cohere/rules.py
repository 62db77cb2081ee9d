"""What Cohere's chat API rejects.

Unknown keys are not reported, though the API knows no mercy with them ("unknown field: parameter
'strict' is not a valid field"): it learns new ones every month. Nor are rules of some models only.
"""

from __future__ import annotations

from ...dialect import Problem
from ...lint.rules import (
    Page,
    Placed,
    Problems,
    Rule,
    answered_calls,
    has_fields,
    known_roles,
    placed,
    stop_count,
    string,
    within,
)
from ...model import Json
from .request import FIELDS, why_not_strict
from .tools import NONE, REQUIRED

# rule -> what it says, in quotes as the server says it.
# https://docs.cohere.com/reference/errors and https://docs.cohere.com/reference/chat
RULES: dict[str, str] = {
    "malformed": "The document does not have the structure of this API.",
    "model": "'a model parameter is required for this endpoint.'",
    "role": "Roles are system, user, assistant and tool.",
    "empty-message": "'message must not be empty in a turn'.",
    "unanswered-call": "'An assistant message with 'tool_calls' must be followed by tool messages "
    "responding to each 'tool_call_id'.'",
    "orphan-result": "'tool call id not found in previous tool calls', 'tool call id must be "
    "provided with tool message'.",
    "duplicate-call-id": "'cannot have duplicate tool ids'.",
    "call-type": "'tool call must be of type function'.",
    "tool-name": "'tool names can only contain certain characters (A-Za-z0-9_) and can't begin "
    "with a digit'.",
    "tool-field": "'unknown field: parameter 'strict' is not a valid field.'",
    "tool-choice": "A choice is REQUIRED or NONE; REQUIRED needs tools.",
    "documents": "'document at index 0 cannot be empty', 'duplicate document ID at index 1 and 0'.",
    "format-documents": "'response_format is not supported with RAG', nor with tools.",
    "strict-tools": "A strict tool has a required parameter; all have at most 200 parameters.",
    "range": f"{FIELDS.describe()}: 'temperature must be between 0 and 1.0 inclusive.'",
    "stop": "At most 5 stop sequences.",
    "response-field": "A response has an id, a finish_reason and a message.",
    "error-field": "An error has a message.",
}
ROLES = ("system", "user", "assistant", "tool")


# -- the request ----------------------------------------------------------------------------------


def model(page: Page) -> Problems:
    if page.top.get("model") is None:
        yield Problem("model", "", "a model parameter is required for this endpoint.")


def form(page: Page) -> Problems:
    written = page.top.get("response_format")
    if written.__class__ is not dict or written.get("type") != "json_object":
        return
    if page.top.get("documents") or page.tools:
        message = "invalid request: response_format is not supported with RAG."
        yield Problem("format-documents", "/response_format", message)


def strict(page: Page) -> Problems:
    if page.top.get("strict_tools") is True and page.tools:
        schemas = [inner_of(at, tool)[1].get("parameters") for at, tool in page.tools]
        if why := why_not_strict(schemas):
            yield Problem("strict-tools", "/strict_tools", why)


def documents(page: Page) -> Problems:
    given = page.top.get("documents")
    if given.__class__ is not list or not given:
        return
    seen: dict[Json, int] = {}
    for index, doc in enumerate(given):
        inner = doc.get("data") if doc.__class__ is dict else doc
        if not inner:
            message = f"invalid request: document at index {index} cannot be empty"
            yield Problem("documents", f"/documents/{index}", message)
        name = string(doc.get("id")) if doc.__class__ is dict else None
        if name and name in seen:
            message = (
                f"invalid request: duplicate document ID {name} at index {index} and {seen[name]}"
            )
            yield Problem("documents", f"/documents/{index}/id", message)
        seen.setdefault(name, index)


# -- tools ----------------------------------------------------------------------------------------


def inner_of(at: str, holder: dict[str, Json]) -> Placed:
    inner = holder.get("function")
    return f"{at}/function", inner if isinstance(inner, dict) else {}


def tools(page: Page) -> Problems:
    for at, tool in page.tools:
        where, inner = inner_of(at, tool)
        yield from named(f"{where}/name", inner.get("name"))
        if "strict" in inner:
            message = "unknown field: parameter 'strict' is not a valid field."
            yield Problem("tool-field", f"{where}/strict", message)


def named(at: str, name: Json) -> Problems:
    if name.__class__ is str and not (name.isidentifier() and name.isascii()):
        message = (
            "invalid request: tool names can only contain certain characters (A-Za-z0-9_) and "
            f"can't begin with a digit (provided name: {name!r})."
        )
        yield Problem("tool-name", at, message)


def tool_choice(page: Page) -> Problems:
    if page.choice is None:
        return
    if page.choice not in (REQUIRED, NONE):
        yield Problem("tool-choice", page.choice_at, "tool_choice must be REQUIRED or NONE")
    elif page.choice == REQUIRED and page.whole and not page.tools:
        yield Problem("tool-choice", page.choice_at, "tool_choice needs tools")


# -- messages -------------------------------------------------------------------------------------


def turns(page: Page) -> Problems:
    for at, message in page.messages:
        role = message.get("role")
        spoken = any(message.get(key) for key in ("content", "tool_calls", "tool_plan"))
        if role in ("system", "user", "assistant") and not spoken:
            yield Problem("empty-message", at, "message must not be empty in a turn")


pairing = answered_calls(
    "invalid request: An assistant message with 'tool_calls' must be followed by tool messages "
    "responding to each 'tool_call_id'. The following tool_call_ids did not have response "
    "messages: {name}",
    "tool call id must be provided with tool message",
    "tool call id not found in previous tool calls",
)


def calls(page: Page) -> Problems:
    seen: set[str] = set()
    reply = page.top.get("message")
    written = (("/message", reply),) if reply.__class__ is dict else ()
    for at, message in (*page.messages, *written):
        for where, call in placed(message.get("tool_calls"), f"{at}/tool_calls"):
            if call.get("type") != "function":
                yield Problem("call-type", where, "tool call must be of type function")
            name = string(call.get("id"))
            if name is not None and name in seen:
                yield Problem("duplicate-call-id", f"{where}/id", "cannot have duplicate tool ids")
            seen.add(name or "")
            inside, inner = inner_of(where, call)
            yield from named(f"{inside}/name", inner.get("name"))


# -- replies and errors ---------------------------------------------------------------------------


def failure(page: Page) -> Problems:
    if page.top.get("message").__class__ is not str:
        yield Problem("error-field", "", "an error has a message")


HISTORY: tuple[Rule, ...] = (
    known_roles(ROLES, "{role!r} is not one of " + ", ".join(ROLES)),
    turns,
    pairing,
    calls,
)
RANGE = "invalid request: {key} must be between {low} and {high} inclusive."
FACETS: dict[str, tuple[Rule, ...]] = {
    "request": (
        model,
        within(FIELDS, RANGE),
        stop_count(FIELDS),
        form,
        strict,
        documents,
        tools,
        tool_choice,
        *HISTORY,
    ),
    "messages": HISTORY,
    "tools": (tools,),
    "tool-choice": (tool_choice,),
    "response": (has_fields("id", "finish_reason", "message"), calls),
    "error": (failure,),
}
