"""The audit by node, turned on itself: it notices what it is there to notice."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

import places
from dragoman import dialects, testing
from dragoman.core.walk import placed
from dragoman.errors import Unsayable
from dragoman.laws.auditing import SPEAKS_OF, faults
from dragoman.laws.changes import Change
from dragoman.laws.comparing import changes
from dragoman.ledger import CODES, Ledger, Loss
from dragoman.model import (
    Cache,
    Candidate,
    Citation,
    Media,
    Message,
    Params,
    Reasoning,
    Request,
    Response,
    Source,
    Stop,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    Tree,
    Usage,
)
from dragoman.testing import Document, load_corpus

CORPUS = load_corpus(places.CORPUS)
WHOLE = [document for case in CORPUS for document in case.documents if not document.degraded]

REQUEST = placed(
    Request(
        "m",
        (
            Message("system", (Text("Be brief."),)),
            Message(
                "user",
                (Text("What is in this picture?", cache=Cache()),
                 Media("image", Source("base64", "aWNvbg==", "image/png"), detail="low")),
            ),
            Message(
                "assistant",
                (Reasoning(("First.", "Second."), ("In short.",), id="rs_1"),
                 Text("I will look it up.", (Citation("url", url="https://example.org/a"),)),
                 Text("Then I will tell you."),
                 ToolCall("call_1", "search", '{"q":"icon"}'),
                 ToolCall("call_2", "zoom", "{}")),
            ),
            Message("tool", (ToolResult("call_1", (Text("An icon."),)),)),
            Message("tool", (ToolResult("call_2", (Text("Larger."),), is_error=True),)),
            Message("user", (Text("Thanks. And now?"),), name="ann"),
            Message("user", (Text("Well?"),)),
        ),
        (Tool("search", "Look it up.", {"type": "object"}), Tool("zoom")),
        ToolChoice("auto"),
        Params(max_tokens=100, temperature=0.5, thinking=Thinking(effort="low")),
    ),
    "",
)  # fmt: skip
RESPONSE = placed(
    Response(
        "r_1",
        "m",
        (Candidate(Message("assistant", (Text("Done."),)), Stop("end")),),
        Usage(10, output=5),
        created=1.0,
    ),
    "",
)

Mutation = Callable[[Any], Any]


def heard_text(tree: Any, number: int, change: Mutation) -> Any:
    """The tree with the content of one message changed."""
    messages = list(tree.messages)
    message = messages[number]
    messages[number] = replace(message, content=tuple(change(list(message.content))))
    return replace(tree, messages=tuple(messages))


def block(number: int, place: int, **fields: Any) -> Mutation:
    def change(blocks: list[Any]) -> list[Any]:
        blocks[place] = replace(blocks[place], **fields)
        return blocks

    return lambda tree: heard_text(tree, number, change)


def without(number: int, place: int) -> Mutation:
    return lambda tree: heard_text(tree, number, lambda b: b[:place] + b[place + 1 :])


def joined(tree: Any) -> Any:
    return heard_text(
        tree, 2, lambda b: [b[0], replace(b[1], text=f"{b[1].text} {b[2].text}"), *b[3:]]
    )


def swapped(tree: Any) -> Any:
    return heard_text(tree, 2, lambda b: [b[0], b[2], b[1], *b[3:]])


def merged(tree: Any) -> Any:
    first, second = tree.messages[5], tree.messages[6]
    both = replace(first, content=(*first.content, *second.content))
    return replace(tree, messages=(*tree.messages[:5], both))


def param(name: str, value: Any) -> Mutation:
    return lambda tree: replace(tree, params=replace(tree.params, **{name: value}))


def field(name: str, value: Any) -> Mutation:
    return lambda tree: replace(tree, **{name: value})


def spoken(**fields: Any) -> Mutation:
    def change(tree: Any) -> Any:
        return replace(tree, candidates=(replace(tree.candidates[0], **fields),))

    return change


# What is done to the tree, and the loss that tells of it: its kind, its code, and where.
MUTATIONS: dict[str, tuple[Tree, Mutation, Loss]] = {
    "a text is gone": (
        REQUEST, without(2, 2), Loss("dropped", "content.role", "/messages/2/content/2", "")),
    "a call is gone": (
        REQUEST, without(2, 4), Loss("dropped", "content.role", "/messages/2/content/4", "")),
    "a picture is gone": (
        REQUEST, without(1, 1), Loss("dropped", "media", "/messages/1/content/1", "")),
    "two texts are one": (
        REQUEST, joined, Loss("approximated", "text.boundary", "/messages/2/content/2", "")),
    "two texts changed places": (
        REQUEST, swapped, Loss("approximated", "content.order", "/messages/2/content/2", "")),
    "a word is another": (
        REQUEST, block(2, 2, text="Then I will tell him."),
        Loss("approximated", "text.control", "/messages/2/content/2", "")),
    "a text ends otherwise": (
        REQUEST, block(5, 0, text="Thanks."),
        Loss("approximated", "text.space", "/messages/5/content/0", "")),
    "a citation is gone": (
        REQUEST, block(2, 1, citations=()),
        Loss("dropped", "text.citations", "/messages/2/content/1/citations/0", "")),
    "a mark is gone": (
        REQUEST, block(1, 0, cache=None),
        Loss("dropped", "cache", "/messages/1/content/0/cache", "")),
    "the detail is gone": (
        REQUEST, block(1, 1, detail=None),
        Loss("dropped", "media.detail", "/messages/1/content/1", "")),
    "the parts of a thought are one": (
        REQUEST, block(2, 0, content=("First. Second.",)),
        Loss("approximated", "text.boundary", "/messages/2/content/0", "")),
    "the summary is gone": (
        REQUEST, block(2, 0, summary=()),
        Loss("dropped", "reasoning.summary", "/messages/2/content/0", "")),
    "the id of a thought is gone": (
        REQUEST, block(2, 0, id=None),
        Loss("dropped", "reasoning.id", "/messages/2/content/0", "")),
    "arguments are others": (
        REQUEST, block(2, 3, arguments='{"q":"idol"}'),
        Loss("approximated", "tool_call.arguments", "/messages/2/content/3", "")),
    "a call has another id": (
        REQUEST, block(2, 3, id="call_9"),
        Loss("renamed", "tool_call.id", "/messages/2/content/3", "")),
    "a call has another name": (
        REQUEST, block(2, 3, name="find"),
        Loss("renamed", "tool.name", "/messages/2/content/3", "")),
    "a result answers another call": (
        REQUEST, block(3, 0, call_id="call_9"),
        Loss("renamed", "tool_call.id", "/messages/3/content/0", "")),
    "a tool did not fail": (
        REQUEST, block(4, 0, is_error=None),
        Loss("dropped", "tool_result.error", "/messages/4/content/0", "")),
    "what a tool heard_text is gone": (
        REQUEST, block(3, 0, content=()),
        Loss("dropped", "tool_result.content", "/messages/3/content/0/content/0", "")),
    "two messages are one": (
        REQUEST, merged, Loss("approximated", "message.boundary", "/messages/6", "")),
    "a speaker has no name": (
        REQUEST, lambda tree: replace(
            tree, messages=(
                *tree.messages[:5], replace(tree.messages[5], name=None), tree.messages[6])),
        Loss("dropped", "message.name", "/messages/5", "")),
    "another speaks": (
        REQUEST, lambda tree: replace(
            tree, messages=(replace(tree.messages[0], role="developer"), *tree.messages[1:])),
        Loss("approximated", "message.role", "/messages/0", "")),
    "a tool is gone": (
        REQUEST, lambda tree: replace(tree, tools=tree.tools[:1]),
        Loss("dropped", "tool", "/tools/1", "")),
    "a tool has no schema": (
        REQUEST, lambda tree: replace(
            tree, tools=(replace(tree.tools[0], schema=None), tree.tools[1])),
        Loss("approximated", "tool.schema", "/tools/0", "")),
    "the choice is gone": (
        REQUEST, field("tool_choice", None), Loss("dropped", "tool_choice", "/tool_choice", "")),
    "the temperature is gone": (
        REQUEST, param("temperature", None),
        Loss("dropped", "temperature", "/params/temperature", "")),
    "the limit is another": (
        REQUEST, param("max_tokens", 50),
        Loss("approximated", "max_tokens", "/params/max_tokens", "")),
    "a seed is made up": (REQUEST, param("seed", 1), Loss("invented", "seed", "/params", "")),
    "the effort is another": (
        REQUEST, param("thinking", Thinking(effort="high")),
        Loss("approximated", "thinking.effort", "/params/thinking", "")),
    "the model is gone": (REQUEST, field("model", None), Loss("dropped", "model", "", "")),
    "the id of a response is gone": (
        RESPONSE, field("id", None), Loss("dropped", "response.id", "", "")),
    "the usage is gone": (RESPONSE, field("usage", None), Loss("dropped", "usage", "/usage", "")),
    "a count is another": (
        RESPONSE, field("usage", Usage(11, output=5)),
        Loss("approximated", "usage", "/usage", "")),
    "it ended otherwise": (
        RESPONSE, spoken(stop=Stop("length")),
        Loss("approximated", "stop.reason", "/candidates/0", "")),
    "nothing was heard_text": (
        RESPONSE, spoken(message=Message("assistant")),
        Loss("dropped", "content.role", "/candidates/0/message/content/0", "")),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_change_is_noticed_and_excused_by_its_own_loss_alone(name: str) -> None:
    tree, mutate, told = MUTATIONS[name]
    back = mutate(tree)
    found = changes(tree, back)
    silent = [what for what, _ in faults(found, [])]
    assert "silent" in silent, "nobody noticed"
    assert not faults(found, [told]), faults(found, [told])
    elsewhere = replace(told, path="/messages/1/content/0" if "2" in told.path else "/messages/2")
    if told.kind == "invented":
        elsewhere = replace(told, what="stop")  # what is new has no place that could be wrong
    of_another = Loss(told.kind, "verbosity", told.path, "")
    at_the_root = Loss("dropped", "top_k", "", "")
    for wrong in (elsewhere, of_another, at_the_root):
        kinds = {kind for kind, _ in faults(found, [wrong])}
        assert kinds == {"silent", "bogus"}, f"{wrong} excuses it"
    kinds = {kind for kind, _ in faults(found, [told, at_the_root])}
    assert kinds == {"bogus"}, "a loss that did not happen goes unnoticed"


@pytest.mark.parametrize("tree", [REQUEST, RESPONSE], ids=["request", "response"])
def test_nothing_changed_and_nothing_is_to_tell(tree: Tree) -> None:
    assert not changes(tree, tree)
    (fault,) = faults([], [Loss("dropped", "temperature", "/params/temperature", "")])
    assert fault[0] == "bogus"


def test_a_kind_must_fit_what_happened() -> None:
    gone = changes(REQUEST, param("temperature", None)(REQUEST))
    assert faults(gone, [Loss("invented", "temperature", "/params/temperature", "")])
    new = changes(REQUEST, param("seed", 1)(REQUEST))
    assert faults(new, [Loss("dropped", "seed", "/params", "")])


def test_what_moved_is_found_again() -> None:
    back = replace(REQUEST, messages=(*REQUEST.messages[1:], REQUEST.messages[0]))
    (change,) = [c for c in changes(REQUEST, back) if not c.implied]
    assert (change.what, change.at) == ("order", "/messages/0/content/0")


def test_blocks_that_became_equal_have_not_changed_places() -> None:
    """Two pictures of which one loses its file name: nobody can tell them apart but by order."""
    picture = Media("image", Source("base64", "aWNvbg==", "image/png"))
    both = (replace(picture, filename="f"), picture)
    tree = placed(Request("m", (Message("user", both),)), "")
    back = placed(Request("m", (Message("user", (picture, picture)),)), "")
    (change,) = changes(tree, back)
    assert (change.what, change.how) == ("Media.filename", "gone")
    assert change.at == "/messages/0/content/0"


def test_every_code_says_what_it_speaks_of() -> None:
    """But for those of streams, of containers, of HTTP and of the capsule, which no tree has."""
    silent = {code for code in CODES if code.startswith(("stream.", "container.", "http."))}
    silent |= {"capsule", "system.trigger", "document.key"}  # which no tree has
    assert CODES.keys() - SPEAKS_OF.keys() == silent


SAMPLE = random.Random(12).sample(WHOLE, 60)


@pytest.mark.parametrize("document", SAMPLE, ids=lambda d: d.name)
def test_a_ledger_that_lies_is_caught(document: Document) -> None:
    """Each loss of real conversions, mislabelled: all of them are noticed."""
    for target in dialects.names():
        if not testing.speaks(target, document.facet) or target == document.dialect:
            continue
        try:
            found, losses = written(document, target)
        except Unsayable:
            continue
        for index, loss in enumerate(losses):
            rest = losses[:index] + losses[index + 1 :]
            other = "top_k" if loss.what != "top_k" else "seed"
            assert faults(found, [*rest, replace(loss, what=other)]), f"{loss} as {other}"


def test_a_ledger_that_keeps_silent_is_caught() -> None:
    """Most losses of real conversions are missed when those of one code are taken away.

    The others speak of a part of what another loss tells to be gone whole. Not one by one: the
    ids of a call and of its result are made up together, and so are the parts of a schema.
    """
    missed = total = 0
    for document in SAMPLE:
        for target in ("anthropic-messages", "openai-chat", "openai-responses", "gemini", "cohere"):
            if not testing.speaks(target, document.facet) or target == document.dialect:
                continue
            found, losses = written(document, target)
            for code in {loss.what for loss in losses}:
                total += 1
                missed += bool(faults(found, [loss for loss in losses if loss.what != code]))
    assert total > 100
    assert missed / total > 0.9, f"{missed} of {total}"


def written(document: Document, target: str) -> tuple[list[Change], list[Loss]]:
    tree = dialects.get(document.dialect).read(document.body, document.facet)
    if testing.needs_a_model(tree, target):
        tree = replace(tree, model="m")
    log, writer = Ledger(now=0), dialects.get(target)
    back = writer.read(writer.write(tree, log), document.facet)
    return changes(tree, back), [loss for loss in log.losses if testing.is_lossy(loss)]
