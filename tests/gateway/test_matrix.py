"""Each door with each upstream: the official SDKs as clients, whole and streamed.

Behind the gateway stands another one, whose scripted model remembers what it was asked.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest

from dragoman.model import Reasoning, Request, ToolCall, ToolResult
from gateways import DOORS, Model, chain
from sdk_clients import TALKS

LONG = "mcp__weather_server_of_the_municipality__look_up_the_weather_of_a_city_by_its_name"
REPLIES = (
    {"reasoning": "Hm.", "signature": "c2ln", "text": "Let me look.",
     "calls": [{"name": "look", "arguments": {"city": "Pera"}}]},
    {"reasoning": "And the other.", "signature": "c2lnMg==",
     "calls": [{"name": "look", "arguments": {"city": "Galata"}},
               {"name": "look", "arguments": {"city": "Üsküdar"}}]},
    {"text": "14 degrees everywhere."},
)  # fmt: skip
CALLED = ['{"city":"Pera"}', '{"city":"Galata"}', '{"city":"Üsküdar"}']
ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


@pytest.fixture(scope="module", params=list(DOORS))
def behind(request: pytest.FixtureRequest) -> Iterator[tuple[str, str, Model]]:
    with chain(request.param, *REPLIES) as (url, model):
        yield request.param, url, model


@pytest.mark.parametrize("door", list(TALKS))
@ways
def test_two_rounds_of_tools_with_reasoning(
    behind: tuple[str, str, Model], door: str, stream: bool
) -> None:
    upstream, url, model = behind
    model.asked.clear()
    with TALKS[door](url, thinking=True) as talk:
        first = talk.ask("How warm is it?", stream)
        second = talk.results(["14"], stream)
        last = talk.results(["14", "14"], stream)
    assert first.calls == (("look", {"city": "Pera"}),)
    assert first.text == "Let me look."
    assert second.calls == (("look", {"city": "Galata"}), ("look", {"city": "Üsküdar"}))
    assert last.text == "14 degrees everywhere."
    assert last.calls == ()
    assert_whole(model.asked[-1], upstream, door)


def assert_whole(asked: Request, upstream: str, door: str) -> None:
    """The upstream got the history that it would have had directly."""
    blocks = [block for message in asked.messages for block in message.content]
    calls = [block for block in blocks if isinstance(block, ToolCall)]
    results = [block for block in blocks if isinstance(block, ToolResult)]
    assert [call.name for call in calls] == ["look"] * 3
    assert len(results) == 3
    assert [call.arguments for call in calls] == CALLED
    signed = [b.signature.data for b in blocks if isinstance(b, Reasoning) and b.signature]
    if upstream == "gemini":  # which signs the first call of a turn
        signed = [c.extras.signature.data for c in calls if c.extras and c.extras.signature]
        signed = [base64.b64decode(data).decode() for data in signed]
    if upstream not in ("openai-chat", "ollama"):  # which sign nothing
        assert signed == ["c2ln", "c2lnMg=="], f"{door} > {upstream}"


@pytest.mark.parametrize("door", list(TALKS))
@ways
def test_a_plain_text(behind: tuple[str, str, Model], door: str, stream: bool) -> None:
    _, url, model = behind
    with TALKS[door](url, model="other") as talk:
        heard = talk.ask("Hello", stream)
    assert heard.text == "Let me look."
    assert model.asked[-1].model == "other"
