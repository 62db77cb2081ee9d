"""Bytes as values and back: JSON, YAML, the flows of mitmproxy.

YAML is read by a loader that makes texts, numbers, lists, mappings and bytes and nothing else: no
dates, no objects of a program, no merged mappings. What its aliases stand for is counted, and a
document that is much larger than its bytes is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from ..core.reading import encode
from ..core.surrogates import parse_exactly
from ..errors import Malformed, MissingExtra
from ..model import Json

DEEPEST = 400
"""How deep YAML and flows may nest; JSON has the same limit."""
INFLATED = 16
"""How many times larger than its file a YAML document may be, where its aliases are replaced."""
INDENT = re.compile(rb"^[{\[]\r?\n( +|\t)")


# -- JSON ------------------------------------------------------------------------------------------


def load_json(data: bytes) -> Json:
    return parse_exactly(data)


def dump_json(value: Json, before: bytes) -> bytes:
    """JSON, indented as the file was."""
    import json

    found = INDENT.match(before.lstrip())
    end = b"\n" if before.endswith(b"\n") else b""
    if found is None:
        return encode(value) + end
    indent: int | str = "\t" if found[1] == b"\t" else len(found[1])
    return json.dumps(value, ensure_ascii=False, indent=indent).encode() + end


# -- YAML ------------------------------------------------------------------------------------------

INTEGER = re.compile(r"^[-+]?(?:0|[1-9][0-9]{0,17})$")
FLOAT = re.compile(r"^[-+]?(?:0|[1-9][0-9]{0,17})\.[0-9]{1,17}(?:[eE][-+]?[0-9]{1,3})?$")
BOOLEAN = re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$")
NULL = re.compile(r"^(?:~|null|Null|NULL|)$")


def load_yaml(data: bytes) -> Json:
    """One document of YAML."""
    yaml, loader = _yaml()
    try:
        text = data.decode("utf-8-sig")
        value = yaml.load(text, Loader=loader)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark
        where = f" (line {mark.line + 1})" if mark is not None else ""
        raise Malformed(f"not YAML: {problem.problem or problem.context}{where}") from None
    except (yaml.YAMLError, ValueError, TypeError) as problem:
        first = " ".join(str(problem).split())[:200]
        raise Malformed(f"not YAML: {first}") from None
    except RecursionError:
        raise Malformed("nested too deeply") from None
    return unshared(value, INFLATED * len(data) + 65536)


def dump_yaml(value: Json, before: bytes) -> bytes:
    """YAML in the form in which PyYAML writes cassettes; the keys keep their order."""
    yaml, _ = _yaml()
    start = before.lstrip().startswith(b"---")
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    written: str = yaml.dump(
        value, Dumper=dumper, sort_keys=False, allow_unicode=False, explicit_start=start
    )
    return written.encode()


@cache
def _yaml() -> tuple[Any, Any]:
    try:
        import yaml
    except ImportError:
        raise MissingExtra("YAML", "containers") from None

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """What makes plain values only."""

        yaml_implicit_resolvers: dict[Any, Any] = {}  # noqa: RUF012

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            """A mapping; ``<<`` is a key like any other: merging can grow without bound."""
            found: dict[Any, Any] = {}
            for key_node, value_node in node.value:
                key = self.construct_object(key_node, deep=True)
                if key.__class__ is not str:
                    key = str(key)
                found[key] = self.construct_object(value_node, deep=deep)
            return found

        def flatten_mapping(self, node: Any) -> None:
            pass

    for tag, pattern, first in (
        ("bool", BOOLEAN, "tTfF"),
        ("int", INTEGER, "-+0123456789"),
        ("float", FLOAT, "-+0123456789"),
        ("null", NULL, ["~", "n", "N", ""]),
    ):
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", pattern, list(first))
    # What older versions of vcrpy wrote for texts.
    for name in ("str", "unicode"):
        Loader.add_constructor(
            f"tag:yaml.org,2002:python/{name}", yaml.constructor.SafeConstructor.construct_yaml_str
        )
    return yaml, Loader


def unshared(value: Json, room: int, depth: int = DEEPEST) -> Json:
    """A value in which nothing is the same object twice, of at most so many bytes and nodes."""
    left = [room]

    def copied(value: Json, depth: int) -> Json:
        left[0] -= 1
        if left[0] < 0:
            raise Malformed("the aliases of this YAML stand for too much")
        if value.__class__ is dict or value.__class__ is list:
            if not depth:
                raise Malformed("nested too deeply")
            if isinstance(value, list):
                return [copied(item, depth - 1) for item in value]
            return {key: copied(item, depth - 1) for key, item in dict(value).items()}
        if value.__class__ in (str, bytes):
            left[0] -= len(value)
        elif value.__class__ not in (int, float, bool, type(None)):
            raise Malformed(f"not YAML: a {value.__class__.__name__} is no plain value")
        return value

    return copied(value, depth)


# -- the flows of mitmproxy ------------------------------------------------------------------------


def is_flows(data: bytes) -> bool:
    """Whether bytes begin as a dump of mitmproxy does: a length, and a first key of a flow."""
    found = re.match(rb"[1-9][0-9]{0,11}:[0-9]{1,3}:[a-z_]+[;,]", data[:64])
    return found is not None


def load_flows(data: bytes) -> list[Json]:
    return [value for value, _, _ in each_flow(data)]


def each_flow(data: bytes) -> Iterator[tuple[Json, int, int]]:
    """The flows of a dump, and where the bytes of each begin and end."""
    place, view, index = 0, memoryview(data), 0
    while place < len(data):
        value, end = _netstring(view, place, len(data), DEEPEST, f"/{index}")
        yield value, place, end
        place, index = end, index + 1


def _netstring(data: memoryview, place: int, end: int, depth: int, at: str) -> tuple[Json, int]:
    colon = place
    while colon < end and colon - place < 13 and 48 <= data[colon] <= 57:
        colon += 1
    if colon == place or colon >= end or data[colon] != 58:
        raise Malformed("not a dump of mitmproxy: a length is expected", at)
    start = colon + 1
    stop = start + int(bytes(data[place:colon]))
    if stop >= end:
        raise Malformed("the dump is truncated", at)
    body, kind = data[start:stop], data[stop]
    match chr(kind):
        case ",":
            return body.tobytes(), stop + 1
        case ";":
            return _decoded(body, at), stop + 1
        case "#" | "^":
            return _number(body.tobytes(), chr(kind), at), stop + 1
        case "!":
            return body.tobytes() == b"true", stop + 1
        case "~":
            return None, stop + 1
        case "]" | "}":
            if not depth:
                raise Malformed("nested too deeply", at)
            items, inner = [], start
            while inner < stop:
                item, inner = _netstring(data, inner, stop, depth - 1, at)
                items.append(item)
            if chr(kind) == "]":
                return items, stop + 1
            if len(items) % 2 or any(k.__class__ not in (str, bytes) for k in items[::2]):
                raise Malformed("not a dump of mitmproxy: an object without keys", at)
            return dict(zip(items[::2], items[1::2], strict=True)), stop + 1
    raise Malformed(f"not a dump of mitmproxy: unknown type {kind}", at)


def _decoded(body: memoryview, at: str) -> str:
    try:
        return str(body, "utf8")
    except UnicodeDecodeError:
        raise Malformed("not a dump of mitmproxy: a text is not UTF-8", at) from None


def _number(body: bytes, kind: str, at: str) -> int | float:
    try:
        if len(body) > 400:
            raise ValueError
        return int(body) if kind == "#" else float(body)
    except ValueError:
        raise Malformed("not a dump of mitmproxy: not a number", at) from None


def dump_flow(value: Any) -> bytes:
    """A value as a typed netstring."""
    if value is None:
        return b"0:~"
    if value is True or value is False:
        return b"4:true!" if value else b"5:false!"
    if isinstance(value, dict):
        body, sign = b"".join(dump_flow(x) for pair in value.items() for x in pair), b"}"
    elif isinstance(value, list):
        body, sign = b"".join(map(dump_flow, value)), b"]"
    elif isinstance(value, bytes):
        body, sign = value, b","
    elif isinstance(value, str):
        body, sign = value.encode(), b";"
    elif isinstance(value, int):
        body, sign = b"%d" % value, b"#"
    else:
        body, sign = repr(value).encode(), b"^"
    return b"%d:%b%b" % (len(body), body, sign)
