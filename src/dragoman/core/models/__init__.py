"""What depends on the model: one table of facts per vendor, each fact with its source.

An API takes a parameter, and some of its models refuse it. Writers, the rules of ``check`` and the
passes of ``repair`` all ask the same table::

    >>> from dragoman import models
    >>> facts = models.DEFAULT.facts("anthropic", "us.anthropic.claude-opus-4-7-v1:0")
    >>> facts.refuses, facts.prefill
    (('top_p', 'top_k'), False)

How a name finds its facts:

1. The name is reduced to what its vendor calls the model: region, publisher, date, version of a
   deployment and tag go (``core``). Patterns are globs over that, such as ``claude-opus-4-*``.
2. The caller's own rows come first, then those of the vendor whose API it is; the first match wins.
3. A name of that vendor which no row knows is a newer model than we know: the last row of the
   vendor's table, ``*``, says what holds for its newest generation.
4. A name that is nobody's (an alias, a deployment), another vendor's, or none at all, tells
   nothing: ``UNKNOWN``, the facts that refuse nothing. A row of the caller's own makes it known.

One file of this folder is one vendor. Nothing here opens a file: ``load`` takes what was parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Literal, TypeAlias

from msgspec import Struct, ValidationError, convert, to_builtins

from ...errors import Malformed, Unsupported

Thinks: TypeAlias = Literal["always", "on", "off", "never"]
Way: TypeAlias = Literal["on", "adaptive", "off", "between-tools"]


class Facts(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What holds for a model. None, or nothing: it is not known, and so nothing is refused."""

    max_tokens: int | None = None
    """the highest output limit"""
    refuses: tuple[str, ...] = ()
    """parameters that it does not take; they are called as in ``model.Params``"""
    refuses_thinking: tuple[str, ...] = ()
    """parameters that it does not take while it reasons"""
    fixed: dict[str, float] = {}
    """parameters that it takes with this one value alone"""
    exclusive: tuple[str, ...] = ()
    """parameters of which it takes one, the first that is there"""
    thinks: Thinks | None = None
    """whether it reasons when the request does not say"""
    thinking: tuple[Way, ...] | None = None
    """how reasoning may be asked for: by a budget (on), adaptive, off, between tools alone"""
    budgets: tuple[int, int] | None = None
    """the least and the most tokens of a reasoning budget"""
    efforts: tuple[str, ...] | None = None
    """the levels of effort, the least first; none at all: it takes no effort"""
    efforts_off: tuple[str, ...] | None = None
    """the levels that it takes while reasoning is off, where these are fewer"""
    prefill: bool | None = None
    """whether it goes on with an assistant's turn that ends the conversation"""
    limit_key: str | None = None
    """what the output limit is called, where the API has an old name that the model refuses"""
    system_prompt: bool | None = None
    """whether it takes a system prompt"""
    system_turns: bool | None = None
    """whether it takes system turns inside the conversation"""
    tools: bool | None = None
    """whether it takes tools"""
    forced_tools: bool | None = None
    """whether a request may force a tool call"""
    tools_with_output: bool | None = None
    """whether it takes tools beside a demanded form of the response"""
    output: bool | None = None
    """whether JSON may be demanded of it"""
    media: tuple[str, ...] | None = None
    """the kinds of media that it takes"""
    stored_media: tuple[str, ...] | None = None
    """the kinds of media that may be pointed at in the storage of the cloud (S3)"""
    media_in_results: bool | None = None
    """whether results of tools may hold media"""
    cache_marks: bool | None = None
    """whether parts of a prompt may have a cache mark"""
    call_ids: Literal["nine"] | None = None
    """the form of the ids of calls, where the model has its own: nine letters or digits"""
    signatures: bool | None = None
    """whether calls in a history must be signed"""
    schemas: Literal["json", "own"] | None = None
    """whether schemas are JSON Schema, or the API's own form alone"""


FACTS: tuple[str, ...] = Facts.__struct_fields__
UNKNOWN = Facts()
"""The facts about a model of which nothing is known: nothing is refused."""


def fits(name: str, pattern: str) -> bool:
    """Whether a name matches a glob. Nearly all are a name, or its beginning and a star."""
    stem = pattern.removesuffix("*")
    if "*" in stem or "?" in stem or "[" in stem:
        from fnmatch import fnmatchcase  # slow to import, and to compile

        return fnmatchcase(name, pattern)
    return name == pattern if stem == pattern else name.startswith(stem)


class Row(Struct, frozen=True):
    """A row of a table: the names it is about, what holds for them, and who says so."""

    names: tuple[str, ...]
    facts: Facts
    sources: dict[str, str] = {}
    """fact -> its source: an address, or the words in which the API refused a request"""
    vendor: str = ""
    own: bool = False
    """whether it is the caller's"""

    def matches(self, name: str) -> str | None:
        """The pattern that a reduced name matches."""
        return next((p for p in self.names if fits(name, p)), None)


class Vendor(Struct, frozen=True):
    """A maker of models: how its models are called, and its table, newest generation last."""

    name: str
    title: str
    families: tuple[str, ...]
    rows: tuple[Row, ...] = ()
    named: str = ""
    """A pattern of names as its own API has them; other servers call the same models otherwise."""

    def is_maker_of(self, name: str) -> bool:
        return any(fits(name, family) for family in self.families)


def row(*names: str, sources: Mapping[str, str] = {}, base: Facts = UNKNOWN, **facts: Any) -> Row:
    """A row for these names: the facts of the base, and those that are given."""
    known = {k: v for k in FACTS if (v := getattr(base, k)) != getattr(UNKNOWN, k)}
    return Row(names, Facts(**(known | facts)), dict(sources))


# One module of this folder each; `others` has those of whose models no fact is known.
VENDORS = (
    "anthropic", "openai", "google", "mistral", "deepseek", "xai", "cohere", "amazon", "groq",
)  # fmt: skip


def builtin() -> Iterator[Vendor]:
    """The vendors and their tables; each is read when it is first looked at."""
    yield from map(_table, VENDORS)
    yield from _others()


@cache
def _table(name: str) -> Vendor:
    vendor: Vendor = import_module(f"{__name__}.{name}").VENDOR
    rows = tuple(Row(r.names, r.facts, r.sources, vendor.name) for r in vendor.rows)
    return Vendor(vendor.name, vendor.title, vendor.families, rows, vendor.named)


@cache
def _others() -> tuple[Vendor, ...]:
    found: tuple[Vendor, ...] = import_module(f"{__name__}.others").VENDORS
    return found


def title_of(vendor: str) -> str:
    """How a vendor is called in a sentence."""
    return _table(vendor).title.partition(" ")[0]


def is_named(vendor: str, model: Any) -> bool:
    """Whether a model has a name as the API of its vendor gives it."""
    return model.__class__ is str and re.fullmatch(_table(vendor).named, model) is not None


# us.anthropic.claude-..., apac.amazon.nova-..., openai.gpt-oss-...: Bedrock's ids.
_publisher = re.compile(
    r"(?:(?:us|eu|ap|apac|jp|au|ca|sa|us-gov|global)\.)?"
    r"(?:anthropic|amazon|meta|mistral|cohere|ai21|deepseek|openai|qwen|writer|xai|google|minimax|"
    r"moonshot|moonshotai|nvidia|zai|stability)\."
).match
# What follows the name: a date, the version of a deployment, `latest`.
_tail = re.compile(
    r"(?:@[\w.-]+|-v\d+|-20\d{6}|-20\d\d-\d\d-\d\d|-latest|-(?:0[1-9]|1[0-2])-(?:20)?\d\d)$"
).search


def core(name: str) -> str:
    """A model's name as its vendor says it, without where, when and how it is served.

    >>> core("us.anthropic.claude-opus-4-7-v1:0"), core("anthropic/claude-haiku-4.5:thinking")
    ('claude-opus-4-7', 'claude-haiku-4-5')
    >>> core("publishers/anthropic/models/claude-opus-4-5@20251101"), core("gpt-4o-2024-11-20")
    ('claude-opus-4-5', 'gpt-4o')
    """
    name = name.rsplit("/", 1)[-1].lower()
    name = name.removeprefix("ft:").partition(":")[0]
    if (found := _publisher(name)) is not None:
        name = name[found.end() :]
    while (found := _tail(name)) is not None and found.start():
        name = name[: found.start()]
    return name.replace(".", "-") if name.startswith("claude") else name


MOST = 512
"""names that are remembered; after that many, all are forgotten"""
LONGEST = 256
"""characters of a name that are looked at"""


class Found(Struct, frozen=True):
    """What a look-up gives: the row, the pattern of it that matched, and the reduced name."""

    row: Row | None
    pattern: str | None
    core: str

    @property
    def facts(self) -> Facts:
        return UNKNOWN if self.row is None else self.row.facts


class Models:
    """The tables, and rows of the caller's own before them. What it has found it remembers."""

    __slots__ = ("_facts", "_vendors", "own")

    def __init__(self, own: Iterable[Row] = ()) -> None:
        self.own = tuple(own)
        self._facts: dict[tuple[str | None, str | None], Facts] = {}
        self._vendors: dict[str, str | None] = {}

    def facts(self, vendor: str | None, name: str | None) -> Facts:
        """What holds for a model after the API of a vendor; None: by whoever made the model."""
        found = self._facts.get((vendor, name))
        if found is None:
            found = self.find(vendor, name).facts
            if len(self._facts) >= MOST:
                self._facts.clear()
            self._facts[vendor, name] = found
        return found

    def vendor_of(self, name: str | None) -> str | None:
        """Whose model a name is; None: nobody's that is known."""
        if name is None:
            return None
        if name not in self._vendors:
            if len(self._vendors) >= MOST:
                self._vendors.clear()
            self._vendors[name] = self._maker(core(name[:LONGEST]))
        return self._vendors[name]

    def find(self, vendor: str | None, name: str | None) -> Found:
        """The row that holds for a model, and why."""
        if name is None:
            return Found(None, None, "")
        called = core(name[:LONGEST])
        for each in self.own:
            if vendor in (None, each.vendor) or not each.vendor:
                if pattern := each.matches(called) or _literal(each, name):
                    return Found(each, pattern, called)
        maker = self._maker(called)
        if vendor is None:
            vendor = maker
        table = self.table(vendor)
        for each in table.rows if table is not None else ():
            pattern = each.matches(called)
            if pattern is not None and (pattern != "*" or maker == vendor):
                return Found(each, pattern, called)
        return Found(None, None, called)

    def vendors(self) -> tuple[Vendor, ...]:
        """Everybody whose models are known, with the tables that come with the package."""
        return tuple(builtin())

    def table(self, vendor: str | None) -> Vendor | None:
        if vendor in VENDORS:
            return _table(vendor)
        return next((each for each in _others() if each.name == vendor), None)

    def extended(self, rows: Models | Mapping[str, Any] | Iterable[Row]) -> Models:
        """These models with more rows, which win over those that were there."""
        if isinstance(rows, Mapping):
            rows = load(rows, self)
        more = rows.own if isinstance(rows, Models) else tuple(rows)
        return Models((*more, *self.own))

    def _maker(self, called: str) -> str | None:
        for each in self.own:
            if each.vendor and each.matches(called):
                return each.vendor
        return next((each.name for each in builtin() if each.is_maker_of(called)), None)


def _literal(each: Row, name: str) -> str | None:
    """The pattern that the whole name matches, as a deployment may be called anything."""
    return next((p for p in each.names if fits(name.lower(), p.lower())), None)


DEFAULT = Models()


# -- the caller's own rows -------------------------------------------------------------------------


class _Entry(Struct, frozen=True, forbid_unknown_fields=True):
    names: tuple[str, ...]
    vendor: str | None = None
    like: str | None = None
    source: str = "given by the caller"
    facts: dict[str, Any] = {}


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    model: tuple[_Entry, ...]


def load(value: Mapping[str, Any], base: Models | None = None) -> Models:
    """The built-in tables with rows of the caller's own, out of a parsed TOML or JSON file.

    >>> mine = load({"model": [{"names": ["prod-*"], "like": "claude-opus-4-7",
    ...                         "facts": {"max_tokens": 32000}}]})
    >>> mine.facts("anthropic", "prod-eu").max_tokens, mine.facts("anthropic", "prod-eu").prefill
    (32000, False)
    """
    base = base or DEFAULT
    try:
        file = convert(dict(value), _File)
    except ValidationError as problem:
        raise _at_fault(problem, "") from None
    return Models((*(_own(e, f"/model/{i}", base) for i, e in enumerate(file.model)), *base.own))


def _own(entry: _Entry, at: str, base: Models) -> Row:
    vendor, known, sources = entry.vendor, dict[str, Any](), dict[str, str]()
    if vendor is not None and base.table(vendor) is None:
        names = ", ".join(each.name for each in builtin())
        raise Malformed(f"unknown vendor {vendor!r}; known: {names}", f"{at}/vendor")
    if entry.like is not None:
        found = base.find(vendor, entry.like)
        if found.row is None:
            raise Malformed(f"unknown model {entry.like!r}", f"{at}/like")
        vendor = vendor or found.row.vendor
        known, sources = to_builtins(found.facts), dict(found.row.sources)
    try:
        facts = convert(known | entry.facts, Facts)
    except ValidationError as problem:
        raise _at_fault(problem, f"{at}/facts") from None
    for name in entry.facts:
        sources[name] = entry.source
    return Row(entry.names, facts, sources, vendor or "", own=True)


_places = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]").findall


def _at_fault(problem: ValidationError, at: str) -> Malformed:
    """msgspec's words, and its place as a JSON pointer."""
    what, _, where = str(problem).partition(" - at `$")
    steps = "".join(f"/{name or index}" for name, index in _places(where.rstrip("`")))
    return Malformed(what[:1].lower() + what[1:], at + steps)


def given(models: Models | Mapping[str, Any] | None) -> Models:
    """What a caller gave as ``models=``: the tables, rows for them, or nothing."""
    if models is None:
        return DEFAULT
    if isinstance(models, Models):
        return models
    if isinstance(models, Mapping):
        return load(models)
    raise Unsupported("models: rows as of a parsed file, or what dragoman.models.load gives")


__all__ = [
    "DEFAULT",
    "FACTS",
    "UNKNOWN",
    "Facts",
    "Found",
    "Models",
    "Row",
    "Vendor",
    "builtin",
    "core",
    "given",
    "load",
    "row",
]
