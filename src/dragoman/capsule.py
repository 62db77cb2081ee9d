"""The way home: exactly what a target could not hold, and its return.

A capsule is a difference, not a copy. When a document of dialect A has become one of dialect B,
converting that one straight back gives A again, less what B could not hold. The capsule is the
patch from there to the original. So it needs no knowledge of any dialect, it is empty where
nothing is lost, and it is exact by construction.

A patch is one of

    {"=": value}                         the value, whatever stands there
    {"set": {k: v}, "del": [k], "in": {k: patch}, "order": [k, ...]}          an object
    {"items": [[index, digest, patch] | {"put": value} ...], "length": n}     a list

A list patch names each changed item by its place and a digest of what stood there. A conversation
that grew at its end keeps what follows the old length. An item that changed meanwhile is left as
it is, and the ledger says what could not be restored.
"""

from __future__ import annotations

import hashlib
from typing import Any

from .dialect import Dialect
from .errors import Malformed, Unsupported
from .ledger import Ledger
from .model import Json
from .reading import encode, escape

VERSION = 1


def seal(original: Json, document: Json, source: Dialect, target: Dialect, facet: str) -> Json:
    """What ``document`` could not hold of ``original``."""
    ways = target.facets().get(facet, ())
    if "read" not in ways or "write" not in source.facets().get(facet, ()):
        raise Unsupported(f"no way home: {target.name} cannot read or {source.name} cannot write")
    back = source.write(target.read(document, facet), Ledger())
    patch = diff(back, original)
    return {"capsule": VERSION, "dialect": source.name, "facet": facet, "patch": patch}


def open_(capsule: Json, document: Json, dialect: str, log: Ledger) -> Json:
    """The document with everything restored that the capsule holds for it."""
    if not isinstance(capsule, dict) or capsule.get("capsule") != VERSION:
        raise Malformed(f"not a capsule of version {VERSION}")
    if capsule.get("dialect") != dialect:
        raise Malformed(f"the capsule belongs to {capsule.get('dialect')!r}, not {dialect!r}")
    try:
        return apply(capsule.get("patch"), document, "", log)
    except (TypeError, KeyError, ValueError, AttributeError, IndexError) as problem:
        raise Malformed(f"the capsule is damaged: {problem!r}") from None


def diff(old: Json, new: Json) -> Json:
    """The patch from ``old`` to ``new``; None where they are the same, key order included."""
    if isinstance(old, dict) and isinstance(new, dict):
        return _diff_objects(old, new)
    if isinstance(old, list) and isinstance(new, list):
        return _diff_lists(old, new)
    if same(old, new):
        return None
    return {"=": new, "was": digest(old)}


def _diff_objects(old: dict[str, Json], new: dict[str, Json]) -> Json:
    patch: dict[str, Json] = {}
    inner = {k: p for k, v in new.items() if k in old and (p := diff(old[k], v)) is not None}
    if added := {k: v for k, v in new.items() if k not in old}:
        patch["set"] = added
    if gone := {k: digest(old[k]) for k in old if k not in new}:
        patch["del"] = gone
    if inner:
        patch["in"] = inner
    if [k for k in old if k in new] + [k for k in new if k not in old] != list(new):
        patch["order"] = list(new)
    return patch or None


def _diff_lists(old: list[Json], new: list[Json]) -> Json:
    pairs = _align(old, new)
    if len(pairs) == len(old) == len(new):
        changes = [[i, digest(old[i]), p] for i, j in pairs if (p := diff(old[i], new[j]))]
        return {"items": changes, "length": len(old)} if changes else None
    items: list[Json] = []
    partner = {j: i for i, j in pairs}
    for j, value in enumerate(new):
        i = partner.get(j)
        if i is None:
            items.append({"put": value})
        else:
            items.append([i, digest(old[i]), diff(old[i], value)])
    return {"items": items, "length": len(old), "whole": True}


def _align(old: list[Json], new: list[Json]) -> list[tuple[int, int]]:
    """Which items belong together: the longest common run of alike items, in order."""
    if len(old) == len(new):
        return [(i, i) for i in range(len(old))]
    start = 0
    a = [_shape(item) for item in old]
    b = [_shape(item) for item in new]
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    rest_a, rest_b = a[start:], b[start:]
    pairs = [(i, i) for i in range(start)]
    if len(rest_a) * len(rest_b) > 4_000_000:  # never quadratic without bound
        return pairs
    lengths = [[0] * (len(rest_b) + 1) for _ in range(len(rest_a) + 1)]
    for i in range(len(rest_a) - 1, -1, -1):
        for j in range(len(rest_b) - 1, -1, -1):
            if rest_a[i] == rest_b[j]:
                lengths[i][j] = lengths[i + 1][j + 1] + 1
            else:
                lengths[i][j] = max(lengths[i + 1][j], lengths[i][j + 1])
    i = j = 0
    while i < len(rest_a) and j < len(rest_b):
        if rest_a[i] == rest_b[j]:
            pairs.append((start + i, start + j))
            i, j = i + 1, j + 1
        elif lengths[i + 1][j] >= lengths[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs


def _shape(item: Json) -> Any:
    """What makes two items of a list the same item, though parts of them differ."""
    if not isinstance(item, dict):
        return digest(item)
    texts = [item.get(k) for k in ("role", "type", "name", "id", "call_id", "tool_use_id")]
    texts += [item.get(k) for k in ("tool_call_id", "text", "thinking")]
    return tuple(t if isinstance(t, str) else None for t in texts)


def apply(patch: Json, value: Json, at: str, log: Ledger) -> Json:
    """The value with the patch applied, as far as it still fits."""
    if patch is None:
        return value
    if "=" in patch:
        if digest(value) != patch["was"]:
            return _stale(value, at, log)
        return patch["="]
    if "items" in patch:
        if not isinstance(value, list):
            return _stale(value, at, log)
        return _apply_list(patch, value, at, log)
    if not isinstance(value, dict):
        return _stale(value, at, log)
    return _apply_object(patch, value, at, log)


def _apply_object(patch: Json, value: dict[str, Json], at: str, log: Ledger) -> Json:
    out = dict(value)
    for key, was in patch.get("del", {}).items():
        if key in out and digest(out[key]) == was:
            del out[key]
        else:
            _stale(None, f"{at}/{escape(key)}", log)
    for key, inner in patch.get("in", {}).items():
        if key in out:
            out[key] = apply(inner, out[key], f"{at}/{escape(key)}", log)
        else:
            _stale(None, f"{at}/{escape(key)}", log)
    for key, added in patch.get("set", {}).items():
        if key in out and not same(out[key], added):
            _stale(None, f"{at}/{escape(key)}", log)
        else:
            out[key] = added
    if "order" in patch:
        ordered = {k: out[k] for k in patch["order"] if k in out}
        out = ordered | {k: v for k, v in out.items() if k not in ordered}
    return out


def _apply_list(patch: Json, value: list[Json], at: str, log: Ledger) -> Json:
    length = patch["length"]
    if not patch.get("whole"):
        out = list(value)
        for index, was, inner in patch["items"]:
            if index < len(value) and _fits(value[index], was, index, length):
                out[index] = apply(inner, value[index], f"{at}/{index}", log)
            else:
                _stale(None, f"{at}/{index}", log)
        return out
    out = []
    for entry in patch["items"]:
        if isinstance(entry, dict):
            out.append(entry["put"])
            continue
        index, was, inner = entry
        if index < len(value) and _fits(value[index], was, index, length):
            out.append(apply(inner, value[index], f"{at}/{index}", log))
        elif index < len(value):
            out.append(value[index])
            _stale(None, f"{at}/{index}", log)
    return out + value[length:]


def _fits(value: Json, was: str, index: int, length: int) -> bool:
    """The same item as before; the last one may have grown, and is checked part by part."""
    return index == length - 1 or digest(value) == was


def _stale(value: Json, at: str, log: Ledger) -> Json:
    log.dropped("capsule", at, "this part has changed since; what the capsule holds is not put")
    return value


def digest(value: Json) -> str:
    return hashlib.sha256(encode(value)).hexdigest()[:12]


def same(a: Json, b: Json) -> bool:
    """Equal as JSON, types included: 1 is not 1.0 and not true."""
    return a is b or (a == b and encode(a) == encode(b))
