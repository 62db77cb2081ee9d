"""What servers refused because of the model, held against what ``check`` says of it.

That what they accepted breaks no rule is in ``test_verdicts.py``; here, those requests too whose
address names the model, and what becomes of recorded requests that are sent to another model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import pytest

import dragoman
from dragoman.check import check
from dragoman.dialects._model_rules import RULES as MODEL_RULES

from . import laws
from .reality import DIALECTS, SHARED, UNRECORDED, file_of
from .test_reality import readable

# The words in which servers refuse what only some of their models take.
REFUSED = re.compile(
    r"(?:is|are) not supported (?:with|in|by|on) this model"
    r"|is not supported with the '[^']*' model"
    r"|does not support (?:parameter|'\w+' with this model)"
    r"|is deprecated for this model|not enabled for (?:models/|this model)"
    r"|unknown variant `(?:image|video)_url`"
    r"|model doesn't support the"
    r"|does not support assistant message prefill|which is the maximum allowed number of output"
    r"|tools is not supported"
).search
# Who served it -> the dialect whose rules it is held against.
SPOKEN = {"xai": "xai", "groq": "groq", "deepseek": "deepseek", "mistral": "mistral"}
# Refusals that cannot be seen in the request, each with its reason.
UNSEEN: dict[str, str] = {}


class Verdict(NamedTuple):
    name: str
    dialect: str
    written: str
    request: dict[str, Any]


def entries(dialect: str, kind: str) -> Iterator[dict[str, Any]]:
    if (dialect, kind) in UNRECORDED:
        return
    for line in file_of(dialect, kind).read_bytes().splitlines():
        yield json.loads(line)


def refused() -> Iterator[Verdict]:
    """Recorded refusals for a model's sake, with the requests where these were recorded too."""
    for dialect in DIALECTS:
        asked = {entry["pair"]: entry for entry in entries(dialect, "request")}
        for entry in entries(dialect, "error"):
            written = json.dumps(entry.get("body", entry.get("text")), ensure_ascii=False)
            if entry["origin"] != "recorded" or not REFUSED(written):
                continue
            request = asked.get(entry["pair"], {}).get("body") or inner(entry)
            if isinstance(request, dict):
                named = {
                    "modelId" if dialect == "bedrock-converse" else "model": entry.get("model")
                }
                spoken = SPOKEN.get(entry["via"], dialect)
                request = {**{k: v for k, v in named.items() if v}, **request}
                yield Verdict(entry["id"], spoken, written, request)


def inner(entry: dict[str, Any]) -> Any:
    body = entry.get("body")
    return body.get("request") if isinstance(body, dict) else None


def accepted(dialect: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Recorded requests that were answered, by whoever serves the vendor's models: name, dialect,
    and the body with its model.
    """
    replied = {
        entry["pair"]
        for kind in ("response", "stream")
        for entry in entries(dialect, kind)
        if entry.get("status") in (None, 200)
    }
    key = "modelId" if dialect == "bedrock-converse" else "model"
    for entry in entries(dialect, "request"):
        spoken = SPOKEN.get(entry["via"], dialect if entry["via"] in SERVERS else None)
        body = entry["body"]
        if spoken and entry["origin"] == "recorded" and entry["pair"] in replied:
            named = {key: entry["model"]} if entry.get("model") else {}
            yield entry["id"], spoken, {**named, **body}


SERVERS = ("anthropic", "openai", "google", "vertex", "bedrock", "azure", "cohere")
VERDICTS = tuple(refused()) if SHARED.exists() else ()


def test_there_are_refusals() -> None:
    assert len(VERDICTS) >= 5, "the recordings are missing, or their words have changed"


@pytest.mark.parametrize("verdict", VERDICTS, ids=lambda v: v.name)
def test_what_was_refused_for_its_model_breaks_a_rule(verdict: Verdict) -> None:
    rules = {problem.rule for problem in check(verdict.request, verdict.dialect)}
    found = any(rule.startswith("model-") for rule in rules)
    laws.tally("8 refused, and found", verdict.dialect, found)
    assert found or verdict.name in UNSEEN, (verdict.written[:300], rules)


@pytest.mark.parametrize("verdict", VERDICTS, ids=lambda v: v.name)
def test_what_was_refused_is_repaired_by_a_repair(verdict: Verdict) -> None:
    done = dragoman.repair(verdict.request, verdict.dialect)
    left = {problem.rule for problem in check(done.document, verdict.dialect)}
    assert not any(rule.startswith("model-") for rule in left), left
    assert done.losses or verdict.name in UNSEEN


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_was_accepted_breaks_no_rule_of_its_model(dialect: str) -> None:
    failures = []
    for name, spoken, body in accepted(dialect):
        found = [p for p in check(body, spoken) if p.rule in MODEL_RULES]
        laws.tally("9 accepted by its model", spoken, not found)
        failures += [(name, problem) for problem in found]
    assert not failures, failures[:5]


# One model of each generation that differs, for each API that serves it.
MODELS = {
    "anthropic-messages": ("claude-sonnet-4-5", "claude-opus-4-6", "claude-opus-4-7",
                           "claude-opus-5", "claude-opus-5-5", "claude-3-haiku-20240307"),
    "bedrock-converse": ("us.anthropic.claude-opus-4-7", "mistral.mistral-large-2402-v1:0"),
    "openai-chat": ("gpt-4o", "o1-mini", "o4-mini", "gpt-5-nano", "gpt-5.1", "gpt-6-astra"),
    "openai-responses": ("gpt-4.1", "o4-mini", "gpt-5.6"),
    "gemini": ("gemini-2.0-flash", "gemini-2.5-pro", "gemini-3-flash", "gemma-3-27b-it"),
}  # fmt: skip
EVERY_NTH = 7


@pytest.mark.parametrize(("source", "target"), list(product(DIALECTS, MODELS)))
def test_what_is_written_for_a_model_is_not_refused(source: str, target: str) -> None:
    """Recorded requests, sent to another model: what is written breaks no rule of that model."""
    if source == target:
        return
    for record, model in product(readable(source, "request")[::EVERY_NTH], MODELS[target]):
        key = "modelId" if source == "bedrock-converse" else "model"
        asked = {**record.body, key: model}
        done = dragoman.convert(asked, source=source, target=target)
        found = [p for p in check(done.document, target) if p.rule in MODEL_RULES]
        assert laws.tally("10 fits its model", target, not found), (record.name, model, found)
