"""Conversations that came home otherwise than they went, after an edit of what the client echoed.

Each was found by the law of edits (``dragoman.laws.editing``) and is the least that shows it.
"""

from __future__ import annotations

from typing import Any

import pytest

from dragoman import Unsayable, convert
from dragoman.laws import edited, editing, wire

PIXEL = "iVBORw0KGgo="
MARK = {"cache_control": {"type": "ephemeral"}}


def claude(*messages: Any, **settings: Any) -> Any:
    return {"model": "claude-sonnet-4-5", "max_tokens": 4096, "messages": [*messages], **settings}


def text(written: str, **more: Any) -> Any:
    return {"type": "text", "text": written, **more}


def image(data: str = PIXEL, **more: Any) -> Any:
    source = {"type": "base64", "media_type": "image/png", "data": data}
    return {"type": "image", "source": source, **more}


def use(name: str, place: str) -> Any:
    return {"type": "tool_use", "id": name, "name": "look", "input": {"place": place}}


APPROVED = {
    "model": "gpt-5",
    "input": [
        {"role": "user", "content": "Which protocols are there?", "type": "message"},
        {"id": "mcpl_1", "server_label": "wiki", "tools": [], "type": "mcp_list_tools"},
        {"id": "rs_1", "summary": [], "type": "reasoning", "encrypted_content": "gAAAAAB"},
        {
            "id": "mcpr_1",
            "arguments": '{"q":"protocols"}',
            "name": "ask",
            "server_label": "wiki",
            "type": "mcp_approval_request",
        },
        {"type": "mcp_approval_response", "approve": True, "approval_request_id": "mcpr_1"},
    ],
}
"""A reply of which many targets hold the reasoning alone, and that says nothing."""

THOUGHT = claude(
    {"role": "user", "content": "Hello"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "A greeting.", "signature": "ErEC"},
            text("Hello! How can I help you?"),
        ],
    },
    {"role": "user", "content": "How are you?"},
    thinking={"type": "enabled", "budget_tokens": 2000},
)
"""Without the last turn, the model would have to go on with a turn that has no thinking block."""

MARKED_BEFORE_IMAGE = claude(
    {"role": "assistant", "content": [text("The first block"), text("The second block", **MARK)]},
    {"role": "user", "content": [image("aGVsbG8=", **MARK)]},
    {"role": "assistant", "content": [text("Well.")]},
    {"role": "user", "content": "Go on."},
)
"""The image, which is none, is lost; it comes back beside a turn whose mark the client kept."""

BEGUN_BY_A_CALL = claude(
    {"role": "assistant", "content": [use("call_1", "Seattle")]},
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "rain"}],
    },
)
"""A user turn is made up before it; that is all that is left when the others are removed."""

SHOWN = claude(
    {"role": "user", "content": "Look at pic.png"},
    {"role": "assistant", "content": [use("call_1", "pic.png")]},
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "call_1",
                "content": [text("Read."), image()],
                **MARK,
            }
        ],
    },
)
"""The image is written after the result, whose text is a list of one once the mark has moved."""

TOLD_LATE = {
    "model": "gpt-5",
    "messages": [
        {"role": "user", "content": "I seek help."},
        {"role": "user", "content": "With statistics"},
        {"role": "assistant", "content": "I understand."},
        {"role": "assistant", "content": "Here it is"},
        {"content": "Stay below 150 words", "role": "developer"},
    ],
}
"""`developer` comes back as `system`, after replies that came back as one."""


def called(name: str, **args: Any) -> Any:
    return {"parts": [{"functionCall": {"args": args, "id": name, "name": name}}], "role": "model"}


ANSWERED_TOGETHER = {
    "model": "gemini-2.5-flash",
    "contents": [
        {"parts": [{"text": "Can I get a refund?"}], "role": "user"},
        called("load", id="refunds"),
        called("find", queries=["policy"]),
        {
            "parts": [
                {"functionResponse": {"id": n, "name": n, "response": {"found": n.upper()}}}
                for n in ("load", "find")
            ],
            "role": "user",
        },
    ],
}
"""Each call gets its result after it; without the first call, its result is not put again."""

CALLED_TWICE = {
    "model": "gpt-4o",
    "messages": [
        {"role": "user", "content": "Ideas, please."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": name,
                    "type": "function",
                    "function": {"name": "ask", "arguments": f'{{"who": "{name}"}}'},
                }
                for name in ("call_1", "call_2")
            ],
        },
        *(
            {"role": "tool", "tool_call_id": name, "name": "ask", "content": f"{name}: {'x' * 300}"}
            for name in ("call_1", "call_2")
        ),
        {"role": "user", "content": "Judge them."},
    ],
}
"""With its calls apart, the second result stands after what followed it."""

ASKED_TWICE = {
    "model": "command-a",
    "messages": [
        {"role": "user", "content": "Oslo?"},
        *(
            turn
            for name, written in (("call_a", "rain"), ("call_b", "snow"))
            for turn in (
                {
                    "role": "assistant",
                    "tool_calls": [
                        {
                            "id": name,
                            "type": "function",
                            "function": {"name": "weather", "arguments": '{"city":"Oslo"}'},
                        }
                    ],
                },
                {"role": "tool", "tool_call_id": name, "content": written},
            )
        ),
    ],
}
"""Without the first of two equal calls, the second is told by its id."""

SEARCHED = {
    "model": "gpt-5",
    "input": [
        {"role": "user", "content": "I may ask for rates."},
        {
            "arguments": {"queries": ["rate"]},
            "call_id": "s1",
            "execution": "client",
            "status": "completed",
            "type": "tool_search_call",
        },
        {
            "call_id": "s1",
            "execution": "client",
            "status": "completed",
            "tools": [{"type": "function", "name": "rate", "parameters": {"type": "object"}}],
            "type": "tool_search_output",
        },
        {"role": "user", "content": "What is the rate?"},
        {"arguments": "{}", "call_id": "c1", "name": "rate", "type": "function_call"},
        {"call_id": "c1", "output": "0.92", "type": "function_call_output"},
    ],
}


@pytest.mark.parametrize(
    ("document", "source", "target"),
    [
        pytest.param(APPROVED, "openai-responses", "vercel-model", id="reasoning-alone"),
        pytest.param(APPROVED, "openai-responses", "native", id="approval"),
        pytest.param(THOUGHT, "anthropic-messages", "icontent-design", id="prefill"),
        pytest.param(MARKED_BEFORE_IMAGE, "anthropic-messages", "vercel-core", id="marks"),
        pytest.param(BEGUN_BY_A_CALL, "anthropic-messages", "bedrock-converse", id="made-up"),
        pytest.param(SHOWN, "anthropic-messages", "azure-openai", id="hoisted"),
        pytest.param(TOLD_LATE, "openai-chat", "copilot-responses", id="developer"),
        pytest.param(ANSWERED_TOGETHER, "gemini", "mistral", id="answered-together"),
        pytest.param(ANSWERED_TOGETHER, "gemini", "native", id="answered-together-native"),
        pytest.param(CALLED_TWICE, "openai-chat", "bedrock-converse", id="moved"),
        pytest.param(ASKED_TWICE, "cohere", "mistral", id="asked-twice"),
        pytest.param(SEARCHED, "openai-responses", "native", id="searched"),
    ],
)
def test_it_comes_home_after_each_edit(document: Any, source: str, target: str) -> None:
    editing.law(document, source, "request", target)


@pytest.mark.parametrize("target", ["goose", "openai-chat"])
def test_a_turn_made_up_after_a_restored_reply_is_reported(target: str) -> None:
    """The last question is removed, and the model of the original goes on with no reply."""
    asked = {"role": "user", "content": "What is 2+2?"}
    replied = {"role": "assistant", "content": [text("4")]}
    document = claude(asked, replied, {"role": "user", "content": "And then?"})
    document["model"] = "claude-opus-5"
    [way] = [
        way
        for way in edited.ways(document, "anthropic-messages", target)
        if way.edit == "removed at the end"
    ]
    made_up = {"role": "user", "content": "Continue."}
    assert way.result.document["messages"] == [asked, replied, made_up]
    assert [loss.what for loss in way.result.losses] == ["prefill"]


WHOLE = {"opencode", "vercel-ui"}
"""Dialects whose items hold a call and its result."""
CALLED = [
    {"role": "user", "content": "Hi"},
    {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "r"},
    {"role": "assistant", "content": "There."},
]


@pytest.mark.parametrize("dialect", sorted(wire.TURNS.keys() - WHOLE))
def test_the_law_knows_who_speaks_and_which_ids_are_a_pair(dialect: str) -> None:
    """An edit that takes a call without its result, or renames one of both, is none of a client."""
    try:
        result = convert(CALLED, source="openai-chat", target=dialect, facet="messages", now=0)
    except Unsayable:
        return  # it has no calls
    turns = wire.turns_in(result.document, dialect)
    assert turns is not None
    kinds = [wire.kind(item) for item in turns]
    assert list(dict.fromkeys(kinds)) == ["user", "assistant", "result"]
    assert kinds[-1] == "assistant"
    [asked, called, told] = wire.rounds(turns, dialect)
    assert (asked, told) == ((0, 1), (len(turns) - 1, len(turns)))
    items = turns[called[0] : called[1]]
    of_calls = {i for item in items if wire.kind(item) != "result" for i in wire.ids_of(item)}
    of_results = {i for item in items if wire.kind(item) == "result" for i in wire.ids_of(item)}
    assert of_calls == of_results
    held = [(id(holder), key) for item in turns for holder, key in wire.ids_in(item)]
    assert len(held) == len(set(held)), "an id that is found twice is renamed twice"
