"""Where a session goes on: what was read once is read again only if it may mean another thing."""

from __future__ import annotations

from copy import copy
from typing import Any

import pytest

from dragoman import dialects
from dragoman.core.resuming import Reads
from dragoman.dialects.gemini import Gemini
from dragoman.dialects.gemini.turns import read_contents

CUSTOM = {"id": "c", "type": "custom", "custom": {"name": "f", "input": "a"}}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def chat(*turns: dict[str, Any]) -> dict[str, Any]:
    return {"model": "m", "messages": [*turns]}


def asked(*calls: dict[str, Any]) -> list[dict[str, Any]]:
    model = {"role": "assistant", "content": None, "tool_calls": [*calls]}
    reply = {"role": "tool", "tool_call_id": "c", "content": "1"}
    return [{"role": "user", "content": "Hi"}, model, reply, {"role": "user", "content": "Well?"}]


ANSWER = {"role": "assistant", "content": "Yes."}


@pytest.mark.parametrize(
    ("document", "places"),
    [
        (chat(*asked(CALL)), [4]),
        (chat(*asked(CALL), ANSWER), [4]),  # the model may reply another thing the next time
        (chat(*asked(CUSTOM)), []),  # its result is known as one of a freeform tool at the end
        (chat(*asked(CUSTOM), ANSWER), []),
    ],
)
def test_where_reading_goes_on(document: dict[str, Any], places: list[int]) -> None:
    dialect = copy(dialects.get("openai-chat"))
    dialect.reads = Reads()
    for _ in range(2):
        dialect.reads.expect(document["messages"], len(document["messages"]), grows=True)
        dialect.read(document, "request")
        assert sorted({place for place, _, _ in dialect.reads.notes}) == places


def test_with_freeform_tools_all_is_read_again() -> None:
    """What was read without them may mean another thing."""
    dialect = copy(dialects.get("gemini"))
    assert isinstance(dialect, Gemini)
    dialect.reads = Reads()
    contents = [{"role": "user", "parts": [{"text": "Hi"}]}]
    for custom, places in ((frozenset[str](), [1]), (frozenset({"f"}), [])):
        dialect.reads.expect(contents, 1, grows=True)
        read_contents(dialect, contents, "/contents", custom)
        assert [place for place, _, _ in dialect.reads.notes] == places
