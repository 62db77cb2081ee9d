"""JSON that uses the words of all three APIs, in places where they do and do not belong."""

from __future__ import annotations

from hypothesis import strategies as st

KEYS = st.sampled_from(
    [
        "messages", "input", "tools", "content", "choices", "output", "type", "role", "tool_calls",
        "tool_call_id", "call_id", "id", "name", "function", "tool_use_id", "system", "model",
        "error", "message", "text", "format", "thinking", "metadata", "tool_choice", "summary",
        "cache_control", "source", "media_type", "max_tokens", "temperature", "prompt", "custom",
        "response_format", "json_schema", "schema", "strict", "parameters", "properties",
        "required", "anyOf", "items", "arguments", "usage", "object", "input_schema", "logit_bias",
        "previous_response_id", "conversation", "stop", "budget_tokens", "thread", "signature",
    ]
)  # fmt: skip
WORDS = st.sampled_from(
    [
        "", " ", "user", "assistant", "system", "tool", "developer", "message", "function_call",
        "function_call_output", "reasoning", "tool_use", "tool_result", "text", "input_text",
        "output_text", "image", "image_url", "thinking", "function", "custom", "auto", "any",
        "json_schema", "json_object", "object", "enabled", "base64", "error", "call_1", "x" * 70,
    ]
)  # fmt: skip
likely_json = st.recursive(
    WORDS | st.none() | st.booleans() | st.integers(-3, 3) | st.just(1.5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)
