"""A session gives what a conversion gives: bytes, ledger and errors, whatever came before."""

from __future__ import annotations

import tracemalloc
from operator import eq
from typing import Any
from zlib import crc32

import pytest

import choosing
import dragoman
import places
import stories
import talks
from dragoman import Exchange, Session, Sessions, dialects
from dragoman.core import printed
from dragoman.providers import Provider
from dragoman.testing import Document, load_corpus
from upstream import Upstream

REQUESTS = [
    document
    for case in load_corpus(places.CORPUS)
    for document in case.documents
    if document.facet == "request" and stories.key_of(document.dialect, document.body)
]
GREAT = ("openai-chat", "anthropic-messages", "openai-responses", "gemini")
TARGETS = [
    name for name in dialects.names() if "write" in dialects.get(name).facets().get("request", ())
]
CHAT: dict[str, Any] = {"source": "openai-chat", "target": "anthropic-messages"}
SOME = {True: 3, False: 12}
"""So many targets are tried of each document, in a quick run and in a whole one."""


def some_targets(document: Document) -> list[str]:
    found = [name for name in choosing.targets(document) if name in TARGETS]
    found.sort(key=lambda name: crc32(f"{document.name} {name}".encode()))
    return found[: SOME[choosing.chosen["quick"]]]


@pytest.mark.everywhere
@pytest.mark.parametrize("document", REQUESTS, ids=lambda d: d.name)
def test_every_conversation_of_the_corpus(document: Document) -> None:
    key = stories.key_of(document.dialect, document.body)
    assert key is not None
    requests = list(stories.story(document.body, key, crc32(document.name.encode())))
    for target in some_targets(document):
        options = {"source": document.dialect, "target": target}
        found = list(stories.differences(iter(requests), Session, **options))
        assert not found, f"{target}: {found[0]}"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", GREAT)
def test_an_agent_at_work(source: str, target: str) -> None:
    for seed, marks in enumerate((False, True)):
        requests = map(stories.compact, stories.agent(source, 14, seed, marks))
        found = list(stories.differences(requests, Session, source=source, target=target))
        assert not found, found[0]


@pytest.mark.parametrize(
    "options",
    [
        {"fail_on": "dropped"},
        {"fail_on": ("document.key", "renamed")},
        {"model": "claude-opus-4-7"},
        {"limit": 2_000},
        {"carry": True},
        {"carry": True, "key": b"secret"},
        {"models": {"model": [{"names": ["m"], "like": "claude-opus-4-7"}]}},
        {"source": None},
    ],
    ids=str,
)
@pytest.mark.parametrize("target", GREAT)
def test_every_option(options: dict[str, Any], target: str) -> None:
    for source in GREAT[:2]:
        doc = list(stories.agent(source, 6))[-1]
        key = stories.key_of(source, doc)
        assert key is not None
        given = {"source": source, "target": target} | options
        found = list(stories.differences(stories.story(doc, key, 3), Session, **given))
        assert not found, found[0]


def test_a_capsule_is_given_back() -> None:
    session = Session(source="anthropic-messages", target="openai-chat", carry=True)
    back = Session(source="openai-chat", target="anthropic-messages")
    for request in stories.agent("anthropic-messages", 4, marks=True):
        data = stories.compact(request)
        there = session.convert(data)
        assert there.capsule is not None
        same = back.convert(there.to_json(), capsule=there.capsule)
        plain = dragoman.convert(there.to_json(), **CHAT, capsule=there.capsule)
        assert (same.to_json(), same.losses) == (plain.to_json(), plain.losses)
        assert same.document == request
        assert same.restored == plain.restored


def test_ids_are_asked_for_as_often() -> None:
    """Gemini's calls have no ids here, and each is invented anew in each turn."""
    call = {"functionCall": {"name": "look", "args": {}}}
    result = {"functionResponse": {"name": "look", "response": {"output": "x"}}}
    turns = [{"role": "model", "parts": [call]}, {"role": "user", "parts": [result]}]
    doc = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}, *turns * 4]}

    def counted() -> Any:
        made: list[str] = []

        def ids(prefix: str) -> str:
            made.append(prefix)
            return f"{prefix}_{len(made)}x"

        return ids

    options: dict[str, Any] = {"source": "gemini", "target": "openai-chat", "model": "m"}
    plain = counted()
    session = Session(**options, ids=counted())
    for count in range(1, 10):
        data = stories.compact({**doc, "contents": doc["contents"][:count]})
        ours = stories.outcome(session.convert, data)
        assert ours == stories.outcome(dragoman.convert, data, **options, ids=plain)


def test_the_law_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """With == in the place of an exact comparison, 1 passes for 1.0 and the order is lost."""
    doc = list(stories.agent("openai-chat", 4))[-1]
    assert not list(stories.differences(stories.story(doc, "messages", 1), Session, **CHAT))
    monkeypatch.setattr(printed, "same", eq)
    for change in ({"a": 1}, {"a": True}), ({"a": 1, "b": 1.0}, {"b": 1, "a": 1.0}):
        requests = (
            stories.compact(
                {"model": "m", "messages": [{"role": "user", "content": "Hi"}, written]}
            )
            for written in [
                {"role": "assistant", "content": "Hi", "extra": value} for value in change
            ]
        )
        options = {"source": "openai-chat", "target": "openai-chat"}
        assert list(stories.differences(requests, Session, **options))


def test_a_failed_conversion_leaves_nothing_behind() -> None:
    """The request between is read and refused by the writer: what is known is of the first one."""
    one = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "1", "x": {"a": 1}}]
    two = [one[0], {"role": "assistant", "content": "1", "x": {"a": 1.0}}]
    requests = [
        stories.compact({"model": model, "messages": messages})
        for model, messages in (("m", one), ("", two), ("m", two), ("m", [*two, one[0]]))
    ]
    options = {"source": "openai-chat", "target": "openai-chat"}
    assert not list(stories.differences(iter(requests), Session, **options))
    assert not list(stories.differences(iter(requests), Session, **CHAT))


OPENED = [
    {"role": "assistant", "content": None, "tool_calls": [stories.tool_call("c", "look", "{}")]},
    {"role": "tool", "tool_call_id": "c", "content": "x"},
]
"""A conversation that the model has begun."""


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_put_before_a_conversation_is_put_there_each_time(target: str) -> None:
    """A first turn of the user, or the word without which no JSON may be asked for."""
    chat = [{"role": "user", "content": "Hi"}, *OPENED, {"role": "assistant", "content": "So."}]
    for told in (OPENED * 3, chat * 3):
        requests = [
            stories.compact(
                {
                    "model": "m",
                    "messages": told[:count],
                    "response_format": {"type": "json_object"},
                }
            )
            for count in (2, 4, 4, 6, 3, 6)
        ]
        source = "groq" if target == "openai-chat" else "openai-chat"
        found = list(stories.differences(iter(requests), Session, source=source, target=target))
        assert not found, found[0]


def test_what_failed_while_it_was_written_is_cut_off() -> None:
    """The turn of a request that is refused for its losses is not part of the next one."""
    options: dict[str, Any] = {"source": "openai-chat", "target": "gemini", "fail_on": "dropped"}
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]
    for more in ({"role": "user", "content": "1", "name": "x"}, {"role": "user", "content": "2"}):
        told = [*talk, *talk, more, *talk[1:], *talk]
        requests = [
            stories.compact({"model": "m", "messages": told[:count]}) for count in (1, 3, 5, 3, 7)
        ]
        requests.append(requests[0])
        assert not list(stories.differences(iter(requests), Session, **options))


def called(name: str, function: str) -> list[dict[str, Any]]:
    call = stories.tool_call(name, function, "{}")
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": name, "content": "x"},
    ]


def spelled(name: str, function: str) -> tuple[str, str]:
    """An id and the name of a tool as Anthropic gets them."""
    messages = [{"role": "user", "content": "Hi"}, *called(name, function)]
    document = dragoman.convert({"model": "m", "messages": messages}, **CHAT).document
    call = document["messages"][1]["content"][0]
    return call["id"], call["name"]


@pytest.mark.parametrize("tools", [False, True])
def test_names_of_turns_that_are_gone_are_free_again(tools: bool) -> None:
    """And those of turns that stay are not: what had to be renamed stands beside its new name."""
    odd = "a b", "c d"
    new = spelled(*odd)
    assert new[0] != odd[0]
    assert new[1] != odd[1]
    begun = [{"role": "user", "content": "Hi"}, *called("e", "f")]
    doc: dict[str, Any] = {"model": "m"}
    if tools:
        function = {"name": "f", "parameters": {"type": "object", "properties": {}}}
        doc["tools"] = [{"type": "function", "function": function}]
    requests = [
        stories.compact({**doc, "messages": [*begun, *more]})
        for more in (
            (),
            called(*odd),
            called(*new),
            (),
            called(*odd),
            [*called(*odd), *called(*new)],
            [*called(*odd), *called(*new), *called("g", odd[1])],
            called(new[0], "f"),
        )
    ]
    for target in GREAT[1:]:
        options = {"source": "openai-chat", "target": target}
        assert not list(stories.differences(iter(requests), Session, **options))


def test_an_item_to_which_a_later_turn_was_added() -> None:
    """A model that says nothing is left out, and what the user says then joins what he had said."""
    turns = [
        [{"role": "user", "content": "Hi"}],
        [{"role": "assistant", "content": ""}, {"role": "user", "content": "Well?"}],
        [{"role": "assistant", "content": "Hello."}, {"role": "user", "content": "Well?"}],
    ]
    requests = [
        stories.compact({"model": "m", "messages": [message for turn in told for message in turn]})
        for told in (turns[:1], turns[:2], [turns[0], turns[2]], turns, [*turns, turns[2]])
    ]
    for target in ("bedrock-converse", *GREAT):
        options = {"source": "openrouter", "target": target}
        assert not list(stories.differences(iter(requests), Session, **options))


def test_documents_belong_to_the_caller() -> None:
    session = Session(**CHAT)
    requests = [stories.compact(request) for request in stories.agent("openai-chat", 5)]
    for data in requests:
        result = session.convert(data)
        plain = dragoman.convert(data, **CHAT)
        assert result.document == plain.document
        assert result.document is result.document
        assert result.to_json() == plain.to_json()
        result.document["messages"][0]["content"] = "changed"
        assert b"changed" in result.to_json()
        document, losses = result
        assert (document, losses) == (result.document, plain.losses)
        assert repr(result) == repr(plain)


def test_a_document_that_is_no_bytes_is_converted_each_time() -> None:
    session = Session(**CHAT)
    for request in stories.agent("openai-chat", 4):
        plain = dragoman.convert(request, **CHAT)
        for doc in (request, bytearray(stories.compact(request))):
            result = session.convert(doc)
            assert (result.to_json(), result.losses) == (plain.to_json(), plain.losses)


def test_losses_that_are_asked_for_late_are_those_of_their_request() -> None:
    data = [
        stories.compact(request).replace(b'{"role":"tool"', b'{"role":"user","role":"tool"')
        for request in stories.agent("openai-chat", 5)
    ]
    session = Session(**CHAT)
    results = [session.convert(each) for each in data]
    for each, result in reversed(list(zip(data, results, strict=True))):
        assert result.losses == dragoman.convert(each, **CHAT).losses


def test_it_tells_what_it_is() -> None:
    assert repr(Session(**CHAT)) == "<Session: openai-chat to anthropic-messages>"
    assert repr(Session(target="gemini")) == "<Session: any to gemini>"


def test_a_session_holds_its_last_turn() -> None:
    """The estimate of its memory is about right, and a conversation that ended leaves nothing."""
    docs = [
        {"model": "m", "messages": [{"role": "user", "content": text * 200_000}] * 2}
        for text in ("x", "ü", "x")
    ]
    requests = [stories.compact(doc) for doc in docs]
    session = Session(**CHAT)
    session.convert(stories.compact(docs[0] | {"messages": docs[0]["messages"][:1]}))
    tracemalloc.start()
    try:
        for data in requests * 3:
            session.convert(bytes(bytearray(data)))
            held = tracemalloc.get_traced_memory()[0]
            assert held / 2 < session.size < held * 2 + 10_000
        session.forget()
        assert tracemalloc.get_traced_memory()[0] < 100_000
        assert session.size == 0
    finally:
        tracemalloc.stop()


# -- several conversations ------------------------------------------------------------------------


def test_conversations_in_any_order() -> None:
    """Two agents and a client that asks for titles in between."""
    pool = Sessions(**CHAT)
    talks = [list(stories.agent("openai-chat", 6, seed)) for seed in (1, 2)]
    for index, talk in enumerate(talks):
        for request in talk:
            request["messages"][1] = {"role": "user", "content": f"task {index}" * 50}
    title = {"model": "m", "messages": [{"role": "user", "content": "A title, please."}]}
    for turn in range(6):
        for request in (talks[0][turn], title, talks[1][turn]):
            data = stories.compact(request)
            plain = dragoman.convert(data, **CHAT)
            result = pool.convert(data)
            assert (result.to_json(), result.losses) == (plain.to_json(), plain.losses)
    assert len(pool) == 3
    assert pool.size == sum(session.size for session in pool._sessions)


def test_a_branch_leaves_the_conversation_as_it_is() -> None:
    pool = Sessions(**CHAT)
    talk = [stories.compact(request) for request in stories.agent("openai-chat", 9)]
    for data in talk:
        pool.convert(data)
    (main,) = pool._sessions
    pool.convert(talk[2])
    assert len(pool) == 2
    assert pool.session_of(talk[-1]) is main


def test_a_pool_keeps_to_its_budget() -> None:
    pool = Sessions(budget=40_000, **CHAT)
    for number in range(50):
        text = f"{number} " * 1_000
        doc = {"model": "m", "messages": [{"role": "user", "content": text}]}
        pool.convert(stories.compact(doc))
        assert pool.size <= 40_000
    assert 1 < len(pool) < 10
    pool.convert(
        stories.compact({"model": "m", "messages": [{"role": "user", "content": "x" * 50_000}]})
    )
    assert pool.size <= 40_000


def test_a_pool_takes_what_is_no_bytes() -> None:
    pool = Sessions(**CHAT)
    request = next(stories.agent("openai-chat", 1))
    assert pool.convert(request).document == dragoman.convert(request, **CHAT).document
    assert len(pool) == 0
    with pytest.raises(dragoman.Malformed):
        pool.convert(b"{")


# -- exchanges and providers ----------------------------------------------------------------------

PAIRS = [(client, upstream) for client in GREAT for upstream in GREAT if client != upstream]


@pytest.mark.parametrize(("client", "upstream"), PAIRS)
def test_an_exchange_with_a_session(client: str, upstream: str) -> None:
    """The request is the same, and so is what the exchange knows for the reply."""
    session = Session(source=client, target=upstream)
    reply = stories.compact(talks.replies(upstream))
    for turn, request in enumerate(stories.agent(client, 6)):
        data, stream = stories.compact(request), (None, True, False)[turn % 3]
        plain = Exchange(client=client, upstream=upstream)
        ours = Exchange(client=client, upstream=upstream, session=session)
        there, wanted = ours.request(data, stream=stream), plain.request(data, stream=stream)
        assert (there.to_json(), there.losses) == (wanted.to_json(), wanted.losses)
        assert (ours.asked, ours.losses) == (plain.asked, plain.losses)
        assert ours.input_tokens == plain.input_tokens
        back, expected = ours.response(reply), plain.response(reply)
        assert (back.to_json(), back.losses) == (expected.to_json(), expected.losses)
        assert ours.outline.keys() == plain.outline.keys()
        assert ours.add({"model": "x", "extra": [1]}) == plain.add({"model": "x", "extra": [1]})
        assert ours.sent == plain.sent
        assert not ours.add({"extra": 2})
        ours.asked.clear()
        ours.sent.clear()


def test_a_session_of_other_dialects_is_refused() -> None:
    with pytest.raises(dragoman.Unsupported, match="is not one from gemini"):
        Exchange(client="gemini", upstream="openai-chat", session=Session(**CHAT))
    with pytest.raises(dragoman.Unsupported, match="those of the session"):
        Exchange(client="chat", upstream="anthropic", session=Session(**CHAT), model="m")


def test_a_provider_that_remembers() -> None:
    """It sends what one without memory sends."""
    reply = talks.replies("anthropic-messages")
    sent: list[list[Any]] = []
    for memory in (0, 1_000_000):
        with Upstream(reply, forever=True) as upstream:
            options: dict[str, Any] = {"url": upstream.url, "key": "k", "extra": {"top_k": 3}}
            with Provider("anthropic-messages", **options, remember=memory) as provider:
                for request in stories.agent("openai-chat", 5):
                    assert provider.request(stories.compact(request)).request_losses
                    assert provider.create(request["messages"], model="m").document
                assert (provider._sessions is None) == (memory == 0)
                if provider._sessions is not None:
                    assert len(provider._sessions) == 1
            sent.append([(seen.body, seen.path) for seen in upstream.seen])
    assert sent[0] == sent[1]
    assert len(sent[0]) == 10


def test_a_freeform_call_before_a_message_that_is_broken() -> None:
    call = {"id": "c", "type": "custom", "custom": {"name": "patch", "input": "x"}}
    told = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "done"},
        {"role": "assistant", "content": "Done."},
    ]
    broken, whole = (
        stories.compact({"model": "m", "messages": [*told, {"role": role, "content": "More"}]})
        for role in ("nobody", "user")
    )
    session = Session(source="openai-chat", target="gemini")
    with pytest.raises(dragoman.Malformed):
        session.convert(broken)
    plain = dragoman.convert(whole, source="openai-chat", target="gemini")
    assert session.convert(whole).losses == plain.losses
