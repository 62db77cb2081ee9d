"""Exports of traces: calls of models, as an application has logged them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman import containers
from transcripts import dragoman

HI = [{"role": "user", "content": "Hi"}]
YO = {"role": "assistant", "content": "Yo"}
SAID = {
    "id": "1", "object": "chat.completion", "created": 1, "model": "gpt-5",
    "choices": [{"index": 0, "message": YO, "finish_reason": "stop"}],
}  # fmt: skip
HEAD = {"id": "o1", "traceId": "t1", "type": "GENERATION", "model": "gpt-5"}
SPAN = {"id": "o0", "traceId": "t1", "type": "SPAN", "input": "x", "output": "y"}
LANGFUSE: list[Any] = [
    {**HEAD, "modelParameters": {"temperature": 0.5, "x": 1}, "input": HI, "output": YO},
    {**HEAD, "input": json.dumps(HI), "output": json.dumps(YO)},
    {**HEAD, "input": {"messages": HI}, "output": "Yo"},
    {**HEAD, "input": "Hi", "output": SAID},
]


def serialised(kind: str, **kwargs: Any) -> Any:
    id = ["langchain", "schema", "messages", kind]
    return {"lc": 1, "type": "constructor", "id": id, "kwargs": kwargs}


RUN = {"id": "r1", "run_type": "llm", "extra": {"invocation_params": {"model": "gpt-5"}}}
LANGSMITH: list[Any] = [
    {**RUN, "inputs": {"messages": HI, "model": "gpt-5"}, "outputs": SAID},
    {**RUN, "inputs": {"messages": HI}, "outputs": {"message": YO}},
    {
        **RUN,
        "inputs": {"messages": [[serialised("HumanMessage", content="Hi")]]},
        "outputs": {
            "generations": [[{"text": "Yo", "message": serialised("AIMessage", content="Yo")}]]
        },
    },
]


def joined(value: Any, tmp_path: Path, name: str) -> list[Any]:
    file = tmp_path / name
    lines = name.endswith("l")
    file.write_text("\n".join(map(json.dumps, value)) if lines else json.dumps(value))
    out, printed, code = dragoman(["convert", "-q", "-t", "chat", "--compact", str(file)])
    assert code == 0, printed
    return [json.loads(line) for line in out.splitlines()]


@pytest.mark.parametrize("each", LANGFUSE)
@pytest.mark.parametrize(
    "form",
    [
        lambda each: [SPAN, each],
        lambda each: {"data": [each], "meta": {"page": 1}},
        lambda each: {"trace": {"id": "t1"}, "observations": [SPAN, each]},
        lambda each: {"trace": {"id": "t1", "observations": [each]}},
        lambda each: each,
    ],
)
def test_generations_of_langfuse(each: Any, form: Any, tmp_path: Path) -> None:
    (history,) = joined(form(each), tmp_path, "x.json")
    assert history["messages"] == [*HI, YO]
    assert history["model"] == "gpt-5"


def test_lines_that_are_no_calls_are_passed_over(tmp_path: Path) -> None:
    assert len(joined([SPAN, *LANGFUSE, SPAN], tmp_path, "x.jsonl")) == 4
    (request, _) = containers.open(json.dumps([LANGFUSE[0]]).encode())
    assert request.value["temperature"] == 0.5
    assert request.place("/messages/0/content") == "/0/input/0/content"


@pytest.mark.parametrize("each", LANGSMITH)
@pytest.mark.parametrize(
    "form",
    [
        lambda each: [each],
        lambda each: {"runs": [each]},
        lambda each: {**RUN, "run_type": "chain", "inputs": {}, "child_runs": [each]},
    ],
)
def test_runs_of_langsmith(each: Any, form: Any, tmp_path: Path) -> None:
    (history,) = joined(form(each), tmp_path, "x.json")
    assert history["messages"] == [*HI, YO]


def test_serialised_messages_with_tools_are_read() -> None:
    call = {"name": "f", "args": {"a": 1}, "id": "c1", "type": "tool_call"}
    messages = [
        serialised("SystemMessage", content="Be brief."),
        serialised("HumanMessage", content="Hi", example=True),
        serialised("AIMessage", content="", tool_calls=[call]),
        serialised("ToolMessage", content="42", tool_call_id="c1"),
    ]
    run = {**RUN, "inputs": {"messages": [messages]}, "outputs": None}
    (request,) = containers.open(json.dumps(run).encode())
    function = {"name": "f", "arguments": '{"a":1}'}
    assert request.value["messages"] == [
        {"role": "system", "content": "Be brief."},
        *HI,
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        {"role": "tool", "content": "42", "tool_call_id": "c1"},
    ]
    (loss,) = request.notes
    assert loss.path == "/inputs/messages/0/1/kwargs/example"
    assert request.place("/messages/2/tool_calls") == "/inputs/messages/0/2/tool_calls"


def test_a_call_without_messages_is_reported() -> None:
    opened = containers.open(json.dumps([{**HEAD, "input": 7, "output": "x"}, *LANGFUSE]).encode())
    assert len(list(opened)) == 8
    (problem,) = opened.problems
    assert problem.at == "/0"
    assert "no messages in this call" in str(problem.error)


ODD: tuple[Any, ...] = (None, 7, "x", [], {}, [7], {"x": 7}, True)


def mangled(value: Any) -> Any:
    if isinstance(value, dict):
        for key in value:
            for odd in [*ODD, *mangled(value[key])]:
                yield {**value, key: odd}
    elif isinstance(value, list):
        for index in range(len(value)):
            for odd in [*ODD, *mangled(value[index])]:
                yield [*value[:index], odd, *value[index + 1 :]]


@pytest.mark.parametrize("value", [*LANGFUSE, *LANGSMITH])
def test_a_damaged_trace_is_read_or_reported(value: Any) -> None:
    for odd in mangled(value):
        list(containers.open(json.dumps([odd]).encode()))


def test_every_kind_is_on_the_page_and_says_where_it_is_described() -> None:
    page = (Path(__file__).parents[2] / "docs" / "containers.md").read_text("utf-8")
    for kind in containers.kinds():
        assert f"| `{kind.name}` |" in page
        assert kind.spec.startswith("http")
