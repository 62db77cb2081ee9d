"""What of a tree changed on the way through a dialect, node by node.

``changes(tree, back)`` holds two trees against each other and names each difference of their
meanings: what changed, how, and where it stood in the document that ``tree`` was read from.

Theory of operation. Nodes that stand alone (parameters, a choice, usage, an error) are compared
field by field. Lists are aligned first: a conversation is one sequence of blocks, in which equal
blocks are anchors; between two anchors the blocks that are most alike are pairs; what is left over
is looked for elsewhere (it moved) and inside its neighbours (texts that were joined). Only then
are pairs compared field by field, and messages by the blocks that they share: who speaks, and
where one message ends and the next begins.
"""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ..core.reading import escape
from ..core.walk import meaning
from ..model import (
    Candidate,
    Extras,
    History,
    Json,
    Media,
    Message,
    Node,
    Params,
    Passage,
    Raw,
    Reasoning,
    Refusal,
    Request,
    Response,
    Source,
    Text,
    Toolbox,
    ToolCall,
    ToolKind,
    ToolResult,
    Usage,
)
from ..tools.results import NO_RESULT

How: TypeAlias = Literal["gone", "new", "altered"]


class Change(NamedTuple):
    """One difference. ``what`` is a class of nodes, or one of its fields: ``Text.citations``."""

    what: str
    how: How
    at: str
    """where the node stood in the source; for what is new, where it would stand"""
    near: tuple[str, ...] = ()
    """other places that tell of it as well: the other of two that were joined or swapped"""
    above: tuple[str, ...] = ()
    """the nodes in which it stood, the innermost first"""
    old: Any = None
    new: Any = None
    implied: bool = False
    """it follows from others: a message of which every block is gone"""
    read: Any = None
    """the node as it was read, with its places"""

    def __str__(self) -> str:
        return f"{self.what} {self.how} at {self.at or '/'}: {self.old!r} -> {self.new!r}"[:400]


class Place(NamedTuple):
    """A node: what it means, and as it was read, with its place."""

    written: Any
    read: Any
    same: int = 0
    """the number of the message in which a block stands"""
    role: str = ""
    """who says it"""

    @property
    def at(self) -> str:
        return str(self.read.at)


def changes(tree: Any, back: Any, written: Any = None) -> list[Change]:
    """Every difference between the meanings of two trees; ``said``: the meaning of the first."""
    written = meaning(tree) if written is None else written
    got = meaning(back)
    found: list[Change] = []
    if written != got:
        _node(written, tree, got, (), found)
    for each in getattr(tree, "candidates", ()):  # a word that is no part of the meaning
        if each.stop is not None and each.stop.reason == "other" and each.stop.native is not None:
            found.append(Change("Stop.reason", "altered", each.at, implied=True))
    return _less_learned(found) if any(c.what.startswith("Params.") for c in found) else found


def _less_learned(found: list[Change]) -> list[Change]:
    """Without the fields that are passed on to kin as they are, and are parameters there."""
    learned = {c.what: c.new for c in found if c.what.startswith("Params.") and c.how == "new"}
    kept = {f"Params.{c.at[1:]}": c.old for c in found if c.what == "extras" and c.how == "gone"}
    same = {name for name, value in learned.items() if name in kept and kept[name] == value}
    return [c for c in found if c.what not in same and f"Params.{c.at[1:]}" not in same]


# -- nodes that stand alone -------------------------------------------------------------------


def _node(
    written: Any, read: Any, got: Any, above: tuple[str, ...], out: list[Change],
    besides: frozenset[str] = frozenset(),
) -> None:  # fmt: skip
    """Two nodes of one class, field by field, besides those that were compared already."""
    name = type(written).__name__
    own = getattr(read, "at", None)
    at = above[0] if own is None else own  # a leaf has the place of its node
    inside = above if own is None else (own, *above)
    for field in written.__struct_fields__:
        old, new = getattr(written, field), getattr(got, field)
        if old == new or field in besides or (name, field) == ("Tool", "dialect"):
            continue  # the last: kin pass a provider's tool on as their own
        as_read = getattr(read, field)
        special = _FIELDS.get((type(written), field)) or _FIELDS.get((object, field))
        if special is not None:
            special(old, as_read, new, at, inside, out)
        elif isinstance(old, Struct) and type(new) is type(old):
            _node(old, as_read, new, inside, out)
        else:
            where, how = at, _how(old, new)
            if isinstance(old, Node):
                where = as_read.at
            elif isinstance(read, Params) and how != "new":
                where = read.where(field)
            elif isinstance(read, Request) and field == "model":
                where = read.params.ats.get(field, at)
            near = inside[:2] if how == "new" else ()  # what it would have stood in
            if field == "prefill":
                how, near = "altered", tuple(message.at for message in read.messages[-1:])
            out.append(Change(f"{name}.{field}", how, where, near, inside, old, new))


def _how(old: Any, new: Any) -> How:
    if new is None or new == ():
        return "gone"
    return "new" if old is None or old == () else "altered"


Special: TypeAlias = Callable[[Any, Any, Any, str, tuple[str, ...], list[Change]], None]


def _extras(
    written: Extras | None, read: Extras | None, got: Extras | None, at: str,
    above: tuple[str, ...], out: list[Change],
) -> None:  # fmt: skip
    """Fields one by one; an object of which only some keys were kept, key by key."""
    inner = read.inner if read is not None else ()
    old, new = _flat(written, inner), _flat(got, inner)
    for path in {**old, **new}:
        if path in old and path in new and old[path] == new[path]:
            continue
        if path in old:
            where = at + "".join(f"/{key}" for key in path)
            out.append(Change("extras", "gone", where, (at,), above, old[path], new.get(path)))
        if path in new:
            out.append(Change("extras", "new", at, above[:2], above, None, new[path]))
    for field in ("signature", "spelling"):
        a, b = getattr(written, field, None) or None, getattr(got, field, None) or None
        if a != b:
            out.append(Change(f"extras.{field}", _how(a, b), at, (), above, a, b))


def _flat(extras: Extras | None, inner: tuple[str, ...]) -> dict[tuple[str, ...], Json]:
    if extras is None:
        return {}
    flat: dict[tuple[str, ...], Json] = {}
    for key, value in extras.fields.items():
        if key in inner and isinstance(value, dict):
            flat |= {(key, escape(name)): item for name, item in value.items()}
        else:
            flat[escape(key),] = value
    return flat


def _source(
    written: Any, read: Any, got: Any, at: str, above: tuple[str, ...], out: list[Change]
) -> None:
    """Where the bytes of a medium are: the type is one thing, the bytes are another."""
    if written.media_type != got.media_type and not (
        written.blocks and got.media_type == "text/plain"
    ):
        how = _how(written.media_type, got.media_type)
        out.append(Change("Media.type", how, at, (), above, written.media_type, got.media_type))
    if written.blocks != got.blocks and written.blocks and got.blocks:
        _content(written.blocks, read.blocks, got.blocks, at, above, out)
    elif (
        written.kind != "file"
        and written.kind != got.kind
        and _source_words(written, True) == _source_words(got, True)
    ):
        out.append(Change("Media", "altered", at, (), above, written, got, True))  # text as data
        for block in read.blocks[1:]:
            out.append(Change("Text.boundary", "altered", block.at, (at,), above))
    elif any(getattr(written, f) != getattr(got, f) for f in ("kind", "value", "issuer", "blocks")):
        out.append(Change("Media", "altered", at, (), above, written, got))


def _reasoning(
    written: Reasoning, at: str, got: Reasoning, above: tuple[str, ...], out: list[Change]
) -> None:
    """The words of reasoning: which there are, whether they are a summary, and their parts."""
    old, new = written, got
    content, summary = _squeezed(*old.content), _squeezed(*old.summary)
    got_content, got_summary = _squeezed(*new.content), _squeezed(*new.summary)

    def note(what: str, how: How, a: Any, b: Any) -> None:
        out.append(Change(f"Reasoning.{what}", how, at, (), above, a, b))

    if (content, summary) == (got_content, got_summary):
        counts = any(old.summary) or not content  # an empty one beside the words is nothing
        if old.summary and not new.summary and not summary and counts:
            note("summary", "gone", old.summary, ())  # without a word
        if old.content and not new.content and not content and not summary:
            note("content", "gone", old.content, ())
        if (old.content != new.content and content) or (old.summary != new.summary and summary):
            note("boundary", "altered", old.content or old.summary, new.content or new.summary)
        return
    swapped = False
    if summary and not got_summary and got_content == summary:
        note("summary", "altered", "summary", "content")
        swapped = True
        if content:
            note("content", "gone", old.content, ())
        if len(old.summary) != len(new.content):
            note("boundary", "altered", old.summary, new.content)
    elif content and not got_content and got_summary == content:
        note("summary", "new", "content", "summary")
        swapped = True
        if summary:
            note("summary", "gone", old.summary, ())
        if len(old.content) != len(new.summary):
            note("boundary", "altered", old.content, new.summary)
    if swapped:
        return
    for field, a, b in (("content", content, got_content), ("summary", summary, got_summary)):
        was, now = getattr(old, field), getattr(new, field)
        if a != b:
            note(field, _how(was or None, now or None), was, now)
        elif was != now:
            note("boundary", "altered", was, now)


# -- lists ------------------------------------------------------------------------------------


def _listed(kind: str, key: Callable[[Any], Any]) -> Special:
    """Nodes in a list, which are known by a key, and by their place among those of that key."""

    def compare(
        written: Any, read: Any, got: Any, at: str, above: tuple[str, ...], out: list[Change]
    ) -> None:
        old = [Place(a, b) for a, b in zip(written or (), read or (), strict=True)]
        new = list(got or ())
        if kind == "Candidate":  # each is known by its number
            same = min(len(old), len(new))
            for place, other in zip(old[:same], new[:same], strict=True):
                if place.written != other:
                    _item(kind, place, other, above, out)
            for place in old[same:]:
                out.append(Change(kind, "gone", place.at, (), above, place.written))
            for other in new[same:]:
                _come(kind, other, at, above, out)
            return
        for i, j in _paired([p.written for p in old], new, lambda a, b: _alike_by(key, a, b)):
            if i is None:
                assert j is not None
                _come(kind, new[j], at, above, out)
            elif j is None:
                out.append(Change(kind, "gone", old[i].at, (), above, old[i].written))
            elif old[i].written != new[j]:
                _item(kind, old[i], new[j], above, out)

    return compare


def _come(kind: str, got: Any, at: str, above: tuple[str, ...], out: list[Change]) -> None:
    """A node that is new; a response in which nothing is written says nothing new."""
    empty = isinstance(got, Candidate) and not got.message.content
    out.append(Change(kind, "new", at, (), above, None, got, empty))
    if isinstance(got, Candidate) and got.stop is not None:
        failed = got.stop.reason in ("error", "other")  # as its error says, or nobody
        out.append(Change("Candidate.stop", "new", at, (), above, None, got.stop, failed))


def _item(kind: str, place: Place, got: Any, above: tuple[str, ...], out: list[Change]) -> None:
    """Two nodes of a list; a citation is one thing, but for what only its dialect knows."""
    spelled = place.written
    if kind != "Citation":
        return _node(spelled, place.read, got, above, out)
    if replace(spelled, extras=None) != replace(got, extras=None):
        out.append(Change(kind, "altered", place.at, (), above, spelled, got))
        if got.extras is not None and spelled.extras is None:
            return None  # it is another citation, and says what such a one says
    if spelled.extras != got.extras:
        _extras(spelled.extras, place.read.extras, got.extras, place.at, (place.at, *above), out)
    return None


def _alike_by(key: Callable[[Any], Any], a: Any, b: Any) -> float:
    return 2.0 if key(a) == key(b) else 1.0


def _paired(
    old: Sequence[Any], new: Sequence[Any], alike: Callable[[Any, Any], float]
) -> list[tuple[int | None, int | None]]:
    """Which of two sequences belong together: equal ones, and between them those most alike."""
    keys = [_key(x, f"old {n}") for n, x in enumerate(old)], [_key(x, "new") for x in new]
    pairs: list[tuple[int | None, int | None]] = []
    matcher = SequenceMatcher(None, *keys, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            pairs += zip(range(i1, i2), range(j1, j2), strict=True)
        else:
            pairs += _gap(old, new, (i1, i2, j1, j2), alike)
    return _elsewhere(pairs, old, new, keys, alike)


def _key(node: Any, own: str) -> str:
    """What a node is known by; a blank text is like any other, and so it is no anchor."""
    return own if _is_blank(node) else repr(node)


def _gap(
    old: Sequence[Any], new: Sequence[Any], gap: tuple[int, int, int, int],
    alike: Callable[[Any, Any], float],
) -> list[tuple[int | None, int | None]]:  # fmt: skip
    """The best pairs between two anchors, in order: the longest common subsequence, weighted."""
    i1, i2, j1, j2 = gap
    rows, columns = i2 - i1, j2 - j1
    if rows * columns > 20_000:
        rows = columns = 0  # too much to weigh
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    score = [[alike(old[i1 + i], new[j1 + j]) for j in range(columns)] for i in range(rows)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            taken = best[i + 1][j + 1] + score[i][j] if score[i][j] else 0.0
            best[i][j] = max(taken, best[i + 1][j], best[i][j + 1])
    pairs: list[tuple[int | None, int | None]] = []
    i = j = 0
    while i < rows and j < columns:
        if score[i][j] and best[i][j] == best[i + 1][j + 1] + score[i][j]:
            pairs.append((i1 + i, j1 + j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            pairs.append((i1 + i, None))
            i += 1
        else:
            pairs.append((None, j1 + j))
            j += 1
    pairs += [(k, None) for k in range(i1 + i, i2)]
    pairs += [(None, k) for k in range(j1 + j, j2)]
    return pairs


def _elsewhere(
    pairs: list[tuple[int | None, int | None]], old: Sequence[Any], new: Sequence[Any],
    keys: tuple[list[str], list[str]], alike: Callable[[Any, Any], float],
) -> list[tuple[int | None, int | None]]:  # fmt: skip
    """What is left over is looked for at other places: it may have moved."""
    gone = [i for i, j in pairs if j is None and i is not None]
    come = [j for i, j in pairs if i is None and j is not None]
    found: dict[int, int] = {}
    for wanted in (None, 2.0, 1.0):
        for i in gone:
            if i in found:
                continue
            for j in come:
                if j in found.values():
                    continue
                if wanted == 1.0 and not isinstance(old[i], ToolCall | ToolResult):
                    continue  # of these alone nobody makes up another one
                if _is_blank(old[i]):
                    continue  # nobody can tell whether it is the same
                if keys[0][i] == keys[1][j] or (wanted and alike(old[i], new[j]) >= wanted):
                    found[i] = j
                    break
    if not found:
        return pairs
    taken = set(found.values())
    return [
        (i, found.get(i, j) if i is not None and j is None else j)
        for i, j in pairs
        if not (i is None and j in taken)
    ]


# -- blocks and messages ----------------------------------------------------------------------


def _squeezed(*texts: str) -> str:
    """Words without the white space between them, by which texts are joined and trimmed."""
    return "".join("".join(texts).split())


def _words(block: Any) -> str:
    """What a block says in words, white space aside."""
    match block:
        case Text() | Refusal():
            return _squeezed(block.text)
        case Reasoning():
            return _squeezed(*block.content, *block.summary)
        case Media():
            return _squeezed(block.transcript or "") or _source_words(block.source)
        case Passage():
            return "".join(map(_words, block.content)) or _squeezed(block.title)
        case Raw():
            return _squeezed(block.text or "")
        case _:
            return ""


def _source_words(source: Source, written: bool = False) -> str:
    """What is written in a document; its address, or its data, where that cannot be told."""
    if source.blocks:
        return "".join(map(_words, source.blocks))
    if source.kind == "base64" and (written or (source.media_type or "").startswith("text/")):
        try:
            return _squeezed(base64.b64decode(source.value).decode())
        except ValueError:
            pass
    return _squeezed(source.value)


def _alike(a: Any, b: Any) -> float:
    """How likely one block has become the other: 0 not at all, from 2 on wherever it stands."""
    if a is None and _is_blank(b):
        return 1.0  # a message without content, where each has a text
    if type(a) is not type(b):
        spelled, other = _words(a), _words(b)
        if not spelled or not other or not isinstance(b, Text):
            return 0.0
        if spelled == other:
            return 2.0 if len(spelled) > 3 else 1.5
        if isinstance(a, Refusal) and len(spelled) > 3 and spelled in other:
            return 2.0
        held = isinstance(a, Media | Passage) and len(other) > 3 and other in spelled
        return 1.5 if spelled in other or held else 0.0
    match a:
        case None:
            return 2.0
        case ToolCall():
            score = 1.0 + bool(a.name == b.name) + bool(a.arguments == b.arguments)
            return score + 2.0 * bool(a.id == b.id and a.id is not None)
        case ToolResult() if _is_made_up(a) != _is_made_up(b):
            return 0.0
        case ToolResult():
            same_call = a.call_id == b.call_id and a.call_id is not None
            one, other = ("".join(map(_words, x.content)) for x in (a, b))
            worded = 1.0 if _same_value(one, other) else 0.4 if one and other else 0.6
            named = a.name is not None and a.name == b.name
            score = worded + 2.0 * bool(same_call) + 0.5 * bool(named)
            return score + 1.5 * bool(a.content == b.content)
        case Reasoning() if a.signature is not None and a.signature == b.signature:
            return 3.0
        case Text() | Refusal() | Reasoning():
            other = _words(b)
            one = _told(a, other)
            if one == other:
                return 3.0
            if not one or not other:
                return 0.0
            if one in other or other in one:
                return 2.0 if min(len(one), len(other)) > 3 else 1.5
            return 1.2 if SequenceMatcher(None, one, other).quick_ratio() > 0.5 else 0.0
        case Media():
            same = _words(a) == _words(b)  # a recording does not become a document that says more
            return (1.0 + 2 * same) if a.kind == b.kind else 2.5 * same
        case Passage():
            return 1.0 + 2 * (_words(a) == _words(b))
        case Raw():
            if a.payload == b.payload:
                return 2.0  # passed on as it is, whoever knows it
            return float(a.dialect == b.dialect)
        case _:
            return 1.0


_Calls: TypeAlias = tuple[dict[str | None, str], dict[str | None, ToolKind]]
"""The calls by their ids: what they are called in the end, and of what kind they were."""


def _is_made_up(result: ToolResult) -> bool:
    """Whether a result tells that a call has none."""
    return len(result.content) == 1 and _words(result.content[0]) == _squeezed(NO_RESULT)


def _same_value(one: str, other: str) -> bool:
    """Whether two texts are the same, or the same JSON."""
    if one == other or one[:1] != "{" or other[:1] != "{":
        return one == other
    try:
        return bool(json.loads(one) == json.loads(other))
    except ValueError:
        return False


def _results(places: Sequence[Place]) -> dict[str | None, list[int]]:
    """The results by the ids of their calls."""
    found: dict[str | None, list[int]] = {}
    for number, place in enumerate(places):
        if isinstance(place.written, ToolResult) and not _is_made_up(place.written):
            found.setdefault(place.written.call_id, []).append(number)
    return found


_Pair: TypeAlias = tuple[int | None, int | None]
_OF = {"developer": "system"}


class _Blocks:
    """Two sequences of blocks that are aligned."""

    def __init__(
        self, old: list[Place], new: list[Place], at: str, above: tuple[str, ...],
        out: list[Change], heads: Sequence[Place] = (), calls: _Calls = ({}, {}),
    ) -> None:  # fmt: skip
        self.old, self.new, self.heads = old, new, heads
        self.at, self.above, self.out = at, above, out
        self.calls, self.kinds = calls
        pairs = self.apart(_paired([p.written for p in old], [p.written for p in new], _alike))
        self.there = {i: j for i, j in pairs if i is not None and j is not None}
        self.follow()
        self.reunite()
        self.uncross()
        self.back = {j: i for i, j in self.there.items()}
        self.gone = [i for i in range(len(old)) if i not in self.there]
        self.come = [j for j in range(len(new)) if j not in self.back]
        self.parts: dict[int, list[int]] = {}  # a block -> the others that were joined to it
        self.pieces: dict[int, list[int]] = {}  # a block -> the others into which it was split
        self.join()

    def apart(self, pairs: list[_Pair]) -> list[_Pair]:
        """The pairs without blank texts that stand for a message of which nothing is left."""
        met = [
            (self.old[i].same, self.new[j].same)
            for i, j in pairs
            if i is not None and j is not None
        ]
        left = {same for same, _ in met}
        void = {_OF.get(p.role, p.role) for p in self.old if p.same not in left}
        out: list[_Pair] = []
        for i, j in pairs:
            if i is not None and j is not None and _is_blank(self.old[i].written):
                same, role = self.old[i].same, _OF.get(self.new[j].role, self.new[j].role)
                other = role != _OF.get(self.old[i].role, self.old[i].role)
                other = other or any(a == same and b != self.new[j].same for a, b in met)
                if other and role in void and met.count((same, self.new[j].same)) == 1:
                    out += [(i, None), (None, j)]
                    continue
            out.append((i, j))
        return out

    def reunite(self) -> None:
        """Blank texts that moved with the message in which they stand."""
        met = {(self.old[i].same, self.new[j].same) for i, j in self.there.items()}
        taken = set(self.there.values())
        for i, old in enumerate(self.old):
            if i in self.there or not _is_blank(old.written):
                continue
            for j, new in enumerate(self.new):
                if j in taken or (old.same, new.same) not in met:
                    continue
                if type(new.written) is type(old.written) and new.written.text == old.written.text:
                    self.there[i] = j
                    taken.add(j)
                    break

        alone = [i for i in range(len(self.old)) if i not in self.there and self.is_alone(i)]
        come = [
            j for j in range(len(self.new)) if j not in taken and self.new[j].written is not None
        ]
        if len(alone) == len(come) == 1:  # a message of nothing but white space, elsewhere
            old, new = self.old[alone[0]], self.new[come[0]]
            if (old.written, old.role) == (new.written, new.role):
                self.there[alone[0]] = come[0]

    def is_alone(self, i: int) -> bool:
        """Whether a blank text is all that a message says."""
        sames = [place.same for place in self.old]
        return _is_blank(self.old[i].written) and sames.count(self.old[i].same) == 1

    def follow(self) -> None:
        """Results go with their calls, whatever these are called now."""
        named = {call: call for call in self.calls if call in self.kinds}  # as most stay
        named |= {
            self.old[i].written.id: self.new[j].written.id
            for i, j in self.there.items()
            if isinstance(self.old[i].written, ToolCall)
            and isinstance(self.new[j].written, ToolCall)
        }
        old, new = _results(self.old), _results(self.new)
        ids = [p.written.id for p in self.old if isinstance(p.written, ToolCall)]
        if len(set(ids)) < len(ids):
            return  # what a call is called now, nobody knows
        for call_id, numbers in old.items():
            others = new.get(named.get(call_id), [])
            if call_id is None or len(numbers) != 1 or len(others) != 1:
                continue
            (i,), (j,) = numbers, others
            if self.there.get(i) != j:
                self.there = {a: b for a, b in self.there.items() if b != j} | {i: j}
        # A result that replies no call is not the one that was made up for another call.
        for call_id, numbers in old.items():
            for i in numbers if call_id not in self.kinds else ():
                j = self.there.get(i, -1)
                got = self.new[j].written if j >= 0 else None
                if isinstance(got, ToolResult) and got.call_id in self.calls:
                    if got.call_id is not None and got.content != self.old[i].written.content:
                        del self.there[i]

    def uncross(self) -> None:
        """Results of one call, and blocks that are equal now, differ by their order alone."""
        same: dict[Any, list[int]] = {}
        for i, j in self.there.items():
            old, new = self.old[i].written, self.new[j].written
            if isinstance(old, ToolResult) and isinstance(new, ToolResult):
                if old.call_id is not None:
                    same.setdefault((old.call_id, new.call_id), []).append(i)
            elif type(old) is type(new) and not _is_blank(new):
                same.setdefault((type(new), repr(new)), []).append(i)
        for numbers in same.values():
            places = sorted(self.there[i] for i in numbers)
            self.there |= dict(zip(sorted(numbers), places, strict=True))

    def join(self) -> None:
        """Left-over texts that stand inside another one, before or after them."""
        texts = Text | Reasoning | Refusal
        told = {i: j for i, j in self.there.items() if isinstance(self.new[j].written, texts)}
        crossings: list[tuple[int, int, list[int]]] = []
        for i in tuple(self.gone):
            for k in sorted(told, key=lambda k: abs(k - i))[:8]:
                if self.is_joined(i, k):
                    self.parts.setdefault(k, []).append(i)
                    self.gone.remove(i)
                    passed = [m for m in self.there if min(i, k) < m < max(i, k)]
                    if passed:
                        crossings.append((i, k, passed))
                    break
        for i, k, passed in crossings:  # it moved, or what it was joined to
            both = [k, *passed]
            both += [part for m in both for part in self.parts.get(m, ())]
            near = [self.old[m].at for m in both]
            self.note("order", "altered", i, near, None, None, _is_blank(self.old[i].written))
        for j in tuple(self.come):
            for k in _near(j, self.back):
                alike = type(self.new[k].written) is type(self.new[j].written)
                if alike and _is_of(self.new[j].written, self.old[self.back[k]].written):
                    self.pieces.setdefault(self.back[k], []).append(j)
                    self.come.remove(j)
                    break

    def is_joined(self, i: int, k: int) -> bool:
        """Whether a block that is left over stands inside what became of another one."""
        spelled, other, there = (
            self.old[i].written,
            self.old[k].written,
            self.new[self.there[k]].written,
        )
        if not _is_blank(spelled):
            if not isinstance(there, Text) and type(spelled) is not type(there):
                return False
            whole = _words(there)
            words = _told(spelled, whole)
            return 0 < len(words) <= len(whole) - len(_told(other, whole)) and words in whole
        # Of a text of white space nothing can be seen in a joint but that there is one.
        if not isinstance(other, Text | Refusal) or not isinstance(there, Text | Refusal):
            return False
        if self.old[i].same != self.old[k].same:
            return False
        return other.text != there.text or (
            _signature(spelled) is not None and _signature(spelled) == _signature(there)
        )

    def over(self, i: int) -> tuple[str, ...]:
        """The nodes in which a block stood."""
        return (self.heads[self.old[i].same].at, *self.above) if self.heads else self.above

    def note(self, what: str, how: How, i: int, near: Sequence[str] = (), *pair: Any) -> None:
        place = self.old[i]
        change = Change(what, how, place.at, tuple(near), self.over(i), *pair)
        self.out.append(change._replace(read=place.read))

    def compare(self) -> None:
        emptied = self.emptied()
        blanks = [self.new[j].written for j in self.come if _is_blank(self.new[j].written)]
        for i in self.gone:
            spelled = self.old[i].written
            if _is_blank(spelled) and spelled in blanks:  # it is elsewhere: blanks are no anchors
                blanks.remove(spelled)
                self.note("Text.blank", "gone", i, (), spelled, None, True)
                continue
            name = "Text.blank" if _is_blank(spelled) else _name(self.old[i])
            self.note(name, "gone", i, (), spelled, self.heir(spelled))
        for j in self.come:
            if self.is_void(self.new[j].written, emptied):
                emptied -= 1  # the message, or the result, stands there and says nothing
                self.out.append(Change("Text", "new", self.at, (), self.above, implied=True))
                continue
            near = [p for k in _near(j, self.back) for p in self.places(self.back[k])]
            name, spelled = _name(self.new[j]), self.new[j].written
            above = (*self.former(spelled), *self.above)
            self.out.append(Change(name, "new", self.at, tuple(near), above, None, spelled))
        for i, j in self.there.items():
            if i in self.parts or i in self.pieces:
                self.joined(i, j)
            else:
                self.pair(i, self.new[j].written)
        self.order()

    def former(self, written: Any) -> list[str]:
        """The places of the results that are gone, of which a block is what they held."""
        gone = [i for i in self.gone if isinstance(self.old[i].written, ToolResult)]
        held = [
            i for i in gone if any(_alike(x, written) >= 2.0 for x in self.old[i].written.content)
        ]
        return [place for i in held for place in self.places(i)]

    def heir(self, written: Any) -> str | None:
        """Where the words of a result are that is gone: it may stand in another of its call."""
        words = _squeezed(*map(_words, written.content)) if isinstance(written, ToolResult) else ""
        for place in self.new if words else ():
            if isinstance(place.written, ToolResult):
                if words in _squeezed(*map(_words, place.written.content)):
                    return "in another result"
        return None

    def is_void(self, written: Any, emptied: int) -> bool:
        """Whether it is what is written in place of all that could not be."""
        left = emptied > 0 if self.heads else bool(self.gone) and not self.there
        return left and (written is None or (_is_blank(written) and written == Text(written.text)))

    def places(self, i: int) -> tuple[str, ...]:
        return (self.old[i].at, *self.over(i)[: bool(self.heads)])

    def emptied(self) -> int:
        """Messages of which nothing is left: how many."""
        gone = set(self.gone)
        left = {place.same for i, place in enumerate(self.old) if i not in gone}
        empty = [
            head for n, head in enumerate(self.heads) if n not in left and head.written.content
        ]
        both = sorted(self.there.items())
        kept = _rising([j for _, j in both])
        stay = {self.old[i].same for number, (i, _) in enumerate(both) if number in kept}
        for n, head in enumerate(self.heads):
            if n not in stay and head.written.content:  # all of it is gone, or elsewhere
                near = tuple(other.at for other in self.heads[n + 1 : n + 2])
                change = Change(
                    "Message", "gone", head.at, near, self.above, head.written, None, True
                )
                self.out.append(change)
        return len(empty)

    def pair(self, i: int, got: Any) -> None:
        """Two blocks that belong together."""
        place = self.old[i]
        spelled = place.written
        if spelled == got:
            return
        if type(spelled) is not type(got):
            self.note(_name(place), "altered", i, (), spelled, got)
            if spelled is not None and got.extras is not None:
                _extras(None, None, got.extras, place.at, self.over(i), self.out)
            return
        besides: frozenset[str] = frozenset()
        if isinstance(spelled, Reasoning):
            _reasoning(spelled, place.at, got, (place.at, *self.over(i)), self.out)
            besides = frozenset({"content", "summary"})
        elif isinstance(spelled, ToolResult):
            was, now = (spelled.call_id, spelled.name), (got.call_id, got.name)
            if was[0] != now[0] and was[1] != now[1]:
                # It names its call by the id or by the tool's name: the one for the other.
                self.note("ToolResult.call_id", "altered", i, (), was, now)
                self.note("ToolResult.name", "altered", i, (), was, now, True)
                besides = frozenset({"call_id", "name"})
            if spelled.kind != got.kind and spelled.call_id in self.kinds:
                # What kind of result it is follows from its call.
                self.note("ToolResult.kind", "altered", i, (), spelled.kind, got.kind, True)
                besides |= {"kind"}
            if (
                "name" not in besides
                and got.name is None
                and self.calls.get(got.call_id) == spelled.name is not None
            ):
                # Its call has that name, and is known by its id: it may be written that it is gone.
                self.note("ToolResult.name", "gone", i, (), spelled.name, None, True)
                besides |= {"name"}
        first = len(self.out)
        _node(spelled, place.read, got, self.over(i), self.out, besides)
        if isinstance(spelled, ToolResult) and (others := self.siblings(spelled)):
            # A second result of the same call was written after this one, as its loss tells.
            self.out[first:] = [c._replace(near=(*c.near, *others)) for c in self.out[first:]]
        if isinstance(spelled, ToolResult) and spelled.cache is not None:
            # Its mark may stand on one of its texts: that it left its place is told already.
            moved = any(change.new == spelled.cache for change in self.out[first:])
            self.out[first:] = [
                change._replace(implied=True) if change.new == spelled.cache else change
                for change in self.out[first:]
            ]
            if moved:
                self.out[first:] = [
                    c._replace(new="on a text") if c.what == "ToolResult.cache" else c
                    for c in self.out[first:]
                ]
        return

    def siblings(self, result: ToolResult) -> list[str]:
        """The places of results of the same call that are no longer there by themselves."""
        gone = [self.old[k] for k in self.gone if isinstance(self.old[k].written, ToolResult)]
        found = [
            k for k, p in enumerate(self.old) if p in gone and p.written.call_id == result.call_id
        ]
        return [place for k in found for place in self.places(k)]

    def joined(self, i: int, j: int) -> None:
        """A text that was joined with others, or split: all its parts against all its pieces."""
        parts = sorted([i, *self.parts.get(i, ())])
        pieces = [self.new[k].written for k in sorted([j, *self.pieces.get(i, ())])]
        now = "".join(map(_words, pieces))
        was = "".join(_told(self.old[k].written, now) for k in parts)
        places = [self.old[k].at for k in parts]
        if was != now:
            self.note("Text.text", "altered", i, places, was, now)
        if len(parts) == 1 and isinstance(self.old[i].written, Text | Reasoning):
            self.note("Text.boundary", "new", i, (), was, pieces)
        worded = False
        for number, k in enumerate(parts):
            before, after = places[:number][-1:], places[number + 1 :][:1]
            if _is_blank(self.old[k].written):
                if len(parts) > 1:
                    self.note("Text.blank", "gone", k, (*before, *after))
                continue
            if worded:
                self.note("Text.boundary", "altered", k, before)
            worded = True
        for k in parts:
            self.rest(k, pieces)
            if (text := getattr(self.old[k].written, "text", "")) != text.strip():
                self.note("Text.text", "altered", k, (), text, now, True)

    def rest(self, i: int, pieces: Sequence[Any]) -> None:
        """What there is to a text beside its words: it is found at one of the pieces, or not."""
        place = self.old[i]
        if type(place.written) is not type(pieces[0]):
            return self.note(_name(place), "altered", i, (), place.written, pieces)
        if isinstance(place.written, Reasoning):
            for one, other in (("summary", "content"), ("content", "summary")):
                if any(getattr(place.written, one)) and not any(getattr(x, one) for x in pieces):
                    self.note("Reasoning.summary", "altered", i, (), one, other)
        for field in place.written.__struct_fields__:
            value, there = getattr(place.written, field), [getattr(x, field) for x in pieces]
            if field in _TEXTUAL or not value or value in there:
                continue
            if field == "citations":
                self.cited(i, pieces)
            elif field == "extras":
                fields = {k: v for x in there if x is not None for k, v in x.fields.items()}
                signature = next(
                    (x.signature for x in there if x is not None and x.signature), None
                )
                fields = {k: v for k, v in fields.items() if k in value.fields}
                merged = Extras("", fields, signature=signature if value.signature else None)
                inside = (place.at, *self.over(i))
                _extras(value, place.read.extras, merged, place.at, inside, self.out)
            else:
                where = value if isinstance(value, Node) else place.written
                at = getattr(place.read, field).at if where is value else place.at
                over = (place.at, *self.over(i))
                name = f"{_name(place)}.{field}"
                self.out.append(Change(name, "gone", at, (), over, value))
        return None

    def cited(self, i: int, pieces: Sequence[Any]) -> None:
        """Citations of a text that was joined: their spans move with it."""
        there = [replace(c, span=None, extras=None) for piece in pieces for c in piece.citations]
        extras = [c.extras for piece in pieces for c in piece.citations]
        spans = [c.span for piece in pieces for c in piece.citations]
        over = (self.old[i].at, *self.over(i))
        for spelled, read in zip(
            self.old[i].written.citations, self.old[i].read.citations, strict=True
        ):
            bare = replace(spelled, span=None, extras=None)
            if bare not in there:
                near = next((c for c in there if c.url is not None and c.url == spelled.url), None)
                how: How = "gone" if near is None else "altered"
                self.out.append(Change("Citation", how, read.at, (), over, spelled, near))
                continue
            got = extras[there.index(bare)]
            if spelled.extras != got:
                _extras(spelled.extras, read.extras, got, read.at, (read.at, *over), self.out)
            if spelled.span is None and spans[there.index(bare)] is not None:
                span = spans[there.index(bare)]
                self.out.append(Change("Citation", "altered", read.at, (), over, spelled, span))

    def order(self) -> None:
        """Blocks in another order; it may be told of either of those that changed places."""
        both = sorted(self.there.items())
        kept = _rising([j for _, j in both])
        for number, (i, j) in enumerate(both):
            if number not in kept:
                others = [a for a, b in both if a != i and (a < i) != (b < j)]
                others += [part for a in others for part in self.parts.get(a, ())]
                near = [p for a in (i, *others) for p in self.places(a)]
                self.note("order", "altered", i, near, self.old[i].written)
                for part in self.parts.get(i, ()):  # it moved with what it was joined to
                    self.note("order", "altered", part, near, None, None, True)
        for (
            i
        ) in self.gone:  # what moved past it, or with it, was written to move before it was gone
            same = self.old[i].same
            beside = [k for k, place in enumerate(self.old) if abs(place.same - same) < 2]
            near = [p for k in beside for p in self.places(k)]
            self.out.append(
                Change("order", "altered", self.old[i].at, tuple(near), self.over(i), implied=True)
            )


_TEXTUAL = frozenset({"at", "text", "content", "summary"})


def _name(place: Place) -> str:
    return "Message" if place.written is None else type(place.written).__name__


def _holds(whole: Any, part: Any, least: int = 1) -> bool:
    """Whether the words of one block stand inside another, if there are enough of them."""
    spelled = _words(part)
    return len(spelled) >= least and isinstance(whole, _WORDY) and spelled in _words(whole)


def _is_of(piece: Any, whole: Any) -> bool:
    """Whether a block may be a piece of another: its words, or what signed or encrypted it."""
    if isinstance(piece, Reasoning) and not _words(piece):
        return (
            isinstance(whole, Reasoning)
            and piece.signature is not None
            and piece.signature == whole.signature
        )
    return _holds(whole, piece, 2)


def _told(block: Any, whole: str) -> str:
    """What of a block is told in a text: of reasoning, its content or its summary alone."""
    if isinstance(block, Reasoning):
        for words in (_words(block), _squeezed(*block.content), _squeezed(*block.summary)):
            if words and words in whole:
                return words
    return _words(block)


def _signature(block: Text | Refusal) -> Any:
    return None if block.extras is None else block.extras.signature


def _is_blank(block: Any) -> bool:
    """A text of white space: what is left of it in a joint cannot be seen."""
    return isinstance(block, Text | Refusal) and not _words(block)


_WORDY = Text | Reasoning | Refusal | Media | Passage


def _near(i: int, known: dict[int, int]) -> list[int]:
    """The nearest before and after that are known."""
    before = max((k for k in known if k < i), default=None)
    after = min((k for k in known if k > i), default=None)
    return [k for k in (before, after) if k is not None]


def _rising(numbers: list[int]) -> set[int]:
    """The indices of a longest rising subsequence."""
    if all(a < b for a, b in itertools.pairwise(numbers)):
        return set(range(len(numbers)))
    best: list[tuple[int, int]] = []  # (length, the one before)
    for index, number in enumerate(numbers):
        lower = (k for k in range(index) if numbers[k] < number)
        before = max(lower, key=lambda k: best[k][0], default=-1)
        best.append(((best[before][0] if before >= 0 else 0) + 1, before))
    index = max(range(len(numbers)), key=lambda k: best[k][0])
    kept: set[int] = set()
    while index >= 0:
        kept.add(index)
        index = best[index][1]
    return kept


def _content(
    written: Any, read: Any, got: Any, at: str, above: tuple[str, ...], out: list[Change]
) -> None:
    """The blocks inside a block: of a result, a passage, a document."""
    old = [Place(a, b) for a, b in zip(written, read, strict=True)]
    _Blocks(old, [Place(b, b) for b in got], at, above, out).compare()


def _conversation(
    written: Sequence[Message], read: Sequence[Message], got: Sequence[Message], at: str,
    above: tuple[str, ...], out: list[Change],
) -> None:  # fmt: skip
    """All messages: their blocks as one sequence, then who speaks, then their boundaries."""
    start, end = 0, 0
    shorter = min(len(written), len(got))
    while start < shorter and written[start] == got[start]:
        start += 1
    while end < shorter - start and written[-1 - end] == got[-1 - end]:
        end += 1
    until = len(written) - end
    heads = [Place(*pair) for pair in zip(written[start:until], read[start:until], strict=True)]
    new = list(got[start : len(got) - end])
    old_blocks = [
        Place(block, block_read, n, head.written.role)
        for n, head in enumerate(heads)
        for block, block_read in zip(
            head.written.content or (None,), head.read.content or (head.read,), strict=True
        )
    ]
    new_blocks = [
        Place(block, block, n, other.role)
        for n, other in enumerate(new)
        for block in other.content or (None,)
    ]
    calls = (
        {b.id: b.name for message in got for b in message.content if isinstance(b, ToolCall)},
        {b.id: b.kind for message in written for b in message.content if isinstance(b, ToolCall)},
    )
    blocks = _Blocks(old_blocks, new_blocks, at, above, out, heads, calls)
    blocks.compare()
    if blocks.gone and end:  # what stands after them may be written to have moved past them
        near = (read[until].at, *(block.at for block in read[until].content))
        out.append(Change("order", "altered", at, near, above, implied=True))
    met = dict(blocks.there)
    for k, others in blocks.parts.items():
        met |= dict.fromkeys(others, met[k])
    both = [(old_blocks[i], new_blocks[j]) for i, j in sorted(met.items())]
    _speakers(heads, new, both, above, out)
    _boundaries(heads, both, above, out)


def _speakers(
    heads: list[Place], new: list[Message], both: list[tuple[Place, Place]],
    above: tuple[str, ...], out: list[Change],
) -> None:  # fmt: skip
    """Who says what was written, and what else there is to a message."""
    first: dict[int, int] = {}
    seen: set[tuple[int, int]] = set()
    for old, got in both:
        first.setdefault(old.same, got.same)
        head, roles = heads[old.same], (heads[old.same].written.role, new[got.same].role)
        if roles[0] != roles[1] and (old.same, got.same) not in seen:
            out.append(Change("Message.role", "altered", head.at, (old.at,), above, *roles))
        seen.add((old.same, got.same))
    taken: set[int] = set()
    for same, there in first.items():
        head, message = heads[same], new[there]
        named = head.written.name, message.name
        if named[0] != named[1] and not (there in taken and named[0] is None):
            out.append(Change("Message.name", _how(*named), head.at, (), above, *named))
        if head.written.extras != message.extras and not (
            there in taken and head.written.extras is None
        ):
            inside = (head.at, *above)
            _extras(head.written.extras, head.read.extras, message.extras, head.at, inside, out)
        taken.add(there)


def _boundaries(
    heads: list[Place], both: list[tuple[Place, Place]], above: tuple[str, ...], out: list[Change]
) -> None:
    """Where one message ends and the next begins."""
    for (a, b), (c, d) in itertools.pairwise(both):
        if (a.same == c.same) == (b.same == d.same):
            continue
        near = tuple(head.at for head in heads[a.same : c.same + 1])
        how: How = "gone" if b.same == d.same else "new"
        at = heads[c.same].at
        out.append(Change("Message.boundary", how, at, (*near, a.at, c.at), above))


def _one(
    written: Message,
    read: Message,
    got: Message,
    at: str,
    above: tuple[str, ...],
    out: list[Change],
) -> None:
    _conversation((written,), (read,), (got,), at, above, out)


_TOOLS = _listed("Tool", lambda tool: tool.name)


def _uncounted(
    old: Any, read: Any, new: Any, at: str, inside: tuple[str, ...], out: list[Change]
) -> None:
    """What nobody counted is new where it is a number."""
    how: How = "new" if set(old) - set(new) else "gone"
    near = inside[:2] if how == "new" else ()
    out.append(Change("Usage.unsaid", how, at, near, inside, old, new))


_FIELDS: dict[tuple[type, str], Special] = {
    (Usage, "unsaid"): _uncounted,
    (object, "extras"): _extras,
    (object, "at"): lambda *_: None,
    (Request, "messages"): _conversation,
    (History, "messages"): _conversation,
    (Candidate, "message"): _one,
    (Media, "source"): _source,
    (ToolResult, "content"): _content,
    (Passage, "content"): _content,
    (Text, "citations"): _listed("Citation", lambda c: c.url),
    (Request, "tools"): _TOOLS,
    (Toolbox, "tools"): _TOOLS,
    (Response, "candidates"): _listed("Candidate", lambda c: None),
}
