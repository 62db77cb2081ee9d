"""Structural patches between two JSON values, checked by digests; ``capsule`` says what for."""

from __future__ import annotations

from collections import Counter
from operator import is_
from typing import Any

import msgspec

from ..core.reading import encode, escape
from ..ledger import Ledger, Restored
from ..model import Json

REF = "\0ref"
"""The key of a reference. A document that has such a key itself gets a capsule without any."""
LONG = 100
"""How long a text must be to be referred to rather than copied."""
CELLS = 250_000
"""How many pairs of items are compared at most to align two lists; beyond that only their start."""


def make(old: Json, new: Json) -> tuple[Json, bool]:
    """The patch from ``old`` to ``new``, and whether it refers to texts of ``old``."""
    patch = diff(old, new)
    if patch is None or b"\\u0000ref" in encode(new):
        return patch, False
    small = _shrink(patch, _texts(old, "", {}), Counter())
    return small, bool(small != patch)


DEEP = 64
"""So many levels are compared part by part; what differs below them is put as a whole."""


def diff(old: Json, new: Json, deep: int = DEEP) -> Json:
    """The patch from ``old`` to ``new``; None where they are the same, key order included."""
    if deep and isinstance(old, dict) and isinstance(new, dict):
        return _diff_objects(old, new, deep - 1)
    if deep and isinstance(old, list) and isinstance(new, list):
        return _diff_lists(old, new, deep - 1)
    if same(old, new):
        return None
    if (key := _wrapped(old, new)) is not None:
        return {"wrap": {k: None if k == key else v for k, v in new[0].items()}, "key": key}
    if (key := _wrapped(new, old)) is not None:
        return {"unwrap": key}
    return {"=": new, "was": digest(old)}


def _wrapped(text: Json, blocks: Json) -> str | None:
    """The key under which a text is the only block of a list: two spellings of the same."""
    if not isinstance(text, str) or not isinstance(blocks, list) or len(blocks) != 1:
        return None
    if not isinstance(blocks[0], dict):
        return None
    return next((k for k, v in blocks[0].items() if k != "type" and v == text), None)


def _diff_objects(old: dict[str, Json], new: dict[str, Json], deep: int) -> Json:
    patch: dict[str, Json] = {}
    inner = {k: p for k, v in new.items() if k in old and (p := diff(old[k], v, deep)) is not None}
    if added := {k: v for k, v in new.items() if k not in old}:
        patch["set"] = added
    if gone := {k: digest(old[k]) for k in old if k not in new}:
        patch["del"] = gone
    if inner:
        patch["in"] = inner
    if [k for k in old if k in new] + [k for k in new if k not in old] != list(new):
        patch["order"] = list(new)
    return patch or None


def _diff_lists(old: list[Json], new: list[Json], deep: int) -> Json:
    ops: list[Json] = []
    done = kept = 0  # how much of the old list has been written, and what of it just stays

    def flush(end: bool = False) -> None:
        nonlocal kept
        if kept:
            # The last item may grow: nothing stands after it that would be misplaced.
            run = old[done - kept : done - 1 if end and done == len(old) else done]
            ops.append({"keep": kept, "was": digest(run)})
            kept = 0

    partner = {j: i for i, j in _align(old, new)}
    for j, value in enumerate(new):
        i = partner.get(j)
        if i is None:
            flush()
            ops.append({"put": value})
            continue
        if done < i:
            flush()
            ops.extend({"skip": digest(item)} for item in old[done:i])
            done = i
        patch = diff(old[i], value, deep)
        done += 1
        if patch is None:
            kept += 1
            continue
        done -= 1
        flush()
        done += 1
        ops.append([digest(old[i]), patch])
    flush(end=True)
    ops.extend({"skip": digest(item)} for item in old[done:])
    if not ops or (len(ops) == 1 and "keep" in ops[0]):
        return None
    return {"items": ops, "length": len(old)}


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
    if len(rest_a) * len(rest_b) > CELLS:  # never quadratic without bound
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


def _texts(value: Json, at: str, found: dict[str, str]) -> dict[str, str]:
    """Where each long text of a document stands."""
    if isinstance(value, str):
        if len(value) >= LONG:
            found.setdefault(value, at)
    elif isinstance(value, dict):
        for key, item in value.items():
            _texts(item, f"{at}/{escape(key)}", found)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _texts(item, f"{at}/{index}", found)
    return found


OFTEN = 8
"""How often a text is referred to, so that nobody can make a small patch of a huge document."""


def _shrink(value: Json, texts: dict[str, str], used: Counter[str]) -> Json:
    """A patch with references instead of the texts that the way back gives anyway."""
    if isinstance(value, str) and value in texts:
        used[value] += 1
        return value if used[value] > OFTEN else {REF: texts[value], "was": digest(value)}
    if isinstance(value, dict):
        return {key: _shrink(item, texts, used) for key, item in value.items()}
    if isinstance(value, list):
        return [_shrink(item, texts, used) for item in value]
    return value


class Root:
    """The document that references speak of, and how much of it they may still repeat."""

    def __init__(self, document: Json) -> None:
        self.document = document
        self.left = OFTEN * len(encode(document))


class _Gone(Exception):
    """What a reference speaks of is not there any more."""


def _expand(value: Json, root: Root | None) -> Json:
    """A value of a patch with the texts that it refers to; None: it refers to nothing."""
    if root is None:
        return value
    if isinstance(value, dict):
        if REF in value:
            return _resolve(value, root)
        return {key: _expand(item, root) for key, item in value.items()}
    if isinstance(value, list):
        return [_expand(item, root) for item in value]
    return value


def _resolve(reference: dict[str, Json], place: Root) -> Json:
    root = place.document
    for token in reference[REF].split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        if isinstance(root, dict) and token in root:
            root = root[token]
        elif isinstance(root, list) and token.isdigit() and int(token) < len(root):
            root = root[int(token)]
        else:
            raise _Gone
    if root.__class__ is not str:
        raise _Gone  # texts are all that is ever referred to
    place.left -= len(root)
    if place.left < 0:
        raise TypeError("too many references to texts")
    if digest(root) != reference["was"]:
        raise _Gone
    return root


def apply(patch: Json, value: Json, at: str, log: Ledger, root: Root | None) -> Json:
    """The value with the patch applied, as far as it still fits."""
    known = len(log.restored)
    try:
        return _apply(patch, value, at, log, root)
    except _Gone:
        del log.restored[known:]
        return _stale(value, at, log)


def _apply(patch: Json, value: Json, at: str, log: Ledger, root: Root | None) -> Json:
    if patch is None:
        return value
    if not isinstance(patch, dict):
        raise TypeError("a patch is an object")
    if "=" in patch:
        if digest(value) != patch["was"]:
            return _stale(value, at, log)
        value = _expand(patch["="], root)
        log.restored.append(Restored("field", at))
        return value
    if "wrap" in patch:
        if not isinstance(value, str):
            return _stale(value, at, log)
        log.restored.append(Restored("field", at))
        wrap = _expand(patch["wrap"], root)
        return [{k: value if k == patch["key"] else v for k, v in wrap.items()}]
    if "unwrap" in patch:
        if not isinstance(value, list) or len(value) != 1 or not isinstance(value[0], dict):
            return _stale(value, at, log)
        log.restored.append(Restored("field", at))
        return value[0].get(patch["unwrap"])
    if "items" in patch:
        if not isinstance(patch["items"], list):
            raise TypeError("the items of a patch are a list")
        if not isinstance(value, list):
            return _stale(value, at, log)
        return _apply_list(patch, value, at, log, root)
    if not isinstance(value, dict):
        return _stale(value, at, log)
    return _apply_object(patch, value, at, log, root)


def _apply_object(
    patch: Json, value: dict[str, Json], at: str, log: Ledger, root: Root | None
) -> Json:
    out = dict(value)
    for key, was in patch.get("del", {}).items():
        if key in out and digest(out[key]) == was:
            del out[key]
            log.restored.append(Restored("field", f"{at}/{escape(key)}", True))
        else:
            _stale(None, f"{at}/{escape(key)}", log)
    for key, inner in patch.get("in", {}).items():
        if key in out:
            out[key] = apply(inner, out[key], f"{at}/{escape(key)}", log, root)
        else:
            _stale(None, f"{at}/{escape(key)}", log)
    for key, kept in patch.get("set", {}).items():
        added = _expand(kept, root)
        if key in out and not same(out[key], added):
            _stale(None, f"{at}/{escape(key)}", log)
        elif key not in out:
            out[key] = added
            log.restored.append(Restored("field", f"{at}/{escape(key)}"))
    if "order" in patch:
        ordered = {k: out[k] for k in patch["order"] if k in out}
        out = ordered | {k: v for k, v in out.items() if k not in ordered}
    return out


def _apply_list(patch: Json, value: list[Json], at: str, log: Ledger, root: Root | None) -> Json:
    out: list[Json] = []
    coming: list[Json] = []  # what is put before the next item, if that is what it was
    done = 0
    for op in patch["items"]:
        if isinstance(op, dict) and "put" in op:
            coming.append(_expand(op["put"], root))
            continue
        size = _fitting(op, value, done, patch["length"])
        if size is None:
            _stale(None, f"{at}/{done}" if done < len(value) else at, log)
            return out + value[done:]
        _come(out, coming, at, log)
        if isinstance(op, list):
            known = len(log.restored)
            item = apply(op[1], value[done], f"{at}/{done}", log, root)
            _shift(log, known, f"{at}/{done}", f"{at}/{len(out)}")
            out.append(item)
        elif "keep" in op:
            out += value[done : done + size]
        else:
            log.restored.append(Restored("field", f"{at}/{done}", True))
        done += size
    _come(out, coming, at, log)
    return out + value[done:]


def _shift(log: Ledger, start: int, old: str, new: str) -> None:
    """What was restored in an item is where that stands now."""
    for number in range(start, len(log.restored) if old != new else start):
        found = log.restored[number]
        if not found.removed:
            log.restored[number] = Restored(found.what, new + found.path[len(old) :])


def _come(out: list[Json], coming: list[Json], at: str, log: Ledger) -> None:
    """Put what comes after what is there."""
    for value in coming:
        log.restored.append(Restored("field", f"{at}/{len(out)}"))
        out.append(value)
    coming.clear()


def _fitting(op: Json, value: list[Json], done: int, length: int) -> int | None:
    """How many items an op speaks of, if they are still what they were."""
    if isinstance(op, dict) and "keep" in op:
        size: int = op["keep"]
        if size < 1:
            raise TypeError("too many items to keep")
        if done + size > len(value):
            return None
        run = value[done : done + size]
        whole, grown = digest(run), done + size == length and digest(run[:-1]) == op["was"]
        return size if whole == op["was"] or grown else None
    if done >= len(value):
        return None
    if isinstance(op, dict):
        return 1 if digest(value[done]) == op["skip"] else None
    # The last item may have grown, and is checked part by part.
    return 1 if done == length - 1 or digest(value[done]) == op[0] else None


def _stale(value: Json, at: str, log: Ledger) -> Json:
    log.dropped(
        "capsule", at, "this part was changed; what the capsule holds for it is not restored"
    )
    return value


def digest(value: Json) -> str:
    import hashlib  # slow to import, and needed only by those who carry

    return hashlib.sha256(encode(value)).hexdigest()[:12]


_plain = msgspec.msgpack.Encoder().encode  # says types and order, at the speed of a copy


def equal(a: Json, b: Json) -> bool:
    """``same``, for values that share few of their parts."""
    if a is b or a != b:
        return a is b
    return plainly_same(a, b)


def plainly_same(a: Json, b: Json) -> bool:
    """Whether values that Python calls equal are the same as JSON."""
    try:
        return bool(_plain(a) == _plain(b))
    except (OverflowError, UnicodeEncodeError):  # a number or a text that MessagePack cannot say
        return same(a, b)


def same(a: Json, b: Json) -> bool:
    """Equal as JSON, types and the order of keys included: 1 is not 1.0 and not true.

    What was converted there and back shares most of its parts with the original.
    """
    if a is b:
        return True
    kind = a.__class__
    if kind is not b.__class__:
        return False
    if kind is dict:
        if list(a) != list(b):
            return False
        if all(map(is_, a.values(), b.values())):
            return True  # as most
        for one, other in zip(a.values(), b.values(), strict=True):
            if one is not other:
                if one.__class__ is str:
                    if one != other:
                        return False
                elif not same(one, other):
                    return False
        return True
    if kind is list:
        if len(a) != len(b):
            return False
        for one, other in zip(a, b, strict=True):
            if one is not other and not same(one, other):
                return False
        return True
    if kind is float:
        return bool(a == b and encode(a) == encode(b))  # 0.0 is not -0.0
    return bool(a == b)
