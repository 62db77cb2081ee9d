"""What may happen to a conversation: its requests one by one, edits, and requests that are broken.

A session must give what a conversion without one gives, for each of them and in that order.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import dragoman
from dragoman import dialects

Outcome: TypeAlias = tuple[Any, Any]
SOME = 14
"""Of a longer conversation, so many prefixes are tried."""


def compact(doc: Any) -> bytes:
    return json.dumps(doc, separators=(",", ":"), ensure_ascii=False).encode()


def spaced(doc: Any) -> bytes:
    return json.dumps(doc).encode()


def indented(doc: Any) -> bytes:
    return json.dumps(doc, indent=1).encode()


def treacherous(value: Any) -> Any:
    """Equal, and encoded otherwise: other types of numbers, another order of keys."""
    if isinstance(value, dict):
        return {k: treacherous(v) for k, v in reversed(value.items())}
    if isinstance(value, list):
        return [treacherous(v) for v in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


def marked(doc: Any, key: str) -> Any:
    """A cache mark on the newest message, as agents put it there."""
    doc = json.loads(json.dumps(doc))
    last = doc[key][-1]
    if isinstance(last, dict) and isinstance(last.get("content"), str):
        last["content"] = [{"type": "text", "text": last["content"]}]
    if isinstance(last, dict) and isinstance(last.get("content"), list) and last["content"]:
        if isinstance(last["content"][-1], dict):
            last["content"][-1]["cache_control"] = {"type": "ephemeral"}
    return doc


def strange(message: Any) -> Any:
    return {**message, "unknown": [1, True, 0.0]} if isinstance(message, dict) else message


def key_of(source: str, body: Any) -> str | None:
    """Where the conversation of a request stands, if it is one of several messages."""
    key = dialects.get(source).history
    if key is None or not isinstance(body, dict) or not isinstance(body.get(key), list):
        return None
    return key if len(body[key]) > 1 else None


def story(doc: Any, key: str, seed: int) -> Iterator[bytes]:
    """The requests of one conversation, and what may happen to it."""
    rng = random.Random(seed)
    spell: Callable[[Any], bytes] = rng.choice((compact, compact, spaced, indented))
    rest = [k for k in doc if k != key]
    doc = {k: doc[k] for k in rng.choice((list(doc), [key, *rest], [*rest, key]))}
    yield from growing(doc, key, spell, rng)
    yield spell(doc)  # the very same
    yield from edited(doc, key, spell, rng)
    yield from otherwise(doc, key, spell)
    yield from broken(doc, key, spell)
    yield spell(doc)


def growing(
    doc: Any, key: str, spell: Callable[[Any], bytes], rng: random.Random
) -> Iterator[bytes]:
    """Turn by turn; of a long conversation, some of the turns."""
    n = len(doc[key])
    counts = range(1, n + 1) if n <= SOME else sorted({1, 2, n, *rng.sample(range(3, n), 11)})
    marks = key == "messages" and rng.random() < 0.5
    for count in counts:
        grown = {**doc, key: doc[key][:count]}
        yield spell(marked(grown, key) if marks else grown)


def edited(
    doc: Any, key: str, spell: Callable[[Any], bytes], rng: random.Random
) -> Iterator[bytes]:
    """Other messages: changed ones, removed ones, repeated ones."""
    history = doc[key]
    n = len(history)
    middle = rng.randrange(n)
    for change in (treacherous, strange, lambda _: history[0]):
        changed = [*history[:middle], change(history[middle]), *history[middle + 1 :]]
        yield spell({**doc, key: changed})
    yield spell(doc)
    yield spell({**doc, key: [*map(treacherous, history)]})
    yield spell({**doc, key: history[: n // 2] + history[n // 2 + 1 :]})
    yield spell({**doc, key: history[n // 2 :]})
    yield spell({**doc, key: history[: max(1, n // 3)]})
    yield spell({**doc, key: [*history, *history]})
    yield spell({**doc, key: [*history, *history[1:], *map(treacherous, history)]})


def otherwise(doc: Any, key: str, spell: Callable[[Any], bytes]) -> Iterator[bytes]:
    """The same messages with other tools, prompts and parameters."""
    history = doc[key]
    if "tools" in doc:
        yield spell({k: v for k, v in doc.items() if k != "tools"})
        yield spell({**doc, "tools": doc["tools"] * 2 if isinstance(doc["tools"], list) else None})
        yield spell({**doc, "tools": treacherous(doc["tools"])})
    for prompt in ("system", "instructions", "systemInstruction"):
        if prompt in doc:
            yield spell({**doc, prompt: treacherous(doc[prompt])})
            yield spell({k: v for k, v in doc.items() if k != prompt})
    yield spell({"temperature": 0.5, **doc})
    yield spell({**doc, "model": "claude-opus-4-7", "stream": True, "temperature": 1})
    yield spell({**doc, "stream": True, "temperature": 1.0, key: [*history, history[0]]})


def broken(doc: Any, key: str, spell: Callable[[Any], bytes]) -> Iterator[bytes]:
    """What is no request, or has a key twice, and then a request again."""
    history, name = doc[key], key.encode()
    for limit in (0.25, 0.75):  # changed and broken, then changed alone
        changed = compact({**doc, "temperature": limit, key: [*history, history[0]]})
        yield changed.replace(b'"', b'"\xff', 1)
        yield changed[:-1]
        yield b"\xff".join(changed.rsplit(b'"', 1))
        yield changed[:-1] + b',"temperature":1e999}'
        yield changed
    for bare in (compact(doc), spell({**doc, key: history[: len(history) // 2 + 1]})):
        yield bare
        open_ = bare.rstrip()[:-1]
        yield open_ + b',"%s":%s}' % (name, compact(history[:1]))
        yield open_ + b',"%s":%s}' % (name, compact([*history, history[0]]))
        yield b'{"metadata":{"%s":%s},' % (name, compact(history)) + bare.lstrip()[1:]
        yield bare[: len(bare) // 2]
        yield bare + b"}"
        yield b"\xef\xbb\xbf" + bare
        yield bare.replace(b"}", b"},", 1)
        yield bare.replace(b'{"role"', b'{"role":"user","role"', 2)
        yield bare.replace(b'{"', b'{"x":1,"x":2,"', 3)
        yield bare.replace(b'"', b'"\\ud800', 7)
        yield open_ + b',"%s":"text"}' % name
        yield spell({**doc, key: []})
        yield spell({**doc, key: [7, *history]})  # which is no message
        yield spell({**doc, key: [*history, {"role": 7}]})
        yield bare.replace(b'"', b'"\xff', 3)


def outcome(convert: Callable[..., dragoman.Result], data: bytes, **options: Any) -> Outcome:
    """What comes out of a conversion: bytes and losses, or the error."""
    try:
        result = convert(data, **options)
    except dragoman.DragomanError as problem:
        return type(problem).__name__, str(problem)
    return result.to_json(), result.losses


def differences(
    requests: Iterator[bytes],
    make: Callable[..., dragoman.Session | dragoman.Sessions],
    **options: Any,
) -> Iterator[str]:
    """Where a session gives something else than a conversion of its own."""
    session = make(**options)
    for turn, data in enumerate(requests):
        plain = outcome(dragoman.convert, data, **options)
        ours = outcome(session.convert, data)
        if ours != plain:
            part = 0 if ours[0] != plain[0] else 1
            yield f"request {turn}: {str(plain[part])[:300]} -> {str(ours[part])[:300]}"


def agent(source: str, turns: int, seed: int = 0, marks: bool = False) -> Iterator[dict[str, Any]]:
    """The requests of an agent at work, each with one round of calls more."""
    rng = random.Random(seed)
    messages: list[Any] = [
        {"role": "system", "content": "You are careful."},
        {"role": "user", "content": "Please repair «größe»."},
    ]
    tool = {"type": "function", "function": {"name": "files.read", "parameters": {}}}
    for turn in range(turns):
        doc: dict[str, Any] = {"model": "m", "messages": messages, "tools": [tool]}
        if source != "openai-chat":
            doc = dragoman.convert(doc, source="openai-chat", target=source).document
        key = dialects.get(source).history
        assert key is not None
        yield marked(doc, key) if marks else doc
        calls = [_call(turn, number, rng) for number in range(rng.choice((1, 1, 2, 3)))]
        written = rng.choice((None, "Let me look.", "\U0001f680 go"))
        messages = [*messages, {"role": "assistant", "content": written, "tool_calls": calls}]
        for call in calls:
            text = rng.choice(("done", '{"a":1}', "x" * rng.randrange(400)))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
        if turn % 5 == 4:
            messages.append({"role": "assistant", "content": "It is done."})
            messages.append({"role": "user", "content": f"And number {turn}?"})


def _call(turn: int, number: int, rng: random.Random) -> dict[str, Any]:
    given = rng.choice(('{"path":"a.py","line":1}', '{"path": "b.py", "line": 1.0}', "{}", "no"))
    name = rng.choice(("files.read", "look"))
    return tool_call(f"call_{turn}_{number}", name, given)


def tool_call(name: str, function: str, given: str) -> dict[str, Any]:
    return {
        "id": name,
        "type": "function",
        "function": {"name": function, "arguments": given},
    }
