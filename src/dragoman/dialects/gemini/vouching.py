"""Calls that no Gemini signed, for models that demand a signature.

Gemini 3 refuses a history in which the first call of a step is not signed ("Function call is
missing a thought_signature in functionCall parts"). Another model's calls have none; for them
Google documents a word that stands in, and its own client sends it:
https://ai.google.dev/gemini-api/docs/thought-signatures#faqs

Where LiteLLM stood between, the signature is there after all: it puts it into the id of the call,
``call_12__thought__<signature>``, as any client sends that back.
https://github.com/BerriAI/litellm/pull/16895
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...ledger import Ledger
from ...model import Json, Message, ToolCall

WORD = "skip_thought_signature_validator"
_hidden = re.compile(r".+?__thought__([A-Za-z0-9+/_-]+=*)", re.DOTALL).fullmatch
WHY = "Gemini 3 requires a signature on a tool call; written as the placeholder that Google allows"


def vouch(contents: list[Json], messages: Sequence[Message], log: Ledger) -> None:
    """Sign what the model would refuse unsigned, and say so."""
    calls = [block for m in messages for block in m.content if isinstance(block, ToolCall)]
    parts = [part for content in contents for part in content["parts"] if "functionCall" in part]
    places = dict(zip(map(id, parts), (call.at for call in calls), strict=False))
    for part in first_calls(contents):
        if "thoughtSignature" in part:
            continue
        at = places.get(id(part), "")
        if (hidden := _hidden(part["functionCall"].get("id") or "")) is not None:
            part["thoughtSignature"] = hidden[1]
            why = "the signature is taken from the id, where LiteLLM puts it"
            log.approximated("reasoning.signature", at, why)
        else:
            part["thoughtSignature"] = WORD
            log.invented("reasoning.signature", at, WHY)


def first_calls(contents: list[Json]) -> Iterator[dict[str, Json]]:
    """The first call of every step; of earlier turns too, so that a history only ever grows."""
    for content in contents:
        if content["role"] == "model":
            yield from [part for part in content["parts"] if "functionCall" in part][:1]
