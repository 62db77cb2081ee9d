"""Whether a capsule is one: it comes from outside, so it is looked at whole before it is used.

Every key is known, of the right type and none is missing; ``at`` of the error points into the
capsule. What a capsule *says* may still be forged: ``signing`` tells whether it is our own.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field

from ..core.reading import encode, escape
from ..dialect import Dialect
from ..errors import CapsuleError, Malformed
from ..model import Json
from . import LIMIT
from .making import VERSION
from .signing import verify

Count = Annotated[int, Meta(ge=0)]
Name = Annotated[str, Meta(min_length=1)]
Piece = tuple[str, bool, Any]
Text = str | UnsetType
Flag = Literal[True] | UnsetType
Numbers = list[list[Count]] | UnsetType
Mark = list[Count | str]


class _Raw(Struct, forbid_unknown_fields=True):
    raw: list[Piece]


class _Entry(Struct, forbid_unknown_fields=True):
    at: Count
    is_: list[str] = field(name="is")
    put: _Raw | list[Piece]
    cuts: Numbers = UNSET
    ids: list[str | None] | UnsetType = UNSET
    by: tuple[str, str] | UnsetType = UNSET
    strict: Literal[1, 2] | UnsetType = UNSET
    with_: Count | UnsetType = field(name="with", default=UNSET)
    size: Count | UnsetType = UNSET
    marks: tuple[list[Mark], list[Mark]] | UnsetType = UNSET
    reused: list[str] | UnsetType = UNSET


class _Capsule(Struct, forbid_unknown_fields=True):
    capsule: Literal[1, 2]
    dialect: str
    facet: str
    patch: Any
    count: tuple[Count, Count | None] | UnsetType = UNSET
    turns: list[Any] | UnsetType = UNSET
    tools: list[Any] | UnsetType = UNSET
    order: list[str] | UnsetType = UNSET
    repaired: list[tuple[str, str, str]] | UnsetType = UNSET
    wrap: Name | UnsetType = UNSET
    bare: Name | UnsetType = UNSET
    model: Name | UnsetType = UNSET
    mac: Name | UnsetType = UNSET
    echo: Flag = UNSET
    typed: Literal["first", "last"] | UnsetType = UNSET
    unfit: Flag = UNSET
    refs: Flag = UNSET


def check(
    capsule: Json, dialect: Dialect, facet: str, key: bytes | None = None, limit: int = LIMIT
) -> None:
    """Raise ``CapsuleError`` if this is no capsule for a document of the dialect, or not ours."""
    if capsule.__class__ is not dict:
        raise CapsuleError(f"expected an object, got {capsule.__class__.__name__}")
    if capsule.get("capsule") not in (1, VERSION) or capsule["capsule"].__class__ is not int:
        version = capsule.get("capsule")
        written = "it has no version" if version is None else f"of version {version!r}"
        raise CapsuleError(f"{written}; this is for version {VERSION}", "/capsule")
    try:
        size = len(encode(capsule))
    except CapsuleError:
        raise
    except Malformed as problem:
        raise CapsuleError(problem.what) from None
    if size > limit:
        raise CapsuleError(f"{size:,} bytes, and {limit:,} are allowed (capsule_limit)")
    verify(capsule, key)
    _shape(capsule, _Capsule, "")
    for part in ("turns", "tools"):
        for number, entry in enumerate(capsule.get(part, ())):
            _entry(entry, f"/{part}/{number}")
    if not {"turns", "tools", "typed"}.isdisjoint(capsule) and "count" not in capsule:
        raise CapsuleError("turns and tools need a `count`", "/count")
    try:
        _patch(capsule["patch"], "/patch")
    except RecursionError:
        raise CapsuleError("nested too deeply", "/patch") from None
    if capsule["dialect"] != dialect.name:
        what = f"it belongs to {capsule['dialect']!r}, not to {dialect.name!r}"
        raise CapsuleError(what, "/dialect")
    for name in ("wrap", "bare"):
        if capsule.get(name, dialect.history) != dialect.history:
            raise CapsuleError(f"turns of {dialect.name} are under another key", f"/{name}")
    if "typed" in capsule and not dialect.implied_type:
        raise CapsuleError(f"items of {dialect.name} have no type to omit", "/typed")
    if capsule["facet"] != facet:
        raise CapsuleError(f"it belongs to a {capsule['facet']!r}, not to a {facet!r}", "/facet")


PLACE = re.compile(r"(.*?)(?: - at (?:key in )?`\$(.*)`)?", re.DOTALL)


def _shape(value: Json, kind: type[Struct], at: str) -> None:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as problem:
        found = PLACE.fullmatch(str(problem))
        what, path = (found[1], found[2] or "") if found else (str(problem), "")
        steps = path.partition("[...]")[0].replace("[", "/").replace("]", "").replace(".", "/")
        raise CapsuleError(what[:1].lower() + what[1:], at + steps) from None
    except RecursionError:
        raise CapsuleError("nested too deeply", at) from None


def _entry(entry: Json, at: str) -> None:
    _shape(entry, _Entry, at)
    put = entry["put"]
    for number, (_, whole, value) in enumerate(put["raw"] if put.__class__ is dict else put):
        if not whole and value.__class__ is not list:
            raise CapsuleError("the items of a list are expected", f"{at}/put/{number}")
    if entry.get("strict") and "by" not in entry:
        raise CapsuleError("`strict` needs `by`", at)
    for number, mark in enumerate(path for paths in entry.get("marks", ()) for path in paths):
        if not mark or mark[0].__class__ is not int or any(t.__class__ is int for t in mark[1:]):
            raise CapsuleError("a mark is a number and a path", f"{at}/marks/{number}")


# -- patches --------------------------------------------------------------------------------

FORMS = ({"=", "was"}, {"wrap", "key"}, {"unwrap"}, {"items", "length"})
OBJECT = {"set": dict, "del": dict, "in": dict, "order": list}


def _patch(patch: Json, at: str) -> None:
    if patch is None:
        return
    if patch.__class__ is not dict or not patch:
        raise CapsuleError("a patch is a non-empty object", at)
    keys = patch.keys()
    if keys <= OBJECT.keys():
        _object(patch, at)
    elif keys not in FORMS:
        raise CapsuleError(f"no patch has the keys {sorted(map(str, keys))}", at)
    elif "items" in patch:
        _list(patch, at)
    elif "wrap" in patch:
        if patch["wrap"].__class__ is not dict:
            raise CapsuleError("expected an object", f"{at}/wrap")
        _text(patch["key"], f"{at}/key")
    elif "unwrap" in patch:
        _text(patch["unwrap"], f"{at}/unwrap")
    else:
        _text(patch["was"], f"{at}/was")


def _object(patch: Json, at: str) -> None:
    for key, kind in OBJECT.items():
        if key in patch and patch[key].__class__ is not kind:
            raise CapsuleError(f"expected {kind.__name__}", f"{at}/{key}")
    for name, was in patch.get("del", {}).items():
        _text(was, f"{at}/del/{escape(name)}")
    for name in patch.get("order", ()):
        _text(name, f"{at}/order")
    for name, inner in patch.get("in", {}).items():
        _patch(inner, f"{at}/in/{escape(name)}")


def _list(patch: Json, at: str) -> None:
    if patch["items"].__class__ is not list:
        raise CapsuleError("expected a list", f"{at}/items")
    if patch["length"].__class__ is not int or patch["length"] < 0:
        raise CapsuleError("expected a number of items", f"{at}/length")
    for number, op in enumerate(patch["items"]):
        where = f"{at}/items/{number}"
        if op.__class__ is list and len(op) == 2:
            _text(op[0], f"{where}/0")
            _patch(op[1], f"{where}/1")
        elif op.__class__ is dict and op.keys() == {"keep", "was"}:
            if op["keep"].__class__ is not int or op["keep"] < 1:
                raise CapsuleError("expected a number of items", f"{where}/keep")
            _text(op["was"], f"{where}/was")
        elif op.__class__ is dict and op.keys() == {"skip"}:
            _text(op["skip"], f"{where}/skip")
        elif op.__class__ is not dict or op.keys() != {"put"}:
            raise CapsuleError("no such operation", where)


def _text(value: Json, at: str) -> None:
    if value.__class__ is not str:
        raise CapsuleError(f"expected a string, got {value.__class__.__name__}", at)
