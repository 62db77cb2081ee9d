"""One tiny conversation, to see what a conversion keeps, what it loses, and whether it says so.

Each feature is probed by difference: the conversation is converted with the feature and without
it. When both give the same document, the feature is lost; when both give the same notes as well,
it is lost silently. Where the feature is a string (a signature, an image), it must be in the
output itself. So a feature that is carried in any place, standard or not, counts as kept.
"""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

from benchmarks.contenders import ANTHROPIC, CLAUDE, Contender, Pair

Json: TypeAlias = Any

SIGNATURE = "EqQBCkYIARgCKkBprobe0signature0probe"
IMAGE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkAAIAAAoAAv/lxKUAAAAASUVORK5CYII="
)
CALL_ID = "toolu_01ProbeProbeProbe"
MARK = {"type": "ephemeral"}

CONVERSATION: Json = {
    "model": CLAUDE,
    "max_tokens": 4000,
    "thinking": {"type": "enabled", "budget_tokens": 2000},
    "system": [{"type": "text", "text": "Be brief.", "cache_control": MARK}],
    "tools": [
        {
            "name": "look",
            "description": "Look at a page.",
            "input_schema": {"type": "object", "properties": {"page": {"type": "string"}}},
        }
    ],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Look.", "cache_control": MARK}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "I should look.", "signature": SIGNATURE},
                {"type": "tool_use", "id": CALL_ID, "name": "look", "input": {"page": "a"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": CALL_ID,
                    "is_error": True,
                    "content": [
                        {"type": "text", "text": "It broke."},
                        {
                            "type": "image",
                            "source": {"type": "base64", "media_type": "image/png", "data": IMAGE},
                        },
                    ],
                }
            ],
        },
    ],
}


def _without_signature(doc: Json) -> None:
    doc["messages"][1]["content"][0]["signature"] = "another"


def _without_error(doc: Json) -> None:
    del doc["messages"][2]["content"][0]["is_error"]


def _without_image(doc: Json) -> None:
    del doc["messages"][2]["content"][0]["content"][1]


def _without_marks(doc: Json) -> None:
    del doc["system"][0]["cache_control"]
    del doc["messages"][0]["content"][0]["cache_control"]


def _without_reasoning(doc: Json) -> None:
    del doc["messages"][1]["content"][0]


def _other_id(doc: Json) -> None:
    doc["messages"][1]["content"][1]["id"] = "toolu_02"
    doc["messages"][2]["content"][0]["tool_use_id"] = "toolu_02"


# feature -> what takes it away, and a string that must be in the output if it is kept
FEATURES: dict[str, tuple[Callable[[Json], None], str]] = {
    "thought": (_without_reasoning, "I should look."),
    "signature": (_without_signature, SIGNATURE),
    "is_error": (_without_error, ""),
    "image in result": (_without_image, IMAGE),
    "cache marks": (_without_marks, ""),
    "call ids": (_other_id, CALL_ID),
}


def probe(contender: Contender, target: str) -> dict[str, str]:
    """For each feature: ``kept``, ``lost, said``, or ``lost``."""
    pair = (ANTHROPIC, target)
    if pair not in contender.convert:
        return dict.fromkeys(FEATURES, "-")
    return {name: _fate(contender, pair, *how) for name, how in FEATURES.items()}


def _fate(contender: Contender, pair: Pair, strip: Callable[[Json], None], sign: str) -> str:
    poorer = copy.deepcopy(CONVERSATION)
    strip(poorer)
    whole = _converted(contender, pair, CONVERSATION)
    if sign in whole and whole != _converted(contender, pair, poorer):
        return "kept"
    written = _notes(contender, pair, CONVERSATION)
    # A signature cannot be taken away alone, so its notes are those of any signed reasoning.
    if strip is _without_signature:
        return (
            "lost, said"
            if any(w in n for n in written for w in ("sign", "signature", "encrypted"))
            else "lost"
        )
    return "lost, said" if written != _notes(contender, pair, poorer) else "lost"


def _notes(contender: Contender, pair: Pair, doc: Json) -> list[str]:
    """What the library says of its losses, in its own way or by Python's warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        written = contender.notes(pair, copy.deepcopy(doc)) or []
        contender.convert[pair](copy.deepcopy(doc))
    return [*written, *(str(w.message) for w in caught)]


def _converted(contender: Contender, pair: Pair, doc: Json) -> str:
    return json.dumps(contender.convert[pair](copy.deepcopy(doc)), sort_keys=True, default=_plain)


def _plain(value: Any) -> Json:
    """Models that some converters leave in their output."""
    return value.model_dump(exclude_none=True)
