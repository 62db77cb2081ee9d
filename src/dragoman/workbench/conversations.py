"""Conversations as people read them: opened once, shown turn by turn, searched and compared.

A session may have fifty megabytes. It is read and drawn once, here; the page gets an overview with
a row of numbers for each turn, and the turns that are on the screen. A few conversations are kept,
the latest, in memory only.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from .. import dialects
from ..core import lines
from ..core.reading import load
from ..errors import Unsupported
from ..model import History, Json, Request, Response, Tree
from ..streams.transcoder import collect
from ..views.compare import compare
from ..views.links import links
from ..views.portrait import (
    Call,
    Note,
    Odd,
    Portrait,
    ReasoningText,
    Refused,
    Reply,
    Thing,
    Turn,
    Words,
    draw,
    full_name,
    signature,
)
from .converting import identify
from .converting import pretty as indented

KEPT = 4
"""So many conversations are remembered."""
LONG = 6_000
"""So many characters of a text are sent with its turn; the whole of it when it is asked for."""
MOST_TURNS = 200
MOST_HITS = 5_000
MOST_DIFFERENCES = 2_000


class Search(msgspec.Struct, forbid_unknown_fields=True):
    text: str
    case: bool = False


class Opened(NamedTuple):
    """A conversation that is being looked at."""

    name: str
    dialect: str
    facet: str
    document: Json
    tree: Tree
    portrait: Portrait
    counts: dict[int, dict[str, int]]


class Conversations:
    """The conversations that are open, by number."""

    def __init__(self) -> None:
        self._open: OrderedDict[int, Opened] = OrderedDict()
        self._next = 1

    def open(self, data: bytes, name: str, dialect: str | None = None) -> dict[str, Json]:
        """Read a conversation; what there is to see of it at once."""
        found = opened(data, name, dialect)
        number, self._next = self._next, self._next + 1
        self._open[number] = found
        while len(self._open) > KEPT:
            self._open.popitem(last=False)
        return {"id": number, **overview(found)}

    def get(self, number: int) -> Opened:
        if number not in self._open:
            raise Unsupported("this conversation is no longer open: open its file again")
        self._open.move_to_end(number)
        return self._open[number]

    def turns(self, number: int, first: int, last: int) -> list[Json]:
        found = self.get(number)
        last = min(last, first + MOST_TURNS, len(found.portrait.turns))
        return [shown(found, index, LONG) for index in range(max(first, 0), last)]

    def turn(self, number: int, index: int) -> Json:
        """One turn with the whole of its texts."""
        return shown(self.get(number), index, None)

    def search(self, number: int, asked: Search) -> list[int]:
        """The turns in which a text stands."""
        wanted = re.compile(re.escape(asked.text), 0 if asked.case else re.IGNORECASE)
        turns = enumerate(self.get(number).portrait.turns)
        hits = (index for index, turn in turns if any(map(wanted.search, texts(turn))))
        return list(islice(hits, MOST_HITS))

    def differences(self, one: int, other: int) -> dict[str, Json]:
        """Two conversations side by side: which turns go together, and what differs in them."""
        a, b = self.get(one), self.get(other)
        return {"rows": rows(a, b), "differences": list(islice(differing(a, b), MOST_DIFFERENCES))}


def opened(data: bytes, name: str, dialect: str | None) -> Opened:
    known = identify(data, dialect, None)
    facet = known.facet
    if facet == "stream":
        data, facet = collect(data, known.dialect).to_json(), "response"
    speaker = dialects.get(known.dialect)
    value = load(lines.of(data, None) if speaker.lines else data, None)
    tree = speaker.read(value, facet)
    portrait = draw(tree, facet)
    turns = portrait.turns
    return Opened(name, speaker.name, facet, value, tree, portrait, counted(value, tree, turns))


def overview(found: Opened) -> dict[str, Json]:
    portrait = found.portrait
    names: dict[str, int] = {}
    rows = [row(turn, found.counts.get(n), names) for n, turn in enumerate(portrait.turns)]
    return {
        "name": found.name,
        "title": portrait.title,
        "dialect": found.dialect,
        "facet": found.facet,
        "facts": [list(fact) for fact in (*portrait.facts, *portrait.end)],
        "failure": portrait.failure,
        "tools": [
            {"name": full_name(t), "takes": signature(t), "does": (t.description or "")[:LONG]}
            for t in portrait.tools
        ],
        "rows": rows,
        "names": list(names),
    }


def row(turn: Turn, counts: dict[str, int] | None, names: dict[str, int]) -> list[Json]:
    """Of one turn: role, characters, calls by number of their tool, errors, tokens."""
    size = sum(map(len, texts(turn)))
    called = [names.setdefault(call.name, len(names)) for call in calls(turn)]
    failed = sum(reply.failed for reply in replies(turn))
    thought = any(isinstance(item, ReasoningText) for item in turn.items)
    tokens = [counts.get(key, 0) for key in ("input", "cached", "output")] if counts else None
    return [turn.role, size, called, failed, int(thought), tokens]


# -- what is in a turn ---------------------------------------------------------------------------


def calls(turn: Turn) -> Iterator[Call]:
    return (item for item in turn.items if isinstance(item, Call))


def replies(turn: Turn) -> Iterator[Reply]:
    for item in turn.items:
        if isinstance(item, Call):
            yield from item.replies
        elif isinstance(item, Reply):
            yield item


def texts(turn: Turn) -> Iterator[str]:
    """All that stands in a turn."""
    for item in turn.items:
        yield from texts_of(item)


def texts_of(item: Any) -> Iterator[str]:
    match item:
        case Words():
            yield "".join(text for text, _ in item.pieces)
        case Refused() | ReasoningText():
            yield item.text
        case Note():
            if not item.minor:
                yield item.text
        case Thing():
            yield " ".join((*item.facts, item.text))
        case Odd():
            yield f"{item.title} {pretty(item.payload)}"
        case Call():
            yield f"{item.name} {item.text}"
            yield from (v if isinstance(v, str) else pretty(v) for _, v in item.arguments)
            for reply in item.replies:
                yield from texts_of(reply)
        case Reply():
            for inner in item.items:
                yield from texts_of(inner)


def pretty(value: Json) -> str:
    return indented(msgspec.json.encode(value))


def shown(found: Opened, index: int, limit: int | None) -> Json:
    """A turn for the page. ``cut`` tells that texts of it are longer than what was sent."""
    turn = found.portrait.turns[index]
    cut: list[bool] = []

    def short(text: str) -> str:
        if limit is None or len(text) <= limit:
            return text
        cut.append(True)
        return text[:limit]

    items = [item for each in turn.items if (item := seen(each, short)) is not None]
    return {
        "index": index,
        "role": turn.role,
        "title": turn.title,
        "at": dialects.get(found.dialect).locate(found.document, turn.at),
        "items": items,
        "sources": list(turn.sources),
        "end": [list(fact) for fact in turn.end],
        "cut": bool(cut),
        "tokens": found.counts.get(index),
    }


def seen(item: Any, short: Any) -> Json:
    match item:
        case Words():
            pieces = [[short(text), mark] for text, mark in item.pieces]
            return {"is": "text", "pieces": pieces}
        case Refused():
            return {"is": "refusal", "text": short(item.text)}
        case ReasoningText():
            kind = "summary" if item.summary else "reasoning"
            text = short(item.text)
            return {"is": "reasoning", "kind": kind, "text": text, "signed": item.signature}
        case Thing():
            return thing(item, short)
        case Odd():
            return {"is": "odd", "title": item.title, "text": short(pretty(item.payload))}
        case Note():
            return None if item.minor else {"is": "note", "text": short(item.text)}
        case Call():
            return {
                "is": "call",
                "name": item.name,
                "id": item.id,
                "fault": item.fault,
                "arguments": [
                    [key, short(value if isinstance(value, str) else pretty(value))]
                    for key, value in item.arguments
                ],
                "text": short(item.text),
                "replies": [seen(reply, short) for reply in item.replies],
            }
        case Reply():
            inner = [found for each in item.items if (found := seen(each, short)) is not None]
            return {"is": "reply", "items": inner, "failed": item.failed, "of": item.of}
    return None


def thing(item: Thing, short: Any) -> Json:
    """An image, audio or a document. Only rasters whose bytes bear it out are given as such."""
    image = None
    if item.image is not None:
        image = f"data:{item.image.media_type};base64,{item.image.value}"
    facts = [short(fact) for fact in item.facts]
    return {"is": "media", "kind": item.kind, "facts": facts, "image": image,
            "text": short(item.text)}  # fmt: skip


# -- tokens --------------------------------------------------------------------------------------

COUNTS: dict[str, tuple[str, ...]] = {
    "input": ("input_tokens", "prompt_tokens", "promptTokenCount", "inputTokens", "input"),
    "output": (
        "output_tokens", "completion_tokens", "candidatesTokenCount", "outputTokens", "output",
    ),
    "cached": (
        "cache_read_input_tokens", "cached_input_tokens", "cachedContentTokenCount",
        "cacheReadInputTokens", "cached",
    ),
}  # fmt: skip
"""What sessions call the tokens of a turn, as their agents write them down."""
HOLDERS = (
    ("message", "usage"), ("payload", "info", "last_token_usage"), ("usage",), ("tokens",),
    ("usageMetadata",),
)  # fmt: skip
BESIDE = frozenset({"cache_read_input_tokens", "cacheReadInputTokens"})
"""Names of what was read from a cache and is not counted in the input."""


def counted(value: Json, tree: Tree, turns: Sequence[Turn]) -> dict[int, dict[str, int]]:
    """The tokens of turns, by the number of the turn: of a response, or as a session notes them."""
    if isinstance(tree, Response) and tree.usage is not None and turns:
        usage = tree.usage
        counts = {"input": usage.input_total, "output": usage.output_total}
        return {0: {**counts, "cached": usage.cache_read or 0}}
    if not isinstance(tree, History | Request) or not isinstance(value, list):
        return {}
    out: dict[int, dict[str, int]] = {}
    starts = [line_of(turn.at) for turn in turns]
    current = -1
    for number, line in enumerate(value):
        while current + 1 < len(starts) and starts[current + 1] <= number:
            current += 1
        if current >= 0 and isinstance(line, dict) and (found := tokens_in(line)):
            out[current] = found
    return out


def line_of(at: str) -> int:
    token = at.split("/", 2)[1] if at.startswith("/") else ""
    return int(token) if token.isdecimal() else 0


def tokens_in(line: dict[str, Json]) -> dict[str, int]:
    """What a line of a session says about tokens."""
    for path in HOLDERS:
        held: Json = line
        for key in path:
            held = held.get(key) if isinstance(held, dict) else None
        if isinstance(held, dict):
            return {key: count for key, names in COUNTS.items() if (count := first(held, names))}
    return {}


def first(held: dict[str, Json], names: Sequence[str]) -> int:
    """The first of these counts; what was read from a cache is a part of the input."""
    for name in names:
        if isinstance(count := held.get(name), int):
            more = [held.get(each) for each in BESIDE] if names is COUNTS["input"] else []
            return count + sum(each for each in more if isinstance(each, int))
    return 0


# -- two of them ---------------------------------------------------------------------------------


def rows(a: Opened, b: Opened) -> list[list[Json]]:
    """The turns of both, those that go together in one row, and whether they differ."""
    found = links(a.tree, b.tree)
    ones = {turn.at: n for n, turn in enumerate(a.portrait.turns)}
    others = {turn.at: n for n, turn in enumerate(b.portrait.turns)}
    there: dict[int, int] = {}
    for each in found:
        if each.kind == "message" and each.a in ones and each.b in others:
            there.setdefault(ones[each.a], others[each.b])
    out: list[list[Json]] = []
    done = -1
    for n in range(len(a.portrait.turns)):
        m = there.get(n)
        if m is None or m <= done:
            out.append([n, None, True])
            continue
        out += [[None, k, True] for k in range(done + 1, m)]
        out.append([n, m, a.portrait.turns[n].items != b.portrait.turns[m].items])
        done = m
    return out + [[None, k, True] for k in range(done + 1, len(b.portrait.turns))]


def differing(a: Opened, b: Opened) -> Iterator[Json]:
    """What differs in meaning, if both are of one kind."""
    one, other = a.tree, b.tree
    if type(one) is not type(other):
        one, other = as_history(a), as_history(b)
    for each in compare(one, other, frozenset({"ids", "extras"}), (a.document, b.document)):
        yield each.to_json()


def as_history(found: Opened) -> Tree:
    tree = found.tree
    if isinstance(tree, Request):
        return History(tree.messages, dialect=tree.dialect)
    if isinstance(tree, Response):
        return History(tuple(c.message for c in tree.candidates), dialect=tree.dialect)
    return tree
