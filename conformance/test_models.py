"""What servers refused because of the model, held against what ``check`` says of it.

That what they accepted breaks no rule is in ``test_verdicts.py``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

import dragoman
from dragoman.check import check

from . import laws
from .reality import DIALECTS, SHARED, file_of

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
    said: str
    request: dict[str, Any]


def entries(dialect: str, kind: str) -> Iterator[dict[str, Any]]:
    for line in file_of(dialect, kind).read_bytes().splitlines():
        yield json.loads(line)


def refused() -> Iterator[Verdict]:
    """Recorded refusals for a model's sake, with the requests where these were recorded too."""
    for dialect in DIALECTS:
        asked = {entry["pair"]: entry for entry in entries(dialect, "request")}
        for entry in entries(dialect, "error"):
            said = json.dumps(entry.get("body", entry.get("text")), ensure_ascii=False)
            if entry["origin"] != "recorded" or not REFUSED(said):
                continue
            request = asked.get(entry["pair"], {}).get("body") or inner(entry)
            if isinstance(request, dict):
                named = {
                    "modelId" if dialect == "bedrock-converse" else "model": entry.get("model")
                }
                spoken = SPOKEN.get(entry["via"], dialect)
                request = {**{k: v for k, v in named.items() if v}, **request}
                yield Verdict(entry["id"], spoken, said, request)


def inner(entry: dict[str, Any]) -> Any:
    body = entry.get("body")
    return body.get("request") if isinstance(body, dict) else None


VERDICTS = tuple(refused()) if SHARED.exists() else ()


def test_there_are_refusals() -> None:
    assert len(VERDICTS) >= 5, "the recordings are missing, or their words have changed"


@pytest.mark.parametrize("verdict", VERDICTS, ids=lambda v: v.name)
def test_what_was_refused_for_its_model_breaks_a_rule(verdict: Verdict) -> None:
    rules = {problem.rule for problem in check(verdict.request, verdict.dialect)}
    found = any(rule.startswith("model-") for rule in rules)
    laws.tally("8 refused, and found", verdict.dialect, found)
    assert found or verdict.name in UNSEEN, (verdict.said[:300], rules)


@pytest.mark.parametrize("verdict", VERDICTS, ids=lambda v: v.name)
def test_what_was_refused_is_mended_by_a_repair(verdict: Verdict) -> None:
    done = dragoman.repair(verdict.request, verdict.dialect)
    left = {problem.rule for problem in check(done.document, verdict.dialect)}
    assert not any(rule.startswith("model-") for rule in left), left
    assert done.losses or verdict.name in UNSEEN
