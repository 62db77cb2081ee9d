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
NOTHING: dict[str, Json] = {}


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
        self._steps = tuple((path, *path.rpartition("/")[::2], sums) for path, sums in rows.items())
        self._own = {sums[0]: path for path, sums in reversed(self.rows.items()) if len(sums) == 1}
        for name in ("input", "output"):  # the first row that has it
            self._own[name] = next((path for path, sums in rows.items() if name in sums), "")
        self._within = tuple(
            (name, tuple(b for b in rows.get(self._own[name], ()) if b != name))
            for name in ("input", "output")
        )
        self._sums = tuple((p, sums) for p, sums in rows.items() if sums[0] not in APART)
        self.apart = frozenset(self._own) - self.refuses
        """The buckets that it counts."""
        self.top = frozenset(key for _, outer, key, _ in self._steps if not outer)
        self.partly: dict[str, tuple[str, ...]] = {}
        """Objects that hold counts, and the keys of these."""
        for _, outer, key, _ in self._steps:
            if outer:
                self.partly[outer] = (*self.partly.get(outer, ()), key)

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
        found: dict[str, int | None] = {}
        for path, outer, key, _ in self._steps:
            holder: Json = doc
            key = spelled.get(key, key) if spelled else key
            if outer:
                holder = doc.get(outer)
                if holder.__class__ is not dict:
                    if holder is not None:
                        expected("an object", holder, f"{at}/{outer}")
                    continue
            value = holder.get(key)
            if value.__class__ is int:
                found[path] = value
            elif value is not None:
                expected("an integer", value, f"{at}/{outer}/{key}" if outer else f"{at}/{key}")
        get, own = found.get, self._own
        asked, said = get(own["input"]), get(own["output"])
        read, written, reasoning = (
            get(own.get("cache_read", "")),
            get(own.get("cache_write", "")),
            get(own.get("reasoning", "")),
        )
        counts = {
            "input": asked or 0,
            "cache_read": read or 0,
            "cache_write": written or 0,
            "output": said or 0,
            "reasoning": reasoning or 0,
        }
        for name, within in self._within:
            for bucket in within:
                counts[name] -= counts[bucket]
            if counts[name] < 0:
                counts[name] = 0
        spelling: dict[str, Json] = {}
        for path, sums in self._sums:
            total = 0
            for bucket in sums:
                total += counts[bucket]
            if get(path) != total:
                spelling[path] = get(path)
        extras: Extras | None = None
        if spelling or also or partly or not self._is_plain(doc):
            taken, objects = {*self.top, *also, *spelled.values()}, {**self.partly, **partly}
            extras = dialect.keep(doc, taken, spelling, partly=objects)
        return Usage(
            counts["input"],
            read,
            written,
            None,
            counts["output"],
            reasoning,
            uncounted(asked, said),
            at=at,
            extras=extras,
        )

    def _is_plain(self, doc: dict[str, Json]) -> bool:
        """Whether there is nothing but counts."""
        for key, value in doc.items():
            if value.__class__ is dict:
                known = self.partly.get(key)
                if not known or not value:
                    return False
                for each, item in value.items():
                    if each not in known or item is None:
                        return False
            elif key not in self.top or value is None:
                return False
        return True

    # -- writing ----------------------------------------------------------------------------

    def write(self, dialect: Dialect, usage: Usage, w: Writing) -> dict[str, Json]:
        """The counts of a usage; what else its dialect knows of it is added by ``emit``."""
        out: dict[str, Json] = {}
        home = w.home
        unsaid = frozenset(usage.unsaid) if self.omits and usage.unsaid and not home else None
        zeros: list[str] = []
        for _, outer, key, sums in self._steps:
            count: int | None
            if sums[0] in APART:
                count = getattr(usage, sums[0])
                if not home and sums[0] in self.refuses:
                    continue
                if count is None:
                    if home or not self.whole:
                        continue
                    zeros.append(key)
                    count = 0
            elif unsaid and not unsaid.isdisjoint(sums):
                continue
            else:
                count = sum([getattr(usage, bucket) or 0 for bucket in sums])
            if outer:
                out.setdefault(outer, {})[key] = count
            else:
                out[key] = count
        if zeros:
            why = f"required by {dialect.name}, and written as 0: {', '.join(zeros)}"
            w.log.invented("usage", usage.at, why)
        if not home:
            self.note(dialect, usage, w.log)
        for path, number in dialect.spelling(usage).items():
            respell(out, path, number)
        return out

    def note(self, dialect: Dialect, usage: Usage, log: Ledger) -> None:
        """Tokens that are not counted apart, and counts that contradict each other: the sums of
        their parts are written."""
        extras = usage.extras
        apart = [name for name in APART if getattr(usage, name) is not None]
        if apart := [name for name in apart if name not in self.apart]:
            why = f"{dialect.name} counts them in its sums alone: {', '.join(apart)}"
            log.approximated("usage", usage.at, why)
        ttls = usage.cache_write_ttl
        if ttls and "usage.cache_ttl" in dialect.can.lacks and any(ttls.values()):
            dialect.lack("usage.cache_ttl", usage.at, log)
        if usage.unsaid and not self.omits:
            why = f"required by {dialect.name}, not counted, and written as 0"
            log.invented("usage", usage.at, f"{why}: {', '.join(usage.unsaid)}")
        if extras is not None and not dialect.is_home(extras.dialect):
            if "iterations" in extras.fields and "input_tokens" in extras.spelling:
                why = "the tokens of compaction are added to those of the response"
                log.approximated("usage.inconsistent", usage.at, why)
            elif any(count is not None for count in extras.spelling.values()):
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
