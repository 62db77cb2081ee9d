"""Values in the notation of FunctionGemma: strings between ``<escape>``, all else bare."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import NoReturn

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
    """Writes values; ``at`` is where control tokens and what cannot be expressed are noted."""

    __slots__ = ("at", "control", "log", "out", "same", "sorted")

    def __init__(self, at: str, log: Ledger, same: bool) -> None:
        self.at = at
        self.log = log
        self.same = same  # values of this dialect keep their order, and what its reader accepts
        self.control = VALUE_TOKENS if same else CONTROL
        self.out: list[str] = []
        self.sorted = False  # keys came in another order

    def write(self, value: Json, depth: int = DEPTH, in_order: bool = False) -> None:
        """Keys are sorted as the official template sorts them, unless they are in order."""
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
                self.write(item, depth - 1, in_order)
                mark = ","
            out.append("]" if value else "[]")
        else:
            self.write_object(value, depth, in_order)

    def write_object(self, value: dict[str, Json], depth: int, in_order: bool) -> None:
        out, mark = self.out, "{"
        for key, item in value.items() if in_order or self.same else self.sort(value):
            if item.__class__ is str and key.__class__ is str and key.isidentifier():
                if "<" in item:
                    item = defuse(item, self.at, self.log, self.control)
                out.append(f"{mark}{key}:{ESCAPE}{item}{ESCAPE}")  # as most are
            else:
                out.append(mark)
                self.write_key(key)
                self.write(item, depth - 1, in_order)
            mark = ","
        out.append("}" if value else "{}")

    def sort(self, value: dict[str, Json]) -> Iterable[tuple[str, Json]]:
        names = [key.lower() for key in value]
        if names == sorted(names):
            return value.items()
        self.sorted = True
        return sorted(value.items(), key=_by_name)

    def write_key(self, key: str) -> None:
        """Bare, but for a key that no reader could tell from what is around it."""
        if key.__class__ is str and key.isidentifier():  # as nearly all are
            self.out += (key, ":")
            return
        safe = defuse(key, self.at, self.log, self.control)
        if key.__class__ is Quoted or not is_bare(safe):
            self.out += (ESCAPE, safe, ESCAPE, ":")
        else:
            self.out += (safe, ":")

    def text(self) -> str:
        return "".join(self.out)


def _by_name(item: tuple[str, Json]) -> str:
    return item[0].lower()


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
