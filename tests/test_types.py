"""What type checkers see of the public functions; ``make types`` holds it, and a run that it is so.

``assert_type`` does nothing at run time, so each is followed by what makes it true.
"""

from __future__ import annotations

from typing import Any, assert_type

import pytest

import dragoman
from dragoman.model import (
    Failure,
    History,
    Request,
    Response,
    Toolbox,
    ToolChoice,
    Tree,
)

CHAT = "openai-chat"
REQUEST = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "seed": 1}
REPLY = {"model": "m", "choices": [{"message": {"role": "assistant", "content": "Hello."}}]}


def test_a_tree_is_typed_by_its_facet() -> None:
    request = dragoman.read(REQUEST, CHAT)
    assert_type(request, Request)
    assert isinstance(request, Request)
    named = dragoman.read(REQUEST, CHAT, facet="request")
    assert_type(named, Request)
    assert named == request
    messages = dragoman.read(REQUEST["messages"], CHAT, facet="messages")
    assert_type(messages, History)
    assert isinstance(messages, History)
    tools = dragoman.read([], CHAT, facet="tools")
    assert_type(tools, Toolbox)
    assert isinstance(tools, Toolbox)
    choice = dragoman.read("auto", CHAT, facet="tool-choice")
    assert_type(choice, ToolChoice)
    assert isinstance(choice, ToolChoice)
    response = dragoman.read(REPLY, CHAT, facet="response")
    assert_type(response, Response)
    assert isinstance(response, Response)
    error = dragoman.read({"error": {"message": "No."}}, CHAT, facet="error")
    assert_type(error, Failure)
    assert isinstance(error, Failure)


@pytest.mark.parametrize("facet", ["request"])
def test_a_facet_may_be_any_string(facet: str) -> None:
    tree = dragoman.read(REQUEST, CHAT, facet=facet)
    assert_type(tree, Tree)
    assert isinstance(tree, Request)
    assert_type(dragoman.convert(REQUEST, target="cohere", facet=facet), dragoman.Result)
    assert_type(dragoman.check(REQUEST, CHAT, facet=facet), list[dragoman.Problem])


def test_a_result_unpacks_into_document_and_losses() -> None:
    result = dragoman.convert(REQUEST, source=CHAT, target="anthropic-messages")
    assert_type(result, dragoman.Result)
    document, losses = result
    assert (document, losses) == (result.document, result.losses)
    assert_type(result.losses, tuple[dragoman.Loss, ...])
    document, losses = dragoman.join(REQUEST, REPLY, dialect=CHAT)
    assert document["messages"][-1]["content"] == "Hello."
    assert losses == ()


def test_keys_that_stand_twice_are_among_the_losses_that_are_unpacked() -> None:
    data = b'{"model": "a", "model": "m", "messages": [{"role": "user", "content": "Hi"}]}'
    _, losses = dragoman.convert(data, source=CHAT, target="cohere")
    assert [(loss.what, loss.target) for loss in losses] == [("document.key", "cohere")]


def test_each_loss_has_its_target() -> None:
    for target in ("anthropic", "anthropic-messages"):
        losses = dragoman.convert(REQUEST, source=CHAT, target=target).losses
        assert {loss.target for loss in losses} == {"anthropic-messages"}
    written = dragoman.write(dragoman.read(REQUEST, CHAT), "anthropic")
    assert {loss.target for loss in written.losses} == {"anthropic-messages"}
    exchange = dragoman.Exchange(client="anthropic-messages", upstream="cohere")
    asked = {"model": "m", "max_tokens": 9, "top_k": 3, "messages": REQUEST["messages"]}
    sent = exchange.request(asked | {"metadata": {"user_id": "u"}})
    assert {loss.target for loss in sent.losses} == {"cohere"}
    assert {x.target for x in exchange.response(reply()).losses} == {"anthropic-messages"}
    assert dragoman.Loss("dropped", "seed", "/seed", "why").target == ""


def reply() -> Any:
    found = dragoman.convert(REPLY, source=CHAT, target="cohere", facet="response").document
    return found | {"message": found["message"] | {"citations": [{"start": 0, "end": 1}]}}


TIED = [{"role": "user", "content": "Hi"}]


def test_what_is_tied_is_told_from_what_is_unknown() -> None:
    unknown, tied = dragoman.detect({"greeting": "Hi"}), dragoman.detect(TIED)
    assert_type(unknown, dragoman.Guesses)
    assert_type(tied.tied, tuple[dragoman.Guess, ...])
    assert not unknown
    assert not unknown.tied
    assert not tied
    assert {guess.dialect for guess in tied.tied} >= {"openai-chat", "anthropic-messages"}
    assert {guess.confidence for guess in tied.tied} == {tied.tied[0].confidence}
    sure = dragoman.detect(REPLY)
    assert (sure[0].dialect, sure.tied) == (CHAT, ())


def test_convert_names_what_is_tied() -> None:
    with pytest.raises(
        dragoman.Undetected, match=r"ambiguous: anthropic-messages, .* match equally"
    ) as tied:
        dragoman.convert(TIED, target="gemini", facet="messages")
    assert len(tied.value.tied) > 1
    with pytest.raises(dragoman.Undetected, match="not recognised as any supported") as unknown:
        dragoman.convert({"greeting": "Hi"}, target="gemini")
    assert unknown.value.tied == ()
    assert isinstance(unknown.value, dragoman.Unsupported)
    with pytest.raises(dragoman.Undetected, match="this stream is not recognised"):
        dragoman.convert(b"data: 1\n\n", target="gemini", facet="stream")
