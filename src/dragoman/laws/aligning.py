"""Which blocks of two conversations correspond: equal ones, those most alike, moved and joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from msgspec.structs import replace

from ..model import Extras, Node, Reasoning, Refusal, Text, ToolCall, ToolKind, ToolResult
from .changes import Change, How, Place, note_extras, note_reasoning, squeezed
from .likeness import (
    SAME_SPEAKER,
    TEXTUAL,
    alike,
    is_blank,
    is_of,
    name_of,
    near_of,
    paired_by,
    results_by_call,
    rising_of,
    signature_of,
    told_of,
    words_of,
)

_Calls: TypeAlias = tuple[dict[str | None, str], dict[str | None, ToolKind]]
"""The calls by their ids: what they are called in the end, and of what kind they were."""


_Pair: TypeAlias = tuple[int | None, int | None]


CompareNodes: TypeAlias = Callable[..., None]
"""``comparing`` itself, which compares pairs of blocks field by field, and calls this for lists."""


class Blocks:
    """Two sequences of blocks that are aligned."""

    def __init__(
        self, node: CompareNodes, old: list[Place], new: list[Place], at: str,
        above: tuple[str, ...], out: list[Change], heads: Sequence[Place] = (),
        calls: _Calls = ({}, {}),
    ) -> None:  # fmt: skip
        self.node, self.old, self.new, self.heads = node, old, new, heads
        self.at, self.above, self.out = at, above, out
        self.calls, self.kinds = calls
        pairs = self.apart(paired_by([p.written for p in old], [p.written for p in new], alike))
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
        void = {SAME_SPEAKER.get(p.role, p.role) for p in self.old if p.same not in left}
        out: list[_Pair] = []
        for i, j in pairs:
            if i is not None and j is not None and is_blank(self.old[i].written):
                same, role = self.old[i].same, SAME_SPEAKER.get(self.new[j].role, self.new[j].role)
                other = role != SAME_SPEAKER.get(self.old[i].role, self.old[i].role)
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
            if i in self.there or not is_blank(old.written):
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
        return is_blank(self.old[i].written) and sames.count(self.old[i].same) == 1

    def follow(self) -> None:
        """Results go with their calls, whatever these are called now."""
        named = {call: call for call in self.calls if call in self.kinds}  # as most stay
        named |= {
            self.old[i].written.id: self.new[j].written.id
            for i, j in self.there.items()
            if isinstance(self.old[i].written, ToolCall)
            and isinstance(self.new[j].written, ToolCall)
        }
        old, new = results_by_call(self.old), results_by_call(self.new)
        ids = [p.written.id for p in self.old if isinstance(p.written, ToolCall)]
        if len(set(ids)) < len(ids):
            return  # what a call is called now, nobody knows
        for call_id, numbers in old.items():
            name = named.get(call_id)
            others = new.get(name, [])
            if call_id is None or len(numbers) != 1 or len(others) != 1:
                continue
            if named.get(call_id) is None:
                continue  # where calls have no ids, the order tells
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
            elif type(old) is type(new) and not is_blank(new):
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
            self.note("order", "altered", i, near, None, None, is_blank(self.old[i].written))
        for j in tuple(self.come):
            for k in near_of(j, self.back):
                alike = type(self.new[k].written) is type(self.new[j].written)
                if alike and is_of(self.new[j].written, self.old[self.back[k]].written):
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
        if not is_blank(spelled):
            if not isinstance(there, Text) and type(spelled) is not type(there):
                return False
            whole = words_of(there)
            words = told_of(spelled, whole)
            return 0 < len(words) <= len(whole) - len(told_of(other, whole)) and words in whole
        # Of a text of white space nothing can be seen in a joint but that there is one.
        if not isinstance(other, Text | Refusal) or not isinstance(there, Text | Refusal):
            return False
        if self.old[i].same != self.old[k].same:
            return False
        return other.text != there.text or (
            signature_of(spelled) is not None and signature_of(spelled) == signature_of(there)
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
        blanks = [self.new[j].written for j in self.come if is_blank(self.new[j].written)]
        for i in self.gone:
            spelled = self.old[i].written
            if is_blank(spelled) and spelled in blanks:  # it is elsewhere: blanks are no anchors
                blanks.remove(spelled)
                self.note("Text.blank", "gone", i, (), spelled, None, True)
                continue
            name = "Text.blank" if is_blank(spelled) else name_of(self.old[i])
            self.note(name, "gone", i, (), spelled, self.heir(spelled))
        for j in self.come:
            if self.is_void(self.new[j].written, emptied):
                emptied -= 1  # the message, or the result, stands there and says nothing
                self.out.append(Change("Text", "new", self.at, (), self.above, implied=True))
                continue
            near = [p for k in near_of(j, self.back) for p in self.places(self.back[k])]
            name, spelled = name_of(self.new[j]), self.new[j].written
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
            i for i in gone if any(alike(x, written) >= 2.0 for x in self.old[i].written.content)
        ]
        return [place for i in held for place in self.places(i)]

    def heir(self, written: Any) -> str | None:
        """Where the words of a result are that is gone: it may stand in another of its call."""
        words = squeezed(*map(words_of, written.content)) if isinstance(written, ToolResult) else ""
        for place in self.new if words else ():
            if isinstance(place.written, ToolResult):
                if words in squeezed(*map(words_of, place.written.content)):
                    return "in another result"
        return None

    def is_void(self, written: Any, emptied: int) -> bool:
        """Whether it is what is written in place of all that could not be."""
        left = emptied > 0 if self.heads else bool(self.gone) and not self.there
        return left and (written is None or (is_blank(written) and written == Text(written.text)))

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
        kept = rising_of([j for _, j in both])
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
            self.note(name_of(place), "altered", i, (), spelled, got)
            if spelled is not None and got.extras is not None:
                note_extras(None, None, got.extras, place.at, self.over(i), self.out)
            return
        besides: frozenset[str] = frozenset()
        if isinstance(spelled, Reasoning):
            note_reasoning(spelled, place.at, got, (place.at, *self.over(i)), self.out)
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
        self.node(spelled, place.read, got, self.over(i), self.out, besides)
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
        now = "".join(map(words_of, pieces))
        was = "".join(told_of(self.old[k].written, now) for k in parts)
        places = [self.old[k].at for k in parts]
        if was != now:
            self.note("Text.text", "altered", i, places, was, now)
        if len(parts) == 1 and isinstance(self.old[i].written, Text | Reasoning):
            self.note("Text.boundary", "new", i, (), was, pieces)
        worded = False
        for number, k in enumerate(parts):
            before, after = places[:number][-1:], places[number + 1 :][:1]
            if is_blank(self.old[k].written):
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
            return self.note(name_of(place), "altered", i, (), place.written, pieces)
        if isinstance(place.written, Reasoning):
            for one, other in (("summary", "content"), ("content", "summary")):
                if any(getattr(place.written, one)) and not any(getattr(x, one) for x in pieces):
                    self.note("Reasoning.summary", "altered", i, (), one, other)
        for field in place.written.__struct_fields__:
            value, there = getattr(place.written, field), [getattr(x, field) for x in pieces]
            if field in TEXTUAL or not value or value in there:
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
                note_extras(value, place.read.extras, merged, place.at, inside, self.out)
            else:
                where = value if isinstance(value, Node) else place.written
                at = getattr(place.read, field).at if where is value else place.at
                over = (place.at, *self.over(i))
                name = f"{name_of(place)}.{field}"
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
                note_extras(spelled.extras, read.extras, got, read.at, (read.at, *over), self.out)
            if spelled.span is None and spans[there.index(bare)] is not None:
                span = spans[there.index(bare)]
                self.out.append(Change("Citation", "altered", read.at, (), over, spelled, span))

    def order(self) -> None:
        """Blocks in another order; it may be told of either of those that changed places."""
        both = sorted(self.there.items())
        kept = rising_of([j for _, j in both])
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
