"""Edited documents of the Responses API, written in the same dialect."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

import dragoman
from dragoman.model import Message, Request, Response, Text

SPELLED: dict[str, Any] = {
    "model": "m",
    "store": False,
    "user": "u",
    "input": [
        {"type": "message", "role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Hello", "logprobs": None}],
        },
        {"type": "message", "role": "user", "content": "Go on"},
    ],
    "metadata": None,
}
SAID = {"type": "output_text", "text": "Hi", "annotations": []}
ITEM = {"type": "message", "id": "msg_1", "role": "assistant", "content": [SAID]}
REPLY: dict[str, Any] = {"id": "resp_1", "status": "completed", "output": [ITEM]}


def written(tree: Request | Response) -> Any:
    result = dragoman.write(tree, "openai-responses")
    assert not result.losses
    return result.document


def test_a_system_message_among_the_items_stays_there() -> None:
    tree: Request = dragoman.read(SPELLED, "openai-responses")
    prompt = replace(tree.messages[0], content=(Text("Be kind."),))
    doc = written(replace(tree, messages=(prompt, *tree.messages[1:])))
    first = {"type": "message", "role": "system", "content": "Be kind."}
    assert doc == {**SPELLED, "input": [first, *SPELLED["input"][1:]]}


def test_an_added_message_leaves_the_others() -> None:
    tree: Request = dragoman.read(SPELLED, "openai-responses")
    doc = written(replace(tree, messages=(*tree.messages, Message("user", (Text("Bye"),)))))
    last = {"role": "user", "content": "Bye"}
    assert doc == {**SPELLED, "input": [*SPELLED["input"], last]}


def test_the_id_of_an_edited_message_is_kept() -> None:
    tree: Request = dragoman.read(SPELLED, "openai-responses")
    spelled = tree.messages[2]
    spelled = replace(spelled, content=(replace(spelled.content[0], text="Hey"),))
    doc = written(replace(tree, messages=(*tree.messages[:2], spelled, tree.messages[3])))
    assert doc["input"][2]["id"] == "msg_1"
    assert doc["input"][2]["content"][0]["text"] == "Hey"
    assert {**doc, "input": doc["input"][:2]} == {**SPELLED, "input": SPELLED["input"][:2]}


def test_the_text_of_an_edited_response_is_that_of_its_items() -> None:
    for more in ({}, {"output_text": "Hi"}):
        tree: Response = dragoman.read(REPLY | more, "openai-responses", facet="response")
        only = tree.candidates[0]
        message = replace(only.message, content=(replace(only.message.content[0], text="Hello"),))
        doc = written(replace(tree, candidates=(replace(only, message=message),)))
        assert doc.get("output_text") == ("Hello" if more else None)
        assert doc["output"] == [{**ITEM, "content": [{**SAID, "text": "Hello"}]}]


def test_a_repair_of_the_form_leaves_the_rest() -> None:
    thought = {"type": "reasoning", "id": "rs_1", "encrypted_content": "e"}
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": ""}
    result = {"type": "function_call_output", "call_id": "c", "output": [SAID]}
    doc = {**SPELLED, "input": [*SPELLED["input"], thought, call, result]}
    passes = ["complete-reasoning", "fix-arguments"]
    out = dragoman.repair(doc, "openai-responses", passes=passes).document
    fixed = [thought | {"summary": []}, call | {"arguments": "{}"}, result]
    assert out == {**SPELLED, "input": [*SPELLED["input"], *fixed]}
