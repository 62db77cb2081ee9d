"""Files around documents: captures of HTTP, batch files, exports, columns of tables.

>>> from dragoman import containers
>>> line = b'{"custom_id": "a", "params": {"model": "m", "max_tokens": 9, "messages": []}}'
>>> for document in containers.open(line):
...     print(document, document.id)
<anthropic-messages request at the whole file> a

``open`` gives the documents of a file, each with its place, dialect and facet; ``convert`` writes
the file anew for another dialect, in the same shape: a cassette stays a cassette. Every file of
this package whose name has no underscore is one kind of container (``kinds``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .. import dialects
from ..core import duplicates
from ..core.models import Models
from ..errors import DragomanError, Malformed, Unsupported
from ..ledger import Loss
from ..model import Json
from . import _archives, _batches, _codings, _recorded, _tables, _wire
from ._documents import Document, located
from ._kinds import Coding, Container, Found, Recording, Records, kind_of, kinds, may_be
from ._recorded import Options
from ._wire import NoCall

LIMIT = _wire.LIMIT
SUFFIXES: dict[str, Coding] = {
    ".yaml": "yaml",
    ".yml": "yaml",
    ".flow": "flows",
    ".flows": "flows",
    ".mitm": "flows",
    ".zip": "zip",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
"""What the names of files end in that are not JSON."""

CODINGS: dict[Coding, str] = {
    "json": "JSON",
    "yaml": "YAML",
    "flows": "dump of mitmproxy",
    "parquet": "Parquet",
    "arrow": "Arrow",
    "zip": "archive",
}


class Whole(NamedTuple):
    """A container as a whole: what it is, how it is written, its value and its bytes."""

    kind: Container
    coding: Coding
    value: Json
    data: bytes


class Problem(NamedTuple):
    """A record that was not read: its line or its pointer, and the error."""

    at: str
    line: int | None
    error: DragomanError


# -- reading ---------------------------------------------------------------------------------------


def coding_of(data: bytes, name: str = "") -> Coding | None:
    """How bytes are written that are not JSON, by the first of them, or by the name of the file."""
    if _codings.is_flows(data):
        return "flows"
    if data.startswith(_archives.SIGN):
        return "zip"
    if _tables.is_table(data):
        return "parquet" if data.startswith(_tables.PARQUET) else "arrow"
    known = SUFFIXES.get(Path(name.lower()).suffix)
    if known == "yaml" or data.lstrip()[:20].startswith((b"interactions:", b"http_interactions:")):
        return "yaml"
    if data.startswith(b"---") and b"interactions:" in data[:4096]:
        return "yaml"
    return known


def load(data: bytes, coding: Coding, limit: int | None = LIMIT) -> Json:
    """The value of a file."""
    match coding:
        case "yaml":
            return _codings.load_yaml(data)
        case "flows":
            return _codings.load_flows(data)
        case "zip":
            return _archives.load(data, limit)
        case "parquet" | "arrow":
            if not _tables.is_table(data):
                raise Malformed(f"not a file of {CODINGS[coding]}")
            return _tables.Table(data, limit)
    return _codings.load_json(data)


def read(data: bytes, name: str = "", limit: int | None = LIMIT) -> Whole | None:
    """A file as a container; None where it is none, or has one document per line."""
    coding = coding_of(data, name) or "json"
    if coding == "json" and not may_be(data):
        return None
    value = load(data, coding, limit)
    kind = kind_of(value)
    return None if kind is None else Whole(kind, coding, value, data)


class Opened:
    """The documents of a container, to be iterated once.

    ``problems`` lists the records that could not be read; the others are given.
    """

    def __init__(self, found: Iterable[tuple[int | None, Found]]) -> None:
        self._found = found
        self.problems: list[Problem] = []

    def __iter__(self) -> Iterator[Document]:
        for line, found in self._found:
            for document in found.documents:
                document.line = line
                yield document
            for error in (found.problem, found.reply_problem):
                if error is not None:
                    self.problems.append(Problem(found.at, line, error))


def open(  # the name that everybody expects of a module that opens files
    source: str | Path | bytes, *, name: str = "", limit: int | None = LIMIT
) -> Opened:
    """The documents of a file, or of bytes, whose ``name`` may tell how they are written.

    JSON with one document per line is read line by line and never in memory as a whole. What is no
    container at all is one document, whose dialect is for ``detect`` to find. ``limit`` is how many
    bytes a file, a line or a decompressed body may have.
    """
    if not isinstance(source, bytes):
        name = name or str(source)
        if Path(name).suffix.lower() in (".jsonl", ".ndjson"):
            return Opened(_of_lines(_lines_of(Path(source), limit), limit))
        data = Path(source).read_bytes()
    else:
        data = source
    if limit is not None and len(data) > limit:
        raise Malformed(f"a file of more than {limit:,} bytes")
    return Opened(_of_data(data, name, limit))


def _of_data(data: bytes, name: str, limit: int | None) -> Iterator[tuple[int | None, Found]]:
    try:
        whole = read(data, name, limit)
    except Malformed:
        lines = data.splitlines()
        if coding_of(data, name) is not None or len(lines) < 2 or not _is_document(lines[0]):
            raise
        yield from _of_lines(iter(lines), limit)
        return
    if whole is None:
        lines = data.splitlines()
        if len(lines) > 1 and _is_document(lines[0]):
            yield from _of_lines(iter(lines), limit)
        else:
            yield None, Found("", (Document(data, None, None),))
        return
    for found in whole.kind.documents(whole.value, limit):
        yield None, found


def _is_document(line: bytes) -> bool:
    return line[:1] == b"{" and _wire.is_json(line)


def _lines_of(path: Path, limit: int | None) -> Iterator[bytes]:
    most = -1 if limit is None else limit + 1
    with path.open("rb") as file:
        while line := file.readline(most):
            if limit is not None and len(line) > limit:
                raise Malformed(f"a line of more than {limit:,} bytes")
            yield line


def _of_lines(lines: Iterator[bytes], limit: int | None) -> Iterator[tuple[int | None, Found]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = _codings.load_json(line.rstrip(b"\r\n"))
        except Malformed as problem:
            yield number, Found("", (), problem)
            continue
        kind = kind_of(value)
        if kind is None:
            yield number, Found("", (Document(line.rstrip(b"\r\n"), None, None),))
            continue
        for found in kind.documents(value, limit):
            yield number, found


# -- converting ------------------------------------------------------------------------------------


class Record(NamedTuple):
    """What became of one record: the dialect it was in, its losses, or why it stayed as it was."""

    at: str
    line: int | None
    source: str | None
    losses: tuple[Loss, ...] = ()
    error: DragomanError | None = None


class Rewritten(NamedTuple):
    """A container in another dialect, and what became of each record."""

    data: bytes
    records: tuple[Record, ...]

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The losses of all records; their paths point into the source."""
        return tuple(loss for record in self.records for loss in record.losses)

    @property
    def problems(self) -> tuple[Record, ...]:
        """The records that could not be converted."""
        return tuple(record for record in self.records if record.error is not None)


def keeps_shape(whole: Whole, target: str) -> bool:
    """Whether a container of this kind can hold documents of a dialect."""
    if isinstance(whole.kind, Records):
        return has_batches(target)
    return whole.kind.is_rewritten and is_addressed(target)


def is_addressed(target: str) -> bool:
    """Whether a recording can be of a dialect: its API has an address that is known."""
    return _recorded.address_of(dialects.get(target)) is not None


def has_batches(target: str) -> bool:
    """Whether the vendor of a dialect has batch files."""
    return _batches.shape_for(dialects.get(target).name) is not None


def convert(
    data: bytes,
    *,
    target: str,
    name: str = "",
    source: str | None = None,
    model: str | None = None,
    models: Models | Mapping[str, Any] | None = None,
    now: float | None = None,
    ids: Callable[[str], str] | None = None,
    fail_on: Iterable[str] = (),
    limit: int | None = LIMIT,
    url: str | None = None,
) -> Rewritten:
    """A container in another dialect, in the same shape.

    A recording (HAR, a cassette, a dump of mitmproxy) is what it would be if another vendor had
    been asked: addresses, headers, requests, responses, errors and streams are the target's, keys
    are replaced by ``REDACTED``, and what is no call of a model stays. A batch file becomes one of
    the target's vendor, with its ids. ``model`` is the model that requests name in the target;
    ``now`` is used where a record has no date of its own; ``url`` is the address of the
    target's API, where it is not the vendor's usual one. A record that cannot be converted is in
    ``problems``; in a recording it stays as it is, in a batch file it is left out.

    In the same dialect, nothing changes and the bytes are the same.
    """
    writer = dialects.get(target)
    options = Options(
        model, models, now, ids, (fail_on,) if isinstance(fail_on, str) else tuple(fail_on),
        None if source is None else dialects.get(source).name, limit, url,
    )  # fmt: skip
    if limit is not None and len(data) > limit:
        raise Malformed(f"a file of more than {limit:,} bytes")
    try:
        whole = read(data, name, limit)
    except Malformed:
        whole = None
        if coding_of(data, name) is not None or b"\n" not in data:
            raise
    if whole is not None and whole.kind.is_rewritten:
        return rewrite(whole, writer.name, options)
    if (coding := coding_of(data, name)) is not None:
        raise Malformed(f"no documents that dragoman knows in this {CODINGS[coding]}")
    return _batches.convert(data, whole and whole.value, writer.name, options)


def rewrite(whole: Whole, target: str, options: Options) -> Rewritten:
    """A recording in another dialect."""
    kind, value = whole.kind, whole.value
    if isinstance(value, _tables.Table):
        from .table import rewrite as rewrite_table

        made: Rewritten = rewrite_table(value, target, options)
        return made
    if not isinstance(kind, Recording) or not keeps_shape(whole, target):
        raise Unsupported(f"{kind.title} cannot be written for {target}")
    writer = dialects.get(target)
    records: dict[int, Record] = {}
    calls: list[tuple[_wire.Call, _wire.Call]] = []
    is_changed = False
    every = list(kind.calls(value))
    twice = twice_in(whole, writer.name, [c.at for c in every if _wire.is_model_call(c)])
    for index, call in enumerate(every):
        new = _recorded.guarded(call)
        if call.problem or _wire.is_model_call(call):
            try:
                if call.problem:
                    raise Malformed(call.problem, call.at)
                found = _recorded.converted(call, writer, options, twice.get(call.at, ()))
                if whole.coding == "json" and not kind.holds_bytes:
                    refuse_bytes(found.call, writer.name)
                records[index] = Record(call.at, None, found.source, found.losses)
                if found.source != writer.name or options.model is not None:
                    new, is_changed = found.call, True
            except DragomanError as problem:
                records[index] = Record(call.at, None, None, (), problem)
        calls.append((call, new))
    if not records:
        raise NoCall(f"no call of a model in this {kind.name} file")
    if not is_changed:
        return Rewritten(whole.data, tuple(records.values()))
    changed: set[int] = set()
    for index, (old, new) in enumerate(calls):
        if new != old:
            changed.add(index)
            if more := tuple(kind.put(value, index, old, new)):
                records[index] = records[index]._replace(losses=(*records[index].losses, *more))
    return Rewritten(dump(whole, changed), tuple(records.values()))


def twice_in(whole: Whole, target: str, records: list[str]) -> dict[str, tuple[Loss, ...]]:
    """The keys that an object of a recording has twice, by record; the first has those around.

    The bodies are texts in it, with keys of their own.
    """
    out: dict[str, tuple[Loss, ...]] = {}
    if whole.coding == "json" and records:
        for loss in duplicates.losses(whole.data, whole.value, target):
            at = next((at for at in records if f"{loss.path}/".startswith(f"{at}/")), records[0])
            out[at] = (*out.get(at, ()), loss)
    return out


def refuse_bytes(call: _wire.Call, target: str) -> None:
    """A body that is no text has no place in some recordings."""
    try:
        if call.reply is not None:
            call.reply.data.decode()
    except UnicodeDecodeError:
        why = f"a stream of {target} is binary, and a cassette in JSON holds text; use YAML"
        raise Unsupported(why) from None


def dump(whole: Whole, changed: set[int]) -> bytes:
    """The bytes of a recording whose value has been changed at some records."""
    match whole.coding:
        case "yaml":
            return _codings.dump_yaml(whole.value, whole.data)
        case "flows":
            slices = enumerate(_codings.each_flow(whole.data))
            return b"".join(
                _codings.dump_flow(whole.value[index]) if index in changed else whole.data[a:b]
                for index, (_, a, b) in slices
            )
    return _codings.dump_json(whole.value, whole.data)


__all__ = [
    "CODINGS",
    "Container",
    "Document",
    "Found",
    "NoCall",
    "Opened",
    "Options",
    "Problem",
    "Record",
    "Rewritten",
    "Whole",
    "coding_of",
    "convert",
    "has_batches",
    "is_addressed",
    "keeps_shape",
    "kind_of",
    "kinds",
    "load",
    "located",
    "may_be",
    "open",
    "read",
    "rewrite",
]
