"""Design 003, the side of llxprt: its warnings and its rules, through our API.

Targets are the formats that are always here; ``test_003_to_vercel.py`` has the design's own.
"""

from __future__ import annotations

from typing import Any

import pytest

import places
from dragoman import Malformed, convert, detect, dialects, formats, read, testing
from dragoman.model import Media, Reasoning, Source, Text, ToolCall, ToolResult
from dragoman.tools import llxprt_ids as ids

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJ"
    "RU5ErkJggg=="
)
TO = ["anthropic-messages", "openai-chat", "openai-responses"]
CORPUS = testing.load_corpus(places.CORPUS)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(call_id: str, **parameters: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": call_id, "name": "f", "parameters": parameters}


def reply(call_id: str, **spelled: Any) -> dict[str, Any]:
    return {"type": "tool_response", "callId": call_id, **spelled}


def says(speaker: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"speaker": speaker, "blocks": list(blocks)}


def result_of(*spelled: dict[str, Any]) -> ToolResult:
    """The result that the last of some contents holds, in the tree."""
    tree: Any = read(list(spelled), "icontent", facet="messages")
    found = tree.messages[-1].content[0]
    assert isinstance(found, ToolResult)
    return found


def listed(document: Any) -> list[Any]:
    """The messages of a history, which some formats keep in an object."""
    if isinstance(document, dict):
        document = document.get("messages", document.get("input"))
    assert isinstance(document, list)
    return document


# -- the warnings -------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TO)
@pytest.mark.parametrize(
    ("called", "replied", "expected"),
    [
        ("hist_tool_abc", "hist_tool_abc", "call_abc"),  # line 103 and line 137: both ends alike
        ("hist_tool_abc", "call_abc", "call_abc"),
        ("call_abc", "hist_tool_abc", "call_abc"),
        ("toolu_abc", "hist_tool_toolu_abc", "toolu_abc"),
    ],
)
def test_warning_1_ids_are_normalised_and_stay_paired(
    target: str, called: str, replied: str, expected: str
) -> None:
    contents = [says("ai", call(called)), says("tool", reply(replied, result="1"))]
    tree: Any = read(contents, "icontent", facet="messages")
    assert (tree.messages[0].content[0].id, tree.messages[1].content[0].call_id) == (
        expected,
        expected,
    )
    there = convert(contents, source="icontent", target=target, facet="messages")
    back = convert(there.document, source=target, target="icontent", facet="messages").document
    assert back[0]["blocks"][0]["id"] == back[1]["blocks"][0]["callId"] == ids.to_history(expected)


@pytest.mark.parametrize("target", [*TO, "vercel-core", "gemini", "mistral"])
@pytest.mark.parametrize(
    ("called", "replied", "expected"),
    [
        ("hist_tool_a b", "hist_tool_a b", "call_a b"),  # llxprt would make it call_ab
        ("hist_tool_a b", "call_a b", "call_a b"),
        ("a b", "a b", "a b"),
    ],
)
def test_warning_1_ids_with_spaces_are_normalised_and_stay_paired(
    target: str, called: str, replied: str, expected: str
) -> None:
    contents = [says("ai", call(called)), says("tool", reply(replied, result="1"))]
    tree: Any = read(contents, "icontent", facet="messages")
    assert tree.messages[0].content[0].id == tree.messages[1].content[0].call_id == expected
    there = convert(contents, source="icontent", target=target, facet="messages")
    back: Any = read(there.document, target, facet="messages")
    called_as = [b.id for m in back.messages for b in m.content if isinstance(b, ToolCall)]
    answers_to = [b.call_id for m in back.messages for b in m.content if isinstance(b, ToolResult)]
    assert called_as == answers_to
    renamed = {loss.what for loss in there.losses if loss.kind == "renamed"}
    assert (called_as != [expected]) is ("tool_call.id" in renamed)


def test_warning_1_two_calls_never_become_one() -> None:
    """``hist_tool_abc`` and ``call_abc`` are one id to llxprt; where two calls bear them, not."""
    contents = [
        says("ai", call("hist_tool_abc"), call("call_abc")),
        says("tool", reply("call_abc", result="second")),
        says("tool", reply("hist_tool_abc", result="first")),
    ]
    tree: Any = read(contents, "icontent", facet="messages")
    first, second = (block.id for block in tree.messages[0].content)
    assert first != second
    assert [m.content[0].call_id for m in tree.messages[1:]] == [second, first]
    same = convert(contents, source="icontent", target="icontent", facet="messages")
    assert same.document == contents


@pytest.mark.parametrize("target", TO)
@pytest.mark.parametrize("given", [{"result": None}, {}, {"result": ""}])
def test_warning_2_no_result_is_never_null(target: str, given: dict[str, Any]) -> None:
    contents = [says("ai", call("hist_tool_1")), says("tool", reply("hist_tool_1", **given))]
    document = convert(contents, source="icontent", target=target, facet="messages").document
    last = listed(document)[-1]
    if target == "anthropic-messages":
        assert "content" not in last["content"][0]  # absent is how it says so
    else:
        assert last["content" if target == "openai-chat" else "output"] == ""


@pytest.mark.parametrize(("value", "expected"), [(0, "0"), (False, "false"), ([], "[]"), ("", "")])
def test_warning_2_but_what_is_merely_false_is_a_result(value: Any, expected: str) -> None:
    spelled = says("ai", call("hist_tool_1")), says("tool", reply("hist_tool_1", result=value))
    assert result_of(*spelled).content == (Text(expected, at="/1/blocks/0/result"),)


def test_warning_3_several_texts_stay_several() -> None:
    contents = [says("human", text("Hi."), text("Who are you?"))]
    result = convert(contents, source="icontent", target="openai-chat", facet="messages")
    assert result.document == [{"role": "user", "content": contents[0]["blocks"]}]
    assert not result.losses


@pytest.mark.parametrize(
    ("data", "source"),
    [
        (f"data:image/png;base64,{PNG}", Source("base64", PNG, "image/png")),
        (PNG, Source("base64", PNG, "image/png")),  # its first bytes tell
        ("https://example.org/cat.png", Source("url", "https://example.org/cat.png")),
        ("!", Source("base64", "!")),  # nobody knows what it is, and nobody says so
    ],
)
def test_warning_4_images_in_every_form(data: str, source: Source) -> None:
    contents = [says("human", {"type": "image", "data": data})]
    tree: Any = read(contents, "icontent", facet="messages")
    assert isinstance(image := tree.messages[0].content[0], Media)
    assert image.source == source
    same = convert(contents, source="icontent", target="icontent", facet="messages")
    assert same.document == contents


@pytest.mark.parametrize(
    ("media_type", "data", "written", "loss"),
    [
        ("image/png", PNG, "image/png", None),
        ("image/jpeg", PNG, "image/png", "approximated media.type"),
        ("image/png", "bm90IGFuIGltYWdl", None, "dropped media"),
        ("image/png", "not base64!", None, "dropped media"),
        ("image/svg+xml", "PHN2Zy8+", "image/svg+xml", None),
    ],
)
def test_warning_4_images_are_what_they_claim(
    media_type: str, data: str, written: str | None, loss: str | None
) -> None:
    image = {"type": "base64", "media_type": media_type, "data": data}
    asked = [{"role": "user", "content": [{"type": "image", "source": image}]}]
    for target in ("icontent", "icontent-design"):
        result = convert(asked, source="anthropic-messages", target=target, facet="messages")
        blocks = result.document[0]["blocks"]
        assert [f"{x.kind} {x.what}" for x in result.losses] == ([loss] if loss else [])
        if written is None:
            assert blocks == []
        elif target == "icontent":
            assert blocks == [
                {"type": "media", "mimeType": written, "data": data, "encoding": "base64"}
            ]
        else:
            assert blocks == [{"type": "image", "data": f"data:{written};base64,{data}"}]


# -- the rules, by the numbers of their lines ---------------------------------------------------


def test_line_26_a_result_does_not_swallow_its_neighbours() -> None:
    """The design drops what stands beside a result; here the results are cut out."""
    contents = [
        says("ai", text("I look."), call("hist_tool_1"), call("hist_tool_2")),
        says("human", text("One:"), reply("hist_tool_1", result="1"), text("Two:"), text("Now?")),
        says("tool", reply("hist_tool_2", result="2")),
    ]
    tree: Any = read(contents, "icontent", facet="messages")
    assert [m.role for m in tree.messages] == ["assistant", "user", "tool", "user", "tool"]
    same = convert(contents, source="icontent", target="icontent", facet="messages")
    assert same.document == contents
    assert not same.losses


def test_lines_31_to_40_who_speaks() -> None:
    contents = [says("system", text("a")), says("human", text("b")), says("ai", text("c"))]
    result = convert(contents, source="icontent", target="openai-chat", facet="messages")
    assert [m["role"] for m in result.document] == ["system", "user", "assistant"]


EVERYWHERE = [f.name for f in formats() if "write" in f.facets.get("messages", ())]


@pytest.mark.parametrize("target", [t for t in EVERYWHERE if not t.startswith("icontent")])
@pytest.mark.parametrize(
    "skipped",
    [
        says("robot", text("a")),
        says("user", text("a")),
        says(""),
        says("tool", text("a")),
        says("tool"),
    ],
)
def test_lines_38_to_39_an_unknown_speaker_is_skipped_and_reported(
    skipped: dict[str, Any], target: str
) -> None:
    """ "RETURN null  // Unknown speaker type": what is left is what it would be without it."""
    around = [says("human", text("Hi")), says("ai", call("hist_tool_1"))]
    after = [says("tool", reply("hist_tool_1", result="1"))]
    if target == "functiongemma-teaching":
        around, after = around[:1], [says("ai", call("hist_tool_1"))]
    result = convert([*around, skipped, *after], source="icontent", target=target, facet="messages")
    without = convert([*around, *after], source="icontent", target=target, facet="messages")
    if target != "native":  # the tree holds it
        assert result.document == without.document
        assert ("dropped", "raw", f"/{len(around)}") in [
            (x.kind, x.what, x.path) for x in result.losses
        ]
    assert len(result.losses) == len(without.losses) + (target != "native")


@pytest.mark.parametrize("name", ["icontent", "icontent-design"])
def test_what_is_skipped_elsewhere_stays_in_the_history(name: str) -> None:
    contents = [says("robot", text("a")) | {"mood": "good"}, says("tool"), says("human", text("b"))]
    for target in ("icontent", "icontent-design"):
        result = convert(contents, source=name, target=target, facet="messages")
        assert result.document == contents
        assert not result.losses


@pytest.mark.parametrize("content", [{"blocks": []}, {"speaker": "robot"}, {"speaker": 1}, 1])
def test_what_is_no_content_is_malformed(content: Any) -> None:
    with pytest.raises(Malformed):
        read([content], "icontent", facet="messages")


def test_lines_67_to_73_the_order_of_text_and_images_is_kept() -> None:
    blocks = [text("a"), {"type": "image", "data": PNG}, text("b")]
    result = convert(
        [says("human", *blocks)], source="icontent", target="openai-chat", facet="messages"
    )
    assert [p["type"] for p in result.document[0]["content"]] == ["text", "image_url", "text"]


def test_lines_97_to_111_the_order_of_text_and_calls_is_kept() -> None:
    contents = [says("ai", text("a"), call("hist_tool_1", x=1), text("b"))]
    tree: Any = read(contents, "icontent", facet="messages")
    assert [type(b) for b in tree.messages[0].content] == [Text, ToolCall, Text]
    result = convert(contents, source="icontent", target="openai-responses", facet="messages")
    kinds = [item.get("type", "message") for item in listed(result.document)]
    assert kinds == ["message", "function_call", "message"]


@pytest.mark.parametrize(
    ("written", "failed", "words"),
    [
        ({"result": "a"}, None, "a"),
        ({"result": "a", "status": "error"}, True, "a"),
        ({"result": "a", "error": "a"}, True, "a"),
        ({"result": "a", "error": "b"}, True, "a"),
        ({"result": "", "error": "b"}, True, "b"),  # the design would say nothing
        ({"result": None, "error": "b"}, True, "b"),
        ({"result": "a", "error": ""}, True, "a"),  # line 146: it is not null
        ({"result": "a", "error": None}, None, "a"),
        ({"result": "a", "isError": True}, True, "a"),
        ({"result": "a", "isError": False}, False, "a"),
    ],
)
def test_lines_146_to_148_the_error_flag(
    written: dict[str, Any], failed: bool | None, words: str
) -> None:
    contents = [says("ai", call("hist_tool_1")), says("tool", reply("hist_tool_1", **written))]
    result = result_of(*contents)
    assert (result.is_error, [b.text for b in result.content if isinstance(b, Text)]) == (
        failed,
        [words],
    )
    same = convert(contents, source="icontent", target="icontent", facet="messages")
    assert same.document == contents


def test_an_error_beside_an_answer_is_not_lost_in_silence() -> None:
    contents = [
        says("ai", call("hist_tool_1")),
        says("tool", reply("hist_tool_1", result="a", error="b")),
    ]
    result = convert(contents, source="icontent", target="openai-chat", facet="messages")
    assert ("extras", "/1/blocks/0/error") in [(x.what, x.path) for x in result.losses]


def test_the_name_of_the_tool_is_found_at_its_call() -> None:
    """The design leaves it out; the real type and the SDK demand it."""
    contents = [
        says("ai", call("hist_tool_1")),
        says("tool", reply("hist_tool_1", result="a")),
    ]
    result = convert(contents, source="icontent-design", target="icontent", facet="messages")
    assert result.document[1]["blocks"][0]["toolName"] == "f"
    assert not result.losses


def test_lines_190_to_200_the_design_is_written_by_its_variant() -> None:
    asked = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "[tool error] gone"},
    ]
    result = convert(asked, source="openai-chat", target="icontent-design", facet="messages")
    assert result.document == [
        says("system", text("Be brief.")),
        says("human", text("Hi")),
        says("ai", text("I look."), call("hist_tool_1")),
        says("tool", reply("hist_tool_1", result="gone", status="error")),
    ]
    assert not result.losses


# -- beyond the design --------------------------------------------------------------------------


@pytest.mark.parametrize("source", TO)
def test_ids_come_back_without_a_capsule(source: str) -> None:
    for call_id in ("call_abc", "toolu_abc", "functions.Bash:0", "hist_tool_abc", "a-b"):
        function = {"name": "f", "arguments": "{}"}
        calls = [{"id": call_id, "type": "function", "function": function}]
        asked = [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": call_id, "content": "1"},
        ]
        first = convert(asked, source="openai-chat", target=source, facet="messages").document
        there = convert(first, source=source, target="icontent", facet="messages")
        back = convert(there.document, source="icontent", target=source, facet="messages")
        assert back.document == first
        assert there.document[1]["blocks"][0]["id"].startswith("hist_tool_")


SIGNED = {"type": "thinking", "thought": "Hm.", "signature": "c2ln", "sourceField": "thinking"}


@pytest.mark.parametrize(
    ("metadata", "block", "issuer"),
    [
        ({}, SIGNED, "anthropic"),
        ({"provider": "anthropic"}, SIGNED, "anthropic"),
        ({"providerBaseURL": "https://api.anthropic.com/v1"}, SIGNED, "anthropic"),
        ({"provider": "anthropic", "providerBaseURL": "https://x.org"}, SIGNED, "llxprt:x.org"),
        ({"provider": "gemini"}, SIGNED, "google"),
        ({"provider": "zai"}, SIGNED, "llxprt:zai"),
        ({}, SIGNED | {"sourceField": "thought"}, "google"),
        ({}, SIGNED | {"sourceField": "reasoning"}, "llxprt"),
        ({}, {"type": "thinking", "thought": "Hm.", "encryptedContent": "ZW5j"}, "openai"),
    ],
)
def test_a_signature_knows_its_issuer(
    metadata: dict[str, Any], block: dict[str, Any], issuer: str
) -> None:
    contents = [says("ai", block) | {"metadata": metadata}, says("human", text("Go on."))]
    tree: Any = read(contents, "icontent", facet="messages")
    assert isinstance(reasoning := tree.messages[0].content[0], Reasoning)
    assert reasoning.signature is not None
    assert reasoning.signature.issuer == issuer
    same = convert(contents, source="icontent", target="icontent", facet="messages")
    assert same.document == contents
    for target in TO:
        there = convert(contents, source="icontent", target=target, facet="messages")
        sent = str(there.document)
        accepted = dialects.get(target).issuer == issuer and target != "openai-chat"
        assert (reasoning.signature.data in sent) == accepted, target


def test_a_signature_goes_through_the_history_and_home_again() -> None:
    reasoning = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    hidden = {"type": "redacted_thinking", "data": "cmVk"}
    asked = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [reasoning, hidden, text("Hello.")]},
        {"role": "user", "content": "Bye"},
    ]
    there = convert(asked, source="anthropic-messages", target="icontent", facet="messages")
    assert not there.losses
    back = convert(there.document, source="icontent", target="anthropic-messages", facet="messages")
    assert listed(back.document) == asked
    assert not back.losses


def test_every_document_of_the_corpus_is_known_again() -> None:
    seen = 0
    for case in CORPUS:
        for document in case.documents:
            # Tools and errors bear no sign of their own.
            own = document.dialect in ("icontent", "icontent-design")
            if own and document.facet not in ("tools", "error"):
                best = detect(document.body)[0]
                assert (best.dialect, best.facet) == ("icontent", document.facet), document.name
                seen += 1
    assert seen > 40
