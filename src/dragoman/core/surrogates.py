"""Halves of characters: lone surrogates, which JavaScript clients leave where they cut a text.

``"\\ud83d"`` is JSON by its grammar and no text by Unicode: it has no UTF-8, most parsers refuse
it, and so do the APIs. Nearly no document has one, so nobody looks for them before a document has
been refused. Then it is read again, with U+FFFD in their places (as ``String.toWellFormed`` of
JavaScript has it); the way back to the same dialect puts them where they were.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import NamedTuple, NoReturn, TypeAlias

import msgspec

from ..errors import Malformed
from ..model import Json
from .reading import escape, parse, plain

_encode = msgspec.json.Encoder().encode

Change: TypeAlias = Callable[[Json], tuple[Json] | None]
"""What becomes of a value; None: it is not what it should be."""

HALF = re.compile("[\ud800-\udfff]")
FIRST, SECOND = re.compile("[\ud800-\udbff]$"), re.compile("[\udc00-\udfff]")
"""The first half of a character at the end of a text, and the second."""
# A first half without a second after it, or a second half without a first before it: where JSON is
# written in ASCII, whole pairs are everywhere, and no reason to look closer.
# What both begin with stands first: that is found quickly where there is nothing to be found.
ESCAPED = re.compile(
    rb"\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    rb"|[c-fC-F](?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F]))"
)
WHY = "a lone surrogate is not a character; U+FFFD is written for it"


class Whole(NamedTuple):
    """A document without halves, and what stood where: pointer -> text, or the key of a member."""

    value: Json
    halves: dict[str, str]
    keys: dict[str, str]

    @property
    def places(self) -> list[str]:
        """Where there was half of a character, in a text or in a key."""
        return list(dict.fromkeys((*self.halves, *self.keys)))

    def restored(self, value: Json) -> tuple[Json, list[str]]:
        """The halves where they were in a document, and the pointers of those that are gone."""
        value, lost = restore(value, self.halves, self.value)
        for at, key in reversed(self.keys.items()):  # what is inside an object comes after it
            *tokens, name = _tokens(at)
            changed = _rename(value, tokens, name, key)
            if changed is None:
                lost.append(at)
            else:
                value = changed[0]
        return value, lost


def well_formed(doc: Json | bytes) -> Whole | None:
    """The document that was refused, if it is lone surrogates that were wrong with it."""
    if isinstance(doc, bytes | bytearray | memoryview):
        data = bytes(doc)
        if not ESCAPED.search(data):
            return None
        try:
            value = json.loads(data.decode("utf-8-sig"), parse_constant=_refuse)
        except (ValueError, RecursionError):
            return None
    else:
        value = doc
    halves: dict[str, str] = {}
    keys: dict[str, str] = {}
    try:
        whole = _whole(value, "", halves, keys)
        plain(whole)
    except (Malformed, RecursionError):  # something else is wrong with it
        return None
    return Whole(whole, halves, keys) if halves or keys else None


def halves_of(value: Json) -> Whole | None:
    """The same for a value that nobody has refused, at the speed of writing it."""
    try:
        _encode(value)
    except UnicodeEncodeError:
        return well_formed(value)
    except (TypeError, ValueError, RecursionError):
        return None
    return None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def joined(text: str) -> str:
    """A text without halves: two that belong together are a character, as UTF-16 has it."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _whole(value: Json, at: str, halves: dict[str, str], keys: dict[str, str]) -> Json:
    if value.__class__ is str:
        if not HALF.search(value):
            return value
        halves[at] = value
        return joined(value)
    if value.__class__ is list:
        return [_whole(item, f"{at}/{i}", halves, keys) for i, item in enumerate(value)]
    if value.__class__ is not dict:
        return value
    out: dict[str, Json] = {}
    for key, item in value.items():
        name = key
        if key.__class__ is not str:
            raise Malformed("a key that is not text", at)
        if HALF.search(key):
            name = joined(key)
            while name in out or name in value:  # another key is the same without its half
                name += "\ufffd"
            keys[f"{at}/{escape(name)}"] = key
        out[name] = _whole(item, f"{at}/{escape(name)}", halves, keys)
    return out


def parse_leniently(data: bytes) -> Json:
    """JSON text for those who only look at it: U+FFFD stands for each lone surrogate."""
    try:
        return parse(data)
    except Malformed:
        found = well_formed(data)
        if found is None:
            raise
        return found.value


def parse_exactly(data: bytes) -> Json:
    """JSON text with the lone surrogates in it, for those who write it again by ``encode``."""
    try:
        return parse(data)
    except Malformed:
        found = well_formed(data)
        if found is None:
            raise
        return found.restored(found.value)[0]


def restore(value: Json, halves: dict[str, str], whole: Json) -> tuple[Json, list[str]]:
    """The halves where they were, and the pointers of those whose text is not there any more.

    ``whole`` is the document that they were taken out of.
    """
    lost = []
    for at, text in halves.items():
        tokens = _tokens(at)
        changed = _put(value, tokens, _at(whole, tokens), text)
        if changed is None:
            lost.append(at)
        else:
            value = changed[0]
    return value, lost


def _tokens(at: str) -> list[str]:
    return [token.replace("~1", "/").replace("~0", "~") for token in at.split("/")[1:]]


def _changed(value: Json, tokens: list[str], change: Change) -> tuple[Json] | None:
    """The value with what stands at a place changed; None where that is not there."""
    if not tokens:
        return change(value)
    token, rest = tokens[0], tokens[1:]
    if value.__class__ is dict and token in value:
        inner = _changed(value[token], rest, change)
        return inner and (value | {token: inner[0]},)
    if value.__class__ is list and token.isdecimal() and int(token) < len(value):
        index = int(token)
        inner = _changed(value[index], rest, change)
        return inner and ([*value[:index], inner[0], *value[index + 1 :]],)
    return None


def _rename(value: Json, tokens: list[str], name: str, key: str) -> tuple[Json] | None:
    """The value with another key in one of its objects."""

    def rename(found: Json) -> tuple[Json] | None:
        if found.__class__ is not dict or name not in found:
            return None
        return ({key if known == name else known: item for known, item in found.items()},)

    return _changed(value, tokens, rename)


def replaced(value: Json, at: str, text: str) -> Json:
    """The value with another text at a place."""
    tokens = _tokens(at)
    changed = _put(value, tokens, _at(value, tokens), text)
    return value if changed is None else changed[0]


def _at(value: Json, tokens: list[str]) -> Json:
    for token in tokens:
        value = value[int(token)] if value.__class__ is list else value[token]
    return value


def _put(value: Json, tokens: list[str], old: Json, new: str) -> tuple[Json] | None:
    """The value with a text in place of another."""
    return _changed(value, tokens, lambda found: (new,) if found == old else None)
