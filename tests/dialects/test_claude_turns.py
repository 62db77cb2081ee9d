"""What Claude demands of the turns of a conversation in which it thinks."""

from __future__ import annotations

import pytest

from dragoman.dialects._claude_turns import PREFILL_WITHOUT_THINKING, WITHOUT_THINKING
from dragoman.dialects._claude_turns import why_unthinking as why
from dragoman.dialects.anthropic_messages.request import is_result, is_thinking
from dragoman.model import Json

TEXT: Json = {"type": "text", "text": "x"}
THINKING: Json = {"type": "thinking", "thinking": "x", "signature": "s"}
RESULT: Json = {"type": "tool_result", "tool_use_id": "c"}
USER: Json = {"role": "user", "content": "x"}
SYSTEM: Json = {"role": "system", "content": "x"}


def turn(role: str, *blocks: Json) -> Json:
    return {"role": role, "content": [*blocks]}


@pytest.mark.parametrize(
    ("turns", "reason"),
    [
        ([], None),
        ([USER], None),
        ([USER, turn("assistant")], None),
        ([USER, turn("assistant", THINKING, TEXT)], None),
        ([USER, turn("assistant", TEXT, THINKING)], PREFILL_WITHOUT_THINKING),
        ([USER, turn("assistant", TEXT), SYSTEM], PREFILL_WITHOUT_THINKING),
        ([USER, {"role": "assistant", "content": "x"}], PREFILL_WITHOUT_THINKING),
        ([USER, turn("assistant", TEXT), turn("user", RESULT)], WITHOUT_THINKING),
        ([USER, turn("assistant", TEXT), turn("user", RESULT), SYSTEM], WITHOUT_THINKING),
        ([USER, turn("assistant", TEXT), turn("user", RESULT), USER], WITHOUT_THINKING),
        ([USER, turn("assistant", THINKING), turn("user", RESULT)], None),
        ([USER, turn("assistant", TEXT), turn("user", TEXT)], None),
        ([turn("user", RESULT)], None),
    ],
)
def test_why_a_request_cannot_ask_for_thinking(turns: list[Json], reason: str | None) -> None:
    assert why(turns, is_result, is_thinking) == reason
