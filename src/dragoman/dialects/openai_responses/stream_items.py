"""One item of a streamed response: what has come of it, and what its end says."""

from __future__ import annotations

from ...core.reading import need_str
from ...model import Json
from ...streams.received import Received

CALL_TEXTS = {"function_call": "arguments", "custom_tool_call": "input"}


PART_TEXTS = {"output_text": "text", "refusal": "refusal", "reasoning_text": "text"}


SAID = ("content", "summary", "arguments", "input")
"""Where an item has what it says."""


class Item:
    """An item while it arrives."""

    def __init__(self, doc: dict[str, Json], at: str) -> None:
        self.doc = doc
        self.at = at
        self.kind = need_str(doc, "type", at)
        self.received: dict[tuple[str, int], Received] = {}
        self.keys: dict[tuple[str, int], tuple[str, int]] = {}  # as the server counts -> at rest
        self.counts: dict[str, int] = {}  # of parts, by place
        self.open: dict[tuple[str, int], int] = {}  # place and number there -> block
        self.blocks: dict[tuple[str, int], int] = {}  # the same, open or closed
        self.done = False
        self.renamed = False  # by the event that ended it; then the id that it began with holds

    def key(self, place: str, number: int) -> tuple[str, int]:
        """Which part it is at rest: some servers begin to count at 1 (gpt-oss on Bedrock)."""
        known = self.keys.get((place, number))
        if known is None:
            known = self.keys[place, number] = (place, self.counts.get(place, 0))
            self.counts[place] = known[1] + 1
        return known

    def whole(self) -> dict[str, Json]:
        """The item so far."""
        if self.done:
            return self.doc
        doc = dict(self.doc)
        for (place, number), given in self.received.items():
            if place == "call":
                doc[CALL_TEXTS[self.kind]] = str(given)
                continue
            parts = doc[place] = [dict(p) for p in doc.get(place) or ()]
            usual = "summary_text" if place == "summary" else "reasoning_text"
            usual = "output_text" if self.kind == "message" else usual
            while len(parts) <= number:
                parts.append({"type": usual, "text": ""})
            parts[number][PART_TEXTS.get(parts[number]["type"], "text")] = str(given)
        return doc


def without_progress(doc: dict[str, Json]) -> dict[str, Json]:
    """An item, apart from that it had begun, or was complete: as all are, one time or another."""
    if doc.get("status") not in ("in_progress", "completed"):
        return doc
    return {key: value for key, value in doc.items() if key != "status"}


def has_other_id(doc: dict[str, Json], item: Item) -> bool:
    """Whether an item has another id than it began with, as all events of some servers have."""
    first = item.doc.get("id")
    return isinstance(first, str) and doc.get("id") != first and doc.get("type") == item.kind


def kept(doc: dict[str, Json], item: Item) -> dict[str, Json]:
    """An item of the last event, with what was written of it that is missing there."""
    missing = [key for key in SAID if not doc.get(key) and item.doc.get(key)]
    return {**doc, **{key: item.doc[key] for key in missing}} if missing else doc


def part_text(part: Json) -> Json:
    """The text of a part, if it has one."""
    if not isinstance(part, dict):
        return None
    return part.get(PART_TEXTS.get(str(part.get("type")), "text"))


def words(doc: dict[str, Json]) -> list[str]:
    """The texts of the parts of an item."""
    both = [doc[place] for place in ("content", "summary") if isinstance(doc.get(place), list)]
    given = [part_text(part) for parts in both for part in parts]
    return [text for text in given if isinstance(text, str) and text]


def texts(doc: dict[str, Json]) -> list[Json]:
    """All that an item says."""
    keys = ("type", "name", "namespace", "call_id", "arguments", "input")
    named = [doc.get(key) for key in keys]
    parts = doc["content"] if isinstance(doc.get("content"), list) else ()
    inline = [part["input"] for part in parts if isinstance(part, dict) and "input" in part]
    return [*named, *inline, *words(doc)]


def slim(part: Json) -> Json:
    """A part without its text, apart from whether there is any."""
    if not isinstance(text := part_text(part), str):
        return part
    likeness = Received(False)
    likeness.add(text)
    return {**part, PART_TEXTS.get(str(part.get("type")), "text"): str(likeness)}
