"""What a target cannot say of tools, in the corners that no case of the corpus has."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest

import dragoman
import places
from dragoman import dialects
from dragoman.core.capabilities import Capabilities
from dragoman.core.lowering import lower
from dragoman.dialects import get
from dragoman.dialects import names as names_of_all
from dragoman.dialects import names as names_of_dialects
from dragoman.errors import Unsayable, Unsupported
from dragoman.ledger import Ledger, Loss
from dragoman.model import (
    Grammar,
    History,
    Media,
    Message,
    Reasoning,
    Request,
    Response,
    Signature,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
)
from dragoman.testing import load_corpus

RESPONSES, CHAT, ANTHROPIC = "openai-responses", "openai-chat", "anthropic-messages"
CORPUS = places.CORPUS
OBJECT: Any = {"type": "object", "properties": {}}
SEARCH = {"type": "tool_search", "execution": "client", "parameters": OBJECT}


def function(name: str, **more: Any) -> Any:
    return {"type": "function", "name": name, "parameters": OBJECT, "strict": False, **more}


def space(name: str, *tools: Any) -> Any:
    return {"type": "namespace", "name": name, "description": "", "tools": list(tools)}


def found(call_id: str, *tools: Any) -> list[Any]:
    return [
        {"type": "tool_search_call", "call_id": call_id, "execution": "client", "arguments": {}},
        {
            "type": "tool_search_output",
            "call_id": call_id,
            "execution": "client",
            "tools": list(tools),
        },
    ]


def convert(target: str, tools: list[Any], *items: Any, **more: Any) -> Any:
    request = {"model": "m", "tools": tools, "input": [{"role": "user", "content": "Hi"}, *items]}
    return dragoman.convert(request | more, source=RESPONSES, target=target)


def names(result: Any) -> list[str]:
    return [tool["function"]["name"] for tool in result.document["tools"]]


def losses(result: Any) -> list[str]:
    return [f"{loss.kind} {loss.what} at {loss.path}" for loss in result.losses]


def test_names_never_collide() -> None:
    tools = [
        space("a", function("b__c")),
        space("a__b", function("c")),
        function("x__y"),
        space("x", function("y")),
        space("long" * 20, function("name")),
        space("long" * 20, function("names")),
        space("a.b", function("c")),
        space("a b", function("c")),
    ]
    for target in (CHAT, ANTHROPIC, "gemini", "mistral", "bedrock-converse"):
        log = Ledger()
        tree = dragoman.read({"model": "m", "tools": tools, "input": "Hi"}, RESPONSES)
        back = get(target).read(get(target).write(tree, log), "request")
        assert isinstance(back, Request)
        written = [tool.name for tool in back.tools or ()]
        assert len(set(written)) == len(tools), target
        assert {"x__y", "a__b__c"} <= set(written)
        assert not dragoman.check(get(target).write(tree, Ledger()), target)
        pairs = {log.tool_names[name] for name in written if name != "x__y"}
        assert len(pairs) == len(tools) - 1


def test_a_call_that_bears_the_name_of_a_flattened_tool_is_another() -> None:
    called = {"type": "function_call", "call_id": "c", "name": "crm__get", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "name": "crm__get", "output": "1"}
    result = convert(CHAT, [space("crm", function("get"))], called, output)
    assert names(result) == ["crm__get"]
    name = result.document["messages"][1]["tool_calls"][0]["function"]["name"]
    assert name != "crm__get"
    assert "renamed tool.name at /input/1" in losses(result)
    gemini = convert("gemini", [space("crm", function("get"))], called, output).document
    parts = [part for turn in gemini["contents"] for part in turn["parts"]]
    given = {p[k]["name"] for p in parts for k in ("functionCall", "functionResponse") if k in p}
    assert len(given) == 1
    assert given != {"crm__get"}


def test_results_are_named_as_their_calls() -> None:
    call = {
        "type": "function_call",
        "call_id": "c",
        "namespace": "crm",
        "name": "get",
        "arguments": "{}",
    }
    tools = [space("crm", function("get"))]
    for more in ({}, {"name": "get"}, {"name": "get", "namespace": "crm"}):
        output = {"type": "function_call_output", "call_id": "c", "output": "1", **more}
        parts = convert("gemini", tools, call, output).document["contents"]
        assert parts[1]["parts"][0]["functionCall"]["name"] == "crm__get"
        assert parts[2]["parts"][0]["functionResponse"]["name"] == "crm__get"
        same = convert(RESPONSES, tools, call, output)
        assert same.document["input"][1:] == [call, output]


def test_what_is_found_twice_is_defined_once() -> None:
    tools = [SEARCH]
    items = [*found("1", space("crm", function("get"))), *found("2", space("crm", function("get")))]
    result = convert(CHAT, tools, *items)
    assert names(result) == ["tool_search", "crm__get"]
    assert not [loss for loss in losses(result) if loss.startswith("dropped tool at")]
    other = function("get", description="New.")
    result = convert(CHAT, tools, *items, *found("3", space("crm", other)))
    assert names(result) == ["tool_search", "crm__get"]
    assert result.document["tools"][1]["function"]["description"] == "New."
    assert "dropped tool at /input/2/tools/0/tools/0" in losses(result)


def test_tools_of_the_provider_are_not_taken_for_one_another() -> None:
    servers = [
        {"type": "mcp", "server_label": "a", "server_url": "https://a.example"},
        {"type": "mcp", "server_label": "b", "server_url": "https://b.example"},
    ]
    items = {"type": "additional_tools", "role": "developer", "tools": [function("get")]}
    dropped = [loss for loss in losses(convert(CHAT, servers, items)) if "dropped tool" in loss]
    assert dropped == ["dropped tool at /tools/0", "dropped tool at /tools/1"]


def test_a_name_that_cannot_be_referred_to_is_told() -> None:
    long = "x" * 70
    items = found("1", function(long, defer_loading=True))
    result = convert(ANTHROPIC, [SEARCH], *items)
    tool = result.document["tools"][1]
    assert tool["name"] == long
    assert "defer_loading" not in tool
    replied = result.document["messages"][2]["content"][0]
    assert replied["content"] == f"Tools found: {long}"
    assert "dropped tool.deferred at /input/2/tools/0" in losses(result)


def test_a_function_called_like_the_search_is_another() -> None:
    result = convert(CHAT, [SEARCH, function("tool_search")], *found("1"))
    first, second = names(result)
    assert second == "tool_search" != first
    assert result.document["messages"][1]["tool_calls"][0]["function"]["name"] == first


def test_a_deferred_tool_that_is_called_under_its_own_name() -> None:
    """The API writes the name of a deferred tool as its namespace."""
    call = {"type": "function_call", "call_id": "c", "arguments": "{}"}
    call |= {"namespace": "get", "name": "get"}
    output = {"type": "function_call_output", "call_id": "c", "output": "1"}
    tools = [{"type": "tool_search"}, function("get", defer_loading=True)]
    result = convert(CHAT, tools, call, output)
    assert names(result) == ["get"]
    assert result.document["messages"][1]["tool_calls"][0]["function"]["name"] == "get"
    named = convert(CHAT, [*tools, space("get", function("get"))], call, output)
    assert names(named) == ["get", "get__get"]
    assert named.document["messages"][1]["tool_calls"][0]["function"]["name"] == "get__get"


def test_a_namespace_without_tools_comes_back() -> None:
    tools = [space("crm"), {"type": "namespace", "name": "x", "tools": None}]
    assert convert(RESPONSES, tools).document["tools"] == tools
    assert losses(convert(CHAT, tools)) == ["dropped tool at /tools/0", "dropped tool at /tools/1"]


def test_a_tree_of_ones_own_needs_no_group() -> None:
    tools = (
        Tool("get", schema=OBJECT, namespace="crm"),
        Tool("put", schema=OBJECT, namespace="crm"),
    )
    tree = Request("m", (Message("user", (Text("Hi"),)),), tools)
    result = dragoman.write(tree, RESPONSES)
    assert [tool["name"] for tool in result.document["tools"][0]["tools"]] == ["get", "put"]
    assert result.document["tools"][0]["description"] == ""
    assert "invented tool.namespace" in str(result.losses[0])


def test_a_tree_that_fits_passes_as_it_is() -> None:
    call = ToolCall("c", "get", "{}")
    tree = Request("m", (Message("assistant", (call,)),), (Tool("get", schema=OBJECT),))
    assert lower(tree, get(CHAT), Ledger()) is tree


@pytest.mark.parametrize("target", [CHAT, ANTHROPIC, "gemini", RESPONSES])
def test_a_result_is_never_empty(target: str) -> None:
    """References to tools are told, or referred to."""
    result = convert(target, [SEARCH], *found("1"), *found("2", function("get")))
    assert 'tool_result", "content": []' not in str(result.document)
    tree = get(target).read(result.document, "request")
    assert isinstance(tree, Request)
    results = [block for m in tree.messages if m.role == "tool" for block in m.content]
    assert len(results) == 2
    assert all(block.content for block in results)  # type: ignore[union-attr]


# -- what a dialect declares is what its writer takes -------------------------------------------


def is_odd(block: Any) -> bool:
    """Whether there are targets that cannot hold a block as it is."""
    if isinstance(block, ToolResult):
        return any(map(is_odd, block.content))
    if isinstance(block, ToolCall):
        return block.item_id is not None
    return not isinstance(block, Text | Media)


def conversations(tree: Any) -> list[Message]:
    if isinstance(tree, Response):
        return [candidate.message for candidate in tree.candidates]
    return list(getattr(tree, "messages", ()))


@pytest.fixture(scope="module")
def odd_trees() -> list[tuple[str, Any]]:
    """The trees of the corpus that hold what many targets cannot."""
    corpus = load_corpus(places.CORPUS)
    found: list[tuple[str, Any]] = []
    for document in (document for case in corpus for document in case.documents):
        if not document.degraded and document.facet in ("request", "messages", "response"):
            tree = get(document.dialect).read(document.body, document.facet)
            if any(is_odd(block) for spelled in conversations(tree) for block in spelled.content):
                found.append((document.name, tree))
    return found


def settled(to: Any, place: Any) -> set[str]:
    """The codes that only the pass may note for a target."""
    can = to.can
    fields = {"tool_call.item_id": can.item_ids, "refusal": can.refusals, "passage": can.passages}
    codes = {code for code, places in fields.items() if place not in places}
    if (form := can.reasoning) is not None:
        codes.add("reasoning.signature")
        codes |= {"reasoning.id"} if place not in form.ids else set()
        codes |= {"reasoning.summary"} if place not in form.summaries else set()
        if to.name != "functiongemma-teaching":  # which writes it into a comment
            codes.add("reasoning")
    return codes


def is_signed_otherwise(tree: Any, loss: Any) -> bool:
    """Whether a signature is that of a text or a call, which is an extra."""
    blocks = [block for spelled in conversations(tree) for block in spelled.content]
    reasoning = {block.at for block in blocks if isinstance(block, Reasoning)}
    return loss.what == "reasoning.signature" and loss.path not in reasoning


@pytest.mark.parametrize("target", names_of_dialects())
def test_what_is_declared_is_what_the_writer_takes(target: str, odd_trees: list[Any]) -> None:
    to = get(target)
    for name, tree in odd_trees:
        if to.is_same(tree.dialect) or getattr(tree, "failure", None) is not None:
            continue
        codes = settled(to, "response" if isinstance(tree, Response) else "history")
        log = Ledger()
        try:
            to.write(lower(tree, to, Ledger()), log)
        except (Unsayable, Unsupported):
            continue
        noted = [
            loss
            for loss in log.losses
            if loss.what in codes
            and loss.kind != "invented"
            and not is_signed_otherwise(tree, loss)
            and not is_final_reasoning(tree, loss)
        ]
        assert not noted, f"{name}: {noted[0]}"


def is_final_reasoning(tree: Any, loss: Loss) -> bool:
    """Claude takes it in the last turn if thinking is enabled, which its writer decides."""
    if loss.what != "reasoning" or not isinstance(tree, Request):
        return False
    return loss.path.startswith(f"{tree.messages[-1].at}/")


WRITERS_OWN = {
    "text.citations": {"cohere"},  # whether a source is told in full depends on its form
    # how many marks there are is known when all are written; some models have none
    "cache": {
        "pydantic-ai",
        "anthropic-bedrock",
        "anthropic-messages",
        "anthropic-vertex",
        "bedrock-converse",
        "openai-chat",
        "openai-responses",
        "azure-openai",
        "open-responses",
        "openrouter",
    },
    "cache.ttl": set(),
    "media.context": {"cohere"},
    "media.transcript": set(),
    # where a result must name its tool, or the name is that of its call
    "tool_result.name": {
        "bedrock-converse",
        "functiongemma",
        "functiongemma-completion",
        "functiongemma-nobos",
        "gemini",
        "gemini-cli",
        "gemini-interactions",
        "qwen-code",
        "ollama",
        "openai-responses",
        "open-responses",
        "copilot",
        "vercel-core",
        "vercel-model",
        "vercel-model-v5",
        "vercel-model-v6",
        "functiongemma-teaching",
        "google-adk",
        "harmony",
        "semantic-kernel",
        "vertex-tuning",
    },
}
"""Codes of what is lowered before a writer sees it, and whose writers have a part in it."""


@pytest.mark.parametrize("target", names_of_all())
def test_what_is_declared_is_what_is_written(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After lowering, a writer reports no loss of a family that is lowered."""
    lowered = 0

    def observed(tree: Any, to: Any, log: Ledger) -> Any:
        nonlocal lowered
        tree = lower(tree, to, log)
        lowered = len(log.losses)
        return tree

    monkeypatch.setattr("dragoman.dialect.lower", observed)
    seen: set[str] = set()
    for path in sorted(CORPUS.glob("*/*.json")):
        source, facet, *rest = path.name.split(".")
        if rest != ["json"] or source == target or facet not in get(target).facets():
            continue
        log, lowered = Ledger(now=0.0), 0
        with suppress(dragoman.DragomanError):
            get(target).write(get(source).read(json.loads(path.read_bytes()), facet), log)
            seen.update(loss.what for loss in log.losses[:lowered])
            late = [loss for loss in log.losses[lowered:] if loss.what in WRITERS_OWN]
            assert not [x for x in late if target not in WRITERS_OWN[x.what]], path.name
    assert seen or not get(target).lowers or get(target).can == Capabilities(failed=True)


def test_texts_of_a_cited_sentence_stay_together() -> None:
    """A provider cuts a sentence in pieces to tell where they come from, told or not."""
    place = {"type": "char_location", "document_index": 0, "document_title": None}
    place |= {"cited_text": "a", "start_char_index": 0, "end_char_index": 1}
    spelled = [
        {"type": "text", "text": "The grass is"},
        {"type": "text", "text": " green", "citations": [place]},
        {"type": "text", "text": "ish", "citations": [place]},
        {"type": "text", "text": "today"},
    ]
    response = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": spelled,
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    result: Any = dragoman.convert(response, source=ANTHROPIC, target=CHAT, facet="response")
    message = result.document["choices"][0]["message"]
    assert message["content"] == "The grass is greenishtoday"
    assert "annotations" not in message
    assert losses(result).count("dropped text.citations at /content/1/citations/0") == 1


STRICT: Any = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
TOOLS = (
    Tool("read", schema=STRICT, strict=True),
    Tool("patch", "Applies a patch.", kind="custom", grammar=Grammar("lark", "start: x")),
    Tool("browser", kind="hosted", dialect="acme", payload={"type": "browser"}, service="browser"),
)
CALLED = (
    Message("user", (Text("Hi"),)),
    Message("assistant", (ToolCall("c1", "patch", "x", kind="custom"),)),
    Message("tool", (ToolResult("c1", (Text("done"),), kind="custom"),)),
    Message("assistant", (ToolCall("c2", "read", '{"a": "b"}'),)),
)
MODES: Any = ("auto", "none", "required", "named", None)
CHOICES = [
    *(
        ToolChoice(mode, "read" if mode == "named" else None, allowed=allowed, parallel=parallel)
        for mode in MODES
        for allowed in (None, ("read",), ("read", "patch"))
        for parallel in (None, False, True)
    ),
    ToolChoice("named", "patch", kind="custom"),
    ToolChoice(payload={"type": "acme"}, dialect="acme", parallel=False),
]
OF_TOOLS = frozenset(
    {
        "tool",
        "tool.kind",
        "tool.strict",
        "tool_call.kind",
        "tool_choice",
        "tool_choice.allowed",
        "tool_choice.parallel",
    }
)
WRITERS = {
    "anthropic-messages": {"tool_choice"},  # a switch for parallel calls needs a mode
    "bedrock-converse": {"tool"},  # tools that a conversation uses must be defined
    "cohere": {"tool.strict"},  # all tools are strict, or none is
    "gemini": {"tool_choice.allowed"},  # with VALIDATED, or as the tool that is required
    "gemini-interactions": {"tool_choice.allowed"},  # as the tool that is required
    "openai-responses": {"tool_choice"},  # a tool that is required must be defined
}
"""What depends on more than what a dialect can express, and is noted by its writer."""


@pytest.mark.parametrize("target", dialects.names())
def test_writers_get_tools_that_they_have(target: str) -> None:
    """What is lowered is written without another loss of tools, calls and choices."""
    to = get(target)
    if not hasattr(to, "write_request") or not to.lowers or target == "alpaca":  # without calls
        return
    for choice in CHOICES:
        for tools in (TOOLS, TOOLS[2:], None):
            tree = Request("m", CALLED, tools, choice)
            log, spelled = Ledger(), lower(tree, to, Ledger())
            assert isinstance(spelled, Request)
            assert not [tool for tool in spelled.tools or () if tool.kind == "hosted"]
            if to.can.freeform != "native":
                assert "custom" not in str(spelled)
            to.write_request(spelled, log)
            left = {loss.what for loss in log.losses} & OF_TOOLS
            family = WRITERS.get(to.name) or WRITERS.get(_parent(to), set())
            assert left <= family, (choice, log.losses)


def _parent(to: Any) -> str:
    names = (getattr(c, "name", "") for c in type(to).__mro__[1:])
    return next((name for name in names if name in WRITERS), "")


@pytest.mark.parametrize("target", dialects.names())
def test_choices_alone(target: str) -> None:
    """A choice on its own is written without another loss."""
    to = get(target)
    if not hasattr(to, "write_tool_choice") or not to.lowers:
        return
    for choice in CHOICES:
        log = Ledger()
        lowered = lower(choice, to, Ledger())
        assert isinstance(lowered, ToolChoice)
        if lowered.mode is None and lowered.payload is None and to.has_null_choice:
            continue
        to.write_tool_choice(lowered, log)
        left = {loss.what for loss in log.losses} & OF_TOOLS
        assert left <= WRITERS.get(to.name, set()), (choice, log.losses)


WORDLESS = (
    Message("system", (Text(" "), Text("Be brief."))),
    Message("user", (Text("Hi"), Text(""))),
    Message("assistant", (Text(""), ToolCall("c1", "get", "{}"))),
    Message("tool", (ToolResult("c1"),)),
    Message("assistant", (ToolCall("c2", "get", "{}"),)),
    Message("tool", (ToolResult("c2", is_error=True),)),
    Message("assistant", (Text("\n"), ToolCall("c3", "get", "{}"))),
    Message("tool", (ToolResult("c3", (Text(""), Text("sunny"))),)),
    Message("assistant", (Text("So"), ToolCall("c4", "get", "{}"))),
)


@pytest.mark.parametrize("target", dialects.names())
def test_writers_get_texts_that_they_accept(target: str) -> None:
    """Texts without words are dropped, and needed ones made up, before the writer sees them."""
    to = get(target)
    if not hasattr(to, "write_request") or target == "alpaca":  # which has no calls
        return
    can, log = to.can.texts, Ledger()
    tree = Request("m", WORDLESS, (Tool("get", schema=OBJECT),))
    spelled = lower(tree, to, Ledger())
    assert isinstance(spelled, Request)
    to.write_request(spelled, log)
    kinds = {loss.kind for loss in log.losses if loss.what == "text.empty"}
    blocks = [block for message in spelled.messages for block in message.content]
    texts = [block.text for block in blocks if isinstance(block, Text)]
    results = [block for block in blocks if isinstance(block, ToolResult)]
    if "history" not in can.empty:
        assert "dropped" not in kinds, log.losses
        assert all(texts)
    if "history" not in can.blank:
        assert all(map(str.strip, texts))
    if can.needed:
        assert "invented" not in kinds, log.losses
    if ToolResult in to.can.unfit.get("tool", ()):
        assert not results
        return
    assert bool(results[0].content) == ("result" in can.needed)
    marked = to.can.results.errors == "mark"
    assert bool(results[1].content) == ("error" in can.needed or marked)
    assert not (marked and any(result.is_error for result in results))
    assert not any(loss.what == "tool_result.error" for loss in log.losses)
    if to.can.results.joint is not None:
        assert all(len(result.content) < 2 for result in results)


@pytest.mark.parametrize("role", ["user", "system", "assistant"])
@pytest.mark.parametrize("target", names_of_dialects())
def test_what_others_signed_is_never_written(target: str, role: Any) -> None:
    """Whoever thinks: a signature goes to its issuer alone, and its loss is reported."""
    if target == "native" or "write" not in get(target).facets().get("messages", ()):
        return
    reasoning = Reasoning(("So.",), signature=Signature("c2VjcmV0", "nobody"), id="rs_1", at="/0")
    last = Message("assistant", (ToolCall("call_1", "get", "{}"),))
    tree = History((Message("user", (Text("Hi"),)), Message(role, (reasoning, Text("Yes"))), last))
    if target == "functiongemma-teaching" and role == "assistant":  # each turn of it has a call
        tree = History((tree.messages[0], Message(role, (reasoning, *last.content))))
    log = Ledger()
    document = get(target).write(tree, log)
    assert "c2VjcmV0" not in str(document)
    assert any(loss.path == "/0" and loss.kind == "dropped" for loss in log.losses)


@pytest.mark.parametrize("role", ["user", "assistant"])
@pytest.mark.parametrize(
    "target", ["openai-chat", "openai-responses", "mistral", "cohere", "copilot-responses"]
)
def test_nothing_is_made_up_for_a_result_that_is_dropped(role: str, target: str) -> None:
    """A result inside of another turn, which only a tree that someone else made can hold."""
    result = {"block": "tool-result", "call_id": "c", "content": []}
    spelled = [{"block": "text", "text": "x"}]
    messages = [{"role": "user", "content": spelled}, {"role": role, "content": [result]}]
    tree = {"dragoman": 1, "facet": "messages", "tree": {"messages": messages}}
    found = dragoman.convert(tree, source="native", target=target, facet="messages")
    assert [(loss.kind, loss.what) for loss in found.losses] == [
        ("dropped", "content.role"),
        ("dropped", "message.empty"),
    ]


SYSTEMS = (
    Message("system", (Text("Be brief."),)),
    Message("system", (Text("Be kind."),)),
    Message("user", (Text("Hi"),)),
    Message("system", (Text("Asked."),)),
    Message("assistant", (Text("Hello."),)),
    Message("system", (Text("Late."),)),
    Message("system", (Text("Later."),)),
    Message("user", (Text("Bye"),)),
)
STAND = {
    "anywhere": {"Be brief.", "Be kind.", "Asked.", "Late.", "Later."},
    "first": {"Be brief.", "Be kind."},
    "by model": {"Be brief.", "Be kind."},
    "asked": {"Be brief.", "Be kind.", "Asked.", "Later."},
}
"""The system messages that stay such, by what a dialect declares."""


@pytest.mark.parametrize("target", dialects.names())
def test_writers_get_system_messages_where_they_have_them(target: str) -> None:
    """Late ones are the user's, and each is reported; the writer reports none again."""
    to, log, again = get(target), Ledger(), Ledger()
    if not hasattr(to, "write_request"):
        return
    model = "anthropic.claude-sonnet-4-5-v1:0" if to.can.systems == "by model" else "m"
    spelled = lower(Request(model, SYSTEMS), to, log)
    assert isinstance(spelled, Request)
    kept = {m.content[0].text for m in spelled.messages if m.role == "system"}  # type: ignore[union-attr]
    assert kept == STAND[to.can.systems]
    assert sum(loss.what == "message.role" for loss in log.losses) == 5 - len(kept)
    if to.can.systems != "anywhere":
        to.write_request(spelled, again)
        assert not any(loss.what == "message.role" for loss in again.losses)
