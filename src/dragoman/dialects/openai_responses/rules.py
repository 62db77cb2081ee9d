"""What the OpenAI Responses API rejects.

Unknown keys are not reported. What only some models reject is in ``_model_rules.py``. What the
server has stored cannot be seen: with ``previous_response_id``, ``conversation`` or a reference to
a stored item, the other half of a pair may be there.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...core.models import DEFAULT, Models
from ...dialect import Problem
from ...lint.rules import (
    Page,
    Placed,
    Problems,
    Rule,
    Ruled,
    broken_arguments,
    error_message,
    examine,
    has_fields,
    illegal_name,
    json_format,
    lay_open,
    loose_schema,
    metadata_limits,
    place_of,
    placed,
    stream_options,
    string,
    too_long,
    within,
)
from ...model import Json
from .._model_rules import RULES as MODEL_RULES
from .._model_rules import responses_model
from .request import FIELDS

# rule -> what it says, in quotes as the server says it. Quotes that neither the recordings nor the
# format reference hold are from memory, and were not tried against the API.
# https://platform.openai.com/docs/api-reference/responses/create
SAID = ("model-parameter", "model-effort", "model-system", "model-tools")
RULES: dict[str, str] = {
    "malformed": "The document does not have the structure of this API.",
    "role": "'Supported values are: 'assistant', 'system', 'developer', and 'user'.'",
    "content-role": "Assistant content is 'output_text' or 'refusal': 'Supported values are: "
    "'output_text' and 'refusal''.",
    "unanswered-call": "'No tool output found for function call'.",
    "orphan-result": "'No tool call found for function call output with call_id'.",
    "duplicate-call-id": "Calls without an output yet have different call_ids; otherwise their "
    "outputs cannot be told apart.",
    "call-id": "A call_id has 1 to 64 characters: 'string too long. Expected a string with "
    "maximum length 64'.",
    "item-id": "The id of an item begins with 'msg', 'fc', 'rs' and so on, by its type: 'Expected "
    "an ID that begins with 'fc'.'",
    "duplicate-item": "'Duplicate item found with id. Remove duplicate items from your input and "
    "try again.'",
    "reasoning-summary": "'Missing required parameter: 'input[0].summary'.' It may be empty.",
    "reasoning-alone": "'Item of type 'reasoning' was provided without its required following "
    "item.'",
    "arguments": "The arguments of a call are a JSON object, as text. OpenAI accepts other text; "
    "servers that render a chat template do not: 'arguments must be a valid JSON object string'.",
    "tool-name": "Function names match '^[a-zA-Z0-9_-]+$' and have at most 128 characters.",
    "tool-choice": "A choice names one of the tools: 'Tool choice not found in 'tools' parameter'.",
    "strict-schema": "A strict schema has no open objects and requires every property: "
    "''additionalProperties' is required to be supplied and to be false'.",
    "schema-name": "A response schema has a name that matches '^[a-zA-Z0-9_-]+$', at most 64 "
    "characters.",
    "json-word": "'Response input messages must contain the word 'json' in some form to use "
    "'text.format' of type 'json_object'.'",
    "range": f"{FIELDS.describe()}.",
    "stored-twice": "'Mutually exclusive parameters: Ensure you are only providing one of: "
    "'previous_response_id' or 'conversation'.'",
    "stream-options": "'The 'stream_options' parameter is only allowed when 'stream' is enabled.'",
    "metadata": "At most 16 pairs; keys of 64 characters, values that are strings of 512.",
    "response-field": "A response has all its fields; clients rely on them.",
    "error-field": "An error has a message.",
    **{name: MODEL_RULES[name] for name in SAID},
}

ROLES = ("assistant", "system", "developer", "user")
# "Invalid 'input[1].id': 'call_1'. Expected an ID that begins with 'fc'."
PREFIXES = {"message": "msg", "function_call": "fc", "reasoning": "rs"}
CALLS = frozenset({"function_call", "custom_tool_call"})
RESULTS = frozenset({"function_call_output", "custom_tool_call_output"})
STORED = ("item_reference", "compaction")
ID_LIMIT = 64
NAME_LIMIT = 128
SPACE_LIMIT = 64
JSON = (
    "Response input messages must contain the word 'json' in some form to use 'text.format' of "
    "type 'json_object'."
)


class ResponsesRules(Ruled):
    """The rules of the real API, one function each."""

    rules = RULES
    adjacent = False
    call_ids = (".", ID_LIMIT)
    tool_names = ("[a-zA-Z0-9_-]", NAME_LIMIT)
    item_prefixes = {"function": "fc", "message": "msg", "reasoning": "rs"}  # noqa: RUF012

    def check(self, doc: Json, facet: str, models: Models = DEFAULT) -> Iterator[Problem]:
        listed = "output" if facet == "response" else "input"
        rules = FACETS.get(facet, ())
        if facet == "request" and self.vendor:
            rules = (*rules, responses_model)
        return examine(self, lay_open(doc, facet, models, listed=listed), doc, rules)


# -- the request ----------------------------------------------------------------------------------


def coupled(page: Page) -> Problems:
    """Parameters that need or exclude each other."""
    top = page.top
    if top.get("previous_response_id") is not None and top.get("conversation") is not None:
        message = (
            "Mutually exclusive parameters: Ensure you are only providing one of: "
            "'previous_response_id' or 'conversation'."
        )
        yield Problem("stored-twice", "/previous_response_id", message)


def text_format(page: Page) -> Problems:
    text = page.top.get("text")
    form = text.get("format") if text.__class__ is dict else None
    if form.__class__ is not dict:
        return
    written = "" if stored(page) else JSON
    yield from json_format(form.get("type"), form, "/text/format", page, "input", written)


def stored(page: Page) -> bool:
    """Whether a part of the conversation is at the server, out of sight."""
    keys = ("previous_response_id", "conversation", "prompt")
    return any(page.top.get(key) is not None for key in keys) or any(
        item.get("type") in STORED for _, item in page.messages
    )


# -- tools ----------------------------------------------------------------------------------------


def tools(page: Page) -> Problems:
    for at, tool in each_tool(page):
        if tool.get("type") not in ("function", "custom"):
            continue
        name = tool.get("name")
        if name is None:
            message = f"Missing required parameter: '{place_of(f'{at}/name')}'."
            yield Problem("tool-name", at, message)
        yield from illegal_name("tool-name", f"{at}/name", name, NAME_LIMIT)
        if tool.get("strict") is True:
            what = f"Invalid schema for function {name!r}"
            yield from loose_schema(tool.get("parameters"), f"{at}/parameters", what)


def each_tool(page: Page) -> Iterator[Placed]:
    """The tools, those of namespaces included."""
    for at, tool in page.tools:
        yield at, tool
        if tool.get("type") == "namespace":
            yield from placed(tool.get("tools"), f"{at}/tools")


def namespaces(page: Page) -> Problems:
    for at, tool in page.tools:
        if tool.get("type") == "namespace":
            yield from illegal_name("tool-name", f"{at}/name", tool.get("name"), SPACE_LIMIT)


def tool_choice(page: Page) -> Problems:
    choice = page.choice
    if not page.whole or choice.__class__ is not dict or stored(page):
        return
    kind, name = choice.get("type"), choice.get("name")
    if kind not in ("function", "custom") or name.__class__ is not str:
        return
    if not any(tool.get("name") == name for _, tool in page.tools) and not hidden_tools(page):
        message = f"Tool choice {name!r} not found in 'tools' parameter."
        yield Problem("tool-choice", "/tool_choice", message)


def hidden_tools(page: Page) -> bool:
    """Whether tools may come from elsewhere: a namespace, a search, an item of the input."""
    return any(tool.get("type") in ("namespace", "tool_search") for _, tool in page.tools) or any(
        item.get("type") in ("additional_tools", "tool_search_output") for _, item in page.messages
    )


# -- items ----------------------------------------------------------------------------------------


def kind_of(item: dict[str, Json]) -> str:
    """The type of an item; a message may do without."""
    return string(item.get("type")) or ("message" if "role" in item else "")


def roles(page: Page) -> Problems:
    for at, item in page.messages:
        if kind_of(item) != "message":
            continue
        role = item.get("role")
        if role.__class__ is str and role not in ROLES:
            message = (
                f"Invalid value: {role!r}. Supported values are: 'assistant', 'system', "
                "'developer', and 'user'."
            )
            yield Problem("role", f"{at}/role", message)
        for where, part in placed(item.get("content"), f"{at}/content"):
            yield from part_type(where, string(role) or "", part)


def part_type(at: str, role: str, part: dict[str, Json]) -> Problems:
    kind = part.get("type")
    if role == "assistant" and kind.__class__ is str and kind not in ("output_text", "refusal"):
        message = f"Invalid value: {kind!r}. Supported values are: 'output_text' and 'refusal'."
        yield Problem("content-role", f"{at}/type", message)


def pairing(page: Page) -> Problems:
    """Every call has its output after it, wherever that is, and every output its call before."""
    if stored(page):
        return
    replied = {string(i.get("call_id")) for _, i in page.messages if is_output(i)}
    called: set[str | None] = set()
    waiting: set[str | None] = set()
    for at, item in page.messages:
        name = string(item.get("call_id"))
        if name is None:
            continue
        if not is_output(item):
            called.add(name)
            if name in waiting and kind_of(item) in CALLS:
                message = (
                    f"Two calls with the call_id {name} are without an output at the same time."
                )
                yield Problem("duplicate-call-id", f"{at}/call_id", message)
            waiting.add(name)
            # an asynchronous call is answered when its reply is there
            waits = page.whole and kind_of(item) in CALLS and item.get("async") is not True
            if waits and name not in replied:
                message = f"No tool output found for function call {name}."
                yield Problem("unanswered-call", at, message)
            continue
        waiting.discard(name)
        if kind_of(item) in RESULTS and name not in called:
            message = f"No tool call found for function call output with call_id {name}."
            yield Problem("orphan-result", at, message)


def is_output(item: dict[str, Json]) -> bool:
    return kind_of(item).endswith("_output")


def identifiers(page: Page) -> Problems:
    seen: set[str] = set()
    for at, item in page.messages:
        name = string(item.get("id"))
        if name is not None:
            yield from item_id(at, item, name)
            if name in seen and page.facet != "response":
                message = (
                    f"Duplicate item found with id {name}. Remove duplicate items from your input "
                    "and try again."
                )
                yield Problem("duplicate-item", f"{at}/id", message)
            seen.add(name)
        if item.get("call_id") == "":
            message = (
                f"Invalid '{place_of(f'{at}/call_id')}': empty string. Expected a string with "
                "minimum length 1, but got an empty string instead."
            )
            yield Problem("call-id", f"{at}/call_id", message)
        yield from too_long("call-id", f"{at}/call_id", item.get("call_id"), ID_LIMIT)
        if kind_of(item) == "function_call":
            if page.facet != "response":
                yield from broken_arguments(f"{at}/arguments", item.get("arguments"))
            yield from illegal_name("tool-name", f"{at}/name", item.get("name"), NAME_LIMIT)


def item_id(at: str, item: dict[str, Json], name: str) -> Problems:
    prefix = PREFIXES.get(kind_of(item))
    if prefix is not None and not name.startswith(prefix):
        message = (
            f"Invalid '{place_of(f'{at}/id')}': {name!r}. Expected an ID that begins with "
            f"{prefix!r}."
        )
        yield Problem("item-id", f"{at}/id", message)


def reasoning(page: Page) -> Problems:
    """A reasoning item lists its summaries, be there none, and comes with what it led to."""
    for index, (at, item) in enumerate(page.messages):
        if kind_of(item) != "reasoning":
            continue
        if item.get("summary").__class__ is not list:
            message = f"Missing required parameter: '{place_of(f'{at}/summary')}'."
            yield Problem("reasoning-summary", at, message)
        # the server knows reasoning by its id; one that comes without is bound to nothing
        if page.whole and item.get("id") and not followed(page.messages[index + 1 :]):
            message = (
                f"Item {item.get('id')!r} of type 'reasoning' was provided without its required "
                "following item."
            )
            yield Problem("reasoning-alone", at, message)


def followed(rest: tuple[Placed, ...]) -> bool:
    """Whether the model's own work comes next; another reasoning block may come before it."""
    for _, item in rest:
        kind = kind_of(item)
        if kind != "reasoning":
            return not (kind in RESULTS or (kind == "message" and item.get("role") != "assistant"))
    return False


HISTORY: tuple[Rule, ...] = (roles, pairing, identifiers, reasoning)
FACETS: dict[str, tuple[Rule, ...]] = {
    "request": (
        within(FIELDS),
        metadata_limits,
        coupled,
        stream_options,
        text_format,
        tools,
        namespaces,
        tool_choice,
        *HISTORY,
    ),
    "messages": HISTORY,
    "tools": (tools, namespaces),
    "tool-choice": (),
    "response": (
        has_fields("id", "object", "created_at", "status", "model", "output"),
        identifiers,
    ),
    "error": (error_message,),
}
