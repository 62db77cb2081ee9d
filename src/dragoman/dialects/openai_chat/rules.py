"""What the OpenAI Chat Completions API rejects.

Many servers speak this dialect and are stricter or laxer; these are the rules of OpenAI's own.
Unknown keys are not reported. What some models only reject is in ``_model_rules.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...core.reading import escape
from ...dialect import Problem
from ...lint.rules import (
    Page,
    Placed,
    Problems,
    Rule,
    answered_calls,
    broken_arguments,
    error_message,
    has_fields,
    illegal_name,
    json_format,
    known_roles,
    loose_schema,
    metadata_limits,
    number,
    place_of,
    placed,
    some_messages,
    stop_count,
    stream_options,
    string,
    too_long,
    within,
)
from ...model import Json
from .._model_rules import RULES as MODEL_RULES
from .request import FIELDS

UNSAID = ("model-thinking", "model-prefill", "model-output")
# rule -> what it says, in quotes as the server says it. Quotes that neither the recordings nor the
# format reference hold are from memory, and were not tried against the API.
# https://platform.openai.com/docs/api-reference/chat/create
RULES: dict[str, str] = {
    "malformed": "The document does not have the structure of this API.",
    "no-messages": "'Invalid 'messages': empty array. Expected an array with minimum length 1'.",
    "role": "'Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and "
    "'developer'.'",
    "speaker-name": "The `name` of a message matches '^[^\\s<|\\\\/>]+$', at most 64 characters.",
    "empty-message": "A message has content: 'Invalid value for 'content': expected a string, got "
    "null.' Only an assistant message with tool calls or a refusal may have none.",
    "content-role": "System, assistant and tool messages hold text only; images, audio and files "
    "are for user messages: 'Image URLs are only allowed for messages with role 'user''.",
    "unanswered-call": "'An assistant message with 'tool_calls' must be followed by tool messages "
    "responding to each 'tool_call_id'.'",
    "orphan-result": "'messages with role 'tool' must be a response to a preceeding message with "
    "'tool_calls'.'",
    "duplicate-result": "'Duplicate value for 'tool_call_id''.",
    "duplicate-call-id": "The calls of one message have different ids: 'Duplicate value for "
    "'tool_call_id''.",
    "call-id": "The id of a call has at most 40 characters: 'string too long'.",
    "no-calls": "'Invalid 'messages[0].tool_calls': empty array. Expected an array with minimum "
    "length 1'.",
    "arguments": "The arguments of a call are a JSON object, as text. OpenAI accepts other text; "
    "servers that render a chat template do not: 'arguments must be a valid JSON object string'.",
    "tool-name": "Function names match '^[a-zA-Z0-9_-]+$' and have at most 64 characters.",
    "tools": "There are 1 to 128 tools: 'Invalid 'tools': array too long'.",
    "tool-choice": "A choice needs tools, and names one of them: ''tool_choice' is only allowed "
    "when 'tools' are specified'.",
    "parallel-calls": "''parallel_tool_calls' is only allowed when 'tools' are specified'.",
    "strict-schema": "A strict schema has no open objects and requires every property: "
    "''additionalProperties' is required to be supplied and to be false'.",
    "schema-name": "The name of a response schema matches '^[a-zA-Z0-9_-]+$', at most 64 "
    "characters.",
    "json-word": "''messages' must contain the word 'json' in some form, to use "
    "'response_format' of type 'json_object'.'",
    "range": f"{FIELDS.describe()}, logit_bias -100..100.",
    "stop": "At most 4 stop sequences: 'Invalid 'stop': array too long'.",
    "logprobs": "'top_logprobs' is only allowed when 'logprobs' is true.",
    "max-tokens": "'max_tokens' and 'max_completion_tokens' exclude each other.",
    "stream-options": "'The 'stream_options' parameter is only allowed when 'stream' is enabled.'",
    "metadata": "At most 16 pairs; keys of 64 characters, values that are strings of 512.",
    "response-field": "A response has all its fields; clients rely on them.",
    "error-field": "An error has a message.",
    **{name: MODEL_RULES[name] for name in MODEL_RULES if name not in UNSAID},
}

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
# https://platform.openai.com/docs/api-reference/chat/create#chat-create-messages
PARTS = {
    "system": ("text",),
    "developer": ("text",),
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
    "tool": ("text",),
}
ID_LIMIT = 40
NAME_LIMIT = 64
TOOLS_LIMIT = 128
JSON = (
    "'messages' must contain the word 'json' in some form, to use 'response_format' of type "
    "'json_object'."
)
SPEAKER = re.compile(r"[^\s<|\\/>]{1,64}").fullmatch


# -- the parts of a document ----------------------------------------------------------------------


def calls_of(at: str, message: dict[str, Json]) -> tuple[Placed, ...]:
    return placed(message.get("tool_calls"), f"{at}/tool_calls")


def inner_of(at: str, holder: dict[str, Json]) -> Placed:
    """What is inside a tool, a call or a choice: ``{"type": "function", "function": {...}}``."""
    kind = "custom" if holder.get("type") == "custom" else "function"
    inner = holder.get(kind)
    return f"{at}/{kind}", inner if isinstance(inner, dict) else {}


def replies(page: Page) -> Iterator[Placed]:
    """The messages of a reply."""
    for at, choice in placed(page.top.get("choices"), "/choices"):
        message = choice.get("message")
        if isinstance(message, dict):
            yield f"{at}/message", message


# -- the request ----------------------------------------------------------------------------------


def biases(page: Page) -> Problems:
    bias = page.top.get("logit_bias")
    for token, value in bias.items() if bias.__class__ is dict else ():
        if (given := number(value)) is not None and not -100 <= given <= 100:
            message = f"Invalid 'logit_bias': expected a value between -100 and 100, got {given}."
            yield Problem("range", f"/logit_bias/{escape(token)}", message)


def coupled(page: Page) -> Problems:
    """Parameters that need or exclude each other."""
    top = page.top
    if number(top.get("top_logprobs")) is not None and top.get("logprobs") is not True:
        message = "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled."
        yield Problem("logprobs", "/top_logprobs", message)
    if number(top.get("max_tokens")) is not None:
        if number(top.get("max_completion_tokens")) is not None:
            message = (
                "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not "
                "supported."
            )
            yield Problem("max-tokens", "/max_tokens", message)


def response_format(page: Page) -> Problems:
    form = page.top.get("response_format")
    if form.__class__ is dict:
        at, schema = "/response_format/json_schema", form.get("json_schema")
        yield from json_format(form.get("type"), schema, at, page, "messages", JSON)


# -- tools ----------------------------------------------------------------------------------------


def tools(page: Page) -> Problems:
    at = "/tools" if page.whole else ""
    count = len(page.tools)
    if page.whole and page.top.get("tools") == []:
        message = "Invalid 'tools': empty array. Expected an array with minimum length 1."
        yield Problem("tools", at, message)
    if count > TOOLS_LIMIT:
        message = (
            f"Invalid 'tools': array too long. Expected an array with maximum length {TOOLS_LIMIT}"
            f", but got an array with length {count} instead."
        )
        yield Problem("tools", at, message)
    for place, tool in page.tools:
        where, inner = inner_of(place, tool)
        yield from illegal_name("tool-name", f"{where}/name", inner.get("name"), NAME_LIMIT)
        if inner.get("strict") is True:
            what = f"Invalid schema for function {inner.get('name')!r}"
            yield from loose_schema(inner.get("parameters"), f"{where}/parameters", what)


def tool_choice(page: Page) -> Problems:
    if not page.whole:
        return
    choice = page.choice
    if not page.tools:
        if choice is not None and choice != "none":
            message = "'tool_choice' is only allowed when 'tools' are specified."
            yield Problem(
                "tool-choice", "/tool_choice", f"Invalid value for 'tool_choice': {message}"
            )
        if page.top.get("parallel_tool_calls") is not None:
            message = "'parallel_tool_calls' is only allowed when 'tools' are specified."
            yield Problem("parallel-calls", "/parallel_tool_calls", message)
        return
    if choice.__class__ is not dict or choice.get("type") not in ("function", "custom"):
        return
    name = inner_of("", choice)[1].get("name")
    if name.__class__ is str and name not in tool_names(page):
        message = f"Tool choice {name!r} not found in 'tools' parameter."
        yield Problem("tool-choice", "/tool_choice", message)


def tool_names(page: Page) -> set[Json]:
    names = (inner_of(at, tool)[1].get("name") for at, tool in page.tools)
    return {name for name in names if name.__class__ is str}


# -- messages -------------------------------------------------------------------------------------


def names(page: Page) -> Problems:
    for at, message in page.messages:
        name = message.get("name")
        if name.__class__ is str and message.get("role") not in ("tool", "function"):
            if not SPEAKER(name):
                written = f"Invalid '{place_of(at)}.name': string does not match pattern."
                yield Problem("speaker-name", f"{at}/name", written)


def contents(page: Page) -> Problems:
    for at, message in page.messages:
        role = string(message.get("role")) or ""
        content = message.get("content")
        speaks = any(message.get(k) for k in ("tool_calls", "function_call", "refusal", "audio"))
        if content is None and role in PARTS and not speaks:
            written = "Invalid value for 'content': expected a string, got null."
            yield Problem("empty-message", at, written)
        for where, part in placed(content, f"{at}/content"):
            kind = part.get("type")
            if role in PARTS and kind.__class__ is str and kind not in PARTS[role]:
                allowed = ", ".join(repr(k) for k in PARTS[role])
                written = f"Invalid value: {kind!r}. Supported values are: {allowed}."
                yield Problem("content-role", where, written)


pairing = answered_calls(
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
    "'tool_call_id'. The following tool_call_ids did not have response messages: {name}",
    "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.",
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
    "'tool_calls'.",
    "Invalid parameter: Duplicate value for 'tool_call_id' of {name!r}.",
)


def calls(page: Page) -> Problems:
    """Ids and names of calls, in a history or in a reply."""
    for at, message in (*page.messages, *replies(page)):
        if message.get("tool_calls") == [] and page.facet != "response":
            written = (
                f"Invalid '{place_of(at)}.tool_calls': empty array. Expected an array with "
                "minimum length 1, but got an empty array instead."
            )
            yield Problem("no-calls", f"{at}/tool_calls", written)
        seen: set[str] = set()
        for where, call in calls_of(at, message):
            name = string(call.get("id"))
            if name is not None and name in seen:
                written = f"Invalid parameter: Duplicate value for 'tool_call_id' of {name!r}."
                yield Problem("duplicate-call-id", f"{where}/id", written)
            seen.add(name or "")
            yield from too_long("call-id", f"{where}/id", call.get("id"), ID_LIMIT)
            inside, inner = inner_of(where, call)
            yield from illegal_name("tool-name", f"{inside}/name", inner.get("name"), NAME_LIMIT)
            if page.facet != "response":
                yield from broken_arguments(f"{inside}/arguments", inner.get("arguments"))
        given = message.get("tool_call_id")
        yield from too_long("call-id", f"{at}/tool_call_id", given, ID_LIMIT)


# -- replies and errors ---------------------------------------------------------------------------


def choices(page: Page) -> Problems:
    for at, choice in placed(page.top.get("choices"), "/choices"):
        for key in ("index", "message", "finish_reason"):
            if key not in choice:
                yield Problem("response-field", at, f"{key!r} is missing")


HISTORY: tuple[Rule, ...] = (
    some_messages(
        "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an "
        "empty array instead."
    ),
    known_roles(
        ROLES,
        "Invalid value: {role!r}. Supported values are: 'system', 'assistant', 'user', "
        "'function', 'tool', and 'developer'.",
    ),
    names,
    contents,
    pairing,
    calls,
)
FACETS: dict[str, tuple[Rule, ...]] = {
    "request": (
        within(FIELDS),
        biases,
        stop_count(
            FIELDS,
            "Invalid 'stop': array too long. Expected an array with maximum length {most}, but got "
            "an array with length {count} instead.",
        ),
        coupled,
        stream_options,
        metadata_limits,
        response_format,
        tools,
        tool_choice,
        *HISTORY,
    ),
    "messages": HISTORY,
    "tools": (tools,),
    "tool-choice": (),
    "response": (has_fields("id", "object", "created", "model", "choices"), choices, calls),
    "error": (error_message,),
}
