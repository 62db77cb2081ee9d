"""Token usage as a table: one row says where a dialect counts tokens, and which ones.

A row is a key (``object/key`` inside an object) and the buckets of ``Usage`` that it is the sum of:

    COUNTS = Counts(
        {
            "prompt_tokens": INPUT,
            "completion_tokens": OUTPUT,
            "total_tokens": ALL,
            "prompt_tokens_details/cached_tokens": ("cache_read",),
            "completion_tokens_details/reasoning_tokens": ("reasoning",),
        }
    )

The reader takes the sums apart, and the writer adds the buckets up. A sum that is not what its
buckets give (some servers count otherwise) is kept as it was, for the same dialect. A bucket
without a row of its own is in the sums alone, and the ledger reports it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from operator import itemgetter
from typing import TYPE_CHECKING

from ..ledger import Ledger
from ..model import Extras, Json, Usage
from .reading import expected, uncounted
from .writing import Writing

if TYPE_CHECKING:
    from ..dialect import Dialect

INPUT = ("input", "cache_read", "cache_write")
OUTPUT = ("output", "reasoning")
ALL = INPUT + OUTPUT
APART = ("cache_read", "cache_write", "reasoning")
"""Buckets that a dialect need not count."""
SUMS = (*((name,) for name in APART), ("input",), INPUT, ("output",), OUTPUT, ALL)
"""What a row may count; a row is compiled to its place in this list, and in ``added``."""
NOTHING: dict[str, Json] = {}


def added(
    given: int, read: int | None, written: int | None, made: int, reasoning: int | None
) -> tuple[int | None, ...]:
    """The counts of ``SUMS``."""
    asked = given + (read or 0) + (written or 0)
    wrote = made + (reasoning or 0)
    return read, written, reasoning, given, asked, made, wrote, asked + wrote


class Counts:
    """A table of counts, compiled for reading and writing."""

    def __init__(
        self,
        rows: Mapping[str, tuple[str, ...]],
        *,
        omits: bool = False,
        required: bool = False,
        whole: bool = False,
        refuses: Collection[str] = (),
    ) -> None:
        self.rows = dict(rows)
        self.omits = omits
        """Whether a sum that nobody counted is left out; elsewhere it is 0."""
        self.required = required
        """Whether every response has a usage."""
        self.whole = whole
        """Whether every usage has all counts."""
        self.refuses = frozenset(refuses)
        """Buckets that are read, and written in the same dialect alone."""
        steps = [(*path.rpartition("/")[::2], SUMS.index(sums)) for path, sums in rows.items()]
        self.top = frozenset(key for outer, key, _ in steps if not outer)
        self.partly: dict[str, tuple[str, ...]] = {}
        """Objects that hold counts, and the keys of these."""
        for outer, key, _ in steps:
            if outer:
                self.partly[outer] = (*self.partly.get(outer, ()), key)
        self._compile_reading()
        self._same = tuple(steps)
        self._other = tuple(step for step in steps if SUMS[step[2]][0] not in self.refuses)
        self._sunk = tuple(name for name in APART if name not in self.apart)

    def _compile_reading(self) -> None:
        """Where each bucket is among the values that are read: those at the top, those of each
        object, and None for what has no row."""
        nested = [f"{outer}/{key}" for outer, keys in self.partly.items() for key in keys]
        self._top = tuple(path for path in self.rows if "/" not in path)
        self._objects = tuple(self.partly.items())
        paths = (*self._top, *nested)
        own = {sums[0]: path for path, sums in reversed(self.rows.items()) if len(sums) == 1}
        for name in ("input", "output"):  # the first row that has it
            own[name] = next((path for path, sums in self.rows.items() if name in sums), "")
        self.apart = frozenset(own) - self.refuses
        """The buckets that it counts."""
        order = ("input", "output", *APART)
        places = [paths.index(own[n]) if own.get(n) else len(paths) for n in order]
        self._pick = itemgetter(*places)
        self._cached = "cache_read" in self.rows.get(own["input"], ())
        self._reasoned = "reasoning" in self.rows.get(own["output"], ())
        self._sums = tuple(
            (path, paths.index(path), SUMS.index(sums))
            for path, sums in self.rows.items()
            if sums[0] not in APART
        )

    def but(
        self, rows: Mapping[str, tuple[str, ...]] = NOTHING, *, refuses: Collection[str] = ()
    ) -> Counts:
        """The table with other rows; one that has the buckets of another takes its place."""
        gone = set(rows.values())
        kept = {path: sums for path, sums in self.rows.items() if sums not in gone}
        without = self.refuses | {*refuses}
        return Counts(
            {**kept, **rows},
            omits=self.omits,
            required=self.required,
            whole=self.whole,
            refuses=without,
        )

    # -- reading ----------------------------------------------------------------------------

    def read(
        self,
        dialect: Dialect,
        doc: dict[str, Json],
        at: str,
        also: Iterable[str] = (),
        partly: Mapping[str, Iterable[str]] = NOTHING,
        spelled: Mapping[str, str] = NOTHING,
    ) -> Usage:
        """The usage of a document; ``also`` and ``partly`` are keys that its dialect takes,
        ``spelled`` other names of keys that it has."""
        values, known = self._values(doc, at, spelled)
        asked, stated, read, written, reasoning = self._pick(values)
        given, made = asked or 0, stated or 0
        if self._cached:
            given -= (read or 0) + (written or 0)
            if given < 0:
                given = 0
        if reasoning and self._reasoned:
            made -= reasoning
            if made < 0:
                made = 0
        sums = added(given, read, written, made, reasoning)
        spelling: dict[str, Json] | None = None
        for path, place, kind in self._sums:
            if values[place] != sums[kind]:
                spelling = spelling or {}
                spelling[path] = values[place]
        extras: Extras | None = None
        if known != len(doc) or spelling or also or partly:
            taken = self.top.union(also, spelled.values()) if also or spelled else self.top
            objects = {**self.partly, **partly} if partly else self.partly
            extras = dialect.keep(doc, taken, spelling, partly=objects)
        unsaid = () if asked is not None and stated is not None else uncounted(asked, stated)
        return Usage(given, read, written, None, made, reasoning, unsaid, at=at, extras=extras)

    def _values(
        self, doc: dict[str, Json], at: str, spelled: Mapping[str, str]
    ) -> tuple[list[int | None], int]:
        """All counts, None for each that is not there; and how many keys have nothing else."""
        values: list[int | None] = []
        known = 0
        get = doc.get
        for key in self._top:
            value = get(spelled.get(key, key) if spelled else key)
            if value.__class__ is int:
                known += 1
            elif value is not None:
                expected("an integer", value, f"{at}/{spelled.get(key, key)}")
            values.append(value)
        for outer, keys in self._objects:
            holder = get(outer)
            if holder.__class__ is not dict:
                if holder is not None:
                    expected("an object", holder, f"{at}/{outer}")
                values += [None] * len(keys)
                continue
            inside = 0
            for key in keys:
                value = holder.get(spelled.get(key, key) if spelled else key)
                if value.__class__ is int:
                    inside += 1
                elif value is not None:
                    expected("an integer", value, f"{at}/{outer}/{spelled.get(key, key)}")
                values.append(value)
            if inside and inside == len(holder):
                known += 1
        values.append(None)
        return values, known

    # -- writing ----------------------------------------------------------------------------

    def write(self, dialect: Dialect, usage: Usage, w: Writing) -> dict[str, Json]:
        """The counts of a usage; what else its dialect knows of it is added by ``emit``."""
        out: dict[str, Json] = {}
        same = w.same
        unsaid = frozenset(usage.unsaid) if self.omits and usage.unsaid and not same else None
        zeros: list[str] | None = None
        sums = added(
            usage.input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning
        )
        for outer, key, kind in self._same if same else self._other:
            count = sums[kind]
            if count is None:
                if same or not self.whole:
                    continue
                zeros = [*(zeros or ()), key]
                count = 0
            elif unsaid and len(APART) <= kind and not unsaid.isdisjoint(SUMS[kind]):
                continue
            if not outer:
                out[key] = count
            elif outer in out:
                out[outer][key] = count
            else:
                out[outer] = {key: count}
        if zeros:
            why = f"required by {dialect.name}, and written as 0: {', '.join(zeros)}"
            w.log.invented("usage", usage.at, why)
        if not same:
            self.note(dialect, usage, w.log)
        if usage.extras is not None:
            for path, number in dialect.spelling(usage).items():
                respell(out, path, number)
        return out

    def note(self, dialect: Dialect, usage: Usage, log: Ledger) -> None:
        """Tokens that are not counted apart, and counts that contradict each other: the sums of
        their parts are written."""
        extras = usage.extras
        if self._sunk:
            if apart := [name for name in self._sunk if getattr(usage, name) is not None]:
                why = f"{dialect.name} counts them in its sums alone: {', '.join(apart)}"
                log.approximated("usage", usage.at, why)
        ttls = usage.cache_write_ttl
        if ttls and "usage.cache_ttl" in dialect.can.lacks and any(ttls.values()):
            dialect.lack("usage.cache_ttl", usage.at, log)
        if usage.unsaid and not self.omits:
            why = f"required by {dialect.name}, not counted, and written as 0"
            log.invented("usage", usage.at, f"{why}: {', '.join(usage.unsaid)}")
        if extras is not None and not dialect.is_same(extras.dialect):
            if "iterations" in extras.fields and "input_tokens" in extras.spelling:
                why = "the tokens of compaction are added to those of the response"
                log.approximated("usage.inconsistent", usage.at, why)
            elif extras.spelling and any(n is not None for n in extras.spelling.values()):
                why = "the counts contradict each other; sums of their parts are written"
                log.approximated("usage.inconsistent", usage.at, why)


def respell(out: dict[str, Json], path: str, number: Json) -> None:
    """A count as it was in the same dialect; None: it was not there."""
    outer, _, key = path.rpartition("/")
    holder = out.setdefault(outer, {}) if outer else out
    if number is not None:
        holder[key] = number
    else:
        holder.pop(key, None)
    if outer and not holder:
        del out[outer]


NO_COUNTS = Counts({})
"""Of a dialect that counts nothing."""
