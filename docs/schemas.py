"""Writes ``cli/schemas.jsonl.gz``: JSON Schemas of the dialects' documents as we read them.

Nobody wrote these schemas down: they are found out by asking the readers. Every document of the
corpus is read again and again, each time with one of its values replaced by a value of another
type, or left out, or with an unknown key added. What no reader refuses anywhere is allowed; what
every reader refuses everywhere is not. Objects that say what they are (``type``, ``role``) are
kept apart by what they say.

So a schema is never stricter than the reader was in any of these documents, and it is looser
where a reader looks at two things at once.

The parameters of requests are those of the dialect's table (``core/fields.py``): a document with a
value for each row is asked about too, and what the row says of ranges is their description.
"""

from __future__ import annotations

import ast
import gzip
import inspect
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from dragoman import DragomanError, Malformed, dialects
from dragoman.core.fields import Field, Fields
from dragoman.core.reading import encode
from dragoman.dialect import FACETS, Dialect
from dragoman.ledger import Ledger
from dragoman.model import Request
from dragoman.testing import load_corpus

Json = Any
ROOT = Path(__file__).parents[1]
FILE = ROOT / "src" / "dragoman" / "cli" / "schemas.jsonl.gz"

# One or more values of each type; unlikely words, so that none is by chance the right one.
WORD = "zz-unheard-of"
SAMPLES: dict[str, tuple[Json, ...]] = {
    "null": (None,),
    "boolean": (True, False),
    "integer": (0, 7),
    "number": (1.5,),
    "string": (WORD, ""),
    "array": ([], [None], [{}]),
    "object": ({}, {WORD: 1}),
}
KINDS = ("type", "role", "kind")
"""The keys by which objects say what they are."""


def main(check: bool) -> list[str]:
    """Write what is not up to date, or only name it."""
    wanted = {f"{name}.{facet}": schema for name, facet, schema in schemas()}
    there = dict(read(FILE)) if FILE.exists() else {}
    stale = sorted(name for name in wanted.keys() | there if wanted.get(name) != there.get(name))
    if stale and not check:
        lines = [encode([name, schema]) for name, schema in sorted(wanted.items())]
        FILE.write_bytes(gzip.compress(b"\n".join(lines), mtime=0))
    return stale


def read(path: Path) -> list[Json]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def schemas() -> Iterator[tuple[str, str, Json]]:
    for name in dialects.names():
        for facet in dialects.get(name).facets():
            if name == "native" or facet not in FACETS:
                continue  # of native, the model itself is the schema; a stream is no document
            found = documents(name, facet)
            rows: Rows = {}
            table = dialects.get(name).fields
            if found and facet == "request" and table is not None and table.rows:
                document, rows = with_parameters(dialects.get(name), table, found)
                found.append(document)
            if found:
                yield name, facet, Inquiry(dialects.get(name), facet).schema(found, rows)


# -- documents to ask about ----------------------------------------------------------------------


@cache
def corpus() -> tuple[Any, ...]:
    return load_corpus(ROOT / "tests" / "corpus")


def documents(name: str, facet: str) -> list[Json]:
    """The documents of a dialect: its own of the corpus, and what it makes of the others.

    A document of which every object is like one that was seen before has nothing to add.
    """
    speaker = dialects.get(name)
    own = [d for case in corpus() for d in case.documents if d.facet == facet]
    own.sort(key=lambda d: d.dialect != name)
    seen: set[Any] = set()
    found = []
    for document in own:
        body = document.body
        if document.dialect != name:
            try:
                tree = dialects.get(document.dialect).read(body, facet)
                body = speaker.write(tree, Ledger(now=0))
                speaker.read(body, facet)
            except DragomanError:
                continue
            body = json.loads(json.dumps(body))
        looks = set(shapes(body, ()))
        if document.dialect == name or not looks <= seen:
            seen |= looks
            found.append(body)
    return found


Rows: TypeAlias = dict[tuple[str, ...], Field]
"""The rows of a dialect's table, by where their parameters stand in a request."""
VALUES: tuple[Json, ...] = (0.5, 1, True, "x", ["x"], {"x": "x"})


def with_parameters(dialect: Dialect, table: Fields, found: list[Json]) -> tuple[Json, Rows]:
    """The request that has most objects, with a value for each parameter that has a row."""
    document = json.loads(json.dumps(max(found, key=holders)))
    rows: Rows = {}
    for row in table.rows:
        if (value := example(row)) is None:
            continue
        for above in ((), *((key,) for key in document if isinstance(document[key], dict))):
            holder = document[above[0]] if above else document
            place = (*above, *row.path.split("/")[:-1], row.key)
            if row.outer:
                if not isinstance(holder.setdefault(row.outer, {}), dict):
                    continue
                holder = holder[row.outer]
            before = dict(holder)
            holder[row.key] = value
            if stands_at(dialect, document, row.name, "/" + "/".join(place)):
                rows[place] = row
                break
            holder.clear()
            holder.update(before)
    return document, rows


def holders(document: Json) -> int:
    return sum(isinstance(value, dict) for value in document.values())


def example(row: Field) -> Json:
    """A value that the reader of a row takes."""
    for value in (*sorted(row.among or ()), *VALUES):
        try:
            if row.read({row.key: value}, row.key, "") is not None:
                return value
        except Malformed:
            continue
    return None


def stands_at(dialect: Dialect, document: Json, name: str, at: str) -> bool:
    """Whether a parameter of a request is read from a place."""
    try:
        tree = dialect.read(document, "request")
    except Malformed:
        return False
    assert isinstance(tree, Request)
    return getattr(tree.params, name) is not None and tree.params.where(name) == at


def describe(schema: Json, place: tuple[str, ...], text: str) -> None:
    """Put a description where the schema speaks of a place."""
    for part in (schema, *(case["then"] for case in schema.get("allOf", ()))):
        inside = part.get("properties", {}).get(place[0])
        if inside is None:
            continue
        if len(place) > 1:
            describe(inside, place[1:], text)
        else:
            inside["description"] = text


def shapes(value: Json, path: tuple[str, ...]) -> Iterator[Any]:
    if isinstance(value, dict):
        yield path, tuple(sorted((key, is_a(item)) for key, item in value.items()))
        for key, item in value.items():
            yield from shapes(item, (*path, key))
    elif isinstance(value, list):
        for item in value:
            yield from shapes(item, (*path, "*"))
    else:
        yield path, is_a(value)


def is_a(value: Json) -> str:
    """The JSON type of a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"


@cache
def vocabulary(dialect: Dialect) -> frozenset[str]:
    """Every word that the source of a dialect knows."""
    words: set[str] = set()
    for base in type(dialect).__mro__[:-1]:
        module = sys.modules[base.__module__]
        if module.__package__ and "dialects" in module.__package__:
            for near in near_modules(module):
                tree = ast.parse(inspect.getsource(near))
                written = (n.value for n in ast.walk(tree) if isinstance(n, ast.Constant))
                words |= {w for w in written if isinstance(w, str) and re.fullmatch(r"[\w.-]+", w)}
    return frozenset(words)


def near_modules(module: Any) -> Iterator[Any]:
    folder = module.__name__ if hasattr(module, "__path__") else module.__package__
    is_folder = folder != "dragoman.dialects"
    for name, other in list(sys.modules.items()):
        if name == module.__name__ or (is_folder and name.startswith(f"{folder}.")):
            yield other


# -- asking --------------------------------------------------------------------------------------


class Spot(NamedTuple):
    """A value in a document: ``holder[key]``; ``top`` is the list that holds the whole of it."""

    top: list[Json]
    holder: Any
    key: Any
    value: Json


class Inquiry:
    """One dialect and one kind of document."""

    def __init__(self, dialect: Dialect, facet: str) -> None:
        self.dialect, self.facet = dialect, facet
        self.names: Counter[str] = Counter()

    def schema(self, found: list[Json], rows: Rows) -> Json:
        tops = [[document] for document in found]
        body = self.learn([Spot(top, top, 0, top[0]) for top in tops])
        for place, row in rows.items():
            if text := row.describe(self.dialect.name):
                describe(body, place, text)
        head = {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": f"{self.dialect.name} {self.facet}, as dragoman reads it",
        }
        return head | shared(body)

    def complaint(self, spot: Spot) -> tuple[str, str] | None:
        """Why the document cannot be read as it stands now."""
        try:
            self.dialect.read(spot.top[0], self.facet)
        except Malformed as problem:
            return problem.what, problem.at
        return None

    def takes(self, spot: Spot, value: Json) -> bool:
        return self.reply(spot, value) is None

    def reply(self, spot: Spot, value: Json) -> tuple[str, str] | None:
        """What is written of another value in this place."""
        spot.holder[spot.key] = value
        try:
            return self.complaint(spot)
        finally:
            spot.holder[spot.key] = spot.value

    def can_do_without(self, spot: Spot, key: str) -> bool:
        less = {k: v for k, v in spot.value.items() if k != key}
        return self.takes(spot, less) or self.takes(spot, {**less, WORD: 1})

    # -- learning

    def learn(self, spots: list[Spot]) -> dict[str, Json]:
        """What may stand in a place, of which these are examples."""
        seen = {is_a(spot.value) for spot in spots}
        types = [
            kind
            for kind, samples in SAMPLES.items()
            if kind in seen or any(self.takes(spot, sample) for spot in spots for sample in samples)
        ]
        schema: dict[str, Json] = {}
        if "number" in types and "integer" in types:
            types.remove("integer")
        if len(types) < len(SAMPLES) - 1:
            schema["type"] = types[0] if len(types) == 1 else types
        if words := self.words([s for s in spots if isinstance(s.value, str)]):
            schema |= only(words, types)
        lists = [spot for spot in spots if isinstance(spot.value, list)]
        items = [
            Spot(s.top, s.value, index, item) for s in lists for index, item in enumerate(s.value)
        ]
        if items and (inside := self.learn(items)):
            schema["items"] = inside
        objects = [spot for spot in spots if isinstance(spot.value, dict)]
        return schema | (self.learn_objects(objects) if objects else {})

    def words(self, spots: list[Spot]) -> list[str]:
        """All words that may stand here, if not every word may, and if they are the source's."""
        known = vocabulary(self.dialect)
        found = {spot.value for spot in spots}
        if not found or not found <= known or any(self.takes(spot, WORD) for spot in spots):
            return []
        refusal = self.reply(spots[0], WORD)
        assert refusal is not None
        found |= {""} if any(self.takes(spot, "") for spot in spots) else set()
        for word in known:
            written = self.reply(spots[0], word)
            # A word that leads to another complaint is known; the rest of the object is not so.
            if written is None or written != (refusal[0].replace(WORD, word), refusal[1]):
                found.add(word)
        return sorted(found)

    def learn_objects(self, spots: list[Spot]) -> dict[str, Json]:
        keys = [key for key in KINDS if tells(key, spots)]
        groups: dict[tuple[str | None, ...], list[Spot]] = {}
        for spot in spots:
            groups.setdefault(tuple(spot.value.get(key) for key in keys), []).append(spot)
        if not keys:
            return self.learn_object(spots)
        schema = self.learn_kinds(keys, spots)
        cases = []
        for given, group in sorted(groups.items(), key=str):
            then = self.learn_object(group, skip=keys)
            if "required" in then and None in given:
                like = [s for s in spots if self.may_be(s, dict(zip(keys, given, strict=True)))]
                then["required"] = [k for k in then["required"] if all(k in s.value for s in like)]
                then = trimmed(then)
            if then:
                cases.append({"if": condition(keys, given), "then": then})
        return schema | ({"allOf": cases} if cases else {})

    def may_be(self, spot: Spot, written: dict[str, str | None]) -> bool:
        """Whether an object of another kind is read if it does not say of which kind it is."""
        left = [key for key, word in written.items() if word is None and key in spot.value]
        return bool(left) and all(self.can_do_without(spot, key) for key in left)

    def learn_kinds(self, keys: list[str], spots: list[Spot]) -> dict[str, Json]:
        """What is true of the keys that tell kinds apart, in objects of all kinds."""
        properties = {}
        for key in keys:
            given = [Spot(s.top, s.value, key, s.value[key]) for s in spots if key in s.value]
            if inside := self.learn(given):
                properties[key] = inside
        required = [key for key in keys if self.is_required(spots, key)]
        return trimmed({"properties": properties, "required": required})

    def learn_object(self, spots: list[Spot], skip: list[str] | None = None) -> dict[str, Json]:
        keys = dict.fromkeys(key for spot in spots for key in spot.value if key not in (skip or ()))
        properties = {}
        for key in keys:
            inside = self.learn(
                [Spot(s.top, s.value, key, s.value[key]) for s in spots if key in s.value]
            )
            if inside:
                properties[key] = inside
        required = [key for key in keys if self.is_required(spots, key)]
        schema: dict[str, Json] = {"properties": properties, "required": required}
        if others := self.unknown_keys(spots):
            schema["additionalProperties"] = others
        return trimmed(schema)

    def is_required(self, spots: list[Spot], key: str) -> bool:
        return all(key in spot.value for spot in spots) and not any(
            self.can_do_without(spot, key) for spot in spots
        )

    def unknown_keys(self, spots: list[Spot]) -> dict[str, Json]:
        """What may stand under a key that nobody knows; nothing to say, if all may."""
        types = [
            kind
            for kind, samples in SAMPLES.items()
            if any(self.takes(s, {**s.value, WORD: sample}) for s in spots for sample in samples)
        ]
        return {} if len(types) == len(SAMPLES) else {"type": types}


def tells(key: str, spots: list[Spot]) -> bool:
    """Whether objects say under a key of which kind they are, if they have it."""
    words = [spot.value[key] for spot in spots if key in spot.value]
    return bool(words) and all(isinstance(word, str) for word in words)


def only(words: list[str], types: list[str]) -> dict[str, Json]:
    if types == ["string"]:
        return {"enum": words}
    others = [kind for kind in types if kind != "string"]
    return {"anyOf": [{"enum": words}, {"type": others[0] if len(others) == 1 else others}]}


def condition(keys: list[str], written: tuple[Json, ...]) -> dict[str, Json]:
    """Whether an object is of a kind: what it says of itself, and what it does not."""
    there = {
        key: {"const": word} for key, word in zip(keys, written, strict=True) if word is not None
    }
    absent = [key for key in keys if key not in there]
    clauses: dict[str, Json] = {"properties": there, "required": list(there)}
    if absent:
        clauses["not"] = {"anyOf": [{"required": [key]} for key in absent]}
        if len(absent) == 1:
            clauses["not"] = {"required": absent}
    return trimmed(clauses)


def trimmed(schema: dict[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in schema.items() if value}


# -- what is written twice is written once ---------------------------------------------------------

WORTH = 160
"""How long a part must be to be worth a name."""


def shared(schema: Json) -> Json:
    """The schema with its repeated parts under ``$defs``."""
    counts: Counter[str] = Counter()
    names: dict[str, str] = {}

    def count(part: Json, name: str) -> None:
        if isinstance(part, dict):
            text = json.dumps(part, sort_keys=True)
            counts[text] += 1
            if len(text) >= WORTH:
                names.setdefault(text, name)
            if counts[text] > 1:
                return
            for key, inside in part.get("properties", {}).items():
                count(inside, key)
            if "items" in part:
                count(part["items"], name)
            for case in part.get("allOf", ()):
                written = [w["const"] for w in case["if"].get("properties", {}).values()]
                count(case["then"], "-".join([name, *written]) if written else name)

    count(schema, "document")
    chosen: dict[str, str] = {}
    taken: Counter[str] = Counter()
    for text, name in names.items():
        if counts[text] > 1:
            taken[name] += 1
            chosen[text] = name if taken[name] == 1 else f"{name}-{taken[name]}"
    defined: dict[str, Json] = {}

    def named(part: Json, top: bool = False) -> Json:
        if not isinstance(part, dict):
            return part
        name = chosen.get(json.dumps(part, sort_keys=True))
        if name is not None and not top:
            if name not in defined:
                defined[name] = None  # its place, before what is in it
                defined[name] = named(part, top=True)
            return {"$ref": f"#/$defs/{name}"}
        out = dict(part)
        if "properties" in part:
            out["properties"] = {k: named(v) for k, v in part["properties"].items()}
        if "items" in part:
            out["items"] = named(part["items"])
        if "allOf" in part:
            out["allOf"] = [case | {"then": named(case["then"])} for case in part["allOf"]]
        return out

    body = named(schema, top=True)
    return body | ({"$defs": dict(sorted(defined.items()))} if defined else {})


if __name__ == "__main__":
    stale = main(check="--check" in sys.argv)
    print(f"schemas: {', '.join(stale) or 'all up to date'}")
    sys.exit(bool(stale) and "--check" in sys.argv)
