"""Contents of llxprt as nobody would write them: all come home, and nothing is lost in silence."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dragoman
from dragoman import testing
from dragoman.testing import Document

PNG = "iVBORw0KGgo="
IDS = st.sampled_from(
    ["hist_tool_1", "call_1", "toolu_1", "hist_tool_toolu_1", "x.y", "", "hist_tool_raw_call_1"]
)
WORDS = st.sampled_from(["a", "", "[tool error]", "[redacted]", "b"])


def block(kind: str, needed: dict[str, Any], **optional: Any) -> st.SearchStrategy[dict[str, Any]]:
    """A block: what it needs, and any of what it may have besides, null included."""
    extra = {"providerMetadata": st.sampled_from([{"a": 1}, {}, None])}
    values = {key: st.sampled_from([*some, None]) for key, some in optional.items()} | extra
    need = {key: value if isinstance(value, st.SearchStrategy) else st.sampled_from(value)
            for key, value in needed.items()}  # fmt: skip
    return st.fixed_dictionaries({"type": st.just(kind), **need}, optional=values)


BLOCKS = st.one_of(
    block("text", {"text": WORDS}),
    block("code", {"code": ["x", "```"]}, language=["py"]),
    block(
        "tool_call",
        {"id": IDS, "name": ["f", "g"]},
        parameters=[{}, {"a": 1}, "{}", "x", [1], 3],
        input=[{}, {"a": 1}],
        description=["d"],
    ),
    block(
        "tool_response",
        {"callId": IDS},
        toolName=["f", "g", ""],
        result=["a", "", 0, False, {"output": "x"}, {"output": 1}, []],
        error=["a", "", "b", "[tool error]"],
        status=["error", "ok"],
        isError=[True, False],
    ),
    block(
        "media",
        {"data": [PNG, f"data:image/png;base64,{PNG}", "http://x/y", "junk!"]},
        mimeType=["image/png", "image/*", "application/pdf", ""],
        encoding=["url", "base64", "zip"],
        filename=["f"],
    ),
    block("image", {"data": [PNG, "http://x/y", "junk!"]}, mimeType=["image/png"]),
    block(
        "thinking",
        {},
        reasoning=["t", "", "[redacted]"],
        signature=["s", ""],
        encryptedContent=["e", ""],
        sourceField=["thinking", "thought", "reasoning"],
    ),
    st.just({"type": "of next year", "x": 1}),
)
METADATA = [{}, None, {"role": "system"}, {"role": "user"}, {"provider": "zai"}, {"timestamp": 1}]
CONTENTS = st.lists(
    st.fixed_dictionaries(
        {
            "speaker": st.sampled_from(["human", "ai", "tool", "system", "of next year"]),
            "blocks": st.lists(BLOCKS, max_size=3),
        },
        optional={"metadata": st.sampled_from(METADATA), "of next year": st.just(1)},
    ),
    max_size=3,
)


@pytest.mark.parametrize("name", ["icontent", "icontent-design"])
@given(CONTENTS)
def test_all_come_home_and_nothing_is_lost_in_silence(name: str, contents: Any) -> None:
    document = Document("any", name, "", "messages", False, contents)
    testing.identity(document)
    for target in ("icontent", "icontent-design", "native"):
        testing.audit(document, target)
        testing.pointers(document, target)
        testing.same(document, target)


def test_a_recording_that_is_dropped_is_one_loss() -> None:
    """Its transcript goes with it, an empty one too: the whole part has one entry."""
    audio = {"id": "", "data": "", "expires_at": 0, "transcript": ""}
    message = {"role": "assistant", "content": "Hi", "audio": audio}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    response = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
    result = dragoman.convert(
        response | {"choices": [choice]},
        source="openai-chat",
        target="icontent-design",
        facet="response",
    )
    lost = [str(loss) for loss in result.losses if loss.path == "/choices/0/message/audio"]
    why = "icontent-design has no form for audio input"
    assert lost == [f"dropped media at /choices/0/message/audio ({why})"]
