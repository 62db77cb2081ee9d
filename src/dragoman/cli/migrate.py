"""``dragoman migrate``: whole trees of stored conversations, in place, and back.

Beside each file that changes stands a capsule, ``FILE.capsule.json``:

    {"migrated": {"to", "before", "after", "indent"}, "parts": [{"line", "at", "facet", "from",
     "capsule"}, ...], "earlier": the capsule of a migration before that one, if there was one}

``before`` and ``after`` are digests of the file. A file that is as it was left is done, whatever
it looks like: so a second run changes nothing. Both files are written under other names, then
renamed, the capsule first; whoever is stopped between the two finds the file as it was (``before``
tells), and the next run does it again. No file is ever half-written, and a file of which a part
cannot be converted stays as it is.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import click
import msgspec
from msgspec.structs import replace

from .. import dialects
from ..convert import convert
from ..core import duplicates
from ..core.reading import encode
from ..core.surrogates import parse_exactly, parse_leniently
from ..detect import MARGIN, candidates, is_tied
from ..errors import DragomanError, Malformed, Unsayable
from ..ledger import Ledger, Loss
from ..model import History, Json
from . import ledger, options, printing, terminal
from .app import command as make_command
from .batch import Batch, explained
from .faults import MALFORMED, USAGE, Fault, usage
from .inputs import CAPSULE, Document, Input, Nothing, Reading, expand
from .keys import key_of
from .ledger import Tally
from .outputs import write_to
from .sources import Source, identify
from .wrapped import found, placed

FORMS = ("json", "jsonl")


class Part(NamedTuple):
    """A conversation in a file: the line it stands in, its pointer there, and what became of it."""

    line: int | None
    at: str
    source: Source
    document: Json
    capsule: Json
    losses: tuple[Loss, ...]


@make_command(
    "migrate",
    "dragoman migrate -t chat --dry-run sessions/",
    "dragoman migrate -f anthropic -t chat --at /messages sessions/",
    "dragoman migrate --back sessions/",
)
@options.files()
@options.source_option
@click.option("-t", "--to", "target", type=options.DIALECT, help="The target dialect.")
@options.facet_option
@options.at_option
@click.option("--model", metavar="NAME", help="The model to name in converted requests.")
@click.option("--back", is_flag=True, help="Undo a migration.")
@click.option("--dry-run", is_flag=True, help="Report what would change, and write nothing.")
@options.key_option
@options.ledger_options
def command(files: tuple[str, ...], **settings: Any) -> int:
    """Convert stored conversations in place, file by file, whole folders of them.

    A file is replaced only if all of it can be converted; what the target cannot hold is written
    beside it to FILE.capsule.json, and --back restores it. A second run changes nothing. With
    --at, only the value at that pointer is converted, and the rest of the file is unchanged.
    """
    inputs = expand(files)
    if any(input.path is None for input in inputs):
        raise usage("migrate needs files, not standard input")
    if any(input.session is not None for input in inputs):
        raise usage("migrate needs files: the session of an agent is never written over")
    return Migration(inputs, **settings).run()


class Migration:
    """One run of the command."""

    def __init__(
        self,
        inputs: list[Input],
        *,
        source: str | None,
        target: str | None,
        facet: str | None,
        at: tuple[str, ...],
        model: str | None,
        back: bool,
        dry_run: bool,
        key: bytes | None,
        report: str | None,
        fail_on: tuple[str, ...],
        quiet: bool,
        verbose: bool,
    ) -> None:
        if not back and target is None:
            raise usage("-t DIALECT or --back is required", "dragoman migrate -t DIALECT FOLDER")
        if facet == "stream":
            raise usage("migrate does not support streams", "dragoman collect")
        self.inputs, self.source, self.target = inputs, source, target or ""
        self.facet, self.at, self.back, self.dry_run = facet, at, back, dry_run
        self.model, self.key = model, key_of(key)
        self.fail_on, self.quiet, self.verbose = fail_on, quiet, verbose
        self.tally = Tally(report)
        self.batch = Batch(inputs, tally=self.tally, quiet=quiet)
        self.changed = self.same = 0

    def run(self) -> int:
        with self.tally.reporting(self.batch.inputs):
            for input in self.inputs:
                with self.batch.attempt(Document(input, b"")):
                    self.bring_back(input) if self.back else self.migrate(input)
                if self.batch.fault is not None:
                    self.batch.missed(input)
                self.batch.progress.step()
        self.batch.progress.clear()
        if not self.quiet:
            self.sum_up()
        return self.batch.exit_code

    # -- there ------------------------------------------------------------------------------------

    def migrate(self, input: Input) -> None:
        data, form = self.read(input)
        record = standing(recorded(input), data)
        done = record is not None and record["migrated"]["to"] == self.target
        if record is not None and done and record["migrated"]["after"] == digest(data):
            self.same += 1
            return
        parts: list[Part] = []
        lines = []
        for document in documents(input, data, form):
            value = parse_in(document)
            for part in self.parts(document, value, migrated=done):
                parts.append(part)
                value = placed(value, part.at, part.document)
            lines.append(value)
            refuse_twice(document)
        if not parts:
            self.same += 1
            return
        if not self.dry_run:
            self.write(input, data, form, lines, parts, record)
        self.changed += 1
        self.note(input, parts)

    def parts(self, document: Document, value: Json, migrated: bool) -> Iterator[Part]:
        """What is to be converted in one document."""
        places = found(value, self.at, document.name) if self.at else [("", value)]
        for at, inner in places:
            held = document.inside(at, encode(inner), None, label=at) if at else document
            source = self.identify(held, inner, migrated)
            if source is None:
                continue
            written = as_written(inner, source)
            extra = "" if written is inner else f"/{history_key(source.dialect)}"
            try:
                result = convert(
                    written,
                    source=source.dialect,
                    target=self.target,
                    facet=source.facet,
                    fail_on=self.fail_on,
                    carry=True,
                    key=self.key,
                    model=self.model if source.facet == "request" else None,
                )
            except (DragomanError, Fault) as problem:
                if isinstance(problem, Malformed | Unsayable):
                    problem = type(problem)(problem.what, problem.at.removeprefix(extra))
                raise explained(problem, held) from None
            new = as_stored(result.document, inner, self.target)
            if encode(new) != encode(inner):
                inside = (replace(x, path=x.path.removeprefix(extra)) for x in result.losses)
                losses = held.placed(inside)
                yield Part(document.line, at, source, new, result.capsule, losses)

    def identify(self, document: Document, value: Json, migrated: bool) -> Source | None:
        """What a conversation is; None where it is in the target dialect already."""
        guesses = candidates(value, self.facet)
        sure: dict[str, float] = {}
        for guess in guesses:
            sure[guess.dialect] = max(guess.confidence, sure.get(guess.dialect, 0.0))
        target = sure.get(self.target, 0.0)
        rival = sure.get(self.source, 0.0) if self.source else max(sure.values(), default=0.0)
        if self.source == self.target or (target and target > rival + MARGIN * bool(self.source)):
            return None
        if target and target >= rival - MARGIN and (migrated or not self.source):
            return None  # as likely as anything else: it reads the same in both
        if self.source is None and guesses and not is_tied(guesses):
            if guesses[0].dialect == self.target:
                return None
        return identify(document, self.source, self.facet)

    def write(
        self,
        input: Input,
        data: bytes,
        form: str,
        lines: list[Json],
        parts: list[Part],
        before: Json,
    ) -> None:
        indent = indentation(data) if form == "json" else None
        new = spelled(lines, indent, data.endswith(b"\n"))
        record: dict[str, Json] = {
            "migrated": {
                "to": self.target,
                "before": digest(data),
                "after": digest(new),
                "indent": indent,
            },
            "parts": [
                {
                    "line": part.line,
                    "at": part.at,
                    "facet": part.source.facet,
                    "from": part.source.dialect,
                    "capsule": part.capsule,
                }
                for part in parts
            ],
        }
        if before is not None and before["migrated"]["to"] == self.target:
            # What was converted then, and is not new now, still comes back by its own capsule.
            new_places = {(part.line, part.at) for part in parts}
            old = [p for p in before["parts"] if (p["line"], p["at"]) not in new_places]
            record["parts"] = [*old, *record["parts"]]
            before = before.get("earlier")
        if before is not None:
            record["earlier"] = before
        with write_to(input.path, within=input.within) as sink:
            sink.write(new)
            sink.flush()  # a full disk is met before anything has its name
            place = beside(input)
            with write_to(place, inputs=[input], within=place.parent) as capsule:
                capsule.write(encode(record) + b"\n")

    def note(self, input: Input, parts: list[Part]) -> None:
        losses = tuple(loss for part in parts for loss in part.losses)
        self.tally.add(
            losses,
            input=input.name,
            line=None,
            source=parts[0].source.dialect,
            facet=parts[0].source.facet,
            target=self.target,
        )
        if self.verbose and not self.quiet:
            given = f"{parts[0].source} to {self.target}"
            self.batch.say(f"{terminal.bold(input.name)}: {given}")
            ledger.show(losses, verbose=True)

    # -- and back ---------------------------------------------------------------------------------

    def bring_back(self, input: Input) -> None:
        record = recorded(input)
        if record is None:
            self.same += 1
            return
        data, form = self.read(input)
        indent = record["migrated"]["indent"]
        if record["migrated"]["before"] != digest(data):
            lines = []
            losses: tuple[Loss, ...] = ()
            for document in documents(input, data, form):
                value = parse_in(document)
                for part in record["parts"]:
                    if part["line"] == document.line:
                        dialect = record["migrated"]["to"]
                        value, lost = restored(document, value, part, dialect, self.key)
                        losses += lost
                lines.append(value)
            if not self.dry_run:
                with write_to(input.path, within=input.within) as sink:
                    sink.write(spelled(lines, indent, data.endswith(b"\n")))
            self.tally.add(
                losses, input=input.name, line=None, source=record["migrated"]["to"], facet=None,
                target=None,
            )  # fmt: skip
        self.changed += 1
        if self.dry_run:
            return
        if earlier := record.get("earlier"):  # of a migration before that one
            place = beside(input)
            with write_to(place, inputs=[input], within=place.parent) as sink:
                sink.write(encode(earlier) + b"\n")
        else:
            os.unlink(beside(input))

    # -- both -------------------------------------------------------------------------------------

    def read(self, input: Input) -> tuple[bytes, str]:
        with Reading(input) as reading:
            if reading.form not in FORMS:
                what = "streams" if reading.form == "stream" else "containers"
                raise Nothing(f"migrate does not support {what}", USAGE, where=input.name)
            return reading.all(), reading.form

    def sum_up(self) -> None:
        for line in self.tally.table():
            terminal.say(line)
        did = "restored" if self.back else "migrated"
        given = f"{terminal.plural(self.changed, 'file')} {'to be ' * self.dry_run}{did}"
        if self.same:
            why = "without a capsule" if self.back else f"in {self.target} already"
            given += f", {self.same:,} {why}"
        if self.batch.skipped:
            given += f", {self.batch.skipped:,} skipped"
        if self.batch.failures:
            given += f", {terminal.red(f'{self.batch.failures:,} failed')} and unchanged"
        terminal.say(given)


@cache
def history_key(dialect: str) -> str | None:
    """The key of the object that a dialect writes a history as; None where that is a bare list."""
    speaker = dialects.get(dialect)
    key = speaker.history or "messages"
    try:
        written = speaker.write(History(()), Ledger())
    except DragomanError:
        return None
    return key if written.__class__ is dict and key in written else None


def as_written(value: Json, source: Source) -> Json:
    """A bare list of messages as the dialect itself writes it: so that a capsule fits it later."""
    key = history_key(source.dialect) if source.facet == "messages" else None
    return {key: value} if key and value.__class__ is list else value


def as_stored(value: Json, before: Json, dialect: str) -> Json:
    """A bare list where one was stored, if nothing else than the messages has been written."""
    key = history_key(dialect)
    if before.__class__ is list and value.__class__ is dict and list(value) == [key]:
        return value[key or ""]
    return value


def documents(input: Input, data: bytes, form: str) -> Iterator[Document]:
    """The documents of a file: itself, or its lines; empty lines are nothing."""
    if form == "json":
        yield Document(input, data)
        return
    for number, line in enumerate(data.splitlines(), 1):
        if line.strip():
            yield Document(input, line, number)


def refuse_twice(document: Document) -> None:
    """A key that stands twice in its object: one of its values could not come back."""
    for loss in duplicates.losses(document.data, parse_leniently(document.data))[:1]:
        what = "is a duplicate key, and only one of its values would be kept"
        raise explained(Malformed(what, loss.path), document)


def parse_in(document: Document) -> Json:
    try:
        return parse_exactly(document.data)
    except Malformed as problem:
        raise explained(problem, document) from None


def restored(
    document: Document, value: Json, part: dict[str, Json], dialect: str, key: bytes | None
) -> tuple[Json, tuple[Loss, ...]]:
    """The document with one conversation as it was, and what has grown since then."""
    places = list(found(value, (part["at"],), document.name)) if part["at"] else [("", value)]
    result = convert(
        as_written(places[0][1], Source(dialect, part["facet"])),
        source=dialect,
        target=part["from"],
        facet=part["facet"],
        capsule=part["capsule"],
        key=key,
    )
    new = as_stored(result.document, places[0][1], part["from"])
    return placed(value, part["at"], new), result.losses


class _Migrated(msgspec.Struct):
    to: str
    before: str
    after: str
    indent: Annotated[int, msgspec.Meta(ge=0, le=64)] | None


class _Part(msgspec.Struct):
    line: int | None
    at: str
    facet: str
    from_: str = msgspec.field(name="from")
    capsule: Any


class _Record(msgspec.Struct):
    """What stands beside a file: it may be anybody's, so it is looked at whole."""

    migrated: _Migrated
    parts: Annotated[list[_Part], msgspec.Meta(min_length=1)]
    earlier: _Record | None = None


def beside(input: Input) -> Path:
    assert input.path is not None
    return input.path.with_name(input.path.name + CAPSULE)


def recorded(input: Input) -> Any:
    """What a migration has left beside a file; None where there is nothing."""
    path = beside(input)
    if not path.exists():
        return None
    with Reading(Input(str(path)), "json") as reading:
        data = reading.all()
    try:
        record = parse_exactly(data)
        msgspec.convert(record, _Record)
    except (Malformed, msgspec.ValidationError, RecursionError):
        pass
    else:
        return record
    raise Fault("not a file that migrate wrote", MALFORMED, where=str(path), hint="move it away")


def standing(record: Any, data: bytes) -> Any:
    """What a migration has left, without one that was stopped before it wrote this file."""
    while record is not None and record["migrated"]["before"] == digest(data):
        record = record.get("earlier")
    return record


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def indentation(data: bytes) -> int | None:
    """By how many spaces a document is indented; None where it stands on one line.

    >>> indentation(b'{\\n    "a": 1}'), indentation(b'{"a": 1}')
    (4, None)
    """
    seen = re.match(rb"\s*[\[{]\s*?\n( *)", data)
    return len(seen[1]) if seen else None


def spelled(lines: list[Json], indent: int | None, ends: bool) -> bytes:
    """Documents as the file had them: indented, or a line each."""
    texts = [encode(line) for line in lines]
    if indent is not None:
        texts = [printing.indented(text, indent) for text in texts]
    return b"\n".join(texts) + b"\n" * ends
