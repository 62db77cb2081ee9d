"""Where system turns stand for Claude, and what keeps turns with thinking apart."""

from __future__ import annotations

from copy import copy
from typing import Any

import pytest

import dragoman
from dragoman import dialects
from dragoman.core.resuming import Reads
from dragoman.dialects.anthropic_messages import AnthropicMessages
from dragoman.dialects.anthropic_messages.turns import read_history

Turn = dict[str, Any]


def user(text: str) -> Turn:
    return {"role": "user", "content": text}


def model(text: str) -> Turn:
    return {"role": "assistant", "content": text}


def system(*texts: str) -> Turn:
    blocks = [{"type": "text", "text": text} for text in texts]
    return {"role": "system", "content": texts[0] if len(texts) == 1 else blocks}


def developer(text: str) -> Turn:
    return {"role": "developer", "content": text}


FUNCTION = {"name": "f", "arguments": "{}"}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": FUNCTION}],
}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "1"}
CALLED = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {}}],
}
ANSWERED = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "1"}],
}
HI, YO, BYE = user("Hi"), model("Yo"), user("Bye")
ROLE, PLACE = "approximated message.role", "moved message.position"


def written(name: str, messages: list[Turn], target: str = "anthropic-messages") -> tuple[Any, Any]:
    """The messages for a model, and the losses with the number of their message."""
    doc = {"model": name, "max_tokens": 100, "messages": messages}
    thinks = any(isinstance(m["content"], list) and m["role"] == "assistant" for m in messages)
    source = "anthropic-messages" if thinks else "openai-chat"
    result = dragoman.convert(doc, source=source, target=target, facet="request")
    losses = [f"{loss.kind} {loss.what} {loss.path.split('/')[2]}" for loss in result.losses]
    document: Any = result.document
    return document["messages"], losses


@pytest.mark.parametrize(
    ("messages", "turns", "losses"),
    [
        ([HI, system("One."), YO, BYE], [HI, system("One."), YO, BYE], []),
        ([HI, system("One.")], [HI, system("One.")], []),
        (
            [HI, system("One."), developer("Two."), YO, BYE],
            [HI, system("One.", "Two."), YO, BYE],
            [f"{ROLE} 2", "approximated message.boundary 2"],
        ),
        (
            [HI, system("One.", "Two."), system("Three."), YO, BYE],
            [HI, system("One.", "Two.", "Three."), YO, BYE],
            ["approximated message.boundary 2"],
        ),
        (
            [HI, system("One."), system("Two.", "Three."), YO, BYE],
            [HI, system("One.", "Two.", "Three."), YO, BYE],
            ["approximated message.boundary 2"],
        ),
        ([HI, system("One."), BYE], [HI, BYE, system("One.")], [f"{PLACE} 1"]),
        (
            [HI, system("One."), developer("Two."), BYE, YO, BYE],
            [HI, BYE, system("One.", "Two."), YO, BYE],
            [f"{ROLE} 2", f"{PLACE} 1", f"{PLACE} 2", "approximated message.boundary 2"],
        ),
        ([HI, YO, system("One."), YO, BYE], [HI, YO, user("One."), YO, BYE], [f"{ROLE} 2"]),
        (
            [HI, CALL, system("One."), RESULT, YO, BYE],
            [HI, CALLED, ANSWERED, system("One."), YO, BYE],
            [f"{PLACE} 3"],
        ),
        (
            [HI, system("  "), YO, BYE],
            [HI, YO, BYE],
            ["dropped text.empty 1", "dropped message.empty 1"],
        ),
    ],
)
def test_a_system_turn_between_the_others(
    messages: list[Turn], turns: list[Turn], losses: list[str]
) -> None:
    assert written("claude-opus-4-8", messages) == (turns, losses)


@pytest.mark.parametrize(
    ("messages", "turns", "losses"),
    [
        ([HI, system("One."), YO, BYE], [HI, user("One."), YO, BYE], [f"{ROLE} 1"]),
        ([HI, system("One."), BYE], [HI, user("One."), BYE], [f"{ROLE} 1"]),
        (
            [HI, system("One."), developer("Two."), BYE],
            [HI, user("One."), user("Two."), BYE],
            [f"{ROLE} 2", f"{ROLE} 1", f"{ROLE} 2"],
        ),
        (
            [HI, CALL, system("One."), RESULT, YO, BYE],
            [HI, CALLED, ANSWERED, user("One."), YO, BYE],
            [f"{PLACE} 3", f"{ROLE} 2"],
        ),
    ],
)
def test_models_without_system_turns(
    messages: list[Turn], turns: list[Turn], losses: list[str]
) -> None:
    assert written("claude-opus-4-5", messages) == (turns, losses)


@pytest.mark.parametrize("text", ["Be brief.", "Be brief. "])
def test_a_system_prompt_with_the_name_of_its_speaker(text: str) -> None:
    doc = {"model": "claude-opus-4-8", "messages": [{**system(text), "name": "boss"}, HI]}
    result = dragoman.convert(doc, source="openai-chat", target="anthropic", facet="request")
    document: Any = result.document
    assert document["system"] == text
    assert ("dropped", "message.name") in {(loss.kind, loss.what) for loss in result.losses}


def thinking(text: str) -> Turn:
    reasoning = {"type": "thinking", "thinking": "Hm.", "signature": "EqQBCg"}
    return {"role": "assistant", "content": [reasoning, {"type": "text", "text": text}]}


@pytest.mark.parametrize(
    ("messages", "spoken", "losses"),
    [
        # "the first block must be `thinking`": two turns of the assistant would be one.
        ([HI, YO, thinking("A."), BYE], ["Hi", "Yo", ".", "A.", "Bye"], ["message.empty 2"]),
        ([HI, YO, BYE, thinking("A."), BYE], ["Hi", "Yo", "Bye", "A.", "Bye"], []),
        (
            [HI, YO, user(" "), thinking("A."), BYE],  # who says nothing is not heard
            ["Hi", "Yo", ".", "A.", "Bye"],
            ["text.empty 2", "message.empty 3", "message.empty 2"],
        ),
        (
            [HI, thinking("A."), thinking("B."), BYE],
            ["Hi", "A.B.", "Bye"],
            ["message.boundary 2"],
        ),
        (
            [HI, YO, YO, thinking("A."), BYE],
            ["Hi", "YoYo", ".", "A.", "Bye"],
            ["message.empty 3", "message.boundary 2"],
        ),
        (  # what goes on began with thinking
            [HI, thinking("A."), YO, thinking("B."), BYE],
            ["Hi", "A.YoB.", "Bye"],
            ["message.boundary 2", "message.boundary 3"],
        ),
        (
            [HI, YO, thinking("A."), thinking("B."), BYE],
            ["Hi", "Yo", ".", "A.B.", "Bye"],
            ["message.empty 2", "message.boundary 3"],
        ),
        ([HI, thinking("A."), BYE, thinking("B."), BYE], ["Hi", "A.", "Bye", "B.", "Bye"], []),
    ],
)
def test_a_turn_with_thinking_does_not_go_on_another(
    messages: list[Turn], spoken: list[str], losses: list[str]
) -> None:
    turns, lost = written("claude-opus-4-5", messages, "bedrock-converse")
    assert ["".join(b.get("text", "") for b in turn["content"]) for turn in turns] == spoken
    assert [loss.partition(" ")[2] for loss in lost] == losses
    roles = [turn["role"] for turn in turns]
    assert roles == [("user", "assistant")[n % 2] for n in range(len(roles))]


@pytest.mark.parametrize(
    "messages",
    [
        [HI, system("One."), system("Two."), YO, BYE],
        [HI, system("One."), BYE],
        [HI, YO, system("One."), YO, BYE],
    ],
)
def test_in_its_own_dialect_a_system_turn_stays_where_it_is(messages: list[Turn]) -> None:
    doc = {"model": "claude-opus-4-5", "max_tokens": 100, "messages": messages}
    result = dragoman.convert(doc, source="anthropic", target="anthropic", facet="request")
    assert result.document == doc
    assert result.losses == ()


def test_an_unknown_key_of_the_system_prompt_is_reported() -> None:
    doc = {
        "systemInstruction": {"parts": [{"text": "Be brief.", "strange": 1}]},
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
    }
    result = dragoman.convert(
        doc, source="gemini", target="anthropic", facet="request", model="claude-opus-4-5"
    )
    document: Any = result.document
    assert document["system"] == [{"type": "text", "text": "Be brief."}]
    assert "/systemInstruction/parts/0/strange" in {loss.path for loss in result.losses}


@pytest.mark.parametrize("target", ["anthropic-messages", "bedrock-converse"])
@pytest.mark.parametrize(
    ("last", "spelled", "losses"),
    [
        (model("So: "), "So:", ["text.space"]),
        (model("So:"), "So:", []),
        (user("Hi "), "Hi ", []),
    ],
)
def test_only_what_the_model_said_last_loses_its_final_space(
    target: str, last: Turn, spelled: str, losses: list[str]
) -> None:
    turns, lost = written("claude-opus-4-5", [HI, YO, HI, last], target)
    content = turns[-1]["content"]
    assert (content if isinstance(content, str) else content[-1]["text"]) == spelled
    told = [loss.split()[1] for loss in lost]
    assert [what for what in told if what == "text.space"] == losses


SIGNED = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "EqQBCgIYAhIM"}}}
UNSIGNED = {"reasoningContent": {"reasoningText": {"text": "Hm."}}}


def last_turn(*blocks: Turn, **fields: Any) -> dragoman.Result:
    """A conversation of Bedrock that ends with a turn of the assistant, for Anthropic."""
    asked = {"role": "user", "content": [{"text": "Hi"}]}
    body: Turn = {"modelId": "m", "messages": [asked, {"role": "assistant", "content": [*blocks]}]}
    body |= {"inferenceConfig": {"maxTokens": 2000}, **fields}
    return dragoman.convert(body, source="bedrock-converse", target="anthropic", facet="request")


@pytest.mark.parametrize("written", [[], [{"text": "Well,"}]])
@pytest.mark.parametrize("reasoning", [SIGNED, UNSIGNED])
def test_a_last_turn_has_no_thinking_unless_it_is_enabled(
    reasoning: Turn, written: list[Turn]
) -> None:
    result = last_turn(reasoning, *written)
    assert dragoman.check(result.document, "anthropic") == []
    noted = [(loss.kind, loss.what, loss.path) for loss in result.losses]
    assert ("dropped", "reasoning", "/messages/1/content/0") in noted
    assert (("approximated", "prefill", "/messages/1") in noted) is not bool(written)


def test_a_last_turn_keeps_its_thinking_if_it_is_enabled() -> None:
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    result = last_turn(SIGNED, {"text": "Well,"}, additionalModelRequestFields=thinking)
    assert result.document["messages"][1]["content"][0]["type"] == "thinking"
    assert dragoman.check(result.document, "anthropic") == []


def test_an_unknown_key_of_a_system_turn_goes_to_a_relative() -> None:
    turns = [
        {"role": "user", "content": "Hi"},
        {"role": "system", "content": "Be brief.", "output_config": {"effort": "low"}},
        {"role": "user", "content": "Well?"},
    ]
    asked = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": turns}
    result = dragoman.convert(asked, source="anthropic-messages", target="anthropic-vertex")
    assert result.document["messages"][1]["output_config"] == {"effort": "low"}
    assert not [loss for loss in result.losses if loss.what == "extras"]


@pytest.mark.parametrize(
    ("last", "places"), [(user("Go on."), [4]), (model("Yes."), [3])]
)  # the last turn of the model may be another one the next time
def test_a_session_reads_each_turn_once(last: Turn, places: list[int]) -> None:
    """But for calls of freeform tools: which they are, the next request may say otherwise."""
    dialect = copy(dialects.get("anthropic-messages"))
    assert isinstance(dialect, AnthropicMessages)
    dialect.reads = Reads()
    docs = [user("Hi"), model("Hello."), user("Well?"), last]
    for custom in (frozenset[str](), frozenset({"f"})):
        dialect.reads.expect(docs, 0, grows=True)
        read_history(dialect, docs, "/messages", custom)
        assert [note[0] for note in dialect.reads.notes] == ([] if custom else places)
