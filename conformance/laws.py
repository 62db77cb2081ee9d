"""The laws that recorded reality is held to, and how often each held."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import dragoman
import sdk
from dragoman.core.source import with_source
from dragoman.core.walk import meaning
from dragoman.dialects import get
from dragoman.laws import editing
from dragoman.ledger import Ledger
from dragoman.model import Failure

from .reality import DIALECTS, Record, Stream

# (law, documents) -> how often it held, and how often it was asked
TALLY: dict[tuple[str, str], tuple[int, int]] = {}

# Values that nobody but the parties themselves understands: their key order is kept.
OPAQUE = {"input_schema", "parameters", "schema", "metadata", "logit_bias", "arguments"}
OPAQUE_HERE = {
    "anthropic-messages": OPAQUE | {"input"},
    "gemini": OPAQUE | {"args", "response", "parametersJsonSchema", "responseSchema", "labels"},
}


def tally(law: str, documents: str, held: bool) -> bool:
    done, total = TALLY.get((law, documents), (0, 0))
    TALLY[law, documents] = done + held, total + 1
    return held


def exact(a: Any, b: Any) -> bool:
    """Equal as JSON values: 1 is not 1.0 and not true."""
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def ordered(a: Any, b: Any, opaque: set[str], inside: bool = False) -> bool:
    """Whether the keys of opaque values keep their order."""
    if isinstance(a, dict) and isinstance(b, dict):
        if inside and list(a) != list(b):
            return False
        return all(ordered(a[k], b[k], opaque, inside or k in opaque) for k in a if k in b)
    if isinstance(a, list) and isinstance(b, list):
        return all(ordered(x, y, opaque, inside) for x, y in zip(a, b, strict=False))
    return True


def identity(record: Record) -> bool:
    """``write(read(x)) == x``, spelling included, with an empty ledger.

    A tree with its source is that document, and without it another form of it: one that means the
    same.
    """
    speaker, log = get(record.dialect), Ledger()
    tree = speaker.read(record.body, record.facet)
    back = speaker.write(tree, log)
    if not speaker.keeps_source:
        if meaning(speaker.read(back, record.facet)) != meaning(tree):
            return False
        back = speaker.write(with_source(tree, record.body, speaker), log)
    opaque = OPAQUE_HERE.get(record.dialect, OPAQUE)
    same = exact(back, record.body) and ordered(back, record.body, opaque)
    return same and not log.losses


def failure(stream: Stream) -> Failure | None:
    """How a stream failed, as its own dialect's reader sees it."""
    transcoder = dragoman.Transcoder(stream.dialect, stream.dialect, collect=False)
    transcoder.feed(stream.data)
    transcoder.close()
    return transcoder.response.failure


def targets(record: Record) -> Iterator[str]:
    return (name for name in (*DIALECTS, "native") if name != record.dialect)


MODEL_KEYS = {"gemini": "model", "bedrock-converse": "modelId"}


def named(record: Record) -> Record:
    """A request that names a model: Google's, Amazon's and Azure's name it in the address."""
    key = MODEL_KEYS.get(record.dialect, "model")
    if record.facet != "request" or record.body.get(key):
        return record
    return record._replace(body=record.body | {key: "m"})


def accepted(record: Record, target: str) -> list[str]:
    """What the vendor's types object to in the converted document."""
    record = named(record)
    document = dragoman.convert(
        record.body, source=record.dialect, target=target, facet=record.facet, now=1_700_000_000
    ).document
    if isinstance(document, dict) and "error" in document and "id" not in document:
        return []  # a failed reply has become an error
    return sdk.problems(target, record.facet, document)


def comes_home(record: Record, target: str) -> bool:
    """There and back with the capsule: the same document, key order included, nothing lost."""
    record = named(record)
    there = dragoman.convert(
        record.body, source=record.dialect, target=target, facet=record.facet, carry=True
    )
    signed = json.loads(json.dumps(there.capsule))
    same = dragoman.convert(
        there.document, source=target, target=record.dialect, facet=record.facet, capsule=signed
    )
    return json.dumps(same.document) == json.dumps(record.body) and not same.losses


def comes_home_edited(record: Record, target: str) -> list[str]:
    """The same after each edit that clients make, one at a time; what does not hold."""
    record = named(record)
    try:
        editing.law(record.body, record.dialect, record.facet, target)
    except AssertionError as problem:
        return str(problem).splitlines()
    return []
