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

Every response has such a table, so what is usual is read and written by two functions that are made
of the table when they are first needed, as ``dataclasses`` makes its methods: what the loops below
do for any document, without a loop. A document that is not as usual is left to the loops.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from ..ledger import Ledger
from ..model import Extras, Json, Usage
from .reading import compiled, expected, only, uncounted
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
ADDED = ("read", "written", "reasoning", "given", "asked", "made", "wrote", "asked + wrote")
"""The same as expressions, in the functions that are made of a table."""
ADDING = """\
    asked = given + (read or 0) + (written or 0)
    wrote = made + (reasoning or 0)"""
NOTHING: dict[str, Json] = {}

Read: TypeAlias = tuple[int, int | None, int | None, int, int | None, bool]
"""The buckets, and whether there is nothing else in the document."""
Written: TypeAlias = tuple[dict[str, Json], Sequence[tuple[str, int | None]]]
"""The document, and the keys in it that may be 0 as nobody counted them, with their counts."""


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
        self._read_usual: Callable[[dict[str, Json]], Read | None] = self._first_read
        self._write_usual: Callable[[Usage], Written] = self._first_write
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
        inner: dict[str, tuple[str, ...]] = {}
        for outer, key, _ in steps:
            if outer:
                inner[outer] = (*inner.get(outer, ()), key)
        self._objects = tuple(inner.items())
        self.partly = {outer: frozenset(keys) for outer, keys in self._objects}
        """Objects that hold counts, and the keys of these."""
        self._compile_reading()
        self._same = tuple(steps)
        self._other = tuple(step for step in steps if SUMS[step[2]][0] not in self.refuses)
        self._sunk = tuple(name for name in APART if name not in self.apart)

    def _compile_reading(self) -> None:
        """Where each bucket is among the values that are read: those at the top, those of each
        object, and None for what has no row."""
        nested = [f"{outer}/{key}" for outer, keys in self._objects for key in keys]
        self._top = tuple(path for path in self.rows if "/" not in path)
        paths = (*self._top, *nested)
        own = {sums[0]: path for path, sums in reversed(self.rows.items()) if len(sums) == 1}
        for name in ("input", "output"):  # the first row that has it
            own[name] = next((path for path, sums in self.rows.items() if name in sums), "")
        self._own = own
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

    # -- functions that are made of the table -------------------------------------------------

    def _first_read(self, doc: dict[str, Json]) -> Read | None:
        self._read_usual = compiled(*self._reading())
        return self._read_usual(doc)

    def _first_write(self, usage: Usage) -> Written:
        self._write_usual = compiled(self._writing(), {"NO_ZEROS": ()})
        return self._write_usual(usage)

    def _reading(self) -> tuple[list[str], dict[str, Any]]:
        """Reads a usage in which input and output are counted and all sums are right; else None."""
        lines = ["def read(doc):", "    get = doc.get"]
        known = {"usual": only(*self.top, *self.partly)}
        whole = ["usual(doc)"]
        names: dict[str, str] = {}
        for path in self._top:
            names[path] = f"n{len(names)}"
            lines.append(f"    {names[path]} = get({path!r})")
        for number, (outer, keys) in enumerate(self._objects):
            inside, usual = f"inside{number}", f"usual{number}"
            own = [f"n{len(names) + place}" for place in range(len(keys))]
            names |= {f"{outer}/{key}": name for key, name in zip(keys, own, strict=True)}
            known[usual] = only(*keys)
            whole.append(f"({inside} is None or {usual}({inside}))")
            lines += [
                f"    {inside} = get({outer!r})",
                f"    if {inside}.__class__ is dict:",
                *(f"        {n} = {inside}.get({k!r})" for k, n in zip(keys, own, strict=True)),
                f"    elif {inside} is not None:",
                "        return None",
                "    else:",
                f"        {' = '.join(own)} = None",
            ]
        needed = {names.get(path) for path in (self._own["input"], self._own["output"])}
        for name in names.values():
            missing = "" if name in needed else f"{name} is not None and "
            lines += [f"    if {missing}{name}.__class__ is not int:", "        return None"]
        read, written, reasoning = (names.get(self._own.get(bucket, "")) for bucket in APART)
        cached = f" - ({read} or 0) - ({written} or 0)" if self._cached else ""
        reasoned = f" - ({reasoning} or 0)" if self._reasoned else ""
        sums = [f"{names[path]} != {ADDED[kind]}" for path, _, kind in self._sums]
        lines += [
            f"    read, written, reasoning = {read}, {written}, {reasoning}",
            f"    given = {names.get(self._own['input'])}{cached}",
            f"    made = {names.get(self._own['output'])}{reasoned}",
            ADDING,
            f"    if {' or '.join(['given < 0', 'made < 0', *sums])}:",
            "        return None",
            f"    return given, read, written, made, reasoning, {' and '.join(whole)}",
        ]
        if None in needed:  # what counts no input or no output is never as usual
            lines = ["def read(doc):", "    return None"]
        return lines, known

    def _writing(self) -> list[str]:
        """Writes a usage for another dialect."""
        lines = [
            "def write(usage):",
            "    given, made = usage.input, usage.output",
            "    read, written, reasoning = usage.cache_read, usage.cache_write, usage.reasoning",
            ADDING,
        ]
        if self.whole:
            return [*lines, *self._writing_all()]
        lines.append("    out = {}")
        places = {outer: f"inside{number}" for number, outer in enumerate(self.partly)}
        lines += [f"    {place} = None" for place in places.values()]
        for outer, key, kind in self._other:
            count, tab = ADDED[kind], "    "
            if kind < len(APART):
                lines.append(f"    if {count} is not None:")
                tab = "        "
            if not outer:
                lines.append(f"{tab}out[{key!r}] = {count}")
                continue
            place = places[outer]
            lines += [
                f"{tab}if {place} is None:",
                f"{tab}    out[{outer!r}] = {place} = {{}}",
                f"{tab}{place}[{key!r}] = {count}",
            ]
        return [*lines, "    return out, NO_ZEROS"]

    def _writing_all(self) -> Iterator[str]:
        """The same, where a usage has all counts."""
        objects: dict[str, list[str]] = {}
        for outer, key, kind in self._other:
            count = f"{ADDED[kind]} or 0" if kind < len(APART) else ADDED[kind]
            objects.setdefault(outer or key, []).append(f"{key!r}: {count}" if outer else count)
        inner = {outer for outer, _, _ in self._other if outer}
        written = (
            f"{key!r}: " + (f"{{{', '.join(found)}}}" if key in inner else found[0])
            for key, found in objects.items()
        )
        yield f"    out = {{{', '.join(written)}}}"
        apart = [(ADDED[kind], key) for _, key, kind in self._other if kind < len(APART)]
        if apart:
            yield f"    if {' or '.join(f'{count} is None' for count, _ in apart)}:"
            pairs = ", ".join(f"({key!r}, {count})" for count, key in apart)
            yield f"        return out, ({pairs},)"
        yield "    return out, NO_ZEROS"

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
        extras: Extras | None
        if not (also or spelled) and (usual := self._read_usual(doc)) is not None:
            given, read, written, made, reasoning, whole = usual
            extras = None
            if not whole:
                objects = {**self.partly, **partly} if partly else self.partly
                extras = dialect.keep(doc, self.top, partly=objects)
            return Usage(given, read, written, None, made, reasoning, at=at, extras=extras)
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
        extras = None
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

    def read_plain(self, doc: Json) -> Usage | None:
        """The counts alone of a usage that is as usual."""
        usual = self._read_usual(doc) if doc.__class__ is dict else None
        if usual is None:
            return None
        given, read, written, made, reasoning, _ = usual
        return Usage(given, read, written, None, made, reasoning)

    # -- writing ----------------------------------------------------------------------------

    def write_plain(self, usage: Usage) -> dict[str, Json]:
        """What ``read_plain`` gave, for another dialect."""
        return self._write_usual(usage)[0]

    def write(self, dialect: Dialect, usage: Usage, w: Writing) -> dict[str, Json]:
        """The counts of a usage; what else its dialect knows of it is added by ``emit``."""
        extras = usage.extras
        if not w.same and not (self.omits and usage.unsaid):
            out, zeros = self._write_usual(usage)
            if zeros:
                w.log.later(note_zeros, dialect, usage, zeros)
            if self._sunk or usage.unsaid or usage.cache_write_ttl or (extras and extras.spelling):
                w.log.later(self.note, dialect, usage)
        else:
            out = self._write_any(dialect, usage, w)
        if extras is not None:
            spelled = extras.spelling if passes(extras, dialect) else dialect.spelling(usage)
            for path, number in spelled.items():
                respell(out, path, number)
        return out

    def _write_any(self, dialect: Dialect, usage: Usage, w: Writing) -> dict[str, Json]:
        out: dict[str, Json] = {}
        same = w.same
        unsaid = frozenset(usage.unsaid) if self.omits and usage.unsaid and not same else None
        zeros: list[tuple[str, int | None]] = []
        sums = added(
            usage.input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning
        )
        for outer, key, kind in self._same if same else self._other:
            count = sums[kind]
            if count is None:
                if same or not self.whole:
                    continue
                zeros.append((key, None))
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
            note_zeros(dialect, usage, zeros, w.log)
        if not same:
            self.note(dialect, usage, w.log)
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
            if passes(extras, dialect):
                return
            if "iterations" in extras.fields and "input_tokens" in extras.spelling:
                why = "the tokens of compaction are added to those of the response"
                log.approximated("usage.inconsistent", usage.at, why)
            elif extras.spelling and any(n is not None for n in extras.spelling.values()):
                why = "the counts contradict each other; sums of their parts are written"
                log.approximated("usage.inconsistent", usage.at, why)


def passes(extras: Extras, dialect: Dialect) -> bool:
    """Whether a relative passes on the counts of each iteration, and so those beside them."""
    return "iterations" in extras.fields and dialect.knows(extras.dialect)


def note_zeros(
    dialect: Dialect, usage: Usage, zeros: Sequence[tuple[str, int | None]], log: Ledger
) -> None:
    """Counts that are required and that nobody has counted."""
    keys = [key for key, count in zeros if count is None]
    why = f"required by {dialect.name}, and written as 0: {', '.join(keys)}"
    log.invented("usage", usage.at, why)


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
