"""What clients do to a document before they send it back, and what must come home then.

The edits work on the tree of the document that was echoed, which is then written again: that way
they are made in every dialect. ``law`` tries them one at a time.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from msgspec.structs import replace

from . import dialects
from .check import check
from .convert import convert
from .errors import DragomanError
from .ledger import Ledger
from .model import Cache, History, Json, Message, Reasoning, Request, Text, ToolCall, ToolResult
from .patching import same
from .result import Result
from .units import Unit, View, align
from .walk import meaning

Talk: TypeAlias = tuple[Message, ...]
Edit: TypeAlias = Callable[[Talk], Talk | None]


# -- edits that change no meaning -----------------------------------------------------------


def each(talk: Talk, change: Callable[[Any], Any]) -> Talk:
    """The messages with every block changed; None removes it."""
    out: list[Message] = []
    for message in talk:
        blocks = tuple(new for block in message.content if (new := change(block)) is not None)
        out.append(replace(message, content=blocks))
    return tuple(out)


def arguments_spelled_anew(talk: Talk) -> Talk:
    """White space, and the order of keys."""

    def change(block: Any) -> Any:
        if not isinstance(block, ToolCall) or block.kind != "function":
            return block
        try:
            value = json.loads(block.arguments)
        except ValueError:
            return block
        if not isinstance(value, dict):
            return block
        turned = dict(reversed(value.items()))
        return replace(block, arguments=json.dumps(turned, indent=1, ensure_ascii=False))

    return each(talk, change)


def marks_moved(talk: Talk) -> Talk | None:
    """The cache marks leave their places, and one comes to the last text."""
    marked = any(getattr(block, "cache", None) for message in talk for block in message.content)
    if not marked:
        return None

    def change(block: Any) -> Any:
        return replace(block, cache=None) if getattr(block, "cache", None) else block

    out = list(each(talk, change))
    for index in range(len(out) - 1, -1, -1):
        content = out[index].content
        if content and isinstance(content[-1], Text) and out[index].role == "user":
            last = replace(content[-1], cache=Cache())
            out[index] = replace(out[index], content=(*content[:-1], last))
            break
    return tuple(out)


def ids_replaced(talk: Talk) -> Talk:
    """Other ids, the same for a call and its result."""
    names: dict[str, str] = {}

    def new(old: str | None) -> str | None:
        return None if old is None else names.setdefault(old, f"new{len(names):06}")

    def change(block: Any) -> Any:
        if isinstance(block, ToolCall):
            return replace(block, id=new(block.id))
        if isinstance(block, ToolResult):
            return replace(block, call_id=new(block.call_id))
        return block

    return each(talk, change)


def ids_dropped(talk: Talk) -> Talk:
    """The ids that pair nothing."""

    def change(block: Any) -> Any:
        if isinstance(block, ToolCall):
            return replace(block, item_id=None)
        return replace(block, id=None) if isinstance(block, Reasoning) else block

    return each(talk, change)


def reasoning_removed(talk: Talk) -> Talk | None:
    """A turn that is nothing but reasoning stays."""
    if not any(isinstance(block, Reasoning) for message in talk for block in message.content):
        return None
    kept = each(talk, lambda block: None if isinstance(block, Reasoning) else block)
    return tuple(new if new.content else old for old, new in zip(talk, kept, strict=True))


def spelled_plainly(talk: Talk) -> Talk:
    """However it was spelled, as a string or as a list of one text: as it is usually."""
    out: list[Message] = []
    for message in each(talk, _unspelled):
        out.append(_unspelled(message))
    return tuple(out)


def _unspelled(node: Any) -> Any:
    if node.extras is None or not node.extras.spelling:
        return node
    return replace(node, extras=replace(node.extras, spelling={}))


# -- edits that change the conversation -----------------------------------------------------


def calls_apart(talk: Talk) -> Talk | None:
    """Parallel calls, each in a turn of its own with its result."""
    out: list[Message] = []
    split = False
    index = 0
    while index < len(talk):
        message = talk[index]
        index += 1
        calls = [block for block in message.content if isinstance(block, ToolCall)]
        if len(calls) < 2 or len({call.id for call in calls}) < len(calls):
            out.append(message)
            continue
        results: list[Message] = []
        while index < len(talk) and talk[index].role == "tool":
            results.append(talk[index])
            index += 1
        split = True
        first = tuple(block for block in message.content if block not in calls)
        for number, call in enumerate(calls):
            out.append(replace(message, content=(*(() if number else first), call)))
            out += [r for r in results if getattr(r.content[0], "call_id", None) == call.id]
        said = {call.id for call in calls}
        out += [r for r in results if getattr(r.content[0], "call_id", None) not in said]
    return tuple(out) if split else None


def _rounds(talk: Talk) -> list[tuple[int, int]]:
    """What can go without leaving half of a pair: a message, or calls with their results."""
    out: list[tuple[int, int]] = []
    for index, message in enumerate(talk):
        if message.role == "tool" and out:
            out[-1] = (out[-1][0], index + 1)
        else:
            out.append((index, index + 1))
    return [r for r in out if talk[r[0]].role in ("user", "assistant")]


def removed(which: float) -> Edit:
    def edit(talk: Talk) -> Talk | None:
        rounds = _rounds(talk)
        if len(rounds) < 2:
            return None
        start, end = rounds[round(which * (len(rounds) - 1))]
        return talk[:start] + talk[end:]

    return edit


def added(which: float) -> Edit:
    new = Message("user", (Text("A word that nobody has said before."),))

    def edit(talk: Talk) -> Talk | None:
        places = [*(start for start, _ in _rounds(talk)), len(talk)]
        place = places[round(which * (len(places) - 1))]
        return (*talk[:place], new, *talk[place:])

    return edit


SAME: dict[str, Edit] = {
    "arguments spelled anew": arguments_spelled_anew,
    "marks moved": marks_moved,
    "ids replaced": ids_replaced,
    "ids dropped": ids_dropped,
    "reasoning removed": reasoning_removed,
    "spelled plainly": spelled_plainly,
}
OTHER: dict[str, Edit] = {
    "parallel calls apart": calls_apart,
    "removed at the front": removed(0),
    "removed in the middle": removed(0.5),
    "removed at the end": removed(1),
    "added at the front": added(0),
    "added in the middle": added(0.5),
    "added at the end": added(1),
}


# -- the law --------------------------------------------------------------------------------


class Home(NamedTuple):
    """One document on its ways: as it was, there and back plainly, and after an edit."""

    source: str
    facet: str
    original: Json
    back: Json
    plain: Result
    result: Result
    echoed: Json


def law(body: Json, source: str, facet: str, target: str, edits: Sequence[str] = ()) -> None:
    """Every edit, one at a time; raises ``AssertionError`` with all that do not hold."""
    there = convert(body, source=source, target=target, facet=facet, now=0, carry=True)
    capsule = json.loads(json.dumps(there.capsule))
    speaker = dialects.get(target)
    heard = speaker.read(there.document, facet)
    if not isinstance(heard, Request | History):
        return
    back = convert(there.document, source=target, target=source, facet=facet).document
    broken: list[str] = []
    for name, edit in (SAME | OTHER).items():
        if edits and name not in edits:
            continue
        talk = edit(heard.messages)
        if talk is None:
            continue
        try:
            echoed = speaker.write(replace(heard, messages=talk), Ledger())
            plain = convert(echoed, source=target, target=source, facet=facet)
        except DragomanError:
            continue  # such a conversation cannot be said there
        home = convert(echoed, source=target, target=source, facet=facet, capsule=capsule)
        if name == "spelled plainly" and target == "native":
            continue  # it holds the spelling of others as well, which is none of its own
        if name == "spelled plainly" and meaning(speaker.read(echoed, facet)) != meaning(heard):
            continue  # what is called a spelling there says more
        way = Home(source, facet, body, back, plain, home, echoed)
        for problem in problems(way, name in SAME):
            broken.append(f"{name}: {problem}")
    assert not broken, "\n".join(broken)


def problems(way: Home, meant_the_same: bool) -> Iterator[str]:
    """What is wrong with what came home."""
    speaker = dialects.get(way.source)
    documents = (way.original, way.back, way.plain.document, way.result.document)
    views: list[View] = []
    for doc in documents:
        try:
            views.append(View(doc, speaker.read(doc, way.facet)))
        except LookupError:
            return  # not made of items
    original, back, plain, home = views
    yield from _twice(*views)
    yield from _strange(original, plain, home)
    lost = [loss for loss in way.result.losses if loss.what == "capsule"]
    if len(original.turns) == len(back.turns):
        yield from _untouched(original, back, plain, home, meant_the_same, bool(lost))
    for loss in lost:
        if not _resolves(way.echoed, loss.path):
            yield f"{loss} points nowhere"
    if way.facet == "request":
        allowed = {p.rule for d in documents[:3] for p in check(d, way.source)}
        for problem in check(way.result.document, way.source):
            if problem.rule not in allowed:
                yield f"breaks a rule: {problem}"


def _said(view: View) -> Counter[str]:
    atoms = (atom for unit in view.turns for atom in _speech(unit))
    return Counter(json.dumps(atom, sort_keys=True) for atom in atoms)


def _speech(unit: Unit) -> Iterator[Json]:
    return (atom for at, atom in zip(unit.ats, unit.atoms, strict=True) if atom[1:] != [None])


def _twice(original: View, back: View, plain: View, home: View) -> Iterator[str]:
    """What stands there more often than in the plain conversion, and was not lost before."""
    for atom in _said(home) - _said(plain) - (_said(original) - _said(back)):
        yield f"stands twice, or where it was not: {atom[:200]}"


def _strange(original: View, plain: View, home: View) -> Iterator[str]:
    """A unit is as it was, or as the plain conversion has it, but for ids and marks."""
    known = {_bare(view.value(unit)) for view in (original, plain) for unit in view.turns}
    for unit in home.turns:
        if _bare(home.value(unit)) not in known and not _is_made_of(home.value(unit), known):
            yield f"neither as it was nor as it is: {json.dumps(home.value(unit))[:300]}"


def _is_made_of(value: Json, known: set[str]) -> bool:
    """Items that are known one by one: the units of two documents need not be the same."""
    text = "".join(sorted(known))
    items = _without(value) if isinstance(value, list) else [value]
    return all(_bare(item) in text or _is_grown(item, text) for item in items)


def _is_grown(item: Json, text: str) -> bool:
    if not isinstance(item, dict):
        return False
    parts = next((v for v in item.values() if isinstance(v, list)), None)
    if parts is None:
        return False
    return all(_bare(part) in text for part in _without(parts))


def _untouched(
    original: View, back: View, plain: View, home: View, meant_the_same: bool, reported: bool
) -> Iterator[str]:
    """Turns that still say the same are as they were, if anything of them had been lost."""
    kept = dict(align([u.key for u in back.turns], [u.key for u in plain.turns]))
    came = [_bare(home.value(unit)) for unit in home.turns]
    text = "".join(came)
    for number, (mine, theirs) in enumerate(zip(original.turns, back.turns, strict=True)):
        value = original.value(mine)
        if same(value, back.value(theirs)):
            continue  # nothing was lost, so nothing is carried
        items = _without(value) if isinstance(value, list) else [value]
        if all(_bare(item) in text or _is_grown(item, text) for item in items):
            continue
        now = kept.get(number)
        if now is not None and plain.turns[now].key == theirs.key:
            # A system prompt in the middle may stand only where it stood.
            moved = mine.nodes[0].role in ("system", "developer") and number > 0
            moved = moved or mine.nodes[0].role != theirs.nodes[0].role
            alone = moved or _stands_alone(back.turns, number, plain.turns, now)
            if not (reported and alone):
                yield f"did not come home: {json.dumps(value)[:300]}"
        elif meant_the_same:
            yield f"does not mean the same any more: {json.dumps(value)[:300]}"
        elif not reported:
            yield f"left out, and not reported: {json.dumps(value)[:300]}"
    if meant_the_same and reported:
        yield "something is reported, though all means the same"


def _stands_alone(old: Sequence[Unit], i: int, new: Sequence[Unit], j: int) -> bool:
    """Whether both neighbours are others now, or it is the last turn now: it may stay out then."""
    before = (old[i - 1].key if i else "") == (new[j - 1].key if j else "")
    behind = (old[i + 1].key if i + 1 < len(old) else "") == (
        new[j + 1].key if j + 1 < len(new) else ""
    )
    last = j + 1 == len(new) and i + 1 < len(old) and old[i].nodes[-1].role == "assistant"
    return last or not (before or behind)


def _bare(value: Json) -> str:
    """A value as text, without ids and cache marks."""
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        value = [item for item in value if "cachePoint" not in item]
    return json.dumps(_without(value))


def _without(value: Json) -> Json:
    if isinstance(value, dict):
        return {
            key: "*" if isinstance(item, str) and key[-2:] in ("id", "Id") else _without(item)
            for key, item in value.items()
            if key not in ("cache_control", "cacheControl", "prompt_cache_breakpoint")
        }
    if isinstance(value, list):
        return [_without(i) for i in value if not (isinstance(i, dict) and "cachePoint" in i)]
    return value


def _resolves(doc: Json, pointer: str) -> bool:
    for token in pointer.split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        if isinstance(doc, dict) and token in doc:
            doc = doc[token]
        elif isinstance(doc, list) and token.isdigit() and int(token) < len(doc):
            doc = doc[int(token)]
        else:
            return False
    return True
