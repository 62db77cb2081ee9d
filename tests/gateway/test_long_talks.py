"""Conversations of ten turns with tools and signed reasoning, through each door.

The upstream gets the history that it would have had directly, whatever the client does to its own:
moved cache marks, arguments written anew, parallel calls split into two turns, a block left out.
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dragoman.model import Reasoning, Request, Text, ToolCall, ToolResult
from gateways import DOORS, Model, chain
from sdk_clients import TALKS

TURNS = 10
SPLIT, LEFT_OUT = 2, 4
"""The turn with two calls that is split, and the one whose reasoning is left out."""


def reply(number: int) -> dict[str, Any]:
    cities = ["Pera", "Galata"] if number == SPLIT else ["Pera"]
    told: dict[str, Any] = {"text": f"Look {number}."} if number % 3 == 0 else {}
    return told | {
        "reasoning": f"Thought {number}.",
        "signature": base64.b64encode(f"signature {number}".encode()).decode(),
        "calls": [{"name": "look", "arguments": {"city": c, "day": number}} for c in cities],
    }


REPLIES = [*(reply(number) for number in range(TURNS)), {"text": "Done."}, {"text": "Done."}]
History = list[Any]
Edit = Callable[[str, History], History]


@pytest.fixture(scope="module", params=list(DOORS))
def behind(request: pytest.FixtureRequest) -> Iterator[tuple[str, str, Model]]:
    with chain(request.param, *REPLIES) as (url, model):
        yield request.param, url, model


def talked(door: str, url: str, model: Model, edit: Edit | None = None) -> Request:
    """What the model was asked last in a conversation of ten turns."""
    with TALKS[door](url, thinking=True) as talk:
        if edit is not None:
            talk.edit = lambda history: edit(door, copy.deepcopy(history))
        heard = talk.ask("How warm is it?", stream=False)
        for number in range(TURNS):
            assert heard.calls, f"turn {number}: {heard}"
            heard = talk.results(["14"] * len(heard.calls), stream=number % 2 == 0)
    assert heard.text == "Done."
    return model.asked[-1]


def lines(tree: Request, upstream: str) -> list[tuple[str, str]]:
    """A conversation, one line for each block. Ids of calls are checked, not compared; pieces of a
    text in which SDKs keep what was streamed are one.
    """
    found: list[tuple[str, str]] = []
    calls = []
    for message in tree.messages:
        for block in message.content:
            if isinstance(block, Reasoning):
                add(found, "reasoning", "".join(block.words))
                if block.signature is not None:
                    found.append(("signature", block.signature.data))
            elif isinstance(block, ToolCall):
                given = json.dumps(json.loads(block.arguments), sort_keys=True)
                mark = block.extras.signature if block.extras is not None else None
                found.append((f"call {block.name} {given}", mark.data if mark else ""))
                calls.append(block.id)
            elif isinstance(block, ToolResult):
                assert block.call_id in calls, f"{upstream}: a result without its call"
                text = "".join(b.text for b in block.content if isinstance(b, Text))
                found.append(("result", text))
            elif isinstance(block, Text):
                add(found, message.role, block.text)
    return found


def add(found: list[tuple[str, str]], kind: str, text: str) -> None:
    if found and found[-1][0] == kind:
        found[-1] = (kind, found[-1][1] + text)
    elif text:
        found.append((kind, text))


@pytest.mark.parametrize("door", list(TALKS))
def test_the_upstream_gets_the_history_that_it_would_have_directly(
    behind: tuple[str, str, Model], door: str
) -> None:
    upstream, url, model = behind
    direct = lines(talked(upstream, url, model), upstream)
    assert [text for kind, text in direct if kind == "reasoning"] == [
        f"Thought {number}." for number in range(TURNS)
    ]
    assert lines(talked(door, url, model), upstream) == direct


# -- what clients do to their history ---------------------------------------------------------


def marked(door: str, history: History) -> History:
    """The cache mark stands at the last turn of the user, wherever it was before."""
    last = max(n for n, turn in enumerate(history) if turn.get("role") == "user")
    turn = history[last]
    if door == "anthropic-messages":
        if isinstance(turn["content"], str):
            turn["content"] = [{"type": "text", "text": turn["content"]}]
        turn["content"][-1]["cache_control"] = {"type": "ephemeral"}
    elif door == "bedrock-converse":
        turn["content"].append({"cachePoint": {"type": "default"}})
    return history


def rewritten(door: str, history: History) -> History:
    """Arguments are written anew: other spaces, another order of keys."""
    for call in calls_in(door, history):
        key = {"gemini": "args", "anthropic-messages": "input", "bedrock-converse": "input"}
        name = key.get(door, "arguments")
        given = call[name]
        value = json.loads(given) if isinstance(given, str) else given
        turned = dict(reversed(value.items()))
        call[name] = json.dumps(turned, indent=1) if isinstance(given, str) else turned
    return history


def calls_in(door: str, history: History) -> Iterator[dict[str, Any]]:
    for turn in history:
        if door == "openai-responses":
            if turn.get("type") == "function_call":
                yield turn
        elif door in ("openai-chat", "ollama"):
            yield from (call["function"] for call in turn.get("tool_calls") or ())
        else:
            parts = turn["parts"] if door == "gemini" else turn["content"]
            key = {"gemini": "function_call", "bedrock-converse": "toolUse"}.get(door)
            for part in parts if isinstance(parts, list) else ():
                if key is None and part.get("type") == "tool_use":
                    yield part
                elif key is not None and part.get(key):
                    yield part[key]


def split(door: str, history: History) -> History:
    """Parallel calls become two turns, each with its result: in the last request, since the
    scripted model counts turns.
    """
    if sum(turn["role"] in ("assistant", "model") for turn in history) < TURNS:
        return history
    number = next(n for n, turn in enumerate(history) if len(list(calls_in(door, [turn]))) == 2)
    turn = history[number]
    if door in ("openai-chat", "ollama"):
        two = [{**turn, "tool_calls": turn["tool_calls"][:1]}, history[number + 1]]
        rest = {"role": "assistant", "content": "", "tool_calls": turn["tool_calls"][1:]}
        return [*history[:number], *two, rest, history[number + 2], *history[number + 3 :]]
    key = "parts" if door == "gemini" else "content"
    results = history[number + 1]
    first = {**turn, key: turn[key][:-1]}
    rest = {**turn, key: turn[key][-1:]}
    halves = [{**results, key: [part]} for part in results[key][:2]]
    return [*history[:number], first, halves[0], rest, halves[1], *history[number + 2 :]]


def left_out(door: str, history: History) -> History:
    """The reasoning of one turn is not sent back."""
    for number, block, parts in reasoning_in(door, history):
        if number == LEFT_OUT:
            parts.remove(block)
    return history


def reasoning_in(door: str, history: History) -> list[tuple[int, Any, list[Any]]]:
    found = []
    if door == "openai-responses":
        found = [(item, history) for item in history if item.get("type") == "reasoning"]
    else:
        for turn in history:
            parts = turn["content"]
            for part in parts if isinstance(parts, list) else ():
                if part.get("type") == "thinking" or "reasoningContent" in part:
                    found.append((part, parts))
    return [(number, part, parts) for number, (part, parts) in enumerate(found)]


@pytest.mark.parametrize("door", ["anthropic-messages", "bedrock-converse"])
def test_moved_cache_marks(behind: tuple[str, str, Model], door: str) -> None:
    upstream, url, model = behind
    direct = lines(talked(upstream, url, model), upstream)
    assert lines(talked(door, url, model, marked), upstream) == direct


@pytest.mark.parametrize("door", list(TALKS))
def test_arguments_that_were_written_anew(behind: tuple[str, str, Model], door: str) -> None:
    upstream, url, model = behind
    direct = lines(talked(upstream, url, model), upstream)
    assert lines(talked(door, url, model, rewritten), upstream) == direct


@pytest.mark.parametrize("door", [d for d in TALKS if d != "openai-responses"])
def test_parallel_calls_that_were_split(behind: tuple[str, str, Model], door: str) -> None:
    """The calls stand apart then; the reasoning and the signatures are all there."""
    upstream, url, model = behind
    direct = lines(talked(upstream, url, model), upstream)
    assert sorted(lines(talked(door, url, model, split), upstream)) == sorted(direct)


@pytest.mark.parametrize("door", ["anthropic-messages", "openai-responses", "bedrock-converse"])
def test_a_block_that_was_left_out(behind: tuple[str, str, Model], door: str) -> None:
    """Its turn has no reasoning; all others have theirs."""
    upstream, url, model = behind
    direct = lines(talked(upstream, url, model), upstream)
    told = lines(talked(door, url, model, left_out), upstream)
    lost = [line for line in direct if line not in told]
    kinds = {kind for kind, _ in lost}
    assert kinds <= {"reasoning", "signature"}
    assert len(lost) <= 2
    assert [line for line in direct if line in told] == told


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_gemini_client_that_forgets_reasoning_and_ids(stream: bool) -> None:
    """As gemini-cli does: what it leaves out of its history comes from the store."""
    replies = (
        {"reasoning": "Hm.", "signature": "c2ln", "calls": [{"name": "look", "arguments": {}}]},
        {"text": "Done."},
    )
    with chain("anthropic-messages", *replies) as (url, model):
        with TALKS["gemini"](url, thinking=True) as talk:
            talk.ask("Hi", stream)
            parts = talk.history[-1]["parts"]
            talk.history[-1]["parts"] = [part for part in parts if not part.get("thought")]
            for part in talk.history[-1]["parts"]:
                part["function_call"].pop("id", None)
            assert talk.results(["14"], stream).text == "Done."
        blocks = [block for message in model.asked[-1].messages for block in message.content]
        found = [b.signature.data for b in blocks if isinstance(b, Reasoning) and b.signature]
        assert found == ["c2ln"]
