"""Declarations are honest: what a dialect declares it can express is not lost there, and what it
declares it cannot is reported."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from dragoman import Unsayable, dialects
from dragoman.core.declared import NO, YES
from dragoman.core.lowering import lower
from dragoman.formats import differences
from dragoman.ledger import CODES, Ledger
from dragoman.model import (
    Cache,
    Candidate,
    Media,
    Message,
    OutputFormat,
    Params,
    Passage,
    Reasoning,
    Refusal,
    Request,
    Response,
    Signature,
    Source,
    Stop,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    Tree,
)
from dragoman.testing import Document, load_corpus

CASES = load_corpus(Path(__file__).parents[1] / "corpus")
DOCUMENTS = [document for case in CASES for document in case.documents]

UNOFFICIAL = {
    ("hosted-web-search-openai", "openai-responses", "text.citations"): "an echoed response",
    ("icontent-thinking-elsewhere", "icontent", "reasoning.signature"): "signed by another host",
    ("mistral-audio-object", "mistral", "media.type"): "the form of openai-chat",
    ("perplexity-answer", "perplexity", "text.citations"): "they stand beside the choices",
    ("openai-finetune-legacy", "openai-finetune", "tool_result.name"): "the old role `function`",
    ("session-goose", "goose", "reasoning.signature"): "of the provider that the session names",
    ("text-empty", "gemini", "text.empty"): "accepted by some models only",
    ("tool-call-legacy", "openai-chat", "tool_result.name"): "the old role `function`",
    ("tool-reference", "anthropic-messages", "tool.deferred"): "its search ran before",
    ("tool-search-client", "anthropic-messages", "tool.deferred"): "the client runs its search",
    ("vercel-no-result", "vercel-core", "text.empty"): "a result that has no field",
    ("vercel-result-file-id", "vercel-core", "text.empty"): "a result of which nothing is left",
}
"""Documents that hold more than their dialect declares, each with the reason."""


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: f"{d.name}.{d.degraded}")
def test_lowering_for_the_same_dialect_loses_nothing(document: Document) -> None:
    dialect = dialects.get(document.dialect)
    tree = dialect.read(document.body, document.facet)
    if isinstance(tree, Response) and tree.failure is not None:
        return  # it is lowered to its error
    log = Ledger()
    lower(tree, dialect, log)
    case = document.name.partition("/")[0]
    lost = {loss.what for loss in log.losses if loss.kind != "moved"}
    assert {code for code in lost if (case, document.dialect, code) not in UNOFFICIAL} == set()


CALL = Message("assistant", (ToolCall("c", "f", "{}"),))
PNG = Source("base64", "iVBORw0KGgo=", "image/png")
CANDIDATE = Candidate(Message("assistant", (Text("So."),)), Stop("end"))
SCHEMA = {"type": "object", "properties": {}}


def written(*blocks: object, role: str = "user") -> Request:
    messages = (Message("user", (Text("Hi"),)), Message(role, (*blocks, Text("So."))))  # type: ignore[arg-type]
    return Request("m", messages)


def tools(tool: Tool, choice: ToolChoice | None = None) -> Request:
    return Request("m", (Message("user", (Text("Hi"),)),), tools=(tool,), tool_choice=choice)


def replied(**more: object) -> Response:
    return Response("r", "m", (CANDIDATE,), **more)  # type: ignore[arg-type]


NONE = Params()
FORM = OutputFormat("schema", schema=SCHEMA | {"additionalProperties": False})


def asked(**params: Any) -> Request:
    return Request("m", (Message("user", (Text("Hi"),)),), params=Params(**params))


HOLDERS: dict[str, Tree] = {
    "message.name": Request("m", (Message("user", (Text("Hi"),), name="ann"),)),
    "refusal": written(Refusal("No."), role="assistant"),
    "passage": written(Passage("s", "t", (Text("Here."),))),
    "tool_call.item_id": written(ToolCall("c", "f", "{}", item_id="fc_1"), role="assistant"),
    "tool_result.name": Request(
        "m", (CALL, Message("tool", (ToolResult("c", (Text("1"),), name="f"),)))
    ),
    "tool_result.error": Request(
        "m", (CALL, Message("tool", (ToolResult("c", (Text("1"),), is_error=True),)))
    ),
    "tool.namespace": tools(Tool("f", schema=SCHEMA, namespace="crm")),
    "tool.strict": tools(Tool("f", schema=SCHEMA, strict=True)),
    "tool.kind": tools(Tool("f", kind="custom")),
    "tool_choice.parallel": tools(Tool("f", schema=SCHEMA), ToolChoice("auto", parallel=False)),
    "reasoning": written(Reasoning(("Hm.",)), role="assistant"),
    "reasoning.id": written(Reasoning(("Hm.",), id="rs_1"), role="assistant"),
    "reasoning.summary": written(Reasoning(summary=("Hm.",)), role="assistant"),
    "reasoning.signature": written(
        Reasoning(("Hm.",), signature=Signature("c2ln", "nobody")), role="assistant"
    ),
    "cache": written(Text("Hi", cache=Cache())),
    "media": written(Media("image", PNG)),
    "media.detail": written(Media("image", PNG, detail="low")),
    "candidates": Response("r", "m", (CANDIDATE, CANDIDATE)),
    "service_tier": replied(service_tier="flex"),
    "response.created": replied(created=1),
    "output.name": asked(output=replace(FORM, name="n")),
    "output.description": asked(output=replace(FORM, description="d")),
    "output.strict": asked(output=replace(FORM, strict=True)),
    "thinking.budget": asked(max_tokens=9000, thinking=Thinking("on", budget=2048)),
    "max_tokens": asked(max_tokens=100),
    "temperature": asked(temperature=0.5),
    "top_p": asked(top_p=0.5),
    "top_k": asked(top_k=5),
    "stop": asked(stop=("END",)),
    "seed": asked(seed=1),
    "frequency_penalty": asked(frequency_penalty=0.5),
    "presence_penalty": asked(presence_penalty=0.5),
    "logit_bias": asked(logit_bias={"5": 1.0}),
    "top_logprobs": asked(logprobs=True, top_logprobs=2),
    "verbosity": asked(verbosity="low"),
    "stream": asked(stream=True),
    "metadata": asked(metadata={"a": "b"}),
    "user_id": asked(user_id="u"),
    "cache_key": asked(cache_key="k"),
    "store": asked(store=True),
    "previous_id": asked(previous_id="resp_1"),
    "conversation_id": asked(conversation_id="conv_1"),
    "truncation": asked(truncation="auto"),
}
"""Of each code, a tree that holds it and nothing else that is rare."""
ASKED = {code for code, tree in HOLDERS.items() if getattr(tree, "params", NONE) != NONE}
"""Parameters, which the table of a writer makes fit."""
BY_MODEL = {("xai", "frequency_penalty"), ("xai", "presence_penalty")}
"""An unknown model counts as one that reasons, and those reject them."""


def pairs() -> Iterator[tuple[str, str]]:
    for name in dialects.names():
        known = dialects.get(name).declared()
        codes = [code for code in HOLDERS if known.get(code) in (YES, NO)]
        yield from ((name, code) for code in codes if is_tried(name, code))


def is_tried(name: str, code: str) -> bool:
    return code not in ASKED or ((name, code) not in BY_MODEL and takes_requests(name))


@cache
def takes_requests(name: str) -> bool:
    """Whether a plain request can be written, to which a parameter may be added."""
    if "write" not in dialects.get(name).facets().get("request", ()):
        return False
    try:
        dialects.get(name).write(asked(), Ledger())
    except Unsayable:
        return False
    return True


WHOLE = {
    "reasoning.summary": {"reasoning"},
    "media.detail": {"media", "content.role"},
    "tool_result.error": {"tool_result"},
    "thinking.budget": {"thinking"},
    **{f"output.{label}": {"output"} for label in ("name", "description", "strict")},
}
"""What goes with the block that has it, where that is dropped as a whole."""


@pytest.mark.parametrize(("name", "code"), list(pairs()))
def test_what_is_declared_decides_the_loss(name: str, code: str) -> None:
    dialect, log = dialects.get(name), Ledger(now=0)
    word = dialect.declared()[code]
    if code in ASKED:
        dialect.write(HOLDERS[code], log)
    else:
        lower(HOLDERS[code], dialect, log)
    lost = {loss.what for loss in log.losses}
    if word == NO:
        assert code in lost or not lost.isdisjoint(WHOLE.get(code, ()))
    else:
        assert code not in lost


def test_declarations_are_about_codes_of_the_ledger() -> None:
    for name in dialects.names():
        assert dialects.get(name).declared().keys() <= CODES.keys()


def test_what_two_dialects_declare_is_compared() -> None:
    """A code is listed where the target holds less than the source, or something else."""
    found = {each.code: each for each in differences("openai-chat", "anthropic-messages")}
    assert found["temperature"][1:] == ("0 to 2", "0 to 1")
    assert found["seed"][1:] == ("yes", "no")
    assert found["cache.ttl"][1:] == ("30m, 12h", "5m, 1h")
    back = {each.code for each in differences("anthropic-messages", "openai-chat")}
    assert back >= {"top_k", "passage", "reasoning.signature"}
    assert back.isdisjoint({"temperature", "media", "seed"})  # of these it holds more


@pytest.mark.parametrize("facet", ["response", "error", "request"])
def test_differences_of_one_facet(facet: str) -> None:
    codes = {each.code for each in differences("openai-chat", "anthropic-messages", facet)}
    assert ("error.code" in codes) == (facet in ("response", "error"))
    assert ("response.created" in codes) == (facet == "response")
    assert ("seed" in codes) == (facet == "request")


def test_nothing_differs_from_itself() -> None:
    assert all(differences(name, name) == () for name in dialects.names())
