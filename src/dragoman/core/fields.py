"""Parameters of a request as a table: one row says how a dialect spells a parameter, both ways.

A row serves the reader, the writer, the ranges that ``check`` knows, and the set of known keys:

    FIELDS = Fields(
        Field("max_tokens", whole, "max_completion_tokens", also=("max_tokens",), least=1),
        Field("temperature", number, least=0, most=2),
        Field("stop", strings, single=True, count=4),
        Field("user_id", text, "metadata/user_id"),
        methods={"output": ("response_format",)},
    )

A parameter of the tree that has neither a row nor a method is dropped, and the ledger reports it.
What a table says of values holds for those of other dialects; in the same dialect every value is
written as it was read. A variant changes rows (``but``) or refuses parameters that its parent
accepts (``refusing``): it still reads them, and writes them back.

A parameter that needs more than one row can say (an object, two fields that depend on each other)
is a method of the dialect; the table names it in ``methods``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from math import inf
from operator import attrgetter
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ..errors import Malformed
from ..ledger import Ledger
from ..model import Json, Node, OutputFormat, Params
from .reading import (
    as_str,
    expected,
    maybe_bool,
    maybe_dict,
    maybe_int,
    maybe_list,
    maybe_number,
    maybe_str,
)
from .writing import Writing

Reader: TypeAlias = Callable[[Mapping[str, Json], str, str], Any]
Fit: TypeAlias = Callable[[Any, str, Ledger, str], Any]
"""value, its place, the ledger, the name of the target -> the value as the target accepts it"""

whole, number, text, flag, mapping = maybe_int, maybe_number, maybe_str, maybe_bool, maybe_dict

NAMES = tuple(name for name in Params.__struct_fields__ if name not in ("ats", "at", "extras"))
"""Every parameter that the tree can hold."""
USUAL = ("max_tokens", "temperature", "stream")
"""Those that nearly every request has, if any."""
OMITTED: dict[str, Any] = {"candidates": 1, "stream": False}
"""Values that mean the same as no value in every dialect."""
HINTS = dict.fromkeys(("previous_id", "conversation_id"), "; send the whole conversation")
NO_FIELD = "{target} has no field for {name}"
REFUSED = "{name} is not supported by {target}"
NOTHING: dict[str, Json] = {}


def strings(doc: Mapping[str, Json], key: str, at: str) -> tuple[str, ...] | None:
    """A list of strings; an empty one is the same as none."""
    found = maybe_list(doc, key, at)
    if not found:
        return None
    return tuple([as_str(item, f"{at}/{key}/{index}") for index, item in enumerate(found)])


def labels(doc: Mapping[str, Json], key: str, at: str) -> dict[str, Json] | None:
    """An object; an empty one is the same as none."""
    return maybe_dict(doc, key, at) or None


class Field(Struct, frozen=True):
    """One parameter: its name in the tree, its place in the document, what the target accepts."""

    name: str
    read: Reader
    path: str = ""
    """The key, or ``object/key``; the name, if empty."""
    also: tuple[str, ...] = ()
    """Other keys that are read in the same object, and written again in the same dialect."""
    least: float | None = None
    most: float | None = None
    among: Collection[str] | None = None
    """The values that are accepted."""
    count: int | None = None
    """How many entries a list may have; the first ones are kept."""
    only: Callable[..., Any] | None = None
    """Which entries are accepted: a predicate for an item of a list, or for a key and its value."""
    why: str = ""
    """Why the other entries are not, as ``{target}`` says."""
    fit: Fit | None = None
    """Makes any other value one that the target accepts, and notes what was lost."""
    single: bool = False
    """Whether a string may stand for a list of one."""
    silent: Any = None
    """A value that means the same as absence; the same dialect writes it again."""
    refused: str = ""
    """Why the target does not accept it, though its documents may have it."""

    @property
    def outer(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def key(self) -> str:
        return self.path.rpartition("/")[2] or self.name

    @property
    def limited(self) -> bool:
        """Whether not every value of another dialect is written as it is."""
        limits = (self.least, self.most, self.among, self.count, self.only, self.fit)
        return any(limit is not None for limit in limits) or bool(self.refused)

    @property
    def span(self) -> tuple[float, float] | None:
        """The values that are written as they are, where only a range limits them."""
        others = (self.among, self.count, self.only, self.fit)
        if self.refused or any(limit is not None for limit in others):
            return None
        return -inf if self.least is None else self.least, inf if self.most is None else self.most

    @property
    def range(self) -> str:
        """The least and the most in words; empty, if there is neither."""
        if self.least is None:
            return "" if self.most is None else f"up to {self.most:g}"
        return f"from {self.least:g}" if self.most is None else f"{self.least:g}..{self.most:g}"

    def describe(self, target: str) -> str:
        """What the target accepts, in words; empty, if every value of its type."""
        if self.refused:
            return self.refused.format(name=self.key, target=target)
        limits = [self.range]
        if self.among is not None:
            limits.append(f"one of {', '.join(sorted(self.among))}")
        if self.count is not None:
            limits.append(f"{self.count} entries at most")
        if self.why:
            limits.append(self.why.format(target=target))
        return "; ".join(filter(None, limits))

    def write(self, out: dict[str, Json], value: Any, at: str, w: Writing, target: str) -> None:
        """Write one value, as far as the target accepts it."""
        if not w.same:
            value = self.fitted(value, at, w.log, target)
        if value is not None:
            out[self.key] = value

    def fitted(self, value: Any, at: str, log: Ledger, target: str) -> Any:
        """The value as the target accepts it; None where nothing is left of it."""
        name = self.name
        if self.refused:
            if value != OMITTED.get(name):
                log.dropped(name, at, self.refused.format(name=name, target=target))
            return None
        if self.most is not None and value > self.most:
            why = f"{name} {value} lowered to {self.most}, the maximum of {target}"
            log.approximated(name, at, why)
            return self.most
        if self.least is not None and value < self.least:
            why = f"{name} {value} raised to {self.least}, the minimum of {target}"
            log.approximated(name, at, why)
            return self.least
        if self.among is not None and value not in self.among:
            log.dropped(name, at, f"{name} {value!r} is not supported by {target}")
            return None
        if self.only is not None:
            value = self.kept(value, at, log, target)
        if self.count is not None and len(value) > self.count:
            why = f"{target} accepts {self.count} of them at most; the first {self.count} are kept"
            log.approximated(name, at, f"{name} has {len(value)} entries, and {why}")
            value = value[: self.count]
        if self.fit is not None:
            value = self.fit(value, at, log, target)
        return value

    def kept(self, value: Any, at: str, log: Ledger, target: str) -> Any:
        """The entries that are accepted; None where none is."""
        assert self.only is not None
        left: Any
        if value.__class__ is dict:
            left = {key: item for key, item in value.items() if self.only(key, item)}
        else:
            left = tuple(item for item in value if self.only(item))
        if len(left) != len(value):
            note = log.approximated if left else log.dropped
            note(self.name, at, self.why.format(target=target))
        return left or None


class Fields:
    """A table of parameters, compiled for reading and writing."""

    def __init__(
        self,
        *rows: Field,
        methods: Mapping[str, Iterable[str]] = NOTHING,
        keys: Iterable[str] = (),
        refuses: Mapping[str, str] = NOTHING,
        once: bool = False,
    ) -> None:
        self.rows = rows
        self._rows = {row.name: row for row in rows}
        self.keys = frozenset(keys)
        """Keys of a document that are always taken, beside those of the parameters."""
        self.methods = dict(methods)
        """Parameters that methods of the dialect read and write, and the keys that they read."""
        self.special = frozenset(key for keys in self.methods.values() for key in keys)
        """All of these keys."""
        self.known = frozenset(key for row in rows for key in (row.key, *row.also))
        """The keys of all parameters, in whatever object they stand."""
        self.refuses = dict(refuses)
        """Parameters that methods write in the same dialect alone, and why."""
        self.once = once
        """Whether one parameter under two keys is an error."""
        self.taken = self.keys | {row.key for row in rows if not row.outer}
        """All keys that are always taken; those of ``also`` are taken where they count."""
        self._top: dict[str, Field] = {}
        self._objects: dict[str, dict[str, Field]] = {}
        for row in rows:
            known = self._objects.setdefault(row.outer, {}) if row.outer else self._top
            known |= dict.fromkeys((row.key, *row.also), row)
        self._steps = tuple((r, r.name, r.outer, r.key, r.limited, r.span) for r in rows)
        self.names = (*self._rows, *self.methods)
        """The parameters that can be written, at least in the same dialect."""
        self._missing = tuple(name for name in NAMES if name not in self.names)
        self._few = tuple(name for name in USUAL if name in self._missing)
        self._absent = (None,) * (len(self._missing) + 2)
        self._values: Callable[[Params], Any] = attrgetter("extras", "extras", *self._missing)
        self._prepare()

    def _prepare(self) -> None:
        """For the parameters that nearly every request has, which are quick to read and write."""
        rows = self._rows
        limit, heat, stream = map(rows.get, ("max_tokens", "temperature", "stream"))
        self._quick = limit is not None and heat is not None and limit.outer == heat.outer
        if limit is None or heat is None:
            return
        self._outer, self._limit, self._heat = limit.outer, limit.key, heat.key
        self._streams = stream is not None and stream.path in ("", "stream") and not stream.limited
        known = {*self._top, *self._objects, *self.special}
        self._rare = known - {limit.key, heat.key, "stream" if self._streams else ""}
        self._ats = {"max_tokens": f"/{limit.key}"} if limit.key != limit.name else NOTHING
        self._least, self._most = limit.span or (inf, -inf)
        self._coldest, self._hottest = heat.span or (inf, -inf)

    # -- variants ---------------------------------------------------------------------------

    def but(
        self,
        *rows: Field,
        methods: Mapping[str, Iterable[str]] = NOTHING,
        refuses: Mapping[str, str] = NOTHING,
    ) -> Fields:
        """The table with other rows and methods for some parameters, or with more of them."""
        new = {row.name: row for row in rows}
        old = tuple(new.pop(row.name, row) for row in self.rows)
        return Fields(
            *old,
            *new.values(),
            methods={**self.methods, **methods},
            keys=self.keys,
            refuses={**self.refuses, **refuses},
            once=self.once,
        )

    def refusing(self, *names: str, why: str = REFUSED) -> Fields:
        """The table of an API that does not accept some of the parameters that it may be sent."""
        rows = (replace(row, refused=why) for row in self.rows if row.name in names)
        return self.but(*rows, refuses={name: why for name in self.methods if name in names})

    def without_limits(self, *names: str) -> Fields:
        """The table of an API that has no such limits, or other ones; without names, none."""
        chosen = names or [row.name for row in self.rows]
        rows = (row for row in self.rows if row.name in chosen)
        none = {"least": None, "most": None, "among": None, "count": None, "fit": None}
        return self.but(*(replace(row, **none) for row in rows))

    def __getitem__(self, name: str) -> Field:
        return self._rows[name]

    @property
    def ranges(self) -> dict[str, tuple[Any, Any]]:
        """key -> the least and the most that is accepted, for ``check``."""
        rows = (row for row in self.rows if (row.least, row.most) != (None, None))
        return {row.key: (row.least, row.most) for row in rows}

    def describe(self) -> str:
        """The ranges in words, for the documentation of ``check``."""
        return ", ".join(f"{row.key} {row.range}" for row in self.rows if row.range)

    # -- reading ----------------------------------------------------------------------------

    def all_taken(self, more: set[str]) -> frozenset[str]:
        """The keys that are always taken, and those that were taken this time."""
        return self.taken | more if more else self.taken

    def usual(self, doc: dict[str, Json]) -> Params | None:
        """The parameters of a document that has none but those that nearly every request has."""
        if not self._rare.isdisjoint(doc):
            return None
        limit, heat, stream = doc.get(self._limit), doc.get(self._heat), doc.get("stream")
        if limit is not None and limit.__class__ is not int:
            maybe_int(doc, self._limit, "")  # which says what is wrong
        if heat is not None and heat.__class__ is not float:
            maybe_number(doc, self._heat, "")
        if stream is not None and stream.__class__ is not bool:
            maybe_bool(doc, "stream", "")
        ats = NOTHING if limit is None else self._ats
        return Params(limit, heat, stream=stream, ats=ats)

    def read(
        self,
        doc: dict[str, Json],
        ats: dict[str, str],
        spelling: dict[str, Json],
        taken: set[str],
        partly: dict[str, Any] = NOTHING,
        at: str = "",
    ) -> dict[str, Any]:
        """The parameters of a document, by their names in the tree.

        Notes where they stood, how they were spelled, which keys were taken beside those that
        always are, and which objects were taken in part.
        """
        given: dict[str, Any] = {}
        top, objects = self._top, self._objects
        for key, value in doc.items():
            if value is None:
                continue
            if (row := top.get(key)) is not None:
                self._look(row, doc, key, at, given, ats, spelling, taken)
            elif key in objects:
                known, where = objects[key], f"{at}/{key}"
                inner = maybe_dict(doc, key, at) or NOTHING
                own: set[str] = {row.key for row in known.values()}
                for each, item in inner.items():
                    if item is not None and (row := known.get(each)) is not None:
                        if not self._look(row, inner, each, where, given, ats, spelling, own):
                            own.discard(each)
                partly[key] = (*partly.get(key, ()), *own)
        return given

    def _look(
        self,
        row: Field,
        doc: dict[str, Json],
        key: str,
        at: str,
        given: dict[str, Any],
        ats: dict[str, str],
        spelling: dict[str, Json],
        taken: set[str],
    ) -> bool:
        """Read one value; whether it is one that the tree holds, or that need not be held."""
        name = row.name
        if row.also and key != row.key:
            for first in (row.key, *row.also[: row.also.index(key)]):
                if first in doc and self.once:
                    raise Malformed(f"given twice, as {first!r} and as {key!r}; remove one of them")
                if doc.get(first) is not None:
                    return False  # the other one counts; this one is kept as it is
            taken.add(key)
            spelling[name] = key
        if row.single and doc[key].__class__ is not list:
            if doc[key].__class__ is not str:
                expected("a string or a list", doc[key], f"{at}/{key}")
            given[name] = (doc[key],)
            spelling[name] = "string"
        else:
            value = row.read(doc, key, at)
            if row.silent is not None and value == row.silent:
                spelling[name] = value
                return True
            if value is None:
                return False
            given[name] = value
        if at or key != name:
            ats[name] = f"{at}/{key}"
        return True

    # -- writing ----------------------------------------------------------------------------

    def write(
        self,
        out: dict[str, Json],
        params: Params,
        w: Writing,
        target: str,
        spelling: Mapping[str, Json] = NOTHING,
    ) -> Params | None:
        """Write the parameters that have rows, and note those that the target has no field for.

        What is left for methods; None where there is nothing but what nearly every request has.
        """
        same, log = w.same, w.log
        if self._quick and not spelling and self._write_usual(out, params, same):
            return None
        if self._missing:
            self._lose(params, log, target)
        for row, name, outer, key, limited, span in self._steps:
            value = getattr(params, name)
            if value is None:
                if spelling and name in spelling and row.silent is not None:
                    out[key] = spelling[name]
                continue
            if not same:
                if name == "candidates" and value == 1:
                    continue
                if limited and not (span and span[0] <= value <= span[1]):
                    value = row.fitted(value, params.where(name), log, target)
                    if value is None:
                        continue
            if spelling and name in spelling:
                if row.also:
                    key = spelling[name]
                elif row.single and len(value) == 1:
                    value = value[0]
            if value.__class__ is tuple:
                value = list(value)
            if outer:
                out.setdefault(outer, {})[key] = value
            else:
                out[key] = value
        return params if same or not self.refuses else self._refuse(params, log, target)

    def _write_usual(self, out: dict[str, Json], params: Params, same: bool) -> bool:
        limit, heat = params.max_tokens, params.temperature
        stream = params.stream if self._streams else None
        if params != Params(limit, heat, stream=stream, ats=params.ats):
            return False
        if not same:
            if limit is not None and not self._least <= limit <= self._most:
                return False
            if heat is not None and not self._coldest <= heat <= self._hottest:
                return False
        holder = out
        if self._outer and (limit is not None or heat is not None):
            holder = out.setdefault(self._outer, {})
        if limit is not None:
            holder[self._limit] = limit
        if heat is not None:
            holder[self._heat] = heat
        if stream is not None:
            out["stream"] = stream
        return True

    def _lose(self, params: Params, log: Ledger, target: str) -> None:
        """The parameters that the target has no field for."""
        names, limit, heat = self._missing, params.max_tokens, params.temperature
        if params == Params(limit, heat, stream=params.stream, ats=params.ats):
            names = self._few  # there are no others
        elif self._values(params) == self._absent:
            return
        for name in names:
            if (place := place_of(params, name)) is not None:
                log.dropped(name, place, no_field(target, name))

    def _refuse(self, params: Params, log: Ledger, target: str) -> Params:
        """The parameters without those that methods would write, and the target refuses."""
        for name, why in self.refuses.items():
            if (at := place_of(params, name)) is not None:
                log.dropped(name, at, why.format(target=target, name=name))
        return replace(params, **dict.fromkeys(self.refuses))


@cache
def no_field(target: str, name: str) -> str:
    """Why a parameter is dropped that the target has no field for."""
    return NO_FIELD.format(target=target, name=name) + HINTS.get(name, "")


def place_of(params: Params, name: str) -> str | None:
    """Where a parameter stands; None where it has no value, or one that means the same."""
    value = getattr(params, name)
    if value is None or value == OMITTED.get(name):
        return None
    if not isinstance(value, Node):
        return params.where(name)
    return None if value == OutputFormat("text", at=value.at) else value.at
