"""Design 002: stored histories move from Anthropic's style to OpenAI's, and go back to Anthropic.

Each "before" and "after" of the design, its considerations and its risks, through ``convert``.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

import dragoman

ANTHROPIC, CHAT = "anthropic-messages", "openai-chat"

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string", "description": "The path to the file"}},
    "required": ["path"],
}
OLD_TOOL = {
    "name": "read_file",
    "description": "Read the contents of a file",
    "input_schema": SCHEMA,
}
NEW_TOOL = {
    "type": "function",
    "function": {
        "name": "read_file",
        "description": "Read the contents of a file",
        "parameters": SCHEMA,
    },
}
USE = {"type": "tool_use", "name": "read_file", "input": {"path": "foo.txt"}, "id": "call_123"}
OLD_USER: Any = {"role": "user", "content": "Read the file"}
OLD_CALL: Any = {
    "role": "assistant",
    "content": [{"type": "text", "text": "I'll read that file"}, USE],
}
OLD_RESULT: Any = {
    "role": "user",
    "content": [
        {
            "type": "tool_result",
            "tool_use_id": "call_123",
            "content": "file contents",
            "is_error": False,
        }
    ],
}
OLD = [OLD_USER, OLD_CALL, OLD_RESULT]

NEW_SYSTEM: Any = {"role": "system", "content": "You are a helpful assistant..."}
NEW_USER: Any = {"role": "user", "content": "Read the file"}
NEW_CALL: Any = {
    "role": "assistant",
    "content": "I'll read that file",
    "tool_calls": [
        {
            "id": "call_123",
            "type": "function",
            "function": {"name": "read_file", "arguments": '{"path": "foo.txt"}'},
        }
    ],
}
NEW_RESULT: Any = {"role": "tool", "tool_call_id": "call_123", "content": "file contents"}
NEW = [NEW_USER, NEW_CALL, NEW_RESULT]


def to_openai(doc: Any, facet: str = "messages", **options: Any) -> dragoman.Result:
    return dragoman.convert(doc, source=ANTHROPIC, target=CHAT, facet=facet, **options)


def to_anthropic(doc: Any, facet: str = "messages", **options: Any) -> dragoman.Result:
    return dragoman.convert(doc, source=CHAT, target=ANTHROPIC, facet=facet, **options)


def parsed(messages: Any) -> Any:
    """OpenAI messages with their argument text as values: white space in it says nothing."""
    messages = copy.deepcopy(messages)
    for message in messages:
        for call in message.get("tool_calls") or ():
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return messages


def written(result: dragoman.Result) -> list[str]:
    return [f"{loss.kind} {loss.what}" for loss in result.losses]


# -- phase 1: tool definitions --------------------------------------------------------------------


def test_002_tool_definition_both_ways() -> None:
    there = to_openai([OLD_TOOL], "tools")
    assert there.document == [NEW_TOOL]
    assert there.document[0]["function"]["parameters"] == OLD_TOOL["input_schema"]  # the same
    back = to_anthropic([NEW_TOOL], "tools")
    assert back.document == [OLD_TOOL]
    assert not there.losses
    assert not back.losses


def test_002_a_tool_without_a_description() -> None:
    bare = {k: v for k, v in OLD_TOOL.items() if k != "description"}
    (tool,) = to_openai([bare], "tools").document
    assert "description" not in tool["function"]
    assert to_anthropic([tool], "tools").document == [bare]


def test_002_a_tool_without_parameters() -> None:
    """OpenAI's takes nothing then; Anthropic's must say so, and that is made up aloud."""
    there = to_anthropic([{"type": "function", "function": {"name": "now"}}], "tools")
    assert there.document == [{"name": "now", "input_schema": {"type": "object", "properties": {}}}]
    assert written(there) == ["invented tool.schema"]


# -- phases 4 and 5: messages ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(OLD_USER, NEW_USER, id="user"),
        pytest.param(OLD_CALL, NEW_CALL, id="call"),
        pytest.param(OLD_RESULT, NEW_RESULT, id="result"),
    ],
)
def test_002_each_message(old: Any, new: Any) -> None:
    there = to_openai([old])
    assert parsed(there.document) == parsed([new])
    assert not there.losses
    back = to_anthropic([new])
    assert without_flags(back.document["messages"]) == without_flags([old])
    assert not back.losses


def without_flags(messages: Any) -> Any:
    """Anthropic messages without "this did not fail", which says nothing."""
    messages = copy.deepcopy(messages)
    for message in messages:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block.get("is_error") is False:
                del block["is_error"]
    return messages


def test_002_arguments_are_text_in_one_and_an_object_in_the_other() -> None:
    (message,) = to_openai([OLD_CALL]).document
    arguments = message["tool_calls"][0]["function"]["arguments"]
    assert isinstance(arguments, str)
    assert json.loads(arguments) == USE["input"]
    (message,) = to_anthropic([NEW_CALL]).document["messages"]
    assert message["content"][1]["input"] == json.loads('{"path": "foo.txt"}')


def test_002_text_and_calls_may_stand_together_or_alone() -> None:
    (message,) = to_openai([OLD_CALL | {"content": [USE]}]).document
    assert message["content"] is None
    assert to_anthropic([message]).document["messages"][0]["content"] == [
        {"type": "tool_use", "id": "call_123", "name": "read_file", "input": {"path": "foo.txt"}}
    ]


def test_002_several_texts_stay_several() -> None:
    """The design joins them with line breaks that nobody wrote."""
    parts = [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}]
    there = to_openai([{"role": "assistant", "content": parts}])
    assert there.document[0]["content"] == parts
    assert to_anthropic(there.document).document["messages"][0]["content"] == parts


# -- the system prompt ----------------------------------------------------------------------------


def test_002_the_system_prompt_is_injected_and_extracted() -> None:
    old = {"system": NEW_SYSTEM["content"], "messages": OLD}
    there = to_openai(old)
    assert parsed(there.document) == parsed([NEW_SYSTEM, *NEW])
    back = to_anthropic(there.document)
    assert back.document["system"] == NEW_SYSTEM["content"]
    assert [m["role"] for m in back.document["messages"]] == ["user", "assistant", "user"]
    assert not there.losses
    assert not back.losses


def test_002_no_system_prompt_is_made_up() -> None:
    assert to_openai(OLD).document[0]["role"] == "user"
    assert "system" not in to_anthropic(NEW).document


def test_002_several_system_messages_all_reach_anthropic() -> None:
    """The design keeps one of them."""
    there = to_anthropic([NEW_SYSTEM, {"role": "system", "content": "Be brief."}, NEW_USER])
    assert [block["text"] for block in there.document["system"]] == [
        NEW_SYSTEM["content"],
        "Be brief.",
    ]


def test_002_developer_messages_speak_as_system() -> None:
    """The design passes the role on, which Anthropic rejects."""
    there = to_anthropic([{"role": "developer", "content": "Be brief."}, NEW_USER])
    assert there.document == {"system": "Be brief.", "messages": [NEW_USER]}
    assert written(there) == ["approximated message.role"]


# -- tool results ---------------------------------------------------------------------------------


def failed(content: Any = "no such file") -> Any:
    block = {"type": "tool_result", "tool_use_id": "call_123", "content": content, "is_error": True}
    return {"role": "user", "content": [block]}


def test_002_an_error_stays_an_error() -> None:
    there = to_openai([*OLD[:2], failed()])
    assert there.document[2]["content"] == "[tool error] no such file"
    assert written(there) == ["moved tool_result.error"]
    back = to_anthropic(there.document)
    assert back.document["messages"][2] == failed()
    assert not back.losses


def test_002_what_only_looks_like_an_error_is_none() -> None:
    quoted = copy.deepcopy(OLD_RESULT)
    quoted["content"][0]["content"] = "[tool error] is how a log line begins"
    there = to_openai([*OLD[:2], quoted])
    (block,) = to_anthropic(there.document).document["messages"][2]["content"]
    assert block["content"] == quoted["content"][0]["content"]
    assert not block.get("is_error")


def test_002_several_results_share_one_turn() -> None:
    """The design gives each a user message of its own."""
    uses = [USE | {"id": f"call_{n}"} for n in (1, 2, 3)]
    results = [
        {"type": "tool_result", "tool_use_id": f"call_{n}", "content": f"file {n}"}
        for n in (1, 2, 3)
    ]
    old = [OLD_USER, {"role": "assistant", "content": uses}, {"role": "user", "content": results}]
    there = to_openai(old)
    assert [m["role"] for m in there.document] == ["user", "assistant", "tool", "tool", "tool"]
    assert [m["tool_call_id"] for m in there.document[2:]] == ["call_1", "call_2", "call_3"]
    back = to_anthropic(there.document)
    assert json.dumps(back.document["messages"], sort_keys=True) == json.dumps(old, sort_keys=True)
    assert not there.losses
    assert not back.losses


PNG = "iVBORw0KGgo="


def test_002_image_parts() -> None:
    new = {
        "role": "user",
        "content": [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
        ],
    }
    there = to_anthropic([new])
    source = {"type": "base64", "media_type": "image/png", "data": PNG}
    assert there.document["messages"][0]["content"] == [
        {"type": "text", "text": "What is this?"},
        {"type": "image", "source": source},
    ]
    assert to_openai(there.document).document == [new]
    assert not there.losses


def test_002_an_image_in_a_result_follows_it_and_finds_back() -> None:
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": PNG},
    }
    old = copy.deepcopy(OLD)
    old[2]["content"][0]["content"] = [{"type": "text", "text": "a picture"}, image]
    there = to_openai(old)
    assert [m["role"] for m in there.document] == ["user", "assistant", "tool", "user"]
    assert written(there) == ["moved tool_result.content"]
    back = to_anthropic(there.document)
    assert without_flags(back.document["messages"]) == without_flags(old)


# -- malformed argument JSON ----------------------------------------------------------------------

SECRET = "hunter2"


def broken(arguments: str) -> Any:
    message = copy.deepcopy(NEW_CALL)
    message["tool_calls"][0]["function"]["arguments"] = arguments
    return [NEW_USER, message, NEW_RESULT]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (f'{{"password": "{SECRET}', "unterminated string starting at line 1 column 14"),
        (f'{{"password": "{SECRET}",}}', "expecting property name enclosed in double quotes at"),
        (f'{{"password" "{SECRET}"}}', "expecting ':' delimiter at line 1 column 13"),
        (f'{{"password": "{SECRET}"}} and', "extra data at line 1 column 25"),
        (f'{{\n  "password": {SECRET}\n}}', "expecting value at line 2 column 15"),
        (f'["{SECRET}"]', "it is a list"),
        (f'"{SECRET}"', "it is a string"),
        (f'{{"{SECRET}": NaN}}', "it is not strict JSON"),
        (f'{{"{SECRET}": {"9" * 5000}', "it has a number that is too long"),
        (f'{{"{SECRET}": ' + "[" * 100_000, "it is nested too deeply"),
    ],
)
def test_002_malformed_arguments_are_kept_and_explained(arguments: str, why: str) -> None:
    there = to_anthropic(broken(arguments))
    use = there.document["messages"][1]["content"][1]
    assert use["input"] == {"arguments": arguments}  # nothing is thrown away
    (loss,) = there.losses
    assert (loss.kind, loss.what) == ("approximated", "tool_call.arguments")
    assert loss.path == "/1/tool_calls/0"
    assert why in loss.why


def test_002_malformed_arguments_are_an_error_for_who_wants_one() -> None:
    doc = broken(f'{{"password": "{SECRET}')
    with pytest.raises(dragoman.Lossy) as caught:
        to_anthropic(doc, fail_on={"tool_call.arguments"})
    message = str(caught.value)
    assert "at /1/tool_calls/0" in message  # where
    assert "unterminated string starting at line 1 column 14" in message  # what
    assert "repair's 'fix-arguments'" in message  # what next
    assert SECRET not in message


def test_002_what_the_error_advises_helps() -> None:
    repaired = dragoman.repair(
        broken('{"path": "foo.txt"'), CHAT, facet="messages", passes=["fix-arguments"]
    )
    there = to_anthropic(repaired.document, fail_on={"tool_call.arguments"})
    assert there.document["messages"][1]["content"][1]["input"] == {"path": "foo.txt"}


@pytest.mark.parametrize("arguments", ["", " ", "{}"])
def test_002_no_arguments_are_no_error(arguments: str) -> None:
    there = to_anthropic(broken(arguments))
    assert there.document["messages"][1]["content"][1]["input"] == {}
    assert not there.losses


@pytest.mark.parametrize(
    ("doc", "at"),
    [
        ([{"role": "assistant", "tool_calls": [{"id": "c", "type": "function"}]}], "function"),
        ([{"role": "narrator", "content": "Once"}], "narrator"),
        ([{"content": "Hi"}], "role"),
    ],
)
def test_002_missing_fields_are_named_with_their_place(doc: Any, at: str) -> None:
    with pytest.raises(dragoman.Malformed, match=at) as caught:
        to_anthropic(doc)
    assert caught.value.at.startswith("/0")


# -- responses ------------------------------------------------------------------------------------


def replied(*content: Any, stop: str = "end_turn", **usage: int) -> Any:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": list(content),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5, **usage},
    }


def test_002_the_response_becomes_an_openai_message() -> None:
    there = to_openai(replied(*OLD_CALL["content"], stop="tool_use"), "response", now=0)
    choice = there.document["choices"][0]
    (message,) = parsed([choice["message"]])
    assert message == parsed([NEW_CALL])[0] | {"refusal": None}
    assert choice["finish_reason"] == "tool_calls"


def texts(*words: str) -> list[Any]:
    return [{"type": "text", "text": text} for text in words]


@pytest.mark.parametrize(
    ("text_in", "joined"),
    [
        (("One.", "Two.", "Three."), "One.\nTwo.\nThree."),
        (("One.", "", "Two."), "One.\nTwo."),
        (("One. ", "Two."), "One. Two."),  # white space parts them already
        (("One.", "\n\nTwo."), "One.\n\nTwo."),
        (("It is sunny", ", and warm."), "It is sunny, and warm."),  # the sentence goes on
        (("One", "Two"), "One\nTwo"),
    ],
)
def test_002_the_texts_of_a_response_are_joined_with_line_breaks(
    text_in: tuple[str, ...], joined: str
) -> None:
    """`message["content"] = "\\n".join(text_parts)`, reported, in a stream as well."""
    response = replied(*texts(*text_in))
    there = to_openai(response, "response", now=0)
    assert there.document["choices"][0]["message"]["content"] == joined
    boundaries = [loss for loss in there.losses if loss.what == "text.boundary"]
    assert len(boundaries) == len([text for text in text_in if text]) - 1
    stream = dragoman.decompose(response, ANTHROPIC)
    flight = dragoman.convert(stream, source=ANTHROPIC, target=CHAT, facet="stream", now=0)
    collected = dragoman.collect(flight.document, CHAT).document
    assert collected["choices"][0]["message"]["content"] == joined


def test_002_a_sentence_that_was_cut_to_be_cited_stays_one() -> None:
    """The design would break it: Anthropic gives each piece that is cited a block of its own."""
    page = {
        "type": "web_search_result_location",
        "url": "https://example.org/",
        "title": "T",
        "cited_text": "67 m",
        "encrypted_index": "eA==",
    }
    height = {"type": "text", "text": "67 m", "citations": [page]}
    response = replied(*texts("The tower is "), height, *texts(", they say.", "So it is."))
    there = to_openai(response, "response", now=0)
    message = there.document["choices"][0]["message"]
    assert message["content"] == "The tower is 67 m, they say.\nSo it is."
    cited = message["annotations"][0]["url_citation"]
    assert message["content"][cited["start_index"] : cited["end_index"]] == "67 m"


def test_002_an_answer_joins_the_openai_history() -> None:
    """What the design's agent does: convert the reply, append it, ask again."""
    request = {"model": "m", "messages": [NEW_SYSTEM, NEW_USER]}
    reply = to_openai(replied(*OLD_CALL["content"], stop="tool_use"), "response", now=0)
    joined = dragoman.join(request, reply.document, dialect=CHAT)
    assert parsed(joined.document["messages"]) == parsed([NEW_SYSTEM, NEW_USER, NEW_CALL])


STOPS = [
    ("end_turn", "stop", True),
    ("stop_sequence", "stop", False),
    ("tool_use", "tool_calls", True),
    ("max_tokens", "length", True),
    ("refusal", "content_filter", True),
    ("pause_turn", "length", False),
    ("model_context_window_exceeded", "length", False),
    ("something_new", "stop", False),
]


@pytest.mark.parametrize(("old", "new", "exact"), STOPS)
def test_002_stop_reasons(old: str, new: str, exact: bool) -> None:
    """No word leaks through: OpenAI's clients know these only."""
    content = [USE] if old == "tool_use" else [{"type": "text", "text": "Yes."}]
    there = to_openai(replied(*content, stop=old), "response", now=0)
    assert there.document["choices"][0]["finish_reason"] == new
    assert ("approximated stop.reason" not in written(there)) is exact
    if exact:
        assert to_anthropic(there.document, "response").document["stop_reason"] == old


def test_002_cached_tokens_count_as_prompt_tokens() -> None:
    """The design's total is too low."""
    usage = to_openai(
        replied({"type": "text", "text": "Yes."}, cache_read_input_tokens=90),
        "response",
        now=0,
    ).document["usage"]
    assert usage["prompt_tokens"] == 100
    assert usage["prompt_tokens_details"]["cached_tokens"] == 90


# -- whole histories ------------------------------------------------------------------------------

STORED_OLD: Any = {
    "system": "You are a helpful assistant...",
    "messages": [
        *OLD,
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Now the other.", "signature": "c2VhbA=="},
                {"type": "text", "text": "And the other one."},
                USE | {"id": "call_124"},
                USE | {"id": "call_125", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "call_124", "content": "x" * 200},
                {
                    "type": "tool_result",
                    "tool_use_id": "call_125",
                    "content": [{"type": "text", "text": "no path"}],
                    "is_error": True,
                },
                {"type": "text", "text": "Go on.", "cache_control": {"type": "ephemeral"}},
            ],
        },
        {"role": "assistant", "content": "Done."},
    ],
}
STORED_NEW: Any = [
    NEW_SYSTEM,
    *NEW,
    {"role": "assistant", "content": "Here it is.", "name": "clippy"},
    {"role": "developer", "content": "Be brief."},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "And this?"},
            {
                "type": "image_url",
                "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "high"},
            },
        ],
    },
    {"role": "assistant", "content": None, "tool_calls": NEW_CALL["tool_calls"], "refusal": None},
    {"role": "tool", "tool_call_id": "call_123", "content": "[tool error] no such file"},
]


def test_002_a_whole_history_goes_and_comes_back_exactly() -> None:
    there = to_openai(STORED_OLD, carry=True)
    same = to_anthropic(there.document, capsule=there.capsule)
    assert json.dumps(same.document) == json.dumps(STORED_OLD)
    assert not same.losses
    there = to_anthropic(STORED_NEW, carry=True)
    same = to_openai(there.document, capsule=there.capsule)
    assert json.dumps(same.document) == json.dumps(STORED_NEW)
    assert not same.losses


def test_002_without_a_capsule_only_what_the_ledger_says_is_gone() -> None:
    there = to_openai(STORED_OLD)
    assert sorted(written(there)) == [
        "dropped reasoning",
        "dropped reasoning.signature",
        "moved tool_result.error",
    ]
    back = to_anthropic(there.document).document
    wanted = without_flags(STORED_OLD["messages"])
    del wanted[3]["content"][0]  # the reasoning
    wanted[4]["content"][1]["content"] = "no path"  # a list of one text is that text
    text = wanted[4]["content"].pop()  # turns of one role that follow each other are one turn
    wanted.insert(5, {"role": "user", "content": [text]})
    assert {**back, "messages": without_flags(back["messages"])} == {
        **STORED_OLD,
        "messages": wanted,
    }


def test_002_a_migrated_history_is_what_openai_accepts() -> None:
    there = to_openai(STORED_OLD).document
    assert dragoman.check(there, CHAT, facet="messages") == []
    again = to_anthropic(STORED_NEW[:4]).document
    assert dragoman.check(again, ANTHROPIC, facet="messages") == []


def test_002_migration_is_atomic_and_repeatable() -> None:
    """A history that was migrated already is known as such, and stays as it is."""
    once = to_openai(STORED_OLD).document
    assert dragoman.detect(once, facet="messages")[0].dialect == CHAT
    again = dragoman.convert(once, target=CHAT, facet="messages")
    assert again.document == once
    assert not again.losses
    assert dragoman.detect(STORED_OLD, facet="messages")[0].dialect == ANTHROPIC
