"""``dragoman join``: the history with the answer appended."""

from __future__ import annotations

import click

from ..convert import convert
from ..convert import join as join_documents
from ..ledger import Ledger, Loss
from . import ledger, options, printing, terminal
from .app import command as make_command
from .batch import Batch
from .collect import collect
from .faults import MALFORMED, Fault, usage
from .inputs import Document, Input, Reading
from .ledger import Tally
from .outputs import Plan, write_to
from .sources import Source, Teller, identify, identify_stream

ANSWERS = ("response", "usage", "stop")
"""The codes of what only an answer says begin with these."""


@make_command(
    "join",
    "dragoman join request.json response.json",
    "dragoman join two.json answer.sse -o next.json",
)
@click.argument("request_file", metavar="REQUEST", type=click.Path())
@click.argument("response_file", metavar="RESPONSE", type=click.Path())
@options.source_option
@options.new_output_options
@options.ledger_options
def command(
    request_file: str,
    response_file: str,
    source: str | None,
    output: str | None,
    compact: bool,
    report: str | None,
    fail_on: tuple[str, ...],
    quiet: bool,
    verbose: bool,
) -> int:
    """Append an answer to the history of its request.

    The result is ready for the next turn. RESPONSE may be a stream, and of another dialect: then
    it is converted to that of REQUEST first. The paths of the ledger point into RESPONSE.
    """
    inputs = [Input(request_file), Input(response_file)]
    if inputs[0].path is None and inputs[1].path is None:
        raise usage("only one of the two can be standard input")
    plan = Plan(inputs[:1], output)
    plan.inputs = inputs
    plan.check()
    plan.beside(report)
    batch, teller, tally = Batch(inputs, stop=True), Teller(quiet), Tally(report)
    with tally.reporting(), write_to(plan.place(inputs[0])) as sink:
        request = only(batch, inputs[0])
        with batch.attempt(request):
            asked = identify(request, source, "request")
            tell(teller.tell(request, asked))
        answer, losses = answer_of(batch, inputs[1], asked, teller)
        with batch.attempt(answer):
            result = join_documents(request.data, answer.data, dialect=asked.dialect)
            losses += result.losses
            log = Ledger()
            log.losses += losses
            log.enforce(fail_on)
        sink.write(printing.json_text(result.to_json(), compact))
        tally.add(
            losses,
            input=inputs[1].name,
            line=None,
            source=asked.dialect,
            facet="response",
            target=asked.dialect,
        )
    if not quiet:
        ledger.show(losses, verbose=verbose)
    return 0


def only(batch: Batch, input: Input) -> Document:
    """The one document of a file."""
    with batch.attempt(input.name), Reading(input) as reading:
        found = reading.documents()
        document = next(found, None)
        if document is None or next(found, None) is not None:
            raise Fault("one document is expected", MALFORMED, where=input.name)
    assert document is not None
    return document


def answer_of(
    batch: Batch, input: Input, asked: Source, teller: Teller
) -> tuple[Document, tuple[Loss, ...]]:
    """The answer in the dialect of the request, and what was lost on the way there."""
    with batch.attempt(input.name), Reading(input) as reading:
        if reading.form == "stream":
            source, chunks = identify_stream(reading, None)
            data, note = collect(source.dialect, chunks, input.name)
            tell(teller.tell(reading, source), note)
            document = Document(input, data)
        else:
            document = next(reading.documents())
            source = response_source(document, asked)
            tell(teller.tell(document, source))
    if source.dialect == asked.dialect:
        return document, ()
    with batch.attempt(document):
        result = convert(
            document.data, source=source.dialect, target=asked.dialect, facet="response"
        )
    # What only an answer says is no part of a history, whether it was lost before or not.
    losses = tuple(x for x in result.losses if x.what.partition(".")[0] not in ANSWERS)
    return Document(input, result.to_json()), losses


def response_source(document: Document, asked: Source) -> Source:
    """What the answer is: what it looks like, and where that is not clear, what was asked."""
    try:
        return identify(document, None, "response")
    except Fault:
        return Source(asked.dialect, "response")


def tell(*lines: str | None) -> None:
    for line in lines:
        if line:
            terminal.say(line)
