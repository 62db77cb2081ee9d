"""Calls whose arguments come in pieces, as Vertex AI streams them where it is asked to.

    {"name": "f", "willContinue": true}
    {"partialArgs": [{"jsonPath": "$.a", "stringValue": "x", "willContinue": true}], ...}
    {}

The first piece names the tool, and the last does not go on; what lies between says where in the
arguments a value stands, or more of a text. A call is one when all of it has come.
"""

from __future__ import annotations

import re
from itertools import pairwise

from ...core.reading import as_dict, maybe_list, need_str
from ...errors import Malformed
from ...model import Json

# https://datatracker.ietf.org/doc/html/rfc9535, as far as it names one place.
_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d{1,9})\]|\['([^'\\]*)'\]|\["([^"\\]*)"\]""")
AT = "/functionCall/partialArgs"
VALUES = ("stringValue", "numberValue", "boolValue")


def begins(doc: dict[str, Json]) -> bool:
    """Whether a part is the first piece of a call."""
    call = doc.get("functionCall")
    if call.__class__ is not dict or call.get("name").__class__ is not str:
        return False
    return call.get("willContinue") is True or call.get("partialArgs") is not None


def goes_on(doc: dict[str, Json]) -> bool:
    """Whether a part is a piece of a call that has begun."""
    call = doc.get("functionCall")
    return call.__class__ is dict and call.get("name") is None


class CallPieces:
    """A call while its arguments arrive."""

    def __init__(self, doc: dict[str, Json]) -> None:
        self.doc: dict[str, Json] = {}
        self.args: dict[str, Json] = {}
        self.done = False
        self.add(doc)

    def add(self, doc: dict[str, Json]) -> None:
        call = doc["functionCall"]
        given = call.get("args")
        if given is not None:
            self.args |= as_dict(given, "/functionCall/args")
        for index, piece in enumerate(maybe_list(call, "partialArgs", "/functionCall") or ()):
            self.put(as_dict(piece, f"{AT}/{index}"), f"{AT}/{index}")
        self.done = call.get("willContinue") is not True
        known = {k: v for k, v in call.items() if k not in ("args", "partialArgs", "willContinue")}
        self.doc |= {**doc, "functionCall": self.doc.get("functionCall", {}) | known}

    def put(self, piece: dict[str, Json], at: str) -> None:
        """A value to its place; a text goes on with the one that is there."""
        way = steps(need_str(piece, "jsonPath", at), f"{at}/jsonPath")
        holder: Json = self.args
        for step, following in pairwise(way):
            holder = enter(holder, step, [] if following.__class__ is int else {}, at)
        value = next((piece[key] for key in VALUES if piece.get(key) is not None), None)
        if value is None and piece.get("willContinue") is True:
            value = ""  # a text that has not begun
        before = enter(holder, way[-1], None, at)
        holder[way[-1]] = before + value if before.__class__ is value.__class__ is str else value

    def document(self) -> dict[str, Json]:
        """The call as it is at rest."""
        return {**self.doc, "functionCall": {**self.doc["functionCall"], "args": self.args}}


def steps(path: str, at: str) -> list[str | int]:
    """The steps of a path: names of an object, places in a list."""
    found: list[str | int] = []
    place = 1
    while path.startswith("$") and (step := _STEP.match(path, place)) is not None:
        name = next(group for group in step.groups() if group is not None)
        found.append(int(name) if step[2] is not None else name)
        place = step.end()
    if place != len(path) or not found or found[0].__class__ is int:
        raise Malformed(f"{path!r} names no place in the arguments of a call", at)
    return found


def enter(holder: Json, step: str | int, new: Json, at: str) -> Json:
    """What stands at a step; ``new`` where nothing did."""
    if step.__class__ is str and holder.__class__ is dict:
        return holder.setdefault(step, new)
    if step.__class__ is int and holder.__class__ is list and step <= len(holder):
        if step == len(holder):
            holder.append(new)
        return holder[step]
    raise Malformed(f"{step!r} is no place in what has come of the arguments", at)
