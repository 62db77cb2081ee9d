"""What the Anthropic Messages API rejects.

Unknown keys are not reported, though the API rejects them: new ones arrive every month, and each
model and each beta has its own. Nor are rules that hold no longer: a conversation may begin with
the assistant since 2025, and recorded requests do. What holds for some models only is in
``model_rules.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...core.writing import is_blank
from ...dialect import Problem
from ...lint.rules import (
    Page,
    Placed,
    Problems,
    Rule,
    has_fields,
    known_roles,
    number,
    placed,
    some_messages,
    string,
    within,
)
from ...model import Json
from .._model_rules import RULES as MODEL_RULES
from .model_rules import adaptive, display, model
from .request import FIELDS

UNSAID = ("model-output", "model-media")
# rule -> what it says, in quotes as the server says it. Quotes that neither the recordings nor the
# format reference hold are from memory, and were not tried against the API.
# https://docs.claude.com/en/api/messages, https://docs.claude.com/en/api/errors
RULES: dict[str, str] = {
    "malformed": "The document does not have the structure of this API.",
    "max-tokens": "The output limit is required and not negative: 'max_tokens: Field required'.",
    "no-messages": "'messages: at least one message is required'.",
    "role": "Roles are user, assistant and, inside the conversation, system.",
    "system-placement": "A system message inside the conversation follows a user message (or a "
    "server tool result), not another system message, and is last or before an assistant message.",
    "empty-message": "'all messages must have non-empty content except for the optional final "
    "assistant message'.",
    "empty-text": "'text content blocks must be non-empty', and a message of white space only "
    "'must contain non-whitespace text'.",
    "trailing-space": "'final assistant content cannot end with trailing whitespace'.",
    "content-role": "'`tool_use` blocks can only be in `assistant` messages', and tool results "
    "only in user messages.",
    "unanswered-call": "'Each `tool_use` block must have a corresponding `tool_result` block in "
    "the next message.'",
    "orphan-result": "'Each `tool_result` block must have a corresponding `tool_use` block in the "
    "previous message.'",
    "duplicate-result": "'each tool_use must have a single result'.",
    "calls-last": "No text may follow a tool call in an assistant turn; the API takes the call for "
    "unanswered: '`tool_use` ids were found without `tool_result` blocks immediately after'.",
    "results-first": "Tool results come first in the user turn that follows the calls.",
    "duplicate-call-id": "'`tool_use` ids must be unique'.",
    "call-id": "Call ids match '^[a-zA-Z0-9_-]+$'.",
    "tool-name": "Tool names match '^[a-zA-Z0-9_-]{1,128}$'.",
    "duplicate-tool": "'Tool names must be unique.'",
    "tool-schema": "The schema of a tool is an object schema: 'input_schema.type: Field required'.",
    "tool-deferred": "'At least one tool must have defer_loading=false. All tools cannot be "
    "deferred.'",
    "tool-reference": "A reference names a tool of the request: 'Tool reference not found in "
    "available tools'.",
    "tool-choice": "A choice is auto, any, tool or none, needs tools, and names one of them: "
    "'tool_choice may only be specified while providing tools'.",
    "thinking-signature": "A thinking block is sent back with its signature: 'thinking.signature: "
    "Field required'.",
    "thinking-first": "'If an assistant message contains any thinking blocks, the first block "
    "must be `thinking` or `redacted_thinking`.'",
    "thinking-missing": "'When `thinking` is enabled, a final `assistant` message must start with "
    "a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).'",
    "thinking-final": "'When thinking is disabled, an `assistant` message in the final position "
    "cannot contain `thinking`.'",
    "thinking-choice": "'Thinking may not be enabled when tool_choice forces tool use.'",
    "thinking-budget": "The budget is at least 1024 and below max_tokens: '`max_tokens` must be "
    "greater than `thinking.budget_tokens`'.",
    "thinking-temperature": "'`temperature` may only be set to 1 when thinking is enabled.'",
    "cache-marks": "'A maximum of 4 blocks with cache_control may be provided.'",
    "cache-place": "A thinking block has no cache_control: 'thinking.cache_control: Extra inputs "
    "are not permitted'. Nor does an empty text.",
    "media-type": "Images are image/jpeg, png, gif or webp; documents are PDF or plain text.",
    "range": f"{FIELDS.describe()}.",
    "stop-sequence": "'each stop sequence must contain non-whitespace'.",
    "response-field": "A response has all its fields; clients rely on them.",
    "error-field": "An error has a type and a message.",
    "thinking-display": "`display` is allowed only with thinking enabled: "
    "'thinking.disabled.display: Extra inputs are not permitted'.",
    **{name: MODEL_RULES[name] for name in MODEL_RULES if name not in UNSAID},
}

ROLES = ("user", "assistant", "system")
IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
REASONING = ("thinking", "redacted_thinking")
MARKS = 4
ID = re.compile(r"[a-zA-Z0-9_-]+").fullmatch
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}").fullmatch


# -- the parts of a document ----------------------------------------------------------------------


def blocks_of(at: str, message: dict[str, Json]) -> tuple[Placed, ...]:
    """The blocks of a message; a string is one text."""
    content = message.get("content")
    if content.__class__ is str:
        return ((f"{at}/content", {"type": "text", "text": content}),)
    return placed(content, f"{at}/content")


def all_blocks(page: Page) -> Iterator[tuple[str, str, dict[str, Json]]]:
    """Every block with the role of its message; the system prompt and the reply included."""
    system = page.top.get("system")
    for at, block in blocks_of("", {"content": system}) if system else ():
        yield "system", f"/system{at.removeprefix('/content')}", block
    for at, message in page.messages:
        for where, block in blocks_of(at, message):
            yield string(message.get("role")) or "", where, block
    if page.facet == "response":
        for where, block in blocks_of("", page.top):
            yield "assistant", where, block


def nested(at: str, block: dict[str, Json]) -> tuple[Placed, ...]:
    """The blocks inside a tool result."""
    return placed(block.get("content"), f"{at}/content")


class AnthropicTurn:
    """Messages of one role that follow each other: the server makes them one."""

    def __init__(self, role: str) -> None:
        self.role = role
        self.messages: list[Placed] = []
        self.blocks: list[Placed] = []

    def of_type(self, *kinds: str) -> list[Placed]:
        return [(at, block) for at, block in self.blocks if block.get("type") in kinds]


def turns_of(page: Page) -> list[AnthropicTurn]:
    out: list[AnthropicTurn] = []
    for at, message in page.messages:
        role = string(message.get("role")) or ""
        if not out or out[-1].role != role:
            out.append(AnthropicTurn(role))
        out[-1].messages.append((at, message))
        out[-1].blocks += blocks_of(at, message)
    return out


# -- the request ----------------------------------------------------------------------------------


def limit(page: Page) -> Problems:
    value = page.top.get("max_tokens")
    if value is None:
        yield Problem("max-tokens", "", "max_tokens: Field required")
    elif value.__class__ is int and value < 0:
        message = "max_tokens: Input should be greater than or equal to 0"
        yield Problem("max-tokens", "/max_tokens", message)


def stop_sequences(page: Page) -> Problems:
    stops = page.top.get("stop_sequences")
    for index, stop in enumerate(stops if stops.__class__ is list else ()):
        if stop.__class__ is str and is_blank(stop):
            message = "stop_sequences: each stop sequence must contain non-whitespace"
            yield Problem("stop-sequence", f"/stop_sequences/{index}", message)


def thinking_of(page: Page) -> dict[str, Json] | None:
    """The thinking configuration, if it is manual: a budget, not the model's judgement."""
    config = page.top.get("thinking")
    return config if isinstance(config, dict) and config.get("type") == "enabled" else None


def thinking(page: Page) -> Problems:
    config = thinking_of(page)
    if config is None:
        return
    budget, maximum = config.get("budget_tokens"), page.top.get("max_tokens")
    at = "/thinking/budget_tokens"
    if budget.__class__ is int and budget < 1024:
        message = "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
        yield Problem("thinking-budget", at, message)
    elif budget is None:
        message = "thinking.enabled.budget_tokens: Field required"
        yield Problem("thinking-budget", "/thinking", message)
    if budget.__class__ is int and maximum.__class__ is int and budget >= maximum:
        message = "`max_tokens` must be greater than `thinking.budget_tokens`"
        yield Problem("thinking-budget", at, message)
    choice = page.choice
    if choice.__class__ is dict and choice.get("type") in ("any", "tool"):
        message = "Thinking may not be enabled when tool_choice forces tool use."
        yield Problem("thinking-choice", "/tool_choice", message)
    if number(page.top.get("temperature")) not in (None, 1):
        message = "`temperature` may only be set to 1 when thinking is enabled."
        yield Problem("thinking-temperature", "/temperature", message)


def tool_choice(page: Page) -> Problems:
    choice, at = page.choice, page.choice_at
    if choice.__class__ is not dict:
        return
    kind = choice.get("type")
    if kind not in ("auto", "any", "tool", "none"):
        message = f"tool_choice: Input tag {kind!r} does not match any of the expected tags"
        yield Problem("tool-choice", f"{at}/type", message)
    if not page.whole:
        return
    if not page.tools:
        message = "tool_choice may only be specified while providing tools"
        yield Problem("tool-choice", at, message)
    elif kind == "tool" and not any(member_of(tool, choice.get("name")) for _, tool in page.tools):
        message = f"Tool {choice.get('name')!r} not found in provided tools"
        yield Problem("tool-choice", f"{at}/name", message)


def member_of(tool: dict[str, Json], name: Json) -> bool:
    """Whether a tool has that name; what a toolset holds cannot be seen."""
    return tool.get("name") == name or "name" not in tool


# -- tools ----------------------------------------------------------------------------------------


def tool_names(page: Page) -> Problems:
    seen: set[str] = set()
    for at, tool in page.tools:
        name = tool.get("name")
        if name.__class__ is not str:
            continue
        if not TOOL_NAME(name):
            where = at[1:].replace("/", ".")
            message = f"{where}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
            yield Problem("tool-name", f"{at}/name", message)
        if name in seen:
            yield Problem("duplicate-tool", f"{at}/name", "tools: Tool names must be unique.")
        seen.add(name)


def tool_schemas(page: Page) -> Problems:
    for at, tool in page.tools:
        schema = tool.get("input_schema")
        if tool.get("type") not in (None, "custom") or "input_schema" not in tool:
            continue
        where = f"{at[1:].replace('/', '.')}.custom.input_schema"
        if schema.__class__ is not dict:
            message = f"{where}: Input does not match the expected shape."
            yield Problem("tool-schema", f"{at}/input_schema", message)
        elif "type" not in schema:
            yield Problem("tool-schema", f"{at}/input_schema", f"{where}.type: Field required")
        elif schema["type"] != "object":
            message = f"{where}.type: Input should be 'object'"
            yield Problem("tool-schema", f"{at}/input_schema/type", message)


def deferred_tools(page: Page) -> Problems:
    if page.tools and all(tool.get("defer_loading") is True for _, tool in page.tools):
        message = "At least one tool must have defer_loading=false. All tools cannot be deferred."
        yield Problem("tool-deferred", page.tools[0][0], message)


def tool_references(page: Page) -> Problems:
    """What a tool of the client found is among the tools, or defined in the conversation."""
    if not page.whole or any("name" not in tool for _, tool in page.tools):
        return  # what a toolset holds cannot be seen
    names = {string(tool.get("name")) for _, tool in page.tools}
    blocks = list(all_blocks(page))
    if any(block.get("type") == "tool_addition" for _, _, block in blocks):
        return
    for _, at, block in blocks:
        for where, inner in nested(at, block) if block.get("type") == "tool_result" else ():
            name = string(inner.get("tool_name"))
            if inner.get("type") == "tool_reference" and name not in names:
                message = f"Tool reference {name!r} not found in available tools"
                yield Problem("tool-reference", where, message)


# -- messages -------------------------------------------------------------------------------------


def placement(page: Page) -> Problems:
    turns = turns_of(page)
    for index, turn in enumerate(turns):
        if turn.role == "system":
            before = turns[index - 1] if index else None
            after = turns[index + 1] if index + 1 < len(turns) else None
            yield from system_turn(turn, before, after)


def system_turn(
    turn: AnthropicTurn, before: AnthropicTurn | None, after: AnthropicTurn | None
) -> Problems:
    at = turn.messages[0][0]
    if before is None:
        why = "a system prompt at the start belongs in the top-level `system`"
        yield Problem("system-placement", at, why)
    elif before.role != "user" and not ends_in_server_tool(before):
        why = "a system message must follow a user message"
        yield Problem("system-placement", at, why)
    if after is not None and after.role != "assistant":
        why = "a system message must be the last or be followed by an assistant message"
        yield Problem("system-placement", at, why)
    for where, _ in turn.messages[1:]:
        yield Problem("system-placement", where, "system messages cannot follow each other")


def ends_in_server_tool(turn: AnthropicTurn) -> bool:
    kind = turn.blocks[-1][1].get("type") if turn.blocks else None
    return kind.__class__ is str and (
        kind in ("server_tool_use", "mcp_tool_use") or kind.endswith("_tool_result")
    )


def emptiness(page: Page) -> Problems:
    for index, (at, message) in enumerate(page.messages):
        final = index + 1 == len(page.messages) and message.get("role") == "assistant"
        if message.get("content") in ("", []) and not final:
            written = (
                f"messages.{index}: all messages must have non-empty content except for the "
                "optional final assistant message"
            )
            yield Problem("empty-message", f"{at}/content", written)
    for role, at, block in all_blocks(page):
        if block.get("type") == "tool_result":
            for where, inner in nested(at, block):
                yield from empty_text("messages", where, inner)
        elif role == "system" and at.startswith("/system"):
            yield from empty_text("system", at, block)
        else:
            yield from empty_text("messages", at, block)
    yield from white_space(page)


def empty_text(place: str, at: str, block: dict[str, Json]) -> Problems:
    """An empty text block; an empty string that is a whole message is an empty message instead."""
    if block.get("type") == "text" and block.get("text") == "" and not at.endswith("/content"):
        yield Problem("empty-text", at, f"{place}: text content blocks must be non-empty")
        if block.get("cache_control") is not None:
            message = "cache_control cannot be set for empty text blocks"
            yield Problem("cache-place", f"{at}/cache_control", message)


def white_space(page: Page) -> Problems:
    """A message that is all white space. Beside anything else, white space is accepted."""
    for at, message in page.messages:
        blocks = blocks_of(at, message)
        texts = [string(b.get("text")) if b.get("type") == "text" else None for _, b in blocks]
        if any(texts) and all(text is not None and is_blank(text) for text in texts):
            written = "messages: text content blocks must contain non-whitespace text"
            yield Problem("empty-text", blocks[0][0], written)


def trailing_space(page: Page) -> Problems:
    if not page.whole or not page.messages or page.messages[-1][1].get("role") != "assistant":
        return
    blocks = blocks_of(*page.messages[-1])
    at, last = blocks[-1] if blocks else ("", {})
    text = last.get("text") if last.get("type") == "text" else None
    if text.__class__ is str and not is_blank(text) and text[-1].isspace():
        message = "messages: final assistant content cannot end with trailing whitespace"
        yield Problem("trailing-space", at, message)


CONTENT_ROLES = {"tool_use": "assistant", "tool_result": "user", "thinking": "assistant"}


def content_roles(page: Page) -> Problems:
    for role, at, block in all_blocks(page):
        kind = block.get("type")
        needed = CONTENT_ROLES.get(kind) if kind.__class__ is str else None
        if needed is not None and role in ROLES and role != needed:
            message = f"`{kind}` blocks can only be in `{needed}` messages"
            yield Problem("content-role", at, message)


def pairing(page: Page) -> Problems:
    """Calls and results, by adjacency: what counts is the turn right after the calls."""
    turns = [turn for turn in turns_of(page) if turn.role in ("user", "assistant")]
    for index, turn in enumerate(turns):
        if turn.role == "user":
            if index or not continues(page):
                yield from results(turn, turns[index - 1] if index else None)
            continue
        after = turns[index + 1] if index + 1 < len(turns) else None
        if after is not None or page.whole:
            yield from unanswered(turn, after)


def continues(page: Page) -> bool:
    """Whether the conversation goes on from what the server has stored (beta ``thread``)."""
    thread = page.top.get("thread")
    return thread.__class__ is dict and thread.get("type") == "continue"


def calls_last(page: Page) -> Problems:
    """What is written after a call breaks the adjacency of call and result."""
    for turn in turns_of(page):
        called: str | None = None
        for at, block in turn.blocks if turn.role == "assistant" else ():
            if block.get("type") == "tool_use":
                called = string(block.get("id"))
            elif block.get("type") == "text" and called is not None:
                message = (
                    "`tool_use` ids were found without `tool_result` blocks immediately after: "
                    f"{called}."
                )
                yield Problem("calls-last", at, message)


def unanswered(turn: AnthropicTurn, after: AnthropicTurn | None) -> Problems:
    replies = after.of_type("tool_result") if after is not None else []
    replied = {string(block.get("tool_use_id")) for _, block in replies}
    for at, call in turn.of_type("tool_use"):
        if (name := string(call.get("id"))) is not None and name not in replied:
            message = (
                "`tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{name}. Each `tool_use` block must have a corresponding `tool_result` block in "
                "the next message."
            )
            yield Problem("unanswered-call", at, message)


def results(turn: AnthropicTurn, before: AnthropicTurn | None) -> Problems:
    calls = before.of_type("tool_use") if before is not None else []
    open_ids = {string(call.get("id")) for _, call in calls}
    seen: set[str] = set()
    early = late = False  # something stands before a result; it has been written
    for at, block in turn.blocks:
        if block.get("type") != "tool_result":
            early = True
            continue
        name = string(block.get("tool_use_id"))
        if name is None:
            continue
        if name not in open_ids:
            message = (
                f"unexpected `tool_use_id` found in `tool_result` blocks: {name}. Each "
                "`tool_result` block must have a corresponding `tool_use` block in the previous "
                "message."
            )
            yield Problem("orphan-result", at, message)
            continue
        if name in seen:
            message = (
                "each tool_use must have a single result. Found multiple `tool_result` blocks "
                f"with id: {name}"
            )
            yield Problem("duplicate-result", at, message)
        elif early and not late:
            late = True
            message = "tool results must come first in the turn that follows the calls"
            yield Problem("results-first", at, message)
        seen.add(name)


def identifiers(page: Page) -> Problems:
    seen: set[str] = set()
    for _, at, block in all_blocks(page):
        kind = block.get("type")
        key = {"tool_use": "id", "tool_result": "tool_use_id"}.get(string(kind) or "")
        name = string(block.get(key)) if key is not None else None
        if name is None:
            continue
        if not ID(name):
            where = f"{at[1:].replace('/', '.')}.{kind}.{key}"
            message = f"{where}: String should match pattern '^[a-zA-Z0-9_-]+$'"
            yield Problem("call-id", f"{at}/{key}", message)
        if kind == "tool_use":
            if name in seen:
                message = f"{at[1:].replace('/', '.')}: `tool_use` ids must be unique"
                yield Problem("duplicate-call-id", f"{at}/id", message)
            seen.add(name)


def call_names(page: Page) -> Problems:
    for _, at, block in all_blocks(page):
        name = block.get("name")
        if block.get("type") == "tool_use" and name.__class__ is str and not TOOL_NAME(name):
            where = at[1:].replace("/", ".")
            pattern = "'^[a-zA-Z0-9_-]{1,128}$'"
            message = f"{where}.tool_use.name: String should match pattern {pattern}"
            yield Problem("tool-name", f"{at}/name", message)


def reasoning(page: Page) -> Problems:
    for _, at, block in all_blocks(page):
        if block.get("type") in REASONING and block.get("cache_control") is not None:
            message = f"{block['type']}.cache_control: Extra inputs are not permitted"
            yield Problem("cache-place", f"{at}/cache_control", message)
        if block.get("type") == "thinking" and not block.get("signature"):
            if page.facet != "response":
                message = f"{at[1:].replace('/', '.')}.thinking.signature: Field required"
                yield Problem("thinking-signature", at, message)
    for turn in turns_of(page):
        found = turn.of_type(*REASONING)
        if turn.role == "assistant" and found and turn.blocks[0][1].get("type") not in REASONING:
            message = (
                "If an assistant message contains any thinking blocks, the first block must be "
                f"`thinking` or `redacted_thinking`. Found `{turn.blocks[0][1].get('type')}`."
            )
            yield Problem("thinking-first", turn.blocks[0][0], message)


def thinking_turns(page: Page) -> Problems:
    """The last assistant turn: it begins with reasoning if thinking is on, and has none if not."""
    turns = [turn for turn in turns_of(page) if turn.role in ("user", "assistant")]
    if not turns or not page.whole:
        return
    last = turns[-1]
    config = page.top.get("thinking")
    on = config.__class__ is dict and config.get("type") != "disabled"
    if last.role == "assistant" and not on and (found := last.of_type(*REASONING)):
        message = (
            "When thinking is disabled, an `assistant` message in the final position cannot "
            "contain `thinking`. To use thinking blocks, enable `thinking` in your request."
        )
        yield Problem("thinking-final", found[0][0], message)
    if last.role != "assistant" and (len(turns) < 2 or not last.of_type("tool_result")):
        return
    if thinking_of(page) is None:
        return
    blocks = last.blocks if last.role == "assistant" else turns[-2].blocks
    if blocks and blocks[0][1].get("type") not in REASONING:
        message = (
            f"Expected `thinking` or `redacted_thinking`, but found `{blocks[0][1].get('type')}`. "
            "When `thinking` is enabled, a final `assistant` message must start with a thinking "
            "block."
        )
        yield Problem("thinking-missing", blocks[0][0], message)


def cache_marks(page: Page) -> Problems:
    """Every mark counts; the automatic one at the top takes the place of one more."""
    marks = [at for at, tool in page.tools if tool.get("cache_control") is not None]
    last = False
    for _, at, block in all_blocks(page):
        last = block.get("cache_control") is not None
        inside = [w for w, inner in nested(at, block) if inner.get("cache_control") is not None]
        marks += [*inside, at] if last else inside
    count = len(marks)
    if page.top.get("cache_control") is not None and not last:
        count += 1
    if count > MARKS:
        message = f"A maximum of {MARKS} blocks with cache_control may be provided. Found {count}."
        yield Problem("cache-marks", (marks or [""])[min(MARKS, len(marks) - 1)], message)


def media_types(page: Page) -> Problems:
    for _, at, block in all_blocks(page):
        for where, inner in ((at, block), *nested(at, block)):
            yield from media_type(where, inner)


def media_type(at: str, block: dict[str, Json]) -> Problems:
    source = block.get("source")
    if source.__class__ is not dict or source.get("type") != "base64":
        return
    given = string(source.get("media_type"))
    where = f"{at}/source/media_type"
    if block.get("type") == "image" and given is not None and given not in IMAGE_TYPES:
        message = (
            "media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
        )
        yield Problem("media-type", where, message)
    elif block.get("type") == "document" and given is not None and given != "application/pdf":
        yield Problem("media-type", where, "media_type: Input should be 'application/pdf'")


# -- replies and errors ---------------------------------------------------------------------------


def reply(page: Page) -> Problems:
    for key, usual in (("type", "message"), ("role", "assistant")):
        if key in page.top and page.top[key] != usual:
            yield Problem("response-field", f"/{key}", f"{key}: Input should be {usual!r}")


def failure(page: Page) -> Problems:
    inner = page.top.get("error")
    if inner.__class__ is not dict:
        yield Problem("error-field", "", "error: Field required")
        return
    for key in ("type", "message"):
        if inner.get(key).__class__ is not str:
            yield Problem("error-field", "/error", f"error.{key}: Field required")


HISTORY: tuple[Rule, ...] = (
    some_messages("messages: at least one message is required"),
    known_roles(ROLES, "messages: Unexpected role {role!r}. Allowed roles are user and assistant"),
    placement,
    emptiness,
    content_roles,
    pairing,
    calls_last,
    identifiers,
    call_names,
    reasoning,
    cache_marks,
    media_types,
)
TOOLS: tuple[Rule, ...] = (tool_names, tool_schemas)
FACETS: dict[str, tuple[Rule, ...]] = {
    "request": (
        limit,
        within(FIELDS, "{key}: range: {low:g}..{high:g}"),
        stop_sequences,
        thinking,
        *TOOLS,
        deferred_tools,
        tool_references,
        tool_choice,
        *HISTORY,
        thinking_turns,
        trailing_space,
        display,
        adaptive,
        model,
    ),
    "messages": HISTORY,
    "tools": TOOLS,
    "tool-choice": (tool_choice,),
    "response": (
        has_fields(
            "id",
            "type",
            "role",
            "model",
            "content",
            "stop_reason",
            "usage",
            say="{key}: Field required",
        ),
        reply,
        identifiers,
        call_names,
        reasoning,
    ),
    "error": (failure,),
}
