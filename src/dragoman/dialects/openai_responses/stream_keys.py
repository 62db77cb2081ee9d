"""The events of a stream of Responses, and the keys that each has."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from ...streams.received import Keys

# Texts that come as deltas: the place in the item, the key of the number there, where the end has
# the whole, and what events say of it beside that: the name of a function is that of its item.
# https://platform.openai.com/docs/api-reference/responses-streaming
TEXTS: dict[str, tuple[str, ...]] = {
    "output_text": ("content", "content_index", "text", "logprobs"),
    "refusal": ("content", "content_index", "refusal"),
    "reasoning_text": ("content", "content_index", "text"),
    "reasoning_summary_text": ("summary", "summary_index", "text"),
    "function_call_arguments": ("call", "", "arguments", "name"),
    "custom_tool_call_input": ("call", "", "input"),
}


DELTAS = {f"response.{name}.delta": row[:2] for name, row in TEXTS.items()}


# News of the provider's own tools, and what only repeats what was written.
NEWS = (
    "response.web_search_call.",
    "response.file_search_call.",
    "response.code_interpreter_call",
    "response.image_generation_call.",
    "response.mcp_",
    "response.shell_call_",
    "response.audio.",
    "response.compaction.",
    "response.in_progress",
    "response.queued",
    "response.reasoning_summary_part.",
    "keepalive",
    *(f"response.{name}.done" for name in TEXTS),
)


# Sequence numbers, and characters that hide how long a delta is, say nothing.
ALL = ("type", "sequence_number", "obfuscation")


ITEM = (*ALL, "item_id", "output_index")


PART = (*ITEM, "content_index")


SUMMARY = (*ITEM, "summary_index")


RESPONSE = Keys(*ALL, "response")


ENDS = ("completed", "incomplete", "cancelled", "failed")


STATUSES = ("created", "in_progress", "queued", *ENDS)


# Responses, items and parts are compared with those that take their place.
KEYS = {
    **{f"response.{word}": RESPONSE for word in STATUSES},
    "response.output_item.added": Keys(*ITEM, "item"),
    "response.output_item.done": Keys(*ITEM, "item"),
    "response.content_part.added": Keys(*PART, "part"),
    "response.content_part.done": Keys(*PART, "part"),
    "response.output_text.annotation.added": Keys(*PART, "annotation_index", "annotation"),
    **{f"response.{name}.delta": Keys(*ITEM, r[1], "delta", *r[3:]) for name, r in TEXTS.items()},
    **{f"response.{name}.done": Keys(*ITEM, *r[1:]) for name, r in TEXTS.items()},
    "response.reasoning_summary_part.added": Keys(*SUMMARY, "part"),
    # the status says whether the summary was cut, as the item does in the end
    "response.reasoning_summary_part.done": Keys(*SUMMARY, "part", "status"),
    "ping": Keys(*ALL),
    "keepalive": Keys(*ALL),
}


# News of the provider's own tools: their items have all of it in the end.
HOSTED = Keys(
    *PART, "delta", "code", "arguments", "command", "command_index", "output",
    "partial_image_b64", "partial_image_index", "background", "output_format", "quality", "size",
)  # fmt: skip


class ResponsesUsual(Struct, forbid_unknown_fields=True):
    """Nearly every event there is. Anything more in it, and it is read with care."""

    type: Literal[
        "response.output_text.delta",
        "response.refusal.delta",
        "response.reasoning_text.delta",
        "response.reasoning_summary_text.delta",
        "response.function_call_arguments.delta",
        "response.custom_tool_call_input.delta",
    ]
    delta: str
    output_index: int
    content_index: int = 0
    summary_index: int = 0
    item_id: str | None = None
    sequence_number: int | None = None
    logprobs: Any = None
    obfuscation: str | None = None
