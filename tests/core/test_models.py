"""What depends on the model: the tables, and what writers, check and repair make of them.

The cases ``model-*`` of the corpus have whole conversations.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import dragoman
from dragoman import Malformed, Unsupported, models, testing
from dragoman.core.models import DEFAULT, FACTS, UNKNOWN, Row, Vendor, core
from dragoman.dialects import get
from dragoman.dialects._model_rules import RULES
from dragoman.ledger import CODES
from dragoman.model import Params
from dragoman.testing import Document

HI: Any = {"role": "user", "content": "Hi"}
HO: Any = {"role": "assistant", "content": "Ho"}
ORDER: Any = {"role": "system", "content": "Be brief."}
ROWS = [
    pytest.param(vendor, row, id=f"{vendor.name}: {row.names[0]}")
    for vendor in DEFAULT.vendors()
    for row in vendor.rows
]

# -- names -----------------------------------------------------------------------------------------

NAMES = [
    ("claude-opus-4-7", "anthropic", "claude-opus-4-7"),
    ("us.anthropic.claude-opus-4-7-v1:0", "anthropic", "claude-opus-4-7"),
    ("claude-opus-4-7@20260416", "anthropic", "claude-opus-4-7"),
    ("anthropic/claude-opus-4.7", "anthropic", "claude-opus-4-7"),
    ("anthropic/claude-3.7-sonnet:thinking", "anthropic", "claude-3-7-*"),
    ("publishers/anthropic/models/claude-opus-4@20250514", "anthropic", "claude-opus-4"),
    (
        "arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.claude-sonnet-4-6",
        "anthropic",
        "claude-sonnet-4-6",
    ),
    ("CLAUDE-HAIKU-4-5-20251001", "anthropic", "claude-haiku-4-5"),
    ("claude-opus-9", "anthropic", "*"),
    ("gpt-5-nano-2025-08-07", "openai", "gpt-5-nano"),
    ("ft:gpt-4o-mini-2024-07-18:org::id", "openai", "gpt-4o*"),
    ("openai/gpt-oss-120b", "openai", "gpt-oss*"),
    ("gpt-7", "openai", "*"),
    ("o4-mini", "openai", "o4*"),
    ("models/gemini-2.5-flash-preview-05-20", "google", "gemini-2.5-flash*"),
    ("gemini-3.1-pro-preview", "google", "*"),
    ("google/gemma-3n-e4b-it:free", "google", "gemma-3*"),
    ("us.mistral.pixtral-large-2502-v1:0", "mistral", "*"),
    ("grok-code-fast-1", "xai", "grok-code*"),
    ("llama3.2", "meta", None),
    ("m", None, None),
    ("my-deployment", None, None),
    ("", None, None),
]


@pytest.mark.parametrize(("name", "vendor", "pattern"), NAMES)
def test_a_name_finds_its_row(name: str, vendor: str | None, pattern: str | None) -> None:
    assert DEFAULT.vendor_of(name) == vendor
    assert DEFAULT.find(None, name).pattern == pattern
    assert DEFAULT.facts(None, name) == DEFAULT.find(None, name).facts


def test_what_is_nobodys_tells_nothing() -> None:
    assert DEFAULT.facts("anthropic", None) is UNKNOWN
    assert DEFAULT.facts("anthropic", "gpt-5") is UNKNOWN
    assert DEFAULT.facts("", "claude-opus-4-7") is UNKNOWN


def test_names_from_strangers_cost_little_and_are_forgotten() -> None:
    known = models.Models()
    for number in range(3 * models.MOST):
        known.facts("anthropic", f"claude-{number}")
        known.vendor_of(f"claude-{number}")
    assert len(known._facts) <= models.MOST
    assert len(known._vendors) <= models.MOST
    assert core("-" * 300_000 + "@" * 9) is not None


# -- the tables ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("vendor", "row"), ROWS)
def test_every_fact_has_a_source(vendor: Vendor, row: Row) -> None:
    for name in FACTS:
        if getattr(row.facts, name) != getattr(UNKNOWN, name):
            assert row.sources.get(name), f"{name} has no source"


@pytest.mark.parametrize(("vendor", "row"), ROWS)
def test_facts_speak_of_what_there_is(vendor: Vendor, row: Row) -> None:
    facts = row.facts
    for name in (*facts.refuses, *facts.refuses_thinking, *facts.fixed, *facts.exclusive):
        assert name in Params.__struct_fields__
        assert name in CODES
    from dragoman.core.fitting import LADDER

    assert set(facts.efforts or ()) <= {*LADDER, "default"}
    levels = [level for level in facts.efforts or () if level in LADDER]
    assert levels == sorted(levels, key=LADDER.index)


@pytest.mark.parametrize(("vendor", "row"), ROWS)
def test_every_row_can_be_reached(vendor: Vendor, row: Row) -> None:
    for pattern in row.names:
        if pattern == "*":
            assert row is vendor.rows[-1]
            continue
        name = pattern.replace("*", "x").replace("?", "5")
        found = DEFAULT.find(vendor.name, name)
        assert found.pattern == pattern, f"{name} is caught by {found.pattern}"


def test_a_vendor_is_one_file() -> None:
    assert {vendor.name for vendor in DEFAULT.vendors()} >= set(models.VENDORS)
    spoken = {get(name).vendor for name in dragoman.dialects.names()} - {""}
    assert spoken <= set(models.VENDORS)


# -- rows of the caller's own ----------------------------------------------------------------------


def test_own_rows_win() -> None:
    mine = models.load(
        {
            "model": [
                {"names": ["prod-*"], "like": "claude-opus-4-7", "facts": {"max_tokens": 32000}},
                {"names": ["claude-opus-4-7"], "vendor": "anthropic", "facts": {"prefill": True}},
            ]
        }
    )
    assert mine.vendor_of("prod-eu") == "anthropic"
    facts = mine.facts("anthropic", "prod-eu")
    assert (facts.max_tokens, facts.prefill, facts.refuses) == (32000, False, ("top_p", "top_k"))
    assert mine.facts("anthropic", "claude-opus-4-7") == models.Facts(prefill=True)
    assert mine.find(None, "prod-eu").row.sources["max_tokens"] == "given by the caller"  # type: ignore[union-attr]
    assert DEFAULT.vendor_of("prod-eu") is None
    more = mine.extended({"model": [{"names": ["prod-*"], "facts": {"max_tokens": 7}}]})
    assert more.facts("anthropic", "prod-eu").max_tokens == 7


@pytest.mark.parametrize(
    ("entry", "at", "written"),
    [
        ({"names": ["x"], "facts": {"max_tokens": "1"}}, "/model/0/facts/max_tokens", "expected"),
        ({"names": ["x"], "facts": {"prefil": True}}, "/model/0/facts", "unknown field `prefil`"),
        ({"names": "x"}, "/model/0/names", "expected `array`"),
        ({"name": ["x"]}, "/model/0", "unknown field `name`"),
        ({"names": ["x"], "vendor": "acme"}, "/model/0/vendor", "unknown vendor 'acme'"),
        ({"names": ["x"], "like": "acme-1"}, "/model/0/like", "unknown model"),
    ],
)
def test_a_broken_row_says_where(entry: dict[str, Any], at: str, written: str) -> None:
    with pytest.raises(Malformed, match=written) as broken:
        models.load({"model": [entry]})
    assert broken.value.at == at


def test_models_are_given_as_rows_or_tables() -> None:
    doc = {"model": "prod", "messages": [HI], "temperature": 0.5, "max_completion_tokens": 9}
    rows = {"model": [{"names": ["prod"], "like": "claude-opus-4-7"}]}
    for given in (rows, models.load(rows)):
        result = dragoman.convert(
            doc, source="openai-chat", target="anthropic-messages", models=given
        )
        assert "temperature" not in result.document
        assert [loss.what for loss in result.losses] == ["temperature"]
    with pytest.raises(Unsupported, match="models"):
        dragoman.convert(doc, source="openai-chat", target="anthropic-messages", models=7)  # type: ignore[arg-type]
    asked = {"model": "prod", "max_tokens": 9, "messages": [HI, HO]}
    assert dragoman.check(asked, "anthropic-messages") == []
    assert [p.rule for p in dragoman.check(asked, "anthropic-messages", models=rows)] == [
        "model-prefill"
    ]
    repaired = dragoman.repair(asked, "anthropic-messages", models=rows)
    assert repaired.document["messages"][-1] == {"role": "user", "content": "Continue."}


# -- check and repair ------------------------------------------------------------------------------

A, C, R, G, B = (
    "anthropic-messages",
    "openai-chat",
    "openai-responses",
    "gemini",
    "bedrock-converse",
)


def budget(tokens: int) -> Any:
    return {"generationConfig": {"thinkingConfig": {"thinkingBudget": tokens}}}


def level(word: str) -> Any:
    return {"generationConfig": {"thinkingConfig": {"thinkingLevel": word}}}


def both(tokens: int) -> Any:
    config = {"thinkingBudget": tokens, "thinkingLevel": "LOW"}
    return {"generationConfig": {"thinkingConfig": config}}


def form(config: Any) -> Any:
    """JSON is demanded beside a tool."""
    tools = [{"functionDeclarations": [{"name": "f"}]}]
    return {"tools": tools, "generationConfig": {"responseMimeType": "application/json", **config}}


ENABLED = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
ADAPTIVE = {"thinking": {"type": "adaptive"}}
DISABLED = {"thinking": {"type": "disabled"}}
TOOL = {"name": "f", "input_schema": {"type": "object"}}
FUNCTION = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
PICTURE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
VIDEO = {"video": {"format": "mp4", "source": {"s3Location": {"uri": "s3://b/v.mp4"}}}}
IN_S3 = {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://b/i.png"}}}}
# dialect, model, what the request says, the rules it breaks
BROKEN: list[tuple[str, str, dict[str, Any], list[str]]] = [
    (A, "claude-opus-4-7", {"temperature": 0.5}, ["model-parameter"]),
    (A, "claude-opus-4-7", {"temperature": 1}, []),
    (A, "claude-opus-4-6", {"temperature": 0.5}, []),
    (A, "claude-opus-4-6", {"temperature": 0.5, "top_p": 0.9}, ["model-parameter"]),
    (A, "claude-sonnet-4", {"temperature": 0.5, "top_p": 0.9}, []),
    (A, "claude-opus-4-8", {"top_p": 1, "top_k": 5}, ["model-parameter", "model-parameter"]),
    (A, "claude-opus-4-7", ENABLED, ["model-thinking"]),
    (A, "claude-opus-4-6", ENABLED, []),
    (A, "claude-sonnet-4-5", ADAPTIVE, ["model-thinking"]),
    (A, "claude-opus-4-8", DISABLED, []),
    (A, "claude-opus-5-5", DISABLED, ["model-thinking"]),
    (A, "claude-sonnet-5-5", DISABLED, ["model-thinking"]),
    (A, "claude-sonnet-4-5", {"output_config": {"effort": "low"}}, ["model-effort"]),
    (A, "claude-opus-4-6", {"output_config": {"effort": "xhigh"}}, ["model-effort"]),
    (A, "claude-opus-4-7", {"output_config": {"effort": "xhigh"}}, []),
    (A, "claude-opus-5", DISABLED | {"output_config": {"effort": "max"}}, ["model-effort"]),
    (A, "claude-opus-4-6", {"messages": [HI, HO]}, ["model-prefill"]),
    (A, "claude-sonnet-4-5", {"messages": [HI, HO]}, []),
    (A, "claude-opus-4-7", {"messages": [HI, ORDER]}, ["model-system"]),
    (A, "claude-opus-4-8", {"messages": [HI, ORDER]}, []),
    (A, "claude-sonnet-4-5", {"max_tokens": 64001}, ["model-limit"]),
    (A, "claude-opus-5-5", {"tools": [TOOL], "tool_choice": {"type": "any"}}, ["model-tools"]),
    (A, "m", {"temperature": 0.5, **ENABLED}, ["thinking-temperature"]),
    (A, "m", {"temperature": 0.5, **ADAPTIVE}, ["thinking-temperature"]),
    (C, "gpt-5-nano", {"temperature": 0.5}, ["model-parameter"]),
    (C, "gpt-5-nano", {"temperature": 1}, []),
    (C, "gpt-5.1", {"temperature": 0.5}, []),
    (C, "gpt-5.1", {"temperature": 0.5, "reasoning_effort": "low"}, ["model-parameter"]),
    (C, "gpt-5.6", {"temperature": 0.5, "reasoning_effort": "none"}, []),
    (C, "gpt-5-nano", {"max_tokens": 9}, ["model-limit"]),
    (C, "gpt-4o", {"max_tokens": 9}, []),
    (C, "gpt-4o", {"max_tokens": 99999}, ["model-limit"]),
    (C, "o4-mini", {"reasoning_effort": "minimal"}, ["model-effort"]),
    (C, "gpt-4.1", {"reasoning_effort": "low"}, ["model-effort"]),
    (C, "gpt-5-chat-latest", {"tools": [FUNCTION]}, ["model-tools"]),
    (C, "o1-mini", {"messages": [{"role": "system", "content": "s"}, HI]}, ["model-system"]),
    (C, "o3-mini", {"messages": [{"role": "user", "content": [PICTURE]}]}, ["model-media"]),
    (R, "gpt-5-nano", {"top_p": 0.5}, ["model-parameter"]),
    (R, "o4-mini", {"reasoning": {"effort": "minimal"}}, ["model-effort"]),
    (R, "gpt-5-chat-latest", {"reasoning": {"effort": "low"}}, ["model-effort"]),
    (G, "gemini-2.5-pro", budget(0), ["model-thinking"]),
    (G, "gemini-2.5-pro", budget(64), ["model-thinking"]),
    (G, "gemini-2.5-flash", budget(0), []),
    (G, "gemma-4-31b-it", budget(1024), ["model-thinking"]),
    (G, "gemini-3-pro-preview", level("MEDIUM"), ["model-effort"]),
    (G, "gemini-3-flash", level("MINIMAL"), []),
    (G, "gemini-2.5-pro", level("HIGH"), ["thinking"]),
    (G, "gemini-3-flash", both(1024), ["thinking"]),
    (G, "gemini-3-flash", both(-1), ["thinking"]),
    (G, "gemini-2.5-pro", both(1024), ["thinking", "thinking"]),
    (G, "gemini-2.5-pro", form({}), ["format-tools"]),
    (G, "gemini-2.5-pro", form({"responseJsonSchema": {"type": "object"}}), ["format-tools"]),
    (G, "gemini-3-pro-preview", form({}), []),
    (G, "gemma-3-27b-it", {"systemInstruction": {"parts": [{"text": "s"}]}}, ["model-system"]),
    (
        G,
        "gemini-2.5-flash-image",
        {"generationConfig": {"responseMimeType": "application/json"}},
        ["model-output"],
    ),
    (
        G,
        "gemma-3-27b-it",
        {"tools": [{"functionDeclarations": [{"name": "f"}]}]},
        ["model-tools"],
    ),
    (B, "us.anthropic.claude-opus-4-7", {"inferenceConfig": {"topP": 0.5}}, ["model-parameter"]),
    (
        B,
        "us.anthropic.claude-opus-4-7",
        {"messages": [{"role": "user", "content": [{"text": "a"}]}, {"role": "assistant",
         "content": [{"text": "b"}]}]},
        ["model-prefill"],
    ),
    (
        B,
        "anthropic.claude-sonnet-4-5-v1:0",
        {"messages": [{"role": "user", "content": [{"text": "a"}, VIDEO, IN_S3]}]},
        ["model-media", "model-media"],
    ),
    (
        B,
        "anthropic.claude-opus-4-7",
        {"additionalModelRequestFields": ENABLED, "outputConfig": {"effort": "low"}},
        ["model-thinking"],
    ),
    ("xai", "grok-code-fast-1", {"reasoning_effort": "low"}, ["model-effort"]),
    ("groq", "meta-llama/llama-guard-4-12b", {"tools": [FUNCTION]}, ["model-tools"]),
    ("mistral", "ministral-3b-latest", {"logprobs": True}, ["model-parameter"]),
    (
        "deepseek",
        "deepseek-v4-flash",
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, PICTURE]}]},
        ["model-media"],
    ),
]  # fmt: skip
BARE: dict[str, dict[str, Any]] = {
    A: {"max_tokens": 4096, "messages": [HI]},
    R: {"input": [HI], "store": False},
    G: {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
    B: {"messages": [{"role": "user", "content": [{"text": "Hi"}]}]},
}


def request(dialect: str, model: str, more: dict[str, Any]) -> dict[str, Any]:
    key = "modelId" if dialect == B else "model"
    return {key: model, **BARE.get(dialect, {"messages": [HI]}), **more}


@pytest.mark.parametrize(("dialect", "model", "more", "rules"), BROKEN)
def test_check(dialect: str, model: str, more: dict[str, Any], rules: list[str]) -> None:
    assert [p.rule for p in dragoman.check(request(dialect, model, more), dialect)] == rules


@pytest.mark.parametrize(("dialect", "model", "more", "rules"), BROKEN)
def test_repair(dialect: str, model: str, more: dict[str, Any], rules: list[str]) -> None:
    doc = request(dialect, model, more)
    done = dragoman.repair(doc, dialect)
    assert dragoman.check(done.document, dialect) == []
    assert bool(done.losses) is bool(rules)
    if not rules:
        assert done.document == doc


def test_every_rule_is_tried() -> None:
    assert {rule for row in BROKEN for rule in row[3]} >= RULES.keys()


# -- nothing that is written is refused ------------------------------------------------------------

ASKED: list[tuple[str, dict[str, Any]]] = [
    (C, {"messages": [HI], "temperature": 0.3, "top_p": 0.9, "stop": ["x"]}),
    (C, {"messages": [HI], "max_completion_tokens": 999_999, "reasoning_effort": "xhigh"}),
    (C, {"messages": [HI], "max_completion_tokens": 1500, "reasoning_effort": "minimal"}),
    (C, {"messages": [HI, HO], "reasoning_effort": "none", "frequency_penalty": 0.1}),
    (C, {"messages": [HI, HO, {"role": "system", "content": "s"}, HI], "logprobs": True}),
    (
        C,
        {
            "messages": [{"role": "developer", "content": "d"}, {**HI, "content": "As JSON."}],
            "tools": [FUNCTION],
            "tool_choice": "required",
            "response_format": {"type": "json_object"},
            "reasoning_effort": "low",
        },
    ),
    ("openrouter", {"messages": [HI], "reasoning": {"max_tokens": 20000}, "temperature": 0.2}),
    ("openrouter", {"messages": [HI], "reasoning": {"enabled": True}, "max_tokens": 9000}),
    (A, {"max_tokens": 9000, "messages": [HI], **ENABLED, "system": "s"}),
    (A, {"max_tokens": 9000, "messages": [HI], **ADAPTIVE, "output_config": {"effort": "max"}}),
    (A, {"max_tokens": 9000, "messages": [HI, HO], **DISABLED, "top_k": 4, "top_p": 0.2}),
    (G, {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], **budget(0)}),
    (G, {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], **level("HIGH")}),
    (
        G,
        {
            "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
            "generationConfig": {
                "thinkingConfig": {"includeThoughts": False, "thinkingBudget": 0},
                "topK": 3,
            },
        },
    ),
]
EVERY = sorted(
    {
        (vendor.name, name.replace("*", "x").replace("?", "5"))
        for vendor in DEFAULT.vendors()
        for row in vendor.rows
        for name in row.names
    }
)
SERVED = {
    "anthropic": (A, B),
    "openai": (C, R, "azure-openai"),
    "google": (G,),
    "mistral": ("mistral", B),
    "deepseek": ("deepseek",),
    "xai": ("xai",),
    "groq": ("groq",),
    "cohere": ("cohere",),
    "amazon": (B,),
}


@pytest.mark.parametrize(("vendor", "model"), EVERY, ids=[f"{v}: {n}" for v, n in EVERY])
def test_nothing_that_is_written_is_refused(vendor: str, model: str) -> None:
    """Each shape of a request, to each model that has a row, through each API that serves it."""
    for (source, doc), target in product(ASKED, SERVED[vendor]):
        if source == target:
            continue
        done = dragoman.convert({"model": model, **doc}, source=source, target=target)
        found = [p for p in dragoman.check(done.document, target) if p.rule in RULES]
        assert not found, (source, doc, target, done.document, found)


@pytest.mark.parametrize(("vendor", "model"), EVERY, ids=[f"{v}: {n}" for v, n in EVERY])
def test_every_change_is_reported(vendor: str, model: str) -> None:
    """The audit by node, over the same conversions."""
    for (source, doc), target in product(ASKED, SERVED[vendor]):
        if source != target:
            document = Document("", source, "", "request", False, {"model": model, **doc})
            testing.audit(document, target)


@pytest.mark.parametrize(("source", "doc"), ASKED)
def test_the_same_dialect_is_exact(source: str, doc: dict[str, Any]) -> None:
    for model in ("claude-opus-4-7", "gpt-5-nano", "gemma-3-27b-it", "o1-mini"):
        whole = {"model": model, **doc}
        done = dragoman.convert(whole, source=source, target=source)
        assert (done.document, done.losses) == (whole, ())
