"""What clients do to a document before they send it back, and what must come home then.

The edits are made on the JSON of every dialect that has a list of turns, one at a time; the law
compares items of plain JSON. Nothing here knows how a capsule is made or opened, or how a document
is read: ``convert`` and ``check`` are all that is asked.
"""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from .. import dialects
from ..check import check
from ..convert import convert
from ..errors import DragomanError, Unsayable
from ..model import Json
from ..result import Result

Edit: TypeAlias = Callable[[list[Json], str], "list[Json] | None"]
"""The turns of an echoed document, our own copy, and its dialect; None: it has nothing of this."""


# -- the wire -------------------------------------------------------------------------------
# Keys and types of blocks mean the same in all dialects that have them, so they are one table.

INNER = {"native": "tree"}
"""The key of what holds the conversation, where it is not at the top."""


def _key_of_turns(name: str) -> str | None:
    return "messages" if name in INNER else dialects.get(name).history


TURNS: dict[str, str] = {
    name: key
    for name in dialects.names()
    if (key := _key_of_turns(name)) and "messages" in dialects.get(name).facets()
}
"""The key under which each dialect has its list of turns."""


def turns_in(document: Json, dialect: str) -> list[Json] | None:
    """The turns of a document; None: it has no list of them."""
    found = document
    if isinstance(document, dict):
        inner = document.get(INNER[dialect]) if dialect in INNER else document
        found = inner.get(TURNS[dialect]) if isinstance(inner, dict) else None
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        return None
    return found


def with_turns(document: Json, dialect: str, turns: list[Json] | None) -> Json:
    """The document with other turns."""
    if not isinstance(document, dict):
        return turns
    if dialect in INNER:
        inner = {**document[INNER[dialect]], TURNS[dialect]: turns}
        return {**document, INNER[dialect]: inner}
    return {**document, TURNS[dialect]: turns}


def _has_items(dialect: str) -> bool:
    """Whether calls, results and reasoning are items beside the messages, as in Responses."""
    return TURNS[dialect] == "input"


def _content_key(item: Json) -> str:
    return next((key for key in ("parts", "blocks") if key in item), "content")


def _blocks(item: Json) -> list[Json]:
    found = item.get(_content_key(item))
    return [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []


def _parts(item: Json) -> list[Json]:
    """The item, which may be a block itself, and the blocks in it."""
    return [item, *_blocks(item)]


def _type(part: Json) -> str:
    found = part.get("type") or part.get("block")  # the latter is our own
    return found if isinstance(found, str) else ""


ARGUMENTS = {
    "tool_use": ("input",),
    "function_call": ("arguments",),
    "tool_call": ("parameters",),
    "tool-call": ("arguments", "args", "input"),
}
"""Types of blocks that are calls -> where the arguments stand."""
HELD = {"functionCall": "args", "function_call": "args", "toolUse": "input"}
"""Keys that hold a call -> where its arguments stand in there."""
PAIRING = ("tool_call_id", "tool_use_id", "call_id", "toolUseId", "toolCallId", "callId")
"""Keys of the ids that pair calls with results."""
RESULTS = {
    "tool_result",
    "function_call_output",
    "custom_tool_call_output",
    "tool-result",
    "tool_response",
}
RESULT_KEYS = ("functionResponse", "function_response", "toolResult")
REASONING = {"thinking", "redacted_thinking", "reasoning"}


def _calls(item: Json) -> Iterator[tuple[Json, str]]:
    """The calls of an item: what holds the arguments, and under which key."""
    for call in item.get("tool_calls") or ():
        if isinstance(call.get("function"), dict):
            yield call["function"], "arguments"
    for part in _parts(item):
        if part.get("kind", "function") == "function":
            for key in ARGUMENTS.get(_type(part), ()):
                if key in part:
                    yield part, key
        for name, key in HELD.items():
            if isinstance(part.get(name), dict):
                yield part[name], key


def _named(item: Json) -> Iterator[tuple[Json, str]]:
    """The ids that pair calls with results: what holds each, and under which key."""
    for call in item.get("tool_calls") or ():
        yield call, "id"
    for part in _parts(item):
        for key in PAIRING:
            yield part, key
        for name in (*HELD, *RESULT_KEYS):
            if isinstance(part.get(name), dict):
                yield part[name], "toolUseId" if name in ("toolUse", "toolResult") else "id"
        if _type(part).endswith("tool_use") or _type(part) in ("tool_call", "tool-call"):
            yield part, "id"


def kind(item: Json) -> str:
    """Who speaks: ``system``, ``user``, ``assistant``, or a tool (``result``)."""
    role = item.get("role", item.get("speaker"))
    told = item.get("metadata")  # icontent writes a system prompt as a turn of the model
    if isinstance(told, dict) and role == "ai":
        role = told.get("role", role)
    if role in ("system", "developer", "control"):
        return "system"
    if _type(item) in ("item_reference", "mcp_approval_response"):
        return "user"  # the first may be anything, and goes with what stands before it
    if role in ("tool", "function") or any(_is_result(part) for part in _parts(item)):
        return "result"
    return "assistant" if role in ("assistant", "model", "ai", None) else "user"


def _is_result(part: Json) -> bool:
    if _type(part) == "tool_search_output":  # the client's, or a part of the reply
        return bool(part.get("execution") == "client")
    return _type(part) in RESULTS or any(key in part for key in RESULT_KEYS)


def rounds(turns: list[Json], dialect: str) -> list[tuple[int, int]]:
    """What can go without leaving half of a pair: a message, or calls with their results."""
    out: list[tuple[int, int]] = []
    before = ""
    for index, item in enumerate(turns):
        who = kind(item)
        goes_on = who == "result" and before in ("assistant", "result")
        if who == before == "assistant":  # the results of both may stand in one turn
            goes_on = _has_items(dialect) or bool(_ids(turns[index - 1]))
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
        for call, key in _calls(item):
            value = call.get(key)
            try:
                as_text = isinstance(value, str) and key == "arguments"
                parsed = json.loads(value) if as_text else value
            except ValueError:
                continue
            if not isinstance(parsed, dict) or not parsed:
                continue
            turned = dict(reversed(parsed.items()))
            call[key] = json.dumps(turned, indent=1, ensure_ascii=False) if as_text else turned
            found = True
    return turns if found else None


def marks_moved(turns: list[Json], dialect: str) -> list[Json] | None:
    """The cache marks leave their places, and one comes to the newest message."""
    last = turns[-1] if turns else {}
    text = last.get("content")
    if kind(last) != "user" or not isinstance(text, str | list) or not text:
        return None
    mark = None
    for item in turns:
        for part in _blocks(item):
            for key in MARKS & part.keys():
                mark = part if key == "cachePoint" else {key: part.pop(key)}
        if any("cachePoint" in part for part in _blocks(item)):
            item["content"] = [p for p in item["content"] if "cachePoint" not in p]
    if mark is None:
        return None
    if isinstance(text, str):
        name = "input_text" if _has_items(dialect) else "text"
        last["content"] = [{"type": name, "text": text}]
    if "cachePoint" in mark:
        last["content"].append(mark)
    else:
        last["content"][-1] |= mark
    return turns


def texts_as_lists(turns: list[Json], dialect: str) -> list[Json] | None:
    """A string becomes a list of one text."""
    found = False
    for item in turns:
        if _type(item) in REASONING:
            continue
        text = item.get("content")
        if isinstance(text, str) and text:
            name = "text"
            if _has_items(dialect):
                name = "output_text" if item.get("role") == "assistant" else "input_text"
            elif kind(item) not in ("user", "assistant"):
                continue
            item["content"] = [{"type": name, "text": text}]
            found = True
    return turns if found else None


def texts_as_strings(turns: list[Json], dialect: str) -> list[Json] | None:
    """A list of one text becomes a string, where it holds nothing else."""
    found = False
    for item in turns:
        if _type(item) in REASONING:
            continue
        parts = item.get("content")
        if isinstance(parts, list) and len(parts) == 1 and _is_plain(parts[0]):
            item["content"] = parts[0]["text"]
            found = True
    return turns if found else None


def _is_plain(part: Json) -> bool:
    """Whether a block is a text and nothing else."""
    if not isinstance(part, dict) or not isinstance(part.get("text"), str):
        return False
    if part.keys() == {"type", "text"}:
        return part["type"] in ("text", "input_text", "output_text")
    return part.keys() == {"text"}


def texts_joined(turns: list[Json], dialect: str) -> list[Json] | None:
    """Texts that follow each other in one message become one."""
    found = False
    for item in turns:
        if kind(item) == "result" or _type(item) in REASONING:
            continue
        parts = _blocks(item)
        out: list[Json] = []
        for part in parts if len(parts) > 1 else ():
            if out and _is_plain(part) and _is_plain(out[-1]):
                out[-1] = {**out[-1], "text": out[-1]["text"] + part["text"]}
                found = True
            else:
                out.append(part)
        if out:
            item[_content_key(item)] = out
    return turns if found else None


def texts_split(turns: list[Json], dialect: str) -> list[Json] | None:
    """A text becomes two that say the same when they are read one after the other."""
    found = False
    for item in turns:
        if kind(item) not in ("user", "assistant") or _type(item) in REASONING:
            continue
        out: list[Json] = []
        for part in _blocks(item):
            text = part["text"] if _is_plain(part) else ""
            head, space, tail = text.partition(" ")
            if head.strip() and tail.strip() and not text.startswith("["):
                out += [{**part, "text": head + space}, {**part, "text": tail}]
                found = True
                continue
            out.append(part)
        if out:
            item[_content_key(item)] = out
    return turns if found else None


def ids_replaced(turns: list[Json], dialect: str) -> list[Json] | None:
    """Other ids, the same for a call and its result."""
    names: dict[str, str] = {}
    for item in turns:
        for held, key in _named(item):
            if isinstance(held.get(key), str):
                held[key] = names.setdefault(held[key], f"new{len(names):06}")
    return turns if names else None


def ids_dropped(turns: list[Json], dialect: str) -> list[Json] | None:
    """The ids that a dialect can do without: those of items, and where the place tells the same."""
    found = False
    for item in turns:
        if _has_items(dialect) and _type(item) not in ("item_reference", "reasoning"):
            found = item.pop("id", None) is not None or found
    if dialect not in PLACED or not _are_in_order(turns, dialect):
        return turns if found else None
    for item in turns:
        for held, key in _named(item):
            found = held.pop(key, None) is not None or found
    return turns if found else None


PLACED = ("gemini", "ollama")
"""Dialects in which a result may name no call: it replies by its place."""


def _are_in_order(turns: list[Json], dialect: str) -> bool:
    """Whether each call has one result after it, all of them in the order of the calls."""
    for start, end in rounds(turns, dialect):
        called: list[Any] = []
        replied: list[Any] = []
        for item in turns[start:end]:
            ids = [held.get(key) for held, key in _named(item) if key in held]
            (replied if kind(item) == "result" else called).extend(ids)
            if kind(item) == "result" and not ids:
                return False
        if called != replied or len(set(called)) < len(called):
            return False
    return True


def _names_ids(turns: list[Json]) -> bool:
    """Whether a text names an id: what could not stand in a result is introduced by one."""
    text = _text(turns)
    return "[content of tool result " in text or " of the tool call " in text


def reasoning_removed(turns: list[Json], dialect: str) -> list[Json] | None:
    """A turn that is nothing but reasoning stays."""
    found = False
    for item in turns:
        if kind(item) != "assistant" or _type(item) in REASONING:
            continue
        for key in ("reasoning_content", "reasoning", "reasoning_details", "thinking"):
            if item.get(key) and _says_more([item]):
                del item[key]
                found = True
        key, parts = _content_key(item), _blocks(item)
        kept = [part for part in parts if not _is_reasoning(part)]
        says = any(part.get("text") != "" for part in kept) or item.get("tool_calls")
        if len(kept) < len(parts) and says:
            item[key] = kept
            found = True
            if not kept:
                del item[key]
    kept = [
        item
        for start, end in rounds(turns, dialect)
        for item in turns[start:end]
        if _type(item) not in REASONING or not _says_more(turns[start:end])
    ]
    return _in_order(turns, kept) if found or len(kept) < len(turns) else None


def _says_more(items: list[Json]) -> bool:
    """Whether there is more in a reply than reasoning and empty texts."""
    spelled = [i for i in items if kind(i) == "assistant" and _type(i) not in REASONING]
    return any(item.get("tool_calls") or _words(_gist(item)) for item in spelled)


def _in_order(turns: list[Json], kept: list[Json]) -> list[Json]:
    """The turns that are kept, and those that are of no round: system prompts."""
    ids = {id(item) for item in kept}
    return [item for item in turns if id(item) in ids or kind(item) == "system"]


def _is_reasoning(part: Json) -> bool:
    return _type(part) in REASONING or part.get("thought") is True or "reasoningContent" in part


# -- edits that change the conversation -----------------------------------------------------

NEW = "A word that nobody has said before."


def words_changed(turns: list[Json], dialect: str) -> list[Json] | None:
    """A reply is put otherwise."""
    for index in range(len(turns) - 1, -1, -1):
        item = turns[index]
        if kind(item) != "assistant" or _type(item) in REASONING:
            continue
        if isinstance(item.get("content"), str) and item["content"]:
            item["content"] = NEW
            return turns
        for part in _blocks(item):
            if part.get("text") and not _is_reasoning(part):
                part["text"] = NEW
                return turns
    return None


def calls_apart(turns: list[Json], dialect: str) -> list[Json] | None:
    """Parallel calls, each in a turn of its own with its result."""
    out: list[Json] = []
    split = False
    at = 0
    for start, end in rounds(turns, dialect):
        out += turns[at:start]
        at = end
        apart = _apart(turns[start:end])
        out += apart or turns[start:end]
        split = split or bool(apart)
    return out + turns[at:] if split else None


def _apart(items: list[Json]) -> list[Json] | None:
    """Calls with their results, one by one; None: there are not several, all with one result."""
    ids = [i for item in items if kind(item) != "result" for i in _ids(item)]
    replied = [i for item in items if kind(item) == "result" for i in _ids(item)]
    if len(ids) < 2 or len(set(ids)) < len(ids) or sorted(ids) != sorted(replied):
        return None
    out: list[Json] = []
    for number, name in enumerate(ids):
        for item in items:
            if not _ids(item):
                out += [] if number else [item]  # words and reasoning stand before the first call
            elif name in _ids(item):
                out.append(_alone(item, name, not number))
    return out


def _ids(item: Json) -> list[str]:
    found = [held[key] for held, key in _named(item) if isinstance(held.get(key), str)]
    return list(dict.fromkeys(found))


def _alone(item: Json, name: str, first: bool) -> Json:
    """An item with one of its calls or results; its words and reasoning only if it is the first."""
    out = dict(item)
    if "tool_calls" in item:
        out["tool_calls"] = [call for call in item["tool_calls"] if call.get("id") == name]
        if not first:
            out = {key: value for key, value in out.items() if key in ("role", "tool_calls")}
            out["content"] = None if "content" not in item or item["content"] is None else ""
        return out
    key = _content_key(item)
    if isinstance(item.get(key), list) and not _ids({**item, key: []}):
        kept = [p for p in item[key] if (_ids({key: [p]}) == [name]) or (first and not _ids(p))]
        out[key] = kept
    return out


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
        return [*turns[:place], _new(dialect), *turns[place:]]

    return edit


@cache
def _new(dialect: str) -> Json:
    """A user turn in a dialect: what is written for one in Chat."""
    asked = [{"role": "user", "content": NEW}]
    spelled = convert(asked, source="openai-chat", target=dialect, facet="messages").document
    found = turns_in(spelled, dialect)
    assert found is not None
    return found[-1]


SAME: dict[str, Edit] = {
    "arguments spelled anew": arguments_spelled_anew,
    "marks moved": marks_moved,
    "texts as lists": texts_as_lists,
    "texts as strings": texts_as_strings,
    "texts joined": texts_joined,
    "texts split": texts_split,
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
    facet: str
    edit: str
    original: Json
    back: Result
    echoed: Json
    plain: Result
    result: Result

    def items(self, document: Json) -> list[Json]:
        """The items of a document, and before them the system prompt that stands elsewhere."""
        found = turns_in(document, self.source)
        out = [document] if found is None else found
        top = document if isinstance(document, dict) else {}
        apart = [
            {"role": "system", "in": key, "content": top[key]}
            for key in PROMPTS
            if _is_stated(top.get(key))
        ]
        return apart + out

    def turns(self, document: Json) -> list[list[Json]]:
        """The turns of a document; in Responses, all items of one reply are one."""
        out: list[list[Json]] = []
        for item in self.items(document):
            goes_on = out and kind(item) == kind(out[-1][-1]) == "assistant"
            if goes_on and _has_items(self.source):
                out[-1].append(item)
            else:
                out.append([item])
        return out

    @property
    def means_the_same(self) -> bool:
        """Whether the edit changed nothing.

        A text that names an id introduces the content of that call's result. A client that gives
        other ids, or joins texts, does not know: it introduces another one then, or none. And
        where a message is one text, several are written with a blank line between them, so that
        a text in two parts says something else.
        """
        if self.edit in ("ids replaced", "ids dropped", "texts joined", "texts split"):
            there = turns_in(self.echoed, self.target) or []
            if _names_ids([*there, *self.items(self.plain.document)]):
                return False
            if self.edit.startswith("texts"):
                losses = (*self.back.losses, *self.plain.losses)
                return not any(loss.what == "text.boundary" for loss in losses)
        return self.edit in SAME


PROMPTS = ("system", "instructions", "systemInstruction", "system_instruction")
"""Keys of system prompts that are no items."""


def applies(source: str, target: str, facet: str) -> bool:
    return facet in ("request", "messages") and source != target and {source, target} <= {*TURNS}


def law(body: Json, source: str, facet: str, target: str) -> None:
    """Every edit, one at a time; raises ``AssertionError`` with all that do not hold."""
    if not applies(source, target, facet):
        return
    broken = [
        f"{way.edit}: {problem}"
        for way in ways(body, source, target, facet=facet)
        for problem in problems(way)
    ]
    assert not broken, "\n".join(broken)


def ways(
    body: Json,
    source: str,
    target: str,
    tamper: Callable[[Json], Json] = lambda capsule: capsule,
    facet: str = "request",
) -> Iterator[Home]:
    """A document after each edit; ``tamper`` changes the capsule, to see that the law sees it."""
    try:
        there = convert(body, source=source, target=target, facet=facet, now=0, carry=True)
    except Unsayable:
        return
    capsule = tamper(json.loads(json.dumps(there.capsule)))
    turns = turns_in(there.document, target)
    if turns is None or turns_in(body, source) is None:
        return
    back = _plainly(there.document, source, target, facet, body)
    for name, edit in (SAME | OTHER).items():
        try:
            edited = edit(copy.deepcopy(turns), target)
            if edited is None or _text(edited) == _text(turns):
                continue
            echoed = with_turns(there.document, target, edited)
            plain = _plainly(echoed, source, target, facet, body)
        except DragomanError:
            continue  # such a conversation cannot be expressed there
        result = convert(echoed, source=target, target=source, facet=facet, capsule=capsule)
        yield Home(source, target, facet, name, body, back, echoed, plain, result)


def _plainly(echoed: Json, source: str, target: str, facet: str, original: Json) -> Result:
    """The conversion without a capsule, with messages spelled as those of the original."""
    result = convert(echoed, source=target, target=source, facet=facet)
    turns = turns_in(result.document, source)
    if turns is None:
        return result
    turns = _with_types(turns, original, source)
    return Result(with_turns(result.document, source, turns), result.losses)


def _with_types(items: list[Json], original: Json, source: str) -> list[Json]:
    """Items of Responses with the type that a message may go without, if the original has it.

    Where each message of a request has it, so may those that the client has added or changed.
    """
    written = dialects.get(source).implied_type
    known = turns_in(original, source) or []
    models = [item for item in known if written and item.get("type") == written]
    if not models or not isinstance(original, dict) or not all("type" in item for item in known):
        return items
    spelled = {"type": written}
    if next(iter(models[0])) == "type":
        return [spelled | item if "role" in item and "type" not in item else item for item in items]
    return [item | spelled if "role" in item and "type" not in item else item for item in items]


def problems(way: Home) -> Iterator[str]:
    """What is wrong with what came home."""
    yield from _turn_by_turn(way)
    if way.means_the_same:
        yield from _all_of_it(way)
    for loss in _lost(way):
        if not _resolves(way.echoed, loss.path):
            yield f"{loss} points nowhere"
    if way.facet == "request":
        yield from _broken_rules(way)


def _lost(way: Home) -> list[Any]:
    return [loss for loss in way.result.losses if loss.what == "capsule"]


def _all_of_it(way: Home) -> Iterator[str]:
    """All means the same, so nothing is left out, and settings are as they were in their order."""
    a, b = (_settings(document, way) for document in (way.result.document, way.original))
    was, now = (_settings(document, way) for document in (way.back.document, way.plain.document))
    omitted = any((loss.kind, loss.what) == ("dropped", "thinking") for loss in way.result.losses)
    if _text(a) != _text(b) and (_text(was) != _text(now) or omitted):
        # A setting that an API takes only beside what the client has removed (thinking, beside
        # reasoning in the last turn) is not written, so there is nothing to be restored.
        if not way.result.losses:
            yield f"a setting is left out, and not reported: {_text(now)[:300]}"
        return
    if _text(a) != _text(b):
        yield f"other settings: {_text(a)[:300]}\n  wanted {_text(b)[:300]}"
    for loss in _lost(way):
        yield f"all means the same, and still: {loss}"


def _settings(document: Json, way: Home) -> Json:
    """A document without its turns and its prompt; an empty prompt is a setting."""
    rest = with_turns(document, way.source, None)
    return (
        {k: v for k, v in rest.items() if k not in PROMPTS or not _is_stated(v)} if rest else rest
    )


def _is_stated(prompt: Json) -> bool:
    """Whether there is a word in it; a role and a type are none."""
    if isinstance(prompt, dict):
        return any(
            _is_stated(value) for key, value in prompt.items() if key not in ("role", "type")
        )
    return any(map(_is_stated, prompt)) if isinstance(prompt, list) else bool(prompt)


def _broken_rules(way: Home) -> Iterator[str]:
    """What comes home breaks no rule of its API that was kept before.

    It is what the client's edit makes of the original: a rule that the same edit of the original
    breaks (the word that a setting asks for is gone with its turn, a call without a signature is
    in the last turn now) is between the client and the API.
    """
    problems_ = check(way.result.document, way.source)
    if not problems_:
        return
    known = [way.original, way.plain.document]
    edited = (SAME | OTHER)[way.edit](
        copy.deepcopy(turns_in(way.original, way.source) or []), way.source
    )
    if edited is not None:
        known.append(with_turns(way.original, way.source, edited))
    allowed = {problem.rule for document in known for problem in check(document, way.source)}
    for problem in problems_:
        if problem.rule not in allowed:
            yield f"breaks a rule: {problem}"


class Group(NamedTuple):
    """Turns of the way back (``start`` to ``end``), and what they were in the original."""

    start: int
    end: int
    original: list[Json]
    size: int = 1
    """how many turns those were"""
    loose: bool = False
    """turns were merged, moved or made up in there, and which is which is for others to say"""


class Way(NamedTuple):
    """How some turns may come home."""

    items: list[Json]
    turns: int = 1
    """how many turns of the plain conversion that is"""
    restores: int = -1
    """the group that is the original again then"""


def _turn_by_turn(way: Home) -> Iterator[str]:
    """Each turn is the original, whole, or what the plain conversion has, in the same order."""
    was, now = way.turns(way.back.document), way.turns(way.plain.document)
    groups = _groups(was, way.turns(way.original))
    came = way.items(way.result.document)
    missing = {n for n, g in enumerate(groups) if _flat(was[g.start : g.end]) != g.original}
    at = 0
    if groups and groups[0].end == 0 and came[: len(groups[0].original)] == groups[0].original:
        at = len(groups[0].original)  # nothing of the original was there, so it stands in front
        missing.discard(0)
    choices = _Choices(way, was, now, groups)
    restored, index, at = choices.follow(came, at)
    if index < len(now):
        wanted = "\n  or ".join(_text(how.items)[:300] for how in choices.at(index, came[at:]))
        yield f"not as it was: {_text(came[at : at + 2])[:400]}\n  wanted {wanted}"
        return
    if at < len(came):
        yield f"stands there though nobody said it: {_text(came[at:])[:300]}"
    here = [_text(item) for item in came]
    missing = {n for n in missing - restored if not _are_among(groups[n].original, here)}
    if missing and not _lost(way) and not way.means_the_same:
        yield "left out, and not reported"
    if way.edit == "words changed" and _is_missed(way, missing, groups, was, now):
        if not _is_pointed_at(way):
            yield "reported, and not at the turn that has changed"


def _are_among(items: list[Json], texts: list[str]) -> bool:
    """Whether all items are there, in this order."""
    rest = iter(texts)
    return bool(items) and all(_text(item) in rest for item in items)


def _is_missed(
    way: Home, missing: set[int], groups: list[Group], was: list[Any], now: list[Any]
) -> bool:
    """Whether something was left out for the turn whose words have changed."""
    changed = {n for n, turn in enumerate(now) if NEW in _text(turn)}
    if len(was) != len(now):
        return False
    exact = [groups[n] for n in missing if not groups[n].loose]
    return any(changed & set(range(group.start, group.end)) for group in exact)


def _is_pointed_at(way: Home) -> bool:
    """Whether a loss is at the turn whose words have changed."""
    turns = turns_in(way.echoed, way.target) or []
    base = "" if isinstance(way.echoed, list) else f"/{TURNS[way.target]}"
    base = f"/{INNER[way.target]}{base}" if way.target in INNER else base
    for start, end in rounds(turns, way.target):
        if NEW in _text(turns[start:end]):
            places = [f"{base}/{number}" for number in range(start, end)]
            return any(f"{loss.path}/".startswith(f"{p}/") for loss in _lost(way) for p in places)
    return False


class _Choices:
    """How the turns from a place on may come home."""

    def __init__(
        self, way: Home, was: list[list[Json]], now: list[list[Json]], groups: list[Group]
    ) -> None:
        self.way, self.was, self.now, self.groups = way, was, now, groups
        if way.edit in SAME and len(now) == len(was):
            self.twin = {number: number for number in range(len(now))}
        else:
            tell = _gist if way.edit in SAME else _key
            self.twin = _paired([tell(turn) for turn in now], [tell(turn) for turn in was])
            self.twin |= dict(self.alike())
        self.owner = {b: n for n, g in enumerate(groups) for b in range(g.start, g.end)}

    def alike(self) -> Iterator[tuple[int, int]]:
        """Turns that say the same where they stand, though not in the same words of the dialect.

        What is written for a turn may depend on its place: a reply at the end is to be gone on
        with.
        """
        i = j = 0
        for x, y in [*sorted(self.twin.items()), (len(self.now), len(self.was))]:
            for a, b in _paired(
                [_gist(turn) for turn in self.now[i:x]], [_gist(turn) for turn in self.was[j:y]]
            ).items():
                yield i + a, j + b
            i, j = x + 1, y + 1

    def follow(self, came: list[Json], start: int) -> tuple[set[int], int, int]:
        """What is restored, where the turns can be followed to the end; else how far they can."""
        dead: set[tuple[int, int]] = set()
        path: list[tuple[int, int, Iterator[Way], int]] = []
        index, at, best = 0, start, (0, start)
        ways = iter(self.at(index, came[at:])) if self.now else iter(())
        while (index, at) != (len(self.now), len(came)):
            best = max(best, (index, at))
            for how in ways:
                end = at + len(how.items)
                after = index + how.turns, end
                if after not in dead and _matches(
                    came[at:end], how.items, self.way, how.restores < 0
                ):
                    path.append((index, at, ways, how.restores))
                    index, at = after
                    ways = iter(self.at(index, came[at:]) if index < len(self.now) else ())
                    break
            else:
                dead.add((index, at))
                if not path:
                    return set(), *best
                index, at, ways, _ = path.pop()
        return {restores for *_, restores in path}, index, at

    def at(self, index: int, came: list[Json]) -> list[Way]:
        item = Way(self.now[index])
        partner = self.twin.get(index)
        if partner is None:
            return [*_grown(self.now[index], self.was, self.groups), *self.moved(index), item]
        number = self.owner[partner]
        group = self.groups[number]
        if group.loose:
            return [*self.grown(index, number), *self.loosely(index, number, came), item]
        size = group.end - group.start
        grown = list(self.grown(index, number))
        if grown:
            return [*grown, item]
        kept = [self.twin.get(index + n) for n in range(size)]
        if kept != [*range(group.start, group.end)]:
            return [item]  # a part of what stands or falls together
        choices = [Way(group.original, size, number)]
        choices += [Way(self.groups[n].original, 1, n) for n in self.equals(index, partner)]
        is_clean = _flat(self.was[group.start : group.end]) == group.original
        if is_clean or self.may_stay(index, group):
            choices.append(item)  # nothing is carried for it, so it is as the client says
        return choices

    def grown(self, index: int, number: int) -> Iterator[Way]:
        """Several turns that were one, the last of which took in what was added after it."""
        group = self.groups[number]
        last = index + group.end - group.start - 1
        kept = [self.twin.get(n) for n in range(index, last)]
        if last > index and kept == [*range(group.start, group.end - 1)] and last < len(self.now):
            if number + 1 == len(self.groups) and last not in self.twin:
                for way in _grown(self.now[last], self.was, self.groups):
                    yield way._replace(turns=last - index + 1)

    def loosely(self, index: int, number: int, came: list[Json]) -> Iterator[Way]:
        """Where turns were merged or moved: all of the original, or items of either, none twice."""
        group = self.groups[number]
        end = index
        while end < len(self.now) and self.owner.get(self.twin.get(end, -1)) == number:
            end += 1
        yield Way(group.original, end - index, number)
        plain = _flat(self.now[index:end])
        known = {_key(item) for item in (*group.original, *plain)}
        room = Counter(map(_gist, group.original)) | Counter(map(_gist, plain))
        size = 0
        while size < len(came) and _key(came[size]) in known and room[_gist(came[size])] > 0:
            room[_gist(came[size])] -= 1
            size += 1
        for number in range(size, 0, -1):
            yield Way(came[:number], end - index)

    def equals(self, index: int, partner: int) -> Iterator[int]:
        """Other turns that say the same and stood beside the same: either of them is right."""
        gist = _gist(self.was[partner])
        for number, group in enumerate(self.groups):
            other = group.start
            if other != partner and group.end == other + 1 and _gist(self.was[other]) == gist:
                if self.is_near(index - 1, other - 1) or self.is_near(index + 1, other + 1):
                    yield number

    def moved(self, index: int) -> Iterator[Way]:
        """A turn that stands after others now: it may be the original all the same."""
        met, spelled = set(self.twin.values()), _key(self.now[index])
        for number, group in enumerate(self.groups):
            if group.end == group.start + 1 and group.start not in met and not group.loose:
                if _key(self.was[group.start]) == spelled:
                    yield Way(group.original, 1, number)

    def is_near(self, a: int, b: int) -> bool:
        """Whether two turns are the same, or both sides end there."""
        now, was = self.now, self.was
        if not (0 <= a < len(now) and 0 <= b < len(was)):
            return a == b == -1 or (a == len(now) and b == len(was))
        return _key(now[a]) == _key(was[b])

    def may_stay(self, index: int, group: Group) -> bool:
        """Whether a turn that still says the same may stay as the plain conversion has it."""
        if self.way.edit in SAME:
            return not self.way.means_the_same
        end = index + group.end - group.start
        is_last = end == len(self.now) and group.end < len(self.was)
        if is_last and kind(self.now[-1][-1]) == "assistant":
            # The model goes on with it, and such a beginning of a reply takes no reasoning: "When
            # thinking is disabled, an `assistant` message in the final position cannot contain
            # `thinking`", and enabled, it takes none at all.
            return self.way.facet == "request"
        sides = self.is_near(index - 1, group.start - 1), self.is_near(end, group.end)
        if self.is_inside(group) or _names_ids(group.original):
            # A system prompt in the middle is allowed between certain turns only, and content that
            # stands after a result is of more than one turn.
            return not all(sides)
        items = _flat(self.was[group.start : group.end])
        if _has_items(self.way.source) and sum(_type(i) in REASONING for i in items) > 1:
            # Replies that became one: a part of them says the same, and has less reasoning.
            return not all(sides)
        # Between two other turns it may be another one that says the same.
        return not any(sides)

    def is_inside(self, group: Group) -> bool:
        after = group.original if group.start > 0 else group.original[1:]
        return any(kind(item) == "system" for item in after)


def _groups(was: list[list[Json]], original: list[list[Json]]) -> list[Group]:
    """Which turns correspond: one by one, or those between two that do."""
    out: list[Group] = []
    i = j = 0
    places = _paired([_gist(turn) for turn in was], [_gist(turn) for turn in original])
    for x, y in [*sorted(places.items()), (len(was), len(original))]:
        out += _between(was, original, (i, x), (j, y))
        if x < len(was):
            out.append(Group(x, x + 1, original[y]))
        i, j = x + 1, y + 1
    merged: list[Group] = []
    for number, group in enumerate(out):
        is_alone = group.start == group.end
        if is_alone and number + 1 < len(out):
            if not merged or _goes_on(group, out[number + 1]):
                out[number + 1] = _both(group, out[number + 1])
                continue
        if is_alone and merged:
            group = _both(merged.pop(), group)
        merged.append(group)
    return _exchanged(merged, was, original, places)


def _exchanged(
    groups: list[Group], was: list[list[Json]], original: list[list[Json]], places: dict[int, int]
) -> list[Group]:
    """Turns that changed places are one group, with all that stands between them."""
    same = [n for n, group in enumerate(groups) for _ in range(group.size)]
    here = {b: n for n, group in enumerate(groups) for b in range(group.start, group.end)}
    lost = {o: _gist(turn) for o, turn in enumerate(original) if o not in places.values()}
    own = [_gist(group.original) for group in groups]
    spans = [
        sorted((here[b], same[o]))
        for b in range(len(was))
        if b not in places and not _is_among(words := _words(_gist(was[b])), own[here[b]])
        for o, spelled in lost.items()
        if _is_among(words, spelled)
    ]
    out: list[Group] = []
    for number, group in enumerate(groups):
        inside = any(first < number <= last for first, last in spans)
        out.append(_both(out.pop(), group)._replace(loose=True) if inside else group)
    return out


def _is_among(words: str, written: str) -> bool:
    """Whether somebody says these words; a few letters (".") stand in many texts by chance."""
    if len(words) < FEW:
        return bool(words) and f"\0{words}\0" in f"\0{written}\0"
    return words in written


FEW = 4
"""How many letters are no words yet."""


def _both(a: Group, b: Group) -> Group:
    """What stands or falls together: something that has no counterpart, and what it stands by."""
    return Group(
        a.start,
        b.end,
        a.original + b.original,
        a.size + b.size,
        (a.loose and bool(a.original)) or (b.loose and bool(b.original)),
    )


def _goes_on(a: Group, b: Group) -> bool:
    """Whether what has no counterpart is the beginning of a reply."""
    return bool(a.original and b.original) and "assistant" == kind(a.original[-1]) == kind(
        b.original[0]
    )


def _between(
    was: list[list[Json]],
    original: list[list[Json]],
    back: tuple[int, int],
    there: tuple[int, int],
) -> Iterator[Group]:
    """Turns that say other things than the original."""
    ours, theirs = was[slice(*back)], original[slice(*there)]
    if not ours and not theirs:
        return
    alike = len(ours) == len(theirs) and all(
        kind(a[-1]) == kind(b[-1]) for a, b in zip(ours, theirs, strict=True)
    )
    a, b = [*map(_gist, ours)], [*map(_gist, theirs)]
    if alike and not any(x in b for x in a) and not any(_words(y) in x for x in a for y in b):
        for number, turn in enumerate(theirs):
            yield Group(back[0] + number, back[0] + number + 1, turn)
    else:
        yield Group(*back, _flat(theirs), len(theirs), bool(ours))


def _grown(turn: list[Json], was: list[list[Json]], groups: list[Group]) -> Iterator[Way]:
    """A last item that took in what was added after it keeps what it was before."""
    if not was or not groups or not groups[-1].original:
        return
    item, last, before = turn[-1], groups[-1].original[-1], was[-1][-1]
    key = _content_key(item)
    parts, mine, old = item.get(key), last.get(key), before.get(key)
    if not isinstance(parts, list) or mine is None:
        return
    old = old if isinstance(old, list) else [{"type": "text", "text": old}]
    if _key(parts[: len(old)]) == _key(old):
        mine = mine if isinstance(mine, list) else [{"type": "text", "text": mine}]
        whole = {**last, key: mine + parts[len(old) :]}
        yield Way([*groups[-1].original[:-1], whole], 1, len(groups) - 1)


def _paired(a: list[str], b: list[str]) -> dict[int, int]:
    blocks = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    return {block.a + n: block.b + n for block in blocks for n in range(block.size)}


def _matches(came: list[Json], wanted: list[Json], way: Home, plain: bool) -> bool:
    if _text(came) == _text(wanted):
        return True
    if way.edit == "marks moved":  # they stand where the client has put them
        return _text(_without(came, MARKS)) == _text(_without(wanted, MARKS))
    # As the client says where nothing was lost; those of calls follow the results that came home.
    if plain:
        return _key(_with_types(came, way.original, way.source)) == _key(wanted)
    if way.edit in ("ids replaced", "ids dropped"):
        return _key(came) == _key(wanted)
    return False


MARKS = {"cache_control", "prompt_cache_breakpoint", "cachePoint", "cacheControl"}
NAMES = {"id", *PAIRING}


def _without(value: Json, keys: set[str]) -> Json:
    if isinstance(value, dict):
        found = {k: _without(v, keys) for k, v in value.items() if k not in keys}
        return {k: v for k, v in found.items() if v != {} or value[k] == {}}
    if isinstance(value, list):
        items = [_without(item, keys) for item in value]
        return [item for item, was in zip(items, value, strict=True) if item or not was]
    return value


def _key(value: Json) -> str:
    return _text(_without(value, NAMES | MARKS))


SAID = {
    "text",
    "tool_plan",
    "content",
    "output",
    "name",
    "toolName",
    "result",
    "value",
    "response",
}
ARGUED = {"arguments", "input", "args", "parameters"}


def _gist(value: Json) -> str:
    """What items say, whatever else they hold: their texts, and arguments as values."""
    found: list[str] = []

    def walk(value: Json, key: str) -> None:
        if isinstance(value, str):
            if value and key in SAID:
                found.append(value)
            elif key == "images":
                found.append(key)
            elif key in ARGUED:
                found.append(_value(value))
        elif isinstance(value, list):
            for inner in value:
                walk(inner, key)
        elif isinstance(value, dict) and not _is_reasoning(value):
            if key in ARGUED:
                found.append(json.dumps(value, sort_keys=True))
                return
            if key == "response":  # Gemini's: an object, or a text where there was none
                bare = value.keys() == {"output"} and isinstance(value["output"], str)
                found.append(_value(value["output"] if bare else _text(value)))
                return
            if key in ("content", "parts", "blocks", "output", "response", "value") and _is_other(
                value
            ):
                found.append(_text(sorted(value)))
            is_result = (
                _is_result(value) or value.get("role") == "tool"
            )  # the name of the tool is the call's to say
            for name, inner in sorted(value.items()):
                if not (is_result and name in ("name", "toolName", "type")):
                    walk(inner, name)

    before = ""
    for item in value if isinstance(value, list) else [value]:
        size = len(found)
        walk(item, "content")
        who = kind(item) if isinstance(item, dict) else ""
        if who != before and (len(found) > size or not before):
            found.insert(size, who)
            before = who
    return "\0".join(found)


def _is_other(part: Json) -> bool:
    """Whether a block is no text, no call and no result: an image, say."""
    known = isinstance(part.get("text"), str) or "role" in part or "speaker" in part
    return not known and not _is_result(part) and not any(_calls(part))


def _value(text: str) -> str:
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return text


def _words(gist: str) -> str:
    return gist.partition("\0")[2]


def _flat(turns: list[list[Json]]) -> list[Json]:
    return [item for turn in turns for item in turn]


def _text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _resolves(doc: Json, pointer: str) -> bool:
    try:
        for token in pointer.split("/")[1:]:
            token = token.replace("~1", "/").replace("~0", "~")
            doc = doc[int(token)] if isinstance(doc, list) else doc[token]
    except (LookupError, ValueError, TypeError):
        return False
    return True
