"""What clients do to a document before they send it back, and what must come home then.

The edits are made on the JSON of the four dialects that have an obvious list of turns, one at a
time; the law compares items of plain JSON. Nothing here knows how a capsule is made or opened, or
how a document is read: ``convert`` and ``check`` are all that is asked.
"""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from typing import Any, NamedTuple, TypeAlias

from .check import check
from .convert import convert
from .errors import DragomanError
from .model import Json
from .result import Result

TURNS = {
    "openai-chat": "messages",
    "anthropic-messages": "messages",
    "openai-responses": "input",
    "gemini": "contents",
}
Edit: TypeAlias = Callable[[list[Json], str], "list[Json] | None"]
"""The turns of an echoed document, our own copy, and its dialect; None: it has nothing of this."""


# -- the wire -------------------------------------------------------------------------------


def _parts(item: Json, dialect: str) -> list[Json]:
    """The blocks of an item; an item of Responses is one itself."""
    if dialect == "openai-responses":
        return [item]
    found = item.get("parts" if dialect == "gemini" else "content")
    return [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []


def _calls(item: Json, dialect: str) -> Iterator[tuple[Json, str, str]]:
    """The calls of an item: what holds the call, the key of its arguments, the key of its id."""
    if dialect == "openai-chat":
        for call in item.get("tool_calls") or ():
            if "function" in call:
                yield call["function"], "arguments", "id"
    for part in _parts(item, dialect):
        if dialect == "anthropic-messages" and part.get("type") == "tool_use":
            yield part, "input", "id"
        elif dialect == "openai-responses" and part.get("type") == "function_call":
            yield part, "arguments", "call_id"
        elif dialect == "gemini" and "functionCall" in part:
            yield part["functionCall"], "args", "id"


IDS = {
    "openai-chat": {"id", "tool_call_id"},
    "anthropic-messages": {"id", "tool_use_id"},
    "openai-responses": {"call_id"},
    "gemini": {"id"},
}
RESULTS = {"tool_result", "function_call_output", "custom_tool_call_output"}
REASONING = {"thinking", "redacted_thinking", "reasoning"}


def kind(item: Json, dialect: str) -> str:
    """Who speaks: ``system``, ``user``, ``assistant``, or a tool (``result``)."""
    role = item.get("role")
    if role in ("system", "developer"):
        return "system"
    if role == "tool":
        return "result"
    parts = _parts(item, dialect)
    if any(part.get("type") in RESULTS or "functionResponse" in part for part in parts):
        return "result"
    if dialect == "openai-responses" and role is None:
        return "assistant"
    return "assistant" if role in ("assistant", "model") else "user"


def rounds(turns: list[Json], dialect: str) -> list[tuple[int, int]]:
    """What can go without leaving half of a pair: a message, or calls with their results."""
    out: list[tuple[int, int]] = []
    before = ""
    for index, item in enumerate(turns):
        who = kind(item, dialect)
        goes_on = who == "result" and before in ("assistant", "result")
        goes_on = goes_on or (who == before == "assistant" and dialect == "openai-responses")
        if goes_on and out:
            out[-1] = (out[-1][0], index + 1)
        elif who != "system":
            out.append((index, index + 1))
        before = who
    return out


# -- edits that change no meaning -----------------------------------------------------------


def arguments_spelled_anew(turns: list[Json], dialect: str) -> list[Json] | None:
    """White space, and the order of keys."""
    found = False
    for item in turns:
        for call, key, _ in _calls(item, dialect):
            value = call.get(key)
            try:
                parsed = json.loads(value) if isinstance(value, str) else value
            except ValueError:
                continue
            if not isinstance(parsed, dict) or not parsed:
                continue
            turned = dict(reversed(parsed.items()))
            spelled = json.dumps(turned, indent=1, ensure_ascii=False)
            call[key] = spelled if isinstance(value, str) else turned
            found = True
    return turns if found else None


def marks_moved(turns: list[Json], dialect: str) -> list[Json] | None:
    """The cache marks leave their places, and one comes to the newest message."""
    if dialect != "anthropic-messages":
        return None
    found = False
    for item in turns:
        for part in _parts(item, dialect):
            found = part.pop("cache_control", None) is not None or found
    last = turns[-1] if turns else {}
    if not found or last.get("role") != "user":
        return None
    if isinstance(last["content"], str):
        last["content"] = [{"type": "text", "text": last["content"]}]
    if last["content"]:
        last["content"][-1]["cache_control"] = {"type": "ephemeral"}
    return turns


def texts_as_lists(turns: list[Json], dialect: str) -> list[Json] | None:
    """A string becomes a list of one text."""
    found = False
    for item in turns:
        text = item.get("content")
        if isinstance(text, str) and text:
            name = "text"
            if dialect == "openai-responses":
                name = "output_text" if item.get("role") == "assistant" else "input_text"
            elif kind(item, dialect) not in ("user", "assistant"):
                continue
            item["content"] = [{"type": name, "text": text}]
            found = True
    return turns if found else None


def texts_as_strings(turns: list[Json], dialect: str) -> list[Json] | None:
    """A list of one text becomes a string, where it holds nothing else."""
    found = False
    for item in turns:
        parts = item.get("content")
        if isinstance(parts, list) and len(parts) == 1 and set(parts[0]) == {"type", "text"}:
            item["content"] = parts[0]["text"]
            found = True
    return turns if found else None


def ids_replaced(turns: list[Json], dialect: str) -> list[Json] | None:
    """Other ids, the same for a call and its result."""
    names: dict[str, str] = {}

    def walk(value: Json) -> None:
        if isinstance(value, list):
            for item in value:
                walk(item)
        elif isinstance(value, dict):
            for key, item in value.items():
                if key in IDS[dialect] and isinstance(item, str):
                    value[key] = names.setdefault(item, f"new{len(names):06}")
                elif key not in ("input", "args", "response", "arguments"):
                    walk(item)

    walk(turns)
    return turns if names and not _names_ids(turns) else None


def _names_ids(turns: list[Json]) -> bool:
    """Whether a text names an id (what could not stand in a result): it would mean another one."""
    text = _text(turns)
    return "[content of tool result " in text or "[result of the tool call " in text


def ids_dropped(turns: list[Json], dialect: str) -> list[Json] | None:
    """The ids that a dialect can do without."""
    found = False
    for item in turns:
        if dialect == "openai-responses" and item.get("type") != "item_reference":
            found = item.pop("id", None) is not None or found
        for part in _parts(item, dialect) if dialect == "gemini" else ():
            for call in (part.get("functionCall"), part.get("functionResponse")):
                found = (bool(call) and call.pop("id", None) is not None) or found
    return turns if found and not _names_ids(turns) else None


def reasoning_removed(turns: list[Json], dialect: str) -> list[Json] | None:
    """A turn that is nothing but reasoning stays."""
    found = False
    for item in turns:
        for key in ("reasoning_content", "reasoning", "reasoning_details"):
            if (
                dialect == "openai-chat"
                and item.get(key)
                and (item.get("content") or "tool_calls" in item)
            ):
                del item[key]
                found = True
        key = "parts" if dialect == "gemini" else "content"
        parts = item.get(key)
        if isinstance(parts, list) and dialect != "openai-responses":
            kept = [p for p in parts if p.get("type") not in REASONING and not p.get("thought")]
            if kept and len(kept) < len(parts):
                item[key] = kept
                found = True
    if dialect == "openai-responses":
        kept = [item for item in turns if item.get("type") != "reasoning"]
        if any(kind(item, dialect) == "assistant" for item in kept) and len(kept) < len(turns):
            return kept
    return turns if found else None


# -- edits that change the conversation -----------------------------------------------------

NEW = "A word that nobody has said before."


def words_changed(turns: list[Json], dialect: str) -> list[Json] | None:
    """A reply is put otherwise."""
    for index in range(len(turns) - 1, -1, -1):
        item = turns[index]
        if kind(item, dialect) != "assistant":
            continue
        if isinstance(item.get("content"), str) and item["content"]:
            item["content"] = NEW
            return turns
        for part in item.get("parts" if dialect == "gemini" else "content") or ():
            if isinstance(part, dict) and part.get("text") and not part.get("thought"):
                part["text"] = NEW
                return turns
    return None


def calls_apart(turns: list[Json], dialect: str) -> list[Json] | None:
    """Parallel calls, each in a turn of its own with its result (Chat, where results are turns)."""
    if dialect != "openai-chat":
        return None
    out: list[Json] = []
    split = False
    for start, end in [(0, 0), *rounds(turns, dialect)]:
        out += turns[len(out) if not split else start : start] if not out else []
        item = turns[start] if end else None
        calls = (item or {}).get("tool_calls") or []
        if item is None or len(calls) < 2 or len({call.get("id") for call in calls}) < len(calls):
            out += turns[start:end]
            continue
        split = True
        for number, call in enumerate(calls):
            first = {} if number else {k: v for k, v in item.items() if k != "tool_calls"}
            out.append({"role": "assistant", "content": None, **first, "tool_calls": [call]})
            said = call.get("id")
            out += [r for r in turns[start + 1 : end] if r.get("tool_call_id") == said]
    return out if split else None


def removed(which: float) -> Edit:
    def edit(turns: list[Json], dialect: str) -> list[Json] | None:
        found = rounds(turns, dialect)
        if len(found) < 2:
            return None
        start, end = found[round(which * (len(found) - 1))]
        return turns[:start] + turns[end:]

    return edit


def added(which: float) -> Edit:
    def edit(turns: list[Json], dialect: str) -> list[Json] | None:
        found = rounds(turns, dialect)
        places = [*(start for start, _ in found), len(turns)]
        place = places[round(which * (len(places) - 1))]
        new: Json = {"role": "user", "content": NEW}
        if dialect == "gemini":
            new = {"role": "user", "parts": [{"text": NEW}]}
        return [*turns[:place], new, *turns[place:]]

    return edit


SAME: dict[str, Edit] = {
    "arguments spelled anew": arguments_spelled_anew,
    "marks moved": marks_moved,
    "texts as lists": texts_as_lists,
    "texts as strings": texts_as_strings,
    "ids replaced": ids_replaced,
    "ids dropped": ids_dropped,
    "reasoning removed": reasoning_removed,
}
OTHER: dict[str, Edit] = {
    "words changed": words_changed,
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
    target: str
    edit: str
    original: Json
    back: Json
    echoed: Json
    plain: Result
    result: Result

    def items(self, document: Json) -> list[Json]:
        found = document.get(TURNS[self.source])
        return found if isinstance(found, list) else [found]


def applies(source: str, target: str, facet: str) -> bool:
    return facet == "request" and source in TURNS and target in TURNS and source != target


def law(body: Json, source: str, facet: str, target: str) -> None:
    """Every edit, one at a time; raises ``AssertionError`` with all that do not hold."""
    if not applies(source, target, facet):
        return
    broken = [
        f"{way.edit}: {problem}" for way in ways(body, source, target) for problem in problems(way)
    ]
    assert not broken, "\n".join(broken)


def ways(
    body: Json, source: str, target: str, tamper: Callable[[Json], Json] = lambda capsule: capsule
) -> Iterator[Home]:
    """A document after each edit; ``tamper`` changes the capsule, to see that the law sees it."""
    there = convert(body, source=source, target=target, now=0, carry=True)
    capsule = tamper(json.loads(json.dumps(there.capsule)))
    back = convert(there.document, source=target, target=source).document
    turns = there.document.get(TURNS[target])
    if not isinstance(turns, list) or not isinstance(body.get(TURNS[source]), list):
        return
    for name, edit in (SAME | OTHER).items():
        edited = edit(copy.deepcopy(turns), target)
        if edited is None or _text(edited) == _text(turns):
            continue
        echoed = {**there.document, TURNS[target]: edited}
        try:
            plain = convert(echoed, source=target, target=source)
        except DragomanError:
            continue  # such a conversation cannot be said there
        result = convert(echoed, source=target, target=source, capsule=capsule)
        yield Home(source, target, name, body, back, echoed, plain, result)


def problems(way: Home) -> Iterator[str]:
    """What is wrong with what came home."""
    was = way.items(way.back)
    original = way.items(way.original)
    owned = _owned(was, original)
    if owned is None:
        yield from _loosely(way)
        return
    missing = {number for number, item in enumerate(was) if owned[number] != [item]}
    came = way.items(way.result.document)
    at = 0
    for turn in _wanted(way, was, owned):
        for how in turn:
            if _matches(came[at : at + len(how.items)], how.items, way, how.restores < 0):
                missing.discard(how.restores)
                at += len(how.items)
                break
        else:
            wanted = "\n  or ".join(_text(how.items)[:300] for how in turn)
            yield f"not as it was: {_text(came[at : at + 2])[:400]}\n  wanted {wanted}"
            return
    if at < len(came):
        yield f"stands there though nobody said it: {_text(came[at:])[:300]}"
    yield from _unreported(way, bool(missing))
    changed = {n for n, item in enumerate(way.items(way.plain.document)) if NEW in _text(item)}
    if way.edit == "words changed" and changed & missing and not _is_pointed_at(way):
        yield "reported, and not at the turn that has changed"
    allowed = {p.rule for d in (way.original, way.plain.document) for p in check(d, way.source)}
    for problem in check(way.result.document, way.source):
        if problem.rule not in allowed and not _is_own(problem, way):
            yield f"breaks a rule: {problem}"


def _is_own(problem: Any, way: Home) -> bool:
    """Whether a call had no signature before: the plain conversion has a stand-in for it.

    An API asks for the signatures of the last turn alone, and a client may cut what follows one.
    """
    if problem.rule != "thought-signature":
        return False
    item = _at(way.result.document, "/".join(problem.path.split("/")[:3]))
    return any(_text(item) == _text(other) for other in way.items(way.original))


def _loosely(way: Home) -> Iterator[str]:
    """What can be said of turns that came back in another number."""
    if way.edit in SAME:
        came, original = way.items(way.result.document), way.items(way.original)
        known = {_key(item) for item in (*original, *way.items(way.plain.document))}
        if [*map(_gist, came)] != [*map(_gist, original)]:
            yield f"not as it was: {_text(came)[:500]}\n  wanted {_text(original)[:500]}"
        elif not known.issuperset(map(_key, came)):
            yield f"neither as it was nor as it is: {_text(came)[:500]}"
        return
    said = [Counter(map(_gist, way.items(d))) for d in (way.result.document, way.plain.document)]
    lost = Counter(map(_gist, way.items(way.original))) - Counter(map(_gist, way.items(way.back)))
    for gist in said[0] - said[1] - lost:
        yield f"stands twice, or where it was not: {gist}"
    yield from _unreported(way, False)


def _unreported(way: Home, missing: bool) -> Iterator[str]:
    lost = [loss for loss in way.result.losses if loss.what == "capsule"]
    if way.edit in SAME and lost:
        yield f"all means the same, and still: {lost[0]}"
    if missing and not lost:
        yield "left out, and not reported"
    for loss in lost:
        if not _resolves(way.echoed, loss.path):
            yield f"{loss} points nowhere"


def _is_pointed_at(way: Home) -> bool:
    """Whether a loss is at the turn whose words have changed."""
    key = TURNS[way.target]
    turns = way.echoed[key]
    for start, end in rounds(turns, way.target):
        if NEW in _text(turns[start:end]):
            places = {f"/{key}/{number}" for number in range(start, end)}
            lost = [loss.path for loss in way.result.losses if loss.what == "capsule"]
            return any("/".join(path.split("/")[:3]) in places for path in lost)
    return False


class Way(NamedTuple):
    """How a turn may come home."""

    items: list[Json]
    restores: int = -1
    """the item of the way back that is the original again then"""


def _wanted(way: Home, was: list[Json], owned: list[list[Json]]) -> Iterator[list[Way]]:
    """The turns that must come home, in order, each with the ways it may look."""
    is_ = way.items(way.plain.document)
    twin = _twins(is_, was, way.edit in SAME)
    for number, item in enumerate(is_):
        partner = twin.get(number)
        if partner is None:
            yield [*_grown(item, was, owned), Way([item])]
            continue
        choices = [Way(owned[partner], partner)]
        choices += [Way(owned[n], n) for n in _equals(is_, number, was, partner)]
        inside = partner > 0 and kind(owned[partner][-1], way.source) == "system"
        clean = owned[partner] == [was[partner]]
        if clean or _exempt(way, number, is_, partner, was, inside):
            choices.append(Way([item]))  # nothing is carried for it, so it is as the client says
        yield choices


def _twins(now: list[Json], was: list[Json], meant_the_same: bool) -> dict[int, int]:
    """Which items are those of the way back without the edit.

    Ids tell no turn from another; where all means the same, neither does the spelling.
    """
    if meant_the_same and len(now) == len(was):
        return {number: number for number in range(len(now))}
    key = _gist if meant_the_same else _key
    return _paired([key(item) for item in now], [key(item) for item in was])


def _paired(a: list[str], b: list[str]) -> dict[int, int]:
    blocks = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    return {block.a + n: block.b + n for block in blocks for n in range(block.size)}


def _equals(now: list[Json], number: int, was: list[Json], partner: int) -> Iterator[int]:
    """Other turns that say the same and stood beside the same: either of them is right."""
    gist = _gist(was[partner])
    for other, item in enumerate(was):
        if other != partner and _gist(item) == gist:
            if _is_near(now, number - 1, was, other - 1) or _is_near(
                now, number + 1, was, other + 1
            ):
                yield other


def _is_near(now: list[Json], a: int, was: list[Json], b: int) -> bool:
    if not (0 <= a < len(now) and 0 <= b < len(was)):
        return a == b == -1 or (a == len(now) and b == len(was))
    return _key(now[a]) == _key(was[b])


def _exempt(
    way: Home, number: int, now: list[Json], partner: int, was: list[Json], inside: bool
) -> bool:
    """Whether a turn that still says the same may stay as the plain conversion has it.

    - A turn of the assistant that others followed and that is the last one now is what the model
      goes on with, and such a beginning takes no reasoning.
    - A turn whose neighbours on both sides are others may be another turn that says the same.
    - A result whose call was taken out of its turn does not stand behind that turn any more.
    - In Responses, items of the assistant that follow each other are one turn.
    - A system prompt in the middle (``inside``) is allowed between certain turns only, so both of
      its neighbours must be the same.
    """
    if way.edit in SAME:
        return False
    if way.edit == "parallel calls apart" and kind(now[number], way.source) == "result":
        return True
    if way.source == "openai-responses" and _run(now, number) != _run(was, partner):
        return True
    last = number + 1 == len(now) and partner + 1 < len(was)
    if last and kind(now[number], way.source) == "assistant":
        return True

    sides = [_is_near(now, number + step, was, partner + step) for step in (-1, 1)]
    return not all(sides) if inside else not any(sides)


def _run(items: list[Json], number: int) -> list[str]:
    """What the assistant says at a stretch, in Responses; another item is one by itself."""
    start = end = number
    while start >= 0 and kind(items[start], "openai-responses") == "assistant":
        start -= 1
    while end < len(items) and kind(items[end], "openai-responses") == "assistant":
        end += 1
    return [_key(item) for item in items[start + 1 : end]]


def _owned(was: list[Json], original: list[Json]) -> list[list[Json]] | None:
    """The items of the original that belong to each item of the way back; None: nobody can tell.

    Reasoning that the target could not hold belongs to what follows it. Where turns were merged,
    moved or made up on the way, which is which is for others to say.
    """
    a, b = [_gist(item) for item in was], [_gist(item) for item in original]
    if len(was) == len(original):
        changed = [n for n in range(len(a)) if a[n] != b[n]]
        moved = any(a[n] in b or b[n] in a for n in changed)
        merged = any(_words(b[n]) in a[n] for n in changed)
        return None if moved or merged else [[item] for item in original]
    places = _paired(a, b)
    extra = [original[n] for n in set(range(len(original))) - set(places.values())]
    if len(places) < len(was) or not all(item.get("type") == "reasoning" for item in extra):
        return None
    out: list[list[Json]] = [[] for _ in was]
    owners = {place: number for number, place in places.items()}
    waiting: list[Json] = []
    for place, item in enumerate(original):
        if place not in owners:
            waiting.append(item)
            continue
        if waiting and kind(item, "openai-responses") != "assistant":
            return None  # reasoning that nothing followed
        out[owners[place]] = [*waiting, item]
        waiting = []
    return None if waiting else out


def _grown(item: Json, was: list[Json], owned: list[list[Json]]) -> Iterator[Way]:
    """A last item that took in what was added behind it keeps what it was before."""
    for key in ("content", "parts"):
        parts = item.get(key) if isinstance(item, dict) else None
        before = was[-1].get(key) if was and isinstance(was[-1], dict) else None
        mine = owned[-1][-1].get(key) if was and owned[-1] else None
        if not isinstance(parts, list) or mine is None:
            continue
        before = before if isinstance(before, list) else [{"type": "text", "text": before}]
        if _key(parts[: len(before)]) == _key(before):
            mine = mine if isinstance(mine, list) else [{"type": "text", "text": mine}]
            whole = {**owned[-1][-1], key: mine + parts[len(before) :]}
            yield Way([*owned[-1][:-1], whole], len(was) - 1)


def _matches(came: list[Json], wanted: list[Json], way: Home, plain: bool) -> bool:
    if _text(came) == _text(wanted):
        return True
    if way.edit == "marks moved":  # they stand where the client has put them
        return _text(_without(came, MARKS)) == _text(_without(wanted, MARKS))
    # As the client says where nothing was lost; those of calls follow the results that came home.
    if plain or way.edit in ("ids replaced", "ids dropped"):
        return _key(came) == _key(wanted)
    return False


MARKS = {"cache_control", "prompt_cache_breakpoint"}
NAMES = {"id", "call_id", "tool_call_id", "tool_use_id"}


def _without(value: Json, keys: set[str]) -> Json:
    if isinstance(value, dict):
        return {k: _without(v, keys) for k, v in value.items() if k not in keys}
    return [_without(item, keys) for item in value] if isinstance(value, list) else value


def _key(value: Json) -> str:
    return _text(_without(value, NAMES | MARKS))


def _gist(item: Json) -> str:
    """What an item says, whatever else it holds: its texts, and arguments as values."""
    found: list[str] = []

    def walk(value: Json, key: str) -> None:
        if isinstance(value, str):
            if value and key in ("text", "content", "output", "name", "role"):
                found.append(value)
            elif key == "arguments":
                try:
                    found.append(json.dumps(json.loads(value), sort_keys=True))
                except ValueError:
                    found.append(value)
        elif isinstance(value, list):
            for inner in value:
                walk(inner, key)
        elif isinstance(value, dict):
            for name, inner in value.items():
                walk(inner, name)

    said = item if isinstance(item, dict) else {"content": item}
    if said.get("type") in RESULTS:
        said = {"output": said.get("output")}  # the name of the tool is the call's to say
    walk(said, "")
    return "\0" if said.get("type") == "reasoning" else "\0".join(found)


def _words(gist: str) -> str:
    return gist.partition("\0")[2]


def _text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _resolves(doc: Json, pointer: str) -> bool:
    try:
        _at(doc, pointer)
    except (LookupError, ValueError, TypeError):
        return False
    return True


def _at(doc: Json, pointer: str) -> Any:
    for token in pointer.split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        doc = doc[int(token)] if isinstance(doc, list) else doc[token]
    return doc
