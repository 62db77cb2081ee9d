"""Requests whose conversation is plain are written as they are with nodes: bytes and ledger.

Bytes go through plain turns where they can, and always through nodes where a target takes no plain
turns. ``determinism`` of the corpus and of the fuzzer compares bytes with values, which always go
through nodes, as well.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import dragoman
from choosing import examples
from dragoman import DragomanError, dialects
from dragoman.core import duplicates
from dragoman.core.plain import is_plain
from fuzz import mutations
from fuzz.dice import Seeded, one_of

GREAT = ("anthropic-messages", "gemini", "openai-chat", "openai-responses")
PAIRS = [(source, target) for source in GREAT for target in GREAT if source != target]
pairs = pytest.mark.parametrize(("source", "target"), PAIRS, ids=lambda name: name)

Json = Any


def conversation() -> list[Json]:
    """What an agent sends: parallel calls, beside words and alone, long and short arguments."""
    long = json.dumps({"path": "a/b", "text": "x: {y}\n" * 60}, separators=(",", ":"))
    return [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Look: ü\u2028 \"quoted\""},
        assistant("I look.", ("call_1", "read", '{"path":"a"}'), ("call_2", "write", long)),
        {"role": "tool", "tool_call_id": "call_1", "content": "[1, 2]"},
        {"role": "tool", "tool_call_id": "call_2", "content": "done"},
        assistant(None, ("call_3", "read", "{}")),
        {"role": "tool", "tool_call_id": "call_3", "content": " [tool error] later"},
        {"role": "assistant", "content": "There."},
        {"role": "user", "content": "Go on."},
    ]  # fmt: skip


def assistant(words: str | None, *calls: tuple[str, str, str]) -> Json:
    written = [
        {"id": id_, "type": "function", "function": {"name": name, "arguments": text}}
        for id_, name, text in calls
    ]
    return {"role": "assistant", "content": words, "tool_calls": written}


def tool(name: str) -> Json:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


def request(**more: Json) -> Json:
    tools = [tool("read"), tool("write")]
    return {"model": "m", "messages": conversation(), "tools": tools, "max_tokens": 64, **more}


def spoken(source: str, **more: Json) -> Json:
    """The conversation as an agent of some dialect sends it."""
    if source == "openai-chat":
        return request(**more)
    return dragoman.convert(request(**more), source="openai-chat", target=source).document


def outcome(
    doc: Json | bytes, source: str, target: str, model: str | None = None, facet: str = "request"
) -> Json:
    try:
        result = dragoman.convert(
            doc, source=source, target=target, model=model, facet=facet, now=1760000000
        )
    except DragomanError as refusal:
        return type(refusal), str(refusal)
    return result.to_json(), result.document, result.losses


def same(
    doc: Json, source: str, target: str, model: str | None = None, facet: str = "request"
) -> None:
    text = json.dumps(doc, ensure_ascii=False).encode("utf-8", "surrogatepass")
    try:
        text.decode()
    except UnicodeDecodeError:
        return  # lone surrogates go through nodes in any case
    quick = outcome(text, source, target, model, facet)
    writer = type(dialects.get(target))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "takes_plain", False)
        assert quick == outcome(text, source, target, model, facet)


@pytest.fixture
def without_nodes(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Readers that refuse to read a message, so that nothing but plain turns is left."""

    def forbid(source: str) -> None:
        def refuse(*_: Any) -> Json:
            raise AssertionError("read with nodes")

        monkeypatch.setattr(type(dialects.get(source)), "read", refuse)

    return forbid


@pairs
def test_a_plain_conversation_needs_no_nodes(
    source: str, target: str, without_nodes: Callable[[str], None]
) -> None:
    """Else the quick way could die without anybody noticing."""
    doc = spoken(source)
    want = outcome(doc, source, target)
    without_nodes(source)
    assert outcome(json.dumps(doc).encode(), source, target) == want


@pairs
@pytest.mark.parametrize("seed", range(24))
def test_nearly_plain_conversations(source: str, target: str, seed: int) -> None:
    """Anything may be wrong anywhere: then it is found, and nodes are needed."""
    plain = spoken(source)
    for number in range(examples(60)):
        dice = Seeded(f"{source} > {target}: {seed}/{number}")
        same(mutations.mutated(plain, dice), source, target)


CHANGES: dict[str, Callable[[list[Json]], None]] = {
    "an id twice": lambda them: them[5]["tool_calls"][0].update(id="call_1"),
    "an id of another form": lambda them: rename(them, "call_1", "call 1!"),
    "a long id": lambda them: rename(them, "call_1", "c" * 50),
    "a result of nobody": lambda them: them[3].update(tool_call_id="call_9"),
    "a list as id": lambda them: them[3].update(tool_call_id=["call_1"]),
    "results in another order": lambda them: them.insert(3, them.pop(4)),
    "a result is missing": lambda them: them.__delitem__(4),
    "a failed result": lambda them: them[4].update(content="[tool error] no"),
    "a marked result": lambda them: them[4].update(content="[tool output] [tool error] no"),
    "a name of another form": lambda them: call(them).update(name="read it!"),
    "a long name": lambda them: call(them).update(name="r" * 100),
    "a key twice": lambda them: call(them).update(arguments='{"path":"a","path":"b"}'),
    "a key twice, and long": lambda them: call(them).update(arguments=long_twice()),
    "space in arguments": lambda them: call(them).update(arguments='{ "path" : "a" }'),
    "space in long arguments": lambda them: call(them).update(arguments=long_spaced()),
    "numbers": lambda them: call(them).update(arguments='{"n": [1e2, -0, 12345678901234567890]}'),
    "escapes": lambda them: call(them).update(arguments='{"path":"\\u00e4\\/' + "x" * 300 + '"}'),
    "half of a character": lambda them: call(them).update(arguments='{"path":"\\ud83d"}'),
    "arguments that are no object": lambda them: call(them).update(arguments="[1]"),
    "arguments that are no JSON": lambda them: call(them).update(arguments='{"path":'),
    "blank arguments": lambda them: call(them).update(arguments=" "),
    "no arguments": lambda them: call(them).update(arguments=""),
    "nested deeply": lambda them: call(them).update(arguments=deep(600)),
    "blank words": lambda them: them[1].update(content=" \n"),
    "no words": lambda them: them[1].update(content=""),
    "null": lambda them: them[1].update(content=None),
    "blank words beside calls": lambda them: them[2].update(content=" "),
    "no calls": lambda them: them[5].update(tool_calls=[]),
    "a late prompt": lambda them: them.insert(1, them.pop(0)),
    "two prompts": lambda them: them.insert(0, them[0]),
    "a prompt alone": lambda them: them.__delitem__(slice(1, None)),
    "nothing": lambda them: them.clear(),
    "a prefill": lambda them: them.pop() and None,
    "calls last": lambda them: them.__delitem__(slice(6, None)),
    "twice the user": lambda them: them.insert(1, them[1]),
    "another role": lambda them: them[0].update(role="developer"),
    "a role that is a list": lambda them: them[0].update(role=["user"]),
    "a name beside the words": lambda them: them[1].update(name="ann"),
    "an unknown key": lambda them: them[1].update(zq=1),
    "an unknown key of a call": lambda them: call(them).update(zq=1),
    "a message that is none": lambda them: them.__setitem__(1, "Hi"),
}  # fmt: skip


def call(messages: list[Json]) -> Json:
    return messages[2]["tool_calls"][0]["function"]


def rename(messages: list[Json], old: str, new: str) -> None:
    messages[2]["tool_calls"][0]["id"] = messages[3]["tool_call_id"] = new


def deep(count: int) -> str:
    return '{"a":' + "[" * count + "]" * count + "}"


def long_twice() -> str:
    return '{"path":"' + "x" * 400 + '","path":"b"}'


def long_spaced() -> str:
    return json.dumps({"path": "x" * 400, "more": {"a": [1, 2]}})


@pytest.mark.parametrize("target", [*GREAT, "bedrock-converse", "mistral", "groq"])
@pytest.mark.parametrize("change", CHANGES)
def test_what_is_not_plain_is_found(change: str, target: str) -> None:
    doc = request()
    CHANGES[change](doc["messages"])
    same(doc, "openai-chat", target)
    for source in GREAT:  # and said in other dialects, as far as they can
        try:
            said = dragoman.convert(doc, source="openai-chat", target=source).document
        except DragomanError:
            continue
        same(said, source, target)


BESIDE: dict[str, Json] = {
    "nothing": {},
    "a choice": {"tool_choice": "required", "parallel_tool_calls": False},
    "a named choice": {"tool_choice": {"type": "function", "function": {"name": "read"}}},
    "none": {"tool_choice": "none"},
    "JSON": {"response_format": {"type": "json_object"}},
    "effort": {"reasoning_effort": "high"},
    "parameters": {"temperature": 1.7, "top_p": 0.5, "stop": ["a"], "n": 2, "stream": True},
    "odd parameters": {"temperature": "hot"},
    "unknown keys": {"zq": {"a": 1}},
    "no tools": {"tools": None},
    "a tool that has no schema": {"tools": [{"type": "function", "function": {"name": "read"}}]},
    "a freeform tool": {"tools": [{"type": "custom", "custom": {"name": "read"}}]},
    "a strict tool": {"tools": [{"type": "function", "function": {"name": "read", "strict": True,
        "parameters": {"type": "object", "properties": {}, "additionalProperties": False}}}]},
    "a tool that is none": {"tools": [1]},
    "no model": {"model": None},
    "an empty model": {"model": ""},
}  # fmt: skip


@pairs
@pytest.mark.parametrize("beside", BESIDE)
def test_what_stands_beside_the_conversation(beside: str, source: str, target: str) -> None:
    try:
        doc = spoken(source, **BESIDE[beside])
    except DragomanError:
        return
    same(doc, source, target)
    same(doc, source, target, model="gpt-5")


MODELS = (
    "gpt-5", "o1-mini", "o3", "claude-opus-4-7", "claude-3-5-haiku", "gemini-3-pro",
    "gemini-2.5-pro", "gemma-3-27b-it", "gemini-1.5-flash", "deepseek-reasoner",
)  # fmt: skip


@pytest.mark.parametrize("model", MODELS)
@pairs
def test_every_kind_of_model(source: str, target: str, model: str) -> None:
    """Some take no prompt, no tools, or no call that is not signed."""
    same(spoken(source), source, target, model)
    same(spoken(source, temperature=0.5, reasoning_effort="low"), source, target, model)


def reply(**more: Json) -> Json:
    """What a server of Chat Completions answers."""
    usage: Json = {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}
    usage["prompt_tokens_details"] = {"cached_tokens": 2, "cache_write_tokens": 0}
    usage["prompt_tokens_details"]["audio_tokens"] = 0
    usage["completion_tokens_details"] = {"reasoning_tokens": 1}
    message = assistant("I look.", ("call_1", "read", '{"path":"a"}'), ("call_2", "write", "{}"))
    message |= {"refusal": None, "annotations": []}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls"}
    doc = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1760000000, "model": "m"}
    return {**doc, "choices": [choice], "usage": usage, "service_tier": "default", **more}


def words(text: str | None = "There.", reason: str | None = "stop") -> Json:
    message = {"role": "assistant", "content": text, "refusal": None}
    return [{"index": 0, "message": message, "logprobs": None, "finish_reason": reason}]


def replied(source: str, **more: Json) -> Json:
    """The same as servers of some dialect answer it, with what the model reasoned."""
    if source == "openai-chat":
        return reply(**more)
    doc = dragoman.convert(
        reply(**more), source="openai-chat", target=source, facet="response"
    ).document
    if source == "anthropic-messages":
        doc["content"].insert(0, {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"})
        doc["usage"]["cache_creation"] = {"ephemeral_5m_input_tokens": 0}
    elif source == "gemini":
        del doc["createTime"]
        parts = doc["candidates"][0]["content"]["parts"]
        parts.insert(0, {"text": "Hm.", "thought": True})
        if "functionCall" in parts[-1]:
            parts[-1]["thoughtSignature"] = "c2ln"
    else:
        summary = [{"type": "summary_text", "text": "Hm."}]
        item = {"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "c2ln"}
        doc["output"].insert(0, item)
    return doc


@pairs
@pytest.mark.parametrize("more", [{}, {"choices": words()}], ids=["calls", "words"])
def test_a_plain_response_needs_no_nodes(
    source: str, target: str, more: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    doc = replied(source, **more)
    options: dict[str, Any] = {"source": source, "target": target, "now": 1760000000}
    want = dragoman.convert(doc, facet="response", **options)

    def refuse(*_: Any) -> Json:
        raise AssertionError("read with nodes")

    with monkeypatch.context() as patch:
        patch.setattr(type(dialects.get(source)), "read", refuse)
        got = dragoman.convert(json.dumps(doc).encode(), facet="response", **options)
        assert got.to_json() == want.to_json()
    assert got.losses == want.losses


@pairs
@pytest.mark.parametrize("seed", range(24))
def test_nearly_plain_responses(source: str, target: str, seed: int) -> None:
    plain = [replied(source), replied(source, choices=words())]
    for number in range(examples(60)):
        dice = Seeded(f"reply of {source} > {target}: {seed}/{number}")
        changed = mutations.mutated(one_of(dice, plain), dice)
        same(changed, source, target, facet="response")


REPLIES: dict[str, Json] = {
    "length": {"choices": words(reason="length")},
    "filtered": {"choices": words(reason="content_filter")},
    "an end of its own": {"choices": words(reason="eos")},
    "no end": {"choices": words(reason=None)},
    "calls that ended otherwise": {"choices": words(reason="tool_calls")},
    "blank": {"choices": words(" ")},
    "empty": {"choices": words("")},
    "nothing": {"choices": words(None)},
    "two candidates": {"choices": words() * 2},
    "no candidate": {"choices": []},
    "no date": {"created": None},
    "a fraction of a second": {"created": 1760000000.5},
    "a year of five digits": {"created": 10**12},
    "a date before dates": {"created": -1},
    "no id": {"id": None},
    "an empty id": {"id": ""},
    "an odd id": {"id": "chatcmpl-Ab/ü_ö"},
    "no model": {"model": None},
    "a tier that others have not": {"service_tier": "turbo"},
    "ultrafast": {"service_tier": "ultrafast"},
    "no usage": {"usage": None},
    "a usage without sums": {"usage": {"prompt_tokens": 3}},
    "a usage that contradicts itself": {"usage": {"prompt_tokens": 3, "completion_tokens": 1,
        "total_tokens": 9}},
    "a usage of zeros": {"usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}},
    "tokens of the cache": {"usage": {"prompt_tokens": 9, "completion_tokens": 1,
        "total_tokens": 10, "prompt_tokens_details": {"cache_write_tokens": 5}}},
    "an unknown key": {"zq": 1},
    "an error": {"error": {"message": "no", "type": "server_error"}},
}  # fmt: skip


@pairs
@pytest.mark.parametrize("more", REPLIES)
def test_what_is_no_plain_response_is_found(more: str, source: str, target: str) -> None:
    try:
        doc = replied(source, **REPLIES[more])
    except (DragomanError, KeyError, IndexError):
        return
    same(doc, source, target, facet="response")


def test_losses_are_those_of_what_was_read() -> None:
    """Whatever the caller has made of the document since."""
    data = json.dumps(replied("anthropic-messages")).encode()
    options: dict[str, Any] = {"source": "anthropic-messages", "target": "gemini"}
    got = dragoman.convert(data, facet="response", **options)
    for part in got.document["candidates"][0]["content"]["parts"]:
        part.get("functionCall", {}).get("args", {})["zq"] = object()
    assert got.losses == dragoman.convert(data, facet="response", **options).losses
    assert got.losses


def test_an_own_way_to_make_ids_is_asked_once() -> None:
    """With nodes alone: the losses would ask for others again."""
    asked: list[str] = []

    def ids(prefix: str) -> str:
        asked.append(prefix)
        return f"{prefix}_x{len(asked)}"

    data = json.dumps(reply()).encode()
    got = dragoman.convert(
        data, source="openai-chat", target="openai-responses", facet="response", ids=ids
    )
    assert [item["id"] for item in got.document["output"]] == ["msg_x1", "fc_x2", "fc_x3"]
    assert got.losses
    assert asked == ["msg", "fc", "fc"]


@pairs
def test_keys_that_stand_twice_are_reported(source: str, target: str) -> None:
    text = json.dumps(spoken(source)).replace('"model": "m"', '"model": "n", "model": "m"').encode()
    result = dragoman.convert(text, source=source, target=target)
    assert [(loss.what, loss.path) for loss in result.losses if loss.what == duplicates.CODE] == [
        (duplicates.CODE, "/model")
    ]


def test_variants_have_nodes_until_they_say_otherwise() -> None:
    taking = {name for name in dialects.names() if dialects.get(name).takes_plain}
    assert taking == set(GREAT)


@pytest.mark.parametrize("seed", range(40))
def test_turns_in_any_order_are_judged(seed: int) -> None:
    """Turns as a faulty reader could give them end in a verdict, whatever they hold."""
    dice = Seeded(f"turns {seed}")
    beside: tuple[Any, ...] = (
        None,
        [],
        [("a", "f", "{}")],
        [("a", "f", "{}"), ("a", "g", "{}")],
        "a",
        5,
        ["a"],
    )
    roles, words = ("system", "user", "assistant", "tool"), (None, "", " ", "x", "[tool error]")
    for _ in range(200):
        turns = [
            (one_of(dice, roles), one_of(dice, words), one_of(dice, beside))
            for _ in range(dice.below(6))
        ]
        assert is_plain(turns) in (True, False)
