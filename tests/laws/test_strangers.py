"""Stranger's keys, over the corpus; and that no reader decides by the number of keys."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import leaves
import places
import strangers
from dragoman import (
    DragomanError,
    Malformed,
    Transcoder,
    collect,
    convert,
    decompose,
    dialects,
    read,
)
from dragoman.dialect import Dialect
from dragoman.ledger import Ledger
from dragoman.streams.base import StreamReader
from dragoman.testing import load_corpus, resolves, speaks
from portraits import streams
from strangers import Stranger

CORPUS = load_corpus(places.CORPUS)
READERS = Path(dialects.__file__).parent
TARGETS = 2
"""how many other dialects each strange document is written as"""


def documents(dialect: str) -> Iterator[tuple[str, Stranger]]:
    """The strange documents of a dialect, one for each shape that the corpus has."""
    seen: set[object] = set()
    for case in CORPUS:
        for document in case.documents:
            if document.dialect == dialect:
                for stranger in strangers.strangers(document.body, seen, (document.facet,)):
                    yield document.facet, stranger


@pytest.mark.parametrize("dialect", dialects.names())
def test_a_strange_key_comes_back_or_is_reported(dialect: str) -> None:
    faults: list[str] = []
    for facet, stranger in documents(dialect):
        others = [t for t in dialects.names() if t != dialect and speaks(t, facet)]
        some = strangers.sample(others, TARGETS, f"{facet}{stranger.pointer}")
        for target in (dialect, *some):
            if (problem := strangers.fault(stranger, dialect, target, facet)) is not None:
                faults.append(f"{facet} > {target}: {problem}")
    assert not faults, "\n".join(faults[:20])


AI_SDK = [name for name in dialects.names() if name.startswith("vercel-")]
OPTIONS: list[tuple[str, Any]] = [
    (key, value)
    for key in ("providerOptions", "providerMetadata")
    for value in (
        {"zq": 77001},
        {"openai": {"zq": 77002}},
        {"google": {"thoughtSignature": "enEtMQ=="}},
        {"anthropic": {"signature": "enEtMg=="}},
        "zq-no-object",
    )
]


@pytest.mark.parametrize("dialect", AI_SDK)
def test_options_at_other_places_come_back_or_are_reported(dialect: str) -> None:
    """``providerOptions`` in a reply, ``providerMetadata`` in a request, beside what is known.

    All of the AI SDK know the keys, and each where another does not: whoever renames one must not
    write it over the other. Each scalar of the document is looked for, not the strange one alone.
    """
    seen: set[object] = set()
    faults: list[str] = []
    for case in CORPUS:
        for document in case.documents:
            if document.dialect != dialect or document.facet not in ("response", "messages"):
                continue
            for stranger in strangers.borrowed(document.body, OPTIONS, seen, (document.facet,)):
                for target in AI_SDK:
                    if speaks(target, document.facet):
                        faults += misses(stranger, dialect, target, document.facet)
    assert not faults, "\n".join(faults[:20])


def misses(stranger: Stranger, dialect: str, target: str, facet: str) -> list[str]:
    """What a conversion gets wrong: places of losses, what comes back, scalars without a report."""
    about = f"{facet} > {target}: {stranger.pointer} {stranger.value!r}"
    try:
        done = convert(stranger.document, source=dialect, target=target, facet=facet, now=0)
    except DragomanError:
        return []
    if target == dialect:
        return [] if done.document == stranger.document and not done.losses else [about]
    nowhere = [x for x in done.losses if not resolves(stranger.document, x.path)]
    missed = leaves.unaccounted(stranger.document, done.document, done.losses)
    return [f"{about}: {x}" for x in (*nowhere, *(leaf.pointer for leaf in missed))]


def test_the_law_sees_a_key_that_vanishes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without ``keep``, nearly every strange key is lost, in the same dialect and elsewhere."""
    monkeypatch.setattr(Dialect, "keep", lambda *_, **__: None)
    found = list(documents("openai-chat"))[:200]
    for target in ("openai-chat", "anthropic-messages"):
        faults = [strangers.fault(s, "openai-chat", target, facet) for facet, s in found]
        assert len([fault for fault in faults if fault]) > len(found) / 4


# -- the events of streams ----------------------------------------------------------------------

STREAMS = [name for name in dialects.names() if "stream" in dialects.get(name).facets()]


def recorded(dialect: str) -> Iterator[bytes]:
    """Streams of a dialect: awkward ones, and those that the responses of the corpus come as."""
    yield from (stream.data for stream in streams() if stream.dialect == dialect)
    for case in CORPUS:
        for document in case.documents:
            if document.facet == "response" and document.dialect == dialect:
                try:
                    yield decompose(document.body, dialect)
                except DragomanError:
                    continue  # a document that is there to be refused


def strange_streams(dialect: str) -> Iterator[tuple[str, Stranger, bytes]]:
    """The strange streams of a dialect, one for each shape that its events have."""
    seen: set[object] = set()
    for data in recorded(dialect):
        frames = strangers.frames_of(data, dialect)
        yield from strangers.strange_streams(frames, dialect, seen)


# The tree itself has no vendor, so no vendor's key can be new in it; the corpus has none of it.
VENDORS = [name for name in STREAMS if name != "native"]


@pytest.mark.parametrize("dialect", VENDORS)
def test_a_strange_key_of_an_event_passes_or_is_reported(dialect: str) -> None:
    faults: list[str] = []
    others = [name for name in STREAMS if name != dialect]
    found = list(strange_streams(dialect))
    assert len(found) > 20
    for kind, stranger, data in found:
        some = strangers.sample(others, TARGETS, f"{kind}{stranger.pointer}")
        for target in (dialect, *some):
            if (problem := strangers.stream_fault(stranger, data, dialect, target)) is not None:
                faults.append(f"{kind} > {target}: {problem}: {stranger.document}"[:300])
    assert not faults, f"{len(faults)}\n" + "\n".join(faults[:40])


@pytest.mark.parametrize(
    ("dialect", "target"), [(name, VENDORS[number - 1]) for number, name in enumerate(VENDORS)]
)
def test_what_every_event_has_is_reported_once(dialect: str, target: str) -> None:
    """A proxy that puts a key into all events costs one entry, at a place that exists."""
    for data in recorded(dialect):
        frames = strangers.frames_of(data, dialect)
        strange = strangers.written([with_a_key(frame) for frame in frames], dialect)
        transcoder = Transcoder(dialect, target, now=0)
        transcoder.feed(strange)
        transcoder.close()
        told = [x for x in transcoder.losses if repr("zq_added") in x.why and "event" in x.why]
        assert len(told) <= 1


@pytest.mark.parametrize("dialect", VENDORS)
def test_nothing_is_strange_in_what_is_known(dialect: str) -> None:
    """A response has a place for all that the events of the corpus say."""
    for data in recorded(dialect):
        told = [loss for loss in collect(data, dialect).losses if loss.what == "extras"]
        assert not told, strangers.frames_of(data, dialect)


def with_a_key(frame: Any) -> Any:
    name, data = frame
    return (name, data[:-1] + b',"zq_added":1}') if data[-1:] == b"}" and len(data) > 2 else frame


READ_BY_EVENT = [
    "anthropic-messages", "bedrock-converse", "cohere", "openai-responses", "vercel-core",
    "vercel-model", "vercel-ui",
]  # fmt: skip


@pytest.mark.parametrize("dialect", READ_BY_EVENT)
def test_the_law_sees_a_key_of_an_event_that_vanishes(
    dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without ``look``, a key of an event is lost where the response has no place for it."""
    monkeypatch.setattr(StreamReader, "look", lambda *_, **__: None)
    target = "mistral"
    faults = [
        strangers.stream_fault(stranger, data, dialect, target)
        for _, stranger, data in strange_streams(dialect)
        if stranger.key == strangers.ADDED
    ]
    assert any(faults)


def test_a_key_of_an_event_is_reported_at_its_block() -> None:
    """Also where the stream is only collected: a response has no place for it."""
    head = {"type": "message", "id": "m", "role": "assistant", "model": "c", "content": []}
    text = {"type": "content_block_delta", "index": 0, "zq": 1}
    events: list[Any] = [
        {"type": "message_start", "message": head | {"usage": {"input_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        text | {"delta": {"type": "text_delta", "text": "Hi"}},
        text | {"delta": {"type": "text_delta", "text": " you", "zq/2": 2}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}},
        {"type": "message_stop"},
    ]
    frames = [(event["type"], strangers.text(event).encode()) for event in events]
    data = strangers.written(frames, "anthropic-messages")
    transcoder = Transcoder("anthropic-messages", "openai-chat", now=0)
    transcoder.feed(data)
    told = [(x.kind, x.what, x.path) for x in transcoder.losses if "zq" in x.why]
    assert told == [("dropped", "extras", "/content/0")] * 2
    assert [loss.path for loss in collect(data, "anthropic-messages").losses] == ["/content/0"] * 2
    assert not Transcoder("anthropic-messages", "anthropic-messages").losses


@pytest.mark.parametrize(
    ("dialect", "tool"),
    [
        ("anthropic-messages", {"name": "f", "input_schema": {}, "defer_loading": True}),
        ("anthropic-messages", {"name": "f", "input_schema": {}, "allowed_callers": ["direct"]}),
        (
            "anthropic-messages",
            {"name": "f", "description": "F.", "inputSchema": {"type": "object"}},
        ),
        (
            "openai-chat",
            {"type": "function", "function": {"name": "f", "zq_": 1, "parameters": {}}},
        ),
    ],
)
def test_a_tool_with_as_many_keys_as_usual(dialect: str, tool: dict[str, object]) -> None:
    back = dialects.get(dialect).read([tool], "tools")
    assert strangers.text(dialects.get(dialect).write(back, Ledger())) == strangers.text([tool])


def test_an_unknown_key_of_an_old_function() -> None:
    """``functions`` are tools from before there were any."""
    old = {"name": "f", "description": "F.", "parameters": {"type": "object"}, "x_owner": "me"}
    asked = {"model": "m", "functions": [old], "messages": [{"role": "user", "content": "Hi"}]}
    same = convert(asked, source="openai-chat", target="openai-chat")
    assert same.document == asked
    other = convert(asked, source="openai-chat", target="anthropic-messages")
    assert "/functions/0/x_owner" in [loss.path for loss in other.losses]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (
            "tool_calls",
            [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        ),
        ("refusal", "I will not say."),
        ("reasoning_content", "Let me think."),
    ],
)
def test_an_answer_that_does_not_say_its_role(key: str, value: object) -> None:
    """As some servers write it. (Not a case: in a stream, the role is always said.)"""
    message = {"content": "Well.", key: value}
    reply = {
        "id": "1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }  # fmt: skip
    same = convert(reply, source="openai-chat", target="openai-chat", facet="response")
    assert same.document == reply
    for target in ("anthropic-messages", "openai-responses", "gemini", "bedrock-converse"):
        other = convert(reply, source="openai-chat", target=target, facet="response")
        assert not leaves.unaccounted(reply, other.document, other.losses)


USER = {"role": "user", "content": "Hi"}
CALLED = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CHOICE = {"functionCallingConfig": {"allowedFunctionNames": ["f"]}}
HEARD = {"type": "tool-result", "toolCallId": "c", "toolName": "f"}

# what it is: dialect, facet, document, target, and where the ledger must tell of a loss
SHAPES: dict[str, tuple[str, str, Any, str, str]] = {
    "a tool of three keys, one unknown": (
        "anthropic-messages", "tools", [{"name": "f", "input_schema": {}, "zq": 1}],
        "openai-chat", "/0/zq"),
    "a message with a role and an unknown key": (
        "openai-chat", "messages", [{"role": "user", "zq": "Hello?"}, USER],
        "anthropic-messages", "/0/zq"),
    "the same, for a variant": (
        "openai-chat", "messages", [{"role": "user", "zq": "Hello?"}, USER], "groq", "/0/zq"),
    "the caller of a call without an id": (
        "anthropic-messages", "messages",
        [USER, {"role": "assistant", "content": [
            {"type": "tool_use", "name": "f", "input": {},
             "caller": {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}}]}],
        "openai-chat", "/1/content/0/caller"),
    "the type of an error": (
        "anthropic-messages", "error",
        {"type": "error", "error": {"type": "rate_limit_error", "message": "Slow down."}},
        "cohere", ""),
    "allowed functions without a mode": (
        "gemini", "request",
        {"model": "m", "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
         "tools": [{"functionDeclarations": [{"name": "f"}]}], "toolConfig": CHOICE},
        "openai-chat", "/toolConfig"),
    "an unknown key beside a prompt": (
        "functiongemma", "response", {"text": "Hello<end_of_turn>", "zq": 1}, "openai-chat", "/zq"),
    "an unknown key in the output of a result": (
        "vercel-model", "messages",
        [{"role": "assistant", "content": [
            {"type": "tool-call", "toolCallId": "c", "toolName": "f", "input": {}}]},
         {"role": "tool", "content": [
             HEARD | {"output": {"type": "text", "value": "ok", "zq": 1}}]}],
        "vercel-core", "/1/content/0/output/zq"),
    "an error mark that has a key of its own": (
        "openai-responses", "request",
        {"model": "m", "input": [
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": [
                {"type": "input_text", "text": "[tool error]", "zq": 1}]}]},
        "anthropic-messages", "/input/1/output/0/zq"),
    "the same in a chat": (
        "openai-chat", "messages",
        [{"role": "assistant", "content": None, "tool_calls": [CALLED]},
         {"role": "tool", "tool_call_id": "c", "content": [
             {"type": "text", "text": "[tool error]", "zq": 1}]}],
        "anthropic-messages", "/1/content/0/zq"),
    "the same for Cohere": (
        "cohere", "messages",
        [USER, {"role": "assistant", "tool_calls": [CALLED]},
         {"role": "tool", "tool_call_id": "c", "content": [
             {"type": "text", "text": "[tool error]", "zq": 1}, {"type": "text", "text": "No."}]}],
        "anthropic-messages", "/2/content/0/zq"),
    "a message item right behind another": (
        "openai-responses", "request",
        {"model": "m", "input": [
            {"type": "message", "id": f"msg_{phase}", "status": "completed", "role": "assistant",
             "phase": phase, "content": [{"type": "output_text", "text": "So.", "annotations": []}]}
            for phase in ("commentary", "final_answer")]},
        "copilot", "/input/1/id"),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_that_once_lost_something(name: str) -> None:
    dialect, facet, document, target, pointer = SHAPES[name]
    same = convert(document, source=dialect, target=dialect, facet=facet)
    assert (same.document, same.losses) == (document, ())
    other = convert(document, source=dialect, target=target, facet=facet, now=0)
    assert pointer in [loss.path for loss in other.losses]
    read(other.document, target, facet=facet)


def test_a_refusal_points_at_what_is_there() -> None:
    """A key that is missing has no place: its object has."""
    with pytest.raises(Malformed) as refused:
        read([{"role": "user"}], "vercel-model", facet="messages")
    assert (refused.value.what, refused.value.at) == ("'content' is missing", "/0")


# -- no reader counts keys --------------------------------------------------------------------

OBJECTS = ("dict", "Mapping")
LOOKUPS = frozenset({"get", "keys", "items", "values"})
MAKERS = frozenset({"as_dict", "need_dict", "maybe_dict"})


def is_reader(path: Path) -> bool:
    """Rules and detection decide nothing that could be lost."""
    return path.name not in ("rules.py", "sniff.py")


def objects_in(function: ast.AST) -> set[str]:
    """The names that hold an object in a function, as far as its text tells."""
    found = {"doc"}
    for node in ast.walk(function):
        match node:
            case ast.arg(arg=name, annotation=ast.expr() as kind):
                if ast.unparse(kind).startswith(OBJECTS):
                    found.add(name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attribute)):
                if attribute in LOOKUPS:
                    found.add(name)
            case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), kind]):
                if "dict" in ast.unparse(kind):
                    found.add(name)
            case ast.Compare(left=ast.Attribute(value=value, attr="__class__"), comparators=kinds):
                if any(isinstance(kind, ast.Name) and kind.id == "dict" for kind in kinds):
                    found |= {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
            case ast.Compare(
                left=ast.Constant(value=str()),
                ops=[ast.In() | ast.NotIn()],
                comparators=[ast.Name(id=name)],
            ):
                found.add(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id=maker))):
                if maker in MAKERS:
                    found.add(name)
    return found


def counted(path: Path) -> Iterator[str]:
    """Where a function that reads compares the number of keys of an object with a number."""
    tree = ast.parse(path.read_text("utf-8"))
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef) or function.name.startswith("write"):
            continue
        names = objects_in(function)
        for node in ast.walk(function):
            if isinstance(node, ast.Compare | ast.Assign | ast.NamedExpr):
                sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
                for value in sides or [node.value]:  # type: ignore[union-attr]
                    match value:
                        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]):
                            if name in names:
                                yield f"{path.relative_to(READERS)}:{node.lineno} {function.name}"


# Each of these counts something else than the keys of a document.
LISTS = {
    "copilot_cli.py with_rest": "two lists",
    "gemini_interactions/response.py read_response": "a list of errors",
    "openai_agents.py native": "a list of blocks",
    "gemini/response.py read_error": "a list of one error",
    "gemini/pieces.py enter": "a list that grows",
    "gemini/grounding.py _web": "a list of pages",
    "gemini/turns.py read_contents": "a list of parts",
    "router_responses.py is_silent": "a list of parts",
    "mistral/stream.py open_reasoning": "what was just written",
    "_gemma.py left_out": "two lists",
    "gemini_cli.py rest_at": "a list on the way to a place",
    "opencode.py merged": "two lists",
    "mcp/request.py hinted": "a list of hints",
    "bedrock_converse/params.py short_labels": "labels that are kept, and those that were given",
}


def test_no_reader_counts_keys() -> None:
    found = {
        place
        for path in sorted(READERS.rglob("*.py"))
        if is_reader(path)
        for place in counted(path)
    }
    named = {f"{p.split(':')[0]} {p.split()[-1]}" for p in found}
    assert named >= LISTS.keys(), f"no longer there: {LISTS.keys() - named}"
    unknown = {p for p in found if f"{p.split(':')[0]} {p.split()[-1]}" not in LISTS}
    assert not unknown, "use reading.only(...) or reading.sole(...): " + ", ".join(sorted(unknown))


def test_a_counted_key_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "READERS", tmp_path)
    path = tmp_path / "reader.py"
    path.write_text("def read_tool(doc):\n    if len(doc) == 3:\n        return doc['name']\n")
    assert list(counted(path)) == ["reader.py:2 read_tool"]
    path.write_text("def read_tool(doc):\n    size = len(doc)\n    return size\n")
    assert list(counted(path)) == ["reader.py:2 read_tool"]
    path.write_text("def read_tool(doc):\n    return PLAIN(doc) and len(doc['content']) == 1\n")
    assert not list(counted(path))
