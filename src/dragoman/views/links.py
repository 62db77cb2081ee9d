"""Which places of two documents say the same: where a part came from, and where it went.

Both documents are read as canonical trees, whose nodes know their places. Parts that are equal
belong together, calls first, results with their calls, all else in its order; what is left over
between two parts that belong together, and is of one kind, was changed on the way; a text that
stands inside of another one was joined to it. It takes time linear in the number of parts.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ..core.reading import compact, parse
from ..core.walk import meaning
from ..errors import Malformed
from ..ledger import Loss
from ..model import (
    Block,
    Failure,
    History,
    Hosted,
    Json,
    Media,
    Message,
    Node,
    Params,
    Passage,
    Raw,
    Reasoning,
    Refusal,
    Request,
    Response,
    Text,
    Tool,
    Toolbox,
    ToolCall,
    ToolChoice,
    ToolResult,
    Tree,
)
from .compare import resolves

WHOLE = frozenset({"message"})
"""Kinds that hold others: where both are at one place, the others are what is pointed at."""


NO_CHOICE = ToolChoice()
OTHERS = ("text", "reasoning", "result", "media", "hosted", "other", "tool")
"""Kinds that may have been changed on the way: calls are looked at first."""


class Spot(NamedTuple):
    """A part of a conversation, and where it stands in its document."""

    kind: str
    at: str
    key: Any
    label: str
    message: int = -1
    id: str | None = None


class Link(NamedTuple):
    """Two places that say the same; None: it is in one document only."""

    kind: str
    label: str
    a: str | None
    b: str | None
    changed: bool = False


class Place(NamedTuple):
    """Where a loss is to be seen. ``gone``: what stands there was not written."""

    a: str
    b: str | None
    gone: bool = False


def links(a: Tree, b: Tree) -> list[Link]:
    """What of one tree is what of the other, and what is in one of them alone."""
    old, new = list(spots(a)), list(spots(b))
    pairs = paired(old, new)
    into = joined(old, new, pairs)
    out = [link(old[i], new[j]) for i, j in sorted(pairs.items())]
    out += [link(old[i], new[j], True) for i, j in sorted(into)]
    out += messages(a, b, old, new, {**dict(into), **pairs})
    met = {*pairs.values(), *(j for _, j in into)}
    gone = [spot for i, spot in enumerate(old) if i not in pairs and i not in dict(into)]
    out += [Link(spot.kind, spot.label, spot.at, None) for spot in gone]
    out += [Link(s.kind, s.label, None, s.at) for j, s in enumerate(new) if j not in met]
    return out


def link(one: Spot, other: Spot, changed: bool = False) -> Link:
    changed = changed or one.key != other.key
    return Link(one.kind, one.label or other.label, one.at, other.at, changed)


# -- the parts of a tree -------------------------------------------------------------------------


def spots(tree: Tree) -> Iterator[Spot]:
    """Every part of a tree, in its order."""
    match tree:
        case Request():
            yield from parameters(tree)
            yield from spoken(tree.messages)
            yield from map(defined, tree.tools or ())
            choice = tree.tool_choice
            if choice is not None and meaning(choice) != NO_CHOICE:
                yield Spot("tool choice", choice.at, (choice.mode, choice.name), "tool choice")
        case History():
            yield from spoken(tree.messages)
        case Response():
            yield from replied(tree)
        case Toolbox():
            yield from map(defined, tree.tools)
        case Failure():
            yield Spot("error", tree.at, tree.message, "error")


def parameters(tree: Request) -> Iterator[Spot]:
    if tree.model is not None:
        yield Spot("parameter", tree.params.where("model"), tree.model, "model")
    meant = meaning(tree.params)
    for name in Params.__struct_fields__:
        value = getattr(tree.params, name)
        if name in ("ats", "at", "extras") or getattr(meant, name) is None:
            continue  # not said, or what is meant where nothing is said
        at = value.at if isinstance(value, Node) else tree.params.where(name)
        yield Spot("parameter", at, None if isinstance(value, Node) else repr(value), name)


def replied(tree: Response) -> Iterator[Spot]:
    yield from spoken([candidate.message for candidate in tree.candidates])
    if tree.usage is not None:
        yield Spot("usage", tree.usage.at, None, "usage")
    if tree.failure is not None:
        yield Spot("error", tree.failure.at, tree.failure.message, "error")


def defined(tool: Tool) -> Spot:
    return Spot("tool", tool.at, tool.name, tool.name)


def spoken(messages: Sequence[Message]) -> Iterator[Spot]:
    for number, message in enumerate(messages):
        for block in message.content:
            yield part(block, number, message.role)


def part(block: Block, number: int, role: str) -> Spot:
    at = block.at
    match block:
        case Text():
            return Spot("text", at, block.text.strip(), f"{role} text", number)
        case Refusal():
            return Spot("text", at, block.text.strip(), "refusal", number)
        case Reasoning():
            words = "".join(block.words).strip()
            signed = block.signature.data if block.signature is not None and not words else ""
            return Spot("reasoning", at, (words, signed), "reasoning", number)
        case ToolCall():
            key = (block.name, arguments(block.arguments))
            return Spot("call", at, key, f"call of {block.name}", number, block.id)
        case ToolResult():
            label = f"result of {block.name}" if block.name else "result"
            return Spot("result", at, words_of(block.content), label, number, block.call_id)
        case Media():
            return Spot("media", at, block.source.value, block.kind, number)
        case Passage():
            return Spot("media", at, words_of(block.content), "passage", number)
        case Hosted():
            return Spot("hosted", at, (block.service, block.id), block.service, number)
        case Raw():
            return Spot("other", at, repr(block.payload), "unknown block", number)


def words_of(blocks: Iterable[Block]) -> str:
    return "\n".join(block.text for block in blocks if isinstance(block, Text)).strip()


def arguments(text: str) -> str:
    """The arguments of a call, whatever their spelling."""
    try:
        return compact(parse(text)) if text.strip() else "{}"
    except Malformed:
        return text


# -- which belong together -----------------------------------------------------------------------


def paired(old: list[Spot], new: list[Spot]) -> dict[int, int]:
    """Equal parts in their order, results with their calls, and what was changed in between."""
    pairs: dict[int, int] = {}
    equal(old, new, pairs, lambda spot: spot.kind == "call")
    between(old, new, pairs, ("call",))
    follow(old, new, pairs)
    equal(old, new, pairs, lambda spot: spot.kind not in ("call", "parameter", "usage"))
    named(old, new, pairs)
    between(old, new, pairs, OTHERS)
    return pairs


def equal(old: list[Spot], new: list[Spot], pairs: dict[int, int], wanted: Any) -> None:
    """Parts with equal keys, the first with the first."""
    taken = set(pairs.values())
    waiting: dict[Any, deque[int]] = defaultdict(deque)
    for j, spot in enumerate(new):
        if wanted(spot) and j not in taken:
            waiting[spot.kind, spot.key].append(j)
    for i, spot in enumerate(old):
        if wanted(spot) and i not in pairs and (there := waiting.get((spot.kind, spot.key))):
            pairs[i] = there.popleft()


def follow(old: list[Spot], new: list[Spot], pairs: dict[int, int]) -> None:
    """The result of a call is the result of what became of the call."""
    ids = {old[i].id: new[j].id for i, j in pairs.items() if old[i].kind == "call"}
    waiting: dict[str | None, deque[int]] = defaultdict(deque)
    for j, spot in enumerate(new):
        if spot.kind == "result" and spot.id is not None:
            waiting[spot.id].append(j)
    for i, spot in enumerate(old):
        if (
            spot.kind == "result"
            and spot.id is not None
            and (there := waiting.get(ids.get(spot.id)))
        ):
            pairs[i] = there.popleft()


def named(old: list[Spot], new: list[Spot], pairs: dict[int, int]) -> None:
    """Parameters of one name, and what there is once."""
    names = {(s.kind, s.label): j for j, s in enumerate(new) if s.message < 0 and s.kind != "tool"}
    for i, spot in enumerate(old):
        if spot.message < 0 and i not in pairs and (spot.kind, spot.label) in names:
            pairs[i] = names[spot.kind, spot.label]


def between(
    old: list[Spot], new: list[Spot], pairs: dict[int, int], kinds: tuple[str, ...]
) -> None:
    """What is left over of one kind after the same neighbour, in its order."""
    taken = set(pairs.values())
    gaps: dict[tuple[int, str], deque[int]] = defaultdict(deque)
    last = -1
    for j, spot in enumerate(new):
        if j in taken:
            last = j
        elif spot.kind in kinds:
            gaps[last, spot.kind].append(j)
    last = -1
    for i, spot in enumerate(old):
        if i in pairs:
            last = pairs[i]
        elif there := gaps.get((last, spot.kind)):
            pairs[i] = there.popleft()


def joined(old: list[Spot], new: list[Spot], pairs: dict[int, int]) -> list[tuple[int, int]]:
    """Texts that were joined to the text of a neighbour."""
    out: list[tuple[int, int]] = []
    for i, spot in enumerate(old):
        if i in pairs or spot.kind not in ("text", "reasoning", "result"):
            continue
        words = spot.key[0] if spot.kind == "reasoning" else spot.key
        for k in (i - 1, i + 1, i - 2, i + 2):
            j = pairs.get(k)
            if words and j is not None and new[j].kind in ("text", "result"):
                if words in new[j].key:
                    out.append((i, j))
                    break
    return out


def messages(
    a: Tree, b: Tree, old: list[Spot], new: list[Spot], pairs: dict[int, int]
) -> Iterator[Link]:
    """Messages that hold parts that belong together: each with the one that has most of it."""
    ones, others = heads(a), heads(b)
    votes: dict[int, Counter[int]] = defaultdict(Counter)
    for i, j in pairs.items():
        if old[i].message >= 0 and new[j].message >= 0:
            votes[old[i].message][new[j].message] += 1
    for one, found in sorted(votes.items()):
        other = found.most_common(1)[0][0]
        label = f"{ones[one].role} message"
        changed = ones[one].role != others[other].role
        yield Link("message", label, ones[one].at, others[other].at, changed)


def heads(tree: Tree) -> Sequence[Message]:
    match tree:
        case Request() | History():
            return tree.messages
        case Response():
            return [candidate.message for candidate in tree.candidates]
        case _:
            return ()


# -- losses --------------------------------------------------------------------------------------


def places(losses: Sequence[Loss], found: Sequence[Link], document: Json) -> list[Place]:
    """Where each loss is to be seen in both documents."""
    by_place: dict[str, list[Link]] = defaultdict(list)
    for each in found:
        if each.a is not None:
            by_place[each.a].append(each)
    names = {each.label: each for each in found if each.kind == "parameter"}
    made: dict[str, deque[str]] = defaultdict(deque)
    for each in found:
        if each.a is None and each.b is not None:
            made[each.kind].append(each.b)
    out = []
    for loss in losses:
        place = placed(loss, by_place, names, document)
        if loss.kind == "invented":
            there = next((made[kind] for kind in KINDS.get(loss.what, ()) if made[kind]), None)
            place = place if there is None else place._replace(b=there.popleft())
        out.append(place)
    return out


def placed(
    loss: Loss, by_place: dict[str, list[Link]], names: dict[str, Link], document: Json
) -> Place:
    head, _, field = loss.what.partition(".")
    link = names.get(loss.what) or names.get(head)
    if link is not None and (link.a in (None, loss.path) or loss.path == ""):
        gone = loss.kind == "dropped" and link.b is None
        return Place(loss.path if link.a is None else link.a, link.b, gone)
    at = loss.path
    inner = next(
        (f"{at}/{name}" for name in (field, head) if name and resolves(document, f"{at}/{name}")),
        None,
    )
    here = by_place.get(at, ())
    kinds = KINDS.get(head, ())
    own = next((each for each in here if each.kind in kinds), None)
    other = own or next((each for each in here if each.b is not None), None)
    if other is None and not here:
        other = above(at, by_place)
    gone = loss.kind == "dropped"
    if inner is not None and field and (own is None or own.b is not None):
        at = inner
    elif gone and own is not None and own.b is not None:
        gone = False  # a part of it is lost; it was written
    elif gone and here and own is None:
        gone = all(each.b is None for each in here)
    elif gone and at == "":
        gone = False
    return Place(at, None if other is None else other.b, gone)


def above(at: str, by_place: dict[str, list[Link]]) -> Link | None:
    """The nearest place above one that went somewhere."""
    while at:
        at = at.rpartition("/")[0]
        for each in by_place.get(at, ()):
            if each.b is not None:
                return each
    return None


KINDS: dict[str, tuple[str, ...]] = {
    "message": ("message",),
    "text": ("text",),
    "refusal": ("text",),
    "reasoning": ("reasoning",),
    "tool_call": ("call",),
    "tool_result": ("result",),
    "media": ("media",),
    "passage": ("media",),
    "hosted": ("hosted", "tool"),
    "raw": ("other",),
    "tool": ("tool",),
    "tool_choice": ("tool choice",),
    "usage": ("usage",),
}
"""What a code of the ledger is about."""
