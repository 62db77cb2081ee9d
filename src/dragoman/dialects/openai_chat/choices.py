"""One choice of a stream: what has come of it, and how a delta is added to the whole."""

from __future__ import annotations

from ...model import Citation, Json
from ...streams.received import Received

SILENCE = Received(True)


RANKS = {"content": 1, "refusal": 2, "function_call": 3}
"""Reasoning stands first at rest, then these."""


class Speaker:
    """One candidate while it arrives: its message so far, and what of it is open."""

    def __init__(self, number: int, whole: bool) -> None:
        self.number = number
        self.whole = whole
        self.doc: dict[str, Json] = {}  # the choice, apart from its message
        self.message: dict[str, Json] = {}
        self.received: dict[str, Received] = {}  # texts of the message by their keys
        self.calls: dict[int, dict[str, Json]] = {}
        self.places: dict[int, int] = {}  # index of a call as the server counts -> its number
        self.arguments: dict[int, Received] = {}
        self.annotations: list[Json] = []
        self.cites: list[Citation] = []  # those that came before the text
        self.spoken: dict[str, Received] = {}  # the data of a speech, and its transcript
        self.blocks: list[tuple[dict[str, Json], Received]] = []  # LiteLLM's, and their words
        self.reasoning: list[tuple[dict[str, Json], Received]] | None = (
            None  # a part of the content
        )
        self.parts: list[Json] = []  # of the content, as they are
        self.open: dict[str | int, int] = {}  # key of a text or number of a call -> block
        self.text: int | None = None  # the block of the content, open or closed
        self.ended: set[str | int] = set()  # calls that were open and are no more
        self.grown: dict[str | int, None] = {}  # what is open and may have come to its end since
        self.highest = -1  # the number of a call that has begun
        self.signed = False


NESTED = (dict, list)


def block_at_rest(doc: dict[str, Json], text: str) -> dict[str, Json]:
    """One of LiteLLM's blocks, with all that was written of it."""
    if doc["type"] == "redacted_thinking":
        return doc
    whole = {**doc, "thinking": text}
    return whole if whole.get("signature") else {k: v for k, v in whole.items() if k != "signature"}


def says_something(speaker: Speaker) -> bool:
    """Whether a candidate has written why it stopped, or anything at all."""
    reason = speaker.doc.get("finish_reason") is not None
    given = (speaker.received, speaker.calls, speaker.spoken, speaker.blocks, speaker.reasoning)
    return reason or any(given) or bool(speaker.parts)


def is_another(call: dict[str, Json], doc: dict[str, Json]) -> bool:
    """Whether a delta with an id and a name begins another call than the one of its index."""
    new, old = doc.get("id"), call.get("id")
    inner = doc.get("function") or doc.get("custom")
    return bool(new and old and new != old and isinstance(inner, dict) and inner.get("name"))


def is_named(call: dict[str, Json]) -> bool:
    """Whether enough of a call is known to begin it."""
    return bool((call.get("function") or call.get("custom") or {}).get("name"))


def with_arguments(call: dict[str, Json], text: str) -> dict[str, Json]:
    key, field = ("custom", "input") if "custom" in call else ("function", "arguments")
    out: dict[str, Json] = {"type": "function", **call}
    out[key] = {**call.get(key, {}), field: text}
    return out


def overlaid(old: Json, new: Json) -> Json:
    """An object with the keys of another in it that it does not have."""
    if old.__class__ is not dict or new.__class__ is not dict:
        return new
    return {**old, **{key: overlaid(old.get(key), value) for key, value in new.items()}}


def merge(into: dict[str, Json], more: dict[str, Json]) -> None:
    """What a delta says of fields that nobody knows: texts grow, lists grow, objects merge."""
    for name, value in more.items():
        before = into.get(name)
        if isinstance(before, dict) and isinstance(value, dict):
            into[name] = before = dict(before)
            merge(before, value)
        elif isinstance(before, list) and isinstance(value, list):
            into[name] = [*before, *value]
        elif isinstance(before, str) and isinstance(value, str) and name not in ("id", "type"):
            into[name] = before + value
        elif value is not None or name not in into:
            into[name] = value
