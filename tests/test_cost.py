"""Cost is linear: what is four times as long takes about four times as many steps.

Steps are lines of our own code, as the interpreter counts them: no clock, so the same figures on
every machine. Each shape is written for one thing that may come in any number.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import dragoman
from dragoman import dialects

SIZE = 40
RATIO = 5.0
OURS = str(Path(dragoman.__file__).parent)
Json = Any


def steps(work: Callable[[], object]) -> int:
    """How many lines of ours run."""
    count = 0

    def line(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal count
        count += 1
        return line

    def enter(frame: FrameType, event: str, arg: object) -> Any:
        return line(frame, event, arg) if frame.f_code.co_filename.startswith(OURS) else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def ratio(work: Callable[[int], Callable[[], object]]) -> float:
    """By how much the steps grow where the input is four times as long."""
    small, large = work(SIZE), work(4 * SIZE)
    small(), large()  # what is made once is made
    return steps(large) / steps(small)


def test_the_law_sees_a_quadratic_cost() -> None:
    """A reader that looks at all earlier members for each one."""
    source = "def look(n):\n    for i in range(n):\n        for j in range(i):\n            pass\n"
    space: dict[str, Any] = {}
    exec(compile(source, f"{OURS}/look.py", "exec"), space)
    assert ratio(lambda n: lambda: space["look"](n)) > 10


# -- requests ---------------------------------------------------------------------------------


def call(number: int, name: str | None = None) -> Json:
    function = {"name": f"tool_{number % 7}", "arguments": json.dumps({"n": number})}
    return {"id": name or f"call_{number}", "type": "function", "function": function}


def asked(*messages: Json, **more: Json) -> Json:
    return {"model": "gpt-5", "messages": [{"role": "user", "content": "Go."}, *messages], **more}


def exchanges(n: int) -> Json:
    words = [{"role": "user", "content": "Next."}, {"role": "assistant", "content": "Done."}]
    return asked(*(words * n))


def one_role(n: int) -> Json:
    return asked(*({"role": "user", "content": f"And {i}."} for i in range(n)))


def loops(n: int, name: str | None = None) -> Json:
    turns: list[Json] = []
    for i in range(n):
        turns.append({"role": "assistant", "content": None, "tool_calls": [call(i, name)]})
        turns.append({"role": "tool", "tool_call_id": name or f"call_{i}", "content": f"{i}"})
    return asked(*turns)


def repeated_ids(n: int) -> Json:
    return loops(n, "call_x")


def parallel(n: int) -> Json:
    results = [{"role": "tool", "tool_call_id": f"call_{i}", "content": "ok"} for i in range(n)]
    calls = [call(i) for i in range(n)]
    return asked({"role": "assistant", "content": None, "tool_calls": calls}, *results)


def unanswered(n: int) -> Json:
    calls = [call(i) for i in range(n)]
    return asked({"role": "assistant", "content": None, "tool_calls": calls})


def many_results(n: int) -> Json:
    results = [{"role": "tool", "tool_call_id": "call_0", "content": f"{i}"} for i in range(n)]
    return asked({"role": "assistant", "content": None, "tool_calls": [call(0)]}, *results)


def parts(n: int) -> Json:
    texts = [{"type": "text", "text": f"Part {i}."} for i in range(n)]
    return asked({"role": "user", "content": texts})


def pictures(n: int) -> Json:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    return asked({"role": "user", "content": [image] * n})


def tool(number: int, schema: Json) -> Json:
    function = {"name": f"tool_{number}", "description": "A tool.", "parameters": schema}
    return {"type": "function", "function": function}


def tools(n: int) -> Json:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    return asked(tools=[tool(i, schema) for i in range(n)])


def odd_names(n: int) -> Json:
    found = tools(n)
    for i, one in enumerate(found["tools"]):
        one["function"]["name"] = f"my tool, no. {i}"
    return found


def strictly(schema: Json) -> Json:
    function = {"name": "f", "parameters": schema, "strict": True}
    return asked(tools=[{"type": "function", "function": function}])


def properties(n: int) -> Json:
    table = {f"p{i}": {"type": ["string", "null"]} for i in range(n)}
    return strictly({"type": "object", "properties": table, "additionalProperties": False})


def alternatives(n: int, key: str = "anyOf") -> Json:
    rows = [{"type": "object", "properties": {f"k{i}": {"type": "string"}}} for i in range(n)]
    return strictly({"type": "object", "properties": {"a": {key: rows}}})


def all_of(n: int) -> Json:
    return alternatives(n, "allOf")


def one_of(n: int) -> Json:
    """Alternatives that the value of a property tells apart."""
    rows = [
        {"type": "object", "properties": {"kind": {"const": f"k{i}"}}, "required": ["kind"]}
        for i in range(n)
    ]
    return strictly({"type": "object", "properties": {"a": {"oneOf": rows}}})


def joined(n: int) -> Json:
    """Schemas with the same property, many values and many required names, to be one."""
    rows = [
        {
            "type": "object",
            "properties": {"a": {"maxLength": i}, f"p{i}": {}},
            "required": [f"p{i}"],
        }
        for i in range(n)
    ]
    values = [{"enum": list(range(n))}, {"enum": list(range(n, 0, -1))}]
    return strictly({"type": "object", "allOf": rows, "properties": {"e": {"allOf": values}}})


def references(n: int) -> Json:
    """Each leads to the next in two ways: 2^n ways through them."""
    defs: dict[str, Json] = {
        f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}, {"$ref": f"#/$defs/d{i + 1}"}]}
        for i in range(n)
    }
    defs[f"d{n}"] = {"type": "string"}
    table = {"a": {"$ref": "#/$defs/d0"}, "b": {"$ref": "#/$defs/d0"}}
    return strictly({"type": "object", "properties": table, "$defs": defs})


SHAPES = (
    exchanges,
    one_role,
    loops,
    repeated_ids,
    parallel,
    unanswered,
    many_results,
    parts,
    pictures,
    tools,
    odd_names,
    properties,
    alternatives,
    all_of,
    one_of,
    joined,
    references,
)
PARTIAL = ("alpaca", "functiongemma-teaching", "mistral-finetune", "sharegpt", "vertex-tuning")
"""One call in each turn of the model, or a reply at least: these shapes cannot be expressed."""
SPEAKERS = [
    name
    for name in dialects.names()
    if "write" in dialects.get(name).facets().get("request", ()) and name not in PARTIAL
]


def conversion(document: Json, source: str, target: str, **more: Any) -> Callable[[], object]:
    def work() -> object:
        return dragoman.convert(document, source=source, target=target, model="m", now=0, **more)

    return work


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
@pytest.mark.parametrize("target", SPEAKERS)
def test_writing(target: str, shape: Callable[[int], Json]) -> None:
    def work(n: int) -> Callable[[], object]:
        return conversion(shape(n), "openai-chat", target)

    assert ratio(work) < RATIO


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
@pytest.mark.parametrize("source", SPEAKERS)
def test_reading(source: str, shape: Callable[[int], Json]) -> None:
    def work(n: int) -> Callable[[], object]:
        made = dragoman.convert(
            shape(n), source="openai-chat", target=source, model="m", now=0
        ).document
        return conversion(made, source, "anthropic-messages")

    assert ratio(work) < RATIO


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
@pytest.mark.parametrize("target", ["anthropic-messages", "gemini", "openai-responses"])
def test_there_and_back_with_a_capsule(target: str, shape: Callable[[int], Json]) -> None:
    def there(n: int) -> Callable[[], object]:
        return conversion(shape(n), "openai-chat", target, carry=True)

    def back(n: int) -> Callable[[], object]:
        made: Any = there(n)()
        return conversion(made.document, target, "openai-chat", capsule=made.capsule)

    assert ratio(there) < RATIO
    assert ratio(back) < RATIO


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
@pytest.mark.parametrize("dialect", SPEAKERS)
def test_checking(dialect: str, shape: Callable[[int], Json]) -> None:
    def work(n: int) -> Callable[[], object]:
        made = dragoman.convert(
            shape(n), source="openai-chat", target=dialect, model="m", now=0
        ).document
        return lambda: dragoman.check(made, dialect=dialect)

    assert ratio(work) < RATIO


# -- streams ----------------------------------------------------------------------------------


def frame(**delta: Json) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    body = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    return b"data: " + json.dumps({**body, "choices": [choice]}).encode() + b"\n\n"


def ended(*frames: bytes) -> bytes:
    choice = {"index": 0, "delta": {}, "finish_reason": "stop"}
    body = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    last = b"data: " + json.dumps({**body, "choices": [choice]}).encode() + b"\n\n"
    return b"".join([*frames, last, b"data: [DONE]\n\n"])


def deltas(n: int) -> bytes:
    return ended(*(frame(role="assistant", content=f"word {i} ") for i in range(n)))


def called(index: int, piece: str, **more: Json) -> bytes:
    return frame(tool_calls=[{"index": index, "function": {"arguments": piece}, **more}])


def opened(index: int) -> bytes:
    function = {"name": "f", "arguments": "{"}
    one = {"index": index, "id": f"call_{index}", "type": "function", "function": function}
    return frame(tool_calls=[one])


def calls_in_turn(n: int) -> bytes:
    return ended(*(piece for i in range(n) for piece in (opened(i), called(i, "}"))))


def calls_interleaved(n: int) -> bytes:
    return ended(*map(opened, range(n)), *(called(i, "}") for i in range(n)))


def arguments(n: int) -> bytes:
    pieces = [called(0, f'"k{i}": {i}, ') for i in range(n)]
    return ended(opened(0), *pieces, called(0, '"z": 0}'))


STREAMS = (deltas, calls_in_turn, calls_interleaved, arguments)
STREAMERS = [
    name for name in dialects.names() if "write" in dialects.get(name).facets().get("stream", ())
]


def transcoding(data: bytes, source: str, target: str) -> Callable[[], object]:
    def work() -> object:
        transcoder = dragoman.Transcoder(source, target, now=0)
        out = [transcoder.feed(data[at : at + 100]) for at in range(0, len(data), 100)]
        return b"".join([*out, transcoder.close()])

    return work


@pytest.mark.parametrize("shape", STREAMS, ids=lambda shape: shape.__name__)
@pytest.mark.parametrize("target", STREAMERS)
def test_writing_streams(target: str, shape: Callable[[int], bytes]) -> None:
    assert ratio(lambda n: transcoding(shape(n), "openai-chat", target)) < RATIO


@pytest.mark.parametrize("shape", STREAMS, ids=lambda shape: shape.__name__)
@pytest.mark.parametrize("source", STREAMERS)
def test_reading_streams(source: str, shape: Callable[[int], bytes]) -> None:
    def work(n: int) -> Callable[[], object]:
        made: Any = transcoding(shape(n), "openai-chat", source)()
        return transcoding(made, source, "anthropic-messages")

    assert ratio(work) < RATIO
