"""``dragoman convert``: a document or a stream in another dialect."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import asdict

from .. import containers, dialects
from ..convert import convert as convert_document
from ..core.models import Models
from ..core.reading import encode
from ..core.surrogates import parse_exactly
from ..errors import Malformed, MissingExtra
from ..ledger import Ledger, Loss, Restored
from ..model import Json
from ..result import Result
from . import ledger, options, printing, streams, terminal
from .app import command as make_command
from .batch import Batch
from .faults import MALFORMED, USAGE, Fault, explain, usage
from .inputs import Document, Form, Input, Nothing, Reading, expand, form_of, limit
from .keys import key_of
from .ledger import Tally
from .outputs import Known, Plan, Sink, make_parent, write_to
from .settings import parse_settings, with_settings
from .sources import Source, Teller, identify, identify_stream
from .wrapped import View

if TYPE_CHECKING:
    from ..streams.transcoder import Transcoder

URL = re.compile(r"https?://[^/\s]")


@make_command(
    "convert",
    "dragoman convert -f anthropic -t openai-chat request.json",
    "dragoman convert -t responses < request.json",
    "dragoman convert -f chat -t anthropic --facet stream answer.sse",
    "dragoman convert -t responses one.json two.json -o out/",
    "dragoman convert -t chat --model gpt-6 --set temperature=0.2 request.json",
    "dragoman convert -t anthropic --model claude-opus-5-5 cassettes/ -o claude/",
    "dragoman convert -t chat --facet request traffic.har -o requests.jsonl",
)
@options.files()
@options.source_option
@options.target_option
@options.facet_option
@options.old_jsonl_option
@options.at_option
@click.option(
    "--documents",
    is_flag=True,
    help="Write the documents of a container instead of the container.",
)
@click.option(
    "--url",
    metavar="BASE",
    help="The address of the target's API in a capture; default: the vendor's.",
)
@options.output_options
@options.append_option
@options.ledger_options
@click.option("--model", metavar="NAME", help="The model to name in the converted request.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set a field of the result, e.g. temperature=0.2 or reasoning.effort=high.",
)
@click.option(
    "--carry",
    metavar="FILE|DIR",
    help="Write a capsule with what the target cannot hold; DIR/: one per file.",
)
@click.option("--capsule", metavar="FILE|DIR", help="Restore what a capsule holds.")
@options.key_option
@options.models_option
@click.option(
    "--now", metavar="TIME", help="The time, where a target requires one: `now`, or Unix seconds."
)
@click.option("--random-ids", is_flag=True, help="Generate random ids instead of `call_1`.")
@click.option("--stop", is_flag=True, help="Stop at the first document that fails.")
def command(files: tuple[str, ...], **settings: Any) -> int:
    """Convert a document or a stream to another dialect.

    The result is written to standard output, the ledger of losses to standard error. JSON, JSON
    Lines and streams are recognised by file name and content. With JSON Lines or several files,
    documents that fail are reported and omitted (exit 4), and the others are converted. Captures
    of HTTP (HAR, cassettes, mitmproxy) and batch files keep their shape, unless --documents or
    --facet takes the documents out.
    """
    return Conversion(expand(files), **settings).run()


class Conversion:
    """One run of the command."""

    def __init__(
        self,
        inputs: list[Input],
        *,
        source: str | None,
        target: str,
        facet: str | None,
        lines: bool | None,
        at: tuple[str, ...],
        documents: bool,
        url: str | None,
        output: str | None,
        in_place: bool,
        append: bool,
        compact: bool,
        report: str | None,
        fail_on: tuple[str, ...],
        quiet: bool,
        verbose: bool,
        model: str | None,
        settings: tuple[str, ...],
        capsule: str | None,
        carry: str | None,
        key: bytes | None,
        models: Models | None,
        now: str | None,
        random_ids: bool,
        stop: bool,
    ) -> None:
        self.source, self.target, self.facet = source, target, facet
        self.form = form_of(lines, source, facet)
        self.model, self.settings = model, parse_settings(settings)
        self.compact = compact
        self.fail_on = fail_on
        self.quiet, self.verbose = quiet, verbose
        self.models = models
        self.now = printing.time_of(now)
        self.ids = printing.random_id if random_ids else None
        self.tally = Tally(report)
        self.view = View(at, facet, join=True)
        if in_place and at:
            hint = "dragoman migrate --at POINTER keeps the rest of the file"
            raise usage("--in-place replaces the whole file and cannot be combined with --at", hint)
        self.batch = Batch(inputs, stop=stop, tally=self.tally, view=self.view, quiet=quiet)
        self.url = url
        if url is not None and not URL.match(url):
            raise usage(f"--url {terminal.clean(url)} is not an address", "--url https://HOST/PATH")
        self.keeps = not documents and facet is None and not at
        """Whether containers keep their shape, where the target has one."""
        whole = self.keeps and containers.is_addressed(target)
        self.plan = Plan(inputs, output, in_place=in_place, append=append, whole=whole)
        self.plan.beside(report, carry if carry and not os.path.isdir(carry) else None)
        self.teller = Teller(quiet)
        self.several = len(inputs) > 1
        self.alone = False  # there is one document, and it is told of on its own
        self.capsules = Capsules(carry, capsule, inputs)
        if key is not None and not self.capsules.used:
            raise usage("--key-file needs --carry or --capsule")
        self.key = key_of(key) if self.capsules.used else None
        self.restored: tuple[Restored, ...] = ()

    def run(self) -> int:
        with self.tally.reporting(self.batch.inputs), self.capsules.opened():
            code = self.batch.write(self.plan, self.form, self.each)
        if not (self.quiet or self.alone or self.tally.is_stated):
            self.tally.show()
        return code

    def each(self, reading: Reading, sink: Sink) -> int:
        """One input, document by document, or as a stream; how many of them were written."""
        attempt = self.batch.attempt(reading.input.name, counts=False)
        with attempt, self.capsules.opened(reading.input):
            return self.one(reading, sink)
        return 0

    def one(self, reading: Reading, sink: Sink) -> int:
        if reading.form == "stream" and self.facet in (None, "stream"):
            return self.stream(reading, sink)
        if self.keeps and reading.form in ("json", "container") and not self.plan.in_lines:
            whole = self.container(reading)
            if whole is not None:
                return self.rewrite(whole, reading, sink)
        written = 0
        for document in self.batch.documents(reading):
            source: Source | None = None
            losses: tuple[Loss, ...] = ()
            self.restored = ()
            with self.batch.attempt(document):
                source = identify(document, self.source, self.facet)
                self.tell(document, source)
                losses = self.document(document, source, reading.form, sink)
                written += 1
            if not self.batch.passed:
                self.note(document, source, losses)
        return written

    def document(
        self, document: Document, source: Source, form: Form, sink: Sink
    ) -> tuple[Loss, ...]:
        puts = self.keeps and document.put is not None and containers.has_batches(self.target)
        if self.plan.in_place and document.outer is not None and not puts:
            raise usage("it is a part of its file, and --in-place replaces the whole file")
        before = Ledger()
        before.losses += document.notes
        before.enforce(self.fail_on)
        result = convert_document(
            document.data,
            source=source.dialect,
            target=self.target,
            facet=source.facet,
            fail_on=self.fail_on,
            now=self.now,
            ids=self.ids,
            carry=self.capsules.wanted,
            capsule=self.capsules.take(),
            model=self.model,
            models=self.models,
            key=self.key,
            limit=None,  # which is what was read
        )
        self.restored = result.restored
        result.document = with_settings(result.document, self.settings)
        losses = self.put(document, result, form, sink, is_record=puts)
        self.capsules.put(result.capsule)
        return (*losses, *self.address_losses(document))

    def put(
        self, document: Document, result: Result, form: Form, sink: Sink, *, is_record: bool
    ) -> tuple[Loss, ...]:
        """Write a converted document, or the record of a batch around it."""
        is_one_of_many = self.is_one_of_many(document, form)
        on_a_line = is_one_of_many or self.plan.is_in_lines(document.input)
        if is_record:
            data, losses = self.record(document, result)
            written = printing.json_text(data, on_a_line or self.compact)
        elif is_one_of_many and dialects.get(self.target).lines:
            raise usage(
                f"several documents of {self.target} cannot be written to one output",
                "-o DIR/ writes one file per input",
            )
        else:
            losses = document.placed(result.losses)
            data = result.to_json()
            written = printing.document(data, self.target, on_a_line or self.compact)
        sink.write(written)
        if form == "jsonl":
            sink.flush()
        return losses

    def record(self, document: Document, result: Result) -> tuple[bytes, tuple[Loss, ...]]:
        """The record of a batch around a converted document."""
        assert document.put is not None
        record, more = document.put(result.document, self.target, document.line or 1)
        after = Ledger()
        after.losses += more
        after.enforce(self.fail_on)
        found = document.placed(result.losses)
        if any(loss.what == "model" for loss in more):  # it is not written at all
            found = tuple(loss for loss in found if loss.what != "model")
        same = not more and document.line is not None and record == parse_exactly(document.text)
        return document.text if same else encode(record), (*found, *more)

    def container(self, reading: Reading) -> containers.Whole | None:
        """The input as a recording that can be written anew; else it is there to be read again."""
        data = reading.all()
        reading.ahead = [data]
        whole = None
        # What is wrong with it is written when it is read.
        with contextlib.suppress(Malformed, MissingExtra):
            whole = containers.read(data, reading.input.name, limit())
        if whole is None or not whole.kind.is_rewritten:
            return None
        return whole if containers.keeps_shape(whole, self.target) else None

    def rewrite(self, whole: containers.Whole, reading: Reading, sink: Sink) -> int:
        """A recording, as if the target's vendor had been asked."""
        input = reading.input
        made: containers.Rewritten | None = None
        with self.batch.attempt(Document(input, b""), counts=False):
            if self.capsules.used:
                raise usage("a capture of HTTP has no capsule", "--documents writes its documents")
            if self.settings:
                raise usage("--set applies to documents", "--documents writes them")
            if self.several and self.plan.together:
                raise usage("several captures cannot be written to one output", "-o DIR/")
            try:
                made = containers.rewrite(whole, self.target, self.options())
            except containers.NoCall as problem:
                raise Nothing(str(problem), USAGE, where=input.name) from None
            sink.write(made.data)
        if made is None:
            if not self.batch.passed:
                self.note(Document(input, b""), None, ())
            return 0
        if not self.quiet:
            calls = terminal.plural(len(made.records), "call")
            known = ", ".join(sorted({r.source for r in made.records if r.source}))
            line = terminal.dim(f"({calls}: {known})" if known else f"({calls})")
            self.batch.say(f"{terminal.bold(input.name)}: {terminal.cyan(whole.kind.title)} {line}")
        text = b"" if whole.coding != "json" else whole.data
        for record in made.records:
            document = Document(input, b"", outer=text, label=record.at)
            with self.batch.attempt(document):
                if record.error is not None:
                    raise record.error
            source = Source(record.source, "call") if record.source else None
            self.note(document, source, record.losses)
        return len(made.records) - len(made.problems)

    def options(self) -> containers.Options:
        return containers.Options(
            self.model,
            self.models,
            self.now,
            self.ids,
            self.fail_on,
            self.source,
            limit(),
            self.url,
        )

    def is_one_of_many(self, document: Document, form: Form) -> bool:
        """Whether there may be other results beside it in one output."""
        if form == "jsonl" or self.plan.append or bool(document.label):
            return True
        return self.several and self.plan.together

    def address_losses(self, document: Document) -> tuple[Loss, ...]:
        """What the address of a capture says and the body does not."""
        hint = document.hint
        if hint is None or not hint.asks_stream or hint.dialect == self.target:
            return ()
        why = "the URL requests a stream; --set stream=true sets it in the document"
        return (Loss("dropped", "stream", hint.asks_stream, why, self.target),)

    def stream(self, reading: Reading, sink: Sink) -> int:
        source: Source | None = None
        losses: tuple[Loss, ...] = ()
        with self.batch.attempt(reading.input.name):
            if self.capsules.used:
                raise usage("a stream has no capsule; collect it, and convert the response")
            if self.model is not None or self.settings:
                raise usage("--model and --set apply to documents, and this is a stream")
            if self.several and self.plan.together:
                raise usage(
                    "several streams cannot be written to one output",
                    "-o DIR/ writes one file per input",
                )
            source, chunks = identify_stream(reading, self.source)
            self.tell(reading, source)
            losses = self.transcode(source, chunks, reading.input.name, sink)
        self.note(Document(reading.input, b""), source, losses)
        return int(self.batch.fault is None)

    def transcode(
        self, source: Source, chunks: Iterator[bytes], name: str, sink: Sink
    ) -> tuple[Loss, ...]:
        """A stream, piece by piece: what can be expressed is written before more is read."""
        from ..streams.transcoder import Transcoder

        transcoder = Transcoder(
            source.dialect,
            self.target,
            collect=False,
            now=self.now,
            ids=self.ids,
            models=self.models,
            duplicates=True,
            limit=limit(),
            total=limit(),
        )
        for spelled in streams.transcoded(transcoder, chunks):
            if spelled:
                sink.write(spelled)
                sink.flush()
        self.judge(transcoder, name)
        return transcoder.losses

    def judge(self, transcoder: Transcoder, name: str) -> None:
        """What a stream ended in. What it lost is known only now that it has been written."""
        if (spelled := streams.ending(transcoder, name)) and not self.quiet:
            self.batch.say(spelled)
        transcoder.log.enforce(self.fail_on)

    def tell(self, document: Document | Reading, source: Source) -> None:
        if line := self.teller.tell(document, source):
            self.batch.say(line)

    def note(self, document: Document, source: Source | None, losses: tuple[Loss, ...]) -> None:
        """What became of one document: for the report, and for people."""
        fault = self.batch.fault
        named: dict[str, Json] = {}
        if self.capsules.same is not None:
            named["restored"] = [asdict(place) for place in self.restored]
        self.tally.add(
            losses,
            fault,
            **named,
            input=document.input.name,
            line=document.line,
            source=source and source.dialect,
            facet=source.facet if source else self.facet,
            target=self.target,
        )
        alone = not self.several and document.line is None and not document.label
        self.alone = alone
        if losses and not self.quiet and (alone or self.verbose):
            self.batch.progress.clear()
            if not alone:
                terminal.say(f"{terminal.bold(document.name)}: {ledger.total(losses)}")
            ledger.show(losses, verbose=self.verbose)
        if self.restored and not self.quiet and (alone or self.verbose):
            self.tell_restored()

    def tell_restored(self) -> None:
        """Say what came from a capsule: if nobody has verified it, that may be anybody's word."""
        self.batch.progress.clear()
        by = "is not signed" if self.key is None else "was signed with your key"
        count = len(self.restored)
        places = f"{count} place{'s' * (count != 1)}"
        hint = "" if self.verbose else "; -v lists them"
        terminal.say(f"{places} restored from the capsule, which {by}{hint}")
        for place in self.restored if self.verbose else ():
            terminal.say(f"  {terminal.clean(str(place))}")


class Capsules:
    """What targets could not hold: written to a file, or restored from one.

    One capsule per line, for each document that is written, in their order; of several files, a
    file of the same name each in a folder.
    """

    def __init__(self, out: str | None, same: str | None, inputs: list[Input]) -> None:
        if out is not None and same is not None:
            raise usage("--carry (write a capsule) and --capsule (read one) cannot be combined")
        told = out if out is not None else same
        self.inputs = inputs
        self.several = len(inputs) > 1 or any(input.base for input in inputs)
        is_folder = told is not None and (told.endswith(("/", os.sep)) or os.path.isdir(told))
        if told is not None and self.several and not is_folder:
            option = "--carry" if out else "--capsule"
            raise usage(
                "a capsule belongs to one document", f"{option} {told}/ uses one capsule per file"
            )
        self.out = None if out is None else Path(out)
        self.same = None if same is None else Path(same)
        self.is_folder = is_folder
        self.sink: Sink | None = None
        self.coming: Iterator[Document] = iter(())
        self.name = ""
        if is_folder and out is not None:
            check_names(inputs, Path(out))

    @property
    def wanted(self) -> bool:
        return self.out is not None

    @property
    def used(self) -> bool:
        return self.out is not None or self.same is not None

    @contextlib.contextmanager
    def opened(self, input: Input | None = None) -> Iterator[None]:
        """The capsules of one input, or of the only one."""
        if self.is_folder != (input is not None):
            yield
            return
        place = self.out or self.same
        if place is not None and input is not None:
            place = place / within(input)
        if place is None:
            yield
        elif self.out is not None:
            if input is not None:
                make_parent(place, self.out)
            inputs = self.inputs if input is None else [input]
            folder = self.out if input is not None else None
            with write_to(place, inputs=inputs, within=folder) as self.sink:
                yield
        else:
            self.name = str(place)
            with Reading(Input(self.name)) as reading:
                self.coming = reading.documents()
                yield

    def put(self, capsule: Json) -> None:
        if self.sink is not None:
            self.sink.write(encode(capsule) + b"\n")

    def take(self) -> Json | None:
        """The capsule of the next document."""
        if self.same is None:
            return None
        document = next(self.coming, None)
        if document is None:
            raise Fault("no capsule for this document", MALFORMED, where=self.name)
        try:
            return parse_exactly(document.data)
        except Malformed as problem:
            raise explain(problem, name=self.name, data=document.data, line=document.line) from None


def within(input: Input) -> Path:
    """The name of a file, below the folder that it was found in."""
    if input.path is None:
        raise usage("a folder of capsules needs named input files, not standard input")
    return input.path.relative_to(input.base) if input.base else Path(input.path.name)


def check_names(inputs: list[Input], folder: Path) -> None:
    """Refuse two files whose capsules would have one name, and a capsule over an input."""
    seen: dict[Path, Input] = {}
    known = Known(inputs)
    for input in inputs:
        place = folder / within(input)
        if place in seen:
            names = f"{seen[place].name} and {input.name}"
            raise usage(f"the capsules of {names} would both be written to {place}")
        if place in known:
            raise usage(f"{place} is an input and would be overwritten", "choose another folder")
        seen[place] = input
