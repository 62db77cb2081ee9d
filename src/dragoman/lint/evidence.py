"""Weighing evidence: how sure a dialect may be that a document is its own.

Every dialect fills tables with what speaks for it and what against it, and its ``sniff`` weighs
them here. Each sign counts once however often it occurs, and only the first messages, blocks and
tools are looked at, so that the work is bounded whatever the document is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Struct

from ..core.models import is_named, title_of
from ..model import Json

FIRST = 50
"""How many messages, items or tools are looked at."""
PARTS = 20
"""How many blocks of each message are looked at."""

Verdict = tuple[str, float, tuple[str, ...]]
"""Facet, confidence, evidence."""


class Evidence:
    """What speaks for a facet and what against it; the order of finding does not matter."""

    __slots__ = ("doubts", "facet", "signs")

    def __init__(self, facet: str) -> None:
        self.facet = facet
        self.signs: dict[str, float] = {}
        self.doubts: dict[str, float] = {}

    def speaks_for(self, sign: str, weight: float) -> None:
        """Independent signs add up to, but never reach, certainty."""
        self.signs[sign] = max(weight, self.signs.get(sign, 0.0))

    def speaks_against(self, doubt: str, weight: float) -> None:
        """A doubt takes its share of whatever speaks for the facet."""
        self.doubts[doubt] = max(weight, self.doubts.get(doubt, 0.0))

    def verdict(self) -> Verdict:
        unsure, trust = 1.0, 1.0
        for weight in sorted(self.signs.values()):  # sorted: equal evidence is equal to the bit
            unsure *= 1.0 - weight
        for weight in sorted(self.doubts.values()):
            trust *= 1.0 - weight
        written = (*self.signs, *(f"but {doubt}" for doubt in self.doubts))
        return self.facet, round((1.0 - unsure) * trust, 4), written


class Look(Struct, frozen=True):
    """What the messages of a dialect look like: each sign with its weight."""

    roles: Mapping[str, float]
    """Roles that speak for the dialect; a role that is not in here speaks against it."""
    keys: Mapping[str, float] = {}
    parts: Mapping[str, float] = {}
    items: Mapping[str, float] = {}
    """Types of messages, where a message has a type."""
    foreign_keys: Mapping[str, float] = {}
    foreign_parts: Mapping[str, float] = {}


def weigh_keys(e: Evidence, doc: dict[str, Json], keys: Mapping[str, float]) -> None:
    """Keys of a document that speak for it, when they say anything."""
    for key, weight in keys.items():
        if doc.get(key) is not None:
            e.speaks_for(f"the key {key!r}", weight)


def weigh_doubts(e: Evidence, doc: dict[str, Json], keys: Mapping[str, float]) -> None:
    """Keys of a document that speak against it."""
    for key, weight in keys.items():
        if doc.get(key) is not None:
            e.speaks_against(f"the key {key!r}", weight)


def weigh_messages(e: Evidence, messages: list[Json], look: Look) -> None:
    """Roles, keys and parts of the first messages."""
    for message in messages[:FIRST]:
        if message.__class__ is not dict:
            e.speaks_against("a message is not an object", 0.95)
            return
        _weigh_message(e, message, look)


def _weigh_message(e: Evidence, message: dict[str, Json], look: Look) -> None:
    role, kind = message.get("role"), message.get("type")
    if look.items and kind.__class__ is str:
        if kind in look.items:
            e.speaks_for(f"an item of type {kind!r}", look.items[kind])
        else:
            e.speaks_against(f"an item of type {kind!r}", 0.3)
    elif role.__class__ is not str:
        e.speaks_against("a message has no role", 0.9)
    elif role not in look.roles:
        e.speaks_against(f"the role {role!r}", 0.95)
    elif look.roles[role]:
        e.speaks_for(f"the role {role!r}", look.roles[role])
    for key in message:
        if key in look.keys:
            e.speaks_for(f"a message with {key!r}", look.keys[key])
        elif key in look.foreign_keys:
            e.speaks_against(f"a message with {key!r}", look.foreign_keys[key])
    content = message.get("content")
    if content.__class__ is list:
        for part in content[:PARTS]:
            _weigh_part(e, part, look)


def _weigh_part(e: Evidence, part: Json, look: Look) -> None:
    kind = part.get("type") if part.__class__ is dict else None
    if kind.__class__ is not str:
        e.speaks_against("a part of a message has no type", 0.9)
    elif kind in look.parts:
        e.speaks_for(f"a part of type {kind!r}", look.parts[kind])
    elif kind in look.foreign_parts:
        e.speaks_against(f"a part of type {kind!r}", look.foreign_parts[kind])


def weigh_tools(e: Evidence, tools: Json, name_form: Callable[[dict[str, Json]], str]) -> None:
    """The forms of the first tools; ``name_form`` names the form, or says "" if it is foreign."""
    forms = {name_form(tool) for tool in objects(tools)}
    for form in sorted(forms - {""}):
        e.speaks_for(form, 0.9)
    if "" in forms:  # a stray tool among many proves less than nothing but strays
        e.speaks_against("a tool of another form", 0.8 if forms == {""} else 0.3)


class Talk(Struct, frozen=True):
    """By what the conversations of a dialect are known: in a request, beside nothing, or alone."""

    look: Look
    foreign: Mapping[str, float]
    """Keys of a document that speak against it."""
    asked: Mapping[str, float]
    """Keys that make it a request, and no list of messages that is wrapped."""
    tool_form: Callable[[dict[str, Json]], str]
    told: Mapping[str, float] = {}
    """Keys beside the messages that speak for it."""
    weigh: Callable[[Evidence, list[Json]], None] | None = None
    """What else speaks for or against messages."""

    def weigh_messages(self, e: Evidence, messages: Json) -> None:
        if messages.__class__ is list:
            weigh_messages(e, messages, self.look)
            if self.weigh is not None:
                self.weigh(e, messages)

    def history(self, doc: dict[str, Json], key: str = "messages") -> Verdict:
        """An object that holds messages."""
        e = Evidence("messages")
        if doc.get(key).__class__ is list:
            e.speaks_for("a list of messages" if key == "messages" else f"the key {key!r}", 0.5)
        weigh_keys(e, doc, self.told)
        weigh_doubts(e, doc, self.asked)
        weigh_doubts(e, doc, self.foreign)
        self.weigh_messages(e, doc.get(key))
        return e.verdict()

    def listed(self, doc: list[Json]) -> Verdict:
        """A list of messages, or of tools."""
        kind = doc[0].get("type")
        if "role" in doc[0] or (kind.__class__ is str and kind in self.look.items):
            e = Evidence("messages")
            e.speaks_for("a list of messages", 0.3)
            self.weigh_messages(e, doc)
            return e.verdict()
        e = Evidence("tools")
        weigh_tools(e, doc, self.tool_form)
        return e.verdict()


def weigh_model(
    e: Evidence, doc: dict[str, Json], vendor: str, weight: float, rivals: Iterable[str] = ()
) -> None:
    """The name of the model: one as the API of the vendor has it, or as that of a rival."""
    model = doc.get("model")
    if is_named(vendor, model):
        e.speaks_for(f"the model is one of {title_of(vendor)}'s", weight)
        return
    for rival in rivals:
        if is_named(rival, model):
            e.speaks_against(f"the model is one of {title_of(rival)}'s", 0.1)


def weigh_unnamed(e: Evidence, doc: dict[str, Json]) -> None:
    """A request names a model."""
    if doc.get("model").__class__ is not str:
        e.speaks_against("no model is named", 0.4)


def weigh_count(e: Evidence, doc: dict[str, Json], key: str, weight: float) -> None:
    """A count of tokens that a response tells."""
    usage = doc.get("usage")
    if usage.__class__ is dict and key in usage:
        e.speaks_for(f"a usage with {key!r}", weight)


def weigh_choice(
    e: Evidence, value: Json, choice: Callable[[dict[str, Json]], Iterator[Verdict]]
) -> None:
    """A tool choice of OpenAI's: one word, or an object of its form."""
    if value.__class__ is str:
        e.speaks_for("a tool choice as a string", 0.5)
    elif value.__class__ is dict and not any(True for _ in choice(value)):
        e.speaks_against("another tool choice", 0.7)


def openai_error(doc: dict[str, Json]) -> Verdict:
    """The body of an error is the same in all of OpenAI's APIs."""
    e, inner = Evidence("error"), doc["error"]
    weigh_keys(e, inner, {"message": 0.4})
    for key, weight in (("param", 0.4), ("code", 0.2)):
        if key in inner:
            e.speaks_for(f"an error with {key!r}", weight)
    return e.verdict()


def openai_word(doc: str) -> Iterator[Verdict]:
    """A tool choice of OpenAI's that is one word."""
    if doc in ("auto", "none", "required"):
        yield "tool-choice", 0.3, (f"the word {doc!r}",)


def told_by(signs: Mapping[str, float], verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
    """The verdicts of a base, for a variant with signs of its own; without any, there are none."""
    unsure = 1.0
    for weight in sorted(signs.values()):
        unsure *= 1.0 - weight
    found = list(verdicts) if signs else []
    best = max((confidence for _, confidence, _ in found), default=0.0) or 1.0
    better = 1.0 - (1.0 - best) * unsure
    for facet, confidence, evidence in found:  # which facet it is, the signs do not tell
        yield facet, round(better * confidence / best, 4), (*evidence, *signs)


def objects(value: Json, limit: int = FIRST) -> Iterator[dict[str, Json]]:
    """The objects among the first items of a list; nothing for anything else."""
    if value.__class__ is list:
        for item in value[:limit]:
            if item.__class__ is dict:
                yield item


def is_list_of_objects(value: Json) -> bool:
    """A list that is not empty and begins with objects."""
    return (
        value.__class__ is list
        and bool(value)
        and all(item.__class__ is dict for item in value[:FIRST])
    )
