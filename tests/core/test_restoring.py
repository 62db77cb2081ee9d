"""Calls of a response get back what the request called its tools, however the stream is cut."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dragoman
from choosing import examples
from dragoman import dialects
from dragoman.core.restoring import Restorer, restore, written
from dragoman.core.writing import Names
from dragoman.ledger import Ledger
from dragoman.model import Candidate, Message, Request, Response, Stop, ToolCall, Usage
from dragoman.streams.events import Close, Delta, End, Event, Open, collect, decompose
from dragoman.streams.framing import framer

NAMES: dict[str, tuple[str | None, str]] = {
    "crm__get": ("crm", "get"),
    "server_read_0123456789": (None, "server.read"),
    "fs__patch": ("fs", "patch"),
    "bash_9876543210": (None, "bash!"),
}
CUSTOM = frozenset({"apply_patch", "fs__patch", "bash_9876543210"})
SEARCH = frozenset({"tool_search"})

# arguments -> the input of the freeform call; None: it stays the call of a function
ARGUMENTS: dict[str, str | None] = {
    '{"input":"*** Begin Patch\\n+caf\\u00e9 \\"x\\"\\t\\\\\\/\\b\\f\\r"}': (
        '*** Begin Patch\n+café "x"\t\\/\b\f\r'
    ),
    ' {\n "input" :\t"a b" } \n': "a b",
    '{"input":""}': "",
    '{"input":"\\ud83d\\ude00 and \\uD83D\\uDE00, 😀"}': "😀 and 😀, 😀",
    '{"input":"\\\\ud83d \\\\"}': "\\ud83d \\",
    # not JSON, and yet clear
    '{"input":"half \\ud83d, half \\ude00\\ud83d"}': "half \ufffd, half \ufffd\ufffd",
    '{"input":"\\ud83d\\n"}': "\ufffd\n",
    '{"input":"\\q \\u12x4"}': "\\q \\u12x4",
    '{"input":"a\nb"}': "a\nb",
    '{"input":"cut of': "cut of",
    '{"input":"cut \\u00': "cut ",
    '{"input":"cut \\ud83d': "cut \ufffd",
    '{"input":"cut"': "cut",
    '{"input":"first","more":[1]}': "first",
    # judged as a whole
    '{"why":"because","input":"second"}': "second",
    '{"\\u0069nput":"spelled"}': "spelled",
    '{"input":7}': None,
    '{"input":{"a":"b"}}': None,
    '{"inputs":"x"}': None,
    '["input"]': None,
    '{"inp': None,
    "*** Begin Patch": None,
    "{}": None,
    "": None,
}
# where nothing of what came is lost or guessed
CLEAN = [*list(ARGUMENTS)[:5], '{"input":"a\nb"}', '{"\\u0069nput":"spelled"}']


def reply(*calls: ToolCall) -> Response:
    return Response("r", "m", (Candidate(Message("assistant", calls)),))


def cut(text: str, places: tuple[int, ...]) -> list[str]:
    ends = (0, *places, len(text))
    return [text[a:b] for a, b in pairwise(ends)]


def stream(call: ToolCall, pieces: list[str]) -> Iterator[Event]:
    """The events of a response with one call, its arguments in these pieces."""
    for event in decompose(reply(call)):
        if isinstance(event, Delta):
            yield from (Delta(event.index, piece) for piece in pieces)
        else:
            yield event


def restored(events: Iterator[Event], restorer: Restorer) -> list[Event]:
    return [out for event in events for out in restorer.event(event)]


@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_every_split_gives_what_the_whole_gives(arguments: str) -> None:
    call = ToolCall("c", "apply_patch", arguments)
    log = Ledger()
    whole = restore(reply(call), NAMES, CUSTOM, log)
    text = ARGUMENTS[arguments]
    found = whole.candidates[0].message.content[0]
    if text is None:
        assert found == call
    else:
        assert found == ToolCall("c", "apply_patch", text, "custom")
    assert bool(log.losses) == (arguments not in CLEAN), log.losses
    places = range(1, len(arguments))
    splits = [(), *((n,) for n in places), *combinations(places, 2), tuple(places)]
    for split in splits:
        restorer = Restorer(NAMES, CUSTOM)
        events = restored(stream(call, cut(arguments, split)), restorer)
        assert collect(events) == whole, split
        assert [(x.what, x.path, x.why) for x in log.losses] == restorer.notes
        json.dumps([e.text for e in events if isinstance(e, Delta)]).encode()  # no half characters


def test_the_text_is_passed_on_while_it_arrives() -> None:
    restorer = Restorer({}, frozenset({"apply_patch"}))
    call = ToolCall("c", "apply_patch")
    spelled: list[Event] = []
    assert list(restorer.event(Open(0, call))) == []
    for piece in ('{"inp', 'ut": "', "one\\", "ntwo", "\\ud83d", "\\ude00", '"', "}"):
        spelled.append(Delta(-1, piece))
        spelled += restorer.event(Delta(0, piece))
    spelled += restorer.event(Close(0))
    assert spelled == [
        Delta(-1, '{"inp'),
        Delta(-1, 'ut": "'), Open(0, ToolCall("c", "apply_patch", kind="custom")),
        Delta(-1, "one\\"), Delta(0, "one"),
        Delta(-1, "ntwo"), Delta(0, "\ntwo"),
        Delta(-1, "\\ud83d"),
        Delta(-1, "\\ude00"), Delta(0, "😀"),
        Delta(-1, '"'), Delta(-1, "}"), Close(0),
    ]  # fmt: skip
    assert restorer.notes == []


@settings(max_examples=examples(150), deadline=None)
@given(st.text(), st.booleans(), st.data())
def test_any_text_comes_back(text: str, ascii_only: bool, data: st.DataObject) -> None:
    arguments = json.dumps({"input": text}, ensure_ascii=ascii_only)
    places = data.draw(st.sets(st.integers(1, len(arguments) - 1)))
    call = ToolCall("c", "apply_patch", arguments)
    restorer = Restorer({}, CUSTOM)
    events = restored(stream(call, cut(arguments, tuple(sorted(places)))), restorer)
    got = collect(events).candidates[0].message.content[0]
    assert got == ToolCall("c", "apply_patch", text, "custom")
    assert restorer.notes == []


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("crm__get", ToolCall("c", "get", '{"a":1}', namespace="crm")),
        ("server_read_0123456789", ToolCall("c", "server.read", '{"a":1}')),
        ("tool_search", ToolCall("c", "tool_search", '{"a":1}', "search")),
        ("other", ToolCall("c", "other", '{"a":1}')),
    ],
)
def test_names_kinds_and_namespaces_come_back(name: str, wanted: ToolCall) -> None:
    tree = reply(ToolCall("c", name, '{"a":1}'))
    assert restore(tree, NAMES, CUSTOM, search=SEARCH) == reply(wanted)
    restorer = Restorer(NAMES, CUSTOM, search=SEARCH)
    assert collect(restored(decompose(tree), restorer)) == reply(wanted)


def test_freeform_tools_with_other_names_come_back() -> None:
    tree = reply(
        ToolCall("a", "fs__patch", '{"input":"x"}'),
        ToolCall("b", "bash_9876543210", '{"input":"y"}'),
    )
    wanted = reply(
        ToolCall("a", "patch", "x", "custom", namespace="fs"), ToolCall("b", "bash!", "y", "custom")
    )
    assert restore(tree, NAMES, CUSTOM) == wanted
    assert collect(restored(decompose(tree), Restorer(NAMES, CUSTOM))) == wanted


def test_what_needs_nothing_stays_as_it_is() -> None:
    tree = reply(ToolCall("c", "other", '{"a":1}'))
    assert restore(tree, NAMES, CUSTOM) is tree
    assert restore(tree, {}, frozenset()) is tree
    end = End(tree)
    assert list(Restorer(NAMES, CUSTOM).event(end)) == [end]


TOOLS = [
    {"type": "custom", "name": "apply_patch"},
    {"type": "namespace", "name": "crm", "description": "", "tools": [
        {"type": "function", "name": "get", "strict": False, "parameters": {"type": "object"}},
        {"type": "custom", "name": "query.sql"},
    ]},
    {"type": "tool_search", "execution": "client", "parameters": {"type": "object"}},
]  # fmt: skip
FOUND = [{"type": "namespace", "name": "fs", "description": "", "tools": TOOLS[:1]}]
REQUEST = {
    "model": "m",
    "tools": TOOLS,
    "input": [
        {"role": "user", "content": "Hi"},
        {"type": "tool_search_call", "call_id": "s", "execution": "client", "arguments": {}},
        {"type": "tool_search_output", "call_id": "s", "execution": "client", "tools": FOUND},
    ],
}
CALLS = (
    ToolCall("1", "apply_patch", "a", "custom"),
    ToolCall("2", "get", '{"id":7}', namespace="crm"),
    ToolCall("3", "query.sql", "b", "custom", namespace="crm"),
    ToolCall("4", "apply_patch", "c", "custom", namespace="fs"),
    ToolCall("5", "tool_search", '{"q":1}', "search"),
)


@pytest.mark.parametrize("target", ["anthropic-messages", "openai-chat", "gemini", "ollama"])
def test_the_tools_of_a_converted_request_come_back(target: str) -> None:
    """Each tool is called under the name that was written for it, and comes back as it was."""
    tree = dragoman.read(REQUEST, "openai-responses")
    assert isinstance(tree, Request)
    log = Ledger()
    document = dialects.get(target).write(tree, log)
    back = dialects.get(target).read(document, "request")
    assert isinstance(back, Request)
    names = log.tool_names
    custom, search = written(tree, names, "custom"), written(tree, names, "search")
    # What a model calls, as the functions of the written document are named.
    by_pair = {pair: name for name, pair in names.items()}
    known = {tool.name for tool in back.tools or ()}
    called = []
    for call in CALLS:
        name = by_pair.get((call.namespace, call.name), call.name)
        assert name in known
        arguments = (
            call.arguments if call.kind != "custom" else json.dumps({"input": call.arguments})
        )
        called.append(ToolCall(call.id, name, arguments))
    assert len({call.name for call in called}) == len(CALLS)
    got = restore(reply(*called), names, custom, log, search=search)
    assert got == reply(*CALLS)
    events = restored(decompose(reply(*called)), Restorer(names, custom, search=search))
    assert collect(events) == got


@pytest.mark.parametrize("target", ["anthropic-messages", "openai-chat", "gemini"])
def test_a_restored_stream_is_written_as_the_restored_response(target: str) -> None:
    """From the frames of another dialect to those of Responses: at rest and in flight the same."""
    tree = dragoman.read(REQUEST, "openai-responses")
    assert isinstance(tree, Request)
    log = Ledger()
    dialects.get(target).write(tree, log)
    names = log.tool_names
    custom, search = written(tree, names, "custom"), written(tree, names, "search")
    by_pair = {pair: name for name, pair in names.items()}
    calls = tuple(
        ToolCall(
            f"call_{call.id}",
            by_pair.get((call.namespace, call.name), call.name),
            json.dumps({"input": call.arguments}) if call.kind == "custom" else call.arguments,
        )
        for call in CALLS
    )
    spelled = Response(
        "r", "m", (Candidate(Message("assistant", calls), Stop("tool-call")),), Usage(1, output=1)
    )
    upstream, client = dialects.get(target), dialects.get("openai-responses")
    document = upstream.write(spelled, Ledger(now=0))
    reader, writer = upstream.stream_reader(), client.stream_writer(Ledger(now=0))
    restorer = Restorer(names, custom, search=search)
    out = []
    for frame in framer(upstream.framing).feed(dragoman.decompose(document, target)):
        for event in reader.read(frame):
            for one in restorer.event(event):
                if not isinstance(one, End):
                    out.append(writer.write(one))
    whole = restore(reader.at_rest(), names, custom, search=search)
    rest = client.write(whole, Ledger(now=0))
    out.append(writer.end(rest))
    got = dragoman.collect(b"".join(out), "openai-responses").document
    assert got["output"] == rest["output"]
    kinds = [
        (item["type"], item.get("namespace"), item.get("name"), item.get("input"))
        for item in got["output"]
    ]
    legal = Names(("[a-zA-Z0-9_-]", 128), "tool.name").rename("query.sql")
    assert kinds == [
        ("custom_tool_call", None, "apply_patch", "a"),
        ("function_call", "crm", "get", None),
        ("custom_tool_call", "crm", legal, "b"),  # an Exchange would let the name be
        ("custom_tool_call", "fs", "apply_patch", "c"),
        ("tool_search_call", None, None, None),
    ]
    assert got["output"][4]["arguments"] == {"q": 1}
