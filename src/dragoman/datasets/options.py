"""What a job does: one value, which a recipe (TOML) says as well as the command line.

>>> print(Options(target="functiongemma", split={"train": 0.9, "test": 0.1}).recipe())
target = "functiongemma"
<BLANKLINE>
[split]
train = 0.9
test = 0.1
<BLANKLINE>
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from typing import Any, Literal

import msgspec
from msgspec import Struct

from .. import dialects
from ..core.reading import compact
from ..dialect import Dialect
from ..errors import Malformed, Unsupported
from ..ledger import CODES, KINDS

CHUNK = 4 * 1024 * 1024
"""About how many bytes of the inputs are worked on at once."""
SHARD = 256 * 1024 * 1024
LIMIT = 256 * 1024 * 1024
TEMPLATE = "template:"
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
BARE = re.compile(r"[A-Za-z0-9_-]+")


class Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """All of it, but for where and how it runs (``Run``)."""

    target: str
    source: str | None = None
    model: str | None = None
    """the model that requests name in the target"""
    fail_on: tuple[str, ...] = ()
    """a record with one of these losses is rejected"""

    column: str | None = None
    """the column, or the key of a line, that has the conversation"""
    response_column: str | None = None
    """the one that has the response to it"""
    carry: tuple[str, ...] | None = None
    """the other columns that are carried along; None: all, where ``column`` is given"""
    conversation: str | None = None
    """the column that names the conversation; None: its first words do"""

    formats: tuple[str, ...] = ()
    """only records of these dialects"""
    tool_calls: bool | None = None
    """only records with (without) calls of tools"""
    min_chars: int | None = None
    max_chars: int | None = None
    min_tokens: int | None = None
    max_tokens: int | None = None
    tokenizer: str | None = None
    """a ``tokenizer.json`` of Hugging Face"""
    valid: bool = False
    """only what ``check`` accepts of the target"""

    cut: Literal["turns"] | None = None
    """a record for each turn of the assistant"""
    reasoning: Literal["keep", "drop"] = "keep"
    redact: tuple[str, ...] = ()
    """built-in detectors by name"""
    redact_patterns: tuple[str, ...] = ()

    dedup: Literal["exact", "near"] | None = None
    threshold: float = 0.8
    """how alike two records are that are the same to ``near``"""
    sample: int | float | None = None
    """a share below 1, or how many records"""
    split: dict[str, float] = {}
    shuffle: bool = False
    seed: int = 0

    shard_size: int = SHARD
    max_size: int = LIMIT
    """how many bytes one document may have"""

    def __post_init__(self) -> None:
        for name in filter(None, (self.target, self.source, *self.formats)):
            writer_of(name)
        known = {*KINDS, *CODES}
        for code in self.fail_on:
            require(code in known, f"fail_on: unknown loss {code!r}")
        require(0 < self.threshold <= 1, "threshold is more than 0 and at most 1")
        require(self.shard_size > 0 and self.max_size > 0, "a size is more than 0")
        if self.sample is not None:
            require(self.sample > 0, "sample is a share below 1, or a number of records")
            whole = self.sample < 1 or self.sample == int(self.sample)
            require(whole, "sample is a share below 1, or a number of records")
        for name, share in self.split.items():
            require(bool(NAME.fullmatch(name)), f"split: {name!r} cannot name a file")
            require(0 < share <= 1, f"split: the share of {name} is between 0 and 1")
        if self.split:
            total = sum(self.split.values())
            require(abs(total - 1) < 1e-6, f"split: the shares sum up to {total:g}, not to 1")
        tokens = self.min_tokens is not None or self.max_tokens is not None
        require(not tokens or self.tokenizer is not None, "a length in tokens needs a tokenizer")
        if self.response_column or self.carry or self.conversation:
            needed = "response_column, carry and conversation go with column"
            require(self.column is not None, needed)
        if writer_of(self.target).lines:
            raise Unsupported(f"a document of {self.target} is a file of its own, and no record")
        if "request" not in writer_of(self.target).facets():
            raise Unsupported(f"{self.target} has no form for a conversation")

    def files(self) -> tuple[str, ...]:
        """The files that it names: what is in them decides as well."""
        template = self.target.removeprefix(TEMPLATE).partition("?")[0]
        names = (self.tokenizer, template if self.target.startswith(TEMPLATE) else None)
        return tuple(name for name in names if name is not None)

    def told(self) -> dict[str, Any]:
        """The options for a manifest: patterns, which may spell a secret, by their digests."""
        values: dict[str, Any] = msgspec.to_builtins(self)
        if self.redact_patterns:
            digests = [hashlib.sha256(each.encode()).hexdigest() for each in self.redact_patterns]
            values["redact_patterns"] = [f"sha256:{digest[:16]}" for digest in digests]
        return values

    def recipe(self) -> str:
        """The options as TOML; what has its default is left out."""
        values = msgspec.to_builtins(self)
        tables = {key: value for key, value in values.items() if value.__class__ is dict}
        lines = [f"{key} = {toml(value)}" for key, value in values.items() if key not in tables]
        for key, table in tables.items():
            lines += ["", f"[{key}]", *(f"{_key(k)} = {toml(v)}" for k, v in table.items())]
        return "\n".join(lines) + "\n"


def require(holds: bool, what: str) -> None:
    if not holds:
        raise Unsupported(what)


def writer_of(name: str) -> Dialect:
    """A dialect by its name; a chat template is read again in every process."""
    if name.startswith(TEMPLATE):
        from ..templates import load

        load(name)
    return dialects.get(name)


def options_of(values: dict[str, Any]) -> Options:
    """Options by their names; a word that is none of them is an error that names it."""
    try:
        return msgspec.convert(values, Options)
    except msgspec.ValidationError as problem:
        raise Unsupported(f"recipe: {problem}") from None


class Recipe(Struct, frozen=True):
    """A recipe: the options, and what the job reads and writes, if it says so."""

    values: dict[str, Any]
    inputs: tuple[str, ...] = ()
    output: str | None = None
    form: str | None = None


def read_recipe(text: str) -> Recipe:
    """A recipe as it is written in TOML: ``inputs``, ``output`` and options by their names.

    >>> read_recipe('inputs = ["logs/"]\\ntarget = "functiongemma"').inputs
    ('logs/',)
    """
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise Malformed(f"not TOML: {problem}") from None
    inputs, output = values.pop("inputs", []), values.pop("output", None)
    form = values.pop("form", None)
    if not isinstance(inputs, list) or not all(isinstance(path, str) for path in inputs):
        raise Malformed("inputs is a list of paths")
    if not isinstance(output, str | None) or not isinstance(form, str | None):
        raise Malformed("output is a path, and form the ending of shards in a folder")
    known = Options.__struct_fields__
    for name in values:
        if name not in known:
            raise Malformed(f"unknown option {name!r}; the options are: {', '.join(known)}")
    return Recipe(values, tuple(inputs), output, form)


def _key(key: str) -> str:
    return key if BARE.fullmatch(key) else compact(key)


def toml(value: Any) -> str:
    """A value of JSON as TOML."""
    # Texts, numbers and lists of JSON are those of TOML, but for one character.
    return compact(value).replace("\x7f", "\\u007f")
