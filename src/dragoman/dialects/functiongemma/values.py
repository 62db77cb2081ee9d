"""Values in the notation of FunctionGemma: strings between ``<escape>``, all else bare."""

from __future__ import annotations

import math
import re
from typing import NoReturn, TypeAlias

from ...errors import Malformed, Unsayable
from ...ledger import Ledger
from ...model import Json
from .._gemma import CONTROL, ESCAPE, VALUE_TOKENS, defuse

DEPTH = 100
"""How deep values may nest."""
STOP = re.compile(r"[:,{}\[\]<>]")
SPACE = re.compile(r"\s*")
WORD = re.compile(r"[^\s:,{}\[\]<>]+")
NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
FUNCTION_NAME = re.compile(r"[^\s{}<>:,\[\]]+")
# Python's and JSON's words. The official template prints None, Google's C++ code null.
WORDS: dict[str, Json] = {
    "true": True, "false": False, "null": None, "None": None, "True": True, "False": False,
}  # fmt: skip


class Quoted(str):
    """A key that is written between ``<escape>``, as the official template does in some places."""

    __slots__ = ()


class Values:
    """Writes values. Keys are sorted as the official template sorts them, unless they are
    ``in_order``; ``sorted`` tells whether those of the last value came in another order.
    """

    __slots__ = ("at", "control", "in_order", "log", "orders", "out", "sorted")

    def __init__(self, log: Ledger, same: bool, in_order: bool = False) -> None:
        self.log = log
        # values of this dialect keep their order, and what its reader accepts
        self.in_order = in_order or same
        self.control = VALUE_TOKENS if same else CONTROL
        self.orders: dict[tuple[str, ...], tuple[bool, list[Key]]] = {}
        self.at = ""
        self.out: list[str] = []
        self.sorted = False

    def text(self, value: Json, at: str) -> str:
        """A value as text; ``at`` is where control tokens and what cannot be said are noted."""
        self.at, self.out, self.sorted = at, [], False
        self.write(value, DEPTH)
        return "".join(self.out)

    def write(self, value: Json, depth: int) -> None:
        out, kind = self.out, value.__class__
        if kind is str:
            out += (ESCAPE, defuse(value, self.at, self.log, self.control), ESCAPE)
        elif value is None:
            out.append("None")
        elif value is True or value is False:
            out.append("true" if value else "false")
        elif kind is not dict and kind is not list:
            out.append(str(value))
        elif not depth:
            raise Unsayable("the values nest too deeply", self.at)
        elif kind is list:
            mark = "["
            for item in value:
                out.append(mark)
                self.write(item, depth - 1)
                mark = ","
            out.append("]" if value else "[]")
        else:
            self.write_object(value, depth)

    def write_object(self, value: dict[str, Json], depth: int) -> None:
        out, mark = self.out, "{"
        for key, spelled in self.keys(value):
            item = value[key]
            if spelled is None:
                spelled = self.spell(key)
            if item.__class__ is str:  # as most are
                if "<" in item:
                    item = defuse(item, self.at, self.log, self.control)
                out.append(f"{mark}{spelled}{ESCAPE}{item}{ESCAPE}")
            else:
                out.append(mark + spelled)
                self.write(item, depth - 1)
            mark = ","
        out.append("}" if value else "{}")

    def keys(self, value: dict[str, Json]) -> list[Key]:
        """The keys of an object as they are written; those of calls of one tool are the same."""
        if self.in_order:
            return list(map(key_of, value))
        keys = tuple(value)
        known = self.orders.get(keys)
        if known is None:
            names = sorted(keys, key=str.lower)
            known = self.orders[keys] = names != [*keys], list(map(key_of, names))
        self.sorted |= known[0]
        return known[1]

    def spell(self, key: str) -> str:
        """Bare, but for a key that no reader could tell from what is around it."""
        safe = defuse(key, self.at, self.log, self.control)
        quoted = key.__class__ is Quoted or not is_bare(safe)
        return f"{ESCAPE}{safe}{ESCAPE}:" if quoted else f"{safe}:"


Key: TypeAlias = tuple[str, str | None]
"""A key, and how it is written, if it is a word and so need not be looked at again."""


def key_of(key: str) -> Key:
    return key, f"{key}:" if key.__class__ is str and key.isidentifier() else None


def is_bare(key: str) -> bool:
    """Whether a key can be told from what is around it."""
    return bool(key) and key == key.strip() and STOP.search(key) is None


class Reader:
    """Reads a text from a place on, and stops with the place where it cannot go on."""

    __slots__ = ("at", "pos", "text")

    def __init__(self, text: str, at: str, pos: int = 0) -> None:
        self.text = text
        self.at = at
        self.pos = pos

    def fail(self, what: str) -> NoReturn:
        raise Malformed(f"{what}, at character {self.pos}", self.at)

    def skip(self) -> None:
        found = SPACE.match(self.text, self.pos)
        if found is not None:
            self.pos = found.end()

    def see(self, token: str) -> bool:
        return self.text.startswith(token, self.pos)

    def take(self, token: str) -> bool:
        """Whether the token comes next; if so, it is after us."""
        self.skip()
        if self.text.startswith(token, self.pos):
            self.pos += len(token)
            return True
        return False

    def need(self, token: str) -> None:
        if not self.take(token):
            self.fail(f"expected {token!r}")

    def function(self, word: str) -> str:
        """``call:NAME`` or ``response:NAME`` or ``declaration:NAME``: the name."""
        self.need(word)
        self.need(":")
        self.skip()
        found = FUNCTION_NAME.match(self.text, self.pos)
        if found is None:
            self.fail("expected the name of a function")
        self.pos = found.end()
        return found[0]

    def string(self) -> str:
        """What stands between this ``<escape>`` and the next."""
        self.need(ESCAPE)
        end = self.text.find(ESCAPE, self.pos)
        if end < 0:
            self.fail("a string is not closed with <escape>")
        found = self.text[self.pos : end]
        if "<" in found and VALUE_TOKENS.search(found):
            self.fail("a control token inside a string")
        self.pos = end + len(ESCAPE)
        return found

    def value(self, depth: int = DEPTH) -> Json:
        self.skip()
        if self.see(ESCAPE):
            return self.string()
        if not depth:
            self.fail("nested too deeply")
        if self.see("{"):
            return self.object(depth)
        if self.see("["):
            return self.list(depth)
        return self.scalar()

    def object(self, depth: int = DEPTH) -> dict[str, Json]:
        self.need("{")
        out: dict[str, Json] = {}
        if self.take("}"):
            return out
        while True:
            key = self.key()
            if key in out:
                self.fail(f"the key {key!r} occurs twice")
            out[key] = self.value(depth - 1)
            if self.take("}"):
                return out
            self.need(",")

    def key(self) -> str:
        self.skip()
        if self.see(ESCAPE):
            key = self.string()
            self.need(":")
            return key
        found = STOP.search(self.text, self.pos)
        key = self.text[self.pos : found.start()].strip() if found is not None else ""
        if found is None or found[0] != ":" or not key:
            self.fail("expected a key")
        self.pos = found.end()
        return key

    def list(self, depth: int) -> list[Json]:
        self.need("[")
        out: list[Json] = []
        if self.take("]"):
            return out
        while True:
            out.append(self.value(depth - 1))
            if self.take("]"):
                return out
            self.need(",")

    def scalar(self) -> Json:
        found = WORD.match(self.text, self.pos)
        word = found[0] if found is not None else ""
        if word in WORDS:
            value: Json = WORDS[word]
        elif NUMBER.fullmatch(word) and len(word) < 4000:
            value = float(word) if any(c in word for c in ".eE") else int(word)
            if value.__class__ is float and not math.isfinite(value):
                self.fail("a number out of range")
        else:
            self.fail("expected a value (strings are enclosed in <escape>)")
        self.pos += len(word)
        return value
