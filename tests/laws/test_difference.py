"""What a law prints when it does not hold: the places, with what was wanted and what came."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import dragoman
import places
from dragoman import dialects, testing
from dragoman.laws.difference import SHOWN
from dragoman.testing import Document, difference, frames_difference, load_case

CORPUS = places.CORPUS
CASE = load_case(CORPUS / "tool-call")
(CHAT,) = (d for d in CASE.documents if (d.dialect, d.facet) == ("openai-chat", "request"))
LONG = "The sea is wide, and the letter says so at great length. " * 20


def test_equal_documents_do_not_differ() -> None:
    assert difference(CHAT.body, copy.deepcopy(CHAT.body)) == "no difference"


def test_each_place_is_a_pointer_with_both_values() -> None:
    wanted = {"a/b": [1, {"c": True}], "gone": {}}
    got = {"a/b": [1, {"c": 1}], "new": None}
    assert difference(got, wanted).splitlines() == [
        "/a~1b/1/c: true -> 1",
        "/gone: {} is missing",
        "/new: null is not wanted",
    ]


def test_an_item_in_between_does_not_make_others_of_those_after_it() -> None:
    wanted = [{"n": number} for number in range(40)]
    assert difference([*wanted[:3], {"n": "x"}, *wanted[3:]], wanted) == (
        '/3: {"n": "x"} is not wanted'
    )
    assert difference([*wanted[:3], *wanted[4:]], wanted) == '/3: {"n": 3} is missing'


def test_a_long_text_is_shown_where_it_differs() -> None:
    (line,) = difference({"t": LONG.replace("wide", "deep", 1)}, {"t": LONG}).splitlines()
    assert "wide" in line
    assert "deep" in line
    (line,) = difference({"t": LONG + "!"}, {"t": LONG}).splitlines()
    assert "!" in line
    assert len(line) < 200


def test_the_order_of_keys_is_a_difference() -> None:
    written = difference({"b": 1, "a": 1}, {"a": 1, "b": 1})
    assert written == "/: keys in another order: a, b -> b, a"


def test_it_is_short_however_much_differs() -> None:
    written = difference({"m": [{"t": LONG + str(n)} for n in range(500)]}, {"m": ["x"] * 500})
    assert written.count("\n") == SHOWN
    assert written.endswith("... and 488 more")
    assert len(written) < 3000


def test_trees_differ_by_their_fields() -> None:
    one, other = (
        dragoman.read({"model": "m", "messages": [{"role": "user", "content": text}]}, "chat")
        for text in ("Hi", "Ho")
    )
    assert difference(other, one) == '/messages/0/content/0/text: "Hi" -> "Ho"'


def test_streams_differ_by_their_frames() -> None:
    frames = [b'data: {"n":%d}\n\n' % number for number in range(3)]
    wanted = b"".join(frames)
    assert frames_difference(wanted.replace(b"2", b"7"), wanted, "openai-chat") == "/2/1/n: 2 -> 7"
    assert "other bytes" in frames_difference(wanted + b": x\n\n", wanted, "openai-chat")


# -- the laws ---------------------------------------------------------------------------------


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chat that forgets the arguments of calls when it is written."""
    chat = type(dialects.get("openai-chat"))
    write = chat.write

    def forget(self: Any, *given: Any, **named: Any) -> Any:
        document = copy.deepcopy(write(self, *given, **named))
        for message in document.get("messages", ()):
            for call in message.get("tool_calls", ()):
                call["function"]["arguments"] = "{}"
        return document

    monkeypatch.setattr(chat, "write", forget)


def broken(law: Any, *given: Any) -> str:
    with pytest.raises(AssertionError) as failure:
        law(*given)
    return str(failure.value)


@pytest.mark.usefixtures("forgetful")
def test_laws_that_fail_print_the_places() -> None:
    anthropic: Document = next(
        d for d in CASE.documents if (d.dialect, d.facet) == ("anthropic-messages", "request")
    )
    for written, place in (
        (broken(testing.identity, CHAT), "/messages/1/content/1/arguments: "),
        (
            broken(testing.pair, CASE, anthropic, "openai-chat"),
            "/tool_calls/0/function/arguments: ",
        ),
    ):
        assert place in written
        assert '-> "{}"' in written
        assert written.count("\n") <= SHOWN
