"""Reading JSON from strangers: typed look-ups that fail with a path, and what is left over."""

from __future__ import annotations

import codecs
import math
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, NoReturn

import msgspec

from ..errors import Malformed
from ..model import Json

DEPTH = 400
"""How deep a document may nest. The deepest schema seen in the wild nests about thirty levels."""

_encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder().decode
BOM = codecs.BOM_UTF8
WIDE = (
    codecs.BOM_UTF16_LE,
    codecs.BOM_UTF16_BE,
)  # and UTF-32 begins as one of these, or with zeros
UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""What decoding raises when bytes are not the JSON that was asked for."""


BYTES = (bytes, bytearray, memoryview)
LIMIT = 1024 * 1024 * 1024
"""How many bytes a document may have by default."""


def load(doc: Json | bytes, limit: int | None = LIMIT) -> Json:
    """Bytes are parsed as JSON; any other value is taken as it is, if JSON can say it."""
    if isinstance(doc, BYTES):
        if limit is not None and len(doc) > limit:
            raise Malformed(f"a document of more than {limit:,} bytes")
        try:
            return decode(doc)
        except UNREADABLE:
            return parse(doc)  # which says what is wrong
    plain(doc)
    return doc


def is_longer(doc: Json | bytes, limit: int | None) -> bool:
    """Whether a document is one of too many bytes."""
    return isinstance(doc, BYTES) and limit is not None and len(doc) > limit


def parse(data: bytes | bytearray | memoryview | str, at: str = "") -> Json:
    """JSON text as a plain value, or ``Malformed``."""
    try:
        value = decode(data)
    except (msgspec.MsgspecError, UnicodeError) as problem:
        if not isinstance(data, str) and (raw := bytes(data)).startswith(BOM):
            return parse(raw[len(BOM) :], at)  # which says nothing
        what, place = _why_not(data, f"not JSON: {problem}")
        raise Malformed(what, at + place) from None
    except RecursionError:
        raise Malformed("nested too deeply", at) from None
    except MemoryError:
        raise Malformed(f"{len(data):,} bytes, not enough memory", at) from None
    return value


def _why_not(data: bytes | bytearray | memoryview | str, what: str) -> tuple[str, str]:
    """Why a text is no JSON, and where, if it is its characters that are wrong."""
    from .surrogates import well_formed  # which nearly nobody needs

    if isinstance(data, str):
        return what, ""
    raw = bytes(data)
    try:
        raw.decode()
    except UnicodeDecodeError as bad:
        if raw.startswith(WIDE) or b"\0" in raw[:4]:
            return "not JSON: not UTF-8; it looks like UTF-16 or UTF-32", ""
        return f"not JSON: not UTF-8: byte 0x{raw[bad.start]:02x} at offset {bad.start}", ""
    if b"\0" in raw[:4]:
        return "not JSON: not UTF-8; it looks like UTF-16 or UTF-32", ""
    if (found := well_formed(raw)) is not None:
        return "a lone surrogate is not text", found.places[0]
    return what, ""


def encode(value: Json) -> bytes:
    """A plain value as compact JSON; ``Malformed`` where JSON cannot say it."""
    try:
        return _encode(value)
    except RecursionError:
        raise Malformed("nested too deeply") from None
    except UnicodeEncodeError:  # half of a surrogate pair, which has no UTF-8 but an escape
        return _escaped(value)
    except (TypeError, ValueError, msgspec.MsgspecError) as problem:
        raise Malformed(f"not a JSON value: {problem}") from None


def _escaped(value: Json) -> bytes:
    import json
    import re

    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as problem:
        raise Malformed(f"not a JSON value: {problem}") from None
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text).encode()


def compact(value: Json) -> str:
    """A plain value as compact JSON text."""
    return encode(value).decode()


def plain(value: Json, at: str = "", depth: int = DEPTH) -> None:
    """Refuse what is not plain JSON: foreign types, NaN, lone surrogates, endless nesting."""
    if value is None or value is True or value is False:
        return
    kind = value.__class__
    if kind is str:
        if not value.isascii():
            _encodable(value, at)
    elif kind is dict:
        if not depth:
            raise Malformed("nested too deeply", at)
        for key, item in value.items():
            if key.__class__ is not str:
                raise Malformed(f"expected string keys, got {name_of(key)}", at)
            if not key.isascii():
                _encodable(key, at)
            plain(item, f"{at}/{escape(key)}", depth - 1)
    elif kind is list:
        if not depth:
            raise Malformed("nested too deeply", at)
        for index, item in enumerate(value):
            plain(item, f"{at}/{index}", depth - 1)
    elif kind is float:
        if not math.isfinite(value):
            raise Malformed(f"{value} is not a JSON number", at)
    elif kind is int:
        if value.bit_length() > 13000:  # CPython refuses to print integers beyond 4300 digits
            raise Malformed("an integer of more than 4000 digits", at)
    else:
        raise Malformed(f"expected a JSON value, got {kind.__name__}", at)


def _encodable(text: str, at: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Malformed("a lone surrogate is not text", at) from None


def escape(token: str) -> str:
    """One token of a JSON pointer (RFC 6901)."""
    if "~" in token or "/" in token:
        return token.replace("~", "~0").replace("/", "~1")
    return token


def _spell(at: str, key: str, count: int) -> tuple[str, ...]:
    return tuple(f"{at}/{index}{key}" for index in range(count))


FEW, MANY = 256, 4096
_few = _spell("", "", FEW)


@lru_cache(maxsize=16)
def _spelled(at: str, key: str, count: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return _spell(at, "", count), _spell(at, key, count)


def tokens(items: list[Json]) -> tuple[str, ...]:
    """The tokens ``/0``, ``/1`` ... of the items of a short list; as many, or more."""
    return _few if len(items) <= FEW else _spell("", "", len(items))


def pointers(at: str, items: list[Json], key: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The pointers of the items of a long list, and of a key in each; as many, or more.

    All conversations have their messages in the same places, so these are spelled only once.
    """
    count = len(items)
    if count > MANY:
        return _spell(at, "", count), _spell(at, key, count)
    return _spelled(at, key, FEW if count <= FEW else MANY)


_NAMES = {
    dict: "an object",
    list: "a list",
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "a boolean",
    type(None): "null",
}


def name_of(value: Any) -> str:
    """What a value is called in an error."""
    return _NAMES.get(value.__class__) or str(value.__class__.__name__)


def expected(what: str, value: Any, at: str) -> NoReturn:
    hint = "; give JSON text as bytes" if not at and value.__class__ is str else ""
    raise Malformed(f"expected {what}, got {name_of(value)}{hint}", at)


def missing(key: str, at: str) -> NoReturn:
    raise Malformed(f"{key!r} is missing", at)


def nearest(doc: Json, at: str) -> tuple[str, list[str]]:
    """The part of a pointer that names a place in a document, and the keys that are left over."""
    left = follow(doc, at)[1]
    return ("/".join(at.split("/")[: -len(left)]) if left else at), left


def follow(doc: Json, at: str) -> tuple[Json, list[str]]:
    """The value at a pointer, or as far as it leads; and the keys that are left over."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in at.split("/")[1:]]
    for number, step in enumerate(steps):
        if doc.__class__ is dict and step in doc:
            doc = doc[step]
        elif doc.__class__ is list and step.isdigit() and int(step) < len(doc):
            doc = doc[int(step)]
        else:
            return doc, steps[number:]
    return doc, []


def only(*keys: str) -> Callable[[Iterable[str]], bool]:
    """A test of objects: ``only("role", "content")(doc)`` is true if there is no other key.

    What every fast path asks before it takes the keys that it knows. The number of keys does not
    tell which they are: an unknown one beside a missing one would vanish.
    """
    return frozenset(keys).issuperset


def sole(doc: Mapping[str, Json]) -> str | None:
    """The key of an object that has one key and no other, as a union names its member."""
    return next(iter(doc)) if len(doc) == 1 else None


def compiled(lines: list[str], names: dict[str, Any]) -> Any:
    """The function that some lines of Python define; ``names`` are what it knows."""
    exec("\n".join(lines), names)
    return names[lines[0].partition("(")[0].removeprefix("def ")]


def texts(*keys: str) -> Callable[[dict[str, Json], str], tuple[str | None, ...]]:
    """What reads several strings of an object at once: ``maybe_str`` for each of the keys."""
    names = [f"text{number}" for number in range(len(keys))]
    odd = [f"({name} is not None and {name}.__class__ is not str)" for name in names]
    lines = ["def read(doc, at):", "    get = doc.get"]
    lines += [f"    {name} = get({key!r})" for name, key in zip(names, keys, strict=True)]
    lines += [f"    if {' or '.join(odd)}:"]
    lines += [f"        maybe_str(doc, {key!r}, at)" for key in keys]
    lines += [f"    return {', '.join(names)}"]
    made: Callable[[dict[str, Json], str], tuple[str | None, ...]]
    made = compiled(lines, {"maybe_str": maybe_str})
    return made


def as_dict(value: Any, at: str) -> dict[str, Json]:
    if value.__class__ is not dict:
        expected("an object", value, at)
    return value


def as_list(value: Any, at: str) -> list[Json]:
    if value.__class__ is not list:
        expected("a list", value, at)
    return value


def as_str(value: Any, at: str) -> str:
    if value.__class__ is not str:
        expected("a string", value, at)
    return value


def need_str(doc: Mapping[str, Json], key: str, at: str) -> str:
    value = doc.get(key)
    if value.__class__ is not str:
        if value is None:
            missing(key, at)
        expected("a string", value, f"{at}/{key}")
    return value


def maybe_str(doc: Mapping[str, Json], key: str, at: str) -> str | None:
    value = doc.get(key)
    if value is not None and value.__class__ is not str:
        expected("a string", value, f"{at}/{key}")
    return value


def maybe_bool(doc: Mapping[str, Json], key: str, at: str) -> bool | None:
    value = doc.get(key)
    if value is not None and value.__class__ is not bool:
        expected("a boolean", value, f"{at}/{key}")
    return value


def maybe_int(doc: Mapping[str, Json], key: str, at: str) -> int | None:
    value = doc.get(key)
    if value is not None and value.__class__ is not int:
        expected("an integer", value, f"{at}/{key}")
    return value


def maybe_number(doc: Mapping[str, Json], key: str, at: str) -> float | None:
    value = doc.get(key)
    if value is not None and value.__class__ is not int and value.__class__ is not float:
        expected("a number", value, f"{at}/{key}")
    return value


def uncounted(given: int | None, made: int | None) -> tuple[str, ...]:
    """Which of two counts of tokens nobody counted, as ``Usage.unsaid`` has it."""
    if given is not None and made is not None:
        return ()
    return tuple(name for name, n in (("input", given), ("output", made)) if n is None)


def need_dict(doc: Mapping[str, Json], key: str, at: str) -> dict[str, Json]:
    value = doc.get(key)
    if value.__class__ is not dict:
        if value is None:
            missing(key, at)
        expected("an object", value, f"{at}/{key}")
    return value


def maybe_dict(doc: Mapping[str, Json], key: str, at: str) -> dict[str, Json] | None:
    value = doc.get(key)
    if value is not None and value.__class__ is not dict:
        expected("an object", value, f"{at}/{key}")
    return value


def need_list(doc: Mapping[str, Json], key: str, at: str) -> list[Json]:
    value = doc.get(key)
    if value.__class__ is not list:
        if value is None:
            missing(key, at)
        expected("a list", value, f"{at}/{key}")
    return value


def maybe_list(doc: Mapping[str, Json], key: str, at: str) -> list[Json] | None:
    value = doc.get(key)
    if value is not None and value.__class__ is not list:
        expected("a list", value, f"{at}/{key}")
    return value
