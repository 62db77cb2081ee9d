"""``dragoman join``: the history with the reply appended."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import zip_longest

import click
from msgspec.structs import replace

from .. import dialects
from ..convert import convert, write
from ..core.reading import parse
from ..errors import DragomanError
from ..ledger import Ledger, Loss
from ..model import Message, Request, Response, Text
from . import ledger, options, printing, terminal
from .app import command as make_command
from .batch import Batch
from .collect import collect
from .faults import MALFORMED, Fault, usage
from .inputs import PACKED, Document, Hint, Input, Reading
from .joining import joined, response_source
from .ledger import Tally
from .outputs import Discard, Plan, Sink
from .sources import Source, Teller, identify, identify_stream
from .wrapped import View, may_wrap, unwrap


@make_command(
    "join",
    "dragoman join request.json response.json",
    "dragoman join two.json answer.sse -o next.json",
    "dragoman join request.json response.json -t functiongemma -o train.jsonl --append",
    "dragoman join pairs.jsonl -t chat -o train.jsonl",
)
@click.argument("files", nargs=-1, metavar="REQUEST RESPONSE | PAIRS", type=options.PATH)
@options.max_size_option
@options.source_option
@click.option(
    "-t", "--to", "target", type=options.DIALECT, help="Convert the result to this dialect."
)
@click.option("--user", metavar="TEXT", help="The text of the user message, in place of REQUEST.")
@options.new_output_options
@options.append_option
@options.ledger_options
def command(
    files: tuple[str, ...],
    source: str | None,
    target: str | None,
    user: str | None,
    output: str | None,
    append: bool,
    compact: bool,
    report: str | None,
    fail_on: tuple[str, ...],
    quiet: bool,
    verbose: bool,
) -> int:
    """Append a response to the history of its request.

    The result can be sent with the next user message, or used for training. RESPONSE may be a
    stream, and in another dialect: it is converted to that of REQUEST first. JSON Lines files are
    joined line by line, batch files by their ids. PAIRS holds both: documents {"request": ...,
    "response": ...}, captures with their responses, or HAR. With --user, the request is that text.
    The paths of the ledger point into RESPONSE; with -t, and for PAIRS, they begin with /request or
    /response.
    """
    if user is not None and len(files) != 1:
        raise usage("with --user, join takes RESPONSE only", "dragoman join --help")
    if len(files) not in (1, 2):
        raise usage("join takes REQUEST and RESPONSE, or one file of pairs", "dragoman join --help")
    inputs = [Input(file) for file in files]
    if len(inputs) == 2 and inputs[0].path is None and inputs[1].path is None:
        raise usage("only one of REQUEST and RESPONSE can be standard input")
    plan = Plan(inputs[:1], output, append=append)
    plan.inputs = inputs
    plan.check()
    plan.beside(report)
    run = Joining(inputs, source, target, fail_on, quiet, verbose, report, user)
    with run.tally.reporting(inputs), plan.writing(plan.place(inputs[0]), inputs) as sink:
        run.write(sink, compact or plan.in_lines)
        if run.batch.failures and not run.written:
            raise Discard
    if not quiet and not run.alone:
        run.tally.show("joined")
    return run.batch.exit_code


UNKNOWN = "unknown"


def invented(response: Response) -> tuple[Loss, ...]:
    """The model of a request that nobody has sent, where the response does not name it."""
    why = f"the response names no model; the request gets {UNKNOWN!r}"
    return () if response.model else (Loss("invented", "model", "", why),)


def is_batch(input: Input) -> bool:
    """Whether a file has records of a batch, by its first line."""
    if input.path is None:
        return False
    with contextlib.suppress(DragomanError, Fault, StopIteration), Reading(input) as reading:
        if reading.form == "jsonl":
            return next(unwrap(next(reading.documents()), View())).put is not None
    return False


class Index:
    """The requests of a batch by their ids: where their lines begin, and not the lines."""

    def __init__(self, input: Input) -> None:
        self.input = input
        self.places: dict[str, tuple[int, int, int]] = {}
        self.lines: dict[str, bytes] = {}
        """Those of a packed file, in which no place can be found again."""
        is_packed = input.path is not None and input.path.suffix.lower() in PACKED
        place = 0
        with Reading(input) as reading:
            for number, line in enumerate(reading.lines(), 1):
                if line.strip():
                    for request in self.records(number, line.rstrip(b"\r\n")):
                        if request.id is not None and request.problem is None:
                            self.places[request.id] = (number, place, len(line))
                            if is_packed:
                                self.lines[request.id] = line
                place += len(line)

    def records(self, number: int, line: bytes) -> Iterator[Document]:
        if not may_wrap(line):
            return
        with contextlib.suppress(DragomanError, Fault):
            yield from unwrap(Document(self.input, line, number), View(facet="request"))

    def find(self, id: str | None) -> Document | None:
        """The request of that id."""
        if id is None or id not in self.places:
            return None
        number, place, size = self.places[id]
        line = self.lines.get(id)
        if line is None:
            assert self.input.path is not None
            with self.input.path.open("rb") as file:
                file.seek(place)
                line = file.read(size)
        found = self.records(number, line.rstrip(b"\r\n"))
        return next((each for each in found if each.id == id), None)


class Joining:
    """One run of the command."""

    def __init__(
        self,
        inputs: list[Input],
        source: str | None,
        target: str | None,
        fail_on: tuple[str, ...],
        quiet: bool,
        verbose: bool,
        report: str | None,
        user: str | None = None,
    ) -> None:
        self.user = user
        self.inputs, self.source, self.target = inputs, source, target
        self.fail_on, self.quiet, self.verbose = fail_on, quiet, verbose
        self.tally = Tally(report)
        self.batch = Batch(inputs, tally=self.tally, view=View(join=True), quiet=quiet)
        self.tellers = {input.name: Teller(quiet) for input in inputs}
        self.later: list[str] = []  # what is written of a stream, when its request has been told
        self.alone = True
        self.written = 0

    def write(self, sink: Sink, on_a_line: bool) -> None:
        for joint in self.joints():
            losses: tuple[Loss, ...] = ()
            with self.batch.attempt(joint):
                data, losses = self.converted(joint)
                sink.write(printing.json_text(data, on_a_line or not self.alone))
                self.written += 1
            self.note(joint, losses)

    def joints(self) -> Iterator[Document]:
        if self.user is not None:
            return self.prompted(self.user)
        if len(self.inputs) != 2:
            return self.packed()
        return self.by_id() if all(map(is_batch, self.inputs)) else self.pairs()

    def by_id(self) -> Iterator[Document]:
        """The results of a batch, each with the request that has its id."""
        requests = Index(self.inputs[0])
        self.alone = False
        for reading in self.batch.readings(None, self.inputs[1:]):
            for line in reading.documents():
                for response in unwrap(line, View()):
                    with self.batch.attempt(response):
                        if response.problem is not None:
                            raise response.problem
                        if (request := requests.find(response.id)) is None:
                            why = f"no request with the id {response.id!r} in {self.inputs[0].name}"
                            raise Fault(why, MALFORMED, where=response.name)
                    if self.batch.fault is not None:
                        self.left_out(response)
                    elif request is not None and (joint := self.joined(request, response)):
                        joint.input, joint.line = response.input, response.line
                        yield joint

    def prompted(self, user: str) -> Iterator[Document]:
        """Responses, each to the same words of a user."""
        for response in self.documents(self.inputs[0]):
            self.alone = response.line is None
            joint: Document | None = None
            with self.batch.attempt(response):
                written = identify(response, self.source, "response")
                self.tell(response, written)
                tree = dialects.get(written.dialect).read(parse(response.data), "response")
                assert isinstance(tree, Response)
                asked = Request(tree.model or UNKNOWN, (Message("user", (Text(user),)),))
                made = write(asked, written.dialect)
                request = Document(response.input, made.to_json())
                joint = joined(request, response, Source(written.dialect, "request"), written)
                joint.notes = (*invented(tree), *made.losses, *joint.notes)
            if joint is not None:
                yield joint
            else:
                self.left_out(response)

    def packed(self) -> Iterator[Document]:
        """The pairs of one file, joined."""
        for reading in self.batch.readings():
            for document in self.batch.documents(reading):
                self.alone = document.line is None and not document.label
                with self.batch.attempt(document):
                    if document.hint is None or not document.hint.is_joined:
                        parse(document.data)  # what is no JSON is no pair either, but says why
                        hint = 'dragoman join REQUEST RESPONSE, or {"request", "response"}'
                        raise Fault(
                            "not a pair of request and response",
                            MALFORMED,
                            where=document.name,
                            hint=hint,
                        )
                    self.tell(document, identify(document, self.source, "request"))
                if self.batch.fault is None:
                    yield document
                else:
                    self.left_out(document)

    def pairs(self) -> Iterator[Document]:
        """The documents of two files, each with its fellow, joined."""
        for request, response in zip_longest(*(self.documents(each) for each in self.inputs)):
            if request is None or response is None:
                if not self.batch.failures:
                    few = self.inputs[request is not None].name
                    self.batch.note(
                        Fault("fewer documents than the other file", MALFORMED, where=few)
                    )
                return
            self.alone = request.line is None and response.line is None
            if self.target is not None:
                request.place, response.place = "/request".__add__, "/response".__add__
            if (joint := self.joined(request, response)) is not None:
                joint.input, joint.line = response.input, response.line
                yield joint

    def joined(self, request: Document, response: Document) -> Document | None:
        asked: Source | None = None
        whole = Document(request.input, request.data, request.line)
        with self.batch.attempt(whole if request.outer is None else request):
            asked = identify(request, self.source, "request")
            self.tell(request, asked)
            dialects.get(asked.dialect).read(parse(request.data), "request")
        if asked is None or self.batch.fault is not None:
            self.left_out(request)
            return None
        joint: Document | None = None
        with self.batch.attempt(Document(response.input, response.data, response.line)):
            written = response_source(response, asked)
            self.tell(response, written)
            place, response.place = response.place, str  # which is where errors are looked for
            joint = joined(request, response, asked, written)
            joint.notes = tuple(replace(x, path=place(x.path)) for x in joint.notes)
            response.place = place
        if joint is None:
            self.left_out(response)
        return joint

    def documents(self, input: Input) -> Iterator[Document]:
        """The documents of a file. A stream is one: the response it amounts to."""
        for reading in self.batch.readings(None, [input]):
            if reading.form != "stream":
                yield from reading.documents()
                continue
            with self.batch.attempt(input.name):
                source, chunks = identify_stream(reading, None)
                data, note, losses = collect(source.dialect, chunks, input.name)
                line = self.tellers[input.name].tell(reading, source)
                self.later += [written for written in (line, note) if written and not self.quiet]
                hint = Hint(source.dialect, "response", "")
                yield Document(input, data, hint=hint, notes=losses)

    def converted(self, joint: Document) -> tuple[bytes, tuple[Loss, ...]]:
        data, losses = joint.data, joint.notes
        assert joint.hint is not None
        if self.target is not None and self.target != joint.hint.dialect:
            source = joint.hint.dialect
            result = convert(joint.data, source=source, target=self.target, limit=None)
            data, losses = result.to_json(), joint.placed(result.losses)
        log = Ledger()
        log.losses += losses
        log.enforce(self.fail_on)
        return data, losses

    def tell(self, document: Document, source: Source) -> None:
        line = self.tellers[document.input.name].tell(document, source)
        for written in (line, *self.later):
            if written:
                self.batch.say(written)
        self.later.clear()

    def left_out(self, document: Document) -> None:
        """A document that nothing was made of is in the summary and in the report as well."""
        self.tally.add((), self.batch.fault, input=document.input.name, line=document.line)

    def note(self, joint: Document, losses: tuple[Loss, ...]) -> None:
        assert joint.hint is not None
        failed = self.batch.fault
        self.tally.add(
            losses,
            failed,
            input=self.inputs[-1].name,
            line=joint.line,
            source=joint.hint.dialect,
            facet="response",
            target=self.target or joint.hint.dialect,
        )
        if self.quiet or failed or not losses or not (self.alone or self.verbose):
            return
        self.batch.progress.clear()
        if not self.alone:
            terminal.say(f"{terminal.bold(joint.name)}: {ledger.total(losses)}")
        ledger.show(losses, verbose=self.verbose)
