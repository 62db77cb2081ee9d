"""What Claude demands of the turns of a conversation in which it thinks."""

from __future__ import annotations

import pytest

from dragoman import dialects
from dragoman.core.resuming import Scan, Stages
from dragoman.dialects._claude_turns import (
    PREFILL_WITHOUT_THINKING,
    WITHOUT_THINKING,
    apart,
    are_signed,
    without_final_thinking,
)
from dragoman.dialects._claude_turns import why_unthinking as why
from dragoman.dialects.anthropic_messages.request import is_result, is_thinking
from dragoman.ledger import Ledger
from dragoman.model import Block, Json, Message, Reasoning, Request, Signature, Text

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


SIGNED = Reasoning(("x",), signature=Signature("s", "anthropic"), at="/signed")
WORDS = Text("x", at="/words")
ASKED = Message("user", (WORDS,))


def said(*blocks: Block) -> Message:
    return Message("assistant", blocks)


def request(*turns: Message) -> Request:
    return Request("m", turns, at="")


@pytest.mark.parametrize(
    ("after", "losses"),
    [
        ((), 1),
        ((Message("system", (WORDS,)),), 1),  # which is no turn, so the assistant's is the last
        ((Message("system", (WORDS,)), ASKED), 0),
    ],
)
def test_a_final_turn_has_no_thinking(after: tuple[Message, ...], losses: int) -> None:
    """ "an `assistant` message in the final position cannot contain `thinking`" """
    log = Ledger(target="anthropic-messages")
    tree = without_final_thinking(request(ASKED, said(SIGNED, WORDS), *after), log)
    assert [(loss.kind, loss.what, loss.path) for loss in log.losses] == [
        ("dropped", "reasoning", "/signed")
    ] * losses
    assert (SIGNED in tree.messages[1].content) is not bool(losses)


@pytest.mark.parametrize(
    ("turns", "places"),
    [
        ([said(SIGNED)], []),
        ([said(WORDS), said(SIGNED)], [1]),
        ([said(WORDS), said(SIGNED), said(WORDS), said(SIGNED)], [1]),  # it begins with thinking
        ([said(WORDS), said(SIGNED), ASKED, said(WORDS), said(SIGNED)], [1, 5]),
        ([said(WORDS), Message("user", ()), said(SIGNED)], [2]),
        ([said(WORDS), ASKED, said(SIGNED)], []),
    ],
)
def test_thinking_begins_a_turn(turns: list[Message], places: list[int]) -> None:
    """ "If an assistant message contains any thinking blocks, the first block must be `thinking`."
    A word of the user stands before it otherwise.
    """
    log = Ledger(target="anthropic-messages")
    tree = apart(request(*turns), dialects.get("anthropic-messages"), log)
    made = [n for n, turn in enumerate(tree.messages) if turn not in turns]
    assert made == places
    assert [loss.what for loss in log.losses] == ["message.empty"] * len(places)


@pytest.mark.parametrize(
    ("turns", "seen"),
    [
        ([ASKED, said(WORDS), ASKED], 3),
        ([ASKED, said(WORDS), ASKED, said(WORDS)], 3),  # the last turn may be written again
        ([ASKED, said(SIGNED), ASKED], 0),
    ],
)
def test_turns_without_signatures_are_looked_at_once(turns: list[Message], seen: int) -> None:
    """A session asks again with each turn, and looks at what is new."""
    scan = Scan("signed", Stages())
    assert are_signed(turns, scan) is (seen == 0)
    assert scan.begin([*turns[:3], said(WORDS), ASKED])[0] == seen
