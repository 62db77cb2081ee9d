"""What clients do to a document before they send it back, one edit at a time."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

from ..convert import convert
from ..model import Json
from .gist import MARKS, gist_of, words_of
from .wire import (
    REASONING,
    blocks_of,
    calls_in,
    content_key,
    has_items,
    ids_in,
    ids_of,
    is_reasoning,
    kind,
    message_of,
    rounds,
    turns_in,
    type_of,
)

Edit: TypeAlias = Callable[[list[Json], str], "list[Json] | None"]
"""The turns of an echoed document, our own copy, and its dialect; None: it has nothing of this."""


def arguments_spelled_anew(turns: list[Json], dialect: str) -> list[Json] | None:
    """White space, and the order of keys."""
    found = False
    for item in turns:
        for call, key in calls_in(item):
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
        for part in blocks_of(item):
            for key in MARKS & part.keys():
                mark = part if key == "cachePoint" else {key: part.pop(key)}
        if any("cachePoint" in part for part in blocks_of(item)):
            item["content"] = [p for p in item["content"] if "cachePoint" not in p]
    if mark is None:
        return None
    if isinstance(text, str):
        name = "input_text" if has_items(dialect) else "text"
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
        if type_of(item) in REASONING:
            continue
        text = item.get("content")
        if isinstance(text, str) and text:
            name = "text"
            if has_items(dialect):
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
        if type_of(item) in REASONING:
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
        if kind(item) == "result" or type_of(item) in REASONING:
            continue
        parts = blocks_of(item)
        out: list[Json] = []
        for part in parts if len(parts) > 1 else ():
            if out and _is_plain(part) and _is_plain(out[-1]):
                out[-1] = {**out[-1], "text": out[-1]["text"] + part["text"]}
                found = True
            else:
                out.append(part)
        if out:
            message = message_of(item)
            message[content_key(message)] = out
    return turns if found else None


def texts_split(turns: list[Json], dialect: str) -> list[Json] | None:
    """A text becomes two that say the same when they are read one after the other."""
    found = False
    for item in turns:
        if kind(item) not in ("user", "assistant") or type_of(item) in REASONING:
            continue
        out: list[Json] = []
        for part in blocks_of(item):
            text = part["text"] if _is_plain(part) else ""
            head, space, tail = text.partition(" ")
            if head.strip() and tail.strip() and not text.startswith("["):
                out += [{**part, "text": head + space}, {**part, "text": tail}]
                found = True
                continue
            out.append(part)
        if out:
            message = message_of(item)
            message[content_key(message)] = out
    return turns if found else None


def ids_replaced(turns: list[Json], dialect: str) -> list[Json] | None:
    """Other ids, the same for a call and its result."""
    names: dict[str, str] = {}
    for item in turns:
        for held, key in ids_in(item):
            if isinstance(held.get(key), str):
                held[key] = names.setdefault(held[key], f"new{len(names):06}")
    return turns if names else None


def ids_dropped(turns: list[Json], dialect: str) -> list[Json] | None:
    """The ids that a dialect can do without: those of items, and where the place tells the same."""
    found = False
    for item in turns:
        if has_items(dialect) and type_of(item) not in ("item_reference", "reasoning"):
            if not any(held is item and key == "id" for held, key in ids_in(item)):
                found = item.pop("id", None) is not None or found
    if dialect not in PLACED or not _are_in_order(turns, dialect):
        return turns if found else None
    for item in turns:
        for held, key in ids_in(item):
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
            ids = [held.get(key) for held, key in ids_in(item) if key in held]
            (replied if kind(item) == "result" else called).extend(ids)
            if kind(item) == "result" and not ids:
                return False
        if called != replied or len(set(called)) < len(called):
            return False
    return True


def reasoning_removed(turns: list[Json], dialect: str) -> list[Json] | None:
    """A turn that is nothing but reasoning stays."""
    found = False
    for item in turns:
        if kind(item) != "assistant" or type_of(item) in REASONING:
            continue
        item = message_of(item)
        for key in ("reasoning_content", "reasoning", "reasoning_details", "thinking"):
            if item.get(key) and _says_more([item]):
                del item[key]
                found = True
        key, parts = content_key(item), blocks_of(item)
        kept = [part for part in parts if not is_reasoning(part)]
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
        if type_of(item) not in REASONING or not _says_more(turns[start:end])
    ]
    return _in_order(turns, kept) if found or len(kept) < len(turns) else None


def _says_more(items: list[Json]) -> bool:
    """Whether there is more in a reply than reasoning and empty texts."""
    spelled = [i for i in items if kind(i) == "assistant" and type_of(i) not in REASONING]
    return any(item.get("tool_calls") or words_of(gist_of(item)) for item in spelled)


def _in_order(turns: list[Json], kept: list[Json]) -> list[Json]:
    """The turns that are kept, and those that are of no round: system prompts."""
    ids = {id(item) for item in kept}
    return [item for item in turns if id(item) in ids or kind(item) == "system"]


NEW = "A word that nobody has said before."


def words_changed(turns: list[Json], dialect: str) -> list[Json] | None:
    """A reply is put otherwise."""
    for index in range(len(turns) - 1, -1, -1):
        item = turns[index]
        if kind(item) != "assistant" or type_of(item) in REASONING:
            continue
        if isinstance(item.get("content"), str) and item["content"]:
            item["content"] = NEW
            return turns
        for part in blocks_of(item):
            if part.get("text") and not is_reasoning(part):
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
    ids = [i for item in items if kind(item) != "result" for i in ids_of(item)]
    replied = [i for item in items if kind(item) == "result" for i in ids_of(item)]
    if len(ids) < 2 or len(set(ids)) < len(ids) or sorted(ids) != sorted(replied):
        return None
    if any(message_of(item) is not item for item in items):
        return None  # a copy of the item would share its message
    out: list[Json] = []
    for number, name in enumerate(ids):
        for item in items:
            if not ids_of(item):
                out += [] if number else [item]  # words and reasoning stand before the first call
            elif name in ids_of(item):
                out.append(_alone(item, name, not number))
    return out


def _alone(item: Json, name: str, first: bool) -> Json:
    """An item with one of its calls or results; its words and reasoning only if it is the first."""
    out = dict(item)
    listed = next((key for key in ("tool_calls", "toolCalls") if key in item), "")
    if listed:
        out[listed] = [call for call in item[listed] if call.get("id") == name]
        if not first:
            out = {key: value for key, value in out.items() if key in ("id", "role", listed)}
            out["content"] = None if "content" not in item or item["content"] is None else ""
        return out
    key = content_key(item)
    if isinstance(item.get(key), list) and not ids_of({**item, key: []}):
        kept = [p for p in item[key] if (ids_of({key: [p]}) == [name]) or (first and not ids_of(p))]
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
