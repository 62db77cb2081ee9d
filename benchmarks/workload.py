"""The conversations that are measured: one script, spoken in four dialects.

Everything comes from ``random.Random(seed)``; there is no clock and no file, so every run on every
machine measures the same bytes. ``small`` is a chat of three turns, ``agentic`` a coding agent
after 200 messages, ``large`` the same agent after 2 MB; ``scale`` is one history, doubled four
times.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any, TypeAlias

from benchmarks import corpus

Json: TypeAlias = Any

SEED = 20250301
MODEL = "bench-model-1"
DOUBLINGS = 4

# The tools that agents call most come first; the rest are only offered.
CALLED = ("read_file", "edit_file", "run_shell", "search", "write_file", "update_plan")
WEIGHTS = (30, 22, 26, 12, 5, 5)
OFFERED = 25


@dataclass(frozen=True)
class Call:
    """A tool call and what came of it. ``spaced``: the model wrote ``": "`` and ``", "``."""

    id: str
    name: str
    arguments: Json
    result: str
    spaced: bool
    listed: bool

    def text(self) -> str:
        """The arguments as the model wrote them."""
        separators = (", ", ": ") if self.spaced else (",", ":")
        return json.dumps(self.arguments, separators=separators, ensure_ascii=False)


@dataclass(frozen=True)
class Turn:
    """One turn of the user, or of the assistant with its calls and their results."""

    role: str
    text: str
    calls: tuple[Call, ...] = ()

    @property
    def messages(self) -> int:
        """How many messages this is in OpenAI Chat, where each result is one."""
        return 1 + len(self.calls)


@dataclass(frozen=True)
class Tool:
    name: str
    description: str
    schema: Json


@dataclass(frozen=True)
class Script:
    """A conversation in nobody's format."""

    system: str
    turns: tuple[Turn, ...]
    tools: tuple[Tool, ...] = ()
    max_tokens: int = 4096
    temperature: float | None = None


# -- what is written -------------------------------------------------------------------------------


def small(seed: int = SEED) -> Script:
    """A system prompt and three turns."""
    rng = Random(seed)
    turns = (
        Turn("user", "What does `zip(*rows)` do in Python?"),
        Turn("assistant", corpus.prose(rng, 30, 60)),
        Turn("user", f'And why is it "lazy"?\n\n{corpus.prose(rng, 10, 20)}'),
    )
    return Script("You are a helpful assistant. Be brief.", turns, (), 1024, 0.7)


def agentic(seed: int = SEED, most: int = 8192) -> Script:
    """A coding agent after 200 messages, as OpenAI Chat counts them."""
    rng = Random(seed)
    turns: list[Turn] = []
    count = 1  # the system prompt is the first
    for turn in history(rng, most):
        if count + turn.messages > 199:
            break
        turns.append(turn)
        count += turn.messages
    while count < 200:
        turns.append(_user(rng) if turns[-1].role == "assistant" else Turn("assistant", "Done."))
        count += 1
    return _agent(rng, tuple(turns))


def lengthy() -> Script:
    """The same, with results as long as coding agents let them be: up to 30,000 characters."""
    return agentic(most=30_000)


def large(seed: int = SEED, size: int = 2_000_000, most: int = 8192) -> Script:
    """The same agent when its history has grown to 2 MB."""
    rng = Random(seed)
    turns: list[Turn] = []
    total = 0
    for turn in history(rng, most):
        turns.append(turn)
        total += len(turn.text) + sum(len(c.result) + len(c.text()) + 200 for c in turn.calls)
        if total > size and not turn.calls and turn.role == "user":
            return _agent(rng, tuple(turns))
    raise AssertionError("a history never ends")


def lengthy_large() -> Script:
    """2 MB of an agent whose results are long."""
    return large(most=30_000)


def scale(seed: int = SEED) -> list[Script]:
    """One history of 100 messages, and the same 2, 4, 8 and 16 times over."""
    rng = Random(seed)
    base: list[Turn] = []
    for turn in history(rng):
        base.append(turn)
        if sum(t.messages for t in base) > 100 and turn.role == "assistant" and not turn.calls:
            break
    agent = _agent(rng, ())
    return [replace(agent, turns=_repeat(base, 2**n)) for n in range(DOUBLINGS + 1)]


def _repeat(turns: list[Turn], times: int) -> tuple[Turn, ...]:
    return tuple(
        replace(turn, calls=tuple(replace(c, id=f"{c.id[:-3]}{copy:03}") for c in turn.calls))
        for copy in range(times)
        for turn in turns
    )


def history(rng: Random, most: int = 8192) -> Iterator[Turn]:
    """An agent at work, for ever: a task, some rounds of calls, a reply, the next task."""
    while True:
        yield _user(rng)
        for _ in range(rng.randint(4, 14)):
            text = corpus.prose(rng) if rng.random() < 0.7 else ""
            calls = tuple(_call(rng, most) for _ in range(rng.choice((1, 1, 1, 2, 2, 3))))
            yield Turn("assistant", text, calls)
        yield Turn("assistant", corpus.prose(rng, 40, 160))


def _user(rng: Random) -> Turn:
    return Turn("user", f"Please fix this:\n\n{corpus.prose(rng, 20, 80)}")


def _call(rng: Random, most: int) -> Call:
    name = rng.choices(CALLED, WEIGHTS)[0]
    letters = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz0123456789"
    return Call(
        "call_" + "".join(rng.choices(letters, k=24)),
        name,
        corpus.arguments(rng, name),
        corpus.tool_output(rng, most),
        spaced=rng.random() < 0.25,  # OpenAI's models write compact JSON, many others do not
        listed=rng.random() < 0.25,
    )


def _agent(rng: Random, turns: tuple[Turn, ...]) -> Script:
    names = [*CALLED, *(f"{corpus.WORDS[n]}_{corpus.WORDS[-n - 1]}" for n in range(OFFERED))]
    tools = tuple(
        Tool(name, corpus.words(rng, 30, 120).capitalize(), corpus.tool_schema(rng))
        for name in names[:OFFERED]
    )
    return Script(corpus.system_prompt(rng, 8192), turns, tools, 16_000)


# -- how it is written -----------------------------------------------------------------------------


def openai_chat(script: Script) -> Json:
    """The script as a request to OpenAI Chat Completions."""
    messages: list[Json] = [{"role": "system", "content": script.system}]
    for turn in script.turns:
        message: Json = {"role": turn.role, "content": turn.text or None}
        if turn.calls:
            message["tool_calls"] = [
                {
                    "id": c.id,
                    "type": "function",
                    "function": {"name": c.name, "arguments": c.text()},
                }
                for c in turn.calls
            ]
        messages.append(message)
        messages += [
            {"role": "tool", "tool_call_id": c.id, "content": c.result} for c in turn.calls
        ]
    doc = {"model": MODEL, "messages": messages, "max_completion_tokens": script.max_tokens}
    if script.temperature is not None:
        doc["temperature"] = script.temperature
    if script.tools:
        doc["tools"] = [
            {
                "type": "function",
                "function": {"name": t.name, "description": t.description, "parameters": t.schema},
            }
            for t in script.tools
        ]
        doc |= {"tool_choice": "auto", "parallel_tool_calls": True}
    return doc


def anthropic_messages(script: Script) -> Json:
    """The script as a request to Anthropic Messages."""
    doc: Json = {"model": MODEL, "max_tokens": script.max_tokens, "system": script.system}
    if script.temperature is not None:
        doc["temperature"] = script.temperature
    if script.tools:
        doc["tools"] = [
            {"name": t.name, "description": t.description, "input_schema": t.schema}
            for t in script.tools
        ]
        doc["tool_choice"] = {"type": "auto", "disable_parallel_tool_use": False}
    doc["messages"] = [message for turn in script.turns for message in _anthropic_turn(turn)]
    return doc


def _anthropic_turn(turn: Turn) -> list[Json]:
    if not turn.calls:
        return [{"role": turn.role, "content": turn.text}]
    written: list[Json] = [{"type": "text", "text": turn.text}] if turn.text else []
    written += [
        {"type": "tool_use", "id": c.id, "name": c.name, "input": c.arguments} for c in turn.calls
    ]
    results = [
        {
            "type": "tool_result",
            "tool_use_id": c.id,
            "content": [{"type": "text", "text": c.result}] if c.listed else c.result,
        }
        for c in turn.calls
    ]
    return [{"role": turn.role, "content": written}, {"role": "user", "content": results}]


def openai_responses(script: Script) -> Json:
    """The script as a request to OpenAI Responses."""
    doc: Json = {
        "model": MODEL,
        "instructions": script.system,
        "input": [item for turn in script.turns for item in _response_items(turn)],
        "max_output_tokens": script.max_tokens,
    }
    if script.temperature is not None:
        doc["temperature"] = script.temperature
    if script.tools:
        doc["tools"] = [
            {
                "type": "function",
                "name": t.name,
                "description": t.description,
                "parameters": t.schema,
                "strict": False,
            }
            for t in script.tools
        ]
        doc |= {"tool_choice": "auto", "parallel_tool_calls": True}
    return doc


def _response_items(turn: Turn) -> list[Json]:
    items: list[Json] = []
    if turn.role == "user":
        part = {"type": "input_text", "text": turn.text}
        items.append({"type": "message", "role": "user", "content": [part]})
    elif turn.text:  # a list of output_text would need an id and a status
        items.append({"type": "message", "role": "assistant", "content": turn.text})
    items += [
        {"type": "function_call", "call_id": c.id, "name": c.name, "arguments": c.text()}
        for c in turn.calls
    ]
    items += [
        {"type": "function_call_output", "call_id": c.id, "output": c.result} for c in turn.calls
    ]
    return items


def gemini(script: Script) -> Json:
    """The script as a request to Gemini's generateContent."""
    doc: Json = {
        "model": MODEL,
        "systemInstruction": {"parts": [{"text": script.system}]},
        "contents": [content for turn in script.turns for content in _gemini_turn(turn)],
        "generationConfig": {"maxOutputTokens": script.max_tokens},
    }
    if script.temperature is not None:
        doc["generationConfig"]["temperature"] = script.temperature
    if script.tools:
        declared = [
            {"name": t.name, "description": t.description, "parametersJsonSchema": t.schema}
            for t in script.tools
        ]
        doc["tools"] = [{"functionDeclarations": declared}]
        doc["toolConfig"] = {"functionCallingConfig": {"mode": "AUTO"}}
    return doc


def _gemini_turn(turn: Turn) -> list[Json]:
    parts: list[Json] = [{"text": turn.text}] if turn.text else []
    if not turn.calls:
        return [{"role": "user" if turn.role == "user" else "model", "parts": parts}]
    parts += [
        {"functionCall": {"id": c.id, "name": c.name, "args": c.arguments}} for c in turn.calls
    ]
    results = [
        {"functionResponse": {"id": c.id, "name": c.name, "response": {"output": c.result}}}
        for c in turn.calls
    ]
    return [{"role": "model", "parts": parts}, {"role": "user", "parts": results}]


SPEAKERS: dict[str, Callable[[Script], Json]] = {
    "openai-chat": openai_chat,
    "anthropic-messages": anthropic_messages,
    "openai-responses": openai_responses,
    "gemini": gemini,
}
WORKLOADS: dict[str, Callable[[], Script]] = {
    "small": small,
    "agentic": agentic,
    "lengthy": lengthy,
    "large": large,
    "lengthy-large": lengthy_large,
}


def wire(script: Script, dialect: str) -> bytes:
    """The script as the bytes a client sends."""
    doc = SPEAKERS[dialect](script)
    return json.dumps(doc, separators=(",", ":"), ensure_ascii=False).encode()


if __name__ == "__main__":
    for name, make in WORKLOADS.items():
        for dialect in SPEAKERS:
            print(f"{name:8} {dialect:20} {len(wire(make(), dialect)):>9,} bytes")
    for script in scale():
        print(f"scale    openai-chat          {len(wire(script, 'openai-chat')):>9,} bytes")
